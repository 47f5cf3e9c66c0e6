"""Functions that came with MPI 4.0: what a trace cannot express of them is named."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.unit.record.programs import Mpi, compile_body, record_program
from tisim.record.table import read_table

FUNCTIONS = """
  MPI_Request request; MPI_Info info = MPI_INFO_NULL; MPI_Comm copy;
  int other = 1 - rank, value = rank, received = -1;
  MPI_Isendrecv(&value, 1, MPI_INT, other, 3, &received, 1, MPI_INT, other, 3, MPI_COMM_WORLD,
                &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(received == other);
  MPI_Bcast_init(&value, 1, MPI_INT, 0, MPI_COMM_WORLD, info, &request);
  for (int i = 0; i < 2; ++i) {
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  MPI_Request_free(&request);
  CHECK(value == 0);
  MPI_Comm_idup_with_info(MPI_COMM_WORLD, info, &copy, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Barrier(copy);
"""
LARGE = """
  double values[4] = {0};
  if (rank == 0) MPI_Send_c(values, (MPI_Count)4, MPI_DOUBLE, 1, 5, MPI_COMM_WORLD);
  if (rank == 1) MPI_Recv_c(values, 4, MPI_DOUBLE, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
"""


def compiled(body: str, directory: Path, mpi: Mpi) -> Path:
    try:
        return compile_body(body, directory, mpi)
    except subprocess.CalledProcessError:
        pytest.skip(f"{mpi.name} does not have these functions")


def test_functions_of_mpi_4(mpi: Mpi, tmp_path: Path, cache: Path) -> None:
    program = compiled(FUNCTIONS, tmp_path, mpi)
    trace = record_program(program, tmp_path, mpi, ranks=2, cache=cache)
    assert "2 calls of MPI_Isendrecv are not in the trace" in trace.run.stderr
    assert "2 calls of MPI_Bcast_init are not in the trace" in trace.run.stderr
    calls = [call for call in trace.calls(1) if not call.startswith("unsupported")]
    assert calls[:2] == ["init", "comm_idup 0 1"]
    assert calls[-2:] == ["barrier comm=1", "finalize"]


def test_functions_with_large_counts(mpi: Mpi, tmp_path: Path, cache: Path) -> None:
    program = compiled(LARGE, tmp_path, mpi)
    trace = record_program(program, tmp_path, mpi, ranks=2, cache=cache)
    assert "1 calls of MPI_Send_c are not in the trace" in trace.run.stderr
    assert "1 calls of MPI_Recv_c are not in the trace" in trace.run.stderr
    assert trace.calls(1) == ["init", "barrier", "finalize"]


def test_variants_that_are_not_listed() -> None:
    functions = {function.name: function for function in read_table()}
    for name in (
        "MPI_Barrier_init",
        "MPI_Neighbor_alltoallw_init",
        "MPI_Reduce_scatter_block_init",
    ):
        assert functions[name].is_counted
    declared = {p.name: p.declaration for p in functions["MPI_Alltoallv_c"].parameters}
    assert declared["sendcounts"] == "const MPI_Count sendcounts[]"
    assert declared["rdispls"] == "const MPI_Aint rdispls[]"
    large = {name for name, function in functions.items() if function.has_large_counts}
    assert {"MPI_Send_c", "MPI_Ibcast_c", "MPI_Scan_init_c", "MPI_Put_c"} <= large
    assert not {"MPI_Waitall_c", "MPI_Barrier_c", "MPI_Psend_init_c"} & large
