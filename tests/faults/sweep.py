"""Try every fault of a scene, or an even share of them; a counted result and the failures by name."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from points import Fault, faults, points, run
from scenes import Held, Scene, complaint, held, left_behind, lost


@dataclass(frozen=True, slots=True)
class Swept:
    """What came of a scene: faults there are, faults tried, and what did not survive, each in words."""

    scene: str
    known: int
    tried: int
    failures: tuple[str, ...]


def sweep(scene: Scene, share: int | None = None, workers: int = 2) -> Swept:
    """Try the faults of a scene: all, or about `share` of them, evenly over the run."""
    with tempfile.TemporaryDirectory(prefix="total-recall-faults-") as name:
        root = Path(name)
        template = root / "template"
        template.mkdir()
        scene.prepare(template)
        before = held(template)

        undisturbed = _copy(template, root / "undisturbed")
        found = points(undisturbed, scene.arguments, root / "trace")
        for command in scene.healthy():
            ended = run(undisturbed, command)
            assert ended.code == 0 or scene.is_to_forget, ended.err
        expected = held(undisturbed)
        if scene.is_to_forget:
            before = before.without(before.anywhere - expected.anywhere)
        assert not lost(undisturbed, before), "the undisturbed run loses something"

        every = list(faults(found))
        wanted = every if share is None else _evenly(every, share)
        with ThreadPoolExecutor(workers) as pool:
            homes = [root / f"home{n}" for n in range(len(wanted))]
            tried = partial(_try, scene, template, before, expected)
            said = list(pool.map(tried, wanted, homes))
        return Swept(scene.name, len(every), len(wanted), tuple(text for text in said if text))


def _try(scene: Scene, template: Path, before: Held, expected: Held, fault: Fault, home: Path) -> str | None:
    _copy(template, home)
    wrong = list(_what_is_wrong(scene, home, fault, before, expected))
    if not wrong:
        shutil.rmtree(home)
    return f"{scene.name}: {fault}: {'; '.join(wrong)}" if wrong else None


def _what_is_wrong(scene: Scene, home: Path, fault: Fault, before: Held, expected: Held) -> Iterator[str]:
    ended = run(home, scene.arguments, fault)
    if text := complaint(ended):
        yield text
    yield from (f"gone at once: {text}" for text in lost(home, before))
    for command in scene.healthy():
        ended = run(home, command)
        # What is forgotten already cannot be named any more.
        if ended.code != 0 and not (scene.is_to_forget and ended.code == 1 and "nothing has" in ended.err):
            yield f"the next {command[0]}: exit {ended.code}: {ended.err[-300:]}"
    yield from (f"gone in the end: {text}" for text in lost(home, before))
    now = held(home)
    if now.anywhere != expected.anywhere:
        yield f"missing in the end: {sorted(expected.anywhere - now.anywhere)}"
        yield f"not expected: {sorted(now.anywhere - expected.anywhere)}"
    yield from (f"left behind: {path}" for path in left_behind(home))


def _copy(template: Path, home: Path) -> Path:
    shutil.copytree(template, home, symlinks=True)
    return home


def _evenly(every: Sequence[Fault], share: int) -> list[Fault]:
    if share >= len(every):
        return list(every)
    return [every[n * len(every) // share] for n in range(share)]
