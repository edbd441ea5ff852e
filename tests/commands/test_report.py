"""report: one page that says what the other commands say, needs nothing from elsewhere, and cannot be broken out of."""

from __future__ import annotations

import json
import random
import re
import signal
import sqlite3
import stat
import subprocess
import sys
import zlib
from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from hashlib import sha256
from html.parser import HTMLParser
from http.client import HTTPConnection
from pathlib import Path
from string import Formatter
from threading import Timer
from typing import Any, get_args
from urllib.parse import urlsplit

import pytest

import report_world
from claude_home import ClaudeHome
from happenings import Happened, log
from total_recall import cli, clock, retention
from total_recall.commands import forecast, known, log_stats, places, report, staging, status, undo
from total_recall.commands import report_charts as charts
from total_recall.commands import report_page as pages
from total_recall.commands import report_parts as parts
from total_recall.commands.logged import Asked
from total_recall.commands.places import Configuration, Place
from total_recall.commands.report import Options, Result
from total_recall.errors import MemoryWriteError, TotalRecallError
from total_recall.memory.archive import Archive
from total_recall.memory.document import parse
from total_recall.memory.line import format_observation
from total_recall.memory.reflection import Removal
from total_recall.periods import parse as period
from total_recall.records import ModelCall, Observation
from total_recall.state import RunRecord, State

REPOSITORY = Path(__file__).resolve().parents[2]
NOW = report_world.NOW
SECTIONS = ["find", *(name for name, _ in parts.SECTIONS)]
HOSTILE = (
    "</script><script>alert(1)</script>",
    '<img src=x onerror="alert(1)">',
    "\" autofocus onfocus=alert(1) x='",
    "<!-- --><style>*{display:none}</style>",
    "$body ${title} {at} %s &lt;b&gt; &#60;",
    "javascript:alert(1)",
    "\u202egnp.exe\u2066 zero\u200bwidth \U000e0041tag",
    "\x1b]0;title\x07 bell",
    "세미콜론; </title><base href=//example.com>",
)


def set_time(now: datetime) -> None:
    clock.now = lambda: now


@pytest.fixture(autouse=True)
def at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "now", lambda: NOW)


@pytest.fixture
def config(home: Path) -> Configuration:
    return places.configure({"HOME": str(home), "TOTAL_RECALL_TZ": "UTC"})


@pytest.fixture
def place(config: Configuration) -> Place:
    place = places.find(config, NOW)[0]
    place.memory_dir.mkdir(parents=True)
    return place


@pytest.fixture
def lived(config: Configuration, place: Place) -> Place:
    """Two months of a memory, with everything that the page can show."""
    report_world.lived(config, place, set_time)
    return place


def noted(id: str, text: str, days_ago: float = 1, importance: float = 5.0) -> Observation:
    return Observation(id, text, NOW - timedelta(days=days_ago), "medium", "fact", importance, 0.8)


def write(place: Place, *observations: Observation) -> None:
    (place.memory_dir / "observations.md").write_bytes(parse(b"").with_observations(observations).render())


def never(url: str) -> bool:
    pytest.fail(f"{url} was opened")


def made(config: Configuration, **options: Any) -> tuple[Result, str]:
    result = report.run(Options(**options), pytest.fail, config, never)
    assert result.path is not None
    return result, result.path.read_text("utf-8")


class Seen(HTMLParser):
    """What a browser makes of a page, as far as it matters: elements with their attributes, and texts by element."""

    EMPTY = frozenset({"meta", "input", "br", "link"})

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.open: list[str] = []
        self.unbalanced: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.unbalanced.append(tag)

    def handle_data(self, data: str) -> None:
        if not {"script", "style"} & set(self.open):
            self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

    def ids(self) -> list[str]:
        return [i for _, attributes in self.elements if (i := attributes.get("id"))]


def packed(page: str) -> list[dict[str, Any]]:
    """What the page's search looks through."""
    found = re.findall(r'<script type="text/plain" id="memories">(.*?)</script>', page)
    assert len(found) == 1
    items: list[dict[str, Any]] = json.loads(zlib.decompress(b64decode(found[0])))
    return items


# --- the file --------------------------------------------------------------------------------------------------


