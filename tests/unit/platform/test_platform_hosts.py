"""Hosts and links by index and by name, listed or generated."""

from __future__ import annotations

from pathlib import Path

import pytest

from tisim.errors import InputError
from tisim.platform import Platform
from tisim.platform.hosts import Radical

MANY = (
    '<platform version="4.1"><zone id="w" routing="Full">'
    '<cluster id="c" prefix="node1-" suffix=".a.org" radical="0-99999" speed="1Gf" bw="1GBps"'
    ' lat="1us" bb_bw="1GBps" loopback_bw="1GBps" limiter_link="1GBps" core="4"/>'
    '<cluster id="d" prefix="x" suffix="" radical="7,3,10-12" speed="2Gf" bw="1GBps" lat="1us"'
    ' sharing_policy="SHARED"><prop id="rack" value="9"/></cluster>'
    '<zone id="z" routing="Full"><host id="x1" speed="3Gf"/></zone></zone></platform>'
)


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Platform:
    path = tmp_path_factory.mktemp("hosts") / "many.xml"
    path.write_text(MANY)
    return Platform.load(path)


def test_radicals() -> None:
    radical = Radical("0-2, 7 ,5-6")
    assert list(radical) == [0, 1, 2, 7, 5, 6]
    assert [radical[i] for i in range(len(radical))] == list(radical)
    assert [radical.find(n) for n in (7, 5, 3, -1)] == [3, 4, None, None]
    assert list(radical.head(4)) == [0, 1, 2, 7]


def test_hosts_by_index(platform: Platform) -> None:
    assert len(platform.hosts) == 100_006
    names = [platform.hosts[i].name for i in (0, 99999, 100000, 100001, -1)]
    assert names == ["node1-0.a.org", "node1-99999.a.org", "x7", "x3", "x1"]
    assert [host.name for host in platform.hosts[100000:100003]] == ["x7", "x3", "x10"]
    assert platform.hosts[100000].properties == {"rack": "9"}
    with pytest.raises(IndexError):
        platform.hosts[100_006]


def test_hosts_by_name(platform: Platform) -> None:
    for index in (0, 1, 54321, 99999, 100000, 100004, 100005):
        host = platform.hosts[index]
        assert platform.host(host.name) == host
        assert platform.host_index(host) == index
    assert platform.host("x1").zone == "z"
    assert platform.host("x3").zone == "d"
    assert platform.host("node1-5.a.org").cores == 4


@pytest.mark.parametrize("name", ["node1-007.a.org", "node1-100000.a.org", "x13", "", "node1-"])
def test_unknown_hosts(platform: Platform, name: str) -> None:
    with pytest.raises(InputError, match="has no host"):
        platform.host(name)


def test_an_unknown_host_is_told_its_neighbours(platform: Platform) -> None:
    with pytest.raises(
        InputError, match=r"has no host 'node1-1.b.org'; did you mean node1-1.a.org"
    ):
        platform.host("node1-1.b.org")


def test_links_of_clusters(platform: Platform) -> None:
    link = platform.link("c_link_77_limiter")
    assert (link.bandwidth, link.latency, link.fatpipe) == (1e9, 0.0, False)
    assert platform.links[link.index] == link
    assert platform.link("c_link_77_loopback").fatpipe
    assert platform.link("c_backbone").index == 0
    assert platform.link("d_link_12").latency == 1e-6
    with pytest.raises(InputError, match="has no link 'd_link_12_UP'"):
        platform.link("d_link_12_UP")


def test_every_link_has_its_name_once(platform: Platform) -> None:
    tail = platform.links[-8:]
    assert [link.name for link in tail[:-1]] == [
        "c_link_99999_UP",
        "c_link_99999_DOWN",
        *(f"d_link_{number}" for number in (7, 3, 10, 11, 12)),
    ]
    assert tail[-1].name == "__loopback__"


def test_a_platform_does_not_change(platform: Platform) -> None:
    with pytest.raises(ValueError, match="read-only"):
        platform.resources.host_speed[0] = 1.0
    with pytest.raises(AttributeError):
        platform.hosts[0].speed = 1.0  # type: ignore[misc]
    with pytest.raises(TypeError):
        platform.config["a"] = "b"  # type: ignore[index]


def test_router_names(tmp_path: Path) -> None:
    def make(more: str) -> str:
        return (
            '<platform version="4.1"><cluster id="c" prefix="p-" suffix=".s" radical="0-1"'
            f' speed="1" bw="1" lat="0"{more}/></platform>'
        )

    path = tmp_path / "p.xml"
    path.write_text(make(""))
    assert Platform.load(path).topology.find_point("p-c_router.s") is not None
    path.write_text(make(' router_id="gate"'))
    assert Platform.load(path).topology.find_point("gate") is not None
