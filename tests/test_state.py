"""state.sqlite: what is known between runs, all or nothing."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import date, datetime, timedelta, timezone
from pathlib import Path

import pytest

from builders import nobodys, snapshot
from total_recall import state as state_module
from total_recall.errors import AlreadyRunning, MemoryWriteError, StoreError
from total_recall.records import Message, ModelCall, Observation
from total_recall.state import MIGRATIONS, KnownSession, Pending, RunRecord, State, Taken, content_digest, sole

AT = datetime(2026, 11, 30, 9, tzinfo=timezone.utc)
ONE, TWO = KnownSession("s1", "main", "agent:main:main", None), KnownSession("s2", "main", None, None)


def taken(entry_id: str, text: str, session: str = "s1", minute: int = 0, source: str = "openclaw-files") -> Taken:
    at = AT + timedelta(minutes=minute)
    message = Message(source, session, None, entry_id, "user", text, at)
    return Taken(message, content_digest(entry_id, round(at.timestamp() * 1000), text))


def texts(state: State) -> list[str]:
    return [item.message.text for item in state.queue()]


def test_a_new_state_has_every_migration_and_is_for_the_owner_alone(tmp_path: Path) -> None:
    with State.open(tmp_path / "own"):
        path = tmp_path / "own" / "state.sqlite"
        assert path.stat().st_mode & 0o777 == 0o600
        assert path.parent.stat().st_mode & 0o777 == 0o700
    db = sqlite3.connect(path)
    assert db.execute("PRAGMA user_version").fetchone()[0] == len(MIGRATIONS)


def test_a_state_of_an_older_version_is_brought_up_to_date(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    db = sqlite3.connect(tmp_path / "state.sqlite")
    for statement in MIGRATIONS[0]:
        db.execute(statement)
    db.execute("PRAGMA user_version = 1")
    db.execute("INSERT INTO meta VALUES ('kept', 'yes')")
    db.commit()
    db.close()
    with State.open(tmp_path) as state:
        assert state.meta("kept") == "yes"
        assert state.calls(AT) == []


def test_a_newer_state_is_refused_in_one_line(tmp_path: Path) -> None:
    with State.open(tmp_path):
        pass
    db = sqlite3.connect(tmp_path / "state.sqlite")
    db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(StoreError, match="newer Total Recall") as refused:
        State.open(tmp_path)
    assert "\n" not in str(refused.value)


def test_a_damaged_state_is_named_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "state.sqlite").write_bytes(b"no database at all " * 100)
    with pytest.raises(StoreError, match="move it aside"):
        State.open(tmp_path)


def test_what_is_taken_is_queued_once_in_time_order(tmp_path: Path) -> None:
    with State.open(tmp_path) as state:
        state.take([taken("b", "second", minute=2), taken("a", "first", minute=1)], sessions=[ONE])
        count = state.take([taken("a", "first", minute=1), taken("c", "third", minute=3)], sessions=[ONE])
        assert (count.queued, count.known) == (1, 1)
        assert texts(state) == ["first", "second", "third"]


def test_an_id_that_comes_again_with_other_words_is_another_message(tmp_path: Path) -> None:
    with State.open(tmp_path) as state:
        state.take([taken("deadbeef", "one", minute=1)], sessions=[ONE], appended=True)
        count = state.take([taken("deadbeef", "two", minute=2)], sessions=[ONE], appended=True)
        assert (count.queued, count.same_id) == (1, 1)
        assert texts(state) == ["one", "two"]


def test_a_message_that_an_upgrade_wrote_down_again_counts_once(tmp_path: Path) -> None:
    with State.open(tmp_path) as state:
        state.take([taken("a", "look at this")], sessions=[ONE])
        state.take([taken("a", "look at this (1 image)", source="openclaw-sqlite")], sessions=[ONE])
        assert texts(state) == ["look at this"]


def test_a_copy_in_another_session_counts_once(tmp_path: Path) -> None:
    with State.open(tmp_path) as state:
        state.take([taken("a", "hello")], sessions=[ONE])
        count = state.take([taken("a", "hello", session="s2")], sessions=[TWO])
        assert (count.queued, count.known) == (0, 1)


def test_a_take_that_fails_changes_nothing(tmp_path: Path) -> None:
    with State.open(tmp_path) as state:
        with pytest.raises(KeyError):
            state.take([taken("a", "hello"), taken("b", "of an unknown session", session="nobody")], sessions=[ONE])
        assert texts(state) == [] and state.known_session("s1") is None


def test_what_is_settled_is_no_longer_in_the_queue(tmp_path: Path) -> None:
    with State.open(tmp_path) as state:
        state.take([taken("a", "one", minute=1), taken("b", "two", minute=2)], sessions=[ONE])
        first = next(iter(state.queue()))
        state.settle([("batch", [first.row])])
        assert texts(state) == ["two"]
        assert state.counts() == {"observed": 1, "queued": 1}
        assert state.oldest_queued() == AT + timedelta(minutes=2)
        assert [m.text for m in state.said_before(taken("c", "x", minute=9).message, 4)] == ["one", "two"]


def test_a_session_that_another_process_has_just_added_is_known(tmp_path: Path) -> None:
    with State.open(tmp_path) as early, State.open(tmp_path) as other:
        other.take([taken("a", "one", minute=1), taken("b", "two", minute=2)], sessions=[ONE])
        waiting = list(early.queue())
        assert [m.text for m in early.said_before(waiting[1].message, 4)] == ["one"]
        line = Observation("obs1", "Told one", AT, "low", "fact", 2.0, 0.9, sources=(("s1", "a"), ("gone", "a")))
        early.settle([("batch", [item.row for item in waiting])], [line])
        assert [tuple(row) for row in early._db.execute("SELECT observation, message FROM provenance")] == [
            ("obs1", waiting[0].row)
        ]


def test_the_ledger_adds_up(tmp_path: Path) -> None:
    with State.open(tmp_path) as state:
        early = ModelCall(AT - timedelta(days=1), "observe", "m", "ok", 1.0, 10, 5)
        calls = [
            ModelCall(AT, "observe", "m", "ok", 1.5, 100, 20, 50, 0.001),
            ModelCall(AT, "observe", "m", "busy", 0.1),
        ]
        for call in (early, *calls):
            state.record_call(call)
        assert state.tokens_since(AT) == 120
        assert state.calls(AT) == calls


def test_there_is_one_observer_and_beside_it_one_reflector(tmp_path: Path) -> None:
    def another() -> None:
        with sole("observer", tmp_path / "own"):
            raise AssertionError("two observers")

    with (
        sole("observer", tmp_path / "own"),
        sole("reflector", tmp_path / "own"),
        pytest.raises(AlreadyRunning, match="another observer"),
    ):
        another()
    with sole("observer", tmp_path / "own"):
        assert (tmp_path / "own" / "observer.lock").exists()


def test_a_migration_that_is_cut_short_has_not_happened(tmp_path: Path) -> None:
    def step(name: str) -> None:
        if name == "migrate":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        State.open(tmp_path, step)
    with closing(sqlite3.connect(tmp_path / "state.sqlite")) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (0,)
    with State.open(tmp_path) as state:
        assert state.counts() == {}


def test_a_folder_that_cannot_be_written_is_named_with_what_to_do() -> None:
    with nobodys() as folder:
        folder.chmod(0o500)
        with pytest.raises(MemoryWriteError, match="MEMORY_DIR") as refused:
            State.open(folder / "memory")
        folder.chmod(0o700)
    assert str(folder) in str(refused.value) and "\n" not in str(refused.value)


def test_what_is_done_to_a_copy_leaves_no_trace(tmp_path: Path) -> None:
    with State.open_copy(tmp_path) as nothing_yet:
        assert nothing_yet.counts() == {}
    with State.open(tmp_path) as state:
        state.take([taken("a", "one")], sessions=[ONE])
        before = snapshot(tmp_path)
        with State.open_copy(tmp_path) as copy:
            copy.take([taken("b", "two", minute=2)])
            assert texts(copy) == ["one", "two"]
        assert snapshot(tmp_path) == before
        assert texts(state) == ["one"]


@pytest.mark.parametrize("writes", [1, 10_000])
def test_a_copy_made_while_another_process_writes_is_whole_or_refused(
    writes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the copy of the database and that of its log, the log is emptied into the one and begun anew."""
    copy_file = state_module._copy_file
    with State.open(tmp_path) as state, closing(sqlite3.connect(tmp_path / "state.sqlite")) as other:
        state.take([taken("a", "one")], sessions=[ONE])
        written = 0

        def meanwhile(source: str, target: str) -> None:
            nonlocal written
            copy_file(source, target)
            if source.endswith(".sqlite") and written < writes:
                written += 1
                state.take([taken(f"{written}/{n}", "word " * 200, minute=n) for n in range(50)])
                other.execute("PRAGMA wal_checkpoint(RESTART)")
                state.set_meta("written", str(written))

        monkeypatch.setattr(state_module, "_copy_file", meanwhile)
        if writes > 1:
            with pytest.raises(StoreError, match="try again"):
                State.open_copy(tmp_path)
            return
        with State.open_copy(tmp_path) as copy:
            assert (copy.meta("written"), copy.counts()) == ("1", {"queued": 51})
            assert copy._rows("PRAGMA integrity_check") == [("ok",)]


