"""Traces of all ways to create a communicator, and of neighbourhood collectives."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import tisim
from tests.unit.record.programs import (
    EXAMPLES,
    Recorder,
    Trace,
    replay_on_graphene,
)
from tisim.traces import check

TAG = 2147483000


def recorded(program: str | Path, recorder: Recorder, ranks: int = 4) -> Trace:
    """Record a program; the trace must be complete and replayable."""
    trace = recorder.record(program, ranks=ranks)
    assert "warning" not in trace.run.stderr
    replay_on_graphene(trace)
    return trace


def test_collectives_between_groups(recorder: Recorder) -> None:
    trace = recorded(EXAMPLES / "two_groups.c", recorder, ranks=5)
    to, end = f"{TAG}", "comm=2"

    def exchange(peer: int, sent: int, received: int) -> list[str]:
        posted = [f"irecv {peer} {to} {received} {end}", f"isend {peer} {to} {sent} {end}"]
        return [*(f"{line} request={n}" for n, line in enumerate(posted)), "waitall requests=0,1"]

    # Rank 2 leads the air (ranks 2 to 4); the root is the leader of the ocean (ranks 0 and 1).
    assert trace.calls(2)[:38] == [
        *("init", "comm_split 0 1 1 2", "comm_group 2 0 1 2 3 4", "comm_group 3 2 3 4"),
        *("reduce 4 0 0 6 comm=3", *exchange(0, 4, 4), "bcast 4 0 6 comm=3"),
        *(f"recv 0 {to} 8000 {end}", "bcast 8000 0 6 comm=3"),
        *(f"recv 0 {to} 24000 {end}", "scatter 8000 8000 0 6 6 comm=3"),
        *("gather 8000 8000 0 6 6 comm=3", f"send 0 {to} 24000 {end}"),
        *(f"recv 0 {to} 12 {end}", f"recv 0 {to} 48 {end}", "scatterv 8 16 24 8 0 6 6 comm=3"),
        *("gather 4 4 0 6 6 comm=3", "gatherv 8 8 16 24 0 6 6 comm=3", f"send 0 {to} 48 {end}"),
        *("reduce 8000 0 0 6 comm=3", f"send 0 {to} 8000 {end}"),
        *("reduce 16 0 0 6 comm=3", *exchange(0, 16, 16), "bcast 16 0 6 comm=3"),
        *("gather 8000 8000 0 6 6 comm=3", *exchange(0, 24000, 16000), "bcast 16000 0 6 comm=3"),
        *("gather 4 4 0 6 6 comm=3", "gatherv 8 8 16 24 0 6 6 comm=3", *exchange(0, 48, 24)),
    ]
    assert trace.calls(2)[-9:] == [
        *(*exchange(0, 48, 48), f"recv 1 {to} 48 {end}", "scatterv 16 16 16 16 0 6 6 comm=3"),
        *("comm_free 2", "comm_free 3", "comm_free 1", "finalize"),
    ]


def test_collectives_between_groups_that_do_not_block(one_recorder: Recorder) -> None:
    body = """MPI_Comm half, inter; MPI_Request requests[11]; int sent[24] = {0}, got[99][24];
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 5, &inter);
    int root = rank % 2 ? 1 : rank == 2 ? MPI_ROOT : MPI_PROC_NULL;
    int counts[2] = {1, 2}, own[2] = {1 + rank / 2, 1 + rank / 2}, zero[2] = {0, 4};
    int twos[2] = {2, 2};
    MPI_Datatype types[2] = {MPI_INT, MPI_INT};
    MPI_Ibarrier(inter, &requests[0]);
    MPI_Ibcast(sent, 10, MPI_INT, root, inter, &requests[1]);
    MPI_Igather(sent, 2, MPI_INT, got[2], 2, MPI_INT, root, inter, &requests[2]);
    MPI_Iscatterv(sent, counts, zero, MPI_INT, got[3], 1 + rank / 2, MPI_INT, root, inter,
                  &requests[3]);
    MPI_Ireduce(sent, got[4], 3, MPI_INT, MPI_SUM, root, inter, &requests[4]);
    MPI_Iallreduce(sent, got[5], 4, MPI_INT, MPI_SUM, inter, &requests[5]);
    MPI_Iallgather(sent, 5, MPI_INT, got[6], 5, MPI_INT, inter, &requests[6]);
    MPI_Iallgatherv(sent, own[0], MPI_INT, got[7], counts, zero, MPI_INT, inter, &requests[7]);
    MPI_Ialltoallv(sent, own, zero, MPI_INT, got[8], counts, zero, MPI_INT, inter, &requests[8]);
    MPI_Ialltoallw(sent, own, zero, types, got[9], counts, zero, types, inter, &requests[9]);
    MPI_Ireduce_scatter(sent, got[10], twos, MPI_INT, MPI_SUM, inter, &requests[10]);
    MPI_Waitall(11, requests, MPI_STATUSES_IGNORE);"""
    trace = recorded(body, one_recorder)
    kinds = ("irecv", "isend")
    end, tag = "comm=2 request=", f"{TAG}"

    def with_all(first: int, *sizes: tuple[int, int], peer: int = 0) -> list[str]:
        """Return the receives from and sends to the other group, one rank after the other."""
        return [
            f"{kinds[side]} {peer + place} {tag} {bytes[side]} {end}{first + 2 * place + side}"
            for place, bytes in enumerate(sizes)
            for side in range(2)
        ]

    # In the joint communicator, ranks 0 and 2 come first, then 1 and 3. Rank 3 is not a root.
    assert trace.calls(3)[2:-1] == [
        *("comm_group 2 0 2 1 3", f"ibarrier {end}0", f"irecv 1 {tag} 40 {end}1"),
        *(f"isend 1 {tag} 8 {end}2", f"irecv 1 {tag} 8 {end}3", f"isend 1 {tag} 12 {end}4"),
        *(f"iallreduce 16 0 6 {end}5", *with_all(6, (20, 20), (20, 20))),
        *with_all(10, (4, 8), (8, 8)),
        *with_all(14, (4, 8), (8, 8)),
        *with_all(18, (4, 8), (8, 8)),
        *(f"iallreduce 16 0 6 {end}22", f"waitall requests={','.join(map(str, range(23)))}"),
    ]
    # Rank 2 is the root: it sends to both ranks of the other group, or receives from both.
    assert trace.calls(2)[4:12] == [
        *(f"isend 2 {tag} 40 {end}1", f"isend 3 {tag} 40 {end}2"),
        *(f"irecv 2 {tag} 8 {end}3", f"irecv 3 {tag} 8 {end}4"),
        *(f"isend 2 {tag} 4 {end}5", f"isend 3 {tag} 8 {end}6"),
        *(f"irecv 2 {tag} 12 {end}7", f"irecv 3 {tag} 12 {end}8"),
    ]
    # Rank 0 does not take part in rooted collectives.
    assert trace.calls(0)[3:5] == [f"ibarrier {end}0", f"iallreduce 16 0 6 {end}1"]


SPAWN = "MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, WORKERS, MPI_INFO_NULL,"
SPAWN_MULTIPLE = """MPI_Comm_spawn_multiple(2, (char *[]){argv[0], argv[0]}, MPI_ARGVS_NULL,
      (int[]){1, 1}, (MPI_Info[]){MPI_INFO_NULL, MPI_INFO_NULL},"""


def spawning(recorder: Recorder, *, several: bool = False) -> Path:
    source = (EXAMPLES / "spawn.c").read_text()
    assert SPAWN in source
    program = recorder.compile(source.replace(SPAWN, SPAWN_MULTIPLE) if several else source)
    if subprocess.run(recorder.launched(program), capture_output=True).returncode:
        pytest.skip(f"{recorder.mpi.name} cannot spawn processes here")
    return program


def test_spawned_processes_are_counted(recorder: Recorder) -> None:
    trace = recorder.record(spawning(recorder))
    assert "2 calls to MPI_Comm_spawn are not in the trace" in trace.run.stderr
    assert "2 calls to MPI_Scatter are not in the trace" in trace.run.stderr
    assert trace.calls(1)[1:] == ["barrier", "finalize"]


@pytest.mark.parametrize("several", [False, True], ids=["one command", "several commands"])
def test_spawned_processes_are_ranks_on_request(several: bool, recorder: Recorder) -> None:
    trace = recorder.record(spawning(recorder, several=several), options="--spawn")
    assert "warning" not in trace.run.stderr
    born = ["comm_group 2 0 1 2 3", "barrier comm=2"]
    met = ["comm_group 4 0 1 2 3", "comm_free 2", "comm_free 3", "barrier comm=4", "comm_free 4"]
    assert trace.calls(3) == [
        *("init", "comm_group 1 2 3", *born, "comm_group 3 2 3"),
        *("scatter 8000 8000 0 6 6 comm=3", "gather 8000 8000 0 6 6 comm=3", *met, "finalize"),
    ]
    message = f"2 {TAG} 16000 comm=2"
    assert trace.calls(0) == [
        *("init", "comm_group 1 0 1", *born, "barrier comm=1", "comm_group 3 0 1"),
        *(f"send {message}", f"recv {message}", *met, "finalize"),
    ]
    replay_on_graphene(trace)


def test_communicators_of_graphs(recorder: Recorder) -> None:
    body = """MPI_Comm graph, line, node; int index[] = {1, 2, 3, 4}, edges[] = {1, 0, 3, 2};
    int to = (rank + 1) % size, from = (rank + 3) % size;
    MPI_Graph_create(MPI_COMM_WORLD, 4, index, edges, 0, &graph);
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &from, MPI_UNWEIGHTED, 1, &to,
      MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &line);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    int sent = rank, got = -1;
    MPI_Request request;
    MPI_Neighbor_allgather(&sent, 1, MPI_INT, &got, 1, MPI_INT, graph);
    CHECK(got == (rank ^ 1));
    MPI_Ineighbor_allgather(&sent, 1, MPI_INT, &got, 1, MPI_INT, line, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(got == from);"""
    trace = recorded(body, recorder)
    assert trace.calls(1)[1:-1] == [
        *("comm_split 0 1 0 1", "comm_split 0 2 0 1", "comm_split 0 3 0 1"),
        "neighbor_allgather 1 0 1 0 1 1 1 1 comm=1",
        *("ineighbor_allgather 1 2 1 0 1 1 1 1 comm=2 request=0", "wait request=0"),
    ]


def test_collectives_of_neighbours_that_do_not_block(recorder: Recorder) -> None:
    body = """MPI_Comm ring; int dims = 4, periodic = 1, to[2] = {rank, rank}, from[2], index;
    MPI_Datatype types[] = {MPI_INT, MPI_SHORT}, back[] = {MPI_SHORT, MPI_INT};
    int counts[] = {1, 2}, starts[] = {0, 1}; MPI_Aint places[] = {0, 4}, swapped[] = {4, 0};
    MPI_Request requests[3]; int other[] = {2, 1};
    MPI_Cart_create(MPI_COMM_WORLD, 1, &dims, &periodic, 0, &ring);
    MPI_Ineighbor_alltoall(to, 1, MPI_INT, from, 1, MPI_INT, ring, &requests[0]);
    MPI_Ibarrier(ring, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    CHECK(from[0] == (rank + 3) % 4 && from[1] == (rank + 1) % 4);
    MPI_Ineighbor_alltoallw(to, counts, places, types, from, other, swapped, back, ring,
      &requests[0]);
    MPI_Waitany(1, requests, &index, MPI_STATUS_IGNORE);
    MPI_Neighbor_alltoallv(to, counts, starts, MPI_SHORT, from, other, starts, MPI_SHORT, ring);"""
    trace = recorded(body, recorder)

    ring = "2 1 3 2 3 1"  # messages sent down arrive from above
    assert trace.calls(2)[2:-1] == [
        f"ineighbor_alltoall {ring} 1 1 1 1 comm=1 request=0",
        *("ibarrier comm=1 request=1", "waitall requests=0,1"),
        f"ineighbor_alltoallv {ring} 4 4 4 4 6 6 comm=1 request=0",
        "waitany requests=0 completed=0",
        f"neighbor_alltoallv {ring} 1 2 1 2 3 3 comm=1",
    ]


FORTRAN = """
program neighbours
  use mpi
  implicit none
  integer :: error, rank, ring, copy, request, sent(2), got(2), types(2), counts(2)
  integer(MPI_ADDRESS_KIND) :: places(2)
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Cart_create(MPI_COMM_WORLD, 1, [4], [.true.], .false., ring, error)
  sent = rank
  types = MPI_INTEGER
  counts = 1
  places = [0, 4]
  call MPI_Ineighbor_alltoallw(sent, counts, places, types, got, counts, places, types, ring, &
    request, error)
  call MPI_Wait(request, MPI_STATUS_IGNORE, error)
  call MPI_Comm_idup(ring, copy, request, error)
  call MPI_Wait(request, MPI_STATUS_IGNORE, error)
  call MPI_Barrier(copy, error)
  call MPI_Finalize(error)
end program
"""


def test_the_same_in_fortran(recorder: Recorder) -> None:
    trace = recorded(FORTRAN, recorder)
    assert trace.calls(2)[2:-1] == [
        *("ineighbor_alltoallv 2 1 3 2 3 1 4 4 4 4 6 6 comm=1 request=0", "wait request=0"),
        *("comm_idup 1 2", "ibcast 4 0 6 comm=2 request=0", "wait request=0", "barrier comm=2"),
    ]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("0 comm_group 5 1\n1 comm_group 5 1\n", "do not include this one, rank 0"),
        ("0 comm_group 5 0 0\n1 init\n", "rank 0 occurs twice"),
        ("0 comm_group 0 0\n1 init\n", "communicator 0 is the world"),
        ("0 compute 5 threads=0 sum=5\n", "threads '0' is not between 1 and 2147483647"),
        ("0 compute 5 threads=2 sum=11\n", "is not between the largest and 2 times that"),
        ("0 compute 5 threads=2\n", "compute needs flops [threads=N sum=S], got 2 arguments"),
    ],
)
def test_wrong_lines_are_named(text: str, what: str, tmp_path: Path) -> None:
    file = tmp_path / "trace.txt"
    file.write_text(text)
    report = check(tisim.Trace.open(file))
    assert what in str(report.findings[0]), report.findings
