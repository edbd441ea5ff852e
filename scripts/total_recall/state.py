"""What Total Recall knows between runs: all SQL of `state.sqlite`, and its migrations.

A message goes `queued` → `observed`; one that was older than the first run's window is `skipped`. Taking a
message and moving the cursor behind it is one transaction, so a message is taken exactly once; from then on
it no longer depends on the host's store.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import secrets
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import date, datetime, timezone
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple, cast

from total_recall.confined import NO_LINK, guard, refuse_links, refuse_programs
from total_recall.errors import AlreadyRunning, MemoryWriteError, StoreError
from total_recall.records import Message, ModelCall, Observation, Role, SessionClass

CACHE_KB = 16_000
CHECKPOINT_PAGES = 4000
"""Four times the usual: a checkpoint waits for the disk."""
GATHER_SECONDS = 1.0
"""How long a transaction that gathers what is taken stays open: others wait up to ten seconds for theirs."""
COPY_TRIES = 20
"""How often a database that is written meanwhile is copied again."""
WAL_HEADER_BYTES = 32
LOCK_POLL_SECONDS = 0.05
LAST_MS = 2**62
"""Later than every time."""

Step = Callable[[str], None]


def no_step(_name: str) -> None:
    """The default for `step`: tests pass a function that ends the process, or changes the world, there."""


@dataclass(frozen=True, slots=True)
class FileCursor:
    """How far a transcript file was read.

    `offset` is the byte after the last complete line; `tail` is a hash of the bytes before it; `size` and
    `mtime_ns` are what the file showed before that read, so that an unchanged file is not opened again.
    """

    store: str
    name: str
    dev: int
    ino: int
    size: int
    mtime_ns: int
    offset: int
    tail: bytes
    session_id: str


@dataclass(frozen=True, slots=True)
class RowCursor:
    """How far a session in a database was read: the last `seq`, under which rewrite `generation`."""

    store: str
    session_id: str
    seq: int
    generation: str


@dataclass(frozen=True, slots=True)
class DatabaseMark:
    """The newest row of a database at the last read. `rowid` holds only while its row is (`session_id`, `seq`)."""

    store: str
    rowid: int
    session_id: str
    seq: int


@dataclass(frozen=True, slots=True)
class KnownSession:
    """What a session id was when an index still named it; archives are in no index any more.

    `muted` says that the last turn that was read is kept out of memory: the answer to it may be still to come.
    """

    session_id: str
    session_class: SessionClass
    key: str | None
    channel: str | None
    muted: bool = False


@dataclass(frozen=True, slots=True)
class Taken:
    """One message on its way into the queue. `digest` names its content: id, time and text as stored by the host."""

    message: Message
    digest: int


class Seen(NamedTuple):
    """One message that is only marked as seen: what it is known by when it comes again.

    A tuple, since a first run makes one for all that was ever said, and a frozen dataclass takes five times as long.
    """

    session_id: str
    entry_id: str
    digest: int
    at_ms: int
    role: Role
    source: str


@dataclass(frozen=True, slots=True)
class TakeCount:
    """What became of the messages of one `take`."""

    queued: int = 0
    skipped: int = 0
    known: int = 0
    same_id: int = 0

    def __add__(self, other: TakeCount) -> TakeCount:
        return TakeCount(
            self.queued + other.queued,
            self.skipped + other.skipped,
            self.known + other.known,
            self.same_id + other.same_id,
        )


@dataclass(frozen=True, slots=True)
class Queued:
    """A queued message and its row number."""

    row: int
    message: Message


@dataclass(frozen=True, slots=True)
class Pending:
    """A document write that was intended and may or may not have happened.

    The hashes are SHA-256 in hex of the document before and after; the block is what the write adds, so the new
    document follows from the old one. `rows` are (batch id, message rows) of each batch in it. `standing` are ids of
    the block that the document had before: they say nothing about whether the write happened. `again` are (id of the
    block, id in the document): what was said again and is not written, but is one more ground for the line that stands.
    """

    old_hash: str
    new_hash: str
    block: tuple[Observation, ...]
    rows: tuple[tuple[str, tuple[int, ...]], ...]
    standing: frozenset[str] = frozenset()
    again: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One run of a command, for `status` and the logs."""

    command: str
    started: datetime
    ended: datetime
    outcome: str
    messages: int
    observations: int
    detail: str


@dataclass(frozen=True, slots=True)
class Access:
    """How often an observation was recalled, and when for the last time."""

    count: int
    last: datetime


@dataclass(frozen=True, slots=True)
class Ground:
    """A message that an observation was made from. `is_kept` is False where only the fact that there was one is left.

    `batch` is what it was compressed with, None before that.
    """

    row: int
    message: Message
    session_class: SessionClass
    batch: str | None
    is_kept: bool
    forgotten_at: datetime | None


@dataclass(frozen=True, slots=True)
class Forgetting:
    """What is to go from the state: messages by row, observations by id, whole sessions by id.

    `texts` are hashes of what was observed; nothing that was said up to `at` is observed as one of them again.
    `changed` are values of `meta` and (run number, detail) of `runs` that have the words, as they are to be.
    """

    at: datetime
    rows: tuple[int, ...] = ()
    observations: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    texts: tuple[bytes, ...] = ()
    changed: tuple[tuple[str, str], ...] = ()
    runs: tuple[tuple[int, str], ...] = ()


def _is_same(twin: tuple[Any, ...], row: dict[str, object], appended: bool) -> bool:
    """Whether a message is the one that stands under its id already (a skipped one is kept without its text)."""
    _, _, at, text, source = twin
    return at == row["at"] or (text is not None and text == row["text"]) or not (appended or source == row["source"])


def numbered_id(entry_id: str, number: int) -> str:
    """The name of the second, third … message under one entry id of one transcript."""
    return entry_id if number == 1 else f"{entry_id}~{number}"


def content_digest(entry_id: str, at_ms: int | None, text: str) -> int:
    """A 63-bit name for (entry id, time, text) as stored: a copied entry has the same in any session."""
    raw = f"{entry_id}\0{at_ms}\0{text}".encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(raw, digest_size=8).digest(), "big") >> 1


