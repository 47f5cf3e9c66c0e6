"""The recorder as source code: the C files of this package, those generated from the tables, and
the location of compiled versions.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from tisim import _core
from tisim.errors import InputError
from tisim.support import mpi
from tisim.support.mpi import MpiLibrary, SourceCode
from tisim.traces.record.fortran import fortran_wrappers
from tisim.traces.record.layers import layer_wrappers
from tisim.traces.record.posix_wrappers import posix_wrappers
from tisim.traces.record.table import read_table, read_untraced
from tisim.traces.record.wrappers import c_wrappers
from tisim.traces.recorded import TRACE_LIBRARY

# Options of mpicc for the recorder: C11 and POSIX.
_OPTIONS = (
    *("-std=c11", "-D_GNU_SOURCE", "-O2", "-fPIC", "-fvisibility=hidden"),
    "-ftls-model=initial-exec",
)
# Programs compiled by `tisim cc` count in this register, which the recorder must not change.
_RESERVED = ("-ffixed-r15",)
_LINK_OPTIONS = ("-shared", "-pthread", "-ldl")
# Left out unless files are recorded as POSIX calls.
_POSIX = ("posix.c", "posix.h")
_README = """\
The recorder of tisim, for machines without Python.

    {compile}
    mkdir parts
    mpirun -x LD_PRELOAD=$PWD/libtisim_record.so -x TISIM_RECORD_DIRECTORY=$PWD/parts \\
        -n 8 ./program                   # Open MPI; MPICH: -genv NAME VALUE instead of -x
    tisim pack -o program.tit parts      # where there is Python

Each rank compresses what it records if it finds libtisim_trace.so, which is beside tisim_trace.h in
the installed package. Then the ranks merge their parts themselves: all that is left is one trace.

    mpirun -x LD_PRELOAD=$PWD/libtisim_record.so -x TISIM_RECORD_DIRECTORY=$PWD/parts \\
        -x TISIM_RECORD_LIBRARY=$PWD/libtisim_trace.so \\
        -x TISIM_RECORD_OUTPUT=$PWD/program.tit -n 8 ./program

TISIM_RECORD_COUNTER   time (the default), elapsed, cold, perf or register
TISIM_RECORD_FURTHER_COUNTERS  beside it: NAME=time, or NAME=TYPE:CONFIG*WEIGHT+... of events as
                       perf_event_open has them, CONFIG in hexadecimal; with commas between them
TISIM_RECORD_SPEED     of `time`: units a second of processor time, 1e9 by default
TISIM_RECORD_TESTS     all: failed tests are recorded too
TISIM_RECORD_LONGEST_POLL  the largest volume of a round of polling, 1000 by default; 0: none
TISIM_RECORD_SPAWN     1: processes that the program spawns are ranks of the trace
TISIM_RECORD_ARGUMENTS  1: calls say all that they are given; with the blocks of their buffers if
                       the source has been written with --arguments all
TISIM_RECORD_CALL_SITES  1: calls say where in the program they are made
TISIM_RECORD_SAMPLE    1: parts/rank-N.samples say where computations are
TISIM_RECORD_TIMES     1: calls say how long they take
TISIM_RECORD_TIMELINE  1: parts/rank-N.times say when calls began and ended
TISIM_RECORD_NOTES     1: parts/rank-N.notes say what the trace leaves out
TISIM_RECORD_GATHER    1: hosts do not share the directory, which ranks make and remove
TISIM_RECORD_RANKS     the ranks that are recorded, such as 0-3,7; all by default
TISIM_RECORD_MEMORY    bytes that recording may take of a rank, 1048576 by default
TISIM_RECORD_IO        mpi: the calls of MPI-IO are recorded; posix: those of POSIX, by which it
                       works too, if the source has been written with --io posix; both
TISIM_RECORD_MAX_SIZE  bytes that the parts of all ranks may take
"""


@dataclass(frozen=True)
class Variant:
    """The parts of the recorder that not every recording needs."""

    #: Files are recorded as POSIX calls.
    posix: bool = False
    #: Calls include the functions of I/O libraries that make them.
    layers: bool = False
    #: Calls include the memory block of a buffer; functions without a line in the trace are
    #: recorded with their arguments.
    arguments: bool = False

    @classmethod
    def of(cls, io: str, *, arguments: bool) -> Variant:
        """Return the variant for the recorded file accesses (``Settings.io``)."""
        return cls(posix=io in ("posix", "both"), layers=io != "none", arguments=arguments)


def compiled_recorder(library: MpiLibrary, variant: Variant = Variant()) -> Path:
    """Return the recorder's shared library for an MPI library, compiled on first use and kept in
    ``tisim/record`` of the user's cache. Raises InputError when it cannot be compiled or stored.
    """
    return mpi.compiled(_recorder_code(variant), library, cache_directory())


def write_source(directory: Path, variant: Variant) -> None:
    """Write the recorder's source into a directory, for machines without Python. Raises InputError
    when the directory cannot be written.
    """
    mpi.write_source(_recorder_code(variant), directory)


def cache_directory() -> Path:
    """Return the directory of compiled recorders: ``tisim/record`` in the user's cache."""
    return mpi.cache_directory("record")