def test_a_pending_write_comes_back_as_it_was_staged(tmp_path: Path) -> None:
    observation = Observation(
        "tea222", "Tea 🍵 is due", AT, "high", "goal", 7.5, 0.9,
        refers=date(2026, 12, 4), sources=(("s1", "a"),), supersedes=("old222",),
    )  # fmt: skip
    pending = Pending("old", "new", (observation,), (("batch", (1, 2)),), frozenset({"tea222"}))
    with State.open(tmp_path) as state:
        state.stage(pending)
    with State.open(tmp_path) as state:
        back = state.pending()
        assert back == pending
        assert back is not None
        assert (back.block[0].sources, back.block[0].supersedes) == (observation.sources, observation.supersedes)
        state.settle([])
        assert state.pending() is None


def test_the_last_runs_are_kept(tmp_path: Path) -> None:
    with State.open(tmp_path) as state:
        assert state.last_run("observe") is None
        for number in range(5):
            state.record_run(RunRecord("observe", AT, AT, "done", number, 0, f"run {number}"), keep=3)
        state.record_run(RunRecord("reflect", AT, AT, "done", 0, 0, "another command"), keep=3)
        last = state.last_run("observe")
        assert last == RunRecord("observe", AT, AT, "done", 4, 0, "run 4")
        assert state._rows("SELECT count(*) FROM run") == [(3,)]
