"""observe: what was said since the last run becomes observations in `observations.md`.

Take what is new in the stores; finish what an earlier run left pending; cut it into batches; compress each; commit.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from total_recall import clock, gate, logs
from total_recall.commands import context, forget_work, places, reflect, settling
from total_recall.commands.capturing import Captured, capture, capture_alone, milliseconds
from total_recall.commands.compressing import Compress, Tally, compressor
from total_recall.commands.logging_events import ingest_beside
from total_recall.commands.observing import Idle as Idle
from total_recall.commands.observing import MemoryRun as MemoryRun
from total_recall.commands.observing import Options as Options
from total_recall.commands.observing import Result as Result
from total_recall.commands.observing import counted, sentence
from total_recall.commands.places import Configuration, Place
from total_recall.commands.working import Work, cut_queue, may_ask
from total_recall.confined import NO_LINK
from total_recall.errors import AlreadyRunning, MemoryWriteError, StoreError, TotalRecallError
from total_recall.memory.commit import finish_pending
from total_recall.memory.store import MemoryStore
from total_recall.sessions.source import Problems, watch
from total_recall.settings import Settings
from total_recall.state import RunRecord, State, Step, no_step, sole

LAST_RUN = ".observer-last-run"
LAST_HASH = ".observer-last-hash"
CONTEXT_DAY = "context_day"
"""The user's day that the ready-made context was last built for."""


def run(options: Options, config: Configuration | None = None, compress: Compress | None = None) -> Result:
    """Observe every memory, one after the other.

    Raises StoreError when there is nothing that could be read although something is there, MemoryWriteError when a
    memory cannot be written; what was taken until then is safe.
    """
    now, begun_ns = clock.now(), time.time_ns()
    config = config or places.configure()
    _require_a_known_workspace(config)
    asked_ms = 0 if options.everything else milliseconds(options.since) if options.since else None
    found = places.find(config, now, options.agent, since_ms=asked_ms)
    problems = Problems()
    gate.forget(options.argv)
    runs = []
    failed: list[TotalRecallError] = []
    for place in found:
        try:
            runs.append(_observe_if_new(place, config, options, compress, now, problems, begun_ns))
        except (MemoryWriteError, StoreError) as error:
            # One agent's memory must not keep the others from being served.
            failed.append(error)
    if failed:
        raise type(failed[0])("; and ".join(str(error) for error in failed))
    _fail_if_blind(found, problems)
    said = tuple(_all_problems(config, found, problems))
    idle = None if said else _idle(options, config, found, runs, begun_ns)
    return Result(tuple(runs), said, options.dry_run, idle)


