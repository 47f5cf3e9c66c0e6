"""Measured GPU data, which are not part of the checkout."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture
def gpu_data(root: Path) -> Path:
    """``$TISIM_GPU_DATA``, or ``shared/ai`` next to the checkout or to its parent."""
    named = os.environ.get("TISIM_GPU_DATA")
    places = [Path(named)] if named else [up / "shared" / "ai" for up in list(root.parents)[:2]]
    for place in places:
        if place.is_dir():
            return place
    pytest.skip("no measured data of GPUs; TISIM_GPU_DATA names a directory that has them")
