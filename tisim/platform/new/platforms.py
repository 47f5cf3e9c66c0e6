"""New platforms: the functions that a user calls."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Unpack

from tisim.platform.builder import PlatformBuilder
from tisim.platform.description.attributes import Quantity
from tisim.platform.description.host_disks import DISK
from tisim.platform.description.numbers import BURST
from tisim.platform.new.calibrated import Hardware, characteristics
from tisim.platform.new.dragonflies import dragonfly_shape
from tisim.platform.new.fat_trees import fat_tree_shape
from tisim.platform.new.file_servers import file_servers
from tisim.platform.new.nearest import checked_count
from tisim.platform.new.tori import torus_sizes
from tisim.platform.platform import Platform


def cluster(
    nodes: int,
    *,
    backbone: Quantity | None = None,
    name: str = "node",
    **hardware: Unpack[Hardware],
) -> Platform:
    """A cluster of hosts on one switch.

    Parameters
    ----------
    nodes
        Number of hosts, called ``node-0``, ``node-1``, ...
    backbone
        What the switch carries together, bytes/s; None: all that its links do.
    name
        What the names of hosts begin with.
    bandwidth, latency
        Of the link of a host to the switch, full duplex: bytes/s and seconds, or text with a unit.
        A route has two links.
    speed, cores
        Of a core: flop/s (of traces in instructions: instructions a second); cores a host, 1 if not
        given.
    calibrated
        A platform written by `tisim calibrate`: gives its options, and its numbers where none are
        given here.
    disk
        Of each host: ``"read=2GBps,write=1GBps,mount=/scratch,size=1TB"``, the last two if need be.
    pfs
        A parallel file system: ``"servers=8,read=5GBps,write=3GBps,stripe=1MiB,count=4"``. Its
        servers are the last hosts before the last one, which is its metadata server.

    Raises
    ------
    InputError
        If a number is missing or does not make sense.

    Examples
    --------
    >>> from tisim.platform import new
    >>> new.cluster(64, bandwidth="100Gbps", latency="1us", speed="3Gf", cores=32)
    <Platform a new cluster: 64 hosts, 128 links>
    """
    checked_count(nodes, "the number of hosts")
    centre = None if backbone is None else (backbone, 0.0)
    return _built("cluster", nodes, hardware, "flat", "", name, centre)


def fat_tree(
    nodes: int,
    *,
    radix: int | None = None,
    oversubscription: float = 1.0,
    name: str = "node",
    **hardware: Unpack[Hardware],
) -> Platform:
    """A fat tree of equal switches, of the fewest levels that hold the hosts.

    Parameters
    ----------
    nodes, name, bandwidth, latency, speed, cores, calibrated, disk, pfs
        As of `cluster`; each cable is such a link.
    radix
        Ports of a switch; if None, the smallest of 32, 36, 40, 48, 64 and 128 with the fewest
        levels.
    oversubscription
        Hosts of a switch for each of its cables up; 1 never blocks.

    Raises
    ------
    InputError
        If no such tree has that many hosts (the message names the nearest that have), or as
        `cluster`.

    Examples
    --------
    >>> from tisim.platform import new
    >>> new.fat_tree(1024, bandwidth="50Gbps", latency="1us", speed="3Gf")
    <Platform a new fat tree: 1024 hosts, 4096 links>
    """
    shape = fat_tree_shape(nodes, radix, oversubscription)
    return _built("fat tree", nodes, hardware, "fat_tree", shape, name)


def torus(
    nodes: int,
    *,
    dims: Sequence[int] | None = None,
    name: str = "node",
    **hardware: Unpack[Hardware],
) -> Platform:
    """A torus: each host has a link to its neighbours in every dimension.

    Parameters
    ----------
    nodes, name, bandwidth, latency, speed, cores, calibrated, disk, pfs
        As of `cluster`; each cable is such a link.
    dims
        The sizes of the dimensions; if None, three nearly equal ones.

    Raises
    ------
    InputError
        If the sizes do not multiply to `nodes`, or no nearly equal ones do (the message names the
        nearest numbers), or as `cluster`.

    Examples
    --------
    >>> from tisim.platform import new
    >>> new.torus(4096, bandwidth="50Gbps", latency="1us", speed="3Gf")
    <Platform a new torus: 4096 hosts, 24576 links>
    """
    return _built("torus", nodes, hardware, "torus", torus_sizes(nodes, dims), name)


def dragonfly(
    nodes: int,
    *,
    groups: int | None = None,
    chassis: int | None = None,
    blades: int | None = None,
    hosts: int | None = None,
    cables: Sequence[int] | None = None,
    name: str = "node",
    **hardware: Unpack[Hardware],
) -> Platform:
    """A dragonfly: groups of chassis of blades, with minimal routing.

    Parameters
    ----------
    nodes, name, bandwidth, latency, speed, cores, calibrated, disk, pfs
        As of `cluster`; each cable is such a link.
    groups, chassis, blades, hosts
        Groups, chassis a group, blades a chassis, hosts a blade; balanced ones where None. There
        are at most as many groups as blades a chassis.
    cables
        Cables bundled between two groups, between the same blades of two chassis, and between two
        blades of a chassis; if None, as many as uniform traffic of all hosts fills.

    Raises
    ------
    InputError
        If no such sizes have that many hosts (the message names the nearest numbers), or as
        `cluster`.

    Examples
    --------
    >>> from tisim.platform import new
    >>> new.dragonfly(4096, bandwidth="50Gbps", latency="1us", speed="3Gf", groups=16)
    <Platform a new dragonfly: 4096 hosts, 26864 links>
    """
    shape = dragonfly_shape(nodes, groups, chassis, blades, hosts, cables)
    levels = (
        (shape.groups, shape.blue),
        (shape.chassis, shape.black),
        (shape.blades, shape.green),
        shape.nodes,
    )
    return _built("dragonfly", nodes, hardware, "dragonfly", levels, name)


def _built(
    kind: str,
    nodes: int,
    hardware: Hardware,
    topology: str,
    parameters: str | Sequence[int | Sequence[int]],
    name: str,
    backbone: tuple[Quantity, Quantity] | None = None,
) -> Platform:
    """The platform of one cluster element."""
    numbers = characteristics(**hardware)
    properties = {BURST: repr(float(numbers.burst))} if numbers.burst else {}
    if disk := hardware.get("disk"):
        properties[DISK] = disk
    builder = PlatformBuilder(f"a new {kind}")
    if numbers.config:
        builder.config(numbers.config)
    pfs = hardware.get("pfs")
    around = builder.zone("system", properties=file_servers(pfs, nodes, name)) if pfs else None
    with around or nullcontext():
        builder.cluster(
            name,
            nodes,
            speed=numbers.speed,
            cores=numbers.cores,
            bandwidth=numbers.bandwidth,
            latency=numbers.latency,
            topology=topology,
            parameters=parameters,
            backbone=backbone,
            limiter=numbers.limiter,
            properties=properties,
        )
    return builder.build()
