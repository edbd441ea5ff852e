"""The story of a session has everything that happened in it once, with its sub-agents where it started them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from happenings import MAIN, Happened, log
from total_recall.sidecar import queries, story
from total_recall.sidecar.database import Events, Session
from total_recall.sidecar.queries import Wanted

CHILD_KEY = "agent:main:subagent:c1"
CHILD = Session("c" * 36, "main", CHILD_KEY, "subagent", parent=MAIN.key)
GRANDCHILD = Session("d" * 36, "main", "agent:main:subagent:d1", "subagent", parent=CHILD_KEY)


@pytest.fixture
def events(tmp_path: Path) -> Iterator[Events]:
    log(tmp_path, [])
    with Events.open(tmp_path) as opened:
        yield opened


def told(events: Events, session: str) -> list[str]:
    steps = story.tell(events.db, queries.sessions(events.db, Wanted(session=session)))
    return [f"{'  ' * s.depth}{s.event.summary if s.event else s.session.id[:1] + ':'}" for s in steps]


def test_sub_agents_are_told_where_they_were_started(events: Events) -> None:
    log(
        events.path.parent,
        [
            Happened("2026-11-30T12:00:00", summary="before"),
            Happened("2026-11-30T12:00:01", "subagent_spawned", summary="spawn", details={"child_key": CHILD_KEY}),
            Happened("2026-11-30T12:00:02", summary="meanwhile"),
            Happened("2026-11-30T12:00:02", summary="in the child", session=CHILD),
            Happened("2026-11-30T12:00:03", summary="in its child", session=GRANDCHILD),
            Happened("2026-11-30T12:00:09", summary="child's end", session=CHILD),
            Happened("2026-11-30T12:00:10", summary="after"),
        ],
    )
    assert told(events, MAIN.id) == [
        "5:", "before", "spawn", "  c:", "  in the child", "  child's end", "    d:", "    in its child", "meanwhile",
        "after",
    ]  # fmt: skip


def test_a_child_of_an_earlier_session_with_the_same_key_is_not_told(events: Events) -> None:
    """After a reset another session has the key that the child names as its parent."""
    log(
        events.path.parent,
        [
            Happened("2026-11-29T12:00:00", summary="in the child", session=CHILD),
            Happened("2026-11-30T12:00:00", summary="first"),
            Happened("2026-11-30T12:00:10", summary="last"),
        ],
    )
    assert told(events, MAIN.id) == ["5:", "first", "last"]


def test_sessions_that_name_each_other_are_told_once(events: Events) -> None:
    looped = Session("e" * 36, "main", "agent:main:subagent:e1", "subagent", parent="agent:main:subagent:e1")
    spawn = {"child_key": "agent:main:subagent:e1"}
    log(
        events.path.parent,
        [Happened("2026-11-30T12:00:00", "subagent_spawned", summary="me", session=looped, details=spawn)],
    )
    assert told(events, looped.id) == ["e:", "me"]


@pytest.mark.parametrize("key", [None, "", 7, ["a"], "agent:main:subagent:unknown"])
def test_a_child_that_is_not_known_is_left_out(events: Events, key: object) -> None:
    log(
        events.path.parent,
        [Happened("2026-11-30T12:00:00", "subagent_spawned", summary="s", details={"child_key": key})],
    )
    assert told(events, MAIN.id) == ["5:", "s"]
