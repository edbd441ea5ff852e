from __future__ import annotations

import pytest

from total_recall.recall.terms import fold, index_terms, is_piece, phrase_terms, query_terms


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("충주", "충주에서 만났다"),
        ("사과", "사과가 맛있네"),
        ("밥을 먹었어?", "밥이 없다"),
        ("밥", "밥이 없다"),
        ("猫", "猫が好きです"),
        ("猫は？", "猫が好きです"),
        ("北京", "我住在北京"),
        ("東京タワー", "東京タワーに行った"),
        ("what did I buy?", "Bought a kettle"),
        ("cafe", "the Café on the corner"),
        ("ＡＢＣ", "abc is on"),
        ("1200", "it cost 1,200 euros"),
        ("O'Brien", "met OBrien and O’Brien"),
        ("children's books", "a book for a child"),
        ("Straße", "in der STRASSE"),
        ("été", "pendant l’été"),
        ("naïve", "the naïve one's idea"),
    ],
)
def test_a_question_finds_what_was_told(asked: str, told: str) -> None:
    assert set(query_terms(asked)) & set(index_terms(told))


@pytest.mark.parametrize(
    ("asked", "told"),
    [("충주", "청주에서 만났다"), ("What is the when of it?", "the what is it"), ("cat", "category"), ("12", "120")],
)
def test_a_question_does_not_find_what_only_looks_alike(asked: str, told: str) -> None:
    assert not set(query_terms(asked)) & set(index_terms(told))


def test_terms_are_counted_when_filed_and_asked_once() -> None:
    assert index_terms("tea and tea") == ["tea", "tea"]
    assert query_terms("tea or tea?") == ["tea"]


def test_a_phrase_is_made_of_terms_that_follow_one_another() -> None:
    assert phrase_terms("The blue bicycles") == ["blue", "bicycl"]
    filed = index_terms("충주 사과가 맛있네")
    phrase = phrase_terms("충주 사과")
    assert filed[: len(phrase)] == phrase


@pytest.mark.parametrize("text", ["", "the of and", "?!…", "🙂", "\ud800", "\x00", "\u0301"])
def test_nothing_to_find(text: str) -> None:
    assert index_terms(text) == []
    assert query_terms(text) == []


def test_common_words_of_one_language_that_say_something_in_another_are_kept() -> None:
    assert "son" in index_terms("my son is ill")


def test_pieces_are_told_from_words() -> None:
    assert is_piece("충주") and not is_piece("chungju")


def test_folding() -> None:
    assert fold("Crème BRÛLÉE ﬁn") == "creme brulee fin"
    assert fold("사과") == "사과"
