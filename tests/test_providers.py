"""Runs against servers that behave as Groq, Ollama and OpenRouter do: the model that the user named is the one that is
asked, and no message is lost, whatever the provider's limits are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from builders import NOW, Home, append, said
from model_server import ModelServer, Reply, Request, as_json, listed
from model_server import said as answered
from total_recall import clock
from total_recall.commands import observe, places, status
from total_recall.llm.client import Client
from total_recall.tokens import estimate_tokens

KEY = "case-key-of-this-test"
INVOICES = tuple(range(1001, 1013))
FILLER = "We looked at the shelves in the hall and talked about the paint for a while. " * 40
"""Makes a batch larger than the windows of these servers."""

slept: list[float] = []


@pytest.fixture
def openclaw(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Home]:
    """A dozen invoices, each in a long message."""
    monkeypatch.setattr(clock, "now", lambda: NOW)
    slept.clear()
    defaults: dict[str, Any] = Client.__init__.__kwdefaults__ or {}
    monkeypatch.setitem(defaults, "sleep", slept.append)
    for name in ("HTTP_PROXY", "http_proxy", "NO_PROXY", "no_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    openclaw = Home(home / ".openclaw", home / "unused")
    openclaw.write(*(said(f"e{n}", f"{text(n)} {FILLER}", at) for at, n in enumerate(INVOICES)))
    yield openclaw


def text(number: int) -> str:
    return f"Invoice {number} over {number + 7} EUR is due on 14 December."


def invoices_in(conversation: str) -> list[int]:
    return [int(n) for n in re.findall(r"Invoice (\d+) over", conversation)]


def conversation_of(request: Request) -> str:
    """What a model is asked about, without what it is told as known."""
    return request.user.partition("CONVERSATION <")[2]


def lines_about(conversation: str) -> str:
    """A good model: a line for each invoice that it is shown."""
    return "\n".join(
        f"- 🔴 06:00 {text(n)[:-1]} <!-- dc:type=fact dc:importance=7.0 dc:confidence=0.95 dc:source=explicit -->"
        for n in invoices_in(conversation)
    )


def prompt_tokens(request: Request) -> int:
    return sum(estimate_tokens(message["content"]) for message in request.body["messages"])


def refused(status: int, message: str, **more: object) -> Reply:
    return as_json({"error": {"message": message, **more}}, status)


@dataclass
class Groq:
    """A key, a path of its own, and so many tokens a minute, the answer's room included."""

    model: str = "llama-3.3-70b-versatile"
    limit: int = 6000
    path: str = "/openai/v1"
    key: str | None = KEY
    busy: int = 1
    served: list[Request] = field(default_factory=list)

    def __call__(self, request: Request) -> Reply:
        if request.path != "/openai/v1/chat/completions":
            return refused(404, f"Unknown request URL: POST {request.path}.", code="unknown_url")
        if request.key != f"Bearer {KEY}":
            return refused(401, "Invalid API Key", code="invalid_api_key")
        if request.model != self.model:
            said_so = f"The model `{request.model}` does not exist or you do not have access to it."
            return refused(404, said_so, type="invalid_request_error", code="model_not_found")
        minute = f"for model `{self.model}` on tokens per minute (TPM): Limit {self.limit}"
        requested = prompt_tokens(request) + request.body["max_tokens"]
        if requested > self.limit:
            told = f"Request too large {minute}, Requested {requested}, please reduce your message size and try again."
            return refused(413, told, type="tokens", code="rate_limit_exceeded")
        if self.busy:
            self.busy -= 1
            told = f"Rate limit reached {minute}, Used 5900, Requested {requested}. Please try again in 7.66s."
            reply = refused(429, told, type="tokens", code="rate_limit_exceeded")
            return Reply(reply.status, reply.body, {**reply.headers, "Retry-After": "2"})
        self.served.append(request)
        return answered(lines_about(conversation_of(request)), usage={"prompt_tokens": prompt_tokens(request)})


