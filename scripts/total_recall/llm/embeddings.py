"""Vectors for texts, as an OpenAI-compatible endpoint gives them (`POST /embeddings`): replies and batches. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from total_recall.llm.quirks import parsed
from total_recall.tokens import estimate_tokens

PURPOSE: Final = "embed"
"""The name in the ledger."""
TEXTS_A_REQUEST: Final = 64
TOKENS_A_REQUEST: Final = 8_000
TOKENS_A_TEXT: Final = 480
"""Of a longer text the beginning is enough to tell what it is about; small models read 512 tokens."""
MOST_DIMENSIONS: Final = 8_192

Vector = tuple[float, ...]
"""Of length 1."""


@dataclass(frozen=True, slots=True)
class Embedded:
    """A vector for each text that was sent, in their order. `tokens` is None where the provider does not say."""

    vectors: tuple[Vector, ...]
    tokens: int | None


def embedded_of(body: bytes, count: int) -> Embedded | None:
    """What a reply holds; None unless it has `count` vectors of one dimension, of finite numbers that are not all 0."""
    value = parsed(body)
    items = value.get("data") if isinstance(value, dict) else None
    if not isinstance(items, list) or len(items) != count:
        return None
    ordered: list[Any] = [None] * count
    for place, item in enumerate(items):
        index = item.get("index", place) if isinstance(item, dict) else None
        if not isinstance(index, int) or isinstance(index, bool) or not 0 <= index < count:
            return None
        ordered[index] = item.get("embedding")
    vectors = [_unit(numbers) for numbers in ordered]
    if any(vector is None for vector in vectors) or len({len(vector) for vector in vectors if vector}) != 1:
        return None
    usage = value.get("usage") if isinstance(value, dict) else None
    tokens = usage.get("prompt_tokens", usage.get("total_tokens")) if isinstance(usage, dict) else None
    is_count = isinstance(tokens, int) and not isinstance(tokens, bool) and tokens >= 0
    return Embedded(tuple(vector for vector in vectors if vector), tokens if is_count else None)


def batches(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    """The texts in their order, a request at a time; each is to be passed through `shortened` before."""
    batch: list[str] = []
    tokens = 0
    for text in texts:
        cost = estimate_tokens(text)
        if batch and (len(batch) == TEXTS_A_REQUEST or tokens + cost > TOKENS_A_REQUEST):
            yield batch
            batch, tokens = [], 0
        batch.append(text)
        tokens += cost
    if batch:
        yield batch


def shortened(text: str) -> str:
    """As much of a text as is sent; never empty, which servers refuse."""
    text = " ".join(text.split()) or "-"
    while (tokens := estimate_tokens(text)) > TOKENS_A_TEXT:
        text = text[: max(1, min(len(text) - 1, len(text) * TOKENS_A_TEXT // tokens))]
    return text


def _unit(numbers: object) -> Vector | None:
    if not isinstance(numbers, list) or not 0 < len(numbers) <= MOST_DIMENSIONS:
        return None
    if any(isinstance(number, bool) or not isinstance(number, (int, float)) for number in numbers):
        return None
    try:
        length = math.hypot(*numbers)
    except OverflowError:
        return None
    return tuple(number / length for number in numbers) if 0.0 < length < math.inf else None
