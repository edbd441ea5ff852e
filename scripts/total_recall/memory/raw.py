"""Words that no compressor would take stand in the document as they were said, until one does. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from datetime import tzinfo

from total_recall.memory.document import Document
from total_recall.records import Message, Observation

PREFIX = "raw-"
"""How the ids of such lines begin: by them they are found and replaced."""
KEPT_CHARACTERS = 600
"""Of a longer message the line shows the beginning and the end; all of it is in the state."""


def raw_id(session_id: str, entry_id: str) -> str:
    """The id of the line of a message."""
    return PREFIX + hashlib.blake2b(f"{session_id}/{entry_id}".encode(), digest_size=6).hexdigest()


def is_raw(observation_id: str | None) -> bool:
    """Whether a line holds words as they were said."""
    return observation_id is not None and observation_id.startswith(PREFIX)


def as_said(messages: Sequence[Message], tz: tzinfo) -> list[Observation]:
    """A line for each message, told as past, so that nobody takes it for something said now."""
    return [
        Observation(
            id=raw_id(message.session_id, message.entry_id),
            text=f"Not condensed yet: {_speaker(message)} said “{_shortened(message.text)}”",
            at=message.at.astimezone(tz),
            priority="medium",
            type="context",
            importance=5.0,
            confidence=0.5,
            certainty="weak",
            sources=((message.session_id, message.entry_id),),
        )
        for message in messages
    ]


def without_raw(document: Document, ids: Collection[str]) -> Document:
    """The document without the lines of these raw ids."""
    lines = {entry.line for entry in document.observations if entry.id in ids}
    return document.edited(lines, {}) if lines else document


def _speaker(message: Message) -> str:
    if message.role == "assistant":
        return "the assistant"
    return "the user" if message.is_owner else message.speaker or "somebody"


def _shortened(text: str) -> str:
    if len(text) <= KEPT_CHARACTERS:
        return text
    return f"{text[: KEPT_CHARACTERS * 2 // 3]} […] {text[-KEPT_CHARACTERS // 3 :]}"
