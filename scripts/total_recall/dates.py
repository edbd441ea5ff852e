"""Dates and relative times in what people write, as days of the calendar. Pure.

Each language is a table: its words for months, weekdays, numbers and units, and the forms in which they make a date.
A form that may mean something else ("may", "sat", "12/14", a version number, a time) is left alone: no date is better
than an invented one.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import cache
from typing import Literal

from total_recall.text import Language, language_of

Precision = Literal["day", "week", "month"]
Unit = Literal["day", "week", "month", "year"]


@dataclass(frozen=True, slots=True)
class DateMention:
    """One date in a text: `text[start:end]` means `day`.

    For a `week` `day` is its Monday, for a `month` its first. `written_out` says that the year stands in the text
    already; `left_behind` that the text names the day as the one that no longer holds ("from Monday to Friday").
    """

    start: int
    end: int
    day: date
    precision: Precision = "day"
    written_out: bool = False
    left_behind: bool = False


def find_dates(text: str, said: date, language: Language | None = None) -> tuple[DateMention, ...]:
    """The dates that `text`, said on the local day `said`, speaks of, in order; none overlap.

    Weekdays and days without a year lie ahead, except in a past narrative ("on Friday we shipped"). `language` is
    guessed when not given; English forms and numeric ones are understood in every language.
    """
    tongue = language or language_of(text)
    found: list[DateMention] = list(_numeric(text, said, tongue))
    for name in dict.fromkeys((tongue, "en")):
        if name in _CALENDARS:
            found.extend(_written(text, said, _CALENDARS[name], name))
    return _joined(text, _longest(found))


def annotate(text: str, said: date, language: Language | None = None) -> tuple[str, date | None]:
    """`text` with each resolved day written behind it, and the day that it is about.

    "ships on Friday" becomes "ships on Friday (2026-12-04)"; a date that is written out stays as it is, and a day is
    written once; one that no longer holds is not. Weeks read "(2026-12-07…13)", months "(2026-12)". The day it is about is the first one that
    still holds; None when there is no exact day.
    """
    mentions = find_dates(text, said, language)
    pieces: list[str] = []
    done = 0
    shown: set[str] = set()
    for mention in mentions:
        stamp = _stamp(mention)
        pieces.append(text[done : mention.end])
        done = mention.end
        if not (mention.written_out or mention.left_behind or stamp in shown or stamp in text):
            pieces.append(f" ({stamp})")
        shown.add(stamp)
    exact = [mention for mention in mentions if mention.precision == "day"]
    holding = [mention for mention in exact if not mention.left_behind] or exact
    return "".join(pieces) + text[done:], holding[0].day if holding else None


def _stamp(mention: DateMention) -> str:
    if mention.precision == "month":
        return f"{mention.day:%Y-%m}"
    if mention.precision == "week":
        last = mention.day + timedelta(days=6)
        return f"{mention.day.isoformat()}…{last:%d}" if last.month == mention.day.month else f"{mention.day}…{last:%m-%d}"
    return mention.day.isoformat()


# --- the tables ------------------------------------------------------------------------------------------------

Form = Literal["date", "offset", "ahead", "ago", "weekday", "week", "month", "weekend", "month_end", "month_day", "from_weekday"]
Step = Literal["soon", "this", "next", "after_next", "last", "next_week", "this_week", "week_after_next", "last_week"]
"""`soon` is the next such day to come; `next` and `next_week` that of the week after this one."""


@dataclass(frozen=True, slots=True)
class _Calendar:
    """A language's words for time. Templates take {month}, {weekday}, {number}, {unit}, {offset}, {step} from its words."""

    months: Mapping[str, int]
    weekdays: Mapping[str, int]
    offsets: Mapping[str, int]
    numbers: Mapping[str, int]
    units: Mapping[str, Unit]
    steps: Mapping[str, Step]
    forms: tuple[tuple[Form, str], ...]
    past: str
    ahead: str
    recurring_before: str
    recurring_after: str
    left_behind_before: str = r"(?!)"
    left_behind_after: str = r"(?!)"
    bare: str = field(default=r"")
    """Weekday and month words that are other words too: they need a preposition or a number beside them."""


def _index(words: str, first: int = 1) -> dict[str, int]:
    """`"january jan|february feb"` as {"january": 1, "jan": 1, "february": 2, …}."""
    return {word: at for at, group in enumerate(words.split("|"), first) for word in group.split()}


