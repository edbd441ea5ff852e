"""Which free text models a provider's own list has, best first. Pure.

Source: OpenRouter, GET /api/v1/models: `data` is a list of models with `id`, `context_length`, `architecture`
(`input_modalities`, `output_modalities`), `pricing` (US dollars a token, as text; -1 where a router decides) and
`expiration_date`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from typing import Any

from total_recall.llm.quirks import parsed

FEWEST_CONTEXT_TOKENS = 16_000
"""A batch, the prompt, what is known already, and the answer."""
TAKEN = 2
FREE_ROUTER = "openrouter/free"
"""Picks some free model for each request: good to have behind the others, too changeable before them."""

_NAME = re.compile(r"[A-Za-z0-9._/:@+~-]{1,120}")
_NO_WRITERS = re.compile(r"embed|moderation|guard|shield|safety|rerank|reward|whisper|\b(?:ocr|tts|asr)\b")
"""They judge, index or transcribe, and cannot do this work."""
_LAST_RESORTS = re.compile(r"\b(?:alpha|beta|preview|experimental|exp|stealth|vl|vision)\b")
"""Gone tomorrow by design, or made for pictures."""


@dataclass(frozen=True, slots=True)
class _Model:
    name: str
    context_tokens: int

    @property
    def rank(self) -> tuple[bool, bool, int, str]:
        """A stable order: what will last before what will not, larger windows first, then by name."""
        return self.name == FREE_ROUTER, bool(_LAST_RESORTS.search(self.name)), -self.context_tokens, self.name


def free_text_models(body: bytes, today: date) -> tuple[str, ...] | None:
    """The names of free text models in a list of models, best first; None when it is no such list."""
    value = parsed(body)
    listed = value.get("data") if isinstance(value, dict) else None
    if not isinstance(listed, list):
        return None
    models = {model for entry in listed if (model := _usable(entry, today)) is not None}
    return tuple(model.name for model in sorted(models, key=lambda model: model.rank))


def taken_of(names: tuple[str, ...]) -> tuple[str, ...]:
    """The models to ask, of `free_text_models`: the first two, and behind them the router to free ones.

    One that will not last is taken only where nothing else is there.
    """
    first = [name for name in names if name != FREE_ROUTER]
    lasting = [name for name in first if not _LAST_RESORTS.search(name)]
    return (*(lasting or first)[:TAKEN], *(name for name in names if name == FREE_ROUTER))


def _usable(entry: object, today: date) -> _Model | None:
    """A model that writes text, reads enough of it, and costs nothing."""
    if not isinstance(entry, dict):
        return None
    name, window = entry.get("id"), entry.get("context_length")
    if not isinstance(name, str) or not _NAME.fullmatch(name) or _NO_WRITERS.search(name):
        return None
    if not isinstance(window, int) or window < FEWEST_CONTEXT_TOKENS:
        return None
    if not (_is_free(entry.get("pricing")) and _writes_text(entry.get("architecture")) and _stays(entry, today)):
        return None
    return _Model(name, window)


def _is_free(pricing: object) -> bool:
    """Whether prompt and completion cost nothing, nor anything else that has a price."""
    if not isinstance(pricing, dict) or not {"prompt", "completion"} <= pricing.keys():
        return False
    return all(_is_zero(price) for name, price in pricing.items() if price is not None or name in _TOKEN_PRICES)


_TOKEN_PRICES = ("prompt", "completion")


def _is_zero(price: Any) -> bool:
    try:
        return float(price) == 0
    except (TypeError, ValueError):
        return False


def _writes_text(architecture: object) -> bool:
    """Whether text goes in and nothing but text comes out; pictures may go in as well."""
    if not isinstance(architecture, dict):
        return False
    reads, writes = architecture.get("input_modalities"), architecture.get("output_modalities")
    if isinstance(reads, list) and isinstance(writes, list):
        return "text" in reads and writes == ["text"]
    before, _, after = str(architecture.get("modality") or "").partition("->")
    return "text" in before.split("+") and after == "text"


def _stays(entry: dict[str, Any], today: date) -> bool:
    """Whether the provider names no day, or a later one, on which the model goes."""
    try:
        return date.fromisoformat(str(entry.get("expiration_date"))[:10]) > today
    except ValueError:
        return True
