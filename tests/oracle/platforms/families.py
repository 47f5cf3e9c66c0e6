"""Random platforms in SimGrid's XML, by family."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import combinations, permutations

HEAD = "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
SPEEDS = ("1Gf", "3.68Gf", "500Mf", "1e9f", "2.5Gf")
BANDWIDTHS = ("125MBps", "1Gbps", "1.25GBps", "10Gbps", "12.5MBps", "100MiBps", "3e8Bps")
ROUTE_TAGS = ("<route ", "<zoneRoute ", "<bypassRoute ", "<bypassZoneRoute ")
LATENCIES = ("50us", "15us", "1us", "500us", "0s", "1.5e-5s", "100ns", "24.0us")


def has_unique_paths(nodes: list[str], edges: dict[tuple[str, str], int]) -> bool:
    """Return True if there is one shortest path between any two nodes of an undirected graph."""
    width = {**edges, **{(b, a): length for (a, b), length in edges.items()}}
    far = float("inf")
    distance = {(a, b): 0 if a == b else width.get((a, b), far) for a in nodes for b in nodes}
    for via in nodes:
        for a in nodes:
            for b in nodes:
                detour = distance[a, via] + distance[via, b]
                distance[a, b] = min(distance[a, b], detour)
    return all(
        sum(distance[a, v] + width[v, b] == distance[a, b] for v in nodes if (v, b) in width) == 1
        for a in nodes
        for b in nodes
        if a != b
    )


@dataclass
class Zone:
    """A zone's XML, its hosts, and the netpoint by which other zones reach it."""

    id: str
    xml: list[str]
    hosts: list[str]
    gateway: str


