"""recall: the memories that answer a question, live, archived or as they were said; or what was going on last."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import partial
from pathlib import Path

from total_recall import clock
from total_recall.commands import places
from total_recall.commands.places import Configuration
from total_recall.commands.remembering import bring_transcripts_up_to_date, bring_up_to_date
from total_recall.errors import TotalRecallError
from total_recall.memory.context import harmless
from total_recall.recall import index as indexes
from total_recall.recall.candidates import Wanted
from total_recall.recall.index import RecallIndex
from total_recall.recall.memories import Filed, Memory, Origin
from total_recall.recall.querying import parse_query
from total_recall.recall.scoring import DEFAULT, Used
from total_recall.recall.searching import Hit, Meaning, search
from total_recall.records import Message, ObservationType
from total_recall.state import State

COUNT = 10
RECENT_LINES = 5
"""How many goals, decisions and so on `--recent` shows."""
RECENT_MESSAGES = 6
SHOWN_CHARACTERS = 300
"""A longer message of a transcript is shown shortened."""
SECONDS_A_DAY = 86_400


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line asked for. `sessions` looks through transcripts too; without `touch` nothing is noted."""

    query: str = ""
    count: int = COUNT
    kind: ObservationType | None = None
    since: datetime | None = None
    until: datetime | None = None
    archived: bool = True
    sessions: bool = False
    why: bool = False
    touch: bool = True
    recent: bool = False
    agent: str | None = None


@dataclass(frozen=True, slots=True)
class Recent:
    """What was going on: goals and coming dates, decisions, the last messages; the newest decision and goal first."""

    open: tuple[Memory, ...] = ()
    decisions: tuple[Memory, ...] = ()
    said: tuple[Message, ...] = ()


@dataclass(frozen=True, slots=True)
class Result:
    """What was found in one memory, the best first. `today` is the user's day."""

    memory_dir: Path
    today: date
    hits: tuple[Hit, ...] = ()
    recent: Recent | None = None
    why: bool = False
    notes: tuple[str, ...] = ()

    def payload(self) -> dict[str, object]:
        """The fields of the JSON answer."""
        fields: dict[str, object] = {"memory_dir": str(self.memory_dir)}
        if self.recent is None:
            return {**fields, "hits": [_hit_fields(hit) for hit in self.hits], "notes": list(self.notes)}
        return {
            **fields,
            "open": [_memory_fields(memory) for memory in self.recent.open],
            "decisions": [_memory_fields(memory) for memory in self.recent.decisions],
            "said": [
                {"at": m.at.isoformat(), "by": _by(m), "text": harmless(m.text), "session": m.session_id}
                for m in self.recent.said
            ],
        }

    def lines(self) -> list[str]:
        """The answer for a person."""
        if self.recent is not None:
            return _recent_lines(self.recent, self.today)
        found = [line for hit in self.hits for line in _hit_lines(hit, self.today, self.why)]
        return [*(found or ["Nothing was found."]), *(f"note: {note}" for note in self.notes)]


def run(options: Options, config: Configuration | None = None) -> Result:
    """Bring the index up to date, ask it, and note what was recalled.

    Raises TotalRecallError without a question, StoreError and MemoryWriteError when something cannot be read or kept.
    """
    if not options.query.strip() and not options.recent:
        raise TotalRecallError('there is nothing to look for; ask recall "words", or recall --recent')
    now = clock.now()
    config = config or places.configure()
    place = places.find(config, now, options.agent)[0]
    tz = config.settings.tz
    here = now.astimezone(tz)
    if not place.memory_dir.is_dir():
        return Result(place.memory_dir, here.date(), recent=Recent() if options.recent else None, why=options.why)
    with State.open(place.own_dir) as state:

        def ask(index: RecallIndex) -> Result:
            bring_up_to_date(index, place, state, tz)
            if options.recent:
                recent = _recent(index, state, here)
                return Result(place.memory_dir, here.date(), recent=recent)
            if options.sessions:
                bring_transcripts_up_to_date(index, state, tz)
            notes: list[str] = []
            hits = search(
                index,
                parse_query(options.query, here.date()),
                _wanted(options, here),
                now=here,
                uses=partial(_uses, state, now),
                meaning=_meaning(config, state, now, index, notes),
            )
            return Result(place.memory_dir, here.date(), tuple(hits), why=options.why, notes=tuple(notes))

        result = indexes.using(place.own_dir, ask)
        if options.touch and (used := list(_used(result.hits))):
            state.record_access(used, now)
    return result


def _meaning(
    config: Configuration, state: State, now: datetime, index: RecallIndex, notes: list[str]
) -> Meaning | None:
    """What finds by meaning, where a model is set for it. It tells `notes` what a person should know."""
    if config.settings.embedding_model is None:
        return None
    # HTTP and all that comes with it take longer to import than a question takes.
    from total_recall.commands import meaning

    return meaning.Meanings(config.settings, state, now, notes).of(index)


def _wanted(options: Options, here: datetime) -> Wanted:
    origins: list[Origin] = ["live"]
    if options.archived:
        origins.append("archived")
    if options.sessions:
        origins.append("transcript")
    since, until = (at.astimezone(here.tzinfo).date() if at else None for at in (options.since, options.until))
    return Wanted(options.count, tuple(origins), options.kind, since, until)


