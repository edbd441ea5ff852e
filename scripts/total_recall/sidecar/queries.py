"""What the log is asked: events by time, type, tool, outcome, session, agent and words, each through an index.

Which index finds the events is decided here and not by SQLite, which knows nothing of how they are spread: the other
conditions carry a `+`, which takes them out of its choice.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Final

from total_recall import clock
from total_recall.errors import TotalRecallError
from total_recall.sidecar.rows import COLUMNS, Event, Session, events_of, sessions_where

MatchQuery = Callable[[str], str]
"""From words to the MATCH string of the full-text index; empty when it has none of them."""

MERGED: Final = 200
"""So many ordered lists are merged in one question; of more, the whole is sorted."""
FEW_MATCHES: Final = 2_000
"""So many matches of the full-text index are all read and sorted."""
MANY_MATCHES: Final = 60_000
"""Of so many, those are read that come first in time. Of more, events are read in order until enough of them match."""
READ_A_TIME: Final = 200
COUNTED: Final = 100_000
"""Of a log with more events than this, all of them are not counted for a list."""
FOLLOWED_CALLS: Final = 500
"""So many calls without a result are looked at again, while the log is followed."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which events. Times are milliseconds since 1970, `until_ms` is not included; an empty field asks for nothing.

    `session` is an id, a key or the beginning of an id. `words` must all occur, at least as beginnings of words and in
    any case; `"in marks"` as they stand.
    """

    since_ms: int | None = None
    until_ms: int | None = None
    types: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    failed: bool = False
    session: str = ""
    agent: str = ""
    words: str = ""


def newest(db: sqlite3.Connection, wanted: Wanted, limit: int, match: MatchQuery) -> list[Event]:
    """The newest events that are wanted, the oldest of them first.

    Raises TotalRecallError when the log has no such session.
    """
    found: list[Event] = []
    for event in _found(db, wanted, match, backwards=True):
        found.append(event)
        if len(found) >= limit:
            break
    return found[::-1]


def all_events(db: sqlite3.Connection, wanted: Wanted, match: MatchQuery) -> Iterator[Event]:
    """Everything that is wanted, the oldest first, read as it is taken. Raises as `newest` does."""
    return _found(db, wanted, match, backwards=False)


@dataclass(frozen=True, slots=True)
class Place:
    """How far the log was followed: up to the row `row`; the calls in the rows `open_calls` had no result then."""

    row: int = 0
    open_calls: tuple[int, ...] = ()


def here(db: sqlite3.Connection) -> Place:
    """The end of the log."""
    row = int(db.execute("SELECT max(id) FROM event").fetchone()[0] or 0)
    return Place(row, _open_calls(db, row - FOLLOWED_CALLS, row))


def added(db: sqlite3.Connection, wanted: Wanted, place: Place) -> tuple[list[Event], Place]:
    """What is wanted of what was logged since `place`, the oldest first, and the end of the log now.

    A call is there when it is logged, and once more when its result is.
    """
    upto = int(db.execute("SELECT max(id) FROM event").fetchone()[0] or 0)
    still_open = [row for call in place.open_calls for row in _open_calls(db, call - 1, call)]
    answered = [call for call in place.open_calls if call not in still_open]
    where, values = _conditions(wanted, _session_numbers(db, wanted), "")
    rows = f"(e.id > ? AND e.id <= ? OR e.id IN ({','.join(map(str, answered))}))"
    query = f"SELECT {COLUMNS} FROM event e WHERE {rows}{where} ORDER BY +e.at, +e.id"
    found = list(events_of(db, db.execute(query, (place.row, upto, *values)), wanted.words))
    return found, Place(upto, (*still_open, *_open_calls(db, place.row, upto))[-FOLLOWED_CALLS:])


def _open_calls(db: sqlite3.Connection, after: int, upto: int) -> tuple[int, ...]:
    query = "SELECT id FROM event WHERE id > ? AND id <= ? AND +type = 'tool_call' AND ok IS NULL"
    return tuple(row[0] for row in db.execute(query, (after, upto)))


def count(db: sqlite3.Connection, wanted: Wanted, match: MatchQuery) -> int | None:
    """How many events are wanted; None when that takes too long to say. Raises as `newest` does."""
    if wanted.words:
        rows = _matches(db, match(wanted.words), FEW_MATCHES)
        return None if rows is None else sum(1 for _ in _found(db, wanted, match, backwards=False))
    if wanted == Wanted(until_ms=wanted.until_ms, agent=wanted.agent) and here(db).row > COUNTED:
        return None
    parts = _parts(db, wanted)
    return sum(int(db.execute(f"SELECT count(*) FROM event e WHERE {w}", v).fetchone()[0]) for w, v in parts)


def kinds(db: sqlite3.Connection, wanted: Wanted, match: MatchQuery) -> Counter[tuple[str, str]]:
    """How many events of each (type, name) are wanted. Raises as `newest` does."""
    if wanted.words:
        return Counter((e.type, e.name or "") for e in _found(db, wanted, match, backwards=False))
    found: Counter[tuple[str, str]] = Counter()
    for where, values in _parts(db, wanted):
        query = f"SELECT e.type, coalesce(e.name, ''), count(*) FROM event e WHERE {where} GROUP BY 1, 2"
        for kind, name, number in db.execute(query, values):
            found[kind, name] += number
    return found


def sessions(db: sqlite3.Connection, wanted: Wanted) -> list[Session]:
    """The sessions that the id, key or beginning of an id names, in the order of the log.

    Raises TotalRecallError when there is none, or when a beginning fits several sessions.
    """
    text = wanted.session
    where, values = ("", []) if not wanted.agent else (" AND agent = ?", [wanted.agent])
    exact = sessions_where(db, f"(id = ? OR key = ?) AND id <> ''{where}", [text, text, *values])
    if exact:
        return exact
    begun = sessions_where(db, f"substr(id, 1, ?) = ?{where}", [len(text), text, *values]) if text else []
    if not begun:
        raise TotalRecallError(f"the log has no session {text!r}; total-recall log --type session_start lists them")
    if len({session.id for session in begun}) > 1:
        several = ", ".join(session.id for session in begun[:3])
        raise TotalRecallError(f"{text!r} is the beginning of {len(begun)} sessions ({several} …); write more of it")
    return begun


def started_by(db: sqlite3.Connection, key: str) -> list[Session]:
    """The sessions that the session with this key started."""
    return sessions_where(db, "parent = ?", [key])


def with_key(db: sqlite3.Connection, key: str) -> list[Session]:
    """The sessions of a key: each reset begins a new one in some versions of the host."""
    return sessions_where(db, "key = ? AND id <> ''", [key])


def begun(db: sqlite3.Connection, session: Session) -> datetime | None:
    """When the first thing happened in a session."""
    row = db.execute("SELECT min(at) FROM event WHERE session = ?", (session.number,)).fetchone()
    return None if row[0] is None else clock.from_epoch_ms(row[0])


def of_session(db: sqlite3.Connection, session: Session) -> Iterator[Event]:
    """Everything that happened in a session, the oldest first."""
    query = f"SELECT {COLUMNS} FROM event e WHERE e.session = ? ORDER BY e.at, e.id"
    return events_of(db, db.execute(query, (session.number,)), "")


# --- from what is wanted to SQL --------------------------------------------------------------------------------

Part = tuple[str, list[object]]
"""Conditions and their values. The first condition is the one whose index is used; it gives the events in order."""


def question(
    db: sqlite3.Connection, wanted: Wanted, *, backwards: bool, columns: str = COLUMNS
) -> tuple[str, list[object]]:
    """(SELECT, values) for all that is wanted but `words`, in the order of time; each part through its own index."""
    parts = _parts(db, wanted)
    order = " DESC" if backwards else ""
    selects = [f"SELECT {columns} FROM event e WHERE {where}" for where, _ in parts]
    # The numbers are those of `at` and `id`: a compound has no table to name them by.
    whole = " UNION ALL ".join(selects) + f" ORDER BY 2{order}, 1{order}"
    return whole, [value for _, values in parts for value in values]


def _parts(db: sqlite3.Connection, wanted: Wanted) -> list[Part]:
    """Disjoint parts, each with the index that finds the fewest events."""
    numbers = _session_numbers(db, wanted)
    # An agent has many sessions, and may have next to all events.
    sparse = wanted.failed or wanted.tools or wanted.types
    if numbers is not None and len(numbers) <= MERGED and (wanted.session or not sparse):
        where, values = _conditions(wanted, None, "session")
        return [(f"e.session = ?{where}", [number, *values]) for number in numbers] or [("0", [])]
    if wanted.failed:
        where, values = _conditions(wanted, numbers, "failed")
        return [(f"e.ok = 0{where}", values)]
    if wanted.tools:
        where, values = _conditions(wanted, numbers, "tools")
        return [
            (f"e.type = 'tool_call' AND e.name = ?{where}", [tool, *values]) for tool in dict.fromkeys(wanted.tools)
        ]
    if wanted.types:
        where, values = _conditions(wanted, numbers, "types")
        return [(f"e.type = ?{where}", [kind, *values]) for kind in dict.fromkeys(wanted.types)]
    where, values = _conditions(wanted, numbers, "time")
    return [(where.removeprefix(" AND ") or "1", values)]


def _conditions(wanted: Wanted, numbers: Sequence[int] | None, driving: str) -> Part:
    """What must hold besides the driving condition, with AND before each. Nothing drives where the rows are known."""
    where, values = "", list[object]()
    at = "e.at" if driving else "+e.at"
    if wanted.since_ms is not None:
        where, values = f"{where} AND {at} >= ?", [*values, wanted.since_ms]
    if wanted.until_ms is not None:
        where, values = f"{where} AND {at} < ?", [*values, wanted.until_ms]
    if wanted.failed and driving != "failed":
        where += " AND +e.ok = 0"
    if wanted.tools:
        if driving == "tools":
            where += "" if not wanted.types or "tool_call" in wanted.types else " AND 0"
        else:
            where = f"{where} AND +e.type = 'tool_call' AND +e.name IN ({_marks(wanted.tools)})"
            values += wanted.tools
    if wanted.types and driving not in ("types", "tools"):
        where, values = f"{where} AND +e.type IN ({_marks(wanted.types)})", [*values, *wanted.types]
    if numbers is not None and driving != "session":
        # As text: there may be more of them than a statement takes values.
        where += f" AND +e.session IN ({','.join(map(str, numbers))})"
    return where, values


def narrowed(db: sqlite3.Connection, wanted: Wanted) -> Part:
    """The conditions of what is wanted, its words apart, for a question of one's own over `event e`.

    They use the index over time. Raises TotalRecallError when the log has no such session.
    """
    return _conditions(wanted, _session_numbers(db, wanted), "time")


def _marks(values: Sequence[object]) -> str:
    return ",".join("?" * len(values))


def _session_numbers(db: sqlite3.Connection, wanted: Wanted) -> list[int] | None:
    """The rows of the sessions that are asked for; None when all are."""
    if wanted.session:
        return [session.number for session in sessions(db, wanted)]
    if wanted.agent:
        return [row[0] for row in db.execute("SELECT num FROM session WHERE agent = ?", (wanted.agent,))]
    return None


def _found(db: sqlite3.Connection, wanted: Wanted, match: MatchQuery, *, backwards: bool) -> Iterator[Event]:
    rows = _matches(db, match(wanted.words), MANY_MATCHES) if wanted.words else None
    if rows is None:
        select, values = question(db, wanted, backwards=backwards)
    elif len(rows) <= FEW_MATCHES:
        select, values = _of_rows(db, wanted, rows, backwards)
    else:
        yield from _among(db, wanted, frozenset(rows), backwards)
        return
    yield from events_of(db, db.execute(select, values), wanted.words)


def _matches(db: sqlite3.Connection, matching: str, most: int) -> list[int] | None:
    """The rows that the full-text index names; None when they are more, or it has nothing to go by."""
    if not matching:
        return None
    query = "SELECT rowid FROM event_text WHERE event_text MATCH ? LIMIT ?"
    rows = [row[0] for row in db.execute(query, (matching, most + 1))]
    return rows if len(rows) <= most else None


def _of_rows(db: sqlite3.Connection, wanted: Wanted, rows: Sequence[int], backwards: bool) -> Part:
    where, values = _conditions(wanted, _session_numbers(db, wanted), "")
    order = " DESC" if backwards else ""
    named = ",".join(map(str, rows))
    return f"SELECT {COLUMNS} FROM event e WHERE e.id IN ({named}){where} ORDER BY +e.at{order}, +e.id{order}", values


def _among(db: sqlite3.Connection, wanted: Wanted, rows: frozenset[int], backwards: bool) -> Iterator[Event]:
    """Those of the rows that are wanted, in the order of time; they are read as they are taken."""
    select, values = question(db, wanted, backwards=backwards, columns="e.id, e.at")
    numbers = (row[0] for row in db.execute(select, values) if row[0] in rows)
    order = " DESC" if backwards else ""
    while some := list(islice(numbers, READ_A_TIME)):
        named = ",".join(map(str, some))
        query = f"SELECT {COLUMNS} FROM event e WHERE e.id IN ({named}) ORDER BY +e.at{order}, +e.id{order}"
        yield from events_of(db, db.execute(query), wanted.words)
