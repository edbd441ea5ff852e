"""A block of our lines in somebody else's text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from total_recall.host.textblock import Markers, has_block, line_end_of, with_block, without_block

MARKERS = Markers(b"#<", b"#>", b" note", is_ours=lambda line: line.startswith(b"our"))
BLOCK = b"#< note\nour 1\nour 2\n#>\n"
OURS = (b"our 1", b"our 2")


@pytest.mark.parametrize(
    ("text", "with_ours"),
    [
        (b"", BLOCK),
        (b"a\n", b"a\n" + BLOCK),
        (b"a", b"a\n" + BLOCK),
        (b"a\r\nb\r\n", b"a\r\nb\r\n" + BLOCK),
        (b"\xff\x00\xe2\x80\xa8a\n", b"\xff\x00\xe2\x80\xa8a\n" + BLOCK),
        (b"a\n" + BLOCK + b"b\n", b"a\n" + BLOCK + b"b\n"),
        (b"a\n#< older\nour 0\nedited\n#>\nb", b"a\n" + BLOCK + b"b"),
        (BLOCK + b"a\n" + BLOCK + b"b\n", BLOCK + b"a\nb\n"),
        (b"a\n#<\nour 0\nb\n", b"a\n" + BLOCK + b"b\n"),
        (b"a\n#<\n#<\nour 0\n#>\nb\n", b"a\n" + BLOCK + b"b\n"),
        (b"a\n  #< x\nour 0\n#>\r\nb\n", b"a\n" + BLOCK + b"b\n"),
        (b"a\n#<\nour 0", b"a\n" + BLOCK),
    ],
)
def test_the_block_stands_once_and_other_lines_stay(text: bytes, with_ours: bytes) -> None:
    """Absent, at the end, in the middle, edited, twice, without its end."""
    assert with_block(text, MARKERS, OURS) == with_ours
    assert with_block(with_ours, MARKERS, OURS) == with_ours


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (b"a\n" + BLOCK + b"b\n", b"a\nb\n"),
        (BLOCK, b""),
        (BLOCK + b"a\n" + BLOCK, b"a\n"),
        (b"a\n#>\nb\n", b"a\nb\n"),
        (b"a\n#<\nour 0\nb\n#", b"a\nb\n#"),
        (b"a #< b\n", b"a #< b\n"),
    ],
)
def test_only_our_part_is_taken_out(text: bytes, left: bytes) -> None:
    assert without_block(text, MARKERS) == left
    assert has_block(text, MARKERS) == (text != left)


def test_a_block_takes_the_line_ends_it_is_told() -> None:
    assert line_end_of(b"a\r\nb\n") == b"\r\n"
    assert line_end_of(b"a\nb\r\n") == b"\n"
    assert with_block(b"a\r\n", MARKERS, OURS, b"\r\n") == b"a\r\n" + BLOCK.replace(b"\n", b"\r\n")


@given(st.lists(st.sampled_from([b"a", b"", b"\r", b"\xff", b" our", b"# x"])))
def test_what_was_put_in_can_be_taken_out_without_a_trace(lines: list[bytes]) -> None:
    text = b"".join(line + b"\n" for line in lines)
    assert without_block(with_block(text, MARKERS, OURS), MARKERS) == text
