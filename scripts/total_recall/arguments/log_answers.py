"""Which command answers each action of `log`, and with what of the command line."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from total_recall.errors import TotalRecallError

if TYPE_CHECKING:
    from total_recall.commands.logged import Asked

Say = Callable[[str], None]
Answered = Any
"""A result with `payload` and `lines`, as cli.Answer has them; this module lies below it."""

# What an action needs is imported when it is run, as in cli.


def answer(o: argparse.Namespace, say: Say) -> Answered:
    """Run what was asked for. Raises TotalRecallError for what does not go together."""
    if o.action is not None:
        return _ACTIONS[o.action](o, say)
    from total_recall.commands import log

    if o.json and (o.jsonl or o.csv or o.tail):
        raise TotalRecallError("--json is one answer at the end; with --tail, --csv or --jsonl leave it out")
    if o.csv and o.tail:
        raise TotalRecallError("--tail shows lines, or JSON lines with --jsonl; --csv has an end")
    form: log.Form = "csv" if o.csv else "jsonl" if o.jsonl else "shown"
    return log.run(log.Options(_asked(o), o.limit, form, o.tail), say=say)


def _asked(o: argparse.Namespace) -> Asked:
    from total_recall.commands.logged import Asked

    if o.on and (o.since or o.until):
        raise TotalRecallError("--on is a time of its own; leave --since and --until out")
    return Asked(
        since=o.since,
        until=o.until,
        on=o.on,
        types=tuple(o.types or ()),
        tools=tuple(o.tools or ()),
        failed=o.failed,
        session=o.session or "",
        agent=o.agent,
        words=o.words or "",
    )


def _errors(o: argparse.Namespace, say: Say) -> Answered:
    from total_recall.commands import log

    return log.errors(log.Options(_asked(o), o.limit))


def _stats(o: argparse.Namespace, say: Say) -> Answered:
    from total_recall.commands import log_stats

    return log_stats.run(log_stats.Options(_asked(o)))


def _session(o: argparse.Namespace, say: Say) -> Answered:
    from total_recall.commands import log_session

    return log_session.run(log_session.Options(o.of, o.agent))


def _summary(o: argparse.Namespace, say: Say) -> Answered:
    from total_recall.commands import log_summary

    return log_summary.run(log_summary.Options(o.of, o.agent, o.dry_run))


def _ingest(o: argparse.Namespace, say: Say) -> Answered:
    from total_recall.commands import logging_events

    return logging_events.run(logging_events.Options(agent=o.agent))


def _export(o: argparse.Namespace, say: Say) -> Answered:
    from total_recall.commands import log_upkeep

    if o.json and o.of is None:
        raise TotalRecallError("the export is JSON lines already; leave --json out, or name a file")
    return log_upkeep.export(log_upkeep.ExportOptions(_asked(o), o.of), say=say)


def _prune(o: argparse.Namespace, say: Say) -> Answered:
    from total_recall.commands import log_upkeep

    return log_upkeep.prune(days=o.days, agent=o.agent)


def _vacuum(o: argparse.Namespace, say: Say) -> Answered:
    from total_recall.commands import log_upkeep

    return log_upkeep.vacuum(agent=o.agent)


_ACTIONS: Final[Mapping[str, Callable[[argparse.Namespace, Say], Answered]]] = {
    "errors": _errors,
    "stats": _stats,
    "session": _session,
    "summary": _summary,
    "ingest": _ingest,
    "export": _export,
    "prune": _prune,
    "vacuum": _vacuum,
}
