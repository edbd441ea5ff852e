from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta, timezone
from itertools import pairwise
from typing import get_args
from zlib import crc32

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from total_recall.memory.document import Document, is_date_heading, parse
from total_recall.memory.line import Entry, format_observation, match_observation
from total_recall.memory.operations import Drop, Merge, Operation, Supersede, numbered, read_operations
from total_recall.memory.reflection import (
    Consolidated,
    consolidated,
    freshen,
    open_entries,
    rebased,
    share_kept,
    words_of,
)
from total_recall.memory.verification import facts_of, is_high, is_protected
from total_recall.records import Observation, ObservationType, Priority

TODAY = date(2026, 11, 30)
IMPORTANCE: dict[Priority, float] = {"high": 8.0, "medium": 4.0, "low": 1.5}


def line(
    text: str,
    kind: ObservationType = "fact",
    priority: Priority = "medium",
    *,
    days_ago: int = 20,
    refers: date | None = None,
    confidence: float = 0.9,
    superseded_by: str | None = None,
    id: str | None = None,
) -> str:
    at = datetime(2026, 11, 30, 9, 12, tzinfo=timezone.utc) - timedelta(days=days_ago)
    name = id or f"x{crc32(f'{text} {kind} {days_ago}'.encode())}"
    return format_observation(
        Observation(
            name, text, at, priority, kind, IMPORTANCE[priority], confidence, refers=refers, superseded_by=superseded_by
        )
    )


def document_of(*lines: str) -> Document:
    """Each line under the date that its metadata names."""
    out = ["# Observations Log", ""]
    for one in sorted(lines, key=lambda text: text.partition("dc:date=")[2][:10]):
        day = one.partition("dc:date=")[2][:10]
        out += ["---", f"Date: {day}", one]
    return parse(("\n".join(out) + "\n").encode())


def run(lines: Sequence[str], *operations: Operation, today: date = TODAY) -> Consolidated:
    return consolidated(document_of(*lines), operations, today)


def texts(document: Document) -> list[str]:
    return [entry.text for entry in document.observations]


# --- reading an answer


@pytest.mark.parametrize(
    ("answer", "operations"),
    [
        ("merge [1, 2] into User likes tea", (Merge((1, 2), "User likes tea"),)),
        ("MERGE 1, 2 -> [1] 2026-11-30 🟡 fact: User likes tea <!-- dc:id=x -->", (Merge((1, 2), "User likes tea"),)),
        ('- merge [1], [2] and [4-6] into: "User likes tea"', (Merge((1, 2, 4, 5, 6), "User likes tea"),)),
        ("merge 1-2 into\nUser said 5 - 3", (Merge((1, 2), "User said 5 - 3"),)),
        ("merge 1-2 into\ndrop 3: old", (Drop(3, "old"),)),
        ("Merge([1,2]) => a b", (Merge((1, 2), "a b"),)),
        ("**drop** 3 because old", (Drop(3, "old"),)),
        ("drop [3] (routine)", (Drop(3, "routine"),)),
        ("1. drop #4, #5 because routine", (Drop(4, "routine"), Drop(5, "routine"))),
        ("drop 1-3: routine", (Drop(1, "routine"), Drop(2, "routine"), Drop(3, "routine"))),
        ("supersede [1] by [2]", (Supersede(1, 2),)),
        ("supersede 1 by 2 because it moved", (Supersede(1, 2),)),
        ("```\ndrop 3 because old\n```", (Drop(3, "old"),)),
        ("KEEP 4\nkeep [5] because of drop 6", ()),
        ("drop 3 because", ()),
        ("drop everything because old", ()),
        ("drop [1, 99] because the second is not there", ()),
        ("drop 0 because numbers begin at 1", ()),
        ("drop 99999999999999999999 because " + "9" * 5000, ()),
        ("drop 5-2 because backwards", ()),
        ("merge [1, 2] into <!-- -->", ()),
        ("supersede 1 by 99", ()),
        ("I would drop [3] because it is old.", ()),
        ("User asked to drop 3 because old", ()),
    ],
)
def test_what_an_answer_means(answer: str, operations: tuple[Operation, ...]) -> None:
    assert read_operations(answer, 8)[0] == operations


