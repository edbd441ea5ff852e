"""What a session source is. An adapter for one kind of store fulfils `SessionSource`; `taking` does the rest.

- *store*: a directory or database that holds transcripts of one agent.
- *portion*: messages read in one go from one transcript, and the cursors that stand behind them. The messages and
  the cursors are saved together or not at all, so a portion may be read again but is never taken twice.
- *watch*: a path as it looked before it was read; while all watches look the same, there is nothing new.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from total_recall.records import SessionRef
from total_recall.sessions.entries import RawMessage
from total_recall.state import DatabaseMark, FileCursor, KnownSession, RowCursor, State


@dataclass(frozen=True, slots=True)
class Watch:
    """A path as it was before it was read; `ino` 0 says that it was not there.

    `query` is what the gate asks a database whose file has changed, and `answer` what it said when it was read: a host
    writes there for reasons of its own. Empty for a plain file or directory.
    """

    path: str
    ino: int
    size: int
    mtime_ns: int
    query: str = ""
    answer: str = ""


def printable(path: str | Path) -> str:
    """`path` as text that can be stored and shown, whatever bytes a file name holds."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def watch(path: Path) -> Watch:
    """`path` as it is now."""
    try:
        info = path.stat()
    except OSError:
        return Watch(str(path), 0, 0, 0)
    return Watch(str(path), info.st_ino, info.st_size, info.st_mtime_ns)


@dataclass(frozen=True, slots=True)
class Portion:
    """Messages of one transcript in stored order, with the cursors behind them.

    `fallback_ms` is the time of a message that carries none. `appended` says that the messages follow, in the same
    file, what was read before. `complete` is False while the transcript goes on in a further portion of this run.
    Where whole entries were asked for, `entries` holds them as they are stored, and `messages` nothing.
    """

    ref: SessionRef
    messages: tuple[RawMessage, ...]
    fallback_ms: int
    appended: bool
    complete: bool = True
    files: tuple[FileCursor, ...] = ()
    forget_files: tuple[tuple[str, str], ...] = ()
    rows: tuple[RowCursor, ...] = ()
    mark: DatabaseMark | None = None
    entries: tuple[Mapping[str, Any], ...] = ()


@dataclass(slots=True)
class Problems:
    """Counts what was wrong with the input, by kind, with the first place of each. Nothing here stops a run."""

    counts: dict[str, int] = field(default_factory=dict)
    places: dict[str, str] = field(default_factory=dict)

    def add(self, kind: str, place: str | Path, count: int = 1) -> None:
        """Count a problem of a kind in `PROBLEMS`."""
        self.counts[kind] = self.counts.get(kind, 0) + count
        self.places.setdefault(kind, str(place))

    def lines(self) -> list[str]:
        """One line for each kind: how many, what, the first place, what it means."""
        return [f"{self.counts[kind]} × {PROBLEMS[kind]} (first: {self.places[kind]})" for kind in sorted(self.counts)]


PROBLEMS = {
    "half-line": "last line incomplete: read when the host has finished it",
    "broken-line": "line that is no JSON: skipped",
    "nul-bytes": "stretch of NUL bytes, as a power cut leaves: the records beside it were read",
    "bad-text": "line with characters or numbers that JSON forbids: read, with U+FFFD for what cannot be",
    "glued-lines": "line with records run together: read where whole",
    "long-line": "line over 8 MB (an image?): read without its binary part",
    "bom": "byte order mark at the start of a file: ignored",
    "crlf": "file with Windows line ends: read",
    "not-object": "line that is JSON but no object: skipped",
    "unknown-type": "entry of an unknown type: skipped",
    "bad-time": "message without a believable time: filed under the time of its neighbour",
    "same-id": "message whose id was used before in its transcript: both kept",
    "not-a-file": "directory or special file named like a session: skipped",
    "symlink-out": "symbolic link that leaves the store or leads nowhere: skipped",
    "unreadable": "file that cannot be read: skipped; check its permissions",
    "vanished": "file that went away while it was read: looked for again next time",
    "index": "sessions.json that cannot be read: sessions told apart by their first message",
    "database": "database that cannot be read now: tried again next time",
    "schema": "database with an unknown schema: skipped; a newer Total Recall may know it",
    "empty-database": "database without tables: nothing is in it yet",
    "zstd": "compressed event that cannot be unpacked: skipped",
    "no-header": "transcript without a session header: named after its file",
}
"""What the user reads for each kind of problem."""


class Bookmarks(Protocol):
    """Where a reader has come to in each store, and what it knows of sessions that are in no index any more."""

    def file_cursors(self, store: str) -> dict[str, FileCursor]:
        """By file name."""

    def row_cursors(self, store: str) -> dict[str, RowCursor]:
        """By session id."""

    def database_mark(self, store: str) -> DatabaseMark | None:
        """The newest row at the last read."""

    def known_session(self, session_id: str) -> KnownSession | None:
        """What a session was when it was last read."""


class SessionSource(Protocol):
    """One store of transcripts."""

    name: str
    """Name of the kind of store, as in `Message.source`."""
    agent: str

    @property
    def location(self) -> Path:
        """The directory or database."""

    def transcripts(self) -> int:
        """How many transcripts the last `portions` saw."""

    def portions(self, state: State, *, fresh: bool, problems: Problems) -> Iterator[Portion]:
        """What is new behind the cursors in `state`; everything, when `fresh`.

        Raises nothing for a bad transcript: it is counted in `problems`, and the rest goes on.
        """

    def watches(self) -> list[Watch]:
        """The paths that tell whether there is anything new, as they were before the last `portions`."""

    def unread(self) -> list[str]:
        """Transcripts that are left alone on purpose, each with the reason."""


@runtime_checkable
class EntrySource(Protocol):
    """A store that can be read entry by entry: tool calls and their results, resets, compactions, and all the rest."""

    name: str
    agent: str

    def entries(self, marks: Bookmarks, *, problems: Problems) -> Iterator[Portion]:
        """The entries behind the cursors in `marks`, in portions of about 1 MB, of which each may be the last.

        The same entry may come again: after a rewrite, and from another store. Raises nothing for a bad transcript.
        """
