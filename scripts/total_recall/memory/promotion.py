"""Writing what a person has approved into one of the agent's own files, between two marks.

The file is replaced while its hash still holds; an edit made at the same moment is kept. A copy is made before. A file
outside the workspace (favorites.md: the memory directory) is never written, whatever links lead there.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path

from total_recall.errors import TotalRecallError
from total_recall.memory.staged import TARGETS, harmless
from total_recall.memory.store import MemoryStore, Replaced

FAVORITES = "favorites.md"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_MARK = "<!-- total-recall proposal "


@dataclass(frozen=True, slots=True)
class TargetStore(MemoryStore):
    """One file of the agent, `file`, in the place of the memory document; its backups have a folder of their own."""

    file: Path = field(kw_only=True)

    @property
    def path(self) -> Path:
        return self.file

    @property
    def backup_dir(self) -> Path:
        return self.memory_dir / ".dream-backups" / "targets" / self.file.stem


@dataclass(frozen=True, slots=True)
class Promoted:
    """What was done to a target file: nothing when it had the block already. `rescued` are edits to merge by hand."""

    path: Path
    was_there: bool
    backup: Path | None = None
    rescued: tuple[Path, ...] = ()


def target_path(memory_dir: Path, workspace: Path, name: str) -> Path:
    """Where a target file is. Raises TotalRecallError when it would be written outside of where it belongs."""
    if name not in TARGETS:
        raise TotalRecallError(f"{name!r} is no file that can be proposed to; choose one of {', '.join(TARGETS)}")
    root = memory_dir if name == FAVORITES else workspace
    if not root.is_dir():
        raise TotalRecallError(f"there is no folder {root}; nothing was written; set OPENCLAW_WORKSPACE to yours")
    real_root = Path(os.path.realpath(root))
    real = Path(os.path.realpath(root / name))
    if not real.is_relative_to(real_root):
        raise TotalRecallError(
            f"{root / name} is a link that leads out of {root}, to {real}; nothing was written; "
            "add the text by hand, or put the file itself there"
        )
    if real.exists() and not real.is_file():
        raise TotalRecallError(f"{real} is no file; nothing was written; move it away")
    return real


def read_targets(memory_dir: Path, workspace: Path) -> dict[str, str]:
    """The texts of the files that can be proposed to, by name; those that are missing are left out.

    Reads through links, wherever they lead: what a file says already need not be proposed. Raises TotalRecallError.
    """
    texts: dict[str, str] = {}
    for name in TARGETS:
        path = (memory_dir if name == FAVORITES else workspace) / name
        try:
            texts[name] = path.read_bytes().decode("utf-8-sig", "replace")
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            continue
        except OSError as error:
            raise TotalRecallError(f"cannot read {path}: {error.strerror}; check its owner and permissions") from error
    return texts


def marks(name: str, today: date) -> tuple[str, str]:
    """The lines around what a proposal of this name has added."""
    return (
        f"{_MARK}{name}: approved {today}, from memory/dream-staging -->",
        f"{_MARK}{name} end -->",
    )


def has_block(content: bytes, name: str) -> bool:
    """Whether a file has what the proposal of this name added, whole or in part."""
    return re.search(rb"^" + re.escape(f"{_MARK}{name}".encode()) + rb"(?::| end)", content, re.MULTILINE) is not None


def with_block(content: bytes, name: str, text: str, today: date) -> bytes:
    """The file with the block at its end, in the file's own line ends; every byte that was there stays.

    Raises TotalRecallError when the file is saved as UTF-16.
    """
    if content.startswith(_UTF16):
        raise TotalRecallError("the file is saved as UTF-16; save it as UTF-8 in your editor and run again")
    end_of_line = "\r\n" if content.count(b"\r\n") * 2 > content.count(b"\n") else "\n"
    begin, end = marks(name, today)
    block = end_of_line.join((begin, *harmless(text).split("\n"), end, ""))
    above = "" if not content.strip(b"\xef\xbb\xbf\r\n\t ") else _gap(content, end_of_line)
    return content + (above + block).encode("utf-8", "replace")


def _gap(content: bytes, end_of_line: str) -> str:
    if not content.endswith(b"\n"):
        return end_of_line * 2
    return "" if content.endswith((b"\n\n", b"\n\r\n")) else end_of_line


def promote(store: TargetStore, name: str, text: str, now: datetime, today: date) -> Promoted:
    """Add the block to the store's file, unless it is there. Raises TotalRecallError; the file is then as it was."""
    rescued: list[Path] = []
    with store.lock() as found:
        rescued += found
        snapshot = store.read()
        while not has_block(snapshot.content, name):
            try:
                new = with_block(snapshot.content, name, text, today)
            except TotalRecallError as error:
                raise TotalRecallError(f"{store.path}: {error}") from error
            backup = store.backup(now)
            done = store.replace(new, expected=snapshot.sha256)
            if isinstance(done, Replaced):
                return Promoted(store.path, False, backup, tuple(rescued))
            rescued += done.rescued
            snapshot = done.current
    return Promoted(store.path, True, None, tuple(rescued))
