"""OpenClaw's SQLite transcripts: `agents/<id>/agent/openclaw-agent.sqlite` (from 2026.7.2-beta.1, agent schema 4 to 23).

The host's database is only ever read: no transaction of ours outlives one short query, and the usual run asks for
rows behind the last rowid, whatever the size of the table.
"""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import quote

from total_recall.records import SessionRef
from total_recall.sessions.entries import RawMessage, is_entry, parse_line, raw_message
from total_recall.sessions.source import Portion, Problems, Watch, watch
from total_recall.state import DatabaseMark, RowCursor, State

SOURCE = "openclaw-sqlite"

ROWS_A_QUERY = 400
"""Rows fetched by one query: a few milliseconds of read transaction."""
BUSY_SECONDS = 2.0
ZSTD_LIMIT = 4 << 20
"""The host compresses events of up to 4 MiB (CHECK in its schema)."""

NEWEST_ROW = "SELECT rowid, session_id, seq, created_at FROM transcript_events ORDER BY rowid DESC LIMIT 1"
NEWEST_REWRITE = "SELECT count(*), max(updated_at) FROM transcript_rewrite_watermarks"

_SESSION_TABLES = ("session_windows", "sessions")
"""Where session id and key stand together; schema 14 renamed the table."""


@dataclass(frozen=True, slots=True)
class _Schema:
    zstd: bool
    watermarks: bool
    sessions: str | None
    session_columns: frozenset[str]


class OpenClawSqlite:
    """The transcripts in one agent's database."""

    name = SOURCE

    def __init__(self, path: Path, agent: str, *, latest_ms: int) -> None:
        self.path = path
        self.agent = agent
        self._store = str(path)
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
        self._watches = []
        if not self.path.exists():
            self._watches = [watch(self.path)]
            return
        try:
            db = sqlite3.connect(
                f"file:{quote(str(self.path.resolve()))}?mode=ro", uri=True, timeout=BUSY_SECONDS, isolation_level=None
            )
            try:
                db.execute("PRAGMA query_only = 1")
                yield from self._new(db, state, fresh, problems)
            finally:
                db.close()
        except sqlite3.DatabaseError as error:
            self._watches = []
            problems.add("database", f"{self.path}: {error}")

    def _new(self, db: sqlite3.Connection, state: State, fresh: bool, problems: Problems) -> Iterator[Portion]:
        schema = _probe(db)
        if schema is None:
            problems.add("schema", self.path)
            return
        self._watches = self._look(db, schema)
        cursors = {} if fresh else state.row_cursors(self._store)
        mark = None if fresh else state.database_mark(self._store)
        generations = _generations(db, schema)
        self._transcripts = len(generations) or sum(1 for _ in _session_ids(db))
        rewritten = {s for s, c in cursors.items() if s in generations and generations[s] != c.generation}
        for session_id in sorted(rewritten):
            yield from self._session(db, schema, session_id, -1, generations, problems)
        newest = db.execute(NEWEST_ROW).fetchone()
        if newest is None:
            return
        if mark is not None and _row_is_still(db, mark):
            if newest[0] > mark.rowid:
                yield from self._behind(db, schema, mark, cursors, rewritten, generations, problems)
        else:
            for session_id in _session_ids(db):
                cursor = cursors.get(session_id)
                if session_id not in rewritten:
                    yield from self._session(db, schema, session_id, cursor.seq if cursor else -1, generations, problems)
        # Rows that came while we read have a higher rowid than `newest`; they are found behind it next time.
        yield self._marked(DatabaseMark(self._store, newest[0], newest[1], newest[2]))

    def _look(self, db: sqlite3.Connection, schema: _Schema) -> list[Watch]:
        """The database as the gate sees it: its newest row and newest rewrite."""
        query = f"SELECT * FROM ({NEWEST_ROW}), ({NEWEST_REWRITE})" if schema.watermarks else NEWEST_ROW
        before = [watch(self.path), watch(Path(f"{self.path}-wal"))]
        return [*before, replace(before[0], query=query, answer=repr(db.execute(query).fetchone()))]

    def _behind(
        self,
        db: sqlite3.Connection,
        schema: _Schema,
        mark: DatabaseMark,
        cursors: dict[str, RowCursor],
        rewritten: set[str],
        generations: dict[str, str],
        problems: Problems,
    ) -> Iterator[Portion]:
        """Rows of all sessions with a rowid above the mark."""
        select = f"SELECT rowid, session_id, seq, {_event_columns(schema)} FROM transcript_events"
        rowid = mark.rowid
        while rows := db.execute(f"{select} WHERE rowid > ? ORDER BY rowid LIMIT {ROWS_A_QUERY}", (rowid,)).fetchall():
            rowid = rows[-1][0]
            by_session: dict[str, list[tuple[int, object, object]]] = {}
            for _, session_id, seq, plain, packed in rows:
                if session_id not in rewritten:
                    by_session.setdefault(session_id, []).append((seq, plain, packed))
            for session_id, events in by_session.items():
                cursor = cursors.get(session_id)
                yield self._portion(db, schema, session_id, events, cursor.seq if cursor else -1, generations, problems)

    def _session(
        self,
        db: sqlite3.Connection,
        schema: _Schema,
        session_id: str,
        seq: int,
        generations: dict[str, str],
        problems: Problems,
    ) -> Iterator[Portion]:
        """Rows of one session with a `seq` above the given one."""
        select = f"SELECT seq, {_event_columns(schema)} FROM transcript_events"
        query = f"{select} WHERE session_id = ? AND seq > ? ORDER BY seq LIMIT {ROWS_A_QUERY}"
        while rows := db.execute(query, (session_id, seq)).fetchall():
            yield self._portion(db, schema, session_id, rows, seq, generations, problems)
            seq = rows[-1][0]

    def _portion(
        self,
        db: sqlite3.Connection,
        schema: _Schema,
        session_id: str,
        events: list[tuple[int, object, object]],
        known_seq: int,
        generations: dict[str, str],
        problems: Problems,
    ) -> Portion:
        messages: list[RawMessage] = []
        for seq, plain, packed in events:
            place = f"{self.path}: session {session_id} seq {seq}"
            line = _event_bytes(plain, packed)
            if line is None:
                problems.add("zstd", place)
                continue
            entry = parse_line(line)
            if entry is None:
                problems.add("broken-line", place)
            elif not is_entry(entry):
                problems.add("unknown-type", f"{place}: {str(entry.get('type'))[:40]!r}")
            else:
                raw = raw_message(entry, self._latest_ms)
                if raw is not None:
                    messages.append(raw)
        last = max(events[-1][0], known_seq)
        fallback = next((m.at_ms for m in messages if m.at_ms), None) or self._latest_ms - 86_400_000
        cursor = RowCursor(self._store, session_id, last, generations.get(session_id, ""))
        return Portion(
            _session_ref(db, schema, self._store, self.agent, session_id),
            tuple(messages),
            fallback,
            appended=known_seq >= 0,
            rows=(cursor,),
        )

    def _marked(self, mark: DatabaseMark) -> Portion:
        """A portion without messages that moves the database's mark."""
        ref = SessionRef(SOURCE, self._store, mark.session_id, self.agent, mark.session_id)
        return Portion(ref, (), 0, appended=True, mark=mark)


