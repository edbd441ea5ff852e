"""The search index: what is filed in `recall.sqlite`, and the questions to it.

It holds nothing that is not elsewhere: it may be deleted, and a damaged one is set aside and built anew. Memories
stand on one shelf, transcripts on another, each with its own full-text table, so that what is not searched costs
nothing and does not say how rare a word is.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields
from datetime import date, datetime, timedelta, timezone
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, TypeVar, cast, get_args

from total_recall.recall import database, terms
from total_recall.recall.database import NAME as NAME
from total_recall.recall.database import SET_ASIDE as SET_ASIDE
from total_recall.recall.database import transaction
from total_recall.recall.memories import SHELVES, Filed, Form, Memory, Origin, Shelf, Size, Stamp, Synced
from total_recall.recall.vectors import Vectors
from total_recall.records import ObservationType

_PARAMETERS: Final = 500
"""Values in one statement; SQLite before 3.32 takes 999."""
_SAVED_TOGETHER: Final = 2_000
"""Memories that are filed in one transaction: others wait no longer than it takes."""
_MANY: Final = 10_000
"""New memories at once after which the file is compacted, which takes a tenth of the time that filing them took."""
AGAIN: Final = "="
"""Begins the term that says of a word that it occurs more than once."""
HOOK: Final = "~"
"""Begins the term of a word that is only in the hooks of a memory."""

_KINDS: Final[tuple[ObservationType, ...]] = get_args(ObservationType)
_FORMS: Final[tuple[Form, ...]] = get_args(Form)
"""In the order of their numbers in the table. When one is added, the layout of the database changes."""
_COLUMNS: Final = (
    "m.number, f.origin, f.name, m.key, m.text, m.at, m.zone, m.team, t.name, m.kind, m.importance, m.refers, "
    "m.superseded_by, s.name, m.length, i.form, i.name, i.hooks FROM memory m JOIN source f ON f.number = m.source "
    "JOIN team t ON t.number = m.team LEFT JOIN speaker s ON s.number = m.speaker "
    "LEFT JOIN item i ON i.number = m.number"
)
_BESIDE: Final = (
    "SELECT number FROM memory WHERE team = ? AND (at, number) < (?, ?) ORDER BY at DESC, number DESC LIMIT ?",
    "SELECT number FROM memory WHERE team = ? AND (at, number) > (?, ?) ORDER BY at, number LIMIT ?",
)
_FIELDS: Final = tuple(field.name for field in fields(Memory))
_OF_SOURCE: Final = "source = (SELECT number FROM source WHERE name = ?)"
_STANDS_IN: Final = "source IN (SELECT number FROM source WHERE origin IN"
_THOUSANDTHS: Final = 1_000

_T = TypeVar("_T")


def using(directory: Path, work: Callable[[RecallIndex], _T]) -> _T:
    """What `work` makes of the index in `directory`, which is made where there is none.

    A damaged index is set aside as `recall.sqlite.damaged`, and `work` is called once more with an empty one, so it
    has to bring the index up to date itself. Raises MemoryWriteError, StoreError when another process keeps it busy.
    """
    return database.using(directory, lambda db: work(RecallIndex(db)))


def in_memory() -> RecallIndex:
    """An empty index that no file holds."""
    return RecallIndex(database.in_memory())


class RecallIndex:
    """An open index. Every change is one short transaction, or several."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def vectors(self, model: str) -> Vectors:
        """The vectors of a model, for likeness of meaning."""
        return Vectors(self._db, model)

    # --- keeping up to date

    def stamp(self, source: str) -> Stamp | None:
        """What `source` showed when it was last filed."""
        row = self._db.execute("SELECT stamp FROM source WHERE name = ?", (source,)).fetchone()
        return None if row is None or row[0] is None else tuple(json.loads(row[0]))

    def sources(self) -> list[str]:
        return [name for (name,) in self._db.execute("SELECT name FROM source ORDER BY name")]

    def sync(self, source: str, origin: Origin, stamp: Stamp, memories: Iterable[Memory]) -> Synced:
        """Bring what is filed of a source up to date: only memories that are new, changed or gone are touched."""
        wanted: dict[str, tuple[Memory, int]] = {m.key: (m, _digest(m)) for m in memories}
        made = self._db.execute("INSERT OR IGNORE INTO source (name, origin) VALUES (?, ?)", (source, origin))
        # Memories are looked through for those of a source, which is not worth an index; a new one has none.
        of_source = f"SELECT key, digest, number FROM memory WHERE {_OF_SOURCE}"
        rows = [] if made.rowcount == 1 else self._db.execute(of_source, (source,)).fetchall()
        stale = [number for key, digest, number in rows if key not in wanted or wanted[key][1] != digest]
        filed = {key for key, digest, _ in rows if key in wanted and wanted[key][1] == digest}
        fresh = [(memory, digest) for key, (memory, digest) in wanted.items() if key not in filed]
        for some in _cut(stale, _SAVED_TOGETHER):
            with transaction(self._db):
                self._remove(some)
        for start in range(0, len(fresh), _SAVED_TOGETHER):
            with transaction(self._db):
                self._add(source, origin, fresh[start : start + _SAVED_TOGETHER])
        self._db.execute("UPDATE source SET stamp = ? WHERE name = ?", (json.dumps(stamp), source))
        if len(fresh) >= _MANY:
            self._compact(SHELVES[origin])
        return Synced(len(fresh), len(stale))

    def extend(self, source: str, origin: Origin, stamp: Stamp, memories: Sequence[Memory]) -> Synced:
        """Add to what is filed of a source that only ever grows; `stamp` says how far."""
        with transaction(self._db):
            self._db.execute("INSERT OR IGNORE INTO source (name, origin) VALUES (?, ?)", (source, origin))
            added = self._add(source, origin, [(memory, _digest(memory)) for memory in memories])
            self._db.execute("UPDATE source SET stamp = ? WHERE name = ?", (json.dumps(stamp), source))
        return Synced(added=added)

    def _compact(self, shelf: Shelf) -> None:
        """Give back what a big change leaves half empty: about a tenth of the file."""
        self._db.execute(f"INSERT INTO {shelf}_terms ({shelf}_terms) VALUES ('optimize')")
        self._db.execute("VACUUM")

    def forget_source(self, source: str) -> Synced:
        """Take a source that is no more out of the index."""
        rows = self._db.execute(f"SELECT number FROM memory WHERE {_OF_SOURCE}", (source,))
        numbers = [number for (number,) in rows]
        for some in _cut(numbers, _SAVED_TOGETHER):
            with transaction(self._db):
                self._remove(some)
        self._db.execute("DELETE FROM source WHERE name = ?", (source,))
        return Synced(removed=len(numbers))

    def _add(self, source: str, origin: Origin, wanted: Sequence[tuple[Memory, int]]) -> int:
        """File what is not there yet, for another process may have been at it too; returns how many."""
        shelf = SHELVES[origin]
        keys = [memory.key for memory, _ in wanted]
        query = "SELECT key, digest, number FROM memory WHERE source = ? AND key IN"
        place = self._db.execute("SELECT number FROM source WHERE name = ?", (source,)).fetchone()[0]
        there = {key: (digest, number) for key, digest, number in self._in(query, keys, place)}
        fresh = [(m, digest) for m, digest in wanted if m.key not in there or there[m.key][0] != digest]
        self._remove([there[memory.key][1] for memory, _ in fresh if memory.key in there])
        teams = {name: self._named("team", name) for name in {memory.group for memory, _ in fresh}}
        speakers = {name: self._named("speaker", name) for name in {m.speaker for m, _ in fresh if m.speaker}}
        total = 0
        last = self._db.execute("SELECT coalesce(max(number), 0) FROM memory").fetchone()[0]
        spans: dict[int, tuple[int, int]] = {}
        for number, (memory, digest) in enumerate(fresh, last + 1):
            length, filed = _terms_of(memory.text, memory.hooks)
            total += length
            seconds, zone = _moment(memory.at)
            team = teams[memory.group]
            if seconds is not None:
                first, latest = spans.get(team, (seconds, seconds))
                spans[team] = min(first, seconds), max(latest, seconds)
            self._db.execute(
                "INSERT INTO memory VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    number, place, memory.key, digest, _storable(memory.text), seconds, zone, team,
                    _KINDS.index(memory.kind) if memory.kind else None, round(memory.importance * _THOUSANDTHS),
                    memory.refers.toordinal() if memory.refers else None, memory.superseded_by,
                    speakers.get(memory.speaker or ""), length,
                ),
            )  # fmt: skip
            if memory.form != "line" or memory.item or memory.hooks:
                values = (number, _FORMS.index(memory.form), memory.item, _storable(memory.hooks))
                self._db.execute("INSERT INTO item VALUES (?, ?, ?, ?)", values)
            self._db.execute(f"INSERT INTO {shelf}_terms (rowid, body) VALUES (?, ?)", (number, filed))
        self._db.executemany(
            "UPDATE team SET first = min(coalesce(first, ?1), ?1), last = max(coalesce(last, ?2), ?2) "
            "WHERE number = ?3",
            [(first, latest, team) for team, (first, latest) in spans.items()],
        )
        self._count(shelf, len(fresh), total)
        return len(fresh)

    def _remove(self, numbers: Sequence[int]) -> None:
        query = (
            "SELECT f.origin, m.text, m.length, coalesce(i.hooks, '') "
            "FROM memory m JOIN source f ON f.number = m.source LEFT JOIN item i ON i.number = m.number "
            "WHERE m.number = ?"
        )
        for number in numbers:
            row = self._db.execute(query, (number,)).fetchone()
            if row is None:
                continue
            origin, text, length, hooks = row
            shelf = SHELVES[cast(Origin, origin)]
            # A table without content has to be told what it filed.
            self._db.execute(
                f"INSERT INTO {shelf}_terms ({shelf}_terms, rowid, body) VALUES ('delete', ?, ?)",
                (number, _terms_of(text, hooks)[1]),
            )
            self._db.execute("DELETE FROM memory WHERE number = ?", (number,))
            for table in ("item", "embedded"):
                self._db.execute(f"DELETE FROM {table} WHERE number = ?", (number,))
            self._count(shelf, -1, -length)

    def _count(self, shelf: Shelf, memories: int, total: int) -> None:
        self._db.execute(
            "UPDATE shelf SET memories = memories + ?, terms = terms + ? WHERE name = ?", (memories, total, shelf)
        )

    def _named(self, table: str, name: str) -> int:
        self._db.execute(f"INSERT OR IGNORE INTO {table} (name) VALUES (?)", (_storable(name),))
        found = self._db.execute(f"SELECT number FROM {table} WHERE name = ?", (_storable(name),)).fetchone()
        return cast(int, found[0])

    # --- asking

    def size(self, shelf: Shelf) -> Size:
        return Size(*self._db.execute("SELECT memories, terms FROM shelf WHERE name = ?", (shelf,)).fetchone())

    def speakers(self) -> list[str]:
        """Everyone who is known to have said something."""
        return [name for (name,) in self._db.execute("SELECT name FROM speaker")]

    def count(self, shelf: Shelf, term: str) -> int:
        """In how many memories a term occurs."""
        row = self._db.execute(f"SELECT doc FROM {shelf}_counts WHERE term = ?", (term,)).fetchone()
        return 0 if row is None else cast(int, row[0])

    def counts_from(self, shelf: Shelf, prefix: str, limit: int) -> dict[str, int]:
        """The first `limit` terms that begin with `prefix`, and in how many memories each occurs."""
        rows = self._db.execute(
            f"SELECT term, doc FROM {shelf}_counts WHERE term >= ? AND term < ? LIMIT ?",
            (prefix, f"{prefix}\U0010ffff", limit),
        )
        return dict(rows.fetchall())

    def terms_from(self, shelf: Shelf, prefix: str) -> list[str]:
        """All terms that begin with `prefix`."""
        rows = self._db.execute(
            f"SELECT term FROM {shelf}_counts WHERE term >= ? AND term < ?", (prefix, f"{prefix}\U0010ffff")
        )
        return [term for (term,) in rows]

    def occurrences(self, shelf: Shelf, term: str) -> dict[int, int]:
        """The memories with a term, by number: 1, or 2 where it occurs more than once."""
        found = dict.fromkeys(self._with(shelf, term), 1)
        found.update(dict.fromkeys(self._with(shelf, AGAIN + term), 2))
        return found

    def _with(self, shelf: Shelf, term: str) -> Iterator[int]:
        # One long text is fetched in half the time that thousands of rows take.
        (numbers,) = self._db.execute(
            f"SELECT group_concat(doc) FROM {shelf}_places WHERE term = ?", (term,)
        ).fetchone()
        return map(int, numbers.split(",")) if numbers else iter(())

    def rare(self, shelf: Shelf, term: str, most: int) -> set[int]:
        """The memories with a term, by number, when they are at most `most`; else none."""
        rows = self._db.execute(f"SELECT doc FROM {shelf}_places WHERE term = ? LIMIT ?", (term, most + 1))
        found = {number for (number,) in rows}
        return found if len(found) <= most else set()

    def with_all(self, shelf: Shelf, wanted: Sequence[str], limit: int) -> list[int]:
        """The `limit` memories filed last that have all of these terms, by number."""
        words = " ".join(f'"{term}"' for term in wanted if '"' not in term)
        rows = self._db.execute(
            f"SELECT rowid FROM {shelf}_terms WHERE {shelf}_terms MATCH ? ORDER BY rowid DESC LIMIT ?", (words, limit)
        )
        return [number for (number,) in rows]

    def containing(self, origins: Sequence[Origin], text: str, limit: int) -> list[int]:
        """Memories whose text has these very characters, in any case of ASCII letters, newest first."""
        marks = ", ".join("?" * len(origins))
        rows = self._db.execute(
            f"SELECT number FROM memory WHERE {_STANDS_IN} ({marks})) AND text LIKE ? ESCAPE '\\' "
            "ORDER BY number DESC LIMIT ?",
            (*origins, f"%{_escaped(text)}%", limit),
        )
        return [number for (number,) in rows]

    def between(self, origins: Sequence[Origin], first: date, last: date, limit: int) -> list[int]:
        """Memories that were said or are about a day from `first` to `last`, the most important first.

        What was said half a day before or after is among them: local days begin at other times.
        """
        marks = ", ".join("?" * len(origins))
        low, high = first.toordinal(), last.toordinal()
        begin, end = ((day - _EPOCH_DAY) * 86_400 for day in (low, high + 1))
        rows = self._db.execute(
            "SELECT number FROM (SELECT m.number, m.importance, m.source FROM team t "
            "CROSS JOIN memory m ON m.team = t.number AND m.at BETWEEN ?1 AND ?2 WHERE t.last >= ?1 AND t.first <= ?2 "
            "UNION SELECT number, importance, source FROM memory WHERE refers BETWEEN ?3 AND ?4) "
            f"WHERE {_STANDS_IN} ({marks})) ORDER BY importance DESC, number DESC LIMIT ?",
            (begin - _HALF_A_DAY, end + _HALF_A_DAY, low, high, *origins, limit),
        )
        return [number for (number,) in rows]

    def read(self, numbers: Iterable[int]) -> dict[int, Filed]:
        """The memories with these numbers."""
        rows = self._in(f"SELECT {_COLUMNS} WHERE m.number IN", list(numbers))
        return {row[0]: _filed(row) for row in rows}

    def with_keys(self, keys: Iterable[str]) -> list[Filed]:
        """The memories with these keys; a key may stand in several sources."""
        return [_filed(row) for row in self._in(f"SELECT {_COLUMNS} WHERE m.key IN", list(keys))]

    def items(self, names: Iterable[str]) -> list[Filed]:
        """What stands in the archive under these names (`OBS-…`, `CHUNK-…`)."""
        hook = _FORMS.index("hook")
        return [_filed(row) for row in self._in(f"SELECT {_COLUMNS} WHERE i.form <> {hook} AND i.name IN", list(names))]

    def all(self, origin: Origin) -> list[Filed]:
        """Everything of one origin, in time order."""
        rows = self._db.execute(f"SELECT {_COLUMNS} WHERE f.origin = ? ORDER BY m.at, m.number", (origin,))
        return [_filed(row) for row in rows]

    def beside(self, filed: Filed, reach: int) -> tuple[list[int], list[int]]:
        """The memories of the same group up to `reach` places before, nearest first, and up to `reach` after."""
        if not filed.memory.group or filed.memory.at is None:
            return [], []
        values = (filed.team, _moment(filed.memory.at)[0], filed.number, reach)
        before, after = (self._db.execute(query, values).fetchall() for query in _BESIDE)
        return [number for (number,) in before], [number for (number,) in after]

    def _in(self, query: str, values: Sequence[Any], *first: object) -> Iterator[tuple[Any, ...]]:
        for some in _cut(values, _PARAMETERS):
            yield from self._db.execute(f"{query} ({', '.join('?' * len(some))})", (*first, *some))


