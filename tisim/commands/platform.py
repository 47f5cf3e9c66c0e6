"""``tisim platform FILE`` describes a platform, ``new`` makes one, ``list`` names machines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tisim.commands import (
    Branching,
    SentenceGroup,
    force_option,
    json_option,
    report_written,
    write_json,
)
from tisim.errors import InputError
from tisim.gpu import machines as gpus
from tisim.platform import Platform, new
from tisim.platform.description.node import WRITTEN_BY_NEW
from tisim.platform.new import write_with_deployment
from tisim.platform.new.machines import MACHINES, machine
from tisim.platform.report import describe, describe_route
from tisim.support.quantities import parse_bandwidth

if TYPE_CHECKING:
    from tisim.platform.drawing import RunLoad
    from tisim.studies.uncertainty import ParameterSets

_Option = Callable[[Callable[..., None]], Callable[..., None]]

_EXAMPLES = """\b
Examples:
  tisim platform platforms/graphene.xml
  tisim platform cluster.xml --route node-1 node-2
  tisim platform cluster.xml --draw cluster.svg
  tisim replay --platform cluster.xml --breakdown --json run.json traces/
  tisim platform cluster.xml --draw load.svg --load run.json   # which links are busy?
  tisim platform cluster.xml --json -
  tisim platform new fat-tree --nodes 4096 --bandwidth 200Gbps --latency 1us --speed 3.2Gf -o f.xml
"""


@click.command("platform", cls=Branching, epilog=_EXAMPLES)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--route", nargs=2, metavar="A B", help="Show the route from host A to host B.")
@click.option(
    "--draw",
    "drawing",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Draw the platform, as .svg or .png: fat trees by level, tori as grids, dragonflies "
    "as groups. Large platforms are drawn with several hosts per box.",
)
@click.option(
    "--load",
    "load_file",
    metavar="RUN.json",
    help="With --draw: colour links by their mean load in a run and show the ranks on hosts; "
    "RUN.json is written by 'tisim replay --breakdown --json RUN.json'.",
)
@json_option("the numbers")
def platform_command(
    file: Path,
    route: tuple[str, str] | None,
    drawing: Path | None,
    load_file: str | None,
    json_file: str | None,
) -> None:
    """Describe a platform FILE: hosts, links, zones, distances, bandwidths.

    See 'tisim platform new --help' for creating one and 'tisim platform list' for known machines.
    Use ./new for a file named new.
    """
    if load_file is not None and drawing is None:
        raise InputError("--load needs --draw FILE")
    platform = Platform.load(file)
    for warning in platform.warnings:
        click.echo(f"warning: {warning}", err=True)
    if drawing is not None:
        from tisim.platform.drawing import check_drawing, draw

        check_drawing(drawing)
        draw(platform, drawing, None if load_file is None else _read_load(platform, load_file))
        report_written(drawing)
    if route is not None:
        src, dst = (platform.host(name) for name in route)
        # With --json -, standard output contains only JSON.
        click.echo(describe_route(src, dst, platform.route(src, dst)), err=json_file == "-")
    if json_file is not None:
        write_json(asdict(describe(platform)), json_file, indent=2)
    elif route is None and drawing is None:
        click.echo(describe(platform).text())


def _read_load(platform: Platform, path: str) -> RunLoad:
    """The load of links, and the hosts of ranks, of a result with a breakdown."""
    from tisim.analysis.result_json import read_file
    from tisim.platform.drawing import RunLoad

    result = read_file(path)
    breakdown = result.get("breakdown")
    if breakdown is None or "links" not in breakdown:
        raise InputError(
            "contains no link loads; create it with: tisim replay --breakdown --json FILE ...",
            file=path,
        )
    try:
        links = [(str(row["link"]), float(row["mean"])) for row in breakdown["links"]]
    except (TypeError, KeyError, ValueError):
        raise InputError(
            "its link loads are not in the format of tisim replay --breakdown --json", file=path
        ) from None
    return RunLoad(platform, links, [row["host"] for row in result["ranks"]], path)


_EPILOG = """\b
Examples:
  tisim platform new cluster --nodes 64 --bandwidth 100Gbps --latency 1us --speed 3.2Gf -o c.xml
  tisim platform new fat-tree --nodes 4096 --bandwidth 200Gbps --latency 1us --speed 3.2Gf -o f.xml
  tisim platform new cluster --nodes 64 --calibrated m.xml --disk read=2GBps,write=1GBps -o d.xml
  tisim platform new cluster --nodes 73 --calibrated m.xml -o p.xml \\
      --pfs servers=8,read=5GBps,write=3GBps,stripe=1MiB,count=4,metadata-rate=20000
  tisim platform new torus --nodes 4096 --dims 16,16,16 --calibrated measured.xml -o t.xml
  tisim platform new dragonfly --nodes 4096 --groups 16 --calibrated measured.xml -o d.xml
  tisim platform new gpu-cluster --nodes 64 --gpu h100 -o g.xml
  tisim platform new machine gros -o gros.xml   # tisim platform list
