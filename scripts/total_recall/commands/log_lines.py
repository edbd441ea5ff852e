"""How events are shown: a line for a person, JSON, CSV. What a program or a stranger wrote cannot steer a terminal."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, tzinfo
from typing import Final

from total_recall.harmless import printable, printable_json
from total_recall.sidecar.rows import Event
from total_recall.sidecar.story import Told

SHOWN_CHARACTERS: Final = 160
"""A longer summary is shown shortened; `--json` has all of it."""

_ANSI: Final = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]P^_X][^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?|[ -/]*[0-~])"
    r"|\x9b[0-?]*[ -/]*[@-~]"
)
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")

COLUMNS: Final = (
    "at", "type", "name", "ok", "summary", "error", "exit_code", "duration_ms", "agent", "session", "session_key",
    "entry", "tokens_in", "tokens_out", "tokens_cached", "cost_usd", "sensitive",
)  # fmt: skip
"""Of a CSV, which has no details."""


def harmless(text: str) -> str:
    """`text` as one line without escape sequences, controls and what is not seen."""
    return " ".join(printable(_ANSI.sub("", text)).split())


def local(at: datetime, tz: tzinfo, form: str = "%Y-%m-%d %H:%M:%S") -> str:
    """The user's time; where clocks go back, and it comes twice, with its offset: `01:30:00-0400`."""
    here = at.astimezone(tz)
    twice = here.replace(fold=0).utcoffset() != here.replace(fold=1).utcoffset()
    return here.strftime(form + ("%z" if twice else ""))


def event_line(event: Event, tz: tzinfo) -> str:
    """Time, type, name, how it went, what it was; of what failed, in which session."""
    return f"{local(event.at, tz)}  {event.type:<17}  {_what(event)}".rstrip()


def _what(event: Event) -> str:
    name = harmless(event.name or "")
    parts = [name, _outcome(event), _shortened(event.summary)]
    if event.type.startswith("session_"):
        parts += [harmless(event.session.id), harmless(event.session.key or "")]
    if event.error and harmless(event.error) not in harmless(event.summary):
        parts.append(f"({_shortened(event.error)})")
    return "  ".join(part for part in (*parts, _measures(event)) if part)


def _outcome(event: Event) -> str:
    code = f" ({event.exit_code})" if event.exit_code else ""
    return "" if event.ok is None else "ok" if event.ok else f"FAILED{code}"


def _measures(event: Event) -> str:
    found = []
    if event.duration_ms is not None:
        found.append(duration(event.duration_ms))
    if event.tokens_in is not None or event.tokens_out is not None:
        found.append(f"{event.tokens_in or 0:,} tokens in, {event.tokens_out or 0:,} out")
    if event.cost_usd:
        found.append(money(event.cost_usd))
    if event.ok is False and event.session.id:
        # Enough of it for `log session`, which tells what led to this.
        found.append(f"session {harmless(event.session.id[:8])}")
    if event.is_sensitive:
        found.append("sensitive")
    return f"[{', '.join(found)}]" if found else ""


def duration(milliseconds: float) -> str:
    """`230 ms`, `4.2 s`, `3 min 5 s`."""
    if milliseconds < 1000:
        return f"{round(milliseconds)} ms"
    seconds = milliseconds / 1000
    return f"{seconds:.1f} s" if seconds < 60 else f"{int(seconds // 60):,} min {int(seconds % 60)} s"


def money(usd: float) -> str:
    """`$0.0042`."""
    return f"${usd:.2f}" if usd >= 1 else f"${usd:.4f}"


def _shortened(text: str) -> str:
    line = harmless(text)
    return line if len(line) <= SHOWN_CHARACTERS else line[: SHOWN_CHARACTERS - 1] + "…"


# --- for programs ----------------------------------------------------------------------------------------------


def fields_of(event: Event, tz: tzinfo) -> dict[str, object]:
    """An event as JSON shows it; `at` is in the user's zone, with its offset."""
    return {
        "at": event.at.astimezone(tz).isoformat(timespec="milliseconds"),
        "type": event.type,
        "name": event.name,
        "ok": event.ok,
        "summary": event.summary,
        "error": event.error,
        "exit_code": event.exit_code,
        "duration_ms": event.duration_ms,
        "agent": event.session.agent,
        "session": event.session.id or None,
        "session_key": event.session.key,
        "entry": event.entry_id,
        "tokens_in": event.tokens_in,
        "tokens_out": event.tokens_out,
        "tokens_cached": event.tokens_cached,
        "cost_usd": event.cost_usd,
        "sensitive": event.is_sensitive,
        "details": dict(event.details),
    }


def json_line(fields: Mapping[str, object]) -> str:
    """One line of JSON that a terminal shows as it stands."""
    return printable_json(json.dumps(fields, ensure_ascii=False))


def csv_lines(events: Iterable[Mapping[str, object]]) -> Iterator[str]:
    """A header and a row for each event; a cell that a spreadsheet would take for a formula begins with `'`."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="")
    for cells in _rows(events):
        buffer.seek(0)
        buffer.truncate()
        writer.writerow(cells)
        yield buffer.getvalue()


def _rows(events: Iterable[Mapping[str, object]]) -> Iterator[list[object]]:
    yield list(COLUMNS)
    for event in events:
        yield [_cell(event[name]) for name in COLUMNS]


def _cell(value: object) -> object:
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str):
        return value
    return f"'{harmless(value)}" if value.startswith(_FORMULA) else harmless(value)


# --- the story of a session ------------------------------------------------------------------------------------

INDENT: Final = "    "
FULL_CHARACTERS: Final = 800
"""More of a result or a message is not shown; `--json` has what the log keeps."""


def story_lines(told: Iterable[Told], tz: tzinfo) -> Iterator[str]:
    """A readable reconstruction: who said what, what was called with what, what came back."""
    day = ""
    for step in told:
        margin = INDENT * step.depth
        session, event = step.session, step.event
        if event is None:
            kind = f", {session.kind}" if session.kind else ""
            yield f"{margin}Session {harmless(session.id)} ({harmless(session.key or 'no key')}{kind})"
            day = ""
            continue
        today = event.at.astimezone(tz).strftime("%Y-%m-%d %A (UTC%z)")
        if today != day:
            yield f"{margin}── {today}"
            day = today
        yield from (margin + line for line in _told(event, tz))


def _told(event: Event, tz: tzinfo) -> Iterator[str]:
    text = event.details.get("text")
    said = _SPEAKERS.get(event.type)
    clock = local(event.at, tz, "%H:%M:%S")
    if said is None:
        yield f"{clock}  {event.type:<17}  {_what(event)}".rstrip()
        yield from _indented(_result(event))
        return
    kind = f" ({harmless(event.name)})" if event.name and event.name != "human" else ""
    first, *rest = _lines_of(text if isinstance(text, str) else event.summary) or [""]
    yield f"{clock}  {said}{kind}: {first}"
    yield from _indented("\n".join(rest))


_SPEAKERS: Final = {"user_message": "user", "assistant_reply": "assistant"}


def _result(event: Event) -> str:
    result = event.details.get("result")
    if result is None:
        return ""
    return result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)


def _indented(text: str) -> Iterator[str]:
    yield from (f"          │ {line}" for line in _lines_of(text))


def _lines_of(text: str) -> list[str]:
    cut = text if len(text) <= FULL_CHARACTERS else f"{text[:FULL_CHARACTERS]}…"
    return [f"{' ' * min(_indent(line), 24)}{plain}" for line in cut.split("\n") if (plain := harmless(line))]


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))
