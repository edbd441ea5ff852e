"""A home in which Claude Code has worked, and Total Recall beside it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from total_recall.commands import observe, places
from total_recall.commands.places import Configuration, Place
from total_recall.host import claude_config
from total_recall.records import Batch, Observation
from total_recall.sessions.claude_code import folder_name

HOOK = '/bin/sh "/opt/total-recall/scripts/total-recall" hook claude-code'


def spoken(text: str, at: datetime, cwd: Path | str, role: str = "user", **more: Any) -> bytes:
    """A line of a transcript, as version 2.1.197 writes it."""
    content: object = text if role == "user" else [{"type": "text", "text": text}]
    stamp = at.astimezone(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    entry = {"parentUuid": None, "isSidechain": False, "type": role, "message": {"role": role, "content": content},
             "uuid": f"{stamp}-{role}-{text[:12]}", "timestamp": stamp, "cwd": str(cwd), "version": "2.1.197",
             **more}  # fmt: skip
    return json.dumps(entry, ensure_ascii=False).encode() + b"\n"


@dataclass
class ClaudeHome:
    """`now` is the time of the tests; files get the time of what was said last in them."""

    home: Path
    env: dict[str, str] = field(default_factory=dict)
    now: datetime = field(default_factory=lambda: datetime.now(timezone.utc).replace(microsecond=0))

    @property
    def central(self) -> Path:
        return self.home / ".total-recall"

    @property
    def settings(self) -> Path:
        return self.home / ".claude" / "settings.json"

    def install_hooks(self) -> None:
        self.settings.parent.mkdir(exist_ok=True)
        content = self.settings.read_bytes() if self.settings.exists() else None
        self.settings.write_bytes(claude_config.with_hooks(content, HOOK))

    def project(self, name: str) -> Path:
        path = self.home / "work" / name
        path.mkdir(parents=True, exist_ok=True)
        return path

    def folder(self, project: Path) -> Path:
        return self.home / ".claude" / "projects" / folder_name(str(project))

    def say(self, project: Path, *texts: str, hours_ago: float = 1, session: str = "s1") -> Path:
        """The user and the assistant say texts in turn, a second apart."""
        path = self.folder(project) / f"{session}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        at = self.now - timedelta(hours=hours_ago)
        with path.open("ab") as stream:
            for number, text in enumerate(texts):
                at += timedelta(seconds=1)
                stream.write(spoken(text, at, project, "assistant" if number % 2 else "user"))
        os.utime(path, (at.timestamp(), at.timestamp()))
        return path

    def configured(self, **env: str) -> Configuration:
        return places.configure({"HOME": str(self.home), **self.env, **env})

    def find(self, agent: str | None = None, **env: str) -> list[Place]:
        return places.find(self.configured(**env), self.now, agent)

    def observe(self, config: Configuration | None = None, **options: Any) -> observe.Result:
        """A run that makes each message an observation of its own."""
        return observe.run(observe.Options(**options), config or self.configured(), each)


def each(batch: Batch) -> tuple[Observation, ...]:
    """Every message as an observation."""
    return tuple(
        Observation(
            f"o{abs(hash((m.session_id, m.entry_id))):x}"[:6], m.text, m.at, "low", "fact", 5.0, 0.9,
            sources=((m.session_id, m.entry_id),),
        )
        for m in batch.messages
    )  # fmt: skip


def memories(found: list[Place], home: Path) -> Mapping[str, tuple[str, ...]]:
    return {str(place.memory_dir).replace(str(home), "~"): place.agents for place in found}
