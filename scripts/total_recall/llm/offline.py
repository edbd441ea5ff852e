"""The compressor that needs no model: a batch of conversation becomes the observations worth keeping. Pure.

It reads the batch turn by turn, pairs what belongs together (an answer with its question, a request with its outcome,
a statement with its confirmation), rates each piece, tells it in the past, and keeps the best within a fifth of the
words. The same batch gives the same observations.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta, tzinfo

from total_recall import taint
from total_recall.dates import annotate, find_dates
from total_recall.llm import cues, wording
from total_recall.llm.answers import answer_of, with_outcome
from total_recall.llm.candidates import Candidate, candidate_of, local_day, replies_to, speaker_of
from total_recall.llm.confirmations import add, confirms, echoes
from total_recall.llm.outcomes import Used, outcome_of
from total_recall.llm.scoring import MEDIUM, WORTH_KEEPING, Rating, priority_of, rate
from total_recall.llm.statements import Statement, Turn, read
from total_recall.llm.wording import Speaker
from total_recall.records import Batch, Observation
from total_recall.text import Language, language_of, names, numbers
from total_recall.tokens import count_words

KEPT_SHARE = 0.2
KEPT_FLOOR_WORDS = 80
"""At most a fifth of a batch's words are kept, but a short batch may keep this many."""

ORDER_MOST = 2.9
"""What somebody else told the agent to do matters at most so much."""

_MOST_PER_REPLY = 2
_RECENT = 8


def compress(batch: Batch, *, tz: tzinfo) -> tuple[Observation, ...]:
    """The observations of `batch` in time order, their times in `tz`; empty when nothing in it is worth keeping.

    Their texts together have at most a fifth of the words of the batch, or `KEPT_FLOOR_WORDS`; what the owner asked to
    have remembered comes on top of that.
    """
    kept = _within_budget(_candidates(batch, tz), batch)
    return tuple(_observations(sorted(kept, key=lambda candidate: (candidate.at, candidate.order)), tz))


def rates_medium(batch: Batch, *, tz: tzinfo) -> bool:
    """Whether anything in `batch` is of medium importance or higher, so that "nothing notable" cannot be right."""
    return any(candidate.rating.importance >= MEDIUM for candidate in _candidates(batch, tz))


# --- reading the conversation ----------------------------------------------------------------------------------


def _candidates(batch: Batch, tz: tzinfo) -> list[Candidate]:
    typed = " ".join(message.text[:500] for message in batch.messages if message.role == "user")
    language = language_of(typed[:4_000])
    found: list[Candidate] = []
    for session in dict.fromkeys(message.session_id for message in batch.messages):
        context = [message for message in batch.context if message.session_id == session]
        turns = [read(message, language) for message in batch.messages if message.session_id == session]
        _read_session(turns, read(context[-1], language) if context else None, found, tz)
    return found


def _read_session(turns: Sequence[Turn], before: Turn | None, found: list[Candidate], tz: tzinfo) -> None:
    """Adds to `found` what one session says: an answer belongs to a question of its own session."""
    several = len({(turn.message.speaker, turn.message.is_owner) for turn in turns if turn.message.role == "user"}) > 1
    used: Used = set()
    for at, turn in enumerate(turns):
        earlier = turns[at - 1] if at else before
        if turn.message.role == "user":
            fresh = _of_user(turns, at, earlier, found, used, tz, several)
        else:
            fresh = _of_assistant(turn, at, earlier, found, used, tz)
        for candidate in fresh:
            add(found, replace(candidate, order=len(found)))


# --- people ----------------------------------------------------------------------------------------------------


def _of_user(
    turns: Sequence[Turn],
    at: int,
    earlier: Turn | None,
    found: Sequence[Candidate],
    used: Used,
    tz: tzinfo,
    several: bool,
) -> Iterator[Candidate]:
    turn = turns[at]
    if earlier is not None and (answer := answer_of(turn, earlier, tz)):
        yield with_outcome(answer, turns, at, used, tz)
        return
    for statement in turn.statements:
        if statement.kind == "request" and (outcome := outcome_of(statement, turns, at, used, tz)):
            yield outcome
            continue
        if statement.kind == "question" and any(True for _ in replies_to(turns, at)):
            continue
        for clause in _clauses(statement):
            yield _stated(clause, turn, tz, found, named=several)
    if turn.shared:
        speaker = speaker_of(turn.message)
        text = wording.shared(turn.shared.words, turn.shared.beginning, speaker, turn.language)
        rating = Rating("context", WORTH_KEEPING, 0.9, "explicit")
        yield candidate_of(text, text, rating, None, turn, (turn.message,))


