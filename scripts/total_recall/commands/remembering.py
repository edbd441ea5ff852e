"""What recall can find, read from where it stands: the memory, the archive, the messages that were kept.

Only what changed since the last time is read; the index files the differences.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, tzinfo
from pathlib import Path
from typing import Final

from total_recall.commands.places import Place
from total_recall.confined import markdown_only
from total_recall.errors import StoreError
from total_recall.memory import archived
from total_recall.memory.document import Entry, parse
from total_recall.memory.line import read_day
from total_recall.recall.index import RecallIndex
from total_recall.recall.memories import Form, Memory, Origin, Stamp
from total_recall.state import Queued, State

TRANSCRIPTS: Final = "messages"
"""The source that stands for the messages of `state.sqlite`."""
PAGE: Final = 1_000
"""Messages that are filed at a time."""


@dataclass(frozen=True, slots=True)
class Found:
    """Something to be found, as it stands in a file: `entry` with its words, and what the index knows beside them."""

    entry: Entry
    form: Form = "line"
    item: str | None = None
    hooks: str = ""


@dataclass(frozen=True, slots=True)
class Shelf:
    """Files that hold memories: where they are, below the memory directory, and how they are read.

    What is read stands in the memory again when its name is among the second argument.
    """

    pattern: str
    origin: Origin
    read: Callable[[str, Collection[str]], Iterator[Found]]


_HOOK: Final = re.compile(
    r"^- \*\*(?P<topic>[^*\n]+)\*\*: (?P<outcome>[^\n]+?)\s*"
    r"\[ref: archive/[^\]#\s]+#(?P<item>(?:OBS|CHUNK)-[0-9]{8}-[0-9]+)\][ \t\r]*$",
    re.M,
)
"""`- **Topic**: outcome (date). [ref: archive/observations/DATE.md#OBS-…]`"""
_DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TAKEN_PLACE_OF_BY: Final = re.compile(r"superseded by (?P<id>[A-Za-z0-9_-]+)$")


def _of_memory(text: str, _back: Collection[str]) -> Iterator[Found]:
    """The observations of the memory, and the lines in it that stand for something archived."""
    document = parse(text.encode("utf-8", "surrogateescape"))
    yield from map(Found, document.observations)
    for hook in _HOOK.finditer(text):
        days = _DAY.findall(hook["outcome"])
        entry = _summary(
            f"hook {hook['item']}", f"{hook['topic']}: {hook['outcome']}", read_day(days[-1]) if days else None
        )
        yield Found(entry, "hook", hook["item"])


def _of_archive(text: str, back: Collection[str]) -> Iterator[Found]:
    """What left the memory: single lines under their original date, those of chunks too, and what chunks found."""
    for section in archived.items(text):
        entry = section.entry
        if entry is None or section.name in back:
            continue
        by = _TAKEN_PLACE_OF_BY.search(section.reason)
        if by is not None and not entry.superseded_by:
            entry = replace(entry, superseded_by=by["id"])
        name = None if section.is_chunk else section.name
        yield Found(entry, item=name, hooks=section.fields.get("Hooks", ""))
    for section in archived.findings(text):
        entries = [source.entry for source in section.sources() if source.entry is not None]
        if section.name is None or section.name in back or not entries:
            continue
        fields = section.head().fields
        told = f"{fields.get('Topic', '')}: {fields.get('Finding', '')}".strip(": ")
        last = max(entries, key=lambda entry: entry.heading or date.min)
        finding = replace(
            _summary(section.name, told, last.heading),
            type=Counter(entry.type for entry in entries).most_common(1)[0][0],
            importance=max(entry.importance for entry in entries),
        )
        yield Found(finding, "chunk", section.name, fields.get("Names", ""))


def _summary(key: str, text: str, day: date | None) -> Entry:
    return Entry(0, 0, day, None, text, "medium", None, 5.0, None, None, key, day, None, None, {})


SHELVES: Final[tuple[Shelf, ...]] = (
    Shelf("observations.md", "live", _of_memory),
    Shelf("archive/observations/*.md", "archived", _of_archive),
    Shelf("archive/chunks/*.md", "archived", _of_archive),
)
"""A further kind of file is a further row."""


def bring_up_to_date(index: RecallIndex, place: Place, state: State, tz: tzinfo) -> None:
    """File what changed in the memory and its archive since the last time. Raises StoreError."""
    present: set[str] = set()
    for shelf in SHELVES:
        # A file is stamped before it is read: what is written meanwhile is read the next time.
        stamps = {path: stamp for path in sorted(place.memory_dir.glob(shelf.pattern)) if (stamp := _stamp(path))}
        names = {path: path.relative_to(place.memory_dir).as_posix() for path in stamps}
        changed = {path for path, stamp in stamps.items() if index.stamp(names[path]) != stamp}
        back = _brought_back(stamps) if changed and shelf.origin == "archived" else frozenset()
        present.update(names.values())
        for path, stamp in stamps.items():
            if path in changed or any(name.split("-")[1] == path.stem.replace("-", "") for name in back):
                found = list(shelf.read(_text(path), back))
                index.sync(names[path], shelf.origin, stamp, _memories(found, state, tz))
    for name in index.sources():
        if name not in present and name != TRANSCRIPTS:
            index.forget_source(name)


def _brought_back(paths: Iterable[Path]) -> frozenset[str]:
    """The names of what stands in the memory again; a note of it is in the file of the day on which it was undone."""
    return archived.brought_back([text for path in paths if _BACK in (text := _text(path))])


_BACK: Final = f"- {archived.BACK}: "


def bring_transcripts_up_to_date(index: RecallIndex, state: State, tz: tzinfo) -> None:
    """File the messages that were kept since the last time; all of them where earlier ones came or went meanwhile."""
    row, count = index.stamp(TRANSCRIPTS) or (0, 0)
    if state.said_count(row) != count:
        index.forget_source(TRANSCRIPTS)
        row = count = 0
    while page := state.said(row, PAGE):
        row, count = page[-1].row, count + len(page)
        index.extend(TRANSCRIPTS, "transcript", (row, count), [_message(queued, tz) for queued in page])


def _memories(found: Sequence[Found], state: State, tz: tzinfo) -> Iterator[Memory]:
    sessions = state.sessions_of([one.entry.id for one in found if one.entry.id and one.form == "line"])
    taken: set[str] = set()
    for one in found:
        key = archived.line_key(one.entry)
        while key in taken:  # the same line twice, or a merge conflict
            key += "~"
        taken.add(key)
        yield _memory(one, key, sessions, tz)


def _memory(found: Found, key: str, sessions: Mapping[str, str], tz: tzinfo) -> Memory:
    entry = found.entry
    at = entry.at(tz)
    session = sessions.get(entry.id or "")
    day = f"day {at.date()}" if at and found.form == "line" else ""
    return Memory(
        key=key,
        text=entry.text,
        at=at,
        # Neighbours are those of one conversation; where that is not known, those of one day.
        group=f"session {session}" if session else day,
        kind=entry.type,
        importance=entry.importance,
        refers=entry.refers,
        superseded_by=entry.superseded_by,
        form=found.form,
        item=found.item,
        hooks=found.hooks,
    )


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
    markdown_only(path)
    try:
        return path.read_bytes().decode("utf-8", "surrogateescape")
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror}; check its permissions") from error
