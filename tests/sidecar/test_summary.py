"""The day's paragraph: its counts are SQL's, its language the user's, and nothing that anybody said is in it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import get_args
from zoneinfo import ZoneInfo

import pytest

from happenings import MAIN, NOBODY, Happened, log
from total_recall.llm.figures import readings
from total_recall.sidecar import summary
from total_recall.sidecar.database import Events, Session
from total_recall.sidecar.summary import Day
from total_recall.text import Language

DAY = date(2026, 11, 1)
NEW_YORK = ZoneInfo("America/New_York")
"""DAY has 25 hours there: 04:00 to 05:00 UTC of the next day."""
CRON = Session("c" * 36, "main", "agent:main:cron:job", "cron")


@pytest.fixture
def events(tmp_path: Path) -> Iterator[Events]:
    log(tmp_path, [])
    with Events.open(tmp_path) as opened:
        yield opened


def counted(events: Events, *happened: Happened) -> Day | None:
    log(events.path.parent, happened)
    return summary.count_day(events.db, DAY, NEW_YORK)


FULL = (
    Happened("2026-11-01T03:59:59.999", "user_message", "human", summary="the day before"),
    Happened("2026-11-01T04:00:00", "user_message", "human", summary="good morning"),
    Happened("2026-11-01T05:30:00", "assistant_reply", summary="hello"),
    Happened("2026-11-01T06:30:00", name="exec", ok=True),
    Happened("2026-11-01T06:30:01", name="exec", ok=False),
    Happened("2026-11-01T06:30:02", name="read", ok=None),
    Happened("2026-11-01T07:00:00", "user_message", "heartbeat", summary="[OpenClaw heartbeat poll]"),
    Happened("2026-11-01T08:00:00", "cron_run", "nightly backup", ok=False, session=CRON),
    Happened("2026-11-01T08:00:00", "subagent_spawned", "logs"),
    Happened("2026-11-01T08:10:00", "subagent_finished", "logs", ok=False),
    Happened("2026-11-01T09:00:00", "error", "overloaded", ok=False),
    Happened("2026-11-01T10:00:00", "session_reset", "new"),
    Happened("2026-11-01T10:00:01", "compaction"),
    Happened("2026-11-01T11:00:00", "model_call", "m", tokens_in=1200, tokens_out=34, cost_usd=1.5),
    Happened("2026-11-02T04:59:59.999", "user_message", "human", summary="good night"),
    Happened("2026-11-02T05:00:00", "user_message", "human", summary="the day after"),
    Happened("2026-11-01T12:00:00", "own_run", "observe", ok=False, session=NOBODY),
)


def test_a_day_is_counted_from_its_first_to_its_last_millisecond(events: Events) -> None:
    day = counted(events, *FULL)
    assert day is not None
    assert (f"{day.first:%H:%M:%S}", f"{day.last:%H:%M:%S.%f}") == ("00:00:00", "23:59:59.999000")
    assert (day.messages, day.replies, day.sessions) == (2, 1, 2)
    assert (day.calls, day.tools, day.failed_calls, day.failed_tools) == (
        3,
        (("exec", 2), ("read", 1)),
        1,
        (("exec", 1),),
    )
    assert (day.runs, day.jobs, day.failed_runs) == (1, (("nightly backup", 1),), 1)
    assert (day.subagents, day.failed_subagents, day.errors, day.resets, day.compactions) == (1, 1, 1, 1, 1)
    assert (day.tokens, day.cost_usd) == (1234, 1.5)


def test_nothing_but_our_own_runs_is_nothing(events: Events) -> None:
    assert counted(events, Happened("2026-11-01T12:00:00", "own_run", "observe", session=NOBODY)) is None


def test_the_counts_in_words(events: Events) -> None:
    day = counted(events, *FULL)
    assert day is not None
    assert summary.offline(day, "en") == (
        "00:00–23:59: 2 sessions; 2 messages from people; 1 reply; 3 tool calls (exec 2, read 1), 1 failed (exec 1); "
        "1 scheduled run (nightly backup 1), 1 failed (nightly backup 1); 1 sub-agent, 1 failed; 1 error; 1 reset; "
        "1 compaction; 1,234 model tokens ($1.50)."
    )
    assert summary.offline(day, "ko").startswith(
        "00:00–23:59: 세션 2개; 사람이 보낸 메시지 2건; 답장 1건; 도구 호출 3회 (exec 2, read 1), 1회 실패"
    )


@pytest.mark.parametrize("tongue", get_args(Language))
def test_every_language_tells_the_same_numbers(events: Events, tongue: Language) -> None:
    day = counted(events, *FULL)
    assert day is not None
    numbers = re.findall(r"\d[\d,:.]*\d|\d", summary.offline(day, tongue))
    assert numbers == re.findall(r"\d[\d,:.]*\d|\d", summary.offline(day, "en"))


def test_more_tools_than_are_named(events: Events) -> None:
    day = counted(events, *(Happened("2026-11-01T12:00:00", name=f"tool{n}", ok=True) for n in range(7)))
    assert day is not None
    assert "7 tool calls (tool0 1, tool1 1, tool2 1, tool3 1, tool4 1, …)" in summary.offline(day, "en")


@pytest.mark.parametrize(
    ("said", "tongue"),
    [
        ("배포를 오늘 끝내자", "ko"),
        ("Bitte heute noch die Rechnung schicken", "de"),
        ("明日の会議を忘れないで", "ja"),
        ("", "en"),
    ],
)
def test_the_language_is_that_of_the_user(events: Events, said: str, tongue: Language) -> None:
    log(
        events.path.parent,
        [
            Happened("2026-11-01T12:00:00", "user_message", "human", summary=said),
            Happened(
                "2026-11-01T12:00:01", "user_message", "heartbeat", summary="this is what the host says in English"
            ),
            Happened("2026-11-03T12:00:00", "user_message", "human", summary="what was said later does not count here"),
        ],
    )
    assert summary.language(events.db, DAY, NEW_YORK) == tongue


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("exec", "exec"),
        ("mcp__files.read/all", "mcp__files.read/all"),
        ("Nightly --> <b>ignore</b> [this](http://x)", "Nightly -- b ignore /b this http://x"),
        ("야간 백업", "야간 백업"),
        ("a\n# heading\x1b[31m", "a heading 31m"),
        ("x" * 300, "x" * 40),
        ("", "?"),
        ("!!!", "?"),
    ],
)
def test_names_say_nothing_else(name: str, safe: str) -> None:
    assert summary.safe_name(name) == safe


COUNTS = "00:00–23:59: 2 sessions; 14 messages from people; 57 tool calls, 3 failed."
NOTES = ["Invoice 4711 is due on 2026-12-04", "User moved the meeting to 15:30"]


@pytest.mark.parametrize(
    ("reply", "holds"),
    [
        ("The day was about invoice 4711, which is due on 2026-12-04.", True),
        ("It was a busy day: 57 calls were made, and 3 of them failed.", True),
        ("The meeting was moved to 3:30 pm, and the invoice was discussed.", True),
        ("```\nThe day was about the invoice and the meeting.\n```", True),
        ("It was a busy day: 58 calls were made.", False),
        ("It was a busy day: fifty calls were made, and none failed.", False),
        ("The invoice 4712 was discussed, and is still open.", False),
        ("More is at https://example.org, which was opened.", False),
        ("The day <!-- was --> about the invoice.", False),
        ("Fine.", False),
        ("", False),
        ("word " * 400, False),
    ],
)
def test_a_models_words_hold_only_with_numbers_that_were_counted_or_noted(reply: str, holds: bool) -> None:
    assert (summary.checked(reply, COUNTS, NOTES, readings) is not None) == holds


def test_a_paragraph_is_one_line() -> None:
    found = summary.checked("The day was about the invoice.\n\nThen the meeting was moved.", COUNTS, NOTES, readings)
    assert found == "The day was about the invoice. Then the meeting was moved."


def test_the_digest_of_a_day_tells_other_counts(events: Events) -> None:
    before = counted(events, *FULL)
    after = counted(events, Happened("2026-11-01T12:00:00", "assistant_reply", session=MAIN))
    assert before and after and before.digest != after.digest
    assert before.digest == summary.Day(**{f: getattr(before, f) for f in before.__slots__}).digest
