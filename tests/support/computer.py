"""A computer to set things up on: a home, and stand-ins for crontab, systemctl, launchctl and openclaw."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from total_recall.commands import places, setup, uninstall
from total_recall.commands.installation import Part, Scheduler, Wanted
from total_recall.commands.parts import survey
from total_recall.commands.places import Configuration

COMMANDS = ("observe", "reflect", "watch")

CRONTAB = """
case $1 in
-l) [ ! -f "$state/broken" ] || { echo 'crontab: the spool is on fire' >&2; exit 2; }
    [ -f "$state/crontab" ] || { echo 'no crontab for somebody' >&2; exit 1; }
    cat "$state/crontab" ;;
-r) rm "$state/crontab" ;;
-) [ ! -f "$state/refuses" ] || { echo 'crontab: you are not allowed' >&2; exit 1; }
   cat >"$state/new" && mv "$state/new" "$state/crontab" ;;
esac
"""
SYSTEMCTL = """
[ ! -f "$state/no-manager" ] || { echo 'Failed to connect to bus: No medium found' >&2; exit 1; }
shift
command=$1
shift
[ "$1" != --now ] || shift
case $command in
enable | restart)
    for unit; do
        [ -f "$units/$unit" ] || { echo "Unit $unit does not exist" >&2; exit 1; }
        cp "$units/$unit" "$state/on-$unit"
    done ;;
disable) for unit; do rm -f "$state/on-$unit"; done ;;
is-enabled | is-active)
    [ -f "$state/on-$1" ] || { echo disabled; exit 1; }
    [ "$command" = is-active ] && echo active || echo enabled ;;
