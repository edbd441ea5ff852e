from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import date, datetime, timedelta, timezone
from pathlib import Path

import pytest

from total_recall import clock
from total_recall.commands import dream, places, recall, undo
from total_recall.commands.places import Configuration, Place
from total_recall.errors import StoreError, TotalRecallError
from total_recall.memory.archive import Archive
from total_recall.memory.document import parse
from total_recall.memory.reflection import Removal
from total_recall.recall import index as indexes
from total_recall.recall import scoring
from total_recall.recall.index import RecallIndex
from total_recall.recall.memories import Synced
from total_recall.records import Message, Observation, ObservationType
from total_recall.state import KnownSession, State, Taken, content_digest

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=timezone.utc)
TODAY = NOW.date()


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


def noted(
    id: str, text: str, days_ago: float = 1, kind: ObservationType = "fact", *, by: str | None = None,
    refers: date | None = None, sources: tuple[tuple[str, str], ...] = (),
) -> Observation:  # fmt: skip
    at = NOW - timedelta(days=days_ago)
    return Observation(id, text, at, "medium", kind, 5.0, 0.9, "explicit", refers, by, sources)


def write(place: Place, *observations: Observation) -> None:
    path = place.memory_dir / "observations.md"
    before = path.read_bytes() if path.exists() else b""
    path.write_bytes(parse(before).with_observations(observations).render())


def said(place: Place, *texts: str, session: str = "s1", since: int = 0) -> None:
    with State.open(place.own_dir) as state:
        state.take(
            [
                Taken(
                    Message("openclaw", session, "agent:main:main", f"{session}-{n}", "user", text, NOW),
                    content_digest(f"{session}-{n}", n, text),
                )
                for n, text in enumerate(texts, since)
            ],
            sessions=[KnownSession(session, "main", "agent:main:main", None)],
        )


def keys(result: recall.Result) -> list[str]:
    return [hit.filed.memory.key for hit in result.hits]


def ask(config: Configuration, query: str, **options: object) -> recall.Result:
    return recall.run(recall.Options(query, **options), config)  # type: ignore[arg-type]  # the fields of Options


def test_a_memory_is_found_and_told(config: Configuration, place: Place) -> None:
    write(place, noted("tea", "User drinks green tea", 2), noted("car", "User has a car"))
    result = ask(config, "which tea?")
    assert keys(result) == ["tea"]
    (line,) = result.lines()
    score = f"{result.hits[0].score:.2f}"
    assert line == f"{score}  2026-11-28  User drinks green tea  (memory, 2 days ago)"


def test_why_shows_the_factors(config: Configuration, place: Place) -> None:
    write(place, noted("tea", "User drinks green tea", 2), noted("cup", "The cup is from Uji", 2.001))
    found = ask(config, "which tea?", why=True)
    tea, tea_why, _, cup_why = found.lines()
    hit = found.hits[0]
    assert tea.startswith(f"{hit.score:.2f}")
    factors = f"similarity {hit.similarity:.2f} × decay {hit.decay:.2f} × boost 1.00"
    assert f"{factors}; fact tea in observations.md" in tea_why
    assert "(100% of it by association)" in cup_why


def test_the_answer_for_programs(config: Configuration, place: Place) -> None:
    write(place, noted("old", "User lives in Busan", 9, by="new"), noted("new", "User moved to Seoul"))
    hits = json.loads(json.dumps(ask(config, "where does the user live?").payload()))["hits"]
    assert [hit["id"] for hit in hits] == ["new", "old"]
    assert hits[1]["superseded_by"] == "new" and hits[1]["origin"] == "live"
    assert hits[1]["boost"] == scoring.DEFAULT.superseded_factor
    assert set(hits[0]) == {
        "id", "text", "at", "type", "importance", "refers", "superseded_by", "speaker",
        "score", "similarity", "decay", "boost", "links", "age_days", "origin", "source", "form", "item",
    }  # fmt: skip


