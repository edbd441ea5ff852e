"""What is kept out of memory, by a setting or because the person says so."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timezone

import pytest

from total_recall.privacy.exclusion import Rule, is_off_the_record, keeps_out, parse_rules
from total_recall.records import Message

AT = datetime(2026, 11, 30, 9, tzinfo=timezone.utc)
SAID = Message(
    "files", "0a0c", "agent:main:telegram:direct:Bob", "a", "user", "The Invoice is paid.", AT, "Bob Ray", "telegram"
)

OFF = (
    "Off the record: I am looking for another job.",
    "off the record, I don't like him",
    "This is off the record. I failed the exam.",
    "That stays off the record!",
    "Between you and me. Strictly off the record.",
    "I owe him 300. Don't remember this.",
    "Please do not memorize that, my PIN is the year of birth.",
    "don’t remember what I just told you",
    "Don't save this to memory.",
    "Do not store that in your memory please.",
    "Keep this out of your memory, will you?",
    "I don't want you to remember this: the test was positive.",
    "이건 기억하지 마세요. 이직 준비 중이에요.",
    "이 얘기는 기억하지 말아줘",
    "오프 더 레코드로 말하자면",
    "메모리에 저장하지 마",
    "これは覚えないでください。",
    "オフレコで、転職を考えています。",
    "不要记住这件事。",
    "别记下这些。",
    "Merk dir das nicht, bitte.",
    "No recuerdes esto, por favor.",
    "Ne retiens pas ça.",
)
ON = (
    "He told the reporter off the record that the boat sinks.",
    "The off-the-record interview is on Friday.",
    "What does off the record mean?",
    "Don't forget this!",
    "Please remember that I like tea.",
    "I don't remember that film.",
    "I do not remember this place at all.",
    "Sorry, I don't remember that.",
    "You don't remember this? We spoke about it yesterday.",
    "Don't save this file yet.",
    "Why don't you remember my name?",
    "Keep it out of the sun.",
    "이거 꼭 기억해 주세요.",
    "기억이 안 나요.",
    "覚えておいてください。",
    "请记住这件事。",
    "Merk dir das bitte.",
    "Recuerda esto.",
    "N'oublie pas ça.",
)


@pytest.mark.parametrize("text", OFF)
def test_a_person_can_say_that_it_is_not_to_be_remembered(text: str) -> None:
    assert is_off_the_record(text)


@pytest.mark.parametrize("text", ON)
def test_what_only_sounds_like_it_is_remembered(text: str) -> None:
    assert not is_off_the_record(text)


RULES = (
    ("session:0a0c", True),
    ("session:agent:main:telegram:*", True),
    ("session:agent:main:main", False),
    ("channel:telegram", True),
    ("channel:tele*", True),
    ("channel:whatsapp", False),
    ("sender:bob ray", True),
    ("sender:Bob*", True),
    ("sender:bob", False),
    ("text:the invoice", True),
    ("text:the bill", False),
    ("", False),
    ("channel:whatsapp, text:INVOICE", True),
)


@pytest.mark.parametrize(("value", "expected"), RULES)
def test_a_setting_names_what_is_kept_out(value: str, expected: bool) -> None:
    assert keeps_out(parse_rules(value))(SAID) is expected


def test_the_assistants_own_words_do_not_decide() -> None:
    """It may well say "I will not remember this"; and it is no sender."""
    decide = keeps_out(parse_rules("sender:bob*"))
    assert not decide(replace(SAID, role="assistant", text="Off the record: fine."))
    assert decide(SAID)


def test_entries_are_read_with_their_spaces() -> None:
    assert parse_rules(" Channel: Telegram ,, text:a: b") == (Rule("channel", "telegram"), Rule("text", "a: b"))


@pytest.mark.parametrize("value", ["telegram", "where:telegram", "channel:", "channel: ,text:x"])
def test_an_entry_that_is_none_is_named(value: str) -> None:
    with pytest.raises(ValueError, match=r"telegram|channel"):
        parse_rules(value)
