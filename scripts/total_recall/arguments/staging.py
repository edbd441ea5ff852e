"""staging: what a person says to the proposals of the dream cycle."""

from __future__ import annotations

import argparse

from total_recall.arguments.values import Commands, agent


def add(commands: Commands) -> None:
    """Add the command with its actions."""
    staging = commands.add_parser(
        "staging",
        help="show, approve or reject what the dream cycle proposes for AGENTS.md, USER.md …",
        description="The dream cycle proposes lines for AGENTS.md, MEMORY.md, USER.md, TOOLS.md and favorites.md in "
        "memory/dream-staging/. Nothing is written to these files but by `approve NAME --apply`, which makes a copy "
        "before and marks what it adds.",
    )
    actions = staging.add_subparsers(dest="action", required=True, metavar="ACTION")
    listing = actions.add_parser("list", help="what waits for a decision")
    listing.add_argument("--all", action="store_true", help="what was decided as well")
    showing = actions.add_parser("show", help="one proposal, with its evidence")
    approving = actions.add_parser("approve", help="mark one as approved; with --apply write it to its file")
    approving.add_argument("--apply", action="store_true", help="write it to its target file")
    rejecting = actions.add_parser("reject", help="turn one down; it comes back when its evidence has doubled")
    modifying = actions.add_parser("modify", help="change the text or the target file of one that waits")
    modifying.add_argument("--text", help="what is to be added instead; - reads it from standard input")
    modifying.add_argument("--target", metavar="FILE", help="the file that it is to be added to, such as USER.md")
    for action in (showing, approving, rejecting, modifying):
        action.add_argument("name", metavar="NAME", help="as `staging list` shows it")
    for action in (listing, showing, approving, rejecting, modifying):
        # Before the action or after it; what is said before must not be undone by a default.
        action.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="answer as JSON")
        action.add_argument("--agent", metavar="ID", default=argparse.SUPPRESS, help="only the memory of this agent")
    agent(staging)
