"""log: what is asked for is shown exactly, as a person, a program or a spreadsheet takes it, in the user's time."""

from __future__ import annotations

import csv
import json
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from happenings import MAIN, Happened, log
from total_recall import cli, clock
from total_recall.commands import log_lines
from total_recall.sidecar.database import NAME, Session
from total_recall.sidecar.rows import Event
from total_recall.sidecar.rows import Session as Known

ROOT = Path(__file__).resolve().parents[2]
NOW = datetime(2026, 11, 30, 12, tzinfo=timezone.utc)
"""A Monday, 21:00 in Seoul."""
WORK = Session("77777777-0000-4000-8000-000000000003", "Work", "agent:work:main", "main")


@pytest.fixture
def own_dir(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the default agent's log is; the user lives in Seoul, and it is NOW."""
    monkeypatch.setenv("TOTAL_RECALL_TZ", "Asia/Seoul")
    monkeypatch.setattr(clock, "now", lambda: NOW)
    (home / ".openclaw" / "agents" / "main" / "sessions").mkdir(parents=True)
    folder = home / ".openclaw" / "workspace" / "memory" / ".total-recall"
    folder.mkdir(parents=True)
    return folder


def run(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    assert cli.main(["log", *arguments]) == code
    return capsys.readouterr().out


def asked(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(run(capsys, *arguments, "--json"))
    return answer


def test_there_is_nothing_before_anything_was_logged(own_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys) == "Nothing of that kind is in the log.\n"
    assert run(capsys, "stats") == "Nothing is in the log of that time.\n"
    assert asked(capsys, "errors")["total"] == 0
    assert run(capsys, "--csv").count("\n") == 1


def test_nothing_at_all_is_there(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys) == "Nothing of that kind is in the log.\n"
    assert run(capsys, "summary") == "There is no log yet.\n"
    assert run(capsys, "prune") == "There is no log yet.\n"
    assert not (home / ".openclaw").exists()


def test_the_first_question_logs_what_the_host_has(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fixture = ROOT / "tests" / "fixtures" / "openclaw-2026.9.6-sqlite" / ".openclaw"
    shutil.copytree(fixture, home / ".openclaw")
    found = asked(capsys, "errors", "--on", "2026-11-30")
    assert [event["name"] for event in found["events"]] == ["read", "sessions_spawn"]


def test_a_line_has_local_time_type_tool_outcome_and_summary(own_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log(
        own_dir,
        [
            Happened("2026-11-29T15:00:00", "user_message", "human", summary="good morning"),
            Happened(
                "2026-11-30T01:02:03", name="exec", ok=False, summary="make all", exit_code=2, duration_ms=4200,
                error="no rule to make target",
            ),
            Happened("2026-11-30T02:00:00", "model_call", "m", tokens_in=1200, tokens_out=30, cost_usd=0.0042),
        ],
    )  # fmt: skip
    assert run(capsys, "--on", "today").splitlines() == [
        "2026-11-30 00:00:00  user_message       human  good morning",
        "2026-11-30 10:02:03  tool_call          exec  FAILED (2)  make all  (no rule to make target)  "
        "[4.2 s, session 5e551011]",
        "2026-11-30 11:00:00  model_call         m  [1,200 tokens in, 30 out, $0.0042]",
    ]


@pytest.mark.parametrize(
    ("tz", "now", "before", "first", "last", "after"),
    [
        ("Asia/Seoul", NOW,
         "2026-11-28T14:59:59.999", "2026-11-28T15:00:00", "2026-11-29T14:59:59.999", "2026-11-29T15:00:00"),
        ("America/New_York", datetime(2026, 11, 2, 12, tzinfo=timezone.utc),
         "2026-11-01T03:59:59.999", "2026-11-01T04:00:00", "2026-11-02T04:59:59.999", "2026-11-02T05:00:00"),
        ("Australia/Lord_Howe", datetime(2026, 10, 5, 1, tzinfo=timezone.utc),
         "2026-10-03T13:29:59.999", "2026-10-03T13:30:00", "2026-10-04T12:59:59.999", "2026-10-04T13:00:00"),
    ],
)  # fmt: skip
def test_all_failed_tool_calls_of_yesterday(
    own_dir: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    tz: str, now: datetime, before: str, first: str, last: str, after: str,
) -> None:  # fmt: skip
    monkeypatch.setenv("TOTAL_RECALL_TZ", tz)
    monkeypatch.setattr(clock, "now", lambda: now)
    log(own_dir, [Happened(at, name="exec", ok=False, summary=at) for at in (before, first, last, after)])
    found = asked(capsys, "--type", "tool_call", "--failed", "--on", "yesterday")
    assert [event["summary"] for event in found["events"]] == [first, last]
    assert (found["total"], found["time_zone"]) == (2, tz)
    since = asked(capsys, "--failed", "--since", "yesterday", "--until", "yesterday")
    assert since["events"] == found["events"]


def test_errors_are_of_this_week_unless_it_is_said_otherwise(own_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log(
        own_dir,
        [
            Happened("2026-11-29T14:59:59", "error", "overloaded", ok=False, summary="on Sunday"),
            Happened("2026-11-29T15:00:00", "error", "overloaded", ok=False, summary="on Monday"),
            Happened("2026-11-30T01:00:00", name="exec", ok=False, summary="a call"),
            Happened("2026-11-30T02:00:00", name="exec", ok=False, summary="another"),
            Happened("2026-11-30T03:00:00", name="exec", ok=True, summary="went well"),
            Happened("2026-11-30T04:00:00", "cron_run", "nightly", ok=False, summary="a run"),
        ],
    )
    lines = run(capsys, "errors").splitlines()
    assert lines[-1] == "4 in all: 2 tool_call exec, 1 cron_run nightly, 1 error overloaded"
    assert len(lines) == 5 and "on Monday" in lines[0]
    assert asked(capsys, "errors", "--on", "지난주")["total"] == 1
    assert asked(capsys, "errors", "--tool", "exec", "--limit", "1")["events"][0]["summary"] == "another"


def test_what_is_not_shown_is_told(own_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log(own_dir, [Happened(f"2026-11-30T01:00:{n:02}", summary=f"call {n}") for n in range(7)])
    lines = run(capsys, "--limit", "3").splitlines()
    assert [line[-6:] for line in lines[:3]] == ["call 4", "call 5", "call 6"]
    assert lines[3] == "The newest 3 of 7 are shown; --limit N shows more, --jsonl all."
    assert asked(capsys, "--limit", "3")["total"] == 7
    assert len(run(capsys, "--limit", "7").splitlines()) == 7


def test_every_memory_answers_in_the_order_of_time(
    own_dir: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / ".openclaw" / "agents" / "Work" / "sessions").mkdir(parents=True)
    config = {"agents": {"list": [{"id": "main"}, {"id": "Work", "workspace": str(home / "work")}]}}
    (home / ".openclaw" / "openclaw.json").write_text(json.dumps(config))
    log(own_dir, [Happened(f"2026-11-30T01:00:0{n}", summary=f"main {n}") for n in (0, 2)])
    log(home / "work" / "memory" / ".total-recall", [Happened("2026-11-30T01:00:01", summary="work 1", session=WORK)])
    assert [event["summary"] for event in asked(capsys)["events"]] == ["main 0", "work 1", "main 2"]
    assert [json.loads(line)["summary"] for line in run(capsys, "--jsonl").splitlines()] == [
        "main 0",
        "work 1",
        "main 2",
    ]
    assert [event["summary"] for event in asked(capsys, "--agent", "work")["events"]] == ["work 1"]
    assert asked(capsys, "--session", "77777777")["total"] == 1
    assert asked(capsys, "stats", "--since", "today")["total"]["count"] == 3


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--session", "nowhere"), "no session 'nowhere'"),
        (("session", "nowhere"), "no session 'nowhere'"),
        (("--agent", "nobody"), "no agent 'nobody'"),
        (("--on", "36h"), "--since 36h"),
        (("--on", "today", "--since", "today"), "--on is a time of its own"),
        (("--since", "today", "--until", "last week"), "is not before --until last week"),
        (("--jsonl", "--json"), "--json is one answer"),
        (("--csv", "--tail"), "--csv has an end"),
        (("export", "--json"), "JSON lines already"),
        (("summary", "week"), "no single day"),
    ],
)
def test_what_does_not_go_together_is_one_line(
    own_dir: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], said: str
) -> None:
    log(own_dir, [Happened("2026-11-30T01:00:00")])
    assert cli.main(["log", *arguments]) == 1
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ("--type", "tool_calls"),
        ("--type", ","),
        ("--since", "soon"),
        ("--limit", "0"),
        ("--jsonl", "--csv"),
        ("session",),
        ("errors", "x"),
    ],
)
def test_wrong_usage_is_2(capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["log", *arguments])
    assert ended.value.code == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ("--since", "today", "errors", "--json"),
        ("errors", "--since", "today", "--json"),
        ("--json", "errors", "--since", "today"),
    ],
)
def test_an_option_may_stand_before_and_behind_the_action(
    own_dir: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]
) -> None:
    log(own_dir, [Happened(at, ok=False) for at in ("2026-11-29T14:00:00", "2026-11-30T01:00:00")])
    assert json.loads(run(capsys, *arguments))["total"] == 1


