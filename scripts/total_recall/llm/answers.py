"""Short answers together with the question that they answer. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import tzinfo

from total_recall.dates import annotate
from total_recall.llm import cues, wording
from total_recall.llm.candidates import Candidate, candidate_of, local_day, speaker_of, with_messages
from total_recall.llm.outcomes import Used, names_all, results
from total_recall.llm.scoring import Rating
from total_recall.llm.statements import Turn
from total_recall.text import containment, content_words, names, numbers, plain_line
from total_recall.tokens import count_words

_SHORT_ANSWER_WORDS = 7
_QUESTION_WORDS = 30

_CHOSEN = re.compile(
    r"\b(?:option|number|no\.?|choice)? ?(?P<digit>[1-9])\b|\b(?P<word>first|second|third|fourth|last)\b|"
    r"(?P<ko>첫|두|세|네) ?번째|(?P<kd>[1-9]) ?번|"
    r"第(?P<zh>[一二三四1-4])|(?P<ja>[1-9一二三四])(?:番|つ目)|opción (?P<es>[1-9])|\b(?P<letter>[a-d])\b(?=[.)]?$)",
    re.IGNORECASE,
)
_ORDINALS = {
    "first": 1, "second": 2, "third": 3, "fourth": 4, "last": -1, "첫": 1, "두": 2, "세": 3, "네": 4,
    "一": 1, "二": 2, "三": 3, "四": 4, "a": 1, "b": 2, "c": 3, "d": 4,
}  # fmt: skip
_POINTS_BACK = re.compile(
    r"\b(?:it|that|this|them|these|those|one|so|which|either)\b|그|이걸|이대로|それ|これ|这|那|\b(?:lo|la|eso|das|es|ihn|le|ça)\b",
    re.IGNORECASE,
)
_OFFERS = re.compile(
    r"\bif you(?:['’]d)? (?:like|want|wish)\b|\bwant me to\b|원하시면|필요하시면|よろしければ|需要的话", re.IGNORECASE
)
_OFFER_ONLY = re.compile(r"anything else|더 필요|更に|他に|还有什么|algo más|sonst noch|autre chose", re.IGNORECASE)
_REFUSES = re.compile(r"^(?:no|nope|nah|아니|아뇨|괜찮아|됐어|いいえ|不用|不要|nein|non)\b", re.IGNORECASE)


def answer_of(turn: Turn, earlier: Turn, tz: tzinfo) -> Candidate | None:
    """A short reply as one line with the assistant's question; None when it is no reply to one."""
    answer = plain_line(turn.message.text)
    if earlier.message.role != "assistant" or not answer or count_words(answer) > _SHORT_ANSWER_WORDS:
        return None
    choice = _choice(answer, earlier.choices)
    asked = _last_question(earlier, alone=choice is not None)
    if "?" in answer or "？" in answer:
        return None
    if asked is None:
        return _reply(turn, earlier, answer, tz)
    if _OFFER_ONLY.search(asked):
        return None
    if not cues.has("answer", answer, turn.language) and (not turn.statements or turn.statements[0].kind == "request"):
        return None
    if _REFUSES.match(answer) and cues.has("small_talk", asked, earlier.language):
        return None
    speaker = speaker_of(turn.message)
    question, asked_day = annotate(asked, local_day(earlier.message, tz), earlier.language)
    reply, answered_day = annotate(answer, local_day(turn.message, tz), turn.language)
    if choice and choice.casefold() not in question.casefold():
        reply = f"{reply} ({choice})"
    text = wording.answered(question, reply, speaker, turn.language)
    refers = answered_day or asked_day
    picks = (
        bool(choice) or cues.has("preference", asked, earlier.language) or cues.has("decision", asked, earlier.language)
    )
    mark = 0.8 * bool(refers) + 0.5 * bool(numbers(asked + answer)) + 0.3 * bool(names(asked))
    importance = (4.4 if picks else 3.6) + mark
    rating = Rating(
        "preference" if picks and speaker.voice == "owner" else "event", round(importance, 1), 0.9, "explicit"
    )
    return candidate_of(text, f"{question} {reply}", rating, refers, turn, (earlier.message, turn.message))


def _reply(turn: Turn, earlier: Turn, answer: str, tz: tzinfo) -> Candidate | None:
    """A short choice among what the assistant proposed without asking: "A scarf or gloves would be nice" – "Scarf"."""
    chooses = any(cues.has(cue, answer, turn.language) for cue in _CHOOSES)
    if not chooses:
        return None
    short = [statement for statement in earlier.statements if count_words(statement.text) <= _QUESTION_WORDS]
    if _POINTS_BACK.search(answer) and len(content_words(answer)) <= _POINTING_WORDS:
        proposed = [statement for statement in short if statement.kind == "statement"][:1]
    elif cues.pattern("own_voice", turn.language).search(answer):
        return None
    else:
        proposed = [statement for statement in short if content_words(statement.text) & content_words(answer)]
    if not proposed or containment(answer, proposed[-1].text) == 1:
        return None
    speaker = speaker_of(turn.message)
    dated, refers = annotate(proposed[-1].text, local_day(earlier.message, tz), earlier.language)
    text = wording.replied(dated, answer, speaker, turn.language)
    rating = Rating("preference" if speaker.voice == "owner" else "event", 4.6, 0.9, "explicit")
    return candidate_of(text, f"{dated} {answer}", rating, refers, turn, (earlier.message, turn.message))


_POINTING_WORDS = 2
_CHOOSES: tuple[cues.Cue, ...] = ("decision", "preference", "commitment")


def _last_question(turn: Turn, *, alone: bool = False) -> str | None:
    """The assistant's last question, with the sentence before it where it points back to that one.

    `alone` leaves that sentence out: the choice that was made says what it is about.
    """
    for at in range(len(turn.statements) - 1, -1, -1):
        statement = turn.statements[at]
        text = statement.text
        if not (cues.has("question", text, statement.language) or _OFFERS.search(text)):
            continue
        if at and not alone and _POINTS_BACK.search(text) and turn.statements[at - 1].kind == "statement":
            before = turn.statements[at - 1].text
            both = f"{before} {text}"
            text = both if count_words(both) <= _QUESTION_WORDS else text
        return text
    return None


def _choice(answer: str, choices: tuple[str, ...]) -> str | None:
    match = _CHOSEN.search(answer)
    if not match or not choices:
        return None
    word = next(value for value in match.groupdict().values() if value).casefold()
    number = int(word) if word.isdigit() else _ORDINALS[word]
    return choices[number - 1 if number > 0 else -1][:80] if number <= len(choices) else None


def with_outcome(answer: Candidate, turns: Sequence[Turn], at: int, used: Used, tz: tzinfo) -> Candidate:
    """An answer that set something going, with what came of it."""
    result = results(turns, at, used, tz)
    if result is None or result.text is None:
        return answer
    asked = _last_question(turns[at - 1]) if at else None
    agreed = answer.rating.type == "event" and not _REFUSES.match(plain_line(turns[at].message.text))
    if agreed and asked and names_all(asked, result.text):
        # "Shall I create a plan?" – "Do it": what was created says it all.
        told = wording.asked_by(result.text, speaker_of(turns[at].message), answer.language)
    else:
        told = wording.with_result(answer.told, result.text, answer.language)
    importance = min(answer.rating.importance + 0.6, 5.9)
    grown = with_messages(answer, result.messages, importance)
    return replace(
        grown, told=plain_line(told), plain=f"{answer.plain} {result.text}", refers=answer.refers or result.refers
    )
