"""Who compresses: the choice as a table, and what a run does with the one that was chosen."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any, Literal

import pytest

from builders import snapshot
from model_server import MODES, Answering, ModelServer, Reply, Request, by_model, error, in_turn, listed
from total_recall import clock
from total_recall.commands import places, status
from total_recall.commands.compressing import (
    Tally,
    asking_reflector,
    choose,
    compressor,
    knowledge_of,
    with_stand_ins,
)
from total_recall.errors import StoreError
from total_recall.llm.client import Client, ModelError
from total_recall.memory.document import parse
from total_recall.memory.store import MemoryStore
from total_recall.records import Batch, Message, Observation
from total_recall.settings import Settings
from total_recall.state import State

NOW = datetime(2026, 11, 30, 12, tzinfo=timezone.utc)
URL = "http://127.0.0.1:1/v1"
TEA = Message("test", "s", None, "a", "user", "Remember that my favourite tea is oolong.", NOW)
BUILD = Message("test", "s", None, "b", "assistant", "Build 412 was deployed to staging.", NOW)
BATCH = Batch("b1", (TEA,), 12)
WHOLE = Batch("b1", (TEA, BUILD), 20)
"""All that a good model of the server has lines about."""
ROUTER = "openrouter.ai"


@pytest.fixture(autouse=True)
def clocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test waits for a model that is asked once more."""
    monkeypatch.setattr(clock, "now", lambda: NOW)
    defaults: dict[str, Any] = Client.__init__.__kwdefaults__ or {}
    monkeypatch.setitem(defaults, "sleep", lambda _seconds: None)


@pytest.fixture
def state(tmp_path: Path) -> Iterator[State]:
    with State.open(tmp_path / ".total-recall") as opened:
        yield opened


def settings(home: Path, **env: str) -> Settings:
    return places.configure({"HOME": str(home), "TOTAL_RECALL_TZ": "UTC", **env}).settings


@pytest.mark.parametrize(
    ("env", "host", "models", "key"),
    [
        ({}, None, (), None),
        ({"LLM_BASE_URL": URL, "LLM_MODEL": "m"}, "127.0.0.1", ("m",), None),
        ({"LLM_BASE_URL": URL, "OBSERVER_MODEL": "o"}, "127.0.0.1", ("o",), None),
        ({"LLM_BASE_URL": URL, "LLM_MODEL": "m", "OBSERVER_MODEL": "o"}, "127.0.0.1", ("o",), None),
        ({"LLM_BASE_URL": URL, "LLM_MODEL": "m", "REFLECTOR_MODEL": "r"}, "127.0.0.1", ("m",), None),
        ({"LLM_BASE_URL": URL, "LLM_MODEL": "m", "OBSERVER_FALLBACK_MODEL": "f"}, "127.0.0.1", ("m", "f"), None),
        ({"LLM_BASE_URL": URL, "LLM_MODEL": "m", "OBSERVER_FALLBACK_MODEL": "m"}, "127.0.0.1", ("m",), None),
        ({"LLM_BASE_URL": URL, "LLM_MODEL": "m", "OPENROUTER_API_KEY": "case-key"}, "127.0.0.1", ("m",), "case-key"),
        ({"OPENROUTER_API_KEY": "case-key", "LLM_MODEL": "m"}, ROUTER, ("m",), "case-key"),
        ({"LLM_API_KEY": "sk-or-case", "LLM_MODEL": "m"}, ROUTER, ("m",), "sk-or-case"),
        ({"LLM_BASE_URL": "https://openrouter.ai/api/v1", "LLM_MODEL": "m"}, ROUTER, ("m",), None),
    ],
)
def test_whom_the_observer_asks(
    env: dict[str, str], host: str | None, models: tuple[str, ...], key: str | None, home: Path
) -> None:
    choice = choose(settings(home, **env), "observer")
    endpoint = choice.endpoint
    assert (endpoint.host if endpoint else None, choice.models) == (host, models)
    assert (endpoint.key if endpoint else None) == key
    assert choice.why_offline is None and not choice.are_defaults


