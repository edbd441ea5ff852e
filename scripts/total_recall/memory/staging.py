"""dream-staging/: the proposals of a memory, and what a person decided about each. The file's name says the status."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final, Literal

from total_recall.errors import MemoryWriteError, TotalRecallError
from total_recall.memory import promotion, staged
from total_recall.memory.files import read_file, write_file
from total_recall.memory.promotion import Promoted, TargetStore
from total_recall.memory.staged import Staged
from total_recall.memory.store import sync_directory
from total_recall.state import Step, no_step, sole

Status = Literal["pending", "approved", "applied", "rejected"]

ENDINGS: Final[tuple[tuple[str, Status], ...]] = (
    (".approved.md", "approved"),
    (".applied", "applied"),
    (".rejected", "rejected"),
    (".md", "pending"),
)
"""How a name ends, and the status that it stands for; the first that fits. See schemas/dream-staging-format.md."""
LOCK_WAIT_SECONDS: Final = 10.0

_ENDING_OF: Final = {status: ending for ending, status in ENDINGS}
_NAME = re.compile(r"(?!\.)[^/\x00-\x1f]{1,200}")
_OWN_NAME = re.compile(r"(?P<day>[0-9]{8})-(?P<number>[0-9]{3,})-[a-z]+")


@dataclass(frozen=True, slots=True)
class Entry:
    """A proposal in the folder. `name` is the file's without what says the status."""

    name: str
    status: Status
    path: Path
    content: bytes
    staged: Staged


class Staging:
    """The proposals of one memory directory. MemoryWriteError when a file cannot be read or written."""

    def __init__(self, memory_dir: Path, workspace: Path, step: Step = no_step) -> None:
        self.memory_dir = memory_dir
        self.workspace = workspace
        self.directory = memory_dir / "dream-staging"
        self._step = step

    def entries(self) -> list[Entry]:
        """All proposals in the order of their names. Changes nothing."""
        found = []
        for path in sorted(self.directory.iterdir()) if self.directory.is_dir() else ():
            entry = self._entry(path)
            if entry is not None:
                found.append(entry)
        return found

    def find(self, name: str) -> Entry | None:
        """The proposal of that name, as `list` shows it or as its file is called; None when there is none."""
        bare = Path(name).name if Path(name).parent == self.directory else name
        if not _NAME.fullmatch(bare):
            return None
        candidates = [entry for entry in self.entries() if bare in (entry.name, entry.path.name)]
        order: list[Status] = ["pending", "approved", "rejected", "applied"]
        return min(candidates, key=lambda entry: order.index(entry.status), default=None)

    def add(self, proposal: Staged, now: datetime) -> Entry:
        """Write a new proposal that waits. `now` is aware, in the user's zone: its day is in the name."""
        with self._alone():
            number = 1 + max((self._number(entry.name, now) for entry in self.entries()), default=0)
            name = f"{now:%Y%m%d}-{number:03d}-{proposal.type}"
            path = self.directory / f"{name}.md"
            content = staged.render(proposal, now).encode("utf-8", "replace")
            write_file(path, content, self._step)
        return Entry(name, "pending", path, content, staged.read(content))

    def modify(self, name: str, text: str | None, target: str | None) -> Entry:
        """Give a proposal that waits or was approved another text or target file.

        Raises TotalRecallError when it was decided, or could not be applied then.
        """
        with self._alone():
            entry = self._open(name, "modified")
            if target is not None:
                promotion.target_path(self.memory_dir, self.workspace, target)
            content = staged.changed(entry.content, text, target)
            problem = staged.problem(staged.read(content))
            if problem is not None:
                raise TotalRecallError(f"{entry.name} was not changed: {problem}")
            write_file(entry.path, content, self._step)
        return Entry(entry.name, entry.status, entry.path, content, staged.read(content))

    def approve(self, name: str) -> Entry:
        """Mark a proposal as approved, and write nothing else. Raises TotalRecallError when it was decided."""
        with self._alone():
            entry = self._open(name, "approved")
            return entry if entry.status == "approved" else self._renamed(entry, "approved")

    def reject(self, name: str) -> Entry:
        """Turn a proposal down. Raises TotalRecallError when it was decided already."""
        with self._alone():
            return self._renamed(self._open(name, "rejected"), "rejected")

    def apply(self, name: str, now: datetime) -> tuple[Entry, Promoted]:
        """Write a proposal to its target file, with a backup, and mark it as applied. `now` is in the user's zone.

        One that was applied before is left as it is, even when a person has taken its text out of the target since.
        Raises TotalRecallError when it cannot be applied; the target is then as it was.
        """
        with self._alone():
            entry = self._known(name)
            if entry.status == "rejected":
                raise TotalRecallError(
                    f"{entry.name} was rejected; to take it up again, rename {entry.path} to {entry.name}.md"
                )
            problem = staged.problem(entry.staged)
            if problem is not None:
                raise TotalRecallError(f"{entry.name} cannot be applied: {problem}; see `staging modify --help`")
            path = promotion.target_path(self.memory_dir, self.workspace, entry.staged.target)
            if entry.status == "applied":
                return entry, Promoted(path, was_there=True)
            store = TargetStore(self.memory_dir, self._step, file=path)
            done = promotion.promote(store, entry.name, entry.staged.text, now, now.date())
            return self._renamed(entry, "applied"), done

    @contextmanager
    def _alone(self) -> Iterator[None]:
        with sole("staging", self.memory_dir / ".total-recall", LOCK_WAIT_SECONDS):
            yield

    def _entry(self, path: Path) -> Entry | None:
        named = next(((ending, status) for ending, status in ENDINGS if path.name.endswith(ending)), None)
        if named is None or path.name.startswith(".") or not path.is_file():
            return None
        content = read_file(path)
        if content is None:  # gone since the folder was listed
            return None
        ending, status = named
        return Entry(path.name.removesuffix(ending), status, path, content, staged.read(content))

    def _known(self, name: str) -> Entry:
        entry = self.find(name)
        if entry is None:
            raise TotalRecallError(f"there is no proposal {name!r} in {self.directory}; `staging list` shows them")
        return entry

    def _open(self, name: str, wanted: str) -> Entry:
        entry = self._known(name)
        if entry.status in ("applied", "rejected"):
            raise TotalRecallError(f"{entry.name} was {entry.status} and cannot be {wanted} any more: {entry.path}")
        return entry

    def _renamed(self, entry: Entry, status: Status) -> Entry:
        path = self.directory / f"{entry.name}{_ENDING_OF[status]}"
        try:
            if path.exists():
                raise FileExistsError(errno.EEXIST, "there is one of that name already")
            self._step(f"rename to {path.name}")
            entry.path.rename(path)
            sync_directory(self.directory)
        except OSError as error:
            raise MemoryWriteError(f"cannot rename {entry.path} to {path.name}: {error.strerror}; see to it") from error
        return Entry(entry.name, status, path, entry.content, entry.staged)

    @staticmethod
    def _number(name: str, now: datetime) -> int:
        match = _OWN_NAME.fullmatch(name)
        # The bash original has the time of day in this place.
        return int(match["number"]) if match and match["day"] == f"{now:%Y%m%d}" and len(match["number"]) < 6 else 0
