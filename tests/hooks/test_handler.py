"""The hook, in a real Node: whom it gives the memory, what it starts, and that nothing makes it throw."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
HOOK = REPOSITORY / "skills" / "total-recall" / "hooks" / "total-recall"
DAY = "## 2026-11-30 (Mon)\n- 🔴 09:12 Mina lives in Osaka\n"
MEMORY = f"<total-recall-memory>\nBackground.\n\n{DAY}</total-recall-memory>\n"
NEWER = MEMORY.replace("Mina lives in Osaka\n", "Mina lives in Osaka\n- 🟡 09:20 The boat is called Aurora\n")
MAIN = "agent:main:main"


def node() -> str | None:
    """A Node that OpenClaw itself would run on: one of the installed versions' own, else the one in PATH."""
    root = Path(os.environ.get("TOTAL_RECALL_E2E_DIR") or "/nowhere")
    installed = sorted(root.glob("*/node_modules/.bin/node"))
    return str(installed[-1]) if installed else shutil.which("node")


NODE = node()
pytestmark = pytest.mark.skipif(NODE is None, reason="no node: tests/e2e/install brings one")


@dataclass(frozen=True)
class Host:
    """A hook folder, a workspace, and a python3 that notes what it was called with."""

    root: Path

    @property
    def hook(self) -> Path:
        return self.root / "hooks" / "total-recall"

    @property
    def workspace(self) -> Path:
        return self.root / "work space"

    @property
    def context(self) -> Path:
        return self.workspace / "memory" / ".total-recall" / "context.txt"

    @property
    def scripts(self) -> Path:
        return self.workspace / "skills" / "total-recall" / "scripts"

    def write(self, text: str = MEMORY) -> None:
        self.context.parent.mkdir(parents=True, exist_ok=True)
        self.context.write_text(text, encoding="utf-8")

    def feed(self, *events: object) -> list[dict[str, Any]]:
        """What became of each event; none may have thrown."""
        assert NODE is not None
        command = [NODE, str(Path(__file__).parent / "drive.mjs"), str(self.hook / "handler.js"), json.dumps(events)]
        environment = {
            "PATH": f"{self.root / 'bin'}:/usr/bin:/bin",
            "HOME": str(self.root),
            "LOG": str(self.root / "log"),
        }
        done = subprocess.run(
            command, env=environment, cwd=self.root, capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, done.stderr
        results: list[dict[str, Any]] = json.loads(done.stdout)
        assert [result["error"] for result in results] == [None] * len(results)
        return results

    def started(self, count: int) -> list[list[str]]:
        """The command lines of the program, once there are so many."""
        deadline = time.monotonic() + 20
        while len(lines := self._log()) < count and time.monotonic() < deadline:
            time.sleep(0.02)
        return [json.loads(line) for line in lines]

    def _log(self) -> list[str]:
        path = self.root / "log"
        return path.read_text("utf-8").split("\n")[:-1] if path.exists() else []


@pytest.fixture
def host(tmp_path: Path) -> Host:
    host = Host(tmp_path)
    shutil.copytree(HOOK, host.hook)
    host.scripts.mkdir(parents=True)
    (host.scripts / "bootstrap.py").write_text("")
    fake = tmp_path / "bin" / "python3"
    fake.parent.mkdir()
    fake.write_text(
        "#!/usr/bin/python3\nimport json, os, sys, time\n"
        "time.sleep(0.3)\n"
        "line = json.dumps([os.path.basename(sys.argv[1]), *sys.argv[2:]]) + '\\n'\n"
        "os.write(os.open(os.environ['LOG'], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), line.encode())\n"
    )
    fake.chmod(0o755)
    return host


def bootstrap(host: Host, key: object = MAIN, session_id: str = "s1", **more: object) -> dict[str, Any]:
    context = {"workspaceDir": str(host.workspace), "bootstrapFiles": [], "sessionKey": key, "sessionId": session_id}
    return {"type": "agent", "action": "bootstrap", "sessionKey": key, "context": {**context, "cfg": {}, **more}}


def event(name: str, key: str = MAIN, **context: object) -> dict[str, Any]:
    kind, action = name.split(":", 1)
    return {"type": kind, "action": action, "sessionKey": key, "context": context}


def texts(results: Sequence[dict[str, Any]]) -> list[str]:
    """What each bootstrap was given, all files together."""
    return ["".join(file["content"] for file in result["files"]) for result in results if result["files"] is not None]


KEYS = (
    (MAIN, True),
    ("agent:main:main:thread:42", True),
    ("agent:Work-2:main", True),
    ("global", False),
    ("agent:main:telegram:direct:12345", True),
    ("agent:main:telegram:dm:12345", True),
    ("agent:main:whatsapp:business:direct:+15550100", True),
    ("agent:main:direct:peer", True),
    ("agent:main:explicit:mine", True),
    ("agent:main:dashboard:1", True),
    ("agent:main:explicit:model-run-0a0c", False),
    ("agent:main:telegram:group:-100", False),
    ("agent:main:telegram:group:-100:topic:7", False),
    ("agent:main:slack:channel:c1", False),
    ("agent:main:matrix:room:!r", False),
    ("agent:main:telegram:group:direct", False),
    ("agent:main:subagent:0a0c", False),
    ("agent:main:cron:job:run:1", False),
    ("agent:main:hook:1", False),
    ("agent:main:acp:1", False),
    ("agent:main:boot:1", False),
    ("agent:main:internal-session-effects:memory-flush", False),
    ("agent:main:main:heartbeat", False),
    ("temp:slug-generator", False),
    ("unknown", False),
    ("agent:main:nobody-knows:1", False),
    ("", False),
    ("x" * 5000, False),
    (None, False),
    (7, False),
)


@pytest.mark.parametrize(("key", "expected"), KEYS)
def test_only_private_conversations_get_the_memory(host: Host, key: object, expected: bool) -> None:
    host.write()
    assert texts(host.feed(bootstrap(host, key))) == [MEMORY if expected else ""]


def test_the_main_session_may_have_another_name(host: Host) -> None:
    host.write()
    cfg = {"session": {"mainKey": "Home"}}
    assert texts(host.feed(bootstrap(host, "agent:main:home", cfg=cfg))) == [MEMORY]


def test_it_is_added_once_beside_the_hosts_own_files(host: Host) -> None:
    host.write()
    own = {"name": "AGENTS.md", "path": "/x/AGENTS.md", "content": "be kind", "missing": False}
    earlier = {"name": "TOTAL_RECALL.md", "path": str(host.context), "content": "of before", "missing": False}
    (result,) = host.feed(bootstrap(host, bootstrapFiles=[own, earlier]))
    assert [file["content"] for file in result["files"]] == ["be kind", MEMORY]


def test_it_stays_the_same_through_a_session_and_is_new_in_the_next(host: Host) -> None:
    host.write()
    said = host.feed(
        bootstrap(host),
        {"write": [str(host.context), NEWER]},
        bootstrap(host),
        bootstrap(host, "agent:main:telegram:direct:1"),
        bootstrap(host, session_id="s2"),
    )
    assert texts(said) == [MEMORY, MEMORY, NEWER, NEWER]


@pytest.mark.parametrize("name", ["command:new", "command:reset", "session:auto-reset", "session:compact:before"])
def test_after_a_reset_or_a_compaction_it_is_looked_up_again(host: Host, name: str) -> None:
    """In 2026.9.6 the session keeps its id. What the program wrote meanwhile counts as well."""
    host.write()
    said = host.feed(
        bootstrap(host),
        event(name, workspaceDir=str(host.workspace)),
        {"write": [str(host.context), NEWER]},
        bootstrap(host),
        {"write": [str(host.context), MEMORY]},
        {"wait": 1500},
        bootstrap(host),
        {"write": [str(host.context), NEWER]},
        bootstrap(host),
    )
    assert texts(said) == [MEMORY, NEWER, MEMORY, MEMORY]


def test_a_memory_that_was_not_there_yet_is_given_once_it_is(host: Host) -> None:
    said = host.feed(bootstrap(host), {"write": [str(host.context), MEMORY]}, bootstrap(host))
    assert texts(said) == ["", MEMORY]


def test_what_was_given_for_one_workspace_is_not_given_for_another(host: Host) -> None:
    """A key that names no agent, such as `main` of old versions, may stand for several."""
    host.write()
    elsewhere = bootstrap(host, "main", workspaceDir=str(host.root))
    assert texts(host.feed(bootstrap(host, "main"), elsewhere)) == [MEMORY, ""]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        # As the Gateway sends it: the event's own name stands where a session key does.
        (event("gateway:startup", "gateway:startup"), None),
        # The second run, which the second event asked for, is for both sessions.
        (event("command:new", "agent:main:telegram:direct:1"), event("command:new")),
    ],
)
def test_what_the_program_wrote_reaches_every_session_that_it_ran_for(
    host: Host, first: dict[str, Any], second: dict[str, Any] | None
) -> None:
    host.write()
    events = [e | {"context": {"workspaceDir": str(host.workspace)}} for e in (first, second) if e]
    said = host.feed(
        *events,
        {"wait": 600 if second else 0},  # the first of two runs is over
        bootstrap(host),
        {"write": [str(host.context), NEWER]},
        {"wait": 1500},
        bootstrap(host),
    )
    assert texts(said) == [MEMORY, NEWER]


