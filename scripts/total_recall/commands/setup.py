"""setup: everything works by itself afterwards. It shows its plan and asks; a second run changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from total_recall import clock, logs
from total_recall.commands import installing, places, setup_record
from total_recall.commands.compressing import choose
from total_recall.commands.installation import Part, Plan, Scene, Scheduler, Wanted, keys_out_of_reach, look
from total_recall.commands.parts import plans
from total_recall.commands.places import Configuration
from total_recall.errors import TotalRecallError
from total_recall.state import sole

Ask = Callable[[Sequence[str]], "bool | None"]
"""Shows a plan and returns the answer; None where there is nobody to ask."""

AGREE = "nothing was changed: there is no terminal to ask on; add --yes to agree"
_SIGNS = {"absent": "make", "drifted": "mend", "present": "is there", "not wanted": "no", "impossible": "cannot"}


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line asked for, as in `Wanted`."""

    commands: Collection[str]
    yes: bool = False
    dry_run: bool = False
    scheduler: Scheduler | None = None
    openclaw: str | None = None
    agents_md: bool = False
    hosts: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class Result:
    """The parts as they are now, what was changed, what a person should know, and what did not work.

    `plan` is what was to be done. Without `is_done` nobody agreed, or nobody was asked.
    """

    parts: tuple[Part, ...]
    plan: tuple[str, ...]
    words: str
    changed: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
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
            "changed": list(self.changed),
            "words": self.words,
            "parts": [{"name": p.name, "state": p.state, "where": p.where, "detail": p.detail} for p in self.parts],
            "plan": list(self.plan),
            "notes": list(self.notes),
            "failures": list(self.failures),
        }

    def lines(self) -> list[str]:
        """The answer for a person."""
        failures = [f"not done: {failure}" for failure in self.failures]
        if not self.is_done:
            return [*self.plan, *(failures or ["Nothing was changed (--dry-run)."])]
        if self.changed:
            said = [f"Done: {', '.join(self.changed)}.", self.words]
        else:
            said = ["Nothing was changed." if failures else "Everything was set up already; nothing was changed."]
        said += [f"note: {note}" for note in self.notes]
        return [*said, *failures, "How it is: total-recall doctor. To take it out again: total-recall uninstall."]


def run(options: Options, ask: Ask, config: Configuration | None = None) -> Result:
    """Make or mend every part, or show what would be done. A part that fails does not stop the others.

    Raises TotalRecallError when openclaw.json cannot be read or the answer is no, StoreError when the record of an
    earlier set-up cannot be read, AlreadyRunning while another setup is at work.
    """
    config = config or places.configure(hosts=options.hosts)
    if config.host.problem:
        raise TotalRecallError(f"{config.host.problem.partition(': OpenClaw')[0]}; mend it and run setup again")
    wanted = Wanted(options.commands, options.scheduler, options.openclaw, options.agents_md, options.hosts)
    scene = look(config, wanted)
    planned = plans(scene)
    found = tuple(plan.part for plan in planned)
    words = where_words_go(config)
    notes = _notes(scene, planned)
    shown = tuple(_shown(planned, words, notes))
    if options.dry_run:
        return Result(found, shown, words)
    impossible = tuple(f"{part.name}: {part.detail}" for part in found if part.state == "impossible")
    if not any(plan.is_due for plan in planned) and scene.scheduler == scene.record.scheduler:
        return Result(found, shown, words, notes=_standing(scene), failures=impossible, is_done=True)
    if not options.yes:
        answer = ask(shown)
        if answer is None:
            return Result(found, shown, words, failures=(AGREE,))
        if not answer:
            raise TotalRecallError("nothing was changed")
    with sole("setup", scene.record.own_dir):
        changed, failures = _carried_out(scene, planned)
        left = plans(look(config, wanted))
    again = [plan.part for plan in left if plan.is_due and plan.part.name in changed]
    failures += [f"{part.name}: done, but it does not show: {part.detail or part.where}" for part in again]
    result = Result(
        parts=tuple(plan.part for plan in left),
        plan=shown,
        words=words,
        changed=tuple(changed),
        notes=notes,
        failures=(*impossible, *failures),
        is_done=True,
    )
    said = f"setup: {', '.join(changed) or 'nothing'} changed; {'; '.join(result.failures) or 'no failures'}"
    logs.append(scene.places[0].log, clock.now(), said)
    return result


def _carried_out(scene: Scene, planned: Sequence[Plan]) -> tuple[list[str], list[str]]:
    """(The parts that were made or mended, what failed.)"""
    can = not any(plan.part.name == "schedule" and plan.part.state == "impossible" for plan in planned)
    scheduler = scene.scheduler if can else scene.record.scheduler
    record = replace(scene.record, scheduler=scheduler, agents_md=scene.agents_md, hosts=scene.hosts)
    changed: list[str] = []
    failures: list[str] = []
    for plan in planned:
        if not plan.is_due:
            continue
        try:
            record = installing.carry_out(plan, record, scene.tools.crontab)
        except TotalRecallError as error:
            failures.append(f"{plan.part.name}: {error}")
            # What was changed until then has been written down.
            record = setup_record.load(record.own_dir) if record.exists else record
            continue
        changed.append(plan.part.name)
    setup_record.save(record)
    return changed, failures


def where_words_go(config: Configuration) -> str:
    """Which words leave this computer, and to whom."""
    settings = config.settings
    hosts = {}
    for purpose in ("observer", "reflector"):
        choice = choose(settings, "observer" if purpose == "observer" else "reflector")
        if choice.endpoint is not None:
            hosts[purpose] = (choice.endpoint.host, ", then ".join(choice.models))
    if not hosts:
        return "No model is set: nothing leaves this computer."
    (host, models), *others = hosts.values()
    more = "".join(f"; the memory is sent to {host} with model {models}" for host, models in others)
    return f"Conversations, with secrets taken out, are sent to {host} with model {models}{more}."


def _notes(scene: Scene, planned: Sequence[Plan]) -> tuple[str, ...]:
    due = [note for plan in planned if plan.is_due for note in plan.notes]
    return tuple(dict.fromkeys([*due, *_standing(scene)]))


def _standing(scene: Scene) -> tuple[str, ...]:
    """What is to be said at each run, until it is mended."""
    return tuple(
        f"{name} is set in this shell alone, and no schedule gets a key from it: put it into {scene.workspace / '.env'}"
        for name in keys_out_of_reach(scene.config.settings)
    )


def _shown(planned: Sequence[Plan], words: str, notes: Sequence[str]) -> list[str]:
    """The plan, for a person."""
    width = max(len(plan.part.name) for plan in planned)
    said = ["What setup does:"]
    for plan in planned:
        part = plan.part
        place = ": ".join(text for text in (part.where, part.detail) if text)
        said.append(f"  {part.name:<{width}}  {_SIGNS[part.state]:<8}  {place}".rstrip())
        if plan.is_due:
            said += [f"  {'':<{width}}    {line}" for line in plan.does]
    return [*said, words, *(f"note: {note}" for note in notes)]
