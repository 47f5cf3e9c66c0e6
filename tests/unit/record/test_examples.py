"""The project's own MPI programs: recorded, checked, replayed and extrapolated."""

from __future__ import annotations

import doctest
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support import campaign
from tests.unit.record.programs import (
    ENVIRONMENT,
    EXAMPLES,
    ROOT,
    Mpi,
    Recorder,
    Trace,
    python_with_mpi4py,
    replay_on_graphene,
)
from tisim.errors import InputError
from tisim.traces.extrapolation import extrapolate
from tisim.traces.extrapolation.checking import check


def recorded(name: str, recorder: Recorder, *arguments: str) -> Trace:
    return recorder.record(EXAMPLES / name, *arguments, ranks=4)


def test_wavefront_solver(recorder: Recorder) -> None:
    trace = recorded("wavefront.c", recorder, "8", "1")
    plane = [f"{call} 64 comm=1" for call in ("recv -666 0", "recv -666 1", "send 2 0", "send 1 1")]
    assert trace.calls(0) == [
        *("init", "comm_split 0 1 0 0"),
        *plane * 8,
        *("allreduce 1 0 0 comm=1", "comm_free 1", "finalize"),
    ]
    assert "recv 0 1 64 comm=1" in trace.calls(1)
    replay_on_graphene(trace)
    # The trace names the counter of its computations.
    counter = next(line for line in trace.lines[0] if line.startswith("# counter: "))
    assert counter.removeprefix("# ") in trace.run.stderr


def test_one_sided_communication(one_recorder: Recorder) -> None:
    trace = recorded("rma.c", one_recorder)
    step = ["win_fence 0", "put 0 0 8000", "put 0 2 8000", "win_fence 0"]
    lock = ["win_lock 0 {} exclusive", "accumulate 0 {} 2048", "win_unlock 0 {}"]
    assert trace.calls(1) == [
        *("init", "win_create 0 160000", "win_fence 0 noprecede"),
        *step * 4,
        *(*step[:3], "win_fence 0 nosucceed", "win_free 0", "win_create 0 160000"),
        *("win_start 0 0", "get 0 0 8000", "win_complete 0", "win_post 0 2", "win_wait 0"),
        *("win_free 0", "win_allocate 0 8", "barrier", "win_lock_all 0"),
        *("fetch_and_op 0 0 8", "win_flush 0 0") * 16,
        *("win_unlock_all 0", "win_free 0", "win_allocate 0 2048", "barrier"),
        *(line.format(target, target) for target in range(4) for line in lock),
        *("win_lock 0 0 shared", "rget 0 0 2048 request=0", "wait request=0", "win_unlock 0 0"),
        *("win_free 0", "finalize"),
    ]
    replay_on_graphene(trace)


def test_collectives_of_neighbours(recorder: Recorder) -> None:
    trace = recorded("topology.c", recorder)

    # The grid is 2 x 2, not periodic in its second dimension. Messages sent down arrive from above.
    grid = "4 2 2 -666 1 4 2 2 1 -666"
    step = (
        f"neighbor_alltoall {grid} 100 100 0 0 comm=1",
        f"ineighbor_alltoallv {grid} 0 0 50 50 0 0 50 50 0 0 comm=1 request=0",
        "wait request=0",
    )
    assert trace.calls(0) == [
        *("init", "comm_split 0 1 0 0", *step * 5, "comm_split 1 2 0 0"),
        "neighbor_allgather 2 1 2 2 3 2 1 1 1 1 comm=2",
        *("comm_free 2", "comm_free 1", "finalize"),
    ]
    replay_on_graphene(trace)


