"""When the built-in free models are gone: which of the provider's own are asked in their place, and for how long."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from total_recall import clock
from total_recall.llm.catalogue import taken_of
from total_recall.llm.client import Client, ModelError
from total_recall.state import State

Purpose = Literal["observer", "reflector"]

KEPT = timedelta(days=7)
"""Then the built-in ones have another chance."""
KEPT_EMPTY = timedelta(hours=1)
"""A person may have changed what the key may use in the meantime."""
LIST_SECONDS = 30.0

SETTINGS: dict[Purpose, str] = {"observer": "OBSERVER_MODEL", "reflector": "REFLECTOR_MODEL"}


@dataclass(frozen=True, slots=True)
class StandIns:
    """The models that are asked in place of those that are `gone`; there may be none to be had."""

    models: tuple[str, ...]
    gone: tuple[str, ...]
    until: datetime

    def words(self, purpose: Purpose) -> str:
        """One line that names what is gone, what is used, and the setting."""
        gone = f"the free {'model' if len(self.gone) == 1 else 'models'} {' and '.join(self.gone)}"
        are = "is" if len(self.gone) == 1 else "are"
        advice = f"set {SETTINGS[purpose]} to choose one yourself"
        if not self.models:
            return f"{gone} {are} gone from OpenRouter, and no other free one could be had; {advice}"
        return f"{gone} {are} gone from OpenRouter; {self.models[0]} is asked instead; {advice}"


def remembered(state: State, purpose: Purpose, now: datetime) -> StandIns | None:
    """The stand-ins that an earlier run found, while they are kept."""
    value = state.meta(_key(purpose))
    if value is None:
        return None
    fields = json.loads(value)
    until = datetime.fromisoformat(fields["until"])
    return StandIns(tuple(fields["models"]), tuple(fields["gone"]), until) if now < until else None


def _remember(state: State, purpose: Purpose, found: StandIns) -> None:
    fields = {"models": found.models, "gone": found.gone, "until": found.until.isoformat()}
    state.set_meta(_key(purpose), json.dumps(fields))


def _key(purpose: Purpose) -> str:
    return f"stand-ins of the {purpose}"


class Replacement:
    """Names other models when all that were to be asked are gone: those of the provider's list, once in a run."""

    def __init__(
        self, client: Client, state: State, purpose: Purpose, seconds_left: Callable[[], float] = lambda: LIST_SECONDS
    ) -> None:
        self._client = client
        self._state = state
        self._purpose = purpose
        self._seconds_left = seconds_left
        before = remembered(state, purpose, clock.now())
        self._gone = before.gone if before else ()
        self._looked = False

    def __call__(self, errors: Sequence[ModelError]) -> tuple[tuple[str, ...], str]:
        """(the models to ask now, a line about it). Both the choice and that there is none are remembered."""
        self._gone = tuple(dict.fromkeys([*self._gone, *(error.model for error in errors)]))
        chosen: tuple[str, ...] = ()
        why = f" (the last one said: {errors[-1]})"
        if not self._looked:
            self._looked = True
            try:
                listed = self._client.free_models(min(LIST_SECONDS, self._seconds_left()))
            except ModelError as error:
                # A list that cannot be had now is asked for again by the next run.
                nothing = StandIns((), self._gone, clock.now())
                return (), f"{nothing.words(self._purpose)} ({error})"
            chosen = taken_of(tuple(name for name in listed if name not in self._gone))
            why = ""
        found = StandIns(chosen, self._gone, clock.now() + (KEPT if chosen else KEPT_EMPTY))
        _remember(self._state, self._purpose, found)
        return chosen, found.words(self._purpose) + ("" if chosen else why)
