"""How much a statement matters and what it is: the offline compressor's judgement, as tables. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from typing import Literal

from total_recall.llm import cues
from total_recall.llm.statements import Kind, Statement
from total_recall.records import Certainty, ObservationType, Priority
from total_recall.text import Language, content_words, names, numbers

Voice = Literal["owner", "other", "assistant"]

HIGH, MEDIUM, WORTH_KEEPING = 6.0, 3.0, 2.0

_BASE: tuple[tuple[cues.Cue, ObservationType, float], ...] = (
    ("rule", "rule", 8.0),
    ("health", "fact", 7.5),
    ("deadline", "goal", 6.2),
    ("decision", "preference", 6.3),
    ("preference", "preference", 6.0),
    ("goal", "goal", 5.8),
    ("commitment", "goal", 4.8),
    ("habit", "habit", 5.0),
    ("personal", "fact", 5.4),
    ("error", "event", 4.4),
    ("event", "event", 4.4),
    ("particulars", "fact", 3.7),
    ("context", "context", 3.2),
    ("outcome", "event", 3.8),
)
"""What an owner's statement is and is worth, by the first cue that it shows; later cues only raise it a little."""

_PLAIN, _FRAGMENT = 2.2, 1.0
_PLAIN_WORDS, _FRAGMENT_WORDS = 4, 3
_OWNER_MOST = 9.5
_SECOND_CUE, _MOST_SECOND_CUES = 0.25, 0.75
_RAISE: dict[str, float] = {"date": 0.8, "amount": 0.6, "name": 0.3, "number": 0.2, "correction": 2.0, "remember": 1.6}
_HEDGED = -0.9

_ASSISTANT_BASE: dict[str, float] = {"outcome": 3.4, "error": 3.6, "advice": 0.4, "plain": 0.9}
_ASSISTANT_RAISE: dict[str, float] = {"date": 1.8, "amount": 0.9, "name": 0.5, "number": 0.4, "answers": 0.5}
_ASSISTANT_MOST, _OTHER_MOST = 5.9, 5.5
_OTHERS_SHARE = 0.85

_LOOK_UP_MOST = 1.8
_REQUEST, _LOOK_UP, _QUESTION, _MACHINERY = 2.4, 0.8, 1.2, -3.0
_REQUEST_RAISE: tuple[tuple[cues.Cue, float], ...] = (
    ("event", 0.9),
    ("deadline", 1.8),
    ("commitment", 1.8),
    ("error", 0.8),
)

_CERTAINTY: dict[tuple[Voice, bool], tuple[Certainty, float]] = {
    ("owner", False): ("explicit", 0.95),
    ("owner", True): ("inference", 0.6),
    ("assistant", False): ("implicit", 0.8),
    ("assistant", True): ("weak", 0.45),
    ("other", False): ("implicit", 0.75),
    ("other", True): ("weak", 0.4),
}
"""By who says it and whether it is hedged ("I think", 아마)."""

_AMOUNT = re.compile(
    r"[$€£¥₩]\s?\d|\d[\d.,]*\s?(?:[kK]?\s?(?:USD|EUR|KRW|GBP|JPY|CHF)\b|(?:won|dollars?|euros?|pounds?|yen|kg|km|cm|mm|lbs?|GB|MB|TB|percent|hours?|people|"
    r"persons?|guests?|nights?|g|m|l|ml)\b|%|€|만|억|원|시간|명|개|박|円|人|元|块|名)"
)


@dataclass(frozen=True, slots=True)
class Rating:
    """The judgement on one statement; `importance` is 0-10, `confidence` 0-1."""

    type: ObservationType
    importance: float
    confidence: float
    certainty: Certainty

    @property
    def priority(self) -> Priority:
        return priority_of(self.importance)


def priority_of(importance: float) -> Priority:
    """high from 6, medium from 3, else low."""
    return "high" if importance >= HIGH else "medium" if importance >= MEDIUM else "low"


def rate(statement: Statement, voice: Voice, refers: date | None = None, *, answers: bool = False) -> Rating:
    """What `statement` is worth when `voice` says it; `refers` is the day that was found in it.

    Only the owner founds a rule, a preference, a goal or a habit: from anybody else the same words are a fact or an
    event. `answers` says that it comes right after a question.
    """
    marks = _marks(statement, refers)
    certainty, confidence = _CERTAINTY[voice, cues.has("hedge", statement.text, statement.language)]
    kind, importance = _RATERS[voice](statement, marks, answers)
    if cues.has("machinery", statement.text, statement.language):
        importance += _MACHINERY
    return Rating(kind, round(min(max(importance, 0.0), 10.0), 1), confidence, certainty)


