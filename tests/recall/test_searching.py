from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from total_recall.recall import candidates, scoring
from total_recall.recall.candidates import Wanted
from total_recall.recall.index import RecallIndex, in_memory
from total_recall.recall.memories import Memory, Origin
from total_recall.recall.querying import Query, parse_query
from total_recall.recall.scoring import DEFAULT, Parameters, Used
from total_recall.recall.searching import Hit, Meaning, Uses, no_use, search
from total_recall.records import ObservationType

NOW = datetime(2026, 11, 30, 21, 0, tzinfo=timezone.utc)
FILLER = (
    "The build of the website was slow", "User watched a film about whales", "The bicycle has a flat tyre",
    "User ordered new curtains", "Rain is expected all week", "The printer is out of ink",
    "User read about volcanoes", "The neighbours are away", "User cleaned the windows", "The lamp flickers",
)  # fmt: skip


def told(
    key: str, text: str, days_ago: float = 1, *, group: str = "", kind: ObservationType = "fact",
    by: str | None = None, speaker: str | None = None, refers: date | None = None,
) -> Memory:  # fmt: skip
    return Memory(key, text, NOW - timedelta(days=days_ago), group, kind, 5.0, refers, by, speaker)


def filed(*memories: Memory, archived: Sequence[Memory] = ()) -> RecallIndex:
    """An index of these, among others that have nothing to do with them."""
    index = in_memory()
    others = [told(f"filler{n}", text, 3 + n, group=f"filler{n}") for n, text in enumerate(FILLER)]
    index.sync("observations.md", "live", (1,), [*memories, *others])
    index.sync("archive", "archived", (1,), archived)
    return index


def ask(
    index: RecallIndex, question: str, *, uses: Uses = no_use, meaning: Meaning | None = None, p: Parameters = DEFAULT,
    count: int = 10, origins: tuple[Origin, ...] = ("live", "archived"), kind: ObservationType | None = None,
    since: date | None = None, until: date | None = None,
) -> list[Hit]:  # fmt: skip
    wanted = Wanted(count, origins, kind, since, until)
    return search(index, parse_query(question, NOW.date()), wanted, now=NOW, uses=uses, meaning=meaning, p=p)


def keys(hits: Sequence[Hit]) -> list[str]:
    return [hit.filed.memory.key for hit in hits]


def test_the_score_is_the_product_of_its_factors() -> None:
    index = filed(told("a", "User drinks green tea", 40), told("b", "Tea from Uji", 3))
    for hit in ask(index, "which tea?"):
        assert hit.score == pytest.approx(hit.similarity * hit.decay * hit.boost)
        assert 0 < hit.similarity < 1 and DEFAULT.decay_floor <= hit.decay <= 1
        assert hit.decay == scoring.decay("fact", 5.0, hit.age_days)


def test_an_old_exact_answer_beats_a_new_vague_one() -> None:
    index = filed(
        told("old", "The locker code of the gym is 4711", 900), told("new", "User was at the gym", 0, kind="event")
    )
    assert keys(ask(index, "what is the locker code of the gym?"))[0] == "old"


def test_of_two_that_fit_alike_the_newer_is_first() -> None:
    index = filed(told("old", "User ate noodles", 60), told("new", "User ate noodles", 1))
    assert keys(ask(index, "noodles")) == ["new", "old"]


@pytest.mark.parametrize("question", ["", "the of and", "xylophone", "?", '""'])
def test_nothing_is_better_than_anything(question: str) -> None:
    assert ask(filed(told("a", "User drinks tea")), question) == []


def test_an_empty_index_answers_nothing() -> None:
    assert ask(in_memory(), "tea") == []


# --- words


def test_a_misspelt_word_finds_what_is_meant_when_nobody_used_it() -> None:
    index = filed(told("a", "Dinner at the restaurant by the lake"), told("b", "User prefers chamomile"))
    assert keys(ask(index, "restuarant"))[0] == "a"
    assert keys(ask(index, "chamomille tea"))[0] == "b"


def test_a_word_that_somebody_used_is_not_corrected() -> None:
    index = filed(told("a", "A form of clay"), told("b", "A farm with goats"))
    assert keys(ask(index, "farm")) == ["b"]


def test_a_longer_form_is_found_behind_the_word_itself() -> None:
    index = filed(told("a", "User took up photography on Sunday"), told("b", "User took a photograph on Sunday"))
    assert keys(ask(index, "photograph")) == ["b", "a"]


