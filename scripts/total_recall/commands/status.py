"""status: is it working? What is stored, what waits, when the last run was, and each setting with its origin."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import date, datetime, timedelta, tzinfo
from pathlib import Path

from total_recall import clock
from total_recall.commands import places
from total_recall.commands.compressing import Choice, choose, with_stand_ins
from total_recall.commands.observe import LAST_RUN
from total_recall.commands.observing import counted
from total_recall.commands.places import Configuration, Place
from total_recall.errors import StoreError
from total_recall.memory.document import parse
from total_recall.memory.store import MemoryStore
from total_recall.records import ModelCall
from total_recall.sessions.source import Problems
from total_recall.sessions.taking import Window, take_new
from total_recall.settings import Shown
from total_recall.state import RunRecord, State
from total_recall.tokens import count_words, estimate_tokens

QUIET = timedelta(hours=1)
"""A schedule leaves a stamp every 15 minutes; an older one says that it does not run."""


@dataclass(frozen=True, slots=True)
class StoreStatus:
    """One session store: its kind, where it is, and how many transcripts it shows."""

    kind: str
    path: str
    transcripts: int
    unread: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MemoryStatus:
    """One memory. `new` messages are in the stores and not yet taken; `waiting` are taken and not yet observed."""

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


@dataclass(frozen=True, slots=True)
class Result:
    """What `status` found. `costs` is None unless it was asked for."""

    memories: tuple[MemoryStatus, ...]
    settings: tuple[Shown, ...]
    problems: tuple[str, ...]
    compressor: str
    time_zone: str
    costs: tuple[Cost, ...] | None = None

    def payload(self) -> dict[str, object]:
        """The fields of the JSON answer."""
        return {
            "compressor": self.compressor,
            "time_zone": self.time_zone,
            "warnings": list(self.problems),
            **({} if self.costs is None else {"costs": [{**asdict(c), "day": c.day.isoformat()} for c in self.costs]}),
            "settings": [{"name": s.name, "value": s.value, "origin": s.origin} for s in self.settings],
            "memories": [
                {
                    "memory_dir": str(m.memory_dir),
                    "agents": list(m.agents),
                    "health": m.health,
                    "stores": [
                        {"kind": s.kind, "path": s.path, "transcripts": s.transcripts, "unread": list(s.unread)}
                        for s in m.stores
                    ],
                    "observations": m.observations,
                    "priorities": m.priorities,
                    "words": m.words,
                    "tokens": m.tokens,
                    "observed_messages": m.observed,
                    "new_messages": m.new,
                    "waiting_messages": m.waiting,
                    "oldest_waiting": m.oldest_waiting.isoformat() if m.oldest_waiting else None,
                    "last_run": m.last_stamp.isoformat() if m.last_stamp else None,
                    "last_result": m.last_run.detail if m.last_run else None,
                    "compressor": m.compressor,
                    "warnings": list(m.problems),
                }
                for m in self.memories
            ],
        }

    def lines(self) -> list[str]:
        """The answer for a person."""
        said = []
        for memory in self.memories:
            said += _memory_lines(memory)
        said += [f"warning: {line}" for line in self.problems]
        if self.costs is not None:
            return [*said, "", *_cost_lines(self.costs)]
        said += ["", f"Compressor: {self.compressor}", f"Time zone:  {self.time_zone}", "", "Settings"]
        width = max(len(s.name) for s in self.settings)
        said += [f"  {s.name:<{width}}  {s.value or '-'}  ({s.origin})" for s in self.settings]
        return said


def _memory_lines(memory: MemoryStatus) -> list[str]:
    marks = " ".join(f"{sign} {memory.priorities.get(name, 0)}" for name, sign in _SIGNS)
    size = f"{memory.words:,} words, about {memory.tokens:,} tokens"
    said = [
        f"Memory      {memory.memory_dir / 'observations.md'}",
        f"            {memory.observations} observations ({marks}), {size}",
        f"Agents      {', '.join(memory.agents)}",
    ]
    for store in memory.stores:
        there = f"{store.transcripts} transcripts" if store.transcripts else "nothing there"
        said.append(f"Store       {store.path} ({store.kind}): {there}")
        said += [f"            not read: {line}" for line in store.unread[:3]]
        if len(store.unread) > 3:
            said.append(f"            not read: {len(store.unread) - 3} more")
    waits = f"{memory.new} new, {memory.waiting} waiting"
    if memory.oldest_waiting:
        waits += f", the oldest since {memory.oldest_waiting.astimezone():%Y-%m-%d %H:%M}"
    last = f"{memory.last_stamp.astimezone():%Y-%m-%d %H:%M}" if memory.last_stamp else "never"
    said += [
        f"Messages    {memory.observed:,} observed, {waits}",
        f"Last run    {last}: {memory.health}",
    ]
    if memory.last_run:
        said.append(f"            {memory.last_run.ended.astimezone():%Y-%m-%d %H:%M}: {memory.last_run.detail}")
    return said + [f"  warning: {line}" for line in memory.problems]


def _cost_lines(costs: Sequence[Cost]) -> list[str]:
    if not costs:
        return ["No model was asked in the last 30 days."]
    width = max(len(cost.model) for cost in costs)
    said = []
    for cost in costs:
        price = "no price told" if cost.cost_usd is None else f"${cost.cost_usd:.4f}"
        failed = f", {cost.failed} failed" if cost.failed else ""
        said.append(
            f"{cost.day}  {cost.model:<{width}}  {counted(cost.calls, 'call')}{failed}, "
            f"{cost.tokens_in:,} tokens in, {cost.tokens_out:,} out, {price}"
        )
    return said


_SIGNS = (("high", "🔴"), ("medium", "🟡"), ("low", "🟢"))


def run(config: Configuration | None = None, *, cost: bool = False) -> Result:
    """Look, and change nothing."""
    now = clock.now()
    config = config or places.configure()
    problems = [config.host.problem] if config.host.problem else []
    found: list[Place] = []
    try:
        found = places.find(config, now)
    except StoreError as error:
        problems.append(str(error))
    settings = config.settings
    memories = tuple(memory_of(place, config) for place in found)
    return Result(
        memories,
        settings.shown,
        tuple(problems),
        memories[0].compressor if memories else _compressor(choose(settings, "observer")),
        str(settings.tz),
        costs_of(found, now, settings.tz) if cost else None,
    )


def _compressor(choice: Choice) -> str:
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


def memory_of(place: Place, config: Configuration) -> MemoryStatus:
    """How one memory stands."""
    problems = Problems()
    document = parse(MemoryStore(place.memory_dir).read().content)
    text = "\n".join(entry.text for entry in document.observations)
    with State.open_copy(place.own_dir) as state:
        observed = state.counts().get("observed", 0)
        waiting, oldest, last = state.queue_length(), state.oldest_queued(), state.last_run("observe")
        choice = with_stand_ins(choose(config.settings, "observer"), state, "observer")
        first = state.meta("first_run_done") is None
        since = round((clock.now() - timedelta(hours=24)).timestamp() * 1000) if first else 0
        window = Window(config.settings.include, config.host.main_key, since_ms=since)
        new = take_new(place.sources, state, window, problems).count.queued
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
        compressor=_compressor(choice),
        problems=tuple(problems.lines()),
    )


def _stamp(path: Path) -> datetime | None:
    try:
        return clock.from_epoch_ms(int(path.read_text().strip() or "0") * 1000)
    except (OSError, ValueError, OverflowError):
        return None
