"""A model server for Claude Code: it speaks the messages API on 127.0.0.1, streaming, and says what the test wrote."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Block = Mapping[str, Any]
UNSCRIPTED: Block = {"type": "text", "text": "A summary of the conversation, as the host asked for it."}
USAGE = {"input_tokens": 100, "output_tokens": 10, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}


def text(said: str) -> Block:
    return {"type": "text", "text": said}


def call(tool: str, **arguments: str) -> Block:
    return {"type": "tool_use", "id": f"toolu_{tool}", "name": tool, "input": arguments}


@dataclass
class MessagesModel:
    """`script` has the steps of a turn by what the user's text contains: a step is the blocks of one answer."""

    script: Mapping[str, Sequence[Sequence[Block]]]
    port: int = 0
    requests: list[dict[str, Any]] = field(default_factory=list)

    def answer(self, request: dict[str, Any]) -> Sequence[Block]:
        """The step that the conversation has come to."""
        self.requests.append(request)
        users = [message for message in request.get("messages", []) if message["role"] == "user"]
        results = 0
        for message in reversed(users):
            if any(block["type"] == "tool_result" for block in blocks(message)):
                results += 1
                continue
            words = " ".join(block.get("text", "") for block in blocks(message))
            key = next((known for known in self.script if known in words), None)
            return self.script[key][results] if key is not None else [UNSCRIPTED]
        return [UNSCRIPTED]

    def told(self, said: str) -> str:
        """All texts of the last request in which the user says something."""
        request = next(r for r in reversed(self.requests) if said in json.dumps(r, ensure_ascii=False))
        return "\n".join(block.get("text", "") for m in request["messages"] for block in blocks(m))


def blocks(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    content = message.get("content") or []
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


@contextmanager
def serving(model: MessagesModel) -> Iterator[MessagesModel]:
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
            server.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    scripted: MessagesModel

    def log_message(self, format: str, *args: object) -> None:
        """Quiet: the model keeps the requests, and the terminal is pytest's."""

    def do_HEAD(self) -> None:
        self._send_json({})

    def do_GET(self) -> None:
        self._send_json({})

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
        if "count_tokens" in self.path:
            self._send_json({"input_tokens": 100})
        elif "/v1/messages" in self.path:
            self._speak(request, self.scripted.answer(request))
        else:
            self._send_json({})

    def _speak(self, request: dict[str, Any], said: Sequence[Block]) -> None:
        stop = "tool_use" if any(block["type"] == "tool_use" for block in said) else "end_turn"
        message = {
            "id": f"msg_{len(self.scripted.requests)}", "type": "message", "role": "assistant",
            "model": request.get("model", "scripted"), "stop_sequence": None, "usage": USAGE,
        }  # fmt: skip
        if not request.get("stream"):
            self._send_json({**message, "content": list(said), "stop_reason": stop})
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        self._send_event("message_start", message={**message, "content": [], "stop_reason": None})
        for index, block in enumerate(said):
            is_text = block["type"] == "text"
            begun = {**block, "text": ""} if is_text else {**block, "input": {}}
            delta = (
                {"type": "text_delta", "text": block["text"]}
                if is_text
                else {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
            )
            self._send_event("content_block_start", index=index, content_block=begun)
            self._send_event("content_block_delta", index=index, delta=delta)
            self._send_event("content_block_stop", index=index)
        self._send_event("message_delta", delta={"stop_reason": stop, "stop_sequence": None}, usage=USAGE)
        self._send_event("message_stop")

    def _send_event(self, kind: str, **fields: object) -> None:
        body = json.dumps({"type": kind, **fields}, ensure_ascii=False)
        self.wfile.write(f"event: {kind}\ndata: {body}\n\n".encode())
        self.wfile.flush()

    def _send_json(self, body: Mapping[str, object]) -> None:
        encoded = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(encoded)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(encoded)