def test_a_quoted_phrase_is_meant_word_for_word() -> None:
    index = filed(
        told("a", "The Blue Bicycle is a café"), told("b", "A bicycle, blue, was stolen"), told("c", "Blue sky")
    )
    assert keys(ask(index, '"blue bicycle"')) == ["a"]
    assert keys(ask(index, '"to be or not"')) == []
    assert set(keys(ask(index, "blue bicycle"))) >= {"a", "b", "c"}


def test_a_phrase_of_common_words_only() -> None:
    index = filed(told("a", "The band is called The Who, not the others"), told("b", "Somebody is here"))
    assert keys(ask(index, '"the who"')) == ["a"]


def test_korean_by_syllables() -> None:
    index = filed(told("a", "충주에서 사과가 익는다"), told("b", "청주에 산다"), told("c", "밥이 없다"))
    assert keys(ask(index, "충주")) == ["a"]
    assert keys(ask(index, "밥을 먹자")) == ["c"]


def test_chinese_and_japanese() -> None:
    index = filed(told("a", "我住在北京"), told("b", "猫が好きです"))
    assert keys(ask(index, "北京")) == ["a"]
    assert keys(ask(index, "猫は?")) == ["b"]


def test_whoever_is_named_said_it() -> None:
    index = filed(
        told("a", "I painted a lake", 2, speaker="Melanie", group="s"),
        told("b", "I painted a sunrise", 2, speaker="Caroline", group="t"),
    )
    assert keys(ask(index, "What did Caroline paint?"))[0] == "b"
    assert keys(ask(index, "What did Melanie paint?"))[0] == "a"


def test_when_asked_when_what_tells_a_time_is_first() -> None:
    index = filed(told("a", "User visited the museum gladly"), told("b", "User visited the museum yesterday"))
    assert keys(ask(index, "When did I visit the museum?"))[0] == "b"


# --- time


def test_a_time_that_is_named_raises_what_is_of_it() -> None:
    index = filed(told("march", "User planned a trip to Rome", 255), told("now", "User planned a trip to Rome", 2))
    assert keys(ask(index, "which trip in March?"))[0] == "march"
    assert keys(ask(index, "which trip?"))[0] == "now"


def test_a_time_alone_brings_what_is_of_it() -> None:
    index = filed(told("a", "User baked bread", 385, kind="event"), told("b", "User sold the car", 380))
    found = ask(index, "무슨 일이 있었지 2025년 11월?")
    assert {"a", "b"} == set(keys(found))


def test_the_day_that_it_is_about_counts_too() -> None:
    index = filed(told("a", "Tax return has to be in", 20, kind="goal", refers=date(2026, 12, 4)), told("b", "Tax", 5))
    found = ask(index, "what has to be in on Friday?")
    assert keys(found)[0] == "a" and found[0].age_days == 0 and found[0].decay == 1


@pytest.mark.parametrize(
    ("since", "until", "found"),
    [
        (date(2026, 11, 20), None, {"new"}),
        (None, date(2026, 11, 20), {"old"}),
        (date(2026, 11, 28), date(2026, 11, 28), {"new"}),
        (date(2027, 1, 1), None, set()),
        (None, None, {"new", "old"}),
    ],
)
def test_since_and_until(since: date | None, until: date | None, found: set[str]) -> None:
    index = filed(told("new", "tea", 2), told("old", "tea", 40))
    assert set(keys(ask(index, "tea", since=since, until=until))) == found


def test_a_type_and_a_place_can_be_asked_for() -> None:
    index = filed(told("a", "tea", kind="rule"), told("b", "tea"), archived=[told("c", "tea")])
    assert keys(ask(index, "tea", kind="rule")) == ["a"]
    assert set(keys(ask(index, "tea", origins=("live",)))) == {"a", "b"}
    assert keys(ask(index, "tea", origins=("archived",))) == ["c"]


def test_what_stands_in_the_memory_again_is_live() -> None:
    index = filed(told("a", "User drinks tea"), archived=[told("a", "User drinks tea")])
    (hit,) = ask(index, "tea")
    assert hit.filed.origin == "live"


def test_a_filter_looks_further_than_the_best() -> None:
    many = [told(f"m{n}", "tea tea", 1) for n in range(400)]
    index = filed(*many, told("rule", "tea, after a long sentence about a kettle and a cup", kind="rule"))
    assert keys(ask(index, "tea", kind="rule")) == ["rule"]


# --- association


