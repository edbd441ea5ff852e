"""report: one page that shows the memory: what it holds, what it forgets when, what it cost. A file, or served here."""

from __future__ import annotations

import json
import secrets
import shlex
import signal
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, tzinfo
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock
from typing import Final

from total_recall import clock, periods
from total_recall.commands import forecast, known, logged, places, status
from total_recall.commands.known import Known
from total_recall.commands.logged import Asked
from total_recall.commands.places import Configuration, Place
from total_recall.commands.report_page import page
from total_recall.commands.report_parts import DAYS, LANGUAGES, TYPES, UNTYPED, Figures, Finding, Item, Language
from total_recall.commands.staging import WAITING
from total_recall.confined import refuse_links
from total_recall.errors import StoreError, TotalRecallError
from total_recall.memory.files import write_file
from total_recall.memory.line import read_day
from total_recall.memory.staging import Staging
from total_recall.recall.forecast import Forecast
from total_recall.sidecar import queries, statistics
from total_recall.sidecar.fulltext import match_query
from total_recall.sidecar.rows import Event
from total_recall.sidecar.statistics import Statistics
from total_recall.state import State
from total_recall.text import language_of

NAME: Final = "report.html"
LATEST_FAILURES: Final = 12
LANGUAGE_SAMPLE: Final = 200
"""So many of the newest lines tell which language the memory is in."""
HOST: Final = "127.0.0.1"
REQUEST_SECONDS: Final = 30

