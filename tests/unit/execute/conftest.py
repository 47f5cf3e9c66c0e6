"""What the tests of executions share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.record.programs import ENVIRONMENT, Mpi, libraries


@pytest.fixture(params=libraries() or [None], ids=lambda mpi: mpi.name if mpi else "no MPI")
def mpi(request: pytest.FixtureRequest) -> Mpi:
    """Each MPI library of this machine."""
    if request.param is None:
        pytest.skip("no mpicc and mpirun are installed")
    library: Mpi = request.param
    return library


@pytest.fixture(autouse=True)
def surroundings(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A directory of their own, compiled executors in common, and ranks of root on few cores."""
    monkeypatch.chdir(tmp_path)
    cache = tmp_path_factory.getbasetemp().parent / "executors"
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
