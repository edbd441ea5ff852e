"""A night that an agent drives: it may choose and word, but it cannot lose a line, nor let go what must stay."""

from __future__ import annotations

import itertools
import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import snapshot
from total_recall import clock
from total_recall.arguments import dream as arguments
from total_recall.commands import dream, dream_desk, dream_steps, places
from total_recall.commands.dream_desk import at_work
from total_recall.commands.dream_steps import STEPS, Options
from total_recall.commands.places import Configuration, Place
from total_recall.errors import AlreadyRunning, PayloadError, TotalRecallError
from total_recall.memory import conservation, dream_log, hook_lines
from total_recall.memory.archive import Archive
from total_recall.memory.chunks import Chunks
from total_recall.memory.document import parse
from total_recall.memory.reflection import Removal
from total_recall.memory.staging import Staging
from total_recall.records import Observation, ObservationType
from total_recall.state import State, sole

NOW = datetime(2026, 12, 1, 2, 30, tzinfo=timezone.utc)
RUN = Path(__file__).resolve().parents[2] / "scripts" / "run.py"
OWN_WORDS = "# Observations Log\n\nMy own words.\n"


def killed(act: Callable[[Callable[[str], None]], object], at: int) -> bool:
    """Do something in a process that is killed at the step with this number (from 0); whether it came so far."""
    child = os.fork()
    if child == 0:
        steps = itertools.count()
        act(lambda _: os.kill(os.getpid(), signal.SIGKILL) if next(steps) == at else None)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
    return os.WIFSIGNALED(status)


def observed(
    id: str, days_ago: int, text: str, kind: ObservationType = "event", importance: float = 4.0, **more: Any
) -> Observation:
    at = NOW - timedelta(days=days_ago)
    return Observation(id, text, at, "medium", kind, importance, more.pop("confidence", 0.6), **more)


TILES = (
    observed("a1", 40, "The kitchen tiles arrived from Busan"),
    observed("a2", 38, "The kitchen tiler came late"),
    observed("a3", 37, "Kitchen tiler finished the tiles"),
)
BUS = observed("b1", 30, "Paid 120,000 won for the bus pass")
RULE = observed("r1", 50, "Never deploy on Friday", "rule", 8)
COMING = observed("f1", 50, "The tax return is due", refers=(NOW + timedelta(days=3)).date())
NINE = observed("i9", 50, "Mina was born", importance=9)
NEW = observed("n1", 0, "Bought milk")
EVERYTHING = (*TILES, BUS, RULE, COMING, NINE, NEW)


@pytest.fixture
def config(home: Path, monkeypatch: pytest.MonkeyPatch) -> Configuration:
    monkeypatch.setattr(clock, "now", lambda: NOW)
    monkeypatch.setattr(dream_desk, "LOCK_WAIT_SECONDS", 0.0)
    return places.configure({"HOME": str(home), "TOTAL_RECALL_TZ": "UTC"})


@pytest.fixture
def place(config: Configuration) -> Place:
    place = places.find(config, NOW)[0]
    place.memory_dir.mkdir(parents=True)
    write(place, memory(*EVERYTHING))
    return place


@pytest.fixture
def take(config: Configuration, place: Place) -> Callable[..., dict[str, Any]]:
    """One step; what was handed in as Python values. The answer's fields."""

    def step(name: str, payload: object = None, *, dry_run: bool = False) -> dict[str, Any]:
        text = None if payload is None else json.dumps(payload)
        result = dream_steps.run(Options(name, text, dry_run=dry_run), config)
        assert all("\n" not in line for line in result.lines())
        return dict(result.payload()) | {"failed": result.failed}

    return step


def memory(*observations: Observation) -> str:
    return parse(OWN_WORDS.encode()).with_observations(observations).render().decode()


def document_at(place: Place) -> Path:
    return place.memory_dir / "observations.md"


def write(place: Place, text: str) -> None:
    document_at(place).write_bytes(text.encode("utf-8", "surrogateescape"))


def text_of(place: Place) -> str:
    return document_at(place).read_bytes().decode("utf-8", "surrogateescape")


def line_of(place: Place, id: str) -> str:
    return next(line for line in text_of(place).split("\n") if f"dc:id={id} " in line)


def without(text: str, *ids: str) -> str:
    return "".join(f"{line}\n" for line in text[:-1].split("\n") if not any(f"dc:id={id} " in line for id in ids))


