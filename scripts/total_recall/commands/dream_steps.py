"""dream preflight|archive|chunk|…: a night that an agent drives, step by step. prompts/dream-cycle-prompt.md tells how.

The agent chooses and words; what may go, and that nothing is lost, is decided here, by what `dream` itself uses.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any, Final, NoReturn

from total_recall import clock, logs, resources
from total_recall.commands import dream_filing, dream_rewriting, places
from total_recall.commands.dream_desk import Desk, Outcome, at_work
from total_recall.commands.places import Configuration, Place
from total_recall.commands.staging_patterns import earlier, noted
from total_recall.dream import patterns
from total_recall.errors import PayloadError, TotalRecallError
from total_recall.memory import dream_log, staged
from total_recall.memory.document import parse
from total_recall.memory.dream_log import Metrics, Night, TypeCount
from total_recall.memory.staged import Evidence
from total_recall.memory.staging import Staging

MOST_CHARACTERS: Final = 60_000_000
LOG: Final = "dream-cycle.log"


# --- what an agent tells and proposes


def write_log(desk: Desk, payload: Mapping[str, Any]) -> Outcome:
    """Add a section to the log of the day. Raises PayloadError for a day to come."""
    metrics = _metrics(desk, "dream-log", payload)
    night = Night(
        at=datetime.combine(metrics.date, desk.now.time(), desk.now.tzinfo),
        metrics=metrics,
        archived=tuple(payload.get("archived_items", ())),
        hooks=tuple(payload.get("hooks", ())),
        types={kind: TypeCount(int(c["count"]), int(c["archived"])) for kind, c in payload.get("types", {}).items()},
        validation=tuple(payload.get("validation_results", ())),
        flagged=tuple(payload.get("flagged_for_review", ())),
        next_steps=tuple(payload.get("next_steps", ())),
    )
    path = dream_log.log_path(desk.place.memory_dir, metrics.date)
    if not desk.read_only:
        dream_log.write_log(desk.place.memory_dir, night, desk.step)
    return _written(desk, {"file": str(path)}, f"The log is in {path}.")


def write_metrics(desk: Desk, payload: Mapping[str, Any]) -> Outcome:
    """Write the numbers of the run. Raises PayloadError for a day to come, and when they do not add up."""
    metrics = _metrics(desk, "dream-metrics", payload)
    for name, right in (("tokens_saved", metrics.tokens_saved), ("reduction_pct", metrics.reduction_pct)):
        if abs(payload[name] - right) > 0.1:
            raise PayloadError(f"dream-metrics: {name}: must be {right:g}, as follows from the tokens")
    path = dream_log.metrics_path(desk.place.memory_dir, metrics.date)
    if not desk.read_only:
        dream_log.write_metrics(desk.place.memory_dir, metrics, desk.step)
    return _written(desk, {"file": str(path)}, f"The numbers are in {path}.")


def _metrics(desk: Desk, schema: str, payload: Mapping[str, Any]) -> Metrics:
    metrics = dream_log.metrics_of(payload)
    if metrics.date > desk.today:
        raise PayloadError(f"{schema}: date: {metrics.date} is not over yet; today is {desk.today}")
    return metrics


def write_staging(desk: Desk, payload: Mapping[str, Any]) -> Outcome:
    """Lay a proposal before a person.

    Raises PayloadError when its evidence is not in the memory or the archive on the days that it names, is of fewer
    than three days, or when a person has answered the same before.
    """
    evidence = [Evidence(e["id"], date.fromisoformat(e["date"]), e.get("text", "")) for e in payload["evidence"]]
    days = {one.day for one in evidence}
    if len(days) < patterns.LEAST_DAYS:
        raise PayloadError(f"staging-proposal: evidence: is of {len(days)} days; {patterns.LEAST_DAYS} are needed")
    document = parse(desk.store.read().content)
    known = {(one.id, one.day): one for one in noted(desk.place, document, desk.today)}
    for n, one in enumerate(evidence):
        found = known.get((one.id, one.day))
        if found is None:
            raise PayloadError(f"staging-proposal: evidence[{n}]: there is no observation {one.id} of {one.day}")
        if not found.is_current or found.type == "context" or found.importance < patterns.LEAST_IMPORTANCE:
            raise PayloadError(
                f"staging-proposal: evidence[{n}]: {one.id} is no evidence: temporary context, superseded, "
                f"or of an importance below {patterns.LEAST_IMPORTANCE:g}"
            )
    proposal = staged.new(
        payload["type"],
        payload["target_file"],
        payload["confidence"],
        payload["pattern_summary"],
        payload["proposed_text"],
        [Evidence(one.id, one.day, one.text or known[one.id, one.day].text) for one in evidence],
    )
    problem = staged.problem(proposal)
    if problem is not None:
        raise PayloadError(f"staging-proposal: proposed_text: {problem}")
    staging = Staging(desk.place.memory_dir, desk.place.workspace, desk.step)
    if patterns.is_answered(proposal.text, (proposal.days, proposal.ids), earlier(staging)):
        raise PayloadError("staging-proposal: a person has this before them or has decided: `staging list --all`")
    if desk.read_only:
        return _written(desk, {"target_file": proposal.target}, "")
    entry = staging.add(proposal, desk.now)
    fields: dict[str, object] = {"name": entry.name, "file": str(entry.path), "target_file": proposal.target}
    return _written(desk, fields, f"{entry.name} waits for a person: `staging show {entry.name}`.")


def _written(desk: Desk, fields: dict[str, object], said: str) -> Outcome:
    if desk.read_only:
        return Outcome(fields | {"dry_run": True}, ("What was handed in is right; nothing was written (read-only).",))
    return Outcome(fields, (said,))


# --- the steps


@dataclass(frozen=True, slots=True)
class Step:
    """One step. `schema` names what its payload must be; without one it takes none.

    A step that works `alone` has the memory to itself. One `from_phase` 2 is off with DREAM_PHASE=1.
    """

    run: Callable[[Desk, Mapping[str, Any]], Outcome]
    schema: str | None = None
    alone: bool = True
    from_phase: int = 1


STEPS: Final[Mapping[str, Step]] = {
    "preflight": Step(dream_filing.preflight),
    "decay": Step(dream_filing.decay, alone=False),
    "archive": Step(dream_filing.archive, "archive-items"),
    "chunk": Step(dream_filing.chunk_together, "chunk", from_phase=2),
    "update-observations": Step(dream_rewriting.update, "update-observations"),
    "write-staging": Step(write_staging, "staging-proposal", from_phase=2),
    "validate": Step(dream_rewriting.validate, alone=False),
    "rollback": Step(dream_rewriting.rollback, alone=False),
    "write-log": Step(write_log, "dream-log"),
    "write-metrics": Step(write_metrics, "dream-metrics"),
}
"""The steps, in the order in which a night takes them."""


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line asked for: a step, and what was handed in as JSON (None when nothing was)."""

    step: str
    payload: str | None = None
    agent: str | None = None
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class Result:
    """What a step has done in one memory."""

    step: str
    memory_dir: Path
    outcome: Outcome

    @property
    def failed(self) -> bool:
        return self.outcome.failed

    def payload(self) -> dict[str, object]:
        """The fields of the JSON answer."""
        return {"step": self.step, "memory_dir": str(self.memory_dir), **self.outcome.fields}

    def lines(self) -> list[str]:
        """The answer for a person."""
        return list(self.outcome.lines)


