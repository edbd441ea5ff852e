"""JSONL transcripts: damaged, moved and growing files. Nothing is lost, nothing is taken twice, all is counted."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from builders import (
    DELETED,
    IMPORT_ROOTS,
    NOW,
    OTHER,
    RESET,
    SESSION,
    Home,
    append,
    at,
    header,
    line,
    lines,
    ms,
    nobodys,
    said,
    snapshot,
)
from total_recall.sessions import openclaw_files
from total_recall.sessions.entries import latest_believable
from total_recall.sessions.openclaw_files import OpenClawFiles
from total_recall.sessions.source import Portion, Problems
from total_recall.state import State

ONE, TWO, THREE = said("e1", "one", 1), said("e2", "two", 2), said("e3", "three", 3)
NESTED = b'{"type":"message","id":"d","message":{"role":"user","content":' + b"[" * 100_000 + b"]" * 100_000 + b"}}\n"
HUGE_NUMBER = line(ONE).replace(b'"role":', b'"tokens":' + b"9" * 5000 + b',"role":')
IMAGE = {"type": "image", "mimeType": "image/png", "data": "QUJD" * 30}

DAMAGE: tuple[tuple[str, bytes, list[str], dict[str, int]], ...] = (
    ("nothing wrong", lines(ONE, TWO), ["one", "two"], {}),
    ("half a last line", lines(ONE) + line(TWO)[:-9], ["one"], {"half-line": 1}),
    ("a last line without its newline", lines(ONE) + line(TWO)[:-1], ["one", "two"], {}),
    ("cut inside a character", lines(ONE) + line(said("k", "안녕"))[:110], ["one"], {"half-line": 1}),
    ("NUL bytes inside a text", line(ONE).replace(b"one", b"o\0\0ne") + line(TWO), ["one", "two"], {"nul-bytes": 1}),
    ("NUL bytes behind a record", line(ONE)[:-1] + b"\0" * 9000 + b"\n" + line(TWO), ["one", "two"], {"nul-bytes": 1}),
    ("NUL bytes between records", line(ONE) + b"\0" * 512 + line(TWO), ["one", "two"], {"nul-bytes": 1}),
    ("NUL bytes at the end", lines(ONE) + b"\0" * 143_000, ["one"], {"nul-bytes": 1}),
    ("a whole last record, then NUL bytes", line(ONE)[:-1] + b"\0" * 70, ["one"], {"nul-bytes": 1}),
    ("invalid UTF-8", line(ONE).replace(b"one", b"on\xff") + line(TWO), ["on\ufffd", "two"], {"bad-text": 1}),
    ("a lone surrogate", line(ONE).replace(b"one", rb"on\ud83d") + line(TWO), ["on\ufffd", "two"], {"bad-text": 1}),
    ("a surrogate pair is whole", line(ONE).replace(b"one", rb"on\ud83d\ude42"), ["on🙂"], {}),
    ("Windows line ends", lines(ONE, TWO).replace(b"\n", b"\r\n"), ["one", "two"], {"crlf": 1}),
    ("a line that is no object", b'[1]\n"x"\nnull\n7\n' + lines(ONE), ["one"], {"not-object": 4}),
    ("a line that is no JSON", b"rm: cannot remove\n" + lines(ONE), ["one"], {"broken-line": 1}),
    ("blank lines", b"\n \n\r\n" + lines(ONE), ["one"], {"crlf": 1}),
    ("an unknown type", lines({"type": "hologram", "id": "h"}, ONE), ["one"], {"unknown-type": 1}),
    ("a type that is no string", lines({"type": ["message"]}, {"type": {}}, {}, ONE), ["one"], {"unknown-type": 3}),
    ("two records on one line", line(ONE)[:-1] + line(TWO), ["one", "two"], {"glued-lines": 1}),
    ("half a record, then a whole one", line(ONE)[:70] + line(TWO), ["two"], {"glued-lines": 1}),
    ("nested too deep", NESTED + lines(TWO), ["two"], {"broken-line": 1}),
    ("a number past all range", HUGE_NUMBER + lines(TWO), ["one", "two"], {"bad-text": 1}),
    ("not a number", line(ONE).replace(b'"role":', b'"x":NaN,"role":'), ["one"], {"bad-text": 1}),
    ("separators that are no line end", lines(said("u", "a\u2028b\u0085c\x1cd")), ["a\u2028b\u0085c\x1cd"], {}),
    ("an image beside words", lines(said("i", [IMAGE, {"type": "text", "text": "see"}])), ["see"], {}),
)


HALVES = {line(TWO)[:-9]: line(TWO)[-9:], line(said("k", "안녕"))[:110]: line(said("k", "안녕"))[110:]}


@pytest.mark.parametrize(("content", "texts", "counts"), [c[1:] for c in DAMAGE], ids=[c[0] for c in DAMAGE])
def test_damage_is_counted_and_the_rest_is_read(
    store: Home, content: bytes, texts: list[str], counts: dict[str, int]
) -> None:
    store.write(content)
    assert store.read() == texts
    assert store.counted() == counts
    assert store.read() == []


@pytest.mark.parametrize("ending", ["", RESET, DELETED])
@pytest.mark.parametrize("content", [case[1] for case in DAMAGE], ids=[case[0] for case in DAMAGE])
def test_what_is_appended_to_a_damaged_file_is_read_once(store: Home, content: bytes, ending: str) -> None:
    """The host goes on where the file ends, newline or not; or somebody finishes an archive that was still open."""
    path = store.write(content, ending=ending)
    before = store.read()
    halves = {name: end for name, end in HALVES.items() if content.endswith(name)}
    append(path, *halves.values(), said("z", "later", 9))
    after = store.read()
    assert after[-1] == "later"
    assert len(after) <= 2
    assert not set(before) & set(after)
    assert store.read() == []


@pytest.mark.parametrize("ending", ["", RESET, DELETED])
def test_a_half_line_is_taken_whole_when_it_is_finished(store: Home, ending: str) -> None:
    path = store.write(ONE, line(said("k", "김밥 두 줄"))[:-30], ending=ending)
    assert store.read() == ["one"]
    assert store.counted() == {"half-line": 1}
    append(path, line(said("k", "김밥 두 줄"))[-30:])
    assert store.read() == ["김밥 두 줄"]
    assert store.counted() == {}


@pytest.mark.parametrize("ending", ["", RESET])
def test_a_mark_at_the_start_of_a_file_does_no_harm(store: Home, ending: str) -> None:
    path = store.transcript(ending=ending)
    path.write_bytes(b"\xef\xbb\xbf" + lines(header("header-id"), ONE))
    assert store.read() == ["one"]
    assert store.counted() == {"bom": 1}


# --- very long lines


def _long(*blocks: object, ending: bytes = b"\n") -> bytes:
    return line(said("big", list(blocks)))[:-1] + ending


WORDS = {"type": "text", "text": 'what is "this" plant? \\ 이건?'}
PIXELS = {"type": "image", "data": "QUJD" * (3 << 20), "mimeType": "image/png"}


@pytest.mark.parametrize("blocks", [(WORDS, PIXELS), (PIXELS, WORDS), (PIXELS, WORDS, PIXELS)])
def test_the_words_beside_a_large_image_survive(store: Home, blocks: tuple[object, ...]) -> None:
    store.write(ONE, _long(*blocks), THREE)
    assert store.read() == ["one", WORDS["text"], "three"]
    assert store.counted() == {"long-line": 1}


@pytest.mark.parametrize(
    "unit",
    ["word and ", "안녕하세요 ", 'a "quoted" \\ word\n', "\ud83d", "🙂"],
    ids=["en", "ko", "escapes", "lone", "emoji"],
)
def test_a_very_long_text_is_cut_where_it_stays_whole(store: Home, unit: str) -> None:
    """No half escape and no half character, whatever stands at the limit."""
    text = unit * ((9 << 20) // len(unit.encode("utf-8", "surrogatepass")))
    for shift in range(3):
        long, last = said(f"long{shift}", "x" * shift + text, shift), said(f"last{shift}", "last", 5)
        store.write(long, last, session_id=f"s{shift}")
        cut, rest = store.read()
        assert rest == "last"
        assert cut.endswith(" …")
        assert 300_000 < len(cut.encode()) <= openclaw_files.LINE_LIMIT
        assert store.counted().keys() <= {"long-line", "bad-text"}


@pytest.mark.parametrize(
    ("content", "texts", "counts"),
    [
        (b"\0" * (9 << 20) + line(ONE), ["one"], {"long-line": 1, "nul-bytes": 1}),
        (b"\0" * (9 << 20), [], {"long-line": 1, "nul-bytes": 1}),
        (b"[" + b"1," * (9 << 20) + b"1]\n" + line(ONE), ["one"], {"long-line": 1, "broken-line": 1}),
        (b'{"type":"message","id":"' + b"a" * (9 << 20), [], {"long-line": 1, "half-line": 1}),
        (b"[" + b"1," * (9 << 20), [], {"long-line": 1, "half-line": 1}),
    ],
    ids=["NUL bytes, then a record", "only NUL bytes", "numbers", "half", "half of numbers"],
)
def test_a_long_line_that_is_no_record_costs_only_itself(
    store: Home, content: bytes, texts: list[str], counts: dict[str, int]
) -> None:
    path = store.write(content)
    assert store.read() == texts
    assert store.counted() == counts
    append(path, b'"}\n' if "half-line" in counts else b"", THREE)
    assert store.read() == ["three"]


MEASURE = """
import resource, sys
from pathlib import Path
sys.path[:0] = sys.argv[3:]
from builders import Home
store = Home(Path(sys.argv[1]), Path(sys.argv[2]))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
texts = store.read()
print(len(texts), texts[0], resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_a_line_of_a_hundred_megabytes_is_read_in_bounded_memory(store: Home) -> None:
    path = store.write()
    with path.open("ab") as stream:
        start, end = line(said("i", [{"type": "text", "text": "what?"}, {"type": "image", "data": "@"}])).split(b"@")
        stream.write(start)
        for _ in range(100):
            stream.write(b"QUJD" * (1 << 18))
        stream.write(end)
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, str(store.root), str(store.own), *IMPORT_ROOTS],
        capture_output=True,
        text=True,
        check=True,
    )
    count, text, grown = done.stdout.split()
    assert (count, text) == ("1", "what?")
    kilobytes = int(grown) // (1024 if sys.platform == "darwin" else 1)
    assert kilobytes < 60_000


