"""What a run of the observer is asked for, what it did, and how that is told."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from total_recall.commands.capturing import Wanted
from total_recall.memory.line import format_observation
from total_recall.records import Observation
from total_recall.sessions.source import Watch


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line asked for. `since` is aware; `argv` is what the gate files this run under.

    `recover` and `flush` are this run under another name (`command`, `log`), set off by something (`trigger`). They
    take what was said in `recent_first` before the rest, wait up to `wait_seconds` for an observer that is at work, and
    give models `patience_seconds` in all.
    """

    since: datetime | None = None
    everything: bool = False
    session_id: str | None = None
    agent: str | None = None
    dry_run: bool = False
    max_batches: int | None = None
    argv: tuple[str, ...] = ()
    command: str = "observe"
    log: str = "observer.log"
    trigger: str = ""
    recent_first: timedelta | None = None
    wait_seconds: float = 0.0
    patience_seconds: float | None = None

    @property
    def wanted(self) -> Wanted:
        return Wanted(self.since, self.everything, self.session_id)


@dataclass(frozen=True, slots=True)
class MemoryRun:
    """What a run did to one memory. `messages` were observed, `taken` are new, `waiting` are still to be observed."""

    memory_dir: Path
    messages: int
    sessions: int
    marked_as_seen: int
    observations: tuple[Observation, ...]
    waiting: int
    first_run: bool
    notes: tuple[str, ...]
    compressed_by: str = ""
    taken: int = 0


@dataclass(frozen=True, slots=True)
class Idle:
    """All that a run begun at `begun_ns` looked at. While it stays so, the next run has nothing to do.

    At `until` (s since 1970) the user's day is over, and what has expired leaves the context.
    Our own state is part of it: whoever takes messages and is stopped leaves work behind.
    """

    watches: tuple[Watch, ...]
    stamps: tuple[str, ...]
    begun_ns: int
    until: int


@dataclass(frozen=True, slots=True)
class Result:
    """What `observe` did, over all memories. `idle` is None when the next run must look for itself."""

    runs: tuple[MemoryRun, ...]
    problems: tuple[str, ...]
    dry_run: bool
    idle: Idle | None = None

    def when_idle(self) -> Result:
        """What the next run says if nothing happens until then."""
        runs = tuple(MemoryRun(run.memory_dir, 0, 0, 0, (), 0, False, ()) for run in self.runs)
        return Result(runs, (), False)

    def payload(self) -> dict[str, object]:
        """The fields of the JSON answer."""
        return {
            "messages": sum(run.messages for run in self.runs),
            "observations": sum(len(run.observations) for run in self.runs),
            "dry_run": self.dry_run,
            "warnings": list(self.problems),
            "memories": [
                {
                    "memory_dir": str(run.memory_dir),
                    "messages": run.messages,
                    "taken": run.taken,
                    "sessions": run.sessions,
                    "marked_as_seen": run.marked_as_seen,
                    "waiting": run.waiting,
                    "compressed_by": run.compressed_by,
                    "observations": [format_observation(o) for o in run.observations],
                    "notes": list(run.notes),
                }
                for run in self.runs
            ],
        }

    def lines(self) -> list[str]:
        """The answer for a person."""
        said = []
        for run in self.runs:
            if run.messages or run.observations or len(self.runs) == 1:
                said.append(sentence(run, self.dry_run))
            if self.dry_run:
                said += [format_observation(o).partition(" <!--")[0] for o in run.observations]
            said += [f"  {note}" for note in run.notes]
        return [*(said or ["Nothing new."]), *(f"  warning: {line}" for line in self.problems)]


def sentence(run: MemoryRun, dry_run: bool) -> str:
    """What a run did to one memory, in words."""
    if not run.messages and not run.observations:
        return "Nothing new." if not run.waiting else f"Nothing new; {run.waiting} messages wait."
    would = "would become" if dry_run else "became"
    where = "" if dry_run else f" in {run.memory_dir / 'observations.md'}"
    return (
        f"{counted(run.messages, 'message')} of {counted(run.sessions, 'session')} {would} "
        f"{counted(len(run.observations), 'observation')}{where}"
    )


def counted(number: int, what: str, many: str | None = None) -> str:
    """`1 message`, `1,302 messages`."""
    return f"{number:,} {what if number == 1 else many or what + 's'}"
