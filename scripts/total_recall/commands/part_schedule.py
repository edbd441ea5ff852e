"""The parts that start something: the schedule, the watcher, and the bash original whose place they take."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from total_recall.commands.installation import WATCH, FileChange, Part, Plan, Run, Scene, State
from total_recall.commands.setup_record import CRONTAB, digest, mode_of, read
from total_recall.errors import TotalRecallError
from total_recall.host import crontab, launchd, openclaw_cli, systemd
from total_recall.host.openclaw_cli import CronJob

NO_SCHEDULER = (
    "no systemd for this user, no crontab, and no openclaw whose cron starts commands: install cron and run setup "
    "again, or have something else start `{command}` every 15 minutes and run setup with --scheduler none"
)
LINGER = "the schedule rests while you are logged out; to have it run all the time: loginctl enable-linger"
LINGERING = Path("/var/lib/systemd/linger")


def schedule(scene: Scene) -> Plan:
    """What starts the commands by the clock; one that an earlier set-up used goes."""
    if scene.scheduler is None:
        said = NO_SCHEDULER.format(command=scene.call.shell(("observe",)))
        return Plan(Part("schedule", "impossible", "", said))
    if not scene.call.launcher.is_file():
        said = f"{scene.call.launcher} is missing: install the skill, or use a checkout"
        return Plan(Part("schedule", "impossible", scene.scheduler, said))
    try:
        plan = _WAYS[scene.scheduler](scene)
        others = [way(scene) for name, way in _LEFTOVERS.items() if name != scene.scheduler]
    except TotalRecallError as error:
        return Plan(Part("schedule", "impossible", scene.scheduler, str(error)))
    left = [other for other in others if other is not None]
    if plan.part.state == "impossible" or not left:
        return plan
    part = Part("schedule", "absent" if plan.part.state == "absent" else "drifted", plan.part.where, plan.part.detail)
    return Plan(
        part,
        does=(*(said for other in left for said in other.does), *plan.does),
        stop=(*(run for other in left for run in other.stop), *plan.stop),
        files=(*(file for other in left for file in other.files), *plan.files),
        start=(*plan.start, *(run for other in left for run in other.start)),
        notes=plan.notes,
    )


# --- the schedulers


def _crontab(scene: Scene) -> Plan:
    if not scene.tools.crontab:
        return _cannot(scene, "there is no crontab command here: install cron, or name another --scheduler")
    if scene.crontab_problem:
        return _cannot(scene, scene.crontab_problem)
    now = scene.crontab or b""
    lines = crontab.lines(scene.jobs, scene.call)
    wanted = crontab.with_jobs(crontab.without_originals(now), lines)
    if wanted == now:
        return Plan(Part("schedule", "present", "crontab", _times(scene)))
    state: State = "drifted" if crontab.has_jobs(now) else "absent"
    does = ("add to your crontab:", *(f"  {line.decode()}" for line in lines))
    return Plan(Part("schedule", state, "crontab", _times(scene)), does, files=(_lines(scene, wanted),))


def _systemd(scene: Scene) -> Plan:
    systemctl = scene.tools.systemctl
    if not systemctl:
        return _cannot(scene, "systemd takes no orders from this user here: name another --scheduler, e.g. crontab")
    units = {name: text.encode() for name, text in systemd.units(scene.jobs, scene.call).items()}
    timers = [systemd.timer(job) for job in scene.jobs]
    notes = () if _lingers(scene) else (LINGER,)
    return _units(scene, systemctl, "schedule", units, timers, _times(scene), notes)


def _launchd(scene: Scene) -> Plan:
    return _agents(scene, "schedule", launchd.agents(scene.jobs, scene.call, None), _times(scene))


def _openclaw(scene: Scene) -> Plan:
    openclaw = scene.tools.openclaw
    if not openclaw or not openclaw_cli.offers_commands(openclaw):
        return _cannot(scene, "there is no openclaw whose cron starts commands here: name another --scheduler")
    there = {job.name: job for job in openclaw_cli.jobs(openclaw)}
    wanted = {openclaw_cli.PREFIX + job.name: job for job in scene.jobs}
    good = {
        name
        for name, job in wanted.items()
        if name in there and openclaw_cli.is_as_wanted(there[name], job, scene.call)
    }
    bad = [job for name, job in there.items() if name not in good]
    missing = [job for name, job in wanted.items() if name not in good]
    detail = f"{_times(scene)}; only while the Gateway runs"
    if not bad and not missing:
        return Plan(Part("schedule", "present", "openclaw cron", detail))
    return Plan(
        Part("schedule", "drifted" if there else "absent", "openclaw cron", detail),
        tuple(f"openclaw cron: add {openclaw_cli.PREFIX}{job.name}" for job in missing),
        stop=_removals(openclaw, bad),
        start=tuple(Run(openclaw_cli.add_job(openclaw, job, scene.call)) for job in missing),
    )


def _none(scene: Scene) -> Plan:
    return Plan(Part("schedule", "not wanted", "", "--scheduler none: the hook alone starts something"))


_WAYS: Mapping[str, Callable[[Scene], Plan]] = {
    "crontab": _crontab,
    "systemd": _systemd,
    "launchd": _launchd,
    "openclaw": _openclaw,
    "none": _none,
}


# --- what another scheduler still has


def _crontab_left(scene: Scene) -> Plan | None:
    now = scene.crontab or b""
    wanted = crontab.without_jobs(now)
    if scene.scheduler != "none":
        wanted = crontab.without_originals(wanted)
    if wanted == now:
        return None
    part = Part("schedule", "drifted", "crontab")
    return Plan(part, ("take the old lines out of your crontab",), files=(_lines(scene, wanted),))


def _lines(scene: Scene, wanted: bytes) -> FileChange:
    return FileChange(CRONTAB, wanted or None, seen=digest(scene.crontab))


def _systemd_left(scene: Scene) -> Plan | None:
    left = sorted(name for name in made_units(scene.units) if name != systemd.WATCHER)
    if not left or not scene.tools.systemctl:
        return None
    timers = tuple(name for name in left if name.endswith(".timer"))
    return Plan(
        Part("schedule", "drifted", str(scene.units)),
        ("remove the timers of systemd",),
        stop=(Run((scene.tools.systemctl, "--user", "disable", "--now", *timers), may_fail=True),),
        files=tuple(FileChange(str(scene.units / name), None) for name in left),
        start=(Run((scene.tools.systemctl, "--user", "daemon-reload")),),
    )


def _launchd_left(scene: Scene) -> Plan | None:
    watcher = f"{launchd.label(launchd.WATCHER)}.plist"
    left = sorted(path for path in scene.agents.glob(f"{launchd.PREFIX}*.plist") if path.name != watcher)
    launchctl = scene.tools.launchctl
    if not left or not launchctl:
        return None
    return Plan(
        Part("schedule", "drifted", str(scene.agents)),
        ("remove the agents of launchd",),
        stop=tuple(_boot_out(launchctl, scene.uid, path.stem) for path in left),
        files=tuple(FileChange(str(path), None) for path in left),
    )


def _openclaw_left(scene: Scene) -> Plan | None:
    # Asked only when it was used: that takes seconds, and a Gateway that runs.
    openclaw = scene.tools.openclaw
    if scene.record.scheduler != "openclaw" or not openclaw:
        return None
    left = openclaw_cli.jobs(openclaw)
    part = Part("schedule", "drifted", "openclaw cron")
    return Plan(part, ("remove our jobs from openclaw cron",), stop=_removals(openclaw, left)) if left else None


_LEFTOVERS: Mapping[str, Callable[[Scene], Plan | None]] = {
    "crontab": _crontab_left,
    "systemd": _systemd_left,
    "launchd": _launchd_left,
    "openclaw": _openclaw_left,
}


# --- the watcher and the original


def watcher(scene: Scene) -> Plan:
    """The daemon that observes as soon as enough was said, where something here keeps daemons running."""
    if not scene.watches or not scene.call.launcher.is_file():
        return Plan(Part("watcher", "not wanted", "", "this installation has no watcher"))
    if scene.config.is_alone:
        said = "the host's hooks and the schedule observe its sessions"
        return Plan(Part("watcher", "not wanted", "", said))
    if scene.scheduler == "none":
        return _no_watcher(scene)
    detail = "observes as soon as enough was said"
    if scene.tools.launchctl:
        return _agents(scene, "watcher", launchd.agents((), scene.call, WATCH), detail)
    if scene.tools.systemctl:
        unit = {systemd.WATCHER: systemd.watcher(scene.call, WATCH).encode()}
        return _units(scene, scene.tools.systemctl, "watcher", unit, [systemd.WATCHER], detail, ())
    return Plan(Part("watcher", "not wanted", "", "nothing here keeps a daemon running; the schedule does without"))


def _no_watcher(scene: Scene) -> Plan:
    if systemd.WATCHER not in made_units(scene.units) or not scene.tools.systemctl:
        return Plan(Part("watcher", "not wanted", "", "--scheduler none"))
    user = (scene.tools.systemctl, "--user")
    return Plan(
        Part("watcher", "drifted", str(scene.units), "--scheduler none"),
        (f"remove {systemd.WATCHER}",),
        stop=(Run((*user, "disable", "--now", systemd.WATCHER), may_fail=True),),
        files=(FileChange(str(scene.units / systemd.WATCHER), None),),
        start=(Run((*user, "daemon-reload")),),
    )


def original(scene: Scene) -> Plan:
    """The bash original: its lines and its unit are replaced with the schedule's and the watcher's, and kept."""
    found = [f"{len(lines)} lines in your crontab"] if (lines := crontab.originals(scene.crontab or b"")) else []
    unit = scene.units / systemd.WATCHER
    if is_originals(unit):
        found.append(str(unit))
    if not found:
        return Plan(Part("bash original", "not wanted", "", "none is installed"))
    if scene.scheduler in (None, "none"):
        said = f"it goes on: {', '.join(found)}"
        return Plan(Part("bash original", "not wanted", "", said))
    does = (f"take the place of the bash original: {', '.join(found)} (uninstall puts them back)",)
    return Plan(Part("bash original", "absent", ", ".join(found), "its memory is read as it is"), does)


def is_originals(unit: Path) -> bool:
    """Whether there is a watcher's unit that is not ours."""
    content = read(unit)
    return content is not None and systemd.MADE not in content


