from __future__ import annotations

import errno
import fcntl
import os
import resource
import shutil
import signal
import stat
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from hashlib import sha256
from pathlib import Path

import pytest

from total_recall.errors import MemoryWriteError
from total_recall.memory import store as store_module
from total_recall.memory.document import parse
from total_recall.memory.store import Changed, MemoryStore, Replaced, Snapshot
from total_recall.records import Observation

SCRIPTS = Path(__file__).parents[2] / "scripts"
NOW = datetime(2026, 11, 30, 9, 12, tzinfo=timezone.utc)
OLD = b"# Observations Log\n\nwritten by hand\n"
NEW = OLD + b"\n---\nDate: 2026-11-30\n- added\n"
EDIT = b"my own words\n"
EXCHANGE_STEPS = (
    "create", "write", "sync", "compare", "name", "exchange", "check displaced", "remove displaced", "sync directory",
)  # fmt: skip
LINK_STEPS = (*EXCHANGE_STEPS[:6], "link", "rename", *EXCHANGE_STEPS[6:])
CREATE_STEPS = (*EXCHANGE_STEPS[:4], "link", "sync directory")

Step = Callable[[str], None]
Edit = Callable[[Path], None]


def hash_of(content: bytes) -> str:
    return sha256(content).hexdigest()


@pytest.fixture
def store(tmp_path: Path) -> MemoryStore:
    store = MemoryStore(tmp_path / "memory")
    with store.lock():
        assert store.replace(OLD, hash_of(b"")) == Replaced(hash_of(OLD))
    return store


@pytest.fixture(params=["exchange", "link"])
def steps(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> tuple[str, ...]:
    """The steps of a replacement, where the system can exchange two files and where it cannot."""
    if request.param == "exchange":
        one, other = tmp_path / "one", tmp_path / "other"
        one.touch()
        other.touch()
        if not store_module._exchange(one, other):
            pytest.skip("this system cannot exchange two files in one step")
        return EXCHANGE_STEPS
    monkeypatch.setattr(store_module, "_exchange", lambda one, other: False)
    return LINK_STEPS


def at(wanted: str, act: Callable[[], object]) -> Step:
    """A step hook that acts once, before the first step of that name."""
    done: list[str] = []

    def step(name: str) -> None:
        if name == wanted and not done:
            done.append(name)
            act()

    return step


def with_step(store: MemoryStore, step: Step) -> MemoryStore:
    return MemoryStore(store.memory_dir, step)


def leftovers(store: MemoryStore) -> list[str]:
    known = {"observations.md", ".total-recall", "observation-backups"}
    beside = [p.name for p in store.memory_dir.iterdir() if p.name not in known]
    backups = store.backup_dir.iterdir() if store.backup_dir.is_dir() else ()
    return beside + [p.name for p in backups if not p.name.endswith(".md.bak")]


def observation(id: str) -> Observation:
    return Observation(id, f"text of {id}", NOW, "high", "fact", importance=7.0, confidence=0.9)


def add(store: MemoryStore, *ids: str) -> tuple[Path, ...]:
    """What the product does: read, add, replace, and when somebody else wrote meanwhile, add to theirs."""
    with store.lock() as rescued:
        snapshot = store.read()
        while True:
            new = parse(snapshot.content).with_observations([observation(id) for id in ids]).render()
            outcome = store.replace(new, expected=snapshot.sha256)
            if isinstance(outcome, Replaced):
                return rescued
            snapshot = outcome.current
            rescued += outcome.rescued


def edit_in_place(path: Path) -> None:
    with path.open("ab") as file:
        file.write(EDIT)


def edit_by_truncating(path: Path) -> None:
    content = path.read_bytes()
    with path.open("wb") as file:
        file.write(content + EDIT)


def edit_by_rename(path: Path) -> None:
    draft = path.with_name("draft~")
    draft.write_bytes(path.read_bytes() + EDIT)
    draft.replace(path)


EDITS = {"in place": edit_in_place, "by truncating": edit_by_truncating, "by rename": edit_by_rename}


# Reading, writing, permissions


def test_a_missing_document_is_empty(tmp_path: Path) -> None:
    assert MemoryStore(tmp_path / "none").read() == Snapshot(b"", hash_of(b""))
    assert not (tmp_path / "none").exists()


def test_a_document_is_replaced_and_nothing_else_is_left(store: MemoryStore, steps: tuple[str, ...]) -> None:
    with store.lock():
        assert store.replace(NEW, hash_of(OLD)) == Replaced(hash_of(NEW))
    assert store.read() == Snapshot(NEW, hash_of(NEW))
    assert leftovers(store) == []


def test_replacing_by_the_same_bytes_is_no_change(store: MemoryStore) -> None:
    before = store.path.stat()
    with store.lock():
        assert store.replace(OLD, hash_of(OLD)) == Replaced(hash_of(OLD))
    assert (store.path.stat().st_ino, store.path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o277])
