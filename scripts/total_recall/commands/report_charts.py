"""Markup that cannot be broken out of, and the few charts of the report as SVG. Pure.

A chart of bars is stretched to the width that there is, so its words stand beside it as HTML and stay readable on a
phone. Each comes with its numbers as a table, for screen readers and for who wants to know exactly.
"""

from __future__ import annotations

import html
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from total_recall.harmless import printable

BAR_HEIGHT: Final = 150
CURVE_WIDTH: Final = 340
CURVE_HEIGHT: Final = 210
LEFT, RIGHT, TOP, BOTTOM = 31, 332, 12, 186
"""Where the axes of a chart of curves lie."""


_SPACE: Final = re.compile(r"\s+")


class Html(str):
    """Text that is markup already. Everything else that goes into a page is escaped."""

    __slots__ = ()


def plain(text: object) -> str:
    """A text as one line of what can be seen: no control, bidirectional or invisible characters."""
    return _SPACE.sub(" ", printable(str(text)))


def escaped(text: object) -> Html:
    """A text as it may stand in an element or an attribute."""
    return text if isinstance(text, Html) else Html(html.escape(plain(text), quote=True))


def tag(name: str, *children: object, **attributes: object) -> Html:
    """An element. Children and values that are not `Html` are escaped; what is None or False is left out.

    `class_` is `class`, `aria_label` is `aria-label`; a value that is True stands for itself.
    """
    named = ((key.rstrip("_").replace("_", "-"), value) for key, value in attributes.items())
    said = "".join(
        f" {key}" if value is True else f' {key}="{escaped(value)}"'
        for key, value in named
        if value is not None and value is not False
    )
    inside = joined(*children)
    return Html(f"<{name}{said}>") if name in _EMPTY else Html(f"<{name}{said}>{inside}</{name}>")


_EMPTY: Final = frozenset({"input", "br", "meta"})


def joined(*children: object) -> Html:
    """Several pieces as one; None is nothing."""
    return Html("".join(escaped(child) for child in children if child is not None))


def table(
    heads: Sequence[object], rows: Sequence[Sequence[object]], label: str, numbers: int = 0, *, is_prose: bool = False
) -> Html:
    """A table whose first column names the row; the last `numbers` columns are numbers.

    Where it is too wide it may be scrolled, also by keyboard; one of prose becomes a list of blocks on a phone, and
    says by its roles that it is a table all the same.
    """
    first = len(heads) - numbers
    head = tag(
        "tr",
        *(
            tag("th", h, scope="col", role="columnheader", class_="num" if n >= first else None)
            for n, h in enumerate(heads)
        ),
        role="row",
    )
    body = [tag("tr", *(_cell(cell, n, n >= first) for n, cell in enumerate(row)), role="row") for row in rows]
    whole = tag(
        "table", tag("thead", head, role="rowgroup"), tag("tbody", *body, role="rowgroup"), role="table",
        class_="prose" if is_prose else None,
    )  # fmt: skip
    return tag("div", whole, class_="scroll", tabindex="0", role="group", aria_label=label)


def cell(*children: object, class_: str | None = None, lang: str | None = None) -> Html:
    """A cell that is more than its text."""
    return tag("td", *children, role="cell", class_=class_, lang=lang)


def _cell(content: object, column: int, is_number: bool) -> Html:
    if isinstance(content, Html) and content.startswith("<td"):
        return content
    name = "day" if column == 0 else "num" if is_number else None
    if column == 0:
        return tag("th", content, scope="row", role="rowheader", class_=name)
    return cell(content, class_=name)


@dataclass(frozen=True, slots=True)
class Series:
    """One kind of value of each bar: its name, its colour (a class of the style sheet) and its values."""

    name: str
    colour: str
    values: Sequence[float]


def legend(series: Sequence[tuple[str, str]]) -> Html:
    """What the colours stand for: (name, colour) of each."""
    return tag("ul", *(tag("li", tag("i", class_=colour), name) for name, colour in series), class_="legend")


