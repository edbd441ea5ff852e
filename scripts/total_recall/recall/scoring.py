"""How well a memory answers a question, and how present it still is. Pure. `Parameters` holds every chosen number.

    score = similarity × decay × boost

`similarity` (0-1) is how well its words, its neighbours and whoever said it fit; `decay` (`floor`-1) falls with age;
`boost` (`superseded_factor` to about 1.7) rises with use and where the time that was asked for is met.

The figures below are what benchmarks/retrieval.py found with 759 questions about five dated conversations of two
people, which are not part of this project: the share of the turns that answer a question among the first ten is 0.786
as it stands here, and so much without the part (0.620 for FTS5 alone). Every choice lies on a plateau, on which a step
to either side changes about 0.005 at most; they are few and round, since they are meant for other conversations.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from types import MappingProxyType
from typing import Final

from total_recall.decay import exponential
from total_recall.recall.querying import Window
from total_recall.records import ObservationType

_RATES: Final[Mapping[ObservationType, float]] = {
    "event": 0.03, "context": 0.02, "fact": 0.01, "preference": 0.005, "goal": 0.003, "habit": 0.003, "rule": 0.0,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Parameters:
    """The model, in one table."""

    # --- words

    saturation: float = 0.9
    """BM25's k1: what a second occurrence adds (Robertson and Zaragoza 2009 give 1.2-2). Flat from 0.6 to 1.6."""
    length_weight: float = 0.4
    """BM25's b: how much a long memory pays for its length. Flat from 0.1 to 0.5. With k1 1.2 and b 0.75, which are
    usual for documents, 0.779."""
    coverage: float = 0.5
    """Exponent of the share of the question, by rarity, that is met. Without 0.785; the right session first in 0.742 of
    the questions instead of 0.754."""
    kin_weight: float = 0.5
    """What a word counts that only begins like the one asked for ("photograph" and "photography"). Without 0.784."""
    kin_letters: int = 4
    """How many letters two stems have to share for that."""
    typo_weight: float = 0.6
    """What a word counts that is spelt nearly like one that nobody ever used. No difference where nobody misspells."""
    hook_weight: float = 0.6
    """What a word counts that stands only among the hooks of an archived memory: other words for what it says."""
    phrase_factor: float = 2.0
    """For a memory that holds all quoted phrases; without them it is not found at all while another one has them."""

    # --- who, and in which form

    speaker_factor: float = 1.8
    """For what was said by somebody whom the question names. Without 0.761; flat from 1.5 to 2.2."""
    answer_factor: float = 1.3
    """For a memory that says when, or how many, where that is asked. Without 0.787, the right session first in
    0.746."""
    question_factor: float = 0.8
    """For a memory that is itself a question: what answers it is looked for. Without 0.780."""

    # --- association

    shares: tuple[float, ...] = (0.5, 0.3, 0.2)
    """What a memory lends to its neighbours one, two and three places away. With one place 0.769, without any
    association 0.704."""
    share_of_question: float = 0.8
    """What a question lends to what was said right after it. Like all others 0.783."""
    share_by_rare_words: float = 0.15
    """What the best memories lend to others that hold the same rare word. No difference in conversations, where
    neighbours say as much; it is for memories that lie far apart."""
    rare: int = 6
    """A word in at most so many memories is rare."""
    hubs: int = 3
    """How many of the best memories lend by rare words."""
    context: float = 1.1
    """How much a session or a day counts in which many of the words occur, wherever in it. Without 0.787, the right
    session first in 0.751."""

    # --- time

    decay_floor: float = 0.9
    """Nothing sinks further by age alone. Without decay 0.793; with a floor of 0.3 0.729, and a bare
    exp(−0.1·days) costs two thirds of all that is found: forgetting acts through what is archived and superseded, and
    here decides only between what fits alike."""
    decay_rates: Mapping[ObservationType, float] = field(default_factory=lambda: MappingProxyType(_RATES))
    """By day; half of what can be lost is lost after 23 days for an event, 69 for a fact. In the order of the archive's
    own rates (decay.LOSS_A_DAY)."""
    importance_slows: float = 0.8
    """By how much an importance of 10 slows decay, by rate × (1 − this × importance / 10)."""
    time_factor: float = 1.4
    """For a memory of the time that is asked for, by when it was said or the day that it is about. Without it, and the
    rest of the boost, the right session is first in 0.730 of the questions."""
    time_alone: float = 0.1
    """What a memory of the time that is asked for is worth, to which no word leads. 0.25 is worse by 0.008."""

    # --- use

    use_gain: float = 0.1
    """Boost for the first use: 1 + gain × log2(1 + uses) × exp(−days since the last / `use_days`)."""
    use_limit: float = 0.3
    """The most that use can add: diminishing returns end here, so what is always asked cannot hide the rest."""
    use_days: float = 30.0
    """Days in which the effect of use falls to a third."""
    used_from: float = 0.5
    """What scores so much of the best was used; the rest was only listed."""
    superseded_factor: float = 0.4
    """For a memory that a newer one has taken the place of. It also stays behind that one."""

    # --- embeddings, where there are any

    meaning: float = 0.3
    """What a likeness of meaning (0-1) adds to that of words. On the same questions with all-MiniLM-L6-v2 (384
    dimensions) recall@10 is 0.811 instead of 0.786; flat from 0.15 to 0.4, with 0.6 0.801, with 1 0.774: words lead,
    and meaning fills in. Ranks instead of scores fuse worse."""


