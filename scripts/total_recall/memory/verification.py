"""Whether an operation on observations may be carried out: what a merge must carry, what may go, what stays. Pure.

Careful on purpose. A refused operation costs some lines of length; an accepted wrong one changes what is remembered.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, time, timedelta
from functools import lru_cache

from total_recall.dates import find_dates, may_speak_of_a_day
from total_recall.decay import TTL_DAYS
from total_recall.memory.line import Entry
from total_recall.memory.operations import Drop, Merge, Operation, Repeat, Supersede
from total_recall.records import ObservationType
from total_recall.text import CJK, STOP_WORDS, content_words, names, negations, numbers, words
from total_recall.tokens import count_words

PROTECTED_TYPES: frozenset[ObservationType] = frozenset({"rule", "goal"})
OWNERS_WORDS: frozenset[ObservationType] = frozenset({"rule", "preference", "goal", "habit"})
"""Types that need the owner's own words: a line of another type must not slip into one by being merged with it."""
PASSING: frozenset[ObservationType] = frozenset({"event", "context"})
"""Types of which a medium line may be dropped before its time; a fact or a wish is merged or superseded instead."""
SUPERSEDED_BY: dict[ObservationType, frozenset[ObservationType]] = {
    "rule": frozenset({"rule"}),
    "preference": frozenset({"preference", "rule"}),
    "habit": frozenset({"habit", "preference", "rule"}),
    "goal": frozenset({"goal", "event", "fact", "preference"}),
}
"""Which types may take the place of one that the owner said; of the other types any may."""

FRESH_DAYS = 2
KEPT_WORDS = 1 / 3
"""Share of a line's content words that a merged line must have."""
OWN_WORDS = 0.7
"""Share of a merged line's content words that must come from the lines merged."""
SAME_SUBJECT = 0.5
"""Share of the smaller line's content words that 🔴 lines, rules, goals and coming dates must have in common with what
takes their place."""
REPEATED = 0.8
"""Likeness (Dice, content words) from which a line that has all the words of another says the same."""
UNCERTAIN = 0.3
CACHED_LINES = 16_384

_LINK = re.compile(r"https?://[^\s<>()\"']+", re.I)
_FIGURE = re.compile(
    r"[0-9]+(?:[-/][0-9]+)+|(?<![\w.-])[-−][0-9][0-9.,]*|[$€£¥₩]\s?[0-9][0-9.,]*|[0-9][0-9.,]*\s?[%€$£¥₩원円元]"
)
_GENERIC = content_words(
    "user owner assistant agent person people said says say told tell asked ask mention mentioned noted reported want "
    "사용자 用户 ユーザー nutzer usuario utilisateur"
)
"""Words that nearly every line has, and that therefore say nothing about its subject."""
_ALWAYS = re.compile(
    r"\b(?:always|must|only|every time|immer|muss|siempre|toujours)\b|항상|반드시|必ず|いつも|总是|必须", re.I
)
_CAPITALISED_START = re.compile(r"^[\"'“(*]*(?P<word>[A-ZÀ-ÖØ-Þ][^\W\d_]+)(?:['’]s)?(?![\w])")
_PART = re.compile(r"[,;.:!?()—。、，；！？]+|\s+(?:and|but|or|while|und|aber|oder|y|pero|et|mais)\s+", re.I)


@dataclass(frozen=True, slots=True)
class Facts:
    """What must not get lost from a text: each as a folded string."""

    numbers: frozenset[str]
    figures: frozenset[str]
    names: frozenset[str]
    links: frozenset[str]

    def all(self) -> frozenset[str]:
        return self.numbers | self.figures | self.names | self.links


@lru_cache(maxsize=CACHED_LINES)
def facts_of(text: str) -> Facts:
    """Numbers, figures that must stay in one piece (dates, telephone numbers, amounts), names and links of a text."""
    found = (name.casefold().removesuffix("'s").removesuffix("’s") for name in names(text))
    return Facts(
        numbers(text),
        frozenset("".join(figure.split()).rstrip(".,") for figure in _FIGURE.findall(text)),
        frozenset(found),
        frozenset(link.rstrip(".,;:!?") for link in _LINK.findall(text)),
    )


@lru_cache(maxsize=CACHED_LINES)
def subject_of(text: str) -> frozenset[str]:
    """The content words that tell what a line is about."""
    return content_words(text) - _GENERIC


def age_order(entry: Entry) -> tuple[date, time, int]:
    """Lines sorted by this go from the oldest to the newest."""
    return day_of(entry), entry.time or time.min, entry.line


def day_of(entry: Entry) -> date:
    """The day that the line was recorded; the first of all days when nobody says."""
    return entry.recorded or entry.heading or date.min


def is_high(entry: Entry) -> bool:
    return entry.priority == "high" or entry.importance >= 6


def is_expired(entry: Entry, today: date) -> bool:
    """Whether the line is older than its type is kept. One without a type counts as a fact, without a day as new."""
    ttl = TTL_DAYS[entry.type or "fact"]
    return ttl is not None and day_of(entry) != date.min and (today - day_of(entry)).days > ttl


