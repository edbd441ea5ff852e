"""Files that come with the program: in a checkout or bundle beside `scripts/`, in a wheel inside the package."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from total_recall.errors import PayloadError, StoreError

if TYPE_CHECKING:
    from fastjsonschema import JsonSchemaValueException

_PACKAGE = Path(__file__).resolve().parent


def demo_homes() -> list[Path]:
    """The real transcripts that `demo` shows, one host home each; empty where they are not shipped (bundle, wheel)."""
    fixtures = _PACKAGE.parent.parent / "tests" / "fixtures"
    names = ("openclaw-2026.3.24-jsonl", "openclaw-2026.9.6-sqlite")
    return [fixtures / name for name in names if (fixtures / name / ".openclaw").is_dir()]


def prompt(name: str, workspace: Path) -> str:
    """The text of a prompt: the user's own in `<workspace>/config/total-recall/`, else the one that comes with us.

    Raises StoreError when it cannot be read.
    """
    own = workspace / "config" / "total-recall" / name
    for path in (own, _PACKAGE / "prompts" / name, _PACKAGE.parent.parent / "prompts" / name):
        try:
            return path.read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            continue
        except OSError as error:
            raise StoreError(f"cannot read {path}: {error.strerror}; check its permissions") from error
    raise StoreError(f"{path} is missing; install Total Recall again")


def schema(name: str) -> dict[str, Any]:
    """`schemas/<name>.json`. A workspace cannot replace it: other programs rely on what it promises.

    Raises StoreError when it cannot be read.
    """
    for folder in (_PACKAGE / "schemas", _PACKAGE.parent.parent / "schemas"):
        path = folder / f"{name}.json"
        try:
            read: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            continue
        except (OSError, ValueError) as error:
            raise StoreError(f"cannot read {path}: {error}; install Total Recall again") from error
        return read
    raise StoreError(f"{path} is missing; install Total Recall again")


def check(value: object, name: str) -> None:
    """Compare a JSON value with `schemas/<name>.json`.

    Raises PayloadError: one line with the first field that is wrong and what is expected there.
    """
    from fastjsonschema import JsonSchemaValueException  # only a payload pays for loading it

    try:
        _validator(name)(value)
    except JsonSchemaValueException as wrong:
        raise PayloadError(f"{name}: {_where(wrong)}: {_expected(wrong)}; schemas/{name}.json has all fields") from None


@cache
def _validator(name: str) -> Callable[[object], object]:
    import fastjsonschema

    # The keywords that our schemas use mean the same in 2019-09, the newest draft that the library knows.
    validate: Callable[[object], object] = fastjsonschema.compile(schema(name), use_default=False)
    return validate


def _where(wrong: JsonSchemaValueException) -> str:
    path = "".join(f"[{part}]" if part.isdigit() else f".{part}" for part in wrong.path[1:])
    return path.lstrip(".") or "the whole"


_EXPECTED: Final[Mapping[str, Callable[[Any], str]]] = {
    "type": lambda kind: f"must be of type {kind}",
    "enum": lambda allowed: f"must be one of {', '.join(map(str, allowed))}",
    "format": lambda form: "must be a day that exists, as YYYY-MM-DD" if form == "date" else f"must be a {form}",
    "pattern": lambda _: "must be made of letters, digits, _ and single -",
    "minLength": lambda least: f"must have {least} characters or more",
    "maxLength": lambda most: f"must have {most} characters or fewer",
    "minItems": lambda least: f"must have {least} entries or more",
    "maxItems": lambda most: f"must have {most} entries or fewer",
    "uniqueItems": lambda _: "must not name anything twice",
    "minimum": lambda least: f"must be {least} or more",
    "maximum": lambda most: f"must be {most} or less",
}
"""What a keyword asks for, in words. `pattern` stands for ids only."""


def _expected(wrong: JsonSchemaValueException) -> str:
    rule, asked = wrong.rule, wrong.rule_definition
    given: Mapping[str, object] = wrong.value if isinstance(wrong.value, dict) else {}
    if rule == "required":
        return f"{_names([name for name in asked if name not in given])} is missing"
    if rule == "additionalProperties":
        known = wrong.definition.get("properties", {}) if isinstance(wrong.definition, dict) else {}
        return f"there is no field {_names([name for name in given if name not in known])}"
    if rule in ("anyOf", "oneOf"):
        count = "exactly one" if rule == "oneOf" else "one"
        return f"must have {count} of {_names([name for way in asked for name in way['required']])}"
    return _EXPECTED[rule or ""](asked)


def _names(names: Sequence[str]) -> str:
    return ", ".join(name if len(name) <= 60 else f"{name[:60]}…" for name in names[:5])
