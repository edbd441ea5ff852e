"""New observations against those that stand: what is said again, and what takes the place of something older.

Careful on purpose: hiding a fact that still holds is worse than keeping one twice. A near-duplicate goes only if
numbers, dates and negations agree; a contradiction needs the same subject, and the word "not" is none. What the owner
laid down gives way to the owner's words alone, and nothing to what is only hearsay.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property, lru_cache
from typing import Protocol

from total_recall.memory.verification import OWNERS_WORDS, SUPERSEDED_BY
from total_recall.records import Observation, ObservationType
from total_recall.text import content_words, likeness, names, negations, numbers, plain_line

SAME = 0.8
"""Likeness (Dice, content words) from which two lines with the same figures say the same."""
SAME_BUT_NEGATED = 0.85
EVENT_REPEATS_WITHIN = timedelta(days=1)
"""Tonight's backup is not last week's: an event is the same one only on the same day or the next."""
SURE = 0.8
"""Confidence from which a line may take another's place: the owner's words and the assistant's reports have it."""
SHORTEST = 2
"""Content words that a line needs before it can be told to be about the same thing."""


class Standing(Protocol):
    """A line of the document, as far as it matters here."""

    @property
    def id(self) -> str | None: ...
    @property
    def text(self) -> str: ...
    @property
    def type(self) -> ObservationType | None: ...
    @property
    def heading(self) -> date | None: ...
    @property
    def refers(self) -> date | None: ...
    @property
    def superseded_by(self) -> str | None: ...


@dataclass(frozen=True, slots=True)
class Reconciled:
    """What to write: `kept` are new, `duplicates` (new, standing id) are not written, `superseded` are (old id, new id)."""

    kept: tuple[Observation, ...]
    duplicates: tuple[tuple[Observation, str], ...]
    superseded: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class _Line:
    id: str
    text: str
    type: ObservationType | None
    day: date | None
    refers: date | None
    figures: frozenset[str]
    words: frozenset[str]
    denials: int


def reconcile(new: Sequence[Observation], standing: Sequence[Standing]) -> Reconciled:
    """Compare each new observation with those that stand and with the new ones before it."""
    lines = [
        _line(e.id, e.text, e.type, e.heading, e.refers)
        for e in standing
        if e.id is not None and e.superseded_by is None
    ]
    by_word: dict[str, set[int]] = {}
    for at, line in enumerate(lines):
        for word in _handles(line):
            by_word.setdefault(word, set()).add(at)
    kept: list[Observation] = []
    duplicates: list[tuple[Observation, str]] = []
    superseded: dict[str, str] = {}
    for observation in sorted(new, key=lambda o: o.at):
        line = _line(observation.id, observation.text, observation.type, observation.at.date(), observation.refers)
        near = {at for word in _handles(line) for at in by_word.get(word, ())}
        others = [lines[at] for at in sorted(near) if lines[at].id not in superseded]
        twin = next((other for other in others if other.id != line.id and _says_the_same(line, other)), None)
        if twin is not None:
            duplicates.append((observation, twin.id))
            continue
        kept.append(observation)
        for other in others:
            if other.id == line.id or not _may_replace(observation, other):
                continue
            if _takes_the_place_of(line, other) or _was_named(observation, line, other):
                superseded[other.id] = line.id
        for word in _handles(line):
            by_word.setdefault(word, set()).add(len(lines))
        lines.append(line)
    return Reconciled(tuple(kept), tuple(duplicates), tuple(superseded.items()))


class Statement:
    """A line as it is compared with many others."""

    def __init__(self, entry: Standing) -> None:
        self._line = _line(entry.id or "", entry.text, entry.type, entry.heading, entry.refers)

    @property
    def words(self) -> frozenset[str]:
        """Its content words."""
        return self._line.words

    @cached_property
    def _names_a_value(self) -> bool:
        return bool(_values(self._line.text))

    def contradicts(self, older: Statement) -> bool:
        """Whether this, the newer line, says otherwise than the older one about the same subject."""
        mine, theirs = self._line, older._line
        may_differ = (
            mine.denials != theirs.denials
            or (self._names_a_value and older._names_a_value)
            or (mine.refers is not None and theirs.refers is not None)
        )
        return may_differ and _takes_the_place_of(mine, theirs)


def _line(name: str, text: str, kind: ObservationType | None, day: date | None, refers: date | None) -> _Line:
    plain = plain_line(text)
    return _Line(name, plain, kind, day, refers, numbers(plain), content_words(_without_times(plain)), negations(plain))


