"""The one place that asks what time it is."""

from __future__ import annotations

from datetime import datetime, timezone


def now() -> datetime:
    """The current time, aware, in UTC."""
    return datetime.now(timezone.utc)


def from_epoch_ms(milliseconds: float) -> datetime:
    """An aware UTC time from milliseconds since 1970.

    Raises OverflowError, OSError or ValueError when no calendar has that date.
    """
    return datetime.fromtimestamp(milliseconds / 1000, timezone.utc)
