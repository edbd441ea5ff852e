"""Which memory belongs to which stores: that of the agents in a workspace, that of a project of another host."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from total_recall import settings as settings_module
from total_recall.commands import projects
from total_recall.commands.projects import OWN, Projects, Served, Store
from total_recall.errors import TotalRecallError
from total_recall.host import openclaw_config
from total_recall.sessions import discover
from total_recall.sessions.entries import latest_believable
from total_recall.sessions.source import SessionSource, Watch, watch
from total_recall.settings import Locations, Settings

OWN_DIRECTORY = OWN
OPENCLAW = "openclaw"
DEFAULT_AGENT = "main"
PROJECT = "project:"
"""How an agent's name begins that stands for the project at a directory (`--project`)."""
CONTEXT_CHARACTERS = {OPENCLAW: 12_000, "claude-code": 9_900}
"""What of a ready-made context is given to the agent whole: OpenClaw 2026.5 cuts the middle out of longer files, Claude
Code shows a preview instead."""
INSIDE = ("CLAUDECODE",)
"""Variables that say that this runs inside a session of another host."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """Everything that is set, from the environment and from the host. `watches` are the files it was read from.

    `others` are the hosts beside OpenClaw that are served. `is_alone` says that OpenClaw is not here: then what is ours
    is in `~/.total-recall`. `unserved` is filled by `find`: what stores look like that feed no memory.
    """

    locations: Locations
    host: openclaw_config.HostConfig
    settings: Settings
    watches: tuple[Watch, ...] = ()
    others: tuple[Served, ...] = ()
    is_alone: bool = False
    unserved: list[Watch] = field(default_factory=list, compare=False)


@dataclass(frozen=True, slots=True)
class Place:
    """One memory and what feeds it. `host` is whose it is, `stores` are those of another host than OpenClaw."""

    memory_dir: Path
    workspace: Path
    agents: tuple[str, ...]
    sources: tuple[SessionSource, ...]
    host: str = OPENCLAW
    stores: tuple[Store, ...] = ()

    @property
    def context_characters(self) -> int:
        """How long a ready-made context may be."""
        return min(CONTEXT_CHARACTERS.get(host, CONTEXT_CHARACTERS[OPENCLAW]) for host in (self.host, *self._hosts))

    @property
    def _hosts(self) -> list[str]:
        return [store.host.name for store in self.stores]

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


def configure(env: Mapping[str, str] | None = None, hosts: Collection[str] = ()) -> Configuration:
    """Read the host's configuration and every setting. `hosts` are served in any case. Raises SettingError."""
    where = settings_module.locations(env)
    up = [host for host in projects.HOSTS if host.name in hosts or host.is_set_up(where.env, where.home)]
    is_alone = _is_alone(where, bool(up))
    watches = [watch(where.config), watch(where.state_dir / "agents"), watch(where.state_dir / ".env")]
    watches += [watch(host.settings(where.env, where.home)) for host in projects.HOSTS if host.settings is not None]
    host = _host(where)
    included = host.files[1:]
    if included:
        watches += [watch(path) for path in included]
        host = _host(where)
    settings = settings_module.load(
        where.home / OWN if is_alone else host.agents[0].workspace,
        where.home,
        host_env=host.skill_env,
        host_timezone=host.user_timezone,
        env=env,
    )
    watches.append(watch(settings.workspace / ".env"))
    if settings.sessions_dir is not None:
        watches.append(watch(settings.sessions_dir / "agents"))
    others = projects.served(settings.hosts, where.env, where.home, hosts)
    if others:
        watches.append(watch(projects.registry(where.home)))
    return Configuration(where, host, settings, tuple(watches), others, is_alone)


def _is_alone(where: Locations, is_other_set_up: bool) -> bool:
    """Whether another host is served and OpenClaw has never been here."""
    names = (settings_module.WORKSPACE, "OPENCLAW_WORKSPACE_DIR", "SESSIONS_DIR")
    is_named = any(where.env.get(name, "").strip() for name in names)
    is_there = where.state_dir.is_dir() or where.config.exists()
    is_wanted = is_other_set_up or where.env.get(settings_module.HOSTS, "").strip() not in ("", "none")
    return is_wanted and not (is_named or is_there)


def is_certain(config: Configuration) -> bool:
    """Whether it is certain where the memories are: an unreadable `openclaw.json` must not start a second one."""
    settings = config.settings
    return not config.host.problem or settings.workspace_is_set or settings.memory_dir_is_set


def choices(found: Sequence[Place], most: int = 5) -> str:
    """How each of these memories is named on a command line, the first of many: `--agent (main, work)`."""
    agents = [place.agents[0] for place in found if place.agents]
    of_projects = [place.stores[0] for place in found if place.stores and not place.agents]
    projects = [str(store.project or store.memory_dir) for store in of_projects]
    named = [(option, names) for option, names in (("--agent", agents), ("--project", projects)) if names]
    return " or ".join(f"{o} ({', '.join(names[:most])}{', …' if len(names) > most else ''})" for o, names in named)


