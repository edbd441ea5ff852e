"""Which memory belongs to which stores."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from builders import NOW
from total_recall.commands import places
from total_recall.commands.places import Configuration, Place
from total_recall.errors import StoreError, TotalRecallError


def configured(home: Path, agents: object = None, /, **env: str) -> Configuration:
    state_dir = home / ".openclaw"
    (state_dir / "agents" / "main" / "sessions").mkdir(parents=True, exist_ok=True)
    if agents is not None:
        (state_dir / "openclaw.json").write_text(json.dumps({"agents": agents}))
    return places.configure({"HOME": str(home), **env})


def found(home: Path, agents: object = None, /, **env: str) -> list[Place]:
    return places.find(configured(home, agents, **env), NOW)


def memories(where: list[Place], home: Path) -> dict[str, tuple[str, ...]]:
    return {str(place.memory_dir).replace(str(home), "~"): place.agents for place in where}


def test_one_agent_in_the_default_workspace(home: Path) -> None:
    (place,) = found(home)
    assert memories([place], home) == {"~/.openclaw/workspace/memory": ("main",)}
    assert place.own_dir == home / ".openclaw/workspace/memory/.total-recall"
    assert place.log == home / ".openclaw/workspace/logs/observer.log"
    locations = [str(source.location.relative_to(home / ".openclaw")) for source in place.sources]
    assert locations == [
        "agents/main/sessions", "agents/main/agent/openclaw-agent.sqlite", "state/openclaw.sqlite",
    ]  # fmt: skip


def test_each_agent_has_the_memory_of_its_workspace(home: Path) -> None:
    listed = [{"id": "main", "workspace": str(home / "a")}, {"id": "ops", "workspace": str(home / "b")}]
    assert memories(found(home, {"list": listed}), home) == {"~/a/memory": ("main",), "~/b/memory": ("ops",)}


def test_agents_that_share_a_workspace_share_a_memory(home: Path) -> None:
    entries = {name: {"workspace": str(home / "a")} for name in ("main", "ops")}
    (place,) = found(home, {"entries": entries})
    assert memories([place], home) == {"~/a/memory": ("main", "ops")}
    assert len(place.sources) == 6, "its transcripts, its database, and what was refused, of each"


def test_a_link_to_the_default_workspace_is_that_workspace(home: Path) -> None:
    (home / "a").mkdir()
    (home / "b").symlink_to("a")
    listed = [{"id": "main", "workspace": str(home / "a")}, {"id": "ops", "workspace": str(home / "b")}]
    assert memories(found(home, {"list": listed}), home) == {"~/a/memory": ("main", "ops")}


def test_an_agent_on_disk_that_is_not_configured_is_read_too(home: Path) -> None:
    (home / ".openclaw/agents/stray/sessions").mkdir(parents=True)
    assert memories(found(home, {"list": [{"id": "main"}]}), home) == {
        "~/.openclaw/workspace/memory": ("main",),
        "~/.openclaw/workspace-stray/memory": ("stray",),
    }


def test_memory_dir_moves_the_memory_of_the_default_agent(home: Path) -> None:
    listed = [{"id": "main"}, {"id": "ops", "workspace": str(home / "b")}]
    where = memories(found(home, {"list": listed}, MEMORY_DIR=str(home / "m")), home)
    assert where == {"~/m": ("main",), "~/b/memory": ("ops",)}


def test_the_workspace_of_the_environment_is_the_default_agents(home: Path) -> None:
    assert memories(found(home, OPENCLAW_WORKSPACE=str(home / "mine")), home) == {"~/mine/memory": ("main",)}


def test_one_agent_can_be_asked_for(home: Path) -> None:
    config = configured(home, {"list": [{"id": "main"}, {"id": "ops", "workspace": str(home / "b")}]})
    assert memories(places.find(config, NOW, "ops"), home) == {"~/b/memory": ("ops",)}
    with pytest.raises(TotalRecallError, match=r"there is no agent 'nobody'; the agents are main, ops"):
        places.find(config, NOW, "nobody")


def test_sessions_dir_is_one_store_for_one_memory(home: Path) -> None:
    folder = home / "elsewhere"
    folder.mkdir()
    (place,) = found(home, SESSIONS_DIR=str(folder))
    assert [source.location for source in place.sources] == [folder]
    assert memories([place], home) == {"~/.openclaw/workspace/memory": ("main",)}


def test_sessions_dir_may_be_a_whole_state_directory(home: Path) -> None:
    (home / "backup/agents/main/sessions").mkdir(parents=True)
    (place,) = found(home, SESSIONS_DIR=str(home / "backup"))
    assert {str(source.location)[: len(str(home / "backup"))] for source in place.sources} == {str(home / "backup")}


def test_sessions_dir_that_is_not_there_is_an_error(home: Path) -> None:
    with pytest.raises(StoreError, match=r"SESSIONS_DIR is .*nowhere"):
        found(home, SESSIONS_DIR=str(home / "nowhere"))


def test_what_was_read_is_watched(home: Path) -> None:
    config = configured(home, {"list": []}, SESSIONS_DIR=str(home / "backup"))
    watched = {w.path.replace(str(home), "~") for w in config.watches}
    assert watched == {
        "~/.openclaw/openclaw.json",
        "~/.openclaw/.env",
        "~/.openclaw/agents",
        "~/.openclaw/workspace/.env",
        "~/backup/agents",
        "~/.claude/settings.json",
    }


def test_a_profile_has_a_state_directory_of_its_own(home: Path) -> None:
    (home / ".openclaw-work/agents/main/sessions").mkdir(parents=True)
    where = memories(places.find(places.configure({"HOME": str(home), "OPENCLAW_PROFILE": "work"}), NOW), home)
    assert where == {"~/.openclaw-work/workspace/memory": ("main",)}
