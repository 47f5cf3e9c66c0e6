"""In a recorded run the rank, the instant and the place of a delay are named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.unit.command_line import CommandLine
from tests.unit.record.programs import compile_program, libraries, tisim_record

ROOT = Path(__file__).resolve().parents[3]
# As LU: sweeps over the ranks. In sweep 30, rank 1 computes 10 ms more.
PROGRAM = """
#include <mpi.h>
static volatile double x;
static void work(double seconds) {
  const double begin = MPI_Wtime();
  while (MPI_Wtime() - begin < seconds) x += 1;
}
static void sweep(int rank, int size, int number) {
  double row[64] = {0};
  if (rank > 0) MPI_Recv(row, 64, MPI_DOUBLE, rank - 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  work(1e-5);
  if (number == 30 && rank == 1) work(0.010);
  if (rank + 1 < size) MPI_Send(row, 64, MPI_DOUBLE, rank + 1, 7, MPI_COMM_WORLD);
}
int main(int argc, char **argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 0; i < 60; ++i) {
    sweep(rank, size, i);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
"""


def test_one_long_computation(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mpi = next(iter(libraries()), None)
    if mpi is None:
        pytest.skip("no mpicc and mpirun are installed")
    source = tmp_path / "sweeps.c"
    source.write_text(PROGRAM)
    program = compile_program(source, tmp_path, mpi, "-g")
    ran = tisim_record(
        *("-o", tmp_path / "s.tit", "--call-sites", "--counter", "time", "--speed", "1e9"),
        *("--mpicc", mpi.cc, "--", mpi.run, "-n", "3", program),
    )
    assert ran.returncode == 0, ran.stderr
    platform = str(ROOT / "platforms/graphene.xml")
    tisim = CommandLine(tmp_path, capsys)
    found = str(tmp_path / "found.json")
    shown = tisim(
        *("replay", "--platform", platform, "--speed", "1Gf", "--breakdown"),
        *("--json", found, str(tmp_path / "s.tit")),
    )
    assert shown.status == 0, shown.err
    # Rank, instant, call sites, who waits for it, and what a faster link would change.
    written = json.loads(Path(found).read_text())["breakdown"]
    worst = written["outliers"][0]
    assert worst["rank"] == 1
    # Processor time: less than the 10 ms if the rank was not always running.
    assert worst["seconds"] > 0.001
    assert worst["waiting"] == 2
    table = shown.out.partition("Computations that took far longer")[2].splitlines()
    place = table[2].partition(" between ")[2]
    assert "sweep" in place and place.count("sweeps.c:") >= 2
    assert "lower latency" in shown.out.partition("What better machines could gain")[2]
