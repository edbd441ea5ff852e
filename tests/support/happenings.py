"""Logs made by hand: events as a test tells them, in `events.sqlite` as they would have been logged."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import orjson

from total_recall import periods
from total_recall.sidecar.database import Events, Session
from total_recall.sidecar.sanitising import COLUMNS

MAIN = Session("5e551011-0000-4000-8000-000000000001", "main", "agent:main:main", "main")
NOBODY = Session("", "main")
"""What belongs to no session."""


@dataclass(frozen=True)
class Happened:
    """One event. `at` is UTC, as `2026-11-30T12:00:00`."""

    at: str
    type: str = "tool_call"
    name: str | None = None
    ok: bool | None = None
    summary: str = ""
    session: Session = MAIN
    entry: str | None = None
    error: str | None = None
    exit_code: int | None = None
    duration_ms: int | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    tokens_cached: int | None = None
    cost_usd: float | None = None
    sensitive: bool = False
    details: dict[str, Any] = field(default_factory=dict)

    def row(self, digest: int) -> tuple[Any, ...]:
        """As the log takes it."""
        at = datetime.fromisoformat(self.at).replace(tzinfo=timezone.utc)
        special = {
            "digest": digest,
            "at": periods.milliseconds(at),
            "ok": None if self.ok is None else int(self.ok),
            "sensitive": int(self.sensitive),
            "entry": self.entry or f"e{digest}",
            "details": orjson.dumps(self.details).decode() if self.details else None,
        }
        return tuple(special[name] if name in special else getattr(self, name) for name in COLUMNS)


def log(own_dir: Path, happened: Iterable[Happened]) -> None:
    """Add events to the log in `own_dir`, which is made when it is not there."""
    with Events.open(own_dir) as events, events.transaction():
        begun = events.db.execute("SELECT coalesce(max(digest), 0) FROM event").fetchone()[0]
        rows = [(events.session(h.session), h.row(n)) for n, h in enumerate(happened, begun + 1)]
        events.add(rows)
