"""User units of systemd: a timer for each job, and the watcher as a service (systemd.unit(5), version 252)."""

from __future__ import annotations

from collections.abc import Sequence

from total_recall.host.jobs import DESCRIPTION, Call, Job
from total_recall.host.programs import run

PREFIX = "total-recall-"
WATCHER = "total-recall-watcher.service"
"""The bash original's unit has the same name: ours takes its place."""
QUICK_SECONDS = 20.0

MADE = b"# Made by total-recall setup"
"""By this line a unit of ours is known."""

_SERVICE = """\
# Made by total-recall setup, removed by total-recall uninstall.
[Unit]
Description={description}: {arguments}

[Service]
Type=oneshot
ExecStart={command}
{environment}Nice=10
TimeoutStartSec=1h
{hardening}"""
_TIMER = """\
# Made by total-recall setup, removed by total-recall uninstall.
[Unit]
Description={description}: {arguments}

[Timer]
OnCalendar={calendar}
Persistent=true

[Install]
WantedBy=timers.target
"""
# The watcher calls at half of WatchdogSec and waits a minute at most in between; the first start may have to prepare
# its environment of packages.
_WATCHER = """\
# Made by total-recall setup, removed by total-recall uninstall.
[Unit]
Description={description}: watches the session stores

[Service]
Type=notify
ExecStart={command}
ExecReload=/bin/kill -HUP $MAINPID
{environment}Nice=10
WatchdogSec=180
TimeoutStartSec=300
Restart=on-failure
RestartSec=60
# An observer that it has started is not ended with it.
KillMode=process
{hardening}
[Install]
WantedBy=default.target
"""
# What a user's manager can do without namespaces of its own, and Python and its packages live with.
_HARDENING = """\
UMask=0077
NoNewPrivileges=yes
LockPersonality=yes
RestrictRealtime=yes
SystemCallArchitectures=native
"""


def units(jobs: Sequence[Job], call: Call) -> dict[str, str]:
    """File name → text of a service and a timer for each job."""
    made = {}
    for job in jobs:
        words = {"description": DESCRIPTION, "arguments": " ".join(job.arguments)}
        made[f"{PREFIX}{job.name}.service"] = _SERVICE.format(**words, **_start(call, job.arguments))
        made[timer(job)] = _TIMER.format(**words, calendar=_calendar(job))
    return made


def timer(job: Job) -> str:
    """The name of the job's timer."""
    return f"{PREFIX}{job.name}.timer"


def watcher(call: Call, arguments: tuple[str, ...]) -> str:
    """The text of the watcher's unit."""
    return _WATCHER.format(description=DESCRIPTION, **_start(call, arguments))


def _start(call: Call, arguments: tuple[str, ...]) -> dict[str, str]:
    launcher = _quoted(str(call.launcher)).replace("$", "$$")
    variables = [f"Environment={_quoted(f'{name}={value}')}\n" for name, value in call.variables]
    return {
        "command": " ".join(["/bin/sh", launcher, *arguments]),
        "environment": "".join(variables),
        "hardening": _HARDENING,
    }


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%") + '"'


def _calendar(job: Job) -> str:
    hour = "*" if job.hour is None else f"{job.hour:02}"
    minute = f"00/{job.every_minutes}" if job.every_minutes else ",".join(f"{m:02}" for m in job.minutes)
    return f"*-*-* {hour}:{minute}:00"


def answers(program: str) -> bool:
    """Whether this user has a manager that takes orders: not in most containers, nor under `su`."""
    return run([program, "--user", "show-environment"], seconds=QUICK_SECONDS).code == 0


def enabled(program: str, names: Sequence[str]) -> tuple[str, ...]:
    """Those of the units that start by themselves."""
    return _which(program, "is-enabled", names, {"enabled", "enabled-runtime"})


def active(program: str, names: Sequence[str]) -> tuple[str, ...]:
    """Those of the units that run, wait or are just starting."""
    return _which(program, "is-active", names, {"active", "activating", "reloading"})


def _which(program: str, question: str, names: Sequence[str], good: set[str]) -> tuple[str, ...]:
    if not names:
        return ()
    # One at a time: for several, some versions leave out the line of a unit that is not there.
    asked = ((name, run([program, "--user", question, name], seconds=QUICK_SECONDS)) for name in names)
    return tuple(name for name, ran in asked if ran.text.strip() in good)
