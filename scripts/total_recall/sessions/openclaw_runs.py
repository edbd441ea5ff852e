"""What OpenClaw keeps of its runs beside the transcripts: scheduled jobs, sub-agents, requests, sessions that ended.

To 2026.5 these are files (`cron/runs/<job>.jsonl`, `subagents/runs.json`), later tables of `state/openclaw.sqlite`. The
tables are only read, in short queries, and what a version does not have is passed over.

A request that the host refused is in no transcript: `RefusedRequests` offers what was said in it to the observer.
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple
from urllib.parse import quote

from total_recall.confined import guard
from total_recall.records import SessionRef
from total_recall.sessions.entries import DAY_MS, RawMessage, content_text, raw_message, whole_characters
from total_recall.sessions.lines import parse_line
from total_recall.sessions.source import EntrySource, Portion, Problems, Watch, printable, watch
from total_recall.sessions.unwrap import unwrap_user
from total_recall.state import DatabaseMark, FileCursor, KnownSession, RowCursor, State

Kind = Literal["cron", "subagent", "request", "ended"]

BUSY_SECONDS: Final = 2.0
ROWS_A_QUERY: Final = 500
LONGEST_FILE: Final = 64 << 20
"""Bytes of a run log that are read: the host cuts its own at 2 MB."""

STATE_DATABASE: Final = Path("state") / "openclaw.sqlite"
_SESSION_OF_RUN: Final = re.compile(r":run:([0-9a-f]{8}-[0-9a-f-]{27})\Z")
_OK: Final = frozenset(("ok", "succeeded", "completed", "done"))
_FAILED: Final = frozenset(("error", "failed", "timed_out", "timeout", "cancelled", "killed", "lost", "aborted"))

REFUSED: Final = "openclaw-refused"
SETTLED_MS: Final = 300_000
"""A request that failed this long ago is in the transcript by now, or never will be."""
CLOCKS_MS: Final = 1_000
"""A message may be dated this much before the request that brought it."""
_MOST_INT: Final = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class HostRun:
    """One run as the host keeps it. Times are in ms, `at_ms` is when it began; `ok` is None where nobody can say.

    `name` is the name of a job, the label of a sub-agent, why a session ended. `text` is what a request asked, what a
    sub-agent was to do, what a job answered.
    """

    kind: Kind
    id: str
    at_ms: int
    ended_ms: int | None = None
    ok: bool | None = None
    status: str = ""
    name: str | None = None
    text: str = ""
    error: str = ""
    agent: str | None = None
    session_key: str | None = None
    session_id: str | None = None
    requester_key: str | None = None
    more: Mapping[str, Any] = field(default_factory=dict)


def in_state(state_dir: Path, since_ms: int, problems: Problems) -> list[HostRun]:
    """The runs that `state/openclaw.sqlite` keeps and that ended since then: a host keeps those of some days."""
    reads = (partial(read, since_ms=since_ms) for read in (_cron_logs, _tasks, _subagents))
    return _read(state_dir / STATE_DATABASE, problems, *reads)


def in_agent(path: Path, since_ms: int, problems: Problems) -> list[HostRun]:
    """The sessions that an agent's database knows to have ended since then: deleted, or followed by another one."""
    return _read(path, problems, *(partial(read, since_ms=since_ms) for read in (_deleted, _followed)))


def in_files(state_dir: Path, looks: Mapping[str, str], problems: Problems) -> Iterator[tuple[str, str, list[HostRun]]]:
    """(Path, how it looks, its runs) of each run log that does not look as it did in `looks`."""
    names = _job_names(state_dir / "cron" / "jobs.json")
    folder = state_dir / "cron" / "runs"
    logs = sorted(folder.glob("*.jsonl")) if folder.is_dir() else []
    for path in [*logs, state_dir / "subagents" / "runs.json"]:
        seen = watch(path)
        look = f"{seen.ino} {seen.size} {seen.mtime_ns}"
        if not seen.ino or looks.get(printable(path)) == look:
            continue
        try:
            with path.open("rb") as stream:
                raw = stream.read(LONGEST_FILE)
        except OSError as error:
            problems.add("unreadable", f"{printable(path)}: {error.strerror}")
            continue
        if path.suffix == ".json":
            yield printable(path), look, list(_subagents_in(raw))
        else:
            yield printable(path), look, list(_cron_lines(raw, path.stem, names))


