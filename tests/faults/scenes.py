"""What is run with faults, on which home, and what must hold of it afterwards (design section 1)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Final

from builders import SCHEMA_23, Database, header, line, ms
from points import Ended, run
from total_recall.memory.document import parse
from total_recall.memory.line import format_observation
from total_recall.records import Observation, ObservationType, Priority

TOKEN: Final = re.compile(r"\b[A-Z][0-9]{5}Z\b")
"""In every message and every observation, so that one can count where it is."""
PROSE: Final = ("Everything in this paragraph is mine.", "- a list of my own, without a mark", "<!-- and a comment -->")
SUBJECTS: Final = "locker boiler passport printer bicycle router garage insurance piano tent".split()


@dataclass(frozen=True, slots=True)
class Held:
    """What a memory holds: how often each token stands in the document, and which are in the archive."""

    document: Counter[str] = field(default_factory=Counter)
    archive: frozenset[str] = frozenset()

    @property
    def anywhere(self) -> frozenset[str]:
        return frozenset(self.document) | self.archive

    def without(self, tokens: frozenset[str]) -> Held:
        """The same but for these."""
        kept = Counter({token: count for token, count in self.document.items() if token not in tokens})
        return Held(kept, self.archive - tokens)


@dataclass(frozen=True, slots=True)
class Scene:
    """A command, the home that it finds, and commands that carry on what a fault has interrupted."""

    name: str
    arguments: tuple[str, ...]
    prepare: Callable[[Path], None]
    again: tuple[tuple[str, ...], ...] = ()
    is_to_forget: bool = False
    """What an undisturbed run takes away is to go for good."""

    def healthy(self) -> Iterator[tuple[str, ...]]:
        """What a person's schedule would run afterwards."""
        yield from self.again or (self.arguments,)


def memory(home: Path) -> Path:
    return home / ".openclaw" / "workspace" / "memory"


def held(home: Path) -> Held:
    """Count the tokens. A document that cannot be read fails here."""
    document = memory(home) / "observations.md"
    content = document.read_bytes() if document.exists() else b""
    observations = parse(content).observations
    counted = Counter(token for item in observations for token in TOKEN.findall(item.text))
    kept = sorted((memory(home) / "archive").rglob("*.md"))
    return Held(counted, frozenset(token for path in kept for token in TOKEN.findall(path.read_text())))


def lost(home: Path, before: Held) -> list[str]:
    """What is gone of what was there before; for any moment, also right after a fault."""
    document = memory(home) / "observations.md"
    text = document.read_text() if document.exists() else ""
    missing = [f"the person's line {prose!r}" for prose in PROSE if before.document and text.count(prose) != 1]
    now = held(home)
    missing += [f"{token}" for token in sorted(before.anywhere - now.anywhere)]
    return missing + [f"{token} stands {n} times" for token, n in now.document.items() if n > 1]


def left_behind(home: Path) -> list[str]:
    """Temporary files that nobody will take away."""
    return [str(path.relative_to(home)) for path in sorted(memory(home).rglob("*")) if ".tmp" in path.name]


def complaint(ended: Ended) -> str | None:
    """What is wrong with how a command ended; None when it did or said plainly why not."""
    if "Traceback" in ended.err:
        return f"a traceback: {ended.err[-600:]}"
    if ended.code == 0 or ended.code == -9:
        return None
    if ended.code == 1 and ended.err.strip():
        return None
    return f"exit {ended.code}: {ended.err[-600:]}"


# --- homes


def messages(home: Path, first: int, count: int, minutes_ago: int = 60) -> None:
    """A conversation in a file, and one in a database."""
    begun = datetime.now(timezone.utc) - timedelta(minutes=minutes_ago)
    entries: list[dict[str, object]] = []
    for n in range(count):
        entries += said_by_a_person(first + n, begun + timedelta(seconds=20 * n))[1]
    half = len(entries) // 2
    sessions = home / ".openclaw" / "agents" / "main" / "sessions"
    sessions.mkdir(parents=True, exist_ok=True)
    name = f"0a0c0de0-0000-4000-8000-{first:012d}"
    (sessions / f"{name}.jsonl").write_bytes(line(header(name)) + b"".join(line(entry) for entry in entries[:half]))
    database = home / ".openclaw" / "agents" / "main" / "agent" / "openclaw-agent.sqlite"
    database.parent.mkdir(parents=True, exist_ok=True)
    known = database.exists()
    host = Database(database, SCHEMA_23 if not known else "", "WAL")
    host.whole = True
    other = f"0a0c0de0-0000-4000-8000-{first + 500:012d}"
    host.session(other, f"agent:main:explicit:{first}")
    host.add(*entries[half:], session_id=other)
    host.close()


def said_by_a_person(number: int, when: datetime) -> tuple[str, list[dict[str, object]]]:
    """A token, and the entries of the turn that tells it."""
    token = f"M{number:05d}Z"
    said = f"Remember: the number of my {SUBJECTS[number % len(SUBJECTS)]} {number} is {token}."
    user = _message(f"u{number:07d}", "user", said, when)
    return token, [user, _message(f"a{number:07d}", "assistant", "Noted.", when)]


def _message(entry_id: str, role: str, text: str, when: datetime) -> dict[str, object]:
    stamp = when.isoformat().replace("+00:00", "Z")
    return {"type": "message", "id": entry_id, "timestamp": stamp,
            "message": {"role": role, "content": text, "timestamp": ms(when)}}  # fmt: skip


def document(home: Path, count: int = 24) -> None:
    """A memory of some weeks with the person's own words between, and duplicates for a reflection to find."""
    today = datetime.now(timezone.utc).date()
    parts = ["# Observations Log", "", *PROSE, ""]
    kinds: tuple[tuple[ObservationType, Priority, float], ...] = (
        ("event", "low", 1.5), ("fact", "medium", 4.0), ("context", "low", 2.0), ("rule", "high", 9.0),
        ("preference", "medium", 5.0), ("goal", "high", 8.0),
    )  # fmt: skip
    for n in range(count):
        day = today - timedelta(days=3 * (count - n))
        kind, priority, importance = kinds[n % len(kinds)]
        text = f"The {SUBJECTS[n % len(SUBJECTS)]} in room {n} has the number D{n:05d}Z"
        when = datetime(day.year, day.month, day.day, 9, 30, tzinfo=timezone.utc)
        parts += ["---", f"Date: {day.isoformat()}", _line(f"old{n}", text, when, priority, kind, importance), ""]
    path = memory(home) / "observations.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(parts))


def _line(name: str, text: str, at: datetime, priority: Priority, kind: ObservationType, importance: float) -> str:
    return format_observation(Observation(name, text, at, priority, kind, importance, 0.9))


def _new(home: Path) -> None:
    messages(home, 1, 8)


def grown(home: Path) -> None:
    document(home)
    messages(home, 1, 8, 120)
    assert run(home, ("observe",)).code == 0
    messages(home, 101, 8, 30)




FORGET: Final = ("forget", "old7", "--yes")
SCENES: Final[tuple[Scene, ...]] = (
    Scene("observe, the first time", ("observe",), _new),
    Scene("observe, into a memory that is there", ("observe",), grown),
    Scene("reflect", ("reflect", "--force"), document),
    Scene("recall, building its index", ("recall", "number"), grown, (("recall", "number"), ("observe",))),
    Scene("context", ("context",), document),
    Scene("dream", ("dream",), document),
    Scene("log", ("log", "ingest"), grown, (("log", "ingest"), ("observe",))),
    Scene("pin", ("pin", "old5"), document),
    Scene("forget", FORGET, document, (("observe",), FORGET), is_to_forget=True),
)
