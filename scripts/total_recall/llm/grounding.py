"""Is what a model proposes in what was said? Numbers, dates, names and links must come from the batch. Pure.

| what nobody said | then |
|---|---|
| a link, an address, a number, a day in words | the line goes |
| nothing in common with any message, another language | the line goes |
| an order that overrides the agent's own, or one put into the owner's mouth | the line goes |
| another order that is not the owner's | it is told as what somebody said, an event |
| nothing: the line copies a turn | it goes, and the rules make one of the turn |
| nothing: it tells of a greeting, of what the assistant only confirms or offers, or repeats another line | it goes |
| a day in ISO form | it is put right where the words tell, else the line is uncertain |
| a name, or most words of the line | the line is uncertain |
| nothing: a number of a message about something else | the line is uncertain |
| a rule, preference, goal or habit not in the owner's words | it is told as a fact or an event |
| a rule that is worded as none | it is told as a fact |
| scores that tell no line apart | the rules score |
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta, tzinfo
from functools import lru_cache
from typing import Literal

from total_recall import taint
from total_recall.dates import DateMention, annotate, find_dates
from total_recall.llm import figures, offline, retelling, wording
from total_recall.llm.candidates import speaker_of
from total_recall.llm.prompting import spoken
from total_recall.llm.reply import Proposed
from total_recall.observations import certainty_of, free_id, priority_of
from total_recall.records import Batch, Certainty, Message, Observation, ObservationType, Priority
from total_recall.text import CJK, content_words, language_of, likeness, names, plain_line, sentences

Source = Literal["owner", "assistant", "other"]

TEXT_LIMIT = 400
"""Characters of an observation; a model that writes more has copied."""
UNCERTAIN = 0.25
OWNER_TYPES: frozenset[ObservationType] = frozenset({"rule", "preference", "goal", "habit"})
"""Only the owner's own words can found these (design section 8)."""
OWNER_SHARE = 0.25
"""Share of a line's words that the owner's message must hold to be its ground; the rest is the reporter's."""
COMMON_SHARE = 0.2
"""Below this share of words in common with every message, and no number in common, a line is about something else."""
WORDED_SHARE = 0.4
"""A line of whose words the conversation has less is mostly invented, such as the prompt's example with another name."""
TRANSLATED_SHARE = 0.4
"""The same for a line in another language than the message: names alone do not make it the conversation's."""
SOURCE_SHARE = 0.6
"""Messages that hold at least this share of what the best one holds are sources too."""
REPEATED_LIKENESS = 0.6
"""A line without ground that is this like one of the memory, or of what was said before, repeats it."""
SAID_OUTRIGHT_SHARE = 0.75
"""A line of which the owner's message holds this much was said outright."""
ORDER_SHARE = 0.5
"""A line that has this much of an order carries it on, whatever it left out of it."""
ORDER_MOST = 2.9
"""What somebody else told the agent to do matters at most so much."""
ORDER_CHARACTERS = 20_000
"""What stands later in a message is not looked through for orders."""
MOST_CONFIDENCE: dict[Source, float] = {"owner": 1.0, "assistant": 0.85, "other": 0.75}
"""How sure a line can be, by whose words it stands on."""
SHORT_ANSWER_WORDS = 6
"""A reply to a question of at most this many content words means what it replies to."""

_DEFAULT_IMPORTANCE: dict[Priority, float] = {"high": 7.0, "medium": 4.0, "low": 2.0}
_LINK = re.compile(
    r"(?:https?://|www\.)[^\s<>()\"'`]+|[\w.+-]+@[\w-]+(?:\.[\w-]+)+|\b[\w-]+(?:\.[\w-]+)+/[^\s<>()\"'`]+", re.I
)
_ISO = re.compile(r"\b(\d{4})-(\d\d)-(\d\d)\b")
_STAMP = re.compile(r"\s*\(\s*(\d{4}-\d\d-\d\d)\s*\)")
_OFFSET = re.compile(
    r"\(\s*(?P<counts_from_today>in|noch|dans|en|vor|hace|il y a|D-)?\s*(?P<count>\d+)\s*"
    r"(?P<unit>days?|weeks?|Tagen?|Wochen?|jours?|semaines?|días?|semanas?|일|주|日|天|周|週間)?[^()\d]{0,12}\)",
    re.I,
)
_WEEKS = re.compile(r"w|s|주|周|週", re.I)
_ASKS = re.compile(r"[?？]")
_QUOTED = re.compile(r"[\"“„«「『][^\"“”„«»「」『』]*[\"”“»」』]")
_REPORTER = content_words(
    "user owner assistant agent said says asked told wants wanted mentioned reported requested confirmed decided stated"
) | content_words("사용자는 사용자가 사용자의 어시스턴트가 말했다 요청했다 했다")
"""Words of whoever tells it, which nobody in the conversation says."""
_CJK = re.compile(f"[{CJK}]")
_LETTER = re.compile(r"[^\W\d_]")
_CONFIDENCE: dict[Certainty, float] = {
    "explicit": 0.95, "implicit": 0.8, "inference": 0.6, "weak": 0.4, "uncertain": 0.2,
}  # fmt: skip
_COPIED = "copied as it was said"
_IDLE = "nothing to remember"


