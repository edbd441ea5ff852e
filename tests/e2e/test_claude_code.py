"""The real Claude Code, driven from setup to uninstall: its hooks start us, and its model is told what is remembered.

Its own server is not asked: `ANTHROPIC_BASE_URL` leads to a scripted one on 127.0.0.1. Skipped where the package cannot
run. The chapters are fixtures that ask for the one before.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from messages_api import MessagesModel, call, serving, text
from openclaw_host import wait_until
from openclaw_versions import install_root
from total_recall_product import REPOSITORY, RUN_SECONDS, TotalRecall

pytestmark = pytest.mark.e2e

DEMO = "Remember: the demo is on Thursday 2026-12-03 at the Lisbon office"
LOOK = "Please look what the tool prints"
SCOUT = "Send somebody to look around"
AGAIN = "What do you know about the demo?"
BUSY = "and book a table at the Ocean Grill"
TOOL_OUTPUT = "TOOL-OUTPUT-7731"
SCOUT_TASK = "SCOUT-TASK-4410 look around"
SCRIPT = {
    SCOUT_TASK: [[text("SCOUT-ANSWER-9902 nothing to see")]],
    DEMO: [[text("Noted: the demo is on Thursday.")]],
    LOOK: [
        [text("I will look."), call("Bash", command=f"sleep 2; echo {TOOL_OUTPUT}", description="look")],
        [text("The tool printed a number.")],
    ],
    SCOUT: [[call("Agent", description="scout", prompt=SCOUT_TASK, subagent_type="general-purpose")],
            [text("Somebody looked around.")]],
    AGAIN: [[text("The demo is on Thursday in Lisbon.")]],
}  # fmt: skip
OTHERS = {"cleanupPeriodDays": 40, "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}}
SOON_SECONDS = 60.0
SESSION_SECONDS = 120.0


@dataclass
class Claude:
    """An installed Claude Code with a home of its own, and Total Recall for it."""

    program: Path
    home: Path
    model: MessagesModel
    shared: Path

    @property
    def project(self) -> Path:
        return self.home / "my project_1.x 집"

    @property
    def settings(self) -> Path:
        return self.home / ".claude" / "settings.json"

    @property
    def memory(self) -> Path:
        return self.project / ".total-recall" / "memory"

    @property
    def environment(self) -> dict[str, str]:
        node = shutil.which("node")
        return {
            "HOME": str(self.home),
            "PATH": f"{Path(node).parent}:/usr/bin:/bin" if node else "/usr/bin:/bin",
            "XDG_DATA_HOME": str(self.shared / "data"),
            "XDG_CACHE_HOME": str(self.shared / "cache"),
            "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{self.model.port}",
            "ANTHROPIC_API_KEY": "not-a-key",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
        }

    def command(self, *arguments: str) -> dict[str, Any]:
        done = subprocess.run(
            ["/bin/sh", str(REPOSITORY / "scripts" / "total-recall"), *arguments, "--json"],
            env=self.environment, cwd=self.home, capture_output=True, text=True, timeout=RUN_SECONDS, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{arguments} ended with {done.returncode}: {done.stderr}{done.stdout}"
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer

    def say(self, *words: str) -> str:
        """One session of a text, without a terminal."""
        done = subprocess.run(
            [str(self.program), "-p", *words, "--allowedTools", "Bash", "Agent"],
            env=self.environment, cwd=self.project, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=SESSION_SECONDS, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"claude ended with {done.returncode}: {done.stdout}{done.stderr}"
        return done.stdout

    def document(self) -> str:
        path = self.memory / "observations.md"
        return path.read_text("utf-8") if path.exists() else ""

    def logged(self) -> str:
        path = self.memory.parent / "logs" / "observer.log"
        return path.read_text("utf-8") if path.exists() else ""

    def taken(self) -> list[tuple[str, str]]:
        """(role, text) of all that was captured."""
        product = TotalRecall(self.home, self.memory.parent, self.shared)
        return [(taken.role, taken.text) for taken in product.taken()]


@pytest.fixture(scope="module")
def claude(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Claude]:
    installed = install_root() / "claude-code"
    program = installed / "node_modules" / ".bin" / "claude"
    if not program.exists():
        pytest.skip(f"Claude Code is not in {installed}: run tests/e2e/install, then scripts/test --e2e")
    home = tmp_path_factory.mktemp("claude")
    answered = subprocess.run(
        [str(program), "--version"], env={"HOME": str(home), "PATH": os.environ["PATH"]}, capture_output=True,
        text=True, timeout=SESSION_SECONDS, check=False,
    )  # fmt: skip
    if answered.returncode != 0:
        pytest.skip(f"Claude Code does not run here: {answered.stderr.strip()[-300:]}")
    with serving(MessagesModel(SCRIPT)) as model:
        made = Claude(program, home, model, install_root() / "total-recall")
        made.project.mkdir()
        subprocess.run(["git", "init", "-q", str(made.project)], check=True)
        made.settings.parent.mkdir()
        made.settings.write_text(json.dumps(OTHERS, indent=2) + "\n", "utf-8")
        yield made


@pytest.fixture(scope="module")
def set_up(claude: Claude) -> Claude:
    answer = claude.command("setup", "--host", "claude-code", "--scheduler", "none", "--yes")
    assert "Claude Code" in answer["changed"] and not answer["failures"]
    return claude


@pytest.fixture(scope="module")
def remembered(set_up: Claude) -> Claude:
    """One session was held and has ended."""
    assert "Noted" in set_up.say(DEMO)
    wait_until(lambda: "Lisbon" in set_up.document(), SOON_SECONDS, "the demo in observations.md")
    return set_up


@pytest.fixture(scope="module")
def talked(remembered: Claude) -> Claude:
    """Tools and a sub-agent were at work, and a session was compacted."""
    remembered.say(LOOK)
    remembered.say("--continue", SCOUT)
    remembered.say("--continue", "/compact keep the tea")
    remembered.say("--continue", AGAIN)
    wait_until(lambda: any("in Lisbon" in said for _, said in remembered.taken()), SOON_SECONDS, "the last answer")
    return remembered


def test_a_session_is_observed_when_it_ends(remembered: Claude) -> None:
    assert "2026-12-03" in remembered.document()
    assert remembered.taken() == [("user", DEMO), ("assistant", "Noted: the demo is on Thursday.")]


def test_git_does_not_see_the_memory(remembered: Claude) -> None:
    status = ["git", "-C", str(remembered.project), "status", "--short"]
    assert subprocess.run(status, capture_output=True, text=True, check=True).stdout == ""


def test_the_model_is_told_what_is_remembered(talked: Claude) -> None:
    for said in (LOOK, SCOUT, AGAIN):
        told = talked.model.told(said)
        assert "<total-recall-memory>" in told and "Lisbon" in told.split("<total-recall-memory>", 1)[1]


def test_a_compaction_flushes(talked: Claude) -> None:
    wait_until(lambda: "flush (PreCompact)" in talked.logged(), SOON_SECONDS, "a flush in the log")


def test_what_both_said_is_taken_once_and_nothing_else(talked: Claude) -> None:
    said = talked.taken()
    assert sorted(text for role, text in said if role == "user") == sorted([DEMO, LOOK, SCOUT, AGAIN])
    assert sorted(text for role, text in said if role == "assistant") == sorted([
        "Noted: the demo is on Thursday.", "I will look.", "The tool printed a number.", "Somebody looked around.",
        "The demo is on Thursday in Lisbon.",
    ])  # fmt: skip
    whole = talked.document() + "".join(text for _, text in said)
    for word in (TOOL_OUTPUT, "SCOUT-TASK", "SCOUT-ANSWER", "total-recall-memory", "keep the tea"):
        assert word not in whole


def test_what_is_typed_while_the_model_is_at_work_is_taken(talked: Claude) -> None:
    """The host puts it into the transcript in a form of its own."""
    process = subprocess.Popen(
        [str(talked.program), "-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose",
         "--allowedTools", "Bash"],
        env=talked.environment, cwd=talked.project, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    assert process.stdin is not None
    asked = len(talked.model.requests)

    def typed(words: str) -> None:
        assert process.stdin is not None
        message = {"type": "user", "message": {"role": "user", "content": words}}
        process.stdin.write(json.dumps(message).encode() + b"\n")
        process.stdin.flush()

    typed(LOOK)
    wait_until(lambda: len(talked.model.requests) > asked, SESSION_SECONDS, "the first request")
    typed(BUSY)
    wait_until(lambda: any(BUSY in json.dumps(r) for r in talked.model.requests), SESSION_SECONDS, "the second text")
    process.stdin.close()
    process.wait(SESSION_SECONDS)
    wait_until(lambda: ("user", BUSY) in talked.taken(), SOON_SECONDS, "the second text taken")


def test_commands_work_alike_in_a_project(talked: Claude) -> None:
    found = talked.command("recall", "where is the demo", "--project", str(talked.project))
    assert "Lisbon" in json.dumps(found)
    findings = talked.command("doctor", "--project", str(talked.project))["findings"]
    assert {"level": "ok", "name": "messages"}.items() <= next(f for f in findings if f["name"] == "messages").items()


def test_uninstall_puts_every_byte_back(talked: Claude) -> None:
    talked.command("uninstall", "--yes")
    assert talked.settings.read_text("utf-8") == json.dumps(OTHERS, indent=2) + "\n"
    assert talked.document()
    before = talked.document()
    talked.say(DEMO)
    assert talked.document() == before
