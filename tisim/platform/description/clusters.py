"""Reads ``<cluster>``, ``<cabinet>``, ``<peer>``, ``<host_link>`` and ``<backbone>``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tisim.platform.description.node import (
    read_burst,
)
from tisim.platform.description.storage import add_disks, described_disk
from tisim.platform.hosts import NumberedHosts, Radical
from tisim.platform.links import MAX_LINKS
from tisim.platform.topology import did_you_mean
from tisim.platform.zones.cluster import ClusterSpec, ClusterZone, LinkKind
from tisim.platform.zones.dragonfly import DragonflyCluster, parse_dragonfly
from tisim.platform.zones.fattree import FatTreeCluster, parse_fat_tree
from tisim.platform.zones.flat import FlatCluster
from tisim.platform.zones.star import StarZone, VertexLinks, VivaldiZone
from tisim.platform.zones.torus import TorusCluster, parse_torus

if TYPE_CHECKING:
    from tisim.platform.description.construction import Construction, EventReader
    from tisim.platform.description.node import Node
    from tisim.platform.zones.base import Zone


def add_cluster(construction: Construction, events: EventReader, node: Node) -> None:
    """Add a cluster: its zone, its hosts and its links."""
    parent = construction.parent_for(node)
    spec = _spec(construction, node)
    links = construction.topology.links
    try:
        zone = _make_zone(construction, node, spec, parent)
        made = zone.make_links()
        if made.count > MAX_LINKS:
            raise ValueError(f"it has {made.count:,} links; at most {MAX_LINKS:,} are possible")
    except ValueError as error:
        raise node.error(f"cluster {spec.name}: {error}") from None
    links.add_generated(made)
    construction.register_zone(zone, node)
    if isinstance(zone, FlatCluster):
        construction.check_new(node, spec.router)
        construction.topology.points[spec.router] = (zone, zone.hosts)
    hosts = NumberedHosts(zone, spec.prefix, zone.spec.radical, spec.suffix, zone.properties)
    numbers = node.number("speed"), int(node.number("core"))
    zone.first_host = construction.topology.hosts.add_numbered(hosts, *numbers)
    if (disk := described_disk(node)) is not None:
        all_hosts = range(zone.first_host, zone.first_host + len(hosts))
        add_disks(construction.topology.disks, disk, all_hosts)
    events.add_host_profiles(node, zone.first_host, len(hosts))


def _make_zone(
    construction: Construction, node: Node, spec: ClusterSpec, parent: Zone | None
) -> ClusterZone:
    first_link = len(construction.topology.links)
    topology, parameters = node["topology"], node["topo_parameters"]
    if topology == "FLAT":
        return FlatCluster(spec, parent, first_link)
    if spec.backbone is not None:
        construction.warn(node, f"cluster {spec.name}: a {topology} cluster cannot have a backbone")
    if topology == "TORUS":
        sizes = parse_torus(parameters)
        count = 1
        for size in sizes:
            count *= size
        return TorusCluster(_sized(construction, node, spec, count), parent, first_link, sizes)
    hosts_before, cables_before = construction.counters.get(topology, (0, 0))
    zone: FatTreeCluster | DragonflyCluster
    if topology == "FAT_TREE":
        tree = parse_fat_tree(parameters)
        spec = _sized(construction, node, spec, tree.hosts)
        zone = FatTreeCluster(spec, parent, first_link, tree, hosts_before, cables_before)
    else:
        shape = parse_dragonfly(parameters)
        spec = _sized(construction, node, spec, shape.hosts)
        zone = DragonflyCluster(spec, parent, first_link, shape, cables_before)
    construction.counters[topology] = (hosts_before + zone.hosts, cables_before + zone.cables)
    return zone


def _sized(construction: Construction, node: Node, spec: ClusterSpec, count: int) -> ClusterSpec:
    """Return the cluster with as many hosts as its topology has places."""
    given = len(spec.radical)
    if given < count:
        raise ValueError(
            f"topo_parameters={node['topo_parameters']!r} has room for {count} hosts, "
            f"but the radical numbers {given}"
        )
    if given > count:
        construction.warn(
            node,
            f"cluster {spec.name}: the radical numbers {given} hosts, the topology has room for "
            f"{count}; the remaining ones are left out",
        )
        spec = spec._replace(radical=spec.radical.head(count))
    return spec


def _spec(construction: Construction, node: Node) -> ClusterSpec:
    name, radical = node["id"], _radical(node)
    policy = node["sharing_policy"]
    if policy == "FATPIPE":
        construction.warn(node, f"cluster {name}: its links are SHARED, as SimGrid makes them")
    router = node["router_id"] or f"{node['prefix']}{name}_router{node['suffix']}"
    burst = read_burst(node)
    limiter = None
    if node["limiter_link"]:
        limiter = LinkKind("limiter", node.number("limiter_link"), burst=burst)
    fatpipe = node["bb_sharing_policy"] == "FATPIPE"
    return ClusterSpec(
        name,
        node["prefix"],
        radical,
        node["suffix"],
        LinkKind("link", node.number("bw"), node.number("lat"), burst=burst),
        policy == "SPLITDUPLEX",
        _optional_link(node, "loopback", "loopback_bw", "loopback_lat", fatpipe=True),
        limiter,
        _optional_link(node, "backbone", "bb_bw", "bb_lat", fatpipe=fatpipe),
        router,
    )


def _optional_link(node: Node, role: str, bw: str, lat: str, *, fatpipe: bool) -> LinkKind | None:
    """Return a cluster's optional link; None if bandwidth and latency are absent or zero."""
    bandwidth, latency = node.number(bw), node.number(lat)
    if bandwidth == 0 and latency == 0:
        return None
    if bandwidth == 0:
        raise node.error(f"{lat}={node[lat]!r} also needs a {bw} above zero")
    return LinkKind(role, bandwidth, latency, fatpipe)


