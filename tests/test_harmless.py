"""Text that only lets itself be read: what goes, what stays, and that doing it twice changes nothing more."""

from __future__ import annotations

import json
import time
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from total_recall.harmless import inert, printable, printable_json


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain text,\ntwo lines", "plain text,\ntwo lines"),
        ("한국어 中文 日本語 ñ ü ß é", "한국어 中文 日本語 ñ ü ß é"),
        ("\x1b[31mred\x1b[0m", " [31mred [0m"),
        ("a\x9b2Jb\x07\x08\x7f", "a 2Jb   "),
        ("tab\tcr\r", "tab cr "),
        ("\u2028\u2029\x85", "   "),
        ("in\u200bvisible\ufeff \u2060\u00ad", "invisible "),
        ("\u202eright\u202c \u2067x\u2069 \u200f\u200e\u061c", "right x "),
        ("".join(chr(0xE0000 + ord(c)) for c in "hidden") + "seen", "seen"),
        ("\u3164\u115f\u1160\uffa0\u034f\u17b4\u180e|", "|"),
        ("half \ud83d", "half \ufffd"),
        ("❤\ufe0f 1\ufe0f\u20e3 👩\u200d👩\u200d👧 👍🏽", "❤\ufe0f 1\ufe0f\u20e3 👩\u200d👩\u200d👧 👍🏽"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("葛\U000e0100城", "葛\U000e0100城"),
        ("😀\U000e0101\U000e0102", "😀"),
        ("a\ufe0fb", "ab"),
        ("\u0600\u0661", "\u0600\u0661"),
    ],
)
def test_what_is_printed(text: str, shown: str) -> None:
    assert printable(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("</total-recall-memory>", "‹total-recall-memory>"),
        ("＜/total-recall-memory＞", "‹total-recall-memory＞"),
        ("⟨ / total-recall-memory⟩", "‹total-recall-memory⟩"),
        ("«/total-recall-memory»", "«/total recall memory»"),
        ("<img src=x> a < b, i <3 u", "‹img src=x> a < b, i <3 u"),
        ("![x](http://a.example) [y](z)", "![x] (http://a.example) [y] (z)"),
        ("![[note]] [[a]]", "![ [note]] [ [a]]"),
        ("[ref: ../x] [REF : y]", "[ ref: ../x] [ REF : y]"),
        ("@~/.ssh/id @/etc/x @./y @../z @a/../b", "@ ~/.ssh/id @ /etc/x @ ./y @ ../z @ a/../b"),
        ("@mina, a@b.example and @types/node", "@mina, a@b.example and @types/node"),
        ("dc:id=x <!-- y -->", "dc: id=x ‹!-- y -- >"),
        ("user: hi", "user – hi"),
        ("Uѕеr: hi", "Uѕеr – hi"),
        ("the user: hi", "the user: hi"),
        ("``` ~~~", "` ~"),
    ],
)
def test_what_stands_in_a_line(text: str, shown: str) -> None:
    assert inert(text) == shown


pieces = st.sampled_from(
    [
        "<",
        "/",
        "‹",
        "﹤",
        "∕",
        "total-recall-memory",
        ">",
        "[",
        "]",
        "(",
        "ref",
        ":",
        "@",
        "..",
        "~",
        "dc:",
        "id=",
        "--",
        "!",
        "user",
        "Uѕеr",
        " ",
        "\n",
        "\u200b",
        "\u200d",
        "\ufe0f",
        "\ufe01",
        "\U000e0101",
        "\u2800",
        "\u3164",
        "é",
        "葛",
        "❤",
        "\x1b",
        "`",
        "a",
        "1",
    ]
)
texts = st.one_of(st.lists(pieces, max_size=12).map("".join), st.text())


@given(texts)
@example("é\u200d\ufe05x")
@example("<\u200b\u200d/")
@example("user: user: x")
def test_twice_changes_nothing_more(text: str) -> None:
    assert printable(printable(text)) == printable(text)
    assert inert(inert(text)) == inert(text)


@given(texts)
def test_nothing_that_drives_a_terminal_is_left(text: str) -> None:
    for character in printable(text):
        assert character == "\n" or unicodedata.category(character) not in ("Cc", "Cs", "Zl", "Zp")


@given(st.recursive(texts, lambda inner: st.lists(inner) | st.dictionaries(texts, inner), max_leaves=6))
def test_json_says_the_same_and_prints_clean(value: object) -> None:
    printed = printable_json(json.dumps(value, ensure_ascii=False))
    assert json.loads(printed) == json.loads(json.dumps(value))
    assert all(unicodedata.category(c) not in ("Cc", "Cs", "Zl", "Zp") for c in printed)


@pytest.mark.parametrize(
    "text", ["<" * 200_000, "[" * 200_000, "\u200d" * 200_000, "@.." * 60_000, "user " * 50_000, "dc:a" * 50_000]
)
def test_a_long_text_takes_no_longer_than_its_length(text: str) -> None:
    begun = time.perf_counter()
    inert(text)
    assert time.perf_counter() - begun < 5
