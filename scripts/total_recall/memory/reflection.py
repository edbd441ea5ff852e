"""Consolidation of the memory as operations that are checked one by one. Pure.

Whoever reflects, a model or the rules below, only names operations on numbered observations. What is not mentioned
stays. Each operation is verified on its own: a bad one is refused with a reason, the good ones go on.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timezone
from hashlib import blake2b
from typing import Literal

from total_recall.decay import TTL_DAYS
from total_recall.memory.document import Document
from total_recall.memory.line import Entry, format_observation, is_pinned, one_line, priority_of
from total_recall.memory.operations import Drop, Merge, Operation, Repeat, Supersede, numbers_of, renumbered
from total_recall.memory.raw import is_raw
from total_recall.memory.verification import (
    PASSING,
    age_order,
    day_of,
    facts_of,
    has_amount,
    is_expired,
    is_high,
    is_protected,
    ordinary_words,
    refusal,
    repeats,
    routine_words,
    subject_of,
)
from total_recall.records import Observation, ObservationType
from total_recall.text import negations
from total_recall.tokens import count_words

REASON_CHARACTERS = 200
ROUTINE = 3
"""So many 🟢 lines that differ in figures only are a routine, of which the newest is kept."""

Fate = Literal["merged", "dropped", "superseded", "repeated"]


@dataclass(frozen=True, slots=True)
class Removal:
    """An observation that leaves the document, how and why, and what stands in its place (an id) if anything does.

    `raw` is the whole line as it stood, without its newline.
    """

    entry: Entry
    raw: str
    fate: Fate
    reason: str
    replaced_by: str | None = None
    hooks: tuple[str, ...] = ()
    kind: ObservationType | None = None


@dataclass(frozen=True, slots=True)
class Refused:
    """An operation that was not carried out, the text of the first line that it names, and why."""

    operation: Operation
    about: str
    why: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What will be done: lines to remove, the new text of lines to replace (by line number), and what was refused."""

    removals: tuple[Removal, ...]
    replaced: tuple[tuple[int, str], ...]
    refused: tuple[Refused, ...]


@dataclass(frozen=True, slots=True)
class Consolidated:
    """A document after a reflection. `carried_out` counts the operations that were given and not refused."""

    document: Document
    removals: tuple[Removal, ...]
    refused: tuple[Refused, ...]
    carried_out: int


def open_entries(document: Document) -> tuple[Entry, ...]:
    """The observations that can be consolidated.

    Not those that other lines hang on (nested ones, a person's own text below), nor those in a merge conflict, nor
    words that wait to be condensed, nor what is pinned.
    """
    conflicts = [block for block in document.blocks if not block.hidden]
    held = document.lines_with_text_below()
    return tuple(
        entry
        for entry in document.observations
        if entry.line not in held
        and not is_raw(entry.id)
        and not is_pinned(entry)
        and not any(block.start < entry.line <= block.end for block in conflicts)
    )


def words_of(document: Document) -> int:
    """The words of all observations."""
    return sum(count_words(entry.text) for entry in document.observations)


def share_kept(before: Document, after: Document) -> float:
    """The share, 0-1, of the numbers, dates, names and links of one document that the other still has."""
    had = frozenset(fact for entry in before.observations for fact in facts_of(entry.text).all())
    has = frozenset(fact for entry in after.observations for fact in facts_of(entry.text).all())
    return len(had & has) / len(had) if had else 1.0


def consolidated(document: Document, operations: Sequence[Operation], today: date) -> Consolidated:
    """The document after the operations on its `open_entries`, and after the offline rules on what is left of it."""
    entries = open_entries(document)
    marked = _marked_operations(entries)
    first = plan(document, entries, [*marked, *operations], today)
    middle = apply(document, first)
    rest = open_entries(middle)
    second = plan(middle, rest, offline_operations(rest, today), today)
    refused = tuple(refused for refused in first.refused if refused.operation not in marked)
    after = freshen(apply(middle, second), today)
    return Consolidated(after, first.removals + second.removals, refused, len(operations) - len(refused))


