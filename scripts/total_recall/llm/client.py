"""Asks a model at an OpenAI-compatible endpoint. The only module that speaks HTTP.

The key goes into the Authorization header and nowhere else: no exception of ours carries a request or its headers,
and what a provider says is searched for it before anything else reads it.
"""

from __future__ import annotations

import contextlib
import ipaddress
import json
import re
import socket
import threading
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import httpx
import tenacity

from total_recall import clock
from total_recall.errors import SettingError, TotalRecallError
from total_recall.llm import embeddings
from total_recall.llm.catalogue import free_text_models
from total_recall.llm.embeddings import Embedded
from total_recall.llm.quirks import Choice, Fault, Finish, choice_of, fault_of, one_line, parsed
from total_recall.records import ModelCall
from total_recall.tokens import estimate_tokens

ATTEMPTS = 3
BODY_LIMIT = 8 << 20
CONNECT_SECONDS = 10.0
REMOTE_READ_SECONDS = 120.0
LOCAL_READ_SECONDS = 600.0
"""A local server loads its model before the first byte, and hanging up aborts the load."""
CUT_SHARE = 0.6
"""A server that counts less than this share of our own estimate has cut the prompt; the estimate errs by a quarter."""

_LOCAL_ENDINGS = (".local", ".localhost", ".internal", ".lan", ".home.arpa")
_KNOWN_PATHS = {
    "openrouter.ai": "/api/v1",
    "api.groq.com": "/openai/v1",
    "generativelanguage.googleapis.com": "/v1beta/openai",
}
"""Where a provider's API begins, for who wrote only a part of it."""


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message of a request."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where to ask. `key` is None where none is needed. Raises SettingError for a key that cannot be one."""

    base_url: str
    key: str | None = None

    def __repr__(self) -> str:
        parts = urlsplit(self.base_url)
        return f"Endpoint({parts.scheme}://{self.host}{parts.path}, key={'set' if self.key else None})"

    def __post_init__(self) -> None:
        key = (self.key or "").strip()
        if not key.isascii() or any(c.isspace() or not c.isprintable() for c in key):
            raise SettingError(
                "LLM_API_KEY (or OPENROUTER_API_KEY) holds spaces, line ends or letters that no key has; copy it again"
            )
        object.__setattr__(self, "key", key or None)

    @property
    def host(self) -> str:
        return urlsplit(self.base_url).hostname or ""

    @property
    def is_local(self) -> bool:
        """Whether the host is this computer or on its private network."""
        address = _address(self.host)
        if address is None:
            return "." not in self.host or self.host.endswith(_LOCAL_ENDINGS)
        return address.is_loopback or address.is_private

    @property
    def is_loopback(self) -> bool:
        address = _address(self.host)
        if address is None:
            return self.host == "localhost" or self.host.endswith(".localhost")
        return address.is_loopback or address.is_unspecified

    @property
    def is_openrouter(self) -> bool:
        return self.host == "openrouter.ai" or self.host.endswith(".openrouter.ai")

    @property
    def chat_url(self) -> str:
        """The chat completions URL for what people write: with or without /v1, a slash, or the whole path."""
        parts = urlsplit(self.base_url.strip())
        path = re.sub("/{2,}", "/", parts.path).rstrip("/").removesuffix("/chat/completions")
        known = _KNOWN_PATHS.get(self.host, "/v1")
        if known.startswith(path):
            path = known
        return urlunsplit((parts.scheme, parts.netloc, f"{path}/chat/completions", parts.query, ""))

    @property
    def models_url(self) -> str:
        """Where the provider lists its models."""
        return self._beside_chat("models")

    @property
    def embeddings_url(self) -> str:
        """Where texts become vectors."""
        return self._beside_chat("embeddings")

    def _beside_chat(self, name: str) -> str:
        parts = urlsplit(self.chat_url)
        path = f"{parts.path.removesuffix('/chat/completions')}/{name}"
        return urlunsplit((parts.scheme, parts.netloc, path, parts.query, ""))


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model answered. `prompt_was_cut` says that the server dropped a part of the prompt without a word."""

    model: str
    text: str
    thoughts: str
    finish: Finish
    prompt_was_cut: bool
    prompt_tokens: int | None

    @property
    def cut(self) -> bool:
        """Whether the answer ended at its length limit."""
        return self.finish == "length"


class ModelError(TotalRecallError):
    """A model gave no answer. The message is one line: what, where, what to do.

    `kind` is a quirks.Kind or `unreachable`. `limit_tokens` is the largest request that the provider takes,
    `requested_tokens` what it counted, `affordable_tokens` the longest answer that it grants; None where unsaid.
    """

    def __init__(self, model: str, kind: str, message: str, fault: Fault | None = None) -> None:
        super().__init__(message)
        self.model = model
        self.kind = kind
        self.limit_tokens = fault.limit_tokens if fault else None
        self.requested_tokens = fault.requested_tokens if fault else None
        self.affordable_tokens = fault.affordable_tokens if fault else None


class _Retry(Exception):
    """Worth another attempt, after `retry_after` seconds where the provider says so."""

    def __init__(self, error: ModelError, retry_after: float | None = None) -> None:
        super().__init__(str(error))
        self.error = error
        self.retry_after = retry_after


class _Respelled(Exception):
    """The server refused a parameter; the next attempt spells it otherwise."""

    def __init__(self, error: ModelError) -> None:
        super().__init__(str(error))
        self.error = error


@dataclass(frozen=True, slots=True)
class _Query:
    """One request. `asked` and `purpose` are for messages: who is asked, and what for."""

    method: str
    url: str
    asked: str
    purpose: str
    headers: Mapping[str, str] = field(repr=False)
    content: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class _Response:
    status: int
    headers: Mapping[str, str]
    """By lower-case name."""
    body: bytes


class Client:
    """Asks one endpoint; use as a context manager. Every request to a model goes to `record`, for the ledger.

    Raises SettingError when the proxy or the certificates that the environment names cannot be used.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        record: Callable[[ModelCall], None],
        *,
        sleep: Callable[[float], None] = time.sleep,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.endpoint = endpoint
        self._record = record
        self._sleep = sleep
        self._monotonic = monotonic
        self._max_tokens_name = "max_tokens"
        self._temperature = True
        self._usual_share: dict[str, float] = {}
        self._suspected: dict[str, tuple[int, float]] = {}
        self._http = _http_client(endpoint)

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.close()

    def chat(
        self, model: str, messages: Sequence[ChatMessage], *, max_tokens: int, purpose: str, deadline_seconds: float
    ) -> Answer:
        """The model's answer. What may pass is tried three times, with the provider's or growing pauses between.

        All together ends by the deadline. A refused parameter is spelled otherwise, once each and from then on.
        Raises ModelError when there is no answer.
        """
        ends = self._monotonic() + deadline_seconds
        retrying = tenacity.Retrying(
            stop=lambda state: state.attempt_number >= ATTEMPTS or self._monotonic() + state.upcoming_sleep >= ends,
            wait=_wait,
            retry=tenacity.retry_if_exception_type(_Retry),
            sleep=self._sleep,
            reraise=True,
        )
        while True:
            try:
                return retrying(self._attempt, model, messages, max_tokens, purpose, ends)
            except _Respelled:
                continue
            except _Retry as last:
                failed = last.error
            # Outside of the handler, so that nothing that carries a request hangs on the error as its context.
            raise failed

    def free_models(self, deadline_seconds: float) -> tuple[str, ...]:
        """The names of free text models that the provider lists, best first; asked once, and without the key.

        Raises ModelError when there is no such list.
        """
        try:
            query = _Query("GET", self.endpoint.models_url, LIST, "list", _ACCEPTED)
            response = self._fetch(query, self._monotonic() + deadline_seconds)
        except _Retry as again:
            failed = again.error
        else:
            names = free_text_models(response.body, clock.now().date()) if response.status == 200 else None
            if names is not None:
                return names
            failed = ModelError(
                LIST, "bad-reply", f"{LIST} at {self.endpoint.host} could not be read ({response.status})"
            )
        raise failed

    def embed(self, model: str, texts: Sequence[str], *, deadline_seconds: float) -> Embedded:
        """A vector for each text; asked once, and recorded whatever comes of it. Raises ModelError."""
        started = self._monotonic()
        call = ModelCall(at=clock.now(), purpose=embeddings.PURPOSE, model=model, outcome="ok", seconds=0.0)
        failed: ModelError
        try:
            found = self._embedded(model, texts, started + deadline_seconds)
        except _Retry as again:
            failed = again.error
        except ModelError as error:
            failed = error
        else:
            self._record(replace(call, seconds=self._monotonic() - started, tokens_in=found.tokens))
            return found
        self._record(replace(call, outcome=failed.kind, seconds=self._monotonic() - started))
        raise failed

    def _embedded(self, model: str, texts: Sequence[str], ends: float) -> Embedded:
        body = _utf8(json.dumps({"model": model, "input": list(texts), "encoding_format": "float"}, ensure_ascii=False))
        query = _Query("POST", self.endpoint.embeddings_url, model, embeddings.PURPOSE, self._headers(), body)
        response = self._fetch(query, ends)
        fault = fault_of(response.status, response.headers, response.body, clock.now(), "data")
        if fault is not None:
            said = self._without_key(f"{fault.status}: {fault.detail}")
            advice = _advice(fault.kind, embeddings.PURPOSE)
            message = f"{model} at {self.endpoint.host} answered {said}; {advice}"
            raise ModelError(model, fault.kind, message, fault)
        found = embeddings.embedded_of(response.body, len(texts))
        if found is None:
            told = f"{model} at {self.endpoint.host} gave no vector for each text; check EMBEDDING_MODEL"
            raise ModelError(model, "bad-reply", told)
        return found

    def _attempt(
        self, model: str, messages: Sequence[ChatMessage], max_tokens: int, purpose: str, ends: float
    ) -> Answer:
        """One request, recorded whatever comes of it."""
        started = self._monotonic()
        call = ModelCall(at=clock.now(), purpose=purpose, model=model, outcome="ok", seconds=0.0)
        failed: ModelError | _Retry | _Respelled
        try:
            choice = self._ask(model, messages, max_tokens, purpose, ends)
        except ModelError as error:
            failed, outcome = error, error.kind
        except (_Retry, _Respelled) as again:
            failed, outcome = again, again.error.kind
        else:
            self._record(
                replace(
                    call,
                    seconds=self._monotonic() - started,
                    tokens_in=choice.tokens_in,
                    tokens_out=choice.tokens_out,
                    tokens_cached=choice.tokens_cached,
                    cost_usd=choice.cost_usd,
                )
            )
            was_cut = self._was_cut(model, choice.tokens_in, sum(estimate_tokens(m.content) for m in messages))
            return Answer(model, choice.text, choice.thoughts, choice.finish, was_cut, choice.tokens_in)
        self._record(replace(call, outcome=outcome, seconds=self._monotonic() - started))
        raise failed

    def _ask(
        self, model: str, messages: Sequence[ChatMessage], max_tokens: int, purpose: str, ends: float
    ) -> Choice:
        body = self._request(model, messages, max_tokens)
        response = self._fetch(_Query("POST", self.endpoint.chat_url, model, purpose, self._headers(), body), ends)
        fault = fault_of(response.status, response.headers, response.body, clock.now())
        if fault is None:
            return choice_of(response.body)
        said = self._without_key(f"{fault.status}: {fault.detail}")
        message = f"{model} at {self.endpoint.host} answered {said}; {_advice(fault.kind, purpose)}"
        error = ModelError(model, fault.kind, message, fault)
        if fault.kind == "busy":
            raise _Retry(error, fault.retry_after)
        if fault.kind == "refused" and self._other_spelling(fault):
            raise _Respelled(error)
        raise error

    def _other_spelling(self, fault: Fault) -> bool:
        """Whether the server refused a parameter that can be spelled otherwise or left out; remembered from then on."""
        if fault.parameter == "max_tokens" and self._max_tokens_name == "max_tokens" and not fault.affordable_tokens:
            self._max_tokens_name = "max_completion_tokens"
            return True
        if fault.parameter == "temperature" and self._temperature:
            self._temperature = False
            return True
        return False

    def _was_cut(self, model: str, counted: int | None, ours: int) -> bool:
        """Whether the server counted so few tokens that it cannot have read the whole prompt.

        A server that counts differently counts differently by the same share at every size; a window that cut the
        prompt shows as a share that grows when the prompt shrinks. So the same share at two thirds of the size or less
        is how this server counts.
        """
        if not counted or counted >= CUT_SHARE * self._usual_share.get(model, 1.0) * ours:
            return False
        share = counted / ours
        size, before = self._suspected.get(model, (0, 0.0))
        if ours <= size * 2 / 3 and abs(share - before) <= 0.15 * before:
            self._usual_share[model] = share
            return False
        self._suspected[model] = (ours, share)
        return True

    def _fetch(self, query: _Query, ends: float) -> _Response:
        """One request and whatever came back. Raises _Retry or ModelError when nothing whole came."""
        left = max(ends - self._monotonic(), 0.05)
        read = min(LOCAL_READ_SECONDS if self.endpoint.is_local else REMOTE_READ_SECONDS, left)
        deadline = _Deadline(left)
        kind = "busy"
        try:
            with (
                deadline,
                self._http.stream(
                    query.method,
                    query.url,
                    content=query.content,
                    headers=query.headers,
                    timeout=httpx.Timeout(read, connect=min(CONNECT_SECONDS, read)),
                    extensions={"trace": deadline.watch},
                ) as response,
            ):
                raw = _read(response)
            headers = {name.lower(): self._without_key(value) for name, value in response.headers.items()}
            body = _unpacked(raw, headers.get("content-encoding", ""))
            if body is not None:
                return _Response(response.status_code, headers, self._body_without_key(body))
            kind, problem = "bad-reply", "the reply is over 8 MB or packed in a way that was not asked for"
        except httpx.TimeoutException:
            problem = "no answer in time"
        except httpx.ConnectError as error:
            kind, problem = "unreachable", _why(error)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            problem = f"the connection broke ({type(error).__name__})"
        if deadline.passed:
            kind, problem = "busy", "the answer did not end in time"
        advice = _advice(kind, query.purpose)
        failed = ModelError(query.asked, kind, f"{query.asked} at {self.endpoint.host}: {problem}; {advice}")
        raise _Retry(failed) if kind == "busy" else failed

    def _headers(self) -> dict[str, str]:
        key = {"Authorization": f"Bearer {self.endpoint.key}"} if self.endpoint.key else {}
        return {"Content-Type": "application/json", **_ACCEPTED, **key}

    def _request(self, model: str, messages: Sequence[ChatMessage], max_tokens: int) -> bytes:
        """The request's body: valid UTF-8 whatever was said, half surrogates become U+FFFD."""
        request: dict[str, object] = {
            "model": model,
            "messages": [{"role": m.role, "content": m.content} for m in messages],
            self._max_tokens_name: max_tokens,
            "stream": False,
        }
        if self._temperature:
            request["temperature"] = 0
        return _utf8(json.dumps(request, ensure_ascii=False))

    def _body_without_key(self, body: bytes) -> bytes:
        """A provider may quote the key back at us, in JSON also with some of its letters escaped."""
        key = self.endpoint.key
        if not key:
            return body
        body = body.replace(key.encode("ascii"), b"[key]")
        value = parsed(body) if b"\\" in body else None
        if value is None:
            return body
        # Written anew with no letter escaped that a key has, so that none of it is left when a message is cut short.
        text = json.dumps(value, ensure_ascii=False)
        return self._without_key(text).encode("utf-8", "surrogatepass") if key in text else body

    def _without_key(self, text: str) -> str:
        key = self.endpoint.key
        return text.replace(key, "[key]") if key else text


