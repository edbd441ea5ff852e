"""The hook's switch in `openclaw.json` (openclaw.md section 5): is it on, put it on, take it out again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Literal

from total_recall.host import json_text

HOOK = "total-recall"
COMMAND = f"openclaw hooks enable {HOOK}"
_ENABLED = ("hooks", "internal", "enabled")
_ENTRIES = ("hooks", "internal", "entries")

Switch = Literal["on", "off", "missing"]


def switch(config: Mapping[str, object]) -> Switch:
    """Whether this configuration loads our hook. Versions up to 2026.7.1 need the main switch as well."""
    internal, entries = _at(config, "hooks", "internal"), _at(config, *_ENTRIES)
    entry = entries.get(HOOK)
    if not isinstance(entry, dict):
        return "missing"
    return "on" if entry.get("enabled") is True and internal.get("enabled") is True else "off"


def is_open(config: Mapping[str, object]) -> bool:
    """Whether newer versions load every hook now, and only those that are named once the first is named (2026.9.6)."""
    internal = _at(config, "hooks", "internal")
    folders = _at(config, "hooks", "internal", "load").get("extraDirs")
    return internal.get("enabled") is True and not _at(config, *_ENTRIES) and not folders


def with_hook(content: bytes) -> bytes | None:
    """The file with our hook on and every other byte as it was; None when it is not plain JSON."""
    text = _text(content)
    if text is None:
        return None
    for path in ((*_ENTRIES, HOOK, "enabled"), _ENABLED):
        changed = text if _value(text, path) is True else json_text.with_value(text, path, True)
        if changed is None:
            return None
        text = changed
    return text.encode()


def without_hook(content: bytes, before: bytes | None) -> bytes | None:
    """The file with our hook taken out, and what was made for it alone; None when it is not plain JSON.

    `before` is the file as it was: what it had stays, also when somebody has named other hooks since.
    """
    text, old = _text(content), _text(before or b"{}") or "{}"
    if text is None:
        return None
    entry = (*_ENTRIES, HOOK)
    earlier = _value(old, entry)
    changed = json_text.without(text, entry) if earlier is None else json_text.with_value(text, entry, earlier)
    if changed is None:
        return None
    # The main switch goes back only while no other hook has come to need it.
    if not _others(changed) - _others(old) and _value(text, _ENABLED) is True and before is not None:
        was = _value(old, _ENABLED)
        changed = json_text.without(changed, _ENABLED) if was is None else json_text.with_value(changed, _ENABLED, was)
    for depth in (3, 2, 1):
        path = _ENTRIES[:depth]
        if changed is not None and _value(changed, path) == {} and _value(old, path) is None:
            changed = json_text.without(changed, path)
    return None if changed is None else changed.encode()


def _others(text: str) -> set[str]:
    entries = _value(text, _ENTRIES)
    return set(entries) - {HOOK} if isinstance(entries, dict) else set()


def _value(text: str, path: tuple[str, ...]) -> object:
    """What plain JSON has at a path of keys; None where there is nothing."""
    found: object = json.loads(text)
    for key in path:
        found = found.get(key) if isinstance(found, dict) else None
    return found


def _at(value: object, *keys: str) -> Mapping[str, object]:
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value if isinstance(value, Mapping) else {}


def _text(content: bytes) -> str | None:
    """The text of plain JSON; None for anything else: JSON5, other encodings, an empty file."""
    try:
        text = content.decode("utf-8")
        return text if isinstance(json.loads(text), dict) else None
    except (ValueError, RecursionError):
        return None
