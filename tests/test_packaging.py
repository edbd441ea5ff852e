"""What is declared once is the same everywhere: dependencies, package data, the rules of the source."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "scripts" / "total_recall"
MODULES = sorted(PACKAGE.rglob("*.py"))
Pin = tuple[str, str, frozenset[str]]
"""A package's name, its version and the hashes of its files."""


def read_toml(name: str) -> dict[str, Any]:
    toml = pytest.importorskip("tomllib" if sys.version_info >= (3, 11) else "tomli")
    table: dict[str, Any] = toml.loads((ROOT / name).read_text("utf-8"))
    return table


def declared(requirements: str) -> set[Pin]:
    """The pins of an exported requirements file."""
    lines = (ROOT / requirements).read_text("utf-8").replace("\\\n", " ").splitlines()
    pins = set()
    for line in lines:
        if line and not line.startswith("#"):
            name, version = re.match(r"([\w.-]+)==([\w.]+)", line).groups()  # type: ignore[union-attr]
            pins.add((name, version, frozenset(re.findall(r"--hash=(\S+)", line))))
    return pins


def locked(group: str | None) -> set[Pin]:
    """The pins of everything that the package, and the dependency group, need on any system."""
    packages = read_toml("uv.lock")["package"]
    ours = next(package for package in packages if package["name"] == "total-recall")
    wanted = list(ours["dependencies"]) + (ours["dev-dependencies"][group] if group else [])
    found: dict[tuple[str, str], Pin] = {}
    while wanted:
        need = wanted.pop()
        for package in packages:
            key = (package["name"], package["version"]) if package is not ours else None
            if not key or key in found or key[0] != need["name"] or need.get("version", key[1]) != key[1]:
                continue
            files = package.get("wheels", []) + ([package["sdist"]] if "sdist" in package else [])
            found[key] = (*key, frozenset(file["hash"] for file in files))
            wanted += package.get("dependencies", [])
    return set(found.values())


@pytest.mark.parametrize(("file", "group"), [("requirements.txt", None), ("requirements-dev.txt", "dev")])
def test_requirements_are_what_the_lock_says(file: str, group: str | None) -> None:
    """Else run the command that stands at the top of the file."""
    assert declared(file) == locked(group)


@pytest.mark.parametrize("file", ["requirements.txt", "requirements-dev.txt"])
def test_requirements_are_pinned_by_hash_and_name_no_index(file: str) -> None:
    pins = declared(file)
    assert pins and all(hashes for _, _, hashes in pins)
    assert not re.search(r"://|^-|@ ", (ROOT / file).read_text("utf-8"), re.MULTILINE), "an address or an index option"


def test_lock_is_made_from_the_declared_dependencies() -> None:
    project = read_toml("pyproject.toml")
    ours = next(package for package in read_toml("uv.lock")["package"] if package["name"] == "total-recall")
    wanted = project["project"]["dependencies"]
    locked_wishes = {(need["name"], need.get("specifier", "")) for need in ours["metadata"]["requires-dist"]}
    assert locked_wishes == {name_and_specifier(wish) for wish in wanted}
    locked_tools = {(need["name"], need.get("specifier", "")) for need in ours["metadata"]["requires-dev"]["dev"]}
    assert locked_tools == {name_and_specifier(wish) for wish in project["dependency-groups"]["dev"]}


def name_and_specifier(wish: str) -> tuple[str, str]:
    name, specifier = re.match(r"([\w-]+)([^;]*)", wish).groups()  # type: ignore[union-attr]
    return name, specifier.strip()


def test_every_runtime_dependency_has_its_reason_in_the_docs() -> None:
    table = (ROOT / "docs" / "dependencies.md").read_text("utf-8")
    reasons = set(re.findall(r"^\| `([\w-]+)` \|", table, re.MULTILINE))
    wishes = read_toml("pyproject.toml")["project"]["dependencies"]
    assert reasons == {name_and_specifier(wish)[0] for wish in wishes}


