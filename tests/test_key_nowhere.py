"""The key is sent to the provider and is nowhere else: not in a file, a message, a traceback or the process list.

It is made anew for each test and stands in `.env` alone. Parts of it count as well.
"""

from __future__ import annotations

import base64
import json
import os
import secrets
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from builders import Home, append, said
from model_server import MODES, ModelServer, Reply, Request, as_json, error, in_turn
from model_server import said as answered
from total_recall import cli
from total_recall.commands import observe, places
from total_recall.llm.client import Client, Endpoint
from total_recall.llm.observer import ModelObserver

RUN = Path(__file__).parents[1] / "scripts" / "run.py"
TEA = "Remember that my favourite tea is oolong. Then deploy build 412 to staging."
PART = 12
"""So many characters of the key in a row give it away."""


@dataclass
class World:
    """A home with a conversation and a key in `.env`, and the folder that temporary files go to."""

    home: Path
    temporary: Path
    key: str
    openclaw: Home

    @property
    def dotenv(self) -> Path:
        return self.openclaw.root / "workspace" / ".env"

    @property
    def memory(self) -> Path:
        return self.openclaw.root / "workspace" / "memory"

    def use(self, base_url: str, **more: str) -> None:
        """Settings, as a person writes them."""
        usual = {"LLM_BASE_URL": base_url, "LLM_MODEL": "first", "LLM_API_KEY": self.key, "TOTAL_RECALL_TZ": "UTC"}
        self.dotenv.parent.mkdir(parents=True, exist_ok=True)
        self.dotenv.write_text("".join(f"{name}={value}\n" for name, value in {**usual, **more}.items()))

    def places_of_the_key(self, *texts: str) -> list[str]:
        """Where it, or a part of it, can be read: files but for `.env`, and the texts."""
        found = [f"text {n}" for n, text in enumerate(texts) if self.is_in(text.encode("utf-8", "replace"))]
        for folder in (self.home, self.temporary):
            paths = [path for path in folder.rglob("*") if path.is_file() and path != self.dotenv]
            found += [str(path) for path in paths if self.is_in(path.read_bytes()) or self.is_in(str(path).encode())]
        return found

    def is_in(self, content: bytes) -> bool:
        secret = self.key.rpartition("-")[2]
        parts = [secret[n : n + PART] for n in range(len(secret) - PART + 1)]
        spellings = [base64.b64encode(self.key.encode()).decode().rstrip("="), quote(self.key), self.key.encode().hex()]
        return any(part.encode() in content for part in (*parts, *spellings))


