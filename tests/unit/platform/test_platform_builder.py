"""Platforms described in Python, and written as XML, with or without changes."""

from __future__ import annotations

import itertools
import math
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tisim
from tests.support import BACKBONE, GRAPHENE, RING, ROOT, load_platform
from tisim import InputError, Platform, PlatformBuilder
from tisim.platform.links import DEFAULT_LOOPBACK


def same(platform: Platform, two: Platform) -> bool:
    """Return True if two platforms are the same to the core and have the same names."""
    return (
        platform.compiled.columns == two.compiled.columns
        and platform.profiles == two.profiles
        and [host.name for host in platform.hosts] == [host.name for host in two.hosts]
        and [dict(host.properties) for host in platform.hosts]
        == [dict(host.properties) for host in two.hosts]
        and [link.name for link in platform.links] == [link.name for link in two.links]
        and [(zone.name, zone.kind) for zone in platform.root.walk()]
        == [(zone.name, zone.kind) for zone in two.root.walk()]
        and dict(platform.config) == dict(two.config)
    )


def read_back(platform: Platform, directory: Path) -> Platform:
    path = directory / "written.xml"
    platform.write(path)
    return Platform.load(path)


def two_hosts(p: PlatformBuilder) -> None:
    p.config({"network/crosstraffic": False, "smpi/os": "0:1us:0"})
    with p.zone("z", routing="Floyd", properties={"kind": "small"}):
        p.host("a", speed="1Gf", cores=4, properties={"smpi/or": "0:2:0"})
        p.host("b", speed=2e9)
        p.router("r")
        p.link("l", bandwidth="1GBps", latency="10us", sharing="SPLITDUPLEX")
        p.link("m", bandwidth=1e8, latency=1e-6, sharing="FATPIPE", properties={"colour": "<&>"})
        p.route("a", "r", [("l", "UP")])
        p.route("r", "b", ["m"], symmetrical=False)
        p.route("b", "r", ["m"], symmetrical=False)
    p.profile("host", "a", "speed", {0.0: 1.0, 5.0: 0.5}, period=10.0)
    p.profile("link", "l", "bandwidth", {1.0: 5e8})
    p.profile("host", "b", "state", {3.0: 0})


TWO_HOSTS = """
<config><prop id="network/crosstraffic" value="no"/><prop id="smpi/os" value="0:1us:0"/></config>
<zone id="z" routing="Floyd"><prop id="kind" value="small"/>
<host id="a" speed="1Gf" core="4"><prop id="smpi/or" value="0:2:0"/></host>
<host id="b" speed="2Gf"/><router id="r"/>
<link id="l" bandwidth="1GBps" latency="10us" sharing_policy="SPLITDUPLEX"/>
<link id="m" bandwidth="100MBps" latency="1e-6" sharing_policy="FATPIPE"/>
<route src="a" dst="r"><link_ctn id="l" direction="UP"/></route>
<route src="r" dst="b" symmetrical="NO"><link_ctn id="m"/></route>
<route src="b" dst="r" symmetrical="NO"><link_ctn id="m"/></route>
</zone>
<trace id="t" periodicity="10">0 1
5 0.5</trace><trace id="u" periodicity="0">1 5e8</trace><trace id="v" periodicity="0">3 0</trace>
<trace_connect kind="SPEED" trace="t" element="a"/>
<trace_connect kind="BANDWIDTH" trace="u" element="l"/>
<trace_connect kind="HOST_AVAIL" trace="v" element="b"/>"""


def clusters(p: PlatformBuilder) -> None:
    network = {"speed": "10Gf", "bandwidth": "1Gbps", "latency": "10us"}
    with p.zone("world", routing="Dijkstra"):
        p.cluster("flat", 4, **network, backbone=("10Gbps", "1us"), loopback=("1GBps", 0.0))
        p.cluster(
            "t",
            radical="0-3,8-11",
            prefix="t",
            suffix=".x",
            topology="torus",
            parameters=(4, 2),
            **network,
        )
        p.cluster(
            "f",
            16,
            topology="fat_tree",
            parameters=((4, 4), (1, 2), (1, 2)),
            limiter="2Gbps",
            sharing="SHARED",
            **network,
        )
        p.cluster("d", 60, topology="dragonfly", parameters=((2, 4), (3, 3), (5, 1), 2), **network)
        p.link("l", "100Gbps", "1ms")
        p.zone_route("flat", "t", ["l"], gateways=("flat-router", "t0.x"))
        p.zone_route("t", "f", ["l", "l"], gateways=("t0.x", "f-0"))
        p.zone_route("f", "d", ["l"], gateways=("f-1", "d-0"))
        p.bypass_zone_route("flat", "d", ["l"], gateways=("flat-router", "d-0"))