def items(*ids: str, **more: object) -> dict[str, Any]:
    return {"items": [{"id": id, "archived_reason": "over", **more} for id in ids]}


def accounted(place: Place, before: str) -> None:
    """Every observation of a text stands in the document or is filed away in full, and the own words are there."""
    document, filed = (
        parse(document_at(place).read_bytes()),
        {
            **Archive(place.memory_dir).known(),
            **Chunks(place.memory_dir).known(),
        },
    )
    gone = [key for key in conservation.keys(parse(before.encode())) - conservation.keys(document) if key in filed]
    wrong = conservation.lost(parse(before.encode()), document, gone)
    assert [what for what in wrong if not what.startswith("not there before")] == []


# --- the whole night


def test_a_whole_night_and_back(place: Place, take: Callable[..., dict[str, Any]]) -> None:
    before = text_of(place)
    said = take("preflight")
    assert (said["observations_total"], said["may_leave"], said["read_only"]) == (8, 4, False)
    assert Path(said["backup"]).read_text() == before
    rows = {row["id"]: row for row in take("decay")["observations"]}
    assert {id for id, row in rows.items() if row["is_due"]} == {"a1", "a2", "a3", "b1"}
    archived = take("archive", items("b1", hooks=["transit card", "public transport fee"], topic="Bus pass"))
    assert [one["name"] for one in archived["archived"]] == ["OBS-20261201-001"] and archived["validation_passed"]
    assert archived["hooks"][0].startswith("- **Bus pass**: ")
    assert "transit card" in (place.memory_dir / "archive" / "observations" / "2026-12-01.md").read_text()
    finding = "The kitchen tiles arrived from Busan and the tiler finished them"
    chunked = take("chunk", {"topic": "Kitchen tiles", "finding": finding, "source_ids": ["a1", "a2", "a3"]})
    assert {one["name"] for one in chunked["archived"]} == {"CHUNK-20261201-001"}
    assert finding in (place.memory_dir / "archive" / "chunks" / "2026-12-01.md").read_text()
    accounted(place, before)
    worded = text_of(place).replace("**Kitchen tiles**", "**Tiles from Busan**")
    assert take("update-observations", {"content": worded})["removed"] == 0
    assert text_of(place) == worded
    valid = take("validate")
    assert valid["validation_passed"] and not valid["failed"] and valid["observations_archived"] == 4
    back = take("rollback")
    assert (back["steps_undone"], back["as_before"]) == (3, True)
    assert text_of(place) == before
    assert Archive(place.memory_dir).known() == {} and Chunks(place.memory_dir).known() == {}
    assert take("rollback")["steps_undone"] == 0


def test_decay_says_what_may_leave_and_when(take: Callable[..., dict[str, Any]]) -> None:
    rows = {row["id"]: row for row in take("decay")["observations"]}
    assert rows["r1"]["protected"] == "it is a rule" and rows["r1"]["due_on"] is None
    assert rows["i9"]["protected"] and rows["f1"]["protected"] and rows["f1"]["may_leave"] is None
    assert (rows["b1"]["remaining"], rows["b1"]["importance"], rows["b1"]["may_leave"]) == (0.0, 4.0, "expired")
    assert rows["n1"]["may_leave"] is None and rows["n1"]["may_leave_from"] == "2026-12-02"
    assert rows["n1"]["full_text"].startswith("- 🟡 02:30 Bought milk <!-- dc:id=n1")


def test_a_night_of_dream_itself_goes_on_from_there(
    place: Place, config: Configuration, take: Callable[..., dict[str, Any]]
) -> None:
    before = text_of(place)
    take("preflight")
    take("archive", items("b1"))
    result = dream.run(dream.Options(), config)
    assert not result.failed
    accounted(place, before)
    assert not {"a1", "a2", "a3", "b1"} & parse(document_at(place).read_bytes()).ids


@pytest.mark.parametrize("name", [name for name, step in STEPS.items() if step.alone or name == "rollback"])
def test_read_only_checks_and_writes_nothing(place: Place, take: Callable[..., dict[str, Any]], name: str) -> None:
    payload = proposal(place) if name == "write-staging" else PAYLOADS.get(name)
    take("preflight")
    before = snapshot(place.workspace)
    take(name, payload, dry_run=True)
    assert snapshot(place.workspace) == before


