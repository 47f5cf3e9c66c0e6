"""Random MPI programs are recorded as the trace that they were written from."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.campaign import campaign
from tests.unit.record.programs import Mpi, record_program, replay_on_graphene
from tests.unit.record.random_programs.program import Author

PROGRAMS = campaign(2, 500)


def recorded_as_written(author: Author, source: str, directory: Path, mpi: Mpi) -> None:
    """Compile and record a program, whose trace must be the expected one."""
    file = directory / "program.c"
    file.write_text(source)
    program = directory / "program"
    subprocess.run([mpi.cc, "-std=c11", "-w", file, "-o", program], check=True)
    ranks = len(author.ranks)
    trace = record_program(program, directory, mpi, ranks=ranks)
    for rank in range(ranks):
        assert trace.calls(rank) == author.expected(rank)
    replay_on_graphene(trace)


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_random_program(seed: int, mpi: Mpi, tmp_path: Path) -> None:
    author = Author(seed, ranks=2 + seed % 4, events=60)
    recorded_as_written(author, author.source(), tmp_path, mpi)


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_random_program_with_large_counts(seed: int, mpi: Mpi, tmp_path: Path) -> None:
    """The same with functions such as MPI_Send_c, where the MPI library has them."""
    author = Author(seed, ranks=2 + seed % 4, events=60)
    try:
        recorded_as_written(author, author.source(large_counts=True), tmp_path, mpi)
    except subprocess.CalledProcessError:
        pytest.skip(f"{mpi.name} has no large counts")
