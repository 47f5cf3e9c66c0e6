"""Hosts, links and routes of a platform equal SimGrid's, link by link."""

from __future__ import annotations

import itertools
import os
import random
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.oracle.platforms.families import FAMILIES, HEAD, draw_hard_platform, draw_platform
from tests.oracle.simgrid_exec import missing_s4u, s4u_program
from tisim.errors import InputError
from tisim.platform import Platform

SOURCE = Path(__file__).with_name("print_routes.cpp")


@dataclass
class SimgridPlatform:
    """Hosts: name to (speed, cores). Links: name to (bandwidth, latency, fatpipe).

    Routes: pair of names to (names of links, latency), or to the reason why it has none.
    """

    hosts: dict[str, tuple[float, int]] = field(default_factory=dict)
    links: dict[str, tuple[float, float, bool]] = field(default_factory=dict)
    routes: dict[tuple[str, str], tuple[list[str], float] | str] = field(default_factory=dict)


def ask_simgrid(
    platform: str | os.PathLike[str], pairs: Iterable[tuple[str, str]]
) -> SimgridPlatform:
    """Load a platform in SimGrid; routes end where SimGrid aborts."""
    run = subprocess.run(
        [s4u_program(SOURCE), Path(platform).resolve(), "--log=root.thres:critical"],
        input="".join(f"{src}\t{dst}\n" for src, dst in pairs),
        capture_output=True,
        text=True,
        cwd=Path(platform).resolve().parent,
    )
    answer = SimgridPlatform()
    for line in run.stdout.splitlines():
        kind, *words = line.split("\t")
        if kind == "H":
            answer.hosts[words[0]] = (float(words[1]), int(words[2]))
        elif kind == "L":
            answer.links[words[0]] = (float(words[1]), float(words[2]), words[3] == "FATPIPE")
        elif kind == "R":
            answer.routes[words[0], words[1]] = (words[3:], float(words[2]))
        elif kind == "E":
            answer.routes[words[0], words[1]] = words[2]
    if not answer.hosts:
        raise RuntimeError(f"SimGrid does not load {platform}: {run.stderr[-300:]}")
    return answer


pytestmark = [
    pytest.mark.oracle,
    pytest.mark.skipif(missing_s4u() is not None, reason=str(missing_s4u())),
]
ROUTES_A_PLATFORM = 60


def check(path: Path, seed: int = 0) -> None:
    """Compare a platform with SimGrid's: resources, and routes between random hosts."""
    platform = Platform.load(path)
    rng = random.Random(seed)
    names = [host.name for host in platform.hosts]
    pairs = list(itertools.product(names, repeat=2))
    if len(pairs) > ROUTES_A_PLATFORM:
        own = [(name, name) for name in rng.sample(names, min(5, len(names)))]
        pairs = rng.sample(pairs, ROUTES_A_PLATFORM) + own
    theirs = ask_simgrid(path, pairs)
    check_resources(platform, theirs)
    for src, dst in pairs:
        assert route_of(platform, src, dst) == expected_route(theirs, src, dst), (src, dst)


def check_resources(platform: Platform, theirs: SimgridPlatform) -> None:
    assert {h.name: (h.speed, h.cores) for h in platform.hosts} == theirs.hosts
    links = {link.name: (link.bandwidth, link.latency, link.fatpipe) for link in platform.links}
    # Implementations may or may not list the network model's own loopback.
    links.pop("__loopback__", None)
    theirs.links.pop("__loopback__", None)
    assert links == theirs.links


def route_of(platform: Platform, src: str, dst: str) -> object:
    try:
        route = platform.route(src, dst)
    except InputError:
        return None
    return [link.name for link in route.links], route.latency


def expected_route(theirs: SimgridPlatform, src: str, dst: str) -> object:
    answer = theirs.routes[src, dst]
    return None if isinstance(answer, str) or answer == ([], 0.0) else answer


