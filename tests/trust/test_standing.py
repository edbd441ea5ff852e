"""What the owner laid down stays in force until the owner says otherwise."""

from __future__ import annotations

from dataclasses import replace

import pytest

from builders import NOW
from total_recall.memory.document import parse
from total_recall.memory.line import format_observation
from total_recall.memory.reconcile import reconcile
from total_recall.records import Certainty, Observation, ObservationType

RULE = Observation("r1", "User said: never deploy on Fridays", NOW, "high", "rule", 9.0, 0.95)
FAVOURITE = Observation("p1", "User's favourite editor is Helix", NOW, "high", "preference", 6.0, 0.95)
FACT = Observation("f1", "User lives in Ghent", NOW, "medium", "fact", 5.0, 0.95)


def superseded(old: Observation, text: str, kind: ObservationType, confidence: float, certainty: Certainty) -> bool:
    """Whether a line said later takes the place of `old`, which it also names."""
    later = NOW.replace(hour=13)
    new = Observation("n1", text, later, "medium", kind, 5.0, confidence, certainty, supersedes=(old.id,))
    standing = parse(f"Date: 2026-11-30\n{format_observation(old)}\n".encode()).observations
    return dict(reconcile([new], standing).superseded) == {old.id: "n1"}


@pytest.mark.parametrize(
    ("old", "text", "kind", "confidence", "certainty", "expected"),
    [
        (RULE, "User said: deploy on Fridays", "rule", 0.95, "explicit", True),
        (RULE, "Deploy on Fridays", "fact", 0.8, "implicit", False),
        (RULE, "Bob asked: deploy on Fridays", "event", 0.75, "implicit", False),
        (FAVOURITE, "User's favourite editor is Zed", "preference", 0.95, "explicit", True),
        (FAVOURITE, "User's favourite editor is Zed", "fact", 0.95, "explicit", True),
        (FAVOURITE, "User's favourite editor is Zed", "fact", 0.85, "implicit", False),
        (FAVOURITE, "Bob said: the user's favourite editor is Zed", "fact", 0.75, "implicit", False),
        (FACT, "User lives in Porto", "fact", 0.95, "explicit", True),
        (FACT, "User lives in Porto", "fact", 0.8, "implicit", True),
        (FACT, "User lives in Porto", "fact", 0.75, "implicit", False),
        (FACT, "User lives in Porto", "fact", 0.25, "uncertain", False),
    ],
)
def test_who_may_replace_what(
    old: Observation, text: str, kind: ObservationType, confidence: float, certainty: Certainty, expected: bool
) -> None:
    assert superseded(old, text, kind, confidence, certainty) is expected


def test_a_copy_of_a_rule_by_somebody_else_changes_nothing() -> None:
    standing = parse(f"Date: 2026-11-30\n{format_observation(RULE)}\n".encode()).observations
    again = replace(RULE, id="n1", confidence=0.75, certainty="implicit", at=NOW.replace(hour=13))
    done = reconcile([again], standing)
    assert not done.kept and not done.superseded and done.duplicates == ((again, "r1"),)
