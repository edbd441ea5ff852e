"""How providers misbehave, as tables: what a status, an error body or an odd answer means.

Nothing here sends anything. Success is read from the status, the `error` member (a string or an object, also under
200) and `finish_reason`, never from words in the answer's text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import Any, Literal
from urllib.parse import urlsplit

Kind = Literal["busy", "gone", "auth", "credit", "too-large", "refused", "bad-reply"]
"""What went wrong: worth a retry, model not there, key refused, no money, prompt too large, refused, no answer."""

BY_STATUS: Mapping[int, Kind] = {
    400: "refused", 401: "auth", 402: "credit", 403: "auth", 404: "gone", 405: "refused", 408: "busy", 409: "busy",
    410: "gone", 413: "too-large", 422: "refused", 425: "busy", 429: "busy",
}  # fmt: skip
"""A status that stands here or, from 500 on, is `busy`; the body may say it more exactly."""

RETRY_CAP_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a request brought no answer.

    The provider takes requests of at most `limit_tokens` and counted this one, with the answer that it may give, as
    `requested_tokens`; it grants answers of at most `affordable_tokens`. `retry_after` is in seconds. `parameter` is
    the one that it objects to. `detail` is the provider's own words, on one line.
    """

    kind: Kind
    status: int
    detail: str
    retry_after: float | None = None
    limit_tokens: int | None = None
    requested_tokens: int | None = None
    affordable_tokens: int | None = None
    parameter: str | None = None


Finish = Literal["stop", "length", "other"]


@dataclass(frozen=True, slots=True)
class Choice:
    """A model's answer as it came: `text` is what it said, `thoughts` what it thought aloud beside it."""

    text: str
    thoughts: str
    finish: Finish
    tokens_in: int | None
    tokens_out: int | None
    tokens_cached: int | None
    cost_usd: float | None


@dataclass(frozen=True, slots=True)
class Wording:
    """A message that says more than its status: `pattern` in the error's code, type and message (lower case)."""

    name: str
    pattern: re.Pattern[str]
    kind: Kind
    seen_at: str


def _words(*alternatives: str) -> re.Pattern[str]:
    return re.compile("|".join(alternatives))


WORDINGS: tuple[Wording, ...] = (
    Wording(
        "no money",
        _words(
            r"insufficient (?:credits?|balance|quota|funds)", r"insufficient_quota", r"can only afford",
            r"requires more credits",
        ),
        "credit",
        "OpenAI 429, OpenRouter 402, DeepSeek 402",
    ),
    Wording(
        "context window",
        _words(
            r"context_length_exceeded", r"context length", r"context window", r"maximum context", r"prompt is too long",
            r"exceeds? the (?:available )?context", r"exceed_context_size", r"too many (?:input )?tokens",
            r"input is too long", r"request too large", r"reduce your message size", r"request entity too large",
        ),
        "too-large",
        "OpenAI, vLLM, llama.cpp, Anthropic gateways: 400 or 500; Groq 413",
    ),
    Wording(
        "model not there",
        _words(
            r"no endpoints found", r"model_not_found",
            r"\bmodel ['\"`]?[^ ]+['\"`]? (?:does not exist|not found|is not available)",
            r"no such model", r"is not a valid model", r"\bmodel not found", r"model_not_available", r"unknown model",
            r"model_decommissioned", r"has been decommissioned",
        ),
        "gone",
        "OpenRouter 404, OpenAI 404, Ollama 404, Groq 400, others 400",
    ),
    Wording(
        "key refused",
        _words(r"invalid[ _]api[ _]key", r"incorrect api key", r"no auth credentials", r"api key not valid"),
        "auth",
        "400 or 401 at several",
    ),
    Wording(
        "flagged",
        _words(r"moderation", r"\bflagged\b", r"content[_ ]policy", r"content[_ ]filter"),
        "refused",
        "OpenRouter 403, Azure 400",
    ),
    Wording(
        "over the rate limit",
        _words(r"rate limit", r"rate_limit", r"too many requests", r"overloaded", r"temporarily", r"loading model"),
        "busy",
        "OpenRouter free models: 200 with code 429; 529 at Anthropic; llama.cpp 503",
    ),
)  # fmt: skip
"""In order; the first that fits an *error* decides. Never looked for in an answer."""

