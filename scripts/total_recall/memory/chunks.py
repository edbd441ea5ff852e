"""`archive/chunks/DATE.md`: lines on one topic as one finding, with every line in full below it. Only ever added to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from total_recall.memory.archive import Leaving, details, key_of
from total_recall.memory.shelf import COUNT, LINE, Key, Shelf
from total_recall.state import Step, no_step


@dataclass(frozen=True, slots=True)
class Chunk:
    """A finding and the lines that it is made of. `span` are its days in words, `strength` how well founded it is."""

    topic: str
    finding: str
    span: str
    strength: str
    names: tuple[str, ...]
    sources: Sequence[Leaving]

    @property
    def keys(self) -> tuple[Key, ...]:
        """What its lines are known by."""
        return tuple(map(key_of, self.sources))


class Chunks(Shelf):
    """The chunks of one memory directory. Everything raises MemoryWriteError."""

    def __init__(self, memory_dir: Path, step: Step = no_step) -> None:
        super().__init__(memory_dir, "chunks", "CHUNK", "Chunks", step, is_closed=True)

    def add(self, chunks: Sequence[Chunk], today: date) -> tuple[str, ...]:
        """Add what is not there yet, on the disk before this returns. Returns the name of each, in order.

        When it raises, the document must keep the lines.
        """
        known = {frozenset(entry.keys): entry.name for entry in self.entries() if entry.is_whole}
        fresh = {frozenset(chunk.keys): chunk for chunk in chunks if frozenset(chunk.keys) not in known}
        if fresh:
            names = self.next_names(len(fresh), today)
            self.add_text("".join(map(_entry, names, fresh.values())), today)
            known.update(zip(fresh, names, strict=True))
        return tuple(known[frozenset(chunk.keys)] for chunk in chunks)


def _entry(name: str, chunk: Chunk) -> str:
    days = {key[0] for key in chunk.keys}
    lines = [
        "",
        f"## {name}",
        "",
        f"- Topic: {chunk.topic}",
        f"- Finding: {chunk.finding}",
        f"- Confidence: {chunk.strength} ({len(chunk.sources)} sources on {len(days)} days)",
        f"- Dates: {chunk.span}",
        f"- Names: {', '.join(chunk.names) or 'none'}",
    ]
    for source in chunk.sources:
        lines += ["", *details(source), "", f"{LINE}{key_of(source)[1]}"]
    return "\n".join((*lines, "", f"{COUNT}{len(chunk.sources)}", ""))
