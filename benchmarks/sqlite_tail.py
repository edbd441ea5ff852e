"""What a few new rows behind the cursor cost in a large SQLite store.

Measured inside the process, medians: `take_new` (the source's portions and saving them with their cursors) over a
`transcript_events` table of 1,000,000 rows in 500 sessions (OpenClaw 2026.9.6), of which 100 are new.
- `tail_ms`: the usual case. To be reached: under 30 ms.
- `no_mark_ms`: the row at which the last run stopped is gone, so that every session is asked by itself.
- `longest_read_ms`: the longest time that the host's database was held by one query of all these runs; at most 100.
"""

from __future__ import annotations

import argparse
import sqlite3
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import transcripts
from measure import SCRIPTS, milliseconds, report

sys.path.insert(0, str(SCRIPTS))
from total_recall.sessions.openclaw_sqlite import OpenClawSqlite
from total_recall.sessions.source import Problems
from total_recall.sessions.taking import Taking, Window, take_new
from total_recall.state import State

UNDER_MS = 30.0
READ_AT_MOST_MS = 100.0
LATEST_MS = round(time.time() * 1000) + 86_400_000


class TimedCursor(sqlite3.Cursor):
    """Knows how long a query held its database: until the cursor is gone, at the latest."""

    longest = 0.0
    _since = 0.0

    def execute(self, *arguments: Any) -> TimedCursor:
        self._since = time.perf_counter()
        super().execute(*arguments)
        return self

    def __del__(self) -> None:
        TimedCursor.longest = max(TimedCursor.longest, time.perf_counter() - self._since)


class TimedConnection(sqlite3.Connection):
    def execute(self, *arguments: Any) -> TimedCursor:
        return self.cursor(TimedCursor).execute(*arguments)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--sessions", type=int, default=500)
    parser.add_argument("--new", type=int, default=100)
    parser.add_argument("--runs", type=int, default=21)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        own = Path(folder) / "memory"
        with closing(transcripts.Database(Path(folder) / "agent", sessions=options.sessions, seed=1)) as store:
            store.insert(options.rows)
            with State.open(own) as state:
                begun = time.perf_counter()
                seen = take(store.path, state, since_ms=LATEST_MS)
                first_s = time.perf_counter() - begun
                tail, no_mark = [], []
                for _ in range(options.runs):
                    store.insert(options.new)
                    tail.append(timed(store.path, state, options.new))
                for _ in range(options.runs):
                    store.delete_newest()
                    store.insert(options.new)
                    no_mark.append(timed(store.path, state, options.new))
    report(
        "sqlite_tail",
        rows=options.rows,
        sessions=options.sessions,
        new=options.new,
        messages=seen.count.skipped,
        first_s=round(first_s, 2),
        tail_ms=milliseconds(tail),
        no_mark_ms=milliseconds(no_mark),
        longest_read_ms=round(TimedCursor.longest * 1000, 2),
        under_ms=UNDER_MS,
        read_at_most_ms=READ_AT_MOST_MS,
    )


def timed(path: Path, state: State, new: int) -> float:
    """Seconds to take the new rows."""
    begun = time.perf_counter()
    taken = take(path, state)
    seconds = time.perf_counter() - begun
    if taken.count.queued != new:
        raise SystemExit(f"{taken.count} instead of {new} new messages")
    return seconds


def take(path: Path, state: State, since_ms: int = 0) -> Taking:
    source = OpenClawSqlite(path, "main", latest_ms=LATEST_MS)
    return take_new([source], state, Window(frozenset({"explicit"}), "main", since_ms=since_ms), Problems())


def time_every_query() -> None:
    """From now on, connections to the host's database are timed."""
    connect = sqlite3.connect

    def timed_connect(database: Any, *arguments: Any, uri: bool = False, **options: Any) -> sqlite3.Connection:
        factory = TimedConnection if uri else sqlite3.Connection
        return connect(database, *arguments, uri=uri, factory=factory, **options)

    sqlite3.connect = timed_connect  # type: ignore[assignment]


if __name__ == "__main__":
    time_every_query()
    main()
