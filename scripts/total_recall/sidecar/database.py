"""The log's own database, `events.sqlite`: its tables, where its readers have come to, and what is written to it.

One process writes at a time (`state.sole("logging", …)`); any number may read meanwhile.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast
from urllib.parse import quote

from total_recall.confined import NO_LINK, guard, refuse_programs
from total_recall.errors import MemoryWriteError, StoreError
from total_recall.records import SessionClass
from total_recall.sidecar.fulltext import indexed
from total_recall.sidecar.sanitising import COLUMNS, Row
from total_recall.sidecar.schema import MIGRATIONS
from total_recall.state import DatabaseMark, FileCursor, KnownSession, RowCursor, private_directory

NAME: Final = "events.sqlite"
CACHE_KB: Final = 16_000
BULK_CACHE_KB: Final = 128_000
CHECKPOINT_PAGES: Final = 8_000
BUSY_SECONDS: Final = 30.0

_VALUES = ("digest", "at", "type", "session", *COLUMNS[3:])
_INSERT = f"INSERT OR IGNORE INTO event ({', '.join(_VALUES)}) VALUES ({', '.join('?' * len(_VALUES))})"
_FILE = """
INSERT INTO event_text (rowid, text) SELECT id, indexed(summary, error, details) FROM event
WHERE id > ? AND (summary <> '' OR error IS NOT NULL OR details IS NOT NULL)"""
_UNFILE = """
INSERT INTO event_text (event_text, rowid, text) SELECT 'delete', id, indexed(summary, error, details) FROM event
WHERE id = ? AND (summary <> '' OR error IS NOT NULL OR details IS NOT NULL)"""
_REFILE = """
INSERT INTO event_text (rowid, text) SELECT id, indexed(summary, error, details) FROM event
WHERE id = ? AND (summary <> '' OR error IS NOT NULL OR details IS NOT NULL)"""
_COMPLETE = """
UPDATE event SET ok = ?2, exit_code = ?3, duration_ms = ?4, error = ?5, sensitive = sensitive OR ?6,
details = CASE WHEN ?7 IS NULL THEN details ELSE json_patch(coalesce(details, '{}'), ?7) END WHERE id = ?1"""


@dataclass(frozen=True, slots=True)
class Session:
    """A session that events belong to. `id` is empty for what belongs to an agent alone; `parent` is a session key."""

    id: str
    agent: str
    key: str | None = None
    kind: SessionClass | None = None
    parent: str | None = None
    channel: str | None = None


class Events:
    """The open log. Use as a context manager; `db` is there for reading."""

    def __init__(self, db: sqlite3.Connection, path: Path) -> None:
        self.db = db
        self.path = path
        self._numbers: dict[tuple[str, str], int] = {}
        self._known: dict[int, Session] = {}

    @classmethod
    def open(cls, directory: Path, *, cache_kb: int = CACHE_KB) -> Events:
        """Open or create the log in `directory` (mode 0600), migrated to this version.

        Raises MemoryWriteError when it cannot be written, Damaged when it is damaged, StoreError when it is newer.
        """
        private_directory(directory)
        path = directory / NAME
        try:
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | NO_LINK, 0o600))
        except OSError as error:
            raise MemoryWriteError(f"cannot write {path}: {error.strerror}; check its owner and free space") from error
        with explained(path):
            db = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
            try:
                _prepare(db, cache_kb)
                refuse_programs(db, path)
                db.execute("PRAGMA journal_mode = WAL")
                db.execute("PRAGMA synchronous = NORMAL")
                db.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
                _migrate(db, path)
                return cls(db, path)
            except BaseException:
                db.close()
                raise

    @classmethod
    def open_readonly(cls, directory: Path) -> Events | None:
        """The log for reading; None when there is none yet.

        Raises Damaged when it is damaged, StoreError when it is newer or cannot be read.
        """
        path = directory / NAME
        if not path.is_file() or path.stat().st_size == 0:
            return None
        with explained(path):
            uri = f"file:{quote(os.fsencode(path.resolve()))}?mode=ro"
            db = sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None)
            try:
                _prepare(db, CACHE_KB)
                refuse_programs(db, path)
                version = db.execute("PRAGMA user_version").fetchone()[0]
                _require_known(version, path)
                return cls(db, path) if version == len(MIGRATIONS) else None
            except BaseException:
                db.close()
                raise

    def close(self) -> None:
        self.db.close()

    def __enter__(self) -> Events:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """One write transaction, taken back as a whole when something goes wrong in it."""
        with explained(self.path):
            self.db.execute("BEGIN IMMEDIATE")
            try:
                yield self.db
                self.db.execute("COMMIT")
            except BaseException:
                if self.db.in_transaction:
                    self.db.execute("ROLLBACK")
                self._numbers.clear()
                self._known.clear()
                raise

    # --- notes

    def meta(self, key: str) -> str | None:
        row = self.db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return None if row is None else cast(str, row[0])

    def set_meta(self, key: str, value: str) -> None:
        self.db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    # --- where the readers have come to

    def file_cursors(self, store: str) -> dict[str, FileCursor]:
        with explained(self.path):
            rows = self.db.execute("SELECT * FROM file_cursor WHERE store = ?", (store,)).fetchall()
        return {row[1]: FileCursor(*row) for row in rows}

    def row_cursors(self, store: str) -> dict[str, RowCursor]:
        with explained(self.path):
            rows = self.db.execute("SELECT * FROM row_cursor WHERE store = ?", (store,)).fetchall()
        return {row[1]: RowCursor(*row) for row in rows}

    def database_mark(self, store: str) -> DatabaseMark | None:
        with explained(self.path):
            row = self.db.execute("SELECT * FROM database_mark WHERE store = ?", (store,)).fetchone()
        return None if row is None else DatabaseMark(*row)

    def known_session(self, session_id: str) -> KnownSession | None:
        query = "SELECT class, key, channel, muted FROM session WHERE id = ? ORDER BY key IS NULL, num LIMIT 1"
        row = self.db.execute(query, (session_id,)).fetchone()
        return None if row is None else KnownSession(session_id, row[0] or "unknown", row[1], row[2], bool(row[3]))

    def move_cursors(
        self,
        *,
        files: Iterable[FileCursor] = (),
        forget_files: Iterable[tuple[str, str]] = (),
        rows: Iterable[RowCursor] = (),
        mark: DatabaseMark | None = None,
    ) -> None:
        """Note how far was read; within the transaction that wrote what was read."""
        self.db.executemany("DELETE FROM file_cursor WHERE store = ? AND name = ?", forget_files)
        for f in files:
            values = (f.store, f.name, f.dev, f.ino, f.size, f.mtime_ns, f.offset, f.tail, f.session_id)
            self.db.execute("INSERT OR REPLACE INTO file_cursor VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", values)
        for r in rows:
            values_of_row = (r.store, r.session_id, r.seq, r.generation)
            self.db.execute("INSERT OR REPLACE INTO row_cursor VALUES (?, ?, ?, ?)", values_of_row)
        if mark is not None:
            values_of_mark = (mark.store, mark.rowid, mark.session_id, mark.seq)
            self.db.execute("INSERT OR REPLACE INTO database_mark VALUES (?, ?, ?, ?)", values_of_mark)

    # --- sessions

    def session(self, session: Session) -> int:
        """The number of a session; what is newly known of it is noted."""
        name = (session.id, session.agent)
        number = self._numbers.get(name)
        if number is None:
            self.db.execute("INSERT OR IGNORE INTO session (id, agent) VALUES (?, ?)", name)
            found = self.db.execute("SELECT num FROM session WHERE id = ? AND agent = ?", name).fetchone()
            number = self._numbers[name] = cast(int, found[0])
        if self._known.get(number) != session:
            self.db.execute(
                "UPDATE session SET key = coalesce(?, key), class = coalesce(?, class), parent = coalesce(?, parent), "
                "channel = coalesce(?, channel) WHERE num = ?",
                (session.key, session.kind, session.parent, session.channel, number),
            )
            self._known[number] = session
        return number

    def session_with_key(self, key: str, agent: str, at_ms: int, *, keyless: SessionClass | None = None) -> str | None:
        """The id of the session that had this key at that time.

        A session that was put away before it was read has no key any more; with `keyless` one of that class counts too.
        """
        last = "SELECT id FROM event WHERE session = s.num AND at <= ?3 ORDER BY at DESC LIMIT 1"
        query = (
            f"SELECT s.id FROM session s JOIN event e ON e.id = ({last}) "
            "WHERE s.agent = ?2 AND (s.key = ?1 OR s.key IS NULL AND s.class = ?4) ORDER BY e.at DESC LIMIT 1"
        )
        latest = "SELECT id FROM session WHERE key = ?1 AND agent = ?2 ORDER BY num DESC LIMIT 1"
        for question, values in ((query, (key, agent, at_ms, keyless)), (latest, (key, agent))):
            row = self.db.execute(question, values).fetchone()
            if row is not None:
                return cast(str, row[0])
        return None

    def mute(self, number: int, *, muted: bool) -> None:
        """Note whether the turn that is going on in a session is kept out."""
        self.db.execute("UPDATE session SET muted = ?2 WHERE num = ?1 AND muted <> ?2", (number, int(muted)))

    # --- events

    def forgotten(self) -> frozenset[int]:
        """The digests of events that must not come back."""
        return frozenset(row[0] for row in self.db.execute("SELECT digest FROM forgotten"))

    def forgotten_entries(self) -> frozenset[tuple[str, str]]:
        """(Session id, entry id) of what must not come back, or not come at all."""
        return frozenset(self.db.execute("SELECT session, entry FROM forgotten_entry").fetchall())

    def forgotten_sessions(self) -> dict[str, int]:
        """The sessions that were forgotten, each with the last ms since 1970 that it counts for."""
        return dict(self.db.execute("SELECT id, until FROM forgotten_session").fetchall())

    def add(self, rows: Sequence[tuple[int, Row]]) -> int:
        """Write (session number, row) for each event that is not there yet; how many were new.

        A call that is there without a result gets the one that it has here.
        """
        db = self.db
        before = db.execute("SELECT coalesce(max(id), 0) FROM event").fetchone()[0]
        changes = db.total_changes
        db.executemany(_INSERT, [(*row[:3], number, *row[3:]) for number, row in rows])
        added = db.total_changes - changes
        if added:
            db.execute(_FILE, (before,))
        if added < len(rows):
            for _, row in rows:
                if row[2] == "tool_call" and row[5] is not None:
                    self.complete(row)
        return added

    def complete(self, row: Row) -> bool:
        """Give a call its result, when it is there and has none. `row` is that of the whole call."""
        called = dict(zip(COLUMNS, row, strict=True))
        found = self.db.execute("SELECT id FROM event WHERE digest = ? AND ok IS NULL", (called["digest"],)).fetchone()
        if found is None:
            return False
        self.db.execute(_UNFILE, found)
        result = [called[name] for name in ("ok", "exit_code", "duration_ms", "error", "sensitive", "details")]
        self.db.execute(_COMPLETE, (*found, *result))
        self.db.execute(_REFILE, found)
        return True

    def was_said(self, session: str, agent: str, run: str, row: Row, since_ms: int, until_ms: int) -> bool:
        """Whether a message of a session is there: under this run, or, where messages name none, in these words."""
        query = (
            "SELECT 1 FROM event e JOIN session s ON s.num = e.session WHERE s.id = ? AND s.agent = ? "
            "AND e.type = 'user_message' AND e.at BETWEEN ? AND ? AND e.digest <> ? "
            "AND coalesce(json_extract(e.details, '$.run') = ?, e.summary = ?)"
        )
        said = dict(zip(COLUMNS, row, strict=True))
        values = (session, agent, since_ms, until_ms, said["digest"], run, said["summary"])
        return self.db.execute(query, values).fetchone() is not None

    def has_error(self, session: str, agent: str, since_ms: int, until_ms: int) -> bool:
        """Whether an error of a session is there."""
        query = (
            "SELECT 1 FROM event e JOIN session s ON s.num = e.session WHERE s.id = ? AND s.agent = ? "
            "AND e.type = 'error' AND e.at BETWEEN ? AND ? AND e.name <> 'run'"
        )
        return self.db.execute(query, (session, agent, since_ms, until_ms)).fetchone() is not None

    def remove(self, ids: Iterable[int]) -> None:
        """Take events out, and what they are found by."""
        for event in ids:
            self.db.execute(_UNFILE, (event,))
            self.db.execute("DELETE FROM event WHERE id = ?", (event,))

    def waiting(self, number: int) -> dict[str, int]:
        """The digests of calls of a session that have no result yet, by call id."""
        return dict(self.db.execute("SELECT call, digest FROM waiting WHERE session = ?", (number,)).fetchall())

    def set_waiting(self, number: int, before: Mapping[str, int], now: Mapping[str, int]) -> None:
        """Note which calls of a session wait; `before` are those that were noted."""
        gone = [(number, call) for call in before if call not in now]
        new = [(number, call, digest) for call, digest in now.items() if before.get(call) != digest]
        self.db.executemany("DELETE FROM waiting WHERE session = ? AND call = ?", gone)
        self.db.executemany("INSERT OR REPLACE INTO waiting VALUES (?, ?, ?)", new)

    def call(self, digest: int) -> tuple[int, str, str | None, str | None] | None:
        """(Time in ms, name, entry id, details) of a call that has no result yet."""
        query = "SELECT at, name, entry, details FROM event WHERE digest = ? AND ok IS NULL"
        found: tuple[int, str, str | None, str | None] | None = self.db.execute(query, (digest,)).fetchone()
        return found


class Damaged(StoreError):
    """The log cannot be read as a database: `set_aside` makes room for a new one, which the stores fill again."""


def set_aside(directory: Path) -> Path:
    """Rename a damaged log, so that a new one is begun; where it lies now. What was forgotten stays forgotten."""
    path = directory / NAME
    kept = directory / f"{NAME}.damaged-{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}"
    forgotten = _salvaged(path)
    for ending in ("", "-wal", "-shm"):
        if (source := path.with_name(path.name + ending)).exists():
            source.replace(kept.with_name(kept.name + ending))
    with Events.open(directory) as events, events.transaction() as db:
        for table, values in forgotten.items():
            for value in values:
                db.execute(f"INSERT OR IGNORE INTO {table} VALUES ({', '.join('?' * len(value))})", value)
    return kept


def _salvaged(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    """What a damaged log can still say about what was forgotten."""
    found: dict[str, list[tuple[Any, ...]]] = {}
    try:
        with closing(sqlite3.connect(path, timeout=BUSY_SECONDS)) as db:
            for table in ("forgotten", "forgotten_entry", "forgotten_session"):
                found[table] = db.execute(f"SELECT * FROM {table}").fetchall()
    except sqlite3.DatabaseError:
        # That part of it is damaged too; what was read so far is all there is.
        return found
    return found


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """SQLite's errors as ours. Raises Damaged, StoreError or MemoryWriteError."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        said = str(error)
        if "malformed" in said or "not a database" in said or "no such table" in said or "no such column" in said:
            raise Damaged(f"{path} is damaged ({said}); `total-recall log ingest` rebuilds it") from error
        if isinstance(error, sqlite3.OperationalError):
            raise MemoryWriteError(f"cannot use {path}: {said}; check free space and other programs") from error
        raise


def _prepare(db: sqlite3.Connection, cache_kb: int) -> None:
    db.text_factory = lambda raw: raw.decode("utf-8", "replace")
    db.execute(f"PRAGMA cache_size = -{cache_kb}")
    guard(db)
    db.create_function("indexed", 3, indexed, deterministic=True)


def _migrate(db: sqlite3.Connection, path: Path) -> None:
    version = db.execute("PRAGMA user_version").fetchone()[0]
    if version == len(MIGRATIONS):
        return
    db.execute("BEGIN IMMEDIATE")
    version = db.execute("PRAGMA user_version").fetchone()[0]
    _require_known(version, path)
    for number, statements in enumerate(MIGRATIONS[version:], version + 1):
        for statement in statements:
            db.execute(statement)
        db.execute(f"PRAGMA user_version = {number}")
    db.execute("COMMIT")


def _require_known(version: int, path: Path) -> None:
    if version > len(MIGRATIONS):
        raise StoreError(f"{path} was written by a newer Total Recall (format {version}); update this installation")
