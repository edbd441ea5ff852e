"""Claude Code's transcripts: `projects/<project>/<session id>.jsonl` (documented form, and that of 2.1.197).

One folder a project, one file a session, one line an entry. The person's words stand in `user` entries, and since
2.1 also in `attachment` entries, when they were typed while the assistant was at work.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from total_recall.records import Role
from total_recall.sessions.entries import RawMessage, content_text
from total_recall.sessions.transcript_files import Entry, Format, spoken

SOURCE: Final = "claude-code"

_NAME: Final = re.compile(r"(?!agent-)(?P<session>[A-Za-z0-9][A-Za-z0-9_.-]*)\.jsonl")
"""`agent-….jsonl` are sub-agents, in versions before 2.1 beside the sessions, later in a folder of their own."""
_FOLDER_LIMIT: Final = 200
"""A longer folder name is cut here, and a hash follows."""

_NOT_SAID: Final = ("isSidechain", "isMeta", "isCompactSummary", "isVisibleInTranscriptOnly", "isApiErrorMessage")
"""Marks of entries that a sub-agent or the host wrote."""
_SYNTHETIC: Final = "<synthetic>"
"""The model of assistant entries that the host wrote itself."""

_HOST_TAGS: Final = (
    "system-reminder", "local-command-stdout", "local-command-stderr", "local-command-caveat",
    "bash-input", "bash-stdout", "bash-stderr", "ide_opened_file", "ide_selection", "ide_diagnostics",
    "new-diagnostics", "task-notification", "user-prompt-submit-hook", "command-message", "command-contents",
    "post-tool-use-hook", "session-start-hook", "total-recall-memory",
)  # fmt: skip
"""What the host puts around what it adds to a person's message, or instead of one."""
_HOST_BLOCK: Final = re.compile(rf"<({'|'.join(map(re.escape, _HOST_TAGS))})\b[^<>]*>.*?</\1>[ \t]*\n?", re.DOTALL)
_REMEMBERED: Final = re.compile(r"<user-memory-input>(.*?)</user-memory-input>", re.DOTALL)
"""What was typed behind `#`, in versions before 2.1."""
_COMMAND: Final = re.compile(r"\s*<command-(?:name|message)>")
_COMMAND_NAME: Final = re.compile(r"<command-name>\s*/?(.*?)\s*</command-name>", re.DOTALL)
_COMMAND_WORDS: Final = re.compile(r"<command-args>(.*?)</command-args>", re.DOTALL)
_BUILT_IN: Final = frozenset(
    ("add-dir", "agents", "bug", "clear", "compact", "config", "context", "cost", "doctor", "effort", "exit", "export",
     "help", "hooks", "ide", "init", "login", "logout", "mcp", "memory", "model", "output-style", "permissions",
     "plugin", "quit", "release-notes", "rename", "resume", "rewind", "statusline", "status", "theme", "usage", "vim")
)  # fmt: skip
"""Commands whose arguments are the host's; behind any other stands what a person wants."""


_NEVER_MS: Final = 1 << 62
"""No limit to what counts as a time."""
_USAGE: Final = {
    "input": "input_tokens",
    "output": "output_tokens",
    "cacheRead": "cache_read_input_tokens",
    "cacheWrite": "cache_creation_input_tokens",
}


def message(entry: Entry, latest_ms: int) -> RawMessage | None:
    """The person's or the assistant's message in an entry; None for anything else."""
    if any(entry.get(mark) is True for mark in _NOT_SAID) or _is_from_elsewhere(entry):
        return None
    kind = entry.get("type")
    if kind == "attachment":
        return _spoken(entry, "user", _queued(entry.get("attachment")), latest_ms)
    body = entry.get("message")
    if not isinstance(body, Mapping) or kind not in ("user", "assistant") or body.get("role", kind) != kind:
        return None
    if kind == "user":
        return _spoken(entry, "user", _typed(body.get("content")), latest_ms)
    said = "" if body.get("model") == _SYNTHETIC else content_text(body.get("content"))
    return _spoken(entry, "assistant", said, latest_ms)


def _spoken(entry: Entry, role: Role, text: str, latest_ms: int) -> RawMessage | None:
    return spoken(role, text, entry.get("timestamp"), latest_ms, entry.get("uuid"))


def _typed(content: object) -> str:
    """What a person typed in the content of a `user` entry, free of what the host put beside it."""
    texts = [content] if isinstance(content, str) else [*map(_block_text, content)] if isinstance(content, list) else []
    return "\n".join(words for text in texts if (words := _words(text)))


def _block_text(block: object) -> str:
    if not isinstance(block, Mapping):
        return ""
    text = block.get("text")
    return text if block.get("type") == "text" and isinstance(text, str) else ""


def _words(text: str) -> str:
    if _COMMAND.match(text):
        name, words = _COMMAND_NAME.search(text), _COMMAND_WORDS.search(text)
        is_host = name is None or name[1].casefold() in _BUILT_IN
        return "" if is_host or words is None else words[1].strip()
    if "<" in text:
        text = _HOST_BLOCK.sub("", _REMEMBERED.sub(r"\1", text))
    return text.strip()


