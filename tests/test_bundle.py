"""The bundle: what `clawhub install` lays into a workspace runs from there as it is, and declares what it uses."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import json5
import pytest

from total_recall.settings import SPECS

REPOSITORY = Path(__file__).resolve().parents[1]
BUILD = REPOSITORY / "scripts" / "build-bundle"

HOST_LIMITS = (256, 1 << 20, 8 << 20)
"""Files, bytes of a file, bytes in all that OpenClaw's managed library takes (2026.9.6)."""

PATTERNS: tuple[tuple[str, str, str], ...] = (
    ("dynamic code", r".*\.(?:js|py|sh)", r"\beval\(|new Function\(|loader\.exec_module\("),
    ("no certificate check", r".*\.(?:js|py|sh|md)", r"verify\s*=\s*False|--insecure|rejectUnauthorized"),
    (
        "a key",
        r".*",
        r"(?i)(?:api[_-]?key|token|secret|password)\s*[=:]\s*[\"'][A-Za-z0-9_\-]{16,}[\"']|\bsk[-_][A-Za-z0-9_\-]{16,}",
    ),
    ("injected instructions", r".*\.(?:md|txt)", r"(?i)ignore (?:all )?(?:previous|prior) instructions|system prompt:"),
    ("always on", r"SKILL\.md", r"(?i)always[\"']?\s*:\s*true"),
    ("deletes the host's files", r".*\.(?:md|sh)", r"rm -rf [^\n]*\.openclaw"),
    ("a secret among arguments", r".*\.md", r"--(?:token|api-key|password)[ =]"),
    ("a shell from the hook", r".*\.js", r"\b(?:exec|execFile|execSync|spawnSync)\(|shell:\s*true"),
)
"""What ClawHub's static scan looks for, as far as it could concern a skill like this one: (what, files, pattern)."""
PLACEHOLDER = re.compile(r"(?i)your|example|placeholder|dummy|sample|redacted")


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle in a folder with a space."""
    dist = tmp_path_factory.mktemp("a dist")
    subprocess.run([sys.executable, str(BUILD), str(dist)], check=True, capture_output=True, timeout=60)
    return dist / "total-recall"


def files(bundle: Path) -> list[Path]:
    return sorted(path for path in bundle.rglob("*") if not path.is_dir())


def test_it_holds_what_is_needed_and_nothing_else(bundle: Path) -> None:
    names = {path.relative_to(bundle).as_posix() for path in files(bundle)}
    top = "SKILL.md references hooks prompts schemas scripts requirements.txt pyproject.toml LICENSE"
    assert {name.split("/")[0] for name in names} == set(top.split())
    assert {name for name in names if name.startswith("scripts/") and "/total_recall/" not in name} == {
        "scripts/bootstrap.py", "scripts/run.py", "scripts/total-recall", "scripts/setup.sh",
    }  # fmt: skip
    assert {"hooks/total-recall/HOOK.md", "hooks/total-recall/handler.js", "hooks/total-recall/package.json"} <= names
    tracked = subprocess.run(
        ["git", "ls-files", "scripts/total_recall"], cwd=REPOSITORY, capture_output=True, text=True, check=False
    ).stdout.split()
    assert {name for name in tracked if (REPOSITORY / name).stat().st_size} <= names


def test_it_survives_publication(bundle: Path) -> None:
    """Hidden names and links are left out there, and the executable bit is lost."""
    count, largest, total = HOST_LIMITS
    found = files(bundle)
    sizes = [path.stat().st_size for path in found]
    assert len(found) <= count and max(sizes) <= largest and sum(sizes) <= total
    for path in bundle.rglob("*"):
        assert not path.name.startswith(".") and not path.is_symlink() and path.name != "__pycache__"
        assert path.is_dir() or (path.suffix != ".pyc" and path.stat().st_mode & 0o777 == 0o644)


def test_building_it_again_gives_the_same(bundle: Path, tmp_path: Path) -> None:
    (tmp_path / "total-recall").mkdir()
    for name in ("SKILL.md", "left-over"):
        (tmp_path / "total-recall" / name).write_text("of an older build")
    subprocess.run([sys.executable, str(BUILD), str(tmp_path)], check=True, capture_output=True, timeout=60)
    again = tmp_path / "total-recall"
    assert [path.relative_to(again) for path in files(again)] == [path.relative_to(bundle) for path in files(bundle)]
    assert all(path.read_bytes() == (bundle / path.relative_to(again)).read_bytes() for path in files(again))


def test_a_folder_of_the_same_name_that_is_no_bundle_stays(tmp_path: Path) -> None:
    """As when it is called from beside a checkout: `total-recall/scripts/build-bundle .`"""
    kept = tmp_path / "total-recall" / "README.md"
    kept.parent.mkdir()
    kept.write_text("a checkout")
    done = subprocess.run(
        [sys.executable, str(BUILD), str(tmp_path)], check=False, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 1 and "no earlier bundle" in done.stderr
    assert kept.read_text() == "a checkout"


@pytest.mark.parametrize(("names", "pattern"), [p[1:] for p in PATTERNS], ids=[p[0] for p in PATTERNS])
def test_the_scan_of_the_registry_finds_nothing(bundle: Path, names: str, pattern: str) -> None:
    found = [
        f"{path.relative_to(bundle)}: {match[0]}"
        for path in files(bundle)
        if re.fullmatch(names, path.name)
        for line in path.read_text("utf-8").split("\n")
        for match in re.finditer(pattern, line)
        if not PLACEHOLDER.search(line)
    ]
    assert found == []


def test_what_the_hook_starts_is_a_literal(bundle: Path) -> None:
    """`spawn("python3", [` is what the scan accepts beside `child_process`."""
    source = (bundle / "hooks" / "total-recall" / "handler.js").read_text("utf-8")
    assert re.findall(r"\bspawn\([^,]*, .", source) == ['spawn("python3", [']
    assert "process.env" not in source and "fetch(" not in source


def metadata(bundle: Path) -> dict[str, object]:
    front = (bundle / "SKILL.md").read_text("utf-8").split("---\n")[1]
    values: dict[str, dict[str, object]] = json5.loads(front[front.index("metadata:") + len("metadata:") :])
    return values["openclaw"]


def test_the_skill_declares_every_variable_and_requires_none(bundle: Path) -> None:
    declared = metadata(bundle)
    variables = declared["envVars"]
    assert isinstance(variables, list)
    names = [variable["name"] for variable in variables]
    source = (bundle / "scripts" / "total_recall" / "settings.py").read_text("utf-8")
    of_the_hosts = set(re.findall(r'env\.get\("(OPENCLAW_[A-Z_]+)"', source))
    assert of_the_hosts
    of_the_hosts |= {"CLAUDE_CONFIG_DIR", "CLAUDE_PROJECT_DIR"}
    launcher = {"XDG_DATA_HOME", "XDG_CACHE_HOME"}
    assert sorted(names) == sorted({spec.name for spec in SPECS} | of_the_hosts | launcher)
    assert not any(variable["required"] for variable in variables)
    assert declared["requires"] == {"bins": ["python3"]}
    assert declared["primaryEnv"] == "OPENROUTER_API_KEY"


def test_the_host_reads_the_declaration(bundle: Path) -> None:
    """It drops a block that begins on the line of its key and goes on below (2026.3.24 and 2026.9.6)."""
    for page in (bundle / "SKILL.md", bundle / "hooks" / "total-recall" / "HOOK.md"):
        (line,) = re.findall(r"^metadata:(.*)$", page.read_text("utf-8"), re.M)
        assert not line or json5.loads(line)["openclaw"], f"{page.name}: begin the block on the next line"


def test_the_skill_is_short_and_its_pages_are_there(bundle: Path) -> None:
    text = (bundle / "SKILL.md").read_text("utf-8")
    description = re.search(r'^description: "(.*)"$', text, re.M)
    assert description is not None and len(description[1]) < 160
    pages = set(re.findall(r"\]\((references/[a-z-]+\.md)\)", text))
    assert pages == {path.relative_to(bundle).as_posix() for path in (bundle / "references").iterdir()}


def test_every_command_that_its_pages_name_exists(bundle: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-I", "-B", str(bundle / "scripts" / "run.py"), "--help"],
        capture_output=True,
        text=True,
        check=True,
    )
    known = set(re.findall(r"^    ([a-z]+) ", done.stdout, re.M))
    for page in [bundle / "SKILL.md", *(bundle / "references").iterdir()]:
        for command in re.findall(r"(?:scripts/total-recall\"|`total-recall) ([a-z]+)", page.read_text("utf-8")):
            assert command in known, f"{page.name}: {command}"


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Nothing in the folder can be written; for root nothing helps but looking afterwards."""
    folders = [folder, *(path for path in folder.rglob("*") if path.is_dir())]
    for path in folders:
        path.chmod(0o555)
    try:
        yield
    finally:
        for path in folders:
            path.chmod(0o755)


