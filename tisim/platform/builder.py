"""Platforms described in Python."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from numbers import Real
from typing import Final, TypeVar

from tisim.errors import InputError
from tisim.platform.description.elements import Elements
from tisim.platform.description.node import Node, Value, make_node
from tisim.platform.description.routes import Hop, listed, pair_of, route_node
from tisim.platform.platform import Platform
from tisim.platform.profiles import KINDS, profile_from_changes

#: A number in SI units (flop/s, bytes/s, seconds), or text with a unit such as ``"10us"``.
Quantity = float | str

_T = TypeVar("_T")

_TOPOLOGIES: Final = {
    "flat": "FLAT",
    "torus": "TORUS",
    "fat_tree": "FAT_TREE",
    "dragonfly": "DRAGONFLY",
}


def coordinates_of(coordinates: Sequence[float] | None) -> dict[str, Value]:
    """Return the attribute of Vivaldi coordinates; empty if there are none."""
    if coordinates is None:
        return {}
    given = listed(coordinates, "coordinates")
    return {"coordinates": tuple(float(x) if isinstance(x, Real) else x for x in given)}


def link_attributes(name: str, bandwidth: Quantity, latency: Quantity) -> dict[str, Value]:
    """Return the attributes of a link."""
    return {"id": name, "bandwidth": bandwidth, "latency": latency}


def network_attributes(speed: Quantity, bandwidth: Quantity, latency: Quantity) -> dict[str, Value]:
    """Return the attributes of identical hosts and of the links between them."""
    return {"speed": speed, "bw": bandwidth, "lat": latency}


def optional_links(
    backbone: tuple[Quantity, Quantity] | None,
    loopback: tuple[Quantity, Quantity] | None,
    limiter: Quantity | None,
) -> dict[str, Value]:
    """Return the attributes of a cluster's optional links."""
    attributes: dict[str, Value] = {}
    for letters, given in (("bb", backbone), ("loopback", loopback)):
        if given is not None:
            first, second = pair_of(
                given, "a backbone or loopback must be a bandwidth and a latency"
            )
            attributes |= {f"{letters}_bw": first, f"{letters}_lat": second}
    if limiter is not None:
        attributes["limiter_link"] = limiter
    return attributes


def numbered_hosts(
    name: str, nodes: int | None, radical: str | None, prefix: str | None, suffix: str
) -> dict[str, Value]:
    """Return the attributes that name hosts by their numbers."""
    if (nodes is None) == (radical is None):
        raise InputError(f"cluster {name}: give either nodes or radical")
    if nodes is not None:
        if isinstance(nodes, bool) or not isinstance(nodes, int) or nodes < 1:
            raise InputError(
                f"cluster {name}: the number of nodes must be a whole number of at least 1, not "
                f"{nodes!r}"
            )
        radical = f"0-{nodes - 1}"
    return {
        "id": name,
        "prefix": f"{name}-" if prefix is None else prefix,
        "suffix": suffix,
        "radical": radical or "",
    }


def topology_attributes(
    topology: str, given: str | Sequence[int | Sequence[int]]
) -> dict[str, Value]:
    """Return the topology of a cluster and its ``topo_parameters``."""
    if topology not in _TOPOLOGIES:
        raise InputError(f"topology must be one of {', '.join(_TOPOLOGIES)}, not {topology!r}")
    text = given if isinstance(given, str) else _parameters(topology, given)
    return {"topology": _TOPOLOGIES[topology], "topo_parameters": text}


def _parameters(topology: str, given: Sequence[int | Sequence[int]]) -> str:
    parts = [
        str(part) if isinstance(part, int) else ",".join(map(str, listed(part, "parameters")))
        for part in listed(given, "parameters")
    ]
    if topology == "torus":
        return ",".join(parts)
    if topology == "fat_tree" and parts:
        return ";".join([str(parts[0].count(",") + 1), *parts])
    return ";".join(parts)


_QUANTITIES: Final = ("speed", "bandwidth", "latency", "state")
_PROFILES: Final = {
    ("link" if is_link else "host", _QUANTITIES[what]): kind
    for kind, (is_link, what) in KINDS.items()
}


