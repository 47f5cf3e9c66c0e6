"""Functions of MPI 4.0 are recorded, or reported if a trace cannot express them."""

from __future__ import annotations

from tests.unit.record.programs import (
    Recorder,
    replay_on_graphene,
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


LACKING = "does not have these functions"


def test_functions_of_mpi_4(recorder: Recorder) -> None:
    trace = recorder.record(recorder.compile(FUNCTIONS, or_skip=LACKING))
    assert "warning" not in trace.run.stderr
    bcast = ("ibcast 1 0 1 request=0", "wait request=0")
    assert trace.calls(1)[:9] == [
        *("init", "isend 0 3 4 request=0", "irecv 0 3 4 request=1", "waitall requests=0,1"),
        *(*bcast, *bcast, "comm_idup 0 1"),
    ]
    assert trace.calls(1)[-2:] == ["barrier comm=1", "finalize"]
    replay_on_graphene(trace)


PARTS = """
  MPI_Request requests[2]; double values[8] = {0}; int flag = 0, last = 3;
  if (rank == 0) MPI_Psend_init(values, 4, 2, MPI_DOUBLE, 1, 7, MPI_COMM_WORLD, MPI_INFO_NULL,
                                &requests[0]);
  else MPI_Precv_init(values, 4, 2, MPI_DOUBLE, 0, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
  MPI_Allreduce_init(MPI_IN_PLACE, values, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
                     &requests[1]);
  for (int i = 0; i < 2; ++i) {
    MPI_Startall(2, requests);
    if (rank == 0) {
      MPI_Pready(0, requests[0]);
      MPI_Pready_range(1, 2, requests[0]);
      MPI_Pready_list(1, &last, requests[0]);
    } else {
      do MPI_Parrived(requests[0], 3, &flag); while (!flag);
    }
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  }
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
"""


def test_messages_in_parts(recorder: Recorder) -> None:
    trace = recorder.record(recorder.compile(PARTS, or_skip=LACKING))
    assert "warning" not in trace.run.stderr
    reduction = "iallreduce 1 0 0 request=1"
    # The message is sent once the last partition is ready.
    sent = [reduction, "isend 1 7 64 request=0", "waitall requests=0,1"]
    received = ["irecv 0 7 64 request=0", reduction, "wait request=0", "waitall requests=1"]
    assert trace.calls(0) == ["init", *sent, *sent, "finalize"]
    assert trace.calls(1) == ["init", *received, *received, "finalize"]
    replay_on_graphene(trace)


SESSION = """
#include <mpi.h>
int main(void) {
  MPI_Session session; MPI_Group group; MPI_Comm comm; int rank, value = 0;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "here", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
  MPI_Group_free(&group);
  MPI_Comm_rank(comm, &rank);
  if (rank == 0) MPI_Send(&value, 1, MPI_INT, 1, 3, comm);
  if (rank == 1) MPI_Recv(&value, 1, MPI_INT, 0, 3, comm, MPI_STATUS_IGNORE);
  MPI_Barrier(comm);
  MPI_Comm_free(&comm);
  MPI_Session_finalize(&session);
  return 0;
}
"""


def test_a_program_of_sessions_alone(recorder: Recorder) -> None:
    trace = recorder.record(recorder.compile(SESSION, or_skip="has no sessions"))
    assert "warning" not in trace.run.stderr
    assert trace.calls(1) == [
        *("init", "comm_split 0 1 0 1", "recv 0 3 4 comm=1", "barrier comm=1", "comm_free 1"),
        "finalize",
    ]
    replay_on_graphene(trace)


def test_functions_with_large_counts(recorder: Recorder) -> None:
    trace = recorder.record(recorder.compile(LARGE, or_skip=LACKING))
    made = ["win_allocate 0 8", "win_free 0"]
    assert trace.calls(1) == ["init", "recv 0 5 32", "allgatherv 3 1 3 0 0", *made, "finalize"]


def test_large_counts_in_fortran(recorder: Recorder) -> None:
    trace = recorder.record(recorder.compile(FORTRAN, or_skip=LACKING))
    assert trace.calls(1) == [
        *("init", "irecv 0 5 32 request=0", "wait request=0"),
        *("allgatherv 3 1 3 0 0", "finalize"),
    ]


def test_variants_that_are_not_listed() -> None:
    functions = {function.name: function for function in read_table()}
    assert not functions["MPI_Neighbor_alltoallw_init"].is_counted
    assert not functions["MPI_Barrier_init"].is_counted
    declared = {p.name: p.declaration for p in functions["MPI_Alltoallv_c"].parameters}
    assert declared["sendcounts"] == "const MPI_Count sendcounts[]"
    assert declared["rdispls"] == "const MPI_Aint rdispls[]"
    large = {name for name, function in functions.items() if function.has_large_counts}
    assert {"MPI_Send_c", "MPI_Ibcast_c", "MPI_Scan_init_c", "MPI_Put_c"} <= large
    assert "MPI_File_write_c" in large
    counted = {name for name in large if functions[name].is_counted}
    assert (
        not {"MPI_Put_c", "MPI_Scan_init_c", "MPI_Send_c", "MPI_Ibcast_c", "MPI_File_write_c"}
        & counted
    )
    assert not {"MPI_Waitall_c", "MPI_Barrier_c", "MPI_Psend_init_c"} & large
