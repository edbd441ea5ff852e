"""Queued messages cut into batches by a token budget, never inside a message."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from hashlib import blake2b

from total_recall.records import Batch, Message
from total_recall.state import Queued

FRAME_TOKENS = 12
"""What naming the speaker and the time of a message costs."""
LEAST_CHARACTERS = 64
"""What is kept of a message however small the budget."""


def batches(
    queued: Iterable[Queued],
    budget_tokens: int,
    count: Callable[[str], int],
    said_before: Callable[[Sequence[Message]], tuple[Message, ...]],
    *,
    trim: bool = True,
) -> Iterator[tuple[Batch, tuple[int, ...]]]:
    """Batches in the order of `queued`, each with the rows of its messages.

    A message of more than half the budget counts as half, so that a batch holds at least two; with `trim`, as a model
    needs it, what is over is cut out of its middle, with a note.
    """
    messages: list[Message] = []
    rows: list[int] = []
    total = 0
    for item in queued:
        message, tokens = _trimmed(item.message, budget_tokens // 2, count)
        message = message if trim else item.message
        tokens += FRAME_TOKENS
        if messages and total + tokens > budget_tokens:
            yield _batch(messages, total, said_before), tuple(rows)
            messages, rows, total = [], [], 0
        messages.append(message)
        rows.append(item.row)
        total += tokens
    if messages:
        yield _batch(messages, total, said_before), tuple(rows)


def _batch(
    messages: list[Message], tokens: int, said_before: Callable[[Sequence[Message]], tuple[Message, ...]]
) -> Batch:
    names = "\n".join(f"{m.session_id}/{m.entry_id}" for m in messages)
    return Batch(blake2b(names.encode(), digest_size=8).hexdigest(), tuple(messages), tokens, said_before(messages))


def _trimmed(message: Message, limit_tokens: int, count: Callable[[str], int]) -> tuple[Message, int]:
    text = message.text
    if len(text) <= limit_tokens // 4:
        # No character costs more than four tokens, so this one fits without counting.
        return message, count(text)
    # What lies beyond eight characters a token is cut without counting it: it could not stay in any case.
    keep = min(len(text), limit_tokens * 8)
    while (tokens := count(cut := _without_middle(text, keep))) > limit_tokens and keep > LEAST_CHARACTERS:
        keep = max(LEAST_CHARACTERS, int(keep * min(0.9, limit_tokens / tokens)))
    return (message if cut == text else replace(message, text=cut)), tokens


def _without_middle(text: str, keep: int) -> str:
    """`text` cut to about `keep` characters, two thirds of them from its start, with a note of what went."""
    if len(text) <= keep:
        return text
    head, tail = text[: keep * 2 // 3], text[len(text) - keep // 3 :]
    return f"{head}\n[… {len(text) - len(head) - len(tail):,} characters left out …]\n{tail}"
