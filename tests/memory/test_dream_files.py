"""What a night leaves in files: chunks, hook lines, what is remembered of it; and the check that nothing is lost."""

from __future__ import annotations

import stat
from datetime import date, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from total_recall.memory import conservation, contradictions, hook_lines, last_dream
from total_recall.memory.archive import Archive
from total_recall.memory.chunks import Chunk, Chunks
from total_recall.memory.document import parse
from total_recall.memory.last_dream import Bundle, Filing, LastDream, Unfinished
from total_recall.memory.reflection import Removal
from total_recall.memory.shelf import CUT_OFF
from total_recall.state import State

TODAY = date(2026, 12, 1)
TEXT = "Date: 2026-10-01\n- 🟡 09:00 Tiles came\n- 🟡 09:10 Sink leaks\n- 🟡 09:20 Cables laid\n"


def removals_of(text: str) -> list[Removal]:
    document = parse(text.encode())
    return [
        Removal(
            entry, document.lines[entry.line - 1].rstrip("\n"), "dropped", "old", hooks=("tiles", "wall"), kind="event"
        )
        for entry in document.observations
    ]


def chunk(text: str = TEXT) -> Chunk:
    return Chunk("Kitchen", "3 notes", "2026-10-01", "tentative", ("Mr. Oh",), removals_of(text))


# --- the archive


def test_a_chunk_has_every_line_in_full_and_is_filed_once(tmp_path: Path) -> None:
    shelf = Chunks(tmp_path)
    assert shelf.add([chunk()], TODAY) == ("CHUNK-20261201-001",)
    assert shelf.add([chunk()], TODAY) == ("CHUNK-20261201-001",)
    path = tmp_path / "archive" / "chunks" / "2026-12-01.md"
    assert path.read_text().startswith(
        "# Chunks, 2026-12-01\n\n## CHUNK-20261201-001\n\n- Topic: Kitchen\n- Finding: 3 notes\n"
        "- Confidence: tentative (3 sources on 1 days)\n- Dates: 2026-10-01\n- Names: Mr. Oh\n\n"
        "- Original date: 2026-10-01\n- Impact: medium (5.0)\n- Type: event\n- Confidence: unknown (unknown)\n"
        "- Id: none\n- Reason: old\n- Hooks: tiles; wall\n\n> - 🟡 09:00 Tiles came\n\n"
    )
    assert path.read_text().endswith("\n> - 🟡 09:20 Cables laid\n\n- Sources: 3\n")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert len(shelf.known()) == 3
    shelf.undone(["CHUNK-20261201-001"], TODAY)
    assert shelf.known() == {}
    assert shelf.add([chunk()], TODAY) == ("CHUNK-20261201-002",)


@pytest.mark.parametrize("kind", ["archive", "chunks"])
def test_an_entry_that_a_crash_cut_off_anywhere_is_filed_again_and_counts_once(tmp_path: Path, kind: str) -> None:
    def shelf_in(folder: Path) -> Archive | Chunks:
        return Archive(folder) if kind == "archive" else Chunks(folder)

    def add(folder: Path) -> None:
        if kind == "archive":
            Archive(folder).add(removals_of(TEXT), TODAY)
        else:
            Chunks(folder).add([chunk()], TODAY)

    add(tmp_path / "whole")
    whole = shelf_in(tmp_path / "whole")
    content = whole.path(TODAY).read_bytes()
    for length in range(1, len(content), 7):
        folder = tmp_path / str(length)
        path = shelf_in(folder).path(TODAY)
        path.parent.mkdir(parents=True)
        path.write_bytes(content[:length])
        add(folder)
        entries = [key for entry in shelf_in(folder).entries() if entry.is_whole for key in entry.keys]
        assert sorted(entries) == sorted(whole.known()), f"cut off after {length} bytes"
    assert CUT_OFF.endswith("\n")


# --- hook lines

