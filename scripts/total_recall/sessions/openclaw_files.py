"""OpenClaw's JSONL transcripts: `agents/<id>/sessions/*.jsonl` (to 2026.7.1) and the archives that stay behind."""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from total_recall.records import SessionRef
from total_recall.sessions.entries import RawMessage, believable_ms, is_entry, raw_message, whole_characters
from total_recall.sessions.lines import BOM, FILLER, Shortener, entries_in, parse_line
from total_recall.sessions.source import Bookmarks, Portion, Problems, Watch, printable, watch
from total_recall.state import FileCursor, State

SOURCE = "openclaw-files"

_TRANSCRIPT = re.compile(
    r"(?P<stem>[^/]+?)\.jsonl(?:\.(?:reset|deleted)\.\d{4}-\d\d-\d\dT[0-9-]+(?:\.\d+)?Z?(?:\.[0-9a-f]{8,64})?)?"
)
_SIDE_FILE = re.compile(r"\.(?:trajectory|checkpoint(?:\.[^.]+)?)$")
_TOPIC = re.compile(r"-topic-[^/]+$")

_LEFT_ALONE: tuple[tuple[str, re.Pattern[str], str], ...] = (
    (".", re.compile(r"\.jsonl\.(?:deleted|reset)\."), "archive in a form that is not read"),
    (".", re.compile(r"\.jsonl\.imported-\d+$"), "the host's own copy of what it imported into its database"),
    ("cold", re.compile(r"\.jsonl\.zst$"), "cold archive, compressed by the host"),
    (
        "../session-sqlite-import-archive",
        re.compile(r"(?<!\.trajectory)\.jsonl\.imported-\d+$"),
        "the host's own copy of what it imported into its database",
    ),
)
"""Transcripts that are recognised but not read: folder, name, reason. Their words are in the database or deleted."""

LINE_LIMIT = 8 << 20
"""Bytes of a line that are read whole; a longer one is read in pieces, without its binary part."""
PORTION_BYTES = 8 << 20
ENTRIES_BYTES = 1 << 20
"""What is read in one go: messages, and whole entries, which take far more memory."""
TAIL_BYTES = 4096
HEADER_BYTES = 1 << 16
_INT64 = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class _Found:
    """A transcript file. `name` is its name as it can be stored and shown; `path` is what opens it."""

    name: str
    path: str
    stat: os.stat_result


