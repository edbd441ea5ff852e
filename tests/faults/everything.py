"""Every fault of every scene, and a long race: the figures of docs/reliability.md.

    python tests/faults/everything.py                     all of it (about an hour for each core)
    python tests/faults/everything.py --share 100         an even share of 100 faults a scene
    python tests/faults/everything.py --races 60          only a race of so many seconds
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "support"), str(HERE.parents[1] / "scripts")]

import races  # noqa: E402
from points import why_not  # noqa: E402
from scenes import SCENES, grown  # noqa: E402
from sweep import sweep  # noqa: E402


def main() -> int:
    """Print a line a scene and the failures; returns 1 if there is one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--share", type=int, metavar="N", help="so many faults a scene; default: all")
    parser.add_argument("--scene", metavar="TEXT", default="", help="only scenes with this in their name")
    parser.add_argument("--races", type=int, metavar="SECONDS", help="only a race of so many seconds")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    return _race(options.races, options.seed) if options.races else _sweep(options.scene, options.share)


def _sweep(name: str, share: int | None) -> int:
    if reason := why_not():
        print(reason, file=sys.stderr)
        return 2
    failed = 0
    for scene in SCENES:
        if name in scene.name:
            swept = sweep(scene, share)
            failed += len(swept.failures)
            lost = len(swept.failures)
            print(f"{swept.scene}: {swept.tried} of {swept.known} faults, {lost} not survived", flush=True)
            print(*swept.failures, sep="\n", end="\n" if swept.failures else "")
    return 1 if failed else 0


def _race(seconds: int, seed: int) -> int:
    with tempfile.TemporaryDirectory(prefix="total-recall-race-") as home:
        grown(Path(home))
        outcome = races.race(Path(home), seconds, seed)
    runs = ", ".join(f"{count} {command}" for command, count in sorted(outcome.runs.items()))
    print(f"{sum(outcome.runs.values())} runs in {seconds} s ({runs})")
    print(f"{len(outcome.said)} messages said, {len(outcome.written)} lines written by hand")
    for refusal, count in outcome.refused.most_common():
        print(f"{count} times: {refusal}")
    print(f"{len(outcome.wrong)} things wrong", *outcome.wrong, sep="\n")
    return 1 if outcome.wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
