"""docs/adding-a-host.md is true: a host built from its blocks passes the suite, and what is said there is remembered."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from builders import IMPORT_ROOTS
from claude_home import ClaudeHome
from total_recall.commands import projects
from total_recall.commands.projects import OtherHost

PAGE = Path(__file__).resolve().parents[2] / "docs" / "adding-a-host.md"
ADAPTER, LINE, TESTS = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE)
CONFTEST = "from pathlib import Path\nimport total_recall.sessions\ntotal_recall.sessions.__path__.append({folder!r})\n"


def test_the_adapter_of_the_page_passes_the_suite(tmp_path: Path) -> None:
    package, tests = tmp_path / "package", tmp_path / "tests"
    for folder in (package, tests):
        folder.mkdir()
    (package / "codex.py").write_text(ADAPTER, "utf-8")
    (tests / "conftest.py").write_text(CONFTEST.format(folder=str(package)), "utf-8")
    (tests / "test_codex.py").write_text(TESTS, "utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", str(tests)]
    done = subprocess.run(
        [*command, str(tests)],
        env={"HOME": str(tmp_path), "PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(IMPORT_ROOTS)},
        cwd=tests,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert int(re.findall(r"(\d+) passed", done.stdout)[0]) > 25


def loaded(folder: Path) -> ModuleType:
    (folder / "codex.py").write_text(ADAPTER, "utf-8")
    spec = importlib.util.spec_from_file_location("codex", folder / "codex.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_line_of_the_page_is_all_that_the_commands_need(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = eval(LINE, {"OtherHost": OtherHost, "codex": loaded(tmp_path)})
    monkeypatch.setattr(projects, "HOSTS", (*projects.HOSTS, line))
    day = home / ".codex" / "sessions" / "2026" / "11" / "30"
    day.mkdir(parents=True)
    claude = ClaudeHome(home, {"TOTAL_RECALL_HOSTS": "codex"})
    stamp = claude.now.isoformat().replace("+00:00", "Z")
    entry = {"timestamp": stamp, "type": "event_msg", "payload": {"type": "user_message", "message": "the demo moved"}}
    (day / "rollout-2026-11-30T06-00-00-1.jsonl").write_text(json.dumps(entry) + "\n", "utf-8")
    claude.observe()
    memory = home / ".total-recall" / "codex" / "memory"
    assert "the demo moved" in (memory / "observations.md").read_text("utf-8")
    assert sum(run.messages for run in claude.observe().runs) == 0
