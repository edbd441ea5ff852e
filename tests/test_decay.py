"""The curves of forgetting, their inverses, and that nothing compounds."""

from __future__ import annotations

from datetime import date, timedelta
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from total_recall import decay
from total_recall.records import ObservationType

TYPES: tuple[ObservationType, ...] = get_args(ObservationType)
DAY = date(2026, 11, 30)


@pytest.mark.parametrize(
    ("kind", "importance", "days", "left"),
    [
        ("event", 8.0, 0, 8.0),
        ("event", 8.0, 6, 5.0),
        ("event", 8.0, 30, 0.0),
        ("fact", 5.0, 20, 3.0),
        ("context", 5.0, 10, 4.0),
        ("preference", 6.0, 50, 5.0),
        ("goal", 7.0, 1000, 7.0),
        ("habit", 7.0, 1000, 7.0),
        ("rule", 7.0, 1000, 7.0),
        ("event", 5.0, -3, 5.0),
    ],
)
def test_what_is_left(kind: ObservationType, importance: float, days: int, left: float) -> None:
    assert decay.remaining(kind, importance, days) == pytest.approx(left)


@given(
    kind=st.sampled_from(TYPES),
    importance=st.floats(0, 10).map(lambda x: round(x, 1)),
    threshold=st.floats(0.1, 9.9).map(lambda x: round(x, 1)),
)
def test_the_day_that_is_named_is_the_first_one_below(
    kind: ObservationType, importance: float, threshold: float
) -> None:
    days = decay.days_until_below(kind, importance, threshold)
    if days is None:
        assert decay.remaining(kind, importance, 10_000) >= threshold
    else:
        assert decay.remaining(kind, importance, days) < threshold
        assert days == 0 or decay.remaining(kind, importance, days - 1) >= threshold


@pytest.mark.parametrize(
    ("kind", "last_day"),
    [("event", 14), ("context", 30), ("fact", 90), ("preference", 180), ("goal", 365), ("habit", 365)],
)
def test_a_type_is_kept_for_its_days(kind: ObservationType, last_day: int) -> None:
    assert decay.expires(kind, DAY) == DAY + timedelta(days=last_day + 1)


def test_a_rule_is_kept_for_ever() -> None:
    assert decay.expires("rule", DAY) is None and decay.fades("rule", 1.0, DAY, 0.5) is None


@given(st.lists(st.integers(0, 60), max_size=12))
def test_runs_do_not_compound(nights: list[int]) -> None:
    """Rewriting the importance each night would take a part off again and again; ours says the same however often."""
    naive, ours = 8.0, 8.0
    for night in sorted(nights):
        naive = decay.remaining("event", naive, night)
        ours = decay.remaining("event", 8.0, night)
    assert ours == decay.remaining("event", 8.0, max(nights, default=0))
    if len([night for night in nights if night]) > 1 and ours > 0:
        assert naive < ours


@given(rate=st.floats(0.001, 1), floor=st.floats(0, 0.95), age=st.floats(0, 3000))
def test_the_exponential_and_its_inverse(rate: float, floor: float, age: float) -> None:
    value = decay.exponential(age, rate, floor)
    assert floor <= value <= 1.0
    back = decay.exponential_age(value, rate, floor)
    if back is not None and value - floor > 1e-6:
        assert back == pytest.approx(age, rel=1e-3, abs=1e-3)


def test_an_age_that_is_never_reached() -> None:
    assert decay.exponential_age(0.6, 0.1, 0.7) is None
    assert decay.exponential_age(0.9, 0.0, 0.7) is None
    assert decay.exponential_age(1.0, 0.1, 0.7) == 0.0