ADVICE = {
    "busy": "the next run tries again",
    "gone": "set {setting} or LLM_MODEL to a model that this server has, and check LLM_BASE_URL",
    "auth": "check LLM_API_KEY (or OPENROUTER_API_KEY) and that it may use this model",
    "credit": "add credit at the provider or set a free model",
    "too-large": "set TOTAL_RECALL_BATCH_TOKENS lower",
    "refused": "check LLM_BASE_URL and the model's name",
    "bad-reply": "check that LLM_BASE_URL names an OpenAI-compatible endpoint",
    "unreachable": "check LLM_BASE_URL and that the server runs",
}
"""What a person can do about each kind of failure. `{setting}` names the model for the purpose."""
MODEL_SETTINGS = {
    "observe": "OBSERVER_MODEL", "reflect": "REFLECTOR_MODEL", embeddings.PURPOSE: "EMBEDDING_MODEL",
}  # fmt: skip

LIST = "the list of models"
_ACCEPTED = {"Accept-Encoding": "gzip"}


def _utf8(text: str) -> bytes:
    """Valid UTF-8 whatever was said: half surrogates become U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode("utf-8")


_EMBEDDING_ADVICE = {
    "gone": "set EMBEDDING_MODEL to a model that this server has, and check EMBEDDING_BASE_URL",
    "auth": "check EMBEDDING_API_KEY (or LLM_API_KEY) and that it may use this model",
    "refused": "check EMBEDDING_BASE_URL and EMBEDDING_MODEL",
    "bad-reply": "check that EMBEDDING_BASE_URL (or LLM_BASE_URL) names an endpoint that has /embeddings",
    "unreachable": "check EMBEDDING_BASE_URL (or LLM_BASE_URL) and that the server runs",
}
"""Where it is other settings that count."""


def _advice(kind: str, purpose: str) -> str:
    if purpose == embeddings.PURPOSE and kind in _EMBEDDING_ADVICE:
        return _EMBEDDING_ADVICE[kind]
    return ADVICE[kind].format(setting=MODEL_SETTINGS.get(purpose, "OBSERVER_MODEL"))


def _http_client(endpoint: Endpoint) -> httpx.Client:
    """Proxies and certificates from the environment, but no proxy for this computer.

    A connection serves one request: minutes lie between two, and a deadline may have to cut it off.
    """
    try:
        certificates = httpx.create_ssl_context(trust_env=True)
    except OSError as error:
        raise SettingError(
            "the certificates that SSL_CERT_FILE or SSL_CERT_DIR names cannot be read: "
            f"{error.strerror or 'no certificate in it'}; name your CA's file in PEM form"
        ) from None
    try:
        return httpx.Client(
            verify=certificates,
            trust_env=not endpoint.is_loopback,
            follow_redirects=False,
            limits=httpx.Limits(max_keepalive_connections=0),
        )
    except (ValueError, ImportError, httpx.InvalidURL):
        raise SettingError(
            "the proxy in HTTPS_PROXY, HTTP_PROXY or ALL_PROXY cannot be used; give it as http://host:port"
        ) from None


class _Deadline:
    """Cuts the connection when the time is up, wherever the server drips: status line, headers or body."""

    def __init__(self, seconds: float) -> None:
        self.passed = False
        self._sockets: list[socket.socket] = []
        self._timer = threading.Timer(seconds, self._cut)
        self._timer.daemon = True

    def __enter__(self) -> _Deadline:
        self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()
        self._timer.join()
        for copy in self._sockets:
            copy.close()

    def watch(self, event: str, info: dict[str, Any]) -> None:
        """Called by httpx at each step of a request. Keeps its own handle of each connection's socket."""
        if event == "connection.connect_tcp.complete":
            original = info["return_value"].get_extra_info("socket")
            if original is not None:
                self._sockets.append(original.dup())

    def _cut(self) -> None:
        self.passed = True
        for copy in self._sockets:
            with contextlib.suppress(OSError):  # the server hung up first
                copy.shutdown(socket.SHUT_RDWR)


