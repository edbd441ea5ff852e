"""What happened in a session, in order, with the sub-agents that it started where it started them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from total_recall.sidecar import queries
from total_recall.sidecar.rows import Event, Session

SPAWNED = "subagent_spawned"


@dataclass(frozen=True, slots=True)
class Told:
    """One step: an event, or (without one) that a session begins here. `depth` 0 is the session that was asked for."""

    depth: int
    session: Session
    event: Event | None = None


def tell(db: sqlite3.Connection, sessions: list[Session]) -> Iterator[Told]:
    """The story of these sessions, one after the other, read as it is taken. No session is told twice."""
    told: set[int] = set()
    for session in sessions:
        yield from _story(db, session, 0, told)


def _story(db: sqlite3.Connection, session: Session, depth: int, told: set[int]) -> Iterator[Told]:
    if session.number in told:
        return
    told.add(session.number)
    yield Told(depth, session)
    first: datetime | None = None
    last: datetime | None = None
    for event in queries.of_session(db, session):
        first, last = first or event.at, event.at
        yield Told(depth, session, event)
        if event.type == SPAWNED:
            key = event.details.get("child_key")
            for child in queries.with_key(db, key) if isinstance(key, str) and key else ():
                yield from _story(db, child, depth + 1, told)
    # A host that does not say when it started a sub-agent still says who started it. After a reset another session
    # has the same key, so the time tells whose it is.
    for child in queries.started_by(db, session.key) if session.key else ():
        begun = queries.begun(db, child)
        if child.number not in told and first and last and begun and first <= begun <= last:
            yield from _story(db, child, depth + 1, told)
