"""Likeness of meaning: vectors of memories, kept in `recall.sqlite`, and those that lie near a question's.

A text's vector is kept by what the text says, so that it is asked for once, wherever the line moves. What takes part in
a search is one number of as many bits as a vector has dimensions: the signs. The memories with the fewest other signs
are then compared in full (Charikar 2002; Yamada et al. 2021 use the same two steps).
"""

from __future__ import annotations

import math
import sqlite3
import struct
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from heapq import nsmallest
from operator import mul
from typing import Final

from total_recall.recall.database import transaction

COMPARED: Final = 200
"""Memories that are compared in full: 5 to 25 ms in Python, by dimension."""
_TOGETHER: Final = 500
_DIGEST_BYTES: Final = 16
_KEPT_FOR_LATER: Final = 2
"""So many times as many vectors as memories are kept, of lines that may come back."""

Vector = Sequence[float]


class Vectors:
    """The vectors of one model, of whatever memories (live and archived, no transcripts) the index holds."""

    def __init__(self, db: sqlite3.Connection, model: str) -> None:
        self._db = db
        self._model = model

    def missing(self, dimensions: int) -> list[tuple[int, str]]:
        """Memories without a vector: number and text, the newest first. What is kept of their texts is used first.

        Vectors of another model or of other dimensions, which that name had before, no longer count.
        """
        with transaction(self._db):
            row = self._db.execute("SELECT model, dimensions FROM embedding").fetchone()
            if row != (self._model, dimensions):
                self._db.execute("DELETE FROM embedded")
                self._db.execute("DELETE FROM embedding")
                self._db.execute("INSERT INTO embedding VALUES (?, ?)", (self._model, dimensions))
                self._db.execute(
                    "DELETE FROM vector WHERE model = ? AND length(value) <> ?", (self._model, 2 * dimensions)
                )
            return list(self._unknown())

    def _unknown(self) -> Iterator[tuple[int, str]]:
        rows = self._db.execute(
            "SELECT m.number, m.text FROM memory m JOIN source f ON f.number = m.source "
            "LEFT JOIN embedded e ON e.number = m.number LEFT JOIN item i ON i.number = m.number "
            "WHERE e.number IS NULL AND f.origin <> 'transcript' AND coalesce(i.form, 0) <> 1 ORDER BY m.number DESC"
        ).fetchall()
        for number, text in rows:
            digest = _digest(text)
            found = self._db.execute(
                "SELECT value FROM vector WHERE model = ? AND digest = ?", (self._model, digest)
            ).fetchone()
            if found is None:
                yield number, text
            else:
                self._file(number, digest, _signs(_unpacked(found[0])))

    def keep(self, memories: Sequence[tuple[int, str]], vectors: Sequence[Vector]) -> None:
        """File the vectors of these memories (number and text), of length 1."""
        with transaction(self._db):
            for (number, text), vector in zip(memories, vectors, strict=True):
                digest = _digest(text)
                self._db.execute(
                    "INSERT OR REPLACE INTO vector VALUES (?, ?, ?)", (self._model, digest, _packed(vector))
                )
                # It may be gone meanwhile, or its number be another's.
                row = self._db.execute("SELECT text FROM memory WHERE number = ?", (number,)).fetchone()
                if row is not None and row[0] == text:
                    self._file(number, digest, _signs(vector))
            self._prune()

    def _file(self, number: int, digest: bytes, signs: int) -> None:
        packed = signs.to_bytes((signs.bit_length() + 7) // 8, "big")
        self._db.execute("INSERT OR REPLACE INTO embedded VALUES (?, ?, ?)", (number, digest, packed))

    def _prune(self) -> None:
        kept = self._db.execute("SELECT count(*) FROM vector").fetchone()[0]
        used = self._db.execute("SELECT count(*) FROM embedded").fetchone()[0]
        if kept > _KEPT_FOR_LATER * used + _TOGETHER:
            self._db.execute(
                "DELETE FROM vector WHERE model <> ? OR digest NOT IN (SELECT digest FROM embedded)", (self._model,)
            )

    def like(self, asked: Vector) -> dict[int, float]:
        """Likeness of meaning to a vector of length 1, by number: above 0, at most 1, for the nearest.

        The cosine, from what it is for all memories on average (0) to the same text (1): models differ in where
        "nothing to do with it" lies.
        """
        signs = _signs(asked)
        distances = [
            ((int.from_bytes(bits, "big") ^ signs).bit_count(), number)
            for number, bits in self._db.execute("SELECT number, signs FROM embedded")
        ]
        if not distances:
            return {}
        usual = sum(distance for distance, _ in distances) / len(distances)
        # The share of differing signs is the angle, as a share of a half turn (Goemans and Williamson 1995).
        background = min(math.cos(math.pi * usual / len(asked)), 0.99)
        found: dict[int, float] = {}
        for number, vector in self._read([number for _, number in nsmallest(COMPARED, distances)]):
            cosine = sum(map(mul, vector, asked)) if len(vector) == len(asked) else 0.0
            likeness = (cosine - background) / (1.0 - background)
            if likeness > 0.0:
                found[number] = min(1.0, likeness)
        return found

    def _read(self, numbers: Sequence[int]) -> Iterator[tuple[int, tuple[float, ...]]]:
        query = (
            "SELECT e.number, v.value FROM embedded e JOIN vector v ON v.model = ? AND v.digest = e.digest "
            "WHERE e.number IN"
        )
        for start in range(0, len(numbers), _TOGETHER):
            some = numbers[start : start + _TOGETHER]
            for number, value in self._db.execute(f"{query} ({', '.join('?' * len(some))})", (self._model, *some)):
                yield number, _unpacked(value)


def _digest(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES).digest()


def _packed(vector: Vector) -> bytes:
    """Half precision: three digits, which is more than a likeness has."""
    return struct.pack(f"<{len(vector)}e", *vector)


def _unpacked(value: bytes) -> tuple[float, ...]:
    return struct.unpack(f"<{len(value) // 2}e", value)


def _signs(vector: Vector) -> int:
    return int("".join("1" if number > 0.0 else "0" for number in vector), 2)
