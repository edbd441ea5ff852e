"""The user's crontab: our lines in a block of their own, every other line byte for byte as it was (crontab(5))."""

from __future__ import annotations

import re
from collections.abc import Sequence

from total_recall.errors import TotalRecallError
from total_recall.host.jobs import Call, Job
from total_recall.host.programs import Ran, run
from total_recall.host.textblock import Markers, has_block, with_block, without_block

_OUR_LINE = re.compile(rb'^[\d*,/ ]+.*/bin/sh ".*/total-recall" [a-z ]+>/dev/null 2>&1$')
_ORIGINAL = re.compile(
    rb"^\s*[^#\s].*total-recall.*[/\s\"']"
    rb"(observer-agent|reflector-agent|session-recovery|dream-cycle|observer-watcher)\.sh(?=[\s\"';&|)]|$)"
)
"""A line that starts a script of the bash original."""
MARKERS = Markers(
    begin=b"# BEGIN total-recall",
    end=b"# END total-recall",
    begin_note=b" (made by total-recall setup, removed by total-recall uninstall)",
    is_ours=lambda line: bool(_OUR_LINE.match(line)),
)
_NONE_YET = re.compile(r"^no crontab for |: no crontab for |can't open .*: no such file", re.IGNORECASE)
"""Debian and cronie, macOS and BSD, busybox."""


def lines(jobs: Sequence[Job], call: Call) -> tuple[bytes, ...]:
    """A line for each job. The program keeps a log of its own, so cron has nothing to mail."""
    # cron makes a line end of a bare "%", and takes the backslash before another one away again.
    commands = [call.shell(job.arguments).replace("%", "\\%") for job in jobs]
    return tuple(
        f"{_time(job)} {command} >/dev/null 2>&1".encode() for job, command in zip(jobs, commands, strict=True)
    )


def _time(job: Job) -> str:
    minute = f"*/{job.every_minutes}" if job.every_minutes else ",".join(map(str, job.minutes))
    return f"{minute} {'*' if job.hour is None else job.hour} * * *"


def with_jobs(text: bytes, ours: Sequence[bytes]) -> bytes:
    """The crontab with our block, at the place of the old one."""
    return with_block(text, MARKERS, ours)


def without_jobs(text: bytes) -> bytes:
    """The crontab without our block."""
    return without_block(text, MARKERS)


def has_jobs(text: bytes) -> bool:
    """Whether our block is there, whatever stands in it."""
    return has_block(text, MARKERS)


def originals(text: bytes) -> tuple[bytes, ...]:
    """The lines that start the bash original, without their line ends."""
    return tuple(line for line in text.split(b"\n") if _ORIGINAL.match(line))


def without_originals(text: bytes) -> bytes:
    """The crontab without the lines of the bash original."""
    *ended, last = text.split(b"\n")
    kept = b"".join(line + b"\n" for line in ended if not _ORIGINAL.match(line))
    return kept + (b"" if _ORIGINAL.match(last) else last)


def read(program: str) -> bytes | None:
    """The crontab, or None when the user has none. Raises TotalRecallError when it cannot be read."""
    ran = run([program, "-l"])
    if ran.code == 0:
        return ran.out
    if _NONE_YET.search(ran.said):
        return None
    raise _failure(ran, "read")


def write(program: str, text: bytes | None) -> None:
    """Replace the crontab; None removes it. Raises TotalRecallError when it is not there afterwards."""
    ran = run([program, "-r"] if text is None else [program, "-"], given=text)
    if ran.code != 0:
        raise _failure(ran, "write")
    if read(program) != text:
        raise TotalRecallError(f"{program} took the new crontab but shows another one; look at it with crontab -l")


def _failure(ran: Ran, verb: str) -> TotalRecallError:
    return TotalRecallError(f"cannot {verb} the crontab: {ran.said or f'exit code {ran.code}'}; ask who administers it")