_CLAUSE = {
    "en": re.compile(r"(?:,? and|,? but|;)\s+(?=(?:I(?:['’][mv]e?)?|my|we|our|the|s?he|it|they|his|her)\b)", re.I),
    "es": re.compile(r"(?:,? y|;)\s+(?=(?:yo|mi|el|la|me|vivo)\b)", re.IGNORECASE),
    "de": re.compile(r"(?:,? und|;)\s+(?=(?:ich|mein\w*|die|der|das|wir)\b)", re.IGNORECASE),
    "fr": re.compile(r"(?:,? et|;)\s+(?=(?:je|j['’]|m[ao]n?|le|la|nous)\b)", re.IGNORECASE),
}  # fmt: skip
_SHORTEST_CLAUSE_WORDS = 3


def _clauses(statement: Statement) -> tuple[Statement, ...]:
    """One sentence as two where its halves are of different types: a preference and a deadline age differently."""
    divider = _CLAUSE.get(statement.language)
    for match in divider.finditer(statement.text) if divider and statement.kind == "statement" else ():
        halves = (statement.text[: match.start()], statement.text[match.end() :])
        if all(len(half.split()) >= _SHORTEST_CLAUSE_WORDS for half in halves):
            pair = tuple(replace(statement, text=half) for half in halves)
            left, right = (rate(half, "owner") for half in pair)
            if left.type != right.type and min(left.importance, right.importance) >= MEDIUM:
                return (pair[0], *_clauses(pair[1]))
    return (statement,)


def _stated(statement: Statement, turn: Turn, tz: tzinfo, found: Sequence[Candidate], *, named: bool) -> Candidate:
    """A person's statement as a line of its own."""
    speaker = wording.quoted(statement.language) if statement.quoted else speaker_of(turn.message)
    day = _day_to_count_from(statement, local_day(turn.message, tz), found)
    dated, refers = annotate(statement.text, day, statement.language)
    rating = rate(statement, speaker.voice, refers)
    if rating.type in ("rule", "habit") and not numbers(statement.text):
        # "Never deploy on Friday" is about every Friday.
        dated, refers = statement.text, None
        rating = rate(statement, speaker.voice, None)
    imperative = statement.kind == "request" or _commands(statement)
    is_order = speaker.voice != "owner" and _is_order(statement)
    if is_order:
        rating = _attempt(rating)
    if is_order or statement.quoted:
        text = (wording.asked if imperative else wording.said)(dated, speaker, statement.language)
    elif statement.kind == "question":
        text = wording.asked(dated, speaker, statement.language)
    else:
        text = wording.told(dated, speaker, statement.language, imperative=imperative)
    if named and not text.startswith(wording.name_of(speaker, statement.language)):
        text = wording.said(dated, speaker, statement.language)
    candidate = candidate_of(text, dated, rating, refers, turn, (turn.message,))
    return replace(candidate, voice=speaker.voice, asked_for=statement.remember and speaker.voice == "owner")


def _is_order(statement: Statement) -> bool:
    return statement.remember or taint.is_order(statement.text)


def _attempt(rating: Rating) -> Rating:
    """Somebody who is not the owner told the agent what to do, or what the owner wants: that happened, no more."""
    return replace(rating, type="event", importance=min(rating.importance, ORDER_MOST))


def _day_to_count_from(statement: Statement, said: date, found: Sequence[Candidate]) -> date:
    """The day from which weekdays count: usually that of the message.

    "Not Tuesday, Wednesday" corrects a Tuesday that was named just before, which may be that of next week: the other
    weekday is meant in the same week then, so that one counts from the Sunday before it.
    """
    mentions = find_dates(statement.text, said, statement.language)
    left = [mention.day.weekday() for mention in mentions if mention.left_behind]
    if len(mentions) == 2 and left:
        for other in reversed(found[-_RECENT:]):
            if other.refers and other.refers > said and other.refers.weekday() == left[0]:
                return other.refers - timedelta(days=other.refers.weekday() + 1)
    return said


