"""recover: what a session held when it was reset, or when the host stopped, is observed at once.

Hooks run it at /new, /reset, automatic resets and the start of the Gateway, each time anew: where nothing is new it
costs nothing and adds nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from total_recall.commands import observe
from total_recall.commands.places import Configuration

RECENT = timedelta(hours=4)
"""What the next session will most likely be about."""
WAIT_SECONDS = 900.0
"""Nobody waits for it: an observer that asks a slow model may need this long."""


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line asked for. `trigger` is the host's event, for the log."""

    agent: str | None = None
    trigger: str = ""


def run(options: Options, config: Configuration | None = None) -> observe.Result:
    """Observe what is new, the last four hours before the rest. Raises as `observe.run` does."""
    return observe.run(
        observe.Options(
            agent=options.agent,
            command="recover",
            log="session-recovery.log",
            trigger=options.trigger,
            recent_first=RECENT,
            wait_seconds=WAIT_SECONDS,
        ),
        config,
    )
