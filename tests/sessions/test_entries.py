"""One decoded entry: whose words, said when. Whatever JSON it is, nothing is raised."""

from __future__ import annotations

import json
import re
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import NOW, at, line, ms, said
from total_recall.clock import from_epoch_ms
from total_recall.sessions import lines
from total_recall.sessions.entries import (
    DAY_MS,
    EARLIEST_MS,
    believable_ms,
    content_text,
    is_entry,
    latest_believable,
    raw_message,
    whole_characters,
)
from total_recall.sessions.lines import Shortener, entries_in, parse_line
from total_recall.sessions.source import PROBLEMS

LATEST = latest_believable(NOW)
HALF_PAIR = re.compile("[\ud800-\udfff]$")


def text_of(entry: dict[str, Any]) -> str | None:
    raw = raw_message(entry, LATEST)
    return raw.text if raw else None


ZERO: dict[str, object] = {"input": 0, "output": 0, "totalTokens": 0}

WHOSE: tuple[tuple[str, dict[str, Any], str | None], ...] = (
    ("a user", said("a", "hi"), "hi"),
    ("an assistant", said("a", "hi", role="assistant"), "hi"),
    ("a tool", said("a", "hi", role="toolResult"), None),
    ("a shell", said("a", "hi", role="bashExecution"), None),
    ("no role", said("a", "hi", role=None), None),  # type: ignore[arg-type]
    ("a role that is no string", said("a", "hi", role=["user"]), None),  # type: ignore[arg-type]
    ("a note of the gateway", said("a", "hi", role="assistant", model="gateway-injected"), None),
    ("a delivered copy", said("a", "hi", role="assistant", model="delivery-mirror"), None),
    ("a note of the host", said("a", "hi", role="assistant", api="cli", usage=ZERO), None),
    ("a model behind a command line", said("a", "hi", role="assistant", api="cli", usage={"totalTokens": 9}), "hi"),
    ("a model that is no string", said("a", "hi", role="assistant", model={"id": "x"}), "hi"),
    ("a memory recall", {"type": "custom_message", "id": "a", "content": "hi"}, None),
    ("a compaction", {"type": "compaction", "id": "a", "summary": "hi"}, None),
    ("no message", {"type": "message", "id": "a"}, None),
    ("a message that is a string", {"type": "message", "id": "a", "message": "hi"}, None),
)


@pytest.mark.parametrize(("entry", "text"), [c[1:] for c in WHOSE], ids=[c[0] for c in WHOSE])
def test_whose_words(entry: dict[str, Any], text: str | None) -> None:
    assert text_of(entry) == text


CONTENTS: tuple[tuple[object, str], ...] = (
    ("plain", "plain"),
    ([{"type": "text", "text": "one"}], "one"),
    ([{"type": "text", "text": "one"}, {"type": "text", "text": "two"}], "one\ntwo"),
    ([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "said"}], "said"),
    ([{"type": "toolCall", "name": "exec", "arguments": {"text": "no"}}], ""),
    ([{"type": "image", "data": "QUJD"}, {"type": "text", "text": "see"}], "see"),
    ([{"type": "text"}, {"type": "text", "text": None}, {"type": ["text"], "text": "x"}, "x", None, 5], ""),
    (None, ""),
    (7, ""),
    ({"type": "text", "text": "x"}, ""),
)


@pytest.mark.parametrize(("content", "text"), CONTENTS)
def test_the_text_of_a_content(content: object, text: str) -> None:
    assert content_text(content) == text


