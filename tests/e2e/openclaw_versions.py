"""Which versions of OpenClaw the tests drive, and where they are installed."""

from __future__ import annotations

import os
from pathlib import Path

HERE = Path(__file__).parent
VERSIONS = [
    line.split()[0] for line in (HERE / "versions.txt").read_text("utf-8").split("\n") if line and line[0] != "#"
]


def install_root() -> Path:
    """Where `tests/e2e/install` puts the versions; the same rule as there."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("TOTAL_RECALL_E2E_DIR") or Path(cache) / "total-recall-e2e")
