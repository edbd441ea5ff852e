"""Real stores: everything that the agent did, once, in order, compared with what a plain reading of the store finds."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import zstandard

from total_recall.commands import logging_events

FIXTURES = Path(__file__).parents[1] / "fixtures"
ALL = sorted(path.name for path in FIXTURES.iterdir() if path.name.startswith("openclaw"))
Rows = list[dict[str, Any]]


@dataclass
class Stored:
    """One session as a plain reading of the store finds it."""

    name: str
    entries: list[dict[str, Any]]
    id: str = field(init=False)

    def __post_init__(self) -> None:
        self.id = self.entries[0]["id"]


@pytest.fixture(params=ALL)
def host(request: pytest.FixtureRequest, home: Path) -> Path:
    return laid_out(request.param, home)


def laid_out(name: str, home: Path) -> Path:
    """A fixture as this user's OpenClaw; its state directory."""
    state_dir = home / ".openclaw"
    shutil.copytree(FIXTURES / name / ".openclaw", state_dir)
    config = state_dir / "openclaw.json"
    if config.exists():
        config.write_text(config.read_text().replace("/home/user", str(home)))
    (home / "fixture").write_text(name)
    return state_dir


def logged(state_dir: Path) -> Rows:
    """The events of a log that was just brought up to date, as any SQLite client reads them, oldest first."""
    logging_events.run(logging_events.Options())
    with closing(sqlite3.connect(state_dir / "workspace" / "memory" / ".total-recall" / "events.sqlite")) as db:
        db.row_factory = sqlite3.Row
        rows = db.execute(
            "SELECT e.*, s.id AS session_id, s.key, s.class, s.parent FROM event e JOIN session s ON s.num = e.session "
            "ORDER BY e.at, e.id"
        )
        return [dict(row) | {"details": json.loads(row["details"] or "{}")} for row in rows]


def stored(state_dir: Path) -> list[Stored]:
    """Every session, read without any of the code under test; each entry once, wherever an upgrade left it."""
    found: dict[str, Stored] = {}
    folder = state_dir / "agents" / "main"
    for path in sorted((folder / "sessions").glob("*.jsonl*")):
        if re.search(r"trajectory|\.zst$|\.lock$", path.name):
            continue
        read = Stored(path.name, [json.loads(line) for line in path.read_bytes().split(b"\n") if line.strip()])
        found[read.id] = read
    database = folder / "agent" / "openclaw-agent.sqlite"
    if database.exists():
        with closing(sqlite3.connect(database)) as db:
            query = "SELECT session_id, event_json, event_zstd FROM transcript_events ORDER BY session_id, seq"
            entries: dict[str, list[dict[str, Any]]] = {}
            for session_id, plain, packed in db.execute(query):
                raw = plain if plain is not None else zstandard.decompress(packed, max_output_size=1 << 22)
                entries.setdefault(session_id, []).append(json.loads(raw))
        for session_id, of_session in entries.items():
            found[session_id] = Stored(session_id, of_session)
    return list(found.values())


def messages(sessions: list[Stored], role: str) -> Iterator[tuple[Stored, dict[str, Any], dict[str, Any]]]:
    for session in sessions:
        for entry in session.entries:
            if entry["type"] == "message" and entry["message"]["role"] == role:
                yield session, entry, entry["message"]


def of(rows: Rows, kind: str) -> Rows:
    return [row for row in rows if row["type"] == kind]


def test_every_tool_call_is_there_once_with_its_result(host: Path) -> None:
    wanted = {}
    for session in stored(host):
        for number, entry in enumerate(session.entries):
            content = entry["message"]["content"] if entry["type"] == "message" else ()
            for block in content if isinstance(content, list) else ():
                if block["type"] == "toolCall":
                    # Ids of calls are given again in later turns.
                    behind = (e["message"] for e in session.entries[number:] if e["type"] == "message")
                    result = next(m for m in behind if m.get("toolCallId") == block["id"])
                    wanted[session.id, entry["id"], block["name"]] = result
    calls = of(logged(host), "tool_call")
    assert Counter((c["session_id"], c["entry"], c["name"]) for c in calls) == Counter(wanted.keys())
    for call in calls:
        result = wanted[call["session_id"], call["entry"], call["name"]]
        text = "\n".join(block["text"] for block in result["content"] if block["type"] == "text")
        assert call["details"]["result"][:100] == text[:100]
        details = result.get("details") or {}
        assert call["exit_code"] == details.get("exitCode")
        failed = result["isError"] or details.get("exitCode") or '"status": "error"' in text
        assert call["ok"] == (0 if failed else 1)
        assert bool(call["error"]) == bool(failed)


