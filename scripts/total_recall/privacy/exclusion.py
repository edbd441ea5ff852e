"""What is kept out of memory: conversations that a setting names, and what a person says to forget. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final, Literal

from total_recall.records import Message

Part = Literal["session", "channel", "sender", "text"]

FORMS: Final = "a comma list of session:KEY-OR-ID, channel:NAME, sender:NAME (each with * and ?) and text:WORDS"

_END = r"(?=\s*(?:[.!,;:—–)\]…]|\n|\Z|-\s))"
_OFF_THE_RECORD: Final = tuple(
    re.compile(pattern, re.I)
    for pattern in (
        # Said of what is being said, not of what somebody told a reporter once.
        r"(?:\A|[.!?\n(\[]\s*)(?:(?:this|that|it)(?: is|'s|’s| stays| remains)|keep (?:this|that|it)"
        rf"|strictly|please,?)?\s*(?:strictly )?off[ -]the[ -]record{_END}",
        r"(?<!\bI )(?<!\bwe )(?<!\byou )(?<!\bthey )(?<!\bhe )(?<!\bshe )"
        r"\b(?:do not|don'?t|don’t|never) (?:ever )?(?:remember|memori[sz]e) (?:this|that|any of this|what I)\b"
        r"(?! (?:year|week|month|day|time|place|book|film|movie|song|guy|man|woman|person|name)\b)",
        r"\b(?:do not|don'?t|don’t|never) (?:save|store|keep|write|put|record) (?:this|that|it|any of this)"
        r"(?: \w+)? (?:to|in|into|from) (?:your |the |long-term )?(?:memory|memories)\b",
        r"\bkeep (?:this|that|it)(?: \w+)? out of (?:your |the )?(?:memory|memories)\b",
        r"\bI (?:do not|don'?t|don’t) want you to (?:remember|memori[sz]e) (?:this|that|any of this|it)\b",
        r"기억하지\s?(?:마|말)|오프\s?더\s?레코드|(?:메모리|기억)에\s?(?:저장|남기|기록)\S*\s?(?:마|말)",
        r"覚えないで|記憶しないで|オフレコ(?:で|に|です|だけど|ね|[。、!！]|\Z)",
        r"(?:不要|别|請勿|请勿|不用)(?:记住|記住|记下|記下)(?:这|這|此|它|$|[。,,!！])|不要(?:存|写|寫)(?:入|进|進)(?:记忆|記憶)",
        r"\bmerk(?:e)? dir das (?:bitte )?nicht\b|\bnicht (?:ins Gedächtnis|merken)\b",
        r"\bno (?:recuerdes|memorices|guardes) esto\b|\bno lo (?:recuerdes|memorices)\b|\bextraoficial(?:mente)?:",
        r"\bne (?:retiens|mémorise|retenez|mémorisez) pas (?:ça|cela|ceci)\b|\bne le (?:retiens|mémorise) pas\b",
    )
)


@dataclass(frozen=True, slots=True)
class Rule:
    """One entry of TOTAL_RECALL_EXCLUDE. `pattern` is folded; in `text` it is found anywhere, else it matches whole."""

    part: Part
    pattern: str


def parse_rules(value: str) -> tuple[Rule, ...]:
    """The rules of a setting's value. Raises ValueError, which names the entry that is none."""
    rules = []
    for entry in (piece.strip() for piece in value.split(",")):
        if not entry:
            continue
        name, colon, pattern = entry.partition(":")
        part = next((part for part in _PARTS if part == name.strip().casefold()), None)
        if part is None or not colon or not pattern.strip():
            raise ValueError(entry)
        rules.append(Rule(part, pattern.strip().casefold()))
    return tuple(rules)


def keeps_out(rules: tuple[Rule, ...]) -> Callable[[Message], bool]:
    """Whether a message is to be kept out, by the rules or by its own words. An answer goes with its question."""

    def decide(message: Message) -> bool:
        return any(_matches(rule, message) for rule in rules) or (
            message.role == "user" and is_off_the_record(message.text)
        )

    return decide


def is_off_the_record(text: str) -> bool:
    """Whether a person says that what they say is not to be remembered."""
    return any(pattern.search(text) for pattern in _OFF_THE_RECORD)


_PARTS: Final[tuple[Part, ...]] = ("session", "channel", "sender", "text")


def _matches(rule: Rule, message: Message) -> bool:
    match rule.part:
        case "session":
            return any(
                fnmatchcase(name.casefold(), rule.pattern) for name in (message.session_id, message.session_key or "")
            )
        case "channel":
            return fnmatchcase((message.channel or "").casefold(), rule.pattern)
        case "sender":
            return message.role == "user" and fnmatchcase((message.speaker or "").casefold(), rule.pattern)
        case "text":
            return rule.pattern in message.text.casefold()
