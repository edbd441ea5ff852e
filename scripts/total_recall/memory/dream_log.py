"""What a dream cycle did, for people and for programs: values in, files out.

`dream-logs/DATE.md` has a section for each run of a day. `../research/dream-cycle-metrics/daily/DATE.json` has one set
of numbers a day, in the fields of schemas/dream-metrics.json; `merged` says which run they are of.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from pathlib import Path
from typing import Any, get_args

from total_recall import resources
from total_recall.errors import PayloadError
from total_recall.memory.files import read_file, write_file
from total_recall.memory.line import one_line
from total_recall.records import ObservationType
from total_recall.state import Step, no_step, sole

SCHEMA = "dream-metrics"
ITEM_CHARACTERS = 500
"""A line of the log is cut here; the archive has the whole."""
LOCK_WAIT_SECONDS = 10.0

_OWN = ".total-recall"
_LOCK = "dream-log"
_TYPES: tuple[ObservationType, ...] = get_args(ObservationType)


@dataclass(frozen=True, slots=True)
class Metrics:
    """The numbers of one run. `date` is the user's local day, tokens are estimates, counts are of observations.

    A run that was rolled back archived nothing: `tokens_after` is `tokens_before`, and `notes` say why.
    """

    date: date
    model: str
    runtime_seconds: float
    observations_total: int
    observations_archived: int
    hooks_created: int
    tokens_before: int
    tokens_after: int
    critical_false_archives: int
    validation_passed: bool
    dry_run: bool
    notes: str = ""

    @property
    def tokens_saved(self) -> int:
        """Negative when the document has grown."""
        return self.tokens_before - self.tokens_after

    @property
    def reduction_pct(self) -> float:
        """The tokens saved in percent of those before, one decimal; 0 for an empty document."""
        return round(100 * self.tokens_saved / self.tokens_before, 1) if self.tokens_before else 0.0


@dataclass(frozen=True, slots=True)
class TypeCount:
    """How many observations of a type there were, and how many of them were archived."""

    count: int = 0
    archived: int = 0


@dataclass(frozen=True, slots=True)
class Night:
    """One run as the log tells it. `at` is aware, in the user's zone; every text is one item, in plain words."""

    at: datetime
    metrics: Metrics
    archived: tuple[str, ...] = ()
    hooks: tuple[str, ...] = ()
    types: Mapping[ObservationType, TypeCount] = field(default_factory=dict, hash=False)
    validation: tuple[str, ...] = ()
    flagged: tuple[str, ...] = ()
    next_steps: tuple[str, ...] = ()


def fields(metrics: Metrics) -> dict[str, Any]:
    """The fields of schemas/dream-metrics.json, in their order."""
    return {
        "date": metrics.date.isoformat(),
        "model": metrics.model,
        "runtime_seconds": round(metrics.runtime_seconds, 2),
        "observations_total": metrics.observations_total,
        "observations_archived": metrics.observations_archived,
        "hooks_created": metrics.hooks_created,
        "tokens_before": metrics.tokens_before,
        "tokens_after": metrics.tokens_after,
        "tokens_saved": metrics.tokens_saved,
        "reduction_pct": metrics.reduction_pct,
        "critical_false_archives": metrics.critical_false_archives,
        "validation_passed": metrics.validation_passed,
        "dry_run": metrics.dry_run,
        "notes": metrics.notes,
    }


def metrics_of(value: Mapping[str, Any]) -> Metrics:
    """The metrics that checked JSON fields stand for. What follows from the others is worked out anew."""
    return Metrics(
        date=date.fromisoformat(value["date"]),
        model=value["model"],
        runtime_seconds=float(value["runtime_seconds"]),
        observations_total=int(value["observations_total"]),
        observations_archived=int(value["observations_archived"]),
        hooks_created=int(value["hooks_created"]),
        tokens_before=int(value["tokens_before"]),
        tokens_after=int(value["tokens_after"]),
        critical_false_archives=int(value["critical_false_archives"]),
        validation_passed=value["validation_passed"],
        dry_run=value["dry_run"],
        notes=value["notes"],
    )


def merged(earlier: Metrics, later: Metrics) -> Metrics:
    """The day's numbers after a second run of the same day. Merging the same run twice changes nothing.

    A run that wrote stands before a dry one, the later before the earlier; but a later run that passed and had nothing
    left to do does not hide the one that did the work. A protected observation that was archived wrongly stays counted
    for the whole day.
    """
    if earlier.dry_run != later.dry_run:
        return earlier if later.dry_run else later
    had_nothing_to_do = later.validation_passed and not later.observations_archived
    kept = earlier if had_nothing_to_do and earlier.validation_passed and earlier.observations_archived else later
    worst = max(earlier.critical_false_archives, later.critical_false_archives)
    return replace(kept, critical_false_archives=worst)


def metrics_path(memory_dir: Path, day: date) -> Path:
    """Where the numbers of a day are."""
    return memory_dir.parent / "research" / "dream-cycle-metrics" / "daily" / f"{day.isoformat()}.json"


