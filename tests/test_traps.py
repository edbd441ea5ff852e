"""Traps that people really fell into: identity, line ends, archives, read locks, sentences of the host.

Each is shown through `observe`: what reached the compressor, once, and what did not.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from builders import DELETED, OTHER, RESET, SESSION, Database, Home, append, at, header, line, lines, said
from total_recall import clock
from total_recall.commands import observe, places, status
from total_recall.records import Batch, Observation


class Observed:
    """Runs of `observe` over one home, and every text that was handed to the compressor."""

    def __init__(self, folder: Path) -> None:
        self.home = Home(folder / ".openclaw", folder / ".openclaw/workspace/memory/.total-recall")
        self.env = {"HOME": str(folder)}
        self.handed: list[str] = []
        self.meanwhile: Callable[[], object] = lambda: None
        self.result: observe.Result | None = None

    def run(self) -> list[str]:
        """The texts that one run hands over."""
        before = len(self.handed)
        options = observe.Options(everything=self.result is None)
        self.result = observe.run(options, places.configure(self.env), self._compress)
        return self.handed[before:]

    def warnings(self) -> str:
        assert self.result is not None
        return "\n".join(self.result.problems)

    def _compress(self, batch: Batch) -> tuple[Observation, ...]:
        self.meanwhile()
        self.handed += [message.text for message in batch.messages]
        return ()


@pytest.fixture
def observed(home: Path, monkeypatch: pytest.MonkeyPatch) -> Observed:
    monkeypatch.setattr(clock, "now", lambda: at(0) + timedelta(hours=20))
    made = Observed(home)
    made.home.index({"agent:main:main": SESSION})
    return made


# --- 1. ids are not unique


def test_two_messages_under_one_id_are_both_observed(observed: Observed) -> None:
    path = observed.home.write(said("deadbeef", "the first", 1), said("deadbeef", "the second", 2))
    assert observed.run() == ["the first", "the second"]
    append(path, said("deadbeef", "the third", 3))
    assert observed.run() == ["the third"]
    assert "1 × message whose id was used before in its transcript: both kept" in observed.warnings()


def test_what_a_fork_copied_is_observed_once(observed: Observed) -> None:
    shared = (said("0a0a0a0a", "before the fork", 1), said("0b0b0b0b", "a reply", 2, role="assistant"))
    observed.home.write(*shared, said("0c0c0c0c", "this way", 3))
    assert observed.run() == ["before the fork", "a reply", "this way"]
    observed.home.write(*shared, said("0c0c0c0c", "that way", 4), session_id=OTHER)
    assert observed.run() == ["that way"]


def test_a_message_is_the_same_in_both_stores(observed: Observed) -> None:
    observed.home.write(said("e1", "one", 1), said("e2", "two", 2))
    assert observed.run() == ["one", "two"]
    database = Database(observed.home.database)
    database.session()
    database.add(header(), said("e1", "one", 1), said("e2", "two", 2, MediaPath="/in/1"), said("e3", "three", 3))
    assert observed.run() == ["three"]


# --- 2. lines end at one byte only

SEPARATORS = "a\u2028b\u2029c\u0085d\x1ce\x0bf\x0cg 안녕 🙂"


@pytest.mark.parametrize("raw", [False, True], ids=["escaped", "as bytes"])
def test_line_separators_inside_a_message_end_no_line(observed: Observed, raw: bool) -> None:
    entry = json.dumps(said("e1", SEPARATORS), ensure_ascii=not raw).encode() + b"\n"
    path = observed.home.write(entry)
    assert observed.run() == [SEPARATORS]
    append(path, entry.replace(b'"e1"', b'"e2"').replace(b"a", b"z", 1), said("e3", "later", 5))
    assert observed.run()[-1] == "later"


def test_offsets_are_bytes(observed: Observed) -> None:
    """A reader that counts characters would go on inside a line."""
    path = observed.home.write(*(said(f"e{n}", "가나다 🙂" * 20, n) for n in range(20)))
    assert len(observed.run()) == 20
    append(path, said("z", "끝", 30))
    assert observed.run() == ["끝"]
    assert observed.warnings() == ""


# --- 3. archives


def test_archives_of_files_are_read(observed: Observed) -> None:
    observed.home.write(said("e1", "before a reset", 1), ending=RESET)
    observed.home.write(said("e2", "before a deletion", 2), session_id=OTHER, ending=DELETED)
    assert observed.run() == ["before a reset", "before a deletion"]


def test_archives_that_are_not_read_are_shown(observed: Observed, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (f"{SESSION}.jsonl{DELETED}.0123456789abcdef0123456789abcdef.zst", "cold/0a0b.jsonl.zst"):
        path = observed.home.sessions / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"\x28\xb5\x2f\xfd")
    observed.home.write(said("e1", "live", 1), session_id=OTHER)
    assert observed.run() == ["live"]
    for variable, value in observed.env.items():
        monkeypatch.setenv(variable, value)
    shown = "\n".join(status.run().lines())
    assert shown.count("not read: ") == 2
    assert "cold/0a0b.jsonl.zst" in shown


def test_what_a_person_deletes_in_a_database_is_not_observed_afterwards(observed: Observed) -> None:
    database = Database(observed.home.database)
    database.session()
    database.add(header(), said("e1", "seen before it was deleted", 1))
    assert observed.run() == ["seen before it was deleted"]
    database.add(said("e2", "deleted before it was seen", 2))
    database.delete(0, 1, 2)
    assert observed.run() == []


# --- 4. the host is not held up


def test_no_read_of_the_hosts_database_is_open_while_a_model_thinks(observed: Observed) -> None:
    database = Database(observed.home.database)
    database.session()
    database.add(header(), *(said(f"e{n}", f"text {n} " + "word " * 900, n) for n in range(30)))
    blocked: list[int] = []

    def host_writes() -> None:
        database.add({"type": "label", "id": "x"})
        blocked.append(database.db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0])

    observed.meanwhile = host_writes
    assert len(observed.run()) == 30
    assert len(blocked) > 1
    assert not any(blocked)


def test_the_hosts_database_is_never_copied_nor_written(observed: Observed, monkeypatch: pytest.MonkeyPatch) -> None:
    database = Database(observed.home.database)
    database.session()
    database.add(header(), said("e1", "one", 1))
    opened: list[str] = []
    connect = sqlite3.connect

    def noted(name: object, *args: object, **keywords: object) -> sqlite3.Connection:
        opened.append(str(name))
        db: sqlite3.Connection = connect(name, *args, **keywords)  # type: ignore[call-overload]
        return db

    monkeypatch.setattr(sqlite3, "connect", noted)
    assert observed.run() == ["one"]
    ours = [name for name in opened if "openclaw-agent.sqlite" in name]
    assert ours
    assert all(name.startswith("file:") and name.endswith("?mode=ro") for name in ours)


# --- 5. sentences of the host that look like the person's

HOSTS_OWN = (
    "Continue where you left off. The previous model attempt failed or timed out.",
    "[OpenClaw heartbeat poll]",
    "[OpenClaw cron wake]",
    "System: [2026-11-30 06:10:46 UTC] Exec finished",
    "<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>\nnotes\n<<<END_OPENCLAW_INTERNAL_CONTEXT>>>",
    "A new session was started via /new or /reset. Greet the user.",
)
THE_PERSONS = (
    "can you continue the recipe?",
    "Continue where you left off with the garden plan, please.",
    "What does HEARTBEAT_OK mean?",
    "In the log it says [OpenClaw heartbeat poll], why?",
    "My system: a laptop and [2] screens",
)


@pytest.mark.parametrize("text", HOSTS_OWN)
def test_what_the_host_wrote_is_not_observed(observed: Observed, text: str) -> None:
    observed.home.write(said("e1", "mine", 1), said("e2", text, 2), said("e3", "mine too", 3))
    assert observed.run() == ["mine", "mine too"]


@pytest.mark.parametrize("text", THE_PERSONS)
def test_what_the_person_wrote_is_observed_as_it_is(observed: Observed, text: str) -> None:
    observed.home.write(said("e1", text, 1))
    assert observed.run() == [text]


def test_memory_that_was_read_back_is_not_observed_again(observed: Observed) -> None:
    recalled = "<relevant-memories>\n- likes oolong\n</relevant-memories>\n\nWhat tea do I like?"
    observed.home.write(said("e1", recalled, 1))
    assert observed.run() == ["What tea do I like?"]


@pytest.mark.parametrize("text", ["HEARTBEAT_OK", "**HEARTBEAT_OK**.", "HEARTBEAT_OK\nNothing to report.", "NO_REPLY"])
def test_a_silent_reply_with_or_without_a_tail_is_not_observed(observed: Observed, text: str) -> None:
    observed.home.write(said("e1", "mine", 1), said("e2", text, 2, role="assistant"))
    assert observed.run() == ["mine"]


def test_a_damaged_store_is_told_in_the_answer_once(observed: Observed) -> None:
    path = observed.home.transcript()
    path.write_bytes(lines(header()) + b"\xff\n" + line(said("e1", "one"))[:-9])
    assert observed.run() == []
    assert "1 × line that is no JSON: skipped (first:" in observed.warnings()
    assert "1 × last line incomplete" in observed.warnings()
    append(path, line(said("e1", "one"))[-9:])
    assert observed.run() == ["one"]
    assert observed.warnings() == ""
