"""A program pauses its recording: in C, in Fortran and in Python."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.unit.record.programs import (
    Mpi,
    compile_body,
    need_fortran,
    python_with_mpi4py,
    record_program,
    replay_on_graphene,
)

FORTRAN = """\
program pauses
  use mpi
  implicit none
  integer :: error
  external :: record_calls
  call MPI_Init(error)
  call record_calls(0)
  call MPI_Barrier(MPI_COMM_WORLD, error)
  call record_calls(1)
  call MPI_Barrier(MPI_COMM_WORLD, error)
  call MPI_Finalize(error)
end program
"""
HELPER = """\
#include <stddef.h>
extern void tisim_record(int active) __attribute__((weak));
void record_calls_(const int *active) {
  if (tisim_record != NULL) tisim_record(*active);
}
"""
PYTHON = """\
import ctypes

from mpi4py import MPI

record = ctypes.CDLL(None).tisim_record
record(0)
MPI.COMM_WORLD.Barrier()
record(1)
MPI.COMM_WORLD.Barrier()
"""


# Requests of before the pause are completed, cancelled and freed during it.
REQUESTS = """
  MPI_Request request[8], persistent;
  int value[9] = {0}, index, done = 0;
  if (rank == 0) {
    for (int tag = 0; tag < 7; ++tag)
      MPI_Isend(&value[tag], 1, MPI_INT, 1, tag, MPI_COMM_WORLD, &request[tag]);
    MPI_Irecv(&value[7], 1, MPI_INT, 1, 7, MPI_COMM_WORLD, &request[7]);
    MPI_Send_init(&value[8], 1, MPI_INT, 1, 8, MPI_COMM_WORLD, &persistent);
    MPI_Start(&persistent);
  } else {
    for (int tag = 0; tag < 7; ++tag)
      MPI_Recv(&value[tag], 1, MPI_INT, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(&value[8], 1, MPI_INT, 0, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Pcontrol(0);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    MPI_Request_free(&request[0]);
    MPI_Wait(&request[1], MPI_STATUS_IGNORE);
    while (!done) MPI_Test(&request[2], &done, MPI_STATUS_IGNORE);
    MPI_Waitall(2, &request[3], MPI_STATUSES_IGNORE);
    MPI_Waitany(1, &request[5], &index, MPI_STATUS_IGNORE);
    MPI_Waitsome(1, &request[6], &done, &index, MPI_STATUSES_IGNORE);
    MPI_Cancel(&request[7]);
    MPI_Wait(&request[7], MPI_STATUS_IGNORE);
    MPI_Wait(&persistent, MPI_STATUS_IGNORE);
    MPI_Start(&persistent);
    MPI_Wait(&persistent, MPI_STATUS_IGNORE);
  } else {
    MPI_Recv(&value[8], 1, MPI_INT, 0, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Pcontrol(1);
  if (rank == 0) {
    MPI_Isend(&value[0], 1, MPI_INT, 1, 9, MPI_COMM_WORLD, &request[0]);
    MPI_Wait(&request[0], MPI_STATUS_IGNORE);
    MPI_Request_free(&persistent);
  } else {
    MPI_Recv(&value[0], 1, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
"""


def test_requests_that_end_during_a_pause(mpi: Mpi, tmp_path: Path) -> None:
    program = compile_body(REQUESTS, tmp_path, mpi)
    trace = record_program(program, tmp_path, mpi, ranks=2)
    assert trace.calls(0) == [
        "init",
        *(f"isend 1 {tag} 4 request={tag}" for tag in range(7)),
        *("irecv 1 7 4 request=7", "send_init 1 8 4 request=8", "start request=8", "barrier"),
        *("request_free request=0", "wait request=1", "wait request=2", "waitall requests=3,4"),
        *("waitany requests=5 completed=5", "waitsome requests=6 completed=6"),
        *("cancel request=7", "wait request=7", "wait request=8"),
        *("isend 1 9 4 request=0", "wait request=0", "request_free request=8", "finalize"),
    ]
    replay_on_graphene(trace)


def test_pauses_in_fortran(one_mpi: Mpi, tmp_path: Path) -> None:
    need_fortran(one_mpi)
    source = tmp_path / "program.f90"
    source.write_text(FORTRAN)
    program = tmp_path / "program"
    helper = tmp_path / "helper.c"
    helper.write_text(HELPER)
    command = [one_mpi.compiler(source), source, helper, "-o", program]
    subprocess.run(command, check=True, capture_output=True, cwd=tmp_path)
    trace = record_program(program, tmp_path, one_mpi, ranks=2)
    assert trace.calls(0) == ["init", "barrier", "finalize"]


def test_pauses_in_python(one_mpi: Mpi, tmp_path: Path) -> None:
    python = python_with_mpi4py(one_mpi)
    source = tmp_path / "program.py"
    source.write_text(PYTHON)
    trace = record_program(python, tmp_path, one_mpi, str(source), ranks=2)
    assert [call for call in trace.calls(0) if call == "barrier"] == ["barrier"]
