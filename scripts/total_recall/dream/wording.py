"""A model's part in a night: better words for findings and search hooks, and nothing else. Pure but for `ask`.

What leaves, when and why is decided before. Each answer is checked on its own; what does not stand up is left out and
the offline words stay.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from total_recall.dream.chunk import FINDING_CHARACTERS, fitted
from total_recall.dream.hooks import hooks_of, safe
from total_recall.dream.items import Group
from total_recall.text import STOP_WORDS, content_words, names, negations, numbers
from total_recall.tokens import estimate_tokens

Ask = Callable[[str, str], str]
"""(system message, user message) → the reply's text."""

HOOK_WORDS: Final = 8
HOOKS_USED: Final = 3
SHOWN_MEMBERS: Final = 12
ANSWER_CHARACTERS: Final = 200_000
OWN_WORDS: Final = 0.5
"""Share of a finding's content words that must come from the lines that it is made of."""

_ANSWER: Final = re.compile(
    r"^\W{0,4}\[?(?P<number>[0-9]{1,5})\]?\W{0,3}(?P<what>finding|hooks)\W{0,4}[:：]\s*(?P<text>.+)$", re.I
)
_START: Final = re.compile(r"(?P<word>[A-ZÀ-ÖØ-Þ][^\W\d_]+)")
"""The capitalised word that a text begins with: it may be a name that the lines do not have."""
_LINK: Final = re.compile(r"https?://|www\.|[\w.+-]+@[\w-]+\.", re.I)


@dataclass(frozen=True, slots=True)
class Wording:
    """What a model said about one group and what of it stood up."""

    finding: str | None = None
    hooks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Worded:
    """The groups with a model's words in them, how many answers were used, and how many were not."""

    groups: tuple[Group, ...]
    used: int
    refused: int


def shown(groups: Sequence[Group], part_tokens: int) -> Iterator[tuple[int, str]]:
    """The groups as a model sees them, in parts of about so many tokens: (number of the first, text).

    Numbers begin at 1 in each part; the lines stand between two fences that none of them can know.
    """
    part: list[str] = []
    tokens = first = 0
    for at, group in enumerate(groups):
        told = _told(group, at - first + 1)
        cost = estimate_tokens(told)
        if part and tokens + cost > part_tokens:
            yield first, _fenced(part)
            part, tokens, first = [], 0, at
            told = _told(group, 1)
        part.append(told)
        tokens += cost
    if part:
        yield first, _fenced(part)


def read(answer: str, groups: Sequence[Group]) -> tuple[Mapping[int, Wording], int]:
    """What of an answer about these groups stands up, by the place of the group; and how many of its lines do not."""
    found: dict[int, Wording] = {}
    refused = 0
    for line in answer[:ANSWER_CHARACTERS].split("\n"):
        match = _ANSWER.match(" ".join(line.split()))
        if match is None:
            continue
        place = int(match["number"]) - 1
        if not 0 <= place < len(groups):
            refused += 1
            continue
        group, before = groups[place], found.get(place, Wording())
        if match["what"].casefold() == "finding":
            finding = safe(match["text"], FINDING_CHARACTERS)
            if group.finding is None or _bad_finding(finding, group):
                refused += 1
            else:
                found[place] = replace(before, finding=finding)
            continue
        hooks = [safe(hook, 80) for hook in re.split(r"[;|]", match["text"])]
        good = tuple(dict.fromkeys(hook for hook in hooks if hook and not _bad_hook(hook, group)))
        refused += len([hook for hook in hooks if hook]) - len(good)
        if good:
            found[place] = replace(before, hooks=good[:HOOKS_USED])
    return found, refused


def worded(groups: Sequence[Group], said: Mapping[int, Wording], refused: int = 0) -> Worded:
    """The groups with what a model said of them (by place)."""
    result: list[Group] = []
    used = 0
    for place, group in enumerate(groups):
        wording = said.get(place)
        if wording is None:
            result.append(group)
            continue
        used += 1
        members = group.members
        if wording.hooks:
            members = tuple(replace(one, hooks=hooks_of(one.item, wording.hooks)) for one in members)
        changed = replace(group, members=members)
        if wording.finding is not None:
            whole = f"{len(members)} notes, {group.span}: {wording.finding}"
            changed = replace(changed, finding=whole, outcome=fitted(changed, wording.finding))
        result.append(changed)
    return Worded(tuple(result), used, refused)


def _told(group: Group, number: int) -> str:
    kind = "on one topic" if group.finding is not None else "kept apart"
    lines = [f"[{number}] {len(group.members)} notes {kind}, {group.span}:"]
    return "\n".join([*lines, *(f"  - {member.item.text}" for member in group.members[-SHOWN_MEMBERS:])])


def _fenced(part: Sequence[str]) -> str:
    fence = f"memory-{secrets.token_hex(4)}"
    return "\n".join((f"<{fence}>", *part, f"</{fence}>"))


def _bad_finding(text: str, group: Group) -> bool:
    """Whether a finding says what the lines do not: a number, a name, a link, a "not", or words of its own."""
    told = "\n".join(member.item.text for member in group.members)
    mine = content_words(text)
    return (
        not mine
        or _invents(text, told)
        or bool(negations(text)) > bool(negations(told))
        or len(mine & content_words(told)) < OWN_WORDS * len(mine)
    )


def _bad_hook(text: str, group: Group) -> bool:
    """Whether a hook is more than a few words to search for, or names what the lines do not."""
    told = "\n".join(member.item.text for member in group.members)
    return len(text.split()) > HOOK_WORDS or _invents(text, told)


def _invents(text: str, told: str) -> bool:
    folded = told.casefold()
    start = _START.match(text)
    first = start["word"].casefold() if start else ""
    return bool(
        _LINK.search(text)
        or (first and first not in STOP_WORDS and not first.endswith(("ed", "ing")) and first not in folded)
        or numbers(text) - numbers(told)
        or any(part not in folded for name in names(text) for part in name.casefold().split())
    )
