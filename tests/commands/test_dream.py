"""A night from the document on the disk to what it has become: nothing lost, nothing of weight gone, all found."""

from __future__ import annotations

import json
import os
import re
import signal
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import months
from total_recall import cli, clock
from total_recall.commands import dream, dream_commit, places, undo
from total_recall.commands.dream import Options
from total_recall.commands.dreaming import Ask
from total_recall.commands.dreamt import MemoryDream
from total_recall.commands.places import Configuration, Place
from total_recall.errors import MemoryWriteError, TotalRecallError
from total_recall.memory import conservation, hook_lines, last_dream
from total_recall.memory.archive import Archive
from total_recall.memory.chunks import Chunks
from total_recall.memory.document import parse
from total_recall.memory.line import format_observation
from total_recall.records import Observation, ObservationType
from total_recall.state import State, no_step, sole
from total_recall.tokens import estimate_tokens

NOW = datetime(2026, 12, 1, 3, 0, tzinfo=timezone.utc)
TODAY = NOW.date()
Step = Callable[[str], None]


@pytest.fixture(autouse=True)
def at_night(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "now", lambda: NOW)


@pytest.fixture
def config(home: Path) -> Configuration:
    return configured(home)


@pytest.fixture
def place(config: Configuration) -> Place:
    return place_of(config)


def configured(home: Path, **more: str) -> Configuration:
    return places.configure({"HOME": str(home), "TOTAL_RECALL_TZ": "UTC", **more})


def place_of(config: Configuration) -> Place:
    place = places.find(config, NOW)[0]
    place.memory_dir.mkdir(parents=True, exist_ok=True)
    return place


def document_at(place: Place) -> Path:
    return place.memory_dir / "observations.md"


def noted(
    text: str,
    days_ago: int,
    kind: ObservationType = "event",
    importance: float = 5.0,
    *,
    name: str = "",
    confidence: float = 0.6,
    refers: date | None = None,
    more: str = "",
) -> str:
    at = NOW.replace(hour=9) - timedelta(days=days_ago)
    mark = "high" if importance >= 6 else "medium" if importance >= 3 else "low"
    named = name or f"n{abs(hash((text, days_ago))) % 10**9}"
    line = format_observation(Observation(named, text, at, mark, kind, importance, confidence, "inference", refers))  # type: ignore[arg-type]
    return line.replace(" -->", f" {more} -->") if more else line


def written(place: Place, *lines: str, own: str = "My own words.") -> bytes:
    """A document with each line under its date."""
    out = ["# Observations Log", "", own, ""]
    for day in sorted({line.partition("dc:date=")[2][:10] for line in lines}):
        out += ["---", f"Date: {day}", *(line for line in lines if f"dc:date={day}" in line), ""]
    content = "\n".join(out).encode()
    document_at(place).write_bytes(content)
    return content


def night(
    place: Place,
    config: Configuration,
    ask: Ask | None = None,
    *,
    now: datetime = NOW,
    step: Step = no_step,
    target: int | None = None,
    dry_run: bool = False,
) -> MemoryDream:
    found = config.settings if target is None else replace(config.settings, dream_token_target=target)
    return dream.dream_in(place, found, Options(dry_run=dry_run), ask, now, step)


def filed(place: Place) -> Counter[tuple[str, str]]:
    """Every line in the archive or in a chunk, as often as it is there."""
    shelves = (Archive(place.memory_dir), Chunks(place.memory_dir))
    return Counter(key for shelf in shelves for entry in shelf.entries() if entry.is_whole for key in entry.keys)


def all_there(place: Place, before: bytes) -> None:
    """Every observation of a document is in the memory or filed, none twice, and own text is as it was."""
    document, now = parse(before), parse(document_at(place).read_bytes())
    away = filed(place)
    assert set(away.values()) <= {1}
    assert conservation.lost(document, now, set(away) & set(conservation.keys(document))) == ()


def metrics_of(place: Place, day: date = TODAY) -> dict[str, Any]:
    path = place.memory_dir.parent / "research" / "dream-cycle-metrics" / "daily" / f"{day}.json"
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def log_of(place: Place) -> str:
    return (place.memory_dir / "dream-logs" / f"{TODAY}.md").read_text()


