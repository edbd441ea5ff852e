"""`staging`: a person sees what is proposed, and nothing reaches the agent's files but by approve --apply."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from datetime import date, datetime, timedelta, timezone
from pathlib import Path

import pytest

from builders import snapshot
from total_recall import cli, clock
from total_recall.commands import places, staging
from total_recall.commands.places import Configuration, Place
from total_recall.commands.staging import Options
from total_recall.commands.staging_patterns import WINDOW_DAYS, stage_patterns
from total_recall.errors import TotalRecallError
from total_recall.memory.archive import Archive
from total_recall.memory.document import parse
from total_recall.memory.raw import raw_id
from total_recall.memory.reflection import Removal
from total_recall.memory.staging import Staging
from total_recall.records import Observation, ObservationType

NOW = datetime(2026, 12, 1, 2, 30, tzinfo=timezone.utc)
RUN = Path(__file__).resolve().parents[2] / "scripts" / "run.py"


@pytest.fixture
def config(home: Path, monkeypatch: pytest.MonkeyPatch) -> Configuration:
    monkeypatch.setattr(clock, "now", lambda: NOW)
    return places.configure({"HOME": str(home), "TOTAL_RECALL_TZ": "UTC"})


@pytest.fixture
def place(config: Configuration) -> Place:
    place = places.find(config, NOW)[0]
    place.memory_dir.mkdir(parents=True)
    return place


def observed(day: int, text: str, kind: ObservationType = "preference", id: str | None = None) -> Observation:
    return Observation(id or f"d{day}", text, NOW - timedelta(days=day), "high", kind, 7.0, 0.8)


MILK = (
    observed(28, "User prefers oat milk in coffee"),
    observed(20, "Ordered coffee with oat milk at Blue Bottle", "event"),
    observed(12, "Asked for an oat milk latte again", "event"),
)


def document(*observations: Observation) -> bytes:
    return parse(b"").with_observations(observations).render()


def staged(place: Place, *observations: Observation, days_later: int = 0) -> list[str]:
    """The names of what a night proposes on a memory of these observations."""
    lines = stage_patterns(place, parse(document(*observations)), NOW + timedelta(days=days_later))
    return [line.partition(":")[0] for line in lines]


# --- what a night proposes


def test_a_theme_becomes_a_proposal_once(place: Place) -> None:
    assert staged(place, *MILK) == ["20261201-001-preference"]
    (entry,) = Staging(place.memory_dir, place.workspace).entries()
    assert entry.staged.target == "USER.md" and entry.staged.text == "- User prefers oat milk in coffee"
    assert [(one.id, one.day) for one in entry.staged.evidence] == [
        ("d28", date(2026, 11, 3)), ("d20", date(2026, 11, 11)), ("d12", date(2026, 11, 19)),
    ]  # fmt: skip
    assert staged(place, *MILK, days_later=1) == []
    assert not (place.workspace / "USER.md").exists()


def test_a_dry_run_says_what_it_would_propose_and_writes_nothing(place: Place) -> None:
    before = snapshot(place.workspace)
    said = stage_patterns(place, parse(document(*MILK)), NOW, dry_run=True)
    assert said == ("not written: USER.md (low): - User prefers oat milk in coffee",)
    assert snapshot(place.workspace) == before


def archived(place: Place, observation: Observation, on: date) -> None:
    read = parse(document(observation))
    (entry,) = read.observations
    raw = read.lines[entry.line - 1].rstrip("\n")
    Archive(place.memory_dir).add([Removal(entry, raw, "dropped", "expired")], on)


def test_what_the_archive_took_is_evidence_for_some_weeks(place: Place) -> None:
    archived(place, MILK[1], NOW.date() - timedelta(days=WINDOW_DAYS))
    assert staged(place, MILK[0], MILK[2]) == ["20261201-001-preference"]
    assert staged(place, MILK[0], MILK[1], MILK[2]) == []


def test_what_was_archived_long_ago_or_brought_back_is_no_evidence(place: Place) -> None:
    archived(place, MILK[1], NOW.date() - timedelta(days=WINDOW_DAYS + 1))
    assert staged(place, MILK[0], MILK[2]) == []
    archived(place, observed(5, "Ordered coffee with oat milk to go", "event", "gone"), NOW.date())
    Archive(place.memory_dir).undone(["OBS-20261201-001"], NOW.date())
    assert staged(place, MILK[0], MILK[2]) == []


def test_words_that_wait_to_be_condensed_are_no_evidence(place: Place) -> None:
    waiting = [replace(one, id=raw_id("s", f"m{n}")) for n, one in enumerate(MILK)]
    assert staged(place, *waiting) == []


def test_untagged_lines_of_a_person_count_by_their_words(place: Place) -> None:
    lines = "".join(
        f"\n---\nDate: 2026-11-{day:02}\n- 🔴 09:00 항상 커피에 오트밀크를 넣는 것을 선호함\n" for day in (3, 9, 15)
    )
    said = stage_patterns(place, parse(f"# Observations Log\n{lines}".encode()), NOW)
    assert len(said) == 1 and "오트밀크" in said[0]
    (entry,) = Staging(place.memory_dir, place.workspace).entries()
    assert all(one.id.startswith("line-") for one in entry.staged.evidence)


def test_what_a_file_says_or_a_person_turned_down_is_not_proposed(place: Place, config: Configuration) -> None:
    (place.workspace / "USER.md").write_text("I prefer oat milk in my coffee.\n")
    assert staged(place, *MILK) == []
    (place.workspace / "USER.md").unlink()
    (name,) = staged(place, *MILK)
    staging.run(Options("reject", name), config)
    assert staged(place, *MILK) == []
    again = [observed(day, f"Ordered coffee with oat milk, shop {day}", "event") for day in (1, 2, 3)]
    assert staged(place, *MILK, *again[:2]) == []
    assert staged(place, *MILK, *again) == ["20261201-002-preference"]


# --- what a person does


def test_list_shows_what_waits_and_counts_what_was_decided(place: Place, config: Configuration) -> None:
    assert staging.run(Options("list"), config).lines() == [
        f"No proposal waits in {place.memory_dir / 'dream-staging'}."
    ]
    (name,) = staged(place, *MILK)
    (line, rest) = staging.run(Options("list"), config).lines()
    assert line.split() == [
        name, "pending", "USER.md", "low", "3", "days", "-", "User", "prefers", "oat", "milk", "in", "coffee",
    ]  # fmt: skip
    assert rest.startswith("1 waiting: ") and "approve NAME --apply" in rest
    staging.run(Options("reject", name), config)
    (line,) = staging.run(Options("list"), config).lines()
    assert "No proposal waits" in line and "1 decided before" in line
    assert "rejected" in staging.run(Options("list", everything=True), config).lines()[0]
    assert staging.run(Options("list"), config).payload() == {"action": "list", "proposals": [], "decided": 1}


def test_show_gives_the_whole_file(place: Place, config: Configuration) -> None:
    (name,) = staged(place, *MILK)
    result = staging.run(Options("show", name), config)
    path = place.memory_dir / "dream-staging" / f"{name}.md"
    assert result.lines() == [f"{path} (pending)", "", *path.read_text(encoding="utf-8").rstrip("\n").split("\n")]
    fields = result.payload()["proposal"]
    assert isinstance(fields, dict)
    assert fields["proposed_text"] == "- User prefers oat milk in coffee" and fields["days"] == 3


def test_approve_alone_writes_nothing_to_the_target(place: Place, config: Configuration) -> None:
    (name,) = staged(place, *MILK)
    (said,) = staging.run(Options("approve", name), config).lines()
    assert "Nothing is written yet" in said and "--apply" in said
    assert not (place.workspace / "USER.md").exists()
    assert (place.memory_dir / "dream-staging" / f"{name}.approved.md").is_file()


def test_approve_apply_writes_and_its_answer_is_enough_to_undo_it_by_hand(place: Place, config: Configuration) -> None:
    target = place.workspace / "USER.md"
    target.write_text("# Me\n\nI am Mina.\n")
    (name,) = staged(place, *MILK)
    result = staging.run(Options("approve", name, apply=True), config)
    said = "\n".join(result.lines())
    assert f"{name} is added to the end of {target}." in said
    begin, end = said.split("“")[1].split("”")[0], said.split("“")[2].split("”")[0]
    backup = Path(said.rpartition("before: ")[2].split("\n")[0])
    assert backup.read_text() == "# Me\n\nI am Mina.\n"
    lines = target.read_text().split("\n")
    first = next(n for n, line in enumerate(lines) if line.startswith(begin))
    last = next(n for n, line in enumerate(lines) if line.startswith(end) and n > first)
    assert "\n".join(lines[:first] + lines[last + 1 :]).rstrip("\n") + "\n" == "# Me\n\nI am Mina.\n"
    applied = result.payload()["applied"]
    assert applied == {"path": str(target), "written": True, "backup": str(backup), "rescued": []}
    again = staging.run(Options("approve", name, apply=True), config)
    assert "was added to" in again.lines()[0] and "nothing was written" in again.lines()[0]


def test_modify_and_reject_say_what_they_did(place: Place, config: Configuration) -> None:
    (name,) = staged(place, *MILK)
    (said,) = staging.run(Options("modify", name, text="- Oat milk.", target="favorites.md"), config).lines()
    assert f"{name} is changed" in said and "adds it to favorites.md" in said
    with pytest.raises(TotalRecallError, match="there is nothing to modify"):
        staging.run(Options("modify", name), config)
    (said,) = staging.run(Options("reject", name), config).lines()
    assert f"{name} is rejected" in said and f"{name}.rejected" in said


@pytest.mark.parametrize("action", ["show", "approve", "reject", "modify"])
def test_a_proposal_that_is_not_there_is_one_line(place: Place, config: Configuration, action: str) -> None:
    with pytest.raises(TotalRecallError, match=r"there is no proposal 'none' in .*dream-staging"):
        staging.run(Options(action, "none", text="x"), config)  # type: ignore[arg-type]


def two_agents(home: Path) -> Configuration:
    state = home / ".openclaw"
    state.mkdir(exist_ok=True)
    agents = [{"id": name, "workspace": str(home / name)} for name in ("mina", "jun")]
    (state / "openclaw.json").write_text(json.dumps({"agents": {"list": agents}}))
    return places.configure({"HOME": str(home), "TOTAL_RECALL_TZ": "UTC"})


def test_with_several_memories_each_has_its_own_and_a_name_must_be_clear(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clock, "now", lambda: NOW)
    config = two_agents(home)
    found = places.find(config, NOW)
    for place in found:
        place.memory_dir.mkdir(parents=True)
        staged(place, *MILK)
    listed = staging.run(Options("list"), config).lines()
    assert [line for line in listed if line.endswith(":")] == [f"{place.memory_dir}:" for place in found]
    assert listed[-1].startswith("2 waiting")
    name = "20261201-001-preference"
    with pytest.raises(TotalRecallError, match=r"several memories have a proposal .*--agent \(mina, jun\)"):
        staging.run(Options("reject", name), config)
    staging.run(Options("approve", name, apply=True, agent="jun"), config)
    assert (home / "jun" / "USER.md").exists() and not (home / "mina" / "USER.md").exists()
    staging.run(Options("show", name, agent="mina"), config)


# --- as it is typed


def program(home: Path, *arguments: str, said: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-I", "-X", "utf8", str(RUN), "staging", *arguments],
        env={"HOME": str(home), "PATH": "/usr/bin:/bin", "TOTAL_RECALL_TZ": "UTC"},
        input=said, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


def test_the_whole_way_as_it_is_typed(home: Path, place: Place) -> None:
    (name,) = staged(place, *MILK)
    done = program(home, "modify", name, "--text", "-", said="- 커피에는 오트밀크\n")
    assert done.returncode == 0 and "is changed" in done.stdout
    shown = json.loads(program(home, "show", name, "--json").stdout)
    assert shown["ok"] and shown["proposal"]["proposed_text"] == "- 커피에는 오트밀크"
    applied = json.loads(program(home, "approve", "--apply", name, "--json").stdout)
    assert applied["applied"]["written"] is True
    assert "- 커피에는 오트밀크\n" in (place.workspace / "USER.md").read_text(encoding="utf-8")
    failed = program(home, "reject", name)
    assert failed.returncode == 1 and failed.stderr.count("\n") == 1 and "was applied" in failed.stderr


@pytest.mark.parametrize("arguments", [[], ["show"], ["approve"], ["list", "extra"], ["promote", "x"]])
def test_wrong_usage_is_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["staging", *arguments])
    assert ended.value.code == 2 and "usage:" in capsys.readouterr().err


def test_listing_leaves_no_trace(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(home.rglob("*"))
    assert cli.main(["staging", "list"]) == 0
    assert "No proposal waits" in capsys.readouterr().out
    assert sorted(home.rglob("*")) == before
