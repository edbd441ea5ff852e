"""What can be read of a stored line that is damaged, foreign or very long. Pure; every finding is named by its kind."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import orjson

from total_recall.sessions.entries import is_entry

BOM = b"\xef\xbb\xbf"
FILLER = b"\0\r\n\t "
"""What may stand around a record: blanks, and the NUL bytes that a power cut leaves."""

STRING_LIMIT = 1 << 20
"""Bytes that are kept of one string in a very long line: far more than anyone types, far less than an image."""
KEPT_LIMIT = 16 << 20
"""Bytes that are kept of one very long line."""
_FAILURES = 200
"""Places tried in a broken line before it is given up."""

_SPECIAL = re.compile(rb'["\\]')
_START = re.compile(r'\{"(?:type|parentUuid|timestamp)":')
"""How an entry begins, in one host or another."""
_HALF_CHARACTER = re.compile(rb"[\xc0-\xff][\x80-\xbf]{0,2}\Z")

Note = Callable[[str], None]
"""Told the kind of each problem, a key of `source.PROBLEMS`."""


def parse_line(line: bytes) -> dict[str, Any] | None:
    """The JSON object that a line is, or None if it is none."""
    try:
        value: object = orjson.loads(line)
    except orjson.JSONDecodeError:
        try:
            value = _tolerant(line)
        except ValueError:
            return None
    return value if isinstance(value, dict) else None


def entries_in(line: bytes, note: Note, known: Callable[[object], bool] = is_entry) -> list[dict[str, Any]]:
    """The entries in one line, whatever happened to it; empty for a blank line. `known` tells an entry."""
    body = line.strip(b"\r\n\t ")
    if body.startswith(BOM):
        note("bom")
        body = body[len(BOM) :]
    if b"\0" in body:
        note("nul-bytes")
        body = body.replace(b"\0", b"").strip(b"\r\n\t ")
    if not body:
        return []
    try:
        value: object = orjson.loads(body)
    except orjson.JSONDecodeError:
        try:
            value = _tolerant(body)
        except ValueError:
            found = _entries_within(body, known)
            note("glued-lines" if found else "broken-line")
            return found
        note("bad-text")
    if not isinstance(value, dict):
        note("not-object")
    elif not known(value):
        note("unknown-type")
    else:
        return [value]
    return []


def _tolerant(body: bytes) -> object:
    """What the strict parser refuses: bad UTF-8, lone surrogates, control characters, numbers past all range.

    Raises ValueError for what is no JSON even so, or is nested too deep.
    """
    try:
        return json.loads(body.decode("utf-8", "replace"), strict=False, parse_int=_number)
    except RecursionError:
        raise ValueError("nested too deep") from None


def _number(digits: str) -> float:
    return int(digits) if len(digits) < 20 else float(digits)


def _entries_within(body: bytes, known: Callable[[object], bool]) -> list[dict[str, Any]]:
    """Whole entries inside a line where a crash or a lost newline ran several together."""
    text = body.decode("utf-8", "replace")
    decoder, found, at, failures = json.JSONDecoder(strict=False, parse_int=_number), [], text.find("{"), 0
    while at >= 0 and failures < _FAILURES:
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            failures += 1
            start = _START.search(text, at + 1)
            at = start.start() if start else -1
            continue
        if known(value) and ("id" in value or "timestamp" in value):
            found.append(value)
        at = text.find("{", end)
    return found


class Shortener:
    """Takes a very long line in pieces and keeps it JSON: of each string only the first megabyte, and no NUL bytes.

    An image goes, the words beside it stay, and the memory is bounded whatever the line.
    """

    def __init__(self) -> None:
        self.nul_bytes = False
        self._kept = bytearray()
        self._pending = b""
        self._in_string = False
        self._room = 0
        self._cut = False

    def feed(self, piece: bytes) -> None:
        """The next bytes of the line, cut anywhere."""
        if b"\0" in piece:
            self.nul_bytes = True
            piece = piece.replace(b"\0", b"")
        piece, self._pending = self._pending + piece, b""
        at = 0
        while at < len(piece) and len(self._kept) <= KEPT_LIMIT:
            at = self._string(piece, at) if self._in_string else self._structure(piece, at)

    def kept(self) -> bytes | None:
        """What is left of the line; None when there is no keeping it small."""
        return bytes(self._kept + self._pending) if len(self._kept) <= KEPT_LIMIT else None

    def _structure(self, piece: bytes, at: int) -> int:
        quote = piece.find(b'"', at)
        end = len(piece) if quote < 0 else quote + 1
        self._kept += piece[at:end]
        self._in_string, self._room, self._cut = quote >= 0, STRING_LIMIT, False
        return end

    def _string(self, piece: bytes, at: int) -> int:
        if self._room == 0:
            return self._rest_of_string(piece, at)
        special = _SPECIAL.search(piece, at)
        end = special.start() if special else len(piece)
        self._keep(piece[at:end][: self._room], end - at)
        if special is None:
            return end
        if special[0] == b'"':
            self._close()
            return end + 1
        behind = end + (6 if piece[end + 1 : end + 2] == b"u" else 2)
        if behind > len(piece):
            self._pending = piece[end:]
            return len(piece)
        self._keep(piece[end:behind] if behind - end <= self._room else b"", behind - end)
        return behind

    def _rest_of_string(self, piece: bytes, at: int) -> int:
        """Past what is not kept: to the next quote that no backslash escapes."""
        quote = piece.find(b'"', at)
        end = len(piece) if quote < 0 else quote
        backslashes = end - at - len(piece[at:end].rstrip(b"\\"))
        self._cut |= end > at
        if quote < 0:
            self._pending = piece[end - backslashes % 2 :]
        elif backslashes % 2 == 0:
            self._close()
        return len(piece) if quote < 0 else quote + 1

    def _keep(self, fits: bytes, length: int) -> None:
        self._kept += fits
        self._room -= len(fits)
        if len(fits) < length:
            self._cut, self._room = True, 0

    def _close(self) -> None:
        """End the string; where one was cut, half a character may stand."""
        if self._cut:
            half = _HALF_CHARACTER.search(bytes(self._kept[-3:]))
            if half is not None:
                del self._kept[half.start() - len(half.string) :]
            self._kept += b" \xe2\x80\xa6"
        self._kept += b'"'
        self._in_string = False
