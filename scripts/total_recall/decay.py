"""How a memory fades (design section 7), and the inverse: on which day it will have. Pure.

Importance is 0-10 as recorded and is never rewritten: every curve is a function of it and of whole days, so that
running anything twice, or a week late, gives the same.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import date, timedelta
from typing import Final

from total_recall.records import ObservationType

TTL_DAYS: Final[Mapping[ObservationType, int | None]] = {
    "event": 14, "context": 30, "fact": 90, "preference": 180, "goal": 365, "habit": 365, "rule": None,
}  # fmt: skip
"""Days after which a line of a type has expired (design section 6); a rule never does."""

LOSS_A_DAY: Final[Mapping[ObservationType, float]] = {
    "event": 0.5, "context": 0.1, "fact": 0.1, "preference": 0.02, "goal": 0.0, "habit": 0.0, "rule": 0.0,
}  # fmt: skip
"""Importance that a line of a type loses a day, for the decision whether to archive it (design section 7)."""

ARCHIVE_BELOW: Final = 3.0
"""A line whose remaining importance is lower has faded: that is where 🟢 begins."""


def remaining(kind: ObservationType, importance: float, days: int) -> float:
    """What is left of an importance after `days` without an access: `max(0, importance − rate × days)`."""
    return max(0.0, importance - LOSS_A_DAY[kind] * max(0, days))


def days_until_below(kind: ObservationType, importance: float, threshold: float = ARCHIVE_BELOW) -> int | None:
    """The first whole day on which `remaining` is below the threshold; 0 when it is from the start, None for never."""
    if importance < threshold:
        return 0
    rate = LOSS_A_DAY[kind]
    if rate == 0:
        return None
    days = math.floor((importance - threshold) / rate)
    # One off either way where the division rounds.
    while days > 0 and remaining(kind, importance, days - 1) < threshold:
        days -= 1
    while not remaining(kind, importance, days) < threshold:
        days += 1
    return days


def expires(kind: ObservationType, since: date) -> date | None:
    """The first day on which a line is older than its type is kept; None for never."""
    ttl = TTL_DAYS[kind]
    return None if ttl is None else since + timedelta(days=ttl + 1)


def fades(kind: ObservationType, importance: float, since: date, threshold: float = ARCHIVE_BELOW) -> date | None:
    """The first day on which a line's remaining importance is below the threshold; None for never."""
    days = days_until_below(kind, importance, threshold)
    return None if days is None else since + timedelta(days=days)


def exponential(age_days: float, rate: float, floor: float) -> float:
    """`floor + (1 − floor) · exp(−rate · age)`: 1 at age 0, never below `floor`. A negative age counts as 0."""
    return floor + (1.0 - floor) * math.exp(-rate * max(0.0, age_days))


def exponential_age(value: float, rate: float, floor: float) -> float | None:
    """The age in days at which `exponential` comes down to `value`; None when it never does."""
    if value >= 1.0:
        return 0.0
    if rate <= 0 or value <= floor:
        return None
    return -math.log((value - floor) / (1.0 - floor)) / rate
