"""A real OpenClaw in a home of its own: its Gateway, its command line, and what its transcripts hold."""

from __future__ import annotations

import json
import os
import signal
import socket
import sqlite3
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import zstandard

from scripted_model import ScriptedModel

GATEWAY_START_SECONDS = 90.0
GATEWAY_STOP_SECONDS = 30.0
TURN_SECONDS = 90.0


@dataclass(frozen=True, slots=True)
class StoredEntry:
    """One entry of a transcript, as the host stores it. `compressed` is True for a zstd row of the SQLite store."""

    session_id: str
    entry: dict[str, Any]
    compressed: bool = False

    @property
    def role(self) -> str | None:
        """`user`, `assistant` or `toolResult` for a message; None for any other entry."""
        return self.entry["message"]["role"] if self.entry["type"] == "message" else None

    @property
    def text(self) -> str:
        """The text blocks of a message, without tool calls and thinking."""
        content = self.entry["message"]["content"]
        return content if isinstance(content, str) else "".join(p["text"] for p in content if p["type"] == "text")


@dataclass(frozen=True, slots=True)
class OpenClaw:
    """One installed OpenClaw that keeps everything under `home` and talks to `model`."""

    version: str
    bin: Path
    home: Path
    model: ScriptedModel
    extra_environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def state(self) -> Path:
        return self.home / ".openclaw"

    @property
    def workspace(self) -> Path:
        return self.state / "workspace"

    @property
    def gateway_log(self) -> Path:
        return self.home / "gateway.log"

    @property
    def environment(self) -> dict[str, str]:
        """All that its processes see: nothing of the person who runs the tests."""
        return {
            "HOME": str(self.home),
            "TMPDIR": str(self.home / "tmp"),
            "PATH": f"{self.bin}:/usr/bin:/bin",
            "LANG": "C.UTF-8",
            # Not UTC, so that a local time taken for UTC shows.
            "TZ": "Asia/Seoul",
            **self.extra_environment,
        }

    @contextmanager
    def gateway(self) -> Iterator[subprocess.Popen[bytes]]:
        """Run the Gateway until the block ends; leaving stops it with SIGTERM and expects it to obey."""
        port = self.configure()
        command = [str(self.bin / "openclaw"), "gateway", "run", "--port", str(port), "--allow-unconfigured"]
        with self.gateway_log.open("ab") as log:
            # A session of its own, so that the last resort below reaches its children and nobody else's.
            process = subprocess.Popen(
                command, env=self.environment, cwd=self.home, stdout=log, stderr=log, start_new_session=True
            )
        try:
            wait_until(
                lambda: _answers(port) or process.poll() is not None, GATEWAY_START_SECONDS, "the Gateway answers"
            )
            assert process.poll() is None, f"the Gateway of {self.version} ended with {process.returncode}"
            yield process
            if process.poll() is None:
                process.terminate()
            process.wait(GATEWAY_STOP_SECONDS)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait(GATEWAY_STOP_SECONDS)

    def say(self, text: str) -> None:
        """One turn of the main session through the Gateway; returns when it is over."""
        with self.turn(text):
            pass

    @contextmanager
    def turn(self, text: str) -> Iterator[subprocess.Popen[str]]:
        """The same, with the block running while the turn does."""
        command = [str(self.bin / "openclaw"), "agent", "--agent", "main", "--message", text, "--json"]
        process = subprocess.Popen(
            command,
            env=self.environment,
            cwd=self.home,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            yield process
            out, err = process.communicate(timeout=TURN_SECONDS)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
        assert process.returncode == 0, f"openclaw agent: {err[-2000:]}{out[-2000:]}"
        assert json.loads(out)["status"] == "ok", out

    def run(self, *arguments: str) -> str:
        """A command of the host's; what it prints, on either stream. Fails when it does."""
        done = subprocess.run(
            [str(self.bin / "openclaw"), *arguments],
            env=self.environment,
            cwd=self.home,
            capture_output=True,
            text=True,
            timeout=TURN_SECONDS,
            check=False,
        )
        assert done.returncode == 0, f"openclaw {' '.join(arguments)}: {done.stderr[-2000:]}{done.stdout[-2000:]}"
        return done.stdout + done.stderr

    def run_json(self, *arguments: str) -> Any:
        """The same with `--json`; log lines may stand around the answer."""
        out = self.run(*arguments, "--json")
        start = min(place for sign in ("{\n", "[\n", "{") if (place := out.find(sign)) >= 0)
        return json.JSONDecoder().raw_decode(out, start)[0]

    def call(self, method: str, **parameters: object) -> Any:
        """A call to the Gateway."""
        return self.run_json("gateway", "call", method, "--params", json.dumps(parameters))

    def transcript(self) -> list[StoredEntry]:
        """Every entry of every session of the main agent, in either store, archives included."""
        agent = self.state / "agents" / "main"
        database = agent / "agent" / "openclaw-agent.sqlite"
        return _sqlite_entries(database) if database.exists() else _file_entries(agent / "sessions")

    def configure(self) -> int:
        """Write the configuration, the first time; returns the Gateway's port."""
        path = self.state / "openclaw.json"
        if path.exists():
            port: int = json.loads(path.read_text("utf-8"))["gateway"]["port"]
            return port
        port = _free_port()
        model = {
            "id": "scripted",
            "name": "Scripted",
            "reasoning": False,
            "input": ["text"],
            "contextWindow": 64000,
            "maxTokens": 4096,
            "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0},
        }
        provider = {
            "baseUrl": f"http://127.0.0.1:{self.model.port}/v1",
            "apiKey": "none",
            "api": "openai-completions",
            "models": [model],
        }
        config = {
            "models": {"mode": "merge", "providers": {"scripted": provider}},
            "agents": {
                "defaults": {
                    "model": {"primary": "scripted/scripted"},
                    "workspace": str(self.workspace),
                    # The scripted model writes no summary that would pass (2026.9.6; unknown to 2026.3.24).
                    **({"compaction": {"qualityGuard": {"enabled": False}}} if self.version > "2026.8" else {}),
                }
            },
            "gateway": {"mode": "local", "auth": {"mode": "token", "token": "example"}, "port": port},
            # Nothing that leaves the machine or starts by the clock.
            "update": {"checkOnStart": False},
            "discovery": {"mdns": {"mode": "off"}},
            "cron": {"enabled": False},
            "logging": {"file": str(self.home / "openclaw.log")},
        }
        for directory in (self.workspace, self.home / "tmp"):
            directory.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(config), "utf-8")
        return port