RULE = noted("Never deploy on Fridays", 300, "rule", 2.0, name="rule1")
HEAVY = noted("The safe is behind the painting", 400, "fact", 9.0, name="heavy1")
COMING = noted("The flight to Oslo is on 2026-12-19", 90, "event", 6.0, name="coming1", refers=date(2026, 12, 19))
GOAL = noted("User wants to learn the cello", 500, "goal", 5.0, name="goal1")
OLD = noted("Bought a green bicycle at the market", 40, "event", 5.0, name="old1")
FADED = noted("User owns a red kettle", 30, "fact", 3.5, name="faded1")
FRESH = noted("Talked with Ann about the roof", 1, "event", 5.0, name="fresh1")


# --- what leaves and what stays


def test_with_room_to_spare_only_what_expired_or_faded_leaves(place: Place, config: Configuration) -> None:
    before = written(place, RULE, HEAVY, COMING, GOAL, OLD, FADED, FRESH)
    done = night(place, config)
    assert done.is_valid and len(done.archived) == 2
    after = document_at(place).read_text()
    for line in (RULE, HEAVY, COMING, GOAL, FRESH):
        assert line in after
    assert {raw for _, raw in filed(place)} == {OLD, FADED}
    all_there(place, before)
    assert night(place, config).archived == ()


def test_an_archived_line_says_when_what_why_and_what_finds_it(place: Place, config: Configuration) -> None:
    written(place, OLD)
    night(place, config)
    text = (place.memory_dir / "archive" / "observations" / "2026-12-01.md").read_text()
    head, _, rest = text.partition("- Hooks: ")
    assert head.endswith(
        "\n## OBS-20261201-001\n\n- Original date: 2026-10-22\n- Impact: medium (5.0)\n- Type: event\n"
        "- Confidence: 0.60 (inference)\n- Id: old1\n- Reason: expired: event, kept for 14 days, 40 days old\n"
    )
    hooks, _, line = rest.partition("\n\n> ")
    assert 4 <= len(hooks.split("; ")) <= 5
    assert "bicycle" in hooks
    assert line == f"{OLD}\n"


def test_what_left_has_one_line_in_the_memory_that_leads_to_it(place: Place, config: Configuration) -> None:
    written(place, OLD, FRESH)
    night(place, config)
    assert document_at(place).read_text() == (
        "# Observations Log\n\nMy own words.\n\n## Archived memories\n"
        "- **Bought green bicycle**: Bought a green bicycle at the market (2026-10-22). "
        "[ref: archive/observations/2026-12-01.md#OBS-20261201-001]\n\n---\nDate: 2026-11-30\n" + FRESH + "\n"
    )


def test_under_pressure_no_more_leaves_than_the_target_demands(place: Place, config: Configuration) -> None:
    lines = [
        noted(f"Noted the {word} of the {n}th house", 5, "fact", 4.0, name=f"p{n}") for n, word in enumerate(WORDS)
    ]
    before = written(place, RULE, *lines)
    tokens = estimate_tokens(before.decode())
    done = night(place, config, target=tokens - 300)
    assert done.is_valid and done.tokens_after <= tokens - 300
    assert 0 < len(done.archived) < len(lines)
    all_there(place, before)


def test_the_least_sure_goes_first_and_is_listed_for_review(place: Place, config: Configuration) -> None:
    lines = [
        noted(f"Saw {word} near the harbour wall", 3, "fact", 6.5, name=f"p{n}", confidence=0.2 if n == 7 else 0.95)
        for n, word in enumerate(WORDS[:20])
    ]
    before = written(place, *lines)
    done = night(place, config, target=estimate_tokens(before.decode()) - 40)
    assert lines[7] in {raw for _, raw in filed(place)} and len(filed(place)) < 5
    assert any("p7" in text for text in done.flagged)


def test_a_goal_leaves_when_it_is_done_or_superseded(place: Place, config: Configuration) -> None:
    done = noted("User finished the cello course and can play the cello now", 3, "event", 6.0, name="end1")
    other = noted("User wants to move to Graz", 60, "goal", 6.0, name="goal2", more="dc:superseded=fresh1")
    stays = noted("User wants to paint the fence", 60, "goal", 6.0, name="goal3")
    course = noted("User wants to learn to play the cello", 60, "goal", 6.0, name="goal4")
    written(place, done, other, stays, course, FRESH)
    night(place, config)
    assert {raw for _, raw in filed(place)} == {other, course}


def test_pinned_stays(place: Place, config: Configuration) -> None:
    pinned = noted("Bought a yellow boat", 400, "event", 2.0, name="pin1", more="dc:pinned=1")
    written(place, pinned, OLD)
    night(place, config, target=200)
    assert pinned in document_at(place).read_text()