def _handles(line: _Line) -> set[str]:
    """What another line must have one of to be compared: a content word, or the same attribute."""
    return {*line.words, *(f"{name}={key}" for name, (key, _) in _values(line.text).items())}


def _says_the_same(line: _Line, other: _Line) -> bool:
    if line.figures != other.figures or line.denials != other.denials or line.refers != other.refers:
        return False
    if min(len(line.words), len(other.words)) < SHORTEST:
        return line.text.casefold() == other.text.casefold() and _same_occasion(line, other)
    return likeness(line.text, other.text) >= SAME and _same_names(line, other) and _same_occasion(line, other)


def _same_occasion(line: _Line, other: _Line) -> bool:
    """A fact or preference said again is the same one whenever it is said; an event only near its day."""
    if "event" not in (line.type, other.type) and "context" not in (line.type, other.type):
        return True
    return line.day is not None and other.day is not None and abs(line.day - other.day) <= EVENT_REPEATS_WITHIN


def _same_names(line: _Line, other: _Line) -> bool:
    mine, theirs = _folded_names(line.text), _folded_names(other.text)
    return not (mine - theirs and theirs - mine)


@lru_cache(maxsize=20_000)
def _folded_names(text: str) -> frozenset[str]:
    return frozenset(name.casefold() for name in names(text))


def _takes_the_place_of(line: _Line, other: _Line) -> bool:
    if line.day is not None and other.day is not None and line.day < other.day:
        return False
    return _denies(line, other) or _has_another_value(line, other)


_CORRECTION = re.compile(
    r"^\W*(?:correction|update|actually|scratch that|i was wrong|정정|수정|아니다|실은|korrektur|corrección|correction)\b\W*",
    re.I,
)
_DENIAL_WORDS = frozenset(
    ["not", "no", "never", "none", "without", "cannot", "can't", "won't", "don't", "doesn't", "didn't", "isn't", "aren't", "wasn't", "weren't", "longer", "nicht", "kein", "keine", "nie", "nunca", "pas", "jamais", "allowed-not"]
)


def _may_replace(observation: Observation, other: _Line) -> bool:
    """Whether whoever says it has a say in what stands there. Only the owner's own words are explicit."""
    if observation.confidence < SURE:
        return False
    if other.type not in OWNERS_WORDS or observation.certainty == "explicit":
        return True
    return observation.type in SUPERSEDED_BY[other.type]


def _denies(line: _Line, other: _Line) -> bool:
    """The same words with and without a "not": "allowed on Fridays", "not allowed on Fridays"."""
    if line.denials == other.denials or (line.denials and other.denials) or line.figures != other.figures:
        return False
    mine = _subject(line.text)
    theirs = _subject(other.text)
    if min(len(mine), len(theirs)) < SHORTEST or not _same_names(line, other):
        return False
    return 2 * len(mine & theirs) / (len(mine) + len(theirs)) >= SAME_BUT_NEGATED


@lru_cache(maxsize=20_000)
def _subject(text: str) -> frozenset[str]:
    return content_words(_KOREAN_DENIAL.sub("", _CORRECTION.sub("", text))) - _DENIAL_WORDS


_KOREAN_DENIAL = re.compile(r"(?:지\s?않\S*|안\s|못\s|하지\s?마\S*|지\s?말\S*)")


@dataclass(frozen=True, slots=True)
class _Attribute:
    """A thing that has one value at a time. `pattern` finds its value; equal `key` groups are the same subject."""

    name: str
    patterns: tuple[re.Pattern[str], ...]


def _forms(*patterns: str) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(p, re.I) for p in patterns)


