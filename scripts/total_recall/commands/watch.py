"""watch: a daemon that observes as soon as enough was said.

It hears of changes in the session stores, takes what is new into the queue, and starts `observe` as a process of its
own when enough messages wait. When the host writes a lot it stops listening until it has looked: ten thousand events
that say the same would cost the host and the watcher.
"""

from __future__ import annotations

import errno
import logging
import os
import queue
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import IO
from urllib.parse import quote

from watchdog.events import (
    DirCreatedEvent,
    DirDeletedEvent,
    DirMovedEvent,
    FileCreatedEvent,
    FileDeletedEvent,
    FileModifiedEvent,
    FileMovedEvent,
    FileSystemEvent,
    FileSystemEventHandler,
)
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver

import total_recall
from total_recall import clock, logs
from total_recall.commands import places
from total_recall.commands.capturing import Wanted, capture_alone
from total_recall.commands.places import Configuration, Place
from total_recall.commands.watching import RETRY_SECONDS, SETTLE_SECONDS, Complaints, Pace, Rhythm, jumped
from total_recall.confined import guard
from total_recall.errors import AlreadyRunning, MemoryWriteError, StoreError, TotalRecallError
from total_recall.host import sd_notify
from total_recall.sessions import openclaw_files
from total_recall.sessions.source import PROBLEMS, Problems, Watch, watch
from total_recall.state import RunRecord, State, sole

LOG = "observer-watcher.log"
INSTALLED = Path(total_recall.__file__)
TAKING_SECONDS = 1.0
"""How long to wait for another process that takes; it may take what we would."""
BUSY_SECONDS = 0.5
"""How long to wait for a database that the host has locked, before the reader proper waits for it."""
PORTION_BYTES = 1 << 20
"""How much of a transcript to read at a time. An observer takes eight times that, and does not stay in memory."""
PASSING = frozenset({"half-line", "vanished"})
"""Problems that a store which is being written has by nature: they are gone at the next look."""
EVENTS: list[type[FileSystemEvent]] = [
    FileCreatedEvent,
    FileModifiedEvent,
    FileMovedEvent,
    FileDeletedEvent,
    DirCreatedEvent,
    DirMovedEvent,
    DirDeletedEvent,
]
"""That a file is opened or closed says nothing, and we open them ourselves."""
FLOOD_EVENTS = 50
LIMITS = {
    errno.ENOSPC: "raise fs.inotify.max_user_watches with sysctl",
    errno.EMFILE: "raise fs.inotify.max_user_instances with sysctl",
}

