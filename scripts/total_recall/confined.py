"""What is opened in a memory leads nowhere else: no link out of it, no database that runs what it brought along.

A memory may be shared by git or a sync client, and a link or a database may come with it that nobody here made.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from total_recall.errors import MemoryWriteError, StoreError

OWN_DIRECTORY: Final = ".total-recall"
OWN_FOLDERS: Final = (
    OWN_DIRECTORY, "archive", "archive/observations", "archive/chunks", "observation-backups", "dream-logs",
    "dream-staging", ".dream-backups",
)  # fmt: skip
"""The folders in a memory directory that are written to."""
OWN_FILES: Final = (".observer-last-run", ".observer-last-hash")
NO_LINK: Final = os.O_NOFOLLOW | os.O_CLOEXEC
"""For every file of ours: one that has become a link is not opened (OSError, ELOOP)."""


def refuse_links(memory_dir: Path) -> None:
    """Raise MemoryWriteError if something of ours in the memory directory is a link out of it.

    The directory itself may be one, and so may observations.md (`MemoryStore`); a person's own files are not looked at.
    """
    inside = os.path.realpath(memory_dir)
    for path in _ours(memory_dir):
        if path.is_symlink() and not _is_below(os.path.realpath(path), inside):
            raise MemoryWriteError(
                f"{path} is a link that leads out of {memory_dir}, so nothing is written there; put a folder or file "
                "in its place, or set MEMORY_DIR to the folder that you mean"
            )


def markdown_only(path: Path) -> None:
    """Raise MemoryWriteError if a file of the memory is a link to anything but Markdown.

    A link to a synced note is somebody's wish. One that came with a pull must not lead to a key, a crontab or a shell's
    start-up file.
    """
    if path.is_symlink():
        target = Path(os.path.realpath(path))
        if target.suffix.casefold() != ".md" and target != path:
            raise MemoryWriteError(
                f"{path} is a link to {target}, which is no Markdown file: nothing is read or written there; "
                "let it lead to a file that ends in .md, or put a file in its place"
            )


def _ours(memory_dir: Path) -> Iterator[Path]:
    for name in (*OWN_FOLDERS, *OWN_FILES):
        yield memory_dir / name
    own = memory_dir / OWN_DIRECTORY
    if own.is_dir() and not own.is_symlink():
        yield from own.iterdir()


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def guard(db: sqlite3.Connection) -> None:
    """Let nothing that is written in the database's schema run: no unsafe function, and from Python 3.12 on no trigger,
    no view and no write to the schema either. Extensions cannot be loaded in any case: nobody enables them."""
    db.execute("PRAGMA trusted_schema = OFF")
    configure = getattr(db, "setconfig", None)  # Python 3.12
    if configure is not None:
        configure(sqlite3.SQLITE_DBCONFIG_DEFENSIVE, True)  # type: ignore[attr-defined,unused-ignore]
        configure(sqlite3.SQLITE_DBCONFIG_ENABLE_TRIGGER, False)  # type: ignore[attr-defined,unused-ignore]
        configure(sqlite3.SQLITE_DBCONFIG_ENABLE_VIEW, False)  # type: ignore[attr-defined,unused-ignore]


def refuse_programs(db: sqlite3.Connection, path: Path) -> None:
    """Raise StoreError if one of our own databases has a trigger or a view: we make none."""
    found = db.execute("SELECT type, name FROM sqlite_master WHERE type IN ('trigger', 'view') LIMIT 1").fetchone()
    if found is not None:
        raise StoreError(
            f"{path} has a {found[0]} that Total Recall did not make; move the file away, or put a copy of yours back"
        )