esac
"""
LAUNCHCTL = """
case $1 in
print) [ -f "$state/loaded-${2##*/}" ] ;;
bootout) rm "$state/loaded-${2##*/}" ;;
bootstrap) name=${3##*/}; touch "$state/loaded-${name%.plist}" ;;
esac
"""
OPENCLAW = '''
import json, pathlib, sys
state, config, words = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3:]
jobs = state / "jobs.json"
known = json.loads(jobs.read_text()) if jobs.exists() else []
if words == ["cron", "add", "--help"]:
    print("" if (state / "old").exists() else "  --command <shell>  x\\n  --no-deliver  y")
elif (state / "no-gateway").exists() and words[0] == "cron":
    sys.exit("gateway closed (1006)")
elif words[:2] == ["cron", "add"]:
    given = dict(zip(words[2::2], words[3::2]))
    every = given.get("--every")
    schedule = {"kind": "cron", "expr": given.get("--cron")}
    if every:
        schedule = {"kind": "every", "everyMs": int(every[:-1]) * 60000}
    known.append({"id": f"id-{len(known)}-{given['--name']}", "name": given["--name"], "enabled": True,
                  "schedule": schedule, "payload": {"kind": "command", "argv": ["sh", "-lc", given["--command"]]}})
    jobs.write_text(json.dumps(known))
elif words[:2] == ["cron", "list"]:
    print("[plugins] a line of the log")
    print(json.dumps({"jobs": known}))
elif words[:2] == ["cron", "rm"]:
    jobs.write_text(json.dumps([job for job in known if job["id"] != words[2]]))
elif words[:2] == ["hooks", "list"]:
    print(json.dumps({"hooks": [{"name": n, "eligible": True} for n in ("session-memory", "total-recall")]}))
elif words[:2] == ["hooks", "enable"]:
    if (state / "refuses").exists():
        sys.exit("Config invalid: agents")
    value = json.loads(config.read_text()) if config.exists() else {}
    internal = value.setdefault("hooks", {}).setdefault("internal", {})
    internal["enabled"] = True
    internal.setdefault("entries", {})[words[2]] = {"enabled": True}
    value["meta"] = {"lastTouchedVersion": "2026.9.6"}
    config.write_text(json.dumps(value, indent=2) + "\\n")
'''


@dataclass(slots=True)
class Computer:
    """A home whose path has a space and Korean letters, with an OpenClaw that has run, and programs on demand."""

    root: Path
    env: dict[str, str] = field(default_factory=dict)

    @classmethod
    def made(cls, root: Path, *programs: str) -> Computer:
        """With these of `crontab`, `systemctl`, `launchctl` and `openclaw`."""
        made = cls(root)
        for folder in (made.workspace, made.bin, made.state):
            folder.mkdir(parents=True)
        made.env.update(HOME=str(made.home), PATH=str(made.bin))
        for program in programs:
            made.install(program)
        return made

    @property
    def home(self) -> Path:
        return self.root / "my 집"

    @property
    def bin(self) -> Path:
        return self.root / "bin"

    @property
    def state(self) -> Path:
        """What the stand-ins keep; the name of a file there changes how they behave."""
        return self.root / "state"

    @property
    def openclaw(self) -> Path:
        return self.home / ".openclaw"

    @property
    def config(self) -> Path:
        return self.openclaw / "openclaw.json"

    @property
    def workspace(self) -> Path:
        return self.openclaw / "workspace"

    @property
    def agents_md(self) -> Path:
        return self.workspace / "AGENTS.md"

    @property
    def hook(self) -> Path:
        return self.openclaw / "hooks" / "total-recall"

    @property
    def units(self) -> Path:
        return self.home / ".config" / "systemd" / "user"

    @property
    def record(self) -> Path:
        return self.workspace / "memory" / ".total-recall" / "setup.json"

    @property
    def crontab(self) -> bytes | None:
        path = self.state / "crontab"
        return path.read_bytes() if path.exists() else None

    @crontab.setter
    def crontab(self, text: bytes) -> None:
        (self.state / "crontab").write_bytes(text)

    @property
    def calls(self) -> list[str]:
        """What the stand-ins were called with, in order."""
        path = self.state / "calls"
        return path.read_text("utf-8").split("\n")[:-1] if path.exists() else []

    def forget_calls(self) -> None:
        (self.state / "calls").unlink(missing_ok=True)

    def changes(self) -> list[str]:
        """The calls that change something."""
        asking = ("crontab -l", " is-", " show-environment", " print ", "cron list", "--help", "hooks list")
        return [call for call in self.calls if not any(word in call for word in asking)]

    def install(self, program: str) -> None:
        """Put a stand-in into PATH."""
        scripts = {"crontab": CRONTAB, "systemctl": SYSTEMCTL, "launchctl": LAUNCHCTL}
        head = (
            "#!/bin/sh\nPATH=/usr/bin:/bin\n"
            f"state={shlex.quote(str(self.state))} units={shlex.quote(str(self.units))}\n"
            f'echo "{program} $*" >>"$state/calls"\n'
        )
        if program == "openclaw":
            code = self.state / "openclaw.py"
            code.write_text(OPENCLAW, "utf-8")
            words = [sys.executable, "-I", str(code), str(self.state), str(self.config)]
            body = f'exec {shlex.join(words)} "$@"\n'
        else:
            body = scripts[program]
        path = self.bin / program
        path.write_text(head + body, "utf-8")
        path.chmod(0o755)

    def behave(self, how: str) -> None:
        """Let the stand-ins behave otherwise: `broken`, `refuses`, `no-manager`, `old`, `no-gateway`."""
        (self.state / how).touch()

    def configured(self) -> Configuration:
        return places.configure(self.env)

    def set_up(
        self,
        *,
        scheduler: Scheduler | None = None,
        agents_md: bool = False,
        dry_run: bool = False,
        yes: bool = True,
        commands: Sequence[str] = COMMANDS,
        ask: setup.Ask = lambda _plan: None,
        openclaw: str | None = None,
    ) -> setup.Result:
        options = setup.Options(commands, yes, dry_run, scheduler, openclaw, agents_md)
        return setup.run(options, ask, self.configured())

    def uninstall(
        self, *, yes: bool = True, dry_run: bool = False, ask: setup.Ask = lambda _plan: None
    ) -> uninstall.Result:
        return uninstall.run(uninstall.Options(COMMANDS, yes, dry_run), ask, self.configured())

    def survey(self, **wanted: object) -> Mapping[str, Part]:
        parts = survey(self.configured(), Wanted(COMMANDS, **wanted))  # type: ignore[arg-type]
        return {part.name: part for part in parts}

    def snapshot(self) -> dict[str, bytes | None]:
        """Every file outside the memory and its logs, and the crontab."""
        own = (self.workspace / "memory", self.workspace / "logs")
        files = [path for path in self.home.rglob("*") if path.is_file() and not any(map(path.is_relative_to, own))]
        return {**{str(path): path.read_bytes() for path in files}, "crontab": self.crontab}

    def folders(self) -> set[Path]:
        """Every folder outside the workspace."""
        return {path for path in self.home.rglob("*") if path.is_dir() and not path.is_relative_to(self.workspace)}

    def write_config(self, value: object) -> bytes:
        """Write openclaw.json, as text or as JSON in a form of its own."""
        text = value if isinstance(value, str) else json.dumps(value, indent=4, ensure_ascii=False)
        self.config.write_text(text, "utf-8")
        return self.config.read_bytes()
