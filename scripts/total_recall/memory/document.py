"""The text of observations.md: reading it, and adding to it without touching what is there.

A person edits this file too. A `Document` therefore keeps every byte, understands the lines that it
can, and only ever inserts lines or sets one field. schemas/observation-format.md describes the format.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import groupby

from total_recall.errors import MemoryWriteError
from total_recall.memory.line import (
    Entry,
    checked_id,
    format_observation,
    ids_on,
    mark_superseded,
    match_observation,
    read_day,
    read_observation,
    set_field,
)
from total_recall.records import Observation

__all__ = ["HEAD", "Document", "Entry", "format_observation", "is_date_heading", "parse"]

HEAD = (
    "# Observations Log",
    "",
    "What was noticed in past conversations, as background. What you write here yourself is kept.",
)

_BOM = "\ufeff"
_UTF16_BOMS = ("\udcff\udcfe", "\udcfe\udcff")  # the bytes FF FE and FE FF, as surrogate escapes
_DATE_HEADING = re.compile(
    r" {0,3}(?:#{1,6}[ \t]+)?\*{0,2}(?P<label>Date:\*{0,2}[ \t]*)?(?P<day>[0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"(?:[ \t]*[(,]?[ \t]*[A-Za-z]{2,6}day\)?)?\*{0,2}[ \t]*"
)
_OWN_HEADING = re.compile(r"Date: [0-9]{4}-[0-9]{2}-[0-9]{2}")
_TOP_BULLET = re.compile(r"(?:[-*+]|[0-9]{1,9}[.)])[ \t]")
_ATX_HEADING = re.compile(r" {0,3}#{1,6}(?:[ \t].*)?", re.DOTALL)
_RULE = re.compile(r" {0,3}(?:-(?:[ \t]*-){2,}|\*(?:[ \t]*\*){2,}|_(?:[ \t]*_){2,})[ \t]*")
_FENCE = re.compile(r"[ \t]*(?:(?:[-*+]|[0-9]{1,9}[.)])[ \t]+)*(?P<fence>`{3,}(?=[^`]*\Z)|~{3,})", re.DOTALL)


@dataclass(frozen=True, slots=True)
class _Section:
    """Lines under one date heading: [`heading`, `end`) up to the next heading or rule."""

    day: date | None
    heading: int
    end: int


@dataclass(frozen=True, slots=True)
class _Block:
    """Lines [`start`, `end`) that belong together, so that nothing is inserted between them.

    `hidden` lines are quotations (code, comments, front matter): no heading or observation is read there.
    """

    start: int
    end: int
    hidden: bool


@dataclass(frozen=True, slots=True)
class Document:
    """observations.md: all its bytes, and what was understood of them.

    `problems` are (line from 1, what) for metadata that could not be read; the rest of such a line counts.
    `ids` also holds the ids of lines in quoted blocks, which are no observations.
    """

    bom: str
    lines: tuple[str, ...]
    """Each with its own newline; bytes that are not UTF-8 are kept as surrogate escapes."""
    observations: tuple[Entry, ...]
    problems: tuple[tuple[int, str], ...]
    ids: frozenset[str]
    sections: tuple[_Section, ...]
    blocks: tuple[_Block, ...]

    def render(self) -> bytes:
        """The file's bytes; `parse(raw).render() == raw` for any bytes."""
        return "".join((self.bom, *self.lines)).encode("utf-8", "surrogateescape")

    def with_observations(self, block: Sequence[Observation]) -> Document:
        """The document with the observations added, each under its local date, in time order.

        Those whose id the document has already are left out, so adding a block twice adds it once.
        Nothing that is there changes. An empty document gets the usual head first.

        Raises MemoryWriteError when the file is UTF-16, ValueError as `format_observation` does.
        """
        if _is_utf16(self.lines):
            raise MemoryWriteError("observations.md is saved as UTF-16; save it as UTF-8 in your editor and run again")
        fresh: dict[str, Observation] = {}
        for observation in block:
            if observation.id not in self.ids:
                fresh.setdefault(observation.id, observation)
        in_order = sorted(fresh.values(), key=lambda o: (o.at.date(), o.at))
        document = self
        if in_order and not "".join(self.lines).strip():
            document = document._inserted(len(self.lines), HEAD)
        for day, group in groupby(in_order, key=lambda o: o.at.date()):
            document = document._with_lines(day, [format_observation(o) for o in group])
        return document

    def with_line(self, day: date, line: str) -> Document:
        """The document with an observation line, as it is, added under a day."""
        return self._with_lines(day, [line.strip()])

    def with_field(self, numbers: Collection[int], name: str, value: str | None) -> Document:
        """The document with `dc:<name>=<value>` set on these lines (from 1), or taken away; nothing else changes.

        Raises ValueError when name or value could not stand in a metadata comment.
        """
        lines = [set_field(line, name, value) if n in numbers else line for n, line in enumerate(self.lines, 1)]
        return _parsed(self.bom, lines)

    def supersede(self, id: str, by: str) -> Document:
        """The document with `dc:superseded=<by>` set on the line with that id, and nothing else changed.

        Copies of the line (a merge conflict) are all marked; without such a line the document is the same.
        Raises ValueError when `by` is no id.
        """
        checked_id(by)
        numbers = {entry.line - 1 for entry in self.observations if entry.id == id}
        if not numbers:
            return self
        lines = [mark_superseded(line, id, by) if n in numbers else line for n, line in enumerate(self.lines)]
        return _parsed(self.bom, lines)

    def lines_with_text_below(self) -> frozenset[int]:
        """The numbers of observation lines that something hangs on: nested lines, or a person's text right below."""
        held: set[int] = set()
        entries = {entry.line: entry for entry in self.observations}
        headings = {section.heading for section in self.sections}
        for number, entry in entries.items():
            below = self.lines[number] if number < len(self.lines) else ""
            following = entries.get(number + 1)
            if following is not None:
                is_held = following.level > entry.level
            else:
                is_own = number in headings or _ATX_HEADING.fullmatch(_body(below)) or _RULE.fullmatch(_body(below))
                is_held = bool(below.strip()) and not is_own and not (_TOP_BULLET.match(below) and entry.level == 0)
            if is_held:
                held.add(number)
        return frozenset(held)

    def edited(self, removed: Collection[int], replaced: Mapping[int, str]) -> Document:
        """The document without the `removed` lines and with others `replaced`, by line number from 1.

        A replaced line keeps its indent and newline. When the last line under one of our own `Date:` headings goes,
        the heading and the rule above it go too.
        """
        gone = {*removed, *self._left_empty(removed)}
        lines: list[str] = []
        for number, line in enumerate(self.lines, 1):
            if number in replaced:
                body = _body(line)
                indent = body[: len(body) - len(body.lstrip(" \t"))]
                lines.append(f"{indent}{replaced[number].lstrip()}{line[len(body) :]}")
            elif number not in gone:
                lines.append(line)
        return _parsed(self.bom, lines)

    def _left_empty(self, removed: Collection[int]) -> set[int]:
        """The lines of headings, with the rules above and the blank lines below, that lose all they stand for."""
        gone: set[int] = set()
        for section in self.sections:
            inside = [n for n in range(section.heading + 1, section.end) if self.lines[n].strip()]
            if not inside or section.day is None or not _OWN_HEADING.fullmatch(_body(self.lines[section.heading])):
                continue
            if any(n + 1 not in removed for n in inside):
                continue
            start = section.heading
            is_below_a_rule = start > 0 and _body(self.lines[start - 1]) == "---"
            if is_below_a_rule and not any(block.start < start <= block.end for block in self.blocks):
                start -= 1
            gone.update(range(start + 1, section.end + 1))
        return gone

    def _with_lines(self, day: date, added: Sequence[str]) -> Document:
        position = self._end_of_section(day)
        if position is not None:
            return self._inserted(position, added)
        position = self._place_for_section(day)
        before = self.lines[position - 1 : position]
        after = self.lines[position : position + 1]
        above = [""] if before and before[0].strip() else []  # "text" right above "---" would become a title
        below = [""] if after and after[0].strip() else []
        return self._inserted(position, [*above, "---", f"Date: {day.isoformat()}", *added, *below])

    def _end_of_section(self, day: date) -> int | None:
        """Where a line can be added to the last section of `day`, which is after its last observation."""
        for section in reversed(self.sections):
            if section.day != day:
                continue
            numbers = [e.line for e in self.observations if section.heading < e.line - 1 < section.end]
            position = max(numbers, default=section.heading + 1)
            if numbers:
                while position < section.end and _is_indented(self.lines[position]):
                    position += 1
            while block := self._block_around(position):
                position = block.end
            if position <= section.end:
                return position
        return None

    def _place_for_section(self, day: date) -> int:
        """Before the first section of a later day (and the rule above its heading), else the end."""
        later = next((s for s in self.sections if s.day is not None and s.day > day), None)
        if later is not None:
            above = later.heading - 1
            while above >= 0 and not self.lines[above].strip():
                above -= 1
            start = above if above >= 0 and _RULE.fullmatch(_body(self.lines[above])) else later.heading
            for position in (start, later.heading):
                if self._block_around(position) is None:
                    return position
        return len(self.lines)

    def _block_around(self, position: int) -> _Block | None:
        return next((b for b in self.blocks if b.start < position < b.end), None)

    def _inserted(self, position: int, added: Sequence[str]) -> Document:
        crlf = sum(line.endswith("\r\n") for line in self.lines)
        newline = "\r\n" if crlf * 2 > len(self.lines) else "\n"
        before = list(self.lines[:position])
        if before and not before[-1].endswith("\n"):
            before[-1] += newline
        return _parsed(self.bom, [*before, *(line + newline for line in added), *self.lines[position:]])


