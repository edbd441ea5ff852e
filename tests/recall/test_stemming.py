"""English stems, against the published vocabulary of the Snowball English stemmer and against how people ask."""

from __future__ import annotations

import pytest

from total_recall.recall.stemming import stem

PUBLISHED = (
    "consign consign, consigned consign, consigning consign, consignment consign, consist consist, consisted consist, "
    "consistency consist, consistent consist, consistently consist, consolation consol, consolations consol, "
    "consolatory consolatori, console consol, consoled consol, consolidate consolid, consoling consol, "
    "consonant conson, conspicuous conspicu, conspiracy conspiraci, constancy constanc, constitutional constitut, "
    "knack knack, knave knave, knaves knave, kneaded knead, kneel kneel, knelt knelt, knightly knight, knitted knit, "
    "knocked knock, knots knot, knowing know, skies sky, dying die, ugly ugli, news news, inning inning, "
    "succeed succeed, generate generat, generous generous, communism communism, cats cat, ties tie, cries cri, "
    "gas gas, this this, gaps gap, kiwis kiwi, hopping hop, hoping hope, luxuriating luxuri, by by, say say, cry cri, "
    "rational ration, happiness happi, sensibilities sensibl, digitizer digit, roll roll, controll control"
)
"""From the page of the algorithm and its sample vocabulary (snowballstem.org)."""


@pytest.mark.parametrize("pair", PUBLISHED.split(", "))
def test_the_published_algorithm(pair: str) -> None:
    word, expected = pair.split()
    assert stem(word) == expected


@pytest.mark.parametrize(
    "forms",
    [
        "buy buys buying bought",
        "go goes going went gone",
        "child children",
        "paint paints painted painting paintings",
        "volunteer volunteers volunteered volunteering",
        "adopt adopted adopting adoption",
    ],
)
def test_forms_of_a_word_are_one(forms: str) -> None:
    assert len({stem(form) for form in forms.split()}) == 1


@pytest.mark.parametrize("pair", ["left leave", "found find", "saw see", "lives life", "universe university's"])
def test_words_of_their_own_stay_apart(pair: str) -> None:
    one, other = pair.split()
    assert stem(one) != stem(other)


@pytest.mark.parametrize("word", ["", "a", "충주", "1200", "naïve", "10:30"])
def test_what_is_no_english_word_stays(word: str) -> None:
    assert stem(word) == word
