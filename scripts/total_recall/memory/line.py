"""One observation line: writing it so that nothing in its text can break it, and reading it leniently.

schemas/observation-format.md describes the format.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, time, tzinfo
from typing import TypeVar, get_args

from total_recall.harmless import inert
from total_recall.records import Certainty, Observation, ObservationType, Priority
from total_recall.retention import is_set

MARKS: Mapping[Priority, str] = {"high": "🔴", "medium": "🟡", "low": "🟢"}
UNTAGGED_IMPORTANCE = 5.0
EMPTY_TEXT = "(no text)"

_PRIORITIES = {mark: priority for priority, mark in MARKS.items()}
_TYPES: Mapping[str, ObservationType] = {
    **{name: name for name in get_args(ObservationType)},
    "decision": "preference",
}
_CERTAINTIES: Mapping[str, Certainty] = {name: name for name in get_args(Certainty)}

_BULLET = re.compile(
    r"(?P<indent>[ \t]*)[-*+][ \t]+"
    r"(?:(?P<mark>[🔴🟡🟢🔵🟠🟣⚪⚫])\ufe0f?[ \t]*)?"
    r"(?:(?P<time>(?:[01]?[0-9]|2[0-3]):[0-5][0-9])(?![0-9:])[ \t]*)?"
    r"(?P<rest>.*)",
    re.DOTALL,
)
_METADATA = re.compile(r"<!--\s*(?P<fields>dc:.*?)(?P<end>-->|\Z)", re.DOTALL)
_FIELD = re.compile(r"dc:(?P<name>[A-Za-z0-9_.-]+)=(?P<value>\S*)")
_SUPERSEDED = re.compile(r"(?<!\S)dc:superseded=\S*")
_ID = re.compile(r"[A-Za-z0-9_]+(?:-[A-Za-z0-9_]+)*")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_NUMBER = re.compile(r"[0-9]{1,4}(?:\.[0-9]{1,12})?")

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Entry:
    """An observation line as it stands in the file, read leniently.

    `line` counts from 1; `level` is 0 for a line of its own and 1, 2, … for nested ones. `heading` is
    the date of the section. `recorded` is the day that decay counts from and `refers` the day that
    the line is about: in a file of the bash original (no `dc:id`), a `dc:date` after the heading is
    the latter. Without metadata `type`, `confidence` and `certainty` are None and `importance` is 5.0.
    `importance` is 0-10, `confidence` 0-1. `metadata` holds every `dc:` field as written, without `dc:`.
    """

    line: int
    level: int
    heading: date | None
    time: time | None
    text: str
    priority: Priority
    type: ObservationType | None
    importance: float
    confidence: float | None
    certainty: Certainty | None
    id: str | None
    recorded: date | None
    refers: date | None
    superseded_by: str | None
    metadata: Mapping[str, str] = field(hash=False)

    def at(self, zone: tzinfo) -> datetime | None:
        """When it was said: HH:MM (else midnight) of the heading's day, else of the day recorded."""
        day = self.heading or self.recorded
        return datetime.combine(day, self.time or time.min, zone) if day else None


def format_observation(observation: Observation) -> str:
    """The observation's line, without indent and newline; `parse` reads the same values back.

    Raises ValueError when the id is not made of letters, digits and single hyphens, or a number is out of range.
    """
    if not 0 <= observation.importance <= 10:
        raise ValueError(f"importance {observation.importance} is not within 0-10")
    if not 0 <= observation.confidence <= 1:
        raise ValueError(f"confidence {observation.confidence} is not within 0-1")
    fields = {
        "id": checked_id(observation.id),
        "type": observation.type,
        "importance": f"{observation.importance:.1f}",
        "confidence": f"{observation.confidence:.2f}",
        "source": observation.certainty,
        "date": observation.at.date().isoformat(),
        "refers": observation.refers.isoformat() if observation.refers else None,
        "superseded": checked_id(observation.superseded_by) if observation.superseded_by else None,
    }
    metadata = " ".join(f"dc:{name}={value}" for name, value in fields.items() if value is not None)
    clock_time = f"{observation.at.hour:02}:{observation.at.minute:02}"
    return f"- {MARKS[observation.priority]} {clock_time} {one_line(observation.text)} <!-- {metadata} -->"


def one_line(text: str) -> str:
    """The text as it may stand in an observation line: `harmless.inert`, and never empty."""
    return inert(text) or EMPTY_TEXT


def match_observation(body: str) -> re.Match[str] | None:
    """The parts of an observation line (without its newline): a bullet with a priority mark or `dc:` fields."""
    bullet = _BULLET.fullmatch(body)
    if bullet is None or not (bullet["mark"] in _PRIORITIES or _METADATA.search(bullet["rest"])):
        return None
    return bullet


