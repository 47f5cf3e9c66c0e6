"""Platforms built from a few numbers: a cluster, a fat tree, a torus or a dragonfly.

Each function takes the number of hosts and the performance of a link and a core, and chooses the
sizes of the topology that the caller leaves open. A number of hosts that does not fit is refused
with the nearest ones that do. `calibrated` names a platform written by `tisim calibrate`: its
options are adopted, and its numbers are the defaults.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypedDict, Unpack

from tisim.errors import InputError
from tisim.platform.builder import PlatformBuilder, Quantity
from tisim.platform.description.node import BURST, OPTION
from tisim.platform.description.storage import DISK, FILE_SYSTEM, PFS_WORDS, read_words
from tisim.platform.description.xml import quoted
from tisim.platform.new.shapes import checked_count, dragonfly_shape, fat_tree_shape, torus_sizes
from tisim.platform.platform import Platform
from tisim.support.files import write_file
from tisim.support.quantities import parse_bandwidth

__all__ = ["cluster", "dragonfly", "fat_tree", "torus"]


class Hardware(TypedDict, total=False):
    """The user's parameters of links and hosts; all optional with a calibrated platform.

    Attributes
    ----------
    bandwidth, latency
        Of one link.
    speed, cores
        Flop/s of one core, and cores per host.
    calibrated
        A platform written by `tisim calibrate`.
    disk
        Disk of each host, in the form of the property ``tisim/disk``.
    pfs
        A parallel file system whose servers are the last hosts.
    """

    bandwidth: Quantity | None
    latency: Quantity | None
    speed: Quantity | None
    cores: int | None
    calibrated: str | os.PathLike[str] | None
    disk: str | None
    pfs: str | None


@dataclass(frozen=True)
class Characteristics:
    """Parameters of the links and hosts of a new platform.

    Attributes
    ----------
    bandwidth, latency
        Of one link.
    speed, cores
        Flop/s of one core, and cores per host.
    config
        Simulation options for ``<config>``.
    options
        Options that are properties of the outermost zone, by property name.
    limiter
        Upper bound on the send plus receive rate of a host, bytes/s; None: only its link limits.
    burst
        Bytes that a link passes at once.
    """

    bandwidth: Quantity
    latency: Quantity
    speed: Quantity
    cores: int
    config: Mapping[str, object] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict)
    limiter: float | None = None
    burst: float = 0.0


def characteristics(**hardware: Unpack[Hardware]) -> Characteristics:
    """Return the numbers of a new platform: the given ones, else those of a calibrated one.

    Raises an `InputError` if a number is neither given nor in the calibrated platform.
    """
    given: dict[str, object] = {
        name: value
        for name in ("bandwidth", "latency", "speed", "cores")
        if (value := hardware.get(name)) is not None
    }
    calibrated = hardware.get("calibrated")
    missing = [name for name in ("bandwidth", "latency", "speed") if name not in given]
    if calibrated is None and missing:
        raise InputError(
            f"a new platform needs a {' and a '.join(missing)}, or a calibrated platform from "
            "which to take them (--bandwidth 200Gbps --latency 1us --speed 3.2Gf)"
        )
    known = (
        {"cores": 1} if calibrated is None else vars(_characteristics(Platform.load(calibrated)))
    )
    if "bandwidth" in given:  # a limiter belongs to the measured links
        given["limiter"] = None
    make: Callable[..., Characteristics] = Characteristics
    return make(**{**known, **given})


def _characteristics(platform: Platform) -> Characteristics:
    """Return the parameters of a platform's first two hosts and of the route between them."""
    if len(platform.hosts) < 2:
        raise InputError(
            "a calibrated platform must have at least two hosts; this one has one",
            file=platform.file,
        )
    first, second = platform.hosts[:2]
    route = platform.route(first, second).links
    links = [link for link in route if link.latency > 0]
    limiters = [link.bandwidth for link in route if link.name.endswith("_limiter")]
    if not links:
        raise InputError(
            "the route between the first two hosts of the calibrated platform has no latency; "
            "give --latency and --bandwidth",
            file=platform.file,
        )
    return Characteristics(
        min(link.bandwidth for link in links),
        sum(link.latency for link in links) / len(links),
        first.speed,
        first.cores,
        {item.key: item.value for item in platform.config_items if not item.in_zone},
        {OPTION + item.key: item.value for item in platform.config_items if item.in_zone},
        min(limiters, default=None),
        min(platform.resources.link_burst[link.index] for link in links),
    )


