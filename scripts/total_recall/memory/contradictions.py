"""Pairs of lines in the memory that cannot both be true. Pure, and about linear in their number.

Found as by the observer (`reconcile`): the same attribute of the same person with two values, or the same words with
and without a "not". What happened twice in two ways is no contradiction, so events are not looked at.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from total_recall.memory.line import Entry
from total_recall.memory.reconcile import Statement
from total_recall.records import ObservationType

LOOKED_AT: frozenset[ObservationType] = frozenset({"fact", "preference", "habit", "goal"})
RARE_WORDS = 3
"""Of each line's words so many of the rarest lead to the lines that it is compared with."""
COMPARED_WITH = 8
"""And through each word so many of the lines before it, the newest first."""


def pairs(entries: Sequence[Entry]) -> Iterator[tuple[int, int]]:
    """(line number, line number) of the older and the newer line of each pair."""
    looked_at = [
        (entry, Statement(entry))
        for entry in sorted(entries, key=lambda e: (str(e.heading or e.recorded or ""), e.line))
        if entry.superseded_by is None and (entry.type is None or entry.type in LOOKED_AT)
    ]
    frequency = Counter(word for _, statement in looked_at for word in statement.words)
    standing: dict[str, list[tuple[int, Statement]]] = {}
    for entry, statement in looked_at:
        compared: set[int] = set()
        for word in sorted(statement.words, key=lambda word: (frequency[word], word))[:RARE_WORDS]:
            for line, other in reversed(standing.get(word, [])[-COMPARED_WITH:]):
                if line not in compared and statement.contradicts(other):
                    yield line, entry.line
                compared.add(line)
        for word in statement.words:
            standing.setdefault(word, []).append((entry.line, statement))