@dataclass
class Ollama:
    """No key. What is over its window it cuts to half of that, from the front, and says so only in the usage."""

    model: str = "qwen3:4b"
    limit: int = 4096
    path: str = ""
    key: str | None = None
    served: list[Request] = field(default_factory=list)

    def __call__(self, request: Request) -> Reply:
        if request.path != "/v1/chat/completions":
            return Reply(404, b"404 page not found", {"Content-Type": "text/plain"})
        if request.model != self.model:
            told = f"model '{request.model}' not found"
            return refused(404, told, type="not_found_error", param=None, code=None)
        conversation, counted = conversation_of(request), prompt_tokens(request)
        if counted > self.limit:
            kept = self.limit // 2
            conversation = conversation[-round(len(conversation) * kept / counted) :]
            return answered(lines_about(conversation), usage={"prompt_tokens": kept, "completion_tokens": 50})
        self.served.append(request)
        return answered(lines_about(conversation), usage={"prompt_tokens": counted, "completion_tokens": 50})


@dataclass
class OpenRouter:
    """A key with little credit. Errors may come with status 200, and the answer says what it cost."""

    model: str = "mistralai/mistral-small"
    path: str = "http://openrouter.ai/api/v1"
    key: str | None = KEY
    affordable: int = 2534
    busy: int = 1
    served: list[Request] = field(default_factory=list)

    def __call__(self, request: Request) -> Reply:
        if request.path != "http://openrouter.ai/api/v1/chat/completions":
            return refused(404, "Not Found", code=404)
        if request.key != f"Bearer {KEY}":
            return refused(401, "No auth credentials found", code=401)
        if request.model != self.model:
            return refused(404, f"No endpoints found for {request.model}.", code=404)
        if self.busy:
            self.busy -= 1
            return as_json({"error": {"message": "Provider returned error", "code": 429}, "user_id": "user_1"})
        asked = request.body["max_tokens"]
        if asked > self.affordable:
            told = f"This request requires more credits, or fewer max_tokens. You requested up to {asked} tokens, "
            return refused(402, f"{told}but can only afford {self.affordable}.", code=402)
        self.served.append(request)
        usage = {"prompt_tokens": prompt_tokens(request), "completion_tokens": 90, "cost": 0.00125}
        return answered(lines_about(conversation_of(request)), usage=usage)


Provider = Groq | Ollama | OpenRouter
PROVIDERS: tuple[type[Provider], ...] = (Groq, Ollama, OpenRouter)
FREE = [listed("some/other:free")]


def run(
    home: Path, server: ModelServer, provider: Provider, monkeypatch: pytest.MonkeyPatch, **env: str
) -> observe.MemoryRun:
    """One run with that provider's settings. OpenRouter is known by its name, so the server is the proxy to it."""
    base_url = server.origin + provider.path
    if isinstance(provider, OpenRouter):
        base_url = provider.path
        for name in ("HTTP_PROXY", "http_proxy"):
            monkeypatch.setenv(name, server.origin)
    environment = {"HOME": str(home), "TOTAL_RECALL_TZ": "UTC", "LLM_BASE_URL": base_url, "LLM_MODEL": provider.model}
    if provider.key:
        environment["LLM_API_KEY"] = provider.key
    (done,) = observe.run(observe.Options(), places.configure({**environment, **env})).runs
    return done


def document(home: Path) -> str:
    return (home / ".openclaw" / "workspace" / "memory" / "observations.md").read_text(encoding="utf-8")


def assert_nothing_is_lost(home: Path, done: observe.MemoryRun) -> None:
    assert (done.messages, done.waiting) == (len(INVOICES), 0)
    assert sorted(set(invoices_in(document(home)))) == list(INVOICES)


