"""What goes into the log, from made-up stores: calls with their results, what is kept out, restarts, crashes."""

from __future__ import annotations

import json
import random
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from builders import IMPORT_ROOTS, OTHER, RESET, SESSION, Database, Home, append, at, header, ms, said
from total_recall import cli
from total_recall.commands import logging_events
from total_recall.sidecar.database import Events

Rows = list[dict[str, Any]]


@pytest.fixture
def host(home: Path) -> Home:
    return Home(home / ".openclaw", home / ".openclaw" / "workspace" / "memory" / ".total-recall")


def logged(host: Home) -> Rows:
    """The events after a `log ingest`, oldest first."""
    logging_events.run(logging_events.Options())
    return events(host)


def events(host: Home) -> Rows:
    with closing(sqlite3.connect(host.own / "events.sqlite")) as db:
        db.row_factory = sqlite3.Row
        query = (
            "SELECT e.*, s.id AS session_id, s.class FROM event e JOIN session s ON s.num = e.session ORDER BY at, e.id"
        )
        return [dict(row) | {"details": json.loads(row["details"] or "{}")} for row in db.execute(query)]


def told(rows: Rows, *names: str) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in names) for row in rows]


def of(rows: Rows, kind: str) -> Rows:
    return [row for row in rows if row["type"] == kind]


def call(entry_id: str, call_id: str, arguments: object, minute: float, name: str = "exec") -> dict[str, Any]:
    block = {"type": "toolCall", "id": call_id, "name": name, "arguments": arguments}
    return said(
        entry_id, [block], minute, "assistant", model="m", usage={"input": 5, "output": 1}, stopReason="toolUse"
    )


def result(entry_id: str, call_id: str, text: str, minute: float, **message: object) -> dict[str, Any]:
    content = [{"type": "text", "text": text}]
    return said(entry_id, content, minute, "toolResult", toolCallId=call_id, toolName="exec", **message)


OUTCOMES: list[tuple[str, dict[str, Any], str, int, str]] = [
    ("completed", {"details": {"status": "completed", "exitCode": 0}}, "fine", 1, ""),
    ("no details", {}, "Successfully wrote 3 bytes", 1, ""),
    ("still running", {"details": {"status": "running"}}, "started", 1, ""),
    ("an exit code without isError", {"details": {"exitCode": 3}, "isError": False}, "a\nb\n", 0, "exit code 3: b"),
    ("isError", {"isError": True}, "Tool x not found", 0, "Tool x not found"),
    ("details.status", {"details": {"status": "error", "error": "ENOENT: gone"}}, "{}", 0, "ENOENT: gone"),
    ("status in the text", {"isError": False}, '{"status": "error", "error": "no"}', 0, "no"),
    ("status in indented text", {"isError": False}, '{\n  "status": "error",\n  "message": "no"\n}', 0, "no"),
    ("killed", {"details": {"exitSignal": "SIGKILL", "exitCode": None}}, "", 0, "failed"),
    ("the word error in the text is none", {"isError": False}, "status: error, said the log", 1, ""),
    ("JSON of another kind", {"isError": False}, '{"status": "accepted"}', 1, ""),
]


@pytest.mark.parametrize(("message", "text", "ok", "error"), [o[1:] for o in OUTCOMES], ids=[o[0] for o in OUTCOMES])
def test_success_is_read_from_what_the_tool_reported(
    host: Home, message: dict[str, Any], text: str, ok: int, error: str
) -> None:
    host.write(said("u", "go"), call("a", "c1", {"command": "x"}, 2), result("r", "c1", text, 3, **message))
    (row,) = of(logged(host), "tool_call")
    assert (row["ok"], row["error"] or "") == (ok, error)


WRAPPED: list[tuple[Mapping[str, Any], str, object]] = [
    ({"name": "web_search", "arguments": {"query": "q"}}, "web_search", {"query": "q"}),
    ({"tool": "web_search", "args": {"query": "q"}}, "web_search", {"query": "q"}),
    ({"name": "web_search", "arguments": '{"query": "q"}'}, "web_search", {"query": "q"}),
    ({"name": "web_search", "query": "q"}, "web_search", {"query": "q"}),
    ({"id": "openclaw:core:web_search", "args": {"query": "q"}}, "web_search", {"query": "q"}),
    ({"query": "q"}, "tool_call", {"query": "q"}),
]