def look_of(path: Path) -> str:
    """How a database looks, with its write-ahead log: while that is the same, nothing was written there."""
    seen, log = watch(path), watch(Path(f"{path}-wal"))
    return f"{seen.ino} {seen.size} {seen.mtime_ns} {log.size} {log.mtime_ns}" if seen.ino else ""


# --- tables -----------------------------------------------------------------------------------------------------------


def _read(path: Path, problems: Problems, *reads: Callable[[sqlite3.Connection], Iterator[HostRun]]) -> list[HostRun]:
    """What these read in a database; what they had read until an error is kept, and the error counted."""
    found: list[HostRun] = []
    if not path.is_file():
        return found
    uri = f"file:{quote(os.fsencode(path.resolve()))}?mode=ro"
    try:
        with closing(sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None)) as db:
            db.text_factory = lambda raw: raw.decode("utf-8", "replace")
            db.execute("PRAGMA query_only = 1")
            guard(db)
            for read in reads:
                found.extend(read(db))
    except sqlite3.DatabaseError as error:
        problems.add("database", f"{printable(path)}: {error}")
    return found


def _rows(db: sqlite3.Connection, table: str, time_column: str, since_ms: int) -> Iterator[dict[str, Any]]:
    """The rows of a table from a time on, in order of it; none when the table or the column is not there."""
    columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
    if time_column not in columns:
        return
    query = (
        f"SELECT rowid, * FROM {table} WHERE ({time_column}, rowid) > (?, ?) AND {time_column} IS NOT NULL "
        f"ORDER BY {time_column}, rowid LIMIT {ROWS_A_QUERY}"
    )
    at, row_id = since_ms, -1
    while True:
        with closing(db.execute(query, (at, row_id))) as found:
            rows = found.fetchall()
        for row in rows:
            yield dict(zip(columns, row[1:], strict=True))
        if len(rows) < ROWS_A_QUERY:
            return
        row_id, at = rows[-1][0], rows[-1][1 + columns.index(time_column)]


def _cron_logs(db: sqlite3.Connection, since_ms: int) -> Iterator[HostRun]:
    """`cron_run_logs` of 2026.6 and 2026.7."""
    names: dict[str, str] = {}
    if any(db.execute("PRAGMA table_info(cron_jobs)")):
        names = dict(db.execute("SELECT job_id, name FROM cron_jobs").fetchall())
    for row in _rows(db, "cron_run_logs", "ts", since_ms):
        stored = row.get("entry_json")
        fields = (parse_line(stored.encode()) or {}) if isinstance(stored, str) else {}
        usage = fields.get("usage")
        yield _cron(
            row["job_id"],
            row.get("run_at_ms") or row["ts"],
            row["ts"],
            {**fields, **_known(row)},
            names,
            usage if isinstance(usage, dict) else {},
        )


