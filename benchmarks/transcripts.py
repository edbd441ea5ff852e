"""Transcripts as OpenClaw writes them, made up: the lines of one session, and folders full of them.

A turn is a question, up to five tool calls with results of 1 to 20 kB and the host's growing `openclaw.cache-ttl`
notes, and an answer: shapes and sizes of OpenClaw 2026.7.1 and 2026.9.6. The same seed gives the same bytes.
"""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta, timezone
from pathlib import Path
from uuid import UUID

import orjson

START = datetime(2026, 1, 5, 8, tzinfo=timezone.utc)
WORDS = [
    "deploy", "staging", "server", "after", "lunch", "check", "the", "invoice", "for", "Anna", "budget",
    "Tuesday", "rollback", "index", "port", "certificate", "renew", "flight", "booking", "Berlin", "hotel", "allergy",
    "dentist", "school", "pickup", "dark", "roast", "coffee", "push", "Friday", "goal", "April", "standup", "parser",
    "offset", "vacuum", "cron", "job", "failed", "retry", "token", "여권", "갱신", "회의", "내일", "café", "naïve",
]  # fmt: skip
TOOLS = ("exec", "read", "web_fetch", "process")
USAGE = {
    "input": 16068, "output": 420, "cacheRead": 14000, "cacheWrite": 0, "totalTokens": 16488,
    "cost": {"input": 0.016, "output": 0.0008, "cacheRead": 0.001, "cacheWrite": 0, "total": 0.0178},
}  # fmt: skip
MODEL = {"api": "openai-completions", "provider": "stub", "model": "stub-model", "usage": USAGE}


class Writer:
    """The lines of made-up sessions, one after the other."""

    def __init__(self, seed: int, start: datetime = START) -> None:
        self._random = random.Random(seed)
        self._at = start
        self._output = self._tool_output(60_000)
        self._prose = " ".join(self._random.choices(WORDS, k=20_000))

    def session_id(self) -> str:
        return str(UUID(int=self._random.getrandbits(128), version=4))

    def header(self, session_id: str) -> list[bytes]:
        header = {"type": "session", "version": 3, "id": session_id, "timestamp": self._now(), "cwd": "/home/user"}
        return [
            self._line(header),
            self._entry("model_change", {"provider": "stub", "modelId": "stub-model"}),
            self._entry("thinking_level_change", {"thinkingLevel": "low"}),
        ]

    def turn(self) -> list[bytes]:
        """What one question adds to a transcript."""
        calls = [line for number in range(self._random.randint(0, 5)) for line in self._tool_call(number)]
        answer = [text_block(self._cut(self._prose, 100, 2500))]
        return [
            self._message({"role": "user", "content": self._cut(self._prose, 40, 600)}),
            *calls,
            self._message({"role": "assistant", "content": answer, **MODEL, "stopReason": "stop"}),
        ]

    def _tool_call(self, number: int) -> list[bytes]:
        tool, call = self._random.choice(TOOLS), f"call_{number}"
        thought = {"type": "thinking", "thinking": self._cut(self._prose, 50, 800), "thinkingSignature": "reasoning"}
        said = [text_block(self._cut(self._prose, 20, 200))] * (self._random.random() < 0.3)
        command = {"command": self._cut(self._prose, 20, 300)}
        asked = [thought, *said, {"type": "toolCall", "id": call, "name": tool, "arguments": command}]
        found = [text_block(self._cut(self._output, 1000, 20_000))]
        result = {"role": "toolResult", "toolCallId": call, "toolName": tool, "content": found, "isError": False}
        hashes = [self._cut(self._prose, 43, 43) for _ in range(number * 5)]
        seen = [{"key": f"tool:call_{number}:{n}", "sourceHash": text} for n, text in enumerate(hashes)]
        return [
            self._message({"role": "assistant", "content": asked, **MODEL, "stopReason": "toolUse"}),
            self._message(result),
            self._entry("custom", {"customType": "openclaw.cache-ttl", "data": {"frozenToolResults": seen}}),
        ]

    def small_talk(self, messages: int) -> Iterator[bytes]:
        """Questions and answers without a tool, as long as people's are."""
        for number in range(messages):
            text = self._cut(self._prose, 20, 400)
            if number % 2 == 0:
                yield self._message({"role": "user", "content": text})
            else:
                said = {"role": "assistant", "content": [text_block(text)], **MODEL, "stopReason": "stop"}
                yield self._message(said)

    def _message(self, message: Mapping[str, object]) -> bytes:
        return self._entry("message", {"message": {**message, "timestamp": round(self._at.timestamp() * 1000)}})

    def _entry(self, kind: str, fields: dict[str, object]) -> bytes:
        self._at += timedelta(seconds=self._random.randint(1, 40))
        entry_id, parent = f"{self._random.getrandbits(32):08x}", f"{self._random.getrandbits(32):08x}"
        return self._line({"type": kind, "id": entry_id, "parentId": parent, "timestamp": self._now(), **fields})

    def _line(self, entry: dict[str, object]) -> bytes:
        return orjson.dumps(entry, option=orjson.OPT_APPEND_NEWLINE)

    def _now(self) -> str:
        return self._at.strftime("%Y-%m-%dT%H:%M:%S.000Z")

    def _cut(self, text: str, shortest: int, longest: int) -> str:
        length = self._random.randint(shortest, longest)
        start = self._random.randrange(len(text) - length)
        return text[start : start + length]

    def _tool_output(self, characters: int) -> str:
        """Listings, logs and JSON, with the quotes, line ends and tabs that a transcript has to escape."""
        shapes = (
            "-rw-r--r-- 1 user user {n:>8} Nov 30 06:04 {a}/{b}.py\n",
            "2026-11-30T06:04:21Z INFO {a} {b} took {n} ms\n",
            '\t"{a}": {{"{b}": {n}, "ok": true}},\n',
        )
        text = ""
        while len(text) < characters:
            a, b = self._random.choices(WORDS[:40], k=2)
            text += self._random.choice(shapes).format(a=a, b=b, n=self._random.randrange(10**6))
        return text


