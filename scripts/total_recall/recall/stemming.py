"""English words cut down to what their forms share: "painting", "painted" and "paints" are "paint". Pure.

The algorithm is Porter2, published as the Snowball stemmer for English (snowballstem.org/algorithms/english), with a
table of irregular forms before it, since people ask what somebody "bought" and have told what they "buy".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

_IRREGULAR_FORMS: Final = (
    "go went gone goes", "buy bought", "bring brought", "think thought", "catch caught", "teach taught", "see seen",
    "take took taken", "give gave given", "get got gotten", "make made", "come came", "become became",
    "begin began begun", "run ran", "win won", "write wrote written", "speak spoke spoken", "break broke broken",
    "choose chose chosen", "drive drove driven", "eat ate eaten", "fall fell fallen", "feel felt", "fly flew flown",
    "forget forgot forgotten", "grow grew grown", "hear heard", "hide hid hidden", "hold held", "keep kept",
    "know knew known", "lead led", "lend lent", "lose lost", "mean meant", "meet met", "pay paid", "ride rode ridden",
    "ring rang rung", "say said", "sell sold", "send sent", "shake shook shaken", "show shown", "sing sang sung",
    "sit sat", "sleep slept", "spend spent", "stand stood", "steal stole stolen", "swim swam swum", "tell told",
    "throw threw thrown", "understand understood", "wake woke woken", "wear wore worn", "build built",
    "draw drew drawn", "drink drank drunk", "fight fought", "bite bit bitten", "freeze froze frozen", "shoot shot",
    "stick stuck", "sweep swept", "tear tore torn", "child children", "man men", "woman women", "person people",
    "foot feet", "tooth teeth", "mouse mice", "wife wives", "knife knives",
)  # fmt: skip
"""A word and its forms. Forms that are words of their own ("saw", "left", "found", "lives") are not here."""

_IRREGULAR: Final = {form: word for word, *forms in (line.split() for line in _IRREGULAR_FORMS) for form in forms}

_EXCEPTIONS: Final = {
    "skis": "ski", "skies": "sky", "dying": "die", "lying": "lie", "tying": "tie", "idly": "idl", "gently": "gentl",
    "ugly": "ugli", "early": "earli", "only": "onli", "singly": "singl", "sky": "sky", "news": "news", "howe": "howe",
    "atlas": "atlas", "cosmos": "cosmos", "bias": "bias", "andes": "andes",
}  # fmt: skip
_WHOLE: Final = frozenset({"inning", "outing", "canning", "herring", "earring", "proceed", "exceed", "succeed"})

_VOWEL: Final = re.compile("[aeiouy]")
_REGION: Final = re.compile("[aeiouy][^aeiouy]")
_LONG_PREFIX: Final = re.compile("gener|commun|arsen")
_SHORT_SYLLABLE: Final = re.compile("(?:[^aeiouy][aeiouy][^aeiouywxY]|^[aeiouy][^aeiouy])$")
_DOUBLE: Final = ("bb", "dd", "ff", "gg", "mm", "nn", "pp", "rr", "tt")

_STEP_2: Final = (
    ("ization", "ize"), ("ational", "ate"), ("fulness", "ful"), ("ousness", "ous"), ("iveness", "ive"),
    ("tional", "tion"), ("biliti", "ble"), ("lessli", "less"), ("entli", "ent"), ("ation", "ate"), ("alism", "al"),
    ("aliti", "al"), ("ousli", "ous"), ("iviti", "ive"), ("fulli", "ful"), ("enci", "ence"), ("anci", "ance"),
    ("abli", "able"), ("izer", "ize"), ("ator", "ate"), ("alli", "al"), ("bli", "ble"), ("ogi", "og"), ("li", ""),
)  # fmt: skip
_STEP_3: Final = (
    ("ational", "ate"), ("tional", "tion"), ("alize", "al"), ("icate", "ic"), ("iciti", "ic"), ("ative", ""),
    ("ical", "ic"), ("ness", ""), ("ful", ""),
)  # fmt: skip
_STEP_4: Final = tuple(
    (ending, "")
    for ending in "ement ance ence able ible ment ant ent ism ate iti ous ive ize ion al er ic".split()
)  # fmt: skip
_BEFORE: Final = {"ogi": "l", "li": "cdeghkmnrt", "ion": "st"}
"""What must stand before an ending for it to be one."""


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """The stem of a case-folded word; a word that is not of ASCII letters stays as it is."""
    if len(word) < 3 or not (word.isascii() and word.isalpha()):
        return word
    word = _IRREGULAR.get(word, word)
    if word in _EXCEPTIONS:
        return _EXCEPTIONS[word]
    # A y that is a consonant is written as a capital while the rules look for vowels.
    word = re.sub("^y|(?<=[aeiouy])y", "Y", word)
    prefix = _LONG_PREFIX.match(word)
    r1 = prefix.end() if prefix else _region(word, 0)
    r2 = _region(word, r1)
    word = _without_plural(word)
    if word in _WHOLE:
        return word
    word = _without_tense(word, r1)
    if len(word) > 2 and word[-1] in "yY" and not _VOWEL.match(word[-2]):
        word = word[:-1] + "i"
    word = _replaced(word, _STEP_2, r1, r1)
    word = _replaced(word, _STEP_3, r1, r2)
    word = _replaced(word, _STEP_4, r2, r2)
    return _without_last(word, r1, r2).lower()


def _region(word: str, start: int) -> int:
    """Where the part behind the first consonant that follows a vowel begins."""
    found = _REGION.search(word, start)
    return found.end() if found else len(word)


def _without_plural(word: str) -> str:
    if word.endswith("sses"):
        return word[:-2]
    if word.endswith(("ied", "ies")):
        return word[:-2] if len(word) > 4 else word[:-1]
    if word.endswith("s") and not word.endswith(("us", "ss")) and _VOWEL.search(word[:-2]):
        return word[:-1]
    return word


def _without_tense(word: str, r1: int) -> str:
    ending = next((e for e in ("eedly", "ingly", "edly", "eed", "ing", "ed") if word.endswith(e)), None)
    if ending is None:
        return word
    head = word[: -len(ending)]
    if ending.startswith("eed"):
        return f"{head}ee" if len(head) >= r1 else word
    if not _VOWEL.search(head):
        return word
    if head.endswith(("at", "bl", "iz")):
        return f"{head}e"
    if head.endswith(_DOUBLE):
        return head[:-1]
    return f"{head}e" if r1 >= len(head) and _SHORT_SYLLABLE.search(head) else head


def _without_last(word: str, r1: int, r2: int) -> str:
    """Without a final e, or one l of two."""
    if word.endswith("ll"):
        is_ending = len(word) > r2
    else:
        is_ending = word.endswith("e") and (
            len(word) > r2 or (len(word) > r1 and not _SHORT_SYLLABLE.search(word[:-1]))
        )
    return word[:-1] if is_ending else word


def _replaced(word: str, endings: Sequence[tuple[str, str]], region: int, region_of_ative: int) -> str:
    """The word with the first ending that it has replaced, if that lies in its region."""
    for ending, by in endings:
        if word.endswith(ending):
            head = word[: -len(ending)]
            allowed = _BEFORE.get(ending)
            if len(head) < (region_of_ative if ending == "ative" else region):
                return word
            return word if allowed is not None and head[-1:] not in allowed else head + by
    return word
