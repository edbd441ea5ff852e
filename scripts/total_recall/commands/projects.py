"""Hosts beside OpenClaw: which of their stores are served, and where the memory of each project is.

A memory lies in its project, in `.total-recall/memory`, where only this user sees it and git never does. What that
folder cannot hold is kept under `~/.total-recall`: sessions of a project that is gone, or where nothing can be written,
or where somebody else has put a memory. `~/.total-recall/projects.json` says where each memory is, and one that lies in
a project carries the mark of this installation, which no stranger's repository can have.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from total_recall.errors import SettingError
from total_recall.host import claude_config
from total_recall.memory.files import read_file, write_file
from total_recall.sessions import claude_code
from total_recall.sessions.source import Problems, Watch, watch
from total_recall.sessions.transcript_files import Format, Scan, TranscriptFiles, project_of, scan
from total_recall.state import private_directory, sole

OWN: Final = ".total-recall"
REGISTRY: Final = "projects.json"
MARK: Final = "ours"
"""The file with a random number, in `~/.total-recall` and in each memory that was made in a project."""
_MARK_BYTES: Final = 16
VERSION: Final = 1
NOBODYS: Final = "# Made by Total Recall: what was said in conversations is nobody else's.\n*\n"
FIRST_LOOK: Final = timedelta(hours=24)
"""A project where nothing was said for so long when it is first seen is left as it is until something is."""
FORMS: Final = "none, or a comma list of hosts, each with =DIRECTORY for one memory of all its projects: claude-code"
_WAIT_SECONDS: Final = 10.0


def _never(_env: Mapping[str, str], _home: Path) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class OtherHost:
    """A host whose transcripts are files.

    `directory` is where they are. With `is_folder_of` there is a folder a project, and it tells whether one belongs to
    a directory; without, all of it is one store. `is_set_up` says that our hooks are in the host's file `settings`.
    """

    name: str
    form: Format
    directory: Callable[[Mapping[str, str], Path], Path]
    is_folder_of: Callable[[str, str], bool] | None = None
    is_set_up: Callable[[Mapping[str, str], Path], bool] = _never
    settings: Callable[[Mapping[str, str], Path], Path] | None = None


HOSTS: Final[tuple[OtherHost, ...]] = (
    OtherHost(
        "claude-code",
        claude_code.FORMAT,
        claude_config.projects_dir,
        claude_code.is_folder_of,
        claude_config.is_set_up,
        claude_config.settings_path,
    ),
)
"""A line for each host beside OpenClaw (docs/adding-a-host.md)."""


@dataclass(frozen=True, slots=True)
class Served:
    """A host that is served, and the one memory that was chosen for all its projects, if there is one."""

    host: OtherHost
    memory_dir: Path | None


@dataclass(frozen=True, slots=True)
class Store:
    """A store of another host: the transcripts of one project, or all of a host that does not tell projects apart.

    `project` is the directory that its sessions were started in. `since_ms` is where this memory begins.
    `is_foreign` says that the project has a memory that is not ours.
    """

    host: OtherHost
    folder: Path
    project: Path | None
    memory_dir: Path
    since_ms: int
    is_known: bool
    looked: Scan
    is_foreign: bool = False

    def source(self, latest_ms: int) -> TranscriptFiles:
        return TranscriptFiles(
            self.host.form, self.folder, latest_ms=latest_ms, since_ms=self.since_ms, looked=self.looked
        )


def served(value: str, env: Mapping[str, str], home: Path, wanted: Collection[str] = ()) -> tuple[Served, ...]:
    """The hosts to serve by TOTAL_RECALL_HOSTS; when it is empty, those that are set up. `wanted` are served anyway.

    Raises SettingError for a value that is none of `FORMS`.
    """
    if not value or value == "none":
        up = [host for host in HOSTS if host.name in wanted or (not value and host.is_set_up(env, home))]
        return tuple(Served(host, None) for host in up)
    by_name = {host.name: host for host in HOSTS}
    chosen: dict[str, Served] = {}
    for piece in (piece.strip() for piece in value.split(",")):
        name, equals, directory = (part.strip() for part in piece.partition("="))
        if name not in by_name or (equals and not directory):
            raise SettingError(f"TOTAL_RECALL_HOSTS has {piece!r}; it must be {FORMS}")
        memory_dir = home / directory[2:] if directory.startswith("~/") else Path(directory).absolute()
        chosen[name] = Served(by_name[name], memory_dir if directory else None)
    for host in HOSTS:
        if host.name in wanted:
            chosen.setdefault(host.name, Served(host, None))
    return tuple(chosen.values())


class Projects:
    """The stores of the hosts that are served, and what is known of them."""

    def __init__(self, home: Path, env: Mapping[str, str], elsewhere: Iterable[Path] = ()) -> None:
        self._home = home
        self._env = env
        # What OpenClaw's agents do with a host's command line stands in OpenClaw's own stores.
        self._elsewhere = {path.resolve() for path in elsewhere}
        self._known = load(home)
        self._mark = read_file(home / OWN / MARK)

    def stores(self, one: Served, since_ms: int, unserved: list[Watch]) -> Iterator[Store]:
        """Every store that was served before, or where something was said since; nothing is made.

        What the others look like goes to `unserved`, so that a change there can be noticed.
        """
        root = one.host.directory(self._env, self._home)
        if one.host.is_folder_of is None:
            store = self._store(one, root, since_ms, unserved)
            if store is not None:
                yield store
            return
        unserved.append(watch(root))
        for name in folders(root):
            store = self._store(one, root / name, since_ms, unserved)
            if store is not None:
                yield store

    def of_directory(self, one: Served, directory: Path, since_ms: int) -> Store | None:
        """The store of the project at a directory, also when nothing is in it yet; None when that is impossible.

        `directory` may be the host's own folder for the project too.
        """
        root, is_folder_of = one.host.directory(self._env, self._home), one.host.is_folder_of
        if is_folder_of is None:
            return None
        if directory.parent == root:
            return self._store(one, directory, since_ms, [])
        named = [root / name for name in folders(root) if is_folder_of(name, str(directory))]
        folder = next((path for path in named if str(path) in self._known), named[0] if named else None)
        if folder is None:
            folder = root / claude_code.folder_name(str(directory))
        return self._placed(one, folder, directory, since_ms, scan(folder, one.host.form, Problems()))

    def above(self, directory: Path) -> Path | None:
        """The nearest project that is known to be served: the directory itself, or one above it."""
        projects = {str(entry.get("project")) for entry in self._known.values()}
        return next((path for path in (directory, *directory.parents) if str(path) in projects), None)

    def _store(self, one: Served, folder: Path, since_ms: int, unserved: list[Watch]) -> Store | None:
        looked = scan(folder, one.host.form, Problems())
        entry = self._known.get(str(folder))
        if entry is None and looked.newest_ms < max(1, since_ms):
            unserved += looked.watches
            return None
        directory = _directory(entry.get("project")) if entry is not None else None
        if entry is None and one.host.is_folder_of is not None:
            directory = self._project(one.host, folder, looked)
            if directory is None:
                # Nothing says yet whose it is.
                unserved += looked.watches
                return None
        if directory is not None and directory.resolve() in self._elsewhere:
            unserved += looked.watches
            return None
        store = self._placed(one, folder, directory, since_ms, looked)
        is_gone = directory is not None and not directory.is_dir()
        if is_gone and looked.newest_ms < since_ms and not store.memory_dir.is_dir():
            # Its memory may have gone with it; nothing that is new asks for another one.
            unserved += looked.watches
            return None
        return store

    def _project(self, host: OtherHost, folder: Path, looked: Scan) -> Path | None:
        is_folder_of = host.is_folder_of
        accept = (lambda cwd: is_folder_of(folder.name, cwd)) if is_folder_of is not None else (lambda _cwd: True)
        return _directory(project_of(looked.found, host.form, accept))

    def _placed(self, one: Served, folder: Path, project: Path | None, since_ms: int, looked: Scan) -> Store:
        entry = self._known.get(str(folder))
        begun = entry.get("since_ms") if entry is not None else None
        begun = min(begun, since_ms) if isinstance(begun, int) else since_ms
        memory_dir, is_foreign = self._memory(one, folder, project, entry)
        return Store(one.host, folder, project, memory_dir, begun, entry is not None, looked, is_foreign)

    def _memory(
        self, one: Served, folder: Path, project: Path | None, entry: Mapping[str, Any] | None
    ) -> tuple[Path, bool]:
        """(Where the memory is, whether the project has one that is not ours.)"""
        if one.memory_dir is not None:
            return one.memory_dir, False
        central = self._home / OWN
        if project is None:
            return central / one.host.name / "memory", False
        if project == self._home:
            return central / "memory", False
        kept = central / "projects" / folder.name / "memory"
        inside = project / OWN
        if entry is not None and entry.get("memory") != str(inside / "memory"):
            recorded = _directory(entry.get("memory"))
            return (recorded if recorded is not None and recorded.is_relative_to(central) else kept), False
        if not project.is_dir() or inside.is_symlink():
            return kept, False
        if entry is None and os.path.lexists(inside) and not self._is_ours(inside / "memory"):
            return kept, True
        return (inside / "memory", False) if os.access(project, os.W_OK | os.X_OK) else (kept, False)


    def _is_ours(self, memory_dir: Path) -> bool:
        return self._mark is not None and read_file(memory_dir / OWN / MARK) == self._mark


def folders(root: Path) -> list[str]:
    """The names of the folders in a host's directory; none when it is not there."""
    try:
        with os.scandir(root) as entries:
            return sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return []