def test_what_holds_no_more_is_labelled(config: Configuration, place: Place) -> None:
    write(place, noted("old", "User lives in Busan", 9, by="new"), noted("new", "User moved to Seoul"))
    assert "[superseded by new] User lives in Busan" in ask(config, "Busan").lines()[1]


def test_nothing_found(config: Configuration, place: Place) -> None:
    write(place, noted("tea", "User drinks green tea"))
    assert ask(config, "xylophone").lines() == ["Nothing was found."]


@pytest.mark.parametrize("query", ["", "  "])
def test_a_question_is_needed(config: Configuration, query: str) -> None:
    with pytest.raises(TotalRecallError, match="recall --recent"):
        ask(config, query)


def test_without_a_memory_nothing_is_made(config: Configuration, home: Path) -> None:
    assert ask(config, "tea").hits == ()
    assert ask(config, "", recent=True).lines() == ["Nothing was noted yet."]
    assert list(home.rglob("*.sqlite")) == []


# --- use


def test_what_was_recalled_is_stronger_by_the_formula(config: Configuration, place: Place) -> None:
    write(
        place,
        noted("apple", "충주 사과가 맛있네", 3, "event"),
        noted("market", "장날에 시장에 갔다", 2.999, "event"),
    )
    question = "충주 시에 충주 사과가 맛있었지?"
    before, after = (dict(zip(keys(r), r.hits, strict=True)) for r in (ask(config, question), ask(config, question)))
    assert list(before) == ["apple", "market"]
    assert after["apple"].score == pytest.approx(before["apple"].score * (1 + scoring.DEFAULT.use_gain))
    assert after["market"].score > before["market"].score and after["market"].boost == 1.0


def test_what_is_only_listed_is_not_used(config: Configuration, place: Place) -> None:
    write(place, noted("tea", "User drinks green tea"), noted("mug", "A tall mug that is to be filled with tea", 9))
    result = ask(config, "green tea")
    assert keys(result) == ["tea", "mug"]
    assert result.hits[1].score < scoring.DEFAULT.used_from * result.hits[0].score
    with State.open(place.own_dir) as state:
        assert set(state.accesses(["tea", "mug"])) == {"tea"}


def test_one_can_look_without_touching(config: Configuration, place: Place) -> None:
    write(place, noted("tea", "User drinks green tea"))
    scores = [ask(config, "tea", touch=False).hits[0].score for _ in range(3)]
    assert len(set(scores)) == 1
    with State.open(place.own_dir) as state:
        assert state.accesses(["tea"]) == {}
    ask(config, "tea")
    ask(config, "tea")
    with State.open(place.own_dir) as state:
        assert state.accesses(["tea"])["tea"].count == 2
        assert state.accesses(["tea"])["tea"].last == NOW


# --- where things stand


def archive(place: Place, reason: str, *observations: Observation) -> None:
    document = parse((place.memory_dir / "observations.md").read_bytes())
    ids = {observation.id for observation in observations}
    removals = [
        Removal(entry, document.lines[entry.line - 1].rstrip("\n"), "dropped", reason)
        for entry in document.observations
        if entry.id in ids
    ]
    assert len(removals) == len(ids)
    Archive(place.memory_dir).add(removals, TODAY)
    gone = {entry.line for entry in document.observations if entry.id in ids}
    (place.memory_dir / "observations.md").write_bytes(document.edited(gone, {}).render())


def test_the_archive_is_searched_unless_it_is_not_wanted(config: Configuration, place: Place) -> None:
    old = noted("old", "User drank tea", 90)
    write(place, old, noted("new", "User drinks coffee and tea"))
    assert [hit.filed.origin for hit in ask(config, "tea").hits] == ["live", "live"]
    archive(place, "it was long ago", old)
    found = {hit.filed.memory.key: hit.filed for hit in ask(config, "tea").hits}
    assert found["old"].origin == "archived" and found["new"].origin == "live"
    assert found["old"].memory.kind == "fact" and found["old"].memory.at == old.at
    assert found["old"].source == "archive/observations/2026-11-30.md"
    assert keys(ask(config, "tea", archived=False)) == ["new"]


