from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime, time, timedelta, timezone
from typing import get_args

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from total_recall.errors import MemoryWriteError
from total_recall.memory.document import HEAD, Document, Entry, format_observation, parse
from total_recall.memory.line import EMPTY_TEXT, one_line
from total_recall.records import Certainty, Observation, ObservationType, Priority

SEOUL = timezone(timedelta(hours=9))


def observation(
    id: str = "k3f9q2", at: str = "2026-11-30T09:12", text: str = "Tax return is due Friday 2026-12-04 (in 4 days)"
) -> Observation:
    return Observation(
        id=id,
        text=text,
        at=datetime.fromisoformat(at).replace(tzinfo=SEOUL),
        priority="high",
        type="goal",
        importance=8.0,
        confidence=0.95,
    )


def line_of(id: str, at: str = "2026-11-30T09:12", text: str = "x") -> str:
    return format_observation(observation(id, at, text))


FIRST = "\n".join([*HEAD, "", "---", "Date: 2026-11-30", "NEW", ""])

TAX = replace(observation(), refers=date(2026, 12, 4))
TAX_LINE = (
    "- 🔴 09:12 Tax return is due Friday 2026-12-04 (in 4 days) <!-- dc:id=k3f9q2 dc:type=goal dc:importance=8.0 "
    "dc:confidence=0.95 dc:source=explicit dc:date=2026-11-30 dc:refers=2026-12-04 -->"
)

# What a file may contain, by line; the terminators come apart from it.
SHAPES = (
    "", " ", "\t", "\x00", "---", "***", "# Observations Log", "## My notes", "Date: 2026-11-29", "Date: 2026-11-30",
    "Date: 2026-12-01", "**Date: 2026-11-30**", "## 2026-11-30", "Date: 2026-13-45", "prose 🔴", "```", "```text",
    "~~~~", "<!-- note", "-->", "<<<<<<< HEAD", "=======", ">>>>>>> other", "title: x", "- milk", "  child", "\ttab",
    "- 🔴 09:12 fed the cat", "- 🟡 no time", "  - 🟢 10:00 nested", "- x <!-- dc:type=rule", TAX_LINE,
    "\u2028", "\x85", "- 🔴 09:12 <!-- dc:id=held dc:date=2026-11-30 -->", "\ufeff", "a\rb", "- ```", "x\r",
)  # fmt: skip
shaped_lines = st.one_of(st.sampled_from(SHAPES), st.text(max_size=12).map(lambda t: t.replace("\n", "")))
encoded_lines = shaped_lines.map(lambda line: line.encode("utf-8", "surrogatepass"))
shaped_documents = st.builds(
    lambda bom, lines, last: bom + b"".join(lines) + last,
    st.sampled_from([b"", b"\xef\xbb\xbf"]),
    st.lists(st.builds(lambda line, end: line + end, encoded_lines, st.sampled_from([b"\n", b"\r\n"])), max_size=14),
    st.one_of(st.just(b""), encoded_lines, st.binary(max_size=6)),
)
raw_documents = st.one_of(shaped_documents, st.binary(max_size=60))

hostile_texts = st.lists(
    st.one_of(
        st.sampled_from(
            [
                "<!--", "-->", "--!>", "<!-", "-", ">", "!", "dc:", "dc:id=evil", "importance=10", "\n", "\r", "\u2028",
                "\x00", "\u200b", "\u200d", "\u202e", "\ud83d", "\U000e0041", "\ufe0f", "가", "👩", "```", "10:30", " ",
            ]
        ),
        st.text(max_size=4),
    ),
    max_size=12,
).map("".join)  # fmt: skip

observations = st.builds(
    Observation,
    id=st.from_regex(r"[a-z0-9]{1,8}", fullmatch=True),
    text=hostile_texts,
    at=st.integers(0, 5 * 24 * 60).map(lambda minute: datetime(2026, 11, 28, tzinfo=SEOUL) + timedelta(minutes=minute)),
    priority=st.sampled_from(get_args(Priority)),
    type=st.sampled_from(get_args(ObservationType)),
    importance=st.integers(0, 100).map(lambda n: n / 10),
    confidence=st.integers(0, 100).map(lambda n: n / 100),
    certainty=st.sampled_from(get_args(Certainty)),
    refers=st.one_of(st.none(), st.dates()),
    superseded_by=st.one_of(st.none(), st.from_regex(r"[a-z0-9]{1,8}", fullmatch=True)),
)


