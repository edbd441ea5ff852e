"""A forecast comes true: what is archived goes on the day that was forecast when it was last read."""

from __future__ import annotations

import random
from collections.abc import Collection
from dataclasses import replace
from datetime import date, timedelta
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from total_recall import retention
from total_recall.dream.decide import due_lines, pressed_lines
from total_recall.dream.items import Item
from total_recall.recall import scoring
from total_recall.recall.forecast import HELD_BY_TEXT, IN_TOP, Forecast, Remembered, forecasts, presence, top_until
from total_recall.records import ObservationType
from total_recall.retention import Subject

TODAY = date(2026, 11, 30)
KINDS: tuple[ObservationType, ...] = get_args(ObservationType)
DAYS = 400


def line(number: int = 1, kind: ObservationType = "fact", importance: float = 5.0, **more: object) -> Remembered:
    memory = Subject(kind, importance, 0.5, TODAY)
    fields = {name: more.pop(name) for name in list(more) if name in Subject.__slots__}
    return Remembered(number, f"m{number}", "words", kind, replace(memory, **fields), TODAY, **more)  # type: ignore[arg-type]


def told(one: Remembered, *others: Remembered, today: date = TODAY) -> Forecast:
    return forecasts((one, *others), today)[0]


# --- the simulation


def made_up(dice: random.Random, number: int, kind: ObservationType, born: date) -> Remembered:
    importance = round(dice.uniform(0.0, 10.0), 1)
    memory = Subject(
        kind, importance, round(dice.random(), 2), born,
        until=born + timedelta(days=dice.randint(-5, 200)) if dice.random() < 0.3 else None,
        is_superseded=dice.random() < 0.05, is_resolved=dice.random() < 0.1, is_pinned=dice.random() < 0.05,
    )  # fmt: skip
    return Remembered(number, f"m{number}", f"words {number}", kind, memory, born)


def item(one: Remembered, alive: Collection[int]) -> Item:
    nested = tuple(number for number in one.nested if number in alive)
    return Item(one.number, one.key, one.said, None, one.text, f"- {one.text}", "medium", one.memory, 20, True, nested)


