"""context, status, report, demo: what shows the memory and how it is kept."""

from __future__ import annotations

import argparse
from pathlib import Path

from total_recall.arguments.values import Commands, agent, count

CONTEXT_TOKENS = 3000
MOST_PORT = 65_535


def add(commands: Commands) -> None:
    """Add these commands."""
    reading = commands.add_parser(
        "context",
        help="what the agent reads at session start",
        description="The memory as an agent gets it: rules and preferences first, then the days, within a budget.",
    )
    reading.add_argument(
        "--budget-tokens", type=count, default=CONTEXT_TOKENS, metavar="N", help="default: %(default)s"
    )
    agent(reading)

    looking = commands.add_parser(
        "status",
        help="is it working: what waits, the last runs, what comes next",
        description="Look, and change nothing: what is remembered, what waits, the last runs, what comes next, the "
        "last day, and what was set.",
    )
    looking.add_argument("--settings", action="store_true", help="every setting with its value and where it came from")
    looking.add_argument("--cost", action="store_true", help="tokens and money of the last 30 days, by day and model")
    _report(commands)
    commands.add_parser(
        "demo",
        help="see it work on real transcripts that come with the source",
        description="Observe shipped OpenClaw sessions in a scratch workspace with the offline compressor.",
    )


def _report(commands: Commands) -> None:
    drawing = commands.add_parser(
        "report",
        help="one page about the memory: what it holds, what fades when, what it cost",
        description="Write one self-contained HTML page, for your eyes alone; it needs no network. Its search looks "
        "through the memory and its archive.",
    )
    where = drawing.add_mutually_exclusive_group()
    where.add_argument(
        "--output", type=Path, metavar="FILE", help="default: .total-recall/report.html in the memory's directory"
    )
    drawing.add_argument("--open", action="store_true", help="open it in your browser")
    where.add_argument(
        "--serve", action="store_true", help="write no file; show it on 127.0.0.1, always as it is now, until Ctrl-C"
    )
    drawing.add_argument(
        "--port", type=_port, default=0, metavar="N", help="with --serve; default: any that is free"
    )
    drawing.add_argument("--lang", choices=("en", "ko"), help="default: the memory's own language")
    agent(drawing)


def _port(text: str) -> int:
    if not text.isdecimal() or not 0 <= int(text) <= MOST_PORT:
        raise argparse.ArgumentTypeError(f"{text!r} is no port: 1 to {MOST_PORT}, or 0 for any that is free")
    return int(text)
