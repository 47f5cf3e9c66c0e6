"""Random MPI programs are recorded as the trace that they were written from.

`TISIM_RANDOM_PROGRAMS=500 pytest tests/unit/record/test_random_programs.py` tries so many.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.unit.record.programs import Mpi, record_program, replay_on_graphene
from tests.unit.record.random_programs.program import Author

PROGRAMS = int(os.environ.get("TISIM_RANDOM_PROGRAMS", "2"))


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_random_program(seed: int, mpi: Mpi, tmp_path: Path, cache: Path) -> None:
    ranks = 2 + seed % 4
    author = Author(seed, ranks, events=60)
    source = tmp_path / "program.c"
    source.write_text(author.source())
    program = tmp_path / "program"
    subprocess.run([mpi.cc, "-std=c11", "-w", source, "-o", program], check=True)
    trace = record_program(program, tmp_path, mpi, ranks=ranks, cache=cache)
    for rank in range(ranks):
        assert trace.calls(rank) == author.expected(rank)
    replay_on_graphene(trace)
