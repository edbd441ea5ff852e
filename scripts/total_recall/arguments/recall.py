"""recall: what finds a memory."""

from __future__ import annotations

import argparse
from typing import get_args

from total_recall.arguments.values import Commands, agent, count, moment
from total_recall.records import ObservationType


def add(commands: Commands) -> None:
    """Add this command."""
    recalling = commands.add_parser(
        "recall",
        help="find what is remembered",
        description="The memories that answer a question best: those of today, archived ones, or what was said itself.",
    )
    recalling.add_argument(
        "query", nargs="?", default="", metavar="QUERY", help='what to look for; "a phrase" is meant word for word'
    )
    recalling.add_argument(
        "-k", dest="count", type=count, default=10, metavar="N", help="how many; default: %(default)s"
    )
    recalling.add_argument("--type", dest="kind", choices=get_args(ObservationType), help="only memories of this type")
    recalling.add_argument("--since", type=moment, metavar="WHEN", help="only from then on: 7d, 2026-11-28")
    recalling.add_argument("--until", type=moment, metavar="WHEN", help="only up to that day")
    recalling.add_argument(
        "--archived", action=argparse.BooleanOptionalAction, default=True, help="look in the archive too"
    )
    recalling.add_argument("--sessions", action="store_true", help="look in the messages themselves too")
    recalling.add_argument("--why", action="store_true", help="show similarity, decay, boost and links")
    recalling.add_argument("--no-touch", dest="touch", action="store_false", help="do not strengthen what is found")
    recalling.add_argument(
        "--recent", action="store_true", help="what were we doing: open goals, decisions, last messages"
    )
    agent(recalling)