def test_directories_are_0700_and_files_0600_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    store = MemoryStore(tmp_path / "workspace" / "memory")
    before = os.umask(umask)
    try:
        add(store, "a")
        with store.lock():
            copy = store.backup(NOW)
    finally:
        os.umask(before)
    assert copy is not None
    lock = store.memory_dir / ".total-recall" / "document.lock"
    files, directories = (store.path, copy, lock), (store.memory_dir.parent, store.memory_dir, copy.parent, lock.parent)
    assert {stat.S_IMODE(p.stat().st_mode) for p in files} == {0o600}
    assert {stat.S_IMODE(p.stat().st_mode) for p in directories} == {0o700}


def test_an_existing_file_keeps_its_mode_and_a_directory_too(store: MemoryStore, steps: tuple[str, ...]) -> None:
    store.path.chmod(0o640)
    store.memory_dir.chmod(0o755)
    add(store, "a")
    assert stat.S_IMODE(store.path.stat().st_mode) == 0o640
    assert stat.S_IMODE(store.memory_dir.stat().st_mode) == 0o755


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_root_leaves_the_file_to_its_owner(store: MemoryStore) -> None:
    os.chown(store.path, 12345, 23456)
    add(store, "a")
    assert (store.path.stat().st_uid, store.path.stat().st_gid) == (12345, 23456)


def test_a_document_without_write_bits_grows_and_keeps_its_mode(store: MemoryStore) -> None:
    """Copied from a read-only medium, say; the folder decides whether the memory may grow."""
    store.path.write_bytes(b"old\n")
    store.path.chmod(0o444)
    with store.lock():
        assert isinstance(store.replace(b"new\n", store.read().sha256), Replaced)
    assert store.path.read_bytes() == b"new\n"
    assert stat.S_IMODE(store.path.stat().st_mode) == 0o444


def test_steps_are_the_ones_that_are_tested(store: MemoryStore, steps: tuple[str, ...]) -> None:
    seen: list[str] = []
    with store.lock():
        with_step(store, seen.append).replace(NEW, hash_of(OLD))
        assert tuple(seen) == steps
        store.path.unlink()
        seen.clear()
        with_step(store, seen.append).replace(NEW, hash_of(b""))
        assert tuple(seen) == CREATE_STEPS


# Edits by others


def test_a_changed_document_is_not_replaced(store: MemoryStore) -> None:
    edit_in_place(store.path)
    with store.lock():
        assert store.replace(NEW, hash_of(OLD)) == Changed(Snapshot(OLD + EDIT, hash_of(OLD + EDIT)))
    assert store.path.read_bytes() == OLD + EDIT
    assert leftovers(store) == []


