"""Vectors for texts: what a reply must have, what is sent, and what each failure says."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import pytest

from model_server import ModelServer, Reply, Request, as_json, error
from total_recall.llm import embeddings
from total_recall.llm.client import Client, Endpoint, ModelError
from total_recall.llm.embeddings import Embedded, batches, embedded_of, shortened
from total_recall.records import ModelCall
from total_recall.tokens import estimate_tokens


def reply(*vectors: object, **more: object) -> bytes:
    data = [{"object": "embedding", "index": n, "embedding": vector} for n, vector in enumerate(vectors)]
    return json.dumps({"object": "list", "data": data, **more}).encode()


def test_vectors_come_in_the_order_of_the_texts_and_with_length_1() -> None:
    body = json.dumps(
        {
            "data": [{"index": 1, "embedding": [0, 2]}, {"index": 0, "embedding": [3, 4]}],
            "usage": {"prompt_tokens": 7, "total_tokens": 7},
        }
    ).encode()
    assert embedded_of(body, 2) == Embedded(((0.6, 0.8), (0.0, 1.0)), 7)
    assert embedded_of(reply([1.0, 0.0]), 1) == Embedded(((1.0, 0.0),), None)


@pytest.mark.parametrize(
    "body",
    [
        b"", b"no json", b"[]", b"{}", b'{"data": 3}', b'{"data": [null]}', reply(), reply([1.0], [1.0]),
        reply([]), reply(None), reply("AAAA"), reply([1.0, "2"]), reply([True, 1.0]), reply([0.0, 0.0]),
        reply([float("nan"), 1.0]), reply([float("inf"), 1.0]), reply([10**400, 1]), reply([1.0] * 8193),
        b'{"data": [{"index": 1, "embedding": [1.0]}]}', b'{"data": [{"index": "0", "embedding": [1.0]}]}',
        b'{"data": [{"index": 0}]}',
    ],
)  # fmt: skip
def test_what_is_no_vector_for_the_text_is_none(body: bytes) -> None:
    assert embedded_of(body, 1) is None


@pytest.mark.parametrize(
    "body", [reply([1.0], [1.0, 2.0]), b'{"data": [{"embedding": [1]}, {"index": 0, "embedding": [1]}]}']
)
def test_vectors_of_two_dimensions_or_two_for_one_text_are_none(body: bytes) -> None:
    assert embedded_of(body, 2) is None


@pytest.mark.parametrize("usage", [None, 3, {}, {"prompt_tokens": True}, {"prompt_tokens": -1}, {"prompt_tokens": "9"}])
def test_a_count_that_is_none_means_nothing(usage: object) -> None:
    found = embedded_of(reply([1.0], usage=usage), 1)
    assert found is not None and found.tokens is None


def test_requests_stay_small() -> None:
    texts = ["tea"] * 200 + ["word " * 400] * 50
    cut = list(batches(texts))
    assert [text for batch in cut for text in batch] == texts
    assert max(map(len, cut)) <= embeddings.TEXTS_A_REQUEST
    assert max(sum(map(estimate_tokens, batch)) for batch in cut) <= embeddings.TOKENS_A_REQUEST
    assert list(batches([])) == []


@pytest.mark.parametrize("text", ["word " * 5000, "가나다라 " * 3000, "x" * 100_000, "🎉" * 9000])
def test_a_long_text_is_sent_from_its_beginning(text: str) -> None:
    sent = shortened(text)
    assert 0 < estimate_tokens(sent) <= embeddings.TOKENS_A_TEXT
    assert text.startswith(sent)


@pytest.mark.parametrize(("text", "sent"), [("", "-"), (" \n ", "-"), ("a\n b", "a b")])
def test_no_text_is_empty(text: str, sent: str) -> None:
    assert shortened(text) == sent


# --- the client


def answering(
    answer: Callable[[Request], Reply] | Reply, model: str = "m"
) -> tuple[Any, list[ModelCall], list[Request]]:
    """What `embed` makes of two texts (the ModelError it raises), what it recorded, what was sent."""
    calls: list[ModelCall] = []
    respond = (lambda _: answer) if isinstance(answer, Reply) else answer
    with ModelServer(respond) as server, Client(Endpoint(server.url, "key-for-tests-0452"), calls.append) as client:
        try:
            found: Any = client.embed(model, ["tea", "half \ud800"], deadline_seconds=2.0)
        except ModelError as failed:
            found = failed
        return found, calls, server.requests


def test_what_is_asked_and_recorded() -> None:
    body = reply([1.0, 0.0], [0.0, 1.0], usage={"prompt_tokens": 5})
    found, (call,), (request,) = answering(Reply(200, body, {"Content-Type": "application/json"}))
    assert found.vectors == ((1.0, 0.0), (0.0, 1.0))
    assert request.path == "/v1/embeddings" and request.key == "Bearer key-for-tests-0452"
    assert request.body == {"model": "m", "input": ["tea", "half \ufffd"], "encoding_format": "float"}
    assert (call.purpose, call.model, call.outcome, call.tokens_in) == ("embed", "m", "ok", 5)


@pytest.mark.parametrize(
    ("answer", "kind", "told"),
    [
        (error(404, "model not found"), "gone", "EMBEDDING_MODEL"),
        (error(401, "Invalid API key"), "auth", "401"),
        (error(429, "Rate limited", Retry_After="60"), "busy", "429"),
        (error(400, "bad", inside=200), "refused", "bad"),
        (as_json({"choices": []}), "bad-reply", "no data in the reply"),
        (Reply(200, reply([1.0])), "bad-reply", "no vector for each text"),
        (Reply(hang_up=True), "busy", "connection broke"),
        (Reply(200, b"{}", drip=30.0, drip_head=True), "busy", "in time"),
        (error(400, "the key key-for-tests-0452 is wrong"), "refused", "[key]"),
    ],
)
def test_a_failure_is_one_line_and_is_asked_once(answer: Reply, kind: str, told: str) -> None:
    found, calls, requests = answering(answer)
    assert isinstance(found, ModelError) and found.kind == kind
    assert told in str(found) and "\n" not in str(found) and "key-for-tests" not in str(found)
    assert [call.outcome for call in calls] == [kind] and len(requests) == 1


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("http://localhost:11434", "http://localhost:11434/v1/embeddings"),
        ("https://api.example.test/v1/", "https://api.example.test/v1/embeddings"),
        ("https://openrouter.ai", "https://openrouter.ai/api/v1/embeddings"),
    ],
)
def test_where_vectors_come_from(written: str, asked: str) -> None:
    assert Endpoint(written).embeddings_url == asked


def test_a_unit_vector_stays_one() -> None:
    found = embedded_of(reply([0.1] * 300), 1)
    assert found is not None and math.isclose(math.hypot(*found.vectors[0]), 1.0)
