"""Real limits of a computer: a full disk, files that may not grow, no more open files, a read-only disk."""

from __future__ import annotations

import functools
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from points import RUN_PY, Ended, run, variables
from scenes import SCENES, Scene, complaint, held, left_behind, lost

WRITERS = tuple(scene for scene in SCENES if scene.name != "context" and not scene.is_to_forget)


@functools.cache
def no_mounts() -> str | None:
    """Why nothing can be mounted here; None when it can."""
    if sys.platform != "linux" or shutil.which("unshare") is None:
        return "needs unshare (util-linux)"
    tried = subprocess.run(
        ["unshare", "-rm", "sh", "-c", "mount -t tmpfs tmpfs /mnt"], capture_output=True, text=True, check=False
    )
    return None if tried.returncode == 0 else f"nothing can be mounted here: {tried.stderr.strip()}"


def named(scenes: tuple[Scene, ...]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("scene", scenes, ids=lambda scene: scene.name)


def survives(scene: Scene, template: Path, home: Path, disturbed: Callable[[], Ended]) -> None:
    """A run goes wrong and says so, nothing is lost, and a healthy one makes up for it."""
    before = held(template)
    undisturbed = home.with_name("undisturbed")
    shutil.copytree(template, undisturbed, symlinks=True)
    for command in (scene.arguments, *scene.healthy()):
        assert run(undisturbed, command).code == 0
    ended = disturbed()
    assert complaint(ended) is None, complaint(ended)
    assert not lost(home, before)
    for command in scene.healthy():
        again = run(home, command)
        assert again.code == 0, again.err
    assert not lost(home, before)
    assert held(home).anywhere == held(undisturbed).anywhere
    assert not left_behind(home)


@pytest.fixture
def template(tmp_path: Path, scene: Scene) -> Path:
    path = tmp_path / "template"
    path.mkdir()
    scene.prepare(path)
    return path


@named(WRITERS)
@pytest.mark.parametrize("spare_kib", [0, 8, 40, 120, 200])
def test_a_full_disk(scene: Scene, spare_kib: int, template: Path, tmp_path: Path) -> None:
    if reason := no_mounts():
        pytest.skip(reason)
    home = tmp_path / "home"
    shutil.copytree(template, home, symlinks=True)
    workspace = home / ".openclaw" / "workspace"
    workspace.mkdir(exist_ok=True)
    rest = tmp_path / "rest"
    pages = sum(-(-path.stat().st_size // 4096) for path in workspace.rglob("*") if path.is_file())
    script = f"""
        set -eu
        mount -t tmpfs -o size={pages * 4 + spare_kib + 4}k tmpfs "$0"
        cp -a "$1/.openclaw/workspace/." "$0" 2>/dev/null || [ ! -d "$1/.openclaw/workspace" ]
        shift
        code=0
        "$@" || code=$?
        cp -a "$0/." "$REST"
        exit "$code"
    """
    rest.mkdir()

    def disturbed() -> Ended:
        done = subprocess.run(
            ["unshare", "-rm", "sh", "-c", script, str(workspace), str(template), sys.executable, "-I", "-X", "utf8",
             str(RUN_PY), *scene.arguments],
            env=variables(home, REST=str(rest)),
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        # What the small disk holds is what the next run finds, on one with room.
        shutil.rmtree(workspace)
        shutil.copytree(rest, workspace, symlinks=True)
        return Ended(done.returncode, done.stdout, done.stderr)

    survives(scene, template, home, disturbed)


@named(WRITERS)
@pytest.mark.parametrize(
    ("limit", "value"),
    [
        (resource.RLIMIT_FSIZE, 0), (resource.RLIMIT_FSIZE, 2_000), (resource.RLIMIT_FSIZE, 20_000),
        (resource.RLIMIT_FSIZE, 90_000), (resource.RLIMIT_NOFILE, 8), (resource.RLIMIT_NOFILE, 12),
    ],
)  # fmt: skip
def test_a_limit(scene: Scene, limit: int, value: int, template: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    shutil.copytree(template, home, symlinks=True)

    def disturbed() -> Ended:
        done = subprocess.run(
            [sys.executable, "-I", "-X", "utf8", str(RUN_PY), *scene.arguments],
            env=variables(home),
            preexec_fn=lambda: resource.setrlimit(limit, (value, value)),
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        return Ended(done.returncode, done.stdout, done.stderr)

    survives(scene, template, home, disturbed)


@named(WRITERS)
def test_a_read_only_disk(scene: Scene, template: Path, tmp_path: Path) -> None:
    if reason := no_mounts():
        pytest.skip(reason)
    home = tmp_path / "home"
    shutil.copytree(template, home, symlinks=True)

    def disturbed() -> Ended:
        done = subprocess.run(
            ["unshare", "-rm", "sh", "-c", 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"',
             str(home), sys.executable, "-I", "-X", "utf8", str(RUN_PY), *scene.arguments],
            env=variables(home),
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        return Ended(done.returncode, done.stdout, done.stderr)

    survives(scene, template, home, disturbed)
