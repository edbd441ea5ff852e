"""status: quiet, lagging and stopped are told apart, and looking changes nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from builders import IMPORT_ROOTS, NOW, RESET, Home, append, said, snapshot
from total_recall import clock
from total_recall.commands import observe, places, status
from total_recall.commands.places import Configuration
from total_recall.commands.status import Row
from total_recall.records import ModelCall
from total_recall.settings import wants_colours
from total_recall.state import State

PLUMBER = "The plumber comes on 14 December, he wants 340 EUR."


@pytest.fixture
def openclaw(home: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.setattr(clock, "now", lambda: NOW)
    return Home(home / ".openclaw", home / "unused")


def configured(home: Path, **env: str) -> Configuration:
    return places.configure({"HOME": str(home), "TOTAL_RECALL_TZ": "UTC", **env})


def memory(home: Path) -> Path:
    return home / ".openclaw" / "workspace" / "memory"


def look(home: Path, **env: str) -> status.MemoryStatus:
    (one,) = status.run(configured(home, **env)).memories
    return one


def stamped(home: Path, ago: timedelta) -> None:
    (memory(home) / ".observer-last-run").write_text(f"{round((NOW - ago).timestamp())}\n")


@pytest.mark.parametrize(
    ("new", "ago", "health"),
    [
        (False, timedelta(minutes=10), "quiet"),
        (False, timedelta(days=3), "quiet"),
        (True, timedelta(minutes=10), "lagging"),
        (True, timedelta(minutes=61), "stopped"),
    ],
)
def test_health_is_read_from_the_stamp_and_what_waits(
    openclaw: Home, home: Path, new: bool, ago: timedelta, health: str
) -> None:
    openclaw.write(said("a", PLUMBER))
    assert look(home).health == "never ran"
    observe.run(observe.Options(), configured(home))
    if new:
        append(openclaw.transcript(), said("b", "Invoice 1041 is due on 18 December.", 9))
    stamped(home, ago)
    one = look(home)
    assert (one.health, one.new, one.observed) == (health, int(new), 1)


@pytest.mark.parametrize("content", ["", "soon\n", "9" * 40])
def test_a_stamp_that_cannot_be_read_is_none(openclaw: Home, home: Path, content: str) -> None:
    memory(home).mkdir(parents=True)
    (memory(home) / ".observer-last-run").write_text(content)
    assert look(home).last_stamp in (None, datetime.fromtimestamp(0, timezone.utc))


def test_before_the_first_run_what_is_new_is_what_that_run_would_take(openclaw: Home, home: Path) -> None:
    openclaw.write(said("old", "Long ago.", minute=-3 * 1440), said("a", PLUMBER))
    assert look(home).new == 1
    assert not memory(home).exists()


def test_why_a_run_was_offline_is_seen_in_its_record(openclaw: Home, home: Path) -> None:
    openclaw.write(said("a", PLUMBER))
    env = {"LLM_BASE_URL": "http://127.0.0.1:1/v1"}
    observe.run(observe.Options(), configured(home, **env))
    found = status.run(configured(home, **env))
    assert found.compressor.startswith("offline (") and "LLM_MODEL" in found.compressor
    last = found.memories[0].last_run
    assert last is not None and "no model is named" in last.detail
    assert any(last.detail in line for line in found.lines())


def test_the_compressor_is_named_with_its_order(openclaw: Home, home: Path) -> None:
    env = {"LLM_BASE_URL": "http://127.0.0.1:1/v1", "LLM_MODEL": "one", "OBSERVER_FALLBACK_MODEL": "two"}
    assert status.run(configured(home, **env)).compressor == "one, then two at 127.0.0.1, then offline"
    assert status.run(configured(home)).compressor == "offline (no model is asked)"


def test_a_key_is_never_shown(openclaw: Home, home: Path) -> None:
    found = status.run(configured(home, LLM_API_KEY="case-key-of-this-test", LLM_BASE_URL="http://127.0.0.1:1/v1"))
    everything = json.dumps(found.payload()) + "\n".join(found.lines())
    assert "LLM_API_KEY" in everything and "case-key" not in everything


def test_cost_by_day_and_model(openclaw: Home, home: Path) -> None:
    yesterday = NOW - timedelta(days=1)
    calls = [
        ModelCall(NOW - timedelta(days=31), "observe", "one", "ok", 1.0, 1, 1),
        ModelCall(yesterday, "observe", "one", "ok", 1.0, 100, 10, None, 0.002),
        ModelCall(yesterday, "reflect", "one", "ok", 1.0, 200, 20, None, 0.001),
        ModelCall(yesterday, "observe", "two", "busy", 0.1),
        ModelCall(NOW, "observe", "one", "ok", 1.0, 1000, 100),
    ]
    with State.open(memory(home) / ".total-recall") as state:
        for call in calls:
            state.record_call(call)
    found = status.run(configured(home), cost=True)
    assert found.costs == (
        status.Cost(yesterday.date(), "one", 2, 0, 300, 30, 0.001 + 0.002),
        status.Cost(yesterday.date(), "two", 1, 1, 0, 0, None),
        status.Cost(NOW.date(), "one", 1, 0, 1000, 100, None),
    )
    told = found.lines()
    assert "2 calls, 300 tokens in, 30 out, $0.0030" in told[-3]
    assert "1 call, 1 failed, " in told[-2] and "no price told" in told[-1]
    assert json.loads(json.dumps(found.payload()))["costs"][0]["day"] == "2026-11-29"


def test_a_day_of_the_ledger_is_the_users_own(openclaw: Home, home: Path) -> None:
    with State.open(memory(home) / ".total-recall") as state:
        state.record_call(ModelCall(datetime(2026, 11, 29, 20, tzinfo=timezone.utc), "observe", "m", "ok", 1.0, 1, 1))
    (cost,) = status.run(configured(home, TOTAL_RECALL_TZ="Asia/Seoul"), cost=True).costs or ()
    assert cost.day.isoformat() == "2026-11-30"


def test_without_calls_cost_says_so_and_without_cost_nothing_is_said_of_it(openclaw: Home, home: Path) -> None:
    assert status.run(configured(home), cost=True).lines()[-1] == "No model was asked in the last 30 days."
    assert "costs" not in status.run(configured(home)).payload()


def test_a_configuration_that_cannot_be_read_is_a_warning(openclaw: Home, home: Path) -> None:
    openclaw.write(said("a", PLUMBER))
    (openclaw.root / "openclaw.json").write_text("{agents: ")
    found = status.run(configured(home))
    assert any("openclaw.json" in line for line in found.problems)
    assert any(line.startswith("warning: ") and "openclaw.json" in line for line in found.lines())


def test_sessions_that_are_nowhere_are_a_warning(openclaw: Home, home: Path) -> None:
    found = status.run(configured(home, SESSIONS_DIR=str(home / "nowhere")))
    assert found.memories == () and "nowhere" in found.problems[0]


def test_looking_changes_nothing(openclaw: Home, home: Path) -> None:
    openclaw.write(said("a", PLUMBER))
    openclaw.write(said("b", "Before the reset.", 2), ending=RESET)
    observe.run(observe.Options(), configured(home))
    append(openclaw.transcript(), said("c", "Invoice 1041 is due on 18 December.", 9))
    before = snapshot(home)
    first, second = (status.run(configured(home), cost=True).payload() for _ in range(2))
    assert first == second
    assert snapshot(home) == before
    (one,) = status.run(configured(home)).memories
    assert [(s.kind, s.transcripts) for s in one.stores if s.transcripts] == [("openclaw-files", 2)]


# --- what it shows


def test_everything_a_person_asks_is_on_one_screen(openclaw: Home, home: Path) -> None:
    openclaw.write(said("a", PLUMBER), said("b", "From now on keep answers short.", 2))
    observe.run(observe.Options(), configured(home))
    proposals = memory(home) / "dream-staging"
    proposals.mkdir()
    (proposals / "20261201-001-preference.md").write_text("# Pattern Promotion Proposal\n**Type**: preference\n")
    (one,) = status.run(configured(home)).memories
    assert sum(one.types.values()) == one.observations > 0
    assert [run.command for run in one.runs] == ["observe"] and one.proposals == 1
    assert one.next_out is not None and one.next_out.day >= NOW.date() and one.next_out.due_today == 0
    assert (one.last_day.messages, one.last_day.failed, one.last_day.calls) == (2, 0, 0)
    told = status.run(configured(home)).lines()
    assert len(told) <= 30
    wanted = ("quiet: it works", "above 8,000 words", "aims at 8,000 tokens", "`staging list`", "2 messages")
    for words in wanted:
        assert any(words in line for line in told), words


def test_a_memory_where_nothing_is_yet_says_what_to_do(openclaw: Home, home: Path) -> None:
    openclaw.write(said("a", PLUMBER))
    told = "\n".join(status.run(configured(home)).lines())
    assert "never ran: `setup` makes it work" in told and "nothing that age alone lets go" in told
    assert "nothing in the log; no model was asked" in told


def test_quiet_does_not_hide_that_nothing_runs(openclaw: Home, home: Path) -> None:
    openclaw.write(said("a", PLUMBER))
    observe.run(observe.Options(), configured(home))
    stamped(home, timedelta(days=3))
    assert any("nothing has run for 3 days" in line for line in status.run(configured(home)).lines())


def test_times_are_the_users_own(openclaw: Home, home: Path) -> None:
    openclaw.write(said("a", PLUMBER))
    observe.run(observe.Options(), configured(home))
    stamped(home, timedelta(0))
    told = status.run(configured(home, TOTAL_RECALL_TZ="Asia/Seoul")).lines()
    assert any(line.startswith("Last run    2026-11-30 21:00") for line in told)


def test_settings_that_were_set_are_shown_and_all_on_demand(openclaw: Home, home: Path) -> None:
    config = configured(home, OBSERVER_LINE_THRESHOLD="7")
    few, every = status.run(config).lines(), status.run(config, every_setting=True).lines()
    assert any("OBSERVER_LINE_THRESHOLD  7  (environment)" in line for line in few)
    assert not any("DREAM_PHASE" in line for line in few) and any("DREAM_PHASE" in line for line in every)
    assert "`status --settings` shows all" in few[-1]


def test_a_log_that_is_damaged_is_a_warning(openclaw: Home, home: Path) -> None:
    own = memory(home) / ".total-recall"
    own.mkdir(parents=True)
    (own / "events.sqlite").write_bytes(b"no database " * 1000)
    assert any("events.sqlite cannot be read" in line for line in look(home).problems)


def test_json_keeps_its_fields_and_has_the_new_ones(openclaw: Home, home: Path) -> None:
    openclaw.write(said("a", PLUMBER))
    observe.run(observe.Options(), configured(home))
    (one,) = json.loads(json.dumps(status.run(configured(home)).payload()))["memories"]
    older = {"memory_dir", "agents", "health", "stores", "observations", "priorities", "words", "tokens", "warnings"}
    older |= {"observed_messages", "new_messages", "waiting_messages", "oldest_waiting", "last_run", "last_result"}
    assert older | {"compressor", "types", "runs", "proposals", "next_out", "last_day"} == set(one)
    assert one["runs"]["observe"]["outcome"] == "done" and one["next_out"]["rule"] in ("faded", "expired")


# --- on a terminal


def test_bars_and_colours_are_for_terminals_alone(openclaw: Home, home: Path) -> None:
    openclaw.write(said("a", PLUMBER))
    observe.run(observe.Options(), configured(home))
    found = status.run(configured(home))
    plain = "\n".join(found.lines())
    drawn, black = ("\n".join(found.screen(90, colours)) for colours in (True, False))
    assert "█" not in plain and "\x1b" not in plain
    assert "█" in drawn and "\x1b[32mquiet" in drawn
    assert "█" in black and "\x1b" not in black


@pytest.mark.parametrize("columns", [20, 33, 49, 50, 80, 200])
def test_no_line_is_wider_than_the_terminal(columns: int) -> None:
    rows = [
        Row("메모리", "/home/집/아주/긴/경로/observations.md" * 3, "head"),
        Row("Types", "event 12", share=1.0),
        Row("", "내일 오후 세 시에 치과 예약이 있고 그다음 주에는 세금 신고를 해야 한다 🔴🟡🟢", "bad"),
        Row("", ""),
        Row("Settings", ""),
    ]
    drawn = status.screen(rows, columns, False)
    assert max(map(status.width, drawn)) <= columns
    shown = "".join("".join(drawn).split())
    assert all("".join(row.text.split()) in shown for row in rows)


def test_what_was_said_cannot_steer_the_terminal() -> None:
    (line,) = status.screen([Row("Runs", "a\x1b]52;c;aGk=\x07b\x1b[2J")], 80, True)
    assert line.count("\x1b") == 2 and "\x07" not in line


@pytest.mark.parametrize(
    ("env", "wanted"),
    [({}, True), ({"NO_COLOR": "1"}, False), ({"NO_COLOR": ""}, True), ({"TERM": "dumb"}, False)],
)
def test_colours_are_off_where_nobody_wants_them(env: dict[str, str], wanted: bool) -> None:
    assert wants_colours(env) is wanted


@pytest.mark.parametrize(("env", "painted"), [({"TERM": "xterm"}, True), ({"TERM": "xterm", "NO_COLOR": "1"}, False)])
def test_a_real_terminal_gets_bars(openclaw: Home, home: Path, env: dict[str, str], painted: bool) -> None:
    openclaw.write(said("a", PLUMBER))
    observe.run(observe.Options(), configured(home))
    mine, theirs = os.openpty()
    script = "import sys; from total_recall import cli; sys.exit(cli.main(['status']))"
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(IMPORT_ROOTS), **env}
    if not painted:
        assert variables["NO_COLOR"]
    started = subprocess.Popen([sys.executable, "-c", script], stdout=theirs, env=variables)
    os.close(theirs)
    said_there = b""
    try:
        while part := os.read(mine, 65536):
            said_there += part
    except OSError:  # Linux: the other side is closed
        pass
    finally:
        os.close(mine)
    assert started.wait(60) == 0
    assert ("█".encode() in said_there, b"\x1b[" in said_there) == (True, painted)
