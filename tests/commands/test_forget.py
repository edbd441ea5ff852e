"""forget: not a byte is left of it in what we keep, everything else is, and it is not observed again."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from builders import NOW, OTHER, SESSION, Home, append, said
from total_recall import clock
from total_recall.commands import (
    dream,
    forget,
    log_summary,
    logging_events,
    observe,
    pin,
    places,
    recall,
    reflect,
    undo,
    why,
)
from total_recall.commands.forget import Options, Wish
from total_recall.commands.forget_plan import plan
from total_recall.commands.places import Configuration, Place
from total_recall.errors import TotalRecallError
from total_recall.memory.archived import items, line_key
from total_recall.memory.document import parse
from total_recall.memory.line import format_observation
from total_recall.memory.store import MemoryStore
from total_recall.records import Observation
from total_recall.state import State, sole

RUN = str(Path(__file__).parents[2] / "scripts" / "run.py")
ALLERGY = "My daughter Nora is allergic to penicillin."
PLUMBER = "The plumber comes on 14 December, he wants 340 EUR."
SHELLFISH = "I am allergic to shellfish, remember that."


@pytest.fixture
def openclaw(home: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.setattr(clock, "now", lambda: NOW)
    return Home(home / ".openclaw", home / "unused")


@pytest.fixture
def config(openclaw: Home, home: Path) -> Configuration:
    return places.configure({"HOME": str(home), "TOTAL_RECALL_TZ": "UTC"})


@pytest.fixture
def place(config: Configuration) -> Place:
    return places.find(config, NOW)[0]


def document(place: Place) -> str:
    return (place.memory_dir / "observations.md").read_text(encoding="utf-8")


def observed(config: Configuration, **options: object) -> observe.Result:
    return observe.run(observe.Options(**options), config)  # type: ignore[arg-type]


def id_of(place: Place, words: str) -> str:
    """The id of the one line with these words."""
    (found,) = [e for e in parse(document(place).encode()).observations if words in e.text]
    return line_key(found)


def forgotten(config: Configuration, *what: str, **wish: object) -> forget.Result:
    return forget.run(Options(Wish(what, **wish), yes=True), None, config)  # type: ignore[arg-type]


def forms(text: str) -> Iterator[bytes]:
    """A text as it may stand in a file."""
    yield text.encode()
    yield json.dumps(text)[1:-1].encode()
    yield text.encode("utf-16-le")
    yield text.encode("utf-16-be")


def traces(folder: Path, *words: str) -> list[str]:
    """The files below a folder that have one of these words, in any form and any case of ASCII letters."""
    return sorted(
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_file()
        for content in [path.read_bytes().lower()]
        if any(form.lower() in content for word in words for form in forms(word))
    )


# --- what goes, and what stays


def test_a_memory_goes_with_its_messages_and_everything_else_stays(
    openclaw: Home, config: Configuration, place: Place
) -> None:
    openclaw.write(
        said("a", f"{ALLERGY} {PLUMBER}", 1), said("b", "Noted: Nora is allergic to penicillin.", 2, role="assistant"),
        said("c", "From now on always answer in metric units.", 3),
    )  # fmt: skip
    observed(config)
    recall.run(recall.Options("penicillin", sessions=True), config)
    before = document(place)
    plumber = id_of(place, "plumber")
    done = forgotten(config, id_of(place, "penicillin"))
    after = document(place)
    (gone,) = set(before.split("\n")) - set(after.split("\n"))
    assert "penicillin" in gone
    assert before.replace(f"{gone}\n", "") == after
    assert traces(place.memory_dir, "penicillin", "Nora") == []
    assert traces(place.logs, "penicillin", "Nora") == []
    assert any(plumber in line and "stay" in line for line in done.lines())
    assert "OpenClaw keeps its own transcripts" in done.lines()[-1]
    assert "penicillin" not in json.dumps(done.payload())
    explained = why.run(why.Options(plumber), config)
    assert any("forgotten on 2026-11-30" in line for line in explained.lines())


@pytest.mark.parametrize("everything", [False, True], ids=["usual", "all"])
def test_it_is_not_observed_again(openclaw: Home, config: Configuration, place: Place, everything: bool) -> None:
    path = openclaw.write(said("a", ALLERGY, 1), said("b", PLUMBER, 2))
    observed(config)
    forgotten(config, id_of(place, "penicillin"))
    append(path, said("c", SHELLFISH, 5))
    observed(config, everything=everything)
    observed(config, since=NOW - timedelta(days=30))
    observed(config, session_id=SESSION)
    assert "penicillin" not in document(place)
    assert "shellfish" in document(place)


def test_it_is_not_observed_from_a_rewritten_or_copied_transcript(
    openclaw: Home, config: Configuration, place: Place
) -> None:
    openclaw.write(said("a", ALLERGY, 1), said("b", PLUMBER, 2))
    observed(config)
    forgotten(config, id_of(place, "penicillin"))
    openclaw.write(said("x", "What is the weather like?", 0), said("a", ALLERGY, 1), said("b", PLUMBER, 2))
    openclaw.write(said("a", ALLERGY, 1), said("d", SHELLFISH, 3), session_id=OTHER)
    observed(config, everything=True)
    assert "penicillin" not in document(place)
    assert "shellfish" in document(place)
    assert traces(place.memory_dir, "penicillin") == []


def test_a_model_cannot_say_it_again_of_what_was_said_before(
    openclaw: Home, config: Configuration, place: Place
) -> None:
    """The words come back from another message of that time: the tombstone of the text keeps them out, once."""
    path = openclaw.write(said("a", ALLERGY, 1))
    observed(config)
    text = next(e.text for e in parse(document(place).encode()).observations if "penicillin" in e.text)
    forgotten(config, id_of(place, "penicillin"))
    append(path, said("b", "And now to something else.", 2), said("c", "Later words.", 600))

    def compress(batch: object) -> tuple[Observation, ...]:
        return tuple(
            Observation(f"model{n}", text, m.at, "high", "fact", 8.0, 0.9, sources=((m.session_id, m.entry_id),))
            for n, m in enumerate(batch.messages)  # type: ignore[attr-defined]
        )

    observe.run(observe.Options(), config, compress)
    ids = [e.id for e in parse(document(place).encode()).observations]
    assert ids == ["model1"], "only what was said after it was forgotten is a new statement"


def test_what_waits_and_asks_for_it_in_words_goes_too(openclaw: Home, config: Configuration, place: Place) -> None:
    path = openclaw.write(said("a", "I live in Seoul, near the river.", 1))
    observed(config)
    append(path, said("b", "Please forget that I live in Seoul near the river.", 9))
    forgotten(config, id_of(place, "Seoul"))
    observed(config)
    assert traces(place.memory_dir, "Seoul") == []


@pytest.mark.parametrize("words", ["서울", '"서울에 살고"', "서울에 살고 있어"])
def test_korean_words_name_what_is_to_go(openclaw: Home, config: Configuration, place: Place, words: str) -> None:
    openclaw.write(
        said("a", "나는 서울에 살고 있어. 기억해 줘.", 1), said("b", "우리 딸 지민이는 견과류 알레르기가 있어.", 2)
    )  # fmt: skip
    observed(config)
    assert "서울" in document(place)
    forgotten(config, words)
    assert traces(place.memory_dir, "서울") == []
    assert "알레르기" in document(place)


def test_words_take_the_messages_that_have_them_too(openclaw: Home, config: Configuration, place: Place) -> None:
    openclaw.write(said("a", f"Falcon launches in spring. {PLUMBER}", 1), said("b", "Falcon is a code name.", 2))
    observed(config)
    recall.run(recall.Options("falcon", sessions=True), config)
    forgotten(config, "falcon")
    assert traces(place.memory_dir, "falcon") == []
    assert "plumber" in document(place)


def test_a_whole_session_goes_and_its_like_from_others_stays(
    openclaw: Home, config: Configuration, place: Place
) -> None:
    path = openclaw.write(said("a", ALLERGY, 1), said("b", PLUMBER, 2))
    openclaw.write(said("c", SHELLFISH, 3), session_id=OTHER)
    observed(config)
    done = forgotten(config, session=SESSION.upper())
    assert traces(place.memory_dir, "penicillin", "plumber") == []
    assert "shellfish" in document(place)
    assert done.memories[0].plan.sessions == (SESSION,)
    path.unlink()
    openclaw.write(said("a", ALLERGY, 1), said("b", PLUMBER, 2), said("z", "The boiler leaks since 3 May.", 4))
    observed(config, everything=True)
    assert traces(place.memory_dir, "penicillin", "plumber", "boiler") == []
    append(path, said("n", "The boiler was mended for 120 EUR.", 700))
    observed(config)
    assert "120 EUR" in document(place), "what is said later in that session is new"


def test_a_time_goes_and_what_was_only_marked_as_seen_in_it_stays_unobserved(
    openclaw: Home, config: Configuration, place: Place
) -> None:
    openclaw.write(said("a", ALLERGY, -3000), said("b", PLUMBER, 1), said("c", SHELLFISH, 100))
    observed(config)
    forgotten(config, since=NOW - timedelta(days=5), until=NOW - timedelta(hours=5))
    assert "plumber" not in document(place) and "shellfish" in document(place)
    observed(config, everything=True)
    assert traces(place.memory_dir, "plumber", "penicillin") == []


def test_a_line_of_a_person_goes_by_the_name_that_recall_shows(
    openclaw: Home, config: Configuration, place: Place
) -> None:
    openclaw.write(said("a", PLUMBER, 1))
    observed(config)
    path = place.memory_dir / "observations.md"
    path.write_text(document(place) + "- 🟡 The safe opens with 4711\n", encoding="utf-8")
    key = id_of(place, "4711")
    assert key.startswith("line-")
    forgotten(config, key)
    assert traces(place.memory_dir, "4711") == []


def test_what_is_not_ours_is_named_and_left_alone(openclaw: Home, config: Configuration, place: Place) -> None:
    openclaw.write(said("a", ALLERGY, 1))
    observed(config)
    notes = place.workspace / "MEMORY.md"
    notes.write_text("# Mine\n\n- Nora: allergic to penicillin!\n", encoding="utf-8")
    daily = place.memory_dir / "2026-11-30.md"
    daily.write_text("Nora is allergic to penicillin\n", encoding="utf-8")
    path = place.memory_dir / "observations.md"
    path.write_text(f"Nora is allergic to penicillin, I wrote.\n{document(place)}", encoding="utf-8")
    done = forgotten(config, id_of(place, "penicillin"))
    assert done.memories[0].plan.mentions == (f"{notes} line 3", f"{daily} line 1", f"{path} line 1")
    assert all("penicillin" in p.read_text(encoding="utf-8") for p in (notes, daily, path))


# --- asking


def test_nobody_to_ask_is_an_error_and_nothing_goes(openclaw: Home, config: Configuration, place: Place) -> None:
    openclaw.write(said("a", ALLERGY, 1))
    observed(config)
    before = document(place)
    for ask in (None, lambda _plan: None):
        with pytest.raises(TotalRecallError, match=r"nothing was forgotten.*--dry-run.*--yes"):
            forget.run(Options(Wish(("penicillin",))), ask, config)
    assert document(place) == before


def test_a_person_sees_what_would_go_and_may_say_no(openclaw: Home, config: Configuration, place: Place) -> None:
    openclaw.write(said("a", ALLERGY, 1))
    observed(config)
    before = document(place)
    shown: list[str] = []

    def no(lines: Sequence[str]) -> bool:
        shown.extend(lines)
        return False

    refused = forget.run(Options(Wish(("penicillin",))), no, config)
    assert (refused.done, refused.lines()) == (False, ["Nothing was forgotten."])
    assert document(place) == before
    assert any("observations.md" in line and "penicillin" in line for line in shown)
    assert any(line.strip().startswith("said 2026-11-30 06:01  user: My daughter") for line in shown)
    assert forget.run(Options(Wish(("penicillin",))), lambda _plan: True, config).done
    assert traces(place.memory_dir, "penicillin") == []


def test_a_dry_run_leaves_no_trace(openclaw: Home, config: Configuration, place: Place) -> None:
    openclaw.write(said("a", ALLERGY, 1))
    observed(config)
    before = {path: path.read_bytes() for path in place.memory_dir.rglob("*") if path.is_file()}
    done = forget.run(Options(Wish(("penicillin",)), dry_run=True), None, config)
    assert not done.done and done.memories[0].plan.gone
    assert {path: path.read_bytes() for path in place.memory_dir.rglob("*") if path.is_file()} == before
    assert "penicillin" in json.dumps(done.payload()) and any("penicillin" in line for line in done.lines())


@pytest.mark.parametrize(
    ("wish", "says"),
    [
        (Wish(), "nothing to forget is named"),
        (Wish((" ",)), "nothing to forget is named"),
        (Wish(("a",), session="s"), "not both"),
        (Wish(("unheard words",)), "recall 'unheard words' --why"),
        (Wish(session="nosuch"), "nothing is known of a session 'nosuch'"),
        (Wish(since=NOW + timedelta(days=9)), "nothing was said or noted in that time"),
    ],
)
def test_a_wish_that_comes_to_nothing_says_why(
    openclaw: Home, config: Configuration, place: Place, wish: Wish, says: str
) -> None:
    openclaw.write(said("a", ALLERGY, 1))
    observed(config)
    with pytest.raises(TotalRecallError, match=says.replace("(", r"\(")):
        forget.run(Options(wish, yes=True), None, config)


def test_the_beginning_of_an_id_does_unless_it_is_a_word_that_is_there(
    openclaw: Home, config: Configuration, place: Place
) -> None:
    place.memory_dir.mkdir(parents=True)
    lines = [Observation(f"teapot{n}", f"Thing {n} is green", NOW, "low", "fact", 2.0, 0.9) for n in (1, 2)]
    lines.append(Observation("cupold", "User likes teapot lids", NOW, "low", "fact", 2.0, 0.9))
    (place.memory_dir / "observations.md").write_bytes(parse(b"").with_observations(lines).render())
    forgotten(config, "teapot")
    assert [e.id for e in parse(document(place).encode()).observations] == ["teapot1", "teapot2"]
    with pytest.raises(TotalRecallError, match="the beginning of several: teapot1, teapot2"):
        forgotten(config, "teapot")
    forgotten(config, "teapot2")
    forgotten(config, "TEAP")
    assert parse(document(place).encode()).observations == ()


def test_an_observer_at_work_is_waited_for(
    openclaw: Home, config: Configuration, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    openclaw.write(said("a", ALLERGY, 1))
    observed(config)
    monkeypatch.setattr(forget, "WAIT_SECONDS", 0.1)
    with sole("observer", place.own_dir), pytest.raises(TotalRecallError, match="another observer is at work"):
        forgotten(config, "penicillin")
    assert "penicillin" in document(place)


# --- archive, reflections, backups


def noted(text: str, days_ago: int, id: str) -> str:
    return format_observation(Observation(id, text, NOW - timedelta(days=days_ago), "low", "event", 1.5, 0.9))


BEFORE = f"""# Observations Log

