"""The doctor's checks of this computer and of what is set. Each yields its findings and changes nothing."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import sys
import tempfile
import time
from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from total_recall import __version__
from total_recall.commands.compressing import choose
from total_recall.commands.doctor_findings import (
    PROGRAM,
    Finding,
    Findings,
    Host,
    Level,
    Machine,
    command,
    quoted,
    size,
)
from total_recall.commands.installation import Wanted, keys_out_of_reach
from total_recall.commands.parts import survey
from total_recall.commands.places import Place
from total_recall.host.openclaw_config import SKILL
from total_recall.llm.client import ADVICE, MODEL_SETTINGS, ChatMessage, Client, ModelError
from total_recall.records import ModelCall
from total_recall.state import State

SCARCE_BYTES = 100_000_000
NONE_LEFT_BYTES = 20_000_000
"""What a state and its copy, a document and its backups need at the very least."""
BUG_REPORT_DAYS = 30
REFUSE_AFTER = timedelta(hours=1)
LIST_SECONDS = 20.0
ANSWER_SECONDS = 60.0
LOCAL_ANSWER_SECONDS = 600.0
"""A local server loads its model before it answers."""
ANSWER_TOKENS = 16

_OURS = "env-"
"""How the name of an environment begins that our launcher made."""
_VERSION = re.compile(r'^__version__ = "([^"]+)"', re.MULTILINE)


# --- this computer


def python(machine: Machine) -> Findings:
    """The Python, its SQLite, and whether this is the environment that the launcher makes."""
    version = ".".join(str(part) for part in sys.version_info[:3])
    said = f"Python {version}, SQLite {sqlite3.sqlite_version}, Total Recall {__version__}, in {sys.prefix}"
    if Path(sys.prefix).name.startswith(_OURS):
        yield Finding("python", "ok", said)
    else:
        fix = f"start it with: {command('doctor')}"
        yield Finding("python", "note", f"{said}, which is not the launcher's own environment", fix)


def temporary_folder(machine: Machine) -> Findings:
    """Room for copies of databases, and what killed or broken runs left there."""
    folder = Path(tempfile.gettempdir())
    yield room("temporary folder", folder)
    reports, refuse = [], []
    for path in folder.glob("total-recall-*"):
        try:
            info = path.lstat()
        except FileNotFoundError:
            continue
        past = machine.now - datetime.fromtimestamp(info.st_mtime, machine.now.tzinfo)
        if info.st_uid != os.geteuid():
            continue
        if path.suffix == ".log" and past < timedelta(days=BUG_REPORT_DAYS):
            reports.append((info.st_mtime, path))
        elif path.is_dir() and past > REFUSE_AFTER and (path / "state.sqlite").exists():
            refuse.append(path)
    if reports:
        newest = max(reports)[1]
        count = f"{len(reports)} bug reports, the last" if len(reports) > 1 else "a bug report"
        yield Finding("bug report", "warning", f"{count} is {newest}", "report it, then delete it")
    if refuse:
        count = "copies of a state were" if len(refuse) > 1 else "copy of a state was"
        fix = f"rm -r {' '.join(quoted(path) for path in sorted(refuse))}"
        yield Finding("temporary folder", "note", f"{len(refuse)} {count} left by killed runs in {folder}", fix)


def room(name: str, folder: Path) -> Finding:
    """How much can still be written in the file system of a folder, or of the nearest one above it that exists."""
    folder = next((path for path in (folder, *folder.parents) if path.is_dir()), Path("/"))
    try:
        free = shutil.disk_usage(folder).free
        system = os.statvfs(folder)
    except OSError as error:
        return Finding(name, "error", f"{folder} cannot be looked at: {error.strerror}", "check the disk")
    said = f"{size(free)} free in {folder}"
    if system.f_files and not system.f_favail:
        return Finding(name, "error", f"no more files can be made in {folder}", "delete files that are not needed")
    if free < NONE_LEFT_BYTES:
        return Finding(name, "error", said, "free some disk space")
    return Finding(name, "warning" if free < SCARCE_BYTES else "ok", said, _MORE if free < SCARCE_BYTES else None)


_MORE = "free some disk space before it runs out"


# --- what is set


def home(host: Host) -> Findings:
    """HOME is a folder of the user that this process acts for: else files end up with the wrong owner."""
    path = host.config.locations.home
    if not path.is_dir():
        yield Finding("home", "error", f"HOME is {path}, which is no folder", "set HOME to your home directory")
        return
    if path.stat().st_uid != os.geteuid():
        yield Finding(
            "home",
            "warning",
            f"{path} belongs to user {path.stat().st_uid}, and this runs as user {os.geteuid()}: "
            "what it writes would belong to the wrong one",
            "run it as the user that OpenClaw runs as, without sudo",
        )
        return
    yield Finding("home", "ok", str(path))


def openclaw_json(host: Host) -> Findings:
    """Whether the host's configuration can be read, and what of it is out of reach here."""
    path, found = host.config.locations.config, host.config.host
    if found.problem:
        problem = found.problem.removesuffix(": OpenClaw's defaults are assumed")
        yield Finding("openclaw.json", "error", problem, "mend it (`openclaw doctor` checks it), or its permissions")
    elif host.config.is_alone:
        said = f"there is no OpenClaw here; what is ours is in {host.config.settings.workspace}"
        yield Finding("openclaw.json", "ok", said)
    elif not path.exists():
        yield Finding(
            "openclaw.json",
            "note",
            f"{path} is not there: OpenClaw's defaults are assumed",
            "set OPENCLAW_STATE_DIR, OPENCLAW_PROFILE or OPENCLAW_CONFIG_PATH if OpenClaw lives elsewhere",
        )
    else:
        agents = ", ".join(f"{agent.id} in {agent.workspace}" for agent in found.agents)
        yield Finding("openclaw.json", "ok", f"{path}: {agents}")
    for note in found.notes:
        yield Finding("openclaw.json", "warning", note, "set the variable where Total Recall runs, or use .env")


