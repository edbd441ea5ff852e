from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from total_recall.text import (
    containment,
    language_of,
    likeness,
    names,
    negations,
    numbers,
    plain_line,
    same_statement,
    sentences,
    words,
)


@pytest.mark.parametrize(
    ("raw", "line"),
    [
        ("two\nlines\r\nand\ttabs", "two lines and tabs"),
        ("a\u2028b\u2029c\x85d\x00e", "a b c d e"),
        ("safe<!-- dc:id=x -->text", "safe<! -- dc :id=x -- >text"),
        ("\u202eevil\u2066\u200b\ufeff", "evil"),
        ("tag\U000e0041s", "tags"),
        ("half \ud83d pair", "half pair"),
        ("e\u0301", "é"),
        ("👍 fine", "👍 fine"),
    ],
)
def test_a_line_is_made_harmless(raw: str, line: str) -> None:
    assert plain_line(raw) == line


@given(st.text())
def test_any_text_becomes_one_line_that_cannot_forge_metadata(text: str) -> None:
    line = plain_line(text)
    assert not set(line) & set("\n\r\x00\u2028\u2029\u202e\u200b")
    assert "<!--" not in line
    assert "-->" not in line
    assert "dc:" not in line
    assert line.encode("utf-8").decode("utf-8") == line
    assert plain_line(line) == line


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Never order anything over 50 EUR without asking me", "en"),
        ("내일 deadline 이야", "ko"),
        ("明天开会", "zh"),
        ("明日は会議です", "ja"),
        ("El viernes que viene tengo cita", "es"),
        ("Am Freitag treffen wir uns", "de"),
        ("Demain je pars à Lyon", "fr"),
        ("xyzzy 42", "en"),
    ],
)
def test_the_language_is_told_by_script_and_common_words(text: str, language: str) -> None:
    assert language_of(text) == language


def test_a_text_without_common_words_has_the_language_of_the_conversation() -> None:
    assert language_of("Peugeot 208", "fr") == "fr"


@pytest.mark.parametrize(
    ("paragraph", "cut"),
    [
        ("Dr. Kim paid 3.5 EUR. Then we left.", ("Dr. Kim paid 3.5 EUR.", "Then we left.")),
        ("We met at 5 p.m. We ate, e.g. soup.", ("We met at 5 p.m.", "We ate, e.g. soup.")),
        ("See notes.md. OK!", ("See notes.md.", "OK!")),
        ("Sie kommt am 14. Dezember. Gut.", ("Sie kommt am 14. Dezember.", "Gut.")),
        ("hmm ok. fix them please", ("hmm ok.", "fix them please")),
        ("네, 알겠어요. 내일 봐요.", ("네, 알겠어요.", "내일 봐요.")),
        ("締め切りは金曜日です。忘れないで！", ("締め切りは金曜日です。", "忘れないで！")),
        ("version 2026.9.6 is out", ("version 2026.9.6 is out",)),
        ("", ()),
    ],
)
def test_sentences_end_where_a_reader_sees_it(paragraph: str, cut: tuple[str, ...]) -> None:
    assert sentences(paragraph) == cut


@given(st.text(alphabet="ab.!? 다。1A", max_size=60))
def test_no_word_is_lost_between_sentences(text: str) -> None:
    assert "".join("".join(sentences(text)).split()) == "".join(text.split())


def test_numbers_are_compared_without_separators_and_zeros() -> None:
    assert numbers("1,200 and 04 at 14:30, v3.5") == {"1200", "4", "14:30", "3.5"}


def test_names_are_what_is_capitalised_inside_a_sentence_and_what_looks_like_an_identifier() -> None:
    found = names("Invoice 1042 to Acme Corp: ref-zephyr-01b, see notes.md, ask Ivo")
    assert found == {"Acme Corp", "ref-zephyr-01b", "notes.md", "Ivo"}
    assert names("민수 씨가 확인했어요") == {"민수"}
    assert names("The meeting is on Friday in December") == frozenset()


def test_cjk_words_are_pairs_of_characters() -> None:
    assert words("우롱차 tea") == ("우롱", "롱차", "tea")


