"""Routes computed by hand, peculiarities of SimGrid, and compiled platforms."""

from __future__ import annotations

import threading
from pathlib import Path

import networkx as nx
import pytest

from tests.unit.platform.conftest import Load
from tisim.errors import InputError
from tisim.platform import CompiledPlatform, Platform, PlatformBuilder
from tisim.platform.profiles import (
    BANDWIDTH,
    LATENCY,
    SPEED,
    STATE,
    Profile,
    ResourceProfile,
)


def names(platform: Platform, src: str, dst: str) -> list[str]:
    return [link.name for link in platform.route(src, dst).links]


def cluster(more: str, radical: str = "0-3") -> str:
    return (
        f'<cluster id="c" prefix="n" suffix="" radical="{radical}" speed="1Gf" bw="1GBps" lat="1us"'
        f" {more}/>"
    )


def test_graphene(root: Path) -> None:
    platform = Platform.load(root / "platforms/graphene.xml")
    host = "graphene-{}.nancy.grid5000.fr".format
    assert names(platform, host(0), host(38)) == [
        "AS_sgraphene1_link_0_limiter",
        "AS_sgraphene1_link_0_UP",
        "AS_sgraphene1_link_38_DOWN",
        "AS_sgraphene1_link_38_limiter",
    ]
    assert names(platform, host(5), host(5)) == ["AS_sgraphene1_link_5_loopback"]
    assert names(platform, host(0), host(39)) == [
        "AS_sgraphene1_link_0_limiter",
        "AS_sgraphene1_link_0_UP",
        "switch-backbone1_UP",
        "explicit-limiter1",
        "explicit-limiter2",
        "switch-backbone2_DOWN",
        "AS_sgraphene2_link_39_DOWN",
        "AS_sgraphene2_link_39_limiter",
    ]
    assert platform.route(host(0), host(39)).latency == pytest.approx(33e-6, rel=1e-12)


def test_a_flat_cluster_takes_a_link_once(load: Load) -> None:
    platform = load(cluster('sharing_policy="SHARED" limiter_link="1GBps" bb_bw="2GBps"'))
    assert names(platform, "n0", "n1") == [
        "c_link_0_limiter",
        "c_link_0",
        "c_backbone",
        "c_link_1",
        "c_link_1_limiter",
    ]
    assert names(platform, "n2", "n2") == ["c_link_2_limiter", "c_link_2", "c_backbone"]


def test_a_torus_goes_the_shorter_way_round(load: Load) -> None:
    platform = load(cluster('topology="TORUS" topo_parameters="5,2"', "0-9"))
    assert names(platform, "n0", "n2") == ["c_link_from_0_to_1_UP", "c_link_from_1_to_2_UP"]
    assert names(platform, "n0", "n4") == ["c_link_from_4_to_0_DOWN"]
    assert names(platform, "n4", "n5") == ["c_link_from_4_to_0_UP", "c_link_from_0_to_5_UP"]
    with pytest.raises(InputError, match=r"no route from host 'n3' to host 'n3'.*loopback_bw"):
        platform.route("n3", "n3")


def test_a_fat_tree_spreads_by_destination(load: Load) -> None:
    platform = load(cluster('topology="FAT_TREE" topo_parameters="2;2,2;1,2;1,1"'))
    assert names(platform, "n0", "n1") == ["link_from_0_7_0_UP", "link_from_1_7_1_DOWN"]
    upper = {names(platform, "n0", dst)[1] for dst in ("n2", "n3")}
    assert len(upper) == 2
    assert names(platform, "n1", "n1") == ["link_from_1_7_1_UP", "link_from_1_7_1_DOWN"]


def test_a_second_fat_tree_counts_on(load: Load) -> None:
    tree = 'topology="FAT_TREE" topo_parameters="1;2;1;3"'
    other = cluster(tree, "0-1").replace('"c"', '"d"').replace('"n"', '"m"')
    platform = load(f'<zone id="w" routing="Full">{cluster(tree, "0-1")}{other}</zone>')
    # The cables of the first tree are numbered 0 to 5, its hosts 0 and 1.
    assert names(platform, "n0", "n1") == ["link_from_0_3_1_UP", "link_from_1_3_3_DOWN"]
    assert names(platform, "m0", "m1") == ["link_from_0_3_6_UP", "link_from_1_3_11_DOWN"]


def test_a_dragonfly_takes_one_blue_link(load: Load) -> None:
    platform = load(cluster('topology="DRAGONFLY" topo_parameters="2,4;1,1;2,3;1"', "0-3"))
    route = platform.route("n0", "n3")
    kinds = [link.name.split("_")[0] for link in route.links]
    assert kinds == ["local", "green", "blue", "green", "local"]
    assert [link.bandwidth for link in route.links] == [1e9, 3e9, 4e9, 3e9, 1e9]


