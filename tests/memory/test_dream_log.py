"""The dream cycle's log and numbers: a section a run, one set of numbers a day, whole files or none."""

from __future__ import annotations

import json
import os
import signal
import stat
import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from total_recall import resources
from total_recall.errors import MemoryWriteError, PayloadError
from total_recall.memory import dream_log
from total_recall.memory.dream_log import Metrics, Night, TypeCount, fields, merged, write_log, write_metrics
from total_recall.records import ObservationType

DAY = date(2026, 12, 1)
AT = datetime(2026, 12, 1, 2, 31, 7, tzinfo=timezone(timedelta(hours=9)))
DONE = Metrics(DAY, "offline", 0.42, 120, 80, 30, 40_000, 7_500, 0, True, False)
IDLE = replace(DONE, observations_total=40, observations_archived=0, hooks_created=0, tokens_before=7_500)
FAILED = replace(IDLE, tokens_after=7_500, validation_passed=False, notes="a line would have been lost")
DRY = replace(DONE, dry_run=True)
NIGHT = Night(
    AT,
    DONE,
    archived=("OBS-20261201-001: expired: 🟡 10:00 버스가 늦었다",),
    hooks=("- bus 42: late", "늦은 버스"),
    types={"event": TypeCount(100, 80), "rule": TypeCount(20, 0)},
    validation=("every line is accounted for",),
    flagged=("low confidence (0.2): perhaps a new phone",),
)


def killed(act: Callable[[Callable[[str], None]], object], when: Callable[[str], bool]) -> bool:
    """Do something in a process that is killed at the first step for which `when` holds; whether it was."""
    child = os.fork()
    if child == 0:
        act(lambda step: os.kill(os.getpid(), signal.SIGKILL) if when(step) else None)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
    return os.WIFSIGNALED(status)


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    return tmp_path / "work space" / "memory"


def stored(path: Path) -> dict[str, object]:
    read: dict[str, object] = json.loads(path.read_bytes())
    return read


def test_a_night_has_every_part_and_all_seven_types(memory: Path) -> None:
    path = write_log(memory, NIGHT)
    text = path.read_text(encoding="utf-8")
    assert path == memory / "dream-logs" / "2026-12-01.md"
    assert text.startswith("# Dream Cycle Log — 2026-12-01\n\n## Run at 02:31:07\n")
    parts = [line for line in text.split("\n") if line.startswith("### ")]
    assert parts == [
        "### Summary", "### Archived Items", "### Hooks Created", "### Type Distribution", "### Validation Results",
        "### Flagged for Review", "### Next Steps",
    ]  # fmt: skip
    rows = {line.split(" | ")[0].strip("| "): line for line in text.split("\n") if line.startswith("| ")}
    assert set(get_args(ObservationType)) <= set(rows)
    assert rows["event"] == "| event | 100 | 80 | 20 |" and rows["goal"] == "| goal | 0 | 0 | 0 |"
    assert rows["**total**"] == "| **total** | 120 | 80 | 40 |"
    assert "- OBS-20261201-001: expired: 🟡 10:00 버스가 늦었다\n" in text
    assert "40000 → 7500 (saved 32500 tokens, 81.2 %)" in text
    assert text.endswith("### Next Steps\n\n- None\n")


def test_a_second_run_of_the_day_appends_a_section_and_the_same_run_again_does_not(memory: Path) -> None:
    first = write_log(memory, NIGHT).read_bytes()
    assert write_log(memory, NIGHT).read_bytes() == first
    later = replace(NIGHT, at=AT + timedelta(hours=3), metrics=IDLE)
    both = write_log(memory, later).read_bytes()
    assert both.startswith(first) and both.count(b"\n## Run at ") == 2
    assert write_log(memory, later).read_bytes() == both


def test_a_log_of_the_bash_original_is_kept_and_added_to(memory: Path) -> None:
    path = dream_log.log_path(memory, DAY)
    path.parent.mkdir(parents=True)
    old = "# Dream Cycle Log — 2026-12-01\r\n\r\n## Summary\r\n\r\n- mine\xa0\udcff, without a last line end"
    path.write_bytes(old.encode("utf-8", "surrogateescape"))
    new = write_log(memory, NIGHT).read_bytes()
    assert new.startswith(old.encode("utf-8", "surrogateescape") + b"\n\n## Run at 02:31:07\n")


def test_what_an_observation_says_cannot_break_the_log(memory: Path) -> None:
    nasty = "one\n## Run at 00:00:00\r\nAnd <!-- dc:id=x -->\u2028\u202eelse\udcff"
    night = replace(NIGHT, archived=(nasty, "x" * 5_000), metrics=replace(DONE, model="a\nb", notes=nasty))
    text = write_log(memory, night).read_text(encoding="utf-8")
    assert text.count("\n## Run at ") == 1 and "<!--" not in text and "dc:id=" not in text
    assert "**Model**: a b\n" in text
    assert max(map(len, text.split("\n"))) < 600 and "x…\n" in text


@pytest.mark.parametrize(
    ("metrics", "status"),
    [
        (DONE, "✅ Complete"),
        (DRY, "🔍 Dry run: nothing was changed"),
        (FAILED, "❌ FAILED: validation did not pass"),
        (replace(FAILED, dry_run=True), "❌ FAILED: validation did not pass (dry run)"),
    ],
)
def test_the_status_says_how_it_went(metrics: Metrics, status: str) -> None:
    assert f"**Status**: {status}\n" in dream_log.section(replace(NIGHT, metrics=metrics))


