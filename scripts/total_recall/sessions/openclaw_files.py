"""OpenClaw's JSONL transcripts: `agents/<id>/sessions/*.jsonl` (to 2026.7.1) and the archives that stay behind."""

from __future__ import annotations

import json
import os
import re
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from total_recall.records import SessionRef
from total_recall.sessions.entries import RawMessage, is_entry, parse_line, raw_message
from total_recall.sessions.source import Portion, Problems, Watch, watch
from total_recall.state import FileCursor, State

SOURCE = "openclaw-files"

_TRANSCRIPT = re.compile(
    r"(?P<stem>[^/]+?)\.jsonl(?:\.(?P<fate>reset|deleted)\.(?P<when>\d{4}-\d\d-\d\dT[0-9-]+(?:\.\d+)?Z?))?"
)
_SIDE_FILE = re.compile(r"\.(?:trajectory|checkpoint(?:\.[^.]+)?)$")
_ARCHIVE_ONLY = re.compile(r"\.jsonl\.(?:deleted|reset)\..*\.zst$|\.jsonl\.imported-\d+$")
_TOPIC = re.compile(r"-topic-[^/]+$")

LINE_LIMIT = 8 << 20
"""Bytes of a line that are read whole; a longer one is read in pieces, without its binary part."""
PORTION_BYTES = 8 << 20
TAIL_BYTES = 4096
_QUOTE_OR_BACKSLASH = re.compile(rb'["\\]')

@dataclass(frozen=True, slots=True)
class _Found:
    name: str
    stat: os.stat_result
    archived: bool