@pytest.mark.parametrize("kind", EDITS)
def test_an_edit_before_any_step_is_merged(store: MemoryStore, steps: tuple[str, ...], kind: str) -> None:
    for n, name in enumerate(steps):
        if steps is LINK_STEPS and name == "rename" and kind == "by rename":
            continue  # The window that the module names: no exchange, and a new file just before ours.
        store.path.write_bytes(OLD)
        assert add(with_step(store, at(name, lambda: EDITS[kind](store.path))), f"id{n}") == ()
        content = store.path.read_bytes()
        assert content.startswith(OLD.rstrip(b"\n")), name
        assert content.count(EDIT) == 1, name
        assert [entry.id for entry in parse(content).observations] == [f"id{n}"], name
        assert leftovers(store) == [], name


def test_an_editor_that_holds_the_old_file_open_is_heard(store: MemoryStore, steps: tuple[str, ...]) -> None:
    """It opened the file before the exchange and writes after it, into what is then the displaced file."""
    editor = store.path.open("ab")
    with editor:

        def write() -> None:
            editor.write(EDIT)
            editor.flush()

        add(with_step(store, at("check displaced", write)), "a")
    content = store.path.read_bytes()
    assert content.count(EDIT) == content.count(b"dc:id=a ") == 1


def test_a_document_created_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    store = MemoryStore(tmp_path)
    add(with_step(store, at("link", lambda: store.path.write_bytes(EDIT))), "a")
    content = store.path.read_bytes()
    assert content.startswith(EDIT)
    assert b"dc:id=a " in content


@pytest.mark.parametrize("name", ["compare", "exchange", "check displaced"])
def test_a_document_deleted_meanwhile_stays_deleted(store: MemoryStore, steps: tuple[str, ...], name: str) -> None:
    with store.lock():
        outcome = with_step(store, at(name, store.path.unlink)).replace(NEW, hash_of(OLD))
    assert outcome == Changed(Snapshot(b"", hash_of(b"")))
    assert not store.path.exists()
    assert leftovers(store) == []


def test_of_two_edits_at_once_one_stands_and_the_other_is_a_backup(store: MemoryStore, steps: tuple[str, ...]) -> None:
    def step(name: str) -> None:
        if name == "exchange":
            edit_in_place(store.path)
        elif name == "check displaced":
            store.path.write_bytes(b"quite another version\n")

    with store.lock():
        outcome = with_step(store, step).replace(NEW, hash_of(OLD))
    assert isinstance(outcome, Changed)
    assert outcome.current.content == store.path.read_bytes() == b"quite another version\n"
    assert [path.read_bytes() for path in outcome.rescued] == [OLD + EDIT]
    assert leftovers(store) == []


def test_an_edit_while_another_is_given_back_is_a_backup(store: MemoryStore, steps: tuple[str, ...]) -> None:
    if steps is LINK_STEPS:
        pytest.skip("the window that the module names")

    hooks = [
        at("exchange", lambda: edit_in_place(store.path)),
        at("give back", lambda: store.path.write_bytes(b"third\n")),
    ]

    def step(name: str) -> None:
        for hook in hooks:
            hook(name)

    rescued = add(with_step(store, step), "a")
    assert [path.read_bytes() for path in rescued] == [b"third\n"]
    assert store.path.read_bytes().count(EDIT) == 1
    assert leftovers(store) == []


# Killed


CHILD = f"""
import os, signal, sys
from pathlib import Path
sys.path.insert(0, {str(SCRIPTS)!r})
from total_recall.memory import store as module

memory, at, edit, can_exchange = sys.argv[1:5]
content = sys.stdin.buffer.read()
if can_exchange == "no":
    module._exchange = lambda one, other: False

def step(name):
    if name == at:
        if edit == "yes":
            with (Path(memory) / "observations.md").open("ab") as file:
                file.write({EDIT!r})
        os.kill(os.getpid(), signal.SIGKILL)

store = module.MemoryStore(Path(memory), step)
with store.lock():
    print(type(store.replace(content, store.read().sha256)).__name__)
"""


def run_child(memory: Path, at: str, edit: str, can_exchange: str, content: bytes) -> int:
    command = [sys.executable, "-I", "-B", "-c", CHILD, str(memory), at, edit, can_exchange]
    return subprocess.run(command, input=content, capture_output=True, check=False).returncode


