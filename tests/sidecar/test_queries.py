"""What the log is asked is answered exactly, in the order of time, and through an index."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from happenings import MAIN, NOBODY, Happened, log
from total_recall import periods
from total_recall.errors import TotalRecallError
from total_recall.sidecar import queries
from total_recall.sidecar.database import Events, Session
from total_recall.sidecar.events import TYPES
from total_recall.sidecar.fulltext import match_query
from total_recall.sidecar.queries import Wanted
from total_recall.sidecar.rows import Event

OTHER = Session("5e551011-0000-4000-8000-000000000002", "main", "agent:main:cron:job", "cron")
TWIN = Session("77777777-0000-4000-8000-000000000003", "work", "agent:work:main", "main")


@pytest.fixture
def events(tmp_path: Path) -> Iterator[Events]:
    """An open log with nothing in it; `log` adds to it."""
    log(tmp_path, [])
    with Events.open(tmp_path) as opened:
        yield opened


def fill(events: Events, *happened: Happened) -> None:
    log(events.path.parent, happened)


def asked(events: Events, limit: int = 1000, **wanted: object) -> list[Event]:
    return queries.newest(events.db, Wanted(**wanted), limit, match_query)  # type: ignore[arg-type]


def summaries(events: Events, limit: int = 1000, **wanted: object) -> list[str]:
    return [event.summary for event in asked(events, limit, **wanted)]


def span(words: str, now: str, zone: str) -> dict[str, int]:
    """The milliseconds of a time that somebody in `zone` asks for at `now`, a UTC time."""
    at = datetime.fromisoformat(now).replace(tzinfo=timezone.utc)
    start, end = periods.parse(words).resolve(at, ZoneInfo(zone))
    return {"since_ms": periods.milliseconds(start), "until_ms": periods.milliseconds(end)}


# --- exactly those of a day ------------------------------------------------------------------------------------

FIRST_AND_LAST = [
    # zone, now (UTC), first ms of yesterday (UTC), first ms after it
    ("Asia/Seoul", "2026-11-30T12:00", "2026-11-28T15:00:00", "2026-11-29T15:00:00"),
    ("America/New_York", "2026-11-02T12:00", "2026-11-01T04:00:00", "2026-11-02T05:00:00"),  # 25 hours
    ("America/New_York", "2026-03-09T12:00", "2026-03-08T05:00:00", "2026-03-09T04:00:00"),  # 23 hours
    ("Australia/Lord_Howe", "2026-04-06T01:00", "2026-04-04T13:00:00", "2026-04-05T13:30:00"),  # 24.5 hours
    ("Australia/Lord_Howe", "2026-10-05T01:00", "2026-10-03T13:30:00", "2026-10-04T13:00:00"),  # 23.5 hours
]


@pytest.mark.parametrize(("zone", "now", "first", "after"), FIRST_AND_LAST)
def test_all_failed_tool_calls_of_yesterday(events: Events, zone: str, now: str, first: str, after: str) -> None:
    begin, end = datetime.fromisoformat(first), datetime.fromisoformat(after)
    moments = {
        "a ms before": begin - timedelta(milliseconds=1),
        "first": begin,
        "noon": begin + (end - begin) / 2,
        "last": end - timedelta(milliseconds=1),
        "after": end,
    }
    for name, at in moments.items():
        fill(
            events,
            Happened(at.isoformat(), name="exec", ok=False, summary=name),
            Happened(at.isoformat(), name="exec", ok=True, summary=f"{name}, ok"),
            Happened(at.isoformat(), "error", ok=False, summary=f"{name}, no call"),
        )
    found = summaries(events, types=("tool_call",), failed=True, **span("yesterday", now, zone))
    assert found == ["first", "noon", "last"]


@pytest.mark.parametrize(
    ("zone", "now", "monday"),
    [
        ("Asia/Seoul", "2026-11-30T12:00", "2026-11-29T15:00:00"),
        ("America/New_York", "2026-11-01T12:00", "2026-10-26T04:00:00"),  # Sunday, the clocks went back this morning
        ("America/New_York", "2026-11-02T12:00", "2026-11-02T05:00:00"),
        ("Australia/Lord_Howe", "2026-10-04T12:00", "2026-09-27T13:30:00"),
    ],
)
def test_errors_of_this_week(events: Events, zone: str, now: str, monday: str) -> None:
    begin = datetime.fromisoformat(monday)
    fill(
        events,
        Happened((begin - timedelta(milliseconds=1)).isoformat(), "error", ok=False, summary="last week"),
        Happened(begin.isoformat(), "error", ok=False, summary="an error"),
        Happened(begin.isoformat(), "cron_run", ok=False, summary="a run"),
        Happened(begin.isoformat(), "tool_call", ok=False, summary="a call"),
        Happened(begin.isoformat(), "tool_call", ok=None, summary="a call without a result"),
        Happened(f"{now}:00", "user_message", summary="a message about an error"),
    )
    assert summaries(events, failed=True, **span("week", now, zone)) == ["an error", "a run", "a call"]


def test_the_hour_that_comes_twice_is_in_order(events: Events) -> None:
    """01:30 in New York on 1 November 2026 is 05:30 and 06:30 UTC."""
    fill(
        events,
        Happened("2026-11-01T06:30:00", summary="second"),
        Happened("2026-11-01T05:30:00", summary="first"),
        Happened("2026-11-01T07:30:00", summary="02:30"),
    )
    twice = span("2026-11-01T01:30", "2026-11-02T12:00", "America/New_York")
    assert summaries(events, since_ms=twice["since_ms"]) == ["first", "second", "02:30"]
    assert summaries(events, since_ms=twice["since_ms"], until_ms=twice["until_ms"]) == ["first"]


# --- every filter ----------------------------------------------------------------------------------------------


def test_the_newest_are_given_the_oldest_of_them_first(events: Events) -> None:
    fill(events, *(Happened(f"2026-11-30T12:00:0{n}", summary=str(n)) for n in (3, 1, 2, 5, 4)))
    assert summaries(events, limit=3) == ["3", "4", "5"]
    assert [e.summary for e in queries.all_events(events.db, Wanted(), match_query)] == ["1", "2", "3", "4", "5"]


def test_a_session_is_named_by_its_id_its_key_or_the_beginning_of_its_id(events: Events) -> None:
    fill(
        events,
        Happened("2026-11-30T12:00:00", summary="main"),
        Happened("2026-11-30T12:00:01", summary="cron", session=OTHER),
        Happened("2026-11-30T12:00:02", summary="work", session=TWIN),
        Happened("2026-11-30T12:00:03", summary="nobody's", session=NOBODY),
    )
    assert summaries(events, session=MAIN.id) == ["main"]
    assert summaries(events, session="agent:main:cron:job") == ["cron"]
    assert summaries(events, session="7777") == ["work"]
    with pytest.raises(TotalRecallError, match="beginning of 2 sessions"):
        asked(events, session="5e55")
    for nobody in ("nowhere", "%", "7777%"):
        with pytest.raises(TotalRecallError, match="no session"):
            asked(events, session=nobody)


def test_a_key_is_all_sessions_that_had_it(events: Events) -> None:
    """In older hosts each reset gives the key to a new session."""
    after = replace(MAIN, id="5e551011-0000-4000-8000-000000000009")
    fill(
        events,
        Happened("2026-11-30T12:00:01", summary="1", session=after),
        Happened("2026-11-30T12:00:00", summary="0"),
    )
    assert summaries(events, session="agent:main:main") == ["0", "1"]


def test_an_agent_is_asked_for_with_what_belongs_to_no_session(events: Events) -> None:
    fill(
        events,
        Happened("2026-11-30T12:00:00", summary="main"),
        Happened("2026-11-30T12:00:01", summary="nobody's", session=NOBODY),
        Happened("2026-11-30T12:00:02", summary="work", session=TWIN),
    )
    assert summaries(events, agent="main") == ["main", "nobody's"]
    assert summaries(events, agent="nobody") == []


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("invoice", ["Invoice 4711 sent", "the invoices"]),
        ("INVOICE sent", ["Invoice 4711 sent"]),
        ('"sent invoice"', []),
        ('"4711 sent"', ["Invoice 4711 sent"]),
        ("결제", ["재결제를 했다", "결제 완료"]),
        ("결제를", ["재결제를 했다"]),
        ("cafe", ["Café crème"]),
        ("rm -rf", ["rm -rf build"]),
        ("/tmp/a.txt", ["in details"]),
        ("denied", ["with an error"]),
        ("nothing-like-it", []),
        ("!!", ["stop!!"]),
        ("DROP TABLE event; --", []),
        ('" OR *', []),
    ],
)
def test_words(events: Events, words: str, found: list[str]) -> None:
    texts = (
        "Invoice 4711 sent",
        "the invoices",
        "재결제를 했다",
        "결제 완료",
        "Café crème",
        "rm -rf build",
        "rm a",
        "stop!!",
    )
    fill(
        events,
        *(Happened(f"2026-11-30T12:00:{n:02}", summary=text) for n, text in enumerate(texts)),
        Happened("2026-11-30T12:00:50", summary="in details", details={"arguments": {"path": ["/tmp/a.txt"]}}),
        Happened("2026-11-30T12:00:51", summary="with an error", error="EACCES: permission denied"),
    )
    assert summaries(events, words=words) == found
    assert queries.count(events.db, Wanted(words=words), match_query) in (len(found), None)


@pytest.mark.parametrize("many", [5, 500])
def test_many_matches_are_found_as_few_are(events: Events, monkeypatch: pytest.MonkeyPatch, many: int) -> None:
    fill(
        events,
        *(Happened(f"2026-11-30T12:00:{n:02}", summary=f"build {n} {'ok' if n % 2 else 'bad'}") for n in range(40)),
    )
    few = summaries(events, words="buil bad", types=("tool_call",))
    monkeypatch.setattr(queries, "FEW_MATCHES", 5)
    monkeypatch.setattr(queries, "MANY_MATCHES", many)
    assert (
        summaries(events, words="buil bad", types=("tool_call",)) == few == [f"build {n} bad" for n in range(0, 40, 2)]
    )


KINDS = st.sampled_from(["tool_call", "error", "user_message", "cron_run"])
NAMES = st.sampled_from(["exec", "read", "write"])
HAPPENED = st.builds(
    lambda second, kind, name, ok, session: Happened(
        f"2026-11-30T12:00:{second:02}", kind, name, ok, f"{kind} {name}", session
    ),
    st.integers(0, 20), KINDS, NAMES, st.sampled_from([True, False, None]),
    st.sampled_from([MAIN, OTHER, TWIN, NOBODY]),
)  # fmt: skip
NOON = periods.milliseconds(datetime(2026, 11, 30, 12, tzinfo=timezone.utc))
WANTED = st.builds(
    Wanted,
    since_ms=st.none() | st.integers(0, 20).map(lambda s: NOON + s * 1000),
    until_ms=st.none() | st.integers(0, 21).map(lambda s: NOON + s * 1000),
    types=st.lists(KINDS, max_size=2).map(tuple),
    tools=st.lists(NAMES, max_size=2).map(tuple),
    failed=st.booleans(),
    session=st.sampled_from(["", MAIN.id, "agent:work:main"]),
    agent=st.sampled_from(["", "main", "work"]),
    words=st.sampled_from(["", "exec", "error rea"]),
)


def is_wanted(event: Event, wanted: Wanted) -> bool:
    """The same in Python, word for word as `Wanted` says it."""
    at = periods.milliseconds(event.at)
    return (
        (wanted.since_ms is None or at >= wanted.since_ms)
        and (wanted.until_ms is None or at < wanted.until_ms)
        and (not wanted.types or event.type in wanted.types)
        and (not wanted.tools or (event.type == "tool_call" and event.name in wanted.tools))
        and (not wanted.failed or event.ok is False)
        and (not wanted.session or wanted.session in (event.session.id, event.session.key))
        and (not wanted.agent or event.session.agent == wanted.agent)
        and all(f" {word}" in f" {event.summary}" for word in wanted.words.split())
    )


SIZES = [(200, 2_000, 60_000), (0, 3, 500), (200, 3, 500), (200, 3, 6)]
"""What may be merged, read and kept in mind at once: each way to an answer is gone."""


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(HAPPENED, max_size=25), WANTED, st.integers(1, 10), st.sampled_from(SIZES))
def test_any_filters_together(
    tmp_path_factory: pytest.TempPathFactory,
    happened: list[Happened],
    wanted: Wanted,
    limit: int,
    sizes: tuple[int, int, int],
) -> None:
    """Whatever index is taken, the answer is that of a look at every event."""
    folder = tmp_path_factory.mktemp("log")
    log(folder, [Happened("2026-11-30T11:00:00", "own_run", session=s) for s in (MAIN, TWIN)] + happened)
    with pytest.MonkeyPatch.context() as patch, Events.open(folder) as events:
        for name, size in zip(("MERGED", "FEW_MATCHES", "MANY_MATCHES"), sizes, strict=True):
            patch.setattr(queries, name, size)
        patch.setattr(queries, "READ_A_TIME", 2)
        every = list(queries.all_events(events.db, Wanted(), match_query))
        expected = [event for event in every if is_wanted(event, wanted)]
        if (wanted.session, wanted.agent) in ((MAIN.id, "work"), ("agent:work:main", "main")):
            with pytest.raises(TotalRecallError):
                queries.newest(events.db, wanted, limit, match_query)
            return
        assert list(queries.all_events(events.db, wanted, match_query)) == expected
        assert queries.newest(events.db, wanted, limit, match_query) == expected[-limit:]
        assert queries.count(events.db, wanted, match_query) in (len(expected), None)
        assert sum(queries.kinds(events.db, wanted, match_query).values()) == len(expected)
        assert queries.added(events.db, wanted, queries.Place())[0] == expected


# --- as it happens ---------------------------------------------------------------------------------------------


def test_what_is_added_is_given_once_and_a_call_again_with_its_result(events: Events) -> None:
    fill(events, Happened("2026-11-30T12:00:00", name="exec", summary="old, open"))
    place = queries.here(events.db)
    fill(events, Happened("2026-11-30T12:00:01", name="exec", summary="new, open"))
    found, place = queries.added(events.db, Wanted(), place)
    assert [(e.summary, e.ok) for e in found] == [("new, open", None)]
    with events.transaction():
        for digest in (1, 2):
            events.complete(Happened("2026-11-30T12:00:00", name="exec", ok=False, summary="done").row(digest))
    found, place = queries.added(events.db, Wanted(failed=True), place)
    assert [(e.summary, e.ok) for e in found] == [("old, open", False), ("new, open", False)]
    assert queries.added(events.db, Wanted(), place)[0] == []


# --- through an index ------------------------------------------------------------------------------------------

WEEK = Wanted(since_ms=NOON - 7 * 86_400_000, until_ms=NOON)


@pytest.mark.parametrize(
    ("wanted", "index"),
    [
        (Wanted(), "event_time"),
        (WEEK, "event_time"),
        (Wanted(failed=True), "event_failed"),
        (replace(WEEK, failed=True, types=("tool_call",)), "event_failed"),
        (replace(WEEK, failed=True, tools=("exec",), agent="main"), "event_failed"),
        (replace(WEEK, types=("error", "cron_run")), "event_type"),
        (Wanted(types=("error",)), "event_type"),
        (Wanted(tools=("exec",)), "event_tool"),
        (replace(WEEK, tools=("exec", "read"), types=("tool_call",)), "event_tool"),
        (Wanted(session=MAIN.id), "event_session"),
        (replace(WEEK, session="agent:main:main", failed=True, types=("error",)), "event_session"),
        (replace(WEEK, agent="main"), "event_session"),
    ],
)
@pytest.mark.parametrize("backwards", [True, False])
def test_nothing_is_looked_through_as_a_whole(events: Events, wanted: Wanted, index: str, backwards: bool) -> None:
    """Every part finds its events in an index, in their order: SQLite neither looks through the table nor sorts."""
    fill(events, Happened("2026-11-30T12:00:00"), Happened("2026-11-30T12:00:00", session=NOBODY))
    select, values = queries.question(events.db, wanted, backwards=backwards)
    plan = [row[3] for row in events.db.execute(f"EXPLAIN QUERY PLAN {select}", values)]
    steps = [step for step in plan if re.match(r"SCAN|SEARCH|USE TEMP", step)]
    assert steps and all(f"USING INDEX {index}" in step for step in steps), plan
    assert all(step.startswith("SEARCH") for step in steps) or wanted in (Wanted(), Wanted(failed=True)), plan


def test_words_are_found_through_the_rows_that_the_index_of_words_names(events: Events) -> None:
    fill(events, Happened("2026-11-30T12:00:00", summary="an invoice"))
    statements: list[str] = []
    events.db.set_trace_callback(statements.append)
    assert summaries(events, words="invoice", since_ms=WEEK.since_ms, until_ms=WEEK.until_ms) == []
    events.db.set_trace_callback(None)
    plans = [
        row[3]
        for text in statements
        if " FROM event e" in text
        for row in events.db.execute(f"EXPLAIN QUERY PLAN {text}")
    ]
    steps = [step for step in plans if step.startswith(("SCAN", "SEARCH"))]
    assert len(steps) == 1 and steps[0].startswith("SEARCH") and "USING INTEGER PRIMARY KEY (rowid=?)" in steps[0]


def test_the_types_that_can_be_asked_for_are_those_of_the_log() -> None:
    from total_recall.arguments import log as arguments

    assert sorted(arguments.TYPES) == sorted(TYPES)
