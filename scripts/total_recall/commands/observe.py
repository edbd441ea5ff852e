"""observe: what was said since the last run becomes observations in `observations.md`.

Finish what an earlier run left pending; take what is new in the stores; cut it into batches; compress each; commit.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from total_recall import clock, gate, logs
from total_recall.commands import places
from total_recall.commands.places import Configuration, Place
from total_recall.errors import AlreadyRunning, StoreError
from total_recall.llm import offline
from total_recall.memory.commit import Done, commit, finish_pending
from total_recall.memory.line import format_observation
from total_recall.memory.store import MemoryStore
from total_recall.records import Batch, Message, Observation
from total_recall.sessions.batching import batches
from total_recall.sessions.source import Problems, Watch
from total_recall.sessions.taking import Window, take_new
from total_recall.state import RunRecord, State, Step, no_step, observer_lock
from total_recall.tokens import estimate_tokens

FIRST_RUN = timedelta(hours=24)
CONTEXT_MESSAGES = 4
COMMIT_SECONDS = 2.0
"""A document write for each small batch would cost more than compressing it offline; they are gathered this long."""
LAST_RUN = ".observer-last-run"
LAST_HASH = ".observer-last-hash"
TEMPORARY = frozenset({"database", "unreadable", "vanished", "index"})
"""Problems that may be gone at the next run, which therefore looks for itself."""

Compress = Callable[[Batch], tuple[Observation, ...]]


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line asked for. `since` is aware; `argv` is what the gate files this run under."""

    since: datetime | None = None
    everything: bool = False
    session_id: str | None = None
    agent: str | None = None
    dry_run: bool = False
    argv: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MemoryRun:
    """What a run did to one memory. `messages` were newly taken, `waiting` are still to be observed."""

    memory_dir: Path
    messages: int
    sessions: int
    marked_as_seen: int
    observations: tuple[Observation, ...]
    waiting: int
    first_run: bool
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Idle:
    """All that this run looked at, as it was before. While it stays so, the next run has nothing to do."""

    watches: tuple[Watch, ...]
    inodes: tuple[str, ...]
    stamps: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Result:
    """What `observe` did, over all memories. `idle` is None when the next run must look for itself."""

    runs: tuple[MemoryRun, ...]
    problems: tuple[str, ...]
    dry_run: bool
    idle: Idle | None = None

    def when_idle(self) -> Result:
        """What the next run says if nothing happens until then."""
        runs = tuple(MemoryRun(run.memory_dir, 0, 0, 0, (), 0, False, ()) for run in self.runs)
        return Result(runs, (), False)

    def payload(self) -> dict[str, object]:
        """The fields of the JSON answer."""
        return {
            "messages": sum(run.messages for run in self.runs),
            "observations": sum(len(run.observations) for run in self.runs),
            "dry_run": self.dry_run,
            "warnings": list(self.problems),
            "memories": [
                {
                    "memory_dir": str(run.memory_dir),
                    "messages": run.messages,
                    "sessions": run.sessions,
                    "marked_as_seen": run.marked_as_seen,
                    "waiting": run.waiting,
                    "observations": [format_observation(o) for o in run.observations],
                    "notes": list(run.notes),
                }
                for run in self.runs
            ],
        }

    def lines(self) -> list[str]:
        """The answer for a person."""
        said = []
        for run in self.runs:
            if run.messages or run.observations or len(self.runs) == 1:
                said.append(_sentence(run, self.dry_run))
            if self.dry_run:
                said += [format_observation(o).partition(" <!--")[0] for o in run.observations]
            said += [f"  {note}" for note in run.notes]
        return [*(said or ["Nothing new."]), *(f"  warning: {line}" for line in self.problems)]


def _sentence(run: MemoryRun, dry_run: bool) -> str:
    if not run.messages and not run.observations:
        return "Nothing new." if not run.waiting else f"Nothing new; {run.waiting} messages wait."
    would = "would become" if dry_run else "became"
    where = "" if dry_run else f" in {run.memory_dir / 'observations.md'}"
    return (
        f"{_counted(run.messages, 'message')} of {_counted(run.sessions, 'session')} {would} "
        f"{_counted(len(run.observations), 'observation')}{where}"
    )


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}" + ("" if number == 1 else "s")


def run(options: Options, config: Configuration | None = None, compress: Compress | None = None) -> Result:
    """Observe every memory, one after the other.

    Raises StoreError when there is nothing that could be read although something is there, MemoryWriteError when a
    memory cannot be written; what was taken until then is safe.
    """
    now = clock.now()
    config = config or places.configure()
    compress = compress or partial(offline.compress, tz=config.settings.tz)
    found = places.find(config, now, options.agent)
    problems = Problems()
    gate.forget(options.argv)
    runs = tuple(observe_memory(place, config, options, compress, now, problems) for place in found)
    _fail_if_blind(found, problems)
    return Result(
        runs, tuple(_all_problems(config, found, problems)), options.dry_run, _idle(options, config, found, runs, problems)
    )


def observe_memory(
    place: Place,
    config: Configuration,
    options: Options,
    compress: Compress,
    now: datetime,
    problems: Problems,
    step: Step = no_step,
) -> MemoryRun:
    """One run over one memory. `step` is told each step of a commit."""
    if options.dry_run:
        with State.open_copy(place.own_dir) as state:
            return _observe(place, config, options, compress, now, problems, state, None, step)
    try:
        with observer_lock(place.own_dir), State.open(place.own_dir) as state:
            store = MemoryStore(place.memory_dir, step)
            done = _observe(place, config, options, compress, now, problems, state, store, step)
            _leave_traces(place, state, store, done, now)
            return done
    except AlreadyRunning as running:
        return MemoryRun(place.memory_dir, 0, 0, 0, (), 0, False, (str(running),))


