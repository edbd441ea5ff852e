"""setup, uninstall, doctor: what makes it work by itself, takes it out, and says what is wrong."""

from __future__ import annotations

from total_recall.arguments.values import Commands, agent, dry_run


def add(commands: Commands) -> None:
    """Add these commands."""
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
    setting_up.add_argument(
        "--host",
        dest="hosts",
        action="append",
        choices=["claude-code"],
        default=[],
        help="remember the sessions of this host too, a memory a project",
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
    dry_run(setting_up, removing)
    agent(diagnosing)