_N = r"\d[\d,]*"
_COUNTS: tuple[re.Pattern[str], ...] = (
    re.compile(rf"limit:?\s+(?P<limit>{_N})\D{{0,20}}requested:?\s+(?P<requested>{_N})", re.I),
    re.compile(
        rf"context (?:length|window)(?: is|:| of)? (?P<limit>{_N}) tokens.{{0,60}}?"
        rf"(?:requested|resulted in|has|contains?) (?:about )?(?P<requested>{_N})",
        re.I | re.S,
    ),
    re.compile(rf"request \((?P<requested>{_N}) tokens\) exceeds the available context size \((?P<limit>{_N}) ", re.I),
    re.compile(rf"(?P<requested>{_N}) tokens > (?P<limit>{_N}) maximum", re.I),
)
"""How providers say how much was asked and how much they take: Groq; OpenAI and vLLM; llama.cpp; Anthropic."""
_AFFORD: tuple[re.Pattern[str], ...] = (
    re.compile(r"can only afford (\d[\d,]*)", re.I),
    re.compile(r"supports at most (\d[\d,]*) completion tokens", re.I),
    re.compile(r"max_tokens['\"`]? must be (?:less than or equal to|at most|<=) ['\"`]?(\d[\d,]*)", re.I),
)
"""The longest answer: OpenRouter's credit; OpenAI's and Groq's limit of the model."""
_TRY_AGAIN = re.compile(r"try again in (?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+(?:\.\d+)?)(ms|s))?", re.I)
_PARAMETER = re.compile(r"\b(max_tokens|max_completion_tokens|temperature)\b", re.I)
_SPACE = re.compile(r"\s+")


def fault_of(
    status: int, headers: Mapping[str, str], body: bytes, now: datetime, member: str = "choices"
) -> Fault | None:
    """Why this response is no answer; None when it may be one. `headers` by lower-case name.

    `member` is the list that an answer has.
    """
    if 300 <= status < 400:
        return Fault("bad-reply", status, _moved(headers))
    value = parsed(body)
    error = _error_member(value)
    if 200 <= status < 300 and error is None:
        if value is None:
            start = one_line(body.decode("utf-8", "replace"), 80)
            return Fault("bad-reply", status, _page(body) or f"not JSON: {start!r}")
        if not isinstance(value, dict) or not isinstance(value.get(member), list) or not value[member]:
            return Fault("bad-reply", status, f"no {member} in the reply")
        return None
    message, code, parameter = _told(error, body)
    status = code if isinstance(code, int) and 400 <= code < 600 else status
    limit, requested = _counts(message)
    asked = retry_after(headers, now)
    over = limit is not None and requested is not None and requested > limit
    return Fault(
        "too-large" if over else _kind(status, f"{code} {message}".lower()),
        status,
        one_line(message),
        _try_again(message) if asked is None else asked,
        limit if over else None,
        requested if over else None,
        next((_number(match[1]) for pattern in _AFFORD if (match := pattern.search(message))), None),
        parameter,
    )


def _kind(status: int, wording: str) -> Kind:
    """By the words where they say more than the status, else by the status."""
    by_status = BY_STATUS.get(status, "busy" if status >= 500 else "bad-reply" if status < 400 else "refused")
    by_words = next((w.kind for w in WORDINGS if w.pattern.search(wording)), None)
    if by_words is None or (by_words == "busy" and by_status not in ("refused", "bad-reply")):
        return by_status
    if status == 429 and by_words != "credit":
        # "Too many tokens" without numbers is about the last minute, not about this request.
        return by_status
    return by_words


def choice_of(body: bytes) -> Choice:
    """The answer in a body for which `fault_of` found no fault."""
    value = parsed(body)
    assert isinstance(value, dict)
    first = value["choices"][0] if isinstance(value["choices"][0], dict) else {}
    message = first.get("message")
    message = message if isinstance(message, dict) else {}
    text = _text(message.get("content")) or _text(first.get("text"))
    thoughts = next((t for t in (_text(message.get(name)) for name in ("reasoning_content", "reasoning")) if t), "")
    usage = value.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    details = usage.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else usage.get("prompt_cache_hit_tokens")
    cost = usage.get("cost")
    return Choice(
        text=text,
        thoughts=thoughts,
        finish=_FINISHES.get(str(first.get("finish_reason") or "stop"), "other"),
        tokens_in=_count(usage.get("prompt_tokens")),
        tokens_out=_count(usage.get("completion_tokens")),
        tokens_cached=_count(cached),
        cost_usd=float(cost) if isinstance(cost, (int, float)) and not isinstance(cost, bool) else None,
    )


_FINISHES: Mapping[str, Finish] = {
    "stop": "stop", "end_turn": "stop", "eos": "stop", "stop_sequence": "stop",
    "length": "length", "max_tokens": "length",
}  # fmt: skip


def retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """Seconds that the provider asks to wait, at most `RETRY_CAP_SECONDS`; `headers` by lower-case name."""
    for name, read in _WAITS:
        value = headers.get(name, "").strip()
        if value:
            seconds = read(value, now)
            if seconds is not None:
                return min(max(seconds, 0.0), RETRY_CAP_SECONDS)
    return None


