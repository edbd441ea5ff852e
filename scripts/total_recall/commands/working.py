"""From the queue to the document: batch after batch is compressed and committed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, tzinfo
from functools import partial
from pathlib import Path

from total_recall import logs
from total_recall.commands.capturing import milliseconds
from total_recall.commands.compressing import Compress, Tally
from total_recall.commands.observing import Options, counted
from total_recall.errors import TotalRecallError
from total_recall.memory.commit import Committed, Done, commit, keep_as_said
from total_recall.memory.raw import as_said
from total_recall.memory.store import MemoryStore
from total_recall.records import Batch, Message, Observation
from total_recall.sessions.batching import batches
from total_recall.settings import Settings
from total_recall.state import State, Step
from total_recall.tokens import estimate_tokens

CONTEXT_MESSAGES = 4
COMMIT_SECONDS = 2.0
"""A document write for each small batch would cost more than compressing it offline; they are gathered this long."""


class Work:
    """Compresses batch after batch and commits; without a store nothing is written."""

    def __init__(self, state: State, store: MemoryStore | None, tz: tzinfo, step: Step) -> None:
        self._state = state
        self._store = store
        self._tz = tz
        self._step = step
        self.messages = 0
        self.sessions: set[str] = set()
        self.written: list[Observation] = []
        self.notes: list[str] = []
        self.compressed_by = ""
        self.kept_as_said = 0
        self.bug: Exception | None = None

    def through(
        self,
        cut: Iterable[tuple[Batch, tuple[int, ...]]],
        compress: Compress,
        allowed: Callable[[int, Batch], bool] | None = None,
    ) -> None:
        """Compress what waits. With `allowed`, which a model's work has, each batch is asked for and saved at once."""
        gathered: list[Done] = []
        since = time.monotonic()
        for number, (batch, rows) in enumerate(cut):
            if allowed is not None and not allowed(number, batch):
                break
            gathered += self._compressed(batch, rows, compress)
            if allowed is not None or time.monotonic() - since > COMMIT_SECONDS:
                self._save(gathered)
                gathered, since = [], time.monotonic()
        self._save(gathered)

    def _compressed(self, batch: Batch, rows: tuple[int, ...], compress: Compress) -> list[Done]:
        """The batch, done; where a compressor breaks, all but the message that breaks it, which is kept as it is."""
        try:
            found = compress(batch)
        except TotalRecallError:
            raise
        except Exception as error:  # noqa: BLE001  # a bug of ours must not keep what was said out of the memory
            middle = len(rows) // 2
            if middle == 0:
                self._keep_as_said(batch, error)
                return []
            first = replace(batch, id=f"{batch.id}a", messages=batch.messages[:middle])
            second = replace(batch, id=f"{batch.id}b", messages=batch.messages[middle:])
            return [
                *self._compressed(first, rows[:middle], compress),
                *self._compressed(second, rows[middle:], compress),
            ]
        self.messages += len(batch.messages)
        self.sessions.update(message.session_id for message in batch.messages)
        return [Done(batch.id, rows, found)]

    def done(self, committed: Committed) -> None:
        self.written += committed.observations
        self.notes += _rescue_notes(committed.rescued)

    def _save(self, gathered: Sequence[Done]) -> None:
        if self._store is not None:
            self.done(commit(gathered, self._state, self._store, self._step))
        else:
            self.written += [o for done in gathered for o in done.observations]

    def _keep_as_said(self, batch: Batch, error: Exception) -> None:
        """The words go into the document as they are; they stay in the queue, and the next run tries again."""
        if self._store is not None:
            lines = as_said(batch.messages, self._tz)
            self.notes += _rescue_notes(keep_as_said(lines, self._state, self._store))
        self.kept_as_said += len(batch.messages)
        self.bug = error

    def told(self) -> list[str]:
        """The notes, with one about all that was kept as it was said."""
        if self.bug is None:
            return self.notes
        what = counted(self.kept_as_said, "message")
        return [
            *self.notes,
            f"no compressor could take {what}, kept word for word until one can: a bug, {type(self.bug).__name__}, "
            f"with details in {logs.bug_report(self.bug) or 'no file: none could be written'}",
        ]


def cut_queue(
    state: State, settings: Settings, options: Options, now: datetime, trim: bool = True
) -> Iterator[tuple[Batch, tuple[int, ...]]]:
    """Batches of what waits, in time order; with `recent_first` the newest part before the rest."""
    recent_ms = milliseconds(now - options.recent_first) if options.recent_first else 0
    parts = [state.queue(options.session_id, since_ms=recent_ms)]
    if recent_ms:
        parts.append(state.queue(options.session_id, until_ms=recent_ms))
    for part in parts:
        yield from batches(part, settings.batch_tokens, estimate_tokens, partial(_said_before, state), trim=trim)


def may_ask(
    state: State, settings: Settings, options: Options, now: datetime, tally: Tally, number: int, batch: Batch
) -> bool:
    """Whether the models may take one more batch now; if not, what waits says why."""
    if options.max_batches is not None and number >= options.max_batches:
        tally.notes.append(f"stopped after {counted(number, 'batch', 'batches')} (--max-batches); the next run goes on")
        return False
    if settings.daily_tokens is not None:
        used = state.tokens_since(now.astimezone(settings.tz).replace(hour=0, minute=0, second=0, microsecond=0))
        if used + batch.tokens > settings.daily_tokens:
            tally.notes.append(
                f"{used:,} of today's {settings.daily_tokens:,} tokens are used (TOTAL_RECALL_DAILY_TOKENS); "
                "the rest waits"
            )
            return False
    return True


def _said_before(state: State, messages: Sequence[Message]) -> tuple[Message, ...]:
    """What was said in the same sessions just before these messages."""
    first: dict[str, Message] = {}
    for message in messages:
        first.setdefault(message.session_id, message)
    return tuple(m for message in first.values() for m in state.said_before(message, CONTEXT_MESSAGES))


def _rescue_notes(rescued: Sequence[Path]) -> list[str]:
    what = "an edit of observations.md made at the same moment was kept in"
    return [f"{what} {path}; merge it by hand" for path in rescued]
