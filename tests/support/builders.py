"""Small real stores for tests: transcripts, databases, and a reader over them that keeps its state between runs."""

from __future__ import annotations

import json
import os
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import zstandard

import total_recall
from total_recall.sessions import discover
from total_recall.sessions.entries import latest_believable
from total_recall.sessions.selection import DEFAULT_INCLUDE
from total_recall.sessions.source import Problems, SessionSource
from total_recall.sessions.taking import Window, take_new
from total_recall.state import State

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=timezone.utc)
SESSION = "0a0c0de0-0000-4000-8000-000000000001"
OTHER = "0a0c0de0-0000-4000-8000-000000000002"
RESET = ".reset.2026-11-30T06-04-09.191Z"
DELETED = ".deleted.2026-11-30T06-07-51.789Z"

SCHEMA_23 = """
CREATE TABLE session_windows (session_id TEXT NOT NULL PRIMARY KEY, session_key TEXT NOT NULL, channel TEXT,
  hook_external_content_source TEXT);
CREATE TABLE transcript_events (session_id TEXT NOT NULL, seq INTEGER NOT NULL, event_json TEXT,
  created_at INTEGER NOT NULL, event_zstd BLOB, PRIMARY KEY (session_id, seq));
CREATE TABLE transcript_rewrite_watermarks (session_id TEXT NOT NULL PRIMARY KEY, generation TEXT NOT NULL,
  updated_at INTEGER NOT NULL) STRICT;
"""
SCHEMA_4 = """
CREATE TABLE sessions (session_id TEXT NOT NULL PRIMARY KEY, session_key TEXT NOT NULL);
CREATE TABLE transcript_events (session_id TEXT NOT NULL, seq INTEGER NOT NULL, event_json TEXT NOT NULL,
  created_at INTEGER NOT NULL, PRIMARY KEY (session_id, seq));
"""
"""The tables of OpenClaw 2026.9.6 and 2026.7.2-beta.1, as far as they are read."""


IMPORT_ROOTS = (str(Path(__file__).parent), str(Path(total_recall.__file__).parents[1]))
"""Where a process of its own finds this module and the package."""


def at(minute: float) -> datetime:
    """A time of the conversations in these tests."""
    return datetime(2026, 11, 30, 6, 0, tzinfo=timezone.utc) + timedelta(minutes=minute)


def ms(when: datetime) -> int:
    return round(when.timestamp() * 1000)


def header(session_id: str = SESSION) -> dict[str, Any]:
    return {"type": "session", "version": 3, "id": session_id, "timestamp": at(0).isoformat(), "cwd": "/tmp"}


def said(entry_id: str, text: object, minute: float = 1, role: str = "user", **message: object) -> dict[str, Any]:
    """A `message` entry; `text` may be blocks. Keywords go into the message."""
    return {
        "type": "message",
        "id": entry_id,
        "timestamp": at(minute).isoformat().replace("+00:00", "Z"),
        "message": {"role": role, "content": text, "timestamp": ms(at(minute)), **message},
    }


