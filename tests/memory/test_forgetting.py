"""What is taken out when something is forgotten, and that nothing else is."""

from __future__ import annotations

import json
from datetime import date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from total_recall.memory import forgetting
from total_recall.memory.archived import line_key, sections
from total_recall.memory.document import parse
from total_recall.memory.forgetting import GONE, Gone
from total_recall.memory.line import format_observation, is_pinned, set_field
from total_recall.memory.traces import (
    NOTED,
    Query,
    Tombstones,
    Words,
    closed,
    normal,
    speaks_of,
    text_hash,
)
from total_recall.records import Observation

NOW = datetime(2026, 11, 30, 12, tzinfo=timezone.utc)
TODAY = NOW.date()
KEY = b"k" * 32
SEOUL = "User lives in Seoul since 2021 and works at the harbour office"


def gone(*texts: str, ids: tuple[str, ...] = (), names: tuple[str, ...] = ()) -> Gone:
    return Gone(frozenset(ids), frozenset(names), Words(texts))


def line(id: str, text: str, at: datetime = NOW) -> str:
    return format_observation(Observation(id, text, at, "medium", "fact", 5.0, 0.9))


# --- words


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("User lives in Seoul.", "user  lives\tin SEOUL"),
        ("The tax is due 2026-12-04 (in 4 days)", "The tax is due 2026-12-04 (2 days ago)"),
        ("사용자는 서울에 산다", "사용자는 서울에 산다!"),
        ("\uff35ser lives in Seoul", "User lives in Seoul"),
    ],
)
def test_the_same_words_are_the_same_whatever_stands_around_them(one: str, other: str) -> None:
    assert normal(one) == normal(other)
    assert text_hash(one, KEY) == text_hash(other, KEY)


def test_other_words_and_other_keys_have_other_hashes() -> None:
    assert text_hash("User lives in Seoul", KEY) != text_hash("User lives in Busan", KEY)
    assert text_hash("User lives in Seoul", KEY) != text_hash("User lives in Seoul", b"x" * 32)
    assert text_hash("👍", KEY) != text_hash("👎", KEY)


@pytest.mark.parametrize(
    ("query", "text", "matches"),
    [
        ("Seoul", "User lives in Seoul", True),
        ("seoul LIVES", "User lives in Seoul", True),
        ("cat", "User reads the category page", False),
        ('"lives in"', "User lives in Seoul", True),
        ('"in lives"', "User lives in Seoul", False),
        ("서울", "사용자는 서울에 산다", True),
        ("부산", "사용자는 서울에 산다", False),
        ("東京 仕事", "東京で仕事をしている", True),
        ("  ", "anything", False),
        ("!?", "anything", False),
    ],
)
def test_words_that_are_to_be_forgotten_must_all_occur(query: str, text: str, matches: bool) -> None:
    assert Query(query).matches(text) is matches


def test_a_long_part_of_a_text_is_found_inside_another_and_a_short_one_is_not() -> None:
    words = Words([SEOUL, "tea"])
    assert words.are(SEOUL.upper())
    assert words.stand_in("refused, first: “User lives in Seoul since 2021 and works at the harb”: too new")
    assert not words.stand_in("User lives in Busan and works at the airport")
    assert not words.stand_in("User likes tea")


def test_a_short_text_is_found_as_whole_words() -> None:
    words = Words(["User likes tea"])
    assert words.stand_in("note: user likes tea!")
    assert not words.stand_in("user likes teapots")


def test_a_message_speaks_of_a_memory_with_all_its_words_and_a_note_with_most() -> None:
    memory = ["User's daughter Nora is allergic to penicillin"]
    assert speaks_of("Forget that my daughter Nora has an allergic reaction to penicillin", memory)
    assert not speaks_of("Nora is allergic to penicillin", memory)
    assert speaks_of("- Nora: allergic to penicillin", memory, NOTED)
    assert not speaks_of("- Nora likes horses", memory, NOTED)


# --- what goes with it