def wait_until(condition: Callable[[], bool], limit_seconds: float, what: str) -> None:
    """Poll until `condition` holds; fail, naming `what`, after `limit_seconds`."""
    deadline = time.monotonic() + limit_seconds
    while not condition():
        assert time.monotonic() < deadline, f"waited {limit_seconds:.0f} s in vain: {what}"
        time.sleep(0.05)


def tail(path: Path, lines: int = 60) -> str:
    """The last lines of a log, or "" when there is none."""
    return "\n".join(path.read_text("utf-8", "replace").split("\n")[-lines:]) if path.exists() else ""


def _free_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _answers(port: int) -> bool:
    try:
        urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=2).close()
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False
    return True


def _file_entries(sessions: Path) -> list[StoredEntry]:
    entries = []
    for path in sorted(sessions.glob("*.jsonl*")):
        if path.name.endswith(".lock"):
            continue
        session_id = path.name.partition(".jsonl")[0]
        lines = path.read_bytes().split(b"\n")
        entries += [StoredEntry(session_id, json.loads(line)) for line in lines if line]
    return entries


def _sqlite_entries(database: Path) -> list[StoredEntry]:
    query = "SELECT session_id, event_json, event_zstd FROM transcript_events ORDER BY session_id, seq"
    with closing(sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True)) as connection:
        rows = connection.execute(query).fetchall()
    unpack = zstandard.ZstdDecompressor().decompressobj
    return [
        StoredEntry(session_id, json.loads(unpack().decompress(packed) if packed else plain), compressed=bool(packed))
        for session_id, plain, packed in rows
    ]
