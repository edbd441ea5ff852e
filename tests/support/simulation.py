"""A model of an OpenClaw home and of a person at their notes, and observers that are ended at any point.

Every message carries a token, so that one can count where it arrived. A `World` method changes the model at once and
returns what is to happen on the disk, as a list of effects: they are carried out between two runs, or by the observer
itself in the middle of one, at a step of its work.
"""

from __future__ import annotations

import json
import os
import re
import select
import signal
import sqlite3
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from types import FrameType
from typing import Any, Literal

import total_recall
from total_recall import state
from total_recall.commands import observe, places, working
from total_recall.records import Batch, Observation
from total_recall.sessions import openclaw_files, openclaw_sqlite
from total_recall.sessions.source import Problems

BIRTH = datetime(2026, 11, 30, 9, 0, tzinfo=timezone.utc)
HISTORY = BIRTH - timedelta(days=3)
"""When what is older than the first run's window was said."""
TOKEN = re.compile(r"\b[A-Z]\d{5}Z\b")
PACKAGE = str(Path(total_recall.__file__).parent)
SCHEMA = """
CREATE TABLE transcript_events (
  session_id TEXT NOT NULL, seq INTEGER NOT NULL, event_json TEXT, created_at INTEGER NOT NULL, event_zstd BLOB,
  PRIMARY KEY (session_id, seq));
CREATE TABLE transcript_rewrite_watermarks (
  session_id TEXT PRIMARY KEY, generation INTEGER NOT NULL, updated_at INTEGER NOT NULL);
CREATE TABLE session_windows (session_id TEXT PRIMARY KEY, session_key TEXT, channel TEXT);
"""

Effect = Callable[[], None]
Fate = Literal["must", "may", "never", "old"]
"""What the document shall hold of a message: once; at most once (the host lost it); not at all; only after `--all`."""
KEYS = {
    "main": "agent:main:main",
    "direct": "agent:main:telegram:direct:person",
    "explicit": "agent:main:explicit:{id}",
    "cron": "agent:main:cron:job:run:{id}",
    "subagent": "agent:main:subagent:{id}",
}
OPENINGS = {"cron": "[cron:job nightly] ", "subagent": "[Subagent Context] You are a sub-agent.\n\n[Subagent Task]: "}
"""How the first user message of a session begins that is none of the person's."""


@dataclass(frozen=True)
class Entry:
    """One entry of a transcript."""

    fields: dict[str, Any]
    at: datetime
    token: str | None = None
    is_heartbeat: bool = False

    def line(self, style: int = 0) -> bytes:
        """The entry as a line; styles differ in bytes, not in meaning."""
        separators = ((",", ":"), (", ", ": "), (" ,", " :"))[style % 3]
        fields = self.fields if style % 2 == 0 else dict(reversed(self.fields.items()))
        return json.dumps(fields, ensure_ascii=style % 2 == 1, separators=separators).encode() + b"\n"


@dataclass
class Transcript:
    """One session of the host, in a file or (`path` None) in the database."""

    session_id: str
    kind: str
    key: str
    path: Path | None
    entries: list[Entry] = field(default_factory=list)
    half: bytes = b""
    """The rest of a line that is only half written."""
    is_live: bool = True
    generation: int = 1


