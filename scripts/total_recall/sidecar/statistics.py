"""Counts over the log: by local day, tool, job, model and kind of error; failures, tokens and money. SQL counts."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from datetime import date, tzinfo
from typing import Any, Final, TypeVar

from total_recall import clock, periods
from total_recall.sidecar import queries
from total_recall.sidecar.queries import Wanted

_K = TypeVar("_K", bound=Hashable)

HUMAN: Final = "human"
"""The kind of a user message that a person wrote."""


@dataclass(frozen=True, slots=True)
class Count:
    """How often something happened, and what it took. `known` is how often it is known whether it went well.

    `duration_ms` and `cost_usd` are sums over those of which they are known; None when that is none.
    """

    times: int = 0
    failed: int = 0
    known: int = 0
    timed: int = 0
    duration_ms: int | None = None
    tokens_in: int = 0
    tokens_out: int = 0
    tokens_cached: int = 0
    cost_usd: float | None = None

    def __add__(self, other: Count) -> Count:
        return Count(**{f.name: _sum(getattr(self, f.name), getattr(other, f.name)) for f in fields(Count)})

    @property
    def failure_rate(self) -> float | None:
        """0 to 1, of those of which it is known how they went."""
        return self.failed / self.known if self.known else None

    @property
    def mean_ms(self) -> float | None:
        """How long it took on average, of those of which it is known."""
        return None if self.duration_ms is None or not self.timed else self.duration_ms / self.timed


def _sum(one: Any, other: Any) -> Any:
    """The sum of two numbers, either of which may be None, for what is not known."""
    return one if other is None else other if one is None else one + other


@dataclass(frozen=True, slots=True)
class Row:
    """What happened on one local day: so many events of this type and name."""

    day: date
    type: str
    name: str
    count: Count


@dataclass(frozen=True, slots=True)
class Statistics:
    """All rows of a time, and the sums that people ask for. The groups are sorted, the most first; days by date."""

    rows: tuple[Row, ...]

    def total(self, kind: str = "", name: str = "") -> Count:
        """The sum over a type and name, or over everything."""
        chosen = (row.count for row in self.rows if kind in ("", row.type) and name in ("", row.name))
        return sum(chosen, Count())

    def by_type(self) -> Mapping[str, Count]:
        """Every type of event."""
        return _grouped((row.type, row.count) for row in self.rows)

    def by_name(self, kind: str) -> Mapping[str, Count]:
        """The tools of `tool_call`, the jobs of `cron_run`, the models of `model_call` …"""
        return _grouped((row.name, row.count) for row in self.rows if row.type == kind)

    def failures(self) -> Mapping[tuple[str, str], Count]:
        """What failed, by (type, name)."""
        return _grouped(((row.type, row.name), row.count) for row in self.rows if row.count.failed)

    def by_day(self) -> Mapping[date, Mapping[str, Count]]:
        """The types of each local day on which something happened."""
        days: dict[date, list[tuple[str, Count]]] = defaultdict(list)
        for row in self.rows:
            days[row.day].append((row.type, row.count))
        return {day: _grouped(counts) for day, counts in sorted(days.items())}


def gather(db: sqlite3.Connection, wanted: Wanted, tz: tzinfo) -> Statistics:
    """Count what is wanted (its `words` apart), each local day by itself.

    Raises TotalRecallError when the log has no such session.
    """
    first, last = db.execute(_EDGES).fetchone()
    if first is None:
        return Statistics(())
    since_ms = max(first, wanted.since_ms or 0)
    until_ms = last + 1 if wanted.until_ms is None else min(last + 1, wanted.until_ms)
    where, values = queries.narrowed(db, replace(wanted, since_ms=None, until_ms=None))
    query = f"{_COUNTED} WHERE e.at >= ? AND e.at < ?{where} GROUP BY 1, 2"
    rows: list[Row] = []
    for day, begin, end in periods.days(clock.from_epoch_ms(since_ms), clock.from_epoch_ms(until_ms), tz):
        span = (periods.milliseconds(begin), periods.milliseconds(end))
        rows += (Row(day, r[0], r[1], Count(*r[2:])) for r in db.execute(query, (*span, *values)))
    return Statistics(tuple(rows))


_EDGES: Final = "SELECT (SELECT min(at) FROM event), (SELECT max(at) FROM event)"
"""Each by itself: both in one question would be a look through the whole index."""
_COUNTED: Final = (
    "SELECT e.type, coalesce(e.name, ''), count(*), sum(e.ok IS 0), count(e.ok), count(e.duration_ms),"
    " sum(e.duration_ms), coalesce(sum(e.tokens_in), 0), coalesce(sum(e.tokens_out), 0),"
    " coalesce(sum(e.tokens_cached), 0), sum(e.cost_usd) FROM event e"
)


def sessions_of(db: sqlite3.Connection, wanted: Wanted) -> int:
    """In how many sessions something of what is wanted happened."""
    where, values = queries.narrowed(db, wanted)
    query = f"SELECT count(DISTINCT e.session) FROM event e JOIN session s ON s.num = e.session WHERE s.id <> ''{where}"
    return int(db.execute(query, values).fetchone()[0])


def added(several: Iterable[Statistics]) -> Statistics:
    """The statistics of several memories as one."""
    groups = _grouped(((row.day, row.type, row.name), row.count) for one in several for row in one.rows)
    return Statistics(tuple(Row(*key, counted) for key, counted in sorted(groups.items(), key=lambda item: item[0])))


def _grouped(counts: Iterable[tuple[_K, Count]]) -> dict[_K, Count]:
    groups: dict[_K, Count] = {}
    for key, counted in counts:
        groups[key] = groups.get(key, Count()) + counted
    return dict(sorted(groups.items(), key=lambda item: (-item[1].times, str(item[0]))))