THREE_ZONES = """
<zone id="w" routing="{routing}">
  <zone id="A" routing="Full"><host id="a1" speed="1Gf"/><host id="a2" speed="1Gf"/>
    <link id="la" bandwidth="1GBps" latency="1ms"/>
    <route src="a1" dst="a2"><link_ctn id="la"/></route></zone>
  <zone id="B" routing="Full"><host id="b1" speed="1Gf"/><host id="b2" speed="1Gf"/>
    <link id="lb" bandwidth="1GBps" latency="2ms" sharing_policy="SPLITDUPLEX"/>
    <route src="b1" dst="b2"><link_ctn id="lb" direction="UP"/></route></zone>
  <zone id="C" routing="Full"><host id="c1" speed="1Gf"/></zone>
  <link id="ab" bandwidth="1GBps" latency="10ms"/><link id="bc" bandwidth="1GBps" latency="20ms"/>
  <zoneRoute src="A" dst="B" gw_src="a2" gw_dst="b1"><link_ctn id="ab"/></zoneRoute>
  <zoneRoute src="B" dst="C" gw_src="{leave}" gw_dst="c1"><link_ctn id="bc"/></zoneRoute>
  {more}
</zone>"""


@pytest.mark.parametrize("routing", ["Floyd", "Dijkstra", "DijkstraCache"])
def test_zones_on_the_way_are_crossed(load: Load, routing: str) -> None:
    platform = load(THREE_ZONES.format(routing=routing, leave="b2", more=""))
    assert names(platform, "a1", "c1") == ["la", "ab", "lb_UP", "bc"]
    assert names(platform, "c1", "a1") == ["bc", "lb_DOWN", "ab", "la"]
    assert platform.route("a1", "c1").latency == pytest.approx(33e-3)


def test_a_missing_zone_route_is_told(load: Load) -> None:
    platform = load(THREE_ZONES.format(routing="Full", leave="b1", more=""))
    with pytest.raises(InputError, match=r"from host 'a1' to host 'c1': zone w .* from A to C"):
        platform.route("a1", "c1")


def test_a_bypass_replaces_what_zones_find(load: Load) -> None:
    bypass = (
        '<bypassZoneRoute src="A" dst="C" gw_src="a1" gw_dst="c1"><link_ctn id="bc"/>'
        "</bypassZoneRoute>"
    )
    platform = load(THREE_ZONES.format(routing="Floyd", leave="b1", more=bypass))
    loop = "__loopback__"  # SimGrid also requests the route from the gateway to itself
    assert names(platform, "a1", "c1") == [loop, "bc", loop]
    assert names(platform, "a2", "c1") == ["la", "bc", loop]
    assert names(platform, "c1", "a2") == ["bc", "ab"]


def test_a_bypass_between_hosts(load: Load) -> None:
    platform = load(
        '<zone id="z" routing="None"><host id="a" speed="1"/><host id="b" speed="1"/>'
        '<link id="l" bandwidth="1"/><bypassRoute src="a" dst="b"><link_ctn id="l"/></bypassRoute>'
        "</zone>"
    )
    assert names(platform, "a", "b") == ["l"]
    with pytest.raises(InputError, match="has no routing"):
        platform.route("b", "a")


def test_one_way_routes(load: Load) -> None:
    platform = load(
        '<zone id="z" routing="Dijkstra"><host id="a" speed="1"/><host id="b" speed="1"/>'
        '<link id="l" bandwidth="1"/><route src="a" dst="b" symmetrical="NO"><link_ctn id="l"/>'
        "</route></zone>"
    )
    assert names(platform, "a", "b") == ["l"]
    with pytest.raises(InputError, match="has no route from b to a"):
        platform.route("b", "a")


def test_an_unreachable_vertex_does_not_disturb_dijkstra(load: Load) -> None:
    # SimGrid's costs overflow here: u is unreachable from a, but leads to b.
    hosts = "".join(f'<host id="{name}" speed="1"/>' for name in "aub")
    platform = load(
        f'<zone id="z" routing="Dijkstra">{hosts}<link id="l" bandwidth="1"/>'
        '<link id="m" bandwidth="1"/>'
        '<route src="u" dst="b" symmetrical="NO"><link_ctn id="m"/></route>'
        '<route src="a" dst="b" symmetrical="NO"><link_ctn id="l"/><link_ctn id="l"/></route>'
        "</zone>"
    )
    assert names(platform, "a", "b") == ["l", "l"]


