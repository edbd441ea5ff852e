"""setup: shows its plan, asks, makes every part, mends what drifted, and changes nothing the second time."""

from __future__ import annotations

import json
import plistlib
import shlex
import shutil
import subprocess
import sys
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from builders import SESSION, line
from computer import Computer
from total_recall.commands import installation
from total_recall.commands.installation import Scheduler
from total_recall.errors import AlreadyRunning, TotalRecallError
from total_recall.host import systemd
from total_recall.settings import SPECS
from total_recall.state import sole

LAUNCHER = installation.launcher()
MINE = b"# mine\nMAILTO=me\n17 4 * * * true # 100\\% mine\n"
ORIGINALS = (
    b"*/15 * * * * bash /home/me/skills/total-recall/scripts/observer-agent.sh\n"
    b"0 * * * * bash /home/me/skills/total-recall/scripts/reflector-agent.sh\n"
)
ON = {"hooks": {"internal": {"enabled": True, "entries": {"total-recall": {"enabled": True}}}}}
EVERYTHING = ("crontab", "systemctl", "openclaw")


@pytest.fixture
def cron(tmp_path: Path) -> Computer:
    """A computer with crontab alone, and an openclaw.json."""
    computer = Computer.made(tmp_path, "crontab")
    computer.write_config({"hooks": {"internal": {"enabled": True, "entries": {"other": {"enabled": True}}}}})
    return computer


def states(computer: Computer, **wanted: Any) -> dict[str, str]:
    return {name: part.state for name, part in computer.survey(**wanted).items()}


# --- the whole


def test_everything_is_made_with_crontab(cron: Computer) -> None:
    cron.crontab = MINE
    result = cron.set_up()
    assert result.changed == ("folders", "settings", "schedule", "hook", "hook switch")
    assert not result.failures
    assert set(states(cron).values()) == {"present", "not wanted"}
    assert cron.crontab is not None and cron.crontab.startswith(MINE)
    assert f'/bin/sh "{LAUNCHER}" observe >/dev/null 2>&1\n'.encode() in cron.crontab
    memory = cron.workspace / "memory"
    for folder in (memory, memory / ".total-recall", cron.workspace / "logs"):
        assert folder.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    ("programs", "scheduler"),
    [
        (EVERYTHING, None),
        (EVERYTHING, "openclaw"),
        (EVERYTHING, "crontab"),
        (("crontab",), None),
        (("openclaw",), None),
        ((), "none"),
    ],
)
def test_a_second_run_changes_nothing(programs: tuple[str, ...], scheduler: Scheduler | None, tmp_path: Path) -> None:
    computer = Computer.made(tmp_path, *programs)
    computer.write_config({})
    first = computer.set_up(scheduler=scheduler, agents_md=True)
    assert first.changed and not first.failures
    before = computer.snapshot()
    computer.forget_calls()
    second = computer.set_up()
    assert not second.changed and not second.failures
    assert computer.snapshot() == before
    assert computer.changes() == []
    assert "nothing was changed" in second.lines()[0]


def test_what_drifted_is_mended(tmp_path: Path) -> None:
    computer = Computer.made(tmp_path, *EVERYTHING)
    computer.crontab = MINE
    computer.set_up(agents_md=True)
    good = computer.snapshot()
    (computer.units / "total-recall-observe.timer").write_text("edited", "utf-8")
    (computer.state / f"on-{systemd.WATCHER}").unlink()
    (computer.hook / "handler.js").unlink()
    value = json.loads(computer.config.read_text("utf-8"))
    value["hooks"]["internal"]["entries"]["total-recall"]["enabled"] = False
    computer.write_config(value)
    computer.agents_md.write_bytes(computer.agents_md.read_bytes().replace(b"read `", b"never read `"))
    assert [name for name, state in states(computer).items() if state == "drifted"] == [
        "schedule", "watcher", "hook", "hook switch", "AGENTS.md",
    ]  # fmt: skip
    assert computer.set_up().changed == ("schedule", "watcher", "hook", "hook switch", "AGENTS.md")
    assert {**computer.snapshot(), str(computer.config): b""} == {**good, str(computer.config): b""}
    assert set(states(computer).values()) == {"present", "not wanted"}


