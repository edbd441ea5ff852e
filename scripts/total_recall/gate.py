"""Is there anything new? Asked before anything else is imported, so that an idle cron run costs next to nothing.

After a run that left nothing to do, `record` writes down what it looked at and what it said. While all of that looks
the same, `nothing_new` says it again. A database whose file has changed is asked a cheap question: the host writes
there for reasons of its own. The records live in the cache directory and may be deleted at any time.
"""

from __future__ import annotations

import os
import sys
import time
import zlib
from collections.abc import Iterable, Sequence

HEAD = "total-recall gate 1"
PLAIN_RUNS = (["observe"], ["observe", "--json"])
"""The command lines that can be answered from a record."""

_NAMES = ("HOME", "TZ", "MEMORY_DIR", "SESSIONS_DIR", "READ_ONLY_MODE", "OPENROUTER_API_KEY", "PWD")
_PREFIXES = ("OPENCLAW_", "LLM_", "OBSERVER_", "REFLECTOR_", "TOTAL_RECALL_", "DREAM_", "EMBEDDING_")
_LINE_END = "\x1f"


def nothing_new(argv: Sequence[str]) -> bool:
    """Whether this run has nothing to do. Then its output was printed and its stamp renewed."""
    path = _record_path(argv)
    if path is None:
        return False
    try:
        with open(path, encoding="utf-8", newline="\n") as stream:  # noqa: PTH123  # pathlib doubles the cost of a start
            lines = stream.read().split("\n")
    except (OSError, ValueError):
        return False
    if lines[0] != HEAD or lines[-2:] != ["end", ""]:
        return False
    database_changed = False
    stamps: list[str] = []
    for line in lines[2:-2]:
        kind, _, rest = line.partition("\t")
        if kind == "same" and not _same(rest):
            return False
        if kind == "inode" and not _same_inode(rest):
            return False
        if kind == "database" and not _same(rest):
            database_changed = True
        if kind == "ask" and database_changed and not _same_answer(rest):
            return False
        if kind == "stamp":
            stamps.append(rest)
    try:
        for name in stamps:
            stamp(name)
    except OSError:
        # The full run says in words what is wrong with the memory directory.
        return False
    sys.stdout.write(lines[1].replace(_LINE_END, "\n"))
    sys.stdout.flush()
    return True


def record(
    argv: Sequence[str],
    *,
    said: str,
    same: Iterable[tuple[str, int, int, int]],
    databases: Iterable[tuple[str, int, int, int]],
    questions: Iterable[tuple[str, str, str]],
    inodes: Iterable[str],
    stamps: Iterable[str],
) -> None:
    """Write down that this command line had nothing left to do.

    `same` and `databases` are (path, inode or 0 when absent, size, mtime in ns) as they were before they were read;
    `questions` are (database, query, answer), asked when one of `databases` has changed. `inodes` are files that need
    only still be there. What the cache directory does not take is no loss: the next run then looks for itself.
    """
    path = _record_path(argv)
    if path is None:
        return
    lines = [HEAD, said.replace("\n", _LINE_END)]
    lines += [f"same\t{ino}\t{size}\t{mtime_ns}\t{name}" for name, ino, size, mtime_ns in same]
    lines += [f"database\t{ino}\t{size}\t{mtime_ns}\t{name}" for name, ino, size, mtime_ns in databases]
    lines += [f"ask\t{query}\t{answer}\t{name}" for name, query, answer in questions]
    lines += [f"inode\t{_inode(name)}\t{name}" for name in inodes]
    lines += [f"stamp\t{name}" for name in stamps]
    lines += ["end", ""]
    temporary = f"{path}.{os.getpid()}"
    try:
        if any("\n" in line for line in lines):
            raise ValueError("a path with a line end")
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)  # noqa: PTH103, PTH120
        with open(temporary, "w", encoding="utf-8", newline="\n") as stream:  # noqa: PTH123
            stream.write("\n".join(lines))
        os.replace(temporary, path)  # noqa: PTH105
    except (OSError, ValueError):
        forget(argv)


def forget(argv: Sequence[str]) -> None:
    """Drop the record of this command line: there is something to do, or it is not certain that there is not."""
    path = _record_path(argv)
    if path is not None:
        try:
            os.unlink(path)  # noqa: PTH108
        except OSError:
            return


def stamp(path: str) -> None:
    """Leave the time of this run, in seconds since 1970, where `status` and other tools look for it. Raises OSError."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        os.ftruncate(handle, 0)
        os.write(handle, b"%d\n" % time.time())
    finally:
        os.close(handle)


def _record_path(argv: Sequence[str]) -> str | None:
    """Where the record of this command line in this environment lies; None for one that is always run in full."""
    if list(argv) not in PLAIN_RUNS or not os.environ.get("HOME"):
        return None
    from total_recall import __version__

    names = sorted(n for n in os.environ if n in _NAMES or n.startswith(_PREFIXES))
    text = "\0".join([__version__, *argv, *(f"{n}={os.environ[n]}" for n in names)])
    raw = text.encode("utf-8", "surrogateescape")
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.environ["HOME"], ".cache")  # noqa: PTH118
    return f"{cache}/total-recall/gate/{zlib.crc32(raw):08x}{zlib.crc32(raw[::-1]):08x}"


def _same(rest: str) -> bool:
    ino, size, mtime_ns, name = rest.split("\t", 3)
    try:
        info = os.stat(name)  # noqa: PTH116
    except OSError:
        return ino == "0"
    return info.st_mtime_ns == int(mtime_ns) and info.st_size == int(size) and info.st_ino == int(ino)


def _inode(name: str) -> int:
    try:
        return os.stat(name).st_ino  # noqa: PTH116
    except OSError:
        return 0


def _same_inode(rest: str) -> bool:
    ino, name = rest.split("\t", 1)
    return _inode(name) == int(ino)


def _same_answer(rest: str) -> bool:
    """Whether a database still answers as it did, in one short read."""
    import sqlite3

    query, answer, name = rest.split("\t", 2)
    try:
        db = sqlite3.connect(f"file:{name.replace('%', '%25').replace('?', '%3f').replace('#', '%23')}?mode=ro", uri=True)
        try:
            return repr(db.execute(query).fetchone()) == answer
        finally:
            db.close()
    except sqlite3.Error:
        return False
