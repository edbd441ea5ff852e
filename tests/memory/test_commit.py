"""Stage, replace, settle: a write that was cut short anywhere is finished once, whatever the document has become."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

import pytest

from total_recall.memory.commit import Done, commit, finish_pending
from total_recall.memory.document import parse
from total_recall.memory.store import MemoryStore
from total_recall.records import Message, Observation
from total_recall.state import KnownSession, Pending, State, Step, Taken, content_digest

AT = datetime(2026, 11, 30, 9, tzinfo=timezone.utc)
TEA = Observation("tea222", "User's favourite tea is oolong", AT, "high", "preference", 6.0, 0.9, sources=(("s", "a"),))
RENT = Observation("rent22", "Rent is 1,540 USD", AT, "medium", "fact", 5.0, 0.9, sources=(("s", "b"),))


@pytest.fixture
def state(tmp_path: Path) -> Iterator[State]:
    with State.open(tmp_path / ".total-recall") as state:
        messages = [Message("openclaw-files", "s", None, name, "user", name, AT) for name in "ab"]
        taken = [Taken(m, content_digest(m.entry_id, 1, m.text)) for m in messages]
        state.take(taken, sessions=[KnownSession("s", "main", None, None)])
        yield state


@pytest.fixture
def store(tmp_path: Path) -> MemoryStore:
    return MemoryStore(tmp_path)


def done(state: State, *observations: Observation) -> list[Done]:
    return [Done("batch", tuple(item.row for item in state.queue()), observations)]


def staged(state: State, before: bytes, after: bytes) -> None:
    rows = tuple(item.row for item in state.queue())
    old, new = (hashlib.sha256(content).hexdigest() for content in (before, after))
    state.stage(Pending(old, new, (TEA, RENT), (("batch", rows),)))


def grounds(store: MemoryStore) -> list[tuple[str, int]]:
    db = sqlite3.connect(store.memory_dir / ".total-recall" / "state.sqlite")
    return db.execute("SELECT observation, count(*) FROM provenance GROUP BY observation ORDER BY 1").fetchall()


def test_a_commit_writes_the_lines_and_empties_the_queue(state: State, store: MemoryStore) -> None:
    assert commit(done(state, TEA, RENT), state, store).observations == (TEA, RENT)
    assert parse(store.read().content).ids == {"tea222", "rent22"}
    assert state.queue_length() == 0 and state.pending() is None
    assert grounds(store) == [("rent22", 1), ("tea222", 1)]


def test_batches_without_observations_leave_the_document_alone(state: State, store: MemoryStore) -> None:
    commit(done(state), state, store)
    assert state.queue_length() == 0 and not store.path.exists()


def test_staged_and_not_written_is_written(state: State, store: MemoryStore) -> None:
    after = parse(b"").with_observations([TEA, RENT]).render()
    staged(state, b"", after)
    assert finish_pending(state, store).observations == (TEA, RENT)
    assert store.read().content == after and state.queue_length() == 0


def test_staged_and_written_is_only_settled(state: State, store: MemoryStore) -> None:
    after = parse(b"").with_observations([TEA, RENT]).render()
    staged(state, b"", after)
    store.path.write_bytes(after)
    finish_pending(state, store)
    assert store.read().content == after and state.pending() is None


def test_staged_and_edited_meanwhile_is_merged(state: State, store: MemoryStore) -> None:
    staged(state, b"", parse(b"").with_observations([TEA, RENT]).render())
    store.path.write_bytes(b"my own words\n")
    finish_pending(state, store)
    content = store.read().content
    assert content.startswith(b"my own words\n") and parse(content).ids == {"tea222", "rent22"}


def test_a_line_that_a_person_took_out_again_does_not_come_back(state: State, store: MemoryStore) -> None:
    after = parse(b"").with_observations([TEA, RENT]).render()
    staged(state, b"", after)
    store.path.write_bytes(b"".join(line + b"\n" for line in after.split(b"\n") if b"rent22" not in line))
    finish_pending(state, store)
    assert parse(store.read().content).ids == {"tea222"}


def test_an_edit_between_stage_and_replace_stays(state: State, store: MemoryStore) -> None:
    def step(name: str) -> None:
        if name == "replace" and not store.path.exists():
            store.path.write_bytes(b"typed at that moment\n")

    commit(done(state, TEA), state, store, step)
    content = store.read().content
    assert content.startswith(b"typed at that moment\n") and parse(content).ids == {"tea222"}


def test_two_lines_with_one_id_are_told_apart(state: State, store: MemoryStore) -> None:
    store.path.write_bytes(parse(b"").with_observations([TEA]).render())
    (written,) = commit(done(state, replace(RENT, id="tea222")), state, store).observations
    assert written.id != "tea222" and len(parse(store.read().content).ids) == 2


def test_what_is_said_again_is_one_more_ground_for_the_line_that_stands(state: State, store: MemoryStore) -> None:
    commit(done(state, TEA), state, store)
    again = replace(TEA, id="again2", sources=(("s", "b"),))
    assert commit([Done("next", (), (again,))], state, store).observations == ()
    assert parse(store.read().content).ids == {"tea222"}
    assert grounds(store) == [("tea222", 2)]


def test_a_contradiction_marks_the_older_line(state: State, store: MemoryStore) -> None:
    allowed = replace(RENT, id="allow2", text="Production deployment on Fridays is allowed")
    denied = replace(RENT, id="deny22", text="Production deployment on Fridays is not allowed")
    commit(done(state, allowed), state, store)
    commit([Done("next", (), (denied,))], state, store)
    entries = {entry.id: entry.superseded_by for entry in parse(store.read().content).observations}
    assert entries == {"allow2": "deny22", "deny22": None}


class Killed(Exception):
    """The process ended."""


def killing(at: str) -> Step:
    def step(name: str) -> None:
        if name == at:
            raise Killed

    return step


AGAIN = replace(TEA, id="again2", sources=(("s", "b"),))
TWICE = replace(RENT, id="twice2", sources=(("s", "a"),))


@pytest.mark.parametrize("at", ["stage", "replace", "settle"])
def test_killed_at_any_step_every_ground_is_under_a_line_that_stands(
    state: State, store: MemoryStore, at: str
) -> None:
    """`again2` repeats an older line, `twice2` one of the same batch: neither is written."""
    commit([Done("first", (), (TEA,))], state, store)
    work = done(state, AGAIN, RENT, TWICE)
    with pytest.raises(Killed):
        commit(work, state, store, killing(at))
    finish_pending(state, store)
    if at == "stage":  # nothing was staged, so the next run compresses the messages again
        commit(work, state, store)
    assert parse(store.read().content).ids == {"tea222", "rent22"}
    assert grounds(store) == [("rent22", 2), ("tea222", 2)]
    assert state.queue_length() == 0 and state.pending() is None


def test_killed_before_settling_and_edited_since_the_grounds_are_those_of_what_is_left(
    state: State, store: MemoryStore
) -> None:
    commit([Done("first", (), (TEA,))], state, store)
    milk = replace(TEA, id="milk22", text="User takes milk")
    with pytest.raises(Killed):
        commit(done(state, AGAIN, RENT, milk), state, store, killing("settle"))
    lines = store.read().content.split(b"\n")
    store.path.write_bytes(b"\n".join(line for line in lines if b"rent22" not in line) + b"my own words\n")
    assert [o.id for o in finish_pending(state, store).observations] == ["milk22"]
    assert grounds(store) == [("milk22", 1), ("tea222", 2)]
    assert {name for name, _ in grounds(store)} <= parse(store.read().content).ids


def test_the_line_that_said_it_first_was_taken_out_while_nobody_looked(state: State, store: MemoryStore) -> None:
    commit([Done("first", (), (TEA,))], state, store)
    with pytest.raises(Killed):
        commit(done(state, AGAIN, RENT), state, store, killing("settle"))
    lines = store.read().content.split(b"\n")
    store.path.write_bytes(b"\n".join(line for line in lines if b"tea222" not in line))
    finish_pending(state, store)
    assert parse(store.read().content).ids == {"rent22"}
    assert ("again2", 1) not in grounds(store) and ("tea222", 2) not in grounds(store)


def test_what_an_older_version_staged_is_finished_too(state: State, store: MemoryStore) -> None:
    """It did not write down what was said again: then only what stands there has grounds."""
    commit([Done("first", (), (TEA,))], state, store)
    with pytest.raises(Killed):
        commit(done(state, AGAIN, RENT), state, store, killing("settle"))
    with sqlite3.connect(state.path) as db:
        (block,) = db.execute("SELECT block FROM pending").fetchone()
        older = [{name: value for name, value in item.items() if name != "again"} for item in json.loads(block)]
        assert len(older) == 2 and older != json.loads(block)
        db.execute("UPDATE pending SET block = ?", (json.dumps(older),))
    finish_pending(state, store)
    assert grounds(store) == [("rent22", 1), ("tea222", 1)]
    assert state.queue_length() == 0 and state.pending() is None
