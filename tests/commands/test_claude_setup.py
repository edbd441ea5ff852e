"""setup --host claude-code, uninstall and doctor: our hooks in settings.json, and nothing else changed there."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from claude_home import ClaudeHome
from computer import COMMANDS, Computer
from total_recall.commands import doctor, places, setup, uninstall
from total_recall.commands.doctor_findings import Finding
from total_recall.host import claude_config

OTHERS = {
    "model": "opus",
    "hooks": {"SessionStart": [{"matcher": "startup", "hooks": [{"type": "command", "command": "echo 안녕"}]}]},
    "cleanupPeriodDays": 20,
}


@pytest.fixture
def computer(tmp_path: Path) -> Computer:
    """A computer with OpenClaw."""
    made = Computer.made(tmp_path, "crontab")
    made.write_config({})
    return made


@pytest.fixture
def alone(tmp_path: Path) -> Computer:
    """A computer without OpenClaw."""
    made = Computer.made(tmp_path, "crontab")
    (made.openclaw / "workspace").rmdir()
    made.openclaw.rmdir()
    return made


def settings(computer: Computer, content: str | bytes | None = None) -> Path:
    path = computer.home / ".claude" / "settings.json"
    path.parent.mkdir(exist_ok=True)
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def set_up(computer: Computer, *hosts: str, dry_run: bool = False) -> setup.Result:
    options = setup.Options(COMMANDS, yes=True, dry_run=dry_run, hosts=hosts)
    return setup.run(options, lambda _plan: None, places.configure(computer.env, hosts))


def state(result: setup.Result) -> tuple[str, str]:
    part = next(part for part in result.parts if part.name == "Claude Code")
    return part.state, part.detail


def take_out(computer: Computer) -> uninstall.Result:
    return uninstall.run(uninstall.Options(COMMANDS, yes=True), lambda _plan: None, places.configure(computer.env))


# --- round trips

FORMS: dict[str, str | None] = {
    "absent": None,
    "empty": "",
    "empty object": "{}\n",
    "two spaces": json.dumps(OTHERS, indent=2, ensure_ascii=False) + "\n",
    "tabs": json.dumps(OTHERS, indent="\t"),
    "one line": json.dumps(OTHERS),
    "CRLF": json.dumps(OTHERS, indent=2).replace("\n", "\r\n"),
    "BOM": "\ufeff" + json.dumps(OTHERS, indent=4),
}


@pytest.mark.parametrize("text", FORMS.values(), ids=FORMS)
def test_in_again_and_out_leaves_every_byte(text: str | None, computer: Computer) -> None:
    path = settings(computer, text)
    result = set_up(computer, "claude-code")
    assert not result.failures and "Claude Code" in result.changed
    assert state(result) == ("present", "")
    after = path.read_bytes()
    hooks = json.loads(after.decode("utf-8-sig"))["hooks"]
    assert [len(hooks[event]) for event in claude_config.EVENTS] == [2 if text and "echo" in text else 1, 1, 1]
    again = set_up(computer)
    assert not again.changed and path.read_bytes() == after
    assert not take_out(computer).failures
    assert path.exists() == (text is not None)
    assert text is None or path.read_bytes() == text.encode()


@pytest.mark.parametrize(
    "text",
    ['{\n  // mine\n  "model": "opus"\n}', '{"model": "opus",}', "[1]", "{", '{"hooks": []}',
     '{"hooks": {"PreCompact": 1}}'],
)  # fmt: skip
def test_what_cannot_be_kept_is_refused_and_untouched(text: str, computer: Computer) -> None:
    path = settings(computer, text)
    result = set_up(computer, "claude-code")
    assert path.read_bytes() == text.encode()
    (failure,) = result.failures
    assert failure.startswith(f"Claude Code: {path} is ") and failure.count("\n") == 0
    assert "run" in failure
    # The rest is set up all the same.
    assert "folders" in result.changed


def test_what_is_read_only_stays_as_it_is(computer: Computer) -> None:
    path = settings(computer, "{}")
    path.chmod(0o444)
    (failure,) = set_up(computer, "claude-code").failures
    assert f"{path} is read-only; make it writable (chmod u+w)" in failure
    assert path.read_bytes() == b"{}"


def test_a_link_stays_a_link(computer: Computer) -> None:
    """People keep their settings in a repository of dotfiles."""
    kept = computer.home / "dotfiles" / "claude.json"
    kept.parent.mkdir()
    kept.write_text(json.dumps(OTHERS, indent=2), "utf-8")
    path = settings(computer)
    path.symlink_to(kept)
    set_up(computer, "claude-code")
    assert path.is_symlink() and claude_config.has_hooks(kept.read_bytes())
    take_out(computer)
    assert path.is_symlink() and kept.read_text("utf-8") == json.dumps(OTHERS, indent=2)


def test_what_was_changed_since_stays(computer: Computer) -> None:
    path = settings(computer, json.dumps(OTHERS, indent=2))
    set_up(computer, "claude-code")
    value = json.loads(path.read_bytes())
    value["model"] = "sonnet"
    value["hooks"]["Stop"] = [{"hooks": [{"type": "command", "command": "say done"}]}]
    path.write_text(json.dumps(value, indent=2), "utf-8")
    take_out(computer)
    left = json.loads(path.read_bytes())
    assert left == {**OTHERS, "model": "sonnet", "hooks": {**OTHERS["hooks"], "Stop": value["hooks"]["Stop"]}}  # type: ignore[dict-item]


def test_what_was_made_unreadable_since_is_told(computer: Computer) -> None:
    path = settings(computer, "{}")
    set_up(computer, "claude-code")
    path.write_bytes(b"// mine\n" + path.read_bytes())
    result = take_out(computer)
    assert any(f"{path} is not plain JSON (line 1)" in failure for failure in result.failures)
    assert path.read_bytes().startswith(b"// mine\n")


def test_hooks_that_drifted_are_mended(computer: Computer) -> None:
    path = settings(computer, "{}")
    set_up(computer, "claude-code")
    good = path.read_bytes()
    path.write_bytes(good.replace(b"scripts/total-recall", b"old/total-recall"))
    assert set_up(computer).changed == ("Claude Code",)
    assert path.read_bytes() == good
    path.write_bytes(b"{}")
    assert set_up(computer).changed == ("Claude Code",)
    assert path.read_bytes() == good


def test_another_configuration_directory(computer: Computer) -> None:
    other = computer.home / "claude config"
    computer.env["CLAUDE_CONFIG_DIR"] = str(other)
    set_up(computer, "claude-code")
    assert claude_config.has_hooks((other / "settings.json").read_bytes())
    assert f'CLAUDE_CONFIG_DIR="{other}"'.encode() in (computer.crontab or b"")
    assert b'CLAUDE_CONFIG_DIR=\\"' in (other / "settings.json").read_bytes()
    assert not (computer.home / ".claude").exists()


def test_without_being_asked_nothing_of_claude_codes_is_touched(computer: Computer) -> None:
    path = settings(computer, "{}")
    result = set_up(computer)
    assert state(result) == ("not wanted", "`setup --host claude-code` remembers its sessions too")
    assert path.read_bytes() == b"{}"


def test_a_dry_run_shows_the_hooks(computer: Computer) -> None:
    path = settings(computer)
    said = "\n".join(set_up(computer, "claude-code", dry_run=True).lines())
    assert f"add hooks for SessionStart, PreCompact, SessionEnd to {path}" in said
    assert not path.exists()


def test_a_host_without_openclaw_gets_no_folder_of_openclaws(alone: Computer) -> None:
    result = set_up(alone, "claude-code")
    assert not result.failures
    assert not alone.openclaw.exists()
    assert (alone.home / ".total-recall" / ".env").is_file()
    assert (alone.home / ".total-recall/memory/.total-recall/setup.json").is_file()
    assert b" observe >/dev/null" in (alone.crontab or b"")
    assert not set_up(alone).changed
    assert not take_out(alone).failures
    assert not alone.crontab and not (alone.home / ".claude" / "settings.json").exists()


def test_the_memories_stay(alone: Computer) -> None:
    set_up(alone, "claude-code")
    claude = ClaudeHome(alone.home, {"PATH": alone.env["PATH"]})
    tea = claude.project("tea")
    claude.say(tea, "the demo is on Thursday")
    claude.observe()
    result = take_out(alone)
    assert any(".total-recall in each project: the memories of claude-code" in line for line in result.stays)
    assert (tea / ".total-recall/memory/observations.md").is_file()


def test_the_command_that_is_written_runs_in_a_shell(computer: Computer) -> None:
    path = settings(computer)
    set_up(computer, "claude-code")
    command = json.loads(path.read_bytes())["hooks"]["SessionStart"][0]["hooks"][0]["command"]
    assert command.startswith("/usr/bin/env ") and command.endswith(" hook claude-code 2>/dev/null || :")
    subprocess.run(["/bin/sh", "-n", "-c", command], check=True)


# --- doctor


def findings(claude: ClaudeHome, agent: str | None = None, **env: str) -> list[Finding]:
    return list(doctor.run(doctor.Options(COMMANDS, agent=agent), claude.configured(**env)).findings)


@pytest.fixture
def claude(home: Path) -> ClaudeHome:
    made = ClaudeHome(home)
    made.install_hooks()
    return made


def levels(claude: ClaudeHome, name: str, agent: str | None = None) -> list[str]:
    return [f.level for f in findings(claude, agent) if f.name == name]


@pytest.mark.parametrize(("days_ago", "level"), [(1, []), (20, []), (24, ["error"]), (29, ["error"]), (40, ["error"])])
def test_what_is_about_to_be_deleted_unread_is_told(days_ago: int, level: list[str], claude: ClaudeHome) -> None:
    tea = claude.project("tea")
    claude.say(tea, "about tea", hours_ago=days_ago * 24 + 24)
    claude.observe(everything=True)
    claude.say(tea, "not observed since", hours_ago=days_ago * 24, session="s2")
    assert levels(claude, "retention") == level
    claude.observe()
    assert levels(claude, "retention") == []


def test_how_near_depends_on_how_long_the_host_keeps_them(claude: ClaudeHome) -> None:
    value = json.loads(claude.settings.read_bytes())
    claude.settings.write_text(json.dumps({**value, "cleanupPeriodDays": 4}), "utf-8")
    tea = claude.project("tea")
    claude.say(tea, "about tea", hours_ago=90)
    claude.observe(everything=True)
    claude.say(tea, "not observed since", hours_ago=60.5, session="s2")
    (finding,) = [f for f in findings(claude) if f.name == "retention"]
    assert finding.said == "what was said 2 days ago was not taken yet, and Claude Code deletes it in 35 hours"
    assert finding.fix is not None and finding.fix.endswith("observe")


@pytest.mark.parametrize(
    ("more", "said"),
    [({"disableAllHooks": True}, "disableAllHooks: no hook runs"), ({"cleanupPeriodDays": 0}, "kept for 0 days")],
)
def test_settings_that_keep_it_from_working_are_told(more: dict[str, object], said: str, claude: ClaudeHome) -> None:
    value = json.loads(claude.settings.read_bytes())
    claude.settings.write_text(json.dumps({**value, **more}), "utf-8")
    assert [f.said for f in findings(claude) if f.level == "warning" and said in f.said]


def test_settings_that_cannot_be_read_are_told(claude: ClaudeHome) -> None:
    claude.settings.write_bytes(b"// mine\n" + claude.settings.read_bytes())
    assert [f for f in findings(claude) if f.name == "Claude Code" and "not plain JSON" in f.said]


def test_a_strangers_memory_is_told(claude: ClaudeHome) -> None:
    tea = claude.project("tea")
    (tea / ".total-recall" / "memory").mkdir(parents=True)
    claude.say(tea, "about tea")
    (finding,) = [f for f in findings(claude) if f.name == "project"]
    assert finding.level == "warning" and "a .total-recall that is not ours: it is not read" in finding.said


def test_of_many_projects_only_what_is_wrong_is_told(claude: ClaudeHome) -> None:
    for number in range(12):
        claude.say(claude.project(f"p{number}"), f"about {number}")
    claude.observe()
    (claude.home / "work/p7/.total-recall/memory/.observer-last-run").write_text("1000000000\n")
    found = findings(claude)
    (finding,) = [f for f in found if f.name == "projects"]
    assert finding.said == "12 with a memory; for all about one: doctor --project DIR"
    assert len([f for f in found if f.name == "last run"]) == 2
    assert not [f for f in found if f.name == "document" and "p3" in f.said]
    assert os.path.lexists(claude.home / "work/p3/.total-recall")
    named = findings(claude, agent=f"{places.PROJECT}{claude.home / 'work/p3'}")
    assert [f for f in named if f.name == "document" and f.level == "ok"]
