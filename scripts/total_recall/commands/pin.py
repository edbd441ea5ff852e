"""pin, unpin: a memory that is kept for good, whatever its age and the room.

`dc:pinned=1` on the line says so. An archived memory comes back into the document first.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path

from total_recall import clock, logs
from total_recall.commands import context, places
from total_recall.commands import known as memories
from total_recall.commands.forget_work import note_back, stand_again
from total_recall.commands.known import Known
from total_recall.commands.places import Configuration, Place
from total_recall.errors import TotalRecallError
from total_recall.memory.archived import line_key
from total_recall.memory.document import Document, parse
from total_recall.memory.line import PINNED, is_pinned
from total_recall.memory.store import MemoryStore, Replaced
from total_recall.state import Step, no_step, sole

WAIT_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line asked for. Without `pinned` the memory is to age again."""

    id: str
    pinned: bool = True
    agent: str | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """What became of the memory. `came_back` names the archived item that stands in the document again."""

    memory_dir: Path
    id: str
    text: str
    pinned: bool
    changed: bool
    came_back: str | None = None
    notes: tuple[str, ...] = ()

    def payload(self) -> dict[str, object]:
        """The fields of the JSON answer."""
        return {
            "memory_dir": str(self.memory_dir),
            "id": self.id,
            "text": self.text,
            "pinned": self.pinned,
            "changed": self.changed,
            "came_back": self.came_back,
            "notes": list(self.notes),
        }

    def lines(self) -> list[str]:
        """The answer for a person."""
        back = f"{self.came_back} is back in the memory. " if self.came_back else ""
        if self.pinned:
            said = "Pinned: it stays for good" if self.changed else "It was pinned already"
        else:
            said = "Unpinned: it ages from now on" if self.changed else "It was not pinned"
        return [f"{back}{said}: {self.id} “{self.text}”", *(f"  {note}" for note in self.notes)]


def run(options: Options, config: Configuration | None = None) -> Result:
    """Pin a memory, or let it age again.

    Raises TotalRecallError when there is none of that name or it cannot be pinned, MemoryWriteError when the memory
    cannot be written; it is then as it was.
    """
    now = clock.now()
    config = config or places.configure()
    place, found = memories.find(options.id, places.find(config, now, options.agent))
    return set_pinned(place, found, options.pinned, now, now.astimezone(config.settings.tz).date())


def set_pinned(
    place: Place, found: tuple[Known, ...], pinned: bool, now: datetime, today: date, step: Step = no_step
) -> Result:
    """The same for what is known of one memory under one name, live or archived. `step` is told each step."""
    live = [item for item in found if item.is_live]
    archived = [item for item in found if item.name is not None and not item.is_back]
    with sole("reflector", place.own_dir, WAIT_SECONDS):
        if not live:
            _require_that_it_can_stand(found, archived, pinned)
        back = [(item.name, item.key) for item in archived[-1:] if item.name] if pinned else []
        key, text = found[0].key, found[0].text
        changed, rescued = _write(place, key, pinned, back, step)
        step("note in archive")
        note_back(place, [item.name for item in archived if item.name] if pinned else [], today, step)
    context.write_ready_made(place.memory_dir, today, characters=place.context_characters)
    result = Result(
        place.memory_dir,
        key,
        text,
        pinned,
        changed,
        None if live or not back else back[0][0],
        tuple(f"an edit made at the same moment was kept in {path}; merge it by hand" for path in rescued),
    )
    if changed:
        logs.append(place.log, now, f"{'pin' if pinned else 'unpin'}: {key}")
    return result


def _require_that_it_can_stand(found: tuple[Known, ...], archived: list[Known], pinned: bool) -> None:
    if not pinned:
        raise TotalRecallError(f"{found[0].key} is in the archive, where nothing ages; `pin` brings it back")
    if not archived or archived[-1].entry is None:
        name = found[0].key
        raise TotalRecallError(f"{name} sums up several memories; pin one of those, which `why {name}` lists")


def _write(
    place: Place, key: str, pinned: bool, back: list[tuple[str, str]], step: Step
) -> tuple[bool, tuple[Path, ...]]:
    """Set the field on the line, which is put back first where it is archived. An edit made meanwhile is kept."""
    store = MemoryStore(place.memory_dir, step)
    with store.lock() as rescued:
        snapshot = store.read()
        while True:
            document = parse(snapshot.content)
            if not _lines(document, key):
                document = stand_again(place, document, back)
            numbers = _lines(document, key)
            if not numbers:
                raise TotalRecallError(f"{key} has left the memory in this moment; run the command again")
            to_change = {n for n, is_set in numbers.items() if is_set != pinned}
            document = document.with_field(to_change, PINNED, "1" if pinned else None)
            new = document.render()
            if new == snapshot.content:
                return False, rescued
            outcome = store.replace(new, expected=snapshot.sha256)
            if isinstance(outcome, Replaced):
                return True, rescued
            snapshot = outcome.current
            rescued += outcome.rescued


def _lines(document: Document, key: str) -> dict[int, bool]:
    """The lines with that name, and whether each is pinned."""
    return {entry.line: is_pinned(entry) for entry in document.observations if line_key(entry) == key}
