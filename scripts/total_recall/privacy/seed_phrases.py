"""Recovery phrases of wallets: twelve or more words of the BIP-39 list in a row. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from total_recall.privacy.seed_words import SEED_WORDS
from total_recall.privacy.spans import Span

FEWEST_WORDS = 12
_FEWEST_DIFFERENT = 8

_WORDS = frozenset(SEED_WORDS)
_WORD = re.compile(r"[A-Za-z]+")
_BETWEEN = re.compile(r"""[\s,;|.)\]"'\d-]{1,12}""")

# Every third word is enough to rule a phrase out nearly always, at half the cost.
_STRIDE = 3
_BYTE_WORDS = frozenset(word.encode() for word in SEED_WORDS)
_LETTERS = bytes(code | 32 if chr(code).isalpha() and code < 128 else 32 for code in range(256))


def may_hold(utf8: bytes) -> bool:
    """Whether a phrase is possible; quick, and never False for a text that holds one."""
    words = utf8.translate(_LETTERS).split()
    return _in_a_row(words[::_STRIDE], FEWEST_WORDS // _STRIDE) and _in_a_row(words, FEWEST_WORDS)


def _in_a_row(words: list[bytes], count: int) -> bool:
    return len(words) >= count and b"\1" * count in bytes(map(_BYTE_WORDS.__contains__, words))


def find(text: str) -> Iterator[Span]:
    """The phrases in `text`, whatever stands between the words: spaces, commas, quotes, line breaks with numbers.

    English prose does not get there: its articles, pronouns and prepositions are not in the list.
    """
    run: list[re.Match[str]] = []
    for word in _WORD.finditer(text):
        if run and not _BETWEEN.fullmatch(text, run[-1].end(), word.start()):
            yield from _phrase(run)
            run = []
        if word.group().lower() in _WORDS:
            run.append(word)
        else:
            yield from _phrase(run)
            run = []
    yield from _phrase(run)


def _phrase(run: list[re.Match[str]]) -> Iterator[Span]:
    if len(run) >= FEWEST_WORDS and len({word.group().lower() for word in run}) >= _FEWEST_DIFFERENT:
        yield Span("seed-phrase", run[0].start(), run[-1].end())