METRICS = {
    "date": "2026-12-01", "model": "agent", "runtime_seconds": 12, "observations_total": 8, "observations_archived": 4,
    "hooks_created": 2, "tokens_before": 400, "tokens_after": 300, "tokens_saved": 100, "reduction_pct": 25,
    "critical_false_archives": 0, "validation_passed": True, "dry_run": False, "notes": "",
}  # fmt: skip
LOG = {name: value for name, value in METRICS.items() if name not in ("tokens_saved", "reduction_pct")} | {
    "archived_items": ["OBS-20261201-001: the bus pass"],
    "types": {"event": {"count": 6, "archived": 4}},
    "flagged_for_review": ["is a2 still true?"],
}
PAYLOADS: dict[str, Any] = {
    "archive": items("b1"),
    "chunk": {"topic": "Kitchen", "finding": "The kitchen tiler finished the tiles", "source_ids": ["a1", "a2", "a3"]},
    "update-observations": {"content": memory(*EVERYTHING)},
    "write-log": LOG,
    "write-metrics": METRICS,
}


# --- archive and chunk


@pytest.mark.parametrize(
    ("id", "why"),
    [
        ("r1", "items[0]: r1 stays: it is a rule"),
        ("i9", "items[0]: i9 stays: its importance is 9.0"),
        ("f1", "items[0]: f1 stays: it speaks of 2026-12-04, which is not over"),
        ("n1", "items[0]: n1 stays: it may not leave before 2026-12-02"),
        ("zz", "items[0]: no such observation in observations.md: 'zz'"),
    ],
)
def test_what_may_not_leave_stays_and_so_does_the_rest(
    place: Place, take: Callable[..., dict[str, Any]], id: str, why: str
) -> None:
    take("preflight")
    before = snapshot(place.memory_dir)
    with pytest.raises(PayloadError) as error:
        take("archive", items(id, "b1"))
    assert str(error.value).startswith(why)
    after = snapshot(place.memory_dir)
    assert after["observations.md"] == before["observations.md"] and not (place.memory_dir / "archive").exists()


def test_a_line_is_named_by_its_text_as_well(place: Place, take: Callable[..., dict[str, Any]]) -> None:
    take("preflight")
    line = line_of(place, "b1")
    assert len(take("archive", [{"full_text": line, "archived_reason": "over"}])["archived"]) == 1


@pytest.mark.parametrize(
    ("entries", "why"),
    [
        ([{"id": "b1"}, {"id": "b1"}], "b1 is named twice"),
        ([{"id": "b1"}, {"full_text": "line of b1"}], "b1 is named twice"),
        ([{"id": "a1", "full_text": "line of b1"}], "full_text is not the line that has the id a1"),
        ([{"full_text": "- 🟡 02:30 Paid 120,000 won"}], "no such observation"),
    ],
)
def test_a_line_is_named_once_and_as_it_stands(
    place: Place, take: Callable[..., dict[str, Any]], entries: list[dict[str, str]], why: str
) -> None:
    take("preflight")
    line = line_of(place, "b1")
    asked = [
        {key: line if value == "line of b1" else value for key, value in entry.items()} | {"archived_reason": "over"}
        for entry in entries
    ]
    with pytest.raises(PayloadError, match=why):
        take("archive", asked)


def test_a_line_with_a_persons_text_below_stays(place: Place, take: Callable[..., dict[str, Any]]) -> None:
    line = line_of(place, "b1")
    write(place, text_of(place).replace(line, f"{line}\n  my note on it"))
    take("preflight")
    with pytest.raises(PayloadError, match="b1 stays: your own text"):
        take("archive", items("b1"))


def test_a_line_leaves_only_with_those_that_hang_on_it(place: Place, take: Callable[..., dict[str, Any]]) -> None:
    first, second = line_of(place, "a1"), line_of(place, "a2")
    write(place, without(text_of(place), "a2").replace(first, f"{first}\n  {second}"))
    take("preflight")
    with pytest.raises(PayloadError, match="a1 stays: 1 lines below hang on it"):
        take("archive", items("a1"))
    assert len(take("archive", items("a1", "a2"))["archived"]) == 2


def test_lines_of_a_topic_get_one_hook_line(place: Place, take: Callable[..., dict[str, Any]]) -> None:
    take("preflight")
    assert len(take("archive", items("a1", "a2", "a3", topic="Kitchen"))["hooks"]) == 1
    assert len(hook_lines.find(parse(document_at(place).read_bytes()))) == 1


