"""The real launcher, bootstrap.py and run.py, copied into a skill folder with a package that only reports.

Environments are real ones, made by the standard library through a stand-in for uv that the tests can hold up.
"""

from __future__ import annotations

import ast
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

SCRIPTS = Path(__file__).resolve().parent.parent / "scripts"
PYTHON: str = getattr(sys, "_base_executable", sys.executable)
MINOR = f"{sys.version_info.major}.{sys.version_info.minor}"
PREPARING = "Preparing Total Recall's environment (once, about a minute) …\n"

GATE = """
def nothing_new(arguments):
    return arguments == ["idle"]
"""
CLI = """
import json, os, sys

def main():
    if sys.argv[1:2] == ["exit"]:
        return int(sys.argv[2])
    report = {
        "arguments": [os.fsencode(argument).decode("latin-1") for argument in sys.argv[1:]],
        "prefix": sys.prefix, "bytecode": sys.pycache_prefix, "isolated": sys.flags.isolated,
        "encoding": sys.stdout.encoding, "folder": os.getcwd(), "minor": "%d.%d" % sys.version_info[:2],
    }
    print(json.dumps(report))
    return 0
"""
UV = f"""#!/bin/sh
echo "$@" >>"$UV_LOG"
[ -z "${{UV_FAILS-}}" ] || {{ echo "$UV_FAILS"; exit 2; }}
case $1 in
venv) for last; do :; done; exec '{PYTHON}' -I -m venv --without-pip "$last" ;;
pip) [ -z "${{UV_HELD_BY-}}" ] || while [ -e "$UV_HELD_BY" ]; do sleep 0.02; done ;;
esac
"""


@dataclass
class Skill:
    """A skill folder, a home, and what a command started there sees of the system."""

    folder: Path
    home: Path
    tools: Path
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def launcher(self) -> Path:
        return self.folder / "scripts" / "total-recall"

    @property
    def root(self) -> Path:
        """Where environments are."""
        return self.home / ".local" / "share" / "total-recall"

    @property
    def environments(self) -> list[str]:
        return sorted(path.name for path in self.root.glob("env-*"))

    @property
    def builds(self) -> int:
        """How often an environment was begun."""
        log = Path(self.environment["UV_LOG"])
        return log.read_text("utf-8").count("venv ") if log.exists() else 0

    @property
    def is_installing(self) -> bool:
        """Has the environment's folder been made, and is it being filled?"""
        log = Path(self.environment["UV_LOG"])
        return log.exists() and "pip install" in log.read_text("utf-8")

    def start(
        self,
        *arguments: str | bytes,
        by: Sequence[str | Path] = (),
        env: dict[str, str] | None = None,
        cwd: Path | None = None,
        in_own_group: bool = False,
    ) -> subprocess.Popen[str]:
        """Starts a command, as cron does unless `by` says otherwise."""
        return subprocess.Popen(
            [*(by or ["/bin/sh", self.launcher]), *arguments],
            env=env or self.environment,
            cwd=cwd or self.home,
            start_new_session=in_own_group,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )

    def run(self, *arguments: str | bytes, **options: Any) -> subprocess.CompletedProcess[str]:
        started = self.start(*arguments, **options)
        out, err = started.communicate(timeout=60)
        return subprocess.CompletedProcess(started.args, started.returncode, out, err)

    def report(self, *arguments: str | bytes, **options: Any) -> dict[str, Any]:
        """What the command said about how it was started."""
        done = self.run(*arguments, **options)
        assert done.returncode == 0, done.stderr
        told: dict[str, Any] = json.loads(done.stdout)
        return told


def write_script(path: Path, text: str) -> None:
    path.unlink(missing_ok=True)  # it may be a link to the real Python
    path.write_text(text, "utf-8")
    path.chmod(0o755)


@pytest.fixture
def skill(tmp_path: Path) -> Skill:
    folder = tmp_path / "my skills" / "total-recall"
    package = folder / "scripts" / "total_recall"
    package.mkdir(parents=True)
    for name in ("total-recall", "bootstrap.py", "run.py"):
        shutil.copyfile(SCRIPTS / name, folder / "scripts" / name)  # copies no executable bit
    for name, text in {"__init__.py": "", "gate.py": GATE, "cli.py": CLI}.items():
        (package / name).write_text(text, "utf-8")
    (folder / "requirements.txt").write_text("# nothing\n", "utf-8")
    home = tmp_path / "a home"
    tools = tmp_path / "tools"
    home.mkdir()
    tools.mkdir()
    (tools / "python3").symlink_to(PYTHON)
    write_script(tools / "uv", UV)
    environment = {"HOME": str(home), "PATH": f"{tools}:/usr/bin:/bin", "UV_LOG": str(tmp_path / "uv.log")}
    return Skill(folder, home, tools, environment)


