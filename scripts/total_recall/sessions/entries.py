"""One stored entry, decoded: the shape that OpenClaw 2026.2 to 2026.9 share, whatever the store."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import orjson

from total_recall.clock import from_epoch_ms

EARLIEST_MS = 1_420_070_400_000
"""2015-01-01: before any such agent; an earlier time is a broken clock, not a date."""

ENTRY_TYPES = frozenset(
    "session message compaction reset leaf branch_summary model_change thinking_level_change "
    "label session_info custom custom_message".split()
)
"""Entry types of OpenClaw 2026.2 to 2026.9 (openclaw.md section 2)."""

INJECTED_MODELS = frozenset({"gateway-injected", "delivery-mirror"})
"""`model` of assistant entries that the host wrote itself (openclaw.md section 2)."""


@dataclass(frozen=True, slots=True)
class RawMessage:
    """A `message` entry of role user or assistant before its wrappers are taken off.

    `at_ms` is None when the entry carries no believable time. `owner` is None where the host does not say.
    """

    entry_id: str
    role: str
    text: str
    at_ms: int | None
    provenance: Mapping[str, object] | None
    owner: bool | None


def parse_line(line: bytes) -> dict[str, Any] | None:
    """A JSON object from one line, or None if it is none.

    Invalid UTF-8 is replaced by U+FFFD and lone surrogates are let through, so that the rest of the message survives.
    """
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError:
        value = _tolerant(line)
    return value if isinstance(value, dict) else None


def _tolerant(line: bytes) -> object:
    """What the strict parser refuses: bad UTF-8, lone surrogate escapes, huge numbers, control characters."""
    try:
        return json.loads(line.decode("utf-8", "replace"), strict=False)
    except (ValueError, RecursionError):
        return None


def is_entry(value: Mapping[str, Any]) -> bool:
    """Whether an object has one of the known entry types."""
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
        if message.get("model") in INJECTED_MODELS or _is_cli_note(message):
            return None
    elif role != "user":
        return None
    text = whole_characters(content_text(message.get("content")))
    at_ms = _time_ms(message.get("timestamp"), latest_ms) or _time_ms(entry.get("timestamp"), latest_ms)
    entry_id = entry.get("id")
    if not isinstance(entry_id, str) or not entry_id:
        entry_id = f"content:{zlib.crc32(text.encode('utf-8', 'replace')):08x}-{at_ms}-{role}"
    provenance = message.get("provenance")
    host = message.get("__openclaw")
    owner = host.get("senderIsOwner") if isinstance(host, dict) else None
    return RawMessage(
        entry_id=whole_characters(entry_id),
        role=role,
        text=text,
        at_ms=at_ms,
        provenance=provenance if isinstance(provenance, dict) else None,
        owner=owner if isinstance(owner, bool) else None,
    )


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
    if not isinstance(content, Sequence):
        return ""
    parts = [
        block["text"]
        for block in content
        if isinstance(block, dict) and block.get("type") == "text" and isinstance(block.get("text"), str)
    ]
    return parts[0] if len(parts) == 1 else "\n".join(parts)


def latest_believable(now: datetime) -> int:
    """Milliseconds of the latest time that a stored message can have: a day ahead, for clocks that are off."""
    return round((now + timedelta(days=1)).timestamp() * 1000)


def _is_cli_note(message: Mapping[str, Any]) -> bool:
    """An assistant entry with `api: "cli"` and zero usage: written by the host, not by a model."""
    if message.get("api") != "cli":
        return False
    usage = message.get("usage")
    return isinstance(usage, dict) and not usage.get("totalTokens") and not usage.get("output")


def _time_ms(value: object, latest_ms: int) -> int | None:
    if isinstance(value, str):
        try:
            at = datetime.fromisoformat(value.replace("Z", "+00:00"))
        except ValueError:
            return None
        if at.tzinfo is None:
            return None
        value = at.timestamp() * 1000
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return round(value) if EARLIEST_MS <= value <= latest_ms else None


def time_of(at_ms: int) -> datetime:
    """An aware UTC time."""
    return from_epoch_ms(at_ms)
