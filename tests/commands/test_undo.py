from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from total_recall.commands import places, reflect, undo
from total_recall.commands.places import Configuration, Place
from total_recall.errors import MemoryWriteError, TotalRecallError
from total_recall.memory import last_reflection
from total_recall.memory.archive import Archive
from total_recall.memory.document import parse
from total_recall.memory.line import format_observation
from total_recall.memory.store import MemoryStore
from total_recall.memory.undo import undone
from total_recall.records import Observation
from total_recall.state import State

NOW = datetime(2026, 11, 30, 21, 0, tzinfo=timezone.utc)
LATER = NOW + timedelta(hours=1)


@pytest.fixture
def config(home: Path) -> Configuration:
    return places.configure({"HOME": str(home), "TOTAL_RECALL_TZ": "UTC"})


@pytest.fixture
def place(config: Configuration) -> Place:
    place = places.find(config, NOW)[0]
    place.memory_dir.mkdir(parents=True)
    return place


def observed(text: str, days_ago: int, id: str) -> str:
    return format_observation(Observation(id, text, NOW - timedelta(days=days_ago), "low", "event", 1.5, 0.9))


OLD = observed("The mail was read", 40, "a1")
TEA = observed("User drank green tea", 9, "a2")
UJI = observed("User drank green tea from Uji", 8, "a3")
NEW = observed("User bought a kettle", 0, "a4")
BEFORE = f"""# Observations Log

My own words.

---
Date: 2026-10-21
{OLD}

---
Date: 2026-11-21
{TEA}

---
Date: 2026-11-22
{UJI}
my note
"""
ANSWER = "merge [2, 3] into User drank green tea from Uji"


def document_at(place: Place) -> Path:
    return place.memory_dir / "observations.md"


def reflected(place: Place, config: Configuration) -> str:
    """A reflection of BEFORE, which archives one line and merges two; the document after it."""
    document_at(place).write_text(BEFORE.replace("my note\n", ""))
    done = reflect.reflect_memory(place, config.settings, reflect.Options(force=True), lambda _s, _u: ANSWER, NOW)
    assert len(done.removals) == 3
    return document_at(place).read_text()


def undo_now(place: Place, step: Callable[[str], None] = lambda _name: None) -> undo.Result:
    return undo.undo_memory(place, LATER, LATER.date(), step)


def test_undo_puts_the_memory_back_byte_for_byte(place: Place, config: Configuration) -> None:
    after = reflected(place, config)
    done = undo_now(place)
    assert document_at(place).read_text() == BEFORE.replace("my note\n", "")
    assert (done.back, done.gone, done.since) == (3, 1, 0)
    assert done.backup is not None
    assert done.backup.read_text() == after
    assert done.lines()[0] == (
        "The reflection of 2026-11-30 21:00 UTC is undone: 3 lines are back, 1 that it had made are gone, "
        "0 written since stay."
    )
    log = (place.memory_dir.parent / "logs" / "reflector.log").read_text()
    assert "undo: The reflection of 2026-11-30 21:00 UTC is undone" in log


def test_what_was_observed_and_written_since_stays(place: Place, config: Configuration) -> None:
    after = reflected(place, config)
    since = after.replace("My own words.", "My new words.") + f"a line of mine\n\n---\nDate: 2026-11-30\n{NEW}\n"
    document_at(place).write_text(since)
    done = undo_now(place)
    text = document_at(place).read_text()
    assert "My new words.\n" in text
    assert "My own words." not in text
    assert f"a line of mine\n\n---\nDate: 2026-11-30\n{NEW}\n" in text
    headings = {entry.id: str(entry.heading) for entry in parse(text.encode()).observations}
    assert headings == {"a1": "2026-10-21", "a2": "2026-11-21", "a3": "2026-11-22", "a4": "2026-11-30"}
    assert done.since == 1


