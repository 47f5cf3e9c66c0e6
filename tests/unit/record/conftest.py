"""What the tests of the recorder share."""

from __future__ import annotations

import pytest

from tests.campaign import campaign
from tests.unit.record.programs import Mpi, libraries

LIBRARIES = libraries() or [None]


def name_of(library: Mpi | None) -> str:
    return library.name if library else "no MPI"


def installed(library: Mpi | None) -> Mpi:
    if library is None:
        pytest.skip("no mpicc and mpirun are installed")
    return library


@pytest.fixture(params=LIBRARIES, ids=name_of)
def mpi(request: pytest.FixtureRequest) -> Mpi:
    """Each MPI library of this machine."""
    return installed(request.param)


@pytest.fixture(params=LIBRARIES[: campaign(1, len(LIBRARIES))], ids=name_of)
def one_mpi(request: pytest.FixtureRequest) -> Mpi:
    """The first of them, and all in `make nightly`: for what hardly depends on the library."""
    return installed(request.param)
