"""What repeats, confirms or corrects a line that is there already. Pure."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date

from total_recall.dates import annotate
from total_recall.llm import cues, wording
from total_recall.llm.candidates import Candidate, with_messages
from total_recall.llm.scoring import Voice
from total_recall.llm.statements import Turn
from total_recall.text import containment, content_words, negations, numbers, plain_line, same_statement
from total_recall.tokens import count_words

_CONFIRMS = 0.6
_CONFIRMED: dict[Voice, float] = {"owner": 0.97, "other": 0.8}
_SHORTEST_CONFIRMATION_WORDS = 2
_RECENT = 8


def add(found: list[Candidate], candidate: Candidate) -> None:
    """Adds `candidate`; one that was said before in this batch lends its sources to the earlier line instead."""
    for at, other in enumerate(found):
        if other.told == candidate.told or (
            other.voice == candidate.voice and same_statement(other.told, candidate.told, threshold=0.9)
        ):
            found[at] = with_messages(
                other, candidate.messages, max(other.rating.importance, candidate.rating.importance)
            )
            return
    # The assistant's sentence that a question and its answer quote in full need not stand twice.
    found[:] = [other for other in found if other.voice != "assistant" or other.plain not in candidate.plain]
    found.append(_correcting(found, candidate))


_CORRECTS = 0.5


def _correcting(found: list[Candidate], candidate: Candidate) -> Candidate:
    """A correction matters as much as what it corrects, and the earlier line says that it was corrected."""
    if candidate.voice == "assistant" or not cues.has("correction", candidate.plain, candidate.language):
        return candidate
    for at in range(len(found) - 1, -1, -1):
        other = found[at]
        if other.voice != candidate.voice or containment(_worded(other.plain), _worded(candidate.plain)) < _CORRECTS:
            continue
        if numbers(other.plain) != numbers(candidate.plain) or negations(other.plain) != negations(candidate.plain):
            found[at] = replace(other, told=wording.corrected_later(other.told, other.language))
            higher = max(other.rating.importance, candidate.rating.importance)
            return replace(candidate, rating=replace(candidate.rating, importance=higher))
    return candidate


_DIGITS = re.compile(r"\d\S*")


def _worded(text: str) -> str:
    return _DIGITS.sub(" ", text)


def echoes(turn: Turn, earlier: Turn | None) -> bool:
    """Whether a reply merely contains what it replies to."""
    if earlier is None or earlier.message.role != "user":
        return False
    typed, reply = plain_line(earlier.message.text), plain_line(turn.message.text)
    return len(typed) > 3 and typed.casefold() in reply.casefold() and count_words(reply) <= count_words(typed) + 10


def confirms(bare: str, named: frozenset[str], turn: Turn, found: list[Candidate], day: date) -> bool:
    """Merges a confirmation into the line it confirms, and says whether it was one.

    It confirms a recent line of a person when it adds no number and no name, denies no more and no less, and most of
    its words are there: "I will remember that your deadline is 2026-12-14". Where the person said "she", the name that
    the assistant gives makes the line clearer.
    """
    dated, _ = annotate(bare, day, turn.language)
    if len(content_words(bare)) < _SHORTEST_CONFIRMATION_WORDS:
        return any(containment(bare, other.plain) == 1 for other in found[-_RECENT:])
    for at in range(len(found) - 1, max(-1, len(found) - 1 - _RECENT), -1):
        other = found[at]
        if other.voice == "assistant" or other.at > turn.message.at:
            continue
        known = f"{other.plain} {other.told}"
        shared = containment(bare, known)
        new_numbers = numbers(dated) - numbers(known)
        # "Never order without asking" may well come back as "I will always ask".
        agrees = bool(negations(bare)) == bool(negations(other.plain)) or other.rating.type in ("rule", "preference")
        if shared >= _CONFIRMS and not new_numbers and agrees:
            clearer = {name for name in named if name not in known and name in bare}
            if clearer and not cues.pattern("depends", other.language).match(other.plain):
                continue
            confirmed = with_messages(other, (turn.message,), other.rating.importance, _CONFIRMED[other.voice])
            found[at] = (
                replace(confirmed, told=plain_line(wording.confirmed(dated, turn.language)), plain=dated)
                if clearer
                else confirmed
            )
            return True
    return _sums_up(bare, dated, [other for other in found[-_RECENT:] if other.voice != "assistant"])


def _sums_up(bare: str, dated: str, recent: list[Candidate]) -> bool:
    """Whether the sentence only puts together what several lines have said already."""
    known = " ".join(f"{other.plain} {other.told}" for other in recent)
    return containment(bare, known) >= _CONFIRMS and numbers(dated) <= numbers(known) and bool(numbers(dated))