@pytest.mark.parametrize(
    ("seeds", "archived", "expected"),
    [
        ({"a"}, [], {"a"}),
        ({"x"}, [("a", "merged into x"), ("b", "merged into x")], {"x", "a", "b"}),
        ({"a"}, [("a", "merged into x"), ("b", "merged into x")], {"a", "x"}),
        ({"a"}, [("a", "merged into x"), ("x", "merged into y")], {"a", "x", "y"}),
        ({"y"}, [("a", "merged into x"), ("x", "merged into y")], {"a", "x", "y"}),
        ({"n"}, [("o", "said again later: n")], {"n", "o"}),
        ({"n"}, [("o", "superseded by n")], {"n"}),
        ({"a"}, [("a", "merged into a")], {"a"}),
    ],
)
def test_what_one_was_made_of_goes_with_the_other(
    seeds: set[str], archived: list[tuple[str, str]], expected: set[str]
) -> None:
    assert closed(seeds, archived) == expected


def test_a_tombstone_keeps_out_what_was_said_before_it_and_not_what_is_said_again_later() -> None:
    tombstones = Tombstones(KEY, {text_hash(SEOUL, KEY): round(NOW.timestamp() * 1000)})
    then = Observation("a", SEOUL, NOW - timedelta(days=3), "medium", "fact", 5.0, 0.9)
    later = Observation("a", SEOUL, NOW + timedelta(minutes=1), "medium", "fact", 5.0, 0.9)
    assert tombstones.keep_out(then)
    assert not tombstones.keep_out(later)
    assert not tombstones.keep_out(Observation("a", "User lives in Busan", NOW, "medium", "fact", 5.0, 0.9))
    old, new = (f"Date: {at.date()}\n{line(i, SEOUL, at)}\n" for i, at in (("a", NOW), ("b", NOW + timedelta(days=2))))
    assert forgetting.without_forgotten(f"{old}\n{new}".encode(), tombstones) == new.encode()


# --- the memory


HOOK = "- **Harbour**: the office moved (2026-11-02). [ref: archive/observations/2026-11-30.md#OBS-20261130-002]"


def test_lines_go_by_id_and_by_words_and_hooks_by_what_they_lead_to() -> None:
    text = (
        "# Observations Log\r\n\r\nUser lives in Seoul since 2021, I wrote that.\r\n\r\n---\r\nDate: 2026-11-30\r\n"
        f"{line('a1', SEOUL)}\r\n{line('a2', 'User likes tea')}\r\n{HOOK}\r\n"
        f"{HOOK.replace('002', '003')}\r\n```\r\n{line('a1', SEOUL)}\r\n```\r\n"
    )
    without = text.replace(f"{line('a1', SEOUL)}\r\n{line('a2', 'User likes tea')}\r\n{HOOK}\r\n", "")
    what = gone(SEOUL, ids=("a2",), names=("OBS-20261130-002",))
    assert forgetting.scrubbed(text.encode(), what) == without.encode()
    assert forgetting.scrubbed(without.encode(), what) == without.encode()


OBS = """# Archived observations, 2026-11-30

## OBS-20261130-001

- Original date: 2026-11-02
- Type: fact
- Id: a1
- Reason: said again later: a9

> {one}

## OBS-20261130-002

- Original date: 2026-11-03
- Type: fact
- Id: a2
- Reason: superseded by “User lives in Seoul since 2021 and works”

> {two}

## Undone on 2026-11-30

- Back in the memory: OBS-20261130-001
"""
CHUNK = """
## CHUNK-20261130-001

- Topic: Harbour
- Finding: 3 notes, last: user lives in Seoul and works at the harbour office
- Confidence: medium (2 sources on 2 days)
- Dates: 2026-11-02…11-03
- Names: Seoul, Busan

- Original date: 2026-11-02
- Id: a1
- Reason: faded
- Hooks: living place; Seoul

> {one}

- Original date: 2026-11-03
- Id: a2
- Reason: faded

> {two}

- Sources: 2

## CHUNK-20261130-002

- Topic: tea
- Sources: OBS-20261130-002
- Finding: green tea

## CHUNK-20261130-003

- Topic: where
- Finding: it is about where the user lives
- Sources: OBS-20261130-001
"""


