"""Which memory belongs to which stores: agents that share a workspace share a memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from total_recall import settings as settings_module
from total_recall.errors import TotalRecallError
from total_recall.host import openclaw_config
from total_recall.sessions import discover
from total_recall.sessions.entries import latest_believable
from total_recall.sessions.source import SessionSource, Watch, watch
from total_recall.settings import Locations, Settings

OWN_DIRECTORY = ".total-recall"


@dataclass(frozen=True, slots=True)
class Configuration:
    """Everything that is set, from the environment and from the host. `watches` are the files it was read from."""

    locations: Locations
    host: openclaw_config.HostConfig
    settings: Settings
    watches: tuple[Watch, ...] = ()


@dataclass(frozen=True, slots=True)
class Place:
    """One memory and the stores that feed it."""

    memory_dir: Path
    workspace: Path
    agents: tuple[str, ...]
    sources: tuple[SessionSource, ...]

    @property
    def own_dir(self) -> Path:
        """Our databases and locks."""
        return self.memory_dir / OWN_DIRECTORY

    @property
    def logs(self) -> Path:
        """`logs/` beside the memory directory."""
        return self.memory_dir.parent / "logs"

    @property
    def log(self) -> Path:
        """The observer's log."""
        return self.logs / "observer.log"


def configure(env: Mapping[str, str] | None = None) -> Configuration:
    """Read the host's configuration and every setting. Raises SettingError for a wrong one."""
    where = settings_module.locations(env)
    watches = [watch(where.config), watch(where.state_dir / "agents"), watch(where.state_dir / ".env")]
    host = _host(where)
    included = host.files[1:]
    if included:
        watches += [watch(path) for path in included]
        host = _host(where)
    settings = settings_module.load(
        host.agents[0].workspace, where.home, host_env=host.skill_env, host_timezone=host.user_timezone, env=env
    )
    watches.append(watch(settings.workspace / ".env"))
    if settings.sessions_dir is not None:
        watches.append(watch(settings.sessions_dir / "agents"))
    return Configuration(where, host, settings, tuple(watches))


def is_certain(config: Configuration) -> bool:
    """Whether it is certain where the memories are: an unreadable `openclaw.json` must not start a second one."""
    settings = config.settings
    return not config.host.problem or settings.workspace_is_set or settings.memory_dir_is_set


def _host(where: Locations) -> openclaw_config.HostConfig:
    return openclaw_config.load(where.state_dir, where.config, where.home, where.default_workspace, where.env)


def find(config: Configuration, now: datetime, only_agent: str | None = None) -> list[Place]:
    """The memories to serve, the default agent's first; with `only_agent` the one that this agent feeds.

    Raises StoreError when `SESSIONS_DIR` is no folder, TotalRecallError when there is no such agent.
    """
    latest_ms = latest_believable(now)
    settings, host = config.settings, config.host
    if settings.sessions_dir is not None and not (settings.sessions_dir / "agents").is_dir():
        sources = discover.in_directory(settings.sessions_dir, latest_ms=latest_ms)
        agents = tuple(dict.fromkeys(source.agent for source in sources))
        return [Place(settings.memory_dir, settings.workspace, agents, tuple(sources))]
    state_dir = settings.sessions_dir or config.locations.state_dir
    default = host.agents[0].id
    agents = tuple(dict.fromkeys([default, *(a.id for a in host.agents), *discover.agents_in(state_dir)]))
    if only_agent is not None:
        # Session keys, from which hooks take the name, are lower case.
        named = [agent for agent in agents if agent.casefold() == only_agent.casefold()]
        if not named:
            raise TotalRecallError(f"there is no agent {only_agent!r}; the agents are {', '.join(agents)}")
        only_agent = only_agent if only_agent in named else named[0]
    shared: dict[Path, list[str]] = {}
    workspaces: dict[Path, Path] = {}
    for agent in agents:
        workspace = settings.workspace if agent == default else host.agent(agent).workspace
        same = workspace.resolve() == settings.workspace.resolve()
        memory_dir = settings.memory_dir if same else workspace / "memory"
        shared.setdefault(memory_dir, []).append(agent)
        workspaces.setdefault(memory_dir, settings.workspace if same else workspace)
    return [
        Place(
            memory_dir,
            workspaces[memory_dir],
            tuple(members),
            tuple(s for agent in members for s in discover.of_agent(state_dir, agent, latest_ms=latest_ms)),
        )
        for memory_dir, members in shared.items()
        if only_agent is None or only_agent in members
    ]
