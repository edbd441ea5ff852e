"""Taking many portions in few transactions: saved together with their cursors, or not at all."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime, timezone
from pathlib import Path

import pytest

from total_recall import state as state_module
from total_recall.records import Message
from total_recall.state import KnownSession, RowCursor, Seen, State, TakeCount, Taken, content_digest

AT = datetime(2026, 11, 30, 9, tzinfo=timezone.utc)
AT_MS = round(AT.timestamp() * 1000)
SESSION = KnownSession("s1", "main", "agent:main:main", None)


def taken(entry_id: str, text: str = "words") -> Taken:
    message = Message("test", "s1", "agent:main:main", entry_id, "user", text, AT, channel="telegram")
    return Taken(message, content_digest(entry_id, AT_MS, text))


def seen(entry_id: str, text: str = "words") -> Seen:
    return Seen("s1", entry_id, content_digest(entry_id, AT_MS, text), AT_MS, "user", "test")


def cursor(seq: int) -> RowCursor:
    return RowCursor("store", "s1", seq, "first")


@pytest.fixture
def state(tmp_path: Path) -> Iterator[State]:
    with State.open(tmp_path) as opened:
        yield opened


def saved(state: State) -> tuple[int, int]:
    """(Messages, seq of the cursor) that another process sees."""
    with closing(sqlite3.connect(f"{state.path.as_uri()}?mode=ro", uri=True)) as db:
        (messages,) = db.execute("SELECT count(*) FROM message").fetchone()
        return messages, next((row[0] for row in db.execute("SELECT seq FROM row_cursor")), -1)


def test_what_is_gathered_is_known_inside_at_once_and_saved_together(state: State) -> None:
    with state.gathering():
        state.take([taken("a")], sessions=[SESSION], rows=[cursor(1)])
        assert state.known_session("s1") == SESSION
        state.take([taken("b"), seen("c")], rows=[cursor(2)])
        assert state.counts() == {"queued": 2, "skipped": 1}
        assert saved(state) == (0, -1)
    assert saved(state) == (3, 2)
    state.take([taken("d")], rows=[cursor(3)])
    assert saved(state) == (4, 3)


def test_an_error_leaves_what_was_not_saved_to_the_next_run(state: State) -> None:
    with pytest.raises(ZeroDivisionError), state.gathering():
        state.take([taken("a")], sessions=[SESSION], rows=[cursor(1)])
        raise ZeroDivisionError
    assert saved(state) == (0, -1)
    state.take([taken("a")], sessions=[SESSION], rows=[cursor(1)])
    assert saved(state) == (1, 1)


def test_a_take_that_fails_takes_the_ones_before_it_along(state: State) -> None:
    """Never half of a portion, whoever catches the error."""
    with state.gathering():
        state.take([taken("a")], sessions=[SESSION], rows=[cursor(1)])
        with pytest.raises(KeyError):
            state.take([Seen("unknown session", "b", 5, AT_MS, "user", "test")], rows=[cursor(2)])
        assert state.counts() == {}
        state.take([taken("a")], sessions=[SESSION], rows=[cursor(1)])
    assert saved(state) == (1, 1)


def test_gathering_saves_once_a_second(state: State, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_module, "GATHER_SECONDS", 0.0)
    with state.gathering():
        state.take([taken("a")], sessions=[SESSION], rows=[cursor(1)])
        assert saved(state) == (1, 1)
        state.take([taken("b")], rows=[cursor(2)])
        assert saved(state) == (2, 2)


def test_in_a_portion_with_one_that_is_known_only_the_others_are_new(state: State) -> None:
    state.take([taken("a"), seen("b")], sessions=[SESSION])
    again: list[Taken | Seen] = [taken("c"), taken("a"), seen("b"), seen("d"), taken("c")]
    assert state.take(again) == TakeCount(queued=1, skipped=1, known=3)
    assert state.counts() == {"queued": 2, "skipped": 2}


def test_one_marked_as_seen_is_queued_with_its_words_when_it_is_asked_for(state: State) -> None:
    state.take([seen("a", "Oolong")], sessions=[SESSION])
    assert state.take([taken("a", "Oolong")]) == TakeCount(known=1)
    assert state.take([seen("a", "Oolong")], promote_since_ms=0) == TakeCount(known=1)
    assert state.take([taken("a", "Oolong")], promote_since_ms=AT_MS + 1) == TakeCount(known=1)
    assert state.take([taken("a", "Oolong")], promote_since_ms=AT_MS) == TakeCount(queued=1)
    (queued,) = state.queue()
    assert (queued.message.text, queued.message.channel, queued.message.is_owner) == ("Oolong", "telegram", True)
