"""Every setting: its name, default, range and meaning, and where the value in force came from.

The environment and `.env` are read here and in `gate` alone. A value is looked up in the environment, then in
`<workspace>/.env`, then in `skills.entries.total-recall` of `openclaw.json`, then the default applies.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import tzinfo
from pathlib import Path
from typing import Literal, TypeVar, cast
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import dotenv
import tzlocal

from total_recall.errors import SettingError
from total_recall.records import SessionClass

_T = TypeVar("_T")

SELECTABLE: tuple[SessionClass, ...] = ("main", "direct", "explicit", "dashboard", "group")
"""The classes of sessions that may be observed; the others are never a person's conversation."""


@dataclass(frozen=True, slots=True)
class Spec:
    """One setting. `range` is what a wrong value is told; `secret` values are never shown."""

    name: str
    default: str
    range: str
    meaning: str
    secret: bool = False


WORKSPACE = "OPENCLAW_WORKSPACE"
HOSTS = "TOTAL_RECALL_HOSTS"
_COUNT = "a whole number from 1 to 1000000"
_MODEL = "a model name as the provider writes it"

SPECS: tuple[Spec, ...] = (
    Spec(WORKSPACE, "", "a directory", "the agent's workspace; default: OpenClaw's configured one"),
    Spec("MEMORY_DIR", "", "a directory", "where the memory lives; default: memory/ in the workspace"),
    Spec("SESSIONS_DIR", "", "a directory", "read this one store instead of every agent's under ~/.openclaw"),
    Spec("LLM_BASE_URL", "", "an http or https URL", "an OpenAI-compatible endpoint; unset: the offline compressor"),
    Spec("LLM_API_KEY", "", "the endpoint's key", "sent to LLM_BASE_URL only", secret=True),
    Spec("LLM_MODEL", "", _MODEL, "the model at LLM_BASE_URL"),
    Spec("OPENROUTER_API_KEY", "", "an OpenRouter key", "stands in for LLM_API_KEY", secret=True),
    Spec("OBSERVER_MODEL", "", _MODEL, "the observer's model"),
    Spec("OBSERVER_FALLBACK_MODEL", "", _MODEL, "asked when the observer's model fails"),
    Spec("REFLECTOR_MODEL", "", _MODEL, "the reflector's model"),
    Spec("REFLECTOR_FALLBACK_MODEL", "", _MODEL, "asked when the reflector's model fails"),
    Spec("EMBEDDING_MODEL", "", _MODEL, "recall also finds by meaning, with this model's /embeddings"),
    Spec("EMBEDDING_BASE_URL", "", "an http or https URL", "where EMBEDDING_MODEL is; default: LLM_BASE_URL"),
    Spec("EMBEDDING_API_KEY", "", "the endpoint's key", "sent to EMBEDDING_BASE_URL only", secret=True),
    Spec("OBSERVER_LOOKBACK_MIN", "15", _COUNT, "minutes that a quiet trickle of messages may wait"),
    Spec("OBSERVER_MORNING_LOOKBACK_MIN", "480", _COUNT, "the same for the first run of a day"),
    Spec("OBSERVER_LINE_THRESHOLD", "40", _COUNT, "new messages that make the watcher start the observer"),
    Spec("OBSERVER_COOLDOWN_SECS", "300", _COUNT, "seconds between two runs that the watcher starts"),
    Spec("REFLECTOR_WORD_THRESHOLD", "8000", _COUNT, "words in observations.md above which it is consolidated"),
    Spec("DREAM_TOKEN_TARGET", "8000", _COUNT, "tokens that the nightly consolidation aims at"),
    Spec("DREAM_PHASE", "2", "1 or 2", "1: the nightly consolidation goes without types, chunks and patterns"),
    Spec("READ_ONLY_MODE", "false", "true or false", "the nightly consolidation only shows what it would do"),
    Spec(
        "TOTAL_RECALL_TZ",
        "",
        "a time zone such as Asia/Seoul",
        "the user's time zone; default: OpenClaw's, else this computer's",
    ),
    Spec(
        "TOTAL_RECALL_SESSIONS",
        ",".join(SELECTABLE),
        f"a comma list of {', '.join(SELECTABLE)}",
        "which conversations are observed",
    ),
    Spec(
        "TOTAL_RECALL_EXCLUDE",
        "",
        "a comma list of session:KEY-OR-ID, channel:NAME, sender:NAME (with * and ?) and text:WORDS",
        "conversations that are kept out of memory",
    ),
    Spec(
        HOSTS,
        "",
        "none, or a comma list of hosts, each with =DIRECTORY for one memory of all its projects: claude-code",
        "hosts beside OpenClaw that are remembered; default: those that setup --host has set up",
    ),
    Spec(
        "TOTAL_RECALL_LOCAL_ONLY",
        "false",
        "true or false",
        "true: no model outside this computer and its private network is asked",
    ),
    Spec(
        "TOTAL_RECALL_DAILY_TOKENS", "", "a whole number from 1", "tokens that models may use a day; what is over waits"
    ),
    Spec(
        "TOTAL_RECALL_BATCH_TOKENS",
        "6000",
        "a whole number from 500 to 1000000",
        "tokens that are compressed at a time",
    ),
    Spec("TOTAL_RECALL_LOG_DAYS", "400", "a whole number from 1 to 36500", "days that the log of events is kept"),
    Spec(
        "TOTAL_RECALL_LOG_MB", "2000", "a whole number from 10 to 1000000", "megabytes that the log of events may have"
    ),
)

