"""log: what the agent did, and what keeps that log."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any, Final

from total_recall.arguments.values import Commands, agent, count, dry_run, moment

TYPES: Final = (
    "tool_call", "error", "user_message", "assistant_reply", "model_call", "cron_run", "session_start",
    "session_reset", "session_end", "compaction", "subagent_spawned", "subagent_finished", "own_run",
)  # fmt: skip
"""As in sidecar/events.py, which costs more to load than a command line should."""
WHEN: Final = "36h, 7d, today, yesterday, week (from Monday), month, 2026-11-28, 2026-11-28T09:00"


def add(commands: Commands) -> None:
    """Add this command, and what can follow it."""
    logging = commands.add_parser(
        "log",
        help="what the agent did: every call, error, run and message",
        description="The log is made from what the host stores, of all sessions, also sub-agents and scheduled runs. "
        "Days are the user's own (TOTAL_RECALL_TZ).",
    )
    _times(logging)
    _filters(logging)
    form = logging.add_mutually_exclusive_group()
    form.add_argument("--jsonl", action="store_true", help="one JSON object a line, all of them")
    form.add_argument("--csv", action="store_true", help="a table for a spreadsheet, without the details")
    logging.add_argument("--limit", type=count, metavar="N", help="the newest N; default: 100 for a person")
    logging.add_argument("--tail", action="store_true", help="go on showing what happens, until Ctrl-C")
    agent(logging)
    actions = logging.add_subparsers(dest="action", metavar="[ACTION]", help="or one of these; each has its --help")
    for name, (words, options) in ACTIONS.items():
        # What is not said behind the action may be said before it, so nothing is set here that is not said.
        action = actions.add_parser(
            name, help=words, description=f"{words[:1].upper()}{words[1:]}.", argument_default=argparse.SUPPRESS
        )
        options(action)
        agent(action)
        action.add_argument("--json", action="store_true", help="answer as JSON, for programs")
    logging.set_defaults(of=None, days=None, dry_run=False)


def _times(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--since", type=moment, metavar="WHEN", help=f"from then on: {WHEN}")
    parser.add_argument("--until", type=moment, metavar="WHEN", help="up to then; a day, week or month is meant whole")
    parser.add_argument("--on", type=moment, metavar="WHEN", help="only in that day, week, month or year")


def _filters(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--type", dest="types", action="extend", type=_types, metavar="T,…", help=", ".join(TYPES))
    parser.add_argument(
        "--tool", dest="tools", action="extend", type=_names, metavar="NAME,…", help="calls of this tool"
    )
    parser.add_argument("--failed", action="store_true", help="only what went wrong")
    parser.add_argument(
        "--session", metavar="ID|KEY", help="only this session: its id, the beginning of it, or its key"
    )
    parser.add_argument(
        "--grep", dest="words", metavar="TEXT", help='only with all these words; "in marks" word for word, in any case'
    )


def _names(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise argparse.ArgumentTypeError("a name is missing")
    return names


def _types(text: str) -> list[str]:
    for name in _names(text):
        if name not in TYPES:
            raise argparse.ArgumentTypeError(f"{name!r} is no type; the types are {', '.join(TYPES)}")
    return _names(text)


def _stats(parser: argparse.ArgumentParser) -> None:
    _times(parser)
    _filters_of_counts(parser)


def _filters_of_counts(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--session", metavar="ID|KEY", help="only this session")


def _session(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("of", metavar="ID|KEY", help="the session's id, the beginning of it, or its key")


def _errors(parser: argparse.ArgumentParser) -> None:
    _times(parser)
    _filters(parser)
    parser.add_argument("--limit", type=count, metavar="N", help="the newest N")


def _summary(parser: argparse.ArgumentParser) -> None:
    # argparse takes a default that is text for something typed.
    parser.add_argument(
        "of", nargs="?", type=moment, default=None, metavar="DATE", help="default: today, and yesterday once more"
    )
    dry_run(parser)


def _prune(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--days", type=count, metavar="N", help="default: TOTAL_RECALL_LOG_DAYS")


def _export(parser: argparse.ArgumentParser) -> None:
    _times(parser)
    parser.add_argument("of", nargs="?", default=None, metavar="FILE", help="a new file; default: it is printed")


def _nothing(_: argparse.ArgumentParser) -> None:
    """No option of its own."""


Options = Callable[[argparse.ArgumentParser], Any]

ACTIONS: Final[dict[str, tuple[str, Options]]] = {
    "errors": ("everything that went wrong, by default this week", _errors),
    "stats": ("counts by day, tool, job and model, by default of this week", _stats),
    "session": ("tell what happened in a session, sub-agents included", _session),
    "summary": ("write one paragraph about a day into memory/YYYY-MM-DD.md", _summary),
    "ingest": ("log what is new in the host's stores, and do nothing else", _nothing),
    "export": ("every event as a line of JSON", _export),
    "prune": ("remove what is older than TOTAL_RECALL_LOG_DAYS", _prune),
    "vacuum": ("give the space of what was removed back to the disk", _nothing),
}
"""Name → (what it does, its options)."""