def _host(where: Locations) -> openclaw_config.HostConfig:
    return openclaw_config.load(where.state_dir, where.config, where.home, where.default_workspace, where.env)


def find(
    config: Configuration, now: datetime, only_agent: str | None = None, *, since_ms: int | None = None
) -> list[Place]:
    """The memories to serve, the default agent's first; with `only_agent` the one that this agent feeds.

    `only_agent` may be `project:DIRECTORY`. Inside a session of another host the memory of its project comes first.
    Projects of other hosts count from the first thing said after `since_ms`, by default in the last 24 hours.

    Raises StoreError when `SESSIONS_DIR` is no folder, TotalRecallError when there is no such agent or project.
    """
    latest_ms = latest_believable(now)
    since_ms = round((now - projects.FIRST_LOOK).timestamp() * 1000) if since_ms is None else since_ms
    if only_agent is not None and only_agent.startswith(PROJECT):
        return [_of_project(config, latest_ms, Path(only_agent.removeprefix(PROJECT)), since_ms)]
    found = own(config, now, only_agent)
    if only_agent is not None or not config.others:
        return found
    looking, others = _projects(config), dict[Path, list[Store]]()
    config.unserved.clear()
    for one in config.others:
        for store in looking.stores(one, since_ms, config.unserved):
            others.setdefault(store.memory_dir, []).append(store)
    places = [_with(place, others.pop(place.memory_dir, ()), latest_ms) for place in found]
    places += [_place(config, memory_dir, stores, latest_ms) for memory_dir, stores in others.items()]
    here = _here(config, looking)
    return sorted(places, key=lambda place: here is None or all(store.project != here for store in place.stores))


def own(config: Configuration, now: datetime, only_agent: str | None = None) -> list[Place]:
    """The memories that OpenClaw's agents feed, as `find` has them; without OpenClaw the one in `~/.total-recall`."""
    latest_ms = latest_believable(now)
    settings, host = config.settings, config.host
    if config.is_alone and only_agent is None:
        return [Place(settings.memory_dir, settings.workspace, (DEFAULT_AGENT,), ())]
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


def serve(config: Configuration, place: Place) -> None:
    """Write down that a memory is fed from its stores. To be called before anything is written to it.

    Raises MemoryWriteError or AlreadyRunning.
    """
    projects.keep(config.locations.home, place.stores)


def _projects(config: Configuration) -> Projects:
    workspaces = [] if config.is_alone else [agent.workspace for agent in config.host.agents]
    return Projects(config.locations.home, config.locations.env, workspaces)


def _with(place: Place, stores: Sequence[Store], latest_ms: int) -> Place:
    """A memory that other stores feed as well: that of the home directory's sessions, or one that was chosen."""
    sources = tuple(store.source(latest_ms) for store in stores)
    return replace(place, sources=(*place.sources, *sources), stores=tuple(stores))


def _place(config: Configuration, memory_dir: Path, stores: Sequence[Store], latest_ms: int) -> Place:
    names = tuple(dict.fromkeys(store.host.name for store in stores))
    # What a project holds may come from strangers: the user's own texts for us are not looked for there.
    central = config.locations.home / OWN
    workspace = central / "projects" / stores[0].folder.name if len(stores) == 1 else central
    place = Place(memory_dir, workspace, names, (), names[0])
    return _with(place, stores, latest_ms)


def _of_project(config: Configuration, latest_ms: int, directory: Path, since_ms: int) -> Place:
    looking = _projects(config)
    for one in config.others:
        store = looking.of_directory(one, directory, since_ms)
        if store is None and one.host.is_folder_of is None:
            continue
        if store is not None and (store.is_known or store.looked.found or directory.is_dir()):
            default = Place(config.settings.memory_dir, config.settings.workspace, (DEFAULT_AGENT,), ())
            if store.memory_dir == default.memory_dir:
                return _with(default, [store], latest_ms)
            return _place(config, store.memory_dir, [store], latest_ms)
    if not config.others:
        raise TotalRecallError("--project: no host with projects is set up; run setup --host claude-code")
    raise TotalRecallError(f"--project: there is no directory {directory}, and no conversation in it is known")


def _here(config: Configuration, looking: Projects) -> Path | None:
    """The project of the session that this runs in, if it runs in one."""
    env = config.locations.env
    if not any(env.get(name) for name in INSIDE):
        return None
    named = env.get("CLAUDE_PROJECT_DIR", "").strip()
    try:
        return looking.above(Path(named) if named else Path.cwd())
    except FileNotFoundError:
        return None
