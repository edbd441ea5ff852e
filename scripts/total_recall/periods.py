"""Times as people type them: `36h`, `yesterday`, `지난주`, `2026-11`, `09:30`. Pure.

A day, week (from Monday), month or year is meant whole, in the user's own time zone: a day has 23 hours when clocks go
forward and 25 when they go back. Everything else is one moment.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, timezone, tzinfo
from typing import Final, Literal

Unit = Literal["minute", "hour", "day", "week", "month", "year"]

EARLIEST: Final = datetime(1970, 1, 1, tzinfo=timezone.utc)
"""Whoever asks for more gets this."""
HINT: Final = "write 36h, 7d, today, yesterday, week, 2026-11-28, or 2026-11-28T09:00"

_NAMED: Final[Mapping[tuple[Unit, int], str]] = {
    ("day", 0): "today 오늘 今日 今天 heute hoy aujourd'hui",
    ("day", -1): "yesterday 어제 昨日 昨天 gestern ayer hier",
    ("day", -2): "daybeforeyesterday 그제 그저께 一昨日 前天 vorgestern anteayer avanthier",
    ("week", 0): "week thisweek 이번주 금주 今週 本周 这周 dieswoche diesewoche estasemana cettesemaine",
    ("week", -1): "lastweek 지난주 저번주 先週 上周 letztewoche semanapasada semainedernière",
    ("month", 0): "month thismonth 이번달 이달 今月 本月 这个月 diesermonat estemes cemois",
    ("month", -1): "lastmonth 지난달 저번달 先月 上个月 letztermonat mespasado moisdernier",
    ("year", 0): "year thisyear 올해 금년 今年 diesesjahr esteaño cetteannée",
    ("year", -1): "lastyear 작년 지난해 去年 letztesjahr añopasado annéedernière",
}
"""Without spaces and hyphens: `last week` is `lastweek`."""
_WEEKDAYS: Final = (
    "monday mon 월요일 月曜日 星期一", "tuesday tue 화요일 火曜日 星期二", "wednesday wed 수요일 水曜日 星期三",
    "thursday thu 목요일 木曜日 星期四", "friday fri 금요일 金曜日 星期五", "saturday sat 토요일 土曜日 星期六",
    "sunday sun 일요일 日曜日 星期日",
)  # fmt: skip
"""The latest one, which may be today; `last friday` is before today."""
_UNITS: Final[Mapping[Unit, str]] = {
    "minute": "m min mins minute minutes 분 分 分钟",
    "hour": "h hr hrs hour hours 시간 時間 小时",
    "day": "d day days 일 日 天",
    "week": "w week weeks 주 주일 週間 周",
    "month": "mo month months 개월 달 か月 个月",
    "year": "y year years 년 年",
}
_FIXED: Final[Mapping[Unit, timedelta]] = {
    "minute": timedelta(minutes=1),
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
    "week": timedelta(weeks=1),
}
"""`7d` is 168 hours ago, on whatever day the clocks changed."""

_STEPS: Final = {word: meant for meant, words in _NAMED.items() for word in words.split()}
_WEEKDAY: Final = {word: at for at, words in enumerate(_WEEKDAYS) for word in words.split()}
_UNIT: Final[Mapping[str, Unit]] = {word: unit for unit, words in _UNITS.items() for word in words.split()}
# As text: each command line loads this, and few name a time.
_COUNT: Final = r"([0-9]{1,9})([^\W\d_]+?)(ago|전|前)?"
_LAST: Final = r"(?:last|지난|저번|上)(.+)"
_ISO: Final = (
    r"(?P<year>[0-9]{4})(?:-W(?P<week>[0-9]{2})|-(?P<month>[0-9]{2})(?:-(?P<day>[0-9]{2})(?:[Tt ](?P<clock>.+))?)?)?"
)
_CLOCK: Final = (
    r"(?P<hour>[0-9]{2})(?::(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2})(?:[.,](?P<part>[0-9]{1,6})[0-9]*)?)?)?"
    r"(?P<zone>[Zz]|[+-][0-9]{2}(?::?[0-9]{2})?)?"
)


@dataclass(frozen=True, slots=True)
class Period:
    """A time that was asked for; `resolve` says which one it is for somebody, now.

    Calendar: `unit` and `steps` from the current one, or `first`, its first day; `weekday` is the latest such day
    (0 is Monday), `steps` more weeks back. A moment: `clock` on the day `first` (today when None), in `zone` if named;
    or `steps` units before now (`is_moment`).
    """

    text: str
    unit: Unit = "day"
    steps: int = 0
    first: date | None = None
    weekday: int | None = None
    clock: time | None = None
    zone: timezone | None = None
    is_moment: bool = False

    def resolve(self, now: datetime, tz: tzinfo) -> tuple[datetime, datetime]:
        """(start, end) in UTC, the end not included; both are the same for a moment.

        A local time that comes twice, since clocks go back, reaches from the first to the second.
        """
        if self.is_moment and self.clock is None:
            at = self._counted_back(now, tz)
            return at, at
        today = now.astimezone(tz).date()
        if self.clock is not None:
            return self._at_clock(self.first or today, tz)
        return calendar_span(self.unit, self.first or self._first_day(today), tz)

    def start(self, now: datetime, tz: tzinfo) -> datetime:
        """Where `--since` begins, in UTC."""
        return self.resolve(now, tz)[0]

    def end(self, now: datetime, tz: tzinfo) -> datetime:
        """Where `--until` ends, in UTC, not included."""
        return self.resolve(now, tz)[1]

    def _first_day(self, today: date) -> date:
        if self.weekday is None:
            return shift(_begin(today, self.unit), self.unit, self.steps)
        back = (today.weekday() - self.weekday) % 7
        # "Last Monday", said on a Monday, is a week ago; "last Friday", said on a Monday, is three days ago.
        return today - timedelta(days=7 if self.steps and not back else back)

    def _counted_back(self, now: datetime, tz: tzinfo) -> datetime:
        if self.unit in _FIXED:
            most = (now - EARLIEST) // _FIXED[self.unit]
            return max(now - _FIXED[self.unit] * min(-self.steps, most), EARLIEST)
        local = now.astimezone(tz)
        day = shift(local.date(), self.unit, self.steps)
        return max(datetime.combine(day, local.time(), tz).astimezone(timezone.utc), EARLIEST)

    def _at_clock(self, day: date, tz: tzinfo) -> tuple[datetime, datetime]:
        assert self.clock is not None
        local = datetime.combine(day, self.clock, self.zone or tz)
        both = [local.replace(fold=fold).astimezone(timezone.utc) for fold in (0, 1)]
        return min(both), max(both)


def parse(text: str) -> Period:
    """What was typed. Raises ValueError: one line with what could have been."""
    plain = unicodedata.normalize("NFKC", text).strip()
    word = re.sub(r"\s+|(?<=\w)[-_](?=\w)", "", plain).casefold()
    found = _named(plain, word) or _counted(plain, word) or _dated(plain)
    if found is None:
        raise ValueError(f"{text!r} is no time: {HINT}")
    return found


def _named(text: str, word: str) -> Period | None:
    if word in ("now", "지금"):
        return Period(text, "minute", is_moment=True)
    if word in _STEPS:
        unit, steps = _STEPS[word]
        return Period(text, unit, steps)
    last = re.fullmatch(_LAST, word)
    day = _WEEKDAY.get(last[1] if last else word)
    return None if day is None else Period(text, weekday=day, steps=-1 if last else 0)


def _counted(text: str, word: str) -> Period | None:
    match = re.fullmatch(_COUNT, word)
    unit = _UNIT.get(match[2]) if match else None
    if match is None or unit is None:
        return None
    # "3 days ago" is a day, "3d" a moment.
    is_moment = match[3] is None or unit in ("minute", "hour")
    return Period(text, unit, -int(match[1]), is_moment=is_moment)


def _dated(text: str) -> Period | None:
    iso = re.fullmatch(_ISO, text)
    if iso is None:
        at, zone = _clock(text) or (None, None)
        return None if at is None or zone is not None else Period(text, clock=at, is_moment=True)
    year, month, day = (int(iso[name] or 1) for name in ("year", "month", "day"))
    try:
        if iso["week"]:
            return Period(text, "week", first=date.fromisocalendar(year, int(iso["week"]), 1))
        first = date(year, month, day)
    except ValueError:
        return None
    if not 1970 <= first.year <= 9998:
        return None
    if iso["clock"]:
        at, zone = _clock(iso["clock"]) or (None, None)
        return None if at is None else Period(text, first=first, clock=at, zone=zone, is_moment=True)
    unit: Unit = "day" if iso["day"] else "month" if iso["month"] else "year"
    return Period(text, unit, first=first)


def _clock(text: str) -> tuple[time, timezone | None] | None:
    match = re.fullmatch(_CLOCK, text)
    if match is None:
        return None
    hour, minute, second = (int(match[name] or 0) for name in ("hour", "minute", "second"))
    try:
        at = time(hour, minute, second, int((match["part"] or "0").ljust(6, "0")))
        return at, _zone(match["zone"])
    except ValueError:
        return None


def _zone(text: str | None) -> timezone | None:
    if not text:
        return None
    if text in "Zz":
        return timezone.utc
    sign = -1 if text[0] == "-" else 1
    return timezone(sign * timedelta(hours=int(text[1:3]), minutes=int(text[3:].lstrip(":") or 0)))


# --- the calendar ----------------------------------------------------------------------------------------------


def _begin(day: date, unit: Unit) -> date:
    """The first day of the week (a Monday), month or year that the day is in."""
    if unit == "week":
        return day - timedelta(days=day.weekday())
    if unit == "month":
        return day.replace(day=1)
    return day.replace(month=1, day=1) if unit == "year" else day


def shift(day: date, unit: Unit, steps: int) -> date:
    """The day so many units later, or earlier when negative; the 31st of a shorter month is its last day.

    What no calendar has is the first day of 1970 or the last of 9998.
    """
    if unit in ("day", "week"):
        days = min(max(steps * (7 if unit == "week" else 1), -(10**6) * 4), 10**6 * 4)
        ordinal = day.toordinal() + days
        return date.fromordinal(min(max(ordinal, EARLIEST.toordinal()), date(9998, 12, 31).toordinal()))
    months = day.year * 12 + day.month - 1 + steps * (12 if unit == "year" else 1)
    year, month = divmod(months, 12)
    if not 1970 <= year <= 9998:
        return date(1970, 1, 1) if year < 1970 else date(9998, 12, 31)
    after = date(year + month // 11, (month + 1) % 12 + 1, 1)
    return min(date(year, month + 1, 1) + timedelta(days=day.day - 1), after - timedelta(days=1))


def calendar_span(unit: Unit, first: date, tz: tzinfo) -> tuple[datetime, datetime]:
    """(start, end) in UTC of the day, week, month or year that begins on `first`; the end is not included."""
    return day_start(first, tz), day_start(shift(first, unit, 1), tz)


def day_start(day: date, tz: tzinfo) -> datetime:
    """The first moment of a local day, in UTC: where clocks skip midnight, the moment when they do."""
    local = datetime.combine(day, time(), tz)
    late = local.astimezone(timezone.utc)
    if late.astimezone(tz).replace(tzinfo=None) == local.replace(tzinfo=None):
        return late
    early = local.replace(fold=1).astimezone(timezone.utc)
    offset = late.astimezone(tz).utcoffset()
    while late - early > timedelta(seconds=1):
        middle = early + (late - early) // timedelta(seconds=2) * timedelta(seconds=1)
        if middle.astimezone(tz).utcoffset() == offset:
            late = middle
        else:
            early = middle
    return late


def days(start: datetime, end: datetime, tz: tzinfo) -> Iterator[tuple[date, datetime, datetime]]:
    """(local day, its part's start, its part's end) from `start` up to `end`, none of them empty."""
    day, at = start.astimezone(tz).date(), start
    while at < end:
        following = min(day_start(day + timedelta(days=1), tz), end)
        if following > at:
            yield day, at, following
            at = following
        day += timedelta(days=1)


def milliseconds(at: datetime) -> int:
    """Whole milliseconds since 1970, rounded down."""
    return (at - EARLIEST) // timedelta(milliseconds=1)
