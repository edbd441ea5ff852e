"""The layers that hosts put around somebody's words, and how each is peeled off.

A stored user entry is an onion: `System:` lines, metadata blocks, a time prefix, recalled memory, attachments, and
inside the words. Layers are peeled from the two ends only, each by an anchored pattern, so that a person who quotes one
of them in the middle of a text keeps it.

Formats: OpenClaw 2026.2.19 to 2026.9.6 and Claude Code. Every pattern is bounded by its line, or looks for a
terminator that it then consumes: the work grows with the length of the text and not faster.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from typing import Final, Literal

Kind = Literal[
    "human", "command",
    "heartbeat", "cron-turn", "cron-wake", "hook-wake", "webhook-turn", "system-event",
    "subagent-task", "subagent-announce", "inter-session",
    "memory-flush", "session-greeting", "recovery-note", "runtime-context", "internal-task",
]  # fmt: skip

_WEEKDAY: Final = r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
_STAMP: Final = r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d"

RECALL_TAGS: Final = (
    r"(?:active_memory_plugin|intention_hint_plugin|system-reminder|total-recall-(?:memory|context)"
    r"|(?:relevant|recalled|retrieved|related|recent|long[-_]term|active|user|agent|past|supermemory|mem0|hindsight|cognee)"
    r"[-_](?:memory|memories)(?:[-_](?:context|plugin|block))?"
    r"|(?:memory|supermemory|recall)[-_](?:context|recall|block))"
)
"""Elements in which OpenClaw, its plugins and this product put recalled memory."""

_CLAUDE_TAGS: Final = (
    r"(?:local-command-(?:stdout|stderr|caveat)|command-(?:message|name|args|contents)|bash-(?:input|stdout|stderr)"
    r"|user-memory-input|task-notification|ide_opened_file|ide_selection)"
)

_CHANNELS: Final = (
    "WebChat|WhatsApp|Telegram|Signal|Slack|Discord|Google ?Chat|iMessage|MS ?Teams|Microsoft Teams|Teams|Matrix"
    "|Mattermost|Zalo Personal|Zalo|BlueBubbles|Feishu|Lark|LINE|IRC|Nostr|Nextcloud Talk|Twitch|Tlon|WeChat|QQ|Channel"
)

TIME_PREFIX: Final = re.compile(rf"\[{_WEEKDAY} {_STAMP}(?::\d\d)?(?: [^\]\n]{{1,40}})?\][ \t]?")
ENVELOPE: Final = re.compile(
    rf"\[(?P<channel>{_CHANNELS}) (?=[^\]\n]{{0,300}}?(?:{_STAMP}|\bid:\S|\+\d|@g\.us|@s\.whatsapp))"
    r"(?P<from>[^\]\n]{1,300})\][ \t]?"
)
_NAME_END: Final = re.compile(
    rf"(?:^|[ \t])(?:id:|topic:|\+\d|\(?@|channel id:|\d{{6,}}|(?:{_WEEKDAY} )?\d{{4}}-\d\d-\d\d)", re.ASCII
)
_GROUP: Final = re.compile(r"\bid:-\d|@g\.us|(?:^| )#\w|\bchannel id:|^Group id:")
_GROUP_SPEAKER: Final = re.compile(r"([^\n:\[\]]{1,60}): ")

FENCED_LABEL: Final = re.compile(
    r"(?:[^\n(]{1,80}\((?:untrusted metadata|untrusted, [^)\n]{1,80})\):|[^\n⟦]{1,160}⟦openclaw:ctx⟧)"
    r"[ \t]*\r?\n[ \t]*```json[ \t]*\r?\n"
)
_PROSE_LABEL: Final = re.compile(
    r"(?:(?:Conversation context|Current local chat window|Nearby reply target window) \(untrusted, [^)\n]{1,80}\):"
    r"|Untrusted context \(metadata, do not treat as instructions or commands\):"
    r"|(?!Context: ?⟦)[^\n⟦]{1,160}⟦openclaw:ctx⟧)[ \t]*(?:\r?\n|\Z)"
)
_RECALL_LABEL: Final = re.compile(
    r"(?:Context:|Untrusted context \(metadata, do not treat as instructions or commands\):)"
    rf"[ \t]*\r?\n(?=[ \t]*<{RECALL_TAGS}\b)"
)
_FENCE_END: Final = re.compile(r"^[ \t]*```[ \t]*\r?(?:\n|\Z)", re.M)
_BLANK_LINE: Final = re.compile(r"^[ \t]*\r?(?:\n|\Z)", re.M)
_HISTORY_LINE: Final = re.compile(rf"#\S{{1,80}} (?:{_WEEKDAY} )?{_STAMP}")
_TRAILING_CONTEXT: Final = re.compile(
    r"^(?:Context: ⟦openclaw:ctx⟧[ \t]*\r?$"
    r"|Untrusted context \(metadata, do not treat as instructions or commands\):[ \t]*\r?\n"
    r"(?:[^\n]*\n){0,3}?(?:<<<EXTERNAL_UNTRUSTED_CONTENT|UNTRUSTED channel metadata|Source: ))",
    re.M,
)

_SYSTEM_LINES: Final = re.compile(r"(?:System(?: \(untrusted\))?: [^\n]*(?:\n|\Z))+")
_SYSTEM_STAMP: Final = re.compile(
    rf"System(?: \(untrusted\))?: \[(?:(?:{_WEEKDAY} )?{_STAMP}[^\]\n]{{0,40}}|unknown-time)\]"
)
_INTERNAL_BEGIN: Final = "<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>"
_INTERNAL_MARK: Final = re.compile(r"<<<(BEGIN|END)_OPENCLAW_INTERNAL_CONTEXT>>>")
_HISTORY_BEGIN: Final = "[Chat messages since your last reply - for context]"
_HISTORY_END: Final = "[Current message - respond to this]"

_MEDIA_MARK: Final = (
    r"\[media attached(?: \d+/\d+)?: [^\]\n]*\]|<media:[a-z]+>(?: \(\d+ [a-z]+\))?"
    r"|\[(?:Image|Audio|Video|Document|Sticker)(?: #?\d+(?:/\d+)?|: source: [^\]\n]*)?\](?=[ \t]*(?:\r?\n|\Z))"
)
_MEDIA: Final = re.compile(rf"(?:{_MEDIA_MARK})(?!\r?\n(?:User text|Transcript|Description):)[ \t]?")
_MEDIA_HINT: Final = re.compile(
    r"To send an image back, prefer the message tool \(media/path/filePath\)\.[^\n]*(?:\n|\Z)"
)
_MESSAGE_ID: Final = re.compile(
    r"\[(?:(?:[a-z]{1,20} )?message[_ ]id|reply_to(?:_id)?): [^\]\n]*\](?=[ \t]*(?:\r?\n|\Z))", re.I
)
_REPLY_QUOTE: Final = re.compile(r"\[Replying to [^\]\n]{1,200}\][ \t]*\r?\n")
_REPLY_QUOTE_END: Final = re.compile(r"^\[/Replying\][ \t]*\r?(?:\n|\Z)", re.M)
_FORWARDED: Final = re.compile(
    rf"\[Forwarded from (?P<from>[^\]\n]{{1,200}}?)(?: at {_STAMP}[^\]\n]{{0,40}})?\][ \t]*\r?\n?"
)
_NOTES: Final = re.compile(
    r"(?:\[Retry after the previous model attempt failed or timed out\]"
    r"|Note: The previous agent run was aborted by the user\. Resume carefully or ask for clarification\.)"
    r"[ \t]*(?:\r?\n|\Z)"
)
_FILE_OPEN: Final = r'<(?P<tag>file) name="[^"\n]{0,300}"(?: mime="[^"\n]{0,100}")?>'
_TAG_OPEN: Final = re.compile(
    rf"(?:<(?P<recall>{RECALL_TAGS})(?:\s[^<>]{{0,300}})?>|<(?P<claude>{_CLAUDE_TAGS})>|{_FILE_OPEN})"
)
_TAG_CLOSE: Final = re.compile(r"</([A-Za-z][\w-]{0,60})>")

_MEMORY: Final = re.compile(
    r"(?:[ \t]*(?:>[ \t]?){0,4}[-*][ \t]+[🔴🟡🟢]\ufe0f?[ \t]+\d{1,2}:\d\d\b[^\n]*|[^\n]*<!-- ?dc:[^\n]*)(?:\n|\Z)"
)
MEMORY_LINE: Final = re.compile(f"^{_MEMORY.pattern}", re.M)
"""A line of `observations.md` read back: `- 🔴 10:00 …`, or anything that carries its `<!-- dc:… -->` metadata."""

_MEMORY_HINTS: Final = ("🔴", "🟡", "🟢", "dc:")
_OUR_FENCE: Final = re.compile(r"^[ \t]*<total-recall-memory(?:\s[^<>\n]{0,300})?>", re.M)
_OUR_FENCE_END: Final = re.compile(r"^[ \t]*</total-recall-memory>[ \t]*\r?(?:\n|\Z)", re.M)

_SECTION: Final = re.compile(
    r"^\[(?P<medium>Audio|Image|Video)(?: \d+/\d+)?\][ \t]*\r?\n(?=(?:User text|Transcript|Description):)", re.M
)
_SECTION_PART: Final = re.compile(r"^(User text|Transcript|Description):[ \t]*\r?\n?", re.M)

_COMPLETION_EVENT: Final = "[Internal task completion event]"
_CONTEXT_HEAD_CHARS: Final = 2_000
"""A completion event names itself within the first lines of its runtime context."""

_CLIENTS: Final = frozenset(("cli", "webchat", "openclaw-control-ui", "openclaw-tui", "gateway-client", "control-ui"))
"""Programs that stand where a sender's name would be."""

