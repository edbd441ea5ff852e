"""What setup changed, with the bytes that were there before, so that uninstall can put them back."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from total_recall.errors import StoreError, TotalRecallError
from total_recall.host import crontab
from total_recall.memory.store import sync_directory
from total_recall.state import private_directory

NAME = "setup.json"
COPIES = "setup"
VERSION = 1
CRONTAB = "crontab"
"""Stands for the user's crontab where otherwise a file is named."""
ABSENT = "absent"


@dataclass(frozen=True, slots=True)
class Change:
    """A file, or the crontab: what it held before us (None: there was none), and the hash of what it holds since."""

    target: str
    before: bytes | None
    mode: int | None
    after: str


@dataclass(frozen=True, slots=True)
class Record:
    """One installation. `folders` were made for it, `was_on` are units of systemd that were on before it.

    `hosts` are those beside OpenClaw that it was made for.
    """

    own_dir: Path
    scheduler: str | None = None
    agents_md: bool = False
    changes: tuple[Change, ...] = ()
    folders: tuple[str, ...] = ()
    was_on: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()

    @property
    def path(self) -> Path:
        return self.own_dir / NAME

    @property
    def exists(self) -> bool:
        """Whether anything was set up."""
        return self.path.exists()

    def change_of(self, target: str) -> Change | None:
        """What is known of a file, or of the crontab."""
        return next((change for change in self.changes if change.target == target), None)

    def with_change(self, change: Change) -> Record:
        """The record with this change in the place of an older one of the same file."""
        others = tuple(old for old in self.changes if old.target != change.target)
        return replace(self, changes=(*others, change))

    def without_change(self, target: str) -> Record:
        """The record when that change was taken back."""
        return replace(self, changes=tuple(old for old in self.changes if old.target != target))


def load(own_dir: Path) -> Record:
    """The record of this memory; an empty one when nothing was set up. Raises StoreError when it cannot be read."""
    path = own_dir / NAME
    try:
        fields = json.loads(path.read_bytes())
        changes = tuple(
            Change(
                target=str(entry["target"]),
                before=None if entry["before"] is None else (own_dir / COPIES / entry["before"]).read_bytes(),
                mode=entry["mode"],
                after=str(entry["after"]),
            )
            for entry in fields["changes"]
        )
        return Record(
            own_dir=own_dir,
            scheduler=fields["scheduler"],
            agents_md=fields["agents_md"] is True,
            changes=changes,
            folders=tuple(fields["folders"]),
            was_on=tuple(fields["was_on"]),
            hosts=tuple(fields.get("hosts", ())),
        )
    except FileNotFoundError as error:
        if Path(error.filename) == path:
            return Record(own_dir)
        raise StoreError(f"{error.filename} is missing: it holds what setup replaced; restore it") from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{path}, the record of what setup changed, cannot be read ({error}); restore it") from error


def save(record: Record) -> None:
    """Write the record and its copies, for the owner alone. Raises MemoryWriteError or TotalRecallError."""
    copies = record.own_dir / COPIES
    private_directory(copies)
    entries = []
    for change in record.changes:
        name = None
        if change.before is not None:
            name = f"{digest(change.before)[:16]}-{Path(change.target).name}"
            if not (copies / name).exists():
                put(copies / name, change.before, 0o600)
        entries.append({"target": change.target, "before": name, "mode": change.mode, "after": change.after})
    fields = {
        "version": VERSION,
        "scheduler": record.scheduler,
        "agents_md": record.agents_md,
        "changes": entries,
        "folders": list(record.folders),
        "was_on": list(record.was_on),
        "hosts": list(record.hosts),
    }
    put(record.path, f"{json.dumps(fields, ensure_ascii=False, indent=1)}\n".encode(), 0o600)


def discard(record: Record) -> None:
    """Remove the record and its copies: everything in it was taken back. Raises TotalRecallError."""
    put(record.path, None, 0o600)
    shutil.rmtree(record.own_dir / COPIES, ignore_errors=True)


def digest(content: bytes | None) -> str:
    """By which a file is known again."""
    return ABSENT if content is None else hashlib.sha256(content).hexdigest()


def read(path: Path) -> bytes | None:
    """A file's bytes; None when there is none. Raises TotalRecallError when it cannot be read."""
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise TotalRecallError(f"cannot read {path}: {error.strerror}; check its owner and permissions") from error


def mode_of(path: Path) -> int | None:
    """A file's permissions; None when there is none."""
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except OSError:
        return None


def put(path: Path, content: bytes | None, mode: int) -> None:
    """Give a file these bytes in one step, or remove it. What a link leads to is written; the link stays.

    Raises TotalRecallError, also for a file that nobody may write: whoever made it read-only meant it.
    """
    try:
        target = path.resolve()
        if target.exists() and not target.stat().st_mode & 0o222:
            raise TotalRecallError(f"{path} is read-only; make it writable (chmod u+w) or change it by hand")
        if content is None:
            path.unlink(missing_ok=True)
        else:
            _replace(target, content, mode)
        sync_directory(target.parent)
    except OSError as error:
        raise TotalRecallError(f"cannot write {path}: {error.strerror}; check its owner and permissions") from error


def _replace(target: Path, content: bytes, mode: int) -> None:
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".total-recall.tmp", dir=target.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.chmod(mode)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def current(target: str, program: str | None) -> bytes | None:
    """What a file, or the crontab by its `program`, holds now. Raises TotalRecallError when it cannot be read."""
    if target != CRONTAB:
        return read(Path(target))
    return crontab.read(program) if program else None


def change(target: str, content: bytes | None, mode: int, program: str | None) -> None:
    """Give a file, or the crontab by its `program`, these bytes. Raises TotalRecallError."""
    if target != CRONTAB:
        put(Path(target), content, mode)
    elif program:
        crontab.write(program, content)
    else:
        raise TotalRecallError("there is no crontab command here any more; put it into PATH and run this again")
