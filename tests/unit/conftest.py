"""Fixtures: the command line and MPI libraries, in the directory of a test."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import campaign
from tests.unit.command_line import CommandLine
from tests.unit.record.programs import ENVIRONMENT, Mpi, Recorder, libraries

LIBRARIES = libraries() or [None]


@pytest.fixture
def tisim(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> CommandLine:
    return CommandLine(tmp_path, capsys)


def name_of(library: Mpi | None) -> str:
    return library.name if library else "no MPI"


def installed(library: Mpi | None, monkeypatch: pytest.MonkeyPatch) -> Mpi:
    """Return a library after setting its environment variables."""
    if library is None:
        pytest.skip("no mpicc and mpirun are installed")
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    return library


@pytest.fixture(params=LIBRARIES, ids=name_of)
def mpi(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Mpi:
    """Each MPI library of this machine."""
    return installed(request.param, monkeypatch)


@pytest.fixture(params=LIBRARIES[: campaign(1, len(LIBRARIES))], ids=name_of)
def one_mpi(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Mpi:
    """The first MPI library, all in `make nightly`: for tests that depend little on the library."""
    return installed(request.param, monkeypatch)


@pytest.fixture
def recorder(mpi: Mpi, tmp_path: Path) -> Recorder:
    """A recorder for each MPI library, in the directory of the test."""
    return Recorder(mpi, tmp_path)


@pytest.fixture
def one_recorder(one_mpi: Mpi, tmp_path: Path) -> Recorder:
    """A recorder for the first MPI library."""
    return Recorder(one_mpi, tmp_path)