_FIRST = (
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    """CREATE TABLE session (
      num INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, class TEXT NOT NULL, key TEXT, channel TEXT)""",
    """CREATE TABLE file_cursor (
      store TEXT NOT NULL, name TEXT NOT NULL, dev INTEGER NOT NULL, ino INTEGER NOT NULL, size INTEGER NOT NULL,
      mtime_ns INTEGER NOT NULL, offset INTEGER NOT NULL, tail BLOB NOT NULL, session_id TEXT NOT NULL,
      PRIMARY KEY (store, name)) WITHOUT ROWID""",
    """CREATE TABLE row_cursor (
      store TEXT NOT NULL, session_id TEXT NOT NULL, seq INTEGER NOT NULL, generation TEXT NOT NULL,
      PRIMARY KEY (store, session_id)) WITHOUT ROWID""",
    """CREATE TABLE database_mark (
      store TEXT PRIMARY KEY, row INTEGER NOT NULL, session_id TEXT NOT NULL, seq INTEGER NOT NULL) WITHOUT ROWID""",
    """CREATE TABLE message (
      id INTEGER PRIMARY KEY, session INTEGER NOT NULL REFERENCES session(num), entry_id TEXT NOT NULL,
      digest INTEGER NOT NULL UNIQUE, at INTEGER NOT NULL, role TEXT NOT NULL, source TEXT NOT NULL,
      speaker TEXT, channel TEXT, owner INTEGER NOT NULL, text TEXT, status TEXT NOT NULL, batch TEXT,
      UNIQUE (session, entry_id))""",
    # Other names of a message: a fork's copies of it, and what it became when its entry was written down anew.
    """CREATE TABLE copy (
      session INTEGER NOT NULL REFERENCES session(num), entry_id TEXT NOT NULL,
      message INTEGER NOT NULL REFERENCES message(id), PRIMARY KEY (session, entry_id)) WITHOUT ROWID""",
    "CREATE TABLE rewritten (digest INTEGER PRIMARY KEY, message INTEGER NOT NULL REFERENCES message(id))",
    "CREATE INDEX message_queue ON message (at, id) WHERE status = 'queued'",
    "CREATE INDEX message_time ON message (session, at) WHERE status <> 'skipped'",
    """CREATE TABLE provenance (
      observation TEXT NOT NULL, message INTEGER NOT NULL REFERENCES message(id),
      PRIMARY KEY (observation, message)) WITHOUT ROWID""",
    """CREATE TABLE pending (
      one INTEGER PRIMARY KEY CHECK (one = 1), old_hash TEXT NOT NULL, new_hash TEXT NOT NULL,
      block TEXT NOT NULL, rows TEXT NOT NULL, standing TEXT NOT NULL)""",
    """CREATE TABLE run (
      id INTEGER PRIMARY KEY, command TEXT NOT NULL, started TEXT NOT NULL, ended TEXT NOT NULL,
      outcome TEXT NOT NULL, messages INTEGER NOT NULL, observations INTEGER NOT NULL, detail TEXT NOT NULL)""",
)

_LEDGER = (
    """CREATE TABLE model_call (
      id INTEGER PRIMARY KEY, at INTEGER NOT NULL, purpose TEXT NOT NULL, model TEXT NOT NULL, outcome TEXT NOT NULL,
      seconds REAL NOT NULL, tokens_in INTEGER, tokens_out INTEGER, tokens_cached INTEGER, cost_usd REAL)""",
    "CREATE INDEX model_call_time ON model_call (at)",
)

_MUTED = ("ALTER TABLE session ADD COLUMN muted INTEGER NOT NULL DEFAULT 0",)

_ACCESS = (
    """CREATE TABLE access (
      observation TEXT PRIMARY KEY, count INTEGER NOT NULL, last_ms INTEGER NOT NULL) WITHOUT ROWID""",
)

_FORGETTING = (
    # What is left of something forgotten: keyed hashes and numbers, no words.
    "CREATE TABLE forgotten_text (hash BLOB PRIMARY KEY, until INTEGER NOT NULL) WITHOUT ROWID",
    "CREATE TABLE forgotten_message (message INTEGER PRIMARY KEY REFERENCES message(id), at INTEGER NOT NULL)",
    "CREATE TABLE forgotten_session (session INTEGER PRIMARY KEY REFERENCES session(num), until INTEGER NOT NULL)",
    # A forgetting that is not finished yet. It has the words, and goes last.
    "CREATE TABLE forgetting (one INTEGER PRIMARY KEY CHECK (one = 1), plan TEXT NOT NULL)",
    """CREATE TABLE compressed (
      batch TEXT PRIMARY KEY, by TEXT NOT NULL, at INTEGER NOT NULL) WITHOUT ROWID""",
    "CREATE INDEX provenance_message ON provenance (message)",
)

MIGRATIONS: tuple[tuple[str, ...], ...] = (_FIRST, _LEDGER, _MUTED, _ACCESS, _FORGETTING)
"""In order, append-only; `PRAGMA user_version` counts those that were applied, in the transaction that applied them."""


@contextmanager
def sole(what: str, directory: Path, wait_seconds: float = 0.0) -> Iterator[None]:
    """Be the only `observer`, `reflector` … of one memory; the kernel ends that when the process ends, however it ends.

    Raises AlreadyRunning when another process holds it, and still does after `wait_seconds`; MemoryWriteError when
    `directory` cannot be written.
    """
    private_directory(directory)
    path = directory / f"{what}.lock"
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | NO_LINK, 0o600)
    except OSError as error:
        raise MemoryWriteError(f"cannot write {path}: {error.strerror}; check its owner and free space") from error
    try:
        give_up = time.monotonic() + wait_seconds
        while not _locked(handle):
            if time.monotonic() >= give_up:
                raise AlreadyRunning(f"another {what} is at work in {directory.parent}; let it do the work")
            time.sleep(LOCK_POLL_SECONDS)
        yield
    finally:
        os.close(handle)


