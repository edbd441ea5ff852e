"""What a rule reports: where a secret lies in a text, and of what kind it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

Kind = Literal[
    "private-key", "seed-phrase", "card-number", "resident-number", "iban", "jwt", "api-key",
    "cookie", "pin", "password", "token", "secret",
]  # fmt: skip

KINDS: tuple[Kind, ...] = get_args(Kind)
"""The most telling kind first: of two rules that found the same text, the earlier names it."""


@dataclass(frozen=True, slots=True)
class Span:
    """`text[start:end]` is a secret."""

    kind: Kind
    start: int
    end: int
