"""Hosts that keep each session in a JSONL file of its own: what an adapter says of its files, and the reading of them.

An adapter for such a host is one `Format`: docs/adding-a-host.md builds one. Everything that goes wrong with files
(half lines, renames, rewrites, a disk that lost its last bytes) is dealt with here, once.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from total_recall.records import Role, SessionRef
from total_recall.sessions.entries import CONTENT_ID, EARLIEST_MS, RawMessage, believable_ms, whole_characters
from total_recall.sessions.lines import BOM, FILLER, Shortener, entries_in, parse_line
from total_recall.sessions.source import Bookmarks, Portion, Problems, Watch, printable, watch
from total_recall.state import FileCursor, State

Entry = Mapping[str, Any]

LINE_LIMIT = 8 << 20
"""Bytes of a line that are read whole; a longer one is read in pieces, without its binary part."""
PORTION_BYTES = 8 << 20
ENTRIES_BYTES = 1 << 20
"""What is read in one go: messages, and whole entries, which take far more memory."""
TAIL_BYTES = 4096
PROJECT_BYTES = 1 << 20
"""How far into a transcript the project's directory is looked for."""
_PIECE_BYTES = 1 << 20
_INT64 = (1 << 63) - 1


def _nothing(_entry: Entry) -> None:
    return None


def _no_key(_folder: str) -> None:
    return None


def _no_entries(_entries: Iterable[Entry]) -> Iterator[Entry]:
    return iter(())


@dataclass(frozen=True, slots=True)
class Format:
    """How a host writes its transcripts.

    `session_of` gives the session id for a file's name, None for a file that is no transcript; `message` the person's
    or the assistant's message in an entry, None for all else, `latest_ms` being the latest believable time. `depth` is
    how many folders lie between the store and its files. `cwd` is the directory that an entry says the session works
    in, `key` the session key of all transcripts in a folder of that name. `stored` turns the entries of a session, in
    order, into such as OpenClaw stores, for the log: tool calls with their results, compactions, and what was said.
    """

    source: str
    session_of: Callable[[str], str | None]
    message: Callable[[Entry, int], RawMessage | None]
    depth: int = 0
    cwd: Callable[[Entry], str | None] = _nothing
    key: Callable[[str], str | None] = _no_key
    stored: Callable[[Iterable[Entry]], Iterator[Entry]] = _no_entries


@dataclass(frozen=True, slots=True)
class Found:
    """A transcript. `name` is its path in the store as it can be stored and shown, `path` what opens it."""

    name: str
    path: str
    session_id: str
    stat: os.stat_result

    @property
    def as_watch(self) -> Watch:
        return Watch(self.path, self.stat.st_ino, self.stat.st_size, self.stat.st_mtime_ns)


@dataclass(frozen=True, slots=True)
class Scan:
    """What is in a store: its transcripts, and every path whose change says that there may be more."""

    found: tuple[Found, ...]
    watches: tuple[Watch, ...]

    @property
    def newest_ms(self) -> float:
        """When a transcript was last written to, in milliseconds since 1970; 0 when there is none."""
        return max((item.stat.st_mtime for item in self.found), default=0.0) * 1000


def spoken(role: Role, text: str, stamp: object, latest_ms: int, entry_id: object = None) -> RawMessage | None:
    """A message, None where nothing was said. `stamp` is its time in ISO form; without an id it is known by content."""
    text = whole_characters(text)
    if not text.strip():
        return None
    if not isinstance(entry_id, str) or not entry_id:
        named = f"{role}\0{stamp!r}\0{text}".encode("utf-8", "replace")
        entry_id = f"{CONTENT_ID}{blake2b(named, digest_size=8).hexdigest()}"
    return RawMessage(whole_characters(entry_id), role, text, _time_ms(stamp, latest_ms), None, None)


def _time_ms(stamp: object, latest_ms: int) -> int | None:
    """Milliseconds since 1970; None for what is no time, or none that a message can have."""
    try:
        at = datetime.fromisoformat(stamp.replace("Z", "+00:00")) if isinstance(stamp, str) else None
    except ValueError:
        return None
    if at is None or at.tzinfo is None:
        return None
    at_ms = round(at.timestamp() * 1000)
    return at_ms if EARLIEST_MS <= at_ms <= latest_ms else None


