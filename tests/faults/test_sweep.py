"""A share of all the faults there are; `python tests/faults/everything.py` tries the whole of them."""

from __future__ import annotations

import os

import pytest

from points import why_not
from scenes import SCENES, Scene
from sweep import sweep

SHARE = int(os.environ.get("TOTAL_RECALL_FAULTS", "30"))
"""How many a scene."""


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)
def test_no_fault_loses_anything(scene: Scene) -> None:
    if reason := why_not():
        pytest.skip(reason)
    swept = sweep(scene, SHARE, workers=1)
    assert swept.tried == min(SHARE, swept.known)
    assert swept.failures == ()