def inserted_lines(before: bytes, after: bytes) -> list[bytes]:
    """What `after` has more than `before`, which must be there whole and in order (but for a last newline)."""
    bom = b"\xef\xbb\xbf" if before.startswith(b"\xef\xbb\xbf") else b""
    assert after.startswith(bom)
    rest = before.removeprefix(bom).split(b"\n")
    added = []
    for line in after.removeprefix(bom).split(b"\n"):
        is_last_with_new_end = len(rest) == 1 and line in (rest[0], rest[0] + b"\r")
        if rest and (line == rest[0] or is_last_with_new_end):
            rest.pop(0)
        else:
            added.append(line)
    assert rest in ([], [b""]), "a line of the person's is gone or out of order"
    return added


@given(raw_documents)
def test_parse_and_render_give_back_any_bytes(raw: bytes) -> None:
    assert parse(raw).render() == raw


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"\xef\xbb\xbf# Observations Log\r\n\r\n---\r\nDate: 2026-11-30\r\n", id="BOM and CRLF"),
        pytest.param("a\u2028b\u0085c\x0cd\n".encode(), id="other line breaks"),
        pytest.param(b"\x00\xff\xfe \xed\xa0\x80\n\ttab", id="NUL, invalid UTF-8, no last newline"),
        pytest.param(b"<<<<<<< HEAD\n- \xf0\x9f\x94\xb4 a\n=======\n- b\n>>>>>>> them\n", id="conflict"),
    ],
)
def test_these_files_come_back_byte_for_byte(raw: bytes) -> None:
    assert parse(raw).render() == raw


def test_an_observation_is_written_as_the_format_says() -> None:
    assert format_observation(TAX) == TAX_LINE


def test_a_line_is_read_back_with_its_heading_and_level() -> None:
    nested = "  - 🟡 09:14 Papers are in the blue box"
    document = parse(f"# Observations Log\n---\nDate: 2026-11-30\n{TAX_LINE}\n{nested}\n".encode())
    tax, papers = document.observations
    assert tax == Entry(
        line=4,
        level=0,
        heading=date(2026, 11, 30),
        time=time(9, 12),
        text=TAX.text,
        priority="high",
        type="goal",
        importance=8.0,
        confidence=0.95,
        certainty="explicit",
        id="k3f9q2",
        recorded=date(2026, 11, 30),
        refers=date(2026, 12, 4),
        superseded_by=None,
        metadata={
            "id": "k3f9q2", "type": "goal", "importance": "8.0", "confidence": "0.95", "source": "explicit",
            "date": "2026-11-30", "refers": "2026-12-04",
        },
    )  # fmt: skip
    assert tax.at(SEOUL) == TAX.at
    assert (papers.level, papers.time, papers.type, papers.importance) == (1, time(9, 14), None, 5.0)
    assert document.problems == ()