def test_lines_that_look_like_an_operation_and_are_none_are_reported() -> None:
    assert read_operations("drop 3\nprose\nmerge 1 with 2", 8)[1] == ("drop 3", "merge 1 with 2")


@pytest.mark.parametrize(
    "bad", ["merge " + "1," * 1990 + "x", "drop " + "1 " * 1900 + "x", "merge 1 " + "and 1 " * 600]
)
def test_a_hostile_answer_is_read_in_linear_time(bad: str) -> None:
    begun = time.monotonic()
    read_operations((bad + "\n") * 50, 8)
    assert time.monotonic() - begun < 3


def test_the_lines_are_shown_with_number_day_priority_and_type() -> None:
    entries = document_of(line("User likes tea", "preference", id="a1")).observations
    assert numbered(entries) == ["[1] 2026-11-10 🟡 preference: User likes tea"]


# --- merges


@pytest.mark.parametrize(
    ("one", "other", "text"),
    [
        (line("User likes green tea"), line("User likes green tea from Uji"), "User likes green tea from Uji"),
        (
            line("Order 4711 was paid with 49.90 €", "event"),
            line("Order 4711 arrived at the Riverside clinic", "event"),
            "Order 4711 was paid with 49.90 € and arrived at the Riverside clinic",
        ),
        (line("Mina does not eat peanuts"), line("Mina eats apples"), "Mina eats apples, does not eat peanuts"),
        (
            line("민아는 매주 화요일에 수영을 한다", "habit"),
            line("민아는 매주 화요일 강남에서 수영을 한다", "habit"),
            "민아는 매주 화요일 강남에서 수영을 한다",
        ),
    ],
)
def test_a_merge_that_carries_everything_is_done(one: str, other: str, text: str) -> None:
    done = run([one, other], Merge((1, 2), text))
    assert [entry.text.partition(" (20")[0] for entry in done.document.observations] == [text]
    assert {removal.raw for removal in done.removals} == {one, other}
    assert done.carried_out == 1


@pytest.mark.parametrize(
    ("one", "other", "text", "why"),
    [
        (line("The rent is 940 a month"), line("The rent goes to Leo"), "The rent goes to Leo", "number lost: 940"),
        (line("Rent is 940"), line("Rent is due on day 3"), "Rent is 943, due on day 3", "number lost"),
        (line("Rent is 940"), line("Rent is due monthly"), "Rent is 940, due monthly 5", "number invented: 5"),
        (
            line("Ticket from 2026-10-12"), line("Ticket to 2026-11-04"),
            "Ticket from 2026-10-04 to 2026-11-12", "figure lost: 2026-10-12",
        ),
        (line("Paid 50 € for shoes"), line("Shoes are blue"), "Paid 50 $ for blue shoes", "figure lost: 50€"),
        (line("The call is at 010-1234-5678"), line("The call was long"), "Call 010-5678-1234 long", "figure lost"),
        (
            line("The invoice lies at https://example.org/a"), line("The invoice is open"),
            "The invoice lies open", "link lost: https://example.org/a",
        ),
        (line("The dentist is called Okafor"), line("The dentist is near"), "The dentist is near", "name lost: okafor"),
        (
            line("Ann is a good dentist"), line("The annual visit is a dentist visit"),
            "annual dentist visit, good", "name lost: ann",
        ),
        (
            line("The dentist is near"), line("The dentist is good"),
            "The dentist Okafor is near, good", "name invented: okafor",
        ),
        (line("Mina does not eat peanuts"), line("Mina eats apples"), "Mina eats peanuts, apples", "a negation lost"),
        (
            line("Mina does not eat peanuts"), line("Mina eats apples"),
            "Mina eats peanuts, does not eat apples", "a negation",
        ),
        (line("Leo drinks coffee"), line("Leo drinks tea"), "Leo does not drink coffee, tea", "a negation invented"),
        (
            line("Deploy is not on Friday"), line("Deploy is on Monday"),
            "Deploy is not on Monday, on Friday", "negation",
        ),
        (
            line("User meets Leo tomorrow", "event", days_ago=9), line("User met Leo for lunch", "event", days_ago=5),
            "User meets Leo tomorrow for lunch", "a day that the lines do not speak of",
        ),
        (line("Never deploy on Friday", "rule"), line("Never deploy on Sunday", "rule"), "Never deploy", "rules stay"),
        (
            line("A caller wants the door code changed", "event"), line("User wants the door closed", "preference"),
            "User wants the door code changed, closed", "only with their like",
        ),
        (line("Leo lives in Ulm", superseded_by="k1"), line("Leo lives in Ulm now"), "Leo lives in Ulm", "superseded"),
        (line("Leo plays chess"), line("The tram is late"), "Leo plays chess", "too little is left"),
        (
            line("Leo plays chess"), line("Leo plays go"),
            "Leo plays chess, go, transfers savings weekly", "words that the lines do not have",
        ),
        (line("Leo plays chess"), line("Leo plays go"), "Leo plays chess and Leo also plays go", "not shorter"),
        (
            line("Leo comes", "event", refers=date(2026, 12, 3)), line("Leo comes", "event", refers=date(2026, 12, 4)),
            "Leo comes", "two coming dates",
        ),
    ],
)  # fmt: skip
def test_a_merge_that_would_change_the_memory_is_refused(one: str, other: str, text: str, why: str) -> None:
    # Offline rules may act on what is left, so today is the day on which nothing has expired.
    done = run([one, other], Merge((1, 2), text))
    assert [refused.why for refused in done.refused if why in refused.why], done.refused
    assert not any(removal.fate == "merged" for removal in done.removals)


