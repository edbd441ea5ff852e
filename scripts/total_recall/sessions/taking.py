"""From portions to the queue: which session counts, what in a message was said, and is it new."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from total_recall.records import Message, SessionClass
from total_recall.sessions.entries import RawMessage, time_of
from total_recall.sessions.selection import channel_of, eligible, session_class
from total_recall.sessions.source import Portion, Problems, SessionSource
from total_recall.sessions.unwrap import Spoken, unwrap_assistant, unwrap_user
from total_recall.state import KnownSession, State, Status, TakeCount, Taken, content_digest


@dataclass(frozen=True, slots=True)
class Window:
    """Which messages a run wants.

    `since_ms` is set for a first run: what is older is marked as seen. `promote_since_ms` reads every store from its
    start and takes what an earlier run marked as seen, from that time on. `session_id` narrows to one session.
    """

    include: frozenset[SessionClass]
    main_key: str
    since_ms: int = 0
    promote_since_ms: int | None = None
    session_id: str | None = None


@dataclass(slots=True)
class Taking:
    """What one run took."""

    count: TakeCount = field(default_factory=TakeCount)
    sessions: set[str] = field(default_factory=set)


def take_new(sources: Iterable[SessionSource], state: State, window: Window, problems: Problems) -> Taking:
    """Read what is new in every source into the queue of `state`. Each portion is one transaction."""
    taking = Taking()
    for source in sources:
        opening: dict[str, KnownSession] = {}
        fresh = window.promote_since_ms is not None
        for portion in source.portions(state, fresh=fresh, problems=problems):
            if portion.mark is not None:
                if window.session_id is None:
                    state.take((), mark=portion.mark)
                continue
            known = opening.get(portion.ref.session_id) or _known(portion, state, window)
            if known is None:
                continue
            opening[portion.ref.session_id] = known
            taken = []
            wanted = window.session_id in (None, portion.ref.session_id)
            if wanted and eligible(known.session_class, window.include):
                taken = _said(portion, known, window, problems)
            elif not wanted and portion.messages:
                # A run for one session leaves the others, and their cursors, as they are.
                continue
            count = state.take(
                taken,
                sessions=(known,),
                files=portion.files,
                forget_files=portion.forget_files,
                rows=portion.rows,
                appended=portion.appended,
                promote_since_ms=window.promote_since_ms,
            )
            if count.same_id:
                problems.add("same-id", f"{portion.ref.store}/{portion.ref.name}", count.same_id)
            if count.queued:
                taking.sessions.add(portion.ref.session_id)
            taking.count += count
    return taking


def _known(portion: Portion, state: State, window: Window) -> KnownSession | None:
    """What this session is: by its key, else by what was known of it when it had one, else by its first words.

    None when nothing tells yet: a transcript without a message is looked at again when it has one.
    """
    ref = portion.ref
    before = state.known_session(ref.session_id)
    if ref.key is None and before is not None:
        return before
    if ref.key is not None:
        kind = session_class(ref.key, origin=ref.origin, main_key=window.main_key)
        return KnownSession(ref.session_id, kind, ref.key, ref.channel or channel_of(ref.key))
    if not portion.messages:
        return None
    first = next((m for m in portion.messages if m.role == "user"), None)
    kind = session_class(None, first_user_kind=_spoken(first).kind if first else None, main_key=window.main_key)
    return KnownSession(ref.session_id, kind, None, None)


def _spoken(raw: RawMessage) -> Spoken:
    return unwrap_user(raw.text, provenance=raw.provenance, owner=raw.owner)


def _said(portion: Portion, known: KnownSession, window: Window, problems: Problems) -> list[Taken]:
    """The messages of a portion that a person or the assistant said, each queued or, when too old, marked as seen."""
    said = []
    at_ms = portion.fallback_ms
    internal = False
    for raw in portion.messages:
        if raw.at_ms is None:
            problems.add("bad-time", f"{portion.ref.store}/{portion.ref.name}: {raw.entry_id}")
        else:
            at_ms = raw.at_ms
        if at_ms < window.since_ms:
            message: Message | None = _message(portion, known, raw, at_ms, raw.text, None)
            status: Status = "skipped"
        elif raw.role == "user":
            spoken = _spoken(raw)
            internal = spoken.kind == "memory-flush"
            human = spoken.kind == "human" and spoken.text.strip() != ""
            message = _message(portion, known, raw, at_ms, spoken.text, spoken) if human else None
            status = "queued"
        else:
            # The answer to the host's own memory flush reaches nobody.
            text = None if internal else unwrap_assistant(raw.text)
            message = _message(portion, known, raw, at_ms, text, None) if text and text.strip() else None
            status = "queued"
        if message is not None:
            said.append(Taken(message, content_digest(raw.entry_id, at_ms, raw.text), status))
    return said


def _message(
    portion: Portion, known: KnownSession, raw: RawMessage, at_ms: int, text: str, spoken: Spoken | None
) -> Message:
    return Message(
        source=portion.ref.source,
        session_id=portion.ref.session_id,
        session_key=known.key,
        entry_id=raw.entry_id,
        role="user" if raw.role == "user" else "assistant",
        text=text,
        at=time_of(at_ms),
        speaker=spoken.speaker if spoken else None,
        channel=(spoken.channel if spoken else None) or known.channel,
        is_owner=spoken.is_owner if spoken else raw.role == "user",
    )
