"""context, status, demo: what shows the memory and how it is kept."""

from __future__ import annotations

from total_recall.arguments.values import Commands, agent, count

CONTEXT_TOKENS = 3000


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
        "status", help="what is remembered, what waits, and every setting", description="Look, and change nothing."
    )
    looking.add_argument("--cost", action="store_true", help="tokens and money of the last 30 days, by day and model")
    commands.add_parser(
        "demo",
        help="see it work on real transcripts that come with the source",
        description="Observe shipped OpenClaw sessions in a scratch workspace with the offline compressor.",
    )