@pytest.mark.parametrize("name", ["lock", *EXCHANGE_STEPS])
def test_killed_at_any_step_the_document_is_whole(store: MemoryStore, name: str) -> None:
    assert run_child(store.memory_dir, name, "no", "yes", NEW) == -signal.SIGKILL
    assert store.path.read_bytes() in (OLD, NEW)
    add(store, "next")
    assert store.path.read_bytes().startswith(OLD.rstrip(b"\n"))
    assert leftovers(store) == []


@pytest.mark.parametrize("name", LINK_STEPS)
def test_killed_at_any_step_without_exchange_the_document_is_whole(store: MemoryStore, name: str) -> None:
    assert run_child(store.memory_dir, name, "no", "no", NEW) == -signal.SIGKILL
    assert store.path.read_bytes() in (OLD, NEW)
    add(store, "next")
    assert leftovers(store) == []


@pytest.mark.parametrize("name", CREATE_STEPS)
def test_killed_while_the_first_document_is_made_it_is_whole(tmp_path: Path, name: str) -> None:
    store = MemoryStore(tmp_path)
    assert run_child(tmp_path, name, "no", "yes", NEW) == -signal.SIGKILL
    assert store.read().content in (b"", NEW)
    add(store, "next")
    assert leftovers(store) == []


@pytest.mark.parametrize("can_exchange", ["yes", "no"])
@pytest.mark.parametrize("name", EXCHANGE_STEPS)
def test_killed_just_after_an_edit_the_edit_is_there_next_time(
    store: MemoryStore, name: str, can_exchange: str
) -> None:
    assert run_child(store.memory_dir, name, "yes", can_exchange, NEW) == -signal.SIGKILL
    add(store, "next")
    content = store.path.read_bytes()
    assert content.count(EDIT) == 1
    assert content.count(b"dc:id=next ") == 1
    assert leftovers(store) == []


def test_an_edit_that_a_killed_process_held_goes_back_first(store: MemoryStore) -> None:
    """The child dies after the exchange, which an edit had overtaken: the old file with the edit is aside."""
    displaced = store.path.with_name(f".observations.md.total-recall-{hash_of(OLD)[:32]}-{hash_of(NEW)[:32]}.swap")
    displaced.write_bytes(OLD + EDIT)
    store.path.write_bytes(NEW)
    with store.lock() as rescued:
        assert store.read().content == OLD + EDIT
        assert rescued == ()
    assert leftovers(store) == []


# Failures of the system


def is_one_line(error: BaseException) -> bool:
    return "\n" not in str(error)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EACCES, errno.EROFS, errno.EIO])
def test_a_failure_at_any_step_leaves_a_whole_document(
    store: MemoryStore, steps: tuple[str, ...], number: int
) -> None:
    for name in steps:
        store.path.write_bytes(OLD)

        def fail() -> None:
            raise OSError(number, os.strerror(number), "/somewhere")

        with store.lock(), pytest.raises(MemoryWriteError, match=os.strerror(number)) as caught:
            with_step(store, at(name, fail)).replace(NEW, hash_of(OLD))
        assert is_one_line(caught.value)
        assert str(store.path) in str(caught.value)
        is_before = steps.index(name) <= steps.index("check displaced") - 1
        assert store.path.read_bytes() == (OLD if is_before else NEW), name
        if is_before:
            assert leftovers(store) == [], name
        with store.lock():
            assert leftovers(store) == [], name


def limit_file_size() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))


