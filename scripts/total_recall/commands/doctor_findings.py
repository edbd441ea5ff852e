"""What the doctor says and what it looks at: the small values that its checks share."""

from __future__ import annotations

import os
import shlex
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from pathlib import Path
from typing import Literal

from total_recall.commands.places import Configuration, Place
from total_recall.errors import TotalRecallError
from total_recall.state import State

Level = Literal["ok", "note", "warning", "error"]

PROGRAM = Path(__file__).resolve().parents[2]
"""The folder of the programs: `scripts/` of a checkout or a bundle."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found. `fix` is the command or action that mends it; None where nothing is to be done.

    `note` is good to know, `warning` will hurt some day or somewhere, `error` means that it does not work.
    """

    name: str
    level: Level
    said: str
    fix: str | None = None


Findings = Iterable[Finding]


@dataclass(frozen=True, slots=True)
class Machine:
    """This computer and this process."""

    now: datetime


@dataclass(frozen=True, slots=True)
class Host:
    """What is set. `online` says that the model may be asked; `commands` are those of this version."""

    config: Configuration
    now: datetime
    online: bool
    commands: Collection[str]


@dataclass(frozen=True, slots=True)
class Memory:
    """One memory and the stores that feed it."""

    place: Place
    config: Configuration
    now: datetime


@dataclass(frozen=True, slots=True)
class Kept:
    """What a memory knows between runs. `can_try` says that `state` is a copy, on which one may try what a run does."""

    memory: Memory
    state: State
    can_try: bool


def failure(name: str, error: TotalRecallError) -> Finding:
    """An expected failure as a finding: its line says what and where, and after a semicolon what to do."""
    said, _, fix = str(error).partition("; ")
    return Finding(name, "error", said, fix or None)


def command(arguments: str) -> str:
    """The command line that runs Total Recall with these arguments from any directory."""
    launcher = PROGRAM / "total-recall"
    start = f"sh {shlex.quote(str(launcher))}" if launcher.is_file() else "total-recall"
    return f"{start} {arguments}"


def quoted(path: Path | str) -> str:
    """A path as a shell takes it."""
    return shlex.quote(str(path))


def age(past: timedelta) -> str:
    """How long ago, roughly: `5 minutes`, `3 hours`, `12 days`."""
    seconds = max(0, round(past.total_seconds()))
    for size, unit in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= 2 * size or (seconds >= size and unit == "minute"):
            count = seconds // size
            return f"{count} {unit}{'' if count == 1 else 's'}"
    return f"{seconds} seconds"


def local(at: datetime, tz: tzinfo) -> str:
    """A time as the user reads it."""
    return f"{at.astimezone(tz):%Y-%m-%d %H:%M}"


def size(count: int) -> str:
    """Bytes in MB, or GB."""
    return f"{count / 1e9:.1f} GB" if count >= 10**9 else f"{count / 1e6:.1f} MB"


def may(path: Path, mode: int) -> bool:
    """Whether the user that this process acts for may read, write or enter a path."""
    return os.access(path, mode, effective_ids=os.access in os.supports_effective_ids)
