"""Other programs of this computer: started without a shell, in bounded time, with what they said."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

PATIENCE_SECONDS = 120.0
"""OpenClaw's command line takes seconds to start, on a small computer many."""


@dataclass(frozen=True, slots=True)
class Ran:
    """What a program answered. `said` is its first line of complaint, for a person."""

    code: int
    out: bytes
    said: str

    @property
    def text(self) -> str:
        """Its output as text."""
        return self.out.decode("utf-8", "replace")


def run(command: Sequence[str], *, given: bytes | None = None, seconds: float = PATIENCE_SECONDS) -> Ran:
    """Run a program in the environment of this one. A program that is not there or too slow has a code as well."""
    try:
        done = subprocess.run(
            list(command),
            input=given,
            stdin=subprocess.DEVNULL if given is None else None,
            capture_output=True,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Ran(124, b"", f"{command[0]} gave no answer in {seconds:.0f} seconds")
    except OSError as error:
        return Ran(127, b"", f"{command[0]}: {error.strerror}")
    complaint = done.stderr or (done.stdout if done.returncode else b"")
    words = complaint.decode("utf-8", "replace").split("\n")
    return Ran(done.returncode, done.stdout, next((" ".join(line.split()) for line in words if line.strip()), ""))