def read_observation(
    bullet: re.Match[str], *, line: int, level: int, heading: date | None
) -> tuple[Entry, list[str]]:
    """What `match_observation` found, and what could not be read in its metadata."""
    metadata, problems = _read_metadata(bullet["rest"])

    def value_of(name: str, read: Callable[[str], _T | None]) -> _T | None:
        value = metadata.get(name)
        if value is None:
            return None
        result = read(value)
        if result is None:
            problems.append(f"dc:{name}={_shown(value)} cannot be read")
        return result

    importance = value_of("importance", lambda value: _number(value, 10))
    if importance is None:
        importance = UNTAGGED_IMPORTANCE
    id = value_of("id", lambda value: value if _ID.fullmatch(value) else None)
    recorded, refers = value_of("date", read_day), value_of("refers", read_day)
    if id is None and recorded and heading and recorded > heading:
        recorded, refers = heading, refers or recorded
    text = " ".join(_METADATA.sub(" ", bullet["rest"]).split())
    if bullet["mark"] and bullet["mark"] not in _PRIORITIES:
        text = f"{bullet['mark']} {text}"
    entry = Entry(
        line=line,
        level=level,
        heading=heading,
        time=time.fromisoformat(bullet["time"].zfill(5)) if bullet["time"] else None,
        text=text.encode("utf-8", "surrogateescape").decode("utf-8", "replace"),
        priority=_PRIORITIES.get(bullet["mark"]) or priority_of(importance),
        type=value_of("type", _TYPES.get),
        importance=importance,
        confidence=value_of("confidence", lambda value: _number(value, 1)),
        certainty=value_of("source", _CERTAINTIES.get),
        id=id,
        recorded=recorded or heading,
        refers=refers,
        superseded_by=value_of("superseded", lambda value: value if _ID.fullmatch(value) else None),
        metadata=metadata,
    )
    return entry, problems


PINNED = "pinned"
"""`dc:pinned=1`: the line is never archived, merged or dropped."""


def is_pinned(entry: Entry) -> bool:
    """Whether a person wants to keep the line for good."""
    return is_set(entry.metadata, PINNED)


def priority_of(importance: float) -> Priority:
    """The priority that an importance of 0-10 stands for: high from 6, medium from 3, else low."""
    return "high" if importance >= 6 else "medium" if importance >= 3 else "low"


def _read_metadata(rest: str) -> tuple[dict[str, str], list[str]]:
    """The `dc:` fields of a line, and what was wrong with them. The last comment and its first value win."""
    metadata: dict[str, str] = {}
    problems: list[str] = []
    for comment in reversed(list(_METADATA.finditer(rest))):
        if not comment["end"]:
            problems.append("the metadata comment is not closed")
        for word in comment["fields"].split():
            found = _FIELD.fullmatch(word)
            if found is None:
                problems.append(f"{_shown(word)} is no metadata field")
            elif found["name"] in metadata:
                problems.append(f"dc:{found['name']} is given twice")
            else:
                metadata[found["name"]] = found["value"]
    return metadata, problems


def mark_superseded(line: str, id: str, by: str) -> str:
    """The line with `dc:superseded=<by>` in the comment that holds the id; the line itself when none does."""
    for comment in _METADATA.finditer(line):
        fields = comment["fields"].rstrip()
        if id in _ids_in(fields):
            mark = f"dc:superseded={by}"
            marked, count = _SUPERSEDED.subn(mark, fields)
            start = comment.start("fields")
            return line[:start] + (marked if count else f"{fields} {mark}") + line[start + len(fields) :]
    return line


def set_field(line: str, name: str, value: str | None) -> str:
    """The line with `dc:<name>=<value>` in its comment that counts, or without that field; made where there is none.

    Raises ValueError when name or value could not stand in a metadata comment.
    """
    if not _FIELD.fullmatch(f"dc:{name}={value or 0}") or "--" in f"{value}":
        raise ValueError(f"dc:{name}={value} is no metadata field")
    there = re.compile(rf"[ \t]*(?<!\S)dc:{re.escape(name)}=\S*")
    mark = f"dc:{name}={value}"
    comments = [comment for comment in _METADATA.finditer(line) if comment["end"]]
    if not comments:
        body = line.rstrip("\r\n")
        end = line[len(body) :]
        return line if value is None else f"{body.rstrip()} <!-- {mark} -->{end}"
    comment = comments[-1]
    fields = comment["fields"].rstrip()
    rest = there.sub("", fields).strip()
    new = rest if value is None else f"{rest} {mark}".strip()
    if new:
        start = comment.start("fields")
        return line[:start] + new + line[start + len(fields) :]
    # A comment that held nothing else was made for this field.
    return line[: comment.start()].rstrip(" ") + line[comment.end() :]


def ids_on(body: str) -> set[str]:
    """The ids in a line's metadata, whatever else the line is."""
    return {id for comment in _METADATA.finditer(body) for id in _ids_in(comment["fields"])}


def _ids_in(fields: str) -> set[str]:
    return {f["value"] for f in map(_FIELD.fullmatch, fields.split()) if f and f["name"] == "id"}


def checked_id(id: str) -> str:
    """The id; raises ValueError when it could not stand in a metadata comment."""
    if not _ID.fullmatch(id):
        raise ValueError(f"{id!r} is no observation id")
    return id


def _number(value: str, most: float) -> float | None:
    number = float(value) if _NUMBER.fullmatch(value) else None
    return number if number is not None and number <= most else None


def read_day(value: str) -> date | None:
    """The day that YYYY-MM-DD names, None when there is none."""
    if not _DAY.fullmatch(value):
        return None
    try:
        return date.fromisoformat(value)
    except ValueError:  # 2026-02-30
        return None


def _shown(value: str) -> str:
    return value if len(value) <= 40 else value[:40] + "…"
