"""What a program does between failed tests is waiting, and in no volume."""

from __future__ import annotations

import platform
import shutil
from pathlib import Path

import pytest

from tests.unit.record.programs import Mpi, record_program, replay_on_graphene
from tests.unit.record.test_register import tisim_compile

pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64" or shutil.which("gcc") is None,
    reason="GCC on x86-64 is needed",
)

# Rank 1 answers rank 0 at once or after so many microseconds: the machine is idle or loaded. Rank 0
# polls in every way that there is, and computes in chunks of CHUNK turns between tests.
PROGRAM = """
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>
static volatile int turns;
static void work(int chunk) { for (int i = 0; i < chunk; ++i) ++turns; }
int main(int argc, char **argv) {
  int rank, flag, count, index, indices[2], value = 1, values[2], window = 0;
  MPI_Status statuses[2]; MPI_Request one, two[2]; MPI_Message message; MPI_Win win;
  MPI_Group all, other;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
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
    for (int i = 0; i < 100; ++i) { work(1000); MPI_Test(&one, &flag, MPI_STATUS_IGNORE); }
    MPI_Wait(&one, MPI_STATUS_IGNORE);
  }
  MPI_Win_free(&win);
  MPI_Finalize();
  return 0;
}
"""


def volumes(lines: list[str]) -> list[int]:
    return [int(line.split()[2]) for line in lines if line.split()[1] == "compute"]


def test_a_loaded_machine_changes_no_volume(one_mpi: Mpi, tmp_path: Path) -> None:
    source = tmp_path / "polling.c"
    source.write_text(PROGRAM)
    program = tmp_path / "polling"
    compiled = tisim_compile("cc", "-O1", source, "-o", program, compiler=one_mpi.cc)
    assert compiled.returncode == 0, compiled.stderr
    traces = [
        record_program(program, tmp_path, one_mpi, delay, ranks=2) for delay in ("0", "20000")
    ]
    assert "polling: " in traces[1].run.stderr
    calls = traces[1].calls(0)
    assert calls[calls.index("irecv 1 4 4 request=0") + 1] == "wait request=0"
    assert calls.count("wait request=0") == 4
    # The last two volumes of rank 0 are the work between tests, which are taken as they come.
    lines = [[line for line in trace.lines[0] if not line.startswith("#")] for trace in traces]
    last = [len(rank) - 1 - rank[::-1].index("0 irecv 1 9 4 request=0") for rank in lines]
    assert lines[0][: last[0]] == lines[1][: last[1]]
    assert traces[0].lines[1] == traces[1].lines[1]
    for rank, begin in zip(lines, last, strict=True):
        assert sum(volumes(rank[begin:])) > 100 * 4 * 1000
    replay_on_graphene(traces[1])


def test_all_of_it_is_computation_on_request(one_mpi: Mpi, tmp_path: Path) -> None:
    source = tmp_path / "polling.c"
    source.write_text(PROGRAM)
    program = tmp_path / "polling"
    tisim_compile("cc", "-O1", source, "-o", program, compiler=one_mpi.cc)
    usual = record_program(program, tmp_path, one_mpi, "20000", ranks=2)
    work = sum(volumes(usual.lines[0]))
    options = ("--longest-poll", "0")
    room = tmp_path / "all"
    room.mkdir()
    trace = record_program(program, room, one_mpi, "20000", ranks=2, options=options)
    assert "polling: " not in trace.run.stderr
    # Nine loops wait 20 ms each; where processors are busy, MPI_Test gives its own away.
    assert sum(volumes(trace.lines[0])) > 1.01 * work
