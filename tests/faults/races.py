"""Twenty processes at one memory at once: the program's commands, the host, a person's editor, a file synchroniser.

`race(home, seconds)` lets them run, then one healthy observer, and says what is wrong.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Final

from builders import append, header, line
from points import RUN_PY, Ended
from scenes import PROSE, complaint, held, memory, said_by_a_person
from total_recall.cli import COMMANDS

DESK: Final[tuple[tuple[str, ...], ...]] = (
    ("observe",), ("observe",), ("observe",), ("flush", "--trigger", "race"), ("flush", "--trigger", "race"),
    ("recover", "--trigger", "race"), ("reflect", "--force"), ("reflect",), ("dream",), ("dream", "--dry-run"),
    ("recall", "number of the locker"), ("recall", "--sessions", "passport"), ("log", "ingest"),
    ("log", "--limit", "5"), ("context",), ("status",), ("undo", "reflect"),
)  # fmt: skip
"""The commands that run over and over beside a watcher, the host, an editor and a synchroniser."""


FIRST: Final = 70_000
"""What the host says is numbered from here, so that no token is one that stood there before."""


@dataclass
class Outcome:
    """What happened: runs by command, what was said in the host, written by the person, and everything wrong."""

    runs: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    said: set[str] = field(default_factory=set)
    written: set[str] = field(default_factory=set)
    wrong: list[str] = field(default_factory=list)


def race(home: Path, seconds: float, seed: int) -> Outcome:
    """Let everybody work at the memory in `home` for that long."""
    outcome = Outcome()
    before = held(home).anywhere
    until = time.monotonic() + seconds
    work: list[Callable[[], None]] = [
        lambda: _host(home, outcome, until, random.Random(seed)),
        lambda: _editor(home, outcome, until, random.Random(seed + 1)),
        lambda: _synchroniser(home, until),
    ]
    desk = [command for command in DESK if command[0] in COMMANDS]
    work += [lambda command=command: _runner(home, command, outcome, until) for command in desk]  # type: ignore[misc]
    watcher = _start(home, ("watch",))
    threads = [threading.Thread(target=one) for one in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    watcher.terminate()
    _, err = watcher.communicate(timeout=60)
    outcome.wrong += [f"watch: {text}" for text in [complaint(Ended(watcher.returncode, "", err))] if text]
    ended = _run(home, ("observe",))
    outcome.wrong += [f"the healthy run: exit {ended.code}: {ended.err[-300:]}"] if ended.code else []
    outcome.wrong += _what_is_wrong(home, before, outcome)
    return outcome


def _what_is_wrong(home: Path, before: frozenset[str], outcome: Outcome) -> list[str]:
    now = held(home)
    text = (memory(home) / "observations.md").read_text()
    kept = text + "".join(path.read_text() for path in sorted((memory(home) / "observation-backups").glob("*-edit*")))
    wrong = [f"what was said is missing: {token}" for token in sorted(outcome.said - now.anywhere)]
    wrong += [f"what was there is missing: {token}" for token in sorted(before - now.anywhere)]
    wrong += [f"{token} stands {n} times" for token, n in sorted(now.document.items()) if n > 1]
    wrong += [f"the person's line is missing: {words}" for words in sorted(outcome.written) if words not in kept]
    return wrong + [f"the person's line stands {text.count(prose)} times" for prose in PROSE if text.count(prose) != 1]


def _runner(home: Path, command: tuple[str, ...], outcome: Outcome, until: float) -> None:
    while time.monotonic() < until:
        ended = _run(home, command)
        outcome.runs[command[0]] += 1
        if ended.code == 1:
            outcome.refused[ended.err.strip().replace(str(home), "~")[:160]] += 1
        if text := complaint(ended):
            outcome.wrong.append(f"{' '.join(command)}: {text}")


def _host(home: Path, outcome: Outcome, until: float, dice: random.Random) -> None:
    """New sessions with messages, some of them reset as they go."""
    sessions = home / ".openclaw" / "agents" / "main" / "sessions"
    sessions.mkdir(parents=True, exist_ok=True)
    path, number = sessions, FIRST
    while time.monotonic() < until:
        if number % 7 == 0:
            if path.is_file() and dice.random() < 0.7:
                path.rename(f"{path}.reset.2026-11-30T06-04-09.{number % 1000:03d}Z")
            name = f"0a0c0de0-0000-4000-8000-{number:012d}"
            path = sessions / f"{name}.jsonl"
            path.write_bytes(line(header(name)))
        token, entries = said_by_a_person(number, datetime.now(timezone.utc))
        append(path, *entries)
        outcome.said.add(token)
        number += 1
        time.sleep(dice.uniform(0.05, 0.4))


def _editor(home: Path, outcome: Outcome, until: float, dice: random.Random) -> None:
    """A person who adds lines: by appending, or with an editor that saves only onto the file that it has read."""
    document = memory(home) / "observations.md"
    number = 0
    while time.monotonic() < until:
        words = f"My own note number {number}."
        if dice.random() < 0.5:
            with document.open("a") as stream:
                stream.write(f"\n{words}\n")
            outcome.written.add(words)
        elif _saved(document, f"\n{words}\n"):
            outcome.written.add(words)
        number += 1
        time.sleep(dice.uniform(0.1, 0.6))


def _saved(document: Path, text: str) -> bool:
    known = document.stat()
    draft = document.with_name("observations.md~")
    draft.write_text(document.read_text() + text)
    now = document.stat()
    if (now.st_ino, now.st_mtime_ns) != (known.st_ino, known.st_mtime_ns):
        draft.unlink()
        return False
    with document.open("r+b") as stream:
        # Onto the same file: an editor that renames has no way to notice a writer that came in between.
        stream.seek(0, os.SEEK_END)
        stream.write(text.encode())
    draft.unlink()
    return True


def _synchroniser(home: Path, until: float) -> None:
    """Conflict copies appear beside the file and go again."""
    folder = memory(home)
    number = 0
    while time.monotonic() < until:
        copy = folder / f"observations.sync-conflict-20261130-0900{number % 60:02d}-ABCDEFG.md"
        copy.write_text("# Observations Log\n\n---\nDate: 2026-11-30\n- 🔴 09:00 Another machine says Z99999Z\n")
        time.sleep(0.5)
        copy.unlink()
        number += 1


def _command(command: tuple[str, ...]) -> list[str]:
    return [sys.executable, "-I", "-X", "utf8", str(RUN_PY), *command]


def _env(home: Path) -> dict[str, str]:
    return {"PATH": "/usr/bin:/bin", "HOME": str(home), "TOTAL_RECALL_TZ": "UTC", "OBSERVER_LINE_THRESHOLD": "2",
            "OBSERVER_COOLDOWN_SECS": "1"}  # fmt: skip


def _run(home: Path, command: tuple[str, ...]) -> Ended:
    done = subprocess.run(_command(command), env=_env(home), capture_output=True, text=True, timeout=300, check=False)
    return Ended(done.returncode, done.stdout, done.stderr)


def _start(home: Path, command: tuple[str, ...]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        _command(command), env=_env(home), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
