from __future__ import annotations

import math
from datetime import date
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from total_recall.decay import LOSS_A_DAY
from total_recall.recall import scoring
from total_recall.recall.scoring import DEFAULT, Used
from total_recall.records import ObservationType

TYPES: tuple[ObservationType, ...] = get_args(ObservationType)


def test_every_type_fades_and_in_the_order_of_the_archive() -> None:
    assert set(DEFAULT.decay_rates) == set(TYPES)
    by_rate = sorted(TYPES, key=lambda kind: DEFAULT.decay_rates[kind])
    assert [LOSS_A_DAY[kind] for kind in by_rate] == sorted(LOSS_A_DAY.values())


@pytest.mark.parametrize(
    ("kind", "importance", "age", "left"),
    [
        ("event", 0.0, 0, 1.0),
        ("event", 0.0, 23.1, 0.95),
        ("fact", 0.0, 69.3, 0.95),
        ("event", 10.0, 115.5, 0.95),
        ("event", 0.0, 10_000, 0.9),
        ("rule", 5.0, 10_000, 1.0),
        (None, 0.0, 23.1, 0.95),
        ("event", 5.0, -3, 1.0),
    ],
)
def test_decay(kind: ObservationType | None, importance: float, age: float, left: float) -> None:
    assert scoring.decay(kind, importance, age) == pytest.approx(left, abs=1e-4)


def test_the_floor_is_where_forgetting_hardly_acts_through_rank() -> None:
    assert DEFAULT.decay_floor >= 0.7


@pytest.mark.parametrize(
    ("times", "days", "strength"),
    [(0, 0, 1.0), (1, 0, 1.1), (3, 0, 1.2), (7, 0, 1.3), (1000, 0, 1.3), (1, 30, 1 + 0.1 / math.e), (7, 3000, 1.0)],
)
def test_use_strengthens_with_diminishing_returns_and_fades(times: int, days: float, strength: float) -> None:
    assert scoring.strength(Used(times, days)) == pytest.approx(strength)


def test_what_was_never_used_is_as_it_was() -> None:
    assert scoring.strength(None) == 1.0


def test_each_further_use_adds_less() -> None:
    gains = [scoring.strength(Used(n + 1, 0)) - scoring.strength(Used(n, 0)) for n in range(7)]
    assert gains == sorted(gains, reverse=True)


WEEK = ((date(2026, 11, 23), date(2026, 11, 29)),)


@pytest.mark.parametrize(
    ("days", "factor"),
    [
        ((date(2026, 11, 23), None), DEFAULT.time_factor),
        ((None, date(2026, 11, 29)), DEFAULT.time_factor),
        ((date(2026, 11, 22), date(2026, 11, 30)), 1.0),
        ((None, None), 1.0),
    ],
)
def test_a_time_that_is_asked_for(days: tuple[date | None, ...], factor: float) -> None:
    assert scoring.timeliness(WEEK, days) == factor


def test_what_holds_no_more_sinks() -> None:
    assert scoring.boost(1.0, 1.0, True) == DEFAULT.superseded_factor < scoring.boost(1.0, 1.0, False) == 1.0


def test_rare_words_tell_more() -> None:
    told = [scoring.rarity(count, 1000) for count in (1, 10, 500, 1000)]
    assert told == sorted(told, reverse=True) and told[-1] > 0


@given(met=st.floats(0, 1), met_rarity=st.floats(0, 100), asked=st.floats(0, 100), factor=st.floats(0, 10))
def test_similarity_is_from_0_to_1(met: float, met_rarity: float, asked: float, factor: float) -> None:
    worth = scoring.fit(met * met_rarity if met_rarity <= asked else met * asked, met_rarity, asked)
    assert 0.0 <= worth <= 1.0
    assert 0.0 <= scoring.similarity(worth * factor) <= 1.0


@given(st.floats(0, 5), st.floats(0, 5))
def test_similarity_keeps_the_order(one: float, other: float) -> None:
    if one <= other:
        assert scoring.similarity(one) <= scoring.similarity(other)


def test_a_second_occurrence_adds_less_and_length_costs() -> None:
    once, twice = scoring.occurrence(1, 10, 10), scoring.occurrence(2, 10, 10)
    assert once < twice < 2 * once
    assert scoring.occurrence(1, 40, 10) < once < scoring.occurrence(1, 2, 10) < 1
