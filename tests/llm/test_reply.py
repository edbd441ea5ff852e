"""What counts in a reply, and what does not."""

from __future__ import annotations

import time
from datetime import date

import pytest

from total_recall.llm.reply import Proposed, read_line, read_reply, without_thoughts

META = "<!-- dc:type=fact dc:importance=7.0 dc:confidence=0.95 dc:source=explicit dc:date=2026-11-28 -->"
TEA = f"- 🔴 09:00 User's tea is oolong {META}"
VAN = f"- 🟡 09:05 The van was sold {META}"


def texts(reply: str, thoughts: str = "", *, cut: bool = False) -> list[str]:
    return [one.text for one in read_reply(reply, thoughts, cut=cut).observations]


def test_a_line_with_everything() -> None:
    line = (
        "- 🔴 9:05 Boiler service is on 9 December <!-- dc:type=event dc:importance=7.0 dc:confidence=0.95 "
        "dc:source=explicit dc:date=2026-11-28 dc:refers=2026-12-09 dc:supersedes=ab12cd,ef34gh -->"
    )
    assert read_line(line) == Proposed(
        "Boiler service is on 9 December", "high", "09:05", "event", 7.0, 0.95, "explicit",
        date(2026, 11, 28), date(2026, 12, 9), ("ab12cd", "ef34gh"),
    )  # fmt: skip


@pytest.mark.parametrize(
    "line",
    [
        "- 🔴 09:00 The tea is oolong", "* 🔴 09:00 The tea is oolong", "• 🔴 09:00 The tea is oolong",
        "1. 🔴 09:00 The tea is oolong", "12) 🔴 The tea is oolong", "+ 🔴 The tea is oolong", "🔴 The tea is oolong",
        "> - 🔴 09:00 The tea is oolong", "- 🔴\ufe0f 09:00 The tea is oolong", "- **🔴 09:00** The tea is oolong",
        "- 🔴 **09:00** The tea is oolong", "- 🔴 (09:00) The tea is oolong", "- 🔴 [09:00] The tea is oolong",
        "- 🔴 09:00:12 The tea is oolong", "- 🔴 09:00 - The tea is oolong", "- 🔴 09:00: The tea is oolong",
        "- [HIGH] 09:00 The tea is oolong", "- High: The tea is oolong", "- 09:00 The tea is oolong",
        "  - 🔴 09:00 The tea is oolong  ", "- 🔴 09:00 **The tea is oolong**",
        "- 🔴 09:00 The tea is oolong <!-- dc:type=fact", "- 🔴 09:00 The tea is oolong <!--",
        "- 🔴 09:00 The tea is oolong dc:type=fact dc:importance=7", "- 🔴 09:00 The tea is oolong (dc:type=fact)",
        "- The tea is oolong <!-- dc:importance=7 -->",
    ],
)  # fmt: skip
def test_sloppy_lines_that_count(line: str) -> None:
    read = read_line(line)
    assert read is not None and read.text == "The tea is oolong"


@pytest.mark.parametrize(
    "line",
    [
        "", "   ", "Sure! Here are the observations:", "Date: 2026-11-30", "**Date: 2026-11-30**", "# Observations Log", "---",
        "- The tea is oolong", "- 🔴", "- 🔴 09:00", "- 🔴 09:00 <!-- dc:type=fact -->", "09:00 The tea is oolong",
        "-", "- 🔴 09:06 <!--", "[2026-11-30 09:02] User: The tea is oolong", "CONVERSATION <talk-5f0c2a91>",
        "The highlight was the tea", "- 🔴 HH:MM text <!-- dc:type=TYPE dc:importance=N dc:refers=YYYY-MM-DD -->", "- 🔴 HH:MM text <!-- dc:type=TYPE dc:importance=N -->", "- 🔴 HH:MM text",
        f"- 🔴 09:00 {'x' * 5000}",
    ],
)  # fmt: skip
def test_lines_that_are_no_observation(line: str) -> None:
    assert read_line(line) is None


@pytest.mark.parametrize(
    ("fields", "name", "value"),
    [
        ("dc:type=decision", "type", "preference"),
        ("dc:type=FACT", "type", "fact"),
        ("dc:type=nonsense", "type", None),
        ("dc:type=question", "type", None),
        ("dc:source=inference", "certainty", "inference"),
        ("dc:source=SOURCE", "certainty", None),
        ("dc:importance=99", "importance", 10.0),
        ("dc:importance=-3", "importance", 0.0),
        ("dc:importance=nan", "importance", None),
        ("dc:importance=high", "importance", None),
        ("dc:confidence=1.7", "confidence", 1.0),
        ("dc:refers=2026-02-30", "refers", None),
        ("dc:refers=tomorrow", "refers", None),
        ('dc:type="goal"', "type", "goal"),
        ("dc:type: goal", "type", "goal"),
        ("dc:supersedes=[ab12cd]", "supersedes", ("ab12cd",)),
    ],
)
def test_metadata_is_read_one_field_at_a_time(fields: str, name: str, value: object) -> None:
    read = read_line(f"- 🔴 09:00 tea {fields}")
    assert read is not None and getattr(read, name) == value


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("<think>- 🔴 not real</think>\n- 🟡 real", ["real"]),
        ("<THINK >a\n- 🔴 not real\n</think >\n- 🟡 real", ["real"]),
        ("<thinking>a<think>b</think>- 🔴 not real</thinking>\n- 🟡 real", ["real"]),
        ("- 🔴 not real\n</think>\n- 🟡 real", ["real"]),
        ("- 🟡 real\n<think>\n- 🔴 not real", ["real"]),
        ("<think>\n- 🔴 not real", []),
        ("[THINK]- 🔴 not real[/THINK]\n- 🟡 real", ["real"]),
        ("◁think▷- 🔴 not real◁/think▷\n- 🟡 real", ["real"]),
        ("<|channel|>analysis<|message|>\n- 🔴 not real<|end|><|start|>assistant<|channel|>final<|message|>- 🟡 real<|return|>",
         ["real"]),
        ("<|channel|>analysis<|message|>\n- 🔴 not real", []),
        ("- 🟡 real <think>no</think> thing", ["real  thing"]),
    ],
)  # fmt: skip
def test_thoughts_never_count(reply: str, expected: list[str]) -> None:
    assert texts(reply) == expected