def _marks(statement: Statement, refers: date | None) -> frozenset[str]:
    """What raises a statement: which of date, amount, name, number, correction and remember it has."""
    text = statement.text
    found = {
        "date": refers is not None,
        "amount": bool(_AMOUNT.search(text)),
        "name": bool(names(text)),
        "number": bool(numbers(text)),
        "correction": cues.has("correction", text, statement.language),
        "remember": statement.remember,
    }
    return frozenset(mark for mark, present in found.items() if present)


def _owner(statement: Statement, marks: frozenset[str], answers: bool) -> tuple[ObservationType, float]:
    if statement.kind == "question":
        return "context", _QUESTION + sum(_RAISE[mark] for mark in marks & {"date", "amount", "name"})
    shown = _shown(statement)
    if statement.kind == "request" and not shown & {"rule", "preference", "decision"}:
        return _request(statement, marks, shown)
    plain: tuple[ObservationType, float] = ("fact", _PLAIN if marks or _tells(statement, _PLAIN_WORDS) else _FRAGMENT)
    kind, importance = next(((kind, base) for cue, kind, base in _BASE if cue in shown), plain)
    if kind in ("event", "context") and not marks and not _tells(statement, _FRAGMENT_WORDS):
        importance = _FRAGMENT
    importance += min(_SECOND_CUE * max(len(shown) - 1, 0), _MOST_SECOND_CUES)
    if cues.has("hedge", statement.text, statement.language):
        importance += _HEDGED
    return kind, min(importance + sum(_RAISE[mark] for mark in marks), _OWNER_MOST)


_SPACED = frozenset({"en", "es", "de", "fr"})


def _tells(statement: Statement, words: int) -> bool:
    """Whether there are at least so many words of meaning; without spaces, pairs of characters stand for them."""
    return len(content_words(statement.text)) >= (words if statement.language in _SPACED else words + 1)


def _shown(statement: Statement) -> frozenset[cues.Cue]:
    return frozenset(cue for cue, _, _ in _BASE if cues.has(cue, statement.text, statement.language))


def _request(statement: Statement, marks: frozenset[str], shown: frozenset[cues.Cue]) -> tuple[ObservationType, float]:
    look_up = cues.has("reading", statement.text, statement.language)
    importance = _LOOK_UP if look_up else _REQUEST
    importance += sum(raised for cue, raised in _REQUEST_RAISE if cue in shown)
    importance += sum(_RAISE[mark] for mark in marks)
    if look_up:
        return "event", min(importance, _LOOK_UP_MOST)
    return ("goal" if "date" in marks and shown & {"deadline", "commitment"} else "event"), importance


def _assistant(statement: Statement, marks: frozenset[str], answers: bool) -> tuple[ObservationType, float]:
    text, language = statement.text, statement.language
    if statement.kind != "statement" and not cues.has("outcome", text, language):
        return "context", 0.0
    role = _role(text, language)
    raised = sum(_ASSISTANT_RAISE[mark] for mark in marks & set(_ASSISTANT_RAISE)) + (
        _ASSISTANT_RAISE["answers"] if answers else 0.0
    )
    importance = _ASSISTANT_BASE[role] + (raised * 0.4 if role == "advice" else raised)
    return ("event" if role in ("outcome", "error") else "fact"), min(importance, _ASSISTANT_MOST)


def _role(text: str, language: Language) -> str:
    """What an assistant's sentence is. One that opens with what was done is an outcome, whatever advice follows."""
    if cues.pattern("outcome", language).match(text):
        return "outcome"
    order: tuple[cues.Cue, ...] = ("advice", "outcome", "error")
    return next((cue for cue in order if cues.has(cue, text, language)), "plain")


def _other(statement: Statement, marks: frozenset[str], answers: bool) -> tuple[ObservationType, float]:
    kind, importance = _owner(statement, marks, answers)
    ruled = kind in ("rule", "preference", "goal", "habit")
    told: ObservationType = ("event" if "date" in marks or kind == "rule" else "fact") if ruled else kind
    return told, min(importance * _OTHERS_SHARE, _OTHER_MOST)


_RATERS = {"owner": _owner, "assistant": _assistant, "other": _other}

__all__ = ["HIGH", "MEDIUM", "WORTH_KEEPING", "Kind", "Rating", "Voice", "priority_of", "rate"]
