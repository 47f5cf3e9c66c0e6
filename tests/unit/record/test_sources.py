"""Matches of receives from any source, and programs whose messages depend on them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache as cached
from pathlib import Path

import pytest

import tisim
from tests.support import GRAPHENE, campaign
from tests.unit.record.programs import (
    ROOT,
    Recorder,
    Trace,
)
from tisim import Platform
from tisim.platform import new
from tisim.studies.execute import execute
from tisim.traces import check

# A persistent receive from any source matches rank 2, which computes for a long time, before
# rank 1, which sleeps even longer and computes nothing.
PERSISTENT = """
  int value = 0;
  MPI_Request request;
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
"""

# Rank 0 receives from any source in every possible way, twice each.
PROGRAM = """
  int values[8];
  MPI_Request requests[4];
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
"""


def test_every_receive_says_whom_it_has_matched(one_recorder: Recorder) -> None:
    trace = one_recorder.record(PROGRAM, ranks=3)
    opened = tisim.Trace.open(trace.file)
    matched = [values["matched"] for _, values in opened.attributes_of(0) if "matched" in values]
    assert len(matched) == 10
    assert [sorted(map(int, matched[i : i + 2])) for i in range(0, 10, 2)] == [[1, 2]] * 5
    result = tisim.replay(trace.file, platform=GRAPHENE, config={"tisim/sources": "matched"})
    assert result.simulated_time > 0


def test_a_persistent_receive_takes_what_it_matched(one_recorder: Recorder) -> None:
    """In the replay, rank 1, which slept, sends first."""
    trace = one_recorder.record(PERSISTENT, ranks=3)
    sources = {}
    for choice in ("any", "matched"):
        result = tisim.replay(
            trace.file, platform=GRAPHENE, config={"tisim/sources": choice}, event_log=True
        )
        messages = result.require_event_log().messages
        sources[choice] = messages.sort_values("received")["source"].to_list()
    assert sources == {"any": [1, 2], "matched": [2, 1]}


SOURCES = Path(__file__).parent / "steered"
SEEDS = campaign(3, 250)  # per MPI library
PATTERNS = 6  # in the Fortran program

CHOICES = [
    {"tisim/sources": sources, "tisim/completions": completions}
    for sources in ("any", "matched")
    for completions in ("matched", "free")
]


@cached
def platforms() -> list[Platform]:
    hardware = {"bandwidth": "10Gbps", "latency": "2us", "speed": "2Gf"}
    named = ("graphene", "backbone", "fattree")
    return [
        *(Platform.load(ROOT / "platforms" / f"{name}.xml") for name in named),
        new.torus(16, dims=(4, 4), **hardware),  # type: ignore[arg-type]
        new.dragonfly(16, **hardware),  # type: ignore[arg-type]
    ]


def replays(trace: Trace) -> Iterator[Mapping[str, float]]:
    """Yield the simulated times on each platform, by configuration; every replay must end."""
    found = check(tisim.Trace.open(trace.file))
    assert found.sound, found.findings
    for platform in platforms():
        times = {}
        for choice in CHOICES:
            config = tisim.Config(choice)
            result = tisim.replay(trace.file, platform=platform, config=config)
            times["/".join(choice.values())] = result.simulated_time
        yield times


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("programs")


@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_steered_program_replays(seed: int, recorder: Recorder, programs: Path) -> None:
    program = programs / f"steered{recorder.mpi.suffix}"
    if not program.exists():
        Recorder(recorder.mpi, programs).compile(SOURCES / "steered.c", "-w")
    trace = recorder.record(program, str(seed), ranks=2 + seed % 4)
    for times in replays(trace):
        assert min(times.values()) > 0


@pytest.mark.parametrize("pattern", range(PATTERNS))
def test_tasks_in_fortran_replay_and_execute(
    pattern: int, one_recorder: Recorder, programs: Path
) -> None:
    program = programs / "fortran" / f"steered{one_recorder.mpi.suffix}"
    if not program.exists():
        program.parent.mkdir(exist_ok=True)
        Recorder(one_recorder.mpi, program.parent).compile(SOURCES / "steered.f90")
    trace = one_recorder.record(program, str(pattern), ranks=4)
    calls = ("waitany", "waitsome", "waitany", "waitsome", "recv -555", "probe -555")
    chosen = [line for line in trace.calls(0) if line.startswith(calls[pattern])]
    assert chosen
    assert all("completed=" in line for line in chosen if pattern < 4)
    for times in replays(trace):
        assert min(times.values()) > 0
    opened = tisim.Trace.open(trace.file)
    mpi = one_recorder.mpi
    done = execute(opened, [mpi.run], repeat=1, compute="none", compiler=mpi.cc)
    assert len(done.repetitions) == 1


def test_the_first_source_decides_what_is_left(recorder: Recorder) -> None:
    """The first message's source is received from again after rank 1, which sends late here."""
    body = """
    MPI_Status status;
    if (rank == 1) sleep(1);
    if (rank == 0) {
      MPI_Recv(NULL, 0, MPI_INT, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &status);
      CHECK(status.MPI_SOURCE == 2);
      MPI_Recv(NULL, 0, MPI_INT, 1, 5, MPI_COMM_WORLD, &status);
      MPI_Recv(NULL, 0, MPI_INT, 2, 5, MPI_COMM_WORLD, &status);
    } else {
      MPI_Send(NULL, 0, MPI_INT, 0, 5, MPI_COMM_WORLD);
      if (rank == 2) MPI_Send(NULL, 0, MPI_INT, 0, 5, MPI_COMM_WORLD);
    }
    """
    trace = recorder.record(body, ranks=3)
    for times in replays(trace):
        assert times["any/matched"] == times["matched/matched"]
    notes = [finding.message for finding in check(tisim.Trace.open(trace.file)).findings]
    assert any("from any source determine the messages left" in note for note in notes)