def _observe(
    place: Place,
    config: Configuration,
    options: Options,
    compress: Compress,
    now: datetime,
    problems: Problems,
    state: State,
    store: MemoryStore | None,
    step: Step,
) -> MemoryRun:
    settings = config.settings
    notes: list[str] = []
    finished: tuple[Observation, ...] = ()
    if store is not None:
        leftover = finish_pending(state, store, step)
        finished = leftover.observations
        notes += _rescue_notes(leftover.rescued)
    window, first_run = _window(config, options, state, now)
    taking = take_new(place.sources, state, window, problems)
    if first_run and options.session_id is None:
        state.set_meta("first_run_done", now.isoformat())
    written: list[Observation] = list(finished)
    gathered: list[Done] = []
    since = time.monotonic()
    queue = state.queue(options.session_id)
    for batch, rows in batches(queue, settings.batch_tokens, estimate_tokens, partial(_said_before, state)):
        gathered.append(Done(batch.id, rows, compress(batch)))
        if store is not None and time.monotonic() - since > COMMIT_SECONDS:
            committed = commit(gathered, state, store, step)
            written += committed.observations
            notes += _rescue_notes(committed.rescued)
            gathered, since = [], time.monotonic()
    if store is not None:
        committed = commit(gathered, state, store, step)
        written += committed.observations
        notes += _rescue_notes(committed.rescued)
    else:
        written += [o for done in gathered for o in done.observations]
    if first_run and taking.count.skipped:
        notes.append(
            f"first run: {_counted(taking.count.skipped, 'message')} older than 24 hours marked as seen; "
            "`observe --all` takes them too"
        )
    waiting = 0 if store is None else state.queue_length()
    return MemoryRun(
        place.memory_dir, taking.count.queued, len(taking.sessions), taking.count.skipped, tuple(written), waiting,
        first_run, tuple(notes),
    )  # fmt: skip


def _window(config: Configuration, options: Options, state: State, now: datetime) -> tuple[Window, bool]:
    """Which messages this run wants, and whether it is a first run.

    A first run takes the last 24 hours. Where that begins is written down before anything is read, so that a first
    run that was cut short goes on with the same window.
    """
    window = Window(config.settings.include, config.host.main_key, session_id=options.session_id)
    asked = 0 if options.everything else _ms(options.since) if options.since else None
    if state.meta("first_run_done") is not None:
        return replace(window, promote_since_ms=asked), False
    if options.session_id is not None:
        return replace(window, promote_since_ms=asked or 0), True
    begun = state.meta("first_run_since_ms")
    since_ms = asked if asked is not None else int(begun) if begun is not None else _ms(now - FIRST_RUN)
    state.set_meta("first_run_since_ms", str(since_ms))
    # What a first run that was cut short has marked as seen may lie inside a window that is asked for now.
    return replace(window, since_ms=since_ms, promote_since_ms=asked if begun is not None else None), True


def _ms(at: datetime) -> int:
    return round(at.timestamp() * 1000)


def _said_before(state: State, messages: Sequence[Message]) -> tuple[Message, ...]:
    """What was said in the same sessions just before these messages."""
    first: dict[str, Message] = {}
    for message in messages:
        first.setdefault(message.session_id, message)
    return tuple(m for message in first.values() for m in state.said_before(message, CONTEXT_MESSAGES))


def _rescue_notes(rescued: Sequence[Path]) -> list[str]:
    return [f"an edit of observations.md made at the same moment was kept in {path}; merge it by hand" for path in rescued]


def _all_problems(config: Configuration, found: Sequence[Place], problems: Problems) -> list[str]:
    said = [config.host.problem] if config.host.problem else []
    if not any(watched.ino for place in found for source in place.sources for watched in source.watches()):
        said.append(f"no session store under {config.locations.state_dir / 'agents'}: has OpenClaw run for this user?")
    return said + problems.lines()


def _idle(
    options: Options, config: Configuration, found: Sequence[Place], runs: Sequence[MemoryRun], problems: Problems
) -> Idle | None:
    if options != Options(argv=options.argv) or TEMPORARY & problems.counts.keys() or any(r.waiting or r.notes for r in runs):
        return None
    watches = [w for place in found for source in place.sources for w in source.watches()]
    return Idle(
        (*config.watches, *watches),
        tuple(str(place.own_dir / "state.sqlite") for place in found),
        tuple(str(place.memory_dir / LAST_RUN) for place in found),
    )


def _fail_if_blind(found: Sequence[Place], problems: Problems) -> None:
    """A run that could read none of the stores that are there has failed, and says which."""
    blind = [problems.places[kind] for kind in ("database", "schema", "unreadable") if kind in problems.counts]
    watches = [w for place in found for source in place.sources for w in source.watches()]
    if blind and not any(w.ino and w.size for w in watches if not Path(w.path).is_dir()):
        raise StoreError(f"no session store could be read: {blind[0]}; check the file, its permissions and OpenClaw's version")


def _leave_traces(place: Place, state: State, store: MemoryStore, done: MemoryRun, now: datetime) -> None:
    """The run record, the log line and the stamp; a stamp is left even when there was nothing."""
    gate.stamp(str(place.memory_dir / LAST_RUN))
    if not done.messages and not done.observations and not done.first_run:
        return
    if done.observations:
        digest = hashlib.sha256(store.read().content).hexdigest()
        (place.memory_dir / LAST_HASH).write_text(digest + "\n")
    outcome = _sentence(done, dry_run=False)
    state.record_run(RunRecord("observe", now, clock.now(), "done", done.messages, len(done.observations), outcome))
    logs.append(place.log, clock.now(), f"observe: {outcome}")
