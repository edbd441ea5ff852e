"""A night as it is planned: from the document to what leaves it and in which words. Writes nothing."""

from __future__ import annotations

import string
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, tzinfo
from functools import lru_cache
from typing import Final

from total_recall import retention
from total_recall.dream import wording
from total_recall.dream.classify import kind_of
from total_recall.dream.cycle import Night, plan
from total_recall.dream.decide import resolved
from total_recall.dream.items import Group, Item, Plan
from total_recall.errors import TotalRecallError
from total_recall.llm.reply import without_thoughts
from total_recall.memory import contradictions, hook_lines
from total_recall.memory.conservation import key_in, keys
from total_recall.memory.document import Document
from total_recall.memory.last_dream import Bundle, Filing
from total_recall.memory.line import Entry
from total_recall.memory.reflection import open_entries
from total_recall.memory.shelf import Key
from total_recall.memory.verification import day_of, days_in
from total_recall.state import State
from total_recall.tokens import estimate_tokens

Ask = Callable[[str, str], str]
"""(system message, user message) → the reply's text; raises TotalRecallError when no model answers."""

REPLANNED: Final = 3
"""How often a plan is made again with a lower target when its document came out longer than it was reckoned."""


@dataclass(frozen=True, slots=True)
class Draft:
    """What a night does to one version of the document.

    `items` are all its lines, `resolved` the numbers of goals and habits that are done. `bundles` hold what leaves.
    """

    document: Document
    items: tuple[Item, ...]
    resolved: frozenset[int]
    plan: Plan
    bundles: tuple[Bundle, ...]
    tokens: int

    @property
    def keys(self) -> tuple[Key, ...]:
        """What leaves, as the archive will know it."""
        return keys_of(self.bundles)


def keys_of(bundles: Sequence[Bundle]) -> tuple[Key, ...]:
    """The lines of bundles, as the archive knows them."""
    return tuple((filing.day, filing.raw) for bundle in bundles for filing in bundle.members)


def accessed(document: Document, state: State, tz: tzinfo) -> Mapping[str, date]:
    """The local day on which each line was last recalled, by its id."""
    ids = [entry.id for entry in document.observations if entry.id]
    return {name: access.last.astimezone(tz).date() for name, access in state.accesses(ids).items()}


def items_of(
    document: Document, accesses: Mapping[str, date], today: date, *, with_types: bool = True
) -> tuple[tuple[Item, ...], frozenset[int]]:
    """The lines of a document as the rules see them, and which goals and habits among them are done.

    With types a line that has none gets the one that its words speak for; else it counts as a fact.
    """
    nested = _nested(document)
    may_leave = {entry.line for entry in open_entries(document)} | _only_nested_below(document, nested)
    sections = _sections(document)
    known_once = {key for key, count in keys(document).items() if count == 1}
    items: list[Item] = []
    for entry in document.observations:
        raw = document.lines[entry.line - 1].rstrip("\r\n")
        day = entry.heading or entry.recorded
        section, heading_tokens = sections.get(entry.line, (0, 0))
        key = key_in(document, entry)
        memory = retention.subject(
            entry,
            accessed=accesses.get(entry.id or ""),
            speaks_of=days_in(entry.text, day_of(entry)),
            type=kind_of(entry.text) if with_types and entry.type is None else None,
        )
        items.append(
            Item(
                number=entry.line,
                id=entry.id,
                day=day,
                time=entry.time,
                text=entry.text,
                raw=key[1],
                priority=entry.priority,
                memory=memory,
                tokens=_tokens_of(raw) + 1,
                # Bytes that are not UTF-8 could not be filed as they are; of two lines that are one, neither goes.
                is_open=entry.line in may_leave and key in known_once and "\ufffd" not in key[1],
                nested=nested.get(entry.line, ()),
                section=section,
                section_tokens=heading_tokens,
            )
        )
    done = resolved(items)
    return tuple(_resolved(item) if item.number in done else item for item in items), done


def draft(
    document: Document,
    accesses: Mapping[str, date],
    today: date,
    target_tokens: int,
    *,
    with_types: bool = True,
) -> Draft:
    """What leaves the document today, by rules alone. Phase 1 is without types and chunks."""
    items, done = items_of(document, accesses, today, with_types=with_types)
    tokens = estimate_tokens(document.render().decode("utf-8", "replace"))
    hooks = sum(line.tokens for line in hook_lines.find(document))
    headings = sum({item.section: item.section_tokens for item in items}.values())
    ours = {item.number for item in items}
    others = [line.rstrip("\r\n") for number, line in enumerate(document.lines, 1) if number not in ours]
    other = sum(estimate_tokens(line) + 1 for line in others) - headings - hooks
    night = Night(
        today=today,
        target_tokens=target_tokens,
        other_tokens=max(0, other),
        hook_tokens=hooks,
        disputes=tuple(contradictions.pairs(document.observations)) if with_types else (),
        with_chunks=with_types,
    )
    made = plan(items, night)
    return Draft(document, items, done, made, tuple(map(bundle_of, made.groups)), tokens)