WINDOWS = """\
program windows
  use mpi
  implicit none
  integer :: rank, ranks, window, ierror, group, all, request, i
  integer(kind=MPI_ADDRESS_KIND) :: bytes, place
  double precision :: values(100), part(100)
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  bytes = 800
  place = 0
  values = rank
  call MPI_Win_create(part, bytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, window, ierror)
  call MPI_Win_fence(MPI_MODE_NOPRECEDE, window, ierror)
  call MPI_Put(values, 100, MPI_DOUBLE_PRECISION, mod(rank + 1, ranks), place, 100, &
               MPI_DOUBLE_PRECISION, window, ierror)
  call MPI_Win_fence(MPI_MODE_NOSUCCEED, window, ierror)
  if (part(1) /= mod(rank + ranks - 1, ranks)) call MPI_Abort(MPI_COMM_WORLD, 1, ierror)
  call MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window, ierror)
  call MPI_Get(values, 10, MPI_DOUBLE_PRECISION, 0, place, 10, MPI_DOUBLE_PRECISION, window, ierror)
  call MPI_Rget(values, 10, MPI_DOUBLE_PRECISION, 0, place, 10, MPI_DOUBLE_PRECISION, window, &
                request, ierror)
  call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
  call MPI_Accumulate(values, 5, MPI_DOUBLE_PRECISION, 0, place, 5, MPI_DOUBLE_PRECISION, MPI_SUM, &
                      window, ierror)
  call MPI_Win_unlock(0, window, ierror)
  call MPI_Comm_group(MPI_COMM_WORLD, all, ierror)
  i = 1 - mod(rank, 2) + rank - mod(rank, 2)
  call MPI_Group_incl(all, 1, [i], group, ierror)
  call MPI_Win_post(group, 0, window, ierror)
  call MPI_Win_start(group, 0, window, ierror)
  call MPI_Put(values, 1, MPI_DOUBLE_PRECISION, i, place, 1, MPI_DOUBLE_PRECISION, window, ierror)
  call MPI_Win_complete(window, ierror)
  call MPI_Win_wait(window, ierror)
  call MPI_Win_free(window, ierror)
  call MPI_Finalize(ierror)
end program
"""


def test_one_sided_communication_in_fortran(recorder: Recorder) -> None:
    trace = recorder.record(WINDOWS, ranks=4)
    assert trace.calls(1) == [
        *("init", "win_create 0 800", "win_fence 0 noprecede", "put 0 2 800"),
        *("win_fence 0 nosucceed", "win_lock 0 0 shared", "get 0 0 80", "rget 0 0 80 request=0"),
        *("wait request=0", "accumulate 0 0 40", "win_unlock 0 0", "win_post 0 0", "win_start 0 0"),
        *("put 0 0 8", "win_complete 0", "win_wait 0", "win_free 0", "finalize"),
    ]
    replay_on_graphene(trace)


def test_conjugate_gradient_in_fortran(one_recorder: Recorder) -> None:
    trace = recorded("conjugate_gradient.f90", one_recorder)
    iteration = [
        *("irecv 0 1 8 request=0", "irecv 2 2 8 request=1"),
        *("isend 0 2 8 request=2", "isend 2 1 8 request=3"),
        "waitall requests=0,1,2,3",
        *("allreduce 1 0 0", "allreduce 1 0 0"),
    ]
    assert trace.calls(1) == ["init", "allreduce 1 0 0", *iteration * 50, "finalize"]
    replay_on_graphene(trace)


@pytest.mark.parametrize("module", ["mpi", "mpi_f08"])
def test_calls_that_fail_in_fortran(module: str, one_recorder: Recorder) -> None:
    """They send nothing, whether or not the program asks for their error code."""
    unasked = "" if module == "mpi" else "call MPI_Send(value, 1, MPI_INTEGER, 99, 0, world)"
    trace = one_recorder.record(f"""
        program failing
          use {module}
          implicit none
          integer :: value = 1, error
          call MPI_Init(error)
          associate (world => MPI_COMM_WORLD)
            call MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN, error)
            {unasked}
            call MPI_Send(value, 1, MPI_INTEGER, 99, 0, world, error)
            if (error == MPI_SUCCESS) error stop
            call MPI_Bcast(value, 1, MPI_INTEGER, 0, world, error)
          end associate
          call MPI_Finalize(error)
        end program
    """)
    assert trace.calls(0) == ["init", "bcast 1 0 1", "finalize"]