class OpenClawFiles:
    """The transcripts in one `sessions` directory of one agent."""

    name = SOURCE

    def __init__(self, directory: Path, agent: str, *, latest_ms: int) -> None:
        self.directory = directory
        self.agent = agent
        self._latest_ms = latest_ms
        self._store = printable(directory)
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
        return self._portions(state, problems, fresh=fresh, whole=False)

    def entries(self, marks: Bookmarks, *, problems: Problems) -> Iterator[Portion]:
        return self._portions(marks, problems, fresh=False, whole=True)

    def _portions(self, marks: Bookmarks, problems: Problems, *, fresh: bool, whole: bool) -> Iterator[Portion]:
        found = self._scan(problems)
        cursors = _Cursors(marks.file_cursors(self._store), found)
        for item in sorted(found, key=lambda f: f.stat.st_mtime_ns):
            if not fresh and cursors.unchanged(item):
                continue
            try:
                yield from self._read(item, cursors, marks, problems, fresh=fresh, whole=whole)
            except FileNotFoundError:
                problems.add("vanished", self._place(item.name))
            except OSError as error:
                problems.add("unreadable", f"{self._place(item.name)}: {error.strerror}")

    # --- what is there

    def _scan(self, problems: Problems) -> list[_Found]:
        self._watches = [watch(self.directory)]
        self._unread = []
        self._keys = None
        found = []
        for entry in _listed(self.directory, problems):
            match = _TRANSCRIPT.fullmatch(entry.name)
            if match is None or _SIDE_FILE.search(match["stem"]):
                continue
            item = self._look(entry, problems)
            if item is not None:
                found.append(item)
                info = item.stat
                self._watches.append(Watch(entry.path, info.st_ino, info.st_size, info.st_mtime_ns))
        for folder, names, reason in _LEFT_ALONE:
            self._unread += [
                f"{printable(entry.path)}: {reason}"
                for entry in _listed(self.directory / folder, problems)
                if names.search(entry.name) and (folder != "." or not _TRANSCRIPT.fullmatch(entry.name))
            ]
        return found

    def _look(self, entry: os.DirEntry[str], problems: Problems) -> _Found | None:
        try:
            if entry.is_symlink() and not self._stays_inside(entry.path):
                problems.add("symlink-out", self._place(printable(entry.name)))
                return None
            info = entry.stat()
        except FileNotFoundError:
            problems.add("vanished", self._place(printable(entry.name)))
            return None
        except OSError as error:
            problems.add("unreadable", f"{self._place(printable(entry.name))}: {error.strerror}")
            return None
        if not stat.S_ISREG(info.st_mode):
            problems.add("not-a-file", self._place(printable(entry.name)))
            return None
        return _Found(printable(entry.name), entry.path, info)

    def _stays_inside(self, path: str) -> bool:
        """Whether a symbolic link leads to something in the store; one that leads nowhere, or in a circle, does not."""
        root, target = os.path.realpath(self.directory), os.path.realpath(path)
        return os.path.commonpath([root, target]) == root and Path(path).exists()

    def _place(self, name: str) -> str:
        return f"{self._store}/{name}"

    def _key_of(self, session_ids: tuple[str, ...], problems: Problems) -> tuple[str | None, str | None]:
        """(session key, channel) that `sessions.json` gives for one of these ids; read when first needed."""
        if self._keys is None:
            self._keys = _read_index(self.directory / "sessions.json", problems)
        for session_id in session_ids:
            if session_id in self._keys:
                return self._keys[session_id]
        return None, None

    # --- reading one file

    def _read(
        self, item: _Found, cursors: _Cursors, marks: Bookmarks, problems: Problems, *, fresh: bool, whole: bool
    ) -> Iterator[Portion]:
        with _open(item.path) as handle:
            info = os.fstat(handle.fileno())
            if not stat.S_ISREG(info.st_mode):
                problems.add("not-a-file", self._place(item.name))
                return
            cursor = cursors.behind(item, handle, lambda: _session_id(handle, item.name)[0])
            known = cursor is not None and not fresh
            if cursor is not None:
                session_id = cursor.session_id
            else:
                session_id, headless = _session_id(handle, item.name)
                if headless:
                    problems.add("no-header", self._place(item.name))
            ref = self._ref(item.name, session_id, marks, problems)
            forget = cursors.replaced_by(item, cursor)
            start = cursor.offset if cursor is not None and known else 0
            handle.seek(start)
            reader = _Reader(handle, start, self._place(item.name), self._latest_ms, problems)
            reader.whole = whole
            said_ms: int | None = None
            while not reader.ended:
                messages, entries = reader.portion()
                times = [m.at_ms for m in messages if m.at_ms is not None]
                fallback = said_ms or (times[0] if times else believable_ms(info.st_mtime * 1000, self._latest_ms))
                said_ms = times[-1] if times else said_ms
                dev, ino, size, mtime_ns = _looks(info)
                after = FileCursor(
                    store=self._store,
                    name=item.name,
                    dev=dev,
                    ino=ino,
                    # Half-read is not unchanged: should this run end here, the next one must go on.
                    size=size if reader.ended else -1,
                    mtime_ns=mtime_ns,
                    offset=reader.offset,
                    tail=_tail(handle, reader.offset),
                    session_id=session_id,
                )
                # A file that is read anew keeps its cursor until the end: whoever is stopped half-way begins again, and
                # does not take the rest for appended. Of whole entries nobody asks that.
                settled = known or reader.ended or whole
                yield Portion(
                    ref,
                    tuple(messages),
                    fallback,
                    appended=known,
                    complete=reader.ended,
                    files=(after,) if settled else (),
                    forget_files=forget if settled else (),
                    entries=tuple(entries),
                )

    def _ref(self, name: str, session_id: str, marks: Bookmarks, problems: Problems) -> SessionRef:
        before = marks.known_session(session_id)
        if before is not None and before.key is not None:
            return SessionRef(SOURCE, self._store, name, self.agent, session_id, before.key, before.channel)
        key, channel = self._key_of((session_id, _plain_stem(name)), problems)
        return SessionRef(SOURCE, self._store, name, self.agent, session_id, key, channel)