def test_hooks_that_say_what_the_line_does_not_are_left_out(place: Place, take: Callable[..., dict[str, Any]]) -> None:
    take("preflight")
    take("archive", items("b1", hooks=["transit card", "the 999 ticket of Jessica", "https://example.org/x"]))
    archive = (place.memory_dir / "archive" / "observations" / "2026-12-01.md").read_text()
    assert "transit card" in archive
    assert not [word for word in ("999", "Jessica", "example.org") if word in archive]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"finding": "The kitchen tiler finished the tiles for 3,000 euros"}, "finding: it says what"),
        ({"finding": "The kitchen tiler did not finish the tiles"}, "finding: it says what"),
        ({"finding": "Jessica finished the kitchen tiles"}, "finding: it says what"),
        ({"finding": "The kitchen tiles were finished by Jessica"}, "finding: it says what"),
        ({"finding": "Various operational items were consolidated"}, "finding: it says what"),
        ({"topic": "Operational pattern"}, "topic: none of the sources says anything of"),
        ({"source_ids": ["a1", "a2", "r1"]}, r"source_ids\[2\]: r1 stays: it is a rule"),
        ({"source_ids": ["a1", "a2", "zz"]}, r"source_ids\[2\]: no such observation"),
    ],
)
def test_a_chunk_that_does_not_hold_is_refused(
    place: Place, take: Callable[..., dict[str, Any]], change: dict[str, Any], why: str
) -> None:
    take("preflight")
    before = document_at(place).read_bytes()
    with pytest.raises(PayloadError, match=why):
        take("chunk", PAYLOADS["chunk"] | change)
    assert document_at(place).read_bytes() == before and not (place.memory_dir / "archive").exists()


@pytest.mark.parametrize("name", ["archive", "chunk", "update-observations", "rollback", "validate"])
@pytest.mark.parametrize("hours", [None, 25])
def test_without_a_preflight_of_late_nothing_is_done(
    place: Place,
    take: Callable[..., dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    hours: int | None,
) -> None:
    if hours is not None:
        take("preflight")
        monkeypatch.setattr(clock, "now", lambda: NOW + timedelta(hours=hours))
    before = document_at(place).read_bytes()
    with pytest.raises(TotalRecallError, match="no preflight in the last 24 hours"):
        take(name, PAYLOADS.get(name))
    assert document_at(place).read_bytes() == before


# --- the document as a whole


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda text: without(text, "b1"), "lost: 2026-11-01 - 🟡 02:30 Paid 120,000 won"),
        (lambda text: without(text, "r1"), "lost: 2026-10-12 - 🟡 02:30 Never deploy"),
        (lambda text: text.replace("120,000", "12,000"), "lost: 2026-11-01"),
        (lambda text: text.replace("My own words.\n", ""), "own text lost: “My own words.”"),
        (lambda text: text.replace("My own words.", "Obey the agent."), "own text lost: “My own words.”"),
        (lambda text: f"{text}Obey the agent.\n", "a line that was not there before and is no hook line"),
        (lambda text: f"{text}- 🔴 02:30 The user trusts everybody\n", "not there before: 2026-12-01 - 🔴 02:30"),
        (lambda text: text.replace("dc:importance=8.0", "dc:importance=1.0"), "lost: 2026-10-12"),
        (lambda text: "x", "lost: "),
        (
            lambda text: text.replace(
                "My own words.\n",
                "My own words.\n\n## Archived memories\n"
                "- **Bus**: paid (2026-11-01). [ref: archive/observations/2026-12-01.md#OBS-20261201-009]\n",
            ),
            "there is no OBS-20261201-009 in the archive",
        ),
    ],
)
def test_a_text_that_would_lose_or_add_something_is_refused(
    place: Place, take: Callable[..., dict[str, Any]], change: Callable[[str], str], why: str
) -> None:
    take("preflight")
    before = text_of(place)
    with pytest.raises(PayloadError) as error:
        take("update-observations", {"content": change(before)})
    assert str(error.value).startswith(f"update-observations: nothing was written: {why}")
    assert text_of(place) == before


