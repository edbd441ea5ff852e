"""doctor: each check in a good and a bad state, one failing check stops no other, and nothing is changed or sent."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import socket
import sqlite3
import sys
import tempfile
import time
from collections import namedtuple
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import tzlocal

from builders import DELETED, NOW, Database, Home, append, nobodys, said, snapshot
from model_server import ModelServer, Reply, error
from total_recall import __version__, cli, clock
from total_recall.commands import (
    doctor,
    doctor_databases,
    doctor_findings,
    doctor_host,
    doctor_memory,
    observe,
    places,
)
from total_recall.commands.capturing import Wanted, capture_alone
from total_recall.commands.doctor_findings import Finding
from total_recall.commands.installation import Part
from total_recall.commands.places import Configuration
from total_recall.errors import StoreError
from total_recall.records import ModelCall
from total_recall.sessions.source import Problems
from total_recall.state import MIGRATIONS, Pending, RunRecord, State, sole

PLUMBER = "The plumber comes on 14 December, he wants 340 EUR."
AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to somebody else")
HOUR = timedelta(hours=1)


@dataclass
class World:
    """A home directory with OpenClaw in it, and what the doctor says about it."""

    home: Path
    env: dict[str, str] = field(default_factory=dict)
    agent: str | None = None
    online: bool = False
    undo: list[Callable[[], object]] = field(default_factory=list)

    @property
    def host(self) -> Home:
        return Home(self.home / ".openclaw", self.home / "unused")

    @property
    def workspace(self) -> Path:
        return self.home / ".openclaw" / "workspace"

    @property
    def memory(self) -> Path:
        return self.workspace / "memory"

    @property
    def own(self) -> Path:
        return self.memory / ".total-recall"

    @property
    def document(self) -> Path:
        return self.memory / "observations.md"

    def config(self) -> Configuration:
        # No other program is found: what this computer has for a scheduler is none of these tests' business.
        nowhere = {"HOME": str(self.home), "PATH": str(self.home / "nowhere")}
        return places.configure({**nowhere, "TOTAL_RECALL_TZ": "Europe/Berlin", **self.env})

    def configure(self, text: str) -> None:
        (self.home / ".openclaw" / "openclaw.json").write_text(text)

    def observed(self) -> None:
        """One run of observe over one message, a few minutes ago; nothing is left to do."""
        self.host.write(said("a", PLUMBER))
        self.aged()
        observe.run(observe.Options(), places.configure({"HOME": str(self.home), "TOTAL_RECALL_TZ": "Europe/Berlin"}))
        self.stamped(timedelta(minutes=5))

    def stamped(self, ago: timedelta) -> None:
        self.memory.mkdir(parents=True, exist_ok=True)
        (self.memory / ".observer-last-run").write_text(f"{round((NOW - ago).timestamp())}\n")

    def aged(self, ago: timedelta = HOUR) -> None:
        """Every file was written some time before now."""
        when = (NOW - ago).timestamp()
        for path in self.home.rglob("*"):
            os.utime(path, (when, when), follow_symlinks=False)

    def examined(self) -> doctor.Result:
        options = doctor.Options(("observe", "doctor", "setup"), self.online, self.agent)
        return doctor.run(options, self.config() if "OBSERVER_COOLDOWN_SECS" not in self.env else None)

    def found(self, name: str) -> list[Finding]:
        return [finding for finding in self.examined().findings if finding.name == name]


@pytest.fixture
def world(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setattr(clock, "now", lambda: NOW)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    made = World(home)
    made.workspace.mkdir(parents=True)
    made.configure("{}")
    yield made
    for undo in made.undo:
        undo()


Arrange = Callable[[World], object]


def fine(world: World) -> None:
    world.observed()


def check(world: World, arrange: Arrange, name: str, level: str, words: str) -> Finding:
    """The finding of that name and level that says these words."""
    arrange(world)
    found = world.found(name)
    matching = [f for f in found if f.level == level and words in f.said]
    assert matching, found
    assert level not in ("warning", "error") or matching[0].fix or name == "settings", matching[0]
    return matching[0]


# --- all of it


def test_a_memory_that_works_has_no_error_and_a_fix_for_each_warning(world: World) -> None:
    world.observed()
    result = world.examined()
    assert not result.failed
    # Nothing was set up here: that alone is warned of.
    assert {f.name for f in result.findings if f.level == "warning"} == {"schedule", "hook", "hook switch"}
    assert all(f.fix for f in result.findings if f.level == "warning")


def test_it_is_told_in_words_with_the_fix_below(world: World) -> None:
    world.memory.write_text("in the way")
    told = world.examined().lines()
    (number,) = [n for n, line in enumerate(told) if "in the way" in line]
    assert told[number].startswith("error    memory ")
    assert told[number + 1].split("fix: ")[1].startswith("mv ")
    assert "errors and 1 warning; what mends it" in told[-1]


def test_with_nothing_wrong_it_says_so() -> None:
    assert doctor.Result((Finding("python", "ok", "3"),)).lines()[-1] == "Nothing is wrong."


def test_the_answer_for_programs(world: World) -> None:
    world.configure("{agents: ")
    payload = json.loads(json.dumps(world.examined().payload()))
    assert (payload["ok"], payload["errors"]) == (False, 1)
    (broken,) = [f for f in payload["findings"] if f["level"] == "error"]
    assert broken["name"] == "openclaw.json" and set(broken) == {"name", "level", "said", "fix"}


@pytest.mark.parametrize(("text", "code"), [("{}", 0), ("{agents: ", 1)])
def test_the_exit_code_says_whether_something_is_broken(
    world: World, capsys: pytest.CaptureFixture[str], text: str, code: int
) -> None:
    world.observed()
    world.configure(text)
    assert cli.main(["doctor", "--json"]) == code
    answer = json.loads(capsys.readouterr().out)
    assert (answer["command"], answer["ok"]) == ("doctor", code == 0)


def test_a_check_that_fails_is_an_error_and_stops_no_other(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(_subject: object) -> list[Finding]:
        raise StoreError("the store is gone; look for it")

    checks = doctor.CHECKS
    broken = replace(
        checks,
        machine=(("python", failing), *checks.machine[1:]),
        host=(("openclaw.json", failing), *checks.host[2:]),
        memory=(("memory", failing), *checks.memory[1:]),
        kept=(("store", failing), *checks.kept[1:]),
    )
    monkeypatch.setattr(doctor, "CHECKS", broken)
    world.observed()
    result = world.examined()
    said_so = [f.name for f in result.findings if f.said == "the store is gone" and f.fix == "look for it"]
    assert said_so == ["python", "openclaw.json", "memory", "store"] and result.failed
    assert {"disk", "model", "document", "model calls"} <= {f.name for f in result.findings}


def test_a_bug_in_a_check_is_not_hidden(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def buggy(_subject: object) -> list[Finding]:
        raise ZeroDivisionError

    monkeypatch.setattr(doctor, "CHECKS", replace(doctor.CHECKS, machine=(("python", buggy),)))
    with pytest.raises(ZeroDivisionError):
        world.examined()


def test_looking_changes_nothing(world: World) -> None:
    world.observed()
    database = Database(world.host.database)
    database.session()
    database.add(said("b", "Invoice 1041 is due on 18 December.", 9))

    def files() -> dict[str, bytes]:
        # Every reader of a database leaves its mark in the shared memory that SQLite keeps beside it.
        return {name: content for name, content in snapshot(world.home).items() if not name.endswith("-shm")}

    before = files()
    world.examined()
    assert files() == before
    assert not list(Path(tempfile.gettempdir()).iterdir())
    database.close()


def test_before_the_first_run_looking_makes_nothing(world: World) -> None:
    world.host.write(said("a", PLUMBER))
    world.examined()
    assert not world.memory.exists()


def test_nothing_leaves_the_computer_without_online(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.observed()
    world.env = {"LLM_BASE_URL": "https://models.example.test/v1", "LLM_API_KEY": "x", "LLM_MODEL": "m"}
    config = world.config()

    def blow_up(*_: object, **__: object) -> None:
        raise AssertionError("a socket was opened")

    for name in ("socket", "create_connection", "getaddrinfo"):
        monkeypatch.setattr(socket, name, blow_up)
    result = doctor.run(doctor.Options(()), config)
    assert any("models.example.test" in f.said for f in result.findings)


def test_a_key_is_never_told(world: World) -> None:
    key = f"key-{secrets.token_hex(16)}"
    world.observed()
    with ModelServer(lambda request: error(401, f"Invalid key {request.key}")) as server:
        world.env = {"LLM_BASE_URL": server.url, "LLM_API_KEY": key, "LLM_MODEL": "m"}
        world.online = True
        result = world.examined()
        assert server.requests[0].key == f"Bearer {key}"
    everything = json.dumps(result.payload()) + "\n".join(result.lines())
    assert "key set (LLM_API_KEY, environment)" in everything
    assert key not in everything


# --- this computer


def test_python(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    version = ".".join(map(str, sys.version_info[:3]))
    monkeypatch.setattr(sys, "prefix", "/data/total-recall/env-1-2-3.12")
    check(world, fine, "python", "ok", f"Python {version}, SQLite {sqlite3.sqlite_version}, Total Recall {__version__}")
    monkeypatch.setattr(sys, "prefix", "/usr")
    assert "doctor" in str(check(world, fine, "python", "note", "not the launcher's own").fix)


Usage = namedtuple("Usage", "total used free")


@pytest.mark.parametrize(
    ("free", "level"), [(10**12, "ok"), (10**8, "ok"), (10**8 - 1, "warning"), (2 * 10**7 - 1, "error")]
)
def test_room_on_the_disk_and_for_temporary_files(
    world: World, monkeypatch: pytest.MonkeyPatch, free: int, level: str
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(10**12, 0, free))
    for name in ("temporary folder", "disk"):
        check(world, fine, name, level, "free in ")


def test_a_file_system_without_room_for_one_more_file(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.statvfs("/")
    full = os.statvfs_result([*real[:5], 1000, 0, 0, *real[8:10]])
    monkeypatch.setattr(os, "statvfs", lambda _: full)
    check(world, fine, "disk", "error", "no more files")


def test_what_broken_and_killed_runs_left_in_the_temporary_folder(world: World, tmp_path: Path) -> None:
    assert len(world.found("temporary folder")) == 1 and not world.found("bug report")
    old = (NOW - timedelta(days=40)).timestamp()
    for number in range(3):
        report = tmp_path / f"total-recall-{number}.log"
        report.write_text("Traceback")
        when = (NOW - timedelta(days=3 - number)).timestamp() if number else old
        os.utime(report, (when, when))
    for name in ("killed", "at work", "of somebody else"):
        folder = tmp_path / f"total-recall-{name}"
        folder.mkdir()
        if name != "of somebody else":
            (folder / "state.sqlite").touch()
        os.utime(folder, (old, old))
    os.utime(tmp_path / "total-recall-at work", (NOW.timestamp(), NOW.timestamp()))
    check(world, fine, "bug report", "warning", f"2 bug reports, the last is {tmp_path / 'total-recall-2.log'}")
    left = check(world, fine, "temporary folder", "note", "1 copy of a state was left by killed runs")
    assert left.fix == f"rm -r {tmp_path / 'total-recall-killed'}"


# --- what is set


def test_home_that_is_no_folder(world: World) -> None:
    check(world, fine, "home", "ok", str(world.home))
    world.env = {"HOME": str(world.home / "nowhere")}
    check(world, lambda w: None, "home", "error", "no folder")


@AS_ROOT
def test_home_of_somebody_else(world: World) -> None:
    os.chown(world.home, 65534, -1)
    assert "sudo" in str(check(world, fine, "home", "warning", "belongs to user 65534").fix)


def test_a_setting_out_of_its_range_is_an_error_and_the_computer_is_still_looked_at(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OBSERVER_COOLDOWN_SECS", "soon")
    result = doctor.run(doctor.Options(()))
    assert [f.name for f in result.findings] == ["python", "temporary folder", "settings"]
    assert result.failed and "OBSERVER_COOLDOWN_SECS" in result.findings[-1].said


OPENCLAW_JSON: list[tuple[str | None, str, str]] = [
    ('{agents: {list: [{id: "main"}]}} // JSON5', "ok", "main in "),
    ("{agents: ", "error", "cannot be read"),
    (None, "note", "is not there"),
    ('{"agents": {"defaults": {"userTimezone": "${NOT_SET_ANYWHERE}"}}}', "warning", "NOT_SET_ANYWHERE"),
]


@pytest.mark.parametrize(("text", "level", "words"), OPENCLAW_JSON)
def test_openclaw_json(world: World, text: str | None, level: str, words: str) -> None:
    path = world.home / ".openclaw" / "openclaw.json"
    path.unlink() if text is None else path.write_text(text)
    check(world, lambda w: None, "openclaw.json", level, words)


def test_dotenv_that_others_can_read(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not world.found(".env")
    path = world.workspace / ".env"
    path.write_text("LLM_MODEL=m\n")
    path.chmod(0o644)
    check(world, fine, ".env", "ok", "sets LLM_MODEL")  # no other user gets as far as this folder
    monkeypatch.setattr(doctor_host, "is_within_reach", lambda _: True)
    assert check(world, fine, ".env", "warning", "others can read it").fix == f"chmod 600 {path}"
    path.chmod(0o600)
    check(world, fine, ".env", "ok", "sets LLM_MODEL")


def test_what_others_can_get_at(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    assert doctor_host.is_within_reach(Path("/etc/passwd"))
    assert not doctor_host.is_within_reach(tmp_path / "file")


ZONES: list[tuple[dict[str, str], str, str, str, str]] = [
    # the settings, userTimezone, this computer's TZ, level, words
    ({"TOTAL_RECALL_TZ": "Asia/Seoul"}, "", "UTC", "ok", "Asia/Seoul, from TOTAL_RECALL_TZ (environment)"),
    ({}, "Asia/Seoul", "UTC", "ok", "Asia/Seoul, from agents.defaults.userTimezone"),
    ({}, "Mars/Base", "UTC", "warning", "'Mars/Base', which is no time zone"),
    ({}, "", "UTC", "note", "UTC, from this computer"),
    ({}, "", "Asia/Seoul", "ok", "Asia/Seoul, from this computer"),
    ({}, "", "XYZ-5:30", "warning", "UTC is used, but this computer's clock is at UTC+5.5"),
]


@pytest.mark.parametrize(("env", "asked", "computer", "level", "words"), ZONES)
def test_time_zone(
    world: World,
    monkeypatch: pytest.MonkeyPatch,
    env: dict[str, str],
    asked: str,
    computer: str,
    level: str,
    words: str,
) -> None:
    world.configure(json.dumps({"agents": {"defaults": {"userTimezone": asked}}}))
    world.env = {"TOTAL_RECALL_TZ": "", **env}
    with at_home_in(computer):
        check(world, lambda w: None, "time zone", level, words)


@contextmanager
def at_home_in(zone: str) -> Iterator[None]:
    """This computer's time zone, for Python and for the C library."""

    def here() -> ZoneInfo:
        return ZoneInfo(zone)

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", zone)
        patch.setattr(tzlocal, "get_localzone", here)
        time.tzset()
        yield
    time.tzset()


