"""observe, recover, flush, watch: what takes in what was said."""

from __future__ import annotations

from total_recall.arguments.values import Commands, agent, count, dry_run, moment


def add(commands: Commands) -> None:
    """Add these commands."""
    observing = commands.add_parser(
        "observe",
        help="turn what was said since the last run into observations",
        description="Read what is new in the session stores and add observations to memory/observations.md. "
        "The first run takes the last 24 hours and marks what is older as seen.",
    )
    when = observing.add_mutually_exclusive_group()
    when.add_argument(
        "--since",
        type=moment,
        metavar="WHEN",
        help="also take what was marked as seen, from then on: 36h, 7d, yesterday, 2026-11-28",
    )
    when.add_argument("--all", action="store_true", help="also take everything that was marked as seen")
    observing.add_argument("--session", metavar="ID", help="only this session, the whole of it")
    observing.add_argument(
        "--max-batches", type=count, metavar="N", help="ask a model for at most N batches in this run"
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
        "--seconds", type=count, default=60, metavar="N", help="how long it may take; default: %(default)s"
    )
    for command in (recovering, flushing):
        command.add_argument("--trigger", default="", metavar="EVENT", help="what set it off, for the log")

    watching = commands.add_parser(
        "watch",
        help="observe as soon as enough was said (a daemon)",
        description="Watches the session stores and starts observe when OBSERVER_LINE_THRESHOLD new messages wait, at "
        "most once in OBSERVER_COOLDOWN_SECS. Ends on SIGTERM; reads its settings again on SIGHUP.",
    )
    dry_run(observing)
    agent(observing, recovering, flushing, watching)
