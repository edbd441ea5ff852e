"""Which session stores there are. After an upgrade there are both generations at once: both are always looked for."""

from __future__ import annotations

import os
from pathlib import Path

from total_recall.errors import StoreError
from total_recall.sessions.openclaw_files import OpenClawFiles
from total_recall.sessions.openclaw_runs import RefusedRequests
from total_recall.sessions.openclaw_sqlite import OpenClawSqlite
from total_recall.sessions.source import SessionSource

DATABASE = "openclaw-agent.sqlite"


def agents_in(state_dir: Path) -> list[str]:
    """The ids of the agents that have a folder under `agents/`.

    Raises StoreError when the folder is there and cannot be listed.
    """
    try:
        with os.scandir(state_dir / "agents") as entries:
            return sorted(entry.name for entry in entries if entry.is_dir())
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise StoreError(f"{state_dir / 'agents'} cannot be listed: {error.strerror}; check its permissions") from error


def of_agent(state_dir: Path, agent: str, *, latest_ms: int) -> list[SessionSource]:
    """The stores of one agent, files first: a transcript in both keeps the place that it had before an upgrade.

    Last what reached none of them.
    """
    root = state_dir / "agents" / agent
    return _with_refused(state_dir, agent, root / "sessions", root / "agent" / DATABASE, latest_ms)


def _with_refused(state_dir: Path, agent: str, folder: Path, database: Path, latest_ms: int) -> list[SessionSource]:
    files = OpenClawFiles(folder, agent, latest_ms=latest_ms)
    rows = OpenClawSqlite(database, agent, latest_ms=latest_ms)
    # Readers of its own: where the others have come to must not change under them.
    own = (
        OpenClawFiles(folder, agent, latest_ms=latest_ms),
        OpenClawSqlite(database, agent, latest_ms=latest_ms),
    )
    return [files, rows, RefusedRequests(state_dir, agent, own, database, latest_ms=latest_ms)]


def in_directory(directory: Path, *, latest_ms: int) -> list[SessionSource]:
    """The stores that `SESSIONS_DIR` names: a `sessions` folder, with the database that an upgrade put beside it.

    Raises StoreError when the folder is not there.
    """
    if not directory.is_dir():
        raise StoreError(f"SESSIONS_DIR is {directory}, which is no folder; correct it, or unset it for ~/.openclaw")
    of_host = directory.parent.parent.name == "agents"
    agent = directory.parent.name if of_host else "main"
    if of_host and not (directory / DATABASE).exists():
        beside = directory.parent / "agent" / DATABASE
        return _with_refused(directory.parents[2], agent, directory, beside, latest_ms)
    sources: list[SessionSource] = [OpenClawFiles(directory, agent, latest_ms=latest_ms)]
    inside, beside = directory / DATABASE, directory.parent / "agent" / DATABASE
    # In the host's own layout the database may yet come, and nothing in `directory` would show it.
    databases = [path for path, expected in ((inside, False), (beside, of_host)) if expected or path.exists()]
    return [*sources, *(OpenClawSqlite(path, agent, latest_ms=latest_ms) for path in databases)]
