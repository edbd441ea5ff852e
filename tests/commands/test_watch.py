"""watch: the decisions as tables, then real processes over real stores."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime, timezone
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from bootstrap import OWN_VERSION, checksum
from builders import OTHER, Database, Home, append, at, said, texts_of
from total_recall.commands import places, watch
from total_recall.commands.watching import Complaints, Pace, Rhythm, jumped
from total_recall.errors import TotalRecallError
from total_recall.state import State

ROOT = Path(__file__).resolve().parents[2]
PLUMBER = "The plumber comes on 14 December, he wants 340 EUR."
ALLERGY = "My daughter Nora is allergic to penicillin."


# --- when to start an observer

PACE = Pace(threshold=40, cooldown=300.0)


@pytest.mark.parametrize(
    ("pace", "waiting", "now", "expected"),
    [
        (PACE, 0, 1000.0, False),
        (PACE, 39, 1000.0, False),
        (PACE, 40, 1000.0, True),
        (PACE, 4000, 1000.0, True),
        (PACE.begun(1000.0), 40, 1299.9, False),
        (PACE.begun(1000.0), 40, 1300.0, True),
        (PACE.begun(1000.0), 39, 9999.0, False),
        (Pace(1, 1.0, started=0.0), 1, 1.0, True),
    ],
)
def test_an_observer_is_due(pace: Pace, waiting: int, now: float, expected: bool) -> None:
    assert pace.is_due(waiting, now) is expected


STORIES: dict[str, tuple[list[tuple[float, int]], list[float]]] = {
    # (now, how many wait then) for each look → when an observer is started; it takes all that waits unless it fails.
    "a trickle": ([(0, 10), (60, 25), (120, 39), (180, 39)], []),
    "enough at once": ([(0, 40)], [0]),
    "the 40th": ([(0, 39), (1, 40), (2, 1)], [1]),
    "again within the cooldown": ([(0, 40), (100, 40), (299, 90)], [0]),
    "after the cooldown it takes what came meanwhile": ([(0, 40), (100, 40), (300, 90), (301, 0)], [0, 300]),
    "a little that came meanwhile waits for more": ([(0, 40), (300, 39), (900, 39), (901, 40)], [0, 901]),
    "cron was first": ([(0, 39), (10, 0), (20, 39), (30, 40)], [30]),
    "cron was first during the cooldown": ([(0, 40), (200, 80), (300, 3), (310, 40)], [0, 310]),
    "the observer fails": ([(0, 40), (5, 40), (299, 41), (300, 41), (301, 41), (600, 41)], [0, 300, 600]),
}


@pytest.mark.parametrize("story", STORIES)
def test_observers_are_started(story: str) -> None:
    looks, expected = STORIES[story]
    pace, started = PACE, []
    for now, waiting in looks:
        if pace.is_due(waiting, now):
            pace = pace.begun(now)
            started.append(now)
    assert started == expected


@pytest.mark.parametrize(
    ("rhythm", "expected"),
    [
        (Rhythm(at=60.0), 10.15),  # a first change: wait for the rest of the entry
        (Rhythm(at=60.0, looked=9.9), 10.3),  # the host goes on writing
        (Rhythm(at=10.05, looked=9.9), 10.05),  # a look is due anyway
        (Rhythm(at=9.0, looked=0.0), 9.0),  # a look is late
    ],
)
def test_a_change_is_looked_into(rhythm: Rhythm, expected: float) -> None:
    assert rhythm.noticed(10.0).at == pytest.approx(expected)


def test_without_events_looks_are_more_frequent() -> None:
    assert Rhythm(0.0).after_look(100.0, hears=True) == Rhythm(160.0, 100.0)
    assert Rhythm(0.0).after_look(100.0, hears=False) == Rhythm(105.0, 100.0)


def test_a_complaint_is_told_ever_less_often() -> None:
    complaints = Complaints()
    told = [number for number in range(1, 20) if complaints.worth_telling("disk") is not None]
    assert told == [1, 2, 4, 8, 16]
    assert complaints.worth_telling("another") == ""
    assert complaints.settled("disk") and not complaints.settled("disk")
    assert complaints.worth_telling("disk") == ""
    assert complaints.worth_telling("disk") == " (2 times now)"


@pytest.mark.parametrize(
    ("wall", "monotonic", "expected"),
    [
        (1060.0, 160.0, 0.0),
        (1119.0, 160.0, 0.0),  # drift
        (1090.0, 100.5, 89.5),
        (29_800.0, 160.0, 28_740.0),  # asleep for a night
        (0.0, 160.0, -1060.0),  # set back
    ],
)
def test_suspend_and_a_changed_clock_show(wall: float, monotonic: float, expected: float) -> None:
    assert jumped(1000.0, 100.0, wall, monotonic) == expected


# --- real processes


def wait_until(holds: Callable[[], object], what: str, seconds: float = 15.0) -> float:
    """Seconds until it held; AssertionError when it does not in time."""
    begun = time.monotonic()
    while not holds():
        if time.monotonic() - begun > seconds:
            raise AssertionError(f"not within {seconds} s: {what}")
        time.sleep(0.02)
    return time.monotonic() - begun


@dataclass
class World:
    """A user's home with an OpenClaw whose messages are of this minute, and the watchers that run in it."""

    home: Path
    env: dict[str, str] = field(default_factory=dict)
    running: list[subprocess.Popen[str]] = field(default_factory=list)
    numbers: Iterator[int] = field(default_factory=count)

    def __post_init__(self) -> None:
        self.host = Home(self.home / ".openclaw", self.home / "unused")
        settings = {"OBSERVER_LINE_THRESHOLD": "3", "OBSERVER_COOLDOWN_SECS": "1", "TOTAL_RECALL_TZ": "UTC"}
        self.env = {"HOME": str(self.home), "PATH": os.environ["PATH"], **settings}

    @property
    def workspace(self) -> Path:
        return self.home / ".openclaw" / "workspace"

    @property
    def own(self) -> Path:
        return self.workspace / "memory" / ".total-recall"

    def entries(self, *texts: str) -> list[dict[str, Any]]:
        minute = (datetime.now(timezone.utc) - at(0)).total_seconds() / 60
        return [said(f"{next(self.numbers):08x}", text, minute) for text in texts]

    def say(self, *texts: str) -> None:
        """People's messages at the end of the transcript, which is made when there is none."""
        if not self.host.transcript().exists():
            self.host.write()
        append(self.host.transcript(), *self.entries(*texts))

    def start(self, *arguments: str, program: Sequence[str] = (), **env: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [*(program or command(ROOT / "scripts")), "watch", *arguments],
            env={**self.env, **env},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.running.append(process)
        return process

    def started(self, *arguments: str, program: Sequence[str] = (), **env: str) -> subprocess.Popen[str]:
        """A watcher that has begun its work."""
        process = self.start(*arguments, program=program, **env)
        wait_until(lambda: "start: version" in self.log or process.poll() is not None, "the start in the log")
        assert process.poll() is None, process.communicate()
        return process

    @property
    def log(self) -> str:
        path = self.workspace / "logs" / watch.LOG
        return path.read_text(encoding="utf-8") if path.exists() else ""

    @property
    def document(self) -> str:
        path = self.workspace / "memory" / "observations.md"
        return path.read_text(encoding="utf-8") if path.exists() else ""

    def taken(self) -> int:
        """How many messages are in the queue, or were."""
        if not (self.own / "state.sqlite").is_file():
            return 0
        try:
            return len(texts_of(self.own, ("queued", "observed")))
        except sqlite3.OperationalError:
            return 0  # it is being made

    def wait_for_taken(self, number: int) -> None:
        wait_until(lambda: self.taken() >= number, f"{number} messages taken\n{self.log}")
        assert self.taken() == number

    def wait_for_log(self, text: str, times: int = 1) -> None:
        wait_until(lambda: self.log.count(text) >= times, f"{times} × {text!r} in the log")

    def wait_for_document(self, word: str) -> None:
        wait_until(lambda: word in self.document, f"{word!r} in the document")

    def end_all(self) -> None:
        for process in self.running:
            if process.poll() is None:
                process.kill()
            process.communicate()


def command(scripts: Path) -> list[str]:
    """How the launcher starts the program."""
    cache = f"pycache_prefix={ROOT / '.pytest_cache' / 'pycache'}"
    return [sys.executable, "-I", "-X", "utf8", "-X", cache, str(scripts / "run.py")]


def patched(change: str) -> list[str]:
    """The program with something in it replaced, as a test in this process would do it with monkeypatch."""
    lines = [
        f"import sys; sys.path.insert(0, {str(ROOT / 'scripts')!r})",
        "from total_recall import cli",
        "from total_recall.commands import watch, watching",
        change,
        "sys.exit(cli.main())",
    ]
    return [sys.executable, "-I", "-X", "utf8", "-c", "\n".join(lines)]


def end(process: subprocess.Popen[str], number: int = signal.SIGTERM) -> str:
    """Have it ended by a signal, within 2 seconds; its output."""
    begun = time.monotonic()
    process.send_signal(number)
    output, errors = process.communicate(timeout=10)
    assert time.monotonic() - begun < 2
    assert (process.returncode, errors) == (0, "")
    return output


@pytest.fixture
def world(home: Path) -> Iterator[World]:
    world = World(home)
    yield world
    world.end_all()


def test_39_messages_do_nothing_and_the_40th_fires(world: World) -> None:
    watcher = world.started(OBSERVER_LINE_THRESHOLD="40")
    world.say(PLUMBER, *(f"Well, {number}." for number in range(38)))
    world.wait_for_taken(39)
    assert not world.document and "observe started" not in world.log
    world.say(ALLERGY)
    world.wait_for_document("penicillin")
    world.wait_for_taken(40)
    assert "plumber" in world.document
    assert world.log.count("observe started") == 1
    assert "observe started: 40 messages wait (threshold 40)" in world.log
    assert "messages taken: 40, observers started: 1; ended by SIGTERM" in end(watcher)
    assert "stop: SIGTERM" in world.log


def test_what_came_during_the_cooldown_is_taken_after_it_and_cron_may_be_first(world: World) -> None:
    world.started(OBSERVER_COOLDOWN_SECS="3")
    world.say("One", "Two", PLUMBER)
    world.wait_for_document("plumber")
    begun = time.monotonic()
    world.say("Three", "Four", ALLERGY)
    world.wait_for_log("observe started", 2)
    assert time.monotonic() - begun > 1
    world.wait_for_document("penicillin")
    world.say("Five", "Six")
    world.wait_for_taken(8)
    cron = subprocess.run([*command(ROOT / "scripts"), "observe"], env=world.env, capture_output=True, timeout=30)
    assert cron.returncode == 0 and b"2 messages" in cron.stdout
    world.say("Seven", "Eight")
    world.wait_for_taken(10)
    assert world.log.count("observe started") == 2
    world.say("Nine")
    world.wait_for_log("observe started", 3)
    assert world.log.count("observe started: 3 messages wait") == 3


def test_it_starts_before_there_is_a_store_and_goes_on_when_that_is_made_anew(world: World) -> None:
    watcher = world.started()
    shutil.rmtree(world.home / ".openclaw" / "agents", ignore_errors=True)
    world.say("One", "Two", PLUMBER)
    world.wait_for_document("plumber")
    shutil.rmtree(world.host.sessions)
    world.say("Three")
    world.wait_for_taken(4)
    shutil.rmtree(world.home / ".openclaw" / "agents")
    world.say("Four")
    world.wait_for_taken(5)
    world.host.transcript().rename(world.host.transcript(ending=".reset.2026-11-30T06-04-09.191Z"))
    world.host.write(*world.entries("Five"), session_id=OTHER)
    world.wait_for_taken(6)
    end(watcher, signal.SIGINT)


def test_a_database_in_wal_mode_that_another_process_writes(world: World) -> None:
    watcher = world.started(OBSERVER_LINE_THRESHOLD="3")
    with closing(Database(world.host.database)) as database:
        database.session()
        for number, entry in enumerate(world.entries("One", PLUMBER), 1):
            database.add(entry)
            world.wait_for_taken(number)
        assert "observe started" not in world.log
        database.add(*world.entries("Three"))
        world.wait_for_document("plumber")
    end(watcher)
    with closing(Database(world.host.database, schema="")) as database:
        assert database.db.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_sighup_has_it_read_its_settings_again(world: World) -> None:
    del world.env["OBSERVER_LINE_THRESHOLD"]
    watcher = world.started()
    world.say("One", PLUMBER)
    world.wait_for_taken(2)
    world.workspace.joinpath(".env").write_text("OBSERVER_LINE_THRESHOLD=some\n")
    watcher.send_signal(signal.SIGHUP)
    world.wait_for_log("settings stay as they were: OBSERVER_LINE_THRESHOLD is 'some'")
    world.workspace.joinpath(".env").write_text("OBSERVER_LINE_THRESHOLD=2\n")
    watcher.send_signal(signal.SIGHUP)
    world.wait_for_log("settings read again (SIGHUP): OBSERVER_LINE_THRESHOLD 2")
    world.wait_for_document("plumber")
    end(watcher)


def test_each_workspace_has_one_watcher(world: World) -> None:
    config = world.home / ".openclaw" / "openclaw.json"
    config.parent.mkdir()
    config.write_text('{agents: {entries: {main: {}, work: {workspace: "~/work"}}}}')
    first = world.started("--agent", "main")
    second = world.start("--agent", "main", "--json")
    output, _ = second.communicate(timeout=15)
    assert second.returncode == 0
    assert "another watcher is at work" in json.loads(output)["ended_by"]
    both = world.start()
    wait_until((world.home / "work" / "logs" / watch.LOG).exists, "the start in the other log")
    work = world.home / ".openclaw" / "agents" / "work" / "sessions"
    work.mkdir(parents=True)
    world.host.write(*world.entries("One", "Two", ALLERGY), session_id=OTHER).rename(work / f"{OTHER}.jsonl")
    document = world.home / "work" / "memory" / "observations.md"
    wait_until(lambda: document.exists() and "penicillin" in document.read_text(), "the other agent's document")
    assert "penicillin" not in world.document
    world.say("Four", "Five", PLUMBER)
    world.wait_for_document("plumber")
    end(both)
    end(first)
    nobody = world.start("--agent", "nobody")
    assert "no agent 'nobody'" in nobody.communicate(timeout=15)[1] and nobody.returncode == 1


def test_a_new_agent_and_a_new_configuration_are_noticed(world: World) -> None:
    world.started()
    config = world.home / ".openclaw" / "openclaw.json"
    config.write_text("{agents: ")
    world.wait_for_log("mend it, or set OPENCLAW_WORKSPACE")
    config.write_text('{agents: {entries: {main: {}, work: {workspace: "~/work"}}}}')
    work = world.home / ".openclaw" / "agents" / "work" / "sessions"
    work.mkdir(parents=True)
    world.host.write(*world.entries("One", "Two", ALLERGY), session_id=OTHER).rename(work / f"{OTHER}.jsonl")
    document = world.home / "work" / "memory" / "observations.md"
    wait_until(lambda: document.exists() and "penicillin" in document.read_text(), "the new agent's document")


def test_an_update_on_disk_replaces_it(world: World, tmp_path: Path) -> None:
    """The folder is away for a while, as when an update swaps it."""
    skill = tmp_path / "a skill"
    for name in ("scripts", "prompts", "schemas"):
        shutil.copytree(ROOT / name, skill / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copyfile(ROOT / "requirements.txt", skill / "requirements.txt")
    # Where these tests run in an environment of bootstrap.py's, it is asked for one with the packages of the skill.
    environments = world.home / ".local" / "share" / "total-recall"
    environments.mkdir(parents=True)
    wanted = f"env-{checksum((ROOT / 'requirements.txt').read_bytes())}-{OWN_VERSION}"
    (environments / wanted).symlink_to(sys.prefix)
    watcher = world.started(program=command(skill / "scripts"), OBSERVER_LINE_THRESHOLD="4")
    world.say("One")
    world.wait_for_taken(1)
    skill.rename(tmp_path / "away")
    world.say("Two")
    world.wait_for_taken(2)
    package = tmp_path / "away" / "scripts" / "total_recall" / "__init__.py"
    package.write_text(package.read_text().replace('__version__ = "', '__version__ = "9.'))
    (tmp_path / "away").rename(skill)
    world.say("Three")
    world.wait_for_log("start: version 9.")
    assert "stop: update" in world.log and watcher.poll() is None
    world.say(PLUMBER)
    world.wait_for_document("plumber")
    assert world.taken() == 4
    end(watcher)


def test_the_new_version_is_started_through_bootstrap_in_an_environment_that_it_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started: list[list[str]] = []
    monkeypatch.setattr(os, "execv", lambda _path, arguments: started.append(arguments))
    monkeypatch.setattr(sys, "argv", ["run.py", "watch", "--agent", "main"])
    before = signal.getsignal(signal.SIGHUP)
    try:
        monkeypatch.setattr(sys, "prefix", "/somewhere/env-1-2-3.11")
        watch._start_anew()
        monkeypatch.setattr(sys, "prefix", "/usr")
        monkeypatch.setattr(sys, "orig_argv", ["python", "-I", "-X", "utf8", "run.py", "watch", "--agent", "main"])
        watch._start_anew()
    finally:
        signal.signal(signal.SIGHUP, before)
    assert started == [
        [sys.executable, "-I", str(ROOT / "scripts" / "bootstrap.py"), "watch", "--agent", "main"],
        [sys.executable, "-I", "-X", "utf8", "run.py", "watch", "--agent", "main"],
    ]


def test_a_new_version_that_cannot_be_started_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(path: str, _arguments: list[str]) -> None:
        raise FileNotFoundError(2, "No such file or directory", path)

    monkeypatch.setattr(os, "execv", gone)
    before = signal.getsignal(signal.SIGHUP)
    try:
        with pytest.raises(TotalRecallError, match=r"cannot start the new version.*run total-recall watch again"):
            watch._start_anew()
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_memory_that_cannot_be_written_at_the_start_is_told(world: World) -> None:
    world.workspace.mkdir(parents=True)
    (world.workspace / "memory").touch()
    watcher = world.start()
    _, errors = watcher.communicate(timeout=15)
    assert watcher.returncode == 1 and errors.count("\n") == 1
    assert f"cannot write to {world.own}" in errors


NO_EVENTS = """
import errno
def refused(): raise OSError(errno.ENOSPC, "inotify watch limit reached")
watch.Observer = refused
watching.POLL_SECONDS = 0.2
"""


def test_where_there_are_no_events_it_looks_every_few_seconds(world: World) -> None:
    watcher = world.started(program=patched(NO_EVENTS), OBSERVER_LINE_THRESHOLD="40")
    world.say("One")
    world.wait_for_taken(1)
    world.say("Two")
    world.wait_for_taken(2)
    output = end(watcher)
    assert "messages taken: 2" in output
    (line,) = [line for line in world.log.split("\n") if "no file events" in line and "times now" not in line]
    assert "every 5 seconds" in line and "fs.inotify.max_user_watches" in line


FAILING = """
watch._program = lambda: [sys.executable, "-c", "import sys; sys.exit('total-recall: no luck today')"]
"""


def test_an_observer_that_fails_is_started_again_after_the_cooldown(world: World) -> None:
    watcher = world.started(program=patched(FAILING))
    world.say("One", "Two", "Three")
    world.wait_for_log("observe started", 3)
    end(watcher)
    assert "observe failed with exit code 1: total-recall: no luck today" in world.log
    assert "no luck today (2 times now)" in world.log
    assert world.log.count("observe failed") == 2


def test_a_running_observer_outlives_the_watcher(world: World, tmp_path: Path) -> None:
    go, done = tmp_path / "go", tmp_path / "done"
    child = (
        f"import pathlib, sys, time\nwhile not pathlib.Path({str(go)!r}).exists(): time.sleep(0.02)\n"
        f"print('late', file=sys.stderr); pathlib.Path({str(done)!r}).touch()"
    )
    watcher = world.started(program=patched(f"watch._program = lambda: [sys.executable, '-c', {child!r}]"))
    world.say("One", "Two", "Three")
    world.wait_for_log("observe started")
    end(watcher)
    assert not done.exists()
    go.touch()
    wait_until(done.exists, "the observer's end")


SLOW = """
import time
def slow(_place, _config, state, *_):
    while True:
        state.set_meta("number", str(time.monotonic()))
        time.sleep(0.01)
watch.capture_alone = slow
"""


def test_it_ends_amid_a_long_first_run(world: World) -> None:
    watcher = world.started(program=patched(SLOW))
    world.say("One")

    def is_at_it() -> bool:
        with State.open(world.own) as state:
            return state.meta("number") is not None

    wait_until(is_at_it, "taking")
    end(watcher)
    assert "told to end while taking messages" in world.log


def test_after_a_jump_of_the_clock_everything_is_looked_at(home: Path) -> None:
    watcher = watch._Watcher(watch.Options(), lambda: places.configure({"HOME": str(home)}))
    watcher._find(first=True)
    (memory,) = watcher._memories.values()
    memory.waiting, watcher._rhythm = 7, Rhythm(float("inf"))
    watcher._look_if_due()
    assert memory.waiting == 7
    wall, monotonic = watcher._clocks
    watcher._clocks = (wall - 7200, monotonic)
    try:
        watcher._look_if_due()
    finally:
        watcher._events.close()
        memory.held.close()
    assert memory.waiting == 0
    log = home / ".openclaw" / "workspace" / "logs" / watch.LOG
    assert "the clock went +7200 s" in log.read_text()


def test_a_memory_that_cannot_be_written_for_a_while(world: World) -> None:
    """The state is damaged, then gone: what the stores hold is taken as soon as it can be."""
    watcher = world.started(OBSERVER_LINE_THRESHOLD="40")
    world.say("One")
    world.wait_for_taken(1)
    for name in ("state.sqlite", "state.sqlite-wal", "state.sqlite-shm"):
        (world.own / name).unlink(missing_ok=True)
    (world.own / "state.sqlite").mkdir()
    world.say("Two")
    world.wait_for_log("cannot write")
    (world.own / "state.sqlite").rmdir()
    world.say("Three")
    world.wait_for_taken(3)
    end(watcher)
    assert "it works again" in world.log


def test_a_service_manager_is_told(world: World, tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        address = f"total-recall-watch-{os.getpid()}"
        manager.bind(f"\0{address}")
        manager.settimeout(10)
        watcher = world.started(NOTIFY_SOCKET=f"@{address}", WATCHDOG_USEC="400000")
        told = [manager.recv(4096).decode() for _ in range(6)]
        assert told[0].split("\n")[0] == "READY=1"
        assert told.count("WATCHDOG=1") >= 3
        watcher.send_signal(signal.SIGHUP)
        while not told[-1].startswith("RELOADING=1\nMONOTONIC_USEC="):
            told.append(manager.recv(4096).decode())
        end(watcher)
        manager.setblocking(False)
        rest = []
        while True:
            try:
                rest.append(manager.recv(4096).decode())
            except BlockingIOError:
                break
        assert "READY=1" in rest and rest[-1] == "STOPPING=1"
        assert any(line.startswith("STATUS=") for line in told + rest)


def test_a_wrong_setting_that_shows_late_does_not_end_it(world: World) -> None:
    watcher = world.started(TOTAL_RECALL_EXCLUDE="nonsense")
    world.say("One")
    world.wait_for_log("TOTAL_RECALL_EXCLUDE has")
    end(watcher)


def test_it_is_small_since_it_imports_no_observer() -> None:
    question = "import sys; import total_recall.commands.watch; print(*sys.modules)"
    env = {"PYTHONPATH": str(ROOT / "scripts"), "PATH": os.environ["PATH"]}
    done = subprocess.run([sys.executable, "-c", question], env=env, capture_output=True, text=True, check=True)
    heavy = {"httpx", "total_recall.llm.client", "total_recall.commands.observe", "total_recall.commands.compressing"}
    assert not heavy & set(done.stdout.split())


def test_the_start_is_recorded_for_doctor(world: World) -> None:
    watcher = world.started()
    wait_until((world.own / "state.sqlite").exists, "the state")
    with State.open(world.own) as state:
        wait_until(lambda: state.last_run("watch"), "the run record")
        record = state.last_run("watch")
    assert record is not None and f"process {watcher.pid}" in record.detail
    end(watcher)


def test_a_flood_of_changes_is_told_twice_and_not_piled_up(tmp_path: Path) -> None:
    told: list[str] = []
    events = watch._Events(told.append)
    assert events.arm(lambda: {str(tmp_path)}) is None and events.hears
    try:
        (tmp_path / "one").touch()
        wait_until(lambda: told == ["stores"], "a change")
        for number in range(1000):
            (tmp_path / f"{number}").touch()
        wait_until(lambda: len(told) == 2, "enough")
        events.disarm()
        for number in range(1000):
            (tmp_path / f"{number}").write_text("more")
        assert told == ["stores", "enough"]
        assert events.arm(lambda: {str(tmp_path)}) is None
        (tmp_path / "another").touch()
        wait_until(lambda: len(told) == 3, "another change")
        assert events._observer is not None and events._observer.event_queue.qsize() < 1000
        assert events.arm(lambda: {str(tmp_path)}) is None
        del told[:]
        (tmp_path / "folder").mkdir()
        wait_until(lambda: "enough" in told, "a new folder")
    finally:
        events.close()
    assert not events.hears
