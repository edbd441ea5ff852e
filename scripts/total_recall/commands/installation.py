"""What an installation is made of and made with: the values that setup, uninstall and doctor share."""

from __future__ import annotations

import os
import pwd
import shutil
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

from total_recall import clock
from total_recall.commands import places, setup_record
from total_recall.commands.places import Configuration, Place
from total_recall.commands.setup_record import Record
from total_recall.errors import TotalRecallError
from total_recall.host import crontab, openclaw_cli, openclaw_json, systemd
from total_recall.host.jobs import Call, Job
from total_recall.settings import SPECS, WORKSPACE, Locations, Settings

State = Literal["absent", "present", "drifted", "not wanted", "impossible"]
Scheduler = Literal["systemd", "crontab", "openclaw", "launchd", "none"]

JOBS = (
    Job("observe", ("observe",), minutes=(0, 15, 30, 45)),
    Job("reflect", ("reflect",), minutes=(7,)),
    # OpenClaw's own dreaming runs at 03:00.
    Job("dream", ("dream",), minutes=(17,), hour=3),
    Job("summary", ("log", "summary"), minutes=(55,), hour=23),
)
"""The schedule, in local time. A job whose command this version does not have is left out."""
WATCH = ("watch",)

LAUNCHER = "total-recall"
USUAL_PATH = "/usr/bin:/bin"
"""Where cron looks for programs, and everybody else too."""
_AS_THEY_ARE = ("XDG_DATA_HOME", "XDG_CACHE_HOME", "TZ", "CLAUDE_CONFIG_DIR")


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the installation as it is now.

    `absent` is still to be made, `drifted` to be mended; `impossible` cannot be made here, and `detail` says what to
    do. `where` names its place, `detail` tells what is there.
    """

    name: str
    state: State
    where: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class FileChange:
    """What a file (or `CRONTAB`) is to hold; None removes it. A file that is there keeps its mode.

    With `seen`, the hash of what the plan was made from, nothing is written over what somebody saves meanwhile.
    """

    target: str
    wanted: bytes | None
    mode: int = 0o600
    seen: str = ""


@dataclass(frozen=True, slots=True)
class Run:
    """A program to run. When `may_fail`, its failure means that there was nothing to do."""

    command: tuple[str, ...]
    may_fail: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """A part, and what makes or mends it: stop what runs, change files, start what is to run.

    `does` says it to a person, `notes` is what they should know besides. `touches` are files that the programs change,
    `was_on` units of somebody else's whose place ours take.
    """

    part: Part
    does: tuple[str, ...] = ()
    folders: tuple[Path, ...] = ()
    stop: tuple[Run, ...] = ()
    files: tuple[FileChange, ...] = ()
    start: tuple[Run, ...] = ()
    touches: tuple[str, ...] = ()
    was_on: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def is_due(self) -> bool:
        """Whether there is something to do."""
        return self.part.state in ("absent", "drifted")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a person asked for. `commands` are those of this version.

    Without a `scheduler` it is the one that is in use, else the best one here. `openclaw` is the path of its command,
    `hosts` are those beside OpenClaw whose sessions are to be remembered.
    """

    commands: Collection[str]
    scheduler: Scheduler | None = None
    openclaw: str | None = None
    agents_md: bool = False
    hosts: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class Tools:
    """The paths of other programs; None for one that is not here. `systemctl` only if it obeys this user."""

    crontab: str | None
    systemctl: str | None
    launchctl: str | None
    openclaw: str | None


@dataclass(frozen=True, slots=True)
class Scene:
    """Everything that the plans are made from. `host` is all of openclaw.json; `crontab` is None when there is none.

    `places` are the memories of OpenClaw's agents, `hosts` the others whose sessions are remembered.
    """

    config: Configuration
    places: tuple[Place, ...]
    record: Record
    tools: Tools
    scheduler: Scheduler | None
    agents_md: bool
    call: Call
    jobs: tuple[Job, ...]
    watches: bool
    host: Mapping[str, object]
    crontab: bytes | None
    crontab_problem: str | None
    uid: int
    user: str
    hosts: tuple[str, ...] = ()

    @property
    def locations(self) -> Locations:
        return self.config.locations

    @property
    def workspace(self) -> Path:
        """The default agent's."""
        return self.places[0].workspace

    @property
    def program(self) -> Path:
        """The folder of the launcher."""
        return self.call.launcher.parent

    @property
    def units(self) -> Path:
        """Where the user's units of systemd lie."""
        return _xdg(self.locations, "XDG_CONFIG_HOME", ".config") / "systemd" / "user"

    @property
    def agents(self) -> Path:
        """Where the user's agents of launchd lie."""
        return self.locations.home / "Library" / "LaunchAgents"


