"""undo: the memory as it was before the newest reflection, or before a night, with what came and was written since."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from pathlib import Path
from typing import Final, Literal

from total_recall import clock, logs
from total_recall.commands import context, places
from total_recall.commands.dream_commit import BACKUPS
from total_recall.commands.places import Configuration, Place
from total_recall.errors import MemoryWriteError, TotalRecallError
from total_recall.memory import last_dream, last_reflection
from total_recall.memory.archive import Archive
from total_recall.memory.chunks import Chunks
from total_recall.memory.commit import finish_pending
from total_recall.memory.document import parse
from total_recall.memory.forgetting import without_forgotten
from total_recall.memory.last_dream import LastDream
from total_recall.memory.last_reflection import LastReflection
from total_recall.memory.reflection import words_of
from total_recall.memory.store import BACKUPS as KEPT_IN
from total_recall.memory.store import MemoryStore, Replaced
from total_recall.memory.traces import Tombstones
from total_recall.memory.undo import Undone, undone
from total_recall.state import RunRecord, State, Step, no_step, sole

What = Literal["reflect", "dream"]

_NAMES: Final[dict[What, tuple[str, str]]] = {
    "reflect": ("reflection", "reflector.log"),
    "dream": ("night", "dream-cycle.log"),
}
"""What is undone, in words, and the log that tells of it."""
_WHERE: Final[dict[What, str]] = {"reflect": "archive/observations", "dream": "archive/"}


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line asked for. Without a `day` the newest one is undone; only nights are known by their day."""

    agent: str | None = None
    what: What = "reflect"
    day: date | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """What was taken back, in one memory. Without `reflected` (when that was) there was nothing to undo.

    `back` lines returned, `gone` lines that it had made went, `since` lines are newer and stay.
    """

    memory_dir: Path
    reflected: datetime | None = None
    back: int = 0
    gone: int = 0
    since: int = 0
    backup: Path | None = None
    notes: tuple[str, ...] = ()
    what: What = "reflect"

    def payload(self) -> dict[str, object]:
        """The fields of the JSON answer."""
        return {
            "memory_dir": str(self.memory_dir),
            "what": self.what,
            "undone": self.reflected.isoformat() if self.reflected else None,
            "back": self.back,
            "gone": self.gone,
            "since": self.since,
            "backup": str(self.backup) if self.backup else None,
            "notes": list(self.notes),
        }

    def lines(self) -> list[str]:
        """The answer for a person."""
        name = _NAMES[self.what][0]
        if self.reflected is None:
            return [f"Nothing to undo in {self.memory_dir}: no {name} since the last undo."]
        said = (
            f"The {name} of {self.reflected:%Y-%m-%d %H:%M} UTC is undone: {self.back} lines are back, "
            f"{self.gone} that it had made are gone, {self.since} written since stay."
        )
        kept = [f"  the memory before this undo is in {self.backup}"] if self.backup else []
        return [said, *kept, *(f"  {note}" for note in self.notes)]


@dataclass(frozen=True, slots=True)
class _Change:
    """A reflection or a night that can be undone. `remember` notes in the state that it was."""

    what: What
    at: datetime
    folder: str
    backup: str
    before: str
    after: bytes
    archived: tuple[str, ...]
    chunks: tuple[str, ...]
    remember: Callable[[State], None]


def run(options: Options, config: Configuration | None = None) -> Result:
    """Undo the newest reflection, the newest night, or all nights of a day.

    Raises TotalRecallError when several agents' memories have one and none was named, when a reflection or a night is
    at work, and MemoryWriteError when the backup is gone or the memory cannot be written; it is then as it was.
    """
    now = clock.now()
    config = config or places.configure()
    found = places.find(config, now, options.agent)
    candidates = [place for place in found if _can_be_undone(place, options.what, options.day)]
    if len(candidates) > 1:
        name = _NAMES[options.what][0]
        raise TotalRecallError(f"several memories have a {name} to undo; name one with {places.choices(candidates)}")
    if not candidates:
        return Result(found[0].memory_dir, what=options.what)
    return undo_memory(
        candidates[0], now, now.astimezone(config.settings.tz).date(), what=options.what, day=options.day
    )


def _can_be_undone(place: Place, what: What, day: date | None) -> bool:
    """Whether there is something of the kind in this memory. Leaves no trace."""
    with State.open_copy(place.own_dir) as state:
        return bool(_changes(state, what, day))


def _changes(state: State, what: What, day: date | None) -> list[_Change]:
    """What is to be undone, the newest first."""
    if what == "reflect":
        last = last_reflection.load(state)
        return [] if last is None or last.is_undone else [_reflection(last)]
    nights = [night for night in last_dream.nights(state) if not night.is_undone and day in (None, night.day)]
    return [_night(night) for night in reversed(nights if day is not None else nights[-1:])]