def bars(title: str, labels: Sequence[str], series: Sequence[Series], as_table: str, head: str) -> Html:
    """Stacked bars, one a label, with their table. `head` is what the labels are, `as_table` the words that show it."""
    used = [one for one in series if any(one.values)]
    sums = [sum(values) for values in zip(*(one.values for one in series), strict=True)]
    top = nice(max(sums, default=0))
    whole = tag(
        "svg", *_stacks(labels, used, top), viewBox=f"0 0 {max(len(labels), 1) * 10} {BAR_HEIGHT}",
        preserveAspectRatio="none", role="img", aria_label=f"{title}: {labels[0]} – {labels[-1]}",
    )  # fmt: skip
    middle = labels[len(labels) // 2] if len(labels) > 4 else ""
    rows = [
        [label, *(number(one.values[n]) for one in used), *([number(sums[n])] if len(used) > 1 else [])]
        for n, label in enumerate(labels)
        if sums[n]
    ]
    heads = [head, *(one.name for one in used), *(["Σ"] if len(used) > 1 else [])]
    return tag(
        "figure",
        tag("figcaption", title),
        tag(
            "div",
            whole,
            tag("span", number(top), class_="top", aria_hidden="true"),
            tag("span", number(top / 2), class_="half", aria_hidden="true"),
            class_="plot",
        ),
        tag("div", *(tag("span", text) for text in (labels[0], middle, labels[-1])), class_="axis", aria_hidden="true"),
        legend([(one.name, one.colour) for one in used]) if len(series) > 1 else None,
        tag("details", tag("summary", as_table), table(heads, rows, title, len(heads) - 1), class_="more"),
    )


def _stacks(labels: Sequence[str], series: Sequence[Series], top: float) -> list[Html]:
    found = []
    for n, label in enumerate(labels):
        base = float(BAR_HEIGHT)
        for one in series:
            height = one.values[n] / top * BAR_HEIGHT if top else 0.0
            if height:
                height = max(height, 1.5)
                base -= height
                note = f"{label}: {number(one.values[n])} {one.name}"
                found.append(
                    tag("rect", tag("title", note), class_=one.colour, x=n * 10 + 1, y=round(base, 1), width=8,
                        height=round(height, 1))
                )  # fmt: skip
    return found


def share(parts: Sequence[tuple[str, float]], whole: float) -> Html:
    """One stacked bar that lies, of (colour, value); a `whole` of it is as wide as there is room."""
    found, x = [], 0.0
    for colour, value in parts:
        width = 1000 * value / whole if whole else 0.0
        if width:
            found.append(tag("rect", class_=colour, x=round(x, 1), y=0, width=round(width, 1), height=14))
        x += width
    return tag("svg", *found, viewBox="0 0 1000 14", preserveAspectRatio="none", aria_hidden="true", focusable="false")


@dataclass(frozen=True, slots=True)
class Curve:
    """A line from its values at ages 0, 1, 2 … days. `name` is shown at its beginning."""

    values: Sequence[float]
    colour: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class Dots:
    """Where so many memories stand: age in days, value, how many, and the colour."""

    age: float
    value: float
    count: int
    colour: str


@dataclass(frozen=True, slots=True)
class Plane:
    """The axes of a chart of curves: ages to `days`, values from `low` to `high`, the `threshold`, the day it ends."""

    days: int
    low: float
    high: float
    threshold: float
    ticks: Sequence[float]
    ends: int | None = None
    ends_words: str = ""

    def x(self, age: float) -> float:
        return LEFT + (RIGHT - LEFT) * min(age, self.days) / self.days

    def y(self, value: float) -> float:
        within = min(max(value, self.low), self.high)
        return BOTTOM - (BOTTOM - TOP) * (within - self.low) / (self.high - self.low)


def curves(title: str, note: str, plane: Plane, lines: Sequence[Curve], dots: Sequence[Dots]) -> Html:
    """Curves of age, and where memories stand on them."""
    threshold = plane.y(plane.threshold)
    inside: list[Html] = [
        tag("rect", class_="faded", x=LEFT, y=_r(threshold), width=RIGHT - LEFT, height=_r(BOTTOM - threshold)),
        *(tag("path", class_="grid", d=f"M{LEFT} {_r(plane.y(t))}H{RIGHT}") for t in plane.ticks),
        *(tag("text", _tick(t), x=LEFT - 5, y=_r(plane.y(t) + 4), text_anchor="end") for t in plane.ticks),
        tag("path", class_="edge", d=f"M{LEFT} {_r(threshold)}H{RIGHT}"),
    ]
    if plane.ends is not None:
        x = _r(plane.x(plane.ends))
        inside.append(tag("path", class_="edge", d=f"M{x} {TOP}V{BOTTOM}"))
        inside.append(tag("text", plane.ends_words, x=_r(plane.x(plane.ends) - 5), y=TOP + 10, text_anchor="end"))
    inside += [tag("path", class_=f"curve {line.colour}".strip(), d=_path(plane, line.values)) for line in lines]
    inside += [
        tag("circle", class_=dot.colour, cx=_r(plane.x(dot.age)), cy=_r(plane.y(dot.value)),
            r=_r(min(9.0, 2.6 + 1.1 * math.sqrt(dot.count - 1))))
        for dot in dots
    ]  # fmt: skip
    for age, anchor in ((0, "start"), (plane.days // 2, "middle"), (plane.days, "end")):
        inside.append(tag("text", age, x=_r(plane.x(age)), y=BOTTOM + 15, text_anchor=anchor))
    drawn = tag(
        "svg", *inside, viewBox=f"0 0 {CURVE_WIDTH} {CURVE_HEIGHT}", width="100%", role="img",
        aria_label=f"{title}. {note}",
    )  # fmt: skip
    names = [(line.name, line.colour) for line in lines if line.name]
    caption = tag("figcaption", title, tag("span", note, class_="muted"))
    return tag("figure", caption, drawn, legend(names) if names else None)


def _path(plane: Plane, values: Sequence[float]) -> str:
    """Corners alone: a straight line needs two points, however many days it has."""
    points = [(_r(plane.x(age)), _r(plane.y(value))) for age, value in enumerate(values) if age <= plane.days]
    kept = points[:1]
    for before, here, after in zip(points, points[1:], points[2:], strict=False):
        cross = (here[0] - before[0]) * (after[1] - here[1]) - (after[0] - here[0]) * (here[1] - before[1])
        if abs(cross) > 0.02:
            kept.append(here)
    kept += points[1:][-1:]
    return "M" + "L".join(f"{x} {y}" for x, y in kept)


def _r(value: float) -> float:
    return round(value, 1)


def _tick(value: float) -> str:
    return f"{value:g}"


def nice(most: float) -> float:
    """A round number that is not less, and whose half is round: 2, 4, 6, 8, 10, 12, 16, 20, 30 …; 0 for 0."""
    if most <= 0:
        return 0
    if most <= 10:
        return next(step for step in (2.0, 4.0, 6.0, 8.0, 10.0) if step >= most)
    power = 10.0 ** math.floor(math.log10(most))
    return next(step for step in (1.0, 1.2, 1.6, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0) if step * power >= most) * power


def number(value: float) -> str:
    """`1,234`, `0.5`."""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"