class OpenClawFiles:
    """The transcripts in one `sessions` directory of one agent."""

    name = SOURCE

    def __init__(self, directory: Path, agent: str, *, latest_ms: int) -> None:
        self.directory = directory
        self.agent = agent
        self._latest_ms = latest_ms
        self._store = str(directory)
        self._watches: list[Watch] = []
        self._unread: list[str] = []
        self._keys: dict[str, tuple[str, str | None]] | None = None

    @property
    def location(self) -> Path:
        return self.directory

    def transcripts(self) -> int:
        return max(0, len(self._watches) - 1)

    def watches(self) -> list[Watch]:
        return self._watches

    def unread(self) -> list[str]:
        return self._unread

    def portions(self, state: State, *, fresh: bool, problems: Problems) -> Iterator[Portion]:
        found = self._scan(problems)
        cursors = state.file_cursors(self._store)
        by_inode = {(c.dev, c.ino): c for c in cursors.values()}
        present = {item.name for item in found}
        for item in sorted(found, key=lambda f: f.stat.st_mtime_ns):
            cursor = cursors.get(item.name)
            inode = (item.stat.st_dev, item.stat.st_ino)
            if cursor is None or (cursor.dev, cursor.ino) != inode:
                renamed = by_inode.get(inode)
                cursor = renamed if renamed is not None and renamed.name not in present else None
            if (
                cursor is not None
                and not fresh
                and cursor.name == item.name
                and (cursor.size, cursor.mtime_ns) == (item.stat.st_size, item.stat.st_mtime_ns)
            ):
                continue
            try:
                yield from self._read(item, cursor, [c for c in cursors.values() if c.name not in present], state, fresh, problems)
            except FileNotFoundError:
                problems.add("vanished", self.directory / item.name)
            except OSError as error:
                problems.add("unreadable", f"{self.directory / item.name}: {error.strerror}")

    # --- what is there

    def _scan(self, problems: Problems) -> list[_Found]:
        self._watches = [watch(self.directory)]
        self._unread = []
        self._keys = None
        found = []
        try:
            entries = list(os.scandir(self.directory))
        except FileNotFoundError:
            return []
        except OSError as error:
            problems.add("unreadable", f"{self.directory}: {error.strerror}")
            return []
        for entry in entries:
            match = _TRANSCRIPT.fullmatch(entry.name)
            if match is None:
                if _ARCHIVE_ONLY.search(entry.name):
                    self._unread.append(f"{entry.path}: compressed or imported archive, kept by the host as its own copy")
                continue
            if _SIDE_FILE.search(match["stem"]):
                continue
            item = self._look(entry, archived=match["fate"] is not None, problems=problems)
            if item is not None:
                found.append(item)
                info = item.stat
                self._watches.append(Watch(entry.path, info.st_ino, info.st_size, info.st_mtime_ns))
        return found

    def _look(self, entry: os.DirEntry[str], *, archived: bool, problems: Problems) -> _Found | None:
        try:
            if entry.is_symlink() and not self._stays_inside(entry.path):
                problems.add("symlink-out", entry.path)
                return None
            info = entry.stat()
        except FileNotFoundError:
            problems.add("vanished", entry.path)
            return None
        except OSError as error:
            problems.add("unreadable", f"{entry.path}: {error.strerror}")
            return None
        if not stat.S_ISREG(info.st_mode):
            problems.add("not-a-file", entry.path)
            return None
        return _Found(entry.name, info, archived)

    def _stays_inside(self, path: str) -> bool:
        root = os.path.realpath(self.directory)
        return os.path.commonpath([root, os.path.realpath(path)]) == root

    def _key_of(self, session_ids: tuple[str, ...], problems: Problems) -> tuple[str | None, str | None]:
        """(session key, channel) that `sessions.json` gives for one of these ids; read once a run, when first needed."""
        if self._keys is None:
            self._keys = _read_index(self.directory / "sessions.json", problems)
        for session_id in session_ids:
            if session_id in self._keys:
                return self._keys[session_id]
        return None, None

    # --- reading one file

    def _read(
        self,
        item: _Found,
        cursor: FileCursor | None,
        orphans: list[FileCursor],
        state: State,
        fresh: bool,
        problems: Problems,
    ) -> Iterator[Portion]:
        path = self.directory / item.name
        with path.open("rb", buffering=1 << 20) as handle:
            info = os.fstat(handle.fileno())
            if not stat.S_ISREG(info.st_mode):
                problems.add("not-a-file", path)
                return
            if cursor is None:
                cursor = self._moved_copy(handle, orphans)
            known = cursor is not None and cursor.offset > 0 and not fresh and _still_there(handle, cursor)
            start = cursor.offset if cursor is not None and known else 0
            session_id = cursor.session_id if cursor is not None and known else ""
            if not session_id:
                session_id = self._session_id(handle, item.name, problems)
            before = state.known_session(session_id)
            key: str | None
            channel: str | None
            if before is not None and before.key is not None:
                key, channel = before.key, before.channel
            else:
                key, channel = self._key_of((session_id, _plain_stem(item.name)), problems)
            ref = SessionRef(SOURCE, self._store, item.name, self.agent, session_id, key, channel)
            handle.seek(start)
            forget = ((self._store, cursor.name),) if cursor is not None and cursor.name != item.name else ()
            fallback = round(info.st_mtime_ns / 1_000_000)
            reader = _Reader(handle, start, path, item.archived, self._latest_ms, problems)
            while True:
                messages = reader.portion()
                after = FileCursor(
                    self._store, item.name, info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns,
                    reader.offset, _tail(handle, reader.offset), session_id,
                )  # fmt: skip
                fallback = next((m.at_ms for m in messages if m.at_ms), fallback)
                yield Portion(
                    ref, tuple(messages), fallback, appended=known, complete=reader.ended, files=(after,), forget_files=forget
                )
                if reader.ended:
                    return

    def _session_id(self, handle: BinaryIO, name: str, problems: Problems) -> str:
        """The id in the header; the file's own name for a topic (topics share one header id) or without a header."""
        stem = _plain_stem(name)
        handle.seek(0)
        first = handle.readline(1 << 16).lstrip(b"\xef\xbb\xbf\0")
        header = parse_line(first) if first else None
        if header is None or header.get("type") != "session" or not isinstance(header.get("id"), str):
            if first.endswith(b"\n"):
                problems.add("no-header", self.directory / name)
            return stem
        return stem if _TOPIC.search(stem) else str(header["id"]).encode("utf-8", "replace").decode()

    def _moved_copy(self, handle: BinaryIO, orphans: list[FileCursor]) -> FileCursor | None:
        """The cursor of a transcript that was moved to a new inode: same header id, same bytes before the offset."""
        if not orphans:
            return None
        handle.seek(0)
        header = parse_line(handle.readline(1 << 16))
        session_id = header.get("id") if header else None
        for cursor in orphans:
            if cursor.session_id == session_id and cursor.offset and _still_there(handle, cursor):
                return cursor
        return None


