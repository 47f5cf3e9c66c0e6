"""Compiling the recorder with the MPI library's own compiler, once per library."""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tisim.errors import InputError
from tisim.record.source import C_OPTIONS, LINK_OPTIONS, recorder_source

_VERSIONS = """\
#include <mpi.h>
#ifdef OPEN_MPI
tisim "Open MPI" OMPI_MAJOR_VERSION OMPI_MINOR_VERSION OMPI_RELEASE_VERSION
#elif defined(MPICH_VERSION)
tisim "MPICH" MPICH_VERSION
#else
tisim "MPI" MPI_VERSION MPI_SUBVERSION
#endif
"""


@dataclass(frozen=True)
class MpiLibrary:
    """The MPI library that a compiler wrapper belongs to.

    Attributes
    ----------
    name
        Its name and version: ``Open MPI 4.1.4``.
    compiler
        The path of the compiler wrapper.
    command
        What the wrapper calls, as it says itself.
    """

    name: str
    compiler: str
    command: str


def find_library(compiler: str) -> MpiLibrary:
    """The MPI library of a compiler wrapper such as ``mpicc``.

    Raises
    ------
    InputError
        When there is no such compiler, or when it does not find ``mpi.h``.
    """
    path = shutil.which(compiler)
    if path is None:
        raise InputError(
            f"there is no {compiler}: the recorder is compiled by the compiler of the MPI library "
            "that runs the program; install it (Debian: libopenmpi-dev or libmpich-dev), or name "
            "it with --mpicc"
        )
    run = subprocess.run(
        [path, "-E", "-P", "-x", "c", "-"], input=_VERSIONS, capture_output=True, text=True
    )
    lines = [line for line in run.stdout.splitlines() if line.startswith("tisim ")]
    if run.returncode != 0 or not lines:
        raise InputError(f"{path} cannot compile a program that includes mpi.h:\n{run.stderr}")
    name, *numbers = shlex.split(lines[-1])[1:]
    show = subprocess.run([path, "-show"], capture_output=True, text=True)
    return MpiLibrary(f"{name} {'.'.join(numbers)}", path, show.stdout.strip())


def compiled_recorder(library: MpiLibrary, directory: Path | None = None) -> Path:
    """The recorder's shared library for an MPI library, compiled on first use.

    Parameters
    ----------
    library
        What `find_library` has found.
    directory
        Where compiled recorders are kept; ``tisim/record`` in the user's cache by default.

    Raises
    ------
    InputError
        When it cannot be compiled or kept.
    """
    source = recorder_source()
    options = [*C_OPTIONS, *_reserved_register()]
    key = hashlib.sha256()
    for text in (*source, *source.values(), *options, *LINK_OPTIONS, library.name, library.command):
        key.update(text.encode() + b"\0")
    kept = (directory or cache_directory()) / key.hexdigest()[:32] / "libtisim_record.so"
    if kept.is_file():
        return kept
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=kept.parent) as scratch:
            _compile(library, source, options, Path(scratch))
            (Path(scratch) / kept.name).replace(kept)
    except OSError as error:
        raise InputError(
            f"the compiled recorder cannot be kept there: {error.strerror}; XDG_CACHE_HOME names "
            "another place",
            file=kept.parent,
        ) from None
    return kept


def write_source(directory: Path) -> list[Path]:
    """Write the recorder's source into a directory, for machines without Python.

    Raises
    ------
    InputError
        When the directory cannot be written.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
        paths = []
        for name, text in {**recorder_source(), "README": _how_to_compile()}.items():
            paths.append(directory / name)
            paths[-1].write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", file=directory) from None
    return paths


def _compile(
    library: MpiLibrary, source: dict[str, str], options: list[str], directory: Path
) -> None:
    for name, text in source.items():
        (directory / name).write_text(text, encoding="utf-8")
    names = [name for name in source if name.endswith(".c")]
    command = [library.compiler, *options, *names, "-o", "libtisim_record.so", *LINK_OPTIONS]
    run = subprocess.run(command, cwd=directory, capture_output=True, text=True)
    if run.returncode != 0:
        raise InputError(
            f"{library.compiler} ({library.name}) cannot compile the recorder:\n{run.stderr}"
        )


def _reserved_register() -> list[str]:
    return ["-ffixed-r15"] if os.uname().machine == "x86_64" else []


def cache_directory() -> Path:
    """Where what is compiled for the user is kept: ``tisim/record`` in the user's cache."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "tisim" / "record"


def _how_to_compile() -> str:
    options = " ".join([*C_OPTIONS, *_reserved_register()])
    return f"""\
The recorder of tisim, for machines without Python.

    mpicc {options} *.c -o libtisim_record.so {" ".join(LINK_OPTIONS)}
    mkdir parts
    mpirun -x LD_PRELOAD=$PWD/libtisim_record.so -x TISIM_RECORD_DIRECTORY=$PWD/parts \\
        -n 8 ./program                   # Open MPI; MPICH: -genv NAME VALUE instead of -x
    tisim pack -o program.tit parts      # where there is Python

Each rank compresses what it records if it finds libtisim_trace.so, which is beside tisim_trace.h in
the installed package. Then the ranks merge their parts themselves: all that is left is one trace.

    mpirun -x LD_PRELOAD=$PWD/libtisim_record.so -x TISIM_RECORD_DIRECTORY=$PWD/parts \\
        -x TISIM_RECORD_LIBRARY=$PWD/libtisim_trace.so \\
        -x TISIM_RECORD_OUTPUT=$PWD/program.tit -n 8 ./program

TISIM_RECORD_COUNTER   time (the default), perf or register
TISIM_RECORD_SPEED     of `time`: units a second of processor time, 1e9 by default
TISIM_RECORD_TESTS     all: failed tests are recorded too
TISIM_RECORD_RANKS     the ranks that are recorded, such as 0-3,7; all by default
TISIM_RECORD_MEMORY    bytes that recording may take of a rank, 1048576 by default
TISIM_RECORD_MAX_SIZE  bytes that the parts of all ranks may take
"""
