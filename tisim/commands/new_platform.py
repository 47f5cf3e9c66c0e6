"""``tisim platform new``: a platform from a few numbers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Unpack

import click

from tisim.commands.written import report_written
from tisim.errors import InputError
from tisim.platform import Platform, new
from tisim.platform.new import Hardware, write_with_deployment
from tisim.platform.report import describe

_EPILOG = """\b
Examples:
  tisim platform new cluster --nodes 64 --bandwidth 100Gbps --latency 1us --speed 3.2Gf -o c.xml
  tisim platform new fat-tree --nodes 4096 --bandwidth 200Gbps --latency 1us --speed 3.2Gf -o f.xml
  tisim platform new cluster --nodes 64 --calibrated m.xml --disk read=2GBps,write=1GBps -o d.xml
  tisim platform new cluster --nodes 73 --calibrated m.xml -o p.xml \\
      --pfs servers=8,read=5GBps,write=3GBps,stripe=1MiB,count=4,metadata-rate=20000
  tisim platform new torus --nodes 4096 --dims 16,16,16 --calibrated measured.xml -o t.xml
  tisim platform new dragonfly --nodes 4096 --groups 16 --calibrated measured.xml -o d.xml
"""

_COMMON = (
    click.option("--nodes", type=click.IntRange(min=1), required=True, help="Number of hosts."),
    click.option("--bandwidth", metavar="RATE", help="Of one link, full duplex: 200Gbps, 25GBps."),
    click.option("--latency", metavar="TIME", help="Of one link: 1us. A route has two or more."),
    click.option(
        "--speed", metavar="RATE", help="Of one core: 3.2Gf (instructions or flops a second)."
    ),
    click.option("--cores", type=click.IntRange(min=1), help="Cores of a host (default: 1)."),
    click.option(
        "--calibrated",
        metavar="FILE",
        help="A platform of 'tisim calibrate': take its options, and the numbers not given here.",
    ),
    click.option(
        "--disk",
        metavar="read=RATE,write=RATE[,mount=PATH][,size=BYTES]",
        help="Of each host; 'tisim calibrate disk' finds the rates.",
    ),
    click.option(
        "--pfs",
        metavar="servers=N,read=RATE,write=RATE[,...]",
        help="A parallel file system on the last hosts: N servers, then a metadata server. Also: "
        "mount= (/scratch), name=, stripe= (1MiB), count= servers of a file (1; all), "
        "metadata-rate= operations a second, metadata-latency=, request= (4MiB), window= requests "
        "at a time (8), header= (256B), size=, client-cache=, server-cache=, server-cache-rate=.",
    ),
    click.option(
        "-o",
        "--output",
        metavar="FILE.xml",
        required=True,
        help="Write the platform; beside it FILE.hosts and FILE.deploy.xml, a rank on each core "
        "(of hosts that serve no files).",
    ),
)


def _common(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that all kinds of platforms have."""
    for option in reversed(_COMMON):
        command = option(command)
    return command


def _numbers(text: str | None, what: str) -> tuple[int, ...] | None:
    """Whole numbers with commas between them."""
    if text is None:
        return None
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise InputError(f"{what}: whole numbers such as 8,8,4, not {text!r}") from None


def _write(platform: Platform, output: str) -> None:
    click.echo(describe(platform).text())
    report_written(*write_with_deployment(platform, Path(output)))


@click.group("new", epilog=_EPILOG)
def new_command() -> None:
    """Write a platform from nothing: a cluster, a fat tree, a torus or a dragonfly."""


@new_command.command("cluster", epilog=_EPILOG)
@_common
@click.option("--backbone", metavar="RATE", help="What the switch carries together.")
def cluster_command(
    output: str, nodes: int, backbone: str | None, **hardware: Unpack[Hardware]
) -> None:
    """Hosts on one switch."""
    _write(new.cluster(nodes, backbone=backbone, **hardware), output)


@new_command.command("fat-tree", epilog=_EPILOG)
@_common
@click.option(
    "--radix",
    type=click.IntRange(min=2),
    metavar="PORTS",
    help="Ports of a switch (default: the least of 32, 36, 40, 48, 64, 128 with fewest levels).",
)
@click.option(
    "--oversubscription",
    type=float,
    default=1.0,
    show_default=True,
    help="Hosts of a switch for each of its cables up.",
)
def fat_tree_command(
    output: str,
    nodes: int,
    radix: int | None,
    oversubscription: float,
    **hardware: Unpack[Hardware],
) -> None:
    """A fat tree of equal switches, of the fewest levels that hold the hosts."""
    tree = new.fat_tree(nodes, radix=radix, oversubscription=oversubscription, **hardware)
    _write(tree, output)


@new_command.command("torus", epilog=_EPILOG)
@_common
@click.option(
    "--dims", metavar="N,N,...", help="Sizes of the dimensions (default: three nearly equal ones)."
)
def torus_command(output: str, nodes: int, dims: str | None, **hardware: Unpack[Hardware]) -> None:
    """A torus: each host has a link to its neighbours in every dimension."""
    sizes = _numbers(dims, "--dims")
    _write(new.torus(nodes, dims=sizes, **hardware), output)


@new_command.command("dragonfly", epilog=_EPILOG)
@_common
@click.option("--groups", type=click.IntRange(min=1), help="Groups (default: balanced).")
@click.option("--chassis", type=click.IntRange(min=1), help="Chassis a group (default: about 6).")
@click.option(
    "--blades",
    type=click.IntRange(min=1),
    help="Blades a chassis, at least as many as groups (default: balanced).",
)
@click.option("--hosts", type=click.IntRange(min=1), help="Hosts a blade (default: about 4).")
@click.option(
    "--cables",
    metavar="N,N,N",
    help="Cables between two groups, chassis, blades (default: what uniform traffic fills).",
)
def dragonfly_command(
    output: str,
    nodes: int,
    groups: int | None,
    chassis: int | None,
    blades: int | None,
    hosts: int | None,
    cables: str | None,
    **hardware: Unpack[Hardware],
) -> None:
    """A dragonfly: groups of chassis of blades, with minimal routing."""
    shape = new.dragonfly(
        nodes,
        groups=groups,
        chassis=chassis,
        blades=blades,
        hosts=hosts,
        cables=_numbers(cables, "--cables"),
        **hardware,
    )
    _write(shape, output)