def plan(document: Document, entries: Sequence[Entry], operations: Sequence[Operation], today: date) -> Plan:
    """Verify each operation on the entries that it names, in order; a line is changed once.

    What another line was superseded by, or repeated in, stays as it is.
    """
    removals: list[Removal] = []
    replaced: dict[int, str] = {}
    refused: list[Refused] = []
    gone: dict[int, Operation] = {}
    pillars: set[int] = set()
    merges = any(isinstance(operation, Merge) for operation in operations)
    ordinary = ordinary_words(entry.text for entry in entries if merges)
    for asked in operations:
        operation = replace(asked, text=one_line(asked.text)) if isinstance(asked, Merge) else asked
        why = _conflict(operation, gone, pillars) or refusal(operation, entries, today, ordinary)
        if why is not None:
            refused.append(Refused(asked, entries[numbers_of(asked)[0] - 1].text, why))
            continue
        if isinstance(operation, Merge):
            members = [entries[n - 1] for n in operation.numbers]
            merged = _merged(members, operation.text, today)
            replaced[max(members, key=age_order).line] = format_observation(merged)
            removals += [_removal(document, e, "merged", f"merged into {merged.id}", merged.id) for e in members]
            gone.update(dict.fromkeys(operation.numbers, operation))
            continue
        removals.append(_one_removal(document, entries, operation))
        gone[operation.number] = operation
        pillars.update(numbers_of(operation)[1:])
    return Plan(tuple(removals), tuple(replaced.items()), tuple(refused))


def _conflict(operation: Operation, gone: dict[int, Operation], pillars: set[int]) -> str | None:
    named = numbers_of(operation)
    if isinstance(operation, Supersede | Repeat):
        # 1 by 2 and 2 by 3 is a chain whose end stays; age makes sure that it is no ring.
        if operation.number in gone:
            return "a line that another operation has changed"
        stands = gone.get(named[1])
        return None if stands is None or isinstance(stands, Supersede | Repeat) else "the other line goes itself"
    if any(n in gone for n in named):
        return "a line that another operation has changed"
    return "a line that takes the place of another" if any(n in pillars for n in named) else None


def _one_removal(document: Document, entries: Sequence[Entry], operation: Drop | Supersede | Repeat) -> Removal:
    entry = entries[operation.number - 1]
    if isinstance(operation, Drop):
        return _removal(document, entry, "dropped", one_line(operation.reason)[:REASON_CHARACTERS], None)
    newer = entries[(operation.by if isinstance(operation, Supersede) else operation.of) - 1]
    name = newer.id or f"“{one_line(newer.text)[:60]}”"
    if isinstance(operation, Supersede):
        return _removal(document, entry, "superseded", f"superseded by {name}", newer.id)
    return _removal(document, entry, "repeated", f"said again later: {name}", newer.id)


def apply(document: Document, made: Plan) -> Document:
    """The document with the plan carried out; every other line keeps its bytes."""
    replaced = dict(made.replaced)
    removed = {removal.entry.line for removal in made.removals} - replaced.keys()
    return document.edited(removed, replaced) if removed or replaced else document


def rebased(
    operations: Sequence[Operation], then: Document, now: Document
) -> tuple[tuple[Operation, ...], tuple[Refused, ...]]:
    """Operations on the open entries of one document as operations on those of another, which it has become since.

    A line is the same one when its bytes and its heading are. Operations on a line that changed or went are left out.
    """
    places: dict[tuple[str, date | None], list[int]] = {}
    for number, entry in reversed(list(enumerate(open_entries(now), 1))):
        places.setdefault(_identity(now, entry), []).append(number)
    entries = open_entries(then)
    found: dict[int, int] = {}
    for number, entry in enumerate(entries, 1):
        candidates = places.get(_identity(then, entry))
        if candidates:
            found[number] = candidates.pop()
    kept: list[Operation] = []
    lost: list[Refused] = []
    for operation in operations:
        if all(n in found for n in numbers_of(operation)):
            kept.append(renumbered(operation, found.__getitem__))
        else:
            about = entries[numbers_of(operation)[0] - 1].text
            lost.append(Refused(operation, about, "a line that was changed meanwhile"))
    return tuple(kept), tuple(lost)