def dotenv(host: Host) -> Findings:
    """`.env` of the workspace: who may read the key in it."""
    path = host.config.settings.workspace / ".env"
    if not path.is_file():
        return
    names = [shown.name for shown in host.config.settings.shown if shown.origin == ".env"]
    said = f"{path} sets {', '.join(names) or 'nothing that Total Recall knows'}"
    if path.stat().st_mode & 0o077 and is_within_reach(path):
        yield Finding(".env", "warning", f"{said}, and others can read it", f"chmod 600 {quoted(path)}")
    else:
        yield Finding(".env", "ok", said)


def is_within_reach(path: Path) -> bool:
    """Whether all folders above let other users through."""
    return all(parent.stat().st_mode & 0o011 for parent in path.resolve().parents)


def time_zone(host: Host) -> Findings:
    """The user's time zone, where it came from, and whether this computer's clock agrees."""
    config = host.config
    settings = config.settings
    set_in = next(shown.origin for shown in settings.shown if shown.name == "TOTAL_RECALL_TZ")
    asked = config.host.user_timezone
    here = time.localtime(host.now.timestamp()).tm_gmtoff
    offset = host.now.astimezone(settings.tz).utcoffset() or timedelta()
    differs = offset.total_seconds() != here
    choose_one = "set TOTAL_RECALL_TZ (such as Europe/Berlin) in .env"
    if set_in != "default":
        yield Finding("time zone", "ok", f"{settings.tz}, from TOTAL_RECALL_TZ ({set_in})")
    elif asked and _is_zone(asked):
        yield Finding("time zone", "ok", f"{settings.tz}, from agents.defaults.userTimezone in openclaw.json")
    elif asked:
        said = f"userTimezone in openclaw.json is {asked!r}, which is no time zone; {settings.tz} is used"
        yield Finding("time zone", "warning", said, "correct it there (such as Europe/Berlin)")
    elif differs:
        hours = here / 3600
        said = f"{settings.tz} is used, but this computer's clock is at UTC{hours:+g}"
        yield Finding("time zone", "warning", said, choose_one)
    elif not offset and str(settings.tz) in ("UTC", "Etc/UTC"):
        yield Finding("time zone", "note", "UTC, from this computer", f"if you live elsewhere, {choose_one}")
    else:
        yield Finding("time zone", "ok", f"{settings.tz}, from this computer")


def _is_zone(name: str) -> bool:
    try:
        ZoneInfo(name)
    except (ValueError, ZoneInfoNotFoundError, OSError):
        return False
    return True


def copies_of_the_skill(host: Host) -> Findings:
    """Each agent sees one copy, the first in the host's order (openclaw.md section 7); a second one misleads."""
    config = host.config
    told: set[tuple[Path, ...]] = set()
    for agent in config.host.agents:
        roots = (
            agent.workspace / "skills",
            agent.workspace / ".agents" / "skills",
            config.locations.home / ".agents" / "skills",
            config.locations.state_dir / "skills",
        )
        found = tuple(dict.fromkeys(p.resolve() for root in roots if ((p := root / SKILL) / "SKILL.md").is_file()))
        if not found or found in told:
            continue
        told.add(found)
        if len(found) > 1:
            others = ", ".join(f"{path} ({_version_in(path)})" for path in found[1:])
            yield Finding(
                "skill",
                "warning",
                f"agent {agent.id} uses {found[0]} ({_version_in(found[0])}), and there are also {others}",
                "keep one and remove the others, then run setup of the one that stays",
            )
        elif found[0] != PROGRAM.parent and _version_in(found[0]) != __version__:
            said = f"this is version {__version__} in {PROGRAM.parent}, agent {agent.id} uses {found[0]}"
            yield Finding("skill", "warning", f"{said} ({_version_in(found[0])})", "run setup of the one you want")
        else:
            yield Finding("skill", "ok", f"{found[0]} ({_version_in(found[0])})")
    if not told and not config.is_alone:
        yield Finding("skill", "note", f"no agent has it among its skills; this is {PROGRAM.parent}")