@pytest.mark.parametrize(
    "reply",
    [
        f"```markdown\n{TEA}\n{VAN}\n```", f"~~~\n{TEA}\n{VAN}\n~~~", f"Sure:\n\n{TEA}\n\n{VAN}\n\nAnything else?",
        f"Date: 2026-11-28\n{TEA}\n---\nDate: 2026-11-29\n{VAN}", f"{TEA}\r\n{VAN}\r\n", f"{TEA}<br>{VAN}",
        f"{TEA}\n{VAN}\n" * 62,
    ],
)  # fmt: skip
def test_what_stands_around_the_list_does_no_harm(reply: str) -> None:
    assert texts(reply) == ["User's tea is oolong", "The van was sold"]


def test_a_line_separator_inside_a_line_ends_no_line() -> None:
    assert texts("- 🔴 09:00 a\u2028b\u0085c") == ["a\u2028b\u0085c"]


def test_running_in_circles_is_noticed() -> None:
    read = read_reply(f"{TEA}\n{VAN}\n" * 62)
    assert len(read.observations) == 2 and read.problems == ("122 of 124 lines were repetitions",)
    other_times = "\n".join(f"- 🔴 09:{minute:02} The same block" for minute in range(60))
    assert texts(other_times) == ["The same block"]


def test_a_reply_cut_by_length_keeps_its_whole_lines() -> None:
    assert texts(f"{TEA}\n{VAN[:30]}", cut=True) == ["User's tea is oolong"]
    assert texts(f"{TEA}\n{VAN}", cut=True) == ["User's tea is oolong", "The van was sold"]
    assert texts(f"{TEA}\n- 🟡 09:05 The van was so", cut=True) == ["User's tea is oolong"]
    nothing_whole = read_reply(TEA[:20], cut=True)
    assert nothing_whole.cut and not nothing_whole.nothing_notable and nothing_whole.problems


@pytest.mark.parametrize(
    "reply",
    [
        "NOTHING NOTABLE", "Nothing notable.", "**NOTHING NOTABLE**", "NO_OBSERVATIONS", "- NOTHING NOTABLE", "None.",
        "Nothing notable in this conversation.", "No new observations.", "[]", "{}", '{"observations": []}',
        "```\nNOTHING NOTABLE\n```", "<think>hm</think>NOTHING NOTABLE", "- 🟢 09:00 NOTHING NOTABLE", "특이 사항 없음",
    ],
)  # fmt: skip
def test_nothing_notable_in_its_variants(reply: str) -> None:
    read = read_reply(reply)
    assert read.nothing_notable and not read.observations and not read.problems


@pytest.mark.parametrize(
    "reply",
    [
        "", "Sure! Here is a summary of your conversation: it was nice.", "I cannot help with that.",
        "There is nothing notable about the tea, but the van was sold for 8,200 EUR and this is prose.",
    ],
)  # fmt: skip
def test_no_line_and_no_clear_word_is_a_failure(reply: str) -> None:
    read = read_reply(reply)
    assert not read.nothing_notable and not read.observations and read.problems


def test_a_cut_reply_never_says_nothing() -> None:
    assert not read_reply("NOTHING NOTABLE", cut=True).nothing_notable


def test_the_thoughts_field_counts_only_as_a_clean_list_and_without_an_answer() -> None:
    assert texts("", f"Date: 2026-11-28\n{TEA}\n\n{VAN}") == ["User's tea is oolong", "The van was sold"]
    assert texts("", f"Let me list:\n{TEA}") == []
    assert texts(VAN, TEA) == ["The van was sold"]
    assert read_reply("", "hm").problems


def test_a_model_that_insists_on_json() -> None:
    items = '[{"text": "Tea is oolong", "priority": "high", "time": "09:00", "type": "fact", "importance": 7}, "- 🟡 The van"]'
    for reply in (items, f"```json\n{items}\n```", f'{{"observations": {items}}}'):
        first, second = read_reply(reply).observations
        assert (first.text, first.priority, first.time, first.type, first.importance) == (
            "Tea is oolong", "high", "09:00", "fact", 7.0,
        )  # fmt: skip
        assert second.text == "The van"
    assert texts('[{"text": 3}, 4, null, {"line": "- 🔴 09:00 Tea"}]') == ["Tea"]
    assert texts("[" * 50_000) == []


def test_a_run_away_reply_is_read_in_a_moment() -> None:
    begun = time.perf_counter()
    for part in (f"{TEA}\n", "<think>", "</think>", "<think>\n- 🔴 x\n", "[", "- ", "🔴 ", "<!-- dc:", "<|channel|>"):
        read_reply(part * (300_000 // len(part)))
        without_thoughts(part * (100_000 // len(part)))
    assert time.perf_counter() - begun < 5