def _identity(document: Document, entry: Entry) -> tuple[str, date | None]:
    return document.lines[entry.line - 1].rstrip("\r\n"), entry.heading


def _merged(members: Sequence[Entry], text: str, today: date) -> Observation:
    """One observation in the place of several: at the newest one's time, as important as any, as sure as the least."""
    newest = max(members, key=age_order)
    least = min(members, key=lambda entry: 0.5 if entry.confidence is None else entry.confidence)
    importance = max(entry.importance for entry in members)
    if any(is_high(entry) for entry in members):
        importance = max(importance, 6.0)
    coming = [entry.refers for entry in members if entry.refers and entry.refers >= today]
    past = [newest.refers, *(entry.refers for entry in sorted(members, key=age_order, reverse=True))]
    types = [entry.type for entry in members if entry.type is not None]
    span = _span(members, text) if all(kind in PASSING for kind in types) else ""
    return Observation(
        id=_merged_id(members, text),
        text=text + span,
        at=datetime.combine(newest.heading or day_of(newest), newest.time or time.min, timezone.utc),
        priority=priority_of(importance),
        type=max(types, key=lambda kind: TTL_DAYS[kind] or 0) if types else "fact",
        importance=importance,
        confidence=0.5 if least.confidence is None else least.confidence,
        certainty=least.certainty or "inference",
        refers=next((day for day in (*coming, *past) if day), None),
    )


def _span(members: Sequence[Entry], text: str) -> str:
    """When it happened, behind what happened on several days and is now told under one."""
    days = sorted({day_of(entry) for entry in members})
    if len(days) < 2 or all(day.isoformat() in text for day in days):
        return ""
    return f" ({days[0]} … {days[-1]})"


