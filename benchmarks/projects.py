"""What thousands of Claude Code's projects cost, and how soon a session's start has its memory.

Measured, as processes with the environment of a cron job, medians: `idle_ms`, `observe` when nothing is new in
`--projects` folders of three transcripts each, by the gate, and `bare_ms`, a start of the same Python; `look_ms`,
`observe` when one project has a new message; `session_start_ms`, the hook from the shell's start to the end of its
output, in turns with `context_ms`, the command that says the same. To be reached: `session_start_ms` under 150, and
memories are made for the projects that are in use alone.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path

from measure import SCRIPTS, Home, Took, milliseconds, product_python, report

HOUR = 3600.0
AGES_HOURS = (2, 24 * 8, 24 * 20)
"""When something was last said in the transcripts of a project in use; in the others, days before that."""
AT_MOST_MS = 150.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--projects", type=int, default=5000)
    parser.add_argument("--in-use", type=int, default=20)
    parser.add_argument("--runs", type=int, default=15)
    options = parser.parse_args()
    python = product_python()
    with tempfile.TemporaryDirectory() as folder:
        home = Home(Path(folder).resolve())
        projects = [home.folder / "work" / f"p{number}" for number in range(options.projects)]
        for number, project in enumerate(projects):
            write_project(home, project, in_use=number < options.in_use)
        (home.folder / ".claude" / "settings.json").write_text('{"of": "total-recall hook claude-code"}')
        first = home.observe()
        become_idle(home)
        idle, bare, look = [], [], []
        for _ in range(options.runs):
            idle.append(home.observe().seconds)
            bare.append(home.run(python, "-I", "-c", "pass").seconds)
        for number in range(max(2, options.runs // 3)):
            say(home, projects[number % options.in_use], f"The tea of cup {number} is ready at noon", "new")
            look.append(home.observe().seconds)
        hook, context = in_turns(home, projects[0], options.runs)
        made = sum((project / ".total-recall").exists() for project in projects)
    if made != options.in_use:
        raise SystemExit(f"{made} memories were made for {options.in_use} projects in use")
    report(
        "projects",
        projects=options.projects,
        memories=made,
        first_ms=milliseconds([first.seconds]),
        idle_ms=milliseconds(idle),
        bare_ms=milliseconds(bare),
        look_ms=milliseconds(look),
        session_start_ms=milliseconds(hook),
        context_ms=milliseconds(context),
        at_most_ms=AT_MOST_MS,
    )


def write_project(home: Home, project: Path, *, in_use: bool) -> None:
    project.mkdir(parents=True)
    for number, hours in enumerate(AGES_HOURS):
        past = hours if in_use else hours + 24 * 5
        say(home, project, f"The number of project {project.name} is {number * 7}", f"s{number}", hours_ago=past)


def say(home: Home, project: Path, text: str, session: str, *, hours_ago: float = 0.0) -> None:
    """The user says a text in a session, as version 2.1.197 writes it."""
    folder = home.folder / ".claude" / "projects" / "".join(c if c.isalnum() else "-" for c in str(project))
    folder.mkdir(parents=True, exist_ok=True)
    at = time.time() - hours_ago * HOUR
    stamp = datetime.fromtimestamp(at, timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    entry = {"type": "user", "uuid": f"{stamp}{text}", "isSidechain": False, "cwd": str(project), "timestamp": stamp,
             "message": {"role": "user", "content": text}}  # fmt: skip
    path = folder / f"{session}.jsonl"
    with path.open("a") as stream:
        stream.write(json.dumps(entry) + "\n")
    os.utime(path, (at, at))


def become_idle(home: Home) -> None:
    """Run until the gate answers."""
    for _ in range(8):
        if list(home.gate_records.glob("*")):
            return
        home.observe()
    raise SystemExit("there is always something to do")


def in_turns(home: Home, project: Path, runs: int) -> tuple[list[float], list[float]]:
    """Seconds of the hook and of the command, which must say the same."""
    event = home.folder / "event.json"
    folder = next(path for path in (home.folder / ".claude" / "projects").iterdir() if path.name.endswith("-p0"))
    fields = {"hook_event_name": "SessionStart", "transcript_path": str(folder / "x.jsonl"), "cwd": str(project)}
    event.write_text(json.dumps(fields))
    program = str(SCRIPTS / "total-recall")
    pairs = list(_pairs(home, program, event, project, runs))
    if any(hook.output != context.output or not hook.output for hook, context in pairs):
        raise SystemExit("the hook says something else than the command")
    return [hook.seconds for hook, _ in pairs], [context.seconds for _, context in pairs]


def _pairs(home: Home, program: str, event: Path, project: Path, runs: int) -> Iterator[tuple[Took, Took]]:
    for _ in range(runs):
        given = f'exec /bin/sh "{program}" hook claude-code <"{event}"'
        yield home.run("/bin/sh", "-c", given), home.run("/bin/sh", program, "context", "--project", str(project))


if __name__ == "__main__":
    main()