_ENGLISH = _Calendar(
    months=_index(
        "january jan|february feb|march mar|april apr|may|june jun|july jul|august aug|september sept sep|october oct|"
        "november nov|december dec"
    ),
    weekdays=_index("monday mon|tuesday tues tue|wednesday wed|thursday thurs thur thu|friday fri|saturday sat|sunday sun", 0),
    offsets={
        "the day after tomorrow": 2, "day after tomorrow": 2, "the day before yesterday": -2, "tomorrow": 1, "tmrw": 1,
        "today": 0, "tonight": 0, "this morning": 0, "this afternoon": 0, "this evening": 0, "yesterday": -1, "last night": -1,
    },
    numbers=_index("one a an|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"),
    units={"days": "day", "day": "day", "weeks": "week", "week": "week", "months": "month", "month": "month",
           "years": "year", "year": "year", "fortnight": "week"},
    steps={"this coming": "soon", "coming": "soon", "this": "this", "next": "next", "last": "last", "past": "last"},
    forms=(
        ("date", r"(?:{weekday},?\s+(?:the\s+)?)?(?<![\d.:/-])(?P<d>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?{month}\b"
                 r"(?:,?\s+(?P<y>(?:19|20)\d\d)\b)?"),
        ("date", r"(?:{weekday},?\s+)?\b{month}\.?\s+(?:the\s+)?(?P<d>\d{{1,2}})(?P<ordinal>st|nd|rd|th)?(?![\d%]|[:.,]\d|\s*(?:am|pm)\b"
                 r"|\s+(?:people|times|miles|km|percent|units|more|steps|users|items|hours?|minutes?|days?)\b)"
                 r"(?:,?\s+(?P<y>(?:19|20)\d\d)\b)?"),
        ("offset", r"\b{offset}\b"),
        ("from_weekday", r"\b(?:(?P<n>a|one|two|three)\s+weeks?\s+(?:from|after)\s+{weekday}\b|{weekday}\s+after\s+next\b)"),
        ("ahead", r"\b(?:in|within)\s+(?:the next\s+)?{number}\s+{unit}\b(?!\s+(?:ago|or|of|old))(?:['’]s?\s+time|\s+from\s+now)?"),
        ("ahead", r"(?<!\bin )\b{number}\s+{unit}\s+from\s+(?:now|today)\b"),
        ("ago", r"\b{number}\s+{unit}\s+ago\b"),
        ("weekday", r"\b{weekday}\s+(?:of\s+)?(?P<week>next|this|last)\s+week\b"),
        ("weekday", r"\b(?P<week>next|this|last)\s+week(?:,|\s+on)?\s+{weekday}\b"),
        ("weekday", r"\b(?:{step}\s+)?{weekday}\b"),
        ("weekend", r"\b(?P<step>this|next|last|the)\s+weekend\b"),
        ("month_end", r"\b(?:the\s+)?end\s+of\s+(?:(?:the|this)\s+month|{month})\b"),
        ("week", r"\b(?P<step>next|this|last)\s+week\b"),
        ("month", r"\b(?P<step>next|last)\s+month\b"),
        ("month_day", r"\b(?:on|by|until|till|before|due)\s+the\s+(?P<d>\d{{1,2}})(?:st|nd|rd|th)\b(?!\s+(?:floor|of|time|grade|street|place|attempt))"),
    ),
    past=r"\b(?:was|were|did|had|went|met|got|came|took|saw|left|sent|paid|bought|made|ran|broke|lost|found|gave|began|"
         r"started|finished|happened|failed|shipped|deployed|released|launched|crashed|called|visited|arrived|worked|fixed|"
         r"signed|played|watched|talked|spoke|ate|wrote|flew|drove|fell|won|(?:have|has)\s+been|ago|since)\b",
    ahead=r"\b(?:will|'ll|going to|gonna|due|deadline|must|have to|need(?:s)? to|by|until|till|before|plan\w*|book(?:ed)?|"
          r"schedul\w+|reschedul\w+|postpone\w*|mov(?:ed|ing)|decided|agreed|confirmed|promised|remind|want\w*|should|shall|let's|"
          r"ships|starts|ends|expires|please|can|could)\b",
    recurring_before=r"(?:\b(?:every|each|any|most|all|alternate|weekly on|black|good|ash|fat|cyber|casual|not(?: on)? a)\s+(?:other\s+|single\s+)?"
                     r"|\b(?:every|each)\s+\w+(?:day)?(?:,|\s+and|\s+or)\s+)$",
    recurring_after=r"^(?:s\b|'s\s+child|\s+and\s+\w+days\b|\s+mornings\b|\s+nights\b|\s+evenings\b)",
    left_behind_before=r"\b(?:(?:moved|changed|rescheduled|postponed|shifted|pushed|switched)\b.{0,40}\bfrom|instead of|not(?: on)?|rather than|originally)\s+$",
    bare=r"mon|tues?|wed|thu|thurs?|thur|fri|sat|sun|may|march|mar",
)

_KOREAN = _Calendar(
    months={},
    weekdays=_index("월요일 월욜|화요일 화욜|수요일 수욜|목요일 목욜|금요일 금욜|토요일 토욜|일요일 일욜", 0),
    offsets={"내일모레": 2, "모레": 2, "글피": 3, "내일": 1, "낼": 1, "오늘": 0, "오늘밤": 0, "어제": -1, "어젯밤": -1, "그저께": -2, "그제": -2, "엊그제": -2},
    numbers={"하루": 1, "이틀": 2, "사흘": 3, "나흘": 4, "닷새": 5, "엿새": 6, "이레": 7, "열흘": 10, "보름": 15, "일": 1, "한": 1, "두": 2,
             "세": 3, "네": 4, "석": 3, "넉": 4, "이": 2, "삼": 3, "사": 4, "다섯": 5, "여섯": 6},
    units={"일": "day", "주일": "week", "주": "week", "개월": "month", "달": "month", "년": "year"},
    steps={"이번": "this", "이번주": "this_week", "금주": "this_week", "다음": "next", "다음주": "next_week", "담주": "next_week",
           "차주": "next_week", "다다음주": "week_after_next", "지난": "last", "지난주": "last_week", "저번주": "last_week", "저번": "last",
           "돌아오는": "soon", "오는": "soon"},
    forms=(
        ("date", r"(?:(?P<y>\d{{4}})년\s?|(?P<year_step>내년|올해|작년)\s?)?(?<!\d)(?P<d0>)(?P<m>\d{{1,2}})월\s?(?P<d>\d{{1,2}})일(?!\s?(?:간|동안))"
                 r"(?:\s?\([월화수목금토일](?:요일)?\)|\s?{weekday})?"),
        ("month_day", r"(?P<month_step>다음\s?달|담달|이번\s?달|이달|지난\s?달)\s?(?P<d>\d{{1,2}})일"),
        ("month_day", r"(?<![\d월년./])(?<!월 )(?<!매월 )(?<!매달 )(?P<d>\d{{1,2}})일(?=까지|에\s|날\s)"),
        ("offset", r"(?<![가-힣]){offset}(?=$|[^가-힣]|[은는도이가의에까부밤아저오새로만엔])"),
        ("ahead", r"(?<![가-힣\d]){number}\s?(?:{unit}\s?)?(?:뒤|후|이내|안에|있다가)(?=$|[^가-힣]|[에까로의는])"),
        ("ago", r"(?<![가-힣\d]){number}\s?(?:{unit}\s?)?전(?=$|[^가-힣]|에|부터|까지)"),
        ("weekday", r"(?:{step}\s?)?(?<![가-힣\d]){weekday}|{step}\s?{weekday_again}"),
        ("weekend", r"(?P<step>이번\s?주|이번|다음\s?주|다음|담주|지난\s?주|지난)\s?주?말"),
        ("month_end", r"(?:이번\s?달|이달)\s?말|(?<![가-힣\d])월말|(?<!\d)(?P<m>\d{{1,2}})월\s?말"),
        ("week", r"(?<![가-힣])(?P<step>이번\s?주|다음\s?주|담주|차주|다다음\s?주|지난\s?주|저번\s?주)(?![가-힣]*말)"),
        ("month", r"(?<![가-힣])(?P<step>다음\s?달|담달|지난\s?달)"),
    ),
    past=r"[았었했였갔왔됐샀봤]|지난|저번",
    ahead=r"[겠할갈]|예정|까지|마감|하기로|예약|예매|해야|할\s?거|거야|거예요|계획|합니다|해요|해 ?줘|해 ?주세요|으로|바꿔|옮",
    recurring_before=r"(?:매주|매|마다|격주)\s?$",
    recurring_after=r"^(?:마다|에는?\s+(?:항상|늘|보통|주로|절대|반드시))",
    left_behind_after=r"^\s?(?:에서\s?.{1,12}로|말고|(?:이|가)?\s?아니[라고]|(?:이|가)?\s?아닌|대신)",
)

