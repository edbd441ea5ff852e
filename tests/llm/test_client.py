"""The client against a server that misbehaves: how often it asks, what it says, and that the key stays where it is."""

from __future__ import annotations

import gc
import io
import logging
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from model_server import MODES, ModelServer, Reply, as_json, error, in_turn, listed, said
from total_recall.errors import SettingError
from total_recall.llm.client import Answer, ChatMessage, Client, Endpoint, ModelError
from total_recall.records import ModelCall
from total_recall.tokens import estimate_tokens

KEY = "key-for-tests-0451"
ASKED = (ChatMessage("system", "Write observations."), ChatMessage("user", "My favourite tea is oolong. " * 40))


class Line:
    """A client on a server, with what it recorded and how long it was told to sleep."""

    def __init__(self, server: ModelServer, base_url: str | None = None, key: str | None = KEY) -> None:
        self.calls: list[ModelCall] = []
        self.slept: list[float] = []
        self.client = Client(Endpoint(base_url or server.url, key), self.calls.append, sleep=self.slept.append)

    def ask(
        self, model: str = "m", *, max_tokens: int = 500, deadline: float = 60.0, asked: tuple[ChatMessage, ...] = ASKED
    ) -> Answer:
        return self.client.chat(model, asked, max_tokens=max_tokens, purpose="observe", deadline_seconds=deadline)

    def fail(self, **more: float) -> ModelError:
        with pytest.raises(ModelError) as raised:
            self.ask(**more)  # type: ignore[arg-type]
        return raised.value


@contextmanager
def line(*modes: str | Reply, path: str = "/v1", key: str | None = KEY) -> Iterator[tuple[Line, ModelServer]]:
    with ModelServer(in_turn(*modes)) as server:
        one = Line(server, server.origin + path, key)
        with one.client:
            yield one, server


def test_a_good_answer_takes_one_request() -> None:
    usage = {
        "prompt_tokens": 300, "completion_tokens": 20, "prompt_tokens_details": {"cached_tokens": 8}, "cost": 0.001
    }  # fmt: skip
    with line(said("hello", usage=usage)) as (one, server):
        answer = one.ask("case-model", max_tokens=500)
    (request,) = server.requests
    assert (answer.text, answer.finish, answer.cut, answer.prompt_was_cut) == ("hello", "stop", False, False)
    assert request.body == {
        "model": "case-model",
        "messages": [{"role": m.role, "content": m.content} for m in ASKED],
        "max_tokens": 500,
        "stream": False,
        "temperature": 0,
    }
    (call,) = one.calls
    assert (call.purpose, call.model, call.outcome) == ("observe", "case-model", "ok")
    assert (call.tokens_in, call.tokens_out, call.tokens_cached, call.cost_usd) == (300, 20, 8, 0.001)
    assert call.seconds >= 0 and call.at.tzinfo is not None


@pytest.mark.parametrize(
    ("mode", "kind", "requests", "told"),
    [
        ("http400", "refused", 1, "400: bad request; check LLM_BASE_URL"),
        ("http401", "auth", 1, "check LLM_API_KEY"),
        ("http402", "credit", 1, "add credit"),
        ("http403", "auth", 1, "check LLM_API_KEY"),
        ("http404", "gone", 1, "set OBSERVER_MODEL or LLM_MODEL"),
        ("http408", "busy", 3, "408"),
        ("http409", "busy", 3, "409"),
        ("http413", "too-large", 1, "TOTAL_RECALL_BATCH_TOKENS"),
        ("http425", "busy", 3, "425"),
        ("http429", "busy", 3, "429: Rate limited; the next run tries again"),
        ("http500", "busy", 3, "500: boom"),
        ("http503", "busy", 3, "503"),
        ("html502", "busy", 3, "an HTML page (502 Bad Gateway)"),
        ("html200", "bad-reply", 1, "an HTML page (Sign in); check that LLM_BASE_URL"),
        ("429-in-200", "busy", 3, "429: Rate limit exceeded"),
        ("404-in-200", "gone", 1, "No endpoints found for first/free-a:free"),
        ("error-string", "bad-reply", 1, "Unexpected endpoint or method"),
        ("error-in-choice", "busy", 3, "502: Provider returned error"),
        ("no-choices", "bad-reply", 1, "no choices"),
        ("half-json", "bad-reply", 1, "not JSON"),
        ("too-huge", "bad-reply", 1, "over 8 MB"),
        ("bomb", "bad-reply", 1, "over 8 MB"),
        ("brotli", "bad-reply", 1, "packed"),
        ("redirect", "bad-reply", 1, "moved to https://api.example.test/v1/chat/completions;"),
        ("drop", "busy", 3, "the connection broke"),
        ("half-body", "busy", 3, "the connection broke"),
    ],
)
def test_what_each_failure_costs_and_says(mode: str, kind: str, requests: int, told: str) -> None:
    with line(mode) as (one, server):
        failure = one.fail()
    message = str(failure)
    assert (failure.kind, len(server.requests)) == (kind, requests)
    assert message.startswith("m at 127.0.0.1") and told in message and "\n" not in message and len(message) < 400
    assert [call.outcome for call in one.calls] == [kind] * requests
    assert "token=abc" not in message