class World:
    """The home directory: sessions in both generations of stores, the memory, and what is expected of each message."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.state_dir = root / ".openclaw"
        self.sessions_dir = self.state_dir / "agents" / "main" / "sessions"
        self.database = self.state_dir / "agents" / "main" / "agent" / "openclaw-agent.sqlite"
        self.sessions_dir.mkdir(parents=True)
        self.database.parent.mkdir(parents=True)
        self.events = root / "events"
        self.crash = root / "crash"
        env = {"HOME": str(root), "TOTAL_RECALL_TZ": "UTC", "TOTAL_RECALL_BATCH_TOKENS": "500"}
        self.config = places.configure(env)
        self.document = self.config.settings.memory_dir / "observations.md"
        self.now = BIRTH
        self.fates: dict[str, Fate] = {}
        self.unread: set[str] = set()
        """Tokens of messages that no finished run can have seen yet."""
        self.altered: set[str] = set()
        """Tokens of messages whose altered form no finished run can have seen yet."""
        self.staged: set[str] = set()
        self.history: set[str] = set()
        """Tokens of what was said before the first run's window, and is still in a store."""
        self.transcripts: list[Transcript] = []
        self.prose: list[bytes] = []
        """The person's lines that stand in the document."""
        self.struck: list[bytes] = []
        """Those that the person took out again."""
        self.upgraded = False
        self.installed = False
        self._number = 0
        main = self._begin("main")
        main.path = self.sessions_dir / f"{main.session_id}.jsonl"
        for n in range(4):
            self._entry(main, "user" if n % 2 == 0 else "assistant", HISTORY + timedelta(minutes=n), "old")
        self.history.update(self.fates)
        content = self._header(main) + b"".join(e.line() for e in main.entries)
        for effect in [self._write(main.path, content), *self._index()]:
            effect()

    # --- the host

    def talk(
        self, which: int, count: int = 2, seconds_back: int = 0, long: bool = False, same_id: bool = False
    ) -> list[Effect]:
        """Whole messages are appended to a live session, by the person and the assistant in turn."""
        transcript = self._live(which)
        effects = self._finished(transcript)
        for n in range(count):
            self.now += timedelta(seconds=7)
            at = self.now - timedelta(seconds=seconds_back)
            entry = self._said(transcript, "user" if n % 2 == 0 else "assistant", at, long, same_id)
            effects.append(self._appended(transcript, entry))
        return effects

    def half(self, which: int, percent: int) -> list[Effect]:
        """The first part of a line is written; the rest comes with whatever is written next."""
        transcript = self._live(which)
        if transcript.path is None:
            return self.talk(which)
        effects = self._finished(transcript)
        self.now += timedelta(seconds=7)
        line = self._said(transcript, "user", self.now, False, False).line()
        cut = max(1, (len(line) - 2) * percent // 100)
        transcript.half = line[cut:]
        return [*effects, self._append(transcript.path, line[:cut])]

    def heartbeat(self, which: int) -> list[Effect]:
        """The host asks, the assistant has nothing to say."""
        transcript = self._live(which)
        if transcript.kind in OPENINGS:
            return self.talk(which)
        effects = self._finished(transcript)
        for role in ("user", "assistant"):
            self.now += timedelta(seconds=7)
            entry = self._entry(transcript, role, self.now, "never", is_heartbeat=True)
            effects.append(self._appended(transcript, entry))
        return effects

    def tools(self, which: int, count: int) -> list[Effect]:
        """Tools are at work: entries that nobody said."""
        transcript = self._live(which)
        effects = self._finished(transcript)
        for _ in range(count):
            self._number += 1
            message = {"role": "toolResult", "toolCallId": f"call{self._number}", "content": "H99999Z " * 40}
            fields = {"type": "message", "id": f"{self._number:08x}", "timestamp": _iso(self.now), "message": message}
            entry = Entry(fields, self.now)
            transcript.entries.append(entry)
            effects.append(self._appended(transcript, entry))
        return effects

    def cut(self, which: int) -> list[Effect]:
        """Heartbeats at the end of a transcript go again: the file shrinks, rows are taken back."""
        transcript = self._live(which)
        effects = self._finished(transcript)
        kept = list(transcript.entries)
        while kept and kept[-1].is_heartbeat:
            kept.pop()
        if len(kept) == len(transcript.entries):
            return effects
        removed = len(transcript.entries) - len(kept)
        transcript.entries = kept
        if transcript.path is None:
            return [*effects, self._rows_written_anew(transcript, from_seq=len(kept))]
        path = transcript.path

        def truncate() -> None:
            lines = path.read_bytes().split(b"\n")
            os.truncate(path, len(b"\n".join(lines[: -1 - removed])) + 1)

        return [*effects, truncate]

    def archive(self, which: int, fate: str) -> list[Effect]:
        """`/new`, `/reset` and deletion rename the file; another session takes the key. In a database nothing moves."""
        transcript = self._live(which)
        if transcript.path is None:
            return self.heartbeat(which)
        if transcript.half:
            lost = transcript.entries[-1].token
            if lost is not None and self.fates[lost] == "must":
                self.fates[lost] = "may"
        self.now += timedelta(seconds=1)
        stamp = self.now.isoformat(timespec="milliseconds").replace("+00:00", "Z").replace(":", "-")
        path = transcript.path
        archived = path.with_name(f"{path.name}.{fate}.{stamp}")
        transcript.path, transcript.is_live, transcript.half = archived, False, b""

        def rename() -> None:
            path.rename(archived)

        return [rename, *self.start(transcript.kind)]

    def start(self, kind: str) -> list[Effect]:
        """A new session: at first it holds a header alone."""
        transcript = self._begin(kind)
        if self.upgraded:
            return [self._rows_written_anew(transcript, from_seq=0)]
        transcript.path = self.sessions_dir / f"{transcript.session_id}.jsonl"
        return [self._write(transcript.path, self._header(transcript)), *self._index()]

    def fork(self, which: int, count: int) -> list[Effect]:
        """A new session begins with copies of another one's entries: same ids, times and texts.

        Not of those that an import has just altered: in a session that is read first, nothing tells them from others.
        """
        origin = self._live(which)
        if origin.kind in OPENINGS:
            return []
        effects = [*self._finished(origin), *self.start(origin.kind)]
        fork = self.transcripts[-1]
        for entry in [e for e in origin.entries[-count:] if e.token not in self.altered]:
            fork.entries.append(entry)
            effects.append(self._appended(fork, entry))
        return effects

    def rewrite(self, which: int, style: int, same_inode: bool) -> list[Effect]:
        """The whole transcript is written again: the same entries in other bytes."""
        transcript = self._live(which)
        effects = self._finished(transcript)
        if transcript.path is None:
            return [*effects, self._rows_written_anew(transcript, from_seq=0, style=style)]
        content = self._header(transcript) + b"".join(e.line(style) for e in transcript.entries)
        return [*effects, self._write(transcript.path, content, same_inode)]

    def upgrade(self, altered: bool) -> list[Effect]:
        """Live files are imported into the database, some entries changed on the way; the files stay where they are."""
        if self.upgraded:
            return []
        self.upgraded = True
        effects: list[Effect] = [self._create_database]
        for transcript in [t for t in self.transcripts if t.is_live]:
            effects += self._finished(transcript)
            if altered:
                self.altered.update(e.token for e in transcript.entries if e.token and not e.is_heartbeat)
                transcript.entries = [_altered(e) if e.token and not e.is_heartbeat else e for e in transcript.entries]
            transcript.path = None
            effects.append(self._rows_written_anew(transcript, from_seq=0))
        return effects

    def vacuum(self) -> list[Effect]:
        """Row numbers are handed out anew."""
        return [lambda: self._sql("VACUUM")] if self.upgraded else []

    def remove(self, which: int) -> list[Effect]:
        """A session's rows are deleted. What no run has seen by then is gone, unless a fork has it."""
        transcript = self._live(which)
        if transcript.path is not None or len([t for t in self.transcripts if t.is_live]) < 2:
            return []
        transcript.is_live = False
        for entry in transcript.entries:
            if entry.token in self.unread | self.history and self.fates[entry.token] != "never":
                self.fates[entry.token] = "may"
                self.history.discard(entry.token)
        tables = ("transcript_events", "transcript_rewrite_watermarks", "session_windows")
        return [lambda: self._sql(*(f"DELETE FROM {t} WHERE session_id = '{transcript.session_id}'" for t in tables))]

    def tick(self, minutes: int) -> list[Effect]:
        """Time goes on. Not before the first run: what was said until then is to lie in its window."""
        if self.installed:
            self.now += timedelta(minutes=minutes)
        return []

    def _live(self, which: int) -> Transcript:
        live = [t for t in self.transcripts if t.is_live]
        return live[which % len(live)]

    def _begin(self, kind: str) -> Transcript:
        self._number += 1
        session_id = f"5e55{self._number:04x}-0000-4000-8000-000000000000"
        transcript = Transcript(session_id, kind, KEYS[kind].format(id=session_id), None)
        self.transcripts.append(transcript)
        return transcript

    def _header(self, transcript: Transcript) -> bytes:
        header = {"type": "session", "version": 3, "id": transcript.session_id, "timestamp": _iso(BIRTH), "cwd": "/"}
        return json.dumps(header).encode() + b"\n"

    def _said(self, transcript: Transcript, role: str, at: datetime, long: bool, same_id: bool) -> Entry:
        fate: Fate = "never" if transcript.kind in OPENINGS else "must"
        reused = transcript.entries[-1].fields["id"] if same_id and transcript.entries and transcript.path else None
        return self._entry(transcript, role, at, fate, long=long, entry_id=reused)

    def _entry(
        self,
        transcript: Transcript,
        role: str,
        at: datetime,
        fate: Fate,
        *,
        long: bool = False,
        entry_id: str | None = None,
        is_heartbeat: bool = False,
    ) -> Entry:
        self._number += 1
        token = f"{'H' if fate == 'never' else 'T'}{self._number:05}Z"
        self.fates[token] = fate
        self.unread.add(token)
        if is_heartbeat:
            text = f"Read HEARTBEAT.md if it exists (workspace context). {token}" if role == "user" else "HEARTBEAT_OK"
        else:
            opening = "" if transcript.entries else OPENINGS.get(transcript.kind, "")
            text = f"{opening}{token}: the plan\u2028stands." + " and so it goes on" * (400 if long else 20)
        content = text if self._number % 2 else [{"type": "text", "text": text}]
        fields = {
            "type": "message",
            "id": entry_id or f"{self._number % 0xFFFF:08x}",
            "parentId": None,
            "timestamp": _iso(at),
            "message": {"role": role, "content": content, "timestamp": round(at.timestamp() * 1000)},
        }
        entry = Entry(fields, at, token, is_heartbeat)
        transcript.entries.append(entry)
        return entry

    def _finished(self, transcript: Transcript) -> list[Effect]:
        rest, transcript.half = transcript.half, b""
        return [self._append(transcript.path, rest)] if rest and transcript.path else []

    def _appended(self, transcript: Transcript, entry: Entry) -> Effect:
        if transcript.path is not None:
            return self._append(transcript.path, entry.line())
        row = (transcript.session_id, len(transcript.entries) - 1, entry)
        if entry is not transcript.entries[-1]:
            raise AssertionError("rows are appended one at a time")
        return lambda: self._insert([row])

    def _append(self, path: Path, content: bytes) -> Effect:
        def append() -> None:
            with path.open("ab") as stream:
                stream.write(content)

        return append

    def _write(self, path: Path, content: bytes, same_inode: bool = False) -> Effect:
        return lambda: _written(path, content, same_inode)

    def _index(self) -> list[Effect]:
        index = {t.key: {"sessionId": t.session_id} for t in self.transcripts if t.is_live}
        return [self._write(self.sessions_dir / "sessions.json", json.dumps(index).encode())]

    def _rows_written_anew(self, transcript: Transcript, *, from_seq: int, style: int = 0) -> Effect:
        """The rows from `from_seq` on are deleted and written again, under a new generation."""
        transcript.generation += 1
        rows = [(transcript.session_id, seq, e) for seq, e in enumerate(transcript.entries) if seq >= from_seq]
        session_id, key, generation = transcript.session_id, transcript.key, transcript.generation

        def write() -> None:
            self._sql(
                f"DELETE FROM transcript_events WHERE session_id = '{session_id}' AND seq >= {from_seq}",
                f"INSERT OR REPLACE INTO transcript_rewrite_watermarks VALUES ('{session_id}', {generation}, 1)",
                f"INSERT OR REPLACE INTO session_windows VALUES ('{session_id}', '{key}', NULL)",
            )
            self._insert(rows, style)

        return write

    def _insert(self, rows: Iterable[tuple[str, int, Entry]], style: int = 0) -> None:
        with closing(sqlite3.connect(self.database)) as db, db:
            db.executemany(
                "INSERT INTO transcript_events VALUES (?, ?, ?, ?, NULL)",
                [(s, seq, e.line(style).decode(), round(e.at.timestamp() * 1000)) for s, seq, e in rows],
            )

    def _create_database(self) -> None:
        with closing(sqlite3.connect(self.database)) as db:
            db.execute("PRAGMA journal_mode = WAL")
            db.executescript(SCHEMA)

    def _sql(self, *statements: str) -> None:
        with closing(sqlite3.connect(self.database, isolation_level=None)) as db:
            for statement in statements:
                db.execute(statement)

    # --- the person

    def write_line(self, place: int, in_place: bool, newline: str) -> list[Effect]:
        """The person writes a line of their own: `place` is a percentage of the way down the document."""
        self._number += 1
        line = f"P{self._number:05}Z: mine, not yours".encode()
        self.prose.append(line)

        def insert(lines: list[bytes]) -> None:
            at = len(lines) * place // 100
            if at and not lines[at - 1].endswith(b"\n"):
                lines[at - 1] += b"\n"
            lines.insert(at, line + newline.encode())

        return [lambda: self._edit(insert, in_place)]

    def change_line(self, which: int, in_place: bool, keep: bool) -> list[Effect]:
        """The person says one of their lines in other words, or takes it out."""
        if not self.prose:
            return []
        old = self.prose.pop(which % len(self.prose))
        self.struck.append(old)
        new = b"P%05dZ: better so" % (self._number + 1) if keep else None
        if new is not None:
            self._number += 1
            self.prose.append(new)

        def change(lines: list[bytes]) -> None:
            at = next((n for n, line in enumerate(lines) if line.rstrip(b"\r\n") == old), None)
            if new is not None:
                end = b"\n"
                lines[len(lines) if at is None else at : len(lines) if at is None else at + 1] = [new + end]
            elif at is not None:
                del lines[at]

        return [lambda: self._edit(change, in_place)]

    def _edit(self, change: Callable[[list[bytes]], None], in_place: bool) -> None:
        self.document.parent.mkdir(parents=True, exist_ok=True)
        content = self.document.read_bytes() if self.document.exists() else b""
        lines = [line + b"\n" for line in content.split(b"\n")]
        lines[-1] = lines[-1][:-1]
        lines = lines if lines[-1] else lines[:-1]
        change(lines)
        _written(self.document, b"".join(lines), in_place)


@dataclass(frozen=True)
class Kill:
    """Where an observer is ended: at the n-th step, at the n-th line of the package, or after so many seconds."""

    step: int | None = None
    line: int | None = None
    seconds: float | None = None


@dataclass(frozen=True)
class Pace:
    """How much is done at a time: so little that the few messages of a test make many portions and many commits."""

    commit_seconds: float = 0.0
    gather_seconds: float = 0.0
    portion_bytes: int = 1500
    rows_a_query: int = 3


@dataclass(frozen=True)
class Ended:
    """How a run ended, and what it is known to have done."""

    killed: bool
    handed: tuple[str, ...]
    effects_done: frozenset[int]


def run(
    world: World,
    kill: Kill | None = None,
    amid: Mapping[int, Effect] | None = None,
    options: observe.Options | None = None,
    pace: Pace | None = None,
) -> Ended:
    """One observer in a process of its own, forked from this one, which has everything imported.

    `amid` are effects by the step at which they happen; those whose step does not come happen after the run. Raises
    AssertionError when the observer fails, or hands a message to the compressor that was handed and staged before.
    """
    amid = amid or {}
    options = options or observe.Options()
    world.events.write_bytes(b"")
    ended, running = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(ended)
        _observe(world, kill or Kill(), amid, options, pace or Pace())
    os.close(running)
    try:
        timeout = kill.seconds if kill and kill.seconds is not None else 60.0
        if not select.select([ended], [], [], timeout)[0]:
            os.kill(child, signal.SIGKILL)
        status = os.waitpid(child, 0)[1]
    finally:
        os.close(ended)
    killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    assert killed or status == 0, world.crash.read_text()
    assert kill is not None or not killed, "the observer took over a minute"
    result = _account(world, killed, amid, options)
    for at, effect in amid.items():
        if at not in result.effects_done:
            effect()
    return result


def _account(world: World, killed: bool, amid: Mapping[int, Effect], options: observe.Options) -> Ended:
    handed: list[str] = []
    done: set[int] = set()
    for line in world.events.read_text().splitlines():
        kind, _, rest = line.partition(" ")
        if kind == "handed":
            tokens = rest.split()
            assert not set(tokens) & set(handed), f"{tokens} handed twice in one run"
            assert not set(tokens) & world.staged, f"{tokens} handed again after they were staged"
            handed += tokens
        elif kind == "staged":
            world.staged.update(handed)
        else:
            done.add(int(rest))
    if not killed and not options.dry_run:
        world.staged.update(handed)
        if options.session_id is None:
            world.installed = True
            if not amid:
                world.unread.clear()
                world.altered.clear()
    return Ended(killed, tuple(handed), frozenset(done))


def _observe(world: World, kill: Kill, amid: Mapping[int, Effect], options: observe.Options, pace: Pace) -> None:
    """The child's side: never returns."""
    try:
        # What a dead process wrote stays in the system's cache, so the events need no fsync.
        events = os.open(world.events, os.O_WRONLY | os.O_APPEND)
        steps = 0

        def step(name: str) -> None:
            nonlocal steps
            if name == "replace":
                os.write(events, b"staged\n")
            if steps in amid:
                amid[steps]()
                os.write(events, b"done %d\n" % steps)
            if steps == kill.step:
                os.kill(os.getpid(), signal.SIGKILL)
            steps += 1

        def compress(batch: Batch) -> tuple[Observation, ...]:
            tokens = [TOKEN.findall(message.text) for message in batch.messages]
            if any(len(those) != 1 for those in tokens):
                raise BrokenMessage(f"not one token a message: {tokens}")
            if not options.dry_run:
                os.write(events, f"handed {' '.join(token for [token] in tokens)}\n".encode())
            found = zip(tokens, batch.messages, strict=True)
            return tuple(o for [token], message in found for o in observations(token, message.at))

        working.COMMIT_SECONDS = pace.commit_seconds
        state.GATHER_SECONDS = pace.gather_seconds
        openclaw_files.PORTION_BYTES = pace.portion_bytes
        openclaw_sqlite.ROWS_A_QUERY = pace.rows_a_query
        if kill.line is not None:
            sys.settrace(_tracer(kill.line))
        (place,) = places.find(world.config, world.now)
        observe.observe_memory(place, world.config, options, compress, world.now, Problems(), step)
        os._exit(0)
    except BaseException:  # noqa: BLE001  # a fork must not go on as a second test run
        world.crash.write_text(traceback.format_exc())
    finally:
        os._exit(70)


def observations(token: str, at: datetime) -> tuple[Observation, ...]:
    """What the compressor of these tests makes of a message: one observation; every fifth message is chatter.

    The ids collide on purpose.
    """
    number = int(token[1:-1])
    if number % 5 == 0:
        return ()
    return (Observation(f"{'abc'[number % 3]}22222", f"{token} noted", at, "medium", "fact", 5.0, 0.9),)


class BrokenMessage(BaseException):
    """What no observer may turn into something else."""


def _tracer(last: int) -> Callable[[FrameType, str, Any], Any]:
    """Ends this process before the `last`-th line of the package that it comes to."""
    lines = 0

    def local(_frame: FrameType, event: str, _argument: Any) -> Any:
        nonlocal lines
        if event == "line":
            if lines == last:
                os.kill(os.getpid(), signal.SIGKILL)
            lines += 1
        return local

    def everywhere(frame: FrameType, _event: str, _argument: Any) -> Any:
        return local if frame.f_code.co_filename.startswith(PACKAGE) else None

    return everywhere


def _written(path: Path, content: bytes, in_place: bool) -> None:
    """Write a file as one editor does, or as another: with another inode."""
    if in_place:
        path.write_bytes(content)
        return
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".editor-")
    with os.fdopen(handle, "wb") as stream:
        stream.write(content)
    Path(name).replace(path)


def _altered(entry: Entry) -> Entry:
    """The entry as an import writes it down: the media beside the words is named in another way."""
    message = entry.fields["message"]
    content = message["content"]
    text = content if isinstance(content, str) else content[0]["text"]
    return replace(entry, fields={**entry.fields, "message": {**message, "content": f"{text} (1 attachment)"}})


def _iso(at: datetime) -> str:
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
