"""reflect: the memory is made shorter when it has grown too long; what leaves it goes to the archive.

Read the document; let a model name operations on its lines; verify them and add the offline rules; back up, archive,
replace. The document may change while the model thinks: the operations are then applied to what it has become.
"""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from pathlib import Path
from typing import get_args

from total_recall import clock, logs, resources
from total_recall.commands import context, places
from total_recall.commands.compressing import asking_reflector
from total_recall.commands.places import Configuration, Place
from total_recall.errors import AlreadyRunning, MemoryWriteError, StoreError, TotalRecallError
from total_recall.llm.reply import without_thoughts
from total_recall.memory import last_reflection
from total_recall.memory.archive import Archive
from total_recall.memory.commit import finish_pending
from total_recall.memory.document import Document, parse
from total_recall.memory.last_reflection import LastReflection
from total_recall.memory.operations import (
    ANSWER_CHARACTERS,
    Operation,
    numbered,
    read_operations,
    renumbered,
)
from total_recall.memory.reflection import (
    Consolidated,
    Fate,
    Refused,
    Removal,
    consolidated,
    open_entries,
    rebased,
    share_kept,
    words_of,
)
from total_recall.memory.store import MemoryStore, Replaced, Snapshot
from total_recall.settings import Settings
from total_recall.state import RunRecord, State, Step, no_step, sole
from total_recall.tokens import estimate_tokens

PROMPT = "reflector-system.txt"
OFFLINE = "offline"
MODEL = "model"
SHOWN_REFUSALS = 5
ABOUT_CHARACTERS = 60

Ask = Callable[[str, str], str]
"""(system message, user message) → the reply's text; raises TotalRecallError when no model answers."""


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line asked for. `force` reflects whether or not the document is long."""

    force: bool = False
    dry_run: bool = False
    agent: str | None = None


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a model answered about a document: operations on its open lines, and what a person should know about it."""

    operations: tuple[Operation, ...] = ()
    asked: bool = False
    failed: bool = False
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Draft:
    """What a proposal comes to on one version of the document. `lost` are operations whose lines changed meanwhile."""

    sha256: str
    before: Document
    outcome: Consolidated
    lost: tuple[Refused, ...]


@dataclass(frozen=True, slots=True)
class MemoryReflection:
    """What a reflection did to one memory. Words are those of its observations; `share_kept` is 0-1.

    `share_kept` is the part of the document's numbers, dates, names and links that it still has; the archive has all.
    """

    memory_dir: Path
    was_due: bool
    changed: bool = False
    by: str = OFFLINE
    words_before: int = 0
    words_after: int = 0
    lines_before: int = 0
    lines_after: int = 0
    removals: tuple[Removal, ...] = ()
    refused: tuple[str, ...] = ()
    share_kept: float = 1.0
    backup: Path | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Result:
    """What `reflect` did, over all memories."""

    runs: tuple[MemoryReflection, ...]
    dry_run: bool

    def payload(self) -> dict[str, object]:
        """The fields of the JSON answer."""
        return {
            "dry_run": self.dry_run,
            "memories": [
                {
                    "memory_dir": str(run.memory_dir),
                    "due": run.was_due,
                    "changed": run.changed,
                    "by": run.by,
                    "words_before": run.words_before,
                    "words_after": run.words_after,
                    "observations_before": run.lines_before,
                    "observations_after": run.lines_after,
                    "removed": dict(Counter(removal.fate for removal in run.removals)),
                    "share_kept": round(run.share_kept, 4),
                    "removals": [_removal_fields(removal) for removal in run.removals],
                    "refused": list(run.refused),
                    "backup": str(run.backup) if run.backup else None,
                    "notes": list(run.notes),
                }
                for run in self.runs
            ],
        }

    def lines(self) -> list[str]:
        """The answer for a person."""
        said: list[str] = []
        for run in self.runs:
            if run.was_due or run.notes or len(self.runs) == 1:
                said.append(sentence(run, self.dry_run))
            if self.dry_run:
                said += [f"  {removal.reason}: {removal.entry.text}" for removal in run.removals]
            said += [f"  refused: {line}" for line in run.refused[:SHOWN_REFUSALS]]
            if len(run.refused) > SHOWN_REFUSALS:
                said.append(f"  refused: {len(run.refused) - SHOWN_REFUSALS} more; --json shows all")
            said += [f"  {note}" for note in run.notes]
        return said or ["No memory is long enough to be reflected."]