def parse(raw: bytes) -> Document:
    """Read the bytes of observations.md. Never raises: what is not understood is kept as it is."""
    text = raw.decode("utf-8", "surrogateescape")
    bom = _BOM if text.startswith(_BOM) else ""
    lines = [line + "\n" for line in text[len(bom) :].split("\n")]
    lines[-1] = lines[-1][:-1]
    return _parsed(bom, lines if lines[-1] else lines[:-1])


def _parsed(bom: str, lines: Sequence[str]) -> Document:
    bodies = [_body(line) for line in lines]
    problems: list[tuple[int, str]] = []
    if _is_utf16(lines):
        problems.append((1, "the file is saved as UTF-16, not UTF-8"))
    blocks = _find_blocks(bodies, problems)
    hidden = {n for block in blocks if block.hidden for n in range(block.start, block.end)}
    sections = _find_sections(bodies, hidden, problems)
    days = {section.heading: section.day for section in sections}
    entries: list[Entry] = []
    seen: set[str] = set()
    heading: date | None = None
    indents: list[int] = []
    for n, body in enumerate(bodies):
        if n in hidden:
            seen.update(ids_on(body))
            continue
        if n in days:
            heading, indents = days[n], []
            continue
        bullet = match_observation(body)
        if bullet is None:
            continue
        width = len(bullet["indent"].expandtabs(4))
        while indents and width <= indents[-1]:
            indents.pop()
        entry, found = read_observation(bullet, line=n + 1, level=len(indents), heading=heading)
        indents.append(width)
        if entry.id is not None and entry.id in seen:
            found.append(f"the id {entry.id} stands on another line too")
        seen.update(ids_on(body))
        entries.append(entry)
        problems.extend((n + 1, what) for what in found)
    return Document(
        bom, tuple(lines), tuple(entries), tuple(sorted(problems)), frozenset(seen), tuple(sections), tuple(blocks)
    )