@pytest.fixture
def ready(skill: Skill) -> Skill:
    """A skill whose environment exists."""
    assert skill.run("idle").returncode == 0
    return skill


def wait_for(condition: Callable[[], object]) -> None:
    for _ in range(1500):
        if condition():
            return
        time.sleep(0.02)
    raise AssertionError("it did not happen within 30 seconds")


def test_first_start_makes_the_environment_and_says_so_once(skill: Skill) -> None:
    first, second = skill.run("status"), skill.run("status")
    assert (first.stderr, second.stderr) == (PREPARING, "")
    assert json.loads(first.stdout) == json.loads(second.stdout)
    assert len(skill.environments) == skill.builds == 1


def test_command_runs_isolated_in_the_environment_with_its_bytecode_in_the_cache(ready: Skill) -> None:
    told = ready.report(env=ready.environment | {"PYTHONPATH": "/nowhere", "LC_ALL": "C"})
    assert told["prefix"] == str(ready.root / ready.environments[0])
    assert told["bytecode"] == str(ready.home / ".cache" / "total-recall" / "pycache")
    assert list(Path(told["bytecode"]).rglob("cli.*.pyc"))
    assert told["isolated"] == 1
    assert told["encoding"] == "utf-8"


def test_xdg_folders_are_used_unless_they_are_relative(ready: Skill, tmp_path: Path) -> None:
    data, cache = tmp_path / "my data", tmp_path / "my cache"
    moved = ready.environment | {"XDG_DATA_HOME": str(data), "XDG_CACHE_HOME": str(cache)}
    for _ in ("made by bootstrap.py", "found by the launcher"):
        told = ready.report(env=moved)
        assert told["prefix"].startswith(str(data / "total-recall" / "env-"))
        assert told["bytecode"] == str(cache / "total-recall" / "pycache")
    relative = ready.environment | {"XDG_DATA_HOME": "data", "XDG_CACHE_HOME": "cache"}
    assert ready.report(env=relative) == ready.report()


AWKWARD = ["", " ", "two words", "'\"`$HOME\\", "*", "네 해줘 🔴", "--json", "-", "line\nbreak"]


def test_arguments_arrive_as_they_were_typed(skill: Skill) -> None:
    for _ in ("through bootstrap.py", "through the launcher"):
        told = skill.report(*AWKWARD, b"\xff")
        assert [argument.encode("latin-1") for argument in told["arguments"]] == [*map(str.encode, AWKWARD), b"\xff"]


@pytest.mark.parametrize("code", [0, 1, 2, 3, 130])
def test_exit_code_is_the_command_s(ready: Skill, code: int) -> None:
    assert ready.run("exit", str(code)).returncode == code


def test_gate_ends_an_idle_run_before_the_command_line_is_loaded(ready: Skill) -> None:
    (ready.folder / "scripts" / "total_recall" / "cli.py").write_text("raise SystemError('loaded')", "utf-8")
    assert ready.run("idle").returncode == 0
    assert "loaded" in ready.run("status").stderr


def test_bootstrap_can_be_called_directly_as_the_hook_does(skill: Skill) -> None:
    by: list[str | Path] = ["python3", skill.folder / "scripts" / "bootstrap.py"]
    assert skill.report("observe", by=by) == skill.report("observe", by=by) == skill.report("observe")
    assert skill.builds == 1


def test_it_starts_from_any_folder_and_through_symlinks(ready: Skill, tmp_path: Path) -> None:
    scripts = ready.launcher.parent
    elsewhere = tmp_path / "else where"
    elsewhere.mkdir()
    (elsewhere / "recall").symlink_to(ready.launcher)
    (elsewhere / "again").symlink_to("recall")
    (elsewhere / "linked").symlink_to(scripts)
    ready.launcher.chmod(0o755)
    ways: list[tuple[list[str | Path], Path]] = [
        (["/bin/sh", ready.launcher], Path("/")),
        (["/bin/sh", "total-recall"], scripts),
        (["/bin/sh", "scripts/total-recall"], ready.folder),
        (["/bin/sh", "../scripts/total-recall"], scripts),
        (["/bin/sh", elsewhere / "again"], Path("/")),
        (["/bin/sh", "again"], elsewhere),
        (["/bin/sh", elsewhere / "linked" / "total-recall"], Path("/")),
        (["/bin/sh", "linked/total-recall"], elsewhere),
        ([ready.launcher], Path("/")),
        (["./recall"], elsewhere),
    ]
    for by, folder in ways:
        assert ready.report("observe", by=by, cwd=folder)["folder"] == str(folder)
    in_path = ready.environment | {"PATH": f"{elsewhere}:{ready.environment['PATH']}"}
    assert ready.report("observe", by=["/bin/sh", "-c", 'exec recall "$@"', "sh"], env=in_path)