Origin = Literal["environment", ".env", "openclaw.json", "default"]


@dataclass(frozen=True, slots=True)
class Shown:
    """A setting as `status` shows it: a secret only as `set`."""

    name: str
    value: str
    origin: Origin


@dataclass(frozen=True, slots=True)
class Locations:
    """Where the host keeps its things, from the environment alone."""

    home: Path
    state_dir: Path
    config: Path
    default_workspace: Path
    env: Mapping[str, str] = field(repr=False)
    """The environment, with what OpenClaw's own `.env` adds to it."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings in force. Paths are absolute; `workspace` is the default agent's."""

    workspace: Path
    memory_dir: Path
    memory_dir_is_set: bool
    workspace_is_set: bool
    sessions_dir: Path | None
    llm_base_url: str | None
    llm_api_key: str | None = field(repr=False)
    openrouter_key_is_set: bool
    llm_model: str | None
    observer_model: str | None
    observer_fallback_model: str | None
    reflector_model: str | None
    reflector_fallback_model: str | None
    embedding_model: str | None
    embedding_base_url: str | None
    embedding_api_key: str | None = field(repr=False)
    daily_tokens: int | None
    observer_lookback_min: int
    observer_morning_lookback_min: int
    observer_line_threshold: int
    observer_cooldown_secs: int
    reflector_word_threshold: int
    dream_token_target: int
    dream_phase: int
    read_only_mode: bool
    tz: tzinfo
    include: frozenset[SessionClass]
    batch_tokens: int
    log_days: int
    log_mb: int
    exclude: str
    hosts: str
    local_only: bool
    shown: tuple[Shown, ...]


def locations(env: Mapping[str, str] | None = None) -> Locations:
    """Where OpenClaw lives: `OPENCLAW_STATE_DIR`, a profile, or `~/.openclaw` (openclaw.md section 1).

    Raises SettingError when there is no home directory, or OpenClaw's `.env` cannot be read.
    """
    env = os.environ if env is None else env
    home_text = env.get("HOME", "")
    if not home_text:
        raise SettingError("HOME is not set, so OpenClaw's files cannot be found; set HOME")
    home = Path(home_text)
    profile = env.get("OPENCLAW_PROFILE", "").strip()
    folder = f".openclaw-{profile}" if profile and profile != "default" else ".openclaw"
    state_dir = _path(env.get("OPENCLAW_STATE_DIR", ""), home) or home / folder
    config = _path(env.get("OPENCLAW_CONFIG_PATH", ""), home) or state_dir / "openclaw.json"
    workspace = _path(env.get("OPENCLAW_WORKSPACE_DIR", ""), home) or state_dir / "workspace"
    return Locations(home, state_dir, config, workspace, {**_dotenv(state_dir / ".env"), **env})


