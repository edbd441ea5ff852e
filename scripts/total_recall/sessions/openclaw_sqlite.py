"""OpenClaw's SQLite transcripts: `agents/<id>/agent/openclaw-agent.sqlite` (from 2026.7.2-beta.1, schema 4 to 23).

The host's database is only ever read: no transaction of ours outlives one short query, and the usual run asks for
rows behind the last rowid, whatever the size of the table.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import sys
from collections.abc import Container, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

from total_recall.confined import guard
from total_recall.records import SessionRef
from total_recall.sessions.entries import DAY_MS, RawMessage, raw_message
from total_recall.sessions.lines import entries_in
from total_recall.sessions.source import Bookmarks, Portion, Problems, Watch, printable, watch
from total_recall.state import DatabaseMark, RowCursor, State

SOURCE = "openclaw-sqlite"

ROWS_A_QUERY = 400
BYTES_A_QUERY = 8 << 20
"""What one query fetches at most, and a row more: a few milliseconds of read transaction, and bounded memory."""
BUSY_SECONDS = 2.0
ZSTD_LIMIT = 4 << 20
"""The host compresses events of up to 4 MiB (CHECK in its schema)."""

NEWEST_ROW = "SELECT rowid, session_id, seq, created_at FROM transcript_events ORDER BY rowid DESC LIMIT 1"
NEWEST_REWRITE = "SELECT count(*), max(updated_at) FROM transcript_rewrite_watermarks"

_SESSION_TABLES = ("session_windows", "sessions")
"""Where session id and key stand together; schema 14 renamed the table."""


_Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class _Schema:
    """What a database has. `watermarks` are the columns of transcript_rewrite_watermarks, none when it is not there."""

    zstd: bool
    watermarks: frozenset[str]
    sessions: str | None
    session_columns: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Event:
    """A row of transcript_events: `plain` or `packed` holds the entry; `created_at` is in ms."""

    seq: int
    created_at: object
    plain: object
    packed: object


class OpenClawSqlite:
    """The transcripts in one agent's database."""

    name = SOURCE

    def __init__(self, path: Path, agent: str, *, latest_ms: int) -> None:
        self.path = path
        self.agent = agent
        self._store = printable(path)
        self._latest_ms = latest_ms
        self._watches: list[Watch] = []
        self._transcripts = 0

    @property
    def location(self) -> Path:
        return self.path

    def transcripts(self) -> int:
        return self._transcripts

    def watches(self) -> list[Watch]:
        return self._watches

    def unread(self) -> list[str]:
        return []

    def portions(self, state: State, *, fresh: bool, problems: Problems) -> Iterator[Portion]:
        return self._portions(state, problems, fresh=fresh, whole=False)

    def entries(self, marks: Bookmarks, *, problems: Problems) -> Iterator[Portion]:
        return self._portions(marks, problems, fresh=False, whole=True)

    def _portions(self, marks: Bookmarks, problems: Problems, *, fresh: bool, whole: bool) -> Iterator[Portion]:
        self._watches, self._transcripts = [watch(self.path)], 0
        try:
            info = self.path.stat()
        except FileNotFoundError:
            return
        except OSError as error:
            self._unseen("unreadable", f"{self._store}: {error.strerror}", problems)
            return
        if not stat.S_ISREG(info.st_mode):
            self._unseen("not-a-file", self._store, problems)
            return
        uri = f"file:{quote(os.fsencode(self.path.resolve()))}?mode=ro"
        try:
            with closing(sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None)) as db:
                db.text_factory = lambda raw: raw.decode("utf-8", "replace")
                db.execute("PRAGMA query_only = 1")
                guard(db)
                yield from self._new(db, marks, problems, fresh=fresh, whole=whole)
        except sqlite3.DatabaseError as error:
            kind = "schema" if "no such" in str(error) else "database"
            self._unseen(kind, f"{self._store}: {error}", problems)

    def _unseen(self, kind: str, place: str, problems: Problems) -> None:
        """Count a problem with the whole database. It then counts as not seen, so that the next run looks again."""
        problems.add(kind, place)
        self._watches = [Watch(str(self.path), 0, 0, 0)]

    def _new(
        self, db: sqlite3.Connection, marks: Bookmarks, problems: Problems, *, fresh: bool, whole: bool
    ) -> Iterator[Portion]:
        if not _tables(db):
            problems.add("empty-database", self._store)
            return
        schema = _probe(db)
        if schema is None:
            self._unseen("schema", self._store, problems)
            return
        self._watches = self._look(db, schema)
        cursors = {} if fresh else marks.row_cursors(self._store)
        mark = None if fresh else marks.database_mark(self._store)
        generations = _generations(db, schema)
        self._transcripts = len(generations) or sum(1 for _ in _session_ids(db))
        newest = db.execute(NEWEST_ROW).fetchone()
        if newest is not None:
            reached = DatabaseMark(self._store, newest[0], newest[1], newest[2])
            reading = _Reading(db, schema, self.agent, self._latest_ms, cursors, generations, reached, problems, whole)
            yield from reading.portions(mark)

    def _look(self, db: sqlite3.Connection, schema: _Schema) -> list[Watch]:
        """The database as the gate sees it: its newest row and newest rewrite."""
        files = [watch(self.path), watch(Path(f"{self.path}-wal"))]
        if not schema.watermarks:
            query = NEWEST_ROW
        elif "updated_at" in schema.watermarks:
            query = f"SELECT * FROM ({NEWEST_ROW}), ({NEWEST_REWRITE})"
        else:
            # Nothing cheap tells of a rewrite: any change of the file is looked into.
            return files
        return [*files, replace(files[0], query=query, answer=repr(db.execute(query).fetchone()))]