def test_the_reflector_has_models_of_its_own(home: Path) -> None:
    own = {"REFLECTOR_MODEL": "r", "REFLECTOR_FALLBACK_MODEL": "f", "OBSERVER_MODEL": "o"}
    assert choose(settings(home, LLM_BASE_URL=URL, LLM_MODEL="m", **own), "reflector").models == ("r", "f")
    assert choose(settings(home, LLM_BASE_URL=URL, LLM_MODEL="m"), "reflector").models == ("m",)


@pytest.mark.parametrize("purpose", ["observer", "reflector"])
def test_an_openrouter_key_alone_is_enough(purpose: Literal["observer", "reflector"], home: Path) -> None:
    choice = choose(settings(home, OPENROUTER_API_KEY="case-key"), purpose)
    assert choice.endpoint is not None and choice.endpoint.is_openrouter
    assert choice.are_defaults and len(choice.models) >= 2


@pytest.mark.parametrize(
    ("env", "names"),
    [
        ({"LLM_BASE_URL": URL}, ("LLM_BASE_URL", URL, "LLM_MODEL")),
        ({"LLM_BASE_URL": URL, "LLM_API_KEY": "case-key"}, ("LLM_MODEL",)),
        ({"LLM_API_KEY": "case-key"}, ("LLM_BASE_URL",)),
        ({"LLM_MODEL": "m"}, ("LLM_BASE_URL",)),
        ({"OBSERVER_MODEL": "m"}, ("LLM_BASE_URL",)),
    ],
)
def test_half_a_setting_means_offline_and_says_what_is_missing(
    env: dict[str, str], names: tuple[str, ...], home: Path, state: State, tmp_path: Path
) -> None:
    chosen = settings(home, **env)
    why = choose(chosen, "observer").why_offline or ""
    assert choose(chosen, "observer").endpoint is None
    assert all(name in why for name in names) and "case-key" not in why
    tally = Tally()
    with compressor(chosen, state, MemoryStore(tmp_path), tmp_path, tally) as (compress, asks):
        assert not asks and compress(BATCH)
    assert tally.notes == [f"{why}; compressed offline"] and tally.words() == "1 by offline"


def test_nothing_set_is_offline_without_a_word_about_it(home: Path, state: State, tmp_path: Path) -> None:
    tally = Tally()
    with compressor(settings(home), state, MemoryStore(tmp_path), tmp_path, tally) as (compress, asks):
        (observation,) = compress(BATCH)
    assert "oolong" in observation.text and not asks
    assert tally.notes == [] and not tally.fell_back
    assert state.calls(NOW - timedelta(days=1)) == []


def test_a_working_model_does_the_work_and_the_ledger_says_so(home: Path, state: State, tmp_path: Path) -> None:
    tally = Tally()
    with ModelServer("ok") as server:
        chosen = settings(home, LLM_BASE_URL=server.url, LLM_MODEL="first")
        with compressor(chosen, state, MemoryStore(tmp_path), tmp_path, tally) as (compress, asks):
            observations = compress(BATCH)
    assert asks and any("oolong" in o.text for o in observations)
    assert tally.words() == "1 by first" and not tally.fell_back
    (call,) = state.calls(NOW - timedelta(days=1))
    assert (call.purpose, call.model, call.outcome, call.tokens_in, call.tokens_out) == (
        "observe", "first", "ok", 4000, 80,
    )  # fmt: skip
    assert state.tokens_since(NOW - timedelta(days=1)) == 4080


def test_a_failing_model_is_told_of_once_and_the_rules_take_over(home: Path, state: State, tmp_path: Path) -> None:
    tally = Tally()
    with ModelServer("http401") as server:
        chosen = settings(home, LLM_BASE_URL=server.url, LLM_MODEL="first")
        with compressor(chosen, state, MemoryStore(tmp_path), tmp_path, tally) as (compress, _asks):
            for _ in range(3):
                (observation,) = compress(BATCH)
    assert "oolong" in observation.text
    assert tally.fell_back and tally.words() == "3 by offline"
    assert len(tally.notes) == len(set(tally.notes)) and "first" in tally.notes[0]
    assert {call.outcome for call in state.calls(NOW - timedelta(days=1))} != {"ok"}


