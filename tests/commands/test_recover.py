"""recover and flush: what a session held is observed at once, the newest first, whoever else is at work."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta, timezone, tzinfo
from pathlib import Path

import pytest

from builders import NOW, OTHER, RESET, Home, said
from model_server import ModelServer
from total_recall import clock
from total_recall.commands import capturing, compressing, context, flush, observe, places, recover
from total_recall.commands.places import Configuration
from total_recall.llm import offline
from total_recall.memory.document import parse
from total_recall.memory.reflection import open_entries
from total_recall.memory.store import MemoryStore
from total_recall.records import Batch, Observation
from total_recall.sessions.source import Problems
from total_recall.state import State, sole

PLUMBER = "The plumber comes on 14 December, he wants 340 EUR."
ALLERGY = "My daughter Nora is allergic to penicillin."


@pytest.fixture
def openclaw(home: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """A host whose clock stands half an hour after the transcripts' first minute."""
    monkeypatch.setattr(clock, "now", lambda: NOW)
    return Home(home / ".openclaw", home / "unused")


def configured(home: Path, **env: str) -> Configuration:
    return places.configure({"HOME": str(home), "TOTAL_RECALL_TZ": "UTC", **env})


def memory(home: Path) -> Path:
    return home / ".openclaw" / "workspace" / "memory"


def document(home: Path) -> str:
    path = memory(home) / "observations.md"
    return path.read_text(encoding="utf-8") if path.exists() else ""


def log(home: Path, name: str) -> str:
    path = home / ".openclaw" / "workspace" / "logs" / name
    return path.read_text(encoding="utf-8") if path.exists() else ""


@contextmanager
def observer_at_work(home: Path, seconds: float) -> Iterator[None]:
    """Another observer that is done after a while."""
    started = threading.Event()

    def work() -> None:
        with sole("observer", memory(home) / ".total-recall"):
            started.set()
            time.sleep(seconds)

    other = threading.Thread(target=work)
    other.start()
    started.wait()
    yield
    other.join()


def test_what_a_session_held_before_it_was_reset_is_observed_once(openclaw: Home, home: Path) -> None:
    openclaw.write(said("a", ALLERGY))
    observe.run(observe.Options(), configured(home))
    openclaw.write(said("a", ALLERGY), said("b", PLUMBER, 3))
    openclaw.transcript().rename(openclaw.transcript().with_name(openclaw.transcript().name + RESET))
    for _ in range(3):
        recover.run(recover.Options(trigger="command:new"), configured(home))
    assert document(home).count("plumber") == 1 and document(home).count("Nora") == 1
    lines = log(home, "session-recovery.log").splitlines()
    assert len(lines) == 3 and "recover (command:new): 1 message of 1 session became 1 observation" in lines[0]
    assert "Nothing new." in lines[1]


def test_the_last_four_hours_come_first(openclaw: Home, home: Path) -> None:
    """A compressor that breaks after its first batch has done the part that the next session is about."""
    early = NOW - timedelta(hours=20)
    old = said("a", ALLERGY)
    old["message"]["timestamp"] = round(early.timestamp() * 1000)
    recent = said("b", PLUMBER)
    recent["message"]["timestamp"] = round((NOW - timedelta(hours=1)).timestamp() * 1000)
    openclaw.write(old, recent)
    handed: list[str] = []

    def compress(batch: Batch) -> tuple[Observation, ...]:
        handed.extend(message.text for message in batch.messages)
        return ()

    config = configured(home)
    (place,) = places.find(config, NOW)
    options = observe.Options(recent_first=recover.RECENT)
    done = observe.observe_memory(place, config, options, compress, NOW, Problems())
    assert handed == [PLUMBER, ALLERGY] and done.messages == 2 and done.waiting == 0


def test_an_observer_that_is_at_work_is_waited_for(openclaw: Home, home: Path) -> None:
    openclaw.write(said("a", PLUMBER))
    with observer_at_work(home, 0.4):
        (done,) = flush.run(flush.Options(seconds=30), configured(home)).runs
    assert done.messages == 1 and "plumber" in document(home)


def test_a_flush_does_not_wait_for_ever_and_what_was_said_is_safe(openclaw: Home, home: Path) -> None:
    openclaw.write(said("a", PLUMBER))
    with sole("observer", memory(home) / ".total-recall"):
        started = time.monotonic()
        (done,) = flush.run(flush.Options(seconds=1), configured(home)).runs
        took = time.monotonic() - started
    assert took < 20
    assert done.taken == 1 and done.waiting == 1 and "1 message in the queue" in done.notes[0]
    openclaw.transcript().unlink()
    (done,) = observe.run(observe.Options(), configured(home)).runs
    assert done.messages == 1 and "plumber" in document(home)


def test_of_those_that_wait_one_is_enough(openclaw: Home, home: Path) -> None:
    """Compaction events come in bursts: the second leaves what it took to the first, which still waits."""
    own = memory(home) / ".total-recall"
    openclaw.write(said("a", PLUMBER))
    with sole("observer", own), sole("waiting observer", own):
        (done,) = recover.run(recover.Options(), configured(home)).runs
    assert done.taken == 1 and "another waiting observer is at work" in done.notes[0]