@dataclass(frozen=True, slots=True)
class Grounded:
    """What stands on the batch, in time order; what was dropped with the reason.

    `repeated` is no mistake, but nothing new: what is remembered already, greetings, and what is not worth a line.
    """

    observations: tuple[Observation, ...]
    dropped: tuple[tuple[Proposed, str], ...]
    repeated: tuple[Proposed, ...] = ()


@dataclass(frozen=True, slots=True)
class _Evidence:
    """A message and what it offers. `meant` are its words and, for a short answer, those that it replies to.

    `owned` are the owner's own words in it, `foreign` everybody else's, those that the owner only quotes among them.
    """

    message: Message
    said_on: date
    named: frozenset[date]
    words: frozenset[str]
    meant: frozenset[str]
    numbers: frozenset[str]
    owned: frozenset[str]
    foreign: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Ground:
    """What a batch offers as evidence, what was said before it included; `links` end before punctuation."""

    evidence: tuple[_Evidence, ...]
    speakers: frozenset[str]
    words: frozenset[str]
    folded: str
    initials: str
    numbers: frozenset[str]
    numbers_before: frozenset[str]
    mentions: tuple[DateMention, ...]
    days: frozenset[date]
    said_on: frozenset[date]
    links: frozenset[str]


def ground(proposed: Sequence[Proposed], batch: Batch, *, tz: tzinfo, known: Sequence[str] = ()) -> Grounded:
    """Check each proposed line against the messages that it is said to come from.

    `known` are lines of the memory that the model was shown: a line that only repeats one of them, or what was said
    before the batch, is no mistake, but nothing new either.
    """
    basis = _basis(batch, known, tz)
    before = [*known, *(spoken(m) for m in batch.context)]
    flat = retelling.are_flat([_importance(line) for line in proposed])
    kept: list[Observation] = []
    dropped: list[tuple[Proposed, str]] = []
    repeated: list[Proposed] = []
    copied: list[Message] = []
    for line in proposed:
        outcome = _check(line, basis, tz, flat=flat)
        if isinstance(outcome, Observation):
            kept.append(outcome)
        elif outcome == _IDLE or any(likeness(line.text, other) >= REPEATED_LIKENESS for other in before):
            repeated.append(line)
        elif isinstance(outcome, Message):
            copied.append(outcome)
            dropped.append((line, _COPIED))
        else:
            dropped.append((line, outcome))
    if copied:
        kept += _told_by_rules(copied, batch, tz)
    kept = sorted(_once(kept, batch), key=lambda o: o.at)
    return Grounded(tuple(_with_ids(kept)), tuple(dropped), tuple(repeated))


def _told_by_rules(copied: Sequence[Message], batch: Batch, tz: tzinfo) -> Iterable[Observation]:
    """What the offline compressor makes of messages that the model only copied."""
    wanted = {(m.session_id, m.entry_id): m for m in copied}
    for observation in offline.compress(batch, tz=tz):
        if wanted.keys() & set(observation.sources):
            yield observation
            for source in observation.sources:
                wanted.pop(source, None)
    for source, message in wanted.items():
        if rescued := retelling.rescued(message):
            text, kind, importance = rescued
            at = message.at.astimezone(tz)
            text, refers = annotate(text, at.date())
            yield Observation("", text, at, priority_of(importance), kind, importance, 0.8, "implicit", refers, sources=(source,))