def skill(folder: Path, version: str) -> None:
    package = folder / "skills" / "total-recall" / "scripts" / "total_recall"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(f'__version__ = "{version}"\n')
    (folder / "skills" / "total-recall" / "SKILL.md").touch()


def test_copies_of_the_skill(world: World) -> None:
    check(world, fine, "skill", "note", "no agent has it")
    skill(world.workspace, __version__)
    check(world, fine, "skill", "ok", f"({__version__})")
    skill(world.home / ".openclaw", "0.0.1")
    used = f"agent main uses {world.workspace}/skills/total-recall ({__version__})"
    two = check(world, fine, "skill", "warning", used)
    assert "skills/total-recall (0.0.1)" in two.said
    shutil.rmtree(world.workspace / "skills")
    check(world, fine, "skill", "warning", f"this is version {__version__}")


PARTS: list[tuple[Part, str, str, str | None]] = [
    (Part("schedule", "present", "crontab", "observe every 15 minutes"), "ok", "crontab: observe every", None),
    (Part("schedule", "absent", "crontab"), "warning", "not set up: crontab", "setup"),
    (Part("hook", "drifted", "/x", "differs"), "warning", "not as setup made it: /x: differs", "setup"),
    (Part("folders", "absent", "/x"), "note", "not set up: /x", "setup"),
    (Part("folders", "drifted", "/x"), "warning", "not as setup made it: /x", "setup"),
    (Part("watcher", "impossible", "", "install cron"), "warning", "cannot be made", "install cron"),
    (Part("AGENTS.md", "not wanted", "", ""), "ok", "not wanted", None),
]