@dataclass(frozen=True, slots=True)
class _Reading:
    """One reading of a database, up to the row that was the newest when it began.

    Rows that come meanwhile have a higher rowid; they are found behind it next time.
    """

    db: sqlite3.Connection
    schema: _Schema
    agent: str
    latest_ms: int
    cursors: Mapping[str, RowCursor]
    generations: Mapping[str, str]
    reached: DatabaseMark
    problems: Problems
    whole: bool
    """Whether entries are wanted as they are, not the messages in them."""

    def portions(self, mark: DatabaseMark | None) -> Iterator[Portion]:
        """The rows of all sessions behind the mark; where that holds no more, the rows behind each session's cursor."""
        before = {session_id: _generation_of(cursor) for session_id, cursor in self.cursors.items()}
        rewritten = {s for s, generation in before.items() if self.generations.get(s, generation) != generation}
        damaged = False
        # A rewrite gives rowids of the newest rows back, to whichever session comes next; the mark's own row may then
        # stand where it stood, with other sessions' rows before it that were never read.
        if mark is not None and (mark.session_id in rewritten or not self._is_still(mark)):
            mark = None
        if mark is not None:
            try:
                yield from self._behind(mark, rewritten)
            except sqlite3.DatabaseError as error:
                mark, damaged = None, self._is_damage(error)
        # Rewritten ones last, so that whoever is stopped before the mark moves finds the rewrite again.
        others = [] if mark else [s for s in _session_ids(self.db) if s not in rewritten]
        for session_id in [*others, *sorted(rewritten)]:
            cursor = None if session_id in rewritten else self.cursors.get(session_id)
            try:
                yield from self._session(session_id, cursor.seq if cursor and self._last_row_is_still(cursor) else -1)
            except sqlite3.DatabaseError as error:
                damaged = self._is_damage(error)
        if not damaged and self.reached != mark:
            place = self.reached
            yield Portion(self._ref(place.session_id), (), 0, appended=True, mark=place)

    def _behind(self, mark: DatabaseMark, rewritten: Container[str]) -> Iterator[Portion]:
        """Rows of all sessions with a rowid above the mark."""
        select = f"SELECT {_event_columns(self.schema)}, rowid, session_id FROM transcript_events"
        query = f"{select} WHERE rowid > ? AND rowid <= ? ORDER BY rowid LIMIT {ROWS_A_QUERY}"
        rowid = mark.rowid
        while rowid < self.reached.rowid and (rows := _fetch(self.db, query, (rowid, self.reached.rowid))):
            rowid = rows[-1][4]
            by_session: dict[str, list[_Event]] = {}
            for row in rows:
                if row[5] not in rewritten:
                    by_session.setdefault(row[5], []).append(_Event(*row[:4]))
            for session_id, events in by_session.items():
                seq = self.cursors[session_id].seq if session_id in self.cursors else -1
                for part in ([e for e in events if e.seq <= seq], [e for e in events if e.seq > seq]):
                    if part:
                        yield self._portion(session_id, part, appended=-1 < seq < part[0].seq)

    def _session(self, session_id: str, seq: int) -> Iterator[Portion]:
        """Rows of one session with a `seq` above the given one."""
        select = f"SELECT {_event_columns(self.schema)} FROM transcript_events"
        query = f"{select} WHERE session_id = ? AND seq > ? AND rowid <= ? ORDER BY seq LIMIT {ROWS_A_QUERY}"
        last, appended = self.reached.rowid, seq >= 0
        events = [_Event(*row) for row in _fetch(self.db, query, (session_id, seq, last))]
        while events:
            more = [_Event(*row) for row in _fetch(self.db, query, (session_id, events[-1].seq, last))]
            portion = self._portion(session_id, events, appended=appended)
            # A session that is read anew keeps its cursor until the end: whoever is stopped half-way begins again, and
            # does not take the rest for appended. Of whole entries nobody asks that.
            yield portion if appended or not more or self.whole else replace(portion, rows=())
            events = more

    def _portion(self, session_id: str, events: list[_Event], *, appended: bool) -> Portion:
        store, messages, entries = self.reached.store, list[RawMessage](), list[dict[str, Any]]()
        for event in events:
            place = f"{store}: session {session_id} seq {event.seq}"
            line = _event_bytes(event)
            if line is None:
                self.problems.add("zstd", place)
                continue
            found = entries_in(line, partial(self.problems.add, place=place))
            if self.whole:
                entries += found
                continue
            for entry in found:
                raw = raw_message(entry, self.latest_ms)
                if raw is not None:
                    messages.append(raw)
        stamp = _stamp(self.generations.get(session_id, ""), events[-1].created_at)
        return Portion(
            self._ref(session_id),
            tuple(messages),
            next((m.at_ms for m in messages if m.at_ms), None) or self.latest_ms - DAY_MS,
            appended=appended,
            rows=(RowCursor(store, session_id, events[-1].seq, stamp),),
            entries=tuple(entries),
        )

    def _ref(self, session_id: str) -> SessionRef:
        key = channel = origin = None
        if self.schema.sessions:
            wanted = [
                name if name in self.schema.session_columns else "NULL"
                for name in ("session_key", "channel", "hook_external_content_source")
            ]
            query = f"SELECT {', '.join(wanted)} FROM {self.schema.sessions} WHERE session_id = ?"
            key, channel, origin = self.db.execute(query, (session_id,)).fetchone() or (None, None, None)
        return SessionRef(SOURCE, self.reached.store, session_id, self.agent, session_id, key, channel, origin)

    def _last_row_is_still(self, cursor: RowCursor) -> bool:
        """Whether the last row read is there as it was: a host that takes rows back gives their numbers out anew."""
        query = "SELECT created_at FROM transcript_events WHERE session_id = ? AND seq = ?"
        row = self.db.execute(query, (cursor.session_id, cursor.seq)).fetchone()
        return row is not None and _stamp(_generation_of(cursor), row[0]) == cursor.generation

    def _is_still(self, mark: DatabaseMark) -> bool:
        """Whether the rowid still names the same event: VACUUM and deletions hand rowids out anew."""
        query = "SELECT session_id, seq FROM transcript_events WHERE rowid = ?"
        if self.db.execute(query, (mark.rowid,)).fetchone() != (mark.session_id, mark.seq):
            return False
        cursor = self.cursors.get(mark.session_id)
        return cursor is None or cursor.seq != mark.seq or self._last_row_is_still(cursor)

    def _is_damage(self, error: sqlite3.DatabaseError) -> bool:
        """Count a damaged page: the sessions on other pages can be read. Raises any other error again."""
        if "malformed" not in str(error):
            raise error
        self.problems.add("database", f"{self.reached.store}: {error}")
        return True


