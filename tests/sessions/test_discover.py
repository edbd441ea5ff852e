"""Which stores are looked for, and for which agents."""

from __future__ import annotations

from pathlib import Path

import pytest

from builders import Database, Home, nobodys, said
from total_recall.errors import StoreError
from total_recall.sessions import discover
from total_recall.sessions.source import Problems
from total_recall.state import State


def test_every_folder_under_agents_is_an_agent(tmp_path: Path) -> None:
    for name in ("main", "ops", "Ünïcode agent"):
        (tmp_path / "agents" / name).mkdir(parents=True)
    (tmp_path / "agents" / "notes.txt").touch()
    (tmp_path / "agents" / "linked").symlink_to("ops")
    (tmp_path / "agents" / "dangling").symlink_to("nowhere")
    assert discover.agents_in(tmp_path) == ["linked", "main", "ops", "Ünïcode agent"]


def test_no_agents_at_all(tmp_path: Path) -> None:
    assert discover.agents_in(tmp_path) == []
    (tmp_path / "agents").touch()
    assert discover.agents_in(tmp_path) == []


def test_agents_that_may_not_be_listed_are_an_error_that_says_so() -> None:
    with nobodys() as folder:
        (folder / "agents").mkdir(mode=0)
        with pytest.raises(StoreError, match=r"agents cannot be listed: Permission denied; check its permissions"):
            discover.agents_in(folder)


def test_both_generations_are_looked_for_files_first(store: Home) -> None:
    assert [source.location.name for source in store.sources()] == [
        "sessions", "openclaw-agent.sqlite", "openclaw.sqlite",
    ]  # fmt: skip
    assert {source.agent for source in store.sources()} == {"main"}


def taken(directory: Path, own: Path) -> list[str]:
    texts = []
    with State.open(own) as state:
        for source in discover.in_directory(directory, latest_ms=10**13):
            for portion in source.portions(state, fresh=False, problems=Problems()):
                texts += [message.text for message in portion.messages]
    return texts


def test_sessions_dir_names_a_folder_of_transcripts(store: Home) -> None:
    store.write(said("a", "one"))
    assert taken(store.sessions, store.own) == ["one"]
    assert {source.agent for source in discover.in_directory(store.sessions, latest_ms=0)} == {"main"}


@pytest.mark.parametrize("place", ["agents/main/agent", "agents/main/sessions"])
def test_the_database_of_an_upgraded_store_is_found_from_its_sessions_folder(store: Home, place: str) -> None:
    path = store.root / place / discover.DATABASE
    store.write(said("a", "one"))
    path.parent.mkdir(exist_ok=True)
    database = Database(path)
    database.session()
    database.add(said("b", "two"))
    assert taken(store.sessions, store.own) == ["one", "two"]


def test_a_folder_outside_the_hosts_layout_is_read_as_files(tmp_path: Path, store: Home) -> None:
    folder = tmp_path / "some where"
    folder.mkdir()
    store.write(said("a", "one")).rename(folder / "copy.jsonl")
    assert taken(folder, store.own) == ["one"]


@pytest.mark.parametrize("make", [None, Path.touch])
def test_sessions_dir_that_is_no_folder_says_what_to_do(tmp_path: Path, make: object) -> None:
    path = tmp_path / "missing"
    if make is not None:
        path.touch()
    with pytest.raises(StoreError, match=r"SESSIONS_DIR is .*missing, which is no folder; correct it, or unset it"):
        discover.in_directory(path, latest_ms=0)
