"""Programs that pause their recording, and that cancel and free requests."""

from __future__ import annotations

from pathlib import Path

from tests.unit.record.programs import (
    Recorder,
    python_with_mpi4py,
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


# Requests made before the pause are completed, cancelled and freed during it.
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


def test_requests_that_end_during_a_pause(recorder: Recorder) -> None:
    trace = recorder.record(REQUESTS)
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


def test_pauses_in_fortran(one_recorder: Recorder, tmp_path: Path) -> None:
    helper = tmp_path / "helper.c"
    helper.write_text(HELPER)
    trace = one_recorder.record(one_recorder.compile(FORTRAN, str(helper)))
    assert trace.calls(0) == ["init", "barrier", "finalize"]


def test_pauses_in_python(one_recorder: Recorder, tmp_path: Path) -> None:
    python = python_with_mpi4py(one_recorder.mpi)
    source = tmp_path / "program.py"
    source.write_text(PYTHON)
    trace = one_recorder.record(python, str(source))
    assert [call for call in trace.calls(0) if call == "barrier"] == ["barrier"]


_CANCELLED = """
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

_CANCELLED_IN_FORTRAN = """
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


def test_only_what_was_cancelled(one_recorder: Recorder) -> None:
    trace = one_recorder.record(_CANCELLED)
    assert trace.calls(0) == [
        *("init", "irecv 1 7 4 request=0", "irecv -555 8 4 request=1", "irecv 1 9 4 request=2"),
        "recv 1 10 4",
        "wait request=0",  # MPI_Request_get_status has reported its completion
        *("cancel request=1", "cancel request=2", "waitall requests=1,2"),
        *("irecv 1 11 4 request=0", "cancel request=0", "waitany requests=0 completed=0"),
        *("irecv 1 12 4 request=0", "request_free request=0", "recv 1 13 4", "finalize"),
    ]
    freed = "request_free request=0"
    assert trace.calls(1) == [
        "init",
        *(call for t in (7, 10, 12, 13) for call in (f"isend 0 {t} 4 request=0", freed)),
        "finalize",
    ]
    replay_on_graphene(trace)


def test_cancelled_in_fortran(one_recorder: Recorder) -> None:
    trace = one_recorder.record(_CANCELLED_IN_FORTRAN, ranks=1)
    assert trace.calls(0) == [
        *("init", "irecv -555 7 4 request=0", "cancel request=0", "wait request=0"),
        *("recv_init 0 8 4 request=0", "request_free request=0", "finalize"),
    ]
    replay_on_graphene(trace)
