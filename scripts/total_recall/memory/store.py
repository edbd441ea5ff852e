"""observations.md on disk: read it with its hash, replace it only while the hash still holds.

A person, a sync client or another tool may write the file at any moment and knows nothing of our lock.
The new text is therefore *exchanged* with the old file in one step (Linux `renameat2`, macOS `renamex_np`),
and what came out is compared with what was expected: an edit of the last microsecond, in place or by
rename, is then in our hands, goes back to its place, and the caller merges. Where the file system cannot
exchange, a hard link keeps the old file for the same comparison; that finds edits in place only.

What remains: an editor that opened the old file before the exchange and writes only after the comparison
(without exchange also one that renames its file over ours between check and rename).
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import functools
import hashlib
import itertools
import os
import re
import secrets
import stat
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from total_recall.confined import NO_LINK, markdown_only, refuse_links
from total_recall.errors import MemoryWriteError

DOCUMENT_NAME = "observations.md"
LOCK_TIMEOUT_SECONDS = 10.0
KEPT_BACKUPS = 10
BACKUPS = "observation-backups"

_LOCK_POLL_SECONDS = 0.02
_DIRECTORY_MODE = 0o700
_FILE_MODE = 0o600
_AT_FDCWD = -100  # linux/fcntl.h
_RENAME_EXCHANGE = 2  # linux/fs.h
_RENAME_SWAP = 2  # macOS sys/stdio.h
_BACKUP_TIME = "%Y-%m-%dT%H-%M-%SZ"
_BACKUP = re.compile(
    r"(?P<at>[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}-[0-9]{2}-[0-9]{2}Z)(?:-(?P<number>[0-9]+))?\.md\.bak"
)
_LEFTOVER = re.compile(r"\..+\.total-recall-(?:[0-9a-f]{16}\.tmp|(?P<old>[0-9a-f]{32})-(?P<new>[0-9a-f]{32})\.swap)")
_ADVICE = {
    errno.ENOSPC: "free some disk space",
    errno.EDQUOT: "free some of your disk quota",
    errno.EFBIG: "raise the limit on file sizes (ulimit -f)",
    errno.EACCES: "give your user write permission there, or set MEMORY_DIR to a folder of yours",
    errno.EPERM: "give your user write permission there, or set MEMORY_DIR to a folder of yours",
    errno.EROFS: "mount it writable, or set MEMORY_DIR to a writable folder",
    errno.EIO: "check the disk",
    errno.EBUSY: "mount the folder instead of the single file, or end the program that holds it",
    errno.ENOENT: "make the missing folder",
    errno.ELOOP: "remove the link that leads back to itself",
    errno.ENOTDIR: "make it a folder",
    errno.EISDIR: "move the folder of that name away",
    errno.ENOLCK: "set MEMORY_DIR to a file system that has locks",
}
_CANNOT = frozenset({errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EPERM, errno.EMLINK})
"""What a kernel or file system answers that has no exchange, no hard links or no fsync of directories."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The document's bytes at one moment and their SHA-256 in hex; a missing file is empty."""

    content: bytes
    sha256: str


@dataclass(frozen=True, slots=True)
class Replaced:
    """The document is the new one, on disk and synced."""

    sha256: str


@dataclass(frozen=True, slots=True)
class Changed:
    """Somebody else wrote the document; it is theirs, `current`. Apply your change to that and replace again.

    `rescued` are backups of edits that could not go back because yet another version stood there.
    """

    current: Snapshot
    rescued: tuple[Path, ...] = ()


def _no_step(name: str) -> None:
    pass