DEFAULT: Final = Parameters()
UNDATED_AGE_DAYS: Final = 3650.0
"""How old a memory counts of which nobody knows when it was said."""


@dataclass(frozen=True, slots=True)
class Used:
    """How often a memory was recalled, and how many days ago for the last time."""

    times: int
    days_ago: float


def rarity(count: int, total: int) -> float:
    """How much a word tells that `count` of `total` memories have: BM25's inverse document frequency, above 0."""
    return math.log(1.0 + (total - count + 0.5) / (count + 0.5))


def occurrence(times: float, length: int, usual_length: float, p: Parameters = DEFAULT) -> float:
    """What a word's occurrences count, 0-1: BM25's term frequency, divided by its limit."""
    lengthened = 1.0 - p.length_weight + p.length_weight * length / max(usual_length, 1.0)
    return times / (times + p.saturation * lengthened)


def fit(met: float, met_rarity: float, asked_rarity: float, p: Parameters = DEFAULT) -> float:
    """How well the words of a memory fit, 0-1.

    `met` is the sum of rarity × occurrence over the words of the question, `met_rarity` that of the rarities of those
    that the memory has, `asked_rarity` of all.
    """
    if asked_rarity <= 0.0:
        return 0.0
    return met / asked_rarity * math.pow(min(1.0, met_rarity / asked_rarity), p.coverage)


def similarity(activation: float) -> float:
    """A sum of fits and shares, each raised or lowered by factors, as a number from 0 to below 1; keeps the order."""
    return 1.0 - math.exp(-max(0.0, activation))


def decay(kind: ObservationType | None, importance: float, age_days: float, p: Parameters = DEFAULT) -> float:
    """What age leaves of a memory, `decay_floor`-1. What has no type fades like an event."""
    rate = p.decay_rates[kind or "event"] * (1.0 - p.importance_slows * min(max(importance, 0.0), 10.0) / 10.0)
    return exponential(age_days, rate, p.decay_floor)


def strength(used: Used | None, p: Parameters = DEFAULT) -> float:
    """What use has made of a memory, 1 to 1 + `use_limit`; it fades."""
    if used is None or used.times <= 0:
        return 1.0
    fresh = math.exp(-max(0.0, used.days_ago) / p.use_days)
    return 1.0 + min(p.use_limit, p.use_gain * math.log2(1 + used.times)) * fresh


def timeliness(windows: tuple[Window, ...], days: tuple[date | None, ...], p: Parameters = DEFAULT) -> float:
    """`time_factor` where one of a memory's days lies in a time that is asked for, else 1."""
    is_met = any(first <= day <= last for day in days if day for first, last in windows)
    return p.time_factor if is_met else 1.0


def boost(strengthened: float, timed: float, is_superseded: bool, p: Parameters = DEFAULT) -> float:
    """Use × time × whether it still holds: `superseded_factor` to (1 + `use_limit`) × `time_factor`."""
    return strengthened * timed * (p.superseded_factor if is_superseded else 1.0)
