"""completion: what bash, zsh and fish need to complete commands and options, made from the parser itself."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from total_recall.arguments.values import Commands

SHELLS: Final = ("bash", "zsh", "fish")
FILES: Final = frozenset({"FILE", "DIR", "PATH"})
"""What an option of such a name takes is a file or a folder."""


@dataclass(frozen=True, slots=True)
class Option:
    """An option, with what it takes: one of `values`, a file, or something else (`takes`)."""

    names: tuple[str, ...]
    meaning: str
    takes: bool
    values: tuple[str, ...] = ()
    is_file: bool = False


@dataclass(frozen=True, slots=True)
class Word:
    """A command or action: its options, the words that may follow, and its own actions."""

    name: str
    meaning: str
    options: tuple[Option, ...] = ()
    values: tuple[str, ...] = ()
    actions: tuple[Word, ...] = ()


@dataclass(frozen=True, slots=True)
class Result:
    """The script for a shell."""

    shell: str
    script: str

    def payload(self) -> dict[str, object]:
        """The fields of the JSON answer."""
        return {"shell": self.shell, "script": self.script}

    def lines(self) -> list[str]:
        """The script, to be kept in a file or sourced."""
        return self.script.rstrip("\n").split("\n")


def add(commands: Commands) -> None:
    """Add this command."""
    completing = commands.add_parser(
        "completion",
        help="let the shell complete commands and options",
        description="Print a script for the shell. bash: keep it in ~/.local/share/bash-completion/completions/"
        "total-recall. zsh: as _total-recall in a folder of $fpath. fish: in ~/.config/fish/completions/"
        "total-recall.fish.",
    )
    completing.add_argument("shell", choices=SHELLS, help="for which shell")


def run(shell: str, whole: argparse.ArgumentParser) -> Result:
    """The script for one of `SHELLS`, of everything that the parser takes."""
    return Result(shell, _SCRIPTS[shell](words_of(whole)))


def words_of(whole: argparse.ArgumentParser) -> tuple[Word, ...]:
    """The words that may follow a command: its actions, or what a positional may be."""
    found = next((a for a in whole._actions if isinstance(a, argparse._SubParsersAction)), None)
    if found is None:
        return ()
    meaning = {pseudo.dest: pseudo.help or "" for pseudo in found._choices_actions}
    return tuple(
        Word(name, meaning.get(name, ""), tuple(_options(inner)), tuple(_positional(inner)), words_of(inner))
        for name, inner in found.choices.items()
    )


def _options(command: argparse.ArgumentParser) -> Iterator[Option]:
    for action in command._actions:
        if action.option_strings and action.help is not argparse.SUPPRESS:
            meaning = str(action.help or "") % {"default": action.default, "prog": command.prog}
            values = tuple(map(str, action.choices or ()))
            takes = action.nargs != 0
            yield Option(tuple(action.option_strings), meaning, takes, values, takes and action.metavar in FILES)


def _positional(command: argparse.ArgumentParser) -> Iterator[str]:
    for action in command._actions:
        if not action.option_strings and action.choices and not isinstance(action, argparse._SubParsersAction):
            yield from map(str, action.choices)


# --- bash


def _bash(words: Sequence[Word]) -> str:
    return _BASH.format(
        values=_cases(words, lambda values: f"COMPREPLY=($(compgen -W '{' '.join(values)}' -- \"$current\")); return"),
        files=_patterns(words),
        words="\n".join(_follows(words, lambda names: f"words='{' '.join(name for name, _ in names)}'")),
    )


_BASH: Final = """\
_total_recall() {{
    local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}} command= action= word words=
    for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
        case $word in
        -*) ;;
        *) if [ -z "$command" ]; then command=$word; elif [ -z "$action" ]; then action=$word; fi ;;
        esac
    done
    case $command:$previous in
{values}
    {files}) COMPREPLY=($(compgen -f -- "$current")); return ;;
    esac
    case $command:$action in
{words}
    esac
    COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o filenames -F _total_recall total-recall
