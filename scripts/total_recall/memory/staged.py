"""A proposal in dream-staging/ as text: writing it, reading it leniently, changing it. Pure.

schemas/dream-staging-format.md describes the format; files of the bash original are read as they are.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Final, get_args

from total_recall.memory.line import one_line, read_day
from total_recall.records import ObservationType

TARGETS: Final = ("AGENTS.md", "MEMORY.md", "USER.md", "TOOLS.md", "favorites.md")
LEVELS: Final = ("low", "medium", "high")
UNKNOWN: Final = "unknown"

_FIELD = re.compile(r"\*\*(?P<name>[A-Z][A-Za-z ]*)\*\*:[ \t]*(?P<value>.*)")
_FENCE = re.compile(r"[ ]{0,3}(?P<mark>`{3,}|~{3,})[^`]*")
_EVIDENCE = re.compile(r"[-*] (?P<day>[0-9]{4}-[0-9]{2}-[0-9]{2}) (?P<id>[^\s:]+)(?:: (?P<text>.*))?")
_DAY = re.compile(r"\b[0-9]{4}-[0-9]{2}-[0-9]{2}\b")
_PROPOSED = "## Proposed addition"
_EVIDENCE_PART = "## Evidence"
_REVIEW = "## Human review required — respond: APPROVE / REJECT / MODIFY"
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")
_UNPRINTABLE = re.compile("[\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\U000e0000-\U000e007f]")


@dataclass(frozen=True, slots=True)
class Evidence:
    """An observation that supports a proposal: its id, its day, and what it said."""

    id: str
    day: date
    text: str = ""


@dataclass(frozen=True, slots=True)
class Staged:
    """A proposal, read or to be written. `type`, `target` and `confidence` are as written, `unknown` where missing.

    `text` is what would be added to the target, without a last line end. `ids` are the supporting observations;
    `days` counts the separate days of the evidence.
    """

    type: str
    target: str
    confidence: str
    summary: str
    text: str
    evidence: tuple[Evidence, ...] = ()
    generated: str = UNKNOWN
    ids: frozenset[str] = frozenset()
    days: int = 0


def new(
    type: ObservationType, target: str, confidence: str, summary: str, text: str, evidence: Sequence[Evidence]
) -> Staged:
    """A proposal that is to be written; its text is made harmless as `harmless` says."""
    ordered = tuple(sorted(evidence, key=lambda one: (one.day, one.id)))
    ids, days = frozenset(one.id for one in ordered), {one.day for one in ordered}
    return Staged(type, target, confidence, one_line(summary), harmless(text), ordered, UNKNOWN, ids, len(days))


def harmless(text: str) -> str:
    """The text as it may stand in a file that an agent obeys.

    Invisible and control characters go, and so does what would open or close a comment: a block that was added must
    end where its mark says. Lines end at `\\n`; blank lines around the text go.
    """
    seen = _CONTROL.sub("", _UNPRINTABLE.sub("", text.replace("\r\n", "\n").replace("\r", "\n")))
    plain = seen.encode("utf-8", "replace").decode()
    while "<!--" in plain or "-->" in plain:
        plain = plain.replace("<!--", "<! --").replace("-->", "-- >")
    return plain.strip("\n").rstrip()


def render(staged: Staged, at: datetime) -> str:
    """The file of a new proposal. `at` is aware."""
    fence = _fence_for(staged.text)
    said = [f"- {e.day} {one_line(e.id)}{f': {one_line(e.text)}' if e.text else ''}" for e in staged.evidence]
    return "\n".join(
        (
            "# Pattern Promotion Proposal",
            f"**Generated**: {at.isoformat(timespec='seconds')}",
            f"**Type**: {staged.type}",
            f"**Target file**: {staged.target}",
            f"**Confidence**: {staged.confidence}",
            f"**Supporting observations**: {', '.join(one_line(e.id) for e in staged.evidence) or 'N/A'}",
            f"**Pattern summary**: {one_line(staged.summary)}",
            "",
            f"{_PROPOSED} to {staged.target}",
            fence,
            staged.text,
            fence,
            "",
            _EVIDENCE_PART,
            *said,
            "",
            _REVIEW,
            "",
        )
    )


def read(content: bytes) -> Staged:
    """What a file says, as far as it can be understood."""
    lines = content.decode("utf-8-sig", "replace").replace("\r\n", "\n").split("\n")
    head = {m["name"]: m["value"].strip() for m in map(_FIELD.fullmatch, reversed(_before_parts(lines))) if m}
    start, end = _block(lines)
    part = _part(lines, _EVIDENCE_PART)
    evidence = tuple(found for found in map(_read_evidence, part) if found is not None)
    named = head.get("Supporting observations", "")
    ids = frozenset(re.split(r"[,\s]+", named)) - {"", "N/A"} | {one.id for one in evidence}
    days = {day for line in part for text in _DAY.findall(line) if (day := read_day(text)) is not None}
    return Staged(
        type=head.get("Type", UNKNOWN),
        target=head.get("Target file", UNKNOWN),
        confidence=head.get("Confidence", UNKNOWN),
        summary=head.get("Pattern summary", ""),
        text="\n".join(lines[start:end]).strip("\n"),
        evidence=evidence,
        generated=head.get("Generated", UNKNOWN),
        ids=frozenset(ids),
        days=len(days),
    )


def problem(staged: Staged) -> str | None:
    """Why a proposal cannot be applied as it stands, in words; None when it can."""
    if staged.target not in TARGETS:
        return f"its target file is {staged.target!r}, which is none of {', '.join(TARGETS)}"
    if staged.type not in get_args(ObservationType) or staged.type == "context":
        return f"its type is {staged.type!r}, which is never promoted"
    if not harmless(staged.text).strip():
        return "it has no text to add (the code block under “Proposed addition”)"
    return None


def changed(content: bytes, text: str | None, target: str | None) -> bytes:
    """The file with another text or target file, and every other line as it was."""
    decoded = content.decode("utf-8", "surrogateescape")
    end_of_line = "\r\n" if "\r\n" in decoded else "\n"
    lines = decoded.replace("\r\n", "\n").split("\n")
    if text is not None:
        start, end = _block(lines)
        fence = _fence_for(text)
        block = [fence, *harmless(text).split("\n"), fence]
        if start:
            lines[start - 1 : end + 1] = block
        else:
            lines = [*lines, "", f"{_PROPOSED} to {read(content).target}", *block, ""]
    if target is not None:
        field = "**Target file**: "
        place = next((n for n, line in enumerate(_before_parts(lines)) if line.startswith(field.rstrip())), None)
        lines[slice(1, 1) if place is None else slice(place, place + 1)] = [field + target]
        lines = [f"{_PROPOSED} to {target}" if line.startswith(_PROPOSED) else line for line in lines]
    return end_of_line.join(lines).encode("utf-8", "surrogateescape")


def _before_parts(lines: Sequence[str]) -> Sequence[str]:
    """The fields at the top, up to the first part."""
    end = next((n for n, line in enumerate(lines) if line.startswith("## ")), len(lines))
    return lines[:end]


def _part(lines: Sequence[str], title: str) -> Sequence[str]:
    """The lines of a part, which ends at the next one; those of code blocks do not begin one."""
    _, block_end = _block(lines)
    start = next((n for n in range(block_end, len(lines)) if lines[n].startswith(title)), None)
    if start is None:
        return ()
    end = next((n for n in range(start + 1, len(lines)) if lines[n].startswith("## ")), len(lines))
    return lines[start + 1 : end]


def _block(lines: Sequence[str]) -> tuple[int, int]:
    """The lines [start, end) within the fence under the proposed addition; (0, 0) when there is none."""
    part = next((n for n, line in enumerate(lines) if line.startswith(_PROPOSED)), None)
    if part is None:
        return 0, 0
    for n in range(part + 1, len(lines)):
        fence = _FENCE.fullmatch(lines[n])
        if fence is not None:
            mark = fence["mark"]
            closing = (m for m in range(n + 1, len(lines)) if _closes(lines[m], mark))
            end = next(closing, None)
            return (n + 1, end) if end is not None else (0, 0)
        if lines[n].startswith("## "):
            break
    return 0, 0


def _closes(line: str, mark: str) -> bool:
    bare = line.strip()
    return len(bare) >= len(mark) and not bare.strip(mark[0])


def _fence_for(text: str) -> str:
    longest = max((len(run) for run in re.findall("`{3,}", text)), default=2)
    return "`" * (longest + 1)


def _read_evidence(line: str) -> Evidence | None:
    match = _EVIDENCE.fullmatch(line.strip())
    day = read_day(match["day"]) if match else None
    return Evidence(match["id"], day, match["text"] or "") if match and day else None
