"""`openclaw.json` as the host sees it: JSON5, `$include` resolved, `${VARIABLE}` filled in (docs of 2026.9.6)."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import json5

INCLUDE = "$include"
MOST_NESTED = 10
"""The host's own limit for files that include files."""
READ_TRIES = 3
READ_PAUSE_SECONDS = 0.05

_REFERENCE = re.compile(r"\$(\$?)\{([A-Z_][A-Z0-9_]*)\}")


@dataclass(frozen=True, slots=True)
class Read:
    """The configuration, the files that it came from, and what is wrong with it.

    `unset` are the variables that it names and nobody has set: values with them are left out.
    """

    value: Mapping[str, object]
    files: tuple[Path, ...]
    problem: str | None = None
    unset: tuple[str, ...] = ()


def read(path: Path, env: Mapping[str, str]) -> Read:
    """Read the file and what it includes. An absent one is empty; a broken one is empty and has a `problem`.

    A person or the host may be saving it: what looks broken is read again. `env` is the process's environment; the
    configuration's own `env` fills in what that lacks.
    """
    problem = None
    files: list[Path] = []
    for attempt in range(READ_TRIES):
        if attempt:
            time.sleep(READ_PAUSE_SECONDS)
        files = [path]
        try:
            value = _resolved(_parse(path), path, path.parent, files, 0)
        except FileNotFoundError as error:
            if error.filename == str(path):
                return Read({}, (path,))
            problem = f"{error.filename} is not there, though {INCLUDE} names it"
        except (OSError, ValueError, RecursionError) as error:
            problem = _first_line(error)
        else:
            if not isinstance(value, dict):
                problem = "not an object"
                continue
            unset: dict[str, None] = {}
            filled = _filled(value, {**_own_variables(value), **env}, unset)
            return Read(filled if isinstance(filled, dict) else {}, tuple(files), None, tuple(unset))
    return Read({}, tuple(files), f"{path} cannot be read ({problem}): OpenClaw's defaults are assumed")


def _parse(path: Path) -> object:
    """JSON5, by the quick parser where the text is plain JSON. Raises OSError, ValueError or RecursionError."""
    text = path.read_text(encoding="utf-8-sig")
    try:
        return json.loads(text)
    except ValueError:
        return json5.loads(text)


def _resolved(value: object, path: Path, root: Path, files: list[Path], depth: int) -> object:
    """`value` of the file `path` with every `$include` in it replaced. Raises as `_parse` does."""
    if isinstance(value, list):
        return [_resolved(item, path, root, files, depth) for item in value]
    if not isinstance(value, dict):
        return value
    rest = {name: _resolved(item, path, root, files, depth) for name, item in value.items() if name != INCLUDE}
    if INCLUDE not in value:
        return rest
    if depth >= MOST_NESTED:
        raise ValueError(f"files include each other more than {MOST_NESTED} deep")
    named = value[INCLUDE]
    merged: object = {}
    for name in named if isinstance(named, list) else [named]:
        if not isinstance(name, str):
            raise ValueError(f"{INCLUDE} is no file name")
        included = (path.parent / name).resolve()
        if not included.is_relative_to(root.resolve()):
            raise ValueError(f"{INCLUDE} of {name} leads out of {root}")
        files.append(included)
        merged = _merged(merged, _resolved(_parse(included), included, root, files, depth + 1))
    return _merged(merged, rest) if rest else merged


def _merged(older: object, newer: object) -> object:
    """Objects key by key, lists one after the other; of anything else the newer."""
    if isinstance(older, dict) and isinstance(newer, dict):
        return {**older, **{name: _merged(older[name], v) if name in older else v for name, v in newer.items()}}
    if isinstance(older, list) and isinstance(newer, list):
        return [*older, *newer]
    return newer


def _own_variables(config: Mapping[str, object]) -> dict[str, str]:
    """What the configuration's `env` sets: names directly in it, and in `env.vars`."""
    env = config.get("env")
    if not isinstance(env, dict):
        return {}
    own = env.get("vars")
    both = {**env, **(own if isinstance(own, dict) else {})}
    return {name: value for name, value in both.items() if isinstance(value, str)}


def _filled(value: object, env: Mapping[str, str], unset: dict[str, None]) -> object:
    if isinstance(value, dict):
        filled = {name: _filled(item, env, unset) for name, item in value.items()}
        return {name: item for name, item in filled.items() if item is not None or value[name] is None}
    if isinstance(value, list):
        return [item for item in (_filled(item, env, unset) for item in value) if item is not None]
    if not isinstance(value, str) or "${" not in value:
        return value
    missing = [name for escape, name in _REFERENCE.findall(value) if not escape and not env.get(name)]
    unset.update(dict.fromkeys(missing))
    if missing:
        return None
    return _REFERENCE.sub(lambda match: match[0][1:] if match[1] else env[match[2]], value)


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
