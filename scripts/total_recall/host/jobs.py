"""What a scheduler starts, and when: the values that crontab, systemd, launchd and OpenClaw's own cron are made of."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

DESCRIPTION = "Total Recall"


@dataclass(frozen=True, slots=True)
class Job:
    """A command that runs at `minutes` past each hour, or past the one `hour` of each day; local time."""

    name: str
    arguments: tuple[str, ...]
    minutes: tuple[int, ...]
    hour: int | None = None

    @property
    def every_minutes(self) -> int | None:
        """The distance of the minutes, if they divide each hour into equal parts."""
        distance = 60 // len(self.minutes)
        return distance if self.hour is None and self.minutes == tuple(range(0, 60, distance)) else None


@dataclass(frozen=True, slots=True)
class Call:
    """How the program is started from outside: its launcher, and the variables that it would not have there."""

    launcher: Path
    variables: tuple[tuple[str, str], ...] = ()

    def shell(self, arguments: tuple[str, ...]) -> str:
        """The command line for a shell. The launcher is named as a file for sh: it need not be executable."""
        settings = [f"{name}={in_quotes(value)}" for name, value in self.variables]
        start = ["/usr/bin/env", *settings] if settings else []
        return " ".join([*start, "/bin/sh", in_quotes(str(self.launcher)), *arguments])


def in_quotes(text: str) -> str:
    """A word for a shell, in double quotes."""
    for special in '\\"$`':
        text = text.replace(special, "\\" + special)
    return f'"{text}"'