@pytest.mark.parametrize("mode", [mode for mode in MODES if MODES[mode].status == 200 and not MODES[mode].drip])
def test_no_mode_raises_anything_else(mode: str) -> None:
    with line(mode) as (one, _server):
        try:
            one.ask()
        except ModelError as failure:
            assert failure.kind in {"busy", "gone", "bad-reply"}
        assert one.calls


def test_a_failure_that_passes_is_not_reported() -> None:
    with line("http500", "drop", "ok") as (one, server):
        assert "oolong" in one.ask().text
    assert len(server.requests) == 3
    assert [call.outcome for call in one.calls] == ["busy", "busy", "ok"]


@pytest.mark.parametrize(
    ("headers", "message", "waits"),
    [
        ({"Retry_After": "7"}, "slow down", (7.0, 7.0)),
        ({"Retry_After": "0"}, "slow down", (0.0, 0.0)),
        ({"Retry_After": "86400"}, "slow down", (60.0, 60.0)),
        ({"Retry_After_Ms": "1500"}, "slow down", (1.5, 1.5)),
        ({"Retry_After": "Wed, 21 Oct 2015 07:28:00 GMT"}, "slow down", (0.0, 0.0)),
        ({}, "Rate limit reached: Limit 6000, Used 5000, Requested 2000. Please try again in 12.5s.", (12.5, 12.5)),
    ],
)
def test_the_wait_that_the_provider_asks_for(
    headers: dict[str, str], message: str, waits: tuple[float, float]
) -> None:
    with line(as_json({"error": {"message": message, "code": 429}}, 429, **headers)) as (one, _server):
        one.fail(deadline=1000)
    assert tuple(one.slept) == waits


def test_without_a_wish_the_pauses_grow_and_differ() -> None:
    with line("http500") as (one, _server):
        one.fail(deadline=1000)
        one.fail(deadline=1000)
    first, second, third, fourth = one.slept
    assert 1 <= first <= 2 <= second <= 3 and 1 <= third <= 2 <= fourth <= 3
    assert first != third


def test_a_wait_beyond_the_deadline_is_not_begun() -> None:
    with line(error(429, "slow down", Retry_After="30")) as (one, server):
        one.fail(deadline=5)
    assert one.slept == [] and len(server.requests) == 1


@pytest.mark.parametrize("mode", ["drip", "drip-head", "drip-gzip", "silent"])
def test_a_server_that_drips_does_not_hang_a_run(mode: str) -> None:
    with line(mode) as (one, server):
        begun = time.monotonic()
        failure = one.fail(deadline=0.6)
        took = time.monotonic() - begun
    assert failure.kind == "busy" and "in time" in str(failure) and took < 2.0
    assert len(server.requests) == 1


def test_nobody_listening_is_said_at_once() -> None:
    with ModelServer() as server:
        url = server.url
    calls: list[ModelCall] = []
    with Client(Endpoint(url), calls.append) as client, pytest.raises(ModelError) as raised:
        client.chat("m", ASKED, max_tokens=9, purpose="observe", deadline_seconds=5)
    assert raised.value.kind == "unreachable" and "connection refused; check LLM_BASE_URL" in str(raised.value)
    assert [call.outcome for call in calls] == ["unreachable"]


