"""What holds now comes first and what held before is labelled; what was said once, long ago, is still found."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from changes_of_mind import OLD_AND_EXACT, PAIRS
from total_recall.recall.candidates import Wanted
from total_recall.recall.index import RecallIndex, in_memory
from total_recall.recall.memories import Memory
from total_recall.recall.querying import parse_query
from total_recall.recall.searching import Hit, search

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=timezone.utc)


def memory(key: str, text: str, days_ago: float, by: str | None = None) -> Memory:
    at = NOW - timedelta(days=days_ago)
    return Memory(key, text, at, f"day {at.date()}", "fact", 5.0, superseded_by=by)


@pytest.fixture(scope="module")
def index() -> RecallIndex:
    """All of it in one memory, among 400 lines of another year."""
    filed = in_memory()
    memories = [
        memory(f"chat{n}", f"User talked about the weather, the garden and lunch number {n}", 380 + n / 2)
        for n in range(400)
    ]
    for number, (before, now, _) in enumerate(PAIRS):
        memories += [
            memory(f"old{number}", before, 200 - 3 * number, f"new{number}"),
            memory(f"new{number}", now, 42 - number),
        ]
    memories += [memory(f"exact{n}", text, 1_100 + 5 * n) for n, (text, _) in enumerate(OLD_AND_EXACT)]
    filed.sync("observations.md", "live", (1,), sorted(memories, key=lambda m: str(m.at)))
    return filed


def ask(index: RecallIndex, question: str) -> list[Hit]:
    return search(index, parse_query(question, NOW.date()), Wanted(), now=NOW)


@pytest.mark.parametrize("number", range(len(PAIRS)), ids=lambda number: PAIRS[number][0])
def test_how_it_is_now_comes_first_and_how_it_was_is_labelled(index: RecallIndex, number: int) -> None:
    hits = ask(index, PAIRS[number][2])
    assert hits[0].filed.memory.key == f"new{number}", [hit.filed.memory.text for hit in hits[:3]]
    old = next((hit for hit in hits if hit.filed.memory.key == f"old{number}"), None)
    assert old is not None and old.filed.memory.superseded_by == f"new{number}"


@pytest.mark.parametrize(("text", "question"), OLD_AND_EXACT)
def test_an_exact_old_fact_is_still_found_first(index: RecallIndex, text: str, question: str) -> None:
    assert ask(index, question)[0].filed.memory.text == text


def test_how_it_was_is_found_by_its_own_words(index: RecallIndex) -> None:
    """It stays behind what took its place, but is there for who asks for it."""
    for number, word in ((0, "Busan"), (4, "red Corsa"), (20, "부산"), (36, "빨간 아반떼")):
        assert f"old{number}" in [hit.filed.memory.key for hit in ask(index, word)][:2]