def test_it_runs_from_where_it_is_laid_and_writes_nothing_there(bundle: Path, home: Path, tmp_path: Path) -> None:
    """From a folder with a space, with no executable file, as cron calls it: no locale, next to no environment."""
    skill = tmp_path / "my agent" / "skills" / "total-recall"
    shutil.copytree(bundle, skill, copy_function=shutil.copyfile)
    before = {path: path.read_bytes() for path in files(skill)}
    fixture = REPOSITORY / "tests" / "fixtures" / "openclaw-2026.9.6-sqlite" / ".openclaw"
    shutil.copytree(fixture, home / ".openclaw")
    environment = {"HOME": str(home), "PATH": "/usr/bin:/bin", "PYTHONPYCACHEPREFIX": str(tmp_path / "cache")}
    command = [sys.executable, "-I", "-X", f"pycache_prefix={tmp_path / 'cache'}", str(skill / "scripts" / "run.py")]
    with read_only(skill):
        for arguments in (["observe", "--all", "--json"], ["context"], ["status", "--json"]):
            done = subprocess.run(
                [*command, *arguments], env=environment, cwd="/", capture_output=True, timeout=120, check=False
            )
            assert done.returncode == 0, done.stderr
    assert {path: path.read_bytes() for path in files(skill)} == before
    assert json.loads(done.stdout)["memories"][0]["observations"] > 0
    assert (home / ".openclaw" / "workspace" / "memory" / "observations.md").stat().st_mode & 0o777 == 0o600
    assert not list(skill.rglob("__pycache__"))


def test_its_launcher_is_called_through_an_interpreter(bundle: Path, home: Path) -> None:
    """Without an environment it would make one; here a stand-in shows that it came so far."""
    python = home / "bin" / "python3"
    python.parent.mkdir()
    python.write_text('#!/bin/sh\necho "$@"\n')
    python.chmod(0o755)
    done = subprocess.run(
        ["/bin/sh", str(bundle / "scripts" / "setup.sh"), "--dry-run"],
        env={"HOME": str(home), "PATH": f"{python.parent}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == f"{bundle / 'scripts' / 'bootstrap.py'} setup --dry-run"