def test_a_part_that_fails_does_not_stop_the_others(tmp_path: Path) -> None:
    computer = Computer.made(tmp_path, "crontab", "openclaw")
    computer.behave("refuses")
    result = computer.set_up()
    assert result.failed
    assert result.failures == (
        "schedule: cannot write the crontab: crontab: you are not allowed; ask who administers it",
        "hook switch: `openclaw hooks enable total-recall` failed: Config invalid: agents",
    )
    assert result.changed == ("folders", "settings", "hook")
    (computer.state / "refuses").unlink()
    assert computer.set_up().changed == ("schedule", "hook switch")


def test_a_broken_configuration_is_mended_first(cron: Computer) -> None:
    """Else everything would be set up for a workspace that is not the one."""
    cron.write_config('{"agents": ')
    with pytest.raises(TotalRecallError, match=r"openclaw.json cannot be read .*; mend it and run setup again"):
        cron.set_up()


def test_two_at_a_time_is_one_too_many(cron: Computer) -> None:
    with sole("setup", cron.record.parent), pytest.raises(AlreadyRunning):
        cron.set_up()


# --- the plan and the question


def test_a_dry_run_shows_the_plan_and_writes_nothing(cron: Computer) -> None:
    before = cron.snapshot()
    said = "\n".join(cron.set_up(dry_run=True).lines())
    for word in (
        f"make {cron.workspace / 'memory'}",
        f'*/15 * * * * /usr/bin/env HOME="{cron.home}" /bin/sh "{LAUNCHER}" observe',
        f"copy OpenClaw's hook to {cron.hook}",
        "No model is set: nothing leaves this computer.",
        "Nothing was changed (--dry-run).",
    ):
        assert word in said
    assert cron.snapshot() == before and not (cron.workspace / "memory").exists()
    assert cron.changes() == []


def test_without_a_terminal_it_shows_the_plan_and_names_the_option(cron: Computer) -> None:
    before = cron.snapshot()
    result = cron.set_up(yes=False)
    assert result.failed and result.failures[0].endswith("add --yes to agree")
    assert result.lines()[0] == "What setup does:"
    assert cron.snapshot() == before


def test_the_answer_decides(cron: Computer) -> None:
    shown: list[str] = []

    def no(plan: Any) -> bool:
        shown.extend(plan)
        return False

    with pytest.raises(TotalRecallError, match="nothing was changed"):
        cron.set_up(yes=False, ask=no)
    assert shown[0] == "What setup does:" and cron.crontab is None
    assert cron.set_up(yes=False, ask=lambda _plan: True).changed
    # With nothing to do, nobody is asked.
    assert not cron.set_up(yes=False, ask=no).changed


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, "No model is set: nothing leaves this computer."),
        (
            {"LLM_BASE_URL": "https://llm.example.org/v1", "LLM_MODEL": "big-one"},
            "Conversations, with secrets taken out, are sent to llm.example.org with model big-one",
        ),
        (
            {"LLM_BASE_URL": "https://llm.example.org/v1", "LLM_MODEL": "big-one", "TOTAL_RECALL_LOCAL_ONLY": "true"},
            "nothing leaves this computer",
        ),
    ],
)
def test_it_says_which_words_go_where(settings: dict[str, str], words: str, cron: Computer) -> None:
    cron.env.update(settings)
    assert words in cron.set_up(dry_run=True).words


def test_a_key_of_the_shell_is_written_nowhere_and_said_so(cron: Computer) -> None:
    cron.env.update(LLM_API_KEY="not-a-real-key-but-secret", LLM_BASE_URL="https://llm.example.org/v1")
    result = cron.set_up()
    assert any(note.startswith("LLM_API_KEY is set in this shell alone") for note in result.notes)
    assert "not-a-real-key-but-secret" not in json.dumps(result.payload())
    everything = [path.read_bytes() for path in cron.root.rglob("*") if path.is_file()]
    assert not any(b"not-a-real-key-but-secret" in content for content in everything)
    assert cron.crontab is not None and b'LLM_BASE_URL="https://llm.example.org/v1"' in cron.crontab


# --- the parts


