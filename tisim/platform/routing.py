"""Routes across zones: up from the source to a common zone, through it, down to the target.

The algorithm is that of Bobelin et al., "Scalable multi-purpose network representation for
large scale distributed system simulation", CCGrid 2012. The core computes routes by itself
(``core/platform/zones``); these functions and the zones are the readable specification, used
for replays without a core.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tisim.platform.zones.base import LocalRoute, NoRoute, Zone

if TYPE_CHECKING:
    from tisim.platform.zones.base import Point, Term


def find_route(src: Point, dst: Point, links: list[int], terms: list[Term]) -> None:
    """Append the links from `src` to `dst`, and the terms of the latency in SimGrid's order.

    Raises `NoRoute` if a zone on the path has no route.
    """
    common, src_zone, dst_zone = _common_zone(src[0], dst[0])
    if common.bypasses:
        bypass = _find_bypass(common, src, dst)
        if bypass is not None:
            _take_bypass(src, dst, bypass, links, terms)
            return
    if src_zone is dst_zone:
        route = common.local_route(src[1], dst[1])
        if common.prepends:
            links[:0] = route.links
        else:
            links += route.links
        terms += route.summands
        return
    route = common.local_route(src_zone.local, dst_zone.local)
    if route.gw_src is None or route.gw_dst is None:
        raise NoRoute(
            f"the route of zone {common.name} from {src_zone.name} to {dst_zone.name} has no "
            "gateways"
        )
    _take(src, dst, route, links, terms)


def total_latency(terms: Sequence[Term], latency_of: Sequence[float]) -> float:
    """Return the latency of a route in seconds; `latency_of` is the latency of each link."""
    latency = 0.0
    for term in terms:
        latency += term if isinstance(term, float) else latency_of[term]
    return latency


def _take(src: Point, dst: Point, route: LocalRoute, links: list[int], terms: list[Term]) -> None:
    """Append a route between gateways, with the paths to its start and from its end."""
    terms += route.summands
    if route.gw_src is not None and route.gw_src != src:
        find_route(src, route.gw_src, links, terms)
    links += route.links
    if route.gw_dst is not None and route.gw_dst != dst:
        find_route(route.gw_dst, dst, links, terms)


def _take_bypass(
    src: Point, dst: Point, route: LocalRoute, links: list[int], terms: list[Term]
) -> None:
    """Append a bypass; as in SimGrid, a gateway that is itself an end uses its own loopback."""
    if route.gw_src is not None:
        find_route(src, route.gw_src, links, terms)
    links += route.links
    terms += route.summands
    if route.gw_dst is not None:
        find_route(route.gw_dst, dst, links, terms)


def _common_zone(src: Zone, dst: Zone) -> tuple[Zone, Zone, Zone]:
    """Return the innermost zone around both, and its direct children that lead to each."""
    below_src, below_dst = src, dst
    while src is not dst:
        if src.depth >= dst.depth:
            below_src, src = src, _outer(src)
        else:
            below_dst, dst = dst, _outer(dst)
    if below_src is src or below_dst is dst:
        return src, src, src
    return src, below_src, below_dst


def _outer(zone: Zone) -> Zone:
    if zone.parent is None:
        raise NoRoute(f"zone {zone.name} is in no common zone with the other end")
    return zone.parent


def _find_bypass(common: Zone, src: Point, dst: Point) -> LocalRoute | None:
    """Return the bypass of the common zone that avoids the longest path up, or None."""
    if src[0] is common and dst[0] is common:
        return common.bypasses.get((src, dst))
    ups = _path(src[0], common)
    downs = _path(dst[0], common)
    for most in range(max(len(ups), len(downs))):
        for less in range(most):
            for i, j in ((less, most), (most, less)):
                if i < len(ups) and j < len(downs):
                    found = common.bypasses.get((ups[i], downs[j]))
                    if found is not None:
                        return found
        if most < len(ups) and most < len(downs):
            found = common.bypasses.get((ups[most], downs[most]))
            if found is not None:
                return found
    return None


def _path(zone: Zone, common: Zone) -> list[Point]:
    """Return the zones from `zone` outwards, below the common one."""
    path: list[Point] = []
    while zone is not common:
        path.append(zone.point)
        zone = _outer(zone)
    return path