def test_the_archive_says_what_took_its_place(config: Configuration, place: Place) -> None:
    old = noted("old", "User lives in Busan", 90)
    write(place, old, noted("new", "User moved to Seoul"))
    archive(place, "superseded by new", old)
    found = ask(config, "where does the user live?").hits
    assert [(hit.filed.memory.key, hit.filed.memory.superseded_by) for hit in found] == [("new", None), ("old", "new")]


def test_an_archive_that_somebody_edited_gives_what_can_be_read(config: Configuration, place: Place) -> None:
    folder = place.memory_dir / "archive" / "observations"
    folder.mkdir(parents=True)
    (folder / "2026-01-01.md").write_bytes(
        b"# Archived\n\n## OBS-20260101-001\n\nwords of mine\n\n## OBS-20260101-002\n\n- Original date: 2026-13-45\n"
        b"- Type: fact\n\n> - \xf0\x9f\x9f\xa1 09:00 A zeppelin \xff <!-- dc:id=zep dc:type=fact -->\n\n"
        b"## OBS-20260101-003\n\n> no"
    )
    assert keys(ask(config, "zeppelin")) == ["zep"]


# --- what a dream leaves behind


def dreamt(config: Configuration, place: Place) -> None:
    """Three notes on one topic and one on another, long ago; after a night they are in the archive."""
    write(
        place,
        *(
            noted(
                f"roof{n}",
                f"The roofer Marek repaired part {n} of the barn roof, {n} tiles were broken",
                60 + n,
                "event",
            )
            for n in range(1, 5)
        ),
        noted("boat", "The old boat was sold to Ilse for 300 EUR", 70, "event"),
        noted("tea", "User drinks green tea", 1, "preference"),
    )
    dream.run(dream.Options(), config)


def test_what_a_night_archived_is_found_once_each(config: Configuration, place: Place) -> None:
    dreamt(config, place)
    document = (place.memory_dir / "observations.md").read_text("utf-8")
    assert "roof" not in document.split("Date:")[1] and "[ref: archive/" in document
    found = ask(config, "barn roof", count=20)
    assert len(keys(found)) == len(set(keys(found)))
    assert {"roof1", "roof2", "roof3", "roof4"} <= set(keys(found))
    (chunk,) = [hit for hit in found.hits if hit.filed.memory.form == "chunk"]
    assert chunk.filed.memory.key.startswith("CHUNK-") and chunk.filed.source.startswith("archive/chunks/")
    assert not [hit for hit in found.hits if hit.filed.memory.form == "hook"]
    assert keys(ask(config, "who bought the boat?"))[0] == "boat"


def test_a_hook_leads_to_what_is_archived_and_stands_for_it_where_the_archive_is_not_wanted(
    config: Configuration, place: Place
) -> None:
    write(place, noted("tea", "User drinks green tea"))
    folder = place.memory_dir / "archive" / "observations"
    folder.mkdir(parents=True)
    (folder / "2026-01-01.md").write_text(
        "# Archived observations, 2026-01-01\n\n## OBS-20260101-001\n\n- Original date: 2025-12-01\n- Id: zep\n"
        "- Reason: faded\n- Hooks: dirigible balloon; airship journey\n\n"
        "> - 🟡 09:00 A zeppelin crossed the lake <!-- dc:id=zep dc:type=event -->\n",
        "utf-8",
    )
    path = place.memory_dir / "observations.md"
    place_of_it = "archive/observations/2026-01-01.md#OBS-20260101-001"
    hook = f"- **Aviation**: an evening in the sky (2025-12-01). [ref: {place_of_it}]\n"
    path.write_text(f"## Archived memories\n{hook}\n{path.read_text('utf-8')}", "utf-8")
    assert keys(ask(config, "aviation"))[0] == "zep"  # by the hook line
    assert keys(ask(config, "dirigible"))[0] == "zep"  # by its hooks
    assert keys(ask(config, "zeppelin"))[0] == "zep"  # by its own words
    live = ask(config, "aviation", archived=False)
    assert [(hit.filed.memory.key, hit.filed.memory.form) for hit in live.hits] == [("hook OBS-20260101-001", "hook")]
    assert "Aviation: an evening in the sky (2025-12-01)" in live.lines()[0]
    assert ask(config, "", recent=True).payload()["open"] == []


