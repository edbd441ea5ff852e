"""Damaged input for every reader. TOTAL_RECALL_FUZZ=20000 tries so many for each; the usual run only a few."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, given, settings

from mutations import damaged, seeds_of
from targets import TARGETS

EXECUTIONS = int(os.environ.get("TOTAL_RECALL_FUZZ", "60"))


@pytest.mark.parametrize("target", TARGETS)
def test_seeds(target: str) -> None:
    for content in seeds_of(target):
        TARGETS[target](content)


@pytest.mark.parametrize("target", TARGETS)
def test_damaged(target: str) -> None:
    @settings(max_examples=EXECUTIONS, deadline=None, suppress_health_check=list(HealthCheck))
    @given(damaged(target))
    def run(content: bytes) -> None:
        TARGETS[target](content)

    run()