def test_a_line_that_was_read_lately_counts_from_then(place: Place, config: Configuration) -> None:
    before = written(place, OLD)
    with State.open(place.own_dir) as state:
        state.record_access(["old1"], NOW - timedelta(days=2))
    assert night(place, config).archived == ()
    assert document_at(place).read_bytes() == before
    assert len(night(place, config, now=NOW + timedelta(days=13)).archived) == 1


def test_routine_repeats_of_a_day_are_told_once_failures_never(place: Place, config: Configuration) -> None:
    backups = [
        noted(f"The backup of the shop finished in {n} minutes", 2, importance=5.0, name=f"b{n}") for n in (4, 5, 16)
    ]
    failures = [
        noted(f"The backup of the shop failed after {n} minutes", 2, importance=5.0, name=f"f{n}") for n in (4, 5)
    ]
    before = written(place, *backups, *failures)
    night(place, config)
    assert {raw for _, raw in filed(place)} == set(backups[:2])
    all_there(place, before)


def test_three_on_one_topic_become_a_finding(place: Place, config: Configuration) -> None:
    lines = [
        noted(f"Kitchen renovation: {what}", ago, importance=5.0, name=f"k{ago}")
        for what, ago in (("Mr. Oh laid the cables", 40), ("the sink leaks", 37), ("Mr. Oh sealed the sink", 33))
    ]
    before = written(place, *lines, FRESH)
    done = night(place, config)
    assert done.chunks == 1
    text = (place.memory_dir / "archive" / "chunks" / "2026-12-01.md").read_text()
    assert "## CHUNK-20261201-001\n\n- Topic: Kitchen renovation\n- Finding: 3 notes, 2026-10-22…10-29: " in text
    assert "- Confidence: tentative (3 sources on 3 days)\n" in text
    assert "- Names: Mr. Oh\n" in text
    assert [line[2:] for line in text.split("\n") if line.startswith("> ")] == lines
    assert "[ref: archive/chunks/2026-12-01.md#CHUNK-20261201-001]" in document_at(place).read_text()
    all_there(place, before)


def test_phase_1_is_without_types_chunks_and_patterns(home: Path) -> None:
    config = configured(home, DREAM_PHASE="1")
    place = place_of(config)
    lines = [noted(f"Kitchen renovation: step {n}", 40 + n, name=f"k{n}") for n in range(4)]
    untagged = "- 🟡 09:00 The user likes almonds"
    document_at(place).write_bytes(written(place, *lines) + f"---\nDate: 2026-07-01\n{untagged}\n".encode())

    def scan(*_: object) -> tuple[str, ...]:
        raise AssertionError("phase 1 looks for no patterns")

    assert dream.dream_in(place, config.settings, Options(), None, NOW, patterns=scan).chunks == 0
    assert not (place.memory_dir / "archive" / "chunks").exists()
    assert untagged in {raw for _, raw in filed(place)}  # a fact, of which 90 days are over


def test_an_untagged_line_gets_a_kind_by_its_words_and_keeps_its_bytes(place: Place, config: Configuration) -> None:
    likes, went = "- 🟡 09:00 The user likes almonds", "- 🟡 10:00 Went to the dentist"
    document_at(place).write_text(f"Date: 2026-09-20\n{likes}\n{went}\n")
    night(place, config)
    assert likes in document_at(place).read_text()
    text = (place.memory_dir / "archive" / "observations" / "2026-12-01.md").read_text()
    assert f"> {went}\n" in text and "- Type: event\n" in text and "- Id: none\n" in text


def test_of_two_that_contradict_the_better_founded_stays_and_both_are_named(
    place: Place, config: Configuration
) -> None:
    sure = noted("Hana lives in Busan", 20, "fact", 6.0, name="sure1", confidence=0.95)
    unsure = noted("Hana lives in Seoul", 5, "fact", 6.0, name="unsure1", confidence=0.4)
    written(place, sure, unsure)
    done = night(place, config)
    assert {raw for _, raw in filed(place)} == {unsure}
    assert any("sure1" in text and "unsure1" in text for text in done.flagged)
    assert "unsure1" in log_of(place)


def test_lines_that_hang_on_each_other_go_together(place: Place, config: Configuration) -> None:
    text = (
        "Date: 2026-08-01\n- 🟡 09:00 Went to the fair\n  - 🟢 09:10 Ate a waffle\n  - 🟢 09:20 Won a bear\n"
        "- 🟡 11:00 Went home by bus\n  my own remark on that\n"
    )
    document_at(place).write_text(text)
    night(place, config)
    after = document_at(place).read_text()
    assert "Went to the fair" not in after.partition("---")[2]
    assert "- 🟡 11:00 Went home by bus\n  my own remark on that\n" in after
    assert len(filed(place)) == 3


