"""An OpenAI-compatible server on 127.0.0.1 that misbehaves on request and keeps a log of what it was sent.

`ModelServer(answer)` asks `answer(request)` for a `Reply` to each request; `in_turn("http500", "ok")` makes one from
the names in `MODES`, the last of which goes on for ever.
"""

from __future__ import annotations

import gzip
import json
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

LINES = """Date: 2026-11-30
- 🔴 09:00 User's favourite tea is oolong <!-- dc:type=preference dc:importance=6.0 dc:confidence=0.95 \
dc:source=explicit dc:date=2026-11-30 -->
- 🟢 09:05 Build 412 was deployed to staging <!-- dc:type=event dc:importance=2.0 dc:confidence=0.9 \
dc:source=explicit dc:date=2026-11-30 -->
"""
"""What a good model answers when nothing else is asked for."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it came. `body` is the JSON, `raw` its bytes; `key` is the Authorization header."""

    path: str
    headers: Mapping[str, str]
    raw: bytes
    body: Mapping[str, Any]

    @property
    def key(self) -> str | None:
        return self.headers.get("authorization")

    @property
    def model(self) -> str:
        return str(self.body.get("model"))

    @property
    def user(self) -> str:
        """What the user message says."""
        return "\n".join(m["content"] for m in self.body.get("messages", ()) if m["role"] == "user")


