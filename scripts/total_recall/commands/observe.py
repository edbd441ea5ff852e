"""observe: what was said since the last run becomes observations in `observations.md`.

Finish what an earlier run left pending; take what is new in the stores; cut it into batches; compress each; commit.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from functools import partial
from pathlib import Path

from total_recall import clock, gate, logs
from total_recall.commands import context, places, reflect
from total_recall.commands.compressing import Compress, Tally, compressor
from total_recall.commands.places import Configuration, Place
from total_recall.errors import AlreadyRunning, MemoryWriteError, StoreError, TotalRecallError
from total_recall.memory.commit import Committed, Done, commit, finish_pending
from total_recall.memory.line import format_observation
from total_recall.memory.store import MemoryStore
from total_recall.records import Batch, Message, Observation
from total_recall.sessions.batching import batches
from total_recall.sessions.source import Problems, Watch, watch
from total_recall.sessions.taking import Window, take_new
from total_recall.settings import Settings
from total_recall.state import RunRecord, State, Step, no_step, sole
from total_recall.tokens import estimate_tokens

FIRST_RUN = timedelta(hours=24)
CONTEXT_MESSAGES = 4
COMMIT_SECONDS = 2.0
"""A document write for each small batch would cost more than compressing it offline; they are gathered this long."""
LAST_RUN = ".observer-last-run"
LAST_HASH = ".observer-last-hash"


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line asked for. `since` is aware; `argv` is what the gate files this run under."""

    since: datetime | None = None
    everything: bool = False
    session_id: str | None = None
    agent: str | None = None
    dry_run: bool = False
    max_batches: int | None = None
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
    compressed_by: str = ""


@dataclass(frozen=True, slots=True)
class Idle:
    """All that a run begun at `begun_ns` looked at. While it stays so, the next run has nothing to do.

    Our own state is part of it: whoever takes messages and is stopped leaves work behind.
    """

    watches: tuple[Watch, ...]
    stamps: tuple[str, ...]
    begun_ns: int


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
                    "compressed_by": run.compressed_by,
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


def _counted(number: int, what: str, many: str | None = None) -> str:
    return f"{number:,} {what if number == 1 else many or what + 's'}"


def run(options: Options, config: Configuration | None = None, compress: Compress | None = None) -> Result:
    """Observe every memory, one after the other.

    Raises StoreError when there is nothing that could be read although something is there, MemoryWriteError when a
    memory cannot be written; what was taken until then is safe.
    """
    now, begun_ns = clock.now(), time.time_ns()
    config = config or places.configure()
    _require_a_known_workspace(config)
    found = places.find(config, now, options.agent)
    problems = Problems()
    gate.forget(options.argv)
    runs = []
    failed: list[TotalRecallError] = []
    for place in found:
        try:
            runs.append(observe_memory(place, config, options, compress, now, problems))
        except (MemoryWriteError, StoreError) as error:
            # One agent's memory must not keep the others from being served.
            failed.append(error)
    if failed:
        raise failed[0]
    _fail_if_blind(found, problems)
    said = tuple(_all_problems(config, found, problems))
    idle = None if said else _idle(options, config, found, runs, begun_ns)
    return Result(tuple(runs), said, options.dry_run, idle)


def observe_memory(
    place: Place,
    config: Configuration,
    options: Options,
    compress: Compress | None,
    now: datetime,
    problems: Problems,
    step: Step = no_step,
) -> MemoryRun:
    """One run over one memory. `step` is told each step of a commit; the settings choose when `compress` is None."""
    if options.dry_run:
        with State.open_copy(place.own_dir) as state:
            return _observe(place, config, options, compress, now, problems, state, None, step)
    try:
        with sole("observer", place.own_dir), State.open(place.own_dir, step) as state:
            store = MemoryStore(place.memory_dir, step)
            done = _observe(place, config, options, compress, now, problems, state, store, step)
            _leave_traces(place, state, store, done, now, now.astimezone(config.settings.tz).date())
            due = bool(done.observations) and reflect.is_due(place, config.settings, state)
        return _reflected(place, config.settings, done, now) if due else done
    except AlreadyRunning as running:
        return MemoryRun(place.memory_dir, 0, 0, 0, (), 0, False, (str(running),))


