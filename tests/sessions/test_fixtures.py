"""Real stores of five versions: the words of the person and the replies of the assistant, once each, nothing else."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import zstandard

from builders import Home, snapshot, texts_of
from total_recall.sessions.source import Problems
from total_recall.state import State

FIXTURES = Path(__file__).parents[1] / "fixtures"
ALL = sorted(path.name for path in FIXTURES.iterdir())
LABELLED = [name for name in ALL if (FIXTURES / name / "expected.json").exists()]
OBSERVED = ("main", "direct", "group", "explicit")
LONG_TEXT = "Here is a long text. " + " ".join(f"word{number}" for number in range(5200))
SILENT = ("NO_REPLY", "HEARTBEAT_OK", "ANNOUNCE_SKIP", "REPLY_SKIP", "[assistant turn failed before producing content]")

REFUSED = {
    "openclaw-2026.7.1": [LONG_TEXT],
    "openclaw-2026.7.1-upgraded-to-2026.9.6": [LONG_TEXT],
    "openclaw-2026.9.6": [LONG_TEXT, "should auto compact"],
}
"""What the host refused, because the compaction before it failed: it is in no transcript, only among the host's runs."""

Message = tuple[str, str, str, str]
"""Session id, entry id, role, text."""


@pytest.fixture(params=LABELLED)
def labelled(request: pytest.FixtureRequest, tmp_path: Path) -> Home:
    return copied(request.param, tmp_path)


def copied(name: str, folder: Path) -> Home:
    state_dir = folder / name
    shutil.copytree(FIXTURES / name / ".openclaw", state_dir)
    return Home(state_dir, folder / "own")


def expected(home: Home) -> list[dict[str, Any]]:
    sessions: list[dict[str, Any]] = json.loads((FIXTURES / home.root.name / "expected.json").read_text())["sessions"]
    return sessions


def typed(home: Home) -> dict[tuple[str, str], str]:
    """What the person typed in sessions that count, by session and entry id."""
    return {
        (session["sessionId"], user["id"]): LONG_TEXT if user["text"].startswith("(long text") else user["text"]
        for session in expected(home)
        if session["class"] in OBSERVED
        for user in session["user"]
        if user["kind"] == "human"
    }


def stored(home: Home) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """(session id, its entries) of every transcript, read without any of the code under test."""
    for path in sorted(home.sessions.iterdir()):
        if ".jsonl" in path.name and not path.name.endswith(".zst") and ".trajectory" not in path.name:
            entries = [json.loads(line) for line in path.read_text().split("\n") if line]
            yield entries[0]["id"], entries
    if home.database.exists():
        with closing(sqlite3.connect(home.database)) as db:
            for (session_id,) in db.execute("SELECT DISTINCT session_id FROM transcript_events").fetchall():
                query = "SELECT event_json, event_zstd FROM transcript_events WHERE session_id = ? ORDER BY seq"
                rows = db.execute(query, (session_id,))
                yield session_id, [json.loads(plain or zstandard.decompress(packed)) for plain, packed in rows]


def refused_by(home: Home) -> set[str]:
    """The ids of the runs that failed, read without any of the code under test."""
    path = home.root / "state" / "openclaw.sqlite"
    if not path.exists():
        return set()
    with closing(sqlite3.connect(path)) as db:
        return {row[0] for row in db.execute("SELECT run_id FROM task_runs WHERE status IN ('failed', 'timed_out')")}


def replies(home: Home) -> dict[tuple[str, str], str]:
    """What the assistant really said in sessions that count, by session and entry id."""
    observed = {session["sessionId"] for session in expected(home) if session["class"] in OBSERVED}
    found = {}
    for session_id, entries in stored(home):
        kinds = {user["id"]: user["kind"] for s in expected(home) if s["sessionId"] == session_id for user in s["user"]}
        answered = ""
        for entry in (entry for entry in entries if entry["type"] == "message" and session_id in observed):
            message = entry["message"]
            answered = kinds[entry["id"]] if message["role"] == "user" else answered
            blocks = message["content"] if isinstance(message["content"], list) else []
            text = "\n".join(block["text"] for block in blocks if block["type"] == "text")
            by_host = message.get("api") == "cli" or message.get("model") in ("gateway-injected", "delivery-mirror")
            by_host |= answered == "memory-flush"
            if message["role"] == "assistant" and text and text not in SILENT and not by_host:
                found[session_id, entry["id"]] = text
    return found