def test_the_settings_file_names_every_setting_and_is_private(cron: Computer) -> None:
    cron.set_up()
    path = cron.workspace / ".env"
    lines = path.read_text("utf-8").split("\n")
    assert [line for line in lines if line and not line.startswith("#")] == []
    assert all(f"#{spec.name}={spec.default}" in lines for spec in SPECS)
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_settings_file_that_is_there_is_left_alone(cron: Computer) -> None:
    path = cron.workspace / ".env"
    path.write_bytes(b"A=1\r\n")
    path.chmod(0o644)
    assert "settings" not in cron.set_up().changed
    assert path.read_bytes() == b"A=1\r\n"
    assert cron.survey()["settings"].detail == f"others can read it: chmod 600 {path}"


def test_the_hook_knows_where_everything_is(cron: Computer) -> None:
    memory = cron.root / "elsewhere"
    cron.env["MEMORY_DIR"] = str(memory)
    cron.set_up()
    location = json.loads((cron.hook / "total-recall.json").read_text("utf-8"))
    assert location == {"scripts": str(LAUNCHER.parent), "memory": {str(cron.workspace): str(memory)}}
    assert (cron.hook / "HOOK.md").is_file() and (cron.hook / "handler.js").is_file()


def test_the_hook_is_switched_on_by_openclaw_where_it_is(tmp_path: Path) -> None:
    """It writes the file in its own way, and that counts as ours."""
    computer = Computer.made(tmp_path, "openclaw")
    before = computer.write_config({"agents": {}})
    computer.set_up(scheduler="none")
    assert "openclaw hooks enable total-recall" in computer.calls
    assert json.loads(computer.config.read_text("utf-8")).get("meta")
    computer.uninstall()
    assert computer.config.read_bytes() == before


def test_without_openclaw_one_entry_is_put_in_and_every_other_byte_stays(cron: Computer) -> None:
    text = '{\n\t"gateway": {"port": 1.50},  "hooks": {"internal": {"entries": {"a": {"enabled": true}}}}}\r\n'
    cron.write_config(text)
    cron.config.chmod(0o640)
    cron.set_up()
    expected = (
        '{\n\t"gateway": {"port": 1.50},  "hooks": {"internal": {"entries": {"a": {"enabled": true}, '
        '"total-recall": {"enabled": true}}, "enabled": true}}}\r\n'
    )
    assert cron.config.read_bytes() == expected.encode()
    assert cron.config.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("text", ["", "// mine\n{}", "{a: 1}", "{'a': 1,}"])
def test_json5_is_not_touched_and_the_command_is_named(text: str, cron: Computer) -> None:
    before = cron.write_config(text)
    if not text:
        # An empty file is no configuration: the host's own command makes one.
        with pytest.raises(TotalRecallError, match="cannot be read"):
            cron.set_up()
        return
    result = cron.set_up()
    assert result.failed and "run `openclaw hooks enable total-recall`" in result.failures[0]
    assert cron.config.read_bytes() == before
    assert "schedule" in result.changed


def test_without_a_configuration_the_command_is_named(cron: Computer) -> None:
    cron.config.unlink()
    assert "is not there" in cron.set_up().failures[0]
    assert not cron.config.exists()


def test_a_read_only_configuration_stays_as_it_is(cron: Computer) -> None:
    before = cron.config.read_bytes()
    cron.config.chmod(0o444)
    result = cron.set_up()
    assert result.failures == (
        f"hook switch: {cron.config} is read-only; make it writable (chmod u+w) or change it by hand",
    )
    assert cron.config.read_bytes() == before


def test_a_link_to_the_configuration_stays_a_link(cron: Computer) -> None:
    real = cron.root / "real.json"
    cron.config.rename(real)
    cron.config.symlink_to(real)
    assert "hook switch" in cron.set_up().changed
    assert cron.config.is_symlink() and b"total-recall" in real.read_bytes()


@pytest.mark.parametrize("programs", [("crontab",), ("crontab", "openclaw")])
def test_it_warns_when_naming_a_first_hook_switches_others_off(programs: tuple[str, ...], tmp_path: Path) -> None:
    computer = Computer.made(tmp_path, *programs)
    computer.write_config({"hooks": {"internal": {"enabled": True}}})
    (warning,) = [note for note in computer.set_up().notes if "switches off" in note]
    assert "session-memory" in warning and "openclaw hooks enable NAME" in warning
    assert not any("switches off" in note for note in computer.set_up().notes)