_JAPANESE = _Calendar(
    months={},
    weekdays=_index("月曜日 月曜|火曜日 火曜|水曜日 水曜|木曜日 木曜|金曜日 金曜|土曜日 土曜|日曜日 日曜", 0),
    offsets={"今日": 0, "本日": 0, "今夜": 0, "今晩": 0, "明日": 1, "あした": 1, "明後日": 2, "あさって": 2, "昨日": -1, "きのう": -1,
             "一昨日": -2, "おととい": -2},
    numbers=_index("一|二|三|四|五|六|七|八|九|十"),
    units={"日": "day", "週間": "week", "週": "week", "ヶ月": "month", "か月": "month", "カ月": "month", "ヵ月": "month", "年": "year"},
    steps={"今週の": "this_week", "来週の": "next_week", "再来週の": "week_after_next", "先週の": "last_week", "次の": "soon", "今度の": "soon",
           "今週": "this_week", "来週": "next_week", "先週": "last_week", "前の": "last"},
    forms=(
        ("date", r"(?:(?P<y>\d{{4}})年|(?P<year_step>来年|今年|去年)の?)?(?<!\d)(?P<m>\d{{1,2}})月(?P<d>\d{{1,2}})日(?!間)(?:[（(][月火水木金土日](?:曜日?)?[)）])?"),
        ("month_day", r"(?P<month_step>来月|今月|先月)の?(?P<d>\d{{1,2}})日(?!間)"),
        ("offset", r"{offset}"),
        ("ahead", r"(?<!\d){number}{unit}(?:後|以内|のうち)"),
        ("ago", r"(?<!\d){number}{unit}前"),
        ("weekday", r"(?:{step})?{weekday}"),
        ("weekend", r"(?P<step>今週|来週|先週)?(?:の)?週末"),
        ("month_end", r"(?<!\d)(?P<m>\d{{1,2}})月末|(?:今)?月末"),
        ("week", r"(?P<step>今週|来週|再来週|先週)(?!の?[月火水木金土日]曜|末)"),
        ("month", r"(?P<step>来月|先月)"),
    ),
    past=r"(?:した|でした|ました|かった|った|んだ)(?:[。、！]|$|けど|が|ので|から)|先週|前の",
    ahead=r"まで|予定|予約|締め?切|する[。]?$|します|でしょう|つもり|ください|しよう",
    recurring_before=r"毎週?の?$",
    recurring_after=r"^(?:ごと|毎)",
    left_behind_after=r"^(?:から.{1,12}(?:変更|移|延期)|ではなく|じゃなく|の代わり)",
)

_CHINESE = _Calendar(
    months={},
    weekdays={f"{week}{day}": at for week in ("周", "週", "星期", "礼拜", "禮拜") for at, days in enumerate(("一", "二", "三", "四", "五", "六", "日天")) for day in days},
    offsets={"今天": 0, "今日": 0, "今晚": 0, "明天": 1, "明日": 1, "明晚": 1, "后天": 2, "後天": 2, "大后天": 3, "大後天": 3, "昨天": -1, "昨日": -1, "昨晚": -1, "前天": -2},
    numbers=_index("一|二 两 兩|三|四|五|六|七|八|九|十"),
    units={"天": "day", "日": "day", "周": "week", "週": "week", "星期": "week", "个星期": "week", "個星期": "week", "个月": "month", "個月": "month", "年": "year"},
    steps={"下下": "week_after_next", "下个": "next_week", "下個": "next_week", "下": "next_week", "这个": "this_week", "這個": "this_week",
           "这": "this_week", "這": "this_week", "本": "this_week", "上个": "last_week", "上個": "last_week", "上": "last_week"},
    forms=(
        ("date", r"(?:(?P<y>\d{{4}})年|(?P<year_step>明年|今年|去年))?(?<!\d)(?P<m>\d{{1,2}})月(?P<d>\d{{1,2}})[日号號](?:[（(](?:周|週|星期)?[一二三四五六日天][)）])?"),
        ("month_day", r"(?P<month_step>下个月|下個月|下月|这个月|這個月|本月|上个月|上個月)(?P<d>\d{{1,2}})[日号號]"),
        ("offset", r"{offset}"),
        ("ahead", r"(?<!\d){number}{unit}(?:之?[后後]|以?内|內)"),
        ("ago", r"(?<!\d){number}{unit}(?:之|以)?前"),
        ("weekday", r"(?:{step})?(?<![一二两三四五六每0-9]){weekday}(?![次个個])"),
        ("weekend", r"(?P<step>下|这|這|本|上)?个?個?周末"),
        ("month_end", r"(?<!\d)(?P<m>\d{{1,2}})月底|(?:这个|這個|本)?月底"),
        ("week", r"(?P<step>下下|下个?|下個|这个?|這個?|本|上个?|上個)(?:周|週|星期|礼拜)(?![一二三四五六日天末])"),
        ("month", r"(?P<step>下个?|下個|上个?|上個)月(?!\d|底)"),
    ),
    past=r"了(?:[。，！]|$|\S{0,6}$)|过[。，]?|已经|上周|上个",
    ahead=r"之前|前要|要|会|將|将|截止|计划|打算|到期|请|预订|预约",
    recurring_before=r"(?:每个?|每逢)$",
    recurring_after=r"^(?:都)",
    left_behind_before=r"(?:不是)$",
)