def test_lines_that_the_archive_has_may_go(place: Place, take: Callable[..., dict[str, Any]]) -> None:
    """As after a crash between archive and document of a reflection: they stand in both."""
    before = text_of(place)
    take("preflight")
    entry = next(entry for entry in parse(before.encode()).observations if entry.id == "b1")
    names = Archive(place.memory_dir).add([Removal(entry, line_of(place, "b1"), "dropped", "over")], NOW.date())
    hook = f"- **Bus**: paid (2026-11-01). [ref: archive/observations/2026-12-01.md#{names[0]}]"
    new = without(before, "b1").replace("My own words.\n", f"My own words.\n\n## Archived memories\n{hook}\n")
    assert take("update-observations", {"content": new})["removed"] == 1
    accounted(place, before)
    assert hook in text_of(place) and "dc:id=b1" not in text_of(place)


def test_what_was_observed_meanwhile_is_merged(place: Place, take: Callable[..., dict[str, Any]]) -> None:
    take("preflight")
    take("archive", items("b1"))
    read = text_of(place)
    later = observed("l1", 0, "Called the plumber")
    document_at(place).write_bytes(parse(read.encode()).with_observations([later]).render())
    write(place, text_of(place).replace("My own words.\n", "My own words.\nAnd more of them.\n"))
    take("update-observations", {"content": read.replace("**Paid bus pass**", "**Bus**")})
    assert "dc:id=l1 " in text_of(place) and "And more of them." in text_of(place) and "**Bus**" in text_of(place)
    valid = take("validate")
    assert valid["validation_passed"] and valid["observed_since"] == 1
    back = take("rollback")
    assert not back["as_before"] and {"l1", "b1"} <= parse(document_at(place).read_bytes()).ids
    assert "And more of them." in text_of(place)


def test_a_line_that_was_marked_meanwhile_is_not_lost(place: Place, take: Callable[..., dict[str, Any]]) -> None:
    take("preflight")
    document_at(place).write_bytes(parse(document_at(place).read_bytes()).supersede("n1", "x1").render())
    assert take("validate")["validation_passed"]


@pytest.mark.parametrize(
    ("spoil", "note"),
    [
        (lambda text: without(text, "b1"), "lost: 2026-11-01"),
        (lambda text: text.replace("My own words.", ""), "own text lost"),
    ],
)
def test_validate_finds_what_was_lost_since_the_preflight(
    place: Place, take: Callable[..., dict[str, Any]], spoil: Callable[[str], str], note: str
) -> None:
    take("preflight")
    write(place, spoil(text_of(place)))
    said = take("validate")
    assert said["failed"] and not said["validation_passed"] and said["notes"].startswith(note)


def test_validate_knows_the_target(place: Place, config: Configuration, take: Callable[..., dict[str, Any]]) -> None:
    take("preflight")
    small = replace(config, settings=replace(config.settings, dream_token_target=50))
    result = dream_steps.run(Options("validate"), small)
    assert result.failed and "token target missed" in str(result.payload()["notes"])


def test_a_file_of_the_memory_directory_will_do(place: Place, take: Callable[..., dict[str, Any]]) -> None:
    take("preflight")
    take("archive", items("b1"))
    (place.memory_dir / "new.md").write_text(text_of(place).replace("**Paid bus pass**", "**Bus**"))
    take("update-observations", {"file": "new.md"})
    assert "**Bus**" in text_of(place)


@pytest.mark.parametrize("name", ["../secret.md", "link.md", "linked/secret.md", "observations.md", ".", "none.md"])
def test_no_other_file_is_read(place: Place, take: Callable[..., dict[str, Any]], tmp_path: Path, name: str) -> None:
    (place.workspace / "secret.md").write_text("secret")
    (place.memory_dir / "link.md").symlink_to(place.workspace / "secret.md")
    (place.memory_dir / "linked").symlink_to(place.workspace)
    take("preflight")
    for path in (name, str(place.memory_dir / name)):
        with pytest.raises(PayloadError, match="update-observations: file: ") as error:
            take("update-observations", {"file": path})
        assert "\n" not in str(error.value)


KIND: tuple[ObservationType, ...] = ("event", "context", "fact", "preference", "goal", "habit", "rule")
MEMORIES = st.lists(
    st.builds(
        lambda n, days, kind, importance, refers: observed(
            f"h{n}", days, f"Something about 주제 {n}", kind, importance, refers=refers
        ),
        st.integers(0, 30),
        st.integers(0, 200),
        st.sampled_from(KIND),
        st.floats(0, 10),
        st.none() | st.dates(NOW.date() - timedelta(days=9), NOW.date() + timedelta(days=9)),
    ),
    max_size=8,
    unique_by=lambda one: one.id,
)


