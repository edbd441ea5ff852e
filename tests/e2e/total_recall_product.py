"""Total Recall as a cron job would run it, and what it then knows."""

from __future__ import annotations

import json
import sqlite3
import subprocess
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2]
RUN_SECONDS = 300.0
"""The first run makes the Python environment, over the network."""


@dataclass(frozen=True, slots=True)
class Taken:
    """One row of the message table: what was captured, and whether it reached an observer."""

    session_id: str
    entry_id: str
    role: str
    text: str
    status: str


@dataclass(frozen=True, slots=True)
class TotalRecall:
    """The program for one `home`; `shared` keeps its environment from test to test."""

    home: Path
    workspace: Path
    shared: Path

    @property
    def document(self) -> Path:
        return self.workspace / "memory" / "observations.md"

    def observe(self) -> dict[str, Any]:
        """Run `observe --json` with the bare environment of a cron job; its result."""
        environment = {
            "HOME": str(self.home),
            "PATH": "/usr/bin:/bin",
            "XDG_DATA_HOME": str(self.shared / "data"),
            "XDG_CACHE_HOME": str(self.shared / "cache"),
        }
        command = ["/bin/sh", str(REPOSITORY / "scripts" / "total-recall"), "observe", "--json"]
        done = subprocess.run(
            command, env=environment, cwd=self.home, capture_output=True, text=True, timeout=RUN_SECONDS, check=False
        )
        assert done.returncode == 0, f"observe ended with {done.returncode}: {done.stderr[-4000:]}{done.stdout[-2000:]}"
        result: dict[str, Any] = json.loads(done.stdout)
        return result

    def taken(self) -> list[Taken]:
        """All that it has captured so far, in the order of capture."""
        database = self.workspace / "memory" / ".total-recall" / "state.sqlite"
        query = (
            "SELECT session.id, entry_id, role, text, status FROM message "
            "JOIN session ON session.num = message.session ORDER BY message.id"
        )
        with closing(sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True)) as connection:
            return [Taken(*row) for row in connection.execute(query)]
