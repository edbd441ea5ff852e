"""The tables of `events.sqlite`, step by step."""

from __future__ import annotations

from typing import Final

_FIRST = (
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID",
    # A session without an id stands for what belongs to an agent and to no session.
    """CREATE TABLE session (
      num INTEGER PRIMARY KEY, id TEXT NOT NULL, agent TEXT NOT NULL, key TEXT, class TEXT, parent TEXT, channel TEXT,
      muted INTEGER NOT NULL DEFAULT 0, UNIQUE (id, agent)) STRICT""",
    "CREATE INDEX session_key ON session (key)",
    """CREATE TABLE event (
      id INTEGER PRIMARY KEY AUTOINCREMENT, digest INTEGER NOT NULL UNIQUE, at INTEGER NOT NULL, type TEXT NOT NULL,
      session INTEGER NOT NULL REFERENCES session(num), entry TEXT, name TEXT, ok INTEGER, sensitive INTEGER NOT NULL,
      summary TEXT NOT NULL, exit_code INTEGER, duration_ms INTEGER, error TEXT, tokens_in INTEGER, tokens_out INTEGER,
      tokens_cached INTEGER, cost_usd REAL, details TEXT) STRICT""",
    "CREATE INDEX event_time ON event (at)",
    "CREATE INDEX event_type ON event (type, at)",
    "CREATE INDEX event_session ON event (session, at)",
    "CREATE INDEX event_tool ON event (name, at) WHERE type = 'tool_call'",
    "CREATE INDEX event_failed ON event (at) WHERE ok = 0",
    "CREATE VIRTUAL TABLE event_text USING fts5 (text, content = '', columnsize = 0, detail = none)",
    # Calls that had no result yet when they were written.
    """CREATE TABLE waiting (
      session INTEGER NOT NULL REFERENCES session(num), call TEXT NOT NULL, digest INTEGER NOT NULL,
      PRIMARY KEY (session, call)) STRICT, WITHOUT ROWID""",
    # What was forgotten, and must not come back when a transcript is read anew.
    "CREATE TABLE forgotten (digest INTEGER PRIMARY KEY) STRICT",
    """CREATE TABLE forgotten_entry (
      session TEXT NOT NULL, entry TEXT NOT NULL, PRIMARY KEY (session, entry)) STRICT, WITHOUT ROWID""",
    "CREATE TABLE forgotten_session (id TEXT PRIMARY KEY, until INTEGER NOT NULL) STRICT, WITHOUT ROWID",
    """CREATE TABLE file_cursor (
      store TEXT NOT NULL, name TEXT NOT NULL, dev INTEGER NOT NULL, ino INTEGER NOT NULL, size INTEGER NOT NULL,
      mtime_ns INTEGER NOT NULL, offset INTEGER NOT NULL, tail BLOB NOT NULL, session_id TEXT NOT NULL,
      PRIMARY KEY (store, name)) STRICT, WITHOUT ROWID""",
    """CREATE TABLE row_cursor (
      store TEXT NOT NULL, session_id TEXT NOT NULL, seq INTEGER NOT NULL, generation TEXT NOT NULL,
      PRIMARY KEY (store, session_id)) STRICT, WITHOUT ROWID""",
    """CREATE TABLE database_mark (
      store TEXT PRIMARY KEY, row INTEGER NOT NULL, session_id TEXT NOT NULL, seq INTEGER NOT NULL)
      STRICT, WITHOUT ROWID""",
)

MIGRATIONS: Final[tuple[tuple[str, ...], ...]] = (_FIRST,)
"""In order, append-only; `PRAGMA user_version` counts those that were applied, in the transaction that applied them."""
