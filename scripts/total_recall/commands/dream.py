"""dream: once a night what has faded leaves the memory for the archive, in groups that can be found again.

Preflight; classify; decay and decide; collapse; chunk; archive with search hooks; rewrite; scan for patterns; validate,
else roll back; log and metrics. `dreaming` plans, `dream_commit` writes, this tells the story and what came of it.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import date, datetime
from pathlib import Path
from typing import Final

from total_recall import clock, logs, resources
from total_recall.commands import context, dream_commit, dreaming, places
from total_recall.commands.compressing import asking_reflector
from total_recall.commands.dream_commit import BACKUPS, Written
from total_recall.commands.dreaming import Ask, Draft
from total_recall.commands.dreamt import (
    OFFLINE,
    MemoryDream,
    fields_of,
    lines_of,
    log_of,
    metrics_of,
    sentence,
    text_of,
)
from total_recall.commands.places import Configuration, Place
from total_recall.commands.staging_patterns import stage_patterns
from total_recall.errors import AlreadyRunning, MemoryWriteError, StoreError, TotalRecallError
from total_recall.memory import dream_log, last_dream
from total_recall.memory.commit import finish_pending
from total_recall.memory.document import Document, parse
from total_recall.memory.dream_log import TypeCount
from total_recall.memory.last_dream import Unfinished
from total_recall.memory.shelf import Key
from total_recall.memory.store import MemoryStore
from total_recall.records import ObservationType
from total_recall.settings import Settings
from total_recall.state import RunRecord, State, Step, no_step, sole

PROMPT: Final = "dreamer-system.txt"
LOCK_WAIT_SECONDS: Final = 600.0
"""A reflection that is at work is waited for: it ends in minutes."""
LOG: Final = "dream-cycle.log"

Patterns = Callable[[Place, Document, datetime], tuple[str, ...]]
"""Looks for patterns in the memory as it was before the night, at a time in the user's zone; a line a proposal."""


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line asked for."""

    dry_run: bool = False
    agent: str | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """What `dream` did, over all memories."""

    runs: tuple[MemoryDream, ...]

    @property
    def failed(self) -> bool:
        return any(run.wrong for run in self.runs)

    def payload(self) -> dict[str, object]:
        """The fields of the JSON answer."""
        return {"memories": [fields_of(run) for run in self.runs]}

    def lines(self) -> list[str]:
        """The answer for a person."""
        return [line for run in self.runs for line in lines_of(run)]


def run(options: Options, config: Configuration | None = None, ask: Ask | None = None) -> Result:
    """Dream in every memory, one after the other. Without `ask` the settings say who is asked for words.

    Raises MemoryWriteError or StoreError when a memory cannot be read or written; it is then as it was.
    """
    now = clock.now()
    config = config or places.configure()
    runs: list[MemoryDream] = []
    failed: list[TotalRecallError] = []
    for place in places.find(config, now, options.agent):
        try:
            runs.append(dream_in(place, config.settings, options, ask, now, patterns=stage_patterns))
        except (MemoryWriteError, StoreError) as error:
            # One agent's memory must not keep the others from being served.
            failed.append(error)
    if failed:
        raise failed[0]
    return Result(tuple(runs))


def dream_in(
    place: Place,
    settings: Settings,
    options: Options,
    ask: Ask | None,
    now: datetime,
    step: Step = no_step,
    patterns: Patterns | None = None,
) -> MemoryDream:
    """One night in one memory. `step` is told each step of what is written."""
    today = now.astimezone(settings.tz).date()
    if options.dry_run or settings.read_only_mode:
        with State.open_copy(place.own_dir) as state:
            return _foreseen(place, settings, state, today)
    document = parse(MemoryStore(place.memory_dir).read().content)
    if not document.observations:
        return MemoryDream(place.memory_dir, is_over=True)
    try:
        with _alone(place), State.open(place.own_dir, step) as state:
            store = MemoryStore(place.memory_dir, step, BACKUPS)
            earlier = _finished(place, settings, state, store, step, patterns)
            done = _dreamt(place, settings, ask, now, today, state, store, step, patterns)
            context.write_ready_made(place.memory_dir, today, characters=place.context_characters)
            return replace(done, notes=(*earlier, *done.notes))
    except AlreadyRunning as running:
        return MemoryDream(place.memory_dir, is_over=True, notes=(str(running),))


@contextmanager
def _alone(place: Place) -> Iterator[None]:
    """Neither a second night nor a reflection works on the memory meanwhile."""
    with ExitStack() as locks:
        locks.enter_context(sole("dream", place.own_dir))
        locks.enter_context(sole("reflector", place.own_dir, LOCK_WAIT_SECONDS))
        yield


def _foreseen(place: Place, settings: Settings, state: State, today: date) -> MemoryDream:
    """What a night would do now, by rules: a model is not asked for words that nobody keeps."""
    content = MemoryStore(place.memory_dir).read().content
    document = parse(content)
    if not document.observations:
        return MemoryDream(place.memory_dir, is_over=True, dry_run=True)
    made = _draft(document, state, settings, today)
    night = _unfinished(made, content, clock.now(), today, OFFLINE, ())
    names = {key: f"OBS-{today:%Y%m%d}-{n:03d}" for n, key in enumerate(made.keys, 1)}
    done = dream_commit.applied(document, night, names)
    after = Written(
        content, done.document.render(), {}, night.bundles, done.hooks, done.retired, _amiss(made, settings)
    )
    return replace(_account(place, made, after, night, settings), dry_run=True)


def _dreamt(
    place: Place,
    settings: Settings,
    ask: Ask | None,
    now: datetime,
    today: date,
    state: State,
    store: MemoryStore,
    step: Step,
    patterns: Patterns | None,
) -> MemoryDream:
    step("preflight")
    content = store.read().content
    made = _draft(parse(content), state, settings, today)
    made, model, notes = _in_words(made, place, settings, ask, state, now)
    while True:
        # An observer that died in the middle of a commit must find its lines before they are archived.
        rescued = list(finish_pending(state, store, step).rescued)
        with store.lock() as found:
            rescued += found
            if state.pending() is not None:
                continue
            current = store.read().content
            if current != content:
                made = dreaming.rephrased(_draft(parse(current), state, settings, today), made)
            night = _unfinished(made, current, now, today, model, notes)
            written = dream_commit.commit(
                night, state, store, step, wrong=_amiss(made, settings), resolved=made.resolved
            )
            break
    account = _account(place, made, written, night, settings)
    kept = [_rescue_note(path) for path in (*rescued, *written.rescued)]
    return _told(
        replace(account, notes=(*account.notes, *kept)), place, settings, made.document, night, state, step, patterns
    )


def _finished(
    place: Place, settings: Settings, state: State, store: MemoryStore, step: Step, patterns: Patterns | None
) -> tuple[str, ...]:
    """Bring a night that was cut off to its end. Returns what a person should know of it."""
    night = last_dream.unfinished(state)
    if night is None:
        return ()
    finish_pending(state, store, step)
    with store.lock():
        content = store.read().content
        found = dream_commit.is_written(night, state, content)
        written = (
            dream_commit.reported(night, found, content, store)
            if found is not None
            else dream_commit.commit(night, state, store, step)
        )
    made = _draft(parse(written.before), state, settings, night.day)
    account = _account(place, made, written, night, settings)
    _told(account, place, settings, made.document, night, state, step, patterns)
    return (f"the night of {night.at:%Y-%m-%d %H:%M} UTC, which had been cut off, was brought to its end",)


# --- the parts


def _draft(document: Document, state: State, settings: Settings, today: date) -> Draft:
    return dreaming.draft(
        document,
        dreaming.accessed(document, state, settings.tz),
        today,
        settings.dream_token_target,
        with_types=settings.dream_phase > 1,
    )


def _in_words(
    made: Draft, place: Place, settings: Settings, ask: Ask | None, state: State, now: datetime
) -> tuple[Draft, str, tuple[str, ...]]:
    """The draft in a model's words, where there is one, who that was, and what a person should know about it."""
    if not made.bundles or (ask is None and not settings.llm_base_url and not settings.llm_api_key):
        return made, OFFLINE, ()
    system = resources.prompt(PROMPT, place.workspace)
    if ask is not None:
        phrased = dreaming.phrased(made, ask, system, settings.batch_tokens)
        return phrased.draft, "model" if phrased.used else OFFLINE, phrased.notes
    with asking_reflector(settings, state) as (chosen, said):
        if chosen is None:
            return made, OFFLINE, tuple(said)
        phrased = dreaming.phrased(made, chosen, system, settings.batch_tokens)
        calls = [call.model for call in state.calls(now)]
        model = calls[-1] if phrased.used and calls else OFFLINE
        return phrased.draft, model, (*said, *phrased.notes)


