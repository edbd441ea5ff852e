"""Carrying out a plan, and taking back what was changed: every effect of setup and uninstall on files and programs."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from total_recall.commands import setup_record
from total_recall.commands.installation import FileChange, Plan, Run
from total_recall.commands.part_files import HOOK_FILES, LOCATION, without_agents_line
from total_recall.commands.setup_record import CRONTAB, Change, Record, digest, mode_of
from total_recall.errors import TotalRecallError
from total_recall.host import claude_config, crontab, openclaw_hooks, systemd
from total_recall.host.programs import run
from total_recall.state import private_directory

FOLDER_MODE = 0o700


def carry_out(plan: Plan, record: Record, program: str | None) -> Record:
    """Make or mend a part; the record of it is saved before each change. `program` is the crontab command.

    Raises TotalRecallError for the first thing that does not work: what was done until then is recorded.
    """
    for folder in plan.folders:
        private_directory(folder)
    if plan.was_on:
        record = replace(record, was_on=tuple(dict.fromkeys([*record.was_on, *plan.was_on])))
    run_all(plan.stop)
    for file in plan.files:
        record = _changed(file, record, program)
    for target in plan.touches:
        record = _noted(target, record, setup_record.current(target, program), None)
        setup_record.save(record)
    try:
        run_all(plan.start)
    finally:
        for target in plan.touches:
            known = record.change_of(target)
            if known is not None:
                now = digest(setup_record.current(target, program))
                record = record.with_change(replace(known, after=now))
                setup_record.save(record)
    return record


def run_all(runs: Sequence[Run]) -> None:
    """Run one program after the other. Raises TotalRecallError for the first that fails and may not."""
    for each in runs:
        ran = run(each.command)
        if ran.code != 0 and not each.may_fail:
            command = shlex.join([Path(each.command[0]).name, *each.command[1:]])
            raise TotalRecallError(f"`{command}` failed: {ran.said or f'exit code {ran.code}'}")


def _changed(file: FileChange, record: Record, program: str | None) -> Record:
    """Change one file, or the crontab."""
    now = setup_record.current(file.target, program)
    if file.seen and digest(now) != file.seen:
        name = "the crontab" if file.target == CRONTAB else file.target
        raise TotalRecallError(f"{name} was changed at this moment; nothing was done to it, run this again")
    record = _noted(file.target, record, now, file.wanted)
    mode = file.mode
    if file.target != CRONTAB:
        path = Path(file.target)
        there = mode_of(path)
        mode = file.mode if there is None else there
        if file.wanted is not None:
            record = _with_folders(path.parent, record)
    setup_record.save(record)
    setup_record.change(file.target, file.wanted, mode, program)
    return record


def _noted(target: str, record: Record, now: bytes | None, wanted: bytes | None) -> Record:
    """The record with what is there without us, and with what will be there."""
    known = record.change_of(target)
    before = as_before(target, now, known)
    mode = known.mode if known is not None else None if target == CRONTAB or now is None else mode_of(Path(target))
    return record.with_change(Change(target, before, mode, digest(wanted)))


def _with_folders(folder: Path, record: Record) -> Record:
    """Make a folder, for the owner alone; what had to be made goes again with what is in it."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        for path in reversed(missing):
            path.mkdir(mode=FOLDER_MODE)
            record = replace(record, folders=(*record.folders, str(path)))
    except OSError as error:
        raise TotalRecallError(f"cannot make {path}: {error.strerror}; check the folder's owner") from error
    return record


def as_before(target: str, now: bytes | None, known: Change | None) -> bytes | None:
    """What a file, or the crontab, holds without our part: byte for byte as before setup if nobody changed it since.

    Raises TotalRecallError when our part cannot be taken out of what somebody made of it.
    """
    if known is not None and digest(now) == known.after:
        return known.before
    before = known.before if known is not None else None
    left = _without_ours(target, now, known)
    if before is not None and left in (before + b"\n", before + b"\r\n"):
        return before
    return left


def _without_ours(target: str, now: bytes | None, known: Change | None) -> bytes | None:
    before = known.before if known is not None else None
    if now is None:
        return None
    if target == CRONTAB:
        return _crontab_without_ours(now, before)
    if is_ours(Path(target)):
        is_others = known is None and systemd.MADE not in now and Path(target).name == systemd.WATCHER
        return now if is_others else before
    if Path(target).name == ".env":
        return now
    if Path(target).name == "settings.json":
        return _claude_without_ours(target, now, before)
    if Path(target).name == "AGENTS.md":
        return _left(without_agents_line(now), now, before)
    if openclaw_hooks.HOOK.encode() not in now:
        return now
    left = openclaw_hooks.without_hook(now, before)
    if left is None:
        said = f'{target} is not plain JSON: take "{openclaw_hooks.HOOK}" out of hooks.internal.entries by hand'
        raise TotalRecallError(said)
    return left


def _claude_without_ours(target: str, now: bytes, before: bytes | None) -> bytes | None:
    try:
        return claude_config.without_hooks(now, before) if claude_config.has_hooks(now) else now
    except TotalRecallError as error:
        raise TotalRecallError(f"{target} is {error}") from error


def _crontab_without_ours(now: bytes, before: bytes | None) -> bytes | None:
    """With the lines of the bash original again, whose place ours took."""
    left = crontab.without_jobs(now)
    for line in crontab.originals(before or b""):
        if line not in left.split(b"\n"):
            left += (b"" if left.endswith(b"\n") or not left else b"\n") + line + b"\n"
    return _left(left, now, before)


def _left(left: bytes, now: bytes, before: bytes | None) -> bytes | None:
    """What is left of a text; nothing at all if it was made for our part alone."""
    return None if not left and left != now and before is None else left


def is_ours(path: Path) -> bool:
    """Whether the whole of a file is ours, by its name."""
    return path.suffix in (".service", ".timer", ".plist") or path.name in (*HOOK_FILES, LOCATION)


def take_back(target: str, record: Record, program: str | None) -> str | None:
    """Put a file, or the crontab, back; what was done in words, None if there was nothing. Raises TotalRecallError."""
    known = record.change_of(target)
    now = setup_record.current(target, program)
    wanted = as_before(target, now, known)
    if wanted == now:
        return None
    was_edited = known is not None and digest(now) != known.after
    name = "your crontab" if target == CRONTAB else target
    said = f"{name}: {'removed' if wanted is None else 'our part taken out' if was_edited else 'as it was before'}"
    if was_edited and now is not None and target != CRONTAB and is_ours(Path(target)):
        kept = record.own_dir / "removed" / Path(target).name
        private_directory(kept.parent)
        setup_record.put(kept, now, 0o600)
        said += f"; you had changed it, so a copy is in {kept}"
    mode = known.mode if known is not None and known.mode is not None else None
    if mode is None:
        mode = 0o600 if target == CRONTAB else mode_of(Path(target)) or 0o600
    setup_record.change(target, wanted, mode, program)
    return said


def remove_folders(record: Record) -> None:
    """Remove the folders that were made, as far as nothing is in them."""
    for name in reversed(record.folders):
        with suppress(OSError):  # somebody else uses it
            Path(name).rmdir()


def hook_is_ours(folder: Path) -> bool:
    """Whether the hook's folder was made by setup: it says where the program is."""
    content = setup_record.read(folder / LOCATION)
    try:
        return content is not None and "scripts" in json.loads(content)
    except (ValueError, TypeError):
        return False
