"""Whatever could be new, the gate lets the full run look; and what it says itself is what the full run would have said.

Each test starts behind a real run of `observe` that had nothing to do and whose record the gate would answer from.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from total_recall import cli, gate, settings
from total_recall.sessions.openclaw_sqlite import NEWEST_ROW

LONG_AGO = 1_780_000_000
SESSION = "11111111-2222-4333-8444-555555555555"
OTHER = "99999999-2222-4333-8444-555555555555"


def lines(session_id: str, *texts: str) -> str:
    header = {"type": "session", "version": 3, "id": session_id, "timestamp": "2026-05-01T08:00:00Z"}
    entries: list[dict[str, object]] = [dict(header)]
    entries += [message(f"{number:08x}", text) for number, text in enumerate(texts)]
    return "".join(json.dumps(entry) + "\n" for entry in entries)


def message(entry_id: str, text: str) -> dict[str, object]:
    said = {"role": "user", "content": text, "timestamp": 1_777_622_400_000}
    return {"type": "message", "id": entry_id, "timestamp": "2026-05-01T08:00:00Z", "message": said}


@dataclass
class Host:
    """An OpenClaw with a transcript file, a database in WAL mode, and a memory that has seen both."""

    home: Path
    database_open: sqlite3.Connection = field(default_factory=lambda: sqlite3.connect(":memory:"))
    argv: list[str] = field(default_factory=lambda: ["observe"])

    @property
    def state_dir(self) -> Path:
        return self.home / ".openclaw"

    @property
    def sessions(self) -> Path:
        return self.state_dir / "agents" / "main" / "sessions"

    @property
    def transcript(self) -> Path:
        return self.sessions / f"{SESSION}.jsonl"

    @property
    def database(self) -> Path:
        return self.state_dir / "agents" / "main" / "agent" / "openclaw-agent.sqlite"

    @property
    def workspace(self) -> Path:
        return self.state_dir / "workspace"

    @property
    def memory(self) -> Path:
        return self.workspace / "memory"

    @property
    def records(self) -> list[Path]:
        return sorted((self.home / ".cache" / "total-recall" / "gate").iterdir())

    def observe(self) -> None:
        assert cli.main(self.argv) == 0

    def idle(self) -> None:
        """Run until there is nothing to do, long after the last change; the second run notes the new times."""
        for _ in range(2):
            self.observe()
            self.settle()
        self.observe()

    def settle(self) -> None:
        """Let all the files look as if they had last been written long ago."""
        for path in self.home.rglob("*"):
            os.utime(path, (LONG_AGO, LONG_AGO))

    def nothing_new(self) -> bool:
        return gate.nothing_new(self.argv)


def make_database(path: Path) -> sqlite3.Connection:
    """The part of a store of OpenClaw 2026.9.6 that matters here, held open as the Gateway holds it."""
    path.parent.mkdir(parents=True)
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA journal_mode = WAL")
    db.executescript("""
        CREATE TABLE transcript_events (session_id TEXT NOT NULL, seq INTEGER NOT NULL, event_json TEXT,
          created_at INTEGER NOT NULL, event_zstd BLOB, PRIMARY KEY (session_id, seq));
        CREATE TABLE transcript_rewrite_watermarks (session_id TEXT PRIMARY KEY, generation TEXT, updated_at INTEGER);
        CREATE TABLE session_windows (session_id TEXT PRIMARY KEY, session_key TEXT NOT NULL);
        CREATE TABLE state_leases (owner TEXT);
    """)
    db.execute("INSERT INTO session_windows VALUES (?, 'agent:main:main')", (OTHER,))
    db.execute("INSERT INTO transcript_rewrite_watermarks VALUES (?, 'first', 1)", (OTHER,))
    for seq, line in enumerate(lines(OTHER, "Lunch is at noon", "Anna has the keys").splitlines()):
        say(db, seq, line)
    return db


def say(db: sqlite3.Connection, seq: int, line: str) -> None:
    event = (OTHER, seq, line, 1_777_622_400_000)
    db.execute("INSERT INTO transcript_events (session_id, seq, event_json, created_at) VALUES (?, ?, ?, ?)", event)


@pytest.fixture
def host(home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Host]:
    monkeypatch.chdir(home)
    database = home / ".openclaw" / "agents" / "main" / "agent" / "openclaw-agent.sqlite"
    with closing(make_database(database)) as db:
        made = Host(home, db)
        made.sessions.mkdir()
        made.transcript.write_text(lines(SESSION, "The train leaves at nine", "Bring the tickets"), "utf-8")
        made.idle()
        capsys.readouterr()
        yield made


def test_while_nothing_happens_the_gate_answers(host: Host, capsys: pytest.CaptureFixture[str]) -> None:
    assert host.nothing_new()
    assert host.nothing_new()
    assert capsys.readouterr().out == "Nothing new.\n" * 2


def test_the_gate_answers_in_json_what_the_full_run_says(host: Host, capsys: pytest.CaptureFixture[str]) -> None:
    host.argv = ["observe", "--json"]
    host.idle()
    full_run = capsys.readouterr().out.splitlines(keepends=True)[-1]
    assert host.nothing_new()
    assert capsys.readouterr().out == full_run
    assert json.loads(full_run)["messages"] == 0


def test_an_answer_renews_the_stamp(host: Host) -> None:
    stamp = host.memory / ".observer-last-run"
    stamp.write_text("1\n")
    assert host.nothing_new()
    assert abs(int(stamp.read_text()) - time.time()) < 60


SAME_SIZE = "Bring the biscuit"
"""As long as what it replaces."""


def touch_transcript(host: Host) -> None:
    host.transcript.touch()


def append(host: Host) -> None:
    with host.transcript.open("a") as stream:
        stream.write(json.dumps(message("0000000a", "And the map")) + "\n")


def rewrite_in_the_same_size(host: Host) -> None:
    text = host.transcript.read_text("utf-8")
    host.transcript.write_text(text.replace("Bring the tickets", SAME_SIZE), "utf-8")
    assert len(text) == host.transcript.stat().st_size


def rewrite_in_the_same_size_and_time(host: Host) -> None:
    """As a program does that keeps times: only the inode tells."""
    copy = host.transcript.with_suffix(".new")
    copy.write_text(host.transcript.read_text("utf-8").replace("Bring the tickets", SAME_SIZE), "utf-8")
    copy.replace(host.transcript)
    host.settle()


def new_transcript(host: Host) -> None:
    (host.sessions / "22222222-2222-4333-8444-555555555555.jsonl").write_text(lines("2", "Hello"), "utf-8")


def reset_by_the_host(host: Host) -> None:
    host.transcript.rename(f"{host.transcript}.reset.2026-11-30T06-04-09.191Z")


def delete_transcript(host: Host) -> None:
    host.transcript.unlink()


def delete_and_write_anew(host: Host) -> None:
    text = host.transcript.read_text("utf-8")
    host.transcript.unlink()
    host.transcript.write_text(text, "utf-8")


def new_agent(host: Host) -> None:
    (host.state_dir / "agents" / "helper" / "sessions").mkdir(parents=True)


def new_row_in_the_write_ahead_log(host: Host) -> None:
    say(host.database_open, 7, json.dumps(message("0000000b", "Dinner too")))
    assert host.database.stat().st_mtime == LONG_AGO


def new_row_in_the_database_file(host: Host) -> None:
    say(host.database_open, 7, json.dumps(message("0000000b", "Dinner too")))
    host.database_open.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    host.database_open.execute("PRAGMA journal_mode = DELETE")
    assert not Path(f"{host.database}-wal").exists()


def rewritten_session(host: Host) -> None:
    host.database_open.execute("UPDATE transcript_rewrite_watermarks SET generation = 'second', updated_at = 2")


def last_row_replaced(host: Host) -> None:
    """The new row gets the rowid of the one before it."""
    host.database_open.execute("DELETE FROM transcript_events WHERE rowid = (SELECT max(rowid) FROM transcript_events)")
    say(host.database_open, 7, json.dumps(message("0000000b", "Dinner too")))


def database_gone(host: Host) -> None:
    host.database_open.close()
    host.database.unlink()


def database_damaged(host: Host) -> None:
    host.database_open.close()
    host.database.write_bytes(b"no database" * 1000)


def database_locked(host: Host) -> None:
    host.database_open.execute("PRAGMA locking_mode = EXCLUSIVE")
    host.database_open.execute("INSERT INTO state_leases VALUES ('gateway')")


def setting_in_dotenv(host: Host) -> None:
    (host.workspace / ".env").write_text("TOTAL_RECALL_SESSIONS=main\n")


def host_configuration(host: Host) -> None:
    (host.state_dir / "openclaw.json").write_text('{"session": {"mainKey": "home"}}')


def state_removed(host: Host) -> None:
    (host.memory / ".total-recall" / "state.sqlite").unlink()


def state_in_use(host: Host) -> None:
    """A run with other options writes there, and may be stopped before it is done."""
    with closing(sqlite3.connect(host.memory / ".total-recall" / "state.sqlite")) as db:
        db.execute("CREATE TABLE x (y)")


def memory_removed(host: Host) -> None:
    shutil.rmtree(host.memory)


def memory_elsewhere(host: Host) -> None:
    host.memory.rename(host.workspace / "memories")


def stamp_cannot_be_written(host: Host) -> None:
    (host.memory / ".observer-last-run").unlink()
    (host.memory / ".observer-last-run").mkdir()


def edit_of_the_memory(host: Host) -> None:
    """A line that a person has taken out must leave the ready-made context too."""
    (host.memory / "observations.md").write_text("# mine\n")


CHANGES: list[Callable[[Host], None]] = [
    touch_transcript, append, rewrite_in_the_same_size, rewrite_in_the_same_size_and_time, new_transcript,
    reset_by_the_host, delete_transcript, delete_and_write_anew, new_agent, new_row_in_the_write_ahead_log,
    new_row_in_the_database_file, rewritten_session, last_row_replaced, database_gone, database_damaged,
    database_locked, setting_in_dotenv, host_configuration, state_removed, state_in_use, memory_removed,
    memory_elsewhere, stamp_cannot_be_written, edit_of_the_memory,
]  # fmt: skip


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_after_a_change_the_full_run_looks(
    host: Host, change: Callable[[Host], None], capsys: pytest.CaptureFixture[str]
) -> None:
    change(host)
    assert not host.nothing_new()
    assert capsys.readouterr().out == ""


def write_of_the_host_for_its_own_purposes(host: Host) -> None:
    host.database_open.execute("INSERT INTO state_leases VALUES ('gateway')")
    assert Path(f"{host.database}-wal").stat().st_mtime > LONG_AGO


def checkpoint(host: Host) -> None:
    host.database_open.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert host.database.stat().st_mtime > LONG_AGO


def end_of_the_gateway(host: Host) -> None:
    host.database_open.close()
    assert not Path(f"{host.database}-wal").exists()


def side_file_of_the_host(host: Host) -> None:
    """The index is written at every turn; what is new stands in a transcript."""
    (host.state_dir / "logs").mkdir()


@pytest.mark.parametrize(
    "change",
    [
        write_of_the_host_for_its_own_purposes,
        checkpoint,
        end_of_the_gateway,
        side_file_of_the_host,
    ],
    ids=lambda change: change.__name__,
)
def test_what_brings_nothing_new_needs_no_full_run(host: Host, change: Callable[[Host], None]) -> None:
    change(host)
    assert host.nothing_new()
    assert host.nothing_new()


ENVIRONMENT = [spec.name for spec in settings.SPECS] + ["HOME", "OPENCLAW_STATE_DIR", "OPENCLAW_PROFILE", "TZ"]


def test_another_environment_is_another_question(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ENVIRONMENT:
        with monkeypatch.context() as changed:
            changed.setenv(name, str(host.home / "elsewhere"))
            assert not host.nothing_new(), name
    assert host.nothing_new()


def test_a_relative_path_in_the_settings_means_another_place_in_another_folder(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(host.workspace)
    assert not host.nothing_new()


OTHER_COMMAND_LINES = [
    [], ["status"], ["observe", "--all"], ["observe", "--dry-run"], ["observe", "--json", "--json"],
    ["--json", "observe"], ["observe", "--json"], ["observe", ""], ["observe", "--since", "1h"],
]  # fmt: skip


def test_another_command_line_is_another_question(host: Host) -> None:
    assert not [argv for argv in OTHER_COMMAND_LINES if gate.nothing_new(argv)]


def cut_anywhere(text: str) -> list[str]:
    return [text[:length] for length in range(0, len(text), 7)]


def test_a_torn_record_is_none(host: Host) -> None:
    (record,) = host.records
    whole = record.read_text("utf-8")
    for torn in [*cut_anywhere(whole), whole + "\n", whole.replace("same\t", "", 1), whole * 2]:
        record.write_text(torn, "utf-8")
        assert not host.nothing_new()
    record.write_text(whole, "utf-8")
    assert host.nothing_new()


FOREIGN_RECORDS = [
    b"", b"\0" * 4096, b"\xff\xfe", b"total-recall gate 1\nNothing new.\nend\n", b"{}\n",
    b"total-recall gate 2\nHello\nsame\nend 3\n",
    b"total-recall gate 2\nHello\nsame\t1\t2\nend 3\n",
    b"total-recall gate 2\nHello\nsame\tx\ty\tz\t/\nend 3\n",
    b"total-recall gate 2\nHello\nother\t/\nend 3\n",
    b"total-recall gate 2\nend 1\n",
    b"total-recall gate 2\nHello\nend 2\n",
]  # fmt: skip


def test_a_foreign_file_in_the_place_of_a_record_is_none(host: Host, capsys: pytest.CaptureFixture[str]) -> None:
    for foreign in FOREIGN_RECORDS:
        host.records[0].write_bytes(foreign)
        assert not host.nothing_new(), foreign
    assert capsys.readouterr().out == ""


def test_a_folder_in_the_place_of_a_record_is_none(host: Host) -> None:
    (record,) = host.records
    record.unlink()
    record.mkdir()
    host.idle()
    assert not host.nothing_new()


def test_records_do_not_pile_up(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(gate.KEPT_RECORDS + 3):
        folder = host.home / str(number)
        folder.mkdir()
        monkeypatch.chdir(folder)
        host.observe()
        assert host.nothing_new()
    assert len(host.records) == gate.KEPT_RECORDS


def test_where_the_cache_cannot_be_written_every_run_looks(host: Host) -> None:
    shutil.rmtree(host.home / ".cache" / "total-recall")
    (host.home / ".cache" / "total-recall").write_text("a file")
    host.idle()
    assert not host.nothing_new()


def test_a_run_that_took_something_is_not_the_last(host: Host, capsys: pytest.CaptureFixture[str]) -> None:
    append(host)
    host.settle()
    host.observe()
    assert "1 message" in capsys.readouterr().out
    assert not host.nothing_new()
    host.settle()
    host.observe()
    assert host.nothing_new()


def test_a_warning_is_repeated_by_every_run(host: Host, capsys: pytest.CaptureFixture[str]) -> None:
    (host.sessions / "33333333-2222-4333-8444-555555555555.jsonl").mkdir()
    host.idle()
    assert capsys.readouterr().out.count("warning: 1 × directory or special file") == 3
    assert not host.nothing_new()


def test_a_change_at_the_moment_of_the_run_is_not_trusted(host: Host) -> None:
    """A further one might leave the same time and size."""
    host.transcript.touch()
    host.observe()
    assert not host.nothing_new()


def test_whole_seconds_are_not_trusted_for_two(host: Host) -> None:
    second = int(time.time()) - 1
    os.utime(host.transcript, (second, second))
    host.observe()
    assert not host.nothing_new()


def test_a_time_in_the_future_is_as_good_as_another(host: Host) -> None:
    os.utime(host.transcript, (4_000_000_000, 4_000_000_000))
    host.observe()
    os.utime(host.memory / ".total-recall" / "state.sqlite", (LONG_AGO, LONG_AGO))
    host.observe()
    assert host.nothing_new()


@pytest.mark.parametrize(
    ("folder", "answered"), [("a\ttab", True), ("ünï %3f?#", True), ("a\nline", False), ("\r", True)]
)
def test_odd_paths(home: Path, monkeypatch: pytest.MonkeyPatch, folder: str, answered: bool) -> None:
    """A record has a line for each path, so one with a line end is never recorded."""
    state_dir = home / folder / "state"
    monkeypatch.setenv("OPENCLAW_STATE_DIR", str(state_dir))
    monkeypatch.chdir(home)
    (home / ".openclaw").mkdir()
    database = state_dir / "agents" / "main" / "agent" / "openclaw-agent.sqlite"
    with closing(make_database(database)) as db:
        host = Host(home, db)
        host.idle()
        assert host.nothing_new() == answered
        db.execute("INSERT INTO state_leases VALUES ('gateway')")
        assert host.nothing_new() == answered
        say(db, 7, json.dumps(message("0000000b", "Dinner too")))
        assert not host.nothing_new()


def test_a_new_agent_in_a_sessions_dir_of_its_own(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = home / "store"
    monkeypatch.setenv("SESSIONS_DIR", str(store))
    monkeypatch.chdir(home)
    sessions = store / "agents" / "main" / "sessions"
    sessions.mkdir(parents=True)
    (sessions / f"{SESSION}.jsonl").write_text(lines(SESSION, "The train leaves at nine"), "utf-8")
    (home / ".openclaw").mkdir()
    host = Host(home)
    host.idle()
    assert host.nothing_new()
    (store / "agents" / "helper").mkdir()
    assert not host.nothing_new()


def test_a_database_that_comes_beside_the_sessions_dir(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An upgrade of the host makes it, in a folder of which nothing was seen before."""
    agent = home / ".openclaw" / "agents" / "main"
    monkeypatch.setenv("SESSIONS_DIR", str(agent / "sessions"))
    monkeypatch.chdir(home)
    (agent / "sessions").mkdir(parents=True)
    (agent / "sessions" / f"{SESSION}.jsonl").write_text(lines(SESSION, "The train leaves at nine"), "utf-8")
    host = Host(home)
    host.idle()
    assert host.nothing_new()
    make_database(host.database).close()
    assert not host.nothing_new()


def test_the_question_finds_the_newest_row_without_a_scan(host: Host) -> None:
    (plan,) = [row[3] for row in host.database_open.execute(f"EXPLAIN QUERY PLAN {NEWEST_ROW}")]
    reading = "SCAN transcript_events"
    assert plan == reading
    steps = []
    host.database_open.set_progress_handler(lambda: steps.append(1), 1)
    host.database_open.execute(NEWEST_ROW).fetchone()
    assert len(steps) < 50
