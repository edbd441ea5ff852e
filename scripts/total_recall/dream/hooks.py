"""What finds an archived line again: four or five search hooks, and the line that stands in the memory for it. Pure.

The hooks are words that `grep` meets: the line's own, other words for them, what was wrong, how it ended, and when.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date
from typing import Final

from total_recall.dream.items import Item
from total_recall.dream.synonyms import others_for
from total_recall.dream.topics import named, terms
from total_recall.text import plain_line

LEAST: Final = 4
MOST: Final = 5
OWN_WORDS: Final = 10
CLAUSE_CHARACTERS: Final = 70
HOOK_CHARACTERS: Final = 100
WHOLE_LINE: Final = 2_000
OUTCOME_CHARACTERS: Final = 80
TOPIC_CHARACTERS: Final = 40

_MARKUP: Final = re.compile(r"[*_`\[\]<>|;#]+")
_MAY_BE_MARKUP: Final = re.compile(r"<!|--|dc:")
_CLAUSE: Final = re.compile(r"(?<=[^\d]),\s+|[;:.!?]\s+|\s+(?:and|but|because|after|so|지만|그리고)\s+|。|、")
_PROBLEM: Final = (
    frozenset(
        "fail erro cras brok bug bugs flak lost late hurt pain miss trip twic slow full wron cold prob issu scra stuc "
        "down refu deni forg canc leak ill sick skip with not n't fehl kapu fall erre".split()
    ),
    re.compile(r"n't\b|실패|오류|고장|늦|아프|취소|못|안\s|失敗|故障|失败"),
)
"""How words begin (four letters) that tell what was wrong, and what does so without blanks between words."""
_OUTCOME: Final = (
    frozenset(
        "fixe solv paid fini done repl arri move save deci agre sent got boug book gree work pass cont fine sign rece "
        "dele chec erle beza resu reso".split()
    ),
    re.compile(r"résolu|완료|해결|냈다|샀|받았|고쳤|完了|解決|完成"),
)
"""The same for how it ended."""
_KINDS: Final = {
    "event": "happened", "context": "work at hand", "fact": "known", "preference": "preferred", "goal": "wanted",
    "habit": "habit", "rule": "rule",
}  # fmt: skip


def hooks_of(item: Item, phrasings: Sequence[str] = ()) -> tuple[str, ...]:
    """Four or five hooks of a line. `phrasings` are other ways to say it that a model gave and that were checked."""
    text = safe(item.text, WHOLE_LINE)
    clauses = _clauses(text)
    own = " ".join(terms(item.text)[:OWN_WORDS]) or text
    others = " ".join((*phrasings[:1], *others_for(text)))
    ending = _clause(clauses, _OUTCOME) or (clauses[-1] if len(clauses) > 1 else "")
    found = [own, others, _clause(clauses, _PROBLEM), ending, " ".join(named(item.text)[:4]), *phrasings[1:]]
    kept: dict[str, str] = {}
    for hook in (*found, *_when(item)):
        short = _shortened(hook, HOOK_CHARACTERS)
        if short:
            kept.setdefault(short.casefold(), short)
        if len(kept) == MOST:
            break
    return tuple(kept.values())


def safe(text: str, most: int) -> str:
    """A text as it may stand among hooks: one line, no Markdown, no separator, not longer than `most` characters."""
    plain = text if text.isascii() and text.isprintable() and not _MAY_BE_MARKUP.search(text) else plain_line(text)
    return _shortened(_MARKUP.sub(" ", plain), most)


def _shortened(text: str, most: int) -> str:
    plain = " ".join(text.split()).strip(" .,:-–")
    return plain if len(plain) <= most else f"{plain[: most - 1].rsplit(' ', 1)[0].rstrip(' ,.:')}…"


def topic_of(text: str) -> str:
    """What a single line is about, in two or three of its words."""
    words = list(terms(text))
    first = max(
        (name for name in named(text) if len(name) <= TOPIC_CHARACTERS and "/" not in name), key=len, default=""
    )
    rest = [word for word in words if word.casefold() not in first.casefold()]
    return safe(" ".join([first, *rest][:3] if first else words[:3]) or text, TOPIC_CHARACTERS) or "note"


def outcome_of(text: str, most: int = OUTCOME_CHARACTERS) -> str:
    """How it ended, in the line's own words."""
    return safe(text if len(text) <= most else _clause(_clauses(text), _OUTCOME) or text, most) or "noted"


def hook_line(topic: str, outcome: str, span: str, where: str) -> str:
    """The line that stands in the memory for what is archived at `where` (`archive/observations/DATE.md#OBS-…`)."""
    told = safe(outcome, OUTCOME_CHARACTERS) or "noted"
    return f"- **{safe(topic, TOPIC_CHARACTERS) or 'note'}**: {told} ({span}). [ref: {where}]"


def _clauses(text: str) -> list[str]:
    return [clause for clause in (part.strip() for part in _CLAUSE.split(text)) if clause]


def _clause(clauses: Sequence[str], cues: tuple[frozenset[str], re.Pattern[str]]) -> str:
    """The first part of a text that says such a thing, as far as there is room for it."""
    beginnings, elsewhere = cues
    for clause in clauses:
        low = clause.lower()
        if not beginnings.isdisjoint([word[:4] for word in low.split()]) or elsewhere.search(low):
            return clause[: CLAUSE_CHARACTERS * 2]
    return ""


def _when(item: Item) -> Iterator[str]:
    """Hooks that every line has: its day in words, and what kind of memory it is."""
    if item.day is not None:
        yield f"{_MONTHS[item.day.month - 1]} {item.day.year} {item.day.isoformat()}"
    yield f"{_KINDS[item.type]} {item.type}"
    yield f"{item.priority} priority"
    yield "archived memory"


_MONTHS: Final = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip


def week_of(day: date | None) -> str:
    """The week that a day is in, as a topic."""
    if day is None:
        return "Undated notes"
    monday = date.fromordinal(max(1, day.toordinal() - day.weekday()))
    return f"Week of {monday.isoformat()}"
