"""What can be typed: every command with its options and what they mean. One module a group of commands."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from total_recall import __version__
from total_recall.arguments import (
    completion,
    dream,
    forgetting,
    log,
    observing,
    reading,
    recall,
    setup,
    staging,
)
from total_recall.arguments.values import Commands

GROUPS: Final[tuple[Callable[[Commands], None], ...]] = (
    observing.add,
    dream.add,
    recall.add,
    forgetting.add,
    log.add,
    staging.add,
    reading.add,
    setup.add,
    completion.add,
)
"""What adds the commands, in the order in which they were made."""

SECTIONS: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    ("Ask", ("recall", "context", "why", "forecast", "log", "status", "report")),
    ("Decide", ("pin", "unpin", "forget", "staging", "undo")),
    ("What works by itself after setup", ("observe", "recover", "flush", "watch", "reflect", "dream")),
    ("Install", ("setup", "doctor", "uninstall", "completion", "demo")),
)
"""The commands as `--help` groups them; what stands in none is told at the end."""

EXAMPLES: Final[Mapping[str, tuple[str, str]]] = {
    "observe": ("observe --since 7d", "take the last week in as well, after a first run"),
    "recover": ("recover", "what a /new or a restart left behind, at once"),
    "flush": ("flush --seconds 20", "everything that waits, in at most 20 seconds"),
    "watch": ("watch", "until Ctrl-C; setup starts it as a service"),
    "reflect": ("reflect --dry-run", "what a consolidation would merge, drop and archive"),
    "dream": ("dream --dry-run", "what would leave the memory tonight, and why"),
    "undo": ("undo dream", "the last night never was"),
    "context": ("context --budget-tokens 1000", "the most important thousand tokens"),
    "recall": ('recall "tax return" --since 2026-11-01', "what is known of it since November"),
    "forecast": ("forecast --days 14", "what will be archived within two weeks, and by which rule"),
    "why": ("why k3f9q2", "the messages behind the line with this dc:id"),
    "pin": ("pin k3f9q2", "the line with this dc:id stays for good"),
    "unpin": ("unpin k3f9q2", "it ages again"),
    "forget": ('forget "the umbrella" --dry-run', "what would go with these words; nothing goes yet"),
    "log": ("log errors --on yesterday", "everything that went wrong yesterday"),
    "staging": ("staging list", "proposals that wait for your decision"),
    "status": ("status --cost", "tokens and money, by day and model"),
    "report": ("report --open", "the memory on a page, in your browser"),
    "setup": ("setup --dry-run", "the plan, and nothing is changed"),
    "uninstall": ("uninstall --dry-run", "what would be taken out and put back"),
    "doctor": ("doctor --online", "also ask the model once, where one is set"),
    "demo": ("demo", "real sessions, a scratch workspace, no model"),
    "completion": ("completion bash", "what bash needs to complete commands and options"),
}
"""Command → (an example, what it is for). Each is run by a test."""


class Formatter(argparse.HelpFormatter):
    """Breaks a paragraph where the terminal ends, and leaves what has lines of its own as it is."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return text if "\n" in text else super()._fill_text(text, width, indent)


def parser() -> argparse.ArgumentParser:
    """The whole command line. Each command answers as JSON with `--json`."""
    whole = argparse.ArgumentParser(
        prog="total-recall",
        usage="total-recall COMMAND [OPTION ...]\n       total-recall --help",
        formatter_class=Formatter,
        description="An agent's memory that writes itself: what was said in OpenClaw and Claude Code becomes "
        "memory/observations.md.",
    )
    whole.add_argument("--version", action="version", version=f"total-recall {__version__}")
    commands = whole.add_subparsers(
        dest="command", required=True, metavar="COMMAND", prog="total-recall", help=argparse.SUPPRESS
    )
    for add in GROUPS:
        add(commands)
    for name, command in commands.choices.items():
        command.add_argument("--json", action="store_true", help="answer as JSON, for programs")
        if name in EXAMPLES:
            example, what_for = EXAMPLES[name]
            command.formatter_class = Formatter
            command.epilog = f"example:\n  total-recall {example}\n      {what_for}"
    whole.epilog = "\n".join(_told({action.dest: action.help or "" for action in commands._choices_actions}))
    return whole


def _told(meaning: Mapping[str, str]) -> Iterator[str]:
    """The commands in their sections, a line each."""
    listed = {name for _, names in SECTIONS for name in names}
    width = max(map(len, meaning))
    for title, names in (*SECTIONS, ("More", tuple(name for name in meaning if name not in listed))):
        there = [name for name in names if name in meaning]
        if there:
            yield from (f"{title}:", *(f"    {name:<{width}}  {meaning[name]}" for name in there), "")
    yield "`total-recall COMMAND --help` explains one, with an example. WHEN is 36h, 7d, today, yesterday,"
    yield '"last week", 2026-11, 2026-11-28 or 2026-11-28T09:00. Every command answers as JSON with --json.'
    yield "Exit codes: 0 done or nothing to do, 1 expected failure, 2 usage, 3 a bug."