def _unfinished(
    made: Draft, content: bytes, now: datetime, today: date, model: str, notes: Sequence[str]
) -> Unfinished:
    return Unfinished(
        at=now,
        day=today,
        before=hashlib.sha256(content).hexdigest(),
        tokens_before=made.tokens,
        bundles=made.bundles,
        flagged=made.plan.flagged,
        model=model,
        room_tokens=made.plan.hook_tokens,
        notes=tuple(notes),
    )


def _amiss(made: Draft, settings: Settings) -> tuple[str, ...]:
    """Whether the target is out of reach for good: what no rule lets go is longer than that."""
    floor, target = made.plan.floor_tokens, settings.dream_token_target
    if made.tokens <= target or floor <= target:
        return ()
    return (
        f"token target missed: what must stay (protected lines and your own text) has {floor:,} tokens, "
        f"the target is {target:,}; raise DREAM_TOKEN_TARGET, or let some of it go by hand",
    )


def _account(place: Place, made: Draft, written: Written, night: Unfinished, settings: Settings) -> MemoryDream:
    """What came of it."""
    gone = set(written.names) if written.names or written.wrong else set(made.keys)
    archived = [
        f"{written.names.get((f.day, f.raw), 'would go')}: {f.reason}: {text_of(f.raw)}"
        for bundle in written.bundles
        for f in bundle.members
        if (f.day, f.raw) in gone
    ]
    notes = list(night.notes)
    is_pressed = not written.wrong and written.tokens_after > settings.dream_token_target
    if is_pressed:
        notes.append(
            f"{written.tokens_after:,} tokens are more than the target of {settings.dream_token_target:,}: "
            "the rest is too new to go, or too important; the next nights go on"
        )
    return MemoryDream(
        place.memory_dir,
        model=night.model,
        observations=len(made.items),
        tokens_before=night.tokens_before,
        tokens_after=night.tokens_before if written.wrong else written.tokens_after,
        target_tokens=settings.dream_token_target,
        archived=() if written.wrong else tuple(archived),
        hooks=written.hooks,
        chunks=0 if written.wrong else sum(bundle.finding is not None for bundle in written.bundles),
        retired=written.retired,
        types=_types(made, set() if written.wrong else gone),
        flagged=night.flagged,
        false_archives=sum(what.startswith("must not leave") for what in written.wrong),
        wrong=written.wrong,
        backup=written.backup,
        notes=tuple(notes),
    )


