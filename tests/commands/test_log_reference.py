"""references/log.md: an agent that follows it gets the answer, so each of its examples is run."""

from __future__ import annotations

import json
import re
import shlex
from datetime import datetime, timezone
from pathlib import Path

import pytest

from happenings import MAIN, Happened, log
from total_recall import cli, clock, periods
from total_recall.arguments import parser
from total_recall.sidecar.database import Session

PAGE = Path(__file__).resolve().parents[2] / "skills" / "total-recall" / "references" / "log.md"
ROWS = re.findall(
    r"^\| (?P<asked>[^|]+?) \| `(?P<run>log(?: (?:[^`|])*)?)` \|$", PAGE.read_text(encoding="utf-8"), re.M
)
TIMES = re.findall(
    r"^\| ((?:`[^`]+`(?:, )?)+) \| [^|]+ \|$", PAGE.read_text(encoding="utf-8").partition("## Times")[2], re.M
)
NOW = datetime(2026, 11, 30, 12, tzinfo=timezone.utc)
"""Monday, 21:00 in Seoul."""
CRON = Session("c" * 36, "main", "agent:main:cron:job", "cron")
HAPPENED = (
    Happened("2026-11-23T01:00:00", name="exec", ok=False, summary="last Monday"),
    Happened("2026-11-29T14:00:00", name="exec", ok=False, summary="yesterday, a failed call"),
    Happened("2026-11-29T14:00:01", name="exec", ok=True, summary="yesterday, a call"),
    Happened("2026-11-29T14:00:02", "cron_run", "nightly", ok=False, session=CRON, summary="yesterday, a failed run"),
    Happened("2026-11-29T16:00:00", name="exec", ok=True, summary="today, deploy build 412"),
    Happened("2026-11-30T01:00:00", "user_message", "human", summary="10:00, where is the invoice?"),
    Happened("2026-11-30T02:59:59", "assistant_reply", summary="11:59, the invoice is in the mail"),
    Happened("2026-11-30T03:00:00", "error", "overloaded", ok=False, summary="noon, status code 500"),
    Happened("2026-11-30T11:00:00", "session_reset", "new", summary="20:00"),
    Happened("2026-11-30T11:30:00", "session_start", session=CRON, summary="20:30"),
)

ANSWERS = {
    "Which errors happened this week?": ["noon, status code 500"],
    "Which errors happened last week?": ["last Monday", "yesterday, a failed call", "yesterday, a failed run"],
    "What went wrong today?": ["noon, status code 500"],
    "Which tool calls failed yesterday?": ["yesterday, a failed call"],
    "어제 실패한 도구 호출은?": ["yesterday, a failed call"],
    "Did the last deploy work?": ["today, deploy build 412"],
    "What happened between nine and noon?": ["10:00, where is the invoice?", "11:59, the invoice is in the mail"],
    "What did you do in the last two hours?": ["20:00", "20:30"],
    "Which sessions were there this week?": ["20:30"],
    "What was said about the invoice?": ["10:00, where is the invoice?", "11:59, the invoice is in the mail"],
    "Where did exactly these words occur?": ["noon, status code 500"],
    "Did the nightly job run, and how did it go?": ["yesterday, a failed run"],
    "When was the conversation reset or compacted?": ["20:00"],
}


@pytest.fixture(autouse=True)
def logged(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What happened is logged; the user lives in Seoul."""
    monkeypatch.setenv("TOTAL_RECALL_TZ", "Asia/Seoul")
    monkeypatch.setattr(clock, "now", lambda: NOW)
    monkeypatch.chdir(tmp_path)
    (home / ".openclaw" / "agents" / "main" / "sessions").mkdir(parents=True)
    folder = home / ".openclaw" / "workspace" / "memory" / ".total-recall"
    folder.mkdir(parents=True)
    log(folder, HAPPENED)


def test_the_page_has_questions_and_times() -> None:
    assert len(ROWS) > 20 and len(TIMES) == 5
    assert set(ANSWERS) <= {asked for asked, _ in ROWS}
    assert MAIN.key is not None and any(MAIN.key in run for _, run in ROWS)


@pytest.mark.parametrize(("asked", "command"), ROWS, ids=[asked for asked, _ in ROWS])
def test_each_question_is_answered(asked: str, command: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = shlex.split(command)
    options = parser().parse_args(arguments)
    if options.tail:
        return  # it has no end; tests/commands/test_log.py follows it
    assert cli.main(arguments) == 0
    said = capsys.readouterr().out
    if asked in ANSWERS:
        assert cli.main([*arguments, "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert [event["summary"] for event in found["events"]] == ANSWERS[asked]
        assert all(summary in said for summary in ANSWERS[asked])


@pytest.mark.parametrize("written", [word for row in TIMES for word in re.findall("`([^`]+)`", row)])
def test_each_time_is_understood(written: str) -> None:
    start, end = periods.parse(written).resolve(NOW, timezone.utc)
    assert start <= end <= periods.calendar_span("year", NOW.date().replace(month=1, day=1), timezone.utc)[1]
