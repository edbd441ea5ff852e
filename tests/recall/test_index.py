from __future__ import annotations

import os
import sqlite3
import stat
import threading
from collections import Counter
from contextlib import closing
from dataclasses import replace
from datetime import date, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from total_recall.errors import MemoryWriteError, StoreError
from total_recall.recall import database
from total_recall.recall import index as indexes
from total_recall.recall.index import RecallIndex, in_memory, using
from total_recall.recall.memories import Filed, Memory, Synced
from total_recall.recall.terms import index_terms

AT = datetime(2026, 11, 28, 9, 0, tzinfo=timezone(timedelta(hours=9)))


def memory(key: str, text: str, minute: int = 0, group: str = "day") -> Memory:
    return Memory(key, text, AT + timedelta(minutes=minute), group)


def texts(index: RecallIndex) -> list[str]:
    return [filed.memory.text for filed in index.all("live")]


def finds(index: RecallIndex, word: str) -> set[str]:
    (term,) = index_terms(word)
    return {filed.memory.key for filed in index.read(index.occurrences("memory", term)).values()}


TEA, UJI, KETTLE = memory("a", "green tea", 0), memory("b", "tea from Uji", 1), memory("c", "a kettle", 2)


def test_everything_comes_back_as_it_was_filed() -> None:
    whole = Memory(
        "k3f9q2", "Tax return\u2028is due", AT, "session x", "goal", 8.5, date(2026, 12, 4), "zz", "Caroline"
    )
    bare = Memory("x", "", None)
    index = in_memory()
    index.sync("observations.md", "live", (1, 2, 3), [whole, bare])
    (undated, filed) = index.all("live")
    assert filed.memory == whole and filed.memory.at is not None and filed.memory.at.utcoffset() == AT.utcoffset()
    assert undated.memory == bare
    assert (filed.origin, filed.source, filed.length) == ("live", "observations.md", 3)
    assert index.stamp("observations.md") == (1, 2, 3)


def test_only_what_changed_is_touched() -> None:
    index = in_memory()
    assert index.sync("file", "live", (1,), [TEA, UJI]) == Synced(added=2)
    numbers = {filed.memory.key: filed.number for filed in index.all("live")}
    assert index.sync("file", "live", (2,), [TEA, UJI, KETTLE]) == Synced(added=1)
    assert index.sync("file", "live", (3,), [TEA, replace(UJI, superseded_by="c"), KETTLE]) == Synced(1, 1)
    assert index.sync("file", "live", (4,), [TEA, KETTLE]) == Synced(removed=1)
    after = {filed.memory.key: filed.number for filed in index.all("live")}
    assert after.keys() == {"a", "c"} and after["a"] == numbers["a"]
    assert finds(index, "tea") == {"a"} and finds(index, "Uji") == set()
    assert index.size("memory").memories == 2
    assert index.size("memory").terms == 3


def test_a_source_that_is_gone_is_forgotten() -> None:
    index = in_memory()
    index.sync("one", "live", (1,), [TEA])
    index.sync("two", "archived", (1,), [UJI])
    assert index.forget_source("one") == Synced(removed=1)
    assert index.sources() == ["two"] and finds(index, "tea") == {"b"}


def test_transcripts_do_not_say_how_rare_a_word_is_among_memories() -> None:
    index = in_memory()
    index.sync("file", "live", (1,), [TEA])
    index.extend("messages", "transcript", (1, 1), [memory("m1", "more tea"), memory("m2", "much tea")])
    assert index.count("memory", "tea") == 1 and index.count("transcript", "tea") == 2
    assert index.extend("messages", "transcript", (2, 2), [memory("m2", "much tea")]) == Synced()


def test_neighbours_are_of_one_group_in_the_order_of_time() -> None:
    index = in_memory()
    several = [memory(str(n), f"line {n}", minute=n) for n in (3, 1, 2, 5, 4)]
    index.sync("file", "live", (1,), [*several, memory("x", "elsewhere", 3, group="another")])
    by_key = {filed.memory.key: filed for filed in index.all("live")}
    numbers = {filed.number: key for key, filed in by_key.items()}
    before, after = index.beside(by_key["3"], 2)
    assert [numbers[n] for n in before] == ["2", "1"] and [numbers[n] for n in after] == ["4", "5"]
    assert index.beside(replace(by_key["3"], memory=replace(TEA, group="")), 2) == ([], [])


def test_several_of_one_moment_stay_in_the_order_in_which_they_were_filed() -> None:
    index = in_memory()
    index.sync("file", "live", (1,), [memory(key, "x") for key in "abc"])
    middle = next(filed for filed in index.all("live") if filed.memory.key == "b")
    before, after = index.beside(middle, 3)
    assert (len(before), len(after)) == (1, 1) and before < [middle.number] < after


