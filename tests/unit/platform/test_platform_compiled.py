"""A platform as arrays and routes: loopbacks, gateways, events."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.platform.conftest import Load
from tisim.platform import CompiledPlatform, Platform
from tisim.platform.profiles import (
    BANDWIDTH,
    LATENCY,
    SPEED,
    STATE,
    Profile,
    ResourceProfile,
)


def names(compiled: CompiledPlatform, src: int, dst: int) -> list[str]:
    return [compiled.link_name(link) for link in compiled.route(src, dst)[0]]


def test_graphene_is_four_clusters(root: Path) -> None:
    platform = Platform.load(root / "platforms/graphene.xml")
    compiled = platform.compiled
    assert platform.compiled is compiled
    # Platforms that differ in numbers only share their tree of zones.
    assert platform.scaled(latency="x2").compiled.zones is compiled.zones
    assert names(compiled, 0, 1) == [
        "AS_sgraphene1_link_0_limiter",
        "AS_sgraphene1_link_0_UP",
        "AS_sgraphene1_link_1_DOWN",
        "AS_sgraphene1_link_1_limiter",
    ]
    assert names(compiled, 143, 143) == ["AS_sgraphene4_link_143_loopback"]
    assert compiled.default_loopback == -1
    assert compiled.host_speed.tolist() == [3.68e9] * 144
    with pytest.raises(ValueError, match="read-only"):
        compiled.link_latency[0] = 1.0


def test_a_host_without_a_loopback_takes_each_of_its_links_once(load: Load) -> None:
    cluster = '<cluster id="c" prefix="n" suffix="" radical="0-3" speed="1" bw="1" lat="0"{}/>'
    compiled = load(cluster.format(' sharing_policy="SHARED" bb_bw="1"')).compiled
    assert names(compiled, 2, 2) == ["c_link_2", "c_backbone"]


def test_a_gateway_host_does_not_take_its_own_links(load: Load) -> None:
    compiled = load(
        '<zone id="w" routing="Full">'
        '<cluster id="c" prefix="n" suffix="" radical="0-3" speed="1" bw="1" lat="0"/>'
        '<zone id="z" routing="Full"><host id="a" speed="1"/></zone><link id="l" bandwidth="1"/>'
        '<zoneRoute src="c" dst="z" gw_src="n2" gw_dst="a"><link_ctn id="l"/></zoneRoute></zone>'
    ).compiled
    assert names(compiled, 0, 4) == ["c_link_0_UP", "c_link_2_DOWN", "l"]
    assert names(compiled, 2, 4) == ["l"]


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
