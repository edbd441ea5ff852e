from __future__ import annotations

import pytest

from total_recall.recall.links import Lender, inherited, lent_by_rare_words, lent_to_neighbours
from total_recall.recall.scoring import DEFAULT

ROW = list(range(1, 10))


def beside(number: int) -> tuple[list[int], list[int]]:
    at = ROW.index(number)
    return ROW[max(0, at - 3) : at][::-1], ROW[at + 1 : at + 4]


def test_neighbours_get_a_share_by_distance() -> None:
    one, two, three = DEFAULT.shares
    lent = lent_to_neighbours([Lender(5, 0.5)], beside)
    by_place = {4: one, 6: one, 3: two, 7: two, 2: three, 8: three}
    assert lent == pytest.approx({number: 0.5 * share for number, share in by_place.items()})


def test_what_was_said_right_after_a_question_gets_more() -> None:
    lent = lent_to_neighbours([Lender(5, 1.0, is_question=True)], beside)
    assert lent[6] == DEFAULT.share_of_question > lent[4] == DEFAULT.shares[0]


def test_shares_add_up() -> None:
    lent = lent_to_neighbours([Lender(4, 1.0), Lender(6, 1.0)], beside)
    assert lent[5] == pytest.approx(2 * DEFAULT.shares[0])


def test_at_the_end_of_a_group_nothing_goes_further() -> None:
    assert set(lent_to_neighbours([Lender(9, 1.0)], beside)) == {6, 7, 8}


def test_a_rare_word_lends_once_however_many_are_shared() -> None:
    rare = {1: {"kettle": {1, 2}, "uji": {1, 2, 3}}}
    lent = lent_by_rare_words([Lender(1, 0.8)], lambda number: rare[number])
    assert lent == pytest.approx({2: 0.8 * DEFAULT.share_by_rare_words, 3: 0.8 * DEFAULT.share_by_rare_words})


@pytest.mark.parametrize(
    ("successors", "gained"),
    [
        ({1: 2}, {2: 0.9}),
        ({1: 2, 2: 3}, {3: 0.9}),
        ({1: 2, 2: 1}, {2: 0.9, 1: 0.1}),
        ({}, {}),
    ],
)
def test_the_current_one_inherits_from_those_before_it(successors: dict[int, int], gained: dict[int, float]) -> None:
    assert inherited({1: 0.9, 2: 0.1}, successors) == gained
