"""OpenClaw's command line: what its cron can do, what it has, and what we ask of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from computer import Computer
from total_recall.errors import TotalRecallError
from total_recall.host import openclaw_cli
from total_recall.host.jobs import Call, Job
from total_recall.host.programs import run

OBSERVE = Job("observe", ("observe",), (0, 15, 30, 45))
DREAM = Job("dream", ("dream",), (17,), 3)
CALL = Call(Path("/a b/total-recall"))


@pytest.fixture
def openclaw(tmp_path: Path) -> Computer:
    return Computer.made(tmp_path, "openclaw")


def program(computer: Computer) -> str:
    return str(computer.bin / "openclaw")


def test_only_some_versions_start_commands(openclaw: Computer) -> None:
    assert openclaw_cli.offers_commands(program(openclaw))
    openclaw.behave("old")
    assert not openclaw_cli.offers_commands(program(openclaw))
    assert not openclaw_cli.offers_commands("/nowhere/openclaw")


def test_a_job_is_added_known_again_and_removed(openclaw: Computer) -> None:
    """`--no-deliver`, or each run is recorded as failed. Log lines come before the JSON."""
    path = program(openclaw)
    assert openclaw_cli.add_job(path, OBSERVE, CALL) == (
        path, "cron", "add", "--name", "total-recall-observe", "--every", "15m",
        "--command", '/bin/sh "/a b/total-recall" observe', "--no-deliver", "--json",
    )  # fmt: skip
    for job in (OBSERVE, DREAM):
        assert run(openclaw_cli.add_job(path, job, CALL)).code == 0
    observe, dream = openclaw_cli.jobs(path)
    assert openclaw_cli.is_as_wanted(observe, OBSERVE, CALL) and openclaw_cli.is_as_wanted(dream, DREAM, CALL)
    assert not openclaw_cli.is_as_wanted(observe, DREAM, CALL)
    assert not openclaw_cli.is_as_wanted(observe, OBSERVE, Call(Path("/moved/total-recall")))
    assert run(openclaw_cli.remove_job(path, observe)).code == 0
    assert openclaw_cli.jobs(path) == (dream,)


def test_without_a_gateway_it_says_so(openclaw: Computer) -> None:
    openclaw.behave("no-gateway")
    with pytest.raises(TotalRecallError, match=r"openclaw cron list: gateway closed \(1006\); start the Gateway"):
        openclaw_cli.jobs(program(openclaw))


def test_the_hooks_that_would_load(openclaw: Computer) -> None:
    assert openclaw_cli.hook_names(program(openclaw)) == ("session-memory", "total-recall")
    assert openclaw_cli.hook_names("/nowhere/openclaw") == ()
