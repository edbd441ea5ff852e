"""Questions answered from what recall finds, and judged: the protocol of LoCoMo and LongMemEval, with a model of yours.

The model gets the turns that recall finds, in the order of time and with their dates, and answers in a few words; then
the judge (the same model, or another one) gets the question, the right answer and the one that was given, and says yes
or no. A question that the conversations do not answer is answered right by saying so. What a model makes of the same
turns differs from one to the next: compare figures of one model and one judge only.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

Ask = Callable[[str, str], str]
"""(system message, user message) → the reply's text. Raises whatever a model's failure is."""

UNKNOWN = "The conversations do not say."

ANSWER = (
    "You answer questions about past conversations from excerpts of them. Use the excerpts alone. Dates such as "
    "'yesterday' count from the date of the excerpt that they stand in; give dates in full. Answer in a few words, "
    f"without a sentence around them. If the excerpts do not say, answer exactly: {UNKNOWN}"
)
JUDGE = (
    "You judge answers to questions. The given answer is right when it says what the right answer says: it may be "
    "longer, shorter or in other words, and may give a date or number in another form; it is wrong when it leaves out "
    "a part of the right answer, contradicts it, or says that nothing is known although the right answer says more. "
    "Reply with one word: YES or NO."
)
_VERDICT = re.compile(r"\b(yes|no|correct|wrong)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A turn as it is shown to the model."""

    at: datetime
    speaker: str
    text: str


@dataclass(frozen=True, slots=True)
class Judged:
    """What became of one question; `is_right` is None where the judge said neither."""

    category: str
    answer: str
    is_right: bool | None


def judged(
    question: str, at: datetime, category: str, right: str | None, excerpts: Iterable[Excerpt], answer: Ask, judge: Ask
) -> Judged:
    """Answer one question, asked at `at`, and judge the answer. Without a `right` one nothing is known about it."""
    shown = "\n".join(f"[{e.at:%Y-%m-%d %H:%M}] {e.speaker}: {e.text}" for e in sorted(excerpts, key=lambda e: e.at))
    asked = f"Excerpts:\n{shown or '(none)'}\n\nQuestion, asked on {at:%Y-%m-%d}: {question}"
    given = answer(ANSWER, asked).strip()
    told = judge(JUDGE, f"Question: {question}\nRight answer: {right or UNKNOWN}\nGiven answer: {given or '(nothing)'}")
    return Judged(category, given, verdict(told))


def verdict(reply: str) -> bool | None:
    """What a judge said: the last yes or no, since some think aloud first."""
    found = _VERDICT.findall(reply)
    return found[-1].lower() in ("yes", "correct") if found else None


def summary(found: Sequence[Judged]) -> dict[str, Any]:
    """Accuracy, all together and by category; what was not judged counts as wrong and is told."""
    by_category: defaultdict[str, list[bool]] = defaultdict(list)
    for one in found:
        by_category[one.category].append(bool(one.is_right))
    return {
        "questions": len(found),
        "accuracy": _share([bool(one.is_right) for one in found]),
        "by_category": {category: _share(right) for category, right in sorted(by_category.items())},
        "not_judged": sum(one.is_right is None for one in found),
    }


def _share(right: Sequence[bool]) -> float:
    return round(sum(right) / len(right), 4) if right else 0.0
