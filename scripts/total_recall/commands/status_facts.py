"""What `status` looks at in a memory: what is there, what waits, what ran, what comes next. Changes nothing."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta, tzinfo
from pathlib import Path

from total_recall import clock, periods, retention
from total_recall.commands import dreaming
from total_recall.commands.compressing import Choice, choose, with_stand_ins
from total_recall.commands.doctor_databases import read_only
from total_recall.commands.observe import LAST_RUN
from total_recall.commands.places import Configuration, Place
from total_recall.memory.context import harmless
from total_recall.memory.document import Document, parse
from total_recall.memory.staging import Staging
from total_recall.memory.store import MemoryStore
from total_recall.records import ModelCall
from total_recall.sessions.source import Problems
from total_recall.sessions.taking import Window, take_new
from total_recall.sidecar import database, statistics
from total_recall.sidecar.queries import Wanted
from total_recall.state import RunRecord, State
from total_recall.tokens import count_words, estimate_tokens

QUIET = timedelta(hours=1)
"""A schedule leaves a stamp every 15 minutes; an older one says that it does not run."""


RUNS = ("observe", "recover", "flush", "watch", "reflect", "dream")
"""What leaves a record of its last run."""


@dataclass(frozen=True, slots=True)
class StoreStatus:
    """One session store: its kind, where it is, and how many transcripts it shows."""

    kind: str
    path: str
    transcripts: int
    unread: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NextOut:
    """What is archived next: on which day, by which rule of `retention`, and how many lines are due today."""

    day: date
    rule: str
    id: str | None
    text: str
    due_today: int


@dataclass(frozen=True, slots=True)
class LastDay:
    """The last 24 hours: what the log has of them, and what models were asked. `cost_usd`: where a price was told."""

    events: int | None
    failed: int | None
    tool_calls: int | None
    messages: int | None
    calls: int
    calls_failed: int
    tokens_in: int
    tokens_out: int
    cost_usd: float | None


@dataclass(frozen=True, slots=True)
class MemoryStatus:
    """One memory. `new` messages are in the stores and not yet taken; `waiting` are taken and not yet observed.

    `types` counts lines by type, `runs` are the last ones by command, `proposals` those that wait for a decision.
    """

    memory_dir: Path
    agents: tuple[str, ...]
    stores: tuple[StoreStatus, ...]
    observations: int
    priorities: dict[str, int]
    words: int
    tokens: int
    observed: int
    new: int
    waiting: int
    oldest_waiting: datetime | None
    last_stamp: datetime | None
    last_run: RunRecord | None
    compressor: str
    problems: tuple[str, ...]
    types: dict[str, int]
    runs: tuple[RunRecord, ...]
    proposals: int
    next_out: NextOut | None
    last_day: LastDay

    @property
    def health(self) -> str:
        """`never ran`, `quiet` (nothing to do), `lagging` (messages wait) or `stopped` (they wait and nothing runs)."""
        if self.last_stamp is None:
            return "never ran"
        if not self.new and not self.waiting:
            return "quiet"
        return "lagging" if clock.now() - self.last_stamp < QUIET else "stopped"


@dataclass(frozen=True, slots=True)
class Cost:
    """What one model did on one day. `failed` calls brought no answer; `cost_usd` is None where no price was told."""

    day: date
    model: str
    calls: int
    failed: int
    tokens_in: int
    tokens_out: int
    cost_usd: float | None


def memory_of(place: Place, config: Configuration) -> MemoryStatus:
    """How one memory stands."""
    problems = Problems()
    document = parse(MemoryStore(place.memory_dir).read().content)
    text = "\n".join(entry.text for entry in document.observations)
    now, tz = clock.now(), config.settings.tz
    with State.open_copy(place.own_dir) as state:
        calls = state.calls(now - DAY)
        runs = tuple(run for name in RUNS if (run := state.last_run(name)) is not None)
        next_out = _next_out(document, state, config)
        observed = state.counts().get("observed", 0)
        waiting, oldest, last = state.queue_length(), state.oldest_queued(), state.last_run("observe")
        choice = with_stand_ins(choose(config.settings, "observer"), state, "observer")
        first = state.meta("first_run_done") is None
        since = round((clock.now() - timedelta(hours=24)).timestamp() * 1000) if first else 0
        window = Window(config.settings.include, config.host.main_key, since_ms=since)
        new = take_new(place.sources, state, window, problems).count.queued
    proposals = Staging(place.memory_dir, place.workspace).entries()
    day, unread = _events(place.own_dir / database.NAME, now, tz)
    return MemoryStatus(
        memory_dir=place.memory_dir,
        agents=place.agents,
        stores=tuple(StoreStatus(s.name, str(s.location), s.transcripts(), tuple(s.unread())) for s in place.sources),
        observations=len(document.observations),
        priorities=dict(Counter(entry.priority for entry in document.observations)),
        words=count_words(text),
        tokens=estimate_tokens(document.render().decode("utf-8", "replace")),
        observed=observed,
        new=new,
        waiting=waiting,
        oldest_waiting=oldest,
        last_stamp=_stamp(place.memory_dir / LAST_RUN),
        last_run=last,
        compressor=compressor_words(choice),
        problems=(*problems.lines(), *unread),
        types=dict(Counter(entry.type or "untyped" for entry in document.observations)),
        runs=runs,
        proposals=sum(entry.status in ("pending", "approved") for entry in proposals),
        next_out=next_out,
        last_day=_last_day(day, calls),
    )


DAY = timedelta(days=1)


def _next_out(document: Document, state: State, config: Configuration) -> NextOut | None:
    """What age lets go first, if it is not read, edited or superseded until then."""
    settings = config.settings
    today = clock.now().astimezone(settings.tz).date()
    days = dreaming.accessed(document, state, settings.tz)
    items, _ = dreaming.items_of(document, days, today, with_types=settings.dream_phase > 1)
    leaving = [(*due, item) for item in items if item.is_open and (due := retention.due_day(item.memory, today))]
    if not leaving:
        return None
    day, rule, item = min(leaving, key=lambda one: (one[0], one[2].number))
    return NextOut(day, rule, item.id, harmless(item.text), sum(one[0] <= today for one in leaving))


def _events(path: Path, now: datetime, tz: tzinfo) -> tuple[statistics.Statistics | None, tuple[str, ...]]:
    """(what the log has of the last 24 hours, why it could not be read). A log that is not there yet has nothing."""
    if not path.is_file() or not path.stat().st_size:
        return None, ()
    try:
        with read_only(path) as db:
            return statistics.gather(db, Wanted(since_ms=periods.milliseconds(now - DAY)), tz), ()
    except sqlite3.DatabaseError as error:
        return None, (f"{path} cannot be read: {error}; `doctor` says what to do",)


def _last_day(day: statistics.Statistics | None, calls: Sequence[ModelCall]) -> LastDay:
    prices = [call.cost_usd for call in calls if call.cost_usd is not None]
    said = (("user_message", statistics.HUMAN), ("assistant_reply", ""))
    return LastDay(
        events=day.total().times if day else None,
        failed=day.total().failed if day else None,
        tool_calls=day.total("tool_call").times if day else None,
        messages=sum(day.total(*who).times for who in said) if day else None,
        calls=len(calls),
        calls_failed=sum(call.outcome != "ok" for call in calls),
        tokens_in=sum(call.tokens_in or 0 for call in calls),
        tokens_out=sum(call.tokens_out or 0 for call in calls),
        cost_usd=sum(prices) if prices else None,
    )


def _stamp(path: Path) -> datetime | None:
    try:
        return clock.from_epoch_ms(int(path.read_text().strip() or "0") * 1000)
    except (OSError, ValueError, OverflowError):
        return None


def compressor_words(choice: Choice) -> str:
    """Who compresses, in words."""
    if choice.endpoint is None:
        return f"offline ({choice.why_offline or 'no model is asked'})"
    note = f" ({choice.note})" if choice.note else ""
    return f"{', then '.join(choice.models)} at {choice.endpoint.host}, then offline{note}"


def costs_of(found: Sequence[Place], now: datetime, tz: tzinfo) -> tuple[Cost, ...]:
    """Calls of the last 30 days by local day and model."""
    groups: dict[tuple[date, str], list[ModelCall]] = {}
    for place in found:
        with State.open_copy(place.own_dir) as state:
            for call in state.calls(now - timedelta(days=30)):
                groups.setdefault((call.at.astimezone(tz).date(), call.model), []).append(call)
    return tuple(
        Cost(
            day,
            model,
            len(calls),
            sum(call.outcome != "ok" for call in calls),
            sum(call.tokens_in or 0 for call in calls),
            sum(call.tokens_out or 0 for call in calls),
            sum(prices) if (prices := [c.cost_usd for c in calls if c.cost_usd is not None]) else None,
        )
        for (day, model), calls in sorted(groups.items())
    )