@pytest.mark.parametrize("kind", ["commonjs", "module"])
def test_it_is_loaded_whatever_the_home_directory_says_about_modules(host: Host, kind: str) -> None:
    """`npm init` in the home directory writes a package.json there, with a type since npm 11."""
    (host.root / "package.json").write_text(json.dumps({"type": kind}))
    host.write()
    assert texts(host.feed(bootstrap(host))) == [MEMORY]


UNUSABLE = (
    ("absent", None),
    ("unfinished", "<total-recall-memory>\nhalf of it\n"),
    ("too large", "x" * 70_000 + "\n</total-recall-memory>\n"),
)


@pytest.mark.parametrize("text", [u[1] for u in UNUSABLE], ids=[u[0] for u in UNUSABLE])
def test_a_memory_that_cannot_be_used_is_left_out(host: Host, text: str | None) -> None:
    if text is not None:
        host.write(text)
    assert texts(host.feed(bootstrap(host))) == [""]


def test_neither_a_link_nor_a_directory_nor_a_fifo_is_read(host: Host, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text(MEMORY)
    host.context.parent.mkdir(parents=True)
    host.context.symlink_to(secret)
    assert texts(host.feed(bootstrap(host))) == [""]
    host.context.unlink()
    host.context.mkdir()
    assert texts(host.feed(bootstrap(host))) == [""]
    host.context.rmdir()
    os.mkfifo(host.context)
    assert texts(host.feed(bootstrap(host))) == [""]


def test_where_files_must_be_short_the_oldest_days_go(host: Host) -> None:
    head = "<total-recall-memory>\nBackground.\n\n## Rules that the user set\n- Be brief\n"
    days = "".join(f"\n## 2026-11-{day:02} (Mon)\n- 🟡 09:12 Day {day} {'and more ' * 10}\n" for day in range(1, 29))
    host.write(f"{head}{days}</total-recall-memory>\n")
    cfg = {"agents": {"defaults": {"bootstrapMaxChars": 900}}}
    (text,) = texts(host.feed(bootstrap(host, cfg=cfg)))
    assert len(text) <= 900 and text.startswith(head) and text.endswith("</total-recall-memory>\n")
    assert "Day 28" in text and "Day 1 " not in text
    assert text.removeprefix(head).startswith("\n## 2026-11-"), "a line of a day stands under the rules"
    (limited,) = texts(host.feed(bootstrap(host, cfg={"agents": {"entries": {"main": {"bootstrapMaxChars": 900}}}})))
    assert limited == text
    rules = {"agents": {"defaults": {"bootstrapMaxChars": len(head) + 30}}}
    assert texts(host.feed(bootstrap(host, cfg=rules))) == [f"{head}</total-recall-memory>\n"]
    cfg = {"agents": {"defaults": {"bootstrapMaxChars": 50}}}
    assert texts(host.feed(bootstrap(host, cfg=cfg))) == [""]


@pytest.mark.parametrize(("short_of", "given"), [(0, MEMORY), (1, "")])
def test_it_takes_no_more_than_the_other_files_leave(host: Host, short_of: int, given: str) -> None:
    host.write()
    own = {"name": "AGENTS.md", "path": "/x/AGENTS.md", "content": "x" * 1000, "missing": False}
    left = len(MEMORY.encode("utf-16-le")) // 2 - short_of
    cfg = {"agents": {"defaults": {"bootstrapTotalMaxChars": 1000 + left}}}
    assert texts(host.feed(bootstrap(host, bootstrapFiles=[own], cfg=cfg))) == ["x" * 1000 + given]


def test_the_memory_may_lie_elsewhere(host: Host, tmp_path: Path) -> None:
    host.write()
    other = tmp_path / "elsewhere"
    (other / ".total-recall").mkdir(parents=True)
    (other / ".total-recall" / "context.txt").write_text(NEWER, encoding="utf-8")
    settings = {"scripts": str(host.scripts), "memory": {str(host.workspace): str(other)}}
    (host.hook / "total-recall.json").write_text(json.dumps(settings))
    assert texts(host.feed(bootstrap(host))) == [NEWER]


STARTS = (
    ("command:new", MAIN, ["recover", "--trigger", "command:new", "--agent", "main"]),
    ("command:reset", "agent:Work-2:telegram:direct:5", ["recover", "--trigger", "command:reset", "--agent", "Work-2"]),
    ("session:auto-reset", MAIN, ["recover", "--trigger", "session:auto-reset", "--agent", "main"]),
    ("session:compact:before", MAIN, ["flush", "--trigger", "session:compact:before", "--agent", "main"]),
    ("command:new", "agent:main:telegram:group:-1", ["recover", "--trigger", "command:new", "--agent", "main"]),
    ("command:new", "global", ["recover", "--trigger", "command:new"]),
    ("gateway:startup", "gateway:startup", ["recover", "--trigger", "gateway:startup"]),
    ("command:new", "discord:channel-1", ["recover", "--trigger", "command:new"]),
)


@pytest.mark.parametrize(("name", "key", "arguments"), STARTS)
def test_what_is_started_at_an_event(host: Host, name: str, key: str, arguments: list[str]) -> None:
    host.feed(event(name, key, workspaceDir=str(host.workspace)))
    assert host.started(1) == [["bootstrap.py", *arguments]]


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("command:new", "agent:main:subagent:1"),
        ("session:compact:before", "agent:main:cron:1:run:2"),
        ("command:stop", MAIN),
        ("message:received", MAIN),
        ("constructor:name", MAIN),
    ],
)
def test_nothing_is_started_for_other_sessions_and_events(host: Host, name: str, key: str) -> None:
    host.feed(
        event(name, key, workspaceDir=str(host.workspace)), event("command:new", workspaceDir=str(host.workspace))
    )
    assert [line[3] for line in host.started(1)] == ["command:new"]


