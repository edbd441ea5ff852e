"""Agents of launchd: what stands in their property lists."""

from __future__ import annotations

import plistlib
from pathlib import Path

from total_recall.host import launchd
from total_recall.host.jobs import Call, Job

CALL = Call(Path("/a & b/집/total-recall"), (("MEMORY_DIR", "/m <m>"),))


def test_a_property_list_for_each_job_and_for_the_watcher() -> None:
    jobs = [Job("observe", ("observe",), (0, 30)), Job("summary", ("log", "summary"), (55,), 23)]
    agents = {name: plistlib.loads(text) for name, text in launchd.agents(jobs, CALL, ("watch",)).items()}
    assert list(agents) == [f"ai.total-recall.{name}.plist" for name in ("observe", "summary", "watch")]
    observe, summary, watch = agents.values()
    assert observe["ProgramArguments"] == ["/bin/sh", "/a & b/집/total-recall", "observe"]
    assert observe["EnvironmentVariables"] == {"MEMORY_DIR": "/m <m>"}
    assert observe["StartCalendarInterval"] == [{"Minute": 0}, {"Minute": 30}]
    assert summary["StartCalendarInterval"] == [{"Hour": 23, "Minute": 55}]
    assert summary["ProgramArguments"][2:] == ["log", "summary"]
    assert watch["KeepAlive"] == {"SuccessfulExit": False} and watch["RunAtLoad"]
    assert "StartCalendarInterval" not in watch


def test_without_a_watcher_there_is_none_and_without_variables_no_key_for_them() -> None:
    (text,) = launchd.agents([Job("observe", ("observe",), (0,))], Call(Path("/t")), None).values()
    assert "EnvironmentVariables" not in plistlib.loads(text)