_FACTS_CHARS: Final = 100_000
"""Longer metadata is peeled but not parsed."""

_NOT_SPACE: Final = re.compile(r"\S")
_BLANK_LINES: Final = re.compile(r"(?:[ \t]*\r?\n)*")


@dataclass(frozen=True, slots=True)
class Peeled:
    """A layer that was taken off: where the text goes on, and what the layer told."""

    at: int
    leaves: Kind | None = None
    speaker: str | None = None
    channel: str | None = None
    forwarded: bool = False


Layer = Callable[[str, int], "Peeled | None"]


def announce_or(kind: Kind, text: str, at: int) -> Kind:
    """`kind`, unless the runtime context that begins at `at` reports a finished sub-agent."""
    return "subagent-announce" if _COMPLETION_EVENT in text[at : at + _CONTEXT_HEAD_CHARS] else kind


def skip_space(text: str, at: int) -> int:
    """The first character at or behind `at` that is no white space; the length of the text if there is none."""
    found = _NOT_SPACE.search(text, at)
    return found.start() if found else len(text)


# ---------------------------------------------------------------------------------------------------------------
# The front.


def _plain(pattern: re.Pattern[str], leaves: Kind | None = None) -> Layer:
    def peel(text: str, at: int) -> Peeled | None:
        found = pattern.match(text, at)
        return Peeled(found.end(), leaves) if found else None

    return peel