def test_a_burst_of_events_starts_one_and_one_more_afterwards(host: Host) -> None:
    burst = [event("session:compact:before", workspaceDir=str(host.workspace))] * 8
    host.feed(*burst, {"wait": 1500})
    assert [line[1] for line in host.started(2)] == ["flush", "flush"]


def test_an_agents_name_is_never_taken_as_an_option_or_a_path(host: Host) -> None:
    host.feed(event("command:new", "agent:--all:main", workspaceDir=str(host.workspace)))
    host.feed(event("command:new", "agent:../../etc:main", workspaceDir=str(host.workspace)))
    assert host.started(2) == [["bootstrap.py", "recover", "--trigger", "command:new"]] * 2


GARBAGE: tuple[object, ...] = (
    None,
    7,
    "command:new",
    [],
    {},
    {"type": "agent", "action": "bootstrap"},
    {"type": "agent", "action": "bootstrap", "context": None},
    {"type": "agent", "action": "bootstrap", "context": {"bootstrapFiles": {}, "sessionKey": MAIN}},
    {"type": "agent", "action": "bootstrap", "context": {"bootstrapFiles": [None, 3], "sessionKey": MAIN}},
    {"type": "agent", "action": "bootstrap", "context": {"bootstrapFiles": [], "sessionKey": MAIN, "workspaceDir": 7}},
    {"type": "command", "action": "new", "sessionKey": {"a": 1}, "context": {"workspaceDir": "relative/path"}},
    {"type": "command", "action": "new", "sessionKey": MAIN},
    {"type": "gateway", "action": "startup", "context": {"cfg": "x"}},
    {"type": "command", "action": "reset", "circular": True},
    {"type": {"toString": 1}, "action": []},
)


def test_nothing_that_it_is_handed_makes_it_throw(host: Host) -> None:
    host.write()
    host.feed(*GARBAGE)


def test_without_the_program_or_a_python_nothing_happens(host: Host) -> None:
    shutil.rmtree(host.workspace / "skills")
    host.feed(event("command:new", workspaceDir=str(host.workspace)))
    (host.hook / "total-recall.json").write_text("{ broken")
    host.write()
    assert texts(host.feed(bootstrap(host), event("gateway:startup"))) == [MEMORY]
    host.scripts.mkdir(parents=True)
    (host.scripts / "bootstrap.py").write_text("")
    (host.root / "bin" / "python3").write_text("#!/nonexistent\n")
    host.feed(event("command:new", workspaceDir=str(host.workspace)), {"wait": 300})
