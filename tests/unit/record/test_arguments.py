"""With --arguments all a trace keeps each call of MPI with all its arguments."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.record.programs import (
    Mpi,
    compile_body,
    compile_program,
    need_fortran,
    record_program,
    tisim_record,
)

BODY = """MPI_Comm ring; MPI_Info info; MPI_Datatype column, places; MPI_Status status, both[2];
int dims = 2, periodic = 1, displacements[] = {0, 5}, counts[] = {1, 2}, back[] = {2, 1};
int zeros[] = {0, 0};
MPI_Request requests[2]; double matrix[8][8] = {{0}}, other[8]; int sum[2];
MPI_Cart_create(MPI_COMM_WORLD, 1, &dims, &periodic, 0, &ring);
MPI_Info_create(&info); MPI_Info_set(info, "kind", "of hint");
MPI_Comm copy; MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &copy);
MPI_Type_vector(8, 1, 8, MPI_DOUBLE, &column); MPI_Type_commit(&column);
MPI_Type_create_indexed_block(2, 1, displacements, column, &places); MPI_Type_commit(&places);
for (int i = 0; i < 3; ++i) {
  MPI_Irecv(other, 8, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, copy, &requests[0]);
  MPI_Isend(&matrix[0][1], 1, column, 1 - rank, 7, copy, &requests[1]);
  MPI_Waitall(2, requests, both);
}
MPI_Sendrecv(matrix, 1, places, MPI_PROC_NULL, 1, matrix, 8, MPI_DOUBLE,
  MPI_PROC_NULL, 2, ring, MPI_STATUS_IGNORE);
