"""What the tests of executions share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.record.conftest import mpi as mpi
from tests.unit.record.conftest import one_mpi as one_mpi
from tests.unit.record.programs import ENVIRONMENT


@pytest.fixture(autouse=True)
def surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A directory of their own, and ranks of root on few cores."""
    monkeypatch.chdir(tmp_path)
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
