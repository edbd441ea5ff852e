"""why: where a memory comes from, what it took the place of, what became of it, and how long it stays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, tzinfo
from pathlib import Path

from total_recall import clock, retention
from total_recall.commands import known as memories
from total_recall.commands import places
from total_recall.commands.known import Known
from total_recall.commands.observing import counted
from total_recall.commands.places import Configuration, Place
from total_recall.dream.classify import kind_of
from total_recall.memory.archived import Section, line_key
from total_recall.memory.context import harmless
from total_recall.memory.line import Entry, is_pinned
from total_recall.memory.raw import is_raw, raw_id
from total_recall.memory.traces import merged_into, said_again_in
from total_recall.memory.verification import day_of, days_in
from total_recall.state import Access, Ground, State

SHOWN_CHARACTERS = 600
"""A longer message is shown shortened; `--json` has all of it."""


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line asked for."""

    id: str
    agent: str | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """A message that the memory was made from. `by` compressed it, `at_work` is when; None where nobody noted it."""

    ground: Ground
    by: str | None
    at_work: datetime | None


@dataclass(frozen=True, slots=True)
class Stay:
    """An archived item: its name, the file and day, why it left, and whether it stands in the memory again."""

    name: str
    file: str
    day: str
    reason: str
    is_back: bool


@dataclass(frozen=True, slots=True)
class Result:
    """All that is known of one memory.

    `supersedes`, `merged_from`, `said_again` are ids of older lines; `superseded_by` and `merged_into` of newer ones.
    `members` are what a finding sums up. `until` says, in words, how long it stays.
    """

    memory_dir: Path
    agents: tuple[str, ...]
    key: str
    text: str
    entry: Entry | None
    is_live: bool
    sources: tuple[Source, ...]
    archived: tuple[Stay, ...]
    access: Access | None
    superseded_by: str | None
    merged_into: str | None
    supersedes: tuple[str, ...]
    merged_from: tuple[str, ...]
    said_again: tuple[str, ...]
    members: tuple[str, ...]
    until: str | None
    tz: tzinfo

    def payload(self) -> dict[str, object]:
        """The fields of the JSON answer."""
        entry = self.entry
        return {
            "memory_dir": str(self.memory_dir),
            "id": self.key,
            "text": self.text,
            "in_memory": self.is_live,
            "pinned": entry is not None and is_pinned(entry),
            "type": entry.type if entry else None,
            "importance": entry.importance if entry else None,
            "confidence": entry.confidence if entry else None,
            "source": entry.certainty if entry else None,
            "date": _iso((entry.heading or entry.recorded) if entry else None),
            "refers": _iso(entry.refers if entry else None),
            "messages": [_source_fields(source, self.agents, self.tz) for source in self.sources],
            "supersedes": list(self.supersedes),
            "superseded_by": self.superseded_by,
            "merged_from": list(self.merged_from),
            "merged_into": self.merged_into,
            "said_again": list(self.said_again),
            "members": list(self.members),
            "archived": [
                {"name": s.name, "file": s.file, "date": s.day, "reason": s.reason, "back": s.is_back}
                for s in self.archived
            ],
            "recalled": self.access.count if self.access else 0,
            "last_recalled": self.access.last.astimezone(self.tz).isoformat() if self.access else None,
            "stays": self.until,
        }

    def lines(self) -> list[str]:
        """The answer for a person."""
        return [f"{self.key}: {harmless(self.text)}", *(f"  {line}" for line in self._said())]

    def _said(self) -> Iterator[str]:
        if self.entry is not None:
            yield _rating(self.entry)
        yield from _origin(self)
        for words, ids in (
            ("took the place of", self.supersedes),
            ("was merged from", self.merged_from),
            ("says again what was said in", self.said_again),
            ("sums up", self.members),
        ):
            if ids:
                yield f"{words} {', '.join(ids)}"
        if self.superseded_by:
            yield f"no longer current: {self.superseded_by} took its place"
        if self.merged_into:
            yield f"was merged into {self.merged_into}"
        for stay in self.archived:
            back = "; it is back in the memory" if stay.is_back else ""
            reason = f": {stay.reason}" if stay.reason else ""
            yield f"archived on {stay.day} as {stay.name} ({stay.file}){reason}{back}"
        if self.access:
            last = self.access.last.astimezone(self.tz)
            yield f"recalled {counted(self.access.count, 'time')}, last on {last:%Y-%m-%d %H:%M}"
        else:
            yield "never recalled"
        if self.until:
            yield self.until