def test_a_file_size_limit_leaves_the_old_document(store: MemoryStore) -> None:
    program = textwrap.dedent(f"""
        import sys
        from pathlib import Path
        sys.path.insert(0, {str(SCRIPTS)!r})
        from total_recall.errors import MemoryWriteError
        from total_recall.memory.store import MemoryStore
        store = MemoryStore(Path(sys.argv[1]))
        try:
            with store.lock():
                store.replace(b"x" * 100_000, store.read().sha256)
        except MemoryWriteError as error:
            print(error)
    """)
    command = [sys.executable, "-I", "-B", "-c", program, str(store.memory_dir)]
    result = subprocess.run(command, capture_output=True, text=True, check=True, preexec_fn=limit_file_size)
    assert result.stdout == (
        f"Cannot write {store.path}: File too large; raise the limit on file sizes (ulimit -f) and run again\n"
    )
    assert store.path.read_bytes() == OLD
    assert leftovers(store) == []


def can_mount() -> bool:
    if shutil.which("unshare") is None or os.geteuid() != 0:
        return False
    probe = "mount -t tmpfs -o size=64k tmpfs /mnt"
    return subprocess.run(["unshare", "-m", "sh", "-c", probe], capture_output=True, check=False).returncode == 0


ATTEMPT = f"""
import os, sys
from pathlib import Path
sys.path.insert(0, {str(SCRIPTS)!r})
from total_recall.errors import MemoryWriteError
from total_recall.memory.store import MemoryStore
size, user = int(sys.argv[2]), int(sys.argv[3])
if user:
    os.setgroups([]); os.setgid(user); os.setuid(user)
store = MemoryStore(Path(sys.argv[1]))
old = store.read().content
try:
    with store.lock():
        store.replace(old + b"x" * size, store.read().sha256)
    print("replaced")
except MemoryWriteError as error:
    print(error)
print(store.read().content == old, sorted(p.name for p in Path(sys.argv[1]).iterdir()))
"""


def attempt_in_mount(folder: Path, commands: str, size: int) -> list[str]:
    """The lines that the attempt prints in a mount of its own, which goes with the process."""
    script = f'{commands}\nexec "$@"'
    python = [sys.executable, "-I", "-B", "-c", ATTEMPT, str(folder), str(size), "0"]
    command = ["unshare", "-m", "sh", "-ec", script, "sh", *python]
    env = {**os.environ, "FOLDER": str(folder)}
    return subprocess.run(command, capture_output=True, text=True, check=True, env=env).stdout.splitlines()


FILES_LEFT = "True ['.total-recall', 'observations.md']"


@pytest.mark.skipif(not can_mount(), reason="needs root and mounts")
def test_a_full_disk_leaves_the_old_document(tmp_path: Path) -> None:
    commands = 'mount -t tmpfs -o size=64k tmpfs "$FOLDER"; printf "by hand\\n" > "$FOLDER/observations.md"'
    message, left = attempt_in_mount(tmp_path, commands, size=200_000)
    where = tmp_path / "observations.md"
    assert message == f"Cannot write {where}: No space left on device; free some disk space and run again"
    assert left == FILES_LEFT


@pytest.mark.skipif(not can_mount(), reason="needs root and mounts")
def test_a_read_only_file_system_is_named(tmp_path: Path) -> None:
    commands = (
        'mount -t tmpfs tmpfs "$FOLDER"; mkdir "$FOLDER/.total-recall"; '
        'printf "by hand\\n" > "$FOLDER/observations.md"; '
        'mount -o remount,ro "$FOLDER"'
    )
    message, left = attempt_in_mount(tmp_path, commands, size=10)
    assert "Read-only file system; mount it writable, or set MEMORY_DIR to a writable folder" in message
    assert left == FILES_LEFT


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become somebody else")
@pytest.mark.parametrize("is_state_dir_there", [False, True])
def test_a_directory_of_somebody_else_is_named(is_state_dir_there: bool) -> None:
    folder = Path(f"/tmp/total-recall-test-{os.getpid()}")  # pytest's own folders let nobody else in
    folder.mkdir(0o755)
    try:
        (folder / "observations.md").write_bytes(OLD)
        if is_state_dir_there:
            (folder / ".total-recall").mkdir()
            (folder / ".total-recall" / "document.lock").touch()
            os.chown(folder / ".total-recall", 65534, 65534)
            os.chown(folder / ".total-recall" / "document.lock", 65534, 65534)
        command = [sys.executable, "-I", "-B", "-c", ATTEMPT, str(folder), "10", "65534"]
        result = subprocess.run(command, capture_output=True, text=True, check=True)
        message, left = result.stdout.splitlines()
        assert "Permission denied; give your user write permission there, or set MEMORY_DIR" in message
        assert left.startswith("True")
    finally:
        shutil.rmtree(folder)


