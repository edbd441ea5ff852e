"""What keeps the log in bounds: pruning, forgetting, giving space back, and taking a copy out as JSON lines."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from typing import Final

import orjson

from total_recall import clock
from total_recall.sidecar.database import Events, explained
from total_recall.sidecar.fulltext import match_query
from total_recall.sidecar.ingest import HORIZON

REMOVED_A_TIME: Final = 2_000
"""Events a transaction."""
EXPORTED_A_TIME: Final = 2_000
FULL: Final = 0.9
"""Where the log is over its size, so much of the size is left."""

_EXPORTED: Final = """
SELECT e.id, e.at, e.type, s.agent, nullif(s.id, ''), s.key, s.class, e.entry, e.name, e.ok, e.sensitive, e.summary,
e.exit_code, e.duration_ms, e.error, e.tokens_in, e.tokens_out, e.tokens_cached, e.cost_usd, e.details
FROM event e JOIN session s ON s.num = e.session
WHERE (e.at, e.id) > (?, ?) AND e.at < ? ORDER BY e.at, e.id LIMIT ?"""
_FIELDS: Final = (
    "at_ms", "type", "agent", "session_id", "session_key", "session_class", "entry_id", "name", "ok", "sensitive",
    "summary", "exit_code", "duration_ms", "error", "tokens_in", "tokens_out", "tokens_cached", "cost_usd", "details",
)  # fmt: skip
_LATER: Final = 1 << 62


def prune(events: Events, before_ms: int, max_bytes: int | None = None) -> int:
    """Remove events before a time in ms, and the oldest ones of a log larger than `max_bytes`; how many went.

    What was removed does not come back when a transcript is read anew. The file stays as large until `vacuum`, and is
    filled again meanwhile. Raises Damaged and MemoryWriteError.
    """
    removed = 0
    with explained(events.path):
        horizon = max(before_ms, _horizon_for(events.db, max_bytes))
        while ids := _oldest(events.db, horizon):
            with events.transaction():
                events.remove(ids)
                _raise_horizon(events, horizon)
            removed += len(ids)
    return removed


def vacuum(events: Events) -> int:
    """Give the space of removed events back to the disk, and leave nothing of them in it; bytes that were freed.

    Raises MemoryWriteError, for one when another program reads the log or the disk is full.
    """
    with explained(events.path):
        before = size_of(events.db)
        events.db.execute("INSERT INTO event_text (event_text) VALUES ('optimize')")
        events.db.execute("VACUUM")
        events.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return max(0, before - size_of(events.db))


def size_of(db: sqlite3.Connection) -> int:
    """Bytes of the log that are in use."""
    pages, free, page = (db.execute(f"PRAGMA {name}").fetchone()[0] for name in _SIZES)
    return int((pages - free) * page)


_SIZES: Final = ("page_count", "freelist_count", "page_size")


def export(events: Events, since_ms: int = 0, until_ms: int | None = None) -> Iterator[str]:
    """The events of a time, oldest first, each as a line of JSON. Other programs may write meanwhile."""
    at, event = since_ms, -1
    until = _LATER if until_ms is None else until_ms
    while True:
        with explained(events.path):
            rows = events.db.execute(_EXPORTED, (at, event, until, EXPORTED_A_TIME)).fetchall()
        for row in rows:
            fields = dict(zip(_FIELDS, row[1:], strict=True))
            fields["sensitive"] = bool(fields["sensitive"])
            fields["ok"] = None if fields["ok"] is None else bool(fields["ok"])
            fields["details"] = orjson.loads(fields["details"]) if fields["details"] else {}
            yield orjson.dumps(fields).decode() + "\n"
        if len(rows) < EXPORTED_A_TIME:
            return
        event, at = rows[-1][0], rows[-1][1]


def forget(events: Events, pairs: Iterable[tuple[str, str]]) -> int:
    """Remove everything that came of these (session id, entry id), so that no byte of it is left; how many events.

    They do not come back when a transcript is read anew. Raises Damaged and MemoryWriteError.
    """
    removed = 0
    query = "SELECT e.id FROM event e JOIN session s ON s.num = e.session WHERE s.id = ? AND e.entry = ?"
    with explained(events.path):
        for pair in pairs:
            with events.transaction() as db:
                db.execute("INSERT OR IGNORE INTO forgotten_entry VALUES (?, ?)", pair)
            removed += _forget(events, [row[0] for row in events.db.execute(query, pair)])
    if removed:
        _leave_no_bytes(events)
    return removed


def forget_session(events: Events, session_id: str, until_ms: int | None = None) -> int:
    """The same for all of a session up to a time in ms, or to now: a session may go on for years."""
    until_ms = round(clock.now().timestamp() * 1000) if until_ms is None else until_ms
    query = "SELECT e.id FROM event e JOIN session s ON s.num = e.session WHERE s.id = ? AND e.at <= ?"
    with explained(events.path):
        with events.transaction() as db:
            db.execute("INSERT OR REPLACE INTO forgotten_session VALUES (?, ?)", (session_id, until_ms))
        removed = _forget(events, [row[0] for row in events.db.execute(query, (session_id, until_ms))])
    if removed:
        _leave_no_bytes(events)
    return removed


def forget_saying(events: Events, words: Iterable[str], says: Callable[[str], bool]) -> int:
    """The same for whatever says something: has all of one of these `words`, and `says` agrees to its text.

    What was read from the memory by a tool, for one. How many events went.
    """
    query = (
        "SELECT id, summary, error, details FROM event "
        "WHERE id IN (SELECT rowid FROM event_text WHERE event_text MATCH ?)"
    )
    found: set[int] = set()
    with explained(events.path):
        for asked in filter(None, map(match_query, words)):
            for event, *parts in events.db.execute(query, (asked,)):
                text = " ".join(filter(None, parts)).replace("\\n", " ")
                if event not in found and says(text):
                    found.add(event)
        removed = _forget(events, sorted(found))
    if removed:
        _leave_no_bytes(events)
    return removed


def _forget(events: Events, ids: list[int]) -> int:
    events.db.execute("PRAGMA secure_delete = 1")
    for at in range(0, len(ids), REMOVED_A_TIME):
        some = ids[at : at + REMOVED_A_TIME]
        with events.transaction() as db:
            values = [(event,) for event in some]
            db.executemany("INSERT OR IGNORE INTO forgotten SELECT digest FROM event WHERE id = ?", values)
            events.remove(some)
    return len(ids)


def _leave_no_bytes(events: Events) -> None:
    """Words stay in an index until its segments are merged, and anything in free pages and the write-ahead log."""
    vacuum(events)


def _horizon_for(db: sqlite3.Connection, max_bytes: int | None) -> int:
    """The time in ms before which events have to go for the log to have its size."""
    size = size_of(db)
    if max_bytes is None or size <= max_bytes:
        return 0
    total = db.execute("SELECT count(*) FROM event").fetchone()[0]
    goes = min(total - 1, round(total * (1 - max_bytes * FULL / size)))
    row = db.execute("SELECT at FROM event ORDER BY at, id LIMIT 1 OFFSET ?", (max(0, goes),)).fetchone()
    return 0 if row is None else int(row[0])


def _oldest(db: sqlite3.Connection, before_ms: int) -> list[int]:
    query = "SELECT id FROM event WHERE at < ? ORDER BY at LIMIT ?"
    return [row[0] for row in db.execute(query, (before_ms, REMOVED_A_TIME))]


def _raise_horizon(events: Events, horizon: int) -> None:
    if horizon > int(events.meta(HORIZON) or 0):
        events.set_meta(HORIZON, str(horizon))
