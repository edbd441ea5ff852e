"""The numbers that a text names, each with the other ways in which the same number is written. Pure.

`1,200` is `1 200`, `1.200` and `1.2k`; `3:30 pm` is `15:30` and `오후 3시 반`; `3만 5천` is `35,000`; `two` is `2`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

_DIGITS = r"\d{1,3}(?:[ \u00a0\u202f]\d{3})+(?![\d.,:])|\d[\d.,:]*\d|\d"
_SCALES: dict[str, int] = {
    "백만": 10**6, "천만": 10**7, "억": 10**8, "만": 10**4, "천": 10**3,
    "億": 10**8, "亿": 10**8, "万": 10**4, "萬": 10**4, "千": 10**3,
    "thousand": 10**3, "tausend": 10**3, "mille": 10**3, "mil": 10**3, "k": 10**3,
    "million": 10**6, "millions": 10**6, "millionen": 10**6, "mio": 10**6, "millones": 10**6,
    "billion": 10**9, "bn": 10**9,
}  # fmt: skip
_SCALE = "|".join(sorted((w if ord(w[0]) > 127 else rf"{w}\b" for w in _SCALES), key=len, reverse=True))
_FIGURE = re.compile(
    rf"(?P<digits>{_DIGITS})"
    r"(?:[^\S\n]?(?P<hour>시|時|点|點|Uhr\b|h(?=\d|\b)|o['’]clock|[ap]\.?m\b\.?)[^\S\n]?(?:(?P<minute>\d{1,2})(?:\s?(?:분|分|min))?|(?P<half>반|半))?"
    rf"|[^\S\n]?(?P<scale>{_SCALE})(?:\s?(?P<more>\d+)\s?(?P<smaller>천|千|백|百)?)?)?",
    re.IGNORECASE,
)
_WORDS: dict[str, str] = {}
for _value, _spelled in enumerate(
    (
        "zero null zéro cero 영 공 零|one once single ein eine einen un une uno una 한 하나 일 一|two twice both couple pair zwei deux dos 두 둘 이 二 两|"
        "three drei trois tres 세 셋 삼 三|four vier quatre cuatro 네 넷 사 四|five fünf cinq cinco 다섯 오 五|"
        "six sechs seis 여섯 육 六|seven sieben sept siete 일곱 칠 七|eight acht huit ocho 여덟 팔 八|"
        "nine neun neuf nueve 아홉 구 九|ten zehn dix diez 열 십 十|eleven elf onze once 열한|twelve dozen zwölf douze doce 열두"
    ).split("|")
):
    _WORDS |= {word: str(_value) for word in _spelled.split()}
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_WORDS |= {word: str(20 + 10 * at) for at, word in enumerate(_TENS)} | {"hundred": "100", "thousand": "1000"}
_SPELLED = re.compile(r"[^\W\d_]+")
_COUNTED = re.compile(
    r"(열한|열두|한|두|세|네|다섯|여섯|일곱|여덟|아홉|열)\s?(시|명|개|번|잔|살|달|시간|가지|권|장|병|마리|주|배)"
    r"|([一二两三四五六七八九十])\s?([个個点點人位年月日天周次时時元块万千名つ本])"
)


@dataclass(frozen=True, slots=True)
class Figure:
    """`text[start:end]` names a number; `readings` are its spellings, without leading zeros and separators."""

    start: int
    end: int
    shown: str
    readings: frozenset[str]


def figures(text: str) -> tuple[Figure, ...]:
    """The numbers written with digits, in order. Places are those in the NFKC form of `text`."""
    return tuple(_figures(unicodedata.normalize("NFKC", text)))


def readings(text: str) -> frozenset[str]:
    """All spellings of all numbers in `text`, those in words included."""
    plain = unicodedata.normalize("NFKC", text)
    found = {reading for figure in _figures(plain) for reading in figure.readings}
    found.update(_WORDS[word] for word in map(str.casefold, _SPELLED.findall(plain)) if word in _WORDS)
    for match in _COUNTED.finditer(plain):
        value = int(_WORDS[match[1] or match[3]])
        found.update(_clock(value, 0) if (match[2] or match[4]) in _CLOCK_UNITS else {str(value)})
        if (match[4] or "") in ("万", "千"):
            found.add(str(value * _SCALES[match[4]]))
    return frozenset(found)


_CLOCK_UNITS = ("시", "点", "點", "时", "時")


def _figures(text: str) -> Iterator[Figure]:
    for match in _FIGURE.finditer(text):
        shown = match["digits"]
        if match["hour"] and shown.isdigit():
            minute = int(match["minute"] or (30 if match["half"] else 0))
            spelled = _clock(int(shown), minute) if minute < 60 else {shown}
        elif match["scale"]:
            spelled = _scaled(shown, match["scale"], match["more"], match["smaller"])
        else:
            spelled = _plain(shown)
        yield Figure(match.start(), match.end(), match.group().strip(), frozenset(spelled))


def _plain(digits: str) -> set[str]:
    clock = re.fullmatch(r"(\d{1,2}):(\d\d)(?::\d\d)?", digits)
    if clock and int(clock[1]) < 25 and int(clock[2]) < 60:
        return _clock(int(clock[1]), int(clock[2]))
    bare = re.sub(r"[ \u00a0\u202f]", "", digits)
    found = {_canonical(bare)}
    if re.fullmatch(r"\d{1,3}(?:[.,]\d{3})+(?:[.,]\d{1,2})?", bare):
        whole, _, rest = re.sub(r"[.,](?=\d{3}(?!\d))", "", bare).replace(",", ".").partition(".")
        found.add(_canonical(f"{whole}.{rest}" if rest else whole))
    elif bare.count(",") == 1:
        found.add(_canonical(bare.replace(",", ".")))
    return found


def _canonical(digits: str) -> str:
    """Without leading zeros and the zeros behind a decimal point: `04.50` is `4.5`, `12.00` is `12`."""
    if digits.count(".") == 1 and re.fullmatch(r"\d+\.\d{1,2}", digits):
        digits = digits.rstrip("0").rstrip(".")
    return digits.lstrip("0") or "0"


def _clock(hour: int, minute: int) -> set[str]:
    hours = {hour, (hour + 12) % 24 if hour <= 12 else hour - 12}
    found = {f"{h}:{minute:02}" for h in hours}
    return found | {str(h) for h in hours} if minute == 0 else found


def _scaled(digits: str, scale: str, more: str | None, smaller: str | None) -> set[str]:
    """`3만 5천` is 35,000; `15만 원` 150,000; `1.5k` 1,500. What stands alone behind it stays a number of its own."""
    spelled = _plain(digits)
    factor = _SCALES.get(scale.casefold(), 1)
    values = {float(value) * factor for value in spelled if re.fullmatch(r"\d*\.?\d+", value)}
    if more:
        small = {"천": 1000, "千": 1000, "백": 100, "百": 100}.get(smaller or "", 1)
        values = {value + int(more) * small for value in values}
    whole = {str(round(value)) for value in values if value < 10**15 and abs(value - round(value)) < 1e-6}
    return whole | ({more} if more and not smaller else set()) | (set() if more else spelled)
