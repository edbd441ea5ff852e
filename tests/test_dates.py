"""Dates in what people write. Everything here is said on Monday 2026-11-30 unless a test says otherwise."""

from __future__ import annotations

from datetime import date
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from total_recall.dates import annotate, find_dates
from total_recall.text import Language

MONDAY = date(2026, 11, 30)

RESOLVED: tuple[tuple[Language, str, str], ...] = (
    ("en", "Aurora ships on Friday", "Aurora ships on Friday (2026-12-04)"),
    ("en", "see you tomorrow at 9", "see you tomorrow (2026-12-01) at 9"),
    ("en", "the day after tomorrow", "the day after tomorrow (2026-12-02)"),
    ("en", "next Friday we fly", "next Friday (2026-12-11) we fly"),
    ("en", "this Friday we fly", "this Friday (2026-12-04) we fly"),
    ("en", "Friday next week", "Friday next week (2026-12-11)"),
    ("en", "Last Friday we shipped 1.2.3", "Last Friday (2026-11-27) we shipped 1.2.3"),
    ("en", "On Friday we shipped the build", "On Friday (2026-11-27) we shipped the build"),
    ("en", "We decided to ship on Friday", "We decided to ship on Friday (2026-12-04)"),
    ("en", "a week from Friday", "a week from Friday (2026-12-11)"),
    ("en", "done in 3 weeks", "done in 3 weeks (2026-12-21)"),
    ("en", "we met 3 days ago", "we met 3 days ago (2026-11-27)"),
    ("en", "the deadline is 14 December", "the deadline is 14 December (2026-12-14)"),
    ("en", "March 3rd it is", "March 3rd (2027-03-03) it is"),
    ("en", "on may 14 we move", "on may 14 (2027-05-14) we move"),
    ("en", "The meeting on 25 November went well", "The meeting on 25 November (2026-11-25) went well"),
    ("en", "pay by the 14th", "pay by the 14th (2026-12-14)"),
    ("en", "moved from Monday to Wednesday", "moved from Monday to Wednesday (2026-12-02)"),
    ("en", "next week is full", "next week (2026-12-07…13) is full"),
    ("en", "starts next month", "starts next month (2026-12)"),
    ("en", "due 12/14/2026", "due 12/14/2026 (2026-12-14)"),
    ("en", "due 14/12/2026", "due 14/12/2026 (2026-12-14)"),
    ("en", "the backup is from 12 November", "the backup is from 12 November (2026-11-12)"),
    ("en", "notice by the end of January", "notice by the end of January (2027-01-31)"),
    ("en", "booked for 5 December", "booked for 5 December (2026-12-05)"),
    ("ko", "1월 말까지 통보", "1월 말 (2027-01-31)까지 통보"),
    ("ko", "화요일 아니고 수요일이래", "화요일 아니고 수요일 (2026-12-02)이래"),
    ("ko", "12월 5일에 접종하기로 예약했습니다", "12월 5일 (2026-12-05)에 접종하기로 예약했습니다"),
    ("de", "Ende Januar ziehe ich um", "Ende Januar (2027-01-31) ziehe ich um"),
    ("fr", "fin janvier je déménage", "fin janvier (2027-01-31) je déménage"),
    ("es", "a finales de enero me mudo", "a finales de enero (2027-01-31) me mudo"),
    ("ko", "내일까지 제출해줘", "내일 (2026-12-01)까지 제출해줘"),
    ("ko", "모레 병원 가", "모레 (2026-12-02) 병원 가"),
    ("ko", "다음 주 금요일에 회의", "다음 주 금요일 (2026-12-11)에 회의"),
    ("ko", "이번 주 금요일이야", "이번 주 금요일 (2026-12-04)이야"),
    ("ko", "지난주 금요일에 갔어요", "지난주 금요일 (2026-11-27)에 갔어요"),
    ("ko", "12월 14일(월)까지 내기", "12월 14일(월) (2026-12-14)까지 내기"),
    ("ko", "3주 뒤에 이사 가", "3주 뒤 (2026-12-21)에 이사 가"),
    ("ko", "사흘 후 출발", "사흘 후 (2026-12-03) 출발"),
    ("ko", "이틀 전에 샀어", "이틀 전 (2026-11-28)에 샀어"),
    ("ko", "다음 달 5일에 출국", "다음 달 5일 (2026-12-05)에 출국"),
    ("ko", "월요일 말고 수요일로 하자", "월요일 말고 수요일 (2026-12-02)로 하자"),
    ("ja", "来週の金曜日に大阪へ", "来週の金曜日 (2026-12-11)に大阪へ"),
    ("ja", "明日までに提出", "明日 (2026-12-01)までに提出"),
    ("ja", "12月14日が締め切り", "12月14日 (2026-12-14)が締め切り"),
    ("ja", "3週間後に引っ越す", "3週間後 (2026-12-21)に引っ越す"),
    ("zh", "下周五发布", "下周五 (2026-12-11)发布"),
    ("zh", "后天开会", "后天 (2026-12-02)开会"),
    ("zh", "12月14日截止", "12月14日 (2026-12-14)截止"),
    ("zh", "三周后搬家", "三周后 (2026-12-21)搬家"),
    ("es", "El viernes que viene tengo cita", "El viernes que viene (2026-12-04) tengo cita"),
    ("es", "dentro de tres semanas", "dentro de tres semanas (2026-12-21)"),
    ("es", "antes del 14 de diciembre", "antes del 14 de diciembre (2026-12-14)"),
    ("es", "mañana por la mañana", "mañana (2026-12-01) por la mañana"),
    ("es", "el viernes pasado", "el viernes pasado (2026-11-27)"),
    ("de", "Am Freitag kommt Oma", "Am Freitag (2026-12-04) kommt Oma"),
    ("de", "morgen früh", "morgen (2026-12-01) früh"),
    ("de", "in drei Wochen", "in drei Wochen (2026-12-21)"),
    ("de", "am 14.12. fällig", "am 14.12. (2026-12-14) fällig"),
    ("de", "am 14. Dezember", "am 14. Dezember (2026-12-14)"),
    ("de", "nächsten Freitag", "nächsten Freitag (2026-12-04)"),
    ("fr", "vendredi prochain à 14h", "vendredi prochain (2026-12-04) à 14h"),
    ("fr", "demain matin", "demain (2026-12-01) matin"),
    ("fr", "dans trois semaines", "dans trois semaines (2026-12-21)"),
    ("fr", "le 14 décembre", "le 14 décembre (2026-12-14)"),
    ("fr", "avant-hier", "avant-hier (2026-11-28)"),
)