def _radical(node: Node) -> Radical:
    try:
        return Radical(node["radical"])
    except ValueError as error:
        raise node.error(f"radical of {node.tag} {node['id']}: {error}") from None


def cabinet_hosts(node: Node) -> list[str]:
    """Return the names of a cabinet's hosts."""
    return [f"{node['prefix']}{number}{node['suffix']}" for number in _radical(node)]


def add_cabinet(construction: Construction, node: Node) -> None:
    """Add the hosts and links of a cabinet; `connect_star` connects them to the zone."""
    zone = construction.leaf_zone_of(node)
    speed, bandwidth, latency = (node.number(name) for name in ("speed", "bw", "lat"))
    for name in cabinet_hosts(node):
        local = construction.place_new(node, name, zone)
        construction.topology.hosts.add_listed(name, (zone, local), speed, 1, {})
        for direction in ("UP", "DOWN"):
            link = f"link_{name}_{direction}"
            if construction.topology.links.is_listed(link):
                raise node.error(f"link {link!r} is declared twice, once for {name}")
            construction.topology.links.add_listed(link, bandwidth, latency)


def add_peer(construction: Construction, events: EventReader, node: Node) -> None:
    """Add a peer: a host of a Vivaldi zone with an incoming and an outgoing link."""
    zone = construction.leaf_zone_of(node)
    if not isinstance(zone, VivaldiZone):
        raise node.error("<peer> must be in a zone with routing=Vivaldi")
    name = node["id"]
    local = construction.place_new(node, name, zone)
    hosts = construction.topology.hosts
    index = hosts.add_listed(name, (zone, local), node.number("speed"), 1, {})
    construction.read_coordinates(node, zone, local)
    events.add_host_profiles(node, index, 1)
    links = construction.topology.links
    up = links.add_listed(f"link_{name}_UP", node.number("bw_out"), 0.0)
    down = links.add_listed(f"link_{name}_DOWN", node.number("bw_in"), 0.0)
    zone.vertex_links[local] = VertexLinks((up,), (down,))


def connect_star(construction: Construction, zone: StarZone, parts: list[Node]) -> None:
    """Assign each host of a zone its up and down links, with the backbone at their inner ends."""
    backbone: tuple[int, ...] = ()
    for node in parts:
        if node.tag == "backbone":
            if backbone:
                raise node.error(f"zone {zone.name} has two backbones")
            backbone = zone.backbone = (_add_backbone(construction, node),)
    for node in parts:
        if node.tag == "host_link":
            local = _host_in(construction, zone, node)
            up, down = (_link(construction, node, node[end]) for end in ("up", "down"))
            _set_links(zone, local, (up, *backbone), (*backbone, down))
        elif node.tag == "cabinet":
            for name in cabinet_hosts(node):
                up, down = (_link(construction, node, f"link_{name}_{d}") for d in ("UP", "DOWN"))
                local = construction.topology.points[name][1]
                _set_links(zone, local, (up, *backbone), (*backbone, down))


def _set_links(zone: StarZone, local: int, up: tuple[int, ...], down: tuple[int, ...]) -> None:
    zone.vertex_links[local] = VertexLinks(up, down, zone.links_of(local).loopback)


def _add_backbone(construction: Construction, node: Node) -> int:
    name = node["id"]
    if construction.topology.links.is_listed(name):
        raise node.error(f"link {name!r} is declared twice")
    return construction.topology.links.add_listed(
        name, node.number("bandwidth"), node.number("latency")
    )


def _host_in(construction: Construction, zone: StarZone, node: Node) -> int:
    point = construction.topology.points.get(node["id"])
    if point is None or point[0] is not zone:
        known = (zone.label(local) for local in range(zone.size))
        hint = did_you_mean(node["id"], known)
        raise node.error(f"zone {zone.name} has no host {node['id']!r}{hint}")
    return point[1]


def _link(construction: Construction, node: Node, name: str) -> int:
    link = construction.topology.links.find(name)
    if link is None:
        hint = did_you_mean(name, construction.topology.links.listed_names())
        raise node.error(f"no link {name!r}{hint}")
    return link