# --- times and ids


ABSURD: tuple[object, ...] = (
    0, -1, 1, 253_402_300_799_000, 1e300, -1e300, "soon", "9999-12-31T23:59:59Z", "2026-11-30T06:00:00",
    None, [], {}, True,
)  # fmt: skip


@pytest.mark.parametrize("time", ABSURD, ids=repr)
def test_a_message_without_a_believable_time_stands_beside_its_neighbour(store: Home, time: object) -> None:
    odd = said("odd", "odd") | {"timestamp": time}
    odd["message"]["timestamp"] = time
    store.write(said("a", "before", 1), odd, said("b", "behind", 2))
    assert store.read() == ["before", "odd", "behind"]
    assert store.counted() == {"bad-time": 1}


@pytest.mark.parametrize("time", ABSURD, ids=repr)
def test_one_believable_time_is_enough(store: Home, time: object) -> None:
    odd = said("odd", "odd", 1.5)
    odd["message"]["timestamp"] = time
    store.write(said("a", "before", 1), odd, said("b", "behind", 2))
    assert store.read() == ["before", "odd", "behind"]
    assert store.counted() == {}


@pytest.mark.parametrize(
    "seconds", [0, -86_400, 4_102_444_800, 253_402_300_800], ids=["1970", "1969", "2100", "year 10000"]
)
def test_a_transcript_without_any_time_is_read_whatever_its_file_says(store: Home, seconds: int) -> None:
    path = store.write({"type": "message", "id": "a", "message": {"role": "user", "content": "timeless"}})
    try:
        os.utime(path, (seconds, seconds))
    except (OSError, OverflowError):
        pytest.skip("this file system has no such time")
    assert store.read() == ["timeless"]
    with State.open(store.own) as state:
        assert next(state.queue()).message.at == NOW


