"""What the steps of a night that an agent drives share: the locks, the memory, and what `preflight` has noted."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Final

from total_recall.commands import context
from total_recall.commands.dream_commit import BACKUPS
from total_recall.commands.places import Place
from total_recall.errors import MemoryWriteError, TotalRecallError
from total_recall.memory import last_dream
from total_recall.memory.commit import finish_pending
from total_recall.memory.store import MemoryStore
from total_recall.settings import Settings
from total_recall.state import State, Step, no_step, sole

LOCK_WAIT_SECONDS: Final = 60.0
FRESH_HOURS: Final = 24
"""A preflight of longer ago does not count: the memory has become another one."""
_SESSION: Final = "dream steps"


@dataclass(frozen=True, slots=True)
class Session:
    """What a preflight has noted. `backup` is the file name of the document at that moment, `before` its SHA-256."""

    at: datetime
    day: date
    backup: str
    before: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a step has to say: fields for a program, lines for a person, and whether it did not pass."""

    fields: dict[str, object]
    lines: tuple[str, ...]
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Desk:
    """One memory, while a step works on it. With `read_only` nothing may be written.

    `now` is aware, in the user's zone. Every step of the file system is told to `step`.
    """

    place: Place
    settings: Settings
    state: State
    now: datetime
    read_only: bool
    step: Step = field(default=no_step, hash=False)

    @property
    def today(self) -> date:
        return self.now.date()

    @property
    def store(self) -> MemoryStore:
        """The document, with backups where those of the nights are."""
        return MemoryStore(self.place.memory_dir, self.step, BACKUPS)

    @contextmanager
    def locked(self) -> Iterator[tuple[Path, ...]]:
        """Hold the document's lock, after an observer's cut-off commit is finished. Yields edits kept for a person."""
        while True:
            rescued = finish_pending(self.state, self.store, self.step).rescued
            with self.store.lock() as found:
                if self.state.pending() is None:
                    yield (*rescued, *found)
                    return

    def session(self) -> Session:
        """What the preflight has noted. Raises TotalRecallError when there was none lately."""
        session = load(self.state)
        if session is None or self.now - session.at > timedelta(hours=FRESH_HOURS):
            raise TotalRecallError(f"no preflight in the last {FRESH_HOURS} hours: run `total-recall dream preflight`")
        return session

    def backup_of(self, session: Session) -> bytes:
        """The document as it was at the preflight. Raises MemoryWriteError when the copy is gone."""
        if not session.backup:  # there was no document
            return b""
        path = self.store.backup_dir / session.backup
        try:
            return path.read_bytes()
        except OSError as error:
            raise MemoryWriteError(f"cannot read {path}: {error.strerror}; run `dream preflight` again") from error

    def free_moment(self) -> datetime:
        """Now, or just after the newest remembered night: nights are told apart by their time."""
        newest = max((night.at for night in last_dream.nights(self.state)), default=None)
        return self.now if newest is None or newest < self.now else newest + timedelta(microseconds=1)

    def changed(self) -> None:
        """To be called after the document has changed: brings up to date what the agent reads at its next start."""
        context.write_ready_made(self.place.memory_dir, self.today, characters=self.place.context_characters)


@contextmanager
def at_work(
    place: Place, settings: Settings, now: datetime, read_only: bool, *, alone: bool = True, step: Step = no_step
) -> Iterator[Desk]:
    """A desk for one step. One that works `alone` has the memory to itself, as a night has; another one only looks.

    Raises AlreadyRunning when a night or a reflection is at work, TotalRecallError when a night was cut off.
    """
    if read_only or not alone:
        with State.open_copy(place.own_dir) as state:
            yield Desk(place, settings, state, now, read_only, step)
        return
    with ExitStack() as locks:
        locks.enter_context(sole("dream", place.own_dir))
        locks.enter_context(sole("reflector", place.own_dir, LOCK_WAIT_SECONDS))
        with State.open(place.own_dir, step) as state:
            if last_dream.unfinished(state) is not None:
                raise TotalRecallError("a night was cut off while it wrote: `total-recall dream` finishes it first")
            yield Desk(place, settings, state, now, False, step)


def load(state: State) -> Session | None:
    """The newest preflight, None before the first."""
    value = state.meta(_SESSION)
    if value is None:
        return None
    fields = json.loads(value)
    return Session(
        at=datetime.fromisoformat(fields["at"]),
        day=date.fromisoformat(fields["day"]),
        backup=fields["backup"],
        before=fields["before"],
    )


def save(state: State, session: Session) -> None:
    """Remember a preflight; it takes the place of the one before."""
    fields = {
        "at": session.at.isoformat(),
        "day": session.day.isoformat(),
        "backup": session.backup,
        "before": session.before,
    }
    state.set_meta(_SESSION, json.dumps(fields))
