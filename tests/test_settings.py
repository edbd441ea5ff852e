"""Every setting: where its value comes from, its default, and what a wrong one is told."""

from __future__ import annotations

import os
from dataclasses import fields
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import pytest
import tzlocal

from total_recall.errors import SettingError
from total_recall.settings import SPECS, Settings, load, locations


def settings(home: Path, env: dict[str, str] | None = None, dotenv: bytes = b"", **host: object) -> Settings:
    workspace = home / ".openclaw" / "workspace"
    workspace.mkdir(parents=True, exist_ok=True)
    (workspace / ".env").write_bytes(dotenv)
    return load(workspace, home, env=env or {}, **host)  # type: ignore[arg-type]  # the keywords of `load`


def origin(found: Settings, name: str) -> tuple[str, str]:
    (shown,) = [shown for shown in found.shown if shown.name == name]
    return shown.value, shown.origin


DEFAULTS = {
    "OBSERVER_LOOKBACK_MIN": 15,
    "OBSERVER_MORNING_LOOKBACK_MIN": 480,
    "OBSERVER_LINE_THRESHOLD": 40,
    "OBSERVER_COOLDOWN_SECS": 300,
    "REFLECTOR_WORD_THRESHOLD": 8000,
    "DREAM_TOKEN_TARGET": 8000,
    "READ_ONLY_MODE": False,
    "LLM_BASE_URL": None,
    "LLM_API_KEY": None,
    "LLM_MODEL": None,
    "SESSIONS_DIR": None,
    "OBSERVER_MODEL": None,
    "OBSERVER_FALLBACK_MODEL": None,
    "REFLECTOR_MODEL": None,
    "REFLECTOR_FALLBACK_MODEL": None,
}


def test_the_defaults(home: Path) -> None:
    found = settings(home)
    assert {name: getattr(found, name.lower()) for name in DEFAULTS} == DEFAULTS
    assert found.memory_dir == home / ".openclaw/workspace/memory"
    assert {shown.origin for shown in found.shown} == {"default"}
    assert [shown.name for shown in found.shown] == [spec.name for spec in SPECS]


def test_a_value_is_looked_up_in_the_environment_then_in_the_file_then_at_the_host(home: Path) -> None:
    name, dotenv, host = "OBSERVER_LINE_THRESHOLD", b"OBSERVER_LINE_THRESHOLD=2\n", {"OBSERVER_LINE_THRESHOLD": "3"}
    assert origin(settings(home, {name: "1"}, dotenv, host_env=host), name) == ("1", "environment")
    assert origin(settings(home, {}, dotenv, host_env=host), name) == ("2", ".env")
    assert origin(settings(home, {}, b"", host_env=host), name) == ("3", "openclaw.json")
    assert origin(settings(home, {name: " "}, b"OBSERVER_LINE_THRESHOLD=\n", host_env=host), name)[0] == "3"


def test_a_file_in_the_workspace_does_not_say_where_the_workspace_is(home: Path) -> None:
    found = settings(home, {}, b"OPENCLAW_WORKSPACE=/elsewhere\n", host_env={"OPENCLAW_WORKSPACE": "/elsewhere"})
    assert found.workspace == home / ".openclaw/workspace"
    assert origin(found, "OPENCLAW_WORKSPACE") == ("", "default")
    assert not found.workspace_is_set


def test_the_workspace_of_the_environment_brings_its_own_file(home: Path) -> None:
    (home / "mine").mkdir()
    (home / "mine" / ".env").write_text("LLM_MODEL=mine\n")
    found = settings(home, {"OPENCLAW_WORKSPACE": "~/mine"}, b"LLM_MODEL=other\n")
    assert (found.workspace, found.llm_model) == (home / "mine", "mine")
    assert found.memory_dir == home / "mine/memory"
    assert found.workspace_is_set


DOTENVS = (
    (b"LLM_MODEL=m", "m"),
    (b"\xef\xbb\xbfLLM_MODEL=m\r\nX=y\r\n", "m"),
    (b"LLM_MODEL=m\r", "m"),
    (b"export LLM_MODEL='m n'\n", "m n"),
    (b'LLM_MODEL="m" # mine\n', "m"),
    (b"LLM_MODEL=$(touch /tmp/never)\n", "$(touch /tmp/never)"),
    (b"LLM_MODEL=`id`\n", "`id`"),
    (b"X=1\nLLM_MODEL=${X}$HOME\n", "${X}$HOME"),
    (b"LLM_MODEL\n", None),
    (b"this is no setting\nLLM_MODEL=m\n", "m"),
    (b"LLM_MODEL=\xff\n", "\ufffd"),
    (b"", None),
)


