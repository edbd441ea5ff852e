"""completion: the scripts do in real shells what their names promise."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from total_recall import cli
from total_recall.arguments import parser
from total_recall.arguments.completion import SHELLS, run, words_of

ASKED: tuple[tuple[str, set[str]], ...] = (
    ("reca", {"recall"}),
    ("log er", {"errors"}),
    ("log errors --s", {"--since", "--session"}),
    ("recall --type e", {"event"}),
    ("setup --host cl", {"claude-code"}),
    ("undo d", {"dream"}),
    ("completion z", {"zsh"}),
    ("recall --no-s", set()),
)
"""(What was typed, what may be meant.)"""


def script(shell: str, folder: Path) -> Path:
    path = folder / f"completion.{shell}"
    path.write_text("\n".join(run(shell, parser()).lines()) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(("typed", "meant"), ASKED)
def test_bash_completes(typed: str, meant: set[str], tmp_path: Path) -> None:
    asking = 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _total_recall; echo "${COMPREPLY[@]}"'
    words = ["bash", "-c", asking, "bash", str(script("bash", tmp_path)), "total-recall", *typed.split(" ")]
    done = subprocess.run(words, capture_output=True, text=True, timeout=20, check=True)
    assert done.stderr == "" and set(done.stdout.split()) == meant


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
@pytest.mark.parametrize(("typed", "meant"), ASKED)
def test_fish_completes(typed: str, meant: set[str], tmp_path: Path) -> None:
    asking = "source $argv[1]; complete -C $argv[2]"
    words = ["fish", "-c", asking, str(script("fish", tmp_path)), f"total-recall {typed}"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=20, check=True)
    assert {line.split("\t")[0] for line in done.stdout.splitlines()} == meant


@pytest.mark.parametrize("shell", SHELLS)
def test_the_shell_reads_the_script(shell: str, tmp_path: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    done = subprocess.run([shell, "-n", str(script(shell, tmp_path))], capture_output=True, text=True, timeout=20)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("shell", SHELLS)
def test_every_command_and_option_is_there(shell: str) -> None:
    text = run(shell, parser()).script
    for word in words_of(parser()):
        assert word.name in text
        for option in word.options:
            # fish writes `-l since`.
            assert all(name.lstrip("-") in text for name in option.names)
    assert {word.name for word in words_of(parser())} == set(cli.COMMANDS)


def test_the_command_prints_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["completion", "zsh"]) == 0
    said = capsys.readouterr().out
    assert said == run("zsh", parser()).script
    assert cli.main(["completion", "bash", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["script"] == run("bash", parser()).script