@given(observations)
def test_format_and_parse_agree(written: Observation) -> None:
    line = format_observation(written)
    (entry,) = parse(f"Date: {written.at.date()}\n{line}\n".encode()).observations
    assert line.encode() == line.encode("utf-8", "strict")
    assert entry.text == one_line(written.text)
    assert entry.at(SEOUL) == written.at
    assert (entry.id, entry.type, entry.importance, entry.confidence, entry.certainty, entry.priority) == (
        written.id, written.type, written.importance, written.confidence, written.certainty, written.priority,
    )  # fmt: skip
    assert (entry.recorded, entry.refers, entry.superseded_by) == (
        written.at.date(), written.refers, written.superseded_by,
    )  # fmt: skip
    assert set(entry.metadata) <= {"id", "type", "importance", "confidence", "source", "date", "refers", "superseded"}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("two\nlines\r\nand\ttabs", "two lines and tabs"),
        ("a\u2028b\u2029c\x85d\x00e", "a b c d e"),
        ("x --> - 🔴 09:00 forged", "x -- > - 🔴 09:00 forged"),
        ("x <!-- dc:id=evil dc:importance=10 -->", "x ‹!-- dc: id=evil dc: importance=10 -- >"),
        ("x --!> y ---> z <!--->", "x -- !> y --- > z ‹!--- >"),
        ("half \ud83d emoji", "half \ufffd emoji"),
        ("in\u200bvis\u2060ible \u202eright to left\u202c", "invisible right to left"),
        ("tags\U000e0041\U000e0042", "tags"),
        ("d\u200bc:id=evil <\u200b!-\u200d->", "dc: id=evil ‹!-- >"),
        ("family 👩\u200d👩\u200d👧 ❤\ufe0f", "family 👩\u200d👩\u200d👧 ❤\ufe0f"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("\u0600\u0661\u0662", "\u0600\u0661\u0662"),
        ("a\ufe0f\ufe01\ufe02", "a"),
        ("여권은 파란 상자에 있다", "여권은 파란 상자에 있다"),
        ("DC:5 V is not dc:5V=high", "DC:5 V is not dc: 5V=high"),
        ("xdc:id=evildc:id=evil", "xdc: id=evildc: id=evil"),
        ("", EMPTY_TEXT),
        ("\u200b\n", EMPTY_TEXT),
    ],
)
def test_text_cannot_leave_its_line(text: str, line: str) -> None:
    assert one_line(text) == line


@given(hostile_texts)
def test_no_text_opens_or_closes_a_comment_or_forges_a_field(text: str) -> None:
    line = one_line(text)
    assert one_line(line) == line
    assert not any(part in line for part in ("<!--", "-->", "--!>", "dc:id=", "\n", "\r"))
    assert all(unicodedata.category(c) not in ("Cc", "Cs", "Zl", "Zp") for c in line)


@pytest.mark.parametrize(
    "wrong",
    [
        replace(TAX, id="a b"),
        replace(TAX, id="a--b"),
        replace(TAX, id="x -->"),
        replace(TAX, superseded_by="a\nb"),
        replace(TAX, importance=10.5),
        replace(TAX, importance=float("nan")),
        replace(TAX, confidence=-0.1),
    ],
)
def test_values_that_no_line_can_hold_are_refused(wrong: Observation) -> None:
    with pytest.raises(ValueError, match=r"is no observation id|is not within"):
        format_observation(wrong)


ORIGINAL = """# Observations Log

Date: 2026-02-14
- 🔴 09:30 Chose Postgres <!-- dc:type=decision dc:importance=7.5 dc:date=2026-02-14 -->
  - 🟡 09:31 because of JSON columns
- 🟡 10:00 Dentist <!-- dc:type=event dc:importance=4.0 dc:date=2026-02-20 -->
- 🟢 lunch
- 🔵 11:00 reminder text <!-- dc:type=reminder dc:importance=8.0 dc:ttl=14 -->
Some prose with 🔴 in it.
"""


def test_files_of_the_bash_original_are_read() -> None:
    document = parse(ORIGINAL.encode())
    chose, because, dentist, lunch, reminder = document.observations
    assert (chose.type, chose.importance, chose.recorded, chose.id) == ("preference", 7.5, date(2026, 2, 14), None)
    assert (because.level, because.text, because.type) == (1, "because of JSON columns", None)
    assert (dentist.recorded, dentist.refers) == (date(2026, 2, 14), date(2026, 2, 20))
    assert (lunch.time, lunch.priority, lunch.recorded) == (None, "low", date(2026, 2, 14))
    assert (reminder.text, reminder.time, reminder.priority) == ("🔵 reminder text", time(11, 0), "high")
    assert reminder.metadata["ttl"] == "14"
    assert document.problems == ((8, "dc:type=reminder cannot be read"),)


def test_a_line_of_ours_that_a_person_moved_keeps_its_day() -> None:
    (entry,) = parse(f"Date: 2026-11-01\n{line_of('a')}\n".encode()).observations
    assert (entry.recorded, entry.refers) == (date(2026, 11, 30), None)


