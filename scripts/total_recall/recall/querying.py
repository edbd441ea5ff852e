"""What a question asks for: words, quoted phrases, people, a time, and the form that the answer will have. Pure."""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

from total_recall.dates import DateMention, Precision, find_dates
from total_recall.recall.terms import fold, query_terms
from total_recall.text import Language, words

Window = tuple[date, date]
"""The first and the last day."""


@dataclass(frozen=True, slots=True)
class Query:
    """A question, taken apart.

    `terms` are those of `terms.query_terms`, without the words that name a time: none where only a time is asked for.
    `phrases` stood in quotation marks, folded. `words` are all words, folded, to tell people by. `windows` are the
    times that are named: more than one where a day may lie ahead or behind.
    """

    text: str
    terms: tuple[str, ...]
    phrases: tuple[str, ...]
    words: frozenset[str]
    windows: tuple[Window, ...]
    asks_when: bool
    asks_how_many: bool


_QUOTED: Final = re.compile(r"\"([^\"]+)\"|“([^”]+)”|„([^“”]+)[“”]|«([^»]+)»|「([^」]+)」|『([^』]+)』")

_WHEN: Final = re.compile(
    r"\bwhen\b|\bwhat (?:date|day|month|year|time)\b|\bhow long ago\b|언제|며칠|몇\s?(?:월|시|년)|いつ"
    r"|何(?:時|日|月|年)|什么时候|什麼時候|几[号月点]|哪天|\bcu[aá]ndo\b|\bwann\b|\bquand\b",
    re.IGNORECASE,
)
_HOW_MANY: Final = re.compile(
    r"\bhow (?:many|much|long|old|often|far)\b|얼마|몇|いくつ|いくら|何(?:回|個|人|枚|歳)|多少|几[个次人]"
    r"|\bcu[aá]nt[oa]s?\b|\bwie ?(?:viele?|lange?|oft|alt)\b|\bcombien\b",
    re.IGNORECASE,
)
_TELLS_A_TIME: Final = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|ago|recently|since|weekend|(?:last|next|this|past) (?:few |couple )?\w+"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|january|february|march|april|june|july|august|september|october"
    r"|november|december|(?:19|20)\d\d|ayer|hoy|mañana|hace|gestern|heute|morgen|vor|hier|demain|depuis)\b"
    r"|\d\s?[년월일年月日号]|어제|오늘|내일|그저께|모레|지난|작년|올해|[월화수목금토일]요일"
    r"|昨日|今日|明日|先[週月]|来[週月]|去年|今年|曜日|昨天|今天|明天|上[周月]|下[周月]|星期",
    re.IGNORECASE,
)
_TELLS_A_NUMBER: Final = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|dozen|couple|few|several|once|twice)\b"
    r"|(?:하나|둘|셋|넷|다섯|한|두|세|네)\s?(?:개|번|명|살|마리)|[一二三四五六七八九十两兩]",
    re.IGNORECASE,
)


def parse_query(text: str, today: date) -> Query:
    """Take a question apart that is asked on the local day `today`."""
    spans = list(_times(text, today))
    # Without the words for a time, since "in March" is no text to look for; in quotation marks it is.
    quoted = [(match.start(), match.end()) for match in _QUOTED.finditer(text)]
    spans = [s for s in spans if not any(start <= s.start < end for start, end in quoted)]
    timeless = "".join(_without(text, spans))
    terms = query_terms(timeless) or ([] if spans else query_terms(text))
    phrases = (fold(next(filter(None, match.groups()))).strip() for match in _QUOTED.finditer(text))
    return Query(
        text=text,
        terms=tuple(terms),
        phrases=tuple(phrase for phrase in phrases if phrase),
        words=frozenset(fold(word).removesuffix("'s") for word in words(text)),
        windows=tuple(dict.fromkeys(window for span in spans for window in span.windows)),
        asks_when=bool(_WHEN.search(text)),
        asks_how_many=bool(_HOW_MANY.search(text)),
    )


def tells_a_time(text: str) -> bool:
    """Whether a memory says when something was or will be."""
    return bool(_TELLS_A_TIME.search(text))


def tells_a_number(text: str) -> bool:
    """Whether a memory says how many there are of something."""
    return bool(_TELLS_A_NUMBER.search(text))


# --- times -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Span:
    start: int
    end: int
    windows: tuple[Window, ...]


def _without(text: str, spans: list[_Span]) -> Iterator[str]:
    done = 0
    for span in sorted(spans, key=lambda s: s.start):
        yield text[done : span.start]
        yield " "
        done = max(done, span.end)
    yield text[done:]


