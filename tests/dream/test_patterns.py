"""What recurs on three separate days is proposed once, in any script, and never what a person has answered."""

from __future__ import annotations

import random
import time
from dataclasses import replace
from datetime import date, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from total_recall.dream import patterns
from total_recall.dream.patterns import Earlier, Noted, Proposal, Status, propose
from total_recall.records import ObservationType

TODAY = date(2026, 12, 1)
FIRST = date(2026, 11, 3)


def noted(day: int, text: str, kind: ObservationType = "preference", importance: float = 6.0) -> Noted:
    return Noted(f"n{day}", FIRST + timedelta(days=day), text, kind, importance, 0.8)


MILK = (
    noted(0, "User prefers oat milk in coffee"),
    noted(6, "Ordered coffee with oat milk at Blue Bottle", "event"),
    noted(12, "Asked for an oat milk latte again", "event"),
)
MILK_KO = (
    noted(0, "커피에 오트밀크를 넣는 것을 선호함"),
    noted(6, "오트밀크 커피를 또 주문했다", "event"),
    noted(12, "라떼에 오트밀크를 부탁함, 커피처럼", "event"),
)
MILK_JA = (
    noted(0, "コーヒーにはオーツミルクを入れるのが好み"),
    noted(6, "オーツミルクのコーヒーを注文した", "event"),
    noted(12, "オーツミルク入りのコーヒーを頼んだ", "event"),
)
FRIDAY = (
    noted(1, "Never deploy on Friday afternoons", "rule", 8),
    noted(7, "No deploys on Friday after lunch", "rule", 8),
    noted(14, "Nobody deploys on a Friday", "rule", 8),
)
FRIDAY_KO = (
    noted(1, "금요일 오후에는 배포하지 않는다", "rule", 8),
    noted(7, "금요일 오후 배포는 하지 않기로 함", "rule", 8),
    noted(14, "금요일에 배포하지 않도록", "rule", 8),
)
RUNS = (
    noted(0, "Ran along the Han river, 5 km", "event"),
    noted(4, "Ran along the Han river, 7 km", "event"),
    noted(9, "Ran 6 km along the Han river", "event"),
)


def proposed(*observations: Noted, targets: dict[str, str] | None = None) -> list[Proposal]:
    return list(propose(observations, targets or {}, (), TODAY))


@pytest.mark.parametrize(
    ("observations", "kind", "target", "text"),
    [
        (MILK, "preference", "USER.md", "- User prefers oat milk in coffee"),
        (MILK_KO, "preference", "USER.md", "- 커피에 오트밀크를 넣는 것을 선호함"),
        (MILK_JA, "preference", "USER.md", "- コーヒーにはオーツミルクを入れるのが好み"),
        (FRIDAY, "rule", "AGENTS.md", "- Nobody deploys on a Friday"),
        (FRIDAY_KO, "rule", "AGENTS.md", "- 금요일 오후 배포는 하지 않기로 함"),
        (RUNS, "event", "MEMORY.md", "- Ran 6 km along the Han river (recurring, 3 days, 2026-11-03 … 2026-11-12)"),
    ],
)
def test_a_theme_on_three_days_is_proposed_with_its_evidence(
    observations: tuple[Noted, ...], kind: str, target: str, text: str
) -> None:
    (found,) = proposed(*observations)
    assert (found.type, found.target, found.text) == (kind, target, text)
    assert found.evidence == observations
    assert found.summary.startswith(f"On 3 separate days from {observations[0].day} to {observations[2].day}: ")


@pytest.mark.parametrize("observations", [MILK, MILK_KO, MILK_JA, FRIDAY, FRIDAY_KO, RUNS])
def test_two_days_are_no_theme_however_often_it_was_said(observations: tuple[Noted, ...]) -> None:
    first, second, third = observations
    assert proposed(first, second, replace(third, day=second.day), replace(third, day=first.day, id="again")) == []


def test_repeats_of_one_day_count_once_and_the_best_one_stands_for_it() -> None:
    again = replace(MILK[1], id="later", text="Ordered coffee with oat milk, oat milk", confidence=0.95)
    (found,) = proposed(*MILK, again)
    assert [one.id for one in found.evidence] == ["n0", "later", "n12"] and found.confidence == "low"


@pytest.mark.parametrize(
    "change",
    [
        {"importance": 4.9},
        {"type": "context"},
        {"confidence": 0.29},
        {"is_current": False},
        {"day": TODAY + timedelta(days=1)},
    ],
)
@pytest.mark.parametrize("observations", [MILK, MILK_KO])
def test_what_is_no_evidence(observations: tuple[Noted, ...], change: dict[str, object]) -> None:
    assert proposed(*observations[:2], replace(observations[2], **change)) == []  # type: ignore[arg-type]