class _Cursors:
    """The cursors of one directory, and which belongs to a file that may have been renamed, moved or rewritten."""

    def __init__(self, cursors: Mapping[str, FileCursor], found: Iterable[_Found]) -> None:
        self._cursors = cursors
        self._present = {item.name: _looks(item.stat)[:2] for item in found}
        self._by_inode = {(c.dev, c.ino): c for c in cursors.values()}
        # A cursor whose file is still in its place belongs to that file alone.
        self._free = [c for c in cursors.values() if self._present.get(c.name) != (c.dev, c.ino)]

    def unchanged(self, item: _Found) -> bool:
        """Whether the file looks as it did when it was read to its end."""
        cursor = self._cursors.get(item.name)
        looked = None if cursor is None else (cursor.dev, cursor.ino, cursor.size, cursor.mtime_ns)
        return looked == _looks(item.stat)

    def behind(self, item: _Found, handle: BinaryIO, session_id: Callable[[], str]) -> FileCursor | None:
        """The cursor whose bytes this file still holds, or None: then it is read from its start.

        It is sought under the file's name (a copy put back, another device number), its inode (a rename), and its
        session id (a move to another inode).
        """
        own, renamed = self._cursors.get(item.name), self._by_inode.get(_looks(item.stat)[:2])
        for cursor in (own, renamed if renamed in self._free else None):
            if cursor is not None and _still_there(handle, cursor):
                return cursor
        if not self._free:
            return None
        wanted = session_id()
        return next((c for c in self._free if c.session_id == wanted and _still_there(handle, c)), None)

    def replaced_by(self, item: _Found, cursor: FileCursor | None) -> tuple[tuple[str, str], ...]:
        """The (store, name) of the cursor that goes when this file takes it over."""
        if cursor is None or cursor.name in self._present:
            return ()
        return ((cursor.store, cursor.name),)


class _Reader:
    """Complete lines of an open transcript from `offset` on, a portion at a time: their messages or `whole` entries."""

    def __init__(self, handle: BinaryIO, offset: int, place: str, latest_ms: int, problems: Problems) -> None:
        self._handle = handle
        self.offset = offset
        self.ended = False
        self._place = place
        self._latest_ms = latest_ms
        self._problems = problems
        self.whole = False
        self._crlf = False

    def portion(self) -> tuple[list[RawMessage], list[dict[str, Any]]]:
        """The messages of the next 8 MB or so, or the entries of the next one.

        `offset` stands behind them, `ended` says whether that was all.
        """
        messages: list[RawMessage] = []
        kept: list[dict[str, Any]] = []
        readline, loads, latest_ms, whole = self._handle.readline, orjson.loads, self._latest_ms, self.whole
        offset, stop = self.offset, self.offset + (ENTRIES_BYTES if whole else PORTION_BYTES)
        while offset < stop:
            line = readline(LINE_LIMIT)
            length = len(line)
            if line[-1:] != b"\n":
                if length == LINE_LIMIT:
                    line, length = self._long_line(line, offset)
                if line[-1:] != b"\n" and not self._readable(line, length, offset):
                    self.ended = True
                    break
            if line[-2:] == b"\r\n":
                self._note_crlf()
            entries: Sequence[dict[str, Any]]
            try:
                entry = loads(line)
            except orjson.JSONDecodeError:
                entries = self._entries(line, offset)
            else:
                entries = (entry,) if is_entry(entry) else self._entries(line, offset)
            if whole:
                kept += entries
                entries = ()
            for entry in entries:
                if entry["type"] == "message":
                    raw = raw_message(entry, latest_ms)
                    if raw is not None:
                        messages.append(raw)
            offset += length
        self.offset = offset
        return messages, kept

    def _readable(self, line: bytes, length: int, offset: int) -> bool:
        """Whether the last line can be read although no newline follows it yet.

        An object that was cut anywhere is no JSON, so one that parses is whole. A half line stays where it is, in an
        archive too: the host may have it open still.
        """
        if length == 0:
            return False
        body = line.strip(FILLER)
        if not body or parse_line(body.removeprefix(BOM)) is not None:
            return True
        self._note("half-line", offset)
        return False

    def _long_line(self, head: bytes, offset: int) -> tuple[bytes, int]:
        """A line over the limit without its binary part: (what is left of it, its true length in bytes)."""
        self._note("long-line", offset)
        shortener, piece, length = Shortener(), head, len(head)
        while True:
            shortener.feed(piece)
            if piece.endswith(b"\n"):
                break
            piece = self._handle.readline(1 << 20)
            if not piece:
                break
            length += len(piece)
        if shortener.nul_bytes:
            self._note("nul-bytes", offset)
        kept = shortener.kept()
        if kept is None and piece:
            self._note("broken-line", offset)
        return ((b"\n" if piece else b"{") if kept is None else kept), length

    def _entries(self, line: bytes, offset: int) -> list[dict[str, Any]]:
        return entries_in(line, lambda kind: self._note(kind, offset))

    def _note(self, kind: str, offset: int) -> None:
        self._problems.add(kind, f"{self._place} at byte {offset}")

    def _note_crlf(self) -> None:
        if not self._crlf:
            self._crlf = True
            self._problems.add("crlf", self._place)