def log_path(memory_dir: Path, day: date) -> Path:
    """Where the log of a day is."""
    return memory_dir / "dream-logs" / f"{day.isoformat()}.md"


def write_metrics(memory_dir: Path, metrics: Metrics, step: Step = no_step) -> Path:
    """Write the numbers of a run, merged with those of the day. A file that cannot be understood is put aside.

    Raises PayloadError when a number is out of its range, MemoryWriteError when the file cannot be written.
    """
    resources.check(fields(metrics), SCHEMA)
    path = metrics_path(memory_dir, metrics.date)
    with sole(_LOCK, memory_dir / _OWN, LOCK_WAIT_SECONDS):
        before = read_file(path)
        earlier = None if before is None else _read_metrics(before)
        if before is not None and earlier is None:
            write_file(path.with_name(f"{path.name}.damaged"), before, step)
        whole = metrics if earlier is None else merged(earlier, metrics)
        write_file(path, (json.dumps(fields(whole), ensure_ascii=False, indent=2) + "\n").encode(), step)
    return path


def read_metrics(memory_dir: Path, day: date) -> Metrics | None:
    """The numbers of a day, None when there are none that can be understood. Raises MemoryWriteError."""
    content = read_file(metrics_path(memory_dir, day))
    return None if content is None else _read_metrics(content)


def _read_metrics(content: bytes) -> Metrics | None:
    """Fields that another version has added are left out of account."""
    try:
        value = json.loads(content)
        known = {name: value[name] for name in resources.schema(SCHEMA)["required"]}
        resources.check(known, SCHEMA)
    except (ValueError, KeyError, TypeError, RecursionError, PayloadError):
        return None
    return metrics_of(known)


def write_log(memory_dir: Path, night: Night, step: Step = no_step) -> Path:
    """Add a section to the log of the run's day. The section that stands last already is not written again.

    Raises MemoryWriteError when the file cannot be written.
    """
    day = night.metrics.date
    path = log_path(memory_dir, day)
    added = section(night).encode("utf-8", "replace")
    with sole(_LOCK, memory_dir / _OWN, LOCK_WAIT_SECONDS):
        before = read_file(path) or f"# Dream Cycle Log — {day.isoformat()}\n".encode()
        if not before.endswith(added):
            gap = b"" if before.endswith(b"\n") else b"\n"
            write_file(path, before + gap + added, step)
    return path


def section(night: Night) -> str:
    """One run, in Markdown."""
    m = night.metrics
    summary = (
        f"- **Observations analyzed**: {m.observations_total}",
        f"- **Observations archived**: {m.observations_archived}",
        f"- **Semantic hooks created**: {m.hooks_created}",
        f"- **Token reduction**: {m.tokens_before} → {m.tokens_after} "
        f"(saved {m.tokens_saved} tokens, {m.reduction_pct:g} %)",
        f"- **Critical false archives**: {m.critical_false_archives}",
        f"- **Dry run**: {str(m.dry_run).lower()}",
    )
    return "\n".join(
        (
            "",
            f"## Run at {night.at:%H:%M:%S}",
            "",
            f"**Model**: {one_line(m.model)}",
            f"**Duration**: {m.runtime_seconds:.1f} seconds",
            f"**Status**: {_status(m)}",
            *_part("Summary", (*summary, *_items([m.notes] if m.notes else []))),
            *_part("Archived Items", _items(night.archived)),
            *_part("Hooks Created", _items(night.hooks)),
            *_part("Type Distribution", _distribution(night.types)),
            *_part("Validation Results", _items(night.validation)),
            *_part("Flagged for Review", _items(night.flagged)),
            *_part("Next Steps", _items(night.next_steps)),
            "",
        )
    )


def _status(metrics: Metrics) -> str:
    if not metrics.validation_passed:
        return "❌ FAILED: validation did not pass" + (" (dry run)" if metrics.dry_run else "")
    return "🔍 Dry run: nothing was changed" if metrics.dry_run else "✅ Complete"


def _part(title: str, lines: Sequence[str]) -> tuple[str, ...]:
    return ("", f"### {title}", "", *(lines or ("- None",)))


def _items(texts: Sequence[str]) -> tuple[str, ...]:
    lines = map(one_line, texts)
    return tuple(f"- {line if len(line) <= ITEM_CHARACTERS else line[:ITEM_CHARACTERS] + '…'}" for line in lines)


def _distribution(types: Mapping[ObservationType, TypeCount]) -> tuple[str, ...]:
    counts = {kind: types.get(kind, TypeCount()) for kind in _TYPES}
    rows = [(str(kind), count) for kind, count in counts.items()]
    rows.append(("**total**", TypeCount(sum(c.count for _, c in rows), sum(c.archived for _, c in rows))))
    return (
        "| Type | Count | Archived | Retained |",
        "|---|---|---|---|",
        *(f"| {name} | {c.count} | {c.archived} | {c.count - c.archived} |" for name, c in rows),
    )