def is_protected(entry: Entry, today: date) -> bool:
    """Rules, goals and whatever is still to come stay; so does an untagged line that reads like a rule."""
    if entry.type in PROTECTED_TYPES or (entry.type is None and (_ALWAYS.search(entry.text) or negations(entry.text))):
        return True
    return (entry.refers is not None and entry.refers >= today) or any(
        day >= today for day in days_in(entry.text, day_of(entry))
    )


@lru_cache(maxsize=CACHED_LINES)
def days_in(text: str, said: date) -> frozenset[date]:
    """The days that a text speaks of, when it was said on `said`; of weeks and months the first day."""
    if said == date.min:
        said = date(2000, 1, 1)
    return frozenset(mention.day for mention in find_dates(text, said)) if may_speak_of_a_day(text) else frozenset()


def refusal(operation: Operation, entries: Sequence[Entry], today: date, ordinary: frozenset[str]) -> str | None:
    """Why this operation must not be carried out on `entries`, or None.

    `ordinary` are words that the document also writes small: at the start of a line they are no names.
    """
    if isinstance(operation, Merge):
        return _bad_merge([entries[n - 1] for n in operation.numbers], operation.text, today, ordinary)
    entry = entries[operation.number - 1]
    if isinstance(operation, Drop):
        return _bad_drop(entry, today)
    newer = entries[(operation.by if isinstance(operation, Supersede) else operation.of) - 1]
    if age_order(newer) <= age_order(entry):
        return "the other line is not newer"
    if isinstance(operation, Repeat):
        return None if repeats(entry, newer) else "the newer line does not say the same"
    return _bad_supersession(entry, newer, today)


def _bad_drop(entry: Entry, today: date) -> str | None:
    if is_high(entry):
        return "🔴 lines are not dropped"
    if is_protected(entry, today):
        return "rules, goals and coming dates stay"
    if entry.priority == "low" or is_expired(entry, today):
        return None
    if entry.type not in PASSING:
        return f"a {entry.type or 'line without a type'} that has not expired is merged or superseded, not dropped"
    if (today - day_of(entry)).days < FRESH_DAYS:
        return "too new to be dropped"
    return None


def _bad_supersession(entry: Entry, newer: Entry, today: date) -> str | None:
    if entry.superseded_by is not None and entry.superseded_by == newer.id:
        return None
    if newer.superseded_by is not None:
        return "the other line is superseded itself"
    if entry.type in SUPERSEDED_BY and newer.type not in SUPERSEDED_BY[entry.type]:
        return f"a {entry.type} is not superseded by a {newer.type or 'line without a type'}"
    mine, theirs = subject_of(entry.text), subject_of(newer.text)
    shared = len(mine & theirs)
    if not shared:
        return "the two lines have no subject in common"
    if is_high(entry) or is_protected(entry, today):
        if newer.confidence is not None and newer.confidence < UNCERTAIN:
            return "the other line is uncertain"
        if shared < SAME_SUBJECT * min(len(mine), len(theirs)):
            return "the two lines have too little in common"
    return None


def repeats(older: Entry, newer: Entry) -> bool:
    """Whether the newer line says all that the older does: the same kind, figures, names and denials, all its words.

    An event is the same one only on the same day or the next, unless it is a 🟢 routine; one with an amount of money
    only on the same day, whatever it is.
    """
    mine, theirs = subject_of(older.text), subject_of(newer.text)
    apart = abs(day_of(newer) - day_of(older))
    may_recur = older.type in PASSING or older.type is None
    is_same_time = apart <= timedelta(days=0 if has_amount(older.text) else 1)
    is_routine = older.priority == "low" and not has_amount(older.text)
    return (
        (older.type, older.refers, newer.superseded_by) == (newer.type, newer.refers, None)
        and (not is_high(older) or is_high(newer))
        and (older.text == newer.text or (bool(mine) and mine <= theirs))
        and 2 * len(mine & theirs) >= REPEATED * (len(mine) + len(theirs))
        and facts_of(older.text) == facts_of(newer.text)
        and negations(older.text) == negations(newer.text)
        and (not may_recur or is_same_time or is_routine)
        and days_in(older.text, day_of(older)) == days_in(newer.text, day_of(newer))
    )


# --- merges


def _bad_merge(members: Sequence[Entry], text: str, today: date, ordinary: frozenset[str]) -> str | None:
    return (
        _bad_members(members, today)
        or _lost_or_invented(members, text, ordinary)
        or _bad_denials(members, text)
        or _bad_days(members, text)
        or _bad_words(members, text)
    )


def _bad_members(members: Sequence[Entry], today: date) -> str | None:
    types = {entry.type for entry in members}
    if len(members) < 2:
        return "a merge needs two lines"
    if "rule" in types:
        return "rules stay as they were said"
    if types & OWNERS_WORDS and len(types) > 1:
        return "the owner's goals, preferences and habits are merged only with their like"
    if any(entry.superseded_by is not None for entry in members):
        return "a superseded line is not merged with one that holds"
    if any(day_of(entry) == date.min for entry in members):
        return "a line without a day"
    if len({entry.refers for entry in members if entry.refers and entry.refers >= today}) > 1:
        return "two coming dates in one line"
    return None