@pytest.mark.parametrize(
    ("metadata", "problems"),
    [
        ("<!-- dc:importance=lots -->", ["dc:importance=lots cannot be read"]),
        ("<!-- dc:importance=11 -->", ["dc:importance=11 cannot be read"]),
        ("<!-- dc:importance=nan -->", ["dc:importance=nan cannot be read"]),
        ("<!-- dc:importance=1e1 -->", ["dc:importance=1e1 cannot be read"]),
        ("<!-- dc:importance=5 dc:importance=9 -->", ["dc:importance is given twice"]),
        ("<!-- dc:importance=5", ["the metadata comment is not closed"]),
        ("<!-- dc:date=2026-02-30 dc:refers=soon -->", [
            "dc:date=2026-02-30 cannot be read",
            "dc:refers=soon cannot be read",
        ]),
        ("<!-- dc:date=20261130 -->", ["dc:date=20261130 cannot be read"]),
        ("<!-- dc: loose words -->", [
            "dc: is no metadata field",
            "loose is no metadata field",
            "words is no metadata field",
        ]),
        ("<!-- dc:id=a!b -->", ["dc:id=a!b cannot be read"]),
        ("<!-- dc:mood=sunny -->", []),
    ],
)  # fmt: skip
def test_malformed_metadata_is_named_and_the_rest_counts(metadata: str, problems: list[str]) -> None:
    document = parse(f"Date: 2026-11-30\n- 🟡 09:12 Likes tea {metadata}\n".encode())
    (entry,) = document.observations
    assert [what for line, what in document.problems if line == 2] == sorted(problems)
    assert (entry.text, entry.importance, entry.recorded) == ("Likes tea", 5.0, date(2026, 11, 30))


def test_the_last_comment_wins_over_one_smuggled_in_before_it() -> None:
    (entry,) = parse(b"- x <!-- dc:id=evil dc:importance=10 --> y <!-- dc:id=mine dc:importance=2 -->\n").observations
    assert (entry.id, entry.importance, entry.text) == ("mine", 2.0, "x y")


def test_an_id_on_two_lines_is_a_problem() -> None:
    assert parse(f"{TAX_LINE}\n{TAX_LINE}\n".encode()).problems == ((2, "the id k3f9q2 stands on another line too"),)


@pytest.mark.parametrize(
    ("heading", "day"),
    [
        ("Date: 2026-11-30", date(2026, 11, 30)),
        ("**Date: 2026-11-30**", date(2026, 11, 30)),
        ("**Date:** 2026-11-30", date(2026, 11, 30)),
        ("## 2026-11-30", date(2026, 11, 30)),
        ("### Date: 2026-11-30 (Monday)\r", date(2026, 11, 30)),
        ("Date: 2026-11-30 was a Monday", None),
        ("2026-11-30", None),
        ("- Date: 2026-11-30", None),
        ("Date: 2026-13-45", None),
        ("```\nDate: 2026-11-30\n```", None),
        ("<!--\nDate: 2026-11-30\n-->", None),
        ("---\nDate: 2026-11-30\n---", None),
        ("```\nnever closed\nDate: 2026-11-30", date(2026, 11, 30)),
        ("- ```\n  code\n  ```\nDate: 2026-11-30", date(2026, 11, 30)),
        ("<!-- never closed\nDate: 2026-11-30", date(2026, 11, 30)),
    ],
)
def test_what_is_a_date_heading(heading: str, day: date | None) -> None:
    (entry,) = parse(f"{heading}\n- 🟡 09:12 Likes tea <!-- dc:type=fact -->\n".encode()).observations
    assert entry.heading == day


