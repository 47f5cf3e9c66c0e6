"""The commands of the command line, a module each, and the options and outputs they share."""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import TypeVar

import click

from tisim.support.files import write_file
from tisim.support.tables import align

_F = TypeVar("_F", bound=Callable[..., object])


def report_written(*paths: str | os.PathLike[str]) -> None:
    """Say which files have been written, one per line, on standard error.

    Standard output stays clean for pipes. Pipes and devices are not mentioned.
    """
    for path in paths:
        if Path(path).is_file() or Path(path).is_dir():
            click.echo(f"tisim: wrote {os.fspath(path)}", err=True)


def print_table(
    rows: Sequence[Sequence[str]], left: int | Container[int] = 1, indent: str = ""
) -> None:
    """Print rows of cells as columns; `left` as of `tisim.support.tables.align`."""
    for line in align(rows, left):
        click.echo(indent + line)


def json_option(what: str, rest: str = "") -> Callable[[_F], _F]:
    """The option ``--json``, which writes what a command has found."""
    text = f"Write {what} as JSON; - for standard output{rest}."
    return click.option("--json", "json_file", metavar="FILE", help=text)


def write_json(pieces: Iterable[str], file: str | None) -> bool:
    """Write JSON where ``--json`` says; True: to standard output, which then has nothing else."""
    if file == "-":
        for piece in chain(pieces, "\n"):
            click.echo(piece, nl=False)
        return True
    if file is not None:
        write_file(file, chain(pieces, "\n"))
        report_written(file)
    return False


def number_option(
    *names: str, default: int, text: str, least: int = 1, most: int | None = None
) -> Callable[[_F], _F]:
    """An option that takes a whole number, whose default the help shows."""
    kind = click.IntRange(least, most)
    return click.option(
        *names, type=kind, default=default, show_default=True, metavar="N", help=text
    )


def compiler_option(what: str) -> Callable[[_F], _F]:
    """The option ``--mpicc``."""
    text = f"{what}.  [default: $MPICC or mpicc]"
    return click.option("--mpicc", metavar="COMPILER", help=text)


def opened_name(traces: tuple[str, ...]) -> str | list[str]:
    """What `tisim.Trace.open` takes for the traces that a command line names."""
    return traces[0] if len(traces) == 1 else list(traces)