STORES, ENOUGH, CHILD, RELOAD, STOP = "stores", "enough", "child", "SIGHUP", "stop"
"""What wakes the watcher."""
UPDATE = "update"
"""What ends it, beside signals."""


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line asked for."""

    agent: str | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """What the watcher did until it ended. `why` is what ended it."""

    why: str
    seconds: float = 0.0
    captured: int = 0
    observed: int = 0

    def payload(self) -> dict[str, object]:
        """The fields of the JSON answer."""
        return {
            "ended_by": self.why,
            "seconds": round(self.seconds, 1),
            "captured": self.captured,
            "observers_started": self.observed,
        }

    def lines(self) -> list[str]:
        """The answer for a person."""
        if not self.seconds:
            return [self.why]
        did = f"messages taken: {self.captured}, observers started: {self.observed}"
        return [f"Watched for {self.seconds:.0f} s; {did}; ended by {self.why}."]


@dataclass(slots=True)
class _Memory:
    """A memory that is ours to watch: `held` keeps others from it. `seen` is how its stores looked at the last look."""

    place: Place
    pace: Pace
    held: ExitStack
    waiting: int = 0
    seen: dict[Path, list[Watch]] = field(default_factory=dict)

    def has_news(self) -> bool:
        stores = [source.location for source in self.place.sources]
        return any(store not in self.seen or _has_news(self.seen[store]) for store in stores)


@dataclass(frozen=True, slots=True)
class _Child:
    """An observer that was started, and where it writes what went wrong."""

    own_dir: Path
    process: subprocess.Popen[bytes]
    stderr: IO[bytes]


class _Interrupted(Exception):
    """The watcher was told to end while it took messages; what is not saved is taken next time."""


def run(options: Options, configure: Callable[[], Configuration] = places.configure) -> Result:
    """Watch until a signal ends it; start anew when the program on disk was replaced.

    Raises SettingError and TotalRecallError for what is wrong from the start.
    """
    openclaw_files.PORTION_BYTES = PORTION_BYTES
    watcher = _Watcher(options, configure)
    with watcher.signals():
        result = watcher.serve()
    if result.why == UPDATE:
        _start_anew()
    return result


class _Watcher:
    """The loop and what it knows. Only `_wakes` and `_ending` are touched by signals and other threads."""

    def __init__(self, options: Options, configure: Callable[[], Configuration]) -> None:
        self._options = options
        self._configure = configure
        self._wakes: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._ending = ""
        self._config = configure()
        self._supervisor = sd_notify.supervisor(self._config.locations.env)
        self._events = _Events(self._wakes.put)
        self._memories: dict[Path, _Memory] = {}
        self._foreign: dict[Path, str] = {}
        self._is_only_memory = False
        self._child: _Child | None = None
        self._program = _Program(INSTALLED)
        self._complaints = Complaints()
        self._begun = time.monotonic()
        self._rhythm = Rhythm(self._begun)
        self._told_alive = self._begun
        self._clocks = (time.time(), self._begun)
        self._captured = self._observed = 0

    @contextmanager
    def signals(self) -> Iterator[None]:
        """SIGTERM and SIGINT end it, SIGHUP has it read its settings again."""

        def told(number: int, _frame: FrameType | None) -> None:
            if number == signal.SIGHUP:
                self._wakes.put(RELOAD)
            else:
                self._ending = signal.Signals(number).name
                self._wakes.put(STOP)

        before = {number: signal.signal(number, told) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def serve(self) -> Result:
        """Until `_ending` says why not to go on."""
        self._find(first=True)
        if self._foreign and not self._memories:
            return Result(next(iter(self._foreign.values())))
        self._listen()
        self._supervisor.tell(sd_notify.READY, sd_notify.status("watching"))
        try:
            while not self._ending:
                self._look_if_due()
                if not self._ending:
                    self._react(self._next_wake())
        except _Interrupted:
            self._log("told to end while taking messages: the next run takes the rest")
        finally:
            self._supervisor.tell(*(sd_notify.reloading() if self._ending == UPDATE else (sd_notify.STOPPING,)))
            self._events.close()
            for memory in self._memories.values():
                memory.held.close()
        self._log(f"stop: {self._ending}")
        return Result(self._ending, time.monotonic() - self._begun, self._captured, self._observed)

    # --- waiting

    def _next_wake(self) -> str | None:
        """What happened, or None when it is time for a look or a sign of life."""
        until = self._rhythm.at
        if self._supervisor.alive_seconds is not None:
            until = min(until, self._told_alive + self._supervisor.alive_seconds)
        try:
            return self._wakes.get(timeout=max(0.0, until - time.monotonic()))
        except queue.Empty:
            return None

    def _react(self, wake: str | None) -> None:
        now = time.monotonic()
        self._show_life(now)
        if wake == ENOUGH:
            # Deaf from now on, so a look must follow, be it that one has just been taken.
            self._events.disarm()
        if wake in (STORES, ENOUGH):
            self._rhythm = self._rhythm.noticed(self._events.heard_at)
        elif wake == CHILD:
            self._account_for_child()
            self._rhythm = self._rhythm.by(now)
        elif wake == RELOAD:
            self._supervisor.tell(*sd_notify.reloading())
            self._reload("SIGHUP")
            self._supervisor.tell(sd_notify.READY)
            self._rhythm = self._rhythm.by(now)

    def _show_life(self, now: float) -> None:
        every = self._supervisor.alive_seconds
        if every is not None and now - self._told_alive >= every / 2:
            self._supervisor.tell(sd_notify.ALIVE)
            self._told_alive = now

    # --- looking

    def _look_if_due(self) -> None:
        clocks = (time.time(), time.monotonic())
        jump = jumped(*self._clocks, *clocks)
        self._clocks = clocks
        if jump:
            self._log(f"the clock went {jump:+.0f} s: the computer was asleep, or it was set; looking at everything")
            for memory in self._memories.values():
                memory.seen.clear()
        if jump or clocks[1] >= self._rhythm.at:
            self._look(clocks[1])

    def _look(self, began: float) -> None:
        """Read settings that have changed, listen, take what is new, start an observer if one is due."""
        settled_at = self._program.look(began)
        if settled_at is not None and settled_at <= began and self._child is None:
            self._ending = UPDATE
            return
        if not all(map(_as_it_was, self._config.watches)):
            self._reload("changed")
        self._find()
        # First listen, then look: what comes while we look is heard.
        self._listen()
        self._rhythm = self._rhythm.after_look(began, self._events.hears)
        if settled_at is not None:
            self._rhythm = self._rhythm.by(max(settled_at, began + RETRY_SECONDS))
        for memory in self._memories.values():
            if memory.has_news() or memory.waiting >= memory.pace.threshold:
                self._take(memory)
        self._start_due(time.monotonic())
        waiting = sum(memory.waiting for memory in self._memories.values())
        self._supervisor.tell(sd_notify.status(f"{waiting} messages wait in {len(self._memories)} memories"))

    def _take(self, memory: _Memory) -> None:
        """What is new goes into the queue, and how many wait is counted."""
        subject = f"take {memory.place.memory_dir}"
        problems = Problems()
        place, now = memory.place, clock.now()
        try:
            with State.open(place.own_dir, self._between_steps) as state:
                with sole("taking", place.own_dir, TAKING_SECONDS):
                    self._captured += capture_alone(place, self._config, state, now, problems, Wanted()).queued
                memory.waiting = state.queue_length()
        except AlreadyRunning:
            self._rhythm = self._rhythm.by(time.monotonic() + RETRY_SECONDS)
            return
        except TotalRecallError as error:
            self._complain(subject, str(error), place)
            return
        if self._complaints.settled(subject):
            self._log("it works again", place)
        # What could not be read as it should is looked at again whether or not it changes.
        memory.seen = {} if problems.counts else {source.location: source.watches() for source in place.sources}
        for kind in sorted(problems.counts.keys() - PASSING):
            self._complain(f"{kind} {place.memory_dir}", f"{PROBLEMS[kind]} (first: {problems.places[kind]})", place)
        if "database" in problems.counts:
            self._rhythm = self._rhythm.by(time.monotonic() + RETRY_SECONDS)

    def _between_steps(self, _step: str) -> None:
        """A first run over years of sessions takes minutes: meanwhile show life, and end when told to."""
        self._show_life(time.monotonic())
        if self._ending:
            raise _Interrupted

    def _listen(self) -> None:
        failed = self._events.arm(self._wanted)
        if failed is not None:
            advice = LIMITS.get(failed.errno or 0, "the file system may not support it")
            every = "looking every 5 seconds instead"
            self._complain("events", f"no file events ({failed.strerror}): {every}; {advice}")
        elif self._complaints.settled("events"):
            self._log("file events work again")

    def _wanted(self) -> set[str]:
        """The directories to listen to: each store's own and the one above, or the nearest that is there."""
        config = self._config
        agents = (config.settings.sessions_dir or config.locations.state_dir) / "agents"
        stores = [source.location for memory in self._memories.values() for source in memory.place.sources]
        paths = [agents, config.locations.config.parent, *stores, *(store.parent for store in stores)]
        return {str(_nearest(path)) for path in paths}

    # --- settings and memories

    def _reload(self, why: str) -> None:
        try:
            self._config = self._configure()
        except TotalRecallError as error:
            self._complain("settings", f"settings stay as they were: {error}")
            return
        self._complaints.settled("settings")
        for memory in self._memories.values():
            memory.pace = self._pace(memory.pace.started)
            memory.seen.clear()
        pace = self._pace()
        self._log(
            f"settings read again ({why}): OBSERVER_LINE_THRESHOLD {pace.threshold}, "
            f"OBSERVER_COOLDOWN_SECS {pace.cooldown:.0f}"
        )

    def _find(self, first: bool = False) -> None:
        """The memories as they are now: agents come and go, and a store that is not there yet will come.

        Only the `first` time it raises what a person at a terminal can mend.
        """
        if not places.is_certain(self._config):
            self._complain("places", f"{self._config.host.problem}; mend it, or set OPENCLAW_WORKSPACE")
            return
        bearable = StoreError if first else TotalRecallError
        try:
            # Other hosts' projects are many; their hooks and the schedule serve them.
            found = places.own(self._config, clock.now(), self._options.agent)
        except bearable as error:
            self._complain("places", str(error))
            return
        self._complaints.settled("places")
        self._is_only_memory = self._options.agent is None and len(found) == 1
        for gone in self._memories.keys() - {place.own_dir for place in found}:
            self._memories.pop(gone).held.close()
        self._foreign.clear()
        failed = [problem for place in found if (problem := self._hold(place)) is not None]
        if first and failed and not (self._memories or self._foreign):
            raise failed[0]

    def _hold(self, place: Place) -> MemoryWriteError | None:
        """Be the watcher of a memory unless another process is; what is wrong with it, or None."""
        if place.own_dir in self._memories:
            self._memories[place.own_dir].place = place
            return None
        held = ExitStack()
        try:
            held.enter_context(sole("watcher", place.own_dir))
        except AlreadyRunning as running:
            self._foreign[place.own_dir] = str(running)
        except MemoryWriteError as error:
            self._complain(f"hold {place.memory_dir}", str(error), place)
            return error
        else:
            memory = self._memories[place.own_dir] = _Memory(place, self._pace(), held)
            self._record_start(memory)
        return None

    def _pace(self, started: float | None = None) -> Pace:
        settings = self._config.settings
        return Pace(settings.observer_line_threshold, float(settings.observer_cooldown_secs), started)

    # --- the observer

    def _start_due(self, now: float) -> None:
        """Start the observer of a memory where enough messages wait; one at a time, and the rest in its turn."""
        for memory in self._memories.values():
            due_at = memory.pace.due_at(memory.waiting)
            if due_at is None or self._child is not None:
                continue
            if due_at > now:
                self._rhythm = self._rhythm.by(due_at)
            elif not self._program.is_there():
                self._rhythm = self._rhythm.by(now + RETRY_SECONDS)
            else:
                memory.pace = memory.pace.begun(now)
                self._start(memory)

    def _start(self, memory: _Memory) -> None:
        place = memory.place
        only = [] if self._is_only_memory else ["--agent", place.agents[0]]
        try:
            # A file, since nobody reads a pipe any more when we end before the child.
            stderr = tempfile.TemporaryFile()  # noqa: SIM115  # closed when the child has ended
            process = subprocess.Popen(
                [*_program(), "observe", *only],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
                start_new_session=True,  # the signal that ends us is not for it
            )
        except OSError as error:
            self._complain(f"observe {place.memory_dir}", f"observe cannot be started: {error.strerror}", place)
            return
        self._child = _Child(place.own_dir, process, stderr)
        self._observed += 1
        self._log(f"observe started: {memory.waiting} messages wait (threshold {memory.pace.threshold})", place)
        threading.Thread(target=self._wait_for, args=(process,), daemon=True).start()

    def _wait_for(self, process: subprocess.Popen[bytes]) -> None:
        process.wait()
        self._wakes.put(CHILD)

    def _account_for_child(self) -> None:
        child, self._child = self._child, None
        if child is None:
            return
        with child.stderr as stream:
            stream.seek(0)
            said = stream.read(1 << 16).decode("utf-8", "replace").strip().split("\n")[-1]
        memory = self._memories.get(child.own_dir)
        subject = f"observe {child.own_dir.parent}"
        if child.process.returncode != 0:
            what = f"observe failed with exit code {child.process.returncode}: {said or 'it said nothing'}"
            self._complain(subject, what, memory.place if memory else None)
        else:
            self._complaints.settled(subject)
        if memory is not None:
            memory.seen.clear()

    # --- telling

    def _record_start(self, memory: _Memory) -> None:
        """The start reaches the log and the run records, where `doctor` looks for it."""
        place, now = memory.place, clock.now()
        stores = ", ".join(str(source.location) for source in place.sources)
        what = f"start: version {total_recall.__version__}, threshold {memory.pace.threshold}, stores {stores}"
        self._log(what, place)
        try:
            with State.open(place.own_dir) as state:
                state.record_run(RunRecord("watch", now, now, "started", 0, 0, f"process {os.getpid()}; {what}"))
        except (MemoryWriteError, StoreError) as error:
            self._complain(f"take {place.memory_dir}", str(error), place)

    def _complain(self, subject: str, text: str, place: Place | None = None) -> None:
        often = self._complaints.worth_telling(subject)
        if often is not None:
            self._log(f"{text}{often}", place)

    def _log(self, line: str, place: Place | None = None) -> None:
        """To the log of one memory, or of all."""
        found = [place] if place is not None else [memory.place for memory in self._memories.values()]
        for one in found:
            problem = logs.append(one.logs / LOG, clock.now(), line)
            if problem is not None:
                print(f"total-recall: {problem}: {line}", file=sys.stderr)
        if not found:
            print(f"total-recall: {line}", file=sys.stderr)