for (int i = 0; i < 2; ++i) {
  double *block = malloc(160);
  MPI_Sendrecv(block, 8, MPI_DOUBLE, 1 - rank, 1, block + 10, 8, MPI_DOUBLE, 1 - rank, 1,
    MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  free(block);
}
if (rank == 0) MPI_Send(other, 3, MPI_DOUBLE, 1, 4, ring);
else MPI_Recv(other, 8, MPI_DOUBLE, 0, MPI_ANY_TAG, ring, &status);
MPI_Allreduce(MPI_IN_PLACE, sum, 2, MPI_INT, MPI_MAX, copy);
MPI_Gatherv(&rank, counts[rank], MPI_INT, rank == 0 ? (void *)matrix : NULL,
  rank == 0 ? counts : NULL, rank == 0 ? zeros : NULL, rank == 0 ? MPI_INT : MPI_DATATYPE_NULL, 0,
  MPI_COMM_WORLD);
MPI_Neighbor_alltoallv(matrix, counts, zeros, MPI_INT, other, back, zeros, MPI_INT, ring);"""
COLUMN = "vector(8, 1, 8, MPI_DOUBLE)"


def printed(trace: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tisim", "unpack", "--calls", str(trace)]
    return subprocess.run(command, capture_output=True, text=True)


def test_each_call_with_its_arguments(mpi: Mpi, tmp_path: Path) -> None:
    program = compile_body(BODY, tmp_path, mpi)
    options = ("--arguments", "all")
    trace = record_program(program, tmp_path, mpi, ranks=2, options=options)
    lines = printed(trace.file).stdout.splitlines()
    step = [
        "MPI_Irecv(buf=buffer0, count=8, datatype=MPI_DOUBLE, source=MPI_ANY_SOURCE, "
        "tag=MPI_ANY_TAG, comm=comm2, request=0)",
        f"MPI_Isend(buf=buffer1, count=1, datatype={COLUMN}, dest=0, tag=7, comm=comm2, request=1)",
    ]
    calls = [line[2:] for line in lines if line[0] == "1"]
    assert calls[:4] == [
        "MPI_Cart_create(comm=MPI_COMM_WORLD, ndims=1, dims=[2], periods=[1], reorder=0, "
        "newcomm=comm1)",
        "MPI_Comm_dup_with_info(comm=MPI_COMM_WORLD, info=<kind=of hint>, newcomm=comm2)",
        *step,
    ]
    assert [call for call in calls if call in step] == step * 3
    # MPI says nothing of the status of a send.
    assert calls[4].startswith("MPI_Waitall(count=2, requests=[0,1], statuses=[<0 7 64 bytes>, ")
    in_ring = (
        "MPI_Sendrecv(sendbuf=buffer2, sendcount=1, sendtype=indexed_block(2, 1, 0, 5, "
        f"{COLUMN}), dest=MPI_PROC_NULL, sendtag=1, recvbuf=buffer2, recvcount=8, "
        "recvtype=MPI_DOUBLE, source=MPI_PROC_NULL, recvtag=2, comm=comm1, "
        "status=MPI_STATUS_IGNORE)"
    )
    # A block that is allocated anew has the number of the one before.
    in_block = (
        "MPI_Sendrecv(sendbuf=heap0, sendcount=8, sendtype=MPI_DOUBLE, dest=0, sendtag=1, "
        "recvbuf=heap0+80, recvcount=8, recvtype=MPI_DOUBLE, source=0, recvtag=1, "
        "comm=MPI_COMM_WORLD, status=MPI_STATUS_IGNORE)"
    )
    assert calls[-7:-4] == [in_ring, in_block, in_block]
    assert calls[-4:] == [
        "MPI_Recv(buf=buffer0, count=8, datatype=MPI_DOUBLE, source=0, tag=MPI_ANY_TAG, "
        "comm=comm1, status=<0 4 24 bytes>)",
        "MPI_Allreduce(sendbuf=MPI_IN_PLACE, recvbuf=buffer3, count=2, datatype=MPI_INT, "
        "op=MPI_MAX, comm=comm2)",
        "MPI_Gatherv(sendbuf=buffer4, sendcount=2, sendtype=MPI_INT, recvbuf=-, "
        "recvcounts=-, displs=-, recvtype=-, root=0, comm=MPI_COMM_WORLD)",
        "MPI_Neighbor_alltoallv(sendbuf=buffer2, sendcounts=[1, 2], sdispls=[0, 0], "
        "sendtype=MPI_INT, recvbuf=buffer0, recvcounts=[2, 1], rdispls=[0, 0], recvtype=MPI_INT, "
        "comm=comm1)",
    ]
    assert (
        "0 MPI_Gatherv(sendbuf=buffer4, sendcount=1, sendtype=MPI_INT, recvbuf=buffer2, "
        "recvcounts=[1, 2], displs=[0, 0], recvtype=MPI_INT, root=0, comm=MPI_COMM_WORLD)"
    ) in lines


# The handles of `use mpi_f08` are types, those of `use mpi` and `mpif.h` whole numbers.
FORTRAN = """program arguments
  MODULE
  HANDLE(MPI_Comm) :: ring, line
  HANDLE(MPI_Datatype) :: column, types(2)
  HANDLE(MPI_Request) :: requests(2)
  STATUSES
  integer :: rank, error, sums(2), counts(2), zeros(2), bytes(2), neighbours(1)
  double precision :: matrix(8, 8), other(8)
  matrix = 0
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Cart_create(MPI_COMM_WORLD, 1, [2], [.true.], .false., ring, error)
  neighbours = 1 - rank
  call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, neighbours, MPI_UNWEIGHTED, 1, &
    neighbours, MPI_UNWEIGHTED, MPI_INFO_NULL, .false., line, error)
  call MPI_Type_vector(8, 1, 8, MPI_DOUBLE_PRECISION, column, error)
  call MPI_Type_commit(column, error)
  call MPI_Irecv(other, 8, MPI_DOUBLE_PRECISION, MPI_ANY_SOURCE, MPI_ANY_TAG, ring, &
    requests(1), error)
  call MPI_Isend(matrix(2, 1), 1, column, 1 - rank, 7, ring, requests(2), error)
  call MPI_Waitall(2, requests, both, error)
  call MPI_Irecv(other, 8, MPI_DOUBLE_PRECISION, 1 - rank, 8, ring, requests(1), error)
  call MPI_Send(matrix, 1, column, 1 - rank, 8, ring, error)
  call MPI_Wait(requests(1), MPI_STATUS_IGNORE, error)
  if (rank == 0) call MPI_Send(other, 3, MPI_DOUBLE_PRECISION, 1, 4, ring, error)
  if (rank == 1) call MPI_Recv(other, 8, MPI_DOUBLE_PRECISION, 0, MPI_ANY_TAG, ring, one, error)
  sums = 1
  call MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_INTEGER, MPI_MAX, ring, error)
  counts = 1; zeros = 0; bytes = [0, 32]; types = column
  call MPI_Alltoallw(matrix, counts, zeros, types, other, [8, 8], zeros, &
    [MPI_DOUBLE_PRECISION, MPI_DOUBLE_PRECISION], ring, error)
  call MPI_Finalize(error)
