from __future__ import annotations

import stat
from collections.abc import Sequence
from datetime import date
from pathlib import Path

import pytest

from total_recall.errors import MemoryWriteError
from total_recall.memory.archive import Archive
from total_recall.memory.document import parse
from total_recall.memory.reflection import Removal

TODAY = date(2026, 11, 30)
TEA = (
    "- 🟡 09:12 User likes tea <!-- dc:id=k3f9q2 dc:type=fact dc:importance=4.0 dc:confidence=0.95 dc:source=explicit "
    "dc:date=2026-11-03 -->"
)


def removals_of(text: str, reason: str = "routine") -> list[Removal]:
    document = parse(text.encode())
    lines = [line.rstrip("\n") for line in document.lines]
    return [Removal(entry, lines[entry.line - 1], "dropped", reason) for entry in document.observations]


def archived(tmp_path: Path, removals: Sequence[Removal], today: date = TODAY) -> tuple[str, ...]:
    return Archive(tmp_path).add(removals, today)


def file_of(tmp_path: Path) -> Path:
    return tmp_path / "archive" / "observations" / "2026-11-30.md"


def test_an_entry_has_the_whole_line_and_why_it_left(tmp_path: Path) -> None:
    assert archived(tmp_path, removals_of(f"Date: 2026-11-03\n  {TEA}\n", "said\nagain  later")) == (
        "OBS-20261130-001",
    )
    assert file_of(tmp_path).read_text() == (
        "# Archived observations, 2026-11-30\n\n## OBS-20261130-001\n\n- Original date: 2026-11-03\n"
        "- Impact: medium (4.0)\n- Type: fact\n- Confidence: 0.95 (explicit)\n- Id: k3f9q2\n"
        f"- Reason: said again later\n\n> {TEA}\n"
    )
    assert stat.S_IMODE(file_of(tmp_path).stat().st_mode) == 0o600
    assert stat.S_IMODE(file_of(tmp_path).parent.stat().st_mode) == 0o700


def test_what_is_archived_already_keeps_its_name_and_is_not_added_again(tmp_path: Path) -> None:
    archived(tmp_path, removals_of(TEA), date(2026, 11, 29))
    both = removals_of(f"{TEA}\n- 🟢 10:00 new\n")
    assert archived(tmp_path, both) == ("OBS-20261129-001", "OBS-20261130-001")
    assert archived(tmp_path, both) == ("OBS-20261129-001", "OBS-20261130-001")
    assert file_of(tmp_path).read_text().count("## OBS") == 1


def test_the_same_words_under_two_dates_are_two_observations(tmp_path: Path) -> None:
    text = "Date: 2026-11-01\n- 🟢 09:00 Backup ran\n---\nDate: 2026-11-02\n- 🟢 09:00 Backup ran\n"
    assert archived(tmp_path, removals_of(text)) == ("OBS-20261130-001", "OBS-20261130-002")


@pytest.mark.parametrize("odd", ["a\rb", "a\u2028b", "a\x0cb", "a\x85b", "> - a", "## OBS-20261130-007", "a\udcffb"])
def test_a_line_with_odd_characters_is_found_again(tmp_path: Path, odd: str) -> None:
    document = parse(f"- 🟢 09:00 {odd}".encode("utf-8", "surrogateescape"))
    raw = document.lines[0].encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    removals = [Removal(document.observations[0], raw, "dropped", "odd")]
    assert archived(tmp_path, removals) == archived(tmp_path, removals) == ("OBS-20261130-001",)


@pytest.mark.parametrize("cut", range(1, 120, 7))
def test_an_entry_that_a_crash_cut_off_is_written_again(tmp_path: Path, cut: int) -> None:
    removals = removals_of(f"- 🟢 10:00 first\n{TEA}\n")
    archived(tmp_path, removals)
    whole = file_of(tmp_path).read_bytes()
    file_of(tmp_path).write_bytes(whole[:-cut])
    names = archived(tmp_path, removals)
    assert len(set(names)) == 2
    assert {key[1] for key in Archive(tmp_path).known()} >= {removal.raw for removal in removals}
    lines = file_of(tmp_path).read_text().split("\n")
    assert f"> {TEA}" in lines


def test_an_undone_entry_is_known_no_more(tmp_path: Path) -> None:
    names = archived(tmp_path, removals_of(f"{TEA}\n- 🟢 10:00 other\n"))
    Archive(tmp_path).undone(names[:1], date(2026, 12, 1))
    assert list(Archive(tmp_path).known().values()) == [names[1]]
    assert archived(tmp_path, removals_of(TEA), date(2026, 12, 2)) == ("OBS-20261202-001",)
    assert TEA in {line for _, line in Archive(tmp_path).known()}


def test_text_that_a_person_added_to_the_archive_stays(tmp_path: Path) -> None:
    file_of(tmp_path).parent.mkdir(parents=True)
    file_of(tmp_path).write_text("my own note without an end")
    archived(tmp_path, removals_of(TEA))
    assert file_of(tmp_path).read_text().startswith("my own note without an end\n\n## OBS-20261130-001\n")


def test_an_archive_that_cannot_be_read_or_written_is_one_clear_line(tmp_path: Path) -> None:
    file_of(tmp_path).mkdir(parents=True)
    with pytest.raises(MemoryWriteError, match=r"cannot read .*2026-11-30.md: .*; nothing was taken out of the memory"):
        archived(tmp_path, removals_of(TEA))


def test_blanks_and_control_characters_at_the_end_of_a_line_are_part_of_it(tmp_path: Path) -> None:
    archived(tmp_path, removals_of("  - 🟢 09:00 odd\x1f\u3000 \t\n"))
    assert file_of(tmp_path).read_text().endswith("> - 🟢 09:00 odd\x1f\u3000\n")