def test_it_is_written_beside_the_databases_for_the_owner_alone(config: Configuration, place: Place) -> None:
    write(place, noted("a", "The cat is called Mochi"))
    result, page = made(config)
    assert result.path == place.own_dir / "report.html"
    assert stat.S_IMODE(result.path.stat().st_mode) == 0o600
    assert result.payload() == {
        "path": str(result.path), "size": len(page.encode()), "memories": 1, "archived": 0, "language": "en",
        "url": None, "served": 0, "warnings": [],
    }  # fmt: skip
    assert str(result.path) in result.lines()[0]


def test_it_goes_where_it_is_wanted(config: Configuration, place: Place, tmp_path: Path) -> None:
    wanted = tmp_path / "a folder" / "page.html"
    result, _ = made(config, output=wanted)
    assert result.path == wanted and not (place.own_dir / "report.html").exists()


def test_where_nothing_can_be_written_it_says_so(config: Configuration, place: Place, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(MemoryWriteError, match="file"):
        report.run(Options(output=tmp_path / "file" / "page.html"), print, config)


def test_a_link_out_of_the_memory_is_not_followed(config: Configuration, place: Place, tmp_path: Path) -> None:
    place.own_dir.mkdir()
    (place.own_dir / "report.html").symlink_to(tmp_path / "elsewhere.html")
    with pytest.raises(MemoryWriteError):
        report.run(Options(), print, config)
    assert not (tmp_path / "elsewhere.html").exists()


def test_it_is_opened_when_asked(config: Configuration, place: Place) -> None:
    opened: list[str] = []

    def browse(url: str) -> bool:
        opened.append(url)
        return True

    result = report.run(Options(open=True), print, config, browse)
    assert opened == [(place.own_dir / "report.html").as_uri()] and not result.notes
    without = report.run(Options(open=True), print, config, lambda _: False)
    assert "no browser" in without.lines()[-1] and opened[0] in without.lines()[-1]


def test_nothing_of_the_memory_changes(config: Configuration, lived: Place) -> None:
    made(config)
    before = {p: p.read_bytes() for p in lived.workspace.rglob("*") if p.is_file() and p.parent != lived.own_dir}
    made(config)
    assert before == {p: p.read_bytes() for p in before}


# --- the page --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", parts.LANGUAGES)
def test_the_page_is_sound(config: Configuration, lived: Place, language: parts.Language) -> None:
    seen = Seen(made(config, language=language)[1])
    assert (seen.open, seen.unbalanced) == ([], [])
    assert seen.all("html") == [{"lang": language}] and len(seen.all("h1")) == len(seen.all("main")) == 1
    ids = seen.ids()
    assert len(ids) == len(set(ids)) and set(SECTIONS) <= set(ids)
    for _, attributes in seen.elements:
        for name in ("aria-labelledby", "for"):
            assert attributes.get(name) is None or attributes[name] in ids
        assert not [name for name in attributes if name.startswith("on") or name == "style"]
    targets = [link["href"] for link in seen.all("a")]
    assert targets == ["#main", *(f"#{name}" for name in SECTIONS)]
    labelled = {label["for"] for label in seen.all("label")}
    assert {field["id"] for field in seen.all("input") + seen.all("select")} == labelled
    assert all(svg.get("aria-label") or svg.get("aria-hidden") == "true" for svg in seen.all("svg"))


def test_it_needs_nothing_from_elsewhere(config: Configuration, lived: Place) -> None:
    page = made(config)[1]
    seen = Seen(page)
    assert not [a for _, a in seen.elements if "src" in a or "srcset" in a or "data" in a]
    assert not re.search(r"https?://|@import|url\(", page)
    assert {name for name, _ in seen.elements}.isdisjoint(
        {"iframe", "object", "embed", "base", "img", "audio", "video"}
    )


def test_only_its_own_script_and_style_run(config: Configuration, lived: Place) -> None:
    page = made(config)[1]
    policy = next(m["content"] for m in Seen(page).all("meta") if m.get("http-equiv") == "Content-Security-Policy")
    script = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    style = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    assert len(script) == len(style) == 1
    names = [f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" for text in (script[0], style[0])]
    assert policy == (
        f"default-src 'none'; script-src {names[0]}; style-src {names[1]}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def test_what_a_memory_says_is_never_markup(config: Configuration, place: Place) -> None:
    place.workspace.joinpath("AGENTS.md").touch()
    write(place, *(noted(f"h{n}", text, n, 8.0) for n, text in enumerate(HOSTILE)))
    clean = Counter(name for name, _ in Seen(made(config)[1]).elements)
    archived = parse(b"").with_observations([noted(f"o{n}", text, n) for n, text in enumerate(HOSTILE)])
    removals = [
        Removal(entry, format_observation(noted(str(entry.id), HOSTILE[n])), "dropped", HOSTILE[n], None)
        for n, entry in enumerate(archived.observations)
    ]
    Archive(place.memory_dir).add(removals, NOW.date())
    folder = place.memory_dir / "dream-staging"
    folder.mkdir()
    text = "\n".join(HOSTILE[:4])
    (folder / "20261201-001-fact<b>.md").write_text(
        f"# Proposal\n**Type**: fact\n**Target file**: {HOSTILE[0]}\n**Confidence**: {HOSTILE[1]}\n"
        f"**Generated**: now\n\n## Proposed addition to x\n```\n{text}\n```\n"
    )
    chunks = place.memory_dir / "archive" / "chunks" / "2026-12-01.md"
    chunks.parent.mkdir(parents=True)
    chunks.write_text(
        f"# Chunks\n\n## CHUNK-20261201-001\n\n- Topic: {HOSTILE[0]}\n- Finding: {HOSTILE[1]}\n- Dates: {HOSTILE[3]}\n"
    )
    with State.open(place.own_dir) as state:
        for hostile in HOSTILE:
            state.record_call(ModelCall(NOW, "observer", hostile, "ok", 1.0, 10, 10, 0, 0.1))
            state.record_run(RunRecord("observe", NOW, NOW, "done", 1, 1, hostile))
    log(
        place.own_dir,
        [
            Happened("2026-12-01T10:00:00", "tool_call", text, False, text, error=text[::-1] + text, entry=f"x{n}")
            for n, text in enumerate(HOSTILE)
        ],
    )
    page = made(config)[1]
    seen = Seen(page)
    assert (seen.open, seen.unbalanced) == ([], [])
    found = Counter(name for name, _ in seen.elements)
    assert found["script"] == clean["script"] == 3 and found["style"] == 1 and found["img"] == found["base"] == 0
    assert not [a for _, a in seen.elements for name in a if name.startswith("on") or name in ("autofocus", "style")]
    assert not re.search("[\u202a-\u202e\u2066-\u2069\u200b\x00-\x08\x1b\U000e0000-\U000e007f]", page)
    assert "alert(1)" in seen.text and "${title} {at} %s &lt;b&gt;" in seen.text
    assert len(packed(page)) == 2 * len(HOSTILE)


def test_every_word_is_there_in_both_languages() -> None:
    words = json.loads((Path(parts.__file__).parent / "report_words.json").read_text("utf-8"))
    fields = Formatter().parse
    for name, both in words.items():
        assert len(both) == len(parts.LANGUAGES) and all(both), name
        named = [{field for _, field, _, _ in fields(text) if field} for text in both]
        assert named[0] == named[1], name
    source = "".join((Path(parts.__file__).parent / f"report_{name}.py").read_text() for name in ("parts", "page"))
    said = set(re.findall(r"say\([\"'](\w+)[\"']", source))
    assert said <= set(words)
    quoted = set(re.findall(r"[\"'](\w+)[\"']", source)) | set(pages.SCRIPT_WORDS)
    prefixes = ("health_", "nav_", "rule_", "status_")
    unused = [n for n in words if n not in quoted and not n.endswith("_lead") and not n.startswith(prefixes)]
    assert unused == []


@pytest.mark.parametrize("health", pages.HEALTH)
def test_each_state_has_its_words(health: str) -> None:
    for language in parts.LANGUAGES:
        assert parts.words_of(language)(f"health_{health.replace(' ', '_')}")


# --- the figures -----------------------------------------------------------------------------------------------


def test_it_says_what_the_other_commands_say(config: Configuration, lived: Place) -> None:
    result, page = made(config)
    seen, items = Seen(page), packed(page)
    (now,) = status.run(config, cost=True).memories
    tiles = [a for name, a in seen.elements if a.get("class") == "big"]
    assert len(tiles) == 6
    assert f"In memory {now.observations}" in seen.text and f"Messages observed {now.observed:,}" in seen.text
    live, gone = [i for i in items if i["live"]], [i for i in items if not i["live"]]
    assert (len(live), len(gone)) == (now.observations, result.archived) == (result.memories, result.archived)
    assert Counter(parts.PRIORITIES[i["priority"]] for i in live) == now.priorities

    outlook = forecast.run(forecast.Options(), config)
    leaves = {
        f.line.key: leave.on.isoformat() if (leave := outlook.tonight.leaves.get(f.line.number) or f.now.leaves) else ""
        for f in outlook.forecasts
    }
    assert {i["key"]: i["moves"] for i in live} == leaves
    archive = [one for one in known.all_of(lived.memory_dir) if not one.is_live and one.entry and not one.is_back]
    assert Counter((i["name"], i["text"]) for i in gone) == Counter((one.name, one.text) for one in archive)
    assert {i["why"].split(":")[0] for i in gone} >= {"faded", "too little room"}

    (listed,) = staging.run(staging.Options("list"), config).listed
    assert len(listed.entries) > parts.PROPOSALS
    assert f"{len(listed.entries) - parts.PROPOSALS} more wait" in seen.text

    costs = status.run(config, cost=True).costs
    assert costs
    tokens = sum(cost.tokens_in + cost.tokens_out for cost in costs)
    price = sum(cost.cost_usd for cost in costs if cost.cost_usd)
    assert f"Spent in 30 days ${price:.4f} {tokens:,} tokens" in seen.text

    asked = Asked(since=period("2026-11-02"))
    counts = log_stats.run(log_stats.Options(asked), config).statistics
    figures = report.gather(config, lived, None)
    assert figures.events.total() == counts.total() and figures.events.failures() == counts.failures()


def test_each_part_has_something_to_show(config: Configuration, lived: Place) -> None:
    seen = Seen(made(config)[1])
    for words in (
        "Leaving in the next 12 weeks",
        "Latest to leave",
        "Summed up",
        "What failed most",
        "web_fetch",
        "kept 90 days",
    ):
        assert words in seen.text
    assert len([a for a in seen.all("rect") if a.get("class", "")]) > 200
    assert len(seen.all("circle")) > 60
    assert len(seen.all("details")) == 6, "each chart of bars has its table, and the curves have one"


def test_what_came_back_from_the_archive_counts_once(config: Configuration, lived: Place) -> None:
    before = Counter(item["live"] for item in packed(made(config)[1]))
    undone = undo.run(undo.Options(what="dream"), config)
    assert undone.lines()
    after = Counter(item["live"] for item in packed(made(config)[1]))
    assert after[True] > before[True] and after[False] < before[False]
    assert after.total() == before.total()


def test_a_line_stands_on_the_curve_where_its_remaining_importance_is(config: Configuration, place: Place) -> None:
    write(
        place, replace(noted("a", "Car", 10, 6.0), confidence=0.5), replace(noted("b", "Van", 10, 6.0), confidence=0.9)
    )
    lines = {one.line.key: one.line.memory for one in report.gather(config, place, None).outlook.forecasts}
    places_today = {name: parts.position(lines[name], NOW.date()) for name in "ab"}
    assert [age for age, _ in places_today.values()] == [10, 10]
    # At a confidence of 0.9 ten days count as six.
    assert [left for _, left in places_today.values()] == pytest.approx([5.0, 5.4])


@pytest.mark.parametrize(
    ("reason", "rule"),
    [
        ("faded: importance 3.0 is 2.4 after 6 days", "faded"),
        ("expired: event, kept for 14 days, 15 days old", "expired"),
        ("superseded by a newer line", "superseded"),
        ("a goal that is done", "resolved"),
        ("too little room: importance 4.2, 3 days old", "age"),
        ("3 times on that day, the line that says most stays: k3f9", "repeated"),
        ("merged with another", "other"),
        ("", "other"),
    ],
)
def test_a_reason_stands_for_its_rule(reason: str, rule: str) -> None:
    assert parts.rule_of(reason) == rule


def test_each_rule_has_its_words_and_its_colour() -> None:
    rules = {*get_args(retention.Rule), "repeated", "contradicted", *(rule for _, rule in parts.REASONS)}
    assert rules <= set(parts.RULE_COLOURS)
    for language in parts.LANGUAGES:
        assert all(parts.words_of(language)(f"rule_{rule}") for rule in parts.RULE_COLOURS)


def test_an_empty_memory_has_a_page_too(config: Configuration) -> None:
    result, page = made(config)
    assert (result.memories, result.archived, packed(page)) == (0, 0, [])
    text = Seen(page).text
    for words in ("Has not run yet", "Nothing has left the memory yet.", "No proposal waits.", "no model was asked"):
        assert words in text


def test_lines_that_a_person_wrote_count_as_what_they_are_taken_for(config: Configuration, place: Place) -> None:
    document = (
        "# Observations Log\r\n\r\nDate: 2026-11-30\r\n- 🔴 09:12 Tax is due <b>Friday</b>\r\n- no observation\r\n"
    )
    (place.memory_dir / "observations.md").write_bytes(document.encode() + b"- \xf0\x9f\x9f\xa2 bad byte \xff here\r\n")
    items = packed(made(config)[1])
    assert [(i["text"], i["day"], i["time"]) for i in items] == [
        ("Tax is due <b>Friday</b>", "2026-11-30", "09:12"),
        ("bad byte \ufffd here", "2026-11-30", ""),
    ]
    assert all(item["type"] in parts.TYPES for item in items)


def test_the_language_is_that_of_the_memory(config: Configuration, place: Place) -> None:
    write(
        place,
        noted("k1", "치과에서 김 선생님이 충치를 치료했다"),
        noted("k2", "아들 지호가 수학 시험에서 90점을 받았다"),
    )
    result, page = made(config)
    assert result.language == "ko" and "기억 찾기" in page and '<html lang="ko">' in page
    assert made(config, language="en")[0].language == "en"
    write(place, noted("j1", "歯医者に行った。犬の名前はポチです"))
    assert made(config)[0].language == "en"


def test_a_log_that_cannot_be_read_is_left_out_and_named(config: Configuration, place: Place) -> None:
    """It was written by a later version."""
    write(place, noted("a", "Cat"))
    log(place.own_dir, [Happened("2026-12-01T10:00:00")])
    with closing(sqlite3.connect(place.own_dir / "events.sqlite")) as db:
        db.execute("PRAGMA user_version = 999")
    page = made(config)[1]
    assert "the log is left out" in Seen(page).text and "events.sqlite" in Seen(page).text
    assert [item["text"] for item in packed(page)] == ["Cat"]


def test_days_are_those_of_the_user(home: Path, place: Place) -> None:
    """In Kiritimati it is tomorrow already."""
    write(place, noted("a", "Cat"))
    far = places.configure({"HOME": str(home), "TOTAL_RECALL_TZ": "Pacific/Kiritimati"})
    page = made(far)[1]
    assert "As of 2026-12-02 09:40 (Pacific/Kiritimati)" in Seen(page).text


def test_another_agents_memory_has_a_page_of_its_own(home: Path) -> None:
    folder = home / ".openclaw"
    folder.mkdir()
    agents = [{"id": "main"}, {"id": "work", "workspace": str(home / "work")}]
    (folder / "openclaw.json").write_text(json.dumps({"agents": {"list": agents}}))
    config = places.configure({"HOME": str(home), "TOTAL_RECALL_TZ": "UTC"})
    main, work = places.find(config, NOW)
    for place, text in ((main, "At home"), (work, "At work")):
        place.memory_dir.mkdir(parents=True)
        write(place, noted("a", text))
    page = made(config)[1]
    assert [item["text"] for item in packed(page)] == ["At home"]
    assert "total-recall report --agent work" in Seen(page).text
    assert [item["text"] for item in packed(made(config, agent="work")[1])] == ["At work"]
    with pytest.raises(TotalRecallError, match="no agent"):
        report.run(Options(agent="nobody"), print, config)


def test_a_projects_memory_is_asked_for_by_its_directory(home: Path) -> None:
    claude = ClaudeHome(home, now=NOW)
    claude.install_hooks()
    (home / ".openclaw").mkdir()
    project = claude.project("a garden")
    claude.say(project, "The roses are white", "Noted")
    claude.observe()
    config = claude.configured(TOTAL_RECALL_TZ="UTC")
    asked = f"total-recall report --project '{project}'"
    assert asked in Seen(made(config)[1]).text
    page = made(config, agent=f"{places.PROJECT}{project}")[1]
    assert {item["text"] for item in packed(page)} == {"The roses are white", "Noted"}


# --- its weight ------------------------------------------------------------------------------------------------

ENGLISH = (
    "budget invoice meeting Berlin garden server release kitchen doctor mother train ticket window review backup "
    "coffee report deadline schedule project customer holiday music laptop keyboard printer network insurance contract"
).split()
KOREAN = (
    "회의 예산 서울 정원 서버 배포 주방 병원 어머니 기차 창문 검토 "
    "백업 커피 보고서 마감 일정 고객 휴가 음악 보험 계약 이사 은행"
).split()


@pytest.mark.parametrize("words", [ENGLISH, KOREAN], ids=["English", "Korean"])
def test_ten_thousand_memories_stay_below_a_megabyte_and_a_half(words: list[str]) -> None:
    """Lines of about 130 characters, every one of them another."""
    rng = random.Random(5)
    items = [
        parts.Item(
            f"m{rng.randrange(36**7):x}", " ".join(rng.choices(words, k=rng.randint(12, 26))) + f" {rng.random():.5f}",
            NOW.date() - timedelta(days=n // 50), f"{n % 24:02}:{n % 60:02}", parts.TYPES[n % 7], "medium",
            n % 100 / 10, n % 3 == 0, NOW.date(),
            f"faded: importance {n % 9}.1 is 2.0 after {n % 40} days", f"OBS-20261201-{n:03}",
        )
        for n in range(10_000)
    ]  # fmt: skip
    text, is_short = pages.pack(items)
    assert not is_short and len(text) < 1_000_000
    assert len(json.loads(zlib.decompress(b64decode(text)))) == 10_000


def test_long_lines_are_shortened_before_the_page_gets_heavy() -> None:
    rng = random.Random(6)
    long = [
        parts.Item(f"m{n}", rng.randbytes(700).hex(), NOW.date(), "", "fact", "high", 7.0, True) for n in range(10_000)
    ]
    text, is_short = pages.pack(long)
    assert is_short and len(text) < 1_400_000
    assert all(
        len(item["text"]) <= 160 and item["text"].endswith("…") for item in json.loads(zlib.decompress(b64decode(text)))
    )
    few, is_short = pages.pack(long[:50])
    assert not is_short and len(json.loads(zlib.decompress(b64decode(few)))[0]["text"]) == 1400


# --- charts ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("most", "top"),
    [(0, 0), (1, 2), (3, 4), (10, 10), (11, 12), (14, 16), (99, 100), (101, 120), (0.2, 2), (31000, 40000)],
)
def test_a_scale_ends_at_a_round_number(most: float, top: float) -> None:
    assert charts.nice(most) == pytest.approx(top)


def test_bars_are_as_high_as_their_values() -> None:
    series = [charts.Series("high", "k-high", [1, 0, 4]), charts.Series("low", "k-low", [1, 0, 0])]
    seen = Seen(charts.bars("A <chart>", ["a", "b", "c"], series, "table", "Day"))
    rects = [(r["class"], float(r["y"] or 0), float(r["height"] or 0)) for r in seen.all("rect")]
    assert rects == [("k-high", 112.5, 37.5), ("k-low", 75.0, 37.5), ("k-high", 0.0, 150.0)]
    assert "a: 1 high" in seen.texts and "A <chart>" in seen.texts
    assert seen.texts[-12:] == ["Day", "high", "low", "Σ", "a", "1", "1", "2", "c", "4", "0", "4"]


def test_a_curve_that_is_straight_has_two_points() -> None:
    plane = charts.Plane(14, 0, 10, 3, (0, 10), 14, "kept")
    seen = Seen(
        charts.curves(
            "x", "y", plane, [charts.Curve([8 - 0.5 * n for n in range(15)])], [charts.Dots(7, 4.5, 9, "k-low")]
        )
    )
    (path,) = [p["d"] for p in seen.all("path") if p["class"] == "curve"]
    assert path is not None and path.count("L") == 1
    (dot,) = seen.all("circle")
    assert float(dot["cx"] or 0) == pytest.approx(plane.x(7), abs=0.06) and float(dot["r"] or 0) > 4


def test_markup_is_made_of_escaped_pieces() -> None:
    assert charts.tag("p", "<b>", title='"x" & y', hidden=None, class_="c") == (
        '<p title="&quot;x&quot; &amp; y" class="c">&lt;b&gt;</p>'
    )
    assert charts.joined(charts.Html("<i>"), "<i>", None, 3) == "<i>&lt;i&gt;3"
    assert pages.safe_json("</script>\u2028&") == '"\\u003c/script\\u003e\\u2028\\u0026"'


# --- the command -----------------------------------------------------------------------------------------------


def test_it_answers_as_json(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["report", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["command"], answer["ok"]) == ("report", True)
    assert Path(answer["path"]).stat().st_size == answer["size"]


@contextmanager
def served(home: Path, *options: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """The program as a person starts it, and the address that it says."""
    command = [
        sys.executable,
        "-I",
        "-X",
        "utf8",
        str(REPOSITORY / "scripts" / "run.py"),
        "report",
        "--serve",
        *options,
    ]
    env = {"HOME": str(home), "PATH": "/usr/bin:/bin", "TOTAL_RECALL_TZ": "UTC"}
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        late = Timer(60, process.kill)
        late.start()
        try:
            assert process.stdout is not None
            said = process.stdout.readline()
            address = re.search(r"http://127\.0\.0\.1:\d+/[\w-]+/", said)
            assert address is not None, said
            yield address[0], process
        finally:
            late.cancel()
            if process.poll() is None:
                process.kill()


def ask(url: str, method: str = "GET", path: str | None = None, **headers: str) -> tuple[int, dict[str, str], bytes]:
    parts = urlsplit(url)
    connection = HTTPConnection("127.0.0.1", parts.port or 0, timeout=30)
    try:
        connection.request(method, path or parts.path, headers=headers)
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()
    finally:
        connection.close()


def test_it_is_served_here_to_who_knows_the_address(home: Path, place: Place) -> None:
    write(place, noted("a", "The cat is called Mochi"))
    with served(home) as (url, process):
        code, headers, body = ask(url)
        assert code == 200 and packed(body.decode())[0]["text"] == "The cat is called Mochi"
        assert headers["Content-Type"] == "text/html; charset=utf-8" and headers["Cache-Control"] == "no-store"
        assert headers["X-Frame-Options"] == "DENY" and headers["Referrer-Policy"] == "no-referrer"
        # It is made anew for each look, and writes no file.
        write(place, noted("a", "The cat is called Mochi"), noted("b", "The dog is called Pochi"))
        assert len(packed(ask(url)[2].decode())) == 2
        assert not (place.own_dir / "report.html").exists()
        port = urlsplit(url).port
        assert ask(url, Host=f"LOCALHOST:{port}")[0] == 200
        for host in ("example.com", f"example.com:{port}", "127.0.0.1", f"127.0.0.1.example.com:{port}", ""):
            assert ask(url, Host=host)[0] == 421, host
        for path in ("/", "/favicon.ico", urlsplit(url).path[:-1], urlsplit(url).path + "x", "/../etc/passwd", "/%00"):
            assert ask(url, path=path)[0] == 404, path
        for method in ("POST", "PUT", "DELETE", "OPTIONS"):
            assert ask(url, method)[0] == 501
        assert ask(url, "HEAD")[2] == b""
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=30)
        assert process.returncode == 0 and "looked at 3 times" in out and err == ""


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_serving_ends_with_a_signal_and_tells_programs_where(home: Path, place: Place, sign: signal.Signals) -> None:
    with served(home, "--json") as (url, process):
        process.send_signal(sign)
        out, err = process.communicate(timeout=30)
        answer = json.loads(out)
        assert (process.returncode, err, answer["url"], answer["served"]) == (0, "", url, 0)


def test_a_port_that_is_taken_is_named(home: Path, place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    with served(home) as (url, _):
        port = urlsplit(url).port
        assert cli.main(["report", "--serve", "--port", str(port)]) == 1
    assert f"--port {port}" in capsys.readouterr().err