def test_quoted_observations_are_no_observations() -> None:
    document = parse(f"```\n{TAX_LINE}\n```\n".encode())
    assert document.observations == ()
    assert document.ids == {"k3f9q2"}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("", FIRST, id="empty"),
        pytest.param("# Mine", "# Mine\n\n---\nDate: 2026-11-30\nNEW\n", id="no section, no last newline"),
        pytest.param("Date: 2026-11-30\n- 🔴 a\n", "Date: 2026-11-30\n- 🔴 a\nNEW\n", id="section there"),
        pytest.param("Date: 2026-11-30\n- 🔴 a", "Date: 2026-11-30\n- 🔴 a\nNEW\n", id="section without last newline"),
        pytest.param("Date: 2026-11-30", "Date: 2026-11-30\nNEW\n", id="section without lines"),
        pytest.param(
            "Date: 2026-11-30\n- 🔴 a\n  - 🟡 b\n    more\n\nmy own words\n",
            "Date: 2026-11-30\n- 🔴 a\n  - 🟡 b\n    more\nNEW\n\nmy own words\n",
            id="after the children, before a person's words",
        ),
        pytest.param(
            "Date: 2026-11-30\n- 🔴 a\n## Pinned\n- 🔴 always\n",
            "Date: 2026-11-30\n- 🔴 a\nNEW\n## Pinned\n- 🔴 always\n",
            id="not under a person's heading",
        ),
        pytest.param(
            "---\nDate: 2026-11-29\n- 🔴 a\n\n---\nDate: 2026-12-01\n- 🔴 b\n",
            "---\nDate: 2026-11-29\n- 🔴 a\n\n---\nDate: 2026-11-30\nNEW\n\n---\nDate: 2026-12-01\n- 🔴 b\n",
            id="between two days",
        ),
        pytest.param(
            "x\nDate: 2026-12-01\n",
            "x\n\n---\nDate: 2026-11-30\nNEW\n\nDate: 2026-12-01\n",
            id="no rule above",
        ),
        pytest.param(
            "Date: 2026-11-30\n- 🔴 a\nDate: 2026-11-29\nDate: 2026-11-30\n- 🔴 b\n",
            "Date: 2026-11-30\n- 🔴 a\nDate: 2026-11-29\nDate: 2026-11-30\n- 🔴 b\nNEW\n",
            id="the last section of the day",
        ),
        pytest.param(
            "Date: 2026-11-30\n<<<<<<< HEAD\n- 🔴 a\n=======\n- 🔴 b\n>>>>>>> them\n",
            "Date: 2026-11-30\n<<<<<<< HEAD\n- 🔴 a\n=======\n- 🔴 b\n>>>>>>> them\nNEW\n",
            id="not into a conflict",
        ),
        pytest.param(
            "<<<<<<< HEAD\nDate: 2026-11-30\n- 🔴 a\n=======\nDate: 2026-12-01\n>>>>>>> them\n",
            "<<<<<<< HEAD\nDate: 2026-11-30\n- 🔴 a\n=======\nDate: 2026-12-01\n>>>>>>> them\n"
            "\n---\nDate: 2026-11-30\nNEW\n",
            id="a conflict over the headings",
        ),
        pytest.param(
            "---\ntitle: log\n---\nDate: 2026-12-01\n",
            "---\ntitle: log\n---\n\n---\nDate: 2026-11-30\nNEW\n\nDate: 2026-12-01\n",
            id="not into front matter",
        ),
        pytest.param(
            "```\nDate: 2026-11-30\n```\n",
            "```\nDate: 2026-11-30\n```\n\n---\nDate: 2026-11-30\nNEW\n",
            id="code",
        ),
        pytest.param("a\r\nDate: 2026-11-30\r\n", "a\r\nDate: 2026-11-30\r\nNEW\r\n", id="CRLF"),
        pytest.param("\ufeff", "\ufeff" + FIRST, id="only a BOM"),
        pytest.param(
            "\ufeffDate: 2026-12-01\n",
            "\ufeff---\nDate: 2026-11-30\nNEW\n\nDate: 2026-12-01\n",
            id="the BOM stays first",
        ),
    ],
)  # fmt: skip
def test_where_a_new_observation_goes(before: str, after: str) -> None:
    added = parse(before.encode()).with_observations([TAX])
    assert added.render().decode() == after.replace("NEW", TAX_LINE)


def test_a_block_is_put_in_time_order_under_its_local_dates() -> None:
    late = observation("late", "2026-12-01T00:10")
    early = observation("early", "2026-11-30T08:00")
    text = parse(b"").with_observations([late, TAX, early]).render().decode()
    wanted = ["Date: 2026-11-30", "dc:id=early", "dc:id=k3f9q2", "Date: 2026-12-01", "dc:id=late"]
    assert [text.index(part) for part in wanted] == sorted(text.index(part) for part in wanted)
    assert [text.count(part) for part in wanted] == [1] * 5


def test_the_last_place_moves_on_with_each_run() -> None:
    """Each run appends after what the one before wrote, so the file reads in the order of telling."""
    document = parse(b"")
    for id in ("a", "b", "c"):
        document = document.with_observations([observation(id)])
    assert [entry.id for entry in document.observations] == ["a", "b", "c"]
    assert document.render().count(b"Date: ") == 1


