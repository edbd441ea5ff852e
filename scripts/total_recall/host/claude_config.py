"""Claude Code's configuration: where it keeps its files, and our hooks in its `settings.json` (documented form)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Literal

from total_recall.errors import TotalRecallError
from total_recall.host import json_text

HOST: Final = "claude-code"
HOOK: Final = ("hook", HOST)
"""The arguments of our command that the host runs."""
EVENTS: Final = ("SessionStart", "PreCompact", "SessionEnd")
HOOK_SECONDS: Final = 15
"""When the host gives a hook up. Ours takes a fraction of a second, and more only while its environment is made."""
DEFAULT_CLEANUP_DAYS: Final = 30
_BOM: Final = "\ufeff"

Switch = Literal["on", "off", "missing"]


def config_dir(env: Mapping[str, str], home: Path) -> Path:
    """`CLAUDE_CONFIG_DIR`, or `~/.claude`."""
    named = env.get("CLAUDE_CONFIG_DIR", "").strip()
    if not named:
        return home / ".claude"
    return home / named[2:] if named.startswith("~/") else Path(named).absolute()


def settings_path(env: Mapping[str, str], home: Path) -> Path:
    """The user's settings."""
    return config_dir(env, home) / "settings.json"


def projects_dir(env: Mapping[str, str], home: Path) -> Path:
    """Where the transcripts are, a folder a project."""
    return config_dir(env, home) / "projects"


def is_set_up(env: Mapping[str, str], home: Path) -> bool:
    """Whether the user's settings name our hook, be they plain JSON or not."""
    try:
        content = settings_path(env, home).read_bytes()
    except OSError:
        return False
    return b"total-recall" in content and " ".join(HOOK).encode() in content


def switch(content: bytes | None, command: str) -> Switch:
    """Whether exactly our hooks are there. Raises TotalRecallError when the content is not plain JSON."""
    settings = _value(_text(content))
    ours = {event: [group for group in _groups(settings, event) if _is_ours(group)] for event in EVENTS}
    if not any(ours.values()):
        return "missing"
    return "on" if all(groups == [_group(command)] for groups in ours.values()) else "off"


def are_off(content: bytes | None) -> bool:
    """Whether the settings switch all hooks off."""
    return _value(_text(content)).get("disableAllHooks") is True


def cleanup_days(content: bytes | None) -> int:
    """After how many days without a change the host deletes a transcript. Raises as `switch` does."""
    days = _value(_text(content)).get("cleanupPeriodDays")
    return days if type(days) is int and days >= 0 else DEFAULT_CLEANUP_DAYS


def with_hooks(content: bytes | None, command: str) -> bytes:
    """The settings with our hooks and every other byte as it was. Raises TotalRecallError: what is in the way.

    `command` is what the host runs. Hooks of ours that run another one are replaced.
    """
    if content is not None and switch(content, command) == "on":
        return content
    text = _without(_text(content)) if content is not None else "{}"
    if not text.strip():
        text = "{}"
    for event in EVENTS:
        changed = json_text.appended(text, ("hooks", event), _group(command))
        if changed is None:
            raise TotalRecallError(f"hooks.{event} is no list in it: correct that, and run setup again")
        text = changed
    return _bytes(text if content else f"{text}\n", content)


def without_hooks(content: bytes, before: bytes | None) -> bytes | None:
    """The settings without our hooks, and without what was made for them alone; None when nothing is left.

    `before` is the file as it was; None when there was none. Raises TotalRecallError when they are not plain JSON.
    """
    text, old = _without(_text(content)), _value(_text(before))
    for event in EVENTS:
        if _hooks(_value(text)).get(event) == [] and event not in _hooks(old):
            text = json_text.without(text, ("hooks", event)) or text
    if _value(text).get("hooks") == {} and "hooks" not in old:
        text = json_text.without(text, ("hooks",)) or text
    if _value(text) == {} and before is None:
        return None
    return _bytes(text, content)


def has_hooks(content: bytes) -> bool:
    """Whether any hook of ours is there. Raises TotalRecallError when the content is not plain JSON."""
    settings = _value(_text(content))
    return any(_is_ours(group) for event in _hooks(settings) for group in _groups(settings, event))


def _without(text: str) -> str:
    """Without our hooks, whatever events they stand at; of a group that holds somebody else's too, only ours go."""
    settings = _value(text)
    for event in _hooks(settings):
        for number, group in reversed(list(enumerate(_groups(settings, event)))):
            if not _is_ours(group):
                continue
            theirs = [hook for hook in group["hooks"] if not _is_our_hook(hook)]
            text = json_text.without_elements(text, ("hooks", event), (number,))
            if theirs:
                text = json_text.appended(text, ("hooks", event), {**group, "hooks": theirs}) or text
    return text


def _group(command: str) -> dict[str, object]:
    return {"hooks": [{"type": "command", "command": command, "timeout": HOOK_SECONDS}]}


def _hooks(settings: Mapping[str, object]) -> dict[str, object]:
    hooks = settings.get("hooks")
    return hooks if isinstance(hooks, dict) else {}


def _groups(settings: Mapping[str, object], event: str) -> Sequence[dict[str, list[object]]]:
    groups = _hooks(settings).get(event)
    return groups if isinstance(groups, list) else []


def _is_ours(group: object) -> bool:
    hooks = group.get("hooks") if isinstance(group, dict) else None
    return isinstance(hooks, list) and any(map(_is_our_hook, hooks))


def _is_our_hook(hook: object) -> bool:
    command = hook.get("command") if isinstance(hook, dict) else None
    return isinstance(command, str) and "total-recall" in command and " ".join(HOOK) in command


def _text(content: bytes | None) -> str:
    """The text of settings that are plain JSON, or empty. Raises TotalRecallError: what is wrong with them."""
    try:
        text = (content or b"").decode("utf-8").removeprefix(_BOM)
        if text.strip() and not isinstance(json.loads(text), dict):
            raise ValueError("no object")
    except (ValueError, RecursionError) as error:
        where = f"line {error.lineno}" if isinstance(error, json.JSONDecodeError) else str(error)
        raise TotalRecallError(
            f"not plain JSON ({where}): comments and trailing commas cannot be kept, so it is left as it is; "
            "take them out and run it again"
        ) from None
    return text


def _value(text: str) -> dict[str, object]:
    value = json.loads(text) if text.strip() else {}
    return value if isinstance(value, dict) else {}


def _bytes(text: str, content: bytes | None) -> bytes:
    return f"{_BOM if (content or b'').startswith(_BOM.encode()) else ''}{text}".encode()
