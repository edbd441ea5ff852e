"""Each benchmark runs, checks itself what it did, and prints one line of JSON. How fast is not for a test to say."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bootstrap import OWN_VERSION, checksum

ROOT = Path(__file__).resolve().parent.parent
BENCHMARKS = ROOT / "benchmarks"
TINY = {
    "dream": ["--counts", "300", "--runs", "1"],
    "idle": ["--sessions", "5", "--runs", "2"],
    "ingest": ["--megabytes", "0.5", "--sessions", "3", "--runs", "1"],
    "load": "--agents 2 --sessions 4 --megabytes 0.2 --archived 40 --runs 1".split(),
    "projects": ["--projects", "6", "--in-use", "2", "--runs", "2"],
    "retrieval": ["--scale", "200", "--runs", "0"],
    "watch": ["--idle-seconds", "1", "--storm-seconds", "0.5", "--rate", "200"],
    "sidecar": ["--events", "2000", "--runs", "2"],
    "sqlite_tail": ["--rows", "300", "--sessions", "7", "--new", "10", "--runs", "2"],
}
NEEDS_MORE = {"real_model"}
"""A model that is served."""


@pytest.fixture
def environment(home: Path) -> None:
    """These tests' own Python environment, in the place where the launcher looks for one."""
    folder = home / ".local" / "share" / "total-recall"
    folder.mkdir(parents=True)
    name = f"env-{checksum((ROOT / 'requirements.txt').read_bytes())}-{OWN_VERSION}"
    (folder / name).symlink_to(sys.prefix)


def figures(name: str) -> dict[str, Any]:
    command = [sys.executable, str(BENCHMARKS / f"{name}.py"), *TINY[name]]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    (line,) = done.stdout.splitlines()
    found: dict[str, Any] = json.loads(line)
    assert found["benchmark"] == name
    return found


def test_idle(environment: None) -> None:
    found = figures("idle")
    assert {found[kind]["ratio"] > 0 for kind in ("files", "database")} == {True}


def test_ingest(environment: None) -> None:
    found = figures("ingest")
    assert found["files"] == 3
    assert found["messages"] > 20
    assert found["offline"]["messages"] > 100
    assert found["speed"] > 0 and found["peak_mb"] > 0
    assert set(found["next_ms"]) == {"big", "small"}


def test_sqlite_tail() -> None:
    found = figures("sqlite_tail")
    assert found["messages"] == 300
    assert found["longest_read_ms"] > 0
    assert found["tail_ms"] > 0 and found["no_mark_ms"] > 0


def test_projects(environment: None) -> None:
    found = figures("projects")
    assert found["projects"] == 6 and found["memories"] == 2
    assert found["session_start_ms"] > 0 and found["idle_ms"] > 0


def test_sidecar() -> None:
    found = figures("sidecar")
    assert found["events"] > 1000
    assert found["events_a_second"] > 0 and found["bytes_an_event"] > 100
    assert len(found["queries_ms"]) == 5


def test_dream() -> None:
    found = figures("dream")["observations"]["300"]
    assert found["archived"] + found["kept"] == 300
    assert found["seconds"] > 0


def test_retrieval() -> None:
    assert figures("retrieval")["scale"]["memories"] == 200


@pytest.mark.skipif(sys.platform != "linux", reason="it reads /proc")
def test_watch() -> None:
    assert figures("watch")["fires_at"] == 40


def test_every_benchmark_is_run_here_and_described() -> None:
    scripts = {path.stem for path in BENCHMARKS.glob("*.py") if "__main__" in path.read_text("utf-8")}
    readme = (BENCHMARKS / "README.md").read_text("utf-8")
    assert scripts == {*TINY, *NEEDS_MORE}
    assert all(f"benchmarks/{name}.py" in readme for name in scripts)


def test_load(environment: None) -> None:
    found = figures("load")
    assert set(found["large"]) == set(found["small"])
    assert set(found["large"]) == {"first", "idle", "next", "recall_first", "recall", "context"}
    assert all(figure["ms"] > 0 for figure in found["large"].values())
