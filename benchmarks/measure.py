"""A home of its own for Total Recall, and how long a process takes in it.

The Python environment is the caller's (made on first use, not measured); everything else lies in a temporary folder.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SCRIPTS = ROOT / "scripts"


@dataclass(frozen=True, slots=True)
class Took:
    """What one process took: seconds by the clock and of the processor, the largest resident set in MB; its output."""

    seconds: float
    cpu_seconds: float
    peak_mb: float
    output: bytes


@dataclass(frozen=True, slots=True)
class Home:
    """A user who has nothing but an OpenClaw."""

    folder: Path

    @property
    def agent(self) -> Path:
        return self.folder / ".openclaw" / "agents" / "main"

    @property
    def sessions(self) -> Path:
        return self.agent / "sessions"

    @property
    def memory(self) -> Path:
        return self.folder / ".openclaw" / "workspace" / "memory"

    @property
    def gate_records(self) -> Path:
        return self.folder / ".cache" / "total-recall" / "gate"

    def run(self, *command: str) -> Took:
        """Run a command with the bare environment of a cron job. Raises CalledProcessError."""
        environment = {"HOME": str(self.folder), "PATH": "/usr/bin:/bin", "XDG_DATA_HOME": str(_data_home())}
        begun = time.perf_counter()
        with subprocess.Popen(command, env=environment, cwd=self.folder, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            output = process.stdout.read()
            _, status, used = os.wait4(process.pid, 0)
            seconds = time.perf_counter() - begun
            process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise subprocess.CalledProcessError(process.returncode, command, output)
        unit = 1_000_000 if sys.platform == "darwin" else 1_000
        return Took(seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / unit, output)

    def observe(self, *options: str) -> Took:
        """Run `observe` as cron does."""
        return self.run("/bin/sh", str(SCRIPTS / "total-recall"), "observe", *options)


def product_python() -> str:
    """The interpreter that the launcher uses; its environment is made now if there is none."""
    requirements = str(ROOT / "requirements.txt")
    command = [sys.executable, str(SCRIPTS / "bootstrap.py"), "--python-for", requirements]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def answer(took: Took) -> dict[str, Any]:
    """What a command said with `--json`."""
    fields: dict[str, Any] = json.loads(took.output)
    return fields


def report(benchmark: str, **figures: object) -> None:
    """Print the figures as one line of JSON."""
    print(json.dumps({"benchmark": benchmark, "python": sys.version.split()[0], **figures}))


def milliseconds(seconds: Sequence[float]) -> float:
    """The median, in ms."""
    return round(sorted(seconds)[len(seconds) // 2] * 1000, 2)


def _data_home() -> Path:
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