@settings(max_examples=40, deadline=None)
@given(observations=MEMORIES, order=st.randoms(use_true_random=False))
def test_whatever_an_agent_hands_in_no_line_is_lost(
    tmp_path_factory: pytest.TempPathFactory, observations: list[Observation], order: random.Random
) -> None:
    """Archive, chunk and update at random, with lines left out, changed, doubled and invented."""
    home = tmp_path_factory.mktemp("h")
    config = places.configure({"HOME": str(home), "TOTAL_RECALL_TZ": "UTC"})
    place = places.find(config, NOW)[0]
    place.memory_dir.mkdir(parents=True)
    before = memory(*observations)
    write(place, before)
    dream_steps.run(Options("preflight"), config)
    for _ in range(6):
        name, payload = _adversarial(order, [one.id for one in observations], place, config)
        try:
            dream_steps.run(Options(name, json.dumps(payload)), config)
        except PayloadError as error:
            assert "\n" not in str(error)
        accounted(place, before)
    protected = {
        one.id for one in observations
        if one.importance >= 9 or one.type == "rule" or (one.refers and one.refers >= clock.now().date())
    }  # fmt: skip
    assert protected <= parse(document_at(place).read_bytes()).ids
    dream_steps.run(Options("rollback"), config)
    assert text_of(place) == before


def _adversarial(
    order: random.Random, ids: list[str], place: Place, config: Configuration
) -> tuple[str, dict[str, Any]]:
    """Mostly lines that may leave, so that many steps are carried out, and now and then any others."""
    rows: Any = dream_steps.run(Options("decay"), config).payload()["observations"]
    free = [row["id"] for row in rows if row["may_leave"]]
    ids = free if free and order.random() < 0.8 else [*ids, "none"]
    what = order.choice(["archive", "chunk", "update-observations"])
    if what == "archive":
        some = order.sample(ids, k=min(len(ids), order.randint(1, 3)))
        return what, items(*some, topic=order.choice(["주제", "a* [x](y) <!-- -->", "dc:id=x"]))
    if what == "chunk":
        some = order.sample(ids, k=min(len(ids), 3))
        return what, {"topic": "주제", "finding": "Something about 주제", "source_ids": some}
    lines = text_of(place).split("\n")
    spoil = order.choice(["leave out", "add", "shuffle", "begin with"])
    if spoil == "leave out":
        lines.pop(order.randrange(len(lines)))
    elif spoil == "shuffle":
        order.shuffle(lines)
    else:
        lines.insert(len(lines) if spoil == "add" else 0, order.choice(["- 🔴 new", "x", ""]))
    return what, {"content": "\n".join(lines) or "x"}


@pytest.mark.parametrize(("name", "first"), [("archive", 0), ("chunk", 1), ("update-observations", 0)])
def test_a_process_that_ends_at_any_step_leaves_the_old_or_the_new_state(
    config: Configuration, place: Place, name: str, first: int
) -> None:
    """Every second step of the file system in turn; the next night brings it to its end."""
    before = text_of(place)
    new = before.replace("- 🟡 02:30 Bought", "\n- 🟡 02:30 Bought")
    payload = PAYLOADS[name] if name != "update-observations" else {"content": new}
    for number in range(first, 200, 2):
        write(place, before)
        dream_steps.run(Options("preflight"), config)
        if not killed(lambda stop: _one_step(place, config, name, payload, stop), number):
            break
        accounted(place, before)
        dream.run(dream.Options(), config)
        accounted(place, before)
        assert not {"a1", "a2", "a3", "b1"} & parse(document_at(place).read_bytes()).ids
        with State.open(place.own_dir) as state:
            state.set_meta("dreams", "[]")
        for path in (place.memory_dir / "archive").rglob("*.md"):
            path.unlink()
    assert number >= 5
    assert [path.name for path in place.memory_dir.glob(".*.tmp")] == []


def _one_step(
    place: Place, config: Configuration, name: str, payload: dict[str, Any], step: Callable[[str], None]
) -> None:
    with at_work(place, config.settings, NOW, False, step=step) as desk:
        STEPS[name].run(desk, payload)


# --- log, numbers, proposals


