"""The same small thing noted several times on one day: the line that says most stays. Pure.

"The backup finished in 4 minutes", three times. Only events and work at hand; a failure, a decision, a first time, an
amount of money or a matter of importance is each one of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import date
from typing import Final

from total_recall import retention
from total_recall.dream.items import Item, Leaving
from total_recall.records import ObservationType
from total_recall.text import content_words, names, negations, numbers

PASSING: Final[frozenset[ObservationType]] = frozenset({"event", "context"})
BELOW: Final = 6.0
"""From this importance on (🔴) nothing is a routine."""

SINGULAR: Final = re.compile(
    r"fail|error|crash|broke|broken|outage|incident|wrong|lost|timed? ?out|down\b|alert|denied|reject|refus|urgent"
    r"|decid|decision|agreed|chose|approved|cancel|\bfirst\b|\bnew\b|\blast\b|\bfinal"
    r"|fehler|kaputt|abgestürzt|entschied|erste|fallo|falló|decidi|primer|échec|erreur|panne|décid|première?"
    r"|실패|오류|에러|고장|장애|결정|취소|처음|첫|失敗|エラー|障害|決定|初めて|失败|错误|故障|首次|第一次",
    re.I,
)
"""What tells of a failure, a decision, a first time or an end."""
_AMOUNT: Final = re.compile(r"[$€£¥₩%]|\b(?:usd|eur|euros?|dollars?|won|yen|krw)\b|[0-9]\s?(?:원|円|元)", re.I)
_LONG_NUMBER: Final = 1_000
"""A number from here on, or one with letters in it, names something: a ticket, an invoice."""


def repeats(items: Sequence[Item], gone: Iterable[int], today: date) -> tuple[Leaving, ...]:
    """Lines of one day that tell the same routine, but for the one of each that says most (of equals the last)."""
    left = set(gone)
    same: dict[tuple[date, frozenset[str], frozenset[str]], list[Item]] = {}
    for item in items:
        if item.number not in left and item.day is not None and is_routine(item, today):
            key = (item.day, _event_words(item.text), _folded(item.text))
            same.setdefault(key, []).append(item)
    found: list[Leaving] = []
    for group in same.values():
        if len(group) > 1:
            kept = max(group, key=_says)
            reason = f"{len(group)} times on that day, the line that says most stays: {kept.name}"
            found += [Leaving(item, "repeated", reason) for item in group if item is not kept]
    return tuple(sorted(found, key=lambda leaving: leaving.item.number))


def is_routine(item: Item, today: date) -> bool:
    """Whether a line may be one of several that tell the same."""
    return (
        item.is_open
        and not item.nested
        and item.type in PASSING
        and item.memory.importance < BELOW
        and retention.protected(item.memory, today) is None
        and not SINGULAR.search(item.text)
        and not _AMOUNT.search(item.text)
        and not negations(item.text)
        and not any(
            not number.isdigit() or int(number) >= _LONG_NUMBER for number in numbers(item.text) if ":" not in number
        )
        and bool(_event_words(item.text))
    )


def _event_words(text: str) -> frozenset[str]:
    """What happened, without how much and when."""
    return frozenset(word for word in content_words(text) if not any(character.isdigit() for character in word))


def _folded(text: str) -> frozenset[str]:
    return frozenset(name.casefold() for name in names(text))


def _says(item: Item) -> tuple[float, int, int, tuple[object, ...]]:
    return item.memory.importance, len(numbers(item.text)), len(item.text), item.order
