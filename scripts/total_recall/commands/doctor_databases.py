"""What the doctor asks databases, ours and the host's: short and bounded reads that change nothing."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from urllib.parse import quote

from total_recall.clock import from_epoch_ms
from total_recall.confined import guard
from total_recall.errors import StoreError
from total_recall.sessions.openclaw_sqlite import NEWEST_ROW
from total_recall.state import MIGRATIONS, State

COPIED_BYTES = 64 << 20
"""A state up to this size is copied to memory, where one may try what a run would do; a larger one is only read."""
CHECKED_BYTES = 512 << 20
"""Reading every page of a larger database would take too long, and an old SQLite cannot be stopped on the way."""
CHECK_SECONDS = 5.0
BUSY_SECONDS = 1.0
_STEPS_BETWEEN_LOOKS = 10_000


class OlderFormat(StoreError):
    """A state too large to be copied, and of a format that only a run renews."""


@dataclass(frozen=True, slots=True)
class HostDatabase:
    """What a database of the host says of itself; None where it does not. `newest` is when its last entry was made."""

    schema_version: str | None
    written_by: str | None
    newest: datetime | None


@contextmanager
def read_only(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection that cannot write. Raises sqlite3.DatabaseError.

    A database without a log is opened as one that nobody changes: SQLite would leave a log beside it otherwise.
    """
    is_still = not any(log.is_file() and log.stat().st_size for log in _logs(path))
    uri = f"file:{quote(os.fsencode(path.resolve()))}?mode=ro{'&immutable=1' if is_still else ''}"
    with closing(sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None)) as db:
        db.execute("PRAGMA query_only = 1")
        guard(db)
        yield db


@contextmanager
def state_of(own_dir: Path) -> Iterator[tuple[State, bool]]:
    """(the state, whether it is a copy). A missing one is empty. Raises StoreError when it is damaged or newer.

    A large one is read where it lies, as long as it has this version's format.
    """
    path = own_dir / "state.sqlite"
    try:
        is_small = sum(p.stat().st_size for p in (path, Path(f"{path}-wal")) if p.is_file()) <= COPIED_BYTES
    except OSError as error:
        raise StoreError(f"{error.filename} cannot be read: {error.strerror}; check its permissions") from error
    if is_small:
        with State.open_copy(own_dir) as state:
            yield state, True
        return
    try:
        with read_only(path) as db:
            version = db.execute("PRAGMA user_version").fetchone()[0]
            if version > len(MIGRATIONS):
                raise StoreError(
                    f"{path} was written by a newer Total Recall (format {version}); update this installation"
                )
            if version < len(MIGRATIONS):
                raise OlderFormat(f"{path} has an older format ({version}), which the next run renews")
            yield State(db, path), False
    except sqlite3.DatabaseError as error:
        raise StoreError(f"{path} cannot be read: {error}; move it aside to start anew") from error


def damage(path: Path) -> str | None:
    """What is wrong with a database of ours, `unread: …` when it was not looked through, None when it is sound."""
    if path.stat().st_size > CHECKED_BYTES:
        return "unread: too large to be read through here"
    before = _looks(path)
    try:
        found = _quick_check(path)
    except sqlite3.DatabaseError as error:
        if "interrupted" in str(error):
            return f"unread: not read to its end in {CHECK_SECONDS:g} seconds"
        found = str(error)
    # Somebody wrote meanwhile: what was read may belong to two versions.
    return "unread: in use just now" if found is not None and _looks(path) != before else found


def _quick_check(path: Path) -> str | None:
    ends = time.monotonic() + CHECK_SECONDS
    with read_only(path) as db:
        db.set_progress_handler(lambda: time.monotonic() > ends, _STEPS_BETWEEN_LOOKS)
        said = str(db.execute("PRAGMA quick_check(1)").fetchone()[0])
    return None if said == "ok" else said


def _logs(path: Path) -> tuple[Path, Path]:
    return Path(f"{path}-wal"), Path(f"{path}-journal")


def _looks(path: Path) -> list[tuple[int, int]]:
    files = (path, *_logs(path))
    return [(f.stat().st_size, f.stat().st_mtime_ns) if f.exists() else (0, 0) for f in files]


def host_database(path: Path) -> HostDatabase | None:
    """What the host's database says of itself (openclaw.md section 1); None when it cannot be read."""
    uri = f"file:{quote(os.fsencode(path.resolve()))}?mode=ro"
    try:
        with closing(sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None)) as db:
            db.execute("PRAGMA query_only = 1")
            guard(db)
            newest = db.execute(NEWEST_ROW).fetchone()
            columns = {row[1] for row in db.execute("PRAGMA table_info(schema_meta)")}
            wanted = [name if name in columns else "NULL" for name in ("schema_version", "app_version")]
            row = db.execute(f"SELECT {', '.join(wanted)} FROM schema_meta LIMIT 1").fetchone() if columns else None
    except sqlite3.DatabaseError:
        # The reader of the store has counted that as a problem, with its name.
        return None
    named = [None if value is None else str(value) for value in row or (None, None)]
    return HostDatabase(named[0], named[1], _time(newest[3]) if newest else None)


def _time(at_ms: object) -> datetime | None:
    try:
        return from_epoch_ms(at_ms) if isinstance(at_ms, int) else None
    except (OverflowError, OSError, ValueError):
        return None
