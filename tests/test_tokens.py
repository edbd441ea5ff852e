from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from total_recall.tokens import count_words, estimate_tokens

ENGLISH = (
    "From now on keep answers short and use metric units. The health check returned 200 after we deployed build 412 to "
    "staging, and nobody complained about the latency."
)
KOREAN = "내일까지 보고서를 제출해야 해요. 회의는 다음 주 금요일 오후 3시에 본사 5층에서 하기로 했습니다."
CHINESE = "我们决定下周五发布新版本，预算是三万元。请以后用简短的中文回答，不要使用英文缩写。"
JSON = '{"type":"message","id":"18020001","parentId":null,"timestamp":"2026-11-28T09:00:05Z","x":[1,2,3]}'


@pytest.mark.parametrize(
    ("text", "counted"),
    [(ENGLISH, 33), (KOREAN, 44), (CHINESE, 41), (JSON, 42)],
    ids=["english", "korean", "chinese", "json"],
)
def test_the_estimate_is_near_what_the_worse_vocabulary_counts(text: str, counted: int) -> None:
    assert 0.9 * counted <= estimate_tokens(text) <= 1.4 * counted


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


@given(st.text(max_size=200), st.text(max_size=200))
def test_a_longer_text_never_has_fewer_tokens(one: str, other: str) -> None:
    assert estimate_tokens(one + other) >= estimate_tokens(one) >= 0
    assert count_words(f"{one} {other}") <= count_words(one) + count_words(other)


def test_surrogates_and_emoji_are_counted() -> None:
    assert estimate_tokens("\ud800") >= 1
    assert estimate_tokens("🔴🟡🟢") >= 3