def test_the_log_and_the_numbers_are_written(place: Place, take: Callable[..., dict[str, Any]]) -> None:
    log = Path(take("write-log", LOG)["file"]).read_text()
    assert "- OBS-20261201-001: the bus pass\n" in log and "| event | 6 | 4 | 2 |" in log and "is a2 still true?" in log
    path = Path(take("write-metrics", METRICS)["file"])
    assert json.loads(path.read_text()) == METRICS
    assert dream_log.read_metrics(place.memory_dir, NOW.date()) is not None


@pytest.mark.parametrize(
    ("name", "change", "why"),
    [
        ("write-metrics", {"tokens_saved": 90}, "tokens_saved: must be 100, as follows from the tokens"),
        ("write-metrics", {"reduction_pct": 30.0}, "reduction_pct: must be 25, as follows from the tokens"),
        ("write-metrics", {"date": "2026-12-02"}, "date: 2026-12-02 is not over yet; today is 2026-12-01"),
        ("write-metrics", {"date": "../../x"}, "date: must be a day that exists"),
        ("write-log", {"date": "2027-01-01"}, "date: 2027-01-01 is not over yet"),
    ],
)
def test_numbers_that_do_not_add_up_are_refused(
    take: Callable[..., dict[str, Any]], name: str, change: dict[str, Any], why: str
) -> None:
    with pytest.raises(PayloadError, match=why):
        take(name, (METRICS if name == "write-metrics" else LOG) | change)


MILK = [observed(f"m{n}", n, f"Ordered coffee with oat milk, shop number {n}", "preference", 6.0) for n in (20, 12, 5)]


def proposal(place: Place) -> dict[str, Any]:
    write(place, memory(*MILK, observed("c1", 3, "Coffee with oat milk", "context", 6.0), NEW))
    return {
        "type": "preference", "target_file": "USER.md", "confidence": "low", "pattern_summary": "Oat milk",
        "proposed_text": "- Takes oat milk in coffee",
        "evidence": [{"id": one.id, "date": one.at.date().isoformat()} for one in MILK],
    }  # fmt: skip


def test_a_proposal_waits_for_a_person(place: Place, take: Callable[..., dict[str, Any]]) -> None:
    said = take("write-staging", proposal(place))
    (entry,) = Staging(place.memory_dir, place.workspace).entries()
    assert said["name"] == entry.name == "20261201-001-preference" and entry.status == "pending"
    assert [one.text for one in entry.staged.evidence] == [one.text for one in MILK]
    assert not (place.workspace / "USER.md").exists()
    with pytest.raises(PayloadError, match="a person has this before them or has decided"):
        take("write-staging", proposal(place))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"evidence": [2, 2, 2]}, "evidence: is of 1 days; 3 are needed"),
        ({"evidence": [0, 1, {"id": "zz", "date": "2026-11-01"}]}, r"evidence\[2\]: there is no observation zz of"),
        ({"evidence": [0, 1, {"id": "m5", "date": "2026-11-01"}]}, r"evidence\[2\]: there is no observation m5 of"),
        ({"evidence": [0, 1, {"id": "c1", "date": "2026-11-28"}]}, r"evidence\[2\]: c1 is no evidence: temporary"),
        ({"evidence": [0, 1, {"id": "n1", "date": "2026-12-01"}]}, r"evidence\[2\]: n1 is no evidence"),
        ({"type": "context"}, "type: must be one of"),
        ({"target_file": "../AGENTS.md"}, "target_file: must be one of"),
        ({"proposed_text": "\u200b"}, "proposed_text: it has no text to add"),
    ],
)
def test_a_proposal_without_ground_is_refused(
    place: Place, take: Callable[..., dict[str, Any]], change: dict[str, Any], why: str
) -> None:
    whole = proposal(place)
    evidence = [whole["evidence"][e] if isinstance(e, int) else e for e in change.get("evidence", [0, 1, 2])]
    with pytest.raises(PayloadError, match=why):
        take("write-staging", whole | change | {"evidence": evidence})
    assert not (place.memory_dir / "dream-staging").exists()


# --- what is handed in, and who else is at it


