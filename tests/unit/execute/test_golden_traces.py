"""The traces of the golden tests that are MPI programs run to their ends on a real MPI.

MPICH's ranks spin: on machines with few cores 16 of them take minutes, and `TISIM_SLOW=1` runs
them.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.unit.record.programs import Mpi
from tisim.studies.execute import execute
from tisim.traces import Trace

ROOT = Path(__file__).resolve().parents[3]
CASES = sorted((ROOT / "tests" / "golden" / "cases").glob("*/trace.txt"))
NPB = ROOT / "traces" / "npb.S.tar.xz"
FEW_RANKS = ["lu.S.4", "dt.S.BH"]
MANY_RANKS = ["cg.S.16", "ep.S.16", "ft.S.16", "is.S.16", "mg.S.16"]


def run_to_the_end(source: object, mpi: Mpi) -> None:
    trace = Trace.open(str(source))
    done = execute(
        trace, [mpi.run], repeat=1, warm_up=0, compute="none", compiler=mpi.cc, time_limit=500
    )
    assert [len(one.ends) for one in done.repetitions] == [trace.ranks]
    assert all(end > 0 for end in done.repetitions[0].ends)
    assert done.clock_error == 0


@pytest.mark.parametrize("file", CASES, ids=lambda file: file.parent.name)
def test_small_cases(file: Path, mpi: Mpi) -> None:
    run_to_the_end(file, mpi)


@pytest.mark.parametrize("name", FEW_RANKS)
def test_few_ranks(name: str, mpi: Mpi) -> None:
    run_to_the_end(NPB / name, mpi)


@pytest.mark.parametrize("name", MANY_RANKS)
def test_many_ranks(name: str, mpi: Mpi) -> None:
    if mpi.name == "MPICH" and not os.environ.get("TISIM_SLOW"):
        pytest.skip("16 spinning ranks take minutes; TISIM_SLOW=1 runs them")
    run_to_the_end(NPB / name, mpi)


@pytest.mark.parametrize("name", ["lu.A.8", "is.A.32", "cg.A.64", "mg.A.64"])
def test_class_a(name: str, mpi: Mpi) -> None:
    if not os.environ.get("TISIM_SLOW"):
        pytest.skip("class A takes minutes; TISIM_SLOW=1 runs it")
    if mpi.name == "MPICH" and name != "lu.A.8":
        pytest.skip("more than 16 spinning ranks")
    run_to_the_end(ROOT / "traces" / f"{name}.tar.xz", mpi)