@pytest.mark.parametrize(("arguments", "name", "inner"), WRAPPED)
def test_tool_call_is_unwrapped(host: Home, arguments: Mapping[str, Any], name: str, inner: object) -> None:
    host.write(said("u", "go"), call("a", "c1", arguments, 2, "tool_call"), result("r", "c1", "fine", 3))
    (row,) = of(logged(host), "tool_call")
    assert (row["name"], row["details"]["arguments"], row["summary"]) == (name, inner, "q")


def test_a_sub_agent_behind_tool_call_is_told(host: Home) -> None:
    told_by = {"status": "accepted", "childSessionKey": "agent:main:subagent:1", "runId": "r1"}
    inner = {"content": [{"type": "text", "text": json.dumps(told_by)}]}
    answer = json.dumps({"tool": {"id": "openclaw:core:sessions_spawn"}, "result": inner}, indent=2)
    spawn = {"id": "sessions_spawn", "args": {"task": "Count the words", "label": "count"}}
    host.write(said("u", "go"), call("a", "c1", spawn, 2, "tool_call"))
    append(host.transcript(), {**result("r", "c1", answer, 3), "message": {
        **result("r", "c1", answer, 3)["message"], "toolName": "tool_call"}})  # fmt: skip
    (spawned,) = of(logged(host), "subagent_spawned")
    assert (spawned["summary"], spawned["name"]) == ("Count the words", "count")
    assert spawned["details"] == {"child_key": "agent:main:subagent:1", "run_id": "r1"}


def test_ids_of_calls_repeat_from_turn_to_turn(host: Home) -> None:
    """The first call was interrupted; its id is given again, and the result is that of the second one."""
    host.write(
        said("u1", "go"), call("a1", "call_0", {"command": "first"}, 2),
        said("u2", "again", 3), call("a2", "call_0", {"command": "second"}, 4), result("r2", "call_0", "done", 5),
    )  # fmt: skip
    rows = of(logged(host), "tool_call")
    assert told(rows, "summary", "ok") == [("first", None), ("second", 1)]


def test_parallel_calls_are_joined_by_their_ids(host: Home) -> None:
    blocks = [{"type": "toolCall", "id": f"c{n}", "name": "exec", "arguments": {"command": f"n{n}"}} for n in range(3)]
    host.write(
        said("u", "go"), said("a", blocks, 2, "assistant", model="m", stopReason="toolUse"),
        result("r2", "c2", "two", 3), result("r0", "c0", "zero", 4), result("r1", "c1", "one", 5),
    )  # fmt: skip
    rows = of(logged(host), "tool_call")
    assert [(r["summary"], r["details"]["result"]) for r in rows] == [("n0", "zero"), ("n1", "one"), ("n2", "two")]


def test_a_result_that_comes_in_a_later_run_is_joined(host: Home) -> None:
    path = host.write(said("u", "go"), call("a", "c1", {"command": "sleep", "note": None}, 2))
    assert told(of(logged(host), "tool_call"), "summary", "ok") == [("sleep", None)]
    append(path, result("r", "c1", "slept well", 4, details={"exitCode": 0, "durationMs": 99}))
    (row,) = of(logged(host), "tool_call")
    assert (row["ok"], row["duration_ms"], row["details"]["result"]) == (1, 99, "slept well")
    assert row["details"]["arguments"]["command"] == "sleep"
    assert found(host, "slept") == found(host, "sleep") == [row["id"]]


def found(host: Home, words: str) -> list[int]:
    from total_recall.sidecar.fulltext import match_query

    with Events.open(host.own) as log:
        query = "SELECT rowid FROM event_text WHERE event_text MATCH ? ORDER BY rowid"
        return [row[0] for row in log.db.execute(query, (match_query(words),))]