def scan(directory: Path, form: Format, problems: Problems) -> Scan:
    """Look at every transcript of a store, and open none."""
    found: list[Found] = []
    watches: list[Watch] = []
    _walk(directory, "", form, form.depth, problems, found, watches)
    return Scan(tuple(found), (*watches, *(item.as_watch for item in found)))


def _walk(
    folder: Path, inside: str, form: Format, depth: int, problems: Problems, found: list[Found], watches: list[Watch]
) -> None:
    watches.append(watch(folder))
    try:
        with os.scandir(folder) as entries:
            listed = sorted(entries, key=lambda entry: entry.name)
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        problems.add("unreadable", f"{printable(folder)}: {error.strerror}")
        return
    for entry in listed:
        if depth:
            if entry.is_dir(follow_symlinks=False):
                _walk(Path(entry.path), printable(f"{inside}{entry.name}/"), form, depth - 1, problems, found, watches)
            continue
        name = entry.name if entry.name.isascii() else printable(entry.name)
        session_id = form.session_of(name)
        if session_id is None:
            continue
        try:
            info = _looked_at(entry)
        except FileNotFoundError:
            problems.add("vanished", printable(entry.path))
        except OSError as error:
            problems.add("unreadable", f"{printable(entry.path)}: {error.strerror}")
        else:
            if isinstance(info, str):
                problems.add(info, printable(entry.path))
            else:
                found.append(Found(f"{inside}{name}", entry.path, session_id, info))


def _looked_at(entry: os.DirEntry[str]) -> os.stat_result | str:
    """How a transcript looks, or the kind of problem that it is instead. Raises OSError."""
    if entry.is_symlink():
        return "symlink-out"
    info = entry.stat()
    return info if stat.S_ISREG(info.st_mode) else "not-a-file"


def project_of(found: Iterable[Found], form: Format, accept: Callable[[str], bool]) -> str | None:
    """The directory that the newest transcripts say they work in: the first that is accepted, else the first of all.

    None when none of them says.
    """
    first: str | None = None
    for item in sorted(found, key=lambda item: item.stat.st_mtime_ns, reverse=True):
        try:
            with open_file(item.path) as handle:
                head = handle.read(PROJECT_BYTES)
        except OSError:
            # Reported when it is read.
            continue
        for line in head.split(b"\n"):
            entry = parse_line(line.removeprefix(BOM)) if b"cwd" in line else None
            cwd = form.cwd(entry) if entry is not None else None
            if cwd is not None and accept(cwd):
                return cwd
            first = first or cwd
    return first


def is_entry(value: object) -> bool:
    """Whether a value is an entry of some kind. A host adds new kinds all the time: they are no problem."""
    return isinstance(value, dict) and isinstance(value.get("type"), str)