def _lost_or_invented(members: Sequence[Entry], text: str, ordinary: frozenset[str]) -> str | None:
    theirs = [facts_of(entry.text) for entry in members]
    mine, folded = facts_of(text), text.casefold()
    joined = "\n".join(entry.text for entry in members).casefold()
    named = {name for f in theirs for name in f.names}
    named |= {start for entry in members if (start := _starting_name(entry.text, ordinary))}
    lost: Iterable[tuple[str, set[str]]] = (
        ("number", {n for f in theirs for n in f.numbers} - mine.numbers),
        ("figure", {n for f in theirs for n in f.figures} - mine.figures),
        ("link", {n for f in theirs for n in f.links} - mine.links),
        ("name", {name for name in named if not _has(folded, name)}),
    )
    invented: Iterable[tuple[str, set[str]]] = (
        ("number", set(mine.numbers) - {n for f in theirs for n in f.numbers}),
        ("figure", set(mine.figures) - {n for f in theirs for n in f.figures}),
        ("link", set(mine.links) - {n for f in theirs for n in f.links}),
        ("name", {n for n in mine.names if not all(_has(joined, part) for part in n.split())}),
    )
    for verb, found in (("lost", lost), ("invented", invented)):
        for what, which in found:
            if which:
                return f"{what} {verb}: {', '.join(sorted(which)[:3])}"
    return None


def _starting_name(text: str, ordinary: frozenset[str]) -> str | None:
    """The capitalised word that a line begins with, when it may be a name."""
    match = _CAPITALISED_START.match(text)
    word = match["word"].casefold() if match else ""
    is_verb = word.endswith(("ed", "ing"))
    is_ordinary = word in ordinary or word in STOP_WORDS or content_words(word) <= _GENERIC
    return None if is_verb or is_ordinary else word


def _has(folded: str, name: str) -> bool:
    """Whether a name stands in a text, both case-folded; a name in ASCII letters as a whole word."""
    if not name.isascii():
        return name in folded
    return re.search(rf"(?<![a-z0-9]){re.escape(name)}(?![a-z0-9])", folded) is not None


def _bad_denials(members: Sequence[Entry], text: str) -> str | None:
    """Each "not" stays, and stays with what it denies."""
    theirs = [part for entry in members for part in _denied(entry.text)]
    mine = _denied(text)
    if len(mine) > len(theirs):
        return "a negation invented"
    if any(not _answers(part, mine) for part in theirs):
        return "a negation lost"
    if any(not _answers(part, theirs) for part in mine):
        return "a negation moved to something else"
    return None


def _denied(text: str) -> list[frozenset[str]]:
    """The words of each part of a text that denies something."""
    return [content_words(part) - _GENERIC for part in _PART.split(text) if part and negations(part)]


def _answers(part: frozenset[str], others: Sequence[frozenset[str]]) -> bool:
    return any(3 * len(part & other) >= 2 * min(len(part), len(other)) for other in others)


def _bad_days(members: Sequence[Entry], text: str) -> str | None:
    """ "Tomorrow" must mean the same day under the heading that the merged line gets."""
    newest = max(members, key=age_order)
    theirs = {day for entry in members for day in days_in(entry.text, day_of(entry))}
    mine = days_in(text, day_of(newest))
    if mine - theirs:
        return "a day that the lines do not speak of"
    if theirs - mine:
        return f"day lost: {min(theirs - mine)}"
    return None


def _bad_words(members: Sequence[Entry], text: str) -> str | None:
    mine = subject_of(text)
    joined = frozenset(word for entry in members for word in subject_of(entry.text))
    for entry in members:
        its = subject_of(entry.text)
        if len(its & mine) < KEPT_WORDS * len(its):
            return "a line of which too little is left"
    if len(mine & joined) < OWN_WORDS * len(mine):
        return "words that the lines do not have"
    if count_words(text) >= sum(count_words(entry.text) for entry in members) or len(text) > sum(
        len(entry.text) for entry in members
    ):
        return "not shorter"
    return None


_SMALL_WORD = re.compile(rf"(?<![\w])[^\W\d_A-Z{CJK}][^\W\d_]+")


def ordinary_words(texts: Iterable[str]) -> frozenset[str]:
    """The words that are written small somewhere in these texts."""
    return frozenset(word for text in texts for word in _SMALL_WORD.findall(text) if word.islower())


def routine_words(text: str) -> frozenset[str]:
    """The words of a line without its figures: what last night's backup and tonight's have in common."""
    return frozenset(word for word in words(text) if not any(character.isdigit() for character in word))


def has_amount(text: str) -> bool:
    """Whether a text names money or a share: two invoices are two facts."""
    return any(not figure[0].isdigit() or not figure[-1].isdigit() for figure in facts_of(text).figures)
