"""Files of a day in which entries are only ever added: what `archive/observations` and `archive/chunks` have in common.

An entry begins with `## NAME-YYYYMMDD-NNN`. What an undo has brought back is named in a later "Undone" note; when its
line leaves the memory again, it is filed again.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from total_recall.confined import NO_LINK
from total_recall.errors import MemoryWriteError
from total_recall.memory.store import sync_directory
from total_recall.state import Step, no_step, private_directory

DATE = "- Original date: "
LINE = "> "
BLANK = " \t\r\n"
"""What may stand around a line and is not filed: all else is part of it, other blanks and control characters too."""
BACK = "- Back in the memory: "
COUNT = "- Sources: "
CUT_OFF = "- Cut off: a crash ended this entry; what it held was filed again\n"

Key = tuple[str, str]
"""The original date as the archive writes it, and the whole line: an untagged line may stand under several dates."""


@dataclass(frozen=True, slots=True)
class Filed:
    """One entry as it stands in a file: its name, the file, its lines with their dates, and whether it is whole."""

    name: str
    path: Path
    keys: tuple[Key, ...]
    is_whole: bool


class Shelf:
    """The files of one folder of the archive. Everything raises MemoryWriteError."""

    def __init__(
        self, memory_dir: Path, folder: str, prefix: str, title: str, step: Step = no_step, *, is_closed: bool = False
    ) -> None:
        """`is_closed` says that an entry ends with a line `- Sources: N`, without which a crash has cut it off."""
        self.directory = memory_dir / "archive" / folder
        self._prefix = prefix
        self._title = title
        self._heading = re.compile(rf"## ({prefix}-[0-9]{{8}}-[0-9]+)")
        self._step = step
        self._is_closed_by_count = is_closed

    def entries(self) -> Iterator[Filed]:
        """Every entry that stands, oldest file first; undone ones are left out."""
        undone: set[str] = set()
        found: list[Filed] = []
        for path in sorted(self.directory.glob("*.md")) if self.directory.is_dir() else []:
            found += self._read_entries(path, undone)
        yield from (entry for entry in found if entry.name not in undone)

    def known(self) -> dict[Key, str]:
        """What is filed and not undone: its name by its original date and line."""
        return {key: entry.name for entry in self.entries() if entry.is_whole for key in entry.keys}

    def next_names(self, count: int, today: date) -> list[str]:
        """Free names of a day, in order."""
        numbers = re.findall(rf"^## {self._prefix}-[0-9]{{8}}-([0-9]+)", read_text(self.path(today)), re.M)
        first = max(map(int, numbers), default=0) + 1
        return [f"{self._prefix}-{today:%Y%m%d}-{number:03d}" for number in range(first, first + count)]

    def add_text(self, text: str, today: date) -> None:
        """Add entries to a day's file; on the disk before this returns."""
        self._append(self.path(today), text, f"# {self._title}, {today.isoformat()}\n")

    def undone(self, names: Sequence[str], today: date) -> None:
        """Note that these entries stand in the memory again."""
        self.add_text(f"\n## Undone on {today.isoformat()}\n\n{BACK}{', '.join(names)}\n", today)

    def path(self, today: date) -> Path:
        """The file of a day."""
        return self.directory / f"{today.isoformat()}.md"

    def _read_entries(self, path: Path, undone: set[str]) -> Iterator[Filed]:
        name = day = None
        keys: list[Key] = []
        is_closed = False
        for line in [*read_text(path).split("\n")[:-1], "## end"]:  # a last line without its end was cut off by a crash
            if line.startswith("## "):
                if name is not None:
                    is_whole = is_closed if self._is_closed_by_count else bool(keys)
                    yield Filed(name, path, tuple(keys), is_whole)
                match = self._heading.fullmatch(line)
                name, day, keys, is_closed = match and match[1], None, [], False
            elif line.startswith(DATE):
                day = line.removeprefix(DATE)
            elif line.startswith(COUNT):
                is_closed = True
            elif line == CUT_OFF[:-1]:
                keys, is_closed = [], False
            elif line.startswith(LINE) and name and day:
                keys.append((day, line.removeprefix(LINE)))
            elif line.startswith(BACK):
                undone.update(line.removeprefix(BACK).split(", "))

    def _append(self, path: Path, text: str, head: str) -> None:
        self._make_directory()
        before = read_text(path)
        gap = "" if not before or before.endswith("\n") else f"\n{CUT_OFF if self._ends_in_an_entry(before) else ''}"
        content = (gap + text if before else head + text).encode("utf-8", "replace")
        try:
            self._step("archive")
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | NO_LINK, 0o600)
            try:
                half = len(content) // 2
                _write_all(handle, content[:half])
                self._step("archive half")
                _write_all(handle, content[half:])
                self._step("archive sync")
                os.fsync(handle)
            finally:
                os.close(handle)
            sync_directory(self.directory)
        except OSError as error:
            raise _failed(path, "write", error) from error

    def _ends_in_an_entry(self, text: str) -> bool:
        headings = [line for line in text.split("\n") if line.startswith("## ")]
        return bool(headings) and self._heading.fullmatch(headings[-1]) is not None

    def _make_directory(self) -> None:
        missing = [folder for folder in (self.directory, self.directory.parent) if not folder.is_dir()]
        private_directory(self.directory)
        for folder in missing:
            try:
                sync_directory(folder.parent)
            except OSError as error:
                raise _failed(folder, "make", error) from error


def read_text(path: Path) -> str:
    """A file's text; lines end at `\\n` alone. Empty when there is none."""
    try:
        return path.read_bytes().decode("utf-8", "replace")
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise _failed(path, "read", error) from error


def _failed(path: Path, verb: str, error: OSError) -> MemoryWriteError:
    return MemoryWriteError(
        f"cannot {verb} {path}: {error.strerror}; nothing was taken out of the memory; "
        "free some space or check its owner, then run the command again"
    )


def _write_all(handle: int, content: bytes) -> None:
    while content:
        content = content[os.write(handle, content) :]