def _read(response: httpx.Response) -> bytes:
    """The body as it was sent; what is over `BODY_LIMIT` is left unread."""
    raw = bytearray()
    for piece in response.iter_raw():
        raw += piece
        if len(raw) > BODY_LIMIT:
            break
    return bytes(raw)


def _unpacked(raw: bytes, encoding: str) -> bytes | None:
    """The body, unpacked up to `BODY_LIMIT`; None for a larger one or one packed otherwise than asked."""
    if len(raw) > BODY_LIMIT:
        return None
    name = encoding.strip().lower()
    if name in ("", "identity"):
        return raw
    if name not in ("gzip", "x-gzip"):
        return None
    unpacker = zlib.decompressobj(wbits=31)
    try:
        body = unpacker.decompress(raw, BODY_LIMIT)
    except zlib.error:
        return None
    return body if unpacker.eof else None


def _wait(state: tenacity.RetryCallState) -> float:
    """What the provider asks for, else exponential backoff with jitter."""
    error = state.outcome.exception() if state.outcome else None
    if isinstance(error, _Retry) and error.retry_after is not None:
        return error.retry_after
    return float(tenacity.wait_exponential_jitter(initial=1.0, max=20.0, jitter=1.0)(state))


def _why(error: httpx.ConnectError) -> str:
    text = str(error)
    if "refused" in text:
        return "connection refused"
    if "CERTIFICATE" in text.upper():
        return "its certificate is not trusted (SSL_CERT_FILE names your own CA)"
    return one_line(text, 100) or "cannot be reached"
