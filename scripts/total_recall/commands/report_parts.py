"""The parts of the report: what each shows of the figures, as markup. Pure but for reading the words."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Final, Literal, get_args

from total_recall import retention
from total_recall.commands import forecast
from total_recall.commands.log_lines import money
from total_recall.commands.report_charts import (
    Curve,
    Dots,
    Html,
    Plane,
    Series,
    bars,
    cell,
    curves,
    escaped,
    joined,
    legend,
    number,
    plain,
    share,
    table,
    tag,
)
from total_recall.commands.status import Cost, MemoryStatus
from total_recall.decay import ARCHIVE_BELOW, LOSS_A_DAY, TTL_DAYS, remaining
from total_recall.memory.line import priority_of
from total_recall.memory.staging import Entry as Proposal
from total_recall.recall import scoring
from total_recall.recall.forecast import IN_TOP, Leave, Remembered, presence
from total_recall.records import ObservationType, Priority
from total_recall.sidecar.rows import Event
from total_recall.sidecar.statistics import Count, Statistics
from total_recall.state import RunRecord

Language = Literal["en", "ko"]
LANGUAGES: Final[tuple[Language, ...]] = get_args(Language)
PRIORITIES: Final[tuple[Priority, ...]] = get_args(Priority)
TYPES: Final[tuple[ObservationType, ...]] = get_args(ObservationType)
UNTYPED: Final = "untyped"

DAYS: Final = 30
"""How far back the log, the runs and the money are looked at."""
TIMELINE_DAYS: Final = 60
LEAST_DAYS: Final = 14
WEEKS: Final = 12
LISTED: Final = 12
"""So many lines are listed where the search has all of them."""
PROPOSALS: Final = 6
SHOWN_CHARACTERS: Final = 240
RECALL_DAYS: Final = 120
DOTS: Final = 400
"""So many places of dots are drawn on a chart; the fullest."""

_HERE: Final = Path(__file__).parent
_COLOURS: Final = ("k-s1", "k-s2", "k-s3", "k-s4", "k-s6", "k-s5")
RULE_COLOURS: Final[Mapping[str, str]] = {
    "expired": "k-s1", "faded": "k-s2", "superseded": "k-s3", "resolved": "k-s4", "repeated": "k-s6", "age": "k-s5",
    "contradicted": "k-high", "other": "k-gone",
}  # fmt: skip
REASONS: Final[tuple[tuple[str, str], ...]] = (
    (r"superseded", "superseded"), (r"expired", "expired"), (r"faded", "faded"), (r"too little room", "age"),
    (r"\d+ times on that day", "repeated"), (r"a \w+ that is done", "resolved"), (r"contradicted", "contradicted"),
)  # fmt: skip
"""How the reason in the archive begins, and the rule that it stands for."""


@dataclass(frozen=True, slots=True)
class Item:
    """A memory as the search shows it.

    `moves` is the day on which it left, or will leave, for the archive; `why` is the reason in the archive, or the rule
    by which it will. `name` is its name in the archive.
    """

    key: str
    text: str
    day: date | None
    time: str
    type: str
    priority: Priority
    importance: float
    is_live: bool
    moves: date | None = None
    why: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """Lines that were summed up: their name in the archive, their topic, what was found, and their days in words."""

    name: str
    topic: str
    text: str
    dates: str


@dataclass(frozen=True, slots=True)
class Figures:
    """All that the page shows of one memory. `made` is now, in the user's zone, whose name is `zone`."""

    made: datetime
    zone: str
    status: MemoryStatus
    outlook: forecast.Result
    items: tuple[Item, ...]
    findings: tuple[Finding, ...] = ()
    proposals: tuple[Proposal, ...] = ()
    decided: int = 0
    costs: tuple[Cost, ...] = ()
    runs: tuple[RunRecord, ...] = ()
    events: Statistics = field(default_factory=lambda: Statistics(()))
    failures: tuple[Event, ...] = ()
    others: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def today(self) -> date:
        return self.outlook.today

    @property
    def live(self) -> list[Item]:
        return [item for item in self.items if item.is_live]

    @property
    def archived(self) -> list[Item]:
        """The latest to leave first."""
        gone = [item for item in self.items if not item.is_live]
        return sorted(gone, key=lambda item: (item.moves or date.min, item.name), reverse=True)

    def leave(self, one: Remembered, now: Leave | None) -> Leave | None:
        """When a line leaves, as `forecast` says it: tonight's dream comes before its own age."""
        return self.outlook.tonight.leaves.get(one.number) or now

    @property
    def leaving(self) -> list[tuple[Remembered, Leave]]:
        """What leaves some day, the first to leave first."""
        found = [(f.line, leave) for f in self.outlook.forecasts if (leave := self.leave(f.line, f.now.leaves))]
        return sorted(found, key=lambda pair: (pair[1].on, pair[0].number))