@pytest.mark.parametrize(("part", "level", "words", "fix"), PARTS)
def test_installed_parts(
    world: World, monkeypatch: pytest.MonkeyPatch, part: Part, level: str, words: str, fix: str | None
) -> None:
    monkeypatch.setattr(doctor_host, "survey", lambda *_: (part,))
    found = check(world, fine, part.name, level, words)
    assert (fix is None and found.fix is None) or str(found.fix).endswith(str(fix))


ENDPOINT = {"LLM_BASE_URL": "https://models.example.test/v1"}
MODELS: list[tuple[dict[str, str], str, str]] = [
    ({}, "note", "offline"),
    (ENDPOINT, "warning", "no model is named"),
    ({**ENDPOINT, "LLM_MODEL": "m"}, "warning", "m at models.example.test, then offline; no key"),
    ({**ENDPOINT, "LLM_MODEL": "m", "LLM_API_KEY": "k"}, "ok", "key set (LLM_API_KEY, environment)"),
    ({**ENDPOINT, "LLM_MODEL": "m", "LLM_API_KEY": "two words"}, "error", "no key has"),
    ({"LLM_BASE_URL": "http://127.0.0.1:1/v1", "LLM_MODEL": "m"}, "ok", "m at 127.0.0.1, then offline; no key"),
    ({"OPENROUTER_API_KEY": "k"}, "note", "free defaults, which come and go"),
    ({"OPENROUTER_API_KEY": "k"}, "warning", "OPENROUTER_API_KEY is set in this shell alone"),
    ({**ENDPOINT, "LLM_MODEL": "m", "TOTAL_RECALL_LOCAL_ONLY": "true"}, "warning", "LOCAL_ONLY"),
]