def test_a_clock_that_jumps_back_loses_nothing(store: Home) -> None:
    path = store.write(said("a", "noon", 360), said("b", "morning", 1))
    assert store.read() == ["morning", "noon"]
    append(path, said("c", "yesterday", -1440))
    assert store.read() == ["yesterday"]


def test_an_id_used_twice_in_one_transcript_is_two_messages(store: Home) -> None:
    path = store.write(said("aa", "first", 1), said("aa", "second", 2))
    assert store.read() == ["first", "second"]
    append(path, said("aa", "third", 3))
    assert store.read() == ["third"]
    path.write_bytes(path.read_bytes().replace(b"/tmp", b"/tmp/elsewhere"))
    assert store.read() == []


def test_messages_without_an_id_are_told_apart_by_what_they_say_and_when(store: Home) -> None:
    entries = [said(name, text, minute) for name, text, minute in (("a", "yes", 1), ("b", "yes", 2), ("c", "no", 2))]
    for entry, entry_id in zip(entries, (None, 5, ""), strict=True):
        entry["id"] = entry_id
    del entries[0]["id"]
    path = store.write(*entries)
    assert store.read() == ["yes", "yes", "no"]
    path.write_bytes(path.read_bytes().replace(b"/tmp", b"/tmp/elsewhere"))
    assert store.read() == []