_SPANISH = _Calendar(
    months=_index("enero ene|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre setiembre|octubre|noviembre|diciembre"),
    weekdays=_index("lunes|martes|miércoles miercoles|jueves|viernes|sábado sabado|domingo", 0),
    offsets={"pasado mañana": 2, "pasado manana": 2, "mañana": 1, "manana": 1, "hoy": 0, "esta noche": 0, "ayer": -1, "anoche": -1, "anteayer": -2, "antier": -2},
    numbers=_index("un una uno|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|once|doce"),
    units={"días": "day", "dias": "day", "día": "day", "semanas": "week", "semana": "week", "meses": "month", "mes": "month", "años": "year", "año": "year"},
    steps={"próximo": "soon", "proximo": "soon", "este": "this", "pasado": "last"},
    forms=(
        ("date", r"(?:{weekday},?\s+)?(?<![\d.:/-])(?P<d>\d{{1,2}})\s+de\s+{month}\b(?:,?\s+(?:de(?:l)?\s+)?(?P<y>(?:19|20)\d\d)\b)?"),
        ("offset", r"(?<!la )(?<!esta )(?<!por la )(?<!de la )(?<!cada )\b{offset}\b"),
        ("ahead", r"\b(?:dentro de|en)\s+{number}\s+{unit}\b"),
        ("ago", r"\bhace\s+{number}\s+{unit}\b"),
        ("weekday", r"\b{weekday}\s+(?:que\s+viene|(?P<coming>próximo|proximo))\b|\b{weekday_again}\s+de\s+la\s+(?:próxima\s+semana|semana\s+que\s+viene)(?P<next>)"),
        ("weekday", r"\b{weekday}\s+(?P<step>pasado)\b"),
        ("weekday", r"\b(?:{step}\s+)?{weekday}\b"),
        ("weekend", r"\b(?:este|el|próximo)\s+fin\s+de\s+semana\b"),
        ("month_end", r"\b(?:fin(?:al)?|finales)\s+de\s+(?:(?:este\s+)?mes|{month})\b"),
        ("week", r"\b(?:(?P<step>próxima|proxima|esta)\s+semana|semana\s+(?P<step2>que\s+viene|pasada))\b"),
        ("month", r"\b(?:(?P<step>próximo|proximo)\s+mes|mes\s+(?P<step2>que\s+viene|pasado))\b"),
        ("month_day", r"\bel\s+día\s+(?P<d>\d{{1,2}})\b(?!\s+de)"),
    ),
    past=r"\b(?:fue|fueron|fui|estuv\w+|era|había|hicimos|hice|hizo|tuv\w+|lleg(?:ó|amos|aron)|compr(?:é|ó|amos)|pasad[oa]|ayer|hace|envi(?:é|ó|amos)|pag(?:ué|ó|amos)|falló)\b",
    ahead=r"\b(?:será|va a|voy a|vamos a|hay que|tengo que|debe|para el|antes del?|hasta el|vence|quiero|por favor|próxim[oa]|viene|sale|llega|decidi\w+|reserv\w+)\b",
    recurring_before=r"\b(?:cada|los|todos los|las)\s+$",
    recurring_after=r"^(?!)",
    left_behind_before=r"\b(?:en vez del?|no el|en lugar del?)\s+$",
    bare=r"ene",
)

_GERMAN = _Calendar(
    months=_index("januar jänner jan|februar feb|märz maerz|april apr|mai|juni|juli|august aug|september sept|oktober okt|november nov|dezember dez"),
    weekdays=_index("montag|dienstag|mittwoch|donnerstag|freitag|samstag sonnabend|sonntag", 0),
    offsets={"übermorgen": 2, "uebermorgen": 2, "morgen": 1, "heute": 0, "gestern": -1, "vorgestern": -2},
    numbers=_index("einem einer einen ein eine|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|elf|zwölf"),
    units={"tagen": "day", "tage": "day", "tag": "day", "wochen": "week", "woche": "week", "monaten": "month", "monate": "month", "monat": "month",
           "jahren": "year", "jahre": "year", "jahr": "year"},
    steps={"nächsten": "soon", "nächster": "soon", "nächste": "soon", "naechsten": "soon", "kommenden": "soon", "kommender": "soon", "diesen": "this",
           "dieser": "this", "letzten": "last", "letzter": "last", "vergangenen": "last"},
    forms=(
        ("date", r"(?:{weekday}(?:,)?\s+(?:den|dem|der)?\s*)?(?<![\d.:/-])(?P<d>\d{{1,2}})\.\s*{month}\b\.?(?:\s+(?P<y>(?:19|20)\d\d)\b)?"),
        ("date", r"(?:{weekday},?\s+(?:den|dem|der)?\s*)?(?<![\d.:/-])(?P<d>\d{{1,2}})\.(?P<m>\d{{1,2}})\.(?!\d)"),
        ("offset", r"(?<!guten )(?<!am )(?<!jeden )(?<!diesen )(?<!vom )\b{offset}\b(?!\s*(?:!|,?\s+(?:alle|zusammen|allerseits)\b))"),
        ("ahead", r"\b(?:in|binnen)\s+{number}\s+{unit}\b"),
        ("ago", r"\bvor\s+{number}\s+{unit}\b"),
        ("weekday", r"\b{weekday}\s+(?:der\s+)?nächster\s+Woche(?P<next>)|\b{weekday_again}\s+der\s+nächsten\s+Woche(?P<next2>)"),
        ("weekday", r"\bnächste\s+Woche\s+(?:am\s+)?{weekday}(?P<next>)\b"),
        ("weekday", r"\b(?:{step}\s+)?{weekday}(?:abend|morgen|mittag|nachmittag)?\b"),
        ("weekend", r"\b(?:am|dieses|nächstes)\s+Wochenende\b"),
        ("month_end", r"\b(?:Ende\s+(?:(?:des|dieses)\s+Monats|{month})|(?:zum|am|bis)\s+Monatsende)\b"),
        ("week", r"\b(?P<step>nächste|nächster|kommende|diese|letzte)r?\s+Woche\b"),
        ("month", r"\b(?P<step>nächsten|letzten)\s+Monat\b"),
        ("month_day", r"\b(?:am|bis(?:\s+zum)?|zum)\s+(?P<d>\d{{1,2}})\.(?=\s*(?:$|[a-zäöü,;!?]))"),
    ),
    past=r"\b(?:war|waren|hatte|hatten|wurde|wurden|ging|kam|hab(?:e|en|t)?\s.*\bge\w+|(?:ist|sind|hat|haben)\s.*\bge\w+|gestern|letzte\w*)\b",
    ahead=r"\b(?:wird|werde|werden|muss|müssen|soll|bis|fällig|Frist|spätestens|will|wollen|geplant|verschoben|bitte|kommt|findet|gebucht|reserviert)\b",
    recurring_before=r"\b(?:jede[nrs]?|alle|immer)\s+$",
    recurring_after=r"^s\b",
    left_behind_before=r"\b(?:verschoben\b.{0,40}\bvo[nm]|statt|nicht(?:\s+am)?|anstatt)\s+$",
    bare=r"jan|feb|apr|aug|nov",
)

