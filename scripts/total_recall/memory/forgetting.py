"""Taking what is to be forgotten out of the texts that we keep, and nothing else. Pure.

A line of the memory, or an archived one, goes when it has one of the ids or says the same words. What was made of such
lines (a hook, a finding) may hold the words in another form and goes with them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date

from total_recall.memory import hook_lines
from total_recall.memory.archived import FORGOTTEN, Section, called, findings, references, sections
from total_recall.memory.document import Document, parse
from total_recall.memory.line import Entry
from total_recall.memory.traces import SHORTEST, Tombstones, Words
from total_recall.memory.verification import subject_of

_HOOK = re.compile(r"\s*[-*+] .*\[ref: [^\]]*#(?P<name>(?P<night>(?:OBS|CHUNK)-[0-9]{8})-(?P<number>[0-9]+))\]")
_FIELD = re.compile(r"(?P<head>- (?P<name>[A-Z][A-Za-z ]*): )(?P<value>.*)")
GONE = "(forgotten)"
_OWN_WORDS = ("## ", "> ", "- Original date: ", "- Impact: ", "- Type: ", "- Confidence: ", "- Id: ")
"""How lines begin that cannot have words of another entry."""


@dataclass(frozen=True, slots=True)
class Gone:
    """What is to go: observations by id, archived items by name, and whatever says the same.

    `thinned` are chunks of which some lines stay. `kept` has the words of what stays in the archive of the same nights,
    by name, and `subjects` are the content words of what goes: by them one tells what a hook says.
    """

    ids: frozenset[str]
    names: frozenset[str]
    words: Words
    thinned: frozenset[str] = frozenset()
    kept: Mapping[str, str] = field(default_factory=dict, hash=False)
    subjects: frozenset[str] = frozenset()

    def refers(self, text: str) -> bool:
        """Whether a text names one of these things."""
        return bool(references(text) & (self.ids | self.names))

    def is_one(self, section: Section) -> bool:
        """Whether an archived line is one of these things."""
        if section.id is not None and section.id in self.ids:
            return True
        if section.id is not None and not any(map(self.words.may_stand_in, section.quoted)):
            return False
        entry = section.entry
        return entry is not None and (entry.id in self.ids or self.words.are(entry.text))


def gone_from(archive: Collection[str], ids: Collection[str], texts: Collection[str]) -> Gone:
    """What goes, where observations with these ids and these words go; `archive` are the texts of its files."""
    what = Gone(frozenset(ids), frozenset(), Words(texts))
    names: set[str] = set()
    thinned: set[str] = set()
    candidates = (sections(text) for text in archive if what.words.may_stand_in(text) or called(text) & what.ids)
    touched = [parts for parts in candidates if _any_goes(parts, what)]
    kept: dict[str, str] = {}
    for parts in touched:
        for section in parts:
            stay = [part for part in _lines_of(section) if not what.is_one(part)]
            if section.name is None or section.is_forgotten:
                continue
            if len(stay) < len(_lines_of(section)):
                (thinned if stay else names).add(section.name)
            if stay:
                kept[section.name] = " ".join(entry.text for part in stay if (entry := part.entry) is not None)
    # A chunk of the bash original names its lines and does not quote them.
    for text in archive:
        for section in findings(text) if "## CHUNK-" in text else ():
            if not section.sources() and section.references() & (names | set(ids)) and section.name:
                names.add(section.name)
    subjects = frozenset(word for text in texts for word in subject_of(text))
    return replace(what, names=frozenset(names), thinned=frozenset(thinned), kept=kept, subjects=subjects)


def _any_goes(parts: Sequence[Section], what: Gone) -> bool:
    return any(what.is_one(line) for section in parts for line in _lines_of(section))


def _lines_of(section: Section) -> Sequence[Section]:
    """The archived lines in a section."""
    if section.is_chunk:
        return section.sources()
    return [section] if section.name is not None else []


# --- the memory


def lines_of(document: Document, gone: Gone) -> frozenset[int]:
    """The observations that are to go, as lines from 1."""
    return frozenset(
        entry.line for entry in document.observations if entry.id in gone.ids or gone.words.are(entry.text)
    )


def stale_hooks(document: Document, gone: Gone) -> frozenset[int]:
    """The hooks that have nothing left to lead to, or say what only the forgotten said; as lines from 1.

    A hook leads to the first of several items that follow one another, up to where the next hook of that night leads.
    """
    if not (gone.names or gone.thinned):
        return frozenset()
    hooks = _hooks(document)
    firsts: dict[str, list[int]] = {}
    for match in hooks.values():
        firsts.setdefault(match["night"], []).append(int(match["number"]))
    found = set()
    for number, match in hooks.items():
        first = int(match["number"])
        end = min((n for n in firsts[match["night"]] if n > first), default=None)
        if match["night"].startswith("CHUNK-"):
            end = first + 1
        if _is_stale(document.lines[number - 1], match["night"], first, end, gone):
            found.add(number)
    return frozenset(found)


def our_lines(document: Document) -> frozenset[int]:
    """The lines, from 1, that we write: observations and hooks."""
    return frozenset({entry.line for entry in document.observations} | _hooks(document).keys())


def _hooks(document: Document) -> dict[int, re.Match[str]]:
    hidden = {n + 1 for block in document.blocks if block.hidden for n in range(block.start, block.end)}
    return {n: match for n, line in enumerate(document.lines, 1) if n not in hidden and (match := _HOOK.match(line))}


def _is_stale(line: str, night: str, first: int, end: int | None, gone: Gone) -> bool:
    def is_led_to(name: str) -> bool:
        of, _, number = name.rpartition("-")
        return of == night and first <= int(number) and (end is None or int(number) < end)

    if not any(map(is_led_to, gone.names | gone.thinned)):
        return False
    rest = " ".join(text for name, text in gone.kept.items() if is_led_to(name))
    said = subject_of(line.partition("[ref:")[0]) & gone.subjects
    return not rest or not said <= subject_of(rest)


def scrubbed(content: bytes, gone: Gone) -> bytes:
    """A version of the memory without what goes; every other byte stays."""
    document = parse(content)
    lines, hooks = lines_of(document, gone), stale_hooks(document, gone)
    if not lines and not hooks:
        return content
    document = document.edited(lines | hooks, {})
    return (hook_lines.rewritten(document, (), ()) if hooks else document).render()


def without_forgotten(content: bytes, tombstones: Tombstones) -> bytes:
    """An older version of the memory without the lines that were forgotten since; every other byte stays."""
    document = parse(content)
    lines = {entry.line for entry in document.observations if _was_forgotten(entry, tombstones)}
    return document.edited(lines, {}).render() if lines else content


def _was_forgotten(entry: Entry, tombstones: Tombstones) -> bool:
    until = tombstones.last_day(entry.text)
    day = entry.recorded or entry.heading
    return until is not None and (day is None or day <= until)


# --- the archive


def scrubbed_archive(text: str, gone: Gone, today: date) -> str:
    """An archive file without the words of what goes. Its names stay, so that they are not given out again."""
    # An entry quotes another where that had no id.
    meant = gone.ids | gone.names | gone.thinned
    if "“" not in text and not gone.words.may_stand_in(text) and not called(text) & meant:
        return text
    return "\n".join(line for section in sections(text) for line in _scrubbed_section(section, gone, today))


def _scrubbed_section(section: Section, gone: Gone, today: date) -> Sequence[str]:
    if section.name in gone.names and not section.is_forgotten:
        return [f"## {section.name}", "", f"- {FORGOTTEN}: {today.isoformat()}", ""]
    if section.name in gone.thinned and any(gone.is_one(source) for source in section.sources()):
        return _thinned(section, gone, today)
    return _without_words_in(section.lines, gone)


def _thinned(section: Section, gone: Gone, today: date) -> Sequence[str]:
    """A chunk without some of its lines, and without what its head says of them."""
    known = subject_of(gone.kept.get(section.name or "", ""))
    head = [_reworded(line, known) for line in section.head().lines]
    while head and not head[-1].strip():
        head.pop()
    stay = [source for source in section.sources() if not gone.is_one(source)]
    lines = [line for source in stay for line in _without_words_in(source.lines, gone)]
    return [*head, f"- {FORGOTTEN}: {today.isoformat()}, in part", "", *lines, *section.tail()]


def _reworded(line: str, known: Collection[str]) -> str:
    """A line of a chunk's head with what the remaining lines say too; they know these words."""
    match = _FIELD.fullmatch(line)
    if match is None or match["name"] not in ("Topic", "Finding", "Names"):
        return line
    if match["name"] == "Names":
        names = [name for name in match["value"].split(", ") if subject_of(name) <= set(known)]
        return f"{match['head']}{', '.join(names) or 'none'}"
    is_said = match["name"] == "Topic" and subject_of(match["value"]) <= set(known)
    return line if is_said else f"{match['head']}{GONE}"


