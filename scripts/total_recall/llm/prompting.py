"""A batch as the messages of a request: the transcript is data between two random fences, each line with its origin."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import tzinfo

from total_recall import taint
from total_recall.harmless import printable
from total_recall.llm.client import ChatMessage
from total_recall.llm.wording import Speaker, name_of
from total_recall.records import Batch, Message
from total_recall.text import Language, language_of

KNOWN_LINES = 20
OPEN_LINES = 15
SHORT_ANSWER_CHARACTERS = 40
NAME_CHARACTERS = 40

_LINE_BREAKS = re.compile(r"\r\n|[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_MEMORY_LINE = re.compile(r"^\s*[-*•]\s*(?:🔴|🟡|🟢)|<!--\s*dc:")
_IN_NAMES = re.compile(r"[\[\]<>():：|]+")
_LANGUAGES: dict[Language, str] = {
    "en": "English", "ko": "Korean (한국어)", "ja": "Japanese (日本語)", "zh": "Chinese (中文)",
    "es": "Spanish (español)", "de": "German (Deutsch)", "fr": "French (français)",
}  # fmt: skip


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
    language = language_spoken(batch)
    parts: list[str] = []
    if known:
        parts += ["ALREADY KNOWN", *(f"- {_one_line(line, fence)}" for line in known[-KNOWN_LINES:]), ""]
    if open_lines:
        parts += ["OPEN", *(f"- {name}: {_one_line(line, fence)}" for name, line in open_lines[-OPEN_LINES:]), ""]
    if batch.context and _needs_what_was_said_before(batch.messages[0]):
        parts += [f"BEFORE, observed already <{fence}-before>"]
        parts += [_told(m, tz, fence, language) for m in batch.context]
        parts += [f"</{fence}-before>", ""]
    parts += [f"CONVERSATION <{fence}>", *(_told(m, tz, fence, language) for m in batch.messages), f"</{fence}>"]
    tongue = _LANGUAGES[language] if language else "its language"
    parts += ["", f"Now the lines about this CONVERSATION, one for each thing worth knowing, in {tongue}:"]
    return ChatMessage("system", system), ChatMessage("user", "\n".join(parts))


def spoken(message: Message) -> str:
    """What a message says, printable, with \\n between its lines. Where the assistant reads its memory aloud, those
    lines are left out: what is remembered already is not observed again."""
    lines = _LINE_BREAKS.split(message.text.strip())
    if message.role == "assistant":
        lines = [line for line in lines if not _MEMORY_LINE.search(line)]
    return printable("\n".join(lines))


def language_spoken(batch: Batch) -> Language | None:
    """The language in which the people of a batch write; None where their words do not tell."""
    typed = "\n".join(m.text for m in batch.messages if m.role == "user") or "\n".join(m.text for m in batch.messages)
    found = language_of(typed, "en")
    return found if found == language_of(typed, "ja") else None


def origin(message: Message, language: Language | None = None) -> str:
    """Whose words these are, as a line of memory in `language` names them: `User`, `사용자`, `Other person`."""
    if message.role == "user" and not message.is_owner:
        return "Other person"
    return name_of(Speaker("owner" if message.role == "user" else "assistant"), language or "en")


def _needs_what_was_said_before(first: Message) -> bool:
    """A short answer means nothing without its question; everything else is sent once only."""
    return first.role == "user" and len(first.text) <= SHORT_ANSWER_CHARACTERS


def _told(message: Message, tz: tzinfo, fence: str, language: Language | None) -> str:
    """`[2026-11-30 09:12] User (telegram): …`; further lines are indented, so none can pose as one.

    What a person only quotes has `> ` before each of its lines.
    """
    who = origin(message, language)
    if name := _name(message.speaker or "", fence):
        who += f" {name}"
    if channel := _name(message.channel or "", fence):
        who += f" ({channel})"
    said = spoken(message)
    text = (taint.marked(said) if message.role == "user" else said).replace(fence, "…").replace("\n", "\n    ")
    return f"[{message.at.astimezone(tz):%Y-%m-%d %H:%M}] {who}: {text}"


def _name(text: str, fence: str) -> str:
    return _one_line(_IN_NAMES.sub(" ", text), fence)[:NAME_CHARACTERS].strip()


def _one_line(text: str, fence: str) -> str:
    return " ".join(printable(text).replace(fence, "…").split())
