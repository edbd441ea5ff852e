"""The small values of a night. A line of the memory goes in as an `Item`; a `Plan` comes out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from datetime import time as time_of_day
from typing import Final, Literal

from total_recall.records import ObservationType, Priority
from total_recall.retention import Rule, Subject

Strength = Literal["established", "tentative", "single-source"]
Fate = Literal["superseded", "resolved", "expired", "faded", "age", "contradicted", "repeated"]
"""Why a line leaves: a rule of `retention`, or because of another line that stays."""

FATE_OF: Final[Mapping[Rule, Fate]] = {
    "superseded": "superseded", "resolved": "resolved", "expired": "expired", "faded": "faded", "age": "age",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Item:
    """A line of the memory. `number` is its line in the document (from 1) and names it in a plan.

    `raw` is the whole line without its newline, `tokens` what it costs in the document. `nested` are the numbers of
    all lines below that hang on it: it goes only together with them. What is not `is_open` stays (a person's own text
    hangs on it, or it stands in a merge conflict). `section_tokens` are what its date heading costs, which goes with
    the last line of `section`.
    """

    number: int
    id: str | None
    day: date | None
    time: time_of_day | None
    text: str
    raw: str
    priority: Priority
    memory: Subject
    tokens: int
    is_open: bool = True
    nested: tuple[int, ...] = ()
    section: int = 0
    section_tokens: int = 0

    @property
    def type(self) -> ObservationType:
        return self.memory.type

    @property
    def order(self) -> tuple[date, time_of_day, int]:
        """Items sorted by this go from the oldest to the newest."""
        return self.day or date.min, self.time or time_of_day.min, self.number

    @property
    def name(self) -> str:
        """The id, or the beginning of the text."""
        return self.id or f"“{self.text[:60]}”"


@dataclass(frozen=True, slots=True)
class Leaving:
    """An item that goes to the archive, why, and what will find it there."""

    item: Item
    fate: Fate
    reason: str
    hooks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Group:
    """What leaves together and gets one hook line: a topic, in a line how it ended, and the days from when to when.

    Three or more on one topic are a chunk: then there is a `finding`, with the `names` in it and its `strength`.
    """

    topic: str
    outcome: str
    members: tuple[Leaving, ...]
    finding: str | None = None
    names: tuple[str, ...] = ()
    strength: Strength = "single-source"

    @property
    def days(self) -> tuple[date, ...]:
        """The days on which the members were noted, each once, in order."""
        return tuple(sorted({member.item.day for member in self.members if member.item.day is not None}))

    @property
    def span(self) -> str:
        """`2026-10-03`, `2026-10-03…11-20`, or `2025-12-30…2026-01-02`."""
        days = self.days
        if not days:
            return "undated"
        first, last = days[0].isoformat(), days[-1].isoformat()
        return first if first == last else f"{first}…{last[5:] if first[:4] == last[:4] else last}"

    @property
    def tokens(self) -> int:
        """What the members cost in the document."""
        return sum(member.item.tokens for member in self.members)


@dataclass(frozen=True, slots=True)
class Plan:
    """What one night does. `flagged` is for a person to look at: contradictions, and what left with little confidence.

    `floor_tokens` are what no rule can take out today (protected lines, a person's own text); `kept_tokens` is what the
    lines that stay cost. Both are estimated from above. `hook_tokens` is what the hook lines may cost together.
    """

    groups: tuple[Group, ...]
    flagged: tuple[str, ...]
    floor_tokens: int
    kept_tokens: int
    hook_tokens: int
    under_pressure: bool

    @property
    def leaving(self) -> tuple[Leaving, ...]:
        return tuple(member for group in self.groups for member in group.members)