def _without_words_in(lines: Sequence[str], gone: Gone) -> list[str]:
    return [line for line in (_without_words(line, gone) for line in lines) if line is not None]


def _without_words(line: str, gone: Gone) -> str | None:
    """A line that tells of other things, without what it has of those that go; None when nothing is left."""
    if len(line) < SHORTEST or line.startswith(_OWN_WORDS) or not gone.words.stand_in(line):
        return line
    field = _FIELD.fullmatch(line)
    return f"{field['head']}{GONE}" if field else None


# --- what else we write


def scrubbed_lines(text: str, gone: Gone) -> str:
    """A report of ours without the lines that hold the words of what goes, or name it."""
    return "\n".join(line for line in text.split("\n") if not (gone.refers(line) or gone.words.stand_in(line)))


def scrubbed_log(text: str, gone: Gone) -> str:
    """A log whose lines that hold words of what goes have only their time left."""
    return "\n".join(_time_of(line) if gone.words.stand_in(line) else line for line in text.split("\n"))


def _time_of(line: str) -> str:
    return f"{line.partition(' ')[0]} {GONE}"


def scrubbed_value(value: str, gone: Gone, backup: Callable[[str, str], str | None]) -> str:
    """A value of the state: documents in it lose their lines, and the hash of a backup follows the backup.

    `backup` gives the SHA-256 that the backup of a name will have which has this one now; None when it stays.
    """
    try:
        fields = json.loads(value)
    except ValueError:
        return GONE if gone.words.stand_in(value) else value
    renewed = _renewed(fields, gone, backup)
    return value if renewed == fields else json.dumps(renewed)


def _renewed(value: object, gone: Gone, backup: Callable[[str, str], str | None]) -> object:
    if isinstance(value, dict):
        fields = {name: _renewed(inside, gone, backup) for name, inside in value.items()}
        name, before = fields.get("backup"), fields.get("before")
        if isinstance(name, str) and isinstance(before, str):
            fields["before"] = backup(name, before) or before
        return fields
    if isinstance(value, list):
        return [_renewed(inside, gone, backup) for inside in value]
    if isinstance(value, str) and "\n" in value:
        content = value.encode("utf-8", "surrogateescape")
        return scrubbed(content, gone).decode("utf-8", "surrogateescape")
    return GONE if isinstance(value, str) and (gone.words.stand_in(value) or gone.refers(value)) else value


# --- what is not ours


def mentions(text: str, words: Words, speaks: Callable[[str], bool], own: Collection[int] = ()) -> Iterator[int]:
    """The lines, from 1, of somebody's file that hold the words or speak of the same; not those that are `own`."""
    for number, line in enumerate(text.split("\n"), 1):
        if number not in own and line.strip() and (words.stand_in(line) or speaks(line)):
            yield number
