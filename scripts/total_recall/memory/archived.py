"""Reading what is in `archive/`: each file is a row of `## NAME` sections with fields and quoted lines. Pure.

observations/DATE.md holds single lines (`OBS-…`). chunks/DATE.md holds what was summed up (`CHUNK-…`): the finding, and
below it each line that it is made of with fields of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from hashlib import blake2b

from total_recall.memory.line import Entry, match_observation, read_day, read_observation

_NAME = re.compile(r"## (?P<name>(?:OBS|CHUNK)-[0-9]{8}-[0-9]+)\b.*")
_FIELD_NAME = re.compile(r"[A-Z][A-Za-z ]*")
_REFERENCE = re.compile(r"\b(?:OBS|CHUNK)-[0-9]{8}-[0-9]+\b")
_ID = re.compile(r"(?<![\w:])dc:id=([A-Za-z0-9_-]+)")
_SOURCE = "- Original date: "
_END = "- Sources: "
BACK = "Back in the memory"
FORGOTTEN = "Forgotten"


@dataclass(frozen=True)
class Section:
    """One section of an archive file: its first line (from 0), all of its lines, its fields by name.

    `name` is None for what is no item: the head of the file, a note.
    """

    name: str | None
    start: int
    lines: tuple[str, ...]
    fields: Mapping[str, str] = field(hash=False)

    @property
    def is_chunk(self) -> bool:
        return self.name is not None and self.name.startswith("CHUNK-")

    @cached_property
    def quoted(self) -> tuple[str, ...]:
        """The lines that left the memory, whole."""
        return tuple(line.removeprefix("> ").rstrip("\r") for line in self.lines if line.startswith("> "))

    @property
    def id(self) -> str | None:
        """The id that the archived line had."""
        found = self.fields.get("Id")
        return None if found in (None, "none") else found

    @property
    def reason(self) -> str:
        return self.fields.get("Reason", "")

    @property
    def day(self) -> date | None:
        """The day under which the line stood."""
        return read_day(self.fields.get("Original date", ""))

    @property
    def is_forgotten(self) -> bool:
        return FORGOTTEN in self.fields and not self.quoted

    @cached_property
    def entry(self) -> Entry | None:
        """The archived line, read as it stood in the memory; None for what is no single line."""
        bullet = match_observation(self.quoted[0]) if len(self.quoted) == 1 else None
        if bullet is None:
            return None
        return read_observation(bullet, line=self.start + 1, level=0, heading=self.day)[0]

    def references(self) -> frozenset[str]:
        """The names and ids of other items that stand in this one."""
        return references("\n".join(self.lines[1:]))

    def head(self) -> Section:
        """What a chunk says of all its lines together."""
        return self._part(0, next(iter(self._starts()), self._end()))

    def sources(self) -> tuple[Section, ...]:
        """The lines that a chunk is made of, each as a section of the chunk's name."""
        starts = self._starts()
        return tuple(self._part(start, end) for start, end in zip(starts, [*starts, self._end()][1:], strict=True))

    def tail(self) -> tuple[str, ...]:
        """What stands below the last of them."""
        return self.lines[self._end() :]

    def _starts(self) -> list[int]:
        return [n for n, line in enumerate(self.lines) if line.startswith(_SOURCE)]

    def _end(self) -> int:
        found = [n for n, line in enumerate(self.lines) if line.startswith(_END)]
        return found[-1] if found and found[-1] > max(self._starts(), default=0) else len(self.lines)

    def _part(self, start: int, end: int) -> Section:
        lines = self.lines[start:end]
        return Section(self.name, self.start + start, lines, _fields(lines))


def references(text: str) -> frozenset[str]:
    """Names (`OBS-…`, `CHUNK-…`) and ids (`dc:id=…`) in a text."""
    return frozenset(_REFERENCE.findall(text)) | frozenset(_ID.findall(text))


_CALLED = re.compile(r"^(?:- Id: |## )([A-Za-z0-9_-]+)|(?<![\w:])dc:id=([A-Za-z0-9_-]+)", re.M)


def called(text: str) -> frozenset[str]:
    """Every id and name that something in an archive file is called by; quicker than to read it."""
    return frozenset(filter(None, (one or other for one, other in _CALLED.findall(text))))


def sections(text: str) -> tuple[Section, ...]:
    """The sections of an archive file, in order; together they are all of its lines."""
    lines = text.split("\n")
    starts = sorted({0, *(n for n, line in enumerate(lines) if line.startswith("## "))})
    ends = [*starts[1:], len(lines)]
    return tuple(_section(lines, start, end) for start, end in zip(starts, ends, strict=True))


def _section(lines: Sequence[str], start: int, end: int) -> Section:
    inside = tuple(lines[start:end])
    match = _NAME.fullmatch(inside[0].rstrip("\r")) if inside else None
    return Section(match["name"] if match else None, start, inside, _fields(inside))


def _fields(lines: Sequence[str]) -> dict[str, str]:
    fields: dict[str, str] = {}
    for line in lines:
        if line.startswith("- "):
            name, colon, value = line[2:].partition(": ")
            if colon and name not in fields and _FIELD_NAME.fullmatch(name):
                fields[name] = value.strip()
    return fields


def brought_back(texts: Sequence[str]) -> frozenset[str]:
    """The names of items that stand in the memory again, as notes in these files say."""
    return frozenset(
        name
        for text in texts
        if f"- {BACK}: " in text
        for section in sections(text)
        if section.name is None and (names := section.fields.get(BACK))
        for name in names.split(", ")
    )


def items(text: str) -> Iterator[Section]:
    """The single lines that an archive file still has, those inside of chunks too."""
    for section in sections(text):
        if section.is_chunk:
            yield from (source for source in section.sources() if source.quoted)
        elif section.name is not None and not section.is_forgotten:
            yield section


def findings(text: str) -> Iterator[Section]:
    """The chunks that an archive file still has."""
    return (section for section in sections(text) if section.is_chunk and not section.is_forgotten)


def line_key(entry: Entry) -> str:
    """The name of a line: its id, or where it has none what `recall` calls it, the same in memory and archive."""
    if entry.id is not None:
        return entry.id
    return "line-" + blake2b(f"{entry.heading}\0{entry.text}".encode("utf-8", "replace"), digest_size=6).hexdigest()