def test_metrics_are_written_beside_the_memory_and_fit_their_schema(memory: Path) -> None:
    path = write_metrics(memory, DONE)
    assert path == memory.parent / "research" / "dream-cycle-metrics" / "daily" / "2026-12-01.json"
    assert stored(path) == fields(DONE)
    resources.check(stored(path), "dream-metrics")
    assert stored(path)["tokens_saved"] == 32_500 and stored(path)["reduction_pct"] == 81.2
    assert dream_log.read_metrics(memory, DAY) == DONE


@pytest.mark.parametrize(
    ("metrics", "saved", "reduction"),
    [
        (replace(DONE, tokens_before=0, tokens_after=0), 0, 0.0),
        (replace(DONE, tokens_before=100, tokens_after=130), -30, -30.0),
        (replace(DONE, tokens_before=3, tokens_after=2), 1, 33.3),
    ],
)
def test_what_follows_from_the_numbers(metrics: Metrics, saved: int, reduction: float) -> None:
    assert (metrics.tokens_saved, metrics.reduction_pct) == (saved, reduction)
    resources.check(fields(metrics), "dream-metrics")


@pytest.mark.parametrize(
    ("earlier", "later", "kept"),
    [
        (DONE, IDLE, DONE),
        (DONE, DRY, DONE),
        (DRY, IDLE, IDLE),
        (DONE, FAILED, FAILED),
        (FAILED, IDLE, IDLE),
        (FAILED, DONE, DONE),
        (IDLE, DONE, DONE),
        (DRY, replace(DRY, observations_archived=3), replace(DRY, observations_archived=3)),
    ],
)
def test_the_days_numbers_are_those_of_the_run_that_counts(earlier: Metrics, later: Metrics, kept: Metrics) -> None:
    assert merged(earlier, later) == kept


def test_a_false_archive_stays_counted_for_the_day() -> None:
    assert merged(replace(DONE, critical_false_archives=2), FAILED).critical_false_archives == 2


@given(st.lists(st.sampled_from([DONE, IDLE, FAILED, DRY, replace(FAILED, dry_run=True)]), min_size=1, max_size=6))
def test_writing_the_same_run_twice_changes_nothing(runs: list[Metrics]) -> None:
    day = runs[0]
    for run in runs[1:]:
        day = merged(day, run)
        assert merged(day, run) == day


def test_a_file_that_cannot_be_understood_is_put_aside(memory: Path) -> None:
    path = dream_log.metrics_path(memory, DAY)
    path.parent.mkdir(parents=True)
    for damaged in (b"", b"[1, 2", b'{"date": "2026-12-01"}', b"\xff\xfe", b"[" * 100_000):
        path.write_bytes(damaged)
        assert dream_log.read_metrics(memory, DAY) is None
        write_metrics(memory, DONE)
        assert stored(path) == fields(DONE)
        assert path.with_name("2026-12-01.json.damaged").read_bytes() == damaged


def test_a_file_with_more_fields_than_ours_counts(memory: Path) -> None:
    path = dream_log.metrics_path(memory, DAY)
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(fields(DONE) | {"mood": "fine"}))
    write_metrics(memory, IDLE)
    assert stored(path) == fields(DONE)


def test_numbers_out_of_their_range_are_refused_and_nothing_is_written(memory: Path) -> None:
    with pytest.raises(PayloadError, match="tokens_after: must be 0 or more"):
        write_metrics(memory, replace(DONE, tokens_after=-1))
    assert not memory.parent.exists()


def test_files_and_folders_are_the_owners_alone(memory: Path) -> None:
    memory.mkdir(parents=True)
    for path in (write_log(memory, NIGHT), write_metrics(memory, DONE)):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        assert [other.name for other in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("at", ["write 2026-12-01.md", "replace 2026-12-01.md"])
def test_a_process_that_ends_leaves_the_old_log_or_the_new_one(memory: Path, at: str) -> None:
    old = write_log(memory, NIGHT).read_bytes()

    later = replace(NIGHT, at=AT + timedelta(hours=1))
    assert killed(lambda stop: write_log(memory, later, stop), lambda step: step == at)
    assert dream_log.log_path(memory, DAY).read_bytes() == old
    assert write_log(memory, later).read_bytes().count(b"## Run at ") == 2
    assert [path.name for path in (memory / "dream-logs").iterdir()] == ["2026-12-01.md"]


def test_two_runs_at_once_lose_no_section(memory: Path) -> None:
    nights = [replace(NIGHT, at=AT + timedelta(minutes=n)) for n in range(8)]
    threads = [threading.Thread(target=write_log, args=(memory, night)) for night in nights]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    text = dream_log.log_path(memory, DAY).read_text(encoding="utf-8")
    assert sorted(line[10:] for line in text.split("\n") if line.startswith("## Run at ")) == [
        f"02:{31 + n}:07" for n in range(8)
    ]


def test_a_place_that_cannot_be_written_is_one_line(memory: Path) -> None:
    memory.mkdir(parents=True)
    (memory / "dream-logs").write_text("a file of that name")
    with pytest.raises(MemoryWriteError) as error:
        write_log(memory, NIGHT)
    assert str(memory / "dream-logs") in str(error.value) and "\n" not in str(error.value)
