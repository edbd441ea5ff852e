"""The doctor's checks of hosts beside OpenClaw: what their transcripts hold that will be deleted before it is read."""

from __future__ import annotations

from datetime import datetime, timedelta

from total_recall import clock
from total_recall.commands.doctor_findings import Finding, Findings, Host, Kept, Memory, age, command, quoted
from total_recall.commands.observing import counted
from total_recall.commands.projects import Store
from total_recall.commands.setup_record import read
from total_recall.host import claude_config
from total_recall.state import State

NEAR = timedelta(days=7)
"""So long before the host deletes a transcript that was not read, it is time to say so."""


def retention(host: Host) -> Findings:
    """How long Claude Code keeps its transcripts, where its sessions are remembered. Raises TotalRecallError."""
    where = host.config.locations
    if claude_config.HOST not in (one.host.name for one in host.config.others):
        return
    path = claude_config.settings_path(where.env, where.home)
    content = read(path)
    days = claude_config.cleanup_days(content)
    said = f"{path}: transcripts are kept for {counted(days, 'day')}"
    if claude_config.are_off(content):
        fix = "take disableAllHooks out, else only the schedule observes, and no session is told what is remembered"
        yield Finding("Claude Code", "warning", f"{path} has disableAllHooks: no hook runs", fix)
    if days < 1:
        fix = "set cleanupPeriodDays to a day at least, or sessions go before anything can read them"
        yield Finding("Claude Code", "warning", said, fix)
    else:
        yield Finding("Claude Code", "ok", said)


def foreign(memory: Memory) -> Findings:
    """A memory in a project that this installation has not made: a stranger may have put it there."""
    for store in memory.place.stores:
        if store.is_foreign and store.project is not None:
            said = f"{store.project} came with a .total-recall that is not ours: it is not read"
            fix = f"remove it; or, if it is yours, move its observations.md to {quoted(store.memory_dir)}"
            yield Finding("project", "warning", said, fix)


def at_risk(kept: Kept) -> Findings:
    """Transcripts that were not read to their end and that the host will soon delete. Raises TotalRecallError."""
    memory = kept.memory
    if not memory.place.stores:
        return
    where = memory.config.locations
    days = claude_config.cleanup_days(read(claude_config.settings_path(where.env, where.home)))
    late = [oldest for store in memory.place.stores if (oldest := _oldest(store, kept.state)) is not None]
    if not late:
        return
    past = memory.now - min(late)
    if past <= max(timedelta(days=days) - NEAR, timedelta(days=days) / 2):
        return
    left = timedelta(days=days) - past
    when = f"in {age(left)}" if left > timedelta(0) else "at its next start"
    said = f"what was said {age(past)} ago was not taken yet, and Claude Code deletes it {when}"
    yield Finding("retention", "error", said, command("observe"))


def _oldest(store: Store, state: State) -> datetime | None:
    """When the oldest transcript that holds something new was last written to."""
    behind = store.source(2**62).behind(state)
    return clock.from_epoch_ms(behind[0].stat.st_mtime * 1000) if behind else None
