"""Association: what a memory lends to those that it brings to mind. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from total_recall.recall.scoring import DEFAULT, Parameters

Beside = Callable[[int], tuple[list[int], list[int]]]
"""The neighbours of a memory in its group, by number: those before it and those after it, nearest first."""


@dataclass(frozen=True, slots=True)
class Lender:
    """A memory that matches, and how well."""

    number: int
    worth: float
    is_question: bool = False


def lent_to_neighbours(lenders: Collection[Lender], beside: Beside, p: Parameters = DEFAULT) -> dict[int, float]:
    """What each memory gets from those around it, by number: `shares` by distance, more from a question before it."""
    lent: defaultdict[int, float] = defaultdict(float)
    for lender in lenders:
        before, after = beside(lender.number)
        for near in (before, after):
            for number, share in zip(near, p.shares, strict=False):
                is_answer = near is after and lender.is_question and number == after[0]
                lent[number] += lender.worth * (p.share_of_question if is_answer else share)
    return dict(lent)


def lent_by_rare_words(
    hubs: Collection[Lender],
    rare_words: Callable[[int], Mapping[str, Collection[int]]],
    p: Parameters = DEFAULT,
) -> dict[int, float]:
    """What each memory gets from the best ones with which it shares a rare word; from each at most one share.

    `rare_words` gives the rare words of a memory that were not asked for, with the memories that hold each.
    """
    lent: defaultdict[int, float] = defaultdict(float)
    for hub in hubs:
        reached = {number for numbers in rare_words(hub.number).values() for number in numbers} - {hub.number}
        for number in reached:
            lent[number] += hub.worth * p.share_by_rare_words
    return dict(lent)


def inherited(worth: Mapping[int, float], successors: Mapping[int, int]) -> dict[int, float]:
    """What current memories get from those that they took the place of, by number: the whole of it.

    "Moved to Seoul" answers "where does she live?" because "lives in Busan" did. A chain is followed to its end.
    """
    gained: dict[int, float] = {}
    for old in successors:
        newest, seen = old, {old}
        while newest in successors and successors[newest] not in seen:
            newest = successors[newest]
            seen.add(newest)
        if newest != old:
            gained[newest] = max(gained.get(newest, 0.0), worth.get(old, 0.0))
    return gained