def test_the_word_of_the_text_counts_more_than_that_of_a_hook(config: Configuration, place: Place) -> None:
    dreamt(config, place)
    write(place, noted("happened", "Nothing else happened", 1))
    assert keys(ask(config, "happened"))[0] == "happened"


def test_what_an_undo_brought_back_is_found_where_it_stands(config: Configuration, place: Place) -> None:
    dreamt(config, place)
    assert any(hit.filed.memory.form == "chunk" for hit in ask(config, "barn roof").hits)
    undo.run(undo.Options(what="dream"), config)
    found = ask(config, "barn roof", count=20)
    assert {hit.filed.origin for hit in found.hits} == {"live"}
    assert {"roof1", "roof2", "roof3", "roof4"} <= set(keys(found))


def test_transcripts_only_when_asked_for(config: Configuration, place: Place) -> None:
    write(place, noted("tea", "User drinks green tea"))
    said(place, "I like green tea a lot", "and cake")
    assert keys(ask(config, "green tea")) == ["tea"]
    found = ask(config, "green tea", sessions=True, why=True)
    assert set(keys(found)) == {"tea", "message-1", "message-2"}
    assert any("user: I like green tea a lot  (transcript, today)" in line for line in found.lines())
    said(place, "green tea again", since=2)
    assert "message-3" in keys(ask(config, "green tea", sessions=True))


def test_messages_that_are_kept_later_are_found(config: Configuration, place: Place) -> None:
    """The first run marks older messages as seen; --all takes them after all, under their old row."""
    said(place, "green tea")
    with State.open(place.own_dir) as state:
        state._db.execute("UPDATE message SET status = 'skipped'")
    said(place, "black tea", since=1)
    assert keys(ask(config, "tea", sessions=True)) == ["message-2"]
    with State.open(place.own_dir) as state:
        state._db.execute("UPDATE message SET status = 'observed'")
    assert set(keys(ask(config, "tea", sessions=True))) == {"message-1", "message-2"}


def test_neighbours_are_of_one_session_where_that_is_known(config: Configuration, place: Place) -> None:
    said(place, "my tea is green", "cake with it", session="s1")
    said(place, "a car", session="s2")
    observed = (
        noted("tea", "User drinks green tea", sources=(("s1", "s1-0"),)),
        noted("cake", "User eats cake", sources=(("s1", "s1-1"),)),
        noted("car", "A vehicle was bought", sources=(("s2", "s2-0"),)),
    )
    write(place, *observed)
    with State.open(place.own_dir) as state:
        state.settle([], observed)
    assert keys(ask(config, "green tea")) == ["tea", "cake"]


def test_lines_of_the_bash_original_are_found(config: Configuration, place: Place) -> None:
    (place.memory_dir / "observations.md").write_text(
        "# Observations Log\n\nDate: 2026-11-20\n- 🔴 09:12 Tax return is due\n"
        "- 🔴 09:12 Tax return is due\n- 🟡 Tea\n",
        "utf-8",
    )
    found = ask(config, "tax return")
    assert len(found.hits) == 3  # with the neighbour
    assert all(key.startswith("line-") for key in keys(found))


# --- filters


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({"kind": "goal"}, {"goal"}),
        ({"since": NOW - timedelta(days=5)}, {"goal"}),
        ({"until": NOW - timedelta(days=5)}, {"fact"}),
        ({"count": 1}, {"goal"}),
        ({}, {"goal", "fact"}),
    ],
)
def test_filters(config: Configuration, place: Place, options: dict[str, object], found: set[str]) -> None:
    write(place, noted("goal", "Tea plantation", 1, "goal"), noted("fact", "Tea gardens", 40))
    assert set(keys(ask(config, "tea", **options))) == found


