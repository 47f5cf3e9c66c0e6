"""``tisim cc``, ``tisim c++`` and ``tisim fc``."""

from __future__ import annotations

import os

import click

_SETTINGS = {"ignore_unknown_options": True, "help_option_names": ["--help"]}


def _compile(command: str, arguments: tuple[str, ...]) -> None:
    from tisim.traces.record.register.toolchain import counting_command

    words, environment = counting_command(command, arguments)
    os.execvpe(words[0], words, environment)


@click.command(
    "cc",
    context_settings=_SETTINGS,
    add_help_option=True,
    epilog="""\b
Examples:
  tisim cc -O2 program.c -o program
  tisim record -o program.tit --counter register -- mpirun -n 8 ./program
  make CC="tisim cc"
  TISIM_CC=mpicc.mpich tisim cc -O2 program.c -o program
""",
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def cc_command(arguments: tuple[str, ...]) -> None:
    """Compile and link C with instruction counting.

    Takes the arguments of mpicc, or of the compiler in TISIM_CC, which must be GCC. The program
    provides exact, reproducible counts to 'tisim record' without hardware counters. Without a
    recorder it runs as usual.
    """
    _compile("cc", arguments)


@click.command(
    "c++",
    context_settings=_SETTINGS,
    epilog="""\b
Examples:
  tisim c++ -O2 program.cpp -o program
  tisim record -o program.tit --counter register -- mpirun -n 8 ./program
""",
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def cxx_command(arguments: tuple[str, ...]) -> None:
    """Compile and link C++ with instruction counting.

    Like 'tisim cc', with mpicxx or the compiler in TISIM_CXX.
    """
    _compile("c++", arguments)


@click.command(
    "fc",
    context_settings=_SETTINGS,
    epilog="""\b
Examples:
  tisim fc -O2 program.f90 -o program
  tisim record -o program.tit --counter register -- mpirun -n 8 ./program
""",
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def fc_command(arguments: tuple[str, ...]) -> None:
    """Compile and link Fortran with instruction counting.

    Like 'tisim cc', with mpif90 or the compiler in TISIM_FC.
    """
    _compile("fc", arguments)