Say = Callable[[str], None]
Browse = Callable[[str], bool]
"""Opens an address in a browser; False when there is none."""


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line asked for. Without `output` the page goes beside the databases of the memory.

    With `serve` nothing is written: the page is made anew for each look at it, on `port` (0: any that is free).
    """

    output: Path | None = None
    open: bool = False
    serve: bool = False
    port: int = 0
    language: Language | None = None
    agent: str | None = None
    as_json: bool = False


@dataclass(frozen=True, slots=True)
class Result:
    """The page: where it is, how long it is, and what is on it. Of one that was served, `served` counts the looks."""

    path: Path | None
    size: int
    memories: int
    archived: int
    language: Language
    url: str | None = None
    served: int = 0
    notes: tuple[str, ...] = ()

    def payload(self) -> dict[str, object]:
        """The fields of the JSON answer; `size` is in bytes."""
        return {
            "path": str(self.path) if self.path else None,
            "size": self.size,
            "memories": self.memories,
            "archived": self.archived,
            "language": self.language,
            "url": self.url,
            "served": self.served,
            "warnings": list(self.notes),
        }

    def lines(self) -> list[str]:
        """The answer for a person."""
        notes = [f"  warning: {note}" for note in self.notes]
        if self.path is None:
            return [f"The report was looked at {self.served} times.", *notes]
        holds = f"{self.memories:,} memories and {self.archived:,} archived ones, {self.size / 1000:,.0f} kB"
        return [f"Report: {self.path}", f"  {holds}; it is for your eyes: it holds what was remembered", *notes]


def run(options: Options, say: Say, config: Configuration | None = None, browse: Browse = webbrowser.open) -> Result:
    """Write the page of the default agent's memory, or that of `agent`; or serve it until Ctrl-C or SIGTERM.

    `say` tells the address while it is served. Raises TotalRecallError when there is no such agent, or the port is
    taken, StoreError when something cannot be read, MemoryWriteError when the page cannot be written.
    """
    config = config or places.configure()
    place = places.find(config, clock.now(), options.agent)[0]
    if options.serve:
        return _serve(options, config, place, say, browse)
    figures, language = gather(config, place, options.agent), options.language
    language = language or language_of_memory(figures)
    content = page(figures, language).encode("utf-8", "replace")
    path = (options.output or place.own_dir / NAME).absolute()
    if options.output is None:
        refuse_links(place.memory_dir)
    write_file(path, content)
    notes = _opened(path.as_uri(), browse) if options.open else ()
    return Result(path, len(content), len(figures.live), len(figures.archived), language, notes=notes)


def _opened(url: str, browse: Browse) -> tuple[str, ...]:
    return () if browse(url) else (f"no browser could be started; open {url} in yours",)


def language_of_memory(figures: Figures) -> Language:
    """The language of the newest lines, where the page is there in it; else English."""
    newest = [item.text for item in figures.live[-LANGUAGE_SAMPLE:]]
    spoken = language_of("\n".join(newest[::-1]))
    return next((language for language in LANGUAGES if language == spoken), "en")


# --- the figures -----------------------------------------------------------------------------------------------


def gather(config: Configuration, place: Place, agent: str | None) -> Figures:
    """All figures of one memory, each from where the command that tells it has it."""
    now = clock.now()
    tz = config.settings.tz
    outlook = forecast.run(forecast.Options(agent=agent), config)
    everything = known.all_of(place.memory_dir)
    events, failures, notes = _logged(config, place, agent, now, tz)
    staged = Staging(place.memory_dir, place.workspace).entries()
    with State.open_copy(place.own_dir) as state:
        runs = tuple(run for _, run in state.runs_after(0))
    since = now - timedelta(days=DAYS)
    return Figures(
        made=now.astimezone(tz),
        zone=str(tz),
        status=status.memory_of(place, config),
        outlook=outlook,
        items=_items(everything, outlook),
        findings=tuple(_finding(one) for one in reversed(everything) if one.is_finding and not one.is_back),
        proposals=tuple(entry for entry in staged if entry.status in WAITING),
        decided=sum(entry.status not in WAITING for entry in staged),
        costs=status.costs_of([place], now, tz),
        runs=tuple(run for run in runs if run.started >= since),
        events=events,
        failures=failures,
        others=_others(config, place, now) if agent is None else (),
        notes=notes,
    )


def _others(config: Configuration, place: Place, now: datetime) -> tuple[tuple[str, str], ...]:
    """(How it is asked for, directory) of the memories that have a page of their own."""
    found = places.find(config, now)
    return tuple(
        (asked, str(other.memory_dir))
        for other in found
        if other.memory_dir != place.memory_dir and other.memory_dir.is_dir() and (asked := _asked(other))
    )


def _asked(place: Place) -> str | None:
    """The option that names a memory; None for one that has no name."""
    if place.host == places.OPENCLAW:
        return f"--agent {shlex.quote(place.agents[0])}" if place.agents else None
    project = next((store.project for store in place.stores if store.project is not None), None)
    return f"--project {shlex.quote(str(project))}" if project else None


def _logged(
    config: Configuration, place: Place, agent: str | None, now: datetime, tz: tzinfo
) -> tuple[Statistics, tuple[Event, ...], tuple[str, ...]]:
    """The counts of the last days, the latest failures, and what a person should know of the log."""
    since = datetime.combine(now.astimezone(tz).date() - timedelta(days=DAYS - 1), datetime.min.time(), tz)
    try:
        with logged.opened(config, now, Asked(agent=agent)) as found:
            for log in found.logs:
                if log.memory_dir == place.memory_dir:
                    wanted = replace(log.wanted, since_ms=periods.milliseconds(since))
                    failed = queries.newest(log.events.db, replace(wanted, failed=True), LATEST_FAILURES, match_query)
                    return statistics.gather(log.events.db, wanted, tz), tuple(failed), found.notes
            return Statistics(()), (), found.notes
    except StoreError as error:
        # The memory is worth a page without its log.
        return Statistics(()), (), (f"the log is left out: {error}",)


def _items(everything: tuple[Known, ...], outlook: forecast.Result) -> tuple[Item, ...]:
    """Every single line, of the memory and of the archive; one that was brought back counts once."""
    forecasts = {one.line.number: one for one in outlook.forecasts}
    found: list[Item] = []
    for one in everything:
        if one.is_live and one.line is not None:
            ahead = forecasts.get(one.line.line)
            found.append(_live(one, ahead if ahead and ahead.line.key == one.key else None, outlook))
        elif one.entry is not None and not one.is_back:
            found.append(_archived(one))
    return tuple(found)


def _live(one: Known, ahead: Forecast | None, outlook: forecast.Result) -> Item:
    item = _item(one)
    if ahead is None:  # the document was changed a moment ago
        return item
    leave = outlook.tonight.leaves.get(ahead.line.number) or ahead.now.leaves
    kind = ahead.line.memory.type
    return replace(item, type=kind, moves=leave.on if leave else None, why=leave.rule if leave else "")


def _archived(one: Known) -> Item:
    item, section = _item(one), one.section
    kind = section.fields.get("Type", UNTYPED) if section else UNTYPED
    # A file is called after the day on which its lines left.
    return replace(
        item,
        type=item.type if kind not in TYPES else kind,
        is_live=False,
        moves=read_day(Path(one.file).stem),
        why=section.reason if section else "",
        name=one.name or "",
    )


def _item(one: Known) -> Item:
    entry = one.entry
    assert entry is not None  # `_items` takes single lines only
    return Item(
        key=one.key,
        text=entry.text,
        day=entry.heading or entry.recorded,
        time=f"{entry.time:%H:%M}" if entry.time else "",
        type=entry.type or UNTYPED,
        priority=entry.priority,
        importance=entry.importance,
        is_live=True,
    )


def _finding(one: Known) -> Finding:
    fields = one.section.fields if one.section else {}
    return Finding(one.name or "", fields.get("Topic", ""), one.text, fields.get("Dates", ""))


# --- serving it ------------------------------------------------------------------------------------------------


class _Server(ThreadingHTTPServer):
    """Gives one page, to who knows its address, on this computer alone."""

    daemon_threads = True

    def __init__(self, port: int, make: Callable[[], bytes]) -> None:
        super().__init__((HOST, port), _Handler)
        self.make = make
        self.lock = Lock()
        self.served = 0
        self.place = f"/{secrets.token_urlsafe(24)}/"
        self.hosts = tuple(f"{name}:{self.server_port}" for name in (HOST, "localhost"))

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.server_port}{self.place}"


class _Handler(BaseHTTPRequestHandler):
    """Answers GET and HEAD of the one address; everything else is refused."""

    server: _Server
    server_version = "total-recall"
    sys_version = ""
    timeout = REQUEST_SECONDS

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def _answer(self, with_body: bool) -> None:
        # Another name for this computer is how a page from elsewhere would reach it.
        if self.headers.get("Host", "").casefold() not in self.server.hosts:
            self.send_error(HTTPStatus.MISDIRECTED_REQUEST)
        elif not secrets.compare_digest(self.path.encode("utf-8", "replace"), self.server.place.encode()):
            self.send_error(HTTPStatus.NOT_FOUND)
        else:
            self._send(with_body)

    def _send(self, with_body: bool) -> None:
        try:
            with self.server.lock:
                content, kind = self.server.make(), "text/html"
                self.server.served += with_body
            code = HTTPStatus.OK
        except TotalRecallError as error:
            content, kind, code = f"{error}\n".encode("utf-8", "replace"), "text/plain", HTTPStatus.SERVICE_UNAVAILABLE
        self.send_response(code)
        for name, value in (("Content-Type", f"{kind}; charset=utf-8"), ("Content-Length", str(len(content)))):
            self.send_header(name, value)
        self.end_headers()
        if with_body:
            self.wfile.write(content)

    def end_headers(self) -> None:
        for name, value in HEADERS:
            self.send_header(name, value)
        super().end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: the address holds the token."""


