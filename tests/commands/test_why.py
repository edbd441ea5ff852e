"""why: the messages, who condensed them, what took whose place, what became of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from builders import NOW, OTHER, SESSION, Home, append, said, snapshot
from total_recall import clock
from total_recall.commands import observe, places, recall, reflect, why
from total_recall.commands.places import Configuration, Place
from total_recall.errors import TotalRecallError
from total_recall.memory.document import parse
from total_recall.memory.line import format_observation
from total_recall.records import Batch, Observation


@pytest.fixture
def openclaw(home: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.setattr(clock, "now", lambda: NOW)
    return Home(home / ".openclaw", home / "unused")


@pytest.fixture
def config(openclaw: Home, home: Path) -> Configuration:
    return places.configure({"HOME": str(home), "TOTAL_RECALL_TZ": "Asia/Seoul"})


@pytest.fixture
def place(config: Configuration) -> Place:
    return places.find(config, NOW)[0]


def document(place: Place) -> str:
    return (place.memory_dir / "observations.md").read_text(encoding="utf-8")


def id_of(place: Place, words: str) -> str:
    (id,) = (e.id for e in parse(document(place).encode()).observations if words in e.text and e.id)
    return id


def asked(config: Configuration, id: str) -> why.Result:
    return why.run(why.Options(id), config)


def observed(config: Configuration, compress: Callable[[Batch], tuple[Observation, ...]] | None = None) -> None:
    observe.run(observe.Options(), config, compress)


def test_it_tells_session_time_messages_and_who_condensed_them(
    openclaw: Home, config: Configuration, place: Place
) -> None:
    openclaw.index({"agent:main:telegram:direct:42": SESSION})
    openclaw.write(said("a", "My daughter Nora is allergic to penicillin.", 1))
    observed(config)
    before = snapshot(place.memory_dir)
    done = asked(config, id_of(place, "penicillin"))
    assert snapshot(place.memory_dir) == before
    text = "\n".join(done.lines())
    assert f"session {SESSION}, agent:main:telegram:direct:42 of agent main:" in text
    assert "2026-11-30 15:01 user: “My daughter Nora is allergic to penicillin.”" in text
    assert "condensed by the built-in compressor on 2026-11-30 21:00" in text
    assert "fact, importance 8." in text and "never recalled" in text and "stays until" in text
    (message,) = json.loads(json.dumps(done.payload()))["messages"]
    assert message["entry"] == "a" and message["at"] == "2026-11-30T15:01:00+09:00"
    assert message["agent"] == "main" and message["session_class"] == "direct"
    assert message["condensed_by"] == "offline"


def test_words_said_again_are_one_more_ground(openclaw: Home, config: Configuration, place: Place) -> None:
    openclaw.write(said("a", "My daughter Nora is allergic to penicillin.", 1))
    observed(config)
    openclaw.write(said("b", "My daughter Nora is allergic to penicillin.", 200), session_id=OTHER)
    observed(config)
    sources = asked(config, id_of(place, "penicillin")).sources
    assert [source.ground.message.session_id for source in sources] == [SESSION, OTHER]


def test_it_counts_how_often_it_was_recalled(openclaw: Home, config: Configuration, place: Place) -> None:
    openclaw.write(said("a", "My daughter Nora is allergic to penicillin.", 1))
    observed(config)
    for _ in range(2):
        recall.run(recall.Options("penicillin"), config)
    done = asked(config, id_of(place, "penicillin"))
    assert "recalled 2 times, last on 2026-11-30 21:00" in "\n".join(done.lines())
    assert done.payload()["recalled"] == 2


def test_a_contradiction_is_told_from_both_sides(openclaw: Home, config: Configuration, place: Place) -> None:
    path = openclaw.write(said("a", "I live in Busan.", 1))
    observed(config)
    append(path, said("b", "I live in Seoul.", 60))
    observed(config)
    busan, seoul = id_of(place, "Busan"), id_of(place, "Seoul")
    assert asked(config, busan).superseded_by == seoul
    assert asked(config, seoul).supersedes == (busan,)
    assert f"no longer current: {seoul} took its place" in "\n".join(asked(config, busan).lines())
    assert f"took the place of {busan}" in "\n".join(asked(config, seoul).lines())


def noted(text: str, days_ago: int, id: str) -> str:
    at = NOW - timedelta(days=days_ago)
    return format_observation(Observation(id, text, at, "low", "event", 1.5, 0.9))


def test_a_merged_memory_has_the_messages_of_all_that_it_was_made_of(
    openclaw: Home, config: Configuration, place: Place
) -> None:
    openclaw.write(said("a", "Tea one.", 1), said("b", "Tea two.", 2))

    def compress(batch: Batch) -> tuple[Observation, ...]:
        return tuple(
            Observation(f"t{m.entry_id}", text, m.at, "low", "event", 1.5, 0.9, sources=((m.session_id, m.entry_id),))
            for m, text in zip(
                batch.messages, ("User drank green tea", "Green tea from Uji was drunk by the user"), strict=True
            )
        )

    observed(config, compress)
    answer = "merge [1, 2] into User drank green tea from Uji, drunk"
    reflect.reflect_memory(place, config.settings, reflect.Options(force=True), lambda _s, _u: answer, NOW)
    merged = id_of(place, "Uji, drunk")
    done = asked(config, merged)
    assert [source.ground.message.text for source in done.sources] == ["Tea one.", "Tea two."]
    assert sorted(done.merged_from) == ["ta", "tb"]
    old = asked(config, "ta")
    assert (old.is_live, old.merged_into, old.archived[0].reason) == (False, merged, f"merged into {merged}")
    text = "\n".join(old.lines())
    assert f"archived on 2026-11-30 as {old.archived[0].name} (archive/observations/2026-11-30.md)" in text
    assert asked(config, old.archived[0].name.lower()).key == "ta"


def test_what_nobody_noted_is_said_to_be_so(openclaw: Home, config: Configuration, place: Place) -> None:
    place.memory_dir.mkdir(parents=True)
    line = noted("The mail was read", 2, "mail")
    text = f"---\nDate: 2026-11-28\n{line}\n- 🔴 my own line\n"
    (place.memory_dir / "observations.md").write_text(text, encoding="utf-8")
    assert "nobody noted where it comes from" in "\n".join(asked(config, "mail").lines())
    assert any("line-" in line for line in asked(config, "line-").lines())


def test_a_finding_lists_what_it_sums_up_and_their_messages(
    openclaw: Home, config: Configuration, place: Place
) -> None:
    openclaw.write(said("a", "My daughter Nora is allergic to penicillin.", 1))
    observed(config)
    key = id_of(place, "penicillin")
    chunks = place.memory_dir / "archive" / "chunks"
    chunks.mkdir(parents=True)
    (chunks / "2026-11-29.md").write_text(
        f"## CHUNK-20261129-001\n\n- Topic: Nora\n- Finding: allergies\n\n> - 🔴 x <!-- dc:id={key} -->\n> - 🔴 y\n"
    )
    done = asked(config, "chunk-20261129-001")
    assert done.members == (key,) and done.text == "allergies"
    assert [source.ground.message.entry_id for source in done.sources] == ["a"]


@pytest.mark.parametrize(
    ("id", "says"),
    [
        ("zzzz", "there is no memory 'zzzz'; `recall \"zzzz\" --why` finds by words, and shows the ids"),
        ("where do I live?", "there is no memory 'where do I live?'; `recall \"where do I live?\" --why`"),
        ("OBS-20990101-001", "there is no memory 'OBS-20990101-001'"),
        ("", "there is no memory ''; `recall` shows ids"),
    ],
)
def test_what_is_no_id_gets_a_hint(openclaw: Home, config: Configuration, place: Place, id: str, says: str) -> None:
    openclaw.write(said("a", "My daughter Nora is allergic to penicillin.", 1))
    observed(config)
    with pytest.raises(TotalRecallError) as error:
        asked(config, id)
    assert says in str(error.value)


def test_words_that_were_kept_as_they_were_said_name_their_message(
    openclaw: Home, config: Configuration, place: Place
) -> None:
    openclaw.write(said("a", "Something odd.", 1))

    def broken(_batch: Batch) -> tuple[Observation, ...]:
        raise ZeroDivisionError("of ours")

    observed(config, broken)
    done = asked(config, id_of(place, "Something odd"))
    assert [source.ground.message.text for source in done.sources] == ["Something odd."]


def test_control_characters_of_a_message_do_not_reach_the_terminal(
    openclaw: Home, config: Configuration, place: Place
) -> None:
    openclaw.write(said("a", "My daughter Nora is allergic to penicillin \x1b[31m\x07red.", 1))
    observed(config)
    assert not any("\x1b" in line or "\x07" in line for line in asked(config, id_of(place, "penicillin")).lines())


def test_the_times_are_the_users(openclaw: Home, home: Path) -> None:
    openclaw.write(said("a", "My daughter Nora is allergic to penicillin.", 1))
    config = places.configure({"HOME": str(home), "TOTAL_RECALL_TZ": "America/New_York"})
    observed(config)
    place = places.find(config, NOW)[0]
    text = "\n".join(asked(config, id_of(place, "penicillin")).lines())
    assert "2026-11-30 01:01 user:" in text
    assert datetime(2026, 11, 30, 6, 1, tzinfo=timezone.utc).astimezone(config.settings.tz).hour == 1