def _locked(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def private_directory(directory: Path) -> None:
    """Make `directory`, with its parents, for the owner alone. Raises MemoryWriteError when that cannot be done."""
    try:
        for folder in reversed([directory, *directory.parents]):
            if not folder.exists():
                folder.mkdir(mode=0o700, exist_ok=True)
        if not directory.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        if not os.access(directory, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        raise MemoryWriteError(
            f"cannot write to {directory}: {error.strerror}; make it writable for this user or set MEMORY_DIR"
        ) from error


_FIELDS = ("session", "entry_id", "digest", "at", "role", "source", "speaker", "channel", "owner", "text", "status")
# Numbers, since looking values up by name takes a quarter of the time of a large insertion.
_INSERT = f"""
INSERT OR IGNORE INTO message ({", ".join(_FIELDS)})
SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11
WHERE NOT EXISTS (SELECT 1 FROM copy WHERE session = ?1 AND entry_id = ?2)
AND NOT EXISTS (SELECT 1 FROM rewritten WHERE digest = ?3)"""
_TWIN = "SELECT id, status, at, text, source FROM message"
_SAME_CONTENT = f"""
{_TWIN} WHERE digest = :digest UNION ALL
{_TWIN} WHERE id = (SELECT message FROM rewritten WHERE digest = :digest)"""
_SAME_ID = f"""
{_TWIN} WHERE session = :session AND entry_id = :entry_id UNION ALL
{_TWIN} WHERE id = (SELECT message FROM copy WHERE session = :session AND entry_id = :entry_id)"""
_COPY = """
INSERT OR IGNORE INTO copy SELECT :session, :entry_id, :message
WHERE NOT EXISTS (SELECT 1 FROM message WHERE session = :session AND entry_id = :entry_id)"""


class State:
    """One memory's state. Use as a context manager; every public method is one transaction or only reads."""

    def __init__(self, db: sqlite3.Connection, path: Path, step: Step = no_step) -> None:
        self._db = db
        self._step = step
        self._gathering = False
        self._gathered_since = 0.0
        self.path = path
        self._sessions: dict[str, int] = {
            cast(str, name): cast(int, num) for num, name in db.execute("SELECT num, id FROM session")
        }

    @classmethod
    def open(cls, directory: Path, step: Step = no_step) -> State:
        """Open or create `state.sqlite` in `directory` (mode 0600), migrated to this version.

        `step` is told before and after each transaction ends. Raises MemoryWriteError when it cannot be written and
        StoreError when it is damaged or newer.
        """
        refuse_links(directory.parent)
        private_directory(directory)
        path = directory / "state.sqlite"
        try:
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | NO_LINK, 0o600))
        except OSError as error:
            raise MemoryWriteError(f"cannot write {path}: {error.strerror}; check its owner and free space") from error
        with _explained(path):
            db = sqlite3.connect(path, timeout=10, isolation_level=None)
            try:
                db.execute("PRAGMA journal_mode = WAL")
                db.execute("PRAGMA synchronous = NORMAL")
                db.execute(f"PRAGMA cache_size = -{CACHE_KB}")
                db.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
                return cls._migrated(db, path, step)
            except BaseException:
                db.close()
                raise

    @classmethod
    def open_copy(cls, directory: Path) -> State:
        """A copy in memory, for a dry run: whatever is done to it leaves no trace.

        Raises StoreError when the state is damaged or newer.
        """
        db = sqlite3.connect(":memory:", isolation_level=None)
        path = directory / "state.sqlite"
        with _explained(path):
            try:
                _copy_into(db, path)
                return cls._migrated(db, path)
            except BaseException:
                db.close()
                raise

    @classmethod
    def _migrated(cls, db: sqlite3.Connection, path: Path, step: Step = no_step) -> State:
        guard(db)
        refuse_programs(db, path)
        db.execute("BEGIN IMMEDIATE")
        version = db.execute("PRAGMA user_version").fetchone()[0]
        if version > len(MIGRATIONS):
            raise StoreError(f"{path} was written by a newer Total Recall (format {version}); update this installation")
        step("migrate")
        for number, statements in enumerate(MIGRATIONS[version:], version + 1):
            for statement in statements:
                db.execute(statement)
            db.execute(f"PRAGMA user_version = {number}")
        db.execute("COMMIT")
        step("migrated")
        return cls(db, path, step)

    def close(self) -> None:
        self._db.close()

    def __enter__(self) -> State:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def _transaction(self, durable: bool = False) -> Iterator[sqlite3.Connection]:
        """One write transaction; `durable` waits for the disk, so that it survives a power cut."""
        with _explained(self.path):
            if durable:
                self._db.execute("PRAGMA synchronous = FULL")
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
                self._step("save")
                self._db.execute("COMMIT")
                self._step("saved")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise
            finally:
                if durable:
                    self._db.execute("PRAGMA synchronous = NORMAL")

    @contextmanager
    def gathering(self) -> Iterator[None]:
        """What is taken inside is saved together, or in parts of `GATHER_SECONDS`.

        Saved one by one, a thousand transcripts would have most pages of the indexes written a thousand times. What
        was not saved yet when an error ends this is as if it had not been taken.
        """
        self._gathering = True
        try:
            yield
            with _explained(self.path):
                self._save_gathered()
        finally:
            self._gathering = False
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")

    @contextmanager
    def _taking(self) -> Iterator[sqlite3.Connection]:
        """The transaction of one `take`, which others may share."""
        if not self._gathering:
            with self._transaction() as db:
                yield db
            return
        with _explained(self.path):
            if not self._db.in_transaction:
                self._db.execute("BEGIN IMMEDIATE")
                self._gathered_since = time.monotonic()
            try:
                yield self._db
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise
            if time.monotonic() - self._gathered_since > GATHER_SECONDS:
                self._save_gathered()

    def _save_gathered(self) -> None:
        if self._db.in_transaction:
            self._step("save")
            self._db.execute("COMMIT")
            self._step("saved")

    def _rows(self, query: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        with _explained(self.path):
            return self._db.execute(query, values).fetchall()

    def _row_of(self, query: str, values: Sequence[object] = ()) -> tuple[Any, ...] | None:
        return next(iter(self._rows(query, values)), None)

    # --- facts about this memory

    def meta(self, key: str) -> str | None:
        row = self._row_of("SELECT value FROM meta WHERE key = ?", (key,))
        return None if row is None else cast(str, row[0])

    def set_meta(self, key: str, value: str) -> None:
        with self._transaction() as db:
            db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    # --- sessions and cursors

    def known_session(self, session_id: str) -> KnownSession | None:
        row = self._row_of("SELECT class, key, channel, muted FROM session WHERE id = ?", (session_id,))
        return None if row is None else KnownSession(session_id, row[0], row[1], row[2], bool(row[3]))

    def file_cursors(self, store: str) -> dict[str, FileCursor]:
        """The cursors of one directory, by file name."""
        rows = self._rows(
            "SELECT store, name, dev, ino, size, mtime_ns, offset, tail, session_id FROM file_cursor WHERE store = ?",
            (store,),
        )
        return {row[1]: FileCursor(*row) for row in rows}

    def row_cursors(self, store: str) -> dict[str, RowCursor]:
        """The cursors of one database, by session id."""
        rows = self._rows("SELECT store, session_id, seq, generation FROM row_cursor WHERE store = ?", (store,))
        return {row[1]: RowCursor(*row) for row in rows}

    def database_mark(self, store: str) -> DatabaseMark | None:
        row = self._row_of("SELECT store, row, session_id, seq FROM database_mark WHERE store = ?", (store,))
        return None if row is None else DatabaseMark(*row)

    def take(
        self,
        taken: Sequence[Taken | Seen],
        *,
        sessions: Sequence[KnownSession] = (),
        files: Sequence[FileCursor] = (),
        forget_files: Sequence[tuple[str, str]] = (),
        rows: Sequence[RowCursor] = (),
        mark: DatabaseMark | None = None,
        appended: bool = False,
        promote_since_ms: int | None = None,
    ) -> TakeCount:
        """Put messages in the queue, or mark them as seen, and move the cursors behind them, all or nothing.

        Ids of 8 hex digits collide: a message with a known id but another time and text is a second one. Unless it
        comes from another kind of store and was not `appended` to what was read there before: an upgrade writes
        every entry down again, and may change it. `promote_since_ms` queues what an earlier run marked as seen, from
        that time on.
        """
        with self._taking() as db:
            for known in sessions:
                self._remember(db, known)
            count = self._insert(db, taken, appended=appended, promote_since_ms=promote_since_ms)
            db.executemany("DELETE FROM file_cursor WHERE store = ? AND name = ?", forget_files)
            db.executemany(
                "INSERT OR REPLACE INTO file_cursor VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [(c.store, c.name, c.dev, c.ino, c.size, c.mtime_ns, c.offset, c.tail, c.session_id) for c in files],
            )
            db.executemany(
                "INSERT OR REPLACE INTO row_cursor VALUES (?, ?, ?, ?)",
                [(c.store, c.session_id, c.seq, c.generation) for c in rows],
            )
            if mark is not None:
                db.execute(
                    "INSERT OR REPLACE INTO database_mark VALUES (?, ?, ?, ?)",
                    (mark.store, mark.rowid, mark.session_id, mark.seq),
                )
        return count

    def _remember(self, db: sqlite3.Connection, known: KnownSession) -> int:
        db.execute(
            "INSERT INTO session (id, class, key, channel, muted) VALUES (?, ?, ?, ?, ?) "
            "ON CONFLICT (id) DO UPDATE SET class = excluded.class, key = coalesce(excluded.key, key), "
            "channel = coalesce(excluded.channel, channel), muted = excluded.muted",
            (known.session_id, known.session_class, known.key, known.channel, known.muted),
        )
        num = cast(int, db.execute("SELECT num FROM session WHERE id = ?", (known.session_id,)).fetchone()[0])
        self._sessions[known.session_id] = num
        return num

    def _insert(
        self, db: sqlite3.Connection, taken: Sequence[Taken | Seen], *, appended: bool, promote_since_ms: int | None
    ) -> TakeCount:
        rows = self._without_forgotten(db, [self._row(item) for item in taken])
        if promote_since_ms is None:
            # The usual case, all new, in one call. It is taken back when one was known; a savepoint would cost more.
            newest = db.execute("SELECT coalesce(max(id), 0) FROM message").fetchone()[0]
            if db.executemany(_INSERT, rows).rowcount == len(rows):
                seen = sum(row[-1] == "skipped" for row in rows)
                return TakeCount(queued=len(rows) - seen, skipped=seen)
            db.execute("DELETE FROM message WHERE id > ?", (newest,))
        count = TakeCount()
        for row in rows:
            if db.execute(_INSERT, row).rowcount == 1:
                count += TakeCount(queued=row[-1] == "queued", skipped=row[-1] == "skipped")
            else:
                named = dict(zip(_FIELDS, row, strict=True))
                count += self._again(db, named, appended=appended, promote_since_ms=promote_since_ms)
        return count

    def _again(
        self, db: sqlite3.Connection, row: dict[str, Any], *, appended: bool, promote_since_ms: int | None
    ) -> TakeCount:
        """A message whose id or content is already here."""
        twin = db.execute(_SAME_CONTENT, row).fetchone()
        if twin is not None:
            db.execute(_COPY, {**row, "message": twin[0]})
        number = 1
        while twin is None:
            named = {**row, "entry_id": numbered_id(row["entry_id"], number)}
            found = db.execute(_SAME_ID, named).fetchone()
            if found is None:
                db.execute(_INSERT, tuple(named.values()))
                return TakeCount(queued=row["status"] == "queued", skipped=row["status"] == "skipped", same_id=1)
            if _is_same(found, row, appended):
                twin = found
                key = self._forgetting_key() if self._was_forgotten(db, twin[0]) else None
                digest = _hidden(row["digest"], key) if key else row["digest"]
                db.execute("INSERT OR IGNORE INTO rewritten VALUES (?, ?)", (digest, twin[0]))
            number += 1
        wanted = promote_since_ms is not None and row["at"] >= promote_since_ms
        if wanted and twin[1] == "skipped" and row["status"] == "queued" and not self._was_forgotten(db, twin[0]):
            db.execute(
                "UPDATE message SET status = 'queued', text = :text, speaker = :speaker, channel = :channel, "
                "owner = :owner WHERE id = :message",
                {**row, "message": twin[0]},
            )
            return TakeCount(queued=1)
        return TakeCount(known=1)

    def _row(self, item: Taken | Seen) -> tuple[Any, ...]:
        """The values of `_FIELDS`."""
        if isinstance(item, Seen):
            session = self._sessions[item.session_id]
            return (session, *item[1:], None, None, False, None, "skipped")
        message = item.message
        return (
            self._sessions[message.session_id],
            message.entry_id,
            item.digest,
            round(message.at.timestamp() * 1000),
            message.role,
            message.source,
            message.speaker,
            message.channel,
            message.is_owner,
            message.text.encode("utf-8", "replace").decode(),
            "queued",
        )

    # --- the queue

    _COLUMNS = (
        "m.id, m.source, s.id, s.key, m.entry_id, m.role, m.text, m.at, m.speaker, m.channel, m.owner "
        "FROM message m JOIN session s ON s.num = m.session"
    )

    def queue(
        self,
        session_id: str | None = None,
        *,
        since_ms: int = 0,
        until_ms: int = LAST_MS,
        page: int = 500,
    ) -> Iterator[Queued]:
        """The messages that wait to be observed, in time order, of one session, from `since_ms` and before `until_ms`.

        Messages may be settled while this goes on.
        """
        narrowed, values = ("AND s.id = ?", [session_id]) if session_id else ("", [])
        after = (since_ms - 1, LAST_MS)
        while True:
            rows = self._rows(
                f"SELECT {self._COLUMNS} WHERE m.status = 'queued' AND (m.at, m.id) > (?, ?) AND m.at < ? {narrowed} "
                "ORDER BY m.at, m.id LIMIT ?",
                [*after, until_ms, *values, page],
            )
            yield from (_queued(row) for row in rows)
            if len(rows) < page:
                return
            after = (rows[-1][7], rows[-1][0])

    def queue_length(self) -> int:
        return cast(int, self._rows("SELECT count(*) FROM message WHERE status = 'queued'")[0][0])

    def oldest_queued(self) -> datetime | None:
        at = self._rows("SELECT min(at) FROM message WHERE status = 'queued'")[0][0]
        return None if at is None else datetime.fromtimestamp(at / 1000, timezone.utc)

    def names_of(self, rows: Sequence[int]) -> list[tuple[str, str]]:
        """(session id, entry id) of messages, by row number."""
        query = "SELECT s.id, m.entry_id FROM message m JOIN session s ON s.num = m.session WHERE m.id = ?"
        return [name for row in rows for name in self._rows(query, (row,))]

    def counts(self) -> dict[str, int]:
        """How many messages there are of each status."""
        return dict(self._rows("SELECT status, count(*) FROM message GROUP BY status"))

    def said_before(self, message: Message, count: int) -> list[Message]:
        """The last `count` messages of the same session that were said before this one, oldest first."""
        rows = self._rows(
            f"SELECT {self._COLUMNS} WHERE m.session = (SELECT num FROM session WHERE id = ?) "
            "AND m.status <> 'skipped' AND m.at < ? ORDER BY m.at DESC, m.id DESC LIMIT ?",
            (message.session_id, round(message.at.timestamp() * 1000), count),
        )
        return [_queued(row).message for row in reversed(rows)]

    # --- the commit: pending, document, settled

    def stage(self, pending: Pending) -> None:
        """Step 1 of a commit: write down what is about to happen, on the disk before anything else does."""
        again = dict(pending.again)
        block = [{**_observation_json(o), _AGAIN: again.get(o.id)} for o in pending.block]
        with self._transaction(durable=True) as db:
            db.execute(
                "INSERT OR REPLACE INTO pending VALUES (1, ?, ?, ?, ?, ?)",
                (
                    pending.old_hash,
                    pending.new_hash,
                    json.dumps(block),
                    json.dumps(pending.rows),
                    json.dumps(sorted(pending.standing)),
                ),
            )

    def pending(self) -> Pending | None:
        """The write that an earlier process left unfinished, if any."""
        row = self._row_of("SELECT old_hash, new_hash, block, rows, standing FROM pending")
        if row is None:
            return None
        staged = json.loads(row[2])
        again = tuple((value["id"], name) for value in staged if (name := value.pop(_AGAIN, None)) is not None)
        block = tuple(_observation(value) for value in staged)
        rows = tuple((batch, tuple(numbers)) for batch, numbers in json.loads(row[3]))
        return Pending(row[0], row[1], block, rows, frozenset(json.loads(row[4])), again)

    def settle(self, rows: Sequence[tuple[str, Sequence[int]]], observations: Sequence[Observation] = ()) -> None:
        """Step 3 of a commit: the messages of these batches are observed, nothing is pending."""
        with self._transaction(durable=True) as db:
            for batch, numbers in rows:
                db.executemany(
                    "UPDATE message SET status = 'observed', batch = ? WHERE id = ?",
                    [(batch, number) for number in numbers],
                )
            for observation in observations:
                db.executemany(
                    "INSERT OR IGNORE INTO provenance SELECT ?, id FROM message "
                    "WHERE session = (SELECT num FROM session WHERE id = ?) AND entry_id = ?",
                    [(observation.id, *source) for source in observation.sources],
                )
            db.execute("DELETE FROM pending")

    def inherit_provenance(self, merged: Mapping[str, Collection[str]]) -> None:
        """Each new observation (an id) comes from all the messages that those it is made of (ids) came from.

        On the disk when this returns. Doing it twice does it once.
        """
        with self._transaction(durable=True) as db:
            for new, old in merged.items():
                db.executemany(
                    "INSERT OR IGNORE INTO provenance SELECT ?, message FROM provenance WHERE observation = ?",
                    [(new, name) for name in old],
                )

    # --- forgetting, and where a memory comes from

    def _forgetting_key(self) -> bytes | None:
        key = self.meta(_FORGETTING_KEY)
        return None if key is None else bytes.fromhex(key)

    def _without_forgotten(self, db: sqlite3.Connection, rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        """The rows, those of forgotten messages without their words and under the hash that stands for them."""
        key = self._forgetting_key()
        if key is None:
            return rows
        until = dict(db.execute("SELECT session, until FROM forgotten_session").fetchall())
        return [self._as_forgotten(db, key, row, until) for row in rows]

    def _as_forgotten(
        self, db: sqlite3.Connection, key: bytes, row: tuple[Any, ...], until: Mapping[int, int]
    ) -> tuple[Any, ...]:
        session, entry_id, digest, at, role, source, *_ = row
        hidden = _hidden(digest, key)
        known = "SELECT 1 FROM message WHERE digest = ?1 UNION ALL SELECT 1 FROM rewritten WHERE digest = ?1"
        if at > until.get(session, -1) and db.execute(known, (hidden,)).fetchone() is None:
            return row
        return (session, entry_id, hidden, at, role, source, None, None, False, None, "skipped")

    def _was_forgotten(self, db: sqlite3.Connection, message: int) -> bool:
        query = (
            "SELECT 1 FROM forgotten_message WHERE message = ?1 UNION ALL SELECT 1 FROM message m "
            "JOIN forgotten_session f ON f.session = m.session WHERE m.id = ?1 AND m.at <= f.until"
        )
        return db.execute(query, (message,)).fetchone() is not None

    def forgetting_key(self) -> bytes:
        """The key of the hashes that stand for what was forgotten; made when it is first asked for."""
        if self._forgetting_key() is None:
            self.set_meta(_FORGETTING_KEY, secrets.token_hex(32))
        return bytes.fromhex(cast(str, self.meta(_FORGETTING_KEY)))

    def forgotten_texts(self) -> tuple[bytes, dict[bytes, int]] | None:
        """The key, and hashes of what was forgotten, each with the last ms since 1970 that it counts for."""
        key = self._forgetting_key()
        return None if key is None else (key, dict(self._rows("SELECT hash, until FROM forgotten_text")))

    def is_forgotten(self, session_id: str, entry_id: str) -> bool:
        """Whether this message was forgotten."""
        query = (
            "SELECT 1 FROM forgotten_message f JOIN message m ON m.id = f.message JOIN session s ON s.num = m.session "
            "WHERE s.id = ? AND m.entry_id = ?"
        )
        return bool(self._rows(query, (session_id, entry_id)))

    def all_forgotten(self) -> tuple[frozenset[tuple[str, str]], dict[str, int]]:
        """(Session id, entry id) of every forgotten message, and forgotten sessions with their last ms since 1970."""
        messages = self._rows(
            "SELECT s.id, m.entry_id FROM forgotten_message f JOIN message m ON m.id = f.message "
            "JOIN session s ON s.num = m.session"
        )
        sessions = self._rows("SELECT s.id, f.until FROM forgotten_session f JOIN session s ON s.num = f.session")
        return frozenset((session, entry) for session, entry in messages), dict(sessions)

    def unfinished_forgetting(self) -> str | None:
        """What an earlier process wrote down as to be forgotten, if it is not finished."""
        row = self._row_of("SELECT plan FROM forgetting")
        return None if row is None else cast(str, row[0])

    def begin_forgetting(self, plan: str) -> None:
        """Write down what is to be forgotten, on the disk before anything goes."""
        with self._transaction(durable=True) as db:
            db.execute("INSERT OR REPLACE INTO forgetting VALUES (1, ?)", (plan,))

    def forget(self, what: Forgetting) -> None:
        """Take the words out of the state, and leave what is needed not to take them again. Twice does it once."""
        key, at = self.forgetting_key(), round(what.at.timestamp() * 1000)
        with self._transaction(durable=True) as db:
            db.executemany(
                "INSERT OR REPLACE INTO forgotten_session SELECT num, ? FROM session WHERE id = ?",
                [(at, name) for name in what.sessions],
            )
            for row in what.rows:
                self._forget_message(db, row, key, at)
            for table in ("provenance", "access"):
                db.executemany(f"DELETE FROM {table} WHERE observation = ?", [(name,) for name in what.observations])
            db.executemany("INSERT OR REPLACE INTO forgotten_text VALUES (?, ?)", [(text, at) for text in what.texts])
            db.executemany("UPDATE meta SET value = ?2 WHERE key = ?1", what.changed)
            db.executemany("UPDATE run SET detail = ?2 WHERE id = ?1", what.runs)

    def _forget_message(self, db: sqlite3.Connection, row: int, key: bytes, at: int) -> None:
        if db.execute("SELECT 1 FROM forgotten_message WHERE message = ?", (row,)).fetchone() is not None:
            return
        for (digest,) in db.execute("SELECT digest FROM rewritten WHERE message = ?", (row,)).fetchall():
            db.execute("UPDATE OR REPLACE rewritten SET digest = ? WHERE digest = ?", (_hidden(digest, key), digest))
        (digest,) = db.execute("SELECT digest FROM message WHERE id = ?", (row,)).fetchone()
        db.execute(
            "UPDATE message SET status = 'skipped', text = NULL, speaker = NULL, channel = NULL, "
            "digest = ? WHERE id = ?",
            (_hidden(digest, key), row),
        )
        db.execute("INSERT INTO forgotten_message VALUES (?, ?)", (row, at))

    def end_forgetting(self) -> bool:
        """The words go from the file itself: free pages, the log, the plan. False while another process reads it."""
        self.begin_forgetting("")
        with _explained(self.path):
            self._db.execute("PRAGMA secure_delete = ON")
            self._step("vacuum")
            self._db.execute("VACUUM")
            self._step("vacuumed")
            busy = self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
            self._step("checkpointed")
        if not busy:
            with self._transaction(durable=True) as db:
                db.execute("DELETE FROM forgetting")
        return not busy

    def grounds_of(self, observations: Sequence[str]) -> dict[str, list[Ground]]:
        """The messages that each of these observations was made from, in time order; those without are left out."""
        rows = self._rows(
            f"SELECT {self._COLUMNS.partition(' FROM ')[0]}, p.observation, s.class, m.batch, f.at "
            "FROM provenance p JOIN message m ON m.id = p.message JOIN session s ON s.num = m.session "
            "LEFT JOIN forgotten_message f ON f.message = m.id "
            "WHERE p.observation IN (SELECT value FROM json_each(?)) ORDER BY m.at, m.id",
            (json.dumps(observations),),
        )
        found: dict[str, list[Ground]] = {}
        for row in rows:
            queued, (name, kind, batch, at) = _queued(row[:11]), row[11:]
            gone = None if at is None else datetime.fromtimestamp(at / 1000, timezone.utc)
            ground = Ground(queued.row, queued.message, kind, batch, row[6] is not None, gone)
            found.setdefault(name, []).append(ground)
        return found

    def made_from(self, rows: Sequence[int]) -> dict[str, list[int]]:
        """The observations that were made from these messages, each with all the messages that it was made from."""
        found: dict[str, list[int]] = {}
        query = (
            "SELECT observation, message FROM provenance WHERE observation IN "
            "(SELECT observation FROM provenance WHERE message IN (SELECT value FROM json_each(?)))"
        )
        for name, row in self._rows(query, (json.dumps(rows),)):
            found.setdefault(name, []).append(row)
        return found

    def sessions_named(self, name: str) -> list[KnownSession]:
        """The sessions with this id or key, in any case of letters."""
        query = "SELECT id, class, key, channel, muted FROM session WHERE lower(id) = ?1 OR lower(key) = ?1"
        rows = self._rows(query, (name.lower(),))
        return [KnownSession(row[0], row[1], row[2], row[3], bool(row[4])) for row in rows]

    def rows_of_session(self, session_id: str) -> list[int]:
        """All messages of a session by row, also those that were only marked as seen."""
        query = "SELECT m.id FROM message m JOIN session s ON s.num = m.session WHERE s.id = ? ORDER BY m.id"
        return [row for (row,) in self._rows(query, (session_id,))]

    def rows_between(self, since_ms: int, until_ms: int) -> list[int]:
        """All messages said from `since_ms` and before `until_ms`, by row, also those only marked as seen."""
        query = "SELECT id FROM message WHERE at >= ? AND at < ? ORDER BY id"
        return [row for (row,) in self._rows(query, (since_ms, until_ms))]

    def kept(self, rows: Sequence[int]) -> list[Queued]:
        """Of these messages those whose words are still here, in time order."""
        return [
            _queued(row)
            for row in self._rows(
                f"SELECT {self._COLUMNS} WHERE m.id IN (SELECT value FROM json_each(?)) AND m.text IS NOT NULL "
                "ORDER BY m.at, m.id",
                (json.dumps(rows),),
            )
        ]

    def waiting(self) -> list[int]:
        """The messages in the queue, by row."""
        return [row for (row,) in self._rows("SELECT id FROM message WHERE status = 'queued'")]

    def metas(self) -> dict[str, str]:
        """Every fact about this memory."""
        return dict(self._rows("SELECT key, value FROM meta"))

    def details(self) -> list[tuple[int, str]]:
        """(number, detail) of every run that is on record."""
        return [(number, detail) for number, detail in self._rows("SELECT id, detail FROM run")]

    def record_compressed(self, batch: str, by: str, at: datetime) -> None:
        """Note who made the observations of a batch."""
        with self._transaction() as db:
            values = (batch, by, round(at.timestamp() * 1000))
            db.execute("INSERT OR REPLACE INTO compressed VALUES (?, ?, ?)", values)

    def compressed_by(self, batches: Collection[str]) -> dict[str, tuple[str, datetime]]:
        """Who made the observations of these batches, and when, as far as that was noted."""
        rows = self._rows(
            "SELECT batch, by, at FROM compressed WHERE batch IN (SELECT value FROM json_each(?))",
            (json.dumps(sorted(batches)),),
        )
        return {batch: (by, datetime.fromtimestamp(at / 1000, timezone.utc)) for batch, by, at in rows}

    # --- for recall

    def record_access(self, observations: Sequence[str], at: datetime) -> None:
        """Note that these observations were recalled."""
        with self._transaction() as db:
            db.executemany(
                "INSERT INTO access VALUES (?, 1, ?) ON CONFLICT (observation) DO UPDATE SET "
                "count = count + 1, last_ms = max(last_ms, excluded.last_ms)",
                [(name, round(at.timestamp() * 1000)) for name in observations],
            )

    def accesses(self, observations: Sequence[str]) -> dict[str, Access]:
        """How often these observations were recalled, and when last; those that never were are left out."""
        rows = self._rows(
            "SELECT observation, count, last_ms FROM access WHERE observation IN (SELECT value FROM json_each(?))",
            (json.dumps(observations),),
        )
        return {name: Access(count, datetime.fromtimestamp(ms / 1000, timezone.utc)) for name, count, ms in rows}

    def sessions_of(self, observations: Sequence[str]) -> dict[str, str]:
        """The session that each of these observations was made from (the first one), where that is known."""
        rows = self._rows(
            "SELECT p.observation, s.id, min(p.message) FROM provenance p JOIN message m ON m.id = p.message "
            "JOIN session s ON s.num = m.session "
            "WHERE p.observation IN (SELECT value FROM json_each(?)) GROUP BY p.observation",
            (json.dumps(observations),),
        )
        return {observation: session for observation, session, _ in rows}

    def said(self, after_row: int, limit: int) -> list[Queued]:
        """The next messages that are kept, in the order in which they were taken."""
        rows = self._rows(
            f"SELECT {self._COLUMNS} WHERE m.id > ? AND m.status <> 'skipped' ORDER BY m.id LIMIT ?", (after_row, limit)
        )
        return [_queued(row) for row in rows]

    def said_count(self, up_to_row: int) -> int:
        """How many messages are kept, up to that row. An earlier one may come to be kept, or be forgotten, later."""
        query = "SELECT count(*) FROM message WHERE status <> 'skipped' AND id <= ?"
        return cast(int, self._rows(query, (up_to_row,))[0][0])

    def last_said(self, count: int) -> list[Queued]:
        """The last messages that are kept, the oldest first."""
        rows = self._rows(
            f"SELECT {self._COLUMNS} WHERE m.status <> 'skipped' ORDER BY m.at DESC, m.id DESC LIMIT ?", (count,)
        )
        return [_queued(row) for row in reversed(rows)]

    # --- the ledger of model calls

    def record_call(self, call: ModelCall) -> None:
        """Keep a record of one request to a model, whatever came of it."""
        with self._transaction() as db:
            db.execute(
                "INSERT INTO model_call (at, purpose, model, outcome, seconds, tokens_in, tokens_out, tokens_cached, "
                "cost_usd) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    round(call.at.timestamp() * 1000),
                    call.purpose,
                    call.model,
                    call.outcome,
                    call.seconds,
                    call.tokens_in,
                    call.tokens_out,
                    call.tokens_cached,
                    call.cost_usd,
                ),
            )

    def tokens_since(self, at: datetime) -> int:
        """Tokens, in and out, of all calls from then on."""
        query = (
            "SELECT coalesce(sum(coalesce(tokens_in, 0) + coalesce(tokens_out, 0)), 0) FROM model_call WHERE at >= ?"
        )
        return cast(int, self._rows(query, (round(at.timestamp() * 1000),))[0][0])

    def calls(self, since: datetime) -> list[ModelCall]:
        """The calls from then on, oldest first."""
        rows = self._rows(
            "SELECT at, purpose, model, outcome, seconds, tokens_in, tokens_out, tokens_cached, cost_usd "
            "FROM model_call WHERE at >= ? ORDER BY at, id",
            (round(since.timestamp() * 1000),),
        )
        return [ModelCall(datetime.fromtimestamp(row[0] / 1000, timezone.utc), *row[1:]) for row in rows]

    # --- runs

    def record_run(self, run: RunRecord, keep: int = 1000) -> None:
        """Keep a record of this run, and of the `keep` before it."""
        with self._transaction() as db:
            cursor = db.execute(
                "INSERT INTO run (command, started, ended, outcome, messages, observations, detail) "
                "VALUES (?, ?, ?, ?, ?, ?, ?)",
                (
                    run.command,
                    run.started.isoformat(),
                    run.ended.isoformat(),
                    run.outcome,
                    run.messages,
                    run.observations,
                    run.detail,
                ),
            )
            db.execute("DELETE FROM run WHERE id <= ?", ((cursor.lastrowid or 0) - keep,))

    def runs_after(self, row: int) -> list[tuple[int, RunRecord]]:
        """(Row number, run) of the runs that were recorded after that row, in order."""
        fields = "id, command, started, ended, outcome, messages, observations, detail"
        query = f"SELECT {fields} FROM run WHERE id > ? ORDER BY id"
        return [
            (n, RunRecord(command, datetime.fromisoformat(began), datetime.fromisoformat(ended), *rest))
            for n, command, began, ended, *rest in self._rows(query, (row,))
        ]

    def last_run(self, command: str) -> RunRecord | None:
        row = self._row_of(
            "SELECT command, started, ended, outcome, messages, observations, detail FROM run "
            "WHERE command = ? ORDER BY id DESC LIMIT 1",
            (command,),
        )
        if row is None:
            return None
        return RunRecord(row[0], datetime.fromisoformat(row[1]), datetime.fromisoformat(row[2]), *row[3:])


def _queued(row: Sequence[object]) -> Queued:
    (number, source, session_id, key, entry_id, role, text, at, speaker, channel, owner) = row
    message = Message(
        source=cast(str, source),
        session_id=cast(str, session_id),
        session_key=cast("str | None", key),
        entry_id=cast(str, entry_id),
        role=cast(Role, role),
        text=cast("str | None", text) or "",
        at=datetime.fromtimestamp(cast(int, at) / 1000, timezone.utc),
        speaker=cast("str | None", speaker),
        channel=cast("str | None", channel),
        is_owner=bool(owner),
    )
    return Queued(cast(int, number), message)


_FORGETTING_KEY = "forgetting_key"


def _hidden(digest: int, key: bytes) -> int:
    """What stands for the digest of a forgotten message: 63 bits that say nothing without the key."""
    raw = blake2b(digest.to_bytes(8, "big"), key=key, digest_size=8).digest()
    return int.from_bytes(raw, "big") >> 1


_AGAIN = "again"
"""Beside the fields of a staged observation: the id of the line that says it already. Older versions staged none."""


def _observation_json(o: Observation) -> dict[str, object]:
    return {
        "id": o.id,
        "text": o.text.encode("utf-8", "replace").decode(),
        "at": o.at.isoformat(),
        "priority": o.priority,
        "type": o.type,
        "importance": o.importance,
        "confidence": o.confidence,
        "certainty": o.certainty,
        "refers": o.refers.isoformat() if o.refers else None,
        "superseded_by": o.superseded_by,
        "sources": o.sources,
        "supersedes": o.supersedes,
    }


def _observation(value: dict[str, object]) -> Observation:
    fields = dict(value)
    fields["at"] = datetime.fromisoformat(cast(str, value["at"]))
    fields["refers"] = date.fromisoformat(cast(str, value["refers"])) if value["refers"] else None
    fields["supersedes"] = tuple(cast("list[str]", value["supersedes"]))
    fields["sources"] = tuple((s, e) for s, e in cast("list[list[str]]", value["sources"]))
    return Observation(**fields)  # type: ignore[arg-type]  # the fields written by _observation_json


def _copy_into(db: sqlite3.Connection, path: Path) -> None:
    """Fill `db` with the database at `path`, if there is one.

    SQLite leaves `-wal` and `-shm` files beside a database in WAL mode even when it only reads, and cannot read it in
    a folder that it may not write: so a copy is read.
    """
    with tempfile.TemporaryDirectory(prefix="total-recall-") as folder:
        copy = Path(folder) / path.name
        try:
            for _ in range(COPY_TRIES):
                before = _generation(path)
                for end in ("", "-wal"):
                    _copy_file(f"{path}{end}", f"{copy}{end}")
                if _generation(path) == before:
                    break
            else:
                raise StoreError(f"{path} is being written all the time; try again when the observer is done")
        except OSError as error:
            name = error.filename or path
            raise StoreError(f"{name} cannot be read: {error.strerror}; check its permissions") from error
        with closing(sqlite3.connect(copy)) as original:
            original.backup(db)


def _copy_file(source: str, target: str) -> None:
    """Copy a file over what an earlier try left; where there is none now, there is none afterwards."""
    try:
        shutil.copyfile(source, target)
    except FileNotFoundError:
        Path(target).unlink(missing_ok=True)


def _generation(path: Path) -> bytes | tuple[int, ...]:
    """What changes when a database and its log, copied one after the other, no longer belong together.

    The log holds every page that may be half copied to the database, until it is begun anew: then its header differs
    (SQLite file format, 4.1). Without a log only the database itself can tell.
    """
    try:
        with Path(f"{path}-wal").open("rb") as log:
            header = log.read(WAL_HEADER_BYTES)
    except FileNotFoundError:
        header = b""
    if header:
        return header
    try:
        found = path.stat()
    except FileNotFoundError:
        return ()
    return found.st_ino, found.st_size, found.st_mtime_ns


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Turn what SQLite says into an error that a user is meant to see."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise _error_for(error, path) from error


def _error_for(error: sqlite3.DatabaseError, path: Path) -> StoreError | MemoryWriteError:
    text = str(error)
    if "full" in text or "disk I/O" in text:
        advice = "free some space, then run the command again (nothing was lost)"
        return MemoryWriteError(f"cannot write {path}: {text}; {advice}")
    if "readonly" in text or "unable to open" in text:
        return MemoryWriteError(f"cannot write {path}: {text}; make its directory writable for this user")
    if "locked" in text:
        return StoreError(f"{path} is in use by another process for more than 10 seconds; try again")
    return StoreError(f"{path} cannot be used: {text}; move it aside to start anew (observations.md keeps what it has)")
