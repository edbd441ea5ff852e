"""uninstall: what setup made goes, what it changed is as it was, and the memory stays."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from total_recall import clock, logs
from total_recall.commands import installing, places, projects, setup_record
from total_recall.commands.installation import Run, Scene, Wanted, data_folders, look
from total_recall.commands.part_files import AGENTS_MARKERS
from total_recall.commands.part_schedule import made_units
from total_recall.commands.places import Configuration
from total_recall.commands.setup import AGREE, Ask
from total_recall.commands.setup_record import CRONTAB
from total_recall.errors import TotalRecallError
from total_recall.host import claude_config, crontab, launchd, openclaw_cli, openclaw_hooks, systemd, textblock
from total_recall.state import sole


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line asked for, as in `Wanted`."""

    commands: Collection[str]
    yes: bool = False
    dry_run: bool = False
    openclaw: str | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """What was to be taken out, what was done, what stays, and what did not work."""

    plan: tuple[str, ...]
    stays: tuple[str, ...]
    done: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()
    is_done: bool = False

    @property
    def failed(self) -> bool:
        return bool(self.failures)

    def payload(self) -> dict[str, object]:
        """The fields of the JSON answer."""
        return {
            "ok": not self.failed,
            "done": self.is_done,
            "plan": list(self.plan),
            "changed": list(self.done),
            "stays": list(self.stays),
            "failures": list(self.failures),
        }

    def lines(self) -> list[str]:
        """The answer for a person."""
        failures = [f"not done: {failure}" for failure in self.failures]
        if not self.is_done:
            said = ["What uninstall takes out:", *(f"  {line}" for line in self.plan)]
            said += ["What stays:", *(f"  {line}" for line in self.stays)]
            return [*said, *(failures or ["Nothing was changed (--dry-run)."])]
        if not self.done and not failures:
            return ["Nothing was set up; there is nothing to take out."]
        return [*self.done, *failures, "What stays:", *(f"  {line}" for line in self.stays)]


@dataclass(frozen=True, slots=True)
class _Step:
    """One thing to do: what it is, and how; what was done comes back, None for nothing."""

    said: str
    do: Callable[[], str | None]


def run(options: Options, ask: Ask, config: Configuration | None = None) -> Result:
    """Take everything out, or show what would go. What cannot be taken out does not stop the rest.

    Raises TotalRecallError when the answer is no, StoreError when the record of what setup changed cannot be read.
    """
    config = config or places.configure()
    scene = look(config, Wanted(options.commands, openclaw=options.openclaw))
    targets = _targets(scene)
    stopping, starting = list(_stopping(scene)), list(_starting(scene, targets))
    plan = (*(step.said for step in stopping), *("your crontab" if t == CRONTAB else t for t in targets))
    stays = tuple(_stays(scene))
    if options.dry_run or not (plan or scene.record.exists):
        return Result(plan, stays, is_done=not options.dry_run)
    if not options.yes:
        answer = ask(["What uninstall takes out:", *(f"  {line}" for line in plan), "The memory stays."])
        if answer is None:
            return Result(plan, stays, failures=(AGREE,))
        if not answer:
            raise TotalRecallError("nothing was changed")
    with sole("setup", scene.record.own_dir):
        done, failures = _taken_out(scene, targets, stopping, starting)
        said = f"uninstall: {len(done)} things taken out; {'; '.join(failures) or 'no failures'}"
        logs.append(scene.places[0].log, clock.now(), said)
    return Result(plan, stays, tuple(done), tuple(failures), True)


def _taken_out(
    scene: Scene, targets: list[str], stopping: list[_Step], starting: list[_Step]
) -> tuple[list[str], list[str]]:
    """(What was done, what failed.) The record goes when nothing failed; else it keeps what is left to do."""
    record = scene.record
    done: list[str] = []
    failures: list[str] = []

    def attempt(step: _Step) -> bool:
        try:
            said = step.do()
        except TotalRecallError as error:
            failures.append(f"{step.said}: {error}")
            return False
        if said:
            done.append(said)
        return True

    for step in stopping:
        attempt(step)
    for target in targets:
        if attempt(_Step(target, lambda: installing.take_back(target, record, scene.tools.crontab))):  # noqa: B023  # called at once
            record = record.without_change(target)
    for step in starting:
        attempt(step)
    installing.remove_folders(record)
    if not failures:
        setup_record.discard(record)
    elif record.exists:
        setup_record.save(record)
    return done, failures


