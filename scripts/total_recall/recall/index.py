"""The search index: all SQL of `recall.sqlite`.

It holds nothing that is not elsewhere: it may be deleted, and a damaged one is set aside and built anew. Memories
stand on one shelf, transcripts on another, each with its own full-text table, so that what is not searched costs
nothing and does not say how rare a word is.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from datetime import date, datetime, timedelta, timezone
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, Literal, TypeVar, cast, get_args

from total_recall.errors import MemoryWriteError, StoreError
from total_recall.recall import terms
from total_recall.records import ObservationType
from total_recall.state import private_directory

NAME: Final = "recall.sqlite"
SET_ASIDE: Final = "recall.sqlite.damaged"
BUSY_SECONDS: Final = 5.0
CACHE_KB: Final = 16_000
_PARAMETERS: Final = 500
"""Values in one statement; SQLite before 3.32 takes 999."""
_SAVED_TOGETHER: Final = 2_000
"""Memories that are filed in one transaction: others wait no longer than it takes."""

Shelf = Literal["memory", "transcript"]
Origin = Literal["live", "archived", "transcript"]
_SHELVES: Final[Mapping[Origin, Shelf]] = {"live": "memory", "archived": "memory", "transcript": "transcript"}

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Memory:
    """Something that can be found.

    `key` names it within its source: the observation's id where it has one. `at` is when it was said, in the user's
    time zone; `group` what it was said in (a session, or a day), where neighbours in time belong together. `kind` is
    None for what has no type, which counts as an event.
    """

    key: str
    text: str
    at: datetime | None
    group: str = ""
    kind: ObservationType | None = None
    importance: float = 5.0
    refers: date | None = None
    superseded_by: str | None = None
    speaker: str | None = None


@dataclass(frozen=True, slots=True)
class Filed:
    """A memory in the index. `length` is its number of terms, `team` the number of its group."""

    number: int
    origin: Origin
    source: str
    memory: Memory
    length: int
    team: int


@dataclass(frozen=True, slots=True)
class Size:
    """How much stands on a shelf, to tell how rare a word is and how long a memory usually is."""

    memories: int
    terms: int

    @property
    def usual_length(self) -> float:
        return self.terms / self.memories if self.memories else 1.0


@dataclass(frozen=True, slots=True)
class Synced:
    """What a `sync` changed."""

    added: int = 0
    removed: int = 0


Stamp = tuple[int, ...]
"""What a file shows from outside (inode, size, time): the same means unchanged."""

_TABLES: Final = (
    "CREATE TABLE source (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, origin TEXT NOT NULL, stamp TEXT)",
    "CREATE TABLE shelf (name TEXT PRIMARY KEY, memories INTEGER NOT NULL, terms INTEGER NOT NULL) WITHOUT ROWID",
    "CREATE TABLE speaker (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)",
    "CREATE TABLE team (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)",
    # Small numbers throughout: a memory is a line of text, so every column counts. `at` in seconds since 1970,
    # `zone` in minutes east of UTC, `refers` as a proleptic ordinal.
    """CREATE TABLE memory (
      number INTEGER PRIMARY KEY, source INTEGER NOT NULL, key TEXT NOT NULL, digest INTEGER NOT NULL,
      text TEXT NOT NULL, at INTEGER, zone INTEGER, team INTEGER NOT NULL, kind INTEGER, importance REAL NOT NULL,
      refers INTEGER, superseded_by TEXT, speaker INTEGER, length INTEGER NOT NULL)""",
    "CREATE UNIQUE INDEX memory_key ON memory (key, source)",
    "CREATE INDEX memory_team ON memory (team, at)",
    "CREATE INDEX memory_at ON memory (at)",
    "CREATE INDEX memory_refers ON memory (refers) WHERE refers IS NOT NULL",
    *(
        statement
        for shelf in ("memory", "transcript")
        for statement in (
            # Terms are made by us, so the tokenizer has only to leave them whole. Without a copy of the text.
            f"CREATE VIRTUAL TABLE {shelf}_terms USING fts5 (body, content='', columnsize=0, "
            "tokenize=\"ascii tokenchars '.,:'\")",
            f"CREATE VIRTUAL TABLE {shelf}_places USING fts5vocab ({shelf}_terms, instance)",
            f"CREATE VIRTUAL TABLE {shelf}_counts USING fts5vocab ({shelf}_terms, row)",
            f"INSERT INTO shelf VALUES ('{shelf}', 0, 0)",
        )
    ),
)

_LAYOUT: Final = 1
FORMAT: Final = _LAYOUT * 1000 + terms.VERSION
"""Kept as `PRAGMA user_version`: tables and terms as of now. An index of another format is built anew."""

_KINDS: Final[tuple[ObservationType, ...]] = get_args(ObservationType)
"""In the order of their numbers in the table. When a type is added, `_LAYOUT` changes."""
_COLUMNS: Final = (
    "m.number, f.origin, f.name, m.key, m.text, m.at, m.zone, m.team, t.name, m.kind, m.importance, m.refers, "
    "m.superseded_by, s.name, m.length FROM memory m JOIN source f ON f.number = m.source "
    "JOIN team t ON t.number = m.team LEFT JOIN speaker s ON s.number = m.speaker"
)
_OF_SOURCE: Final = "source = (SELECT number FROM source WHERE name = ?)"
_STANDS_IN: Final = "source IN (SELECT number FROM source WHERE origin IN"


class _Damaged(Exception):
    """The file is no index, or not whole."""


def using(directory: Path, work: Callable[[RecallIndex], _T]) -> _T:
    """What `work` makes of the index in `directory`, which is made where there is none.

    A damaged index is set aside as `recall.sqlite.damaged`, and `work` is called once more with an empty one, so it
    has to bring the index up to date itself. Raises MemoryWriteError, StoreError when another process keeps it busy.
    """
    try:
        return _used(directory, work)
    except _Damaged:
        _set_aside(directory)
    try:
        return _used(directory, work)
    except _Damaged as error:
        raise StoreError(f"{directory / NAME} cannot be used: {error}; check the disk") from error


def _used(directory: Path, work: Callable[[RecallIndex], _T]) -> _T:
    path = directory / NAME
    private_directory(directory)
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    except OSError as error:
        raise MemoryWriteError(f"cannot write {path}: {error.strerror}; check its owner and free space") from error
    with _explained(path):
        db = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
        try:
            db.execute("PRAGMA journal_mode = WAL")
            # A power cut may cost the last changes, which the next sync brings back.
            db.execute("PRAGMA synchronous = NORMAL")
            db.execute(f"PRAGMA cache_size = -{CACHE_KB}")
            _migrate(db)
            return work(RecallIndex(db))
        finally:
            db.close()


def in_memory() -> RecallIndex:
    """An empty index that no file holds."""
    db = sqlite3.connect(":memory:", isolation_level=None)
    _migrate(db)
    return RecallIndex(db)


def _migrate(db: sqlite3.Connection) -> None:
    """Make the tables; those of another format go first."""
    if db.execute("PRAGMA user_version").fetchone()[0] == FORMAT:
        return
    db.execute("BEGIN IMMEDIATE")
    # Another process may have been first.
    if db.execute("PRAGMA user_version").fetchone()[0] != FORMAT:
        names = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY sql LIKE "
        for (name,) in db.execute(names + "'CREATE VIRTUAL%' DESC, name DESC").fetchall():
            if db.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (name,)).fetchone():
                db.execute(f'DROP TABLE "{name}"')
        for statement in _TABLES:
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


class RecallIndex:
    """An open index. Every change is one short transaction, or several."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._db.execute("COMMIT")
        except BaseException:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise

    # --- keeping up to date

    def stamp(self, source: str) -> Stamp | None:
        """What `source` showed when it was last filed."""
        row = self._db.execute("SELECT stamp FROM source WHERE name = ?", (source,)).fetchone()
        return None if row is None or row[0] is None else tuple(json.loads(row[0]))

    def sources(self) -> list[str]:
        return [name for (name,) in self._db.execute("SELECT name FROM source ORDER BY name")]

    def sync(self, source: str, origin: Origin, stamp: Stamp, memories: Iterable[Memory]) -> Synced:
        """Bring what is filed of a source up to date: only memories that are new, changed or gone are touched."""
        wanted: dict[str, tuple[Memory, int]] = {m.key: (m, _digest(m)) for m in memories}
        self._db.execute("INSERT OR IGNORE INTO source (name, origin) VALUES (?, ?)", (source, origin))
        rows = self._db.execute(f"SELECT key, digest, number FROM memory WHERE {_OF_SOURCE}", (source,)).fetchall()
        stale = [number for key, digest, number in rows if key not in wanted or wanted[key][1] != digest]
        filed = {key for key, digest, _ in rows if key in wanted and wanted[key][1] == digest}
        fresh = [(memory, digest) for key, (memory, digest) in wanted.items() if key not in filed]
        for some in _cut(stale, _SAVED_TOGETHER):
            with self._transaction():
                self._remove(some)
        for start in range(0, len(fresh), _SAVED_TOGETHER):
            with self._transaction():
                self._add(source, origin, fresh[start : start + _SAVED_TOGETHER])
        self._db.execute("UPDATE source SET stamp = ? WHERE name = ?", (json.dumps(stamp), source))
        return Synced(len(fresh), len(stale))

    def extend(self, source: str, origin: Origin, stamp: Stamp, memories: Sequence[Memory]) -> Synced:
        """Add to what is filed of a source that only ever grows; `stamp` says how far."""
        with self._transaction():
            self._db.execute("INSERT OR IGNORE INTO source (name, origin) VALUES (?, ?)", (source, origin))
            added = self._add(source, origin, [(memory, _digest(memory)) for memory in memories])
            self._db.execute("UPDATE source SET stamp = ? WHERE name = ?", (json.dumps(stamp), source))
        return Synced(added=added)

    def forget_source(self, source: str) -> Synced:
        """Take a source that is no more out of the index."""
        rows = self._db.execute(f"SELECT number FROM memory WHERE {_OF_SOURCE}", (source,))
        numbers = [number for (number,) in rows]
        for some in _cut(numbers, _SAVED_TOGETHER):
            with self._transaction():
                self._remove(some)
        self._db.execute("DELETE FROM source WHERE name = ?", (source,))
        return Synced(removed=len(numbers))

    def _add(self, source: str, origin: Origin, wanted: Sequence[tuple[Memory, int]]) -> int:
        """File what is not there yet, for another process may have been at it too; returns how many."""
        shelf = _SHELVES[origin]
        keys = [memory.key for memory, _ in wanted]
        query = "SELECT key, digest, number FROM memory WHERE source = ? AND key IN"
        place = self._db.execute("SELECT number FROM source WHERE name = ?", (source,)).fetchone()[0]
        there = {key: (digest, number) for key, digest, number in self._in(query, keys, place)}
        fresh = [(m, digest) for m, digest in wanted if m.key not in there or there[m.key][0] != digest]
        self._remove([there[memory.key][1] for memory, _ in fresh if memory.key in there])
        teams = {name: self._named("team", name) for name in {memory.group for memory, _ in fresh}}
        speakers = {name: self._named("speaker", name) for name in {m.speaker for m, _ in fresh if m.speaker}}
        total = 0
        last = self._db.execute("SELECT coalesce(max(number), 0) FROM memory").fetchone()[0]
        for number, (memory, digest) in enumerate(fresh, last + 1):
            found = terms.index_terms(memory.text)
            total += len(found)
            self._db.execute(
                "INSERT INTO memory VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    number, place, memory.key, digest, _storable(memory.text), *_moment(memory.at),
                    teams[memory.group], _KINDS.index(memory.kind) if memory.kind else None, memory.importance,
                    memory.refers.toordinal() if memory.refers else None, memory.superseded_by,
                    speakers.get(memory.speaker or ""), len(found),
                ),
            )  # fmt: skip
            self._db.execute(f"INSERT INTO {shelf}_terms (rowid, body) VALUES (?, ?)", (number, " ".join(found)))
        self._count(shelf, len(fresh), total)
        return len(fresh)

    def _remove(self, numbers: Sequence[int]) -> None:
        query = (
            "SELECT f.origin, m.text, m.length FROM memory m JOIN source f ON f.number = m.source WHERE m.number = ?"
        )
        for number in numbers:
            row = self._db.execute(query, (number,)).fetchone()
            if row is None:
                continue
            origin, text, length = row
            shelf = _SHELVES[cast(Origin, origin)]
            # A table without content has to be told what it filed.
            self._db.execute(
                f"INSERT INTO {shelf}_terms ({shelf}_terms, rowid, body) VALUES ('delete', ?, ?)",
                (number, " ".join(terms.index_terms(text))),
            )
            self._db.execute("DELETE FROM memory WHERE number = ?", (number,))
            self._count(shelf, -1, -length)

    def _count(self, shelf: Shelf, memories: int, total: int) -> None:
        self._db.execute(
            "UPDATE shelf SET memories = memories + ?, terms = terms + ? WHERE name = ?", (memories, total, shelf)
        )

    def _named(self, table: str, name: str) -> int:
        self._db.execute(f"INSERT OR IGNORE INTO {table} (name) VALUES (?)", (_storable(name),))
        found = self._db.execute(f"SELECT number FROM {table} WHERE name = ?", (_storable(name),)).fetchone()
        return cast(int, found[0])

    # --- asking

    def size(self, shelf: Shelf) -> Size:
        return Size(*self._db.execute("SELECT memories, terms FROM shelf WHERE name = ?", (shelf,)).fetchone())

    def speakers(self) -> list[str]:
        """Everyone who is known to have said something."""
        return [name for (name,) in self._db.execute("SELECT name FROM speaker")]

    def count(self, shelf: Shelf, term: str) -> int:
        """In how many memories a term occurs."""
        row = self._db.execute(f"SELECT doc FROM {shelf}_counts WHERE term = ?", (term,)).fetchone()
        return 0 if row is None else cast(int, row[0])

    def counts_from(self, shelf: Shelf, prefix: str, limit: int) -> dict[str, int]:
        """The first `limit` terms that begin with `prefix`, and in how many memories each occurs."""
        rows = self._db.execute(
            f"SELECT term, doc FROM {shelf}_counts WHERE term >= ? AND term < ? LIMIT ?",
            (prefix, f"{prefix}\U0010ffff", limit),
        )
        return dict(rows.fetchall())

    def terms_from(self, shelf: Shelf, prefix: str) -> list[str]:
        """All terms that begin with `prefix`."""
        rows = self._db.execute(
            f"SELECT term FROM {shelf}_counts WHERE term >= ? AND term < ?", (prefix, f"{prefix}\U0010ffff")
        )
        return [term for (term,) in rows]

    def occurrences(self, shelf: Shelf, term: str) -> Counter[int]:
        """The memories with a term, by number, and how often it occurs in each."""
        rows = self._db.execute(f"SELECT doc FROM {shelf}_places WHERE term = ?", (term,))
        return Counter(number for (number,) in rows)

    def rare(self, shelf: Shelf, term: str, most: int) -> set[int]:
        """The memories with a term, by number, when they are at most `most`; else none."""
        rows = self._db.execute(f"SELECT doc FROM {shelf}_places WHERE term = ? LIMIT ?", (term, most + 1))
        found = {number for (number,) in rows}
        return found if len(found) <= most else set()

    def newest_with(self, shelf: Shelf, term: str, limit: int) -> list[int]:
        """The `limit` memories with a term that were filed last, by number."""
        return self.with_phrase(shelf, [term], limit)

    def with_phrase(self, shelf: Shelf, phrase: Sequence[str], limit: int) -> list[int]:
        """The `limit` memories filed last that have these terms one after the other, by number."""
        words = " ".join(term for term in phrase if '"' not in term)
        rows = self._db.execute(
            f"SELECT rowid FROM {shelf}_terms WHERE {shelf}_terms MATCH ? ORDER BY rowid DESC LIMIT ?",
            (f'"{words}"', limit),
        )
        return [number for (number,) in rows]

    def containing(self, origins: Sequence[Origin], text: str, limit: int) -> list[int]:
        """Memories whose text has these very characters, in any case of ASCII letters, newest first."""
        marks = ", ".join("?" * len(origins))
        rows = self._db.execute(
            f"SELECT number FROM memory WHERE {_STANDS_IN} ({marks})) AND text LIKE ? ESCAPE '\\' "
            "ORDER BY number DESC LIMIT ?",
            (*origins, f"%{_escaped(text)}%", limit),
        )
        return [number for (number,) in rows]

    def between(self, origins: Sequence[Origin], first: date, last: date, limit: int) -> list[int]:
        """Memories that were said or are about a day from `first` to `last`, the most important first.

        What was said half a day before or after is among them: local days begin at other times.
        """
        marks = ", ".join("?" * len(origins))
        low, high = first.toordinal(), last.toordinal()
        begin, end = ((day - _EPOCH_DAY) * 86_400 for day in (low, high + 1))
        rows = self._db.execute(
            f"SELECT number FROM memory WHERE {_STANDS_IN} ({marks})) "
            "AND (at BETWEEN ? AND ? OR refers BETWEEN ? AND ?) ORDER BY importance DESC, number DESC LIMIT ?",
            (*origins, begin - _HALF_A_DAY, end + _HALF_A_DAY, low, high, limit),
        )
        return [number for (number,) in rows]

    def read(self, numbers: Iterable[int]) -> dict[int, Filed]:
        """The memories with these numbers."""
        rows = self._in(f"SELECT {_COLUMNS} WHERE m.number IN", list(numbers))
        return {row[0]: _filed(row) for row in rows}

    def with_keys(self, keys: Iterable[str]) -> list[Filed]:
        """The memories with these keys; a key may stand in several sources."""
        return [_filed(row) for row in self._in(f"SELECT {_COLUMNS} WHERE m.key IN", list(keys))]

    def all(self, origin: Origin) -> list[Filed]:
        """Everything of one origin, in time order."""
        rows = self._db.execute(f"SELECT {_COLUMNS} WHERE f.origin = ? ORDER BY m.at, m.number", (origin,))
        return [_filed(row) for row in rows]

    def beside(self, filed: Filed, reach: int) -> tuple[list[int], list[int]]:
        """The memories of the same group up to `reach` places before, nearest first, and up to `reach` after."""
        if not filed.memory.group or filed.memory.at is None:
            return [], []
        values = (filed.team, _moment(filed.memory.at)[0], filed.number, reach)
        before = "SELECT number FROM memory WHERE team = ? AND (at, number) < (?, ?) ORDER BY at DESC, number DESC"
        after = "SELECT number FROM memory WHERE team = ? AND (at, number) > (?, ?) ORDER BY at, number"
        return (
            [number for (number,) in self._db.execute(f"{before} LIMIT ?", values)],
            [number for (number,) in self._db.execute(f"{after} LIMIT ?", values)],
        )

    def _in(self, query: str, values: Sequence[Any], *first: object) -> Iterator[tuple[Any, ...]]:
        for some in _cut(values, _PARAMETERS):
            yield from self._db.execute(f"{query} ({', '.join('?' * len(some))})", (*first, *some))


