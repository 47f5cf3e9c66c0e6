"""The run used by the tests of the viewer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import tisim
from tests.support import GRAPHENE, LU
from tests.unit.viewer import viewer as viewers


@pytest.fixture(scope="session")
def run_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """NAS LU on four ranks."""
    if reason := viewers.missing():
        pytest.skip(f"needs the viewer: {reason}")
    path = tmp_path_factory.mktemp("run") / "lu.tir"
    tisim.replay(LU, platform=GRAPHENE, timeline=path)
    return path


@pytest.fixture(scope="session")
def viewer(run_file: Path) -> Iterator[viewers.Viewer]:
    """A viewer of that run."""
    with viewers.viewer(run_file) as running:
        yield running
