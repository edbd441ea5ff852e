"""log: what the agent did, as the host stored it: shown, or written as JSON lines or CSV, or followed as it happens."""

from __future__ import annotations

import heapq
import select
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import tzinfo
from pathlib import Path
from typing import Final, Literal

from total_recall import clock, periods
from total_recall.commands import log_lines, places
from total_recall.commands.log_lines import event_line, fields_of
from total_recall.commands.logged import Asked, Logged, opened
from total_recall.commands.places import Configuration
from total_recall.sidecar import queries
from total_recall.sidecar.fulltext import match_query
from total_recall.sidecar.queries import Place
from total_recall.sidecar.rows import Event

Form = Literal["shown", "jsonl", "csv"]
Say = Callable[[str], None]
"""Prints a line."""

LIMIT: Final = 100
THIS_WEEK: Final = periods.parse("week")
TAIL_LIMIT: Final = 10
TAIL_SECONDS: Final = 2.0


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line asked for. Without `limit` a person gets 100 events and a program all of them."""

    asked: Asked = field(default_factory=Asked)
    limit: int | None = None
    form: Form = "shown"
    tail: bool = False
    summed: bool = False


@dataclass(frozen=True, slots=True)
class Result:
    """The newest events that are wanted, the oldest first; `total` is how many there are, None when that is not known.

    `written` were written as they were found, and are not in `events`. With `summed` the kinds are counted.
    """

    tz: tzinfo
    events: tuple[Event, ...] = ()
    total: int | None = 0
    notes: tuple[str, ...] = ()
    kinds: tuple[tuple[str, int], ...] | None = None
    written: int | None = None

    def payload(self) -> dict[str, object]:
        """The fields of the JSON answer."""
        kinds = {} if self.kinds is None else {"kinds": dict(self.kinds)}
        return {
            "time_zone": str(self.tz),
            "total": self.total,
            "shown": len(self.events),
            **kinds,
            "events": [fields_of(event, self.tz) for event in self.events],
            "warnings": list(self.notes),
        }

    def lines(self) -> list[str]:
        """The answer for a person; nothing where everything was written already."""
        if self.written is not None:
            return []
        said = [event_line(event, self.tz) for event in self.events] or ["Nothing of that kind is in the log."]
        if self.total != len(self.events):
            there_are = "of many" if self.total is None else f"of {self.total:,}"
            said.append(f"The newest {len(self.events):,} {there_are} are shown; --limit N shows more, --jsonl all.")
        if self.kinds:
            total = sum(number for _, number in self.kinds)
            said.append(f"{total:,} in all: {', '.join(f'{number:,} {kind}' for kind, number in self.kinds)}")
        return [*said, *(f"  warning: {note}" for note in self.notes)]


def run(
    options: Options,
    config: Configuration | None = None,
    say: Say = print,
    waited: Callable[[float], bool] | None = None,
) -> Result:
    """Ask the log. Programs' forms and `tail` say each event as it is found; `waited` is False when `tail` is to end.

    Raises TotalRecallError for a session or agent that is not there, StoreError when the log cannot be read.
    """
    now = clock.now()
    config = config or places.configure()
    tz = config.settings.tz
    if options.tail:
        return _follow(options, config, say, waited or waited_while_read)
    with opened(config, now, options.asked) as found:
        if options.form != "shown":
            written = _written(_streamed(found.logs, options.limit), options.form, tz, say)
            return Result(tz, total=written, written=written, notes=found.notes)
        limit = options.limit or LIMIT
        events = _newest(found.logs, limit)
        total = _total(found.logs) if len(events) == limit else len(events)
        kinds = _kinds(found.logs) if options.summed else None
        return Result(tz, tuple(events), total, found.notes, kinds)


def errors(options: Options, config: Configuration | None = None) -> Result:
    """What failed, and how often each thing did; without a time since Monday. Raises as `run` does."""
    asked = replace(options.asked, failed=True)
    if asked.since is None and asked.until is None and asked.on is None:
        asked = replace(asked, since=THIS_WEEK)
    return run(replace(options, asked=asked, summed=True), config)


def _total(logs: Sequence[Logged]) -> int | None:
    counts = [queries.count(log.events.db, log.wanted, match_query) for log in logs]
    return None if None in counts else sum(number for number in counts if number is not None)


def _newest(logs: Sequence[Logged], limit: int) -> list[Event]:
    each = [queries.newest(log.events.db, log.wanted, limit, match_query) for log in logs]
    return list(heapq.merge(*each, key=lambda event: event.at))[-limit:]


def _streamed(logs: Sequence[Logged], limit: int | None) -> Iterable[Event]:
    if limit is not None:
        return _newest(logs, limit)
    each = [queries.all_events(log.events.db, log.wanted, match_query) for log in logs]
    return heapq.merge(*each, key=lambda event: event.at)


def _written(events: Iterable[Event], form: Form, tz: tzinfo, say: Say) -> int:
    number = 0

    def shown() -> Iterator[dict[str, object]]:
        nonlocal number
        for event in events:
            number += 1
            yield fields_of(event, tz)

    for line in log_lines.csv_lines(shown()) if form == "csv" else map(log_lines.json_line, shown()):
        say(line)
    return number


def _kinds(logs: Sequence[Logged]) -> tuple[tuple[str, int], ...]:
    """What is wanted, counted, as (`tool_call exec`, 12); the most frequent first."""
    found: Counter[tuple[str, str]] = Counter()
    for log in logs:
        found += queries.kinds(log.events.db, log.wanted, match_query)
    most_first = sorted(found.items(), key=lambda item: (-item[1], item[0]))
    return tuple((f"{kind} {log_lines.harmless(name)}".strip(), number) for (kind, name), number in most_first)


# --- as it happens ---------------------------------------------------------------------------------------------


def _follow(options: Options, config: Configuration, say: Say, waited: Callable[[float], bool]) -> Result:
    """Say the last events, then each new one, until Ctrl-C, SIGTERM, or nobody reads any more."""
    tz = config.settings.tz
    written = 0
    after: dict[Path, Place] = {}
    with _ended_by_a_signal():
        while True:
            with opened(config, clock.now(), options.asked) as found:
                fresh = [_fresh(log, after, options.limit or TAIL_LIMIT) for log in found.logs]
            for event in heapq.merge(*fresh, key=lambda event: event.at):
                say(log_lines.json_line(fields_of(event, tz)) if options.form == "jsonl" else event_line(event, tz))
                written += 1
            if not waited(TAIL_SECONDS):
                break
    return Result(tz, total=written, written=written)


def _fresh(log: Logged, after: dict[Path, Place], limit: int) -> list[Event]:
    """What was logged since the last look, at first the newest events; `after` is where that look ended."""
    db = log.events.db
    before = after.get(log.memory_dir)
    if before is None:
        after[log.memory_dir] = place = queries.here(db)
        return [event for event in queries.newest(db, log.wanted, limit, match_query) if event.id <= place.row]
    found, after[log.memory_dir] = queries.added(db, log.wanted, before)
    return found


@contextmanager
def _ended_by_a_signal() -> Iterator[None]:
    """SIGTERM and Ctrl-C are how this ends, and no failure."""

    def end(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    except KeyboardInterrupt:
        pass
    finally:
        signal.signal(signal.SIGTERM, before)


def waited_while_read(seconds: float) -> bool:
    """Wait so long; False as soon as nobody reads what is printed (a closed pipe)."""
    sys.stdout.flush()
    poll = select.poll()
    poll.register(sys.stdout.fileno(), 0)
    return not poll.poll(seconds * 1000)