def _once(observations: Sequence[Observation], batch: Batch) -> list[Observation]:
    """Without the lines that only say what another one does; of equals the first stays."""
    assistants = {(m.session_id, m.entry_id) for m in batch.messages if m.role == "assistant"}
    kept: list[Observation] = []
    for one in observations:
        for at, other in enumerate(kept):
            confirms, confirmed = (bool(assistants & set(o.sources[:1])) for o in (one, other))
            if retelling.repeats(one.text, other.text, confirms=confirms and not confirmed):
                break
            if retelling.repeats(other.text, one.text, confirms=confirmed and not confirms):
                kept[at] = one
                break
        else:
            kept.append(one)
    return kept


def _basis(batch: Batch, known: Sequence[str], tz: tzinfo) -> _Ground:
    everything = (*batch.context, *batch.messages)
    texts = [spoken(m) for m in everything]
    said_on = [m.at.astimezone(tz).date() for m in everything]
    whole = "\n".join(texts)
    mentions = tuple(found for text, day in zip(texts, said_on, strict=True) for found in find_dates(text, day))
    clocks = " ".join(f"{m.at.astimezone(tz):%H:%M}" for m in everything)
    labels = [label for m in everything for label in (m.speaker, m.channel) if label]
    named = "\n".join([whole, *labels, *known])
    folded = _fold(named)
    return _Ground(
        evidence=tuple(_evidence(everything, texts, len(batch.context), tz)),
        speakers=frozenset(m.speaker for m in everything if m.speaker),
        words=content_words(named),
        folded=folded,
        initials="".join(word[0] for word in re.findall(r"\w+", folded)),
        numbers=figures.readings(f"{whole}\n{clocks}"),
        numbers_before=figures.readings("\n".join([clocks, *texts[: len(batch.context)], *known])),
        mentions=mentions,
        days=frozenset(_days_of(mentions)) | frozenset(said_on) | frozenset(_iso_days(whole)),
        said_on=frozenset(said_on),
        links=frozenset(_links(whole)),
    )


def _evidence(everything: Sequence[Message], texts: Sequence[str], first: int, tz: tzinfo) -> Iterable[_Evidence]:
    for at in range(first, len(everything)):
        message, words, numbers = everything[at], content_words(texts[at]), figures.readings(texts[at])
        meant = words
        if (
            message.role == "user"
            and at
            and everything[at - 1].role == "assistant"
            and len(words) <= SHORT_ANSWER_WORDS
            and _ASKS.search(texts[at - 1])
        ):
            meant = words | content_words(texts[at - 1])
            numbers |= figures.readings(texts[at - 1])
        said_on = message.at.astimezone(tz).date()
        named = frozenset(_days_of(find_dates(texts[at], said_on)))
        owned = content_words(taint.own_words(texts[at])) if _by_owner(message) else frozenset[str]()
        foreign = content_words(taint.quoted_words(texts[at])) if _by_owner(message) else words
        yield _Evidence(message, said_on, named, words, meant, numbers, owned, foreign)


def _check(line: Proposed, basis: _Ground, tz: tzinfo, *, flat: bool) -> Observation | Message | str:
    """The observation, the message that the line only copies, or why the line is dropped."""
    text, was_labelled = retelling.unlabelled(plain_line(line.text), basis.speakers)
    if len(text) > TEXT_LIMIT:
        text = text[: TEXT_LIMIT - 1].rstrip() + "…"
    strange = next((link for link in _links(text) if link not in basis.links), None)
    if strange:
        return f"link or address that nobody gave: {strange}"
    ranked = _ranked(text, line, basis, tz)
    share, best = ranked[0]
    if share < COMMON_SHARE and not (_readings(text) & best.numbers):
        return "nothing in common with what was said"
    if _is_in_another_language(text, best):
        return "in another language than what was said"
    if retelling.is_small_talk(best.message) and content_words(text) & best.meant <= best.words:
        return _IDLE
    said = text
    text, doubtful = _with_right_days(text, best, basis)
    invented = _invented_number(text, best, basis)
    if invented:
        return f"number that nobody said: {invented}"
    owner_said = _is_owners(text, basis)
    source = _source(text, best)
    is_order = not owner_said and (line.type == "rule" or taint.is_order(text) or _carries_on(text, best))
    if is_order and _is_forged(text):
        return "instruction that the owner did not give"
    copied = retelling.copied_from(said, [one.message for _, one in ranked], was_labelled=was_labelled)
    if copied:
        return copied
    if was_labelled:
        text = retelling.retold(text, best.message, language_of(text))
    elif is_order and not taint.is_attributed(text):
        language = language_of(text)
        speaker = wording.quoted(language) if _by_owner(best.message) else speaker_of(best.message)
        text = wording.said(text, speaker, language)
    doubtful = doubtful or any(not _is_said(name, basis) for name in names(text))
    doubtful = doubtful or _share(said, basis.words) < WORDED_SHARE or _has_strange_number(text, best, basis)
    refers = _refers(line, text, best, basis)
    outright = source == "owner" and _share(said, best.meant) >= SAID_OUTRIGHT_SHARE
    kind, confidence, certainty = _standing(
        line, MOST_CONFIDENCE[source], owner_said=owner_said, outright=outright, doubtful=doubtful
    )
    if kind == "rule":
        kind = retelling.rule_or_less(text, best.message)
    importance = _weighed(line, text, ranked, basis, refers, flat=flat)
    if importance is None:
        return _IDLE
    if is_order:
        kind, importance = "event", min(importance, ORDER_MOST)
    sources = [one.message for other, one in ranked if one is best or other >= max(share * SOURCE_SHARE, 0.01)][:3]
    return Observation(
        id="",
        text=text,
        at=best.message.at.astimezone(tz),
        priority=priority_of(importance),
        type=kind,
        importance=importance,
        confidence=round(confidence, 2),
        certainty=certainty,
        refers=refers,
        supersedes=() if is_order or source == "other" else line.supersedes,
        sources=tuple((m.session_id, m.entry_id) for m in sorted(sources, key=lambda m: m.at)),
    )