def _queued(attachment: object) -> str:
    """What a person typed while the assistant was at work."""
    if not isinstance(attachment, Mapping) or attachment.get("type") != "queued_command":
        return ""
    if attachment.get("commandMode", "prompt") != "prompt" or attachment.get("isMeta") is True:
        return ""
    if _is_from_elsewhere(attachment):
        return ""
    return _typed(attachment.get("prompt"))


def _is_from_elsewhere(entry: Entry) -> bool:
    """Whether it says of itself that no person typed it: another agent, a channel, a task that ended."""
    origin = entry.get("origin")
    return isinstance(origin, Mapping) and origin.get("kind") not in (None, "human", "user")


def session_of(name: str) -> str | None:
    """The session that a file's name names."""
    match = _NAME.fullmatch(name)
    return match["session"] if match else None


def cwd(entry: Entry) -> str | None:
    """The directory that the session worked in when the entry was written."""
    found: Any = entry.get("cwd")
    return found if isinstance(found, str) and found.startswith("/") else None


def folder_name(directory: str) -> str:
    """The name of the folder that holds the transcripts of sessions started in a directory; a long one is cut."""
    # The host goes by UTF-16 units, of which a character beyond the basic plane has two.
    dashed = "".join("--" if ord(character) > 0xFFFF else character for character in directory)
    return re.sub(r"[^A-Za-z0-9]", "-", dashed)[:_FOLDER_LIMIT]


def is_folder_of(folder: str, directory: str) -> bool:
    """Whether a folder of that name holds the transcripts of sessions started in a directory."""
    name = folder_name(directory)
    return folder == name or (len(name) == _FOLDER_LIMIT and folder.startswith(f"{name}-"))


def key(folder: str) -> str:
    """The session key by which `TOTAL_RECALL_EXCLUDE` can name a project: `session:*:<folder>`."""
    return f"agent:{SOURCE}:main:topic:{folder}"


def stored(entries: Iterable[Entry]) -> Iterator[Entry]:
    """The entries of a session as OpenClaw would have stored them, for the log. Sub-agents' stay out."""
    answer_of: dict[object, object] = {}
    for entry in entries:
        body = entry.get("message")
        if entry.get("isSidechain") is True:
            continue
        if entry.get("type") == "system" and entry.get("subtype") == "compact_boundary":
            tokens = _mapping(entry.get("compactMetadata")).get("preTokens")
            yield {**_head(entry, "compaction"), "tokensBefore": tokens}
        elif entry.get("type") == "assistant" and isinstance(body, Mapping):
            # An answer is stored a block an entry, each with the usage of all of it.
            is_more = body.get("id") is not None and answer_of.get(entry.get("parentUuid")) == body.get("id")
            answer_of[entry.get("uuid")] = body.get("id")
            if body.get("model") != _SYNTHETIC or entry.get("isApiErrorMessage") is True:
                yield {**_head(entry, "message"), "message": _answer(entry, body, is_more=is_more)}
        else:
            yield from _results(entry, body)
            said = message(entry, _NEVER_MS)
            if said is not None:
                yield {**_head(entry, "message"), "message": {"role": "user", "content": said.text}}


def _head(entry: Entry, kind: str, number: int = 0) -> dict[str, Any]:
    entry_id = entry.get("uuid")
    name = f"{entry_id}:{number}" if number else entry_id
    return {"type": kind, "id": name, "parentId": entry.get("parentUuid"), "timestamp": entry.get("timestamp")}


def _answer(entry: Entry, body: Mapping[str, Any], *, is_more: bool) -> dict[str, Any]:
    usage = {} if is_more else _mapping(body.get("usage"))
    failed = {"stopReason": "error", "errorMessage": content_text(body.get("content"))}
    content = body.get("content")
    return {
        "role": "assistant",
        "model": body.get("model"),
        "content": [_block(block) for block in content] if isinstance(content, list) else content,
        "usage": {theirs: usage[ours] for theirs, ours in _USAGE.items() if ours in usage},
        **(failed if entry.get("isApiErrorMessage") is True else {"stopReason": body.get("stop_reason")}),
    }


def _block(block: object) -> object:
    if not isinstance(block, Mapping) or block.get("type") != "tool_use":
        return block
    return {"type": "toolCall", "id": block.get("id"), "name": block.get("name"), "arguments": block.get("input")}


def _results(entry: Entry, body: object) -> Iterator[Entry]:
    """What tools answered: it stands in `user` entries."""
    content = _mapping(body).get("content")
    told = _mapping(entry.get("toolUseResult"))
    for number, block in enumerate(content if isinstance(content, list) else ()):
        if isinstance(block, Mapping) and block.get("type") == "tool_result":
            result = {
                "role": "toolResult",
                "toolCallId": block.get("tool_use_id"),
                "content": block.get("content"),
                "isError": block.get("is_error") is True,
                "details": {
                    "status": "aborted" if told.get("interrupted") is True else None,
                    "durationMs": told.get("totalDurationMs", told.get("durationMs")),
                },
            }
            yield {**_head(entry, "message", number + 1), "message": result}


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


FORMAT: Final = Format(SOURCE, session_of, message, cwd=cwd, key=key, stored=stored)