def test_words_are_found_in_any_script(host: Home) -> None:
    host.write(said("u1", "내일 재결제를 부탁해요"), said("u2", "会議は金曜日です", 2))
    append(host.transcript(), said("u3", "Renew the Zürich lease", 3))
    by_entry = {row["entry"]: row["id"] for row in logged(host)}
    asked = {"결제": "u1", "내일 결제": "u1", "요": "u1", "金曜": "u2", "zurich": "u3", "ren lea": "u3"}
    for words, entry in asked.items():
        assert found(host, words) == [by_entry[entry]], words
    assert found(host, "Zürich tomorrow") == []


def test_a_result_without_its_call_is_told_as_that(host: Home) -> None:
    host.write(said("u", "go"), result("r", "lost", "fine", 3), result("r2", "lost", "fine", 4))
    (row,) = of(logged(host), "tool_call")
    assert (row["name"], row["ok"], row["details"]["call"]) == ("exec", 1, "not found")


def test_an_aborted_turn_is_one_error(host: Home) -> None:
    prompt = {"type": "custom", "customType": "openclaw:prompt-error", "id": "p", "timestamp": at(2).isoformat(),
              "data": {"error": "aborted"}}  # fmt: skip
    aborted = said("a", [], 3, "assistant", stopReason="aborted", errorMessage="Request was aborted.", model="m")
    host.write(said("u", "go"), prompt, {**aborted, "parentId": "p"})
    assert told(of(logged(host), "error"), "ok", "error") == [(0, "aborted")]


def test_the_same_session_in_files_and_in_a_database_counts_once(host: Home) -> None:
    entries = [said("u", "hello"), call("a", "c1", {"command": "x"}, 2), result("r", "c1", "fine", 3)]
    host.write(*entries)
    before = logged(host)
    database = Database(host.database)
    database.session()
    database.add(header(), *entries, said("u2", "after the upgrade", 9))
    database.close()
    after = logged(host)
    assert [row["entry"] for row in after if row["digest"] not in {b["digest"] for b in before}] == ["u2"]
    assert {row["class"] for row in after} == {"main"}


def test_a_fork_has_only_what_is_new_in_it(host: Home) -> None:
    entries = [said("u", "hello"), said("a", [{"type": "text", "text": "hi"}], 2, "assistant", model="m")]
    host.write(*entries)
    host.write(*entries, said("u2", "in the fork", 5), session_id=OTHER)
    assert [(r["session_id"], r["entry"]) for r in of(logged(host), "user_message")] == [(SESSION, "u"), (OTHER, "u2")]


def test_one_id_may_stand_for_two_entries(host: Home) -> None:
    host.write(said("8f", "one"), said("8f", "two", 2))
    assert told(of(logged(host), "user_message"), "summary") == [("one",), ("two",)]


def test_a_rename_is_a_reset_and_nothing_is_told_twice(host: Home) -> None:
    path = host.write(said("u", "hello"))
    logged(host)
    path.rename(f"{path}{RESET}")
    rows = logged(host)
    (reset,) = of(rows, "session_reset")
    assert reset["at"] == ms(at(4)) + 9_191 and len(of(rows, "user_message")) == 1
    assert logged(host) == rows


EXCLUDED = ["session:agent:main:main", f"session:{SESSION}", "session:0a0c*"]


