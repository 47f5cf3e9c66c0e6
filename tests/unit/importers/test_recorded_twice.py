"""One run recorded both by tisim and by this test's own recorder, as another tool would.

The latter is linked into the program and calls the functions of tisim's recorder, loaded after it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.importers.recorded_events import (
    RECORDER,
    Recorded,
    read_events,
    write_otf2,
    write_prv,
)
from tests.unit.record.programs import (
    EXAMPLES,
    Recorder,
)
from tisim.traces.importers import convert

PROGRAM = r"""
#include <mpi.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size, numbers[64] = {0};
  double sums[8], values[8] = {0};
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int next = (rank + 1) % size, before = (rank + size - 1) % size;
  for (int step = 0; step < 5; step++) {
    MPI_Request requests[2], one;
    MPI_Irecv(numbers, 16, MPI_INT, before, step, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(numbers + 16, 16, MPI_INT, next, step, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Irecv(numbers, 8, MPI_INT, MPI_ANY_SOURCE, 50, MPI_COMM_WORLD, &one);
    MPI_Send(numbers + 16, 8, MPI_INT, next, 50, MPI_COMM_WORLD);
    MPI_Wait(&one, MPI_STATUS_IGNORE);
    if (rank == 0) MPI_Ssend(values, 3, MPI_DOUBLE, next, 9, MPI_COMM_WORLD);
    if (rank == 1) MPI_Recv(values, 3, MPI_DOUBLE, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Allreduce(values, sums, 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  for (int step = 0; step < 3; step++) {
    MPI_Request request;
    int arrived = 0;
    MPI_Sendrecv(numbers, 4, MPI_INT, next, 7, numbers + 8, 4, MPI_INT, before, 7, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Irecv(values, 2, MPI_DOUBLE, MPI_ANY_SOURCE, 8, MPI_COMM_WORLD, &request);
    MPI_Send(sums, 2, MPI_DOUBLE, before, 8, MPI_COMM_WORLD);
    while (!arrived) MPI_Test(&request, &arrived, MPI_STATUS_IGNORE);
  }
  double gathered[64];
  MPI_Gather(values, 5, MPI_DOUBLE, gathered, 5, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  MPI_Alltoall(values, 2, MPI_DOUBLE, gathered, 2, MPI_DOUBLE, MPI_COMM_WORLD);
  MPI_Bcast(values, 5, MPI_DOUBLE, 1, MPI_COMM_WORLD);
  MPI_Reduce(values, sums, 4, MPI_DOUBLE, MPI_MAX, 2, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
"""
# Bytes of the types in tisim's recordings: double, int.
TYPES = {"0": 8, "1": 4}
RANKS = 3
# Number of leading size arguments of collectives, and number of arguments without types.
_SIZES = {"bcast": (1, 2), "reduce": (1, 3), "allreduce": (1, 2), "gather": (2, 3)}
_SIZES["alltoall"] = (2, 2)


def calls_of(lines: list[str]) -> list[str]:
    """Return the calls of a rank with sizes in bytes and matched sources; skip MPI_PROC_NULL.

    These programs' communicators have the world's ranks in its order, and count as the world.
    """
    return list(_calls(lines))


def _calls(lines: list[str]) -> Iterator[str]:
    matched = ""
    for line in lines:
        if line.startswith("# @ "):
            matched = line.partition("matched=")[2]
        words = line.partition("#")[0].split()[1:]
        if not words or words[0] in ("compute", "init", "finalize") or words[0].startswith("comm_"):
            continue
        named = [word for word in words if "=" in word and not word.startswith("comm=")]
        name, *arguments = [word for word in words if "=" not in word]
        if name in _SIZES:
            sizes, usual = _SIZES[name]
            types = arguments[usual:]
            for place in range(sizes):
                each = types[min(place, len(types) - 1)] if types else None
                arguments[place] = str(int(arguments[place]) * TYPES.get(each or "", 1))
            del arguments[usual:]
        elif len(arguments) > 3:
            arguments[2] = str(int(arguments[2]) * TYPES[arguments.pop()])
        if name in ("reduce", "allreduce"):
            arguments[1] = "0"  # operation of the reduction
        if arguments[:1] == ["-666"]:
            continue
        if arguments[:1] == ["-555"]:
            arguments[0] = matched
        yield " ".join([name, *arguments, *named])


def otf2_of(recorded: Recorded, directory: Path) -> Path:
    pytest.importorskip("otf2", reason="the package otf2 is not installed")
    write_otf2(recorded, directory / "scorep")
    return directory / "scorep"


def prv_of(recorded: Recorded, directory: Path) -> Path:
    write_prv(recorded, directory / "run.prv")
    return directory / "run.prv"


@pytest.mark.parametrize("program", ["program.c", "wavefront.c", "task_pool.c"])
def test_otf2_and_paraver_have_the_calls_of_the_run(
    program: str, recorder: Recorder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = PROGRAM if program == "program.c" else EXAMPLES / program
    arguments = ("16", "4") if program == "wavefront.c" else ()
    built = recorder.compile(source, str(RECORDER))
    monkeypatch.setenv("RECORDED_TO", str(tmp_path))
    recorded = recorder.record(built, *arguments, ranks=RANKS)
    events = read_events(tmp_path, RANKS)
    for name, written in (("paraver", prv_of), ("otf2", otf2_of)):
        made = convert(written(events, tmp_path), tmp_path / name, speed=1e9)
        assert made.format == name
        for rank in range(RANKS):
            other = (tmp_path / name / f"rank-{rank}.txt").read_text().splitlines()
            calls = calls_of(recorded.lines[rank])
            assert calls_of(other) == calls
        # The distribution of tasks to workers differs between runs.
        assert max(len(calls_of(lines)) for lines in recorded.lines) > 10
