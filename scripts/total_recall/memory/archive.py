"""`archive/observations/DATE.md`: what left the memory, in full and with the reason. Only ever added to.

An entry that an undo has brought back is named in a later "Undone" note; when its line leaves the memory again, it is
archived again.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from total_recall.errors import MemoryWriteError
from total_recall.memory.reflection import Removal
from total_recall.memory.store import sync_directory
from total_recall.state import Step, no_step, private_directory

_HEADING = re.compile(r"## (?P<name>OBS-[0-9]{8}-(?P<number>[0-9]+))")
_NUMBER = re.compile(r"^## OBS-[0-9]{8}-([0-9]+)", re.M)
_DATE = "- Original date: "
_LINE = "> "
_BACK = "- Back in the memory: "

Key = tuple[str, str]
"""The original date as the archive writes it, and the whole line: an untagged line may stand under several dates."""


class Archive:
    """The archive of one memory directory. Everything raises MemoryWriteError."""

    def __init__(self, memory_dir: Path, step: Step = no_step) -> None:
        self.directory = memory_dir / "archive" / "observations"
        self._step = step

    def known(self) -> dict[Key, str]:
        """What is archived and not undone: its name (`OBS-20261130-001`) by its original date and line."""
        found: dict[Key, str] = {}
        undone: set[str] = set()
        for path in sorted(self.directory.glob("*.md")) if self.directory.is_dir() else []:
            name = day = None
            lines = _read(path).split("\n")
            for line in lines[:-1]:  # a last line without its end was cut off by a crash
                if line.startswith("## "):
                    match = _HEADING.fullmatch(line)
                    name = match["name"] if match else None
                elif line.startswith(_DATE):
                    day = line.removeprefix(_DATE)
                elif line.startswith(_LINE) and name and day:
                    found[day, line.removeprefix(_LINE)] = name
                elif line.startswith(_BACK):
                    undone.update(line.removeprefix(_BACK).split(", "))
        return {key: name for key, name in found.items() if name not in undone}

    def add(self, removals: Sequence[Removal], today: date) -> tuple[str, ...]:
        """Add what is not archived yet, on the disk before this returns. Returns the names of all of them.

        When it raises, the document must keep the lines.
        """
        known = self.known()
        fresh = {key: removal for removal in removals if (key := _key(removal)) not in known}
        if fresh:
            path = self._path(today)
            first = max((int(n) for n in _NUMBER.findall(_read(path))), default=0) + 1
            names = [f"OBS-{today:%Y%m%d}-{number:03d}" for number in range(first, first + len(fresh))]
            entries = map(_entry, names, fresh.values())
            self._append(path, "".join(entries), f"# Archived observations, {today.isoformat()}\n")
            known.update(zip(fresh, names, strict=True))
        return tuple(dict.fromkeys(known[_key(removal)] for removal in removals))

    def undone(self, names: Sequence[str], today: date) -> None:
        """Note that these entries stand in the memory again."""
        note = f"\n## Undone on {today.isoformat()}\n\n{_BACK}{', '.join(names)}\n"
        self._append(self._path(today), note, f"# Archived observations, {today.isoformat()}\n")

    def _path(self, today: date) -> Path:
        return self.directory / f"{today.isoformat()}.md"

    def _append(self, path: Path, text: str, head: str) -> None:
        self._make_directory()
        before = _read(path)
        gap = "" if not before or before.endswith("\n") else "\n"
        content = (gap + text if before else head + text).encode("utf-8", "replace")
        try:
            self._step("archive")
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
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

    def _make_directory(self) -> None:
        missing = [folder for folder in (self.directory, self.directory.parent) if not folder.is_dir()]
        private_directory(self.directory)
        for folder in missing:
            try:
                sync_directory(folder.parent)
            except OSError as error:
                raise _failed(folder, "make", error) from error


def _entry(name: str, removal: Removal) -> str:
    entry = removal.entry
    confidence = "unknown" if entry.confidence is None else f"{entry.confidence:.2f}"
    return "\n".join(
        (
            "",
            f"## {name}",
            "",
            f"{_DATE}{_key(removal)[0]}",
            f"- Impact: {entry.priority} ({entry.importance:.1f})",
            f"- Type: {entry.type or 'untyped'}",
            f"- Confidence: {confidence} ({entry.certainty or 'unknown'})",
            f"- Id: {entry.id or 'none'}",
            f"- Reason: {' '.join(removal.reason.split())}",
            "",
            f"{_LINE}{_key(removal)[1]}",
            "",
        )
    )


def _key(removal: Removal) -> Key:
    entry = removal.entry
    return str(entry.heading or entry.recorded or "unknown"), removal.raw.strip()


def _read(path: Path) -> str:
    """The file's text; lines end at `\\n` alone. Empty when there is none."""
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
