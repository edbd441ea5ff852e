"""forecast: when each line of the memory will be forgotten, by which rule, and what reading it today would change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta, tzinfo
from pathlib import Path
from typing import Final

from total_recall import clock
from total_recall.commands import dreaming, places
from total_recall.commands.places import Configuration
from total_recall.dream.items import Item
from total_recall.errors import TotalRecallError
from total_recall.memory.archived import line_key
from total_recall.memory.context import harmless
from total_recall.memory.document import Document, parse
from total_recall.memory.store import MemoryStore
from total_recall.recall.forecast import Forecast, Leave, Outlook, Remembered, forecasts
from total_recall.state import Access, State

SHOWN_CHARACTERS: Final = 100


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line asked for: only what happens within `days`, only the line with this `id`."""

    days: int | None = None
    id: str | None = None
    agent: str | None = None


@dataclass(frozen=True, slots=True)
class Tonight:
    """What a dream would take out tonight for more than a line's own age: it says the same as another, or has no room.

    `tokens` is the length of the memory, `target_tokens` the one aimed at.
    """

    leaves: Mapping[int, Leave]
    tokens: int
    target_tokens: int

    @property
    def is_pressed(self) -> bool:
        return self.tokens > self.target_tokens


@dataclass(frozen=True, slots=True)
class Result:
    """The forecasts of one memory, what leaves first before the rest."""

    memory_dir: Path
    today: date
    tonight: Tonight
    forecasts: tuple[Forecast, ...] = ()
    days: int | None = None

    def payload(self) -> dict[str, object]:
        """The fields of the JSON answer."""
        return {
            "memory_dir": str(self.memory_dir),
            "today": self.today.isoformat(),
            "tokens": self.tonight.tokens,
            "target_tokens": self.tonight.target_tokens,
            "under_pressure": self.tonight.is_pressed,
            "forecasts": [self._fields(forecast) for forecast in self.forecasts],
        }

    def lines(self) -> list[str]:
        """The answer for a person."""
        if not self.forecasts:
            return [
                f"Nothing is forgotten in the next {self.days} days." if self.days else "Nothing is remembered yet."
            ]
        room = "under pressure" if self.tonight.is_pressed else "with room to spare"
        head = f"{self.tonight.tokens:,} of {self.tonight.target_tokens:,} tokens: {room} (DREAM_TOKEN_TARGET)"
        return [head, *(line for forecast in self.forecasts for line in self._told(forecast))]

    def _fields(self, forecast: Forecast) -> dict[str, object]:
        line = forecast.line
        tonight = self.tonight.leaves.get(line.number)
        return {
            "id": line.key,
            "text": harmless(line.text),
            "type": line.memory.type,
            "importance": line.memory.importance,
            **_outlook_fields(forecast.now),
            "tonight": tonight and _leave_fields(tonight),
            "if_read_today": _outlook_fields(forecast.if_read_today),
        }

    def _told(self, forecast: Forecast) -> Iterator[str]:
        line, now = forecast.line, forecast.now
        text = harmless(line.text)
        short = text if len(text) <= SHOWN_CHARACTERS else f"{text[: SHOWN_CHARACTERS - 1]}…"
        tonight = self.tonight.leaves.get(line.number)
        leaves = tonight or now.leaves
        yield f"{leaves.on.isoformat() if leaves else 'stays':<10}  {line.key}  {short}"
        yield f"            {f'archived: {leaves.reason}' if leaves else now.stays or 'no rule ever lets it go'}"
        more = [_top_words(now.top_until, self.today)]
        if now.under_pressure and not tonight:
            more.append(f"under pressure: from {now.under_pressure.on}")
        if change := _change(now, forecast.if_read_today, self.today):
            more.append(f"if read today: {change}")
        yield f"            {'; '.join(more)}"