def run(options: Options, config: Configuration | None = None) -> Result:
    """Do one step in one memory, as far as READ_ONLY_MODE and `dry_run` allow.

    Raises PayloadError when what was handed in is wrong or may not be done, AlreadyRunning when a night or a reflection
    is at work, TotalRecallError when several memories could be meant. The memory is then as it was.
    """
    config = config or places.configure()
    settings, step = config.settings, STEPS[options.step]
    now = clock.now().astimezone(settings.tz)
    if settings.dream_phase < step.from_phase:
        raise TotalRecallError(f"DREAM_PHASE={settings.dream_phase} has no {options.step}: set DREAM_PHASE=2 for it")
    place = _the_one(config, options.agent)
    payload = read_payload(options.payload, options.step, step.schema)
    read_only = options.dry_run or settings.read_only_mode
    with at_work(place, settings, now, read_only, alone=step.alone) as desk:
        outcome = step.run(desk, payload)
    if step.alone and not read_only:
        logs.append(place.logs / LOG, clock.now(), f"dream {options.step}: {outcome.lines[0]}")
    return Result(options.step, place.memory_dir, outcome)


def _the_one(config: Configuration, agent: str | None) -> Place:
    found = places.find(config, clock.now(), agent)
    if len(found) > 1:
        raise TotalRecallError(f"there are several memories; name one with {places.choices(found)}")
    return found[0]


def read_payload(text: str | None, step: str, schema: str | None) -> Mapping[str, Any]:
    """What was handed in, checked. A bare list of items will do for `archive`, as it did in the bash original.

    Raises PayloadError: one line that says where it is wrong.
    """
    if schema is None:
        if text is not None and text.strip():
            raise PayloadError(f"{step} takes no payload; leave it out")
        return {}
    if text is None or not text.strip():
        raise PayloadError(f"{step} needs JSON, as an argument or on standard input; see schemas/{schema}.json")
    if len(text) > MOST_CHARACTERS:
        raise PayloadError(f"{schema}: more than {MOST_CHARACTERS:,} characters; hand it in in parts")
    value = _parsed(text, schema)
    if step == "archive" and isinstance(value, list):
        value = {"items": value}
    resources.check(value, schema)
    assert isinstance(value, dict)  # so says every schema
    return value


def _parsed(text: str, schema: str) -> object:
    try:
        value: object = json.loads(text.removeprefix("\ufeff"), parse_constant=_no_number, object_pairs_hook=_once)
    except json.JSONDecodeError as error:
        raise PayloadError(f"{schema}: no JSON: {error.msg} in line {error.lineno}, column {error.colno}") from error
    except RecursionError as error:
        raise PayloadError(f"{schema}: no JSON that could be meant: nested too deep") from error
    except ValueError as error:
        raise PayloadError(f"{schema}: {error}") from error
    return value


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number in JSON")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; of a field that is given twice one value would be lost without a word."""
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the field {twice[:60]!r} is given twice")
    return found