def test_where_other_hooks_are_named_there_is_no_warning(cron: Computer) -> None:
    assert not any("switches off" in note for note in cron.set_up().notes)


def test_without_openclaw_s_folder_there_is_no_hook_and_agents_md_gets_the_line(tmp_path: Path) -> None:
    computer = Computer.made(tmp_path, "crontab")
    workspace = computer.root / "work"
    workspace.mkdir()
    (workspace / "AGENTS.md").write_bytes(b"# Agents\r\n\r\nBe kind.")
    shutil.rmtree(computer.openclaw)
    computer.env["OPENCLAW_WORKSPACE"] = str(workspace)
    result = computer.set_up()
    assert "AGENTS.md" in result.changed and "hook" not in result.changed
    text = (workspace / "AGENTS.md").read_bytes()
    assert text.startswith(b"# Agents\r\n\r\nBe kind.\r\n<!-- BEGIN total-recall")
    assert b"read `memory/.total-recall/context.txt` if it is there" in text
    assert text.count(b"\n") == text.count(b"\r\n")
    computer.uninstall()
    assert (workspace / "AGENTS.md").read_bytes() == b"# Agents\r\n\r\nBe kind."


# --- the schedule


@pytest.mark.parametrize(
    ("programs", "behaviour", "where"),
    [
        (EVERYTHING, (), ".config/systemd/user"),
        (EVERYTHING, ("no-manager",), "crontab"),
        (("openclaw",), (), "openclaw cron"),
    ],
)
def test_the_best_scheduler_here_is_taken(
    programs: tuple[str, ...], behaviour: tuple[str, ...], where: str, tmp_path: Path
) -> None:
    computer = Computer.made(tmp_path, *programs)
    for how in behaviour:
        computer.behave(how)
    computer.set_up()
    part = computer.survey()["schedule"]
    assert part.state == "present" and part.where.endswith(where)


@pytest.mark.parametrize(
    ("programs", "behaviour", "scheduler", "said"),
    [
        ((), (), None, "no systemd for this user, no crontab, and no openclaw"),
        (("openclaw",), ("old",), None, "no systemd for this user, no crontab, and no openclaw"),
        (("openclaw",), ("old",), "openclaw", "there is no openclaw whose cron starts commands here"),
        (("openclaw",), ("no-gateway",), "openclaw", "start the Gateway and run this again"),
        (("systemctl",), ("no-manager",), "systemd", "systemd takes no orders from this user here"),
        ((), (), "crontab", "there is no crontab command here"),
        (("crontab",), ("broken",), "crontab", "the spool is on fire"),
        ((), (), "launchd", "launchd is macOS's"),
    ],
)
def test_a_scheduler_that_cannot_be_had_is_a_clear_failure(
    programs: tuple[str, ...], behaviour: tuple[str, ...], scheduler: Scheduler | None, said: str, tmp_path: Path
) -> None:
    computer = Computer.made(tmp_path, *programs)
    computer.write_config(ON)
    for how in behaviour:
        computer.behave(how)
    result = computer.set_up(scheduler=scheduler)
    (failure,) = result.failures
    assert failure.startswith("schedule: ") and said in failure
    assert result.changed == ("folders", "settings", "hook")
    # What cannot be had is not remembered as chosen.
    computer.install("crontab")
    (computer.state / "broken").unlink(missing_ok=True)
    assert "schedule" in computer.set_up().changed


def test_the_choice_is_remembered_and_can_be_changed(tmp_path: Path) -> None:
    computer = Computer.made(tmp_path, *EVERYTHING)
    computer.crontab = MINE
    computer.set_up(scheduler="crontab")
    assert not computer.set_up().changed
    computer.set_up(scheduler="systemd")
    assert computer.crontab == MINE
    assert (computer.state / "on-total-recall-observe.timer").exists()
    computer.set_up(scheduler="openclaw")
    assert not list(computer.units.glob("*.timer")) and not (computer.state / "on-total-recall-observe.timer").exists()
    assert len(json.loads((computer.state / "jobs.json").read_text())) == 2
    computer.set_up(scheduler="none")
    assert json.loads((computer.state / "jobs.json").read_text()) == []
    assert not list(computer.units.glob("*")) and not (computer.state / f"on-{systemd.WATCHER}").exists()
    assert not computer.set_up().changed