def _merged_id(members: Sequence[Entry], text: str) -> str:
    letters = "abcdefghjkmnpqrstuvwxyz23456789"
    seed = "\0".join([text, *(entry.id or f"{entry.line} {entry.text}" for entry in members)])
    value = int.from_bytes(blake2b(seed.encode("utf-8", "replace"), digest_size=8).digest(), "big")
    return "".join(letters[value // len(letters) ** place % len(letters)] for place in range(8))


def _removal(document: Document, entry: Entry, fate: Fate, reason: str, by: str | None) -> Removal:
    raw = document.lines[entry.line - 1].rstrip("\r\n").encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return Removal(entry, raw, fate, reason, by)


# --- by rules, without a model


def _marked_operations(entries: Sequence[Entry]) -> tuple[Operation, ...]:
    """Lines that were marked as superseded when the newer one was written, as long as that one is there."""
    by_id = {entry.id: number for number, entry in enumerate(entries, 1) if entry.id is not None}
    return tuple(
        Supersede(number, by_id[entry.superseded_by])
        for number, entry in enumerate(entries, 1)
        if entry.superseded_by in by_id and by_id[entry.superseded_by] != number
    )


def offline_operations(entries: Sequence[Entry], today: date) -> tuple[Operation, ...]:
    """Drop expired 🟢 lines, of lines that say the same keep the newest, and of a 🟢 routine the last time."""
    operations: list[Operation] = []
    gone: set[int] = set()
    for number, entry in enumerate(entries, 1):
        if entry.priority == "low" and is_expired(entry, today) and _may_go(entry, today):
            kind = entry.type or "fact"
            operations.append(Drop(number, f"expired: {kind} of {day_of(entry)}, kept for {TTL_DAYS[kind]} days"))
            gone.add(number)
    left = [number for number in range(1, len(entries) + 1) if number not in gone]
    said_again = list(_said_again(entries, left))
    operations += said_again
    repeated = {operation.number for operation in said_again}
    operations += _routine(entries, [n for n in left if n not in repeated], {o.of for o in said_again}, today)
    return tuple(operations)


def _said_again(entries: Sequence[Entry], numbers: Sequence[int]) -> Iterator[Repeat]:
    """Each line that a newer one repeats. Compared are lines of one kind with the same facts that share a rare word."""
    kinds: dict[object, list[int]] = {}
    for number in numbers:
        entry = entries[number - 1]
        if entry.superseded_by is None:
            facts = facts_of(entry.text)
            key = (entry.type, entry.refers, facts.all(), negations(entry.text))
            kinds.setdefault(key, []).append(number)
    for group in kinds.values():
        frequency = Counter(word for number in group for word in subject_of(entries[number - 1].text))
        standing: dict[str, list[int]] = {}
        for number in sorted(group, key=lambda n: age_order(entries[n - 1]), reverse=True):
            entry = entries[number - 1]
            subject = subject_of(entry.text)
            rarest = min(subject, key=lambda word: (frequency[word], word), default=entry.text)
            newer = next((n for n in standing.get(rarest, ()) if repeats(entry, entries[n - 1])), None)
            if newer is not None:
                yield Repeat(number, newer)
                continue
            for word in subject or (entry.text,):
                standing.setdefault(word, []).append(number)


def _routine(entries: Sequence[Entry], numbers: Sequence[int], pillars: set[int], today: date) -> Iterator[Drop]:
    """🟢 events that differ in their figures only, all but the last."""
    series: dict[object, list[int]] = {}
    for number in numbers:
        entry = entries[number - 1]
        if entry.priority == "low" and (entry.type in PASSING or entry.type is None) and not has_amount(entry.text):
            facts = facts_of(entry.text)
            series.setdefault((entry.type, routine_words(entry.text), facts.names, facts.links), []).append(number)
    for group in series.values():
        if len(group) < ROUTINE:
            continue
        ordered = sorted(group, key=lambda n: age_order(entries[n - 1]))
        first, last = (day_of(entries[number - 1]) for number in (ordered[0], ordered[-1]))
        for number in ordered[:-1]:
            if number not in pillars and _may_go(entries[number - 1], today):
                yield Drop(number, f"routine: {len(group)} times from {first} to {last}, the last one stays")


def _may_go(entry: Entry, today: date) -> bool:
    return not is_high(entry) and not is_protected(entry, today)


# --- relative days

_RELATIVE = re.compile(
    r"(?P<day>[0-9]{4}-[0-9]{2}-[0-9]{2}\)?) ?\((?:in [0-9]+ days?|[0-9]+ days? ago|today|tomorrow|yesterday)\)"
)
_NEAR = {0: "today", 1: "tomorrow", -1: "yesterday"}


def freshen(document: Document, today: date) -> Document:
    """The document with "(in 4 days)" beside an absolute date told anew from today, in our own lines only."""
    replaced: dict[int, str] = {}
    for entry in document.observations:
        if entry.id is None:
            continue
        line = document.lines[entry.line - 1].rstrip("\r\n")
        fresh = _RELATIVE.sub(lambda match: _told_from(match, today), line)
        if fresh != line:
            replaced[entry.line] = fresh
    return document.edited((), replaced) if replaced else document


def _told_from(match: re.Match[str], today: date) -> str:
    try:
        days = (date.fromisoformat(match["day"].rstrip(")")) - today).days
    except ValueError:  # 2026-02-30
        return match[0]
    told = _NEAR.get(days) or (f"in {days} days" if days > 0 else f"{-days} days ago")
    return f"{match['day']} ({told})"
