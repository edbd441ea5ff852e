"""undo reflect: the memory as it was before the newest reflection, with what was observed and written since."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date, datetime
from pathlib import Path

from total_recall import clock, logs
from total_recall.commands import context, places
from total_recall.commands.places import Configuration, Place
from total_recall.errors import MemoryWriteError, TotalRecallError
from total_recall.memory import last_reflection
from total_recall.memory.archive import Archive
from total_recall.memory.commit import finish_pending
from total_recall.memory.document import parse
from total_recall.memory.last_reflection import LastReflection
from total_recall.memory.reflection import words_of
from total_recall.memory.store import MemoryStore, Replaced
from total_recall.memory.undo import Undone, undone
from total_recall.state import RunRecord, State, Step, no_step, sole


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line asked for."""

    agent: str | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """What was taken back, in one memory. Without `reflected` there was nothing to undo.

    `back` lines returned, `gone` lines that the reflection had made went, `since` lines are newer and stay.
    """

    memory_dir: Path
    reflected: datetime | None = None
    back: int = 0
    gone: int = 0
    since: int = 0
    backup: Path | None = None
    notes: tuple[str, ...] = ()

    def payload(self) -> dict[str, object]:
        """The fields of the JSON answer."""
        return {
            "memory_dir": str(self.memory_dir),
            "undone": self.reflected.isoformat() if self.reflected else None,
            "back": self.back,
            "gone": self.gone,
            "since": self.since,
            "backup": str(self.backup) if self.backup else None,
            "notes": list(self.notes),
        }

    def lines(self) -> list[str]:
        """The answer for a person."""
        if self.reflected is None:
            return [f"Nothing to undo in {self.memory_dir}: no reflection since the last undo."]
        said = (
            f"The reflection of {self.reflected:%Y-%m-%d %H:%M} UTC is undone: {self.back} lines are back, "
            f"{self.gone} that it had made are gone, {self.since} written since stay."
        )
        kept = [f"  the memory before this undo is in {self.backup}"] if self.backup else []
        return [said, *kept, *(f"  {note}" for note in self.notes)]


def run(options: Options, config: Configuration | None = None) -> Result:
    """Undo the newest reflection.

    Raises TotalRecallError when several agents' memories have one and none was named, when another reflection is at
    work, and MemoryWriteError when the backup is gone or the memory cannot be written; it is then as it was.
    """
    now = clock.now()
    config = config or places.configure()
    found = places.find(config, now, options.agent)
    candidates = [place for place in found if _last_of(place) is not None]
    if len(candidates) > 1:
        agents = ", ".join(place.agents[0] for place in candidates if place.agents)
        raise TotalRecallError(f"several memories have a reflection to undo; name one with --agent ({agents})")
    if not candidates:
        return Result(found[0].memory_dir)
    return undo_memory(candidates[0], now, now.astimezone(config.settings.tz).date())


def _last_of(place: Place) -> LastReflection | None:
    """The reflection that can be undone in this memory. Leaves no trace."""
    with State.open_copy(place.own_dir) as state:
        last = last_reflection.load(state)
    return None if last is None or last.is_undone else last


def undo_memory(place: Place, now: datetime, today: date, step: Step = no_step) -> Result:
    """Undo the newest reflection of one memory. `step` is told each step of the commit."""
    with sole("reflector", place.own_dir), State.open(place.own_dir, step) as state:
        last = last_reflection.load(state)
        if last is None or last.is_undone:
            return Result(place.memory_dir)
        before = _backup_of(place, last)
        store = MemoryStore(place.memory_dir, step)
        rescued = list(finish_pending(state, store, step).rescued)
        with store.lock() as found:
            merged, backup, late = _replaced(store, now, step, lambda current: undone(before, last.after, current))
            rescued += [*found, *late]
            document = parse(merged.content)
            last_reflection.leave(state, words_of(document), hashlib.sha256(merged.content).hexdigest())
            step("note in archive")
            if last.archived:
                Archive(place.memory_dir, step).undone(last.archived, today)
            last_reflection.save(state, replace(last, is_undone=True))
        notes = tuple(f"an edit made at the same moment was kept in {path}; merge it by hand" for path in rescued)
        result = Result(place.memory_dir, last.at, merged.back, merged.gone, merged.since, backup, notes)
        said = result.lines()[0]
        state.record_run(RunRecord("undo", now, clock.now(), "done", 0, len(document.observations), said))
    context.write_ready_made(place.memory_dir, today)
    logs.append(place.log.with_name("reflector.log"), clock.now(), f"undo: {said}")
    return result


def _backup_of(place: Place, last: LastReflection) -> bytes:
    path = MemoryStore(place.memory_dir).backup_dir / last.backup
    try:
        content = path.read_bytes()
    except OSError as error:
        raise MemoryWriteError(
            f"cannot read {path}: {error.strerror}; without it the reflection of {last.at:%Y-%m-%d %H:%M} UTC "
            "cannot be undone, but archive/observations has every line that left the memory"
        ) from error
    if hashlib.sha256(content).hexdigest() != last.before:
        raise MemoryWriteError(f"{path} is not the backup that the reflection made; nothing was changed")
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
