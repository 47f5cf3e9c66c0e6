"""One run, recorded by tisim and, as other tools would, by recorders of this test's own.

A recorder is linked into the program, and calls the functions of tisim's, which is loaded next.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.importers.recorded_events import (
    RECORDER as EVENT_RECORDER,
)
from tests.unit.importers.recorded_events import (
    Recorded,
    read_events,
    write_otf2,
    write_prv,
)
from tests.unit.record.programs import (
    EXAMPLES,
    Mpi,
    Trace,
    compile_program,
    libraries,
    record_program,
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
  MORE
  MPI_Bcast(values, 5, MPI_DOUBLE, 1, MPI_COMM_WORLD);
  MPI_Reduce(values, sums, 4, MPI_DOUBLE, MPI_MAX, 2, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
"""
# A recorder of the calls above, whose lines have the fields that liballprof's description gives.
RECORDER = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static FILE* file;

static const char* place(MPI_Comm comm) {
  static char text[64];
  int rank, size;
  PMPI_Comm_rank(comm, &rank);
  PMPI_Comm_size(comm, &size);
  snprintf(text, sizeof text, "%lu,%d,%d", (unsigned long)comm, rank, size);
  return text;
}
static int bytes(MPI_Datatype type) {
  int size;
  PMPI_Type_size(type, &size);
  return size;
}
static void line(const char* name, double start, const char* form, ...) {
  fprintf(file, "%s:%.0f", name, start * 1e6);
  va_list fields;
  va_start(fields, form);
  vfprintf(file, form, fields);
  va_end(fields);
  fprintf(file, ":%.0f\n", PMPI_Wtime() * 1e6);
}
#define BEGIN double start = PMPI_Wtime()
#define MESSAGE ":1:%d:1,%d,%d:%d:%d:%s"
#define FIELDS(peer) count, bytes(type), bytes(type), peer, tag, place(comm)

int MPI_Init(int* argc, char*** argv) {
  int rank, error = NEXT(MPI_Init)(argc, argv);
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  char name[512];
  snprintf(name, sizeof name, "%s/pmpi-trace-rank-%d.txt", getenv("RECORDED_TO"), rank);
  file = fopen(name, "w");
  fprintf(file, "# htor's PMPI Tracer\n\nMPI_Init:-:1:2:%.0f\n", PMPI_Wtime() * 1e6);
  return error;
}
int MPI_Finalize(void) {
  fprintf(file, "MPI_Finalize:%.0f:-\n", PMPI_Wtime() * 1e6);
  fclose(file);
  return NEXT(MPI_Finalize)();
}
int MPI_Send(const void* b, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  BEGIN;
  int error = NEXT(MPI_Send)(b, count, type, to, tag, comm);
  line("MPI_Send", start, MESSAGE, FIELDS(to));
  return error;
}
int MPI_Ssend(const void* b, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  BEGIN;
  int error = NEXT(MPI_Ssend)(b, count, type, to, tag, comm);
  line("MPI_Ssend", start, MESSAGE, FIELDS(to));
  return error;
}
int MPI_Recv(void* b, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
             MPI_Status* status) {
  BEGIN;
  int error = NEXT(MPI_Recv)(b, count, type, from, tag, comm, status);
  line("MPI_Recv", start, MESSAGE ":1", FIELDS(from));
  return error;
}
int MPI_Isend(const void* b, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request* request) {
  BEGIN;
  int error = NEXT(MPI_Isend)(b, count, type, to, tag, comm, request);
  line("MPI_Isend", start, MESSAGE ":%lu", FIELDS(to), (unsigned long)request);
  return error;
}
int MPI_Irecv(void* b, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
              MPI_Request* request) {
  BEGIN;
  int error = NEXT(MPI_Irecv)(b, count, type, from, tag, comm, request);
  line("MPI_Irecv", start, MESSAGE ":%lu", FIELDS(from), (unsigned long)request);
  return error;
}
int MPI_Wait(MPI_Request* request, MPI_Status* status) {
  BEGIN;
  int error = NEXT(MPI_Wait)(request, status);
  line("MPI_Wait", start, ":%lu:1", (unsigned long)request);
  return error;
}
int MPI_Waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
  BEGIN;
  int error = NEXT(MPI_Waitall)(count, requests, statuses);
  line("MPI_Waitall", start, ":%d:%lu:1", count, (unsigned long)requests);
  return error;
}
int MPI_Barrier(MPI_Comm comm) {
  BEGIN;
  int error = NEXT(MPI_Barrier)(comm);
  line("MPI_Barrier", start, ":%s", place(comm));
  return error;
}
int MPI_Bcast(void* b, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  BEGIN;
  int error = NEXT(MPI_Bcast)(b, count, type, root, comm);
  line("MPI_Bcast", start, ":1:%d:1,%d,%d:%d:%s", count, bytes(type), bytes(type), root,
       place(comm));
  return error;
}
int MPI_Reduce(const void* b, void* r, int count, MPI_Datatype type, MPI_Op op, int root,
               MPI_Comm comm) {
  BEGIN;
  int error = NEXT(MPI_Reduce)(b, r, count, type, op, root, comm);
  line("MPI_Reduce", start, ":1:2:%d:1,%d,%d:3:%d:%s", count, bytes(type), bytes(type), root,
       place(comm));
  return error;
}
int MPI_Allreduce(const void* b, void* r, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm) {
  BEGIN;
  int error = NEXT(MPI_Allreduce)(b, r, count, type, op, comm);
  line("MPI_Allreduce", start, ":1:2:%d:1,%d,%d:3:%s", count, bytes(type), bytes(type),
       place(comm));
  return error;
}
"""
# Calls that the recorder for liballprof does not know.
MORE = r"""
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
"""
# Bytes of the types that tisim's recorder names: double, int.
TYPES = {"0": 8, "1": 4}
RANKS = 3
# Where collectives have their sizes, and how many arguments they have without types.
_SIZES = {"bcast": (1, 2), "reduce": (1, 3), "allreduce": (1, 2), "gather": (2, 3)}
_SIZES["alltoall"] = (2, 2)


def calls_of(lines: list[str], *, knows_sources: bool) -> list[str]:
    """The calls of a rank with sizes in bytes, without those to no rank.

    Communicators of these programs have the world's ranks in its order, and count as the world.

    Parameters
    ----------
    lines
        Of a trace.
    knows_sources
        Whether a receive from any source is compared by the rank that it matched.
    """
    return list(_calls(lines, knows_sources))


def _calls(lines: list[str], knows_sources: bool) -> Iterator[str]:
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
            arguments[1] = "0"  # what the reduction computes
        if arguments[:1] == ["-666"]:
            continue
        if arguments[:1] == ["-555"] and knows_sources:
            arguments[0] = matched
        yield " ".join([name, *arguments, *named])


each_library = pytest.mark.parametrize(
    "mpi", libraries() or [None], ids=lambda mpi: mpi.name if mpi else "no MPI"
)


@pytest.fixture
def recorders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where compiled recorders of tisim's are kept."""
    return tmp_path_factory.getbasetemp().parent / "recorders"


