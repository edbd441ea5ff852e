"""Text that does nothing but be read: on a terminal, in the document, in the context, in a model's input. Pure.

| what a text may hold | what it could do |
|---|---|
| control characters (C0, C1), escape sequences | move the cursor, set the clipboard, hide what was printed |
| bidirectional, zero-width, tag and selector characters | show one thing and say another |
| tags, comments, fences, their look-alikes | close the element that the text stands in |
| `dc:name=` | pose as our metadata |
| `](`, `[[` | load an image, which tells its server what is in the address; embed a file |
| `[ref:`, `@../file` | name a file to whatever follows such references |
| `user:` at the start | pose as a turn of the conversation |
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

_PLAIN: Final = re.compile("[^ -~\n가-힣一-鿿ぁ-ゖァ-ヺー¡-¬®-ʯ]")
"""What is worth a look: all but letters and marks that are seen for what they are."""
_UNSEEN: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u3164\uffa0\ufff0-\ufff8\U000e0000-\U000e00ff\U000e01f0-\U000e0fff]"
)
"""Characters that nobody sees although their category (letter, mark, unassigned) does not say so."""
_BLANK: Final = "\u2800"
_PREPENDED_SIGNS: Final = frozenset(
    "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"
)
"""Format characters (category Cf) that are nevertheless seen: Arabic number signs and their like."""
_JOINERS: Final = "\u200c\u200d"
_STYLES: Final = "\ufe0e\ufe0f"
"""Text or picture: behind a symbol, or a digit that becomes a key."""
_KEYS: Final = frozenset("0123456789#*")
_VARIANTS: Final = re.compile("[\ufe00-\ufe0d\U000e0100-\U000e01ef]")
"""Forms of a Chinese character; anywhere else they carry a message, a byte each."""
_HAN: Final = re.compile("[\u2e80-\u2fdf\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")

_ANGLES: Final = "<＜﹤‹⟨〈❮❬˂ᐸ"
_SLASHES: Final = "/／∕⁄⧸╱"
_OWN_NAME: Final = re.compile(rf"(?<=[{_SLASHES}])\s*total[\W_]?recall[\W_]?(?=memory|context)", re.I)
_ROLES: Final = (
    "user|assistant|system|human|ai|agent|bot|model|tool|function|developer|owner"
    "|사용자|유저|어시스턴트|비서|시스템|도구|ユーザー|アシスタント|システム|用户|使用者|助手|系统|系統"
    "|nutzer|benutzer|assistent|usuario|asistente|sistema|utilisateur|système"
)
_TURN: Final = re.compile(
    rf"^([\W\d_]*(?:{_ROLES})(?![^\W_])[^\w:：]{{0,6}}(?:\([^()]{{0,40}}\)[^\w:：]{{0,6}})?)_*[:：]\s*", re.I
)
_LIKE_LATIN: Final = str.maketrans("аеорсухѕіјԁһʏмтвнкАЕОРСУХЅІЈМТВНК", "aeopcyxsijdhymtbhkAEOPCYXSIJMTBHK")
"""Cyrillic letters that look like Latin ones."""
_BREAKS: Final = (
    (re.compile(rf"[{_ANGLES}]\s*[{_SLASHES}][{_SLASHES}\s]*"), "‹"),
    (re.compile(r"[<＜﹤](?=\s*(?:[!?|<＜﹤]|\Z)|[^\W\d_])"), "‹"),
    (_OWN_NAME, "total recall "),
    (re.compile("⟦"), "["),
    (re.compile("⟧"), "]"),
    (re.compile(r"`{3,}"), "`"),
    (re.compile(r"~{3,}"), "~"),
    (re.compile(r"--(?=!?>)"), "-- "),
    (re.compile(r"dc:(?=[\w.-]+=)"), "dc: "),
    (re.compile(r"\[(?=\[|\s*ref\s*:)", re.I), "[ "),
    (re.compile(r"\](?=\()"), "] "),
    (re.compile(r"(?<![\w.])@(?=[~./\\]|\S*\.\.[/\\])"), "@ "),
)


def printable(text: str) -> str:
    """The text without what is not seen and what drives a terminal; its line breaks (`\\n`) stay.

    Control characters become spaces, half surrogates U+FFFD. Invisible characters go, except joiners inside non-ASCII
    words and emoji, and selectors where they select. Applied twice it changes nothing more.
    """
    return "".join(_seen(text))


def _seen(text: str) -> Iterator[str]:
    at, last = 0, ""
    for match in _PLAIN.finditer(text):
        if match.start() > at:
            yield text[at : match.start()]
            last = text[match.start() - 1]
        following = text[match.end() : match.end() + 1]
        shown = _shown(match[0], last, following)
        if shown:
            yield shown
            last = shown
        at = match.end()
    yield text[at:]


def _shown(character: str, last: str, following: str) -> str:
    """What is shown for a character between the last one that is shown and the next one of the text."""
    if character in _JOINERS:
        return character if _can_join(last) and _can_join(following) and not _hides(following) else ""
    if character in _STYLES:
        selects = (last > "\x7f" and not _hides(last)) or last in _KEYS
        return character if selects else ""
    if _VARIANTS.match(character):
        return character if _HAN.match(last) else ""
    if _UNSEEN.match(character):
        return ""
    category = unicodedata.category(character)
    if category in ("Cc", "Zl", "Zp") or character == _BLANK:
        return " "
    if category == "Cs":
        return "\ufffd"
    return character if category != "Cf" or character in _PREPENDED_SIGNS else ""


def _can_join(neighbour: str) -> bool:
    return neighbour > "\x7f" and unicodedata.category(neighbour)[0] in "LMS"


def _hides(character: str) -> bool:
    """Whether a character is one of those that may go themselves."""
    return bool(_UNSEEN.match(character) or _VARIANTS.match(character)) or character in f"{_STYLES}{_JOINERS}{_BLANK}"


@lru_cache(maxsize=16_384)
def inert(text: str) -> str:
    """The text as one printable line in which nothing opens, closes, refers, loads or poses as somebody's turn.

    Applied twice it changes nothing more.
    """
    line = " ".join(printable(text).split())
    for pattern, replacement in _BREAKS:
        line = pattern.sub(replacement, line)
    return _without_turn(" ".join(line.split()))


def _without_turn(line: str) -> str:
    """`user: …` as "user – …", which is no turn; also where it is written in letters that look the same."""
    found = _TURN.match(line.translate(_LIKE_LATIN))
    return f"{line[: found.end(1)]} – {line[found.end() :]}".strip() if found else line


def printable_json(text: str) -> str:
    """JSON in which what a terminal or a reader must not be given is escaped; it still says the same."""
    return _PLAIN.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    character = match[0]
    if _shown(character, "", "") == character:
        return character
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[n] << 8 | units[n + 1]:04x}" for n in range(0, len(units), 2))