def test_an_archived_item_leaves_its_name_alone() -> None:
    one, two = line("a1", SEOUL), line("a2", "User lives in Busan by the harbour")
    text, chunks = OBS.format(one=one, two=two), CHUNK.format(one=one, two=two)
    what = forgetting.gone_from([text, chunks], {"a1"}, [SEOUL])
    assert sorted(what.names) == ["CHUNK-20261130-003", "OBS-20261130-001"]
    assert sorted(what.thinned) == ["CHUNK-20261130-001"]
    done = forgetting.scrubbed_archive(text, what, TODAY)
    assert [section.name for section in sections(done)] == [section.name for section in sections(text)]
    assert "Seoul" not in done and "a1" not in done
    assert f"> {two}\n" in done and f"- Reason: {GONE}\n" in done
    assert done.endswith("## Undone on 2026-11-30\n\n- Back in the memory: OBS-20261130-001\n")
    assert forgetting.scrubbed_archive(done, what, TODAY) == done


def test_a_chunk_keeps_its_other_lines_and_what_they_say_of_themselves() -> None:
    one, two = line("a1", SEOUL), line("a2", "User lives in Busan by the harbour")
    what = forgetting.gone_from([CHUNK.format(one=one, two=two)], {"a1"}, [SEOUL])
    done = forgetting.scrubbed_archive(CHUNK.format(one=one, two=two), what, TODAY)
    assert done.startswith(
        f"""
## CHUNK-20261130-001

- Topic: Harbour
- Finding: {GONE}
- Confidence: medium (2 sources on 2 days)
- Dates: 2026-11-02…11-03
- Names: Busan
- Forgotten: 2026-11-30, in part

- Original date: 2026-11-03
- Id: a2
- Reason: faded

> {two}

- Sources: 2

## CHUNK-20261130-002

- Topic: tea
"""
    )
    assert "Seoul" not in done
    assert forgetting.scrubbed_archive(done, forgetting.gone_from([done], {"a1"}, [SEOUL]), TODAY) == done


def hook(outcome: str, name: str) -> str:
    folder = "chunks" if name.startswith("CHUNK") else "observations"
    return f"- **Harbour**: {outcome} (2026-11-02…11-03). [ref: archive/{folder}/2026-11-30.md#{name}]"


def test_a_hook_goes_when_nothing_is_left_below_it_or_when_it_says_what_only_the_forgotten_said() -> None:
    one, two = line("a1", SEOUL), line("a2", "User lives in Busan by the harbour")
    archive = [OBS.format(one=one, two=two), CHUNK.format(one=one, two=two)]
    hooks = (
        hook("2 notes, last: lives in Seoul", "OBS-20261130-001"),
        hook("2 notes about the harbour", "OBS-20261130-001"),
        hook("1 note", "OBS-20261130-002"),
        hook("user lives in Busan", "CHUNK-20261130-001"),
        hook("user lives in Seoul", "CHUNK-20261130-001"),
        hook("whatever", "CHUNK-20261130-003"),
    )
    document = "\n".join(["# Log", "", "## Archived memories", *hooks, "", "---", "Date: 2026-11-30", two, ""])

    def left(*ids: str) -> list[int]:
        texts = {"a1": SEOUL, "a2": "User lives in Busan by the harbour"}
        what = forgetting.gone_from(archive, set(ids), [texts[id] for id in ids])
        kept = forgetting.scrubbed(document.encode(), what).decode()
        return [number for number, line in enumerate(hooks) if line in kept.split("\n")]

    # The run of the first hooks ends where the third leads: a1 alone is below them.
    assert left("a1") == [2, 3]
    assert left("a2") == [0, 1, 4, 5]


def test_a_hook_of_a_run_is_found_by_any_of_its_items() -> None:
    one, two = line("a1", SEOUL), line("a2", "User lives in Busan by the harbour")
    archive = [OBS.format(one=one, two=two)]
    for outcome, stays in (("2 notes, last: lives in Busan", False), ("2 notes: user lives there", True)):
        text = f"## Archived memories\n{hook(outcome, 'OBS-20261130-001')}\n"
        what = forgetting.gone_from(archive, {"a2"}, ["User lives in Busan by the harbour"])
        assert forgetting.scrubbed(text.encode(), what).decode() == (text if stays else "")