@dataclass(frozen=True, slots=True)
class Reply:
    """What to answer. `drip` seconds lie between two bytes of the body, or of the head when `drip_head` is set."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    drip: float = 0.0
    drip_head: bool = False
    hang_up: bool = False
    hang_up_after: int | None = None


Answering = Callable[[Request], Reply]


def as_json(value: object, status: int = 200, **headers: str) -> Reply:
    names = {name.replace("_", "-"): text for name, text in headers.items()}
    return Reply(status, json.dumps(value).encode(), {"Content-Type": "application/json", **names})


def completion(
    content: object = LINES, *, finish: str | None = "stop", usage: Mapping[str, Any] | None = None, **message: object
) -> dict[str, Any]:
    """The JSON of a chat completion."""
    choice = {"index": 0, "message": {"role": "assistant", "content": content, **message}, "finish_reason": finish}
    return {"id": "c1", "object": "chat.completion", "choices": [choice], **({"usage": usage} if usage else {})}


def listed(name: str, context: object = 131_072, price: object = "0", **more: object) -> dict[str, Any]:
    """A model as OpenRouter lists it; `more` takes the place of what stands here."""
    model = {
        "id": name,
        "canonical_slug": name,
        "name": name,
        "context_length": context,
        "architecture": {
            "modality": "text->text",
            "input_modalities": ["text"],
            "output_modalities": ["text"],
            "tokenizer": "Other",
            "instruct_type": None,
        },
        "pricing": {"prompt": price, "completion": price, "request": "0", "image": "0"},
        "top_provider": {"context_length": context, "max_completion_tokens": None, "is_moderated": False},
        "per_request_limits": None,
        "expiration_date": None,
    }
    return {**model, **more}


def said(content: object = LINES, **more: Any) -> Reply:
    """A whole answer."""
    return as_json(completion(content, **more))


def error(status: int, message: str, *, inside: int | None = None, **headers: str) -> Reply:
    """An error as providers report it; `inside` puts it into a reply of another status."""
    return as_json({"error": {"message": message, "code": status}}, inside or status, **headers)


_OK = json.dumps(completion()).encode()
_PAGE = b"<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>"
_THOUGHTS = "<think>\nLet me draft:\n- 🔴 09:00 User hates dogs <!-- dc:type=fact dc:importance=9.0 -->\nHmm"
_FENCED = f"```markdown\n{LINES}```"

MODES: Mapping[str, Reply] = {
    "ok": said(usage={"prompt_tokens": 4000, "completion_tokens": 80}),
    "http400": error(400, "bad request"),
    "http401": error(401, "Invalid API key"),
    "http402": error(402, "Insufficient credits"),
    "http403": error(403, "forbidden"),
    "http404": error(404, "No endpoints found for first/free-a:free."),
    "http408": error(408, "timeout"),
    "http409": error(409, "conflict"),
    "http413": error(413, "Request Entity Too Large"),
    "http425": error(425, "too early"),
    "http429": error(429, "Rate limited", Retry_After="1"),
    "http500": error(500, "boom"),
    "http503": error(503, "overloaded"),
    "html200": Reply(200, b"<!doctype html><html><title>Sign in</title></html>", {"Content-Type": "text/html"}),
    "html502": Reply(502, _PAGE, {"Content-Type": "text/html"}),
    "429-in-200": error(429, "Rate limit exceeded: free-models-per-min", inside=200),
    "404-in-200": error(404, "No endpoints found for first/free-a:free.", inside=200),
    "error-string": as_json({"error": "Unexpected endpoint or method. (POST /chat/completions)"}),
    "error-in-choice": as_json({"choices": [{"error": {"code": 502, "message": "Provider returned error"}}]}),
    "no-choices": as_json({"object": "chat.completion", "choices": []}),
    "half-json": Reply(200, b'{"choices": [{"mess', {"Content-Type": "application/json"}),
    "empty": said(""),
    "null": said(None),
    "blank-finish": said("", finish=None),
    "filtered": said("", finish="content_filter"),
    "reasoning": said("", reasoning=LINES),
    "reasoning-content": said(None, reasoning_content=LINES),
    "reasoning-prose": said("", reasoning="I should list the tea. - 🔴 09:00 User hates dogs\nLet me think."),
    "parts": said([{"type": "text", "text": LINES}]),
    "think": said(f"<think>- 🔴 09:00 User hates dogs</think>\n{LINES}"),
    "unclosed-think": said(_THOUGHTS, finish="length"),
    "truncated": said(LINES[: len(LINES) * 2 // 3], finish="length"),
    "fenced": said(_FENCED),
    "prose": said(f"Sure! Here is what I noted:\n\n{LINES}\nLet me know if you need more."),
    "garbage": said("Sure! Here is a summary of your conversation: it was nice."),
    "repeats": said(LINES * 62),
    "huge": said(LINES * 20_000),
    "too-huge": Reply(200, b" " * (9 << 20), {"Content-Type": "application/json"}),
    "gzip": Reply(200, gzip.compress(_OK), {"Content-Encoding": "gzip"}),
    "bomb": Reply(200, gzip.compress(b" " * (50 << 20)), {"Content-Encoding": "gzip"}),
    "brotli": Reply(200, b"\x0b\x02\x80", {"Content-Encoding": "br"}),
    "redirect": Reply(301, b"", {"Location": "https://api.example.test/v1/chat/completions?token=abc"}),
    "drop": Reply(hang_up=True),
    "half-body": Reply(200, _OK, hang_up_after=40),
    "drip": Reply(200, _OK, drip=0.2),
    "drip-head": Reply(200, _OK, drip=0.2, drip_head=True),
    "drip-gzip": Reply(200, gzip.compress(_OK), {"Content-Encoding": "gzip"}, drip=0.2),
    "silent": Reply(200, _OK, drip=30.0, drip_head=True),
    "nothing": said("NOTHING NOTABLE"),
}  # fmt: skip
"""Replies by name, after what providers and gateways were seen to send."""


def in_turn(*modes: str | Reply) -> Answering:
    """Replies in this order, by name or as they are; the last one for ever."""
    replies = [MODES[mode] if isinstance(mode, str) else mode for mode in modes]
    lock, count = threading.Lock(), [0]

    def answer(_request: Request) -> Reply:
        with lock:
            number = min(count[0], len(replies) - 1)
            count[0] += 1
        return replies[number]

    return answer


def by_model(**modes: Sequence[str | Reply] | str | Reply) -> Answering:
    """A sequence of its own for each model."""
    answers = {
        model: in_turn(*([told] if isinstance(told, (str, Reply)) else told)) for model, told in modes.items()
    }
    return lambda request: answers[request.model](request)


class ModelServer:
    """Use as a context manager. `requests` is the log, in the order of arrival.

    Whoever asks for the list of models gets `models`, and stands in `lookups`.
    """

    def __init__(self, answer: Answering | str = "ok", models: Reply | Sequence[Mapping[str, Any]] = ()) -> None:
        self.answer = in_turn(answer) if isinstance(answer, str) else answer
        self.models = models if isinstance(models, Reply) else as_json({"data": list(models)})
        self.requests: list[Request] = []
        self.lookups: list[Request] = []
        self._leaving = threading.Event()
        self._server = _Listener(self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def url(self) -> str:
        return f"{self.origin}/v1"

    def calls(self, model: str) -> int:
        return sum(request.model == model for request in self.requests)

    def pause(self, seconds: float) -> None:
        """Waits, but not beyond the server's own end."""
        self._leaving.wait(seconds)

    def __enter__(self) -> ModelServer:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leaving.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class _Listener(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, owner: ModelServer) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.owner = owner


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Listener

    def log_message(self, format: str, *args: object) -> None:
        """Nothing on the terminal; the log is `requests`."""

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(self.path, headers, raw, json.loads(raw.decode("utf-8")))
        owner = self.server.owner
        owner.requests.append(request)
        self._answer(owner.answer(request))

    def do_GET(self) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        owner = self.server.owner
        owner.lookups.append(Request(self.path, headers, b"", {}))
        self._answer(owner.models if self.path.endswith("/models") else error(404, "no such page"))

    def _answer(self, reply: Reply) -> None:
        owner = self.server.owner
        self.close_connection = True
        try:
            self._send(reply, owner)
        except OSError:
            return  # the client hung up, as it should when it has waited long enough

    def _send(self, reply: Reply, owner: ModelServer) -> None:
        if reply.hang_up:
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        names = {"Content-Length": str(len(reply.body)), "Connection": "close", **reply.headers}
        head = f"HTTP/1.1 {reply.status} Said\r\n" + "".join(f"{n}: {v}\r\n" for n, v in names.items()) + "\r\n"
        body = reply.body[: reply.hang_up_after]
        slow, fast = (head.encode() + body, b"") if reply.drip_head else (body, head.encode())
        self.wfile.write(fast)
        if not reply.drip:
            self.wfile.write(slow)
            return
        for byte in slow:
            self.wfile.write(bytes([byte]))
            owner.pause(reply.drip)