def _listed(directory: Path, problems: Problems) -> list[os.DirEntry[str]]:
    """What is in a directory; nothing when it is not there."""
    try:
        with os.scandir(directory) as entries:
            return list(entries)
    except FileNotFoundError:
        return []
    except OSError as error:
        problems.add("unreadable", f"{printable(directory)}: {error.strerror}")
        return []


def _open(path: str | Path) -> BinaryIO:
    """A file for reading. A FIFO, which nobody may ever write to, is opened without waiting. Raises OSError."""
    return open(path, "rb", buffering=1 << 18, opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK))


def _looks(info: os.stat_result) -> tuple[int, int, int, int]:
    """(device, inode, size, mtime in ns) as a database can hold them: some file systems use all 64 bits, or more."""
    return info.st_dev & _INT64, info.st_ino & _INT64, info.st_size, info.st_mtime_ns & _INT64


def _session_id(handle: BinaryIO, name: str) -> tuple[str, bool]:
    """(The id in the header, whether there is none). Without one, and for a topic, the file's name.

    Topics of one conversation have the same id in their headers.
    """
    stem = _plain_stem(name)
    handle.seek(0)
    first = handle.readline(HEADER_BYTES)
    header = parse_line(first.lstrip(BOM + b"\0"))
    named = header.get("id") if header is not None and header.get("type") == "session" else None
    if not isinstance(named, str) or not named:
        return stem, first.endswith(b"\n")
    return (stem if _TOPIC.search(stem) else whole_characters(named)), False


def _plain_stem(name: str) -> str:
    match = _TRANSCRIPT.fullmatch(name)
    return match["stem"] if match else name


def _tail(handle: BinaryIO, offset: int) -> bytes:
    """A hash of the bytes just before `offset`."""
    start = max(0, offset - TAIL_BYTES)
    return blake2b(os.pread(handle.fileno(), offset - start, start), digest_size=8).digest()


def _still_there(handle: BinaryIO, cursor: FileCursor) -> bool:
    """Whether the file still holds what was read before the cursor's offset."""
    size = os.fstat(handle.fileno()).st_size
    return 0 < cursor.offset <= size and _tail(handle, cursor.offset) == cursor.tail


def _read_index(path: Path, problems: Problems, tries: int = 3) -> dict[str, tuple[str, str | None]]:
    """Session id → (session key, channel) from `sessions.json`. The host rewrites it whole: a torn read is repeated."""
    for attempt in range(tries):
        try:
            with _open(path) as handle:
                index = parse_line(handle.read().removeprefix(BOM))
        except FileNotFoundError:
            return {}
        except OSError:
            index = None
        if index is not None:
            return _index_keys(index)
        if attempt < tries - 1:
            time.sleep(0.05)
    problems.add("index", printable(path))
    return {}


def _index_keys(index: Mapping[str, object]) -> dict[str, tuple[str, str | None]]:
    keys: dict[str, tuple[str, str | None]] = {}
    for key, entry in index.items():
        if not isinstance(entry, dict):
            continue
        channel = entry.get("channel") or entry.get("lastChannel")
        session_id, session_file = entry.get("sessionId"), entry.get("sessionFile")
        stem = _plain_stem(session_file.rsplit("/", 1)[-1]) if isinstance(session_file, str) else None
        # The id in a topic's entry is that of all topics.
        for name in (stem,) if stem is not None and _TOPIC.search(stem) else (session_id, stem):
            if isinstance(name, str):
                # A cron session stands under two keys; the first is as good as the other.
                keys.setdefault(name, (key, channel if isinstance(channel, str) else None))
    return keys
