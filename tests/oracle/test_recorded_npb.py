"""NAS benchmarks: what `tisim record` writes is what SimGrid's own tracer writes.

`TISIM_NPB=.../NPB3.3-MPI` names the sources of the MPI version 3.3.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.oracle import npb
from tests.unit.record.programs import ENVIRONMENT, libraries, record_program

ROOT = Path(__file__).resolve().parents[2]
BACKBONE = ROOT / "platforms" / "backbone"
RANKS = 4
BENCHMARKS = ["lu", "cg", "mg", "ft", "is", "bt", "sp", "ep"]

pytestmark = [
    pytest.mark.oracle,
    pytest.mark.skipif(npb.sources() is None, reason="TISIM_NPB names no sources"),
    pytest.mark.skipif(not libraries(), reason="no mpicc and mpirun are installed"),
]


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.getbasetemp().parent / "recorders"


def traced_by_simgrid(name: str, directory: Path) -> list[list[str]]:
    directory.mkdir()
    program = npb.build(
        name, RANKS, directory, c="smpicc", fortran="smpiff", environment=os.environ
    )
    command = [
        *("smpirun", "-np", str(RANKS), "-platform", f"{BACKBONE}.xml"),
        *("-hostfile", f"{BACKBONE}.hosts", "-trace-ti", "--cfg=tracing/filename:t.trace"),
        *("--cfg=smpi/host-speed:1e9", "--log=root.thres:error", str(program)),
    ]
    subprocess.run(command, cwd=directory, check=True, capture_output=True, timeout=600)
    texts = [file.read_text() for file in (directory / "t.trace_files").iterdir()]
    ranks = [[line for line in text.splitlines() if line[:1].isdigit()] for text in texts]
    return sorted(ranks, key=lambda lines: int(lines[0].split()[0]))


@pytest.mark.parametrize("name", BENCHMARKS)
def test_calls_are_those_of_simgrid(name: str, tmp_path: Path, cache: Path) -> None:
    mpi = libraries()[0]
    counting = {
        **os.environ,
        **ENVIRONMENT,
        "TISIM_CC": mpi.cc,
        "TISIM_FC": mpi.compiler(Path("a.f")),
        "XDG_CACHE_HOME": str(cache),
    }
    tisim = f"{sys.executable} -m tisim"
    mine = tmp_path / "mine"
    mine.mkdir()
    program = npb.build(
        name, RANKS, mine, c=f"{tisim} cc", fortran=f"{tisim} fc", environment=counting
    )
    first = record_program(program, mine, mpi, ranks=RANKS, cache=cache)
    second = record_program(program, mine, mpi, ranks=RANKS, cache=cache)
    assert first.lines == second.lines  # the volumes too
    for recorded, simgrid in zip(
        first.lines, traced_by_simgrid(name, tmp_path / "simgrid"), strict=True
    ):
        assert npb.normalised(recorded) == npb.normalised(simgrid)
