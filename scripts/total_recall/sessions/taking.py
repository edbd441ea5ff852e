"""From portions to the queue: which session counts, what in a message was said, and is it new."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from total_recall.records import Message, SessionClass
from total_recall.sessions.entries import CONTENT_ID, RawMessage, time_of
from total_recall.sessions.selection import channel_of, eligible, session_class
from total_recall.sessions.source import Portion, Problems, SessionSource
from total_recall.sessions.unwrap import Spoken, unwrap_assistant, unwrap_user
from total_recall.state import KnownSession, Seen, State, TakeCount, Taken, content_digest


def _nothing(_message: Message) -> bool:
    return False


def _as_it_is(text: str) -> str:
    return text


@dataclass(frozen=True, slots=True)
class Window:
    """Which messages a run wants, and in what form.

    `since_ms` is set for a first run: what is older is marked as seen. `promote_since_ms` reads every store from its
    start and takes what an earlier run marked as seen, from that time on. `session_id` narrows to one session. What
    `keeps_out` names is not taken, a question with its answer; `redact` takes secrets out of what is.
    """

    include: frozenset[SessionClass]
    main_key: str
    since_ms: int = 0
    promote_since_ms: int | None = None
    session_id: str | None = None
    keeps_out: Callable[[Message], bool] = _nothing
    redact: Callable[[str], str] = _as_it_is


@dataclass(slots=True)
class Taking:
    """What one run took. `kept_out` are messages that nobody is to remember."""

    kept_out: int = 0
    count: TakeCount = field(default_factory=TakeCount)
    sessions: set[str] = field(default_factory=set)


def take_new(sources: Iterable[SessionSource], state: State, window: Window, problems: Problems) -> Taking:
    """Read what is new in every source into the queue of `state`, a second or so of reading in one transaction."""
    taking = Taking()
    with state.gathering():
        for source in sources:
            _take(source, state, window, problems, taking)
    return taking


def _take(source: SessionSource, state: State, window: Window, problems: Problems, taking: Taking) -> None:
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
        if portion.ref.session_id not in opening and not portion.appended:
            # Read from its start: what was read last of it before says nothing about what comes first.
            known = replace(known, muted=False)
        opening[portion.ref.session_id] = known
        if window.session_id not in (None, portion.ref.session_id):
            # A run for one session leaves the others, and their cursors, as they are.
            continue
        taken: list[Taken | Seen] = []
        if eligible(known.session_class, window.include):
            taken, known = _said(portion, known, window, problems, taking)
            opening[portion.ref.session_id] = known
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
        muted = before is not None and before.muted
        return KnownSession(ref.session_id, kind, ref.key, ref.channel or channel_of(ref.key), muted)
    if not portion.messages:
        return None
    first = next((m for m in portion.messages if m.role == "user"), None)
    kind = session_class(None, first_user_kind=_spoken(first).kind if first else None, main_key=window.main_key)
    return KnownSession(ref.session_id, kind, None, None)


def _spoken(raw: RawMessage) -> Spoken:
    return unwrap_user(raw.text, provenance=raw.provenance, owner=raw.owner)


def _said(
    portion: Portion, known: KnownSession, window: Window, problems: Problems, taking: Taking
) -> tuple[list[Taken | Seen], KnownSession]:
    """The messages of a portion that a person or the assistant said, those that are too old as seen.

    Also the session, with whether what comes next in it answers something that is kept out.
    """
    said: list[Taken | Seen] = []
    ref = portion.ref
    at_ms = portion.fallback_ms
    muted = known.muted
    for raw in portion.messages:
        if raw.at_ms is None:
            problems.add("bad-time", f"{ref.store}/{ref.name}: {raw.entry_id}")
        else:
            at_ms = raw.at_ms
        spoken: Spoken | None = None
        if at_ms < window.since_ms:
            said.append(Seen(ref.session_id, raw.entry_id, _digest(ref.session_id, raw), at_ms, raw.role, ref.source))
            continue
        if raw.role == "user":
            spoken = _spoken(raw)
            # The answer to the host's own memory flush reaches nobody.
            muted = spoken.kind == "memory-flush"
            text = spoken.text if spoken.kind == "human" else None
        else:
            text = None if muted else unwrap_assistant(raw.text)
        if text is None or not text.strip():
            continue
        message = _message(portion, known, raw, at_ms, text, spoken)
        if window.keeps_out(message):
            taking.kept_out += 1
            muted = muted or raw.role == "user"
            continue
        said.append(Taken(replace(message, text=window.redact(text)), _digest(ref.session_id, raw)))
    return said, replace(known, muted=muted)


def _digest(session_id: str, raw: RawMessage) -> int:
    """What a copy of the message in another session is known by. Words without id and time are copies of nothing."""
    named = raw.at_ms is not None or not raw.entry_id.startswith(CONTENT_ID)
    return content_digest(raw.entry_id if named else f"{session_id}/{raw.entry_id}", raw.at_ms, raw.text)


def _message(
    portion: Portion, known: KnownSession, raw: RawMessage, at_ms: int, text: str, spoken: Spoken | None
) -> Message:
    # In a group anybody may have spoken: only the host's word makes it the owner.
    among_others = known.session_class == "group" and raw.owner is not True
    return Message(
        source=portion.ref.source,
        session_id=portion.ref.session_id,
        session_key=known.key,
        entry_id=raw.entry_id,
        role=raw.role,
        text=text,
        at=time_of(at_ms),
        speaker=spoken.speaker if spoken else None,
        channel=(spoken.channel if spoken else None) or known.channel,
        is_owner=spoken is not None and spoken.is_owner and not among_others,
    )