_FRENCH = _Calendar(
    months=_index("janvier|février fevrier|mars|avril|mai|juin|juillet|août aout|septembre|octobre|novembre|décembre decembre"),
    weekdays=_index("lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche", 0),
    offsets={"après-demain": 2, "apres-demain": 2, "demain": 1, "aujourd'hui": 0, "aujourd’hui": 0, "ce soir": 0, "hier soir": -1, "hier": -1,
             "avant-hier": -2},
    numbers=_index("un une|deux|trois|quatre|cinq|six|sept|huit|neuf|dix|onze|douze"),
    units={"jours": "day", "jour": "day", "semaines": "week", "semaine": "week", "mois": "month", "ans": "year", "an": "year"},
    steps={"ce": "this"},
    forms=(
        ("date", r"(?:{weekday},?\s+)?(?<![\d.:/-])(?P<d>\d{{1,2}})(?:er)?\s+{month}\b(?:\s+(?P<y>(?:19|20)\d\d)\b)?"),
        ("offset", r"(?<!-)\b{offset}\b"),
        ("ahead", r"\b(?:dans|d['’]ici)\s+{number}\s+{unit}\b"),
        ("ago", r"\bil\s+y\s+a\s+{number}\s+{unit}\b"),
        ("weekday", r"\b{weekday}\s+de\s+la\s+semaine\s+prochaine(?P<next>)\b"),
        ("weekday", r"\b{weekday}\s+(?:prochain|qui\s+vient)\b"),
        ("weekday", r"\b{weekday}\s+(?P<step>dernier|passé)\b"),
        ("weekday", r"\b(?:{step}\s+)?{weekday}\b"),
        ("weekend", r"\b(?:ce|le)\s+week-?end\b"),
        ("month_end", r"\b(?:à\s+la\s+)?fin\s+(?:du\s+mois|{month})\b"),
        ("week", r"\b(?:semaine\s+(?P<step>prochaine|dernière)|(?P<step2>cette)\s+semaine)\b"),
        ("month", r"\bmois\s+(?P<step>prochain|dernier)\b"),
    ),
    past=r"\b(?:était|étaient|avait|(?:a|ai|avons|ont)\s+(?:\w+é|fait|eu|été|pris|vu|mis|reçu)|est\s+\w+é|dernier|hier)\b",
    ahead=r"\b(?:sera|va|vais|allons|doit|dois|faut|avant|d['’]ici|jusqu|au plus tard|prévu|veux|réserv\w*|prochain|déplacée?|reportée?|décidé)\b",
    recurring_before=r"\b(?:chaque|tous les|les)\s+$",
    recurring_after=r"^s\b",
    left_behind_before=r"\b(?:(?:reporté|déplacé)\w*\b.{0,40}\bdu|au lieu (?:du|de)|pas(?: le)?|plutôt que)\s+$",
)

_CALENDARS: dict[Language, _Calendar] = {
    "en": _ENGLISH, "ko": _KOREAN, "ja": _JAPANESE, "zh": _CHINESE, "es": _SPANISH, "de": _GERMAN, "fr": _FRENCH,
}  # fmt: skip

_STEPS: dict[str, Step] = {
    "the": "this", "이번주": "this", "이번": "this", "다음주": "next", "다음": "next", "담주": "next", "차주": "next", "다다음주": "after_next",
    "지난주": "last", "저번주": "last", "지난": "last", "다음달": "next", "담달": "next", "지난달": "last", "이번달": "this", "이달": "this",
    "今週": "this", "来週": "next", "再来週": "after_next", "先週": "last", "来月": "next", "今月": "this", "先月": "last",
    "下": "next", "下个": "next", "下個": "next", "下下": "after_next", "这": "this", "這": "this", "这个": "this", "這個": "this", "本": "this",
    "上": "last", "上个": "last", "上個": "last", "下个月": "next", "下個月": "next", "下月": "next", "这个月": "this", "這個月": "this", "本月": "this",
    "上个月": "last", "上個月": "last", "próxima": "next", "proxima": "next", "próximo": "next", "proximo": "next", "esta": "this",
    "queviene": "next", "pasada": "last", "pasado": "last", "nächste": "next", "nächster": "next", "nächsten": "next", "kommende": "next",
    "diese": "this", "letzte": "last", "letzten": "last", "prochaine": "next", "prochain": "next", "dernière": "last", "dernier": "last",
    "passé": "last", "cette": "this", "next": "next", "this": "this", "last": "last", "内年": "next", "내년": "next", "올해": "this", "작년": "last",
    "来年": "next", "今年": "this", "去年": "last", "明年": "next",
}  # fmt: skip
"""Words that step from this week, month or year to another one, of all languages, without their spaces."""

_STEP_COUNT: dict[str, int] = {"this": 0, "next": 1, "after_next": 2, "last": -1}


# --- finding ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Compiled:
    forms: tuple[tuple[Form, re.Pattern[str]], ...]
    past: re.Pattern[str]
    ahead: re.Pattern[str]
    recurring_before: re.Pattern[str]
    recurring_after: re.Pattern[str]
    left_behind_before: re.Pattern[str]
    left_behind_after: re.Pattern[str]
    bare: re.Pattern[str]
    hint: re.Pattern[str]