@pytest.fixture
def world(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    defaults: dict[str, Any] = Client.__init__.__kwdefaults__ or {}
    monkeypatch.setitem(defaults, "sleep", lambda _seconds: None)
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    key = f"sk-or-v1-{secrets.token_hex(32)}"
    openclaw = Home(home / ".openclaw", home / "unused")
    openclaw.write(said("a", TEA), said("b", "Deployed build 412 to staging.", 2, role="assistant"))
    yield World(home, temporary, key, openclaw)


ALL = ["observe", "--all"]
COMMANDS = (
    ALL, ALL, [*ALL, "--json"], ["reflect", "--force"], ["status"], ["status", "--json"], ["status", "--cost"],
)  # fmt: skip


def escaped(key: str) -> str:
    """The key as JSON may write it, letter by letter."""
    return "".join(f"\\u{ord(letter):04x}" for letter in key)


def quoting(key: str) -> dict[str, Reply]:
    """Answers that give the key back to whoever sent it."""
    far = "x" * 150
    """Messages are cut short in the middle of what follows."""
    line = f"- 🔴 06:01 User's API key is {key} <!-- dc:type=fact dc:importance=9.0 -->"
    spelled = json.dumps({"error": {"message": "K", "code": 401}})
    return {
        "401": error(401, f"Incorrect API key provided: {key}. Find yours at https://provider.test/keys"),
        "401 cut short": error(401, f"Incorrect API key provided {far}: {key}."),
        "401 escaped": Reply(401, spelled.replace("K", f"No such key: {escaped(key)}").encode()),
        "401 escaped and cut short": Reply(401, spelled.replace("K", f"No such key {far}: {escaped(key)}").encode()),
        "401 as text": Reply(401, f"Unauthorized: Bearer {key}".encode()),
        "401 in 200": error(401, f"No auth credentials found in Bearer {key}", inside=200),
        "400 in metadata": as_json({"error": {"message": "Bad", "code": 400, "metadata": {"raw": f"key={key}"}}}, 400),
        "404": error(404, f"No endpoints found for first with key {key}"),
        "500": error(500, f"Cannot handle headers Authorization: Bearer {key}"),
        "429": error(429, f"Rate limit of {key}. Please try again in 1ms."),
        "413": error(413, f"Limit 100, Requested 9000 for {key}"),
        "page": Reply(502, f"<html><title>Bearer {key}</title></html>".encode()),
        "page with 200": Reply(200, f"<html><h1>{key}</h1></html>".encode()),
        "not JSON": Reply(200, f"{key} is not JSON".encode()),
        "line": answered(f"{line}\n- 🔴 06:01 User's favourite tea is oolong <!-- dc:type=preference -->"),
        "thoughts": answered("", reasoning=line),
        "redirect": Reply(302, b"", {"Location": f"/login/{key}?key={key}"}),
        "far redirect": Reply(302, b"", {"Location": f"https://provider.test/{far}/{key}"}),
    }


def assert_the_key_stays(world: World, capfd: pytest.CaptureFixture[str], expected: tuple[int, ...] = (0, 1)) -> str:
    """Run every command that could write it somewhere; returns what they print."""
    printed = ""
    for number, command in enumerate(COMMANDS):
        if "--all" in command:
            invoice = said(f"c{number}", f"Invoice {1000 + number} is due today.", 3 + number)
            append(world.openclaw.transcript(), invoice)
        assert cli.main(command) in expected, command
        out, err = capfd.readouterr()
        printed += out + err
        assert world.places_of_the_key(out, err) == [], command
    return printed


def test_the_search_finds_what_it_looks_for(world: World) -> None:
    assert world.places_of_the_key("nothing") == []
    (world.temporary / "found").write_bytes(b"\0" + world.key[20:40].encode() + b"\0")
    (world.home / "packed").write_text(base64.b64encode(world.key.encode()).decode())
    assert len(world.places_of_the_key(world.key, f"…{world.key[-PART:]}")) == 4


QUIET = sorted(set(MODES) - {"drip", "drip-head", "drip-gzip", "silent", "huge", "too-huge", "bomb"})


@pytest.mark.parametrize("mode", [m for m in QUIET if m.startswith(("http", "html", "dr", "half", "ok", "redirect"))])
def test_in_every_failure_the_key_is_sent_and_nothing_else(
    mode: str, world: World, capfd: pytest.CaptureFixture[str]
) -> None:
    with ModelServer(mode) as server:
        world.use(server.url)
        assert_the_key_stays(world, capfd)
        assert {request.key for request in server.requests} == {f"Bearer {world.key}"}
        assert not any(world.is_in(request.raw) or world.key in request.path for request in server.requests)
        gate = world.home / ".cache" / "total-recall" / "gate"
        for _ in range(50):  # of files that changed a moment ago the gate keeps no record
            cli.main(["observe"])
            if gate.exists():
                break
        assert list(gate.iterdir()) and world.places_of_the_key(*capfd.readouterr()) == []
    assert (world.memory / ".total-recall" / "state.sqlite").stat().st_size > 0


@pytest.mark.parametrize("what", sorted(quoting("key")))
def test_a_provider_that_quotes_the_key_does_not_get_it_written_down(
    what: str, world: World, capfd: pytest.CaptureFixture[str]
) -> None:
    with ModelServer(in_turn(quoting(world.key)[what])) as server:
        world.use(server.url)
        assert_the_key_stays(world, capfd)
        assert server.requests


def test_a_server_that_hangs_or_cannot_be_reached(world: World, capfd: pytest.CaptureFixture[str]) -> None:
    with ModelServer() as server:
        world.use(server.url)
    assert "connection refused" in assert_the_key_stays(world, capfd)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_the_key_does_not_follow_a_redirect(status: int, world: World, capfd: pytest.CaptureFixture[str]) -> None:
    with ModelServer() as other:
        there = f"{other.url.replace('127.0.0.1', 'localhost')}/chat/completions"
        with ModelServer(in_turn(Reply(status, b"", {"Location": there}))) as server:
            world.use(server.url)
            assert "moved to" in assert_the_key_stays(world, capfd)
        assert (other.requests, other.lookups) == ([], [])


def test_the_list_of_models_is_asked_for_without_the_key(
    world: World, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NO_PROXY", "no_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    quoted = error(500, f"Cannot handle Bearer {world.key}")
    with ModelServer("http404", quoted) as server:
        for name in ("HTTP_PROXY", "http_proxy"):
            monkeypatch.setenv(name, server.origin)
        world.use("http://openrouter.ai/api/v1", LLM_MODEL="")
        assert "stepfun/step-3.5-flash:free" in assert_the_key_stays(world, capfd)
        assert server.lookups and not any(world.is_in(repr(lookup).encode()) for lookup in server.lookups)


def bug(*_: object, **__: object) -> None:
    """Says all that it can reach."""
    config = places.configure()
    endpoint = Endpoint(config.settings.llm_base_url or "", config.settings.llm_api_key)
    raise RuntimeError(f"a bug with {config!r}, {config.settings!s}, {config.settings.shown} and {endpoint!r}")


@pytest.mark.parametrize(
    ("owner", "name", "expected"),
    [
        (ModelObserver, "compress", (0, 1)),
        (Client, "chat", (0, 3)),
        (Client, "_fetch", (0, 3)),
        (observe, "_leave_traces", (0, 3)),
    ],
)
def test_a_bug_does_not_tell_the_key(
    owner: object,
    name: str,
    expected: tuple[int, ...],
    world: World,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with ModelServer("ok") as server:
        world.use(server.url)
        monkeypatch.setattr(owner, name, bug)
        printed = assert_the_key_stays(world, capfd, expected)
    reports = [path.read_text() for path in world.temporary.glob("total-recall-*.log")]
    assert reports and all("a bug with Configuration(" in report for report in reports)
    assert "bug" in printed


def test_a_bug_inside_the_http_library_does_not_tell_the_key(
    world: World, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a request with its headers is at hand."""

    def raising(_self: object, request: Any) -> None:
        raise RuntimeError(f"a bug with {request!r} and {request.headers!r}")

    monkeypatch.setattr("httpx.HTTPTransport.handle_request", raising)
    with ModelServer("ok") as server:
        world.use(server.url)
        assert_the_key_stays(world, capfd, (0, 3))
    reports = [path.read_text() for path in world.temporary.glob("total-recall-*.log")]
    assert reports and all("[secure]" in report for report in reports)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_while_a_model_thinks_the_key_is_in_no_process_list_and_no_file(world: World) -> None:
    asked, go_on = threading.Event(), threading.Event()

    def held(_request: Request) -> Reply:
        asked.set()
        go_on.wait(30)
        return MODES["ok"]

    with ModelServer(held) as server:
        world.use(server.url)
        process = subprocess.Popen(
            [sys.executable, "-I", "-X", "utf8", str(RUN), *ALL],
            env={**os.environ, "TMPDIR": str(world.temporary)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            assert asked.wait(60), "the run reached the model"
            seen = list(told_of(process.pid))
            assert any(str(RUN).encode() in content for content in seen)
            assert not any(world.is_in(content) for content in seen)
            assert world.places_of_the_key() == []
        finally:
            go_on.set()
            out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert {request.key for request in server.requests} == {f"Bearer {world.key}"}
    assert "became" in out and world.places_of_the_key(out, err) == []


def told_of(pid: int) -> Iterator[bytes]:
    """What the system tells everybody, or the user, of a process and all that it started."""
    folder = Path("/proc") / str(pid)
    for name in ("cmdline", "environ", "comm", "status", "maps"):
        yield (folder / name).read_bytes()
    for link in (folder / "fd").iterdir():
        yield str(link.readlink()).encode()
    for task in (folder / "task").iterdir():
        yield (task / "comm").read_bytes()
        for child in (task / "children").read_text().split():
            yield from told_of(int(child))
