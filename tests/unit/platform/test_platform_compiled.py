"""The arrays of a platform: groups and segments, loopbacks, events."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tisim.platform import CompiledPlatform, Platform

Load = Callable[[str], Platform]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    def load_text(text: str) -> Platform:
        path = tmp_path / "platform.xml"
        path.write_text(f'<platform version="4.1">{text}</platform>')
        return Platform.load(path)

    return load_text


def links_of(compiled: CompiledPlatform, segment: int) -> list[str]:
    start, stop = compiled.segment_offset[segment : segment + 2]
    return [compiled.link_name(link) for link in compiled.segment_links[start:stop]]


def test_graphene_is_four_groups(root: Path) -> None:
    platform = Platform.load(root / "platforms/graphene.xml")
    compiled = platform.compiled
    assert platform.compiled is compiled
    assert np.bincount(compiled.host_group).tolist() == [39, 35, 30, 40]
    pairs = set(zip(compiled.pair_src.tolist(), compiled.pair_dst.tolist(), strict=True))
    assert pairs == {(a, b) for a in range(4) for b in range(4)}
    inside = compiled.pair_segment[compiled.pair_src == compiled.pair_dst]
    assert all(links_of(compiled, segment) == [] for segment in inside)
    assert links_of(compiled, compiled.host_up[0]) == [
        "AS_sgraphene1_link_0_limiter",
        "AS_sgraphene1_link_0_UP",
    ]
    assert links_of(compiled, compiled.host_loopback[143]) == ["AS_sgraphene4_link_143_loopback"]
    assert compiled.default_loopback == -1
    assert compiled.host_speed.tolist() == [3.68e9] * 144
    with pytest.raises(ValueError, match="read-only"):
        compiled.segment_latency[0] = 1.0


def test_loopbacks_are_written_only_where_they_differ(load: Load) -> None:
    cluster = '<cluster id="c" prefix="n" suffix="" radical="0-3" speed="1" bw="1" lat="0"{}/>'
    compiled = load(cluster.format("")).compiled
    assert compiled.host_loopback.tolist() == [-1] * 4
    compiled = load(cluster.format(' sharing_policy="SHARED" bb_bw="1"')).compiled
    assert links_of(compiled, compiled.host_loopback[2]) == ["c_link_2", "c_backbone"]


def test_a_gateway_host_has_no_group(load: Load) -> None:
    compiled = load(
        '<zone id="w" routing="Full">'
        '<cluster id="c" prefix="n" suffix="" radical="0-3" speed="1" bw="1" lat="0"/>'
        '<zone id="z" routing="Full"><host id="a" speed="1"/></zone><link id="l" bandwidth="1"/>'
        '<zoneRoute src="c" dst="z" gw_src="n2" gw_dst="a"><link_ctn id="l"/></zoneRoute></zone>'
    ).compiled
    assert compiled.host_group.tolist() == [0, 0, -1, 0, -1]
    links, latency = compiled.route(0, 4)
    assert [compiled.link_name(link) for link in links] == ["c_link_0_UP", "c_link_2_DOWN", "l"]
    assert (links.typecode, latency) == ("i", 0.0)


def test_many_groups_are_answered_on_demand(load: Load) -> None:
    clusters = "".join(
        f'<cluster id="c{i}" prefix="h{i}-" suffix="" radical="0-1" speed="1" bw="1" lat="1us"/>'
        for i in range(40)
    )
    routes = "".join(
        f'<zoneRoute src="c0" dst="c{i}" gw_src="h0-c0_router" gw_dst="h{i}-c{i}_router">'
        '<link_ctn id="l"/></zoneRoute>'
        for i in range(1, 40)
    )
    platform = load(
        f'<zone id="w" routing="Floyd">{clusters}<link id="l" bandwidth="1" latency="5us"/>'
        f"{routes}</zone>"
    )
    compiled = platform.compiled
    assert len(compiled.pair_segment) == 40
    middle = compiled.group_route(3, 4)
    assert middle is not None
    assert [compiled.link_name(link) for link in middle[0]] == ["l", "l"]
    assert middle[1] == pytest.approx(10e-6)


def test_the_default_loopback_is_the_models(load: Load) -> None:
    platform = load('<zone id="z" routing="Full"><host id="a" speed="1"/></zone>')
    compiled = platform.compiled
    link = compiled.default_loopback
    assert compiled.link_name(link) == "__loopback__"
    changed = compiled.with_loopback(5e9, 1e-6)
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
    events = platform.compiled.events
    assert events.is_link.tolist() == [0, 0, 1, 1, 1]
    assert events.index.tolist() == [0, 1, 0, 1, 2]
    assert events.what.tolist() == [0, 3, 1, 1, 2]
    assert events.period.tolist() == [20.0, 10.0, -1.0, -1.0, 10.0]
    assert events.offset.tolist() == [0, 2, 4, 6, 8, 9]
    assert events.time.tolist() == [0.0, 11.0, 1.0, 2.0, 3.5, 4.0, 3.5, 4.0, 0.0]
    assert events.value.tolist() == [1.0, 0.5, 0.0, 1.0, 1e6, 2e6, 1e6, 2e6, 0.5]
