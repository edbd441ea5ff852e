"""What may answer a question: the words of it that somebody used, and the memories to look at closely."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from heapq import nlargest
from itertools import islice
from typing import Final

from total_recall.recall import scoring, spelling
from total_recall.recall.index import HOOK, RecallIndex
from total_recall.recall.memories import Filed, Origin, Shelf
from total_recall.recall.querying import Query
from total_recall.recall.scoring import Parameters
from total_recall.recall.terms import fold, index_terms, is_piece, phrase_terms
from total_recall.records import ObservationType

POOL: Final = 150
"""Memories that are looked at closely; the rest fits the words worse before its length is known."""
READ_AT_MOST: Final = 6_000
"""Occurrences that are read for one question, the rarest words first; where memories are few that is all of them."""
LOOKED_THROUGH: Final = 4_000
"""Candidates that are looked through for some that pass the filters."""
IN_TIME: Final = 150
KIN: Final = 20
"""Words that begin with a word of the question."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What may be found: by where it stands, its type, and the local days from `since` to `until`."""

    count: int = 10
    origins: tuple[Origin, ...] = ("live", "archived")
    kind: ObservationType | None = None
    since: date | None = None
    until: date | None = None

    def admits(self, filed: Filed) -> bool:
        memory = filed.memory
        if filed.origin not in self.origins or (self.kind is not None and memory.kind != self.kind):
            return False
        if self.since is None and self.until is None:
            return True
        days = [day for day in (memory.at.date() if memory.at else None, memory.refers) if day]
        first, last = self.since or date.min, self.until or date.max
        return any(first <= day <= last for day in days)


@dataclass(frozen=True, slots=True)
class Word:
    """A word of the question: how rare it is, and what each memory that has it counts, by number."""

    rarity: float
    times: Mapping[int, float]


class Candidates:
    """The candidates for one question on one shelf. `likeness` is of meaning, 0-1, by number; `speakers` are named."""

    def __init__(
        self,
        index: RecallIndex,
        shelf: Shelf,
        query: Query,
        wanted: Wanted,
        origins: Sequence[Origin],
        likeness: Mapping[int, float],
        speakers: frozenset[str],
        p: Parameters,
    ) -> None:
        self._index = index
        self._shelf = shelf
        self._query = query
        self._wanted = wanted
        self._origins = tuple(origins)
        self._likeness = likeness
        self._speakers = speakers
        self._p = p
        self._size = index.size(shelf)
        self._counts: dict[str, int] = {}

    def words(self) -> list[Word]:
        """The words of the question that somebody used, the rarest first, as far as they can be read in time."""
        names = {term for name in self._speakers for term in index_terms(name)}
        asked = [term for term in self._query.terms if term not in names] or list(self._query.terms)
        forms = [(self._forms(term), term) for term in asked]
        rarest_first = sorted(forms, key=lambda f: self._count(f[1]) or min(map(self._count, f[0]), default=0))
        words: list[Word] = []
        left = READ_AT_MOST
        for weights, term in rarest_first:
            if not weights and is_piece(term):
                continue  # it may straddle a word and its particle
            size = sum(map(self._count, weights))
            if words and size > left:
                break
            left -= size
            words.append(self._word(term, weights))
        return words

    def _word(self, term: str, weights: Mapping[str, float]) -> Word:
        times: dict[int, float] = {}
        rarest = self._count(term) or max(map(self._count, weights), default=0)
        for form, weight in weights.items():
            if self._count(form) > READ_AT_MOST:
                found: Mapping[int, float] = dict.fromkeys(self._index.with_all(self._shelf, [form], READ_AT_MOST), 1.0)
            else:
                found = self._index.occurrences(self._shelf, form)
            if weight == 1.0 and not times:
                times.update(found)
                continue
            for number, count in found.items():
                times[number] = max(times.get(number, 0.0), weight * count)
        return Word(scoring.rarity(rarest, self._size.memories), times)

    def _forms(self, term: str) -> dict[str, float]:
        """The term and its kin that occur, with what each counts; near spellings where nobody used any."""
        weights = {term: 1.0} if self._count(term) else {}
        if self._p.hook_weight and self._count(HOOK + term):
            weights[HOOK + term] = self._p.hook_weight
        if not term.isalpha() or is_piece(term):
            return weights
        if self._p.kin_weight and len(term) >= self._p.kin_letters:
            longer = self._index.counts_from(self._shelf, term, KIN)
            self._counts.update(longer)
            shorter = [term[:end] for end in range(self._p.kin_letters, len(term))]
            kin = [word for word in (*longer, *shorter) if word != term and self._count(word)]
            weights.update(dict.fromkeys(kin, self._p.kin_weight))
        if not weights and self._p.typo_weight:
            near = spelling.nearest(term, self._index.terms_from(self._shelf, term[0]))
            weights.update(dict.fromkeys(near, self._p.typo_weight))
        return weights

    def _count(self, term: str) -> int:
        if term not in self._counts:
            self._counts[term] = self._index.count(self._shelf, term)
        return self._counts[term]

    def pool(self, words: Sequence[Word]) -> dict[int, Filed]:
        """The memories to be looked at closely."""
        rough: defaultdict[int, float] = defaultdict(float)
        for word in words:
            saturation = self._p.saturation
            for number, times in word.times.items():
                rough[number] += word.rarity * times / (times + saturation)
        best = nlargest(LOOKED_THROUGH, rough, key=rough.__getitem__)
        chosen = dict(islice(self._admitted(best), POOL))
        likest = sorted(self._likeness, key=lambda number: -self._likeness[number])[:POOL]
        chosen.update(self.read(likest))
        for phrase in self._query.phrases:
            chosen.update(self._with_phrase(phrase))
        for first, last in self._query.windows:
            chosen.update(self.read(self._index.between(self._origins, first, last, IN_TIME)))
        return chosen

    def _with_phrase(self, phrase: str) -> dict[int, Filed]:
        """Memories with a phrase, or at least its words, the newest first."""
        terms = phrase_terms(phrase)
        if not terms:
            return self.read(self._index.containing(self._origins, phrase, POOL))
        numbers = self._index.with_all(self._shelf, terms, LOOKED_THROUGH)
        holding = ((n, filed) for n, filed in self._admitted(numbers) if phrase in fold(filed.memory.text))
        return dict(islice(holding, POOL)) or self.read(numbers[:POOL])

    def _admitted(self, numbers: Sequence[int]) -> Iterator[tuple[int, Filed]]:
        for start in range(0, len(numbers), POOL):
            some = numbers[start : start + POOL]
            filed = self.read(some)
            yield from ((number, filed[number]) for number in some if number in filed)

    def read(self, numbers: Iterable[int]) -> dict[int, Filed]:
        """Those of the memories that may be found."""
        return {n: filed for n, filed in self._index.read(numbers).items() if self._wanted.admits(filed)}