@dataclass(frozen=True, slots=True)
class MemoryStore:
    """The memory document of one memory directory.

    When observations.md is a symbolic link, the file that it leads to is replaced and the link stays.
    `step` is called with a name before each system-level step (tests end the process there).
    Everything raises MemoryWriteError: one line that says what failed, where, and what to do.
    """

    memory_dir: Path
    step: Callable[[str], None] = _no_step
    backups: str = BACKUPS
    """The folder in the memory directory that backups go to."""

    @property
    def path(self) -> Path:
        return self.memory_dir / DOCUMENT_NAME

    @property
    def backup_dir(self) -> Path:
        return self.memory_dir / self.backups

    def read(self) -> Snapshot:
        """The document now. Needs no lock and changes nothing."""
        with _explained("read", self.path):
            return _snapshot(_read(self._target()))

    @contextlib.contextmanager
    def lock(self, timeout_seconds: float = LOCK_TIMEOUT_SECONDS) -> Iterator[tuple[Path, ...]]:
        """Hold the document's lock, for a read, change and replace; never while a model thinks.

        Makes the directories. Tidies up after a killed process: an edit that it was about to give back
        goes back, so read the document after this, not before. Yields the backups made of edits that
        could not go back (see `Changed.rescued`), nearly always none.

        Raises MemoryWriteError when another process keeps the lock for `timeout_seconds`.
        """
        state_dir = self.memory_dir / ".total-recall"
        refuse_links(self.memory_dir)
        with _explained("make", state_dir):
            self._make_directory(state_dir)
        descriptor = self._wait_for_lock(state_dir / "document.lock", timeout_seconds)
        try:
            with _explained("tidy up", self.memory_dir):
                rescued = self._clear_leftovers(self._target())
            yield rescued
        finally:
            os.close(descriptor)

    def replace(self, new: bytes, expected: str) -> Replaced | Changed:
        """Make `new` the document if its SHA-256 is still `expected`. Hold the lock.

        After Replaced the new document survives a power cut; after Changed or an error the document is
        somebody's whole version, never half of one. Mode and owner of an existing file are kept (the
        owner when root), extended attributes are not.
        """
        with _explained("write", self.path):
            target = self._target()
            like = _stat(target)
            new_hash = _sha256(new)
            rescued: tuple[Path, ...] = ()
            with self._temporary(target, new, like) as temporary:
                self.step("compare")
                is_missing = _stat(target) is None
                current = _snapshot(_read(target))
                if current.sha256 != expected:
                    return Changed(current)
                if is_missing:
                    self.step("link")
                    with contextlib.suppress(FileExistsError):
                        _link_or_rename(temporary, target)
                elif new_hash != expected:
                    displaced = target.with_name(f"{_prefix(target)}{_short(expected)}-{_short(new_hash)}.swap")
                    try:
                        self._swap(temporary, target, displaced)
                    finally:
                        rescued = self._settle(displaced, target)
            self.step("sync directory")
            sync_directory(target.parent)
            current = _snapshot(_read(target))
            return Replaced(new_hash) if current.sha256 == new_hash else Changed(current, rescued)

    def backup(self, now: datetime, keep: int = KEPT_BACKUPS) -> Path | None:
        """Copy the document to the backups' folder as <UTC time>.md.bak and keep the newest `keep` of them.

        Returns the copy, or None when there is no document. Hold the lock. `now` is aware.
        """
        with _explained("back up", self.path):
            content = _read(self._target())
            if not content:
                return None
            copy = self._save_backup(now.astimezone(timezone.utc).strftime(_BACKUP_TIME), content)
            others = [m for p in self.backup_dir.iterdir() if (m := _BACKUP.fullmatch(p.name)) and p != copy]
            others.sort(key=lambda m: (m["at"], int(m["number"] or 0)))
            for old in others[: max(0, len(others) + 1 - keep)]:
                self.step("remove old backup")
                (self.backup_dir / old.string).unlink(missing_ok=True)
            return copy

    def _target(self) -> Path:
        """The file itself; the folder that a link leads to must be there (a sync folder may be offline)."""
        target = Path(os.path.realpath(self.path))
        if self.path.is_symlink():
            if not target.parent.is_dir():
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(target.parent))
            markdown_only(self.path)
        return target

    def _make_directory(self, path: Path) -> None:
        """With its parents; ours are 0700 whatever the umask is, existing ones keep their mode."""
        if path.is_dir():
            return
        if path.parent != path:
            self._make_directory(path.parent)
        self.step("make directory")
        try:
            path.mkdir(_DIRECTORY_MODE)
        except FileExistsError:
            if path.is_dir():  # made by another process just now
                return
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path)) from None
        path.chmod(_DIRECTORY_MODE)
        sync_directory(path.parent)

    def _wait_for_lock(self, path: Path, timeout_seconds: float) -> int:
        deadline = time.monotonic() + timeout_seconds
        with _explained("lock", path):
            while (descriptor := self._try_lock(path)) is None:
                if time.monotonic() >= deadline:
                    raise MemoryWriteError(
                        f"Another process holds {path} for over {timeout_seconds:g} s: "
                        "wait for it or end it, then run again"
                    )
                time.sleep(_LOCK_POLL_SECONDS)  # flock has no timeout, and an alarm belongs to the main program
        return descriptor

    def _try_lock(self, path: Path) -> int | None:
        self.step("lock")
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | NO_LINK, _FILE_MODE)
        try:
            os.fchmod(descriptor, _FILE_MODE)
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            named = _stat(path)
            # Somebody may have removed the file while we waited: a lock on it would guard nothing.
            is_current = named is not None and os.path.samestat(os.fstat(descriptor), named)
        except BlockingIOError:
            is_current = False
        except OSError:
            os.close(descriptor)
            raise
        if not is_current:
            os.close(descriptor)
            return None
        return descriptor

    @contextlib.contextmanager
    def _temporary(self, target: Path, content: bytes, like: os.stat_result | None = None) -> Iterator[Path]:
        """A synced file with the content, beside the target; gone at the end unless renamed."""
        path = target.with_name(f"{_prefix(target)}{secrets.token_hex(8)}.tmp")
        try:
            self.step("create")
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _FILE_MODE)
            with os.fdopen(descriptor, "wb", buffering=0) as file:
                self.step("write")
                rest = memoryview(content)
                while rest:
                    rest = rest[file.write(rest) or 0 :]
                if like is not None and os.geteuid() == 0:
                    os.fchown(descriptor, like.st_uid, like.st_gid)
                os.fchmod(descriptor, stat.S_IMODE(like.st_mode) if like is not None else _FILE_MODE)
                self.step("sync")
                _sync(descriptor)
            yield path
        finally:
            path.unlink(missing_ok=True)

    def _swap(self, temporary: Path, target: Path, displaced: Path) -> None:
        """Put the temporary file in the target's place, and what was there under the name `displaced`.

        Does nothing when the target is gone. Whatever `displaced` then holds, `_settle` knows what to do.
        """
        self.step("name")
        temporary.rename(displaced)
        with contextlib.suppress(FileNotFoundError):
            self.step("exchange")
            if _exchange(displaced, target):
                return
            displaced.rename(temporary)
            self.step("link")
            with _tolerated():
                os.link(target, displaced)
            self.step("rename")
            temporary.replace(target)

    def _settle(self, displaced: Path, target: Path) -> tuple[Path, ...]:
        """Remove `displaced` if it holds what its name says, else it holds an edit: give that back its place.

        Returns the backup made of it when a third version stands in that place.
        """
        self.step("check displaced")
        name = _LEFTOVER.fullmatch(displaced.name)
        if name is None or _stat(displaced) is None:
            return ()
        if _short(_sha256(_read(displaced))) not in (name["old"], name["new"]):
            if _short(_sha256(_read(target))) == name["new"]:
                self.step("give back")
                if not _exchange(displaced, target):
                    displaced.replace(target)
                    return ()
            third = _read(displaced)
            if _short(_sha256(third)) != name["new"]:
                edited_at = datetime.fromtimestamp(displaced.stat().st_mtime, timezone.utc)
                backup = self._save_backup(f"{edited_at.strftime(_BACKUP_TIME)}-edit", third)
                displaced.unlink()
                return (backup,)
        self.step("remove displaced")
        displaced.unlink(missing_ok=True)
        return ()

    def _clear_leftovers(self, target: Path) -> tuple[Path, ...]:
        """Finish or remove what a killed process left beside the document and its backups."""
        rescued: tuple[Path, ...] = ()
        for directory in {target.parent, self.backup_dir}:
            for path in sorted(directory.iterdir()) if directory.is_dir() else ():
                name = _LEFTOVER.fullmatch(path.name)
                if name is None or (directory == target.parent and not path.name.startswith(_prefix(target))):
                    continue
                if name["new"] is not None:
                    rescued += self._settle(path, target)
                else:
                    self.step("remove leftover")
                    path.unlink(missing_ok=True)
        return rescued

    def _save_backup(self, stamp: str, content: bytes) -> Path:
        self._make_directory(self.backup_dir)
        for number in itertools.count():
            path = self.backup_dir / f"{stamp}{f'-{number}' if number else ''}.md.bak"
            with contextlib.suppress(FileExistsError), self._temporary(path, content) as temporary:
                self.step("link backup")
                _link_or_rename(temporary, path)
                break
        sync_directory(self.backup_dir)
        return path


