"""log stats: how much of what, by day, tool, job and model; what failed, and what it cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, tzinfo

from total_recall import clock, periods
from total_recall.commands import places
from total_recall.commands.log_lines import duration, harmless, money
from total_recall.commands.logged import Asked, opened
from total_recall.commands.observing import counted
from total_recall.commands.places import Configuration
from total_recall.sidecar import statistics
from total_recall.sidecar.statistics import Count, Statistics

DEFAULT_SINCE = periods.parse("week")
SHOWN = 15
"""So many tools, jobs and models are shown to a person; `--json` has all of them."""


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line asked for; without a time it is this week."""

    asked: Asked = field(default_factory=Asked)


@dataclass(frozen=True, slots=True)
class Result:
    """The counts of a time; without `until` up to now."""

    tz: tzinfo
    since: datetime | None
    until: datetime | None
    statistics: Statistics
    sessions: int
    notes: tuple[str, ...] = ()

    def payload(self) -> dict[str, object]:
        """The fields of the JSON answer."""
        s = self.statistics
        return {
            "time_zone": str(self.tz),
            "since": self.since.astimezone(self.tz).isoformat() if self.since else None,
            "until": self.until.astimezone(self.tz).isoformat() if self.until else None,
            "sessions": self.sessions,
            # The tokens of a run are those of the model calls in it.
            "total": {**_fields(s.total()), **_spent_fields(s.total("model_call"))},
            "types": _table(s.by_type()),
            "days": {day.isoformat(): _table(types) for day, types in s.by_day().items()},
            "tools": _table(s.by_name("tool_call")),
            "jobs": _table(s.by_name("cron_run")),
            "models": _table(s.by_name("model_call")),
            "own_runs": _table(s.by_name("own_run")),
            "failures": [{"type": kind, "name": name, **_fields(c)} for (kind, name), c in s.failures().items()],
            "warnings": list(self.notes),
        }

    def lines(self) -> list[str]:
        """The answer for a person."""
        notes = [f"  warning: {note}" for note in self.notes]
        if not self.statistics.rows:
            return ["Nothing is in the log of that time.", *notes]
        s = self.statistics
        sections = (
            ("By day", [_day_line(str(day), types) for day, types in s.by_day().items()]),
            ("By tool", _named_lines(s.by_name("tool_call"))),
            ("By job", _named_lines(s.by_name("cron_run"))),
            ("By model", _model_lines(s.by_name("model_call"))),
            ("Runs of Total Recall", _named_lines(s.by_name("own_run"))),
            ("What failed", [f"{c.failed:>7,}  {kind} {harmless(name)}" for (kind, name), c in _failed_most(s)]),
        )
        said = [self._head()]
        for head, lines in sections:
            said += ["", head, *(f"  {line}" for line in lines)] if lines else []
        return [*said, *notes]

    def _head(self) -> str:
        total = self.statistics.total()
        since, until = (at.astimezone(self.tz) if at else None for at in (self.since, self.until))
        when = " ".join(
            part
            for part in (
                f"since {since:%Y-%m-%d %H:%M}" if since else "",
                f"until {until:%Y-%m-%d %H:%M}" if until else "",
            )
            if part
        )
        happened = f"{counted(total.times, 'event')} in {counted(self.sessions, 'session')}, {total.failed:,} failed"
        return f"{happened} ({when or 'all'}, {self.tz})"


def run(options: Options, config: Configuration | None = None) -> Result:
    """Count. Raises TotalRecallError for a session or agent that is not there, StoreError for an unreadable log."""
    now = clock.now()
    config = config or places.configure()
    tz = config.settings.tz
    asked = options.asked
    if asked.since is None and asked.until is None and asked.on is None:
        asked = replace(asked, since=DEFAULT_SINCE)
    with opened(config, now, asked) as found:
        each = [statistics.gather(log.events.db, log.wanted, tz) for log in found.logs]
        sessions = sum(statistics.sessions_of(log.events.db, log.wanted) for log in found.logs)
    wanted = asked.wanted(now, tz)
    since, until = (clock.from_epoch_ms(ms) if ms is not None else None for ms in (wanted.since_ms, wanted.until_ms))
    return Result(tz, since, until, statistics.added(each), sessions, found.notes)


def _table(counts: Mapping[str, Count]) -> dict[str, dict[str, object]]:
    return {name: _fields(c) for name, c in counts.items()}


def _fields(c: Count) -> dict[str, object]:
    return {
        "count": c.times,
        "failed": c.failed,
        "failure_rate": None if c.failure_rate is None else round(c.failure_rate, 4),
        "mean_ms": None if c.mean_ms is None else round(c.mean_ms, 1),
        **_spent_fields(c),
    }


def _spent_fields(c: Count) -> dict[str, object]:
    return {
        "tokens_in": c.tokens_in,
        "tokens_out": c.tokens_out,
        "tokens_cached": c.tokens_cached,
        "cost_usd": None if c.cost_usd is None else round(c.cost_usd, 6),
    }


def _day_line(day: str, types: Mapping[str, Count]) -> str:
    nothing = Count()
    calls, said = types.get("tool_call", nothing), types.get("user_message", nothing)
    total = sum(types.values(), nothing)
    spent = _spent(types.get("model_call", nothing))
    return (
        f"{day}  {total.times:>7,} events  {said.times:>5,} messages  {calls.times:>6,} tool calls  "
        f"{total.failed:>5,} failed{f'  {spent}' if spent else ''}"
    )


def _named_lines(counts: Mapping[str, Count]) -> list[str]:
    return [_named_line(name, c) for name, c in list(counts.items())[:SHOWN]] + _more(counts)


def _named_line(name: str, c: Count) -> str:
    rate = f"{c.failed:,} failed ({c.failure_rate:.1%})" if c.failure_rate is not None else "outcome not known"
    mean = f", {duration(c.mean_ms)} on average" if c.mean_ms is not None else ""
    return f"{c.times:>7,}  {harmless(name) or '-'}: {rate}{mean}"


def _model_lines(counts: Mapping[str, Count]) -> list[str]:
    return [
        f"{c.times:>7,}  {harmless(name) or '-'}: {_spent(c) or 'no tokens told'}"
        for name, c in list(counts.items())[:SHOWN]
    ] + _more(counts)


def _more(counts: Mapping[str, Count]) -> list[str]:
    return [f"and {len(counts) - SHOWN:,} more"] if len(counts) > SHOWN else []


def _spent(c: Count) -> str:
    tokens = f"{c.tokens_in:,} tokens in, {c.tokens_out:,} out" if c.tokens_in or c.tokens_out else ""
    return ", ".join(part for part in (tokens, money(c.cost_usd) if c.cost_usd else "") if part)


def _failed_most(s: Statistics) -> list[tuple[tuple[str, str], Count]]:
    return sorted(s.failures().items(), key=lambda item: (-item[1].failed, item[0]))[:SHOWN]
