"""What is written is the owner's alone and stays where it belongs, whatever the umask, whatever was brought along."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import attack
from builders import NOW, Home, said
from injections import STANDING
from total_recall.confined import OWN_FOLDERS, refuse_links
from total_recall.errors import MemoryWriteError, StoreError
from total_recall.memory.archive import Archive
from total_recall.memory.document import parse
from total_recall.memory.reflection import Removal
from total_recall.memory.store import MemoryStore
from total_recall.recall import database as recall_database
from total_recall.sidecar.database import Events
from total_recall.state import State

RUN = Path(__file__).parents[2] / "scripts" / "run.py"
COMMANDS: tuple[tuple[str, ...], ...] = (
    ("observe", "--all"),
    ("recall", "dentist"),
    ("context",),
    ("reflect", "--force"),
    ("undo", "reflect"),
    ("status",),
    ("doctor",),
    ("recover",),
    ("flush",),
    ("log", "ingest"),
    ("dream",),
    ("forecast",),
)
"""One after the other on one memory; those that this version does not have are left out."""


def known() -> set[str]:
    from total_recall.cli import COMMANDS as there

    return set(there)


def run(home: Path, *argv: str, umask: int = 0o022) -> subprocess.CompletedProcess[str]:
    environment = {"HOME": str(home), "PATH": os.environ["PATH"], "TOTAL_RECALL_TZ": "UTC", "TMPDIR": str(home / "tmp")}
    (home / "tmp").mkdir(exist_ok=True)
    return subprocess.run(
        [sys.executable, "-I", "-X", "utf8", str(RUN), *argv],
        env=environment, capture_output=True, text=True, timeout=120, check=False, umask=umask,
    )  # fmt: skip


def conversation(home: Path) -> Path:
    host = Home(home / ".openclaw", home / "unused")
    plumber = "The plumber of house {0} comes on 2026-12-0{0} and wants {0}40 EUR."
    talk = [said(f"m{n}", plumber.format(n), n) for n in range(1, 9)]
    host.write(said("a1", attack.PLAIN, 1), *talk)
    return home / ".openclaw" / "workspace" / "memory"


def open_to_others(*roots: Path) -> Iterator[str]:
    for root in filter(Path.exists, roots):
        for path in (root, *root.rglob("*")):
            mode = stat.S_IMODE(path.lstat().st_mode)
            if mode & 0o077:
                yield f"{path}: {mode:o}"


@pytest.mark.parametrize("umask", [0o022, 0o000, 0o077])
def test_all_that_the_commands_leave_is_the_owners_alone(umask: int, home: Path) -> None:
    memory = conversation(home)
    there = known()
    for argv in COMMANDS:
        if argv[0] in there:
            done = run(home, *argv, umask=umask)
            assert done.returncode in (0, 1), done.stderr
            left = [*open_to_others(memory, memory.parent / "logs", home / ".cache" / "total-recall" / "gate")]
            assert left == [], f"after {argv}"
    assert (memory / "observations.md").stat().st_size and list((memory / ".total-recall").iterdir())


def test_temporary_files_are_private_while_they_are_there(home: Path) -> None:
    """Each step of a write shows what lies in the directories at that moment."""
    memory = home / "memory"
    seen: set[str] = set()

    def step(_name: str) -> None:
        seen.update(path.name for path in memory.rglob("*"))
        assert [*open_to_others(*memory.rglob("*"))] == []

    before = os.umask(0)
    try:
        store = MemoryStore(memory, step)
        with store.lock():
            store.replace(b"- one\n", store.read().sha256)
            store.replace(b"- two\n", store.read().sha256)
    finally:
        os.umask(before)
    assert any(name.endswith((".tmp", ".swap")) for name in seen)


# --- links


@pytest.mark.parametrize("name", [name for name in OWN_FOLDERS if "/" not in name])
def test_no_folder_of_ours_is_a_link_out(name: str, home: Path, tmp_path: Path) -> None:
    memory, outside = conversation(home), tmp_path / "outside"
    memory.mkdir(parents=True)
    outside.mkdir()
    (memory / name).symlink_to(outside)
    for argv in (("observe", "--all"), ("recall", "dentist")):
        done = run(home, *argv)
        assert done.returncode == 1 and str(memory / name) in done.stderr and "MEMORY_DIR" in done.stderr
    run(home, "reflect", "--force")
    assert [*outside.iterdir()] == []


@pytest.mark.parametrize(
    "name", ["state.sqlite", "recall.sqlite", "events.sqlite", "document.lock", "observer.lock", "context.txt"]
)
def test_no_file_of_ours_is_a_link_out(name: str, home: Path, tmp_path: Path) -> None:
    memory, target = conversation(home), tmp_path / "profile"
    target.write_text("export A=1\n")
    (memory / ".total-recall").mkdir(parents=True)
    (memory / ".total-recall" / name).symlink_to(target)
    done = run(home, "observe", "--all")
    assert done.returncode == 1 and name in done.stderr
    assert target.read_text() == "export A=1\n"


@pytest.mark.parametrize("name", [".observer-last-run", ".observer-last-hash"])
def test_no_stamp_is_written_through_a_link(name: str, home: Path, tmp_path: Path) -> None:
    memory, target = conversation(home), tmp_path / "profile"
    target.write_text("export A=1\n")
    memory.mkdir(parents=True)
    (memory / name).symlink_to(target)
    run(home, "observe", "--all")
    assert target.read_text() == "export A=1\n"


def test_no_log_is_written_through_a_link(home: Path, tmp_path: Path) -> None:
    memory, target = conversation(home), tmp_path / "profile"
    target.write_text("export A=1\n")
    (memory.parent / "logs").mkdir(parents=True)
    (memory.parent / "logs" / "observer.log").symlink_to(target)
    assert run(home, "observe", "--all").returncode == 0, "a log never stops a run"
    assert target.read_text() == "export A=1\n"


def test_no_archive_is_written_through_a_link(tmp_path: Path) -> None:
    target = tmp_path / "profile"
    target.write_text("export A=1\n")
    folder = tmp_path / "memory" / "archive" / "observations"
    folder.mkdir(parents=True)
    (folder / "2026-11-30.md").symlink_to(target)
    line = STANDING[0]
    (entry,) = parse(line.encode()).observations
    with pytest.raises(MemoryWriteError, match="2026-11-30"):
        Archive(tmp_path / "memory").add([Removal(entry, line, "dropped", "test", None)], NOW.date())
    assert target.read_text() == "export A=1\n"


@pytest.mark.parametrize("target", ["id_rsa", ".bashrc", "notes.txt", "passwd"])
def test_a_linked_document_leads_to_markdown_or_nowhere(target: str, home: Path, tmp_path: Path) -> None:
    """A link to a synced Markdown file is somebody's wish; one to a key came with a pull."""
    memory, elsewhere = conversation(home), tmp_path / target
    elsewhere.write_text("secret words\n")
    memory.mkdir(parents=True)
    (memory / "observations.md").symlink_to(elsewhere)
    for argv in (("observe", "--all"), ("context",), ("recall", "secret"), ("reflect", "--force")):
        done = run(home, *argv)
        assert done.returncode == 1 and "no Markdown file" in done.stderr and "secret words" not in done.stdout
    assert elsewhere.read_text() == "secret words\n"