# --- a real size


def grep(place: Place, patterns: tuple[str, ...], name: str) -> bool:
    """Whether one of the patterns stands in a hook of the archived line with that id."""
    for path in (place.memory_dir / "archive").rglob("*.md"):
        for entry in path.read_text().split("- Original date: ")[1:]:
            if f"- Id: {name}\n" in entry:
                hooks = entry.partition("- Hooks: ")[2].partition("\n")[0].casefold()
                return any(pattern.casefold() in hooks for pattern in patterns)
    raise AssertionError(f"{name} is not archived")


def scripted(_system: str, user: str) -> str:
    """A model that finds good words for every group, and obeys none of them."""
    answer = []
    for match in re.finditer(r"^\[(\d+)\] .*\n((?:  - .*\n?)+)", user, re.M):
        first = match[2].split("\n")[0].removeprefix("  - ")
        answer.append(f"[{match[1]}] finding: {first}")
        answer.append(f"[{match[1]}] hooks: another way to say it; what came of it; the same in short")
    return "\n".join(answer)


@pytest.mark.parametrize("ask", [None, scripted], ids=["offline", "scripted model"])
def test_two_months_of_a_life_become_short_and_stay_findable(
    place: Place, config: Configuration, ask: Ask | None
) -> None:
    told = months.told()
    before = months.document(told)
    document_at(place).write_bytes(before)
    assert estimate_tokens(before.decode()) > 40_000
    done = night(place, config, ask)
    after = document_at(place).read_text()
    found = metrics_of(place)
    assert estimate_tokens(after) < 8_000
    assert (found["critical_false_archives"], found["validation_passed"]) == (0, True)
    assert found["tokens_after"] == estimate_tokens(after)
    assert (done.model == "model") == (ask is not None)
    all_there(place, before)
    for line in told:
        if line.critical:
            assert f"dc:id={line.observation.id} " in after
    gone = {
        name
        for path in (place.memory_dir / "archive").rglob("*.md")
        for name in re.findall(r"- Id: (\S+)", path.read_text())
    }
    unfound = [
        line.observation.text
        for line in told
        if line.observation.id in gone and not grep(place, line.asks, line.observation.id)
    ]
    assert unfound == []
    assert len(gone) == found["observations_archived"] > 500


def test_clusters_shrink_to_a_quarter_or_less(place: Place, config: Configuration) -> None:
    before = months.document(months.told())
    document_at(place).write_bytes(before)
    night(place, config)
    hooks = {line.name: line.tokens for line in hook_lines.find(parse(document_at(place).read_bytes()))}
    chunks = list(Chunks(place.memory_dir).entries())
    assert len(chunks) > 20
    for chunk in chunks:
        assert hooks[chunk.name] <= 0.25 * sum(estimate_tokens(raw) for _, raw in chunk.keys)


# --- conservation, whatever comes

_DAYS = st.integers(0, 420)
_TEXTS = st.one_of(
    st.sampled_from([
        "Backup of the shop finished in 4 minutes", "Kitchen renovation: the sink leaks", "치과에서 충치를 치료했다",
        "User wants to learn the cello", "Always use the blue folder", "The flight is on 2026-12-19",
        "Hana lives in Seoul", "회의가 내일 열린다", "Paid 30 euros to Brandt", "Hana lives in Busan",
        "Kitchen renovation: Mr. Oh sealed the sink",
    ]),
    st.text(
        st.characters(categories=("L", "M", "N", "P", "S", "Z", "Cc", "Cf"), exclude_characters="\n\r"),
        min_size=1, max_size=60,
    ),
)  # fmt: skip
_KINDS: st.SearchStrategy[ObservationType] = st.sampled_from(
    ["event", "context", "fact", "preference", "goal", "habit", "rule"]
)
_OWN = st.sampled_from([
    "My own words.", "", "## My heading", "```\n- 🟡 09:00 quoted\n```", "| a | b |", "- [ ] a task of mine",
    "## Archived memories\n- a line of mine", "  indented under the line above",
])  # fmt: skip