def _targets(scene: Scene) -> list[str]:
    """The files, and the crontab, that have something of ours: by the record, and by their looks where that is gone."""
    known = [change.target for change in scene.record.changes]
    return list(dict.fromkeys([*known, *_recognised(scene)]))


def _recognised(scene: Scene) -> Iterator[str]:
    if crontab.has_jobs(scene.crontab or b""):
        yield CRONTAB
    yield from (str(scene.units / name) for name in made_units(scene.units))
    yield from map(str, sorted(scene.agents.glob(f"{launchd.PREFIX}*.plist")))
    folder = scene.locations.state_dir / "hooks" / openclaw_hooks.HOOK
    if installing.hook_is_ours(folder):
        yield from (str(path) for path in sorted(folder.iterdir()) if installing.is_ours(path))
    if openclaw_hooks.switch(scene.host) != "missing":
        yield str(scene.locations.config)
    if claude_config.is_set_up(scene.locations.env, scene.locations.home):
        yield str(claude_config.settings_path(scene.locations.env, scene.locations.home))
    for place in scene.places:
        agents = place.workspace / "AGENTS.md"
        if textblock.has_block(setup_record.read(agents) or b"", AGENTS_MARKERS):
            yield str(agents)


def _stopping(scene: Scene) -> Iterator[_Step]:
    """What ends what runs."""
    units = [name for name in made_units(scene.units) if name.endswith(".timer") or name == systemd.WATCHER]
    if units and scene.tools.systemctl:
        command = (scene.tools.systemctl, "--user", "disable", "--now", *units)
        yield _running("the timers and services of systemd", Run(command))
    if scene.tools.launchctl:
        for path in sorted(scene.agents.glob(f"{launchd.PREFIX}*.plist")):
            command = (scene.tools.launchctl, "bootout", f"{launchd.domain(scene.uid)}/{path.stem}")
            yield _running(f"launchd's {path.stem}", Run(command, may_fail=True))
    if scene.record.scheduler == "openclaw":
        yield _Step("the jobs in openclaw cron", lambda: _out_of_openclaw(scene))


def _out_of_openclaw(scene: Scene) -> str | None:
    openclaw = scene.tools.openclaw
    if not openclaw:
        raise TotalRecallError("the openclaw command was not found; name it with --openclaw")
    jobs = openclaw_cli.jobs(openclaw)
    installing.run_all([Run(openclaw_cli.remove_job(openclaw, job)) for job in jobs])
    return f"openclaw cron: {len(jobs)} jobs removed" if jobs else None


def _starting(scene: Scene, targets: list[str]) -> Iterator[_Step]:
    """What takes up again what ran before setup."""
    systemctl = scene.tools.systemctl
    if not systemctl or not any(Path(target).suffix in (".service", ".timer") for target in targets):
        return
    yield _running("systemctl --user daemon-reload", Run((systemctl, "--user", "daemon-reload")), quietly=True)
    if scene.record.was_on:
        command = (systemctl, "--user", "enable", "--now", *scene.record.was_on)
        yield _running(f"{', '.join(scene.record.was_on)}, which was there before", Run(command))


def _running(what: str, command: Run, *, quietly: bool = False) -> _Step:
    def do() -> str | None:
        installing.run_all([command])
        return None if quietly else f"{what}: {'on again' if 'enable' in command.command else 'stopped'}"

    return _Step(what, do)


def _stays(scene: Scene) -> Iterator[str]:
    for place in scene.places:
        yield f"{place.memory_dir}: the memory, and {place.logs}"
    if scene.hosts:
        central = scene.locations.home / projects.OWN
        yield f"{central}, and {projects.OWN} in each project: the memories of {', '.join(scene.hosts)}"
    env = scene.workspace / ".env"
    change = scene.record.change_of(str(env))
    content = setup_record.read(env)
    if content is not None and (change is None or setup_record.digest(content) != change.after):
        yield f"{env}: it has settings of yours"
    data, cache = data_folders(scene.locations)
    yield f"{data} and {cache}: the Python environments and their cache; to remove them: rm -r '{data}' '{cache}'"
    yield f"{scene.program.parent}: the program itself; lingering, if you have it on"
