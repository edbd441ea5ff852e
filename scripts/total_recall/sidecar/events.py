"""What of a transcript goes into the log: stored entries become drafts of events. Pure.

A draft still holds what was said as it was said; `sanitising` makes the row of it that may be written down.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Final, Literal, NamedTuple, get_args

from total_recall.sidecar.tools import Outcome, called, outcome_of
from total_recall.sidecar.values import count, images_in, listed, mapping, money, number, text_of, time_ms

Type = Literal[
    "tool_call", "session_start", "session_reset", "session_end", "compaction", "subagent_spawned",
    "subagent_finished", "cron_run", "error", "user_message", "assistant_reply", "model_call", "own_run",
]  # fmt: skip
TYPES: Final[tuple[Type, ...]] = get_args(Type)

INJECTED_MODELS = ("gateway-injected", "delivery-mirror")
"""`model` of assistant entries that the host wrote itself (OpenClaw 2026.2 to 2026.9)."""


class Heard(NamedTuple):
    """A `user` entry as it is understood: its kind (`human`, `heartbeat`, `cron-turn` …) and what was said.

    `kept_out` says that neither it nor what answers it is to be remembered.
    """

    kind: str
    text: str
    kept_out: bool = False


Hear = Callable[[Mapping[str, Any], int], Heard]
"""Given the `message` of a user entry and its time in ms."""


@dataclass(slots=True)
class Draft:
    """One event before it is sanitised. `digest` is its identity; `text`, `arguments` and `result` are as stored."""

    digest: int
    at: int
    type: Type
    entry: str | None = None
    name: str | None = None
    ok: int | None = None
    exit_code: int | None = None
    duration_ms: int | None = None
    error: str = ""
    tokens_in: int | None = None
    tokens_out: int | None = None
    tokens_cached: int | None = None
    cost_usd: float | None = None
    text: str = ""
    arguments: Any = None
    result: str | None = None
    more: dict[str, Any] = field(default_factory=dict)
    kept_out: bool = False
    written: bool = False
    """Whether it was handed on without its result."""


def digest_of(*parts: object) -> int:
    """A 63-bit name for what an event is made of: the same whenever, and from whichever store, it is read."""
    named = "\0".join(map(str, parts)).encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(named, digest_size=8).digest(), "big") >> 1


@dataclass(slots=True)
class Conversation:
    """One session while its entries are read in stored order; `waiting` are calls without a result, by call id.

    Ids of calls repeat from turn to turn: a result belongs to the last call before it that has its id.
    """

    session_id: str
    hear: Hear
    latest_ms: int
    muted: bool = False
    waiting: dict[str, Draft] = field(default_factory=dict)
    answered: set[str] = field(default_factory=set)
    at: int = 0
    parent: str | None = None

    def drafts(self, entry: Mapping[str, Any]) -> list[Draft]:
        """The events in one entry. A result gives none when its call is among those given before: it is filled in,
        and given once more if it was `written` meanwhile."""
        make = _MAKERS.get(entry["type"])
        return [] if make is None else make(self, entry)

    def _identity(self, entry: Mapping[str, Any]) -> tuple[str, str]:
        """(Entry id, what names it in all stores). The same id may stand for another entry, at another time; a fork
        has copies of entries under their ids and times."""
        entry_id, stamp = entry.get("id"), entry.get("timestamp")
        if isinstance(entry_id, str) and entry_id and stamp is not None:
            return entry_id, f"{entry_id}\0{stamp}"
        raw = repr(entry).encode("utf-8", "replace")
        name = f"content:{blake2b(raw, digest_size=8).hexdigest()}"
        return entry_id if isinstance(entry_id, str) and entry_id else name, f"{self.session_id}\0{name}"

    def _time(self, *stamps: object) -> int:
        """The first believable of these times; without one, that of the entry before."""
        for stamp in stamps:
            at = time_ms(stamp, self.latest_ms)
            if at is not None:
                self.at = at
                break
        return self.at


def _session(self: Conversation, entry: Mapping[str, Any]) -> list[Draft]:
    parent = entry.get("parentSession")
    more = {"forked_from": parent} if isinstance(parent, str) and parent else {}
    digest = digest_of("session", self.session_id)
    return [Draft(digest, self._time(entry.get("timestamp")), "session_start", more=more)]


def _reset(self: Conversation, entry: Mapping[str, Any]) -> list[Draft]:
    entry_id, identity = self._identity(entry)
    reason = entry.get("reason")
    name = reason if isinstance(reason, str) and reason else "reset"
    self.waiting.clear()
    return [Draft(digest_of(identity), self._time(entry.get("timestamp")), "session_reset", entry_id, name)]


def _compaction(self: Conversation, entry: Mapping[str, Any]) -> list[Draft]:
    """Without the summary: it retells the whole conversation, also what is kept out."""
    entry_id, identity = self._identity(entry)
    details = entry.get("details")
    more: dict[str, Any] = {"tokens_before": count(entry.get("tokensBefore"))}
    if isinstance(details, dict):
        for name, key in (("read_files", "readFiles"), ("modified_files", "modifiedFiles")):
            files = details.get(key)
            if isinstance(files, list) and files and not self.muted:
                more[name] = files
    return [Draft(digest_of(identity), self._time(entry.get("timestamp")), "compaction", entry_id, more=more)]


def _custom(self: Conversation, entry: Mapping[str, Any]) -> list[Draft]:
    if entry.get("customType") != "openclaw:prompt-error":
        return []
    entry_id, _ = self._identity(entry)
    details = entry.get("data")
    error = details.get("error") if isinstance(details, dict) else None
    at = self._time(entry.get("timestamp"))
    error = error if isinstance(error, str) and error else "prompt error"
    draft = Draft(digest_of("error", self.session_id, entry_id), at, "error", entry_id, "prompt", 0, error=error)
    return [draft]


def _message(self: Conversation, entry: Mapping[str, Any]) -> list[Draft]:
    message = entry.get("message")
    if not isinstance(message, dict):
        return []
    make = _ROLES.get(str(message.get("role")))
    return [] if make is None else make(self, entry, message)


def _user(self: Conversation, entry: Mapping[str, Any], message: Mapping[str, Any]) -> list[Draft]:
    entry_id, identity = self._identity(entry)
    at = self._time(message.get("timestamp"), entry.get("timestamp"))
    heard = self.hear(message, at)
    self.muted = heard.kept_out
    self.answered.clear()
    if heard.kept_out:
        return []
    draft = Draft(digest_of(identity), at, "user_message", entry_id, heard.kind, text=heard.text)
    images = images_in(message.get("content")) or len(listed(mapping(message.get("__openclaw")).get("media")))
    if images:
        draft.more["images"] = images
    run = message.get("idempotencyKey")
    if isinstance(run, str) and run.endswith(":user"):
        draft.more["run"] = run.removesuffix(":user")
    return [draft]


def _assistant(self: Conversation, entry: Mapping[str, Any], message: Mapping[str, Any]) -> list[Draft]:
    entry_id, identity = self._identity(entry)
    at = self._time(message.get("timestamp"), entry.get("timestamp"))
    content = message.get("content")
    text = text_of(content)
    drafts = []
    failed = message.get("stopReason") in ("error", "aborted")
    if not _is_the_hosts(message):
        drafts.append(_model_call(digest_of(identity, "model"), at, entry_id, message, failed=failed))
    else:
        text, failed = text or text_of(message.get("openclawDisplayContent")), False
    if text.strip() and not self.muted:
        name = None if drafts else "host"
        drafts.append(Draft(digest_of(identity, "reply"), at, "assistant_reply", entry_id, name, text=text))
    if failed:
        drafts.append(_error(self, at, entry_id, entry, message))
    if isinstance(content, list):
        for number, block in enumerate(content):
            if isinstance(block, dict) and block.get("type") == "toolCall":
                drafts.append(_call(self, digest_of(identity, number), at, entry_id, block))
    return drafts


def _is_the_hosts(message: Mapping[str, Any]) -> bool:
    """Whether the host wrote an assistant entry, not a model (OpenClaw 2026.2 to 2026.9)."""
    if message.get("model") in INJECTED_MODELS:
        return True
    usage = mapping(message.get("usage"))
    return message.get("api") == "cli" and not usage.get("totalTokens") and not usage.get("output")


def _model_call(digest: int, at: int, entry_id: str, message: Mapping[str, Any], *, failed: bool) -> Draft:
    """A failed one is told by the `error` beside it; here `ok` stays open, or one failure would count twice."""
    usage = mapping(message.get("usage"))
    model = message.get("model")
    written = count(usage.get("cacheWrite")) or 0
    tokens_in = count(usage.get("input"))
    return Draft(
        digest,
        at,
        "model_call",
        entry_id,
        model if isinstance(model, str) and model else None,
        None if failed else 1,
        tokens_in=None if tokens_in is None else tokens_in + written,
        tokens_out=count(usage.get("output")),
        tokens_cached=count(usage.get("cacheRead")),
        cost_usd=money(mapping(usage.get("cost")).get("total")),
    )


def _error(self: Conversation, at: int, entry_id: str, entry: Mapping[str, Any], message: Mapping[str, Any]) -> Draft:
    """An aborted turn has a `prompt-error` before it, which is the same error: they share their digest."""
    reason, parent = message["stopReason"], entry.get("parentId")
    same = parent if reason == "aborted" and isinstance(parent, str) else entry_id
    said = message.get("errorMessage")
    error = said if isinstance(said, str) and said else text_of(message.get("content")) or str(reason)
    name = "aborted" if reason == "aborted" else "model"
    draft = Draft(digest_of("error", self.session_id, same), at, "error", entry_id, name, 0, error=error)
    kind = message.get("errorType") or message.get("errorCode")
    if isinstance(kind, str):
        draft.more["kind"] = kind
    return draft


def _call(self: Conversation, digest: int, at: int, entry_id: str, block: Mapping[str, Any]) -> Draft:
    name, arguments = called(block)
    draft = Draft(digest, at, "tool_call", entry_id, name, arguments=arguments, kept_out=self.muted)
    call_id = block.get("id")
    if isinstance(call_id, str):
        self.waiting[call_id] = draft
        self.answered.discard(call_id)
    return draft


def _result(self: Conversation, entry: Mapping[str, Any], message: Mapping[str, Any]) -> list[Draft]:
    call_id, tool = message.get("toolCallId"), message.get("toolName")
    call = self.waiting.pop(call_id, None) if isinstance(call_id, str) else None
    entry_id, identity = self._identity(entry)
    at = self._time(message.get("timestamp"), entry.get("timestamp"))
    outcome = outcome_of(message, text_of(message.get("content")))
    given: list[Draft] = []
    if call is None:
        if call_id in self.answered:
            # Said twice: the host mended its transcript.
            return []
        name = tool if isinstance(tool, str) and tool else "unknown"
        call = Draft(digest_of(identity), at, "tool_call", entry_id, name, kept_out=self.muted)
        call.more["call"] = "not found"
        given.append(call)
    elif call.written:
        given.append(call)
    if isinstance(call_id, str):
        self.answered.add(call_id)
    _fill_in(call, outcome, at)
    images = images_in(message.get("content"))
    if images:
        call.more["images"] = images
    spawned = _spawned(call, outcome, at, entry_id)
    return [*given, spawned] if spawned else given


def _fill_in(call: Draft, outcome: Outcome, at: int) -> None:
    call.ok = 0 if outcome.failed else 1
    call.exit_code = outcome.exit_code
    call.error = outcome.error
    call.duration_ms = max(0, at - call.at) if outcome.duration_ms is None else outcome.duration_ms
    call.result = outcome.text


def _spawned(call: Draft, outcome: Outcome, at: int, entry_id: str) -> Draft | None:
    """The sub-agent that a call started."""
    if call.name != "sessions_spawn" or outcome.failed:
        return None
    child, run = outcome.fields.get("childSessionKey"), outcome.fields.get("runId")
    if not isinstance(child, str):
        return None
    arguments = mapping(call.arguments)
    return spawned(
        at, child, run if isinstance(run, str) else None, arguments.get("task"), arguments.get("label"), entry_id,
        kept_out=call.kept_out,
    )  # fmt: skip


def spawned(
    at: int, child: str, run: str | None, task: object, label: object, entry_id: str | None = None, *,
    kept_out: bool = False,
) -> Draft:  # fmt: skip
    """A sub-agent that was started; the same one whether the transcript or the host's own list tells."""
    return Draft(
        digest_of("spawned", run or child),
        at,
        "subagent_spawned",
        entry_id,
        label if isinstance(label, str) and label else None,
        text=task if isinstance(task, str) and not kept_out else "",
        more={"child_key": child, "run_id": run},
    )