_WHO = r"(?:(?:the )?(?:user|owner)(?: said)?:?\s*|i\s+|we\s+|사용자(?:는|가|:)?\s*|저는\s*|나는\s*)?"
_ATTRIBUTES: tuple[_Attribute, ...] = (
    _Attribute(
        "home",
        _forms(
            rf"{_WHO}(?:now )?(?:lives?|living|resides?|moved|relocated|moving)(?: now)? (?:in|to) (?P<value>[A-Z][\w'’-]+(?: [A-Z][\w'’-]+)*)",
            r"(?P<value>[가-힣]{2,8})(?:에|에서) (?:살|거주)",
            r"(?P<value>[가-힣]{2,8})(?:으로|로) 이사",
        ),
    ),
    _Attribute(
        "favourite",
        _forms(
            r"(?:my |user'?s? |the user'?s? )?favou?rite (?P<key>\w+)(?: is| are|:)? (?:now )?(?P<value>[\w' -]{2,40}?)(?: now)?(?=[.,;(]|$)",
            r"(?:가장|제일) 좋아하는 (?P<key>[가-힣]+?)(?:은|는|이|가|:)? (?P<value>[가-힣\w ]{2,20}?)(?:이야|야|이에요|예요|입니다|이다|다)?(?=[.,;(]|$)",
        ),
    ),
    _Attribute(
        "employer",
        _forms(
            rf"{_WHO}(?:now )?(?:works?|working|started|starts) (?:at|for) (?P<value>[A-Z][\w'’&-]+(?: [A-Z][\w'’&-]+)*)"
        ),
    ),
    _Attribute(
        "phone or code",
        _forms(
            r"(?P<key>(?:\w+ ){0,2}(?:phone number|number|code|pin|password hint|plate|address))(?: is|:| changed to| is now) (?P<value>[\w +-]{3,40})",
        ),
    ),
)
"""Attributes of which a person has one at a time, each with the ways to say it that were met."""

_MOVABLE = re.compile(
    r"\b(?:moved?|rescheduled|postponed|brought forward|changed|shifted|delayed|instead|now|new date|pushed)\b|변경|연기|미뤄|옮겨|앞당|바뀌|verschoben|aplaz|cambi|reporté|décalé|変更|延期|改到|推迟",
    re.I,
)


def _has_another_value(line: _Line, other: _Line) -> bool:
    """The same attribute of the same person, or the same appointment, with another value."""
    if line.denials or other.denials:
        return False
    theirs = _values(other.text)
    for name, (key, value) in _values(line.text).items():
        if name in theirs and theirs[name][0] == key and theirs[name][1] != value:
            return _same_person(line.text, other.text, value, theirs[name][1])
    return _moved(line, other)


def _moved(line: _Line, other: _Line) -> bool:
    """An appointment that is said to have moved: the same words, another day."""
    if line.refers is None or other.refers is None or line.refers == other.refers or not _MOVABLE.search(line.text):
        return False
    mine, theirs = _without_figures(line.text), _without_figures(other.text)
    mine -= content_words(" ".join(_MOVABLE.findall(line.text)))
    shared = mine & theirs
    return len(shared) >= SHORTEST and len(shared) >= 0.6 * min(len(mine), len(theirs)) and _same_names(line, other)


@lru_cache(maxsize=20_000)
def _values(text: str) -> Mapping[str, tuple[str, str]]:
    """(subject, value) of each attribute that a line names, by the attribute's name. A line is compared with many."""
    found = ((attribute.name, _value(attribute, text)) for attribute in _ATTRIBUTES)
    return {name: value for name, value in found if value}


def _value(attribute: _Attribute, text: str) -> tuple[str, str] | None:
    for pattern in attribute.patterns:
        match = pattern.search(text)
        if match:
            groups = match.groupdict()
            return (groups.get("key") or attribute.name).strip().casefold(), groups["value"].strip().casefold()
    return None


def _same_person(one: str, other: str, *values: str) -> bool:
    """Whether two lines are about the same person: the names in them, other than the values, do not differ."""
    mine = {n for n in _folded_names(one) if not any(v in n or n in v for v in values)}
    theirs = {n for n in _folded_names(other) if not any(v in n or n in v for v in values)}
    first = _first_name(one), _first_name(other)
    return not (mine - theirs or theirs - mine) and first[0] == first[1]


_SUBJECT_START = re.compile(
    r"^(?P<name>[A-Z][\w'’-]+) (?:now |has |is )?(?:lives?|living|moved|works?|started|relocated)"
)


def _first_name(text: str) -> str | None:
    match = _SUBJECT_START.match(text)
    name = match["name"].casefold() if match else None
    return None if name in ("user", "owner", "the", "now", "i", "we") else name


def _was_named(observation: Observation, line: _Line, other: _Line) -> bool:
    """The model says that it takes the other's place, and they share a subject."""
    return other.id in observation.supersedes and len(line.words & other.words) >= 1


_TIMES = re.compile(r"\((?:in )?\d+ \w+(?: ago)?\)|\(\d{4}-\d\d(?:-\d\d)?[^)]*\)")


def _without_times(text: str) -> str:
    return _TIMES.sub(" ", text)


def _without_figures(text: str) -> frozenset[str]:
    return frozenset(word for word in content_words(_without_times(text)) if not any(c.isdigit() for c in word))
