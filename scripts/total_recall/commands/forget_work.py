"""Carrying a forgetting out: first written down in the state, then taken out of everything that we keep.

A process may end between any two steps: what was written down is carried out again from the start by the next `forget`
or `observe`, and every step done twice is done once. What is left in the end are hashes.
"""

from __future__ import annotations

import json
import os
import stat
import tempfile
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import date, datetime, tzinfo
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Final

from total_recall import logs
from total_recall.commands import context, log_summary
from total_recall.commands import known as memories
from total_recall.commands.forget_events import forget_events
from total_recall.commands.forget_plan import Plan
from total_recall.commands.places import Place
from total_recall.errors import MemoryWriteError
from total_recall.memory import forgetting
from total_recall.memory.archive import Archive
from total_recall.memory.archived import brought_back, items, line_key
from total_recall.memory.document import Document, parse
from total_recall.memory.files import write_file
from total_recall.memory.forgetting import Gone
from total_recall.memory.store import MemoryStore, Replaced
from total_recall.memory.traces import NOTED, closed, speaks_of, text_hash
from total_recall.recall.index import NAME as INDEX
from total_recall.recall.index import SET_ASIDE
from total_recall.state import Forgetting, State, Step, no_step

LAST_HASH: Final = ".observer-last-hash"
_LEFT_BEHIND: Final = (".*.total-recall-*", "*/.*.total-recall-*", ".total-recall/.context-*", "*/*/.*.total-recall-*")
"""What killed processes leave beside the files that they were writing."""


REPORT: Final = "report.html"
"""The page that `report` writes; it holds what was remembered then."""