def _reflected(place: Place, settings: Settings, done: MemoryRun, now: datetime) -> MemoryRun:
    """The memory has grown too long: make it shorter at once. The observer's lock is free again by now."""
    reflection = reflect.reflect_memory(place, settings, reflect.Options(), None, now)
    return replace(done, notes=(*done.notes, reflect.sentence(reflection, dry_run=False)))


def _observe(
    place: Place,
    config: Configuration,
    options: Options,
    compress: Compress | None,
    now: datetime,
    problems: Problems,
    state: State,
    store: MemoryStore | None,
    step: Step,
) -> MemoryRun:
    work = _Work(state, store, step)
    if store is not None:
        work.done(finish_pending(state, store, step))
    window, first_run = _window(config, options, state, now)
    locked = problems.counts.get("database", 0)
    taking = take_new(place.sources, state, window, problems)
    # A database that could not be read now would pour its whole past into the next run, if that had no window.
    if first_run and options.session_id is None and problems.counts.get("database", 0) == locked:
        state.set_meta("first_run_done", now.isoformat())
    if compress is not None:
        work.through(_cut(state, config.settings, options), compress)
    else:
        tally = Tally()
        reader = store or MemoryStore(place.memory_dir)
        with compressor(config.settings, state, reader, place.workspace, tally) as (chosen, asks):
            allowed = partial(_allowed, state, config.settings, options, now, tally) if asks else None
            work.through(_cut(state, config.settings, options, trim=asks), chosen, allowed)
        work.notes += tally.notes
        work.compressed_by = tally.words()
    if first_run and taking.count.skipped:
        work.notes.append(
            f"first run: {_counted(taking.count.skipped, 'message')} older than 24 hours marked as seen; "
            "`observe --all` takes them too"
        )
    return MemoryRun(
        memory_dir=place.memory_dir,
        messages=taking.count.queued,
        sessions=len(taking.sessions),
        marked_as_seen=taking.count.skipped,
        observations=tuple(work.written),
        waiting=0 if store is None else state.queue_length(),
        first_run=first_run,
        notes=tuple(work.notes),
        compressed_by=work.compressed_by,
    )


class _Work:
    """Compresses batch after batch and commits; without a store nothing is written."""

    def __init__(self, state: State, store: MemoryStore | None, step: Step) -> None:
        self._state = state
        self._store = store
        self._step = step
        self.written: list[Observation] = []
        self.notes: list[str] = []
        self.compressed_by = ""

    def through(
        self,
        cut: Iterable[tuple[Batch, tuple[int, ...]]],
        compress: Compress,
        allowed: Callable[[int, Batch], bool] | None = None,
    ) -> None:
        """Compress what waits. With `allowed`, which a model's work has, each batch is asked for and saved at once."""
        gathered: list[Done] = []
        since = time.monotonic()
        for number, (batch, rows) in enumerate(cut):
            if allowed is not None and not allowed(number, batch):
                break
            gathered.append(Done(batch.id, rows, compress(batch)))
            if allowed is not None or time.monotonic() - since > COMMIT_SECONDS:
                self._save(gathered)
                gathered, since = [], time.monotonic()
        self._save(gathered)

    def done(self, committed: Committed) -> None:
        self.written += committed.observations
        self.notes += _rescue_notes(committed.rescued)

    def _save(self, gathered: Sequence[Done]) -> None:
        if self._store is not None:
            self.done(commit(gathered, self._state, self._store, self._step))
        else:
            self.written += [o for done in gathered for o in done.observations]


def _cut(
    state: State, settings: Settings, options: Options, trim: bool = True
) -> Iterator[tuple[Batch, tuple[int, ...]]]:
    queue = state.queue(options.session_id)
    return batches(queue, settings.batch_tokens, estimate_tokens, partial(_said_before, state), trim=trim)


