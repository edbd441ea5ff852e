"""The doctor's checks of one memory: its files, and what it knows between runs. Each yields its findings."""

from __future__ import annotations

import fcntl
import os
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path

from total_recall.clock import from_epoch_ms
from total_recall.commands.capturing import Wanted, capture_alone
from total_recall.commands.doctor_databases import damage, host_database
from total_recall.commands.doctor_findings import (
    Finding,
    Findings,
    Kept,
    Level,
    Memory,
    age,
    command,
    local,
    may,
    quoted,
    size,
)
from total_recall.commands.doctor_host import advice, is_within_reach, room
from total_recall.commands.observe import LAST_RUN
from total_recall.commands.observing import counted
from total_recall.commands.places import OPENCLAW
from total_recall.memory.document import parse
from total_recall.memory.store import MemoryStore
from total_recall.sessions.openclaw_sqlite import SOURCE as SQLITE
from total_recall.sessions.source import PROBLEMS, Portion, Problems, SessionSource, Watch
from total_recall.state import State

QUIET = timedelta(hours=1)
"""A schedule leaves a stamp every 15 minutes; an older one says that it does not run."""
AHEAD = timedelta(minutes=5)
"""Clocks of two computers may be this far apart."""
LOOK_SECONDS = 5.0
"""How long new messages are counted: a first look at years of sessions would take minutes."""
LEDGER_DAYS = 30
SHOWN = 5
"""Of many alike, this many are told one by one."""


# --- its files


def folders(memory: Memory) -> Findings:
    """The workspace and the memory directory: there, ours, for us alone, and writable."""
    workspace, directory = memory.place.workspace, memory.place.memory_dir
    if not workspace.is_dir() and memory.place.host == OPENCLAW and not memory.config.is_alone:
        yield Finding(
            "workspace", "warning", f"{workspace} is not there", "start OpenClaw once, or set OPENCLAW_WORKSPACE"
        )
    private = (directory, memory.place.own_dir, directory / "observations.md", memory.place.own_dir / "state.sqlite")
    problems = [found for path in private for found in _standing(path, is_folder=path in private[:2])]
    yield from problems
    if not directory.exists() and not problems:
        above = next((path for path in directory.parents if path.exists()), directory)
        if above.is_dir() and may(above, os.W_OK | os.X_OK):
            yield Finding("memory", "note", f"{directory} is not there yet: the first run makes it", command("observe"))
        else:
            said = f"{directory} is not there, and {above} lets nobody make it"
            yield Finding("memory", "error", said, f"make {above} a folder that you may write to, or set MEMORY_DIR")
    elif not problems:
        yield Finding("memory", "ok", str(directory))


def _standing(path: Path, *, is_folder: bool) -> Iterator[Finding]:
    """What is wrong with a file or folder of ours, if it is there."""
    try:
        info = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        yield Finding("memory", "error", f"{path}: {error.strerror}", "check the permissions of the folders above")
        return
    if stat.S_ISDIR(info.st_mode) != is_folder:
        kind = "a folder" if is_folder else "a file"
        yield Finding("memory", "error", f"{path} is in the way: it is not {kind}", f"mv {quoted(path)} elsewhere")
        return
    me = os.geteuid()
    if info.st_uid != me:
        said = f"{path} belongs to user {info.st_uid}, and this runs as user {me}"
        yield Finding("memory", "warning", said, f"sudo chown -R {me} {quoted(path)}, or run it as the other user")
    if not may(path, os.R_OK | os.W_OK | (os.X_OK if is_folder else 0)):
        fix = f"chmod u+rw{'x' if is_folder else ''} {quoted(path)}"
        yield Finding("memory", "error", f"{path} cannot be read and written by this user", fix)
    if info.st_mode & 0o077 and is_within_reach(path):
        mode = "700" if is_folder else "600"
        yield Finding("memory", "warning", f"other users can reach {path}", f"chmod {mode} {quoted(path)}")


def disk(memory: Memory) -> Findings:
    """Room where the memory grows."""
    yield room("disk", memory.place.memory_dir)


