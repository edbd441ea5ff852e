"""why, pin, unpin, forget: what one memory comes from, keeping it for good, and letting it go."""

from __future__ import annotations

from total_recall.arguments.values import Commands, agent, dry_run, moment


def add(commands: Commands) -> None:
    """Add these commands."""
    asking = commands.add_parser(
        "why",
        help="where a memory comes from",
        description="The conversation, the time and the very messages that a memory was made from, what it took the "
        "place of, and what became of it.",
    )
    asking.add_argument("id", metavar="ID", help="an id, an archive name (OBS-…, CHUNK-…), or the beginning of one")

    pinning = commands.add_parser(
        "pin",
        help="keep a memory for good",
        description="A pinned memory is never archived, merged or dropped. An archived one comes back into the memory.",
    )
    unpinning = commands.add_parser(
        "unpin", help="let a pinned memory age again", description="The memory ages from now on as others do."
    )
    for command in (pinning, unpinning):
        command.add_argument("id", metavar="ID", help="an id, or an archive name, or the beginning of one")

    forgetting = commands.add_parser(
        "forget",
        help="take something out of everything that is kept",
        description="Forget memories with the messages that they were made from: in the memory, its archive, backups, "
        "index and logs. Shows what would go, and asks. It is not observed again.",
    )
    forgetting.add_argument(
        "what", nargs="*", metavar="WHAT", help='ids, archive names, or words that all occur; "a phrase" as it stands'
    )
    forgetting.add_argument("--session", metavar="ID", help="all that a session said, by its id or key")
    forgetting.add_argument("--since", type=moment, metavar="WHEN", help="what was said from then on: 36h, 2026-11-28")
    forgetting.add_argument("--until", type=moment, metavar="WHEN", help="what was said up to then")
    forgetting.add_argument(
        "--keep-backups", action="store_true", help="leave older versions of the memory in its backups as they are"
    )
    forgetting.add_argument("--yes", action="store_true", help="do not ask")
    dry_run(forgetting)
    agent(asking, pinning, unpinning, forgetting)
