"""The hook lines of observations.md: one for each archived group, in a section of their own. Pure.

    ## Archived memories
    - **Kitchen**: 12 notes: tiled (2026-10-04…11-27). [ref: archive/chunks/2026-12-01.md#CHUNK-20261201-001]

They carry no mark and no `dc:` fields, so that they are no observations: they do not decay and are not told again. They
are ours all the same: they leave 180 days after the night that wrote them, and the oldest leave when they fill more
than their share of the target. What they point to stays in the archive and is found there. Other text in it stays.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

from total_recall.memory.document import Document, parse
from total_recall.memory.line import read_day
from total_recall.tokens import estimate_tokens

HEADING: Final = "## Archived memories"
KEPT_DAYS: Final = 180

_HOOK: Final = re.compile(
    r"- \*\*(?P<topic>[^*]+)\*\*: (?P<outcome>.+) \((?P<span>[^()]*)\)\. "
    r"\[ref: archive/(?:observations|chunks)/(?P<day>[0-9]{4}-[0-9]{2}-[0-9]{2})\.md"
    r"#(?P<name>(?:OBS|CHUNK)-[0-9]{8}-[0-9]+)\]"
)
_END: Final = re.compile(
    r" {0,3}(?:#{1,6}(?:[ \t]|$)|-(?:[ \t]*-){2,}[ \t]*$|\*(?:[ \t]*\*){2,}[ \t]*$|_(?:[ \t]*_){2,}[ \t]*$)"
)


@dataclass(frozen=True, slots=True)
class HookLine:
    """A hook line: its number in the document (from 1), the night that wrote it, what it points to, what it costs."""

    number: int
    night: date
    name: str
    tokens: int


def find(document: Document) -> tuple[HookLine, ...]:
    """The hook lines in our section, in their order."""
    found = []
    for number in range(*_section(document)):
        body = _body(document.lines[number])
        match = _HOOK.fullmatch(body)
        night = read_day(match["day"]) if match else None
        if match is not None and night is not None:
            found.append(HookLine(number + 1, night, match["name"], estimate_tokens(body) + 1))
    return tuple(found)


def retired(lines: Sequence[HookLine], today: date, room_tokens: int) -> tuple[HookLine, ...]:
    """Those that leave: the ones of too long ago, and of the rest the oldest that there is no room for."""
    old = [line for line in lines if (today - line.night).days > KEPT_DAYS]
    rest = [line for line in lines if line not in old]
    spent = sum(line.tokens for line in rest)
    for line in sorted(rest, key=lambda line: (line.night, line.number)):
        if spent <= room_tokens:
            break
        old.append(line)
        spent -= line.tokens
    return tuple(old)


def rewritten(document: Document, added: Sequence[str], gone: Sequence[HookLine]) -> Document:
    """The document with hook lines added to our section and others taken out. An empty section goes."""
    removed = {line.number - 1 for line in gone}
    lines = list(document.lines)
    newline = "\r\n" if sum(line.endswith("\r\n") for line in lines) * 2 > len(lines) else "\n"
    new = [f"{line}{newline}" for line in added]
    start, end = _section(document)
    if start < end:
        last = max((number for number in range(start, end) if lines[number].strip()), default=start) + 1
        if new and not lines[last - 1].endswith("\n"):
            lines[last - 1] += newline
        lines[last:last] = new
        left = [line for number, line in enumerate(lines) if number not in removed]
        if not new and not any(lines[n].strip() for n in range(start + 1, end) if n not in removed):
            left = [line for n, line in enumerate(lines) if n not in removed and not start <= n < end]
    elif new:
        place = _place(document)
        if place > 0 and not lines[place - 1].endswith("\n"):
            lines[place - 1] += newline
        above = [newline] if place > 0 and lines[place - 1].strip() else []
        lines[place:place] = [*above, f"{HEADING}{newline}", *new, newline]
        left = lines
    else:
        return document
    return parse((document.bom + "".join(left)).encode("utf-8", "surrogateescape"))


def _section(document: Document) -> tuple[int, int]:
    """From our heading to before the next heading or rule, as indexes into the lines; (0, 0) without one."""
    hidden = {n for block in document.blocks for n in range(block.start, block.end)}
    for number, line in enumerate(document.lines):
        if number not in hidden and _body(line) == HEADING:
            end = number + 1
            while end < len(document.lines) and not (_END.match(_body(document.lines[end])) and end not in hidden):
                end += 1
            return number, end
    return 0, 0


def _place(document: Document) -> int:
    """Before the first day (and the rule above it), outside of blocks; else the end."""
    for section in document.sections:
        above = section.heading - 1
        while above >= 0 and not document.lines[above].strip():
            above -= 1
        start = (
            above if above >= 0 and _body(document.lines[above]).strip() in ("---", "***", "___") else section.heading
        )
        if not any(block.start < start < block.end for block in document.blocks):
            return start
    return len(document.lines)


def _body(line: str) -> str:
    return line.removesuffix("\n").removesuffix("\r")