@pytest.mark.parametrize("path", ["", "/", "/v1", "/v1/", "//v1//", "/v1/chat/completions", "/v1/chat/completions/"])
def test_the_base_url_as_people_write_it(path: str) -> None:
    with line("ok", path=path) as (one, server):
        one.ask()
    assert [request.path for request in server.requests] == ["/v1/chat/completions"]


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("https://openrouter.ai/api/v1", "https://openrouter.ai/api/v1/chat/completions"),
        ("https://openrouter.ai/api", "https://openrouter.ai/api/v1/chat/completions"),
        ("https://openrouter.ai", "https://openrouter.ai/api/v1/chat/completions"),
        ("https://api.groq.com/openai/v1/", "https://api.groq.com/openai/v1/chat/completions"),
        ("https://api.groq.com/openai", "https://api.groq.com/openai/v1/chat/completions"),
        (
            "https://generativelanguage.googleapis.com/v1beta/openai/",
            "https://generativelanguage.googleapis.com/v1beta/openai/chat/completions",
        ),
        ("http://proxy.test/llm/", "http://proxy.test/llm/chat/completions"),
        ("http://proxy.test/v4?region=eu", "http://proxy.test/v4/chat/completions?region=eu"),
    ],
)
def test_paths_of_providers_and_proxies_are_kept(written: str, asked: str) -> None:
    assert Endpoint(written).chat_url == asked


@pytest.mark.parametrize(
    ("url", "loopback", "local"),
    [
        ("http://127.0.0.1:1", True, True), ("http://localhost:11434", True, True), ("http://[::1]:1", True, True),
        ("http://0.0.0.0:1", True, True), ("http://192.168.1.4:1", False, True), ("http://ollama:11434", False, True),
        ("http://host.docker.internal:1", False, True), ("http://nas.local/v1", False, True),
        ("https://api.openai.com/v1", False, False), ("https://8.8.8.8/v1", False, False),
    ],
)  # fmt: skip
def test_which_endpoints_are_near(url: str, loopback: bool, local: bool) -> None:
    assert (Endpoint(url).is_loopback, Endpoint(url).is_local) == (loopback, local)