def _version_in(skill: Path) -> str:
    source = skill / "scripts" / "total_recall" / "__init__.py"
    try:
        match = _VERSION.search(source.read_text(encoding="utf-8", errors="replace"))
    except OSError:
        match = None
    return match[1] if match else "version unknown"


def installed_parts(host: Host) -> Findings:
    """Schedule, watcher, hook and the rest, as `setup` sees them."""
    for part in survey(host.config, Wanted(host.commands)):
        said = ": ".join(text for text in (part.where, part.detail) if text)
        if part.state in ("absent", "drifted"):
            level: Level = "warning" if part.name in _NEEDED or part.state == "drifted" else "note"
            yield Finding(part.name, level, f"{_STATES[part.state]}: {said}" if said else _STATES[part.state], _SETUP)
        elif part.state == "impossible":
            yield Finding(part.name, "warning", f"cannot be made in {part.where}" if part.where else "cannot be made",
                          part.detail)
        else:
            yield Finding(part.name, "ok", said or part.state)


_SETUP = command("setup")
_NEEDED = ("schedule", "hook", "hook switch", "bash original")
"""Parts without which something does not work by itself."""
_STATES = {"absent": "not set up", "drifted": "not as setup made it"}


def model(host: Host) -> Findings:
    """Who compresses, as the settings say it. Nothing is asked."""
    settings = host.config.settings
    choice = choose(settings, "observer")
    if choice.endpoint is None:
        if choice.why_offline:
            said = f"compressed offline: {choice.why_offline}"
            yield Finding("model", "warning", said, "set LLM_BASE_URL and LLM_MODEL in .env")
        else:
            yield Finding("model", "note", "no model is set: the built-in offline compressor does the work")
        return
    key = next((s for s in settings.shown if s.name in _KEYS and s.value), None)
    has_key = f"key set ({key.name}, {key.origin})" if key else "no key"
    said = f"{', then '.join(choice.models)} at {choice.endpoint.host}, then offline; {has_key}"
    if key is None and not choice.endpoint.is_local:
        yield Finding("model", "warning", said, "set LLM_API_KEY in .env if this provider wants one")
    elif choice.are_defaults:
        yield Finding("model", "note", f"{said}; free defaults, which come and go", "set OBSERVER_MODEL")
    else:
        yield Finding("model", "ok", said)
    out_of_reach = keys_out_of_reach(settings)
    if out_of_reach:
        said = f"{', '.join(out_of_reach)} is set in this shell alone: neither schedule nor hook gets it"
        yield Finding("model", "warning", said, f"write it into {settings.workspace / '.env'}")


_KEYS = ("LLM_API_KEY", "OPENROUTER_API_KEY")


def model_answers(host: Host) -> Findings:
    """With `--online`: whether the endpoint lists its models, and whether the first model that is used answers.

    The one request that costs tokens is in the ledger of the default agent's memory.
    """
    settings = host.config.settings
    choice = choose(settings, "observer")
    endpoint = choice.endpoint
    if not host.online or endpoint is None:
        return
    calls: list[ModelCall] = []
    name = choice.models[0]
    seconds = LOCAL_ANSWER_SECONDS if endpoint.is_local else ANSWER_SECONDS
    with Client(endpoint, calls.append) as client:
        try:
            client.free_models(LIST_SECONDS)
        except ModelError as error:
            if error.kind == "unreachable":
                yield Finding("online", "error", *_without_advice(error, "observe"))
                return
            yield Finding("online", "note", f"{endpoint.host} shows no list of models that can be read")
        else:
            yield Finding("online", "ok", f"{endpoint.host} lists its models")
        question = [ChatMessage("user", "Answer with the word: ready")]
        try:
            client.chat(name, question, max_tokens=ANSWER_TOKENS, purpose="doctor", deadline_seconds=seconds)
        except ModelError as error:
            yield Finding("online", "error", *_without_advice(error, "observe"))
        else:
            yield Finding("online", "ok", f"{name} at {endpoint.host} answers, in {calls[-1].seconds:.1f} s")
    own_dir = Place(settings.memory_dir, settings.workspace, (), ()).own_dir
    if (own_dir / "state.sqlite").is_file():
        with State.open(own_dir) as state:
            for call in calls:
                state.record_call(call)


def advice(kind: str, purpose: str) -> str | None:
    """What to do about a failure of that kind, by the ledger's name for it."""
    known = ADVICE.get(kind)
    return known.format(setting=MODEL_SETTINGS.get(purpose, MODEL_SETTINGS["observe"])) if known else None


def _without_advice(error: ModelError, purpose: str) -> tuple[str, str | None]:
    """(what went wrong, what to do)."""
    fix = advice(error.kind, purpose)
    return str(error).removesuffix(f"; {fix}"), fix