"""

_OUTPUT = click.option(
    "-o",
    "--output",
    metavar="FILE.xml",
    required=True,
    help="Platform to write. FILE.hosts and FILE.deploy.xml, written next to it, place a rank on "
    "each core of the hosts that are not file servers.",
)
_COMMON: tuple[_Option, ...] = (
    click.option("--nodes", type=click.IntRange(min=1), required=True, help="Number of hosts."),
    click.option(
        "--bandwidth",
        metavar="RATE",
        help="Bandwidth of a link, full duplex, such as 200Gbps or 25GBps.",
    ),
    click.option(
        "--latency",
        metavar="TIME",
        help="Latency of a link, such as 1us; a route has two or more links.",
    ),
    click.option(
        "--speed",
        metavar="RATE",
        help="Speed of a core, such as 3.2Gf (instructions or flops per second).",
    ),
    click.option("--cores", type=click.IntRange(min=1), help="Cores per host (default: 1)."),
    click.option(
        "--calibrated",
        metavar="FILE",
        help="Platform written by 'tisim calibrate'; provides the options, and the values not "
        "given here.",
    ),
    click.option(
        "--disk",
        metavar="read=RATE,write=RATE[,mount=PATH][,size=BYTES]",
        help="Disk of each host; 'tisim calibrate disk' measures the rates.",
    ),
    click.option(
        "--pfs",
        metavar="servers=N,read=RATE,write=RATE[,...]",
        help="Parallel file system on the last hosts: N servers, then a metadata server. "
        "Further keys: mount= (/scratch), name=, stripe= (1MiB), count= servers per file "
        "(1; all), metadata-rate= operations per second, metadata-latency=, request= "
        "(4MiB), window= concurrent requests (8), header= (256B), size=, client-cache=, "
        "server-cache=, server-cache-rate=.",
    ),
    _OUTPUT,
    force_option,
)


def _numbers(
    _ctx: click.Context, parameter: click.Parameter, text: str | None
) -> tuple[int, ...] | None:
    """Whole numbers with commas between them."""
    if text is None:
        return None
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise InputError(
            f"{parameter.opts[0]} must be whole numbers such as 8,8,4, not {text!r}"
        ) from None


def _write(platform: Platform, output: str, comment: str = "") -> None:
    calibrated = click.get_current_context().params.get("calibrated")
    sets = None if calibrated is None else _sets_of(calibrated)  # damaged ones are said before
    comments = [WRITTEN_BY_NEW, comment] if comment else [WRITTEN_BY_NEW]
    written = write_with_deployment(platform, Path(output), "\n".join(comments))
    click.echo(describe(platform).text())
    report_written(*written)
    if sets is not None:
        report_written(sets.write(output))


def _sets_of(calibrated: str) -> ParameterSets | None:
    """The parameter sets of a calibrated platform for one that is made of it; None: it has none.

    The errors of programs that were validated there are not those of another platform.
    """
    from tisim.studies.uncertainty import ParameterSets

    if not ParameterSets.path_beside(calibrated).exists():
        return None
    return replace(ParameterSets.beside(calibrated), validated=())


@click.group("new", cls=SentenceGroup, epilog=_EPILOG)
def new_command() -> None:
    """Create a platform: a cluster, a fat tree, a torus, a dragonfly or a known machine."""


def _add_kind(name: str, make: Callable[..., Platform], summary: str, *own: _Option) -> None:
    """Add a command whose options are the parameters of `make`: those of all kinds, and its own."""

    def write(output: str, **parameters: object) -> None:
        _write(make(**parameters), output)

    command: Callable[..., None] = write
    for option in reversed((*_COMMON, *own)):
        command = option(command)
    new_command.command(name, epilog=_EPILOG, help=summary)(command)


_add_kind(
    "cluster",
    new.cluster,
    "Hosts on one switch.",
    click.option("--backbone", metavar="RATE", help="Total bandwidth of the switch."),
)
_add_kind(
    "fat-tree",
    new.fat_tree,
    "A fat tree of identical switches with as few levels as the hosts need.",
    click.option(
        "--radix",
        type=click.IntRange(min=2),
        metavar="PORTS",
        help="Ports per switch (default: the smallest of 32, 36, 40, 48, 64, 128 that gives the "
        "fewest levels).",
    ),
    click.option(
        "--oversubscription",
        type=float,
        default=1.0,
        show_default=True,
        help="Hosts per uplink of a switch.",
    ),
)
_add_kind(
    "torus",
    new.torus,
    "A torus: each host is linked to its neighbours in every dimension.",
    click.option(
        "--dims",
        callback=_numbers,
        metavar="N,N,...",
        help="Sizes of the dimensions (default: three of nearly equal size).",
    ),
)
_COUNT = click.IntRange(min=1)
_add_kind(
    "dragonfly",
    new.dragonfly,
    "A dragonfly: groups of chassis of blades, with minimal routing.",
    click.option("--groups", type=_COUNT, help="Number of groups (default: balanced)."),
    click.option("--chassis", type=_COUNT, help="Chassis per group (default: about 6)."),
    click.option(
        "--blades",
        type=_COUNT,
        help="Blades per chassis, at least as many as groups (default: balanced).",
    ),
    click.option("--hosts", type=_COUNT, help="Hosts per blade (default: about 4)."),
    click.option(
        "--cables",
        callback=_numbers,
        metavar="N,N,N",
        help="Cables between two groups, two chassis, two blades (default: enough for uniform "
        "traffic).",
    ),
)


@new_command.command("machine", epilog=_EPILOG)
@click.argument("name")
@_OUTPUT
@force_option
def machine_command(name: str, output: str) -> None:
    """A machine from 'tisim platform list'; the file cites the source of its figures."""
    known = machine(name)
    _write(known.build(), output, known.comment(name))


@click.command("list", epilog=_EPILOG)
def list_command() -> None:
    """List the machines that 'tisim platform new machine NAME -o FILE.xml' writes."""
    for name, known in MACHINES.items():
        click.echo(f"{name}\n    {known.summary}\n    source: {known.source}")
    click.echo("\nTo write one: tisim platform new machine NAME -o FILE.xml")


platform_command.further.update(new=new_command, list=list_command)


@new_command.command("gpu-cluster", epilog=_EPILOG)
@click.option("--nodes", type=click.IntRange(min=1), required=True, help="Number of nodes.")
@click.option(
    "--gpu", type=click.Choice(list(gpus.MACHINES)), required=True, help="Model of the GPUs."
)
@click.option(
    "--rails",
    type=click.IntRange(min=1),
    metavar="N",
    help="Network interfaces per node (default: as in a typical node; h100: 8).",
)
@click.option(
    "--nic",
    metavar="RATE",
    help="Bandwidth of a network interface (default: as in a typical node; h100: 400Gbps).",
)
@click.option(
    "--nvlink",
    metavar="RATE",
    help="Bandwidth of one NVLink in each direction (default: that of the GPU; h100: 25GBps).",
)
@click.option(
    "--fabric",
    type=click.Choice(gpus.FABRICS),
    default="rail",
    show_default=True,
    help="rail: interfaces of the same index in 32 nodes share a switch; fat-tree: all interfaces "
    "of a node share a switch.",
)
@click.option(
    "--oversubscription",
    type=float,
    default=1.0,
    show_default=True,
    help="Ratio of interface to uplink bandwidth at a leaf switch.",
)
@click.option(
    "--no-gpudirect",
    is_flag=True,
    help="Interfaces access host memory only, so all data passes through it.",
)
@click.option(
    "--sharp", is_flag=True, help="Switches between nodes perform reductions (NCCL's CollNet)."
)
@_OUTPUT
@force_option
def gpu_cluster_command(
    output: str,
    nodes: int,
    gpu: str,
    rails: int | None,
    nic: str | None,
    nvlink: str | None,
    no_gpudirect: bool,
    **network: object,
) -> None:
    """Nodes of GPUs with NVLinks and a network; each host is a GPU.

    GPU figures come from data sheets and are stored in a property of each host.
    """
    from tisim.gpu.machines_platform import gpu_cluster

    made = replace(gpus.machine(gpu, nodes), **network)  # type: ignore[arg-type]
    if rails is not None:
        made = replace(made, nics=rails)
    if nic is not None:
        made = replace(made, nic_rate=parse_bandwidth(nic, "--nic"))
    if nvlink is not None:
        made = made.with_nvlinks(parse_bandwidth(nvlink, "--nvlink"))
    if no_gpudirect:
        made = made.without_gpudirect()
    _write(gpu_cluster(made), output)
