"""Volumes exclude polling between failed tests, and QEMU counts the same as the register."""

from __future__ import annotations

import os
import platform
import shutil
from pathlib import Path

import pytest

from tests.unit.record.programs import (
    Mpi,
    Recorder,
    Trace,
    replay_on_graphene,
    tisim_record,
)
from tisim.traces.record.launch import emulated

needs_gcc = pytest.mark.skipif(
    platform.machine() != "x86_64" or shutil.which("gcc") is None,
    reason="GCC on x86-64 is needed",
)

# Rank 1 answers rank 0 at once, or after this many microseconds as on a loaded machine. Rank 0
# polls in every possible way, and finally computes between tests.
PROGRAM = """
  static volatile int turns;
  int flag, count, index, indices[2], value = 1, values[2], window = 0;
  MPI_Status statuses[2]; MPI_Request one, two[2]; MPI_Message message; MPI_Win win;
  MPI_Group all, other;
  MPI_Win_create(&window, sizeof window, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Group_incl(all, 1, (int[]){1 - rank}, &other);
  const int delay = atoi(argv[1]);
#define NEXT(number) MPI_Barrier(MPI_COMM_WORLD); \
  if (rank == 1) { usleep(delay); MPI_Send(&value, 1, MPI_INT, 0, number, MPI_COMM_WORLD); }
#define POST(request, number) \
  MPI_Irecv(&value, 1, MPI_INT, 1, number, MPI_COMM_WORLD, request)
#define BOTH(number) POST(&two[0], number); POST(&two[1], number);
  NEXT(1)
  if (rank == 0) { POST(&one, 1); do MPI_Test(&one, &flag, statuses); while (!flag); }
  NEXT(2)
  if (rank == 0) {
    do MPI_Iprobe(1, 2, MPI_COMM_WORLD, &flag, statuses); while (!flag);
    MPI_Recv(&value, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  NEXT(3)
  if (rank == 0) {
    do MPI_Improbe(MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &flag, &message, statuses); while (!flag);
    MPI_Mrecv(&value, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
  }
  NEXT(4)
  if (rank == 0) {
    POST(&one, 4);
    do MPI_Request_get_status(one, &flag, statuses); while (!flag);
    MPI_Wait(&one, MPI_STATUS_IGNORE);
  }
  NEXT(5) NEXT(5)
  if (rank == 0) { BOTH(5) do MPI_Testall(2, two, &flag, statuses); while (!flag); }
  NEXT(6)
  if (rank == 0) {
    POST(&two[0], 6);
    two[1] = MPI_REQUEST_NULL;
    do MPI_Testany(2, two, &index, &flag, statuses); while (!flag);
  }
  NEXT(7)
  if (rank == 0) {
    POST(&two[0], 7);
    do MPI_Testsome(1, two, &count, indices, statuses); while (count == 0);
  }
  NEXT(8)
  if (rank == 0) { /* two things in turn, of which one never happens */
    POST(&two[0], 8);
    POST(&two[1], 99);
    do {
      MPI_Iprobe(1, 98, MPI_COMM_WORLD, &index, MPI_STATUS_IGNORE);
      MPI_Test(&two[1], &index, MPI_STATUS_IGNORE);
      MPI_Test(&two[0], &flag, MPI_STATUS_IGNORE);
    } while (!flag);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) MPI_Send(&value, 1, MPI_INT, 0, 99, MPI_COMM_WORLD);
  if (rank == 0) MPI_Wait(&two[1], MPI_STATUS_IGNORE);
  if (rank == 0) {
    MPI_Win_post(other, 0, win);
    do MPI_Win_test(win, &flag); while (!flag);
  } else {
    usleep(delay);
    MPI_Win_start(other, 0, win);
    MPI_Win_complete(win);
  }
  NEXT(9)
  if (rank == 0) { /* useful work between tests, which is there to be done in any case */
    POST(&one, 9);
    for (int i = 0; i < 100; ++i) {
      for (int turn = 0; turn < 1000; ++turn) ++turns;
      MPI_Test(&one, &flag, MPI_STATUS_IGNORE);
    }
    MPI_Wait(&one, MPI_STATUS_IGNORE);
  }
  MPI_Win_free(&win);
"""


def volumes(lines: list[str]) -> list[int]:
    return [int(line.split()[2]) for line in lines if line.split()[1] == "compute"]


