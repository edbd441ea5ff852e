"""What came of a night: for a person, for a program, for the log and for the metrics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import tzinfo
from pathlib import Path
from typing import Final

from total_recall.memory import dream_log
from total_recall.memory.dream_log import Metrics, TypeCount
from total_recall.memory.last_dream import Unfinished
from total_recall.records import ObservationType

OFFLINE: Final = "offline"
SHOWN: Final = 12


@dataclass(frozen=True, slots=True)
class MemoryDream:
    """What a night did to one memory. Tokens are estimates of the whole document.

    `archived` are lines for people, `hooks` the hook lines written. `wrong` is what validation found: then the memory
    is as it was before. `is_over` says that there was nothing to look at, or somebody else was at it.
    """

    memory_dir: Path
    is_over: bool = False
    dry_run: bool = False
    model: str = OFFLINE
    observations: int = 0
    tokens_before: int = 0
    tokens_after: int = 0
    target_tokens: int = 0
    archived: tuple[str, ...] = ()
    hooks: tuple[str, ...] = ()
    chunks: int = 0
    retired: int = 0
    types: Mapping[ObservationType, TypeCount] = field(default_factory=dict)
    flagged: tuple[str, ...] = ()
    staged: tuple[str, ...] = ()
    false_archives: int = 0
    wrong: tuple[str, ...] = ()
    backup: Path | None = None
    notes: tuple[str, ...] = ()

    @property
    def is_valid(self) -> bool:
        return not self.wrong


def metrics_of(done: MemoryDream, night: Unfinished, seconds: float) -> Metrics:
    return Metrics(
        date=night.day,
        model=done.model,
        runtime_seconds=max(0.0, seconds),
        observations_total=done.observations,
        observations_archived=len(done.archived),
        hooks_created=len(done.hooks) if not done.wrong else 0,
        tokens_before=done.tokens_before,
        tokens_after=done.tokens_after,
        critical_false_archives=done.false_archives,
        validation_passed=done.is_valid,
        dry_run=done.dry_run,
        notes="; ".join((*done.wrong[:SHOWN], *done.notes)),
    )


def log_of(done: MemoryDream, night: Unfinished, metrics: Metrics, tz: tzinfo) -> dream_log.Night:
    checks = done.wrong or (
        "every observation is in the memory or in the archive, none twice",
        "your own text is as it was",
        "no rule, no coming date, nothing of importance 9 or more has left",
    )
    steps = [f"look at this proposal (total-recall staging list): {proposal}" for proposal in done.staged]
    if done.wrong:
        steps.append("the memory is as it was before; nothing was archived")
    elif done.archived:
        steps.append("total-recall undo dream takes this night back")
    return dream_log.Night(
        at=night.at.astimezone(tz),
        metrics=metrics,
        archived=done.archived,
        hooks=done.hooks if not done.wrong else (),
        types=done.types,
        validation=tuple(f"rolled back: {what}" for what in checks) if done.wrong else tuple(checks),
        flagged=done.flagged,
        next_steps=tuple(steps),
    )


def sentence(done: MemoryDream) -> str:
    """What happened, in a line."""
    where = done.memory_dir / "observations.md"
    if done.is_over:
        return f"Nothing to dream of in {where}."
    if done.wrong:
        return f"Rolled back, {where} is as it was: {done.wrong[0]}"
    if not done.archived:
        return f"Nothing leaves: {done.observations} observations, {done.tokens_before:,} tokens in {where}."
    would = "would go" if done.dry_run else "went"
    return (
        f"{len(done.archived)} of {done.observations} observations {would} to the archive ({done.model}): "
        f"{done.tokens_before:,} tokens to {done.tokens_after:,}; {done.chunks} chunks, {len(done.hooks)} hook lines"
    )


def lines_of(done: MemoryDream) -> Iterator[str]:
    yield sentence(done)
    if done.dry_run:
        yield from (f"  {line}" for line in done.archived)
    for title, texts in (("wrong", done.wrong[1:]), ("look at", done.flagged), ("staged", done.staged)):
        yield from (f"  {title}: {text}" for text in texts[:SHOWN])
        if len(texts) > SHOWN:
            yield f"  {title}: {len(texts) - SHOWN} more; --json shows all"
    yield from (f"  {note}" for note in done.notes)


def fields_of(done: MemoryDream) -> dict[str, object]:
    return {
        "memory_dir": str(done.memory_dir),
        "dry_run": done.dry_run,
        "model": done.model,
        "observations": done.observations,
        "archived": list(done.archived),
        "hooks": list(done.hooks),
        "chunks": done.chunks,
        "hooks_retired": done.retired,
        "tokens_before": done.tokens_before,
        "tokens_after": done.tokens_after,
        "target_tokens": done.target_tokens,
        "types": {kind: {"count": one.count, "archived": one.archived} for kind, one in done.types.items()},
        "flagged": list(done.flagged),
        "staged": list(done.staged),
        "critical_false_archives": done.false_archives,
        "validation_passed": done.is_valid,
        "wrong": list(done.wrong),
        "backup": str(done.backup) if done.backup else None,
        "notes": list(done.notes),
    }


def text_of(raw: str) -> str:
    """What a line says, without its mark's dash and its metadata."""
    return raw.partition("<!--")[0].strip().removeprefix("- ")
