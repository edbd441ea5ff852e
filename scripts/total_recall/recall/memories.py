"""The small values of recall: what can be found, and how it stands in the index. No I/O."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from typing import Final, Literal

from total_recall.records import ObservationType

Shelf = Literal["memory", "transcript"]
Origin = Literal["live", "archived", "transcript"]
Form = Literal["line", "hook", "chunk"]
"""An observation or a message; a line of the memory that stands for something archived; a finding made of lines."""

SHELVES: Final[dict[Origin, Shelf]] = {"live": "memory", "archived": "memory", "transcript": "transcript"}


@dataclass(frozen=True, slots=True)
class Memory:
    """Something that can be found.

    `key` names it within its source: the observation's id where it has one. `at` is when it was said, in the user's
    time zone; `group` what it was said in (a session, or a day), where neighbours in time belong together. `kind` is
    None for what has no type, which counts as an event. `item` is its name in the archive (`OBS-…`, `CHUNK-…`), for a
    hook the name of what it leads to. `hooks` are words that it is found by as well, and that are not shown.
    """

    key: str
    text: str
    at: datetime | None
    group: str = ""
    kind: ObservationType | None = None
    importance: float = 5.0
    refers: date | None = None
    superseded_by: str | None = None
    speaker: str | None = None
    form: Form = "line"
    item: str | None = None
    hooks: str = ""


@dataclass(frozen=True, slots=True)
class Filed:
    """A memory in the index. `length` is its number of terms, `team` the number of its group."""

    number: int
    origin: Origin
    source: str
    memory: Memory
    length: int
    team: int


@dataclass(frozen=True, slots=True)
class Size:
    """How much stands on a shelf, to tell how rare a word is and how long a memory usually is."""

    memories: int
    terms: int

    @property
    def usual_length(self) -> float:
        return self.terms / self.memories if self.memories else 1.0


@dataclass(frozen=True, slots=True)
class Synced:
    """What a `sync` changed."""

    added: int = 0
    removed: int = 0


Stamp = tuple[int, ...]
"""What a file shows from outside (inode, size, time): the same means unchanged."""