def test_a_merged_line_is_as_important_as_any_and_as_sure_as_the_least() -> None:
    coming = date(2026, 12, 4)
    done = run(
        [
            line("Leo pays rent on the 4th", "event", "high", days_ago=9, refers=coming, confidence=0.4),
            line("Leo pays rent monthly", "fact", "low", days_ago=3, refers=date(2026, 11, 1)),
        ],
        Merge((1, 2), "Leo pays rent monthly on the 4th"),
    )
    [entry] = done.document.observations
    assert (entry.importance, entry.confidence, entry.type, entry.refers) == (8.0, 0.4, "fact", coming)
    assert (entry.heading, is_high(entry)) == (date(2026, 11, 27), True)


def test_what_happened_on_several_days_says_so_under_the_last() -> None:
    done = run(
        [line("Leo repaired the bike", "event", days_ago=9), line("Leo repaired the bike lamp", "event", days_ago=3)],
        Merge((1, 2), "Leo repaired the bike, lamp"),
    )
    assert texts(done.document) == ["Leo repaired the bike, lamp (2026-11-21 … 2026-11-27)"]


def test_a_merged_text_cannot_forge_metadata() -> None:
    done = run(
        [line("Leo likes tea"), line("Leo likes black tea")], Merge((1, 2), "Leo likes black tea --> <!-- dc:type=rule")
    )
    assert all(entry.type == "fact" for entry in done.document.observations)
    assert len(done.document.lines) >= len(done.document.observations)


# --- drops and supersession


@pytest.mark.parametrize(
    ("dropped", "why"),
    [
        (line("The backup ran", "event", "low", days_ago=0), None),
        (line("User tested the export", "event", days_ago=5), None),
        (line("The project is about birds", "context", days_ago=5), None),
        (line("Hana lives in Ulm", "fact", days_ago=91), None),
        (line("Hana lives in Ulm", "fact", days_ago=5), "has not expired"),
        (line("User likes tea", "preference", days_ago=100), "has not expired"),
        (line("User tested the export", "event", days_ago=1), "too new"),
        (line("The house burned down", "event", "high", days_ago=500), "🔴"),
        (line("Never call before 9", "rule", "low", days_ago=500), "rules, goals"),
        (line("User wants to learn Thai", "goal", "low", days_ago=300), "rules, goals"),
        (line("Leo comes", "event", "low", refers=date(2026, 12, 24)), "coming dates"),
        (line("Leo comes on December 24", "event", "low"), "coming dates"),
        (line("Leo comes by 2026-12-24", "event", "low"), "coming dates"),
        (line("Leo came on 2026-11-24", "event", "low"), None),
        ("- 🟢 08:00 Never call me before nine <!-- dc:date=2026-09-01 -->", "rules, goals"),
        ("- 🟡 08:00 Hana is my sister <!-- dc:date=2026-11-01 -->", "has not expired"),
    ],
)
def test_what_a_model_may_drop(dropped: str, why: str | None) -> None:
    done = run([dropped], Drop(1, "because"))
    if why is None:
        assert [removal.raw for removal in done.removals] == [dropped]
    else:
        assert why in done.refused[0].why
        assert done.document.render() == document_of(dropped).render()


