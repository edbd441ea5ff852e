"""Batches: every message once, in order, within the budget, never cut between two."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import SESSION, at
from total_recall.records import Batch, Message
from total_recall.sessions.batching import FRAME_TOKENS, batches
from total_recall.state import Queued
from total_recall.tokens import estimate_tokens


def queued(*texts: str) -> list[Queued]:
    return [
        Queued(row, Message("openclaw-files", SESSION, None, f"e{row}", "user", text, at(row)))
        for row, text in enumerate(texts, 10)
    ]


def cut(items: Sequence[Queued], budget: int) -> list[tuple[Batch, tuple[int, ...]]]:
    return list(batches(items, budget, estimate_tokens, lambda _: ()))


def test_without_trimming_a_long_message_stays_whole_and_counts_as_half_a_batch() -> None:
    long = "word " * 5000
    found = list(batches(queued(long, "short"), 700, estimate_tokens, lambda _: (), trim=False))
    assert [[m.text for m in batch.messages] for batch, _ in found] == [[long, "short"]]
    assert found[0][0].tokens <= 700


TEXTS = st.lists(st.text(max_size=60) | st.integers(1, 900).map("단어 word ".__mul__), max_size=12)


@given(TEXTS, st.integers(500, 3000))
def test_every_message_is_in_one_batch_in_order(texts: list[str], budget: int) -> None:
    found = cut(queued(*texts), budget)
    assert [row for _, rows in found for row in rows] == list(range(10, 10 + len(texts)))
    assert [m.entry_id for batch, _ in found for m in batch.messages] == [f"e{n}" for n in range(10, 10 + len(texts))]
    assert all(len(batch.messages) == len(rows) for batch, rows in found)


@given(TEXTS, st.integers(500, 3000))
def test_no_batch_is_over_its_budget(texts: list[str], budget: int) -> None:
    for batch, _ in cut(queued(*texts), budget):
        counted = sum(estimate_tokens(m.text) + FRAME_TOKENS for m in batch.messages)
        assert batch.tokens == counted <= budget + FRAME_TOKENS


@pytest.mark.parametrize("unit", ["word ", "단어 ", "🙂", "\x00", "x", "\n"])
def test_a_message_over_half_the_budget_is_trimmed_in_the_middle_with_a_note(unit: str) -> None:
    text = "START " + unit * 40_000 + " END"
    ((batch, _),) = cut(queued(text), 1000)
    (message,) = batch.messages
    assert message.text.startswith("START ")
    assert message.text.endswith(" END")
    assert "characters left out" in message.text
    assert estimate_tokens(message.text) <= 500


def test_a_message_that_fits_is_left_as_it_is() -> None:
    text = "  as typed\n\twith blanks  "
    assert cut(queued(text), 1000)[0][0].messages[0].text == text


@given(st.integers(1, 50), st.integers(1, 5000))
def test_trimming_ends_whatever_a_token_is(cost: int, length: int) -> None:
    """A counter that finds every text too long must not be asked for ever."""
    items = queued("x" * length)
    ((batch, rows),) = batches(items, 500, lambda text: len(text) * cost + 1000, lambda _: ())
    assert rows == (10,)
    assert len(batch.messages[0].text) <= max(length, 200)


def test_a_batch_is_named_by_what_is_in_it() -> None:
    (first,), (again,), (other,) = (cut(queued(*texts), 1000) for texts in (("a", "b"), ("a", "b"), ("a",)))
    assert first[0].id == again[0].id != other[0].id


def test_each_batch_gets_what_was_said_before_it() -> None:
    asked: list[str] = []

    def said_before(messages: Sequence[Message]) -> tuple[Message, ...]:
        asked.append(messages[0].entry_id)
        return tuple(messages[:1])

    found = list(batches(queued("word " * 300, "word " * 300, "word " * 300), 700, estimate_tokens, said_before))
    assert [batch.context[0].entry_id for batch, _ in found] == asked
    assert len(found) >= 2


def test_nothing_queued_makes_no_batch() -> None:
    assert cut([], 1000) == []
