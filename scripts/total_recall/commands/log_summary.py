"""log summary: one paragraph about a day in `memory/YYYY-MM-DD.md`, between markers, beside what others wrote there.

The counts are SQL's. A model, where there is one, says what the day was about, from what was observed that day; where
its words hold a number that nobody counted or said, the paragraph does without them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta, tzinfo
from hashlib import blake2b
from pathlib import Path
from typing import Final, Literal

from total_recall import clock, logs, resources
from total_recall.commands import places
from total_recall.commands.compressing import asking_reflector
from total_recall.commands.logged import Asked, Logged, opened
from total_recall.commands.places import Configuration, Place
from total_recall.errors import TotalRecallError
from total_recall.host.textblock import Markers, line_end_of, with_block
from total_recall.llm.figures import readings
from total_recall.memory.document import parse
from total_recall.memory.raw import is_raw
from total_recall.memory.store import MemoryStore, Replaced
from total_recall.periods import Period
from total_recall.sidecar import summary
from total_recall.sidecar.summary import Ask, Day
from total_recall.state import State, Step, no_step

PROMPT: Final = "log-summary-system.txt"
NOTES: Final = 40
"""So many of a day's observations are shown to the model, the most important ones."""
MARKERS: Final = Markers(b"<!-- total-recall:log-summary ", b"<!-- /total-recall:log-summary -->")
_BLOCK: Final = re.compile(
    rb"^<!-- total-recall:log-summary counts=(?P<counts>[0-9a-f]+) text=(?P<text>[0-9a-f]+) -->\r?\n"
    rb"(?P<inside>(?:(?!<!--).*\n)*?)<!-- /total-recall:log-summary -->",
    re.MULTILINE,
)
_MARKER: Final = re.compile(rb"^<!-- /?total-recall:log-summary\b.*\n?", re.MULTILINE)

Outcome = Literal["written", "unchanged", "nothing happened", "would write"]


@dataclass(frozen=True, slots=True)
class Options:
    """Which day; without one it is today, and yesterday when its paragraph is behind."""

    day: Period | None = None
    agent: str | None = None
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class Written:
    """What became of one day in one memory."""

    path: Path
    day: date
    outcome: Outcome
    text: str = ""


@dataclass(frozen=True, slots=True)
class Result:
    """What was done for each memory and day."""

    written: tuple[Written, ...]
    notes: tuple[str, ...] = ()

    def payload(self) -> dict[str, object]:
        """The fields of the JSON answer."""
        return {
            "days": [
                {"path": str(w.path), "day": w.day.isoformat(), "outcome": w.outcome, "text": w.text}
                for w in self.written
            ],
            "warnings": list(self.notes),
        }

    def lines(self) -> list[str]:
        """The answer for a person."""
        said = []
        for w in self.written:
            what = f"nothing happened on {w.day}" if w.outcome == "nothing happened" else f"{w.path}: {w.outcome}"
            said += [what, *([f"  {w.text}"] if w.text else [])]
        return [*(said or ["There is no log yet."]), *(f"  warning: {note}" for note in self.notes)]


def run(options: Options, config: Configuration | None = None, ask: Ask | None = None, step: Step = no_step) -> Result:
    """Write the paragraph of each memory; `ask` stands in for the model of the settings.

    Raises MemoryWriteError when the file cannot be written, StoreError for an unreadable log, TotalRecallError when
    `day` is no single day.
    """
    now = clock.now()
    config = config or places.configure()
    tz = config.settings.tz
    days = _days(options.day, now, tz)
    by_dir = {place.memory_dir: place for place in places.find(config, now, options.agent)}
    written: list[Written] = []
    with opened(config, now, Asked(agent=options.agent)) as found:
        notes = list(found.notes)
        for log in found.logs:
            author = _Author(by_dir[log.memory_dir], config, ask, options.dry_run, notes)
            written += [_summarised(log, author, day, tz, step, options) for day in days]
    if options.day is None:
        # Nobody asked for yesterday: it is told when there was something to do.
        written = [w for w in written if w.day == days[-1] or w.outcome in ("written", "would write")]
    return Result(tuple(written), tuple(notes))


def _days(asked: Period | None, now: datetime, tz: tzinfo) -> list[date]:
    today = now.astimezone(tz).date()
    if asked is None:
        return [today - timedelta(days=1), today]
    start, end = asked.resolve(now, tz)
    first, last = (at.astimezone(tz).date() for at in (start, end - timedelta(microseconds=1)))
    if asked.is_moment or first != last:
        raise TotalRecallError(f"{asked.text!r} is no single day; write today, yesterday or 2026-11-28")
    return [first]


