"""What is fed with damaged input, and what must hold of each: functions from bytes that raise when it does not."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Mapping
from datetime import date, datetime, timezone
from pathlib import Path
from typing import Final

from builders import Database, Home, line, said
from total_recall import periods
from total_recall.dates import find_dates
from total_recall.errors import MemoryWriteError, SettingError, TotalRecallError
from total_recall.host import json_text, openclaw_config
from total_recall.llm import offline
from total_recall.llm.grounding import ground
from total_recall.llm.reply import read_reply
from total_recall.memory.archive import Archive
from total_recall.memory.context import build
from total_recall.memory.document import parse
from total_recall.memory.line import format_observation
from total_recall.memory.operations import read_operations
from total_recall.memory.reflection import consolidated, offline_operations, open_entries
from total_recall.privacy.secrets import placeholders, redact
from total_recall.recall.querying import parse_query
from total_recall.records import Batch, Message, Observation
from total_recall.settings import load

NOW: Final = datetime(2026, 11, 30, 9, tzinfo=timezone.utc)
TODAY: Final = NOW.date()
UTC: Final = timezone.utc
_CONTROLS: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_PLACEHOLDER: Final = placeholders(b"a key for tests alone")


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def transcript(raw: bytes) -> None:
    """A line nobody can read costs no other line: the messages around it are taken."""
    with tempfile.TemporaryDirectory() as name:
        home = Home(Path(name) / "host", Path(name) / "own")
        damaged = raw.replace(b"\n", b" ") + b"\n"
        home.write(said("before", "The words before"), damaged, said("after", "The words after"))
        taken = home.read(NOW)
        assert taken.count("The words before") == taken.count("The words after") == 1, taken
        assert home.read(NOW) == [], "a second run takes nothing again"


def row(raw: bytes) -> None:
    """The same for a row of the host's database."""
    with tempfile.TemporaryDirectory() as name:
        home = Home(Path(name) / "host", Path(name) / "own")
        host = Database(home.database)
        host.session()
        host.add(said("before", "The words before"), raw, said("after", "The words after"))
        host.insert("0a0c0de0-0000-4000-8000-000000000001", 9, line(said("packed", "Packed words")), 9, packed=True)
        host.db.execute("UPDATE transcript_events SET event_zstd = ? WHERE seq = 9", (raw,))
        host.close()
        taken = home.read(NOW)
        assert taken.count("The words before") == taken.count("The words after") == 1, taken
        assert home.read(NOW) == [], "a second run takes nothing again"


def document(raw: bytes) -> None:
    """Nothing that stands in the file goes when it is read or added to; the agent gets no control characters."""
    read = parse(raw)
    assert read.render() == raw
    fresh = Observation("fresh1", "A new line", NOW, "low", "fact", 2.0, 0.9)
    try:
        grown = read.with_observations([fresh])
    except MemoryWriteError:
        return  # UTF-16, said so
    remaining = iter(grown.lines)
    assert all(old.rstrip("\r\n") in (new.rstrip("\r\n") for new in remaining) for old in read.lines), "a line went"
    assert parse(grown.render()).with_observations([fresh]).render() == grown.render(), "twice is not once"
    entries = open_entries(read)
    shorter = consolidated(read, offline_operations(entries, TODAY), TODAY)
    assert shorter is not None
    shown = build(read, today=TODAY, budget_tokens=2000).text
    assert not [c for c in _CONTROLS.findall(shown) if c != "\n"], repr(shown)


def reply(raw: bytes) -> None:
    """What a model says becomes lines that are lines, from its batch, or nothing."""
    message = Message("test", "s", None, "e", "user", "I moved to Seoul on 2026-11-28 and pay 900 euros", NOW)
    read = read_reply(_text(raw))
    grounded = ground(read.observations, Batch("b", (message,), 20), tz=UTC)
    for observation in grounded.observations:
        told = format_observation(observation)
        assert "\n" not in told and not _CONTROLS.search(told), repr(told)
        assert told.count("<!--") == told.count("-->") == 1, told
    read_operations(_text(raw), 9)


def conversation(raw: bytes) -> None:
    """Whatever is said, the built-in compressor makes lines of it that the document reads back as they are."""
    message = Message("test", "s", None, "e", "user", _text(raw), NOW, is_owner=True)
    kept = offline.compress(Batch("b", (message,), 20), tz=UTC)
    content = parse(b"").with_observations(kept).render()
    assert [entry.id for entry in parse(content).observations] == [observation.id for observation in kept]


def secrets(raw: bytes) -> None:
    """What is taken out stays out, and a second look finds nothing more."""
    once = redact(_text(raw), _PLACEHOLDER).text
    assert redact(once, _PLACEHOLDER).text == once


def settings(raw: bytes) -> None:
    """A `.env` gives settings, or says in one line what is wrong with it."""
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        (home / ".env").write_bytes(raw)
        try:
            load(home, home, env={"HOME": name})
        except SettingError as error:
            assert "\n" not in str(error), str(error)


def host_config(raw: bytes) -> None:
    """A broken `openclaw.json` is a problem in words; a good one that is edited and put back is the same."""
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        path = home / "openclaw.json"
        path.write_bytes(raw)
        openclaw_config.load(home, path, home, home / "workspace", {})
    text = _text(raw)
    if (added := json_text.with_value(text, ("total-recall-test", "inner"), True)) is not None:
        assert json_text.with_value(added, ("total-recall-test", "inner"), True) == added
        assert json_text.without(added, ("total-recall-test", "inner")) is not None


def archive(raw: bytes) -> None:
    """A damaged archive is read as far as it goes, and added to."""
    with tempfile.TemporaryDirectory() as name:
        kept = Archive(Path(name))
        kept.directory.mkdir(parents=True)
        (kept.directory / "2026-11-29.md").write_bytes(raw)
        try:
            kept.known()
        except TotalRecallError as error:
            assert "\n" not in str(error)


def typed(raw: bytes) -> None:
    """What people type is a query and perhaps a time; no text is an error."""
    text = _text(raw)[:400]
    parse_query(text, TODAY)
    find_dates(text, date(2026, 11, 30), "en")
    try:
        periods.parse(text)
    except ValueError as error:
        assert "\n" not in str(error)


TARGETS: Final[Mapping[str, Callable[[bytes], None]]] = {
    function.__name__: function
    for function in (
        transcript, row, document, reply, conversation, secrets, settings, host_config, archive, typed,
    )
}

DICTIONARY: Final = (
    b'"', b"{", b"}", b"[", b"]", b"\\", b"\\ud83d", b"null", b"-1", b"1e999", b"\x00", b"\xff\xfe", b"\xef\xbb\xbf",
    b"\r\n", b"\x85", "\u2028".encode(), "\u202e".encode(), "\u200b".encode(), b"\x1b[31m", b"<!--", b"-->", b"```\n",
    b"---\n", b"Date: 2026-11-30\n", b"dc:id=", b"dc:type=rule", b"dc:superseded=", "- 🔴 09:00 ".encode(), b"## OBS-",
    b"> ", b"9999-12-31", b"2026-02-30", b"merge [1, 2] into ", "기억해 ".encode(), b"<think>", b"=", b"$(", b"'",
    b"message", b"content", b"role", b"timestamp", b"id",
)  # fmt: skip
"""Pieces that mean something to one of the readers."""