LINES = [
    f"- **Topic {n}**: done (2026-10-0{n}). [ref: archive/observations/2026-11-0{n}.md#OBS-2026110{n}-001]"
    for n in range(1, 6)
]


def with_hooks(*lines: str, more: str = "") -> bytes:
    return "\n".join(["# Log", "", hook_lines.HEADING, *lines, more, "---", "Date: 2026-11-20", "- 🟡 x", ""]).encode()


def test_hook_lines_stand_in_a_section_of_their_own_before_the_days() -> None:
    document = parse(b"# Log\n\nmine\n---\nDate: 2026-11-20\n- \xf0\x9f\x9f\xa1 x\n")
    one = hook_lines.rewritten(document, LINES[:1], ())
    assert (
        one.render().decode() == f"# Log\n\nmine\n\n{hook_lines.HEADING}\n{LINES[0]}\n\n---\nDate: 2026-11-20\n- 🟡 x\n"
    )
    two = hook_lines.rewritten(one, LINES[1:2], ())
    assert f"{LINES[0]}\n{LINES[1]}\n\n---" in two.render().decode()
    none = hook_lines.rewritten(two, (), hook_lines.find(two))
    assert hook_lines.HEADING not in none.render().decode() and "mine" in none.render().decode()


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\n",
        b"- \xf0\x9f\x9f\xa1 x",
        b"Date: 2026-11-20\n- \xf0\x9f\x9f\xa1 x\n",
        b"mine",
        "\ufeffmine\r\nDate: 2026-11-20\r\n".encode(),
        b"---\ntitle: a\n---\ntext\n",
        b"```\nopen",
    ],
)
def test_added_to_any_document_they_are_found_again_and_the_rest_is_as_it_was(raw: bytes) -> None:
    before = parse(raw)
    after = hook_lines.rewritten(before, LINES[:2], ())
    assert len(hook_lines.find(after)) == 2
    assert conservation.lost(before, after, ()) == ()
    assert parse(after.render()) == after
    assert (b"\r\n" in after.render()) == (b"\r\n" in raw)


def test_other_text_in_the_section_stays_and_lines_elsewhere_are_a_persons() -> None:
    document = parse(
        with_hooks(LINES[0], "my remark", LINES[1], more=LINES[2] + " and more") + f"\n{LINES[3]}\n".encode()
    )
    found = hook_lines.find(document)
    assert [line.name for line in found] == ["OBS-20261101-001", "OBS-20261102-001"]
    after = hook_lines.rewritten(document, (), found).render().decode()
    assert "my remark" in after and LINES[2] in after and LINES[3] in after and hook_lines.HEADING in after


def test_the_oldest_go_when_there_is_no_room_and_all_go_in_the_end() -> None:
    found = hook_lines.find(parse(with_hooks(*LINES)))
    each = found[0].tokens
    assert hook_lines.retired(found, TODAY, 5 * each) == ()
    assert [line.night.day for line in hook_lines.retired(found, TODAY, 3 * each)] == [1, 2]
    assert len(hook_lines.retired(found, TODAY + timedelta(days=400), 5 * each)) == 5


# --- conservation

BEFORE = "mine\n---\nDate: 2026-10-01\n- 🟡 09:00 Tiles came\n- 🟡 09:10 Sink leaks\n"


@pytest.mark.parametrize(
    ("after", "filed", "said"),
    [
        (BEFORE, (), ()),
        (BEFORE.replace("- 🟡 09:00 Tiles came\n", ""), (("2026-10-01", "- 🟡 09:00 Tiles came"),), ()),
        (BEFORE.replace("- 🟡 09:00 Tiles came\n", ""), (), ("lost: ",)),
        (BEFORE, (("2026-10-01", "- 🟡 09:00 Tiles came"),), ("in the memory and in the archive: ",)),
        (BEFORE + "- 🟡 10:00 new\n", (), ("not there before: ",)),
        (BEFORE.replace("mine", "yours"), (), ("own text lost: ",)),
        (BEFORE.replace("10-01", "10-02"), (), ("lost: ", "lost: ", "not there before: ", "not there before: ")),
        ("", (), ("lost: ", "lost: ", "own text lost: ")),
    ],
)
def test_what_is_lost_is_named(after: str, filed: tuple[tuple[str, str], ...], said: tuple[str, ...]) -> None:
    wrong = conservation.lost(parse(BEFORE.encode()), parse(after.encode()), filed)
    assert tuple(what[: len(start)] for what, start in zip(wrong, said, strict=True)) == said