def _cut(values: Sequence[_T], size: int) -> Iterator[Sequence[_T]]:
    return (values[start : start + size] for start in range(0, len(values), size))


def _digest(memory: Memory) -> int:
    """What changes when anything of a memory does: a signed number of 8 bytes."""
    raw = repr(astuple(memory)).encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(raw, digest_size=8).digest(), "big", signed=True)


_EPOCH_DAY: Final = date(1970, 1, 1).toordinal()
_HALF_A_DAY: Final = 50_400
"""14 hours, in seconds: no time zone is further from UTC."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=timezone.utc)


def _moment(at: datetime | None) -> tuple[int | None, int | None]:
    """Seconds since 1970, and minutes east of UTC."""
    if at is None:
        return None, None
    offset = at.utcoffset() or timedelta()
    return int((at - _EPOCH).total_seconds()), int(offset.total_seconds() // 60)


def _datetime(seconds: int | None, minutes: int | None) -> datetime | None:
    if seconds is None:
        return None
    zone = timezone(timedelta(minutes=minutes)) if minutes else timezone.utc
    return (_EPOCH + timedelta(seconds=seconds)).astimezone(zone)


def _storable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def _filed(row: Sequence[Any]) -> Filed:
    number, origin, source, key, text, at, zone, team, group, kind, importance, refers, by, speaker, length = row
    memory = Memory(
        key=key,
        text=text,
        at=_datetime(at, zone),
        group=group,
        kind=None if kind is None else _KINDS[kind],
        importance=importance,
        refers=date.fromordinal(refers) if refers else None,
        superseded_by=by,
        speaker=speaker,
    )
    return Filed(number, origin, source, memory, length, team)
