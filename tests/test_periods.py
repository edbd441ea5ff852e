"""Times as people type them, in the user's own zone: days of 23 and 25 hours, and clocks that skip midnight."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from total_recall import periods
from total_recall.periods import Unit

SEOUL = ZoneInfo("Asia/Seoul")
NEW_YORK = ZoneInfo("America/New_York")
LORD_HOWE = ZoneInfo("Australia/Lord_Howe")
MONDAY = datetime(2026, 11, 30, 12, 30, tzinfo=timezone.utc)
"""21:30 in Seoul, 07:30 in New York."""


def utc(text: str) -> datetime:
    return datetime.fromisoformat(f"{text}+00:00")


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("today", "2026-11-29T15:00", "2026-11-30T15:00"),
        ("오늘", "2026-11-29T15:00", "2026-11-30T15:00"),
        ("yesterday", "2026-11-28T15:00", "2026-11-29T15:00"),
        ("Yesterday ", "2026-11-28T15:00", "2026-11-29T15:00"),
        ("어제", "2026-11-28T15:00", "2026-11-29T15:00"),
        ("gestern", "2026-11-28T15:00", "2026-11-29T15:00"),
        ("aujourd'hui", "2026-11-29T15:00", "2026-11-30T15:00"),
        ("그저께", "2026-11-27T15:00", "2026-11-28T15:00"),
        ("day before yesterday", "2026-11-27T15:00", "2026-11-28T15:00"),
        ("week", "2026-11-29T15:00", "2026-12-06T15:00"),
        ("이번 주", "2026-11-29T15:00", "2026-12-06T15:00"),
        ("last week", "2026-11-22T15:00", "2026-11-29T15:00"),
        ("last-week", "2026-11-22T15:00", "2026-11-29T15:00"),
        ("지난주", "2026-11-22T15:00", "2026-11-29T15:00"),
        ("지난 주", "2026-11-22T15:00", "2026-11-29T15:00"),
        ("先週", "2026-11-22T15:00", "2026-11-29T15:00"),
        ("month", "2026-10-31T15:00", "2026-11-30T15:00"),
        ("지난달", "2026-09-30T15:00", "2026-10-31T15:00"),
        ("year", "2025-12-31T15:00", "2026-12-31T15:00"),
        ("작년", "2024-12-31T15:00", "2025-12-31T15:00"),
        ("monday", "2026-11-29T15:00", "2026-11-30T15:00"),
        ("last monday", "2026-11-22T15:00", "2026-11-23T15:00"),
        ("fri", "2026-11-26T15:00", "2026-11-27T15:00"),
        ("지난 금요일", "2026-11-26T15:00", "2026-11-27T15:00"),
        ("3 days ago", "2026-11-26T15:00", "2026-11-27T15:00"),
        ("3일 전", "2026-11-26T15:00", "2026-11-27T15:00"),
        ("2 weeks ago", "2026-11-15T15:00", "2026-11-22T15:00"),
        ("2개월 전", "2026-08-31T15:00", "2026-09-30T15:00"),
        ("now", "2026-11-30T12:30", "2026-11-30T12:30"),
        ("36h", "2026-11-29T00:30", "2026-11-29T00:30"),
        ("90m", "2026-11-30T11:00", "2026-11-30T11:00"),
        ("30분 전", "2026-11-30T12:00", "2026-11-30T12:00"),
        ("7d", "2026-11-23T12:30", "2026-11-23T12:30"),
        ("７일", "2026-11-23T12:30", "2026-11-23T12:30"),
        ("2w", "2026-11-16T12:30", "2026-11-16T12:30"),
        ("1 month", "2026-10-30T12:30", "2026-10-30T12:30"),
        ("2026-11-28", "2026-11-27T15:00", "2026-11-28T15:00"),
        ("2026-W48", "2026-11-22T15:00", "2026-11-29T15:00"),
        ("2026-11", "2026-10-31T15:00", "2026-11-30T15:00"),
        ("2026", "2025-12-31T15:00", "2026-12-31T15:00"),
        ("2026-11-28T09:00", "2026-11-28T00:00", "2026-11-28T00:00"),
        ("2026-11-28 09:00:30", "2026-11-28T00:00:30", "2026-11-28T00:00:30"),
        ("2026-11-28T09:00:00.250Z", "2026-11-28T09:00:00.250000", "2026-11-28T09:00:00.250000"),
        ("2026-11-28T09:00+05:30", "2026-11-28T03:30", "2026-11-28T03:30"),
        ("09:00", "2026-11-30T00:00", "2026-11-30T00:00"),
    ],
)
def test_what_was_typed_in_seoul(text: str, start: str, end: str) -> None:
    assert periods.parse(text).resolve(MONDAY, SEOUL) == (utc(start), utc(end))


@pytest.mark.parametrize(
    "text",
    ["", " ", "soon", "24", "h", "7x", "-7d", "2026-13", "2026-02-30", "2026-W54", "2026-11-28T25:00", "25:00", "0000",
     "2026-11-28T09:00+99:00", "tomorrowish", "yesterday 09:00", "9999-12-31", "1969-12-31", "09:00Z", "last",
     "2026-11-28\nT09:00"],
)  # fmt: skip
def test_what_is_no_time_is_told_what_would_be(text: str) -> None:
    with pytest.raises(ValueError, match="36h, 7d, today") as raised:
        periods.parse(text)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("text", ["999999999h", "999999999d", "999999999 months", "999999999y"])
def test_more_than_there_is_gives_all_there_is(text: str) -> None:
    start = periods.parse(text).start(MONDAY, SEOUL)
    assert start - periods.EARLIEST < timedelta(days=1)


@pytest.mark.parametrize(
    ("zone", "now", "start", "hours"),
    [
        (NEW_YORK, "2026-11-02T12:00", "2026-11-01T04:00", 25),  # back at 02:00 on 1 November
        (NEW_YORK, "2026-03-09T12:00", "2026-03-08T05:00", 23),  # forward at 02:00 on 8 March
        (LORD_HOWE, "2026-04-06T01:00", "2026-04-04T13:00", 24.5),  # back by half an hour on 5 April
        (LORD_HOWE, "2026-10-05T01:00", "2026-10-03T13:30", 23.5),
        (ZoneInfo("Africa/Cairo"), "2026-04-25T12:00", "2026-04-23T22:00", 23),  # no midnight on 24 April
        (ZoneInfo("America/Havana"), "2026-11-02T12:00", "2026-11-01T04:00", 25),  # two midnights on 1 November
        (SEOUL, "2026-11-02T12:00", "2026-10-31T15:00", 24),
    ],
)
def test_yesterday_is_a_local_day_whatever_the_clocks_did(zone: ZoneInfo, now: str, start: str, hours: float) -> None:
    first, end = periods.parse("yesterday").resolve(utc(now), zone)
    assert (first, end - first) == (utc(start), timedelta(hours=hours))


def test_a_day_that_begins_within_a_gap_begins_with_it() -> None:
    """Toronto's clocks went from 23:30 on 30 March 1919 to 00:30 on the 31st."""
    toronto = ZoneInfo("America/Toronto")
    start = periods.day_start(date(1919, 3, 31), toronto)
    assert start.astimezone(toronto).replace(tzinfo=timezone.utc) == utc("1919-03-31T00:30")
    assert (start - timedelta(seconds=1)).astimezone(toronto).date() == date(1919, 3, 30)


