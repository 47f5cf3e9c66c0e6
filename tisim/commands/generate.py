"""``tisim generate``: one sub-command a pattern, made from the pattern's parameters."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, Field, fields

import click

from tisim.commands import SentenceGroup, report_written, trace_option
from tisim.commands.generate_llm import inference_command, llm_command
from tisim.errors import InputError
from tisim.support.progress import ProgressBar
from tisim.support.quantities import parse_size, parse_speed
from tisim.traces.generate import PATTERNS, Pattern
from tisim.traces.generate.patterns import ACCESSES, Access


def _size(text: str, what: str) -> int:
    return round(parse_size(text, what))


def _sizes(text: str, what: str) -> int | tuple[int, ...]:
    sizes = tuple(_size(part, what) for part in text.split(","))
    return sizes if sizes[1:] else sizes[0]


def _grid(text: str, what: str) -> tuple[int, ...]:
    if not all(part.isdecimal() for part in text.split("x")):
        raise InputError(f"{what} must be a grid such as 4x3x2, not {text!r}")
    return tuple(map(int, text.split("x")))


# Parsers of values other than plain numbers, by metavar.
_READERS: dict[str, Callable[[str, str], object]] = {
    "BYTES": _size,
    "BYTES[,BYTES...]": _sizes,
    "FLOPS": parse_speed,
    "GRID": _grid,
}

# Parameter of a pattern -> option (comma-separated names), its values, its help.
_OPTIONS: dict[str, tuple[str, str | type | click.Choice[Access], str]] = {
    "ranks": ("--ranks,--np", int, "Number of ranks."),
    "iterations": ("--iterations", int, "Number of iterations."),
    "compute": ("--compute", "FLOPS", "Flops per rank and iteration, such as 1e6 or 2Mf."),
    "imbalance": (
        "--imbalance",
        float,
        "Load imbalance from 0 to 1: the flops of each rank are scaled by a random factor "
        "between 1 - imbalance and 1 + imbalance.",
    ),
    "noise": ("--noise", float, "Like --imbalance, but for each single computation."),
    "allreduce": ("--allreduce", "BYTES", "Size of an allreduce after an iteration; 0 for none."),
    "allreduce_every": ("--allreduce-every", int, "Number of iterations between allreduces."),
    "seed": ("--seed", int, "Random seed."),
    "requests": (
        "--requests",
        bool,
        "Number the requests of non-blocking calls and waits (request=N).",
    ),
    "nbytes": ("--bytes", "BYTES", "Size of a message, such as 8192 or 64KiB."),
    "grid": ("--grid", "GRID", "Process grid, such as 4x3x2 (default: as even as possible)."),
    "periodic": ("--periodic", bool, "Make the grid periodic."),
    "planes": ("--planes", int, "Planes per sweep."),
    "buckets": ("--buckets", int, "Number of buckets of gradients."),
    "blocks": ("--blocks", int, "Blocks per rank."),
    "land": ("--land", float, "Fraction of the blocks that are land, from 0 to 0.9."),
    "fewest": ("--fewest", int, "Fewest solver iterations per step."),
    "most": ("--most", int, "Most solver iterations per step."),
    "refined": ("--refined", float, "Fraction of the blocks that are refined, from 0 to 1."),
    "block_bytes": ("--block-bytes", "BYTES", "Size of a variable in a block of the mesh."),
    "variables": ("--variables", int, "Number of variables in a checkpoint."),
    "checkpoint_every": (
        "--checkpoint-every",
        int,
        "Number of iterations between checkpoints; 0 for none.",
    ),
    "degree": ("--degree", int, "Number of ranks that each rank sends to."),
    "access": (
        "--pattern",
        click.Choice(ACCESSES),
        "Access pattern: rank 0 writes all data (serial), each rank writes its own file "
        "(file-per-process), or all ranks write to one file, each contiguously (shared) or in "
        "interleaved blocks (strided).",
    ),
    "written": ("--bytes", "BYTES", "Bytes that each rank writes per iteration."),
    "block": ("--block", "BYTES", "Bytes per call; must divide --bytes."),
    "file": ("--file", str, "File name; with file-per-process, the rank is appended."),
    "read_back": ("--read-back", bool, "Read the data back after writing."),
    "fsync": ("--fsync", bool, "Call fsync after the writes."),
}
# Some patterns take several sizes.
_SEVERAL_SIZES = {
    "halo2d": "Size of an edge: one size, or one per dimension, such as 8192,1KiB.",
    "halo3d": "Size of a face: one size, or one per dimension, such as 8192,8192,1KiB.",
    "sparse": "Size of a message, or minimum and maximum, such as 64,1MiB.",
}
_ALL_GRADIENTS = "Total size of the gradients, such as 100MB."

_EXAMPLES = {
    "ring": ("--ranks 16 --bytes 64KiB -o ring/",),
    "halo2d": ("--ranks 12 --grid 4x3 --bytes 8192,4096 --periodic -o halo/",),
    "halo3d": (
        "--ranks 64 --iterations 100 --imbalance 0.1 -o halo/",
        "--ranks 1000000 --grid 100x100x100 --iterations 1 --allreduce 8 -o million.tit",
    ),
    "wavefront": ("--ranks 64 --grid 8x8 --planes 100 --compute 50Mf -o lu.tit",),
    "transpose": ("--ranks 512 --bytes 64KiB --iterations 1 -o transpose.tit",),
    "ring-allreduce": ("--ranks 32 --bytes 100MB --buckets 4 --compute 1Tf -o training/",),
    "tree-allreduce": ("--ranks 1024 --bytes 25MB --noise 0.05 -o training.tit",),
    "io": (
        "--ranks 64 --pattern file-per-process --bytes 64MiB --block 1MiB -o files.tit",
        "--ranks 100000 --pattern strided --iterations 1 -o shared.tit",
    ),
    "ocean": ("--ranks 64 --iterations 20 --fewest 20 --most 60 --seed 3 -o ocean.tit",),
    "refined": (
        "--ranks 64 --iterations 100 --refined 0.2 --checkpoint-every 50 -o flash.tit",
        "--ranks 4096 --checkpoint-every 10 -o uniform.tit",
    ),
    "sparse": ("--ranks 1000 --degree 8 --bytes 64,1MiB --seed 7 -o sparse.tit",),
}


@click.group(
    "generate",
    cls=SentenceGroup,
    epilog="""\b