def test_vivaldi_zones_inside_vivaldi(load: Load) -> None:
    inner = (
        '<zone id="{0}" routing="Full"><host id="h{0}" speed="1"/>'
        '<router id="router_{0}" coordinates="{1} 0 1"/><link id="l{0}" bandwidth="1"/>'
        '<route src="h{0}" dst="router_{0}"><link_ctn id="l{0}"/></route></zone>'
    )
    platform = load(
        f'<zone id="w" routing="Vivaldi">{inner.format("A", 0)}{inner.format("B", 30)}</zone>'
    )
    route = platform.route("hA", "hB")
    assert [link.name for link in route.links] == ["lA", "lB"]
    assert route.latency == pytest.approx(32e-3)


def test_zones_nested_200_deep(load: Load) -> None:
    inner = '<zone id="leaf" routing="Full"><host id="a" speed="1"/></zone>'
    for depth in range(200):
        inner = f'<zone id="z{depth}" routing="Full">{inner}</zone>'
    platform = load(
        f'<zone id="w" routing="Full">{inner}<zone id="o" routing="Full"><host id="b" speed="1"/>'
        '</zone><link id="l" bandwidth="1"/>'
        '<zoneRoute src="z199" dst="o" gw_src="a" gw_dst="b"><link_ctn id="l"/></zoneRoute></zone>'
    )
    assert names(platform, "a", "b") == ["l"]


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ('<zoneRoute src="A" dst="B" gw_src="a1" gw_dst="b1"/>', "has no <link_ctn>"),
        ('<route src="A" dst="B"><link_ctn id="ab"/></route>', "use <zoneRoute> with gateways"),
        (
            '<zoneRoute src="A" dst="C" gw_src="b1" gw_dst="c1"><link_ctn id="ab"/></zoneRoute>',
            "gw_src='b1' is in zone B, not in A",
        ),
        (
            '<zoneRoute src="A" dst="C" gw_src="A" gw_dst="c1"><link_ctn id="ab"/></zoneRoute>',
            "must be a host or a router, not a zone",
        ),
        (
            '<zoneRoute src="a1" dst="C" gw_src="a1" gw_dst="c1"><link_ctn id="ab"/></zoneRoute>',
            "src='a1' is in zone A, not directly in zone w",
        ),
        (
            '<bypassZoneRoute src="a1" dst="C" gw_src="a1" gw_dst="c1"><link_ctn id="ab"/>'
            "</bypassZoneRoute>",
            "src='a1' of a <bypassZoneRoute> must be a zone",
        ),
        (
            '<zoneRoute src="A" dst="C" gw_src="a3" gw_dst="c1"><link_ctn id="ab"/></zoneRoute>',
            "gw_src='a3' is not a host.*did you mean a",
        ),
    ],
)
def test_bad_zone_routes(load: Load, more: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        load(THREE_ZONES.format(routing="Full", leave="b1", more=more))


def test_a_bad_host_link(load: Load) -> None:
    star = (
        '<zone id="z" routing="Cluster"><host id="a" speed="1"/><link id="l" bandwidth="1"/>'
        "{}</zone>"
    )
    with pytest.raises(InputError, match="zone z has no host 'aa'; did you mean a"):
        load(star.format('<host_link id="aa" up="l" down="l"/>'))
    with pytest.raises(InputError, match="no link 'x'"):
        load(star.format('<host_link id="a" up="l" down="x"/>'))
    with pytest.raises(InputError, match="only a route from a host to itself"):
        load(
            star.format('<host id="b" speed="1"/><route src="a" dst="b"><link_ctn id="l"/></route>')
        )


def test_many_threads_share_a_platform(load: Load) -> None:
    hosts = "".join(f'<host id="h{i}" speed="1"/>' for i in range(12))
    links = "".join(f'<link id="l{i}" bandwidth="1"/>' for i in range(11))
    routes = "".join(
        f'<route src="h{i}" dst="h{i + 1}"><link_ctn id="l{i}"/></route>' for i in range(11)
    )
    platform = load(f'<zone id="z" routing="DijkstraCache">{hosts}{links}{routes}</zone>')
    wrong: list[tuple[int, int]] = []

    def ask() -> None:
        for a in range(12):
            for b in range(12):
                expected = 1 if a == b else abs(a - b)
                if len(platform.route(f"h{a}", f"h{b}").links) != expected:
                    wrong.append((a, b))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.parametrize("routing", ["Floyd", "Dijkstra"])
@pytest.mark.parametrize("seed", range(5))
def test_routes_are_as_short_as_those_of_networkx(routing: str, seed: int) -> None:
    graph = nx.gnm_random_graph(14, 40, seed=seed, directed=True)
    builder = PlatformBuilder()
    with builder.zone("z", routing=routing):
        for host in graph:
            builder.host(f"h{host}", speed=1e9)
        for number, (src, dst) in enumerate(graph.edges):
            hops = [f"l{number}-{place}" for place in range(1 + number % 3)]
            for name in hops:
                builder.link(name, 1e9)
            graph.edges[src, dst]["weight"] = len(hops)
            builder.route(f"h{src}", f"h{dst}", hops, symmetrical=False)
    platform = builder.build()
    for src, lengths in nx.all_pairs_dijkstra_path_length(graph):
        for dst in set(graph) - {src}:
            if dst in lengths:
                assert len(platform.route(f"h{src}", f"h{dst}").links) == lengths[dst]
            else:
                with pytest.raises(InputError, match="has no route"):
                    platform.route(f"h{src}", f"h{dst}")


def names_between(compiled: CompiledPlatform, src: int, dst: int) -> list[str]:
    return [compiled.link_name(link) for link in compiled.route(src, dst)[0]]


def test_graphene_is_four_clusters(root: Path) -> None:
    platform = Platform.load(root / "platforms/graphene.xml")
    compiled = platform.compiled
    assert platform.compiled is compiled
    # Platforms that differ only in numbers share their tree of zones.
    assert platform.scaled(latency="x2").compiled.zones is compiled.zones
    assert names_between(compiled, 0, 1) == [
        "AS_sgraphene1_link_0_limiter",
        "AS_sgraphene1_link_0_UP",
        "AS_sgraphene1_link_1_DOWN",
        "AS_sgraphene1_link_1_limiter",
    ]
    assert names_between(compiled, 143, 143) == ["AS_sgraphene4_link_143_loopback"]
    assert compiled.default_loopback == -1
    assert compiled.host_speed.tolist() == [3.68e9] * 144
    with pytest.raises(ValueError, match="read-only"):
        compiled.link_latency[0] = 1.0


def test_a_host_without_a_loopback_takes_each_of_its_links_once(load: Load) -> None:
    cluster = '<cluster id="c" prefix="n" suffix="" radical="0-3" speed="1" bw="1" lat="0"{}/>'
    compiled = load(cluster.format(' sharing_policy="SHARED" bb_bw="1"')).compiled
    assert names_between(compiled, 2, 2) == ["c_link_2", "c_backbone"]


def test_a_gateway_host_does_not_take_its_own_links(load: Load) -> None:
    compiled = load(
        '<zone id="w" routing="Full">'
        '<cluster id="c" prefix="n" suffix="" radical="0-3" speed="1" bw="1" lat="0"/>'
        '<zone id="z" routing="Full"><host id="a" speed="1"/></zone><link id="l" bandwidth="1"/>'
        '<zoneRoute src="c" dst="z" gw_src="n2" gw_dst="a"><link_ctn id="l"/></zoneRoute></zone>'
    ).compiled
    assert names_between(compiled, 0, 4) == ["c_link_0_UP", "c_link_2_DOWN", "l"]
    assert names_between(compiled, 2, 4) == ["l"]


def test_the_default_loopback_is_the_models(load: Load) -> None:
    platform = load('<zone id="z" routing="Full"><host id="a" speed="1"/></zone>')
    compiled = platform.compiled
    link = compiled.default_loopback
    assert compiled.link_name(link) == "__loopback__"
    changed = compiled.with_loopback(5e9, 1e-6)
    assert changed.zones is compiled.zones
    assert changed.link_bandwidth[link] == 5e9
    links, latency = changed.route(0, 0)
    assert (links.tolist(), latency) == ([link], 1e-6)
    assert compiled.route(0, 0)[1] == 0.0


def test_profiles(load: Load, tmp_path: Path) -> None:
    (tmp_path / "speed").write_text("# a comment\n0 1.0\n11 0.5\nPERIODICITY 20\n")
    (tmp_path / "state").write_text("1 0\n2 1\nLOOPAFTER 8\n")
    platform = load(
        '<trace id="t" periodicity="0">\n3.5 1e6\n4 2e6\n</trace>'
        '<trace id="lat" periodicity="10">\n0 0.5\n</trace>'
        '<zone id="z" routing="Full"><host id="a" speed="1Gf" speed_file="speed"/>'
        '<host id="b" speed="1Gf" state_file="state"/>'
        '<link id="l" bandwidth="1" sharing_policy="SPLITDUPLEX"/>'
        '<link id="m" bandwidth="1"/></zone>'
        '<trace_connect trace="t" element="l" kind="BANDWIDTH"/>'
        '<trace_connect trace="lat" element="m" kind="LATENCY"/>'
    )
    speed = Profile((0.0, 11.0), (1.0, 0.5), 20.0)
    bandwidth = Profile((3.5, 4.0), (1e6, 2e6))
    assert platform.compiled.events == (
        ResourceProfile(False, 0, SPEED, speed),
        ResourceProfile(False, 1, STATE, Profile((1.0, 2.0), (0.0, 1.0), 10.0)),
        ResourceProfile(True, 0, BANDWIDTH, bandwidth),
        ResourceProfile(True, 1, BANDWIDTH, bandwidth),
        ResourceProfile(True, 2, LATENCY, Profile((0.0,), (0.5,), 10.0)),
    )