_NAME = "scratch"


def file_servers(text: str, nodes: int, prefix: str) -> dict[str, str]:
    """Return the zone property that makes the last hosts of a cluster file system servers.

    `text`: ``servers=8,read=5GBps,write=3GBps`` and optional file system parameters. `nodes`:
    hosts of the cluster. The last one is the metadata server, preceded by the data servers.
    `prefix`: prefix of the host names. Raises an `InputError` if the text is invalid, or no host
    is left for ranks.
    """
    try:
        words = read_words(text, ("name", *PFS_WORDS), "a parallel file system")
        missing = [word for word in ("servers", "read", "write") if word not in words]
        if missing:
            raise InputError(f"it needs {' and '.join(f'{word}=' for word in missing)}")
        count = words.pop("servers")
        if not (count.isascii() and count.isdigit() and int(count) > 0):
            raise InputError(f"servers must be a whole number above zero, not {count!r}")
        first = nodes - int(count) - 1
        if first < 1:
            raise InputError(
                f"{count} servers and a metadata server occupy {int(count) + 1} hosts; at least "
                f"one more is needed for ranks, but there are only {nodes}"
            )
    except InputError as error:
        raise InputError(f"pfs: {error.message}") from None
    name = words.pop("name", _NAME)
    described = {
        "type": "striped",
        "mount": words.pop("mount", f"/{name}"),
        "servers": f"{prefix}-{{{first}-{nodes - 2}}}",
        "metadata": f"{prefix}-{nodes - 1}",
        **words,
    }
    return {
        f"{FILE_SYSTEM}{name}": ",".join(f"{word}={value}" for word, value in described.items())
    }


def cluster(
    nodes: int,
    *,
    backbone: Quantity | None = None,
    name: str = "node",
    **hardware: Unpack[Hardware],
) -> Platform:
    """Build a cluster of hosts on one switch.

    Parameters
    ----------
    nodes
        Number of hosts, called ``node-0``, ``node-1``, ...
    backbone
        Bandwidth of the switch, bytes/s; None: not limited.
    name
        Prefix of the host names.
    bandwidth, latency
        Of the link of a host to the switch, full duplex: bytes/s and seconds, or text with a unit.
        A route has two links.
    speed, cores
        Of a core: flop/s (of traces in instructions: instructions a second); cores per host,
        default 1.
    calibrated
        A platform written by `tisim calibrate`: gives its options, and the defaults of the numbers.
    disk
        Of each host: ``"read=2GBps,write=1GBps,mount=/scratch,size=1TB"``; mount, size optional.
    pfs
        A parallel file system: ``"servers=8,read=5GBps,write=3GBps,stripe=1MiB,count=4"``. The
        last host is its metadata server, the hosts before it are its servers.

    Raises
    ------
    InputError
        If a number is missing or invalid.

    Examples
    --------
    >>> from tisim.platform import new
    >>> new.cluster(64, bandwidth="100Gbps", latency="1us", speed="3Gf", cores=32)
    <Platform a new cluster: 64 hosts, 128 links>
    """
    checked_count(nodes, "the number of hosts")
    centre = None if backbone is None else (_backbone(backbone), 0.0)
    return _built("cluster", nodes, hardware, "flat", "", name, centre)


def _backbone(bandwidth: Quantity) -> Quantity:
    """Return a switch's bandwidth; must not be 0, which means none in platform files."""
    given = parse_bandwidth(bandwidth, "backbone") if isinstance(bandwidth, str) else bandwidth
    if given == 0:
        raise InputError(
            f"the backbone must be above zero, not {bandwidth!r}; omit it for a switch without "
            "such a limit"
        )
    return bandwidth


