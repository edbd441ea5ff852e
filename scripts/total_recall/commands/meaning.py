"""Finding by meaning, where an embedding model is set: vectors are asked for, within bounds, and kept in the index.

It only ever adds to what words find. Without a model, without an answer in time, or with one that makes no sense,
recall goes on without it and says so in one note.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from urllib.parse import urlsplit

from total_recall.commands.capturing import redacting
from total_recall.commands.compressing import OPENROUTER
from total_recall.errors import SettingError
from total_recall.llm.client import Client, Endpoint, ModelError
from total_recall.llm.embeddings import Vector, batches, shortened
from total_recall.recall.index import RecallIndex
from total_recall.recall.querying import Query
from total_recall.recall.searching import Meaning
from total_recall.settings import Settings
from total_recall.state import State
from total_recall.tokens import estimate_tokens

QUESTION_SECONDS: Final = 4.0
"""How long a person waits for the vector of a question."""
TEXTS_SECONDS: Final = 10.0
"""How long, after that, for those of memories that have none yet; the next recall goes on."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """Whom to ask for vectors; without an endpoint nobody, and `note` says why when that may surprise."""

    endpoint: Endpoint | None
    model: str = ""
    note: str | None = None


def choose(settings: Settings) -> Chosen:
    """The endpoint and the model, from the settings alone. A key goes only to the host that it is set for.

    Raises SettingError for a key that cannot be one.
    """
    model = settings.embedding_model
    if model is None:
        return Chosen(None)
    llm = settings.llm_base_url or (OPENROUTER if settings.openrouter_key_is_set else None)
    base_url = settings.embedding_base_url or llm
    if base_url is None:
        return Chosen(None, note="EMBEDDING_MODEL is set, but neither EMBEDDING_BASE_URL nor LLM_BASE_URL is")
    is_same = llm is not None and urlsplit(base_url).netloc == urlsplit(llm).netloc
    endpoint = Endpoint(base_url, settings.embedding_api_key or (settings.llm_api_key if is_same else None))
    if settings.local_only and not endpoint.is_local:
        return Chosen(None, note=f"TOTAL_RECALL_LOCAL_ONLY is true, and {endpoint.host} is another's computer")
    return Chosen(endpoint, model)


@dataclass(slots=True)
class Meanings:
    """Likeness of meaning for one run of recall: call `of(index)` for what `search` takes. `notes` are for a person."""

    settings: Settings
    state: State
    now: datetime
    notes: list[str]
    monotonic: Callable[[], float] = time.monotonic

    def of(self, index: RecallIndex) -> Meaning | None:
        """What gives the likeness of memories to a question; None where no model is set that may be asked."""
        try:
            chosen = choose(self.settings)
        except SettingError as error:
            self.notes.append(f"{error}; found by words alone")
            return None
        if chosen.note:
            self.notes.append(f"{chosen.note}; found by words alone")
        if chosen.endpoint is None:
            return None
        endpoint = chosen.endpoint

        def likeness(query: Query) -> Mapping[int, float]:
            try:
                with Client(endpoint, self.state.record_call) as client:
                    return self._likeness(index, client, chosen.model, query.text)
            except (ModelError, SettingError) as error:
                self.notes.append(f"{error}; found by words alone")
                return {}

        return likeness

    def _likeness(self, index: RecallIndex, client: Client, model: str, question: str) -> Mapping[int, float]:
        redact = redacting(self.state)
        sent = shortened(redact(question))
        if not self._may_spend([sent]):
            self.notes.append(
                f"today's {self.settings.daily_tokens:,} tokens are used (TOTAL_RECALL_DAILY_TOKENS); "
                "found by words alone"
            )
            return {}
        (asked,) = client.embed(model, [sent], deadline_seconds=QUESTION_SECONDS).vectors
        vectors = index.vectors(model)
        missing = vectors.missing(len(asked))
        if missing:
            left = len(missing) - self._ask_for(
                [(number, text, shortened(redact(text))) for number, text in missing],
                lambda texts, seconds: client.embed(model, texts, deadline_seconds=seconds).vectors,
                lambda some, found: vectors.keep(some, found),
                len(asked),
            )
            if left:
                self.notes.append(f"{left:,} memories have no vector yet; the next recall goes on with them")
        return vectors.like(asked)

    def _ask_for(
        self,
        missing: Sequence[tuple[int, str, str]],
        embed: Callable[[Sequence[str], float], Sequence[Vector]],
        keep: Callable[[Sequence[tuple[int, str]], Sequence[Vector]], None],
        dimensions: int,
    ) -> int:
        """Get vectors for memories (number, text, what is sent of it); returns how many could be had now."""
        ends = self.monotonic() + TEXTS_SECONDS
        done = 0
        for texts in batches([sent for _, _, sent in missing]):
            seconds = ends - self.monotonic()
            if seconds <= 0.0 or not self._may_spend(texts):
                break
            try:
                found = embed(texts, seconds)
            except ModelError as error:
                self.notes.append(str(error))
                break
            if any(len(vector) != dimensions for vector in found):
                self.notes.append("the model gave vectors of several dimensions; check EMBEDDING_MODEL")
                break
            keep([(number, text) for number, text, _ in missing[done : done + len(texts)]], found)
            done += len(texts)
        return done

    def _may_spend(self, texts: Sequence[str]) -> bool:
        if self.settings.daily_tokens is None:
            return True
        midnight = self.now.astimezone(self.settings.tz).replace(hour=0, minute=0, second=0, microsecond=0)
        return self.state.tokens_since(midnight) + sum(map(estimate_tokens, texts)) <= self.settings.daily_tokens
