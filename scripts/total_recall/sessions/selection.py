"""Which sessions count: the person's own conversations, not what the host and its agents say to each other.

The session key tells (OpenClaw 2026.1 to 2026.9.6). Archives are in no index any more; there the first user text does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from total_recall.records import SessionClass
from total_recall.sessions.layers import Kind

DEFAULT_INCLUDE: Final[frozenset[SessionClass]] = frozenset(("main", "direct", "explicit", "dashboard", "group"))

HOOK_ORIGINS: Final = frozenset(("webhook", "gmail"))
"""`session_windows.hook_external_content_source`: what fed a session whose key says cron, or nothing."""

_FIRST_WORD: Final[Mapping[str, SessionClass]] = {
    "subagent": "subagent",
    "cron": "cron",
    "hook": "hook",
    "acp": "acp",
    "heartbeat": "heartbeat",
    "explicit": "explicit",
    "dashboard": "dashboard",
    "boot": "internal",
    "temp": "internal",
    "internal-session-effects": "internal",
}

_CHAT_WORD: Final[Mapping[str, SessionClass]] = {
    "direct": "direct",
    "dm": "direct",
    "group": "group",
    "channel": "group",
    "room": "group",
}

_CHAT_ENDINGS: Final = tuple([word] for word in _CHAT_WORD)
"""Behind one of these stands a name, whatever it reads."""

_MAIN_KEYS: Final = frozenset(("main", "global"))
"""`global` is the main session of an install with `session.scope: global`. A renamed main key leaves old sessions."""

_FIRST_KIND: Final[Mapping[Kind, SessionClass]] = {
    "cron-turn": "cron",
    "webhook-turn": "hook",
    "subagent-task": "subagent",
    "memory-flush": "internal",
    "internal-task": "internal",
}
"""What the first user text says of a session without a key; any other kind occurs in the person's own sessions.

A heartbeat too: after the daily reset the main session begins with one, and the person writes later.
"""


def session_class(
    key: str | None, *, origin: str | None = None, first_user_kind: Kind | None = None, main_key: str = "main"
) -> SessionClass:
    """The class of a session by its key, or by its first user text where the key is not known.

    `origin` is `webhook` or `gmail` where the store says that a hook fed the session; `main_key` is `session.mainKey`.
    A key of no known form is `unknown`.
    """
    if key is None or not key.strip():
        return "hook" if origin in HOOK_ORIGINS else _FIRST_KIND.get(first_user_kind or "human", "main")
    rest = _without_agent(key)
    if _is_main(rest, main_key.strip().casefold()):
        return "main"
    words = rest.split(":")
    if words[-1] == "heartbeat" and words[-2:-1] not in _CHAT_ENDINGS:
        return "heartbeat"
    if words[0] == "explicit" and rest.startswith("explicit:model-run-"):
        return "internal"
    by_first_word = _FIRST_WORD.get(words[0])
    if by_first_word == "cron" and origin in HOOK_ORIGINS:
        return "hook"
    if by_first_word is not None:
        return by_first_word
    at = _chat_at(words)
    if at is not None:
        return _CHAT_WORD[words[at]]
    return "group" if words[0] == "discord" and ":channel-" in rest else "unknown"


def eligible(cls: SessionClass, include: frozenset[SessionClass] = DEFAULT_INCLUDE) -> bool:
    """Whether sessions of this class are observed."""
    return cls in include


def channel_of(key: str | None) -> str | None:
    """The channel that a session key names (`telegram`, `whatsapp` …), in lower case; None for any other key."""
    words = _without_agent(key).split(":") if key else []
    named = (words[:1] == ["discord"] and len(words) > 1) or (bool(words) and bool(_chat_at(words)))
    return words[0] or None if named and words[0] not in _FIRST_WORD else None


def _without_agent(key: str) -> str:
    """`agent:<id>:<rest>` without its head, folded: hosts lower-case keys, people's peers do not."""
    folded = key.strip().casefold()
    head, _, rest = folded.partition(":")
    _, found, behind = rest.partition(":")
    return behind if head == "agent" and found and behind else folded


def _is_main(rest: str, main_key: str) -> bool:
    keys = _MAIN_KEYS | {main_key} if main_key else _MAIN_KEYS
    return any(rest == key or rest.startswith((f"{key}:thread:", f"{key}:topic:")) for key in keys)


def _chat_at(words: list[str]) -> int | None:
    """Where `direct`, `group` … stands: first, or behind a channel, or behind a channel and an account."""
    return next((at for at in range(min(3, len(words) - 1)) if words[at] in _CHAT_WORD), None)