@pytest.mark.parametrize(("content", "model"), DOTENVS)
def test_a_dotenv_file_is_read_and_never_evaluated(home: Path, content: bytes, model: str | None) -> None:
    assert settings(home, {}, content).llm_model == model


def test_a_dotenv_file_that_cannot_be_read_is_named(home: Path) -> None:
    workspace = home / "ws"
    (workspace / ".env").mkdir(parents=True)
    with pytest.raises(SettingError, match=r"ws/\.env cannot be read: Is a directory; check its permissions"):
        load(workspace, home, env={})


WRONG = (
    ("OBSERVER_LOOKBACK_MIN", "0", "a whole number from 1 to 1000000"),
    ("OBSERVER_LOOKBACK_MIN", "-5", "a whole number from 1 to 1000000"),
    ("OBSERVER_COOLDOWN_SECS", "1.5", "a whole number from 1 to 1000000"),
    ("OBSERVER_LINE_THRESHOLD", "many", "a whole number from 1 to 1000000"),
    ("REFLECTOR_WORD_THRESHOLD", "9" * 5000, "a whole number from 1 to 1000000"),
    ("DREAM_TOKEN_TARGET", "1e3", "a whole number from 1 to 1000000"),
    ("READ_ONLY_MODE", "maybe", "true or false"),
    ("LLM_BASE_URL", "localhost:11434", "an http or https URL"),
    ("LLM_BASE_URL", "http://a b", "an http or https URL"),
    ("TOTAL_RECALL_TZ", "Mars/Olympus", "a time zone such as Asia/Seoul"),
    ("TOTAL_RECALL_TZ", "../../etc/passwd", "a time zone such as Asia/Seoul"),
    ("TOTAL_RECALL_TZ", "Asia", "a time zone such as Asia/Seoul"),
    ("TOTAL_RECALL_SESSIONS", "main,cron", "a comma list of main, direct, explicit, dashboard, group"),
    ("TOTAL_RECALL_SESSIONS", ",", "a comma list of main, direct, explicit, dashboard, group"),
    ("TOTAL_RECALL_BATCH_TOKENS", "499", "a whole number from 500 to 1000000"),
)


@pytest.mark.parametrize(("name", "value", "allowed"), WRONG)
def test_a_wrong_value_is_named_with_its_place_and_its_range(home: Path, name: str, value: str, allowed: str) -> None:
    for place, found in (("environment", ({name: value}, b"")), (".env", ({}, f"{name}={value}\n".encode()))):
        with pytest.raises(SettingError) as caught:
            settings(home, *found)
        assert str(caught.value) == f"{name} is {value!r} ({place}); it must be {allowed}"


def test_every_number_has_a_range_that_is_kept(home: Path) -> None:
    for spec in (spec for spec in SPECS if spec.range.startswith("a whole number from")):
        with pytest.raises(SettingError, match=spec.name):
            settings(home, {spec.name: "0"})


@pytest.mark.parametrize("value", ["true", "TRUE", "1", "yes", "On", "false", "0", "no", "OFF"])
def test_flags(home: Path, value: str) -> None:
    assert settings(home, {"READ_ONLY_MODE": value}).read_only_mode is (value.lower() in ("true", "1", "yes", "on"))


def test_a_key_is_never_shown(home: Path) -> None:
    key = "example-placeholder-key"
    found = settings(home, {"LLM_API_KEY": key}, f"OPENROUTER_API_KEY={key}\r\n".encode())
    assert found.llm_api_key == key
    assert origin(found, "LLM_API_KEY") == ("set", "environment")
    assert origin(found, "OPENROUTER_API_KEY") == ("set", ".env")
    assert key not in repr(found.shown)


def test_an_openrouter_key_stands_in(home: Path) -> None:
    assert settings(home, {"OPENROUTER_API_KEY": "example\r\n"}).llm_api_key == "example"
    assert settings(home, {"OPENROUTER_API_KEY": "example", "LLM_API_KEY": "mine"}).llm_api_key == "mine"