def test_a_new_line_under_a_day_that_the_reflection_had_removed_keeps_its_day(
    place: Place, config: Configuration
) -> None:
    after = reflected(place, config)
    late = observed("The mail was answered", 40, "a9")
    document_at(place).write_text(
        after.replace("My own words.\n\n", f"My own words.\n\n---\nDate: 2026-10-21\n{late}\n\n")
    )
    undo_now(place)
    headings = {entry.id: str(entry.heading) for entry in parse(document_at(place).read_bytes()).observations}
    assert headings == {"a1": "2026-10-21", "a9": "2026-10-21", "a2": "2026-11-21", "a3": "2026-11-22"}


def test_a_merged_line_that_a_person_edited_stays_beside_the_originals(place: Place, config: Configuration) -> None:
    after = reflected(place, config)
    document_at(place).write_text(after.replace("from Uji", "from Uji and Kyoto"))
    done = undo_now(place)
    texts = [entry.text for entry in parse(document_at(place).read_bytes()).observations]
    assert texts[:3] == ["The mail was read", "User drank green tea", "User drank green tea from Uji"]
    assert texts[3].startswith("User drank green tea from Uji and Kyoto")
    assert (done.back, done.gone) == (3, 0)


def test_what_a_person_deleted_since_stays_away(place: Place, config: Configuration) -> None:
    document_at(place).write_text(BEFORE)
    reflect.reflect_memory(place, config.settings, reflect.Options(force=True), None, NOW)
    now = document_at(place).read_text()
    assert OLD not in now
    document_at(place).write_text(now.replace(f"{TEA}\n", "").replace("my note\n", ""))
    undo_now(place)
    assert document_at(place).read_text() == BEFORE.replace(f"{TEA}\n", "").replace("my note\n", "")


def test_a_second_undo_has_nothing_to_undo(place: Place, config: Configuration) -> None:
    reflected(place, config)
    undo_now(place)
    content = document_at(place).read_bytes()
    again = undo.run(undo.Options(), config)
    assert again.reflected is None
    assert again.lines() == [f"Nothing to undo in {place.memory_dir}: no reflection since the last undo."]
    assert undo_now(place).reflected is None
    assert document_at(place).read_bytes() == content


def test_without_any_reflection_nothing_is_touched(place: Place, config: Configuration) -> None:
    assert undo.run(undo.Options(), config).reflected is None
    assert list(place.memory_dir.iterdir()) == []


def test_an_undone_memory_is_not_reflected_again_at_once(place: Place, config: Configuration) -> None:
    reflected(place, config)
    undo_now(place)
    with State.open(place.own_dir) as state:
        words = len(BEFORE.split())
        assert not last_reflection.is_due(state, 12, MemoryStore(place.memory_dir).read().sha256, threshold=5)
        assert last_reflection.is_due(state, words + 100, "another", threshold=5)


def test_an_undone_line_is_archived_again_when_it_leaves_again(place: Place, config: Configuration) -> None:
    reflected(place, config)
    assert len(Archive(place.memory_dir).known()) == 3
    undo_now(place)
    assert Archive(place.memory_dir).known() == {}
    text = (place.memory_dir / "archive" / "observations" / "2026-11-30.md").read_text()
    assert text.endswith(
        "\n## Undone on 2026-11-30\n\n- Back in the memory: OBS-20261130-001, OBS-20261130-002, OBS-20261130-003\n"
    )
    reflect.reflect_memory(place, config.settings, reflect.Options(force=True), lambda _s, _u: ANSWER, LATER)
    assert sorted(Archive(place.memory_dir).known().values()) == [f"OBS-20261130-00{n}" for n in (4, 5, 6)]


def test_a_backup_that_is_gone_is_named_and_nothing_changes(place: Place, config: Configuration) -> None:
    after = reflected(place, config)
    [backup] = (place.memory_dir / "observation-backups").iterdir()
    backup.unlink()
    with pytest.raises(MemoryWriteError, match=r"observation-backups/.*archive/observations has every line"):
        undo.run(undo.Options(), config)
    assert document_at(place).read_text() == after