Words = Callable[..., str]
"""The words of a name in the language of the page; `{fields}` are filled in."""


def words_of(language: Language) -> Words:
    """What says things in that language."""
    column = LANGUAGES.index(language)

    def say(name: str, **values: object) -> str:
        text = _words()[name][column]
        return text.format(**values) if values else text

    return say


@cache
def _words() -> dict[str, list[str]]:
    found: dict[str, list[str]] = json.loads((_HERE / "report_words.json").read_text("utf-8"))
    return found


def cut(text: str, most: int = SHOWN_CHARACTERS) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def spoken(text: str) -> Html:
    """What somebody said, in whichever direction it is written."""
    return tag("bdi", cut(plain(text)))


def heading(name: str, say: Words, lead: str | None = None) -> list[Html | None]:
    said = lead if lead is not None else say(f"{name}_lead")
    return [tag("h2", say(name), id=f"h-{name}"), tag("p", code(said), class_="lead") if said else None]


def code(text: str) -> Html:
    """Words in which `code` is marked."""
    return joined(*(tag("code", part) if n % 2 else part for n, part in enumerate(text.split("`"))))


def local(f: Figures, at: datetime) -> str:
    here = at.astimezone(f.made.tzinfo)
    return f"{here:%H:%M}" if here.date() == f.made.date() else f"{here:%Y-%m-%d %H:%M}"


# --- what is remembered ----------------------------------------------------------------------------------------


def _remembered(f: Figures, say: Words) -> list[Html | None]:
    counts = Counter((item.type, item.priority) for item in f.live)
    totals = Counter(item.type for item in f.live)
    most = max(totals.values(), default=0)
    rows = [
        [
            say(kind),
            cell(share([(f"k-{p}", counts[kind, p]) for p in PRIORITIES], most), class_="bar"),
            *(f"{counts[kind, p]:,}" for p in PRIORITIES),
            f"{totals[kind]:,}",
        ]
        for kind in sorted(totals, key=lambda kind: -totals[kind])
    ]
    heads = [say("type"), say("share"), *(say(p) for p in PRIORITIES), say("total")]
    return [
        *heading("remembered", say),
        table(heads, rows, say("remembered"), 4),
        legend([(say(p), f"k-{p}") for p in PRIORITIES]),
    ]


def _timeline(f: Figures, say: Words) -> list[Html | None]:
    dated = [item.day for item in f.items if item.day is not None and item.day <= f.today]
    first = min([*dated, f.today - timedelta(days=LEAST_DAYS - 1)])
    days = _days(f.today, max(1, min(TIMELINE_DAYS, (f.today - first).days + 1)))
    counts = Counter((item.day, item.priority if item.is_live else "gone") for item in f.items if item.day is not None)
    named = {"gone": say("archived")} | {p: say(p) for p in PRIORITIES}
    series = [Series(named[k], f"k-{k}", [counts[day, k] for day in days]) for k in ("high", "medium", "low", "gone")]
    undated = sum(item.day is None for item in f.items)
    elsewhere = len(f.items) - undated - sum(sum(one.values) for one in series)
    said = [
        say("timeline_earlier", count=f"{elsewhere:,.0f}") if elsewhere else "",
        say("timeline_undated", count=f"{undated:,}") if undated else "",
    ]
    return [
        *heading("timeline", say),
        bars(say("lines_by_day"), [d.isoformat() for d in days], series, say("as_table"), say("day")),
        tag("p", " ".join(filter(None, said)), class_="small muted") if any(said) else None,
    ]


def _days(last: date, count: int) -> list[date]:
    return [last - timedelta(days=n) for n in reversed(range(count))]


OBSERVING: Final = frozenset({"observe", "recover", "flush", "watch"})
"""The commands whose runs take messages."""


def _captured(f: Figures, say: Words) -> list[Html | None]:
    days = _days(f.today, DAYS)
    zone = f.made.tzinfo
    messages: Counter[date] = Counter()
    for run in f.runs:
        if run.command in OBSERVING:
            messages[run.started.astimezone(zone).date()] += run.messages
    series = [Series(say("messages"), "k-s1", [messages[day] for day in days])]
    latest = [
        [
            f"{run.started.astimezone(zone):%Y-%m-%d %H:%M}",
            tag("code", run.command),
            cell(spoken(run.detail), class_="text", lang="en"),
        ]
        for run in reversed(f.runs[-8:])
    ]
    waits = say("waiting_of", new=f"{f.status.new:,}", waiting=f"{f.status.waiting:,}")
    heads = [say("when"), say("run"), say("detail")]
    return [
        *heading("captured", say, f"{say('captured_lead')} {waits}."),
        bars(say("messages_by_day"), [d.isoformat() for d in days], series, say("as_table"), say("day")),
        tag("h3", say("runs")),
        table(heads, latest, say("runs"), is_prose=True) if latest else tag("p", say("no_runs"), class_="muted"),
    ]