def wants_colours(env: Mapping[str, str] | None = None) -> bool:
    """Whether a terminal may be given colours: not with `NO_COLOR` (no-color.org), nor where it has none."""
    env = os.environ if env is None else env
    return not env.get("NO_COLOR") and env.get("TERM") != "dumb"


def load(
    host_workspace: Path,
    home: Path,
    *,
    host_env: Mapping[str, str] | None = None,
    host_timezone: str | None = None,
    env: Mapping[str, str] | None = None,
) -> Settings:
    """Look every setting up and check it. Raises SettingError, which names a wrong one with its range and its place."""
    env = os.environ if env is None else env
    workspace = _path(env.get(WORKSPACE, ""), home) or host_workspace
    lookup = _Lookup(env, _dotenv(workspace / ".env"), host_env or {})
    memory_dir = lookup.path("MEMORY_DIR", home)
    timezone = lookup.text("TOTAL_RECALL_TZ")
    return Settings(
        workspace=workspace,
        memory_dir=memory_dir or workspace / "memory",
        memory_dir_is_set=memory_dir is not None,
        workspace_is_set=bool(env.get(WORKSPACE, "").strip()),
        sessions_dir=lookup.path("SESSIONS_DIR", home),
        llm_base_url=lookup.url("LLM_BASE_URL"),
        llm_api_key=lookup.text("LLM_API_KEY") or lookup.text("OPENROUTER_API_KEY"),
        openrouter_key_is_set=lookup.text("OPENROUTER_API_KEY") is not None,
        llm_model=lookup.text("LLM_MODEL"),
        observer_model=lookup.text("OBSERVER_MODEL"),
        observer_fallback_model=lookup.text("OBSERVER_FALLBACK_MODEL"),
        reflector_model=lookup.text("REFLECTOR_MODEL"),
        reflector_fallback_model=lookup.text("REFLECTOR_FALLBACK_MODEL"),
        embedding_model=lookup.text("EMBEDDING_MODEL"),
        embedding_base_url=lookup.url("EMBEDDING_BASE_URL"),
        embedding_api_key=lookup.text("EMBEDDING_API_KEY"),
        daily_tokens=lookup.count("TOTAL_RECALL_DAILY_TOKENS", high=10**12)
        if lookup.text("TOTAL_RECALL_DAILY_TOKENS")
        else None,
        observer_lookback_min=lookup.count("OBSERVER_LOOKBACK_MIN"),
        observer_morning_lookback_min=lookup.count("OBSERVER_MORNING_LOOKBACK_MIN"),
        observer_line_threshold=lookup.count("OBSERVER_LINE_THRESHOLD"),
        observer_cooldown_secs=lookup.count("OBSERVER_COOLDOWN_SECS"),
        reflector_word_threshold=lookup.count("REFLECTOR_WORD_THRESHOLD"),
        dream_token_target=lookup.count("DREAM_TOKEN_TARGET"),
        dream_phase=lookup.count("DREAM_PHASE", high=2),
        read_only_mode=lookup.flag("READ_ONLY_MODE"),
        tz=lookup.zone("TOTAL_RECALL_TZ") if timezone else _host_zone(host_timezone),
        include=lookup.classes("TOTAL_RECALL_SESSIONS"),
        batch_tokens=lookup.count("TOTAL_RECALL_BATCH_TOKENS", low=500),
        log_days=lookup.count("TOTAL_RECALL_LOG_DAYS", high=36_500),
        log_mb=lookup.count("TOTAL_RECALL_LOG_MB", low=10),
        exclude=lookup.text("TOTAL_RECALL_EXCLUDE") or "",
        hosts=lookup.text(HOSTS) or "",
        local_only=lookup.flag("TOTAL_RECALL_LOCAL_ONLY"),
        shown=lookup.shown(),
    )


