"""recall with an embedding model: it finds what no word leads to, asks little, and never stands in the way."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from model_server import ModelServer, Reply, Request, as_json, error
from total_recall import clock
from total_recall.commands import meaning, places, recall
from total_recall.commands.places import Place
from total_recall.memory.document import parse
from total_recall.recall import database
from total_recall.records import ModelCall, Observation
from total_recall.state import State

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=timezone.utc)
TOPICS = (
    ("cat", "kitten", "feline", "고양이"),
    ("car", "vehicle", "engine"),
    ("tea", "beverage", "oolong"),
    ("rain", "storm"),
)
KEY = "key-for-tests-0453"
HIDDEN = "ghp_" + "a1B2" * 9


@pytest.fixture(autouse=True)
def now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "now", lambda: NOW)


def vector(text: str) -> list[float]:
    """What a model would find a text to be about: one number a topic, and a little of everything."""
    return [1.0 if any(word in text.casefold() for word in topic) else 0.01 for topic in TOPICS]


def embed(request: Request) -> Reply:
    texts = request.body["input"]
    data = [{"index": n, "embedding": vector(text)} for n, text in enumerate(texts)]
    return as_json({"data": data, "usage": {"prompt_tokens": 10 * len(texts)}})


class Computer:
    """A home with a memory, and a server that embeds."""

    def __init__(self, home: Path, server: ModelServer) -> None:
        self.home = home
        self.server = server
        self.env = {"EMBEDDING_MODEL": "topics", "EMBEDDING_BASE_URL": server.url, "EMBEDDING_API_KEY": KEY}
        self.place.memory_dir.mkdir(parents=True)

    @property
    def place(self) -> Place:
        return places.find(self.config(), NOW)[0]

    def config(self, **env: str) -> places.Configuration:
        return places.configure({"HOME": str(self.home), "TOTAL_RECALL_TZ": "UTC", **self.env, **env})

    def note(self, *texts: str) -> None:
        path = self.place.memory_dir / "observations.md"
        before = parse(path.read_bytes() if path.exists() else b"")
        first = len(before.observations)
        observations = [
            Observation(f"m{n}", text, NOW - timedelta(days=9 - n / 1000), "medium", "fact", 5.0, 0.9)
            for n, text in enumerate(texts, first)
        ]
        path.write_bytes(before.with_observations(observations).render())

    def ask(self, question: str, **env: str) -> recall.Result:
        return recall.run(recall.Options(question), self.config(**env))

    def keys(self, question: str, **env: str) -> list[str]:
        return [hit.filed.memory.key for hit in self.ask(question, **env).hits]

    def sent(self) -> list[str]:
        return [text for request in self.server.requests for text in request.body["input"]]

    def calls(self) -> list[ModelCall]:
        with State.open(self.place.own_dir) as state:
            return state.calls(NOW - timedelta(days=1))


@pytest.fixture
def computer(home: Path) -> Any:
    with ModelServer(embed) as server:
        yield Computer(home, server)


TEXTS = ("User adopted a kitten", "The vehicle needs new tyres", "Oolong is bought in Busan", "It rained on Sunday")


def test_what_shares_no_word_is_found(computer: Computer) -> None:
    computer.note(*TEXTS)
    assert computer.keys("any feline pets?", EMBEDDING_MODEL="") == []
    result = computer.ask("any feline pets?")
    assert result.hits[0].filed.memory.key == "m0" and result.notes == ()
    assert computer.keys("고양이")[0] == "m0"


def test_words_still_count(computer: Computer) -> None:
    computer.note(*TEXTS, "The kitten of the neighbours has a red collar")
    assert computer.keys("whose feline has the red collar?")[0] == "m4"


def test_each_text_is_asked_for_once(computer: Computer) -> None:
    computer.note(*TEXTS)
    computer.ask("feline")
    assert sorted(computer.sent()) == sorted(("feline", *TEXTS))
    computer.note("A storm is coming")
    computer.ask("engine")
    assert computer.sent()[5:] == ["engine", "A storm is coming"]
    computer.ask("engine")
    assert computer.sent()[7:] == ["engine"]
    with State.open(computer.place.own_dir) as state:
        assert [call.purpose for call in state.calls(NOW - timedelta(days=1))] == ["embed"] * 5


def test_a_line_that_moves_or_an_index_of_another_format_asks_for_nothing(
    computer: Computer, monkeypatch: pytest.MonkeyPatch
) -> None:
    computer.note(*TEXTS)
    computer.ask("feline")
    path = computer.place.memory_dir / "observations.md"
    path.write_text(path.read_text("utf-8").replace("dc:id=m0", "dc:id=other"), "utf-8")
    assert computer.keys("feline")[0] == "other"
    monkeypatch.setattr(database, "FORMAT", 999)
    assert computer.keys("feline")[0] == "other"
    assert computer.sent()[5:] == ["feline", "feline"]


def test_secrets_stay_here(computer: Computer) -> None:
    computer.note(f"The token of the cat door is {HIDDEN}")
    computer.ask(f"feline {HIDDEN}")
    assert len(computer.sent()) == 2 and not any(HIDDEN in text for text in computer.sent())
    assert all(HIDDEN.encode() not in request.raw for request in computer.server.requests)


def answers_with(reply: Reply) -> Callable[[Request], Reply]:
    return lambda _: reply


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        (error(500, "boom"), "boom"),
        (error(401, "no such key"), "LLM_API_KEY"),
        (Reply(hang_up=True), "connection broke"),
        (Reply(200, b"<html>"), "HTML page"),
        (as_json({"data": [{"embedding": []}]}), "no vector"),
        (Reply(200, b"{}", drip=30.0, drip_head=True), "in time"),
    ],
    ids=["500", "401", "drop", "html", "empty", "slow"],
)
def test_a_failing_endpoint_leaves_recall_as_it_was(
    computer: Computer, reply: Reply, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(meaning, "QUESTION_SECONDS", 0.5)
    computer.note(*TEXTS)
    without = computer.ask("kitten", EMBEDDING_MODEL="")
    computer.server.answer = answers_with(reply)
    result = computer.ask("kitten")
    assert [hit.filed.memory.key for hit in result.hits] == [hit.filed.memory.key for hit in without.hits]
    (note,) = result.notes
    assert told in note and note.endswith("found by words alone") and KEY not in note
    assert result.lines()[-1] == f"note: {note}" and result.payload()["notes"] == [note]


def test_nobody_listening(computer: Computer) -> None:
    computer.note(*TEXTS)
    result = computer.ask("kitten", EMBEDDING_BASE_URL="http://127.0.0.1:9")
    assert result.hits[0].filed.memory.key == "m0" and "refused" in result.notes[0]


def test_a_failure_between_batches_keeps_what_came(computer: Computer, monkeypatch: pytest.MonkeyPatch) -> None:
    computer.note(*(f"{n} cats" for n in range(100)))

    def second_batch_fails(request: Request) -> Reply:
        return error(500, "boom") if len(computer.server.requests) == 3 else embed(request)

    computer.server.answer = second_batch_fails
    result = computer.ask("feline")
    assert result.hits and "boom" in result.notes[0] and result.notes[1].startswith("36 memories have no vector yet")
    computer.server.answer = embed
    assert computer.ask("feline").notes == ()
    texts = [text for text in computer.sent() if text != "feline"]
    assert len(set(texts)) == 100 and len(texts) == 136


def test_another_model_or_other_dimensions_are_asked_anew(computer: Computer) -> None:
    computer.note(*TEXTS)
    computer.ask("feline")
    assert computer.keys("feline", EMBEDDING_MODEL="other")[0] == "m0"
    assert len(computer.sent()) == 10
    computer.server.answer = lambda request: as_json(
        {"data": [{"index": n, "embedding": [*vector(t), 0.0, 0.0]} for n, t in enumerate(request.body["input"])]}
    )
    result = computer.ask("feline")
    assert result.hits[0].filed.memory.key == "m0" and result.notes == ()
    assert len(computer.sent()) == 15


def test_dimensions_that_differ_within_an_answer_are_noted(computer: Computer) -> None:
    computer.note(*TEXTS)
    computer.server.answer = lambda request: as_json(
        {
            "data": [
                {"index": n, "embedding": [1.0] * (3 + len(request.body["input"]))}
                for n in range(len(request.body["input"]))
            ]
        }
    )
    result = computer.ask("kitten")
    assert result.hits[0].filed.memory.key == "m0" and "several dimensions" in result.notes[0]


def test_the_daily_limit_counts(computer: Computer) -> None:
    computer.note(*TEXTS)
    result = computer.ask("kitten", TOTAL_RECALL_DAILY_TOKENS="1")
    assert computer.server.requests == [] and "TOTAL_RECALL_DAILY_TOKENS" in result.notes[0]
    assert result.hits[0].filed.memory.key == "m0"
    partly = computer.ask("feline", TOTAL_RECALL_DAILY_TOKENS="12")
    assert computer.sent() == ["feline"] and "no vector yet" in partly.notes[0]


def test_local_only(computer: Computer) -> None:
    computer.note(*TEXTS)
    far = computer.ask("kitten", TOTAL_RECALL_LOCAL_ONLY="true", EMBEDDING_BASE_URL="https://api.example.test/v1")
    assert "TOTAL_RECALL_LOCAL_ONLY" in far.notes[0] and computer.server.requests == []
    assert computer.ask("feline", TOTAL_RECALL_LOCAL_ONLY="true").notes == ()


def test_a_model_without_an_endpoint_is_told(computer: Computer) -> None:
    computer.note(*TEXTS)
    assert "EMBEDDING_BASE_URL" in computer.ask("kitten", EMBEDDING_BASE_URL="").notes[0]


@pytest.mark.parametrize(
    ("env", "url", "key"),
    [
        ({"LLM_BASE_URL": "https://a.example.test/v1", "LLM_API_KEY": "one"}, "https://a.example.test/v1", "one"),
        (
            {"LLM_BASE_URL": "https://a.example.test/v1", "LLM_API_KEY": "one", "EMBEDDING_BASE_URL": "https://b.example.test"},
            "https://b.example.test", None,
        ),
        (
            {"LLM_BASE_URL": "https://a.example.test/v1", "LLM_API_KEY": "one", "EMBEDDING_BASE_URL": "https://a.example.test"},
            "https://a.example.test", "one",
        ),
        ({"EMBEDDING_BASE_URL": "https://b.example.test", "EMBEDDING_API_KEY": "two"}, "https://b.example.test", "two"),
        ({"OPENROUTER_API_KEY": "three"}, "https://openrouter.ai/api/v1", "three"),
    ],
)  # fmt: skip
def test_a_key_goes_only_where_it_belongs(home: Path, env: dict[str, str], url: str, key: str | None) -> None:
    chosen = meaning.choose(places.configure({"HOME": str(home), "EMBEDDING_MODEL": "m", **env}).settings)
    assert chosen.endpoint is not None and (chosen.endpoint.base_url, chosen.endpoint.key) == (url, key)


def test_a_key_that_cannot_be_one_is_a_note(computer: Computer) -> None:
    computer.note(*TEXTS)
    result = computer.ask("kitten", EMBEDDING_API_KEY="two words")
    assert result.hits and "two words" not in result.notes[0]