@dataclass(frozen=True, slots=True)
class Job:
    """A forgetting as it is written down. It has the words; they go with it in the end."""

    at: str
    ids: tuple[str, ...]
    texts: tuple[str, ...]
    rows: tuple[int, ...]
    sessions: tuple[str, ...]
    back: tuple[tuple[str, str], ...]
    keep_backups: bool

    @classmethod
    def of(cls, plan: Plan) -> Job:
        return cls(
            plan.at.isoformat(), tuple(sorted(plan.ids)), plan.texts, plan.rows, plan.sessions, plan.back,
            plan.keep_backups,
        )  # fmt: skip

    def dump(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def load(cls, text: str) -> Job:
        fields = json.loads(text)
        ids, texts, rows, sessions = (tuple(fields[name]) for name in ("ids", "texts", "rows", "sessions"))
        back = tuple((name, key) for name, key in fields["back"])
        return cls(fields["at"], ids, texts, rows, sessions, back, fields["keep_backups"])


def finish(place: Place, state: State, store: MemoryStore, tz: tzinfo) -> bool:
    """Bring a forgetting that an earlier process left unfinished to its end. Costs one question when there is none.

    Returns whether there was one. Hold the observer's lock.
    """
    text = state.unfinished_forgetting()
    if text is None:
        return False
    if text:
        _carry_out(place, state, store, Job.load(text), tz, no_step)
    state.end_forgetting()
    return True


def carry_out(
    place: Place, state: State, store: MemoryStore, plan: Plan, tz: tzinfo, step: Step = no_step
) -> tuple[str, ...]:
    """Forget what the plan says; returns what a person should know of it. Hold the observer's and the reflector's lock.

    Raises MemoryWriteError and StoreError; what was not done then, the next run does.
    """
    job = Job.of(plan)
    step("write down")
    state.begin_forgetting(job.dump())
    notes = _carry_out(place, state, store, job, tz, step)
    step("end")
    if not state.end_forgetting():
        notes.append("another process is reading the state; the last traces in it go with the next run of observe")
    return tuple(notes)


def _carry_out(place: Place, state: State, store: MemoryStore, job: Job, tz: tzinfo, step: Step) -> list[str]:
    at = datetime.fromisoformat(job.at)
    today = at.astimezone(tz).date()
    gone = _gone(place, job)
    names = state.names_of(job.rows)
    step("state")
    state.forget(_of_state(state, job, gone, at, _backup_to_be(place, job, gone)))
    step("memory")
    notes = [f"an edit made at the same moment was kept in {path}" for path in _from_memory(place, store, job, gone)]
    for path, content in _changed_files(place, job, gone, today):
        step(f"file {path.name}")
        if content is None:
            _remove(path)
        else:
            write_file(path, content, step)
    _note_what_is_back(place, job, today)
    step("leftovers")
    for path in _leftovers(place, gone):
        _remove(path)
    step("context")
    _remove(place.memory_dir / LAST_HASH)
    context.write_ready_made(place.memory_dir, today, characters=place.context_characters)
    step("events")
    forget_events(place.own_dir, names, job.sessions, job.texts)
    step("index")
    for name in (INDEX, SET_ASIDE, REPORT):
        for end in ("", "-wal", "-shm"):
            _remove(place.own_dir / f"{name}{end}")
    return notes


def _gone(place: Place, job: Job) -> Gone:
    """What goes, with what a reflection may have made of it since it was written down."""
    texts = [memories.read(path) for path in memories.archive_files(place.memory_dir)]
    reasons = [
        (section.id, section.reason)
        for text in texts
        if "- Reason: merged into " in text or "- Reason: said again later: " in text
        for section in items(text)
        if section.id
    ]
    ids = closed(job.ids, reasons) - {key for _, key in job.back}
    return forgetting.gone_from(texts, ids, job.texts)


# --- the state


def _of_state(state: State, job: Job, gone: Gone, at: datetime, backup: Callable[[str, str], str | None]) -> Forgetting:
    key = state.forgetting_key()
    changed = {
        name: renewed
        for name, value in state.metas().items()
        if (renewed := forgetting.scrubbed_value(value, gone, backup)) != value
    }
    details = {number: forgetting.GONE for number, detail in state.details() if gone.words.stand_in(detail)}
    return Forgetting(
        at=at,
        rows=job.rows,
        observations=tuple(sorted(gone.ids)),
        sessions=job.sessions,
        texts=tuple(text_hash(text, key) for text in job.texts),
        changed=tuple(changed.items()),
        runs=tuple(details.items()),
    )


def _backup_to_be(place: Place, job: Job, gone: Gone) -> Callable[[str, str], str | None]:
    """The SHA-256 of a backup as it will be. One that was dealt with already has it."""

    def renewed(name: str, before: str) -> str | None:
        for path in [] if job.keep_backups else _backups(place):
            if path.name == name and sha256(content := _content(path)).hexdigest() == before:
                return sha256(forgetting.scrubbed(content, gone)).hexdigest()
        return None

    return renewed


# --- the memory


def _from_memory(place: Place, store: MemoryStore, job: Job, gone: Gone) -> tuple[Path, ...]:
    """Take the lines out of the document, and put those in that stand again. An edit made meanwhile is kept."""
    with store.lock() as rescued:
        snapshot = store.read()
        while True:
            document = parse(forgetting.scrubbed(snapshot.content, gone))
            new = stand_again(place, document, job.back).render()
            if new == snapshot.content:
                return rescued
            outcome = store.replace(new, expected=snapshot.sha256)
            if isinstance(outcome, Replaced):
                return rescued
            snapshot = outcome.current
            rescued += outcome.rescued


def stand_again(place: Place, document: Document, lines: Collection[tuple[str, str]]) -> Document:
    """The document with these archived lines, (name, key), under the day that they had; those there already once."""
    for path in memories.archive_files(place.memory_dir) if lines else ():
        for section in items(memories.read(path)):
            entry = section.entry
            if entry is None or (section.name, line_key(entry)) not in lines:
                continue
            day = section.day or entry.recorded
            if day is not None and (entry.id is None or entry.id not in document.ids):
                document = document.with_line(day, section.quoted[0])
    return document


def _note_what_is_back(place: Place, job: Job, today: date) -> None:
    texts = [memories.read(path) for path in memories.archive_files(place.memory_dir)] if job.back else []
    there = brought_back(texts)
    note_back(place, [name for name, _ in job.back if name not in there], today)


def note_back(place: Place, names: Collection[str], today: date, step: Step = no_step) -> None:
    """Note in the archive that these stand in the memory again. A chunk stays filed: only one of its lines is back."""
    single = sorted(name for name in names if name.startswith("OBS-"))
    if single:
        Archive(place.memory_dir, step).undone(single, today)


# --- files


def _changed_files(place: Place, job: Job, gone: Gone, today: date) -> Iterator[tuple[Path, bytes | None]]:
    """Every file of ours that has something of what goes, with its new content; None for one that goes itself."""
    rows: list[tuple[list[Path], Callable[[str], str]]] = [
        (memories.archive_files(place.memory_dir), partial(forgetting.scrubbed_archive, gone=gone, today=today)),
        (sorted((place.memory_dir / "dream-logs").glob("*.md")), partial(forgetting.scrubbed_lines, gone=gone)),
        (_log_files(place), partial(forgetting.scrubbed_log, gone=gone)),
    ]
    for paths, scrub in rows:
        for path in paths:
            text = memories.read(path)
            new = scrub(text)
            if new != text:
                yield path, new.encode("utf-8", "surrogateescape")
    for path in sorted(place.memory_dir.glob("????-??-??.md")):
        content = _content(path)
        new_content = log_summary.without_paragraph(content, partial(_tells, gone=gone, texts=job.texts))
        if new_content != content:
            yield path, new_content
    for path in sorted(p for p in (place.memory_dir / "dream-staging").glob("*") if p.is_file()):
        text = memories.read(path)
        if gone.refers(text) or gone.words.stand_in(text) or any(name in text for name in gone.ids):
            yield path, None
    for path in [] if job.keep_backups else _backups(place):
        content = _content(path)
        new_content = forgetting.scrubbed(content, gone)
        if new_content != content:
            yield path, new_content


def _tells(line: str, gone: Gone, texts: Sequence[str]) -> bool:
    """Whether a line of a day's summary has the words, or most of them: a model may have told them anew."""
    return gone.words.stand_in(line) or speaks_of(line, texts, share=NOTED)


def _backups(place: Place) -> list[Path]:
    folders = (place.memory_dir / name for name in ("observation-backups", ".dream-backups"))
    return [path for folder in folders for path in sorted(folder.rglob("*")) if path.is_file()]


def _log_files(place: Place) -> list[Path]:
    found = [*sorted(place.logs.glob("*.log*")), *sorted(Path(tempfile.gettempdir()).glob("total-recall-*.log"))]
    return [path for path in found if _is_ours(path)]


def _is_ours(path: Path) -> bool:
    """Whether this is a file of this user's: other people have reports of bugs in the same folder."""
    try:
        about = path.lstat()
    except FileNotFoundError:
        return False
    return stat.S_ISREG(about.st_mode) and about.st_uid == os.geteuid()


def _leftovers(place: Place, gone: Gone) -> Iterator[Path]:
    """Temporary files of killed processes that hold the words. The document's own are its store's to tidy up."""
    for pattern in _LEFT_BEHIND:
        for path in place.memory_dir.glob(pattern):
            if path.is_file() and not path.name.startswith(".observations.md."):
                content = memories.read(path).encode("utf-8", "surrogateescape")
                words = content.decode("utf-8", "replace")
                if gone.words.stand_in(words) or forgetting.scrubbed(content, gone) != content:
                    yield path


def _content(path: Path) -> bytes:
    return memories.read(path).encode("utf-8", "surrogateescape")


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise MemoryWriteError(
            f"cannot remove {path}: {error.strerror}; check the owner of its folder, then run the command again"
        ) from error


def left_in(place: Place, texts: Sequence[str]) -> list[str]:
    """The files of ours in which these very texts stand all the same; a check on the work."""
    wanted = [text.encode() for text in texts]
    found = []
    for path in sorted(place.memory_dir.rglob("*")):
        if path.is_file() and not path.is_symlink():
            content = _content(path)
            if any(text in content for text in wanted):
                found.append(str(path))
    return found


def log_forgotten(place: Place, at: datetime, said: str) -> None:
    """The line in the log: numbers alone."""
    logs.append(place.log, at, f"forget: {said}")