def test_a_proxy_never_catches_a_call_to_this_computer(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with line("ok") as (one, server):
        one.ask()
    assert len(server.requests) == 1


def test_a_proxy_is_used_for_other_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_PROXY", "no_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    with ModelServer() as server:
        monkeypatch.setenv("HTTP_PROXY", server.origin)
        monkeypatch.setenv("http_proxy", server.origin)
        one = Line(server, "http://provider.test/v1")
        with one.client:
            one.ask()
    assert [request.path for request in server.requests] == ["http://provider.test/v1/chat/completions"]


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("HTTPS_PROXY", "ftp://user:proxy-word@host", "HTTPS_PROXY"),
        ("SSL_CERT_FILE", "/nowhere/ca.pem", "SSL_CERT_FILE"),
    ],
)
def test_an_environment_that_cannot_be_used_is_named(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, told: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(SettingError, match=told) as raised:
        Client(Endpoint("https://provider.test/v1"), print)
    assert "proxy-word" not in str(raised.value)


def test_a_parameter_that_is_refused_is_spelled_otherwise_from_then_on() -> None:
    no_max = as_json(
        {"error": {"message": "Unsupported parameter: 'max_tokens' is not supported with this model. "
                   "Use 'max_completion_tokens' instead.", "param": "max_tokens", "code": "unsupported_parameter"}},
        400,
    )  # fmt: skip
    no_temperature = error(400, "Unsupported value: 'temperature' does not support 0 with this model.")
    with line(no_max, no_temperature, "ok") as (one, server):
        one.ask(max_tokens=77)
        one.ask(max_tokens=77)
    sent = [(r.body.get("max_tokens"), r.body.get("max_completion_tokens"), "temperature" in r.body) for r in server.requests]
    assert sent == [(77, None, True), (None, 77, True), (None, 77, False), (None, 77, False)]
    assert [call.outcome for call in one.calls] == ["refused", "refused", "ok", "ok"]
    assert one.slept == []


def test_a_parameter_that_stays_refused_is_an_error_not_a_loop() -> None:
    with line(error(400, "max_tokens and temperature are wrong")) as (one, server):
        assert one.fail().kind == "refused"
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("reply", "kind", "limit", "requested", "affordable"),
    [
        (
            error(413, "Request too large for model `x` on tokens per minute (TPM): Limit 6000, Requested 9,120, "
                  "please reduce your message size and try again."),
            "too-large", 6000, 9120, None,
        ),
        (error(429, "Rate limit: Limit 6000, Requested 9120"), "too-large", 6000, 9120, None),
        (error(429, "Rate limit: Limit 6000, Used 5900, Requested 2000."), "busy", None, None, None),
        (
            error(400, "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens "
                  "(3000 in the messages, 2000 in the completion)."),
            "too-large", 4096, 5000, None,
        ),
        (
            error(500, "request (9000 tokens) exceeds the available context size (4096 tokens), try increasing it"),
            "too-large", 4096, 9000, None,
        ),
        (
            error(402, "This request requires more credits, or fewer max_tokens. You requested up to 65536 tokens, "
                  "but can only afford 2534."),
            "credit", None, None, 2534,
        ),
        (
            error(400, "max_tokens is too large: 2000. This model supports at most 1024 completion tokens."),
            "refused", None, None, 1024,
        ),
    ],
)  # fmt: skip
def test_the_numbers_that_a_provider_names_are_read(
    reply: Reply, kind: str, limit: int | None, requested: int | None, affordable: int | None
) -> None:
    with line(reply) as (one, _server):
        failure = one.fail(deadline=1)
    assert failure.kind == kind
    assert (failure.limit_tokens, failure.requested_tokens, failure.affordable_tokens) == (limit, requested, affordable)


def test_a_silent_cut_shows_in_the_usage() -> None:
    """Ollama counts half of its window when the prompt was longer, and says nothing."""
    with line(said(usage={"prompt_tokens": 120})) as (one, _server):
        assert one.ask().prompt_was_cut
        assert one.ask(asked=ASKED).prompt_was_cut
        assert not one.ask(asked=(ChatMessage("user", "short " * 60),)).prompt_was_cut


def test_a_server_that_counts_differently_is_not_taken_for_one_that_cuts() -> None:
    def share(asked: tuple[ChatMessage, ...]) -> Reply:
        return said(usage={"prompt_tokens": round(0.4 * sum(estimate_tokens(m.content) for m in asked))})

    half = (ChatMessage("user", "My favourite tea is oolong. " * 15),)
    with line(share(ASKED), share(half), share(ASKED), said(usage={"prompt_tokens": 20})) as (one, _server):
        assert [one.ask(asked=asked).prompt_was_cut for asked in (ASKED, half, ASKED, ASKED)] == [True, False, False, True]


def test_usage_that_is_missing_or_nonsense_means_nothing() -> None:
    for usage in ({}, {"prompt_tokens": 0}, {"prompt_tokens": None}, {"prompt_tokens": "many"}, {"prompt_tokens": True}):
        with line(said(usage=usage)) as (one, _server):
            assert not one.ask().prompt_was_cut


def test_half_surrogates_leave_as_valid_text() -> None:
    with line("ok") as (one, server):
        one.ask(asked=(ChatMessage("user", "a\ud83d b \ud83d\ude00 \udc00c 차"),))
    assert server.requests[0].user == "a\ufffd b 😀 \ufffdc 차"


def test_a_packed_reply_is_read() -> None:
    with line("gzip") as (one, server):
        assert "oolong" in one.ask().text
    assert server.requests[0].headers["accept-encoding"] == "gzip"


def test_no_key_means_no_header_and_a_key_from_windows_is_stripped() -> None:
    for key, header in ((None, None), ("", None), (" \r\n", None), (f" {KEY}\r\n", f"Bearer {KEY}")):
        with line("ok", key=key) as (one, server):
            one.ask()
        assert server.requests[0].key == header


