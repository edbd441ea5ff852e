"""Where a program may fail: every system call it makes on its own files, and what can go wrong with it there.

strace lists the calls of an undisturbed run, and in another run makes the n-th of a kind fail with an error of the
operating system, or ends the program in it. SQLite's calls are among them: it cannot tell it from a bad disk.
"""

from __future__ import annotations

import functools
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

RUN_PY: Final = Path(__file__).parents[2] / "scripts" / "run.py"
ERRORS: Final[Mapping[str, tuple[str, ...]]] = {
    "openat": ("EMFILE", "EIO", "ENOSPC", "EROFS", "EACCES"),
    "read": ("EIO",),
    "pread64": ("EIO",),
    "write": ("ENOSPC", "EIO"),
    "pwrite64": ("ENOSPC", "EIO"),
    "fsync": ("EIO",),
    "fdatasync": ("EIO",),
    "ftruncate": ("EIO", "ENOSPC"),
    "fallocate": ("ENOSPC",),
    "rename": ("EIO", "EROFS", "ENOSPC"),
    "renameat2": ("EIO", "EROFS", "ENOSPC", "EINVAL"),
    "link": ("EPERM", "ENOSPC"),
    "unlink": ("EROFS", "EIO"),
    "unlinkat": ("EROFS", "EIO"),
    "mkdir": ("ENOSPC", "EROFS"),
    "rmdir": ("EIO",),
    "chmod": ("EPERM",),
    "fchmod": ("EPERM",),
    "utimensat": ("EPERM",),
    "getdents64": ("EIO",),
    "newfstatat": ("EIO",),
    "fcntl": ("ENOLCK",),
    "flock": ("ENOLCK",),
}
"""The calls that touch files, and the errors that each may answer with (the first is tried even in a short run)."""

PERSISTENT: Final = frozenset({"pwrite64", "fsync", "mkdir", "rename", "renameat2"})
"""Calls that also fail from then on: a disk that filled up stays full. (`write` would take the output away, too, and
`openat` the program's own modules.)"""

Fate = Literal["once", "on", "kill"]
"""The call fails once, fails from then on, or is the last thing the program does."""


@dataclass(frozen=True, slots=True)
class Point:
    """The `number`-th call of a kind, from 1."""

    call: str
    number: int


@dataclass(frozen=True, slots=True)
class Fault:
    """What happens at a point."""

    point: Point
    fate: Fate
    error: str = ""

    def __str__(self) -> str:
        what = {"once": self.error, "on": f"{self.error} from then on", "kill": "killed"}[self.fate]
        return f"{self.point.call} #{self.point.number}: {what}"

    def injection(self) -> str:
        """The rule as strace reads it."""
        if self.fate == "kill":
            return f"{self.point.call}:signal=KILL:when={self.point.number}"
        return f"{self.point.call}:error={self.error}:when={self.point.number}{'+' if self.fate == 'on' else ''}"


@dataclass(frozen=True, slots=True)
class Ended:
    """How a run ended: its exit code (negative: the signal) and what it printed."""

    code: int
    out: str
    err: str


@functools.cache
def why_not() -> str | None:
    """Why calls cannot be made to fail here; None when they can."""
    if sys.platform != "linux" or shutil.which("strace") is None:
        return "needs strace (apt install strace)"
    trial = subprocess.run(
        ["strace", "-f", "--seccomp-bpf", "-qq", "-o", "/dev/null", "-e", "trace=openat",
         "-e", "inject=openat:error=EIO:when=65535", "true"],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    if trial.returncode == 0:
        return None
    # A container may forbid tracing; anything else is a fault of these tests.
    assert "ptrace" in trial.stderr or "not permitted" in trial.stderr, trial.stderr
    return f"strace may not trace here: {trial.stderr.strip()[:200]}"


def run(home: Path, arguments: Sequence[str], fault: Fault | None = None) -> Ended:
    """Run a command in a home, undisturbed or with a fault."""
    command = [sys.executable, "-I", "-X", "utf8", str(RUN_PY), *arguments]
    if fault is not None:
        rules = ["-e", f"trace={fault.point.call}", "-e", f"inject={fault.injection()}"]
        command = ["strace", "-f", "--seccomp-bpf", "-qq", "-o", "/dev/null", *rules, *command]
    return _ended(home, command)


def points(home: Path, arguments: Sequence[str], log: Path) -> list[Point]:
    """The points of a run: it is carried out, and every call on something in its home counts."""
    trace = ["strace", "-f", "-y", "-qq", "-s", "300", "-o", str(log), "-e", "trace=" + ",".join(ERRORS)]
    ended = _ended(home, [*trace, sys.executable, "-I", "-X", "utf8", str(RUN_PY), *arguments])
    assert ended.code == 0, f"{arguments}: exit {ended.code}: {ended.err}"
    return list(_on_files_of(home, log.read_text(errors="replace").splitlines()))


def faults(found: Sequence[Point], *, every_error: bool = True) -> Iterator[Fault]:
    """What to try at these points."""
    for point in found:
        yield Fault(point, "kill")
        for error in ERRORS[point.call] if every_error else ERRORS[point.call][:1]:
            yield Fault(point, "once", error)
        if point.call in PERSISTENT:
            yield Fault(point, "on", ERRORS[point.call][0] if point.call == "fsync" else "ENOSPC")


def variables(home: Path, **more: str) -> dict[str, str]:
    """The environment of a run: a home, nothing of the tester's."""
    return {
        "PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(home), "TOTAL_RECALL_TZ": "UTC", "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1", **more,
    }  # fmt: skip


def _ended(home: Path, command: Sequence[str]) -> Ended:
    done = subprocess.run(command, env=variables(home), cwd="/", capture_output=True, timeout=120, check=False)
    return Ended(done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"))


_CALL = re.compile(r"^(?P<process>[0-9]+) +(?P<call>[a-z0-9]+)\(")


def _on_files_of(home: Path, trace: Sequence[str]) -> Iterator[Point]:
    """strace counts the calls of each process or thread apart: those of the first one are tried."""
    first: str | None = None
    counts: Counter[str] = Counter()
    for line in trace:
        match = _CALL.match(line)
        if match is None:
            continue
        first = first or match["process"]
        if match["process"] != first:
            continue
        counts[match["call"]] += 1
        if str(home) in line:
            yield Point(match["call"], counts[match["call"]])
