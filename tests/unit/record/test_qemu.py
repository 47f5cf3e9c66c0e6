"""The counter `qemu` counts what programs that count themselves have counted."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.record.programs import (
    ENVIRONMENT,
    Mpi,
    Trace,
    compile_program,
    record_program,
    tisim_record,
)
from tisim.traces.record.launch import emulated

EMULATED = pytest.mark.skipif(
    platform.machine() != "x86_64" or shutil.which("qemu-x86_64") is None,
    reason="qemu-x86_64 is needed",
)

# No library inside a region; `rep movsb` counts once however long it is.
PROGRAM = """
#include <mpi.h>
static double field[5000];
static char from[100000], to[100000];
static double sweep(int turns) {
  double sum = 0;
  for (int t = 0; t < turns; ++t)
    for (int i = 0; i < 5000; ++i) { field[i] = 0.5 * field[i] + t % 3; sum += field[i]; }
  return sum;
}
static void copy(long count) {
  void *target = to;
  const void *source = from;
  __asm__ volatile("rep movsb" : "+D"(target), "+S"(source), "+c"(count) : : "memory");
}
int main(int argc, char **argv) {
  int rank;
  double sum = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int step = 1; step < 5; ++step) {
    sum += sweep(step * (1 + rank));
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < step; ++i) copy(1000 * step);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return sum < 0;
}
"""


def volumes(trace: Trace, rank: int) -> list[str]:
    """The computations between the first barrier and the last."""
    lines = [line for line in trace.lines[rank] if not line.startswith("#")]
    barriers = [i for i, line in enumerate(lines) if line.endswith(" barrier")]
    return [line for line in lines[barriers[0] : barriers[-1]] if " compute " in line]


@EMULATED
def test_qemu_counts_what_the_register_counts(one_mpi: Mpi, tmp_path: Path) -> None:
    source = tmp_path / "program.c"
    source.write_text(PROGRAM)
    program = tmp_path / "program"
    subprocess.run(
        [sys.executable, "-m", "tisim", "cc", "-O1", source, "-o", program],
        check=True,
        env={**os.environ, **ENVIRONMENT, "TISIM_CC": one_mpi.cc},
    )
    traces = [
        record_program(program, tmp_path, one_mpi, ranks=2, options=("--counter", counter))
        for counter in ("register", "qemu", "qemu")
    ]
    for rank in range(2):
        counted = volumes(traces[0], rank)
        assert len(counted) == 8
        assert volumes(traces[1], rank) == counted
        assert volumes(traces[2], rank) == counted
    assert "counter: qemu, instructions of all code" in traces[1].run.stderr
    assert not [*Path("/dev/shm").glob("trace.tit.parts-*")]


def test_programs_are_found_in_the_path() -> None:
    """QEMU does not look for them there."""
    words = emulated(
        ["mpirun", "-n", "2", "sh", "-c", "a", ":", "-n", "1", "/bin/sh"], ["qemu", "-x"]
    )
    both = ["qemu", "-x", shutil.which("sh"), "-c", "a", ":", "-n", "1", "qemu", "-x", "/bin/sh"]
    assert words == ["mpirun", "-n", "2", *both]


@EMULATED
def test_qemu_counts_unmodified_programs(one_mpi: Mpi, tmp_path: Path) -> None:
    source = tmp_path / "program.c"
    source.write_text(PROGRAM)
    program = compile_program(source, tmp_path, one_mpi)
    trace = record_program(program, tmp_path, one_mpi, ranks=2, options=("--counter", "qemu"))
    # The inner loop has a few instructions for each of the 5,000 points.
    first = int(volumes(trace, 0)[0].split()[2])
    assert 5 * 5000 < first < 20 * 5000


def test_no_qemu(one_mpi: Mpi, tmp_path: Path) -> None:
    """All commands of this machine are there, but for those of QEMU."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for place in os.get_exec_path():
        for command in Path(place).glob("*"):
            if not command.name.startswith("qemu") and not (folder / command.name).is_symlink():
                (folder / command.name).symlink_to(command)
    run = tisim_record(
        *("-o", tmp_path / "a.tit", "--counter", "qemu", "--mpicc", shutil.which(one_mpi.cc) or ""),
        *("--", shutil.which(one_mpi.run) or "", "-n", "2", "/bin/true"),
        variables={"PATH": str(folder)},
    )
    assert run.returncode == 2
    assert "under qemu-x86_64, which is not installed here" in run.stderr
