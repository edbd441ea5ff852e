"""What is new in the session stores goes into the queue: the first half of `observe`, which the watcher does alone too.

What is in the queue is safe, whatever becomes of the host's stores, and waits for an observer.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from total_recall.commands.places import Configuration, Place
from total_recall.errors import SettingError
from total_recall.privacy.exclusion import FORMS, Rule, keeps_out, parse_rules
from total_recall.privacy.secrets import placeholders, redact
from total_recall.sessions.source import Problems
from total_recall.sessions.taking import Taking, Window, take_new
from total_recall.state import State, sole

FIRST_RUN = timedelta(hours=24)
KEY_BYTES = 32
PLACEHOLDER_KEY = "placeholder_key"
TAKING_SECONDS = 600.0
"""How long one waits for another process that takes: a first run over years of sessions needs minutes."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which messages to take beyond what is new. `since` is aware."""

    since: datetime | None = None
    everything: bool = False
    session_id: str | None = None


@dataclass(frozen=True, slots=True)
class Captured:
    """What was taken. `marked_as_seen` messages were older than a first run's window."""

    queued: int
    sessions: int
    marked_as_seen: int
    first_run: bool


def capture(
    place: Place,
    config: Configuration,
    state: State,
    now: datetime,
    problems: Problems,
    wanted: Wanted = Wanted(),  # frozen
) -> Captured:
    """Take what is new in the stores of a memory into its queue, waiting while another process does the same.

    Raises AlreadyRunning when that takes more than ten minutes, StoreError and MemoryWriteError as `State` does.
    """
    with sole("taking", place.own_dir, TAKING_SECONDS):
        return capture_alone(place, config, state, now, problems, wanted)


def capture_alone(
    place: Place, config: Configuration, state: State, now: datetime, problems: Problems, wanted: Wanted
) -> Captured:
    """The same for a state that nobody else writes: the copy of a dry run, for one."""
    window, first_run = _window(config, wanted, state, now)
    locked = problems.counts.get("database", 0)
    taking: Taking = take_new(place.sources, state, window, problems)
    # A database that could not be read now would pour its whole past into the next run, if that had no window.
    if first_run and wanted.session_id is None and problems.counts.get("database", 0) == locked:
        state.set_meta("first_run_done", now.isoformat())
    return Captured(taking.count.queued, len(taking.sessions), taking.count.skipped, first_run)


def _window(config: Configuration, wanted: Wanted, state: State, now: datetime) -> tuple[Window, bool]:
    """Which messages this run wants, and whether it is a first run.

    A first run takes the last 24 hours. Where that begins is written down before anything is read, so that a first
    run that was cut short goes on with the same window.
    """
    window = Window(
        config.settings.include,
        config.host.main_key,
        session_id=wanted.session_id,
        keeps_out=keeps_out(rules(config.settings.exclude)),
        redact=redacting(state),
    )
    asked = 0 if wanted.everything else milliseconds(wanted.since) if wanted.since else None
    if state.meta("first_run_done") is not None:
        return replace(window, promote_since_ms=asked), False
    if wanted.session_id is not None:
        return replace(window, promote_since_ms=asked or 0), True
    begun = state.meta("first_run_since_ms")
    since_ms = asked if asked is not None else int(begun) if begun is not None else milliseconds(now - FIRST_RUN)
    state.set_meta("first_run_since_ms", str(since_ms))
    # What a first run that was cut short has marked as seen may lie inside a window that is asked for now.
    return replace(window, since_ms=since_ms, promote_since_ms=asked if begun is not None else None), True


def redacting(state: State) -> Callable[[str], str]:
    """Takes secrets out of a text; the same secret has the same placeholder as long as the state lives."""
    name = state.meta(PLACEHOLDER_KEY)
    if name is None:
        name = secrets.token_hex(KEY_BYTES)
        state.set_meta(PLACEHOLDER_KEY, name)
    placeholder = placeholders(bytes.fromhex(name))
    return lambda text: redact(text, placeholder).text


def rules(exclude: str) -> tuple[Rule, ...]:
    try:
        return parse_rules(exclude)
    except ValueError as error:
        raise SettingError(f"TOTAL_RECALL_EXCLUDE has {str(error)!r}; it must be {FORMS}") from None


def milliseconds(at: datetime) -> int:
    """Milliseconds since 1970."""
    return round(at.timestamp() * 1000)
