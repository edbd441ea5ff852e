"""The lines that the offline compressor may keep, and what all of its steps ask about a turn. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, tzinfo

from total_recall.llm.scoring import Rating, Voice
from total_recall.llm.statements import Turn
from total_recall.llm.wording import Speaker
from total_recall.records import Message
from total_recall.text import Language, plain_line


@dataclass(frozen=True, slots=True)
class Candidate:
    """A line that may be kept: `told` is its final text, `plain` what it says, for comparing."""

    told: str
    plain: str
    rating: Rating
    at: datetime
    refers: date | None
    language: Language
    messages: tuple[Message, ...]
    voice: Voice
    asked_for: bool = False
    """The owner asked to have it remembered."""
    order: int = field(default=0)


def candidate_of(
    told: str,
    plain: str,
    rating: Rating,
    refers: date | None,
    turn: Turn,
    messages: tuple[Message, ...],
    at: datetime | None = None,
) -> Candidate:
    """The candidate that `turn` gives, of `messages`; `at` is when it was said, if not with the turn."""
    speaker = speaker_of(turn.message)
    return Candidate(
        plain_line(told), plain, rating, at or turn.message.at, refers, turn.language, messages, speaker.voice
    )


def with_messages(
    candidate: Candidate, messages: Iterable[Message], importance: float, confidence: float = 0.0
) -> Candidate:
    """`candidate` with more sources, and another importance; its confidence only rises."""
    together = (*candidate.messages, *(message for message in messages if message not in candidate.messages))
    rating = replace(candidate.rating, importance=importance, confidence=max(candidate.rating.confidence, confidence))
    return replace(candidate, messages=together, rating=rating)


def speaker_of(message: Message) -> Speaker:
    """Who says `message`."""
    if message.role == "assistant":
        return Speaker("assistant")
    return Speaker("owner" if message.is_owner else "other", message.speaker)


def local_day(message: Message, tz: tzinfo) -> date:
    """The day on which `message` was said, in `tz`."""
    return message.at.astimezone(tz).date()


def replies_to(turns: Sequence[Turn], at: int) -> Iterator[tuple[int, Turn]]:
    """The assistant's turns that follow turn `at`, up to the next person's."""
    for number in range(at + 1, len(turns)):
        if turns[number].message.role != "assistant":
            return
        yield number, turns[number]