def test_importance_5_and_a_missing_confidence_are_enough() -> None:
    assert len(proposed(*(replace(one, importance=5.0, confidence=None) for one in MILK))) == 1


def test_lines_that_deny_each_other_are_no_theme() -> None:
    assert proposed(FRIDAY[0], FRIDAY[1], noted(14, "Deploys on Friday after lunch", "rule")) == []
    assert proposed(FRIDAY_KO[0], FRIDAY_KO[1], noted(14, "금요일 오후에 배포한다", "rule")) == []


def test_words_in_common_are_no_theme_yet() -> None:
    observations = (
        noted(0, "Backup of the server failed", "event"),
        noted(6, "New server for the backup bought in Seoul", "event"),
        noted(12, "Server room flooded, the backup survived it", "event"),
    )
    assert proposed(*observations) == []
    assert proposed(*(noted(n, f"Minji {what}") for n, what in enumerate(("likes jazz", "lives here", "called")))) == []


@pytest.mark.parametrize("kind", ["fact", "preference", "rule", "goal", "habit"])
def test_a_number_that_changes_does_not_hold(kind: ObservationType) -> None:
    weights = [noted(n, f"Weight of the dog is {n + 20} kg", kind) for n in range(4)]
    assert proposed(*weights) == []
    assert len(proposed(*(replace(one, text="Weight of the dog is 20 kg") for one in weights))) == 1
    assert len(proposed(*(replace(one, type="event") for one in weights))) == 1


@pytest.mark.parametrize(
    ("kind", "text", "target"),
    [
        ("rule", "Always answers mails within two days", "AGENTS.md"),
        ("preference", "Favourite tea is Darjeeling first flush", "favorites.md"),
        ("preference", "제주 귤을 제일 좋아함", "favorites.md"),
        ("preference", "Wants the dark theme in Zed", "USER.md"),
        ("preference", "Deploys with docker compose", "TOOLS.md"),
        ("habit", "Runs along the Han river before work", "USER.md"),
        ("goal", "Wants to finish the marathon in Chuncheon", "MEMORY.md"),
        ("fact", "Daughter Mina goes to the Hannam school", "USER.md"),
        ("fact", "딸 미나는 한남 학교에 다닌다", "USER.md"),
        ("fact", "The staging server listens on port 8443", "TOOLS.md"),
        ("fact", "Notes of the project live in ~/notes/plan.md", "TOOLS.md"),
        ("fact", "The Jeju house has two gardens", "MEMORY.md"),
        ("event", "Standup with the Busan team cancelled", "MEMORY.md"),
    ],
)
def test_where_it_belongs(kind: ObservationType, text: str, target: str) -> None:
    (found,) = proposed(*(replace(noted(n, text, kind), id=f"i{n}") for n in range(3)))
    assert (found.target, found.type) == (target, kind)


@pytest.mark.parametrize(
    ("days", "confidence", "level"),
    [
        (3, 0.5, "low"), (3, 0.89, "low"), (3, 0.95, "medium"), (4, 0.4, "low"), (4, None, "medium"),
        (5, 0.99, "medium"), (6, 0.69, "medium"), (6, 0.7, "high"), (9, 0.4, "low"),
    ],
)  # fmt: skip
def test_confidence_by_evidence(days: int, confidence: float | None, level: str) -> None:
    (found,) = proposed(*(replace(noted(n, MILK[0].text), confidence=confidence) for n in range(days)))
    assert found.confidence == level


@pytest.mark.parametrize(
    "text",
    [
        "# About me\n\n- I prefer oat milk in my coffee.\n",
        "Some words first. User prefers oat milk in coffee! More words.",
        "- prefers oat milk in coffee <!-- added by hand -->\r\n",
    ],
)
def test_what_a_file_says_already_is_not_proposed(text: str) -> None:
    assert proposed(*MILK, targets={"MEMORY.md": "", "USER.md": text}) == []


@pytest.mark.parametrize("text", ["", "Oat milk.", "Drinks coffee. Buys milk.", "Does not like oat milk in coffee."])
def test_what_a_file_says_otherwise_or_in_pieces_is_proposed(text: str) -> None:
    assert len(proposed(*MILK, targets={"USER.md": text})) == 1


def test_what_a_file_says_already_in_korean() -> None:
    assert proposed(*MILK_KO, targets={"USER.md": "커피에는 오트밀크를 넣는 걸 선호한다."}) == []


def earlier(status: Status, days: int = 3, text: str = MILK[0].text, ids: tuple[str, ...] = ()) -> Earlier:
    return Earlier(text, frozenset(ids), days, status)


def many(days: int) -> list[Noted]:
    return [replace(noted(n, MILK[0].text), id=f"m{n}") for n in range(days)]


