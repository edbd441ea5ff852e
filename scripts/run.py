"""Runs a command: the folder's own package, with the environment's Python (started by total-recall or bootstrap.py)."""

from __future__ import annotations

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def main() -> int:
    """The exit code of the command in `sys.argv`. Nothing is imported that an idle run does not need."""
    environment = os.path.basename(sys.prefix)
    if environment.startswith("env-"):
        if not environment.endswith("-{}.{}".format(*sys.version_info[:2])):
            # The system's Python was upgraded under it, so its packages are out of reach: bootstrap.py makes a new one.
            os.execv(sys.executable, [sys.executable, "-I", os.path.join(HERE, "bootstrap.py"), *sys.argv[1:]])
        mark_as_used(sys.prefix)

    sys.path.insert(0, HERE)
    if sys.argv[1:2] == ["hook"]:
        from total_recall import hook

        return hook.main(sys.argv[2:], os.environ.get("HOME", ""))
    from total_recall import gate

    if gate.nothing_new(sys.argv[1:]):
        return 0
    from total_recall.cli import main as command_line

    return command_line()


def mark_as_used(environment: str) -> None:
    """Sets the folder's time, by which bootstrap.py tells an environment in use from a forgotten one."""
    try:  # noqa: SIM105 - contextlib would cost an idle run a millisecond
        os.utime(environment)
    except OSError:
        pass  # it belongs to somebody else, who does their own cleaning up


if __name__ == "__main__":
    raise SystemExit(main())