@pytest.mark.parametrize("name", ["backbone", "graphene", "fattree"])
def test_platforms_that_come_along(root: Path, name: str) -> None:
    check(root / f"platforms/{name}.xml")


@pytest.mark.parametrize("seed", range(40))
def test_random_platforms(tmp_path: Path, seed: int) -> None:
    path = tmp_path / "platform.xml"
    path.write_text(draw_hard_platform(seed))
    check(path, seed)


@pytest.mark.parametrize("family", FAMILIES)
def test_platforms_of_the_campaign(tmp_path: Path, family: str) -> None:
    for seed in range(3):
        path = tmp_path / f"{seed}.xml"
        path.write_text(draw_platform(random.Random(seed), family)[0])
        check(path, seed)


CLUSTER = 'id="c" prefix="n" suffix="" speed="1Gf" bw="1GBps" lat="1us"'
ODD = {
    "a torus of rings of every length": "".join(
        f'<cluster id="c{n}" prefix="n{n}-" suffix="" radical="0-{n - 1}" speed="1" bw="1" lat="1"'
        f' topology="TORUS" topo_parameters="{n}" loopback_bw="1"/>'
        for n in range(1, 12)
    ),
    "numbers that are not a range": f'<cluster {CLUSTER} radical="7,3,10-12"/>',
    "a fat tree of parallel cables": (
        f'<cluster {CLUSTER} radical="0-23" topology="FAT_TREE" '
        'topo_parameters="3;2,3,4;1,2,3;3,2,4"/>'
    ),
    "two fat trees and two dragonflies": "".join(
        f'<cluster id="{name}" prefix="{name}" suffix="" radical="0-{count - 1}" speed="1" bw="1"'
        f' lat="1" topology="{topology}" topo_parameters="{parameters}"/>'
        for name, count, topology, parameters in (
            ("f", 6, "FAT_TREE", "2;3,2;2,2;1,3"),
            ("g", 8, "FAT_TREE", "2;4,2;1,3;2,2"),
            ("d", 12, "DRAGONFLY", "2,3;3,2;2,1;1"),
            ("e", 36, "DRAGONFLY", "3,1;2,4;3,2;2"),
        )
    ),
    "the default loopback of every routing": "".join(
        f'<zone id="{routing}" routing="{routing}"><host id="a{routing}" speed="1"/>'
        f'<host id="b{routing}" speed="1"/><link id="l{routing}" bandwidth="1" latency="1"/>'
        f'<route src="a{routing}" dst="b{routing}"><link_ctn id="l{routing}"/></route></zone>'
        for routing in ("Full", "Floyd", "Dijkstra", "DijkstraCache")
    ),
    "bypasses": (
        '<zone id="x" routing="Full"><host id="a" speed="1"/><host id="b" speed="1"/>'
        '<link id="l" bandwidth="1" latency="0"/><link id="m" bandwidth="1" latency="1"/>'
        '<route src="a" dst="b"><link_ctn id="l"/></route>'
        '<bypassRoute src="a" dst="b"><link_ctn id="m"/><link_ctn id="m"/></bypassRoute></zone>'
    ),
}


@pytest.mark.parametrize("odd", ODD)
def test_odd_platforms(tmp_path: Path, odd: str) -> None:
    path = tmp_path / "platform.xml"
    body = f'<zone id="world" routing="Full">{ODD[odd]}</zone>'
    path.write_text(f'{HEAD}<platform version="4.1">{body}</platform>')
    # Hosts of different clusters have no route here; those of the same cluster do.
    platform = Platform.load(path)
    zones: dict[str, list[str]] = {}
    for host in platform.hosts:
        zones.setdefault(host.zone, []).append(host.name)
    pairs = [pair for names in zones.values() for pair in itertools.product(names, repeat=2)]
    theirs = ask_simgrid(path, pairs)
    check_resources(platform, theirs)
    for src, dst in pairs:
        assert route_of(platform, src, dst) == expected_route(theirs, src, dst), (src, dst)