def disk_nodes(disks: Mapping[str, tuple[Quantity, Quantity, str]]) -> list[Node]:
    """Return the disks of a host; see `PlatformBuilder.host`."""
    nodes = []
    for name, disk in disks.items():
        if not isinstance(disk, Sequence) or isinstance(disk, str) or len(disk) != 3:
            raise InputError(
                "a disk must be two bandwidths and a mount point, such as ('2GBps', '1GBps', "
                f"'/scratch'), not {disk!r}"
            )
        read, write, mount = disk
        attributes = {"id": name, "read_bw": read, "write_bw": write}
        nodes.append(make_node("disk", attributes, {"mount": mount} if mount else None))
    return nodes


def profile_nodes(
    kind: str,
    name: str,
    quantity: str,
    changes: Mapping[float, float],
    period: float | None,
    number: int,
) -> tuple[Node, Node]:
    """Return the profile of a host or a link and its connection; see `PlatformBuilder.profile`.

    `number` distinguishes the profiles of a platform.
    """
    if (kind, quantity) not in _PROFILES:
        known = ", ".join(f"{what} of a {of}" for of, what in _PROFILES)
        raise InputError(f"a profile must be of {known}, not {quantity} of a {kind}")
    trace = f"profile-{number}"
    node = make_node("trace", {"id": trace, "periodicity": -1.0 if period is None else period})
    node.profile = profile_from_changes(changes, period)
    connection = {"kind": _PROFILES[kind, quantity], "trace": trace, "element": name}
    return node, make_node("trace_connect", connection)


