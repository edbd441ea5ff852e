"""What the log of events knows of what is forgotten goes too: the messages, and whatever else holds the words.

An agent reads its memory with a tool, and what the tool returned is an event.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from total_recall.memory.traces import Words
from total_recall.sidecar import upkeep
from total_recall.sidecar.database import NAME, Events
from total_recall.state import sole

WAIT_SECONDS: Final = 120.0
ASKED_WORDS: Final = 6
"""So many of the longest words of a text are asked for; what is found is looked at."""
MOST_TEXTS: Final = 500


def forget_events(
    own_dir: Path, messages: Sequence[tuple[str, str]], sessions: Sequence[str], texts: Sequence[str]
) -> None:
    """Take messages, (session id, entry id), whole sessions, by id, and what has these texts out of the log of events.

    Copies of a damaged log go. Nothing where there is no log. Raises AlreadyRunning when another process writes it for
    two minutes, StoreError and MemoryWriteError when it cannot be changed.
    """
    for copy in own_dir.glob(f"{NAME}.damaged*"):
        copy.unlink(missing_ok=True)
    if not (own_dir / NAME).exists():
        return
    words = Words(texts)
    asked = [" ".join(sorted(text.split(), key=len)[-ASKED_WORDS:]) for text in sorted(words.texts)[:MOST_TEXTS]]
    with sole("logging", own_dir, WAIT_SECONDS), Events.open(own_dir) as events:
        upkeep.forget(events, dict.fromkeys((session, _of_host(entry)) for session, entry in messages))
        for session in sessions:
            upkeep.forget_session(events, session)
        upkeep.forget_saying(events, asked, words.stand_in)
        # A process that was killed after it had removed them may not have come to this.
        upkeep.vacuum(events)


def _of_host(entry_id: str) -> str:
    """The host's id of an entry, of which there may be several in one transcript."""
    name, mark, number = entry_id.rpartition("~")
    return name if mark and number.isdecimal() else entry_id