# --- what fades ------------------------------------------------------------------------------------------------

PANELS: Final[tuple[ObservationType, ...]] = ("event", "context", "fact", "preference")
STARTS: Final = (8.0, 6.0, 4.0)
"""The importances whose curves are drawn."""


def _fading(f: Figures, say: Words) -> list[Html | None]:
    panels = [_panel(kind, f, say) for kind in PANELS]
    return [
        *heading("fading", say),
        tag("div", *panels, _in_recall(f, say), _lasting(f, say), class_="three"),
        legend([(say(p), f"k-{p}") for p in PRIORITIES]),
        _fading_table(f, say),
        *_upcoming(f, say),
    ]


def _fading_table(f: Figures, say: Words) -> Html:
    """The charts of curves in numbers: how fast each type fades, and how its lines stand today."""
    standing: dict[ObservationType, list[tuple[int, float]]] = {kind: [] for kind in TYPES}
    for one in f.outlook.forecasts:
        standing[one.line.memory.type].append(position(one.line.memory, f.today))
    rows = [
        [
            say(kind),
            number(len(lines)),
            "–" if TTL_DAYS[kind] is None else number(TTL_DAYS[kind] or 0),
            f"{LOSS_A_DAY[kind]:g}",
            number(sum(left < ARCHIVE_BELOW for _, left in lines)),
            number(max((age for age, _ in lines), default=0)),
        ]
        for kind, lines in standing.items()
    ]
    heads = [say(name) for name in ("type", "count", "kept", "loss", "below", "oldest")]
    return tag("details", tag("summary", say("as_table")), table(heads, rows, say("fading"), 5), class_="more")


def position(memory: retention.Subject, today: date) -> tuple[int, float]:
    """Where a line stands today: its age in days, and what is left of its importance at its confidence."""
    age = retention.age_days(memory, today)
    slowed = math.floor(age / retention.stretch(memory.confidence))
    return age, remaining(memory.type, memory.importance, slowed)


def _panel(kind: ObservationType, f: Figures, say: Words) -> Html:
    days = TTL_DAYS[kind] or 0
    plane = Plane(round(days * 1.1), 0, 10, ARCHIVE_BELOW, (0, 3, 5, 10), days, say("kept_days", days=days))
    lines = [Curve([remaining(kind, start, age) for age in range(plane.days + 1)]) for start in STARTS]
    standing = [
        (*position(one.line.memory, f.today), one.line.number)
        for one in f.outlook.forecasts
        if one.line.memory.type == kind
    ]
    note = f"{say('lines_of', count=len(standing))}; {say('age_axis')}"
    return curves(say("curve_title", type=say(kind)), note, plane, lines, _dots(standing, f, plane))


def _dots(standing: Sequence[tuple[int, float, int]], f: Figures, plane: Plane) -> list[Dots]:
    """Lines that stand together are one dot; `standing` are (age, value, number of the line)."""
    priorities = {one.line.number: priority_of(one.line.memory.importance) for one in f.outlook.forecasts}
    step = (plane.high - plane.low) / 100
    counts = Counter((min(age, plane.days), round(value / step), priorities[number]) for age, value, number in standing)
    return [Dots(age, value * step, count, f"k-{p}") for (age, value, p), count in counts.most_common(DOTS)]


def _in_recall(f: Figures, say: Words) -> Html:
    plane = Plane(RECALL_DAYS, 0.9, 1.0, IN_TOP, (0.9, 0.95, 1.0))
    lines = [
        Curve([scoring.decay(kind, 5.0, age) for age in range(RECALL_DAYS + 1)], f"kind {colour}", say(kind))
        for kind, colour in zip(PANELS, _COLOURS, strict=False)
    ]
    standing = [
        (max(0, (f.today - max(line.said, line.refers or line.said)).days), presence(line, f.today), line.number)
        for line in (one.line for one in f.outlook.forecasts)
        if line.said is not None
    ]
    return curves(say("in_recall"), say("in_recall_note"), plane, lines, _dots(standing, f, plane))