def made_units(folder: Path) -> list[str]:
    """The names of the units that are ours."""
    found = [path for path in folder.glob(f"{systemd.PREFIX}*") if path.suffix in (".service", ".timer")]
    return sorted(path.name for path in found if systemd.MADE in (read(path) or b""))


# --- what they share


def _units(
    scene: Scene,
    systemctl: str,
    name: str,
    units: Mapping[str, bytes],
    on: list[str],
    detail: str,
    notes: tuple[str, ...],
) -> Plan:
    there = {unit: read(scene.units / unit) for unit in units}
    differs = [unit for unit in units if there[unit] != units[unit]]
    enabled = systemd.enabled(systemctl, on)
    is_on = set(enabled) & set(systemd.active(systemctl, on))
    where = str(scene.units)
    if not differs and is_on == set(on):
        return Plan(Part(name, "present", where, detail))
    is_ours = any(content is not None and systemd.MADE in content for content in there.values())
    user = (systemctl, "--user")
    changed = [unit for unit in on if unit in differs and there[unit] is not None]
    replaced = [unit for unit in changed if systemd.MADE not in (there[unit] or b"")]
    return Plan(
        Part(name, "drifted" if is_ours else "absent", where, detail),
        (f"write {', '.join(units)} to {where} and switch {'it' if len(on) == 1 else 'the timers'} on",),
        files=tuple(FileChange(str(scene.units / unit), units[unit], 0o644) for unit in differs),
        start=(
            Run((*user, "daemon-reload")),
            Run((*user, "enable", "--now", *on)),
            # What runs by an older text goes on by it until it is started again.
            *((Run((*user, "restart", *changed)),) if changed else ()),
        ),
        was_on=tuple(unit for unit in replaced if unit in enabled),
        notes=notes,
    )


