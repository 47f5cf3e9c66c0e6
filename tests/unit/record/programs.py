"""Real MPI programs: compiling and recording them, where there is an MPI library."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

import tisim
from tisim.formats import check, unpack

ROOT = Path(__file__).resolve().parents[3]
EXAMPLES = ROOT / "examples" / "mpi"

#: Open MPI wants these of root and of machines with few cores; others ignore them.
ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
}


@dataclass(frozen=True)
class Mpi:
    """An MPI library of this machine."""

    name: str
    suffix: str  # of its commands, as Debian calls them

    @property
    def cc(self) -> str:
        return f"mpicc{self.suffix}"

    @property
    def run(self) -> str:
        return f"mpirun{self.suffix}"

    def compiler(self, source: Path) -> str:
        return self.cc if source.suffix == ".c" else f"mpif90{self.suffix}"


def libraries() -> list[Mpi]:
    """The MPI libraries of this machine with a compiler and a launcher."""
    named = [
        Mpi("Open MPI", ".openmpi"),
        Mpi("MPICH", ".mpich"),
    ]
    found = [mpi for mpi in named if shutil.which(mpi.cc) and shutil.which(mpi.run)]
    if not found and shutil.which("mpicc") and shutil.which("mpirun"):
        found = [Mpi("MPI", "")]
    return found


def need_fortran() -> None:
    if shutil.which("gfortran") is None:
        pytest.skip("gfortran is not installed")


def compile_program(source: Path, directory: Path, mpi: Mpi, *options: str) -> Path:
    program = directory / f"{source.stem}{mpi.suffix}"
    command = [mpi.compiler(source), "-O1", *options, str(source), "-o", str(program), "-lm"]
    subprocess.run(command, check=True, capture_output=True, text=True)
    return program


def tisim_record(
    *arguments: str | Path, variables: Mapping[str, str] = {}
) -> subprocess.CompletedProcess[str]:
    """Run ``tisim record``, with a cache of compiled recorders that the tests share."""
    return subprocess.run(
        [sys.executable, "-m", "tisim", "record", *map(str, arguments)],
        env={**os.environ, **ENVIRONMENT, **variables},
        capture_output=True,
        text=True,
        timeout=120,
    )


@dataclass(frozen=True)
class Trace:
    """A recorded trace: the packed file, and the lines of each rank."""

    file: Path
    lines: list[list[str]]
    run: subprocess.CompletedProcess[str]

    def calls(self, rank: int) -> list[str]:
        """A rank's actions without comments, rank and computations."""
        actions = [line.split(" ", 1)[1] for line in self.lines[rank] if not line.startswith("#")]
        return [action for action in actions if not action.startswith("compute ")]


def record_program(
    program: Path,
    directory: Path,
    mpi: Mpi,
    *arguments: str,
    ranks: int = 4,
    options: tuple[str, ...] = (),
    cache: Path,
) -> Trace:
    """Record a program and unpack its trace."""
    output = directory / "trace.tit"
    run = tisim_record(
        *("-o", output, "--mpicc", mpi.cc, *options, "--"),
        *(mpi.run, "-n", str(ranks), program, *arguments),
        variables={"XDG_CACHE_HOME": str(cache)},
    )
    assert run.returncode == 0, run.stderr
    texts = directory / "texts"
    shutil.rmtree(texts, ignore_errors=True)
    unpack(output, texts)
    lines = [(texts / f"rank-{rank}.txt").read_text().splitlines() for rank in range(ranks)]
    return Trace(output, lines, run)


def replay_on_graphene(trace: Trace) -> tisim.Result:
    """Check a trace, which must be sound, and replay it."""
    report = check(tisim.Trace.open(trace.file))
    assert report.sound, report.findings
    assert report.warnings == 0, report.findings
    platform = tisim.Platform.load(ROOT / "platforms" / "graphene.xml")
    result = tisim.replay(trace.file, platform=platform)
    assert result.simulated_time > 0
    return result
