"""update-observations, validate, rollback: the document as a whole, before and after an agent's night."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from total_recall.commands import dream_desk, dreaming, undo
from total_recall.commands.dream_desk import Desk, Outcome
from total_recall.errors import PayloadError
from total_recall.memory import conservation, hook_lines, last_dream, last_reflection
from total_recall.memory.archive import Archive
from total_recall.memory.chunks import Chunks
from total_recall.memory.document import Document, is_date_heading, parse
from total_recall.memory.last_dream import LastDream
from total_recall.memory.reflection import words_of
from total_recall.memory.shelf import Key
from total_recall.memory.store import DOCUMENT_NAME, Replaced
from total_recall.memory.undo import undone
from total_recall.tokens import estimate_tokens

MOST_BYTES: Final = 50_000_000
SHOWN: Final = 5


@dataclass(frozen=True, slots=True)
class _Change:
    """A document before and after, and what of it the archive has."""

    before: Document
    after: Document
    filed: Mapping[Key, str]

    @property
    def gone(self) -> tuple[Key, ...]:
        """The lines that left and are in the archive."""
        left = conservation.keys(self.before) - conservation.keys(self.after)
        return tuple(key for key in left if key in self.filed)


def update(desk: Desk, payload: Mapping[str, Any]) -> Outcome:
    """Make an agent's text the document, merged with what was written since the preflight.

    Raises PayloadError when a line would be lost that no archive has, when a protected line would go, when a person's
    own text would change, or when anything but hook lines would be added. Nothing is written then.
    """
    new = _text_of(desk, payload)
    known = _known_texts(desk)
    if desk.read_only:
        return _said(_merged(desk, known, new, desk.store.read().content), None, dry_run=True)
    desk.session()
    with desk.locked() as rescued:
        snapshot = desk.store.read()
        while True:
            change = _merged(desk, known, new, snapshot.content)
            after = change.after.render()
            if after == snapshot.content:
                return _said(change, None)
            backup = desk.store.backup(desk.now)
            at, name = desk.free_moment(), backup.name if backup else ""
            last_dream.save(desk.state, LastDream(at, desk.today, name, snapshot.sha256, after, (), ()))
            done = desk.store.replace(after, expected=snapshot.sha256)
            if isinstance(done, Replaced):
                break
            snapshot = done.current
            rescued = (*rescued, *done.rescued)
        last_reflection.leave(desk.state, words_of(change.after), done.sha256)
    desk.changed()
    return _said(change, backup, rescued)


def _text_of(desk: Desk, payload: Mapping[str, Any]) -> bytes:
    """What was handed in, or what the file in the memory directory holds."""
    if "content" in payload:
        return str(payload["content"]).encode("utf-8", "replace")
    root = Path(os.path.realpath(desk.place.memory_dir))
    path = Path(os.path.realpath(root / payload["file"]))
    if not path.is_relative_to(root) or path == Path(os.path.realpath(root / DOCUMENT_NAME)):
        raise PayloadError(f"update-observations: file: {payload['file']} is no other file in {root}")
    try:
        if not path.is_file() or path.stat().st_size > MOST_BYTES:
            raise PayloadError(f"update-observations: file: {path} is no file of at most {MOST_BYTES:,} bytes")
        return path.read_bytes()
    except OSError as error:
        raise PayloadError(f"update-observations: file: cannot read {path}: {error.strerror}") from error


def _known_texts(desk: Desk) -> list[bytes]:
    """What an agent may have read since its preflight: the document then, and as each step left it."""
    session = dream_desk.load(desk.state)
    if session is None:
        return []
    nights = last_dream.nights(desk.state)
    return [desk.backup_of(session), *(n.after for n in nights if n.at >= session.at and not n.is_undone)]


def _merged(desk: Desk, known: Sequence[bytes], new: bytes, current: bytes) -> _Change:
    """`current` with what the agent has changed in the text that it began with: of those known, the most like its own.

    Raises PayloadError when that does not hold.
    """
    base = min([current, *reversed(known)], key=lambda text: _differing_lines(text, new))
    merged = new if current == base else undone(new, base, current).content
    change = _Change(parse(current), parse(merged), _filed(desk))
    wrong = [*conservation.lost(change.before, change.after, change.gone), *_added(change), *_critical(desk, change)]
    if wrong:
        more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
        raise PayloadError(f"update-observations: nothing was written: {wrong[0]}{more}")
    return change


def _differing_lines(one: bytes, other: bytes) -> int:
    mine, its = Counter(one.split(b"\n")), Counter(other.split(b"\n"))
    return sum((mine - its).values()) + sum((its - mine).values())


def _filed(desk: Desk) -> Mapping[Key, str]:
    return {**Archive(desk.place.memory_dir).known(), **Chunks(desk.place.memory_dir).known()}


def _critical(desk: Desk, change: _Change) -> tuple[str, ...]:
    """What left and must never leave."""
    accesses = dreaming.accessed(change.before, desk.state, desk.settings.tz)
    _, resolved = dreaming.items_of(change.before, accesses, desk.today, with_types=desk.settings.dream_phase > 1)
    critical = conservation.critical(change.before, change.gone, desk.today, resolved)
    return tuple(f"must not leave: {what}" for what in critical)


def _added(change: _Change) -> list[str]:
    """What was added beside hook lines that point to something: only these may come from an agent."""
    names = set(change.filed.values())
    hooks = {line.number: line.name for line in hook_lines.find(change.after)}
    had = Counter(map(_body, change.before.lines))
    wrong: list[str] = []
    for number, line in enumerate(change.after.lines, 1):
        body = _body(line)
        if had[body]:
            had[body] -= 1
        elif number in hooks:
            if hooks[number] not in names:
                wrong.append(f"there is no {hooks[number]} in the archive that a hook line could point to")
        elif body.strip() not in ("", "---", hook_lines.HEADING) and not is_date_heading(body):
            wrong.append(f"a line that was not there before and is no hook line: {body.strip()[:60]!r}")
    return wrong


def _body(line: str) -> str:
    return line.removesuffix("\n").removesuffix("\r")


def _said(change: _Change, backup: Path | None, rescued: Sequence[Path] = (), *, dry_run: bool = False) -> Outcome:
    before, after = (estimate_tokens(one.render().decode("utf-8", "replace")) for one in (change.before, change.after))
    fields: dict[str, object] = {
        "tokens_before": before,
        "tokens_after": after,
        "removed": len(change.gone),
        "backup": str(backup) if backup else None,
        "kept_edits": [str(path) for path in rescued],
    }
    if dry_run:
        fields["dry_run"] = True
        return Outcome(fields, (f"{before:,} tokens would become {after:,}; nothing was written (read-only).",))
    if backup is None:
        return Outcome(fields, ("Nothing to change: observations.md is that text already.",))
    said = f"{before:,} tokens became {after:,}; {len(change.gone)} lines left, the archive has them."
    return Outcome(fields, (said, f"  the memory as it was is in {backup}"))


# --- validate, rollback


def validate(desk: Desk, _: Mapping[str, Any]) -> Outcome:
    """Compare the memory with what it was at the preflight: nothing lost, nothing protected gone, within the target.

    What was observed, marked or written since is no mistake.
    """
    content = desk.store.read().content
    before, after, since = _comparable(parse(desk.backup_of(desk.session())), parse(content))
    change = _Change(before, after, _filed(desk))
    critical = _critical(desk, change)
    tokens, target = estimate_tokens(content.decode("utf-8", "replace")), desk.settings.dream_token_target
    notes = [*conservation.lost(before, after, change.gone), *critical]
    if tokens > target:
        notes.append(f"token target missed: {tokens:,} tokens, the target is {target:,}")
    fields: dict[str, object] = {
        "validation_passed": not notes,
        "tokens": tokens,
        "token_target": target,
        "observations_archived": len(change.gone),
        "observed_since": since,
        "critical_false_archives": len(critical),
        "notes": "; ".join(notes) or "ok",
    }
    if notes:
        shown = [f"  {note}" for note in notes[:SHOWN]]
        return Outcome(fields, ("Validation failed: `dream rollback` takes the night back.", *shown), failed=True)
    return Outcome(fields, (f"Valid: {len(change.gone)} lines in the archive, {tokens:,} tokens, nothing lost.",))


def _comparable(before: Document, after: Document) -> tuple[Document, Document, int]:
    """Two documents without what came in between, and how many lines that were.

    A line that was marked meanwhile (as superseded, as pinned) counts in the older one as it stands now.
    """
    now = {entry.id: after.lines[entry.line - 1].rstrip("\r\n") for entry in after.observations if entry.id}
    marked = {
        entry.line: now[entry.id]
        for entry in before.observations
        if entry.id in now and now[entry.id].strip() != before.lines[entry.line - 1].strip()
    }
    old = before.edited((), marked) if marked else before
    fresh = conservation.keys(after) - conservation.keys(old)
    lines = {entry.line for entry in after.observations if conservation.key_in(after, entry) in fresh}
    return old, after.edited(lines, {}) if lines else after, len(lines)


def rollback(desk: Desk, _: Mapping[str, Any]) -> Outcome:
    """Take back what was done since the preflight, the newest first; what was observed and written since stays."""
    session = desk.session()
    undoing = len([night for night in last_dream.nights(desk.state) if night.at >= session.at and not night.is_undone])
    if desk.read_only:
        would: dict[str, object] = {"dry_run": True, "would_undo": undoing}
        return Outcome(would, (f"{undoing} steps could be taken back; nothing was written (read-only).",))
    done = [undo.undo_memory(desk.place, desk.now, desk.today, desk.step, what="dream") for _ in range(undoing)]
    content = desk.store.read().content
    is_same = hashlib.sha256(content).hexdigest() == session.before
    fields: dict[str, object] = {
        "steps_undone": undoing,
        "back": sum(result.back for result in done),
        "as_before": is_same,
        "notes": [note for result in done for note in result.notes],
    }
    if not done:
        return Outcome(fields, ("Nothing to take back: no step since the preflight has changed the memory.",))
    how = "byte for byte as it was at the preflight" if is_same else "as it was, with what came since"
    return Outcome(fields, (f"{undoing} steps are taken back; observations.md is {how}.",))
