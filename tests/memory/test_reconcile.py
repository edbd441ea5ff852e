"""What is said again, and what takes the place of something older. When unsure, both stay."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone

import pytest

from total_recall.memory.reconcile import Reconciled, reconcile
from total_recall.records import Observation, ObservationType

FIRST = datetime(2026, 11, 20, 9, tzinfo=timezone.utc)


def line(
    name: str, text: str, day: int = 0, kind: ObservationType = "fact", refers: date | None = None, replaces: str = ""
) -> Observation:
    at = FIRST + timedelta(days=day)
    supersedes = (replaces,) if replaces else ()
    return Observation(name, text, at, "medium", kind, 5.0, 0.9, refers=refers, supersedes=supersedes)


def of(older: Observation, newer: Observation) -> Reconciled:
    return reconcile([older, newer], [])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Favourite snack: roasted seaweed", "Favourite snack: roasted seaweed"),
        ("User prefers window seats on trains", "User prefers window seats on the trains"),
        ("사용자는 창가 자리를 선호함", "사용자는 창가 자리를 선호함"),
        ("Invoice 1041 to Acme, 1,200 EUR", "Invoice 1041 to Acme, 1200 EUR"),
    ],
)
def test_what_is_said_again_is_not_written_again(one: str, other: str) -> None:
    result = of(line("aaaaaa", one), line("bbbbbb", other, 3))
    assert [o.id for o in result.kept] == ["aaaaaa"]
    assert [(o.id, there) for o, there in result.duplicates] == [("bbbbbb", "aaaaaa")]
    assert result.superseded == ()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Invoice 1041 to Acme, 1,200 EUR, due 2026-12-15", "Invoice 1042 to Acme, 1,200 EUR, due 2026-12-16"),
        ("Crested newt was not recorded in pond A in May", "Common frog was not recorded in pond B in June"),
        ("Do not call Minji before 9", "Do not call Joon before 9"),
        ("Minji lives in Incheon", "User moved to Seoul"),
        ("User lives in Busan", "Mina moved to Jeju"),
        ("User's favourite tea is oolong", "User's favourite coffee is dark roast"),
        ("User does not like coffee", "User does not like tea"),
        ("Deploy on Friday is allowed in staging", "Deploy on Monday is not allowed in production"),
        ("송장 1041 발행", "송장 1042 발행"),
        ("Meeting with Anna", "Meeting with Bruno"),
    ],
)
def test_two_facts_stay_two_facts(one: str, other: str) -> None:
    result = of(line("aaaaaa", one), line("bbbbbb", other, 1))
    assert [o.id for o in result.kept] == ["aaaaaa", "bbbbbb"]
    assert result.superseded == ()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Production deployment on Fridays is allowed", "Production deployment on Fridays is not allowed"),
        ("Production deployment on Fridays is allowed", "Correction: production deployment on Fridays is not allowed"),
        ("User lives in Busan", "User moved to Seoul"),
        ("부산에 살아요", "서울로 이사했어요"),
        ("User's favourite tea is oolong", "User's favourite tea is jasmine now"),
    ],
)
def test_a_newer_statement_takes_the_place_of_the_one_it_contradicts(one: str, other: str) -> None:
    result = of(line("aaaaaa", one), line("bbbbbb", other, 1))
    assert [o.id for o in result.kept] == ["aaaaaa", "bbbbbb"]
    assert result.superseded == (("aaaaaa", "bbbbbb"),)


def test_a_moved_appointment_takes_the_place_of_the_old_day() -> None:
    old = line("aaaaaa", "Dentist appointment on Friday (2026-12-04)", 0, "event", date(2026, 12, 4))
    new = line("bbbbbb", "Dentist appointment moved to Monday (2026-12-07)", 1, "event", date(2026, 12, 7))
    assert of(old, new).superseded == (("aaaaaa", "bbbbbb"),)


def test_an_event_is_the_same_one_only_near_its_day() -> None:
    backup = "Nightly backup finished, 12 GB"
    again = of(line("aaaaaa", backup, 0, "event"), line("bbbbbb", backup, 7, "event"))
    assert len(again.kept) == 2
    same = of(line("aaaaaa", backup, 0, "event"), line("bbbbbb", backup, 0, "event"))
    assert len(same.kept) == 1


def test_what_a_model_says_it_replaces_needs_a_common_subject() -> None:
    old = line("aaaaaa", "Rent is due on the 3rd")
    assert of(old, line("bbbbbb", "Rent is due on the 5th", 1, replaces="aaaaaa")).superseded == (("aaaaaa", "bbbbbb"),)
    assert of(old, line("bbbbbb", "Nora likes pears", 1, replaces="aaaaaa")).superseded == ()


def test_an_older_statement_does_not_replace_a_newer_one() -> None:
    late = line("aaaaaa", "User moved to Seoul", 5)
    early = line("bbbbbb", "User lives in Busan", 0)
    assert reconcile([late, early], []).superseded == (("bbbbbb", "aaaaaa"),)


def test_a_chain_of_changes_leaves_the_last_one() -> None:
    moves = [line(f"move{n}a", f"User moved to {city}", n) for n, city in enumerate(["Busan", "Seoul", "Jeju"])]
    result = reconcile(moves, [])
    assert dict(result.superseded).keys() == {"move0a", "move1a"}


@dataclass(frozen=True)
class Stands:
    """A line of the document."""

    id: str | None
    text: str
    type: ObservationType | None = "fact"
    heading: date | None = date(2026, 11, 20)
    refers: date | None = None
    superseded_by: str | None = None


def test_ten_thousand_standing_lines_are_no_trouble() -> None:
    many = [Stands(f"id{n:05d}", f"Ticket {n} about module {n % 97} was closed by team {n % 7}") for n in range(10_000)]
    new = [
        line(f"new{n}aa", f"Ticket {9_998 + n} about module {(9_998 + n) % 97} was closed by team {(9_998 + n) % 7}", 3)
        for n in range(4)
    ]
    result = reconcile(new, many)
    assert [there for _, there in result.duplicates] == ["id09998", "id09999"]
    assert [o.id for o in result.kept] == ["new2aa", "new3aa"]