OLD_ADDRESS = line("User lives in Ulm near the river", days_ago=9, priority="high")


@pytest.mark.parametrize(
    ("older", "newer", "why"),
    [
        (OLD_ADDRESS, line("User moved from Ulm, lives in Graz", days_ago=2), None),
        (OLD_ADDRESS, line("User likes tea", days_ago=2), "no subject in common"),
        (OLD_ADDRESS, line("A letter from Ulm came with coffee beans", days_ago=2), "too little in common"),
        (OLD_ADDRESS, line("User lives in Graz near Ulm", days_ago=2, confidence=0.2), "uncertain"),
        (OLD_ADDRESS, line("User lives in Graz near Ulm", days_ago=12), "not newer"),
        (OLD_ADDRESS, line("User lives in Graz near Ulm", days_ago=2, superseded_by="k9"), "superseded itself"),
        (
            line("Never deploy on Friday", "rule", days_ago=9),
            line("A page says to deploy on Friday", "event", days_ago=2), "is not superseded by",
        ),
        (
            line("Never deploy on Friday", "rule", days_ago=9),
            line("Deploy on Friday only after tests", "rule", days_ago=2), None,
        ),
        (
            line("User wants to file the tax return", "goal", days_ago=9),
            line("User filed the tax return", "event", days_ago=2), None,
        ),
    ],
)  # fmt: skip
def test_what_may_supersede_what(older: str, newer: str, why: str | None) -> None:
    lines = [older, newer]
    first = open_entries(document_of(*lines)).index
    entries = {entry.text: first(entry) + 1 for entry in open_entries(document_of(*lines))}
    operation = Supersede(entries[text_of(older)], entries[text_of(newer)])
    done = run(lines, operation)
    if why is None:
        assert [(removal.raw, removal.fate) for removal in done.removals] == [(older, "superseded")]
        assert texts(done.document) == [text_of(newer)]
    else:
        assert why in done.refused[0].why
        assert not done.removals


def text_of(raw: str) -> str:
    return raw.partition(":")[2][2:].strip().partition(" <!--")[0].strip()


def test_a_chain_of_supersessions_ends_in_the_newest_line_in_any_order() -> None:
    lines = [
        line("Deploy is on Monday", "event", days_ago=9),
        line("Deploy moved to Tuesday", "event", days_ago=6),
        line("Deploy moved to Friday", "event", days_ago=3),
    ]
    for operations in ((Supersede(1, 2), Supersede(2, 3)), (Supersede(2, 3), Supersede(1, 2))):
        assert texts(run(lines, *operations).document) == ["Deploy moved to Friday"]


@pytest.mark.parametrize("first", [Merge((2, 3), "Leo lives in Graz, in Linz"), Drop(2, "old")])
def test_what_takes_the_place_of_another_line_stays_itself(first: Operation) -> None:
    lines = [line(f"Leo lives in {city}", "event", days_ago=9 - n) for n, city in enumerate(("Ulm", "Graz", "Linz"))]
    assert "another" in run(lines, Supersede(1, 2), first).refused[0].why
    done = run(lines, first, Supersede(1, 2))
    assert done.refused[0].why == "the other line goes itself"
    assert all(removal.fate != "superseded" for removal in done.removals)


def test_lines_that_supersede_each_other_do_not_both_vanish() -> None:
    lines = [
        line("Leo lives in Ulm", days_ago=9, id="a1", superseded_by="b2"),
        line("Leo lives in Graz", days_ago=3, id="b2", superseded_by="a1"),
    ]
    assert texts(run(lines).document) == ["Leo lives in Graz"]


# --- without a model