def _removal_fields(removal: Removal) -> dict[str, object]:
    return {
        "id": removal.entry.id,
        "line": removal.raw,
        "fate": removal.fate,
        "reason": removal.reason,
        "replaced_by": removal.replaced_by,
    }


def sentence(run: MemoryReflection, dry_run: bool) -> str:
    """What happened, in a line."""
    if not run.was_due:
        return f"Not needed: {run.words_before:,} words in {run.memory_dir / 'observations.md'}."
    if not run.changed:
        return f"Nothing to consolidate: {run.words_before:,} words stay ({run.by})."
    would = "would become" if dry_run else "became"
    fates = Counter(removal.fate for removal in run.removals)
    counts = ", ".join(f"{fates[fate]} {fate}" for fate in get_args(Fate) if fates[fate]) or "dates told anew"
    return (
        f"{run.words_before:,} words {would} {run.words_after:,} ({run.by}): {run.lines_before} lines to "
        f"{run.lines_after}; {counts}; {run.share_kept:.0%} of its numbers, dates, names and links still stand in it"
    )


def run(options: Options, config: Configuration | None = None, ask: Ask | None = None) -> Result:
    """Reflect every memory that is due, one after the other. Without `ask` the settings say who is asked.

    Raises MemoryWriteError or StoreError when a memory cannot be read or written; it is then as it was.
    """
    now = clock.now()
    config = config or places.configure()
    runs: list[MemoryReflection] = []
    failed: list[TotalRecallError] = []
    for place in places.find(config, now, options.agent):
        try:
            runs.append(reflect_memory(place, config.settings, options, ask, now))
        except (MemoryWriteError, StoreError) as error:
            # One agent's memory must not keep the others from being served.
            failed.append(error)
    if failed:
        raise failed[0]
    return Result(tuple(runs), options.dry_run)


def is_due(place: Place, settings: Settings, state: State) -> bool:
    """Whether this memory has grown so long that it is to be reflected. Reads the document, writes nothing."""
    snapshot = MemoryStore(place.memory_dir).read()
    return _is_due(parse(snapshot.content), snapshot, settings, state)


def _is_due(document: Document, snapshot: Snapshot, settings: Settings, state: State) -> bool:
    return last_reflection.is_due(state, words_of(document), snapshot.sha256, settings.reflector_word_threshold)


def reflect_memory(
    place: Place, settings: Settings, options: Options, ask: Ask | None, now: datetime, step: Step = no_step
) -> MemoryReflection:
    """One reflection of one memory. `step` is told each step of the commit."""
    today = now.astimezone(settings.tz).date()
    if options.dry_run:
        with State.open_copy(place.own_dir) as state:
            return _planned(place, settings, options, ask, today, state)
    snapshot = MemoryStore(place.memory_dir).read()
    if not parse(snapshot.content).observations:
        return MemoryReflection(place.memory_dir, was_due=False)
    try:
        with sole("reflector", place.own_dir), State.open(place.own_dir, step) as state:
            store = MemoryStore(place.memory_dir, step)
            done = _reflected(place, settings, options, ask, now, today, state, store, step)
            if done.was_due:
                _leave_traces(place, state, done, now)
                context.write_ready_made(place.memory_dir, today, characters=place.context_characters)
            return done
    except AlreadyRunning as running:
        return MemoryReflection(place.memory_dir, was_due=False, notes=(str(running),))


def _planned(
    place: Place, settings: Settings, options: Options, ask: Ask | None, today: date, state: State
) -> MemoryReflection:
    """What a reflection would do now."""
    snapshot = MemoryStore(place.memory_dir).read()
    document = parse(snapshot.content)
    if not options.force and not _is_due(document, snapshot, settings, state):
        return MemoryReflection(place.memory_dir, was_due=False, words_before=words_of(document))
    proposal = _proposal(place, settings, document, today, ask, state, dry_run=True)
    return _account(place, proposal, _draft(proposal, document, snapshot, today))