class _Reader:
    """Complete lines of an open transcript from `offset` on, a portion at a time."""

    def __init__(
        self, handle: BinaryIO, offset: int, path: Path, archived: bool, latest_ms: int, problems: Problems
    ) -> None:
        self._handle = handle
        self.offset = offset
        self.ended = False
        self._path = path
        self._archived = archived
        self._latest_ms = latest_ms
        self._problems = problems
        self._crlf = False

    def portion(self) -> list[RawMessage]:
        """The messages of the next 8 MB or so; `offset` stands behind them, `ended` says whether that was all."""
        messages: list[RawMessage] = []
        readline, loads, latest_ms = self._handle.readline, orjson.loads, self._latest_ms
        offset, stop = self.offset, self.offset + PORTION_BYTES
        while offset < stop:
            line = readline(LINE_LIMIT)
            length = len(line)
            if not line.endswith(b"\n"):
                if length == LINE_LIMIT:
                    line, length = self._long_line(line)
                if not line.endswith(b"\n") and not self._unterminated(line, offset):
                    self.ended = True
                    break
            if line[-2:] == b"\r\n":
                self._note_crlf()
            try:
                entry = loads(line)
            except orjson.JSONDecodeError:
                entries = self._salvage(line, offset)
            else:
                if type(entry) is dict and is_entry(entry):
                    raw = raw_message(entry, latest_ms)
                    if raw is not None:
                        messages.append(raw)
                    offset += length
                    continue
                entries = self._checked(entry, offset)
            for entry in entries:
                raw = raw_message(entry, latest_ms)
                if raw is not None:
                    messages.append(raw)
            offset += length
        self.offset = offset
        return messages

    def _unterminated(self, line: bytes, offset: int) -> bool:
        """Whether the last line can be read although no newline follows it yet.

        An object that was cut anywhere is no JSON, so one that parses is whole. In an archive nobody will finish a
        half line; it is counted and passed.
        """
        if not line:
            return False
        if line.strip(b"\0\r\n\t ") and parse_line(line.strip(b"\0\xef\xbb\xbf")) is not None:
            return True
        if not line.strip(b"\0\r\n\t "):
            return True
        self._problems.add("half-line", f"{self._path} at byte {offset}")
        return self._archived

    def _long_line(self, head: bytes) -> tuple[bytes, int]:
        """A line over the limit without its long runs of base64: (what is left of it, its true length in bytes)."""
        self._problems.add("long-line", self._path)
        kept, length = [_without_runs(head)], len(head)
        while True:
            piece = self._handle.readline(1 << 20)
            length += len(piece)
            if _QUOTE_OR_BACKSLASH.search(piece) or piece.endswith(b"\n"):
                kept.append(_without_runs(piece))
            if not piece or piece.endswith(b"\n"):
                return b"".join(kept), length

    def _checked(self, entry: object, offset: int) -> list[dict[str, Any]]:
        if not isinstance(entry, dict):
            self._problems.add("not-object", f"{self._path} at byte {offset}")
            return []
        self._problems.add("unknown-type", f"{self._path}: {str(entry.get('type'))[:40]!r}")
        return []

    def _salvage(self, line: bytes, offset: int) -> list[dict[str, Any]]:
        """What can be read of a line that the strict parser refused."""
        body = line.strip(b"\r\n\t ")
        if not body:
            return []
        place = f"{self._path} at byte {offset}"
        if body.startswith(b"\xef\xbb\xbf"):
            self._problems.add("bom", self._path)
            body = body[3:]
        if b"\0" in body:
            body = body.replace(b"\0", b"").strip(b"\r\n\t ")
            if not body:
                return []
            self._problems.add("nul-bytes", place)
        entry = _strict(body)
        if entry is None:
            entry = parse_line(body)
            if entry is not None:
                self._problems.add("bad-text", place)
        if entry is not None:
            return [entry] if is_entry(entry) else self._checked(entry, offset)
        whole = _glued(body)
        self._problems.add("glued-lines" if whole else "broken-line", place)
        return whole

    def _note_crlf(self) -> None:
        if not self._crlf:
            self._crlf = True
            self._problems.add("crlf", self._path)


