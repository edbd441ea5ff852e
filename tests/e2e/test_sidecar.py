"""The log of events on the real OpenClaw of both generations: everything that the agent did, once, while it runs.

One conversation a version: tool calls that work and that fail, a sub-agent, a job, /new, /reset, a compaction.
The log is brought up to date in the middle of it and at its end, and compared with a plain reading of the host's store.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import pytest

from conversation import COMPACTED, LONG_AGO, RESET
from installed_skill import with_shared_environments
from openclaw_host import OpenClaw, StoredEntry, wait_until
from openclaw_versions import install_root
from scripted_model import Call, Reply, Script
from total_recall_product import TotalRecall

pytestmark = pytest.mark.e2e

COUNT, FAIL, READ, WRITE = "Count the crates, please.", "Try the other way.", "Read the old list.", "Write it down."
SPAWN, TASK, JOB = "Let somebody count the words.", "Count the words in notes.md", "Report the state of the harbour."
SECRET = "sk-" + "or-v1-" + "0123456789abcdef" * 4


def script(version: str) -> Script:
    spawn = {"task": TASK, "label": "word-count"}
    call = Call("sessions_spawn", spawn)
    if version > "2026.8":
        call = Call("tool_call", {"id": "sessions_spawn", "args": spawn})  # type: ignore[dict-item]
    return {
        COUNT: [Call("exec", {"command": "echo 1302-crates"}, text="I count."), Reply("Counted.")],
        FAIL: [Call("exec", {"command": f"export KEY={SECRET}; echo oops >&2; exit 3"}), Reply("It failed.")],
        READ: [Call("read", {"path": "missing.md"}), Reply("There is no such list.")],
        WRITE: [Call("write", {"path": "notes.md", "content": "1302 crates"}), Reply("Written.")],
        SPAWN: [call, Reply("Somebody is at it.")],
    }


@dataclass
class Log:
    """The host after its conversation, and the events of the log, oldest first."""

    host: OpenClaw
    product: TotalRecall
    events: list[dict[str, Any]]

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event["type"] == kind]

    def messages(self, role: str) -> list[StoredEntry]:
        return [entry for entry in self.host.transcript() if entry.role == role]

    def read(self) -> None:
        path = self.product.workspace / "memory" / ".total-recall" / "events.sqlite"
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as db:
            db.row_factory = sqlite3.Row
            rows = db.execute(
                "SELECT e.*, s.id AS session_id, s.key, s.class FROM event e JOIN session s ON s.num = e.session "
                "ORDER BY e.at, e.id"
            )
            self.events = [dict(row) | {"details": json.loads(row["details"] or "{}")} for row in rows]


@pytest.fixture(scope="module")
def log(openclaw: OpenClaw) -> Iterator[Log]:
    shared = install_root() / "total-recall"
    host = with_shared_environments(openclaw, shared)
    host.model.script = {**host.model.script, **script(host.version)}
    host.configure()
    config = json.loads((host.state / "openclaw.json").read_text("utf-8"))
    config["cron"] = {"enabled": True}
    (host.state / "openclaw.json").write_text(json.dumps(config), "utf-8")
    log = Log(host, TotalRecall(host.home, host.workspace, shared), [])
    with host.gateway():
        for text in (COUNT, FAIL, READ, WRITE, SPAWN):
            host.say(text)
        log.product.observe()
        added = host.run_json(
            "cron",
            "add",
            "--name",
            "harbour",
            "--every",
            "4h",
            "--session",
            "isolated",
            "--message",
            JOB,
            "--no-deliver",
        )
        host.run("cron", "run", added["id"])
        wait_until(lambda: any(JOB in str(r["messages"]) for r in host.model.requests), 90, "the job runs")
        host.say("/new")
        host.say(RESET)
        host.say("/reset")
        for text in LONG_AGO:
            host.say(text)
        host.say(COMPACTED)
        host.call("chat.send", sessionKey="agent:main:main", message="/compact", idempotencyKey="compact-1")
        wait_until(
            lambda: any(e.entry["type"] == "compaction" for e in host.transcript()), 60, "the session is compacted"
        )
        log.product.observe()
    log.product.observe()
    log.read()
    yield log


def test_every_tool_call_is_there_once_with_its_result(log: Log) -> None:
    stored = log.host.transcript()
    wanted: Counter[tuple[str, str, str]] = Counter()
    for number, entry in enumerate(stored):
        if entry.role != "assistant":
            continue
        for block in entry.entry["message"]["content"]:
            if block["type"] == "toolCall":
                behind = (e for e in stored[number:] if e.session_id == entry.session_id and e.role == "toolResult")
                result = next(e for e in behind if e.entry["message"]["toolCallId"] == block["id"])
                wanted[entry.session_id, entry.entry["id"], result.text[:60]] += 1
    calls = log.of("tool_call")
    assert Counter((c["session_id"], c["entry"], c["details"]["result"][:60]) for c in calls) == wanted
    assert sum(wanted.values()) >= 5


def test_failures_are_failures_and_the_rest_is_not(log: Log) -> None:
    told = [(c["name"], c["exit_code"], c["ok"]) for c in log.of("tool_call")]
    for call in (("exec", 0, 1), ("exec", 3, 0), ("read", None, 0), ("write", None, 1), ("sessions_spawn", None, 1)):
        assert call in told, told


def test_each_message_is_there_once(log: Log) -> None:
    wanted = Counter((entry.session_id, entry.entry["id"]) for entry in log.messages("user"))
    assert Counter((e["session_id"], e["entry"]) for e in log.of("user_message")) == wanted
    people = [e["summary"] for e in log.of("user_message") if e["name"] == "human" and e["class"] == "main"]
    assert people == [COUNT, FAIL, READ, WRITE, SPAWN, RESET, *LONG_AGO, COMPACTED]


def test_the_sub_agent_is_spawned_and_finished_once(log: Log) -> None:
    (spawned,), (finished,) = log.of("subagent_spawned"), log.of("subagent_finished")
    assert (spawned["summary"], spawned["name"], finished["ok"]) == (TASK, "word-count", 1)
    assert spawned["details"]["child_key"] == finished["details"]["child_key"]
    assert "subagent" in {event["class"] for event in log.events}


def test_the_job_has_run_once(log: Log) -> None:
    (run,) = log.of("cron_run")
    assert (run["name"], run["ok"], run["class"]) == ("harbour", 1, "cron")
    assert run["duration_ms"] > 0


def test_resets_and_the_compaction_are_there_in_order(log: Log) -> None:
    kinds = [e["type"] for e in log.events if e["type"] in ("session_reset", "compaction")]
    assert kinds == ["session_reset", "session_reset", "compaction"]
    marks = {e["summary"]: e["at"] for e in log.of("user_message")}
    first, second = (e["at"] for e in log.of("session_reset"))
    assert marks[SPAWN] < first < marks[RESET] < second < marks[LONG_AGO[0]]


def test_the_key_in_a_command_is_nowhere_in_the_log(log: Log) -> None:
    folder = log.product.workspace / "memory" / ".total-recall"
    written = b"".join(path.read_bytes() for path in sorted(folder.glob("events.sqlite*")))
    assert b"oops" in written and SECRET.encode() not in written
