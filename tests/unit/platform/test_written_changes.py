"""Platforms whose clusters, cabinets, peers and links were changed in part, written as XML."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tisim
from tests.unit.platform.test_platform_builder import clusters, read_back, stars, two_hosts
from tisim import InputError, Platform, PlatformBuilder
from tisim.platform.links import DEFAULT_LOOPBACK

ROOT = Path(__file__).resolve().parents[3]
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
    """What is written has the same hosts, links, profiles and routes, bit for bit."""
    read = read_back(platform, directory)
    assert content(read) == content(platform)
    names = [host.name for host in platform.hosts]
    step = max(1, len(names) // 12)
    for src, dst in itertools.product(names[::step], names[:: step + 1]):
        assert route_of(read, src, dst) == route_of(platform, src, dst), (src, dst)
    return read


@pytest.mark.parametrize(
    "change",
    [
        {"links": "flat_link_2*", "bandwidth": 2},
        {"links": "flat_link_2_UP", "latency": "3us"},
        {"links": "flat_backbone", "bandwidth": 0.3, "latency": 3},
        {"links": "flat_backbone", "sharing": "FATPIPE"},
        {"links": ["flat_backbone", "flat_link_0*"], "sharing": "FATPIPE"},
        {"links": "flat_link_?_loopback", "bandwidth": 0.1},
        {"links": "flat_link_1_loopback", "bandwidth": 0.1},
        {"links": "link_from_3_*", "bandwidth": 2},
        {"links": "link_from_*", "bandwidth": 0.1},
        {"links": "f_link_*_limiter", "bandwidth": 0.1},
        {"links": "f_link_7_limiter", "bandwidth": 0.1},
        {"links": "f_link_*_limiter", "latency": "1us"},
        {"links": "green_link_*", "bandwidth": "3Gbps"},
        {"bandwidth": 2},
        {"bandwidth": 0.1, "latency": 0.1},
        {"hosts": "f-*", "speed": 0.1, "cores": 3},
        {"hosts": "f-3", "speed": 2},
        {"hosts": "d-7", "cores": 3},
        {"hosts": "flat-1", "speed": "1Gf"},
        {"links": "l", "latency": 2, "hosts": "flat-*", "cores": 2},
    ],
    ids=str,
)
def test_clusters(change: dict[str, Any], tmp_path: Path) -> None:
    check_round_trip(built(clusters).scaled(**change), tmp_path)


def test_clusters_that_stay_alike_stay_clusters(tmp_path: Path) -> None:
    platform = built(clusters).scaled(bandwidth=2, latency=0.1).scaled(hosts="f-*", cores=3)
    assert platform.to_xml().count("<cluster") == 4
    one = platform.scaled(links="flat_link_3*", bandwidth=2)
    assert one.to_xml().count("<cluster") == 3


def test_trees_after_a_changed_tree_keep_their_links(tmp_path: Path) -> None:
    def trees(p: PlatformBuilder) -> None:
        with p.zone("world", routing="Full"):
            for name in ("one", "two"):
                p.cluster(
                    name, 4, topology="fat_tree", parameters=((2, 2), (1, 2), (1, 2)), **NETWORK
                )

    check_round_trip(built(trees).scaled(hosts="one-0", speed=2), tmp_path)
    check_round_trip(built(trees).scaled(hosts="two-0", speed=2), tmp_path)


@pytest.mark.parametrize(
    "change",
    [
        {"links": "link_n*", "bandwidth": 0.1},
        {"links": "link_n2_UP", "bandwidth": 0.1},
        {"links": "link_n?_UP", "sharing": "FATPIPE"},
        {"hosts": "n*", "speed": 0.1},
        {"hosts": "n1", "speed": 0.1},
        {"hosts": "n*", "cores": 4},
        {"links": "bb", "latency": 2},
        {"links": "link_p_UP", "bandwidth": 3, "hosts": "q", "speed": "3Gf"},
    ],
    ids=str,
)
def test_cabinets_and_peers(change: dict[str, Any], tmp_path: Path) -> None:
    check_round_trip(built(stars).scaled(**change), tmp_path)


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
        (4, {"topology": "torus", "parameters": (2, 2)}, "messages inside a host take no link"),
        (
            400,
            {"topology": "torus", "parameters": (20, 20), "loopback": (1e9, 0)},
            "it would be 160000 routes; change all of them alike, or keep the platform in Python",
        ),
        (
            1,
            {"topology": "torus", "parameters": (1, 1), "loopback": (1e9, 0)},
            "it has several links of one name",
        ),
    ],
)
def test_clusters_that_no_file_can_say(nodes: int, shape: dict[str, Any], says: str) -> None:
    platform = built(lambda p: p.cluster("c", nodes, **shape, **NETWORK))
    with pytest.raises(InputError, match=says):
        platform.scaled(links="*from_0_*DOWN", bandwidth=2).to_xml()


@pytest.mark.parametrize(
    "change",
    [
        {"links": "l_UP", "bandwidth": 2},
        {"links": "l_DOWN", "latency": "1ms"},
        {"links": "l", "sharing": "FATPIPE"},
    ],
    ids=str,
)
def test_halves_of_links(change: dict[str, Any], tmp_path: Path) -> None:
    check_round_trip(built(two_hosts).scaled(**change), tmp_path)


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

    read = check_round_trip(built(zones).scaled(links="l_UP", latency=3), tmp_path)
    back = [link.name for link in read.route("b-host", "a-host").links]
    assert back == ["k_UP", "l_DOWN"]


@pytest.mark.parametrize(
    "change",
    [
        {"hosts": "graphene-3.*", "speed": 0.5},
        {"links": "*_link_1*", "bandwidth": 0.1, "latency": 2},
    ],
    ids=str,
)
def test_a_replay_takes_as_long_on_what_was_written(change: dict[str, Any], tmp_path: Path) -> None:
    platform = Platform.load(ROOT / "platforms" / "graphene.xml").scaled(**change)
    read = check_round_trip(platform, tmp_path)
    times = [tisim.replay(ROOT / "traces" / "ring.4", platform=p).finish for p in (platform, read)]
    assert times[0].tolist() == times[1].tolist()
