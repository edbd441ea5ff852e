"""From a question to the memories that answer it: candidates by words and times, association, and the score."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from heapq import nlargest
from typing import Final

from total_recall.recall import links, scoring
from total_recall.recall.candidates import Candidates, Wanted, Word
from total_recall.recall.index import RecallIndex
from total_recall.recall.links import Lender
from total_recall.recall.memories import Filed, Origin, Shelf, Size
from total_recall.recall.querying import Query, tells_a_number, tells_a_time
from total_recall.recall.scoring import DEFAULT, Parameters, Used
from total_recall.recall.terms import fold, index_terms, query_terms, tells_apart

LENDERS: Final = 30
RARE_IN: Final = 6
"""What more than one of so many memories have is not rare, wherever `Parameters.rare` ends."""
CONTEXT_SATURATION: Final = 1.2
"""BM25's usual k1, for a whole session."""
BEHIND: Final = 0.9
"""What is superseded scores at most so much of what took its place."""

Meaning = Callable[[Query], Mapping[int, float]]
"""Likeness of meaning, 0-1, of memories to a question, by number. Those that it does not name have none."""
Uses = Callable[[Sequence[str]], Mapping[str, Used]]
"""How memories with these keys were used; those that never were are left out."""

SHELVES: Final[Mapping[Shelf, frozenset[Origin]]] = {
    "memory": frozenset({"live", "archived"}),
    "transcript": frozenset({"transcript"}),
}


@dataclass(frozen=True, slots=True)
class Hit:
    """A memory that was found. `score` = `similarity` × `decay` × `boost`, unless what took its place keeps it behind.

    `links` is the share, 0-1, of the similarity that association brought; what a current memory has from those that
    it took the place of is its own.
    """

    filed: Filed
    score: float
    similarity: float
    links: float
    decay: float
    boost: float
    age_days: float


def no_use(_keys: Sequence[str]) -> Mapping[str, Used]:
    """The default: nothing was ever used."""
    return {}


def search(
    index: RecallIndex,
    query: Query,
    wanted: Wanted,
    *,
    now: datetime,
    uses: Uses = no_use,
    meaning: Meaning | None = None,
    p: Parameters = DEFAULT,
) -> list[Hit]:
    """The `wanted.count` memories that answer best, the best first. `now` is in the user's time zone."""
    asked = [query]
    if not query.terms and not query.phrases:
        # "In May" may be the title of a song, where nothing was said in that month.
        asked.append(replace(query, terms=tuple(query_terms(query.text)), windows=()))
    for question in asked:
        hits: list[Hit] = []
        for shelf, origins in SHELVES.items():
            if origins & set(wanted.origins) and index.size(shelf).memories:
                hits += _Search(index, shelf, question, wanted, now, uses, meaning, p).hits()
        if hits:
            return _best(hits, wanted.count)
    return []


def _best(hits: Iterable[Hit], count: int) -> list[Hit]:
    """The best, each once: what an undone reflection has brought back is live, whatever the archive says."""
    chosen: dict[str, Hit] = {}
    for hit in sorted(hits, key=lambda h: (-h.score, h.age_days, h.filed.number)):
        other = chosen.get(hit.filed.memory.key)
        if other is None or (hit.filed.origin == "live" and other.filed.origin != "live"):
            chosen[hit.filed.memory.key] = hit
    return sorted(chosen.values(), key=lambda h: (-h.score, h.age_days, h.filed.number))[:count]