def _agents(scene: Scene, name: str, agents: Mapping[str, bytes], detail: str) -> Plan:
    launchctl = scene.tools.launchctl
    if not launchctl:
        return _cannot(scene, "launchd is macOS's; name another --scheduler")
    folder, uid = scene.agents, scene.uid
    there = {file: read(folder / file) for file in agents}
    labels = {file: file.removesuffix(".plist") for file in agents}
    differs = [file for file in agents if there[file] != agents[file]]
    due = [file for file in agents if file in differs or not launchd.loaded(launchctl, uid, labels[file])]
    if not due:
        return Plan(Part(name, "present", str(folder), detail))
    state: State = "drifted" if any(there.values()) else "absent"
    return Plan(
        Part(name, state, str(folder), detail),
        (f"write {', '.join(agents)} to {folder} and load {'it' if len(agents) == 1 else 'them'}",),
        stop=tuple(_boot_out(launchctl, uid, labels[file]) for file in due),
        files=tuple(FileChange(str(folder / file), agents[file], 0o644) for file in differs),
        start=tuple(Run((launchctl, "bootstrap", launchd.domain(uid), str(folder / file))) for file in due),
    )


def _boot_out(launchctl: str, uid: int, label: str) -> Run:
    return Run((launchctl, "bootout", f"{launchd.domain(uid)}/{label}"), may_fail=True)


def _removals(openclaw: str, jobs: list[CronJob] | tuple[CronJob, ...]) -> tuple[Run, ...]:
    return tuple(Run(openclaw_cli.remove_job(openclaw, job)) for job in jobs)


def _cannot(scene: Scene, why: str) -> Plan:
    return Plan(Part("schedule", "impossible", str(scene.scheduler), why))


def _times(scene: Scene) -> str:
    every = [f"{' '.join(job.arguments)} {_time(job.minutes, job.hour)}" for job in scene.jobs]
    return ", ".join(every)


def _time(minutes: tuple[int, ...], hour: int | None) -> str:
    if hour is not None:
        return f"at {hour:02}:{minutes[0]:02}"
    return "hourly" if len(minutes) == 1 else f"every {60 // len(minutes)} minutes"


def _lingers(scene: Scene) -> bool:
    return mode_of(LINGERING / scene.user) is not None
