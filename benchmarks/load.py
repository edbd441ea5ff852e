"""What a large house costs: many agents, many sessions, gigabytes of transcripts, a million memories in the archive.

Measured, each in its own process, with the environment of a cron job, against a house of one agent, ten sessions and
a thousand archived memories, in the same run (`large` and `small`, ms and MB):
- `first`: the first `observe` (all transcripts are read, told apart and marked as seen).
- `idle`: the next ones, nothing new. It must not depend on the size of what is there.
- `next`: runs with one new turn in one session.
- `recall_first`, `recall`: a search that builds the index over the archive, and later ones.
- `context`: what the agent gets at session start.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from dataclasses import asdict, dataclass
from datetime import date, datetime, timedelta, timezone
from pathlib import Path

import transcripts
from measure import SCRIPTS, Home, Took, milliseconds, product_python, report

DAY_OF_ARCHIVE = 5_000
NAMES = "anna boris chiara deniz emil fatou goran hana ines jun".split()


@dataclass(frozen=True, slots=True)
class Size:
    """How large a house is."""

    agents: int
    sessions: int
    megabytes: float
    archived: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--agents", type=int, default=50)
    parser.add_argument("--sessions", type=int, default=10_000)
    parser.add_argument("--megabytes", type=float, default=5_000)
    parser.add_argument("--archived", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    product_python()
    large = Size(options.agents, options.sessions, options.megabytes, options.archived)
    with tempfile.TemporaryDirectory() as folder:
        figures = {
            "small": measured(Home(Path(folder) / "small"), Size(1, 10, 1, 1_000), options.runs),
            "large": measured(Home(Path(folder) / "large"), large, options.runs),
        }
    report("load", **asdict(large), **figures)


def measured(home: Home, size: Size, runs: int) -> dict[str, object]:
    """The medians in a house of that size."""
    sessions = build(home, size)
    command = ("/bin/sh", str(SCRIPTS / "total-recall"))
    took: dict[str, list[Took]] = {"first": [home.observe()]}
    home.observe()
    took["idle"] = [home.observe() for _ in range(runs)]
    took["next"] = []
    for number in range(runs):
        add_turn(sessions[0], number)
        took["next"].append(home.observe())
    took["recall_first"] = [home.run(*command, "recall", "the budget of anna", "--no-touch", "--agent", "main")]
    took["recall"] = [
        home.run(*command, "recall", f"what did {name} say", "--no-touch", "--agent", "main") for name in NAMES[:runs]
    ]
    took["context"] = [home.run(*command, "context", "--agent", "main") for _ in range(runs)]
    return {
        name: {"ms": milliseconds([t.seconds for t in each]), "mb": round(max(t.peak_mb for t in each), 1)}
        for name, each in took.items()
    }


def build(home: Home, size: Size) -> list[Path]:
    """Fill a home; returns the transcripts of the agent `main`."""
    names = ["main", *(f"agent{number}" for number in range(1, size.agents))]
    state_dir = home.folder / ".openclaw"
    state_dir.mkdir(parents=True)
    folders = ["workspace", *(f"workspace-{name}" for name in names[1:])]
    listed = [{"id": name, "workspace": str(state_dir / path)} for name, path in zip(names, folders, strict=True)]
    agents = [{"default": True, **listed[0]}, *listed[1:]]
    (state_dir / "openclaw.json").write_text(json.dumps({"agents": {"list": agents}}))
    found: list[Path] = []
    for number, name in enumerate(names):
        written = transcripts.write_sessions(
            state_dir / "agents" / name / "sessions", sessions=max(1, size.sessions // size.agents),
            size=round(size.megabytes * 1e6 / size.agents), seed=number,
        )  # fmt: skip
        found = found or written
    fill_archive(home.memory, size.archived)
    return found


def add_turn(transcript: Path, number: int) -> None:
    """One new turn at the end of a session, said now."""
    writer = transcripts.Writer(10_000 + number, datetime.now(timezone.utc) - timedelta(seconds=60))
    with transcript.open("ab") as stream:
        stream.writelines(writer.turn())


def fill_archive(memory: Path, count: int) -> None:
    """Archive files as a year and more of dreams leave them."""
    folder = memory / "archive" / "observations"
    folder.mkdir(parents=True)
    written, day = 0, date(2024, 1, 1)
    while written < count:
        part = min(DAY_OF_ARCHIVE, count - written)
        entries = "".join(entry(day, number, written + number) for number in range(1, part + 1))
        (folder / f"{day.isoformat()}.md").write_text(f"# Archived observations, {day.isoformat()}\n{entries}")
        written, day = written + part, day + timedelta(days=1)


def entry(day: date, number: int, serial: int) -> str:
    """One archived memory in the format of `archive/observations/`."""
    name, word, other = NAMES[serial % 10], transcripts.WORDS[serial % 37], transcripts.WORDS[serial * 7 % 41]
    text = f"{name.title()} said that the {word} of {other} number {serial} is ready"
    line = (
        f"- 🟢 09:30 {text} <!-- dc:id=a{serial} dc:type=event dc:importance=2.0 dc:confidence=0.9 dc:source=explicit "
        f"dc:date={day.isoformat()} -->"
    )
    return (
        f"\n## OBS-{day:%Y%m%d}-{number:03d}\n\n- Original date: {day.isoformat()}\n- Id: a{serial}\n- Type: event\n"
        f"- Importance: 2.0\n- Reason: faded\n\n> {line}\n"
    )


if __name__ == "__main__":
    main()