@pytest.mark.parametrize("rule", EXCLUDED)
def test_nothing_is_logged_of_a_session_that_is_kept_out(
    host: Home, rule: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOTAL_RECALL_EXCLUDE", rule)
    host.index({"agent:main:main": SESSION})
    host.write(said("u", "hello"), call("a", "c1", {"command": "x"}, 2), result("r", "c1", "fine", 3))
    assert [row for row in logged(host) if row["session_id"] == SESSION] == []


@pytest.mark.parametrize("words", ["Off the record: the surprise is a boat.", "the surprise concerns a boat"])
def test_a_turn_that_is_kept_out_leaves_no_words(host: Home, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOTAL_RECALL_EXCLUDE", "text:surprise")
    path = host.write(said("u0", "hello", 0.5), said("u", words))
    logged(host)
    answer = said("a2", [{"type": "text", "text": "a boat, I see"}], 4, "assistant", model="m", usage={"input": 7})
    append(path, call("a", "c1", {"command": "buy boat"}, 2), result("r", "c1", "boat bought", 3, isError=True), answer)
    append(path, said("u3", "What time is it?", 5))
    rows = logged(host)
    assert "boat" not in json.dumps(rows) and b"boat" not in written(host)
    assert told(of(rows, "tool_call"), "name", "ok", "summary", "error") == [("exec", 0, "", None)]
    assert told(of(rows, "user_message"), "summary") == [("hello",), ("What time is it?",)]
    assert [row["tokens_in"] for row in of(rows, "model_call")] == [5, 7]


def written(host: Home) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(host.own.glob("events.sqlite*")))


def test_long_values_are_cut_with_their_length_and_images_are_counted(host: Home) -> None:
    long = "log line\n" * 10_000
    image = {"type": "image", "data": "iVBORw0KGgo" * 5_000, "mimeType": "image/png"}
    host.write(
        said("u", [{"type": "text", "text": "Look"}, image]),
        call("a", "c1", {"content": long, "n": list(range(500)), "deep": [[[[[[[["x"]]]]]]]]}, 2),
        said("r", [{"type": "text", "text": long}, image, image], 3, "toolResult", toolCallId="c1", toolName="exec"),
    )  # fmt: skip
    rows = logged(host)
    (user,), (tool,) = of(rows, "user_message"), of(rows, "tool_call")
    assert user["details"] == {"images": 1} and tool["details"]["images"] == 2
    assert tool["details"]["result"].startswith("log line\nlog") and "[90000 characters, " in tool["details"]["result"]
    assert "[90000 characters, " in tool["details"]["arguments"]["content"]
    assert len(json.dumps(tool["details"])) < 3_000 and b"iVBOR" not in written(host)


STRANGE: list[object] = [
    said("s1", "half a pair \ud83d here"), said("s2", "nul \0 byte"), said("s3", "\x1b[31mred\x1b[0m"), said("s4", ""),
    {"type": "message", "id": "s5", "message": {"role": "user", "content": "no time"}},
    {"type": "message", "message": {"role": "user", "content": "no id", "timestamp": "yesterday"}},
    {"type": "message", "id": 7, "timestamp": None, "message": {"role": "user", "content": [{"type": "text"}]}},
    {"type": "message", "id": "s8", "message": None}, {"type": "reset"}, {"type": "compaction", "details": 3},
    said("s9", "x", 3, "assistant", usage={"input": 10**30, "output": -1, "cost": {"total": "free"}}, model=None),
    said("s10", [{"type": "toolCall", "id": None, "name": None, "arguments": "{not json"}], 4, "assistant"),
    said("s11", [{"type": "toolCall", "id": "c", "name": "n", "arguments": {"n": 10**30}}], 4, "assistant"),
    said("s12", None, 5, "toolResult", toolCallId="c", details={"exitCode": 10**30, "durationMs": float(10**20)}),
    said("s13", "", 5, "bashExecution", command="ls", exitCode=2, output="no such file"),
]  # fmt: skip


def test_strange_entries_are_logged_as_far_as_they_can_be(host: Home) -> None:
    host.write(*STRANGE, b"{broken\n", said("z", "the end", 9))
    rows = logged(host)
    assert told(of(rows, "user_message"), "entry")[-1] == ("z",)
    assert {"s1", "s2", "s3", "s4", "s5"} <= {row["entry"] for row in rows}
    assert ("bash", 0, 2) in told(of(rows, "tool_call"), "name", "ok", "exit_code")
    assert not any(c in row["summary"] for row in rows for c in "\x1b\0\n")
    assert logged(host) == rows


def test_what_the_host_takes_back_and_writes_anew_is_there_once(host: Home) -> None:
    database = Database(host.database)
    database.session()
    database.add(header(), said("u", "hello"), said("h", "[OpenClaw heartbeat poll]", 2))
    logged(host)
    database.delete(2)
    database.add(said("u2", "are you there?", 3))
    database.rewritten("second")
    database.close()
    assert told(of(logged(host), "user_message"), "entry") == [("u",), ("h",), ("u2",)]


CHILD = """
import os, signal, sys
sys.path[:0] = {roots!r}
from total_recall.commands import logging_events
from total_recall.sidecar import database, events, ingest
ingest.GATHERED_EVENTS = 15
left = int(sys.argv[1])
def counted(owner, name):
    original = getattr(owner, name)
    def wrapper(*args, **kwargs):
        global left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return original(*args, **kwargs)
    setattr(owner, name, wrapper)
counted(events.Conversation, "drafts")
for name in ("add", "complete", "move_cursors", "set_waiting", "session"):
    counted(database.Events, name)
logging_events.run(logging_events.Options())
"""


@pytest.mark.parametrize("seed", range(4))
def test_a_reading_that_is_killed_anywhere_goes_on_from_there(host: Home, home: Path, seed: int) -> None:
    """kill -9 at random places, again and again, while the host writes on: all is there, and once."""
    chance = random.Random(seed)
    turns = [
        [said(f"u{n}", f"question {n}", n), call(f"a{n}", "call_0", {"command": f"run {n}"}, n + 0.1),
         result(f"r{n}", "call_0", f"result {n}", n + 0.2, details={"exitCode": n % 3})]
        for n in range(60)
    ]  # fmt: skip
    path = host.write(*(entry for turn in turns[:40] for entry in turn))
    database = Database(host.database)
    database.session(OTHER)
    database.add(header(OTHER), *(said(f"d{n}", f"note {n}", n) for n in range(80)), session_id=OTHER)
    killed = 0
    for turn in turns[40:]:
        command = [sys.executable, "-c", CHILD.format(roots=list(IMPORT_ROOTS)), str(chance.randrange(1, 160))]
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
        assert done.returncode in (0, -signal.SIGKILL), done.stderr
        killed += done.returncode != 0
        for entry in turn:
            append(path, entry)
        if chance.random() < 0.3:
            path = path.rename(f"{host.transcript()}{RESET}") if not str(path).endswith("Z") else path
    assert killed > 5
    rows = logged(host)
    calls = of(rows, "tool_call")
    assert told(calls, "summary") == [(f"run {n}",) for n in range(60)]
    assert [(row["details"]["result"], row["exit_code"]) for row in calls] == [
        (f"result {n}", n % 3) for n in range(60)
    ]
    assert len(of(rows, "user_message")) == 60 + 80
    assert len({row["digest"] for row in rows}) == len(rows)
    assert found(host, "result 41") == [row["id"] for row in calls if row["entry"] == "a41"]
    database.close()


def test_observe_brings_the_log_up_to_date(host: Home, capsys: pytest.CaptureFixture[str]) -> None:
    host.write(said("u", "hello"), call("a", "c1", {"command": "x"}, 2))
    assert cli.main(["observe"]) == 0
    rows = events(host)
    assert of(rows, "tool_call") and [row["name"] for row in of(rows, "own_run")] == ["observe"]


def test_a_dry_run_logs_nothing(host: Home) -> None:
    host.write(said("u", "hello"))
    assert cli.main(["observe", "--dry-run"]) == 0
    assert not host.own.exists()


def test_observe_leaves_a_long_history_to_its_next_runs(
    host: Home, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(logging_events, "BESIDE_SECONDS", 0.0)
    for number in range(4):
        host.write(said(f"u{number}", f"hello {number}"), session_id=f"0a0c0de0-0000-4000-8000-00000000001{number}")
    seen = []
    for _ in range(6):
        assert cli.main(["observe"]) == 0
        seen.append(len(of(events(host), "user_message")))
    assert seen == [1, 2, 3, 4, 4, 4]


def test_a_log_that_cannot_be_used_does_not_stop_observe(host: Home, capsys: pytest.CaptureFixture[str]) -> None:
    host.write(said("u", "hello"))
    assert cli.main(["observe"]) == 0
    (host.own / "events.sqlite").unlink()
    (host.own / "events.sqlite").mkdir()
    append(host.transcript(), said("u2", "hello again", 5))
    assert cli.main(["observe"]) == 0
    assert "the log of events was not brought up to date" in capsys.readouterr().out