class TranscriptFiles:
    """A `SessionSource` over one store of such a host.

    Transcripts that nobody has written to since `since_ms` are left closed, and messages before it are passed over:
    they were there before this memory. A `fresh` reading takes them too. `looked` is a scan that was just made.
    """

    def __init__(
        self, form: Format, directory: Path, *, latest_ms: int, since_ms: int = 0, looked: Scan | None = None
    ) -> None:
        self.name = form.source
        self.agent = form.source
        self.directory = directory
        self._form = form
        self._latest_ms = latest_ms
        self._since_ms = since_ms
        self._store = printable(directory)
        self._given = looked
        self._looked = looked

    @property
    def location(self) -> Path:
        return self.directory

    def transcripts(self) -> int:
        return len(self._looked.found) if self._looked is not None else 0

    def watches(self) -> list[Watch]:
        return list(self._looked.watches) if self._looked is not None else []

    def unread(self) -> list[str]:
        return []

    def behind(self, state: State) -> list[Found]:
        """The transcripts that hold something that was not read yet, as far as their looks tell; the oldest first."""
        found, cursors = self._scan(Problems()).found, state.file_cursors(self._store)
        late = [item for item in found if self._is_wanted(item) and not _is_unchanged(item, cursors.get(item.name))]
        return sorted(late, key=lambda item: item.stat.st_mtime_ns)

    def portions(self, state: State, *, fresh: bool, problems: Problems) -> Iterator[Portion]:
        return self._portions(state, problems, fresh=fresh, whole=False)

    def entries(self, marks: Bookmarks, *, problems: Problems) -> Iterator[Portion]:
        return self._portions(marks, problems, fresh=False, whole=True)

    def _portions(self, marks: Bookmarks, problems: Problems, *, fresh: bool, whole: bool) -> Iterator[Portion]:
        found = self._scan(problems).found
        cursors = marks.file_cursors(self._store)
        free = _free_cursors(cursors, found)
        for item in sorted(found, key=lambda item: item.stat.st_mtime_ns):
            if not fresh and (not self._is_wanted(item) or _is_unchanged(item, cursors.get(item.name))):
                continue
            try:
                yield from self._read(item, cursors, free, problems, fresh=fresh, whole=whole)
            except FileNotFoundError:
                problems.add("vanished", f"{self._store}/{item.name}")
            except OSError as error:
                problems.add("unreadable", f"{self._store}/{item.name}: {error.strerror}")

    def _scan(self, problems: Problems) -> Scan:
        """What is there: at the first reading, what was just seen."""
        given, self._given = self._given, None
        self._looked = given if given is not None else scan(self.directory, self._form, problems)
        return self._looked

    def _is_wanted(self, item: Found) -> bool:
        return item.stat.st_mtime * 1000 >= self._since_ms

    def _read(
        self,
        item: Found,
        cursors: Mapping[str, FileCursor],
        free: list[FileCursor],
        problems: Problems,
        *,
        fresh: bool,
        whole: bool,
    ) -> Iterator[Portion]:
        with open_file(item.path) as handle:
            info = os.fstat(handle.fileno())
            cursor = _cursor_behind(handle, item, cursors, free)
            known = cursor is not None and not fresh
            moved = cursor is not None and cursor.name != item.name
            forget = ((cursor.store, cursor.name),) if cursor is not None and moved else ()
            reader = _Reader(handle, self._form, f"{self._store}/{item.name}", self._latest_ms, problems, whole=whole)
            reader.offset = cursor.offset if cursor is not None and known else 0
            handle.seek(reader.offset)
            said_ms: int | None = None
            ref = self._ref(item)
            while not reader.ended:
                messages, entries = reader.portion()
                times = [m.at_ms for m in messages if m.at_ms is not None]
                fallback = said_ms or (times[0] if times else believable_ms(info.st_mtime * 1000, self._latest_ms))
                said_ms = times[-1] if times else said_ms
                if not fresh:
                    messages = [m for m in messages if (m.at_ms or fallback) >= self._since_ms]
                # A file that is read anew keeps its cursor until the end: whoever is stopped half-way begins again, and
                # does not take the rest for appended.
                settled = known or reader.ended or whole
                yield Portion(
                    ref,
                    tuple(messages),
                    fallback,
                    appended=known,
                    complete=reader.ended,
                    files=(self._cursor(item, info, reader),) if settled else (),
                    forget_files=forget if settled else (),
                    entries=tuple(self._form.stored(entries)),
                )

    def _ref(self, item: Found) -> SessionRef:
        key = self._form.key(printable(self.directory.name))
        return SessionRef(self.name, self._store, item.name, self.agent, item.session_id, key)

    def _cursor(self, item: Found, info: os.stat_result, reader: _Reader) -> FileCursor:
        dev, ino, size, mtime_ns = _looks(info)
        return FileCursor(
            store=self._store,
            name=item.name,
            dev=dev,
            ino=ino,
            # Half-read is not unchanged: should this run end here, the next one must go on.
            size=size if reader.ended else -1,
            mtime_ns=mtime_ns,
            offset=reader.offset,
            tail=_tail(reader.handle, reader.offset),
            session_id=item.session_id,
        )


def _is_unchanged(item: Found, cursor: FileCursor | None) -> bool:
    """Whether the file looks as it did when it was read to its end."""
    if cursor is None:
        return False
    return (cursor.dev, cursor.ino, cursor.size, cursor.mtime_ns) == _looks(item.stat)


def _free_cursors(cursors: Mapping[str, FileCursor], found: Iterable[Found]) -> list[FileCursor]:
    """The cursors whose file is not in its place any more: it may have been moved."""
    present = {item.name for item in found}
    return [cursor for cursor in cursors.values() if cursor.name not in present]


