"""A night as it is written: backup, archive, document, and back again when the result does not hold.

What a night is about to do is noted in the state before it does it, so that the next run can bring it to its end. The
archive is on the disk before a line leaves the document; a process that ends in between leaves it in both, until then.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import groupby
from pathlib import Path
from typing import Final

from total_recall.dream.hooks import hook_line
from total_recall.errors import MemoryWriteError
from total_recall.memory import conservation, hook_lines, last_dream, last_reflection
from total_recall.memory.archive import Archive
from total_recall.memory.chunks import Chunk, Chunks
from total_recall.memory.conservation import key_in
from total_recall.memory.document import Document, parse
from total_recall.memory.last_dream import Bundle, Filing, LastDream, Unfinished
from total_recall.memory.line import Entry
from total_recall.memory.reflection import words_of
from total_recall.memory.shelf import Key
from total_recall.memory.store import MemoryStore, Replaced, Snapshot
from total_recall.records import ObservationType
from total_recall.state import State, Step
from total_recall.tokens import estimate_tokens

BACKUPS: Final = ".dream-backups"
"""Hidden, and no `.md` in it: the host's own search must not find what left."""


@dataclass(frozen=True, slots=True)
class Leaving:
    """A line on its way to the archive."""

    entry: Entry
    raw: str
    reason: str
    hooks: tuple[str, ...]
    kind: ObservationType | None


@dataclass(frozen=True, slots=True)
class Written:
    """What a night has written, or why it has not.

    `names` are the archive's names of what left, by line; `hooks` the hook lines that were added, `retired` how many
    older ones went. `wrong` is what the checks found: then the document is as it was before.
    """

    before: bytes
    after: bytes
    names: Mapping[Key, str]
    bundles: tuple[Bundle, ...] = ()
    hooks: tuple[str, ...] = ()
    retired: int = 0
    wrong: tuple[str, ...] = ()
    backup: Path | None = None
    rescued: tuple[Path, ...] = ()

    @property
    def tokens_after(self) -> int:
        return estimate_tokens(self.after.decode("utf-8", "replace"))


@dataclass(frozen=True, slots=True)
class _Applied:
    """A document without what left, and with the lines that stand for it. `kept` are lines that could not go."""

    document: Document
    hooks: tuple[str, ...]
    retired: int
    gone: tuple[Key, ...]
    kept: tuple[Key, ...]


def commit(
    night: Unfinished,
    state: State,
    store: MemoryStore,
    step: Step,
    *,
    wrong: Sequence[str] = (),
    resolved: Collection[int] = (),
) -> Written:
    """Carry a night out on the document as it is now. Hold its lock.

    `wrong` is what is known to be amiss already; `resolved` as for `conservation.critical`. Raises MemoryWriteError;
    the document is then the old one, and the next run goes on.
    """
    archive, chunks = Archive(store.memory_dir, step), Chunks(store.memory_dir, step)
    snapshot = store.read()
    document = parse(snapshot.content)
    expected = _names(night, _foreseen(night, archive, chunks))
    bad = (*wrong, *_checked(document, applied(document, night, expected), night, resolved))
    if bad:
        last_dream.end(state)
        return Written(snapshot.content, snapshot.content, {}, wrong=bad)
    last_dream.begin(state, night)
    step("back up")
    backup = store.backup(night.at)
    names = _names(night, _file(night, document, archive, chunks))
    return _replaced(night, names, backup, snapshot, state, store, step, archive, chunks, resolved)


def _replaced(
    night: Unfinished,
    names: Mapping[Key, str],
    backup: Path | None,
    snapshot: Snapshot,
    state: State,
    store: MemoryStore,
    step: Step,
    archive: Archive,
    chunks: Chunks,
    resolved: Collection[int],
) -> Written:
    rescued: tuple[Path, ...] = ()
    while True:
        document = parse(snapshot.content)
        done = applied(document, night, names)
        # Lines of another version of the document have other numbers.
        same = hashlib.sha256(snapshot.content).hexdigest() == night.before
        bad = _checked(document, done, night, resolved) if same else _lost(document, done)
        bad += tuple(f"not in the archive: {day} {raw[:60]}" for day, raw in done.gone if (day, raw) not in names)
        if bad:
            _take_back(night, names.values(), archive, chunks, state)
            return Written(snapshot.content, snapshot.content, {}, wrong=bad, backup=backup, rescued=rescued)
        after = done.document.render()
        last_dream.save(state, _remembered(night, backup, snapshot, after, names, done))
        step("replace")
        outcome = store.replace(after, expected=snapshot.sha256)
        if isinstance(outcome, Replaced):
            break
        snapshot = outcome.current
        rescued += outcome.rescued
    step("verify")
    bad = _amiss_on_disk(after, done, store, archive, chunks)
    if bad:
        store.replace(snapshot.content, expected=hashlib.sha256(after).hexdigest())
        _take_back(night, names.values(), archive, chunks, state)
        return Written(snapshot.content, snapshot.content, {}, wrong=bad, backup=backup, rescued=rescued)
    if done.kept:
        _put_back([names[key] for key in done.kept], night.day, archive, chunks)
    last_reflection.leave(state, words_of(done.document), hashlib.sha256(after).hexdigest())
    left = {key: names[key] for key in done.gone}
    return Written(snapshot.content, after, left, night.bundles, done.hooks, done.retired, (), backup, rescued)