_HINTS: Final[Mapping[Language, re.Pattern[str]]] = {
    "ja": re.compile("[\u3040-\u30ff\u4e00-\u9fff]"),
    "zh": re.compile("[\u4e00-\u9fff]"),
    "es": re.compile(r"\b(?:semanas?|mes(?:es)?|años?|días?|ayer|anteayer|hoy|hace|mañana)\b", re.IGNORECASE),
    "de": re.compile(r"\b(?:wochen?|monate?n?|jahre?n?|tage?n?|gestern|vorgestern|heute|morgen)\b", re.IGNORECASE),
    "fr": re.compile(r"\b(?:semaines?|mois|ans?|année|jours?|hier|aujourd|demain)\b", re.IGNORECASE),
}
"""Words for a time, which tell a language that a text of two words does not show otherwise."""


def _times(text: str, today: date) -> Iterator[_Span]:
    """The times that a question names. One without a year may be the last as well as the next of its kind."""
    mentions = find_dates(text, today)
    # A question is short: its language may not show.
    for language, hint in _HINTS.items():
        if not mentions and hint.search(text):
            mentions = find_dates(text, today, language)
    for mention in mentions:
        yield _Span(mention.start, mention.end, tuple(_windows_of(mention, text, today)))
    taken = [(mention.start, mention.end) for mention in mentions]
    for match in _MONTH.finditer(text):
        if any(start < match.end() and match.start() < end for start, end in taken):
            continue
        if window := _month_or_year(match, today):
            yield _Span(match.start(), match.end(), (window,))


_LENGTHS: Final[dict[Precision, int]] = {"day": 1, "week": 7, "month": 31}


def _windows_of(mention: DateMention, text: str, today: date) -> Iterator[Window]:
    first = mention.day
    days = _LENGTHS[mention.precision]
    if mention.precision == "month":
        days = calendar.monthrange(first.year, first.month)[1]
    yield first, first + timedelta(days=days - 1)
    said = text[mention.start : mention.end]
    if first <= today or mention.written_out or mention.precision != "day" or _AHEAD.search(said):
        return
    if (first - today).days <= 7:
        yield first - timedelta(days=7), first - timedelta(days=7)
    elif not (first.month == 2 and first.day == 29):
        earlier = first.replace(year=first.year - 1)
        yield earlier, earlier


_AHEAD: Final = re.compile(
    r"next|tomorrow|\bin \w+|다음|내일|모레|뒤|후|来|明|後|下|próxim|mañana|nächst|morgen|prochain|demain",
    re.IGNORECASE,
)

_MONTHS: Final = (
    "january jan enero januar janvier", "february feb febrero februar février", "march mar marzo märz mars",
    "april apr abril avril", "may mayo mai", "june jun junio juni juin", "july jul julio juli juillet",
    "august aug agosto août", "september sep sept septiembre septembre", "october oct octubre oktober octobre",
    "november nov noviembre novembre", "december dec diciembre dezember décembre",
)  # fmt: skip
_MONTH_NUMBERS: Final = {name: number for number, names in enumerate(_MONTHS, 1) for name in names.split()}
_NAMES: Final = "|".join(sorted(_MONTH_NUMBERS, key=len, reverse=True))
_MONTH: Final = re.compile(
    # A bare name may be a person's or another word ("may", "mars"), so something must stand before or after it.
    rf"\b(?:(?P<last>last|this past|letzten?|en el último|pasado)|in|im|en|of|during|since|until|before|after)\s+"
    rf"(?P<name>{_NAMES})\b(?:,?\s+(?:de\s+)?(?P<year>(?:19|20)\d\d)\b)?"
    rf"|\b(?P<name_2>{_NAMES}),?\s+(?:de\s+)?(?P<year_2>(?:19|20)\d\d)\b"
    r"|(?P<last_3>지난|작년)?\s?(?:(?P<year_3>(?:19|20)\d\d)\s?[년年]\s?)?(?<!\d)(?P<number>1[0-2]|[1-9])\s?[월月](?!\s?\d)"
    r"|\b(?:in|en|im|during|since)\s+(?P<year_4>(?:19|20)\d\d)\b|(?P<year_5>(?:19|20)\d\d)\s?[년年]"
    r"|(?P<last_year>last year|작년|지난해|去年|el año pasado|letztes Jahr|l'année dernière)",
    re.IGNORECASE,
)


def _month_or_year(match: re.Match[str], today: date) -> Window | None:
    """The month or year that is named; without a year the last one that has begun."""
    said = match.groupdict()
    year_text = next((said[name] for name in ("year", "year_2", "year_3", "year_4", "year_5") if said[name]), None)
    name = said["name"] or said["name_2"]
    month = _MONTH_NUMBERS[name.casefold()] if name else int(said["number"] or 0)
    if name and name.casefold() == "may" and not name[0].isupper() and not year_text:
        return None
    if month:
        is_of_last_year = said["last_3"] == "작년"
        begun = month < today.month or (month == today.month and not (said["last"] or said["last_3"]))
        year = int(year_text) if year_text else today.year - (is_of_last_year or not begun)
        return date(year, month, 1), date(year, month, calendar.monthrange(year, month)[1])
    year = int(year_text) if year_text else today.year - 1
    return date(year, 1, 1), date(year, 12, 31)
