"""Total Recall's own runs go into the log: what observed, when, and how it went."""

from __future__ import annotations

from total_recall.commands.places import Place
from total_recall.sidecar.database import Session
from total_recall.sidecar.events import Draft, digest_of
from total_recall.sidecar.ingest import Ingest
from total_recall.state import State

LAST = "own_run"


def log_own_runs(place: Place, state: State, ingest: Ingest) -> None:
    """Take the runs that were recorded since the last time. Raises as `Ingest` does."""
    last = int(ingest.events.meta(LAST) or 0)
    runs = state.runs_after(last)
    if not runs:
        return
    drafts = []
    for _, run in runs:
        at, ended = (round(moment.timestamp() * 1000) for moment in (run.started, run.ended))
        draft = Draft(digest_of("own", run.command, run.started.isoformat()), at, "own_run", name=run.command)
        draft.ok = int(run.outcome == "done")
        draft.duration_ms = max(0, ended - at)
        draft.text = run.detail
        draft.error = "" if draft.ok else run.outcome
        draft.more = {"messages": run.messages, "observations": run.observations}
        drafts.append(draft)
    ingest.put(Session("", place.agents[0]), drafts)
    ingest.events.set_meta(LAST, str(runs[-1][0]))