CLUSTERS = """<zone id="world" routing="Dijkstra">
<cluster id="flat" prefix="flat-" suffix="" radical="0-3" speed="10Gf" bw="1Gbps" lat="10us"
  bb_bw="10Gbps" bb_lat="1us" loopback_bw="1GBps" loopback_lat="0" router_id="flat-router"/>
<cluster id="t" prefix="t" suffix=".x" radical="0-3,8-11" speed="10Gf" bw="1Gbps" lat="10us"
  topology="TORUS" topo_parameters="4,2"/>
<cluster id="f" prefix="f-" suffix="" radical="0-15" speed="10Gf" bw="1Gbps" lat="10us"
  topology="FAT_TREE" topo_parameters="2;4,4;1,2;1,2" limiter_link="2Gbps"
  sharing_policy="SHARED"/>
<cluster id="d" prefix="d-" suffix="" radical="0-59" speed="10Gf" bw="1Gbps" lat="10us"
  topology="DRAGONFLY" topo_parameters="2,4;3,3;5,1;2"/>
<link id="l" bandwidth="100Gbps" latency="1ms"/>
<zoneRoute src="flat" dst="t" gw_src="flat-router" gw_dst="t0.x"><link_ctn id="l"/></zoneRoute>
<zoneRoute src="t" dst="f" gw_src="t0.x" gw_dst="f-0"><link_ctn id="l"/><link_ctn id="l"/>
</zoneRoute><zoneRoute src="f" dst="d" gw_src="f-1" gw_dst="d-0"><link_ctn id="l"/></zoneRoute>
<bypassZoneRoute src="flat" dst="d" gw_src="flat-router" gw_dst="d-0"><link_ctn id="l"/>
</bypassZoneRoute></zone>"""


def stars(p: PlatformBuilder) -> None:
    with p.zone("w", routing="Full"):
        with p.zone("star", routing="Cluster"):
            p.host("a", 1e9)
            p.link("up", 1e8)
            p.link("down", 1e8, "1us")
            p.host_link("a", up="up", down="down")
            p.cabinet("c", "1-3", speed=1e9, bandwidth=1e8, latency=1e-5, prefix="n")
            p.backbone("bb", "1GBps", "5us")
        with p.zone("peers", routing="Vivaldi"):
            place = (1.5, -2.0, 0.25)
            p.peer("p", "1Gf", bandwidth_in=1e6, bandwidth_out="2MBps", coordinates=place)
            p.peer("q", "1Gf", bandwidth_in=1e6, bandwidth_out="2MBps", coordinates=(0, 0, 0))
        with p.zone("full", routing="Full"):
            p.host("x", 1)
            p.host("y", 1)
            p.bypass_route("x", "y", ["up"])


STARS = """<zone id="w" routing="Full"><zone id="star" routing="Cluster"><host id="a" speed="1Gf"/>
<link id="up" bandwidth="1e8"/><link id="down" bandwidth="1e8" latency="1us"/>
<host_link id="a" up="up" down="down"/>
<cabinet id="c" prefix="n" suffix="" radical="1-3" speed="1Gf" bw="1e8" lat="1e-5"/>
<backbone id="bb" bandwidth="1GBps" latency="5us"/></zone>
<zone id="peers" routing="Vivaldi">
<peer id="p" speed="1Gf" bw_in="1e6" bw_out="2MBps" coordinates="1.5 -2 0.25"/>
<peer id="q" speed="1Gf" bw_in="1e6" bw_out="2MBps" coordinates="0 0 0"/></zone>
<zone id="full" routing="Full"><host id="x" speed="1"/><host id="y" speed="1"/>
<bypassRoute src="x" dst="y"><link_ctn id="up"/></bypassRoute></zone></zone>"""