_COMMAND: dict[Language, re.Pattern[str]] = {
    "en": re.compile(
        r"(?:from now on|in (?:the )?future|never|always|don't|do not|please|keep|make|use|call|answer|reply|respond|"
        r"write|ask|avoid|stop|let's|go with|be|speak|address)\b",
        re.IGNORECASE,
    ),
    "ko": re.compile(r".*(?:줘|주세요|세요|지 ?마|마라|말아|말 것|할 것|해라|하자)[요]?[.!~]*$"),
    "ja": re.compile(r".*(?:ください|下さい|しないで|してね|こと)[。！]?$"),
    "zh": re.compile(r"(?:请|以后|别|不要|从现在起|今后)"),
    "es": re.compile(r"(?:nunca|siempre|no |de ahora en adelante|a partir de ahora|por favor)", re.IGNORECASE),
    "de": re.compile(r"(?:bitte|nie(?:mals)?|immer|ab (?:jetzt|sofort)|in zukunft)\b", re.IGNORECASE),
    "fr": re.compile(r"(?:ne |jamais|toujours|désormais|à partir de maintenant)", re.IGNORECASE),
}
"""Openings (or endings) of what is said to be done, rather than told."""


def _commands(statement: Statement) -> bool:
    told = re.match(r"(?:from now on|in (?:the )?future),? i\b", statement.text, re.IGNORECASE)
    return told is None and bool(_COMMAND[statement.language].match(statement.text))


# --- the assistant ---------------------------------------------------------------------------------------------


def _of_assistant(
    turn: Turn, at: int, earlier: Turn | None, found: list[Candidate], used: Used, tz: tzinfo
) -> Iterator[Candidate]:
    """What the assistant said on its own account: news only, not what it repeats, offers or advises."""
    if echoes(turn, earlier):
        return
    day = local_day(turn.message, tz)
    asked = earlier is not None and any(statement.kind == "question" for statement in earlier.statements)
    fresh: list[Candidate] = []
    for position, statement in enumerate(turn.statements):
        if (at, position) in used:
            continue
        bare = cues.strip("acknowledged", statement.text, statement.language)
        if not bare or confirms(bare, names(statement.text), turn, found, day):
            continue
        text = bare if cues.has("outcome", bare, statement.language) else statement.text
        dated, refers = annotate(text, day, statement.language)
        ahead = refers if refers and refers >= day else None
        rating = rate(replace(statement, text=text), "assistant", ahead, answers=asked and position == 0)
        if _is_order(statement):
            rating = _attempt(rating)
        told = wording.told(dated, Speaker("assistant"), statement.language)
        fresh.append(candidate_of(told, dated, rating, refers, turn, (turn.message,)))
    fresh.sort(key=lambda candidate: -candidate.rating.importance)
    yield from fresh[:_MOST_PER_REPLY]


# --- what is kept ----------------------------------------------------------------------------------------------


def _within_budget(candidates: list[Candidate], batch: Batch) -> list[Candidate]:
    """The best candidates that fit into a fifth of the words: the lowest rated go first, of equals the later.

    A line that is too long for what is left makes room for shorter ones behind it. No budget drops what the owner
    asked to have remembered.
    """
    words = sum(count_words(message.text) for message in batch.messages)
    budget = max(KEPT_FLOOR_WORDS, int(words * KEPT_SHARE))
    kept: list[Candidate] = []
    for candidate in sorted(candidates, key=lambda c: (-c.rating.importance, c.order)):
        if candidate.rating.importance < WORTH_KEEPING:
            break
        length = 0 if candidate.asked_for else count_words(candidate.told)
        if length <= budget:
            budget -= length
            kept.append(candidate)
    return kept


def _observations(candidates: Sequence[Candidate], tz: tzinfo) -> Iterator[Observation]:
    taken: set[str] = set()
    for candidate in candidates:
        sources = tuple((message.session_id, message.entry_id) for message in candidate.messages)
        at = candidate.at.astimezone(tz)
        identity = next(name for name in _ids(candidate.told, at, sources) if name not in taken)
        taken.add(identity)
        rating = candidate.rating
        yield Observation(
            identity, candidate.told, at, priority_of(rating.importance), rating.type, rating.importance,
            rating.confidence, rating.certainty, candidate.refers, sources=sources,
        )  # fmt: skip


_ID_LENGTH = 6


def _ids(text: str, at: datetime, sources: tuple[tuple[str, str], ...]) -> Iterator[str]:
    """Names of six letters and digits for an observation; the first one that is free is its id."""
    seed = repr((text, at.timestamp(), sources)).encode("utf-8", "surrogatepass")
    while True:
        seed = hashlib.sha256(seed).digest()
        yield base64.b32encode(seed).decode("ascii").lower()[:_ID_LENGTH]


__all__ = ["KEPT_FLOOR_WORDS", "KEPT_SHARE", "compress", "rates_medium"]
