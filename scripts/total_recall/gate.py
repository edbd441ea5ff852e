"""Is there anything new? Asked before anything else is imported, so that an idle cron run costs next to nothing.

After a run that found nothing to do, `record` writes down what it looked at and what it said. While all of that looks
the same, `nothing_new` says it again. A database whose file has changed is asked a cheap question: the host writes
there for reasons of its own. The records live in the cache directory and may be deleted at any time.
"""

from __future__ import annotations

import os
import time
import zlib

TYPE_CHECKING = False
if TYPE_CHECKING:  # an import here would be a fifth of an idle run
    from collections.abc import Iterable, Sequence

HEAD = "total-recall gate 3"
PLAIN_RUNS = (["observe"], ["observe", "--json"])
"""The command lines that can be answered from a record."""

TICK_NS = 50_000_000
"""Two changes this close together may leave a file with one and the same time."""
COARSE_TICK_NS = 2_000_000_000
"""The same on file systems that keep whole seconds."""
BUSY_SECONDS = 0.5
KEPT_RECORDS = 20

_NAMES = ("HOME", "TZ", "CLAUDE_CONFIG_DIR", "MEMORY_DIR", "SESSIONS_DIR", "READ_ONLY_MODE", "OPENROUTER_API_KEY")
_PREFIXES = ("OPENCLAW_", "LLM_", "OBSERVER_", "REFLECTOR_", "TOTAL_RECALL_", "DREAM_", "EMBEDDING_")
_LINE_END = "\x1f"


def nothing_new(argv: Sequence[str]) -> bool:
    """Whether this run has nothing to do. Then its output was printed and its stamp renewed."""
    path = _record_path(argv)
    if path is None:
        return False
    try:
        with open(path, encoding="utf-8", errors="surrogateescape", newline="\n") as stream:  # noqa: PTH123
            said, stamps = _checked(stream.read().split("\n"))
        for name in stamps:
            stamp(name)
        print(said, end="", flush=True)
    except (OSError, ValueError, LookupError):
        # No record, not one of ours, or something is new. What is wrong with a memory or the output, the full run says.
        return False
    return True


def record(
    argv: Sequence[str],
    *,
    said: str,
    same: Iterable[tuple[str, int, int, int]],
    databases: Iterable[tuple[str, int, int, int]],
    questions: Iterable[tuple[str, str, str]],
    stamps: Iterable[str],
    begun_ns: int,
    until: int,
) -> None:
    """Write down that this command line, in a run begun at `begun_ns` (ns since 1970), had nothing to do.

    That holds `until` a time in seconds since 1970: a new day has work of its own.

    `same` and `databases` are (path, inode or 0 when absent, size, mtime in ns) as they were before they were read;
    `questions` are (database, query, answer), asked when one of `databases` has changed. `stamps` are files that get
    the time of each run. Nothing is recorded when one of the paths changed so late that the next change might not
    show. What the cache directory does not take is no loss: the next run then looks for itself.
    """
    path = _record_path(argv)
    if path is None:
        return
    kept, asked = list(same), list(databases)
    lines = [HEAD, said.replace("\n", _LINE_END), f"until\t{until}"]
    lines += [f"same\t{ino}\t{size}\t{mtime_ns}\t{name}" for name, ino, size, mtime_ns in kept]
    lines += [f"database\t{ino}\t{size}\t{mtime_ns}\t{name}" for name, ino, size, mtime_ns in asked]
    lines += [f"ask\t{query}\t{answer}\t{name}" for name, query, answer in questions]
    lines += [f"stamp\t{name}" for name in stamps]
    lines += [f"end {len(lines)}", ""]
    temporary = f"{path}.{os.getpid()}"
    try:
        if any("\n" in line for line in lines):
            raise ValueError("a path with a line end")
        if not all(has_settled(mtime_ns, begun_ns) for _, _, _, mtime_ns in kept + asked):
            raise ValueError("changed a moment ago")
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)  # noqa: PTH103, PTH120
        with open(temporary, "wb", opener=_privately) as stream:
            stream.write("\n".join(lines).encode("utf-8", "surrogateescape"))
        os.replace(temporary, path)  # noqa: PTH105
        _keep_newest(os.path.dirname(path))  # noqa: PTH120
    except (OSError, ValueError):
        forget(argv)


def _privately(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW, 0o600)


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
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
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

    try:
        folder = os.getcwd()  # noqa: PTH109  # a setting may be a relative path
    except OSError:
        return None
    names = sorted(n for n in os.environ if n in _NAMES or n.startswith(_PREFIXES))
    text = "\0".join([__version__, folder, *argv, *(f"{n}={os.environ[n]}" for n in names)])
    raw = text.encode("utf-8", "surrogateescape")
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.environ["HOME"], ".cache")  # noqa: PTH118
    return f"{cache}/total-recall/gate/{zlib.crc32(raw):08x}{zlib.crc32(raw[::-1]):08x}"


def _checked(lines: list[str]) -> tuple[str, list[str]]:
    """What a record's run said and the stamps to renew. Raises ValueError unless all is as it was."""
    if lines[0] != HEAD or lines[-2:] != [f"end {len(lines) - 2}", ""]:
        raise ValueError("not a whole record")
    databases: list[str] = []
    questions: list[str] = []
    stamps: list[str] = []
    by_kind = {"database": databases, "ask": questions, "stamp": stamps}
    for line in lines[2:-2]:
        kind, rest = line.split("\t", 1)
        if kind == "until":
            if time.time() >= int(rest):
                raise ValueError("over")
        elif kind != "same":
            by_kind[kind].append(rest)
        elif not _same(rest):
            raise ValueError("changed")
    if not stamps:
        raise ValueError("not one of ours")
    if not all(map(_same, databases)) and not all(map(_same_answer, questions)):
        raise ValueError("changed")
    return lines[1].replace(_LINE_END, "\n"), stamps


def _same(rest: str) -> bool:
    ino, size, mtime_ns, name = rest.split("\t", 3)
    try:
        info = os.stat(name)  # noqa: PTH116
    except (FileNotFoundError, NotADirectoryError):
        return ino == "0"
    return info.st_mtime_ns == int(mtime_ns) and info.st_size == int(size) and info.st_ino == int(ino)


def _same_answer(rest: str) -> bool:
    """Whether a database still answers as it did, in one short read."""
    import sqlite3

    query, answer, name = rest.split("\t", 2)
    place = name.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    try:
        db = sqlite3.connect(f"file:{place}?mode=ro", uri=True, timeout=BUSY_SECONDS)
        try:
            db.execute("PRAGMA trusted_schema = OFF")
            return repr(db.execute(query).fetchone()) == answer
        finally:
            db.close()
    except sqlite3.Error:
        return False


def _keep_newest(folder: str, count: int = KEPT_RECORDS) -> None:
    """Remove old records: there is one for each environment and working directory. Raises OSError."""
    with os.scandir(folder) as entries:
        ages = sorted((entry.stat().st_mtime_ns, entry.path) for entry in entries if entry.is_file())
    for _, path in ages[:-count]:
        os.unlink(path)  # noqa: PTH108


def has_settled(mtime_ns: int, begun_ns: int) -> bool:
    """Whether the next change of a path with this time will give it another time."""
    tick_ns = COARSE_TICK_NS if mtime_ns % 1_000_000_000 == 0 else TICK_NS
    return not begun_ns - tick_ns < mtime_ns <= time.time_ns() + tick_ns