def test_a_message_without_id_keeps_its_identity_when_its_time_becomes_believable(store: Home) -> None:
    ahead = said("x", "from the future", 60 * 24 * 3)
    del ahead["id"]
    path = store.write(ahead)
    assert store.read() == ["from the future"]
    path.write_bytes(path.read_bytes().replace(b"/tmp", b"/tmp/elsewhere"))
    assert store.read(now=at(60 * 24 * 9)) == []


def test_the_same_words_without_id_and_time_in_two_sessions_are_two_messages(store: Home) -> None:
    timeless = {"type": "message", "message": {"role": "user", "content": "ok"}}
    store.write(timeless)
    store.write(timeless, session_id=OTHER)
    assert store.read() == ["ok", "ok"]


# --- what is in the directory


def _directory(path: Path) -> None:
    path.mkdir()


def _loop(path: Path) -> None:
    path.symlink_to(path.name)


def _dangling(path: Path) -> None:
    path.symlink_to("nowhere.jsonl")


def _out(path: Path) -> None:
    target = path.parents[4] / "elsewhere.jsonl"
    target.write_bytes(lines(header("foreign"), said("f", "foreign")))
    path.symlink_to(target)


def _socket_like(path: Path) -> None:
    os.mkfifo(path)


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (_directory, "not-a-file"),
        (_socket_like, "not-a-file"),
        (_loop, "symlink-out"),
        (_dangling, "symlink-out"),
        (_out, "symlink-out"),
    ],
)
@pytest.mark.parametrize("ending", ["", RESET])
def test_what_is_only_named_like_a_session_is_counted(
    store: Home, make: Callable[[Path], None], kind: str, ending: str
) -> None:
    store.write(ONE)
    make(store.transcript(OTHER, ending))
    assert store.read() == ["one"]
    assert store.counted() == {kind: 1}


@pytest.mark.parametrize("make", [_directory, _socket_like, _loop])
def test_an_index_that_is_no_file_is_counted(store: Home, make: Callable[[Path], None]) -> None:
    store.write(ONE)
    make(store.sessions / "sessions.json")
    assert store.read() == ["one"]
    assert store.counted() == {"index": 1}


def test_a_link_inside_the_store_is_the_same_session(store: Home) -> None:
    store.write(ONE)
    store.transcript(OTHER).symlink_to(store.transcript().name)
    assert store.read() == ["one"]
    append(store.transcript(), TWO)
    assert store.read() == ["two"]


def test_a_store_behind_a_link_is_read(store: Home, tmp_path: Path) -> None:
    store.write(ONE)
    elsewhere = tmp_path / "moved"
    store.sessions.rename(elsewhere)
    (store.root / "agents/main/sessions").symlink_to(elsewhere)
    assert store.read() == ["one"]
    assert store.counted() == {}


def test_a_file_that_may_not_be_read_is_counted_and_read_when_it_may() -> None:
    with nobodys() as folder:
        store = Home(folder / "openclaw", folder / "own")
        store.write(ONE)
        store.write(TWO, session_id=OTHER).chmod(0)
        assert store.read() == ["one"]
        assert store.counted() == {"unreadable": 1}
        store.transcript(OTHER).chmod(0o600)
        assert store.read() == ["two"]


@pytest.mark.parametrize("folder_name", ["agents/main/sessions", "agents/main/agent"])
def test_a_folder_that_may_not_be_read_is_counted(folder_name: str) -> None:
    with nobodys() as folder:
        store = Home(folder / "openclaw", folder / "own")
        store.write(ONE)
        store.database.touch()
        (store.root / folder_name).chmod(0)
        texts = store.read()
        (store.root / folder_name).chmod(0o700)
        assert texts == (["one"] if folder_name.endswith("agent") else [])
        assert store.counted()["unreadable"] >= 1


@pytest.mark.parametrize("make", [None, Path.mkdir], ids=["no store", "an empty store"])
def test_nothing_to_read_is_no_problem(store: Home, make: Callable[..., None] | None) -> None:
    if make is not None:
        store.sessions.rmdir()
        make(store.root / "agents/main/sessions")
    assert store.read() == []
    assert store.counted() == {}


def test_a_store_that_is_a_file_is_counted(store: Home) -> None:
    store.sessions.rmdir()
    (store.root / "agents/main/sessions").write_text("")
    assert store.read() == []
    assert store.counted()["unreadable"] >= 1


def test_a_file_name_of_any_bytes_is_read(store: Home) -> None:
    name = os.fsdecode(b"\xff\xfe\n-1.jsonl")
    (store.sessions / name).write_bytes(lines(ONE))
    assert store.read() == ["one"]
    append(store.sessions / name, TWO)
    assert store.read() == ["two"]