def _shell(self: Conversation, entry: Mapping[str, Any], message: Mapping[str, Any]) -> list[Draft]:
    """A command that the person ran themselves in the session."""
    entry_id, identity = self._identity(entry)
    at = self._time(message.get("timestamp"), entry.get("timestamp"))
    exit_code, output = number(message.get("exitCode")), message.get("output")
    failed = bool(message.get("cancelled")) or exit_code not in (None, 0)
    draft = Draft(digest_of(identity), at, "tool_call", entry_id, "bash", int(not failed), exit_code)
    draft.arguments = {"command": message.get("command")}
    draft.result = output if isinstance(output, str) else ""
    draft.error = f"exit code {exit_code}" if failed and exit_code else "cancelled" if failed else ""
    draft.kept_out = self.muted
    return [draft]


_MAKERS: Final[Mapping[str, Callable[[Conversation, Mapping[str, Any]], list[Draft]]]] = {
    "session": _session,
    "message": _message,
    "reset": _reset,
    "compaction": _compaction,
    "custom": _custom,
}
"""The entry types that give events (OpenClaw 2026.2 to 2026.9)."""

_ROLES: Final[Mapping[str, Callable[[Conversation, Mapping[str, Any], Mapping[str, Any]], list[Draft]]]] = {
    "user": _user,
    "assistant": _assistant,
    "toolResult": _result,
    "bashExecution": _shell,
}
