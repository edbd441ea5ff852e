"""reflect, undo: what keeps the memory short, and takes it back."""

from __future__ import annotations

from total_recall.arguments.dream import day
from total_recall.arguments.values import Commands, agent, dry_run


def add(commands: Commands) -> None:
    """Add these commands."""
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
