from __future__ import annotations

import json
import os
import stat
from datetime import datetime, timedelta, timezone
from itertools import pairwise
from pathlib import Path
from zlib import crc32

import pytest

from builders import nobodys, snapshot
from total_recall import clock
from total_recall.commands import context, places
from total_recall.commands.places import Configuration
from total_recall.errors import MemoryWriteError, StoreError, TotalRecallError
from total_recall.memory.context import CLOSING, OPENING
from total_recall.memory.document import parse
from total_recall.records import Observation, ObservationType

NOW = datetime(2026, 11, 30, 21, 0, tzinfo=timezone.utc)
TODAY = NOW.date()


@pytest.fixture(autouse=True)
def stopped_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "now", lambda: NOW)


@pytest.fixture
def config(home: Path) -> Configuration:
    return places.configure({"HOME": str(home), "TOTAL_RECALL_TZ": "UTC"})


@pytest.fixture
def memory_dir(config: Configuration) -> Path:
    config.settings.memory_dir.mkdir(parents=True)
    return config.settings.memory_dir


def observed(text: str, kind: ObservationType = "event", days_ago: int = 0) -> Observation:
    return Observation(f"i{crc32(text.encode()):x}", text, NOW - timedelta(days=days_ago), "medium", kind, 4.0, 0.9)


def remember(memory_dir: Path, *block: Observation) -> None:
    """Add to the document of a memory, as a run would."""
    path = memory_dir / "observations.md"
    before = path.read_bytes() if path.exists() else b""
    path.write_bytes(parse(before).with_observations(block).render())


def ready_made(memory_dir: Path) -> Path:
    return memory_dir / ".total-recall" / "context.txt"


def test_the_answer_is_the_text_and_nothing_is_written(memory_dir: Path, config: Configuration) -> None:
    remember(memory_dir, observed("User drank tea"), observed("금요일에는 배포하지 않는다", "rule"))
    before = snapshot(memory_dir)
    result = context.run(context.Options(), config)
    lines = result.lines()
    assert "".join(f"{line}\n" for line in lines) == result.context.text
    assert lines[0] == "<total-recall-memory>"
    assert lines[-1] == "</total-recall-memory>"
    assert "- 🟡 21:00 금요일에는 배포하지 않는다 [2026-11-30]" in lines
    assert snapshot(memory_dir) == before


def test_the_json_answer_has_text_tokens_and_counts(memory_dir: Path, config: Configuration) -> None:
    rule, old = observed("Never on Fridays", "rule"), observed("Old news", days_ago=20)
    remember(memory_dir, observed("User drank tea"), old, rule)
    result = context.run(context.Options(budget_tokens=10), config)
    fields = json.loads(json.dumps(result.payload()))
    assert fields == {
        "memory_dir": str(memory_dir),
        "text": result.context.text,
        "tokens": result.context.tokens,
        "budget_tokens": 10,
        "characters": len(result.context.text.encode("utf-16-le")) // 2,
        "shown": {"rule": 1},
        "left_out": {"expired": 1, "no room": 1},
        "over_budget": ["🟡 21:00 Never on Fridays [2026-11-30]"],
        "unshown": [],
    }


@pytest.mark.parametrize("document", [None, b"", b"# Observations Log\n\nMy own words.\n"])
def test_an_empty_memory_gives_an_empty_text_and_no_file(
    document: bytes | None, memory_dir: Path, config: Configuration
) -> None:
    if document is not None:
        (memory_dir / "observations.md").write_bytes(document)
    assert context.run(context.Options(), config).lines() == []
    assert context.write_ready_made(memory_dir, TODAY).text == ""
    assert not (memory_dir / ".total-recall").exists()


def test_a_memory_directory_that_is_not_there_is_not_made(config: Configuration) -> None:
    assert context.run(context.Options(), config).lines() == []
    assert context.write_ready_made(config.settings.memory_dir, TODAY).text == ""
    assert not config.settings.memory_dir.exists()


def test_the_day_is_the_users_day(home: Path) -> None:
    """21:00 UTC is the next day in Seoul: a line of two weeks ago has expired there."""
    seoul = places.configure({"HOME": str(home), "TOTAL_RECALL_TZ": "Asia/Seoul"})
    seoul.settings.memory_dir.mkdir(parents=True)
    remember(seoul.settings.memory_dir, observed("User drank tea", days_ago=14))
    assert context.run(context.Options(), seoul).lines() == []
    utc = places.configure({"HOME": str(home), "TOTAL_RECALL_TZ": "UTC"})
    assert "- 🟡 21:00 User drank tea" in context.run(context.Options(), utc).lines()


def test_each_agent_has_the_memory_of_its_workspace(home: Path) -> None:
    state_dir = home / ".openclaw"
    state_dir.mkdir()
    agents = [{"id": "main", "default": True}, {"id": "work", "workspace": str(home / "work")}]
    (state_dir / "openclaw.json").write_text(json.dumps({"agents": {"list": agents}}))
    config = places.configure({"HOME": str(home), "TOTAL_RECALL_TZ": "UTC"})
    for folder, text in ((config.settings.memory_dir, "Tea at home"), (home / "work" / "memory", "Coffee at work")):
        folder.mkdir(parents=True)
        remember(folder, observed(text))
    assert "Tea at home" in context.run(context.Options(), config).context.text
    assert "Coffee at work" in context.run(context.Options(agent="work"), config).context.text
    with pytest.raises(TotalRecallError, match="there is no agent 'none'"):
        context.run(context.Options(agent="none"), config)


