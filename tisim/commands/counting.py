"""``tisim cc``, ``tisim c++`` and ``tisim fc``."""

from __future__ import annotations

import os

import click


def _compiler(name: str, help_text: str, *examples: str) -> click.Command:
    def run(arguments: tuple[str, ...]) -> None:
        from tisim.traces.record.register.toolchain import counting_command

        words, environment = counting_command(name, arguments)
        os.execvpe(words[0], words, environment)

    return click.Command(
        name,
        callback=run,
        params=[click.Argument(["arguments"], nargs=-1, type=click.UNPROCESSED)],
        context_settings={"ignore_unknown_options": True, "help_option_names": ["--help"]},
        help=help_text,
        epilog="\n".join(["\b", "Examples:", *(f"  {example}" for example in examples), ""]),
    )


_RECORD = "tisim record -o program.tit --counter register -- mpirun -n 8 ./program"

cc_command = _compiler(
    "cc",
    """Compile and link C with instruction counting.

    Takes the arguments of mpicc, or of the compiler in TISIM_CC, which must be GCC. The program
    provides exact, reproducible counts to 'tisim record' without hardware counters. Without a
    recorder it runs as usual.
    """,
    "tisim cc -O2 program.c -o program",
    _RECORD,
    "make CC=tisim-cc",
    "cmake -DCMAKE_C_COMPILER=tisim-cc -B build; ./configure CC=tisim-cc",
    "TISIM_CC=mpicc.mpich tisim cc -O2 program.c -o program",
)
cxx_command = _compiler(
    "c++",
    """Compile and link C++ with instruction counting.

    Like 'tisim cc', with mpicxx or the compiler in TISIM_CXX.
    """,
    "tisim c++ -O2 program.cpp -o program",
    _RECORD,
)
fc_command = _compiler(
    "fc",
    """Compile and link Fortran with instruction counting.

    Like 'tisim cc', with mpif90 or the compiler in TISIM_FC.
    """,
    "tisim fc -O2 program.f90 -o program",
    _RECORD,
)
