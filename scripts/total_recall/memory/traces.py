"""What is to be forgotten, found again in texts: by its id, by its words, or by a long run of them. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta, timezone
from hashlib import blake2b

from total_recall.memory.verification import subject_of
from total_recall.records import Observation
from total_recall.text import CJK

RUN = 24
"""A text that has so many characters of another in a row, spaces and punctuation aside, holds its words."""
SHORTEST = 6
"""Shorter texts are not looked for inside of others: "tea" is in everything."""
PROBES = 3
"""The longest words of a text: where one of them is missing, the text cannot stand."""
LEAST_WORDS = 2
"""Content words that two texts must share before they can be about the same thing."""
SAID = 0.8
"""Share of the content words of a memory that a message has when it says the same."""
NOTED = 2 / 3
"""The same for a line of somebody's notes, which is only pointed out."""
EAST = timedelta(hours=14)
"""No time zone is further ahead of UTC."""

_RELATIVE = re.compile(r"\((?:in [0-9]+ days?|[0-9]+ days? ago|today|tomorrow|yesterday)\)")
_WORD = re.compile(r"\w+")


def normal(text: str) -> str:
    """The words of a text alone, folded, so that the same words are the same whatever stands around them.

    "(in 4 days)" beside a date is told anew with time and does not count. A text without words stays as it is.
    """
    folded = _folded(_RELATIVE.sub(" ", text) if "(" in text else text)
    return " ".join(_WORD.findall(folded)) or " ".join(text.split())


def _folded(text: str) -> str:
    return text.casefold() if text.isascii() else unicodedata.normalize("NFKC", text).casefold()


def text_hash(text: str, key: bytes) -> bytes:
    """What stands for the words of a forgotten memory: 16 bytes that say nothing without the key."""
    return blake2b(normal(text).encode("utf-8", "replace"), key=key, digest_size=16).digest()


@dataclass(frozen=True, slots=True)
class Tombstones:
    """What was forgotten, as hashes, each with the last ms since 1970 up to which what says the same is kept out.

    What is said again later is a new statement: then the person wants it known.
    """

    key: bytes
    until: Mapping[bytes, int] = field(hash=False)

    def keep_out(self, observation: Observation) -> bool:
        """Whether this observation says something that was forgotten after it was said."""
        until = self.until.get(text_hash(observation.text, self.key))
        return until is not None and round(observation.at.timestamp() * 1000) <= until

    def last_day(self, text: str) -> date | None:
        """The last day, wherever on earth, for which these words were forgotten; None when they were not."""
        until = self.until.get(text_hash(text, self.key))
        return None if until is None else (datetime.fromtimestamp(until / 1000, timezone.utc) + EAST).date()


class Words:
    """The words of what is to be forgotten."""

    def __init__(self, texts: Iterable[str]) -> None:
        self.texts = frozenset(filter(None, map(normal, texts)))
        long = [text for text in self.texts if len(text) >= RUN]
        self._runs = {text[at : at + RUN] for text in long for at in range(len(text) - RUN + 1)}
        self._probes = [tuple(sorted(text.split(), key=len)[-PROBES:]) for text in self.texts]
        self._short = [f" {text} " for text in self.texts if SHORTEST <= len(text) < RUN]

    def may_stand_in(self, text: str) -> bool:
        """Whether a long text can hold one of these things at all: quick, and a no is certain."""
        folded = _folded(text)
        return any(all(probe in folded for probe in some) for some in self._probes)

    def are(self, text: str) -> bool:
        """Whether a text says just one of these things."""
        return normal(text) in self.texts

    def stand_in(self, text: str) -> bool:
        """Whether a text holds one of these things, or a long part of one."""
        if not self._runs and not self._short:
            return False
        words = normal(text)
        if any(short in f" {words} " for short in self._short):
            return True
        return bool(self._runs) and any(words[at : at + RUN] in self._runs for at in range(len(words) - RUN + 1))


def speaks_of(text: str, memories: Collection[str], share: float = SAID) -> bool:
    """Whether a text has this share of the content words of one of these memories, in any form and order."""
    words = subject_of(text)
    return any(
        len(shared := subject & words) >= LEAST_WORDS and len(shared) >= share * len(subject)
        for subject in map(subject_of, memories)
    )


class Query:
    """Words that somebody wants forgotten: each must occur, and what stands in quotation marks as it stands there.

    Latin and other spaced scripts match whole words; Chinese, Japanese and Korean match inside of words, which have
    endings there.
    """

    def __init__(self, query: str) -> None:
        quoted = re.findall(r"[\"“”]([^\"“”]+)[\"“”]", query)
        rest = re.sub(r"[\"“”][^\"“”]+[\"“”]", " ", query)
        self.parts = tuple(filter(None, [*(normal(part) for part in quoted), *normal(rest).split()]))
        self._probes = [max(part.split(), key=len) for part in self.parts]

    def matches(self, text: str) -> bool:
        """Whether a text has every part."""
        folded = _folded(text)
        if not all(probe in folded for probe in self._probes):
            return False
        words = f" {normal(text)} "
        return bool(self.parts) and all((part if _is_cjk(part) else f" {part} ") in words for part in self.parts)


_CJK_ONLY = re.compile(f"[{CJK}]+")


def _is_cjk(part: str) -> bool:
    return _CJK_ONLY.fullmatch(part) is not None


_MADE_INTO = re.compile(r"^merged into (?P<id>[A-Za-z0-9_-]+)$")
_SAID_AGAIN = re.compile(r"^said again later: (?P<id>[A-Za-z0-9_-]+)$")


def merged_into(reason: str) -> str | None:
    """The id of the line that an archived one was merged into, as its reason says."""
    match = _MADE_INTO.match(reason)
    return match["id"] if match else None


def said_again_in(reason: str) -> str | None:
    """The id of the newer line that says all that an archived one does."""
    match = _SAID_AGAIN.match(reason)
    return match["id"] if match else None


def closed(seeds: Collection[str], archived: Iterable[tuple[str, str]]) -> frozenset[str]:
    """The ids, and those that hold the same words because one was made of the other.

    `archived` are (id, reason). What a line was merged from, or repeated, goes with it, and what it was merged into, on
    and on; what else was merged into that does not.
    """
    made: dict[str, list[str]] = {}
    of: dict[str, list[str]] = {}
    for name, reason in archived:
        into = merged_into(reason) or said_again_in(reason)
        if into:
            of.setdefault(into, []).append(name)
            made.setdefault(name, []).append(into)
    down = frozenset(_reached(seeds, of))
    return frozenset(_reached(down, made))


def _reached(seeds: Iterable[str], edges: Mapping[str, Collection[str]]) -> Iterator[str]:
    seen: set[str] = set()
    todo = list(seeds)
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            yield name
            todo += edges.get(name, ())
