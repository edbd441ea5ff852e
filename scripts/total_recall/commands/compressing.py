"""Which compressor does the work: the models that the settings name, or the offline one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Literal

from total_recall import clock, resources
from total_recall.llm import offline
from total_recall.llm.client import Answer, ChatMessage, Client, Endpoint, ModelError
from total_recall.llm.observer import OFFLINE, Knowledge, ModelObserver
from total_recall.memory.document import parse
from total_recall.memory.line import Entry
from total_recall.memory.store import MemoryStore
from total_recall.records import Batch, ModelCall, Observation
from total_recall.settings import Settings
from total_recall.state import State

OPENROUTER = "https://openrouter.ai/api/v1"
DEADLINE_SECONDS = 300.0
LOCAL_DEADLINE_SECONDS = 1200.0
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
    """Whom to ask, in turn; no endpoint means offline, and `why_offline` says why when that may surprise."""

    endpoint: Endpoint | None
    models: tuple[str, ...] = ()
    are_defaults: bool = False
    why_offline: str | None = None


def choose(settings: Settings, purpose: Literal["observer", "reflector"]) -> Choice:
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
        self.notes += [note for note in notes if note not in self.notes]

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
    settings: Settings, state: State, store: MemoryStore, workspace: Path, tally: Tally
) -> Iterator[tuple[Compress, bool]]:
    """(compress, whether a model is asked). What happens is told in `tally` and recorded in the state's ledger."""
    choice = choose(settings, "observer")
    if choice.why_offline:
        tally.notes.append(f"{choice.why_offline}; compressed offline")
    if choice.endpoint is None:

        def by_rules(batch: Batch) -> tuple[Observation, ...]:
            tally.add(OFFLINE)
            return offline.compress(batch, tz=settings.tz)

        yield by_rules, False
        return
    with Client(choice.endpoint, state.record_call) as client:
        observer = ModelObserver(
            _asking(client, "observe"),
            choice.models,
            system=resources.prompt("observer-system.txt", workspace),
            tz=settings.tz,
        )

        def by_model(batch: Batch) -> tuple[Observation, ...]:
            done = observer.compress(batch, knowledge_of(store, clock.now(), settings.tz))
            tally.add(done.by, done.notes)
            return done.observations

        yield by_model, True


def _asking(client: Client, purpose: str) -> Callable[[str, Sequence[ChatMessage], int], Answer]:
    deadline = LOCAL_DEADLINE_SECONDS if client.endpoint.is_local else DEADLINE_SECONDS

    def ask(model: str, messages: Sequence[ChatMessage], max_tokens: int) -> Answer:
        return client.chat(model, messages, max_tokens=max_tokens, purpose=purpose, deadline_seconds=deadline)

    return ask


@contextmanager
def asking_reflector(
    settings: Settings, record: Callable[[ModelCall], None]
) -> Iterator[tuple[Callable[[str, str], str] | None, str | None]]:
    """(ask(system, user) → reply, why nobody is asked). `ask` tries each model and raises the last ModelError."""
    choice = choose(settings, "reflector")
    if choice.endpoint is None:
        yield None, choice.why_offline
        return
    with Client(choice.endpoint, record) as client:
        ask_model = _asking(client, "reflect")

        def ask(system: str, user: str) -> str:
            messages = (ChatMessage("system", system), ChatMessage("user", user))
            for model in choice.models[:-1]:
                try:
                    return ask_model(model, messages, REFLECTION_TOKENS).text
                except ModelError:
                    # Recorded in the ledger; the last model's error is the one that is told.
                    continue
            return ask_model(choice.models[-1], messages, REFLECTION_TOKENS).text

        yield ask, None


def knowledge_of(store: MemoryStore, now: datetime, tz: tzinfo) -> Knowledge:
    """The memory's last lines, and what is still open in it: goals and coming dates."""
    entries = [e for e in parse(store.read().content).observations if e.superseded_by is None]
    today = now.astimezone(tz).date()
    known = tuple(entry.text for entry in entries[-20:])
    return Knowledge(known, tuple((e.id, e.text) for e in entries if e.id and _is_open(e, today)))


def _is_open(entry: Entry, today: date) -> bool:
    if entry.refers is not None:
        return today <= entry.refers <= today + timedelta(days=OPEN_DAYS)
    return entry.type == "goal"
