"""How long a memory is kept: what may leave it on a day, by which rule, and the inverse: on which day. Pure.

The tables below are the whole of it. `dream` asks "today?", `forecast` asks "when?", and both get the same answer.
Days count from the later of the day recorded and the last access; a day is over when the user's calendar says so.

With room to spare a line goes when it is superseded, resolved, expired or faded (`due`). Only when the memory is longer
than its target does its age alone let it go (`age_rule`). What is `protected` stays, whatever the room.

What a line does not say has a default: a line without a type counts as a fact, without an importance as 5.0 (the
reader fills that in), without a confidence as 0.5, and without any day as new.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final, Literal, Protocol

from total_recall.decay import ARCHIVE_BELOW, TTL_DAYS, days_until_below, remaining
from total_recall.records import ObservationType

Rule = Literal["superseded", "resolved", "expired", "faded", "age"]
"""Why a line may leave the memory; `age` only when there is too little room."""

DEFAULT_TYPE: Final[ObservationType] = "fact"
DEFAULT_CONFIDENCE: Final = 0.5

NEVER_FROM: Final = 9.0
"""A line of this importance or more never leaves."""
STANDING: Final[frozenset[ObservationType]] = frozenset({"goal", "habit"})
"""Types that leave only when they are superseded or resolved."""
ENDLESS: Final[frozenset[ObservationType]] = frozenset({"rule"})
"""Types that never leave."""

AGES: Final[tuple[tuple[float, int], ...]] = ((7.0, 7), (5.0, 2), (3.0, 1), (0.0, 0))
"""Under pressure: from this importance on a line is kept for so many days."""

STRETCHES: Final[tuple[tuple[float, float], ...]] = ((0.7, 1.5), (0.3, 1.0), (-1.0, 0.5))
"""Above this confidence (0.3 itself is not low) a line fades and ages this much slower; a TTL is not moved by it.