def _ranked(text: str, line: Proposed, basis: _Ground, tz: tzinfo) -> list[tuple[float, _Evidence]]:
    """Each message with the share of the line's words that it holds, best first.

    A number in common, the time that the line gives and who speaks only break ties.
    """
    mine = content_words(text) - _REPORTER or content_words(text)
    numbers = _readings(text)
    ranked = []
    for one in basis.evidence:
        at = one.message.at.astimezone(tz)
        share = len(mine & one.meant) / len(mine) if mine else 0.0
        share += 0.1 * bool(numbers & one.numbers)
        share += 0.05 * (line.time == f"{at:%H:%M}") + 0.01 * (line.day == at.date())
        share += 0.01 * (one.message.role == "user")
        ranked.append((share, one))
    ranked.sort(key=lambda pair: pair[0], reverse=True)
    return ranked


def _share(text: str, said: frozenset[str]) -> float:
    """The share of the line's words that was said, numbers left out: those are the same in any language."""
    mine = {word for word in content_words(text) - _REPORTER if not any(c.isdigit() for c in word)}
    return len(mine & said) / len(mine) if mine else 1.0


def _is_in_another_language(text: str, best: _Evidence) -> bool:
    """Whether a line is worded in another language than its message; what it quotes does not count."""
    own = _QUOTED.sub(" ", text)
    return _share(own, best.meant) < TRANSLATED_SHARE and _differs_in_language(own, spoken(best.message))


def _differs_in_language(text: str, said: str) -> bool:
    mine, theirs = _cjk_share(text), _cjk_share(said)
    if abs(mine - theirs) > 0.5:
        return True
    return language_of(text) != language_of(said, language_of(text))


def _cjk_share(text: str) -> float:
    letters = len(_LETTER.findall(text))
    return len(_CJK.findall(text)) / letters if letters else 0.0


# --- days and numbers ------------------------------------------------------------------------------------------


def _with_right_days(text: str, best: _Evidence, basis: _Ground) -> tuple[str, bool]:
    """(the text, whether a day in it is in doubt). A stamp that is wrong or missing behind "on Friday" is put right
    where the words resolve to a day that the conversation means."""
    wrong = [day for day in _iso_days(text) if not _is_meant(day, basis)]
    for day in wrong:
        text = _STAMP.sub(lambda match, day=day: "" if match[1] == day.isoformat() else match[0], text)  # type: ignore[misc]
    if not _ISO.search(text):
        meant = [m for m in find_dates(text, best.said_on) if m.precision == "day" and not m.written_out]
        if meant and all(m.day in basis.days for m in meant):
            text, _ = annotate(text, best.said_on)
    return text, any(not _is_meant(day, basis) for day in _iso_days(text))


def _invented_number(text: str, best: _Evidence, basis: _Ground) -> str | None:
    """The first number of a line that nobody said. Days that were meant and the days until them do not count."""
    left = _ISO.sub(" ", unicodedata.normalize("NFKC", text))
    offsets = _offsets(basis)
    for match in _OFFSET.finditer(left):
        if match["counts_from_today"] and match["unit"] and _days_in(match) not in offsets:
            return match[0]
    strange = (figure for figure in _figures_told(text, best, basis) if not figure.readings & basis.numbers)
    return next((figure.shown for figure in strange), None)


