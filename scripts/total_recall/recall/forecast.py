"""When a memory will be forgotten: when it drops out of the top of recall, on which day it is archived, by which rule.

Pure, and the inverse of what `retention` decides and `scoring` reckons. A forecast holds as long as nothing happens to
the line: it is not read, superseded, resolved or edited, and no other line says the same.

**The top of recall.** Of two memories that fit a question alike, the more present one comes first: presence is decay ×
strength by use, as in the score. A memory that was noted today has a presence of 1. A memory *is in the top* as long
as its presence is at least `IN_TOP`, the middle between that and the floor of decay: from then on one that is noted
that day, and fits as well, is ahead of it by more than a better choice of words makes up for. It is still found.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Final

from total_recall import retention
from total_recall.recall import scoring
from total_recall.recall.scoring import DEFAULT, Parameters, Used
from total_recall.records import ObservationType
from total_recall.retention import Subject

IN_TOP: Final = 0.95
HORIZON_DAYS: Final = 36_525
"""What does not happen within a hundred years, never does."""

HELD_BY_TEXT: Final = "lines of yours hang on it, or it stands twice"
HELD_BY_LINES: Final = "lines that stay hang on it"


@dataclass(frozen=True, slots=True)
class Remembered:
    """A line of the memory. `number` is its line in the document, `nested` those of the lines that hang on it.

    `kind` is the type that it says itself; `memory` is the line as the rules of retention see it, with the type that it
    is taken for. `said` is the day on which it was noted, `refers` the day that it is about. It was recalled `uses`
    times, on `last_used` for the last time. What is not `is_open` stays whatever the rules say.
    """

    number: int
    key: str
    text: str
    kind: ObservationType | None
    memory: Subject
    said: date | None
    refers: date | None = None
    uses: int = 0
    last_used: date | None = None
    is_open: bool = True
    nested: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Leave:
    """A day on which a line leaves the memory for the archive, by which rule, and that in words."""

    on: date
    rule: str
    reason: str


@dataclass(frozen=True, slots=True)
class Outlook:
    """What lies ahead. `top_until` is the first day on which it is out of the top of recall; None for never.

    `leaves` is when it is archived with room to spare, `under_pressure` when it may be where there is too little.
    `stays` is why it stays: until when, or for good.
    """

    top_until: date | None
    leaves: Leave | None
    under_pressure: Leave | None
    stays: str | None


@dataclass(frozen=True, slots=True)
class Forecast:
    """What lies ahead of a memory as it is, and what would if it were read today."""

    line: Remembered
    now: Outlook
    if_read_today: Outlook


def forecasts(lines: Sequence[Remembered], today: date, p: Parameters = DEFAULT) -> tuple[Forecast, ...]:
    """A forecast for each line, in their order. An access today is that of the line alone, not of those below it."""
    by_number = {line.number: line for line in lines}
    return tuple(
        Forecast(line, _outlook(line, by_number, today, p), _outlook(_read(line, today), by_number, today, p))
        for line in lines
    )


def top_until(line: Remembered, today: date, p: Parameters = DEFAULT) -> date | None:
    """The first day from today on which a memory is out of the top of recall; None for never."""
    if line.memory.is_superseded or presence(line, today, p) < IN_TOP:
        return today
    low, high = 0, min(HORIZON_DAYS, (date.max - today).days)
    if presence(line, today + timedelta(days=high), p) >= IN_TOP:
        return None
    while high - low > 1:  # presence only falls
        middle = (low + high) // 2
        if presence(line, today + timedelta(days=middle), p) < IN_TOP:
            high = middle
        else:
            low = middle
    return today + timedelta(days=high)


def presence(line: Remembered, day: date, p: Parameters = DEFAULT) -> float:
    """Decay × strength on a day: what decides between memories that fit a question alike."""
    begins = line.said and max(line.said, line.refers or line.said)
    age = max(0, (day - begins).days) if begins else scoring.UNDATED_AGE_DAYS
    used = Used(line.uses, (day - line.last_used).days) if line.last_used else None
    return scoring.decay(line.kind, line.memory.importance, age, p) * scoring.strength(used, p)


def _read(line: Remembered, today: date) -> Remembered:
    return replace(line, memory=replace(line.memory, since=today), uses=line.uses + 1, last_used=today)


def _outlook(line: Remembered, by_number: Mapping[int, Remembered], today: date, p: Parameters) -> Outlook:
    memory = line.memory
    together = [line, *(by_number[number] for number in line.nested if number in by_number)]
    stays = retention.protected(memory, today)
    if not line.is_open:
        return Outlook(top_until(line, today, p), None, None, stays or HELD_BY_TEXT)
    leaves = _with_those_below(line, together, {one.number: retention.due_day(one.memory, today) for one in together})
    pressed = _with_those_below(line, together, {one.number: _pressed(one.memory, today) for one in together})
    if leaves is None and pressed is None and stays is None:
        stays = HELD_BY_LINES
    return Outlook(top_until(line, today, p), leaves, pressed, stays)


def _pressed(memory: Subject, today: date) -> tuple[date, retention.Rule] | None:
    """The first day on which a line may leave where there is too little room."""
    days = [found for found in (retention.due_day(memory, today), retention.pressure_day(memory, today)) if found]
    return min(days, key=lambda found: found[0], default=None)


def _with_those_below(
    line: Remembered, together: Sequence[Remembered], days: Mapping[int, tuple[date, retention.Rule] | None]
) -> Leave | None:
    """A line leaves no sooner than all that hang on it, which have to be open as well."""
    found = days[line.number]
    others = [days[one.number] for one in together]
    if found is None or any(other is None for other in others) or not all(one.is_open for one in together):
        return None
    day = max(other[0] for other in others if other)
    rule = retention.due(line.memory, day) or found[1]
    return Leave(day, rule, retention.reason(line.memory, rule, day))