Above 0.7 one and a half times the days, below 0.3 half of them; whole days, rounded up.
"""
FADES_FROM_DAY: Final = 1
"""Nothing fades on the day on which it was recorded, however small it is."""
REVIEW_BELOW: Final = 0.3
"""What leaves with less confidence than this is listed for review."""


class Line(Protocol):
    """A line of the memory, as far as it matters here. `metadata` are its `dc:` fields, without `dc:`."""

    @property
    def type(self) -> ObservationType | None: ...
    @property
    def importance(self) -> float: ...
    @property
    def confidence(self) -> float | None: ...
    @property
    def recorded(self) -> date | None: ...
    @property
    def refers(self) -> date | None: ...
    @property
    def superseded_by(self) -> str | None: ...
    @property
    def metadata(self) -> Mapping[str, str]: ...


@dataclass(frozen=True, slots=True)
class Subject:
    """What the rules look at.

    `importance` is 0-10 as recorded, `confidence` 0-1. `since` is the day that age counts from, None when nobody says.
    `until` is the last day that the line speaks of: it stays until that is over.
    """

    type: ObservationType
    importance: float
    confidence: float
    since: date | None
    until: date | None = None
    is_superseded: bool = False
    is_resolved: bool = False
    is_pinned: bool = False


def subject(
    line: Line,
    *,
    accessed: date | None = None,
    speaks_of: Iterable[date] = (),
    type: ObservationType | None = None,
    is_resolved: bool = False,
) -> Subject:
    """A line as the rules see it.

    `accessed` is the day of the last access, `speaks_of` are the days that its text names, `type` is what it was
    classified as when it says none itself, `is_resolved` that another line tells that it is done.
    """
    days = [day for day in (line.recorded, accessed) if day is not None]
    named = [day for day in (line.refers, *speaks_of) if day is not None]
    return Subject(
        type=line.type or type or DEFAULT_TYPE,
        importance=line.importance,
        confidence=DEFAULT_CONFIDENCE if line.confidence is None else line.confidence,
        since=max(days, default=None),
        until=max(named, default=None),
        is_superseded=line.superseded_by is not None,
        is_resolved=is_resolved or is_set(line.metadata, "resolved"),
        is_pinned=is_set(line.metadata, "pinned"),
    )


def is_set(metadata: Mapping[str, str], name: str) -> bool:
    """Whether a field such as `dc:pinned=1` says yes."""
    return metadata.get(name, "0").casefold() not in ("0", "no", "false", "")


def protected(memory: Subject, today: date) -> str | None:
    """Why a line stays today whatever the room is, in words, or None."""
    lasting = _lasting(memory)
    if lasting is not None:
        return lasting
    if memory.until is not None and memory.until >= today:
        return f"it speaks of {memory.until.isoformat()}, which is not over"
    return None


def due(memory: Subject, today: date) -> Rule | None:
    """The rule by which a line leaves today although there is room, or None."""
    if protected(memory, today) is not None:
        return None
    if memory.is_superseded:
        return "superseded"
    if memory.is_resolved and memory.type in STANDING:
        return "resolved"
    age, kept, fading = age_days(memory, today), _days_kept(memory.type), _days_to_fade(memory)
    if kept is not None and age >= kept:
        return "expired"
    return "faded" if fading is not None and age >= fading else None


def age_rule(memory: Subject, today: date) -> Rule | None:
    """`age` when a line is old enough to leave today because there is too little room, else None."""
    if protected(memory, today) is not None:
        return None
    return "age" if age_days(memory, today) >= days_under_pressure(memory) else None


def due_day(memory: Subject, today: date) -> tuple[date, Rule] | None:
    """The first day from today on which `due` lets a line go if it is not read again, and its rule; None for never."""
    if _lasting(memory) is not None:
        return None
    if memory.is_superseded or (memory.is_resolved and memory.type in STANDING):
        starts = [today]
    else:
        since = memory.since or today
        found = (_days_kept(memory.type), _days_to_fade(memory))
        starts = [day for days in found if days is not None and (day := _plus(since, days)) is not None]
    return _first(memory, today, starts, due)


def pressure_day(memory: Subject, today: date) -> tuple[date, Rule] | None:
    """The first day from today on which `age_rule` lets a line go; None for never."""
    if _lasting(memory) is not None:
        return None
    days = days_under_pressure(memory)
    start = _plus(memory.since or today, days) if days else today
    return None if start is None else _first(memory, today, [start], age_rule)


def age_days(memory: Subject, today: date) -> int:
    """Whole days since the line was recorded or read, never less than 0; 0 when nobody says."""
    return max(0, (today - memory.since).days) if memory.since is not None else 0


def days_under_pressure(memory: Subject) -> int:
    """How many days a line is kept when there is too little room."""
    days = next(days for least, days in AGES if memory.importance >= least)
    return math.ceil(days * stretch(memory.confidence))


def stretch(confidence: float) -> float:
    """How much slower than usual a line of this confidence fades and ages: 1.5, 1 or 0.5."""
    if confidence > STRETCHES[0][0]:
        return STRETCHES[0][1]
    return STRETCHES[1][1] if confidence >= STRETCHES[1][0] else STRETCHES[2][1]


def reason(memory: Subject, rule: Rule, today: date) -> str:
    """Why a line leaves, for the archive and for a person: one line."""
    days = age_days(memory, today)
    slowed = stretch(memory.confidence)
    left = remaining(memory.type, memory.importance, math.floor(days / slowed))
    sure = "" if slowed == 1.0 else f" at a confidence of {memory.confidence:.2f}"
    said = {
        "superseded": "superseded by a newer line",
        "resolved": f"a {memory.type} that is done",
        "expired": f"expired: {memory.type}, kept for {TTL_DAYS[memory.type]} days, {days} days old",
        "faded": f"faded: importance {memory.importance:.1f} is {left:.1f} after {days} days{sure}",
        "age": f"too little room: importance {memory.importance:.1f}, {days} days old",
    }
    return said[rule]


def _lasting(memory: Subject) -> str | None:
    """Why a line never leaves as it is, or None."""
    if memory.is_pinned:
        return "it is pinned"
    if memory.type in ENDLESS:
        return "it is a rule"
    if memory.importance >= NEVER_FROM:
        return f"its importance is {memory.importance:.1f}"
    if memory.type in STANDING and not (memory.is_superseded or memory.is_resolved):
        return f"it is a {memory.type} that still holds"
    return None


def _days_kept(kind: ObservationType) -> int | None:
    """The age in days at which a line of a type has expired: the day after its TTL."""
    ttl = TTL_DAYS[kind]
    return None if ttl is None else ttl + 1


def _days_to_fade(memory: Subject) -> int | None:
    """The age in days at which a line's remaining importance is below the threshold; None for never."""
    days = days_until_below(memory.type, memory.importance, ARCHIVE_BELOW)
    return None if days is None else max(FADES_FROM_DAY, math.ceil(days * stretch(memory.confidence)))


def _plus(day: date, days: int) -> date | None:
    """None past the end of the calendar."""
    return day + timedelta(days=days) if (date.max - day).days >= days else None


class _Asked(Protocol):
    def __call__(self, memory: Subject, today: date) -> Rule | None: ...


def _first(memory: Subject, today: date, starts: Iterable[date], asked: _Asked) -> tuple[date, Rule] | None:
    """The first day from today on which the rules may answer, and what they do then."""
    over = _plus(memory.until, 1) if memory.until is not None else today
    begun = min(starts, default=None)
    if begun is None or over is None:
        return None
    day = max(today, begun, over)
    rule = asked(memory, day)
    return None if rule is None else (day, rule)
