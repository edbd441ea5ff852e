"""The small frozen values that the stages hand to each other. No I/O."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Literal

Role = Literal["user", "assistant"]
Priority = Literal["high", "medium", "low"]
ObservationType = Literal["event", "context", "fact", "preference", "goal", "habit", "rule"]
Certainty = Literal["explicit", "implicit", "inference", "weak", "uncertain"]
SessionClass = Literal[
    "main", "direct", "explicit", "dashboard", "group",
    "subagent", "cron", "hook", "heartbeat", "acp", "internal", "unknown",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class SessionRef:
    """One transcript in one store.

    `store` is the file or database that holds it; `name` tells transcripts of one store apart
    (the file name, or the session id in a database).
    """

    source: str
    store: str
    name: str
    agent: str
    session_id: str
    key: str | None = None
    channel: str | None = None
    origin: str | None = None
    """What made the session when the key does not say it: `webhook` or `gmail` (session_windows.hook_external…)."""


@dataclass(frozen=True, slots=True)
class Message:
    """What one person or the assistant said, as they said it.

    `text` is free of the host's wrappers; `at` is aware and in UTC. `is_owner` is False only where
    the host says that somebody else wrote it. The identity is (`session_id`, `entry_id`).
    """

    source: str
    session_id: str
    session_key: str | None
    entry_id: str
    role: Role
    text: str
    at: datetime
    speaker: str | None = None
    channel: str | None = None
    is_owner: bool = True


@dataclass(frozen=True, slots=True)
class Batch:
    """Messages that are compressed together, in time order, and what was said just before them.

    `context` was observed earlier; it is there to understand `messages` and yields nothing itself.
    """

    id: str
    messages: tuple[Message, ...]
    tokens: int
    context: tuple[Message, ...] = ()


@dataclass(frozen=True, slots=True)
class Observation:
    """One line of memory.

    `at` is when it was said, aware, in the user's own time zone: it gives the heading's date and the
    HH:MM of the line. `refers` is the day that it is about, when there is one. `importance` is
    0-10 at the time of recording, `confidence` 0-1. `sources` are (session id, entry id) pairs.
    """

    id: str
    text: str
    at: datetime
    priority: Priority
    type: ObservationType
    importance: float
    confidence: float
    certainty: Certainty = "explicit"
    refers: date | None = None
    superseded_by: str | None = None
    sources: tuple[tuple[str, str], ...] = field(default=(), compare=False)
    supersedes: tuple[str, ...] = field(default=(), compare=False)
    """Ids of older observations that this one takes the place of."""


@dataclass(frozen=True, slots=True)
class ModelCall:
    """One request to a model, for the ledger. Token counts and the price are None where the provider does not say."""

    at: datetime
    purpose: str
    model: str
    outcome: str
    seconds: float
    tokens_in: int | None = None
    tokens_out: int | None = None
    tokens_cached: int | None = None
    cost_usd: float | None = None