def _has_strange_number(text: str, best: _Evidence, basis: _Ground) -> bool:
    """Whether a number was said only in messages that have no word in common with the line."""
    mine = {word for word in content_words(text) - _REPORTER if not any(c.isdigit() for c in word)}
    near = basis.numbers_before.union(*(one.numbers for one in basis.evidence if mine & one.meant))
    return any(not figure.readings & near for figure in _figures_told(text, best, basis))


def _figures_told(text: str, best: _Evidence, basis: _Ground) -> tuple[figures.Figure, ...]:
    """The numbers of a line, without days that were meant and the days until them."""
    left = _ISO.sub(" ", unicodedata.normalize("NFKC", text))
    offsets = _offsets(basis)
    left = _OFFSET.sub(lambda match: " " if _days_in(match) in offsets else match[0], left)
    for mention in reversed(find_dates(left, best.said_on)):
        if _is_meant(mention.day, basis):
            left = f"{left[: mention.start]} {left[mention.end :]}"
    return figures.figures(left)


def _offsets(basis: _Ground) -> frozenset[int]:
    return frozenset(abs((day - said).days) for day in basis.days for said in basis.said_on)


def _days_in(offset: re.Match[str]) -> int:
    return int(offset["count"]) * (7 if offset["unit"] and _WEEKS.match(offset["unit"]) else 1)


def _readings(text: str) -> frozenset[str]:
    return frozenset(r for figure in figures.figures(_ISO.sub(" ", text)) for r in figure.readings)


def _days_of(mentions: Iterable[DateMention]) -> Iterable[date]:
    for mention in mentions:
        for step in range(7 if mention.precision == "week" else 1):
            yield mention.day + timedelta(days=step)


def _is_meant(day: date, basis: _Ground) -> bool:
    """Whether a day was named: by words that mean it, without its year, or by its number in a month that was named."""
    if day in basis.days:
        return True
    if any(not m.written_out and (m.day.month, m.day.day) == (day.month, day.day) for m in basis.mentions):
        return abs(day.year - min(basis.said_on).year) <= 1
    return str(day.day) in basis.numbers and any(
        (m.day.year, m.day.month) == (day.year, day.month) for m in basis.mentions
    )


def _refers(line: Proposed, text: str, best: _Evidence, basis: _Ground) -> date | None:
    """The day that the line is about: the model's where the line or its message names it, else the first in the line.

    Some models give every line the day on which it was said.
    """
    mentioned = [m.day for m in find_dates(text, best.said_on) if m.precision == "day" and not m.left_behind]
    if line.refers and _is_meant(line.refers, basis):
        named = line.refers in mentioned or (not mentioned and line.refers in best.named)
        if named or (not mentioned and line.refers not in basis.said_on):
            return line.refers
    return next((day for day in mentioned if day in basis.days), None)


def _iso_days(text: str) -> list[date]:
    found = []
    for year, month, day in _ISO.findall(text):
        try:
            found.append(date(int(year), int(month), int(day)))
        except ValueError:
            continue
    return found


# --- names, links, owners --------------------------------------------------------------------------------------


def _fold(text: str) -> str:
    """Without case and accents."""
    apart = unicodedata.normalize("NFKD", text.casefold())
    return unicodedata.normalize("NFC", "".join(c for c in apart if not unicodedata.combining(c)))


_TELLERS = frozenset(
    map(_fold, "user assistant owner nutzer benutzer assistent usuario asistente utilisateur ユーザー アシスタント".split())
)
"""What a line calls those who speak, in the languages whose names are told by capitals or katakana."""


def _is_said(name: str, basis: _Ground) -> bool:
    """Whether each part of a name was said, or, for capitals such as PR, the words that they stand for."""
    for part in re.split(r"[\s/-]+", _fold(name)):
        stem = part.removesuffix("'s").removesuffix("’s")
        if stem and stem.rstrip("s") not in basis.folded and stem.rstrip("s") not in _TELLERS:
            return name.isupper() and 2 <= len(name) <= 5 and stem in basis.initials
    return True


def _links(text: str) -> list[str]:
    return [link.rstrip(".,;:!?…*_").casefold() for link in _LINK.findall(text)]


