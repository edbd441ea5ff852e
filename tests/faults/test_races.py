"""Everybody at one memory at once, for some seconds; `python tests/faults/everything.py --races 60` for longer."""

from __future__ import annotations

from pathlib import Path

import races
from scenes import grown


def test_many_processes_at_one_memory(home: Path) -> None:
    grown(home)
    outcome = races.race(home, seconds=10, seed=1)
    assert outcome.wrong == []
    assert outcome.runs["observe"] and outcome.runs["reflect"] and outcome.said and outcome.written