def _allowed(
    state: State, settings: Settings, options: Options, now: datetime, tally: Tally, number: int, batch: Batch
) -> bool:
    """Whether the models may take one more batch now; if not, what waits says why."""
    if options.max_batches is not None and number >= options.max_batches:
        tally.notes.append(
            f"stopped after {_counted(number, 'batch', 'batches')} (--max-batches); the next run goes on"
        )
        return False
    if settings.daily_tokens is not None:
        used = state.tokens_since(now.astimezone(settings.tz).replace(hour=0, minute=0, second=0, microsecond=0))
        if used + batch.tokens > settings.daily_tokens:
            tally.notes.append(
                f"{used:,} of today's {settings.daily_tokens:,} tokens are used (TOTAL_RECALL_DAILY_TOKENS); "
                "the rest waits"
            )
            return False
    return True


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
    what = "an edit of observations.md made at the same moment was kept in"
    return [f"{what} {path}; merge it by hand" for path in rescued]


def _require_a_known_workspace(config: Configuration) -> None:
    """An unreadable `openclaw.json` must not start a second memory in the default workspace."""
    settings = config.settings
    if config.host.problem and not (settings.workspace_is_set or settings.memory_dir_is_set):
        what = config.host.problem.removesuffix(": OpenClaw's defaults are assumed")
        raise StoreError(f"{what}; mend it, or set OPENCLAW_WORKSPACE; nothing was taken")


def _all_problems(config: Configuration, found: Sequence[Place], problems: Problems) -> list[str]:
    said = [config.host.problem] if config.host.problem else []
    if not any(watched.ino for place in found for source in place.sources for watched in source.watches()):
        said.append(f"no session store under {config.locations.state_dir / 'agents'}: has OpenClaw run for this user?")
    return said + problems.lines()


def _idle(
    options: Options, config: Configuration, found: Sequence[Place], runs: Sequence[MemoryRun], begun_ns: int
) -> Idle | None:
    if options != Options(argv=options.argv) or any(run.waiting or run.notes for run in runs):
        return None
    watches = [w for place in found for source in place.sources for w in source.watches()]
    states = [watch(place.own_dir / f"state.sqlite{end}") for place in found for end in ("", "-wal")]
    stamps = tuple(str(place.memory_dir / LAST_RUN) for place in found)
    return Idle((*config.watches, *watches, *states), stamps, begun_ns)


def _fail_if_blind(found: Sequence[Place], problems: Problems) -> None:
    """A run that could read none of the stores that are there has failed, and says which."""
    blind = [problems.places[kind] for kind in ("database", "schema", "unreadable") if kind in problems.counts]
    watches = [w for place in found for source in place.sources for w in source.watches()]
    if blind and not any(w.ino and w.size for w in watches if not Path(w.path).is_dir()):
        advice = "check the file, its permissions and OpenClaw's version"
        raise StoreError(f"no session store could be read: {blind[0]}; {advice}")


def _leave_traces(
    place: Place, state: State, store: MemoryStore, done: MemoryRun, now: datetime, today: date
) -> None:
    """The run record, the log line, the stamp, and the context for the next session.

    A stamp is left even when there was nothing. A person's edit of the document reaches the context too.
    """
    stamped = place.memory_dir / LAST_HASH
    try:
        gate.stamp(str(place.memory_dir / LAST_RUN))
        document = f"{store.read().sha256}\n"
        if not stamped.is_file() or stamped.read_text(errors="replace") != document:
            context.write_ready_made(place.memory_dir, today)
            _write_private(stamped, document)
    except OSError as error:
        raise MemoryWriteError(
            f"cannot write {error.filename or place.memory_dir}: {error.strerror}; what was observed is safe; "
            "free some space or check its owner, then run the command again"
        ) from error
    if not done.messages and not done.observations and not done.first_run:
        return
    outcome = "; ".join([_sentence(done, dry_run=False), *done.notes])
    state.record_run(RunRecord("observe", now, clock.now(), "done", done.messages, len(done.observations), outcome))
    logs.append(place.log, clock.now(), f"observe: {outcome}")


def _write_private(path: Path, text: str) -> None:
    """A file for the owner's eyes alone; raises OSError."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "w") as stream:
        stream.write(text)