def _find_sections(bodies: Sequence[str], hidden: set[int], problems: list[tuple[int, str]]) -> list[_Section]:
    sections: list[_Section] = []
    current: tuple[date | None, int] | None = None
    for n, body in enumerate(bodies):
        if n in hidden:
            continue
        date_heading = _match_date_heading(body)
        if date_heading is None and not _ATX_HEADING.fullmatch(body) and not _RULE.fullmatch(body):
            continue
        if current is not None:
            sections.append(_Section(*current, n))
        current = None
        if date_heading is not None:
            day = read_day(date_heading["day"])
            current = (day, n)
            if day is None:
                problems.append((n + 1, f"{date_heading['day']} is no date"))
    if current is not None:
        sections.append(_Section(*current, len(bodies)))
    return sections


def _match_date_heading(body: str) -> re.Match[str] | None:
    match = _DATE_HEADING.fullmatch(body)
    return match if match is not None and (match["label"] or body.lstrip().startswith("#")) else None


def is_date_heading(line: str) -> bool:
    """Whether a line, with or without its newline, begins a section of a date."""
    return _match_date_heading(_body(line)) is not None


def _find_blocks(bodies: Sequence[str], problems: list[tuple[int, str]]) -> list[_Block]:
    """Front matter, fenced code, comments over several lines and merge conflicts, each only if it is closed."""
    blocks: list[_Block] = []
    unclosed: dict[str, int] = {}  # by character: fences of this length or longer have no end further down
    conflict_end = 0
    n = 0
    while n < len(bodies):
        body, end = bodies[n], None
        fence = _FENCE.match(body)
        if n == 0 and body == "---":
            end = _front_matter_end(bodies)
        elif fence is not None:
            character, length = fence["fence"][0], len(fence["fence"])
            if length < unclosed.get(character, length + 1):
                end = _fence_end(bodies, n, character, length)
                if end is None:
                    unclosed[character] = length
                    problems.append((n + 1, "the code block is not closed, so it is read as ordinary text"))
        elif body.lstrip(" \t").startswith("<!--") and "-->" not in body:
            end = _comment_end(bodies, n)
        elif body.startswith("<<<<<<< ") and n >= conflict_end:
            closes = (m for m in range(n + 1, len(bodies)) if bodies[m].startswith(">>>>>>> "))
            conflict_end = next(closes, len(bodies)) + 1
            if conflict_end <= len(bodies):
                blocks.append(_Block(n, conflict_end, hidden=False))
        if end is not None:
            blocks.append(_Block(n, end, hidden=True))
        n = end or n + 1
    return blocks


def _front_matter_end(bodies: Sequence[str]) -> int | None:
    """The line after YAML front matter. A section of observations at the very top looks alike, but holds some."""
    for n, body in enumerate(bodies[1:], 1):
        if match_observation(body):
            return None
        if body in ("---", "..."):
            return n + 1
    return None


def _fence_end(bodies: Sequence[str], start: int, character: str, length: int) -> int | None:
    for n in range(start + 1, len(bodies)):
        mark = bodies[n].strip()
        if len(mark) >= length and not mark.strip(character):
            return n + 1
    return None


def _comment_end(bodies: Sequence[str], start: int) -> int | None:
    """A comment that another one opens in was left open by mistake: the lines below it still count."""
    for n in range(start + 1, len(bodies)):
        if "<!--" in bodies[n]:
            return None
        if "-->" in bodies[n]:
            return n + 1
    return None


def _is_utf16(lines: Sequence[str]) -> bool:
    return bool(lines) and lines[0].startswith(_UTF16_BOMS)


def _body(line: str) -> str:
    return line.removesuffix("\n").removesuffix("\r")


def _is_indented(line: str) -> bool:
    return line[:1] in (" ", "\t") and bool(line.strip())