@pytest.mark.parametrize(("env", "level", "words"), MODELS)
def test_model(world: World, env: dict[str, str], level: str, words: str) -> None:
    world.env = env
    found = [f for f in world.found("model") if f.level == level and words in f.said]
    assert found and (level != "warning" or found[0].fix)


ONLINE: list[tuple[str, Reply | tuple[dict[str, Any], ...], list[tuple[str, str]], int]] = [
    # the answer, the list of models, what is found, requests to the model
    ("ok", (), [("ok", "lists its models"), ("ok", "m at 127.0.0.1 answers")], 1),
    ("ok", error(404, "not found"), [("note", "no list of models"), ("ok", "m at 127.0.0.1 answers")], 1),
    ("http401", (), [("ok", "lists its models"), ("error", "401")], 1),
    ("http404", (), [("ok", "lists its models"), ("error", "404")], 1),
    ("html200", (), [("ok", "lists its models"), ("error", "m at 127.0.0.1")], 1),
]


@pytest.mark.parametrize(("mode", "models", "expected", "requests"), ONLINE)
def test_online(
    world: World,
    mode: str,
    models: Reply | tuple[dict[str, Any], ...],
    expected: list[tuple[str, str]],
    requests: int,
) -> None:
    world.observed()
    world.online = True
    with ModelServer(mode, models) as server:
        world.env = {"LLM_BASE_URL": server.url, "LLM_MODEL": "m"}
        found = world.found("online")
        assert len(server.lookups) == 1 and server.calls("m") == requests
    assert [(f.level, words in f.said) for f, (_, words) in zip(found, expected, strict=True)] == [
        (level, True) for level, _ in expected
    ]
    assert all(f.fix and f.fix not in f.said for f in found if f.level == "error")
    with State.open(world.own) as state:
        assert [call.purpose for call in state.calls(NOW - HOUR)] == ["doctor"]


