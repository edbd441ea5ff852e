"""The main job on the real OpenClaw of both generations: what was said is captured once, while the Gateway runs.

Each fixture is a chapter and asks for the one before it, so that a test may also be run alone.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import pytest

from conversation import (
    AFTER_NEW,
    AFTER_RESET,
    BUSY,
    FACTS,
    FIRST,
    GREETING,
    HELD,
    LATER,
    LONG_TEXT,
    SILENT,
    START_UP_PROMPT,
    TOOL_OUTPUT,
    WEB_PAGE,
)
from openclaw_host import OpenClaw, wait_until
from scripted_model import HOST_CONTEXT, TIME_PREFIX
from total_recall_product import Taken, TotalRecall

pytestmark = pytest.mark.e2e

Said = tuple[str, str]
"""(role, text)."""


@dataclass(frozen=True, slots=True)
class Run:
    """One `observe`: its result, what it took that no run before had, and what had been said since then."""

    result: Mapping[str, Any]
    new: tuple[Taken, ...]
    said: Counter[Said]

    @property
    def taken(self) -> Counter[Said]:
        """What it took, without the answer to the host's own prompt: to take or to leave that is a matter of taste."""
        return Counter((m.role, m.text) for m in self.new if m.text != GREETING)


class Conversation:
    """The main session, what was said in it, and what of it earlier runs of `observe` have taken."""

    def __init__(self, openclaw: OpenClaw, total_recall: TotalRecall, stop_gateway: Callable[[], None]) -> None:
        self.openclaw = openclaw
        self.total_recall = total_recall
        self.stop_gateway = stop_gateway
        self.user_texts: list[str] = []
        self._runs: list[Run] = []

    def say(self, *texts: str) -> None:
        for text in texts:
            self.user_texts.append(text)
            self.openclaw.say(text)

    def said(self) -> Counter[Said]:
        """What the user sent and the model server answered so far, without silence."""
        model = self.openclaw.model.said
        return Counter([("user", t) for t in self.user_texts] + [("assistant", t) for t in model if t != SILENT])

    def observe(self) -> Run:
        before = Counter[Said]()
        for run in self._runs:
            before += run.said
        known = sum(len(run.new) for run in self._runs)
        said = self.said() - before
        result = self.total_recall.observe()
        run = Run(result, tuple(self.total_recall.taken()[known:]), said)
        self._runs.append(run)
        return run

    def document(self) -> str:
        return self.total_recall.document.read_text("utf-8")


@pytest.fixture(scope="module")
def conversation(openclaw: OpenClaw, total_recall: TotalRecall) -> Iterator[Conversation]:
    """Several turns, /new, a turn, /reset, a turn; the Gateway runs on."""
    with ExitStack() as gateway:
        gateway.enter_context(openclaw.gateway())
        talk = Conversation(openclaw, total_recall, stop_gateway=gateway.close)
        (openclaw.workspace / "page.md").write_text(WEB_PAGE, "utf-8")
        talk.say(*FIRST)
        openclaw.say("/new")
        talk.say(*AFTER_NEW)
        openclaw.say("/reset")
        talk.say(*AFTER_RESET)
        yield talk


@pytest.fixture(scope="module")
def first_run(conversation: Conversation) -> Run:
    """The first `observe` of this home."""
    return conversation.observe()


@pytest.fixture(scope="module")
def second_run(first_run: Run, conversation: Conversation) -> Run:
    """`observe` after a few more turns."""
    conversation.say(*LATER)
    return conversation.observe()


@dataclass(frozen=True, slots=True)
class IdleRun:
    """An `observe` with nothing new, and the document before and after it."""

    run: Run
    before: str
    after: str


@pytest.fixture(scope="module")
def idle_run(second_run: Run, conversation: Conversation) -> IdleRun:
    """`observe` straight after the second."""
    return _idle_run(conversation)


@pytest.fixture(scope="module")
def runs_in_a_turn(idle_run: IdleRun, conversation: Conversation) -> list[Run]:
    """Two runs while the model is in the middle of its answer, and one after the turn."""
    model = conversation.openclaw.model
    (text,) = HELD
    with conversation.openclaw.turn(text) as turn:
        wait_until(lambda: model.holding.is_set() or turn.poll() is not None, 60, "the model is asked")
        runs = [conversation.observe(), conversation.observe()]
        conversation.user_texts.append(text)
        model.released.set()
    return [*runs, conversation.observe()]


@pytest.fixture(scope="module")
def runs_in_a_busy_turn(runs_in_a_turn: list[Run], conversation: Conversation) -> list[Run]:
    """Run after run while tool calls make the Gateway write, and one after the turn."""
    (text,) = BUSY
    runs = []
    requests = conversation.openclaw.model.requests
    asked = len(requests)
    with conversation.openclaw.turn(text) as turn:
        conversation.user_texts.append(text)
        wait_until(lambda: len(requests) > asked or turn.poll() is not None, 60, "the model is asked")
        while turn.poll() is None:
            runs.append(conversation.observe())
    return [*runs, conversation.observe()]


@pytest.fixture(scope="module")
def run_after_the_gateway(runs_in_a_busy_turn: list[Run], conversation: Conversation) -> IdleRun:
    """`observe` when the Gateway has stopped and has folded its write-ahead log into the store."""
    conversation.stop_gateway()
    return _idle_run(conversation)


