"""The table of provider quirks, row by row."""

from __future__ import annotations

import json
from datetime import datetime, timezone

import pytest

from total_recall.llm.quirks import BY_STATUS, RETRY_CAP_SECONDS, WORDINGS, Fault, choice_of, fault_of, one_line

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=timezone.utc)


def fault(status: int, value: object) -> Fault | None:
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    return fault_of(status, {}, body, NOW)


def kind(status: int, value: object) -> str | None:
    found = fault(status, value)
    return found.kind if found else None


@pytest.mark.parametrize("status", sorted(BY_STATUS))
def test_a_status_without_words_means_what_the_table_says(status: int) -> None:
    assert kind(status, b"") == BY_STATUS[status]
    assert kind(200, {"error": {"message": "no", "code": status}}) == BY_STATUS[status]
    assert kind(200, {"error": {"message": "no", "code": str(status)}}) == BY_STATUS[status]


WORDED = {
    "no money": [(429, "You exceeded your current quota: insufficient_quota"), (400, "Insufficient Balance")],
    "context window": [
        (400, "This model's maximum context length is 4096 tokens."),
        (500, "the request exceeds the available context size. try increasing the context size"),
        (400, "prompt is too long: 210000 tokens > 200000 maximum"),
    ],
    "model not there": [
        (400, "step-3.5-flash:free is not a valid model ID"),
        (404, 'model "qwen9" not found, try pulling it first'),
        (400, "The model `llama-2` has been decommissioned"),
        (503, "No endpoints found for first/free-a:free."),
    ],
    "key refused": [(400, "API key not valid. Please pass a valid API key."), (500, "invalid_api_key")],
    "flagged": [(403, "x requires moderation on OpenInference. Your input was flagged.")],
    "over the rate limit": [(200, "Rate limit exceeded: free-models-per-min"), (400, "Too many requests"), (529, "Overloaded")],
}


@pytest.mark.parametrize(
    ("name", "status", "message"), [(name, *case) for name, cases in WORDED.items() for case in cases]
)
def test_words_that_say_more_than_the_status(name: str, status: int, message: str) -> None:
    row = next(row for row in WORDINGS if row.name == name)
    assert kind(status, {"error": {"message": message}}) == row.kind
    assert kind(status, {"error": message}) == row.kind


def test_every_row_has_its_cases() -> None:
    assert set(WORDED) == {row.name for row in WORDINGS}


def test_the_code_and_the_type_count_as_words() -> None:
    assert kind(400, {"error": {"message": "no", "code": "context_length_exceeded"}}) == "too-large"
    assert kind(400, {"error": {"message": "no", "type": "insufficient_quota"}}) == "credit"


@pytest.mark.parametrize(
    ("status", "message", "expected"),
    [
        (429, "Too many tokens, please wait before trying again.", "busy"),
        (401, "rate limit", "auth"),
        (404, "temporarily gone", "gone"),
        (429, "unknown model", "busy"),
    ],
)
def test_words_that_do_not_outweigh_the_status(status: int, message: str, expected: str) -> None:
    assert kind(status, {"error": {"message": message}}) == expected


def test_words_in_an_answer_decide_nothing() -> None:
    """A chat about HTTP is not a failure."""
    text = "- 🟡 09:00 The server said 401 invalid api key, rate limit and context length exceeded"
    assert fault(200, {"choices": [{"message": {"content": text}}], "error": None}) is None


@pytest.mark.parametrize(
    "value",
    [b"", b"[]", b"null", b"3", b'"text"', b"\xff\xfe", b"{" * 100_000, {"choices": None}, {"choices": {}}, {}, [[]]],
)
def test_a_body_that_is_no_answer(value: object) -> None:
    assert kind(200, value) == "bad-reply"


@pytest.mark.parametrize(
    "value",
    [
        {"error": "text"}, [{"error": {"message": "text"}}], {"object": "error", "message": "text"}, {"detail": "text"},
        {"error": {"msg": "text"}}, {"error": {"message": None, "type": "text"}}, {"choices": [{"error": {"message": "text"}}]},
    ],
)  # fmt: skip
def test_where_an_error_may_stand(value: object) -> None:
    found = fault(200, value)
    assert found is not None and found.detail == "text"


def test_what_the_provider_behind_the_provider_said_is_told() -> None:
    found = fault(502, {"error": {"message": "Provider returned error", "code": 502, "metadata": {"raw": "disk full"}}})
    assert found is not None and found.detail == "Provider returned error (disk full)"


@pytest.mark.parametrize(
    ("choice", "text", "thoughts", "finish"),
    [
        ({"message": {"content": "a"}, "finish_reason": "stop"}, "a", "", "stop"),
        ({"message": {"content": "a"}}, "a", "", "stop"),
        ({"message": {"content": "a"}, "finish_reason": "length"}, "a", "", "length"),
        ({"message": {"content": "a"}, "finish_reason": "MAX_TOKENS".lower()}, "a", "", "length"),
        ({"message": {"content": ""}, "finish_reason": "content_filter"}, "", "", "other"),
        ({"message": {"content": None, "reasoning": "b"}}, "", "b", "stop"),
        ({"message": {"content": "a", "reasoning_content": "b", "reasoning": "b"}}, "a", "b", "stop"),
        ({"message": {"content": [{"type": "text", "text": "a"}, {"type": "image"}, "x"]}}, "a", "", "stop"),
        ({"text": "a"}, "a", "", "stop"),
        ({"message": None, "finish_reason": ["odd"]}, "", "", "other"),
        ("odd", "", "", "stop"),
    ],
)
def test_where_an_answer_may_stand(choice: object, text: str, thoughts: str, finish: str) -> None:
    read = choice_of(json.dumps({"choices": [choice]}).encode())
    assert (read.text, read.thoughts, read.finish) == (text, thoughts, finish)


def test_the_wait_is_capped_wherever_it_stands() -> None:
    body = b'{"error": {"message": "Please try again in 7h12m3.5s"}}'
    for headers in ({"retry-after": "99999"}, {"retry-after": "Wed, 21 Oct 2099 07:28:00 GMT"}, {}):
        found = fault_of(429, headers, body, NOW)
        assert found is not None and found.retry_after == RETRY_CAP_SECONDS
    odd = fault_of(429, {"retry-after": "soon"}, b"", NOW)
    assert odd is not None and odd.retry_after is None


def test_a_message_is_one_printable_line() -> None:
    assert one_line("a\n\x1b[31mb\r\n\u2028c") == "a [31mb c"
    assert len(one_line("x" * 900)) == 200
