"""A batch as the messages of a request: the transcript is data between two random fences, each line with its origin."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import tzinfo

from total_recall.llm.client import ChatMessage
from total_recall.records import Batch, Message

KNOWN_LINES = 20
OPEN_LINES = 15
SHORT_ANSWER_CHARACTERS = 40
NAME_CHARACTERS = 40

_LINE_BREAKS = re.compile(r"\r\n|[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_MEMORY_LINE = re.compile(r"^\s*[-*•]\s*(?:🔴|🟡|🟢)|<!--\s*dc:")
_IN_NAMES = re.compile(r"[\[\]<>():：|]+")


def frame(
    batch: Batch,
    *,
    system: str,
    tz: tzinfo,
    fence: str,
    known: Sequence[str] = (),
    open_lines: Sequence[tuple[str, str]] = (),
) -> tuple[ChatMessage, ChatMessage]:
    """The system message and the user message of an observer's request.

    `fence` is a random word that no message can know. `known` are the last lines of the memory, so that nothing is
    repeated; `open_lines` are (id, text) of goals and coming dates, so that they can be superseded.
    """
    parts: list[str] = []
    if known:
        parts += ["ALREADY KNOWN", *(f"- {_one_line(line, fence)}" for line in known[-KNOWN_LINES:]), ""]
    if open_lines:
        parts += ["OPEN", *(f"- {name}: {_one_line(line, fence)}" for name, line in open_lines[-OPEN_LINES:]), ""]
    if batch.context and _needs_what_was_said_before(batch.messages[0]):
        parts += [f"BEFORE, observed already <{fence}-before>"]
        parts += [_told(m, tz, fence) for m in batch.context]
        parts += [f"</{fence}-before>", ""]
    parts += [f"CONVERSATION <{fence}>", *(_told(m, tz, fence) for m in batch.messages), f"</{fence}>"]
    parts += ["", "Your lines about the CONVERSATION, in its language:"]
    return ChatMessage("system", system), ChatMessage("user", "\n".join(parts))


def spoken(message: Message) -> str:
    """What a message says, with \\n between its lines. Where the assistant reads its memory aloud, those lines are
    left out: what is remembered already is not observed again."""
    lines = _LINE_BREAKS.split(message.text.strip())
    if message.role == "assistant":
        lines = [line for line in lines if not _MEMORY_LINE.search(line)]
    return "\n".join(lines)


def origin(message: Message) -> str:
    """Whose words these are."""
    if message.role == "assistant":
        return "assistant"
    return "owner" if message.is_owner else "other person"


def _needs_what_was_said_before(first: Message) -> bool:
    """A short answer means nothing without its question; everything else is sent once only."""
    return first.role == "user" and len(first.text) <= SHORT_ANSWER_CHARACTERS


def _told(message: Message, tz: tzinfo, fence: str) -> str:
    """`[2026-11-30 09:12] owner (telegram): …`; further lines of the message are indented, so none can pose as one."""
    who = origin(message)
    if message.speaker:
        who += f" {_name(message.speaker, fence)}"
    if message.channel:
        who += f" ({_name(message.channel, fence)})"
    text = spoken(message).replace(fence, "…").replace("\n", "\n    ")
    return f"[{message.at.astimezone(tz):%Y-%m-%d %H:%M}] {who}: {text}"


def _name(text: str, fence: str) -> str:
    return _one_line(_IN_NAMES.sub(" ", text), fence)[:NAME_CHARACTERS].strip()


def _one_line(text: str, fence: str) -> str:
    return " ".join(text.replace(fence, "…").split())
