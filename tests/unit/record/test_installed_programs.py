"""Programs of distributions run unmodified under ``tisim record``, and are replayed.

Each skips where it is not installed: HPC Challenge, LAMMPS and mpi4py.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

import tisim
from tests.unit.record.programs import ENVIRONMENT, Mpi, libraries, record_program
from tests.unit.record.programs import replay_on_graphene as replay

_LAMMPS = """\
units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 4 0 4 0 4
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 1.44 87287 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
fix 1 all nve
run 10
"""

_PYTHON = """\
from array import array
from mpi4py import MPI
world = MPI.COMM_WORLD
after, before = (world.rank + 1) % world.size, (world.rank - 1) % world.size
sent, received = array("d", [1.0] * 1000), array("d", [0.0] * 1000)
for _ in range(20):
    MPI.Request.Waitall([world.Isend(sent, after, 3), world.Irecv(received, before, 3)])
    world.Allreduce(MPI.IN_PLACE, sent)
request = world.Irecv(received, before, 9)
request.Cancel()
request.Wait()
"""

# The 43 lines of HPC Challenge's input for a problem of size 64 on a grid of one by two ranks.
_HPCC = ["", "", "HPL.out", "8", "1", "64", "1", "32", "0", "1", "1", "2", "16.0"]
_HPCC += ["1", "2", "1", "4", "1", "2", "1", "1", "1", "1", "1", "0", "2", "64", "0", "0", "1", "8"]
_HPCC += ["", "0", "1200", "0", "40", ""]


def library_of(file: Path) -> Mpi:
    """The MPI library that a program of the distribution was linked with."""
    linked = subprocess.run(["ldd", file], capture_output=True, text=True, check=False).stdout
    suffix = ".mpich" if "mpich" in linked else ".openmpi"
    for mpi in libraries():
        if mpi.suffix == suffix:
            return mpi
    pytest.skip(f"the commands of {file.name}'s MPI library are not installed")


def installed(name: str) -> tuple[Path, Mpi]:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return Path(found), library_of(Path(found))


def test_lammps(tmp_path: Path) -> None:
    program, mpi = installed("lmp")
    (tmp_path / "in.melt").write_text(_LAMMPS)
    options = ("-in", str(tmp_path / "in.melt"), "-log", "none")
    trace = record_program(program, tmp_path, mpi, *options, ranks=4)
    assert any(call.startswith("irecv ") for call in trace.calls(0))
    replay(trace)


def test_mpi4py(tmp_path: Path) -> None:
    python = Path("/usr/bin/python3")
    where = "import mpi4py.MPI; print(mpi4py.MPI.__file__)"
    module = subprocess.run([python, "-c", where], capture_output=True, text=True, check=False,
                            env={**os.environ, **ENVIRONMENT})  # fmt: skip
    if module.returncode != 0:
        pytest.skip("the system's Python has no mpi4py")
    (tmp_path / "ring.py").write_text(_PYTHON)
    mpi = library_of(Path(module.stdout.strip()))
    script = str(tmp_path / "ring.py")
    trace = record_program(python, tmp_path, mpi, script, ranks=3)
    assert sum(call.startswith("isend ") for call in trace.calls(1)) == 20
    assert sum(call.startswith("cancel ") for call in trace.calls(1)) == 1
    replay(trace)


def test_hpcc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It cancels the receives that its random accesses leave over."""
    program, mpi = installed("hpcc")
    (tmp_path / "hpccinf.txt").write_text("\n".join(_HPCC) + "\n")
    monkeypatch.chdir(tmp_path)
    trace = record_program(program, tmp_path, mpi, ranks=2)
    assert "End of HPC Challenge tests." in (tmp_path / "hpccoutf.txt").read_text()
    calls = [call for rank in range(2) for call in trace.calls(rank)]
    assert sum(call.startswith("cancel ") for call in calls) == 8
    assert not any(call.startswith("unsupported") for call in calls)
    result = replay(trace)
    assert isinstance(result, tisim.Result)
