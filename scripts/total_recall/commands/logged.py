"""What all questions to the log share: what is asked for, the memories that are asked, and that they are up to date."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from pathlib import Path

from total_recall import periods
from total_recall.commands import logging_events, places
from total_recall.commands.places import Configuration
from total_recall.errors import AlreadyRunning, MemoryWriteError, StoreError, TotalRecallError
from total_recall.periods import Period
from total_recall.sidecar import queries
from total_recall.sidecar.database import Events, explained
from total_recall.sidecar.queries import Wanted

WAIT_SECONDS = 2.0
"""How long a logging run that is at work is waited for; then the log answers with what it has."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What the command line asks for. `on` is a whole day, week, month or year; the times are the user's."""

    since: Period | None = None
    until: Period | None = None
    on: Period | None = None
    types: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    failed: bool = False
    session: str = ""
    agent: str | None = None
    words: str = ""

    def wanted(self, now: datetime, tz: tzinfo) -> Wanted:
        """The same for the database. Raises TotalRecallError when `on` is a moment, or the time ends before it begins.

        `now` is aware.
        """
        since = self.since.start(now, tz) if self.since else None
        until = self.until.end(now, tz) if self.until else None
        if self.on is not None:
            since, until = self.on.resolve(now, tz)
            if self.on.is_moment:
                raise TotalRecallError(f"--on {self.on.text}: that is no day; write --since {self.on.text}")
        if since and until and since >= until and self.on is None:
            both = f"--since {_text(self.since)} is not before --until {_text(self.until)}"
            raise TotalRecallError(f"{both}; exchange them, or leave one out")
        return Wanted(
            since_ms=periods.milliseconds(since) if since else None,
            until_ms=periods.milliseconds(until) if until else None,
            types=self.types,
            tools=self.tools,
            failed=self.failed,
            session=self.session,
            words=self.words,
        )


def _text(period: Period | None) -> str:
    return period.text if period else ""


@dataclass(frozen=True, slots=True)
class Logged:
    """The log of one memory, open for questions, with what is wanted of it."""

    memory_dir: Path
    events: Events
    wanted: Wanted


@dataclass(frozen=True, slots=True)
class Opened:
    """The logs that were asked, and what a person should know of them."""

    logs: tuple[Logged, ...]
    notes: tuple[str, ...]


@contextmanager
def opened(config: Configuration, now: datetime, asked: Asked, *, fresh: bool = True) -> Iterator[Opened]:
    """The logs of every memory, or of the agent's; first what is new is logged, unless `fresh` is False.

    A log that cannot be brought up to date answers with what it has. Raises TotalRecallError when no log knows the
    session that is asked for, or there is no such agent; StoreError when a log cannot be read.
    """
    wanted = asked.wanted(now, config.settings.tz)
    notes: list[str] = []
    unknown: list[TotalRecallError] = []
    logs: list[Logged] = []
    with ExitStack() as stack:
        for place in places.find(config, now, asked.agent):
            if not place.own_dir.is_dir() and not any(source.location.exists() for source in place.sources):
                continue
            if fresh:
                try:
                    ingested = logging_events.ingest_place(place, config, now, wait_seconds=WAIT_SECONDS)
                    notes += ingested.notes
                except AlreadyRunning:
                    notes.append("the log is being written at this moment; the newest events may be missing")
                except (StoreError, MemoryWriteError) as error:
                    notes.append(f"the log is not up to date: {error}")
            events = Events.open_readonly(place.own_dir)
            if events is None:
                continue
            stack.enter_context(events)
            log = Logged(place.memory_dir, events, _of_agent(wanted, asked.agent, place.agents))
            try:
                if wanted.session:
                    queries.sessions(events.db, log.wanted)
            except TotalRecallError as error:
                unknown.append(error)
            else:
                logs.append(log)
        if unknown and not logs:
            raise unknown[0]
        try:
            yield Opened(tuple(logs), tuple(notes))
        except sqlite3.DatabaseError as error:
            with explained(_damaged(logs)):
                raise error


def _damaged(logs: Sequence[Logged]) -> Path:
    """The log that a question failed on."""
    for log in logs:
        try:
            if log.events.db.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
                return log.events.path
        except sqlite3.DatabaseError:
            return log.events.path
    return logs[0].events.path


def _of_agent(wanted: Wanted, agent: str | None, agents: tuple[str, ...]) -> Wanted:
    """Session keys, from which people take the name, are lower case; the log has it as the host writes it."""
    if agent is None or agent.startswith(places.PROJECT):
        return wanted
    named = [name for name in agents if name.casefold() == agent.casefold()]
    return replace(wanted, agent=agent if agent in named or not named else named[0])
