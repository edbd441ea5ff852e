"""What a wish to forget comes to: which memories, which messages, what else holds the words. Changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from functools import partial
from pathlib import Path
from typing import Final

from total_recall.commands import known as memories
from total_recall.commands import log_summary
from total_recall.commands.known import Known
from total_recall.commands.places import Place
from total_recall.errors import TotalRecallError
from total_recall.memory import forgetting
from total_recall.memory.document import parse
from total_recall.memory.raw import is_raw, raw_id
from total_recall.memory.traces import NOTED, RUN, SHORTEST, Query, Words, closed, merged_into, normal, speaks_of
from total_recall.records import Message
from total_recall.state import Queued, State

PAGE: Final = 1_000
LARGEST_FILE: Final = 5_000_000
"""Bytes; larger Markdown files of the user are not looked through."""
COMPARED: Final = 200
"""With more memories than this to forget, messages of other conversations are not compared with them."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What somebody wants forgotten: names and words, or whole sessions by id or key, or a time, or both of these."""

    what: tuple[str, ...] = ()
    session: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    keep_backups: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """What is going to be forgotten in one memory.

    `gone` are memories, live and archived, `messages` those whose words are still kept, `rows` all messages, also those
    only marked as seen. `ungrounded` stay although messages that they were made from go; `back` are archived lines,
    (name, key), that stand again, since what they were merged into goes. `mentions` are places in files of the user.
    """

    memory_dir: Path
    at: datetime
    gone: tuple[Known, ...] = ()
    rows: tuple[int, ...] = ()
    messages: tuple[Message, ...] = ()
    sessions: tuple[str, ...] = ()
    ungrounded: tuple[Known, ...] = ()
    back: tuple[tuple[str, str], ...] = ()
    mentions: tuple[str, ...] = ()
    keep_backups: bool = False

    @property
    def is_empty(self) -> bool:
        return not (self.gone or self.rows)

    @property
    def ids(self) -> frozenset[str]:
        """The ids of the observations, and those under which words of the messages may stand as they were said."""
        named = {item.entry.id for item in self.gone if item.entry is not None and item.entry.id is not None}
        return frozenset(named | {raw_id(m.session_id, m.entry_id) for m in self.messages})

    @property
    def texts(self) -> tuple[str, ...]:
        """The words of the observations, each once."""
        return tuple(dict.fromkeys(item.text for item in self.gone if item.entry is not None))


def plan(place: Place, state: State, wish: Wish, now: datetime, tz: tzinfo) -> Plan:
    """What to forget in one memory; an empty plan where there is nothing of it.

    Raises TotalRecallError where a wish is ambiguous, StoreError where something cannot be read.
    """
    known = memories.all_of(place.memory_dir)
    seeds, rows, sessions = _seeds(known, state, wish, tz)
    gone = _with_their_like(known, seeds)
    ids = [item.entry.id for item in gone if item.entry is not None and item.entry.id is not None]
    grounds = {ground.row for found in state.grounds_of(ids).values() for ground in found}
    rows |= grounds | _as_said(state, ids)
    texts = tuple(dict.fromkeys(item.text for item in gone if item.entry is not None))
    rows |= set(_that_say_it_too(state, texts, rows, grounds, everywhere=wish.session is None and wish.since is None))
    made = state.made_from(sorted(rows))
    gone = _with_retellings(known, gone, {name for name, of in made.items() if rows.issuperset(of)}, texts)
    staying = [item for item in known if item.key in made and item not in gone]
    kept = state.kept(sorted(rows))
    done = Plan(
        memory_dir=place.memory_dir,
        at=now,
        gone=gone,
        rows=tuple(sorted(rows)),
        messages=tuple(queued.message for queued in kept),
        sessions=sessions,
        ungrounded=tuple({item.key: item for item in staying}.values()),
        back=tuple(_that_stand_again(known, gone)),
        keep_backups=wish.keep_backups,
    )
    return replace(done, mentions=tuple(_mentions(place, done)))


# --- what is asked for