@pytest.mark.parametrize(("number", "is_tolerated"), [(errno.EINVAL, True), (errno.ENOTSUP, True), (errno.EIO, False)])
def test_a_file_system_without_fsync_of_directories_is_fine(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch, number: int, is_tolerated: bool
) -> None:
    real = os.fsync

    def fsync(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(number, os.strerror(number))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    if is_tolerated:
        add(store, "a")
    else:
        with pytest.raises(MemoryWriteError, match="check the disk"):
            add(store, "a")
    assert b"dc:id=a " in store.path.read_bytes()


def test_a_file_system_without_hard_links_is_fine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def link(source: Path, name: Path) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", link)
    monkeypatch.setattr(store_module, "_exchange", lambda one, other: False)
    store = MemoryStore(tmp_path)
    add(store, "a")
    add(store, "b")
    with store.lock():
        assert store.backup(NOW) != store.backup(NOW)
    assert [entry.id for entry in parse(store.read().content).observations] == ["a", "b"]
    assert leftovers(store) == []


def test_a_pipe_or_a_folder_in_its_place_is_named(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "observations.md")
    with pytest.raises(MemoryWriteError, match="not a regular file"):
        MemoryStore(tmp_path).read()
    (tmp_path / "observations.md").unlink()
    (tmp_path / "observations.md").mkdir()
    with pytest.raises(MemoryWriteError, match="Is a directory; move the folder of that name away"):
        MemoryStore(tmp_path).read()


def test_a_file_in_place_of_the_memory_directory_is_named(tmp_path: Path) -> None:
    (tmp_path / "memory").write_text("x")
    with pytest.raises(MemoryWriteError, match="Not a directory"):
        add(MemoryStore(tmp_path / "memory"), "a")


# Links


def test_a_linked_document_is_written_where_it_lies(store: MemoryStore, steps: tuple[str, ...], tmp_path: Path) -> None:
    synced = tmp_path / "synced" / "my memory.md"
    synced.parent.mkdir()
    store.path.rename(synced)
    store.path.symlink_to(synced)
    add(with_step(store, at("exchange", lambda: edit_in_place(synced))), "a")
    assert store.path.is_symlink()
    assert synced.read_bytes().count(EDIT) == synced.read_bytes().count(b"dc:id=a ") == 1
    assert [path.name for path in synced.parent.iterdir()] == ["my memory.md"]
    assert leftovers(store) == []


def test_a_link_to_a_folder_that_is_offline_is_no_empty_memory(tmp_path: Path) -> None:
    store = MemoryStore(tmp_path)
    store.path.symlink_to(tmp_path / "offline" / "observations.md")
    with pytest.raises(MemoryWriteError, match=r"observations\.md \(.*/offline\): No such file or directory"):
        store.read()
    (tmp_path / "offline").mkdir()
    add(store, "a")
    assert (tmp_path / "offline" / "observations.md").exists()


def test_a_link_to_itself_is_named(tmp_path: Path) -> None:
    store = MemoryStore(tmp_path)
    store.path.symlink_to(store.path)
    with pytest.raises(MemoryWriteError, match="remove the link"):
        store.read()


# The lock


HOLDER = f"""
import sys
from pathlib import Path
sys.path.insert(0, {str(SCRIPTS)!r})
from total_recall.memory.store import MemoryStore
with MemoryStore(Path(sys.argv[1])).lock():
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def holder(store: MemoryStore) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-I", "-B", "-c", HOLDER, str(store.memory_dir)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_a_second_writer_waits_and_then_says_who_is_in_the_way(
    store: MemoryStore, holder: subprocess.Popen[str]
) -> None:
    with pytest.raises(MemoryWriteError, match=r"document\.lock for over 0\.1 s: wait for it"), store.lock(0.1):
        pytest.fail("the lock was given twice")
    assert store.read().content == OLD, "reading needs no lock"


def test_a_killed_holder_holds_nothing(store: MemoryStore, holder: subprocess.Popen[str]) -> None:
    holder.kill()
    holder.wait()
    add(store, "a")
    assert b"dc:id=a " in store.path.read_bytes()


def test_a_lock_file_removed_while_it_was_taken_does_not_let_two_in(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = store.memory_dir / ".total-recall" / "document.lock"
    remove = at("flock", lock.unlink)
    real = fcntl.flock

    def flock(descriptor: int, operation: int) -> None:
        remove("flock")
        real(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", flock)
    with store.lock(), pytest.raises(MemoryWriteError, match="wait for it"), store.lock(0):
        pytest.fail("the lock was given twice")


def test_two_writers_at_once_lose_nothing(store: MemoryStore) -> None:
    program = textwrap.dedent(f"""
        import sys
        from pathlib import Path
        sys.path.insert(0, {str(SCRIPTS)!r})
        from total_recall.memory.store import MemoryStore, Replaced
        store = MemoryStore(Path(sys.argv[1]))
        for n in range(20):
            with store.lock():
                now = store.read()
                new = now.content + f"{{sys.argv[2]}}{{n}}\\n".encode()
                assert isinstance(store.replace(new, now.sha256), Replaced)
    """)
    children = [
        subprocess.Popen([sys.executable, "-I", "-B", "-c", program, str(store.memory_dir), name]) for name in "ab"
    ]
    assert [child.wait() for child in children] == [0, 0]
    lines = store.path.read_text().splitlines()
    assert sorted(lines[3:]) == sorted(f"{name}{n}" for name in "ab" for n in range(20))


# Backups


def test_the_newest_backups_are_kept_and_no_file_of_anybody_else_goes(store: MemoryStore) -> None:
    store.backup_dir.mkdir()
    foreign = [store.backup_dir / "observations-20260214.md.bak", store.backup_dir / "notes.md"]
    for path in foreign:
        path.write_text("x")
    with store.lock():
        made = [store.backup(NOW + timedelta(days=day), keep=3) for day in range(5)]
    assert made[0] is not None
    assert made[0].name == "2026-11-30T09-12-00Z.md.bak"
    assert sorted(store.backup_dir.iterdir()) == sorted([*foreign, *(path for path in made[2:] if path)])
    assert made[4] is not None
    assert made[4].read_bytes() == OLD


def test_backups_of_one_second_do_not_overwrite_each_other(store: MemoryStore) -> None:
    with store.lock():
        made = [store.backup(NOW, keep=11) for _ in range(12)]
    assert len(set(made)) == 12
    assert set(store.backup_dir.iterdir()) == set(made[1:])


def test_a_backup_stays_though_the_clock_went_back(store: MemoryStore) -> None:
    with store.lock():
        store.backup(NOW, keep=1)
        last = store.backup(NOW - timedelta(days=400), keep=1)
    assert list(store.backup_dir.iterdir()) == [last]


def test_there_is_no_backup_of_nothing(tmp_path: Path) -> None:
    store = MemoryStore(tmp_path)
    with store.lock():
        assert store.backup(NOW) is None
    assert not store.backup_dir.exists()


def test_a_backup_that_failed_leaves_nothing(store: MemoryStore) -> None:
    def fail() -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with store.lock(), pytest.raises(MemoryWriteError, match=r"Cannot back up .*: No space left"):
        with_step(store, at("sync", fail)).backup(NOW)
    assert list(store.backup_dir.iterdir()) == []
