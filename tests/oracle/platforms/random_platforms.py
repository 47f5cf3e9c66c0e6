"""Random platforms that are hard on routing: ties, asymmetry, nesting, bypasses, many topologies.

`draw(seed)` gives the XML of a platform. Unlike those of `platforms.py`, which are made to be
simulated on, these have several paths of equal length between hosts, gateways that are hosts,
zones inside zones whose routes meet in different gateways, and clusters whose links SimGrid
numbers on from one to the next. Nothing is drawn that SimGrid 3.32 is known to crash on:

- Dijkstra zones are strongly connected, and those that hold zones join them in one gateway each;
- a dragonfly has at least as many blades a chassis as groups;
- a torus has at most one dimension of size 1, a fat tree with limiters no more switches than
  hosts (names of links would clash).
"""

from __future__ import annotations

import math
import random
from itertools import combinations, permutations

HEAD = "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"


class Drawing:
    """One platform in the making. The points of a zone are hosts and routers: its gateways."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.count = 0
        self.links: list[tuple[str, bool]] = []

    def name(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def bandwidth(self) -> str:
        return self.rng.choice(["125MBps", "1Gbps", "1.25GBps", "100MiBps", "12.5e6Bps", "7Gibps"])

    def latency(self) -> str:
        return self.rng.choice(["50us", "15us", "1us", "0", "1.5e-5s", "100ns", "2ms"])

    def link(self) -> str:
        """A new link; returns its element."""
        name = self.name("link")
        policy = self.rng.choice(["SHARED", "FATPIPE", "SPLITDUPLEX"])
        self.links.append((name, policy == "SPLITDUPLEX"))
        return (
            f'<link id="{name}" bandwidth="{self.bandwidth()}" latency="{self.latency()}" '
            f'sharing_policy="{policy}"/>'
        )

    def hops(self, most: int = 3) -> str:
        """References to links of the platform, the same one perhaps twice."""
        chosen = self.rng.choices(self.links[-12:], k=self.rng.randint(1, most))
        return "".join(
            f'<link_ctn id="{name}" direction="{self.rng.choice(["UP", "DOWN"])}"/>'
            if split
            else f'<link_ctn id="{name}"/>'
            for name, split in chosen
        )

    def symmetry(self) -> str:
        return self.rng.choice(["", ' symmetrical="YES"', ' symmetrical="yes"'])

    # -- zones that hold hosts -------------------------------------------------------------------

    def table(self, routing: str) -> tuple[str, str, list[str]]:
        """A Full, Floyd or Dijkstra zone: its name, its element, the points in it."""
        zone = self.name("zone")
        hosts = [self.name("host") for _ in range(self.rng.randint(2, 6))]
        routers = [self.name("router") for _ in range(self.rng.randint(0, 2))]
        parts = [
            f'<host id="{h}" speed="{self.rng.randint(1, 9)}Gf" core="{self.rng.randint(1, 4)}"/>'
            for h in hosts
        ]
        parts += [f'<router id="{router}"/>' for router in routers]
        parts += [self.link() for _ in range(self.rng.randint(3, 8))]
        points = hosts + routers
        self.rng.shuffle(points)
        parts += self.full(points) if routing == "Full" else self.graph(points, routing)
        return zone, self.element(zone, routing, parts), hosts + routers

    def full(self, points: list[str]) -> list[str]:
        routes = []
        for src, dst in combinations(points, 2):
            if self.rng.random() < 0.6:
                routes.append(self.route(src, dst, self.symmetry()))
            else:
                routes += [
                    self.route(s, d, ' symmetrical="NO"') for s, d in ((src, dst), (dst, src))
                ]
        for point in points:
            if self.rng.random() < 0.2:
                routes.append(self.route(point, point, ""))
        return routes

    def graph(self, points: list[str], routing: str) -> list[str]:
        """A spanning tree, and more routes than that, some in one direction only."""
        pairs = [(self.rng.choice(points[:i]), points[i]) for i in range(1, len(points))]
        routes = [self.route(src, dst, self.symmetry()) for src, dst in pairs]
        taken = {pair for src, dst in pairs for pair in ((src, dst), (dst, src))}
        for src, dst in permutations(points, 2):
            if (src, dst) not in taken and self.rng.random() < 0.3:
                taken.add((src, dst))
                routes.append(self.route(src, dst, ' symmetrical="NO"', most=2))
        self.rng.shuffle(routes)
        return routes

    def route(self, src: str, dst: str, symmetry: str, most: int = 3) -> str:
        return f'<route src="{src}" dst="{dst}"{symmetry}>{self.hops(most)}</route>'

    def element(self, zone: str, routing: str, parts: list[str]) -> str:
        body = "\n".join(parts)
        return f'<zone id="{zone}" routing="{routing}">\n{body}\n</zone>'

    def star(self) -> tuple[str, str, list[str]]:
        """A Cluster zone of host_links, some of them shared, cabinets and perhaps a backbone."""
        zone = self.name("zone")
        hosts = [self.name("host") for _ in range(self.rng.randint(1, 5))]
        router = self.name("router")
        parts = [f'<host id="{host}" speed="1Gf"/>' for host in hosts]
        parts += [f'<router id="{router}"/>']
        plain: list[str] = []
        for _ in range(self.rng.randint(2, 6)):
            parts.append(self.link())
            name, split = self.links[-1]
            plain += [f"{name}_UP", f"{name}_DOWN"] if split else [name]
        for host in hosts:
            up, down = self.rng.choice(plain), self.rng.choice(plain)
            parts.append(f'<host_link id="{host}" up="{up}" down="{down}"/>')
        if self.rng.random() < 0.5:
            cabinet = self.name("cabinet")
            parts.append(
                f'<cabinet id="{cabinet}" prefix="{cabinet}-" suffix=".c" radical="1-2,5" '
                f'speed="2Gf" bw="{self.bandwidth()}" lat="{self.latency()}"/>'
            )
            hosts += [f"{cabinet}-{number}.c" for number in (1, 2, 5)]
        if self.rng.random() < 0.5:
            parts.append(f'<backbone id="{self.name("bb")}" bandwidth="1GBps" latency="1us"/>')
        return zone, self.element(zone, "Cluster", parts), [*hosts, router]

    def vivaldi(self) -> tuple[str, str, list[str]]:
        zone = self.name("zone")
        peers = [self.name("peer") for _ in range(self.rng.randint(2, 6))]
        parts = []
        for peer in peers:
            x, y, z = (round(self.rng.uniform(-30, 30), 2) for _ in range(3))
            parts.append(
                f'<peer id="{peer}" speed="1Gf" bw_in="{self.bandwidth()}" '
                f'bw_out="{self.bandwidth()}" coordinates="{x} {y} {abs(z)}"/>'
            )
        return zone, self.element(zone, "Vivaldi", parts), peers

    def cluster(self) -> tuple[str, str, list[str]]:
        """A cluster of any topology; its hosts are gateways where it has no router."""
        name = self.name("cluster")
        topology = self.rng.choice(["FLAT", "FLAT", "TORUS", "FAT_TREE", "DRAGONFLY"])
        parameters, size, limiter = getattr(self, topology.lower())()
        first = self.rng.choice([0, 3])
        attributes = {
            "id": name,
            "prefix": f"{name}-",
            "suffix": self.rng.choice(["", ".org"]),
            "radical": f"{first}-{first + size - 1}" if size > 1 else str(first),
            "speed": "1Gf",
            "bw": self.bandwidth(),
            "lat": self.latency(),
            "topology": topology,
            "topo_parameters": parameters,
            "sharing_policy": self.rng.choice(["SHARED", "SPLITDUPLEX", "FATPIPE"]),
        }
        if limiter and self.rng.random() < 0.5:
            attributes["limiter_link"] = self.bandwidth()
        if self.rng.random() < 0.5:
            attributes |= {"loopback_bw": self.bandwidth(), "loopback_lat": self.latency()}
        if topology == "FLAT" and self.rng.random() < 0.5:
            attributes |= {"bb_bw": self.bandwidth(), "bb_lat": self.latency()}
            attributes["bb_sharing_policy"] = self.rng.choice(["SHARED", "FATPIPE"])
        text = " ".join(f'{key}="{value}"' for key, value in attributes.items())
        suffix = attributes["suffix"]
        points = [f"{name}-{first + number}{suffix}" for number in range(size)]
        if topology == "FLAT":
            points.append(f"{name}-{name}_router{suffix}")
        return name, f"<cluster {text}/>", points

    def flat(self) -> tuple[str, int, bool]:
        return "", self.rng.randint(1, 6), True

    def torus(self) -> tuple[str, int, bool]:
        sizes = [self.rng.randint(2, 6) for _ in range(self.rng.randint(1, 3))]
        if self.rng.random() < 0.2:
            sizes.insert(self.rng.randrange(len(sizes)), 1)
        return ",".join(map(str, sizes)), math.prod(sizes), True

    def fat_tree(self) -> tuple[str, int, bool]:
        levels = self.rng.randint(1, 3)
        rows = [[self.rng.randint(1, 4) for _ in range(levels)] for _ in range(3)]
        down, up, _ = rows
        hosts = math.prod(down)
        switches = sum(
            math.prod(up[: level + 1]) * math.prod(down[level + 1 :]) for level in range(levels)
        )
        text = ";".join([str(levels), *(",".join(map(str, row)) for row in rows)])
        return text, hosts, switches <= hosts

    def dragonfly(self) -> tuple[str, int, bool]:
        groups, chassis, nodes = (self.rng.randint(1, 4) for _ in range(3))
        blades = self.rng.randint(groups, groups + 2)
        pairs = (f"{size},{self.rng.randint(1, 3)}" for size in (groups, chassis, blades))
        return ";".join([*pairs, str(nodes)]), groups * chassis * blades * nodes, True

    # -- zones that hold zones -------------------------------------------------------------------

    def leaf(self) -> tuple[str, str, list[str]]:
        kind = self.rng.choice(
            ["Full", "Floyd", "Dijkstra", "DijkstraCache", "star", "vivaldi", "cluster", "cluster"]
        )
        if kind in ("star", "vivaldi", "cluster"):
            drawn: tuple[str, str, list[str]] = getattr(self, kind)()
            return drawn
        return self.table(kind)

    def zones(self, depth: int) -> tuple[str, str, list[str]]:
        """Zones in a zone, and the routes between them."""
        zone = self.name("zone")
        inner = [
            self.zones(depth - 1) if depth > 1 and self.rng.random() < 0.4 else self.leaf()
            for _ in range(self.rng.randint(2, 4))
        ]
        routing = self.rng.choice(["Full", "Floyd", "Dijkstra"])
        parts = [element for _, element, _ in inner]
        parts += [self.link() for _ in range(self.rng.randint(3, 6))]
        # Through which point a zone is left and entered: Dijkstra zones want one for all routes.
        gateways = {name: self.rng.choice(points) for name, _, points in inner}
        if routing == "Full":
            parts += self.all_pairs(inner)
        else:
            for i in range(1, len(inner)):
                src, dst = self.rng.choice(inner[:i]), inner[i]
                ends = gateways[src[0]], gateways[dst[0]]
                if routing == "Floyd":
                    ends = self.rng.choice(src[2]), self.rng.choice(dst[2])
                parts.append(self.zone_route(src[0], dst[0], *ends, self.symmetry()))
        if self.rng.random() < 0.3:
            src, dst = self.rng.sample(inner, 2)
            gw_src, gw_dst = self.rng.choice(src[2]), self.rng.choice(dst[2])
            parts.append(self.zone_route(src[0], dst[0], gw_src, gw_dst, "", "bypassZoneRoute"))
        return zone, self.element(zone, routing, parts), [p for _, _, ps in inner for p in ps]

    def all_pairs(self, inner: list[tuple[str, str, list[str]]]) -> list[str]:
        routes = []
        for a, b in combinations(inner, 2):
            ways = [(a, b)] if self.rng.random() < 0.5 else [(a, b), (b, a)]
            symmetry = self.symmetry() if len(ways) == 1 else ' symmetrical="NO"'
            for src, dst in ways:
                gw_src, gw_dst = self.rng.choice(src[2]), self.rng.choice(dst[2])
                routes.append(self.zone_route(src[0], dst[0], gw_src, gw_dst, symmetry))
        return routes

    def zone_route(
        self, src: str, dst: str, gw_src: str, gw_dst: str, symmetry: str, tag: str = "zoneRoute"
    ) -> str:
        ends = f'src="{src}" dst="{dst}" gw_src="{gw_src}" gw_dst="{gw_dst}"'
        return f"<{tag} {ends}{symmetry}>{self.hops()}</{tag}>"


def draw(seed: int) -> str:
    """The XML of a platform."""
    drawing = Drawing(seed)
    depth = drawing.rng.randint(0, 3)
    _, element, _ = drawing.zones(depth) if depth else drawing.leaf()
    return f'{HEAD}<platform version="4.1">\n{element}\n</platform>\n'