SIDE_FILES = (
    f"{SESSION}.trajectory.jsonl",
    f"{SESSION}.trajectory.jsonl{RESET}",
    f"{SESSION}.trajectory-path.json",
    f"{SESSION}.checkpoint.7f3a.jsonl",
    f"{SESSION}.jsonl.lock",
    f"{SESSION}.jsonl.bak",
    f"{SESSION}.jsonl.bak-2026-11-30",
    f"{SESSION}.jsonl.tmp",
    f"{SESSION}.json",
    "sessions.json.tmp",
)


@pytest.mark.parametrize("name", SIDE_FILES)
def test_side_files_are_not_sessions(store: Home, name: str) -> None:
    (store.sessions / name).write_bytes(lines(header("side"), said("s", "side")))
    source = store.sources()[0]
    assert store.read() == []
    assert store.counted() == {}
    assert not source.unread()


def test_archives_that_are_not_read_are_named_with_the_reason(store: Home) -> None:
    imported = store.root / "agents/main/session-sqlite-import-archive"
    names = (
        store.sessions / f"{SESSION}.jsonl{DELETED}.f18230999c9947e781095f26ac2facbe.zst",
        store.sessions / f"{SESSION}.jsonl.reset.later",
        store.sessions / f"{SESSION}.jsonl.imported-1796020459135",
        store.sessions / "cold/4fd1.jsonl.zst",
        imported / f"agent_main_main.{SESSION}.jsonl.imported-1796020459135",
    )
    others = (
        imported / f"archive-tier.{SESSION}.trajectory.jsonl.imported-1796020459135",
        imported / "legacy-store.sessions.json.imported-1796020459210",
        store.sessions / "cold/index.json",
    )
    for path in (*names, *others):
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(lines(header(), ONE))
    source = OpenClawFiles(store.sessions, "main", latest_ms=latest_believable(NOW))
    with State.open(store.own) as state:
        assert not list(source.portions(state, fresh=False, problems=Problems()))
    named = [entry.partition(": ")[0].rsplit("/", 1)[1] for entry in source.unread()]
    assert sorted(named) == sorted(path.name for path in names)
    assert all(reason for _, _, reason in (entry.partition(": ") for entry in source.unread()))


def test_reading_writes_nothing_into_the_store(store: Home) -> None:
    store.write(ONE, ending=RESET)
    store.write(TWO, b"\0" * 99)
    store.index({"agent:main:main": SESSION})
    before = snapshot(store.root)
    store.read()
    assert snapshot(store.root) == before


# --- headers and ids of sessions


def _sessions(store: Home) -> dict[str, str]:
    with State.open(store.own) as state:
        return {item.message.text: item.message.session_id for item in state.queue()}


HEADERS: tuple[tuple[str, bytes, str, dict[str, int]], ...] = (
    ("none", b"", SESSION, {"no-header": 1}),
    ("another id than the file's name", lines(header("inside")), "inside", {}),
    ("an empty id", lines(header("")), SESSION, {"no-header": 1}),
    ("an id that is no string", lines(header() | {"id": 7}), SESSION, {"no-header": 1}),
    ("no id", lines({"type": "session"}), SESSION, {"no-header": 1}),
    ("no JSON", b"{{{\n", SESSION, {"no-header": 1, "broken-line": 1}),
    ("NUL bytes before it", b"\0" * 20 + lines(header("inside")), "inside", {"nul-bytes": 1}),
    ("a lone surrogate in it", line(header("inside")).replace(b"inside", rb"in\ud83d"), "in\ufffd", {"bad-text": 1}),
)


@pytest.mark.parametrize(("head", "session", "counts"), [c[1:] for c in HEADERS], ids=[c[0] for c in HEADERS])
def test_a_session_is_named_by_its_header_else_by_its_file(
    store: Home, head: bytes, session: str, counts: dict[str, int]
) -> None:
    path = store.transcript()
    path.write_bytes(head + lines(ONE))
    assert store.read() == ["one"]
    assert _sessions(store) == {"one": session}
    assert store.counted() == counts
    append(path, TWO)
    path.rename(store.transcript(ending=RESET))
    assert store.read() == ["two"]
    assert _sessions(store)["two"] == session


def test_a_header_that_was_half_written_names_the_session_when_it_is_whole(store: Home) -> None:
    path = store.transcript()
    path.write_bytes(line(header("inside"))[:30])
    assert store.read() == []
    append(path, line(header("inside"))[30:], ONE)
    assert store.read() == ["one"]
    assert _sessions(store) == {"one": "inside"}


