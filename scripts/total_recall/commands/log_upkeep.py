"""log prune, vacuum, export: what keeps the log in bounds, and takes a copy out of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from total_recall import clock, periods
from total_recall.commands import places
from total_recall.commands.logged import Asked, opened
from total_recall.commands.observing import counted
from total_recall.commands.places import Configuration
from total_recall.errors import MemoryWriteError
from total_recall.harmless import printable_json
from total_recall.settings import Settings
from total_recall.sidecar import upkeep
from total_recall.sidecar.database import NAME, Events
from total_recall.state import sole

MEGABYTE = 1_000_000
WAIT_SECONDS = 30.0
"""How long a logging run that is at work is waited for."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What was done to one log; `freed` are bytes that went back to the disk."""

    path: Path
    removed: int = 0
    freed: int = 0


@dataclass(frozen=True, slots=True)
class Result:
    """What was done to each log."""

    what: str
    kept: tuple[Kept, ...]

    def payload(self) -> dict[str, object]:
        """The fields of the JSON answer."""
        return {"logs": [{"path": str(k.path), "removed": k.removed, "freed_bytes": k.freed} for k in self.kept]}

    def lines(self) -> list[str]:
        """The answer for a person."""
        if not self.kept:
            return ["There is no log yet."]
        if self.what == "vacuum":
            return [f"{k.path}: {k.freed / MEGABYTE:,.1f} MB given back to the disk" for k in self.kept]
        return [f"{k.path}: {counted(k.removed, 'event')} removed" for k in self.kept]


def prune(config: Configuration | None = None, *, days: int | None = None, agent: str | None = None) -> Result:
    """Remove what is older than `days`, by default TOTAL_RECALL_LOG_DAYS, or over the size cap.

    Raises MemoryWriteError, StoreError, AlreadyRunning when something else writes to the log for long.
    """
    config = config or places.configure()
    settings = config.settings
    before = clock.now() - timedelta(days=days or settings.log_days)

    def one(events: Events, path: Path) -> Kept:
        return Kept(path, removed=upkeep.prune(events, periods.milliseconds(before), _most_bytes(settings)))

    return Result("prune", tuple(_each(config, agent, one)))


def vacuum(config: Configuration | None = None, *, agent: str | None = None) -> Result:
    """Give the space of what was removed back to the disk. Raises as `prune` does."""

    def one(events: Events, path: Path) -> Kept:
        return Kept(path, freed=upkeep.vacuum(events))

    return Result("vacuum", tuple(_each(config or places.configure(), agent, one)))


def _most_bytes(settings: Settings) -> int:
    return settings.log_mb * MEGABYTE


def _each(config: Configuration, agent: str | None, one: Callable[[Events, Path], Kept]) -> Iterator[Kept]:
    for place in places.find(config, clock.now(), agent):
        path = place.own_dir / NAME
        if path.is_file():
            with sole("logging", place.own_dir, WAIT_SECONDS), Events.open(place.own_dir) as events:
                yield one(events, path)


# --- export ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ExportOptions:
    """What is exported, and to which file; without one it is said line by line."""

    asked: Asked = field(default_factory=Asked)
    file: str | None = None


@dataclass(frozen=True, slots=True)
class Exported:
    """How many events were written to `path`; None when they were said."""

    path: Path | None
    events: int
    notes: tuple[str, ...] = ()

    def payload(self) -> dict[str, object]:
        """The fields of the JSON answer."""
        return {"path": str(self.path), "events": self.events, "warnings": list(self.notes)}

    def lines(self) -> list[str]:
        """The answer for a person; nothing where the events themselves were said."""
        if self.path is None:
            return []
        return [f"{self.path}: {counted(self.events, 'event')}", *(f"  warning: {note}" for note in self.notes)]


def export(options: ExportOptions, config: Configuration | None = None, say: Callable[[str], None] = print) -> Exported:
    """Write every event of the time as a line of JSON, oldest first, memory after memory.

    The file is for the owner alone, and there as a whole or not at all. Raises MemoryWriteError when it cannot be
    written, or is there already; StoreError for an unreadable log.
    """
    now = clock.now()
    config = config or places.configure()
    with opened(config, now, options.asked) as found:
        wanted = options.asked.wanted(now, config.settings.tz)
        lines = (
            line for log in found.logs for line in upkeep.export(log.events, wanted.since_ms or 0, wanted.until_ms)
        )
        if options.file is None:
            number = 0
            for line in lines:
                say(printable_json(line.removesuffix("\n")))
                number += 1
            return Exported(None, number, found.notes)
        path = Path(options.file).absolute()
        return Exported(path, _written(path, lines), found.notes)


def _written(path: Path, lines: Iterator[str]) -> int:
    number = 0
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        if path.exists():
            raise MemoryWriteError(f"{path} is there already; name another file, or remove it")
        try:
            with os.fdopen(
                os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8"
            ) as file:
                for line in lines:
                    file.write(line)
                    number += 1
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise MemoryWriteError(
            f"cannot write {path}: {error.strerror}; check the folder, its owner and free space"
        ) from error
    return number
