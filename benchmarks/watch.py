"""What the watcher costs: while nothing happens, and while the host writes ten thousand times a second.

Measured on the real process, as the launcher starts it, over a store of files and one in SQLite:
- `idle_cpu_percent`: processor time while nothing is written, over 10 minutes; to be reached: under 0.1.
  `beside_host_cpu_percent` is the same while the Gateway writes something else to its database every 5 seconds.
- `latency_ms`: from the write of a message until it is in the queue, under a storm of single writes for 20 seconds, of
  which every tenth is a message; the longest of all. To be reached: under 1000. `latency_all_ms`: each is a message.
- `peak_mb`: the largest resident set in all that; at most 60.
- `fires_at`: the number of new messages at which it starts the observer (39 do nothing).
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

import orjson
import transcripts
from measure import SCRIPTS, Home, product_python, report

CPU_PERCENT = 0.1
LATENCY_MS = 1000.0
PEAK_MB = 60.0
THRESHOLD = 40
NEVER = 1_000_000
STARTED = re.compile(r"observe started: (\d+) messages wait")
SESSION = "00000000-0000-4000-8000-000000000001"
SLICE_SECONDS = 0.001
GIVE_UP_SECONDS = 60.0
FREQUENCY = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Watcher:
    """A watcher that runs."""

    pid: int
    home: Home

    def cpu_seconds(self) -> float:
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / FREQUENCY

    def peak_mb(self) -> float:
        lines = Path(f"/proc/{self.pid}/status").read_text().split("\n")
        return round(next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1000, 1)

    def log(self) -> str:
        path = self.home.memory.parent / "logs" / "observer-watcher.log"
        return path.read_text(encoding="utf-8") if path.exists() else ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--idle-seconds", type=float, default=600)
    parser.add_argument("--storm-seconds", type=float, default=20)
    parser.add_argument("--rate", type=int, default=10_000, help="writes a second")
    options = parser.parse_args()
    product_python()
    peaks: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        home = Home(Path(folder) / "idle")
        transcripts.write_sessions(home.sessions, sessions=100, size=1_000_000, seed=1)
        with closing(transcripts.Database(home.agent, sessions=100, seed=1)) as store, watching(home, NEVER) as watcher:
            store.insert(1000)
            wait_until_settled(watcher)
            idle = cpu_percent(watcher, options.idle_seconds, lambda: None)
            beside = cpu_percent(watcher, min(60.0, options.idle_seconds), store.write_something_else)
            peaks.append(watcher.peak_mb())

        home = Home(Path(folder) / "threshold")
        with watching(home, THRESHOLD) as watcher:
            fires_at = first_start(watcher, files(home), THRESHOLD)

        latencies: dict[str, dict[str, int]] = {}
        written = {}
        for name, every in (("latency_ms", 10), ("latency_all_ms", 1)):
            latencies[name] = {}
            for kind, store_of in (("files", files), ("database", database)):
                home = Home(Path(folder) / f"{kind}-{every}")
                with watching(home, NEVER) as watcher:
                    write = store_of(home)
                    latency, rate = storm(watcher, write, options.rate, options.storm_seconds, every)
                    latencies[name][kind] = round(latency * 1000)
                    written[f"{kind}_{every}"] = round(rate)
                    peaks.append(watcher.peak_mb())
    report(
        "watch",
        idle_seconds=options.idle_seconds,
        idle_cpu_percent=round(idle, 4),
        beside_host_cpu_percent=round(beside, 4),
        fires_at=fires_at,
        writes_a_second=written,
        **latencies,
        peak_mb=max(peaks),
        under={"cpu_percent": CPU_PERCENT, "latency_ms": LATENCY_MS, "peak_mb": PEAK_MB},
    )


@contextmanager
def watching(home: Home, threshold: int) -> Iterator[Watcher]:
    """A watcher in this home, ended at the end. Raises SystemExit when it fails."""
    home.folder.mkdir(exist_ok=True)
    data_home = os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    environment = {
        "HOME": str(home.folder),
        "PATH": "/usr/bin:/bin",
        "XDG_DATA_HOME": data_home,
        "OBSERVER_LINE_THRESHOLD": str(threshold),
    }
    command = ["/bin/sh", str(SCRIPTS / "total-recall"), "watch"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        watcher = Watcher(process.pid, home)
        try:
            wait_until(lambda: "start: version" in watcher.log() or process.poll() is not None)
            yield watcher
        finally:
            process.send_signal(signal.SIGTERM)
            _, errors = process.communicate(timeout=10)
        if process.returncode != 0:
            raise SystemExit(f"the watcher failed: {errors.decode()}")


def wait_until(holds: Callable[[], object]) -> None:
    give_up = time.monotonic() + GIVE_UP_SECONDS
    while not holds():
        if time.monotonic() > give_up:
            raise SystemExit("the watcher does not come to it")
        time.sleep(0.01)


def wait_until_settled(watcher: Watcher) -> None:
    """Until it has taken what was there and used no processor for a second."""
    used = -1.0
    while used != (used := watcher.cpu_seconds()):
        time.sleep(1)


def cpu_percent(watcher: Watcher, seconds: float, every_5_seconds: Callable[[], None]) -> float:
    begun, before = time.monotonic(), watcher.cpu_seconds()
    while (left := begun + seconds - time.monotonic()) > 0:
        every_5_seconds()
        time.sleep(min(5.0, left))
    return (watcher.cpu_seconds() - before) / (time.monotonic() - begun) * 100


def first_start(watcher: Watcher, write: Callable[[bytes], None], threshold: int) -> int:
    """How many messages waited when it started the observer; the last ones before that come one at a time."""
    for number in range(1, 2 * threshold):
        write(entry(number, is_message=True))
        if number >= threshold - 2:
            wait_until(lambda: taken(watcher.home) == number or STARTED.search(watcher.log()))  # noqa: B023
            started = STARTED.search(watcher.log())
            if started is not None:
                return int(started[1])
    raise SystemExit("the observer was not started")


def storm(
    watcher: Watcher, write: Callable[[bytes], None], rate: int, seconds: float, every: int
) -> tuple[float, float]:
    """(the longest time from a message's write until it was in the queue, writes a second that were reached)."""
    written_at: list[float] = []
    seen, longest, number = 0, 0.0, 0
    begun = time.monotonic()
    looked = begun
    while (now := time.monotonic()) < begun + seconds or seen < len(written_at):
        if now < begun + seconds:
            for _ in range(min(200, int((now - begun) * rate) - number)):
                number += 1
                if number % every == 0:
                    written_at.append(time.monotonic())
                write(entry(number, is_message=number % every == 0))
            rate_reached = number / max(now - begun, SLICE_SECONDS)
        elif now > begun + seconds + GIVE_UP_SECONDS:
            raise SystemExit(f"{seen} of {len(written_at)} messages taken")
        if now - looked >= 0.02:
            looked, before = now, seen
            seen = taken(watcher.home)
            if seen > before:
                longest = max(longest, now - written_at[before])
        time.sleep(SLICE_SECONDS)
    return longest, rate_reached


def taken(home: Home) -> int:
    """How many messages the watcher has taken so far."""
    path = home.memory / ".total-recall" / "state.sqlite"
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=1)) as db:
            return int(db.execute("SELECT coalesce(max(id), 0) FROM message").fetchone()[0])
    except sqlite3.OperationalError:
        return 0  # it is not made yet