def test_it_needs_no_more_than_home_and_a_plain_path(ready: Skill) -> None:
    bare = ["env", "-i", f"HOME={ready.home}", "PATH=/usr/bin:/bin", "/bin/sh", ready.launcher]
    assert ready.report("status", by=bare)["arguments"] == ["status"]


@pytest.mark.parametrize("script", ["total-recall", "bootstrap.py"])
@pytest.mark.parametrize("home", [None, "", "relative"])
def test_missing_home_is_told_in_one_line(ready: Skill, script: str, home: str | None) -> None:
    environment = {name: value for name, value in ready.environment.items() if name != "HOME"}
    if home is not None:
        environment["HOME"] = home
    by: list[str | Path] = ["/bin/sh" if script == "total-recall" else "python3", ready.folder / "scripts" / script]
    done = ready.run("status", by=by, env=environment)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "total-recall: HOME is not set: set it to your home directory and run the command again\n"


def snapshot(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Mode, time and content of everything in a folder."""
    found = {}
    for path in [folder, *folder.rglob("*")]:
        status = path.stat()
        found[str(path)] = (status.st_mode, status.st_mtime_ns, b"" if path.is_dir() else path.read_bytes())
    return found


def test_nothing_is_written_into_a_read_only_skill_folder(skill: Skill) -> None:
    """Root may write anywhere, so beside the permission the folder itself is compared."""
    for path in [*skill.folder.rglob("*"), skill.folder]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    before = snapshot(skill.folder)
    try:
        for _ in ("first start", "second start"):
            assert skill.report("status")
            assert skill.report("status", by=["python3", skill.folder / "scripts" / "bootstrap.py"])
        assert skill.run("idle").returncode == 0
        assert snapshot(skill.folder) == before
    finally:
        for path in [skill.folder, *skill.folder.rglob("*")]:
            path.chmod(path.stat().st_mode | stat.S_IWUSR)


def test_of_two_starts_one_makes_the_environment_and_the_other_waits(skill: Skill, tmp_path: Path) -> None:
    held = tmp_path / "held"
    held.touch()
    environment = skill.environment | {"UV_HELD_BY": str(held)}
    first = skill.start("status", env=environment)
    wait_for(lambda: skill.is_installing)
    second = skill.start("status", env=environment)
    assert second.stderr is not None
    assert second.stderr.readline().startswith("Waiting for Total Recall's environment")
    assert not skill.environments, "an unfinished environment has its final name"
    held.unlink()
    outputs = [process.communicate(timeout=60)[0] for process in (first, second)]
    assert [first.returncode, second.returncode] == [0, 0]
    assert json.loads(outputs[0]) == json.loads(outputs[1])
    assert skill.builds == 1


def test_an_environment_that_a_kill_left_unfinished_is_made_anew(skill: Skill, tmp_path: Path) -> None:
    held = tmp_path / "held"
    held.touch()
    killed = skill.start("status", env=skill.environment | {"UV_HELD_BY": str(held)})
    wait_for(lambda: skill.is_installing)
    killed.kill()
    killed.wait(60)
    assert list(skill.root.glob("building-*"))
    waits = skill.start("status")
    assert waits.stderr is not None
    assert waits.stderr.readline().startswith("Waiting"), "the killed one's tool still writes, and nobody waited for it"
    held.unlink()
    out, _ = waits.communicate(timeout=60)
    assert json.loads(out)["prefix"] == str(skill.root / skill.environments[0])
    assert sorted(path.name for path in skill.root.iterdir()) == [*skill.environments, "lock"]
    assert skill.builds == 2
    assert killed.stdout is not None and killed.stderr is not None
    killed.stdout.close()
    killed.stderr.close()


def test_ctrl_c_leaves_nothing_behind(skill: Skill, tmp_path: Path) -> None:
    held = tmp_path / "held"
    held.touch()
    started = skill.start("status", env=skill.environment | {"UV_HELD_BY": str(held)}, in_own_group=True)
    wait_for(lambda: skill.is_installing)
    os.killpg(started.pid, signal.SIGINT)
    out, err = started.communicate(timeout=60)
    assert (started.returncode, out, err) == (130, "", PREPARING)
    assert [path.name for path in skill.root.iterdir()] == ["lock"]


def test_an_environment_whose_python_is_gone_is_made_anew(ready: Skill) -> None:
    python = ready.root / ready.environments[0] / "bin" / "python"
    python.unlink()
    python.symlink_to("/nowhere/python3")
    assert ready.run("status").stderr == PREPARING
    assert ready.run("status").stderr == ""
    assert len(ready.environments) == 1


def test_an_environment_whose_python_was_upgraded_is_replaced(ready: Skill) -> None:
    """As after a system upgrade: the same bin/python is another version now, and sees no packages."""
    (name,) = ready.environments
    outgrown = ready.root / f"{name.removesuffix(MINOR)}3.5"
    (ready.root / name).rename(outgrown)
    done = ready.run("two words")
    assert done.stderr == PREPARING
    assert json.loads(done.stdout)["arguments"] == ["two words"]
    assert ready.environments == [name]


def test_an_environment_of_another_python_version_is_used(ready: Skill) -> None:
    """Cron and the hook may find different Pythons; one environment serves both."""
    write_script(ready.tools / "python3", old_python((3, 12) if MINOR != "3.12" else (3, 13)))
    by: list[str | Path] = ["python3", ready.folder / "scripts" / "bootstrap.py"]
    assert ready.report("status", by=by)["minor"] == MINOR
    assert ready.builds == 1


def test_new_requirements_make_a_new_environment_and_forget_unused_ones(ready: Skill) -> None:
    (in_use,) = ready.environments
    forgotten = ready.root / "env-1-1-3.10"
    forgotten.mkdir()
    os.utime(forgotten, (0, 0))
    os.utime(ready.root / in_use, (0, 0))
    assert ready.run("status").stderr == ""  # which marks the environment as used
    (ready.folder / "requirements.txt").write_text("# something else\n", "utf-8")
    assert ready.run("status").stderr == PREPARING
    assert in_use in ready.environments
    assert len(ready.environments) == 2
    assert not forgotten.exists()


def old_python(version: tuple[int, int]) -> str:
    """A script that runs `script.py arguments …` and `-c code` as a Python that says it is of that version."""
    numbers = (*version, 0, "final", 0)
    prelude = f"import runpy, sys; sys.version_info = {numbers}; sys.executable = '/opt/old/python3'; "
    return f"""#!/bin/sh
[ "$1" != -I ] || shift
[ "$1" != -c ] || exec '{PYTHON}' -c "{prelude}exec(sys.argv[1])" "$2"
exec '{PYTHON}' -c "{prelude}sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')" "$@"
"""


def test_python_that_is_too_old_is_told_in_one_line(skill: Skill) -> None:
    write_script(skill.tools / "python3", old_python((3, 9)))
    done = skill.run("status", env=skill.environment | {"PATH": f"{skill.tools}:{only(skill, 'cksum')}"})
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "total-recall: Python 3.9 (/opt/old/python3) is too old: "
        "install Python 3.10 or newer, with python3 in PATH, and run the command again\n"
    )


def test_a_newer_python_further_down_the_path_is_found(skill: Skill, tmp_path: Path) -> None:
    write_script(skill.tools / "python3", old_python((3, 9)))
    further = tmp_path / "further"
    further.mkdir()
    (further / f"python{MINOR}").symlink_to(PYTHON)
    path = f"{skill.tools}:{only(skill, 'cksum')}:{further}"
    told = skill.report(*AWKWARD[:4], env=skill.environment | {"PATH": path})
    assert told["arguments"] == AWKWARD[:4]
    assert told["minor"] == MINOR


def test_an_environment_that_exists_needs_no_python_in_path(ready: Skill) -> None:
    assert ready.report("status", env=ready.environment | {"PATH": str(only(ready, "cksum"))})
    write_script(ready.tools / "python3", old_python((3, 6)))
    by: list[str | Path] = [ready.tools / "python3", ready.folder / "scripts" / "bootstrap.py"]
    assert ready.report("status", by=by)["minor"] == MINOR


def test_no_python_at_all_is_told_in_one_line(skill: Skill) -> None:
    done = skill.run("status", env=skill.environment | {"PATH": str(only(skill, "cksum"))})
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "total-recall: no python3 in PATH: install Python 3.10 or newer and run the command again\n"


def only(skill: Skill, *tools: str) -> Path:
    """A folder for PATH that has these tools of the system and no others."""
    folder = skill.tools.parent / "-".join(tools)
    folder.mkdir(exist_ok=True)
    for tool in tools:
        found = shutil.which(tool)
        assert found
        if not (folder / tool).exists():
            (folder / tool).symlink_to(found)
    return folder


def without_modules(*names: str) -> str:
    """A `python3` to which these modules do not exist, as on Debian without python3-venv."""
    hide = (
        "import sys, runpy, importlib.util as u; "
        f"find = u.find_spec; u.find_spec = lambda name: None if name in {names} else find(name); "
    )
    return f"""#!/bin/sh
exec '{PYTHON}' -c "{hide}sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')" "$@"
"""


@pytest.mark.parametrize("missing", ["venv", "ensurepip"])
def test_a_python_that_cannot_make_environments_names_the_package_to_install(skill: Skill, missing: str) -> None:
    (skill.tools / "uv").unlink()
    write_script(skill.tools / "python3", without_modules(missing))
    done = skill.run("status")
    assert (done.returncode, done.stdout) == (1, "")
    _, told = done.stderr.splitlines()
    assert f"apt install python{MINOR}-venv" in told
    assert "or uv" in told
    assert not skill.environments


FAILURES = [
    ("error: Failed to fetch: `https://index.invalid/simple/orjson/`", "the package index cannot be reached"),
    ("error: failed to write: No space left on device (os error 28)", "the disk is full: free some space"),
    ("error: Hash mismatch for `orjson==3.11`", "a downloaded package is not the one"),
    ("error: something new", "the tool that makes it failed, its last lines follow"),
]


@pytest.mark.parametrize(("output", "meaning"), FAILURES)
def test_a_failed_installation_is_explained_above_the_tool_s_output(skill: Skill, output: str, meaning: str) -> None:
    write_script(skill.tools / "python3", without_modules("ensurepip"))
    done = skill.run("status", env=skill.environment | {"UV_FAILS": output})
    assert (done.returncode, done.stdout) == (1, "")
    _, line, *tail = done.stderr.splitlines()
    assert line.startswith(f"total-recall: cannot prepare the environment in {skill.root}: {meaning}")
    assert tail == [f"    {output}"]
    assert [path.name for path in skill.root.iterdir()] == ["lock"]


def test_venv_and_pip_serve_where_uv_is_missing_or_broken(skill: Skill) -> None:
    pytest.importorskip("ensurepip")
    done = skill.run("status", env=skill.environment | {"UV_FAILS": "uv: command not found"})
    assert done.stderr == PREPARING
    environment = Path(json.loads(done.stdout)["prefix"])
    assert (environment / "bin" / "pip").exists()
    assert "building-" not in (environment / "bin" / "python").resolve().as_posix()


def test_a_data_folder_that_cannot_be_written_is_told_in_one_line(skill: Skill) -> None:
    (skill.home / ".local").write_text("a file where a folder should be", "utf-8")
    done = skill.run("status")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"total-recall: cannot use {skill.root}: Not a directory\n"


def test_an_incomplete_installation_is_told_in_one_line(skill: Skill) -> None:
    (skill.folder / "requirements.txt").unlink()
    for by in (["/bin/sh", skill.launcher], ["python3", skill.folder / "scripts" / "bootstrap.py"]):
        done = skill.run("status", by=by)
        assert (done.returncode, done.stdout) == (1, "")
        assert "requirements.txt" in done.stderr and "install Total Recall again" in done.stderr
        assert done.stderr.count("\n") == 1


def test_bootstrap_keeps_to_a_syntax_that_an_old_python_understands() -> None:
    ast.parse((SCRIPTS / "bootstrap.py").read_text("utf-8"), feature_version=(3, 6))


@pytest.mark.parametrize("length", [0, 1, 255, 256, 65_536])
def test_bootstrap_and_cksum_agree_on_the_name_of_an_environment(length: int) -> None:
    content = bytes(index * 7 % 251 for index in range(length))
    code = "import sys, bootstrap; print(bootstrap.checksum(sys.stdin.buffer.read()))"
    run = [sys.executable, "-B", "-c", code]
    ours = subprocess.run(run, cwd=SCRIPTS, input=content, capture_output=True, check=True)
    theirs = subprocess.run(["cksum"], input=content, capture_output=True, check=True)
    assert ours.stdout.split() == [theirs.stdout.strip().replace(b" ", b"-")]