def _reflection(last: LastReflection) -> _Change:
    def remember(state: State) -> None:
        last_reflection.save(state, replace(last, is_undone=True))

    return _Change("reflect", last.at, KEPT_IN, last.backup, last.before, last.after, last.archived, (), remember)


def _night(night: LastDream) -> _Change:
    def remember(state: State) -> None:
        last_dream.undone(state, night)

    return _Change(
        "dream", night.at, BACKUPS, night.backup, night.before, night.after, night.archived, night.chunks, remember
    )


def undo_memory(
    place: Place,
    now: datetime,
    today: date,
    step: Step = no_step,
    *,
    what: What = "reflect",
    day: date | None = None,
) -> Result:
    """Undo what was asked for in one memory. `step` is told each step of the commit."""
    log = _NAMES[what][1]
    with sole("reflector", place.own_dir), State.open(place.own_dir, step) as state:
        changes = _changes(state, what, day)
        results = [_undone(place, change, state, now, today, step) for change in changes]
        if not results:
            return Result(place.memory_dir, what=what)
        result = _together(results)
        said = result.lines()[0]
        count = len(parse(MemoryStore(place.memory_dir).read().content).observations)
        state.record_run(RunRecord("undo", now, clock.now(), "done", 0, count, said))
    context.write_ready_made(place.memory_dir, today, characters=place.context_characters)
    logs.append(place.log.with_name(log), clock.now(), f"undo: {said}")
    return result


def _together(results: Sequence[Result]) -> Result:
    """Several nights of a day, told as one: from when the first was, with the backup from before the first undo."""
    return replace(
        results[-1],
        back=sum(result.back for result in results),
        gone=sum(result.gone for result in results),
        since=max(result.since for result in results),
        backup=next((result.backup for result in results if result.backup), None),
        notes=tuple(note for result in results for note in result.notes),
    )


def _undone(place: Place, change: _Change, state: State, now: datetime, today: date, step: Step) -> Result:
    before = _backup_of(place, change)
    forgotten = state.forgotten_texts()
    if forgotten is not None:
        # A backup may have been kept when some of its lines were forgotten.
        before = without_forgotten(before, Tombstones(*forgotten))
    store = MemoryStore(place.memory_dir, step)
    rescued = list(finish_pending(state, store, step).rescued)
    with store.lock() as found:
        merged, backup, late = _replaced(store, now, step, lambda current: undone(before, change.after, current))
        rescued += [*found, *late]
        document = parse(merged.content)
        last_reflection.leave(state, words_of(document), hashlib.sha256(merged.content).hexdigest())
        step("note in archive")
        _note(Archive(place.memory_dir, step), change.archived, today)
        _note(Chunks(place.memory_dir, step), change.chunks, today)
        change.remember(state)
    notes = tuple(f"an edit made at the same moment was kept in {path}; merge it by hand" for path in rescued)
    return Result(place.memory_dir, change.at, merged.back, merged.gone, merged.since, backup, notes, change.what)


def _note(shelf: Archive | Chunks, names: Collection[str], today: date) -> None:
    if names:
        shelf.undone(tuple(names), today)


def _backup_of(place: Place, change: _Change) -> bytes:
    name = _NAMES[change.what][0]
    path = MemoryStore(place.memory_dir, backups=change.folder).backup_dir / (change.backup or "no backup")
    try:
        content = path.read_bytes()
    except OSError as error:
        raise MemoryWriteError(
            f"cannot read {path}: {error.strerror}; without it the {name} of {change.at:%Y-%m-%d %H:%M} UTC "
            f"cannot be undone, but {_WHERE[change.what]} has every line that left the memory"
        ) from error
    if hashlib.sha256(content).hexdigest() != change.before:
        raise MemoryWriteError(f"{path} is not the backup that the {name} made; nothing was changed")
    return content


def _replaced(
    store: MemoryStore, now: datetime, step: Step, merge: Callable[[bytes], Undone]
) -> tuple[Undone, Path | None, list[Path]]:
    """Merge with the document as it is, back that up and replace it, until nobody else wrote in between."""
    rescued: list[Path] = []
    snapshot = store.read()
    while True:
        merged = merge(snapshot.content)
        if merged.content == snapshot.content:
            return merged, None, rescued
        step("back up")
        backup = store.backup(now)
        step("replace")
        replaced = store.replace(merged.content, expected=snapshot.sha256)
        if isinstance(replaced, Replaced):
            return merged, backup, rescued
        snapshot = replaced.current
        rescued += replaced.rescued