---
Date: 2026-10-21
{noted("The mail from Zanzibar was read", 40, "a1")}

---
Date: 2026-11-21
{noted("User drank green tea", 9, "a2")}

---
Date: 2026-11-22
{noted("User drank green tea from Uji", 8, "a3")}

---
Date: 2026-11-29
{noted("User bought a kettle", 1, "a4")}
"""
ANSWER = "merge [2, 3] into User drank green tea from Uji"


def reflected(place: Place, config: Configuration) -> None:
    """BEFORE after a reflection that archives a1 and merges a2 and a3."""
    place.memory_dir.mkdir(parents=True, exist_ok=True)
    (place.memory_dir / "observations.md").write_text(BEFORE, encoding="utf-8")
    reflect.reflect_memory(place, config.settings, reflect.Options(force=True), lambda _s, _u: ANSWER, NOW)


def archived(place: Place) -> dict[str, str]:
    """Archived lines by id."""
    texts = [path.read_text(encoding="utf-8") for path in (place.memory_dir / "archive").glob("*/*.md")]
    return {section.id or "": section.quoted[0] for text in texts for section in items(text)}


def test_an_archived_memory_goes_from_archive_backups_and_what_undo_would_bring_back(
    openclaw: Home, config: Configuration, place: Place
) -> None:
    reflected(place, config)
    assert len(archived(place)) == 3
    name = why.run(why.Options("a1"), config).archived[0].name
    forgotten(config, name)
    assert traces(place.memory_dir, "Zanzibar") == []
    assert sorted(archived(place)) == ["a2", "a3"]
    undo.undo_memory(place, NOW, NOW.date())
    section = f"---\nDate: 2026-10-21\n{noted('The mail from Zanzibar was read', 40, 'a1')}\n\n"
    assert document(place) == BEFORE.replace(section, "")


def test_kept_backups_keep_it_but_an_undo_does_not_bring_it_back(
    openclaw: Home, config: Configuration, place: Place
) -> None:
    reflected(place, config)
    done = forgotten(config, "zanzibar", keep_backups=True)
    (backup,) = traces(place.memory_dir, "Zanzibar")
    assert backup.startswith("observation-backups/")
    assert any("--keep-backups" in line for line in done.lines())
    undo.undo_memory(place, NOW, NOW.date())
    assert "Zanzibar" not in document(place) and "kettle" in document(place)


def test_what_was_merged_goes_both_ways_and_what_else_it_said_stands_again(
    openclaw: Home, config: Configuration, place: Place
) -> None:
    reflected(place, config)
    merged = id_of(place, "tea")
    done = forgotten(config, "a3")
    assert "Uji" not in document(place)
    assert noted("User drank green tea", 9, "a2") in document(place).split("\n")
    assert done.memories[0].plan.back
    with pytest.raises(TotalRecallError, match="there is no memory"):
        why.run(why.Options(merged), config)
    assert traces(place.memory_dir, "Uji") == []
    explained = why.run(why.Options("a2"), config)
    assert explained.is_live and explained.archived[0].is_back


def test_names_of_the_archive_are_not_given_out_again(openclaw: Home, config: Configuration, place: Place) -> None:
    reflected(place, config)
    forgotten(config, "a1", "a2", "a3")
    archive = place.memory_dir / "archive" / "observations" / "2026-11-30.md"
    text = archive.read_text(encoding="utf-8")
    assert text.count("- Forgotten: 2026-11-30") == 3
    path = place.memory_dir / "observations.md"
    path.write_text(BEFORE.replace("Zanzibar", "Malta").replace("=a", "=b"), encoding="utf-8")
    reflect.reflect_memory(place, config.settings, reflect.Options(force=True), lambda _s, _u: "", NOW)
    names = {section.name for section in items(archive.read_text(encoding="utf-8"))}
    assert sorted(filter(None, names))[0] == "OBS-20261130-004"


def test_what_a_night_has_summed_up_is_taken_apart(openclaw: Home, home: Path) -> None:
    config = places.configure({"HOME": str(home), "TOTAL_RECALL_TZ": "UTC", "DREAM_TOKEN_TARGET": "1000"})
    place = places.find(config, NOW)[0]
    place.memory_dir.mkdir(parents=True)
    lines = [
        Observation(
            f"kit{n:02d}", f"The kitchen renovation in Porto: step {n} was finished by Miguel for {100 + n} EUR",
            NOW - timedelta(days=60 - n), "medium", "event", 4.0, 0.9,
        )
        for n in range(30)
    ]  # fmt: skip
    secret = "The kitchen renovation in Porto hides the safe of Xanadu, which opens with quicksilver"
    lines.append(Observation("secret", secret, NOW - timedelta(days=30), "medium", "event", 4.0, 0.9))
    (place.memory_dir / "observations.md").write_bytes(parse(b"").with_observations(lines).render())
    dream.run(dream.Options(), config)
    assert "[ref: archive/chunks/" in document(place) and "secret" in archived(place)
    forgotten(config, "secret")
    assert traces(place.memory_dir.parent, "quicksilver", "Xanadu") == []
    assert len(archived(place)) == 30
    undo.run(undo.Options(what="dream"), config)
    ids = {entry.id for entry in parse(document(place).encode()).observations}
    assert ids == {line.id for line in lines} - {"secret"}
    assert traces(place.memory_dir.parent, "quicksilver", "Xanadu") == []


# --- every place, and a process that is killed anywhere


def everywhere(openclaw: Home, config: Configuration, place: Place) -> str:
    """A memory in which something stands wherever it can stand; returns its id."""
    secret = "The vault of Xanadu opens with the word quicksilver"
    reflected(place, config)
    path = openclaw.write(
        said("a", f"{secret}, remember that.", 1), said("b", PLUMBER, 2), said("c", "I drink tea.", 3)
    )
    observed(config)
    line = next(e for e in parse(document(place).encode()).observations if "quicksilver" in e.text)
    raw = document(place).split("\n")[line.line - 1]
    with State.open(place.own_dir) as state:
        MemoryStore(place.memory_dir).backup(NOW)
        last = state.meta("reflection")
        assert last is not None
        fields = json.loads(last)
        fields["after"] += f"{raw}\n"
        state.set_meta("reflection", json.dumps(fields))
        state.set_meta("some cache", json.dumps({"answer": f"notes on {line.text}"}))
    folder = place.memory_dir
    (folder / "archive" / "chunks").mkdir()
    (folder / "archive" / "chunks" / "2026-11-29.md").write_text(
        "\n## CHUNK-20261129-001\n\n- Topic: vault\n- Finding: Xanadu opens with quicksilver\n"
        f"- Sources: dc:id={line.id}\n"
        "\n## CHUNK-20261129-002\n\n- Topic: tea\n- Finding: green tea\n", encoding="utf-8",
    )  # fmt: skip
    for name, text in (
        ("dream-logs/2026-11-29.md", f"# Night\n- kept: {line.text}\n- other: 5\n"),
        ("dream-staging/2026-11-29-vault.md", f"# Proposal\n\n- {line.id}: {line.text}\n"),
        ("dream-staging/2026-11-29-tea.md", "# Proposal\n\n- tea\n"),
        (".dream-backups/2026-11-29.bak", f"Date: 2026-11-29\n{raw}\n{noted('User bought a kettle', 1, 'a4')}\n"),
        (".total-recall/.context-abc", f"- {line.text}\n"),
        (".total-recall/recall.sqlite.damaged", line.text),
        ("archive/observations/.2026-11-30.md.total-recall-0123456789abcdef.tmp", f"> {raw}\n"),
    ):
        target = folder / name
        target.parent.mkdir(exist_ok=True)
        target.write_text(text, encoding="utf-8")
    told = log_summary.with_paragraph(b"# 2026-11-30\n\nMy own kettle.\n", NOW.date(), "0a", f"Of note: {line.text}.")
    (folder / "2026-11-30.md").write_bytes(told)
    (folder / ".total-recall" / "report.html").write_text(f"<p>{line.text}</p>", encoding="utf-8")
    log = place.logs / "reflector.log"
    with log.open("a", encoding="utf-8") as stream:
        stream.write(f"2026-11-30T12:00:00+00:00 reflect: refused, first: drop “{line.text[:60]}”: too new\n")
    recall.run(recall.Options("quicksilver", sessions=True), config)
    call = {"type": "toolCall", "id": "call_1", "name": "read", "arguments": {"path": "memory/observations.md"}}
    result = [{"type": "text", "text": f"# Observations Log\n\nDate: 2026-11-30\n{raw}\n"}]
    append(
        path,
        said("t1", [call], 18, role="assistant"),
        said("t2", result, 19, role="toolResult", toolCallId="call_1", toolName="read", isError=False),
    )
    logging_events.ingest_place(place, config, NOW)
    damaged = folder / ".total-recall" / "events.sqlite.damaged-20261129T000000"
    damaged.write_text(line.text, encoding="utf-8")
    append(path, said("d", "The vault of Xanadu opens with the word quicksilver, I said.", 20))
    found = traces(folder, "quicksilver")
    assert len(found) >= 12 and any("events.sqlite" in name for name in found)
    return line_key(line)


def test_not_a_byte_is_left_anywhere_and_the_rest_is(openclaw: Home, config: Configuration, place: Place) -> None:
    key = everywhere(openclaw, config, place)
    kept = traces(place.memory_dir, "kettle")
    done = forgotten(config, key)
    assert traces(place.memory_dir, "quicksilver", "Xanadu") == []
    assert traces(place.logs, "quicksilver", "Xanadu") == []
    assert done.memories[0].left == ()
    databases = (".sqlite", "-wal", "-shm", ".damaged")
    assert [name for name in kept if not name.endswith(databases)] == [
        name for name in traces(place.memory_dir, "kettle") if not name.endswith(databases)
    ]
    logging_events.ingest_place(place, config, NOW)
    assert traces(place.memory_dir, "quicksilver", "Xanadu") == [], "what was logged is not read again"
    assert (place.memory_dir / "dream-logs" / "2026-11-29.md").read_text() == "# Night\n- other: 5\n"
    assert (place.memory_dir / "2026-11-30.md").read_text().strip() == "# 2026-11-30\n\nMy own kettle."
    assert "green tea" in (place.memory_dir / "archive" / "chunks" / "2026-11-29.md").read_text()
    assert [path.name for path in (place.memory_dir / "dream-staging").iterdir()] == ["2026-11-29-tea.md"]
    with closing(sqlite3.connect(place.own_dir / "state.sqlite")) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert db.execute("SELECT count(*) FROM forgetting").fetchone() == (0,)
        texts = [text for (text,) in db.execute("SELECT text FROM message WHERE text IS NOT NULL ORDER BY id")]
    assert texts == [PLUMBER, "I drink tea."]
    undo.undo_memory(place, NOW, NOW.date())
    assert traces(place.memory_dir, "quicksilver", "Xanadu") == []
    assert recall.run(recall.Options("quicksilver", sessions=True), config).hits == ()


class _Steps:
    """Ends the process at the nth step, as the kernel would."""

    def __init__(self, at: int) -> None:
        self._left = at

    def __call__(self, _name: str) -> None:
        self._left -= 1
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)


def killed_at(number: int, place: Place, config: Configuration, key: str) -> bool:
    """Forget in a process that is killed at its nth step; whether it came so far."""
    child = os.fork()
    if child == 0:
        step = _Steps(number)
        tz = config.settings.tz
        with sole("observer", place.own_dir), State.open(place.own_dir, step) as state:
            forget.forget_in(place, state, plan(place, state, Wish((key,)), NOW, tz), tz, step)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or status == 0
    return os.WIFSIGNALED(status)


@pytest.mark.parametrize("second", ["observe", "forget"])
def test_a_process_that_is_killed_at_any_step_is_finished_by_the_next(
    openclaw: Home, config: Configuration, place: Place, home: Path, tmp_path: Path, second: str
) -> None:
    key = everywhere(openclaw, config, place)
    observed(config)
    workspace = place.memory_dir.parent
    shutil.copytree(workspace, tmp_path / "saved")
    number, states = 0, set()
    while True:
        number += 1 if second == "observe" else 3
        shutil.rmtree(workspace)
        shutil.copytree(tmp_path / "saved", workspace)
        if not killed_at(number, place, config, key):
            break
        with State.open(place.own_dir) as state:
            states.add(state.unfinished_forgetting() is None)
        if second == "observe" or traces(place.memory_dir, "quicksilver"):
            run_again(second, config, key)
        else:
            observed(config)
        if states == {True}:
            continue  # killed before anything was written down: nothing is to be finished
        assert traces(workspace, "quicksilver", "Xanadu") == [], f"killed at step {number}"
        assert "kettle" in document(place) and "plumber" in document(place)
        with State.open(place.own_dir) as state:
            assert state.unfinished_forgetting() is None
    assert number > 30
    assert states == {True, False}


def run_again(second: str, config: Configuration, key: str) -> None:
    if second == "observe":
        observed(config)
        return
    try:
        forgotten(config, key)
    except TotalRecallError as error:
        assert "nothing has" in str(error)


# --- the command


def test_the_command_refuses_without_a_terminal_and_does_it_with_yes(
    openclaw: Home, config: Configuration, place: Place, home: Path
) -> None:
    openclaw.write(said("a", ALLERGY, 1))
    observed(config)
    command = [sys.executable, "-I", "-X", "utf8", RUN, "forget", "penicillin"]
    env = {"HOME": str(home)}
    refused = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    assert refused.returncode == 1
    assert refused.stderr.count("\n") == 1 and "--yes" in refused.stderr
    done = subprocess.run([*command, "--yes", "--json"], capture_output=True, text=True, check=False, env=env)
    answer = json.loads(done.stdout)
    assert (done.returncode, answer["ok"], answer["done"]) == (0, True, True)
    assert traces(place.memory_dir, "penicillin") == []


def test_pinned_or_not_it_goes(openclaw: Home, config: Configuration, place: Place) -> None:
    openclaw.write(said("a", ALLERGY, 1))
    observed(config)
    key = id_of(place, "penicillin")
    pin.run(pin.Options(key), config)
    forgotten(config, key)
    assert traces(place.memory_dir, "penicillin") == []