def document(memory: Memory) -> Findings:
    """Whether observations.md parses, and where not. Raises MemoryWriteError when it cannot be read."""
    store = MemoryStore(memory.place.memory_dir)
    if not store.path.exists():
        yield Finding("document", "note", f"{store.path} is not there yet: the first run makes it", command("observe"))
        return
    found = parse(store.read().content)
    edit = "correct it in an editor; until then what can be read of it counts"
    for line, what in found.problems[:SHOWN]:
        yield Finding("document", "warning", f"{store.path} line {line}: {what}", edit)
    if len(found.problems) > SHOWN:
        rest = found.problems[SHOWN:]
        numbers = ", ".join(str(line) for line, _ in rest[:20]) + (" …" if len(rest) > 20 else "")
        yield Finding("document", "warning", f"{store.path}: {len(rest)} more, in the lines {numbers}", edit)
    conflicts = [number for number, line in enumerate(found.lines, 1) if line.startswith("<<<<<<< ")]
    if conflicts:
        said = f"{store.path} line {conflicts[0]}: a merge was left unfinished"
        yield Finding("document", "warning", said, "choose what stays, and delete the lines of marks")
    untagged = sum(entry.type is None for entry in found.observations)
    said = f"{counted(len(found.observations), 'observation')}"
    if untagged:
        said += f", {untagged:,} of them without metadata: their kind is told by rules, their importance counts as 5"
    yield Finding("document", "ok", said)


def databases(memory: Memory) -> Findings:
    """Whether our databases are sound, those that are there."""
    for name, fix in _DATABASES.items():
        path = memory.place.own_dir / name
        if not path.is_file():
            continue
        found = damage(path)
        label = f"{path} ({size(path.stat().st_size)})"
        if found is None:
            yield Finding("database", "ok", f"{label} is sound")
        elif found.startswith("unread: "):
            said = f"{label} was not checked: {found.removeprefix('unread: ')}"
            yield Finding("database", "note", said, f"sqlite3 {quoted(path)} 'PRAGMA quick_check'")
        else:
            yield Finding("database", "error", f"{label} is damaged: {found}", fix.format(path=quoted(path)))


_DATABASES = {
    "state.sqlite": "mv {path} {path}.damaged; the next run begins anew (observations.md keeps what it has)",
    "recall.sqlite": "rm {path}; it is made again from observations.md",
    "events.sqlite": "mv {path} {path}.damaged; it is made again from what the host still has",
}
"""Our databases, and what to do with a damaged one."""


def leftovers(memory: Memory) -> Findings:
    """What killed runs and programs that synchronise folders left beside the document."""
    directory = memory.place.memory_dir
    for path in (*directory.glob(".*.total-recall-*"), *directory.glob("observation-backups/.*.total-recall-*")):
        past = memory.now - _modified(path)
        if past > QUIET:
            said = f"{path} is {age(past)} old: a run was killed in a write, and the next write tidies up"
            yield Finding("leftover", "note", said, command("observe"))
    for path in directory.glob("observations*conflict*"):
        said = f"{path}: a program that synchronises this folder kept a second version"
        yield Finding("leftover", "warning", said, "move what you miss into observations.md, then delete it")


def _modified(path: Path) -> datetime:
    return from_epoch_ms(path.stat().st_mtime * 1000)


def last_run(memory: Memory) -> Findings:
    """The stamp that every run leaves, also one with nothing to do."""
    path = memory.place.memory_dir / LAST_RUN
    stamped = stamp(path)
    if stamped is None:
        yield Finding("last run", "warning", "observe has not run here yet", command("setup"))
        return
    past = memory.now - stamped
    if past < -AHEAD:
        said = f"the last run was at {local(stamped, memory.config.settings.tz)}, which is yet to come"
        yield Finding("last run", "warning", said, "check this computer's clock")
    elif past > QUIET:
        said = f"the last run was {age(past)} ago: nothing starts it, or this computer was off"
        yield Finding("last run", "warning", said, command("setup"))
    else:
        yield Finding("last run", "ok", f"{age(past)} ago")


def stamp(path: Path) -> datetime | None:
    """The time of the last run of observe; None when there is none that can be read."""
    try:
        seconds = int(path.read_text().strip())
        return from_epoch_ms(seconds * 1000) if seconds else None
    except (OSError, ValueError, OverflowError):
        return None


