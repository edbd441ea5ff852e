"""The report as one HTML page: from figures to markup, in English or Korean. Pure but for reading its own template.

The page needs nothing from elsewhere. Its policy allows the one script and the one style sheet that it came with, by
their hashes; whatever a memory says is escaped, and what the search looks through is packed, so that it is no markup.
"""

from __future__ import annotations

import json
import re
import zlib
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from hashlib import sha256
from pathlib import Path
from string import Template
from typing import Final

from total_recall import __version__
from total_recall.commands.log_lines import money
from total_recall.commands.report_charts import Html, escaped, joined, plain, tag
from total_recall.commands.report_parts import (
    PRIORITIES,
    RULE_COLOURS,
    SECTIONS,
    TYPES,
    UNTYPED,
    Figures,
    Item,
    Language,
    Words,
    code,
    cut,
    heading,
    local,
    words_of,
)

PACKED_BYTES: Final = 1_000_000
"""More than this of memories to search is shortened, line by line, to the lengths of `SHORTER`."""
SHORTER: Final = (600, 300, 160, 80)
_HERE: Final = Path(__file__).parent
GLYPH: Final = (
    "M24 4C13 4 5 11.5 5 21c0 5.4 2.6 9.9 6.6 12.9V43l8.2-5.6c1.4.2 2.8.4 4.2.4 11 0 19-7.5 19-16.900S35 4 24 4Z",
    "M14 21h4.500l3-7 5 14 3-7H34",
)


@cache
def _template() -> str:
    return (_HERE / "report.html").read_text("utf-8")


def page(figures: Figures, language: Language) -> str:
    """The whole page."""
    say = words_of(language)
    template = _template()
    packed, is_short = pack(figures.items)
    sections = [_section(name, draw(figures, say)) for name, draw in SECTIONS]
    find = _section("find", _find(figures, say, is_short))
    body = joined(
        _header(figures, say),
        _nav(say),
        tag("main", _tiles(figures, say), _warnings(figures, say), find, *sections, id="main", class_="wide"),
        tag("footer", *_footer(figures, say), class_="wide"),
    )
    return Template(template).substitute(
        lang=language,
        policy=policy(template),
        title=escaped(say("page_title")),
        skip=escaped(say("skip")),
        body=body,
        words=safe_json({name: say(name) for name in SCRIPT_WORDS}),
        memories=packed,
    )


def _section(name: str, content: Sequence[Html | None], more: str = "") -> Html:
    return tag("section", *content, id=name, class_=f"card {more}".strip(), aria_labelledby=f"h-{name}")


SCRIPT_WORDS: Final = (
    *TYPES, UNTYPED, *PRIORITIES, "live", "archived", "undated", "leaves", "stays", "found", "too_old",
    *(f"rule_{rule}" for rule in RULE_COLOURS),
)  # fmt: skip
"""What the page's script says."""


def policy(template: str) -> str:
    """Nothing is loaded or sent; of scripts and styles only those of the template run."""
    found = [re.findall(rf"<{name}>(.*?)</{name}>", template, re.DOTALL) for name in ("style", "script")]
    style, script = (
        " ".join(f"'sha256-{b64encode(sha256(text.replace('$$', '$').encode()).digest()).decode()}'" for text in texts)
        for texts in found
    )
    rest = "img-src data:; base-uri 'none'; form-action 'none'"
    return f"default-src 'none'; script-src {script}; style-src {style}; {rest}"


def safe_json(value: object) -> str:
    """JSON as it may stand in a script element: nothing in it can end that."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def pack(items: Sequence[Item]) -> tuple[str, bool]:
    """The memories for the page's search: JSON, deflated, in Base64; and whether long texts had to be shortened."""
    packed = _packed(items)
    for most in SHORTER:
        if len(packed) <= PACKED_BYTES:
            return packed, most != SHORTER[0]
        packed = _packed([replace(item, text=cut(item.text, most), why=cut(item.why, most)) for item in items])
    return packed, True


def _packed(items: Sequence[Item]) -> str:
    rows = [
        {
            "key": plain(item.key),
            "text": plain(item.text),
            "day": item.day.isoformat() if item.day else "",
            "time": item.time,
            "type": item.type,
            "priority": PRIORITIES.index(item.priority),
            "importance": round(item.importance, 1),
            "live": item.is_live,
            "moves": item.moves.isoformat() if item.moves else "",
            "why": plain(item.why),
            "name": item.name,
        }
        for item in items
    ]
    return b64encode(zlib.compress(json.dumps(rows, ensure_ascii=False, separators=(",", ":")).encode(), 9)).decode()


# --- the top ---------------------------------------------------------------------------------------------------

HEALTH: Final[Mapping[str, str]] = {"quiet": "good", "lagging": "warn", "stopped": "bad", "never ran": "warn"}


