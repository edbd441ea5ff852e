"""`archive/observations/DATE.md`: what left the memory, in full and with the reason. Only ever added to."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Protocol

from total_recall.memory.line import Entry
from total_recall.memory.shelf import BLANK, DATE, LINE, Key, Shelf
from total_recall.records import ObservationType
from total_recall.state import Step, no_step


class Leaving(Protocol):
    """What leaves: the line as it was read, all of it as it stood, why, and what it shall be found by.

    `kind` is what a line without a type was taken for.
    """

    @property
    def entry(self) -> Entry: ...
    @property
    def raw(self) -> str: ...
    @property
    def reason(self) -> str: ...
    @property
    def hooks(self) -> tuple[str, ...]: ...
    @property
    def kind(self) -> ObservationType | None: ...


class Archive(Shelf):
    """The archive of one memory directory. Everything raises MemoryWriteError."""

    def __init__(self, memory_dir: Path, step: Step = no_step) -> None:
        super().__init__(memory_dir, "observations", "OBS", "Archived observations", step)

    def add(self, removals: Sequence[Leaving], today: date) -> tuple[str, ...]:
        """Add what is not archived yet, on the disk before this returns. Returns the names of all of them.

        When it raises, the document must keep the lines.
        """
        known = self.known()
        fresh = {key: removal for removal in removals if (key := key_of(removal)) not in known}
        if fresh:
            names = self.next_names(len(fresh), today)
            self.add_text("".join(map(_entry, names, fresh.values())), today)
            known.update(zip(fresh, names, strict=True))
        return tuple(dict.fromkeys(known[key_of(removal)] for removal in removals))


def key_of(removal: Leaving) -> Key:
    """What an archived line is known by."""
    entry = removal.entry
    return str(entry.heading or entry.recorded or "unknown"), removal.raw.strip(BLANK)


def details(removal: Leaving) -> list[str]:
    """The fields of an archived line, without its name and reason."""
    entry = removal.entry
    confidence = "unknown" if entry.confidence is None else f"{entry.confidence:.2f}"
    return [
        f"{DATE}{key_of(removal)[0]}",
        f"- Impact: {entry.priority} ({entry.importance:.1f})",
        f"- Type: {entry.type or removal.kind or 'untyped'}",
        f"- Confidence: {confidence} ({entry.certainty or 'unknown'})",
        f"- Id: {entry.id or 'none'}",
        f"- Reason: {' '.join(removal.reason.split())}",
        *([f"- Hooks: {'; '.join(removal.hooks)}"] if removal.hooks else []),
    ]


def _entry(name: str, removal: Leaving) -> str:
    return "\n".join(("", f"## {name}", "", *details(removal), "", f"{LINE}{key_of(removal)[1]}", ""))
