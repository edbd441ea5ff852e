"""Private keys in PEM blocks: whole, cut off at either end, or on one line with `\\n` in it. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from total_recall.privacy.spans import Span

MARK = "PRIVATE KEY"

_DASHES = "-" * 5
# Header fields ("Proc-Type: 4,ENCRYPTED") may stand before the base64; "\n" may be spelled out.
_BREAK = r"(?:\\[rn]|[\s>|])"
_FIELDS = rf"(?:{_BREAK}+[A-Za-z-]{{4,24}}: [^\n\\]{{1,80}})*"
_LINES = rf"(?:{_BREAK}+[A-Za-z0-9+/=]{{16,}})*"
_EDGE = rf"[A-Z0-9 ]{{0,24}}{MARK}(?: BLOCK)?{_DASHES}"
_BLOCK = re.compile(
    rf"{_DASHES}BEGIN {_EDGE}{_FIELDS}{_LINES}"
    rf"(?:(?:{_BREAK}+[A-Za-z0-9+/=]{{1,15}}){{0,2}}{_BREAK}{{0,8}}{_DASHES}END {_EDGE})?"
)
_END = re.compile(rf"{_DASHES}END {_EDGE}")
_BASE64_LINE = re.compile(r"[A-Za-z0-9+/=]{4,}")
_SHORTEST_BODY = 32


def find(text: str) -> Iterator[Span]:
    """The private keys in `text`; a bare header without a key after it stays."""
    covered = 0
    for block in _BLOCK.finditer(text):
        covered = block.end()
        if len(block.group()) >= _SHORTEST_BODY + 2 * len(_DASHES) + len(MARK):
            yield Span("private-key", *block.span())
    for end in _END.finditer(text, covered):
        start = _start_of_body(text, end.start())
        if start < end.start():
            yield Span("private-key", start, end.end())


def _start_of_body(text: str, end: int) -> int:
    """Where the lines of base64 that end at `end` begin; `end` where there are none."""
    start = end
    while start > 0:
        line_start = text.rfind("\n", 0, start - 1) + 1
        if not _BASE64_LINE.fullmatch(text[line_start:start].strip()):
            break
        start = line_start
    return start
