"""What can be typed: every command with its options and what they mean. One module a group of commands."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Final

from total_recall import __version__
from total_recall.arguments import keeping, observing, reading, recall, setup
from total_recall.arguments.values import Commands

GROUPS: Final[tuple[Callable[[Commands], None], ...]] = (
    observing.add,
    keeping.add,
    recall.add,
    reading.add,
    setup.add,
)
"""What adds the commands, in the order of `--help`."""


def parser() -> argparse.ArgumentParser:
    """The whole command line. Each command answers as JSON with `--json`."""
    whole = argparse.ArgumentParser(
        prog="total-recall",
        description="An agent's memory that writes itself: OpenClaw sessions become memory/observations.md.",
        epilog="Exit codes: 0 done or nothing to do, 1 expected failure, 2 usage, 3 a bug.",
    )
    whole.add_argument("--version", action="version", version=f"total-recall {__version__}")
    commands = whole.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for add in GROUPS:
        add(commands)
    for command in commands.choices.values():
        command.add_argument("--json", action="store_true", help="answer as JSON, for programs")
    return whole
