"""observe: what was said since the last run becomes observations in `observations.md`.

Finish what an earlier run left pending; take what is new in the stores; cut it into batches; compress each; commit.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, tzinfo
from functools import partial
from pathlib import Path

from total_recall import clock, gate, logs
from total_recall.commands import context, places, reflect
from total_recall.commands.capturing import Captured, Wanted, capture, capture_alone, milliseconds
from total_recall.commands.compressing import Compress, Tally, compressor
from total_recall.commands.places import Configuration, Place
from total_recall.errors import AlreadyRunning, MemoryWriteError, StoreError, TotalRecallError
from total_recall.memory.commit import Committed, Done, commit, finish_pending, keep_as_said
from total_recall.memory.line import format_observation
from total_recall.memory.raw import as_said
from total_recall.memory.store import MemoryStore
from total_recall.records import Batch, Message, Observation
from total_recall.sessions.batching import batches
from total_recall.sessions.source import Problems, Watch, watch
from total_recall.settings import Settings
from total_recall.state import RunRecord, State, Step, no_step, sole
from total_recall.tokens import estimate_tokens

CONTEXT_MESSAGES = 4
COMMIT_SECONDS = 2.0
"""A document write for each small batch would cost more than compressing it offline; they are gathered this long."""
LAST_RUN = ".observer-last-run"
LAST_HASH = ".observer-last-hash"
CONTEXT_DAY = "context_day"
"""The user's day that the ready-made context was last built for."""


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line asked for. `since` is aware; `argv` is what the gate files this run under.

    `recover` and `flush` are this run under another name (`command`, `log`), set off by something (`trigger`). They
    take what was said in `recent_first` before the rest, wait up to `wait_seconds` for an observer that is at work, and
    give models `patience_seconds` in all.
    """

    since: datetime | None = None
    everything: bool = False
    session_id: str | None = None
    agent: str | None = None
    dry_run: bool = False
    max_batches: int | None = None
    argv: tuple[str, ...] = ()
    command: str = "observe"
    log: str = "observer.log"
    trigger: str = ""
    recent_first: timedelta | None = None
    wait_seconds: float = 0.0
    patience_seconds: float | None = None

    @property
    def wanted(self) -> Wanted:
        return Wanted(self.since, self.everything, self.session_id)


@dataclass(frozen=True, slots=True)
class MemoryRun:
    """What a run did to one memory. `messages` were observed, `taken` are new, `waiting` are still to be observed."""

    memory_dir: Path
    messages: int
    sessions: int
    marked_as_seen: int
    observations: tuple[Observation, ...]
    waiting: int
    first_run: bool
    notes: tuple[str, ...]
    compressed_by: str = ""
    taken: int = 0


@dataclass(frozen=True, slots=True)
class Idle:
    """All that a run begun at `begun_ns` looked at. While it stays so, the next run has nothing to do.

    At `until` (s since 1970) the user's day is over, and what has expired leaves the context.
    Our own state is part of it: whoever takes messages and is stopped leaves work behind.
    """

    watches: tuple[Watch, ...]
    stamps: tuple[str, ...]
    begun_ns: int
    until: int


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
                    "taken": run.taken,
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
    require_a_known_workspace(config)
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
        raise type(failed[0])("; and ".join(str(error) for error in failed))
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
            taken = capture_alone(place, config, state, now, problems, options.wanted)
            return _observe(place, config, options, compress, now, taken, state, None, step)
    with State.open(place.own_dir, step) as state:
        # First of all: what is in the queue is safe, and whoever is at work may see it.
        taken = capture(place, config, state, now, problems, options.wanted)
        try:
            with _observer(place, options):
                store = MemoryStore(place.memory_dir, step)
                done = _observe(place, config, options, compress, now, taken, state, store, step)
                _leave_traces(place, config.settings, options, state, store, done, now)
                due = bool(done.observations) and reflect.is_due(place, config.settings, state)
        except AlreadyRunning as running:
            return _left_to_another(place, taken, state, str(running))
    return _reflected(place, config.settings, done, now) if due else done


@contextmanager
def _observer(place: Place, options: Options) -> Iterator[None]:
    """Be the observer. Of those that wait for their turn one is enough: it will see what all of them took."""
    with ExitStack() as held:
        with ExitStack() as turn:
            if options.wait_seconds:
                turn.enter_context(sole("waiting observer", place.own_dir))
            held.enter_context(sole("observer", place.own_dir, options.wait_seconds))
        yield


def _left_to_another(place: Place, taken: Captured, state: State, why: str) -> MemoryRun:
    waiting = state.queue_length()
    note = f"{why}; {_counted(waiting, 'message')} in the queue" if waiting else why
    return MemoryRun(place.memory_dir, 0, 0, taken.marked_as_seen, (), waiting, False, (note,), taken=taken.queued)


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
    taken: Captured,
    state: State,
    store: MemoryStore | None,
    step: Step,
) -> MemoryRun:
    work = _Work(state, store, config.settings.tz, step)
    if store is not None:
        work.done(finish_pending(state, store, step))
    if compress is not None:
        work.through(_cut(state, config.settings, options, now), compress)
    else:
        tally = Tally()
        reader = store or MemoryStore(place.memory_dir)
        with compressor(config.settings, state, reader, place.workspace, tally) as (chosen, asks):
            allowed = partial(_allowed, state, config.settings, options, now, tally) if asks else None
            work.through(_cut(state, config.settings, options, now, trim=asks), chosen, allowed)
        work.notes += tally.notes
        work.compressed_by = tally.words()
    if taken.first_run and taken.marked_as_seen:
        work.notes.append(
            f"first run: {_counted(taken.marked_as_seen, 'message')} older than 24 hours marked as seen; "
            "`observe --all` takes them too"
        )
    return MemoryRun(
        memory_dir=place.memory_dir,
        messages=work.messages,
        sessions=len(work.sessions),
        marked_as_seen=taken.marked_as_seen,
        observations=tuple(work.written),
        waiting=0 if store is None else state.queue_length(),
        first_run=taken.first_run,
        notes=tuple(work.told()),
        compressed_by=work.compressed_by,
        taken=taken.queued,
    )


class _Work:
    """Compresses batch after batch and commits; without a store nothing is written."""

    def __init__(self, state: State, store: MemoryStore | None, tz: tzinfo, step: Step) -> None:
        self._state = state
        self._store = store
        self._tz = tz
        self._step = step
        self.messages = 0
        self.sessions: set[str] = set()
        self.written: list[Observation] = []
        self.notes: list[str] = []
        self.compressed_by = ""
        self.kept_as_said = 0
        self.bug: Exception | None = None

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
            gathered += self._compressed(batch, rows, compress)
            if allowed is not None or time.monotonic() - since > COMMIT_SECONDS:
                self._save(gathered)
                gathered, since = [], time.monotonic()
        self._save(gathered)

    def _compressed(self, batch: Batch, rows: tuple[int, ...], compress: Compress) -> list[Done]:
        """The batch, done; where a compressor breaks, all but the message that breaks it, which is kept as it is."""
        try:
            found = compress(batch)
        except TotalRecallError:
            raise
        except Exception as error:  # noqa: BLE001  # a bug of ours must not keep what was said out of the memory
            middle = len(rows) // 2
            if middle == 0:
                self._keep_as_said(batch, error)
                return []
            first = replace(batch, id=f"{batch.id}a", messages=batch.messages[:middle])
            second = replace(batch, id=f"{batch.id}b", messages=batch.messages[middle:])
            return [
                *self._compressed(first, rows[:middle], compress),
                *self._compressed(second, rows[middle:], compress),
            ]
        self.messages += len(batch.messages)
        self.sessions.update(message.session_id for message in batch.messages)
        return [Done(batch.id, rows, found)]

    def done(self, committed: Committed) -> None:
        self.written += committed.observations
        self.notes += _rescue_notes(committed.rescued)

    def _save(self, gathered: Sequence[Done]) -> None:
        if self._store is not None:
            self.done(commit(gathered, self._state, self._store, self._step))
        else:
            self.written += [o for done in gathered for o in done.observations]

    def _keep_as_said(self, batch: Batch, error: Exception) -> None:
        """The words go into the document as they are; they stay in the queue, and the next run tries again."""
        if self._store is not None:
            lines = as_said(batch.messages, self._tz)
            self.notes += _rescue_notes(keep_as_said(lines, self._state, self._store))
        self.kept_as_said += len(batch.messages)
        self.bug = error

    def told(self) -> list[str]:
        """The notes, with one about all that was kept as it was said."""
        if self.bug is None:
            return self.notes
        what = _counted(self.kept_as_said, "message")
        return [
            *self.notes,
            f"no compressor could take {what}, kept word for word until one can: a bug, {type(self.bug).__name__}, "
            f"with details in {logs.bug_report(self.bug)}",
        ]


def _cut(
    state: State, settings: Settings, options: Options, now: datetime, trim: bool = True
) -> Iterator[tuple[Batch, tuple[int, ...]]]:
    """Batches of what waits, in time order; with `recent_first` the newest part before the rest."""
    recent_ms = milliseconds(now - options.recent_first) if options.recent_first else 0
    parts = [state.queue(options.session_id, since_ms=recent_ms)]
    if recent_ms:
        parts.append(state.queue(options.session_id, until_ms=recent_ms))
    for part in parts:
        yield from batches(part, settings.batch_tokens, estimate_tokens, partial(_said_before, state), trim=trim)


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


def _said_before(state: State, messages: Sequence[Message]) -> tuple[Message, ...]:
    """What was said in the same sessions just before these messages."""
    first: dict[str, Message] = {}
    for message in messages:
        first.setdefault(message.session_id, message)
    return tuple(m for message in first.values() for m in state.said_before(message, CONTEXT_MESSAGES))


def _rescue_notes(rescued: Sequence[Path]) -> list[str]:
    what = "an edit of observations.md made at the same moment was kept in"
    return [f"{what} {path}; merge it by hand" for path in rescued]


def require_a_known_workspace(config: Configuration) -> None:
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
    tomorrow = (clock.now().astimezone(config.settings.tz) + timedelta(days=1)).replace(hour=0, minute=0, second=0)
    return Idle((*config.watches, *watches, *states), stamps, begun_ns, int(tomorrow.timestamp()))


def _fail_if_blind(found: Sequence[Place], problems: Problems) -> None:
    """A run that could read none of the stores that are there has failed, and says which."""
    blind = [problems.places[kind] for kind in ("database", "schema", "unreadable") if kind in problems.counts]
    watches = [w for place in found for source in place.sources for w in source.watches()]
    if blind and not any(w.ino and w.size for w in watches if not Path(w.path).is_dir()):
        advice = "check the file, its permissions and OpenClaw's version"
        raise StoreError(f"no session store could be read: {blind[0]}; {advice}")


def _leave_traces(
    place: Place,
    settings: Settings,
    options: Options,
    state: State,
    store: MemoryStore,
    done: MemoryRun,
    now: datetime,
) -> None:
    """The run record, the log line, the stamp, and the context for the next session.

    A stamp is left even when there was nothing. A person's edit of the document and a new day reach the context too.
    """
    stamped = place.memory_dir / LAST_HASH
    today = now.astimezone(settings.tz).date()
    try:
        gate.stamp(str(place.memory_dir / LAST_RUN))
        document = f"{store.read().sha256}\n"
        edited = not stamped.is_file() or stamped.read_text(errors="replace") != document
        if edited or state.meta(CONTEXT_DAY) != today.isoformat():
            context.write_ready_made(place.memory_dir, today)
            state.set_meta(CONTEXT_DAY, today.isoformat())
            _write_private(stamped, document)
    except OSError as error:
        raise MemoryWriteError(
            f"cannot write {error.filename or place.memory_dir}: {error.strerror}; what was observed is safe; "
            "free some space or check its owner, then run the command again"
        ) from error
    is_noted = options.command != "observe" or done.messages or done.observations or done.first_run
    if not is_noted:
        return
    outcome = "; ".join([_sentence(done, dry_run=False), *done.notes])
    record = RunRecord(options.command, now, clock.now(), "done", done.messages, len(done.observations), outcome)
    state.record_run(record)
    by = f" ({options.trigger})" if options.trigger else ""
    logs.append(place.logs / options.log, clock.now(), f"{options.command}{by}: {outcome}")


def _write_private(path: Path, text: str) -> None:
    """A file for the owner's eyes alone; raises OSError."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "w") as stream:
        stream.write(text)