# --- for programs ----------------------------------------------------------------------------------------------


HOSTILE = "\x1b]0;owned\x07\x1b[31mred\x9b2J\u202eevil\r\nnext\x00"


def test_nothing_that_was_logged_steers_a_terminal(own_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log(
        own_dir,
        [
            Happened(
                "2026-11-30T01:00:00",
                name=HOSTILE,
                ok=False,
                summary=HOSTILE,
                error=HOSTILE,
                details={"result": HOSTILE},
            )
        ],
    )
    for arguments in (
        (),
        ("--jsonl",),
        ("--csv",),
        ("errors",),
        ("stats",),
        ("session", MAIN.id),
        ("--json",),
        ("export",),
    ):
        said = run(capsys, *arguments)
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", said), arguments
    assert json.loads(run(capsys, "--jsonl"))["summary"] == HOSTILE
    assert json.loads(run(capsys, "export"))["summary"] == HOSTILE
    assert "FAILED" in run(capsys) and "redevil next" in run(capsys)


def test_a_table_is_read_back_as_it_was(own_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log(
        own_dir,
        [
            Happened(
                "2026-11-30T01:00:00", name="exec", ok=False, summary='say "a, b"\nand c', exit_code=3, sensitive=True
            ),
            Happened("2026-11-30T02:00:00", "user_message", "human", summary="=HYPERLINK(1)"),
            Happened("2026-11-30T03:00:00", "user_message", "human", summary="-1 결제"),
        ],
    )
    rows = list(csv.DictReader(run(capsys, "--csv").splitlines()))
    assert [row["summary"] for row in rows] == ['say "a, b" and c', "'=HYPERLINK(1)", "'-1 결제"]
    assert (rows[0]["at"], rows[0]["ok"], rows[0]["exit_code"], rows[0]["sensitive"], rows[1]["ok"]) == (
        "2026-11-30T10:00:00.000+09:00", "false", "3", "true", "",
    )  # fmt: skip


def test_json_lines_are_all_of_them_unless_limited(own_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log(own_dir, [Happened(f"2026-11-30T01:{n // 60:02}:{n % 60:02}", summary=str(n)) for n in range(250)])
    assert [json.loads(line)["summary"] for line in run(capsys, "--jsonl").splitlines()] == [str(n) for n in range(250)]
    assert [json.loads(line)["summary"] for line in run(capsys, "--jsonl", "--limit", "2").splitlines()] == [
        "248",
        "249",
    ]


def test_an_hour_that_comes_twice_is_shown_with_its_offset() -> None:
    def shown(hour: int) -> str:
        at = datetime(2026, 11, 1, hour, 30, tzinfo=timezone.utc)
        event = Event(1, at, "error", Known(1, "s", "main", None, None, None), None, None, False, False, "x")
        return log_lines.event_line(event, ZoneInfo("America/New_York")).split("  ")[0]

    assert [shown(hour) for hour in (4, 5, 6, 7)] == [
        "2026-11-01 00:30:00", "2026-11-01 01:30:00-0400", "2026-11-01 01:30:00-0500", "2026-11-01 02:30:00",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("tz", "times", "shown"),
    [
        # Lord Howe Island goes back by half an hour, at 02:00 on 5 April.
        ("Australia/Lord_Howe", ["2026-04-04T14:59:00", "2026-04-04T15:00:00", "2026-04-04T15:30:00"],
         ["── 2026-04-05 Sunday (UTC+1100)", "01:59:00+1100", "── 2026-04-05 Sunday (UTC+1030)", "01:30:00+1030",
          "02:00:00"]),
        ("Asia/Seoul", ["2026-11-30T14:59:59.999", "2026-11-30T15:00:00"],
         ["── 2026-11-30 Monday (UTC+0900)", "23:59:59", "── 2026-12-01 Tuesday (UTC+0900)", "00:00:00"]),
        # 02:00 to 03:00 is not there in New York on 8 March.
        ("America/New_York", ["2026-03-08T06:59:59", "2026-03-08T07:00:00"],
         ["── 2026-03-08 Sunday (UTC-0500)", "01:59:59", "── 2026-03-08 Sunday (UTC-0400)", "03:00:00"]),
    ],
)  # fmt: skip
def test_a_session_over_a_change_of_clocks(
    own_dir: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    tz: str, times: list[str], shown: list[str],
) -> None:  # fmt: skip
    monkeypatch.setenv("TOTAL_RECALL_TZ", tz)
    log(own_dir, [Happened(at, "compaction") for at in times])
    lines = run(capsys, "session", MAIN.id).splitlines()
    assert [line.removesuffix("  compaction") for line in lines[1:-2]] == shown


def test_sessions_are_listed_with_what_they_are_called_by(own_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log(own_dir, [Happened("2026-11-30T01:00:00", "session_start")])
    assert run(capsys, "--type", "session_start") == (
        f"2026-11-30 10:00:00  session_start      {MAIN.id}  agent:main:main\n"
    )


# --- counts, stories, copies -----------------------------------------------------------------------------------


def test_statistics_for_a_person(own_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log(
        own_dir,
        [
            Happened("2026-11-29T14:00:00", name="exec", ok=False, summary="last week"),
            Happened("2026-11-30T01:00:00", name="exec", ok=True, duration_ms=100),
            Happened("2026-11-30T01:00:01", name="exec", ok=False, duration_ms=300),
            Happened("2026-11-30T01:00:02", "user_message", "human", summary="hi"),
            Happened("2026-11-30T01:00:03", "model_call", "m", tokens_in=1000, tokens_out=10, cost_usd=0.5),
            Happened("2026-11-30T01:00:04", "cron_run", "nightly", ok=True, tokens_in=1000, tokens_out=10),
        ],
    )
    said = run(capsys, "stats")
    assert said.startswith("5 events in 1 session, 1 failed (since 2026-11-30 00:00, Asia/Seoul)\n")
    for line in (
        "  2026-11-30        5 events      1 messages       2 tool calls      1 failed  1,000 tokens in, 10 out, "
        "$0.5000",
        "        2  exec: 1 failed (50.0%), 200 ms on average",
        "        1  nightly: 0 failed (0.0%)",
        "        1  m: 1,000 tokens in, 10 out, $0.5000",
        "        1  tool_call exec",
    ):
        assert line in said.splitlines(), said
    found = asked(capsys, "stats")
    assert found["tools"]["exec"]["failure_rate"] == 0.5
    assert (found["total"]["count"], found["total"]["tokens_in"]) == (5, 1000), "a run's tokens are its model calls'"
    assert list(found["days"]) == ["2026-11-30"]
    assert asked(capsys, "stats", "--since", "last week")["tools"]["exec"]["failed"] == 2


def test_what_a_session_did(own_dir: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Over the night on which the clocks go back in New York."""
    monkeypatch.setenv("TOTAL_RECALL_TZ", "America/New_York")
    key = "agent:main:subagent:c1"
    child = Session("c" * 36, "main", key, "subagent", parent=MAIN.key)
    log(
        own_dir,
        [
            Happened("2026-11-01T03:59:00", "user_message", "human", summary="Build it"),
            Happened(
                "2026-11-01T05:30:00", name="exec", ok=False, summary="make", exit_code=2,
                details={"arguments": {"command": "make"}, "result": "line one\n  line two"},
            ),
            Happened("2026-11-01T06:30:00", "subagent_spawned", "look", summary="look", details={"child_key": key}),
            Happened("2026-11-01T06:30:01", "user_message", "subagent-task", summary="look at it", session=child),
            Happened("2026-11-01T06:31:00", "assistant_reply", summary="short", details={"text": "It failed\nbadly"}),
        ],
    )  # fmt: skip
    assert run(capsys, "session", MAIN.id[:8]).splitlines() == [
        f"Session {MAIN.id} (agent:main:main, main)",
        "── 2026-10-31 Saturday (UTC-0400)",
        "23:59:00  user: Build it",
        "── 2026-11-01 Sunday (UTC-0400)",
        "01:30:00-0400  tool_call          exec  FAILED (2)  make  [session 5e551011]",
        "          │ line one",
        "          │   line two",
        "── 2026-11-01 Sunday (UTC-0500)",
        "01:30:00-0500  subagent_spawned   look  look",
        f"    Session {'c' * 36} (agent:main:subagent:c1, subagent)",
        "    ── 2026-11-01 Sunday (UTC-0500)",
        "    01:30:01-0500  user (subagent-task): look at it",
        "01:31:00-0500  assistant: It failed",
        "          │ badly",
        "",
        "5 events, 1 tool call, 1 failed (tool_call exec)",
    ]
    found = asked(capsys, "session", "agent:main:main")
    assert [event["depth"] for event in found["events"]] == [0, 0, 0, 1, 0]
    assert [s["session"] for s in found["sessions"]] == [MAIN.id, "c" * 36]


def test_export_writes_a_new_file_for_the_owner(
    own_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log(own_dir, [Happened(at, summary="결제") for at in ("2026-11-28T00:00:00", "2026-11-30T00:00:00")])
    target = tmp_path / "log.jsonl"
    assert run(capsys, "export", str(target), "--since", "today") == f"{target}: 1 event\n"
    assert target.stat().st_mode & 0o777 == 0o600
    assert [json.loads(line)["summary"] for line in target.read_text().splitlines()] == ["결제"]
    assert run(capsys, "export", str(target), code=1) == ""
    assert run(capsys, "export", str(tmp_path / "nowhere" / "x"), code=1) == ""
    assert [path.name for path in tmp_path.iterdir()] == ["log.jsonl"]
    assert run(capsys, "export").count("\n") == 2


def test_prune_and_vacuum(own_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log(own_dir, [Happened(at) for at in ("2026-11-20T12:00:00", "2026-11-25T12:00:00", "2026-11-30T11:00:00")])
    assert run(capsys, "prune", "--days", "7") == f"{own_dir / NAME}: 1 event removed\n"
    assert asked(capsys)["total"] == 2
    assert asked(capsys, "vacuum")["logs"][0]["freed_bytes"] >= 0
    assert asked(capsys)["total"] == 2


def test_a_damaged_log_is_set_aside_and_the_answer_says_so(own_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (own_dir / NAME).write_bytes(b"no database at all" * 1000)
    found = asked(capsys)
    assert found["total"] == 0 and "built anew" in found["warnings"][0]


def test_a_log_that_cannot_be_written_answers_with_what_it_has(
    own_dir: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from total_recall.commands import logging_events
    from total_recall.errors import MemoryWriteError

    def refuse(*_: object, **__: object) -> None:
        raise MemoryWriteError("the disk is full")

    log(own_dir, [Happened("2026-11-30T01:00:00", summary="still there")])
    monkeypatch.setattr(logging_events, "ingest_place", refuse)
    found = asked(capsys)
    assert found["total"] == 1 and found["warnings"] == ["the log is not up to date: the disk is full"]


# --- as it happens ---------------------------------------------------------------------------------------------


@pytest.fixture
def following(own_dir: Path) -> Iterator[subprocess.Popen[str]]:
    log(own_dir, [Happened("2026-11-30T01:00:00", name="exec", summary="before")])
    command = [sys.executable, "-I", "-X", "utf8", str(ROOT / "scripts" / "run.py"), "log", "--tail", "--jsonl"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    yield process
    process.kill()
    process.wait(10)


def next_line(process: subprocess.Popen[str]) -> dict[str, Any]:
    assert process.stdout is not None
    found: dict[str, Any] = json.loads(process.stdout.readline())
    return found


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_tail_shows_what_comes_and_ends_when_it_is_told(
    own_dir: Path, following: subprocess.Popen[str], number: signal.Signals
) -> None:
    assert next_line(following)["summary"] == "before"
    log(own_dir, [Happened("2026-11-30T00:30:00", summary="logged later, of an earlier time")])
    assert next_line(following)["summary"] == "logged later, of an earlier time"
    following.send_signal(number)
    assert following.wait(20) == 0
    assert following.stderr is not None and following.stderr.read() == ""


def test_tail_ends_when_nobody_reads_any_more(following: subprocess.Popen[str]) -> None:
    assert next_line(following)["summary"] == "before"
    assert following.stdout is not None
    following.stdout.close()
    assert following.wait(20) == 0