def is_written(night: Unfinished, state: State, content: bytes) -> LastDream | None:
    """The night as it is remembered, when its document has been written already."""
    found = next((one for one in last_dream.nights(state) if one.at == night.at and not one.is_undone), None)
    if found is None:
        return None
    there = {key_in(document, entry) for document in (parse(content),) for entry in document.observations}
    is_same = found.after == content
    return found if is_same or not any((f.day, f.raw) in there for b in night.bundles for f in b.members) else None


def reported(night: Unfinished, found: LastDream, content: bytes, store: MemoryStore) -> Written:
    """What a night that was cut off after its document was written has to tell."""
    archive, chunks = Archive(store.memory_dir), Chunks(store.memory_dir)
    names = {**archive.known(), **chunks.known()}
    left = {(f.day, f.raw): name for b in night.bundles for f in b.members if (name := names.get((f.day, f.raw)))}
    path = store.backup_dir / found.backup
    before = path.read_bytes() if path.is_file() else content
    hooks = tuple(line for line, _ in _hook_lines(night, left, set(left)))
    return Written(before, found.after, left, night.bundles, hooks, backup=path)


# --- the document


def applied(document: Document, night: Unfinished, names: Mapping[Key, str]) -> _Applied:
    """The document with a night carried out, as far as its lines are there. What a person's text hangs on stays."""
    places: dict[Key, list[int]] = {}
    for entry in document.observations:
        places.setdefault(key_in(document, entry), []).append(entry.line)
    wanted = {(f.day, f.raw) for b in night.bundles for f in b.members if (f.day, f.raw) in places}
    removed = {line for key in wanted for line in places[key]}
    held = _held(document, removed)
    kept = {key for key in wanted if held & set(places[key])}
    kept |= {
        key for b in night.bundles if b.finding and (own := {(f.day, f.raw) for f in b.members}) & kept for key in own
    }
    gone = wanted - kept
    without = document.edited({line for key in gone for line in places[key]}, {}) if gone else document
    added = tuple(line for line, _ in _hook_lines(night, names, gone))
    standing = hook_lines.find(without)
    room = night.room_tokens - sum(estimate_tokens(line) + 1 for line in added)
    retired = hook_lines.retired(standing, night.day, max(0, room))
    changed = hook_lines.rewritten(without, added, retired) if added or retired else without
    return _Applied(changed, added, len(retired), tuple(sorted(gone)), tuple(sorted(kept)))


def _held(document: Document, removed: Collection[int]) -> set[int]:
    """Those of the lines on which something hangs that stays."""
    held = set(document.lines_with_text_below()) & set(removed)
    found: set[int] = set()
    levels = {entry.line: entry.level for entry in document.observations}
    for line in sorted(held, reverse=True):
        below = line + 1
        while below in levels and levels[below] > levels[line]:
            if below not in removed or below in found:
                found.add(line)
            below += 1
        if below == line + 1:
            found.add(line)
    return found


def _hook_lines(night: Unfinished, names: Mapping[Key, str], gone: Collection[Key]) -> Iterator[tuple[str, Bundle]]:
    """A line for each bundle of which something left; more than one where its names do not follow one another."""
    for bundle in night.bundles:
        left = [key for member in bundle.members if (key := (member.day, member.raw)) in gone and key in names]
        if not left:
            continue
        if bundle.finding is not None:
            yield _line(bundle, "chunks", names[left[0]]), bundle
            continue
        for run in _runs(sorted({names[key] for key in left})):
            outcome = (
                bundle.outcome if len(run) == len(bundle.members) else f"{len(run)} of {len(bundle.members)} notes"
            )
            yield _line(replace(bundle, outcome=outcome), "observations", run[0]), bundle


def _runs(names: Sequence[str]) -> Iterator[list[str]]:
    """Names in runs without a gap."""
    numbered = enumerate(sorted(names, key=lambda name: (name.rpartition("-")[0], int(name.rpartition("-")[2]))))
    for _, run in groupby(
        numbered, key=lambda pair: (pair[1].rpartition("-")[0], int(pair[1].rpartition("-")[2]) - pair[0])
    ):
        yield [name for _, name in run]


def _line(bundle: Bundle, folder: str, name: str) -> str:
    day = name.split("-")[1]
    file = f"{day[:4]}-{day[4:6]}-{day[6:]}.md"
    return hook_line(bundle.topic, bundle.outcome, bundle.span, f"archive/{folder}/{file}#{name}")


# --- the archive


