"""When the watcher looks, when it starts an observer, and when it complains: decisions without effects.

All times are seconds of the monotonic clock: a changed wall clock must neither delay nor repeat anything.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

QUIET_SECONDS = 0.15
"""After a change one waits this long for what belongs to it: a transcript entry is several writes."""
APART_SECONDS = 0.4
"""While the host goes on writing, two looks begin this far apart."""
SAFETY_SECONDS = 60.0
"""How often one looks although nothing was heard: events get lost, and some file systems send none."""
POLL_SECONDS = 5.0
"""How often one looks where there are no events at all."""
RETRY_SECONDS = 2.0
"""How soon one looks again at what could not be read or was being taken by another process."""
SETTLE_SECONDS = 2.0
"""How long an update may take to put all its files in place."""
JUMP_SECONDS = 60.0
"""By how much the wall clock may drift from the monotonic one before that means suspend, or a changed clock."""


@dataclass(frozen=True, slots=True)
class Rhythm:
    """When to look at the stores. `at` is the next time, `looked` when the last look began."""

    at: float
    looked: float = float("-inf")

    def noticed(self, now: float) -> Rhythm:
        """Something has changed: look soon, but not much more often than twice a second."""
        return self.by(max(now + QUIET_SECONDS, self.looked + APART_SECONDS))

    def by(self, at: float) -> Rhythm:
        """Look at the given time at the latest."""
        return replace(self, at=min(self.at, at))

    def after_look(self, began: float, hears: bool) -> Rhythm:
        """The next look when nothing happens. `hears` says whether a change would be heard of."""
        return Rhythm(began + (SAFETY_SECONDS if hears else POLL_SECONDS), began)


@dataclass(frozen=True, slots=True)
class Pace:
    """When to start the observer of one memory: at `threshold` waiting messages, `cooldown` s after the last start.

    How many wait is counted anew each time. What an observer that cron started took is not waiting any more; what came
    during the cooldown, or was left by an observer that failed, is.
    """

    threshold: int
    cooldown: float
    started: float | None = None

    def due_at(self, waiting: int) -> float | None:
        """When to start it for so many waiting messages; None: not before there are more."""
        if waiting < self.threshold:
            return None
        return float("-inf") if self.started is None else self.started + self.cooldown

    def is_due(self, waiting: int, now: float) -> bool:
        at = self.due_at(waiting)
        return at is not None and at <= now

    def begun(self, now: float) -> Pace:
        return replace(self, started=now)


class Complaints:
    """Which of many equal complaints is told: the first, second, fourth, eighth … in a row."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def worth_telling(self, subject: str) -> str | None:
        """None, or what to add to the complaint: how often it has been so."""
        count = self._counts[subject] = self._counts.get(subject, 0) + 1
        if count & (count - 1):
            return None
        return f" ({count} times now)" if count > 1 else ""

    def settled(self, subject: str) -> bool:
        """It works again; whether there had been a complaint."""
        return self._counts.pop(subject, 0) > 0


def jumped(wall_before: float, monotonic_before: float, wall: float, monotonic: float) -> float:
    """Seconds by which the wall clock went another way than the monotonic one; 0.0 for what is no more than drift."""
    drift = (wall - wall_before) - (monotonic - monotonic_before)
    return drift if abs(drift) > JUMP_SECONDS else 0.0