HEADERS: Final = (
    ("Cache-Control", "no-store"),
    ("Content-Security-Policy", "frame-ancestors 'none'"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Referrer-Policy", "no-referrer"),
    ("X-Content-Type-Options", "nosniff"),
    ("X-Frame-Options", "DENY"),
)


def _serve(options: Options, config: Configuration, place: Place, say: Say, browse: Browse) -> Result:
    last: Result | None = None

    def make() -> bytes:
        nonlocal last
        figures = gather(config, place, options.agent)
        language = options.language or language_of_memory(figures)
        content = page(figures, language).encode("utf-8", "replace")
        last = Result(None, len(content), len(figures.live), len(figures.archived), language)
        return content

    try:
        server = _Server(options.port, make)
    except OSError as error:
        raise TotalRecallError(f"--port {options.port}: {error.strerror}; choose another, or leave it out") from error
    with server:
        words = f"The report is at {server.url} until Ctrl-C."
        notes: tuple[str, ...] = ()
        with _ended_by_a_signal():
            say(json.dumps({"url": server.url}) if options.as_json else words)
            notes = _opened(server.url, browse) if options.open else ()
            for note in notes:
                say(json.dumps({"warning": note}) if options.as_json else f"  warning: {note}")
            server.serve_forever()
    done = last or Result(None, 0, 0, 0, options.language or "en")
    return replace(done, url=server.url, served=server.served, notes=notes)


@contextmanager
def _ended_by_a_signal() -> Iterator[None]:
    """Ctrl-C and SIGTERM are how serving ends, and no failure."""

    def end(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    except KeyboardInterrupt:
        pass
    finally:
        signal.signal(signal.SIGTERM, before)
