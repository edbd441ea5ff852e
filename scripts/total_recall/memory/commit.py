"""Observations into the document, exactly once (design section 5): stage, replace, settle.

A process may end between any two steps. What is staged and not settled is finished by the next run: the block is
in the document already, or it is added to whatever the document has become since.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from total_recall.memory.document import Document, parse
from total_recall.memory.line import one_line
from total_recall.memory.raw import is_raw, raw_id, without_raw
from total_recall.memory.reconcile import Reconciled, reconcile
from total_recall.memory.store import MemoryStore, Replaced, Snapshot
from total_recall.memory.traces import Tombstones
from total_recall.records import Observation
from total_recall.state import Pending, State, Step, no_step

RAW_LINES = "raw_lines"
"""Set in the state once words stood in the document as they were said."""

Rows = tuple[tuple[str, tuple[int, ...]], ...]


@dataclass(frozen=True, slots=True)
class Done:
    """A batch that was compressed: its id, the rows of its messages, and what came of it."""

    batch_id: str
    rows: tuple[int, ...]
    observations: tuple[Observation, ...]


@dataclass(frozen=True, slots=True)
class Committed:
    """What stands in the document now, and backups of a person's edits that could not be put back (nearly never)."""

    observations: tuple[Observation, ...] = ()
    rescued: tuple[Path, ...] = ()


def commit(done: Sequence[Done], state: State, store: MemoryStore, step: Step = no_step) -> Committed:
    """Write the batches' observations to the document and mark their messages as observed.

    Raises MemoryWriteError when the document cannot be written: the messages then stay in the queue, or the write
    stays pending, and the next run goes on from there.
    """
    if not done:
        return Committed()
    rows = tuple((item.batch_id, item.rows) for item in done)
    block = _not_forgotten([observation for item in done for observation in item.observations], state)
    if not block and state.meta(RAW_LINES) is None:
        state.settle(rows)
        return Committed()
    with store.lock() as rescued:
        snapshot = store.read()
        named = _told_apart(block, parse(snapshot.content))
        written = _write(named, rows, snapshot, state, store, step)
    return Committed(written.observations, rescued + written.rescued)


def _not_forgotten(block: Sequence[Observation], state: State) -> list[Observation]:
    """The observations but for those that say what was forgotten after it had been said."""
    forgotten = state.forgotten_texts()
    if forgotten is None:
        return list(block)
    tombstones = Tombstones(*forgotten)
    return [observation for observation in block if not tombstones.keep_out(observation)]


def finish_pending(state: State, store: MemoryStore, step: Step = no_step) -> Committed:
    """Bring a write that an earlier process left unfinished to its end. Costs nothing when there is none."""
    pending = state.pending()
    if pending is None:
        return Committed()
    with store.lock() as rescued:
        snapshot = store.read()
        ids = parse(snapshot.content).ids
        there = {o.id for o in pending.block if o.id not in pending.standing} & ids
        # The hash says so, or some of its lines are there: then a person has edited it since, and may have taken some
        # out.
        if snapshot.sha256 == pending.new_hash or (snapshot.sha256 != pending.old_hash and there):
            step("settle")
            state.settle(pending.rows, _grounds(pending.block, pending.again, ids))
            return Committed(tuple(o for o in pending.block if o.id in there), rescued)
        written = _write(pending.block, pending.rows, snapshot, state, store, step)
    return Committed(written.observations, rescued + written.rescued)


def _write(
    block: tuple[Observation, ...], rows: Rows, snapshot: Snapshot, state: State, store: MemoryStore, step: Step
) -> Committed:
    """The three steps. What the document says already is not written again, what it contradicts is marked."""
    rescued: tuple[Path, ...] = ()
    # Words that stand there as they were said go, now that they are condensed.
    said = _raw_ids(rows, state)
    while True:
        document = without_raw(parse(snapshot.content), said)
        standing = document.ids & {o.id for o in block}
        condensed = [entry for entry in document.observations if not is_raw(entry.id)]
        result = reconcile([o for o in block if o.id not in standing], condensed)
        changed = _changed(document, result)
        new = changed.render()
        again = tuple((observation.id, name) for observation, name in result.duplicates)
        step("stage")
        state.stage(Pending(snapshot.sha256, hashlib.sha256(new).hexdigest(), block, rows, standing, again))
        step("replace")
        outcome = store.replace(new, expected=snapshot.sha256)
        if isinstance(outcome, Replaced):
            break
        snapshot = outcome.current
        rescued += outcome.rescued
    step("settle")
    state.settle(rows, _grounds(block, again, changed.ids))
    return Committed(result.kept, rescued)


def _grounds(
    block: Sequence[Observation], again: Sequence[tuple[str, str]], there: frozenset[str]
) -> list[Observation]:
    """The block under the ids that the document has (`there`), which say where each line comes from.

    What was said again is one more ground for the line that stands. A line that a person took out has none.
    """
    stands = dict(again)
    named = [replace(o, id=stands.get(o.id, o.id)) for o in block]
    return [o for o in named if o.id in there]


def keep_as_said(lines: Sequence[Observation], state: State, store: MemoryStore) -> tuple[Path, ...]:
    """Add lines that hold words as they were said, those that are there already once. The messages stay in the queue.

    Returns the backups of a person's edits that could not be put back (nearly never). Raises MemoryWriteError.
    """
    state.set_meta(RAW_LINES, "there are some")
    with store.lock() as rescued:
        snapshot = store.read()
        while True:
            new = parse(snapshot.content).with_observations(lines).render()
            if new == snapshot.content:
                return rescued
            outcome = store.replace(new, expected=snapshot.sha256)
            if isinstance(outcome, Replaced):
                return rescued
            snapshot = outcome.current
            rescued += outcome.rescued


def _raw_ids(rows: Rows, state: State) -> frozenset[str]:
    """The ids under which words of these messages may stand as they were said."""
    if state.meta(RAW_LINES) is None:
        return frozenset()
    names = state.names_of([number for _, numbers in rows for number in numbers])
    return frozenset(raw_id(session_id, entry_id) for session_id, entry_id in names)


def _changed(document: Document, result: Reconciled) -> Document:
    changed = document.with_observations(result.kept)
    for older, newer in result.superseded:
        changed = changed.supersede(older, newer)
    return changed


def _told_apart(block: Sequence[Observation], document: Document) -> tuple[Observation, ...]:
    """The observations with ids that nothing else in the document has.

    Six characters collide now and then. An observation that stands there with the same id and the same words is the
    same one and keeps its id, so that it is not written twice.
    """
    there = {entry.id: entry.text for entry in document.observations if entry.id}
    taken = set(document.ids)
    named = []
    for observation in block:
        number, candidate = 0, observation.id
        while candidate in taken and there.get(candidate) != one_line(observation.text):
            number += 1
            candidate = _other_id(observation.id, number)
        taken.add(candidate)
        there.setdefault(candidate, one_line(observation.text))
        named.append(observation if candidate == observation.id else replace(observation, id=candidate))
    return tuple(named)


def _other_id(name: str, number: int) -> str:
    digest = hashlib.blake2b(f"{name}/{number}".encode(), digest_size=8).digest()
    letters = "abcdefghjkmnpqrstuvwxyz23456789"
    value = int.from_bytes(digest, "big")
    return "".join(letters[value // len(letters) ** place % len(letters)] for place in range(len(name)))
