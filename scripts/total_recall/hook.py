"""What another host's hooks run: `total-recall hook claude-code`, with the event as JSON on stdin (documented form).

At a session's start the memory is printed: the host gives to the model what stands on stdout. Before a compaction and
at a session's end what was said is observed by a process of its own, which nobody waits for. Whatever happens, the host
is not disturbed: the exit code is 0, and nothing else is printed. A session waits for its start, so the ready-made
context is read here, with as few imports as it takes; where it is not up to date, the command itself is asked.
"""

from __future__ import annotations

import json
import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:  # an import here would cost more than the work
    from collections.abc import Sequence
    from typing import Any

HOSTS = ("claude-code",)
STARTED = {"PreCompact": ("flush", "--trigger", "PreCompact"), "SessionEnd": ("observe",)}
"""What is started at an event."""
OUTPUT_LIMIT = 10_000
"""UTF-16 units of a hook's output that reach the model; of more, Claude Code 2.1.197 gives it a preview alone."""
INPUT_BYTES = 1 << 20
CURRENT_SECONDS = 1800.0
"""After a run of observe the ready-made context counts as up to date for so long, also over midnight."""
PATIENCE_SECONDS = 10.0

_OWN = ".total-recall"


def main(arguments: Sequence[str], home: str, given: bytes | None = None) -> int:
    """Answer one event, read from stdin unless it is `given`. Always 0."""
    try:
        _answer(list(arguments), home, _read() if given is None else given)
    except Exception as error:  # noqa: BLE001  # a bug of ours must not disturb a session; doctor tells of the report
        from total_recall import logs

        logs.bug_report(error)
    return 0


def _answer(arguments: list[str], home: str, given: bytes) -> None:
    event = _event(given)
    if arguments not in [[host] for host in HOSTS] or not home.startswith("/") or event is None:
        return
    name, transcript, cwd = (event.get(key) for key in ("hook_event_name", "transcript_path", "cwd"))
    folder = transcript.rpartition("/")[0] if isinstance(transcript, str) and transcript.startswith("/") else ""
    if name == "SessionStart":
        text = _ready_made(home, folder) if folder else None
        if text is None:
            text = _asked(cwd if isinstance(cwd, str) else folder)
        if text and _units(text) <= OUTPUT_LIMIT:
            sys.stdout.buffer.write(text.encode("utf-8", "replace"))
            sys.stdout.buffer.flush()
    elif isinstance(name, str) and name in STARTED and folder:
        _start(*STARTED[name], "--project", folder)


def _read() -> bytes:
    return b"" if sys.stdin is None or sys.stdin.isatty() else sys.stdin.buffer.read(INPUT_BYTES)


def _event(given: bytes) -> dict[str, Any] | None:
    try:
        event = json.loads(given)
    except (ValueError, RecursionError):
        return None
    return event if isinstance(event, dict) else None


def _ready_made(home: str, folder: str) -> str | None:
    """The context of the memory that belongs to a host's folder, if it is known and up to date."""
    try:
        memory = json.loads(_content(f"{home}/{_OWN}/projects.json"))["stores"][folder]["memory"]
        text = _content(f"{memory}/{_OWN}/context.txt").decode("utf-8")
        built = os.stat(f"{memory}/.observer-last-hash")  # noqa: PTH116
        edited = os.stat(f"{memory}/observations.md")  # noqa: PTH116
        stamped = int(_content(f"{memory}/.observer-last-run"))
    except (OSError, ValueError, LookupError, TypeError):
        return None
    now = time.time()
    # It was built on this day, or looked at so lately that it can be only minutes behind.
    is_current = 0 <= now - stamped <= CURRENT_SECONDS or time.localtime(built.st_mtime)[:3] == time.localtime(now)[:3]
    return text if is_current and edited.st_mtime_ns <= built.st_mtime_ns and _units(text) <= OUTPUT_LIMIT else None


def _content(path: str) -> bytes:
    with open(path, "rb") as stream:  # noqa: PTH123
        return stream.read()


def _asked(directory: str) -> str:
    """What the command says; nothing when it fails or takes too long."""
    import subprocess

    command = _command("context", "--project", directory)
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return ""
    return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else ""


def _start(*arguments: str) -> None:
    import subprocess

    nothing = subprocess.DEVNULL
    subprocess.Popen(
        _command(*arguments), stdin=nothing, stdout=nothing, stderr=nothing, cwd="/", start_new_session=True
    )


def _command(*arguments: str) -> list[str]:
    """This program with this Python, in the same mode."""
    cache = ["-X", f"pycache_prefix={sys.pycache_prefix}"] if sys.pycache_prefix else []
    program = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "run.py")  # noqa: PTH100, PTH118, PTH120
    return [sys.executable, "-I", "-X", "utf8", *cache, program, *arguments]


def _units(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "replace")) // 2