@needs_gcc
def test_a_loaded_machine_changes_no_volume(one_recorder: Recorder) -> None:
    program = one_recorder.compile(PROGRAM, counting=True)
    traces = [one_recorder.record(program, delay) for delay in ("0", "20000")]
    assert "polling: " in traces[1].run.stderr
    calls = traces[1].calls(0)
    assert calls[calls.index("irecv 1 4 4 request=0") + 1] == "wait request=0"
    assert calls.count("wait request=0") == 4
    # The last two volumes of rank 0 are work between tests, divided where a test succeeds.
    lines = [[line for line in trace.lines[0] if not line.startswith("#")] for trace in traces]
    last = [len(rank) - 1 - rank[::-1].index("0 irecv 1 9 4 request=0") for rank in lines]
    assert lines[0][: last[0]] == lines[1][: last[1]]
    assert traces[0].lines[1] == traces[1].lines[1]
    for rank, begin in zip(lines, last, strict=True):
        assert sum(volumes(rank[begin:])) > 100 * 4 * 1000
    replay_on_graphene(traces[1])


@needs_gcc
def test_all_of_it_is_computation_on_request(one_recorder: Recorder) -> None:
    program = one_recorder.compile(PROGRAM, counting=True)
    usual = one_recorder.record(program, "20000")
    work = sum(volumes(usual.lines[0]))
    trace = one_recorder.record(program, "20000", options="--longest-poll 0")
    assert "polling: " not in trace.run.stderr
    # The number of polls in nine waits of 20 ms depends on the load; the work does not.
    assert sum(volumes(trace.lines[0])) > work


EMULATED = pytest.mark.skipif(
    platform.machine() != "x86_64" or shutil.which("qemu-x86_64") is None,
    reason="qemu-x86_64 is needed",
)

# No library call inside a region; `rep movsb` counts once regardless of its length.
COUNTED = """
#include <mpi.h>
static double field[5000];
static char from[100000], to[100000];
static double sweep(int turns) {
  double sum = 0;
  for (int t = 0; t < turns; ++t)
    for (int i = 0; i < 5000; ++i) { field[i] = 0.5 * field[i] + t % 3; sum += field[i]; }
  return sum;
}
static void copy(long count) {
  void *target = to;
  const void *source = from;
  __asm__ volatile("rep movsb" : "+D"(target), "+S"(source), "+c"(count) : : "memory");
}
int main(int argc, char **argv) {
  int rank;
  double sum = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int step = 1; step < 5; ++step) {
    sum += sweep(step * (1 + rank));
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < step; ++i) copy(1000 * step);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return sum < 0;
}
"""


def between_barriers(trace: Trace, rank: int) -> list[str]:
    """Return the computations between the first and the last barrier."""
    lines = [line for line in trace.lines[rank] if not line.startswith("#")]
    barriers = [i for i, line in enumerate(lines) if line.endswith(" barrier")]
    return [line for line in lines[barriers[0] : barriers[-1]] if " compute " in line]


@EMULATED
def test_qemu_counts_what_the_register_counts(one_recorder: Recorder) -> None:
    program = one_recorder.compile(COUNTED, counting=True)
    traces = [
        one_recorder.record(program, options=f"--counter {counter}")
        for counter in ("register", "qemu", "qemu")
    ]
    for rank in range(2):
        counted = between_barriers(traces[0], rank)
        assert len(counted) == 8
        assert between_barriers(traces[1], rank) == counted
        assert between_barriers(traces[2], rank) == counted
    assert "counter: qemu, instructions of all code" in traces[1].run.stderr
    assert not [*Path("/dev/shm").glob("trace.tit.parts-*")]


def test_programs_are_found_in_the_path() -> None:
    """QEMU itself does not search the path."""
    words = emulated(
        ["mpirun", "-n", "2", "sh", "-c", "a", ":", "-n", "1", "/bin/sh"], ["qemu", "-x"]
    )
    both = ["qemu", "-x", shutil.which("sh"), "-c", "a", ":", "-n", "1", "qemu", "-x", "/bin/sh"]
    assert words == ["mpirun", "-n", "2", *both]


@EMULATED
def test_qemu_counts_unmodified_programs(one_recorder: Recorder) -> None:
    trace = one_recorder.record(COUNTED, options="--counter qemu")
    # The inner loop has a few instructions for each of the 5,000 points.
    first = int(between_barriers(trace, 0)[0].split()[2])
    assert 5 * 5000 < first < 20 * 5000


def test_no_qemu(one_mpi: Mpi, tmp_path: Path) -> None:
    """All commands of this machine are available except QEMU's."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for place in os.get_exec_path():
        for command in Path(place).glob("*"):
            if not command.name.startswith("qemu") and not (folder / command.name).is_symlink():
                (folder / command.name).symlink_to(command)
    run = tisim_record(
        *("-o", tmp_path / "a.tit", "--counter", "qemu", "--mpicc", shutil.which(one_mpi.cc) or ""),
        *("--", shutil.which(one_mpi.run) or "", "-n", "2", "/bin/true"),
        variables={"PATH": str(folder)},
    )
    assert run.returncode == 2
    assert "under qemu-x86_64, which is not installed" in run.stderr