def test_neighbours_of_one_conversation_are_brought_to_mind() -> None:
    index = filed(
        told("asked", "Where does your sister work?", 5, group="s"),
        told("answer", "At a bakery", 4.99, group="s"),
        told("elsewhere", "In a foundry", 4.98, group="t"),
    )
    found = ask(index, "where does the sister work")
    assert "elsewhere" not in keys(found)
    answer = next(hit for hit in found if hit.filed.memory.key == "answer")
    assert answer.links == 1.0 and answer.score > 0
    without = ask(index, "where does the sister work", p=replace(DEFAULT, shares=(), share_by_rare_words=0.0))
    assert "answer" not in keys(without)


def test_a_shared_rare_name_brings_to_mind() -> None:
    index = filed(told("a", "Mirko repairs the boiler"), told("b", "Dinner with Mirko"), told("c", "Dinner with Eva"))
    found = ask(index, "boiler")
    assert keys(found) == ["a", "b"] and found[1].links == 1.0


def test_the_seed_example() -> None:
    """The memory is found; asking again, it is stronger by the formula, and so is what it brings to mind."""
    index = filed(
        told("사과", "충주 사과가 맛있네", 3, group="s", kind="event"),
        told("시장", "장날에 시장에 갔다", 2.99, group="s", kind="event"),
    )
    question = "충주 시에 충주 사과가 맛있었지?"
    before = {hit.filed.memory.key: hit for hit in ask(index, question)}
    assert list(before) == ["사과", "시장"]

    def used(asked: Sequence[str]) -> Mapping[str, Used]:
        return {"사과": Used(times=1, days_ago=0.0)} if "사과" in asked else {}

    after = {hit.filed.memory.key: hit for hit in ask(index, question, uses=used)}
    stronger = 1 + DEFAULT.use_gain * 1  # log2(1 + 1) = 1, and nothing has faded yet
    assert after["사과"].boost == pytest.approx(stronger)
    assert after["사과"].score == pytest.approx(before["사과"].score * stronger)
    lent = -math.log(1 - before["시장"].similarity)
    assert after["시장"].similarity == pytest.approx(scoring.similarity(lent * stronger))
    assert after["시장"].score > before["시장"].score
    assert after["시장"].boost == 1.0


def test_likeness_of_meaning_can_be_given() -> None:
    index = filed(told("a", "User adores felines"), told("b", "User has a car"))
    number = next(f.number for f in index.all("live") if f.memory.key == "a")
    asked: list[Query] = []

    def meaning(query: Query) -> Mapping[int, float]:
        asked.append(query)
        return {number: 0.8}

    assert keys(ask(index, "cats", meaning=meaning))[0] == "a"
    assert keys(ask(index, "cats")) == []
    assert [query.text for query in asked] == ["cats"]


# --- what holds no more

SUPERSEDED = (
    ("User lives in Busan", "User moved to Seoul", "where does the user live?", "Busan"),
    ("User works at a bakery", "User was hired by the railway", "where does the user work?", "bakery"),
    ("The standup is at 9:30", "The standup was moved to 10:00", "when is the standup?", "9:30"),
    ("Rent is 900 euros a month", "Rent rises to 980 euros a month", "how much is the rent?", "900"),
    ("User takes the bus to the office", "User cycles to the office now", "how does the user go to the office?", "bus"),
    ("The dentist is Dr. Weber", "User goes to Dr. Klein's practice from now on", "who is the dentist?", "Weber"),
    ("User drinks coffee with milk", "Coffee is black from now on", "how does the user drink coffee?", "milk"),
    ("The server runs Ubuntu 22.04", "The server was upgraded to 24.04", "which Ubuntu does the server run?", "22.04"),
    ("User is dating Tom", "User and Tom broke up, single again", "is the user dating?", "dating Tom"),
    ("The flight leaves on 3 December", "Departure is postponed to 5 December", "when is the flight?", "flight"),
    ("사용자는 부산에 산다", "사용자는 서울로 이사했다", "사용자는 어디에 살아?", "부산"),
    ("회의는 3시이다", "회의가 5시로 바뀌었다", "회의가 몇 시야?", "3시"),
    ("私は大阪に住んでいる", "東京に引っ越した", "どこに住んでいる?", "大阪"),
    ("我住在上海", "已经搬到北京", "我住在哪里?", "上海"),
    ("El código es 1234", "Ahora es 9876", "¿cuál es el código?", "1234"),
    ("User wohnt in Hamburg", "Umzug nach Köln", "wo wohnt der User?", "Hamburg"),
)  # fmt: skip