def _reflected(
    place: Place,
    settings: Settings,
    options: Options,
    ask: Ask | None,
    now: datetime,
    today: date,
    state: State,
    store: MemoryStore,
    step: Step,
) -> MemoryReflection:
    snapshot = store.read()
    then = parse(snapshot.content)
    if not options.force and not _is_due(then, snapshot, settings, state):
        return MemoryReflection(place.memory_dir, was_due=False, words_before=words_of(then))
    proposal = _proposal(place, settings, then, today, ask, state)
    notes: list[str] = []
    while True:
        # An observer that died in the middle of a commit must find its lines before they are merged or archived.
        notes += [_rescue_note(path) for path in finish_pending(state, store, step).rescued]
        draft = _draft(proposal, then, store.read(), today)  # takes seconds when the document is huge: not in the lock
        with store.lock() as rescued:
            notes += [_rescue_note(path) for path in rescued]
            if state.pending() is None:
                done, late = _commit(place, proposal, then, draft, now, today, state, store, step)
                return replace(done, notes=(*done.notes, *notes, *map(_rescue_note, late)))


def _draft(proposal: Proposal, then: Document, snapshot: Snapshot, today: date) -> Draft:
    document = parse(snapshot.content)
    operations, lost = rebased(proposal.operations, then, document)
    return Draft(snapshot.sha256, document, consolidated(document, operations, today), lost)


def _commit(
    place: Place,
    proposal: Proposal,
    then: Document,
    draft: Draft,
    now: datetime,
    today: date,
    state: State,
    store: MemoryStore,
    step: Step,
) -> tuple[MemoryReflection, list[Path]]:
    """Back up, archive, replace, on the document as it is now. Hold its lock.

    The archive, and where merged lines come from, is on the disk before a line leaves the document: a process that ends
    in between leaves it in both, and the next reflection notes the same again.
    """
    late: list[Path] = []
    snapshot = store.read()
    while True:
        if snapshot.sha256 != draft.sha256:
            draft = _draft(proposal, then, snapshot, today)
        new = draft.outcome.document.render()
        done = _account(place, proposal, draft)
        if not done.changed:
            last_reflection.leave(state, done.words_before, snapshot.sha256)
            return done, late
        step("back up")
        backup = store.backup(now)
        archived = Archive(place.memory_dir, step).add(draft.outcome.removals, today)
        if backup is not None:
            last = LastReflection(now, backup.name, snapshot.sha256, new, archived)
            last_reflection.save(state, last)
        merged = _merged_from(draft.outcome.removals)
        if merged:
            state.inherit_provenance(merged)
        step("replace")
        replaced = store.replace(new, expected=snapshot.sha256)
        if isinstance(replaced, Replaced):
            last_reflection.leave(state, done.words_after, replaced.sha256)
            return replace(done, backup=backup), late
        snapshot = replaced.current
        late += replaced.rescued


def _merged_from(removals: Sequence[Removal]) -> dict[str, list[str]]:
    """The ids of the lines that each merged line (an id) is made of; a person's own lines have none."""
    merged: dict[str, list[str]] = {}
    for removal in removals:
        if removal.fate == "merged" and removal.replaced_by and removal.entry.id:
            merged.setdefault(removal.replaced_by, []).append(removal.entry.id)
    return merged


def _account(place: Place, proposal: Proposal, draft: Draft) -> MemoryReflection:
    """The numbers of a reflection, and whether there is anything to write."""
    before, outcome = draft.before, draft.outcome
    after = outcome.document
    words_before, words_after = words_of(before), words_of(after)
    used = outcome.carried_out > 0
    refused = tuple(_refusal_line(refused) for refused in (*draft.lost, *outcome.refused))
    notes = list(proposal.notes)
    if proposal.operations and not used:
        count = len(proposal.operations)
        notes.append(f"none of the model's {count} operations could be used; the offline rules did it")
    changed = after.render() != before.render()
    if outcome.removals and words_after > words_before:
        notes.append("the result would not have been shorter; the memory stays as it is")
        changed = False
    return MemoryReflection(
        place.memory_dir,
        was_due=True,
        changed=changed,
        by=MODEL if used or (proposal.asked and not proposal.failed and not proposal.operations) else OFFLINE,
        words_before=words_before,
        words_after=words_after if changed else words_before,
        lines_before=len(before.observations),
        lines_after=len(after.observations) if changed else len(before.observations),
        removals=outcome.removals if changed else (),
        refused=refused,
        share_kept=share_kept(before, after) if changed else 1.0,
        notes=tuple(notes),
    )