def test_a_day_is_a_local_one() -> None:
    index = in_memory()
    early = Memory("early", "x", datetime(2026, 11, 28, 1, 0, tzinfo=timezone(timedelta(hours=9))))
    ahead = Memory("ahead", "y", datetime(2026, 1, 1, tzinfo=timezone.utc), refers=date(2026, 11, 28))
    index.sync("file", "live", (1,), [early, ahead])
    day = date(2026, 11, 28)
    assert len(index.between(("live",), day, day, 10)) == 2
    assert index.between(("archived",), day, day, 10) == []


def test_the_very_characters() -> None:
    index = in_memory()
    index.sync("file", "live", (1,), [memory("a", "100% To Be"), memory("b", "1000 to be")])
    found = index.read(index.containing(("live",), "0% to be", 10)).values()
    assert [filed.memory.key for filed in found] == ["a"]


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.dictionaries(st.sampled_from("abcdef"), st.sampled_from(["tea", "tea tea", "kettle", "차", ""]), max_size=6),
        max_size=5,
    )
)
def test_after_any_changes_it_is_like_one_built_anew(versions: list[dict[str, str]]) -> None:
    """What is removed has to be told to the full-text table exactly, or it finds ghosts."""
    grown, anew = in_memory(), in_memory()
    for number, version in enumerate(versions):
        grown.sync("file", "live", (number,), [memory(key, text) for key, text in version.items()])
    last = versions[-1] if versions else {}
    anew.sync("file", "live", (0,), [memory(key, text) for key, text in last.items()])
    for word in ("tea", "kettle", "차"):
        assert finds(grown, word) == finds(anew, word)
    assert grown.size("memory") == anew.size("memory")
    assert sorted(texts(grown)) == sorted(texts(anew))


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=60))
def test_every_term_is_found_again_as_it_was_made(text: str) -> None:
    """The full-text table must not cut what we hand to it."""
    index = in_memory()
    index.sync("file", "live", (1,), [memory("a", text)])
    for term, times in Counter(index_terms(text)).items():
        assert sum(index.occurrences("memory", term).values()) == min(times, 2), term


# --- the file


def file_one(index: RecallIndex) -> list[str]:
    if index.stamp("file") is None:
        index.sync("file", "live", (1,), [TEA])
    return texts(index)


def test_it_is_made_for_the_owner_alone(tmp_path: Path) -> None:
    assert using(tmp_path / "own", file_one) == ["green tea"]
    path = tmp_path / "own" / indexes.NAME
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_it_is_kept_and_may_be_deleted(tmp_path: Path) -> None:
    using(tmp_path, file_one)
    assert using(tmp_path, texts) == ["green tea"]
    (tmp_path / indexes.NAME).unlink()
    assert using(tmp_path, file_one) == ["green tea"]


@pytest.mark.parametrize("damage", ["text", "first page", "a table is gone", "middle"])
def test_a_damaged_one_is_set_aside_and_built_anew(tmp_path: Path, damage: str) -> None:
    many = [memory(str(n), f"word{n} tea", n) for n in range(400)]

    def file_many(index: RecallIndex) -> int:
        if index.stamp("file") is None:
            index.sync("file", "live", (1,), many)
        return len(index.occurrences("memory", "tea")) + len(index.all("live"))

    assert using(tmp_path, file_many) == 800
    path = tmp_path / indexes.NAME
    content = path.read_bytes()
    if damage == "text":
        path.write_bytes(b"this is no database, whatever it once was\n" * 100)
    elif damage == "first page":
        path.write_bytes(b"\0" * 4096 + content[4096:])
    elif damage == "middle":
        path.write_bytes(content[:4096] + b"\xff" * (len(content) - 4096))
    else:
        with closing(sqlite3.connect(path)) as db:
            db.execute("DROP TABLE memory_terms")
    assert using(tmp_path, file_many) == 800
    assert (tmp_path / indexes.SET_ASIDE).exists()
    assert using(tmp_path, file_many) == 800


def test_one_of_another_format_is_built_anew(tmp_path: Path) -> None:
    using(tmp_path, file_one)
    with closing(sqlite3.connect(tmp_path / indexes.NAME)) as db:
        db.execute(f"PRAGMA user_version = {database.FORMAT + 1}")
    assert using(tmp_path, texts) == []
    assert using(tmp_path, file_one) == ["green tea"]
    assert not (tmp_path / indexes.SET_ASIDE).exists()