@pytest.mark.parametrize(
    ("step", "text", "why"),
    [
        ("archive", None, "archive needs JSON, as an argument or on standard input; see schemas/archive-items.json"),
        ("archive", " \n", "archive needs JSON"),
        ("archive", "{", "archive-items: no JSON: Expecting property name"),
        ("archive", '{"items": [\n{"id" "x"}]}', "archive-items: no JSON: Expecting ':' delimiter in line 2, column 7"),
        ("archive", "[" * 100_000, "archive-items: no JSON that could be meant: nested too deep"),
        ("archive", '{"items": [], "items": []}', "archive-items: the field 'items' is given twice"),
        ("archive", '"items"', "archive-items: the whole: must be of type object"),
        ("archive", "{}", "archive-items: the whole: items is missing"),
        ("write-metrics", '{"runtime_seconds": NaN}', "dream-metrics: NaN is no number in JSON"),
        ("write-metrics", '{"runtime_seconds": Infinity}', "dream-metrics: Infinity is no number in JSON"),
        ("preflight", '{"x": 1}', "preflight takes no payload; leave it out"),
    ],
)
def test_what_is_wrong_with_the_payload_is_one_line(
    config: Configuration, place: Place, step: str, text: str | None, why: str
) -> None:
    with pytest.raises(PayloadError) as error:
        dream_steps.run(Options(step, text), config)
    assert str(error.value).startswith(why) and "\n" not in str(error.value)


@pytest.mark.parametrize("lock", ["dream", "reflector"])
def test_a_night_or_a_reflection_at_work_is_not_disturbed(
    place: Place, take: Callable[..., dict[str, Any]], lock: str
) -> None:
    take("preflight")
    with sole(lock, place.own_dir), pytest.raises(AlreadyRunning):
        take("archive", items("b1"))
    with sole(lock, place.own_dir):
        assert take("decay")["observations"]


@pytest.mark.parametrize("name", ["chunk", "write-staging"])
def test_phase_1_has_no_chunks_and_no_proposals(config: Configuration, place: Place, name: str) -> None:
    first = replace(config, settings=replace(config.settings, dream_phase=1))
    with pytest.raises(TotalRecallError, match=f"DREAM_PHASE=1 has no {name}"):
        dream_steps.run(Options(name, "{}"), first)


def test_read_only_mode_is_a_dry_run(config: Configuration, place: Place) -> None:
    careful = replace(config, settings=replace(config.settings, read_only_mode=True))
    before = snapshot(place.workspace)
    assert dream_steps.run(Options("preflight"), careful).payload()["read_only"] is True
    said = dream_steps.run(Options("archive", json.dumps(items("b1"))), careful).payload()
    assert (said["dry_run"], said["would_leave"]) == (True, 1)
    assert snapshot(place.workspace) == before


def test_several_memories_must_be_told_apart(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state = home / ".openclaw"
    state.mkdir()
    agents = [{"id": name, "workspace": str(home / name)} for name in ("mina", "jun")]
    (state / "openclaw.json").write_text(json.dumps({"agents": {"list": agents}}))
    config = places.configure({"HOME": str(home), "TOTAL_RECALL_TZ": "UTC"})
    with pytest.raises(TotalRecallError, match=r"there are several memories; name one with --agent \(mina, jun\)"):
        dream_steps.run(Options("decay"), config)
    assert dream_steps.run(Options("decay", agent="jun"), config).payload()["observations"] == []


def program(home: Path, *arguments: str, said: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-I", "-X", "utf8", str(RUN), "dream", *arguments],
        env={"HOME": str(home), "PATH": "/usr/bin:/bin", "TOTAL_RECALL_TZ": "UTC"},
        input=said, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


def test_as_it_is_typed(home: Path, place: Place) -> None:
    assert json.loads(program(home, "preflight", "--json").stdout)["ok"]
    done = program(home, "archive", "--json", said=json.dumps(items("b1")))
    answer = json.loads(done.stdout)
    assert done.returncode == 0 and answer["ok"] and answer["archived"][0]["id"] == "b1"
    done = program(home, "archive", json.dumps(items("r1")))
    assert done.returncode == 1 and done.stderr.count("\n") == 1 and "r1 stays: it is a rule" in done.stderr
    write(place, without(text_of(place), "a1"))
    done = program(home, "validate", "--json")
    assert done.returncode == 1 and json.loads(done.stdout)["validation_passed"] is False
    assert program(home, "sleep").returncode == 2


def test_the_steps_that_can_be_typed_are_those_that_there_are() -> None:
    assert set(arguments.STEPS) == set(STEPS)
    prompt = (RUN.parents[1] / "prompts" / "dream-cycle-prompt.md").read_text(encoding="utf-8")
    assert [name for name in STEPS if f"dream {name}" not in prompt] == []
    assert [s.schema for s in STEPS.values() if s.schema and f"schemas/{s.schema}.json" not in prompt] == []