def _types(made: Draft, gone: set[Key]) -> Mapping[ObservationType, TypeCount]:
    total = Counter(item.type for item in made.items)
    archived = Counter(item.type for item in made.items if (str(item.day or "unknown"), item.raw) in gone)
    return {kind: TypeCount(count, archived[kind]) for kind, count in total.items()}


def _told(
    done: MemoryDream,
    place: Place,
    settings: Settings,
    before: Document,
    night: Unfinished,
    state: State,
    step: Step,
    patterns: Patterns | None,
) -> MemoryDream:
    """Look for patterns; write the log, the metrics and the run record; then the night is over."""
    if patterns is not None and settings.dream_phase > 1 and not done.wrong:
        step("patterns")
        done = replace(done, staged=patterns(place, before, night.at.astimezone(settings.tz)))
    metrics = metrics_of(done, night, (clock.now() - night.at).total_seconds())
    step("log")
    dream_log.write_log(place.memory_dir, log_of(done, night, metrics, settings.tz), step)
    step("metrics")
    dream_log.write_metrics(place.memory_dir, metrics, step)
    last_dream.end(state)
    said = "; ".join((sentence(done), *done.notes))
    outcome = "failed" if done.wrong else "done"
    state.record_run(
        RunRecord("dream", night.at, clock.now(), outcome, 0, done.observations - len(done.archived), said)
    )
    logs.append(place.logs / LOG, clock.now(), f"dream: {said}")
    return done


def _rescue_note(path: Path) -> str:
    return f"an edit of observations.md made at the same moment was kept in {path}; merge it by hand"