def test_an_agent_can_be_named(openclaw: Home, home: Path) -> None:
    openclaw.write(said("a", PLUMBER))
    assert recover.run(recover.Options(agent="main"), configured(home)).runs[0].messages == 1


def test_one_that_only_captures_leaves_the_rest_to_an_observer(openclaw: Home, home: Path) -> None:
    """As the watcher does; the window of a first run is kept."""
    old = said("b", ALLERGY)
    old["message"]["timestamp"] = round((NOW - timedelta(days=3)).timestamp() * 1000)
    openclaw.write(old, said("a", PLUMBER))
    config = configured(home)
    (place,) = places.find(config, NOW)
    with State.open(place.own_dir) as state:
        taken = capturing.capture(place, config, state, NOW, Problems())
        again = capturing.capture(place, config, state, NOW, Problems())
    assert (taken.queued, taken.marked_as_seen, taken.first_run) == (1, 1, True)
    assert (again.queued, again.marked_as_seen, again.first_run) == (0, 0, False)
    assert document(home) == ""
    (done,) = observe.run(observe.Options(), config).runs
    assert (done.messages, done.taken) == (1, 0) and "plumber" in document(home)


def break_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The built-in compressor has a bug."""

    def broken(*_: object, **__: object) -> tuple[Observation, ...]:
        raise ZeroDivisionError("of ours")

    monkeypatch.setattr(offline, "compress", broken)


def test_words_that_nothing_could_condense_stand_there_until_something_can(
    openclaw: Home, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    openclaw.write(said("a", PLUMBER), said("b", "Noted, the plumber for 340 EUR.", 1, role="assistant"))
    with monkeypatch.context() as patched:
        break_once(patched)
        (first,) = recover.run(recover.Options(), configured(home)).runs
        (again,) = recover.run(recover.Options(), configured(home)).runs
    assert (first.messages, first.waiting, again.waiting) == (0, 2, 2)
    assert "no compressor could take 2 messages" in first.notes[0] and "ZeroDivisionError" in first.notes[0]
    Path(first.notes[0].rsplit(" ", 1)[1]).unlink()
    Path(again.notes[0].rsplit(" ", 1)[1]).unlink()
    shown = context.run(context.Options(), configured(home)).context.text
    assert f"the user said “{PLUMBER}”" in shown and "the assistant said" in shown
    assert shown.count(PLUMBER) == 1

    (done,) = observe.run(observe.Options(), configured(home)).runs
    assert done.messages == 2 and done.waiting == 0
    assert "Not condensed yet" not in document(home)
    assert document(home).count("14 December") == 1


def test_neither_a_reflection_nor_a_model_takes_such_words_for_a_memory(
    openclaw: Home, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The model would find nothing new in what is shown to it as known."""
    openclaw.write(said("a", PLUMBER))
    with monkeypatch.context() as patched:
        break_once(patched)
        (first,) = observe.run(observe.Options(), configured(home)).runs
    Path(first.notes[0].rsplit(" ", 1)[1]).unlink()
    store = MemoryStore(memory(home))
    assert compressing.knowledge_of(store, NOW, timezone.utc).known == ()
    assert open_entries(parse(store.read().content)) == ()


def test_they_go_even_when_nothing_in_them_was_notable(
    openclaw: Home, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    openclaw.write(said("a", "ok"))
    with monkeypatch.context() as patched:
        break_once(patched)
        (first,) = observe.run(observe.Options(), configured(home)).runs
    Path(first.notes[0].rsplit(" ", 1)[1]).unlink()
    assert "the user said “ok”" in document(home)
    observe.run(observe.Options(), configured(home))
    assert "“ok”" not in document(home)


def test_only_what_breaks_the_compressor_is_held_back(
    openclaw: Home, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    openclaw.write(*(said(f"m{n}", f"Box {n} goes to Ms Adeyemi{n}.", n / 10) for n in range(6)))
    openclaw.write(said("x", "A poisoned message.", 0.25), said("b", PLUMBER, 2), session_id=OTHER)
    real = offline.compress

    def poisoned(batch: Batch, *, tz: tzinfo) -> tuple[Observation, ...]:
        if any("poisoned" in message.text for message in batch.messages):
            raise ValueError("poisoned")
        return real(batch, tz=tz)

    monkeypatch.setattr(offline, "compress", poisoned)
    for run in range(2):
        (done,) = observe.run(observe.Options(), configured(home)).runs
        Path(done.notes[0].rsplit(" ", 1)[1]).unlink()
        assert (done.messages, done.waiting) == ((7, 1) if run == 0 else (0, 1))
    assert document(home).count("A poisoned message.") == 1
    assert document(home).count("14 December") == 1


def test_a_flush_does_not_wait_for_a_model_that_is_slow(openclaw: Home, home: Path) -> None:
    openclaw.write(said("a", PLUMBER))
    with ModelServer("silent") as server:
        env = {"LLM_BASE_URL": server.url, "LLM_MODEL": "slow"}
        started = time.monotonic()
        (done,) = flush.run(flush.Options(seconds=2), configured(home, **env)).runs
        took = time.monotonic() - started
    assert took < 20 and done.messages == 1 and "plumber" in document(home)
    assert any("took longer" in note for note in done.notes)
