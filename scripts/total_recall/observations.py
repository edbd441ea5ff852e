"""What everyone who makes an observation shares: the words for its numbers, and its id. Pure."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Collection
from datetime import datetime

from total_recall.records import Certainty, Priority

ID_LENGTH = 6


def priority_of(importance: float) -> Priority:
    """🔴 from 6, 🟡 from 3, 🟢 below (design section 6)."""
    return "high" if importance >= 6 else "medium" if importance >= 3 else "low"


def certainty_of(confidence: float) -> Certainty:
    """The word for a confidence of 0-1 (design section 6)."""
    if confidence >= 0.9:
        return "explicit"
    if confidence >= 0.7:
        return "implicit"
    if confidence >= 0.5:
        return "inference"
    return "weak" if confidence >= 0.3 else "uncertain"


def free_id(text: str, at: datetime, sources: tuple[tuple[str, str], ...], taken: Collection[str]) -> str:
    """Six letters and digits made from what is said, when and by which messages; the first one that is not taken."""
    seed = repr((text, at.timestamp(), sources)).encode("utf-8", "surrogatepass")
    while True:
        seed = hashlib.sha256(seed).digest()
        name = base64.b32encode(seed).decode("ascii").lower()[:ID_LENGTH]
        if name not in taken:
            return name
