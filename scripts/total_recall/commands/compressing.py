"""Which compressor does the work: the models that the settings name, or the offline one."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta, tzinfo
from functools import partial
from pathlib import Path

from total_recall import clock, resources
from total_recall.commands.standing_in import Purpose, Replacement, remembered
from total_recall.errors import MemoryWriteError, StoreError
from total_recall.llm import offline
from total_recall.llm.client import Answer, ChatMessage, Client, Endpoint, ModelError
from total_recall.llm.observer import OFFLINE, Ask, Knowledge, ModelObserver
from total_recall.llm.roster import OUT_OF_TIME, Instead, Roster
from total_recall.memory.document import parse
from total_recall.memory.line import Entry
from total_recall.memory.raw import is_raw
from total_recall.memory.store import MemoryStore
from total_recall.records import Batch, ModelCall, Observation
from total_recall.settings import Settings
from total_recall.state import State

OPENROUTER = "https://openrouter.ai/api/v1"
DEADLINE_SECONDS = 300.0
LOCAL_DEADLINE_SECONDS = 1200.0
LEAST_SECONDS = 0.1
"""With less time left a model is not asked."""
REFLECTION_TOKENS = 4_000
OPEN_DAYS = 60
"""Coming dates this far ahead are shown to the model as open."""

_FREE_DEFAULTS = {
    "observer": ("stepfun/step-3.5-flash:free", "nvidia/nemotron-3-nano-30b-a3b:free"),
    "reflector": ("nvidia/nemotron-3-super-120b-a12b:free", "openrouter/hunter-alpha"),
}
"""Used on OpenRouter alone, and only while no model is named. Free models come and go."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Whom to ask, in turn; no endpoint means offline, and `why_offline` says why when that may surprise.

    `note` is what a person should know of the models.
    """

    endpoint: Endpoint | None
    models: tuple[str, ...] = ()
    are_defaults: bool = False
    why_offline: str | None = None
    note: str | None = None


def choose(settings: Settings, purpose: Purpose) -> Choice:
    """The endpoint and models for `observer` or `reflector`, from the settings alone."""
    base_url = settings.llm_base_url
    if base_url is None and (settings.openrouter_key_is_set or (settings.llm_api_key or "").startswith("sk-or-")):
        base_url = OPENROUTER
    if purpose == "observer":
        first, second = settings.observer_model or settings.llm_model, settings.observer_fallback_model
    else:
        first, second = settings.reflector_model or settings.llm_model, settings.reflector_fallback_model
    if base_url is None:
        named = settings.llm_api_key or first
        why = "a key or model is set, but LLM_BASE_URL is not" if named else None
        return Choice(None, why_offline=why)
    endpoint = Endpoint(base_url, settings.llm_api_key)
    if settings.local_only and not endpoint.is_local:
        return Choice(None, why_offline=f"TOTAL_RECALL_LOCAL_ONLY is true, and {endpoint.host} is another's computer")
    named_models = tuple(dict.fromkeys(model for model in (first, second) if model))
    if named_models:
        return Choice(endpoint, named_models)
    if endpoint.is_openrouter:
        return Choice(endpoint, _FREE_DEFAULTS[purpose], are_defaults=True)
    return Choice(None, why_offline=f"LLM_BASE_URL is {base_url}, but no model is named: set LLM_MODEL")


@dataclass(slots=True)
class Tally:
    """How a run's compressing went: batches by who compressed them, and what a person should know, each thing once."""

    batches: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def add(self, by: str, notes: Sequence[str] = ()) -> None:
        self.batches[by] = self.batches.get(by, 0) + 1
        for note in notes:
            self.note(note)

    def note(self, note: str) -> None:
        _add_once(self.notes, note)

    @property
    def fell_back(self) -> bool:
        """Whether a model was to be asked and a batch was compressed offline all the same."""
        return OFFLINE in self.batches and bool(self.notes)

    def words(self) -> str:
        """`2 batches by openai/gpt-5-mini, 1 by offline`."""
        return ", ".join(f"{count} by {by}" for by, count in self.batches.items())


Compress = Callable[[Batch], tuple[Observation, ...]]


@contextmanager
def compressor(
    settings: Settings,
    state: State,
    store: MemoryStore,
    workspace: Path,
    tally: Tally,
    *,
    patience_seconds: float | None = None,
    dry_run_of: Path | None = None,
) -> Iterator[tuple[Compress, bool]]:
    """(compress, whether a model is asked). What happens is told in `tally` and recorded in the state's ledger.

    With `patience_seconds` models may take that long in all; what is left then is compressed offline. A dry run, whose
    `state` is a copy, names the memory's own directory in `dry_run_of`: what it spends is spent.
    """
    choice = with_stand_ins(choose(settings, "observer"), state, "observer")
    if choice.endpoint is None:
        notes = [f"{choice.why_offline}; compressed offline"] if choice.why_offline else []

        def by_rules(batch: Batch) -> tuple[Observation, ...]:
            tally.add(OFFLINE, notes)
            state.record_compressed(batch.id, OFFLINE, clock.now())
            return offline.compress(batch, tz=settings.tz)

        yield by_rules, False
        return
    with Client(choice.endpoint, _recorder(state, dry_run_of, tally.note)) as client:
        patience = _Patience(patience_seconds)
        observer = ModelObserver(
            patience.over(_asking(client, "observe", patience.left)),
            choice.models,
            system=resources.prompt("observer-system.txt", workspace),
            tz=settings.tz,
            instead=Replacement(client, state, "observer", patience.left) if choice.are_defaults else None,
        )

        def by_model(batch: Batch) -> tuple[Observation, ...]:
            done = observer.compress(batch, knowledge_of(store, clock.now(), settings.tz))
            tally.add(done.by, done.notes)
            state.record_compressed(batch.id, done.by, clock.now())
            return done.observations

        yield by_model, True


