"""Arguments → command → rendered result. The one place that prints, and the one that turns errors into exit codes.

Exit codes: 0 done or nothing to do, 1 expected failure, 2 usage, 3 a bug, 130 interrupted.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import sys
import tempfile
import traceback
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta, timezone
from typing import Protocol

from total_recall import __version__, clock, gate
from total_recall.commands import context, demo, observe, reflect, status, undo
from total_recall.errors import TotalRecallError

JSON_VERSION = 1


class Answer(Protocol):
    """What every command returns."""

    def payload(self) -> dict[str, object]: ...

    def lines(self) -> list[str]: ...


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line; returns the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):
        # cron has no locale, and a message may hold anything.
        getattr(stream, "reconfigure", lambda **_: None)(encoding="utf-8", errors="replace")
    options = _parser().parse_args(arguments)
    # What was imported stays; looking through it for garbage takes a tenth of a run over many messages.
    gc.freeze()
    try:
        return _run(options, tuple(arguments))
    except TotalRecallError as error:
        return _failed(options, str(error))
    except KeyboardInterrupt:
        print("total-recall: interrupted; nothing is lost, the next run goes on", file=sys.stderr)
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:  # noqa: BLE001  # the one place that turns a bug into a line, a log and exit code 3
        return _bug(error)


def _run(options: argparse.Namespace, argv: tuple[str, ...]) -> int:
    if options.command == "observe":
        result = observe.run(
            observe.Options(
                since=options.since,
                everything=options.all,
                session_id=options.session,
                agent=options.agent,
                dry_run=options.dry_run,
                max_batches=options.max_batches,
                argv=argv,
            )
        )
        _print(options, result)
        if result.idle is not None:
            _remember(argv, result.idle, _rendered(options, result.when_idle()))
        return 0
    _print(options, _COMMANDS[options.command](options))
    return 0


_COMMANDS: dict[str, Callable[[argparse.Namespace], Answer]] = {
    "reflect": lambda o: reflect.run(reflect.Options(force=o.force, dry_run=o.dry_run, agent=o.agent)),
    "undo": lambda o: undo.run(undo.Options(agent=o.agent)),
    "context": lambda o: context.run(context.Options(budget_tokens=o.budget_tokens, agent=o.agent)),
    "status": lambda o: status.run(cost=o.cost),
    "demo": lambda _: demo.run(),
}


def _remember(argv: tuple[str, ...], idle: observe.Idle, said: str) -> None:
    """Let the gate answer the next run of this command line."""
    asked = {w.path for w in idle.watches if w.query}
    databases = asked | {f"{path}-wal" for path in asked}
    plain = [w for w in idle.watches if not w.query]
    gate.record(
        argv,
        said=said,
        same=[(w.path, w.ino, w.size, w.mtime_ns) for w in plain if w.path not in databases],
        databases=[(w.path, w.ino, w.size, w.mtime_ns) for w in plain if w.path in databases],
        questions=[(w.path, w.query, w.answer) for w in idle.watches if w.query],
        stamps=idle.stamps,
        begun_ns=idle.begun_ns,
    )


def _rendered(options: argparse.Namespace, answer: Answer) -> str:
    if options.json:
        fields = {"version": JSON_VERSION, "command": options.command, "ok": True, **answer.payload()}
        return json.dumps(fields, ensure_ascii=False) + "\n"
    return "".join(f"{line}\n" for line in answer.lines())


def _print(options: argparse.Namespace, answer: Answer) -> None:
    sys.stdout.write(_rendered(options, answer))
    sys.stdout.flush()


def _failed(options: argparse.Namespace, message: str) -> int:
    if options.json:
        fields = {"version": JSON_VERSION, "command": options.command, "ok": False, "error": message}
        print(json.dumps(fields, ensure_ascii=False))
    print(f"total-recall: {message}", file=sys.stderr)
    return 1


def _bug(error: Exception) -> int:
    handle, path = tempfile.mkstemp(prefix="total-recall-", suffix=".log")
    with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as stream:
        stream.write(f"total-recall {__version__}, Python {sys.version}\n")
        traceback.print_exception(error, file=stream)
    print(f"total-recall: a bug: {type(error).__name__}: {error}; the details are in {path}", file=sys.stderr)
    return 3


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="total-recall",
        description="An agent's memory that writes itself: OpenClaw sessions become memory/observations.md.",
        epilog="Exit codes: 0 done or nothing to do, 1 expected failure, 2 usage, 3 a bug.",
    )
    parser.add_argument("--version", action="version", version=f"total-recall {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

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
        "--budget-tokens", type=_count, default=context.BUDGET_TOKENS, metavar="N", help="default: %(default)s"
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
    for command in (observing, reflecting):
        command.add_argument("--dry-run", action="store_true", help="show what would be written, write nothing")
    for command in (observing, reflecting, undoing, reading):
        command.add_argument("--agent", metavar="ID", help="only the memory of this agent")
    for command in commands.choices.values():
        command.add_argument("--json", action="store_true", help="answer as JSON, for programs")
    return parser


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
