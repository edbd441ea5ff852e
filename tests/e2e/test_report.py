"""The report in a real Chromium: what it looks like, that it is quick, quiet, readable by everybody, and safe.

`UPDATE_SCREENSHOTS=1 scripts/test --e2e -k report` takes the pictures of docs/screenshots anew; without it they are
taken into a folder of the test, so that a run leaves the tree as it was.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import struct
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import report_world
from openclaw_versions import VERSIONS, install_root
from total_recall import clock
from total_recall.commands import places, report
from total_recall.commands.places import Configuration, Place
from total_recall.commands.report import Options
from total_recall.commands.report_parts import TYPES, Language
from total_recall.memory.document import parse
from total_recall.memory.line import format_observation
from total_recall.records import Observation

pytestmark = pytest.mark.e2e

HERE = Path(__file__).parent
SCREENSHOTS = HERE.parents[1] / "docs" / "screenshots"
WEIGHT = 1_500_000
SECONDS = 120
NOW = report_world.NOW

FIND = "document.getElementById('q').focus()"
COUNT = "document.getElementById('count').textContent"
FOUND = "[...document.querySelectorAll('#found li')].map((item) => item.innerText)"
TAGS = "document.querySelectorAll('script, img, iframe, base, object').length"
WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@dataclass(frozen=True)
class Look:
    """One look at a page: how, what is done there (`run` JavaScript, `type` words, press a `key`), and a picture."""

    page: Path
    width: int = 1200
    height: int = 900
    scheme: str = "light"
    scale: float = 1
    media: str | None = None
    steps: Sequence[dict[str, str]] = ()
    axe: bool = False
    screenshot: Path | None = None

    def job(self) -> dict[str, Any]:
        picture = str(self.screenshot) if self.screenshot else None
        return {**vars(self), "page": None, "url": self.page.as_uri(), "screenshot": picture}


@dataclass(frozen=True)
class Browser:
    """Chromium, and what drives it."""

    node: str
    chromium: str
    folder: Path

    def look(self, *looks: Look) -> list[dict[str, Any]]:
        done = subprocess.run(
            [self.node, str(HERE / "look.mjs"), str(self.folder), self.chromium],
            input=json.dumps([look.job() for look in looks]),
            capture_output=True, text=True, timeout=SECONDS, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[-3000:]
        answers: list[dict[str, Any]] = json.loads(done.stdout)
        return answers


@pytest.fixture(scope="module")
def browser() -> Browser:
    folder = install_root() / "browser"
    names = ("chromium", "chromium-browser", "google-chrome")
    chromium = next((path for name in names if (path := shutil.which(name))), None)
    own = (install_root() / version / "node_modules" / ".bin" / "node" for version in reversed(VERSIONS))
    node = next((str(path) for path in own if path.exists()), shutil.which("node"))
    if chromium is None or node is None or not folder.is_dir():
        missing = "no Chromium, Node or puppeteer-core: run tests/e2e/install, then scripts/test --e2e"
        if "CI" in os.environ and chromium is not None:
            pytest.fail(missing)
        pytest.skip(missing)
    return Browser(node, chromium, folder)


def set_time(now: datetime) -> None:
    clock.now = lambda: now


@pytest.fixture(autouse=True)
def at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "now", lambda: NOW)


@pytest.fixture
def config(home: Path) -> Configuration:
    return places.configure({"HOME": str(home), "TOTAL_RECALL_TZ": "Europe/Berlin"})


@pytest.fixture
def place(config: Configuration) -> Place:
    return places.find(config, NOW)[0]


def made(config: Configuration, folder: Path, language: Language = "en") -> Path:
    result = report.run(Options(output=folder / f"{language}.html", language=language), print, config)
    assert result.path is not None
    return result.path


def quiet(answers: Sequence[dict[str, Any]], pages: int = 1) -> None:
    """Nothing was said on the console, and nothing asked for but the page."""
    assert [answer["console"] for answer in answers] == [[]] * len(answers)
    assert all(len(answer["requests"]) == pages for answer in answers)


def size_of(picture: Path) -> tuple[int, int]:
    found = struct.unpack(">II", picture.read_bytes()[16:24])
    return found[0], found[1]


def test_pictures_of_it_and_that_everybody_can_read_it(
    browser: Browser, config: Configuration, place: Place, tmp_path: Path
) -> None:
    report_world.lived(config, place, set_time)
    # Where a made-up memory lies is nobody's business.
    page = made(config, tmp_path).read_text("utf-8").replace(str(place.memory_dir), "~/.openclaw/workspace/memory")
    english, korean = tmp_path / "report-en.html", made(config, tmp_path, "ko")
    english.write_text(page, "utf-8")
    korean.write_text(korean.read_text("utf-8").replace(str(place.memory_dir), "~/.openclaw/workspace/memory"), "utf-8")
    folder = SCREENSHOTS if os.environ.get("UPDATE_SCREENSHOTS") else tmp_path
    folder.mkdir(exist_ok=True)
    fading = ({"run": "document.getElementById('fading').scrollIntoView()"},)
    looks = (
        Look(english, 1200, 1500, axe=True, screenshot=folder / "report-light.png"),
        Look(english, 1200, 1500, "dark", axe=True, screenshot=folder / "report-dark.png"),
        Look(english, 1200, 1250, steps=fading, screenshot=folder / "report-fading.png"),
        Look(english, 390, 844, scale=2, axe=True, screenshot=folder / "report-phone.png"),
        Look(korean, 390, 844, "dark", 2, axe=True, screenshot=folder / "report-phone-ko.png"),
        Look(english, 320, 640, steps=({"run": WIDER},)),
        Look(english, 794, 1123, media="print", axe=True, steps=({"run": WIDER},)),
    )
    answers = browser.look(*looks)
    quiet(answers)
    for look, answer in zip(looks, answers, strict=True):
        assert [v for v in answer["axe"] or [] if v["impact"] in ("serious", "critical")] == [], look
        if look.screenshot is not None:
            assert size_of(look.screenshot) == (look.width * look.scale, look.height * look.scale)
            assert look.screenshot.stat().st_size > 40_000, "a page with nothing on it is smaller"
    assert [answer["answers"] for answer in answers[-2:]] == [[0], [0]], "nothing is wider than the screen or the paper"
    for look in looks[:5]:
        assert look.screenshot is not None
        assert size_of(SCREENSHOTS / look.screenshot.name) == size_of(look.screenshot), (
            "UPDATE_SCREENSHOTS=1 makes them"
        )


def test_ten_thousand_memories_are_light_and_quick(
    browser: Browser, config: Configuration, place: Place, tmp_path: Path
) -> None:
    rng = random.Random(4)
    words = "invoice meeting Berlin garden server release kitchen doctor train ticket review 회의 예산 병원".split()
    lines: dict[str, list[str]] = {}
    for n in range(10_000):
        at = NOW - timedelta(minutes=n * 25)
        text = f"{' '.join(rng.choices(words, k=18))} number {n}"
        noted = Observation(f"m{n}x", text, at, "medium", rng.choice(TYPES), round(rng.uniform(2, 8.9), 1), 0.8)
        lines.setdefault(at.date().isoformat(), []).append(format_observation(noted))
    place.memory_dir.mkdir(parents=True)
    days = (f"---\nDate: {day}\n" + "\n".join(lines[day]) + "\n" for day in sorted(lines))
    (place.memory_dir / "observations.md").write_text("\n".join(days), "utf-8")
    page = made(config, tmp_path)
    assert page.stat().st_size < WEIGHT
    steps = ({"run": FIND}, {"type": "Number 4321"}, {"run": COUNT}, {"run": FOUND})
    first, second = browser.look(Look(page), Look(page, steps=steps))
    quiet([first, second])
    print(f"{page.stat().st_size:,} bytes, first paint {first['paint']:.0f} and {second['paint']:.0f} ms")
    assert second["paint"] < 1000
    assert second["answers"][1] == "1 of 10,000" and "number 4321" in second["answers"][2][0]


def test_its_search_finds_by_keyboard_in_any_script(
    browser: Browser, config: Configuration, place: Place, tmp_path: Path
) -> None:
    texts = (
        "치과에서 충치를 치료했다",
        "東京で犬を散歩した",
        "The cat Mochi eats tuna",
        "Café in Zürich, 50 % off",
        "Ｍｏｃｈｉ again",
    )
    noted = [
        Observation(f"m{n}", text, NOW - timedelta(days=n), "high", "fact", 7.0, 0.9) for n, text in enumerate(texts)
    ]
    place.memory_dir.mkdir(parents=True)
    (place.memory_dir / "observations.md").write_bytes(parse(b"").with_observations(noted).render())
    page = made(config, tmp_path)

    def found(words: str) -> list[str]:
        # "/" leads to the field from wherever one is.
        (answer,) = browser.look(Look(page, steps=({"key": "/"}, {"type": words}, {"run": FOUND})))
        quiet([answer])
        return [item.split("\n")[0] for item in answer["answers"][0]]

    assert found("충치") == [texts[0]]
    assert found("犬") == [texts[1]]
    assert found("MOCHI") == [texts[2], texts[4]]
    assert found("tuna mochi") == [texts[2]]
    assert found("2026-11-28") == [texts[3]]
    assert found("nowhere") == []
    choose = (
        "(() => { const type = document.getElementById('type'); type.value = 'all';"
        " const where = document.getElementById('where'); where.value = 'archived';"
        " where.dispatchEvent(new Event('input', { bubbles: true })); })()"
    )
    (answer,) = browser.look(Look(page, steps=({"run": choose}, {"run": COUNT})))
    assert answer["answers"][1] == "0 of 5"


def test_nothing_that_a_memory_says_is_run(
    browser: Browser, config: Configuration, place: Place, tmp_path: Path
) -> None:
    texts = (
        "</script><script>alert(1)</script>",
        "<img src=x onerror=alert(2)>",
        "<svg onload=alert(3)><base href=//example.com>",
        "<!--<script>alert(4)",
        "{{constructor.constructor('alert(5)')()}} ${alert(6)}",
    )
    noted = [
        Observation(f"m{n}", text, NOW - timedelta(days=n), "high", "fact", 4.0, 0.9) for n, text in enumerate(texts)
    ]
    place.memory_dir.mkdir(parents=True)
    (place.memory_dir / "observations.md").write_bytes(parse(b"").with_observations(noted).render())
    page = made(config, tmp_path)
    insert = (
        "(() => { const s = document.createElement('script'); s.textContent = 'window.ran = 1';"
        " document.body.append(s); return window.ran ?? 0; })()"
    )
    fetch = "fetch('http://127.0.0.1:9/').then(() => 'sent', () => 'refused')"
    first, second = browser.look(
        Look(page, steps=({"run": FOUND}, {"run": TAGS})), Look(page, steps=({"run": insert}, {"run": fetch}))
    )
    quiet([first])
    shown, tags = first["answers"]
    assert len(shown) == len(texts) and tags == 3
    assert "script" in shown[0] and "onerror=alert(2)" in shown[1]
    assert second["answers"] == [0, "refused"]
    assert len(second["requests"]) == 1 and "Content Security Policy" in " ".join(second["console"])