Examples:
  tisim generate halo3d --ranks 64 --iterations 100 --allreduce 8 -o halo/
  tisim generate wavefront --ranks 1024 --imbalance 0.2 --seed 3 -o lu.tit
  tisim generate halo3d --help
""",
)
def generate_command() -> None:
    """Generate synthetic traces for scaling studies.

    Each pattern has its own options. The trace is written as a directory with one file per rank
    or, for large ones, as one packed file (.tit). The patterns llm and inference write graphs for
    tisim step.
    """


def _command(name: str, pattern: type[Pattern]) -> click.Command:
    """The sub-command of a pattern."""
    make: Callable[..., Pattern] = pattern  # each pattern has parameters of its own

    def run(output: str, **parameters: object) -> None:
        try:
            made = make(**parameters)
        except InputError as error:
            raise InputError(_naming_the_option(error.message)) from None
        with ProgressBar("generate") as bar:
            made.write(output, bar.show)
        report_written(output)

    examples = "\n".join(f"  tisim generate {name} {example}" for example in _EXAMPLES[name])
    command = click.Command(
        name,
        callback=run,
        params=[_option(name, field) for field in fields(pattern)],
        help=_description(pattern),
        epilog=f"\b\nExamples:\n{examples}\n",
    )
    target = trace_option("DIR|FILE.tit", "Trace to write: a new directory, or a packed file.")
    return target(command)


def _naming_the_option(message: str) -> str:
    """A message that begins with a parameter of a pattern, with the option in its place."""
    parameter, space, rest = message.partition(" ")
    if parameter not in _OPTIONS:
        return message
    return f"{_OPTIONS[parameter][0].split(',')[0]}{space}{rest}"


def _option(name: str, field: Field[object]) -> click.Option:
    option, kind, text = _OPTIONS[field.name]
    if field.name == "nbytes" and name in _SEVERAL_SIZES:
        kind, text = "BYTES[,BYTES...]", _SEVERAL_SIZES[name]
    elif field.name == "nbytes" and name.endswith("-allreduce"):
        text = _ALL_GRADIENTS
    names = [*option.split(","), field.name]
    default = field.default
    if isinstance(kind, str):
        shown = None if default == () else f"{default:.15g}"
        return click.Option(
            names,
            metavar=kind,
            callback=_reading(_READERS[kind], default),
            default=shown,
            show_default=True,
            help=text,
        )
    if default is MISSING:
        return click.Option(names, type=kind, required=True, help=text)
    if kind is bool:
        return click.Option(names, is_flag=True, help=text)
    return click.Option(names, type=kind, default=default, show_default=True, help=text)


def _reading(read: Callable[[str, str], object], default: object) -> Callable[..., object]:
    """A callback of click's that reads a value."""

    def callback(_ctx: click.Context, parameter: click.Parameter, text: str | None) -> object:
        return default if text is None else read(text, parameter.opts[0])

    return callback


def _description(pattern: type[Pattern]) -> str:
    """The part of a pattern's docstring before its parameters."""
    return inspect.cleandoc(pattern.__doc__ or "").partition("\n\nParameters")[0]


for _name, _pattern in PATTERNS.items():
    generate_command.add_command(_command(_name, _pattern))
generate_command.add_command(llm_command)
generate_command.add_command(inference_command)
