"""How long the deterministic part of a night takes: from the bytes of observations.md to what leaves it and what stays.

Measured in one process, medians: parse, classify, decide, collapse, chunk, hooks, the new document and its checks; no
disk and no model. To be reached: 10,000 observations in under 2 seconds, and no more a line at 100,000 than at 10,000,
with allowance for the caches of the processor.
"""

from __future__ import annotations

import argparse
import gc
import random
import sys
import time
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone

from measure import SCRIPTS, report

sys.path.insert(0, str(SCRIPTS))

from total_recall.cli import GARBAGE_AFTER
from total_recall.commands import dream_commit, dreaming
from total_recall.memory import conservation
from total_recall.memory.document import parse
from total_recall.memory.last_dream import Unfinished
from total_recall.memory.line import format_observation
from total_recall.observations import certainty_of, priority_of
from total_recall.records import Observation, ObservationType

TODAY = date(2026, 12, 1)
TARGET = 8000
AT_MOST_SECONDS = 2.0
AT_MOST_GROWTH = 1.5
KINDS: tuple[ObservationType, ...] = (
    "event",
    "event",
    "event",
    "context",
    "fact",
    "fact",
    "preference",
    "habit",
    "rule",
)
SUBJECTS = (
    "the orders service", "Kitchen renovation", "the house server", "Brandt GmbH", "the garden fence", "Dr. Kim",
    "team Atlas", "the tax return", "the Berlin meetup", "이사 견적", "치과 예약", "the bicycle", "Mina's school",
    "the mailer queue",
)  # fmt: skip
VERBS = (
    "broke again near",
    "was paid by",
    "moved to",
    "was repaired with",
    "waits for",
    "was compared with",
    "is ready for",
)
WORDS = [
    f"{a}{b}"
    for a in ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "harbor")
    for b in ("ton", "field", "wick", "ley", "mere")
]


def document(count: int, seed: int = 1) -> bytes:
    """So many observations over three months, as an observer writes them."""
    rng = random.Random(seed)
    out = ["# Observations Log", ""]
    begun = datetime(2026, 9, 3, 8, tzinfo=timezone.utc)
    for number in range(count):
        at = begun + timedelta(days=number * 90 // count, minutes=number % 700)
        if number == 0 or at.date() != (begun + timedelta(days=(number - 1) * 90 // count)).date():
            out += ["", "---", f"Date: {at.date()}"]
        kind = rng.choice(KINDS)
        if kind == "rule" and rng.random() < 1 - 20 / max(count / 9, 20):
            kind = "event"
        if kind == "habit" and rng.random() < 1 - 20 / max(count / 9, 20):
            kind = "context"
        what = f"{rng.choice(VERBS)} {rng.choice(WORDS)} {rng.choice(WORDS)}"
        text = f"{rng.choice(SUBJECTS)} {what}, {rng.randint(2, 999)} times"
        if rng.random() < 0.1:
            text += f" on {at.date() - timedelta(days=rng.randint(1, 20))}"
        importance = round(rng.uniform(1, 8.5), 1)
        confidence = rng.choice((0.95, 0.8, 0.5, 0.25))
        observation = Observation(
            f"b{number}", text, at, priority_of(importance), kind, importance, confidence, certainty_of(confidence)
        )
        out.append(format_observation(observation))
    return "\n".join([*out, ""]).encode()


@dataclass(frozen=True, slots=True)
class Took:
    """What one night took, and how many lines left and stay."""

    seconds: float
    cpu_seconds: float
    parse_seconds: float
    gone: int
    stays: int


def night(content: bytes) -> Took:
    """Ends the program when something was lost."""
    begun, cpu = time.perf_counter(), time.process_time()
    before = parse(content)
    parsed = time.process_time() - cpu
    made = dreaming.draft(before, {}, TODAY, TARGET)
    names = {key: f"OBS-20261201-{number:03d}" for number, key in enumerate(made.keys, 1)}
    at = datetime(2026, 12, 1, tzinfo=timezone.utc)
    plan = Unfinished(at, TODAY, "", made.tokens, made.bundles, made.plan.flagged, "offline", made.plan.hook_tokens)
    done = dream_commit.applied(before, plan, names)
    wrong = conservation.lost(before, parse(done.document.render()), done.gone)
    wrong += conservation.critical(before, done.gone, TODAY, made.resolved)
    seconds, cpu_seconds = time.perf_counter() - begun, time.process_time() - cpu
    if wrong:
        raise SystemExit(f"{len(wrong)} things are wrong, first: {wrong[0]}")
    return Took(seconds, cpu_seconds, parsed, len(done.gone), len(done.document.observations))


def clear_caches() -> None:
    """Every run reads its texts for the first time."""
    for module in list(sys.modules.values()):
        if (getattr(module, "__name__", "") or "").startswith("total_recall"):
            for value in vars(module).values():
                if hasattr(value, "cache_clear") and value.cache_parameters()["maxsize"]:
                    value.cache_clear()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--counts", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    gc.freeze()  # as the command line does
    gc.set_threshold(GARBAGE_AFTER)
    figures: dict[int, dict[str, float]] = {}
    for count in options.counts:
        content = document(count)
        took = []
        for _ in range(options.runs):
            clear_caches()
            took.append(night(content))
        middle = sorted(took, key=lambda one: one.cpu_seconds)[len(took) // 2]
        figures[count] = {
            "seconds": round(min(one.seconds for one in took), 3),
            "cpu_seconds": round(middle.cpu_seconds, 3),
            "us_a_line": round(middle.cpu_seconds / count * 1e6, 1),
            "parse_share": round(middle.parse_seconds / middle.cpu_seconds, 3),
            "archived": middle.gone,
            "kept": middle.stays,
        }
    report(
        "dream",
        target_tokens=TARGET,
        observations=figures,
        at_most_seconds=AT_MOST_SECONDS,
        at_most_growth=AT_MOST_GROWTH,
    )


if __name__ == "__main__":
    main()
