"""The command line: exit codes, one line for what went wrong, JSON for programs."""

from __future__ import annotations

import errno
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
from datetime import date, datetime, timedelta, timezone
from pathlib import Path

import pytest

from builders import IMPORT_ROOTS
from total_recall import cli, clock
from total_recall.commands import context, observe, recall, status
from total_recall.errors import ADVICE


def test_nothing_to_do_is_0_and_says_where_it_looked(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["observe"]) == 0
    assert str(home / ".openclaw" / "agents") in capsys.readouterr().out


def test_an_expected_failure_is_1_and_one_line(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OBSERVER_LINE_THRESHOLD", "many")
    assert cli.main(["observe"]) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert all(word in said for word in ("OBSERVER_LINE_THRESHOLD", "'many'", "environment", "from 1 to"))


def test_an_expected_failure_as_json(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SESSIONS_DIR", str(home / "nowhere"))
    assert cli.main(["observe", "--json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert (answer["version"], answer["command"], answer["ok"]) == (1, "observe", False)
    assert "nowhere" in answer["error"]


@pytest.mark.parametrize("command", ["observe", "status", "context", "reflect"])
def test_each_command_answers_in_versioned_json(command: str, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([command, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["version"], answer["command"], answer["ok"]) == (1, command, True)


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["remember"],
        ["observe", "--since", "soon"],
        ["observe", "--all", "--since", "1d"],
        ["observe", "--max-batches", "0"],
    ],
)
def test_wrong_usage_is_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(arguments)
    assert ended.value.code == 2
    assert "usage:" in capsys.readouterr().err


def test_a_bug_is_3_and_its_details_are_in_a_file(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(**_: object) -> None:
        raise ZeroDivisionError("of ours")

    monkeypatch.setattr(status, "run", broken)
    assert cli.main(["status"]) == 3
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    path = Path(said.rsplit(" ", 1)[1].strip())
    assert "ZeroDivisionError: of ours" in path.read_text()
    path.unlink()


def test_a_bug_whose_details_have_no_place_is_still_one_line(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(**_: object) -> None:
        raise FileNotFoundError(errno.ENOENT, "No usable temporary directory found")

    def broken(**_: object) -> None:
        raise ZeroDivisionError("of ours")

    monkeypatch.setattr(status, "run", broken)
    monkeypatch.setattr(tempfile, "mkstemp", full)
    assert cli.main(["status"]) == 3
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "could not be written" in said


@pytest.mark.parametrize("number", sorted(ADVICE))
def test_what_the_computer_refuses_is_1_and_says_what_to_do(
    number: int, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(**_: object) -> None:
        raise OSError(number, os.strerror(number), "/a/file")

    monkeypatch.setattr(status, "run", refused)
    assert cli.main(["status"]) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert all(part in said for part in ("/a/file", os.strerror(number), ADVICE[number]))


@pytest.mark.parametrize(("said", "code"), [("locking protocol", 1), ("disk I/O error", 1), ("no such table: x", 3)])
def test_a_disk_that_fails_under_a_database_is_1(
    said: str, code: int, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(**_: object) -> None:
        raise sqlite3.OperationalError(said)

    monkeypatch.setattr(status, "run", refused)
    assert cli.main(["status"]) == code
    assert said in capsys.readouterr().err


def test_what_else_the_system_refuses_is_a_bug(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(**_: object) -> None:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))

    monkeypatch.setattr(status, "run", refused)
    assert cli.main(["status"]) == 3


def test_since_and_until_are_in_the_zone_of_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not in the computer's: what is "yesterday" depends on it."""
    monkeypatch.setenv("TOTAL_RECALL_TZ", "Asia/Seoul")
    monkeypatch.setattr(clock, "now", lambda: datetime(2026, 11, 30, 16, tzinfo=timezone.utc))
    asked: list[recall.Options] = []

    def run(options: recall.Options, *_: object) -> recall.Result:
        asked.append(options)
        return recall.Result(Path(), date(2026, 12, 1))

    monkeypatch.setattr(recall, "run", run)
    assert cli.main(["recall", "tax", "--since", "yesterday", "--until", "어제"]) == 0
    assert asked[0].since == datetime(2026, 11, 29, 15, tzinfo=timezone.utc)
    assert asked[0].until == datetime(2026, 11, 30, 15, tzinfo=timezone.utc) - timedelta(microseconds=1)


def test_observe_takes_since_in_the_zone_of_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOTAL_RECALL_TZ", "Asia/Seoul")
    asked: list[observe.Options] = []

    def run(options: observe.Options, *_: object) -> observe.Result:
        asked.append(options)
        return observe.Result((), (), False)

    monkeypatch.setattr(observe, "run", run)
    assert cli.main(["observe", "--since", "2026-11-28"]) == 0
    assert cli.main(["observe"]) == 0
    assert [o.since for o in asked] == [datetime(2026, 11, 27, 15, tzinfo=timezone.utc), None]


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("observe", ("observations.md", "24 hours", "--since", "--all", "--session", "--max-batches", "--dry-run")),
        ("reflect", ("REFLECTOR_WORD_THRESHOLD", "memory/archive/", "--force", "--dry-run")),
        ("dream", ("memory/archive/", "DREAM_TOKEN_TARGET", "READ_ONLY_MODE", "undo dream", "--dry-run", "--agent")),
        ("undo", ("reflection", "reflect", "dream", "DATE")),
        ("context", ("rules and preferences", "--budget-tokens", str(context.BUDGET_TOKENS))),
        ("why", ("messages", "OBS-", "--agent")),
        ("pin", ("never archived", "comes back", "--agent")),
        ("unpin", ("ages", "--agent")),
        ("forget", ("backups", "asks", "--session", "--since", "--until", "--keep-backups", "--yes", "--dry-run")),
        ("status", ("change nothing", "--cost")),
        ("recover", ("/new", "four hours", "--trigger", "--agent")),
        ("flush", ("bounded time", "--seconds", "--trigger")),
        ("watch", ("OBSERVER_LINE_THRESHOLD", "OBSERVER_COOLDOWN_SECS", "SIGTERM")),
        ("demo", ("scratch workspace", "offline")),
        ("staging", ("memory/dream-staging/", "approve NAME --apply", "list", "modify", "reject")),
        ("log", ("--since", "--on", "--failed", "--grep", "--tail", "errors", "session", "summary", "TOTAL_RECALL_TZ")),
    ],
)
def test_help_says_what_a_command_does(
    command: str, words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main([command, "--help"])
    assert ended.value.code == 0
    # argparse breaks lines where the terminal ends.
    said = " ".join(capsys.readouterr().out.split())
    assert [word for word in (*words, "--json") if word not in said] == []


def test_help_tells_every_command_and_the_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["--help"])
    said = capsys.readouterr().out
    assert all(command in said for command in ("observe", *cli.COMMANDS))
    assert "Exit codes: 0" in said


def test_an_agent_that_does_not_exist_is_1_and_the_others_are_named(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["observe", "--agent", "nobody"]) == 1
    said = capsys.readouterr().err
    assert "'nobody'" in said and "main" in said and said.count("\n") == 1


def test_ctrl_c_is_130_and_one_line(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(**_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(status, "run", interrupted)
    assert cli.main(["status"]) == 130
    assert capsys.readouterr().err.count("\n") == 1


def test_a_reader_that_has_seen_enough_is_no_error(home: Path) -> None:
    """`total-recall status | head -0`: in a process of its own, since standard output is closed."""
    read, write = os.pipe()
    os.close(read)
    script = "import sys; from total_recall import cli; sys.exit(cli.main(['status']))"
    try:
        ended = subprocess.run(
            [sys.executable, "-c", script],
            stdout=write,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(IMPORT_ROOTS)},
            timeout=60,
        )
    finally:
        os.close(write)
    assert (ended.returncode, ended.stderr) == (0, b"")