def test_some_requests_in_fortran_2008(recorder: Recorder) -> None:
    """MPICH 4.0 returns zero-based indices, which the recorder interprets as well as it can."""
    trace = recorder.record("""
        program some
          use mpi_f08
          implicit none
          type(MPI_Request) :: requests(2)
          integer :: rank, values(2), indices(2), count, done = 0, i
          call MPI_Init()
          call MPI_Comm_rank(MPI_COMM_WORLD, rank)
          do i = 1, 2
            call MPI_Irecv(values(i), 1, MPI_INTEGER, 1 - rank, i, MPI_COMM_WORLD, requests(i))
          end do
          do i = 1, 2
            call MPI_Send(rank, 1, MPI_INTEGER, 1 - rank, i, MPI_COMM_WORLD)
          end do
          do while (done < 2)
            call MPI_Waitsome(2, requests, count, indices, MPI_STATUSES_IGNORE)
            done = done + count
          end do
          call MPI_Finalize()
        end program
    """)
    assert trace.calls(0)[-1] == "finalize"
    if recorder.mpi.name != "MPICH":
        replay_on_graphene(trace)


def test_transpose_in_fortran_2008(recorder: Recorder) -> None:
    trace = recorded("transpose.f90", recorder)
    iteration = ["alltoall 4096 4096 0 0", "iallreduce 1 0 0 comm=1 request=0", "wait request=0"]
    assert trace.calls(3) == [
        *("init", "comm_split 0 1 1 3"),
        *iteration * 10,
        *("reduce 1 0 0 0", "comm_free 1", "finalize"),
    ]
    replay_on_graphene(trace)


def test_heat_in_fortran_77(one_recorder: Recorder) -> None:
    trace = recorded("heat.f", one_recorder)
    step = ["startall requests=0,1,2,3", "waitall requests=0,1,2,3"]
    assert trace.calls(0) == [
        "init",
        *("send_init -666 1 8 request=0", "send_init 1 2 8 request=1"),
        *("recv_init -666 2 8 request=2", "recv_init 1 1 8 request=3"),
        *step * 20,
        *(f"request_free request={request}" for request in range(4)),
        *("reduce 1 0 0 0", "finalize"),
    ]
    replay_on_graphene(trace)


def test_task_pool_keeps_any_source_and_the_source(one_recorder: Recorder) -> None:
    trace = recorded("task_pool.c", one_recorder)
    calls = trace.calls(0)
    receives = [call for call in calls if call.startswith("recv ")]
    sources = [int(call.removeprefix("recv -555 0 8 # source=")) for call in receives]
    assert len(sources) == 40 + 3
    assert {*sources} == {1, 2, 3}
    # Each answer goes to the requesting rank.
    assert [call for call in calls if call.startswith("send ")] == [
        f"send {source} 1 4" for source in sources
    ]
    # Each receive of a worker ends in one wait, however often its tests fail.
    task = ["send 0 0 8", "irecv 0 1 4 request=0", "wait request=0"]
    assert trace.calls(2) == ["init", *task * sources.count(2), "finalize"]
    replay_on_graphene(trace)


def test_ring_of_python_objects(recorder: Recorder) -> None:
    python = python_with_mpi4py(recorder.mpi)
    trace = recorder.record(python, str(EXAMPLES / "ring.py"), ranks=4)
    calls = trace.calls(1)
    assert calls[1] == "comm_split 0 1 1 1"
    assert [call.split()[0] for call in calls[2:6]] == ["isend", "probe", "recv", "wait"]
    replay_on_graphene(trace)