def _cut(values: Sequence[_T], size: int) -> Iterator[Sequence[_T]]:
    return (values[start : start + size] for start in range(0, len(values), size))


def _terms_of(text: str, hooks: str = "") -> tuple[int, str]:
    """How many terms a text has, and what is filed: each term once, what occurs again and hooks with their mark."""
    found = Counter(terms.index_terms(text))
    filed = [*found, *(f"{AGAIN}{term}" for term, times in found.items() if times > 1)]
    if hooks:
        filed += [f"{HOOK}{term}" for term in dict.fromkeys(terms.index_terms(hooks)) if term not in found]
    return found.total(), " ".join(filed)


def _digest(memory: Memory) -> int:
    """What changes when anything of a memory does: a signed number of 4 bytes."""
    raw = repr([getattr(memory, name) for name in _FIELDS]).encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(raw, digest_size=4).digest(), "big", signed=True)


_EPOCH_DAY: Final = date(1970, 1, 1).toordinal()
_HALF_A_DAY: Final = 50_400
"""14 hours, in seconds: no time zone is further from UTC."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=timezone.utc)


def _moment(at: datetime | None) -> tuple[int | None, int | None]:
    """Seconds since 1970, and minutes east of UTC."""
    if at is None:
        return None, None
    offset = at.utcoffset() or timedelta()
    return int((at - _EPOCH).total_seconds()), int(offset.total_seconds() // 60)


def _datetime(seconds: int | None, minutes: int | None) -> datetime | None:
    if seconds is None:
        return None
    zone = timezone(timedelta(minutes=minutes)) if minutes else timezone.utc
    return (_EPOCH + timedelta(seconds=seconds)).astimezone(zone)


def _storable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def _filed(row: Sequence[Any]) -> Filed:
    (
        number, origin, source, key, text, at, zone, team, group, kind, importance, refers, by, speaker, length,
        form, item, hooks,
    ) = row  # fmt: skip
    memory = Memory(
        key=key,
        text=text,
        at=_datetime(at, zone),
        group=group,
        kind=None if kind is None else _KINDS[kind],
        importance=importance / _THOUSANDTHS,
        refers=date.fromordinal(refers) if refers else None,
        superseded_by=by,
        speaker=speaker,
        form=_FORMS[form or 0],
        item=item,
        hooks=hooks or "",
    )
    return Filed(number, origin, source, memory, length, team)
