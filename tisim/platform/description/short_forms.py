"""Clusters, cabinets and peers whose hosts and links are still alike, as one element each."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tisim.errors import InputError
from tisim.platform.description.numbers import HostNow, LinkNow
from tisim.platform.radical import Radical
from tisim.platform.zones.cluster import ClusterSpec

if TYPE_CHECKING:
    from tisim.platform.description.node import Node
    from tisim.platform.description.numbers import Numbers
    from tisim.platform.zones.cluster import ClusterZone, LinkKind

# The attributes of a cluster that give bandwidth and latency of its kinds of links.
_ATTRIBUTES = {
    "link": ("bw", "lat"),
    "loopback": ("loopback_bw", "loopback_lat"),
    "limiter": ("limiter_link", None),
    "backbone": ("bb_bw", "bb_lat"),
}


def cabinet_hosts(node: Node) -> list[str]:
    """The names of a cabinet's hosts."""
    return [f"{node['prefix']}{number}{node['suffix']}" for number in Radical(node["radical"])]


def short_cluster(node: Node, zone: ClusterZone, numbers: Numbers) -> Node | None:
    """The element of a cluster with its present numbers; None if it cannot give them."""
    hosts = numbers.hosts(zone.first_host, zone.hosts)
    if len(hosts) > 1:
        return None
    declared = zone.make_links()
    changes: dict[str, str] = {}
    kinds: dict[str, LinkKind] = {}
    for role, position in declared.first_of_roles().items():
        kind: LinkKind = getattr(zone.spec, role)
        now = numbers.link(zone.first_link + position)
        bandwidth, latency = _ATTRIBUTES[role]
        if now.bandwidth != kind.bandwidth:
            changes[bandwidth] = repr(now.bandwidth)
            kind = kind._replace(bandwidth=now.bandwidth)
        if latency is not None and now.latency != kind.latency:
            changes[latency] = repr(now.latency)
            kind = kind._replace(latency=now.latency)
        if role == "backbone" and now.fatpipe != kind.fatpipe:
            changes["bb_sharing_policy"] = "FATPIPE" if now.fatpipe else "SHARED"
            kind = kind._replace(fatpipe=now.fatpipe)
        kinds[role] = kind
    links = zone.with_spec(ClusterSpec(**(zone.spec._asdict() | kinds))).make_links()
    fatpipes = map(bool, links.fatpipes())
    said = map(LinkNow, links.bandwidths(), links.latencies(), fatpipes, links.bursts())
    if list(said) != numbers.links(zone.first_link, len(links)):
        return None
    return _with(node, changes | _changed_host(zone.first_host, numbers))


def short_cabinet(node: Node, numbers: Numbers) -> Node | None:
    """The element of a cabinet with its present numbers; None if it cannot give them."""
    names = cabinet_hosts(node)
    hosts = {numbers.host(numbers.host_index(name)) for name in names}
    links = {
        numbers.link(numbers.link_index(f"link_{name}_{half}"))
        for name in names
        for half in ("UP", "DOWN")
    }
    host, link = next(iter(hosts)), next(iter(links))
    if len(hosts) > 1 or len(links) > 1 or host.cores != 1 or link.fatpipe:
        return None
    speed, latency = repr(host.speed), repr(link.latency)
    return _with(node, {"speed": speed, "bw": repr(link.bandwidth), "lat": latency})


def short_peer(node: Node, numbers: Numbers) -> Node:
    """The element of a peer with its present numbers.

    Raises
    ------
    InputError
        If the format cannot give them.
    """
    name = node["id"]
    host = numbers.host(numbers.host_index(name))
    up = numbers.link(numbers.link_index(f"link_{name}_UP"))
    down = numbers.link(numbers.link_index(f"link_{name}_DOWN"))
    if host.cores != 1 or any(link.latency or link.fatpipe for link in (up, down)):
        raise InputError(
            f"the platform file format cannot say this platform: the peer {name!r} has one core "
            "and SHARED links without latency there; leave these as they are, or replace the peer "
            "by a host and links in a zone with another routing"
        )
    bandwidths = {"bw_in": repr(down.bandwidth), "bw_out": repr(up.bandwidth)}
    return _with(node, {"speed": repr(host.speed), **bandwidths})


def alike(links: Sequence[LinkNow]) -> bool:
    """Whether SPLITDUPLEX says these halves: they have the same numbers and are SHARED."""
    return len(set(links)) == 1 and not links[0].fatpipe


def _changed_host(index: int, numbers: Numbers) -> dict[str, str]:
    declared = HostNow(
        numbers.topology.hosts.speeds()[index], numbers.topology.hosts.cores()[index]
    )
    now = numbers.host(index)
    changed = {} if now.speed == declared.speed else {"speed": repr(now.speed)}
    return changed if now.cores == declared.cores else {**changed, "core": str(now.cores)}


def _with(node: Node, changes: dict[str, str]) -> Node:
    return dataclasses.replace(node, attributes=node.attributes | changes)