def _tables(db: sqlite3.Connection) -> set[str]:
    return {row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def _probe(db: sqlite3.Connection) -> _Schema | None:
    """What this database has, read off the database itself; None when it holds no transcripts that we know."""
    columns = _columns(db, "transcript_events")
    if not {"session_id", "seq", "event_json", "created_at"} <= columns:
        return None
    sessions = next((t for t in _SESSION_TABLES if {"session_id", "session_key"} <= _columns(db, t)), None)
    watermarks = _columns(db, "transcript_rewrite_watermarks")
    return _Schema(
        zstd="event_zstd" in columns,
        watermarks=watermarks if {"session_id", "generation"} <= watermarks else frozenset(),
        sessions=sessions,
        session_columns=_columns(db, sessions) if sessions else frozenset(),
    )


def _fetch(db: sqlite3.Connection, query: str, values: tuple[object, ...]) -> list[_Row]:
    """The rows of a query, or the first 8 MB of them and a row; all is fetched when this returns."""
    rows: list[_Row] = []
    fetched = 0
    with closing(db.execute(query, values)) as found:
        for row in found:
            rows.append(row)
            fetched += sum(len(value) for value in row[2:4] if isinstance(value, bytes))
            if fetched > BYTES_A_QUERY:
                break
    return rows


def _columns(db: sqlite3.Connection, table: str) -> frozenset[str]:
    return frozenset(row[1] for row in db.execute(f"PRAGMA table_info({table})"))


def _event_columns(schema: _Schema) -> str:
    """The columns of an `_Event`. As a BLOB, text comes as it is stored, be it UTF-8 or not."""
    return f"seq, created_at, CAST(event_json AS BLOB), {'event_zstd' if schema.zstd else 'NULL'}"


def _generations(db: sqlite3.Connection, schema: _Schema) -> dict[str, str]:
    """The rewrite generation of each session; a change says that its rows were written anew."""
    if not schema.watermarks:
        return {}
    rows = db.execute("SELECT session_id, generation FROM transcript_rewrite_watermarks")
    return {row[0]: str(row[1]) for row in rows}


def _stamp(generation: str, created_at: object) -> str:
    """What a cursor keeps to know a rewrite by: the session's generation, and when the last row read was made."""
    return f"{generation}@{created_at}"


def _generation_of(cursor: RowCursor) -> str:
    return cursor.generation.rpartition("@")[0]


def _session_ids(db: sqlite3.Connection) -> Iterator[str]:
    """Each session that has events, by steps through the primary key instead of a scan."""
    query = "SELECT min(session_id) FROM transcript_events WHERE session_id > ?"
    session_id = ""
    while row := db.execute(query, (session_id,)).fetchone():
        if row[0] is None or row[0] <= session_id:
            return
        session_id = row[0]
        yield session_id


def _event_bytes(event: _Event) -> bytes | None:
    """The stored entry, or None when it is compressed and cannot be unpacked."""
    if isinstance(event.plain, bytes):
        return event.plain
    return _unzstd(event.packed) if isinstance(event.packed, bytes) else None


if sys.version_info >= (3, 14):
    from compression import zstd

    def _unzstd(packed: bytes) -> bytes | None:
        """The event in a zstd frame, or None when the frame is damaged or larger than the host ever writes."""
        unpacker = zstd.ZstdDecompressor()
        try:
            event = unpacker.decompress(packed, max_length=ZSTD_LIMIT)
        except zstd.ZstdError:
            return None
        return event if unpacker.eof else None

else:
    import zstandard

    def _unzstd(packed: bytes) -> bytes | None:
        """The event in a zstd frame, or None when the frame is damaged or larger than the host ever writes."""
        try:
            if zstandard.frame_content_size(packed) > ZSTD_LIMIT:
                return None
            return zstandard.ZstdDecompressor().decompress(packed, max_output_size=ZSTD_LIMIT)
        except zstandard.ZstdError:
            return None