class _Lookup:
    """Values by name, with where each came from."""

    def __init__(self, env: Mapping[str, str], dotenv_values: Mapping[str, str], host: Mapping[str, str]) -> None:
        self._places: tuple[tuple[Origin, Mapping[str, str]], ...] = (
            ("environment", env),
            (".env", dotenv_values),
            ("openclaw.json", host),
        )

    def found(self, name: str) -> tuple[str, Origin]:
        # What lies in the workspace cannot say where the workspace is.
        for origin, values in self._places[:1] if name == WORKSPACE else self._places:
            value = values.get(name, "").strip()
            if value:
                return value, origin
        return next(spec.default for spec in SPECS if spec.name == name), "default"

    def text(self, name: str) -> str | None:
        return self.found(name)[0] or None

    def path(self, name: str, home: Path) -> Path | None:
        return _path(self.found(name)[0], home)

    def count(self, name: str, low: int = 1, high: int = 1_000_000) -> int:
        return self._parsed(name, lambda value: _bounded(int(value.replace("_", "")), low, high))

    def flag(self, name: str) -> bool:
        return self._parsed(name, lambda value: _FLAGS[value.lower()])

    def url(self, name: str) -> str | None:
        return self._parsed(name, _http_url) if self.text(name) else None

    def zone(self, name: str) -> tzinfo:
        return self._parsed(name, ZoneInfo)

    def classes(self, name: str) -> frozenset[SessionClass]:
        return self._parsed(name, _classes)

    def shown(self) -> tuple[Shown, ...]:
        lines = []
        for spec in SPECS:
            value, origin = self.found(spec.name)
            lines.append(Shown(spec.name, "set" if spec.secret and value else _without_password(value), origin))
        return tuple(lines)

    def _parsed(self, name: str, parse: Callable[[str], _T]) -> _T:
        value, origin = self.found(name)
        try:
            return parse(value)
        except (ValueError, KeyError, ZoneInfoNotFoundError, OSError):
            spec = next(spec for spec in SPECS if spec.name == name)
            raise SettingError(f"{name} is {_without_password(value)!r} ({origin}); it must be {spec.range}") from None


_FLAGS = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}


def _bounded(number: int, low: int, high: int) -> int:
    if not low <= number <= high:
        raise ValueError(number)
    return number


def _http_url(value: str) -> str:
    if not value.startswith(("http://", "https://")) or any(c.isspace() for c in value):
        raise ValueError(value)
    return value


def _without_password(value: str) -> str:
    """A URL with what stands before its `@` left out."""
    return re.sub(r"(?<=://)[^/@\s]*@", "…@", value)


def _classes(value: str) -> frozenset[SessionClass]:
    names = [name.strip().lower() for name in value.split(",") if name.strip()]
    if not names or any(name not in SELECTABLE for name in names):
        raise ValueError(value)
    return frozenset(cast("list[SessionClass]", names))


def _host_zone(host_timezone: str | None) -> tzinfo:
    """OpenClaw's `userTimezone`, else this computer's zone, else UTC."""
    if host_timezone:
        try:
            return ZoneInfo(host_timezone)
        except (ValueError, ZoneInfoNotFoundError, OSError):
            return _computer_zone()
    return _computer_zone()


def _computer_zone() -> tzinfo:
    try:
        return tzlocal.get_localzone()
    except (ValueError, ZoneInfoNotFoundError, OSError):
        return ZoneInfo("UTC")


def _dotenv(path: Path) -> dict[str, str]:
    """The values of a `.env` file, never evaluated by a shell; Windows line ends and a byte order mark do no harm."""
    try:
        with path.open(encoding="utf-8-sig", errors="replace", newline=None) as stream:
            values = dotenv.dotenv_values(stream=stream, interpolate=False)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise SettingError(f"{path} cannot be read: {error.strerror}; check its permissions") from error
    return {name: value for name, value in values.items() if value is not None}


def _path(text: str, home: Path) -> Path | None:
    text = text.strip()
    if not text:
        return None
    path = home / text[2:] if text.startswith("~/") else home if text == "~" else Path(text)
    return path if path.is_absolute() else Path.cwd() / path
