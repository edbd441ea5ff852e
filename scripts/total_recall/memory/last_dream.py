"""What is kept of the last nights in the state: enough to take one back, and to finish one that was cut off."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date, datetime
from typing import Any

from total_recall.state import State

KEPT_NIGHTS = 10

_NIGHTS = "dreams"
_UNFINISHED = "dream unfinished"


@dataclass(frozen=True, slots=True)
class LastDream:
    """One night. `backup` is the file name of the document before it, `before` the SHA-256 of that.

    `after` is the document that it wrote; `archived` and `chunks` are the names of what it put into the archive.
    """

    at: datetime
    day: date
    backup: str
    before: str
    after: bytes
    archived: tuple[str, ...]
    chunks: tuple[str, ...]
    is_undone: bool = False


@dataclass(frozen=True, slots=True)
class Filing:
    """A line that is about to leave: what it is known by in the document, why, and what finds it."""

    day: str
    raw: str
    reason: str
    hooks: tuple[str, ...]
    kind: str


@dataclass(frozen=True, slots=True)
class Bundle:
    """Lines that get one hook line; with a `finding` they are a chunk."""

    topic: str
    outcome: str
    span: str
    members: tuple[Filing, ...]
    finding: str | None = None
    names: tuple[str, ...] = ()
    strength: str = ""


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A night that has begun to write: what it does, from when it is, the document (SHA-256) that it began with.

    `model` is who worded it, `flagged` is for a person, `room_tokens` what hook lines may cost together.
    """

    at: datetime
    day: date
    before: str
    tokens_before: int
    bundles: tuple[Bundle, ...]
    flagged: tuple[str, ...]
    model: str
    room_tokens: int
    notes: tuple[str, ...] = ()


def nights(state: State) -> tuple[LastDream, ...]:
    """The last nights of this memory, oldest first."""
    return tuple(_night(fields) for fields in json.loads(state.meta(_NIGHTS) or "[]"))


def save(state: State, night: LastDream) -> None:
    """Remember a night, or that it is undone; the oldest of too many is forgotten."""
    kept = [other for other in nights(state) if other.at != night.at]
    _write(state, sorted([*kept, night], key=lambda other: other.at)[-KEPT_NIGHTS:])


def undone(state: State, night: LastDream) -> None:
    """Remember that a night was taken back."""
    save(state, replace(night, is_undone=True))


def begin(state: State, night: Unfinished) -> None:
    """Remember what is about to be written."""
    fields = asdict(night) | {"at": night.at.isoformat(), "day": night.day.isoformat()}
    state.set_meta(_UNFINISHED, json.dumps(fields))


def unfinished(state: State) -> Unfinished | None:
    """The night that was cut off while it wrote, None when there is none."""
    fields = json.loads(state.meta(_UNFINISHED) or "null")
    if fields is None:
        return None
    bundles = tuple(
        Bundle(**{**b, "members": tuple(map(_filing, b["members"])), "names": tuple(b["names"])})
        for b in fields["bundles"]
    )
    return Unfinished(
        **fields
        | {
            "at": datetime.fromisoformat(fields["at"]),
            "day": date.fromisoformat(fields["day"]),
            "bundles": bundles,
            "flagged": tuple(fields["flagged"]),
            "notes": tuple(fields["notes"]),
        }
    )


def end(state: State) -> None:
    """Nothing is left to be finished."""
    if state.meta(_UNFINISHED) is not None:
        state.set_meta(_UNFINISHED, "null")


def _filing(fields: dict[str, Any]) -> Filing:
    return Filing(**fields | {"hooks": tuple(fields["hooks"])})


def _write(state: State, kept: Sequence[LastDream]) -> None:
    state.set_meta(
        _NIGHTS,
        json.dumps(
            [
                {
                    "at": night.at.isoformat(),
                    "day": night.day.isoformat(),
                    "backup": night.backup,
                    "before": night.before,
                    "after": night.after.decode("utf-8", "surrogateescape"),
                    "archived": night.archived,
                    "chunks": night.chunks,
                    "undone": night.is_undone,
                }
                for night in kept
            ]
        ),
    )


def _night(fields: dict[str, Any]) -> LastDream:
    return LastDream(
        at=datetime.fromisoformat(fields["at"]),
        day=date.fromisoformat(fields["day"]),
        backup=fields["backup"],
        before=fields["before"],
        after=fields["after"].encode("utf-8", "surrogateescape"),
        archived=tuple(fields["archived"]),
        chunks=tuple(fields["chunks"]),
        is_undone=fields["undone"],
    )