def test_the_failing_read_and_the_failing_command_are_failures(host: Path) -> None:
    failed = {(row["name"], row["exit_code"]) for row in of(logged(host), "tool_call") if row["ok"] == 0}
    wanted = {
        (message["toolName"], (message.get("details") or {}).get("exitCode"))
        for _, _, message in messages(stored(host), "toolResult")
        if "missing.md" in str(message["content"]) or (message.get("details") or {}).get("exitCode")
    }
    assert wanted and wanted <= failed


def test_what_people_and_the_host_wrote_is_there_once(host: Path) -> None:
    sessions = stored(host)
    wanted = Counter((session.id, entry["id"]) for session, entry, _ in messages(sessions, "user"))
    said = [row for row in of(logged(host), "user_message") if not row["details"].get("refused")]
    assert Counter((row["session_id"], row["entry"]) for row in said) == wanted


def test_each_human_message_is_called_so(host: Path) -> None:
    path = FIXTURES / (host.parent / "fixture").read_text() / "expected.json"
    if not path.exists():
        pytest.skip("a fixture without labels")
    wanted = {
        user["id"]: user["kind"] for session in json.loads(path.read_text())["sessions"] for user in session["user"]
    }
    rows = [row for row in of(logged(host), "user_message") if row["entry"] in wanted]
    assert rows
    assert all((row["name"] == "human") == (wanted[row["entry"]] == "human") for row in rows)


def test_model_calls_have_their_tokens_and_money(host: Path) -> None:
    wanted: Counter[str] = Counter()
    for _, _, message in messages(stored(host), "assistant"):
        usage = message["usage"]
        of_the_host = message["api"] == "cli" and not usage["totalTokens"]
        if message["model"] not in ("gateway-injected", "delivery-mirror") and not of_the_host:
            wanted["calls"] += 1
            wanted["in"] += usage["input"] + usage["cacheWrite"]
            wanted["out"] += usage["output"]
            wanted["cost"] += round(usage["cost"]["total"] * 1e9)
    calls = of(logged(host), "model_call")
    assert len(calls) == wanted["calls"]
    assert sum(c["tokens_in"] for c in calls) == wanted["in"]
    assert sum(c["tokens_out"] for c in calls) == wanted["out"]
    assert round(sum(c["cost_usd"] for c in calls), 6) == pytest.approx(wanted["cost"] / 1e9)


def test_resets_and_compactions_are_there_once(host: Path) -> None:
    sessions = stored(host)
    rows = logged(host)
    entries = [(session.id, entry) for session in sessions for entry in session.entries]
    put_away = [session for session in sessions if ".jsonl.reset." in session.name]
    in_store = [(session_id, entry["id"]) for session_id, entry in entries if entry["type"] == "reset"]
    resets = [(row["session_id"], row["entry"]) for row in of(rows, "session_reset")]
    assert Counter(resets) == Counter([*in_store, *((session.id, None) for session in put_away)])
    compactions = [(session_id, entry["id"]) for session_id, entry in entries if entry["type"] == "compaction"]
    assert Counter((row["session_id"], row["entry"]) for row in of(rows, "compaction")) == Counter(compactions)
    starts = [row["session_id"] for row in of(rows, "session_start")]
    assert Counter(starts) == Counter(session.id for session in sessions)


def test_errors_of_models_are_there_once(host: Path) -> None:
    wanted = Counter(
        (session.id, entry["id"])
        for session, entry, message in messages(stored(host), "assistant")
        if message.get("stopReason") == "error"
    )
    errors = [row for row in of(logged(host), "error") if row["name"] == "model"]
    assert Counter((row["session_id"], row["entry"]) for row in errors) == wanted
    assert all(row["ok"] == 0 and "500" in row["error"] for row in errors)


