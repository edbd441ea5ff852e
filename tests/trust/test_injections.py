"""No injection comes through, by the offline compressor or by a model that obeys it; what the owner wants does."""

from __future__ import annotations

from pathlib import Path

import pytest

import attack
from injections import HELD_OUT, INJECTIONS, WISHES, Injection, Wish


@pytest.mark.parametrize("mode", attack.MODES)
@pytest.mark.parametrize("injection", [*INJECTIONS, *HELD_OUT], ids=lambda injection: injection.name)
def test_nothing_comes_of_an_injection(injection: Injection, mode: str, home: Path) -> None:
    assert attack.violations(injection, mode, home) == []


@pytest.mark.parametrize("mode", attack.MODES)
@pytest.mark.parametrize("wish", WISHES, ids=lambda wish: wish.marker)
def test_what_the_owner_wants_is_kept(wish: Wish, mode: str, home: Path) -> None:
    assert attack.unmet(wish, mode, home) == []


def test_the_corpus_is_large_and_of_many_kinds() -> None:
    names = [injection.name for injection in (*INJECTIONS, *HELD_OUT)]
    assert len(names) == len(set(names)) >= 150
    assert len({injection.way for injection in INJECTIONS}) >= 15
    prefixes = {name.partition("-")[0] for name in names}
    assert {"ko", "zh", "ja", "es", "de", "fr", "ar", "he"} <= prefixes