def bundle_of(group: Group) -> Bundle:
    """A group as it is filed."""
    members = tuple(
        Filing(
            day=str(member.item.day or "unknown"),
            raw=member.item.raw,
            reason=member.reason,
            hooks=member.hooks,
            kind=member.item.type,
        )
        for member in group.members
    )
    return Bundle(group.topic, group.outcome, group.span, members, group.finding, group.names, group.strength)


# --- the model's words


@dataclass(frozen=True, slots=True)
class Phrased:
    """A draft in a model's words, and what a person should know about the model."""

    draft: Draft
    used: int = 0
    notes: tuple[str, ...] = ()


def phrased(made: Draft, ask: Ask, system: str, part_tokens: int) -> Phrased:
    """The draft with findings and hooks in a model's words, as far as they stand up. What leaves stays the same.

    When the model fails, what it has said until then counts.
    """
    groups = made.plan.groups
    said: dict[int, wording.Wording] = {}
    refused = 0
    notes: list[str] = []
    parts = list(wording.shown(groups, part_tokens))
    ends = [first for first, _ in parts[1:]] + [len(groups)]
    for (first, text), end in zip(parts, ends, strict=True):
        try:
            reply = ask(system, text)
        except TotalRecallError as error:
            notes.append(f"{error}; the offline words stand for the rest")
            break
        found, bad = wording.read(without_thoughts(reply), groups[first:end])
        said.update({first + place: words for place, words in found.items()})
        refused += bad
    if refused:
        notes.append(f"{refused} of the model's phrasings could not be used")
    result = wording.worded(groups, said, refused)
    better = replace(made, plan=replace(made.plan, groups=result.groups), bundles=tuple(map(bundle_of, result.groups)))
    return Phrased(better, result.used, tuple(notes))


def rephrased(made: Draft, before: Draft) -> Draft:
    """A new draft with the words of an earlier one for those groups that are the same."""
    words = {frozenset(keys_of([bundle])): bundle for bundle in before.bundles}
    return replace(made, bundles=tuple(words.get(frozenset(keys_of([bundle])), bundle) for bundle in made.bundles))


# --- the shape of the document


_SHAPES: Final = str.maketrans(string.ascii_lowercase + string.digits, "a" * 26 + "0" * 10)
"""Which letter or digit it is makes no difference to the estimate."""


def _tokens_of(raw: str) -> int:
    """The tokens of a line, estimated from above: its text, and its metadata, which has few different shapes."""
    text, mark, fields = raw.partition(" <!-- ")
    if not fields.isascii():
        return estimate_tokens(raw)
    return estimate_tokens(text) + _tokens_of_shape(f"{mark}{fields}".translate(_SHAPES))


@lru_cache(maxsize=4096)
def _tokens_of_shape(fields: str) -> int:
    return estimate_tokens(fields)


def _resolved(item: Item) -> Item:
    return replace(item, memory=replace(item.memory, is_resolved=True))


def _nested(document: Document) -> dict[int, tuple[int, ...]]:
    """The lines that stand right below each line and hang on it, by line number."""
    found: dict[int, list[int]] = {}
    path: list[Entry] = []
    for entry in document.observations:
        while path and (path[-1].level >= entry.level):
            path.pop()
        for above in path:
            found.setdefault(above.line, []).append(entry.line)
        path.append(entry)
    return {line: tuple(below) for line, below in found.items()}


def _only_nested_below(document: Document, nested: Mapping[int, tuple[int, ...]]) -> set[int]:
    """Lines on which nothing hangs but observations that may leave themselves, right below, one after the other."""
    free = {entry.line for entry in open_entries(document)}
    found: set[int] = set()
    for line in sorted(nested, reverse=True):
        below = nested[line]
        in_one_piece = below == tuple(range(line + 1, line + 1 + len(below)))
        if in_one_piece and all(number in free or number in found for number in below):
            found.add(line)
    conflicts = [block for block in document.blocks if not block.hidden]
    return {line for line in found if not any(block.start < line <= block.end for block in conflicts)}


def _sections(document: Document) -> dict[int, tuple[int, int]]:
    """For each observation the heading (its line index + 1) that it stands under, and what that costs."""
    found: dict[int, tuple[int, int]] = {}
    entries = iter(document.observations)
    entry = next(entries, None)
    for section in document.sections:
        heading = document.lines[section.heading].rstrip("\r\n")
        cost = estimate_tokens(heading) + 3 if heading.startswith("Date: ") else 0
        while entry is not None and entry.line <= section.end:
            if entry.line - 1 > section.heading:
                found[entry.line] = (section.heading + 1, cost)
            entry = next(entries, None)
    return found