@pytest.mark.parametrize(
    ("describe", "text"), [(two_hosts, TWO_HOSTS), (clusters, CLUSTERS), (stars, STARS)]
)
def test_python_and_xml_say_the_same(
    describe: Callable[[PlatformBuilder], None], text: str, tmp_path: Path
) -> None:
    builder = PlatformBuilder("made in Python")
    describe(builder)
    platform = builder.build()
    assert same(platform, load_platform(tmp_path, text))
    assert same(platform, read_back(platform, tmp_path))
    assert (platform.file, platform.warnings) == ("made in Python", ())


@pytest.mark.parametrize(
    "path", sorted((ROOT / "platforms").glob("*.xml")), ids=lambda path: path.name
)
def test_files_are_read_as_they_were_written(path: Path, tmp_path: Path) -> None:
    if ".deploy" in path.name:
        pytest.skip("a deployment")
    platform = Platform.load(path)
    assert same(platform, read_back(platform, tmp_path))
    assert platform.to_xml() == read_back(platform, tmp_path).to_xml()
    assert pickle.loads(pickle.dumps(platform)).to_xml() == platform.to_xml()


def test_a_replay_takes_a_platform_made_in_python(tmp_path: Path) -> None:
    (tmp_path / "r0").write_text("0 send 1 0 984 6\n")
    (tmp_path / "r1").write_text("1 recv 0 0 984 6\n")
    p = PlatformBuilder()
    p.config({"network/model": "raw"})
    with p.zone("z") as zone:
        zone.host("a", speed=1e9)
        zone.host("b", speed=1e9)
        zone.link("l", bandwidth=1000.0, latency=0.5)
        zone.route("a", "b", ["l"])
    result = tisim.replay(tmp_path, platform=p.build())
    assert result.simulated_time == pytest.approx(1.5)


def test_numbers_of_python_reach_the_platform_without_becoming_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(text: str, *_: object) -> float:
        raise AssertionError(f"{text} was text")

    monkeypatch.setattr("tisim.support.quantities._parse", refuse)
    bandwidth, latency = 0.1 + 0.2, 1e-6 / 3
    p = PlatformBuilder()
    with p.zone("z"):
        p.host("a", speed=np.float64(1e9) / 3, disks={"d": (bandwidth, 7.0, "")})
        p.link("l", bandwidth=bandwidth, latency=latency)
        p.profile("link", "l", "bandwidth", {0.1: bandwidth})
    platform = p.build()
    assert platform.host("a").speed == 1e9 / 3
    link = platform.link("l")
    assert (link.bandwidth, link.latency) == (bandwidth, latency)
    assert platform.disks[0].read_bandwidth == bandwidth
    assert platform.profiles[0].profile.values == (bandwidth,)


def test_included_files_and_profiles_are_written_out(tmp_path: Path) -> None:
    (tmp_path / "hosts.xml").write_text('<host id="a" speed="1Gf" speed_file="speed"/>')
    (tmp_path / "speed").write_text("0 1.0\n1 0.5\nLOOPAFTER 3\n")
    platform = load_platform(
        tmp_path,
        '<zone id="z" routing="Full"><include file="hosts.xml"/>'
        '<link id="l" bandwidth="1" state="OFF" sharing_policy="SPLITDUPLEX"/></zone>',
    )
    (tmp_path / "elsewhere").mkdir()
    there = read_back(platform, tmp_path / "elsewhere")
    assert same(platform, there)
    assert there.profiles == platform.profiles != ()


def test_changed_numbers_are_written(tmp_path: Path) -> None:
    builder = PlatformBuilder()
    two_hosts(builder)
    platform = builder.build()
    for changed in (
        platform.scaled(hosts="a", speed="x3", cores=2),
        platform.scaled(links="m", bandwidth="x0.1", latency="3us", sharing="SHARED"),
        platform.scaled(links="l", bandwidth="7Gbps"),
    ):
        assert same(changed, read_back(changed, tmp_path))
    cluster = Platform.load(BACKBONE)
    faster = cluster.scaled(speed="x2", cores=3)
    assert same(faster, read_back(faster, tmp_path))


