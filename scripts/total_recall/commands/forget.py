"""forget: memories, the messages they were made from, and every copy that we keep of their words.

Show what would go, ask, write it down, take it out. What stays are hashes, so that it is not observed again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import datetime, tzinfo

from total_recall import clock
from total_recall.commands import forget_work, places
from total_recall.commands.capturing import Wanted, capture, capture_alone
from total_recall.commands.forget_plan import Plan, plan, require_something
from total_recall.commands.forget_plan import Wish as Wish
from total_recall.commands.known import Known
from total_recall.commands.logging_events import ingest_place
from total_recall.commands.observing import counted
from total_recall.commands.places import Configuration, Place
from total_recall.errors import TotalRecallError
from total_recall.memory.commit import finish_pending
from total_recall.memory.context import harmless
from total_recall.memory.store import MemoryStore
from total_recall.records import Message
from total_recall.sessions.source import Problems
from total_recall.sidecar.database import NAME as EVENTS
from total_recall.state import RunRecord, State, Step, no_step, sole

WAIT_SECONDS = 120.0
"""How long an observer or a reflection that is at work is waited for."""
SHOWN = 20
"""Of what would go so many of a kind are shown; `--json` has all."""
SHOWN_CHARACTERS = 160
PROBE_CHARACTERS = 16
MOST_PROBES = 200
HOSTS = "OpenClaw keeps its own transcripts, which are not ours to change; what must go there too is deleted there."

Ask = Callable[[Sequence[str]], bool | None]
"""Shows a plan and asks; None where nobody can be asked."""


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line asked for. `yes` does not ask."""

    wish: Wish = field(default_factory=Wish)
    yes: bool = False
    dry_run: bool = False
    agent: str | None = None


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What was forgotten in one memory, or would be. `left` are files of ours that hold the words all the same."""

    plan: Plan
    notes: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Result:
    """What `forget` did, over all memories. `done` is False after a dry run, or when the answer was no."""

    memories: tuple[Forgotten, ...]
    done: bool
    dry_run: bool
    tz: tzinfo

    def payload(self) -> dict[str, object]:
        """The fields of the JSON answer; with words only before they are forgotten."""
        return {
            "done": self.done,
            "dry_run": self.dry_run,
            "memories": [_fields(found, self.done, self.tz) for found in self.memories],
        }

    def lines(self) -> list[str]:
        """The answer for a person."""
        if self.done:
            return [line for found in self.memories for line in _account(found)] + [HOSTS]
        if not self.dry_run:
            return ["Nothing was forgotten."]
        return _shown([found.plan for found in self.memories], self.tz)


def run(options: Options, ask: Ask | None = None, config: Configuration | None = None) -> Result:
    """Forget in every memory that has something of it.

    Raises TotalRecallError when nothing has it, when it is ambiguous, or when nobody can be asked; AlreadyRunning when
    an observer or reflection is at work for longer than two minutes; MemoryWriteError, StoreError: then the next run of
    `forget` or `observe` does what is left.
    """
    _require_a_wish(options.wish)
    now = clock.now()
    config = config or places.configure()
    found = [place for place in places.find(config, now, options.agent) if place.memory_dir.is_dir()]
    tz = config.settings.tz
    if options.dry_run:
        plans = [_planned_alone(place, config, options, now) for place in found]
        require_something(plans, options.wish)
        return Result(tuple(Forgotten(p) for p in plans if not p.is_empty), done=False, dry_run=True, tz=tz)
    with ExitStack() as held:
        opened = [(place, held.enter_context(_held(place))) for place in found]
        plans = [_planned(place, config, state, options, now) for place, state in opened]
        require_something(plans, options.wish)
        chosen = [(place, state, p) for (place, state), p in zip(opened, plans, strict=True) if not p.is_empty]
        if not options.yes:
            agreed = ask(_shown([p for _, _, p in chosen], tz)) if ask is not None else None
            if agreed is None:
                raise TotalRecallError(
                    "nothing was forgotten: nobody can be asked here; look with --dry-run, then say --yes"
                )
            if not agreed:
                return Result(tuple(Forgotten(p) for _, _, p in chosen), done=False, dry_run=False, tz=tz)
        done = tuple(forget_in(place, state, p, tz) for place, state, p in chosen)
    return Result(done, done=True, dry_run=False, tz=tz)


def _require_a_wish(wish: Wish) -> None:
    by_time = wish.since is not None or wish.until is not None
    if wish.what and (wish.session is not None or by_time):
        raise TotalRecallError("name memories or words, or a session and a time, not both")
    if not (any(what.strip() for what in wish.what) or wish.session or by_time):
        raise TotalRecallError('nothing to forget is named: forget ID, forget "words", forget --session ID')


@contextmanager
def _held(place: Place) -> Iterator[State]:
    """The state of a memory, with nobody else observing or reflecting there."""
    with (
        sole("observer", place.own_dir, WAIT_SECONDS),
        sole("reflector", place.own_dir, WAIT_SECONDS),
        State.open(place.own_dir) as state,
    ):
        yield state


def _planned(place: Place, config: Configuration, state: State, options: Options, now: datetime) -> Plan:
    """The plan, after what earlier processes left is finished and what was said until now is in the queue.

    The wish itself may have been said in words: "forget that I live in Seoul".
    """
    store = MemoryStore(place.memory_dir)
    forget_work.finish(place, state, store, config.settings.tz)
    problems = Problems()
    capture(place, config, state, now, problems, Wanted())
    finish_pending(state, store)
    if (place.own_dir / EVENTS).exists():
        # So that what the agent did with it until now is known, and goes.
        ingest_place(place, config, now, problems, wait_seconds=WAIT_SECONDS)
    return plan(place, state, options.wish, now, config.settings.tz)


def _planned_alone(place: Place, config: Configuration, options: Options, now: datetime) -> Plan:
    """The same, without a trace."""
    with State.open_copy(place.own_dir) as state:
        capture_alone(place, config, state, now, Problems(), Wanted())
        return plan(place, state, options.wish, now, config.settings.tz)


def forget_in(place: Place, state: State, what: Plan, tz: tzinfo, step: Step = no_step) -> Forgotten:
    """Forget in one memory; `step` is told each step. Hold the observer's and the reflector's lock."""
    notes = forget_work.carry_out(place, state, MemoryStore(place.memory_dir, step), what, tz, step)
    done = Forgotten(what, notes, tuple(_left(place, what)))
    said = _sentence(what)
    state.record_run(RunRecord("forget", what.at, clock.now(), "done", len(what.messages), len(what.ids), said))
    forget_work.log_forgotten(place, clock.now(), said)
    return done


def _left(place: Place, what: Plan) -> list[str]:
    """Files of ours in which the words of a memory stand all the same, kept backups and the user's own text aside."""
    probes = [text for text in what.texts if len(text) >= PROBE_CHARACTERS][:MOST_PROBES]
    known = {mention.rpartition(" line ")[0] for mention in what.mentions}
    kept = ("observation-backups/", ".dream-backups/") if what.keep_backups else ()
    return [
        path
        for path in forget_work.left_in(place, probes)
        if path not in known and not any(f"/{folder}" in path for folder in kept)
    ]