def _strict(body: bytes) -> dict[str, Any] | None:
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None


def _glued(body: bytes, tries: int = 200) -> list[dict[str, Any]]:
    """Whole entries inside a line where a crash or a lost newline ran records together."""
    text = body.decode("utf-8", "replace")
    decoder, found, at = json.JSONDecoder(strict=False), [], 0
    for _ in range(tries):
        at = text.find("{", at)
        if at < 0:
            break
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            at = text.find('{"type":', at + 1)
            if at < 0:
                break
            continue
        if isinstance(value, dict) and is_entry(value) and ("id" in value or "timestamp" in value):
            found.append(value)
        at = end
    return found


def _without_runs(piece: bytes) -> bytes:
    """`piece` without runs of 64 kB and more that hold neither a quote nor a backslash: base64, not words."""
    return re.sub(rb'[^"\\\n]{65536,}', b"", piece)


def _plain_stem(name: str) -> str:
    match = _TRANSCRIPT.fullmatch(name)
    return match["stem"] if match else name


def _tail(handle: BinaryIO, offset: int) -> bytes:
    """A hash of the bytes just before `offset`."""
    start = max(0, offset - TAIL_BYTES)
    return blake2b(os.pread(handle.fileno(), offset - start, start), digest_size=8).digest()


def _still_there(handle: BinaryIO, cursor: FileCursor) -> bool:
    """Whether the file still holds what was read before the cursor's offset."""
    return os.fstat(handle.fileno()).st_size >= cursor.offset and _tail(handle, cursor.offset) == cursor.tail


def _read_index(path: Path, problems: Problems, tries: int = 3) -> dict[str, tuple[str, str | None]]:
    """Session id → (session key, channel) from `sessions.json`. The host rewrites it whole: a torn read is repeated."""
    for attempt in range(tries):
        try:
            index = orjson.loads(path.read_bytes())
        except FileNotFoundError:
            return {}
        except (OSError, orjson.JSONDecodeError):
            if attempt < tries - 1:
                time.sleep(0.05)
            continue
        return _index_keys(index)
    problems.add("index", path)
    return {}


def _index_keys(index: object) -> dict[str, tuple[str, str | None]]:
    keys: dict[str, tuple[str, str | None]] = {}
    if not isinstance(index, dict):
        return keys
    for key, entry in index.items():
        if not isinstance(entry, dict):
            continue
        channel = entry.get("channel") or entry.get("lastChannel")
        session_file = entry.get("sessionFile")
        for session_id in (entry.get("sessionId"), _plain_stem(session_file.rsplit("/", 1)[-1]) if isinstance(session_file, str) else None):
            if isinstance(session_id, str):
                # A cron session stands under two keys; the first is as good as the other.
                keys.setdefault(session_id, (key, channel if isinstance(channel, str) else None))
    return keys
