"""Who compresses: the choice as a table, and what a run does with the one that was chosen."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any, Literal

import pytest

from model_server import ModelServer, by_model
from total_recall import clock
from total_recall.commands import places
from total_recall.commands.compressing import Tally, asking_reflector, choose, compressor, knowledge_of
from total_recall.llm.client import Client, ModelError
from total_recall.memory.document import parse
from total_recall.memory.store import MemoryStore
from total_recall.records import Batch, Message, ModelCall, Observation
from total_recall.settings import Settings
from total_recall.state import State

NOW = datetime(2026, 11, 30, 12, tzinfo=timezone.utc)
URL = "http://127.0.0.1:1/v1"
TEA = Message("test", "s", None, "a", "user", "Remember that my favourite tea is oolong.", NOW)
BATCH = Batch("b1", (TEA,), 12)
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


def test_the_reflector_asks_one_model_after_the_other(home: Path) -> None:
    calls: list[ModelCall] = []
    with ModelServer(by_model(first="http404", second="prose")) as server:
        both = settings(home, LLM_BASE_URL=server.url, LLM_MODEL="first", REFLECTOR_FALLBACK_MODEL="second")
        with asking_reflector(both, calls.append) as (ask, why):
            assert ask is not None and why is None
            assert ask("be brief", "shorten this").startswith("Sure!")
        assert [request.user for request in server.requests] == ["shorten this"] * 2
        one = settings(home, LLM_BASE_URL=server.url, LLM_MODEL="first")
        with asking_reflector(one, calls.append) as (ask, _), pytest.raises(ModelError):
            assert ask is not None
            ask("be brief", "shorten this")
    assert [call.model for call in calls] == ["first", "second", "first"]
    assert {call.purpose for call in calls} == {"reflect"}


def test_without_an_endpoint_there_is_nobody_to_ask(home: Path) -> None:
    with asking_reflector(settings(home, LLM_MODEL="m"), lambda _: None) as (ask, why):
        assert ask is None and why is not None and "LLM_BASE_URL" in why


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
