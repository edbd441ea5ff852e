"""From drafts to the rows that may be written down: without secrets, and no longer than is useful. Pure.

Looking for secrets costs most of all here, and nearly always finds none: the texts of many events are looked through
in one piece, and each by itself only where that piece holds something.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Final

import orjson

from total_recall.sidecar.events import Draft
from total_recall.text import plain_line

Redact = Callable[[str], str]
Row = tuple[Any, ...]
"""The values of `COLUMNS`."""

COLUMNS: Final = (
    "digest", "at", "type", "entry", "name", "ok", "sensitive", "summary", "exit_code", "duration_ms", "error",
    "tokens_in", "tokens_out", "tokens_cached", "cost_usd", "details",
)  # fmt: skip

SUMMARY: Final = 200
TEXT: Final = 2_000
RESULT: Final = 160
FAILED_RESULT: Final = 800
ARGUMENT: Final = 400
ERROR: Final = 300
NAME: Final = 100
DETAILS: Final = 8_000
"""What is kept of each, in characters; of all details together, in bytes."""
AHEAD: Final = 256
"""Characters beyond what is kept that are looked through: a secret that begins in what is kept may end there. A run
without a space that is longer, and a PEM block, are not kept in part."""
HASHED: Final = 100_000
ITEMS: Final = 40
DEPTH: Final = 6
WORD: Final = 63
PIECE: Final = 16_000
"""Characters that are looked through in one piece."""
_APART: Final = "\n\n|||\n\n"

_TELLING: Final = (
    "command", "cmd", "path", "file_path", "filePath", "file", "url", "query", "pattern", "message", "task", "text",
    "prompt", "action", "name", "sessionKey",
)  # fmt: skip
"""The arguments that say most about a call, the first of them first."""


@dataclass(slots=True)
class Sanitiser:
    """Makes rows of drafts. `redact` takes secrets out of a text; doing it twice changes nothing."""

    redact: Redact
    _names: dict[str, str] = field(default_factory=dict)

    def rows(self, drafts: Sequence[Draft]) -> list[Row]:
        """A row for each draft, in order."""
        rows: list[Row] = []
        for group in _pieces(drafts):
            for draft, dirty in zip(group.drafts, self._dirty(group.texts), strict=True):
                rows.append(self._row(draft, self.redact if dirty else _as_it_is, sensitive=dirty))
        return rows

    def _dirty(self, texts: Sequence[str]) -> list[bool]:
        """Which of these hold something that is to be taken out."""
        piece = _APART.join(texts)
        redacted = self.redact(piece)
        if redacted == piece:
            return [False] * len(texts)
        parts = redacted.split(_APART)
        if len(parts) != len(texts):
            # Something was found across the line between two, or a text has that line itself.
            return [self.redact(text) != text for text in texts]
        return [part != text for part, text in zip(parts, texts, strict=True)]

    def _row(self, draft: Draft, redact: Redact, *, sensitive: bool) -> Row:
        if draft.type == "model_call":
            return self._model_call(draft)
        said = redact(_window(draft.text, TEXT)) if draft.text else ""
        error = redact(_window(draft.error, ERROR)) if draft.error else ""
        arguments = None
        if draft.arguments is not None and not draft.kept_out and not draft.written:
            arguments = _kept(draft.arguments, redact)
        details: dict[str, Any] = _kept({k: v for k, v in draft.more.items() if v is not None}, redact)
        if draft.kept_out:
            said = error = ""
            details["kept_out"] = True
        summary = _summary(said if draft.text else arguments)
        if arguments is not None:
            details["arguments"] = arguments
        if draft.result and not draft.kept_out:
            limit = RESULT if draft.ok else FAILED_RESULT
            details["result"] = _cut(redact(_window(draft.result, limit)), limit, draft.result)
        if said and said != summary:
            details["text"] = _cut(said, TEXT, draft.text)
        return (
            draft.digest, draft.at, draft.type, draft.entry, self._name(draft.name), draft.ok, int(sensitive), summary,
            draft.exit_code, draft.duration_ms, _line(error, ERROR) or None, draft.tokens_in, draft.tokens_out,
            draft.tokens_cached, draft.cost_usd, self._json(details, redact) if details else None,
        )  # fmt: skip

    def _model_call(self, draft: Draft) -> Row:
        """Four in ten events are one, and hold no words."""
        return (
            draft.digest, draft.at, draft.type, draft.entry, self._name(draft.name), draft.ok, 0, "", None, None, None,
            draft.tokens_in, draft.tokens_out, draft.tokens_cached, draft.cost_usd, None,
        )  # fmt: skip

    def _json(self, details: dict[str, Any], redact: Redact) -> str:
        packed = _fitting(details)
        redacted = redact(packed)
        # What is a secret only together with what stands around it is not taken apart again.
        return packed if redacted == packed else _dumped({"redacted": redacted})

    def _name(self, name: str | None) -> str | None:
        if name is None:
            return None
        known = self._names.get(name)
        if known is None:
            if len(self._names) > 10_000:
                self._names.clear()
            known = self._names[name] = _line(self.redact(name), NAME)
        return known


def _as_it_is(text: str) -> str:
    return text


@dataclass(slots=True)
class _Piece:
    """Drafts, and of each everything that is to be looked through."""

    drafts: list[Draft] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)


def _pieces(drafts: Sequence[Draft]) -> Iterator[_Piece]:
    piece, size = _Piece(), 0
    for draft in drafts:
        text = _everything(draft)
        piece.drafts.append(draft)
        piece.texts.append(text)
        size += len(text)
        if size > PIECE:
            yield piece
            piece, size = _Piece(), 0
    if piece.drafts:
        yield piece


def _everything(draft: Draft) -> str:
    """All texts of a draft; an argument stands behind its name, which may be what makes it a secret."""
    if draft.type == "model_call":
        return ""
    parts: list[str] = []
    if draft.text:
        parts.append(_window(draft.text, TEXT))
    if draft.error:
        parts.append(_window(draft.error, ERROR))
    if draft.arguments is not None and not draft.kept_out:
        parts += _lines(draft.arguments, "", DEPTH)
    if draft.result and not draft.kept_out:
        parts.append(_window(draft.result, RESULT if draft.ok else FAILED_RESULT))
    if draft.more:
        parts += _lines(draft.more, "", DEPTH)
    return "\n\n".join(parts)


def _lines(value: Any, name: str, depth: int) -> Iterable[str]:
    if isinstance(value, str):
        yield f"{name}: {_window(value, ARGUMENT)}" if name else _window(value, ARGUMENT)
    elif isinstance(value, dict) and depth:
        for key, inner in list(value.items())[:ITEMS]:
            if not key.isidentifier():
                yield key
            yield from _lines(inner, key, depth - 1)
    elif isinstance(value, list) and depth:
        for inner in value[:ITEMS]:
            yield from _lines(inner, name, depth - 1)
    elif type(value) in (int, float):
        yield f"{name}: {value}"


def _kept(value: Any, redact: Redact, name: str = "", depth: int = DEPTH) -> Any:
    """What is kept of arguments: their shape, their strings cut, and no secrets."""
    if isinstance(value, str):
        return _cut(_value(value, name, redact), ARGUMENT, value)
    if isinstance(value, dict):
        if not depth:
            return f"({len(value)} items)"
        kept = {
            _cut(redact(str(key)), NAME, str(key)): _kept(inner, redact, str(key), depth - 1)
            for key, inner in list(value.items())[:ITEMS]
        }
        if len(value) > ITEMS:
            kept["…"] = f"(+{len(value) - ITEMS} items)"
        return kept
    if isinstance(value, list):
        if not depth:
            return f"({len(value)} items)"
        items = [_kept(inner, redact, name, depth - 1) for inner in value[:ITEMS]]
        return [*items, f"(+{len(value) - ITEMS} items)"] if len(value) > ITEMS else items
    if type(value) is int and value.bit_length() > WORD:
        return f"(a number of {value.bit_length()} bits)"
    if type(value) in (int, float) and redact is not _as_it_is:
        said = f"{name}: {value}"
        return value if redact(said) == said else redact(said).removeprefix(f"{name}: ")
    return value


def _value(value: str, name: str, redact: Redact) -> str:
    """One string without secrets, also those that its name makes one."""
    window = _window(value, ARGUMENT)
    if redact is _as_it_is:
        return window
    head = f"{name}: "
    behind_its_name = redact(f"{head}{window}")
    if name and behind_its_name.startswith(head):
        window = behind_its_name[len(head) :]
    elif name and behind_its_name != f"{head}{window}":
        window = behind_its_name
    return redact(window)


def _window(text: str, kept: int) -> str:
    """As much of a text as has to be looked through for what is kept of it."""
    if len(text) <= kept + AHEAD:
        return text
    window = text[: kept + AHEAD]
    run = window.rsplit(None, 1)[-1]
    if len(run) > AHEAD:
        window = window[: len(window) - len(run)]
    pem = window.rfind(_PEM)
    return window if pem < 0 or "-----END" in window[pem:] else window[:pem]


_PEM: Final = "-----BEGIN"


def _cut(text: str, limit: int, original: str) -> str:
    """`text` within the limit; one that is cut tells the original's length and a short hash of it."""
    if len(text) <= limit and len(original) <= limit + AHEAD:
        return _sound(text)
    # Of a hundred megabytes the ends have to do.
    named = original if len(original) <= HASHED else f"{original[:HASHED]}{len(original)}"
    mark = blake2b(named.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
    return f"{_sound(text[:limit])}… [{len(original)} characters, {mark}]"


def _sound(text: str) -> str:
    """`text` with surrogate pairs joined and lone surrogates replaced: a database takes no other."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _summary(told: Any) -> str:
    """One line that says what this was: the first words, or the argument that says most."""
    if isinstance(told, str):
        return _line(told, SUMMARY)
    if isinstance(told, dict):
        for key in _TELLING:
            value = told.get(key)
            if isinstance(value, str) and value.strip():
                return _line(value, SUMMARY)
        value = next((v for v in told.values() if isinstance(v, str) and v.strip()), None)
        return _line(value, SUMMARY) if value is not None else _line(_dumped(told), SUMMARY) if told else ""
    return "" if told is None else _line(_dumped(told), SUMMARY)


def _line(text: str, limit: int) -> str:
    """`text` as one line within the limit."""
    head = text[: limit * 4]
    if not (head.isascii() and head.isprintable()):
        head = plain_line(head)
    return head if len(head) <= limit else f"{head[: limit - 1]}…"


def _fitting(details: dict[str, Any]) -> str:
    """Details as JSON within the limit: where they are over it, the arguments are what goes."""
    packed = _dumped(details)
    if len(packed) <= DETAILS:
        return packed
    kept = {**details, "arguments": _cut(_dumped(details.get("arguments")), TEXT, packed)}
    packed = _dumped(kept)
    if len(packed) <= 2 * DETAILS:
        return packed
    return _dumped({"cut": _cut(packed, TEXT, packed)})


def _dumped(value: Any) -> str:
    try:
        return orjson.dumps(value).decode()
    except (TypeError, orjson.JSONEncodeError):
        # What only Python takes for JSON.
        return orjson.dumps({"unreadable": _sound(repr(value))[:TEXT]}).decode()
