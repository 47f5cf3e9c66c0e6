"""The recorder as something to compile: its source, and where what was compiled is kept."""

from __future__ import annotations

import os
from pathlib import Path

from tisim.support import mpi
from tisim.support.mpi import MpiLibrary, SourceCode
from tisim.traces.record.source import C_OPTIONS, LINK_OPTIONS, recorder_source

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

TISIM_RECORD_COUNTER   time (the default), perf or register
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


def compiled_recorder(
    library: MpiLibrary,
    directory: Path | None = None,
    *,
    posix: bool = False,
    layers: bool = False,
    arguments: bool = False,
) -> Path:
    """The recorder's shared library for an MPI library, compiled on first use. It is kept in
    ``tisim/record`` of the user's cache; `recorder_source` says what its variants do. Raises
    InputError when it cannot be compiled or kept.
    """
    code = recorder_code(posix=posix, layers=layers, arguments=arguments)
    return mpi.compiled(code, library, directory or cache_directory())


def write_source(
    directory: Path, *, posix: bool = False, layers: bool = False, arguments: bool = False
) -> list[Path]:
    """Write the recorder's source into a directory, for machines without Python.

    `recorder_source` says what its variants do. Raises InputError when the directory cannot be
    written.
    """
    code = recorder_code(posix=posix, layers=layers, arguments=arguments)
    return mpi.write_source(code, directory)


def recorder_code(
    *, posix: bool = False, layers: bool = False, arguments: bool = False
) -> SourceCode:
    """The recorder's source, and how it is compiled."""
    return SourceCode(
        name="recorder",
        product="libtisim_record.so",
        files=recorder_source(posix=posix, layers=layers, arguments=arguments),
        options=(*C_OPTIONS, *_reserved_register()),
        link_options=LINK_OPTIONS,
        readme=_README,
    )


def cache_directory() -> Path:
    """Where compiled recorders are kept: ``tisim/record`` in the user's cache."""
    return mpi.cache_directory("record")


def _reserved_register() -> tuple[str, ...]:
    return ("-ffixed-r15",) if os.uname().machine == "x86_64" else ()