def test_topics_that_share_a_header_are_sessions_of_their_own(store: Home) -> None:
    index = {}
    for number in (1, 2):
        path = store.sessions / f"{SESSION}-topic-{number}.jsonl"
        path.write_bytes(lines(header(), said("same", f"in topic {number}", number)))
        index[f"agent:main:telegram:group:-1:topic:{number}"] = {"sessionId": SESSION, "sessionFile": str(path)}
    store.write(said("plain", "in no topic", 3))
    index["agent:main:telegram:direct:5"] = {"sessionId": SESSION}
    (store.sessions / "sessions.json").write_bytes(line(index))
    assert store.read() == ["in topic 1", "in topic 2", "in no topic"]
    with State.open(store.own) as state:
        keys = {item.message.text: item.message.session_key for item in state.queue()}
    assert keys == {
        "in topic 1": "agent:main:telegram:group:-1:topic:1",
        "in topic 2": "agent:main:telegram:group:-1:topic:2",
        "in no topic": "agent:main:telegram:direct:5",
    }
    first = store.sessions / f"{SESSION}-topic-1.jsonl"
    first.rename(f"{first}{RESET}")
    assert store.read() == []


# --- the index


def test_a_session_keeps_the_class_that_the_index_gave_it(store: Home) -> None:
    """After a deletion nothing names the archive any more."""
    store.index({"agent:main:subagent:1": SESSION})
    path = store.write(ONE)
    assert store.read() == []
    store.index({})
    append(path, TWO)
    path.rename(store.transcript(ending=DELETED))
    assert store.read() == []


INDEXES: tuple[tuple[str, bytes, dict[str, int]], ...] = (
    ("torn", b'{"agent:main:subagent:1":{"sessionId":"' + SESSION.encode(), {"index": 1}),
    ("empty", b"", {"index": 1}),
    ("no object", b"[]", {"index": 1}),
    ("nested too deep", b"[" * 100_000, {"index": 1}),
)


@pytest.mark.parametrize(("content", "counts"), [case[1:] for case in INDEXES], ids=[case[0] for case in INDEXES])
def test_a_torn_index_costs_no_message(store: Home, content: bytes, counts: dict[str, int]) -> None:
    (store.sessions / "sessions.json").write_bytes(content)
    store.write(ONE)
    store.write(TWO, session_id=OTHER)
    assert store.read() == ["one", "two"]
    assert store.counted() == counts


ODD_INDEXES = (
    b'\xef\xbb\xbf{"agent:main:subagent:1":{"sessionId":"%s"}}',
    b'{"agent:main:subagent:1":{"sessionId":"%s","label":"\xff\\ud83d"}}',
    b'{"x":1,"y":null,"z":{"sessionId":[]},"agent:main:subagent:1":{"sessionId":"%s","channel":9,"sessionFile":{}}}',
    b'{"agent:main:subagent:1":{"sessionId":"other","sessionFile":"/somewhere/%s.jsonl"}}',
)


@pytest.mark.parametrize("content", ODD_INDEXES)
def test_an_odd_index_still_tells_the_class(store: Home, content: bytes) -> None:
    (store.sessions / "sessions.json").write_bytes(content % SESSION.encode())
    store.write(ONE)
    assert store.read() == []
    assert store.counted() == {}


def test_an_index_that_is_being_rewritten_is_read_again(store: Home) -> None:
    path = store.sessions / "sessions.json"
    path.write_bytes(b'{"agent:main:sub')
    store.write(ONE)
    writer = threading.Timer(0.02, lambda: store.index({"agent:main:subagent:1": SESSION}))
    writer.start()
    texts = store.read()
    writer.join()
    assert texts == []
    assert store.counted() == {}


def test_a_session_without_a_message_is_read_when_it_has_one(store: Home) -> None:
    """Its class is not known yet; the index may come late."""
    path = store.write({"type": "model_change", "id": "m"})
    assert store.read() == []
    store.index({"agent:main:cron:1": SESSION})
    append(path, ONE)
    assert store.read() == []
    path = store.write({"type": "model_change", "id": "m"}, session_id=OTHER)
    assert store.read() == []
    append(path, TWO)
    assert store.read() == ["two"]


# --- files that move


def _renamed(path: Path) -> Path:
    return path.rename(Path(f"{path}{RESET}"))


def _copied(path: Path) -> Path:
    """The same bytes at a new inode under the same name."""
    copy = path.with_suffix(".copy")
    copy.write_bytes(path.read_bytes())
    return copy.replace(path)


