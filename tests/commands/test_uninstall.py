"""uninstall: everything is byte for byte as before setup; what somebody changed since stays; the memory stays."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from computer import COMMANDS, Computer
from total_recall.commands.installation import Scheduler
from total_recall.errors import StoreError, TotalRecallError
from total_recall.host import systemd

EVERYTHING = ("crontab", "systemctl", "openclaw")
MINE = b"# mine\n17 4 * * * true # 100\\% mine\n"
ORIGINAL = b"*/15 * * * * bash ~/skills/total-recall/scripts/observer-agent.sh\n"
UNIT = b"[Service]\nExecStart=/home/me/skills/total-recall/scripts/observer-watcher.sh\n"


def before_setup(computer: Computer) -> None:
    """What a person has: lines, a configuration in a form of its own, rules for the agent without a last line end."""
    computer.crontab = MINE
    computer.write_config('{ "gateway": {"port": 1.50},\n\n"z": ["집"]}')
    computer.agents_md.write_bytes(b"# Agents\n\nBe kind.")


@pytest.mark.parametrize("scheduler", ["crontab", "systemd", "openclaw", "none"])
@pytest.mark.parametrize("programs", [EVERYTHING, ("crontab",)])
def test_everything_is_byte_for_byte_as_before(
    programs: tuple[str, ...], scheduler: Scheduler, tmp_path: Path
) -> None:
    computer = Computer.made(tmp_path, *programs)
    before_setup(computer)
    before, folders = computer.snapshot(), computer.folders()
    computer.set_up(scheduler=scheduler, agents_md=True)
    assert computer.snapshot() != before
    result = computer.uninstall()
    assert not result.failures and result.done
    assert computer.snapshot() == before
    assert computer.folders() == folders
    assert not computer.record.exists() and not (computer.record.parent / "setup").exists()
    assert not list(computer.state.glob("on-*"))
    assert computer.uninstall().lines() == ["Nothing was set up; there is nothing to take out."]


@pytest.mark.parametrize(
    "crontab", [None, b"", MINE, MINE.rstrip(b"\n"), b"a\r\n", MINE + ORIGINAL + b"# after\n", b"\n\n\n"]
)
def test_the_crontab_is_as_it_was_also_when_there_was_none(crontab: bytes | None, tmp_path: Path) -> None:
    computer = Computer.made(tmp_path, "crontab")
    if crontab is not None:
        computer.crontab = crontab
    computer.set_up()
    assert computer.crontab != crontab
    computer.uninstall()
    assert computer.crontab == crontab


def test_the_original_is_there_again_and_runs(tmp_path: Path) -> None:
    computer = Computer.made(tmp_path, *EVERYTHING)
    computer.crontab = ORIGINAL + MINE
    computer.units.mkdir(parents=True)
    (computer.units / systemd.WATCHER).write_bytes(UNIT)
    shutil.copyfile(computer.units / systemd.WATCHER, computer.state / f"on-{systemd.WATCHER}")
    computer.set_up()
    computer.uninstall()
    assert computer.crontab == ORIGINAL + MINE
    assert (computer.units / systemd.WATCHER).read_bytes() == UNIT
    assert (computer.state / f"on-{systemd.WATCHER}").read_bytes() == UNIT


def test_an_original_s_unit_that_was_off_stays_off(tmp_path: Path) -> None:
    computer = Computer.made(tmp_path, *EVERYTHING)
    computer.units.mkdir(parents=True)
    (computer.units / systemd.WATCHER).write_bytes(UNIT)
    computer.set_up()
    computer.uninstall()
    assert (computer.units / systemd.WATCHER).read_bytes() == UNIT
    assert not (computer.state / f"on-{systemd.WATCHER}").exists()


def edit_crontab(computer: Computer) -> None:
    computer.crontab = b"# first\n" + (computer.crontab or b"") + b"0 5 * * * new\n"


def edit_agents(computer: Computer) -> None:
    computer.agents_md.write_bytes(b"# New\n" + computer.agents_md.read_bytes() + b"\nBe brief.\n")


def edit_config(computer: Computer) -> None:
    value = json.loads(computer.config.read_text("utf-8"))
    value["gateway"] = {"port": 2}
    computer.write_config(value)


def edit_settings(computer: Computer) -> None:
    (computer.workspace / ".env").write_bytes((computer.workspace / ".env").read_bytes() + b"LLM_MODEL=mine\n")


EDITS: dict[str, tuple[Callable[[Computer], None], Callable[[Computer], object], object]] = {
    "crontab": (edit_crontab, lambda c: c.crontab, b"# first\n" + MINE + b"0 5 * * * new\n"),
    "AGENTS.md": (
        edit_agents,
        lambda c: c.agents_md.read_bytes(),
        b"# New\n# Agents\n\nBe kind.\n\nBe brief.\n",
    ),
    "openclaw.json": (
        edit_config,
        lambda c: json.loads(c.config.read_text("utf-8")),
        {"gateway": {"port": 2}, "z": ["집"]},
    ),
    "settings": (
        edit_settings,
        lambda c: (c.workspace / ".env").read_bytes().endswith(b"\nLLM_MODEL=mine\n"),
        True,
    ),
}


@pytest.mark.parametrize("what", EDITS)
def test_what_a_person_changed_since_stays(what: str, tmp_path: Path) -> None:
    """Only our part goes; everything else is as before."""
    computer = Computer.made(tmp_path, "crontab")
    before_setup(computer)
    before = computer.snapshot()
    computer.set_up(agents_md=True)
    edit, seen, expected = EDITS[what]
    edit(computer)
    assert not computer.uninstall().failures
    assert seen(computer) == expected
    changed = {
        "crontab": "crontab",
        "AGENTS.md": str(computer.agents_md),
        "openclaw.json": str(computer.config),
        "settings": str(computer.workspace / ".env"),
    }[what]
    assert {k: v for k, v in computer.snapshot().items() if k != changed} == {
        k: v for k, v in before.items() if k != changed
    }


@pytest.mark.parametrize("what", ["crontab", "AGENTS.md", "openclaw.json"])
def test_a_change_before_a_second_setup_is_not_taken_for_ours(what: str, tmp_path: Path) -> None:
    """Setup mends; what it then takes for the state before is what the person made of it."""
    computer = Computer.made(tmp_path, "crontab")
    before_setup(computer)
    computer.set_up(agents_md=True)
    edit, seen, expected = EDITS[what]
    edit(computer)
    computer.crontab = (computer.crontab or b"").replace(b"*/15 ", b"*/20 ")
    computer.agents_md.write_bytes(computer.agents_md.read_bytes().replace(b"background", b"foreground"))
    value = json.loads(computer.config.read_text("utf-8"))
    value["hooks"]["internal"]["entries"]["total-recall"]["enabled"] = False
    computer.write_config(value)
    assert set(computer.set_up().changed) == {"schedule", "hook switch", "AGENTS.md"}
    computer.uninstall()
    assert seen(computer) == expected


def test_a_crontab_of_the_original_that_was_edited_since_gets_the_original_s_lines_again(tmp_path: Path) -> None:
    computer = Computer.made(tmp_path, "crontab")
    computer.crontab = ORIGINAL + MINE
    computer.set_up()
    computer.crontab = (computer.crontab or b"") + b"0 5 * * * new\n"
    computer.uninstall()
    assert computer.crontab == MINE + b"0 5 * * * new\n" + ORIGINAL


def test_our_own_file_that_somebody_edited_goes_and_a_copy_is_kept(tmp_path: Path) -> None:
    computer = Computer.made(tmp_path, "systemctl")
    computer.set_up()
    unit = computer.units / "total-recall-observe.timer"
    edited = unit.read_bytes().replace(b"00/15", b"00/05")
    unit.write_bytes(edited)
    result = computer.uninstall()
    assert not unit.exists()
    assert (computer.record.parent / "removed" / unit.name).read_bytes() == edited
    assert any("a copy is in" in line for line in result.done)


def test_what_a_person_removed_stays_away(tmp_path: Path) -> None:
    computer = Computer.made(tmp_path, "crontab", "systemctl")
    before_setup(computer)
    computer.set_up(scheduler="crontab", agents_md=True)
    computer.agents_md.unlink()
    (computer.state / "crontab").unlink()
    shutil.rmtree(computer.hook)
    shutil.rmtree(computer.units)
    assert not computer.uninstall().failures
    assert computer.crontab is None and not computer.agents_md.exists()
    assert not computer.hook.exists() and not computer.units.exists()


def test_without_a_record_ours_is_known_by_its_looks(tmp_path: Path) -> None:
    computer = Computer.made(tmp_path, "crontab", "systemctl")
    before_setup(computer)
    computer.set_up(scheduler="crontab", agents_md=True)
    shutil.rmtree(computer.record.parent)
    assert not computer.uninstall().failures
    assert computer.crontab == MINE
    assert computer.agents_md.read_bytes() == b"# Agents\n\nBe kind.\n"
    assert "total-recall" not in computer.config.read_text("utf-8")
    assert not computer.hook.joinpath("handler.js").exists() and not list(computer.units.glob("*"))


def test_the_memory_the_logs_and_a_person_s_settings_stay_and_are_named(tmp_path: Path) -> None:
    computer = Computer.made(tmp_path, "crontab")
    env = computer.workspace / ".env"
    env.write_text("LLM_MODEL=mine\n", "utf-8")
    computer.set_up()
    document = computer.workspace / "memory" / "observations.md"
    document.write_text("# Observations Log\n", "utf-8")
    said = "\n".join(computer.uninstall().lines())
    assert document.read_text("utf-8") == "# Observations Log\n"
    assert env.read_text("utf-8") == "LLM_MODEL=mine\n"
    data = computer.home / ".local" / "share" / "total-recall"
    for path in (document.parent, computer.workspace / "logs", env, data):
        assert str(path) in said
    assert "rm -r " in said


def test_a_part_that_fails_is_told_and_can_be_tried_again(tmp_path: Path) -> None:
    computer = Computer.made(tmp_path, "crontab", "openclaw")
    before_setup(computer)
    before = computer.snapshot()
    computer.set_up(scheduler="openclaw")
    computer.behave("no-gateway")
    result = computer.uninstall()
    assert result.failures == (
        "the jobs in openclaw cron: openclaw cron list: gateway closed (1006); start the Gateway and run this again",
    )
    assert computer.snapshot() == before
    (computer.state / "no-gateway").unlink()
    assert not computer.uninstall().failures
    assert json.loads((computer.state / "jobs.json").read_text()) == []
    assert not computer.record.exists()


def test_a_configuration_that_has_become_json5_is_not_touched(tmp_path: Path) -> None:
    computer = Computer.made(tmp_path, "crontab")
    before_setup(computer)
    computer.set_up()
    text = computer.write_config("// mine\n" + computer.config.read_text("utf-8"))
    (failure,) = computer.uninstall().failures
    assert 'take "total-recall" out of hooks.internal.entries by hand' in failure
    assert computer.config.read_bytes() == text
    assert computer.crontab == MINE
    computer.write_config("// mine\n{}")
    assert not computer.uninstall().failures and not computer.record.exists()


def test_a_dry_run_and_a_no_change_nothing(tmp_path: Path) -> None:
    computer = Computer.made(tmp_path, *EVERYTHING)
    before_setup(computer)
    computer.set_up()
    before = computer.snapshot()
    computer.forget_calls()
    shown = computer.uninstall(dry_run=True)
    assert "the timers and services of systemd" in shown.plan and str(computer.config) in shown.plan
    assert shown.lines()[-1] == "Nothing was changed (--dry-run)."
    asked = computer.uninstall(yes=False)
    assert asked.failed and asked.failures[0].endswith("add --yes to agree")
    with pytest.raises(TotalRecallError, match="nothing was changed"):
        computer.uninstall(yes=False, ask=lambda _plan: False)
    assert computer.snapshot() == before and computer.changes() == []
    assert computer.uninstall(yes=False, ask=lambda _plan: True).done


def test_on_a_computer_without_anything_of_ours_nothing_is_made(tmp_path: Path) -> None:
    computer = Computer.made(tmp_path, *EVERYTHING)
    before = computer.snapshot()
    assert computer.uninstall().lines() == ["Nothing was set up; there is nothing to take out."]
    assert computer.snapshot() == before and not (computer.workspace / "memory").exists()


@pytest.mark.parametrize("damage", [b"{", b"[]", b'{"changes": 3}'])
def test_a_damaged_record_stops_both_before_they_do_harm(damage: bytes, tmp_path: Path) -> None:
    computer = Computer.made(tmp_path, "crontab")
    before_setup(computer)
    computer.set_up()
    computer.record.write_bytes(damage)
    before = computer.snapshot()
    for command in (computer.uninstall, computer.set_up):
        with pytest.raises(StoreError, match=r"setup\.json, the record of what setup changed, cannot be read"):
            command()
    assert computer.snapshot() == before


def test_the_record_is_for_the_owner_alone(tmp_path: Path) -> None:
    """openclaw.json has tokens in it."""
    computer = Computer.made(tmp_path, "crontab")
    before_setup(computer)
    computer.set_up()
    files = [computer.record, *(computer.record.parent / "setup").iterdir()]
    assert len(files) > 1
    assert all(path.stat().st_mode & 0o077 == 0 for path in files)


def test_a_setup_that_was_cut_short_can_be_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed at any change: the record was written first."""
    from total_recall.commands import setup_record

    class Killed(BaseException):
        pass

    for deadline in range(12):
        computer = Computer.made(tmp_path / str(deadline), *EVERYTHING)
        before_setup(computer)
        before = computer.snapshot()
        left = [deadline]
        change = setup_record.change

        def dying(*arguments: Any, left: list[int] = left, change: Callable[..., None] = change) -> None:
            if left[0] == 0:
                raise Killed
            left[0] -= 1
            change(*arguments)

        with monkeypatch.context() as patch:
            patch.setattr(setup_record, "change", dying)
            try:
                computer.set_up(scheduler="crontab", agents_md=True, commands=COMMANDS)
            except Killed:
                assert left == [0]
        assert not computer.uninstall().failures
        assert computer.snapshot() == before