@cache
def _compiled(language: Language) -> _Compiled:
    words = _CALENDARS[language]

    def group(name: str, values: Mapping[str, object], more: str = "") -> str:
        spaced = "|".join(re.escape(word).replace(r"\ ", r"\s+") for word in sorted(values, key=len, reverse=True))
        if language == "ko":
            spaced = re.sub(r"(이번|다음|지난|저번|다다음)주", r"\1\\s?주", spaced)
        return f"(?P<{name}>{spaced}{more})" if values or more else f"(?P<{name}>(?!))"

    slots = {
        "month": group("month", words.months),
        "weekday": group("weekday", words.weekdays),
        "weekday_again": group("weekday2", words.weekdays),
        "offset": group("offset", words.offsets),
        "number": group("number", words.numbers, r"|\d{1,3}"),
        "unit": group("unit", words.units),
        "step": group("step", words.steps),
    }

    def compile_form(template: str) -> re.Pattern[str]:
        pattern = template.format(**slots)
        # The same word may stand in two branches of a form; Python wants each group named once.
        seen: dict[str, int] = {}

        def rename(match: re.Match[str]) -> str:
            name = match.group(1)
            seen[name] = seen.get(name, 0) + 1
            return f"(?P<{name}{'_' * (seen[name] - 1)}>"

        return re.compile(re.sub(r"\(\?P<(\w+)>", rename, pattern), re.IGNORECASE)

    vocabulary = [*words.months, *words.weekdays, *words.offsets, *words.units, *(_KOREAN_DAYS & words.numbers.keys())]
    return _Compiled(
        forms=tuple((form, compile_form(template)) for form, template in words.forms),
        past=re.compile(words.past, re.IGNORECASE),
        ahead=re.compile(words.ahead, re.IGNORECASE),
        recurring_before=re.compile(words.recurring_before, re.IGNORECASE),
        recurring_after=re.compile(words.recurring_after, re.IGNORECASE),
        left_behind_before=re.compile(words.left_behind_before, re.IGNORECASE),
        left_behind_after=re.compile(words.left_behind_after, re.IGNORECASE),
        bare=re.compile(words.bare or r"(?!)", re.IGNORECASE),
        hint=re.compile(
            "|".join(map(re.escape, sorted({*vocabulary, "월", "月", "weekend", "주말", "末", "底", "fin", "the "}, key=len, reverse=True)))
            + r"|\d\.\s*\d|día \d",
            re.IGNORECASE,
        ),
    )


_DIGITS_OF_A_DATE = re.compile(r"\d\s*[-./]|\d(?:st|nd|rd|th)\b", re.IGNORECASE)
_LETTERS = re.compile(r"[a-z]+")


def may_speak_of_a_day(text: str) -> bool:
    """False only where `find_dates` finds nothing: a text in ASCII without a word for time and without dates in digits.

    Twenty times as fast.
    """
    return (
        not text.isascii()
        or _DIGITS_OF_A_DATE.search(text) is not None
        or not _words_for_time().isdisjoint(_LETTERS.findall(text.lower()))
    )


@cache
def _words_for_time() -> frozenset[str]:
    """A word of every month, weekday, unit and relative day of the calendars: the longest where they are several words."""
    tables = ((c.months, c.weekdays, c.offsets, c.units) for c in _CALENDARS.values())
    vocabulary = (_LETTERS.findall(word.lower()) for found in tables for table in found for word in table)
    return frozenset({max(words, key=len) for words in vocabulary if words} | {"weekend", "weekends", "fin", "ende"})


def _written(text: str, said: date, words: _Calendar, language: Language) -> Iterator[DateMention]:
    compiled = _compiled(language)
    if not compiled.hint.search(text):
        return
    for form, pattern in compiled.forms:
        for match in pattern.finditer(text):
            if not _plausible(text, match, compiled):
                continue
            found = _Found(match, words, said, _is_past(text, match, compiled), text)
            day, precision = _RESOLVERS[form](found) or (None, "day")
            if day is not None:
                yield DateMention(
                    match.start(), match.end(), day, precision,
                    written_out=bool(found.get("y")),
                    left_behind=bool(
                        compiled.left_behind_before.search(text[max(0, match.start() - 64) : match.start()])
                        or compiled.left_behind_after.search(text[match.end() : match.end() + 24])
                    ),
                )  # fmt: skip


_PREPOSITION = re.compile(
    r"(?:\b(?:on|by|until|till|before|from|to|since|due|this|next|last|am|bis|le|el|of|den|dem)\s+|\(\s*)$", re.IGNORECASE
)


_COUNTER = re.compile("[월月년年일日시時时]")
"""A number in front of one of these belongs to it, not to what stands before: "December 12월"."""


def _plausible(text: str, match: re.Match[str], compiled: _Compiled) -> bool:
    """False for a recurring day ("every Friday") and for a word that is more likely another one ("sat", "may")."""
    if match.group()[-1].isdigit() and _COUNTER.match(text, match.end()):
        return False
    before = text[max(0, match.start() - 24) : match.start()]
    if compiled.recurring_before.search(before) or compiled.recurring_after.search(text[match.end() : match.end() + 16]):
        return False
    groups = match.groupdict()
    month = groups.get("month")
    if month and compiled.bare.fullmatch(month):
        return month[0].isupper() or bool(groups.get("ordinal")) or bool(_PREPOSITION.search(before))
    weekday = groups.get("weekday")
    if weekday and not month and compiled.bare.fullmatch(weekday):
        return weekday[0].isupper() and bool(groups.get("step") or _PREPOSITION.search(before))
    return True


_CLAUSE_END = re.compile(r"[,;:.。、，]\s|\b(?:and|but|because|so|und|aber|et|mais|y|pero)\b|지만|는데|고\s", re.IGNORECASE)


def _is_past(text: str, match: re.Match[str], compiled: _Compiled) -> bool:
    """Whether the clause around a date tells of something that is over."""
    start = max((stop.end() for stop in _CLAUSE_END.finditer(text, 0, match.start())), default=0)
    stop = _CLAUSE_END.search(text, match.end())
    clause = text[start : stop.start() if stop else len(text)]
    if len(clause.split()) < 4 and not compiled.past.search(clause):
        clause = text
    return bool(compiled.past.search(clause)) and not compiled.ahead.search(clause)


