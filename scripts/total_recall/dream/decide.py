"""Which lines leave tonight, by the rules of `retention`, and which goals a later line tells to be done. Pure.

With room to spare only what is due. Under pressure also what is old enough, the least worth keeping first, and no more
than the target demands.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from typing import Final

from total_recall import retention
from total_recall.decay import remaining
from total_recall.dream.items import FATE_OF, Item, Leaving
from total_recall.text import content_words, negations, plain_line

HOOK_LINE_TOKENS: Final = 60
"""What a hook line costs at most, roughly."""
LINES_TO_A_HOOK: Final = 8
"""Beyond the first two, so many lines that leave are told in one hook line, roughly."""

DONE: Final = re.compile(
    r"\b(?:done|finished|completed?|achieved|reached|accomplished|succeeded|passed|paid off|gave up|given up|abandoned"
    r"|cancel(?:l)?ed|no longer (?:wants?|plans?|runs?|does)|stopped|quit)\b"
    r"|\b(?:erledigt|geschafft|abgeschlossen|aufgegeben|terminado|logrado|cumplido|abandonado|terminé|atteint|abandonné)\b"
    r"|완료|달성|끝냈|끝났|포기|그만뒀|취소|達成|完了|終え|やめた|完成|达成|放弃",
    re.I,
)
SHARED: Final = 0.6
"""Share of a goal's content words that the line which ends it must have, and two of them at least."""
_WISH: Final = content_words(
    "user owner wants want would like to plans plan goal aims hopes intends by the end of this next year month week "
    "every day usually"
)


def due_lines(items: Sequence[Item], today: date) -> tuple[Leaving, ...]:
    """What leaves although there is room. A line that others hang on goes only when all of them go."""
    found = {item.number: rule for item in items if item.is_open and (rule := retention.due(item.memory, today))}
    return tuple(_leaving(item, found[item.number], today) for item in items if _may_go(item, found))


def pressed_lines(
    items: Sequence[Item], gone: Iterable[int], today: date, *, most_tokens: int, hook_share: int, hook_tokens: int
) -> tuple[Leaving, ...]:
    """What else leaves until the document is no longer than `most_tokens`.

    `items` are all lines, `gone` those that leave anyway; `most_tokens` is what there is for lines and hook lines
    together. Of it up to `hook_share` are kept free for hook lines, of which `hook_tokens` stand already.
    """
    leaving = set(gone)
    sections = Counter(item.section for item in items if item.number not in leaving)
    kept = sum(item.tokens for item in items if item.number not in leaving)
    kept += sum({item.section: item.section_tokens for item in items if sections[item.section]}.values())
    found: list[Leaving] = []
    for item in _by_worth(items, leaving, today):
        hook_lines = min(len(leaving), 2 + len(leaving) // LINES_TO_A_HOOK)
        reserve = min(hook_share, hook_tokens + HOOK_LINE_TOKENS * hook_lines)
        if kept + reserve <= most_tokens:
            break
        if any(number not in leaving for number in item.nested):
            continue
        leaving.add(item.number)
        kept -= item.tokens
        sections[item.section] -= 1
        if not sections[item.section]:
            kept -= item.section_tokens
        found.append(_leaving(item, "age", today))
    return tuple(found)


def _by_worth(items: Sequence[Item], gone: set[int], today: date) -> Iterator[Item]:
    """What is old enough to leave, the least worth keeping first; a line after those that hang on it."""
    candidates = {
        item.number: item
        for item in items
        if item.is_open and item.number not in gone and retention.age_rule(item.memory, today)
    }
    worth = {number: _worth(item, today) for number, item in candidates.items()}
    for number, item in candidates.items():
        worth[number] = max([worth[number], *(worth[n] for n in item.nested if n in worth)])
    yield from sorted(candidates.values(), key=lambda i: (worth[i.number], *i.order[:2], -i.number))


def _worth(item: Item, today: date) -> float:
    """What is left of its importance, with how sure it is: half as much again, or half of it."""
    memory = item.memory
    left = remaining(memory.type, memory.importance, retention.age_days(memory, today))
    return left * retention.stretch(memory.confidence)


def _may_go(item: Item, found: Mapping[int, retention.Rule]) -> bool:
    return item.number in found and all(number in found for number in item.nested)


def _leaving(item: Item, rule: retention.Rule, today: date) -> Leaving:
    return Leaving(item, FATE_OF[rule], retention.reason(item.memory, rule, today))


# --- goals and habits that are done


def resolved(items: Sequence[Item]) -> frozenset[int]:
    """The numbers of goals and habits that a newer line ends."""
    by_word: dict[str, list[Item]] = {}
    for item in items:
        if (
            DONE.search(item.text)
            and not negations(DONE.sub("", item.text))
            and item.type not in ("rule", "preference")
        ):
            for word in content_words(plain_line(item.text)):
                by_word.setdefault(word, []).append(item)
    return frozenset(
        item.number
        for item in items
        if item.type in retention.STANDING and _is_ended(item, content_words(item.text) - _WISH, by_word)
    )


def _is_ended(goal: Item, words: frozenset[str], by_word: Mapping[str, Sequence[Item]]) -> bool:
    shared = Counter(line.number for word in words for line in by_word.get(word, ()) if line.order > goal.order)
    return any(count >= 2 and count >= SHARED * len(words) for count in shared.values())
