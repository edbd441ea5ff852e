"""Values that several commands take, and the options that say the same everywhere."""

from __future__ import annotations

import argparse
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, TypeAlias

from total_recall import clock

if TYPE_CHECKING:
    Commands: TypeAlias = argparse._SubParsersAction[argparse.ArgumentParser]
else:
    Commands = object


def agent(*commands: argparse.ArgumentParser) -> None:
    """Add `--agent`."""
    for command in commands:
        command.add_argument("--agent", metavar="ID", help="only the memory of this agent")


def dry_run(*commands: argparse.ArgumentParser) -> None:
    """Add `--dry-run`."""
    for command in commands:
        command.add_argument("--dry-run", action="store_true", help="show what would be written, write nothing")


def count(text: str) -> int:
    """A whole number from 1. Raises argparse.ArgumentTypeError."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 1")
    return int(text)


def moment(text: str) -> datetime:
    """`36h`, `7d`, `90m`, or an ISO date or time (in the local zone unless it names one).

    Raises argparse.ArgumentTypeError.
    """
    units = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
    try:
        if text[-1:] in units and text[:-1].isdigit():
            return clock.now() - timedelta(**{units[text[-1]]: int(text[:-1])})
        return datetime.fromisoformat(text.replace("Z", "+00:00")).astimezone(timezone.utc)
    except (ValueError, OverflowError):
        raise argparse.ArgumentTypeError(f"{text!r} is no time: write 36h, 7d, or 2026-11-28") from None