def test_a_prompt_of_the_users_own_is_the_one_that_is_sent(home: Path, state: State, tmp_path: Path) -> None:
    own = tmp_path / "config" / "total-recall" / "observer-system.txt"
    own.parent.mkdir(parents=True)
    own.write_text("Only tea matters here.")
    with ModelServer("ok") as server:
        chosen = settings(home, LLM_BASE_URL=server.url, LLM_MODEL="first")
        with compressor(chosen, state, MemoryStore(tmp_path), tmp_path, Tally()) as (compress, _asks):
            compress(BATCH)
        (request,) = server.requests
    assert "Only tea matters here." in request.body["messages"][0]["content"]


def test_the_reflector_asks_one_model_after_the_other(home: Path, state: State) -> None:
    with ModelServer(by_model(first="http404", second="prose")) as server:
        both = settings(home, LLM_BASE_URL=server.url, LLM_MODEL="first", REFLECTOR_FALLBACK_MODEL="second")
        with asking_reflector(both, state) as (ask, notes):
            assert ask is not None and notes == []
            assert ask("be brief", "shorten this").startswith("Sure!")
            assert ask("be brief", "and this").startswith("Sure!")
        assert [request.user for request in server.requests] == ["shorten this", "shorten this", "and this"]
        (note,) = notes
        assert note.startswith("first at 127.0.0.1 answered 404") and "REFLECTOR_MODEL" in note
        assert {call.purpose for call in state.calls(NOW - timedelta(days=1))} == {"reflect"}
        assert [call.model for call in state.calls(NOW - timedelta(days=1))] == ["first", "second", "second"]


def test_the_last_models_failure_is_raised_and_those_before_are_told(home: Path, state: State) -> None:
    with ModelServer(by_model(first="http500", second="http401")) as server:
        both = settings(home, LLM_BASE_URL=server.url, LLM_MODEL="first", REFLECTOR_FALLBACK_MODEL="second")
        with asking_reflector(both, state) as (ask, notes), pytest.raises(ModelError, match=r"second .* answered 401"):
            assert ask is not None
            ask("be brief", "shorten this")
    (note,) = notes
    assert note.startswith("first") and "boom" in note


def test_one_model_that_is_gone_is_raised_and_not_told_twice(home: Path, state: State) -> None:
    with ModelServer("http404") as server:
        one = settings(home, LLM_BASE_URL=server.url, LLM_MODEL="first")
        with asking_reflector(one, state) as (ask, notes), pytest.raises(ModelError, match=r"first .* answered 404"):
            assert ask is not None
            ask("be brief", "shorten this")
        assert (len(server.requests), server.lookups, notes) == (1, [], [])


def test_without_an_endpoint_there_is_nobody_to_ask(home: Path, state: State) -> None:
    with asking_reflector(settings(home, LLM_MODEL="m"), state) as (ask, notes):
        assert ask is None and "LLM_BASE_URL" in notes[0] and notes[0].endswith("; reflected offline")
    with asking_reflector(settings(home), state) as (ask, notes):
        assert ask is None and notes == []


@pytest.mark.parametrize(
    ("url", "is_refused"),
    [
        ("https://openrouter.ai/api/v1", True),
        ("https://api.groq.com/openai/v1", True),
        ("http://127.0.0.1:11434", False),
        ("http://ollama:11434/v1", False),
        ("http://192.168.1.4:8080/v1", False),
    ],
)
def test_with_local_only_no_other_computer_is_asked(url: str, is_refused: bool, home: Path) -> None:
    chosen = settings(home, LLM_BASE_URL=url, LLM_MODEL="m", TOTAL_RECALL_LOCAL_ONLY="true")
    for purpose in PURPOSES:
        choice = choose(chosen, purpose)
        assert (choice.endpoint is None) == is_refused
        assert ("TOTAL_RECALL_LOCAL_ONLY" in (choice.why_offline or "")) == is_refused


# --- the free defaults are gone