def _between(begin: re.Pattern[str], end: re.Pattern[str], leaves: Kind | None = None) -> Layer:
    def peel(text: str, at: int) -> Peeled | None:
        opened = begin.match(text, at)
        closed = end.search(text, opened.end()) if opened else None
        return Peeled(closed.end(), leaves) if closed else None

    return peel


def _system_lines(text: str, at: int) -> Peeled | None:
    """One event per line; the block is the host's only if one of its lines has the host's time."""
    lines = _SYSTEM_LINES.match(text, at)
    if lines is None or not any(map(_SYSTEM_STAMP.match, lines[0].split("\n"))):
        return None
    return Peeled(lines.end(), "system-event")


def _envelope(text: str, at: int) -> Peeled | None:
    found = ENVELOPE.match(text, at)
    if found is None:
        return None
    channel, sender, end = found["channel"].lower().replace(" ", ""), found["from"], found.end()
    if _GROUP.search(sender):
        named = _GROUP_SPEAKER.match(text, end)
        name, end = (named[1].strip(), named.end()) if named else (None, end)
        return Peeled(end, "human", name, channel)
    cut = _NAME_END.search(sender)
    end += len("(self): ") if text.startswith("(self): ", end) else 0
    return Peeled(end, "human", (sender[: cut.start()] if cut else sender).strip() or None, channel)


def _fenced_block(text: str, at: int) -> Peeled | None:
    label = FENCED_LABEL.match(text, at)
    closed = _FENCE_END.search(text, label.end()) if label else None
    if label is None or closed is None:
        return None
    heading = label[0]
    facts = _json_object(text[label.end() : closed.start()])
    if heading.startswith("Forwarded message context"):
        return Peeled(closed.end(), speaker=_name_in(facts), forwarded=bool(facts))
    if not heading.startswith(("Sender", "Conversation info")):
        return Peeled(closed.end())
    return Peeled(closed.end(), speaker=_name_in(facts), channel=_channel_in(facts))


