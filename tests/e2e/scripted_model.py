"""A model server for the tests: it answers each text with the steps that the test wrote for it.

It speaks the streaming chat completions of OpenAI-compatible servers on 127.0.0.1 and remembers what it was
asked and what it said.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

HOLD_LIMIT_SECONDS = 90.0
HOST_CONTEXT = "<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>"
"""How the user message begins that OpenClaw 2026.9.6 appends to every request, also after a tool result."""
TIME_PREFIX = re.compile(r"\[[^\]\n]*\d\d:\d\d[^\]\n]*\] ")
"""OpenClaw tells the model when a user's text came: `[Mon 2026-11-30 06:38 UTC] `."""


@dataclass(frozen=True, slots=True)
class Reply:
    """The model says `text`; with `hold`, only the first half of it until the test sets `released`."""

    text: str
    hold: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """The model calls `tool`, having said `text` if there is any."""

    tool: str
    arguments: Mapping[str, str]
    text: str = ""


Step = Reply | Call
Script = Mapping[str, Sequence[Step]]
"""The beginning of a user's text, without its time prefix, to the steps of that turn."""


@dataclass
class ScriptedModel:
    """`script` is what it will do, `unscripted` its answer to all else: the host's own prompts.

    `said` has the texts of the scripted steps in the order in which they were asked for, and `port` is where it
    listens. `holding` is set while a reply with `hold` waits for `released`.
    """

    script: Script
    unscripted: str
    port: int = 0
    requests: list[dict[str, Any]] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    holding: threading.Event = field(default_factory=threading.Event)
    released: threading.Event = field(default_factory=threading.Event)

    def answer(self, request: dict[str, Any]) -> Step:
        """The step that the conversation in `request` has come to."""
        self.requests.append(request)
        messages = [m for m in request["messages"] if not _text(m).lstrip().startswith(HOST_CONTEXT)]
        asked = max((i for i, m in enumerate(messages) if m["role"] == "user"), default=0)
        text = TIME_PREFIX.sub("", _text(messages[asked]), count=1)
        key = max((known for known in self.script if text.startswith(known)), key=len, default=None)
        if key is None:
            return Reply(self.unscripted)
        done = sum(m["role"] == "tool" for m in messages[asked:])
        step: Step = self.script[key][done]
        if step.text:
            self.said.append(step.text)
        return step


@contextmanager
def serving(model: ScriptedModel) -> Iterator[ScriptedModel]:
    """Serve `model` on a free port until the block ends."""

    class Handler(_Handler):
        scripted = model

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        model.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield model
        finally:
            model.released.set()
            server.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    scripted: ScriptedModel

    def log_message(self, format: str, *args: object) -> None:
        """Quiet: the model keeps the requests, and the terminal is pytest's."""

    def do_GET(self) -> None:
        self._send_json({"object": "list", "data": [{"id": "scripted", "object": "model"}]})

    def do_POST(self) -> None:
        model = self.scripted
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        step = model.answer(request)
        if not request.get("stream"):
            choice = {"index": 0, "message": {"role": "assistant", "content": step.text}, "finish_reason": "stop"}
            self._send_json({"object": "chat.completion", "choices": [choice]})
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        half = len(step.text) // 2
        self._send_chunk({"role": "assistant", "content": step.text[:half]})
        if isinstance(step, Reply) and step.hold:
            model.holding.set()
            model.released.wait(HOLD_LIMIT_SECONDS)
        self._send_chunk({"content": step.text[half:]})
        finish = "stop"
        if isinstance(step, Call):
            finish = "tool_calls"
            function = {"name": step.tool, "arguments": json.dumps(dict(step.arguments))}
            call = {"index": 0, "id": f"call_{len(model.requests)}", "type": "function", "function": function}
            self._send_chunk({"tool_calls": [call]})
        self._send_chunk({}, finish_reason=finish)
        self.wfile.write(b"data: [DONE]\n\n")

    def _send_chunk(self, delta: Mapping[str, Any], finish_reason: str | None = None) -> None:
        choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
        usage = {"prompt_tokens": 1000, "completion_tokens": 20, "total_tokens": 1020}
        chunk: dict[str, Any] = {"id": "scripted", "object": "chat.completion.chunk", "model": "scripted"}
        chunk |= {"choices": [choice], **({"usage": usage} if finish_reason else {})}
        self.wfile.write(b"data: " + json.dumps(chunk).encode() + b"\n\n")
        self.wfile.flush()

    def _send_json(self, body: Mapping[str, Any]) -> None:
        encoded = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(encoded)))
        self.end_headers()
        self.wfile.write(encoded)


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)
