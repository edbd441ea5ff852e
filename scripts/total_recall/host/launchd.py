"""Agents of launchd, macOS's scheduler: a property list for each job and for the watcher (launchd.plist(5))."""

from __future__ import annotations

import plistlib
from collections.abc import Sequence

from total_recall.host.jobs import Call, Job
from total_recall.host.programs import run

PREFIX = "ai.total-recall."
WATCHER = "watch"


def agents(jobs: Sequence[Job], call: Call, watch: tuple[str, ...] | None) -> dict[str, bytes]:
    """File name → property list, for each job and, with `watch`, for the watcher that these arguments start."""
    made = {f"{label(job.name)}.plist": _agent(job.name, call, job.arguments, _times(job)) for job in jobs}
    if watch is not None:
        lasting = {"RunAtLoad": True, "KeepAlive": {"SuccessfulExit": False}, "ThrottleInterval": 60}
        made[f"{label(WATCHER)}.plist"] = _agent(WATCHER, call, watch, lasting)
    return made


def label(name: str) -> str:
    """What launchd calls the agent of a job."""
    return PREFIX + name


def _agent(name: str, call: Call, arguments: tuple[str, ...], times: dict[str, object]) -> bytes:
    return plistlib.dumps(
        {
            "Label": label(name),
            "ProgramArguments": ["/bin/sh", str(call.launcher), *arguments],
            **({"EnvironmentVariables": dict(call.variables)} if call.variables else {}),
            **times,
            "ProcessType": "Background",
            "StandardOutPath": "/dev/null",
            "StandardErrorPath": "/dev/null",
            "Umask": 0o077,
        },
        sort_keys=False,
    )


def _times(job: Job) -> dict[str, object]:
    hour = {} if job.hour is None else {"Hour": job.hour}
    return {"StartCalendarInterval": [{**hour, "Minute": minute} for minute in job.minutes]}


def domain(uid: int) -> str:
    """The session of a user who is logged in."""
    return f"gui/{uid}"


def loaded(program: str, uid: int, name: str) -> bool:
    """Whether launchd knows the agent of this label."""
    return run([program, "print", f"{domain(uid)}/{name}"]).code == 0