def entry(number: int, is_message: bool) -> bytes:
    """A transcript line of now: what a person says, or the host's note of a tool's result."""
    now = datetime.now(timezone.utc)
    fields = {"id": f"{number:08x}", "timestamp": now.isoformat()}
    if not is_message:
        note = {"type": "custom", "customType": "openclaw.cache-ttl", "data": {"output": "x" * 300}, **fields}
        return orjson.dumps(note, option=orjson.OPT_APPEND_NEWLINE)
    words = f"Number {number}: the plumber comes on Tuesday at nine and wants 340 EUR for the tap in the kitchen."
    message = {"role": "user", "content": words, "timestamp": round(now.timestamp() * 1000)}
    return orjson.dumps({"type": "message", "message": message, **fields}, option=orjson.OPT_APPEND_NEWLINE)


def files(home: Home) -> Callable[[bytes], None]:
    """Appends to a transcript, each with a write of its own."""
    home.sessions.mkdir(parents=True)
    handle = os.open(home.sessions / f"{SESSION}.jsonl", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    header = {"type": "session", "version": 3, "id": SESSION, "timestamp": datetime.now(timezone.utc).isoformat()}
    os.write(handle, orjson.dumps(header, option=orjson.OPT_APPEND_NEWLINE))

    def write(line: bytes) -> None:
        os.write(handle, line)

    return write


def database(home: Home) -> Callable[[bytes], None]:
    """Inserts into a database in WAL mode, each in a transaction of its own."""
    path = home.agent / "agent" / "openclaw-agent.sqlite"
    path.parent.mkdir(parents=True)
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = NORMAL")
    db.executescript(transcripts.SCHEMA)
    db.execute("INSERT INTO session_windows (session_id, session_key) VALUES (?, 'agent:main:main')", (SESSION,))
    db.execute("INSERT INTO transcript_rewrite_watermarks VALUES (?, 'first', 1)", (SESSION,))
    seqs = iter(range(10**9))
    insert = "INSERT INTO transcript_events (session_id, seq, event_json, created_at) VALUES (?, ?, ?, ?)"

    def write(line: bytes) -> None:
        db.execute(insert, (SESSION, next(seqs), line.decode(), round(time.time() * 1000)))

    return write


if __name__ == "__main__":
    main()
