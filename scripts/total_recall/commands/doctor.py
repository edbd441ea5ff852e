"""doctor: what is wrong, what mends it. Looks at everything that can keep the memory from working, changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import asdict, dataclass
from itertools import chain
from typing import TypeVar

from total_recall import clock
from total_recall.commands import doctor_claude, doctor_host, doctor_memory, places
from total_recall.commands.doctor_databases import OlderFormat, state_of
from total_recall.commands.doctor_findings import Finding, Findings, Host, Kept, Machine, Memory, failure
from total_recall.commands.places import Configuration
from total_recall.errors import TotalRecallError

_Subject = TypeVar("_Subject")


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line asked for. `commands` are those of this version; `online` lets the model be asked."""

    commands: Collection[str]
    online: bool = False
    agent: str | None = None


@dataclass(frozen=True, slots=True)
class Checks:
    """Every check, by what it looks at, with the name of the finding that tells of its failure."""

    machine: tuple[tuple[str, Callable[[Machine], Findings]], ...]
    host: tuple[tuple[str, Callable[[Host], Findings]], ...]
    memory: tuple[tuple[str, Callable[[Memory], Findings]], ...]
    kept: tuple[tuple[str, Callable[[Kept], Findings]], ...]


CHECKS = Checks(
    machine=(
        ("python", doctor_host.python),
        ("temporary folder", doctor_host.temporary_folder),
    ),
    host=(
        ("home", doctor_host.home),
        ("openclaw.json", doctor_host.openclaw_json),
        (".env", doctor_host.dotenv),
        ("time zone", doctor_host.time_zone),
        ("skill", doctor_host.copies_of_the_skill),
        ("set-up", doctor_host.installed_parts),
        ("Claude Code", doctor_claude.retention),
        ("model", doctor_host.model),
        ("online", doctor_host.model_answers),
    ),
    memory=(
        ("memory", doctor_memory.folders),
        ("disk", doctor_memory.disk),
        ("document", doctor_memory.document),
        ("database", doctor_memory.databases),
        ("leftover", doctor_memory.leftovers),
        ("last run", doctor_memory.last_run),
        ("project", doctor_claude.foreign),
    ),
    kept=(
        # Before the stores are looked through: that takes what is new, if only in a copy.
        ("retention", doctor_claude.at_risk),
        ("store", doctor_memory.stores),
        ("unfinished write", doctor_memory.unfinished_write),
        ("watching", doctor_memory.watcher),
        ("hook fired", doctor_memory.recoveries),
        ("model calls", doctor_memory.ledger),
    ),
)


@dataclass(frozen=True, slots=True)
class Result:
    """What all checks found, in the order of the table."""

    findings: tuple[Finding, ...]

    @property
    def failed(self) -> bool:
        """Whether something does not work."""
        return any(finding.level == "error" for finding in self.findings)

    def payload(self) -> dict[str, object]:
        """The fields of the JSON answer."""
        return {
            "ok": not self.failed,
            "errors": self._count("error"),
            "warnings": self._count("warning"),
            "findings": [asdict(finding) for finding in self.findings],
        }

    def lines(self) -> list[str]:
        """The answer for a person."""
        width = max((len(finding.name) for finding in self.findings), default=0)
        said = []
        for finding in self.findings:
            said.append(f"{finding.level:<7}  {finding.name:<{width}}  {finding.said}")
            if finding.fix:
                said.append(f"{'':<7}  {'':<{width}}  fix: {finding.fix}")
        errors, warnings = self._count("error"), self._count("warning")
        if not errors and not warnings:
            return [*said, "", "Nothing is wrong."]
        counts = [f"{n} {what}{'' if n == 1 else 's'}" for n, what in ((errors, "error"), (warnings, "warning")) if n]
        return [*said, "", f"{' and '.join(counts)}; what mends it stands after its `fix:`."]

    def _count(self, level: str) -> int:
        return sum(finding.level == level for finding in self.findings)


def run(options: Options, config: Configuration | None = None) -> Result:
    """Make every check; one that fails is an error itself and does not stop the others."""
    return Result(tuple(_findings(options, config)))


def _findings(options: Options, config: Configuration | None) -> Iterator[Finding]:
    now = clock.now()
    yield from _made(CHECKS.machine, Machine(now))
    try:
        config = config or places.configure()
    except TotalRecallError as error:
        yield failure("settings", error)
        return
    yield from _made(CHECKS.host, Host(config, now, options.online, options.commands))
    try:
        found = places.find(config, now, options.agent)
    except TotalRecallError as error:
        yield failure("store", error)
        return
    many = [place for place in found if place.host != places.OPENCLAW] if options.agent is None else []
    for place in found:
        memory = Memory(place, config, now)
        checked = chain(_made(CHECKS.memory, memory), _of_state(memory))
        # Of hundreds of projects only what is wrong is told.
        yield from (each for each in checked if place not in many or each.level in ("warning", "error"))
    if many:
        said = f"{len(many)} with a memory; for all about one: doctor --project DIR"
        yield Finding("projects", "ok", said)


def _of_state(memory: Memory) -> Iterator[Finding]:
    try:
        with state_of(memory.place.own_dir) as (state, is_copy):
            yield from _made(CHECKS.kept, Kept(memory, state, is_copy))
    except OlderFormat as later:
        yield Finding("state", "note", str(later))
    except TotalRecallError as error:
        yield failure("state", error)


def _made(
    checks: tuple[tuple[str, Callable[[_Subject], Findings]], ...], subject: _Subject
) -> Iterator[Finding]:
    for name, check in checks:
        try:
            yield from check(subject)
        except TotalRecallError as error:
            yield failure(name, error)