def line(entry: object) -> bytes:
    return json.dumps(entry, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass") + b"\n"


def lines(*entries: object) -> bytes:
    return b"".join(line(entry) for entry in entries)


@dataclass
class Home:
    """A state directory with one agent, and a reader that remembers what it has read."""

    root: Path
    own: Path
    problems: Problems = field(default_factory=Problems)

    @property
    def sessions(self) -> Path:
        folder = self.root / "agents" / "main" / "sessions"
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    @property
    def database(self) -> Path:
        path = self.root / "agents" / "main" / "agent" / discover.DATABASE
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def transcript(self, session_id: str = SESSION, ending: str = "") -> Path:
        return self.sessions / f"{session_id}.jsonl{ending}"

    def write(self, *entries: object, session_id: str = SESSION, ending: str = "") -> Path:
        """A transcript with its header. Entries are bytes as they are, or JSON."""
        path = self.transcript(session_id, ending)
        parts = [entry if isinstance(entry, bytes) else line(entry) for entry in entries]
        path.write_bytes(line(header(session_id)) + b"".join(parts))
        return path

    def index(self, keys: Mapping[str, str]) -> None:
        """`sessions.json`: session id by key."""
        index = {key: {"sessionId": session_id} for key, session_id in keys.items()}
        (self.sessions / "sessions.json").write_text(json.dumps(index))

    def sources(self, now: datetime = NOW) -> list[SessionSource]:
        return discover.of_agent(self.root, "main", latest_ms=latest_believable(now))

    def read(self, now: datetime = NOW, **window: Any) -> list[str]:
        """The texts that one run takes, in time order. `problems` then holds what that run counted."""
        self.problems = Problems()
        with State.open(self.own) as state:
            known = {item.row for item in state.queue()}
            wanted = Window(**{"include": DEFAULT_INCLUDE, "main_key": "main", **window})
            take_new(self.sources(now), state, wanted, self.problems)
            return [item.message.text for item in state.queue() if item.row not in known]

    def counted(self) -> dict[str, int]:
        return self.problems.counts


def append(path: Path, *entries: object) -> None:
    with path.open("ab") as stream:
        stream.writelines(entry if isinstance(entry, bytes) else line(entry) for entry in entries)


class Database:
    """A host's database, written as the host does: one transaction an entry."""

    def __init__(self, path: Path, schema: str = SCHEMA_23, journal: str = "WAL") -> None:
        self.path = path
        self.db = sqlite3.connect(path, isolation_level=None)
        self.db.execute(f"PRAGMA journal_mode = {journal}")
        self.db.executescript(schema)
        self.whole = schema == SCHEMA_23
        self.clock = ms(at(0))

    def session(self, session_id: str = SESSION, key: str = "agent:main:main") -> None:
        if self.whole:
            self.db.execute("INSERT INTO session_windows VALUES (?, ?, NULL, NULL)", (session_id, key))
            self.rewritten("first", session_id)
        else:
            self.db.execute("INSERT INTO sessions VALUES (?, ?)", (session_id, key))

    def rewritten(self, generation: str, session_id: str = SESSION) -> None:
        stamp = self.db.execute("SELECT count(*) FROM transcript_events").fetchone()[0]
        self.db.execute(
            "INSERT OR REPLACE INTO transcript_rewrite_watermarks VALUES (?, ?, ?)", (session_id, generation, stamp)
        )

    def add(self, *entries: object, session_id: str = SESSION, packed: bool = False) -> None:
        """Append entries: JSON values, or bytes as they are to be stored."""
        for entry in entries:
            query = "SELECT coalesce(max(seq), -1) FROM transcript_events WHERE session_id = ?"
            seq = self.db.execute(query, (session_id,)).fetchone()[0] + 1
            raw = entry if isinstance(entry, bytes) else line(entry)[:-1]
            self.clock += 1
            self.insert(session_id, seq, raw, self.clock, packed)

    def insert(self, session_id: str, seq: int, raw: bytes, when: int, packed: bool = False) -> None:
        if packed:
            values: tuple[object, ...] = (session_id, seq, when, zstandard.ZstdCompressor().compress(raw))
            self.db.execute(
                "INSERT INTO transcript_events (session_id, seq, created_at, event_zstd) VALUES (?, ?, ?, ?)", values
            )
            return
        self.db.execute(
            "INSERT INTO transcript_events (session_id, seq, created_at, event_json) VALUES (?, ?, ?, CAST(? AS TEXT))",
            (session_id, seq, when, raw),
        )

    def delete(self, *seqs: int, session_id: str = SESSION) -> None:
        for seq in seqs:
            self.db.execute("DELETE FROM transcript_events WHERE session_id = ? AND seq = ?", (session_id, seq))

    def close(self) -> None:
        self.db.close()


@contextmanager
def nobodys() -> Iterator[Path]:
    """A directory of a user without special rights, and that user's view of the file system while it lasts."""
    with tempfile.TemporaryDirectory(prefix="total-recall-test-") as name:
        path = Path(name)
        if os.geteuid() != 0:
            yield path
            return
        path.chmod(0o755)
        os.chown(path, 65534, 65534)
        os.seteuid(65534)
        try:
            yield path
        finally:
            os.seteuid(0)


def snapshot(folder: Path) -> dict[str, bytes]:
    """Every file below `folder`, to see that nothing in it was written."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def texts_of(own: Path, statuses: Sequence[str] = ("queued",)) -> list[tuple[str, str, str, str]]:
    """(session id, entry id, role, text) of the messages in a state, in time order."""
    marks = ",".join("?" * len(statuses))
    with closing(sqlite3.connect(own / "state.sqlite")) as db:
        return db.execute(
            "SELECT s.id, m.entry_id, m.role, m.text FROM message m JOIN session s ON s.num = m.session "
            f"WHERE m.status IN ({marks}) ORDER BY m.at, m.id",
            tuple(statuses),
        ).fetchall()
