"""preflight, decay, archive, chunk: what an agent may let leave the memory, and how it does.

The agent chooses and words; the rules of `retention` say what may go, and `dream_commit` writes as it does for `dream`:
a line leaves the document only when the archive has it, with a hook line in its place.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, Final

from total_recall import retention
from total_recall.commands import dream_commit, dream_desk, dreaming
from total_recall.commands.dream_commit import Written
from total_recall.commands.dream_desk import Desk, Outcome, Session
from total_recall.decay import remaining
from total_recall.dream import chunk, cycle, wording
from total_recall.dream.hooks import hooks_of, outcome_of, safe, topic_of
from total_recall.dream.items import FATE_OF, Group, Item, Leaving
from total_recall.errors import PayloadError
from total_recall.memory import last_dream
from total_recall.memory.document import parse
from total_recall.memory.last_dream import Bundle, Unfinished
from total_recall.text import STOP_WORDS, content_words
from total_recall.tokens import estimate_tokens

BY_AGENT: Final = "agent"
"""Who worded it, in the log of a night that an agent has driven."""


@dataclass(frozen=True, slots=True)
class Lines:
    """The lines of the memory as the rules see them. `resolved` are the numbers of goals and habits that are done."""

    content: bytes
    items: tuple[Item, ...]
    resolved: frozenset[int]

    @property
    def tokens(self) -> int:
        return estimate_tokens(self.content.decode("utf-8", "replace"))


def lines_of(desk: Desk) -> Lines:
    """What the memory holds now."""
    content = desk.store.read().content
    document = parse(content)
    accesses = dreaming.accessed(document, desk.state, desk.settings.tz)
    return Lines(content, *dreaming.items_of(document, accesses, desk.today, with_types=desk.settings.dream_phase > 1))


def preflight(desk: Desk, _: Mapping[str, Any]) -> Outcome:
    """Check that a night can begin, back the document up, and note its state."""
    backup = None
    if not desk.read_only:
        with desk.locked():
            backup = desk.store.backup(desk.now)
            sha256 = desk.store.read().sha256
            dream_desk.save(desk.state, Session(desk.now, desk.today, backup.name if backup else "", sha256))
    lines = lines_of(desk)
    may_leave = [item for item in lines.items if item.is_open and _rule(item, desk.today)]
    fields: dict[str, object] = {
        "date": desk.today.isoformat(),
        "phase": desk.settings.dream_phase,
        "read_only": desk.read_only,
        "backup": str(backup) if backup else None,
        "observations_total": len(lines.items),
        "may_leave": len(may_leave),
        "tokens": lines.tokens,
        "token_target": desk.settings.dream_token_target,
    }
    said = (
        f"{len(lines.items)} observations, {lines.tokens:,} tokens (target {desk.settings.dream_token_target:,}); "
        f"{len(may_leave)} may leave today"
    )
    return Outcome(fields, (said, *([f"  the memory as it is now: {backup}"] if backup else [])))


def decay(desk: Desk, _: Mapping[str, Any]) -> Outcome:
    """What time has done to each line, and what the rules say of it today. Writes nothing, ever."""
    today = desk.today
    lines = lines_of(desk)
    rows = [_row(item, today) for item in lines.items]
    said = [
        f"{row['remaining']:>4} of {row['importance']:>4}  {row['may_leave'] or row['protected'] or 'stays':<12} "
        f"{row['full_text']}"
        for row in rows
    ]
    fields = {"date": today.isoformat(), "tokens": lines.tokens, "observations": rows}
    return Outcome(fields, tuple(said or ["There are no observations."]))


def _row(item: Item, today: date) -> dict[str, object]:
    memory = item.memory
    due_day, pressure_day = retention.due_day(memory, today), retention.pressure_day(memory, today)
    return {
        "id": item.id,
        "date": item.day.isoformat() if item.day else None,
        "type": memory.type,
        "importance": memory.importance,
        "remaining": round(remaining(memory.type, memory.importance, retention.age_days(memory, today)), 2),
        "confidence": memory.confidence,
        "protected": _why_stays(item, today),
        "may_leave": _rule(item, today) if item.is_open else None,
        "is_due": item.is_open and retention.due(memory, today) is not None,
        "may_leave_from": pressure_day[0].isoformat() if pressure_day else None,
        "due_on": due_day[0].isoformat() if due_day else None,
        "full_text": item.raw,
    }


def _rule(item: Item, today: date) -> retention.Rule | None:
    """The rule that lets a line go today, if one does."""
    return retention.due(item.memory, today) or retention.age_rule(item.memory, today)


def _why_stays(item: Item, today: date) -> str | None:
    protected = retention.protected(item.memory, today)
    return protected or (None if item.is_open else "your own text or a merge conflict hangs on it")


# --- archive, chunk


def archive(desk: Desk, payload: Mapping[str, Any]) -> Outcome:
    """Let lines leave for the archive, each with its reason and hooks; those of one topic get one hook line.

    Raises PayloadError when one of them may not leave; then none does.
    """

    def chosen(lines: Lines) -> tuple[Bundle, ...]:
        found = _found(lines, payload["items"])
        leaving = [_leaving(item, f"items[{n}]", desk.today, asked) for n, (item, asked) in enumerate(found)]
        _whole(leaving)
        by_topic: dict[str, list[Leaving]] = {}
        for one, (_, asked) in zip(leaving, found, strict=True):
            by_topic.setdefault(safe(asked.get("topic", ""), 40) or topic_of(one.item.text), []).append(one)
        return tuple(dreaming.bundle_of(_group(topic, members)) for topic, members in by_topic.items())

    return _filed(desk, chosen)


def chunk_together(desk: Desk, payload: Mapping[str, Any]) -> Outcome:
    """Let three or more lines on one topic leave as one finding, with every line in full below it.

    Raises PayloadError when one of them may not leave, or the finding says what they do not.
    """

    def chosen(lines: Lines) -> tuple[Bundle, ...]:
        asked = {"archived_reason": f"told together: {payload['topic']}", "hooks": payload.get("hooks", [])}
        found = _found(lines, [{"id": id, **asked} for id in payload["source_ids"]], "source_ids")
        leaving = [_leaving(item, f"source_ids[{n}]", desk.today, asked) for n, (item, _) in enumerate(found)]
        for n, one in enumerate(leaving):
            if one.item.type in chunk.NEVER or one.fate in chunk.ALONE:
                what = f"{one.item.name} is a {one.item.type} and {one.fate}"
                raise PayloadError(f"chunk: source_ids[{n}]: {what}: archive it by itself")
        _whole(leaving)
        return (dreaming.bundle_of(_worded(payload["topic"], payload["finding"], leaving)),)

    return _filed(desk, chosen)


def _found(
    lines: Lines, asked: Sequence[Mapping[str, Any]], where: str = "items"
) -> list[tuple[Item, Mapping[str, Any]]]:
    """The line that each entry names, by its id or its whole text."""
    by_name: dict[str, list[Item]] = {}
    for item in lines.items:
        for name in filter(None, (item.id, item.raw)):
            by_name.setdefault(name, []).append(item)
    found: list[tuple[Item, Mapping[str, Any]]] = []
    taken: set[int] = set()
    for n, entry in enumerate(asked):
        name = entry.get("id") or entry["full_text"].strip()
        candidates = by_name.get(name, [])
        if len(candidates) != 1:
            what = "no such observation" if not candidates else "several observations are the same"
            raise PayloadError(f"{where}[{n}]: {what} in observations.md: {name[:60]!r}")
        if entry.get("id") and entry.get("full_text", candidates[0].raw).strip() != candidates[0].raw:
            raise PayloadError(f"{where}[{n}]: full_text is not the line that has the id {name}; give one of the two")
        if candidates[0].number in taken:
            raise PayloadError(f"{where}[{n}]: {candidates[0].name} is named twice")
        taken.add(candidates[0].number)
        found.append((candidates[0], entry))
    return found


def _leaving(item: Item, where: str, today: date, asked: Mapping[str, Any]) -> Leaving:
    """The line on its way out, with the agent's reason behind the rule's, and its hooks as far as they stand up."""
    stays = _why_stays(item, today)
    rule = _rule(item, today)
    if stays is None and rule is None:
        day = retention.pressure_day(item.memory, today)
        stays = f"it may not leave before {day[0].isoformat()}" if day else "no rule lets it go"
    if stays is not None or rule is None:
        raise PayloadError(f"{where}: {item.name} stays: {stays}; `dream decay` shows what may leave")
    reason = f"{retention.reason(item.memory, rule, today)}; {safe(asked['archived_reason'], 300)}"
    one = Leaving(item, FATE_OF[rule], reason)
    said = "; ".join(safe(hook, 80) for hook in asked.get("hooks", ()))
    words, _ = wording.read(f"[1] hooks: {said}", [Group(topic_of(item.text), "", (one,))]) if said else ({}, 0)
    return replace(one, hooks=hooks_of(item, words[0].hooks if 0 in words else ()))


def _whole(leaving: Sequence[Leaving]) -> None:
    """A line that others hang on goes only together with them."""
    numbers = {one.item.number for one in leaving}
    for one in leaving:
        if not numbers.issuperset(one.item.nested):
            below = len(one.item.nested)
            raise PayloadError(f"{one.item.name} stays: {below} lines below hang on it; name them as well")


def _group(topic: str, members: Sequence[Leaving]) -> Group:
    ordered = tuple(sorted(members, key=lambda member: member.item.order))
    best = max(ordered, key=lambda member: (member.item.memory.importance, member.item.order))
    outcome = outcome_of(best.item.text)
    return Group(topic, outcome if len(ordered) == 1 else f"{len(ordered)} notes, one: {outcome}", ordered)


def _worded(topic: str, finding: str, members: Sequence[Leaving]) -> Group:
    """The chunk in the agent's words, which are held to the same rules as a model's."""
    told = frozenset(word for one in members for word in content_words(one.item.text))
    if not content_words(topic) & told:
        raise PayloadError(f"chunk: topic: none of the sources says anything of {topic!r}")
    group = chunk.chunk_of(safe(topic, 40), members)
    words, refused = wording.read(f"[1] finding: {finding}", [group])
    first = next(iter(finding.split()), "").strip("“\"'([*").casefold()
    # A name with which a sentence begins looks like any other word; here it must be one of the lines'.
    is_new = (
        first[:1].isalpha()
        and first not in STOP_WORDS
        and not any(first in one.item.text.casefold() for one in members)
    )
    if refused or is_new or 0 not in words:
        raise PayloadError(
            "chunk: finding: it says what its sources do not (a number, a name, a link, a “not”), "
            "or hardly anything that they say; use their words"
        )
    return wording.worded([group], words).groups[0]


def _filed(desk: Desk, chosen: Callable[[Lines], tuple[Bundle, ...]]) -> Outcome:
    """Carry it out on the memory as it is now; with read_only only check it."""
    if desk.read_only:
        lines = lines_of(desk)
        bundles = chosen(lines)
        count = sum(len(bundle.members) for bundle in bundles)
        fields: dict[str, object] = {"dry_run": True, "would_leave": count, "hook_lines": len(bundles)}
        return Outcome(fields, (f"{count} lines could leave; nothing was written (read-only).",))
    desk.session()
    while True:
        lines = lines_of(desk)  # takes seconds when the document is huge: not in the lock
        night = _night(desk, lines, chosen(lines))
        with desk.locked() as rescued:
            if desk.store.read().content == lines.content:
                written = dream_commit.commit(night, desk.state, desk.store, desk.step, resolved=lines.resolved)
                break
    last_dream.end(desk.state)
    if not written.wrong:
        desk.changed()
    return _told(night, lines, written, [*map(str, rescued), *map(str, written.rescued)])


def _night(desk: Desk, lines: Lines, bundles: tuple[Bundle, ...]) -> Unfinished:
    return Unfinished(
        at=desk.free_moment(),
        day=desk.today,
        before=hashlib.sha256(lines.content).hexdigest(),
        tokens_before=lines.tokens,
        bundles=bundles,
        flagged=(),
        model=BY_AGENT,
        room_tokens=round(cycle.HOOK_SHARE * desk.settings.dream_token_target),
    )


def _told(night: Unfinished, lines: Lines, written: Written, rescued: Collection[str]) -> Outcome:
    ids = {(str(item.day or "unknown"), item.raw): item.id for item in lines.items}
    archived = [{"name": name, "id": ids.get(key), "full_text": key[1]} for key, name in sorted(written.names.items())]
    fields: dict[str, object] = {
        "archived": archived,
        "hooks": list(written.hooks),
        "tokens_before": lines.tokens,
        "tokens_after": lines.tokens if written.wrong else written.tokens_after,
        "backup": str(written.backup) if written.backup else None,
        "validation_passed": not written.wrong,
        "wrong": list(written.wrong),
        "kept_edits": list(rescued),
    }
    if written.wrong:
        return Outcome(fields, (f"Nothing was changed: {written.wrong[0]}",), failed=True)
    count = sum(len(bundle.members) for bundle in night.bundles)
    stayed = f"; {count - len(archived)} stay, since something hangs on them" if count > len(archived) else ""
    said = f"{len(archived)} lines are in the archive, {len(written.hooks)} hook lines stand for them{stayed}."
    return Outcome(fields, (said, *(f"  {hook}" for hook in written.hooks)))