def test_wheel_carries_the_package_with_prompts_and_schemas(tmp_path: Path) -> None:
    pytest.importorskip("hatchling", reason="scripts/test installs it")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    inside = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    folders = {"prompts": ROOT / "prompts", "schemas": ROOT / "schemas", "": PACKAGE}
    expected = {
        "/".join(part for part in ("total_recall", prefix, path.relative_to(folder).as_posix()) if part)
        for prefix, folder in folders.items()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert inside == expected


def names_used(module: Path) -> Iterator[str]:
    """Every `name.attribute` in a module, and every `from name import attribute` as the same."""
    for node in ast.walk(ast.parse(module.read_text("utf-8"))):
        if isinstance(node, ast.Attribute):
            yield f"{node.value.id}.{node.attr}" if isinstance(node.value, ast.Name) else f".{node.attr}"
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


ENVIRONMENT = {"os.environ", "os.environb", "os.getenv", "os.getenvb", "os.putenv"}


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_only_settings_and_the_gate_read_the_environment(module: Path) -> None:
    if module in (PACKAGE / "settings.py", PACKAGE / "gate.py"):
        return
    assert not ENVIRONMENT & set(names_used(module))


SPLITS_NO_TRANSCRIPT: set[str] = set()
"""Modules of sessions/ that call splitlines() on something else than a transcript, whose lines end at 0x0A only."""


@pytest.mark.parametrize("module", sorted((PACKAGE / "sessions").glob("*.py")), ids=lambda path: path.name)
def test_transcripts_are_never_cut_at_other_line_ends(module: Path) -> None:
    if module.name not in SPLITS_NO_TRANSCRIPT:
        assert not [name for name in names_used(module) if name.endswith(".splitlines")]


HEAVY = {
    "argparse", "asyncio", "contextlib", "dataclasses", "datetime", "email", "importlib.metadata", "json", "logging",
    "pathlib", "re", "subprocess", "tempfile", "typing",
}  # fmt: skip


def test_gate_loads_nothing_that_an_idle_run_does_not_need() -> None:
    code = "import sys; sys.path.insert(0, sys.argv[1]); import total_recall.gate; print(*sys.modules)"
    run = [sys.executable, "-I", "-S", "-B", "-c", code, str(ROOT / "scripts")]
    loaded = set(subprocess.run(run, capture_output=True, check=True, text=True).stdout.split())
    assert "total_recall.gate" in loaded
    assert not loaded & HEAVY
    assert {name for name in loaded if name.startswith("total_recall.")} == {"total_recall.gate"}


def test_home_directory_cannot_be_reached(home: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Not by Python, not by a shell, not through XDG variables: all lead into pytest's own temporary folder."""
    variables = [name for name in os.environ if name.startswith("XDG_") and name.endswith("_HOME")]
    leads_home = [Path.home(), Path("~").expanduser(), *(Path(os.environ[name]) for name in variables)]
    shell = subprocess.run(["/bin/sh", "-c", "cd && pwd"], check=True, capture_output=True, text=True)
    leads_home.append(Path(shell.stdout.strip()))
    assert len(variables) >= 4
    assert all(path == home or home in path.parents for path in leads_home)
    assert tmp_path_factory.getbasetemp() in home.parents
    assert not list(home.iterdir())


def test_settings_of_whoever_runs_the_tests_are_gone(home: Path) -> None:
    """A key in the shell of a contributor must not send test conversations anywhere."""
    test = f"""
import os
def test_settings() -> None:
    assert not {{"OPENROUTER_API_KEY", "LLM_API_KEY", "OPENCLAW_WORKSPACE", "MEMORY_DIR"}} & set(os.environ)
    assert os.environ["HOME"] != {str(home)!r}
"""
    inner = home / "tests"
    inner.mkdir()
    (inner / "conftest.py").write_bytes((ROOT / "tests" / "conftest.py").read_bytes())
    (inner / "test_inner.py").write_text(test, "utf-8")
    noise = dict.fromkeys(("OPENROUTER_API_KEY", "LLM_API_KEY", "OPENCLAW_WORKSPACE", "MEMORY_DIR"), "placeholder")
    run = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(inner)]
    done = subprocess.run(run, env=dict(os.environ) | noise, cwd=home, capture_output=True, text=True)
    assert "1 passed" in done.stdout, done.stdout