def test_an_archive_without_anything_of_it_keeps_every_byte() -> None:
    text = OBS.format(one=line("a1", "x"), two=line("a2", "y")).replace("\n", "\r\n")
    assert forgetting.scrubbed_archive(text, gone("something else entirely, which is long"), TODAY) == text


def test_reports_lose_lines_and_logs_keep_the_time() -> None:
    text = f"# Night\n- OBS-20261130-001: faded\n- OBS-20261130-002: faded\n- hook: {SEOUL}\n"
    what = gone(SEOUL, names=("OBS-20261130-001",))
    assert forgetting.scrubbed_lines(text, what) == "# Night\n- OBS-20261130-002: faded\n"
    quiet = "2026-11-30T13:00:00+00:00 observe: Nothing new.\n"
    log = f"2026-11-30T12:00:00+00:00 reflect: refused “{SEOUL[:60]}”\n{quiet}"
    assert forgetting.scrubbed_log(log, what) == f"2026-11-30T12:00:00+00:00 {GONE}\n{quiet}"


def test_a_document_inside_a_value_loses_its_line_and_the_hash_follows_the_backup() -> None:
    after = f"Date: 2026-11-30\n{line('a1', SEOUL)}\n{line('a2', 'tea')}\n"
    value = json.dumps({"after": after, "backup": "b.md.bak", "before": "0" * 64, "at": "2026"})
    done = json.loads(forgetting.scrubbed_value(value, gone(SEOUL), lambda name, _before: f"of {name}"))
    assert done["after"] == after.replace(f"{line('a1', SEOUL)}\n", "")
    assert done["before"] == "of b.md.bak" and done["at"] == "2026"
    for value, scrubbed in (("2026-11-30", "2026-11-30"), (f"by {SEOUL}", GONE), ("[1, null]", "[1, null]")):
        assert forgetting.scrubbed_value(value, gone(SEOUL), lambda _name, _before: None) == scrubbed
    nights = forgetting.scrubbed_value(json.dumps([{"raw": line("x1", "x")}, {"raw": "y"}]), gone(ids=("x1",)), none)
    assert json.loads(nights) == [{"raw": GONE}, {"raw": "y"}]


def none(_name: str, _before: str) -> None:
    """No backup of that name."""


WORD = st.text(st.characters(min_codepoint=33, exclude_categories=("C", "Z")), min_size=1, max_size=8)
TEXT = st.lists(WORD, min_size=1, max_size=8).map(" ".join)
PROSE = st.sampled_from(["", "my own words", "```", "- a list", "# Title", "---", "<!-- note -->", "\ufeff", "| a |"])


@given(
    kept=st.lists(st.tuples(TEXT, st.integers(0, 5)), max_size=6, unique_by=lambda kept: normal(kept[0])),
    secret=TEXT,
    prose=st.lists(PROSE, max_size=4),
    newline=st.sampled_from(["\n", "\r\n"]),
    seed=st.randoms(use_true_random=False),
)
def test_nothing_of_it_remains_and_everything_else_remains_byte_for_byte(
    kept: list[tuple[str, int]], secret: str, prose: list[str], newline: str, seed: object
) -> None:
    """A document with one line more than another, wherever it stands, is the other one again without it."""
    secret = f"zqsecret {secret} zqsecret"
    block = [
        Observation(f"k{n}", text, NOW - timedelta(days=days), "low", "fact", 5.0, 0.9)
        for n, (text, days) in enumerate(kept)
    ]
    document = parse(newline.join([*prose, ""]).encode()).with_observations(block)
    added = Observation("zz", secret, NOW - timedelta(days=len(prose)), "high", "fact", 9.0, 0.9)
    more = document.with_observations([added])
    done = forgetting.scrubbed(more.render(), gone(added.text, ids=("zz",)))
    assert b"zqsecret" not in done
    lines = [body for body in document.render().split(b"\n") if body.strip() not in (b"", b"---")]
    assert [body for body in done.split(b"\n") if body.strip() not in (b"", b"---")] == [
        body for body in more.render().split(b"\n") if body.strip() not in (b"", b"---") and b"zqsecret" not in body
        and not (body.startswith(b"Date: ") and body not in lines)
    ]  # fmt: skip
    assert forgetting.scrubbed(done, gone(added.text, ids=("zz",))) == done


