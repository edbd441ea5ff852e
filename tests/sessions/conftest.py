"""A home with an empty store for each test of a session source."""

from __future__ import annotations

from pathlib import Path

import pytest

from builders import Home


@pytest.fixture
def store(tmp_path: Path) -> Home:
    return Home(tmp_path / "openclaw", tmp_path / "own")
