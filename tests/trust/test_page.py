"""docs/security.md names tests that exist, and counts what is there."""

from __future__ import annotations

import re
from pathlib import Path

from injections import HELD_OUT, INJECTIONS, WISHES

REPOSITORY = Path(__file__).parents[2]
PAGE = (REPOSITORY / "docs" / "security.md").read_text("utf-8")


def test_the_tests_that_it_names_exist() -> None:
    files = set(re.findall(r"`(tests/[\w/]+\.py)`", PAGE))
    assert len(files) >= 8
    assert [name for name in sorted(files) if not (REPOSITORY / name).is_file()] == []
    sources = "".join(path.read_text("utf-8") for path in (REPOSITORY / "tests" / "trust").glob("*.py"))
    assert [name for name in re.findall(r"`(test_\w+)`", PAGE) if f"def {name}(" not in sources] == []


def test_the_corpora_are_as_large_as_it_says() -> None:
    assert f"| {len(INJECTIONS)} injections, offline |" in PAGE
    assert f"| {len(HELD_OUT)} held-out injections, offline |" in PAGE
    assert f"own {len(WISHES)} wishes" in PAGE