# --- fields


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("- 🟡 09:12 tea <!-- dc:id=a dc:x=1 -->\n", "- 🟡 09:12 tea <!-- dc:id=a dc:x=1 dc:pinned=1 -->\n"),
        ("  - 🟡 tea\r\n", "  - 🟡 tea <!-- dc:pinned=1 -->\r\n"),
        ("- 🟡 tea <!-- dc:type=fact -->", "- 🟡 tea <!-- dc:type=fact dc:pinned=1 -->"),
        ("- 🟡 tea <!-- dc:pinned=0 dc:id=a -->\n", "- 🟡 tea <!-- dc:id=a dc:pinned=1 -->\n"),
        ("- 🟡 tea <!--dc:id=a-->\n", "- 🟡 tea <!--dc:id=a dc:pinned=1-->\n"),
    ],
)
def test_a_line_is_pinned_and_unpinned(before: str, after: str) -> None:
    assert set_field(before, "pinned", "1") == after
    assert set_field(after, "pinned", "1") == after
    (entry,) = parse(after.encode()).observations
    assert is_pinned(entry) and entry.text == "tea"
    without = set_field(after, "pinned", None)
    assert without == before.replace("dc:pinned=0 ", "")
    assert not is_pinned(parse(without.encode()).observations[0])


@pytest.mark.parametrize(("name", "value"), [("pinned", "a b"), ("pinned", "-->"), ("pin ned", "1"), ("pinned", "x--")])
def test_a_value_that_could_break_the_comment_is_refused(name: str, value: str) -> None:
    with pytest.raises(ValueError, match="no metadata field"):
        set_field("- 🟡 tea <!-- dc:id=a -->", name, value)


def test_a_line_without_an_id_has_the_name_that_recall_gives_it() -> None:
    from total_recall.commands import remembering

    (entry,) = parse("Date: 2026-11-30\n- 🟡 tea\n".encode()).observations
    named = getattr(remembering, "_key_of", line_key)
    assert line_key(entry) == named(entry)
    assert entry.heading == date(2026, 11, 30)


@given(
    kept=st.lists(TEXT, min_size=1, max_size=5, unique_by=normal),
    secret=TEXT,
    at=st.integers(0, 5),
    chunk=st.booleans(),
)
def test_nothing_of_it_remains_in_an_archive_and_every_other_entry_does(
    kept: list[str], secret: str, at: int, chunk: bool
) -> None:
    secret = f"zqsecret {secret} zqsecret"
    texts = [*kept[:at], secret, *kept[at:]]
    quoted = [line(f"i{n}", text) for n, text in enumerate(texts)]
    bodies = [
        f"- Original date: 2026-11-30\n- Id: i{n}\n- Reason: faded\n\n> {said}\n" for n, said in enumerate(quoted)
    ]
    if chunk:
        text = (
            "# Chunks\n\n## CHUNK-20261130-001\n\n- Topic: t\n\n" + "\n".join(bodies) + f"\n- Sources: {len(texts)}\n"
        )
    else:
        names = (f"\n## OBS-20261130-{n:03d}\n\n{body}" for n, body in enumerate(bodies, 1))
        text = "# Archived\n" + "".join(names)
    number = texts.index(secret)
    what = forgetting.gone_from([text], {f"i{number}"}, [parse(quoted[number].encode()).observations[0].text])
    done = forgetting.scrubbed_archive(text, what, TODAY)
    assert "zqsecret" not in done
    assert [body in done for body in bodies] == [n != number for n in range(len(bodies))]
    assert forgetting.scrubbed_archive(done, what, TODAY) == done
