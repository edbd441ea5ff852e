"""What a model wrote, read line by line: only what parses as an observation counts (design section 8)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

from total_recall.records import Certainty, ObservationType, Priority

REPLY_CHARACTERS = 200_000
"""More than any answer that fits its limit; the rest of a run-away reply is not looked at."""
REPEATED_SHARE = 0.5
"""A reply of which more than this share are copies of earlier lines has run in circles."""

LINE_CHARACTERS = 4_000
"""A longer line is no observation; nobody wrote it on purpose."""


@dataclass(frozen=True, slots=True)
class Proposed:
    """One line of a reply. What the model left out is None; `day` is its `dc:date`, `refers` its `dc:refers`."""

    text: str
    priority: Priority | None = None
    time: str | None = None
    type: ObservationType | None = None
    importance: float | None = None
    confidence: float | None = None
    certainty: Certainty | None = None
    day: date | None = None
    refers: date | None = None
    supersedes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReadReply:
    """A reply: its observations, whether it says that there is nothing, whether it was cut off, and what was odd."""

    observations: tuple[Proposed, ...]
    nothing_notable: bool
    cut: bool
    problems: tuple[str, ...]


_THOUGHT_NAMES = "think|thinking|thought|thoughts|reasoning|analysis|scratchpad"
_TAG = rf"[<\[◁]\s*{{}}(?:{_THOUGHT_NAMES})\b[^<>\[\]◁▷]{{{{0,40}}}}[>\]▷]"
"""`<think>`, Mistral's `[THINK]`, Kimi's `◁think▷`."""
_THOUGHT_START = re.compile(_TAG.format(""), re.I)
_THOUGHT_END = re.compile(_TAG.format(r"/\s*"), re.I)
_CHANNEL = re.compile(r"<\|channel\|>\s*(\w+)[^<]*<\|message\|>|<\|(?:start|end|return)\|>")
"""gpt-oss, when the server does not take its channels apart: `<|channel|>final<|message|>…`."""
_LINE_END = re.compile(r"\r\n|\r|\n|<br ?/?>")
_FENCE = re.compile(r"^\s*(?:```|~~~)")
_JSON_FENCE = re.compile(r"```(?:json)?\s*\n(.*?)```", re.S | re.I)
_DATE_LINE = re.compile(r"^\W*Date:?\W*\d{4}-\d\d-\d\d\W*$", re.I)
_NOTHING = re.compile(
    r"\W*(?:nothing[ _-]+(?:is |was )?(?:notable|noteworthy|new|worth|to (?:note|record|observe|add|remember))\b.{0,80}"
    r"|no[ _-]+(?:new[ _-]+|notable[ _-]+|relevant[ _-]+)*(?:observations?|facts|information)\b.{0,80}|none|n/?a|empty"
    r"|\[\s*\]|\{\s*\}|(?:특이|새로운|기록할)\s?(?:사항|내용|만한 것)[은이]? ?없.{0,10}|없음|特になし|无|没有)\W*",
    re.I | re.S,
)
_BULLET = r"\s*(?:>\s*)?(?:[-*+•‣–—·]|\d{1,3}[.)])?\s*"
_MARK = r"(?P<mark>🔴|🟡|🟢|🟠|⚪|\[(?:high|medium|med|low)\]|(?:high|medium|low)\b\s*[:\-–])"
_LINE = re.compile(
    rf"^{_BULLET}(?:\*\*|__)?(?:{_MARK}\ufe0f?\s*)?(?:\*\*|__)?\s*[(\[]?(?P<time>[0-2]?\d:[0-5]\d)?(?::[0-5]\d)?[)\]]?"
    r"(?:\*\*|__)?\s*[-–—:]?\s*(?P<text>.*)$",
    re.I,
)
_METADATA = re.compile(r"\s*(?:<!--|[(\[{]?\s*\bdc:[a-z_]+\s*[=:])", re.I)
_HAS_BULLET = re.compile(r"^\s*(?:>\s*)?(?:[-*+•‣–—·]|\d{1,3}[.)])\s")
_FIELD = re.compile(r"\bdc:([a-z_]+)\s*[=:]\s*[\"'\[(]*([^\s\"'<>\])]+)", re.I)
_PLACEHOLDER = re.compile(r"dc:type=TYPE|^HH:MM\b")
"""The line that the prompt shows as an example, given back."""
_PRIORITY: dict[str, Priority] = {
    "🔴": "high", "🟠": "medium", "🟡": "medium", "🟢": "low", "⚪": "low", "high": "high", "medium": "medium", "med": "medium", "low": "low",
}  # fmt: skip
_TYPES: dict[str, ObservationType] = {
    "event": "event", "context": "context", "fact": "fact", "preference": "preference", "decision": "preference",
    "goal": "goal", "habit": "habit", "rule": "rule",
}  # fmt: skip
_CERTAINTIES: dict[str, Certainty] = {
    "explicit": "explicit", "implicit": "implicit", "inference": "inference", "weak": "weak", "uncertain": "uncertain",
}  # fmt: skip


def read_reply(text: str, thoughts: str = "", *, cut: bool = False) -> ReadReply:
    """The observations in a reply.

    `thoughts` is what came in a field of its own. It counts only where the text is empty and it is nothing but a clean
    list, since some servers put the answer there. `cut` says that the reply ended at its length limit.
    """
    problems: list[str] = []
    spoken = without_thoughts(text[:REPLY_CHARACTERS])
    if not spoken.strip() and thoughts.strip():
        spoken = without_thoughts(thoughts[:REPLY_CHARACTERS])
        if not _is_clean_list(spoken):
            return ReadReply((), False, cut, ("empty answer; its thoughts are no list",))
        problems.append("the answer stood in the reasoning field")
    lines = [line for line in _LINE_END.split(spoken) if not _FENCE.match(line)]
    if cut and lines and not lines[-1].rstrip().endswith("-->"):
        lines = lines[:-1]
    found = [proposed for line in lines if (proposed := read_line(line)) is not None]
    if not found:
        found = list(_from_json(spoken))
    unique = {one.text.casefold(): one for one in reversed(found) if not _NOTHING.fullmatch(one.text)}
    if len(found) > 4 and len(unique) < len(found) * (1 - REPEATED_SHARE):
        problems.append(f"{len(found) - len(unique)} of {len(found)} lines were repetitions")
    nothing = not unique and not cut and (bool(found) or _says_nothing(lines))
    if not unique and not nothing:
        problems.append(
            "its answer ended at the length limit before a line was whole" if cut else "no line that is an observation"
        )
    return ReadReply(tuple(reversed(unique.values())), nothing, cut, tuple(problems))


def _says_nothing(lines: list[str]) -> bool:
    said = " ".join(" ".join(lines).split())
    return bool(_NOTHING.fullmatch(said)) or _is_empty_json(said)


def _is_empty_json(said: str) -> bool:
    try:
        value = json.loads(said)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and all(inner == [] for inner in value.values())


def without_thoughts(text: str) -> str:
    """What a reply says aloud.

    Of nested thoughts all goes; behind one that is never closed nothing counts, before one that was never opened
    neither.
    """
    channels = list(_CHANNEL.finditer(text))
    if channels:
        final = next((c for c in reversed(channels) if (c[1] or "").lower() == "final"), None)
        following = next((c.start() for c in channels if final and c.start() > final.start()), len(text))
        text = text[final.end() : following] if final else ""
    aloud: list[str] = []
    depth = at = 0
    tags = sorted((*_THOUGHT_START.finditer(text), *_THOUGHT_END.finditer(text)), key=lambda tag: tag.start())
    for tag in tags:
        if depth == 0:
            aloud.append(text[at : tag.start()])
        if _THOUGHT_END.match(tag[0]):
            if depth == 0:
                aloud.clear()
            depth = max(0, depth - 1)
        else:
            depth += 1
        at = tag.end()
    return "".join(aloud) + (text[at:] if depth == 0 else "")


def read_line(line: str) -> Proposed | None:
    """One observation, or None for prose, headings and thoughts. A line needs a priority, a time or metadata."""
    if len(line) > LINE_CHARACTERS or _DATE_LINE.match(line) or _PLACEHOLDER.search(line):
        return None
    match = _LINE.match(line)
    if match is None:
        return None
    metadata = _METADATA.search(match["text"])
    said = match["text"][: metadata.start()] if metadata else match["text"]
    fields = {
        name.lower(): value for name, value in _FIELD.findall(match["text"][metadata.start() :] if metadata else "")
    }
    text = said.strip().strip("*_").strip()
    is_bullet = bool(_HAS_BULLET.match(line))
    if not text or _PLACEHOLDER.match(text) or not (match["mark"] or (is_bullet and (match["time"] or fields))):
        return None
    return _proposed(text, match["mark"], match["time"], fields)


def _proposed(text: str, mark: str | None, time: str | None, fields: dict[str, str]) -> Proposed:
    importance = _number(fields.get("importance"), 10)
    return Proposed(
        text=text,
        priority=_PRIORITY[mark.strip("[]:-– ").lower()] if mark else None,
        time=time.rjust(5, "0") if time and time.rjust(5, "0") < "24:00" else None,
        type=_TYPES.get(fields.get("type", "").lower()),
        importance=importance,
        confidence=_number(fields.get("confidence"), 1),
        certainty=_CERTAINTIES.get(fields.get("source", "").lower()),
        day=_day(fields.get("date")),
        refers=_day(fields.get("refers")),
        supersedes=tuple(part for part in re.split(r"[,;]", fields.get("supersedes", "")) if part),
    )


def _is_clean_list(text: str) -> bool:
    lines = [line for line in _LINE_END.split(text) if line.strip() and not _FENCE.match(line)]
    return bool(lines) and all(_DATE_LINE.match(line) or read_line(line) is not None for line in lines)


def _from_json(text: str) -> Iterator[Proposed]:
    """Observations of a model that answers in JSON whatever it is asked."""
    fenced = _JSON_FENCE.search(text)
    try:
        value = json.loads(fenced[1] if fenced else text)
    except (ValueError, RecursionError):
        return
    if isinstance(value, dict):
        value = next((v for v in value.values() if isinstance(v, list)), [value])
    for item in value if isinstance(value, list) else []:
        if isinstance(item, str):
            proposed = read_line(item)
            if proposed is not None:
                yield proposed
        elif isinstance(item, dict):
            said = next(
                (item[n] for n in ("text", "observation", "content", "line") if isinstance(item.get(n), str)), ""
            )
            inner = read_line(said)
            if inner is not None:
                yield inner
            elif said.strip():
                fields = {str(k).lower().removeprefix("dc:"): str(v) for k, v in item.items()}
                mark = fields.get("priority", "")
                known = mark if mark.lower() in _PRIORITY else None
                yield _proposed(" ".join(said.split()), known, fields.get("time"), fields)


def _number(value: str | None, most: float) -> float | None:
    try:
        number = float(value or "")
    except ValueError:
        return None
    return min(max(number, 0.0), most) if number == number else None


def _day(value: str | None) -> date | None:
    try:
        return date.fromisoformat(value or "")
    except ValueError:
        return None
