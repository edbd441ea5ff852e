"""The memories of one memory directory by name: what stands in it, and what is archived."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from total_recall.commands.places import Place, choices
from total_recall.errors import StoreError, TotalRecallError
from total_recall.memory.archived import Section, brought_back, findings, items, line_key
from total_recall.memory.document import parse
from total_recall.memory.line import Entry
from total_recall.memory.store import MemoryStore

SHORTEST_PREFIX: Final = 3
SHOWN: Final = 8
"""Of an ambiguous beginning so many names are shown."""
_NAME: Final = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True)
class Known:
    """A memory: a line of observations.md (`line`), or an item of the archive (`section` and its `file`).

    `is_back` says that an archived one stands in the memory again.
    """

    line: Entry | None
    section: Section | None = None
    file: str = "observations.md"
    is_back: bool = False

    @cached_property
    def entry(self) -> Entry | None:
        """The line, read; None for what sums up several."""
        if self.section is None:
            return self.line
        return None if self.is_finding else self.section.entry

    @property
    def is_finding(self) -> bool:
        return self.section is not None and self.section.is_chunk and self.section.lines[0].startswith("## ")

    @cached_property
    def key(self) -> str:
        if self.section is not None and (self.is_finding or self.section.id):
            return (self.section.name if self.is_finding else self.section.id) or ""
        return line_key(self.entry) if self.entry is not None else ""

    @cached_property
    def text(self) -> str:
        if self.entry is not None:
            return self.entry.text
        return _told(self.section) if self.section is not None else ""

    @property
    def raw(self) -> str:
        """The text with whatever else stands on its line: quicker to have."""
        return " ".join(self.section.quoted) if self.section is not None and not self.is_finding else self.text

    @property
    def name(self) -> str | None:
        """The name in the archive."""
        return self.section.name if self.section is not None else None

    @property
    def names(self) -> tuple[str, ...]:
        """All that it can be called by."""
        is_in_chunk = self.section is not None and self.section.is_chunk and not self.is_finding
        return (self.key,) if self.name is None or is_in_chunk else (self.key, self.name)

    @property
    def is_live(self) -> bool:
        return self.section is None


def all_of(memory_dir: Path, holding: str = "") -> tuple[Known, ...]:
    """Everything that is remembered, the lines of the memory first; from the archive what has `holding` in it.

    Raises MemoryWriteError, StoreError.
    """
    live = [Known(entry) for entry in parse(MemoryStore(memory_dir).read().content).observations]
    return (*live, *_archived(memory_dir, holding.casefold()))


def _archived(memory_dir: Path, holding: str) -> Iterator[Known]:
    texts = {path: read(path) for path in archive_files(memory_dir)}
    back = brought_back(list(texts.values()))
    for path, text in texts.items():
        if holding and holding not in text.casefold():
            continue
        file = path.relative_to(memory_dir).as_posix()
        for section in items(text):
            if section.quoted and (section.id or section.entry is not None):
                yield Known(None, section, file, section.name in back)
        for section in findings(text) if "## CHUNK-" in text else ():
            yield Known(None, section, file, section.name in back)


def _told(section: Section) -> str:
    """What an item that is no single line says: its finding, else its first lines."""
    finding = section.fields.get("Finding") or section.fields.get("Topic")
    return finding or " ".join(line.strip() for line in section.head().lines[1:] if line.strip())


def archive_files(memory_dir: Path) -> list[Path]:
    """The files of the archive, the oldest first."""
    return sorted((memory_dir / "archive").glob("*/*.md"))


def read(path: Path) -> str:
    """A file of ours as text, every byte kept; empty when there is none. Raises StoreError."""
    try:
        return path.read_bytes().decode("utf-8", "surrogateescape")
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror}; check its owner and permissions") from error


def stem(key: str) -> str:
    """What stands in the archive wherever a memory of this key does; nothing for a key that is a hash of its line."""
    return "" if key.startswith("line-") else key


def could_be_a_name(text: str) -> bool:
    """Whether somebody who typed this may have meant a name, not words."""
    return _NAME.fullmatch(text.strip()) is not None


def named(known: Sequence[Known], name: str) -> tuple[Known, ...]:
    """All that is called so, in any case of letters: the same line may stand in the memory and in the archive."""
    wanted = name.strip().casefold()
    return tuple(item for item in known if wanted in (called.casefold() for called in item.names))


def beginning(known: Sequence[Known], start: str) -> tuple[Known, ...]:
    """All whose name begins so, if that is one memory. Raises TotalRecallError when it is several."""
    wanted = start.strip().casefold()
    if len(wanted) < SHORTEST_PREFIX:
        return ()
    found = [item for item in known if any(called.casefold().startswith(wanted) for called in item.names)]
    keys = sorted({item.key for item in found})
    if len(keys) > 1:
        shown = ", ".join(keys[:SHOWN]) + (f" and {len(keys) - SHOWN} more" if len(keys) > SHOWN else "")
        raise TotalRecallError(f"{start!r} is the beginning of several: {shown}; write more of it")
    return tuple(found)


def find(name: str, places: Sequence[Place]) -> tuple[Place, tuple[Known, ...]]:
    """The one memory of that name, in whichever directory it is: its line, and its items in the archive.

    Raises TotalRecallError when there is none, with what to do, or when there are several.
    """
    # A line without an id is called by a hash, which stands nowhere.
    holding = "" if name.strip().casefold().startswith("line") else name.strip()
    found = [(place, all_of(place.memory_dir, holding)) for place in places if place.memory_dir.is_dir()]
    for look in (named, beginning):
        hits = [(place, items) for place, known in found if (items := look(known, name))]
        if len(hits) > 1:
            named_by = choices([place for place, _ in hits])
            raise TotalRecallError(f"several memories have a {name!r}; name one with {named_by}")
        if hits:
            place, items = hits[0]
            return place, named(all_of(place.memory_dir, stem(items[0].key)), items[0].key)
    hint = f'`recall "{name}" --why` finds by words, and shows the ids' if name.strip() else "`recall` shows ids"
    raise TotalRecallError(f"there is no memory {name!r}; {hint}")
