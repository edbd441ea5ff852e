"""What the agent did goes into the log: what every `observe` does beside its work, and `log ingest` by itself.

The session stores are read a second time, by cursors of the log's own: it wants tool calls and all sessions, the memory
what was said to the person.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from total_recall import clock
from total_recall.commands import places
from total_recall.commands.capturing import milliseconds, redacting, rules
from total_recall.commands.host_runs import HostRuns
from total_recall.commands.own_runs import log_own_runs
from total_recall.commands.places import Configuration, Place
from total_recall.errors import AlreadyRunning
from total_recall.privacy.exclusion import keeps_out
from total_recall.records import Message, SessionClass, SessionRef
from total_recall.sessions.entries import content_text, latest_believable, time_of
from total_recall.sessions.selection import channel_of, session_class
from total_recall.sessions.source import EntrySource, Portion, Problems
from total_recall.sessions.unwrap import Spoken, unwrap_user
from total_recall.sidecar.database import BULK_CACHE_KB, CACHE_KB, Damaged, Events, Session, set_aside
from total_recall.sidecar.events import Hear, Heard
from total_recall.sidecar.ingest import Ingest, Read, Step
from total_recall.sidecar.upkeep import prune
from total_recall.state import State, no_step, sole

BESIDE_SECONDS = 1.0
"""How long `observe` may read for the log: what is left is read by its next runs, or by `log ingest`."""
PRUNED = "pruned_at"
PRUNED_EVERY = timedelta(days=1)

KeepsOut = Callable[[Message], bool]


@dataclass(frozen=True, slots=True)
class Options:
    """What `log ingest` was asked for."""

    agent: str | None = None


@dataclass(frozen=True, slots=True)
class Ingested:
    """What one memory's log took. `more` says that the time was up before everything was read."""

    memory_dir: Path
    events: int
    sessions: int
    more: bool = False
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Result:
    """What `log ingest` did."""

    logs: tuple[Ingested, ...]
    problems: tuple[str, ...] = ()
    seconds: float = field(default=0.0, compare=False)

    def payload(self) -> dict[str, object]:
        return {
            "logs": [
                {"memory": str(i.memory_dir), "events": i.events, "sessions": i.sessions, "notes": list(i.notes)}
                for i in self.logs
            ],
            "problems": list(self.problems),
            "seconds": round(self.seconds, 3),
        }

    def lines(self) -> list[str]:
        said = []
        for ingested in self.logs:
            events = "1 new event" if ingested.events == 1 else f"{ingested.events} new events"
            said.append(f"{ingested.memory_dir}: {events}")
            said += ingested.notes
        return [*said, *self.problems]


def run(options: Options, config: Configuration | None = None) -> Result:
    """Bring the log of every memory up to date.

    Raises AlreadyRunning when another process does that, StoreError and MemoryWriteError as `ingest_place` does.
    """
    now, begun = clock.now(), time.perf_counter()
    config = config or places.configure()
    problems = Problems()
    logs = [ingest_place(place, config, now, problems) for place in places.find(config, now, options.agent)]
    return Result(tuple(logs), tuple(problems.lines()), time.perf_counter() - begun)


def ingest_place(
    place: Place,
    config: Configuration,
    now: datetime,
    problems: Problems | None = None,
    *,
    seconds: float | None = None,
    wait_seconds: float = 30.0,
    step: Step = no_step,
) -> Ingested:
    """Bring one memory's log up to date, for `seconds` at most, or until everything is read.

    A damaged log is set aside and built anew. Raises AlreadyRunning when another process writes it, and still does
    after `wait_seconds`, StoreError and MemoryWriteError.
    """
    problems = Problems() if problems is None else problems
    if not any(isinstance(source, EntrySource) for source in place.sources):
        # A host whose sessions are not logged: no empty log in each of its projects.
        return Ingested(place.memory_dir, 0, 0)
    with sole("logging", place.own_dir, wait_seconds), State.open(place.own_dir) as state:
        ingesting = partial(_ingest, place, config, now, problems, state, seconds, step)
        try:
            return ingesting(())
        except Damaged as error:
            kept = set_aside(place.own_dir)
            return ingesting((f"{str(error).partition(';')[0]}: kept as {kept.name}, and built anew",))


def ingest_beside(place: Place, config: Configuration, now: datetime, problems: Problems) -> Ingested | None:
    """What `observe` does for the log; None when another process is at it."""
    try:
        return ingest_place(place, config, now, problems, seconds=BESIDE_SECONDS, wait_seconds=0.0)
    except AlreadyRunning:
        return None