def test_only_commands_of_this_version_are_scheduled(cron: Computer) -> None:
    cron.set_up(commands=("observe", "dream", "log"))
    assert cron.crontab is not None
    lines = [line.split(b" /usr/bin/env", 1)[0] for line in cron.crontab.split(b"\n") if b"/bin/sh" in line]
    assert lines == [b"*/15 * * * *", b"17 3 * * *", b"55 23 * * *"]
    assert cron.crontab.count(b" log summary >/dev/null") == 1
    # A later version has one more.
    cron.set_up(commands=("observe", "dream", "log", "reflect"))
    assert b"\n7 * * * * " in cron.crontab


def test_units_are_written_switched_on_and_the_watcher_with_them(tmp_path: Path) -> None:
    computer = Computer.made(tmp_path, "systemctl")
    result = computer.set_up()
    names = sorted(path.name for path in computer.units.iterdir())
    assert names == [
        "total-recall-observe.service",
        "total-recall-observe.timer",
        "total-recall-reflect.service",
        "total-recall-reflect.timer",
        "total-recall-watcher.service",
    ]
    on = sorted(path.name for path in computer.state.glob("on-*"))
    assert on == [f"on-total-recall-{name}" for name in ("observe.timer", "reflect.timer", "watcher.service")]
    assert any("loginctl enable-linger" in note for note in result.notes)
    assert not any("linger" in call for call in computer.calls)


def test_a_changed_unit_is_started_again(tmp_path: Path) -> None:
    computer = Computer.made(tmp_path, "systemctl")
    computer.set_up()
    computer.env["OBSERVER_LINE_THRESHOLD"] = "20"
    computer.forget_calls()
    assert computer.set_up().changed == ("schedule", "watcher")
    assert f"systemctl --user restart {systemd.WATCHER}" in computer.calls
    assert (computer.state / f"on-{systemd.WATCHER}").read_bytes() == (computer.units / systemd.WATCHER).read_bytes()