def _lasting(f: Figures, say: Words) -> Html:
    memories = [one.line.memory for one in f.outlook.forecasts]
    kinds = Counter(memory.type for memory in memories if LOSS_A_DAY[memory.type] == 0)
    rows = [[say(kind), f"{kinds[kind]:,}"] for kind in ("goal", "habit", "rule")]
    rows += [
        [say("pinned"), f"{sum(memory.is_pinned for memory in memories):,}"],
        [
            say("weightiest", least=f"{retention.NEVER_FROM:g}"),
            f"{sum(memory.importance >= retention.NEVER_FROM for memory in memories):,}",
        ],
    ]
    return tag(
        "div",
        tag("h3", say("lasting"), class_="first"),
        tag("p", say("lasting_lead"), class_="small muted"),
        table([say("type"), say("total")], rows, say("lasting"), 1),
    )


def _upcoming(f: Figures, say: Words) -> list[Html]:
    leaving = [(line, leave) for line, leave in f.leaving if (leave.on - f.today).days < 7 * WEEKS]
    if not leaving:
        return [tag("h3", say("upcoming")), tag("p", say("nothing_leaves"), class_="muted")]
    counts = Counter((max(0, (leave.on - f.today).days) // 7, leave.rule) for _, leave in leaving)
    used = [rule for rule in RULE_COLOURS if any(key[1] == rule for key in counts)]
    weeks = [(f.today + timedelta(weeks=n)).isoformat() for n in range(WEEKS)]
    series = [Series(say(f"rule_{rule}"), RULE_COLOURS[rule], [counts[n, rule] for n in range(WEEKS)]) for rule in used]
    rows = [
        [
            leave.on.isoformat(),
            cell(spoken(line.text), class_="text"),
            cell(say(f"rule_{leave.rule}"), tag("br"), _reason(leave.reason, "meta"), class_="why"),
        ]
        for line, leave in leaving[:LISTED]
    ]
    return [
        tag("div", class_="gap"),
        bars(say("upcoming"), weeks, series, say("as_table"), say("day")),
        tag("h3", say("next_leaving")),
        table([say("day"), say("line"), say("why")], rows, say("next_leaving"), is_prose=True),
    ]


def _reason(text: str, class_: str | None = None) -> Html:
    """Reasons are written down in English."""
    return tag("span", cut(plain(text)), lang="en", class_=class_)


# --- what left, and what is to be decided ----------------------------------------------------------------------


def rule_of(reason: str) -> str:
    """The rule that a reason in the archive stands for; `other` for what a model or another program gave."""
    return next((rule for begins, rule in REASONS if re.match(begins, reason)), "other")


def _archive(f: Figures, say: Words) -> list[Html | None]:
    archived = f.archived
    if not archived:
        return [*heading("archive", say), tag("p", say("nothing_archived"), class_="muted")]
    counts = Counter(rule_of(item.why) for item in archived)
    most = max(counts.values())
    reasons = [
        [
            say(f"rule_{rule}"),
            cell(share([(RULE_COLOURS[rule], count)], most), class_="bar"),
            f"{count:,}",
        ]
        for rule, count in counts.most_common()
    ]
    rows = [
        [
            item.moves.isoformat() if item.moves else "–",
            cell(spoken(item.text), class_="text"),
            cell(_reason(item.why), class_="why"),
        ]
        for item in archived[:LISTED]
    ]
    return [
        *heading("archive", say),
        table([say("why"), say("share"), say("total")], reasons, say("archive"), 1),
        tag("h3", say("latest_archived")),
        table([say("archived_on"), say("line"), say("why")], rows, say("latest_archived"), is_prose=True),
    ]


def _decide(f: Figures, say: Words) -> list[Html | None]:
    found: list[Html] = []
    for one in list(reversed(f.proposals))[:PROPOSALS]:
        said = one.staged
        found.append(
            tag(
                "article",
                tag(
                    "p",
                    tag("span", say(f"status_{one.status}"), class_="tag"),
                    tag("strong", say("for_file", file=said.target)),
                    " – ",
                    tag("span", say("evidence", days=said.days or "?", confidence=said.confidence), class_="muted"),
                ),
                tag("pre", Html("\n".join(escaped(line) for line in said.text.split("\n")[:12])), dir="auto"),
                tag("p", tag("code", f"total-recall staging show {one.name}"), class_="small"),
                class_="staged",
            )
        )
    rest = len(f.proposals) - PROPOSALS
    more = [say("more_proposals", count=rest)] if rest > 0 else []
    more += [say("decided", count=f.decided)] if f.decided else []
    rows = [
        [spoken(one.topic), cell(spoken(one.text), class_="text"), cell(plain(one.dates), class_="day")]
        for one in f.findings[:LISTED]
    ]
    return [
        *heading("decide", say),
        *(found or [tag("p", say("nothing_waits"), class_="muted")]),
        tag("p", code(" ".join(more)), class_="small muted") if more else None,
        tag("h3", say("chunks")),
        tag("p", say("chunks_lead"), class_="small muted"),
        table([say("topic"), say("finding"), say("dates")], rows, say("chunks"), is_prose=True)
        if rows
        else tag("p", say("no_chunks"), class_="muted"),
    ]


# --- what it cost, and what happened ---------------------------------------------------------------------------


def _money(f: Figures, say: Words) -> list[Html | None]:
    if not f.costs:
        return [*heading("money", say), tag("p", say("spent_nothing"), class_="muted")]
    days = _days(f.today, DAYS)
    tokens: Counter[str] = Counter()
    by_day: Counter[tuple[str, date]] = Counter()
    for cost in f.costs:
        tokens[cost.model] += cost.tokens_in + cost.tokens_out
        by_day[cost.model, cost.day] += cost.tokens_in + cost.tokens_out
    first = [model for model, _ in tokens.most_common(len(_COLOURS) - 1)]
    series = [
        Series(plain(model), colour, [by_day[model, day] for day in days])
        for model, colour in zip(first, _COLOURS, strict=False)
    ]
    rest = [sum(by_day[model, day] for model in tokens if model not in first) for day in days]
    series.append(Series(say("others"), _COLOURS[-1], rest))
    groups = {model: [cost for cost in f.costs if cost.model == model] for model, _ in tokens.most_common()}
    rows = [_money_row(tag("bdi", model), costs, say) for model, costs in groups.items()]
    rows += [_money_row(say("total"), f.costs, say)] if len(rows) > 1 else []
    heads = [say(name) for name in ("model", "calls", "failed", "tokens_in", "tokens_out", "cost")]
    return [
        *heading("money", say),
        bars(say("tokens_by_day"), [d.isoformat() for d in days], series, say("as_table"), say("day")),
        tag("div", class_="gap"),
        table(heads, rows, say("money"), 5),
    ]


def _money_row(name: object, costs: Sequence[Cost], say: Words) -> list[object]:
    prices = [cost.cost_usd for cost in costs if cost.cost_usd is not None]
    sums = (
        sum(cost.calls for cost in costs),
        sum(cost.failed for cost in costs),
        sum(cost.tokens_in for cost in costs),
        sum(cost.tokens_out for cost in costs),
    )
    return [name, *map(number, sums), money(sum(prices)) if prices else say("no_price")]


def _log(f: Figures, say: Words) -> list[Html | None]:
    if not f.events.rows:
        return [*heading("log", say), tag("p", say("nothing_logged"), class_="muted")]
    days = _days(f.today, DAYS)
    by_day = {day: sum(types.values(), Count()) for day, types in f.events.by_day().items()}
    sums = [by_day.get(day, Count()) for day in days]
    series = [
        Series(say("failed"), "k-high", [c.failed for c in sums]),
        Series(say("went_well"), "k-s3", [c.times - c.failed for c in sums]),
    ]
    most = sorted(f.events.failures().items(), key=lambda item: (-item[1].failed, item[0]))[:8]
    kinds = [
        [joined(tag("bdi", name or kind), " ", tag("span", kind, class_="tag")), number(c.failed)]
        for (kind, name), c in most
    ]
    latest = [
        [
            f"{event.at.astimezone(f.made.tzinfo):%Y-%m-%d %H:%M}",
            tag("bdi", event.name or event.type),
            cell(spoken(event.error or event.summary), class_="text"),
        ]
        for event in reversed(f.failures)
    ]
    return [
        *heading("log", say),
        bars(say("events_by_day"), [d.isoformat() for d in days], series, say("as_table"), say("day")),
        tag("h3", say("what_failed")),
        table([say("what"), say("times")], kinds, say("what_failed"), 1)
        if kinds
        else tag("p", say("nothing_failed"), class_="muted"),
        tag("h3", say("latest_failures")) if latest else None,
        table([say("when"), say("what"), say("message")], latest, say("latest_failures"), is_prose=True)
        if latest
        else None,
    ]


Section = Callable[[Figures, Words], list[Html | None]]

SECTIONS: Final[tuple[tuple[str, Section], ...]] = (
    ("remembered", _remembered),
    ("timeline", _timeline),
    ("captured", _captured),
    ("fading", _fading),
    ("archive", _archive),
    ("decide", _decide),
    ("money", _money),
    ("log", _log),
)
"""Id and content of each part of the page, in order; its words have the same name."""
