"""What keeps the log in bounds, what forgets, and what happens to a damaged one."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from builders import OTHER, SESSION, Home, append, at, ms, said
from total_recall import cli, clock
from total_recall.commands import logging_events, places
from total_recall.errors import AlreadyRunning, MemoryWriteError, StoreError
from total_recall.sidecar import upkeep
from total_recall.sidecar.database import NAME, Damaged, Events, Session
from total_recall.sidecar.events import Draft, digest_of
from total_recall.sidecar.fulltext import match_query
from total_recall.sidecar.ingest import Ingest
from total_recall.sidecar.schema import MIGRATIONS
from total_recall.state import sole


def filled(folder: Path, count: int, *, words: str = "message") -> Events:
    """A log with an event a minute, from 2026-11-30T06:00Z on."""
    events = Events.open(folder)
    ingest = Ingest(events, lambda text: text, ms(at(10**6)))
    drafts = [
        Draft(digest_of(n), ms(at(n)), "user_message", f"e{n}", "human", text=f"{words} {n}") for n in range(count)
    ]
    with ingest.gathering():
        ingest.put(Session(SESSION, "main", "agent:main:main", "main"), drafts)
    return events


def entries(events: Events) -> list[str]:
    return [row[0] for row in events.db.execute("SELECT entry FROM event ORDER BY at, id")]


def found(events: Events, words: str) -> int:
    query = "SELECT count(*) FROM event WHERE id IN (SELECT rowid FROM event_text WHERE event_text MATCH ?)"
    count: int = events.db.execute(query, (match_query(words),)).fetchone()[0]
    return count


def test_what_is_too_old_goes_and_does_not_come_back(tmp_path: Path) -> None:
    with filled(tmp_path, 10) as events:
        assert upkeep.prune(events, ms(at(4))) == 4
        assert entries(events) == [f"e{n}" for n in range(4, 10)]
    with filled(tmp_path, 12) as events:
        assert entries(events) == [f"e{n}" for n in range(4, 12)]
        assert (found(events, "3"), found(events, "11")) == (0, 1)


def test_a_log_that_is_too_large_loses_its_oldest_events(tmp_path: Path) -> None:
    with filled(tmp_path, 5_000, words="many words " * 20) as events:
        size = upkeep.size_of(events.db)
        removed = upkeep.prune(events, 0, size // 2)
        assert 2_000 < removed < 4_000
        assert upkeep.size_of(events.db) < size
        assert entries(events) == [f"e{n}" for n in range(removed, 5_000)]
        assert upkeep.vacuum(events) >= 0
        assert (tmp_path / NAME).stat().st_size <= size // 2 * 1.1
        assert upkeep.prune(events, 0, size) == 0


def test_an_observation_prunes_once_a_day(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    host = Home(home / ".openclaw", home / ".openclaw" / "workspace" / "memory" / ".total-recall")
    host.write(said("u", "hello"))
    monkeypatch.setenv("TOTAL_RECALL_LOG_DAYS", "30")
    for days, left in ((1, 1), (29, 1), (40, 0)):
        monkeypatch.setattr(clock, "now", lambda days=days: at(0) + timedelta(days=days))
        logging_events.run(logging_events.Options())
        with Events.open(host.own) as events:
            assert len([e for e in entries(events) if e == "u"]) == left


@pytest.mark.parametrize("value", ["0", "36501", "soon"])
def test_a_wrong_number_of_days_is_named(
    value: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TOTAL_RECALL_LOG_DAYS", value)
    assert cli.main(["status"]) == 1
    assert "TOTAL_RECALL_LOG_DAYS" in capsys.readouterr().err


def test_an_export_is_the_whole_log_as_json_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upkeep, "EXPORTED_A_TIME", 3)
    with filled(tmp_path, 10) as events:
        lines = [json.loads(line) for line in upkeep.export(events, ms(at(2)), ms(at(9)))]
    assert [line["entry_id"] for line in lines] == [f"e{n}" for n in range(2, 9)]
    assert lines[0] == {
        "at_ms": ms(at(2)), "type": "user_message", "agent": "main", "session_id": SESSION,
        "session_key": "agent:main:main", "session_class": "main", "entry_id": "e2", "name": "human", "ok": None,
        "sensitive": False, "summary": "message 2", "exit_code": None, "duration_ms": None, "error": None,
        "tokens_in": None, "tokens_out": None, "tokens_cached": None, "cost_usd": None, "details": {},
    }  # fmt: skip


def written(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.glob(f"{NAME}*")))


def test_no_byte_of_what_is_forgotten_is_left(tmp_path: Path) -> None:
    with filled(tmp_path, 300, words="zanzibar") as events:
        pairs = [(SESSION, f"e{n}") for n in range(300) if n != 7] + [("no such session", "e1")]
        assert upkeep.forget(events, pairs) == 299
        assert (entries(events), found(events, "zanzibar")) == (["e7"], 1)
        assert upkeep.forget(events, [(SESSION, "e7")]) == 1
    assert b"zanzibar" not in written(tmp_path)


def test_what_is_forgotten_does_not_come_back(tmp_path: Path) -> None:
    with filled(tmp_path, 3) as events:
        upkeep.forget(events, [(SESSION, "e1"), (SESSION, "e4")])
    with filled(tmp_path, 6) as events:
        assert entries(events) == ["e0", "e2", "e3", "e5"]


def test_a_forgotten_session_may_go_on(tmp_path: Path) -> None:
    with filled(tmp_path, 3) as events:
        assert upkeep.forget_session(events, SESSION, ms(at(4))) == 3
    with filled(tmp_path, 7) as events:
        assert entries(events) == ["e5", "e6"]


def test_what_the_memory_forgot_before_there_was_a_log_is_not_logged(home: Path) -> None:
    host = Home(home / ".openclaw", home / ".openclaw" / "workspace" / "memory" / ".total-recall")
    host.write(said("u1", "My favourite tea is oolong, please remember that."), said("u2", "What time is it?", 2))
    assert cli.main(["observe", "--all"]) == 0
    assert cli.main(["forget", "--session", SESSION, "--yes"]) == 0
    for path in host.own.glob(f"{NAME}*"):
        path.unlink()
    append(host.transcript(), said("u3", "Good morning.", 60 * 24 * 365))
    logging_events.run(logging_events.Options())
    with Events.open(host.own) as events:
        assert [e for e in entries(events) if e in ("u1", "u2")] == []
    assert b"oolong" not in written(host.own)


def test_a_damaged_log_is_set_aside_and_built_anew(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    host = Home(home / ".openclaw", home / ".openclaw" / "workspace" / "memory" / ".total-recall")
    host.write(*(said(f"u{n}", f"message {n}", n) for n in range(400)))
    host.write(said("o", "other"), session_id=OTHER)
    logging_events.run(logging_events.Options())
    with Events.open(host.own) as events:
        before = entries(events)
        upkeep.forget(events, [(OTHER, "o")])
        events.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    path = host.own / NAME
    raw = bytearray(path.read_bytes())
    middle = len(raw) // 8 * 4
    raw[middle:] = b"\xff" * (len(raw) - middle)
    path.write_bytes(raw)
    append(host.transcript(), said("new", "one more", 500))
    (done,) = logging_events.run(logging_events.Options()).logs
    assert any("built anew" in note for note in done.notes)
    with Events.open(host.own) as events:
        assert sorted(e or "" for e in entries(events)) == sorted([*(e or "" for e in before if e != "o"), "new"])
    assert list(host.own.glob(f"{NAME}.damaged-*"))


@pytest.mark.parametrize("raw", [b"no database at all, but long enough. " * 40, b"SQLite format 3\0" + b"x" * 9000])
def test_something_else_in_its_place_is_set_aside(home: Path, raw: bytes) -> None:
    host = Home(home / ".openclaw", home / ".openclaw" / "workspace" / "memory" / ".total-recall")
    host.write(said("u", "hello"))
    host.own.mkdir(parents=True)
    (host.own / NAME).write_bytes(raw)
    (done,) = logging_events.run(logging_events.Options()).logs
    assert done.events == 2 and len(done.notes) == 1
    (kept,) = host.own.glob(f"{NAME}.damaged-*")
    assert kept.read_bytes() == raw


def test_a_newer_log_is_left_alone(tmp_path: Path) -> None:
    with filled(tmp_path, 1) as events:
        events.db.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    for opened in (Events.open, Events.open_readonly):
        with pytest.raises(StoreError, match="newer Total Recall") as raised:
            opened(tmp_path)
        assert not isinstance(raised.value, Damaged)


def test_there_is_no_log_to_read_before_the_first_event(tmp_path: Path) -> None:
    assert Events.open_readonly(tmp_path) is None


def test_the_log_is_for_its_owner_alone(tmp_path: Path) -> None:
    with filled(tmp_path, 1):
        modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    assert set(modes.values()) == {0o600} and f"{NAME}-wal" in modes


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / NAME).mkdir()
    with pytest.raises(MemoryWriteError, match=NAME):
        Events.open(tmp_path)


def test_one_process_writes_and_the_others_say_so(home: Path) -> None:
    host = Home(home / ".openclaw", home / ".openclaw" / "workspace" / "memory" / ".total-recall")
    host.write(said("u", "hello"))
    config = places.configure()
    (place,) = places.find(config, datetime.now(timezone.utc))
    with sole("logging", place.own_dir):
        with pytest.raises(AlreadyRunning, match="another logging"):
            logging_events.ingest_place(place, config, clock.now(), wait_seconds=0.0)
        assert cli.main(["observe"]) == 0


def test_questions_do_not_look_at_every_event(tmp_path: Path) -> None:
    """Each finds its rows by an index."""
    questions = (
        "at >= 5 ORDER BY at, id", "type = 'error' AND at >= 5 ORDER BY at, id", "ok = 0 AND at >= 5 ORDER BY at, id",
        "session = 1 ORDER BY at, id", "type = 'tool_call' AND name = 'exec' AND at >= 5 ORDER BY at, id",
    )  # fmt: skip
    with filled(tmp_path, 5) as events:
        for question in questions:
            steps = events.db.execute(f"EXPLAIN QUERY PLAN SELECT * FROM event WHERE {question}")
            plan = " ".join(row[3] for row in steps)
            assert plan.startswith("SEARCH event USING INDEX") and "TEMP B-TREE FOR ORDER BY" not in plan, plan


def test_another_program_may_read_while_the_log_is_written(tmp_path: Path) -> None:
    with filled(tmp_path, 5) as events, closing(sqlite3.connect(tmp_path / NAME)) as reader:
        with events.transaction() as db:
            db.execute("UPDATE event SET summary = 'changed'")
            assert reader.execute("SELECT count(*) FROM event WHERE summary = 'changed'").fetchone()[0] == 0
        assert reader.execute("SELECT count(*) FROM event WHERE summary = 'changed'").fetchone()[0] == 5
