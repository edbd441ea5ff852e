"""What kind of memory a line without metadata is, from its words. Pure.

The line itself is not changed: a person may have written it. When two kinds fit, the one that is kept longer counts, so
that nothing leaves too soon for having been misread.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from total_recall.decay import TTL_DAYS
from total_recall.records import ObservationType
from total_recall.retention import DEFAULT_TYPE

CACHED_LINES: Final = 16_384
_NEVER: Final = 10**6

CUES: Final[Mapping[ObservationType, str]] = {
    "rule": (
        r"\b(?:always|never|must(?:n't)?|do not|don't|under no circumstances|from now on|only ever|forbidden"
        r"|not allowed)\b|\b(?:immer|niemals|nie wieder|darf nicht|muss)\b|\b(?:siempre|nunca|jamás)\b"
        r"|\b(?:toujours|jamais|interdit)\b"
        r"|항상|반드시|절대|하지\s?마|금지|必ず|絶対|いつも|禁止|总是|必须|永远不"
    ),
    "habit": (
        r"\b(?:every (?:day|morning|evening|night|week|month|\w+day)|usually|daily|weekly"
        r"|each (?:day|morning|night|week)|in the habit|routinely|on (?:mon|tues|wednes|thurs|fri|satur|sun)days)\b"
        r"|\b(?:jeden (?:tag|morgen|abend)|täglich|gewöhnlich)\b|\b(?:cada (?:día|mañana|noche)|todos los)\b"
        r"|\b(?:chaque (?:jour|matin|soir)|tous les)\b|매일|매주|매달|마다|습관|毎日|毎週|習慣|每天|每周"
    ),
    "goal": (
        r"\b(?:wants? to|would like to|plans? to|goal|aims? to|hopes? to|intends? to|deadline|is due|due (?:by|on)"
        r"|todo|to-do|needs? to|by the end of)\b"
        r"|\b(?:ziel|will .{0,40} lernen|möchte)\b|\b(?:meta|quiere)\b|\b(?:objectif|veut)\b"
        r"|목표|하고 싶|할 계획|마감|하려고|目標|したい|予定|目标|想要|计划"
    ),
    "preference": (
        r"\b(?:prefers?|likes?|loves?|hates?|dislikes?|favou?rite|rather than|can't stand|decided|decision|chose"
        r"|choice)\b"
        r"|\b(?:bevorzugt|mag|lieblings\w*|entschied\w*)\b|\b(?:prefiere|gusta|decidió)\b|\b(?:préfère|aime|décidé)\b"
        r"|좋아하|싫어하|선호|결정|好き|嫌い|決め|喜欢|讨厌|决定"
    ),
    "fact": (
        r"\b(?:is|are|has|have|lives?|works?|owns?|born|called|named|address|number|allergic|speaks)\b"
        r"|\b(?:ist|hat|wohnt|heißt)\b|\b(?:es|tiene|vive)\b|\b(?:est|habite)\b|이다|입니다|있다|산다|です|である|是|有"
    ),
    "context": (
        r"\b(?:working on|currently|right now|in progress|is debugging|looking (?:at|into)|waiting for|thinking about"
        r"|reading|drafting|comparing|blocked)\b|\b(?:gerade|arbeitet an)\b|진행 중|하는 중|作業中|正在"
    ),
    "event": (
        r"\b(?:\w{3,}ed|went|met|sent|bought|paid|ran|broke|came|took|got|made|did|said|told|found|left|built|wrote|saw)\b"
        r"|\b(?:hat|haben|wurde) .{0,60}(?:t|en)\b|했다|했어|갔다|왔다|받았|샀|냈다|しました|した|了"
    ),
}  # fmt: skip
"""Words that a kind is known by, in the seven languages."""

_COMPILED: Final = {kind: re.compile(pattern, re.I) for kind, pattern in CUES.items()}
_PAST: Final[frozenset[ObservationType]] = frozenset({"event", "context"})


@lru_cache(maxsize=CACHED_LINES)
def kind_of(text: str) -> ObservationType:
    """The kind of a line, by the longest TTL of those that fit; a fact when none does.

    "is" and "has" alone do not make a fact of what tells of an event or of work at hand.
    """
    found = {kind for kind, pattern in _COMPILED.items() if pattern.search(text)}
    if found <= {"fact", *_PAST} and found & _PAST:
        found -= {"fact"}
    return max(found, key=_kept, default=DEFAULT_TYPE)


def _kept(kind: ObservationType) -> tuple[int, int]:
    ttl = TTL_DAYS[kind]
    return (_NEVER if ttl is None else ttl, -list(CUES).index(kind))
