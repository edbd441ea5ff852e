"""How long a memory is kept: the tables, and that "when" and "today?" always say the same."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from total_recall import decay, retention
from total_recall.records import ObservationType
from total_recall.retention import Rule, Subject, age_rule, due, due_day, pressure_day, protected, subject

TODAY = date(2026, 12, 1)
KINDS: tuple[ObservationType, ...] = ("event", "context", "fact", "preference", "goal", "habit", "rule")


def memory(kind: ObservationType = "event", importance: float = 5.0, days: int = 0, confidence: float = 0.5) -> Subject:
    return Subject(kind, importance, confidence, TODAY - timedelta(days=days))


@pytest.mark.parametrize(
    ("kind", "importance", "days", "confidence", "rule"),
    [
        ("event", 8.9, 14, 0.9, None),
        ("event", 8.9, 15, 0.9, "expired"),
        ("context", 8.0, 30, 0.5, None),
        ("context", 8.0, 31, 0.5, "expired"),
        ("fact", 8.9, 58, 0.5, None),  # 8.9 − 5.8 = 3.1
        ("fact", 8.9, 60, 0.5, "faded"),
        ("fact", 8.9, 60, 0.9, None),
        ("fact", 8.9, 90, 0.9, "faded"),
        ("fact", 8.9, 30, 0.2, "faded"),
        ("preference", 5.0, 100, 0.5, None),
        ("preference", 5.0, 101, 0.5, "faded"),
        ("preference", 8.9, 181, 0.9, "expired"),
        ("event", 2.0, 0, 0.5, None),  # nothing fades on its first day
        ("event", 2.0, 1, 0.5, "faded"),
        ("goal", 1.0, 4000, 0.1, None),
        ("habit", 1.0, 4000, 0.1, None),
        ("rule", 1.0, 4000, 0.1, None),
        ("event", 9.0, 4000, 0.1, None),
    ],
)
def test_what_leaves_although_there_is_room(
    kind: ObservationType, importance: float, days: int, confidence: float, rule: Rule | None
) -> None:
    assert due(memory(kind, importance, days, confidence), TODAY) == rule


@pytest.mark.parametrize(
    ("importance", "confidence", "days"),
    [
        (8.9, 0.5, 7), (7.0, 0.5, 7), (6.9, 0.5, 2), (5.0, 0.5, 2), (4.9, 0.5, 1), (3.0, 0.5, 1),
        (2.9, 0.5, 0), (0.0, 0.5, 0),
        (7.0, 0.71, 11), (6.0, 0.9, 3), (4.0, 0.9, 2), (2.0, 0.9, 0), (7.0, 0.29, 4), (6.0, 0.1, 1), (4.0, 0.1, 1),
        (7.0, 0.7, 7), (7.0, 0.3, 7),
    ],
)  # fmt: skip
def test_how_old_a_line_must_be_to_leave_for_want_of_room(importance: float, confidence: float, days: int) -> None:
    assert age_rule(memory("fact", importance, days, confidence), TODAY) == "age"
    if days:
        assert age_rule(memory("fact", importance, days - 1, confidence), TODAY) is None


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"is_pinned": True}, "it is pinned"),
        ({"type": "rule"}, "it is a rule"),
        ({"importance": 9.0}, "its importance is 9.0"),
        ({"type": "goal"}, "it is a goal that still holds"),
        ({"type": "habit"}, "it is a habit that still holds"),
        ({"until": TODAY}, "it speaks of 2026-12-01, which is not over"),
        ({"type": "rule", "is_superseded": True}, "it is a rule"),
        ({"importance": 9.5, "is_superseded": True}, "its importance is 9.5"),
        ({"until": TODAY - timedelta(days=1)}, None),
        ({"type": "goal", "is_superseded": True}, None),
        ({"type": "habit", "is_resolved": True}, None),
    ],
)
def test_what_stays_whatever_the_room(changed: dict[str, object], why: str | None) -> None:
    kept = replace(memory(days=400), **changed)  # type: ignore[arg-type]
    assert protected(kept, TODAY) == why
    assert (due(kept, TODAY) is None) == (why is not None)
    assert (age_rule(kept, TODAY) is None) == (why is not None)


def test_superseded_goes_at_the_next_night() -> None:
    assert due(replace(memory("fact", 8.0), is_superseded=True), TODAY) == "superseded"
    assert due(replace(memory("goal", 8.0), is_resolved=True), TODAY) == "resolved"


@dataclass(frozen=True)
class Line:
    type: ObservationType | None = None
    importance: float = 5.0
    confidence: float | None = None
    recorded: date | None = None
    refers: date | None = None
    superseded_by: str | None = None
    metadata: dict[str, str] = field(default_factory=dict)


def test_what_a_line_does_not_say_has_a_default() -> None:
    assert subject(Line()) == Subject("fact", 5.0, 0.5, None)
    assert due(subject(Line()), TODAY) is None
    assert subject(Line(), type="event").type == "event"
    assert subject(Line("habit"), type="event").type == "habit"


def test_days_count_from_the_later_of_the_record_and_the_last_access() -> None:
    line = Line("event", recorded=TODAY - timedelta(days=40))
    read = TODAY - timedelta(days=3)
    assert subject(line, accessed=read).since == read
    assert subject(line, accessed=TODAY - timedelta(days=60)).since == line.recorded
    assert subject(line, speaks_of=[TODAY, read]).until == TODAY
    assert subject(Line(refers=TODAY), speaks_of=[read]).until == TODAY


@pytest.mark.parametrize(
    ("value", "is_pinned"), [("1", True), ("true", True), ("0", False), ("no", False), ("", False)]
)
def test_pinned_is_a_field(value: str, is_pinned: bool) -> None:
    assert subject(Line(metadata={"pinned": value})).is_pinned == is_pinned


subjects = st.builds(
    Subject,
    type=st.sampled_from(KINDS),
    importance=st.floats(0, 10).map(lambda value: round(value, 1)),
    confidence=st.floats(0, 1).map(lambda value: round(value, 2)),
    since=st.none() | st.integers(-400, 30).map(lambda days: TODAY + timedelta(days=days)),
    until=st.none() | st.integers(-30, 60).map(lambda days: TODAY + timedelta(days=days)),
    is_superseded=st.booleans(),
    is_resolved=st.booleans(),
    is_pinned=st.sampled_from([False, False, False, True]),
)


@given(subjects)
def test_the_day_foretold_is_the_first_on_which_the_rule_says_so(kept: Subject) -> None:
    for asked, foretold in ((due, due_day(kept, TODAY)), (age_rule, pressure_day(kept, TODAY))):
        horizon = 900
        first = next((n for n in range(horizon) if asked(kept, TODAY + timedelta(days=n)) is not None), None)
        if foretold is None:
            assert first is None
        elif first is None:
            assert (foretold[0] - TODAY).days >= horizon
        else:
            day = TODAY + timedelta(days=first)
            assert foretold == (day, asked(kept, day))


@given(subjects, st.integers(0, 400))
def test_what_may_go_today_may_go_tomorrow(kept: Subject, ahead: int) -> None:
    """Nothing is due and then not: a night that was missed changes nothing."""
    day = TODAY + timedelta(days=ahead)
    if due(kept, day) is not None:
        assert due(kept, day + timedelta(days=1)) is not None


@given(
    st.sampled_from(KINDS), st.floats(0, 10), st.lists(st.integers(0, 40), min_size=1, max_size=12), st.integers(0, 5)
)
def test_decay_is_the_closed_formula_after_any_sequence_of_runs(
    kind: ObservationType, importance: float, gaps: list[int], repeats: int
) -> None:
    """Run nightly, twice a night, or after missed weeks: what is left depends on the days alone.

    A naive decay rewrites the importance at each run by the days since it was recorded, and compounds.
    """
    day, since = TODAY, TODAY
    naive = importance
    runs = 0
    for gap in gaps:
        day += timedelta(days=gap)
        for _ in range(repeats + 1):
            days = (day - since).days
            naive = max(0.0, naive - decay.LOSS_A_DAY[kind] * days)
            left = decay.remaining(kind, importance, days)
            runs += 1
            assert left == max(0.0, importance - decay.LOSS_A_DAY[kind] * days)
            kept = Subject(kind, importance, 0.5, since)
            once = due(kept, day)
            assert due(kept, day) == once
    assert naive <= left + 1e-9


def test_a_naive_decay_compounds_and_ours_does_not() -> None:
    importance, naive = 8.0, 8.0
    for days in range(1, 8):
        naive = max(0.0, naive - 0.5 * days)
    assert naive == 0.0
    assert decay.remaining("event", importance, 7) == 4.5
    assert due(memory("event", importance, 7), TODAY) is None


@pytest.mark.parametrize(
    ("kept", "rule", "said"),
    [
        (memory("event", 5.0, 40), "expired", "expired: event, kept for 14 days, 40 days old"),
        (memory("fact", 4.0, 20), "faded", "faded: importance 4.0 is 2.0 after 20 days"),
        (memory("fact", 4.0, 30, 0.9), "faded", "faded: importance 4.0 is 2.0 after 30 days at a confidence of 0.90"),
        (memory("fact", 4.0, 3), "age", "too little room: importance 4.0, 3 days old"),
        (memory("goal", 4.0, 3), "resolved", "a goal that is done"),
        (memory("fact", 4.0, 3), "superseded", "superseded by a newer line"),
    ],
)
def test_the_reason_in_words(kept: Subject, rule: Rule, said: str) -> None:
    assert retention.reason(kept, rule, TODAY) == said


def test_the_end_of_the_calendar_is_no_error() -> None:
    far = replace(memory("preference", 8.0), since=date.max, until=date.max)
    assert due_day(far, date.max) is None and pressure_day(far, date.max) is None
