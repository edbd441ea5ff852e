"""What a text is found by: folded and stemmed words, numbers, and pieces of Chinese, Japanese and Korean. Pure.

`VERSION` stands in every index: change it whenever a text would give other terms, and indexes are rebuilt.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Final

from total_recall.recall.stemming import stem
from total_recall.text import CJK, STOP_WORDS, words

VERSION: Final = 1

_CHATTER: Final = frozenset(
    "hi hey hello oh wow yeah whose whom having let's i'm i've i'll i'd it's that's what's there's don't didn't "
    "doesn't isn't wasn't you're we're they're he's she's can't won't many much ago "
    "에 은 는 이 가 을 를 도 의 로 에서".split()
)
_MEANINGFUL: Final = frozenset("son die den mine".split())
"""Words that are common in one of seven languages, and say something in another."""
STOP: Final = (STOP_WORDS | _CHATTER) - _MEANINGFUL
"""Words that no memory is found by."""

_MARKS: Final = re.compile("[\u0300-\u036f]+")
_IS_CJK: Final = re.compile(f"[{CJK}]")
_HAN: Final = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_HAN_RUN: Final = re.compile(f"[{_HAN}]+")
_HANGUL_WORD: Final = re.compile("[\uac00-\ud7a3]+")
_SPLIT: Final = re.compile("[^0-9a-z]+")


def index_terms(text: str) -> list[str]:
    """The terms that `text` is filed under, each as often as it occurs.

    A CJK run gives overlapping pairs of characters, each Han character by itself, and a Korean word of one or two
    syllables its first one, so that 밥 finds 밥이.
    """
    found = phrase_terms(text)
    if _IS_CJK.search(text):
        folded = unicodedata.normalize("NFKC", text)
        found += [character for run in _HAN_RUN.findall(folded) for character in run]
        # A single syllable is among the words already.
        found += [word[0] for word in _HANGUL_WORD.findall(folded) if len(word) == 2]
    return found


def query_terms(text: str) -> list[str]:
    """The terms to look for, each once, in order.

    Single characters are looked for only where a word has no more: 밥을, 猫が.
    """
    found = phrase_terms(text)
    if _IS_CJK.search(text):
        folded = unicodedata.normalize("NFKC", text)
        found += [run for run in _HAN_RUN.findall(folded) if len(run) == 1]
        found += [word[0] for word in _HANGUL_WORD.findall(folded) if len(word) == 2 and word[1] in _PARTICLES]
    return list(dict.fromkeys(found))


_PARTICLES: Final = "은는이가을를에의도로와과랑만"
"""Korean particles of one syllable."""


def is_piece(term: str) -> bool:
    """Whether a term is a piece of a CJK run, which may straddle two words and then means nothing."""
    return _IS_CJK.match(term) is not None


_SAYS_LITTLE: Final = re.compile(f"[\u3040-\u309f]|[{_PARTICLES}에서다]$|^[{_HAN}]$")


def tells_apart(term: str) -> bool:
    """Whether two texts that share this term, where it is rare, may have to do with each other.

    A piece with hiragana or a Korean particle in it is grammar, or straddles two words.
    """
    return len(term) > 1 and not _SAYS_LITTLE.search(term)


def phrase_terms(text: str) -> list[str]:
    """The terms that follow one another where these words do."""
    return [term for word in words(text) if word not in STOP for term in _terms_of(word)]


@lru_cache(maxsize=65_536)
def _terms_of(word: str) -> tuple[str, ...]:
    """The terms of one word as `text.words` gives it: none, one, or several for "rock'n'roll"."""
    if word.isascii():
        if word.isalpha():
            return (stem(word),)
        word = word.removesuffix("'s")
        if word[:1].isdigit():
            return (word,)
        return tuple(stem(part) for part in _SPLIT.split(word) if len(part) > 1)
    if _IS_CJK.match(word):
        return (word,)
    parts = fold(word).removesuffix("'s").split("'")
    return tuple(stem(part) for part in parts if part not in STOP and (len(part) > 1 or not part.isascii()))


def fold(text: str) -> str:
    """Case-folded, with accents taken off Latin, Greek and Cyrillic letters: "Café" and "cafe" are the same."""
    if text.isascii():
        return text.casefold()
    return unicodedata.normalize("NFKC", _MARKS.sub("", unicodedata.normalize("NFKD", text))).casefold()
