"""Values as hosts and models write them: what can be believed of each, or None. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import orjson

EARLIEST_MS = 1_420_070_400_000
"""2015-01-01: an earlier time is a broken clock, not a date."""
MOST = 1 << 53
"""Counts above that are no counts."""


def text_of(content: object) -> str:
    """The text of a message's content: a string, or its `text` blocks joined by a newline."""
    if isinstance(content, str):
        return content
    parts = [
        block["text"]
        for block in listed(content)
        if isinstance(block, dict) and block.get("type") == "text" and isinstance(block.get("text"), str)
    ]
    return parts[0] if len(parts) == 1 else "\n".join(parts)


def images_in(content: object) -> int:
    return sum(1 for block in listed(content) if isinstance(block, dict) and block.get("type") == "image")


def mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def count(value: object) -> int | None:
    """A count that a database can hold, or None."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if type(value) is int and 0 <= value <= MOST else None


def number(value: object) -> int | None:
    """The same with a sign, as exit codes have one."""
    return value if type(value) is int and -MOST <= value <= MOST else None


def money(value: object) -> float | None:
    """US dollars, or None."""
    return float(value) if isinstance(value, (int, float)) and 0 <= value < 1e9 else None


def time_ms(value: object, latest_ms: int) -> int | None:
    """Milliseconds since 1970 of a time as hosts write it, in ms or as ISO 8601; None when it is not believable."""
    if isinstance(value, str):
        try:
            at = datetime.fromisoformat(value.replace("Z", "+00:00"))
        except ValueError:
            return None
        if at.tzinfo is None:
            return None
        value = at.timestamp() * 1000
    if not isinstance(value, (int, float)) or not EARLIEST_MS <= value <= latest_ms:
        return None
    return round(value)


def json_object(text: str | bytes) -> dict[str, Any]:
    """The JSON object that a text is; an empty one for any other text."""
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return {}
    return value if isinstance(value, dict) else {}