def _seconds(value: str, _now: datetime) -> float | None:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(ms|s)?", value)
    return None if match is None else float(match[1]) / (1000 if match[2] == "ms" else 1)


def _seconds_or_date(value: str, now: datetime) -> float | None:
    seconds = _seconds(value, now)
    if seconds is not None:
        return seconds
    try:
        at = parsedate_to_datetime(value)
    except (TypeError, ValueError):
        return None
    return ((at if at.tzinfo else at.replace(tzinfo=timezone.utc)) - now).total_seconds()


def _milliseconds(value: str, _now: datetime) -> float | None:
    return float(value) / 1000 if re.fullmatch(r"\d+(?:\.\d+)?", value) else None


_WAITS: tuple[tuple[str, Callable[[str, datetime], float | None]], ...] = (
    ("retry-after-ms", _milliseconds),
    ("retry-after", _seconds_or_date),
)


def _try_again(message: str) -> float | None:
    """The wait in "Please try again in 1m5.2s" (Groq, OpenAI), capped like a header's."""
    match = _TRY_AGAIN.search(message)
    if match is None or not any(match.groups()):
        return None
    hours, minutes, rest, unit = match.groups()
    seconds = int(hours or 0) * 3600 + int(minutes or 0) * 60 + float(rest or 0) / (1000 if unit == "ms" else 1)
    return min(seconds, RETRY_CAP_SECONDS)


def parsed(body: bytes) -> Any:
    """The body as JSON, or None."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def one_line(text: str, limit: int = 200) -> str:
    """The provider's words for a message: one printable line, not endless."""
    line = _SPACE.sub(" ", "".join(c if c.isprintable() else " " for c in text)).strip()
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _error_member(value: object) -> object | None:
    """The error that a body reports: `error` as text or object, also inside the first choice or a one-item list."""
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, dict):
        return None
    if value.get("error"):
        return value["error"]  # type: ignore[no-any-return]
    choices = value.get("choices")
    if isinstance(choices, list) and choices and isinstance(choices[0], dict) and choices[0].get("error"):
        return choices[0]["error"]  # type: ignore[no-any-return]
    if value.get("object") == "error" or (not choices and any(value.get(name) for name in ("message", "detail"))):
        return value
    return None


def _told(error: object, body: bytes) -> tuple[str, object, str | None]:
    """(message, code or type, name of the offending parameter) of an error."""
    if isinstance(error, dict):
        message = error.get("message") or error.get("msg") or error.get("detail") or ""
        inner = error.get("metadata")
        raw = inner.get("raw") if isinstance(inner, dict) else None
        message = f"{message} ({raw})" if isinstance(raw, str) and raw not in str(message) else str(message)
        code = error.get("code")
        code = int(code) if isinstance(code, str) and code.isdigit() else code
        kind = error.get("type")
        told = message or str(kind or code or "no reason given")
        return told, code if code is not None else kind, _parameter(f"{error.get('param') or ''} {message}")
    if isinstance(error, str):
        return error, None, _parameter(error)
    return _page(body) or body.decode("utf-8", "replace") or "no body", None, None


def _page(body: bytes) -> str | None:
    """An HTML page by its title, None for anything else."""
    start = body[:4000].decode("utf-8", "replace")
    if not re.search(r"<(?:html|!doctype html|body)\b", start, re.I):
        return None
    title = re.search(r"<(title|h1)[^>]*>(.*?)</\1", start, re.I | re.S)
    return f"an HTML page ({one_line(title[2], 60)})" if title else "an HTML page"


def _moved(headers: Mapping[str, str]) -> str:
    parts = urlsplit(headers.get("location", ""))
    where = f"{parts.scheme}://{parts.hostname or ''}{parts.path}" if parts.scheme else parts.path or "somewhere else"
    return f"moved to {one_line(where)}"


def _counts(message: str) -> tuple[int | None, int | None]:
    """(tokens that the provider takes, tokens that it counted), where it says both."""
    match = next((m for pattern in _COUNTS if (m := pattern.search(message))), None)
    return (_number(match["limit"]), _number(match["requested"])) if match else (None, None)


def _parameter(text: str) -> str | None:
    match = _PARAMETER.search(text)
    return match[1].lower() if match else None


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = [p.get("text") for p in content if isinstance(p, dict) and p.get("type") in ("text", "output_text")]
        return "".join(p for p in parts if isinstance(p, str))
    return ""


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _number(digits: str) -> int:
    return int(digits.replace(",", ""))