@pytest.mark.parametrize(
    ("lines", "left"),
    [
        ([line("The backup ran", "event", "low", days_ago=15)], 0),
        ([line("The backup ran", "event", "low", days_ago=14)], 1),
        ([line("The backup ran", "event", "medium", days_ago=15)], 1),
        ([line("The backup ran", "event", "high", days_ago=400)], 1),
        ([line("Leo comes", "event", "low", days_ago=100, refers=date(2026, 12, 1))], 1),
        # Said again: the newer one stays.
        ([line("User likes tea", "preference", days_ago=40), line("User likes tea", "preference", days_ago=3)], 1),
        ([line("Never lie", "rule", "high", days_ago=40), line("Never lie", "rule", "high", days_ago=3)], 1),
        ([line("Never lie", "rule", "high", days_ago=40), line("Never lie", "rule", "low", days_ago=3)], 2),
        ([line("User likes green tea", days_ago=9), line("User said that he likes green tea", days_ago=3)], 1),
        # Not the same.
        ([line("User sits at the window on long flights to Asia", days_ago=9),
          line("User sits at the aisle on long flights to Asia", days_ago=3)], 2),
        ([line("User likes tea", days_ago=9), line("User does not like tea", days_ago=3)], 2),
        ([line("Invoice of 40 € was paid", "event", "low", days_ago=n) for n in (1, 2, 3)], 3),
        ([line("Rent is 940"), line("Rent is 950")], 2),
        ([line("User saw Leo at lunch", "event", days_ago=9), line("User saw Leo at lunch", "event", days_ago=3)], 2),
        ([line("User saw Leo at lunch", "event", days_ago=4), line("User saw Leo at lunch", "event", days_ago=3)], 1),
        ([line("User meets Leo tomorrow", "fact", days_ago=4), line("User meets Leo tomorrow", "fact", days_ago=3)], 2),
        # A routine: the last time stays, if there are three.
        ([line(f"Backup took {40 + n} seconds", "event", "low", days_ago=n) for n in (1, 2, 3)], 1),
        ([line(f"Backup took {40 + n} seconds", "event", "low", days_ago=n) for n in (1, 2)], 2),
        ([line(f"Backup of Heron{n} took 5 seconds", "event", "low", days_ago=n) for n in (1, 2, 3)], 3),
        # Marked when the newer line was written.
        ([line("Leo lives in Ulm", days_ago=9, superseded_by="b2"), line("He is in Graz", days_ago=3, id="b2")], 1),
        ([line("Leo lives in Ulm", days_ago=9, superseded_by="gone")], 1),
    ],
)  # fmt: skip
def test_what_the_offline_rules_leave(lines: list[str], left: int) -> None:
    done = run(lines)
    assert len(done.document.observations) == left, done.removals
    assert len(done.removals) == len(lines) - left
    newest = min(lines, key=lambda one: TODAY - date.fromisoformat(one.partition("dc:date=")[2][:10]))
    assert not left or newest in "".join(done.document.lines)


def test_the_offline_rules_take_linear_time() -> None:
    """10,000 lines, many of them alike in all words but one."""
    lines = [
        line(
            f"User talked with {name} about the {topic} report and its {n} figures",
            kind, "low" if n % 3 else "medium", days_ago=n % 60, id=f"k{n}",
        )
        for n, (name, topic, kind) in enumerate(
            (("Mina", "Leo", "Hana")[n % 3], ("spring", "autumn")[n % 2], get_args(ObservationType)[n % 7])
            for n in range(10_000)
        )
    ]  # fmt: skip
    document = document_of(*lines)
    begun = time.monotonic()
    consolidated(document, (), TODAY)
    assert time.monotonic() - begun < 20


# --- what is not ours

MIXED = """# Observations Log

My own words.

---
Date: 2026-10-01
- 🟢 09:00 The backup ran <!-- dc:id=a1 dc:type=event dc:importance=1.0 dc:date=2026-10-01 -->
  which I saw myself
- 🟢 09:01 The backup ran well <!-- dc:id=a2 dc:type=event dc:importance=1.0 dc:date=2026-10-01 -->
  - 🟡 09:02 It took long <!-- dc:id=a3 dc:type=fact dc:importance=4.0 dc:date=2026-10-01 -->
- 🟢 09:03 The mail was read <!-- dc:id=a4 dc:type=event dc:importance=1.0 dc:date=2026-10-01 -->
- my own bullet
```
- 🟢 09:03 quoted <!-- dc:id=a5 dc:type=event dc:importance=1.0 dc:date=2026-10-01 -->
```
<<<<<<< mine
- 🟢 09:04 The mail was read once <!-- dc:id=a6 dc:type=event dc:importance=1.0 dc:date=2026-10-01 -->
=======
>>>>>>> theirs

## 2026-10-02
- 🟢 09:05 The tea was hot <!-- dc:id=a7 dc:type=event dc:importance=1.0 dc:date=2026-10-02 -->

---
Date: 2026-10-03

---
Date: 2026-10-04
- 🟢 09:06 The soup was hot <!-- dc:id=a8 dc:type=event dc:importance=1.0 dc:date=2026-10-04 -->
"""