PURPOSES: tuple[Literal["observer", "reflector"], ...] = ("observer", "reflector")
OBSERVERS = ("stepfun/step-3.5-flash:free", "nvidia/nemotron-3-nano-30b-a3b:free")
REFLECTORS = ("nvidia/nemotron-3-super-120b-a12b:free", "openrouter/hunter-alpha")
CATALOGUE = [
    listed("openrouter/auto", 2_000_000, "-1"),
    listed("openrouter/free", 200_000),
    listed("paid/model", 1_000_000, "0.000001"),
    listed("first/free-a:free", 262_144),
    listed("second/free-b:free", 131_072),
    listed("third/free-c:free", 65_536),
    *(listed(name, 500_000) for name in OBSERVERS),
]


@pytest.fixture
def proxied(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is asked of openrouter.ai reaches the server that a test names in HTTP_PROXY."""
    for name in ("NO_PROXY", "no_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)


def at_openrouter(home: Path, server: ModelServer, monkeypatch: pytest.MonkeyPatch, **env: str) -> Settings:
    """Settings with a key and no model. OpenRouter without TLS, since the proxy is the server."""
    for name in ("HTTP_PROXY", "http_proxy"):
        monkeypatch.setenv(name, server.origin)
    return settings(home, LLM_BASE_URL="http://openrouter.ai/api/v1", OPENROUTER_API_KEY="case-key", **env)


def gone(*names: str) -> Answering:
    """These models are gone; all others work."""

    def answer(request: Request) -> Reply:
        if request.model in names:
            return error(404, f"No endpoints found for {request.model}.")
        return MODES["ok"]

    return answer


def observed(chosen: Settings, state: State, memory: Path, **more: Any) -> Tally:
    """What a run tells that compresses two batches."""
    tally = Tally()
    with compressor(chosen, state, MemoryStore(memory), memory, tally, **more) as (compress, _):
        assert any("oolong" in o.text for o in compress(WHOLE))
        compress(WHOLE)
    return tally


@pytest.mark.usefixtures("proxied")
def test_a_fresh_key_works_on_day_one(
    home: Path, state: State, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ModelServer(gone(*OBSERVERS), CATALOGUE) as server:
        chosen = at_openrouter(home, server, monkeypatch)
        tally = observed(chosen, state, tmp_path)
        assert [r.model for r in server.requests] == [*OBSERVERS, "first/free-a:free", "first/free-a:free"]
        assert [(r.path, r.key) for r in server.lookups] == [("http://openrouter.ai/api/v1/models", None)]
        (note,) = tally.notes
        assert note == (
            "the free models stepfun/step-3.5-flash:free and nvidia/nemotron-3-nano-30b-a3b:free are gone from "
            "OpenRouter; first/free-a:free is asked instead; set OBSERVER_MODEL to choose one yourself"
        )
        assert tally.words() == "2 by first/free-a:free" and not tally.fell_back
        server.requests.clear()
        assert observed(chosen, state, tmp_path).notes == []
        assert {r.model for r in server.requests} == {"first/free-a:free"} and len(server.lookups) == 1
        later = NOW + timedelta(days=8)
        monkeypatch.setattr(clock, "now", lambda: later)
        server.answer = gone()
        server.requests.clear()
        assert observed(chosen, state, tmp_path).words() == f"2 by {OBSERVERS[0]}"


@pytest.mark.usefixtures("proxied")
def test_behind_the_stand_in_stand_others_and_the_free_router_is_the_last(
    home: Path, state: State, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = {"first/free-a:free": "http429", "second/free-b:free": "http500", "openrouter/free": "ok"}
    with ModelServer(by_model(**dict.fromkeys(OBSERVERS, "404-in-200"), **alone), CATALOGUE) as server:
        tally = observed(at_openrouter(home, server, monkeypatch), state, tmp_path)
        assert not {"openrouter/auto", "paid/model"} & {r.model for r in server.requests}
    assert tally.words() == "2 by openrouter/free"


@pytest.mark.usefixtures("proxied")
def test_while_one_default_works_the_list_is_not_asked_for(
    home: Path, state: State, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ModelServer(gone(OBSERVERS[0]), CATALOGUE) as server:
        tally = observed(at_openrouter(home, server, monkeypatch), state, tmp_path)
        assert server.lookups == [] and tally.words() == f"2 by {OBSERVERS[1]}"
    (note,) = tally.notes
    assert OBSERVERS[0] in note and "OBSERVER_MODEL" in note


@pytest.mark.usefixtures("proxied")
@pytest.mark.parametrize("named", ["OBSERVER_MODEL", "LLM_MODEL"])
def test_a_model_that_the_user_named_is_never_replaced(
    named: str, home: Path, state: State, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ModelServer(gone("mine/model"), CATALOGUE) as server:
        tally = observed(at_openrouter(home, server, monkeypatch, **{named: "mine/model"}), state, tmp_path)
        assert ([r.model for r in server.requests], server.lookups) == (["mine/model"], [])
    (note,) = tally.notes
    assert "mine/model" in note and "404" in note and "OBSERVER_MODEL" in note
    assert tally.words() == "2 by offline"


@pytest.mark.usefixtures("proxied")
def test_a_list_that_cannot_be_had_is_tried_again_by_the_next_run(
    home: Path, state: State, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ModelServer(gone(*OBSERVERS), error(503, "down")) as server:
        chosen = at_openrouter(home, server, monkeypatch)
        tally = observed(chosen, state, tmp_path)
        (note,) = tally.notes
        assert "no other free one could be had" in note and "could not be read (503)" in note and "\n" not in note
        assert (tally.words(), len(server.lookups), tally.fell_back) == ("2 by offline", 1, True)
        server.models = ModelServer(models=CATALOGUE).models
        assert observed(chosen, state, tmp_path).words() == "2 by first/free-a:free"


@pytest.mark.usefixtures("proxied")
def test_a_key_that_may_use_no_free_model_is_not_tried_all_the_time(
    home: Path, state: State, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = error(404, "No endpoints found matching your data policy. Configure: https://openrouter.ai/settings/privacy")
    with ModelServer(in_turn(refused), CATALOGUE) as server:
        chosen = at_openrouter(home, server, monkeypatch)
        tally = observed(chosen, state, tmp_path)
        assert (len(server.requests), len(server.lookups)) == (5, 1)
        assert "settings/privacy" in tally.notes[-1] and "OBSERVER_MODEL" in tally.notes[-1]
        choice = with_stand_ins(choose(chosen, "observer"), state, "observer")
        assert choice.endpoint is None and "OBSERVER_MODEL" in (choice.why_offline or "")
        tally = observed(chosen, state, tmp_path)
        assert (len(server.requests), tally.words()) == (5, "2 by offline") and "OBSERVER_MODEL" in tally.notes[0]
        later = NOW + timedelta(minutes=61)
        monkeypatch.setattr(clock, "now", lambda: later)
        server.answer = gone()
        assert observed(chosen, state, tmp_path).words() == f"2 by {OBSERVERS[0]}"


@pytest.mark.usefixtures("proxied")
def test_a_stand_in_that_vanishes_is_replaced_in_turn(
    home: Path, state: State, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ModelServer(gone(*OBSERVERS), CATALOGUE) as server:
        chosen = at_openrouter(home, server, monkeypatch)
        observed(chosen, state, tmp_path)
        server.answer = gone("first/free-a:free", "second/free-b:free", "openrouter/free")
        tally = observed(chosen, state, tmp_path)
        assert tally.words() == "2 by third/free-c:free"
        (note,) = tally.notes
        assert "first/free-a:free" in note and "third/free-c:free is asked instead" in note


@pytest.mark.usefixtures("proxied")
def test_the_reflector_has_stand_ins_of_its_own(home: Path, state: State, monkeypatch: pytest.MonkeyPatch) -> None:
    with ModelServer(gone(*REFLECTORS), CATALOGUE) as server:
        chosen = at_openrouter(home, server, monkeypatch)
        for _ in range(2):
            with asking_reflector(chosen, state) as (ask, notes):
                assert ask is not None and "oolong" in ask("be brief", "shorten this")
            server.lookups.clear()
            if len(server.requests) == 3:
                (note,) = notes
                assert REFLECTORS[0] in note and "REFLECTOR_MODEL" in note
        assert notes == []
        assert [r.model for r in server.requests] == [*REFLECTORS, OBSERVERS[1], OBSERVERS[1]]


@pytest.mark.usefixtures("proxied")
def test_a_reflection_that_nobody_can_do_says_why_in_one_line(
    home: Path, state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ModelServer(gone(*REFLECTORS), []) as server:
        chosen = at_openrouter(home, server, monkeypatch)
        with asking_reflector(chosen, state) as (ask, notes), pytest.raises(ModelError, match="REFLECTOR_MODEL"):
            assert ask is not None
            ask("be brief", "shorten this")
        assert notes == []
        with asking_reflector(chosen, state) as (ask, notes):
            assert ask is None and "REFLECTOR_MODEL" in notes[0]
        assert len(server.lookups) == 1


@pytest.mark.usefixtures("proxied")
def test_status_shows_who_stands_in(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ModelServer(gone(*OBSERVERS), CATALOGUE) as server:
        chosen = at_openrouter(home, server, monkeypatch)
        with State.open(chosen.memory_dir / ".total-recall") as state:
            observed(chosen, state, chosen.memory_dir)
    env = {"HOME": str(home), "LLM_BASE_URL": "http://openrouter.ai/api/v1", "OPENROUTER_API_KEY": "case-key"}
    found = status.run(places.configure(env))
    asked = "first/free-a:free, then second/free-b:free, then openrouter/free at openrouter.ai"
    assert found.compressor.startswith(asked)
    assert f"{OBSERVERS[0]} and {OBSERVERS[1]} are gone" in found.compressor and "OBSERVER_MODEL" in found.compressor
    assert found.memories[0].compressor == found.compressor


# --- patience


def test_when_the_patience_is_used_up_the_rest_is_compressed_offline(home: Path, state: State, tmp_path: Path) -> None:
    tally = Tally()
    with ModelServer("silent") as server:
        chosen = settings(home, LLM_BASE_URL=server.url, LLM_MODEL="first", OBSERVER_FALLBACK_MODEL="second")
        begun = time.monotonic()
        store = MemoryStore(tmp_path)
        with compressor(chosen, state, store, tmp_path, tally, patience_seconds=0.6) as (compress, asks):
            assert asks
            for _ in range(3):
                assert any("oolong" in o.text for o in compress(BATCH))
        took = time.monotonic() - begun
        assert [r.model for r in server.requests] == ["first"]
    assert 0.5 < took < 3.0
    assert tally.notes == ["the model took longer than 0.6 s; compressed offline"]
    assert tally.words() == "3 by offline" and tally.fell_back
    assert [call.outcome for call in state.calls(NOW - timedelta(days=1))] == ["busy"]


def test_the_patience_is_for_all_requests_together(home: Path, state: State, tmp_path: Path) -> None:
    """Each answer comes in time, but not all of them do."""
    tally = Tally()
    with ModelServer("ok") as server:
        quick = server.answer

        def slow(request: Request) -> Reply:
            server.pause(0.4)
            return quick(request)

        server.answer = slow
        chosen = settings(home, LLM_BASE_URL=server.url, LLM_MODEL="first")
        with compressor(chosen, state, MemoryStore(tmp_path), tmp_path, tally, patience_seconds=1.0) as (compress, _):
            for _ in range(5):
                compress(WHOLE)
        assert 2 <= len(server.requests) <= 3
    assert tally.batches["first"] in (1, 2) and tally.batches["offline"] == 5 - tally.batches["first"]
    assert tally.notes == ["the model took longer than 1 s; compressed offline"]


def test_a_model_that_fails_in_time_is_told_as_always(home: Path, state: State, tmp_path: Path) -> None:
    with ModelServer("http401") as server:
        chosen = settings(home, LLM_BASE_URL=server.url, LLM_MODEL="first")
        tally = observed(chosen, state, tmp_path, patience_seconds=30.0)
    (note,) = tally.notes
    assert "401" in note and "longer" not in note


# --- what a dry run spends


def test_a_dry_run_leaves_its_calls_in_the_ledger_and_nothing_else(home: Path, tmp_path: Path) -> None:
    own = tmp_path / ".total-recall"
    State.open(own).close()
    with ModelServer("ok") as server:
        chosen = settings(home, LLM_BASE_URL=server.url, LLM_MODEL="first")
        with State.open_copy(own) as copy:
            tally = observed(chosen, copy, tmp_path, dry_run_of=own)
            assert copy.tokens_since(NOW - timedelta(days=1)) == 2 * 4080, "the day's limit holds within the run"
            with asking_reflector(chosen, copy, dry_run_of=own) as (ask, notes):
                assert ask is not None and ask("be brief", "shorten this")
    with State.open(own) as state:
        calls = state.calls(NOW - timedelta(days=1))
        assert [(c.purpose, c.tokens_in) for c in calls] == [("observe", 4000), ("observe", 4000), ("reflect", 4000)]
        assert state.counts() == {} and state.queue_length() == 0
    assert tally.notes == notes == []


def test_without_a_state_a_dry_run_says_that_its_calls_are_in_no_ledger(home: Path, tmp_path: Path) -> None:
    before = snapshot(tmp_path)
    with ModelServer("ok") as server, State.open_copy(tmp_path / ".total-recall") as copy:
        chosen = settings(home, LLM_BASE_URL=server.url, LLM_MODEL="first")
        tally = observed(chosen, copy, tmp_path, dry_run_of=tmp_path / ".total-recall")
    assert tally.notes == ["what this dry run asked of a model is in no ledger: there is no state before the first run"]
    assert tally.words() == "2 by first" and snapshot(tmp_path) == before


def test_a_ledger_that_cannot_be_written_does_not_stop_a_dry_run(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / ".total-recall"
    State.open(own).close()
    with ModelServer("ok") as server, State.open_copy(own) as copy:

        def busy(*_: object) -> State:
            raise StoreError("state.sqlite is in use")

        monkeypatch.setattr(State, "open", busy)
        chosen = settings(home, LLM_BASE_URL=server.url, LLM_MODEL="first")
        tally = observed(chosen, copy, tmp_path, dry_run_of=own)
    assert tally.notes == ["what this dry run asked of a model is in no ledger: state.sqlite is in use"]


def test_a_tally_tells_each_thing_once() -> None:
    tally = Tally()
    tally.add("first")
    tally.add("offline", ["first: busy"])
    tally.add("offline", ["first: busy"])
    assert tally.words() == "1 by first, 2 by offline" and tally.notes == ["first: busy"]


def remembered(name: str, text: str, **fields: Any) -> Observation:
    usual = {"priority": "medium", "type": "fact", "importance": 5.0, "confidence": 0.9}
    return Observation(name, text, NOW, **{**usual, **fields})


def test_what_a_model_is_told_of_the_memory(tmp_path: Path) -> None:
    """Its last twenty lines; as open, goals without a day and days that come within two months."""
    store = MemoryStore(tmp_path)
    assert knowledge_of(store, NOW, timezone.utc).known == ()
    block = [
        *(remembered(f"old{n:03}", f"Shelf {n} holds {n} books") for n in range(30)),
        remembered("goal22", "User wants to run a marathon", type="goal"),
        remembered("past22", "Rent was due", refers=date(2026, 11, 29)),
        remembered("today2", "Dentist", refers=date(2026, 11, 30)),
        remembered("soon22", "Tax return is due", refers=date(2027, 1, 29)),
        remembered("far222", "Passport runs out", refers=date(2027, 1, 30)),
        remembered("stale2", "Meeting with Ines", refers=date(2026, 12, 3)),
    ]
    store.path.write_bytes(parse(b"").with_observations(block).supersede("stale2", "soon22").render())
    knowledge = knowledge_of(store, NOW, timezone.utc)
    assert len(knowledge.known) == 20 and knowledge.known[-1].startswith("Passport")
    assert [name for name, _ in knowledge.open_lines] == ["goal22", "today2", "soon22"]
    assert not any("Ines" in text for text in knowledge.known)
