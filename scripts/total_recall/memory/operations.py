"""What a reflection may do to numbered observations, and reading that from a model's answer. Pure.

What an answer does not mention stays: a line can only leave the memory by being named.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from total_recall.memory.line import MARKS, Entry

ANSWER_CHARACTERS = 200_000
LINE_CHARACTERS = 4_000
"""Longer lines, and whatever a run-away answer has after so many characters, are not looked at."""


@dataclass(frozen=True, slots=True)
class Merge:
    """Several lines become one. Numbers count from 1 in the list that was shown, here and below."""

    numbers: tuple[int, ...]
    text: str


@dataclass(frozen=True, slots=True)
class Drop:
    """A line goes to the archive."""

    number: int
    reason: str


@dataclass(frozen=True, slots=True)
class Supersede:
    """A line goes to the archive because a newer one says otherwise."""

    number: int
    by: int


@dataclass(frozen=True, slots=True)
class Repeat:
    """A line goes to the archive because a newer one says all of it again. Only our own rules find these."""

    number: int
    of: int


Operation = Merge | Drop | Supersede | Repeat


def numbers_of(operation: Operation) -> tuple[int, ...]:
    """Every number that the operation names."""
    if isinstance(operation, Merge):
        return operation.numbers
    if isinstance(operation, Drop):
        return (operation.number,)
    return (operation.number, operation.by if isinstance(operation, Supersede) else operation.of)


def renumbered(operation: Operation, new: Callable[[int], int]) -> Operation:
    """The same operation for a list in which number n has become `new(n)`."""
    if isinstance(operation, Merge):
        return replace(operation, numbers=tuple(map(new, operation.numbers)))
    if isinstance(operation, Drop):
        return replace(operation, number=new(operation.number))
    if isinstance(operation, Supersede):
        return Supersede(new(operation.number), new(operation.by))
    return Repeat(new(operation.number), new(operation.of))


def numbered(entries: Sequence[Entry]) -> list[str]:
    """The lines as a model sees them: `[3] 2026-11-30 🟡 fact: text`."""
    return [
        f"[{number}] {entry.heading or entry.recorded or '?'} {MARKS[entry.priority]} "
        f"{entry.type or 'untyped'}: {entry.text}"
        for number, entry in enumerate(entries, 1)
    ]


_VERB = r"^(?:[-*•]|[0-9]{1,4}[.)])?\s*[`*\"]*"
_IDS = r"(?:lines?|ids?|nos?\.?)?\s*[\[(]{0,2}(?P<ids>#?[0-9][0-9 ,;#&–.\[\])-]*(?:and [0-9 ,;#&–.\[\])-]+)*)"
_MERGE = re.compile(
    rf"{_VERB}merge[`*]*:?\s*{_IDS}\s*(?:into|as|=>|->|→|:|=)\s*:?\s*[`*\"“]*(?P<text>.*?)[`\"”*]*$", re.I
)
_DROP = re.compile(
    rf"{_VERB}(?:drop|delete|remove)[`*]*:?\s*{_IDS}\s*(?:because|since|reason|as|:|-|–|—|(?=\())\s*:?\s*(?P<reason>\S.*)$",
    re.I,
)
_SUPERSEDE = re.compile(
    rf"{_VERB}supersede[sd]?[`*]*:?\s*[\[(]?#?(?P<old>[0-9]{{1,6}})[\])]?\s*(?:is superseded )?(?:by|with|->|→)\s*"
    r"[\[(]?#?(?P<new>[0-9]{1,6})(?![0-9])",
    re.I,
)
_KEEP = re.compile(rf"{_VERB}keep\b", re.I)
_LOOKS_LIKE_ONE = re.compile(rf"{_VERB}(?:merge|drop|delete|remove|supersede)", re.I)
_RANGE = re.compile(r"([0-9]{1,6})(?![0-9])(?:\s*(?:-|–|\.\.)\s*([0-9]{1,6})(?![0-9]))?")
_TOO_LONG = re.compile(r"[0-9]{7}")
_SHOWN = re.compile(
    r"^(?:\[[0-9]{1,6}\]\s*)?(?:[0-9]{4}-[0-9]{2}-[0-9]{2}\s*)?(?:[-*]\s+)?[🔴🟡🟢]\ufe0f?\s*(?:[0-2]?[0-9]:[0-5][0-9]\s+)?"
    r"(?:(?:event|context|fact|preference|goal|habit|rule|untyped):\s*)?"
)
_COMMENT = re.compile(r"<!--.*?(?:-->|$)")


def read_operations(text: str, count: int) -> tuple[tuple[Operation, ...], tuple[str, ...]]:
    """The operations in an answer, and the lines that look like one and are none. Numbers go from 1 to `count`."""
    operations: list[Operation] = []
    odd: list[str] = []
    lines = [" ".join(line.split()) for line in text[:ANSWER_CHARACTERS].split("\n")]
    for line in _with_their_text([line for line in lines if line and len(line) <= LINE_CHARACTERS]):
        if _KEEP.match(line):
            continue
        found = list(_operations(line, count))
        operations += found
        if not found and _LOOKS_LIKE_ONE.match(line):
            odd.append(line[:120])
    return tuple(dict.fromkeys(operations)), tuple(odd)


def _with_their_text(lines: Sequence[str]) -> Iterator[str]:
    """The lines, with a merge whose text stands on the next line put together."""
    pending = ""
    for line in lines:
        if pending and not _LOOKS_LIKE_ONE.match(line) and not _KEEP.match(line):
            line, pending = f"{pending} {line}", ""
        elif pending:
            yield pending
            pending = ""
        match = _MERGE.match(line)
        if match and not match["text"]:
            pending = line
        else:
            yield line
    if pending:
        yield pending


def _operations(line: str, count: int) -> Iterator[Operation]:
    if match := _SUPERSEDE.match(line):
        old, new = int(match["old"]), int(match["new"])
        if 1 <= old <= count and 1 <= new <= count:
            yield Supersede(old, new)
    elif match := _MERGE.match(line):
        numbers = _numbers(match["ids"], count)
        text = _COMMENT.sub(" ", _SHOWN.sub("", match["text"])).strip()
        if numbers and text:
            yield Merge(numbers, text)
    elif match := _DROP.match(line):
        for number in _numbers(match["ids"], count):
            yield Drop(number, match["reason"].strip("() "))


def _numbers(text: str, count: int) -> tuple[int, ...]:
    """`1, 2 and 4-6` as numbers, each once; none at all when one of them is not in the list."""
    if _TOO_LONG.search(text):
        return ()
    found: list[int] = []
    for first, last in _RANGE.findall(text):
        low, high = int(first), int(last or first)
        if not 1 <= low <= high <= count:
            return ()
        found += range(low, high + 1)
    return tuple(dict.fromkeys(found))
