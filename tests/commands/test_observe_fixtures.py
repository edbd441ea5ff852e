"""The main job on real transcripts, through the command line: what the shipped sessions must become."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from total_recall import cli

FIXTURES = Path(__file__).parents[1] / "fixtures"
UNWANTED = (
    "Session Startup sequence", "NO_REPLY", "Sub-agent: the logs", "Say the status", "runtime context",
    "UNTRUSTED_CHILD", "drwxr-xr-x", "hello from the shell", "deploy ok", "ENOENT", "File not found",
    "Stub observation",
)  # fmt: skip
"""The start-up prompt, silent replies, sub-agents' and cron's sessions, the runtime context, tool output."""


def observed(home: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    shutil.copytree(FIXTURES / name, home / name)
    monkeypatch.setenv("HOME", str(home / name))
    monkeypatch.setenv("TOTAL_RECALL_TZ", "UTC")
    assert cli.main(["observe", "--all"]) == 0
    document = (home / name / ".openclaw" / "workspace" / "memory" / "observations.md").read_text(encoding="utf-8")
    assert not [text for text in UNWANTED if text.lower() in document.lower()]
    return [line for line in document.split("\n") if line.startswith("- ")]


def matching(lines: list[str], pattern: str) -> list[str]:
    return [line for line in lines if re.search(pattern, line.partition("<!--")[0], re.IGNORECASE)]


@pytest.mark.parametrize("name", ["openclaw-2026.3.24-jsonl", "openclaw-2026.9.6-sqlite"])
def test_both_generations_carry_what_was_said_before_new(
    name: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = observed(home, name, monkeypatch)
    assert len(matching(lines, r"deployed build 412 to staging")) == 1
    (wish,) = matching(lines, r"answers short.*metric units|short answers.*metric units")
    assert "dc:type=preference" in wish


def test_the_files_carry_tea_deadline_and_shipping_day(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = observed(home, "openclaw-2026.3.24-jsonl", monkeypatch)
    assert len(matching(lines, r"favou?rite tea is oolong")) == 1
    (deadline,) = matching(lines, r"deadline.*14 December")
    assert "2026-12-14" in deadline and "dc:refers=2026-12-14" in deadline
    (ships,) = matching(lines, r"Aurora ships on Friday")
    assert "2026-12-04" in ships and "dc:refers=2026-12-04" in ships


def test_a_second_run_adds_nothing(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    observed(home, "openclaw-2026.3.24-jsonl", monkeypatch)
    capsys.readouterr()
    assert cli.main(["observe"]) == 0
    assert capsys.readouterr().out == "Nothing new.\n"


def test_an_unreadable_configuration_starts_no_second_memory(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(FIXTURES / "openclaw-2026.3.24-jsonl", home / "h")
    monkeypatch.setenv("HOME", str(home / "h"))
    (home / "h" / ".openclaw" / "openclaw.json").write_text('{"agents": ')
    assert cli.main(["observe"]) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "openclaw.json" in said and "OPENCLAW_WORKSPACE" in said
    assert not (home / "h" / ".openclaw" / "workspace").exists()
    monkeypatch.setenv("OPENCLAW_WORKSPACE", str(home / "h" / "elsewhere"))
    assert cli.main(["observe", "--all"]) == 0
    assert (home / "h" / "elsewhere" / "memory" / "observations.md").exists()