def _refusal_line(refused: Refused) -> str:
    return f"{type(refused.operation).__name__.lower()} “{refused.about[:ABOUT_CHARACTERS]}”: {refused.why}"


def _rescue_note(path: Path) -> str:
    return f"an edit of observations.md made at the same moment was kept in {path}; merge it by hand"


# --- the model


def _proposal(
    place: Place,
    settings: Settings,
    document: Document,
    today: date,
    ask: Ask | None,
    state: State,
    *,
    dry_run: bool = False,
) -> Proposal:
    system = resources.prompt(PROMPT, place.workspace)
    if ask is not None:
        return propose(document, today, ask, system, settings.batch_tokens)
    with asking_reflector(settings, state, dry_run_of=place.own_dir if dry_run else None) as (chosen, notes):
        if chosen is None:
            return Proposal(notes=tuple(notes))
        proposal = propose(document, today, chosen, system, settings.batch_tokens)
        return replace(proposal, notes=(*notes, *proposal.notes))


def propose(document: Document, today: date, ask: Ask, system: str, part_tokens: int) -> Proposal:
    """What the model says about the document, which it is shown in parts of about `part_tokens` tokens.

    When it fails, what it has said until then counts.
    """
    lines = numbered(open_entries(document))
    operations: list[Operation] = []
    notes: list[str] = []
    parts = list(_parts(lines, part_tokens))
    failed = False
    for at, (first, part) in enumerate(parts):
        try:
            reply = ask(system, _framed(part, today))
        except TotalRecallError as error:
            failed = True
            rest = "all of it" if at == 0 else f"the last {len(parts) - at} of {len(parts)} parts"
            notes.append(f"{error}; the offline rules did {rest}")
            break
        found, odd = read_operations(without_thoughts(reply[:ANSWER_CHARACTERS]), len(part))
        operations += [renumbered(operation, first.__add__) for operation in found]
        notes += [f"not understood: {line}" for line in odd[:SHOWN_REFUSALS]]
    return Proposal(tuple(operations), asked=bool(parts), failed=failed, notes=tuple(notes))


def _parts(lines: Sequence[str], part_tokens: int) -> Iterator[tuple[int, list[str]]]:
    """Each part with how many lines stand before it. Its own numbers begin at 1: small models miscount long ones."""
    part: list[str] = []
    tokens = first = 0
    for at, line in enumerate(lines):
        cost = estimate_tokens(line)
        if part and tokens + cost > part_tokens:
            yield first, part
            part, tokens, first = [], 0, at
        part.append(f"[{at - first + 1}] {line.partition('] ')[2]}")
        tokens += cost
    if part:
        yield first, part


def _framed(part: Sequence[str], today: date) -> str:
    """The lines between two random fences that no line can know."""
    fence = f"memory-{secrets.token_hex(4)}"
    return "\n".join((f"Today is {today.isoformat()}, a {today:%A}.", f"<{fence}>", *part, f"</{fence}>"))


# --- traces


def _leave_traces(place: Place, state: State, done: MemoryReflection, now: datetime) -> None:
    """The run record and the log line."""
    said = sentence(done, dry_run=False)
    if done.refused:
        said += f"; {len(done.refused)} refused, first: {done.refused[0]}"
    detail = "; ".join((said, *done.notes))
    state.record_run(RunRecord("reflect", now, clock.now(), "done", 0, done.lines_after, detail))
    logs.append(place.log.with_name("reflector.log"), clock.now(), f"reflect: {detail}")
