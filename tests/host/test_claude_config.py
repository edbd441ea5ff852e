"""Our hooks in Claude Code's settings.json: put in and taken out without touching anything else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from total_recall.errors import TotalRecallError
from total_recall.host import claude_config
from total_recall.host.claude_config import EVENTS, switch, with_hooks, without_hooks

COMMAND = '/bin/sh "/home/me/my skills/total-recall/scripts/total-recall" hook claude-code 2>/dev/null || :'
THEIRS = {"matcher": "startup", "hooks": [{"type": "command", "command": "echo hello"}]}
OTHERS = {
    "model": "opus",
    "hooks": {
        "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "check"}]}],
        "SessionStart": [THEIRS],
        "SessionEnd": [],
    },
    "env": {"이름": "값"},
}
FILES = {
    "two spaces": json.dumps(OTHERS, indent=2, ensure_ascii=False) + "\n",
    "tabs": json.dumps(OTHERS, indent="\t"),
    "four spaces, CRLF": json.dumps(OTHERS, indent=4).replace("\n", "\r\n") + "\r\n",
    "one line": json.dumps(OTHERS),
    "BOM": "\ufeff" + json.dumps(OTHERS, indent=2),
    "no hooks": '{\n  "model": "opus"\n}\n',
    "hooks, empty": '{\n  "hooks": {\n  },\n  "model": "opus"\n}\n',
    "empty object": "{}\n",
    "empty file": "",
    "blank file": "\n",
    "odd but JSON": '\n\n{"hooks" :{"SessionStart":[ ] , "Stop":[]},\n      "b":[1,\n2]}',
}


@pytest.mark.parametrize("text", FILES.values(), ids=FILES)
def test_hooks_go_in_beside_what_is_there_and_out_again(text: str) -> None:
    before = text.encode()
    after = with_hooks(before, COMMAND)
    assert switch(before, COMMAND) == "missing" and switch(after, COMMAND) == "on"
    old = json.loads(text.removeprefix("\ufeff")) if text.strip() else {}
    new = json.loads(after.decode("utf-8-sig"))
    assert list(new)[: len(old)] == list(old)
    for event in EVENTS:
        group = {"hooks": [{"type": "command", "command": COMMAND, "timeout": 15}]}
        assert new["hooks"][event] == [*old.get("hooks", {}).get(event, []), group]
        new["hooks"][event] = old.get("hooks", {}).get(event)
    assert {k: v for k, v in new["hooks"].items() if v is not None} == old.get("hooks", {})
    assert with_hooks(after, COMMAND) == after
    left = without_hooks(after, before)
    assert left is not None and json.loads(left.decode("utf-8-sig")) == old


@pytest.mark.parametrize("name", ["two spaces", "tabs", "four spaces, CRLF", "BOM", "no hooks"])
def test_every_line_that_was_there_stays_as_it_is(name: str) -> None:
    before = FILES[name].encode()
    after = with_hooks(before, COMMAND)
    lines = [line.rstrip(b",\r") for line in after.split(b"\n")]
    at = 0
    for line in before.split(b"\n"):
        wanted = line.rstrip(b",\r").removesuffix(b"[]")
        at = next(n for n in range(at, len(lines)) if lines[n].startswith(wanted)) + 1
    assert without_hooks(after, before) == before
    assert (after.count(b"\r\n") == after.count(b"\n")) == (b"\r\n" in before)


def test_a_file_that_was_made_for_them_goes() -> None:
    made = with_hooks(None, COMMAND)
    assert made.startswith(b'{\n  "hooks": {\n    "SessionStart": [\n      {\n') and made.endswith(b"}\n")
    assert without_hooks(made, None) is None


def test_what_somebody_added_since_stays() -> None:
    made = json.loads(with_hooks(None, COMMAND))
    made["model"] = "opus"
    made["hooks"]["SessionStart"].insert(0, THEIRS)
    left = without_hooks(json.dumps(made).encode(), None)
    assert left is not None and json.loads(left) == {"model": "opus", "hooks": {"SessionStart": [THEIRS]}}


def test_a_hook_in_a_group_of_somebody_elses_goes_alone() -> None:
    ours = {"type": "command", "command": COMMAND}
    mixed = {"hooks": {"Stop": [{"matcher": "x", "hooks": [{"type": "command", "command": "a"}, ours]}]}}
    left = without_hooks(json.dumps(mixed).encode(), None)
    assert left is not None
    assert json.loads(left) == {"hooks": {"Stop": [{"matcher": "x", "hooks": [{"type": "command", "command": "a"}]}]}}


def test_a_program_that_has_moved_is_named_anew() -> None:
    old = with_hooks(FILES["two spaces"].encode(), COMMAND.replace("/home/me", "/home/you"))
    assert switch(old, COMMAND) == "off"
    assert with_hooks(old, COMMAND) == with_hooks(FILES["two spaces"].encode(), COMMAND)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{\n  // mine\n  "model": "opus"\n}', "line 2"),
        ('{\n  "model": "opus",\n}', "line"),
        ('{"a": /* b */ 1}', "line 1"),
        ("[1]", "no object"),
        ("{", "line 1"),
        ("[" * 100_000, "recursion"),
    ],
)
def test_what_is_not_plain_json_is_refused(text: str, said: str) -> None:
    for attempt in (switch, with_hooks):
        with pytest.raises(TotalRecallError, match=r"not plain JSON \(.*" + said):
            attempt(text.encode(), COMMAND)
    with pytest.raises(TotalRecallError, match="not plain JSON"):
        without_hooks(text.encode(), None)
    with pytest.raises(TotalRecallError, match="not plain JSON"):
        with_hooks(b"\xff\xfe{}", COMMAND)


@pytest.mark.parametrize("hooks", [[], {"SessionStart": {}}, {"PreCompact": "x"}, 7])
def test_what_is_in_the_way_is_named(hooks: object) -> None:
    with pytest.raises(TotalRecallError, match=r"hooks\.\w+ is no list in it"):
        with_hooks(json.dumps({"hooks": hooks}).encode(), COMMAND)


@pytest.mark.parametrize(
    ("text", "days"),
    [("{}", 30), ('{"cleanupPeriodDays": 7}', 7), ('{"cleanupPeriodDays": "x"}', 30), ("", 30)],
)
def test_when_transcripts_go(text: str, days: int) -> None:
    assert claude_config.cleanup_days(text.encode()) == days


def test_where_it_keeps_its_files(home: Path) -> None:
    assert claude_config.projects_dir({}, home) == home / ".claude" / "projects"
    assert claude_config.settings_path({"CLAUDE_CONFIG_DIR": "~/cc"}, home) == home / "cc" / "settings.json"
    assert claude_config.config_dir({"CLAUDE_CONFIG_DIR": "/x/y"}, home) == Path("/x/y")


def test_it_is_set_up_where_its_settings_name_us(home: Path) -> None:
    assert not claude_config.is_set_up({}, home)
    path = home / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_bytes(FILES["two spaces"].encode())
    assert not claude_config.is_set_up({}, home)
    path.write_bytes(with_hooks(path.read_bytes(), COMMAND))
    assert claude_config.is_set_up({}, home)
    assert claude_config.has_hooks(path.read_bytes())
    path.write_bytes(b"// somebody's comment\n" + path.read_bytes())
    assert claude_config.is_set_up({}, home)
