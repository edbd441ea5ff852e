"""The logs that a person can follow: one line a run, rotated, for the owner's eyes alone."""

from __future__ import annotations

import os
import sys
import tempfile
import traceback
from datetime import datetime
from pathlib import Path

from total_recall import __version__
from total_recall.confined import NO_LINK
from total_recall.harmless import printable

ROTATE_BYTES = 1_000_000
KEPT = 3


def append(path: Path, at: datetime, line: str) -> str | None:
    """Add a line with its time to a log. Returns what went wrong, in words, or None: a log never stops a run."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _rotate(path)
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | NO_LINK, 0o600)
        try:
            said = " ".join(printable(line).split())
            os.write(handle, f"{at.isoformat(timespec='seconds')} {said}\n".encode("utf-8", "replace"))
        finally:
            os.close(handle)
    except OSError as error:
        return f"{path} cannot be written: {error.strerror}"
    return None


def _rotate(path: Path) -> None:
    """`observer.log` → `observer.log.1` → … when it has grown; the oldest goes."""
    if not path.exists() or path.stat().st_size < ROTATE_BYTES:
        return
    for number in range(KEPT, 0, -1):
        older = path.with_name(f"{path.name}.{number}")
        newer = path.with_name(f"{path.name}.{number - 1}") if number > 1 else path
        if newer.exists():
            newer.replace(older)


def bug_report(error: Exception) -> str | None:
    """Write the traceback of a bug to a new file for the owner's eyes alone; returns its path, None without a place."""
    try:
        handle, path = tempfile.mkstemp(prefix="total-recall-", suffix=".log")
        with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as stream:
            stream.write(f"total-recall {__version__}, Python {sys.version}\n")
            traceback.print_exception(error, file=stream)
    except OSError:
        return None
    return path
