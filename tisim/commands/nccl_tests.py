"""``tisim nccl-tests`` predicts the table that nccl-tests prints."""

from __future__ import annotations

import re
from pathlib import Path

import click

from tisim.commands import json_option, write_json
from tisim.errors import InputError
from tisim.gpu.nccl import ALGORITHMS, OPERATIONS
from tisim.gpu.nccl_msccl import read_algorithm
from tisim.gpu.nccl_tables import NEWEST, PROTOCOLS, VERSIONS
from tisim.gpu.nccl_tests import ELEMENTS, LEVELS, predict
from tisim.platform import Platform

_EXAMPLES = """\b
Examples:
  tisim platform new gpu-cluster --nodes 64 --gpu h100 -o g.xml
  tisim nccl-tests --platform g.xml --gpus 64 all_reduce -b 8 -e 8G -f 2
  tisim nccl-tests --platform g.xml alltoall -b 1M -e 1G -f 4 --json table.json
"""
_SUFFIXES = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def _bytes(_ctx: click.Context, parameter: click.Parameter, text: str) -> int:
    """A size as nccl-tests has it: 32M is 32 x 1024 x 1024 bytes."""
    found = re.fullmatch(r"(\d{1,15})([KMG]?)", text.upper())
    if found is None:
        raise InputError(
            f"{parameter.opts[-1]} must be bytes such as 8, 64K, 32M or 1G, not {text!r}"
        )
    return int(found[1]) * _SUFFIXES[found[2]]


@click.command("nccl-tests", epilog=_EXAMPLES)
@click.argument("operation", metavar="OPERATION", type=click.Choice(OPERATIONS))
@click.option(
    "--platform", "file", metavar="FILE.xml", required=True, help="Platform whose hosts are GPUs."
)
@click.option(
    "--gpus",
    "ranks",
    type=click.IntRange(min=2),
    metavar="N",
    help="Use the first N GPUs (default: all).",
)
@click.option("-b", "--minbytes", "first", default="32M", show_default=True, callback=_bytes,
              metavar="SIZE",
              help="Smallest size in bytes; K, M and G are powers of 1024.")  # fmt: skip
@click.option("-e", "--maxbytes", "last", default="32M", show_default=True, callback=_bytes,
              metavar="SIZE",
              help="Largest size.")  # fmt: skip
@click.option("-f", "--stepfactor", type=click.IntRange(min=2), help="Factor between sizes.")
@click.option("-i", "--stepbytes", "step", default="1M", show_default=True, callback=_bytes,
              metavar="SIZE",
              help="Step between sizes, without -f.")  # fmt: skip
@click.option(
    "-d",
    "--datatype",
    "dtype",
    type=click.Choice(list(ELEMENTS)),
    default="float",
    show_default=True,
    help="Type of the elements.",
)
@click.option(
    "--nccl",
    "version",
    metavar="VERSION",
    default=NEWEST,
    show_default=True,
    help=f"NCCL version, {next(iter(VERSIONS))} or later.",
)
@click.option(
    "--algo",
    "algorithms",
    type=click.Choice(ALGORITHMS),
    multiple=True,
    default=ALGORITHMS,
    help="Algorithm that NCCL may choose, as NCCL_ALGO (default: all). Repeatable.",
)
@click.option(
    "--proto",
    "protocols",
    type=click.Choice(PROTOCOLS),
    multiple=True,
    default=PROTOCOLS,
    help="Protocol that NCCL may choose, as NCCL_PROTO (default: all). Repeatable.",
)
@click.option(
    "--level",
    type=click.Choice(LEVELS),
    default=LEVELS[0],
    show_default=True,
    help="flows: times from a latency and a rate; chunks: each chunk is a message on the "
    "platform's links.",
)
@click.option(
    "--msccl",
    metavar="FILE.xml",
    help="Execute an MSCCL algorithm instead; each of its sends is a message.",
)
@json_option("the table, in bytes and seconds,")
def nccl_tests_command(
    file: str,
    operation: str,
    version: str,
    stepfactor: int | None,
    msccl: str | None,
    json_file: str | None,
    **asked: object,
) -> None:
    """Predict the table of nccl-tests for an OPERATION of NCCL on a platform of GPUs.

    OPERATION is all_reduce, all_gather, reduce_scatter, broadcast, reduce, alltoall, gather,
    scatter or sendrecv. All GPUs call the operation together, and nothing else runs. The last
    column is NCCL's choice of algorithm, protocol and channels. Between nodes, the time is that
    of the slowest link with the bytes of all nodes on it.
    """
    platform = Platform.load(Path(file))
    table = predict(
        platform,
        operation,
        factor=stepfactor or 1,
        msccl=None if msccl is None else read_algorithm(msccl),
        version=version,
        **asked,  # type: ignore[arg-type]
    )
    if not write_json(table.data(), json_file, indent=2):
        click.echo(f"# {operation} on {table.ranks} GPUs of {file}, NCCL {version}")
        if table.network < 1:
            click.echo(
                f"# the slowest link between nodes carries {table.network:.0%} of the bandwidth of "
                "their interfaces"
            )
        for line in table.lines():
            click.echo(line)