@pytest.mark.parametrize(("old", "new", "question", "exact"), SUPERSEDED)
@pytest.mark.parametrize("old_days", [2, 30, 400])
def test_what_took_its_place_comes_first(old: str, new: str, question: str, exact: str, old_days: int) -> None:
    index = filed(told("old", old, old_days, by="new"), told("new", new, 1))
    found = ask(index, question)
    assert keys(found)[:2] == ["new", "old"]
    assert found[1].filed.memory.superseded_by == "new"
    assert "old" in keys(ask(index, exact))


def test_the_newest_of_a_chain_comes_first() -> None:
    index = filed(
        told("c", "User went over to Incheon", 1),
        told("a", "User lives in Busan", 90, by="b"),
        told("b", "User lives in Seoul", 50, by="c"),
    )
    assert keys(ask(index, "where does the user live?"))[:3] == ["c", "b", "a"]


def test_a_circle_of_successors_is_survived() -> None:
    index = filed(told("a", "User lives in Busan", 2, by="b"), told("b", "User lives in Seoul", 1, by="a"))
    assert set(keys(ask(index, "where does the user live?"))[:2]) == {"a", "b"}


def test_one_whose_successor_is_gone_sinks_and_is_found() -> None:
    index = filed(told("a", "User lives in Busan", 2, by="nobody"), told("b", "User lives well", 400))
    found = ask(index, "lives in Busan")
    assert {"a", "b"} == set(keys(found))
    assert next(hit for hit in found if hit.filed.memory.key == "a").boost == DEFAULT.superseded_factor


def test_an_archived_old_fact_leads_to_the_live_new_one() -> None:
    index = filed(told("new", "User moved to Seoul"), archived=[told("old", "User lives in Busan", 90, by="new")])
    found = ask(index, "where does the user live?")
    assert [(hit.filed.memory.key, hit.filed.origin) for hit in found[:2]] == [("new", "live"), ("old", "archived")]


# --- much of it


def test_where_words_are_everywhere_the_rare_one_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "READ_AT_MOST", 50)
    dice = random.Random(1)
    many = [told(f"m{n}", f"project update {dice.random()}", n / 10) for n in range(300)]
    index = filed(*many, told("a", "project update about the zeppelin", 100))
    assert keys(ask(index, "project update zeppelin"))[0] == "a"
    assert len(ask(index, "project update")) == 10


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.text(max_size=40) | st.sampled_from(["green tea", "충주 사과", "tea?", '"', "in May"]), max_size=6),
    st.text(max_size=30) | st.sampled_from(['"green tea"', "충주", "tea last week", "when?", "' OR 1=1 --", '"%_"']),
)
def test_whatever_is_asked_the_factors_keep_their_ranges(texts: list[str], question: str) -> None:
    index = in_memory()
    index.sync("file", "live", (1,), [told(str(n), text, n, group="s") for n, text in enumerate(texts)])
    hits = ask(index, question)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    for hit in hits:
        assert 0 < hit.similarity <= 1 and DEFAULT.decay_floor <= hit.decay <= 1 and 0 <= hit.links <= 1
        assert DEFAULT.superseded_factor <= hit.boost <= (1 + DEFAULT.use_limit) * DEFAULT.time_factor
        assert hit.score == pytest.approx(hit.similarity * hit.decay * hit.boost)


@pytest.mark.parametrize(
    ("question", "found"),
    [("what did we do last March?", {"march"}), ("지난 3월에 뭐 했어?", {"march"}), ("last week?", {"week"})],
)
def test_a_question_about_a_time_alone_gives_what_was_then(question: str, found: set[str]) -> None:
    index = in_memory()
    memories = [
        Memory("march", "The kitchen was painted", datetime(2026, 3, 14, 9, tzinfo=timezone.utc)),
        Memory("week", "Nora came by", datetime(2026, 11, 25, 9, tzinfo=timezone.utc)),
        Memory("words", "User saw the last march of the penguins", datetime(2026, 7, 1, tzinfo=timezone.utc)),
    ]
    index.sync("file", "live", (1,), memories)
    now = datetime(2026, 11, 30, 12, tzinfo=timezone.utc)
    hits = search(index, parse_query(question, now.date()), Wanted(), now=now)
    assert {hit.filed.memory.key for hit in hits} == found


def test_where_nothing_was_said_then_the_words_count() -> None:
    index = in_memory()
    index.sync(
        "file",
        "live",
        (1,),
        [Memory("song", "User likes the song March 2019", datetime(2026, 7, 1, tzinfo=timezone.utc))],
    )
    now = datetime(2026, 11, 30, 12, tzinfo=timezone.utc)
    hits = search(index, parse_query("in March 2019", now.date()), Wanted(), now=now)
    assert [hit.filed.memory.key for hit in hits] == ["song"]