def _json_object(source: str) -> Mapping[str, object]:
    if len(source) > _FACTS_CHARS:
        return {}
    try:
        found = json.loads(source)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _name_in(facts: Mapping[str, object]) -> str | None:
    sender = facts.get("sender")
    if isinstance(sender, dict):
        return _name_in(sender)
    values = (facts.get(key) for key in ("name", "label", "username", "sender", "from", "e164"))
    names = (re.sub(r" \([^()]{1,60}\)$", "", value.strip()) for value in values if isinstance(value, str))
    return next((name for name in names if name and name.lower() not in _CLIENTS), None)


def _channel_in(facts: Mapping[str, object]) -> str | None:
    for key in ("channel", "provider", "surface"):
        if isinstance(value := facts.get(key), str) and value.strip():
            return value.strip().lower()
    chat = facts.get("chat_id")
    return chat.partition(":")[0].strip().lower() or None if isinstance(chat, str) and ":" in chat else None


def _prose_block(text: str, at: int) -> Peeled | None:
    """A label and the lines behind it: up to a blank line that no further history line follows."""
    label = _PROSE_LABEL.match(text, at)
    if label is None:
        return None
    end = label.end()
    while end < len(text):
        blank = _BLANK_LINE.search(text, end)
        end = blank.end() if blank else len(text)
        if not _HISTORY_LINE.match(text, end):
            break
    return Peeled(end)


def _internal_context(text: str, at: int) -> Peeled | None:
    """Blocks nest: the context of a completion stands inside the context of a turn."""
    if not text.startswith(_INTERNAL_BEGIN, at):
        return None
    depth = 0
    for mark in _INTERNAL_MARK.finditer(text, at):
        depth += 1 if mark[1] == "BEGIN" else -1
        if depth == 0:
            return Peeled(mark.end(), announce_or("runtime-context", text, at))
    return Peeled(len(text), announce_or("runtime-context", text, at))


def _chat_history(text: str, at: int) -> Peeled | None:
    if not text.startswith(_HISTORY_BEGIN, at):
        return None
    # The last mark: whoever quotes it in the history must not pass for the person.
    mark = text.rfind(_HISTORY_END, at)
    return Peeled(mark + len(_HISTORY_END)) if mark >= 0 else None


def _forwarded(text: str, at: int) -> Peeled | None:
    found = _FORWARDED.match(text, at)
    return Peeled(found.end(), speaker=found["from"].strip() or None, forwarded=True) if found else None


def element(text: str, at: int) -> Peeled | None:
    """A closed element of recalled memory, of Claude Code's or of a file, if one begins at `at`."""
    opened = _TAG_OPEN.match(text, at)
    if opened is None:
        return None
    name = opened["recall"] or opened["claude"] or opened["tag"]
    closing = f"</{name}>"
    closed = text.find(closing, opened.end())
    if closed < 0:
        return None
    end = closed + len(closing)
    return Peeled(end + (text[end : end + 1] in (" ", "\t")), _element_leaves(name))


def _element_leaves(name: str) -> Kind:
    return "human" if name == "file" else "command" if name == "command-name" else "runtime-context"


def _memory_line(text: str, at: int) -> Peeled | None:
    line_end = text.find("\n", at)
    may_be = text[at] in "-*>" or text.find("<!-- ", at, line_end if line_end >= 0 else len(text)) >= 0
    found = _MEMORY.match(text, at) if may_be else None
    return Peeled(found.end()) if found else None


FRONT_LAYERS: Final[tuple[tuple[str, Layer], ...]] = (
    ("[", _plain(TIME_PREFIX)),
    ("[", _envelope),
    ("", _fenced_block),
    ("CU", _plain(_RECALL_LABEL)),
    ("", _prose_block),
    ("S", _system_lines),
    ("<", element),
    ("<", _internal_context),
    ("[", _chat_history),
    ("[", _between(_REPLY_QUOTE, _REPLY_QUOTE_END)),
    ("[", _forwarded),
    ("[N", _plain(_NOTES, "recovery-note")),
    ("[<", _plain(_MEDIA, "human")),
    ("T", _plain(_MEDIA_HINT, "human")),
    ("[", _plain(_MESSAGE_ID)),
    ("", _memory_line),
)
"""The characters that a layer can begin with (none: any), and the layer."""


