"""One running OpenClaw a version, and Total Recall beside it."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator

import pytest

from conversation import GREETING, SCRIPT
from openclaw_host import OpenClaw, tail
from openclaw_versions import VERSIONS, install_root
from scripted_model import ScriptedModel, serving
from total_recall_product import TotalRecall

LATEST = pytest.StashKey[OpenClaw]()
"""The OpenClaw in use, for the report of a failure in any fixture."""


@pytest.fixture(scope="module", params=VERSIONS)
def openclaw(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenClaw]:
    """An installed OpenClaw with a new home and its scripted model; its Gateway is not running yet."""
    version: str = request.param
    installed = install_root() / version
    if not installed.is_dir():
        missing = f"OpenClaw {version} is not in {installed.parent}: run tests/e2e/install, then scripts/test --e2e"
        if "CI" in os.environ:
            pytest.fail(missing)
        pytest.skip(missing)
    home = tmp_path_factory.mktemp(f"openclaw-{version}-")
    with serving(ScriptedModel(SCRIPT, unscripted=GREETING)) as model:
        host = request.config.stash[LATEST] = OpenClaw(version, installed / "node_modules" / ".bin", home, model)
        yield host


@pytest.fixture(scope="module")
def total_recall(openclaw: OpenClaw) -> TotalRecall:
    """Total Recall for that home, not run yet."""
    return TotalRecall(openclaw.home, openclaw.workspace, install_root() / "total-recall")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A test that fails shows the end of the Gateway's log."""
    report = yield
    host = item.config.stash.get(LATEST, None)
    if report.failed and host is not None:
        report.sections.append((f"Gateway log, OpenClaw {host.version}", tail(host.gateway_log)))
    return report
