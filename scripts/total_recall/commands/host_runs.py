"""What the host knows beside its transcripts goes into the log: scheduled jobs, sub-agents, requests that were refused,
sessions that ended.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Final

from total_recall.commands.places import Configuration, Place
from total_recall.records import Message
from total_recall.sessions import openclaw_runs
from total_recall.sessions.entries import time_of
from total_recall.sessions.openclaw_runs import HostRun, Kind
from total_recall.sessions.openclaw_sqlite import OpenClawSqlite
from total_recall.sessions.selection import channel_of, session_class
from total_recall.sessions.source import Problems
from total_recall.sessions.unwrap import unwrap_user
from total_recall.sidecar.database import Session
from total_recall.sidecar.events import Draft, digest_of, spawned
from total_recall.sidecar.ingest import Ingest
from total_recall.sidecar.values import count

AGAIN_MS = 3_600_000
"""Runs that ended in the hour before the last look are looked at again: hosts write some of it late."""
SETTLED_MS = 60_000
"""A request that failed this long ago is in the transcript by now, or never will be."""
NEAR_MS = 5_000

KeepsOut = Callable[[Message], bool]


class HostRuns:
    """Takes the runs that a host keeps into the log of one memory. `now_ms` is when the transcripts were read."""

    def __init__(self, place: Place, config: Configuration, ingest: Ingest, kept_out: KeepsOut, now_ms: int) -> None:
        self._place, self._config, self._ingest = place, config, ingest
        self._kept_out, self._now_ms = kept_out, now_ms
        self._unsettled = False

    def take(self, problems: Problems) -> None:
        """Take what ended since the last time. Raises as `Ingest` does; what cannot be read is counted."""
        state_dir = self._state_dir()
        self._ingest.write()
        for source in self._place.sources:
            if isinstance(source, OpenClawSqlite):
                self._new_in(source.path, partial(openclaw_runs.in_agent, source.path, problems=problems))
        if state_dir is None:
            return
        database = state_dir / openclaw_runs.STATE_DATABASE
        self._new_in(database, partial(openclaw_runs.in_state, state_dir, problems=problems))
        events = self._ingest.events
        looks: dict[str, str] = json.loads(events.meta("run_logs") or "{}")
        found = list(openclaw_runs.in_files(state_dir, looks, problems))
        for name, look, runs in found:
            for run in runs:
                self._take(run)
            looks[name] = look
        if found:
            events.set_meta("run_logs", json.dumps(looks))

    def _state_dir(self) -> Path | None:
        """The host's state directory; None where `SESSIONS_DIR` names a folder of transcripts and nothing else."""
        directory = self._config.settings.sessions_dir
        if directory is None or (directory / "agents").is_dir():
            return directory or self._config.locations.state_dir
        return directory.parents[2] if directory.parent.parent.name == "agents" else None

    def _new_in(self, path: Path, read: Callable[[int], list[HostRun]]) -> None:
        """Take the new runs of one database, when it was written since the last look."""
        events, look = self._ingest.events, openclaw_runs.look_of(path)
        if not look or events.meta(f"look {path}") == look:
            return
        newest, self._unsettled = int(events.meta(f"ended {path}") or 0), False
        for run in read(max(0, newest - AGAIN_MS)):
            self._take(run)
            newest = max(newest, min(run.ended_ms or run.at_ms, self._now_ms))
        events.set_meta(f"ended {path}", str(newest))
        events.set_meta(f"look {path}", "" if self._unsettled else look)

    def _take(self, run: HostRun) -> None:
        agent = self._agent_of(run)
        if agent not in self._place.agents or not 0 < run.at_ms <= self._ingest.latest_ms:
            return
        _TAKEN[run.kind](self, run, agent)

    def _agent_of(self, run: HostRun) -> str:
        """Whose run it is; one that names nobody is the default agent's, whose memory comes first."""
        for key in (run.session_key, run.requester_key):
            words = (key or "").split(":")
            if words[0] == "agent" and len(words) > 2:
                return words[1]
        return run.agent or self._config.host.agents[0].id

    def _session(self, agent: str, key: str | None, at_ms: int, parent: str | None = None) -> Session:
        """The session that had that key at that time, or none."""
        if key is None:
            return Session("", agent)
        kind = session_class(key, main_key=self._config.host.main_key)
        keyless = kind if kind == "main" else None
        known = self._ingest.events.session_with_key(key, agent, at_ms, keyless=keyless)
        return Session(known, agent, parent=parent) if known else Session("", agent)

    def _is_kept_out(self, key: str | None, session_id: str, text: str = "", at_ms: int = 0) -> bool:
        message = Message(
            "host", session_id, key, "", "user", text, time_of(at_ms), channel=channel_of(key) if key else None
        )
        return self._kept_out(message)

    # --- one kind of run each

    def _cron(self, run: HostRun, agent: str) -> None:
        key = run.session_key or f"agent:{agent}:cron:{run.more['job_id']}"
        session = self._session(agent, key, run.ended_ms or run.at_ms)
        if run.session_id is not None:
            session = Session(run.session_id, agent)
        if self._is_kept_out(run.session_key, session.id):
            return
        draft = _ran(run, digest_of("cron", run.id), "cron_run")
        draft.tokens_in, draft.tokens_out = count(run.more.get("tokens_in")), count(run.more.get("tokens_out"))
        draft.more = {k: v for k, v in run.more.items() if not k.startswith("tokens_")}
        self._ingest.put(session, [draft])

    def _subagent(self, run: HostRun, agent: str) -> None:
        parent = self._session(agent, run.requester_key, run.at_ms)
        if run.session_key is None or self._is_kept_out(run.requester_key, parent.id):
            return
        self._session_of_child(run, agent)
        drafts = [spawned(run.at_ms, run.session_key, run.id, run.text, run.name)]
        if run.ended_ms is not None:
            finished = _ran(run, digest_of("finished", run.id), "subagent_finished")
            finished.at = run.ended_ms
            finished.text = ""
            finished.more = {"child_key": run.session_key, "run_id": run.id}
            drafts.append(finished)
        self._ingest.put(parent, drafts)

    def _session_of_child(self, run: HostRun, agent: str) -> None:
        child = self._session(agent, run.session_key, run.ended_ms or run.at_ms, run.requester_key)
        if child.id:
            self._ingest.events.session(child)

    def _request(self, run: HostRun, agent: str) -> None:
        """A request that failed, and never reached the transcript: both what was said, and that it failed."""
        if run.ok is not False or run.ended_ms is None:
            return
        if run.ended_ms > self._now_ms - SETTLED_MS:
            self._unsettled = True
            return
        events, session = self._ingest.events, self._session(agent, run.session_key, run.at_ms)
        spoken = unwrap_user(run.text, provenance=None, owner=None)
        text = spoken.text if spoken.kind == "human" else run.text
        if self._is_kept_out(run.session_key, session.id) or self._is_kept_out(
            run.session_key, session.id, text, run.at_ms
        ):
            return
        said = Draft(digest_of("request", run.id), run.at_ms, "user_message", run.id, spoken.kind, text=text)
        said.more = {"run": run.id, "refused": True}
        drafts = []
        (row,) = self._ingest.rows([said])
        until = run.ended_ms + NEAR_MS
        if not events.was_said(session.id, agent, run.id, row, run.at_ms - NEAR_MS, until):
            drafts.append(said)
        if not events.has_error(session.id, agent, run.at_ms - NEAR_MS, until):
            failed = _ran(run, digest_of("failed", run.id), "error")
            failed.at, failed.name, failed.text = run.ended_ms, "run", ""
            failed.error = run.error or run.status
            drafts.append(failed)
        self._ingest.put(session, drafts)

    def _ended(self, run: HostRun, agent: str) -> None:
        if run.session_id is None or self._is_kept_out(run.session_key, run.session_id):
            return
        draft = Draft(digest_of("end", run.session_id), run.at_ms, "session_end", name=run.name)
        key = run.session_key
        kind = session_class(key, main_key=self._config.host.main_key) if key else None
        self._ingest.put(Session(run.session_id, agent, key, kind), [draft])


_TAKEN: Final[Mapping[Kind, Callable[[HostRuns, HostRun, str], None]]] = {
    "cron": HostRuns._cron,
    "subagent": HostRuns._subagent,
    "request": HostRuns._request,
    "ended": HostRuns._ended,
}


def _ran(run: HostRun, digest: int, kind: str) -> Draft:
    """The event of a run that is over."""
    draft = Draft(digest, run.at_ms, kind, run.id, run.name, text=run.text)  # type: ignore[arg-type]
    draft.ok = None if run.ok is None else int(run.ok)
    draft.duration_ms = None if run.ended_ms is None else max(0, run.ended_ms - run.at_ms)
    draft.error = (run.error or run.status) if run.ok is False else ""
    return draft
