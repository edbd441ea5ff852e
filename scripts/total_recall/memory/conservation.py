"""Whether a night lost anything: the document before, the document after, and what was filed away. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from datetime import date
from functools import lru_cache

from total_recall.memory import hook_lines
from total_recall.memory.document import Document
from total_recall.memory.line import Entry
from total_recall.memory.shelf import BLANK, Key
from total_recall.memory.verification import day_of, days_in

SHOWN = 60
_OWN_HEADING = re.compile(r"Date: [0-9]{4}-[0-9]{2}-[0-9]{2}")


def keys(document: Document) -> Counter[Key]:
    """Every observation of a document, as the archive would know it."""
    return Counter(key_in(document, entry) for entry in document.observations)


def key_in(document: Document, entry: Entry) -> Key:
    """What an observation of a document is known by in the archive."""
    line = document.lines[entry.line - 1].strip(BLANK)
    if not line.isascii():
        line = line.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return _day_text(entry.heading or entry.recorded), line


@lru_cache(maxsize=4096)
def _day_text(day: date | None) -> str:
    return str(day or "unknown")


def lost(before: Document, after: Document, filed: Collection[Key]) -> tuple[str, ...]:
    """What a night did wrong, each thing in a line; nothing when all is well.

    Every observation stands in the document or is filed, none is both, none is new, and a person's own text is there
    word for word, in its order.
    """
    had, has, away = keys(before), keys(after), set(filed)
    wrong = [f"lost: {_shown(key)}" for key in had - has if key not in away]
    wrong += [f"in the memory and in the archive: {_shown(key)}" for key in away if has[key]]
    wrong += [f"not there before: {_shown(key)}" for key in has - had]
    wrong += [f"own text lost: “{line[:SHOWN]}”" for line in _missing(_own_text(before), _own_text(after))]
    known = Counter(what for _, what in before.problems)
    wrong += [f"cannot be read any more: {what}" for what in Counter(what for _, what in after.problems) - known]
    return tuple(wrong)


def _own_text(document: Document) -> list[str]:
    """The lines that are neither observations nor ours: not blank, no rule, no date heading, no hook line."""
    ours = {entry.line for entry in document.observations}
    ours.update(line.number for line in hook_lines.find(document))
    return [
        body
        for number, line in enumerate(document.lines, 1)
        if number not in ours
        and (body := line.removesuffix("\n").removesuffix("\r")).strip()
        and body not in ("---", hook_lines.HEADING)
        and not _OWN_HEADING.fullmatch(body)
    ]


def _missing(before: list[str], after: list[str]) -> list[str]:
    """The lines of one text that do not follow in this order in the other."""
    found: list[str] = []
    place = 0
    for line in before:
        try:
            place = after.index(line, place) + 1
        except ValueError:
            found.append(line)
    return found


def _shown(key: Key) -> str:
    return f"{key[0]} {key[1][:SHOWN]}"


def critical(document: Document, gone: Collection[Key], today: date, resolved: Collection[int] = ()) -> tuple[str, ...]:
    """What must never leave and did, each in a line: told from the lines themselves, not by the rules that chose them.

    `resolved` are line numbers of goals and habits that another line tells to be done.
    """
    away = set(gone)
    return tuple(
        f"{why}: {_shown(key)}"
        for entry in document.observations
        if (key := key_in(document, entry)) in away and (why := _why_critical(entry, today, entry.line in resolved))
    )


def _why_critical(entry: Entry, today: date, is_resolved: bool) -> str | None:
    if entry.metadata.get("pinned", "0") not in ("0", "no", "false"):
        return "pinned"
    if entry.importance >= 9:
        return f"importance {entry.importance:.1f}"
    if entry.type == "rule":
        return "rule"
    if entry.type in ("goal", "habit") and not (entry.superseded_by or is_resolved or "resolved" in entry.metadata):
        return str(entry.type)
    coming = [entry.refers] if entry.refers else []
    if any(day >= today for day in (*coming, *days_in(entry.text, day_of(entry)))):
        return "a day to come"
    return None