def _seeds(
    known: Sequence[Known], state: State, wish: Wish, tz: tzinfo
) -> tuple[tuple[Known, ...], set[int], tuple[str, ...]]:
    """(memories, messages by row, whole sessions by id) that the wish names."""
    if wish.what:
        found: list[Known] = []
        rows: set[int] = set()
        for what in wish.what:
            items, more = _named_or_said(known, state, what)
            found += items
            rows |= more
        return tuple(dict.fromkeys(found)), rows, ()
    rows = set(_rows_of_time(state, wish)) if wish.since or wish.until else set()
    sessions: tuple[str, ...] = ()
    if wish.session is not None:
        sessions = tuple(session.session_id for session in state.sessions_named(wish.session))
        theirs = {row for session in sessions for row in state.rows_of_session(session)}
        is_whole = not (wish.since or wish.until)
        rows = theirs if is_whole else theirs & rows
        sessions = sessions if is_whole else ()
    made = {name for name, of in state.made_from(sorted(rows)).items() if rows.issuperset(of)}
    return tuple(item for item in known if item.key in made or _is_of_that_time(item, wish, state, tz)), rows, sessions


def _named_or_said(known: Sequence[Known], state: State, what: str) -> tuple[tuple[Known, ...], set[int]]:
    """The memory that is called so; else all memories and messages that have these words."""
    exact = memories.named(known, what) if memories.could_be_a_name(what) else ()
    if exact:
        return exact, set()
    query = Query(what)
    said = tuple(item for item in known if query.matches(item.raw) and query.matches(item.text))
    rows = {queued.row for queued in _all_said(state) if query.matches(queued.message.text)}
    starts = memories.beginning(known, what) if memories.could_be_a_name(what) and not (said or rows) else ()
    return said or starts, rows


def _rows_of_time(state: State, wish: Wish) -> list[int]:
    since_ms = 0 if wish.since is None else round(wish.since.timestamp() * 1000)
    until_ms = 2**62 if wish.until is None else round(wish.until.timestamp() * 1000)
    return state.rows_between(since_ms, until_ms)


def _is_of_that_time(item: Known, wish: Wish, state: State, tz: tzinfo) -> bool:
    """Whether a line that nobody knows the origin of was written in the time that is to be forgotten."""
    if wish.session is not None or item.entry is None or not (wish.since or wish.until):
        return False
    at = item.entry.at(tz)
    if at is None or (wish.since and at < wish.since) or (wish.until and at >= wish.until):
        return False
    return not state.grounds_of([item.key])


# --- what goes with it


def _with_their_like(known: Sequence[Known], seeds: Sequence[Known]) -> tuple[Known, ...]:
    """The memories, what they were merged from and into, what hangs under them, and whatever has all their words.

    And the findings that were made of them.
    """
    reasons = [(item.key, item.section.reason) for item in known if item.section is not None]
    keys = set(closed({item.key for item in seeds}, reasons))
    keys |= {item.key for item in _nested(known, keys)}
    keys |= {item.key for item in _that_say_all_of_it(known, keys)}
    names = {item.name for item in known if item.name is not None and item.key in keys}
    made = {item.key for item in known if item.is_finding and _sums_up(item, names, keys)}
    return tuple(item for item in known if item.key in keys | made)


def _sums_up(finding: Known, names: Collection[str], keys: Collection[str]) -> bool:
    """Whether a finding was made of one of these: it quotes its lines, or, in the bash original, names them."""
    if finding.name in names:
        return True
    section = finding.section
    return section is not None and not section.sources() and bool(section.references() & {*names, *keys})


def _with_retellings(
    known: Sequence[Known], gone: tuple[Known, ...], groundless: Collection[str], texts: Sequence[str]
) -> tuple[Known, ...]:
    """And the memories that tell the same in other words, from nothing but messages that go."""
    keys = {item.key for item in gone}
    told = {item.key for item in known if item.key in groundless and speaks_of(item.text, texts)}
    return tuple(item for item in known if item.key in keys | told) if told - keys else gone


def _that_say_all_of_it(known: Sequence[Known], keys: Collection[str]) -> Iterator[Known]:
    """The memories that have all the words of one that goes, in their order, and perhaps more."""
    texts = {normal(item.text) for item in known if item.key in keys and not item.is_finding}
    telling = [f" {text} " for text in texts if len(text) >= SHORTEST and " " in text] if len(texts) <= COMPARED else []
    words_of_all = Words(texts)
    for item in known:
        if not words_of_all.may_stand_in(item.raw) or item.entry is None or is_raw(item.entry.id):
            continue
        words = normal(item.text)
        if words in texts or any(text in f" {words} " for text in telling):
            yield item


def _nested(known: Sequence[Known], keys: Collection[str]) -> Iterator[Known]:
    """The lines of the memory that hang under one that goes: details of it."""
    level: int | None = None
    for item in known:
        if not item.is_live or item.entry is None:
            continue
        if level is not None and item.entry.level > level:
            yield item
        else:
            level = item.entry.level if item.key in keys else None