@dataclass(frozen=True, slots=True)
class _Author:
    """Who words the paragraphs of one memory. `notes` are added to."""

    place: Place
    config: Configuration
    ask: Ask | None
    dry_run: bool
    notes: list[str]

    def text(self, log: Logged, day: Day) -> str:
        """The model's words, when there are any that hold, and always the counts."""
        tz = self.config.settings.tz
        tongue = summary.language(log.events.db, day.day, tz)
        counts = summary.offline(day, tongue)
        observed = _observed(self.place, day.day)
        if not observed:
            return counts
        reply = self._reply(summary.question(counts, observed, tongue))
        worded = summary.checked(reply, counts, observed, readings) if reply else None
        if reply and worded is None:
            self.notes.append(f"{day.day}: the model's words did not hold against the counts; they were left out")
        return f"{worded} ({counts.rstrip('.')})" if worded else counts

    def _reply(self, question: str) -> str | None:
        system = resources.prompt(PROMPT, self.place.workspace)
        try:
            if self.ask is not None:
                return self.ask(system, question)
            return self._of_the_settings(system, question)
        except TotalRecallError as error:
            self.notes.append(f"{error}; the counts alone were written")
            return None

    def _of_the_settings(self, system: str, question: str) -> str | None:
        settings = self.config.settings
        midnight = clock.now().astimezone(settings.tz).replace(hour=0, minute=0, second=0, microsecond=0)
        with State.open(self.place.own_dir) as state:
            if settings.daily_tokens is not None and state.tokens_since(midnight) >= settings.daily_tokens:
                return None
            dry_run_of = self.place.own_dir if self.dry_run else None
            with asking_reflector(settings, state, dry_run_of=dry_run_of) as (chosen, notes):
                self.notes.extend(note.replace("reflected offline", "summed up offline") for note in notes)
                return None if chosen is None else chosen(system, question)


def _observed(place: Place, day: date) -> list[str]:
    """What was observed that day and still holds, the most important first."""
    entries = [
        entry
        for entry in parse(MemoryStore(place.memory_dir).read().content).observations
        if entry.heading == day and entry.superseded_by is None and not is_raw(entry.id)
    ]
    entries.sort(key=lambda entry: -entry.importance)
    return [entry.text for entry in entries[:NOTES]]


def _summarised(log: Logged, author: _Author, day: date, tz: tzinfo, step: Step, options: Options) -> Written:
    store = _DayFile(log.memory_dir, step, day=day)
    counted = summary.count_day(log.events.db, day, tz)
    if counted is None:
        return Written(store.path, day, "nothing happened")
    block = _BLOCK.search(store.read().content)
    if block and block["counts"].decode() == counted.digest and _hash(block["inside"]) == block["text"].decode():
        return Written(store.path, day, "unchanged", _text_of(block["inside"]))
    text = author.text(log, counted)
    if options.dry_run:
        return Written(store.path, day, "would write", text)
    author.notes.extend(_put(store, day, counted.digest, text))
    logs.append(author.place.log, clock.now(), f"log summary: {store.path.name} written")
    return Written(store.path, day, "written", text)


# --- the file --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _DayFile(MemoryStore):
    """`memory/YYYY-MM-DD.md`, which the agent, the host and a person write to as well: replaced as the memory is."""

    day: date = date.min

    @property
    def path(self) -> Path:
        return self.memory_dir / f"{self.day.isoformat()}.md"


def _put(store: _DayFile, day: date, counts: str, text: str) -> list[str]:
    """Replace the paragraph in the file as it is now, however often somebody else writes it meanwhile."""
    notes: list[str] = []
    with store.lock() as rescued:
        snapshot = store.read()
        while True:
            new = with_paragraph(snapshot.content, day, counts, text)
            store.step("replace summary")
            done = store.replace(new, snapshot.sha256)
            if isinstance(done, Replaced):
                break
            snapshot = done.current
            rescued = (*rescued, *done.rescued)
    notes += [f"an edit of {store.path.name} made at the same moment was kept in {path}" for path in rescued]
    return notes


def with_paragraph(content: bytes, day: date, counts: str, text: str) -> bytes:
    """The file with this paragraph in the place of the old one, else at its end; all else as it is, byte for byte.

    An old paragraph that a person has edited stays as theirs, without our markers.
    """
    end = line_end_of(content) if content else b"\n"
    content = _unwrapped(content)
    if not _BLOCK.search(content):
        head = content if content.strip() else f"# {day.isoformat()}".encode() + end
        lines_apart = 0 if head.endswith(end * 2) else 1 if head.endswith(b"\n") else 2
        content = head + end * lines_apart
    inside = text.encode("utf-8", "replace")
    note = f"counts={counts} text={_hash(inside + end)} -->".encode()
    marked = Markers(MARKERS.begin, MARKERS.end, note)
    return with_block(content, marked, [inside], end)


def without_paragraph(content: bytes, speaks: Callable[[str], bool], *, keep_lines: bool = False) -> bytes:
    """The file without a paragraph of ours, as we wrote it, in which a line `speaks` of something.

    With `keep_lines` empty ones stand in its place, so that all others keep their numbers.
    """

    def kept(block: re.Match[bytes]) -> bytes:
        inside = block["inside"]
        ours = _hash(inside) == block["text"].decode()
        told = any(speaks(line) for line in inside.decode("utf-8", "replace").splitlines())
        if not (ours and told):
            return block[0]
        return b"\n" * block[0].count(b"\n") if keep_lines else b""

    return _BLOCK.sub(kept, content)


def _unwrapped(content: bytes) -> bytes:
    """The file without markers around what is not our own paragraph any more."""
    pieces: list[bytes] = []
    at = 0
    for block in _BLOCK.finditer(content):
        pieces.append(_MARKER.sub(b"", content[at : block.start()]))
        pieces.append(block[0] if _hash(block["inside"]) == block["text"].decode() else block["inside"])
        at = block.end()
    return b"".join([*pieces, _MARKER.sub(b"", content[at:])])


def _hash(inside: bytes) -> str:
    """Of a paragraph, whatever its lines end with: an editor may change that."""
    return blake2b(b"\n".join(line.rstrip() for line in inside.split(b"\n")), digest_size=6).hexdigest()


def _text_of(inside: bytes) -> str:
    return " ".join(inside.decode("utf-8", "replace").split())