@pytest.mark.parametrize("kind", PROVIDERS)
def test_the_model_that_the_user_named_does_all_the_work(
    kind: type[Provider], openclaw: Home, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = kind()
    with ModelServer(provider, FREE) as server:
        done = run(home, server, provider, monkeypatch)
        assert {request.model for request in server.requests} == {provider.model}
        assert server.lookups == []
        assert {request.key for request in server.requests} == {f"Bearer {KEY}" if provider.key else None}
        assert sum(call.calls for call in costs(home)) == len(server.requests)
    assert "offline" not in done.compressed_by and provider.model in done.compressed_by
    assert_nothing_is_lost(home, done)
    served = [n for request in provider.served for n in invoices_in(conversation_of(request))]
    assert sorted(served) == list(INVOICES), "each message was answered for once, whole"


@pytest.mark.parametrize("kind", PROVIDERS)
def test_a_model_that_the_provider_does_not_have_is_told_once_and_not_replaced(
    kind: type[Provider], openclaw: Home, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = kind()
    with ModelServer(provider, FREE) as server:
        done = run(home, server, provider, monkeypatch, LLM_MODEL="no-such-model")
        assert [request.model for request in server.requests] == ["no-such-model"]
        assert server.lookups == []
    (note,) = done.notes
    assert "no-such-model" in note and "404" in note and "OBSERVER_MODEL or LLM_MODEL" in note and "\n" not in note
    assert_nothing_is_lost(home, done)


@pytest.mark.parametrize("kind", [Groq, OpenRouter])
def test_a_key_that_is_refused_is_told_once(
    kind: type[Groq] | type[OpenRouter], openclaw: Home, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = kind()
    with ModelServer(provider, FREE) as server:
        done = run(home, server, provider, monkeypatch, LLM_API_KEY="another-case-key")
        assert len(server.requests) == 1
    (note,) = done.notes
    assert "401" in note and "LLM_API_KEY" in note and "another-case-key" not in note
    assert_nothing_is_lost(home, done)


def test_groqs_wait_is_kept_and_what_is_too_large_is_asked_in_parts(
    openclaw: Home, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    groq = Groq()
    with ModelServer(groq) as server:
        done = run(home, server, groq, monkeypatch)
        assert len(server.requests) > len(groq.served) + 1
    assert slept == [2.0], "Retry-After, not a guess"
    assert all(prompt_tokens(r) + r.body["max_tokens"] <= groq.limit for r in groq.served)
    assert_nothing_is_lost(home, done)


def test_ollamas_cut_is_noticed_and_told_once(openclaw: Home, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ollama = Ollama()
    with ModelServer(ollama) as server:
        done = run(home, server, ollama, monkeypatch)
        assert any(prompt_tokens(request) > ollama.limit for request in server.requests)
    assert done.notes == ("qwen3:4b reads only 2,048 tokens at a time; asked in smaller parts",)
    assert_nothing_is_lost(home, done)


def test_openrouters_error_in_a_good_status_is_tried_again_and_the_credit_is_kept_to(
    openclaw: Home, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    router = OpenRouter()
    with ModelServer(router) as server:
        done = run(home, server, router, monkeypatch)
        assert [request.body["max_tokens"] for request in server.requests[:3]] == [4000, 4000, router.affordable]
        assert all(request.body["max_tokens"] == router.affordable for request in server.requests[2:])
    assert done.notes == () and len(slept) == 1
    assert_nothing_is_lost(home, done)
    (cost,) = costs(home)
    assert cost.cost_usd == pytest.approx(0.00125 * len(router.served)) and cost.failed == 2


def test_openrouter_without_credit_is_told_and_asked_no_more(
    openclaw: Home, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    router = OpenRouter(affordable=12, busy=0)
    with ModelServer(router) as server:
        done = run(home, server, router, monkeypatch)
        assert len(server.requests) == 1
    (note,) = done.notes
    assert "402" in note and "add credit" in note
    assert_nothing_is_lost(home, done)


def test_openrouter_without_a_model_and_without_its_old_free_ones_works_on_day_one(
    openclaw: Home, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    router = OpenRouter(model="some/other:free", affordable=10_000, busy=0)
    with ModelServer(router, FREE) as server:
        done = run(home, server, router, monkeypatch, LLM_MODEL="")
        assert len(server.lookups) == 1 and "offline" not in done.compressed_by
        (note,) = done.notes
        assert "stepfun/step-3.5-flash:free" in note and "some/other:free is asked instead" in note
        assert_nothing_is_lost(home, done)
        server.requests.clear()
        append(openclaw.transcript(), said("e", text(2001), 30))
        again = run(home, server, router, monkeypatch, LLM_MODEL="")
        assert [request.model for request in server.requests] == ["some/other:free"]
        assert (again.notes, again.messages, len(server.lookups)) == ((), 1, 1)
    log = (home / ".openclaw" / "workspace" / "logs" / "observer.log").read_text()
    assert log.count("is asked instead") == 1


def costs(home: Path) -> tuple[status.Cost, ...]:
    found = status.run(places.configure({"HOME": str(home)}), cost=True).costs
    assert found is not None
    return found
