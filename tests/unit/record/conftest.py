"""What the tests of the recorder share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.record.programs import Mpi, libraries


@pytest.fixture(params=libraries() or [None], ids=lambda mpi: mpi.name if mpi else "no MPI")
def mpi(request: pytest.FixtureRequest) -> Mpi:
    """Each MPI library of this machine."""
    if request.param is None:
        pytest.skip("no mpicc and mpirun are installed")
    library: Mpi = request.param
    return library


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compiled recorders, which all processes of a test run share."""
    return tmp_path_factory.getbasetemp().parent / "recorders"