def test_hand_written_text_stays_and_so_does_what_it_hangs_on() -> None:
    done = consolidated(parse(MIXED.encode()), (), TODAY)
    gone = {removal.entry.id for removal in done.removals}
    assert gone == {"a4", "a7", "a8"}
    expected = [one for one in MIXED.splitlines(keepends=True) if not any(f"dc:id={id} " in one for id in gone)]
    assert done.document.render().decode() == "".join(expected[:-2])  # the last "---" and "Date:" stood for a8 alone


def test_a_blank_document_and_one_without_observations_stay_as_they_are() -> None:
    for raw in (b"", b"\xff\xfe\x00", b"# notes\r\n\r\ntext", b"---\nDate: 2026-01-01\n"):
        assert consolidated(parse(raw), (), TODAY).document.render() == raw


@pytest.mark.parametrize(
    ("was", "told"),
    [
        ("due 2026-12-04 (in 4 days)", "due 2026-12-04 (in 4 days)"),
        ("due 2026-12-04 (in 9 days)", "due 2026-12-04 (in 4 days)"),
        ("due (2026-11-30) (tomorrow)", "due (2026-11-30) (today)"),
        ("due 2026-12-01 (in 30 days)", "due 2026-12-01 (tomorrow)"),
        ("was 2026-11-29 (today)", "was 2026-11-29 (yesterday)"),
        ("was 2026-11-01 (1 day ago)", "was 2026-11-01 (29 days ago)"),
        ("was 2026-02-30 (today)", "was 2026-02-30 (today)"),
        ("finished (in 4 days)", "finished (in 4 days)"),
    ],
)
def test_relative_days_are_told_from_today(was: str, told: str) -> None:
    assert texts(freshen(document_of(line(was)), TODAY)) == [told]


def test_a_line_of_a_person_is_not_told_anew() -> None:
    document = parse(b"- \xf0\x9f\x94\xb4 due 2026-12-04 (in 9 days)\n")
    assert len(document.observations) == 1
    assert freshen(document, TODAY) is document


# --- what changed while the model thought


def test_operations_find_their_lines_again_and_leave_out_those_that_changed() -> None:
    lines = [
        line(f"Leo saw {n} birds in the {place}", "event", days_ago=5)
        for n, place in enumerate(("park", "zoo", "wood"))
    ]
    then = document_of(*lines)
    now = parse(then.render().replace(b"in the zoo", b"in the old zoo").replace(b"# Obs", b"note\n# Obs"))
    kept, lost = rebased((Drop(1, "a"), Drop(2, "b"), Drop(3, "c"), Merge((1, 2), "x")), then, now)
    assert kept == (Drop(1, "a"), Drop(3, "c"))
    assert [refused.operation for refused in lost] == [Drop(2, "b"), Merge((1, 2), "x")]


# --- nothing is lost, whatever is answered