def registry(home: Path) -> Path:
    """The file that says which memories are ours."""
    return home / OWN / REGISTRY


def load(home: Path) -> dict[str, dict[str, Any]]:
    """What is known of each store, by its folder. What cannot be read is as if it were not known."""
    content = read_file(registry(home))
    try:
        stores = json.loads(content)["stores"] if content else {}
        return {str(folder): dict(entry) for folder, entry in stores.items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        return {}


def keep(home: Path, stores: Iterable[Store]) -> None:
    """Write down where the memory of each of these stores is, and keep git from those that lie in a project.

    To be called before anything is written to a memory. Raises MemoryWriteError, AlreadyRunning.
    """
    new = [store for store in stores if not store.is_known]
    if not new:
        return
    hide(home / OWN)
    with sole("projects", home / OWN, _WAIT_SECONDS):
        mark = read_file(home / OWN / MARK)
        if mark is None:
            mark = secrets.token_hex(_MARK_BYTES).encode()
            write_file(home / OWN / MARK, mark)
        for store in new:
            if store.project is not None and store.memory_dir == store.project / OWN / "memory":
                hide(store.memory_dir.parent)
                write_file(store.memory_dir / OWN / MARK, mark)
        known = load(home)
        for store in new:
            known[str(store.folder)] = {
                "host": store.host.name,
                "project": None if store.project is None else str(store.project),
                "memory": str(store.memory_dir),
                "since_ms": store.since_ms,
            }
        text = json.dumps({"version": VERSION, "stores": known}, ensure_ascii=False, indent=1)
        write_file(registry(home), f"{text}\n".encode("utf-8", "surrogateescape"))


def hide(folder: Path) -> None:
    """Keep git from everything in a folder, which is made for the owner alone. Raises MemoryWriteError."""
    private_directory(folder)
    if not (folder / ".gitignore").exists():
        write_file(folder / ".gitignore", NOBODYS.encode())


def _directory(value: object) -> Path | None:
    return Path(value) if isinstance(value, str) and value.startswith("/") else None