def test_agents_of_launchd_on_a_mac(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    computer = Computer.made(tmp_path, "launchctl", "crontab")
    before = computer.snapshot()
    assert computer.set_up().failures[0].startswith("hook switch")
    folder = computer.home / "Library" / "LaunchAgents"
    texts = {path.name: plistlib.loads(path.read_bytes()) for path in folder.iterdir()}
    assert sorted(texts) == [f"ai.total-recall.{name}.plist" for name in ("observe", "reflect", "watch")]
    assert (computer.state / "loaded-ai.total-recall.watch").exists()
    assert states(computer)["schedule"] == states(computer)["watcher"] == "present"
    computer.forget_calls()
    assert not computer.set_up().changed and computer.changes() == []
    computer.uninstall()
    assert computer.snapshot() == before and not folder.exists()
    assert not list(computer.state.glob("loaded-*"))


def test_where_things_are_is_told_to_what_is_scheduled(cron: Computer) -> None:
    """And nothing but that: PATH only where python3 is in no usual place, HOME only where it is not the account's."""
    cron.env.update(
        OPENCLAW_PROFILE="work", MEMORY_DIR="~/mem", XDG_DATA_HOME="/data", LANG="ko_KR.UTF-8", OPENCLAW_TOKEN="x"
    )
    found = dict(installation.variables(cron.configured()))
    assert found == {
        "HOME": str(cron.home),
        "OPENCLAW_STATE_DIR": str(cron.home / ".openclaw-work"),
        "MEMORY_DIR": str(cron.home / "mem"),
        "XDG_DATA_HOME": "/data",
    }
    python = cron.bin / "python3"
    python.write_text("#!/bin/sh\n", "utf-8")
    python.chmod(0o755)
    usual = shutil.which("python3", path=installation.USUAL_PATH)
    found = dict(installation.variables(cron.configured()))
    assert found.get("PATH") == (None if usual else f"{cron.bin}:/usr/bin:/bin")


# --- the bash original


def test_the_original_s_lines_and_unit_are_taken_over(tmp_path: Path) -> None:
    computer = Computer.made(tmp_path, *EVERYTHING)
    computer.crontab = MINE + ORIGINALS + b"# after\n"
    computer.units.mkdir(parents=True)
    (computer.units / systemd.WATCHER).write_text("[Service]\nExecStart=observer-watcher.sh\n", "utf-8")
    shutil.copyfile(computer.units / systemd.WATCHER, computer.state / f"on-{systemd.WATCHER}")
    part = computer.survey()["bash original"]
    assert part.state == "absent" and "2 lines in your crontab" in part.where and systemd.WATCHER in part.where
    assert computer.set_up().changed[:4] == ("folders", "settings", "bash original", "schedule")
    assert computer.crontab == MINE + b"# after\n"
    assert systemd.MADE in (computer.state / f"on-{systemd.WATCHER}").read_bytes()
    assert states(computer)["bash original"] == "not wanted"


def test_without_a_schedule_of_ours_the_original_goes_on(cron: Computer) -> None:
    cron.crontab = ORIGINALS
    cron.set_up(scheduler="none")
    assert cron.crontab == ORIGINALS
    assert "it goes on" in cron.survey()["bash original"].detail


def test_the_original_s_memory_is_read_as_it_is(cron: Computer) -> None:
    memory = cron.workspace / "memory"
    (memory / "archive").mkdir(parents=True)
    (memory / "observations.md").write_text("# Observations Log\n", "utf-8")
    (memory / "archive" / "old.md").write_text("old", "utf-8")
    cron.set_up()
    assert (memory / "observations.md").read_text("utf-8") == "# Observations Log\n"
    assert (memory / "archive" / "old.md").read_text("utf-8") == "old"


# --- somebody else writes at the same moment


def test_an_edit_made_while_it_asked_is_not_lost(cron: Computer) -> None:
    cron.crontab = MINE

    def edit(_plan: Any) -> bool:
        cron.crontab = MINE + b"0 5 * * * new\n"
        return True

    result = cron.set_up(yes=False, ask=edit)
    (failure,) = result.failures
    assert failure == "schedule: the crontab was changed at this moment; nothing was done to it, run this again"
    assert cron.crontab == MINE + b"0 5 * * * new\n"
    assert cron.set_up().changed == ("schedule",)


# --- as it is shipped


def test_the_scheduled_line_works_in_cron_s_world(cron: Computer) -> None:
    """`env -i` with cron's PATH, no LANG, a HOME with a space and Korean letters: the memory is written, in UTF-8."""
    sessions = cron.openclaw / "agents" / "main" / "sessions"
    sessions.mkdir(parents=True)
    now = datetime.now(timezone.utc)
    text = "제 딸 노라는 페니실린 알레르기가 있어요."
    message = {"role": "user", "content": text, "timestamp": now.timestamp() * 1000}
    entries: list[dict[str, Any]] = [
        {"type": "session", "version": 3, "id": SESSION, "timestamp": now.isoformat()},
        {"type": "message", "id": "a1b2c3d4", "timestamp": now.isoformat(), "message": message},
    ]
    (sessions / f"{SESSION}.jsonl").write_bytes(b"".join(line(entry) for entry in entries))
    (sessions / "sessions.json").write_text(json.dumps({"agent:main:main": {"sessionId": SESSION}}))
    requirements = (LAUNCHER.parents[1] / "requirements.txt").read_bytes()
    summed = subprocess.run(["/usr/bin/cksum"], input=requirements, capture_output=True, check=True).stdout.decode()
    # This test's Python stands in for the environment that the launcher would make.
    environment = cron.home / ".local/share/total-recall" / f"env-{'-'.join(summed.split())}-0.0"
    python = environment / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n', "utf-8")
    python.chmod(0o755)
    cron.set_up()
    assert cron.crontab is not None
    (scheduled,) = [text for text in cron.crontab.decode().split("\n") if " observe " in text]
    command = scheduled.split(" ", 5)[5].replace("\\%", "%")
    world = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "LOGNAME": "me", "SHELL": "/bin/sh"}
    ran = subprocess.run(["/bin/sh", "-c", command], env=world, cwd="/", capture_output=True, timeout=60, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"", b"")
    assert "페니실린" in (cron.workspace / "memory" / "observations.md").read_text("utf-8")
