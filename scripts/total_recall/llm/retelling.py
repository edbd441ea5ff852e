"""Is a line a telling, or a piece of the transcript? And what is it worth, where the model's own score says nothing?

Small models copy turns as they are, tell of greetings, and give every line the same score. The rules of the offline
compressor judge those lines. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import date
from functools import lru_cache

from total_recall.llm import cues
from total_recall.llm.candidates import speaker_of
from total_recall.llm.scoring import MEDIUM, Rating, rate
from total_recall.llm.statements import Statement, read
from total_recall.llm.wording import asked, said, told
from total_recall.records import Message, ObservationType
from total_recall.text import Language, containment, content_words, language_of, negations, numbers

FLAT_LINES = 3
"""So many lines that all have one score were not scored."""
QUESTION_MOST = 2.0
"""What a person only asked matters at most so much."""
LEAST_WORTH = 1.0
"""What the rules rate lower is no line, where the model did not rate it."""
REPEATS, CONFIRMS = 0.9, 0.6
"""A line repeats another when it holds so many of its words; the assistant's confirms a person's with fewer."""
_COPIED_WORDS = 3
"""Fewer words in a row are in common with many a telling."""

_LABEL = re.compile(
    r"^[\"'“]?(?:\[[\d :-]+\]\s*)?"
    r"(?:user|owner|human|assistant|agent|other person(?: [^:：()]{1,40}?)?"
    r"|사용자|어시스턴트|다른 사람|ユーザー|アシスタント|用户|助手)"
    r"(?: \([^()]{1,40}\))?\s*[:：]\s*",
    re.I,
)
_OF_ASSISTANT = re.compile(
    r"(?:the |el |der |l['’])?(?:assistant|asistente|assistent|어시스턴트|アシスタント|助手)(?:는|가|은|이)?\s*"
    r"(?!.*\b(?:must|should|shall|never|always|is to|has to|needs? to|may|debe|muss|soll|doit)\b)",
    re.I,
)
_OF_USER = re.compile(
    r"(?:the |el |der |l['’])?(?:user|owner|usuario|nutzer|utilisateur|사용자|ユーザー|用户)(?!['’]s|의|の|的)", re.I
)
_IMPERATIVE = re.compile(
    r"^(?:(?:and|also|but|so|then|please|oh|btw|그리고|또)[ ,]+)*"
    r"(?:don['’]t|do not|never|always|no more|stop|avoid|keep|use|be|answer|write|call)\b"
    r"|(?:지 ?마|말아|말 ?것|마세요|말라고)(?:[\s.!~]|$| 함)",
    re.I,
)
_MARKS = re.compile(r"[^\w]+")


def unlabelled(text: str, speakers: Iterable[str]) -> tuple[str, bool]:
    """(`text` without a speaker's label as in a transcript, whether there was one); `speakers` by name."""
    bare = _LABEL.sub("", text)
    for name in speakers:
        if bare.startswith((f"{name}: ", f"{name}：")):
            bare = bare[len(name) + 1 :].lstrip()
    return bare, bare != text


def copied_from(text: str, messages: Sequence[Message], *, was_labelled: bool) -> Message | None:
    """The message in which `text` stands so, if it cannot stand alone as something told.

    "The roofer wants 2,480 EUR" may; "my sister moved", a question, or what the assistant advised may not, nor what
    had a speaker's label before it.
    """
    bare = _letters(text)
    if not was_labelled and len(bare.split()) < _COPIED_WORDS and len(content_words(text)) < _COPIED_WORDS:
        return None
    holding = [m for m in messages if f" {bare} " in f" {_letters(m.text)} "]
    if holding and (was_labelled or not any(_stands_alone(text, m) for m in holding)):
        return holding[0]
    return None


def _stands_alone(text: str, message: Message) -> bool:
    language = language_of(text)
    if text.rstrip().endswith(("?", "？")):
        return False
    if message.role == "assistant":
        return cues.has("outcome", text, language)
    return _letters(told(text, speaker_of(message), language)) == _letters(text)


def retold(text: str, message: Message, language: Language) -> str:
    """What had a label before it, told: "User said: …"."""
    return said(text, speaker_of(message), language)


def rescued(message: Message) -> tuple[str, ObservationType, float] | None:
    """(text, type, importance) of a person's message that the rules pass over as a question, if it tells something.

    "She has a peanut allergy, any ideas?"
    """
    if message.role != "user":
        return None
    speaker = speaker_of(message)
    for statement in _statements(message):
        rating = rate(_as_told(statement), speaker.voice)
        if statement.kind == "question" and rating.importance >= MEDIUM:
            return asked(statement.text, speaker, statement.language), rating.type, rating.importance
    return None


def is_small_talk(message: Message) -> bool:
    """Whether a message says nothing that a person would say again."""
    return not _statements(message)


def only_asks(message: Message) -> bool:
    """Whether a person only asks something in it, and tells nothing by the way."""
    statements = _statements(message)
    voice = speaker_of(message).voice
    return (
        message.role == "user"
        and bool(statements)
        and all(s.kind == "question" and rate(_as_told(s), voice).importance < MEDIUM for s in statements)
    )


def rule_or_less(text: str, message: Message) -> ObservationType:
    """What a line that the model calls a rule is: `rule` only where the words are an instruction, or for all time."""
    statements = _statements(message)
    if any(s.kind == "request" or cues.has("rule", s.text, s.language) for s in statements):
        return "rule"
    parts = [text, *(s.text for s in statements)]
    if any(_IMPERATIVE.search(part) or cues.has("rule", part, language_of(part)) for part in parts):
        return "rule"
    kind = _rating(text, message, None).type
    return kind if kind in ("preference", "goal", "habit") else "fact"


def worth(text: str, message: Message, refers: date | None) -> float:
    """The importance, 0-10, by the rules: of the statement in `message` that the line is about, else of the line."""
    return _rating(text, message, refers).importance


def _rating(text: str, message: Message, refers: date | None) -> Rating:
    statements = _statements(message)
    voice = speaker_of(message).voice
    best = max(statements, key=lambda s: containment(s.text, text), default=None)
    if best is None or containment(best.text, text) == 0:
        best = Statement(text, "statement", language_of(text))
    return rate(_as_told(best) if best.kind == "question" and voice != "assistant" else best, voice, refers)


def is_about_the_assistant(text: str) -> bool:
    """Whether a line tells what the assistant did or said, not what it has to do."""
    return bool(_OF_ASSISTANT.match(text)) and not cues.has("rule", _OF_ASSISTANT.sub("", text), language_of(text))


def is_about_the_user(text: str) -> bool:
    """Whether a line names the owner as the one who did or said it."""
    return bool(_OF_USER.match(text))


def are_flat(scores: Sequence[float]) -> bool:
    """Whether the scores of a reply tell its lines apart in nothing."""
    return len(scores) >= FLAT_LINES and len(set(scores)) == 1


def repeats(text: str, other: str, *, confirms: bool) -> bool:
    """Whether `text` only says what `other` does; `confirms` where the assistant says it again for a person."""
    return (
        containment(text, other) >= (CONFIRMS if confirms else REPEATS)
        and numbers(text) <= numbers(other)
        and (confirms or bool(negations(text)) == bool(negations(other)))
    )


@lru_cache(maxsize=512)
def _statements(message: Message) -> tuple[Statement, ...]:
    return read(message).statements


def _as_told(statement: Statement) -> Statement:
    return Statement(statement.text, "statement", statement.language, statement.remember)


def _letters(text: str) -> str:
    return " ".join(_MARKS.sub(" ", text.casefold()).split())
