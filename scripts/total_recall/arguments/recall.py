"""recall, forecast: what finds a memory, and when it will be forgotten."""

from __future__ import annotations

import argparse
from typing import get_args

from total_recall.arguments.values import Commands, agent, count, moment
from total_recall.records import ObservationType


def add(commands: Commands) -> None:
    """Add these commands."""
    _add_recall(commands)
    _add_forecast(commands)


def _add_recall(commands: Commands) -> None:
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
    recalling.add_argument("--since", type=moment, metavar="WHEN", help="only from then on: 7d, week, 2026-11-28")
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


def _add_forecast(commands: Commands) -> None:
    foretelling = commands.add_parser(
        "forecast",
        help="when each memory will be forgotten",
        description="For each line of the memory: when it drops out of the top of recall, on which day it is archived "
        "and by which rule, and what reading it today would change. It holds as long as the line is not read, edited, "
        "superseded or resolved, and no other line says the same. What is archived is still found.",
    )
    foretelling.add_argument("--days", type=count, metavar="N", help="only what is forgotten within so many days")
    foretelling.add_argument("--id", metavar="ID", help="only this line")
    agent(foretelling)