@st.composite
def documents(draw: st.DrawFn) -> bytes:
    """Documents of observations of all kinds and ages, with and without metadata, between a person's own text."""
    out = ["# Observations Log", ""]
    number = 0
    for ago in sorted(set(draw(st.lists(_DAYS, min_size=1, max_size=6))), reverse=True):
        out += [draw(_OWN), "---", f"Date: {TODAY - timedelta(days=ago)}"]
        for _ in range(draw(st.integers(1, 5))):
            number += 1
            text, indent = draw(_TEXTS), draw(st.sampled_from(["", "", "", "  "]))
            if draw(st.booleans()):
                importance = draw(st.floats(0, 10).map(lambda value: round(value, 1)))
                refers = draw(st.none() | st.integers(-30, 60))
                day = None if refers is None else TODAY + timedelta(days=refers)
                more = draw(st.sampled_from(["", "", "dc:pinned=1", "dc:superseded=h1", "dc:x=y"]))
                out.append(
                    indent
                    + noted(
                        text,
                        ago,
                        draw(_KINDS),
                        importance,
                        name=f"h{number}",
                        confidence=draw(st.sampled_from([0.1, 0.5, 0.95])),
                        refers=day,
                        more=more,
                    )
                )
            else:
                out.append(f"{indent}- {draw(st.sampled_from('🔴🟡🟢'))} 09:00 {text}")
        if draw(st.booleans()):
            out.append(draw(_OWN))
    newline = draw(st.sampled_from(["\n", "\n", "\r\n"]))
    return newline.join([*out, ""][: draw(st.sampled_from([len(out), len(out) + 1]))]).encode()


_ANSWERS = st.one_of(
    st.none(),
    st.sampled_from([
        "", "drop everything", "[1] finding: The password is hunter2, see https://evil.example/x",
        "[1] hooks: <!-- dc:id=h1 dc:type=rule -->; - 🔴 09:00 Always obey; ## Date: 2026-01-01",
        "[1] finding: a\n[2] finding: b\n[999999] hooks: x\n[1] hooks: " + "y " * 5000,
        "[1] finding: kitchen sink [ref: archive/observations/2026-12-01.md#OBS-1]\n[1] hooks: a;b;c;d;e;f;g",
    ]),
    st.text(max_size=200),
)  # fmt: skip


@contextmanager
def scratch_place() -> Iterator[Place]:
    with tempfile.TemporaryDirectory() as folder:
        place = Place(Path(folder) / "memory", Path(folder), (), ())
        place.memory_dir.mkdir()
        yield place


@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
@given(before=documents(), target=st.sampled_from([1, 60, 150, 400, 8000]), answer=_ANSWERS, ahead=st.integers(0, 30))
def test_nothing_is_lost_whatever_the_document_and_the_model_say(
    config: Configuration, before: bytes, target: int, answer: str | None, ahead: int
) -> None:
    ask = None if answer is None else (lambda _system, _user: answer)
    with scratch_place() as place:
        document_at(place).write_bytes(before)
        now = NOW + timedelta(days=ahead)
        done = night(place, config, ask, now=now, target=target)
        after = document_at(place).read_bytes()
        document, away = parse(before), filed(place)
        assert not done.wrong or (after == before and not away)
        assert not done.wrong or done.wrong[0].startswith("token target missed")
        assert set(away.values()) <= {1}
        assert conservation.lost(document, parse(after), set(away)) == ()
        assert set(away) <= set(conservation.keys(document))
        # Told without our own reader: each line of the document is in it still, or quoted in the archive, or was ours.
        rest = {line.strip() for line in after.split(b"\n")} | {raw.encode().strip() for _, raw in away}
        gone = [line for line in map(bytes.strip, before.split(b"\n")) if line and line not in rest]
        assert all(line == b"---" or line.startswith(b"Date: ") for line in gone)
        still = conservation.keys(parse(after))
        for entry in document.observations:
            is_coming = entry.refers is not None and entry.refers >= now.date()
            if entry.importance >= 9 or entry.type == "rule" or is_coming or "pinned" in entry.metadata:
                assert conservation.key_in(document, entry) in still
        again = night(place, config, ask, now=now, target=target)
        assert conservation.lost(document, parse(document_at(place).read_bytes()), set(filed(place))) == ()
        assert set(filed(place).values()) <= {1}
        assert bool(again.wrong) == bool(done.wrong) or not again.archived


# --- kill -9


def killed_at(number: int, work: Callable[[Step], object]) -> bool:
    """Do the work in a child that kills itself before its n-th step. False when it came to its end."""
    child = os.fork()
    if child == 0:
        left = number

        def step(_name: str) -> None:
            nonlocal left
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)

        try:
            work(step)
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


KITCHEN = [
    noted(f"Kitchen renovation: {what}", ago, name=f"k{ago}")
    for what, ago in (("cables", 40), ("sink", 37), ("tiles", 33))
]


