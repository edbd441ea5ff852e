"""Taking a reflection back: the document before it, with what was observed and written since. Pure.

A three-way merge by lines. `after` is what the reflection wrote; what `now` has beyond that was added since and stays,
what `now` lacks of it was deleted since and stays away.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from total_recall.memory.document import is_date_heading
from total_recall.memory.line import match_observation


@dataclass(frozen=True, slots=True)
class Undone:
    """The merged document, and how many observation lines came back, went, and were there since and stay."""

    content: bytes
    back: int
    gone: int
    since: int


def undone(before: bytes, after: bytes, now: bytes) -> Undone:
    """`now` without what turned `before` into `after`. Doing it twice changes nothing more."""
    old, made, current = (_lines(content) for content in (before, after, now))
    merged: list[str] = []
    for a, b, c in _chunks(old, made, current):
        merged += _resolved(a, b, c)
    content = "".join(_with_line_ends(merged)).encode("utf-8", "surrogateescape")
    was, will = _observations(current), _observations(merged)
    return Undone(content, len(will - was), len(was - will), len(was - _observations(made) - _observations(old)))


def _lines(content: bytes) -> list[str]:
    """Each with its own newline, but for the last when it has none."""
    pieces = [piece + "\n" for piece in content.decode("utf-8", "surrogateescape").split("\n")]
    pieces[-1] = pieces[-1][:-1]
    return pieces if pieces[-1] else pieces[:-1]


def _with_line_ends(lines: Sequence[str]) -> Iterator[str]:
    """A line that was the last one and had no newline gets one when another follows it."""
    for number, line in enumerate(lines, 1):
        yield line if line.endswith("\n") or number == len(lines) else f"{line}\n"


def _observations(lines: Sequence[str]) -> set[str]:
    return {line.strip() for line in lines if match_observation(line.rstrip("\r\n")) is not None}


def _chunks(
    old: Sequence[str], made: Sequence[str], current: Sequence[str]
) -> Iterator[tuple[Sequence[str], Sequence[str], Sequence[str]]]:
    """The three texts cut at the lines of `made` that all have: (old, made, current) pieces, in order."""
    in_old, in_current = _places(made, old), _places(made, current)
    a = b = c = 0
    for line in sorted(in_old.keys() & in_current.keys()):
        x, y = in_old[line], in_current[line]
        yield old[a:x], made[b:line], current[c:y]
        yield old[x : x + 1], made[line : line + 1], current[y : y + 1]
        a, b, c = x + 1, line + 1, y + 1
    yield old[a:], made[b:], current[c:]


def _places(made: Sequence[str], other: Sequence[str]) -> dict[int, int]:
    """Where the lines of `made` stand in the other text, as far as they do in the same order.

    Lines that each text has once are matched first (patience diff), then what lies between them: observations are
    told apart by their ids, so this takes hardly more than linear time.
    """
    found: dict[int, int] = {}
    a = b = 0
    for line, place in [*_anchors(made, other), (len(made), len(other))]:
        matcher = SequenceMatcher(_is_separator, made[a:line], other[b:place], autojunk=False)
        for block in matcher.get_matching_blocks():
            found.update((a + block.a + n, b + block.b + n) for n in range(block.size))
        if line < len(made):
            found[line] = place
        a, b = line + 1, place + 1
    return found


def _anchors(made: Sequence[str], other: Sequence[str]) -> list[tuple[int, int]]:
    """The longest run of (line, place) of lines that both texts have exactly once, in the order of both."""
    count, other_count = Counter(made), Counter(other)
    places = {line: place for place, line in enumerate(other)}
    once = [(n, places[line]) for n, line in enumerate(made) if count[line] == other_count[line] == 1]
    ends: list[int] = []  # the smallest place that ends a run of each length
    tails: list[int] = []
    before: list[int] = []
    for number, (_, place) in enumerate(once):
        length = bisect_left(ends, place)
        before.append(tails[length - 1] if length else -1)
        ends[length : length + 1] = [place]
        tails[length : length + 1] = [number]
    run: list[tuple[int, int]] = []
    number = tails[-1] if tails else -1
    while number >= 0:
        run.append(once[number])
        number = before[number]
    return run[::-1]


def _is_separator(line: str) -> bool:
    return line.strip() in ("", "---")


def _resolved(old: Sequence[str], made: Sequence[str], current: Sequence[str]) -> list[str]:
    """One piece: the old lines but for those deleted since, then what was added since."""
    if list(current) == list(made):
        return list(old)
    if list(old) == list(made):
        return list(current)
    deleted = set(made) - set(current)
    kept = [line for line in old if line not in deleted or _is_separator(line)]
    return kept + [line for run in _added_runs(made, current) for line in _new_in(run, set(old))]


def _added_runs(made: Sequence[str], current: Sequence[str]) -> Iterator[Sequence[str]]:
    for tag, _, _, start, end in SequenceMatcher(None, made, current, autojunk=False).get_opcodes():
        if tag in ("insert", "replace"):
            yield current[start:end]


def _new_in(run: Sequence[str], old: set[str]) -> list[str]:
    """The run without observations that are back already; nothing when only headings and rules are left of it."""
    left = [line for line in run if line not in old or match_observation(line.rstrip("\r\n")) is None]
    says_something = any(not _is_separator(line) and not is_date_heading(line) and line not in old for line in left)
    return left if says_something else []
