"""Units of systemd: their text, and what systemd itself thinks of it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from computer import Computer
from total_recall.commands.installation import JOBS, WATCH
from total_recall.host import systemd
from total_recall.host.jobs import Call, Job

CALL = Call(Path("/a b/100%/$x/q\"q/집/total-recall"), (("MEMORY_DIR", "/m m/50%"), ("TZ", "Asia/Seoul")))


@pytest.mark.parametrize(
    ("job", "calendar"),
    [
        (Job("observe", ("observe",), (0, 15, 30, 45)), "*-*-* *:00/15:00"),
        (Job("reflect", ("reflect",), (7,)), "*-*-* *:07:00"),
        (Job("dream", ("dream",), (17,), 3), "*-*-* 03:17:00"),
        (Job("twice", ("x",), (5, 55), 23), "*-*-* 23:05,55:00"),
    ],
)
def test_when_a_timer_fires(job: Job, calendar: str) -> None:
    text = systemd.units([job], CALL)[systemd.timer(job)]
    assert f"\nOnCalendar={calendar}\n" in text
    # What was missed while the computer slept is made up for.
    assert "\nPersistent=true\n" in text


def test_the_launcher_is_started_by_name_of_the_shell_and_quoted() -> None:
    text = systemd.watcher(CALL, WATCH)
    assert '\nExecStart=/bin/sh "/a b/100%%/$$x/q\\"q/집/total-recall" watch\n' in text
    assert '\nEnvironment="MEMORY_DIR=/m m/50%%"\nEnvironment="TZ=Asia/Seoul"\n' in text
    for setting in ("Type=notify", "WatchdogSec=180", "Restart=on-failure"):
        assert f"\n{setting}\n" in text


def test_each_unit_says_whose_it_is() -> None:
    texts = [*systemd.units(JOBS, CALL).values(), systemd.watcher(CALL, WATCH)]
    assert all(text.encode().startswith(systemd.MADE) for text in texts)


def test_systemd_finds_nothing_wrong(tmp_path: Path) -> None:
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("systemd-analyze is not installed")
    folder = tmp_path / "a b 100% $x 집"
    folder.mkdir()
    launcher = folder / "total-recall"
    launcher.touch()
    call = Call(launcher, (("MEMORY_DIR", str(folder)),))
    units = {**systemd.units(JOBS, call), systemd.WATCHER: systemd.watcher(call, WATCH)}
    for name, text in units.items():
        (tmp_path / name).write_text(text, "utf-8")
    runtime = tmp_path / "run"
    runtime.mkdir()
    done = subprocess.run(
        [analyze, "--user", "verify", *(str(tmp_path / name) for name in units)],
        env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "XDG_RUNTIME_DIR": str(runtime), "LC_ALL": "C.UTF-8"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    complaints = [line for line in done.stderr.split("\n") if "total-recall" in line]
    assert (done.returncode, complaints) == (0, [])


def test_calendars_are_what_systemd_understands(tmp_path: Path) -> None:
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("systemd-analyze is not installed")
    texts = systemd.units(JOBS, CALL).values()
    calendars = [line.split("=", 1)[1] for text in texts for line in text.split("\n") if line.startswith("OnCalendar=")]
    done = subprocess.run([analyze, "calendar", *calendars], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert len(calendars) == len(JOBS)


def test_what_is_on_and_whether_anybody_listens(tmp_path: Path) -> None:
    computer = Computer.made(tmp_path, "systemctl")
    program = str(computer.bin / "systemctl")
    assert systemd.answers(program)
    (computer.state / "on-a.timer").touch()
    assert systemd.enabled(program, ["a.timer", "b.timer"]) == ("a.timer",)
    assert systemd.active(program, ["a.timer", "b.timer"]) == ("a.timer",)
    computer.behave("no-manager")
    assert not systemd.answers(program)