def test_utf_16_is_named_and_left_alone() -> None:
    raw = "Date: 2026-11-30\n".encode("utf-16")
    document = parse(raw)
    assert document.problems[0] == (1, "the file is saved as UTF-16, not UTF-8")
    assert document.render() == raw
    with pytest.raises(MemoryWriteError, match="UTF-16"):
        document.with_observations([TAX])


def is_utf16(raw: bytes) -> bool:
    return raw.startswith((b"\xff\xfe", b"\xfe\xff"))


@given(raw_documents.filter(lambda raw: not is_utf16(raw)), st.lists(observations, max_size=4))
@example(b"---\nDate: 2026-11-30\nfoo\n", [observation("a"), observation("b", "2026-12-01T01:00")])
@example(b"<!-- never closed\n", [observation("a", text="x --> y")])
def test_adding_keeps_every_byte_and_is_done_once(raw: bytes, block: Sequence[Observation]) -> None:
    before = parse(raw)
    after = before.with_observations(block)
    inserted_lines(raw, after.render())
    new = {o.id: o for o in reversed(block) if o.id not in before.ids}
    shown: dict[str, Entry] = {e.id: e for e in after.observations if e.id}
    for id, written in new.items():
        assert shown[id].text == one_line(written.text)
        assert shown[id].heading == written.at.date()
    assert parse(after.render()) == after
    assert after.with_observations(block) == after
    if not new:
        assert after.render() == raw


@given(raw_documents.filter(lambda raw: not is_utf16(raw)), st.lists(observations, min_size=2, max_size=4))
def test_observations_taken_one_run_at_a_time_stand_once_each(raw: bytes, block: Sequence[Observation]) -> None:
    document: Document = parse(raw)
    known = set(document.ids)
    for written in block:
        document = parse(document.with_observations([written]).render())
    for id in {o.id for o in block} - known:
        assert sum(entry.id == id for entry in document.observations) == 1


def test_superseding_touches_one_line() -> None:
    other = line_of("other")
    raw = f"mine\r\n{TAX_LINE}\r\n  - child\r\n{other}\r\n".encode()
    once = parse(raw).supersede("k3f9q2", by="new1")
    assert once.render() == raw.replace(b"dc:refers=2026-12-04 -->", b"dc:refers=2026-12-04 dc:superseded=new1 -->")
    assert [entry.superseded_by for entry in once.observations] == ["new1", None]
    again = once.supersede("k3f9q2", by="new2")
    assert again.render() == once.render().replace(b"new1", b"new2")


@pytest.mark.parametrize(
    ("line", "after"),
    [
        ("- x <!--dc:id=a-->", "- x <!--dc:id=a dc:superseded=b-->"),
        ("- x <!-- dc:id=a", "- x <!-- dc:id=a dc:superseded=b"),
        ("- x <!-- dc:superseded=c dc:id=a --> tail", "- x <!-- dc:superseded=b dc:id=a --> tail"),
        ("- x <!-- dc:id=ab -->", "- x <!-- dc:id=ab -->"),
        ("prose <!-- dc:id=a -->", "prose <!-- dc:id=a -->"),
    ],
)
def test_how_a_line_is_marked_superseded(line: str, after: str) -> None:
    assert parse(f"{line}\n".encode()).supersede("a", by="b").render() == f"{after}\n".encode()


def test_both_sides_of_a_conflict_are_superseded() -> None:
    raw = f"<<<<<<< HEAD\n{TAX_LINE}\n=======\n{TAX_LINE} ok\n>>>>>>> them\n".encode()
    assert parse(raw).supersede("k3f9q2", by="b").render().count(b"dc:superseded=b") == 2


def test_a_successor_must_be_an_id() -> None:
    with pytest.raises(ValueError, match="no observation id"):
        parse(b"").supersede("a", by="b -->")


def test_thousands_of_fences_that_never_close_are_read_quickly() -> None:
    """One search for an end that is not there, not one for each: this file took minutes otherwise."""
    raw = b"```text\n<!-- x\n<<<<<<< a\n" * 30_000
    assert len(parse(raw).problems) == 1
