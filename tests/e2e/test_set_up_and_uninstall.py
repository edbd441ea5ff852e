"""Set up and taken out again, on the real OpenClaw of both generations and with a real cron."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from installed_skill import Installed, Snapshot, install, with_shared_environments
from openclaw_host import OpenClaw
from openclaw_versions import install_root
from total_recall_product import TotalRecall

pytestmark = pytest.mark.e2e

CRON_WORLD = Path(__file__).parent / "cron_world.sh"


@pytest.fixture
def installed(openclaw: OpenClaw, tmp_path: Path) -> Installed:
    """The skill in a new home, with a space in its path, where no Gateway has run."""
    home = tmp_path / "a home"
    home.mkdir()
    shared = install_root() / "total-recall"
    host = with_shared_environments(OpenClaw(openclaw.version, openclaw.bin, home, openclaw.model), shared)
    return install(host, TotalRecall(home, host.workspace, shared), tmp_path / "dist")


def test_after_uninstall_every_file_is_as_it_was(installed: Installed) -> None:
    """The hook's folder, openclaw.json, AGENTS.md and whatever else setup touches, byte for byte."""
    before = Snapshot.of(installed.host)
    installed.command("setup", "--yes", "--scheduler", "none", "--agents-md")
    assert Snapshot.of(installed.host) != before
    installed.command("uninstall", "--yes")
    assert Snapshot.of(installed.host) == before


def test_a_real_cron_starts_the_observer(installed: Installed) -> None:
    """Debian's own, in a mount namespace of its own, so that no crontab of this machine is touched.

    The crontab that setup writes is run each minute instead of at its times; uninstall puts back what was there.
    """
    if os.geteuid() != 0 or sys.platform != "linux" or shutil.which("unshare") is None:
        pytest.skip("needs Linux and root, for a mount namespace in which cron runs")
    cron = install_root() / "cron"
    if not cron.is_dir():
        missing = f"no cron in {cron}: tests/e2e/install gets it"
        if "CI" in os.environ:
            pytest.fail(missing)
        pytest.skip(missing)
    host = installed.host
    (host.state / "agents" / "main" / "sessions").mkdir(parents=True)
    done = subprocess.run(
        ["unshare", "-m", "/bin/sh", str(CRON_WORLD), str(cron), str(installed.skill), str(host.home)],
        env=host.environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert (host.workspace / "memory" / ".observer-last-run").exists()