def run(options: Options, config: Configuration | None = None) -> Result:
    """All that is known of a memory; changes nothing.

    Raises TotalRecallError when there is none of that name, StoreError when something cannot be read.
    """
    now = clock.now()
    config = config or places.configure()
    place, found = memories.find(options.id, places.find(config, now, options.agent))
    with State.open_copy(place.own_dir) as state:
        return explained(place, found, state, now, config.settings.tz)


def explained(place: Place, found: Sequence[Known], state: State, now: datetime, tz: tzinfo) -> Result:
    """What is known of one memory under one name."""
    known = memories.all_of(place.memory_dir, memories.stem(found[0].key))
    first = found[0]
    entry, key = first.entry, first.key
    access = state.accesses([key]).get(key)
    sections = [item.section for item in found if item.section is not None]
    latest = sections[-1] if sections and not first.is_live else None
    reasons = {i.key: i.section.reason for i in known if i.section is not None and key in i.section.reason}
    reasons.pop(key, None)
    members = _members(latest) if latest is not None and entry is None else []
    today = now.astimezone(tz).date()
    return Result(
        memory_dir=place.memory_dir,
        agents=place.agents,
        key=key,
        text=first.text,
        entry=entry,
        is_live=first.is_live,
        sources=_sources(state, key, members),
        archived=tuple(_stays(found)),
        access=access,
        superseded_by=_superseded_by(entry, latest.reason if latest else ""),
        merged_into=merged_into(latest.reason) if latest else None,
        supersedes=tuple(dict.fromkeys(_superseded(known, key))),
        merged_from=tuple(name for name, reason in reasons.items() if merged_into(reason) == key),
        said_again=tuple(name for name, reason in reasons.items() if said_again_in(reason) == key),
        members=tuple(members),
        until=_until(entry, access, today, tz) if entry is not None and first.is_live else None,
        tz=tz,
    )


def _members(finding: Section) -> list[str]:
    """What a finding sums up: the keys of the lines below it, else the names and ids that stand in it."""
    lines = [line_key(entry) for source in finding.sources() if (entry := source.entry) is not None]
    return lines or sorted(finding.references())


def _sources(state: State, key: str, members: Sequence[str]) -> tuple[Source, ...]:
    if is_raw(key):
        waiting = [q for q in state.queue() if raw_id(q.message.session_id, q.message.entry_id) == key]
        return tuple(Source(Ground(q.row, q.message, "unknown", None, True, None), None, None) for q in waiting)
    found = state.grounds_of([key, *members])
    grounds = {ground.row: ground for some in found.values() for ground in some}
    makers = state.compressed_by({ground.batch for ground in grounds.values() if ground.batch})
    ordered = sorted(grounds.values(), key=lambda ground: (ground.message.at, ground.row))
    return tuple(Source(ground, *makers.get(ground.batch or "", (None, None))) for ground in ordered)


def _stays(found: Sequence[Known]) -> Iterator[Stay]:
    for item in found:
        if item.section is not None and item.section.name is not None:
            day = item.file.rpartition("/")[2].removesuffix(".md")
            yield Stay(item.section.name, item.file, day, item.section.reason, item.is_back)


def _superseded_by(entry: Entry | None, reason: str) -> str | None:
    if entry is not None and entry.superseded_by is not None:
        return entry.superseded_by
    return reason.removeprefix("superseded by ") if reason.startswith("superseded by ") else None


