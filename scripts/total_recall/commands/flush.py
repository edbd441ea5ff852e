"""flush: observe before the host compacts a session, in bounded time."""

from __future__ import annotations

from dataclasses import dataclass

from total_recall.commands import observe
from total_recall.commands.places import Configuration
from total_recall.commands.recover import RECENT

SHARE_FOR_WAITING = 1 / 3
SHARE_FOR_MODELS = 1 / 2
"""Parts of the time: what is left is for reading and for the built-in compressor."""


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line asked for. `seconds` is how long it may take, `trigger` the host's event, for the log."""

    agent: str | None = None
    trigger: str = ""
    seconds: int = 60


def run(options: Options, config: Configuration | None = None) -> observe.Result:
    """Observe what is new. An observer that is at work is waited for, a slow model is not. Raises as `observe.run`."""
    return observe.run(
        observe.Options(
            agent=options.agent,
            command="flush",
            trigger=options.trigger,
            recent_first=RECENT,
            wait_seconds=options.seconds * SHARE_FOR_WAITING,
            patience_seconds=options.seconds * SHARE_FOR_MODELS,
        ),
        config,
    )