def test_two_that_file_the_same_at_once_file_it_once(tmp_path: Path) -> None:
    many = [memory(str(n), f"word{n} tea", n) for n in range(3000)]
    using(tmp_path, texts)
    results: list[int] = []

    def file_many() -> None:
        def work(index: RecallIndex) -> int:
            index.sync("file", "live", (1,), many)
            return len(index.all("live"))

        results.append(using(tmp_path, work))

    threads = [threading.Thread(target=file_many) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [3000] * 3

    def count(index: RecallIndex) -> tuple[int, int]:
        return len(index.occurrences("memory", "tea")), index.size("memory").memories

    assert using(tmp_path, count) == (3000, 3000)


def test_reading_goes_on_beside_a_writer(tmp_path: Path) -> None:
    using(tmp_path, file_one)
    with closing(sqlite3.connect(tmp_path / indexes.NAME, isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("DELETE FROM source")
        assert using(tmp_path, texts) == ["green tea"]
        writer.execute("ROLLBACK")


def test_who_waits_too_long_for_a_writer_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    using(tmp_path, texts)
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.05)
    with closing(sqlite3.connect(tmp_path / indexes.NAME, isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="in use by another process"):
            using(tmp_path, file_one)
        writer.execute("ROLLBACK")
    assert using(tmp_path, file_one) == ["green tea"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(MemoryWriteError, match=str(tmp_path)):
        using(tmp_path, texts)
    tmp_path.chmod(0o700)


def test_a_memory_knows_where_it_stands() -> None:
    index = in_memory()
    index.sync("archive/observations/2026-11-01.md", "archived", (1,), [TEA])
    (filed,) = index.with_keys(["a", "nobody"])
    assert isinstance(filed, Filed) and filed.origin == "archived"


def test_a_python_without_full_text_search_is_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "_TABLES", ("CREATE VIRTUAL TABLE x USING no_such_module (y)",))
    with pytest.raises(StoreError, match="FTS5"):
        using(tmp_path, texts)
    assert not (tmp_path / indexes.SET_ASIDE).exists()


def test_a_word_that_occurs_again_counts_twice() -> None:
    index = in_memory()
    index.sync("file", "live", (1,), [memory("a", "tea with tea and more tea"), memory("b", "one tea")])
    found = index.occurrences("memory", "tea")
    assert {index.read([number])[number].memory.key: times for number, times in found.items()} == {"a": 2, "b": 1}
    assert index.count("memory", "tea") == 2 and index.size("memory").terms == 4


def test_hooks_are_found_apart_from_the_words_of_the_text() -> None:
    index = in_memory()
    hooked = replace(memory("a", "A zeppelin crossed the lake"), item="OBS-20260101-001", hooks="airship; zeppelin")
    index.sync("archive/observations/2026-01-01.md", "archived", (1,), [hooked])
    assert finds(index, "airship") == set()
    assert len(index.occurrences("memory", f"{indexes.HOOK}airship")) == 1
    assert index.occurrences("memory", f"{indexes.HOOK}zeppelin") == {}  # it is in the text
    (filed,) = index.items(["OBS-20260101-001", "OBS-20260101-002"])
    assert filed.memory == hooked
    index.sync("archive/observations/2026-01-01.md", "archived", (2,), [])
    assert index.items(["OBS-20260101-001"]) == []
    assert index.occurrences("memory", f"{indexes.HOOK}airship") == {} and index.size("memory").terms == 0


def test_a_time_is_looked_for_in_every_group_and_across_days() -> None:
    index = in_memory()
    long = [memory(f"long{n}", "x", minute=n * 1440, group="one session of months") for n in range(0, 90, 10)]
    short = [memory(f"short{n}", "y", minute=n * 1440 + 5, group=f"day {n}") for n in range(0, 90, 10)]
    nowhere = [Memory("nowhere", "z", None)]
    index.sync("file", "live", (1,), [*long, *short, *nowhere])
    first = (AT + timedelta(days=19)).date()
    found = index.read(index.between(("live",), first, first + timedelta(days=12), 50)).values()
    assert {filed.memory.key for filed in found} == {"long20", "short20", "long30", "short30"}


def test_many_at_once_are_compacted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexes, "_MANY", 100)
    many = [memory(f"m{n}", f"line {n} about tea", n) for n in range(300)]

    def work(index: RecallIndex) -> int:
        index.sync("file", "live", (1,), many)
        return index.count("memory", "tea")

    assert using(tmp_path, work) == 300
    with closing(sqlite3.connect(tmp_path / indexes.NAME)) as db:
        assert db.execute("PRAGMA freelist_count").fetchone() == (0,)
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
