"""The pages say what the program does: tables come from the code, links lead somewhere, quoted messages exist."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from total_recall import cli, retention
from total_recall.decay import LOSS_A_DAY, TTL_DAYS
from total_recall.settings import SPECS

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/*.md"),
        *ROOT.glob("schemas/*.md"),
        *ROOT.glob("benchmarks/*.md"),
        *ROOT.glob("skills/total-recall/**/*.md"),
    ]
)
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)\s]*)?\)")
VARIABLE = re.compile(r"`((?:TOTAL_RECALL|OBSERVER|REFLECTOR|DREAM|LLM|EMBEDDING)_[A-Z_]+)(?:=[^`]*)?`")
OF_THE_TESTS = re.compile(r"TOTAL_RECALL_(E2E|REAL)_")


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    path = str(ROOT / "scripts" / "generate-docs")
    spec = importlib.util.spec_from_loader(
        "generate_docs", importlib.machinery.SourceFileLoader("generate_docs", path)
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_tables_are_those_of_the_code(generator: ModuleType) -> None:
    stale = [path.name for path, text in generator.pages() if text_of(path) != text]
    assert stale == [], "run scripts/generate-docs"


def test_every_command_and_setting_is_documented() -> None:
    commands, settings = (text_of(ROOT / "docs" / name) for name in ("commands.md", "settings.md"))
    assert [name for name in cli.COMMANDS if f"\n### {name}\n" not in commands] == []
    assert [spec.name for spec in SPECS if f"| `{spec.name}` |" not in settings] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"`[^`\n]+`", "", text_of(page))
    targets = [target for target in LINK.findall(text) if not re.match(r"[a-z]+:", target)]
    assert [target for target in targets if not (page.parent / target).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_variables_that_are_named_exist(page: Path) -> None:
    known = {spec.name for spec in SPECS}
    named = {name for name in VARIABLE.findall(text_of(page)) if not OF_THE_TESTS.match(name)}
    assert {name for name in named if name not in known and not name.endswith("_")} == set()


def test_what_troubleshooting_quotes_is_what_the_program_says() -> None:
    """The first column of its tables: a person searches the page for what they see."""
    code = "".join(text_of(path) for path in (ROOT / "scripts").rglob("*.py"))
    quoted = re.findall(r"^\| ([^|]+) \|", text_of(ROOT / "docs" / "troubleshooting.md"), re.MULTILINE)
    phrases = [phrase for cell in quoted for phrase in re.findall(r'"([^"]+)"', cell)]
    assert len(phrases) > 15
    # A message may be broken over two lines of code.
    joined = re.sub(r'"\s*\n\s*f?"', "", code)
    assert [phrase for phrase in phrases if phrase not in joined and phrase != "a bug"] == []


def test_how_long_things_are_kept_is_what_the_rules_say() -> None:
    rows = dict(re.findall(r"^\| ([a-z, ]+) \| ([^|]+ \| [^|]+) \|", text_of(ROOT / "docs" / "forgetting.md"), re.M))
    for names, said in rows.items():
        for kind in names.split(", "):
            if kind in TTL_DAYS:
                kept, loses = said.split(" | ")
                assert float(loses) == LOSS_A_DAY[kind]
                if kind not in retention.STANDING | retention.ENDLESS:
                    assert kept == f"{TTL_DAYS[kind]} days"


def test_both_readmes_show_the_same_commands_and_figures() -> None:
    english, korean = (text_of(ROOT / name) for name in ("README.md", "README.ko.md"))
    commands, pages, figures = r"^(?:scripts/|sh |\./|openclaw )[^#\n]*", r"(?:docs|schemas)/[a-z.-]+", r"[\d.]+(?= ?%)"
    for pattern in (commands, pages, figures):
        assert sorted({found.strip() for found in re.findall(pattern, english, re.M)}) == sorted(
            {found.strip() for found in re.findall(pattern, korean, re.M)}
        )
    assert english.count("\n## ") == korean.count("\n## ")