def _is_owners(text: str, basis: _Ground) -> bool:
    """Whether the owner's own words found the line, and nobody else's found it clearly better."""
    # A day that the owner named says nothing about who wants what on it.
    mine = {word for word in content_words(text) - _REPORTER if not any(c.isdigit() for c in word)}
    if not mine:
        return False
    owned = max((len(mine & one.owned) for one in basis.evidence), default=0) / len(mine)
    foreign = max((len(mine & one.foreign) for one in basis.evidence), default=0) / len(mine)
    return owned >= OWNER_SHARE and owned >= foreign / 2


def _source(text: str, best: _Evidence) -> Source:
    """Whose words a line stands on: in the owner's message it may be somebody's whom the owner only quotes."""
    if not _by_owner(best.message):
        return "assistant" if best.message.role == "assistant" else "other"
    mine = content_words(text) - _REPORTER
    return "other" if len(mine & best.foreign) > len(mine & best.owned) else "owner"


def _is_forged(text: str) -> bool:
    """Whether an order poses as one that stands above all others, or as the owner's own."""
    if taint.overrides(text):
        return not taint.is_attempt(text)
    return retelling.is_about_the_user(text) and taint.is_attributed(text)


def _carries_on(text: str, best: _Evidence) -> bool:
    """Whether a line carries on an order that stands in its message and is none of the owner's."""
    said = spoken(best.message)
    mine = content_words(text) - _REPORTER
    foreign = taint.quoted_words(said) if _by_owner(best.message) else said
    return any(len(mine & order) >= ORDER_SHARE * len(mine) for order in _orders(foreign)) if mine else False


@lru_cache(maxsize=512)
def _orders(text: str) -> tuple[frozenset[str], ...]:
    """The words of each sentence that tells an agent what to do."""
    lines = text[:ORDER_CHARACTERS].split("\n")
    return tuple(content_words(said) for line in lines for said in sentences(line) if taint.is_order(said))


def _weighed(
    line: Proposed, text: str, ranked: Sequence[tuple[float, _Evidence]], basis: _Ground, refers: date | None, *, flat: bool
) -> float | None:
    """The line's importance, or None for what is not worth a line.

    The rules say it where the model's scores tell nothing (`flat`), and how much it may be where the line is only about
    what the assistant said or did, or what a person only asked.
    """
    message = ranked[0][1].message
    importance = retelling.worth(text, message, refers) if flat else _importance(line)
    if retelling.only_asks(message):
        importance = 0.0 if flat else min(importance, retelling.QUESTION_MOST)
    by_assistant = _assistants(text, ranked, basis)
    if by_assistant:
        importance = min(importance, retelling.worth(text, by_assistant, refers))
    idle = (flat or by_assistant) and importance < retelling.LEAST_WORTH
    return None if idle else round(importance, 1)


def _by_owner(message: Message) -> bool:
    return message.role == "user" and message.is_owner


def _importance(line: Proposed) -> float:
    return line.importance if line.importance is not None else _DEFAULT_IMPORTANCE[line.priority or "medium"]


def _assistants(text: str, ranked: Sequence[tuple[float, _Evidence]], basis: _Ground) -> Message | None:
    """The assistant's message that a line tells of, or that it puts into the owner's mouth."""
    if not retelling.is_about_the_assistant(text) and not (
        retelling.is_about_the_user(text)
        and ranked[0][1].message.role == "assistant"
        and not any(_share(text, one.meant) for one in basis.evidence if _by_owner(one.message))
    ):
        return None
    return next((one.message for _, one in ranked if one.message.role == "assistant"), None)


def _standing(
    line: Proposed, most: float, *, owner_said: bool, outright: bool, doubtful: bool
) -> tuple[ObservationType, float, Certainty]:
    """(type, confidence, certainty) after the checks; `most` is how sure it can be."""
    kind: ObservationType = line.type or "fact"
    confidence = line.confidence
    if confidence is None:
        confidence = _CONFIDENCE[line.certainty or ("explicit" if outright else "implicit")]
    confidence = min(confidence, most)
    if kind in OWNER_TYPES and not owner_said:
        kind = "event" if kind == "goal" else "fact"
        confidence = min(confidence, 0.6)
    if doubtful:
        confidence = min(confidence, UNCERTAIN)
    return kind, confidence, certainty_of(confidence)


def _with_ids(observations: Sequence[Observation]) -> Iterable[Observation]:
    taken: set[str] = set()
    for observation in observations:
        identity = free_id(observation.text, observation.at, observation.sources, taken)
        taken.add(identity)
        yield replace(observation, id=identity)