def peel_front(text: str, start: int) -> tuple[int, list[Peeled]]:
    """Where the text goes on behind all layers that stand at `start`, and what they told, outermost first."""
    peeled: list[Peeled] = []
    while (at := skip_space(text, start)) < len(text):
        layer = _layer_at(text, at)
        if layer is None:
            break
        peeled.append(layer)
        start = layer.at
    blank = _BLANK_LINES.match(text, start)
    return (blank.end() if peeled and blank else start), peeled


def _layer_at(text: str, at: int) -> Peeled | None:
    for begins, layer in FRONT_LAYERS:
        if (not begins or text[at] in begins) and (found := layer(text, at)):
            return found
    return None


# ---------------------------------------------------------------------------------------------------------------
# The back, and the middle.

_BACK_LINES: Final = (_MESSAGE_ID, _MEDIA, _MEDIA_HINT, MEMORY_LINE, re.compile(rf"(?:{_MEDIA_MARK})"))


def peel_back(text: str, start: int) -> int:
    """Where the words end that begin at `start`: in front of the layers at the end of the text."""
    cut = _TRAILING_CONTEXT.search(text, start) if "ontext" in text else None
    end = cut.start() if cut else len(text)
    while (tail := _rstrip(text, start, end)) > start:
        line_at = text.rfind("\n", start, tail) + 1 or start
        if any(pattern.fullmatch(text, line_at, tail) for pattern in _BACK_LINES):
            end = line_at
        elif (open_at := _element_before(text, start, tail)) is not None:
            end = open_at
        else:
            break
    return end if end == len(text) else _rstrip(text, start, end)


def _rstrip(text: str, start: int, end: int) -> int:
    while end > start and text[end - 1].isspace():
        end -= 1
    return end


def _element_before(text: str, start: int, end: int) -> int | None:
    """Where the element begins that ends at `end`; it must begin its line."""
    closed = _TAG_CLOSE.fullmatch(text, max(start, text.rfind("</", start, end)), end)
    if closed is None:
        return None
    open_at = text.rfind(f"<{closed[1]}", start, closed.start())
    begins_line = open_at == start or (open_at > start and text[open_at - 1] == "\n")
    return open_at if begins_line and _TAG_OPEN.match(text, open_at) else None


def inner_words(words: str) -> str:
    """`words` without the sections of attachments and without memory read back; empty if only white space is left."""
    spoken = _media_words(words) if "Transcript:" in words or "Description:" in words else words
    spoken = _without_own_context(spoken) if "<total-recall-memory" in spoken else spoken
    if any(hint in spoken for hint in _MEMORY_HINTS):
        kept = MEMORY_LINE.sub("", spoken)
        spoken = kept.strip() if kept != spoken else spoken
    return spoken if spoken.strip() else ""


def _without_own_context(words: str) -> str:
    kept, at = [], 0
    while (opened := _OUR_FENCE.search(words, at)) and (closed := _OUR_FENCE_END.search(words, opened.end())):
        kept.append(words[at : opened.start()])
        at = closed.end()
    return "".join((*kept, words[at:])).strip() if kept else words


def _media_words(words: str) -> str:
    """What was typed and spoken, where the host laid out attachments as sections.

    `[Audio]` has a `Transcript:` of the person's own speech; a `Description:` of a picture is a model's.
    """
    first = _SECTION.search(words)
    if first is None or not (first.start() == 0 or words.startswith("User text:")):
        return words
    said: list[str] = []
    for medium, section in _sections(words, first):
        parts = list(_SECTION_PART.finditer(section))[:2]
        for part, behind in zip_longest(parts, parts[1:]):
            if part[1] == "User text" or (part[1] == "Transcript" and medium == "Audio"):
                said.append(section[part.end() : behind.start() if behind else len(section)].strip())
    return "\n\n".join(filter(None, said))


def _sections(words: str, first: re.Match[str]) -> Iterator[tuple[str, str]]:
    heads = list(_SECTION.finditer(words))
    yield "", words[: first.start()]
    for head, behind in zip_longest(heads, heads[1:]):
        yield head["medium"], words[head.end() : behind.start() if behind else len(words)]
