"""forecast: what it says of a document, and that it is what the dream does."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date, datetime, timedelta, timezone
from pathlib import Path

import pytest

from builders import snapshot
from total_recall import clock
from total_recall.commands import dream, forecast, places, recall
from total_recall.commands.places import Configuration, Place
from total_recall.errors import TotalRecallError
from total_recall.memory.document import parse
from total_recall.records import Observation, ObservationType

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=timezone.utc)
TODAY = NOW.date()


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Callable[[datetime], None]:
    """Sets the time."""

    def set_time(now: datetime) -> None:
        monkeypatch.setattr(clock, "now", lambda: now)

    set_time(NOW)
    return set_time


@pytest.fixture
def config(home: Path, at: Callable[[datetime], None]) -> Configuration:
    return places.configure({"HOME": str(home), "TOTAL_RECALL_TZ": "UTC"})


@pytest.fixture
def place(config: Configuration) -> Place:
    place = places.find(config, NOW)[0]
    place.memory_dir.mkdir(parents=True)
    return place


def noted(
    id: str, text: str, days_ago: int = 1, kind: ObservationType = "event", importance: float = 5.0,
    refers: date | None = None, by: str | None = None,
) -> Observation:  # fmt: skip
    return Observation(
        id, text, NOW - timedelta(days=days_ago), "medium", kind, importance, 0.5, "explicit", refers, by
    )


def write(place: Place, *observations: Observation) -> None:
    (place.memory_dir / "observations.md").write_bytes(parse(b"").with_observations(observations).render())


def told(config: Configuration, **options: object) -> list[dict[str, object]]:
    result = forecast.run(forecast.Options(**options), config)  # type: ignore[arg-type]  # the fields of Options
    found: list[dict[str, object]] = json.loads(json.dumps(result.payload()))["forecasts"]
    return found


LINES = (
    noted("rule", "Never call before ten", 40, "rule"),
    noted("dentist", "The dentist was seen", 2, "event", 5.0),
    noted("flight", "Flight to Rome", 20, "event", 3.0, refers=TODAY + timedelta(days=4)),
    noted("car", "User drives a red car", 10, "fact", 5.0),
)


def test_each_line_has_its_day_and_its_rule(config: Configuration, place: Place) -> None:
    write(place, *LINES)
    days = {f["id"]: f["archived"] and (f["archived"]["on"], f["archived"]["rule"]) for f in told(config)}  # type: ignore[index]
    assert days == {
        "dentist": ("2026-12-03", "faded"),
        "flight": ("2026-12-05", "expired"),
        "car": ("2026-12-11", "faded"),
        "rule": None,
    }
    assert list(days) == ["dentist", "flight", "car", "rule"]
    assert {f["id"]: f["stays"] for f in told(config)} == {
        "rule": "it is a rule", "dentist": None, "car": None,
        "flight": "it speaks of 2026-12-04, which is not over",
    }  # fmt: skip


def test_what_a_person_reads(config: Configuration, place: Place) -> None:
    write(place, LINES[0], LINES[1])
    head, *lines = forecast.run(forecast.Options(), config).lines()
    assert head.endswith("of 8,000 tokens: with room to spare (DREAM_TOKEN_TARGET)")
    assert lines[0] == "2026-12-03  dentist  The dentist was seen"
    assert lines[1].strip() == "archived: faded: importance 5.0 is 2.5 after 5 days"
    assert "under pressure: from 2026-11-30" in lines[2] and "if read today: archived 2026-12-05 (faded)" in lines[2]
    assert lines[3:5] == ["stays       rule  Never call before ten", "            it is a rule"]
    assert lines[5].strip() == "stays in the top of recall"


@pytest.mark.parametrize(
    ("options", "ids"),
    [({"days": 3}, ["dentist"]), ({"days": 10**9}, ["dentist", "flight", "car", "rule"]), ({"id": "car"}, ["car"])],
)
def test_filters(config: Configuration, place: Place, options: dict[str, object], ids: list[str]) -> None:
    write(place, *LINES)
    found = [f["id"] for f in told(config, **options)]
    assert found == ids if options != {"days": 10**9} else set(found) <= set(ids)


def test_nothing_soon_and_nothing_at_all(config: Configuration, place: Place) -> None:
    assert forecast.run(forecast.Options(), config).lines() == ["Nothing is remembered yet."]
    write(place, LINES[0])
    assert forecast.run(forecast.Options(days=9), config).lines() == ["Nothing is forgotten in the next 9 days."]


def test_an_unknown_id_is_named(config: Configuration, place: Place) -> None:
    write(place, *LINES)
    with pytest.raises(TotalRecallError, match="'nobody'"):
        forecast.run(forecast.Options(id="nobody"), config)


def test_reading_it_moves_the_day_as_forecast(config: Configuration, place: Place) -> None:
    write(place, *LINES)
    (before,) = told(config, id="car")
    recall.run(recall.Options("which car?"), config)
    (after,) = told(config, id="car")
    assert after["archived"] == before["if_read_today"]["archived"] != before["archived"]  # type: ignore[index]
    assert after["top_until"] == before["if_read_today"]["top_until"]  # type: ignore[index]


def test_it_writes_nothing(config: Configuration, place: Place, home: Path) -> None:
    write(place, *LINES)
    before = snapshot(home)
    forecast.run(forecast.Options(), config)
    assert snapshot(home) == before


def test_lines_of_a_person_without_fields(config: Configuration, place: Place) -> None:
    (place.memory_dir / "observations.md").write_text(
        "Date: 2026-11-20\n- 🔴 09:12 Met Nora at the station\n- 🟡 The papers are in the blue box\n", "utf-8"
    )
    found = told(config)
    assert len(found) == 2 and all(str(f["id"]).startswith("line-") for f in found)


def test_the_nights_do_what_was_forecast(config: Configuration, place: Place, at: Callable[[datetime], None]) -> None:
    """Night after night the real dream, on lines of every type: each goes on the day that was forecast on the first."""
    write(
        place,
        *LINES,
        noted("lake", "A walk around the lake", 0, "event", 4.0),
        noted("tiles", "Comparing tiles for the bathroom", 3, "context", 4.0),
        noted("tea", "User prefers green tea", 5, "preference", 3.1),
        noted("latin", "User wants to learn Latin", 5, "goal"),
        noted("old", "User lives in Busan", 9, "fact", 6.0, by="new"),
        noted("new", "User moved to Seoul", 1, "fact", 6.0),
    )
    foretold = {f["id"]: f["archived"]["on"] if f["archived"] else None for f in told(config)}  # type: ignore[index]
    gone: dict[object, str] = {}
    for passed in range(36):
        now = NOW + timedelta(days=passed)
        at(now)
        dream.run(dream.Options(), config)
        left = {entry.id for entry in parse((place.memory_dir / "observations.md").read_bytes()).observations}
        for id in foretold.keys() - left - gone.keys():
            gone[id] = now.date().isoformat()
    last = (TODAY + timedelta(days=35)).isoformat()
    assert gone == {id: day for id, day in foretold.items() if day and day <= last}
    assert {"dentist", "flight", "car", "lake", "tiles", "old"} <= gone.keys()
