"""What of MPI_Cancel and MPI_Request_free a recorded trace says."""

from __future__ import annotations

from pathlib import Path

from tests.unit.record.programs import (
    Mpi,
    compile_body,
    compile_program,
    need_fortran,
    record_program,
    replay_on_graphene,
)

_BODY = """
  MPI_Request request[3];
  MPI_Status status[3];
  int value[4], flag, index;
  if (rank == 0) {
    MPI_Irecv(&value[0], 1, MPI_INT, 1, 7, MPI_COMM_WORLD, &request[0]);
    MPI_Irecv(&value[1], 1, MPI_INT, MPI_ANY_SOURCE, 8, MPI_COMM_WORLD, &request[1]);
    MPI_Irecv(&value[2], 1, MPI_INT, 1, 9, MPI_COMM_WORLD, &request[2]);
    MPI_Recv(&value[3], 1, MPI_INT, 1, 10, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (flag = 0; !flag;)
      MPI_Request_get_status(request[0], &flag, MPI_STATUS_IGNORE);
    for (int i = 0; i < 3; ++i) MPI_Cancel(&request[i]);
    MPI_Waitall(3, request, status);
    for (int i = 0; i < 3; ++i) {
      MPI_Test_cancelled(&status[i], &flag);
      CHECK(flag == (i > 0));
    }
    MPI_Irecv(&value[0], 1, MPI_INT, 1, 11, MPI_COMM_WORLD, &request[0]);
    MPI_Cancel(&request[0]);
    MPI_Waitany(1, request, &index, MPI_STATUS_IGNORE);
    MPI_Irecv(&value[0], 1, MPI_INT, 1, 12, MPI_COMM_WORLD, &request[0]);
    MPI_Request_free(&request[0]);
    MPI_Recv(&value[3], 1, MPI_INT, 1, 13, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else {
    static const int tags[] = {7, 10, 12, 13};
    for (int i = 0; i < 4; ++i) {
      MPI_Isend(&rank, 1, MPI_INT, 0, tags[i], MPI_COMM_WORLD, &request[0]);
      MPI_Request_free(&request[0]);
    }
  }
"""

_FORTRAN = """
program cancelled
  use mpi
  implicit none
  integer :: value, request, error
  call MPI_Init(error)
  call MPI_Irecv(value, 1, MPI_INTEGER, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, request, error)
  call MPI_Cancel(request, error)
  call MPI_Wait(request, MPI_STATUS_IGNORE, error)
  call MPI_Recv_init(value, 1, MPI_INTEGER, 0, 8, MPI_COMM_WORLD, request, error)
  call MPI_Request_free(request, error)
  call MPI_Finalize(error)
end program
"""


def test_only_what_was_cancelled(one_mpi: Mpi, tmp_path: Path) -> None:
    program = compile_body(_BODY, tmp_path, one_mpi)
    trace = record_program(program, tmp_path, one_mpi, ranks=2)
    assert trace.calls(0) == [
        "init",
        "irecv 1 7 4 request=0",
        "irecv -555 8 4 request=1",
        "irecv 1 9 4 request=2",
        "recv 1 10 4",
        "wait request=0",  # MPI_Request_get_status has seen it complete
        "cancel request=1",
        "cancel request=2",
        "waitall requests=1,2",
        "irecv 1 11 4 request=0",
        "cancel request=0",
        "waitany requests=0 completed=0",
        "irecv 1 12 4 request=0",
        "request_free request=0",
        "recv 1 13 4",
        "finalize",
    ]
    assert trace.calls(1) == [
        "init",
        *(
            line
            for tag in (7, 10, 12, 13)
            for line in (f"isend 0 {tag} 4 request=0", "request_free request=0")
        ),
        "finalize",
    ]
    replay_on_graphene(trace)


def test_in_fortran(one_mpi: Mpi, tmp_path: Path) -> None:
    need_fortran(one_mpi)
    source = tmp_path / "program.f90"
    source.write_text(_FORTRAN)
    program = compile_program(source, tmp_path, one_mpi)
    trace = record_program(program, tmp_path, one_mpi, ranks=1)
    assert trace.calls(0) == [
        "init",
        "irecv -555 7 4 request=0",
        "cancel request=0",
        "wait request=0",
        "recv_init 0 8 4 request=0",
        "request_free request=0",
        "finalize",
    ]
    replay_on_graphene(trace)