end program
"""
FORTRAN_BY_MODULE = {
    "use mpi_f08": ("use mpi_f08", r"type(\1)", "type(MPI_Status) :: one, both(2)"),
    "use mpi": (
        "use mpi",
        "integer",
        "integer :: one(MPI_STATUS_SIZE), both(MPI_STATUS_SIZE, 2)",
    ),
    "mpif.h": (
        "include 'mpif.h'",
        "integer",
        "integer :: one(MPI_STATUS_SIZE), both(MPI_STATUS_SIZE, 2)",
    ),
}


@pytest.mark.parametrize("module", FORTRAN_BY_MODULE)
def test_calls_from_fortran(module: str, mpi: Mpi, tmp_path: Path) -> None:
    need_fortran(mpi)
    used, handle, statuses = FORTRAN_BY_MODULE[module]
    text = FORTRAN.replace("MODULE", used).replace("STATUSES", statuses)
    source = tmp_path / "arguments.f90"
    source.write_text(re.sub(r"HANDLE\((\w+)\)", handle, text))
    program = compile_program(source, tmp_path, mpi, "-fallow-argument-mismatch")
    trace = record_program(program, tmp_path, mpi, ranks=2, options=("--arguments", "all"))
    calls = [line[2:] for line in printed(trace.file).stdout.splitlines() if line[0] == "1"]
    double = next(name for name in ("MPI_DOUBLE_PRECISION", "MPI_DOUBLE") if name in calls[2])
    column = f"vector(8, 1, 8, {double})"
    assert calls[0] == (
        "MPI_Cart_create(comm=MPI_COMM_WORLD, ndims=1, dims=[2], periods=[1], reorder=0, "
        "newcomm=comm1)"
    )
    assert re.sub("buffer[0-9]", "B", "\n".join(calls[1:4])).splitlines() == [
        "MPI_Dist_graph_create_adjacent(comm=MPI_COMM_WORLD, indegree=1, sources=[0], "
        "sourceweights=MPI_UNWEIGHTED, outdegree=1, destinations=[0], "
        "destweights=MPI_UNWEIGHTED, info=MPI_INFO_NULL, reorder=0, newcomm=comm2)",
        f"MPI_Irecv(buf=B, count=8, datatype={double}, source=MPI_ANY_SOURCE, tag=MPI_ANY_TAG, "
        "comm=comm1, request=0)",
        f"MPI_Isend(buf=B, count=1, datatype={column}, dest=0, tag=7, comm=comm1, request=1)",
    ]
    assert calls[4].startswith("MPI_Waitall(count=2, requests=[0,1], statuses=[<0 7 64 bytes>, ")
    assert calls[7:] == [
        "MPI_Wait(request=0, status=MPI_STATUS_IGNORE)",
        f"MPI_Recv(buf=buffer0, count=8, datatype={double}, source=0, tag=MPI_ANY_TAG, "
        "comm=comm1, status=<0 4 24 bytes>)",
        "MPI_Allreduce(sendbuf=MPI_IN_PLACE, recvbuf=buffer3, count=2, datatype=MPI_INTEGER, "
        "op=MPI_MAX, comm=comm1)",
        f"MPI_Alltoallw(sendbuf=buffer2, sendcounts=[1, 1], sdispls=[0, 0], sendtypes=[{column}, "
        f"{column}], recvbuf=buffer0, recvcounts=[8, 8], rdispls=[0, 0], recvtypes=[{double}, "
        f"{double}], comm=comm1)",
    ]


def test_the_lines_are_those_of_a_trace_without(one_mpi: Mpi, tmp_path: Path) -> None:
    program = compile_body(BODY, tmp_path, one_mpi)
    options = ("--arguments", "all")
    trace = record_program(program, tmp_path, one_mpi, ranks=2, options=options)
    plain = record_program(program, tmp_path, one_mpi, ranks=2)
    assert [trace.calls(rank) for rank in (0, 1)] == [plain.calls(rank) for rank in (0, 1)]
    refused = printed(plain.file)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "has no arguments of calls; record the program with --arguments all" in refused.stderr


def test_what_can_be_asked_for() -> None:
    refused = tisim_record("-o", "x.tit", "--arguments", "some", "--", "true")
    assert refused.returncode == 2 and "'replayed', 'all'" in refused.stderr