def _known(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row of `cron_run_logs` under the names that the files before it had."""
    pairs = {
        "status": "status", "error": "error", "summary": "summary", "session_id": "sessionId",
        "session_key": "sessionKey", "duration_ms": "durationMs", "model": "model", "provider": "provider",
        "delivery_status": "deliveryStatus",
    }  # fmt: skip
    return {name: row[column] for column, name in pairs.items() if row.get(column) is not None}


def _tasks(db: sqlite3.Connection, since_ms: int) -> Iterator[HostRun]:
    """`task_runs`: scheduled jobs, sub-agents, and requests of a person or a program."""
    for row in _rows(db, "task_runs", "ended_at", since_ms):
        runtime, run_id = row.get("runtime"), row.get("run_id") or row["task_id"]
        began = row.get("started_at") or row["created_at"]
        status = str(row.get("status") or "")
        key = row.get("child_session_key")
        if runtime == "cron":
            began = row["created_at"]
            fields = {
                "status": status, "error": row.get("error"), "summary": row.get("terminal_summary"), "sessionKey": key,
                "trigger": "manual" if ":manual:" in run_id else None,
            }  # fmt: skip
            name = row.get("label") or row.get("task") or ""
            yield _cron(row.get("source_id") or name, began, row["ended_at"], fields, {}, {}, name, row.get("agent_id"))
            continue
        if runtime not in ("cli", "subagent"):
            continue
        yield HostRun(
            "request" if runtime == "cli" else "subagent",
            run_id,
            row["created_at"],
            row["ended_at"],
            _ok(status),
            status,
            row.get("label"),
            row.get("task") or "",
            row.get("error") or "",
            row.get("agent_id"),
            key or row.get("owner_key"),
            requester_key=row.get("requester_session_key") or row.get("owner_key"),
        )


def _subagents(db: sqlite3.Connection, since_ms: int) -> Iterator[HostRun]:
    for row in _rows(db, "subagent_runs", "created_at", max(0, since_ms - 86_400_000)):
        stored = row.get("payload_json")
        payload = (parse_line(stored.encode()) or {}) if isinstance(stored, str) else {}
        yield _subagent({"runId": row["run_id"], "childSessionKey": row["child_session_key"],
                         "requesterSessionKey": row["requester_session_key"], "createdAt": row["created_at"],
                         **_columns_of_run(row), **payload})  # fmt: skip


def _columns_of_run(row: Mapping[str, Any]) -> dict[str, Any]:
    pairs = {"task": "task", "label": "label", "started_at": "startedAt", "ended_at": "endedAt"}
    return {name: row[column] for column, name in pairs.items() if row.get(column) is not None}


def _deleted(db: sqlite3.Connection, since_ms: int) -> Iterator[HostRun]:
    for row in _rows(db, "session_transcript_archives", "created_at", since_ms):
        if row.get("reason") == "deleted":
            yield HostRun(
                "ended", row["session_id"], row["created_at"], name="deleted",
                session_key=row.get("session_key"), session_id=row["session_id"],
            )  # fmt: skip


def _followed(db: sqlite3.Connection, since_ms: int) -> Iterator[HostRun]:
    for row in _rows(db, "session_windows", "created_at", since_ms):
        before, reason = row.get("previous_session_id"), row.get("reason")
        if before and before != row["session_id"] and reason not in ("fork", "initial"):
            yield HostRun(
                "ended", before, row["created_at"], name=reason or "followed by another",
                session_key=row.get("session_key"), session_id=before,
            )  # fmt: skip


# --- files ------------------------------------------------------------------------------------------------------------


def _cron_lines(raw: bytes, job_id: str, names: Mapping[str, str]) -> Iterator[HostRun]:
    """The finished runs in a `cron/runs/<job>.jsonl`; a last line that is still being written is no JSON yet."""
    for line in raw.split(b"\n"):
        fields = parse_line(line) if line.strip() else None
        if fields is None or fields.get("action") != "finished" or not _is_time(fields.get("ts")):
            continue
        usage, job, ended_ms = fields.get("usage"), fields.get("jobId"), int(fields["ts"])
        yield _cron(
            job if isinstance(job, str) else job_id,
            _time(fields.get("runAtMs")) or ended_ms,
            ended_ms,
            fields,
            names,
            usage if isinstance(usage, dict) else {},
        )


def _cron(
    job: str, at_ms: int, ended_ms: int, fields: Mapping[str, Any], names: Mapping[str, str],
    usage: Mapping[str, Any], name: str = "", agent: str | None = None,
) -> HostRun:  # fmt: skip
    key, session_id, status = fields.get("sessionKey"), fields.get("sessionId"), str(fields.get("status") or "")
    if isinstance(key, str) and not session_id and (named := _SESSION_OF_RUN.search(key)):
        session_id = named[1]
    duration = _time(fields.get("durationMs"))
    return HostRun(
        "cron",
        f"{job} {at_ms}",
        at_ms,
        ended_ms if duration is None else at_ms + duration,
        _ok(status),
        status,
        names.get(job) or name or job,
        _text(fields.get("summary")),
        _text(fields.get("error")),
        agent,
        key if isinstance(key, str) else None,
        session_id if isinstance(session_id, str) else None,
        more={
            "job_id": job,
            **{name: fields[key] for name, key in _CRON_DETAILS if isinstance(fields.get(key), str)},
            **{name: usage[key] for name, key in _USAGE if _is_time(usage.get(key))},
        },
    )


_CRON_DETAILS: Final = (
    ("trigger", "trigger"), ("model", "model"), ("provider", "provider"), ("delivery", "deliveryStatus"),
)  # fmt: skip
_USAGE: Final = (("tokens_in", "input_tokens"), ("tokens_out", "output_tokens"))


def _subagents_in(raw: bytes) -> Iterator[HostRun]:
    """The runs in `subagents/runs.json`, which is rewritten whole: a torn one gives nothing until the next time."""
    whole = parse_line(raw)
    runs = whole.get("runs") if whole is not None else None
    for fields in runs.values() if isinstance(runs, dict) else ():
        if isinstance(fields, dict) and isinstance(fields.get("runId"), str) and _is_time(fields.get("createdAt")):
            yield _subagent(fields)


def _subagent(fields: Mapping[str, Any]) -> HostRun:
    outcome = fields.get("outcome")
    outcome = outcome if isinstance(outcome, dict) else {}
    status, ended = _text(outcome.get("status")), fields.get("endedAt")
    child, requester = fields.get("childSessionKey"), fields.get("requesterSessionKey")
    label = fields.get("label")
    return HostRun(
        "subagent",
        fields["runId"],
        fields["createdAt"],
        ended if _is_time(ended) else None,
        _ok(status),
        status,
        label if isinstance(label, str) and label else None,
        _text(fields.get("task")),
        _text(outcome.get("error")),
        session_key=child if isinstance(child, str) else None,
        requester_key=requester if isinstance(requester, str) else None,
    )


def _job_names(path: Path) -> dict[str, str]:
    """Names by job id from `cron/jobs.json`; none from a file that is not there or torn."""
    try:
        whole = parse_line(path.read_bytes())
    except OSError:
        return {}
    jobs: Sequence[object] = whole.get("jobs", ()) if whole is not None else ()
    return {
        job["id"]: job["name"]
        for job in jobs
        if isinstance(job, dict) and isinstance(job.get("id"), str) and isinstance(job.get("name"), str)
    }


def _ok(status: str) -> bool | None:
    return True if status in _OK else False if status in _FAILED else None


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _time(value: object) -> int | None:
    return value if type(value) is int and 0 <= value < 1 << 53 else None


def _is_time(value: object) -> bool:
    return _time(value) is not None


# --- what was said in requests that were refused ----------------------------------------------------------------------

_REQUEST_COLUMNS: Final = (
    "run_id", "task", "child_session_key", "owner_key", "agent_id", "status", "runtime", "created_at", "ended_at",
)  # fmt: skip
_REFUSED_ONES: Final = (
    f"FROM task_runs WHERE runtime = 'cli' AND status IN ({', '.join(repr(status) for status in sorted(_FAILED))}) "
    "AND ended_at IS NOT NULL"
)
NEWEST_REFUSED: Final = f"SELECT count(*), max(ended_at) {_REFUSED_ONES}"
_SESSION_THEN: Final = (
    "SELECT session_id FROM session_windows WHERE session_key = ? ORDER BY created_at > ?, created_at DESC LIMIT 1"
)
_NO_TASKS: Final = "SELECT count(*) FROM sqlite_master WHERE name = 'task_runs'"


class _Said(NamedTuple):
    """A person's message in a transcript: the run that brought it, where it names one, its words and its time."""

    run: str
    text: str
    at_ms: int


class RefusedRequests:
    """What a person said to one agent in requests that failed before they reached a transcript (OpenClaw 2026.9.6:
    the compaction before them failed). Each is a message of the session that it was for, named by its run.

    `transcripts` are the agent's stores, where a request is looked for, and `database` the agent's own.
    """

    name = REFUSED

    def __init__(
        self, state_dir: Path, agent: str, transcripts: Sequence[EntrySource], database: Path, *, latest_ms: int
    ) -> None:
        self.path = state_dir / STATE_DATABASE
        self.agent = agent
        self._transcripts = transcripts
        self._database = database
        self._latest_ms = latest_ms
        self._store = printable(self.path)
        self._watches: list[Watch] = []

    @property
    def location(self) -> Path:
        return self.path

    def transcripts(self) -> int:
        return 0

    def watches(self) -> list[Watch]:
        return self._watches

    def unread(self) -> list[str]:
        return []

    def portions(self, state: State, *, fresh: bool, problems: Problems) -> Iterator[Portion]:
        """A portion for each request that ended since the last time, in order; one that is in a transcript is empty."""
        self._watches = [watch(self.path), watch(Path(f"{self.path}-wal"))]
        counted = problems.counts.get("database", 0)
        found = _read(self.path, problems, self._look)
        mine = [run for run in found if _agent_of(run) == self.agent and run.at_ms <= self._latest_ms]
        settled = [run for run in mine if (run.ended_ms or 0) <= self._latest_ms - DAY_MS - SETTLED_MS]
        if len(settled) < len(mine) or problems.counts.get("database", 0) > counted:
            self._look_again()
        yield from self._new(settled, state, fresh=fresh)

    def _look(self, db: sqlite3.Connection) -> Iterator[HostRun]:
        columns = {row[1] for row in db.execute("PRAGMA table_info(task_runs)")}
        query = NEWEST_REFUSED if columns.issuperset(_REQUEST_COLUMNS) else _NO_TASKS
        self._watches.append(replace(self._watches[0], query=query, answer=repr(db.execute(query).fetchone())))
        if query == NEWEST_REFUSED:
            yield from _requests(db)

    def _look_again(self) -> None:
        """Count as not seen, so that the next run looks again although nothing was written meanwhile."""
        self._watches = [Watch(str(self.path), 0, 0, 0)]

    def _new(self, runs: Sequence[HostRun], state: State, *, fresh: bool) -> Iterator[Portion]:
        cursors = {} if fresh else state.row_cursors(self._store)
        sessions = self._sessions(runs)
        new = []
        for run in runs:
            session_id = sessions.get(run.id, run.id)
            cursor = cursors.get(session_id)
            if cursor is None or (run.ended_ms or 0, run.id) > (cursor.seq, cursor.generation):
                new.append((session_id, run))
        if not new:
            return
        said = list(self._said(min(run.at_ms for _, run in new) - CLOCKS_MS))
        for session_id, run in new:
            known = state.known_session(session_id)
            if known is not None and known.muted:
                # The answer to something that is kept out may be on its way: a message between would let it in.
                self._look_again()
                continue
            messages = () if _is_among(run, said) else (_message_of(run),)
            cursor = RowCursor(self._store, session_id, run.ended_ms or 0, run.id)
            yield Portion(self._ref(session_id, run, known), messages, run.at_ms, appended=not fresh, rows=(cursor,))

    def _ref(self, session_id: str, run: HostRun, known: KnownSession | None) -> SessionRef:
        channel = known.channel if known is not None else None
        return SessionRef(REFUSED, self._store, session_id, self.agent, session_id, run.session_key, channel)

    def _sessions(self, runs: Sequence[HostRun]) -> dict[str, str]:
        """The session that each run was for, by run id, as far as the agent's database tells."""
        found: dict[str, str] = {}

        def look(db: sqlite3.Connection) -> Iterator[HostRun]:
            columns = {row[1] for row in db.execute("PRAGMA table_info(session_windows)")}
            if columns.issuperset(("session_id", "session_key", "created_at")):
                for run in runs:
                    row = db.execute(_SESSION_THEN, (run.session_key, run.at_ms)).fetchone()
                    if row is not None:
                        found[run.id] = row[0]
            yield from ()

        if runs:
            # What is wrong with that database, its own reader says.
            _read(self._database, Problems(), look)
        return found

    def _said(self, since_ms: int) -> Iterator[_Said]:
        """What people said in the agent's transcripts since then."""
        marks = _Since(since_ms, self._database)
        for source in self._transcripts:
            for portion in source.entries(marks, problems=Problems()):
                for entry in portion.entries:
                    raw = raw_message(entry, self._latest_ms)
                    if raw is not None and raw.role == "user" and raw.at_ms is not None and raw.at_ms >= since_ms:
                        run = entry["message"].get("idempotencyKey")
                        run = run.removesuffix(":user") if isinstance(run, str) else ""
                        yield _Said(run, _words(content_text(entry["message"].get("content"))), raw.at_ms)


@dataclass(frozen=True, slots=True)
class _Since:
    """Bookmarks for a reading of what was written since a time: older files and rows count as read."""

    since_ms: int
    database: Path

    def file_cursors(self, store: str) -> dict[str, FileCursor]:
        found: dict[str, FileCursor] = {}
        try:
            with os.scandir(store) as entries:
                for entry in entries:
                    info = entry.stat()
                    if info.st_mtime * 1000 < self.since_ms:
                        name, dev, ino = printable(entry.name), info.st_dev & _MOST_INT, info.st_ino & _MOST_INT
                        found[name] = FileCursor(store, name, dev, ino, info.st_size, info.st_mtime_ns, 0, b"", name)
        except OSError:
            # Then there is nothing that could be passed over.
            return {}
        return found

    def row_cursors(self, store: str) -> dict[str, RowCursor]:
        return {}

    def database_mark(self, store: str) -> DatabaseMark | None:
        found: list[tuple[int, str, int]] = []

        def look(db: sqlite3.Connection) -> Iterator[HostRun]:
            # From the newest row back: as many steps as there were rows since.
            query = "SELECT rowid, session_id, seq FROM transcript_events WHERE created_at < ? ORDER BY rowid DESC"
            found.extend(db.execute(f"{query} LIMIT 1", (self.since_ms,)).fetchall())
            yield from ()

        _read(self.database, Problems(), look)
        return DatabaseMark(store, *found[0]) if found else None

    def known_session(self, session_id: str) -> KnownSession | None:
        return None


def _requests(db: sqlite3.Connection) -> Iterator[HostRun]:
    query = f"SELECT {', '.join(_REQUEST_COLUMNS)} {_REFUSED_ONES} ORDER BY ended_at, run_id"
    for row in db.execute(query).fetchall():
        run_id, task, child, owner, agent, status, _, created, ended = row
        if isinstance(run_id, str) and isinstance(task, str) and _is_time(created) and _is_time(ended):
            key = child or owner or None
            yield HostRun(
                "request", run_id, created, ended, False, status, text=task, agent=agent, session_key=key
            )  # fmt: skip


def _agent_of(run: HostRun) -> str | None:
    words = (run.session_key or "").split(":")
    return words[1] if words[0] == "agent" and len(words) > 2 else run.agent


def _is_among(run: HostRun, said: Sequence[_Said]) -> bool:
    """Whether a request reached a transcript: under its run, or, then or later, in the same words."""
    words = _words(run.text)
    return any(
        one.run == run.id or (one.text == words and one.at_ms >= run.at_ms - CLOCKS_MS) for one in said
    )  # fmt: skip


def _words(text: str) -> str:
    spoken = unwrap_user(whole_characters(text), provenance=None, owner=None)
    return " ".join((spoken.text or text).split())


def _message_of(run: HostRun) -> RawMessage:
    return RawMessage(run.id, "user", whole_characters(run.text), run.at_ms, None, None)
