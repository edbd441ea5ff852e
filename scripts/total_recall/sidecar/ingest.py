"""From stored entries to the log. What was read and how far was read are one transaction: whoever is stopped anywhere
goes on from there, and nothing is written twice.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from total_recall.sidecar.database import Events, Session, explained
from total_recall.sidecar.events import Conversation, Draft, Hear, digest_of
from total_recall.sidecar.sanitising import Redact, Row, Sanitiser
from total_recall.sidecar.values import json_object, time_ms
from total_recall.state import DatabaseMark, FileCursor, RowCursor

GATHERED_EVENTS: Final = 8_000
GATHER_SECONDS: Final = 1.0
"""When a transaction ends: others wait for theirs, and what is not saved is read again after a crash."""
CONVERSATIONS: Final = 500
"""Sessions whose open turn is kept in mind between two transactions."""
HORIZON: Final = "horizon_ms"
"""Events before this time were pruned, and are not taken again."""

Step = Callable[[str], None]

_ARCHIVED: Final = re.compile(
    r"\.jsonl\.(?P<how>reset|deleted)\."
    r"(?P<day>\d{4}-\d\d-\d\d)T(?P<hour>\d\d)-(?P<minute>\d\d)-(?P<second>\d\d(?:\.\d+)?)"
)
"""A transcript that the host put away (to 2026.7.1): `<id>.jsonl.reset.2026-11-30T06-04-09.191Z`."""


@dataclass(frozen=True, slots=True)
class Read:
    """How far was read, as a reader of sessions says."""

    files: Sequence[FileCursor] = ()
    forget_files: Sequence[tuple[str, str]] = ()
    rows: Sequence[RowCursor] = ()
    mark: DatabaseMark | None = None


@dataclass(slots=True)
class _Open:
    """A session that is being read: its number, its open turn, and the calls that were noted as waiting."""

    number: int
    conversation: Conversation
    noted: dict[str, int]


def _no_step(_name: str) -> None:
    """Tests pass a function that ends the process there."""


@dataclass(slots=True)
class Ingest:
    """One reading into the log. Use within `gathering`; `redact` takes secrets out of a text."""

    events: Events
    redact: Redact
    latest_ms: int
    step: Step = _no_step
    forgotten_entries: frozenset[tuple[str, str]] = frozenset()
    forgotten_sessions: Mapping[str, int] = field(default_factory=dict)
    """What the memory has forgotten, whether or not the log was there then; sessions up to a time in ms."""
    added: int = 0
    sessions: set[str] = field(default_factory=set)
    _open: dict[tuple[str, str], _Open] = field(default_factory=dict)
    _drafts: list[tuple[int, Draft]] = field(default_factory=list)
    _forgotten: frozenset[int] = frozenset()
    _forgotten_entries: frozenset[tuple[str, str]] = frozenset()
    _forgotten_sessions: dict[str, int] = field(default_factory=dict)
    _horizon_ms: int = 0
    _since: float = 0.0
    _sanitiser: Sanitiser = field(init=False)

    def __post_init__(self) -> None:
        self._sanitiser = Sanitiser(self.redact)

    @contextmanager
    def gathering(self) -> Iterator[None]:
        """Write what is taken meanwhile, some thousand events in one transaction; what is left at the end too.

        Raises Damaged, StoreError and MemoryWriteError; then what was not yet saved is read again the next time.
        """
        self._begin()
        try:
            yield
            self._save()
        except BaseException:
            if self.events.db.in_transaction:
                self.events.db.execute("ROLLBACK")
            raise

    def take(
        self, session: Session, entries: Iterable[Mapping[str, Any]], hear: Hear, read: Read, *, name: str = "",
        fallback_ms: int = 0, kept_out: bool = False,
    ) -> None:  # fmt: skip
        """Take entries of a session in stored order. `name` is that of the transcript; `fallback_ms` the time of an
        entry without one; of a session that is `kept_out` nothing is taken."""
        if kept_out:
            self.note(read)
            return
        with explained(self.events.path):
            opened = self._conversation(session, hear)
        conversation = opened.conversation
        conversation.at = conversation.at or fallback_ms
        drafts = [draft for entry in entries for draft in conversation.drafts(entry)]
        drafts += archived(name, session.id, self.latest_ms)
        self._give(session.id, opened.number, drafts)
        self.note(read)

    def put(self, session: Session, drafts: Sequence[Draft]) -> None:
        """Take events that are in no transcript."""
        with explained(self.events.path):
            number = self.events.session(session)
        self._give(session.id, number, drafts)

    def _give(self, session_id: str, number: int, drafts: Sequence[Draft]) -> None:
        after = max(self._horizon_ms, self._forgotten_sessions.get(session_id, -1) + 1)
        self._drafts += [
            (number, draft) for draft in drafts if draft.at >= after and self._is_wanted(session_id, draft)
        ]
        if len(self._drafts) >= GATHERED_EVENTS:
            self._save()
            self._begin()

    def _is_wanted(self, session_id: str, draft: Draft) -> bool:
        """Whether this was not forgotten."""
        return not (self._forgotten or self._forgotten_entries) or not (
            draft.digest in self._forgotten or (session_id, draft.entry) in self._forgotten_entries
        )

    def note(self, read: Read) -> None:
        with explained(self.events.path):
            self.events.move_cursors(files=read.files, forget_files=read.forget_files, rows=read.rows, mark=read.mark)
        if time.monotonic() - self._since > GATHER_SECONDS:
            self._save()
            self._begin()

    def _conversation(self, session: Session, hear: Hear) -> _Open:
        name = (session.id, session.agent)
        opened = self._open.get(name)
        if opened is None:
            number = self.events.session(session)
            known = self.events.known_session(session.id)
            conversation = Conversation(session.id, hear, self.latest_ms, known is not None and known.muted)
            noted = self.events.waiting(number)
            for call, digest in noted.items():
                found = self.events.call(digest)
                if found is not None:
                    conversation.waiting[call] = _waiting(digest, *found)
            opened = self._open[name] = _Open(number, conversation, noted)
            self.sessions.add(session.id)
        else:
            self.events.session(session)
        opened.conversation.hear = hear
        return opened

    def _begin(self) -> None:
        with explained(self.events.path):
            self.events.db.execute("BEGIN IMMEDIATE")
            self._forgotten = self.events.forgotten()
            self._forgotten_entries = self.events.forgotten_entries() | self.forgotten_entries
            self._forgotten_sessions = {**self.forgotten_sessions, **self.events.forgotten_sessions()}
            self._horizon_ms = int(self.events.meta(HORIZON) or 0)
        self._since = time.monotonic()

    def _save(self) -> None:
        with explained(self.events.path):
            self._write()
            for opened in self._open.values():
                waiting = opened.conversation.waiting
                for draft in waiting.values():
                    draft.written = True
                now = {call: draft.digest for call, draft in waiting.items()}
                if now != opened.noted:
                    self.events.set_waiting(opened.number, opened.noted, now)
                    opened.noted = now
                self.events.mute(opened.number, muted=opened.conversation.muted)
            self.step("save")
            self.events.db.execute("COMMIT")
            self.step("saved")
        if len(self._open) > CONVERSATIONS:
            self._open.clear()

    def write(self) -> None:
        """Write what was taken so far, so that it can be asked for; it is saved with the rest."""
        with explained(self.events.path):
            self._write()

    def rows(self, drafts: Sequence[Draft]) -> list[Row]:
        """The rows that would be written of these."""
        return self._sanitiser.rows(drafts)

    def _write(self) -> None:
        drafts, self._drafts = self._drafts, []
        if not drafts:
            return
        rows = self._sanitiser.rows([draft for _, draft in drafts])
        new = [(number, row) for (number, draft), row in zip(drafts, rows, strict=True) if not draft.written]
        self.added += self.events.add(new)
        for (_, draft), row in zip(drafts, rows, strict=True):
            if draft.written:
                self.events.complete(row)


def _waiting(digest: int, at: int, name: str, entry: str | None, details: str | None) -> Draft:
    """A call that was written without its result, as it is remembered."""
    kept = json_object(details or "{}")
    draft = Draft(digest, at, "tool_call", entry, name, written=True, kept_out=bool(kept.get("kept_out")))
    draft.arguments = kept.get("arguments")
    return draft


def archived(name: str, session_id: str, latest_ms: int) -> list[Draft]:
    """The end of a session that the name of its transcript tells: `/new` or `/reset`, or that it was deleted."""
    match = _ARCHIVED.search(name)
    if match is None:
        return []
    stamp = f"{match['day']}T{match['hour']}:{match['minute']}:{float(match['second']):06.3f}+00:00"
    at = time_ms(stamp, latest_ms)
    if at is None:
        return []
    if match["how"] == "reset":
        return [Draft(digest_of("reset", session_id, stamp), at, "session_reset", name="reset")]
    return [Draft(digest_of("end", session_id), at, "session_end", name="deleted")]
