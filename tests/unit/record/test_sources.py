"""Whom receives from any source have matched."""

from __future__ import annotations

from pathlib import Path

import tisim
from tests.unit.record.programs import ROOT, Mpi, compile_program, record_program

# A persistent receive from any source matches rank 2, which computes for long, before rank 1, which
# sleeps still longer and computes nothing.
PERSISTENT = """
#include <mpi.h>
#include <unistd.h>
int main(int argc, char **argv) {
  int rank, value = 0;
  MPI_Request request;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    MPI_Recv_init(&value, 1, MPI_INT, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &request);
    for (int i = 0; i < 2; ++i) {
      MPI_Start(&request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&request);
  } else {
    volatile int more = 100000000;
    if (rank == 1) sleep(4); else while (more > 0) --more;
    MPI_Send(&rank, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
"""

# Rank 0 receives from any rank in every way there is, twice each.
PROGRAM = """
#include <mpi.h>
int main(int argc, char **argv) {
  int rank, ranks, values[8];
  MPI_Request requests[4];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int way = 0; way < 5; ++way) {
    if (rank != 0) {
      MPI_Send(&rank, 1, MPI_INT, 0, way, MPI_COMM_WORLD);
    } else if (way == 0) {
      for (int i = 0; i < 2; ++i) {
        MPI_Recv(values, 1, MPI_INT, MPI_ANY_SOURCE, way, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      }
    } else if (way == 1) {
      for (int i = 0; i < 2; ++i) {
        MPI_Irecv(&values[i], 1, MPI_INT, MPI_ANY_SOURCE, way, MPI_COMM_WORLD, &requests[i]);
      }
      MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    } else if (way == 2) {
      MPI_Recv_init(values, 1, MPI_INT, MPI_ANY_SOURCE, way, MPI_COMM_WORLD, requests);
      for (int i = 0; i < 2; ++i) {
        MPI_Start(requests);
        MPI_Wait(requests, MPI_STATUS_IGNORE);
      }
      MPI_Request_free(requests);
    } else if (way == 3) {
      for (int i = 0; i < 2; ++i) {
        MPI_Recv_init(&values[i], 1, MPI_INT, MPI_ANY_SOURCE, way, MPI_COMM_WORLD, &requests[i]);
      }
      MPI_Startall(2, requests);
      MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
      for (int i = 0; i < 2; ++i) MPI_Request_free(&requests[i]);
    } else {
      for (int i = 0; i < 2; ++i) {
        MPI_Sendrecv(values, 1, MPI_INT, MPI_PROC_NULL, 0, values, 1, MPI_INT, MPI_ANY_SOURCE, way,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      }
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
"""


def test_every_receive_says_whom_it_has_matched(one_mpi: Mpi, tmp_path: Path) -> None:
    source = tmp_path / "program.c"
    source.write_text(PROGRAM)
    program = compile_program(source, tmp_path, one_mpi)
    trace = record_program(program, tmp_path, one_mpi, ranks=3)
    opened = tisim.Trace.open(trace.file)
    matched = [values["matched"] for _, values in opened.attributes_of(0) if "matched" in values]
    assert len(matched) == 10
    assert [sorted(map(int, matched[i : i + 2])) for i in range(0, 10, 2)] == [[1, 2]] * 5
    platform = tisim.Platform.load(ROOT / "platforms" / "graphene.xml")
    config = tisim.Config({"tisim/sources": "matched"})
    result = tisim.replay(trace.file, platform=platform, config=config)
    assert result.simulated_time > 0


def test_a_persistent_receive_takes_what_it_matched(one_mpi: Mpi, tmp_path: Path) -> None:
    """In the replay rank 1, which slept, sends first."""
    source = tmp_path / "program.c"
    source.write_text(PERSISTENT)
    program = compile_program(source, tmp_path, one_mpi)
    trace = record_program(program, tmp_path, one_mpi, ranks=3)
    platform = ROOT / "platforms" / "graphene.xml"
    sources = {}
    for choice in ("any", "matched"):
        result = tisim.replay(
            trace.file, platform=platform, config={"tisim/sources": choice}, event_log=True
        )
        messages = result.require_event_log().messages
        sources[choice] = messages.sort_values("received")["source"].to_list()
    assert sources == {"any": [1, 2], "matched": [2, 1]}
