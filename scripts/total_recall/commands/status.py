"""status: is it working? What is stored, what waits, the last runs, what comes next, and what was set."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import timezone, tzinfo
from typing import Final, Literal

from total_recall import clock
from total_recall.commands import places
from total_recall.commands.compressing import choose
from total_recall.commands.doctor_findings import age, local
from total_recall.commands.observing import counted
from total_recall.commands.places import Configuration, Place
from total_recall.commands.status_facts import QUIET, LastDay, compressor_words
from total_recall.commands.status_facts import Cost as Cost
from total_recall.commands.status_facts import MemoryStatus as MemoryStatus
from total_recall.commands.status_facts import costs_of as costs_of
from total_recall.commands.status_facts import memory_of as memory_of
from total_recall.errors import StoreError
from total_recall.harmless import printable
from total_recall.settings import Shown

Tone = Literal["plain", "good", "waiting", "bad", "head"]

LABEL_WIDTH: Final = 12
NARROW: Final = 50
"""With fewer columns a label stands on a line of its own."""
BAR_WIDTH: Final = 24
_CODES: Final = {"plain": "", "good": "32", "waiting": "33", "bad": "31", "head": "1"}
_DIM: Final = "2"


@dataclass(frozen=True, slots=True)
class Row:
    """A label and what it says; `share` (0 to 1) is shown as a bar behind it where there is a terminal."""

    label: str
    text: str
    tone: Tone = "plain"
    share: float | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """What `status` found. `costs` is None unless it was asked for."""

    memories: tuple[MemoryStatus, ...]
    settings: tuple[Shown, ...]
    problems: tuple[str, ...]
    compressor: str
    time_zone: str
    costs: tuple[Cost, ...] | None = None
    word_limit: int = 0
    token_target: int = 0
    every_setting: bool = False
    tz: tzinfo = timezone.utc

    def payload(self) -> dict[str, object]:
        """The fields of the JSON answer."""
        return {
            "compressor": self.compressor,
            "time_zone": self.time_zone,
            "warnings": list(self.problems),
            "word_limit": self.word_limit,
            "token_target": self.token_target,
            **({} if self.costs is None else {"costs": [{**asdict(c), "day": c.day.isoformat()} for c in self.costs]}),
            "settings": [{"name": s.name, "value": s.value, "origin": s.origin} for s in self.settings],
            "memories": [
                {
                    "memory_dir": str(m.memory_dir),
                    "agents": list(m.agents),
                    "health": m.health,
                    "stores": [
                        {"kind": s.kind, "path": s.path, "transcripts": s.transcripts, "unread": list(s.unread)}
                        for s in m.stores
                    ],
                    "observations": m.observations,
                    "priorities": m.priorities,
                    "words": m.words,
                    "tokens": m.tokens,
                    "observed_messages": m.observed,
                    "new_messages": m.new,
                    "waiting_messages": m.waiting,
                    "oldest_waiting": m.oldest_waiting.isoformat() if m.oldest_waiting else None,
                    "last_run": m.last_stamp.isoformat() if m.last_stamp else None,
                    "last_result": m.last_run.detail if m.last_run else None,
                    "compressor": m.compressor,
                    "warnings": list(m.problems),
                    "types": m.types,
                    "runs": {
                        run.command: {"ended": run.ended.isoformat(), "outcome": run.outcome, "detail": run.detail}
                        for run in m.runs
                    },
                    "proposals": m.proposals,
                    "next_out": {**asdict(m.next_out), "day": m.next_out.day.isoformat()} if m.next_out else None,
                    "last_day": asdict(m.last_day),
                }
                for m in self.memories
            ],
        }

    def lines(self) -> list[str]:
        """The answer for a person, without colours and bars."""
        return [*plain_lines(self._rows()), *self._costs()]

    def screen(self, columns: int, colours: bool) -> list[str]:
        """The same for a terminal of so many columns."""
        drawn = screen(self._rows(), columns, colours)
        return [*drawn, *(part for line in self._costs() for part in wrapped(printable(line), columns))]

    def _costs(self) -> list[str]:
        return [] if self.costs is None else _cost_lines(self.costs)

    def _rows(self) -> list[Row]:
        rows: list[Row] = []
        for memory in self.memories:
            rows += [*_memory_rows(memory, self), Row("", "")]
        rows += [Row("warning:", line, "waiting") for line in self.problems]
        if self.costs is not None:
            return rows
        rows += [Row("Compressor", self.compressor), Row("Time zone", self.time_zone)]
        shown = [s for s in self.settings if self.every_setting or s.origin != "default"]
        width = max((len(s.name) for s in shown), default=0)
        rows += [Row("Settings", "")] if shown else []
        rows += [Row("", f"{s.name:<{width}}  {s.value or '-'}  ({s.origin})") for s in shown]
        if not self.every_setting:
            rest = f"{len(self.settings) - len(shown)} of {len(self.settings)} have their defaults"
            rows.append(Row("Settings" if not shown else "", f"{rest}; `status --settings` shows all"))
        return rows


_TONES: dict[str, Tone] = {"quiet": "good", "lagging": "waiting", "never ran": "waiting", "stopped": "bad"}
_MEANINGS = {
    "quiet": "it works, nothing waits",
    "lagging": "it works, the next run takes what waits",
    "stopped": "messages wait and nothing runs: `doctor` says why",
    "never ran": "`setup` makes it work by itself, `observe` runs it once",
}


def _memory_rows(memory: MemoryStatus, result: Result) -> list[Row]:
    now = clock.now()
    marks = " ".join(f"{sign} {memory.priorities.get(name, 0)}" for name, sign in _SIGNS)
    size = f"{memory.words:,} words, about {memory.tokens:,} tokens"
    waits = f"{memory.new:,} new, {memory.waiting:,} waiting"
    if memory.oldest_waiting:
        waits += f", the oldest since {local(memory.oldest_waiting, result.tz)}"
    last, meaning, tone = "never", _MEANINGS[memory.health], _TONES[memory.health]
    if memory.last_stamp:
        past = now - memory.last_stamp
        last = f"{local(memory.last_stamp, result.tz)}, {age(past)} ago"
        if memory.health == "quiet" and past > QUIET:
            meaning = f"nothing waits, but nothing has run for {age(past)}: `doctor` says whether it will"
            tone = "waiting"
    rows = [
        Row("Memory", str(memory.memory_dir / "observations.md"), "head"),
        Row("", f"{memory.health}: {meaning}", tone),
        Row("Last run", last),
        Row("Messages", f"{memory.observed:,} observed, {waits}"),
        Row("Size", f"{memory.observations:,} observations ({marks}), {size}"),
    ]
    most = max(memory.types.values(), default=1)
    width = len(f"{most:,}")
    for number, (kind, count) in enumerate(sorted(memory.types.items(), key=lambda item: (-item[1], item[0]))):
        rows.append(Row("Types" if number == 0 else "", f"{kind:<10} {count:>{width},}", share=count / most))
    for number, run in enumerate(memory.runs):
        said = f"{run.command:<8}{local(run.ended, result.tz)}: {run.detail}"
        rows.append(Row("Runs" if number == 0 else "", said, "bad" if run.outcome == "failed" else "plain"))
    rows += _next_rows(memory, result)
    rows.append(Row("Last 24 h", _day_words(memory.last_day)))
    rows.append(Row("Agents" if memory.agents else "Project", ", ".join(memory.agents) or str(memory.memory_dir)))
    for store in [s for s in memory.stores if s.transcripts or s.unread] or memory.stores:
        there = f"{store.transcripts} transcripts" if store.transcripts else "nothing there"
        rows.append(Row("Store", f"{store.path} ({store.kind}): {there}"))
        rows += [Row("", f"not read: {line}", "waiting") for line in store.unread[:3]]
        if len(store.unread) > 3:
            rows.append(Row("", f"not read: {len(store.unread) - 3} more", "waiting"))
    return rows + [Row("warning:", line, "waiting") for line in memory.problems]


def _next_rows(memory: MemoryStatus, result: Result) -> list[Row]:
    """What comes next: a reflection, a night, what it takes out."""
    limit, target = result.word_limit, result.token_target
    rows = [
        Row("Next", f"reflection  above {limit:,} words, now {memory.words:,}", share=memory.words / max(1, limit)),
        Row("", f"night       aims at {target:,} tokens, now {memory.tokens:,}", share=memory.tokens / max(1, target)),
    ]
    out = memory.next_out
    if out is None:
        rows.append(Row("", "archive     nothing that age alone lets go"))
    else:
        due = f", {out.due_today:,} in all tonight" if out.due_today > 1 else ""
        text = out.text if len(out.text) <= SHOWN_CHARACTERS else f"{out.text[: SHOWN_CHARACTERS - 1]}…"
        rows.append(Row("", f"archive     {out.day} ({out.rule}{due}): {text}"))
    if memory.proposals:
        rows.append(Row("", f"proposals   {memory.proposals:,} wait for you: `staging list`", "waiting"))
    return rows


SHOWN_CHARACTERS = 60


def _day_words(day: LastDay) -> str:
    said = "nothing in the log"
    if day.events:
        said = f"{counted(day.events, 'event')}: {counted(day.messages or 0, 'message')}, "
        said += f"{counted(day.tool_calls or 0, 'tool call')}, {day.failed or 0:,} failed"
    if not day.calls:
        return f"{said}; no model was asked"
    price = "no price told" if day.cost_usd is None else f"${day.cost_usd:.4f}"
    failed = f", {day.calls_failed:,} failed" if day.calls_failed else ""
    return f"{said}; {counted(day.calls, 'model call')}{failed}, {day.tokens_in + day.tokens_out:,} tokens, {price}"


def _cost_lines(costs: Sequence[Cost]) -> list[str]:
    if not costs:
        return ["No model was asked in the last 30 days."]
    width = max(len(cost.model) for cost in costs)
    said = []
    for cost in costs:
        price = "no price told" if cost.cost_usd is None else f"${cost.cost_usd:.4f}"
        failed = f", {cost.failed} failed" if cost.failed else ""
        said.append(
            f"{cost.day}  {cost.model:<{width}}  {counted(cost.calls, 'call')}{failed}, "
            f"{cost.tokens_in:,} tokens in, {cost.tokens_out:,} out, {price}"
        )
    return said


_SIGNS = (("high", "🔴"), ("medium", "🟡"), ("low", "🟢"))


def run(config: Configuration | None = None, *, cost: bool = False, every_setting: bool = False) -> Result:
    """Look, and change nothing. `every_setting` is shown to a person too, not those alone that were set."""
    now = clock.now()
    config = config or places.configure()
    problems = [config.host.problem] if config.host.problem else []
    found: list[Place] = []
    try:
        found = places.find(config, now)
    except StoreError as error:
        problems.append(str(error))
    settings = config.settings
    memories = tuple(memory_of(place, config) for place in found)
    return Result(
        memories,
        settings.shown,
        tuple(problems),
        memories[0].compressor if memories else compressor_words(choose(settings, "observer")),
        str(settings.tz),
        costs_of(found, now, settings.tz) if cost else None,
        settings.reflector_word_threshold,
        settings.dream_token_target,
        every_setting,
        settings.tz,
    )


# --- how it is shown: plain lines, or a terminal's with bars and colours


def plain_lines(rows: Sequence[Row]) -> list[str]:
    """For a pipe, a log or an agent: no bars, no colours, a row a line."""
    return [f"{row.label:<{LABEL_WIDTH}}{row.text}".rstrip() for row in rows]


def screen(rows: Sequence[Row], columns: int, colours: bool) -> list[str]:
    """For a terminal: broken at its width, in columns as it counts them. What was said cannot steer it."""
    return [line for row in rows for line in _drawn(row, max(20, columns), colours)]


def _drawn(row: Row, columns: int, colours: bool) -> Iterator[str]:
    label, text = printable(row.label), printable(row.text)
    narrow = columns < NARROW
    if not label and not text:
        yield ""
        return
    indent = 2 if narrow else LABEL_WIDTH
    if narrow and label.strip():
        yield _painted(label, _DIM if text else _CODES["head"], colours)
        label = ""
    start = "" if narrow else _painted(padded(label, LABEL_WIDTH), _DIM if text else _CODES["head"], colours)
    if not text:
        if not narrow:
            yield start.rstrip()
        return
    lines = wrapped(text, columns - indent)
    bar = _bar(row.share, columns - indent - width(lines[-1]) - 2)
    for number, line in enumerate(lines):
        shown = _painted(line, _CODES[row.tone], colours)
        if bar and number == len(lines) - 1:
            shown += f"  {_painted(bar, '36', colours)}"
        yield (start if number == 0 and start else " " * indent) + shown


def _bar(share: float | None, room: int) -> str:
    if share is None or room < 4:
        return ""
    return "█" * max(1 if share > 0 else 0, round(min(1.0, share) * min(BAR_WIDTH, room)))


def _painted(text: str, code: str, colours: bool) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if colours and code and text.strip() else text


def width(text: str) -> int:
    """Columns that a terminal needs for a text: Korean, Chinese, Japanese and emoji take two."""
    return sum(_columns(letter) for letter in text)


def _columns(letter: str) -> int:
    if unicodedata.combining(letter) or letter in "\u200d\ufe0e\ufe0f":
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def padded(text: str, columns: int) -> str:
    """A text with spaces up to so many columns."""
    return text + " " * max(0, columns - width(text))


def wrapped(text: str, columns: int) -> list[str]:
    """A text in lines of at most so many columns, broken at spaces where there are any."""
    lines, line = [], ""
    for word in text.split(" "):
        if line and width(line) + 1 + width(word) <= columns:
            line = f"{line} {word}"
            continue
        if line.strip():
            lines.append(line)
        while width(word) > columns:
            cut = _fitting(word, columns)
            lines.append(word[:cut])
            word = word[cut:]
        line = word
    return [*lines, line] if line or not lines else lines


def _fitting(text: str, columns: int) -> int:
    """How many letters of a text fit; one at least."""
    used = 0
    for number, letter in enumerate(text):
        used += _columns(letter)
        if used > columns:
            return max(1, number)
    return len(text)
