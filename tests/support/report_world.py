"""A made-up memory with two months behind it, as the real commands leave one: for the report, and its screenshots."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from datetime import datetime, time, timedelta, timezone

import months
from happenings import MAIN, NOBODY, Happened, log
from months import DAYS, TODAY
from total_recall.commands import dream
from total_recall.commands.observe import LAST_RUN
from total_recall.commands.places import Configuration, Place
from total_recall.memory.document import parse
from total_recall.records import Message, ModelCall, Observation
from total_recall.state import KnownSession, RunRecord, State, Taken, content_digest

NOW = datetime(2026, 12, 1, 19, 40, tzinfo=timezone.utc)
MODELS = (("gemini-2.5-flash", 0.0000004), ("qwen3-8b at home", None), ("gpt-5-mini", 0.0000011))
TOOLS = ("exec", "read", "edit", "web_fetch", "calendar")
SetTime = Callable[[datetime], None]


def lived(config: Configuration, place: Place, set_time: SetTime) -> None:
    """Two months: what was said each day is noted, and a dream every few nights; the last days have a log as well."""
    rng = random.Random(11)
    document = place.memory_dir / "observations.md"
    place.memory_dir.mkdir(parents=True, exist_ok=True)
    noted = [told.observation for told in months.told()]
    for ago in range(DAYS, -1, -1):
        day = TODAY - timedelta(days=ago)
        today = [observation for observation in noted if observation.at.date() == day and observation.at <= NOW]
        before = document.read_bytes() if document.is_file() else b""
        document.write_bytes(parse(before).with_observations(today).render())
        _work(place, rng, today, datetime.combine(day, time(21, 0), timezone.utc) if ago else NOW)
        if ago % 4 == 1:
            set_time(datetime.combine(day + timedelta(days=1), time(2, 30), timezone.utc))
            dream.run(dream.Options(), config)
    set_time(NOW)
    (place.memory_dir / LAST_RUN).write_text(f"{round((NOW - timedelta(minutes=6)).timestamp())}\n")
    log(place.own_dir, _happened(rng))


def _work(place: Place, rng: random.Random, noted: list[Observation], at: datetime) -> None:
    """A day's observing: messages are taken and observed, a model is asked, the run is recorded."""
    count = len(noted) * rng.randint(3, 6)
    model, price = rng.choices(MODELS, (6, 3, 1))[0]
    with State.open(place.own_dir) as state:
        known = KnownSession(MAIN.id, "main", MAIN.key, None)
        messages = [_message(at - timedelta(minutes=n), f"{at:%j}-{n}") for n in range(count)]
        state.take([Taken(m, content_digest(m.entry_id, None, m.text)) for m in messages], sessions=[known])
        state.settle([(f"{at:%j}", [queued.row for queued in state.queue()])])
        for _ in range(rng.randint(1, 3)):
            tokens = rng.randint(1500, 9000)
            outcome = "ok" if rng.random() > 0.06 else "rate limit"
            cost = tokens * price if price and outcome == "ok" else None
            state.record_call(ModelCall(at, "observer", model, outcome, 3.1, tokens, tokens // 7, 0, cost))
        said = f"observed {count} messages: {len(noted)} new lines"
        state.record_run(RunRecord("observe", at, at, "done", count, len(noted), said))


def _message(at: datetime, name: str) -> Message:
    return Message("openclaw-files", MAIN.id, MAIN.key, name, "user", f"made up {name}", at)


def _happened(rng: random.Random) -> Iterator[Happened]:
    for ago in range(29, -1, -1):
        day = TODAY - timedelta(days=ago)
        for n in range(rng.randint(20, 90)):
            at = f"{day.isoformat()}T{8 + n // 10:02}:{n % 60:02}:00"
            tool = rng.choice(TOOLS)
            is_failed = rng.random() < (0.12 if tool == "web_fetch" else 0.03)
            error = "timed out after 30 s" if tool == "web_fetch" else "exit code 1"
            yield Happened(
                at, "tool_call", tool, not is_failed, f"{tool} for the task at hand",
                error=error if is_failed else None, duration_ms=rng.randint(20, 4000),
            )  # fmt: skip
        for n in range(rng.randint(8, 30)):
            yield Happened(f"{day.isoformat()}T{8 + n // 4:02}:{n % 60:02}:30", "user_message", "human", None, "asked")
        yield Happened(f"{day.isoformat()}T02:30:00", "own_run", "dream", True, "one night", session=NOBODY)