@contextlib.contextmanager
def _explained(verb: str, path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        where = str(path)
        if error.errno in (errno.ENOENT, errno.ENOTDIR) and error.filename not in (None, where):
            where += f" ({error.filename})"
        advice = _ADVICE.get(error.errno or 0, "see to it")
        line = f"Cannot {verb} {where}: {error.strerror or error}; {advice} and run again"
        raise MemoryWriteError(" ".join(line.splitlines())) from error


@contextlib.contextmanager
def _tolerated() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in _CANNOT:
            raise


def _exchange(one: Path, other: Path) -> bool:
    """Let two names trade their files in one step; False when system or file system cannot."""
    exchange = _exchange_function()
    number = errno.ENOSYS if exchange is None else exchange(os.fsencode(one), os.fsencode(other))
    if number and number not in _CANNOT:
        raise OSError(number, os.strerror(number), str(one), None, str(other))
    return not number


@functools.lru_cache(maxsize=1)
def _exchange_function() -> Callable[[bytes, bytes], int] | None:
    """The C library's call as a function of two paths that returns an errno, 0 for success."""
    import ctypes  # only a write pays for loading it

    library = ctypes.CDLL(None, use_errno=True)
    try:
        call = library.renamex_np if sys.platform == "darwin" else library.renameat2
    except AttributeError:  # older musl, BSD
        return None

    def exchange(one: bytes, other: bytes) -> int:
        if sys.platform == "darwin":
            failed = call(one, other, ctypes.c_uint(_RENAME_SWAP))
        else:
            failed = call(_AT_FDCWD, one, _AT_FDCWD, other, ctypes.c_uint(_RENAME_EXCHANGE))
        return ctypes.get_errno() if failed else 0

    return exchange


def _link_or_rename(source: Path, name: Path) -> None:
    """Give the file a new name that must be free, by hard link where there are some."""
    try:
        os.link(source, name)
    except FileExistsError:
        raise
    except OSError as error:
        if error.errno not in _CANNOT:
            raise
        if _stat(name) is not None:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(name)) from error
        source.rename(name)


def _read(path: Path) -> bytes:
    """The file's bytes, none when it is missing. Other things than files (a pipe) are an error, not a wait."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return b""
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        return file.read()


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except FileNotFoundError:
        return None


def _sync(descriptor: int) -> None:
    """To the disk itself: on macOS fsync stops at the drive's cache."""
    full = getattr(fcntl, "F_FULLFSYNC", None)
    if full is not None:
        with _tolerated():
            fcntl.fcntl(descriptor, full)
            return
    os.fsync(descriptor)


def sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with _tolerated():
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _snapshot(content: bytes) -> Snapshot:
    return Snapshot(content, _sha256(content))


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _short(sha256: str) -> str:
    return sha256[:32]


def _prefix(target: Path) -> str:
    return f".{target.name}.total-recall-"