@given(st.binary(max_size=200))
def test_any_document_is_conserved_by_itself(raw: bytes) -> None:
    assert conservation.lost(parse(raw), parse(raw), ()) == ()


@pytest.mark.parametrize(
    ("fields", "text", "why"),
    [
        ("dc:type=rule", "x", "rule"),
        ("dc:importance=9.0", "x", "importance 9.0"),
        ("dc:pinned=1", "x", "pinned"),
        ("dc:type=goal", "x", "goal"),
        ("dc:type=event dc:refers=2026-12-01", "x", "a day to come"),
        ("dc:type=event", "it is on 2026-12-24", "a day to come"),
        ("dc:type=goal dc:superseded=a", "x", None),
        ("dc:type=event dc:importance=8.9", "it was on 2026-11-24", None),
    ],
)
def test_what_must_never_leave_is_told_from_the_line_itself(fields: str, text: str, why: str | None) -> None:
    document = parse(f"Date: 2026-10-01\n- 🟡 {text} <!-- {fields} -->\n".encode())
    [entry] = document.observations
    said = conservation.critical(document, [conservation.key_in(document, entry)], TODAY)
    assert [what.partition(":")[0] for what in said] == ([] if why is None else [why])
    assert conservation.critical(document, [], TODAY) == ()


# --- contradictions


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        (("Hana lives in Seoul", "Hana lives in Busan"), [(1, 2)]),
        (("Hana lives in Seoul", "Joon lives in Busan"), []),
        (("Deploys on Fridays are allowed here", "Deploys on Fridays are not allowed here"), [(1, 2)]),
        (("Hana lives in Seoul", "Hana has a cat"), []),
    ],
)
def test_two_lines_that_cannot_both_be_true(lines: tuple[str, ...], found: list[tuple[int, int]]) -> None:
    text = "".join(
        f"- 🟡 {line} <!-- dc:id=l{n} dc:type=fact dc:date=2026-11-0{n} -->\n" for n, line in enumerate(lines, 1)
    )
    assert list(contradictions.pairs(parse(text.encode()).observations)) == found


# --- what is remembered


def test_a_night_is_read_back_as_it_was_remembered(tmp_path: Path) -> None:
    at = datetime(2026, 12, 1, 3, tzinfo=timezone.utc)
    filing = Filing("2026-10-01", "- 🟡 x", "old", ("a", "b"), "event")
    bundle = Bundle("t", "o", "s", (filing,), "f", ("n",), "tentative")
    begun = Unfinished(at, TODAY, "ab", 10, (bundle,), ("look",), "offline", 5, ("note",))
    with State.open(tmp_path) as state:
        assert last_dream.unfinished(state) is None and last_dream.nights(state) == ()
        last_dream.begin(state, begun)
        assert last_dream.unfinished(state) == begun
        last_dream.end(state)
        assert last_dream.unfinished(state) is None
        made = [
            LastDream(at + timedelta(days=n), TODAY + timedelta(days=n), "b", "c", b"\xff\n", ("OBS-1",), ())
            for n in range(12)
        ]
        for night in made:
            last_dream.save(state, night)
        assert last_dream.nights(state) == tuple(made[2:])
        last_dream.undone(state, made[5])
        assert [night.is_undone for night in last_dream.nights(state)].count(True) == 1
