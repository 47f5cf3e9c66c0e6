"""Other numbers for the same machine, the old platform untouched."""

from __future__ import annotations

from pathlib import Path

import pytest

from tisim.errors import InputError
from tisim.platform import Platform


@pytest.fixture(scope="module")
def graphene(root: Path) -> Platform:
    return Platform.load(root / "platforms/graphene.xml")


def test_links_by_pattern(graphene: Platform) -> None:
    faster = graphene.scaled(links="switch-backbone*", bandwidth="x2", latency="1us")
    assert faster.link("switch-backbone1_UP").bandwidth == 2 * 1162.5e6
    assert faster.link("switch-backbone4_DOWN").latency == 1e-6
    assert faster.link("explicit-limiter1") == graphene.link("explicit-limiter1")
    assert graphene.link("switch-backbone1_UP").bandwidth == 1162.5e6
    src, dst = graphene.hosts[0], graphene.hosts[40]
    old, new = graphene.route(src, dst), faster.route(src, dst)
    assert [link.name for link in old.links] == [link.name for link in new.links]
    assert old.latency - new.latency == pytest.approx(1e-6)


def test_half_of_a_split_link(graphene: Platform) -> None:
    changed = graphene.scaled(links=["switch-backbone1", "switch-backbone2_UP"], bandwidth="1GBps")
    names = ["switch-backbone1_UP", "switch-backbone1_DOWN", "switch-backbone2_UP"]
    assert [link.name for link in changed.links if link.bandwidth == 1e9] == names


def test_hosts_by_pattern(graphene: Platform) -> None:
    changed = graphene.scaled(hosts="graphene-1?.*", speed="x0.5", cores=16)
    faster = [host for host in changed.hosts if host.cores == 16]
    assert [host.name for host in faster] == [
        f"graphene-{i}.nancy.grid5000.fr" for i in range(10, 20)
    ]
    assert {host.speed for host in faster} == {1.84e9}
    assert changed.host("graphene-9.nancy.grid5000.fr").speed == 3.68e9
    assert graphene.scaled(speed="1Gf").compiled.host_speed.tolist() == [1e9] * 144


def test_sharing(graphene: Platform) -> None:
    changed = graphene.scaled(links="explicit-limiter?", sharing="FATPIPE")
    assert [link.name for link in changed.links if link.fatpipe and "lim" in link.name] == [
        f"explicit-limiter{i}" for i in range(1, 5)
    ]


def test_the_default_loopback_is_no_link_of_the_platform(tmp_path: Path) -> None:
    path = tmp_path / "p.xml"
    path.write_text(
        '<platform version="4.1"><trace id="t" periodicity="0">1 5e6</trace>'
        '<zone id="z" routing="Full"><host id="a" speed="1"/>'
        '<link id="l" bandwidth="1MBps"/></zone>'
        '<trace_connect trace="t" element="l" kind="BANDWIDTH"/></platform>'
    )
    platform = Platform.load(path)
    doubled = platform.scaled(bandwidth="x2")
    assert doubled.link("__loopback__").bandwidth == platform.link("__loopback__").bandwidth
    assert doubled.profiles[0].profile.values == (10e6,)
    assert platform.profiles[0].profile.values == (5e6,)
    assert platform.scaled(bandwidth="3MBps").profiles == ()
    assert platform.scaled(latency="x2").profiles == platform.profiles


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            {"links": "swich-backbone1", "bandwidth": "x2"},
            "no link .* did you mean switch-backbone1",
        ),
        ({"hosts": "x*", "speed": "x2"}, r"no host of the platform matches 'x\*'"),
        ({"bandwidth": "x0"}, "must stay above zero"),
        ({"bandwidth": "-100%"}, "must not be negative"),
        ({"latency": "1ly"}, "unknown unit"),
        ({"speed": "x0"}, "speed must stay above zero"),
        ({"cores": 0}, "cores is a whole number"),
        ({"sharing": "SPLITDUPLEX"}, "SHARED or FATPIPE"),
    ],
)
def test_impossible_changes(graphene: Platform, change: dict[str, object], says: str) -> None:
    with pytest.raises(InputError, match=says):
        graphene.scaled(**change)  # type: ignore[arg-type]
