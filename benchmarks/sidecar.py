"""How fast the log of events takes in what an agent did, how large it gets, and how fast it answers.

Measured, over made-up JSONL transcripts of an agent that works with tools all day (a question, 0 to 15 tool calls with
results of 0.1 to 2 kB, an answer), 180 days of them:
- `events_a_second`: a `log ingest` of everything, from the transcripts to the last transaction, in this process;
  `cpu_events_a_second` is the same by processor time, for machines on which others work as well. To be reached: 30,000.
- `bytes_an_event`: the database with its indexes and its full text. To be reached: under 500.
- `next_ms`: the next run, with 100 new events; `idle_ms`: one with nothing new.
- `queries_ms`: the median of each question, with the log open. To be reached: under 20.
- `peak_mb`: the largest resident set.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import tempfile
import time
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import transcripts
from measure import ROOT, milliseconds, report

sys.path.insert(0, str(ROOT / "scripts"))

from total_recall.commands import logging_events, places
from total_recall.sidecar.database import Events
from total_recall.sidecar.fulltext import match_query

AT_LEAST_EVENTS = 30_000
AT_MOST_BYTES = 500
AT_MOST_QUERY_MS = 20
DAYS = 180
SESSIONS_A_DAY = 3
CALLS_A_TURN = 15
EVENTS_A_TURN = 3 + CALLS_A_TURN


class Busy(transcripts.Writer):
    """An agent that works all day: many short results, one in twelve of them a failure."""

    def begin(self, day: int) -> None:
        self._at = datetime.now(timezone.utc).replace(hour=8) - timedelta(days=DAYS - day)

    def turn(self) -> list[bytes]:
        calls = [line for number in range(self._random.randint(0, CALLS_A_TURN)) for line in self._tool_call(number)]
        answer = [transcripts.text_block(self._cut(self._prose, 50, 1000))]
        return [
            self._message({"role": "user", "content": self._cut(self._prose, 40, 600)}),
            *calls,
            self._message({"role": "assistant", "content": answer, **transcripts.MODEL, "stopReason": "stop"}),
        ]

    def _tool_call(self, number: int) -> list[bytes]:
        tool, call = self._random.choice(transcripts.TOOLS), f"call_{number}"
        arguments = {"command": self._cut(self._prose, 20, 120)}
        asked = [{"type": "toolCall", "id": call, "name": tool, "arguments": arguments}]
        failed = self._random.random() < 1 / 12
        result: dict[str, object] = {
            "role": "toolResult", "toolCallId": call, "toolName": tool,
            "content": [transcripts.text_block(self._cut(self._output, 100, 2000))],
            "details": {"status": "completed", "exitCode": int(failed), "durationMs": self._random.randrange(9000)},
            "isError": False,
        }  # fmt: skip
        return [
            self._message({"role": "assistant", "content": asked, **transcripts.MODEL, "stopReason": "toolUse"}),
            self._message(result),
        ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=15)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        os.environ.update(HOME=folder)
        for name in [name for name in os.environ if name.startswith(("OPENCLAW_", "TOTAL_RECALL_", "MEMORY_"))]:
            del os.environ[name]
        written = write(home / ".openclaw" / "agents" / "main" / "sessions", options.events)
        first, seconds, cpu_seconds = ingested()
        own = home / ".openclaw" / "workspace" / "memory" / ".total-recall"
        size = sum(path.stat().st_size for path in own.glob("events.sqlite*"))
        idle = [ingested()[1] for _ in range(min(5, options.runs))]
        following = []
        for number in range(min(5, options.runs)):
            add_events(home, number)
            following.append(ingested()[1])
        report(
            "sidecar",
            days=DAYS,
            megabytes=round(written / 1e6, 1),
            events=first,
            seconds=round(seconds, 2),
            events_a_second=round(first / seconds),
            cpu_events_a_second=round(first / cpu_seconds),
            megabytes_a_second=round(written / 1e6 / seconds, 1),
            bytes_an_event=round(size / first),
            log_megabytes=round(size / 1e6, 1),
            idle_ms=milliseconds(idle),
            next_ms=milliseconds(following),
            queries_ms=asked(own, options.runs),
            peak_mb=round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000, 1),
            at_least_events=AT_LEAST_EVENTS,
            at_most_bytes=AT_MOST_BYTES,
            at_most_query_ms=AT_MOST_QUERY_MS,
        )


def write(folder: Path, events: int) -> int:
    """Transcripts of about so many events, over half a year; their bytes."""
    folder.mkdir(parents=True)
    writer = Busy(seed=1)
    sessions = DAYS * SESSIONS_A_DAY
    turns = max(1, round(events / EVENTS_A_TURN / sessions))
    written = 0
    for number in range(sessions):
        writer.begin(number // SESSIONS_A_DAY)
        path = folder / f"{writer.session_id()}.jsonl"
        with path.open("wb") as stream:
            stream.writelines(writer.header(path.stem))
            for _ in range(turns):
                stream.writelines(writer.turn())
            written += stream.tell()
    return written


def add_events(home: Path, seed: int) -> None:
    """The agent works a little more, in one session."""
    path = min((home / ".openclaw" / "agents" / "main" / "sessions").glob("*.jsonl"))
    writer = Busy(seed=100 + seed)
    writer.begin(DAYS)
    with path.open("ab") as stream:
        for _ in range(round(100 / EVENTS_A_TURN)):
            stream.writelines(writer.turn())


def ingested() -> tuple[int, float, float]:
    """(Events, seconds, seconds of the processor) of one `log ingest`."""
    begun, cpu = time.perf_counter(), time.process_time()
    result = logging_events.run(logging_events.Options(), places.configure())
    return sum(i.events for i in result.logs), time.perf_counter() - begun, time.process_time() - cpu


def asked(own: Path, runs: int) -> dict[str, float]:
    """The medians of questions that people ask, in ms."""
    now = round(time.time() * 1000)
    day = 86_400_000
    with Events.open_readonly(own) or Events.open(own) as events:
        session = events.db.execute("SELECT num FROM session ORDER BY num LIMIT 1 OFFSET 100").fetchone()[0]
        columns = "at, type, name, ok, summary, error, duration_ms"
        questions: dict[str, tuple[str, tuple[Any, ...]]] = {
            "failed tool calls of yesterday": (
                f"SELECT {columns} FROM event WHERE ok = 0 AND type = 'tool_call' AND at >= ? AND at < ? "
                "ORDER BY at, id",
                (now - 2 * day, now - day),
            ),
            "errors of a week": (
                f"SELECT {columns} FROM event WHERE ok = 0 AND at >= ? ORDER BY at DESC, id DESC LIMIT 100",
                (now - 7 * day,),
            ),
            "what a session did": (
                f"SELECT {columns} FROM event WHERE session = ? ORDER BY at, id LIMIT 1000",
                (session,),
            ),
            "a tool, last 50": (
                f"SELECT {columns} FROM event WHERE type = 'tool_call' AND name = 'exec' ORDER BY at DESC LIMIT 50",
                (),
            ),
            "full text, last 50": (
                f"SELECT {columns} FROM event WHERE id IN (SELECT rowid FROM event_text WHERE event_text MATCH ? "
                "ORDER BY rowid DESC LIMIT 50)",
                (match_query("certificate rollback 여권"),),
            ),
        }  # fmt: skip
        return {name: median(events, *question, runs) for name, question in questions.items()}


def median(events: Events, sql: str, values: tuple[Any, ...], runs: int) -> float:
    took = []
    for _ in range(runs):
        begun = time.perf_counter()
        events.db.execute(sql, values).fetchall()
        took.append(time.perf_counter() - begun)
    return milliseconds(took)


if __name__ == "__main__":
    main()