def bad(act: Callable[[PlatformBuilder], object]) -> str:
    builder = PlatformBuilder()
    with pytest.raises(InputError) as caught, builder.zone("z"):
        builder.host("a", speed=1e9)
        builder.link("l", bandwidth=1e9)
        act(builder)
    assert (caught.value.file, caught.value.line) == (None, None)
    return caught.value.message


NET = {"speed": 1, "bandwidth": 1, "latency": 0}


@pytest.mark.parametrize(
    ("act", "says"),
    [
        (lambda p: p.host("b", speed=-1), "speed of host b must be finite and not negative"),
        (lambda p: p.host("b", speed="1GB"), "unknown unit 'GB' in the speed of host b"),
        (lambda p: p.host("b", speed=1, cores=0), "must be a whole number above zero"),
        (lambda p: p.host("a", speed=1), "'a' is declared twice"),
        (lambda p: p.host("b", 1, coordinates=(1, 2)), "coordinates must be three numbers"),
        (lambda p: p.host("b", 1, coordinates=("1", "2", 3)), "coordinates must be three numbers"),
        (
            lambda p: p.host("b", 1, coordinates=(1, 2, math.nan)),
            "coordinates must be three numbers",
        ),
        (lambda p: p.link("m", bandwidth=0), "bandwidth of link m must be above zero"),
        (lambda p: p.link("m", 1, sharing="FAT"), "sharing_policy='FAT' of <link> must be one of"),
        (lambda p: p.route("a", "b", ["l"]), "dst='b' is not a host, router or zone"),
        (lambda p: p.route("a", "a", []), "has no <link_ctn>"),
        (lambda p: p.route("a", "a", ["m"]), "no link 'm'"),
        (lambda p: p.route("a", "a", [("l", "SIDE")]), "direction='SIDE' of <link_ctn> must be"),
        (
            lambda p: p.cluster("c", 4, topology="ring", **NET),
            "topology must be one of flat",
        ),
        (lambda p: p.cluster("c", **NET), "give either nodes or radical"),
        (
            lambda p: p.cluster("c", 0, **NET),
            "must be a whole number of at least 1, not 0",
        ),
        (lambda p: p.cluster("c", 2.5, **NET), "number of nodes must be a whole number of"),
        (
            lambda p: p.cluster("c", 2, backbone=3, **NET),
            "a bandwidth and a latency, not 3",
        ),
        (lambda p: p.host("b", speed=None), "a quantity must be a number in SI units or text"),
        (lambda p: p.host(5, speed=1), "id of <host> must be text, not 5"),
        (
            lambda p: p.host("\x01", speed=1),
            "id of <host> contains a character that cannot be written to a file:",
        ),
        (lambda p: p.route("a", "a", "l"), "links must be a list, not 'l'"),
        (lambda p: p.route("a", "a", [("l",)]), "a name, or a name and UP or DOWN, not ('l',)"),
        (lambda p: p.backbone("b", 1, 1), "<backbone> must be in a zone with routing=Cluster"),
        (
            lambda p: p.profile("host", "a", "latency", {0: 1}),
            "a profile must be of speed of a",
        ),
        (lambda p: p.profile("host", "a", "speed", {1: 1, 0: 1}), "not decrease, but 0 does not"),
        (lambda p: p.config({"network/model": "raw"}), "must stand before the first zone"),
        (lambda p: p.build(), "a zone is still open"),
    ],
)
def test_mistakes(act: Callable[[PlatformBuilder], object], says: str) -> None:
    assert says in bad(act)


def test_mistakes_of_the_whole() -> None:
    with pytest.raises(InputError, match="neither a zone nor a cluster"):
        PlatformBuilder().build()
    p = PlatformBuilder()
    with pytest.raises(InputError, match="unknown routing 'Fall'"), p.zone("z", routing="Fall"):
        pass
    with pytest.raises(InputError, match="an element was refused; create a new builder: unknown"):
        p.build()
    p = PlatformBuilder()
    with p.zone("z"):
        p.host("a", speed=1)
    p.profile("host", "b", "speed", {0: 1})
    with pytest.raises(InputError, match="no host 'b'"):
        p.build()
    q = PlatformBuilder()
    q.cluster("c", 2, **NET)
    q.build()
    with pytest.raises(InputError, match="create a new builder"):
        q.build()