def _as_said(state: State, ids: Collection[str]) -> set[int]:
    """The messages whose words stand in the memory as they were said, under one of these ids."""
    wanted = {name for name in ids if is_raw(name)}
    if not wanted:
        return set()
    return {q.row for q in state.queue() if raw_id(q.message.session_id, q.message.entry_id) in wanted}


def _that_say_it_too(
    state: State, texts: Sequence[str], rows: Collection[int], grounds: Collection[int], *, everywhere: bool
) -> Iterator[int]:
    """Messages that say one of these things too.

    Of the same conversations and of what waits to be observed those that have all its content words; elsewhere those
    that have the very words, or quote a message that it was made from.
    """
    if not texts:
        return
    sessions = {queued.message.session_id for queued in state.kept(sorted(grounds))}
    waiting = set(state.waiting())
    whole = [f" {normal(text)} " for text in texts if len(normal(text)) >= RUN]
    whole += [f" {normal(q.message.text)} " for q in state.kept(sorted(grounds)) if _is_long(q.message.text)]
    quick = Words(whole)
    look_everywhere = everywhere and len(texts) <= COMPARED
    for queued in _all_said(state):
        message = queued.message
        near = message.session_id in sessions or queued.row in waiting
        if queued.row in rows:
            continue
        if near and speaks_of(message.text, texts):
            yield queued.row
        elif look_everywhere and whole:
            words = f" {normal(message.text)} " if quick.may_stand_in(message.text) else ""
            if any(text in words for text in whole):
                yield queued.row


def _is_long(text: str) -> bool:
    return len(normal(text)) >= RUN


def _all_said(state: State) -> Iterator[Queued]:
    row = 0
    while page := state.said(row, PAGE):
        yield from page
        row = page[-1].row


def _that_stand_again(known: Sequence[Known], gone: Collection[Known]) -> Iterator[tuple[str, str]]:
    """The archived lines, (name, key), that stay and were merged into a line of the memory that goes."""
    live = {item.key for item in gone if item.is_live}
    keys = {item.key for item in gone}
    for item in known:
        if item.section is None or item.name is None or item.is_back or item.key in keys:
            continue
        if merged_into(item.section.reason) in live:
            yield item.name, item.key


# --- what is not ours to change


def _mentions(place: Place, done: Plan) -> Iterator[str]:
    """`MEMORY.md line 3`: lines of the user's own files, and of their own text in the memory, that speak of it."""
    words = Words(done.texts)
    speaks: Callable[[str], bool] = partial(speaks_of, memories=done.texts, share=NOTED)
    ours = {"archive", "dream-logs", "dream-staging", "observation-backups"}
    files = [*sorted(place.workspace.glob("*.md")), *sorted(place.memory_dir.rglob("*.md"))]
    for path in dict.fromkeys(files):
        inside = path.relative_to(place.memory_dir).parts if path.is_relative_to(place.memory_dir) else ()
        if inside and (inside[0] in ours or inside[0].startswith(".")):
            continue
        if not path.is_file() or path.stat().st_size > LARGEST_FILE:
            continue
        own: frozenset[int] = frozenset()
        text = memories.read(path)
        if len(inside) == 1:
            text = without_our_summary(text)
        if inside == ("observations.md",):
            own = forgetting.our_lines(parse(text.encode("utf-8", "surrogateescape")))
        for line in forgetting.mentions(text, words, speaks, own):
            yield f"{path} line {line}"


def without_our_summary(text: str) -> str:
    """A day's file without the paragraph about it that is ours: that one goes."""
    content = text.encode("utf-8", "surrogateescape")
    bare = log_summary.without_paragraph(content, lambda _line: True, keep_lines=True)
    return bare.decode("utf-8", "surrogateescape")


def require_something(plans: Sequence[Plan], wish: Wish) -> None:
    """Raises TotalRecallError, with what to do, when no memory has anything of what is to be forgotten."""
    if any(not found.is_empty for found in plans):
        return
    if wish.session is not None:
        raise TotalRecallError(
            f"nothing is known of a session {wish.session!r}; name it by its id or its key, as `why ID` shows them"
        )
    if wish.what:
        what = " ".join(wish.what)
        raise TotalRecallError(
            f"nothing has the words or the name {what!r}; `recall {what!r} --why` shows what comes near, with the ids"
        )
    raise TotalRecallError("nothing was said or noted in that time")