def _superseded(known: Sequence[Known], key: str) -> Iterator[str]:
    """The ids of what this one took the place of."""
    for item in known:
        reason = item.section.reason if item.section is not None else ""
        says = key in reason or key in item.raw if item.section is not None else True
        if says and item.key != key and _superseded_by(item.entry, reason) == key:
            yield item.key


def _until(entry: Entry, access: Access | None, today: date, tz: tzinfo) -> str:
    """How long a line stays in the memory, by the rules of `retention`."""
    subject = retention.subject(
        entry,
        accessed=access.last.astimezone(tz).date() if access else None,
        speaks_of=days_in(entry.text, day_of(entry)),
        type=kind_of(entry.text) if entry.type is None else None,
    )
    due = retention.due_day(subject, today)
    if due is None:
        return f"stays for good: {retention.protected(subject, today) or 'nothing lets it go'}"
    day, rule = due
    return f"stays until {day.isoformat()} ({rule}) unless it is recalled; earlier only when the memory is too long"


# --- how it is told


def _rating(entry: Entry) -> str:
    parts = [
        entry.type or "no type",
        f"importance {entry.importance:.1f}",
        f"confidence {entry.confidence:.2f}" if entry.confidence is not None else "",
        entry.certainty or "",
        f"about {entry.refers}" if entry.refers else "",
        "pinned" if is_pinned(entry) else "",
    ]
    return ", ".join(filter(None, parts))


def _origin(result: Result) -> Iterator[str]:
    if not result.sources:
        day = result.entry.heading or result.entry.recorded if result.entry else None
        yield f"nobody noted where it comes from; it stands under {day or 'no day'}, perhaps written by a person"
    session = None
    for source in result.sources:
        ground, message = source.ground, source.ground.message
        if message.session_id != session:
            session = message.session_id
            key = f", {message.session_key}" if message.session_key else ""
            agent = _agent(message.session_key, result.agents)
            yield f"from {message.source} session {session}{key}{f' of agent {agent}' if agent else ''}:"
        yield f"  {message.at.astimezone(result.tz):%Y-%m-%d %H:%M} {message.speaker or message.role}: {_words(ground)}"
    makers = dict.fromkeys((source.by, source.at_work) for source in result.sources if source.by)
    for by, at in makers:
        when = f" on {at.astimezone(result.tz):%Y-%m-%d %H:%M}" if at else ""
        yield f"condensed by {'the built-in compressor' if by == 'offline' else by}{when}"


def _words(ground: Ground) -> str:
    if ground.forgotten_at is not None:
        return f"(forgotten on {ground.forgotten_at:%Y-%m-%d})"
    if not ground.is_kept:
        return "(not kept)"
    line = harmless(ground.message.text)
    return f"“{line if len(line) <= SHOWN_CHARACTERS else line[:SHOWN_CHARACTERS] + '…'}”"


def _agent(session_key: str | None, agents: Sequence[str]) -> str | None:
    """`main` of `agent:main:telegram:…`; without a key the agent whose memory it is, if it is one agent's."""
    words = (session_key or "").split(":")
    if words[0] == "agent" and len(words) > 1:
        return words[1]
    return agents[0] if len(agents) == 1 else None


def _source_fields(source: Source, agents: Sequence[str], tz: tzinfo) -> dict[str, object]:
    ground, message = source.ground, source.ground.message
    return {
        "host": message.source,
        "agent": _agent(message.session_key, agents),
        "session": message.session_id,
        "session_key": message.session_key,
        "session_class": ground.session_class,
        "entry": message.entry_id,
        "at": message.at.astimezone(tz).isoformat(),
        "by": message.speaker or message.role,
        "text": message.text if ground.is_kept else None,
        "forgotten": ground.forgotten_at.isoformat() if ground.forgotten_at else None,
        "condensed_by": source.by,
        "condensed_at": source.at_work.astimezone(tz).isoformat() if source.at_work else None,
    }


def _iso(day: date | None) -> str | None:
    return day.isoformat() if day else None