def with_stand_ins(choice: Choice, state: State, purpose: Purpose) -> Choice:
    """The choice, with the models that an earlier run found where the defaults are gone."""
    found = remembered(state, purpose, clock.now()) if choice.are_defaults else None
    if found is None:
        return choice
    if not found.models:
        return Choice(None, why_offline=found.words(purpose))
    return replace(choice, models=found.models, note=found.words(purpose))


def _asking(client: Client, purpose: str, seconds_left: Callable[[], float] = lambda: math.inf) -> Ask:
    usual = LOCAL_DEADLINE_SECONDS if client.endpoint.is_local else DEADLINE_SECONDS

    def ask(model: str, messages: Sequence[ChatMessage], max_tokens: int) -> Answer:
        deadline = min(usual, seconds_left())
        return client.chat(model, messages, max_tokens=max_tokens, purpose=purpose, deadline_seconds=deadline)

    return ask


class _Patience:
    """How long models may take in all; None is as long as they like."""

    def __init__(self, seconds: float | None) -> None:
        self._seconds = math.inf if seconds is None else seconds
        self._spent = 0.0

    def left(self) -> float:
        return max(self._seconds - self._spent, 0.0)

    def over(self, ask: Ask) -> Ask:
        """`ask`, on this account. When it is used up, ModelError says so, and that nothing else is to be asked."""

        def patiently(model: str, messages: Sequence[ChatMessage], max_tokens: int) -> Answer:
            if self.left() > LEAST_SECONDS:
                begun = time.monotonic()
                try:
                    return ask(model, messages, max_tokens)
                except ModelError as error:
                    failed = error
                finally:
                    self._spent += time.monotonic() - begun
                if self.left() > LEAST_SECONDS:
                    raise failed
            longer = f"the model took longer than {self._seconds:.3g} s; compressed offline"
            raise ModelError(model, OUT_OF_TIME, longer)

        return patiently


def _recorder(state: State, dry_run_of: Path | None, note: Callable[[str], None]) -> Callable[[ModelCall], None]:
    """Where a call is recorded. A dry run records in its copy, for the day's limit, and in the memory's own ledger."""
    if dry_run_of is None:
        return state.record_call

    def record(call: ModelCall) -> None:
        state.record_call(call)
        if not (dry_run_of / "state.sqlite").exists():
            note("what this dry run asked of a model is in no ledger: there is no state before the first run")
            return
        try:
            with State.open(dry_run_of) as own:
                own.record_call(call)
        except (StoreError, MemoryWriteError) as error:
            note(f"what this dry run asked of a model is in no ledger: {error}")

    return record


@contextmanager
def asking_reflector(
    settings: Settings, state: State, *, dry_run_of: Path | None = None
) -> Iterator[tuple[Callable[[str, str], str] | None, list[str]]]:
    """(ask(system, user) → reply, notes). Nobody is asked when `ask` is None.

    `ask` tries each model and raises the last ModelError; what else a person should know is in the notes by then.
    `dry_run_of` is as for `compressor`.
    """
    choice = with_stand_ins(choose(settings, "reflector"), state, "reflector")
    notes: list[str] = []
    if choice.endpoint is None:
        notes += [f"{choice.why_offline}; reflected offline"] if choice.why_offline else []
        yield None, notes
        return
    with Client(choice.endpoint, _recorder(state, dry_run_of, partial(_add_once, notes))) as client:
        instead = Replacement(client, state, "reflector") if choice.are_defaults else None
        yield Reflector(_asking(client, "reflect"), choice.models, notes, instead), notes


class Reflector:
    """Asks the models in turn, for one reflection, by the same rules as the observer."""

    def __init__(self, ask: Ask, models: Sequence[str], notes: list[str], instead: Instead | None) -> None:
        self._ask = ask
        self._roster = Roster(models, instead)
        self._notes = notes
        self._last: ModelError | None = None

    def __call__(self, system: str, user: str) -> str:
        """The reply's text. Raises the last model's ModelError; how the others failed is in the notes."""
        messages = (ChatMessage("system", system), ChatMessage("user", user))
        lines: list[str] = []
        failed: list[ModelError] = []
        reply: str | None = None
        for model in self._roster.in_turn(lines.append):
            try:
                reply = self._ask(model, messages, REFLECTION_TOKENS).text
            except ModelError as error:
                self._roster.failed(model, error)
                failed.append(error)
            else:
                self._roster.answered(model)
                break
        problems = [*self._roster.gone, *(error for error in failed if error.kind != "gone")]
        if reply is None and problems:
            self._last = problems.pop()
        elif reply is None and lines:
            self._last = ModelError(failed[-1].model, "gone", lines.pop())
        for note in (*lines, *map(str, problems)):
            _add_once(self._notes, note)
        if reply is not None:
            return reply
        assert self._last is not None, "nobody is out before a failure"
        raise self._last


def _add_once(notes: list[str], note: str) -> None:
    if note not in notes:
        notes.append(note)


def knowledge_of(store: MemoryStore, now: datetime, tz: tzinfo) -> Knowledge:
    """The memory's last lines, and what is still open in it: goals and coming dates."""
    standing = parse(store.read().content).observations
    entries = [entry for entry in standing if entry.superseded_by is None and not is_raw(entry.id)]
    today = now.astimezone(tz).date()
    known = tuple(entry.text for entry in entries[-20:])
    return Knowledge(known, tuple((e.id, e.text) for e in entries if e.id and _is_open(e, today)))


def _is_open(entry: Entry, today: date) -> bool:
    if entry.refers is not None:
        return today <= entry.refers <= today + timedelta(days=OPEN_DAYS)
    return entry.type == "goal"
