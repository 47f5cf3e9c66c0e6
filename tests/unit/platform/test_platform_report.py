"""Output and drawings of `tisim platform`, and the bisection bandwidth of clusters."""

from __future__ import annotations

import itertools
import json
import math
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from click.testing import CliRunner

import tisim
from tests.support import load_platform
from tests.unit.command_line import CommandLine, hide_package
from tisim.commands.platform import platform_command
from tisim.errors import InputError
from tisim.platform import Platform, new
from tisim.platform.drawing import draw
from tisim.platform.report import describe
from tisim.platform.zones.cluster import ClusterZone


@pytest.fixture(scope="module")
def graphene(root: Path) -> Platform:
    return Platform.load(root / "platforms/graphene.xml")


def test_without_scipy_all_but_the_bisection_is_known(
    tisim: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plain `pip install tisim` suffices to build and describe platforms."""
    hide_package("scipy", monkeypatch)
    file = str(tisim.directory / "gros.xml")
    for run in (tisim("platform", "new", "machine", "gros", "-o", file), tisim("platform", file)):
        assert run.status == 0, run.err
        assert "  diameter   2 links" in run.out
        assert "  bisection  unknown without scipy: pip install 'tisim[view]'" in run.out


def test_graphene(graphene: Platform) -> None:
    report = describe(graphene)
    assert (report.hosts, report.cores, report.links) == (144, 144, 588)
    assert report.speeds == (3.68e9, 3.68e9)
    assert [zone.hosts for zone in report.zones] == [0, 39, 35, 30, 40]
    assert (report.exact, report.diameter, report.unconnected) == (True, 8, 0)
    assert report.longest_latency == pytest.approx(33e-6)
    # The first half is cabinet 1 and 33 hosts of cabinet 2; most of its traffic goes to the 40
    # hosts of cabinet 4, through its switch.
    assert report.bisection_bandwidth == pytest.approx(1162.5e6 / (72 * 40) * 72 * 72)


@pytest.mark.parametrize(
    ("topology", "hosts", "diameter", "bisection"),
    [
        ('topology="TORUS" topo_parameters="4,2"', 8, 3, None),
        ('topology="FAT_TREE" topo_parameters="1;8;1;1"', 8, 2, 4e9),
        ('bb_bw="3GBps"', 8, 3, 3e9),
        ("", 8, 2, 4e9),
    ],
)
def test_small_clusters(
    tmp_path: Path, topology: str, hosts: int, diameter: int, bisection: float | None
) -> None:
    report = describe(
        load_platform(
            tmp_path,
            f'<cluster id="c" prefix="n" suffix="" radical="0-{hosts - 1}"'
            f' speed="1Gf" bw="1GBps" lat="1us" {topology}/>',
        )
    )
    assert report.diameter == diameter
    if bisection is not None:
        assert report.bisection_bandwidth == pytest.approx(bisection)


def test_what_is_not_connected(tmp_path: Path) -> None:
    report = describe(
        load_platform(
            tmp_path,
            '<zone id="z" routing="Full"><host id="a" speed="1"/>'
            '<host id="b" speed="2Gf" core="4"/></zone>',
        )
    )
    assert (report.unconnected, report.farthest, report.bisection_bandwidth) == (2, None, None)
    assert "2 pairs of hosts have no route" in report.text()
    assert "2 with 5 cores, 1 flop/s to 2 Gflop/s a core" in report.text()


def test_large_platforms_are_sampled(tmp_path: Path) -> None:
    report = describe(
        load_platform(
            tmp_path,
            '<cluster id="c" prefix="n" suffix="" radical="0-999" speed="1Gf"'
            ' bw="1GBps" lat="1us" bb_bw="10GBps"/>',
        )
    )
    assert not report.exact
    assert report.bisection_bandwidth == pytest.approx(10e9)
    assert "at least 3 links" in report.text()


def test_drawings_are_svg(graphene: Platform, root: Path, tmp_path: Path) -> None:
    for platform in (graphene, Platform.load(root / "platforms/fattree.xml")):
        draw(platform, tmp_path / "out.svg")
        tree = ET.parse(tmp_path / "out.svg").getroot()
        dots = tree.findall("{http://www.w3.org/2000/svg}circle")
        assert len(dots) == len(platform.hosts)
        titles = {dot[0].text for dot in dots}
        assert titles == {host.name for host in platform.hosts}
        right = max(float(dot.get("cx", 0)) for dot in dots)
        assert right < float(tree.get("width", 0))
    assert list(tmp_path.iterdir()) == [tmp_path / "out.svg"]


def test_a_drawing_that_cannot_be_written(graphene: Platform, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"name the file out\.svg or out\.png"):
        draw(graphene, tmp_path / "out.pdf")
    with pytest.raises(InputError, match="cannot be written: No such file"):
        draw(graphene, tmp_path / "nowhere" / "out.svg")


def test_the_command(root: Path, tmp_path: Path) -> None:
    file = str(root / "platforms/graphene.xml")
    run = CliRunner().invoke(platform_command, [file])
    assert "144 with 144 cores" in run.output
    hosts = ["graphene-0.nancy.grid5000.fr", "graphene-143.nancy.grid5000.fr"]
    drawing = tmp_path / "g.svg"
    run = CliRunner().invoke(platform_command, [file, "--route", *hosts, "--draw", str(drawing)])
    assert "explicit-limiter4" in run.output
    assert "latency 33 us, bandwidth 125 MB/s" in run.output
    assert drawing.exists()
    run = CliRunner().invoke(platform_command, [file, "--json", "-"])
    assert json.loads(run.output)["hosts"] == 144
    run = CliRunner().invoke(platform_command, [file, "--route", "a", hosts[0]])
    assert isinstance(run.exception, InputError)


LINK = 1e9


def cluster(topology: str, parameters: object, hosts: int, **options: object) -> Platform:
    builder = tisim.PlatformBuilder("a test")
    builder.cluster(
        "c",
        hosts,
        speed="1Gf",
        bandwidth=LINK,
        latency="1us",
        topology=topology,
        parameters=parameters,  # type: ignore[arg-type]
        **options,  # type: ignore[arg-type]
    )
    return builder.build()


def least_cut(platform: Platform) -> float:
    """Return the minimum cut over all assignments of switches to a side.

    The ends of the cables are taken from the names of the links only.
    """
    half = len(platform.hosts) // 2
    edges = []
    for link in platform.links:
        ends = re.search(r"link_from_(\d+)_(?:to_)?(\d+)_(?:\d+_)?UP", link.name)
        if ends is not None:
            edges.append((int(ends[1]), int(ends[2]), link.bandwidth))
    vertices = {end for low, high, _ in edges for end in (low, high)}
    switches = sorted(vertices - set(range(len(platform.hosts))))
    least = math.inf
    for sides in itertools.product((True, False), repeat=len(switches)):
        side = {host: host < half for host in range(len(platform.hosts))}
        side |= dict(zip(switches, sides, strict=True))
        least = min(least, sum(rate for low, high, rate in edges if side[low] != side[high]))
    return least


@pytest.mark.parametrize(
    ("topology", "parameters", "hosts"),
    [
        ("fat_tree", ((4, 4), (1, 2), (1, 1)), 16),
        ("fat_tree", ((4, 3), (1, 2), (1, 2)), 12),
        ("fat_tree", ((2, 2, 2), (1, 2, 1), (1, 1, 2)), 8),
        ("fat_tree", ((3, 3), (2, 2), (1, 1)), 9),
        ("torus", (4, 4), 16),
        ("torus", (3, 5), 15),
        ("torus", (3, 3, 3), 27),
    ],
)
def test_the_cut_is_the_least_of_all(
    topology: str, parameters: tuple[object, ...], hosts: int
) -> None:
    platform = cluster(topology, parameters, hosts)
    assert describe(platform).bisection_bandwidth == pytest.approx(least_cut(platform), rel=1e-12)


def test_a_fat_tree_of_1024_hosts_does_not_block() -> None:
    report = describe(new.fat_tree(1024, bandwidth="50Gbps", latency="1us", speed="1Gf"))
    assert report.bisection_bandwidth == pytest.approx(512 * 6.25e9)
    assert "bisection  3.2 TB/s" in report.text()


def test_an_oversubscribed_fat_tree_has_the_bandwidth_of_its_cables_up() -> None:
    platform = new.fat_tree(
        864, bandwidth=LINK, latency="1us", speed="1Gf", radix=36, oversubscription=2
    )
    assert describe(platform).bisection_bandwidth == pytest.approx(432 / 2 * LINK)


def test_a_dragonfly_is_cut_between_its_groups() -> None:
    # Two groups on each side, each pair of groups connected by 3 cables.
    platform = cluster("dragonfly", ((4, 3), (2, 9), (4, 9), 2), 64)
    assert describe(platform).bisection_bandwidth == pytest.approx(4 * 3 * LINK)


def test_two_hosts_in_a_ring_have_one_cable() -> None:
    platform = cluster("torus", (4, 2), 8)
    # Messages never use the second cable of a ring of two.
    assert describe(platform).bisection_bandwidth == pytest.approx(4 * LINK)


def test_limiters_and_backbones_bound_the_cut() -> None:
    limited = cluster("flat", "", 10, limiter=LINK / 2)
    assert describe(limited).bisection_bandwidth == pytest.approx(5 * LINK / 2)
    backbone = cluster("flat", "", 300, backbone=(7 * LINK, 0.0))
    report = describe(backbone)
    assert report.bisection_bandwidth == pytest.approx(7 * LINK)
    assert report.bisection_is_exact
    assert not report.exact
    leaf = cluster("fat_tree", ((4, 2), (1, 2), (1, 1)), 8, limiter=LINK / 4)
    # Each of the two top switches carries at most the bandwidth of its limiter.
    assert describe(leaf).bisection_bandwidth == pytest.approx(LINK / 4)


def test_links_that_differ_count_as_they_are() -> None:
    platform = cluster("torus", (4, 4), 16).scaled(links="c_link_from_4_to_8", bandwidth="x0.5")
    assert describe(platform).bisection_bandwidth == pytest.approx(7.5 * LINK)


@pytest.mark.parametrize(
    ("topology", "parameters", "hosts", "options"),
    [
        ("fat_tree", ((4, 6), (1, 3), (1, 1)), 24, {}),
        ("fat_tree", ((2, 3, 4), (1, 2, 2), (1, 2, 1)), 24, {"limiter": 0.7 * LINK}),
        ("torus", (3, 4, 2), 24, {"sharing": "SHARED"}),
        ("dragonfly", ((3, 2), (2, 1), (3, 2), 2), 36, {}),
    ],
)
def test_the_cut_is_that_of_networkx_where_all_links_differ(
    topology: str, parameters: object, hosts: int, options: dict[str, object]
) -> None:
    platform = cluster(topology, parameters, hosts, **options)
    bandwidths = np.random.default_rng(7).uniform(0.2, 1.0, len(platform.links)) * LINK
    numbers = platform.resources.replaced(link_bandwidth=bandwidths)
    zone = platform.root
    assert isinstance(zone, ClusterZone)
    wiring, half = zone.wiring(), hosts // 2
    graph = nx.DiGraph()
    limiters = dict(zip(wiring.limited.tolist(), wiring.limiters.tolist(), strict=True))
    for vertex in range(hosts):
        before, after = ("all", (vertex, "in")) if vertex < half else ((vertex, "out"), "others")
        graph.add_edge(before, after)  # without a capacity: unbounded
    for vertex, limiter in limiters.items():
        graph.add_edge((vertex, "in"), (vertex, "out"), capacity=bandwidths[limiter])
    rows = zip(wiring.tails.tolist(), wiring.heads.tolist(), wiring.links.tolist(), strict=True)
    for place, (tail, head, link) in enumerate(rows):
        # An intermediate vertex makes parallel cables separate edges.
        first = (tail, "out" if tail in limiters else "in")
        last = (head, "in")
        graph.add_edge(first, place, capacity=bandwidths[link])
        graph.add_edge(place, last)
    for vertex in range(half, hosts):
        if vertex not in limiters:
            graph.add_edge((vertex, "in"), (vertex, "out"))
    least = nx.minimum_cut_value(graph, "all", "others")
    report = describe(platform.with_numbers(numbers, ()))
    # The report computes the cut with integers, whose resolution is 2^-12 of the least bandwidth.
    assert report.bisection_bandwidth == pytest.approx(least, rel=1e-3)
