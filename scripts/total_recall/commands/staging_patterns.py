"""The dream cycle's last stage: what recurs in the memory and its archive is laid before a person.

dream/ finds the patterns and memory/ keeps the proposals; neither knows the other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import date, datetime, timedelta
from typing import Final

from total_recall.commands.places import Place
from total_recall.dream import patterns
from total_recall.dream.classify import kind_of
from total_recall.dream.patterns import Earlier, Noted, Proposal
from total_recall.memory import promotion, staged
from total_recall.memory.archive import Archive
from total_recall.memory.archived import line_key
from total_recall.memory.chunks import Chunks
from total_recall.memory.document import Document
from total_recall.memory.line import Entry, match_observation, read_day, read_observation
from total_recall.memory.raw import is_raw
from total_recall.memory.staged import Staged
from total_recall.memory.staging import Staging
from total_recall.state import Step, no_step

WINDOW_DAYS: Final = 60
"""What was archived longer ago is no evidence any more."""

_NAME_DAY = re.compile(r"[A-Z]+-([0-9]{4})([0-9]{2})([0-9]{2})-[0-9]+")


def stage_patterns(
    place: Place, document: Document, now: datetime, *, dry_run: bool = False, step: Step = no_step
) -> tuple[str, ...]:
    """Write the proposals of this night to dream-staging/; with `dry_run` only say what they would be.

    `document` is the memory, before the cycle or after it: what the archive took counts as well. `now` is in the user's
    zone. Returns a line for each proposal. Raises TotalRecallError when a file cannot be read or written.
    """
    staging = Staging(place.memory_dir, place.workspace, step)
    found = patterns.propose(
        noted(place, document, now.date()),
        promotion.read_targets(place.memory_dir, place.workspace),
        earlier(staging),
        now.date(),
    )
    names = ["not written"] * len(found) if dry_run else [staging.add(to_stage(one), now).name for one in found]
    said = (f"{one.target} ({one.confidence}): {one.text}" for one in found)
    return tuple(f"{name}: {what}" for name, what in zip(names, said, strict=True))


def earlier(staging: Staging) -> list[Earlier]:
    """What was proposed before, and what became of it."""
    return [
        Earlier(entry.staged.text or entry.staged.summary, entry.staged.ids, entry.staged.days, entry.status)
        for entry in staging.entries()
    ]


def to_stage(proposal: Proposal) -> Staged:
    """A proposal as it is written."""
    evidence = [staged.Evidence(one.id, one.day, one.text) for one in proposal.evidence]
    return staged.new(proposal.type, proposal.target, proposal.confidence, proposal.summary, proposal.text, evidence)


def noted(place: Place, document: Document, today: date) -> list[Noted]:
    """What the memory holds and what left it in the last weeks. Words that wait to be condensed are none."""
    entries = [entry for entry in document.observations if not is_raw(entry.id)]
    return [one for entry in (*entries, *_archived(place, today)) if (one := _noted(entry)) is not None]


def _archived(place: Place, today: date) -> Iterator[Entry]:
    first = today - timedelta(days=WINDOW_DAYS)
    for shelf in (Archive(place.memory_dir), Chunks(place.memory_dir)):
        for filed in shelf.entries():
            match = _NAME_DAY.fullmatch(filed.name)
            day = read_day("-".join(match.groups())) if match else None
            if filed.is_whole and day is not None and day >= first:
                yield from _entries(filed.keys)


def _entries(keys: Iterable[tuple[str, str]]) -> Iterator[Entry]:
    for day, line in keys:
        bullet = match_observation(line)
        if bullet is not None and not is_raw((entry := _read(bullet, day)).id):
            yield entry


def _read(bullet: re.Match[str], day: str) -> Entry:
    return read_observation(bullet, line=0, level=0, heading=read_day(day))[0]


def _noted(entry: Entry) -> Noted | None:
    day = entry.heading or entry.recorded
    if day is None:
        return None
    return Noted(
        id=line_key(entry),
        day=day,
        text=entry.text,
        type=entry.type or kind_of(entry.text),
        importance=entry.importance,
        confidence=entry.confidence,
        is_current=entry.superseded_by is None,
    )
