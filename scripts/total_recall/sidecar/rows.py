"""Events and sessions as the log keeps them, read from its rows; and whether the words that are sought are in one."""

from __future__ import annotations

import json
import re
import sqlite3
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from total_recall import clock
from total_recall.text import CJK

NO_SESSION: Final = ""
"""The id of the session that stands for none: what a scheduler ran without one, and our own runs."""


@dataclass(frozen=True, slots=True)
class Session:
    """A session that the log knows. `number` is its row; `parent` the key of the session that started it."""

    number: int
    id: str
    agent: str
    key: str | None
    kind: str | None
    parent: str | None


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened. `at` is aware and in UTC.

    `name` is the tool, model, job, command or kind of error. `ok` is None where it does not apply or is not known.
    """

    id: int
    at: datetime
    type: str
    session: Session
    entry_id: str | None
    name: str | None
    ok: bool | None
    is_sensitive: bool
    summary: str
    exit_code: int | None = None
    duration_ms: int | None = None
    error: str | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    tokens_cached: int | None = None
    cost_usd: float | None = None
    details: Mapping[str, object] = field(default_factory=dict)


COLUMNS: Final = (
    "e.id, e.at, e.type, e.session, e.entry, e.name, e.ok, e.sensitive, e.summary, e.exit_code, e.duration_ms, e.error,"
    " e.tokens_in, e.tokens_out, e.tokens_cached, e.cost_usd, e.details"
)


def sessions_where(db: sqlite3.Connection, where: str, values: Sequence[object]) -> list[Session]:
    query = f"SELECT num, id, agent, key, class, parent FROM session WHERE {where} ORDER BY num"
    return [Session(*row) for row in db.execute(query, values)]


def events_of(db: sqlite3.Connection, rows: sqlite3.Cursor, sought: str) -> Iterator[Event]:
    known: dict[int, Session] = {}
    wanted = _sought(sought)
    for row in rows:
        number = row[3]
        if number not in known:
            known[number] = _session(db, number)
        event = _event(row, known[number])
        if not wanted or _holds(wanted, event):
            yield event


def _event(row: Sequence[Any], session: Session) -> Event:
    return Event(
        id=row[0],
        at=clock.from_epoch_ms(row[1]),
        type=row[2],
        session=session,
        entry_id=row[4],
        name=row[5],
        ok=None if row[6] is None else bool(row[6]),
        is_sensitive=bool(row[7]),
        summary=row[8],
        exit_code=row[9],
        duration_ms=row[10],
        error=row[11],
        tokens_in=row[12],
        tokens_out=row[13],
        tokens_cached=row[14],
        cost_usd=row[15],
        details=json.loads(row[16]) if row[16] else {},
    )


def _session(db: sqlite3.Connection, number: int) -> Session:
    found = sessions_where(db, "num = ?", [number])
    return found[0] if found else Session(number, NO_SESSION, "", None, None, None)


def _sought(text: str) -> tuple[re.Pattern[str], ...]:
    """A pattern for each word, and for what stands in quotation marks."""
    pieces = text.split('"')
    single = [word for piece in pieces[::2] for word in piece.split()]
    return tuple(_beginning(_folded(words)) for words in (*single, *pieces[1::2]) if words.strip())


def _beginning(words: str) -> re.Pattern[str]:
    """Where the full-text index finds it: at the beginning of a word, and anywhere in a run of CJK characters."""
    apart = r"(?<![^\W_])" if re.match(r"[^\W_]", words) and not re.match(f"[{_JOINED}]", words) else ""
    return re.compile(apart + re.escape(words))


_JOINED: Final = f"{CJK}\u1100-\u11ff"
"""As they are when taken apart: Hangul then is made of its letters."""


def _folded(text: str) -> str:
    """As the full-text index compares: without accents, in lower case."""
    if text.isascii():
        return " ".join(text.lower().split())
    plain = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    return " ".join(plain.lower().split())


def _holds(sought: Sequence[re.Pattern[str]], event: Event) -> bool:
    """Whether the words occur as they were written; the index tells only which words there are."""
    folded = _folded("\n".join([event.summary, event.error or "", *_texts(event.details)]))
    return all(pattern.search(folded) for pattern in sought)


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, Mapping):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)
    elif value is not None and not isinstance(value, bool):
        yield str(value)
