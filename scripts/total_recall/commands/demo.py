"""demo: the main job on real transcripts that come with the source, in a scratch workspace, without a model."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from total_recall import resources
from total_recall.commands import observe, places
from total_recall.errors import TotalRecallError


@dataclass(frozen=True, slots=True)
class Shown:
    """One store and the document that came of it."""

    name: str
    messages: int
    document: str


@dataclass(frozen=True, slots=True)
class Result:
    """What the demo made of each store."""

    shown: tuple[Shown, ...]

    def payload(self) -> dict[str, object]:
        """The fields of the JSON answer."""
        return {"stores": [{"name": s.name, "messages": s.messages, "document": s.document} for s in self.shown]}

    def lines(self) -> list[str]:
        """The answer for a person."""
        said = [
            "Real OpenClaw sessions of two generations, read with the offline compressor (no model, no network).",
            "",
        ]
        for one in self.shown:
            said += [
                f"== {one.name}: {one.messages} messages became this observations.md",
                "",
                one.document.strip(),
                "",
            ]
        said += [
            "That was a scratch workspace; nothing of yours was read or written.",
            "For your own sessions: scripts/total-recall observe",
        ]
        return said


def run() -> Result:
    """Observe each shipped store in a temporary home. Raises TotalRecallError where they are not shipped."""
    homes = resources.demo_homes()
    if not homes:
        raise TotalRecallError(
            "the demo's transcripts come with the source only; run `total-recall observe` on your own sessions"
        )
    shown = []
    with tempfile.TemporaryDirectory(prefix="total-recall-demo-") as scratch:
        for home in homes:
            shown.append(_observe_copy(home, Path(scratch) / home.name))
    return Result(tuple(shown))


def _observe_copy(source: Path, home: Path) -> Shown:
    shutil.copytree(source, home)
    config = places.configure({"HOME": str(home), "TOTAL_RECALL_TZ": "UTC"})
    result = observe.run(observe.Options(everything=True), config)
    document = config.settings.memory_dir / "observations.md"
    text = document.read_text(encoding="utf-8") if document.exists() else ""
    return Shown(source.name, sum(run.messages for run in result.runs), text)
