"""One stored entry, decoded: the shape that OpenClaw 2026.2 to 2026.9 share, whatever the store."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from hashlib import blake2b
from typing import Any, NamedTuple

from total_recall.clock import from_epoch_ms
from total_recall.records import Role

EARLIEST_MS = 1_420_070_400_000
"""2015-01-01: before any such agent; an earlier time is a broken clock, not a date."""

DAY_MS = 86_400_000

ENTRY_TYPES = frozenset({
    "session", "message", "compaction", "reset", "leaf", "branch_summary", "model_change", "thinking_level_change",
    "label", "session_info", "custom", "custom_message",
})  # fmt: skip
"""Entry types of OpenClaw 2026.2 to 2026.9 (openclaw.md section 2)."""

INJECTED_MODELS = ("gateway-injected", "delivery-mirror")
"""`model` of assistant entries that the host wrote itself (openclaw.md section 2)."""


CONTENT_ID = "content:"
"""How the id begins that an entry without one is given."""


class RawMessage(NamedTuple):
    """A `message` entry of role user or assistant before its wrappers are taken off.

    `at_ms` is None when the entry carries no believable time. `owner` is None where the host does not say.
    A tuple, since there is one for every stored message, and a frozen dataclass takes five times as long to make.
    """

    entry_id: str
    role: Role
    text: str
    at_ms: int | None
    provenance: Mapping[str, object] | None
    owner: bool | None


def is_entry(value: object) -> bool:
    """Whether a value is an object of one of the known entry types."""
    if not isinstance(value, dict):
        return False
    kind = value.get("type")
    return type(kind) is str and kind in ENTRY_TYPES


def raw_message(entry: Mapping[str, Any], latest_ms: int) -> RawMessage | None:
    """The user's or assistant's message in `entry`, or None when it holds none.

    `latest_ms` is the latest believable time (now and a day). An entry without an id gets one from its content.
    """
    if entry.get("type") != "message":
        return None
    message = entry.get("message")
    if not isinstance(message, dict):
        return None
    role = message.get("role")
    if role == "assistant":
        if message.get("model") in INJECTED_MODELS or (message.get("api") == "cli" and _is_unpaid(message)):
            return None
    elif role != "user":
        return None
    text = whole_characters(content_text(message.get("content")))
    if not text and role == "assistant":
        # Half of what a working agent writes: a tool call and no words.
        return None
    times = (message.get("timestamp"), entry.get("timestamp"))
    at_ms = _time_ms(times[0], latest_ms)
    if at_ms is None:
        at_ms = _time_ms(times[1], latest_ms)
    entry_id = entry.get("id")
    if not isinstance(entry_id, str) or not entry_id:
        entry_id = _content_id(role, times, text)
    provenance = message.get("provenance")
    host = message.get("__openclaw")
    owner = host.get("senderIsOwner") if isinstance(host, dict) else None
    return RawMessage(
        whole_characters(entry_id),
        role,
        text,
        at_ms,
        provenance if isinstance(provenance, dict) else None,
        owner if isinstance(owner, bool) else None,
    )


def _content_id(role: str, times: tuple[object, object], text: str) -> str:
    """An id for an entry without one: the same whenever it is read, so without what is believed of its times."""
    named = f"{role}\0{times[0]!r}\0{times[1]!r}\0{text}".encode("utf-8", "replace")
    return f"{CONTENT_ID}{blake2b(named, digest_size=8).hexdigest()}"


def whole_characters(text: str) -> str:
    """`text` with surrogate pairs joined and lone surrogates replaced by U+FFFD."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def content_text(content: object) -> str:
    """The text of a message's content: a string, or its `text` blocks joined by a newline. Thoughts stay out."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    parts = [
        block["text"]
        for block in content
        if isinstance(block, dict) and block.get("type") == "text" and isinstance(block.get("text"), str)
    ]
    return parts[0] if len(parts) == 1 else "\n".join(parts)


def latest_believable(now: datetime) -> int:
    """Milliseconds of the latest time that a stored message can have: a day ahead, for clocks that are off."""
    return round(now.timestamp() * 1000) + DAY_MS


def _is_unpaid(message: Mapping[str, Any]) -> bool:
    """Zero usage: with `api: "cli"` it says that the host wrote an entry, not a model."""
    usage = message.get("usage")
    return isinstance(usage, dict) and not usage.get("totalTokens") and not usage.get("output")


def _time_ms(value: object, latest_ms: int) -> int | None:
    if type(value) is int:
        return value if EARLIEST_MS <= value <= latest_ms else None
    if isinstance(value, str):
        try:
            at = datetime.fromisoformat(value.replace("Z", "+00:00"))
        except ValueError:
            return None
        if at.tzinfo is None:
            return None
        value = at.timestamp() * 1000
    if not isinstance(value, float):
        return None
    return round(value) if EARLIEST_MS <= value <= latest_ms else None


def believable_ms(at_ms: float, latest_ms: int) -> int:
    """`at_ms` if a message can have that time, else now. For the time of a file, which may be anything."""
    return round(at_ms) if EARLIEST_MS <= at_ms <= latest_ms else latest_ms - DAY_MS


def time_of(at_ms: int) -> datetime:
    """An aware UTC time."""
    return from_epoch_ms(at_ms)
