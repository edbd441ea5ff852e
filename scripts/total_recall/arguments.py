"""What can be typed: every command with its options and what they mean."""

from __future__ import annotations

import argparse
from datetime import datetime, timedelta, timezone
from typing import get_args

from total_recall import __version__, clock
from total_recall.records import ObservationType

CONTEXT_TOKENS = 3000


def parser() -> argparse.ArgumentParser:
    """The whole command line. Each command answers as JSON with `--json`."""
    whole = argparse.ArgumentParser(
        prog="total-recall",
        description="An agent's memory that writes itself: OpenClaw sessions become memory/observations.md.",
        epilog="Exit codes: 0 done or nothing to do, 1 expected failure, 2 usage, 3 a bug.",
    )
    whole.add_argument("--version", action="version", version=f"total-recall {__version__}")
    commands = whole.add_subparsers(dest="command", required=True, metavar="COMMAND")

    observing = commands.add_parser(
        "observe",
        help="turn what was said since the last run into observations",
        description="Read what is new in the session stores and add observations to memory/observations.md. "
        "The first run takes the last 24 hours and marks what is older as seen.",
    )
    when = observing.add_mutually_exclusive_group()
    when.add_argument(
        "--since",
        type=_moment,
        metavar="WHEN",
        help="also take what was marked as seen, from then on: 36h, 7d, 2026-11-28",
    )
    when.add_argument("--all", action="store_true", help="also take everything that was marked as seen")
    observing.add_argument("--session", metavar="ID", help="only this session, the whole of it")
    observing.add_argument(
        "--max-batches", type=_count, metavar="N", help="ask a model for at most N batches in this run"
    )

    recovering = commands.add_parser(
        "recover",
        help="observe what a session held before it was reset",
        description="What hooks run at /new, /reset and start: like observe, but what was said in the last four hours "
        "comes first, and an observer that is at work is waited for.",
    )
    flushing = commands.add_parser(
        "flush",
        help="observe now, before the host compacts a session",
        description="Like observe, in bounded time: it waits for an observer that is at work, and when the model is "
        "slow, the built-in compressor does it.",
    )
    flushing.add_argument(
        "--seconds", type=_count, default=60, metavar="N", help="how long it may take; default: %(default)s"
    )
    for command in (recovering, flushing):
        command.add_argument("--trigger", default="", metavar="EVENT", help="what set it off, for the log")

    watching = commands.add_parser(
        "watch",
        help="observe as soon as enough was said (a daemon)",
        description="Watches the session stores and starts observe when OBSERVER_LINE_THRESHOLD new messages wait, at "
        "most once in OBSERVER_COOLDOWN_SECS. Ends on SIGTERM; reads its settings again on SIGHUP.",
    )

    reflecting = commands.add_parser(
        "reflect",
        help="make a memory that has grown long shorter",
        description="Merge, drop and archive observations when there are more words than REFLECTOR_WORD_THRESHOLD. "
        "What leaves the memory goes to memory/archive/, with the reason.",
    )
    reflecting.add_argument("--force", action="store_true", help="whether or not it is long")

    undoing = commands.add_parser(
        "undo",
        help="take the last reflection back",
        description="Put back what a reflection took out, keep what came since.",
    )
    undoing.add_argument("what", choices=["reflect"], help="what to undo")

    reading = commands.add_parser(
        "context",
        help="what the agent reads at session start",
        description="The memory as an agent gets it: rules and preferences first, then the days, within a budget.",
    )
    reading.add_argument(
        "--budget-tokens", type=_count, default=CONTEXT_TOKENS, metavar="N", help="default: %(default)s"
    )

    recalling = commands.add_parser(
        "recall",
        help="find what is remembered",
        description="The memories that answer a question best: those of today, archived ones, or what was said itself.",
    )
    recalling.add_argument(
        "query", nargs="?", default="", metavar="QUERY", help='what to look for; "a phrase" is meant word for word'
    )
    recalling.add_argument(
        "-k", dest="count", type=_count, default=10, metavar="N", help="how many; default: %(default)s"
    )
    recalling.add_argument("--type", dest="kind", choices=get_args(ObservationType), help="only memories of this type")
    recalling.add_argument("--since", type=_moment, metavar="WHEN", help="only from then on: 7d, 2026-11-28")
    recalling.add_argument("--until", type=_moment, metavar="WHEN", help="only up to that day")
    recalling.add_argument(
        "--archived", action=argparse.BooleanOptionalAction, default=True, help="look in the archive too"
    )
    recalling.add_argument("--sessions", action="store_true", help="look in the messages themselves too")
    recalling.add_argument("--why", action="store_true", help="show similarity, decay, boost and links")
    recalling.add_argument("--no-touch", dest="touch", action="store_false", help="do not strengthen what is found")
    recalling.add_argument(
        "--recent", action="store_true", help="what were we doing: open goals, decisions, last messages"
    )

    looking = commands.add_parser(
        "status", help="what is remembered, what waits, and every setting", description="Look, and change nothing."
    )
    looking.add_argument("--cost", action="store_true", help="tokens and money of the last 30 days, by day and model")
    commands.add_parser(
        "demo",
        help="see it work on real transcripts that come with the source",
        description="Observe shipped OpenClaw sessions in a scratch workspace with the offline compressor.",
    )
    setting_up = commands.add_parser(
        "setup",
        help="make everything work by itself, from now on",
        description="Shows what it will do and asks: a schedule, a watcher, the OpenClaw hook, a .env with every "
        "setting. A second run changes nothing, or mends what drifted.",
    )
    setting_up.add_argument(
        "--scheduler",
        choices=["auto", "systemd", "crontab", "openclaw", "launchd", "none"],
        default="auto",
        help="what starts the commands by the clock; auto takes the best one here",
    )
    setting_up.add_argument(
        "--agents-md", action="store_true", help="add a line to AGENTS.md, for hosts that take no hook"
    )
    removing = commands.add_parser(
        "uninstall",
        help="take out what setup made; the memory stays",
        description="Everything that setup made goes, and what it changed is put back byte for byte.",
    )
    for command in (setting_up, removing):
        command.add_argument("--yes", action="store_true", help="do not ask")
        command.add_argument("--openclaw", metavar="PATH", help="the openclaw command, where it is not in PATH")

    diagnosing = commands.add_parser(
        "doctor",
        help="what is wrong, and what mends it",
        description="Looks at everything that can keep the memory from working, changes nothing, and exits with 1 when "
        "something is broken.",
    )
    diagnosing.add_argument("--online", action="store_true", help="also ask the model's endpoint; costs a few tokens")

    for command in (observing, reflecting, setting_up, removing):
        command.add_argument("--dry-run", action="store_true", help="show what would be written, write nothing")
    for command in (observing, recovering, flushing, watching, reflecting, undoing, reading, recalling, diagnosing):
        command.add_argument("--agent", metavar="ID", help="only the memory of this agent")
    for command in commands.choices.values():
        command.add_argument("--json", action="store_true", help="answer as JSON, for programs")
    return whole


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 1")
    return int(text)


def _moment(text: str) -> datetime:
    """`36h`, `7d`, `90m`, or an ISO date or time (in the local zone unless it names one)."""
    units = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
    try:
        if text[-1:] in units and text[:-1].isdigit():
            return clock.now() - timedelta(**{units[text[-1]]: int(text[:-1])})
        return datetime.fromisoformat(text.replace("Z", "+00:00")).astimezone(timezone.utc)
    except (ValueError, OverflowError):
        raise argparse.ArgumentTypeError(f"{text!r} is no time: write 36h, 7d, or 2026-11-28") from None
