"""Runs with a model that misbehaves: whatever it does, no message is lost and no junk becomes memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from builders import NOW, Home, append, said
from model_server import MODES, ModelServer, by_model, in_turn
from model_server import said as answered
from total_recall import cli, clock
from total_recall.commands import observe, places, reflect, status
from total_recall.llm.client import Client

KEY = "case-key-of-this-test"
TEA = "Remember that my favourite tea is oolong. Then deploy build 412 to staging."
DEADLINE = "The deadline is 14 December, invoice 1041 over 340 EUR."
JUNK = ("hates dogs", "Stub", "<think", "Rate limit", "boom", "Unexpected endpoint", "Sign in", "summary of your")


@pytest.fixture
def openclaw(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Home]:
    monkeypatch.setattr(clock, "now", lambda: NOW)
    defaults: dict[str, Any] = Client.__init__.__kwdefaults__ or {}
    monkeypatch.setitem(defaults, "sleep", lambda _seconds: None)
    openclaw = Home(home / ".openclaw", home / "unused")
    openclaw.write(said("a", TEA), said("b", "Deployed build 412 to staging.", 2, role="assistant"))
    yield openclaw


def run(home: Path, server: ModelServer, options: observe.Options | None = None, **env: str) -> observe.MemoryRun:
    environment = {
        "HOME": str(home),
        "TOTAL_RECALL_TZ": "UTC",
        "LLM_BASE_URL": server.url,
        "LLM_API_KEY": KEY,
        "LLM_MODEL": "first",
        **env,
    }
    (done,) = observe.run(options or observe.Options(), places.configure(environment)).runs
    return done


def document(home: Path) -> str:
    return (home / ".openclaw" / "workspace" / "memory" / "observations.md").read_text(encoding="utf-8")


def test_each_message_is_sent_once_and_the_models_lines_are_kept(openclaw: Home, home: Path) -> None:
    with ModelServer("ok") as server:
        done = run(home, server)
        append(openclaw.transcript(), said("c", DEADLINE, 5))
        run(home, server)
        assert run(home, server).messages == 0
        assert [sum(text in r.user for r in server.requests) for text in (TEA, DEADLINE)] == [1, 1]
        assert {(r.model, r.key) for r in server.requests} == {("first", f"Bearer {KEY}")}
    assert done.compressed_by == "1 by first" and done.notes == ()
    assert document(home).count("oolong") == 1
    assert "2026-12-14" in document(home)


@pytest.mark.parametrize("mode", sorted(MODES.keys() - {"drip", "drip-head", "drip-gzip", "silent"}))
def test_in_every_mode_nothing_is_lost_and_no_junk_is_written(
    openclaw: Home, home: Path, mode: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with ModelServer(mode) as server:
        done = run(home, server)
        assert 1 <= len(server.requests) <= 6
    text = document(home)
    assert (done.messages, done.waiting) == (2, 0)
    assert text.count("oolong") == 1
    assert not [junk for junk in JUNK if junk in text]
    if "offline" in done.compressed_by:
        assert done.notes, "a run that fell back says so"
    for note in done.notes:
        assert "\n" not in note and KEY not in note
    printed = capsys.readouterr()
    assert KEY not in printed.out + printed.err
    for path in home.rglob("*"):
        assert not path.is_file() or KEY.encode() not in path.read_bytes(), path


@pytest.mark.parametrize(
    ("mode", "first_asked"),
    [
        ("http404", 1),
        ("http401", 1),
        ("http402", 1),
        ("http500", 3),
        ("http429", 3),
        ("garbage", 1),
        ("unclosed-think", 2),
    ],
)
def test_the_fallback_model_is_asked_next(openclaw: Home, home: Path, mode: str, first_asked: int) -> None:
    with ModelServer(by_model(first=mode, second="ok")) as server:
        done = run(home, server, OBSERVER_FALLBACK_MODEL="second")
        assert server.calls("first") <= first_asked and server.calls("second") == 1
    assert done.compressed_by == "1 by second"
    assert document(home).count("oolong") == 1


def test_a_model_that_is_gone_is_named_with_what_to_set(openclaw: Home, home: Path) -> None:
    with ModelServer("http404") as server:
        done = run(home, server)
    (note,) = [note for note in done.notes if "first" in note]
    assert "OBSERVER_MODEL" in note and "404" in note
    found = status.run(
        places.configure({"HOME": str(home), "LLM_BASE_URL": "http://127.0.0.1:1/v1", "LLM_MODEL": "first"})
    )
    assert any("404" in line for line in found.lines())


def test_a_quiet_model_is_believed_only_where_there_was_nothing(openclaw: Home, home: Path) -> None:
    with ModelServer("nothing") as server:
        run(home, server)
    assert "oolong" in document(home), "the rules saw a preference that the model denied"
    append(openclaw.transcript(), said("c", "thanks!", 5), said("d", "You're welcome!", 6, role="assistant"))
    before = document(home)
    with ModelServer("nothing") as server:
        run(home, server)
    assert document(home) == before


def test_a_day_can_be_capped_and_the_rest_waits(openclaw: Home, home: Path) -> None:
    with ModelServer("ok") as server:
        run(home, server, TOTAL_RECALL_DAILY_TOKENS="4100")
        append(openclaw.transcript(), said("c", DEADLINE, 5))
        done = run(home, server, TOTAL_RECALL_DAILY_TOKENS="4080")
        assert (done.taken, done.waiting) == (1, 1)
        assert any("TOTAL_RECALL_DAILY_TOKENS" in note for note in done.notes)
        assert len(server.requests) == 1
        (memory,) = status.run(places.configure({"HOME": str(home)})).memories
        assert memory.waiting == 1
        done = run(home, server)
        assert (done.taken, done.waiting) == (0, 0)
    assert "2026-12-14" in document(home)


def test_a_backlog_is_worked_off_in_steps(openclaw: Home, home: Path) -> None:
    openclaw.write(*(said(f"e{n}", f"Invoice {1000 + n} is due on 14 December. " + "word " * 300, n) for n in range(6)))
    with ModelServer("garbage") as server:
        done = run(home, server, observe.Options(max_batches=1), TOTAL_RECALL_BATCH_TOKENS="600")
        assert done.waiting and any("--max-batches" in note for note in done.notes)
        assert run(home, server, TOTAL_RECALL_BATCH_TOKENS="600").waiting == 0
    assert all(f"{1000 + n}" in document(home) for n in range(6))


def test_the_ledger_shows_calls_tokens_and_failures(openclaw: Home, home: Path) -> None:
    with ModelServer(in_turn("http500", "ok")) as server:
        run(home, server)
    found = status.run(places.configure({"HOME": str(home)}), cost=True)
    assert found.costs is not None
    (cost,) = found.costs
    assert (cost.model, cost.calls, cost.failed, cost.tokens_in, cost.tokens_out) == ("first", 2, 1, 4000, 80)
    assert any("first" in line and "4,000" in line for line in found.lines())


def test_a_reflection_tells_which_model_is_gone_and_a_dry_one_is_in_the_ledger_too(openclaw: Home, home: Path) -> None:
    with ModelServer("ok") as server:
        run(home, server)
    with ModelServer(by_model(first="http404", second=answered("keep 1-2"))) as server:
        environment = {
            "HOME": str(home),
            "TOTAL_RECALL_TZ": "UTC",
            "LLM_BASE_URL": server.url,
            "REFLECTOR_MODEL": "first",
            "REFLECTOR_FALLBACK_MODEL": "second",
        }
        config = places.configure(environment)
        for dry_run in (True, False):
            (done,) = reflect.run(reflect.Options(force=True, dry_run=dry_run), config).runs
            (note,) = done.notes
            assert note.startswith("first at 127.0.0.1 answered 404") and "REFLECTOR_MODEL" in note
    found = status.run(config, cost=True).costs
    assert found is not None
    assert [(cost.model, cost.calls, cost.failed) for cost in found] == [("first", 3, 2), ("second", 2, 0)]


def test_a_document_that_is_quoted_back_adds_nothing(openclaw: Home, home: Path) -> None:
    with ModelServer("ok") as server:
        run(home, server)
        before = document(home)
        quoted = "\n".join(line for line in before.split("\n") if line.startswith("- "))
        append(openclaw.transcript(), said("q", f"This is what I remember:\n{quoted}", 7, role="assistant"))
        run(home, server)
        assert not any("dc:id" in request.user for request in server.requests)
    assert document(home) == before


def test_a_context_window_that_is_cut_silently_is_noticed(openclaw: Home, home: Path) -> None:
    openclaw.write(*(said(f"e{n}", f"Invoice {1000 + n} is due on 14 December. " + "word " * 300, n) for n in range(8)))
    with ModelServer(lambda _: answered(usage={"prompt_tokens": 300, "completion_tokens": 20})) as server:
        done = run(home, server)
        assert len(server.requests) > 1
    assert done.waiting == 0 and all(f"{1000 + n}" in document(home) for n in range(8))


def test_without_a_model_name_nobody_is_asked_and_the_run_says_why(openclaw: Home, home: Path) -> None:
    with ModelServer("ok") as server:
        done = run(home, server, LLM_MODEL="")
        assert not server.requests
    assert any("LLM_MODEL" in note for note in done.notes) and "oolong" in document(home)


def test_the_command_line_tells_and_exits_0(
    openclaw: Home, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with ModelServer("http401") as server:
        monkeypatch.setenv("LLM_BASE_URL", server.origin)
        monkeypatch.setenv("LLM_MODEL", "first")
        monkeypatch.setenv("LLM_API_KEY", KEY)
        assert cli.main(["observe"]) == 0
        assert server.requests[0].path == "/v1/chat/completions"
    said_so = capsys.readouterr().out
    assert "LLM_API_KEY" in said_so and KEY not in said_so
