"""The text of a crontab: what our lines are, how the original's are known, what happens to the others."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from computer import Computer
from total_recall.errors import TotalRecallError
from total_recall.host import crontab
from total_recall.host.jobs import Call, Job

OBSERVE = Job("observe", ("observe",), minutes=(0, 15, 30, 45))
DREAM = Job("dream", ("dream",), minutes=(17,), hour=3)
SUMMARY = Job("summary", ("log", "summary"), minutes=(5, 55), hour=23)
CALL = Call(Path("/s/total-recall"))
MINE = b"# mine\nMAILTO=me\n\n17 4 * * * true # 100\\% mine\r\n"
ORIGINAL = b"*/15 * * * * bash /home/me/skills/total-recall/scripts/observer-agent.sh >> /tmp/o.log 2>&1"


def test_a_line_for_each_job() -> None:
    assert crontab.lines([OBSERVE, DREAM, SUMMARY], CALL) == (
        b'*/15 * * * * /bin/sh "/s/total-recall" observe >/dev/null 2>&1',
        b'17 3 * * * /bin/sh "/s/total-recall" dream >/dev/null 2>&1',
        b'5,55 23 * * * /bin/sh "/s/total-recall" log summary >/dev/null 2>&1',
    )


@pytest.mark.parametrize("name", ["a b", "집", "100%", "$HOME", "`x`", 'q"q', "back\\slash", "it's", "a\\%b"])
def test_cron_and_the_shell_see_the_path_as_it_is(name: str, tmp_path: Path) -> None:
    """cron takes the backslash before a percent sign away, as cron.c of Vixie's cron and its children does."""
    folder = tmp_path / name
    folder.mkdir()
    launcher = folder / "total-recall"
    launcher.write_text('printf "%s|" "$1" "$MEMORY_DIR" "$0"', "utf-8")
    (line,) = crontab.lines([OBSERVE], Call(launcher, (("MEMORY_DIR", str(folder)),)))
    command = line.decode().split(" ", 5)[5].removesuffix(" >/dev/null 2>&1").replace("\\%", "%")
    ran = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, check=True)
    assert ran.stdout == f"observe|{folder}|{launcher}|"
    assert crontab.MARKERS.is_ours(line)


def test_variables_are_set_for_the_line_alone() -> None:
    """A line `NAME=value` in a crontab would be for everything below it, the person's own lines too."""
    (line,) = crontab.lines([OBSERVE], Call(Path("/s/total-recall"), (("MEMORY_DIR", "/m m"),)))
    assert line == b'*/15 * * * * /usr/bin/env MEMORY_DIR="/m m" /bin/sh "/s/total-recall" observe >/dev/null 2>&1'


@pytest.mark.parametrize("text", [b"", MINE, MINE.rstrip(b"\r\n"), b"\n\n", b"#\xff\n"])
def test_other_lines_stay_byte_for_byte(text: bytes) -> None:
    made = crontab.with_jobs(text, crontab.lines([OBSERVE], CALL))
    assert made.startswith(text)
    assert crontab.without_jobs(made) in (text, text + b"\n")
    assert crontab.has_jobs(made) and not crontab.has_jobs(text)


@pytest.mark.parametrize(
    ("line", "is_original"),
    [
        (ORIGINAL, True),
        (b"0 * * * * cd ~/total-recall && bash scripts/reflector-agent.sh", True),
        (b"@reboot /home/a b/skills/total-recall/scripts/observer-watcher.sh", True),
        (b"0 3 * * * OPENCLAW_WORKSPACE=/w bash ~/total-recall/scripts/dream-cycle.sh preflight", True),
        (b"  5 5 * * * /x/total-recall/scripts/session-recovery.sh", True),
        (b"# " + ORIGINAL, False),
        (b"0 * * * * /other/observer-agent.sh", False),
        (b"0 * * * * /total-recall/scripts/my-observer-agent.sh.bak", False),
        (crontab.lines([OBSERVE], CALL)[0], False),
        (b"0 1 * * * tar c ~/total-recall", False),
    ],
)
def test_the_lines_of_the_bash_original(line: bytes, is_original: bool) -> None:
    text = b"# a\n" + line + b"\nlast"
    assert crontab.originals(text) == ((line,) if is_original else ())
    assert crontab.without_originals(text) == (b"# a\nlast" if is_original else text)


def test_no_crontab_is_not_an_error_and_a_broken_one_is(tmp_path: Path) -> None:
    computer = Computer.made(tmp_path, "crontab")
    program = str(computer.bin / "crontab")
    assert crontab.read(program) is None
    crontab.write(program, b"a\n")
    assert crontab.read(program) == b"a\n"
    crontab.write(program, None)
    assert crontab.read(program) is None
    computer.behave("refuses")
    with pytest.raises(TotalRecallError, match="you are not allowed"):
        crontab.write(program, b"a\n")
    computer.behave("broken")
    with pytest.raises(TotalRecallError, match="the spool is on fire"):
        crontab.read(program)
    with pytest.raises(TotalRecallError, match="cannot read the crontab: /nowhere/crontab"):
        crontab.read("/nowhere/crontab")
