from __future__ import annotations

import pytest

from total_recall.recall.spelling import distance, nearest


@pytest.mark.parametrize(
    ("one", "other", "mistakes"),
    [
        ("kettle", "kettle", 0),
        ("kettle", "ketle", 1),
        ("kettle", "kettel", 1),
        ("kettle", "kettlle", 1),
        ("kettle", "kottle", 1),
        ("kettle", "kotlle", 2),
        ("kettle", "teapot", 3),
        ("", "ab", 2),
    ],
)
def test_distance(one: str, other: str, mistakes: int) -> None:
    assert distance(one, other, 2) == distance(other, one, 2) == mistakes


def test_the_nearest_words_win() -> None:
    assert nearest("restarant", ["restaurant", "restart", "instant"]) == ("restaurant",)
    assert nearest("kottle", ["kettle", "bottle"]) == ("bottle", "kettle")


@pytest.mark.parametrize("word", ["cat", "on", ""])
def test_of_a_short_word_every_letter_counts(word: str) -> None:
    assert nearest(word, ["car", "in", "a"]) == ()


def test_the_word_itself_is_no_near_one() -> None:
    assert nearest("kettle", ["kettle"]) == ()