class _Events(FileSystemEventHandler):
    """Listens to directories. The first change since it was armed is told, `heard_at` (monotonic s) says when it came.

    After a flood of them, or when a directory came or went, `ENOUGH` is told: then nothing more need be heard until the
    next look, which sees it all and listens anew. `hears` is False where the system does not tell of changes.
    """

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._observer: BaseObserver | None = None
        self._armed: set[tuple[str, int]] = set()
        self._heard = 0
        self._had_enough = False
        self.heard_at = 0.0
        self.hears = False
        # Its races while watches come and go are of no interest to anybody.
        logging.getLogger("watchdog").addHandler(logging.NullHandler())
        logging.getLogger("watchdog").propagate = False

    def dispatch(self, event: FileSystemEvent) -> None:
        """Called in a thread of the library."""
        self._heard += 1
        if self._heard == 1:
            self.heard_at = time.monotonic()
            self._tell(STORES)
        if not self._had_enough and (event.is_directory or self._heard > FLOOD_EVENTS):
            self._had_enough = True
            self._tell(ENOUGH)

    def arm(self, wanted: Callable[[], set[str]]) -> OSError | None:
        """Listen to these directories from now on; what went wrong, or None."""
        self._heard, self._had_enough = 0, False
        try:
            # A directory may be made between the choice and the listening, below the one that was chosen.
            for _ in range(5):
                targets = {(path, _inode(path)) for path in wanted()}
                if targets == self._armed:
                    break
                self._listen_to(targets)
        except FileNotFoundError:
            # One went away between the choice and the listening.
            self.disarm()
            self.heard_at = time.monotonic()
            self._tell(STORES)
        except OSError as error:
            self.close()
            return error
        self.hears = True
        return None

    def _listen_to(self, targets: set[tuple[str, int]]) -> None:
        self.disarm()
        if self._observer is None:
            self._observer = Observer()
            self._observer.start()
        for path, _ in sorted(targets):
            self._observer.schedule(self, path, event_filter=EVENTS)
        self._armed = targets

    def disarm(self) -> None:
        """Hear nothing until armed again."""
        self._armed = set()
        if self._observer is not None:
            self._observer.unschedule_all()

    def close(self) -> None:
        observer, self._observer = self._observer, None
        self._armed, self.hears = set(), False
        if observer is not None:
            observer.stop()