def _observe_if_new(
    place: Place,
    config: Configuration,
    options: Options,
    compress: Compress | None,
    now: datetime,
    problems: Problems,
    begun_ns: int,
) -> MemoryRun:
    """A project's memory is opened only where something changed: there may be hundreds of them."""
    is_plain = place.host != places.OPENCLAW and options == Options(argv=options.argv)
    today = now.astimezone(config.settings.tz).date()
    if is_plain and settling.is_settled(place, today):
        settling.stamp(place.memory_dir / LAST_RUN)
        return MemoryRun(place.memory_dir, 0, 0, 0, (), 0, False, ())
    if not options.dry_run:
        places.serve(config, place)
    before = sum(problems.counts.values())
    done = _logged(observe_memory(place, config, options, compress, now, problems), place, config, options, now)
    if is_plain and not (done.waiting or done.notes) and sum(problems.counts.values()) == before:
        settling.settle(place, today, begun_ns)
    return done


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
    note = f"{why}; {counted(waiting, 'message')} in the queue" if waiting else why
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
    work = Work(state, store, config.settings.tz, step)
    if store is not None:
        if forget_work.finish(place, state, store, config.settings.tz):
            work.notes.append("a forgetting that had been cut short is finished")
        work.done(finish_pending(state, store, step))
    if compress is not None:
        work.through(cut_queue(state, config.settings, options, now), compress)
    else:
        tally = Tally()
        reader = store or MemoryStore(place.memory_dir)
        with compressor(
            config.settings,
            state,
            reader,
            place.workspace,
            tally,
            patience_seconds=options.patience_seconds,
            dry_run_of=place.own_dir if store is None else None,
        ) as (chosen, asks):
            allowed = partial(may_ask, state, config.settings, options, now, tally) if asks else None
            work.through(cut_queue(state, config.settings, options, now, trim=asks), chosen, allowed)
        work.notes += tally.notes
        work.compressed_by = tally.words()
    if taken.first_run and taken.marked_as_seen:
        work.notes.append(
            f"first run: {counted(taken.marked_as_seen, 'message')} older than 24 hours marked as seen; "
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


def _logged(done: MemoryRun, place: Place, config: Configuration, options: Options, now: datetime) -> MemoryRun:
    """The log of events is brought up to date too; what is wrong with it does no harm to the memory.

    What is wrong with the stores was told when they were read for the memory.
    """
    if options.command != "observe" or options.dry_run:
        return done
    try:
        ingested = ingest_beside(place, config, now, Problems())
    except (MemoryWriteError, StoreError) as error:
        return replace(done, notes=(*done.notes, f"the log of events was not brought up to date: {error}"))
    if ingested is None:
        return done
    more = ("the log of events has more to read; the next runs go on",) if ingested.more else ()
    return replace(done, notes=(*done.notes, *ingested.notes, *more))


def _require_a_known_workspace(config: Configuration) -> None:
    """An unreadable `openclaw.json` must not start a second memory in the default workspace."""
    if config.host.problem and not places.is_certain(config):
        what = config.host.problem.removesuffix(": OpenClaw's defaults are assumed")
        raise StoreError(f"{what}; mend it, or set OPENCLAW_WORKSPACE; nothing was taken")


def _all_problems(config: Configuration, found: Sequence[Place], problems: Problems) -> list[str]:
    said = [config.host.problem] if config.host.problem else []
    if not any(watched.ino for place in found for source in place.sources for watched in source.watches()):
        said.append(_no_store(config))
    return said + problems.lines()


def _no_store(config: Configuration) -> str:
    if config.is_alone:
        return f"nothing was said yet in {' or '.join(one.host.name for one in config.others)}"
    return f"no session store under {config.locations.state_dir / 'agents'}: has OpenClaw run for this user?"


def _idle(
    options: Options, config: Configuration, found: Sequence[Place], runs: Sequence[MemoryRun], begun_ns: int
) -> Idle | None:
    if options != Options(argv=options.argv) or any(run.waiting or run.notes for run in runs):
        return None
    documents = [watch(MemoryStore(place.memory_dir).path) for place in found]
    # A person may have edited one since it was read; then the context is behind.
    if not all(_is_as_stamped(place) for place in found):
        return None
    watches = [w for place in found for source in place.sources for w in source.watches()]
    states = [watch(place.own_dir / f"state.sqlite{end}") for place in found for end in ("", "-wal")]
    stamps = tuple(str(place.memory_dir / LAST_RUN) for place in found)
    tomorrow = (clock.now().astimezone(config.settings.tz) + timedelta(days=1)).replace(hour=0, minute=0, second=0)
    seen = (*config.watches, *config.unserved, *watches, *states, *documents)
    return Idle(seen, stamps, begun_ns, int(tomorrow.timestamp()))


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
    today = now.astimezone(settings.tz).date()
    try:
        gate.stamp(str(place.memory_dir / LAST_RUN))
        if not _is_as_stamped(place) or state.meta(CONTEXT_DAY) != today.isoformat():
            document = store.read().sha256
            context.write_ready_made(place.memory_dir, today, characters=place.context_characters)
            state.set_meta(CONTEXT_DAY, today.isoformat())
            _write_private(place.memory_dir / LAST_HASH, f"{document}\n")
    except OSError as error:
        raise MemoryWriteError(
            f"cannot write {error.filename or place.memory_dir}: {error.strerror}; what was observed is safe; "
            "free some space or check its owner, then run the command again"
        ) from error
    is_noted = options.command != "observe" or done.messages or done.observations or done.first_run
    if not is_noted:
        return
    outcome = "; ".join([sentence(done, dry_run=False), *done.notes])
    record = RunRecord(options.command, now, clock.now(), "done", done.messages, len(done.observations), outcome)
    state.record_run(record)
    by = f" ({options.trigger})" if options.trigger else ""
    logs.append(place.logs / options.log, clock.now(), f"{options.command}{by}: {outcome}")


def _is_as_stamped(place: Place) -> bool:
    """Whether the document is the one that the ready-made context was last built from."""
    stamped = place.memory_dir / LAST_HASH
    document = f"{MemoryStore(place.memory_dir).read().sha256}\n"
    return stamped.is_file() and stamped.read_text(errors="replace") == document


def _write_private(path: Path, text: str) -> None:
    """A file for the owner's eyes alone; raises OSError."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | NO_LINK, 0o600), "w") as stream:
        stream.write(text)
