"""What a tool was asked, and how it went: OpenClaw 2026.2 to 2026.9. Pure.

`isError` alone is wrong in most versions: an exec with exit code 3 is no error in 2026.2.19 and 2026.9.6, a failed read
none in 2026.2.19.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson

_NAMES: Final = ("id", "name", "tool", "toolName", "tool_name")
_ARGUMENTS: Final = ("arguments", "args", "params", "parameters", "input")
"""Where `tool_call`, through which OpenClaw 2026.9 calls most tools, has the tool's name and arguments."""
_WRAPPER: Final = "tool_call"

_FAILED: Final = frozenset(("error", "failed", "timeout", "timed_out", "killed", "cancelled", "aborted", "forbidden"))
"""`details.status` of a call that did not do what it was asked."""
_LONGEST_JSON: Final = 100_000


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a call went. `fields` are what the tool reported as JSON, in `details` or in its text."""

    failed: bool
    exit_code: int | None
    duration_ms: int | None
    error: str
    text: str
    fields: Mapping[str, Any]


def called(block: Mapping[str, Any]) -> tuple[str, Any]:
    """(Name, arguments) of the tool that a `toolCall` block calls; what `tool_call` calls in its place."""
    name, arguments = block.get("name"), block.get("arguments")
    if isinstance(arguments, str):
        arguments = _parsed(arguments) or arguments
    if name == _WRAPPER and isinstance(arguments, dict):
        inner = next((arguments[key] for key in _NAMES if isinstance(arguments.get(key), str)), None)
        if inner:
            given = next((arguments[key] for key in _ARGUMENTS if key in arguments), None)
            if isinstance(given, str):
                given = _parsed(given) or given
            rest = {k: v for k, v in arguments.items() if k not in _NAMES}
            # `openclaw:core:sessions_spawn` is the same as `sessions_spawn`.
            return inner.rpartition(":")[2] or inner, rest if given is None else given
    return name if isinstance(name, str) and name else "unknown", arguments


def outcome_of(message: Mapping[str, Any], text: str) -> Outcome:
    """How the call went whose result is `message`, with `text` as its text."""
    details = message.get("details")
    fields: Mapping[str, Any] = details if isinstance(details, dict) else {}
    told: Mapping[str, Any] = _parsed(text) if text[:1] in "{ \n" and '"status"' in text else {}
    if message.get("toolName") == _WRAPPER:
        wrapped = _unwrapped(fields) or _unwrapped(_parsed(text))
        fields = {**wrapped, **fields}
        told = {**wrapped, **told}
    exit_code = fields.get("exitCode")
    exit_code = exit_code if type(exit_code) is int and abs(exit_code) < 1 << 53 else None
    failed = (
        message.get("isError") is True
        or fields.get("isError") is True
        or exit_code not in (None, 0)
        or fields.get("status") in _FAILED
        or told.get("status") == "error"
        or bool(fields.get("exitSignal"))
    )
    duration = fields.get("durationMs")
    return Outcome(
        failed,
        exit_code,
        round(duration) if isinstance(duration, (int, float)) and 0 <= duration < 1e15 else None,
        _error(fields, told, exit_code, text) if failed else "",
        text,
        {**told, **fields},
    )


def _unwrapped(answer: Mapping[str, Any]) -> dict[str, Any]:
    """What the tool itself reported behind `tool_call`: `{"tool": {…}, "result": {"content": […], "details": {…}}}`."""
    result = answer.get("result")
    if isinstance(result, str):
        return _parsed(result)
    if not isinstance(result, dict):
        return {}
    found = dict(result)
    content = result.get("content")
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict) and isinstance(block.get("text"), str):
            found |= _parsed(block["text"])
    details = result.get("details")
    return {**found, **details} if isinstance(details, dict) else found


def _error(fields: Mapping[str, Any], told: Mapping[str, Any], exit_code: int | None, text: str) -> str:
    """One line that says what went wrong."""
    for said in (fields.get("error"), told.get("error"), told.get("message")):
        message = said.get("message") if isinstance(said, dict) else said
        if isinstance(message, str) and message.strip():
            return message
    last = next((line.strip() for line in reversed(text[-2000:].split("\n")) if line.strip()), "")
    if exit_code not in (None, 0):
        return f"exit code {exit_code}: {last}" if last else f"exit code {exit_code}"
    return last or "failed"


def _parsed(text: str) -> dict[str, Any]:
    """The JSON object that a text is; an empty one for any other text."""
    if len(text) > _LONGEST_JSON:
        return {}
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return {}
    return value if isinstance(value, dict) else {}
