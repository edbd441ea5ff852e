"""Three or more lines on one topic become one finding. Pure.

What leaves anyway is looked at, so a chunk never takes a line out before its time. The finding is made of the lines'
own words; a model may put it in better ones (`wording`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from total_recall.dream.hooks import OUTCOME_CHARACTERS, hook_line, outcome_of, safe
from total_recall.dream.items import Fate, Group, Item, Leaving, Strength
from total_recall.dream.topics import by_topic, named
from total_recall.records import ObservationType
from total_recall.tokens import estimate_tokens

LEAST: Final = 3
ESTABLISHED: Final = (5, 3)
"""So many sources, on so many days, make a finding established."""
SHRINKS_TO: Final = 0.25
"""What a chunk's line costs, of what its lines cost."""
FINDING_CHARACTERS: Final = 300
MOST_NAMES: Final = 8
ALONE: Final[frozenset[Fate]] = frozenset({"superseded", "contradicted", "resolved"})
"""What leaves for such a reason no longer holds, and is no ground for a finding."""
NEVER: Final[frozenset[ObservationType]] = frozenset({"rule", "goal"})
_TITLED: Final = re.compile(r"\b(?:Mr|Mrs|Ms|Dr|Prof)\.? [^\W\d_][\w'’-]*")
PLACE: Final = "archive/chunks/0000-00-00.md#CHUNK-00000000-000"


def chunks(leaving: Sequence[Leaving], most: int | None = None) -> tuple[tuple[Group, ...], tuple[Leaving, ...]]:
    """The chunks among what leaves, at most so many, and what is in none. A chunk's line is shorter than its lines."""
    fit = [one for one in leaving if one.fate not in ALONE and one.item.type not in NEVER]
    found: list[Group] = []
    inside: set[int] = set()
    for topic, places in by_topic([one.item.text for one in fit], LEAST)[:most]:
        group = chunk_of(topic, [fit[place] for place in places])
        if estimate_tokens(hook_line(group.topic, group.outcome, group.span, PLACE)) < group.tokens:
            found.append(group)
            inside.update(member.item.number for member in group.members)
    return tuple(found), tuple(one for one in leaving if one.item.number not in inside)


def chunk_of(topic: str, members: Sequence[Leaving]) -> Group:
    """One finding of several lines, in their own words."""
    ordered = tuple(sorted(members, key=lambda member: member.item.order))
    group = Group(topic, "", ordered, names=_names(ordered), strength=strength_of(member.item for member in ordered))
    best = max(ordered, key=lambda member: (member.item.memory.importance, *member.item.order[:2], member.item.number))
    last = ordered[-1]
    told = [safe(best.item.text, FINDING_CHARACTERS // 2)]
    if last is not best:
        told.append(f"last: {safe(last.item.text, FINDING_CHARACTERS // 2)}")
    finding = f"{len(ordered)} notes, {group.span}: {'; '.join(told)}"
    outcome = fitted(replace(group, finding=finding), f"{len(ordered)} notes: {outcome_of(last.item.text)}")
    return replace(group, finding=finding, outcome=outcome)


def fitted(group: Group, outcome: str, most: int = OUTCOME_CHARACTERS) -> str:
    """As much of an outcome, up to `most` characters, as fits a line that costs a quarter of what it stands for."""
    room = SHRINKS_TO * group.tokens
    least = f"{len(group.members)} notes"
    for length in range(min(most, len(outcome)), len(least) + 8, -8):
        short = safe(outcome, length)
        if estimate_tokens(hook_line(group.topic, short, group.span, PLACE)) <= room:
            return short
    return least


def strength_of(items: Iterable[Item]) -> Strength:
    """How well founded a finding is, by how many lines on how many days say it."""
    found = list(items)
    days = {item.day for item in found if item.day is not None}
    if len(found) >= ESTABLISHED[0] and len(days) >= ESTABLISHED[1]:
        return "established"
    return "tentative" if len(found) > 1 else "single-source"


def _names(members: Sequence[Leaving]) -> tuple[str, ...]:
    """Who and what is named in the lines, the most frequent first."""
    count: Counter[str] = Counter()
    written: dict[str, str] = {}
    for member in members:
        for name in (*named(member.item.text), *_TITLED.findall(member.item.text)):
            written.setdefault(name.casefold(), name)
            count[name.casefold()] += 1
    ordered = sorted(count, key=lambda name: (-count[name], name))
    return tuple(safe(written[name], 60) for name in ordered[:MOST_NAMES] if safe(written[name], 60))