def _renamed_copy(path: Path) -> Path:
    target = Path(f"{path}{RESET}")
    target.write_bytes(path.read_bytes())
    path.unlink()
    return target


def _renamed_then_name_taken(path: Path) -> Path:
    archive = _renamed(path)
    path.write_bytes(lines(header(OTHER), said("n", "new", 4)))
    return archive


def _untouched(path: Path) -> Path:
    return path


MOVES = (_untouched, _renamed, _copied, _renamed_copy, _renamed_then_name_taken)


@pytest.mark.parametrize("move", MOVES)
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_moved_file_goes_on_where_it_was(store: Home, move: Callable[[Path], Path], when: str) -> None:
    path = store.write(ONE, TWO)
    assert store.read() == ["one", "two"]
    if when == "after":
        append(path, THREE)
    path = move(path)
    if when == "before":
        append(path, THREE)
    assert store.read() == ["three"] + ["new"] * (move is _renamed_then_name_taken)
    assert store.read() == []


@pytest.mark.parametrize("move", MOVES)
def test_a_moved_file_is_not_read_again_from_its_start(
    store: Home, move: Callable[[Path], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = store.write(*(said(f"e{n}", f"text {n}", n) for n in range(50)))
    store.read()
    path = move(path)
    append(path, said("z", "new", 99))
    starts: list[int] = []
    original = openclaw_files._Reader.__init__

    def noted(self: Any, handle: Any, offset: int, *rest: Any) -> None:
        starts.append(offset)
        original(self, handle, offset, *rest)

    monkeypatch.setattr(openclaw_files._Reader, "__init__", noted)
    store.read()
    assert max(starts) > 5000
    assert sum(start == 0 for start in starts) == (move is _renamed_then_name_taken)


def test_a_new_device_number_is_no_new_file(store: Home) -> None:
    """It changes with a reboot on some file systems."""
    path = store.write(ONE)
    store.read()
    with State.open(store.own) as state:
        store_name = str(store.sessions)
        (cursor,) = state.file_cursors(store_name).values()
        moved = type(cursor)(**{f: getattr(cursor, f) for f in cursor.__dataclass_fields__} | {"dev": cursor.dev + 1})
        state.take((), files=(moved,))
    append(path, TWO)
    assert store.read() == ["two"]


def test_the_cursor_of_a_file_that_is_gone_does_no_harm(store: Home) -> None:
    """It stays; a file that comes under its name or inode is compared before it is believed."""
    store.write(ONE, TWO).unlink()
    path = store.write(ONE, TWO)
    store.read()
    path.unlink()
    assert store.read() == []
    store.write(ONE, TWO, THREE)
    assert store.read() == ["three"]
    store.write(said("o", "other"), session_id=OTHER)
    assert store.read() == ["other"]


def _cut(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: content.rindex(b'{"type"')])


REWRITES: tuple[tuple[str, bytes, list[str]], ...] = (
    ("shrunk", lines(header(), ONE), []),
    ("shrunk into a line", lines(header(), ONE, TWO)[:-20], []),
    ("shrunk and grown beyond the old size", lines(header(), ONE, said("n", "new" * 99, 5)), ["new" * 99]),
    ("shrunk and grown to the old size", lines(header(), ONE, said("e4", "tow", 2), THREE), ["tow"]),
    ("emptied", b"", []),
    ("emptied and begun anew", lines(header(OTHER), said("n", "anew")), ["anew"]),
    ("in another order", lines(header(), THREE, TWO, ONE), []),
    ("all ids the same, other texts", lines(header(), said("e1", "uno", 1), said("e2", "dos", 2)), []),
)


@pytest.mark.parametrize(("content", "texts"), [case[1:] for case in REWRITES], ids=[case[0] for case in REWRITES])
def test_a_rewritten_file_yields_only_what_is_new(store: Home, content: bytes, texts: list[str]) -> None:
    path = store.write(ONE, TWO, THREE)
    assert store.read() == ["one", "two", "three"]
    path.write_bytes(content)
    assert store.read() == texts
    append(path, b"" if content.endswith(b"\n") or not content else b"\n", said("z", "later", 9))
    assert store.read() == ["later"]


def test_a_heartbeat_that_was_cut_off_again_hides_nothing(store: Home) -> None:
    """Up to 2026.3 the host truncates an answered heartbeat away; a byte offset then lies inside a new line."""
    path = store.write(ONE)
    size = path.stat().st_size
    for beat in range(3):
        append(path, said(f"h{beat}", "[OpenClaw heartbeat poll]"), said(f"r{beat}", "HEARTBEAT_OK", role="assistant"))
        store.read()
        os.truncate(path, size)
        append(path, said(f"w{beat}", f"words {beat}", 10 + beat))
        assert store.read() == [f"words {beat}"]
        size = path.stat().st_size


# --- interruptions


def test_a_file_that_vanishes_between_listing_and_reading_is_counted(store: Home) -> None:
    store.write(ONE)
    store.write(TWO, session_id=OTHER)
    for path, stamp in ((store.transcript(), 1), (store.transcript(OTHER), 2)):
        os.utime(path, (ms(at(stamp)) / 1000, ms(at(stamp)) / 1000))
    source, problems = store.sources()[0], Problems()
    with State.open(store.own) as state:
        portions = source.portions(state, fresh=False, problems=problems)
        first = next(portions)
        store.transcript(OTHER).unlink()
        assert not list(portions)
    assert [m.text for m in first.messages] == ["one"]
    assert problems.counts == {"vanished": 1}


def test_a_file_that_vanishes_while_it_is_read_is_read_to_its_end(
    store: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(openclaw_files, "PORTION_BYTES", 300)
    path = store.write(*(said(f"e{n}", f"text {n}", n) for n in range(9)))
    with State.open(store.own) as state:
        portions = store.sources()[0].portions(state, fresh=False, problems=Problems())
        read = [m.text for m in next(portions).messages]
        path.unlink()
        read += [m.text for portion in portions for m in portion.messages]
    assert read == [f"text {n}" for n in range(9)]


def _save(state: State, portion: Portion) -> None:
    state.take((), files=portion.files, forget_files=portion.forget_files)


@pytest.mark.parametrize("known", [0, 3], ids=["a new file", "a file that grew"])
@pytest.mark.parametrize("stop", [1, 2, 3])
def test_a_run_that_ends_between_portions_is_continued_though_the_file_did_not_change(
    store: Home, monkeypatch: pytest.MonkeyPatch, known: int, stop: int
) -> None:
    entries = [said(f"e{n}", f"text {n}", n) for n in range(12)]
    path = store.write(*entries[:known])
    if known:
        assert len(store.read()) == known
    append(path, *entries[known:])
    monkeypatch.setattr(openclaw_files, "PORTION_BYTES", 300)
    taken: list[str] = []
    with State.open(store.own) as state:
        for number, portion in enumerate(store.sources()[0].portions(state, fresh=False, problems=Problems()), 1):
            taken += [m.text for m in portion.messages]
            _save(state, portion)
            if number == stop:
                break
        for portion in store.sources()[0].portions(state, fresh=False, problems=Problems()):
            taken += [m.text for m in portion.messages]
    assert set(taken) == {f"text {n}" for n in range(known, 12)}


def test_what_is_appended_while_the_file_is_read_is_not_missed(store: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openclaw_files, "PORTION_BYTES", 300)
    path = store.write(*(said(f"e{n}", f"text {n}", n) for n in range(9)))
    with State.open(store.own) as state:
        portions = store.sources()[0].portions(state, fresh=False, problems=Problems())
        next(portions)
        append(path, said("z", "late", 99))
        read = [m.text for portion in portions for m in portion.messages]
    assert read[-1] == "late"


def test_a_session_renamed_while_it_is_read_is_read_once(store: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openclaw_files, "PORTION_BYTES", 300)
    path = store.write(*(said(f"e{n}", f"text {n}", n) for n in range(9)))
    with State.open(store.own) as state:
        portions = store.sources()[0].portions(state, fresh=False, problems=Problems())
        _save(state, next(portions))
        archive = _renamed(path)
        for portion in portions:
            _save(state, portion)
        append(archive, said("z", "late", 99))
        portions = store.sources()[0].portions(state, fresh=False, problems=Problems())
        again = [m.text for portion in portions for m in portion.messages]
    assert again == ["late"]


# --- time of a reading


def test_an_unchanged_file_is_not_opened(store: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    store.write(ONE)
    store.read()

    def blow_up(*_: object) -> None:
        raise AssertionError("opened")

    monkeypatch.setattr(openclaw_files, "_open", blow_up)
    assert store.read() == []


def test_the_watches_are_as_it_was_before_the_reading(store: Home) -> None:
    """What comes while a store is read must look new to the gate."""
    path = store.write(ONE)
    source = store.sources()[0]
    before = path.stat()
    with State.open(store.own) as state:
        for _ in source.portions(state, fresh=False, problems=Problems()):
            append(path, TWO)
    watched = {w.path: w for w in source.watches()}
    assert watched[str(path)].size == before.st_size
    assert str(store.sessions) in watched
    assert source.transcripts() == 1
