"""Batches from a few typed lines: `U:` the owner, `A:` the assistant, `Name:` somebody else, a minute apart."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo

from total_recall.llm.reply import Proposed, read_line
from total_recall.records import Batch, Message

SEOUL = ZoneInfo("Asia/Seoul")
BEGAN = datetime(2026, 11, 30, 0, 0, tzinfo=timezone.utc)
"""A Monday, nine in the morning in Seoul."""


def messages_of(text: str, began: datetime = BEGAN, session: str = "s1") -> tuple[Message, ...]:
    """A line without a speaker goes on with the message before it."""
    told: list[list[str]] = []
    for line in text.strip("\n").split("\n"):
        who, colon, said = line.partition(": ")
        if colon and who.isalpha():
            told.append([who, said])
        else:
            told[-1][1] += f"\n{line}"
    return tuple(_message(n, who, said, began, session) for n, (who, said) in enumerate(told))


def _message(number: int, who: str, said: str, began: datetime, session: str) -> Message:
    stranger = who not in ("U", "A")
    return Message(
        source="test",
        session_id=session,
        session_key=None,
        entry_id=f"e{number}",
        role="assistant" if who == "A" else "user",
        text=said,
        at=began + timedelta(minutes=number),
        speaker=who if stranger else None,
        is_owner=not stranger,
    )


def batch_of(text: str, before: str = "", began: datetime = BEGAN) -> Batch:
    context = messages_of(before, began - timedelta(hours=1), "s0") if before else ()
    return Batch("b1", messages_of(text, began), len(text) // 4, context)


def proposed(lines: str | Iterable[str]) -> list[Proposed]:
    """Lines as a model writes them; a line without a bullet gets one with a time."""
    found = []
    for line in [lines] if isinstance(lines, str) else lines:
        read = read_line(line if line.startswith("- ") else f"- 🟡 09:00 {line}")
        assert read is not None, line
        found.append(read)
    return found