@dataclass
class Builder:
    """Draws the elements of one platform.

    Parameters
    ----------
    rng
        Random number generator.
    hard
        Difficult routing: graphs with ties and one-way routes, and any host as gateway of a zone.
    """

    rng: random.Random
    hard: bool = False
    names: dict[str, int] = field(default_factory=dict)

    def name(self, prefix: str) -> str:
        self.names[prefix] = self.names.get(prefix, 0) + 1
        return f"{prefix}{self.names[prefix]}"

    def bandwidth(self) -> str:
        if self.rng.random() < 0.6:
            return self.rng.choice(BANDWIDTHS)
        return f"{round(10 ** self.rng.uniform(6.5, 10), 3)}Bps"

    def latency(self) -> str:
        if self.rng.random() < 0.7:
            return self.rng.choice(LATENCIES)
        return f"{round(10 ** self.rng.uniform(-7, -3), 12)}s"

    def speed(self) -> str:
        return self.rng.choice(SPEEDS)

    # -- parts -----------------------------------------------------------------------------

    def host(self) -> tuple[str, str]:
        """Return the name and XML of a host."""
        name = self.name("host")
        core = f' core="{self.rng.randint(2, 4)}"' if self.rng.random() < 0.2 else ""
        return name, f'<host id="{name}" speed="{self.speed()}"{core}/>'

    def link(self) -> tuple[str, str]:
        """Return the XML of a reference to a new link, and of the link."""
        name = self.name("link")
        policy = self.rng.choices(["SHARED", "FATPIPE", "SPLITDUPLEX"], [5, 1, 3])[0]
        own = (
            f'<link id="{name}" bandwidth="{self.bandwidth()}" latency="{self.latency()}" '
            f'sharing_policy="{policy}"/>'
        )
        if policy == "SPLITDUPLEX":
            direction = self.rng.choice(["UP", "DOWN"])
            return f'<link_ctn id="{name}" direction="{direction}"/>', own
        return f'<link_ctn id="{name}"/>', own

    def links(self, most: int) -> tuple[list[str], list[str]]:
        """Return references to one or several new links, and the XML of the links."""
        pairs = [self.link() for _ in range(self.rng.randint(1, most))]
        return [pair[0] for pair in pairs], [pair[1] for pair in pairs]

    # -- zones -----------------------------------------------------------------------------

    def cluster(self, *, topology: str = "", size: int | None = None) -> Zone:
        """Return a `<cluster>`: flat unless the attributes in `topology` specify otherwise."""
        name = self.name("cluster")
        size = self.rng.randint(2, 16) if size is None else size
        first = self.rng.choice([0, 0, 7])
        attributes = {
            "id": name,
            "prefix": f"{name}-",
            "suffix": ".org",
            "radical": f"{first}-{first + size - 1}",
            "speed": self.speed(),
            "bw": self.bandwidth(),
            "lat": self.latency(),
            "router_id": f"{name}-gate",
        }
        if self.rng.random() < 0.6:
            attributes["sharing_policy"] = self.rng.choice(["SHARED", "SPLITDUPLEX", "FATPIPE"])
        if self.rng.random() < 0.25:
            attributes["core"] = str(self.rng.randint(2, 4))
        # SimGrid gives two links of a fat tree with limiters the same name.
        if "FAT_TREE" not in topology and self.rng.random() < 0.3:
            attributes["limiter_link"] = self.bandwidth()
        # Without a loopback these topologies have no route from a host to itself.
        if topology or self.rng.random() < 0.4:
            attributes["loopback_bw"] = self.bandwidth()
            attributes["loopback_lat"] = self.latency()
        if not topology and self.rng.random() < 0.6:
            attributes["bb_bw"] = self.bandwidth()
            attributes["bb_lat"] = self.latency()
            if self.rng.random() < 0.3:
                attributes["bb_sharing_policy"] = self.rng.choice(["SHARED", "FATPIPE"])
        text = " ".join(f'{key}="{value}"' for key, value in attributes.items())
        hosts = [f"{name}-{i}.org" for i in range(first, first + size)]
        return Zone(name, [f"<cluster {text} {topology}/>"], hosts, f"{name}-gate")

    def full(self) -> Zone:
        """Return a zone with a route for every pair, over its own or shared links."""
        name = self.name("full")
        hosts, xml = self.hosts_of(self.rng.randint(2, 6))
        gateway = self.name("router")
        xml.append(f'<router id="{gateway}"/>')
        pool = [self.link() for _ in range(self.rng.randint(3, 8))]
        xml += [own for _, own in pool]
        for src, dst in combinations([*hosts, gateway], 2):
            for ends in self.both_ways(src, dst):
                chosen = self.rng.sample(pool, self.rng.randint(1, 3))
                xml.append(self.route(ends, [reference for reference, _ in chosen]))
        if self.rng.random() < 0.3:
            a, b = self.rng.sample(hosts, 2)
            xml.append(f'<bypassRoute src="{a}" dst="{b}">{self.rng.choice(pool)[0]}</bypassRoute>')
        return Zone(name, self.zone(name, "Full", xml), hosts, gateway)

    def graph(self, routing: str) -> Zone:
        """Return hosts and routers connected by routes, with one shortest path between any two.

        With `hard` there are several, and routes in one direction.
        """
        name = self.name("graph")
        hosts, xml = self.hosts_of(self.rng.randint(2, 8))
        routers = [self.name("router") for _ in range(self.rng.randint(1, 4))]
        xml += [f'<router id="{router}"/>' for router in routers]
        nodes = [*routers, *hosts]
        edges: dict[tuple[str, str], int] = {}
        for i, node in enumerate(nodes[1:], 1):
            other = self.rng.choice(nodes[: min(i, len(routers))])
            edges[node, other] = 2 if self.rng.random() < 0.2 else 1
        for _ in range(self.rng.randint(0, 4)):
            a, b = self.rng.sample(nodes, 2)
            more = {**edges, (a, b): self.rng.randint(1, 3)}
            if (b, a) not in edges and (self.hard or has_unique_paths(nodes, more)):
                edges = more
        pairs: list[tuple[str, str]] = []
        for (a, b), length in edges.items():
            pairs = [self.link() for _ in range(length)]
            xml += [own for _, own in pairs]
            xml.append(self.route((a, b, True), [reference for reference, _ in pairs]))
        for a, b in permutations(nodes, 2) if self.hard else ():
            if not {(a, b), (b, a)} & edges.keys() and self.rng.random() < 0.2:
                xml.append(self.route((a, b, False), [self.rng.choice(pairs)[0]]))
        return Zone(name, self.zone(name, routing, xml), hosts, routers[0])

    def vivaldi(self) -> Zone:
        """Return peers with coordinates, whose distance is a latency in milliseconds."""
        name = self.name("vivaldi")
        hosts = [self.name("peer") for _ in range(self.rng.randint(2, 8))]
        xml = []
        for host in hosts:
            place = " ".join(str(round(self.rng.uniform(0, 20), 2)) for _ in range(3))
            xml.append(
                f'<peer id="{host}" coordinates="{place}" speed="{self.speed()}" '
                f'bw_in="{self.bandwidth()}" bw_out="{self.bandwidth()}"/>'
            )
        return Zone(name, self.zone(name, "Vivaldi", xml), hosts, hosts[0])

    def host_links(self) -> Zone:
        """Return a Cluster zone of hosts with one link each, possibly cabinets and a backbone."""
        name = self.name("hostlinks")
        hosts, xml = self.hosts_of(self.rng.randint(2, 6))
        ways: list[tuple[str, str]] = []
        for i, host in enumerate(hosts):
            policy = self.rng.choice(["SHARED", "SPLITDUPLEX", "FATPIPE"])
            xml.append(
                f'<link id="{name}-{i}" bandwidth="{self.bandwidth()}" latency="{self.latency()}" '
                f'sharing_policy="{policy}"/>'
            )
            up, down = ("_UP", "_DOWN") if policy == "SPLITDUPLEX" else ("", "")
            ways.append((f"{name}-{i}{up}", f"{name}-{i}{down}"))
            # Hosts may share their links.
            up, down = self.rng.choice(ways) if self.hard else ways[-1]
            xml.append(f'<host_link id="{host}" up="{up}" down="{down}"/>')
        if self.rng.random() < 0.5:
            size = self.rng.randint(2, 5)
            xml.append(
                f'<cabinet id="{name}-cabinet" prefix="{name}-" suffix=".cab" '
                f'radical="0-{size - 1}" speed="{self.speed()}" bw="{self.bandwidth()}" '
                f'lat="{self.latency()}"/>'
            )
            hosts += [f"{name}-{i}.cab" for i in range(size)]
        if self.rng.random() < 0.7:
            xml.append(
                f'<backbone id="{name}-backbone" bandwidth="{self.bandwidth()}" '
                f'latency="{self.latency()}"/>'
            )
        return Zone(name, self.zone(name, "Cluster", xml), hosts, hosts[0])

    def hosts_of(self, count: int) -> tuple[list[str], list[str]]:
        pairs = [self.host() for _ in range(count)]
        return [pair[0] for pair in pairs], [pair[1] for pair in pairs]

    def both_ways(self, src: str, dst: str) -> list[tuple[str, str, bool]]:
        """Return one symmetrical route, or one for each direction."""
        if self.rng.random() < 0.6:
            return [(src, dst, True)]
        return [(src, dst, False), (dst, src, False)]

    def route(self, ends: tuple[str, str, bool], references: list[str]) -> str:
        src, dst, symmetrical = ends
        kept = "" if symmetrical else ' symmetrical="NO"'
        return f'<route src="{src}" dst="{dst}"{kept}>{"".join(references)}</route>'

    def zone(self, name: str, routing: str, xml: list[str]) -> list[str]:
        """Return a zone's XML as one element; the format requires routes to come last."""
        routes = [line for line in xml if line.startswith(ROUTE_TAGS)]
        parts = [line for line in xml if line not in routes]
        body = "\n".join([*parts, *routes])
        return [f'<zone id="{name}" routing="{routing}">\n{body}\n</zone>']

    def leaf(self) -> Zone:
        """Return a zone without inner zones."""
        makers: list[Callable[[], Zone]] = [
            self.cluster,
            self.full,
            lambda: self.graph("Floyd"),
            lambda: self.graph("Dijkstra"),
            lambda: self.graph("DijkstraCache"),
        ]
        if self.hard:
            makers += [self.host_links, self.vivaldi, self.torus, self.fat_tree, self.dragonfly]
        return self.rng.choice(makers)()

    def zones(self, depth: int = 1) -> Zone:
        """Return nested zones, connected by zone routes between their gateways."""
        name = self.name("zone")
        inner = [
            self.zones(depth - 1) if depth > 1 and self.rng.random() < 0.5 else self.leaf()
            for _ in range(self.rng.randint(2, 4))
        ]
        routing = self.rng.choice(["Full", "Floyd", "Dijkstra"])
        xml = [line for zone in inner for line in zone.xml]
        # SimGrid crashes on a Dijkstra zone that is entered through several gateways.
        fixed = {zone.id: self.gateway_of(zone) for zone in inner}
        if routing == "Full":
            joined = list(combinations(inner, 2))
        else:
            joined = [(self.rng.choice(inner[:i]), inner[i]) for i in range(1, len(inner))]
        for a, b in joined:
            ways = self.both_ways("a", "b") if routing == "Full" else [("a", "b", True)]
            for src, _, symmetrical in ways:
                start, end = (a, b) if src == "a" else (b, a)
                references, links = self.links(3)
                kept = "" if symmetrical else ' symmetrical="NO"'
                xml += links
                gateways = [
                    fixed[z.id] if routing == "Dijkstra" else self.gateway_of(z)
                    for z in (start, end)
                ]
                xml.append(
                    f'<zoneRoute src="{start.id}" dst="{end.id}" gw_src="{gateways[0]}" '
                    f'gw_dst="{gateways[1]}"{kept}>{"".join(references)}</zoneRoute>'
                )
        if self.rng.random() < 0.2:
            a, b = self.rng.sample(inner, 2)
            reference, link = self.link()
            xml.append(link)
            xml.append(
                f'<bypassZoneRoute src="{a.id}" dst="{b.id}" gw_src="{self.gateway_of(a)}" '
                f'gw_dst="{self.gateway_of(b)}">{reference}</bypassZoneRoute>'
            )
        hosts = [host for zone in inner for host in zone.hosts]
        return Zone(name, self.zone(name, routing, xml), hosts, self.rng.choice(inner).gateway)

    def gateway_of(self, zone: Zone) -> str:
        """Return the host or router by which a route enters or leaves a zone."""
        return self.rng.choice(zone.hosts) if self.hard else zone.gateway

    def topology(self, name: str, size: int, *rows: Sequence[int]) -> Zone:
        """Return a cluster with a topology whose parameters are rows of numbers."""
        words = ";".join(",".join(map(str, row)) for row in rows)
        return self.cluster(topology=f'topology="{name}" topo_parameters="{words}"', size=size)

    def torus(self) -> Zone:
        # SimGrid refuses a platform with two sides of length 1: two links get the same name.
        sides = [self.rng.randint(2, 4) for _ in range(self.rng.randint(1, 3))]
        if self.rng.random() < 0.2:
            sides.insert(self.rng.randint(0, len(sides)), 1)
        return self.topology("TORUS", math.prod(sides), sides)

    def fat_tree(self) -> Zone:
        levels = self.rng.randint(1, 3)
        down = [self.rng.randint(2, 4) for _ in range(levels)]
        up = [1, *(self.rng.randint(1, 3) for _ in range(levels - 1))]
        parallel = [self.rng.randint(1, 2) for _ in range(levels)]
        return self.topology("FAT_TREE", math.prod(down), [levels], down, up, parallel)

    def dragonfly(self) -> Zone:
        # A chassis' router to group g is its g-th; SimGrid crashes without it.
        groups, chassis, nodes = (self.rng.randint(1, 3) for _ in range(3))
        counts = (groups, chassis, self.rng.randint(max(groups, 2), 4))
        rows = [(count, self.rng.randint(1, 3)) for count in counts]
        return self.topology("DRAGONFLY", math.prod(counts) * nodes, *rows, [nodes])