class PlatformBuilder:
    """Builds a platform from zones that contain hosts, links, clusters and routes.

    The elements, their rules and their messages are those of SimGrid's platform files. An element
    is added to the innermost open zone. Quantities are numbers in SI units, or text with a unit.
    Every method raises `tisim.InputError` if the element is invalid; a builder that has refused an
    element cannot build a platform.

    Parameters
    ----------
    name
        Name of the platform, for messages and reports.

    Examples
    --------
    >>> p = tisim.PlatformBuilder("two sites")
    >>> with p.zone("world", routing="Full"):
    ...     p.link("between", bandwidth="10Gbps", latency="5ms")
    ...     p.cluster("west", nodes=4, speed="10Gf", bandwidth="1Gbps", latency="10us")
    ...     with p.zone("east", routing="Full"):
    ...         p.host("a", speed=2e9, cores=4)
    ...         p.host("b", speed=2e9, cores=4)
    ...         p.link("ab", bandwidth=125e6, latency=1e-6)
    ...         p.route("a", "b", ["ab"])
    ...     p.zone_route("west", "east", ["between"], gateways=("west-router", "a"))
    >>> platform = p.build()
    >>> platform
    <Platform two sites: 6 hosts, 11 links>
    >>> [link.name for link in platform.route("west-0", "a").links]
    ['west_link_0_UP', 'between']
    """

    def __init__(self, name: str = "a platform made in Python") -> None:
        self._name = name
        self._elements: Elements | None = Elements()
        # Reason why an element was refused; part of it may have been added already.
        self._refused = ""
        self._profiles = 0

    def build(self) -> Platform:
        """Return the platform; the builder then accepts nothing more."""
        elements = self._taking()
        if self._refused:
            raise InputError(f"an element was refused; create a new builder: {self._refused}")
        if elements.construction.depth:
            raise InputError("a zone is still open; leave its `with` block first")
        elements.finish(elements.root)
        self._elements = None
        return Platform.of_elements(elements, self._name)

    def config(self, options: Mapping[str, object]) -> None:
        """Set options, which a replay may override; call it before the first zone."""
        node = Node("config", {"id": ""})
        for key, value in options.items():
            text = ("yes" if value else "no") if isinstance(value, bool) else str(value)
            node.children.append(make_node("prop", {"id": key, "value": text}))
        self._add(node)

    @contextmanager
    def zone(
        self, name: str, routing: str = "Full", *, properties: Mapping[str, str] | None = None
    ) -> Iterator[PlatformBuilder]:
        """Open a zone for the length of a ``with`` block.

        Parameters
        ----------
        name
            Name of the zone.
        routing
            Full, Floyd, Dijkstra, DijkstraCache, Cluster (hosts with their own links to a centre),
            Vivaldi (peers with coordinates) or None.
        properties
            Properties of the zone.
        """
        node = make_node("zone", {"id": name, "routing": routing}, properties)
        with self._remembering_refusals():
            self._taking().open_zone(node)
        yield self
        with self._remembering_refusals():
            self._taking().close_zone()

    def host(
        self,
        name: str,
        speed: Quantity,
        cores: int = 1,
        *,
        coordinates: Sequence[float] | None = None,
        disks: Mapping[str, tuple[Quantity, Quantity, str]] | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> None:
        """Add a host with a speed per core (flop/s) and a number of cores.

        Parameters
        ----------
        name, speed, cores
            The host: its name, flop/s per core and number of cores.
        coordinates
            In a Vivaldi zone: x, y and height, in milliseconds.
        disks
            By name: read and write bandwidth (bytes/s), and mount point.
        properties
            Properties of the host, such as ``{"smpi/os": "0:1us:0"}``.
        """
        attributes = {"id": name, "speed": speed, "core": cores}
        node = make_node("host", attributes | coordinates_of(coordinates), properties)
        node.children += disk_nodes(disks or {})
        self._add(node)

    def router(self, name: str, *, coordinates: Sequence[float] | None = None) -> None:
        """Add a router: an endpoint of routes without computing capacity."""
        self._make("router", {"id": name, **coordinates_of(coordinates)})

    def peer(
        self,
        name: str,
        speed: Quantity,
        *,
        bandwidth_in: Quantity,
        bandwidth_out: Quantity,
        coordinates: Sequence[float],
    ) -> None:
        """Add a peer to a Vivaldi zone: a host with an incoming and an outgoing link (bytes/s)."""
        self._make(
            "peer",
            {
                "id": name,
                "speed": speed,
                "bw_in": bandwidth_in,
                "bw_out": bandwidth_out,
                **coordinates_of(coordinates),
            },
        )

    def link(
        self,
        name: str,
        bandwidth: Quantity,
        latency: Quantity = 0.0,
        *,
        sharing: str = "SHARED",
        properties: Mapping[str, str] | None = None,
    ) -> None:
        """Add a link, or two links if it is SPLITDUPLEX.

        Parameters
        ----------
        name, bandwidth, latency
            The link: bytes/s and seconds.
        sharing
            SHARED, SPLITDUPLEX (one link per direction) or FATPIPE (the bandwidth limits each flow
            individually).
        properties
            Properties of the link.
        """
        self._make(
            "link",
            link_attributes(name, bandwidth, latency) | {"sharing_policy": sharing},
            properties,
        )

    def backbone(self, name: str, bandwidth: Quantity, latency: Quantity) -> None:
        """Add the central link of a zone with routing Cluster."""
        self._make("backbone", link_attributes(name, bandwidth, latency))

    def host_link(self, host: str, up: str, down: str) -> None:
        """Set the links of a host to and from the centre of a zone with routing Cluster."""
        self._make("host_link", {"id": host, "up": up, "down": down})

    def cabinet(
        self,
        name: str,
        radical: str,
        *,
        speed: Quantity,
        bandwidth: Quantity,
        latency: Quantity,
        prefix: str | None = None,
        suffix: str = "",
    ) -> None:
        """Add hosts to a zone with routing Cluster, each with an up and a down link.

        See `cluster` for the parameters.
        """
        numbered = numbered_hosts(name, None, radical, prefix, suffix)
        self._make("cabinet", numbered | network_attributes(speed, bandwidth, latency))

    def cluster(
        self,
        name: str,
        nodes: int | None = None,
        *,
        speed: Quantity,
        bandwidth: Quantity,
        latency: Quantity,
        cores: int = 1,
        radical: str | None = None,
        prefix: str | None = None,
        suffix: str = "",
        sharing: str = "SPLITDUPLEX",
        topology: str = "flat",
        parameters: str | Sequence[int | Sequence[int]] = "",
        backbone: tuple[Quantity, Quantity] | None = None,
        backbone_sharing: str = "SHARED",
        loopback: tuple[Quantity, Quantity] | None = None,
        limiter: Quantity | None = None,
        router: str | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> None:
        """Add a cluster of identical hosts, which is a zone of its own.

        Parameters
        ----------
        name
            Name of the cluster.
        nodes
            Number of hosts, numbered from 0.
        speed, cores
            Of a host: flop/s of a core, number of cores.
        bandwidth, latency, sharing
            Of each link of the network: bytes/s, seconds, SHARED or SPLITDUPLEX.
        radical
            Instead of `nodes`: the numbers of the hosts, such as ``"0-9,12"``.
        prefix, suffix
            Of the host names; the prefix defaults to the cluster's name and ``-``.
        topology, parameters
            ``"flat"``; ``"torus"`` with the sizes of its dimensions, ``(4, 4, 2)``;
            ``"fat_tree"`` with children, parents and ports of each level,
            ``((4, 4), (1, 2), (1, 2))``; ``"dragonfly"`` with groups, chassis and blades, each
            with its number of cables, and hosts per blade, ``((3, 4), (4, 3), (5, 1), 2)``. Or the
            text of a file's ``topo_parameters``.
        backbone, backbone_sharing
            Bandwidth and latency of the link that all flows of a flat cluster share.
        loopback
            Bandwidth and latency of each host to itself.
        limiter
            Bandwidth of each host, both directions combined.
        router
            Name of a flat cluster's router, its gateway; defaults to ``NAME-router``.
        properties
            Properties of the hosts.
        """
        attributes = numbered_hosts(name, nodes, radical, prefix, suffix)
        attributes |= network_attributes(speed, bandwidth, latency)
        attributes |= topology_attributes(topology, parameters)
        attributes |= optional_links(backbone, loopback, limiter)
        attributes |= {
            "core": cores,
            "sharing_policy": sharing,
            "bb_sharing_policy": backbone_sharing,
            "router_id": f"{name}-router" if router is None else router,
        }
        self._make("cluster", attributes, properties)

    def route(self, src: str, dst: str, links: Sequence[Hop], *, symmetrical: bool = True) -> None:
        """Declare the route between two hosts or routers of the open zone.

        Parameters
        ----------
        src, dst
            The endpoints.
        links
            In the order in which a message crosses them; ``("l", "UP")`` or ``("l", "DOWN")`` for
            a SPLITDUPLEX link.
        symmetrical
            Whether the reverse route has the same links, and the other halves of SPLITDUPLEX ones.
        """
        self._route("route", src, dst, links, None, symmetrical)

    def zone_route(
        self,
        src: str,
        dst: str,
        links: Sequence[Hop],
        *,
        gateways: tuple[str, str],
        symmetrical: bool = True,
    ) -> None:
        """Declare the route between two zones of the open zone, from gateway to gateway."""
        self._route("zoneRoute", src, dst, links, gateways, symmetrical)

    def bypass_route(self, src: str, dst: str, links: Sequence[Hop]) -> None:
        """Replace the route that the open zone would compute between two of its hosts."""
        self._route("bypassRoute", src, dst, links, None, None)

    def bypass_zone_route(
        self, src: str, dst: str, links: Sequence[Hop], *, gateways: tuple[str, str]
    ) -> None:
        """Replace the routes between two zones at any depth in the open one."""
        self._route("bypassZoneRoute", src, dst, links, gateways, None)

    def profile(
        self,
        kind: str,
        name: str,
        quantity: str,
        changes: Mapping[float, float],
        *,
        period: float | None = None,
    ) -> None:
        """Change a host or a link over time.

        Parameters
        ----------
        kind, name
            ``"host"`` or ``"link"``, and its name.
        quantity
            ``"speed"`` of a host (fraction of the declared speed), ``"bandwidth"`` (bytes/s) or
            ``"latency"`` (seconds) of a link, or ``"state"``: on where the value is above 0.
        changes
            The new value at each date, in seconds, in increasing order of the dates.
        period
            Seconds after which the changes repeat; None: never.
        """
        for node in profile_nodes(kind, name, quantity, changes, period, self._profiles):
            self._add(node)
        self._profiles += 1

    def _route(
        self,
        tag: str,
        src: str,
        dst: str,
        links: Sequence[Hop],
        gateways: tuple[str, str] | None,
        symmetrical: bool | None,
    ) -> None:
        self._add(route_node(tag, src, dst, links, gateways, symmetrical))

    def _make(
        self, tag: str, attributes: Mapping[str, Value], properties: Mapping[str, str] | None = None
    ) -> None:
        self._add(make_node(tag, attributes, properties))

    def _add(self, node: Node) -> None:
        with self._remembering_refusals():
            self._taking().add(node)

    @contextmanager
    def _remembering_refusals(self) -> Iterator[None]:
        try:
            yield
        except InputError as error:
            self._refused = self._refused or error.message
            raise

    def _taking(self) -> Elements:
        if self._elements is None:
            raise InputError(
                "the platform is already built; create a new builder for another platform"
            )
        return self._elements