@pytest.mark.parametrize(
    ("before", "days", "again"),
    [
        (earlier("pending"), 20, False),
        (earlier("approved"), 20, False),
        (earlier("rejected"), 5, False),
        (earlier("rejected"), 6, True),
        (earlier("rejected", days=5), 9, False),
        (earlier("rejected", days=5), 10, True),
        (earlier("rejected", days=0), 5, False),  # a file without readable evidence counts as three days
        (earlier("applied"), 5, False),
        (earlier("applied"), 6, True),
        (earlier("rejected", text="다른 말로 쓴 것", ids=("m0", "m1", "m2")), 5, False),
        (earlier("rejected", text="커피에 오트밀크를 넣는 것을 선호함"), 5, True),  # the same in another language
        (earlier("rejected", text="Does not want oat milk in coffee"), 3, True),
    ],
)
def test_what_a_person_has_answered_comes_back_when_the_evidence_has_doubled(
    before: Earlier, days: int, again: bool
) -> None:
    assert bool(propose(many(days), {}, (before,), TODAY)) is again


def test_the_best_founded_ones_come_first_and_only_so_many_in_a_night() -> None:
    things = "anchor basket candle dagger engine feather guitar hammer island jacket kettle ladder".split()
    lines = [
        replace(noted(day, f"Likes the {thing} beside the {thing}stand"), id=f"{thing}{day}")
        for number, thing in enumerate(things)
        for day in range(3 + number % 4)
    ]
    found = proposed(*lines)
    assert len(found) == patterns.MOST_PROPOSALS
    order = [["high", "medium", "low"].index(one.confidence) for one in found]
    assert order == sorted(order) and order[0] == 0


def test_what_holds_comes_before_what_happened_of_which_there_are_few() -> None:
    often = [
        replace(noted(day, f"Visited the {place} with the {place}band", "event"), id=f"{place}{day}")
        for place in "museum library bakery temple".split()
        for day in range(9)
    ]
    rare = [replace(noted(day, "Wants the dark theme in Zed"), id=f"z{day}") for day in range(3)]
    assert [one.type for one in proposed(*often, *rare)] == ["preference", "event", "event", "event"]


def test_an_observation_in_the_document_and_in_the_archive_counts_once() -> None:
    copies = [replace(one, id=f"OBS-{n}") for n, one in enumerate(MILK)]
    (found,) = proposed(*MILK, *copies)
    assert len(found.evidence) == 3


def test_relative_days_do_not_get_into_a_file() -> None:
    texts = [replace(one, text=f"{one.text} 2026-12-04 (in 4 days)") for one in MILK]
    assert "in 4 days" not in proposed(*texts)[0].text


VOCABULARY = "oat milk coffee 커피 오트밀크 배포 금요일 never not river 7 コーヒー \udcff # `".split()
LINES = st.builds(
    lambda day, words, kind, importance, confidence, current: Noted(
        f"h{day}", FIRST + timedelta(days=day), " ".join(words), kind, importance, confidence, current
    ),
    st.integers(0, 40),
    st.lists(st.sampled_from(VOCABULARY), max_size=6),
    st.sampled_from(["event", "context", "fact", "preference", "goal", "habit", "rule"]),
    st.floats(0, 10),
    st.none() | st.floats(0, 1),
    st.booleans(),
)


@settings(max_examples=200, deadline=None)
@given(st.lists(LINES, max_size=25), st.randoms(use_true_random=False))
def test_a_proposal_always_has_three_days_of_evidence_whatever_the_order(
    lines: list[Noted], order: random.Random
) -> None:
    found = propose(lines, {}, (), TODAY)
    for one in found:
        days = [evidence.day for evidence in one.evidence]
        assert len(days) >= 3 and days == sorted(set(days)) and one.type != "context"
        assert all(e.is_current and e.importance >= 5 and e.type != "context" for e in one.evidence)
        assert "\n" not in one.text
    shuffled = list(lines)
    order.shuffle(shuffled)
    assert propose(shuffled, {}, (), TODAY) == found
    pending = [Earlier(one.text, frozenset(e.id for e in one.evidence), len(one.evidence), "pending") for one in found]
    texts = {one.text for one in found}
    assert not texts & {one.text for one in propose(lines, {}, pending, TODAY)}


def test_ten_thousand_observations_take_a_bounded_time() -> None:
    """Measured 0.5 s; the bound leaves room for a busy machine."""
    letters = random.Random(7)
    words = ["".join(letters.choices("abcdefghijklmnopqrstuvwxyz", k=6)) for _ in range(2_500)]
    lines = [
        Noted(f"b{n}", FIRST + timedelta(days=n % 28), " ".join(letters.choices(words, k=10)), "event", 6.0, 0.8)
        for n in range(10_000)
    ]
    start = time.process_time()
    propose(lines, {}, (), TODAY)
    assert time.process_time() - start < 4
