"""Takes secrets out of a text before anything is sent or stored; leaves a typed placeholder in their place. Pure.

The same secret gives the same placeholder within a memory, so that "the same key as before" still makes sense:
`[api-key 3f2a]`, four hexadecimal digits of a keyed hash. They cannot be turned back into the secret.
"""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from total_recall.privacy import headers, labelled, numbers, private_keys, provider_keys, seed_phrases
from total_recall.privacy.spans import KINDS, Kind, Span

Placeholder = Callable[[Kind, str], str]

SHORTEST_KEY = 16
"""Bytes."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A secret was at `start:end` of the text that was given; `placeholder` is there now. The secret is not kept."""

    kind: Kind
    start: int
    end: int
    placeholder: str


@dataclass(frozen=True, slots=True)
class Redacted:
    """`text` without secrets, and what was taken out, in order."""

    text: str
    found: tuple[Finding, ...] = ()


def redact(text: str, placeholder: Placeholder) -> Redacted:
    """`text` with each secret replaced by `placeholder(kind, secret)`; the same object where nothing was found.

    What is a secret: see the modules beside this one. Doing it twice changes nothing.
    """
    pieces: list[str] = []
    found: list[Finding] = []
    done = 0
    for span in find(text):
        stand_in = placeholder(span.kind, text[span.start : span.end])
        pieces += (text[done : span.start], stand_in)
        found.append(Finding(span.kind, span.start, span.end, stand_in))
        done = span.end
    if not found:
        return Redacted(text)
    return Redacted("".join((*pieces, text[done:])), tuple(found))


def placeholders(key: bytes) -> Placeholder:
    """Placeholders for one memory. `key` is random, at least 16 bytes, and belongs to that memory alone.

    The digits depend on the secret alone, not on what it was taken for: a password that is first told and later
    found in a URL stays recognisable. Spaces, hyphens and letter case of numbers and seed phrases do not count.
    Sixteen bits are too few to tell which of many secrets it was, for somebody who has the key too.
    Raises ValueError if `key` is shorter.
    """
    if len(key) < SHORTEST_KEY:
        raise ValueError(f"a placeholder key needs {SHORTEST_KEY} bytes, not {len(key)}")

    def placeholder(kind: Kind, secret: str) -> str:
        canonical = _CANONICAL.get(kind, str)(secret).encode("utf-8", "surrogatepass")
        return f"[{kind} {hashlib.blake2b(canonical, key=key[:64], digest_size=2).hexdigest()}]"

    return placeholder


def _letters_and_digits(secret: str) -> str:
    return "".join(filter(str.isalnum, secret)).upper()


def _words(secret: str) -> str:
    return " ".join(re.findall(r"[a-z]+", secret.lower()))


_CANONICAL: dict[Kind, Callable[[str], str]] = {
    "card-number": _letters_and_digits,
    "resident-number": _letters_and_digits,
    "iban": _letters_and_digits,
    "seed-phrase": _words,
}

# --- finding ----------------------------------------------------------------------------------------------------------

_PLACEHOLDER = re.compile(rf"\[(?:{'|'.join(KINDS)}) [0-9a-f]{{4}}\]")

_KEY_CHARACTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.~:+/=\\-"
_RUNS = bytes(120 if code in _KEY_CHARACTERS else 32 for code in range(256))
_DIGITS = bytes(48 if 48 <= code <= 57 else 32 for code in range(256))
_LONG_RUN = b"x" * provider_keys.SHORTEST
_MANY_DIGITS = b"0" * numbers.FEWEST_DIGITS


def find(text: str) -> tuple[Span, ...]:
    """Where the secrets of `text` lie, in order, apart from each other.

    Each family of rules stands behind a test of the whole text that costs less than one search with a regular
    expression, so that ordinary prose passes quickly.
    """
    spans = [span for span in _candidates(text) if span.end > span.start]
    return _apart(_without_placeholders(text, spans)) if spans else ()


def _candidates(text: str) -> Iterator[Span]:
    utf8 = text.encode("utf-8", "surrogatepass")
    lowered = _lowered(text)
    if _LONG_RUN in utf8.translate(_RUNS):
        yield from provider_keys.find(text)
    if _MANY_DIGITS in utf8.translate(_DIGITS, b" -"):
        yield from numbers.find(text)
    if seed_phrases.may_hold(utf8):
        yield from seed_phrases.find(text)
    if private_keys.MARK in text:
        yield from private_keys.find(text)
    yield from headers.find_in_headers(text, lowered)
    yield from headers.find_in_urls(text, lowered)
    yield from labelled.find(text, lowered)


def _without_placeholders(text: str, spans: list[Span]) -> list[Span]:
    """`spans` without those that touch a placeholder: what is left of a secret is none."""
    ours = [match.span() for match in _PLACEHOLDER.finditer(text)]
    ends = [end for _, end in ours]

    def is_free(span: Span) -> bool:
        following = bisect_right(ends, span.start)
        return following == len(ours) or ours[following][0] >= span.end

    return [span for span in spans if is_free(span)]


def _lowered(text: str) -> str:
    # "İ" alone becomes two characters in small letters; places must stay what they are.
    return text.replace("İ", "I").lower()


def _apart(spans: Iterable[Span]) -> tuple[Span, ...]:
    """`spans` in order; those that overlap become one, named by the most telling kind."""
    merged: list[Span] = []
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        if merged and span.start < merged[-1].end:
            last = merged.pop()
            kind = min(last.kind, span.kind, key=KINDS.index)
            merged.append(Span(kind, last.start, max(last.end, span.end)))
        else:
            merged.append(span)
    return tuple(merged)
