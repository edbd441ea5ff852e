"""The hook commands, run as Claude Code runs them: a shell, the event as JSON on stdin."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from claude_home import ClaudeHome
from total_recall import hook
from total_recall.commands.places import PROJECT
from total_recall.host import claude_config

REPOSITORY = Path(__file__).resolve().parents[2]
RUN = [sys.executable, "-I", "-X", "utf8", str(REPOSITORY / "scripts" / "run.py")]
SOON_SECONDS = 30.0


@pytest.fixture
def claude(home: Path) -> ClaudeHome:
    made = ClaudeHome(home)
    made.install_hooks()
    return made


def event(claude: ClaudeHome, project: Path, name: str, **more: str) -> bytes:
    """As version 2.1.197 sends it."""
    path = claude.folder(project) / "s1.jsonl"
    fields = {"session_id": "s1", "transcript_path": str(path), "cwd": str(project), "hook_event_name": name, **more}
    return json.dumps(fields, ensure_ascii=False).encode()


def answered(given: bytes, claude: ClaudeHome, *words: str) -> subprocess.CompletedProcess[bytes]:
    env = {"HOME": str(claude.home), "PATH": "/usr/bin:/bin", **claude.env}
    words = words or claude_config.HOOK
    return subprocess.run([*RUN, *words], input=given, env=env, capture_output=True, timeout=60, check=False, cwd="/")


def remembered(claude: ClaudeHome, *texts: str) -> Path:
    tea = claude.project("tea")
    claude.say(tea, *texts, hours_ago=2)
    claude.observe(agent=f"{PROJECT}{tea}")
    return tea


def soon(happened: Callable[[], bool]) -> bool:
    until = time.monotonic() + SOON_SECONDS
    while time.monotonic() < until and not happened():
        time.sleep(0.05)
    return happened()


@pytest.mark.parametrize("source", ["startup", "resume", "clear", "compact"])
def test_a_session_begins_with_what_is_remembered(source: str, claude: ClaudeHome) -> None:
    tea = remembered(claude, "the demo is on Thursday", "데모는 목요일 🍵")
    said = answered(event(claude, tea, "SessionStart", source=source), claude)
    assert (said.returncode, said.stderr) == (0, b"")
    text = said.stdout.decode()
    assert text.startswith("<total-recall-memory>") and text.endswith("</total-recall-memory>\n")
    assert "the demo is on Thursday" in text and "데모는 목요일 🍵" in text


def test_it_is_what_context_says(claude: ClaudeHome, monkeypatch: pytest.MonkeyPatch) -> None:
    tea = remembered(claude, "the demo is on Thursday")
    given = event(claude, tea, "SessionStart")
    asked = answered(b"", claude, "context", "--project", str(tea)).stdout
    assert answered(given, claude).stdout == asked != b""
    monkeypatch.setattr(hook, "_asked", lambda _directory: pytest.fail("it was ready-made"))
    assert hook.main(claude_config.HOOK, str(claude.home), given) == 0


@pytest.mark.parametrize("how", ["edited", "yesterday", "not ready", "too long", "project gone"])
def test_what_is_not_up_to_date_is_asked_for(how: str, claude: ClaudeHome) -> None:
    tea = remembered(claude, "the demo is on Thursday")
    memory = tea / ".total-recall" / "memory"
    if how == "edited":
        text = (memory / "observations.md").read_text("utf-8")
        (memory / "observations.md").write_text(text.replace("Thursday", "Friday"), "utf-8")
    elif how == "yesterday":
        (memory / ".observer-last-run").write_text("1000000000\n")
        os.utime(memory / ".observer-last-hash", ((claude.now - timedelta(days=2)).timestamp(),) * 2)
        (memory / ".total-recall" / "context.txt").write_text("<total-recall-memory>old</total-recall-memory>\n")
    elif how == "not ready":
        (memory / ".total-recall" / "context.txt").unlink()
    elif how == "too long":
        (memory / ".total-recall" / "context.txt").write_text("x" * 10_001)
    else:
        tea.rename(tea.with_name("elsewhere"))
    said = answered(event(claude, tea, "SessionStart"), claude)
    assert (said.returncode, said.stderr) == (0, b"")
    text = said.stdout.decode()
    assert {"edited": "Friday", "project gone": ""}.get(how, "Thursday") in text
    assert (text == "") == (how == "project gone")
    assert "old" not in text and "xxx" not in text


def test_a_session_gets_no_more_than_the_host_takes(claude: ClaudeHome) -> None:
    """Of more than 10,000 UTF-16 units the model would see a preview."""
    said = [f"The responsible administration mentioned telecommunication infrastructure number {n * 7} for {name} 🍵"
            for n, name in enumerate(["Mina", "Jürgen", "Catherine", "Ola"] * 60)]  # fmt: skip
    tea = claude.project("tea")
    for number, text in enumerate(said):
        claude.say(tea, text, hours_ago=2, session=f"s{number}")
    claude.observe(agent=f"{PROJECT}{tea}")
    given = event(claude, tea, "SessionStart")
    for _ in range(2):
        text = answered(given, claude).stdout.decode()
        assert 8_000 < len(text.encode("utf-16-le")) // 2 <= 10_000
        (tea / ".total-recall" / "memory" / ".total-recall" / "context.txt").unlink(missing_ok=True)


def test_a_new_project_says_nothing(claude: ClaudeHome) -> None:
    said = answered(event(claude, claude.project("new"), "SessionStart"), claude)
    assert (said.returncode, said.stdout, said.stderr) == (0, b"", b"")


def test_a_new_project_gets_the_memory_of_all_where_that_was_chosen(claude: ClaudeHome) -> None:
    claude.env["TOTAL_RECALL_HOSTS"] = f"claude-code={claude.home / 'shared'}"
    claude.say(claude.project("tea"), "the demo is on Thursday")
    claude.observe()
    said = answered(event(claude, claude.project("new"), "SessionStart"), claude)
    assert b"the demo is on Thursday" in said.stdout


@pytest.mark.parametrize(("name", "command"), [("SessionEnd", "observe"), ("PreCompact", "flush")])
def test_what_was_said_is_observed_by_a_process_that_nobody_waits_for(
    name: str, command: str, claude: ClaudeHome
) -> None:
    tea, pot = claude.project("tea"), claude.project("pot")
    claude.say(tea, "the demo is on Thursday 2026-12-03", "Noted.")
    claude.say(pot, "about the pot")
    said = answered(event(claude, tea, name, reason="other", trigger="auto"), claude)
    assert (said.returncode, said.stdout, said.stderr) == (0, b"", b"")
    document = tea / ".total-recall" / "memory" / "observations.md"
    assert soon(lambda: document.exists() and "demo" in document.read_text("utf-8"))
    log = tea / ".total-recall" / "logs" / "observer.log"
    assert soon(lambda: log.exists() and f" {command}" in log.read_text("utf-8"))
    assert not (pot / ".total-recall").exists()


@pytest.mark.parametrize(
    "given",
    [
        b"", b"{", b"null", b"[]", b"7", b"{}", b"\xff\xfe", b"[" * 100_000,
        b'{"hook_event_name": "SessionStart"}',
        b'{"hook_event_name": "SessionStart", "transcript_path": 7, "cwd": []}',
        b'{"hook_event_name": "SessionStart", "transcript_path": "/nowhere/x.jsonl", "cwd": "/nowhere"}',
        b'{"hook_event_name": ["SessionEnd"], "transcript_path": "/nowhere/x.jsonl"}',
        b'{"hook_event_name": "SessionEnd", "transcript_path": "../x.jsonl"}',
        b'{"hook_event_name": "SessionEnd"}',
        b'{"hook_event_name": "Stop", "transcript_path": "/nowhere/x.jsonl"}',
        b'{"hook_event_name": "SessionStart", "transcript_path": "/nowhere/\\ud83d\\u0000.jsonl", "cwd": "/\\u0000"}',
    ],
)  # fmt: skip
def test_whatever_comes_the_host_is_not_disturbed(given: bytes, claude: ClaudeHome) -> None:
    said = answered(given, claude)
    assert (said.returncode, said.stdout, said.stderr) == (0, b"", b"")


def test_a_host_that_nobody_knows_gets_no_answer(claude: ClaudeHome) -> None:
    tea = remembered(claude, "the demo is on Thursday")
    for words in (("hook",), ("hook", "codex"), ("hook", "claude-code", "--more")):
        said = answered(event(claude, tea, "SessionStart"), claude, *words)
        assert (said.returncode, said.stdout, said.stderr) == (0, b"", b"")


def test_a_bug_of_ours_is_reported_and_disturbs_nobody(
    claude: ClaudeHome, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


    def broken(_given: bytes) -> None:
        raise KeyError("a bug")

    monkeypatch.setattr(hook, "_event", broken)
    assert hook.main(claude_config.HOOK, str(claude.home), b"{}") == 0
    assert capfd.readouterr() == ("", "")
    (report,) = tmp_path.glob("total-recall-*.log")
    assert "a bug" in report.read_text("utf-8")


def test_a_memory_that_cannot_be_read_says_nothing(claude: ClaudeHome) -> None:
    tea = remembered(claude, "the demo is on Thursday")
    document = tea / ".total-recall" / "memory" / "observations.md"
    document.unlink()
    document.mkdir()
    said = answered(event(claude, tea, "SessionStart"), claude)
    assert (said.returncode, said.stdout, said.stderr) == (0, b"", b"")


def test_a_program_that_is_gone_disturbs_nobody(tmp_path: Path) -> None:
    """What stands in settings.json is a shell's command: it ends well whatever becomes of us."""
    command = f'/bin/sh "{tmp_path}/total-recall" hook claude-code 2>/dev/null || :'
    said = subprocess.run(["/bin/sh", "-c", command], input=b"{}", capture_output=True, check=False, timeout=10)
    assert (said.returncode, said.stdout, said.stderr) == (0, b"", b"")


def test_what_the_session_was_told_is_not_observed_again(claude: ClaudeHome) -> None:
    """The host keeps a hook's output in the transcript."""
    tea = remembered(claude, "the demo is on Thursday")
    text = answered(event(claude, tea, "SessionStart"), claude).stdout.decode()
    told = {"type": "hook_success", "hookEvent": "SessionStart", "content": text, "stdout": text}
    entry = {"type": "attachment", "uuid": "a1", "isSidechain": False, "cwd": str(tea), "attachment": told}
    with claude.say(tea, text, session="s2").open("ab") as stream:
        stream.write(json.dumps(entry).encode() + b"\n")
    result = claude.observe(agent=f"{PROJECT}{tea}")
    assert sum(run.messages for run in result.runs) == 0