def _ingest(
    place: Place, config: Configuration, now: datetime, problems: Problems, state: State, seconds: float | None,
    step: Step, notes: tuple[str, ...],
) -> Ingested:  # fmt: skip
    latest_ms = latest_believable(now)
    until = None if seconds is None else time.monotonic() + seconds
    cache_kb = BULK_CACHE_KB if seconds is None else CACHE_KB
    with Events.open(place.own_dir, cache_kb=cache_kb) as events:
        ingest = Ingest(events, redacting(state), latest_ms, step, *state.all_forgotten())
        with ingest.gathering():
            kept_out = keeps_out(rules(config.settings.exclude))
            more = _transcripts(place, config, ingest, problems, kept_out, until)
            if not more:
                HostRuns(place, config, ingest, kept_out, milliseconds(now)).take(problems)
                log_own_runs(place, state, ingest)
        _prune(events, config, now)
    return Ingested(place.memory_dir, ingest.added, len(ingest.sessions), more, notes)


def _transcripts(
    place: Place, config: Configuration, ingest: Ingest, problems: Problems, kept_out: KeepsOut, until: float | None
) -> bool:
    """Take what is new in the session stores; whether there is more, the time being up."""
    for source in place.sources:
        # A copy: where `observe` has come to with its own is what the gate goes by.
        reader = copy.copy(source)
        if not isinstance(reader, EntrySource):
            continue
        for portion in reader.entries(ingest.events, problems=problems):
            _take(portion, config.host.main_key, ingest, kept_out)
            if until is not None and time.monotonic() > until:
                return True
    return False


def _take(portion: Portion, main_key: str, ingest: Ingest, kept_out: KeepsOut) -> None:
    ref = portion.ref
    read = Read(portion.files, portion.forget_files, portion.rows, portion.mark)
    session = _session(portion, main_key, ingest)
    if portion.mark is not None and not portion.entries:
        ingest.note(read)
        return
    ingest.take(
        session,
        portion.entries,
        _hearing(ref, session, kept_out),
        read,
        name=ref.name,
        fallback_ms=portion.fallback_ms,
        kept_out=kept_out(_message(ref, session, "", "assistant", "", 0)),
    )


def _session(portion: Portion, main_key: str, ingest: Ingest) -> Session:
    """What this session is: by its key, or, where no index knows it any more, by its first words."""
    ref = portion.ref
    kind: SessionClass | None = None
    if ref.key is not None:
        kind = session_class(ref.key, origin=ref.origin, main_key=main_key)
    elif portion.entries and ingest.events.known_session(ref.session_id) is None:
        first = next((m for m in map(_user_message, portion.entries) if m is not None), None)
        if first is not None:
            kind = session_class(None, first_user_kind=_spoken(first).kind, main_key=main_key)
    return Session(ref.session_id, ref.agent, ref.key, kind, channel=ref.channel or channel_of(ref.key))


def _user_message(entry: Mapping[str, Any]) -> Mapping[str, Any] | None:
    message = entry.get("message")
    return message if isinstance(message, dict) and message.get("role") == "user" else None


def _spoken(message: Mapping[str, Any]) -> Spoken:
    provenance, host = message.get("provenance"), message.get("__openclaw")
    owner = host.get("senderIsOwner") if isinstance(host, dict) else None
    return unwrap_user(
        content_text(message.get("content")),
        provenance=provenance if isinstance(provenance, dict) else None,
        owner=owner if isinstance(owner, bool) else None,
    )


def _hearing(ref: SessionRef, session: Session, kept_out: KeepsOut) -> Hear:
    """How a user entry is understood: without the host's wrappers, and with whether it is kept out."""

    def hear(message: Mapping[str, Any], at_ms: int) -> Heard:
        spoken = _spoken(message)
        if spoken.kind != "human":
            return Heard(spoken.kind, spoken.text or content_text(message.get("content")))
        told = _message(ref, session, spoken.speaker or "", "user", spoken.text, at_ms, spoken.channel)
        return Heard("human", spoken.text, kept_out(told))

    return hear


def _message(
    ref: SessionRef, session: Session, speaker: str, role: Any, text: str, at_ms: int, channel: str | None = None
) -> Message:
    return Message(
        ref.source, ref.session_id, session.key, "", role, text, time_of(at_ms), speaker, channel or session.channel
    )


def _prune(events: Events, config: Configuration, now: datetime) -> None:
    """Once a day: what is older than TOTAL_RECALL_LOG_DAYS goes, and what is more than TOTAL_RECALL_LOG_MB."""
    last = events.meta(PRUNED)
    if last is not None and now - datetime.fromisoformat(last) < PRUNED_EVERY and now >= datetime.fromisoformat(last):
        return
    settings = config.settings
    prune(events, milliseconds(now - timedelta(days=settings.log_days)), settings.log_mb * 1_000_000)
    with events.transaction():
        events.set_meta(PRUNED, now.isoformat())
