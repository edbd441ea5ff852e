"""OpenClaw's own command line: its cron and its list of hooks (openclaw.md sections 5 and 8)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from total_recall.errors import TotalRecallError
from total_recall.host.jobs import Call, Job
from total_recall.host.programs import run

PREFIX = "total-recall-"


@dataclass(frozen=True, slots=True)
class CronJob:
    """A job of OpenClaw's cron that is ours. `command` is None when the job is not one that starts a command."""

    id: str
    name: str
    enabled: bool
    command: str | None
    when: tuple[str, object]


def offers_commands(program: str) -> bool:
    """Whether its cron can start a command and keep the result to itself: from about 2026.7.1, read off its help."""
    said = run([program, "cron", "add", "--help"]).text
    return "--command " in said and "--no-deliver" in said


def add_job(program: str, job: Job, call: Call) -> tuple[str, ...]:
    """The command line that adds a job."""
    when = ("--every", f"{job.every_minutes}m") if job.every_minutes else ("--cron", _expression(job))
    name = PREFIX + job.name
    # Without --no-deliver each run is recorded as failed where no channel is set up.
    payload = ("--command", call.shell(job.arguments), "--no-deliver", "--json")
    return (program, "cron", "add", "--name", name, *when, *payload)


def remove_job(program: str, job: CronJob) -> tuple[str, ...]:
    """The command line that removes a job."""
    return (program, "cron", "rm", job.id)


def is_as_wanted(job: CronJob, wanted: Job, call: Call) -> bool:
    """Whether the job starts what is wanted when it is wanted."""
    when = ("every", wanted.every_minutes * 60_000) if wanted.every_minutes else ("cron", _expression(wanted))
    return job.enabled and job.command == call.shell(wanted.arguments) and job.when == when


def jobs(program: str) -> tuple[CronJob, ...]:
    """Our jobs in its cron. Raises TotalRecallError when the Gateway does not answer."""
    ran = run([program, "cron", "list", "--all", "--json"])
    answer = _answer(ran.text) if ran.code == 0 else None
    if answer is None:
        raise TotalRecallError(f"openclaw cron list: {ran.said or 'no answer'}; start the Gateway and run this again")
    listed = answer.get("jobs")
    found = [_job(entry) for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []
    return tuple(job for job in found if job.name.startswith(PREFIX))


def hook_names(program: str) -> tuple[str, ...]:
    """The hooks that it would load, if they are selected; none when it does not say."""
    answer = _answer(run([program, "hooks", "list", "--json"]).text) or {}
    listed = answer.get("hooks")
    hooks = [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []
    return tuple(str(hook.get("name")) for hook in hooks if hook.get("eligible") and not hook.get("managedByPlugin"))


def _expression(job: Job) -> str:
    return f"{','.join(map(str, job.minutes))} {'*' if job.hour is None else job.hour} * * *"


def _job(entry: Mapping[str, object]) -> CronJob:
    payload, schedule = _object(entry.get("payload")), _object(entry.get("schedule"))
    argv = payload.get("argv")
    is_shell = isinstance(argv, Sequence) and len(argv) == 3 and list(argv[:2]) == ["sh", "-lc"]
    kind = str(schedule.get("kind"))
    when = schedule.get("everyMs") if kind == "every" else schedule.get("expr")
    return CronJob(
        id=str(entry.get("id")),
        name=str(entry.get("name")),
        enabled=entry.get("enabled") is True,
        command=str(argv[2]) if is_shell and isinstance(argv, Sequence) else None,
        when=(kind, when),
    )


def _object(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def _answer(text: str) -> Mapping[str, object] | None:
    """The JSON object in its output; log lines may come before it."""
    start = text.find("{")
    while start >= 0:
        try:
            value, _ = json.JSONDecoder().raw_decode(text, start)
        except ValueError:
            start = text.find("\n{", start)
            start += 1 if start >= 0 else 0
            continue
        return value if isinstance(value, dict) else None
    return None