def test_the_events_of_a_session_are_in_the_order_of_its_transcript(host: Path) -> None:
    rows = logged(host)
    for session in stored(host):
        order = {entry["id"]: number for number, entry in enumerate(session.entries)}
        told = [
            order[row["entry"]]
            for row in sorted((r for r in rows if r["session_id"] == session.id), key=lambda r: r["id"])
            if row["entry"] in order and row["type"] != "subagent_spawned"
        ]
        assert told == sorted(told)


def test_a_second_run_finds_nothing_new(host: Path) -> None:
    before = logged(host)
    (again,) = logging_events.run(logging_events.Options()).logs
    assert again.events == 0
    assert logged(host) == before


JOBS = {
    "openclaw-2026.2.19": {"tr-iso": 1, "tr-main": 1},
    "openclaw-2026.7.1": {"tr-iso": 1, "tr-main": 1, "tr-cmd": 0},
    "openclaw-2026.7.1-upgraded-to-2026.9.6": {"tr-iso": 1, "tr-main": 1, "tr-cmd": 0},
    "openclaw-2026.9.6": {"tr-iso": 1, "tr-main": 1, "tr-cmd": 0},
}


@pytest.mark.parametrize("name", JOBS)
def test_each_run_of_a_job_is_there_once_with_its_outcome(name: str, home: Path) -> None:
    runs = of(logged(laid_out(name, home)), "cron_run")
    assert Counter({row["name"]: row["ok"] for row in runs}) == Counter(JOBS[name])
    assert len(runs) == len(JOBS[name])
    assert all(row["duration_ms"] > 0 and row["details"]["job_id"] for row in runs)
    (turn,) = [row for row in runs if row["name"] == "tr-iso"]
    assert turn["class"] == "cron" and "UTC 2026" in turn["summary"]


@pytest.mark.parametrize("name", ["openclaw-2026.2.19", "openclaw-2026.7.1", "openclaw-2026.7.1-upgraded-to-2026.9.6"])
def test_the_sub_agent_is_spawned_and_finished_once(name: str, home: Path) -> None:
    rows = logged(laid_out(name, home))
    (spawned,), (finished,) = of(rows, "subagent_spawned"), of(rows, "subagent_finished")
    assert spawned["summary"] == "Count the words in notes.md"
    assert (spawned["name"], finished["name"], finished["ok"]) == ("word-count", "word-count", 1)
    assert spawned["details"]["child_key"] == finished["details"]["child_key"]
    (child,) = {row["session_id"] for row in rows if row["class"] == "subagent"}
    assert spawned["session_id"] != child
    assert {row["parent"] for row in rows if row["session_id"] == child} == {"agent:main:main"}


def test_messages_that_never_reached_the_transcript_are_there(home: Path) -> None:
    """2026.9.6 refused two messages, because the compaction before them failed."""
    rows = logged(laid_out("openclaw-2026.9.6", home))
    refused = [row for row in of(rows, "user_message") if row["details"].get("refused")]
    assert [row["summary"][:20] for row in refused] == ["Here is a long text.", "should auto compact"]
    assert {row["class"] for row in refused} == {"main"}
    failures = [row for row in of(rows, "error") if row["name"] == "run"]
    assert [row["error"][:20] for row in failures] == ["Preflight compaction"] * 2


@pytest.mark.parametrize("name", ["openclaw-2026.7.1", "openclaw-2026.9.6"])
def test_a_deleted_session_has_ended(name: str, home: Path) -> None:
    (ended,) = of(logged(laid_out(name, home)), "session_end")
    assert ended["session_id"].startswith("99999999") and ended["name"] == "deleted"


def test_an_upgrade_makes_nothing_happen_twice(home: Path) -> None:
    state_dir = laid_out("openclaw-2026.7.1", home)
    before = logged(state_dir)
    upgraded = FIXTURES / "openclaw-2026.7.1-upgraded-to-2026.9.6" / ".openclaw"
    for part in ("agents", "state"):
        shutil.rmtree(state_dir / part)
        shutil.copytree(upgraded / part, state_dir / part)
    after = logged(state_dir)
    new = [row for row in after if row["digest"] not in {old["digest"] for old in before}]
    assert Counter(row["type"] for row in new) == {"user_message": 1, "assistant_reply": 1, "model_call": 1}