def test_threads_of_openmp(one_recorder: Recorder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    program = one_recorder.compile(EXAMPLES / "hybrid.c", "-fopenmp")
    trace = one_recorder.record(program)
    assert trace.calls(0) == ["init", *["allreduce 1 0 0"] * 5, "finalize"]
    assert "# threads: funneled" in trace.lines[0]
    computed = [line for line in trace.lines[0] if " threads=2 sum=" in line]
    assert len(computed) == 5
    replay_on_graphene(trace)


def recorded_sizes(
    name: str, sizes: Sequence[int], recorder: Recorder, *arguments: str
) -> dict[int, Path]:
    """Return traces of an example by number of ranks."""
    program = recorder.compile(EXAMPLES / name)
    return {
        ranks: recorder.within(str(ranks)).record(program, *arguments, ranks=ranks).file
        for ranks in sizes
    }


@pytest.mark.parametrize(
    ("name", "sizes", "targets", "arguments"),
    [
        # Grids of 3 x 3, 4 x 3 and 4 x 4 have inner ranks.
        ("wavefront.c", (9, 12, 16), (20, 25), ("4", "1")),
        # Needs more than 8 ranks: up to 8, a rank equals its index in a node of 8.
        ("transpose.f90", (4, 8, 10), (12, 14), ()),
        ("conjugate_gradient.f90", (4, 6, 8), (10, 12), ()),
        ("heat.f", (4, 6, 8), (10, 12), ()),
    ][: campaign(2, 4)],
)
def test_examples_are_exact_at_the_next_two_sizes(
    name: str,
    sizes: tuple[int, ...],
    targets: tuple[int, ...],
    arguments: tuple[str, ...],
    one_recorder: Recorder,
    tmp_path: Path,
) -> None:
    targets = targets[: campaign(1, 2)]
    files = recorded_sizes(name, (*sizes, *targets), one_recorder, *arguments)
    for target in targets:
        made = tmp_path / "made.tit"
        extrapolate([files[ranks] for ranks in sizes], target, made)
        found = check(made, files[target])
        assert found.calls >= 3 * target
        assert found.first is None


def test_nodes_of_8_that_no_size_exceeds_are_refused(
    one_recorder: Recorder, tmp_path: Path
) -> None:
    """The key of `MPI_Comm_split` could restart every 8 ranks."""
    files = recorded_sizes("transpose.f90", (4, 6, 8), one_recorder)
    with pytest.raises(InputError, match=r"comm_split.*rank; \(rank mod 8\); they differ at 12"):
        extrapolate(list(files.values()), 12, tmp_path / "made.tit")


PAGE = ROOT / "docs" / "howto" / "record_and_predict.md"
SAME = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.mark.skipif(
    platform.machine() != "x86_64" or shutil.which("gcc") is None,
    reason="GCC on x86-64 is needed",
)
def test_the_whole_chain(one_mpi: Mpi, tmp_path: Path) -> None:
    for name in ("examples", "platforms"):
        (tmp_path / name).symlink_to(ROOT / name)
    commands = tmp_path / "bin"
    commands.mkdir()
    (commands / "tisim").write_text(f'#!/bin/sh\nexec {sys.executable} -m tisim "$@"\n')
    (commands / "mpirun").write_text(f'#!/bin/sh\nexec {one_mpi.run} "$@"\n')
    for file in commands.iterdir():
        file.chmod(0o755)
    variables = {
        **os.environ,
        **ENVIRONMENT,
        "PATH": f"{commands}:{os.environ['PATH']}",
        "TISIM_CC": one_mpi.cc,
        "MPICC": one_mpi.cc,
    }
    blocks = re.findall(r"^```shell-session\n\$ (.*?)\n(.*?)^```", PAGE.read_text(), re.S | re.M)
    assert len(blocks) == 6
    for command, expected in blocks:
        run = subprocess.run(
            command, shell=True, cwd=tmp_path, env=variables, capture_output=True, text=True
        )
        assert run.returncode == 0, f"{command}\n{run.stderr}"
        printed = run.stdout + run.stderr
        same = doctest.OutputChecker().check_output(expected, printed, SAME)
        assert same, f"{command}\n{printed}"
    report = (tmp_path / "wavefront.html").read_text()
    assert "allreduce" in report
    assert re.search(r"main \(wavefront\.c:\d+\)", report)
