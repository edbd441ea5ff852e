"""demo: shipped transcripts become a memory, and nothing of the user's is read or written."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest

from builders import snapshot
from total_recall import resources
from total_recall.commands import demo
from total_recall.errors import TotalRecallError
from total_recall.memory.document import parse


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary folders are made while the test runs."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_each_shipped_store_becomes_a_memory(home: Path, scratch: Path) -> None:
    result = demo.run()
    assert [one.name for one in result.shown] == [folder.name for folder in resources.demo_homes()]
    for one in result.shown:
        assert one.messages > 0
        assert parse(one.document.encode()).observations
    assert "scratch workspace" in result.lines()[-2]
    assert len(json.loads(json.dumps(result.payload()))["stores"]) == 2


def test_it_leaves_nothing_behind_and_the_shipped_files_as_they_are(
    home: Path, scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENCLAW_WORKSPACE", str(home / "mine"))
    monkeypatch.setenv("LLM_BASE_URL", "http://127.0.0.1:1/v1")
    monkeypatch.setenv("LLM_MODEL", "never-asked")
    before = [snapshot(folder) for folder in resources.demo_homes()]
    demo.run()
    assert [snapshot(folder) for folder in resources.demo_homes()] == before
    assert not list(home.rglob("*")) and not list(scratch.iterdir())


def test_two_demos_show_the_same(home: Path, scratch: Path) -> None:
    assert demo.run() == demo.run()


def test_where_the_transcripts_are_not_shipped_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources, "demo_homes", list)
    with pytest.raises(TotalRecallError, match="total-recall observe"):
        demo.run()
