"""Small files of ours beside the document: read whole, written whole, for the owner's eyes alone."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from total_recall.errors import MemoryWriteError
from total_recall.memory.store import sync_directory
from total_recall.state import Step, no_step, private_directory


def read_file(path: Path) -> bytes | None:
    """The file's bytes, None when there is none. Raises MemoryWriteError."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _failed(path, "read", error) from error


def write_file(path: Path, content: bytes, step: Step = no_step) -> None:
    """Put the content in the file's place in one step, mode 0600, synced; makes its directory (0700).

    What a killed process left of an earlier attempt goes. Hold a lock: of two writers at once one would win.
    Raises MemoryWriteError; the file is then as it was.
    """
    private_directory(path.parent)
    prefix = f".{path.name}.total-recall-"
    temporary = path.with_name(f"{prefix}{secrets.token_hex(8)}.tmp")
    try:
        for leftover in path.parent.glob(f"{prefix}*.tmp"):
            leftover.unlink(missing_ok=True)
        try:
            step(f"write {path.name}")
            handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with os.fdopen(handle, "wb") as stream:
                stream.write(content)
                stream.flush()
                os.fsync(stream.fileno())
            step(f"replace {path.name}")
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
        sync_directory(path.parent)
    except OSError as error:
        raise _failed(path, "write", error) from error


def _failed(path: Path, verb: str, error: OSError) -> MemoryWriteError:
    return MemoryWriteError(
        f"cannot {verb} {path}: {error.strerror}; free some space or check its owner, then run the command again"
    )