def run(options: Options, config: Configuration | None = None) -> Result:
    """Reckon for the default agent's memory, or that of `agent`; writes nothing.

    Raises TotalRecallError when there is no line with that id, StoreError when the memory cannot be read.
    """
    now = clock.now()
    config = config or places.configure()
    place = places.find(config, now, options.agent)[0]
    settings = config.settings
    today = now.astimezone(settings.tz).date()
    document = parse(MemoryStore(place.memory_dir).read().content)
    keys = [line_key(entry) for entry in document.observations]
    with_types = settings.dream_phase > 1
    with State.open_copy(place.own_dir) as state:
        accesses = state.accesses(keys)
        days = dreaming.accessed(document, state, settings.tz)
    items, _ = dreaming.items_of(document, days, today, with_types=with_types)
    draft = dreaming.draft(document, days, today, settings.dream_token_target, with_types=with_types)
    tonight = Tonight(
        {
            leaving.item.number: Leave(today, leaving.fate, leaving.reason)
            for leaving in draft.plan.leaving
            if leaving.fate in ("repeated", "contradicted", "age")
        },
        draft.tokens,
        settings.dream_token_target,
    )
    found = forecasts(_lines(document, items, accesses, settings.tz), today)
    return Result(place.memory_dir, today, tonight, _chosen(found, options, today, tonight), options.days)


def _lines(
    document: Document, items: tuple[Item, ...], accesses: Mapping[str, Access], tz: tzinfo
) -> tuple[Remembered, ...]:
    entries = {entry.line: entry for entry in document.observations}
    found = []
    for item in items:
        entry = entries[item.number]
        access = accesses.get(line_key(entry))
        found.append(
            Remembered(
                number=item.number,
                key=line_key(entry),
                text=entry.text,
                kind=entry.type,
                memory=item.memory,
                said=entry.heading or entry.recorded,
                refers=entry.refers,
                uses=access.count if access else 0,
                last_used=access.last.astimezone(tz).date() if access else None,
                is_open=item.is_open,
                nested=item.nested,
            )
        )
    return tuple(found)


def _chosen(found: tuple[Forecast, ...], options: Options, today: date, tonight: Tonight) -> tuple[Forecast, ...]:
    if options.id is not None:
        found = tuple(forecast for forecast in found if forecast.line.key == options.id)
        if not found:
            raise TotalRecallError(f"there is no line {options.id!r} in the memory; recall shows ids with --why")
    if options.days is not None:
        last = today + timedelta(days=min(options.days, (date.max - today).days))
        found = tuple(f for f in found if f.line.number in tonight.leaves or _first_day(f.now) <= last)
    return tuple(
        sorted(found, key=lambda f: (today if f.line.number in tonight.leaves else _leaves(f.now), f.line.number))
    )


def _first_day(outlook: Outlook) -> date:
    return min(outlook.top_until or date.max, _leaves(outlook))


def _leaves(outlook: Outlook) -> date:
    return outlook.leaves.on if outlook.leaves else date.max


def _top_words(top_until: date | None, today: date) -> str:
    if top_until is None:
        return "stays in the top of recall"
    return "out of the top of recall" if top_until <= today else f"in the top of recall until {top_until}"


def _change(now: Outlook, read: Outlook, today: date) -> str:
    """What an access today would change, in words; nothing where it changes nothing."""
    told = []
    if read.leaves != now.leaves and read.leaves is not None:
        told.append(f"archived {read.leaves.on} ({read.leaves.rule})")
    if read.top_until != now.top_until:
        told.append(_top_words(read.top_until, today))
    if read.under_pressure != now.under_pressure and read.under_pressure is not None:
        told.append(f"under pressure from {read.under_pressure.on}")
    return ", ".join(told)


def _outlook_fields(outlook: Outlook) -> dict[str, object]:
    return {
        "top_until": outlook.top_until.isoformat() if outlook.top_until else None,
        "archived": outlook.leaves and _leave_fields(outlook.leaves),
        "archived_under_pressure": outlook.under_pressure and _leave_fields(outlook.under_pressure),
        "stays": outlook.stays,
    }


def _leave_fields(leave: Leave) -> dict[str, object]:
    return {"on": leave.on.isoformat(), "rule": leave.rule, "reason": leave.reason}
