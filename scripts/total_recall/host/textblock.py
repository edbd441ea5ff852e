"""A block of our lines between markers, in a text that belongs to somebody else. Lines end at 0x0A, bytes are kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass


def _nothing(_line: bytes) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Markers:
    """The lines around a block. What a line begins with tells them, so that the rest may be worded anew.

    `is_ours` knows our lines without the markers: it says how far a block goes that has lost its end.
    """

    begin: bytes
    end: bytes
    begin_note: bytes = b""
    end_note: bytes = b""
    is_ours: Callable[[bytes], bool] = _nothing


def with_block(text: bytes, markers: Markers, lines: Sequence[bytes], line_end: bytes = b"\n") -> bytes:
    """The text with this block: in the place of its old one, else at its end. Other lines stay as they are."""
    block = [markers.begin + markers.begin_note, *lines, markers.end + markers.end_note]
    made = [line + line_end for line in block]
    whole = _split(text)
    spans = _spans(whole, markers)
    if not spans:
        if whole and not whole[-1].endswith(b"\n"):
            whole[-1] += line_end
        return b"".join([*whole, *made])
    first = spans[0]
    kept = [line for number, line in enumerate(whole[first.stop :], first.stop) if not _inside(number, spans)]
    return b"".join([*whole[: first.start], *made, *kept])


def without_block(text: bytes, markers: Markers) -> bytes:
    """The text without any block of these markers."""
    whole = _split(text)
    spans = _spans(whole, markers)
    return b"".join(line for number, line in enumerate(whole) if not _inside(number, spans))


def has_block(text: bytes, markers: Markers) -> bool:
    """Whether the text has such a block, or what is left of one."""
    return bool(_spans(_split(text), markers))


def line_end_of(text: bytes) -> bytes:
    """How the lines of the text end: as its first one does."""
    return b"\r\n" if text.partition(b"\n")[0].endswith(b"\r") else b"\n"


def _split(text: bytes) -> list[bytes]:
    lines = text.split(b"\n")
    return [line + b"\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


def _inside(number: int, spans: Sequence[range]) -> bool:
    return any(number in span for span in spans)


def _spans(lines: Sequence[bytes], markers: Markers) -> list[range]:
    """Where our blocks are. One whose end is gone reaches as far as the lines are ours; an end alone is one line."""
    spans: list[range] = []
    number = 0
    while number < len(lines):
        line = lines[number].strip()
        if line.startswith(markers.begin):
            spans.append(range(number, _stop(lines, number + 1, markers)))
        elif line.startswith(markers.end):
            spans.append(range(number, number + 1))
        number = spans[-1].stop if spans and spans[-1].stop > number else number + 1
    return spans


def _stop(lines: Sequence[bytes], start: int, markers: Markers) -> int:
    for number in range(start, len(lines)):
        line = lines[number].strip()
        if line.startswith(markers.end):
            return number + 1
        if line.startswith(markers.begin):
            break
    stop = start
    while stop < len(lines) and markers.is_ours(lines[stop].strip()):
        stop += 1
    return stop
