"""Vectors of memories: the near ones are found, a text keeps its own, and those of another kind do not count."""

from __future__ import annotations

import math
import random
from datetime import datetime, timezone

import pytest

from total_recall.recall import vectors
from total_recall.recall.index import RecallIndex, in_memory
from total_recall.recall.memories import Memory

AT = datetime(2026, 11, 28, 9, 0, tzinfo=timezone.utc)
DIMENSIONS = 64


def unit(dice: random.Random, near: tuple[float, ...] | None = None, noise: float = 1.0) -> tuple[float, ...]:
    numbers = [dice.gauss(0.0, noise) + (near[n] if near else 0.0) for n in range(DIMENSIONS)]
    length = math.hypot(*numbers)
    return tuple(number / length for number in numbers)


def filed(index: RecallIndex, texts: list[str]) -> None:
    index.sync("observations.md", "live", (len(texts),), [Memory(f"m{n}", text, AT) for n, text in enumerate(texts)])


def test_the_nearest_are_found_and_what_lies_no_nearer_than_usual_is_not() -> None:
    """Whatever the signs miss: of a thousand the ten that are alike are the first ten."""
    dice = random.Random(1)
    index = in_memory()
    filed(index, [f"text {n}" for n in range(1_000)])
    asked = unit(dice)
    known = index.vectors("m")
    missing = known.missing(DIMENSIONS)
    alike = {number for number, _ in missing[::100]}
    known.keep(missing, [unit(dice, asked, 0.08) if number in alike else unit(dice) for number, _ in missing])
    found = known.like(asked)
    assert set(sorted(found, key=lambda number: -found[number])[:10]) == alike
    assert len(found) <= vectors.COMPARED and all(0.0 < likeness <= 1.0 for likeness in found.values())
    assert min(found[number] for number in alike) > 0.5


def test_the_same_text_is_as_like_as_can_be() -> None:
    dice = random.Random(2)
    index = in_memory()
    filed(index, ["a", "b", "c"])
    known = index.vectors("m")
    given = {text: unit(dice) for text in "abc"}
    missing = known.missing(DIMENSIONS)
    known.keep(missing, [given[text] for _, text in missing])
    found = known.like(given["b"])
    best = max(found, key=lambda number: found[number])
    assert index.read([best])[best].memory.text == "b" and found[best] == pytest.approx(1.0, abs=0.01)


def test_what_is_filed_anew_takes_the_vector_that_its_text_had() -> None:
    dice = random.Random(3)
    index = in_memory()
    filed(index, ["a", "b"])
    known = index.vectors("m")
    known.keep(known.missing(DIMENSIONS), [unit(dice), unit(dice)])
    assert known.missing(DIMENSIONS) == []
    index.sync("observations.md", "live", (9,), [])
    index.sync("archive/observations/2026-11-30.md", "archived", (1,), [Memory("other", "b", AT)])
    assert known.missing(DIMENSIONS) == []
    filed(index, ["c"])
    assert [text for _, text in known.missing(DIMENSIONS)] == ["c"]


def test_hooks_and_transcripts_are_not_embedded() -> None:
    index = in_memory()
    index.extend("messages", "transcript", (1, 1), [Memory("message", "said", AT)])
    index.sync("observations.md", "live", (1,), [Memory("h", "Topic: x", None, form="hook", item="OBS-20261130-001")])
    index.sync("archive/chunks/2026-11-30.md", "archived", (1,), [Memory("c", "a finding", AT, form="chunk", item="c")])
    assert [text for _, text in index.vectors("m").missing(DIMENSIONS)] == ["a finding"]


def test_another_model_or_other_dimensions_begin_anew() -> None:
    dice = random.Random(4)
    index = in_memory()
    filed(index, ["a"])
    index.vectors("one").keep(index.vectors("one").missing(DIMENSIONS), [unit(dice)])
    assert len(index.vectors("two").missing(DIMENSIONS)) == 1
    assert index.vectors("two").like(unit(dice)) == {}
    assert index.vectors("one").missing(DIMENSIONS) == []  # its vectors are still there
    assert len(index.vectors("one").missing(DIMENSIONS * 2)) == 1
    assert index.vectors("one").like(unit(dice)) == {}


def test_a_memory_that_is_gone_meanwhile_is_not_filed() -> None:
    dice = random.Random(5)
    index = in_memory()
    filed(index, ["a", "b"])
    known = index.vectors("m")
    missing = known.missing(DIMENSIONS)
    filed(index, ["a"])
    asked = unit(dice)
    known.keep(missing, [asked, asked])
    assert len(known.like(asked)) <= 1


def test_vectors_of_lines_long_gone_do_not_pile_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "_TOGETHER", 10)
    dice = random.Random(6)
    index = in_memory()
    known = index.vectors("m")
    for night in range(60):
        filed(index, [f"text {night}"])
        known.keep(known.missing(DIMENSIONS), [unit(dice)])
    (count,) = index._db.execute("SELECT count(*) FROM vector").fetchone()
    assert count <= 13
