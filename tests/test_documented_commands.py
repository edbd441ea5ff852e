"""Every command that a page shows is run, in a scratch home with a made-up life in it; none may fail.

A block after `<!-- not run: REASON -->` is left out, and counted. Answers to questions are yes.
"""

from __future__ import annotations

import io
import re
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from builders import OTHER, SESSION, Home, said
from total_recall import cli, clock
from total_recall.arguments import EXAMPLES, SECTIONS, parser
from total_recall.memory.document import parse
from total_recall.memory.line import Entry

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted(
    [*ROOT.glob("README*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("skills/total-recall/**/*.md")],
    key=lambda path: path.relative_to(ROOT).as_posix(),
)
NOW = datetime(2026, 12, 1, 9, tzinfo=timezone.utc)
EXAMPLE_ID = "k3f9q2"
"""Stands in the pages for the id of any line."""
NOT_RUN_AT_MOST = 7

BLOCK = re.compile(
    r"^(?P<indent> *)(?:<!-- not run: (?P<why>[^\n]+?) -->\n *)?```sh\n(?P<body>.*?)^ *```$", re.MULTILINE | re.DOTALL
)
INDENTED = re.compile(r"(?<=\n\n)    ((?:\./)?(?:scripts/)?total-recall [^\n]+)$", re.MULTILINE)
INLINE = re.compile(r"`(?:(?:scripts/)?total-recall )?([a-z]+ [^`\n]+)`")
STARTS = (
    ["total-recall"], ["scripts/total-recall"], ["./scripts/total-recall"], ["sh", "{baseDir}/scripts/total-recall"],
)  # fmt: skip

TURNS: tuple[tuple[int, str], ...] = (
    (60, "I lost the umbrella on tram 12 today."),
    (55, "We watched a film about trains, it was fine."),
    (28, "I prefer oat milk in my coffee."),
    (20, "I have a dentist appointment on 9 December at 10:30, Dr Park."),
    (12, "The tax return is due on 14 December."),
    (3, "What did we say about the invoice? Invoice 1041 is 340 EUR, due on 18 December."),
    (1, "From now on keep answers short."),
)
"""(days ago, what the person said)."""
PROPOSAL = """# Pattern Promotion Proposal
**Generated**: 2026-12-01T02:31:07+00:00
**Type**: preference
**Target file**: USER.md
**Confidence**: low
**Supporting observations**: a1, a2, a3
**Pattern summary**: On 3 separate days from 2026-11-03 to 2026-11-15: prefers oat milk in coffee

## Proposed addition to USER.md
```
- Prefers oat milk in coffee
```

## Evidence
- 2026-11-03 a1: User prefers oat milk in coffee
- 2026-11-09 a2: Ordered coffee with oat milk
- 2026-11-15 a3: Asked for an oat milk latte again

## Human review required — respond: APPROVE / REJECT / MODIFY
"""


@dataclass(frozen=True)
class Shown:
    """One command line of a page, without the program's name; None for a line that starts another program."""

    line: str
    arguments: list[str] | None


def blocks(path: Path) -> Iterator[tuple[str | None, str]]:
    """(why it is not run, the lines) of each block of commands on a page."""
    text = path.read_text(encoding="utf-8")
    for found in BLOCK.finditer(text):
        yield found["why"], found["body"]
    for found in INDENTED.finditer(text):
        yield None, found[1]


def shown(path: Path) -> list[Shown]:
    lines = [line.strip() for why, body in blocks(path) if why is None for line in body.split("\n") if line.strip()]
    return [Shown(line, without_program(shlex.split(line, comments=True))) for line in lines]


def without_program(words: list[str]) -> list[str] | None:
    start = next((start for start in STARTS if words[: len(start)] == start), None)
    return None if start is None else words[len(start) :]


@pytest.fixture
def life(home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    """A memory with two months in it, a reflection, a night, and a proposal; the workspace."""
    openclaw = Home(home / ".openclaw", home / "unused")
    openclaw.index({"agent:main:main": SESSION, "agent:main:explicit:work": OTHER})
    base = datetime(2026, 11, 30, 6, tzinfo=timezone.utc)
    entries = []
    for number, (ago, words) in enumerate(TURNS):
        minute = ((NOW - timedelta(days=ago)) - base).total_seconds() / 60
        entries.append(said(f"u{number}", words, minute))
        entries.append(said(f"a{number}", "I have noted that.", minute + 1, role="assistant"))
    openclaw.write(*entries)
    openclaw.write(said("w1", "The build server is at build.example.", 5), session_id=OTHER)
    bins = home / "bin"
    bins.mkdir()
    monkeypatch.setenv("PATH", str(bins))
    monkeypatch.setenv("TOTAL_RECALL_TZ", "UTC")
    monkeypatch.setattr(clock, "now", lambda: NOW)
    monkeypatch.setattr(cli, "_asking", lambda _: lambda _: True)
    monkeypatch.chdir(home)
    for command in (["observe", "--all"], ["reflect", "--force"], ["dream"]):
        assert cli.main(command) == 0
    workspace = home / ".openclaw" / "workspace"
    staging = workspace / "memory" / "dream-staging"
    staging.mkdir(exist_ok=True)
    for name in ("20261201-001-preference.md", "20261201-002-preference.md"):
        (staging / name).write_text(PROPOSAL)
    capsys.readouterr()
    return workspace


def lines_of(workspace: Path) -> tuple[Entry, ...]:
    return tuple(parse((workspace / "memory" / "observations.md").read_bytes()).observations)


def run(arguments: list[str], workspace: Path, monkeypatch: pytest.MonkeyPatch) -> int | str | None:
    """The exit code. An example's id is that of a line that is there now."""
    ids = [entry.id for entry in lines_of(workspace) if entry.id]
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    try:
        return cli.main([ids[-1] if word == EXAMPLE_ID else word for word in arguments])
    except SystemExit as ended:  # --help, or a command line that is none
        return ended.code


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_command_on_a_page_runs(
    page: Path, life: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    failed = []
    for command in shown(page):
        assert command.arguments is not None, f"{command.line}: mark the block with `<!-- not run: REASON -->`"
        ended = run(command.arguments, life, monkeypatch)
        output = capsys.readouterr()
        if ended != 0:
            failed.append(f"{command.line}: {ended}: {output.err or output.out}")
    assert failed == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_command_in_a_sentence_is_one(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`undo dream` in a text: what begins with a command's name is a command line."""
    wrong = []
    for written in INLINE.findall(page.read_text(encoding="utf-8")):
        if written.split()[0] not in cli.COMMANDS or re.search(r"[…\[\]<>|\\]|STEP", written):
            continue
        try:
            parser().parse_args(shlex.split(written))
        except SystemExit as ended:
            if ended.code:
                wrong.append(f"{written}: {capsys.readouterr().err}")
    assert wrong == []


def test_few_blocks_are_not_run_and_each_says_why() -> None:
    left_out = [(page.name, why, body) for page in PAGES for why, body in blocks(page) if why is not None]
    assert len(left_out) <= NOT_RUN_AT_MOST
    assert sum(len(shown(page)) for page in PAGES) > 60


def test_every_command_has_an_example_and_a_section() -> None:
    listed = [name for _, names in SECTIONS for name in names]
    assert len(listed) == len(set(listed))
    assert set(cli.COMMANDS) - set(listed) == set()
    assert set(cli.COMMANDS) - set(EXAMPLES) == set()


@pytest.mark.parametrize("name", sorted(set(EXAMPLES) & set(cli.COMMANDS)))
def test_the_example_of_the_help_is_that_command(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """They stand in docs/commands.md too, where they are run."""
    with pytest.raises(SystemExit):
        cli.main([name, "--help"])
    assert f"\nexample:\n  total-recall {EXAMPLES[name][0]}\n" in capsys.readouterr().out
    assert parser().parse_args(shlex.split(EXAMPLES[name][0])).command == name