@dataclass(frozen=True, slots=True)
class _Found:
    match: re.Match[str]
    words: _Calendar
    said: date
    past: bool
    text: str

    def get(self, name: str) -> str | None:
        """The first filled group of that name; a form with branches has `name_` and `name2` too."""
        for key, value in self.match.groupdict().items():
            if value is not None and key.rstrip("_2") == name:
                return value
        return None

    def has(self, name: str) -> bool:
        return self.get(name) is not None

    def step(self, name: str = "step") -> str | None:
        word = self.get(name)
        return None if word is None else re.sub(r"\s+", "", word.casefold())

    def weekday(self) -> int:
        return self.words.weekdays[(self.get("weekday") or "").casefold()]

    def count(self) -> int:
        number = (self.get("number") or "1").casefold()
        return int(number) if number.isdigit() else self.words.numbers[number]

    def unit(self) -> Unit:
        return self.words.units.get((self.get("unit") or "").casefold(), "day")


Resolved = tuple[date, Precision]


def _date(found: _Found) -> Resolved | None:
    month = found.words.months[month_word.casefold()] if (month_word := found.get("month")) else int(found.get("m") or 0)
    day = int(found.get("d") or 0)
    year = found.get("y")
    if year:
        return _on(int(year), month, day)
    if step := found.step("year_step"):
        return _on(found.said.year + _STEP_COUNT[_STEPS[step]], month, day)
    return _without_year(month, day, found)


_EVERY_YEAR = re.compile(
    r"birthday|born|anniversary|every year|each year|annual|생일|기념일|매년|誕生日|記念日|毎年|生日|纪念日|每年|cumpleaños|aniversario|cada año|"
    r"geburtstag|jahrestag|jedes jahr|anniversaire|chaque année",
    re.IGNORECASE,
)
_RECENT_DAYS = 45
_NEAR_DAYS = 60


def _without_year(month: int, day: int, found: _Found) -> Resolved | None:
    """The year nearest in the direction that the sentence looks; none for a birthday, which has one every year."""
    if _EVERY_YEAR.search(found.text):
        return None
    if found.has("weekday") and (fitting := _on_weekday(month, day, found)):
        return fitting
    this_year = _on(found.said.year, month, day)
    earlier = _on(found.said.year - 1, month, day)
    later = _on(found.said.year + 1, month, day) or this_year
    if this_year is None:
        return None
    if found.past:
        # "I booked it for 5 December" is told in the past as well: a day that is near stays ahead.
        near = (this_year[0] - found.said).days <= _NEAR_DAYS
        return this_year if near else earlier
    age = (found.said - this_year[0]).days
    return this_year if age <= 0 or (age <= _RECENT_DAYS and not _looks_ahead(found)) else later


def _on_weekday(month: int, day: int, found: _Found) -> Resolved | None:
    """The year in which the day falls on the weekday beside it: this one, the next or the last."""
    for year in (found.said.year, found.said.year + 1, found.said.year - 1):
        resolved = _on(year, month, day)
        if resolved and resolved[0].weekday() == found.weekday():
            return resolved
    return None


def _looks_ahead(found: _Found) -> bool:
    return bool(re.search(r"deadline|due|마감|까지|締|截止|frist|échéance|plazo|\bwill\b|예정|予定", found.text, re.IGNORECASE))


def _on(year: int, month: int, day: int) -> Resolved | None:
    try:
        return date(year, month, day), "day"
    except ValueError:
        return None


def _offset(found: _Found) -> Resolved:
    word = re.sub(r"\s+", " ", (found.get("offset") or "").casefold())
    return found.said + timedelta(days=found.words.offsets[word]), "day"


def _shift(day: date, count: int, unit: Unit) -> date | None:
    """`day` moved by `count` units; the end of a shorter month stands in for its missing days. None past the calendar."""
    try:
        if unit in ("day", "week"):
            return day + timedelta(days=count * (7 if unit == "week" else 1))
        months = day.year * 12 + day.month - 1 + count * (12 if unit == "year" else 1)
        year, month = divmod(months, 12)
        return date(year, month + 1, min(day.day, calendar.monthrange(year, month + 1)[1]))
    except (OverflowError, ValueError):
        return None


def _counted(found: _Found, direction: int) -> Resolved | None:
    count = found.count()
    if (found.get("unit") or "").casefold() == "fortnight":
        count *= 2
    if not found.has("unit") and (found.get("number") or "").casefold() not in _KOREAN_DAYS:
        return None
    day = _shift(found.said, direction * count, found.unit())
    return None if day is None else (day, "day")


_KOREAN_DAYS = frozenset({"하루", "이틀", "사흘", "나흘", "닷새", "엿새", "이레", "열흘", "보름"})


def _ahead(found: _Found) -> Resolved | None:
    return None if found.past else _counted(found, 1)


def _ago(found: _Found) -> Resolved | None:
    return _counted(found, -1)


def _monday(day: date) -> date:
    return day - timedelta(days=day.weekday())


_WEEKS: dict[str, int] = {"next_week": 1, "this_week": 0, "week_after_next": 2, "last_week": -1, "next": 1, "this": 0}


def _weekday(found: _Found) -> Resolved:
    """A named weekday: of a named week, the last one, or the next to come.

    "next Friday" in English and 다음 금요일 are the Friday of next week; nächsten Freitag, el próximo viernes,
    vendredi prochain and 次の金曜日 the next Friday to come.
    """
    weekday = found.weekday()
    said = found.said
    step = found.words.steps.get(found.step() or "") or _STEPS.get(found.step() or "")
    if week := found.step("week"):
        step = {"next": "next_week", "this": "this_week", "last": "last_week"}[week]  # type: ignore[assignment]
    elif found.has("next"):
        step = "next_week"
    elif found.has("coming"):
        step = "soon"
    back = (said.weekday() - weekday) % 7 or 7
    ahead = (weekday - said.weekday()) % 7 or 7
    if step == "last" or (step is None and found.past):
        return said - timedelta(days=back), "day"
    if step == "this":
        # "this Friday" on a Friday is today, and on a Sunday the one of the week that begins.
        return said + timedelta(days=ahead % 7), "day"
    if step in _WEEKS:
        return _monday(said) + timedelta(weeks=_WEEKS[step], days=weekday), "day"
    return said + timedelta(days=ahead), "day"


def _from_weekday(found: _Found) -> Resolved:
    weeks = {"two": 2, "three": 3}.get((found.get("n") or "").casefold(), 1)
    ahead = (found.weekday() - found.said.weekday()) % 7 or 7
    return found.said + timedelta(days=ahead, weeks=weeks), "day"


def _step_of(found: _Found, default: Step = "this") -> int:
    return _STEP_COUNT[_STEPS.get(found.step() or "", default)]


