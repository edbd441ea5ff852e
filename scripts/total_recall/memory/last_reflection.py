"""What is kept of a reflection in the state: enough to take it back, and to know when the next one is due."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime

from total_recall.state import State

GROWTH = 0.1
"""Share of the threshold by which a document that was just reflected must grow before the next reflection."""

_LAST = "reflection"
_LEFT = "reflection left"


@dataclass(frozen=True, slots=True)
class LastReflection:
    """The newest reflection. `backup` is the file name of the document before it, `before` the SHA-256 of that.

    `after` is the document that it wrote, `archived` are the names of what it put into the archive.
    """

    at: datetime
    backup: str
    before: str
    after: bytes
    archived: tuple[str, ...]
    is_undone: bool = False


def load(state: State) -> LastReflection | None:
    """The newest reflection of this memory, None before the first."""
    value = state.meta(_LAST)
    if value is None:
        return None
    fields = json.loads(value)
    return LastReflection(
        at=datetime.fromisoformat(fields["at"]),
        backup=fields["backup"],
        before=fields["before"],
        after=fields["after"].encode("utf-8", "surrogateescape"),
        archived=tuple(fields["archived"]),
        is_undone=fields["undone"],
    )


def save(state: State, last: LastReflection) -> None:
    """Remember a reflection; the one before it can no longer be taken back."""
    fields = {
        "at": last.at.isoformat(),
        "backup": last.backup,
        "before": last.before,
        "after": last.after.decode("utf-8", "surrogateescape"),
        "archived": last.archived,
        "undone": last.is_undone,
    }
    state.set_meta(_LAST, json.dumps(fields))


def is_due(state: State, words: int, sha256: str, threshold: int) -> bool:
    """Whether a document of so many words is to be reflected.

    Above the threshold, but not as it was left by the last reflection (or its undo), nor while it has grown by less
    than a tenth of the threshold since: what could not be made shorter would be tried again after every observation.
    """
    left = state.meta(_LEFT)
    if words <= threshold or left is None:
        return words > threshold
    then = json.loads(left)
    return sha256 != then["sha256"] and not then["words"] <= words < then["words"] + GROWTH * threshold


def leave(state: State, words: int, sha256: str) -> None:
    """Remember the document as a reflection left it."""
    state.set_meta(_LEFT, json.dumps({"words": words, "sha256": sha256}))