def text_block(text: str) -> dict[str, object]:
    return {"type": "text", "text": text}


def turns(writer: Writer, size: int) -> Iterator[list[bytes]]:
    """Turns of `size` bytes together, or a little more."""
    while size > 0:
        lines = writer.turn()
        size -= sum(map(len, lines))
        yield lines


def write_sessions(folder: Path, *, sessions: int, size: int, seed: int) -> list[Path]:
    """Fill `folder` with transcripts of `size` bytes together, and the index that the host keeps of them."""
    folder.mkdir(parents=True)
    writer = Writer(seed)
    index, paths = {}, []
    for _ in range(sessions):
        session_id = writer.session_id()
        paths.append(folder / f"{session_id}.jsonl")
        index[f"agent:main:explicit:{session_id}"] = {"sessionId": session_id, "updatedAt": 1}
        with paths[-1].open("wb") as stream:
            stream.writelines(writer.header(session_id))
            for lines in turns(writer, size // sessions - stream.tell()):
                stream.writelines(lines)
    (folder / "sessions.json").write_bytes(orjson.dumps(index))
    return paths


SCHEMA = """
CREATE TABLE session_windows (
  session_id TEXT NOT NULL PRIMARY KEY, session_key TEXT NOT NULL, channel TEXT,
  hook_external_content_source TEXT) STRICT;
CREATE TABLE transcript_events (
  session_id TEXT NOT NULL, seq INTEGER NOT NULL, event_json TEXT, created_at INTEGER NOT NULL, event_zstd BLOB,
  event_utf8_bytes INTEGER, navigation_json TEXT,
  PRIMARY KEY (session_id, seq),
  FOREIGN KEY (session_id) REFERENCES session_windows(session_id) ON DELETE CASCADE,
  CHECK ((event_json IS NOT NULL AND event_zstd IS NULL) OR (event_json IS NULL AND event_zstd IS NOT NULL))) STRICT;
CREATE TABLE transcript_rewrite_watermarks (
  session_id TEXT NOT NULL PRIMARY KEY, generation TEXT NOT NULL, updated_at INTEGER NOT NULL,
  FOREIGN KEY (session_id) REFERENCES session_windows(session_id) ON DELETE CASCADE) STRICT;
CREATE TABLE state_leases (owner TEXT NOT NULL) STRICT;
"""
"""What matters here of the agent database of OpenClaw 2026.9.6 (schema 23)."""


class Database:
    """A SQLite store in `folder`/agent, held open in WAL mode as the Gateway holds it. Close it."""

    def __init__(self, folder: Path, *, sessions: int, seed: int) -> None:
        self.path = folder / "agent" / "openclaw-agent.sqlite"
        self.path.parent.mkdir(parents=True)
        self._random = random.Random(seed)
        self._writer = Writer(seed)
        self._db = sqlite3.connect(self.path, isolation_level=None)
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = NORMAL")
        self._db.executescript(SCHEMA)
        self._next = {self._writer.session_id(): 0 for _ in range(sessions)}
        ids = list(self._next)
        keys = [(session_id, f"agent:main:explicit:{session_id}") for session_id in ids]
        self._db.executemany("INSERT INTO session_windows (session_id, session_key) VALUES (?, ?)", keys)
        self._db.executemany("INSERT INTO transcript_rewrite_watermarks VALUES (?, 'first', 1)", [(i,) for i in ids])

    def insert(self, rows: int) -> None:
        """Messages in sessions picked at random, as they come in over the months."""
        statement = "INSERT INTO transcript_events (session_id, seq, event_json, created_at) VALUES (?, ?, ?, ?)"
        self._db.execute("BEGIN")
        self._db.executemany(statement, self._rows(rows))
        self._db.execute("COMMIT")

    def _rows(self, count: int) -> Iterator[tuple[str, int, str, int]]:
        ids = list(self._next)
        for line in self._writer.small_talk(count):
            session_id = self._random.choice(ids)
            seq = self._next[session_id]
            self._next[session_id] = seq + 1
            yield session_id, seq, line.decode(), 1_780_000_000_000

    def delete_newest(self) -> None:
        """The row that was written last goes, as a rewrite by the host may do."""
        newest = "SELECT max(rowid) FROM transcript_events"
        self._db.execute(f"DELETE FROM transcript_events WHERE rowid = ({newest})")

    def write_something_else(self) -> None:
        """A write that concerns no transcript."""
        self._db.execute("INSERT INTO state_leases VALUES ('gateway')")

    def close(self) -> None:
        self._db.close()