def _probe(db: sqlite3.Connection) -> _Schema | None:
    """What this database has, read off the database itself; None when it holds no transcripts that we know."""
    tables = {row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    columns = _columns(db, "transcript_events")
    if not {"session_id", "seq", "event_json", "created_at"} <= columns:
        return None
    sessions = next((t for t in _SESSION_TABLES if {"session_id", "session_key"} <= _columns(db, t)), None)
    return _Schema(
        zstd="event_zstd" in columns,
        watermarks="transcript_rewrite_watermarks" in tables,
        sessions=sessions,
        session_columns=_columns(db, sessions) if sessions else frozenset(),
    )


def _columns(db: sqlite3.Connection, table: str) -> frozenset[str]:
    return frozenset(row[1] for row in db.execute(f"PRAGMA table_info({table})"))


def _event_columns(schema: _Schema) -> str:
    return "event_json, event_zstd" if schema.zstd else "event_json, NULL"


def _generations(db: sqlite3.Connection, schema: _Schema) -> dict[str, str]:
    """The rewrite generation of each session; a change says that its rows were written anew."""
    if not schema.watermarks:
        return {}
    return {row[0]: str(row[1]) for row in db.execute("SELECT session_id, generation FROM transcript_rewrite_watermarks")}


def _row_is_still(db: sqlite3.Connection, mark: DatabaseMark) -> bool:
    """Whether the rowid still names the same event: VACUUM and deletions hand rowids out anew."""
    row = db.execute("SELECT session_id, seq FROM transcript_events WHERE rowid = ?", (mark.rowid,)).fetchone()
    return bool(row == (mark.session_id, mark.seq))


def _session_ids(db: sqlite3.Connection) -> Iterator[str]:
    """Each session that has events, by steps through the primary key instead of a scan."""
    session_id = ""
    while row := db.execute("SELECT min(session_id) FROM transcript_events WHERE session_id > ?", (session_id,)).fetchone():
        if row[0] is None:
            return
        session_id = row[0]
        yield session_id


def _session_ref(db: sqlite3.Connection, schema: _Schema, store: str, agent: str, session_id: str) -> SessionRef:
    key = channel = origin = None
    if schema.sessions:
        wanted = [
            name if name in schema.session_columns else "NULL"
            for name in ("session_key", "channel", "hook_external_content_source")
        ]
        row = db.execute(
            f"SELECT {', '.join(wanted)} FROM {schema.sessions} WHERE session_id = ?", (session_id,)
        ).fetchone()
        if row:
            key, channel, origin = row
    return SessionRef(SOURCE, store, session_id, agent, session_id, key, channel, origin)


def _event_bytes(plain: object, packed: object) -> bytes | None:
    if isinstance(plain, str):
        return plain.encode("utf-8", "surrogatepass")
    if isinstance(plain, bytes):
        return plain
    if isinstance(packed, bytes):
        return _unzstd(packed)
    return None


if sys.version_info >= (3, 14):
    from compression import zstd

    def _unzstd(packed: bytes) -> bytes | None:
        try:
            return zstd.decompress(packed)
        except zstd.ZstdError:
            return None

else:
    import zstandard

    def _unzstd(packed: bytes) -> bytes | None:
        """The event in a zstd frame, or None when the frame is damaged or larger than the host ever writes."""
        try:
            return zstandard.ZstdDecompressor().decompress(packed, max_output_size=ZSTD_LIMIT)
        except zstandard.ZstdError:
            return None
