"""sd_notify against a real socket, as systemd binds it."""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from total_recall.host import sd_notify
from total_recall.host.sd_notify import Supervisor, supervisor


@contextmanager
def manager(address: str) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind("\0" + address[1:] if address.startswith("@") else address)
        listening.settimeout(5)
        yield listening


@pytest.fixture
def folder() -> Iterator[Path]:
    """A short path: the name of a socket has 107 bytes at most."""
    with tempfile.TemporaryDirectory(prefix="tr-") as name:
        yield Path(name)


@pytest.mark.parametrize("kind", ["path", "abstract"])
def test_what_is_told_arrives_in_one_datagram(folder: Path, kind: str) -> None:
    address = f"{folder}/notify" if kind == "path" else f"@total-recall-test-{os.getpid()}"
    with manager(address) as listening:
        assert Supervisor(address).tell(sd_notify.READY, sd_notify.status("watching\n2 stores"))
        assert listening.recv(4096) == b"READY=1\nSTATUS=watching 2 stores"


def test_a_manager_that_is_gone_or_does_not_listen_stops_nobody(folder: Path) -> None:
    assert not Supervisor().tell(sd_notify.READY)
    assert not Supervisor(f"{folder}/gone").tell(sd_notify.READY)
    with manager(f"{folder}/full"):
        full = Supervisor(f"{folder}/full")
        assert not all(full.tell(sd_notify.ALIVE) for _ in range(10_000))


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({}, Supervisor()),
        ({"NOTIFY_SOCKET": ""}, Supervisor()),
        ({"NOTIFY_SOCKET": "vsock:2:1234"}, Supervisor()),
        ({"NOTIFY_SOCKET": "/run/n"}, Supervisor("/run/n")),
        ({"NOTIFY_SOCKET": "@n", "WATCHDOG_USEC": "60000000"}, Supervisor("@n", 30.0)),
        ({"NOTIFY_SOCKET": "@n", "WATCHDOG_USEC": "60000000", "WATCHDOG_PID": "7"}, Supervisor("@n", 30.0)),
        ({"NOTIFY_SOCKET": "@n", "WATCHDOG_USEC": "60000000", "WATCHDOG_PID": "8"}, Supervisor("@n")),
        ({"NOTIFY_SOCKET": "@n", "WATCHDOG_USEC": "0"}, Supervisor("@n")),
        ({"NOTIFY_SOCKET": "@n", "WATCHDOG_USEC": "soon"}, Supervisor("@n")),
        ({"WATCHDOG_USEC": "60000000"}, Supervisor()),
    ],
)
def test_the_environment_says_who_is_told_and_how_often(env: dict[str, str], expected: Supervisor) -> None:
    assert supervisor(env, pid=7) == expected


def test_a_reload_carries_the_time_that_systemd_compares() -> None:
    before, line = sd_notify.reloading()
    assert before == "RELOADING=1"
    name, _, stamp = line.partition("=")
    assert name == "MONOTONIC_USEC" and stamp.isdecimal()