def _cursor_behind(
    handle: BinaryIO, item: Found, cursors: Mapping[str, FileCursor], free: list[FileCursor]
) -> FileCursor | None:
    """The cursor whose bytes this file still holds, or None: then it is read from its start.

    It is sought under the file's name, and under the names of files that went, by inode and by session.
    """
    own = cursors.get(item.name)
    if own is not None and _still_there(handle, own):
        return own
    inode = _looks(item.stat)[:2]
    moved = [c for c in free if (c.dev, c.ino) == inode or c.session_id == item.session_id]
    return next((cursor for cursor in moved if _still_there(handle, cursor)), None)


class _Reader:
    """Complete lines of an open transcript from `offset` on, a portion at a time."""

    def __init__(
        self, handle: BinaryIO, form: Format, place: str, latest_ms: int, problems: Problems, *, whole: bool
    ) -> None:
        self.handle = handle
        self.offset = 0
        self.ended = False
        self._form = form
        self._place = place
        self._latest_ms = latest_ms
        self._problems = problems
        self._whole = whole

    def portion(self) -> tuple[list[RawMessage], list[Entry]]:
        """The messages of the next 8 MB or so, or the entries of the next one.

        `offset` stands behind them, `ended` says whether that was all.
        """
        messages: list[RawMessage] = []
        entries: list[Entry] = []
        stop = self.offset + (ENTRIES_BYTES if self._whole else PORTION_BYTES)
        while self.offset < stop:
            line = self.handle.readline(LINE_LIMIT)
            length = len(line)
            if length == LINE_LIMIT and not line.endswith(b"\n"):
                line, length = self._long_line(line)
            if not line.endswith(b"\n") and not self._readable(line):
                self.ended = True
                break
            found = self._entries(line)
            if self._whole:
                entries += found
                found = []
            for entry in found:
                raw = self._form.message(entry, self._latest_ms)
                if raw is not None:
                    messages.append(raw)
            self.offset += length
        return messages, entries

    def _entries(self, line: bytes) -> list[dict[str, Any]]:
        try:
            value: object = orjson.loads(line)
        except orjson.JSONDecodeError:
            return entries_in(line, self._note, is_entry)
        return [value] if isinstance(value, dict) else entries_in(line, self._note, is_entry)

    def _readable(self, line: bytes) -> bool:
        """Whether the last line can be read although no newline follows it yet: one that parses is whole."""
        if not line:
            return False
        body = line.strip(FILLER)
        if not body or parse_line(body.removeprefix(BOM)) is not None:
            return True
        self._note("half-line")
        return False

    def _long_line(self, head: bytes) -> tuple[bytes, int]:
        """A line over the limit without its binary part: (what is left of it, its true length in bytes)."""
        self._note("long-line")
        shortener, piece, length = Shortener(), head, len(head)
        while True:
            shortener.feed(piece)
            if piece.endswith(b"\n"):
                break
            piece = self.handle.readline(_PIECE_BYTES)
            if not piece:
                break
            length += len(piece)
        if shortener.nul_bytes:
            self._note("nul-bytes")
        kept = shortener.kept()
        if kept is not None:
            return kept, length
        if piece:
            self._note("broken-line")
        return (b"\n" if piece else b"{"), length

    def _note(self, kind: str) -> None:
        self._problems.add(kind, f"{self._place} at byte {self.offset}")


def open_file(path: str | Path) -> BinaryIO:
    """A file for reading. A FIFO, which nobody may ever write to, is opened without waiting. Raises OSError."""
    return open(path, "rb", buffering=1 << 18, opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK))


def _looks(info: os.stat_result) -> tuple[int, int, int, int]:
    """(device, inode, size, mtime in ns) as a database can hold them: some file systems use all 64 bits, or more."""
    return info.st_dev & _INT64, info.st_ino & _INT64, info.st_size, info.st_mtime_ns & _INT64


def _tail(handle: BinaryIO, offset: int) -> bytes:
    """A hash of the bytes just before `offset`."""
    start = max(0, offset - TAIL_BYTES)
    return blake2b(os.pread(handle.fileno(), offset - start, start), digest_size=8).digest()


def _still_there(handle: BinaryIO, cursor: FileCursor) -> bool:
    """Whether the file still holds what was read before the cursor's offset."""
    size = os.fstat(handle.fileno()).st_size
    return 0 < cursor.offset <= size and _tail(handle, cursor.offset) == cursor.tail
