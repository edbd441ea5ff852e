"""How fast a first run reads what is there, and what it leaves for the runs after it.

Measured, each in its own process, in turns, medians:
- `speed`: a first run of `observe` over JSONL transcripts (all older than its window: read, told apart, recorded),
  against a loop of `orjson.loads` over the lines of the same files. To be reached: at least half its speed.
  `cpu_speed` is the same by processor time, for machines on which others work as well.
- `peak_mb`: the largest resident set of that run. To be reached: at most 120.
- `next_ms`: the next run, with 100 new messages, against the same over a store of 1 MB. It must not depend on the size.
- For information: `observe --all` over the small store, with the offline compressor.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
from datetime import datetime, timezone
from pathlib import Path

import transcripts
from measure import Home, Took, answer, milliseconds, product_python, report

AT_LEAST_SPEED = 0.5
AT_MOST_MB = 120
NEW_MESSAGES = 100
SMALL_BYTES = 1_000_000
BARE = """
import sys, orjson
for path in sys.argv[1:]:
    for line in open(path, "rb"):
        orjson.loads(line)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--megabytes", type=float, default=1000)
    parser.add_argument("--sessions", type=int, default=400)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    python = product_python()
    with tempfile.TemporaryDirectory() as folder:
        big, small = Home(Path(folder) / "big"), Home(Path(folder) / "small")
        size = round(options.megabytes * 1e6)
        paths = transcripts.write_sessions(big.sessions, sessions=options.sessions, size=size, seed=1)
        transcripts.write_sessions(small.sessions, sessions=4, size=SMALL_BYTES, seed=2)
        bare, first = [], []
        for _ in range(options.runs):
            bare.append(big.run(python, "-I", "-c", BARE, *map(str, paths)))
            first.append(first_run(big))
        first_run(small)
        following: dict[str, list[float]] = {"big": [], "small": []}
        for number in range(options.runs):
            for name, home in (("big", big), ("small", small)):
                add_messages(home, seed=number)
                following[name].append(next_run(home).seconds)
        compressed = first_run(small, "--all")
        fields = answer(compressed)
        report(
            "ingest",
            megabytes=options.megabytes,
            files=len(paths),
            messages=answer(first[0])["memories"][0]["marked_as_seen"],
            bare_ms=milliseconds([took.seconds for took in bare]),
            observe_ms=milliseconds([took.seconds for took in first]),
            speed=ratio([t.seconds for t in bare], [t.seconds for t in first]),
            cpu_speed=ratio([t.cpu_seconds for t in bare], [t.cpu_seconds for t in first]),
            peak_mb=round(max(took.peak_mb for took in first), 1),
            next_ms={name: milliseconds(seconds) for name, seconds in following.items()},
            offline={"messages": fields["messages"], "ms": milliseconds([compressed.seconds])},
            at_least_speed=AT_LEAST_SPEED,
            at_most_mb=AT_MOST_MB,
        )


def ratio(bare: list[float], observe: list[float]) -> float:
    return round(milliseconds(bare) / milliseconds(observe), 3)


def first_run(home: Home, *options: str) -> Took:
    """`observe` by somebody who has only just installed it."""
    shutil.rmtree(home.memory.parent, ignore_errors=True)
    return home.observe("--json", *options)


def add_messages(home: Home, seed: int) -> None:
    """Somebody talks a while, in one session of this home."""
    transcript = min(home.sessions.glob("*.jsonl"))
    writer = transcripts.Writer(seed, datetime.now(timezone.utc))
    with transcript.open("ab") as stream:
        stream.writelines(writer.small_talk(NEW_MESSAGES))
        stream.flush()
        os.fsync(stream.fileno())


def next_run(home: Home) -> Took:
    took = home.observe("--json")
    if answer(took)["messages"] != NEW_MESSAGES:
        raise SystemExit(f"a run took {answer(took)['messages']} of {NEW_MESSAGES} new messages")
    return took


if __name__ == "__main__":
    main()