def taken(home: Home, role: str) -> dict[tuple[str, str], str]:
    messages: list[Message] = texts_of(home.own)
    found = {(session_id, entry_id): text for session_id, entry_id, by, text in messages if by == role}
    assert len(found) == sum(by == role for _, _, by, _ in messages)
    return found


def test_exactly_what_the_person_typed_is_taken_as_typed(labelled: Home) -> None:
    labelled.read()
    refused = refused_by(labelled)
    found = taken(labelled, "user")
    assert {place: text for place, text in found.items() if place[1] not in refused} == typed(labelled)
    assert labelled.counted() == {}


def test_what_was_refused_is_taken_too(labelled: Home) -> None:
    labelled.read()
    refused = refused_by(labelled)
    found = {entry_id: text for (_, entry_id), text in taken(labelled, "user").items() if entry_id in refused}
    assert sorted(found.values()) == sorted(REFUSED.get(labelled.root.name, []))


def test_exactly_the_real_replies_are_taken(labelled: Home) -> None:
    labelled.read()
    assert taken(labelled, "assistant") == replies(labelled)
    assert len(replies(labelled)) > 20


@pytest.mark.parametrize("name", ALL)
def test_a_second_run_takes_nothing(name: str, tmp_path: Path) -> None:
    home = copied(name, tmp_path)
    assert home.read()
    assert home.read() == []
    assert home.counted() == {}


@pytest.mark.parametrize("name", ALL)
def test_reading_everything_again_takes_nothing(name: str, tmp_path: Path) -> None:
    home = copied(name, tmp_path)
    assert home.read()
    assert home.read(promote_since_ms=0) == []


@pytest.mark.parametrize("name", ALL)
def test_a_store_is_left_as_it_was(name: str, tmp_path: Path) -> None:
    home = copied(name, tmp_path)
    before = snapshot(home.root)
    home.read()
    assert snapshot(home.root) == before


def test_an_upgraded_store_yields_only_what_is_new(tmp_path: Path) -> None:
    """The live sessions went into the database with their ids; archives stayed; one turn was added."""
    home = copied("openclaw-2026.7.1", tmp_path)
    home.read()
    before = texts_of(home.own)
    shutil.rmtree(home.root)
    shutil.copytree(FIXTURES / "openclaw-2026.7.1-upgraded-to-2026.9.6" / ".openclaw", home.root)
    new = home.read()
    assert "After the upgrade: I moved to Jeju." in new
    assert len(new) == 2
    assert texts_of(home.own)[: len(before)] == before
    assert home.counted() == {}
    assert home.read() == []


@pytest.mark.parametrize("name", ["openclaw-2026.3.24-jsonl", "openclaw-2026.9.6-sqlite"])
def test_what_was_said_before_and_after_a_new_session_is_there(name: str, tmp_path: Path) -> None:
    texts = " ".join(copied(name, tmp_path).read())
    wanted = ["metric", "412", "oolong", "14 December", "Aurora"] if name.endswith("jsonl") else ["metric", "412"]
    assert [word for word in wanted if word not in texts] == []
    unwanted = ("A new session was", "NO_REPLY", "Subagent Context", "[cron:", "runtime context", "HEARTBEAT_OK")
    assert [words for words in unwanted if words in texts] == []


def test_archives_that_are_not_read_are_named(tmp_path: Path) -> None:
    names = {}
    for name in LABELLED:
        sources = copied(name, tmp_path).sources()
        with State.open(tmp_path / "own") as state:
            for source in sources:
                assert list(source.portions(state, fresh=True, problems=Problems()))[:1] or not source.transcripts()
        names[name] = sum(len(source.unread()) for source in sources)
    assert names == {
        "openclaw-2026.2.19": 0,
        "openclaw-2026.7.1": 0,
        "openclaw-2026.7.1-upgraded-to-2026.9.6": 6,
        "openclaw-2026.9.6": 1,
    }