class _Program:
    """The installed program: whether it is there, and whether an update has replaced the one that runs."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._looked = watch(path)
        self._is_another = False
        self._since = 0.0

    def is_there(self) -> bool:
        return watch(self._path).ino != 0

    def look(self, now: float) -> float | None:
        """When another version than ours will have been there long enough to be whole; None: it is ours, or none."""
        looks = watch(self._path)
        if looks != self._looked:
            self._looked, self._since = looks, now
            self._is_another = _version_in(self._path) not in (None, total_recall.__version__)
        return self._since + SETTLE_SECONDS if self._is_another else None


def _version_in(path: Path) -> str | None:
    try:
        found = re.search(r'^__version__ = "([^"]+)"', path.read_text(encoding="utf-8", errors="replace"), re.MULTILINE)
    except OSError:
        return None
    return found[1] if found else None


def _program() -> list[str]:
    """How this process was started, up to its own arguments: the interpreter, its options, the script."""
    return [sys.executable, *sys.orig_argv[1 : len(sys.orig_argv) - len(sys.argv) + 1]]


def _start_anew() -> None:
    """Replace this process by the new version, with the same arguments. Raises TotalRecallError when that fails.

    The new version may need other packages: bootstrap.py sees to that where it made the environment that we run in.
    """
    bootstrap = INSTALLED.parent.parent / "bootstrap.py"
    command = _program()
    if Path(sys.prefix).name.startswith("env-") and bootstrap.is_file():
        command = [sys.executable, "-I", str(bootstrap)]
    # Until the new one listens to it, it would end the process; and it reads its settings anyway.
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        os.execv(command[0], [*command, *sys.argv[1:]])
    except OSError as error:
        advice = "run total-recall watch again"
        raise TotalRecallError(f"cannot start the new version with {command[0]}: {error.strerror}; {advice}") from error


def _has_news(watches: list[Watch]) -> bool:
    """Whether a store is not as it was. A database that was written is asked: the host has reasons of its own."""
    asked = [before for before in watches if before.query]
    databases = {path for before in asked for path in (before.path, f"{before.path}-wal")}
    changed = [before.path for before in watches if not before.query and not _as_it_was(before)]
    return bool(changed) and not (databases.issuperset(changed) and all(map(_answers_as_before, asked)))


def _answers_as_before(before: Watch) -> bool:
    """One short read. A database that cannot be read now has news: taking them says what is wrong with it."""
    uri = f"file:{quote(os.fsencode(before.path))}?mode=ro"
    try:
        with closing(sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS)) as database:
            guard(database)
            return repr(database.execute(before.query).fetchone()) == before.answer
    except sqlite3.Error:
        return False


def _as_it_was(before: Watch) -> bool:
    now = watch(Path(before.path))
    return (now.ino, now.size, now.mtime_ns) == (before.ino, before.size, before.mtime_ns)


def _nearest(path: Path) -> Path:
    """The directory itself, or the nearest above it that is there, without symbolic links."""
    return next(folder for folder in (path, *path.parents) if folder.is_dir()).resolve()


def _inode(path: str) -> int:
    return Path(path).stat().st_ino