def is_held(lock: Path) -> bool:
    """Whether a process holds this lock (state.sole). One that is not there is held by nobody."""
    try:
        handle = os.open(lock, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False


# --- what it knows


def stores(kept: Kept) -> Findings:
    """The session stores, what could not be read in them, and how far behind the memory is."""
    memory = kept.memory
    ends = time.monotonic() + LOOK_SECONDS
    sources = tuple(_Until(source, ends) for source in memory.place.sources)
    waiting, oldest = kept.state.queue_length(), kept.state.oldest_queued()
    problems = Problems()
    new = _new(kept, sources, problems)
    seen = [source for source in sources if os.path.lexists(source.location)]
    for source in seen:
        yield from _store(source, memory)
    if not seen and memory.place.sources:
        where = ", ".join(str(source.location) for source in sources) or str(memory.config.locations.state_dir)
        said = f"there is no session to read: nothing at {where}"
        fix = "start OpenClaw once as this user; if it lives elsewhere, set OPENCLAW_STATE_DIR or SESSIONS_DIR"
        yield Finding("store", "warning", said, fix)
    for kind, count in sorted(problems.counts.items()):
        level, what_to_do = _PROBLEMS.get(kind, ("note", None))
        said = f"{count} × {PROBLEMS[kind]} (first: {problems.places[kind]})"
        yield Finding("store", level, said, what_to_do)
    if _BLIND & problems.counts.keys():
        yield Finding("messages", "note", f"{waiting:,} waiting; how many are new is not known while a store is unread")
        return
    cut_short = any(source.stopped for source in sources)
    yield _lag(memory, new, waiting, oldest, cut_short=cut_short, exact=kept.can_try)


def _new(kept: Kept, sources: tuple[_Until, ...], problems: Problems) -> int:
    """How many messages the next run would take; where that cannot be tried, how many there are at most."""
    if not kept.can_try:
        portions = (p for s in sources for p in s.portions(kept.state, fresh=False, problems=problems))
        return sum(len(portion.messages) for portion in portions)
    place = replace(kept.memory.place, sources=sources)
    return capture_alone(place, kept.memory.config, kept.state, kept.memory.now, problems, Wanted()).queued


def _store(source: _Until, memory: Memory) -> Iterator[Finding]:
    newest, version = None, ""
    if source.name == SQLITE:
        found = host_database(source.location)
        if found is None:
            # Told as a problem with its name: it is no database, empty, or of an unknown schema.
            return
        newest = found.newest
        version = f", OpenClaw {found.written_by}" if found.written_by else ""
        version += f", schema {found.schema_version}" if found.schema_version else ""
    else:
        times = [watch.mtime_ns for watch in source.watches()[1:] if watch.ino]
        newest = from_epoch_ms(max(times) / 1e6) if times else None
    said = f"{source.location} ({source.name}{version}, agent {source.agent}): "
    said += counted(source.transcripts(), "transcript")
    if newest is not None:
        said += f", the newest entry of {local(newest, memory.config.settings.tz)}"
    yield Finding("store", "ok", said)
    if newest is not None and newest - memory.now > AHEAD:
        late = f"the newest entry in {source.location} is of {local(newest, memory.config.settings.tz)}, yet to come"
        yield Finding("clock", "warning", late, "check this computer's clock")
    unread = source.unread()
    if unread:
        more = f", and {len(unread) - 1} more" if len(unread) > 1 else ""
        yield Finding("store", "note", f"not read: {unread[0]}{more}")


def _lag(
    memory: Memory, new: int, waiting: int, oldest: datetime | None, *, cut_short: bool, exact: bool
) -> Finding:
    how = "more than " if cut_short else "" if exact else "at most "
    said = f"{how}{new:,} new, {waiting:,} waiting"
    if oldest is not None:
        said += f", the oldest since {local(oldest, memory.config.settings.tz)}"
    if not new and not waiting and not cut_short:
        return Finding("messages", "ok", "all are observed")
    stamped = stamp(memory.place.memory_dir / LAST_RUN)
    is_late = stamped is None or memory.now - stamped > QUIET or (oldest is not None and memory.now - oldest > DAY)
    return Finding("messages", "warning" if is_late else "note", said, command("observe") if is_late else None)


DAY = timedelta(days=1)

_PROBLEMS: dict[str, tuple[Level, str | None]] = {
    "database": ("error", "look whether it is whole and readable; `openclaw doctor` may mend it"),
    "schema": ("error", "update Total Recall"),
    "unreadable": ("error", "make it readable for the user that runs Total Recall"),
    "index": ("warning", "`openclaw doctor` may mend it"),
    "symlink-out": ("warning", "let SESSIONS_DIR name the folder that it leads to"),
    "not-a-file": ("warning", "move it out of the store"),
    "zstd": ("warning", "`openclaw doctor` may mend it"),
    "bad-time": ("warning", "check the clock of the computer that OpenClaw runs on"),
}
"""Which problems with a store matter, and what to do; the others are notes."""
_BLIND = {"database", "schema", "unreadable"}


@dataclass(slots=True)
class _Until:
    """A source that stops at `ends` (s of the monotonic clock). `stopped` says that it did."""

    source: SessionSource
    ends: float
    stopped: bool = False
    name: str = field(init=False)
    agent: str = field(init=False)

    def __post_init__(self) -> None:
        self.name, self.agent = self.source.name, self.source.agent

    @property
    def location(self) -> Path:
        return self.source.location

    def transcripts(self) -> int:
        return self.source.transcripts()

    def watches(self) -> list[Watch]:
        return self.source.watches()

    def unread(self) -> list[str]:
        return self.source.unread()

    def portions(self, state: State, *, fresh: bool, problems: Problems) -> Iterator[Portion]:
        for portion in self.source.portions(state, fresh=fresh, problems=problems):
            if time.monotonic() > self.ends:
                self.stopped = True
                return
            yield portion


def unfinished_write(kept: Kept) -> Findings:
    """A document write that a run began and did not end."""
    own_dir = kept.memory.place.own_dir
    if kept.state.pending() is not None and not is_held(own_dir / "observer.lock"):
        path = kept.memory.place.memory_dir / "observations.md"
        said = f"a run was ended in the middle of a write of {path}: the next one finishes it, without a model"
        yield Finding("unfinished write", "warning", said, command("observe"))


def watcher(kept: Kept) -> Findings:
    """Whether a watcher is at work: the kernel ends its lock when it ends, however it ends.

    None watches projects of other hosts, nor where there is no OpenClaw.
    """
    if kept.memory.place.host != OPENCLAW or kept.memory.config.is_alone:
        return
    record = kept.state.last_run("watch")
    since = f", started {local(record.started, kept.memory.config.settings.tz)}" if record else ""
    if is_held(kept.memory.place.own_dir / "watcher.lock"):
        yield Finding("watching", "ok", f"at work{since}")
    elif record is not None:
        yield Finding("watching", "warning", f"not at work{since}", command("setup"))
    else:
        said = "has never run here: what is said waits for the schedule"
        yield Finding("watching", "note", said, command("setup"))


def ledger(kept: Kept) -> Findings:
    """The last time that a model answered, and the last time that it did not."""
    memory = kept.memory
    calls = kept.state.calls(memory.now - timedelta(days=LEDGER_DAYS))
    good = next((call for call in reversed(calls) if call.outcome == "ok"), None)
    bad = next((call for call in reversed(calls) if call.outcome != "ok"), None)
    if not calls:
        yield Finding("model calls", "ok", f"no model was asked in the last {LEDGER_DAYS} days")
        return
    tz = memory.config.settings.tz
    said = [f"{call.model} answered on {local(call.at, tz)}" for call in (good,) if call]
    said += [f"{call.model} failed on {local(call.at, tz)} ({call.outcome})" for call in (bad,) if call]
    fails_now = bad is not None and (good is None or bad.at > good.at)
    fix = advice(bad.outcome, bad.purpose) if bad is not None and fails_now else None
    level: Level = "ok" if not fails_now else "note" if fix and bad and bad.outcome == "busy" else "warning"
    yield Finding("model calls", level, "; ".join(said), fix)


def recoveries(kept: Kept) -> Findings:
    """Evidence that the host's hook fires: the runs that it starts leave a record."""
    if kept.memory.config.is_alone or kept.memory.place.host != OPENCLAW:
        # Every project would have to have had such a session.
        return
    records = [r for r in (kept.state.last_run(name) for name in ("recover", "flush")) if r is not None]
    if records:
        last = max(records, key=lambda record: record.ended)
        when = local(last.ended, kept.memory.config.settings.tz)
        yield Finding("hook fired", "ok", f"{last.command} ran last on {when}: {last.detail}")
    else:
        said = "no hook of OpenClaw has started anything here yet"
        yield Finding("hook fired", "note", said, "after setup, restart the Gateway and type /new in a conversation")
