"""What an event is found by, and how one asks for it. Pure.

SQLite's `unicode61` makes words of scripts that put spaces between them. A run of Chinese, Japanese or Korean is given
to it as overlapping pairs of characters and its last one, so that 결제 finds 재결제를.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Any, Final

import orjson

from total_recall.text import CJK

_RUN: Final = re.compile(f"[{CJK}]+")
_WORD: Final = re.compile(r"[^\W_]+")


def indexed(summary: str, error: str | None, details: str | None) -> str:
    """The text that an event is filed under: its summary, its error, and every value in its details."""
    parts = [summary, error or ""]
    if details:
        parts += _values(orjson.loads(details))
    return split(" ".join(parts))


def split(text: str) -> str:
    """`text` with its CJK runs cut into pairs."""
    if text.isascii():
        return text
    return _RUN.sub(_pairs, unicodedata.normalize("NFKC", text))


def match_query(text: str) -> str:
    """The FTS5 query for events that have every word of `text`, at least as the beginning of a word; "" for no word.

    The order of the words is not asked: whoever wants it looks at what is found.
    """
    asked: list[str] = []
    at = 0
    folded = unicodedata.normalize("NFKC", text)
    for run in _RUN.finditer(folded):
        asked += _WORD.findall(folded[at : run.start()])
        asked += _asked_pairs(run[0])
        at = run.end()
    asked += _WORD.findall(folded[at:])
    return " ".join(f'"{word}"*' for word in dict.fromkeys(asked))


def _asked_pairs(run: str) -> list[str]:
    return [run[at : at + 2] for at in range(len(run) - 1)] or [run]


def _pairs(run: re.Match[str]) -> str:
    said = run[0]
    return f" {' '.join(said[at : at + 2] for at in range(len(said)))} "


def _values(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _values(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _values(inner)
    elif value is not None and value is not True and value is not False:
        yield str(value)