def _header(f: Figures, say: Words) -> Html:
    glyph = tag(
        "svg",
        tag("path", d=GLYPH[0], class_="back"),
        tag("path", d=GLYPH[1], class_="front"),
        viewBox="0 0 48 48", aria_hidden="true", focusable="false", class_="glyph",
    )  # fmt: skip
    made = say("made", at=f"{f.made:%Y-%m-%d %H:%M}", zone=f.zone)
    where = tag("p", tag("bdi", str(f.status.memory_dir / "observations.md")))
    who = tag("div", tag("h1", say("title")), where, tag("p", made), class_="who")
    health = f.status.health
    pill = tag("p", say(f"health_{health.replace(' ', '_')}"), class_=f"pill {HEALTH[health]}")
    return tag("header", tag("div", glyph, who, pill, class_="wide"))


def _nav(say: Words) -> Html:
    links = (
        tag("li", tag("a", say(f"nav_{name}"), href=f"#{name}")) for name in ("find", *(name for name, _ in SECTIONS))
    )
    return tag("nav", tag("ul", *links, class_="wide"), aria_label=say("sections"))


def _tiles(f: Figures, say: Words) -> Html:
    status, outlook = f.status, f.outlook
    behind = status.new + status.waiting
    since = say("behind_since", at=local(f, status.oldest_waiting)) if status.oldest_waiting else ""
    tokens = sum(cost.tokens_in + cost.tokens_out for cost in f.costs)
    prices = [cost.cost_usd for cost in f.costs if cost.cost_usd is not None]
    spent = money(sum(prices)) if prices else "–"
    spent_note = say("spent_note", tokens=f"{tokens:,}") if f.costs else say("spent_nothing")
    room = outlook.tonight.tokens / outlook.tonight.target_tokens if outlook.tonight.target_tokens else 0
    tiles = (
        ("in_memory", f"{status.observations:,}", say("in_memory_note", words=f"{status.words:,}")),
        ("in_archive", f"{len(f.archived):,}", say("in_archive_note")),
        (
            "captured_tile",
            f"{status.observed:,}",
            say("captured_note", at=local(f, status.last_stamp) if status.last_stamp else say("never")),
        ),
        ("behind", f"{behind:,}", since or ("" if behind else say("behind_none"))),
        ("room", f"{room:.0%}", say("room_note", target=f"{outlook.tonight.target_tokens:,}")),
        ("spent", spent, spent_note),
    )
    return tag(
        "dl",
        *(
            tag("div", tag("dt", say(name)), tag("dd", big, class_="big"), tag("dd", note, class_="note"))
            for name, big, note in tiles
        ),
        class_="tiles",
        id="overview",
        aria_label=say("overview"),
    )


def _warnings(f: Figures, say: Words) -> Html | None:
    notes = (*f.status.problems, *f.notes)
    if not notes:
        return None
    listed = tag("ul", *(tag("li", tag("bdi", note)) for note in notes[:20]), lang="en")
    return _section("warnings", [tag("h2", say("warnings"), id="h-warnings"), listed], "warnings")


def _footer(f: Figures, say: Words) -> list[Html]:
    said = [tag("p", say("footer", version=__version__))]
    if f.others:
        rows = (
            tag("li", tag("bdi", where), " – ", tag("code", f"total-recall report {asked}"))
            for asked, where in f.others
        )
        said = [tag("h2", say("other_memories")), tag("ul", *rows), *said]
    return said


# --- the search ------------------------------------------------------------------------------------------------


def _find(f: Figures, say: Words, is_short: bool) -> list[Html | None]:
    kinds = [kind for kind in (*TYPES, UNTYPED) if any(item.type == kind for item in f.items)]
    query = tag("input", id="q", type="search", autocomplete="off", spellcheck="false", enterkeyhint="search")
    fields = (
        tag("div", tag("label", say("query"), for_="q"), query),
        _choice("where", say("where"), [(name, say(name)) for name in ("all", "live", "archived")]),
        _choice("type", say("type"), [("all", say("all")), *((kind, say(kind)) for kind in kinds)]),
        _choice("priority", say("priority"), [("all", say("all")), *((name, say(name)) for name in PRIORITIES)]),
        _choice("order", say("order"), [(name, say(name)) for name in ("newest", "important", "leaving")]),
    )
    return [
        *heading("find", say),
        tag("form", *fields, id="form", hidden=True, role="search", aria_label=say("find")),
        tag("noscript", tag("p", say("no_script"))),
        tag("p", id="count", class_="small muted", role="status"),
        tag("ul", id="found", class_="items"),
        tag("button", say("more"), id="more", type="button", hidden=True),
        tag("p", code(say("shortened")), class_="small muted") if is_short else None,
    ]


def _choice(id: str, label: str, options: Sequence[tuple[str, str]]) -> Html:
    return tag(
        "div",
        tag("label", label, for_=id),
        tag("select", *(tag("option", words, value=value) for value, words in options), id=id),
    )
