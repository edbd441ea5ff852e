"""dream: what leaves the memory at night."""

from __future__ import annotations

import argparse
from datetime import date

from total_recall.arguments.values import Commands, agent, dry_run

STEPS = (
    "preflight", "decay", "archive", "chunk", "update-observations", "write-staging", "validate", "rollback",
    "write-log", "write-metrics",
)  # fmt: skip
"""What an agent may do by itself, one after the other."""


def day(text: str) -> date:
    """A day as YYYY-MM-DD. Raises argparse.ArgumentTypeError."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no day: write 2026-12-01") from None


def add(commands: Commands) -> None:
    """Add this command."""
    dreaming = commands.add_parser(
        "dream",
        help="let what has faded leave the memory, once a night",
        description="Move what is expired, faded or superseded to memory/archive/, and as much more as "
        "DREAM_TOKEN_TARGET demands, with hooks by which it is found again. Rules, coming dates and what is of "
        "importance 9 or more stay. READ_ONLY_MODE=true is a --dry-run; undo dream takes a night back.",
    )
    dry_run(dreaming)
    agent(dreaming)
    dreaming.add_argument(
        "step",
        nargs="?",
        choices=STEPS,
        metavar="STEP",
        help=f"for an agent that drives the night by itself: one of {', '.join(STEPS)}; without it all of it is done",
    )
    dreaming.add_argument(
        "payload", nargs="?", metavar="JSON", help="what the step is given; - or nothing reads standard input"
    )
