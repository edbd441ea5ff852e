"""Counts by local day, tool, job and model are those of the events, across the days on which clocks change."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import date, datetime, timezone
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from happenings import MAIN, NOBODY, Happened, log
from total_recall import periods
from total_recall.sidecar import statistics
from total_recall.sidecar.database import Events, Session
from total_recall.sidecar.queries import Wanted
from total_recall.sidecar.statistics import Count, Statistics

NEW_YORK = ZoneInfo("America/New_York")
SEOUL = ZoneInfo("Asia/Seoul")


@pytest.fixture
def events(tmp_path: Path) -> Iterator[Events]:
    log(tmp_path, [])
    with Events.open(tmp_path) as opened:
        yield opened


def gathered(events: Events, *happened: Happened, tz: ZoneInfo = SEOUL, **wanted: object) -> Statistics:
    log(events.path.parent, happened)
    return statistics.gather(events.db, Wanted(**wanted), tz)  # type: ignore[arg-type]


def test_an_empty_log_has_no_statistics(events: Events) -> None:
    assert gathered(events).rows == ()
    assert gathered(events).total() == Count()


@pytest.mark.parametrize(
    ("tz", "times", "days"),
    [
        (
            NEW_YORK,  # 1 November 2026 has 25 hours
            ["2026-11-01T03:59:59", "2026-11-01T04:00:00", "2026-11-02T04:59:59", "2026-11-02T05:00:00"],
            {date(2026, 10, 31): 1, date(2026, 11, 1): 2, date(2026, 11, 2): 1},
        ),
        (
            NEW_YORK,  # 8 March 2026 has 23
            ["2026-03-08T04:59:59", "2026-03-08T05:00:00", "2026-03-09T03:59:59", "2026-03-09T04:00:00"],
            {date(2026, 3, 7): 1, date(2026, 3, 8): 2, date(2026, 3, 9): 1},
        ),
        (
            ZoneInfo("Australia/Lord_Howe"),  # 5 April 2026 has 24.5
            ["2026-04-04T12:59:59", "2026-04-04T13:00:00", "2026-04-05T13:29:59", "2026-04-05T13:30:00"],
            {date(2026, 4, 4): 1, date(2026, 4, 5): 2, date(2026, 4, 6): 1},
        ),
        (
            SEOUL,
            ["2026-11-28T14:59:59", "2026-11-28T15:00:00", "2026-11-30T14:59:59"],
            {date(2026, 11, 28): 1, date(2026, 11, 29): 1, date(2026, 11, 30): 1},
        ),
    ],
)
def test_events_are_counted_on_their_local_day(
    events: Events, tz: ZoneInfo, times: list[str], days: dict[date, int]
) -> None:
    found = gathered(events, *map(Happened, times), tz=tz).by_day()
    assert {day: types["tool_call"].times for day, types in found.items()} == days


def test_failure_rates_are_of_those_that_are_known(events: Events) -> None:
    found = gathered(
        events,
        Happened("2026-11-30T01:00:00", name="exec", ok=True, duration_ms=100),
        Happened("2026-11-30T02:00:00", name="exec", ok=False, duration_ms=300),
        Happened("2026-11-30T03:00:00", name="exec", ok=None),
        Happened("2026-11-30T03:00:00", name="read", ok=None),
        Happened("2026-11-30T04:00:00", "cron_run", "nightly", ok=False),
    )
    execs, read = found.by_name("tool_call")["exec"], found.by_name("tool_call")["read"]
    assert (execs.times, execs.failed, execs.failure_rate, execs.mean_ms) == (3, 1, 0.5, 200.0)
    assert (read.failure_rate, read.mean_ms) == (None, None)
    assert {key: c.failed for key, c in found.failures().items()} == {
        ("cron_run", "nightly"): 1,
        ("tool_call", "exec"): 1,
    }


def test_tokens_and_money_by_model(events: Events) -> None:
    found = gathered(
        events,
        Happened("2026-11-29T01:00:00", "model_call", "a", tokens_in=10, tokens_out=1, cost_usd=0.25),
        Happened("2026-11-30T01:00:00", "model_call", "a", tokens_in=20, tokens_out=2, tokens_cached=5, cost_usd=0.5),
        Happened("2026-11-30T01:00:00", "model_call", "b"),
    )
    a, b = found.by_name("model_call")["a"], found.by_name("model_call")["b"]
    assert (a.tokens_in, a.tokens_out, a.tokens_cached) == (30, 3, 5)
    assert a.cost_usd is not None and math.isclose(a.cost_usd, 0.75)
    assert (b.tokens_in, b.cost_usd) == (0, None)


def test_only_what_is_wanted_is_counted(events: Events) -> None:
    work = Session("7" * 36, "work", "agent:work:main", "main")
    begin = periods.milliseconds(datetime(2026, 11, 30, tzinfo=timezone.utc))
    found = gathered(
        events,
        Happened("2026-11-29T23:59:59"),
        Happened("2026-11-30T00:00:00"),
        Happened("2026-11-30T00:00:00", session=work),
        Happened("2026-11-30T01:00:00"),
        since_ms=begin,
        until_ms=begin + 3_600_000,
        agent="main",
    )
    assert found.total().times == 1


def test_what_belongs_to_no_session_is_counted_and_is_none(events: Events) -> None:
    found = gathered(events, Happened("2026-11-30T01:00:00"), Happened("2026-11-30T01:00:00", session=NOBODY))
    assert found.total().times == 2
    assert statistics.sessions_of(events.db, Wanted()) == 1


def test_several_memories_add_up(events: Events) -> None:
    one = gathered(events, Happened("2026-11-30T01:00:00", name="exec", ok=False, session=MAIN))
    both = statistics.added([one, one, Statistics(())])
    assert (both.total().times, both.total().failed, len(both.rows)) == (2, 2, 1)