# --- how it is told


def _sentence(what: Plan) -> str:
    live = len({item.key for item in what.gone if item.is_live})
    archived = len({item.key for item in what.gone if not item.is_live})
    counts = (
        (live, "line of the memory", "lines of the memory"),
        (archived, "archived item", "archived items"),
        (len(what.messages), "message", "messages"),
    )
    words = [counted(*count) for count in counts if count[0]] or ["nothing that had words"]
    return f"Forgotten: {', '.join(words)}"


def _account(done: Forgotten) -> Iterator[str]:
    """What was done, without the words."""
    what = done.plan
    rest = "" if done.left or what.keep_backups else " Not a word is kept, and it is not observed again."
    yield f"{_sentence(what)}; in {what.memory_dir}.{rest}"
    yield from (f"  {line}" for line in _consequences(what))
    yield from (f"  {note}" for note in done.notes)
    yield from (f"  the words still stand in {path}: remove them there by hand" for path in done.left)


def _consequences(what: Plan) -> Iterator[str]:
    if what.ungrounded:
        names = ", ".join(item.key for item in what.ungrounded[:SHOWN])
        yield f"stay, but the messages that they were made from go: {names}"
    if what.back:
        yield f"back in the memory, since what they were merged into goes: {', '.join(key for _, key in what.back)}"
    if what.keep_backups:
        yield "the backups keep the words (--keep-backups)"
    yield from (f"your own file says it too, and is left alone: {place}" for place in what.mentions[:SHOWN])
    if len(what.mentions) > SHOWN:
        yield f"and {len(what.mentions) - SHOWN} more such lines; --json has all"


def _shown(plans: Sequence[Plan], tz: tzinfo) -> list[str]:
    lines = []
    for what in plans:
        lines.append(f"To be forgotten in {what.memory_dir}:")
        lines += [f"  {line}" for line in _cut([_memory_line(item) for item in what.gone])]
        lines += [f"  {line}" for line in _cut([_message_line(message, tz) for message in what.messages])]
        seen = len(what.rows) - len(what.messages)
        lines += [f"  {counted(seen, 'message')} of which only the fact is kept"] if seen else []
        lines += [f"  {line}" for line in _consequences(what)]
    return [*lines, HOSTS]


def _cut(lines: Sequence[str]) -> list[str]:
    shown = list(dict.fromkeys(lines))
    more = [f"… and {len(shown) - SHOWN} more"] if len(shown) > SHOWN else []
    return [*shown[:SHOWN], *more]


def _memory_line(item: Known) -> str:
    day = item.entry.heading or item.entry.recorded if item.entry is not None else None
    return f"{item.name or item.key}  {day or 'undated'}  {_shortened(item.text)}  ({item.file})"


def _message_line(message: Message, tz: tzinfo) -> str:
    by = message.speaker or message.role
    return f"said {message.at.astimezone(tz):%Y-%m-%d %H:%M}  {by}: {_shortened(message.text)}"


def _shortened(text: str) -> str:
    line = harmless(text)
    return line if len(line) <= SHOWN_CHARACTERS else f"{line[:SHOWN_CHARACTERS]}…"


def _fields(found: Forgotten, done: bool, tz: tzinfo) -> dict[str, object]:
    what = found.plan
    items: dict[str, dict[str, object]] = {}
    for item in what.gone:
        fields = items.setdefault(item.key, {"id": item.key, "stood_in": []})
        if not done:
            fields["text"] = item.text
        stood = fields["stood_in"]
        assert isinstance(stood, list)
        stood.append(item.name or item.file)
    messages: list[dict[str, object]] = []
    for message in what.messages:
        named: dict[str, object] = {"session": message.session_id, "entry": message.entry_id}
        told = {"at": message.at.astimezone(tz).isoformat(), "by": message.speaker or message.role}
        messages.append(named if done else {**named, **told, "text": message.text})
    return {
        "memory_dir": str(what.memory_dir),
        "memories": list(items.values()),
        "messages": messages,
        "messages_only_known": len(what.rows) - len(what.messages),
        "sessions": list(what.sessions),
        "without_grounds": [item.key for item in what.ungrounded],
        "back": [key for _, key in what.back],
        "kept_backups": what.keep_backups,
        "mentions": list(what.mentions),
        "left": list(found.left),
        "notes": list(found.notes),
    }