def test_the_host_stores_what_this_test_is_about(conversation: Conversation) -> None:
    """Not about Total Recall: the transcript has each text once, and all that must not be taken is there too."""
    entries = conversation.openclaw.transcript()
    spoken = [e for e in entries if e.role in ("user", "assistant") and e.text]
    messages = [(e.role, TIME_PREFIX.sub("", e.text, count=1)) for e in spoken]
    said = Counter(m for m in messages if m[1] not in (GREETING, SILENT) and not m[1].startswith(START_UP_PROMPT))
    assert said == conversation.said()
    assert ("assistant", SILENT) in messages
    results = [e for e in entries if e.role == "toolResult"]
    assert [TOOL_OUTPUT in e.text for e in results] == [True, False, False]
    assert [WEB_PAGE in e.text for e in results] == [False, False, True]
    assert json.loads(results[1].text)["status"] == "error"


def test_the_host_kept_the_reset_conversations_in_its_own_way(conversation: Conversation) -> None:
    """Not about Total Recall: files are renamed in one generation, one session goes on in the other."""
    entries = conversation.openclaw.transcript()
    sessions = {e.session_id for e in entries}
    resets = [e.entry["reason"] for e in entries if e.entry["type"] == "reset"]
    long_texts = [e.compressed for e in entries if e.role == "user" and e.text.endswith(LONG_TEXT)]
    start_up_prompts = [e for e in entries if e.role == "user" and e.text.startswith(START_UP_PROMPT)]
    facts = (len(sessions), resets, long_texts, len(start_up_prompts))
    expected = {"2026.3.24": (3, [], [False], 2), "2026.9.6": (1, ["new", "reset"], [True], 0)}
    assert facts == expected[conversation.openclaw.version]


def test_every_text_is_captured_once_while_the_gateway_runs(first_run: Run) -> None:
    assert first_run.taken == first_run.said


def test_what_was_captured_reaches_an_observer(first_run: Run) -> None:
    assert {m.status for m in first_run.new} == {"observed"}
    assert len({(m.session_id, m.entry_id) for m in first_run.new}) == len(first_run.new)


def test_the_result_counts_the_new_messages(first_run: Run) -> None:
    head = {key: first_run.result[key] for key in ("version", "command", "messages")}
    assert head == {"version": 1, "command": "observe", "messages": len(first_run.new)}


def test_a_later_run_takes_only_the_new_turns(second_run: Run) -> None:
    assert second_run.taken == second_run.said
    assert set(second_run.said) >= {("user", text) for text in LATER}
    assert second_run.result["messages"] == len(second_run.new)


def test_a_run_with_nothing_new_takes_nothing_and_leaves_the_document_alone(idle_run: IdleRun) -> None:
    _assert_idle(idle_run)


def test_runs_in_the_middle_of_an_answer_lose_and_double_nothing(runs_in_a_turn: list[Run]) -> None:
    _assert_once(runs_in_a_turn, HELD)


def test_runs_while_the_gateway_writes_lose_and_double_nothing(runs_in_a_busy_turn: list[Run]) -> None:
    assert len(runs_in_a_busy_turn) >= 2
    _assert_once(runs_in_a_busy_turn, BUSY)


def test_the_document_has_what_was_said_before_and_after_the_resets(
    runs_in_a_busy_turn: list[Run], conversation: Conversation
) -> None:
    document = conversation.document()
    assert [ways for ways in FACTS if not any(way in document for way in ways)] == []


def test_the_document_has_nothing_of_the_host_and_its_tools(
    runs_in_a_busy_turn: list[Run], conversation: Conversation
) -> None:
    document = conversation.document()
    # GMT+9 is how the older generation marks the time in each text.
    host = (SILENT, START_UP_PROMPT, HOST_CONTEXT, "GMT+9")
    tools = (TOOL_OUTPUT, WEB_PAGE, "Mallory", "minutes.md", "shelf-0-done")
    assert [words for words in host + tools if words in document] == []


def test_each_session_is_one_of_the_hosts(runs_in_a_busy_turn: list[Run], conversation: Conversation) -> None:
    stored = {(e.session_id, e.entry["id"]) for e in conversation.openclaw.transcript()}
    assert {(m.session_id, m.entry_id) for m in conversation.total_recall.taken()} <= stored


def test_the_end_of_the_gateway_is_nothing_new(run_after_the_gateway: IdleRun) -> None:
    _assert_idle(run_after_the_gateway)


def _idle_run(conversation: Conversation) -> IdleRun:
    before = conversation.document()
    return IdleRun(conversation.observe(), before, conversation.document())


def _assert_idle(idle: IdleRun) -> None:
    assert idle.run.result["messages"] == 0
    assert idle.run.new == ()
    assert idle.after == idle.before


def _assert_once(runs: list[Run], script: Mapping[str, object]) -> None:
    """Together the runs took what was said in the turn, once; which of them took it depends on the moment."""
    said: Counter[Said] = sum((run.said for run in runs), Counter())
    taken: Counter[Said] = sum((run.taken for run in runs), Counter())
    assert taken == said
    assert {("user", text) for text in script} <= set(said)
    assert {m.status for run in runs for m in run.new} == {"observed"}
    assert [run.result["messages"] for run in runs] == [len(run.new) for run in runs]
