"""Words, sentences, numbers, names and likeness of what people write, in any script. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import lru_cache
from typing import Literal

Language = Literal["en", "ko", "ja", "zh", "es", "de", "fr"]

_HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_KANA = "\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9f"
_HANGUL = "\uac00-\ud7a3\u1100-\u11ff\u3130-\u318f"
CJK = f"{_HAN}{_KANA}{_HANGUL}"

_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_BREAKING = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")
_SPACES = re.compile(r"\s+")
_COMMENT_MARKS = (("<!--", "<! --"), ("--!>", "--! >"), ("-->", "-- >"), ("dc:", "dc :"))


def plain_line(text: str) -> str:
    """`text` as one harmless line.

    Controls, line breaks and lone surrogates become spaces; zero-width, bidirectional and tag characters go;
    comment marks and the `dc:` of our metadata are broken up, so that a line cannot forge or close them.
    """
    line = _BREAKING.sub(" ", unicodedata.normalize("NFC", _INVISIBLE.sub("", text)))
    for mark, harmless in _COMMENT_MARKS:
        while mark in line:
            line = line.replace(mark, harmless)
    return _SPACES.sub(" ", line).strip()


def _word_set(spaced: str) -> frozenset[str]:
    return frozenset(spaced.split())


# --- languages -------------------------------------------------------------------------------------------------

_COMMON: dict[Language, str] = {
    "en": "the and is are was were you my i it to of that this for with have has had not on in be will would can "
    "please we our at by from but do does did me no what when how never always without over after before friday monday tomorrow today yes next week",
    "es": "el la los las un una de del que y en es son por para con mi tu su no se lo me está estoy tengo prefiero "
    "quiero vamos favor gracias hola mañana ayer hoy lunes martes miércoles jueves viernes sábado domingo próximo "
    "dentro semanas días sí pero muy siempre nunca como hay fue ha he enero febrero marzo abril mayo junio julio "
    "agosto septiembre octubre noviembre diciembre",
    "de": "der die das und ist sind war ich du wir sie es nicht ein eine einen dem den zu mit für auf von im am bitte "
    "danke hallo heute morgen gestern übermorgen montag dienstag mittwoch donnerstag freitag samstag sonntag nächste "
    "nächsten habe hat haben mein meine wird werden auch noch immer nie wochen tagen ja nein bis januar februar märz "
    "mai juni juli oktober dezember",
    "fr": "le la les un une des du de et est sont je tu il nous vous mon ma mes ne pas en à au aux pour avec que qui "
    "dans sur bonjour merci demain hier aujourd'hui lundi mardi mercredi jeudi vendredi samedi dimanche prochain "
    "prochaine semaine semaines jours oui non plaît toujours jamais ai été c'est j'ai janvier février mars avril mai "
    "juin juillet août septembre octobre novembre décembre",
}
_COMMON_WORDS: dict[Language, frozenset[str]] = {
    language: frozenset(words.split()) for language, words in _COMMON.items()
}
_LATIN_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_SCRIPTS = re.compile(f"(?P<hangul>[{_HANGUL}])|(?P<kana>[{_KANA}])|(?P<han>[{_HAN}])")
_LANGUAGE_SAMPLE = 2_000
_WORDS_PER_COMMON_ONE = 5


@lru_cache(maxsize=4096)
def language_of(text: str, default: Language = "en") -> Language:
    """The language that `text` seems to be written in; `default` where its words do not tell.

    Hangul, kana and Han decide by themselves as soon as they make up a fifth of the letters.
    """
    sample = text[:_LANGUAGE_SAMPLE]
    scripts = Counter(match.lastgroup for match in _SCRIPTS.finditer(sample))
    latin = _LATIN_WORD.findall(sample)
    cjk = sum(scripts.values())
    if cjk and cjk * 4 >= sum(map(len, latin)) - cjk:
        if scripts["hangul"] >= max(scripts["kana"], scripts["han"] / 2):
            return "ko"
        return "ja" if scripts["kana"] else "zh"
    words = [word.casefold().replace("’", "'") for word in latin]
    scores = {language: sum(word in common for word in words) for language, common in _COMMON_WORDS.items()}
    best = max(scores, key=lambda language: (scores[language], language == default))
    return best if scores[best] * _WORDS_PER_COMMON_ONE >= len(words) else default


# --- words, numbers, names -------------------------------------------------------------------------------------

_TOKEN = re.compile(rf"[{CJK}]+|\d[\d.,:]*\d|\d|[^\W\d_{CJK}]+(?:['’][^\W\d_{CJK}]+)*")
_CJK_RUN = re.compile(f"[{CJK}]")

STOP_WORDS = _word_set(
    "a an the and or but so if then than of to in on at by for from with as is are was were be been being am it its "
    "i me my mine we us our you your he she they them his her their this that these those there here do does did done "
    "have has had will would shall should can could may might must not no yes ok please just also very really some any "
    "all one more what which who when where how why about into up down out over again "
    "el la los las un una de del y en es por para con mi tu su lo se me que der die das und ist ein eine den dem zu mit "
    "für auf von im am ich du wir le les des du et est je il nous vous mon ma pour avec dans sur"
)


def words(text: str) -> tuple[str, ...]:
    """The words of `text`, case-folded; Chinese, Japanese and Korean runs as overlapping pairs of characters.

    Numbers are words: `1,200` and `1200` are the same one.
    """
    found: list[str] = []
    for token in _TOKEN.findall(unicodedata.normalize("NFKC", text)):
        if _CJK_RUN.match(token):
            found.extend(token[at : at + 2] for at in range(max(1, len(token) - 1)))
        elif token[0].isdigit():
            found.append(_canonical_number(token))
        else:
            found.append(token.casefold().replace("’", "'"))
    return tuple(found)


@lru_cache(maxsize=8192)
def content_words(text: str) -> frozenset[str]:
    """The words that carry meaning, with English endings cut, for comparing two texts."""
    return frozenset(_stem(word) for word in words(text) if word not in STOP_WORDS)


# What looks like an ending and is none.
_WHOLE_WORDS = _word_set(
    "news series species lens means always perhaps sometimes besides overseas whereas towards afterwards alias bias canvas "
    "atlas christmas texas kansas james jones kubernetes postgres jenkins physics economics mathematics politics "
    "embed hundred sacred hatred naked kindred infrared "
    "morning evening during nothing something anything everything ceiling sibling wedding pudding darling herring viking "
    "offspring substring earring beijing dumpling"
)
# Without their e they would be other words.
_NEEDS_E = _word_set("paste locale finale morale rationale humane envelope breathe bathe clothe tense range quite")
_IRREGULAR = {
    "dying": "die",
    "lying": "lie",
    "tying": "tie",
    "agreed": "agree",
    "freed": "free",
    "guaranteed": "guarantee",
    "pasted": "paste",
    "pasting": "paste",
    "menus": "menu",
    "cpus": "cpu",
    "gpus": "gpu",
}
_VOWEL = re.compile("[aeiouy]")
_SHORT = re.compile("[^aeiou]*[aeiouy][^aeiouwxy]")
"""One syllable that ends in one consonant. Before -ing and -ed it was doubled ("stopped") or had an e ("liked")."""
_DOUBLED = re.compile(r"..+([bdglmnprtz])\1")


@lru_cache(maxsize=16_384)
def _stem(word: str) -> str:
    """The same for all inflections of an English word, and no other word's: `studies`, `studied` and `study`.

    Written only to be compared. Words of other languages lose an ending now and then, each the same one.
    """
    word = word.removesuffix("'s")
    if len(word) < 3 or not word.isascii():
        return word
    word = _without_ending(_singular(word))
    if _DOUBLED.fullmatch(word):
        return word[:-1]
    if word.endswith("y") and word[-2] not in "aeiou":
        return f"{word[:-1]}i"
    is_silent = word.endswith("e") and len(word) > 3 and not word.endswith("ee") and word not in _NEEDS_E
    return word[:-1] if is_silent and not _SHORT.fullmatch(word[:-1]) else word


def _singular(word: str) -> str:
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) < 4 or word in _WHOLE_WORDS or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies"):
        return f"{word[:-3]}y" if len(word) > 4 else word[:-1]
    if word.endswith(("sses", "xes", "ches", "shes", "zzes", "oes")):
        return word[:-2]
    if word.endswith(("ses", "zes")):
        stem = word[:-2]
        return f"{stem}e" if _SHORT.fullmatch(stem) and stem not in ("bus", "gas", "plus") else stem
    return word[:-1]


def _without_ending(word: str) -> str:
    if len(word) < 4 or word in _WHOLE_WORDS:
        return word
    if word.endswith("ied"):
        return f"{word[:-3]}y" if len(word) > 4 else word[:-1]
    for ending in ("ing", "ed"):
        stem = word.removesuffix(ending)
        if stem != word and len(stem) > 1 and _VOWEL.search(stem) and not word.endswith("eed"):
            return f"{stem}e" if _SHORT.fullmatch(stem) else stem
    return word


_NUMBER = re.compile(r"\d[\d.,:]*\d|\d")
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")


def _canonical_number(token: str) -> str:
    return token.replace(",", "") if _THOUSANDS.fullmatch(token) else token.lstrip("0") or "0"


@lru_cache(maxsize=8192)
def numbers(text: str) -> frozenset[str]:
    """The numbers in `text` without leading zeros and thousands separators: `1,200` gives `1200`, `04` gives `4`."""
    return frozenset(_canonical_number(token) for token in _NUMBER.findall(unicodedata.normalize("NFKC", text)))


_CAPITALISED = re.compile(r"(?<![\w.@/-])[A-ZÀ-ÖØ-Þ][\w’'-]*[\w](?:[ ][A-ZÀ-ÖØ-Þ][\w’'-]*)*")
_IDENTIFIER = re.compile(r"\b(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[A-Za-z0-9][\w-]{2,}\b")
_PATH_OR_ADDRESS = re.compile(r"https?://[^\s<>()]+|[\w.+-]+@[\w-]+\.[\w.-]+|(?<!\w)[\w./~-]*\w\.[a-z]{2,5}\b")
_KATAKANA_NAME = re.compile(r"[ァ-ヴー]{2,}")
_ADDRESSED = re.compile(f"[{_HANGUL}]{{2,4}}(?=\\s?씨|님)|[{_HAN}{_KANA}]{{1,6}}(?=さん|様|氏|先生)")
_SENTENCE_START = re.compile(r"(?:^|[.!?:;。！？\n]\s*[\"'“(*-]*\s*)$")
_NOT_NAMES = _word_set(
    "i i'm i'll i've i'd ok okay yes no monday tuesday wednesday thursday friday saturday sunday january february march "
    "april may june july august september october november december user assistant"
)


@lru_cache(maxsize=8192)
def names(text: str) -> frozenset[str]:
    """What looks like the name of a person, a place, a product, a file, an address or an identifier.

    A capitalised word counts inside a sentence only; German nouns count too, which likeness can live with.
    """
    found = set(_IDENTIFIER.findall(text)) | set(_PATH_OR_ADDRESS.findall(text))
    found.update(_KATAKANA_NAME.findall(text))
    found.update(_ADDRESSED.findall(text))
    for match in _CAPITALISED.finditer(text):
        name = match.group()
        if _SENTENCE_START.search(text, 0, match.start()):
            name = name.partition(" ")[2]
        if name and name.casefold().replace("’", "'") not in _NOT_NAMES:
            found.add(name)
    return frozenset(found)


_NEGATION = re.compile(
    r"\b(?:not|no|never|none|nobody|nothing|without|cannot|can't|won't|don't|doesn't|didn't|isn't|aren't|wasn't|weren't|"
    r"shouldn't|mustn't|nicht|kein\w*|nie|niemals|ohne|nunca|jamás|sin|ningun\w*|pas|jamais|sans|aucune?)\b"
    r"|(?:않|안\s|못\s|못하|없|말고|지\s?마|아니)|(?:ない|ません|なかった|ず(?:に|、))|(?:不|没|沒|别|別|无|無)",
    re.IGNORECASE,
)


@lru_cache(maxsize=8192)
def negations(text: str) -> int:
    """How many words of `text` deny something, in the seven languages."""
    return len(_NEGATION.findall(text.replace("’", "'")))


def likeness(one: str, other: str) -> float:
    """How much two texts share, 0-1: the Dice coefficient of their content words."""
    mine, theirs = content_words(one), content_words(other)
    return 2 * len(mine & theirs) / (len(mine) + len(theirs)) if mine and theirs else 0.0


def containment(part: str, whole: str) -> float:
    """The share, 0-1, of the content words of `part` that `whole` has too; 0 when `part` has none."""
    mine = content_words(part)
    return len(mine & content_words(whole)) / len(mine) if mine else 0.0


def same_statement(one: str, other: str, *, threshold: float = 0.8) -> bool:
    """Whether two texts say the same: alike in words, and equal in numbers and in the count of negations."""
    return numbers(one) == numbers(other) and negations(one) == negations(other) and likeness(one, other) >= threshold


# --- sentences -------------------------------------------------------------------------------------------------

_ABBREVIATIONS = _word_set(
    "mr mrs ms dr prof st sr jr vs etc e.g i.e eg ie approx no nr ca inc ltd co corp dept est fig jan feb mar apr jun jul "
    "aug sep sept oct nov dec mon tue wed thu fri sat sun z.b d.h u.a bzw usw str tel ud uds sra srta p.ej m mme mlle av "
    "a.m p.m u.s u.k"
)
_STOP = re.compile(rf"[.!?…]+[\"'”’»)\]]*(?=\s)|[。！？]+[」』”）)]*|(?<=[{_HANGUL}])[.!?~]+(?=[{_HANGUL}])")
_LAST_TOKEN = re.compile(r"(\S+)$")


def sentences(paragraph: str) -> tuple[str, ...]:
    """`paragraph` cut at the ends of its sentences; abbreviations, initials, ordinals and decimals do not end one."""
    found: list[str] = []
    start = 0
    for stop in _STOP.finditer(paragraph):
        if _ends_here(paragraph, stop.start(), stop.end()):
            found.append(paragraph[start : stop.end()].strip())
            start = stop.end()
    found.append(paragraph[start:].strip())
    return tuple(sentence for sentence in found if sentence)


def _ends_here(paragraph: str, at: int, end: int) -> bool:
    if paragraph[at] != "." or paragraph[at : at + 2] == "..":
        return True
    last = _LAST_TOKEN.search(paragraph, max(0, at - 40), at)
    if last is None:
        return False
    token = last.group(1).strip("(\"'“«[")
    following = paragraph[end:].lstrip()[:1]
    if not following:
        return True
    if token.casefold() in _ABBREVIATIONS or (len(token) == 1 and token.isupper()):
        # "at 5 p.m. We left": an abbreviation ends a sentence only where a new one clearly begins.
        return token.casefold() in {"etc", "a.m", "p.m"} and following.isupper()
    if token.isdigit() and len(token) <= 2:
        # "am 14. Dezember" goes on; "We need 14. Then" ends: ordinals stand before a month, a noun or a small letter.
        return not following.islower() and not _ORDINAL_GOES_ON.match(paragraph[end:].lstrip())
    return not following.islower() or at != end - 1 or (len(token) > 1 and token.isalpha())


_ORDINAL_GOES_ON = re.compile(
    r"(?:Jan|Feb|Mär|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez|Stock|Etage|Klasse|Geburtstag|Mal|\d)", re.IGNORECASE
)
