"""reflect, undo, dream: what keeps the memory short, and takes it back."""

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
    """Add these commands."""
    _reflect_and_undo(commands)
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


def _reflect_and_undo(commands: Commands) -> None:
    reflecting = commands.add_parser(
        "reflect",
        help="make a memory that has grown long shorter",
        description="Merge, drop and archive observations when there are more words than REFLECTOR_WORD_THRESHOLD. "
        "What leaves the memory goes to memory/archive/, with the reason.",
    )
    reflecting.add_argument("--force", action="store_true", help="whether or not it is long")

    undoing = commands.add_parser(
        "undo",
        help="take the last reflection, or a night, back",
        description="Put back what a reflection or a night (dream) took out, keep what came since. Without a day the "
        "newest one is undone.",
    )
    undoing.add_argument("what", choices=["reflect", "dream"], help="what to undo")
    undoing.add_argument("day", nargs="?", type=day, metavar="DATE", help="dream: all nights of this day: 2026-12-01")
    dry_run(reflecting)
    agent(reflecting, undoing)
