"""Values that several commands take, and the options that say the same everywhere."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from total_recall import periods
from total_recall.periods import Period

if TYPE_CHECKING:
    Commands: TypeAlias = argparse._SubParsersAction[argparse.ArgumentParser]
else:
    Commands = object

PROJECT = "project:"
"""As in `commands.places`, which takes long to import."""


def agent(*commands: argparse.ArgumentParser) -> None:
    """Add `--agent` and `--project`: two ways to name one memory."""
    for command in commands:
        whose = command.add_mutually_exclusive_group()
        whose.add_argument("--agent", metavar="ID", help="only the memory of this agent")
        whose.add_argument(
            "--project", dest="agent", type=project, metavar="DIR", help="only the memory of the project there"
        )


def dry_run(*commands: argparse.ArgumentParser) -> None:
    """Add `--dry-run`."""
    for command in commands:
        command.add_argument("--dry-run", action="store_true", help="show what would be written, write nothing")


def project(text: str) -> str:
    """A project's directory as `places.find` takes it in the place of an agent."""
    return f"{PROJECT}{Path(text).resolve()}"


def count(text: str) -> int:
    """A whole number from 1. Raises argparse.ArgumentTypeError."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 1")
    return int(text)


def moment(text: str) -> Period:
    """`36h`, `7d`, `yesterday`, or an ISO date or time: what it is for the user, the memory's time zone says.

    Raises argparse.ArgumentTypeError.
    """
    try:
        return periods.parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