@pytest.mark.parametrize(
    ("ours", "hosts", "zone"),
    [
        ("Asia/Seoul", "Europe/Berlin", "Asia/Seoul"),
        ("", "Europe/Berlin", "Europe/Berlin"),
        ("", "Nowhere/At all", "Asia/Tokyo"),
        ("", "", "Asia/Tokyo"),
    ],
)
def test_the_time_zone_is_ours_else_the_hosts_else_the_computers(
    home: Path, monkeypatch: pytest.MonkeyPatch, ours: str, hosts: str, zone: str
) -> None:
    monkeypatch.setattr(tzlocal, "get_localzone", lambda: ZoneInfo("Asia/Tokyo"))
    assert settings(home, {"TOTAL_RECALL_TZ": ours}, host_timezone=hosts).tz == ZoneInfo(zone)


def test_a_computer_without_a_zone_is_in_utc(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> ZoneInfo:
        raise ZoneInfoNotFoundError("no zone")

    monkeypatch.setattr(tzlocal, "get_localzone", none)
    assert settings(home).tz == ZoneInfo("UTC")


@pytest.mark.parametrize("name", ["MEMORY_DIR", "SESSIONS_DIR"])
@pytest.mark.parametrize(("value", "expected"), [("~/x y", "~/x y"), ("~", "~"), ("/abs", "/abs"), ("rel", "cwd/rel")])
def test_paths(home: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str, expected: str) -> None:
    (home / "cwd").mkdir()
    monkeypatch.chdir(home / "cwd")
    path = getattr(settings(home, {name: value}), name.lower())
    assert str(path) == expected.replace("~", str(home)).replace("cwd", str(Path.cwd()))
    assert path.is_absolute()


PLACES: tuple[tuple[dict[str, str], dict[str, str]], ...] = (
    ({}, {"state_dir": "~/.openclaw", "config": "~/.openclaw/openclaw.json"}),
    ({}, {"home": "~", "default_workspace": "~/.openclaw/workspace"}),
    ({"OPENCLAW_PROFILE": "work"}, {"state_dir": "~/.openclaw-work"}),
    ({"OPENCLAW_PROFILE": "work"}, {"default_workspace": "~/.openclaw-work/workspace"}),
    ({"OPENCLAW_PROFILE": " default "}, {"state_dir": "~/.openclaw"}),
    ({"OPENCLAW_STATE_DIR": "~/oc"}, {"state_dir": "~/oc", "config": "~/oc/openclaw.json"}),
    ({"OPENCLAW_STATE_DIR": "/oc", "OPENCLAW_PROFILE": "work"}, {"state_dir": "/oc"}),
    ({"OPENCLAW_CONFIG_PATH": "/etc/oc.json"}, {"config": "/etc/oc.json", "state_dir": "~/.openclaw"}),
    ({"OPENCLAW_WORKSPACE_DIR": "~/ws"}, {"default_workspace": "~/ws"}),
)


@pytest.mark.parametrize(("env", "expected"), PLACES)
def test_where_the_host_keeps_its_things(home: Path, env: dict[str, str], expected: dict[str, str]) -> None:
    found = locations({"HOME": str(home), **env})
    assert {name: str(getattr(found, name)).replace(str(home), "~") for name in expected} == expected


def test_without_a_home_nothing_can_be_found() -> None:
    with pytest.raises(SettingError, match=r"HOME is not set.*set HOME"):
        locations({})


def test_the_environment_of_the_process_is_the_default(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLM_MODEL", "from the process")
    assert locations().home == home == Path(os.environ["HOME"])
    assert load(home, home).llm_model == "from the process"


def test_every_field_of_the_settings_has_a_value(home: Path) -> None:
    found = settings(home)
    assert {field.name for field in fields(Settings)} >= {name.lower() for name in DEFAULTS}
    assert found.include >= {"main", "direct"}


def test_a_password_in_a_url_is_not_shown_either(home: Path) -> None:
    word = "a" * 3 + "b" * 3
    found = settings(home, {"LLM_BASE_URL": f"https://me:{word}@models.example/v1"})
    assert origin(found, "LLM_BASE_URL")[0] == "https://…@models.example/v1"
    assert found.llm_base_url == f"https://me:{word}@models.example/v1"
    with pytest.raises(SettingError) as wrong:
        settings(home, {"LLM_BASE_URL": f"ftp://me:{word}@models.example/v1"})
    assert word not in str(wrong.value) and "models.example" in str(wrong.value)