# --- the index


def changes(place: Place, config: Configuration, monkeypatch: pytest.MonkeyPatch, query: str) -> list[tuple[int, int]]:
    """(added, removed) of every sync of one question."""
    seen: list[tuple[int, int]] = []
    sync = RecallIndex.sync

    def watched(self: RecallIndex, *given: object) -> Synced:
        done = sync(self, *given)  # type: ignore[arg-type]  # as given
        seen.append((done.added, done.removed))
        return done

    monkeypatch.setattr(RecallIndex, "sync", watched)
    ask(config, query)
    monkeypatch.setattr(RecallIndex, "sync", sync)
    return seen


def test_one_observation_more_does_not_rebuild(
    config: Configuration, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(place, *(noted(f"m{n}", f"Tea number {n}") for n in range(50)))
    assert changes(place, config, monkeypatch, "tea") == [(50, 0)]
    assert changes(place, config, monkeypatch, "tea") == []
    write(place, noted("one", "More tea"))
    assert changes(place, config, monkeypatch, "tea") == [(1, 0)]


@pytest.mark.parametrize("content", [b"no database " * 500, b""])
def test_a_damaged_or_missing_index_is_built_anew(config: Configuration, place: Place, content: bytes) -> None:
    write(place, noted("tea", "User drinks green tea"))
    ask(config, "tea")
    (place.own_dir / indexes.NAME).write_bytes(content)
    assert keys(ask(config, "tea")) == ["tea"]
    (place.own_dir / indexes.NAME).unlink()
    assert keys(ask(config, "tea")) == ["tea"]


def test_an_edit_by_hand_and_a_removed_document_show_at_once(config: Configuration, place: Place) -> None:
    path = place.memory_dir / "observations.md"
    write(place, noted("tea", "User drinks green tea"))
    assert keys(ask(config, "green")) == ["tea"]
    path.write_text(path.read_text("utf-8").replace("green", "black"), "utf-8")
    assert keys(ask(config, "green")) == [] and keys(ask(config, "black")) == ["tea"]
    path.unlink()
    assert keys(ask(config, "black")) == []


def test_a_file_that_cannot_be_read_is_named(config: Configuration, place: Place) -> None:
    (place.memory_dir / "observations.md").mkdir()
    with pytest.raises(StoreError, match=r"observations\.md"):
        ask(config, "tea")


# --- what were we doing?


def lines_of(result: recall.Result) -> Sequence[str]:
    return [line.strip() for line in result.lines()]


def test_what_were_we_doing(config: Configuration, place: Place) -> None:
    write(
        place,
        noted("tax", "Tax return is due", 20, "goal", refers=TODAY + timedelta(days=4)),
        noted("over", "Talk at the meetup", 20, "goal", refers=TODAY - timedelta(days=4)),
        noted("book", "User wants to finish the book", 3, "goal"),
        noted("latin", "User wants to learn Latin", 3, "goal", by="book"),
        noted("use", "User chose SQLite over Postgres", 2, "preference"),
        noted("flight", "Flight to Rome", 1, "event", refers=TODAY + timedelta(days=1)),
        noted("tea", "User drinks tea", 1),
    )
    said(place, "shall we go on with the tests?")
    result = ask(config, "", recent=True)
    assert lines_of(result) == [
        "Goals and what is coming up",
        "2026-12-01 (in 1 day)  Flight to Rome",
        "2026-12-04 (in 4 days)  Tax return is due",
        "2026-11-27  User wants to finish the book",
        "",
        "Last decisions and preferences",
        "2026-11-28  User chose SQLite over Postgres",
        "",
        "Last said",
        "user: shall we go on with the tests?",
    ]
    payload = json.loads(json.dumps(result.payload()))
    assert [memory["id"] for memory in payload["open"]] == ["flight", "tax", "book"]
    assert payload["said"][0]["by"] == "user"