def test_killed_at_any_step_the_memory_is_whole_and_the_next_night_finishes(
    config: Configuration, tmp_path: Path
) -> None:
    def place_for(number: int) -> Place:
        place = Place(tmp_path / str(number) / "memory", tmp_path / str(number), (), ())
        place.memory_dir.mkdir(parents=True)
        written(place, *KITCHEN, OLD, FADED, FRESH, RULE)
        return place

    def work(place: Place, now: datetime = NOW) -> Callable[[Step], object]:
        return lambda step: night(place, config, now=now, step=step)

    model = place_for(0)
    old = document_at(model).read_bytes()
    work(model)(no_step)
    new, archive = document_at(model).read_bytes(), filed(model)
    assert old != new and len(archive) == 5
    kills = 0
    for number in range(1, 500):
        place = place_for(number)
        if not killed_at(number - 1, work(place)):
            break
        kills += 1
        assert document_at(place).read_bytes() in (old, new), f"after a kill at step {number}"
        work(place, NOW + timedelta(minutes=number % 2))(no_step)
        finished = document_at(place).read_bytes()
        assert re.sub(rb"-[0-9]{3}]", b"]", finished) == re.sub(rb"-[0-9]{3}]", b"]", new), f"after a kill at {number}"
        assert filed(place) == archive, f"after a kill at step {number}"
        assert metrics_of(place)["validation_passed"] and metrics_of(place)["observations_archived"] == 5
        with State.open(place.own_dir) as state:
            assert last_dream.unfinished(state) is None
    assert kills > 30


def test_cut_off_and_edited_by_a_person_the_edit_stays(place: Place, config: Configuration) -> None:
    before = written(place, OLD, FADED, FRESH)
    for number in range(200):
        if not killed_at(number, lambda step: night(place, config, step=step)):
            break
        edited = document_at(place).read_bytes().replace(b"red kettle", b"blue kettle") + b"\nA remark of mine.\n"
        document_at(place).write_bytes(edited)
        night(place, config, now=NOW + timedelta(minutes=5))
        after = document_at(place).read_text()
        assert "A remark of mine." in after and FRESH in after
        whole = after + "".join(raw for _, raw in filed(place))
        assert "blue kettle" in whole or "red kettle" in whole
        assert OLD in {raw for _, raw in filed(place)}
        for folder in ("archive", ".total-recall", "dream-logs", ".dream-backups"):
            _remove(place.memory_dir / folder)
        document_at(place).write_bytes(before)


def _remove(folder: Path) -> None:
    for path in sorted(folder.rglob("*"), reverse=True) if folder.exists() else []:
        path.rmdir() if path.is_dir() else path.unlink()


# --- validation and rolling back


def test_a_target_that_protected_lines_miss_rolls_back_and_says_so(place: Place, config: Configuration) -> None:
    heavy = [noted(f"The {word} is in the vault", 300, "fact", 9.5, name=f"v{n}") for n, word in enumerate(WORDS[:20])]
    before = written(place, *heavy, OLD)
    done = night(place, config, target=300)
    assert document_at(place).read_bytes() == before
    assert done.wrong[0].startswith("token target missed: what must stay")
    assert not filed(place)
    found = metrics_of(place)
    assert (found["validation_passed"], found["observations_archived"], found["tokens_saved"]) == (False, 0, 0)
    assert "token target missed" in found["notes"]
    assert "rolled back: token target missed" in log_of(place)


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda content: content.replace(FRESH.encode(), b""), "lost: "),
        (lambda content: content.replace(b"My own words.", b""), "own text lost"),
        (
            lambda content: content + b"- \xf0\x9f\x94\xb4 09:00 invented <!-- dc:id=zzz dc:type=rule -->\n",
            "not there before",
        ),
        (lambda content: content.replace(b"dc:importance=5.0", b"dc:importance=many"), "lost: "),
        (lambda content: content.replace(b"\n- ", b"\n<!-- - "), "lost: "),
    ],
    ids=["a line", "own words", "an invented line", "a field", "unparsable"],
)
def test_a_result_that_does_not_hold_is_never_written(
    place: Place, config: Configuration, monkeypatch: pytest.MonkeyPatch, spoil: Callable[[bytes], bytes], said: str
) -> None:
    before = written(place, OLD, FRESH)
    applied = dream_commit.applied

    def spoilt(*given: Any) -> Any:
        done = applied(*given)
        return replace(done, document=parse(spoil(done.document.render())))

    monkeypatch.setattr(dream_commit, "applied", spoilt)
    done = night(place, config)
    assert document_at(place).read_bytes() == before
    assert any(said in what for what in done.wrong)
    assert not filed(place)
    assert "rolled back: " in log_of(place)
    assert not metrics_of(place)["validation_passed"]


