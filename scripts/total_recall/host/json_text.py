"""Changes to the text of a JSON object that leave every other byte as it is."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

_DECODER = json.JSONDecoder()
_SPACE = " \t\n\r"


@dataclass(frozen=True, slots=True)
class _Member:
    """Where a member stands: its key from `start`, its value from `value_start` to `end`."""

    key: str
    start: int
    value_start: int
    end: int


def with_value(text: str, path: Sequence[str], value: object) -> str | None:
    """The text with `value` at a path of keys; objects on the way are made.

    None when the text is no plain JSON object (JSON5, a broken one), or something else is in the way.
    """
    if not _is_object(text):
        return None
    start = _skip(text, 0)
    for depth, key in enumerate(path):
        if text[start] != "{":
            return None
        members = _members(text, start)
        member = _named(members, key)
        if member is None:
            for outer in reversed(path[depth + 1 :]):
                value = {outer: value}
            return _inserted(text, start, members, f"{_dumped(key)}: {_dumped(value)}")
        if depth == len(path) - 1:
            return text[: member.value_start] + _dumped(value) + text[member.end :]
        start = member.value_start
    return None


def without(text: str, path: Sequence[str]) -> str | None:
    """The text without the member at a path of keys, as it is when there is none; None when it is no plain JSON."""
    if not _is_object(text):
        return None
    start = _skip(text, 0)
    for key in path[:-1]:
        member = _named(_members(text, start), key) if text[start] == "{" else None
        if member is None:
            return text
        start = member.value_start
    members = _members(text, start) if text[start] == "{" else []
    member = _named(members, path[-1])
    if member is None:
        return text
    number = members.index(member)
    if number > 0:
        return text[: members[number - 1].end] + text[member.end :]
    if len(members) > 1:
        return text[: member.start] + text[members[1].start :]
    return text[: start + 1] + text[member.end :]


def _dumped(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _inserted(text: str, start: int, members: Sequence[_Member], made: str) -> str:
    """With one more member at the end of the object at `start`, set apart as its first one is."""
    if not members:
        return f"{text[: start + 1]}{made}{text[start + 1 :]}"
    apart = text[start + 1 : members[0].start] or " "
    end = members[-1].end
    return f"{text[:end]},{apart}{made}{text[end:]}"


def _named(members: Sequence[_Member], key: str) -> _Member | None:
    """The last one of that name: it is the one that counts."""
    return next((member for member in reversed(members) if member.key == key), None)


def _members(text: str, start: int) -> list[_Member]:
    """The members of the object at `start`, in text that is known to be JSON."""
    found: list[_Member] = []
    at = _skip(text, start + 1)
    while text[at] != "}":
        key, after_key = _DECODER.raw_decode(text, at)
        value_start = _skip(text, _skip(text, after_key) + 1)
        _, end = _DECODER.raw_decode(text, value_start)
        found.append(_Member(key, at, value_start, end))
        at = _skip(text, end)
        if text[at] == ",":
            at = _skip(text, at + 1)
    return found


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _SPACE:
        at += 1
    return at


@dataclass(frozen=True, slots=True)
class Layout:
    """How a file sets its values apart. Without `indent` it is all on one line."""

    indent: str | None
    line_end: str

    def break_at(self, depth: int) -> str:
        """What stands before something at this depth."""
        return "" if self.indent is None else self.line_end + self.indent * depth

    def dumped(self, value: object, depth: int) -> str:
        """A value whose first character stands at this depth."""
        if self.indent is None:
            return _dumped(value)
        return json.dumps(value, ensure_ascii=False, indent=self.indent).replace("\n", self.break_at(depth))


def layout_of(text: str) -> Layout:
    """The layout of a file, by the first line in it that is indented."""
    line_end = "\r\n" if "\r\n" in text else "\n"
    for line in text.split("\n")[1:]:
        blank = line[: len(line) - len(line.lstrip(" \t"))]
        if blank and line.strip():
            return Layout(blank, line_end)
    return Layout(None if text.strip() not in ("", "{}") else "  ", line_end)


def appended(text: str, path: Sequence[str], element: object) -> str | None:
    """The text with one more element at the end of the list at a path of keys; what is not there yet is made.

    None when the text is no plain JSON object, or something else is in the way.
    """
    if not _is_object(text):
        return None
    layout, start = layout_of(text), _skip(text, 0)
    for depth, key in enumerate(path, 1):
        if text[start] != "{":
            return None
        members = _members(text, start)
        member = _named(members, key)
        if member is None:
            value: object = [element]
            for outer in reversed(path[depth:]):
                value = {outer: value}
            made = f"{_dumped(key)}: {layout.dumped(value, depth)}"
            return _put_last(text, start, [(m.start, m.end) for m in members], made, layout, depth)
        start = member.value_start
    if text[start] != "[":
        return None
    depth = len(path) + 1
    return _put_last(text, start, _elements(text, start), layout.dumped(element, depth), layout, depth)


def without_elements(text: str, path: Sequence[str], numbers: Sequence[int]) -> str:
    """The text without the elements of these numbers of the list at a path of keys; both must be there."""
    for number in sorted(numbers, reverse=True):
        start = _skip(text, 0)
        for key in path:
            member = _named(_members(text, start), key)
            if member is None:
                raise KeyError(key)
            start = member.value_start
        spans = _elements(text, start)
        begin, end = spans[number]
        if number > 0:
            text = text[: spans[number - 1][1]] + text[end:]
        elif len(spans) > 1:
            text = text[:begin] + text[spans[1][0] :]
        else:
            text = text[: start + 1] + text[_skip(text, end) :]
    return text


def _put_last(
    text: str, start: int, spans: Sequence[tuple[int, int]], made: str, layout: Layout, depth: int
) -> str:
    """With one more member or element, which stands at `depth`, at the end of what opens at `start`."""
    if spans:
        first, end = spans[0][0], spans[-1][1]
        apart = text[start + 1 : first] or layout.break_at(depth) or " "
        return f"{text[:end]},{apart}{made}{text[end:]}"
    closing = _skip(text, start + 1)
    return f"{text[: start + 1]}{layout.break_at(depth)}{made}{layout.break_at(depth - 1)}{text[closing:]}"


def _elements(text: str, start: int) -> list[tuple[int, int]]:
    """Where the elements of the list at `start` stand, in text that is known to be JSON."""
    found: list[tuple[int, int]] = []
    at = _skip(text, start + 1)
    while text[at] != "]":
        _, end = _DECODER.raw_decode(text, at)
        found.append((at, end))
        at = _skip(text, end)
        if text[at] == ",":
            at = _skip(text, at + 1)
    return found