@pytest.mark.parametrize("is_pressed", [False, True], ids=["room to spare", "under pressure"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_400_days_with_random_accesses_go_as_forecast_at_the_last_one(seed: int, is_pressed: bool) -> None:
    """What dream decides night by night, for lines of every type, noted over the first hundred days."""
    dice = random.Random(seed)
    waiting = [
        made_up(dice, number, KINDS[number % len(KINDS)], TODAY + timedelta(days=dice.randint(0, 100)))
        for number in range(280)
    ]
    # A few hang on another: that goes no sooner than they do.
    waiting = [replace(one, nested=(one.number + 1,)) if one.number % 17 == 0 else one for one in waiting]
    alive: dict[int, Remembered] = {}
    forecast: dict[int, Forecast] = {}
    born = {one.number: one.memory.since for one in waiting}
    nested = {number: one.number for one in waiting for number in one.nested}
    gone: dict[int, tuple[date, str]] = {}
    for passed in range(DAYS):
        today = TODAY + timedelta(days=passed)
        fresh = {one.number: one for one in waiting if born[one.number] == today}
        alive.update(fresh)
        read = {number for number in alive if dice.random() < 0.01}
        for number in read:
            one = alive[number]
            alive[number] = replace(one, memory=replace(one.memory, since=today), uses=one.uses + 1, last_used=today)
        # What hangs on a line is part of it: it is told anew when that is read, or comes.
        changed = {*fresh, *read, *(nested[number] for number in (*fresh, *read) if nested.get(number) in alive)}
        for told_now in forecasts(tuple(alive.values()), today):
            if told_now.line.number in changed:
                forecast[told_now.line.number] = told_now
        items = [item(one, alive) for one in alive.values()]
        leaving = list(due_lines(items, today))
        if is_pressed:
            leaving += pressed_lines(
                items, [one.item.number for one in leaving], today, most_tokens=0, hook_share=0, hook_tokens=0
            )
        for left in leaving:
            gone[left.item.number] = (today, left.fate)
            del alive[left.item.number]
    foretold = {
        number: (leave.on, leave.rule)
        for number, f in forecast.items()
        if (leave := f.now.under_pressure if is_pressed else f.now.leaves) and (leave.on - TODAY).days < DAYS
    }
    together = {one.number for one in waiting if one.nested} | {n for one in waiting for n in one.nested}
    assert {n: day for n, (day, _) in gone.items()} == {n: day for n, (day, _) in foretold.items()}
    assert {n: rule for n, rule in gone.items() if n not in together} == {
        n: rule for n, rule in foretold.items() if n not in together
    }
    assert {waiting[n].memory.type for n in gone} == set(KINDS) - {"rule"}
    assert len(gone) > 100 and alive


subjects = st.builds(
    Subject,
    st.sampled_from(KINDS),
    st.integers(0, 100).map(lambda tenths: tenths / 10),
    st.integers(0, 100).map(lambda hundredths: hundredths / 100),
    st.none() | st.integers(-400, 0).map(lambda days: TODAY + timedelta(days=days)),
    st.none() | st.integers(-30, 100).map(lambda days: TODAY + timedelta(days=days)),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)


@given(subjects)
def test_a_day_is_the_first_on_which_the_rules_let_it_go(memory: Subject) -> None:
    outlook = told(replace(line(), memory=memory)).now
    day = next((d for n in range(800) if retention.due(memory, d := TODAY + timedelta(days=n))), None)
    assert (outlook.leaves and outlook.leaves.on) == day
    if outlook.leaves:
        assert outlook.leaves.rule == retention.due(memory, outlook.leaves.on)
        assert outlook.leaves.reason == retention.reason(memory, outlook.leaves.rule, outlook.leaves.on)
    elif day is None:
        assert outlook.stays or outlook.under_pressure


# --- the top of recall


@given(st.sampled_from(KINDS), st.integers(0, 100), st.integers(0, 20), st.integers(0, 60), st.integers(0, 300))
def test_out_of_the_top_is_the_first_day_of_too_little_presence(
    kind: ObservationType, tenths: int, uses: int, used_ago: int, age: int
) -> None:
    one = line(
        kind=kind, importance=tenths / 10, uses=uses, last_used=TODAY - timedelta(days=used_ago) if uses else None
    )
    one = replace(one, said=TODAY - timedelta(days=age))
    day = top_until(one, TODAY)
    if day is None:
        assert presence(one, TODAY + timedelta(days=20_000)) >= IN_TOP
    else:
        assert presence(one, day) < IN_TOP
        assert day == TODAY or presence(one, day - timedelta(days=1)) >= IN_TOP


def test_presence_is_what_the_score_is_made_of() -> None:
    one = line(kind="event", importance=4.0, uses=2, last_used=TODAY - timedelta(days=3))
    one = replace(one, said=TODAY - timedelta(days=10))
    used = scoring.strength(scoring.Used(2, 3.0))
    assert presence(one, TODAY) == scoring.decay("event", 4.0, 10.0) * used


@pytest.mark.parametrize(
    ("one", "until"),
    [
        (line(kind="rule"), None),
        (line(kind="fact", is_superseded=True), TODAY),
        (replace(line(), said=None), TODAY),
        (replace(line(kind="event", importance=0.0), refers=TODAY + timedelta(days=100)), TODAY + timedelta(days=124)),
        (line(kind="event", importance=0.0), TODAY + timedelta(days=24)),
    ],
    ids=["rule", "superseded", "undated", "about a coming day", "event"],
)
def test_how_long_in_the_top(one: Remembered, until: date | None) -> None:
    assert told(one).now.top_until == until


# --- an access, and what stays


def test_what_one_access_today_changes() -> None:
    """An event of 5.0 has faded after 5 days (decay: half a point a day, archived below 3.0)."""
    three_days_ago = TODAY - timedelta(days=3)
    found = told(replace(line(kind="event", since=three_days_ago), said=three_days_ago))
    now, read = found.now, found.if_read_today
    assert now.leaves and (now.leaves.on, now.leaves.rule) == (TODAY + timedelta(days=2), "faded")
    assert read.leaves and (read.leaves.on, read.leaves.rule) == (TODAY + timedelta(days=5), "faded")
    assert now.under_pressure and now.under_pressure.on == TODAY
    assert read.under_pressure and read.under_pressure.on == TODAY + timedelta(days=2)
    assert now.top_until and read.top_until and read.top_until > now.top_until


@pytest.mark.parametrize(
    ("one", "why"),
    [
        (line(kind="rule"), "it is a rule"),
        (line(importance=9.0), "its importance is 9.0"),
        (line(is_pinned=True), "it is pinned"),
        (line(kind="goal"), "it is a goal that still holds"),
        (line(until=TODAY + timedelta(days=3)), "it speaks of 2026-12-03, which is not over"),
        (replace(line(kind="event"), is_open=False), HELD_BY_TEXT),
    ],
)
def test_what_stays_says_why(one: Remembered, why: str) -> None:
    assert told(one).now.stays == why


def test_a_line_waits_for_those_that_hang_on_it() -> None:
    above = line(1, "event", 3.0, nested=(2,))
    below = line(2, "event", 6.0)
    alone, together = told(replace(above, nested=())).now.leaves, told(above, below).now.leaves
    assert alone and together and together.on == told(below).now.leaves.on > alone.on  # type: ignore[union-attr]
    held = told(above, line(2, "rule")).now
    assert held.leaves is None and held.stays


def test_the_end_of_the_calendar_is_never() -> None:
    late = date.max - timedelta(days=3)
    one = replace(line(kind="fact", importance=8.0, since=late), said=late)
    found = told(one, today=late)
    assert found.now.leaves is None and found.now.top_until is None
