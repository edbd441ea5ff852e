"""Words that are spelt nearly like another. Pure."""

from __future__ import annotations

from collections.abc import Iterable

SHORTEST = 4
"""Of a shorter word every letter counts."""
_TWO_FROM = 8
"""Words of so many letters may have two mistakes."""


def nearest(word: str, vocabulary: Iterable[str]) -> tuple[str, ...]:
    """The words of `vocabulary` that differ least from `word`, by one or two mistakes; none for a short word."""
    if len(word) < SHORTEST:
        return ()
    allowed = 1 + (len(word) >= _TWO_FROM)
    letters = frozenset(word)
    found: dict[int, list[str]] = {}
    for other in vocabulary:
        if abs(len(other) - len(word)) <= allowed and len(letters.difference(other)) <= allowed:
            mistakes = distance(word, other, allowed)
            if 0 < mistakes <= allowed:
                found.setdefault(mistakes, []).append(other)
    return tuple(sorted(found[min(found)])) if found else ()


def distance(one: str, other: str, most: int) -> int:
    """How many letters are missing, too many, wrong, or swapped with the next; more than `most` is `most` + 1.

    The optimal string alignment distance (Damerau 1964).
    """
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        following = [i]
        for j, another in enumerate(other, 1):
            steps = min(row[j] + 1, following[j - 1] + 1, row[j - 1] + (letter != another))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == another:
                steps = min(steps, before[j - 2] + 1)
            following.append(steps)
        if min(following) > most:
            return most + 1
        before, row = row, following
    return min(row[-1], most + 1)
