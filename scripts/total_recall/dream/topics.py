"""What lines are about, and which of them are about the same. Pure, and linear in their number.

A topic is a name, two content words side by side, or a word that is not an everyday one. The topic that most lines
share takes them; then the next among what is left.
"""

from __future__ import annotations

import heapq
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Final

from total_recall.text import STOP_WORDS, content_words, names

CACHED_LINES: Final = 2**17
CORE_SHARE: Final = 0.5
"""A word that at least so many of a topic's lines have belongs to what they are about."""
LIKE_CORE: Final = 0.3
"""For a topic of one word: the share of the core that a line must have, unless it is a line of few words."""
MOST_WORDS: Final = 24
"""Of a long line only so many words are looked at."""

_WORD: Final = re.compile(
    r"[가-힣]{2,}|[\u30a0-\u30ff]{2,}|[\u3400-\u4dbf\u4e00-\u9fff]{2,4}|[^\W\d_\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3][^\W_\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]*(?:[-'’][^\W\d_]+)*"
)
_ODD: Final = re.compile(r"[/@\\\[\]*<>`]")
_PARTICLE: Final = re.compile(
    r"(?<=[가-힣]{2})(?:에서는|에게서|으로는|에서|에게|께서|으로|까지|부터|처럼|보다|이라고|은|는|이|가|을|를|에|의|로|와|과|도|만)$"
)
_VERB_END: Final = re.compile(r"다$")
_EVERYDAY: Final = frozenset(
    (
        "user assistant agent owner day days week weeks month months year years hour hours minute minutes today "
        "yesterday tomorrow morning evening night time times new old first last next got get gets made make took "
        "take went go came come said says told asked ask wants want still again after before since until because "
        "below above about with without monday tuesday wednesday thursday friday saturday sunday january february "
        "march april may june july august september october november december good bad much many more less few some "
        "thing things lot way number part parts number only won euro euros dollar dollars usd eur km ms kg percent "
        "too late later early now then both each other others another finished done started start found find used "
        "use uses using like likes liked is are was were has had have been being "
        "사용자 원을 원이 원은 오늘 어제 내일 이번 다음 지난 그리고 "
        "하지만 때문 한다 했다 있다 없다"
    ).split()
)


def terms(text: str) -> tuple[str, ...]:
    """The words of a line in order, as they are written, without everyday ones, numbers and Korean particles."""
    return tuple(word for word, _ in _terms(text))


@lru_cache(maxsize=CACHED_LINES)
def _terms(text: str) -> tuple[tuple[str, bool], ...]:
    """Each word, and whether it stands right behind the one before it."""
    found: list[tuple[str, bool]] = []
    end = -1
    for match in _WORD.finditer(text):
        plain = match.group().strip("'’-").removesuffix("'s").removesuffix("’s")
        if "가" <= plain[:1] <= "힣":
            plain = "" if _VERB_END.search(plain) else _PARTICLE.sub("", plain)
        folded = plain.casefold()
        if len(plain) > 1 and folded not in STOP_WORDS and folded not in _EVERYDAY:
            found.append((plain, not text[end : match.start()].strip() if end >= 0 else False))
            end = match.end()
            if len(found) == MOST_WORDS:
                break
    return tuple(found)


@lru_cache(maxsize=CACHED_LINES)
def named(text: str) -> tuple[str, ...]:
    """The names in a line, in alphabetical order, without a genitive ending."""
    found = {name.removesuffix("'s").removesuffix("’s").strip("'’") for name in names(text)}
    return tuple(sorted(name for name in found if name))


@lru_cache(maxsize=CACHED_LINES)
def topics_of(text: str) -> Mapping[str, str]:
    """What a line may be filed under: the folded phrase and how it is written. Names, pairs, and single words."""
    found: dict[str, str] = {}
    for name in named(text):
        if 2 < len(name) <= 40 and name.casefold() not in _EVERYDAY and not _ODD.search(name):
            found.setdefault(name.casefold(), name)
    before = ""
    for word, is_next in _terms(text):
        if is_next:
            found.setdefault(f"{before} {word}".casefold(), f"{before} {word}")
        if len(word) > 2 or not word.isascii():
            found.setdefault(_stemmed(word), word)
        before = word
    return found


@lru_cache(maxsize=CACHED_LINES)
def _stemmed(word: str) -> str:
    return next(iter(content_words(word)), word.casefold()) if word.isascii() else word.casefold()


def by_topic(texts: Sequence[str], least: int, apart: Iterable[str] = ()) -> list[tuple[str, tuple[int, ...]]]:
    """(topic as written, places in `texts`) for every topic that at least `least` lines share, the largest first.

    Each line is in one topic at most. `apart` are folded topics that are none here.
    """
    members: dict[str, list[int]] = {}
    written: dict[str, str] = {}
    for place, text in enumerate(texts):
        for key, phrase in topics_of(text).items():
            members.setdefault(key, []).append(place)
            written.setdefault(key, phrase)
    not_here = set(apart)
    order = {key: place for place, key in enumerate(members)}
    heap = [
        (-_weight(key, len(places)), order[key], key)
        for key, places in members.items()
        if len(places) >= least and key not in not_here
    ]
    heapq.heapify(heap)
    taken: set[int] = set()
    found: list[tuple[str, tuple[int, ...]]] = []
    while heap:
        weight, _, key = heapq.heappop(heap)
        places = [place for place in members[key] if place not in taken]
        if len(places) < least:
            continue
        if -weight > (now := _weight(key, len(places))):
            heapq.heappush(heap, (-now, order[key], key))
            members[key] = places
            continue
        alike = places if " " in key else _like_their_core(texts, places)
        if len(alike) >= least:
            taken.update(alike)
            found.append((written[key], tuple(alike)))
    return found


def _weight(key: str, count: int) -> float:
    """Two words that stand side by side tell more than one: they win over a word of nearly as many lines."""
    return count * (1.5 if " " in key else 1.0)


def _like_their_core(texts: Sequence[str], places: Sequence[int]) -> list[int]:
    """Those lines that share more with the others than the one word."""
    words = [content_words(texts[place]) for place in places]
    count = Counter(word for line in words for word in line)
    core = {word for word, number in count.items() if number >= max(2, CORE_SHARE * len(places))}
    if len(core) < 2:
        core = {word for word, number in count.items() if number >= 2}
        if len(core) < 2:
            return []  # one word alone: a green bicycle and a green boat
    least = max(1.0, LIKE_CORE * min(len(core), 6))
    return [place for place, line in zip(places, words, strict=True) if len(core & line) >= least]