def fat_tree(
    nodes: int,
    *,
    radix: int | None = None,
    oversubscription: float = 1.0,
    name: str = "node",
    **hardware: Unpack[Hardware],
) -> Platform:
    """Build a fat tree of identical switches with the fewest levels that fit the hosts.

    Parameters
    ----------
    nodes, name, bandwidth, latency, speed, cores, calibrated, disk, pfs
        As in `cluster`, for each cable.
    radix
        Ports of a switch; if None, the smallest of 32, 36, 40, 48, 64 and 128 with the fewest
        levels.
    oversubscription
        Number of hosts per up cable of a switch; 1 is non-blocking.

    Raises
    ------
    InputError
        If no such tree has that many hosts (the message names the nearest numbers), or as in
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
    """Build a torus: each host has a link to its neighbours in every dimension.

    Parameters
    ----------
    nodes, name, bandwidth, latency, speed, cores, calibrated, disk, pfs
        As in `cluster`, for each cable.
    dims
        The sizes of the dimensions; if None, three nearly equal ones.

    Raises
    ------
    InputError
        If the sizes do not multiply to `nodes`, or no nearly equal ones do (the message names the
        nearest numbers), or as in `cluster`.

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
    """Build a dragonfly: groups of chassis of blades, with minimal routing.

    Parameters
    ----------
    nodes, name, bandwidth, latency, speed, cores, calibrated, disk, pfs
        As in `cluster`, for each cable.
    groups, chassis, blades, hosts
        Groups, chassis per group, blades per chassis, hosts per blade; balanced if None. There are
        at most as many groups as blades per chassis.
    cables
        Cables bundled between two groups, between equal blades of two chassis, and between two
        blades of a chassis; if None, as many as uniform traffic of all hosts saturates.

    Raises
    ------
    InputError
        If no such sizes have that many hosts (the message names the nearest numbers), or as in
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
    """Return the platform of one cluster element."""
    numbers = characteristics(**hardware)
    properties = {BURST: repr(float(numbers.burst))} if numbers.burst else {}
    if disk := hardware.get("disk"):
        properties[DISK] = disk
    builder = PlatformBuilder(f"a new {kind}")
    if numbers.config:
        builder.config(numbers.config)
    around = None
    if pfs := hardware.get("pfs"):
        outermost = {**file_servers(pfs, nodes, name), **numbers.options}
        around = builder.zone("system", properties=outermost)
    else:
        properties |= numbers.options
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


_HEAD = (
    '<?xml version="1.0" encoding="UTF-8"?>\n'
    '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n'
    '<platform version="4.1">\n'
)


def write_with_deployment(
    platform: Platform, path: str | os.PathLike[str], comment: str = ""
) -> tuple[Path, ...]:
    """Write a platform ``x.xml``, its hosts ``x.hosts`` and a deployment ``x.deploy.xml``.

    The deployment has one rank per core, with consecutive ranks on one host. The host file has a
    line ``host:cores`` per host. File system servers are in neither. `path`: the platform file.
    `comment`: text for a comment in the file. Returns the three files. Raises an `InputError` if
    a file cannot be written.
    """
    xml = Path(path)
    if not xml.name:
        raise InputError("the platform needs a file name, such as cluster.xml")
    hosts = xml.with_suffix(".hosts")
    deployment = xml.with_suffix(".deploy.xml")
    disks = platform.disks
    servers = {disks[disk].host for system in platform.file_systems for disk in system.servers}
    servers |= {system.metadata for system in platform.file_systems}
    every = zip(platform.host_names(), platform.resources.integers("host_cores"), strict=True)
    slots = [slot for index, slot in enumerate(every) if index not in servers]
    lines = (f"{name}:{cores}\n" if cores > 1 else f"{name}\n" for name, cores in slots)
    places = (name for name, cores in slots for _ in range(cores))
    actors = (
        f'  <actor host={quoted(name)} function="{rank}"/>\n' for rank, name in enumerate(places)
    )
    head, end, body = platform.to_xml().partition("\n")
    write_file(xml, f"{head}{end}<!--\n{comment}\n-->\n{body}" if comment else head + end + body)
    write_file(hosts, "".join(lines))
    write_file(deployment, "".join([_HEAD, *actors, "</platform>\n"]))
    return xml, hosts, deployment
