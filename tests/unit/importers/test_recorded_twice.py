"""One program, recorded by tisim and, as liballprof would, by a library of this test's own."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.unit.record.programs import ENVIRONMENT, Mpi, compile_program, libraries, record_program
from tisim.formats.importers import convert

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
  MPI_Bcast(values, 5, MPI_DOUBLE, 1, MPI_COMM_WORLD);
  MPI_Reduce(values, sums, 4, MPI_DOUBLE, MPI_MAX, 2, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
"""
# A recorder of the calls above, whose lines have the fields that liballprof's description gives.
RECORDER = r"""
#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

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
  int rank, error = PMPI_Init(argc, argv);
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
  return PMPI_Finalize();
}
int MPI_Send(const void* b, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  BEGIN;
  int error = PMPI_Send(b, count, type, to, tag, comm);
  line("MPI_Send", start, MESSAGE, FIELDS(to));
  return error;
}
int MPI_Ssend(const void* b, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  BEGIN;
  int error = PMPI_Ssend(b, count, type, to, tag, comm);
  line("MPI_Ssend", start, MESSAGE, FIELDS(to));
  return error;
}
int MPI_Recv(void* b, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
             MPI_Status* status) {
  BEGIN;
  int error = PMPI_Recv(b, count, type, from, tag, comm, status);
  line("MPI_Recv", start, MESSAGE ":1", FIELDS(from));
  return error;
}
int MPI_Isend(const void* b, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request* request) {
  BEGIN;
  int error = PMPI_Isend(b, count, type, to, tag, comm, request);
  line("MPI_Isend", start, MESSAGE ":%lu", FIELDS(to), (unsigned long)request);
  return error;
}
int MPI_Irecv(void* b, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
              MPI_Request* request) {
  BEGIN;
  int error = PMPI_Irecv(b, count, type, from, tag, comm, request);
  line("MPI_Irecv", start, MESSAGE ":%lu", FIELDS(from), (unsigned long)request);
  return error;
}
int MPI_Wait(MPI_Request* request, MPI_Status* status) {
  BEGIN;
  int error = PMPI_Wait(request, status);
  line("MPI_Wait", start, ":%lu:1", (unsigned long)request);
  return error;
}
int MPI_Waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
  BEGIN;
  int error = PMPI_Waitall(count, requests, statuses);
  line("MPI_Waitall", start, ":%d:%lu:1", count, (unsigned long)requests);
  return error;
}
int MPI_Barrier(MPI_Comm comm) {
  BEGIN;
  int error = PMPI_Barrier(comm);
  line("MPI_Barrier", start, ":%s", place(comm));
  return error;
}
int MPI_Bcast(void* b, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  BEGIN;
  int error = PMPI_Bcast(b, count, type, root, comm);
  line("MPI_Bcast", start, ":1:%d:1,%d,%d:%d:%s", count, bytes(type), bytes(type), root,
       place(comm));
  return error;
}
int MPI_Reduce(const void* b, void* r, int count, MPI_Datatype type, MPI_Op op, int root,
               MPI_Comm comm) {
  BEGIN;
  int error = PMPI_Reduce(b, r, count, type, op, root, comm);
  line("MPI_Reduce", start, ":1:2:%d:1,%d,%d:3:%d:%s", count, bytes(type), bytes(type), root,
       place(comm));
  return error;
}
int MPI_Allreduce(const void* b, void* r, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm) {
  BEGIN;
  int error = PMPI_Allreduce(b, r, count, type, op, comm);
  line("MPI_Allreduce", start, ":1:2:%d:1,%d,%d:3:%s", count, bytes(type), bytes(type),
       place(comm));
  return error;
}
"""
# Bytes of the types that tisim's recorder names: double, int.
TYPES = {"0": 8, "1": 4}
RANKS = 3


def calls_of(lines: list[str]) -> list[str]:
    """The calls of a rank with sizes in bytes."""
    calls = []
    for line in lines:
        words = line.split("#")[0].split()[1:]
        if not words or words[0] in ("compute", "init", "finalize", "comm_size", "location"):
            continue
        named = [word for word in words if "=" in word]
        plain = [word for word in words if "=" not in word]
        name, arguments = plain[0], plain[1:]
        size = {"bcast": 0, "reduce": 0, "allreduce": 0}.get(name, 2)
        usual = {"bcast": 2, "reduce": 3, "allreduce": 2}.get(name, 3)
        if len(arguments) > usual:
            arguments[size] = str(int(arguments[size]) * TYPES[arguments.pop()])
        if name == "reduce" or name == "allreduce":
            arguments[1] = "0"  # what the reduction computes
        calls.append(" ".join([name, *arguments, *named]))
    return calls


@pytest.mark.parametrize(
    "mpi", libraries() or [None], ids=lambda mpi: mpi.name if mpi else "no MPI"
)
def test_both_recorders_have_the_same_calls(
    mpi: Mpi | None, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    if mpi is None:
        pytest.skip("no mpicc and mpirun are installed")
    source, recorder = tmp_path / "program.c", tmp_path / "recorder.c"
    source.write_text(PROGRAM)
    recorder.write_text(RECORDER)
    program = compile_program(source, tmp_path, mpi)
    cache = tmp_path_factory.getbasetemp().parent / "recorders"
    recorded = record_program(program, tmp_path, mpi, ranks=RANKS, cache=cache)
    traced = compile_program(source, tmp_path, mpi, str(recorder))
    subprocess.run(
        [mpi.run, "-n", str(RANKS), str(traced)],
        env={**os.environ, **ENVIRONMENT, "RECORDED_TO": str(tmp_path)},
        check=True,
        capture_output=True,
    )
    made = convert(tmp_path / "pmpi-trace-rank-0.txt", tmp_path / "other", speed=1e9)
    assert not made.notes
    for rank in range(RANKS):
        other = (tmp_path / "other" / f"rank-{rank}.txt").read_text().splitlines()
        assert calls_of(other) == calls_of(recorded.lines[rank])
