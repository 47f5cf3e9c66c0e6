"""The commands of the command line, a module each, and the options and outputs they share."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Container, Iterable, Sequence
from functools import cached_property

# Names, not the module: `inspect` is a command in this package.
from inspect import Parameter, getdoc, signature
from itertools import chain, takewhile
from pathlib import Path
from typing import TypeVar

import click
from click.core import ParameterSource

from tisim.errors import InputError
from tisim.platform.description.node import WRITTEN_BY_CALIBRATE, WRITTEN_BY_NEW
from tisim.support.files import check_overwrite, write_file
from tisim.support.quantities import DIGITS, parse_speed
from tisim.support.reading import head_of, is_trace
from tisim.support.tables import align

_F = TypeVar("_F", bound=Callable[..., object])


class SentenceGroup(click.Group):
    """A group whose help lists its commands with their first sentences, unabridged."""

    def add_command(self, cmd: click.Command, name: str | None = None) -> None:
        """Register a command."""
        cmd.short_help = cmd.short_help or (cmd.help or "").partition("\n\n")[0]
        super().add_command(cmd, name)


class Branching(click.Command):
    """A command in whose place its first word may name another one."""

    @cached_property
    def further(self) -> dict[str, click.Command]:
        """The other commands, by their words."""
        return {}

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: object,
    ) -> click.Context:
        """Parse the arguments of this command, or of the one that they name."""
        if args and args[0] in self.further:
            words, command = f"{info_name} {args[0]}", self.further[args[0]]
            return command.make_context(words, args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> object:
        """Carry out the command of a context."""
        return super().invoke(ctx) if ctx.command is self else ctx.command.invoke(ctx)


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


def write_pieces(pieces: Iterable[str], file: str | None) -> bool:
    """Write JSON where ``--json`` says; True: to standard output, which then has nothing else."""
    if file == "-":
        for piece in chain(pieces, "\n"):
            click.echo(piece, nl=False)
        return True
    if file is not None:
        write_file(file, chain(pieces, "\n"))
        report_written(file)
    return False


def write_json(found: object, file: str | None, *, indent: int = 1) -> bool:
    """Write what a command has found as `write_pieces` does."""
    return file is not None and write_pieces([json.dumps(found, indent=indent)], file)


def _use_digits(ctx: click.Context, _parameter: click.Parameter, digits: int | None) -> None:
    if digits is not None:
        before = DIGITS.set(digits)
        ctx.call_on_close(lambda: DIGITS.reset(before))


#: The option ``--digits`` of commands that print results.
digits_option = click.option(
    "--digits",
    type=click.IntRange(1, 17),
    metavar="N",
    expose_value=False,
    callback=_use_digits,
    help="Significant digits of printed results (default: 6); files and --json have full "
    "precision.",
)


def _check_output(ctx: click.Context, _parameter: click.Parameter, force: bool) -> None:
    output = ctx.params.get("output")
    if output is not None and not force:
        is_new = " platform new" in ctx.command_path
        check_overwrite(output, WRITTEN_BY_NEW if is_new else WRITTEN_BY_CALIBRATE)


#: The option ``--force`` of commands that write a platform; it stands below ``--output``.
force_option = click.option(
    "--force",
    is_flag=True,
    expose_value=False,
    callback=_check_output,
    help="Overwrite the output even if it was not written by this command.",
)


def check_trace_output(path: str | None) -> None:
    """Refuse to replace a file that is not a trace of tisim's."""
    if path is not None and head_of(path) and not is_trace(path):
        raise InputError(
            "already exists and is not a tisim trace; choose another file name", file=path
        )


def _checked_output(_ctx: click.Context, _option: click.Parameter, path: str | None) -> str | None:
    check_trace_output(path)
    return path


def trace_option(metavar: str, text: str, *, required: bool = True) -> Callable[[_F], _F]:
    """The option ``--output`` of commands that write a trace: it replaces nothing but a trace."""
    return click.option(
        "-o", "--output", required=required, metavar=metavar, callback=_checked_output, help=text
    )


def number_option(
    *names: str, default: int, text: str, least: int = 1, most: int | None = None
) -> Callable[[_F], _F]:
    """An option that takes a whole number, whose default the help shows."""
    kind = click.IntRange(least, most)
    return click.option(
        *names, type=kind, default=default, show_default=True, metavar="N", help=text
    )


def is_given(parameter: str) -> bool:
    """True if the command line has an option, and not its default alone."""
    source = click.get_current_context().get_parameter_source(parameter)
    return source is ParameterSource.COMMANDLINE


def units_option(text: str) -> Callable[[_F], _F]:
    """The option ``--speed``: units of computation in a second."""
    return click.option(
        "--speed", default="1e9", show_default=True, callback=_units, metavar="RATE", help=text
    )


def _units(_ctx: click.Context, _parameter: click.Parameter, text: str) -> float:
    found = parse_speed(text, "--speed")
    if found == 0:
        raise InputError("--speed must be above zero")
    return found


def refuse_option(word: str) -> None:
    """Refuse the first word behind the options if it looks like one, which the command has not.

    Commands that take another command leave options alone that they do not know.
    """
    if word.startswith("-") and word != "-":
        raise click.NoSuchOption(word, ctx=click.get_current_context())


def compiler_option(what: str) -> Callable[[_F], _F]:
    """The option ``--mpicc``."""
    text = f"{what}.  [default: $MPICC or mpicc]"
    return click.option("--mpicc", metavar="COMPILER", help=text)


def opened_name(traces: tuple[str, ...]) -> str | list[str]:
    """The argument of `tisim.Trace.open` for the traces that a command line names."""
    return traces[0] if len(traces) == 1 else list(traces)


def named_hosts(text: str) -> str | list[str]:
    """The value of ``--hosts``: the name of a file, or names of hosts between commas."""
    # False for impossible names. A missing file is reported when it is read.
    if os.path.exists(text) or ("," not in text and os.sep in text):  # noqa: PTH110
        return text
    if "," not in text:
        raise InputError(
            f"no such hosts file; to name a single host, append a comma: {text},",
            file=text,
        )
    return text.removesuffix(",").split(",")


_TYPES: dict[str, type] = {"int": int, "float": float}


def parameter_option(
    function: Callable[..., object],
    parameter: str,
    *names: str,
    metavar: str,
    multiple: bool = False,
    type: click.IntRange | None = None,
) -> Callable[[_F], _F]:
    """A click option that takes its help, type and default from a parameter of a function.

    The function has a numpydoc docstring. The help is the first paragraph of the parameter's
    description; further paragraphs are for those who call the function.
    """
    known = signature(function).parameters[parameter]
    required = known.default is Parameter.empty
    value_type = type or _TYPES.get(str(known.annotation).partition(" ")[0], str)
    text = parameter_help(function, parameter) + (" Repeatable." if multiple else "")
    return click.option(
        *names, metavar=metavar, type=value_type, required=required, multiple=multiple, help=text
    )


def parameter_help(function: Callable[..., object], parameter: str) -> str:
    """The first paragraph of a parameter's description, on one line and without mark-up."""
    lines = (getdoc(function) or parameter).splitlines()
    place = next(i for i, line in enumerate(lines) if parameter in line.split(", "))
    description = lines[place + 1 :]
    words = takewhile(lambda line: line.startswith(" "), description)
    return " ".join(line.strip() for line in words).replace("`", "")