class _Search:
    """One question to one shelf."""

    def __init__(
        self,
        index: RecallIndex,
        shelf: Shelf,
        query: Query,
        wanted: Wanted,
        now: datetime,
        uses: Uses,
        meaning: Meaning | None,
        p: Parameters,
    ) -> None:
        self._index = index
        self._shelf = shelf
        self._query = query
        self._wanted = wanted
        self._now = now
        self._uses = uses
        self._p = p
        self._size: Size = index.size(shelf)
        self._origins = tuple(origin for origin in wanted.origins if origin in SHELVES[shelf])
        self._likeness = meaning(query) if meaning and shelf == "memory" else {}
        self._speakers = frozenset(name for name in index.speakers() if query.words & _words_of_name(name))
        self._candidates = Candidates(index, shelf, query, wanted, self._origins, self._likeness, self._speakers, p)

    def hits(self) -> list[Hit]:
        words = self._candidates.words()
        pool: dict[int, Filed] = {}
        strengths: dict[int, float] = {}
        self._join(pool, strengths, self._candidates.pool(words))
        worth = self._worth(words, pool)
        lent = self._lent(worth, strengths, pool)
        self._join(pool, strengths, self._candidates.read(number for number in lent if number not in pool))
        context = _context(words, pool)
        activation = {
            number: (worth.get(number, 0.0) + lent.get(number, 0.0)) * self._fit_of(filed, context)
            for number, filed in pool.items()
        }
        led = self._led(pool, strengths)
        _hand_on(led, activation, worth)
        for hook in led:
            del activation[hook]
        successors = self._successors(pool, strengths)
        _hand_on(successors, activation, worth)
        hits = {
            number: self._hit(pool[number], value, worth.get(number, 0.0), lent.get(number, 0.0), strengths[number])
            for number, value in self._promising(activation, strengths, pool)
        }
        return list(_behind(hits, successors).values())

    def _join(self, pool: dict[int, Filed], strengths: dict[int, float], new: Mapping[int, Filed]) -> None:
        """Put memories into the pool, with what use has made of them."""
        used = self._uses([filed.memory.key for filed in new.values()]) if new else {}
        pool.update(new)
        strengths.update({n: scoring.strength(used.get(filed.memory.key), self._p) for n, filed in new.items()})

    def _promising(
        self, activation: Mapping[int, float], strengths: Mapping[int, float], pool: Mapping[int, Filed]
    ) -> list[tuple[int, float]]:
        """The memories, with their activation, that may be among the best once age and use are reckoned in."""
        p = self._p
        similar = {n: scoring.similarity(a) for n, a in activation.items() if a > 0.0}
        surely = (
            value * p.decay_floor * (p.superseded_factor if pool[n].memory.superseded_by else 1.0)
            for n, value in similar.items()
        )
        # Twice as many: one memory may stand in two places, and one be kept behind another.
        least = min(nlargest(2 * self._wanted.count, surely), default=0.0)
        most = max(strengths.values(), default=1.0) * (p.time_factor if self._query.windows else 1.0)
        return [(n, activation[n]) for n, value in similar.items() if value * most >= least]

    # --- how well they fit

    def _worth(self, words: Sequence[Word], pool: Mapping[int, Filed]) -> dict[int, float]:
        """How well each memory fits by itself, by number."""
        p, usual = self._p, self._size.usual_length
        asked = sum(word.rarity for word in words)
        worth: dict[int, float] = {}
        for number, filed in pool.items():
            met = met_rarity = 0.0
            for word in words:
                times = word.times.get(number)
                if times:
                    met += word.rarity * scoring.occurrence(times, filed.length, usual, p)
                    met_rarity += word.rarity * min(times, 1.0)
            if met:
                worth[number] = scoring.fit(met, met_rarity, asked, p)
        for number, likeness in self._likeness.items():
            if number in pool:
                worth[number] = worth.get(number, 0.0) + p.meaning * likeness
        self._answers(worth, pool)
        self._phrases(worth, pool)
        self._in_time(worth, pool)
        return worth

    def _answers(self, worth: dict[int, float], pool: Mapping[int, Filed]) -> None:
        query = self._query
        for number in worth:
            text = pool[number].memory.text
            if (query.asks_when and tells_a_time(text)) or (query.asks_how_many and tells_a_number(text)):
                worth[number] *= self._p.answer_factor

    def _phrases(self, worth: dict[int, float], pool: Mapping[int, Filed]) -> None:
        """Where some hold the very words, the others are not meant."""
        phrases = self._query.phrases
        if not phrases:
            return
        folded = {number: fold(filed.memory.text) for number, filed in pool.items()}
        holding = [number for number, text in folded.items() if all(phrase in text for phrase in phrases)]
        if holding:
            kept = {number: max(worth.get(number, 0.0), self._p.time_alone) for number in holding}
            worth.clear()
            worth.update({number: value * self._p.phrase_factor for number, value in kept.items()})

    def _in_time(self, worth: dict[int, float], pool: Mapping[int, Filed]) -> None:
        """Where words lead nowhere, everything of the time that is asked for counts."""
        if not self._query.windows or self._query.phrases:
            return
        least = self._p.time_alone * (1.0 - min(1.0, max(worth.values(), default=0.0)))
        for number, filed in pool.items():
            if self._timeliness(filed) > 1.0:
                worth[number] = max(worth.get(number, 0.0), least)

    def _timeliness(self, filed: Filed) -> float:
        memory = filed.memory
        days = (memory.at.date() if memory.at else None, memory.refers)
        return scoring.timeliness(self._query.windows, days, self._p)

    def _fit_of(self, filed: Filed, context: Mapping[int, float]) -> float:
        """The factors for who said it, in which form and in which company."""
        speaker = self._p.speaker_factor if filed.memory.speaker in self._speakers else 1.0
        form = self._p.question_factor if _is_question(filed.memory.text) else 1.0
        return speaker * form * (1.0 + self._p.context * context.get(filed.team, 0.0))

    # --- association

    def _lent(
        self, worth: Mapping[int, float], strengths: Mapping[int, float], pool: Mapping[int, Filed]
    ) -> dict[int, float]:
        """What memories get from others, by number. Those that were used lend more."""
        best = sorted(worth, key=lambda number: (-worth[number], -number))[:LENDERS]
        lenders = [
            Lender(number, worth[number] * strengths[number], _is_question(pool[number].memory.text)) for number in best
        ]
        reach = len(self._p.shares)
        lent: Counter[int] = Counter()
        if reach:
            lent.update(links.lent_to_neighbours(lenders, lambda n: self._index.beside(pool[n], reach), self._p))
        if self._p.share_by_rare_words:
            hubs = lenders[: self._p.hubs]
            lent.update(links.lent_by_rare_words(hubs, lambda n: self._rare_words(pool[n]), self._p))
        return dict(lent)

    def _rare_words(self, filed: Filed) -> dict[str, set[int]]:
        asked = set(self._query.terms)
        # Among a few memories, what six of them have is nothing rare.
        most = min(self._p.rare, self._size.memories // RARE_IN)
        found: dict[str, set[int]] = {}
        for term in dict.fromkeys(index_terms(filed.memory.text)):
            if term not in asked and tells_apart(term):
                found[term] = self._index.rare(self._shelf, term, most)
        return found

    def _led(self, pool: dict[int, Filed], strengths: dict[int, float]) -> dict[int, int]:
        """Which hook leads to which archived item, by number; items that may be found join the pool."""
        hooks = {n: filed.memory.item for n, filed in pool.items() if filed.memory.form == "hook"}
        found = self._index.items({name for name in hooks.values() if name}) if hooks else []
        by_name = {filed.memory.item: filed for filed in found if self._wanted.admits(filed)}
        self._join(pool, strengths, {f.number: f for f in by_name.values() if f.number not in pool})
        return {hook: by_name[name].number for hook, name in hooks.items() if name in by_name}

    def _successors(self, pool: dict[int, Filed], strengths: dict[int, float]) -> dict[int, int]:
        """Which memory took the place of which, by number; those that may be found join the pool."""
        successors: dict[int, int] = {}
        asked = list(pool.values())
        while asked:
            wanted = {filed.memory.superseded_by for filed in asked if filed.memory.superseded_by}
            by_key: dict[str, Filed] = {}
            for filed in self._index.with_keys(key for key in wanted if key):
                if self._wanted.admits(filed) and (filed.origin == "live" or filed.memory.key not in by_key):
                    by_key[filed.memory.key] = filed
            for filed in asked:
                newer = by_key.get(filed.memory.superseded_by or "")
                if newer is not None and newer.number != filed.number:
                    successors[filed.number] = newer.number
            asked = [filed for filed in by_key.values() if filed.number not in pool]
            self._join(pool, strengths, {filed.number: filed for filed in asked})
        return successors

    # --- the score

    def _hit(self, filed: Filed, activation: float, worth: float, lent: float, strengthened: float) -> Hit:
        memory = filed.memory
        age = _age_days(filed, self._now)
        similarity = scoring.similarity(activation)
        faded = scoring.decay(memory.kind, memory.importance, age, self._p)
        boost = scoring.boost(strengthened, self._timeliness(filed), memory.superseded_by is not None, self._p)
        links_share = lent / (worth + lent) if worth + lent > 0 else 0.0
        return Hit(filed, similarity * faded * boost, similarity, links_share, faded, boost, age)


def _hand_on(heirs: Mapping[int, int], activation: dict[int, float], worth: dict[int, float]) -> None:
    """Give the activation of memories to those that stand for them now, who have it as their own."""
    for number, gained in links.inherited(activation, heirs).items():
        more = gained - activation.get(number, 0.0)
        if more > 0.0:
            worth[number] = worth.get(number, 0.0) + more
            activation[number] = gained


def _behind(hits: dict[int, Hit], successors: Mapping[int, int]) -> dict[int, Hit]:
    """Keep each superseded memory behind what took its place, from the newest of a chain back."""
    for _ in successors:
        moved = False
        for old, new in successors.items():
            if old in hits and new in hits and hits[old].score > BEHIND * hits[new].score:
                hit = hits[old]
                hits[old] = Hit(
                    hit.filed, BEHIND * hits[new].score, hit.similarity, hit.links, hit.decay, hit.boost, hit.age_days
                )
                moved = True
        if not moved:
            break
    return hits


def _context(words: Sequence[Word], pool: Mapping[int, Filed]) -> dict[int, float]:
    """How much of the question, by rarity, each group met anywhere in it, 0-1, by the group's number."""
    asked = sum(word.rarity for word in words)
    groups: defaultdict[int, float] = defaultdict(float)
    for word in words:
        times: defaultdict[int, float] = defaultdict(float)
        for number, filed in pool.items():
            if number in word.times and filed.memory.group:
                times[filed.team] += word.times[number]
        for team, count in times.items():
            groups[team] += word.rarity * count / (count + CONTEXT_SATURATION)
    return {team: met / asked for team, met in groups.items()} if asked else {}


def _is_question(text: str) -> bool:
    return text.rstrip("\"'”’)」』 ").endswith(("?", "？"))


def _age_days(filed: Filed, now: datetime) -> float:
    """Days since it was said, or since the day that it is about, when that is later; 0 for what lies ahead."""
    memory = filed.memory
    if memory.at is None:
        return scoring.UNDATED_AGE_DAYS
    age = (now - memory.at).total_seconds() / 86_400
    if memory.refers is not None:
        age = min(age, float((now.date() - memory.refers).days))
    return max(0.0, age)


def _words_of_name(name: str) -> frozenset[str]:
    return frozenset(word for word in fold(name).split() if len(word) > 1)