LEFT_ALONE: tuple[tuple[Language, str], ...] = (
    ("en", "I may go, the march on Rome, wait a second, he sat down"),
    ("en", "call 555-0123 at 14:30, version 2026.9.6, Rev 14.12.3, 10.0.0.1, 1/2 cup, 24/7, 9-11"),
    ("en", "every Friday, on Fridays, each Monday, Black Friday"),
    ("en", "due 12/14, and 05/06/2026 could be either"),
    ("en", "it took 3 weeks; in 2 days we wrote 300 lines"),
    ("en", "My birthday is 14 March"),
    ("en", "we walked March 5 miles; on the 14th floor; the sun is out"),
    ("en", "I learned it in a few days"),
    ("ko", "매주 금요일 운동, 금요일마다 회의"),
    ("ko", "금요일에는 절대 배포하지 마"),
    ("ko", "3일 동안 쉬었어, 내 일은 많아"),
    ("ja", "毎週金曜日はジム"),
    ("zh", "每周五游泳"),
    ("es", "cada viernes, los viernes, por la mañana"),
    ("de", "jeden Freitag, freitags, am Morgen, Guten Morgen!"),
    ("fr", "chaque vendredi, tous les lundis"),
)


@pytest.mark.parametrize(("language", "said", "written"), RESOLVED)
def test_the_absolute_day_stands_beside_the_words(language: Language, said: str, written: str) -> None:
    assert annotate(said, MONDAY, language)[0] == written