def test_online_with_nobody_at_the_address_asks_once(world: World) -> None:
    with ModelServer() as server:
        url = server.url
    world.env, world.online = {"LLM_BASE_URL": url, "LLM_MODEL": "m"}, True
    (found,) = world.found("online")
    assert found.level == "error" and "refused" in found.said and "server runs" in str(found.fix)
    assert not world.memory.exists()  # no ledger is begun for a question


def test_online_asks_nobody_outside_where_that_is_forbidden(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def blow_up(*_: object, **__: object) -> None:
        raise AssertionError("somebody was asked")

    monkeypatch.setattr(doctor_host, "Client", blow_up)
    world.env, world.online = {**ENDPOINT, "LLM_MODEL": "m", "TOTAL_RECALL_LOCAL_ONLY": "true"}, True
    assert not world.found("online")
    world.env = {}
    assert not world.found("online")


# --- the files of a memory


def memory_in_the_way(w: World) -> None:
    w.memory.write_text("a file")


def document_in_the_way(w: World) -> None:
    w.observed()
    w.document.unlink()
    w.document.mkdir()


def no_workspace(w: World) -> None:
    w.workspace.rmdir()


def damaged(name: str) -> Arrange:
    def arrange(w: World) -> None:
        w.observed()
        path = w.own / name
        with closing(sqlite3.connect(path)) as db:
            db.execute("CREATE TABLE IF NOT EXISTS filler (text TEXT)")
            db.executemany("INSERT INTO filler VALUES (?)", [("x" * 1000,)] * 200)
            db.commit()
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        content = bytearray(path.read_bytes())
        middle = len(content) // 2 // 4096 * 4096
        content[middle : middle + 8 * 4096] = bytes(b"\xa5" * 8 * 4096)
        path.write_bytes(content)

    return arrange


def sound(name: str) -> Arrange:
    def arrange(w: World) -> None:
        w.observed()
        with closing(sqlite3.connect(w.own / name)) as db:
            db.execute("CREATE TABLE IF NOT EXISTS filler (text TEXT)")

    return arrange


def newer_state(w: World) -> None:
    w.observed()
    with closing(sqlite3.connect(w.own / "state.sqlite")) as db:
        db.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")


def written(text: str) -> Arrange:
    def arrange(w: World) -> None:
        w.observed()
        w.document.write_text(text)

    return arrange


def as_utf16(w: World) -> None:
    w.observed()
    w.document.write_text("- a\n", encoding="utf-16")


def left(name: str, ago: timedelta = timedelta(days=2)) -> Arrange:
    def arrange(w: World) -> None:
        w.observed()
        path = w.memory / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("half")
        when = (NOW - ago).timestamp()
        os.utime(path, (when, when))

    return arrange


def stamped(ago: timedelta) -> Arrange:
    return lambda w: w.stamped(ago)


LEFTOVER = ".observations.md.total-recall-0123456789abcdef.tmp"
TWO_PROBLEMS = "Date: 2026-11-31\n- 🔴 09:00 Tea <!-- dc:id=k3f9q2 dc:type=nonsense -->\n- 🟡 09:05 plain line\n"
OPEN = "# Log\n<<<<<<< ours\n- a\n"

OF_FILES: list[tuple[str, Arrange, str, str, str]] = [
    ("a good memory", fine, "memory", "ok", "memory"),
    ("no memory yet", lambda w: None, "memory", "note", "not there yet"),
    ("a file in the way of the memory", memory_in_the_way, "memory", "error", "in the way: it is not a folder"),
    ("a folder in the way of the document", document_in_the_way, "memory", "error", "in the way: it is not a file"),
    ("a folder in the way, read", document_in_the_way, "document", "error", "observations.md"),
    ("no workspace", no_workspace, "workspace", "warning", "is not there"),
    ("a good document", fine, "document", "ok", "1 observation"),
    ("no document yet", lambda w: None, "document", "note", "not there yet"),
    ("a date that is none", written(TWO_PROBLEMS), "document", "warning", "observations.md line 1: 2026-11-31"),
    ("metadata that is none", written(TWO_PROBLEMS), "document", "warning", "observations.md line 2: "),
    ("untagged lines", written(TWO_PROBLEMS), "document", "ok", "2 observations, 2 of them without metadata"),
    ("many problems", written("Date: 2026-11-31\n" * 9), "document", "warning", "4 more, in the lines 6, 7, 8, 9"),
    ("a merge left unfinished", written(OPEN), "document", "warning", "line 2: a merge"),
    ("UTF-16", as_utf16, "document", "warning", "UTF-16"),
    ("a good state", fine, "database", "ok", "is sound"),
    ("a damaged state", damaged("state.sqlite"), "database", "error", "state.sqlite"),
    ("a state of a newer version", newer_state, "state", "error", "newer Total Recall"),
    ("a good index", sound("recall.sqlite"), "database", "ok", "recall.sqlite"),
    ("a damaged index", damaged("recall.sqlite"), "database", "error", "recall.sqlite"),
    ("damaged events", damaged("events.sqlite"), "database", "error", "events.sqlite"),
    ("a temporary file of a killed run", left(LEFTOVER), "leftover", "note", "is 2 days old"),
    ("the same for a backup", left(f"observation-backups/{LEFTOVER}"), "leftover", "note", "is 2 days old"),
    ("a second version", left("observations.sync-conflict-1.md"), "leftover", "warning", "a second version"),
    ("a run just now", stamped(timedelta(minutes=5)), "last run", "ok", "5 minutes ago"),
    ("no run for long", stamped(timedelta(hours=3)), "last run", "warning", "3 hours ago"),
    ("a run yet to come", stamped(-timedelta(days=1)), "last run", "warning", "yet to come"),
    ("no run at all", lambda w: None, "last run", "warning", "has not run here"),
]


@pytest.mark.parametrize(
    ("arrange", "name", "level", "words"), [row[1:] for row in OF_FILES], ids=[row[0] for row in OF_FILES]
)
def test_files_of_a_memory(world: World, arrange: Arrange, name: str, level: str, words: str) -> None:
    check(world, arrange, name, level, words)


def test_a_temporary_file_of_a_moment_ago_belongs_to_a_run_at_work(world: World) -> None:
    left(LEFTOVER, timedelta(seconds=5))(world)
    assert not world.found("leftover")


def test_what_other_users_can_reach_has_its_chmod(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.observed()
    world.memory.chmod(0o755)
    world.document.chmod(0o640)
    assert [f.level for f in world.found("memory")] == ["ok"]  # nobody gets as far as that
    monkeypatch.setattr(doctor_memory, "is_within_reach", lambda _: True)
    found = world.found("memory")
    assert [f.fix for f in found] == [f"chmod 700 {world.memory}", f"chmod 600 {world.document}"]
    assert {f.level for f in found} == {"warning"}


@AS_ROOT
def test_a_memory_of_somebody_else(world: World) -> None:
    world.observed()
    os.chown(world.memory, 65534, -1)
    check(world, lambda w: None, "memory", "warning", "belongs to user 65534")


def test_a_memory_that_may_not_be_written(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", None)
    with nobodys() as folder:
        theirs = World(folder)
        theirs.memory.mkdir(parents=True)
        theirs.stamped(HOUR)
        theirs.memory.chmod(0o500)
        try:
            found = check(theirs, lambda w: None, "memory", "error", "cannot be read and written")
            assert found.fix == f"chmod u+rwx {theirs.memory}"
        finally:
            theirs.memory.chmod(0o700)


def test_a_memory_that_nobody_may_make(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", None)
    with nobodys() as folder:
        theirs = World(folder)
        theirs.workspace.mkdir(parents=True)
        theirs.workspace.chmod(0o500)
        try:
            check(theirs, lambda w: None, "memory", "error", "lets nobody make it")
        finally:
            theirs.workspace.chmod(0o700)


# --- what a memory knows


def recorded(command: str, ago: timedelta = HOUR) -> Arrange:
    def arrange(w: World) -> None:
        w.observed()
        with State.open(w.own) as state:
            state.record_run(RunRecord(command, NOW - ago, NOW - ago, "done", 0, 0, "Nothing new."))

    return arrange


def watching(w: World) -> None:
    recorded("watch")(w)
    lock = sole("watcher", w.own)
    lock.__enter__()
    w.undo.append(lambda: lock.__exit__(None, None, None))


def half_written(w: World) -> None:
    w.observed()
    with State.open(w.own) as state:
        state.stage(Pending("0" * 64, "1" * 64, (), ()))


def called(*calls: tuple[int, str]) -> Arrange:
    """(hours ago, outcome) of each."""

    def arrange(w: World) -> None:
        w.observed()
        with State.open(w.own) as state:
            for hours, outcome in calls:
                state.record_call(ModelCall(NOW - hours * HOUR, "observe", "m", outcome, 1.0))

    return arrange


def no_stores(w: World) -> None:
    shutil.rmtree(w.home / ".openclaw" / "agents", ignore_errors=True)


def not_a_database(w: World) -> None:
    w.host.database.write_text("no database " * 100)


def of_another_schema(w: World) -> None:
    with closing(sqlite3.connect(w.host.database)) as db:
        db.execute("CREATE TABLE transcript_events (other TEXT)")


def database(w: World) -> None:
    made = Database(w.host.database)
    made.db.execute("CREATE TABLE schema_meta (meta_key TEXT, schema_version INTEGER, app_version TEXT)")
    made.db.execute("INSERT INTO schema_meta VALUES ('primary', 23, '2026.9.6')")
    made.session()
    made.add(said("b", "Invoice 1041 is due on 18 December.", 9))
    made.close()


def database_ahead(w: World) -> None:
    made = Database(w.host.database)
    made.session()
    made.clock = round((NOW + 2 * HOUR).timestamp() * 1000)
    made.add(said("b", "Invoice 1041 is due on 18 December.", 9))
    made.close()


def transcripts(w: World) -> None:
    w.host.write(said("a", PLUMBER))
    w.aged()


def archives(w: World) -> None:
    transcripts(w)
    for number in range(3):
        (w.host.sessions / f"{number}.jsonl{DELETED}.0123456789abcdef.zst").touch()


def said_more(w: World) -> None:
    w.observed()
    append(w.host.transcript(), said("c", "Invoice 1041 is due on 18 December.", 9))
    w.aged()


def said_more_and_nobody_came(w: World) -> None:
    said_more(w)
    w.stamped(timedelta(hours=2))


SQLITE = "agents/main/agent/openclaw-agent.sqlite"
OF_STATE: list[tuple[str, Arrange, str, str, str]] = [
    ("files", transcripts, "store", "ok", "sessions (openclaw-files, agent main): 1 transcript, the newest entry of"),
    ("a database", database, "store", "ok", f"{SQLITE} (openclaw-sqlite, OpenClaw 2026.9.6, schema 23, agent main): 1"),
    ("its newest entry", database, "store", "ok", "1 transcript, the newest entry of 2026-11-30 07:00"),
    ("no store", no_stores, "store", "warning", SQLITE),
    ("a file that is no database", not_a_database, "store", "error", SQLITE),
    ("a database of another schema", of_another_schema, "store", "error", SQLITE),
    ("lag unknown", not_a_database, "messages", "note", "not known"),
    ("archives", archives, "store", "note", "and 2 more"),
    ("a clock that is behind", database_ahead, "clock", "warning", "yet to come"),
    ("all observed", fine, "messages", "ok", "all are observed"),
    ("new messages, and a run just now", said_more, "messages", "note", "1 new, 0 waiting"),
    ("new messages, and nobody came", said_more_and_nobody_came, "messages", "warning", "1 new, 0 waiting"),
    ("a write begun", half_written, "unfinished write", "warning", "observations.md"),
    ("a watcher", watching, "watching", "ok", "at work, started 2026-11-30 12:00"),
    ("a watcher that ended", recorded("watch"), "watching", "warning", "not at work"),
    ("never a watcher", fine, "watching", "note", "never run"),
    ("a hook that fired", recorded("recover"), "hook fired", "ok", "recover ran last on 2026-11-30 12:00"),
    ("never a hook", fine, "hook fired", "note", "no hook"),
    ("no calls", fine, "model calls", "ok", "no model was asked"),
    ("good calls", called((3, "gone"), (2, "ok")), "model calls", "ok", "m answered on 2026-11-30 11:00; m failed"),
    ("a failed call", called((2, "ok"), (1, "auth")), "model calls", "warning", "m failed on 2026-11-30 12:00 (auth)"),
    ("a busy model", called((2, "ok"), (1, "busy")), "model calls", "note", "(busy)"),
]


@pytest.mark.parametrize(
    ("arrange", "name", "level", "words"), [row[1:] for row in OF_STATE], ids=[row[0] for row in OF_STATE]
)
def test_what_a_memory_knows(world: World, arrange: Arrange, name: str, level: str, words: str) -> None:
    check(world, arrange, name, level, words)


def test_a_write_of_a_run_at_work_is_no_finding(world: World) -> None:
    half_written(world)
    with sole("observer", world.own):
        assert not world.found("unfinished write")


def test_what_waits_is_told_with_its_age(world: World) -> None:
    world.observed()
    append(world.host.transcript(), said("c", "Invoice 1041 is due on 18 December.", 9))
    with State.open(world.own) as state:
        config = world.config()
        (place,) = places.find(config, NOW)
        capture_alone(place, config, state, NOW, Problems(), Wanted())
    check(world, lambda w: None, "messages", "note", "0 new, 1 waiting, the oldest since 2026-11-30 07:09")


def test_a_store_that_the_settings_name_and_is_not_there(world: World) -> None:
    world.env = {"SESSIONS_DIR": str(world.home / "nowhere" / "sessions")}
    result = world.examined()
    (found,) = [f for f in result.findings if f.level == "error" and f.name == "store"]
    assert "nowhere" in found.said


def test_an_agent_that_there_is_not(world: World) -> None:
    world.agent = "nobody"
    assert any("nobody" in f.said and f.level == "error" for f in world.examined().findings)


def test_each_memory_is_looked_at_and_agent_narrows(world: World) -> None:
    other = world.home / "other"
    other.mkdir()
    world.configure(json.dumps({"agents": {"list": [{"id": "main"}, {"id": "b", "workspace": str(other)}]}}))
    assert len(world.found("document")) == 2
    world.agent = "b"
    (only,) = world.found("document")
    assert str(other) in only.said


# --- bounded


def fill(own: Path, count: int) -> None:
    """A state with many messages."""
    with State.open(own) as state:
        state.set_meta("first_run_done", NOW.isoformat())
    with closing(sqlite3.connect(own / "state.sqlite")) as db:
        db.execute("INSERT OR IGNORE INTO session (id, class) VALUES ('s', 'main')")
        session = db.execute("SELECT num FROM session WHERE id = 's'").fetchone()[0]
        rows = ((session, f"e{n}", n, n, "x" * 400) for n in range(count))
        db.executemany(
            "INSERT INTO message (session, entry_id, digest, at, role, source, owner, text, status) "
            "VALUES (?, ?, ?, ?, 'user', 'openclaw-files', 1, ?, 'observed')",
            rows,
        )
        db.commit()


def test_a_large_state_is_read_where_it_lies_in_bounded_time(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    said_more(world)
    fill(world.own, 150_000)

    def blow_up(*_: object) -> None:
        raise AssertionError("a large state was copied")

    monkeypatch.setattr(State, "open_copy", blow_up)
    begun = time.monotonic()
    result = world.examined()
    assert time.monotonic() - begun < 10
    assert not result.failed
    assert any(f.name == "messages" and "at most 1 new" in f.said for f in result.findings)
    assert (world.own / "state.sqlite").stat().st_size > doctor_databases.COPIED_BYTES


@pytest.mark.parametrize(
    ("version", "level", "words"), [(-1, "note", "older format"), (0, "ok", ""), (1, "error", "newer Total Recall")]
)
def test_a_large_state_of_another_version(
    world: World, monkeypatch: pytest.MonkeyPatch, version: int, level: str, words: str
) -> None:
    world.observed()
    with closing(sqlite3.connect(world.own / "state.sqlite")) as db:
        db.execute(f"PRAGMA user_version = {len(MIGRATIONS) + version}")
    monkeypatch.setattr(doctor_databases, "COPIED_BYTES", 0)
    found = world.found("state")
    assert [(f.level, words in f.said) for f in found] == ([] if level == "ok" else [(level, True)])


def test_a_database_too_large_or_too_slow_to_look_through_is_said_to_be(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.observed()
    monkeypatch.setattr(doctor_databases, "CHECKED_BYTES", 0)
    check(world, lambda w: None, "database", "note", "too large")
    monkeypatch.undo()
    fill(world.own, 1000)
    monkeypatch.setattr(doctor_databases, "CHECK_SECONDS", -1.0)
    monkeypatch.setattr(doctor_databases, "_STEPS_BETWEEN_LOOKS", 1)
    assert str(doctor_databases.damage(world.own / "state.sqlite")).startswith("unread: not read to its end")


def test_years_of_sessions_are_not_counted_to_their_end(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(5):
        name = f"0a0c0de0-0000-4000-8000-00000000000{number}"
        world.host.write(said(f"a{number}", PLUMBER, number), session_id=name)
    world.aged()
    monkeypatch.setattr(doctor_memory, "LOOK_SECONDS", -1.0)
    check(world, lambda w: w.stamped(HOUR / 2), "messages", "note", "more than 0 new")


def test_a_state_that_is_written_meanwhile_is_not_called_damaged(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.observed()

    def written_meanwhile(path: Path) -> str:
        with State.open(world.own) as state:
            state.set_meta("key", "value")
            state.set_meta("key", "other")
        return "row 1 missing from index"

    monkeypatch.setattr(doctor_databases, "_quick_check", written_meanwhile)
    check(world, lambda w: None, "database", "note", "in use just now")


# --- words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 seconds"),
        (59, "59 seconds"),
        (60, "1 minute"),
        (7199, "119 minutes"),
        (7200, "2 hours"),
        (172_799, "47 hours"),
        (172_800, "2 days"),
    ],
)
def test_ages(seconds: int, words: str) -> None:
    assert doctor_findings.age(timedelta(seconds=seconds)) == words


def test_a_fix_can_be_typed_as_it_stands(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = tmp_path / "my skills"
    folder.mkdir()
    monkeypatch.setattr(doctor_findings, "PROGRAM", folder)
    assert doctor_findings.command("setup") == "total-recall setup"
    (folder / "total-recall").touch()
    assert doctor_findings.command("setup") == f"sh '{folder}/total-recall' setup"