def recorded_twice(
    source: Path, recorder: Path, mpi: Mpi | None, directory: Path, cache: Path, *arguments: str
) -> Trace:
    """Run a program with both recorders; what the other one wrote is in the directory."""
    if mpi is None:
        pytest.skip("no mpicc and mpirun are installed")
    program = compile_program(source, directory, mpi, str(recorder))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RECORDED_TO", str(directory))
        return record_program(program, directory, mpi, *arguments, ranks=RANKS, cache=cache)


@each_library
def test_liballprof_has_the_calls_of_the_run(
    mpi: Mpi | None, tmp_path: Path, recorders: Path
) -> None:
    source, recorder = tmp_path / "program.c", tmp_path / "recorder.c"
    source.write_text(PROGRAM.replace("MORE", ""))
    recorder.write_text(RECORDER)
    recorded = recorded_twice(source, recorder, mpi, tmp_path, recorders)
    made = convert(tmp_path / "pmpi-trace-rank-0.txt", tmp_path / "other", speed=1e9)
    assert not made.notes
    for rank in range(RANKS):
        other = (tmp_path / "other" / f"rank-{rank}.txt").read_text().splitlines()
        found = calls_of(other, knows_sources=False)
        assert found == calls_of(recorded.lines[rank], knows_sources=False)


def otf2_of(recorded: Recorded, directory: Path) -> Path:
    pytest.importorskip("otf2", reason="the package otf2 is not installed")
    write_otf2(recorded, directory / "scorep")
    return directory / "scorep"


def prv_of(recorded: Recorded, directory: Path) -> Path:
    write_prv(recorded, directory / "run.prv")
    return directory / "run.prv"


@each_library
@pytest.mark.parametrize("program", ["program.c", "wavefront.c", "task_pool.c"])
def test_otf2_and_paraver_have_the_calls_of_the_run(
    mpi: Mpi | None, program: str, tmp_path: Path, recorders: Path
) -> None:
    source = EXAMPLES / program
    if program == "program.c":
        source = tmp_path / program
        source.write_text(PROGRAM.replace("MORE", MORE))
    arguments = ("16", "4") if program == "wavefront.c" else ()
    recorded = recorded_twice(source, EVENT_RECORDER, mpi, tmp_path, recorders, *arguments)
    events = read_events(tmp_path, RANKS)
    for name, written in (("paraver", prv_of), ("otf2", otf2_of)):
        made = convert(written(events, tmp_path), tmp_path / name, speed=1e9)
        assert made.format == name
        for rank in range(RANKS):
            other = (tmp_path / name / f"rank-{rank}.txt").read_text().splitlines()
            calls = calls_of(recorded.lines[rank], knows_sources=True)
            assert calls_of(other, knows_sources=True) == calls
        # Which worker has how many tasks differs from run to run.
        assert max(len(calls_of(lines, knows_sources=True)) for lines in recorded.lines) > 10
