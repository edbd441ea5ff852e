"""Requests with what came of them. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, tzinfo

from total_recall.dates import annotate
from total_recall.llm import cues, wording
from total_recall.llm.candidates import Candidate, candidate_of, local_day, replies_to, speaker_of
from total_recall.llm.scoring import WORTH_KEEPING, Rating, rate
from total_recall.llm.statements import Statement, Turn
from total_recall.records import Message
from total_recall.text import Language, containment, content_words, names, numbers, plain_line
from total_recall.tokens import count_words

_MOST_OUTCOMES = 3
_LONGEST_OUTCOME_WORDS = 30
_MOST = 5.8
"""What is done matters less than what is still to do."""

Used = set[tuple[int, int]]
"""The statements that a line has taken up already: (turn, position)."""


@dataclass(frozen=True, slots=True)
class Result:
    """What the assistant reported; `text` is None for a bare "Done."."""

    text: str | None
    failed: bool
    refers: date | None
    messages: tuple[Message, ...]


def results(turns: Sequence[Turn], at: int, used: Used, tz: tzinfo) -> Result | None:
    """The outcome told in the replies to turn `at`, at most two sentences; they count as used."""
    said: list[str] = []
    refers: date | None = None
    failed = done = False
    messages: list[Message] = []
    for number, reply in replies_to(turns, at):
        done = done or cues.has("no_news", plain_line(reply.message.text[:200]), reply.language)
        for position, statement in enumerate(reply.statements):
            text, language = statement.text, statement.language
            error = cues.has("error", text, language)
            if len(said) == _MOST_OUTCOMES or (number, position) in used or cues.has("machinery", text, language):
                continue
            outcome = _tells_outcome(text, language)
            told = error or outcome or (bool(said) and _belongs_to_outcome(text, language))
            if statement.kind == "question" or not told or count_words(text) > _LONGEST_OUTCOME_WORDS:
                continue
            used.add((number, position))
            dated, day = annotate(text, local_day(reply.message, tz), language)
            dated = dated.rstrip(".。")
            said.append(wording.continued(dated, language) if said else dated)
            refers, failed = refers or day, failed or (error and not outcome)
            if reply.message not in messages:
                messages.append(reply.message)
    if said:
        return Result("; ".join(said), failed, refers, tuple(messages))
    return Result(None, False, None, tuple(reply.message for _, reply in replies_to(turns, at))[:1]) if done else None


def _tells_outcome(text: str, language: Language) -> bool:
    opens = bool(cues.pattern("outcome", language).match(text))
    return opens or (cues.has("outcome", text, language) and not cues.has("advice", text, language))


_REFERENCE_WORDS = 10


def _belongs_to_outcome(text: str, language: Language) -> bool:
    """Whether a short sentence after an outcome gives its number: "Confirmation code QX7R2L"."""
    return bool(numbers(text)) and count_words(text) <= _REFERENCE_WORDS and cues.has("reference", text, language)


def outcome_of(statement: Statement, turns: Sequence[Turn], at: int, used: Used, tz: tzinfo) -> Candidate | None:
    """A request and its reported outcome as one line; None when nothing was reported.

    The outcome alone says enough when it names all that the request named; else both are told.
    """
    turn = turns[at]
    speaker = speaker_of(turn.message)
    dated, day = annotate(statement.text, local_day(turn.message, tz), statement.language)
    asked = rate(statement, speaker.voice, day)
    if asked.type in ("rule", "preference"):
        # A lasting instruction stays one; that it was acknowledged is no news.
        return None
    result = results(turns, at, used, tz)
    if result is None:
        return None
    refers = day or result.refers
    whole = result.text is not None and names_all(statement.text, result.text)
    if whole and result.text is not None:
        told = wording.asked_by(result.text, speaker, turn.language)
    else:
        request = wording.asked(dated, speaker, turn.language)
        told = wording.with_result(request, result.text, turn.language)
    importance = _outcome_importance(statement, result, asked)
    rating = Rating("event", min(importance, _MOST), 0.9, "explicit")
    messages = (turn.message, *result.messages)
    at_time = result.messages[0].at if whole and result.messages else turn.message.at
    return candidate_of(told, f"{dated} {result.text or ''}", rating, refers, turn, messages, at_time)


def _outcome_importance(statement: Statement, result: Result, asked: Rating) -> float:
    if result.failed:
        return round(max(3.4, min(asked.importance + 0.8, 5.8)), 1)
    if cues.has("reading", statement.text, statement.language):
        return min(asked.importance, WORTH_KEEPING - 0.2)
    if result.text is None:
        return asked.importance
    marks = 0.4 * bool(numbers(result.text)) + 0.3 * bool(names(result.text)) + 0.5 * bool(result.refers)
    return round(max(asked.importance, 3.8 + marks), 1)


_ACRONYM = 4


def names_all(request: str, outcome: str) -> bool:
    """Whether `outcome` has the numbers, the names and most of the words of `request`."""
    wanted = {name.casefold() for name in names(request) if not (name.isupper() and len(name) < _ACRONYM)}
    told = outcome.casefold()
    vague = len(content_words(request)) <= 2
    return (
        numbers(request) <= numbers(outcome)
        and all(name in told for name in wanted)
        and (vague or containment(request, outcome) >= 0.5)
    )