def test_the_memory_directory_itself_may_be_a_link(home: Path, tmp_path: Path) -> None:
    memory = conversation(home)
    real = tmp_path / "elsewhere"
    real.mkdir(mode=0o700)
    memory.parent.mkdir(parents=True)
    memory.symlink_to(real)
    assert run(home, "observe", "--all").returncode == 0
    assert (real / "observations.md").stat().st_size and memory.is_symlink()


def test_links_inside_the_memory_stay_links(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "archive").symlink_to("real")
    (tmp_path / "my note.md").symlink_to("/etc/hostname")
    refuse_links(tmp_path)
    (tmp_path / "dream-logs").symlink_to("../..")
    with pytest.raises(MemoryWriteError, match="dream-logs"):
        refuse_links(tmp_path)


# --- databases


HOSTILE = (
    "CREATE TABLE stolen (text)",
    "CREATE TABLE victim (text)",
    "CREATE TRIGGER t AFTER INSERT ON victim BEGIN INSERT INTO stolen VALUES (new.text); END",
)
VIEW = ("CREATE VIEW message_view AS SELECT load_extension('/tmp/x.so')",)


def hostile(path: Path, statements: tuple[str, ...]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    db = sqlite3.connect(path)
    for statement in statements:
        db.execute(statement)
    db.commit()
    db.close()


@pytest.mark.parametrize("statements", [HOSTILE, VIEW], ids=["trigger", "view"])
def test_a_state_that_brings_a_program_is_refused(statements: tuple[str, ...], tmp_path: Path) -> None:
    with State.open(tmp_path / ".total-recall"):
        pass
    hostile(tmp_path / ".total-recall" / "state.sqlite", statements)
    for opened in (State.open, State.open_copy):
        with pytest.raises(StoreError, match=r"state\.sqlite has a (?:trigger|view)"):
            opened(tmp_path / ".total-recall")


@pytest.mark.parametrize("statements", [HOSTILE, VIEW], ids=["trigger", "view"])
def test_an_index_that_brings_a_program_is_refused(statements: tuple[str, ...], tmp_path: Path) -> None:
    hostile(tmp_path / ".total-recall" / recall_database.NAME, statements)
    with pytest.raises(StoreError, match=r"has a (?:trigger|view)"):
        recall_database.using(tmp_path / ".total-recall", lambda db: None)


@pytest.mark.parametrize("statements", [HOSTILE, VIEW], ids=["trigger", "view"])
def test_a_log_that_brings_a_program_is_refused(statements: tuple[str, ...], tmp_path: Path) -> None:
    hostile(tmp_path / ".total-recall" / "events.sqlite", statements)
    for opened in (Events.open, Events.open_readonly):
        with pytest.raises(StoreError, match=r"has a (?:trigger|view)"):
            opened(tmp_path / ".total-recall")


def test_a_hosts_database_of_views_is_no_store(home: Path) -> None:
    """What stands where a table should is not asked: it could be any query."""
    conversation(home)
    path = home / ".openclaw" / "agents" / "main" / "agent" / "openclaw-agent.sqlite"
    path.parent.mkdir(parents=True)
    shutil.rmtree(home / ".openclaw" / "agents" / "main" / "sessions")
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)"
    hostile(path, (f"CREATE VIEW transcript_events AS {endless} SELECT 's' AS session_id, x AS seq FROM n",
                   "CREATE TABLE session_windows (session_id TEXT, session_key TEXT)"))  # fmt: skip
    done = run(home, "observe", "--all")
    assert done.returncode in (0, 1) and "Traceback" not in done.stderr


def test_every_connection_is_guarded() -> None:
    """Wherever a file's database is opened, `guard` or the pragma itself is called in the same function."""
    package = RUN.parent / "total_recall"
    bare = []
    for path in sorted(package.rglob("*.py")):
        source = path.read_text("utf-8")
        opened = source.count("sqlite3.connect(") - source.count('sqlite3.connect(":memory:"')
        guarded = source.count("guard(db)") + source.count("guard(database)") + source.count("trusted_schema = OFF")
        if opened and not guarded:
            bare.append(path.name)
    assert bare == []
    assert not [p for p in package.rglob("*.py") if "enable_load_extension" in p.read_text("utf-8")]
