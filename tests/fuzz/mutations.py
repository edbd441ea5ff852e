"""Damaged input, made from good input: cut, doubled, swapped, overwritten, with pieces put in that mean something."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hypothesis import strategies as st

from targets import DICTIONARY

SEEDS = Path(__file__).parent / "seeds"
Edit = tuple[str, float, float, bytes]


def seeds_of(target: str) -> list[bytes]:
    """The good and once-bad inputs of a target."""
    return [path.read_bytes() for path in sorted((SEEDS / target).iterdir())]


def damaged(target: str) -> st.SearchStrategy[bytes]:
    """Bytes near a seed of the target, or any bytes."""
    edits = st.tuples(
        st.sampled_from(("insert", "cut", "overwrite", "double", "end")),
        st.floats(0, 1), st.floats(0, 1), st.one_of(st.sampled_from(DICTIONARY), st.binary(max_size=6)),
    )  # fmt: skip
    near = st.builds(_edited, st.sampled_from(seeds_of(target)), st.lists(edits, min_size=1, max_size=6))
    return st.one_of(near, near, near, st.binary(max_size=300))


def _edited(content: bytes, edits: Sequence[Edit]) -> bytes:
    for kind, where, how_much, piece in edits:
        at = int(where * len(content))
        to = min(len(content), at + int(how_much * 40))
        content = {
            "insert": content[:at] + piece + content[at:],
            "cut": content[:at] + content[to:],
            "overwrite": content[:at] + piece + content[at + len(piece) :],
            "double": content[:to] + content[at:],
            "end": content[:at],
        }[kind]
    return content