@pytest.mark.parametrize("key", ["two words", "schlüssel", "line\nbreak", "nul\0byte"])
def test_a_key_that_cannot_be_one_is_named_but_not_shown(key: str) -> None:
    with pytest.raises(SettingError, match="LLM_API_KEY") as raised:
        Endpoint("https://provider.test", key)
    assert key not in str(raised.value)


@pytest.mark.parametrize("mode", ["ok", "http401", "http500", "drop", "half-body", "silent", "html200", "redirect"])
def test_the_key_is_nowhere_but_in_the_header(
    mode: str, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    caplog.set_level(logging.DEBUG)
    quoted = error(401, f"Incorrect API key provided: {KEY}. " + "x" * 170 + KEY)
    shown = io.StringIO()
    with line(quoted if mode == "http401" else mode) as (one, server):
        try:
            one.ask(deadline=0.5)
        except ModelError as failure:
            traceback.print_exc(file=shown)
            seen: BaseException | None = failure
            while seen is not None:
                assert KEY not in repr(seen) + str(seen) + repr(vars(seen))
                assert not hasattr(seen, "request"), "an exception that carries the request and its headers"
                seen = seen.__cause__ or seen.__context__
        told = [repr(one.calls), repr(one.client.endpoint), str(one.client.endpoint), caplog.text, shown.getvalue()]
    told += capsys.readouterr()
    assert server.requests[0].key == f"Bearer {KEY}"
    assert KEY.encode() not in server.requests[0].raw and KEY not in server.requests[0].path
    assert not [text for text in told if KEY in text]


def test_a_closed_client_leaves_no_thread_behind() -> None:
    before = threading.active_count()
    for _ in range(5):
        with line("ok") as (one, _server):
            one.ask()
    gc.collect()
    assert threading.active_count() <= before + 1


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("https://openrouter.ai", "https://openrouter.ai/api/v1/models"),
        ("https://api.groq.com/openai/v1/chat/completions", "https://api.groq.com/openai/v1/models"),
        ("http://proxy.test/v4?region=eu", "http://proxy.test/v4/models?region=eu"),
    ],
)
def test_where_a_provider_lists_its_models(written: str, asked: str) -> None:
    assert Endpoint(written).models_url == asked


def test_the_list_is_public_and_costs_nothing() -> None:
    """It is asked for without the key, and is no call of a model for the ledger."""
    with ModelServer(models=[listed("b/b:free", 50_000), listed("a/a:free"), listed("c/c", price="1")]) as server:
        one = Line(server)
        with one.client:
            assert one.client.free_models(5) == ("a/a:free", "b/b:free")
        (lookup,) = server.lookups
    assert (lookup.path, lookup.key, one.calls) == ("/v1/models", None, [])


@pytest.mark.parametrize(
    ("models", "told"),
    [
        (error(503, "boom"), "could not be read (503)"),
        (MODES["html200"], "could not be read (200)"),
        (MODES["redirect"], "could not be read (301)"),
        (MODES["drop"], "the connection broke"),
        (MODES["drip"], "in time"),
        (MODES["too-huge"], "over 8 MB"),
    ],
)
def test_a_list_that_cannot_be_had_is_asked_for_once(models: Reply, told: str) -> None:
    with ModelServer(models=models) as server:
        one = Line(server)
        with one.client, pytest.raises(ModelError) as raised:
            one.client.free_models(0.5)
        assert len(server.lookups) == 1
    message = str(raised.value)
    assert message.startswith("the list of models at 127.0.0.1") and told in message and "\n" not in message
    assert raised.value.__context__ is None, "nothing that carries a request hangs on the error"


def test_the_advice_names_the_setting_of_the_purpose() -> None:
    with line("http404") as (one, _server):
        for purpose, setting in (("observe", "OBSERVER_MODEL"), ("reflect", "REFLECTOR_MODEL")):
            with pytest.raises(ModelError, match=f"set {setting} or LLM_MODEL"):
                one.client.chat("m", ASKED, max_tokens=9, purpose=purpose, deadline_seconds=5)
