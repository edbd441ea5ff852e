"""Whether a memory has nothing to do, told from the looks of its files alone: there may be hundreds of memories."""

from __future__ import annotations

from datetime import date
from hashlib import blake2b
from pathlib import Path

from total_recall import __version__, gate
from total_recall.commands.places import Place
from total_recall.errors import MemoryWriteError
from total_recall.gate import has_settled
from total_recall.memory.files import read_file, write_file
from total_recall.memory.store import MemoryStore
from total_recall.sessions.source import Watch, watch

SETTLED = "settled"


def is_settled(place: Place, today: date) -> bool:
    """Whether everything looks as it did after a run that left nothing to do on this day of the user's."""
    written = read_file(place.own_dir / SETTLED)
    return written is not None and written == _looks(_watches(place), today)


def settle(place: Place, today: date, begun_ns: int) -> None:
    """Write down how everything looks: a run begun at `begun_ns` (ns since 1970) has left nothing to do.

    Not where something changed so late that the next change might not show. Raises MemoryWriteError.
    """
    watches = _watches(place)
    if all(has_settled(each.mtime_ns, begun_ns) for each in watches if each.ino):
        write_file(place.own_dir / SETTLED, _looks(watches, today))


def stamp(path: Path) -> None:
    """Leave the time of a run that had nothing to do. Raises MemoryWriteError."""
    try:
        gate.stamp(str(path))
    except OSError as error:
        raise MemoryWriteError(f"cannot write {path}: {error.strerror}; check its owner and the disk") from error


def _watches(place: Place) -> list[Watch]:
    """The stores as they were before they were read, then what is ours as it is."""
    ours = [MemoryStore(place.memory_dir).path, *(place.own_dir / f"state.sqlite{end}" for end in ("", "-wal"))]
    return [*(each for source in place.sources for each in source.watches()), *map(watch, ours)]


def _looks(watches: list[Watch], today: date) -> bytes:
    text = repr((__version__, today.isoformat(), [(w.path, w.ino, w.size, w.mtime_ns) for w in watches]))
    return blake2b(text.encode("utf-8", "surrogateescape"), digest_size=16).hexdigest().encode()
