"""Programs whose next messages depend on what is complete first: whatever they record replays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache as cached
from pathlib import Path

import pytest

import tisim
from tests.campaign import campaign
from tests.unit.record.programs import (
    ENVIRONMENT,
    ROOT,
    Mpi,
    Trace,
    compile_body,
    compile_program,
    need_fortran,
    record_program,
)
from tisim import Platform
from tisim.platform import new
from tisim.studies.execute import execute
from tisim.traces import check

SOURCES = Path(__file__).parent / "steered"
SEEDS = campaign(3, 250)  # per MPI library
PATTERNS = 6  # of the program in Fortran

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
    """The simulated time on each platform, by choice; each replay ends."""
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
def test_a_steered_program_replays(seed: int, mpi: Mpi, programs: Path, tmp_path: Path) -> None:
    program = programs / f"steered{mpi.suffix}"
    if not program.exists():
        compile_program(SOURCES / "steered.c", programs, mpi, "-w")
    trace = record_program(program, tmp_path, mpi, str(seed), ranks=2 + seed % 4)
    for times in replays(trace):
        assert min(times.values()) > 0


@pytest.mark.parametrize("pattern", range(PATTERNS))
def test_tasks_in_fortran_replay_and_execute(
    pattern: int, one_mpi: Mpi, programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need_fortran(one_mpi)
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    program = programs / "fortran" / f"steered{one_mpi.suffix}"
    if not program.exists():
        program.parent.mkdir(exist_ok=True)
        compile_program(SOURCES / "steered.f90", program.parent, one_mpi)
    trace = record_program(program, tmp_path, one_mpi, str(pattern), ranks=4)
    calls = ("waitany", "waitsome", "waitany", "waitsome", "recv -555", "probe -555")
    chosen = [line for line in trace.calls(0) if line.startswith(calls[pattern])]
    assert chosen
    assert all("completed=" in line for line in chosen if pattern < 4)
    for times in replays(trace):
        assert min(times.values()) > 0
    opened = tisim.Trace.open(trace.file)
    done = execute(opened, [one_mpi.run], repeat=1, compute="none", compiler=one_mpi.cc)
    assert len(done.repetitions) == 1


def test_the_first_source_decides_what_is_left(mpi: Mpi, tmp_path: Path) -> None:
    """Whoever comes first is heard once more behind the other one, which sends late here."""
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
    program = compile_body(body, tmp_path, mpi)
    trace = record_program(program, tmp_path, mpi, ranks=3)
    for times in replays(trace):
        assert times["any/matched"] == times["matched/matched"]
    notes = [one.message for one in check(tisim.Trace.open(trace.file)).findings]
    assert any("from any source decide which messages are left" in note for note in notes)
