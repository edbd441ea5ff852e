"""The list of parts, as `doctor` reads it."""

from __future__ import annotations

import pwd
from pathlib import Path

import pytest

from computer import COMMANDS, Computer
from total_recall.commands.installation import Wanted, variables
from total_recall.commands.parts import PARTS, survey
from total_recall.host import openclaw_cli


def test_a_survey_has_every_part_in_order_and_changes_nothing(tmp_path: Path) -> None:
    computer = Computer.made(tmp_path, "crontab", "systemctl", "openclaw")
    before = computer.snapshot()
    parts = survey(computer.configured(), Wanted(COMMANDS))
    assert [part.name for part in parts] == [name for name, _ in PARTS]
    assert {part.name: part.state for part in parts} == {
        "folders": "absent",
        "settings": "absent",
        "bash original": "not wanted",
        "schedule": "absent",
        "watcher": "absent",
        "hook": "absent",
        "hook switch": "absent",
        "AGENTS.md": "not wanted",
        "Claude Code": "not wanted",
    }
    assert computer.snapshot() == before and not (computer.workspace / "memory").exists()
    assert computer.changes() == []


def test_a_part_that_cannot_be_looked_at_does_not_hide_the_others(tmp_path: Path) -> None:
    computer = Computer.made(tmp_path, "openclaw")
    computer.set_up(scheduler="openclaw")
    computer.behave("no-gateway")
    parts = computer.survey()
    assert parts["schedule"].state == "impossible" and "start the Gateway" in parts["schedule"].detail
    assert parts["hook"].state == parts["hook switch"].state == "present"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"enabled": true', '"enabled": false'),
        ("observe", "observe --all"),
        ("900000", "60000"),
        ('"name": "total-recall-observe"', '"name": "total-recall-other"'),
    ],
)
def test_a_job_that_was_switched_off_or_edited_in_openclaw_is_drift(old: str, new: str, tmp_path: Path) -> None:
    computer = Computer.made(tmp_path, "openclaw")
    computer.set_up()
    jobs = computer.state / "jobs.json"
    text = jobs.read_text("utf-8").replace("id-0-total-recall-observe", "id-0")
    assert old in text
    jobs.write_text(text.replace(old, new), "utf-8")
    assert computer.survey()["schedule"].state == "drifted"
    computer.set_up()
    names = sorted(job.name for job in openclaw_cli.jobs(str(computer.bin / "openclaw")))
    assert names == ["total-recall-observe", "total-recall-reflect"]


def test_details_say_when_each_command_runs(tmp_path: Path) -> None:
    computer = Computer.made(tmp_path, "crontab")
    wanted = Wanted(("observe", "reflect", "dream", "log"))
    part = next(part for part in survey(computer.configured(), wanted) if part.name == "schedule")
    assert part.detail == "observe every 15 minutes, reflect hourly, dream at 03:17, log summary at 23:55"


def test_a_user_whom_the_system_does_not_know_by_name_is_served_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a container that runs under a number."""

    def unknown(uid: int) -> pwd.struct_passwd:
        raise KeyError(f"getpwuid(): uid not found: {uid}")

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    computer = Computer.made(tmp_path, "crontab")
    assert computer.survey()["schedule"].state == "absent"
    assert dict(variables(computer.configured()))["HOME"] == str(computer.configured().locations.home)