NETWORK = {"speed": "10Gf", "bandwidth": "1Gbps", "latency": "10us"}


def built(describe: Callable[[PlatformBuilder], None]) -> Platform:
    builder = PlatformBuilder()
    describe(builder)
    return builder.build()


def content(platform: Platform) -> tuple[object, ...]:
    hosts = [(h.name, h.speed, h.cores, dict(h.properties)) for h in platform.hosts]
    links = {
        link.name: (link.bandwidth, link.latency, link.fatpipe)
        for link in platform.links
        if link.name != DEFAULT_LOOPBACK
    }
    changes = [
        (platform.links if p.is_link else platform.hosts)[p.index].name for p in platform.profiles
    ]
    return hosts, links, changes, [p.profile for p in platform.profiles]


def route_of(platform: Platform, src: str, dst: str) -> object:
    try:
        route = platform.route(src, dst)
    except InputError as error:
        return error.message.partition(" ")[0]
    return [link.name for link in route.links], route.latency


def check_round_trip(platform: Platform, directory: Path) -> Platform:
    """Check that a written platform has identical hosts, links, profiles and routes."""
    read = read_back(platform, directory)
    assert content(read) == content(platform)
    names = [host.name for host in platform.hosts]
    step = max(1, len(names) // 12)
    for src, dst in itertools.product(names[::step], names[:: step + 1]):
        assert route_of(read, src, dst) == route_of(platform, src, dst), (src, dst)
    return read


CHANGES = {
    clusters: [
        {"links": "flat_link_2*", "bandwidth": "x2"},
        {"links": "flat_link_2_UP", "latency": "3us"},
        {"links": "flat_backbone", "bandwidth": "x0.3", "latency": "x3"},
        {"links": "flat_backbone", "sharing": "FATPIPE"},
        {"links": ["flat_backbone", "flat_link_0*"], "sharing": "FATPIPE"},
        {"links": "flat_link_?_loopback", "bandwidth": "x0.1"},
        {"links": "flat_link_1_loopback", "bandwidth": "x0.1"},
        {"links": "link_from_3_*", "bandwidth": "x2"},
        {"links": "link_from_*", "bandwidth": "x0.1"},
        {"links": "f_link_*_limiter", "bandwidth": "x0.1"},
        {"links": "f_link_7_limiter", "bandwidth": "x0.1"},
        {"links": "f_link_*_limiter", "latency": "1us"},
        {"links": "green_link_*", "bandwidth": "3Gbps"},
        {"bandwidth": "x2"},
        {"bandwidth": "x0.1", "latency": "x0.1"},
        {"hosts": "f-*", "speed": "x0.1", "cores": 3},
        {"hosts": "f-3", "speed": "x2"},
        {"hosts": "d-7", "cores": 3},
        {"hosts": "flat-1", "speed": "1Gf"},
        {"links": "l", "latency": "x2", "hosts": "flat-*", "cores": 2},
    ],
    stars: [
        {"links": "link_n*", "bandwidth": "x0.1"},
        {"links": "link_n2_UP", "bandwidth": "x0.1"},
        {"links": "link_n?_UP", "sharing": "FATPIPE"},
        {"hosts": "n*", "speed": "x0.1"},
        {"hosts": "n1", "speed": "x0.1"},
        {"hosts": "n*", "cores": 4},
        {"links": "bb", "latency": "x2"},
        {"links": "link_p_UP", "bandwidth": "x3", "hosts": "q", "speed": "3Gf"},
    ],
    two_hosts: [
        {"links": "l_UP", "bandwidth": "x2"},
        {"links": "l_DOWN", "latency": "1ms"},
        {"links": "l", "sharing": "FATPIPE"},
    ],
}


@pytest.mark.parametrize(
    ("describe", "change"),
    [(each, change) for each in CHANGES for change in CHANGES[each]],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_changes_are_written(
    describe: Callable[[PlatformBuilder], None], change: dict[str, Any], tmp_path: Path
) -> None:
    check_round_trip(built(describe).scaled(**change), tmp_path)


def test_clusters_that_stay_alike_stay_clusters(tmp_path: Path) -> None:
    platform = built(clusters).scaled(bandwidth="x2", latency="x0.1").scaled(hosts="f-*", cores=3)
    assert platform.to_xml().count("<cluster") == 4
    one = platform.scaled(links="flat_link_3*", bandwidth="x2")
    assert one.to_xml().count("<cluster") == 3


def test_trees_after_a_changed_tree_keep_their_links(tmp_path: Path) -> None:
    def trees(p: PlatformBuilder) -> None:
        with p.zone("world", routing="Full"):
            for name in ("one", "two"):
                p.cluster(
                    name, 4, topology="fat_tree", parameters=((2, 2), (1, 2), (1, 2)), **NETWORK
                )

    check_round_trip(built(trees).scaled(hosts="one-0", speed="x2"), tmp_path)
    check_round_trip(built(trees).scaled(hosts="two-0", speed="x2"), tmp_path)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"hosts": "p", "cores": 2}, "the peer 'p' has one core and SHARED links"),
        ({"links": "link_q_DOWN", "latency": "1us"}, "the peer 'q' .* replace the peer by a host"),
        ({"links": "bb", "sharing": "FATPIPE"}, "the backbone 'bb' of a zone is SHARED there"),
    ],
)
def test_what_the_format_cannot_say(change: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        built(stars).scaled(**change).to_xml()


@pytest.mark.parametrize(
    ("nodes", "shape", "says"),
    [
        (4, {"topology": "torus", "parameters": (2, 2)}, "messages within a host use no link"),
        (
            400,
            {"topology": "torus", "parameters": (20, 20), "loopback": (1e9, 0)},
            "it would be 160000 routes; change all of them in the same way, or keep the platform",
        ),
        (
            1,
            {"topology": "torus", "parameters": (1, 1), "loopback": (1e9, 0)},
            "it has several links with the same name",
        ),
    ],
)
def test_clusters_that_no_file_can_say(nodes: int, shape: dict[str, Any], says: str) -> None:
    platform = built(lambda p: p.cluster("c", nodes, **shape, **NETWORK))
    with pytest.raises(InputError, match=says):
        platform.scaled(links="*from_0_*DOWN", bandwidth="x2").to_xml()


def test_halves_of_links_between_zones(tmp_path: Path) -> None:
    def zones(p: PlatformBuilder) -> None:
        with p.zone("world", routing="Full"):
            p.link("l", 1e9, 1e-6, sharing="SPLITDUPLEX")
            p.link("k", 1e9, 2e-6, sharing="SPLITDUPLEX")
            for name in ("a", "b", "c"):
                with p.zone(name):
                    p.host(f"{name}-host", speed=1e9)
            p.zone_route("a", "b", [("l", "UP"), ("k", "DOWN")], gateways=("a-host", "b-host"))
            p.zone_route("a", "c", [("k", "UP")], gateways=("a-host", "c-host"))
            p.bypass_zone_route("c", "b", [("l", "DOWN")], gateways=("c-host", "b-host"))

    read = check_round_trip(built(zones).scaled(links="l_UP", latency="x3"), tmp_path)
    back = [link.name for link in read.route("b-host", "a-host").links]
    assert back == ["k_UP", "l_DOWN"]


@pytest.mark.parametrize(
    "change",
    [
        {"hosts": "graphene-3.*", "speed": "x0.5"},
        {"links": "*_link_1*", "bandwidth": "x0.1", "latency": "x2"},
    ],
    ids=str,
)
def test_a_replay_takes_as_long_on_what_was_written(change: dict[str, Any], tmp_path: Path) -> None:
    platform = Platform.load(GRAPHENE).scaled(**change)
    read = check_round_trip(platform, tmp_path)
    times = [tisim.replay(RING, platform=p).finish for p in (platform, read)]
    assert times[0].tolist() == times[1].tolist()
