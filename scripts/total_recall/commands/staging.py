"""staging: what the dream cycle proposes for the agent's own files, and what a person says to it.

Nothing is written to AGENTS.md, MEMORY.md, USER.md, TOOLS.md or favorites.md but by `approve --apply`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from total_recall import clock
from total_recall.commands import places
from total_recall.commands.places import Configuration, Place
from total_recall.errors import TotalRecallError
from total_recall.memory import promotion
from total_recall.memory.promotion import Promoted
from total_recall.memory.staging import Entry, Staging

Action = Literal["list", "show", "approve", "reject", "modify"]
SUMMARY_CHARACTERS: Final = 60
WAITING: Final = ("pending", "approved")


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line asked for. `name` is a proposal; `text` and `target` are what `modify` puts into it.

    `everything` lists decided ones as well.
    """

    action: Action
    name: str | None = None
    text: str | None = None
    target: str | None = None
    apply: bool = False
    everything: bool = False
    agent: str | None = None


@dataclass(frozen=True, slots=True)
class Listed:
    """The proposals of one memory; `decided` counts those that are not shown."""

    memory_dir: Path
    entries: tuple[Entry, ...]
    decided: int


@dataclass(frozen=True, slots=True)
class Result:
    """What `staging` has to say: a list, or what became of one proposal (`entry`) and of its target file."""

    action: Action
    listed: tuple[Listed, ...] = ()
    entry: Entry | None = None
    promoted: Promoted | None = None

    def payload(self) -> dict[str, object]:
        """The fields of the JSON answer."""
        if self.entry is None:
            proposals = [
                _fields(entry) | {"memory_dir": str(one.memory_dir)} for one in self.listed for entry in one.entries
            ]
            return {"action": self.action, "proposals": proposals, "decided": sum(one.decided for one in self.listed)}
        fields: dict[str, object] = {"action": self.action, "proposal": _fields(self.entry)}
        if self.promoted is not None:
            backup = self.promoted.backup
            fields["applied"] = {
                "path": str(self.promoted.path),
                "written": not self.promoted.was_there,
                "backup": str(backup) if backup else None,
                "rescued": [str(path) for path in self.promoted.rescued],
            }
        return fields

    def lines(self) -> list[str]:
        """The answer for a person."""
        if self.entry is None:
            return _list_lines(self.listed)
        if self.action == "show":
            return [f"{self.entry.path} ({self.entry.status})", "", *_text(self.entry.content)]
        if self.promoted is not None:
            return _applied_lines(self.entry, self.promoted)
        return [_SAID[self.action].format(name=self.entry.name, target=self.entry.staged.target, path=self.entry.path)]


_SAID: Final = {
    "approve": "{name} is approved. Nothing is written yet: `staging approve {name} --apply` adds it to {target}.",
    "reject": "{name} is rejected. It comes back only when there is twice as much evidence; {path} remembers it.",
    "modify": "{name} is changed: {path}. `staging approve {name} --apply` adds it to {target}.",
}


def _fields(entry: Entry) -> dict[str, object]:
    said = entry.staged
    return {
        "name": entry.name,
        "status": entry.status,
        "path": str(entry.path),
        "type": said.type,
        "target_file": said.target,
        "confidence": said.confidence,
        "generated": said.generated,
        "pattern_summary": said.summary,
        "proposed_text": said.text,
        "days": said.days,
        "evidence": [{"id": one.id, "date": one.day.isoformat(), "text": one.text} for one in said.evidence],
    }


def _text(content: bytes) -> list[str]:
    return content.decode("utf-8-sig", "replace").replace("\r\n", "\n").rstrip("\n").split("\n")


def _list_lines(listed: Sequence[Listed]) -> list[str]:
    said: list[str] = []
    for one in listed:
        if len(listed) > 1 and (one.entries or one.decided):
            said.append(f"{one.memory_dir}:")
        said += [
            f"{entry.name:<32} {entry.status:<9} {entry.staged.target:<13} {entry.staged.confidence:<8} "
            f"{entry.staged.days or '?':>2} days  {_short(entry.staged.text or entry.staged.summary)}"
            for entry in one.entries
        ]
    waiting = sum(entry.status in WAITING for one in listed for entry in one.entries)
    decided = sum(one.decided for one in listed)
    more = f" {decided} decided before; `staging list --all` shows them." if decided else ""
    if not waiting:
        where = f" in {listed[0].memory_dir / 'dream-staging'}" if len(listed) == 1 else ""
        return [*said, f"No proposal waits{where}.{more}"]
    how = "`staging show NAME`, then `staging approve NAME --apply`, `staging modify NAME` or `staging reject NAME`."
    return [*said, f"{waiting} waiting: {how}{more}"]


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= SUMMARY_CHARACTERS else line[: SUMMARY_CHARACTERS - 1] + "…"


def _applied_lines(entry: Entry, done: Promoted) -> list[str]:
    if done.was_there:
        return [
            f"{entry.name} was added to {done.path} before; nothing was written.",
            f"  to add it again after you have taken it out, rename {entry.path} to {entry.name}.md",
        ]
    begin, end = (mark.split(":")[0].removesuffix(" -->") for mark in promotion.marks(entry.name, clock.now().date()))
    said = [
        f"{entry.name} is added to the end of {done.path}.",
        f"  to take it back, delete the lines from “{begin}” to “{end}”",
    ]
    if done.backup is not None:
        said.append(f"  the file as it was before: {done.backup}")
    said += [f"  an edit made at the same moment was kept in {path}; merge it by hand" for path in done.rescued]
    return said


def run(options: Options, config: Configuration | None = None) -> Result:
    """Show the proposals, or do with one what a person has decided.

    Raises TotalRecallError when there is no such proposal, or it cannot be done; everything is then as it was.
    """
    config = config or places.configure()
    now = clock.now().astimezone(config.settings.tz)
    found = places.find(config, now, options.agent)
    if options.action == "list" or options.name is None:
        return Result("list", tuple(_listed(place, options.everything) for place in found))
    staging = _holder(found, options.name)
    if options.action == "show":
        return Result("show", entry=staging.find(options.name))
    if options.action == "reject":
        return Result("reject", entry=staging.reject(options.name))
    if options.action == "modify":
        if options.text is None and options.target is None:
            raise TotalRecallError("there is nothing to modify: give --text (- reads standard input) or --target")
        return Result("modify", entry=staging.modify(options.name, options.text, options.target))
    if not options.apply:
        return Result("approve", entry=staging.approve(options.name))
    entry, promoted = staging.apply(options.name, now)
    return Result("approve", entry=entry, promoted=promoted)


def _listed(place: Place, everything: bool) -> Listed:
    entries = Staging(place.memory_dir, place.workspace).entries()
    shown = tuple(entry for entry in entries if everything or entry.status in WAITING)
    return Listed(place.memory_dir, shown, len(entries) - len(shown))


def _holder(found: Sequence[Place], name: str) -> Staging:
    """The folder that has the proposal."""
    folders = [(place, Staging(place.memory_dir, place.workspace)) for place in found]
    holders = [(place, folder) for place, folder in folders if folder.find(name) is not None]
    if not holders:
        where = ", ".join(str(folder.directory) for _, folder in folders)
        raise TotalRecallError(f"there is no proposal {name!r} in {where}; `staging list --all` shows them")
    if len(holders) > 1:
        named = places.choices([place for place, _ in holders])
        raise TotalRecallError(f"several memories have a proposal {name!r}; name one with {named}")
    return holders[0][1]
