"""The list of parts that make an installation: what is there, and what makes or mends it."""

from __future__ import annotations

from collections.abc import Callable

from total_recall.commands import part_files, part_schedule
from total_recall.commands.installation import Part, Plan, Scene, Wanted, look
from total_recall.commands.places import Configuration
from total_recall.errors import TotalRecallError

PARTS: tuple[tuple[str, Callable[[Scene], Plan]], ...] = (
    ("folders", part_files.folders),
    ("settings", part_files.settings_file),
    ("bash original", part_schedule.original),
    ("schedule", part_schedule.schedule),
    ("watcher", part_schedule.watcher),
    ("hook", part_files.hook),
    ("hook switch", part_files.switch),
    ("AGENTS.md", part_files.agents_line),
    (part_files.CLAUDE_CODE, part_files.claude_hooks),
)
"""In the order in which they are made: OpenClaw switches on only a hook that is there."""


def survey(config: Configuration, wanted: Wanted) -> tuple[Part, ...]:
    """Every part as it is now; changes nothing. `wanted.commands` are those of this version.

    Raises StoreError when the record of an earlier set-up, or the stores' folder, cannot be read.
    """
    return tuple(plan.part for plan in plans(look(config, wanted)))


def plans(scene: Scene) -> tuple[Plan, ...]:
    """What is to be done for each part. One that cannot be looked at is impossible, and says why."""
    return tuple(_plan(name, part, scene) for name, part in PARTS)


def _plan(name: str, part: Callable[[Scene], Plan], scene: Scene) -> Plan:
    try:
        return part(scene)
    except TotalRecallError as error:
        return Plan(Part(name, "impossible", "", str(error)))