def installed(name: str) -> Path:
    """Return the path of ``libtisim_trace.so``, which compresses traces inside recorded programs,
    or of its header. Raises InputError when this installation lacks it.
    """
    path = TRACE_LIBRARY / name
    if not path.is_file():
        raise InputError("is not installed: programs can be recorded only on Linux", file=path)
    return path


def _recorder_code(variant: Variant) -> SourceCode:
    return SourceCode(
        name="recorder",
        product="libtisim_record.so",
        files=recorder_source(variant),
        options=(*_OPTIONS, *(_RESERVED if os.uname().machine == "x86_64" else ())),
        link_options=_LINK_OPTIONS,
        readme=_README,
    )


def recorder_source(variant: Variant = Variant()) -> dict[str, str]:
    """Return the text of each file, by name. Raises InputError when this installation lacks the
    trace library, whose header is one of them.
    """
    left_out = {
        *(() if variant.posix else _POSIX),
        *(() if variant.arguments else ("allocations.c",)),
    }
    library = files("tisim.traces.record").joinpath("library")
    texts = {
        file.name: file.read_text(encoding="utf-8")
        for file in library.iterdir()
        if file.name.endswith((".c", ".h")) and file.name not in left_out
    }
    texts["tisim_trace.h"] = installed("tisim_trace.h").read_text(encoding="utf-8")
    texts["words.h"] = _words_header()
    table = read_table()
    texts["wrappers.c"] = c_wrappers(table)
    texts["fortran_wrappers.c"] = fortran_wrappers(table)
    if variant.arguments:
        untraced = read_untraced()
        texts["untraced_wrappers.c"] = c_wrappers(untraced)
        texts["untraced_fortran_wrappers.c"] = fortran_wrappers(untraced)
    if variant.layers:
        texts["layer_wrappers.c"] = layer_wrappers()
    if variant.posix:
        texts["posix_wrappers.c"] = posix_wrappers()
    return dict(sorted(texts.items()))


_WORDS_HEADER = """\
/* Written by tisim from its table of actions (core/trace/vocabulary/table.hpp). */
#ifndef TISIM_WORDS_H
#define TISIM_WORDS_H

/* WORD(name, roles, alone, is_collective): the actions of traces. Roles of their arguments: r a
 * rank, n a number, v as many numbers as the communicator has ranks, l as many ranks as the number
 * before it says. What a rank does on a file that it has opened alone; whether a call of MPI-IO is
 * of all ranks that have opened the file. */
"""
# Arguments in a usage text that the recorder does not write.
_NOT_WRITTEN = {"displacements", "threads=N", "sum=S"}
_RANKS = {"src", "dst", "root"}
_LIST = re.compile(r"(to|from)0\.\.\w+-1")
_VECTOR = re.compile(r"\w0\.\.\w+-1|rank\.\.\.")
_ALONE = {
    "file_open": "open",
    "file_close": "close",
    "file_sync": "fsync",
    "file_set_view": "fsync",
}
_OF_ALL = re.compile(r"(file_(?:read|write)(?:_at)?)(?:_all|_ordered)(?:_begin)?")
_OF_ONE = re.compile(r"file_(?:(?:read|write)(?:_at|_shared)?|i(?:read|write)\w*|seek|\w+_end)")


def _words_header() -> str:
    """Return the header ``words.h``: each action with the roles of its arguments."""
    words = [
        f'  WORD({name}, "{_roles(usage)}", {_alone(name)}, '
        f"{int(name.startswith('file_') and not _OF_ONE.fullmatch(name))})"
        for name, usage in _core.known_actions()
    ]
    table = " \\\n".join(["#define TISIM_WORDS(WORD)", *words])
    return f"{_WORDS_HEADER}{table}\n\n#endif\n"


def _alone(name: str) -> str:
    of_all = _OF_ALL.fullmatch(name)
    return of_all[1] if of_all else _ALONE.get(name, name)


def _roles(usage: str) -> str:
    if " or " in usage or usage == "no arguments":
        return ""
    words = [word for word in re.findall(r"[\w.=-]+", usage) if word not in _NOT_WRITTEN]
    return "".join(map(_role, words))


def _role(word: str) -> str:
    if word in _RANKS:
        return "r"
    return "l" if _LIST.fullmatch(word) else "v" if _VECTOR.fullmatch(word) else "n"