def test_a_backup_that_is_another_one_is_not_put_back(place: Place, config: Configuration) -> None:
    after = reflected(place, config)
    [backup] = (place.memory_dir / "observation-backups").iterdir()
    backup.write_text("something else")
    with pytest.raises(MemoryWriteError, match="is not the backup"):
        undo_now(place)
    assert document_at(place).read_text() == after


def test_with_several_memories_one_must_be_named(home: Path) -> None:
    openclaw = home / ".openclaw"
    openclaw.mkdir()
    (openclaw / "openclaw.json").write_text(
        '{"agents": {"list": [{"id": "main", "default": true}, {"id": "work", "workspace": "~/work"}]}}'
    )
    config = places.configure({"HOME": str(home), "TOTAL_RECALL_TZ": "UTC"})
    found = places.find(config, NOW)
    assert len(found) == 2
    for place in found:
        place.memory_dir.mkdir(parents=True)
        reflected(place, config)
    with pytest.raises(TotalRecallError, match=r"name one with --agent \(main, work\)"):
        undo.run(undo.Options(), config)
    assert undo.run(undo.Options(agent="work"), config).memory_dir == found[1].memory_dir
    assert undo.run(undo.Options(), config).memory_dir == found[0].memory_dir


def test_killed_at_any_step_an_undo_is_finished_by_the_next(config: Configuration, tmp_path: Path) -> None:
    kills = 0
    for number in range(500):
        place = Place(tmp_path / str(number) / "memory", tmp_path / str(number), (), ())
        place.memory_dir.mkdir(parents=True)
        after = reflected(place, config)
        child = os.fork()
        if child == 0:
            left = number

            def step(_name: str) -> None:
                nonlocal left
                left -= 1
                if left < 0:
                    os.kill(os.getpid(), signal.SIGKILL)

            try:
                undo_now(place, step)
            finally:
                os._exit(0)
        was_killed = os.WIFSIGNALED(os.waitpid(child, 0)[1])
        before = BEFORE.replace("my note\n", "")
        assert document_at(place).read_text() in (before, after)
        undo_now(place)
        assert document_at(place).read_text() == before
        assert Archive(place.memory_dir).known() == {}
        if not was_killed:
            break
        kills += 1
    assert kills > 15


# --- the merge itself

LINES = [OLD, TEA, UJI, NEW, "", "---", "Date: 2026-11-21", "Date: 2026-11-22", "my note", "my other note"]
TEXTS = st.lists(st.sampled_from(LINES), max_size=12).map(lambda lines: "".join(f"{line}\n" for line in lines).encode())


@settings(max_examples=500, deadline=None)
@given(TEXTS, TEXTS)
def test_merging_with_a_document_that_did_not_change_gives_the_old_one(before: bytes, after: bytes) -> None:
    assert undone(before, after, after).content == before


@settings(max_examples=500, deadline=None)
@given(TEXTS, TEXTS, st.lists(st.integers(0, 40), max_size=3))
def test_what_was_added_since_is_always_in_the_result(before: bytes, after: bytes, places: list[int]) -> None:
    lines = after.decode().split("\n")
    for number, at in enumerate(places):
        lines.insert(at, f"since {number}")
    content = undone(before, after, "\n".join(lines).encode()).content.decode().split("\n")
    assert all(f"since {number}" in content for number in range(len(places)))
    for line in {OLD, TEA, UJI, NEW}:
        assert content.count(line) >= min(1, before.decode().count(line))


def test_ten_thousand_lines_are_merged_in_seconds() -> None:
    lines = [
        f"---\nDate: 2026-11-{1 + n // 400:02}\n{observed(f'User saw bird {n}', 9, f'k{n}')}\n\n" for n in range(4_000)
    ]
    before = "".join(lines).encode()
    after = "".join(line for n, line in enumerate(lines) if n % 3).encode()
    now = after + f"---\nDate: 2026-11-30\n{NEW}\n".encode()
    begun = time.monotonic()
    assert undone(before, after, now).content == before + f"---\nDate: 2026-11-30\n{NEW}\n".encode()
    assert time.monotonic() - begun < 10
