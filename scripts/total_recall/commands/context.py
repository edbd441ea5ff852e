"""context: what the agent reads at session start, printed, and kept ready for the hook, which starts no Python."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

from total_recall import clock
from total_recall.commands import places
from total_recall.commands.places import OWN_DIRECTORY, Configuration
from total_recall.errors import MemoryWriteError, StoreError
from total_recall.memory.context import BUDGET_TOKENS as BUDGET_TOKENS
from total_recall.memory.context import CHARACTER_LIMIT, Context, build
from total_recall.memory.document import parse
from total_recall.memory.store import MemoryStore
from total_recall.state import Step, no_step, private_directory

READY_CHARACTERS = 12_000
"""OpenClaw 2026.5 cuts the middle out of longer files; later versions take 20,000."""
READY_MADE = "context.txt"
"""Not `.md`: OpenClaw's memory_search would index it."""

_TEMPORARY = ".context-"
_LEFT_BEHIND = timedelta(minutes=1)
"""A temporary file that is older belongs to a process that was killed."""


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line asked for. Without `agent` it is the default agent's memory."""

    budget_tokens: int = BUDGET_TOKENS
    agent: str | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """The context of one memory."""

    memory_dir: Path
    budget_tokens: int
    context: Context

    def payload(self) -> dict[str, object]:
        """The fields of the JSON answer."""
        return {
            "memory_dir": str(self.memory_dir),
            "text": self.context.text,
            "tokens": self.context.tokens,
            "budget_tokens": self.budget_tokens,
            "characters": self.context.characters,
            "shown": dict(self.context.shown),
            "left_out": dict(self.context.left_out),
            "over_budget": list(self.context.over_budget),
            "unshown": list(self.context.unshown),
        }

    def lines(self) -> list[str]:
        """The text itself; nothing for an empty memory."""
        return self.context.text.split("\n")[:-1]


def run(options: Options, config: Configuration | None = None) -> Result:
    """Build the context of now; writes nothing. It goes on from the ready-made one where it can.

    Raises StoreError when the memory or the ready-made text cannot be read.
    """
    now = clock.now()
    config = config or places.configure()
    place = places.find(config, now, options.agent)[0]
    today = now.astimezone(config.settings.tz).date()
    limit = CHARACTER_LIMIT if place.host == places.OPENCLAW else place.context_characters
    context, _ = _built(place.memory_dir, today, options.budget_tokens, limit)
    return Result(place.memory_dir, options.budget_tokens, context)


def write_ready_made(
    memory_dir: Path,
    today: date,
    *,
    budget_tokens: int = BUDGET_TOKENS,
    characters: int = READY_CHARACTERS,
    step: Step = no_step,
) -> Context:
    """Bring `.total-recall/context.txt` of a memory up to date, and return what it holds.

    To be called after every change of the document, and on each new day. The file is for the owner alone, is replaced
    in one step, and only when its text changes; an empty memory gets none, or an empty one where there was one.
    `today` is the user's day. Raises MemoryWriteError, StoreError when the file that is there cannot be read.
    """
    while True:
        context, document = _built(memory_dir, today, budget_tokens, characters)
        _write(memory_dir / OWN_DIRECTORY / READY_MADE, context.text.encode(), step)
        # Another process may have changed the document since, and written its text before ours replaced it.
        if MemoryStore(memory_dir).read().sha256 == document:
            return context


def _built(memory_dir: Path, today: date, budget_tokens: int, characters: int) -> tuple[Context, str]:
    """The context now, and the SHA-256 of the document that it is of."""
    snapshot = MemoryStore(memory_dir).read()
    previous = _read(memory_dir / OWN_DIRECTORY / READY_MADE).decode("utf-8", "replace")
    context = build(
        parse(snapshot.content),
        today=today,
        budget_tokens=budget_tokens,
        character_limit=characters,
        previous=previous,
    )
    return context, snapshot.sha256


def _read(path: Path) -> bytes:
    """The file's bytes, none when there is no such file."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror}; check its owner, or remove it") from error


def _write(path: Path, content: bytes, step: Step) -> None:
    if content == _read(path):
        return
    private_directory(path.parent)
    try:
        _remove_leftovers(path.parent)
        handle, name = tempfile.mkstemp(prefix=_TEMPORARY, dir=path.parent)
        temporary = Path(name)
        try:
            with os.fdopen(handle, "wb") as stream:
                step("write context")
                stream.write(content)
                stream.flush()
                os.fsync(stream.fileno())
            step("replace context")
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise MemoryWriteError(
            f"cannot write {path}: {error.strerror}; the memory itself is safe; "
            "free some space or check the folder's owner, then run the command again"
        ) from error


def _remove_leftovers(directory: Path) -> None:
    """They hold what is remembered, and something may have to be forgotten."""
    oldest = (clock.now() - _LEFT_BEHIND).timestamp()
    for path in directory.glob(f"{_TEMPORARY}*"):
        try:
            is_left_behind = path.stat().st_mtime < oldest
        except FileNotFoundError:
            continue
        if is_left_behind:
            path.unlink(missing_ok=True)
