"""What `openclaw.json` says that concerns us (openclaw.md sections 0.10, 1 and 7). Only ever read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from total_recall.host import openclaw_json

SKILL = "total-recall"


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent and the directory that it works in."""

    id: str
    workspace: Path


@dataclass(frozen=True, slots=True)
class HostConfig:
    """The host's settings, with its defaults filled in.

    `agents` holds the configured agents, the default one first. `skill_env` is what
    `skills.entries.total-recall` sets: the host hands that to agent turns only, not to cron, hooks or daemons.
    `files` are those it was read from; `notes` tell what in it cannot be had here.
    """

    state_dir: Path
    agents: tuple[Agent, ...]
    main_key: str = "main"
    user_timezone: str | None = None
    skill_env: Mapping[str, str] | None = field(default=None, repr=False)
    problem: str | None = None
    shared_root: Path | None = None
    files: tuple[Path, ...] = ()
    notes: tuple[str, ...] = ()

    def agent(self, agent_id: str) -> Agent:
        """The agent of that id; one that is not configured works where the host would put it."""
        for agent in self.agents:
            if agent.id == agent_id:
                return agent
        return Agent(agent_id, _own_workspace(agent_id, self.state_dir, self.shared_root))


def load(
    state_dir: Path, config_path: Path, home: Path, default_workspace: Path, env: Mapping[str, str]
) -> HostConfig:
    """Read the configuration; an absent file means the host's defaults, a broken one that and a `problem`.

    `env` is what `${VARIABLE}` and references to secrets in the environment stand for.
    """
    read = openclaw_json.read(config_path, env)
    host = _interpret(read.value, state_dir, home, default_workspace, env)
    notes = tuple(f"{config_path} names the variable {name}, which is not set here" for name in read.unset)
    return replace(host, problem=read.problem, files=read.files, notes=(*notes, *host.notes))


def _interpret(
    config: Mapping[str, object], state_dir: Path, home: Path, default_workspace: Path, env: Mapping[str, str]
) -> HostConfig:
    agents = _mapping(config.get("agents"))
    defaults = _mapping(agents.get("defaults"))
    shared = _path(defaults.get("workspace"), home)
    listed = _listed(agents)
    default_id = next((str(a["id"]) for a in listed if a.get("default") is True), None)
    default_id = default_id or (str(listed[0]["id"]) if listed else "main")
    found = []
    for entry in listed or [{"id": "main"}]:
        agent_id = str(entry["id"])
        workspace = _path(entry.get("workspace"), home)
        if workspace is None:
            own = _own_workspace(agent_id, state_dir, shared)
            workspace = (shared or default_workspace) if agent_id == default_id else own
        found.append(Agent(agent_id, workspace))
    found.sort(key=lambda agent: agent.id != default_id)
    skill = _mapping(_mapping(_mapping(config.get("skills")).get("entries")).get(SKILL))
    skill_env, notes = _skill_env(skill, env)
    return HostConfig(
        state_dir=state_dir,
        agents=tuple(found),
        main_key=_text(_mapping(config.get("session")).get("mainKey")) or "main",
        user_timezone=_text(defaults.get("userTimezone")),
        skill_env=skill_env,
        shared_root=shared,
        notes=notes,
    )


def _listed(agents: Mapping[str, object]) -> list[Mapping[str, object]]:
    """The agents of `agents.list[]` (to 2026.7.1) and of `agents.entries.{id}` (2026.9.6)."""
    listed: list[Mapping[str, object]] = []
    old, new = agents.get("list"), agents.get("entries")
    if isinstance(old, list):
        listed += [entry for entry in old if isinstance(entry, dict) and isinstance(entry.get("id"), str)]
    if isinstance(new, dict):
        listed += [{**entry, "id": agent_id} for agent_id, entry in new.items() if isinstance(entry, dict)]
    unique: dict[str, Mapping[str, object]] = {}
    for entry in listed:
        unique.setdefault(str(entry["id"]), entry)
    return list(unique.values())


def _own_workspace(agent_id: str, state_dir: Path, shared: Path | None) -> Path:
    """Where an agent without a path of its own works: what exists of the places that versions use."""
    places = [state_dir / f"workspace-{agent_id}"]
    if agent_id == "main":
        places.insert(0, state_dir / "workspace")
    if shared is not None:
        places.append(shared / agent_id)
    return next((place for place in places if place.is_dir()), places[0])


def _skill_env(skill: Mapping[str, object], env: Mapping[str, str]) -> tuple[Mapping[str, str], tuple[str, ...]]:
    """(What the skill's entry sets, what of it is out of reach here)."""
    values = _mapping(skill.get("env")).items()
    found = {name: str(value) for name, value in values if isinstance(value, (str, int, float))}
    key = skill.get("apiKey")
    if isinstance(key, dict):
        # A reference to a secret; of its kinds only the environment can be read without the host.
        name = _text(key.get("id"))
        value = env.get(name or "") if key.get("source") == "env" else None
        if not value:
            where = f"{key.get('source')}: {name}"
            return found, (f"the apiKey of skills.entries.{SKILL} is kept in {where}, out of reach here",)
        found.setdefault("OPENROUTER_API_KEY", value)
    elif (text := _text(key)) is not None:
        found.setdefault("OPENROUTER_API_KEY", text)
    return found, ()


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str | None:
    return value.strip() or None if isinstance(value, str) else None


def _path(value: object, home: Path) -> Path | None:
    text = _text(value)
    if text is None:
        return None
    return home / text[2:] if text.startswith("~/") else home if text == "~" else Path(text)

