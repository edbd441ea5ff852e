"""Which sessions count, by every form of a session key."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from total_recall.records import SessionClass
from total_recall.sessions.layers import Kind
from total_recall.sessions.selection import DEFAULT_INCLUDE, channel_of, eligible, session_class

UUID = "d8ea86a8-ef4a-4bcf-aa2a-2e2c055b2b1a"

KEYS: tuple[tuple[str, SessionClass, str | None], ...] = (
    ("agent:main:main", "main", None),
    ("AGENT:Main:MAIN", "main", None),
    ("agent:ops team/1:main", "main", None),
    ("agent:main:main:thread:1733", "main", None),
    ("agent:main:main:topic:4", "main", None),
    ("main", "main", None),
    ("global", "main", None),
    ("agent:main:telegram:direct:70011", "direct", "telegram"),
    ("agent:main:telegram:dm:70011", "direct", "telegram"),
    ("agent:main:direct:alice", "direct", None),
    ("agent:main:dm:alice", "direct", None),
    ("agent:main:whatsapp:work:direct:+15550100", "direct", "whatsapp"),
    ("agent:main:matrix:direct:@Mira:example.org", "direct", "matrix"),
    ("agent:main:telegram:direct:70011:thread:9", "direct", "telegram"),
    ("agent:main:telegram:direct:heartbeat", "direct", "telegram"),
    ("agent:main:telegram:direct:cron:5", "direct", "telegram"),
    ("agent:main:signal:direct:김민아 🙂", "direct", "signal"),
    ("agent:main:telegram:group:-1001:topic:42", "group", "telegram"),
    ("agent:main:whatsapp:work:group:1203@g.us", "group", "whatsapp"),
    ("agent:main:slack:channel:C01:thread:1700.1", "group", "slack"),
    ("agent:main:matrix:room:!abc:example.org", "group", "matrix"),
    ("agent:main:discord:guild-5:channel-7", "group", "discord"),
    ("telegram:group:-1001", "group", "telegram"),
    (f"agent:main:explicit:{UUID}", "explicit", None),
    (f"agent:main:explicit:model-run-{UUID}", "internal", None),
    (f"agent:main:dashboard:{UUID}", "dashboard", None),
    (f"agent:main:subagent:{UUID}", "subagent", None),
    (f"agent:main:subagent:{UUID}:subagent:{UUID}", "subagent", None),
    ("agent:main:cron:6bee", "cron", None),
    ("agent:main:cron:6bee:run:1796018819955", "cron", None),
    ("cron:6bee", "cron", None),
    (f"agent:main:hook:{UUID}", "hook", None),
    (f"hook:{UUID}", "hook", None),
    (f"agent:main:acp:{UUID}", "acp", None),
    ("agent:main:main:heartbeat", "heartbeat", None),
    ("agent:main:telegram:direct:70011:heartbeat", "heartbeat", "telegram"),
    ("agent:main:heartbeat", "heartbeat", None),
    ("agent:main:boot:17", "internal", None),
    ("agent:main:internal-session-effects:memory-flush:1", "internal", None),
    ("temp:slug-generator", "internal", None),
    ("unknown", "unknown", None),
    ("agent:main:something-new", "unknown", None),
    ("agent:main:", "unknown", None),
    ("agent::", "unknown", None),
    (":::", "unknown", None),
)


@pytest.mark.parametrize(("key", "expected", "channel"), KEYS)
def test_a_session_key_tells_the_class_and_the_channel(key: str, expected: SessionClass, channel: str | None) -> None:
    assert session_class(key) == expected
    assert channel_of(key) == channel


def test_the_key_wins_over_the_first_words() -> None:
    assert session_class("agent:main:main", first_user_kind="cron-turn") == "main"
    assert session_class("agent:main:cron:1", first_user_kind="human") == "cron"


@pytest.mark.parametrize("origin", ["webhook", "gmail"])
def test_a_cron_key_fed_by_a_hook_is_a_hook_session(origin: str) -> None:
    """OpenClaw 2026.9.6 runs webhooks under a cron key."""
    assert session_class("agent:main:cron:1c4e", origin=origin) == "hook"
    assert session_class(None, origin=origin) == "hook"
    assert session_class("agent:main:main", origin=origin) == "main"


def test_the_main_key_may_be_renamed() -> None:
    assert session_class("agent:main:desk", main_key="Desk") == "main"
    assert session_class("agent:main:desk:thread:1", main_key="desk") == "main"
    assert session_class("agent:main:desk") == "unknown"
    assert session_class("agent:main:main", main_key="desk") == "main"
    assert session_class("agent:main:other", main_key=" ") == "unknown"


@pytest.mark.parametrize(
    ("first", "expected"),
    [
        ("human", "main"),
        ("session-greeting", "main"),
        ("command", "main"),
        ("system-event", "main"),
        ("subagent-announce", "main"),
        ("cron-wake", "main"),
        ("hook-wake", "main"),
        ("cron-turn", "cron"),
        ("webhook-turn", "hook"),
        ("subagent-task", "subagent"),
        ("memory-flush", "internal"),
        ("internal-task", "internal"),
        (None, "main"),
    ],
)
@pytest.mark.parametrize("key", [None, "", "  "])
def test_without_a_key_the_first_user_text_tells(key: str | None, first: Kind | None, expected: SessionClass) -> None:
    assert session_class(key, first_user_kind=first) == expected


def test_an_archive_that_begins_with_a_heartbeat_is_not_lost() -> None:
    """After the daily reset the first turn is often a heartbeat; what the person wrote later that day counts."""
    assert eligible(session_class(None, first_user_kind="heartbeat"))


def test_the_persons_own_conversations_count_by_default_and_nothing_else() -> None:
    every: tuple[SessionClass, ...] = (
        "main", "direct", "explicit", "dashboard", "group",
        "subagent", "cron", "hook", "heartbeat", "acp", "internal", "unknown",
    )  # fmt: skip
    assert [cls for cls in every if eligible(cls)] == ["main", "direct", "explicit", "dashboard", "group"]
    assert frozenset(every[:5]) == DEFAULT_INCLUDE


def test_the_choice_can_be_changed() -> None:
    assert eligible("cron", frozenset(("cron",)))
    assert not eligible("main", frozenset(("cron",)))


@given(st.text(), st.text())
def test_any_key_has_a_class(key: str, main_key: str) -> None:
    assert isinstance(session_class(f"agent:{key}", main_key=main_key), str)
    assert isinstance(session_class(key), str)
    assert channel_of(key) != ""
