from __future__ import annotations

from datetime import date

import pytest

from total_recall.recall.querying import parse_query, tells_a_number, tells_a_time

TODAY = date(2026, 11, 30)
"""A Monday."""


@pytest.mark.parametrize(
    ("asked", "windows"),
    [
        ("what did I say last March?", ["2026-03-01 2026-03-31"]),
        ("what happened in March 2025", ["2025-03-01 2025-03-31"]),
        ("where was I in December?", ["2025-12-01 2025-12-31"]),
        ("what did we do in November?", ["2026-11-01 2026-11-30"]),
        ("what did we do last November?", ["2025-11-01 2025-11-30"]),
        ("trip in 2024", ["2024-01-01 2024-12-31"]),
        ("last year's trip", ["2025-01-01 2025-12-31"]),
        ("what did she do on 5 May, 2023?", ["2023-05-05 2023-05-05"]),
        ("what did we do yesterday?", ["2026-11-29 2026-11-29"]),
        ("what did I eat last week", ["2026-11-23 2026-11-29"]),
        ("what is due on Friday?", ["2026-12-04 2026-12-04", "2026-11-27 2026-11-27"]),
        ("the party on May 5", ["2027-05-05 2027-05-05", "2026-05-05 2026-05-05"]),
        ("지난주에 뭐 했지?", ["2026-11-23 2026-11-29"]),
        ("지난 3월 여행", ["2026-03-01 2026-03-31"]),
        ("작년 3월 여행", ["2025-03-01 2025-03-31"]),
        ("2025년 여행", ["2025-01-01 2025-12-31"]),
        ("先週 何をした", ["2026-11-23 2026-11-29"]),
        ("上周做了什么", ["2026-11-23 2026-11-29"]),
        ("letzte Woche", ["2026-11-23 2026-11-29"]),
        ("la semana pasada", ["2026-11-23 2026-11-29"]),
        ("what may I eat", []),
        ("April's number", []),
        ('the "last week" song', []),
        ("chapter 3, verse 12", []),
    ],
)
def test_the_times_that_are_named(asked: str, windows: list[str]) -> None:
    found = [f"{first} {last}" for first, last in parse_query(asked, TODAY).windows]
    assert found == windows


def test_the_words_for_a_time_are_not_looked_for() -> None:
    assert parse_query("which restaurant in March 2026?", TODAY).terms == ("restaur",)
    assert parse_query("in November", TODAY).terms == ()


@pytest.mark.parametrize(
    ("asked", "phrases"),
    [
        ('the "Blue Bicycle" shop', ("blue bicycle",)),
        ("“blue” and «rouge» and 「青い自転車」", ("blue", "rouge", "青い自転車")),
        ('an "open quote', ()),
        ('"  "', ()),
    ],
)
def test_quoted_phrases(asked: str, phrases: tuple[str, ...]) -> None:
    assert parse_query(asked, TODAY).phrases == phrases


@pytest.mark.parametrize(
    ("asked", "when", "how_many"),
    [
        ("When did she move?", True, False),
        ("whenever you like", False, False),
        ("언제 이사했지?", True, False),
        ("いつ引っ越した？", True, False),
        ("什么时候搬家", True, False),
        ("How many dogs?", False, True),
        ("강아지가 몇 마리야?", False, True),
        ("combien de chats ?", False, True),
        ("who is it", False, False),
    ],
)
def test_the_form_of_the_answer(asked: str, when: bool, how_many: bool) -> None:
    query = parse_query(asked, TODAY)
    assert (query.asks_when, query.asks_how_many) == (when, how_many)


@pytest.mark.parametrize(
    "told", ["We met yesterday", "since 2019", "지난 주말에", "昨日は雨", "last few days", "am Freitag vor 2024"]
)
def test_what_tells_a_time(told: str) -> None:
    assert tells_a_time(told)


@pytest.mark.parametrize("told", ["I like tea", "마음에 든다"])
def test_what_tells_none(told: str) -> None:
    assert not tells_a_time(told) and not tells_a_number(told)


def test_what_tells_a_number() -> None:
    assert tells_a_number("two dogs") and tells_a_number("7 cats") and tells_a_number("고양이 세 마리")


def test_words_tell_people_by() -> None:
    assert {"caroline", "mel"} <= parse_query("What is Caroline's gift to MEL?", TODAY).words


@pytest.mark.parametrize("asked", ["", "?", "\x00", "\ud800", '"' * 50, "2 월 " * 40, "9999 99월", "February 30"])
def test_odd_questions_are_only_odd(asked: str) -> None:
    assert parse_query(asked, TODAY).text == asked


def test_the_last_days_of_the_calendar() -> None:
    assert parse_query("on February 29", date(2027, 12, 30)).windows == ()
    assert parse_query("in January", date(1, 2, 1)).windows
