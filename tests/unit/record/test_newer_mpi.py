"""Functions that came with MPI 4.0 are recorded, or named where a trace cannot express them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.unit.record.programs import (
    Mpi,
    compile_body,
    compile_program,
    need_fortran,
    record_program,
)
from tisim.traces.record.table import read_table

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
  double values[8] = {0};
  MPI_Count counts[2] = {1, 3}; MPI_Aint places[2] = {0, 1};
  if (rank == 0) MPI_Send_c(values, (MPI_Count)4, MPI_DOUBLE, 1, 5, MPI_COMM_WORLD);
  if (rank == 1) MPI_Recv_c(values, 4, MPI_DOUBLE, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Allgatherv_c(MPI_IN_PLACE, 0, MPI_DOUBLE, values, counts, places, MPI_DOUBLE,
                   MPI_COMM_WORLD);
  MPI_Aint bytes = 8; void *base; MPI_Win window;
  MPI_Win_allocate_c(bytes, bytes, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window);
  MPI_Win_free(&window);
"""
FORTRAN = """
program large
  use mpi_f08
  implicit none
  integer :: rank
  integer(kind=MPI_COUNT_KIND) :: count, counts(2)
  integer(kind=MPI_ADDRESS_KIND) :: places(2)
  double precision :: values(8)
  type(MPI_Request) :: request
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  count = 4
  values = rank
  if (rank == 0) call MPI_Send(values, count, MPI_DOUBLE_PRECISION, 1, 5, MPI_COMM_WORLD)
  if (rank == 1) then
    call MPI_Irecv(values, count, MPI_DOUBLE_PRECISION, 0, 5, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
  end if
  counts = (/ 1, 3 /)
  places = (/ 0, 1 /)
  call MPI_Allgatherv(MPI_IN_PLACE, count, MPI_DOUBLE_PRECISION, values, counts, places, &
                      MPI_DOUBLE_PRECISION, MPI_COMM_WORLD)
  call MPI_Finalize()
end program
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
    made = ["win_allocate 0 8", "win_free 0"]
    assert trace.calls(1) == ["init", "recv 0 5 32", "allgatherv 3 1 3 0 0", *made, "finalize"]


def test_large_counts_in_fortran(mpi: Mpi, tmp_path: Path, cache: Path) -> None:
    need_fortran(mpi)
    source = tmp_path / "large.f90"
    source.write_text(FORTRAN)
    try:
        program = compile_program(source, tmp_path, mpi)
    except subprocess.CalledProcessError:
        pytest.skip(f"{mpi.name} does not have these functions")
    trace = record_program(program, tmp_path, mpi, ranks=2, cache=cache)
    assert trace.calls(1) == [
        *("init", "irecv 0 5 32 request=0", "wait request=0"),
        *("allgatherv 3 1 3 0 0", "finalize"),
    ]


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
    assert "MPI_File_write_c" in large
    counted = {name for name in large if functions[name].is_counted}
    assert "MPI_Scan_init_c" in counted
    assert not {"MPI_Put_c", "MPI_Send_c", "MPI_Ibcast_c", "MPI_File_write_c"} & counted
    assert not {"MPI_Waitall_c", "MPI_Barrier_c", "MPI_Psend_init_c"} & large