def test_the_ready_made_text_is_what_the_command_prints_for_the_owner_alone(
    memory_dir: Path, config: Configuration
) -> None:
    remember(memory_dir, observed("User drank tea"))
    made = context.write_ready_made(memory_dir, TODAY)
    path = ready_made(memory_dir)
    assert path.read_text(encoding="utf-8") == made.text == context.run(context.Options(), config).context.text
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert [p.name for p in path.parent.iterdir()] == ["context.txt"]


def test_the_file_is_written_only_when_its_text_changes(memory_dir: Path) -> None:
    remember(memory_dir, observed("User drank tea"))
    context.write_ready_made(memory_dir, TODAY)
    first = ready_made(memory_dir).stat()
    with (memory_dir / "observations.md").open("a") as stream:
        stream.write("\nMy own words.\n")
    context.write_ready_made(memory_dir, TODAY)
    assert ready_made(memory_dir).stat() == first
    context.write_ready_made(memory_dir, TODAY + timedelta(days=15))
    assert ready_made(memory_dir).read_bytes() == b""
    assert ready_made(memory_dir).stat().st_ino != first.st_ino


def test_what_is_added_later_is_added_to_the_text(memory_dir: Path, config: Configuration) -> None:
    texts = []
    for one in (
        observed("User drank tea", days_ago=2),
        observed("Never on Fridays", "rule", 1),
        observed("Mina called", "fact", 1),
        observed("User prefers oolong", "preference"),
    ):
        remember(memory_dir, one)
        texts.append(context.write_ready_made(memory_dir, TODAY).text)
        assert context.run(context.Options(), config).context.text == texts[-1]
    for before, after in pairwise(texts):
        assert after.startswith(before.removesuffix(CLOSING))
    ready_made(memory_dir).unlink()
    anew = context.write_ready_made(memory_dir, TODAY).text
    assert anew.startswith(f"{OPENING}\n## Rules that the user set\n- 🟡 21:00 Never on Fridays [2026-11-29]\n")


def test_what_is_taken_out_of_the_document_is_taken_out_of_the_text(memory_dir: Path) -> None:
    remember(memory_dir, observed("User drank tea"), observed("The lamp is green"))
    context.write_ready_made(memory_dir, TODAY)
    path = memory_dir / "observations.md"
    path.write_text("".join(line for line in path.read_text().splitlines(True) if "lamp" not in line))
    context.write_ready_made(memory_dir, TODAY)
    assert "lamp" not in ready_made(memory_dir).read_text()


def test_a_document_that_changes_meanwhile_is_not_covered_by_an_older_text(memory_dir: Path) -> None:
    """Another run adds a line and writes its text between our reading and our replacing."""
    remember(memory_dir, observed("User drank tea"))
    steps = []

    def step(name: str) -> None:
        steps.append(name)
        if len(steps) == 2:
            remember(memory_dir, observed("Mina called"))
            context.write_ready_made(memory_dir, TODAY)

    made = context.write_ready_made(memory_dir, TODAY, step=step)
    assert "Mina called" in ready_made(memory_dir).read_text()
    assert made.text == ready_made(memory_dir).read_text()
    assert steps == ["write context", "replace context"] * 2


@pytest.mark.parametrize("at", ["write context", "replace context"])
def test_a_process_that_ends_leaves_the_old_text_or_the_new_one(at: str, memory_dir: Path) -> None:
    remember(memory_dir, observed("User drank tea"))
    before = context.write_ready_made(memory_dir, TODAY).text
    remember(memory_dir, observed("Mina called"))
    child = os.fork()
    if child == 0:
        context.write_ready_made(memory_dir, TODAY, step=lambda name: os._exit(7) if name == at else None)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    folder = ready_made(memory_dir).parent
    assert ready_made(memory_dir).read_text() == before
    (leftover,) = set(folder.iterdir()) - {ready_made(memory_dir)}
    an_hour_ago = (NOW - timedelta(hours=1)).timestamp()
    os.utime(leftover, (an_hour_ago, an_hour_ago))
    assert "Mina called" in context.write_ready_made(memory_dir, TODAY).text
    assert list(folder.iterdir()) == [ready_made(memory_dir)]


def test_an_error_while_writing_leaves_no_temporary_file_and_says_what_to_do(memory_dir: Path) -> None:
    remember(memory_dir, observed("User drank tea"))

    def full(_name: str) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(MemoryWriteError, match=r"cannot write .*context\.txt: No space left .* free some space"):
        context.write_ready_made(memory_dir, TODAY, step=full)
    assert list(ready_made(memory_dir).parent.iterdir()) == []


def test_a_memory_that_cannot_be_written_can_still_be_printed() -> None:
    with nobodys() as folder:
        config = places.configure({"HOME": str(folder), "TOTAL_RECALL_TZ": "UTC"})
        memory_dir = config.settings.memory_dir
        memory_dir.mkdir(parents=True)
        remember(memory_dir, observed("User drank tea"))
        memory_dir.chmod(0o500)
        try:
            assert "User drank tea" in context.run(context.Options(), config).context.text
            with pytest.raises(MemoryWriteError):
                context.write_ready_made(memory_dir, TODAY)
        finally:
            memory_dir.chmod(0o700)


def test_a_ready_made_text_that_is_a_folder_is_named(memory_dir: Path) -> None:
    remember(memory_dir, observed("User drank tea"))
    ready_made(memory_dir).mkdir(parents=True)
    with pytest.raises(StoreError, match=r"cannot read .*context\.txt: Is a directory"):
        context.write_ready_made(memory_dir, TODAY)