def _week(found: _Found) -> Resolved:
    return _monday(found.said) + timedelta(weeks=_step_of(found, "next")), "week"


def _month(found: _Found) -> Resolved | None:
    first = _shift(found.said.replace(day=1), _step_of(found, "next"), "month")
    return None if first is None else (first, "month")


def _weekend(found: _Found) -> Resolved:
    return _monday(found.said) + timedelta(weeks=_step_of(found), days=5), "day"


def _month_end(found: _Found) -> Resolved | None:
    """The last day of this month, or of the named one that comes next (or that has been, in a past narrative)."""
    said = found.said
    named = found.words.months[word.casefold()] if (word := found.get("month")) else int(found.get("m") or 0)
    if named:
        if not 1 <= named <= 12:
            return None
        later = named < said.month and not found.past
        year = said.year + later - (found.past and named > said.month)
        return _on(year, named, calendar.monthrange(year, named)[1]) if 1 <= year <= 9999 else None
    return said.replace(day=calendar.monthrange(said.year, said.month)[1]), "day"


def _month_day(found: _Found) -> Resolved | None:
    """ "by the 14th": of the named month, else of this one, or of the next when it is over."""
    day = int(found.get("d") or 0)
    first = found.said.replace(day=1)
    if step := found.step("month_step"):
        named = _shift(first, _STEP_COUNT[_STEPS[step]], "month")
        return None if named is None else _on(named.year, named.month, day)
    here = _on(first.year, first.month, day)
    if here and (here[0] >= found.said or found.past):
        return here
    following = _shift(first, 1, "month")
    return None if following is None else _on(following.year, following.month, day)


_RESOLVERS = {
    "date": _date, "offset": _offset, "ahead": _ahead, "ago": _ago, "weekday": _weekday, "week": _week, "month": _month,
    "weekend": _weekend, "month_end": _month_end, "month_day": _month_day, "from_weekday": _from_weekday,
}  # fmt: skip


# --- numeric forms ---------------------------------------------------------------------------------------------

_ISO = re.compile(r"(?<![\d.:/-])(?P<y>(?:19|20)\d\d)(?P<sep>[-/])(?P<m>\d{1,2})(?P=sep)(?P<d>\d{1,2})(?![\d-]|/\d)")
_KOREAN_DOTS = re.compile(r"(?<![\d.v-])(?P<y>(?:19|20)\d\d)\.\s(?P<m>\d{1,2})\.\s(?P<d>\d{1,2})\.?(?!\d)")
_DAY_FIRST_DOTS = re.compile(r"(?<![\d.v-])(?P<d>\d{1,2})\.\s?(?P<m>\d{1,2})\.\s?(?P<y>(?:19|20)\d\d)(?![\d.]\d|\d)")
_SLASHES = re.compile(r"(?<![\d./:-])(?P<a>\d{1,2})(?P<sep>[/-])(?P<b>\d{1,2})(?P=sep)(?P<y>(?:19|20)\d\d)(?![\d/-])")
_EAST_ASIAN_SLASH = re.compile(r"(?<![\d./:-])(?P<m>\d{1,2})/(?P<d>\d{1,2})(?=\s?(?:\([월화수목금토일月火水木金土]\)|까지|에\s|부터|まで|に|前|之前))")
_MONTH_FIRST_COUNTRIES_LIMIT = 12


def _numeric(text: str, said: date, language: Language) -> Iterator[DateMention]:
    """Dates in digits; one whose day and month could change places is left alone."""
    for pattern in (_ISO, _KOREAN_DOTS, _DAY_FIRST_DOTS):
        for match in pattern.finditer(text):
            if resolved := _on(int(match["y"]), int(match["m"]), int(match["d"])):
                yield DateMention(match.start(), match.end(), resolved[0], written_out=True)
    for match in _SLASHES.finditer(text):
        first, second = int(match["a"]), int(match["b"])
        if first == second or max(first, second) > _MONTH_FIRST_COUNTRIES_LIMIT:
            month, day = (first, second) if second > _MONTH_FIRST_COUNTRIES_LIMIT else (second, first)
            if resolved := _on(int(match["y"]), month, day):
                yield DateMention(match.start(), match.end(), resolved[0], written_out=False)
    if language in ("ko", "ja", "zh"):
        for match in _EAST_ASIAN_SLASH.finditer(text):
            found = _Found(match, _CALENDARS[language], said, _is_past(text, match, _compiled(language)), text)
            if resolved := _without_year(int(match["m"]), int(match["d"]), found):
                yield DateMention(match.start(), match.end(), resolved[0])


# --- putting together ------------------------------------------------------------------------------------------

_BETWEEN = re.compile(r"\s*(?:,|\(|\(?=|the|den|,?\s*le|,?\s*el|의|の|에|,?\s*on)?\s*")
_CLOSING = re.compile(r"\s*[)）]")


def _longest(mentions: list[DateMention]) -> list[DateMention]:
    """Of overlapping mentions the longest, in order of place; an exact day before a week of the same length."""
    kept: list[DateMention] = []
    for mention in sorted(mentions, key=lambda m: (m.start - m.end, m.precision != "day", m.start)):
        if all(mention.end <= other.start or mention.start >= other.end for other in kept):
            kept.append(mention)
    return sorted(kept, key=lambda mention: mention.start)


def _joined(text: str, mentions: list[DateMention]) -> tuple[DateMention, ...]:
    """One mention for "Friday, 4 December" and "tomorrow (Tuesday)": the more exact half decides the day."""
    joined: list[DateMention] = []
    for mention in mentions:
        before = joined[-1] if joined else None
        if before and before.precision == mention.precision and _BETWEEN.fullmatch(text, before.end, mention.start):
            same = before.day == mention.day
            apposition = mention.written_out or before.written_out or mention.day.weekday() == before.day.weekday()
            if same or (apposition and (mention.written_out != before.written_out)):
                exact = mention if mention.written_out or not before.written_out else before
                end = mention.end
                if text[before.end : mention.start].strip() == "(" and (closing := _CLOSING.match(text, end)):
                    end = closing.end()
                joined[-1] = DateMention(
                    before.start, end, exact.day, exact.precision, exact.written_out, before.left_behind or mention.left_behind
                )
                continue
        joined.append(mention)
    return tuple(joined)
