"""The user's MPI library: compile C with its compiler, once per library, and start ranks."""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tisim.errors import InputError

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
    """The MPI library that a compiler wrapper belongs to."""

    name: str  # name and version: ``Open MPI 4.1.4``
    compiler: str  # path of the compiler wrapper
    command: str  # underlying compiler command, as shown by the wrapper


@dataclass(frozen=True)
class SourceCode:
    """C source code that is compiled on the user's machine."""

    name: str  # name in messages: ``recorder``
    product: str  # file name of the compiled product: ``libtisim_record.so``
    files: dict[str, str]  # text of each file, by name
    options: tuple[str, ...]  # compiler options before the file names
    link_options: tuple[str, ...] = ()  # options after the file names
    # Instructions for manual compilation and use; `write_source` replaces ``{compile}`` by the
    # compiler command.
    readme: str = field(default="    {compile}\n", repr=False)

    def command(self, compiler: str, sources: tuple[str, ...] | None = None) -> list[str]:
        """Return the command that compiles it, in the directory of its files."""
        names = sources or tuple(name for name in self.files if name.endswith(".c"))
        return [compiler, *self.options, *names, "-o", self.product, *self.link_options]


def mpi_compiler(compiler: str | None) -> str:
    """Return the given compiler wrapper, or else ``$MPICC``, or else ``mpicc``."""
    return compiler or os.environ.get("MPICC") or "mpicc"


def find_library(compiler: str, what: str = "recorder") -> MpiLibrary:
    """Return the MPI library of a compiler wrapper such as ``mpicc``.

    `what`: the program to compile, for the message. Raises `InputError` if there is no such
    compiler, or it does not find ``mpi.h``.
    """
    path = shutil.which(compiler)
    if path is None:
        raise InputError(
            f"{compiler} was not found: the {what} is compiled by the compiler wrapper of the MPI "
            "library that runs the program; install it (Debian: libopenmpi-dev or libmpich-dev), "
            "or give it with --mpicc"
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


def compiled(source: SourceCode, library: MpiLibrary, directory: Path | None = None) -> Path:
    """Return the compiled file of a source for an MPI library, compiling it on first use.

    It is cached in `directory`, by default in the user's cache. Raises `InputError` if it cannot be
    compiled or stored.
    """
    key = hashlib.sha256()
    options = (*source.options, *source.link_options)
    texts = (*source.files, *source.files.values(), *options, library.name, library.command)
    for text in texts:
        key.update(text.encode() + b"\0")
    target = (directory or cache_directory()) / key.hexdigest()[:32] / source.product
    if not target.is_file() and sys.stderr.isatty():
        sys.stderr.write(f"tisim: compiling the {source.name} for {library.name} (once)\n")
    return cached_build(target, source.name, lambda scratch: _compile(source, library, scratch))


def cached_build(target: Path, name: str, build: Callable[[Path], None]) -> Path:
    """Return a cached compiled file; `build` creates it in a directory if it is missing.

    Raises `InputError` if it cannot be stored.
    """
    if target.is_file():
        return target
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
            build(Path(scratch))
            (Path(scratch) / target.name).replace(target)
    except OSError as error:
        raise InputError(
            f"the compiled {name} cannot be stored there: {error.strerror}; set XDG_CACHE_HOME to "
            "another directory",
            file=target.parent,
        ) from None
    return target


def write_source(source: SourceCode, directory: Path) -> list[Path]:
    """Write a source with compilation instructions to a directory, for machines without Python.

    Raises `InputError` if the directory cannot be written.
    """
    command = " ".join(source.command("mpicc", ("*.c",)))
    readme = source.readme.replace("{compile}", command)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        paths = []
        for name, text in {**source.files, "README": readme}.items():
            paths.append(directory / name)
            paths[-1].write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", file=directory) from None
    return paths


def cache_directory(part: str = "compiled") -> Path:
    """Return the directory of compiled files: ``tisim/PART`` in the user's cache."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "tisim" / part


def _compile(source: SourceCode, library: MpiLibrary, directory: Path) -> None:
    for name, text in source.files.items():
        (directory / name).write_text(text, encoding="utf-8")
    run = subprocess.run(
        source.command(library.compiler), cwd=directory, capture_output=True, text=True
    )
    if run.returncode != 0:
        raise InputError(
            f"{library.compiler} ({library.name}) cannot compile the {source.name}:\n{run.stderr}"
        )


_LAUNCHERS = ("mpirun", "mpiexec", "orterun", "prterun")
_RANKS = ("-n", "-np", "--np", "-c", "--n")
#: Seconds that ranks have to end after their work is done. With MPICH over UCX and TCP they may
#: never end: a rank waits in MPI_Finalize for replies of others, which no longer read messages.
SECONDS_TO_FINALIZE = 10.0
# Seconds that ranks have to end after SIGTERM.
_GRACE = 5.0


def launching_command(command: Sequence[str], ranks: int, program: Sequence[str]) -> list[str]:
    """Return the user's launcher command with the number of ranks, if missing, and the program.

    `command` starts the ranks, such as ``["mpirun", "--host", "a,b"]``, by default ``mpirun``;
    `program`, with its arguments, is appended. Raises `InputError` if there is no such command.
    """
    words = [*command] or ["mpirun"]
    if shutil.which(words[0]) is None:
        raise InputError(
            f"no such command: {words[0]}; after --, give the command that starts the ranks, such "
            "as mpirun with its options"
        )
    is_launcher = Path(words[0]).name.partition(".")[0] in _LAUNCHERS
    if is_launcher and not any(word in _RANKS for word in words):
        words[1:1] = ["-n", str(ranks)]
    return [*words, *program]


# prctl(2): the signal that a process gets when its parent ends for any reason.
_PR_SET_PDEATHSIG = 1


def die_with_parent() -> Callable[[], None] | None:
    """Return a `preexec_fn` that terminates a launcher when this process ends, even by SIGKILL.

    The launcher then ends its ranks. Linux only: None elsewhere.
    """
    if not sys.platform.startswith("linux"):
        return None
    prctl = ctypes.CDLL(None).prctl
    parent = os.getpid()

    def prepare() -> None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:  # the parent has already ended
            os._exit(1)

    return prepare


def stop(process: subprocess.Popen[bytes]) -> None:
    """Terminate a launcher that is still running; it ends its ranks."""
    if process.poll() is not None:
        return
    process.terminate()
    try:
        process.wait(_GRACE)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