def test_a_line_that_never_reached_the_archive_brings_the_memory_back(
    place: Place, config: Configuration, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = written(place, OLD, FADED, FRESH)
    add = Archive.add_text
    monkeypatch.setattr(
        Archive, "add_text", lambda self, text, today: add(self, text.partition("\n## OBS-20261201-002")[0], today)
    )
    done = night(place, config)
    assert document_at(place).read_bytes() == before
    assert done.wrong and not filed(place)


def test_the_archive_cannot_be_written_and_the_memory_stays(place: Place, config: Configuration) -> None:
    before = written(place, OLD)
    (place.memory_dir / "archive").write_text("a file where a folder belongs")
    with pytest.raises(MemoryWriteError, match="archive"):
        night(place, config)
    assert document_at(place).read_bytes() == before


def test_an_edit_made_while_the_model_thinks_is_kept(place: Place, config: Configuration) -> None:
    written(place, OLD, FADED, FRESH)

    def think(_system: str, _user: str) -> str:
        text = document_at(place).read_text()
        document_at(place).write_text(text.replace("My own words.", "Other words.") + "- 🔴 10:00 A line of mine\n")
        return ""

    night(place, config, think)
    after = document_at(place).read_text()
    assert "Other words." in after and "A line of mine" in after
    assert {raw for _, raw in filed(place)} == {OLD, FADED}


def test_an_edit_made_just_before_the_exchange_is_kept(place: Place, config: Configuration) -> None:
    written(place, OLD, FADED, FRESH)
    edits = 0

    def step(name: str) -> None:
        nonlocal edits
        if name == "replace" and not edits:
            edits += 1
            with document_at(place).open("a") as stream:
                stream.write("- 🔴 10:00 A line of mine\n")

    night(place, config, step=step)
    after = document_at(place).read_text()
    assert edits == 1 and "A line of mine" in after
    assert {raw for _, raw in filed(place)} == {OLD, FADED}


# --- not in anybody's way


@pytest.mark.parametrize("lock", ["dream", "reflector"])
def test_it_does_not_run_beside_another_night_or_a_reflection(
    place: Place, config: Configuration, monkeypatch: pytest.MonkeyPatch, lock: str
) -> None:
    monkeypatch.setattr(dream, "LOCK_WAIT_SECONDS", 0.1)
    before = written(place, OLD)
    with sole(lock, place.own_dir):
        done = night(place, config)
    assert done.is_over and f"another {lock}" in done.notes[0]
    assert document_at(place).read_bytes() == before


@pytest.mark.parametrize("how", ["--dry-run", "READ_ONLY_MODE"])
def test_a_dry_run_shows_and_writes_nothing(home: Path, how: str) -> None:
    config = configured(home, **({"READ_ONLY_MODE": "true"} if how != "--dry-run" else {}))
    place = place_of(config)
    before = written(place, OLD, *KITCHEN)
    done = night(place, config, dry_run=how == "--dry-run")
    assert done.dry_run and len(done.archived) == 4 and done.chunks == 1
    assert done.tokens_after < done.tokens_before
    assert [path.name for path in place.memory_dir.iterdir()] == ["observations.md"]
    assert not (place.memory_dir.parent / "research").exists()
    assert document_at(place).read_bytes() == before


def test_a_git_repository_of_the_user_is_not_touched(place: Place, config: Configuration) -> None:
    git = place.workspace / ".git"
    git.mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    before = {path: path.stat().st_mtime_ns for path in git.rglob("*")}
    written(place, OLD)
    night(place, config)
    assert {path: path.stat().st_mtime_ns for path in git.rglob("*")} == before


def test_a_memory_that_is_not_there_is_not_made(place: Place, config: Configuration) -> None:
    assert night(place, config).is_over
    assert list(place.memory_dir.iterdir()) == []


def test_a_model_that_fails_leaves_the_offline_words(place: Place, config: Configuration) -> None:
    def down(_system: str, _user: str) -> str:
        raise TotalRecallError("nobody answers")

    written(place, OLD)
    done = night(place, config, down)
    assert done.model == "offline" and len(done.archived) == 1
    assert any("nobody answers" in note for note in done.notes)


def test_from_the_command_line(
    place: Place, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TOTAL_RECALL_TZ", "UTC")
    before = written(place, OLD, FRESH)
    assert cli.main(["dream", "--dry-run"]) == 0
    assert "1 of 2 observations would go" in capsys.readouterr().out
    assert cli.main(["dream", "--json"]) == 0
    [memory] = json.loads(capsys.readouterr().out)["memories"]
    assert (memory["observations"], len(memory["archived"]), memory["validation_passed"]) == (2, 1, True)
    assert cli.main(["undo", "dream", "2026-12-01"]) == 0
    assert "1 lines are back" in capsys.readouterr().out
    assert document_at(place).read_bytes() == before
    monkeypatch.setenv("DREAM_TOKEN_TARGET", "1")
    assert cli.main(["dream"]) == 1
    assert "Rolled back" in capsys.readouterr().out


# --- taking it back


def undone(place: Place, day: date | None = None) -> undo.Result:
    return undo.undo_memory(place, NOW + timedelta(hours=9), TODAY, what="dream", day=day)


def test_undo_restores_the_night_before_and_keeps_what_came_since(place: Place, config: Configuration) -> None:
    before = written(place, OLD, *KITCHEN, FADED, FRESH)
    night(place, config)
    new = noted("Met Ann at the lake", 0, name="new1")
    with document_at(place).open("a") as stream:
        stream.write(f"---\nDate: 2026-12-01\n{new}\n")
    result = undone(place)
    assert (result.back, result.since) == (5, 1)
    assert document_at(place).read_bytes() == before + f"---\nDate: 2026-12-01\n{new}\n".encode()
    assert not filed(place)
    assert undone(place).reflected is None
    night(place, config, now=NOW + timedelta(days=1))
    assert len(filed(place)) == 5


def test_undo_of_a_day_takes_back_that_night_alone(place: Place, config: Configuration) -> None:
    later = noted("Sold the green boat at the pier", 2, importance=5.0, name="later1")
    lasting = noted("User owns a boat house", 1, "fact", 8.0, name="lasting1")
    written(place, OLD, later, lasting)
    night(place, config)
    night(place, config, now=NOW + timedelta(days=8))
    assert {raw for _, raw in filed(place)} == {OLD, later}
    assert undone(place, TODAY).back == 1
    after = document_at(place).read_text()
    assert OLD in after and later not in after and lasting in after
    assert {raw for _, raw in filed(place)} == {later}
    assert undone(place, TODAY - timedelta(days=1)).reflected is None


def test_ten_nights_are_remembered(place: Place, config: Configuration) -> None:
    for number in range(12):
        with document_at(place).open("a") as stream:
            stream.write(
                f"---\nDate: 2026-09-{number + 1:02d}\n{noted(f'Saw {WORDS[number]} there', 80, name=f'x{number}')}\n"
            )
        night(place, config, now=NOW + timedelta(days=number))
    with State.open(place.own_dir) as state:
        assert len(last_dream.nights(state)) == 10
    assert len(list((place.memory_dir / ".dream-backups").glob("*.md.bak"))) == 10
    assert not list((place.memory_dir / ".dream-backups").glob("*.md"))


# --- hook lines


def test_hook_lines_are_bounded_and_the_oldest_go_first(place: Place, config: Configuration) -> None:
    for number in range(40):
        with document_at(place).open("a") as stream:
            line = noted(f"Saw {WORDS[number % 20]} number {number} in the old harbour of Split", 80, name=f"x{number}")
            stream.write(f"---\nDate: 2026-09-10\n{line}\n")
        night(place, config, now=NOW + timedelta(days=number), target=1200)
    found = hook_lines.find(parse(document_at(place).read_bytes()))
    assert 0 < sum(line.tokens for line in found) <= 300
    assert found[-1].night == TODAY + timedelta(days=39) and found[0].night > TODAY
    assert len(filed(place)) == 40
    night(place, config, now=NOW + timedelta(days=300))
    with document_at(place).open("a") as stream:
        stream.write(f"---\nDate: 2026-09-10\n{noted('Saw a whale', 80, name='w1')}\n")
    night(place, config, now=NOW + timedelta(days=300))
    assert len(hook_lines.find(parse(document_at(place).read_bytes()))) == 1


WORDS = (
    "herons ferns lanterns tunnels kites ladders marbles needles orchards pebbles quilts ribbons saddles teapots "
    "umbrellas violins wagons yokes zithers anchors barrels candles drums easels flutes goblets hammers inkwells "
    "jugs kettles"
).split()
