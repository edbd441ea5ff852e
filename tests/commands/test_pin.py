"""pin and unpin: what is pinned stays, whatever a reflection wants; what is archived comes back."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from total_recall import clock, retention
from total_recall.commands import context, pin, places, reflect, why
from total_recall.commands import known as memories
from total_recall.commands.places import Configuration, Place
from total_recall.errors import TotalRecallError
from total_recall.memory.archived import line_key
from total_recall.memory.document import parse
from total_recall.memory.line import Entry, format_observation, is_pinned
from total_recall.memory.store import MemoryStore
from total_recall.records import Observation, ObservationType

NOW = datetime(2026, 11, 30, 21, 0, tzinfo=timezone.utc)


@pytest.fixture(autouse=True)
def now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "now", lambda: NOW)


@pytest.fixture
def config(home: Path) -> Configuration:
    return places.configure({"HOME": str(home), "TOTAL_RECALL_TZ": "UTC"})


@pytest.fixture
def place(config: Configuration) -> Place:
    place = places.find(config, NOW)[0]
    place.memory_dir.mkdir(parents=True)
    return place


def noted(text: str, days_ago: int, id: str, kind: ObservationType = "event") -> str:
    return format_observation(Observation(id, text, NOW - timedelta(days=days_ago), "low", kind, 1.5, 0.9))


MAIL = noted("The mail was read", 40, "mail")
TEA = noted("User drank green tea", 9, "tea1")
UJI = noted("User drank green tea from Uji", 8, "tea2")
DOCUMENT = (
    "# Observations Log\n\nMy own words.\n\n---\nDate: 2026-10-21\n"
    f"{MAIL}\n\n---\nDate: 2026-11-21\n{TEA}\n\n---\nDate: 2026-11-22\n{UJI}\n"
)
ANSWER = "merge [1, 2] into User drank green tea from Uji\ndrop 1 because old\ndrop 2 because old"


def path_of(place: Place) -> Path:
    return place.memory_dir / "observations.md"


def write(place: Place, text: str = DOCUMENT) -> None:
    path_of(place).write_bytes(text.encode())


def entries(place: Place) -> dict[str, Entry]:
    return {line_key(entry): entry for entry in parse(path_of(place).read_bytes()).observations}


def reflected(place: Place, config: Configuration, answer: str = ANSWER) -> None:
    reflect.reflect_memory(place, config.settings, reflect.Options(force=True), lambda _s, _u: answer, NOW)


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_line_gets_a_field_and_loses_it_and_nothing_else_changes(
    place: Place, config: Configuration, newline: str
) -> None:
    text = DOCUMENT.replace("\n", newline)
    write(place, text)
    done = pin.run(pin.Options("mail"), config)
    assert done.lines() == ["Pinned: it stays for good: mail “The mail was read”"]
    pinned = MAIL.replace(" -->", " dc:pinned=1 -->")
    assert path_of(place).read_bytes() == text.replace(MAIL, pinned).encode()
    assert pin.run(pin.Options("mail"), config).lines()[0].startswith("It was pinned already: mail")
    assert pin.run(pin.Options("mail", pinned=False), config).changed
    assert path_of(place).read_bytes() == text.encode()
    assert pin.run(pin.Options("mail", pinned=False), config).lines()[0].startswith("It was not pinned: mail")


@pytest.mark.parametrize("days", [0, 40, 400, 4000])
def test_what_is_pinned_is_not_due_on_any_day(place: Place, config: Configuration, days: int) -> None:
    write(place)
    pin.run(pin.Options("mail"), config)
    subject = retention.subject(entries(place)["mail"])
    today = NOW.date() + timedelta(days=days)
    assert retention.protected(subject, today) == "it is pinned"
    assert retention.due(subject, today) is retention.age_rule(subject, today) is None


@pytest.mark.parametrize("key", ["mail", "tea1", "tea2"])
def test_a_reflection_neither_drops_nor_merges_what_is_pinned(place: Place, config: Configuration, key: str) -> None:
    write(place)
    before = len(entries(place))
    pin.run(pin.Options(key), config)
    line = path_of(place).read_text().split("\n")[entries(place)[key].line - 1]
    reflected(place, config)
    reflected(place, config, "drop 1 because old\ndrop 2 because old\nsupersede 1 by 2")
    assert line in path_of(place).read_text().split("\n")
    assert len(entries(place)) < before, "the others go as before"


def test_the_context_goes_on_showing_it_when_it_has_expired_and_room_is_short(
    place: Place, config: Configuration
) -> None:
    write(place)
    assert "The mail was read" not in context.run(context.Options(), config).context.text
    pin.run(pin.Options("mail"), config)
    assert "The mail was read" in context.run(context.Options(), config).context.text
    assert "The mail was read" in context.run(context.Options(budget_tokens=1), config).context.text
    ready = (place.own_dir / "context.txt").read_text()
    assert "The mail was read" in ready and "pinned" not in ready


def test_an_archived_memory_comes_back_under_its_day_and_is_archived_anew_later(
    place: Place, config: Configuration
) -> None:
    write(place)
    reflected(place, config, "")
    assert "mail" not in entries(place)
    (name,) = (stay.name for stay in why.run(why.Options("mail"), config).archived)
    done = pin.run(pin.Options(name), config)
    assert done.came_back == name and done.lines()[0].startswith(f"{name} is back in the memory. Pinned")
    entry = entries(place)["mail"]
    assert is_pinned(entry) and str(entry.heading) == "2026-10-21"
    assert [item.is_back for item in memories.all_of(place.memory_dir) if item.section and item.key == "mail"] == [True]
    pin.run(pin.Options("mail", pinned=False), config)
    reflected(place, config, "")
    stays = why.run(why.Options("mail"), config).archived
    assert [stay.is_back for stay in stays] == [True, False] and stays[1].name != name


def test_a_line_that_a_person_wrote_can_be_pinned(place: Place, config: Configuration) -> None:
    write(place, f"{DOCUMENT}- 🟢 the key is under the mat\n")
    key = next(key for key in entries(place) if key.startswith("line-"))
    pin.run(pin.Options(key[:8]), config)
    assert path_of(place).read_text().endswith("- 🟢 the key is under the mat <!-- dc:pinned=1 -->\n")
    pin.run(pin.Options(key, pinned=False), config)
    assert path_of(place).read_text() == f"{DOCUMENT}- 🟢 the key is under the mat\n"


def test_an_edit_made_at_the_same_moment_is_kept(place: Place, config: Configuration) -> None:
    write(place)
    edited = DOCUMENT.replace("My own words.", "My new words.")

    def edit(name: str) -> None:
        if name == "compare" and "My new words." not in path_of(place).read_text():
            write(place, edited)

    found = memories.named(memories.all_of(place.memory_dir), "mail")
    pin.set_pinned(place, found, True, NOW, NOW.date(), edit)
    assert path_of(place).read_text() == edited.replace(MAIL, MAIL.replace(" -->", " dc:pinned=1 -->"))


@pytest.mark.parametrize(
    ("id", "pinned", "says"),
    [
        ("nothing", True, "there is no memory 'nothing'; `recall \"nothing\" --why`"),
        ("tea", True, "'tea' is the beginning of several: tea1, tea2; write more of it"),
        ("ma", True, "there is no memory 'ma'"),
        ("", True, "there is no memory ''"),
        ("CHUNK-20261129-001", True, "sums up several memories"),
        ("OBS-20261129-001", False, "is in the archive, where nothing ages"),
    ],
)
def test_what_cannot_be_pinned_says_why(place: Place, config: Configuration, id: str, pinned: bool, says: str) -> None:
    write(place)
    for folder, text in (
        ("chunks", "## CHUNK-20261129-001\n\n- Finding: tea\n"),
        ("observations", f"## OBS-20261129-001\n\n- Id: old\n\n> {noted('Old', 60, 'old')}\n"),
    ):
        target = place.memory_dir / "archive" / folder / "2026-11-29.md"
        target.parent.mkdir(parents=True)
        target.write_text(text)
    before = path_of(place).read_bytes()
    with pytest.raises(TotalRecallError) as error:
        pin.run(pin.Options(id, pinned), config)
    assert says in str(error.value) and "\n" not in str(error.value)
    assert path_of(place).read_bytes() == before


def test_the_answer_as_json(place: Place, config: Configuration) -> None:
    write(place)
    payload = json.loads(json.dumps(pin.run(pin.Options("TEA1"), config).payload()))
    assert (payload["id"], payload["pinned"], payload["changed"], payload["came_back"]) == ("tea1", True, True, None)


def test_every_copy_of_a_line_is_pinned(place: Place, config: Configuration) -> None:
    """A merge conflict has the line twice; whichever stays is pinned."""
    write(place, f"Date: 2026-10-21\n<<<<<<< ours\n{MAIL}\n=======\n{MAIL}\n>>>>>>> theirs\n")
    pin.run(pin.Options("mail"), config)
    assert MemoryStore(place.memory_dir).read().content.count(b"dc:pinned=1") == 2