def look(config: Configuration, wanted: Wanted) -> Scene:
    """See what is there; changes nothing.

    Raises StoreError when the record of an earlier set-up or the stores' folder cannot be read.
    """
    found = tuple(places.own(config, clock.now()))
    record = setup_record.load(found[0].own_dir)
    tools = _tools(config.locations, wanted.openclaw)
    text, problem = _crontab(tools)
    return Scene(
        config=config,
        places=found,
        record=record,
        tools=tools,
        scheduler=wanted.scheduler or cast("Scheduler | None", record.scheduler) or _best(tools),
        agents_md=wanted.agents_md or record.agents_md,
        call=Call(launcher(), variables(config)),
        jobs=tuple(job for job in JOBS if job.arguments[0] in wanted.commands),
        watches=WATCH[0] in wanted.commands,
        host=openclaw_json.read(config.locations.config, config.locations.env).value,
        crontab=text,
        crontab_problem=problem,
        uid=os.getuid(),
        user=_account()[0],
        hosts=tuple(dict.fromkeys((*record.hosts, *(one.host.name for one in config.others), *wanted.hosts))),
    )


def _account() -> tuple[str, Path | None]:
    """This user's name and home directory as the system knows them: in some containers it does not."""
    try:
        known = pwd.getpwuid(os.getuid())
    except KeyError:
        return str(os.getuid()), None
    return known.pw_name, Path(known.pw_dir)


def launcher() -> Path:
    """The launcher in the folder that this program was started from; a link on the way stays: an update moves it."""
    return Path(__file__).absolute().parents[2] / LAUNCHER


def data_folders(locations: Locations) -> tuple[Path, Path]:
    """Where the environments of Python packages are, and the cache."""
    data = _xdg(locations, "XDG_DATA_HOME", ".local/share")
    return data / "total-recall", _xdg(locations, "XDG_CACHE_HOME", ".cache") / "total-recall"


def variables(config: Configuration) -> tuple[tuple[str, str], ...]:
    """What a scheduled command must be told, since it does not get the environment of the person who set it up.

    Paths are absolute. Never a key: whoever sets one only in their shell is told to move it (`keys_out_of_reach`).
    """
    where, settings, env = config.locations, config.settings, config.locations.env
    told: dict[str, str] = {}
    if where.home != _account()[1]:
        told["HOME"] = str(where.home)
    if where.state_dir != where.home / ".openclaw":
        told["OPENCLAW_STATE_DIR"] = str(where.state_dir)
    if where.config != where.state_dir / "openclaw.json":
        told["OPENCLAW_CONFIG_PATH"] = str(where.config)
    if where.default_workspace != where.state_dir / "workspace":
        told["OPENCLAW_WORKSPACE_DIR"] = str(where.default_workspace)
    told |= {name: env[name] for name in _AS_THEY_ARE if env.get(name, "").strip()}
    told |= _from_environment(settings)
    python = shutil.which("python3", path=env.get("PATH"))
    if python and not shutil.which("python3", path=USUAL_PATH):
        told["PATH"] = f"{Path(python).absolute().parent}:{USUAL_PATH}"
    return tuple(sorted(told.items()))


def keys_out_of_reach(settings: Settings) -> tuple[str, ...]:
    """Keys that are set in this environment alone: what is scheduled does not get them."""
    secret = {spec.name for spec in SPECS if spec.secret}
    return tuple(s.name for s in settings.shown if s.origin == "environment" and s.name in secret)


def _from_environment(settings: Settings) -> dict[str, str]:
    public = {spec.name for spec in SPECS if not spec.secret}
    told = {s.name: s.value for s in settings.shown if s.origin == "environment" and s.name in public}
    absolute = {WORKSPACE: settings.workspace, "MEMORY_DIR": settings.memory_dir, "SESSIONS_DIR": settings.sessions_dir}
    return told | {name: str(path) for name, path in absolute.items() if name in told}


def _xdg(locations: Locations, name: str, default: str) -> Path:
    """A folder that an XDG variable names; a relative value counts as none, as XDG says."""
    folder = locations.env.get(name, "")
    return Path(folder) if folder.startswith("/") else locations.home / default


def _tools(locations: Locations, openclaw: str | None) -> Tools:
    path = locations.env.get("PATH")
    systemctl = shutil.which("systemctl", path=path)
    if openclaw is not None and not shutil.which(openclaw, path=path):
        raise TotalRecallError(f"--openclaw {openclaw}: no such program; name the openclaw command with its path")
    return Tools(
        crontab=shutil.which("crontab", path=path),
        systemctl=systemctl if systemctl and systemd.answers(systemctl) else None,
        launchctl=shutil.which("launchctl", path=path) if sys.platform == "darwin" else None,
        openclaw=shutil.which(openclaw or "openclaw", path=path),
    )


def _crontab(tools: Tools) -> tuple[bytes | None, str | None]:
    """(The crontab, what is wrong with it.)"""
    try:
        return (crontab.read(tools.crontab) if tools.crontab else None), None
    except TotalRecallError as error:
        return None, str(error)


def _best(tools: Tools) -> Scheduler | None:
    """What this computer has, the best first: one that makes up for time asleep, then one that needs no Gateway."""
    if tools.launchctl:
        return "launchd"
    if tools.systemctl:
        return "systemd"
    if tools.crontab:
        return "crontab"
    return "openclaw" if tools.openclaw and openclaw_cli.offers_commands(tools.openclaw) else None
