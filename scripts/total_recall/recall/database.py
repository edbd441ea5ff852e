"""`recall.sqlite` as a file: its tables, and what becomes of it when it is of another version, damaged or in use."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TypeVar

from total_recall.confined import NO_LINK, guard, refuse_programs
from total_recall.errors import MemoryWriteError, StoreError
from total_recall.recall import terms
from total_recall.state import private_directory

NAME: Final = "recall.sqlite"
SET_ASIDE: Final = "recall.sqlite.damaged"
BUSY_SECONDS: Final = 5.0
CACHE_KB: Final = 16_000

_T = TypeVar("_T")

_TABLES: Final = (
    "CREATE TABLE source (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, origin TEXT NOT NULL, stamp TEXT)",
    "CREATE TABLE shelf (name TEXT PRIMARY KEY, memories INTEGER NOT NULL, terms INTEGER NOT NULL) WITHOUT ROWID",
    "CREATE TABLE speaker (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)",
    # Between `first` and `last` lies whatever was said in a group; what leaves does not narrow it.
    "CREATE TABLE team (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, first INTEGER, last INTEGER)",
    # Small numbers throughout: a memory is a line of text, so every byte counts. `at` in seconds since 1970, `zone` in
    # minutes east of UTC, `importance` in thousandths, `refers` as a proleptic ordinal.
    """CREATE TABLE memory (
      number INTEGER PRIMARY KEY, source INTEGER NOT NULL, key TEXT NOT NULL, digest INTEGER NOT NULL,
      text TEXT NOT NULL, at INTEGER, zone INTEGER, team INTEGER NOT NULL, kind INTEGER, importance INTEGER NOT NULL,
      refers INTEGER, superseded_by TEXT, speaker INTEGER, length INTEGER NOT NULL)""",
    "CREATE UNIQUE INDEX memory_key ON memory (key, source)",
    "CREATE INDEX memory_team ON memory (team, at)",
    "CREATE INDEX memory_refers ON memory (refers) WHERE refers IS NOT NULL",
    # What only some have: those of the archive, and hooks.
    "CREATE TABLE item (number INTEGER PRIMARY KEY, form INTEGER NOT NULL, name TEXT, hooks TEXT NOT NULL)",
    "CREATE INDEX item_name ON item (name)",
    # Which vectors count now, and by memory the text that its vector is kept under and the signs of that.
    "CREATE TABLE embedding (model TEXT NOT NULL, dimensions INTEGER NOT NULL)",
    "CREATE TABLE embedded (number INTEGER PRIMARY KEY, digest BLOB NOT NULL, signs BLOB NOT NULL)",
    *(
        statement
        for shelf in ("memory", "transcript")
        for statement in (
            # Terms are made by us, so the tokenizer has only to leave them whole. Only which memories have a term is
            # kept: where in the text it stands costs as much again, and the text itself can be looked at.
            f"CREATE VIRTUAL TABLE {shelf}_terms USING fts5 (body, content='', columnsize=0, detail=none, "
            "tokenize=\"ascii tokenchars '.,:=~'\")",
            f"CREATE VIRTUAL TABLE {shelf}_places USING fts5vocab ({shelf}_terms, instance)",
            f"CREATE VIRTUAL TABLE {shelf}_counts USING fts5vocab ({shelf}_terms, row)",
            f"INSERT INTO shelf VALUES ('{shelf}', 0, 0)",
        )
    ),
)
_KEPT_TABLES: Final = (
    "CREATE TABLE IF NOT EXISTS vector (model TEXT NOT NULL, digest BLOB NOT NULL, value BLOB NOT NULL, "
    "PRIMARY KEY (model, digest)) WITHOUT ROWID",
)
"""What costs money to make again stays when the rest is built anew."""

_LAYOUT: Final = 2
FORMAT: Final = _LAYOUT * 1000 + terms.VERSION
"""Kept as `PRAGMA user_version`: tables and terms as of now. An index of another format is built anew."""


class _Damaged(Exception):
    """The file is no index, or not whole."""


def using(directory: Path, work: Callable[[sqlite3.Connection], _T]) -> _T:
    """What `work` makes of the database in `directory`, which is made where there is none.

    A damaged one is set aside as `recall.sqlite.damaged`, and `work` is called once more with an empty one. Raises
    MemoryWriteError, StoreError when another process keeps it busy.
    """
    try:
        return _used(directory, work)
    except _Damaged:
        _set_aside(directory)
    try:
        return _used(directory, work)
    except _Damaged as error:
        raise StoreError(f"{directory / NAME} cannot be used: {error}; check the disk") from error


def _used(directory: Path, work: Callable[[sqlite3.Connection], _T]) -> _T:
    path = directory / NAME
    private_directory(directory)
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | NO_LINK, 0o600))
    except OSError as error:
        raise MemoryWriteError(f"cannot write {path}: {error.strerror}; check its owner and free space") from error
    with _explained(path):
        db = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
        try:
            guard(db)
            refuse_programs(db, path)
            db.execute("PRAGMA journal_mode = WAL")
            # A power cut may cost the last changes, which the next sync brings back.
            db.execute("PRAGMA synchronous = NORMAL")
            db.execute(f"PRAGMA cache_size = -{CACHE_KB}")
            migrate(db)
            return work(db)
        finally:
            db.close()


def in_memory() -> sqlite3.Connection:
    """An empty database that no file holds."""
    db = sqlite3.connect(":memory:", isolation_level=None)
    migrate(db)
    return db


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """One change: all of it, or with an exception nothing."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def migrate(db: sqlite3.Connection) -> None:
    """Make the tables; those of another format go first."""
    if db.execute("PRAGMA user_version").fetchone()[0] == FORMAT:
        return
    db.execute("BEGIN IMMEDIATE")
    # Another process may have been first.
    if db.execute("PRAGMA user_version").fetchone()[0] != FORMAT:
        names = (
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name <> 'vector' "
            "ORDER BY sql LIKE 'CREATE VIRTUAL%' DESC, name DESC"
        )
        for (name,) in db.execute(names).fetchall():
            if db.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (name,)).fetchone():
                db.execute(f'DROP TABLE "{name}"')
        for statement in (*_KEPT_TABLES, *_TABLES):
            db.execute(statement)
        db.execute(f"PRAGMA user_version = {FORMAT}")
    db.execute("COMMIT")


def _set_aside(directory: Path) -> None:
    path = directory / NAME
    try:
        path.replace(directory / SET_ASIDE)
        for end in ("-wal", "-shm"):
            Path(f"{path}{end}").unlink(missing_ok=True)
    except OSError as error:
        raise MemoryWriteError(f"cannot move {path}: {error.strerror}; remove it, it is built anew") from error


_BUSY: Final = ("locked", "busy")
_UNWRITABLE: Final = ("full", "readonly", "unable to open", "disk I/O")


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.DatabaseError as error:
        text = str(error)
        if any(sign in text for sign in _BUSY):
            raise StoreError(f"{path} is in use by another process for more than 5 seconds; try again") from error
        if any(sign in text for sign in _UNWRITABLE):
            raise MemoryWriteError(
                f"cannot write {path}: {text}; free some space or make its directory writable"
            ) from error
        if "no such module" in text:
            raise StoreError(f"this Python's SQLite has no full-text search ({text}); use one with FTS5") from error
        raise _Damaged(text) from error