def _foreseen(night: Unfinished, archive: Archive, chunks: Chunks) -> tuple[Mapping[Key, str], list[str]]:
    """The names that everything would get, without writing it."""
    singles = [(f.day, f.raw) for b in night.bundles if b.finding is None for f in b.members]
    known = archive.known()
    fresh = [key for key in singles if key not in known]
    count = sum(bundle.finding is not None for bundle in night.bundles)
    return known | dict(zip(fresh, archive.next_names(len(fresh), night.day), strict=True)), chunks.next_names(
        count, night.day
    )


def _file(
    night: Unfinished, document: Document, archive: Archive, chunks: Chunks
) -> tuple[Mapping[Key, str], list[str]]:
    """Write everything to the archive; the names by line, and those of the chunks in order."""
    entries = {key_in(document, entry): entry for entry in document.observations}
    singles = [(b, f) for b in night.bundles if b.finding is None for f in b.members if (f.day, f.raw) in entries]
    archive.add([_leaving(entries[f.day, f.raw], f) for _, f in singles], night.day)
    whole = [
        (bundle, [_leaving(entries[f.day, f.raw], f) for f in bundle.members if (f.day, f.raw) in entries])
        for bundle in night.bundles
        if bundle.finding is not None
    ]
    names = chunks.add([_chunk(bundle, sources) for bundle, sources in whole if sources], night.day)
    by_order = iter(names)
    return archive.known(), [next(by_order) if sources else "" for _, sources in whole]


def _names(night: Unfinished, filed: tuple[Mapping[Key, str], list[str]]) -> dict[Key, str]:
    """The name of each line that leaves: its own, or that of its chunk."""
    known, of_chunks = filed
    chunk_names = iter(of_chunks)
    found: dict[Key, str] = {}
    for bundle in night.bundles:
        name = next(chunk_names) if bundle.finding is not None else None
        for member in bundle.members:
            key = (member.day, member.raw)
            if own := (name if name is not None else known.get(key)):
                found[key] = own
    return found


def _leaving(entry: Entry, filing: Filing) -> Leaving:
    kind = next((kind for kind in _KINDS if kind == filing.kind), None)
    return Leaving(entry, filing.raw, filing.reason, filing.hooks, kind)


_KINDS: Final[tuple[ObservationType, ...]] = ("event", "context", "fact", "preference", "goal", "habit", "rule")


def _chunk(bundle: Bundle, sources: Sequence[Leaving]) -> Chunk:
    return Chunk(bundle.topic, bundle.finding or "", bundle.span, bundle.strength, bundle.names, sources)


def _put_back(names: Collection[str], day: date, archive: Archive, chunks: Chunks) -> None:
    """Note that entries stand in the memory after all."""
    for shelf, prefix in ((archive, "OBS-"), (chunks, "CHUNK-")):
        own = sorted({name for name in names if name.startswith(prefix)})
        if own:
            shelf.undone(own, day)


def _take_back(night: Unfinished, names: Collection[str], archive: Archive, chunks: Chunks, state: State) -> None:
    _put_back(names, night.day, archive, chunks)
    found = next((one for one in last_dream.nights(state) if one.at == night.at), None)
    if found is not None:
        last_dream.undone(state, found)
    last_dream.end(state)


# --- the checks


def _checked(document: Document, done: _Applied, night: Unfinished, resolved: Collection[int]) -> tuple[str, ...]:
    false = conservation.critical(document, done.gone, night.day, resolved)
    return (*_lost(document, done), *(f"must not leave: {what}" for what in false))


def _lost(document: Document, done: _Applied) -> tuple[str, ...]:
    """What is lost, or came out so that it cannot be read."""
    again = parse(done.document.render())
    return conservation.lost(document, again, done.gone)


def _amiss_on_disk(
    after: bytes, done: _Applied, store: MemoryStore, archive: Archive, chunks: Chunks
) -> tuple[str, ...]:
    """Whether the disk has what was written. Somebody else may have written the document since; theirs counts."""
    filed = {**archive.known(), **chunks.known()}
    missing = [key for key in done.gone if key not in filed]
    if not missing:
        return ()
    if store.read().content != after:
        raise MemoryWriteError(
            f"the archive in {archive.directory.parent} lacks {len(missing)} lines that left; "
            f"the memory as it was is in {store.backup_dir}"
        )
    return tuple(f"not in the archive: {day} {raw[:60]}" for day, raw in missing)


def _remembered(
    night: Unfinished, backup: Path | None, snapshot: Snapshot, after: bytes, names: Mapping[Key, str], done: _Applied
) -> LastDream:
    left = sorted({names[key] for key in done.gone})
    return LastDream(
        at=night.at,
        day=night.day,
        backup=backup.name if backup is not None else "",
        before=snapshot.sha256,
        after=after,
        archived=tuple(name for name in left if name.startswith("OBS-")),
        chunks=tuple(name for name in left if name.startswith("CHUNK-")),
    )
