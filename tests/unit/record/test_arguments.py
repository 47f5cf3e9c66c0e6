"""With --arguments all, a trace contains each MPI call with all its arguments."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

import tisim
from tests.support import tisim_process
from tests.unit.record.programs import (
    Mpi,
    Recorder,
    tisim_record,
)
from tisim.traces.calls_with_arguments import BEFORE
from tisim.traces.record.source import Variant, recorder_source
from tisim.traces.record.table import read_table, read_untraced

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
    return tisim_process("unpack", "--calls", trace)


def calls_of(rank: int, trace: Path) -> list[str]:
    calls = (line.split(" ", 1) for line in printed(trace).stdout.splitlines())
    return [call for own, call in calls if own == str(rank)]


def written_of(rank: int, trace: Path) -> list[str]:
    """Return the calls that have a line, except the first and the last."""
    untraced = {function.name for function in read_untraced()}
    return [call for call in calls_of(rank, trace) if call.split("(")[0] not in untraced][1:-1]


def test_each_call_with_its_arguments(recorder: Recorder) -> None:
    trace = recorder.record(BODY, options="--arguments all")
    step = [
        "MPI_Irecv(buf=buffer0, count=8, datatype=MPI_DOUBLE, source=MPI_ANY_SOURCE, "
        "tag=MPI_ANY_TAG, comm=comm2, request=0)",
        f"MPI_Isend(buf=buffer1, count=1, datatype={COLUMN}, dest=0, tag=7, comm=comm2, request=1)",
    ]
    calls = written_of(1, trace.file)
    assert calls[:4] == [
        "MPI_Cart_create(comm=MPI_COMM_WORLD, ndims=1, dims=[2], periods=[1], reorder=0, "
        "newcomm=comm1)",
        "MPI_Comm_dup_with_info(comm=MPI_COMM_WORLD, info=<kind=of hint>, newcomm=comm2)",
        *step,
    ]
    assert [call for call in calls if call in step] == step * 3
    assert calls[4] == "MPI_Waitall(count=2, requests=[0,1], statuses=[<0 7 64 bytes>, -])"
    in_ring = (
        "MPI_Sendrecv(sendbuf=buffer2, sendcount=1, sendtype=indexed_block(2, 1, 0, 5, "
        f"{COLUMN}), dest=MPI_PROC_NULL, sendtag=1, recvbuf=buffer2, recvcount=8, "
        "recvtype=MPI_DOUBLE, source=MPI_PROC_NULL, recvtag=2, comm=comm1, "
        "status=MPI_STATUS_IGNORE)"
    )
    # A reallocated block has the number of the previous one.
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
        "MPI_Gatherv(sendbuf=buffer4, sendcount=1, sendtype=MPI_INT, recvbuf=buffer2, "
        "recvcounts=[1, 2], displs=[0, 0], recvtype=MPI_INT, root=0, comm=MPI_COMM_WORLD)"
    ) in written_of(0, trace.file)


UNWRITTEN = """MPI_Comm grid, copy; MPI_Group all, one; MPI_Info info, hint; MPI_Datatype row, pair;
MPI_Op op; MPI_Status status; MPI_Aint address; MPI_Errhandler handler;
int dims[] = {2, 0}, periods[] = {0, 1}, coords[2], below, above, peer, n, flag, first = 0;
int lengths[] = {1, 1}; MPI_Aint places[] = {0, 8}; MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE};
char value[64]; double matrix[4] = {0}; char packed[64]; int position = 0;
MPI_Request none = MPI_REQUEST_NULL;
MPI_Dims_create(size, 2, dims);
MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
MPI_Cart_coords(grid, rank, 2, coords);
MPI_Cart_rank(grid, coords, &peer);
MPI_Cart_shift(grid, 0, 1, &below, &above);
MPI_Comm_group(grid, &all);
MPI_Group_incl(all, 1, &first, &one);
MPI_Comm_create(grid, one, &copy);
MPI_Group_free(&one); MPI_Group_free(&all);
MPI_Info_create(&info); MPI_Info_set(info, "kind", "of hint");
MPI_Info_get(info, "none", 63, value, &flag); MPI_Info_get(info, "kind", 63, value, &flag);
MPI_Info_dup(info, &hint); MPI_Info_free(&info);
MPI_Type_contiguous(4, MPI_DOUBLE, &row); MPI_Type_commit(&row);
MPI_Type_create_struct(2, lengths, places, types, &pair); MPI_Type_free(&pair);
MPI_Get_address(matrix, &address);
MPI_Pack(matrix, 2, MPI_DOUBLE, packed, 64, &position, MPI_COMM_WORLD);
MPI_Comm_get_errhandler(grid, &handler); MPI_Errhandler_free(&handler);
MPI_Sendrecv(matrix, 1, row, 1 - rank, 3, packed, 8, MPI_DOUBLE, 1 - rank, 3, grid, &status);
MPI_Get_count(&status, row, &n);
MPI_Wait(&none, MPI_STATUS_IGNORE);
for (int i = 0; i < 3; ++i) MPI_Wtime();
MPI_Type_free(&row); MPI_Comm_free(&grid);"""
UNWRITTEN_PRINTED = """MPI_Init()
MPI_Comm_rank(comm=MPI_COMM_WORLD, rank=1)
MPI_Comm_size(comm=MPI_COMM_WORLD, size=2)
MPI_Dims_create(nnodes=2, ndims=2, dims=[2, 1])
MPI_Cart_create(comm=MPI_COMM_WORLD, ndims=2, dims=[2, 1], periods=[0, 1], reorder=0, newcomm=comm1)
MPI_Cart_coords(comm=comm1, rank=1, maxdims=2, coords=[1, 0])
MPI_Cart_rank(comm=comm1, coords=[1, 0], rank=1)
MPI_Cart_shift(comm=comm1, direction=0, disp=1, rank_source=0, rank_dest=MPI_PROC_NULL)
MPI_Comm_group(comm=comm1, group=<0-1>)
MPI_Group_incl(group=<0-1>, n=1, ranks=[0], newgroup=<0>)
MPI_Comm_create(comm=comm1, group=<0>, newcomm=comm2)
MPI_Group_free(group=<0>)
MPI_Group_free(group=<0-1>)
MPI_Info_create(info=<>)
MPI_Info_set(info=<kind=of hint>, key="kind", value="of hint")
MPI_Info_get(info=<kind=of hint>, key="none", valuelen=63, value=-, flag=0)
MPI_Info_get(info=<kind=of hint>, key="kind", valuelen=63, value="of hint", flag=1)
MPI_Info_dup(info=<kind=of hint>, newinfo=<kind=of hint>)
MPI_Info_free(info=<kind=of hint>)
MPI_Type_contiguous(count=4, oldtype=MPI_DOUBLE, newtype=ROW)
MPI_Type_commit(datatype=ROW)
MPI_Type_create_struct(count=2, array_of_blocklengths=[1, 1], array_of_displacements=[0, 8], \
array_of_types=[MPI_INT, MPI_DOUBLE], newtype=PAIR)
MPI_Type_free(datatype=PAIR)
MPI_Get_address(location=buffer0, address=buffer0)
MPI_Pack(inbuf=buffer0, incount=2, datatype=MPI_DOUBLE, outbuf=buffer1, outsize=64, position=16, \
comm=MPI_COMM_WORLD)
MPI_Comm_get_errhandler(comm=comm1, errhandler=MPI_ERRORS_ARE_FATAL)
MPI_Errhandler_free(errhandler=MPI_ERRORS_ARE_FATAL)
MPI_Sendrecv(sendbuf=buffer0, sendcount=1, sendtype=ROW, dest=0, sendtag=3, recvbuf=buffer1, \
recvcount=8, recvtype=MPI_DOUBLE, source=0, recvtag=3, comm=comm1, status=<0 3 32 bytes>)
MPI_Get_count(status=<0 3 32 bytes>, datatype=ROW, count=1)
MPI_Wait(request=MPI_REQUEST_NULL, status=MPI_STATUS_IGNORE)
MPI_Wtime()
MPI_Wtime()
MPI_Wtime()
MPI_Type_free(datatype=ROW)
MPI_Comm_free(comm=comm1)
MPI_Finalize()
"""


def test_calls_that_have_no_line(recorder: Recorder) -> None:
    program = recorder.compile(UNWRITTEN)
    trace = recorder.record(program, options="--arguments all")
    expected = UNWRITTEN_PRINTED.replace("\\\n", "").replace("ROW", "contiguous(4, MPI_DOUBLE)")
    expected = expected.replace("PAIR", "struct(2, 1, 1, 0, 8, MPI_INT, MPI_DOUBLE)")
    assert calls_of(1, trace.file) == expected.splitlines()
    plain = recorder.record(program)
    assert trace.calls(1) == plain.calls(1)


PERSISTENT = """MPI_Request request; double sum = 0;
MPI_Bcast_init(&sum, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
for (int i = 0; i < 2; ++i) { MPI_Start(&request); MPI_Wait(&request, MPI_STATUS_IGNORE); }
MPI_Request_free(&request);"""


def test_persistent_collectives(recorder: Recorder) -> None:
    program = recorder.compile(PERSISTENT, or_skip="does not have persistent collectives")
    trace = recorder.record(program, options="--arguments all")
    step = ["MPI_Start(request=0)", "MPI_Wait(request=0, status=MPI_STATUS_IGNORE)"]
    assert calls_of(0, trace.file)[3:-1] == [
        "MPI_Bcast_init(buffer=buffer0, count=1, datatype=MPI_DOUBLE, root=0, "
        "comm=MPI_COMM_WORLD, info=MPI_INFO_NULL, request=0)",
        *(step * 2),
        "MPI_Request_free(request=0)",
    ]


# One window after the other: Open MPI 4.1 uses the same names for the shared memory files of two
# groups, and the second group may find that the first has removed them.
BETWEEN = """MPI_Comm half, both; double value = 0; MPI_Win window; MPI_Group pair;
const int root = rank == 0 ? MPI_ROOT : rank == 1 ? MPI_PROC_NULL : 0, other = 1 - rank % 2;
MPI_Comm_split(MPI_COMM_WORLD, rank / 2, 0, &half);
MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank < 2 ? 2 : 0, 1, &both);
MPI_Bcast(&value, 1, MPI_DOUBLE, root, both);
for (int turn = 0; turn < 2; ++turn) {
  if (rank / 2 == turn) MPI_Win_create(&value, 8, 8, MPI_INFO_NULL, half, &window);
  MPI_Barrier(MPI_COMM_WORLD);
}
MPI_Comm_group(half, &pair); MPI_Group_incl(pair, 1, &other, &pair);
MPI_Win_post(pair, 0, window); MPI_Win_start(pair, 0, window);
MPI_Win_complete(window); MPI_Win_wait(window);
MPI_Win_set_name(window, "halo"); MPI_Win_free(&window);"""


def test_groups_and_windows(one_recorder: Recorder) -> None:
    trace = one_recorder.record(BETWEEN, options="--arguments all", ranks=4)
    calls = [calls_of(rank, trace.file) for rank in range(4)]
    roots = [next(c for c in own if c.startswith("MPI_Bcast")).split("root=")[1] for own in calls]
    assert [root.split(",")[0] for root in roots] == ["MPI_ROOT", "MPI_PROC_NULL", "0", "0"]
    assert calls[3][-9:-1] == [
        "MPI_Comm_group(comm=comm1, group=<2-3>)",
        "MPI_Group_incl(group=<2-3>, n=1, ranks=[0], newgroup=<2>)",
        "MPI_Win_post(group=<0>, assertion=0, win=0)",  # the rank in the window
        "MPI_Win_start(group=<0>, assertion=0, win=0)",
        "MPI_Win_complete(win=0)",
        "MPI_Win_wait(win=0)",
        'MPI_Win_set_name(win=0, win_name="halo")',
        "MPI_Win_free(win=0)",
    ]


MANY = """char key[32];
for (int i = 0; i < 3000; ++i) {
  MPI_Info info;
  MPI_Info_create(&info); sprintf(key, "key-%d", i); MPI_Info_set(info, key, key);
  MPI_Info_free(&info);
}"""


def test_many_calls_between_two_lines(one_recorder: Recorder) -> None:
    trace = one_recorder.record(MANY, ranks=1, options="--arguments all")
    calls = calls_of(0, trace.file)
    assert len(calls) == 4 + 9000
    assert calls[-2] == "MPI_Info_free(info=<key-2999=key-2999>)"


#: Functions with handwritten wrappers, and those that are not calls of a rank: conversions, tools.
ELSEWHERE = re.compile(
    r"MPI_(Init|Init_thread|Finalize|Abort|Pcontrol|Session_init|Session_finalize|DUP_FN|T_\w+"
    r"|\w+_[cf]2[cf]|Status_f082[cf]|Status_[cf]2f08)"
)


def test_every_function_of_the_library_is_listed(mpi: Mpi, tmp_path: Path) -> None:
    source = tmp_path / "all.c"
    source.write_text("#include <mpi.h>\n")
    text = subprocess.run([mpi.cc, "-E", "-P", source], capture_output=True, text=True).stdout
    declared = set(re.findall(r"\b(?:int|double|MPI_Aint) (MPI_\w+)\(", text))
    written = {function.name for function in read_table()}
    untraced = {function.name for function in read_untraced()}
    assert not written & untraced
    missing = declared - written - untraced
    assert [name for name in sorted(missing) if not ELSEWHERE.fullmatch(name)] == []


def test_they_are_not_wrapped_unless_asked_for() -> None:
    plain, with_arguments = recorder_source(), recorder_source(Variant(arguments=True))
    assert set(with_arguments) - set(plain) == {
        *("allocations.c", "untraced_wrappers.c", "untraced_fortran_wrappers.c")
    }
    assert not any("MPI_Comm_size(" in plain[name] for name in plain if name.endswith("wrappers.c"))


GRID = """MPI_Comm grid; MPI_Request requests[8]; MPI_Status statuses[8]; double halo[9];
int dims[2] = {0}, periods[2] = {0}, coords[2], peers[4], n = 0;
MPI_Dims_create(size, 2, dims);
MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
MPI_Comm_rank(grid, &rank);
MPI_Cart_coords(grid, rank, 2, coords);
for (int d = 0; d < 2; ++d) MPI_Cart_shift(grid, d, 1, &peers[2 * d], &peers[2 * d + 1]);
for (int step = 0; step < 20; ++step) {
  n = 0;
  for (int p = 0; p < 4; ++p)
    MPI_Irecv(&halo[p], 1, MPI_DOUBLE, peers[p], 0, grid, &requests[n++]);
  for (int p = 0; p < 4; ++p)
    MPI_Isend(&halo[8], 1, MPI_DOUBLE, peers[p], 0, grid, &requests[n++]);
  MPI_Waitall(n, requests, statuses);
  MPI_Get_count(&statuses[0], MPI_DOUBLE, &n);
}
MPI_Comm_free(&grid);"""


def test_ranks_of_a_stencil_share_their_texts(one_recorder: Recorder) -> None:
    program = one_recorder.compile(GRID)
    before: list[set[str]] = []
    for ranks in (9, 16):  # 3 x 3 and 4 x 4: corners, edges and the interior
        options = "--counter time --arguments all"
        trace = one_recorder.record(program, ranks=ranks, options=options)
        opened = tisim.Trace.open(trace.file)
        texts = [opened.attributes_of(rank) for rank in range(ranks)]
        before.append({str(a[BEFORE]) for rank in texts for _, a in rank if BEFORE in a})
        coordinates = [call for call in calls_of(ranks - 1, trace.file) if "coords=" in call]
        side = int(ranks**0.5)
        assert coordinates == [
            f"MPI_Cart_coords(comm=comm1, rank={ranks - 1}, maxdims=2, "
            f"coords=[{side - 1}, {side - 1}])"
        ]
    assert len(before[0]) == len(before[1])


# Handles are derived types in `use mpi_f08`, and integers in `use mpi` and `mpif.h`.
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
def test_calls_from_fortran(module: str, recorder: Recorder) -> None:
    used, handle, statuses = FORTRAN_BY_MODULE[module]
    text = FORTRAN.replace("MODULE", used).replace("STATUSES", statuses)
    program = recorder.compile(
        re.sub(r"HANDLE\((\w+)\)", handle, text), "-fallow-argument-mismatch", name="arguments"
    )
    trace = recorder.record(program, options="--arguments all")
    calls = written_of(1, trace.file)
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
    assert calls[4] == "MPI_Waitall(count=2, requests=[0,1], statuses=[<0 7 64 bytes>, -])"
    own = ("MPI_Comm_rank(comm=MPI_COMM_WORLD, rank=1)", f"MPI_Type_commit(datatype={column})")
    assert set(own) <= set(calls_of(1, trace.file))
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


def test_the_lines_are_those_of_a_trace_without(one_recorder: Recorder) -> None:
    program = one_recorder.compile(BODY)
    trace = one_recorder.record(program, options="--arguments all")
    plain = one_recorder.record(program)
    assert [trace.calls(rank) for rank in (0, 1)] == [plain.calls(rank) for rank in (0, 1)]
    refused = printed(plain.file)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "contains no call arguments; record the program with --arguments all" in refused.stderr


def test_what_can_be_asked_for() -> None:
    refused = tisim_record("-o", "x.tit", "--arguments", "some", "--", "true")
    assert refused.returncode == 2 and "'replayed', 'all'" in refused.stderr


@pytest.mark.parametrize("option", [("--arguments", "all"), ("--call-sites",)])
def test_spawned_processes_have_no_room_for_them(option: tuple[str, ...]) -> None:
    refused = tisim_record("-o", "x.tit", "--spawn", *option, "--", "true")
    assert refused.returncode == 2
    assert "--arguments all or --call-sites" in refused.stderr
