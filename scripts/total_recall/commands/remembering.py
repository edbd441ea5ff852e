"""What recall can find, read from where it stands: the memory, the archive, the messages that were kept.

Only what changed since the last time is read; the index files the differences.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import tzinfo
from hashlib import blake2b
from pathlib import Path
from typing import Final

from total_recall.commands.places import Place
from total_recall.errors import StoreError
from total_recall.memory.document import Entry, parse
from total_recall.memory.line import match_observation, read_day, read_observation
from total_recall.recall.index import Memory, Origin, RecallIndex, Stamp
from total_recall.state import Queued, State

TRANSCRIPTS: Final = "messages"
"""The source that stands for the messages of `state.sqlite`."""
PAGE: Final = 1_000
"""Messages that are filed at a time."""


@dataclass(frozen=True, slots=True)
class Shelf:
    """Files that hold memories: where they are, below the memory directory, and how they are read."""

    pattern: str
    origin: Origin
    read: Callable[[str], Iterator[Entry]]


def _lines_of_memory(text: str) -> Iterator[Entry]:
    yield from parse(text.encode("utf-8", "surrogateescape")).observations


_ENTRY: Final = re.compile(r"^## (?P<name>OBS-\S+)[ \t]*$", re.M)
_FIELD: Final = re.compile(r"^- (?P<name>[A-Z][A-Za-z ]*): (?P<value>.*)$", re.M)
_QUOTED: Final = re.compile(r"^> (?P<line>.*)$", re.M)
_TAKEN_PLACE_OF_BY: Final = re.compile(r"superseded by (?P<id>[A-Za-z0-9_-]+)$")


def _entries_of_archive(text: str) -> Iterator[Entry]:
    """The observations of `archive/observations/DATE.md`: the quoted line of each entry, under its original date."""
    starts = [match.end() for match in _ENTRY.finditer(text)]
    for start, end in zip(starts, [*(match.start() for match in _ENTRY.finditer(text)), len(text)][1:], strict=True):
        body = text[start:end]
        quoted = _QUOTED.search(body)
        bullet = match_observation(quoted["line"]) if quoted else None
        if bullet is None:
            continue
        fields = {match["name"]: match["value"].strip() for match in _FIELD.finditer(body)}
        day = read_day(fields.get("Original date", ""))
        entry, _ = read_observation(bullet, line=text.count("\n", 0, start), level=0, heading=day)
        by = _TAKEN_PLACE_OF_BY.search(fields.get("Reason", ""))
        yield entry if by is None or entry.superseded_by else replace(entry, superseded_by=by["id"])


SHELVES: Final[tuple[Shelf, ...]] = (
    Shelf("observations.md", "live", _lines_of_memory),
    Shelf("archive/observations/*.md", "archived", _entries_of_archive),
)
"""A further kind of file is a further row."""


def bring_up_to_date(index: RecallIndex, place: Place, state: State, tz: tzinfo) -> None:
    """File what changed in the memory and its archive since the last time. Raises StoreError."""
    present: set[str] = set()
    for shelf in SHELVES:
        for path in sorted(place.memory_dir.glob(shelf.pattern)):
            name = path.relative_to(place.memory_dir).as_posix()
            stamp = _stamp(path)
            if stamp is None:
                continue
            present.add(name)
            # A file is stamped before it is read: what is written meanwhile is read the next time.
            if index.stamp(name) != stamp:
                entries = list(shelf.read(_text(path)))
                index.sync(name, shelf.origin, stamp, _memories(entries, state, tz))
    for name in index.sources():
        if name not in present and name != TRANSCRIPTS:
            index.forget_source(name)


def bring_transcripts_up_to_date(index: RecallIndex, state: State, tz: tzinfo) -> None:
    """File the messages that were kept since the last time; all of them where earlier ones came or went meanwhile."""
    row, count = index.stamp(TRANSCRIPTS) or (0, 0)
    if state.said_count(row) != count:
        index.forget_source(TRANSCRIPTS)
        row = count = 0
    while page := state.said(row, PAGE):
        row, count = page[-1].row, count + len(page)
        index.extend(TRANSCRIPTS, "transcript", (row, count), [_message(queued, tz) for queued in page])


def _memories(entries: list[Entry], state: State, tz: tzinfo) -> Iterator[Memory]:
    sessions = state.sessions_of([entry.id for entry in entries if entry.id])
    taken: set[str] = set()
    for entry in entries:
        key = entry.id or _key_of(entry)
        while key in taken:  # the same line twice, or a merge conflict
            key += "~"
        taken.add(key)
        yield _memory(entry, key, sessions, tz)


def _memory(entry: Entry, key: str, sessions: Mapping[str, str], tz: tzinfo) -> Memory:
    at = entry.at(tz)
    session = sessions.get(entry.id or "")
    return Memory(
        key=key,
        text=entry.text,
        at=at,
        # Neighbours are those of one conversation; where that is not known, those of one day.
        group=f"session {session}" if session else f"day {at.date()}" if at else "",
        kind=entry.type,
        importance=entry.importance,
        refers=entry.refers,
        superseded_by=entry.superseded_by,
    )


def _key_of(entry: Entry) -> str:
    """A name for a line without an id, the same in the memory and in the archive."""
    return "line-" + blake2b(f"{entry.heading}\0{entry.text}".encode("utf-8", "replace"), digest_size=6).hexdigest()


def _message(queued: Queued, tz: tzinfo) -> Memory:
    message = queued.message
    return Memory(
        key=f"message-{queued.row}",
        text=message.text,
        at=message.at.astimezone(tz),
        group=f"said in {message.session_id}",
        speaker=message.speaker or message.role,
    )


def _stamp(path: Path) -> Stamp | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror}; check its permissions") from error
    return found.st_ino, found.st_size, found.st_mtime_ns


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8", "surrogateescape")
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror}; check its permissions") from error