@pytest.mark.parametrize(("language", "text"), LEFT_ALONE)
def test_what_may_mean_something_else_becomes_no_date(language: Language, text: str) -> None:
    assert annotate(text, MONDAY, language) == (text, None)


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("due 15 December 2026", date(2026, 12, 15)),
        ("Friday 4 December 2026", date(2026, 12, 4)),
        ("renew before 2027-02-10", date(2027, 2, 10)),
        ("fällig am 14.12.2026", date(2026, 12, 14)),
        ("2026. 12. 14. 마감", date(2026, 12, 14)),
        ("2026년 12월 14일", date(2026, 12, 14)),
        ("born on 3 May 1990", date(1990, 5, 3)),
    ],
)
def test_a_date_that_is_written_out_is_referred_to_and_stays_as_it_is(text: str, day: date) -> None:
    assert annotate(text, MONDAY) == (text, day)


def test_a_weekday_beside_a_day_decides_its_year() -> None:
    """Booked (a past verb) for a day to come: 11 December 2026 is a Friday, 11 December 2025 is not."""
    assert annotate("12월 11일 금요일 표를 샀습니다", MONDAY, "ko")[1] == date(2026, 12, 11)


def test_a_weekday_named_on_that_day_is_a_week_ahead() -> None:
    friday = date(2026, 12, 4)
    assert annotate("let's meet on Friday", friday)[1] == date(2026, 12, 11)
    assert annotate("last Friday was fun", friday)[1] == date(2026, 11, 27)


def test_months_and_years_end_where_the_calendar_does() -> None:
    assert annotate("in one month", date(2027, 1, 31))[1] == date(2027, 2, 28)
    assert annotate("tomorrow", date(2028, 2, 28))[1] == date(2028, 2, 29)
    assert annotate("on 30 February", MONDAY) == ("on 30 February", None)
    assert annotate("the deadline is 3 January", MONDAY)[1] == date(2027, 1, 3)


def test_the_day_it_is_about_is_the_one_that_still_holds() -> None:
    assert annotate("not on Monday, on Wednesday", MONDAY)[1] == date(2026, 12, 2)


def test_a_day_is_written_once() -> None:
    text = "tomorrow (Tuesday) I go; tomorrow I come back"
    assert annotate(text, MONDAY)[0].count("2026-12-01") == 1
    assert annotate("on Friday (2026-12-04)", MONDAY)[0] == "on Friday (2026-12-04)"


@given(st.text(max_size=120), st.dates())
def test_any_text_on_any_day_keeps_its_words(text: str, said: date) -> None:
    mentions = find_dates(text, said)
    assert all(0 <= mention.start < mention.end <= len(text) for mention in mentions)
    assert all(one.end <= other.start for one, other in pairwise(mentions))
    annotated, _ = annotate(text, said)
    assert len(annotated) >= len(text)


def test_a_number_with_its_own_unit_is_not_the_day_of_the_month_before_it() -> None:
    assert annotate("December 12월", MONDAY) == ("December 12월", None)


@given(
    st.lists(st.sampled_from(["in", "on", "3", "weeks", "next", "last", "Friday", "14", "December", "may", "다음", "주", "금요일", "12월", "14일", "明日", "下周五", "morgen", "0", "31"]), max_size=8),
    st.dates(),
)
def test_words_of_time_in_any_order_resolve_or_stay(pieces: list[str], said: date) -> None:
    text = " ".join(pieces)
    annotated, _ = annotate(text, said)
    assert all(piece in annotated for piece in pieces)