@pytest.mark.parametrize(
    "forms",
    [
        "like likes liked liking",
        "love loves loved loving",
        "make makes making",
        "use uses used using user's",
        "hope hopes hoped hoping",
        "type types typed typing",
        "deploy deploys deployed deploying",
        "study studies studied studying",
        "try tries tried trying",
        "movie movies",
        "tie ties tied tying",
        "lie lies lied lying",
        "bus buses",
        "gas gases",
        "status statuses",
        "house houses housed housing",
        "case cases",
        "release releases released releasing",
        "size sizes sized sizing",
        "box boxes boxed boxing",
        "watch watches watched watching",
        "cache caches cached caching",
        "boss bosses",
        "class classes",
        "process processes processed processing",
        "stop stops stopped stopping",
        "plan plans planned planning",
        "quiz quizzes quizzed",
        "cancel cancels cancelled canceled cancelling canceling",
        "install installs installed installing",
        "call calls called calling",
        "add adds added adding",
        "visit visits visited visiting",
        "create creates created creating",
        "change changes changed changing",
        "enable enables enabled enabling",
        "organize organizes organized organizing",
        "prepare prepares prepared preparing",
        "agree agrees agreed agreeing",
        "queue queues queued queueing queuing",
        "go goes going",
        "hero heroes",
        "shoe shoes",
        "see sees seeing",
        "need needs needed needing",
        "embed embeds embedded embedding",
        "meet meets meeting meetings",
        "set sets setting settings",
        "thing things",
        "wedding weddings",
        "hundred hundreds",
        "alias aliases",
        "lens lenses",
        "day days",
        "menu menus",
        "paste pastes pasted pasting",
        "party parties",
        "fix fixes fixed fixing",
        "play plays played playing",
        "show shows showed showing",
    ],
)
def test_the_inflections_of_a_word_are_the_same_word(forms: str) -> None:
    for form in forms.replace("user's", "use").split():
        assert likeness(forms.split()[0], form) == 1, form


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("news", "new"),
        ("business", "busy"),
        ("boss", "bos"),
        ("plan", "plane"),
        ("planned", "planed"),
        ("hope", "hop"),
        ("hoping", "hopping"),
        ("site", "sit"),
        ("rate", "rat"),
        ("past", "paste"),
        ("quit", "quite"),
        ("local", "locale"),
        ("bring", "br"),
        ("thing", "th"),
        ("king", "k"),
        ("string", "str"),
        ("morning", "morn"),
        ("evening", "even"),
        ("something", "someth"),
        ("red", "r"),
        ("shed", "sh"),
        ("need", "ne"),
        ("speed", "spe"),
        ("hundred", "hundr"),
        ("embed", "emb"),
        ("status", "statu"),
        ("analysis", "analysi"),
        ("bus", "bu"),
        ("gas", "ga"),
        ("series", "sery"),
        ("lens", "len"),
        ("class", "clas"),
        ("address", "addres"),
        ("always", "alway"),
        ("bias", "bia"),
        ("user", "use"),
        ("advice", "advise"),
        ("invoice", "invite"),
    ],
)
def test_another_word_is_not_taken_for_an_inflection(one: str, other: str) -> None:
    assert likeness(one, other) == 0


def test_korean_words_are_compared_by_pairs_of_syllables_so_that_a_particle_costs_little() -> None:
    assert likeness("회의실은", "회의실을") >= 0.6
    assert likeness("보고서를 제출", "보고서는 제출") >= 0.7


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("The deadline is 14 December", "the deadline is 14 december!", True),
        ("Invoice 1041 to Acme: 1,200 EUR", "Invoice 1042 to Acme: 1,200 EUR", False),
        ("Deploying on Fridays is allowed", "Deploying on Fridays is not allowed", False),
        ("금요일에 배포해도 돼", "금요일에 배포하면 안 돼", False),
        ("Newts live in pond A", "Rent is due", False),
        ("User likes oolong tea and studies maps", "The user liked oolong tea and is studying maps", True),
    ],
)
def test_two_statements_are_the_same_only_with_equal_numbers_and_negations(one: str, other: str, same: bool) -> None:
    assert same_statement(one, other) is same


def test_likeness_and_containment_run_from_0_to_1() -> None:
    assert likeness("", "tea") == 0
    assert likeness("oolong tea", "tea oolong") == 1
    assert containment("short answers", "keep answers short and use metric units") == 1
    assert negations("nobody said no") == 2