def test_a_week_of_a_clock_change_has_its_own_length() -> None:
    start, end = periods.parse("2026-W44").resolve(MONDAY, NEW_YORK)
    assert end - start == timedelta(days=7, hours=1)


def test_a_time_that_comes_twice_is_both_of_them() -> None:
    """01:30 in New York on 1 November: since the first one, until the second."""
    twice = periods.parse("2026-11-01T01:30")
    assert (twice.start(MONDAY, NEW_YORK), twice.end(MONDAY, NEW_YORK)) == (
        utc("2026-11-01T05:30"),
        utc("2026-11-01T06:30"),
    )


def test_seven_days_are_168_hours() -> None:
    now = utc("2026-11-02T12:00")
    assert now - periods.parse("7d").start(now, NEW_YORK) == timedelta(hours=168)


ZONES = st.sampled_from(["Asia/Seoul", "America/New_York", "Australia/Lord_Howe", "Africa/Cairo", "America/Havana",
                         "America/Santiago", "Asia/Beirut", "America/Nuuk", "Pacific/Apia", "UTC"])  # fmt: skip


@given(ZONES, st.dates(date(2005, 1, 1), date(2030, 1, 1)), st.integers(1, 60))
def test_days_follow_each_other_without_a_gap(zone: str, first: date, count: int) -> None:
    tz = ZoneInfo(zone)
    start = periods.day_start(first, tz)
    end = periods.day_start(first + timedelta(days=count), tz)
    found = list(periods.days(start, end, tz))
    at = start
    for day, begin, following in found:
        assert begin == at < following
        assert begin.astimezone(tz).date() == day
        assert (following - timedelta(milliseconds=1)).astimezone(tz).date() == day
        at = following
    assert at == end or start == end
    assert count - len(found) in (0, 1)  # Samoa had no 30 December 2011


@given(
    st.dates(date(2020, 1, 1), date(2100, 1, 1)),
    st.sampled_from(["day", "week", "month", "year"]),
    st.integers(-40, 40),
)
def test_shifting_there_and_back_stays_within_the_month(day: date, unit: Unit, steps: int) -> None:
    there = periods.shift(day, unit, steps)
    back = periods.shift(there, unit, -steps)
    assert back <= day and (back.year, back.month) == (day.year, day.month)
    assert (there > day) == (steps > 0) or steps == 0


def test_milliseconds_are_whole() -> None:
    assert periods.milliseconds(utc("1970-01-01T00:00:01.234999")) == 1234