WORDS = re.split(
    " ",
    "user Leo Mina Hana tea coffee deploy backup rent Friday tomorrow not never always lives likes moved 7 12 940 "
    "49.90 € "
    "2026-11-03 2026-12-24 https://example.org/x 민아 화요일 수영 않 と in the on and , ; . report clinic",
)
SENTENCES = st.lists(st.sampled_from(WORDS), min_size=1, max_size=9).map(" ".join)
LINES = st.builds(
    line,
    SENTENCES,
    st.sampled_from(get_args(ObservationType)),
    st.sampled_from(get_args(Priority)),
    days_ago=st.integers(0, 120),
    refers=st.none() | st.dates(date(2026, 11, 1), date(2026, 12, 31)),
    confidence=st.sampled_from([0.1, 0.5, 0.9]),
    superseded_by=st.none() | st.sampled_from(["k0", "k1", "k2"]),
    id=st.sampled_from([f"k{n}" for n in range(12)]),
)
BY_HAND = st.sampled_from(
    [
        "",
        "  ",
        "my words",
        "- my bullet",
        "  - nested",
        "  continued",
        "```",
        "---",
        "# Mine",
        "## 2026-11-03",
        "Date: 2026-11-02",
        "Date: 2026-11-20",
        "- 🟢 09:00 untagged tea",
        "- 🔴 Leo comes 2026-12-24",
        "<!-- open",
        "<<<<<<< a",
        ">>>>>>> b",
        "  - 🟢 07:00 nested tea <!-- dc:type=event dc:date=2026-09-01 -->",
        "-->",
        "\r",
    ]
)
DOCUMENTS = st.lists(LINES | BY_HAND, max_size=14).map("\n".join)
NUMBERS = st.lists(st.integers(1, 14), min_size=1, max_size=5).map(lambda ns: ", ".join(map(str, ns)))
ANSWERS = st.lists(
    st.builds("merge [{}] into {}".format, NUMBERS, SENTENCES | st.text(max_size=40))
    | st.builds("drop [{}] because {}".format, NUMBERS, SENTENCES)
    | st.builds("supersede {} by {}".format, st.integers(1, 14), st.integers(1, 14))
    | st.text(max_size=60),
    max_size=12,
).map("\n".join)


def helpful(document: Document) -> str:
    """Merges that have a chance: the words of two lines, put together."""
    entries = open_entries(document)
    said = []
    for n, (one, other) in enumerate(pairwise(entries), 1):
        together = dict.fromkeys([*one.text.split(), *other.text.split()])
        said.append(f"merge [{n}, {n + 1}] into {' '.join(together)}")
    return "\n".join(said)


def check_nothing_is_lost(before: Document, done: Consolidated) -> None:
    after = done.document
    lines_after = [one.rstrip("\r\n") for one in freshen(after, TODAY).lines]
    archived = {removal.raw: removal for removal in done.removals}
    by_id = {entry.id: entry for entry in after.observations}
    archived_ids = {removal.entry.id for removal in done.removals}
    told_anew = [one.rstrip("\r\n") for one in freshen(before, TODAY).lines]
    for entry in before.observations:
        raw = before.lines[entry.line - 1].rstrip("\r\n")
        if raw in lines_after or told_anew[entry.line - 1] in lines_after:
            continue
        assert raw in archived, f"lost: {raw}"
        check_removal(entry, archived[raw].fate, archived[raw].replaced_by, by_id, archived_ids)
    assert hand_written(after) == hand_written(before)
    assert words_of(after) <= words_of(freshen(before, TODAY)) + 2 * len(done.removals)
    assert parse(after.render()) == after
    assert 0 <= share_kept(before, after) <= 1


def check_removal(
    entry: Entry, fate: str, by: str | None, by_id: Mapping[str | None, Entry], archived_ids: set[str | None]
) -> None:
    if fate == "merged":
        assert by is not None
        assert by in by_id or by in archived_ids
        merged = by_id.get(by)
        if merged is not None:
            assert facts_of(entry.text).numbers <= facts_of(merged.text).numbers
            assert all(name in merged.text.casefold() for name in facts_of(entry.text).names)
            assert is_high(merged) or not is_high(entry)
    elif fate in ("superseded", "repeated"):
        assert by in by_id or by in archived_ids or by is None
    else:
        assert not is_high(entry)
        assert not is_protected(entry, TODAY)


def hand_written(document: Document) -> list[str]:
    """All but observations, blank lines and what frames a section."""
    ours = {entry.line for entry in document.observations}
    return [
        one
        for number, one in enumerate(document.lines, 1)
        if number not in ours
        and one.strip() not in ("", "---")
        and not is_date_heading(one)
        and not looks_like_one(one)
    ]


def looks_like_one(one: str) -> bool:
    return match_observation(one.rstrip("\r\n")) is not None


@settings(max_examples=400, deadline=None)
@given(DOCUMENTS, ANSWERS, st.booleans())
@example("- 🟢 09:00 a\n- 🟢 09:00 a", "drop [1, 2] because x", False)
def test_whatever_a_model_answers_nothing_is_lost(text: str, answer: str, is_helpful: bool) -> None:
    document = parse(text.encode())
    said = answer + "\n" + helpful(document) if is_helpful else answer
    operations, _ = read_operations(said, len(open_entries(document)))
    check_nothing_is_lost(document, consolidated(document, operations, TODAY))
