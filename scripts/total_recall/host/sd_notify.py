"""What a service manager is told: that a daemon is ready, alive, reloading or about to stop (sd_notify(3)).

Without a manager, which is the usual case in a terminal, nothing is sent.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass

READY = "READY=1"
ALIVE = "WATCHDOG=1"
STOPPING = "STOPPING=1"


@dataclass(frozen=True, slots=True)
class Supervisor:
    """The manager of this process. `address` is "" when there is none; `alive_seconds` is None when it does not ask.

    A process that is silent for twice `alive_seconds` is taken for hung.
    """

    address: str = ""
    alive_seconds: float | None = None

    def tell(self, *lines: str) -> bool:
        """Send assignments such as `READY=1`; whether they were taken. A manager that is gone stops nobody."""
        if not self.address:
            return False
        # A name that begins with "@" stands for one in the kernel's own, which begins with a NUL byte.
        address = "\0" + self.address[1:] if self.address.startswith("@") else self.address
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
                channel.setblocking(False)
                channel.sendto("\n".join(lines).encode("utf-8", "replace"), address)
        except OSError:
            return False
        return True


def supervisor(env: Mapping[str, str], pid: int | None = None) -> Supervisor:
    """The manager that `NOTIFY_SOCKET` names in an environment, and how often `WATCHDOG_USEC` wants a sign of life."""
    address = env.get("NOTIFY_SOCKET", "")
    if not address.startswith(("/", "@")):
        return Supervisor()
    asked = env.get("WATCHDOG_USEC", "")
    meant = env.get("WATCHDOG_PID", "") in ("", str(os.getpid() if pid is None else pid))
    if not (meant and asked.isdecimal() and int(asked) > 0):
        return Supervisor(address)
    return Supervisor(address, int(asked) / 1_000_000 / 2)


def status(text: str) -> str:
    """The line that `systemctl status` shows."""
    return f"STATUS={' '.join(text.split())}"


def reloading() -> tuple[str, ...]:
    """Settings are read again; `READY` says when that is done."""
    return "RELOADING=1", f"MONOTONIC_USEC={time.monotonic_ns() // 1000}"