FAMILIES: dict[str, Callable[[Builder], Zone]] = {
    "cluster": lambda build: build.cluster(),
    "full": lambda build: build.full(),
    "floyd": lambda build: build.graph("Floyd"),
    "dijkstra": lambda build: build.graph("Dijkstra"),
    "zones": lambda build: build.zones(),
    "nested": lambda build: build.zones(depth=3),
    "host_links": lambda build: build.host_links(),
    "vivaldi": lambda build: build.vivaldi(),
    "torus": lambda build: build.torus(),
    "fat_tree": lambda build: build.fat_tree(),
    "dragonfly": lambda build: build.dragonfly(),
}


HARD = ("floyd", "dijkstra", "host_links", "zones", "nested", "nested")


def draw_platform(rng: random.Random, family: str, *, hard: bool = False) -> tuple[str, list[str]]:
    """Return the text of a platform file and the names of its hosts."""
    zone = FAMILIES[family](Builder(rng, hard))
    body = "\n".join(zone.xml)
    return f'{HEAD}<platform version="4.1">\n{body}\n</platform>\n', zone.hosts


def draw_hard_platform(seed: int) -> str:
    """Return a platform with difficult routing: ties, one-way routes, nested zones, any gateway."""
    rng = random.Random(seed)
    return draw_platform(rng, rng.choice(HARD), hard=True)[0]
