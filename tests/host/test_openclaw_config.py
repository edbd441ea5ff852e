"""What `openclaw.json` says, in the forms of both generations, and what happens when it cannot be read."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from builders import nobodys
from total_recall.host.openclaw_config import HostConfig, load

ENV = {"OWN_KEY": "key-of-the-environment", "PLACE": "/srv/place"}


def read(home: Path, config: object = None) -> HostConfig:
    state_dir = home / ".openclaw"
    state_dir.mkdir(exist_ok=True)
    if config is not None:
        text = config if isinstance(config, str) else json.dumps(config)
        (state_dir / "openclaw.json").write_text(text, encoding="utf-8")
    return load(state_dir, state_dir / "openclaw.json", home, state_dir / "workspace", ENV)


def workspaces(config: HostConfig, home: Path) -> dict[str, str]:
    return {agent.id: str(agent.workspace).replace(str(home), "~") for agent in config.agents}


LISTED = [{"id": "main", "default": True}, {"id": "ops", "workspace": "/srv/ops"}]

WORKSPACES: tuple[tuple[str, object, dict[str, str]], ...] = (
    ("no file", None, {"main": "~/.openclaw/workspace"}),
    ("nothing said", {}, {"main": "~/.openclaw/workspace"}),
    ("defaults", {"agents": {"defaults": {"workspace": "/srv/ws"}}}, {"main": "/srv/ws"}),
    ("the home directory", {"agents": {"defaults": {"workspace": "~/ws"}}}, {"main": "~/ws"}),
    ("a list", {"agents": {"list": LISTED}}, {"main": "~/.openclaw/workspace", "ops": "/srv/ops"}),
    ("entries", {"agents": {"entries": {"ops": {"workspace": "/srv/ops"}}}}, {"ops": "/srv/ops"}),
    (
        "both, the list first",
        {"agents": {"list": [{"id": "a", "workspace": "/l"}], "entries": {"a": {"workspace": "/e"}, "b": {}}}},
        {"a": "/l", "b": "~/.openclaw/workspace-b"},
    ),
    (
        "the default agent first, wherever it stands",
        {"agents": {"list": [{"id": "a", "workspace": "/a"}, {"id": "b", "default": True, "workspace": "/b"}]}},
        {"b": "/b", "a": "/a"},
    ),
    ("an agent beside the default", {"agents": {"list": [{"id": "x"}, {"id": "y"}]}}, {
        "x": "~/.openclaw/workspace", "y": "~/.openclaw/workspace-y",
    }),
    ("nothing of the right kind", {"agents": {"list": {"id": "x"}, "entries": [1], "defaults": []}}, {
        "main": "~/.openclaw/workspace",
    }),
    ("entries that are no agents", {"agents": {"list": [None, "x", {"id": 7}, {}], "entries": {"y": None}}}, {
        "main": "~/.openclaw/workspace",
    }),
    ("agents of the wrong kind", {"agents": "main"}, {"main": "~/.openclaw/workspace"}),
)  # fmt: skip


@pytest.mark.parametrize(("config", "expected"), [c[1:] for c in WORKSPACES], ids=[c[0] for c in WORKSPACES])
def test_agents_and_their_workspaces(home: Path, config: object, expected: dict[str, str]) -> None:
    found = read(home, config)
    assert list(workspaces(found, home).items()) == list(expected.items())
    assert found.problem is None


@pytest.mark.parametrize("folder", ["workspace-ops", "shared/ops"])
def test_an_agent_without_a_path_works_where_its_version_put_it(home: Path, folder: str) -> None:
    (home / ".openclaw" / folder).mkdir(parents=True)
    shared = str(home / ".openclaw" / "shared")
    found = read(home, {"agents": {"defaults": {"workspace": shared}, "list": [{"id": "main"}, {"id": "ops"}]}})
    assert found.agent("ops").workspace == home / ".openclaw" / folder


def test_an_agent_that_is_not_configured_has_a_place_of_its_own(home: Path) -> None:
    assert read(home).agent("stray").workspace == home / ".openclaw" / "workspace-stray"


def test_json5_is_read(home: Path) -> None:
    text = "// mine\n{agents: {defaults: {workspace: '/srv/ws',}, /* later */}, session: {mainKey: 'home'},}\n"
    found = read(home, text)
    assert workspaces(found, home) == {"main": "/srv/ws"}
    assert found.main_key == "home"
    assert found.problem is None


def test_a_byte_order_mark_and_windows_line_ends_do_no_harm(home: Path) -> None:
    assert workspaces(read(home, '\ufeff{\r\n"agents":{"defaults":{"workspace":"/srv/ws"}}}\r\n'), home) == {
        "main": "/srv/ws"
    }


def test_the_time_zone_and_the_skills_own_settings(home: Path) -> None:
    env = {"LLM_MODEL": "m", "OBSERVER_LOOKBACK_MIN": 20, "READ_ONLY_MODE": True, "X": None, "Y": {}}
    config = {
        "agents": {"defaults": {"userTimezone": "Asia/Seoul"}},
        "skills": {"entries": {"total-recall": {"env": env, "apiKey": "example-key"}, "other": {"apiKey": "no"}}},
    }
    found = read(home, config)
    assert found.user_timezone == "Asia/Seoul"
    assert found.skill_env == {
        "LLM_MODEL": "m",
        "OBSERVER_LOOKBACK_MIN": "20",
        "READ_ONLY_MODE": "True",
        "OPENROUTER_API_KEY": "example-key",
    }


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "7", "null", "{agents: {", "[" * 100_000, '{"a":' * 50_000], ids=range(8)
)
def test_a_file_that_cannot_be_read_is_told_and_the_defaults_hold(home: Path, text: str) -> None:
    found = read(home, text)
    assert workspaces(found, home) == {"main": "~/.openclaw/workspace"}
    assert found.problem is not None
    assert "\n" not in found.problem
    assert "openclaw.json cannot be read" in found.problem


def test_bytes_that_are_no_text_are_told(home: Path) -> None:
    (home / ".openclaw").mkdir()
    (home / ".openclaw" / "openclaw.json").write_bytes(b'{"a":"\xff"}')
    assert "cannot be read" in (read(home).problem or "")


def test_a_configuration_that_may_not_be_read_is_told() -> None:
    with nobodys() as folder:
        read(folder, {})
        (folder / ".openclaw" / "openclaw.json").chmod(0)
        assert "Permission denied" in (read(folder).problem or "")


def test_a_configuration_that_is_being_saved_is_read_again(home: Path) -> None:
    """Else one run would believe in the default workspace and begin a second memory there."""
    whole = json.dumps({"agents": {"defaults": {"workspace": "/srv/ws"}}})
    saving = threading.Timer(0.02, read, (home, whole))
    (home / ".openclaw").mkdir()
    (home / ".openclaw" / "openclaw.json").write_text(whole[:20])
    saving.start()
    found = read(home)
    saving.join()
    assert workspaces(found, home) == {"main": "/srv/ws"}
    assert found.problem is None


FILLED: tuple[tuple[str, object, dict[str, str] | None], ...] = (
    ("a variable", {"apiKey": "${OWN_KEY}"}, {"OPENROUTER_API_KEY": "key-of-the-environment"}),
    ("inside a text", {"env": {"LLM_BASE_URL": "http://${PLACE}/v1"}}, {"LLM_BASE_URL": "http:///srv/place/v1"}),
    ("escaped", {"env": {"LLM_MODEL": "$${OWN_KEY}"}}, {"LLM_MODEL": "${OWN_KEY}"}),
    ("not set", {"apiKey": "${NOBODYS_KEY}"}, {}),
    ("no variable", {"env": {"LLM_MODEL": "a${b}c"}}, {"LLM_MODEL": "a${b}c"}),
    (
        "a reference to the environment",
        {"apiKey": {"source": "env", "provider": "default", "id": "OWN_KEY"}},
        {"OPENROUTER_API_KEY": "key-of-the-environment"},
    ),
    ("a reference to a file", {"apiKey": {"source": "file", "provider": "f", "id": "/key"}}, {}),
)


@pytest.mark.parametrize(("entry", "expected"), [c[1:] for c in FILLED], ids=[c[0] for c in FILLED])
def test_variables_and_references_stand_for_their_values(home: Path, entry: object, expected: object) -> None:
    assert read(home, {"skills": {"entries": {"total-recall": entry}}}).skill_env == expected


def test_what_cannot_be_had_is_told_without_stopping_anything(home: Path) -> None:
    entry = {"apiKey": {"source": "exec", "provider": "vault", "id": "key"}, "env": {"LLM_MODEL": "${NOBODYS}"}}
    config = read(home, {"skills": {"entries": {"total-recall": entry}}})
    assert config.problem is None
    variable, key = config.notes
    assert "NOBODYS" in variable and "exec: key" in key


def test_the_configurations_own_variables_count_after_the_environments(home: Path) -> None:
    entry = {"env": {"LLM_MODEL": "${OWN_MODEL}", "LLM_API_KEY": "${OWN_KEY}"}}
    own = {"vars": {"OWN_MODEL": "m", "OWN_KEY": "not this one"}}
    assert read(home, {"env": own, "skills": {"entries": {"total-recall": entry}}}).skill_env == {
        "LLM_MODEL": "m",
        "LLM_API_KEY": "key-of-the-environment",
    }


def included(home: Path, **files: str) -> None:
    folder = home / ".openclaw"
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / f"{name}.json5").write_text(text, encoding="utf-8")


def test_an_included_file_names_the_workspace(home: Path) -> None:
    included(home, agents="{ defaults: { workspace: '${PLACE}' } } // mine")
    config = read(home, {"agents": {"$include": "./agents.json5"}})
    assert workspaces(config, home) == {"main": "/srv/place"}
    assert [path.name for path in config.files] == ["openclaw.json", "agents.json5"]


def test_of_several_the_later_counts_and_what_stands_beside_them_most(home: Path) -> None:
    included(home, a="{ defaults: { workspace: '/a', userTimezone: 'UTC' } }", b="{ defaults: { workspace: '/b' } }")
    config = read(home, {"agents": {"$include": ["a.json5", "b.json5"]}})
    assert (workspaces(config, home), config.user_timezone) == ({"main": "/b"}, "UTC")
    config = read(home, {"agents": {"$include": ["a.json5", "b.json5"], "defaults": {"workspace": "/beside"}}})
    assert workspaces(config, home) == {"main": "/beside"}


BROKEN = (
    ("absent", {"$include": "absent.json5"}, "absent.json5"),
    ("out of the folder", {"$include": "../other.json5"}, "leads out of"),
    ("in a circle", {"$include": "circle.json5"}, "more than 10 deep"),
    ("no name", {"$include": 7}, "no file name"),
)


@pytest.mark.parametrize(("agents", "words"), [c[1:] for c in BROKEN], ids=[c[0] for c in BROKEN])
def test_an_include_that_cannot_be_followed_is_a_problem(home: Path, agents: object, words: str) -> None:
    """The workspace may be named there: nothing may go on with another one."""
    included(home, circle="{ $include: 'circle.json5' }")
    assert words in (read(home, {"agents": agents}).problem or "")
