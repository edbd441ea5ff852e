"""observe as its user meets it: windows, options, traces, a busy or unwritable memory, models that fail."""

from __future__ import annotations

import hashlib
import os
import random
import re
import subprocess
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from builders import NOW, OTHER, SESSION, Home, append, said, snapshot
from total_recall import clock
from total_recall.commands import capturing, observe, places, status
from total_recall.commands.places import Configuration
from total_recall.errors import MemoryWriteError, TotalRecallError
from total_recall.state import sole


@pytest.fixture
def openclaw(home: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """A host in this test's home directory, an hour after noon of the day that the transcripts are of."""
    monkeypatch.setattr(clock, "now", lambda: NOW)
    return Home(home / ".openclaw", home / "unused")


def configured(home: Path, **env: str) -> Configuration:
    return places.configure({"HOME": str(home), "TOTAL_RECALL_TZ": "UTC", **env})


def run(home: Path, options: observe.Options | None = None, **env: str) -> observe.MemoryRun:
    (done,) = observe.run(options or observe.Options(), configured(home, **env)).runs
    return done


def memory(home: Path) -> Path:
    return home / ".openclaw" / "workspace" / "memory"


def document(home: Path) -> str:
    path = memory(home) / "observations.md"
    return path.read_text(encoding="utf-8") if path.exists() else ""


def old(entry_id: str, text: str, days: float) -> dict[str, Any]:
    entry = said(entry_id, text)
    at = NOW - timedelta(days=days)
    entry["timestamp"] = at.isoformat().replace("+00:00", "Z")
    entry["message"]["timestamp"] = round(at.timestamp() * 1000)
    return entry


PLUMBER = "The plumber comes on 14 December, he wants 340 EUR."
ALLERGY = "My daughter Nora is allergic to penicillin."


def test_a_first_run_takes_a_day_and_marks_the_rest_as_seen(openclaw: Home, home: Path) -> None:
    openclaw.write(old("a", ALLERGY, 3), old("b", PLUMBER, 0.5))
    done = run(home)
    assert (done.messages, done.marked_as_seen) == (1, 1)
    assert "plumber" in document(home) and "penicillin" not in document(home)
    assert "--all" in done.notes[0]
    assert run(home).messages == 0


@pytest.mark.parametrize(
    "options", [observe.Options(everything=True), observe.Options(since=NOW - timedelta(days=5))], ids=["all", "since"]
)
def test_what_was_marked_as_seen_is_taken_on_request_and_once(
    openclaw: Home, home: Path, options: observe.Options
) -> None:
    openclaw.write(old("a", ALLERGY, 3), old("b", PLUMBER, 0.5))
    run(home)
    assert run(home, options).messages == 1
    assert run(home, options).messages == 0
    assert document(home).count("penicillin") == 1 and document(home).count("plumber") == 1


def test_since_leaves_what_is_older(openclaw: Home, home: Path) -> None:
    openclaw.write(old("a", ALLERGY, 9), old("b", PLUMBER, 3))
    run(home)
    assert run(home, observe.Options(since=NOW - timedelta(days=5))).messages == 1
    assert "penicillin" not in document(home)


def test_one_session_is_taken_whole_and_the_others_are_left(openclaw: Home, home: Path) -> None:
    openclaw.write(old("a", ALLERGY, 9))
    openclaw.write(old("b", PLUMBER, 0.1), session_id=OTHER)
    assert run(home, observe.Options(session_id=SESSION)).messages == 1
    assert "plumber" not in document(home)
    assert run(home).messages == 1


def test_a_first_run_that_was_cut_short_keeps_its_window(
    openclaw: Home, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    openclaw.write(old("a", PLUMBER, 0.9))

    def fails(*_: object, **__: object) -> None:
        raise MemoryWriteError("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(capturing, "take_new", fails)
        with pytest.raises(MemoryWriteError):
            run(home)
    monkeypatch.setattr(clock, "now", lambda: NOW + timedelta(hours=12))
    assert run(home).messages == 1


def test_a_dry_run_leaves_no_trace(openclaw: Home, home: Path) -> None:
    openclaw.write(said("a", PLUMBER))
    before = snapshot(home)
    done = run(home, observe.Options(dry_run=True))
    assert done.messages == 1 and any("plumber" in o.text for o in done.observations)
    assert snapshot(home) == before
    run(home)
    openclaw.write(said("a", PLUMBER), said("b", ALLERGY, 2))
    before = snapshot(memory(home))
    assert run(home, observe.Options(dry_run=True)).messages == 1
    assert snapshot(memory(home)) == before


def test_a_second_observer_says_so_and_goes(openclaw: Home, home: Path) -> None:
    openclaw.write(said("a", PLUMBER))
    with sole("observer", memory(home) / ".total-recall"):
        done = run(home)
    assert done.messages == 0 and "another observer is at work" in done.notes[0]
    assert run(home).messages == 1


def test_a_run_with_nothing_to_do_leaves_its_stamp(openclaw: Home, home: Path) -> None:
    assert run(home).messages == 0
    stamp = memory(home) / ".observer-last-run"
    assert stamp.read_text().strip().isdigit()
    assert stamp.stat().st_mode & 0o777 == 0o600
    assert not (memory(home) / "observations.md").exists()


def test_everything_is_for_the_owner_alone(openclaw: Home, home: Path) -> None:
    openclaw.write(said("a", PLUMBER))
    run(home)
    for path in [memory(home), *memory(home).rglob("*")]:
        assert path.stat().st_mode & 0o077 == 0, path
    assert (memory(home) / ".total-recall" / "context.txt").read_text().count("plumber") == 1


def test_agents_have_their_own_memories_and_one_that_fails_does_not_stop_the_other(openclaw: Home, home: Path) -> None:
    openclaw.write(said("a", ALLERGY))
    (home / ".openclaw" / "openclaw.json").write_text(
        '{agents: {entries: {main: {}, work: {workspace: "~/work"}},},}  // JSON5'
    )
    work = home / ".openclaw" / "agents" / "work" / "sessions"
    work.mkdir(parents=True)
    (work / f"{OTHER}.jsonl").write_bytes(openclaw.write(said("b", PLUMBER), session_id=OTHER).read_bytes())
    openclaw.transcript(OTHER).unlink()
    memory(home).parent.mkdir(parents=True)
    memory(home).write_text("a file where the folder should be")
    with pytest.raises(MemoryWriteError, match=str(memory(home))):
        observe.run(observe.Options(), configured(home))
    assert "plumber" in (home / "work" / "memory" / "observations.md").read_text()
    memory(home).unlink()
    observe.run(observe.Options(), configured(home))
    assert "penicillin" in document(home) and "plumber" not in document(home)


def test_an_agent_can_be_asked_for_alone(openclaw: Home, home: Path) -> None:
    openclaw.write(said("a", ALLERGY))
    (home / ".openclaw" / "openclaw.json").write_text('{agents: {entries: {main: {}, work: {workspace: "~/work"}}}}')
    assert run(home, observe.Options(agent="work")).memory_dir == home / "work" / "memory"
    assert not (memory(home) / "observations.md").exists()
    with pytest.raises(TotalRecallError, match=r"'nobody'.*main, work"):
        run(home, observe.Options(agent="nobody"))


def test_a_persons_edit_reaches_the_hash_and_the_ready_made_context(openclaw: Home, home: Path) -> None:
    def hashed() -> str:
        return hashlib.sha256((memory(home) / "observations.md").read_bytes()).hexdigest()

    openclaw.write(said("a", PLUMBER))
    run(home)
    stamped = memory(home) / ".observer-last-hash"
    assert stamped.read_text() == f"{hashed()}\n"
    path = memory(home) / "observations.md"
    path.write_text(document(home) + "- 🔴 10:00 Nora is allergic to penicillin\n", encoding="utf-8")
    assert run(home).messages == 0
    assert stamped.read_text() == f"{hashed()}\n"
    assert "penicillin" in (memory(home) / ".total-recall" / "context.txt").read_text(encoding="utf-8")


def test_an_unreadable_configuration_starts_no_second_memory(openclaw: Home, home: Path) -> None:
    openclaw.write(said("a", PLUMBER))
    (home / ".openclaw" / "openclaw.json").write_text("{agents: ")
    with pytest.raises(TotalRecallError, match="nothing was taken"):
        run(home)
    assert not memory(home).exists()
    assert run(home, OPENCLAW_WORKSPACE=str(home / "mine")).memory_dir == home / "mine" / "memory"


@pytest.fixture
def small_disk(home: Path) -> Iterator[Path]:
    folder = home / "disk"
    folder.mkdir()
    if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=120k", "tmpfs", folder]).returncode:
        pytest.skip("needs the right to mount a tmpfs")
    yield folder
    subprocess.run(["umount", folder], check=True)


def test_a_full_disk_and_a_read_only_one_lose_nothing(openclaw: Home, home: Path, small_disk: Path) -> None:
    openclaw.write(
        *(said(f"e{n}", f"Invoice {1000 + n} to Acme is due on 14 December. {'x' * 2000}", n) for n in range(40))
    )
    with pytest.raises(MemoryWriteError, match=r"full|space"):
        run(home, MEMORY_DIR=str(small_disk))
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    with pytest.raises(MemoryWriteError, match=r"Read-only|Permission denied"):
        run(home, MEMORY_DIR=str(small_disk))
    assert run(home, observe.Options(dry_run=True), MEMORY_DIR=str(small_disk)).messages == 40
    subprocess.run(["mount", "-o", "remount,rw,size=50m", small_disk], check=True)
    done = run(home, MEMORY_DIR=str(small_disk))
    assert done.waiting == 0 and done.observations
    assert run(home, MEMORY_DIR=str(small_disk)).messages == 0
    assert configured(home, MEMORY_DIR=str(small_disk)).settings.memory_dir == small_disk


def test_the_reflector_comes_when_the_memory_has_grown_too_long(openclaw: Home, home: Path) -> None:
    openclaw.write(said("a", PLUMBER))
    done = run(home, REFLECTOR_WORD_THRESHOLD="1")
    assert (home / ".openclaw" / "workspace" / "logs" / "reflector.log").exists(), done.notes


def test_status_tells_what_waits_and_where_each_setting_comes_from(openclaw: Home, home: Path) -> None:
    openclaw.write(said("a", PLUMBER))
    env = home / ".openclaw" / "workspace" / ".env"
    env.parent.mkdir(parents=True, exist_ok=True)
    env.write_text("OBSERVER_LINE_THRESHOLD=41\r\n")
    before = snapshot(home)
    found = status.run(configured(home))
    assert snapshot(home) == before
    (one,) = found.memories
    assert (one.new, one.waiting, one.health) == (1, 0, "never ran")
    shown = {s.name: (s.value, s.origin) for s in found.settings}
    assert shown["OBSERVER_LINE_THRESHOLD"] == ("41", ".env")
    assert shown["TOTAL_RECALL_TZ"] == ("UTC", "environment")
    assert shown["DREAM_TOKEN_TARGET"] == ("8000", "default")
    run(home)
    (one,) = status.run(configured(home)).memories
    assert (one.new, one.waiting, one.observed) == (0, 0, 1)


def test_offline_is_what_compresses_without_a_model(openclaw: Home, home: Path) -> None:
    openclaw.write(said("a", PLUMBER))
    assert run(home).compressed_by == "1 by offline"


def test_an_exchange_off_the_record_reaches_neither_memory_nor_state(openclaw: Home, home: Path) -> None:
    openclaw.write(
        said("a", PLUMBER),
        said("b", "Off the record: I am looking for a job at Contoso.", 2),
        said("c", "Good luck at Contoso, I say nothing.", 3, role="assistant"),
        said("d", ALLERGY, 4),
    )
    assert run(home).messages == 2
    assert "plumber" in document(home) and "Nora" in document(home)
    everything = b"".join(path.read_bytes() for path in (home / ".openclaw" / "workspace").rglob("*") if path.is_file())
    assert b"Contoso" not in everything


def test_a_setting_keeps_a_conversation_out_and_a_wrong_one_is_named(openclaw: Home, home: Path) -> None:
    openclaw.write(said("a", PLUMBER))
    openclaw.write(said("b", ALLERGY), session_id=OTHER)
    assert run(home, TOTAL_RECALL_EXCLUDE=f"session:{OTHER}").messages == 1
    with pytest.raises(TotalRecallError, match=r"TOTAL_RECALL_EXCLUDE has 'whatsapp'.*channel:NAME"):
        run(home, TOTAL_RECALL_EXCLUDE="whatsapp")


def test_a_secret_is_stored_and_shown_nowhere_and_keeps_its_name(openclaw: Home, home: Path) -> None:
    """Made up here, since nothing that looks like a key belongs in a repository."""
    word = "".join(random.Random(7).choices("abcdefghkmnpqrstuvwxyz23456789", k=14))
    openclaw.write(said("a", f"My password for the router is {word}."))
    run(home)
    append(openclaw.transcript(), said("b", f"Remember that the router at home has the password {word}.", 5))
    run(home)
    lines = [line for line in document(home).split("\n") if "router" in line]
    assert lines and len({name for line in lines for name in re.findall(r"\[password \w+\]", line)}) == 1
    everything = b"".join(path.read_bytes() for path in (home / ".openclaw" / "workspace").rglob("*") if path.is_file())
    assert word.encode() not in everything


def test_a_line_that_a_person_takes_out_leaves_the_ready_made_context(openclaw: Home, home: Path) -> None:
    openclaw.write(said("a", PLUMBER), said("b", ALLERGY, 2))
    run(home)
    ready = memory(home) / ".total-recall" / "context.txt"
    assert "Nora" in ready.read_text(encoding="utf-8")
    page = memory(home) / "observations.md"
    page.write_text("\n".join(line for line in document(home).split("\n") if "Nora" not in line), encoding="utf-8")
    run(home)
    assert "Nora" not in ready.read_text(encoding="utf-8") and "plumber" in ready.read_text(encoding="utf-8")