"""

# --- zsh


def _zsh(words: Sequence[Word]) -> str:
    def listed(names: Sequence[tuple[str, str]]) -> str:
        return f"found=({' '.join(_quoted(f'{name}:{meaning}') for name, meaning in names)})"

    return _ZSH.format(
        values=_cases(words, lambda values: f"compadd -- {' '.join(values)}; return"),
        files=_patterns(words),
        words="\n".join(_follows(words, listed)),
    )


_ZSH: Final = """\
#compdef total-recall
_total_recall() {{
    local -a found
    local command= action= word previous=${{words[CURRENT-1]}}
    for word in ${{words[2,CURRENT-1]}}; do
        case $word in
        (-*) ;;
        (*) if [[ -z $command ]]; then command=$word; elif [[ -z $action ]]; then action=$word; fi ;;
        esac
    done
    case $command:$previous in
{values}
    {files}) _files; return ;;
    esac
    case $command:$action in
{words}
    esac
    _describe -V 'total-recall' found
}}
if [[ $funcstack[1] == _total-recall ]]; then _total_recall "$@"; else compdef _total_recall total-recall; fi
"""

# --- both: cases of `command:previous word` and of `command:action`


def _cases(words: Sequence[Word], say: Callable[[Sequence[str]], str]) -> str:
    """What an option may be given, where it is one of a few words."""
    lines = [
        f"    {'|'.join(f'{word.name}:{name}' for name in option.names)}) {say(option.values)} ;;"
        for word in words
        for option in word.options
        if option.values
    ]
    return "\n".join(lines)


def _patterns(words: Sequence[Word]) -> str:
    """Every option that is given a file."""
    every = (option for word in words for one in (word, *word.actions) for option in one.options if option.is_file)
    return "|".join(dict.fromkeys(f"*:{name}" for option in every for name in option.names))


def _follows(words: Sequence[Word], say: Callable[[Sequence[tuple[str, str]]], str]) -> Iterator[str]:
    """A case for nothing yet, for each command, and for each action before it."""
    yield f"    :) {say([(word.name, word.meaning) for word in words])} ;;"
    for word in words:
        for action in word.actions:
            yield f"    {word.name}:{action.name}) {say(_next(action))} ;;"
        yield f"    {word.name}:*) {say(_next(word))} ;;"


def _next(word: Word) -> list[tuple[str, str]]:
    listed = [(action.name, action.meaning) for action in word.actions] + [(value, "") for value in word.values]
    return listed + [(name, option.meaning) for option in word.options for name in option.names]


# --- fish


def _fish(words: Sequence[Word]) -> str:
    lines = ["complete -c total-recall -f"]
    for word in words:
        lines.append(_completes("__fish_use_subcommand", f"-a {word.name}", word.meaning))
        inside = f"__fish_seen_subcommand_from {word.name}"
        names = " ".join(action.name for action in word.actions)
        outside = f"{inside}; and not __fish_seen_subcommand_from {names}" if names else inside
        lines += [_completes(inside, f"-a {value}", "") for value in word.values]
        lines += [_fish_option(outside, option) for option in word.options]
        for action in word.actions:
            lines.append(_completes(outside, f"-a {action.name}", action.meaning))
            within = f"{inside}; and __fish_seen_subcommand_from {action.name}"
            lines += [_fish_option(within, option) for option in action.options]
    return "\n".join(lines) + "\n"


def _fish_option(when: str, option: Option) -> str:
    names = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names)
    takes = f" -x -a '{' '.join(option.values)}'" if option.values else " -rF" if option.is_file else " -x"
    return _completes(when, names + (takes if option.takes else ""), option.meaning)


def _completes(when: str, what: str, meaning: str) -> str:
    said = meaning.replace("\\", "\\\\").replace("'", "\\'")
    return f"complete -c total-recall -n '{when}' {what}" + (f" -d '{said}'" if said else "")


def _quoted(text: str) -> str:
    """A word for a shell, in single quotes."""
    return "'" + text.replace("'", "'\\''") + "'"


_SCRIPTS: Final[Mapping[str, Callable[[Sequence[Word]], str]]] = {"bash": _bash, "zsh": _zsh, "fish": _fish}