TIMES: tuple[tuple[object, object, int | None], ...] = (
    (ms(at(5)), "2026-11-30T06:09:00Z", ms(at(5))),
    (None, "2026-11-30T06:05:00.000Z", ms(at(5))),
    (None, "2026-11-30T15:05:00+09:00", ms(at(5))),
    (None, "2026-11-30T06:05:00", None),
    (float(ms(at(5))), None, ms(at(5))),
    (ms(at(5)) // 1000, None, None),
    (True, None, None),
    (float("nan"), None, None),
    (float("inf"), None, None),
    (10**400, None, None),
    (EARLIEST_MS, None, EARLIEST_MS),
    (EARLIEST_MS - 1, None, None),
    (LATEST, None, LATEST),
    (LATEST + 1, None, None),
    (0, "1970-01-01T00:00:00Z", None),
    (-1, "0001-01-01T00:00:00+23:59", None),
    (1e308, "9999-12-31T23:59:59-23:59", None),
    ("", "\ud800", None),
    ({}, [], None),
)


@pytest.mark.parametrize(("inner", "outer", "expected"), TIMES)
def test_when_a_message_was_said(inner: object, outer: object, expected: int | None) -> None:
    entry = said("a", "hi") | {"timestamp": outer}
    entry["message"]["timestamp"] = inner
    raw = raw_message(entry, LATEST)
    assert raw is not None
    assert raw.at_ms == expected


@pytest.mark.parametrize(
    ("stored", "expected"),
    [(0.0, LATEST - DAY_MS), (-1.0, LATEST - DAY_MS), (1e18, LATEST - DAY_MS), (float(ms(at(5))), ms(at(5)))],
)
def test_the_time_of_a_file_is_believed_or_now_is_taken(stored: float, expected: int) -> None:
    assert believable_ms(stored, LATEST) == expected
    assert from_epoch_ms(LATEST - DAY_MS) == NOW


@pytest.mark.parametrize("owner", [True, False, None, "no", 0])
def test_who_wrote_it_is_taken_only_from_a_plain_answer(owner: object) -> None:
    raw = raw_message(said("a", "hi", __openclaw={"senderIsOwner": owner}), LATEST)
    assert raw is not None
    assert raw.owner is (owner if isinstance(owner, bool) else None)


@pytest.mark.parametrize(
    ("text", "whole"), [("plain", "plain"), ("a\ud83d", "a\ufffd"), ("\ud83d\ude42", "🙂"), ("안\ude42", "안\ufffd")]
)
def test_whole_characters(text: str, whole: str) -> None:
    assert whole_characters(text) == whole


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
MESSAGE = st.fixed_dictionaries(
    {},
    optional={
        name: VALUES | st.sampled_from(["user", "assistant", "cli", "text"])
        for name in ("role", "content", "timestamp", "model", "api", "usage", "provenance", "__openclaw")
    },
)
ENTRY = st.fixed_dictionaries(
    {}, optional={"type": VALUES | st.just("message"), "id": VALUES, "timestamp": VALUES, "message": VALUES | MESSAGE}
)


@given(ENTRY)
def test_no_entry_raises_and_what_comes_can_be_stored(entry: dict[str, Any]) -> None:
    raw = raw_message(entry, LATEST)
    if raw is not None:
        assert raw.entry_id.encode()
        assert raw.text.encode() or raw.text == ""
        assert raw.at_ms is None or EARLIEST_MS <= raw.at_ms <= LATEST


@given(st.binary(max_size=300) | ENTRY.map(line))
def test_no_line_raises_and_every_finding_has_words(content: bytes) -> None:
    noted: list[str] = []
    for entry in entries_in(content, noted.append):
        assert is_entry(entry)
    assert set(noted) <= PROBLEMS.keys()


@given(st.data())
def test_a_line_that_was_cut_anywhere_is_no_object(data: st.DataObject) -> None:
    """A last line without its newline may be believed when it parses."""
    whole = line(said("a", data.draw(st.text(max_size=20))))[:-1]
    assert parse_line(whole) is not None
    assert parse_line(whole[: data.draw(st.integers(0, len(whole) - 1))]) is None


RECORDS = st.lists(st.text(max_size=12).map(lambda text: said(text or "a", text)), min_size=2, max_size=4)


@given(RECORDS)
def test_records_that_ran_together_are_all_found(records: list[dict[str, Any]]) -> None:
    noted: list[str] = []
    assert entries_in(b"".join(line(record)[:-1] for record in records), noted.append) == records
    assert noted == ["glued-lines"]


@given(RECORDS, st.data())
def test_whole_records_behind_half_a_one_are_found(records: list[dict[str, Any]], data: st.DataObject) -> None:
    first = line(records[0])[:-1]
    half = first[: data.draw(st.integers(1, len(first) - 1))]
    found = entries_in(half + b"".join(line(record)[:-1] for record in records[1:]), lambda _: None)
    assert found == records[1:]


def test_a_broken_record_with_many_blocks_hides_nothing_behind_it() -> None:
    blocks = [{"type": "toolCall", "id": str(n), "arguments": {"n": n}} for n in range(500)]
    half = line(said("a", blocks))[:-60]
    assert entries_in(half + line(said("b", "whole")), lambda _: None) == [said("b", "whole")]


def test_a_record_quoted_in_a_text_is_no_record() -> None:
    """Whoever pastes a transcript does not write another one."""
    quoted = line(said("q", "quoted"))[:-1].decode()
    assert entries_in(line(said("a", quoted))[:-4] + b"\n", lambda _: None) == []


@given(st.lists(st.text(max_size=40), min_size=1, max_size=4), st.integers(1, 30), st.booleans())
def test_a_shortened_line_is_the_same_json_with_shorter_strings(texts: list[str], step: int, ascii_only: bool) -> None:
    limit, lines.STRING_LIMIT = lines.STRING_LIMIT, 23
    try:
        shortener, raw = Shortener(), json.dumps(texts, ensure_ascii=ascii_only).encode()
        for start in range(0, len(raw), step):
            shortener.feed(raw[start : start + step])
        kept = shortener.kept()
    finally:
        lines.STRING_LIMIT = limit
    assert kept is not None
    for text, short in zip(texts, json.loads(kept), strict=True):
        stored = len(json.dumps(text, ensure_ascii=ascii_only).encode()) - 2
        # Half of an escaped pair may stay where it was cut.
        kept_of_it = HALF_PAIR.sub("", short.removesuffix(" …"))
        assert short == text if stored <= 23 else text.startswith(kept_of_it)


def test_a_shortened_line_that_was_short_is_untouched() -> None:
    raw = line(said("a", 'é "안" \\ \n 🙂'))
    shortener = Shortener()
    shortener.feed(raw)
    assert shortener.kept() == raw
    assert orjson.loads(raw)["id"] == "a"