def _uses(state: State, now: datetime, keys: Sequence[str]) -> Mapping[str, Used]:
    return {
        key: Used(access.count, (now - access.last).total_seconds() / SECONDS_A_DAY)
        for key, access in state.accesses(keys).items()
    }


def _used(hits: Sequence[Hit]) -> Iterator[str]:
    """The observations that answer the question, rather than come to mind with those that do, or are listed last."""
    least = DEFAULT.used_from * max((hit.score for hit in hits), default=0.0)
    answering = (hit for hit in hits if hit.score >= least and hit.links < 1.0)
    return (hit.filed.memory.key for hit in answering if hit.filed.origin != "transcript")


# --- what was going on -----------------------------------------------------------------------------------------


def _recent(index: RecallIndex, state: State, here: datetime) -> Recent:
    current = [filed.memory for filed in index.all("live") if filed.memory.superseded_by is None]
    current.reverse()
    today = here.date()
    coming = sorted(
        (m for m in current if m.refers is not None and m.refers >= today), key=lambda m: m.refers or date.max
    )
    goals = [m for m in current if m.kind == "goal" and (m.refers is None or m.refers >= today) and m not in coming]
    return Recent(
        open=(*coming[:RECENT_LINES], *goals[:RECENT_LINES]),
        decisions=tuple(m for m in current if m.kind in ("preference", "rule"))[:RECENT_LINES],
        said=tuple(queued.message for queued in state.last_said(RECENT_MESSAGES)),
    )


def _recent_lines(recent: Recent, today: date) -> list[str]:
    sections = (
        ("Goals and what is coming up", [f"{_when(m, today)}  {_shortened(m.text)}" for m in recent.open]),
        ("Last decisions and preferences", [f"{_when(m, today)}  {_shortened(m.text)}" for m in recent.decisions]),
        ("Last said", [f"{_by(m)}: {_shortened(m.text)}" for m in recent.said]),
    )
    lines = [line for head, said in sections if said for line in ("", head, *(f"  {text}" for text in said))]
    return lines[1:] or ["Nothing was noted yet."]


def _when(memory: Memory, today: date) -> str:
    if memory.refers is not None and memory.refers >= today:
        return f"{memory.refers} ({_distance(memory.refers, today)})"
    return f"{memory.at.date()}" if memory.at else "undated"


# --- what was found --------------------------------------------------------------------------------------------


def _hit_fields(hit: Hit) -> dict[str, object]:
    return {
        "score": round(hit.score, 4),
        "similarity": round(hit.similarity, 4),
        "decay": round(hit.decay, 4),
        "boost": round(hit.boost, 4),
        "links": round(hit.links, 4),
        "age_days": round(hit.age_days, 2),
        "origin": hit.filed.origin,
        "source": hit.filed.source,
        "form": hit.filed.memory.form,
        "item": hit.filed.memory.item,
        **_memory_fields(hit.filed.memory),
    }


def _memory_fields(memory: Memory) -> dict[str, object]:
    return {
        "id": memory.key,
        "text": harmless(memory.text),
        "at": memory.at.isoformat() if memory.at else None,
        "type": memory.kind,
        "importance": memory.importance,
        "refers": memory.refers.isoformat() if memory.refers else None,
        "superseded_by": memory.superseded_by,
        "speaker": memory.speaker and harmless(memory.speaker),
    }


def _hit_lines(hit: Hit, today: date, why: bool) -> Iterator[str]:
    memory = hit.filed.memory
    day = memory.at.date() if memory.at else None
    speaker = f"{harmless(memory.speaker)}: " if memory.speaker else ""
    label = f"[superseded by {memory.superseded_by}] " if memory.superseded_by else ""
    age = f", {_distance(day, today)}" if day else ""
    when = day.isoformat() if day else "undated"
    yield f"{hit.score:.2f}  {when:<10}  {label}{speaker}{_shortened(memory.text)}  ({_SOURCES[hit.filed.origin]}{age})"
    if why:
        by_links = f" ({hit.links:.0%} of it by association)" if hit.links >= 0.005 else ""
        named = f"; {_named(hit.filed)}"
        yield f"      similarity {hit.similarity:.2f}{by_links} × decay {hit.decay:.2f} × boost {hit.boost:.2f}{named}"


_SOURCES: Mapping[Origin, str] = {"live": "memory", "archived": "archive", "transcript": "transcript"}


def _named(filed: Filed) -> str:
    if filed.origin == "transcript":
        return filed.memory.group.removeprefix("said in ")
    memory = filed.memory
    item = f" ({memory.item})" if memory.item and memory.item != memory.key else ""
    return f"{memory.kind or 'untyped'} {memory.key}{item} in {filed.source}"


def _distance(day: date, today: date) -> str:
    days = abs((today - day) // timedelta(days=1))
    if days == 0:
        return "today"
    counted = "1 day" if days == 1 else f"{days} days"
    return f"{counted} ago" if day < today else f"in {counted}"


def _by(message: Message) -> str:
    return harmless(message.speaker) if message.speaker else message.role


def _shortened(text: str) -> str:
    line = harmless(text)
    return line if len(line) <= SHOWN_CHARACTERS else line[: SHOWN_CHARACTERS - 1] + "…"
