"""What a run of `observe` costs when there is nothing new, in multiples of a bare start of the same Python.

Measured: `/bin/sh scripts/total-recall observe` with the environment of a cron job, from its start to its end, against
`python -I -c pass`, in turns, medians. `files`: 1,000 known transcripts. `database`: one SQLite store with 1,000 known
sessions, to which its Gateway writes something else before each run, so that the store must be asked.
To be reached: at most 5 times.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import transcripts
from measure import Home, milliseconds, product_python, report

AT_MOST = 5.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sessions", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=41)
    options = parser.parse_args()
    python = product_python()
    with tempfile.TemporaryDirectory() as folder:
        files = Home(Path(folder) / "files")
        transcripts.write_sessions(files.sessions, sessions=options.sessions, size=options.sessions * 4000, seed=1)
        by_files = measured(files, python, options.runs, lambda: None)

        database = Home(Path(folder) / "database")
        with closing(transcripts.Database(database.agent, sessions=options.sessions, seed=1)) as store:
            store.insert(options.sessions * 10)
            by_database = measured(database, python, options.runs, store.write_something_else)
    report("idle", sessions=options.sessions, files=by_files, database=by_database, at_most=AT_MOST)


def measured(home: Home, python: str, runs: int, before: Callable[[], None]) -> dict[str, float]:
    """The medians of both, in ms, and their ratio."""
    record = become_idle(home)
    observe, bare = [], []
    for _ in range(runs):
        before()
        observe.append(home.observe().seconds)
        bare.append(home.run(python, "-I", "-c", "pass").seconds)
    if record.stat().st_ino != become_idle(home).stat().st_ino:
        raise SystemExit("a run was not answered by the gate: something was new")
    ratio = milliseconds(observe) / milliseconds(bare)
    return {"observe_ms": milliseconds(observe), "bare_ms": milliseconds(bare), "ratio": round(ratio, 2)}


def become_idle(home: Home) -> Path:
    """Run until there is nothing to do; the gate's record of it, which every full run writes anew."""
    for _ in range(5):
        records = list(home.gate_records.glob("*"))
        if records:
            return records[0]
        home.observe()
    raise SystemExit("there is always something to do")


if __name__ == "__main__":
    main()
