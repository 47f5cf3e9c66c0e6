"""Where ranks run, and platforms whose speeds vary at random."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tisim import Deployment, InputError, Platform
from tisim.platform.mapping import Mapping
from tisim.studies.sweep.worker import with_noise

CLUSTER = """<?xml version="1.0"?>
<platform version="4.1">
  <zone id="w" routing="Full">
    <cluster id="c" prefix="n" suffix="" radical="0-3" speed="1Gf" core="2" bw="1GBps" lat="1us"
             bb_bw="2GBps" bb_lat="1us"/>
  </zone>
</platform>
"""


@pytest.fixture
def cluster(tmp_path: Path) -> Platform:
    """Four hosts of two cores each."""
    file = tmp_path / "cluster.xml"
    file.write_text(CLUSTER)
    return Platform.load(file)


def placed(
    value: object, cluster: Platform, ranks: int, base: Deployment | None = None, seed: int = 0
) -> str:
    return " ".join(Mapping.parse(value, base).place(cluster, ranks, (seed, 0)).hosts)


@pytest.mark.parametrize(
    ("rule", "ranks", "hosts"),
    [
        ("cyclic", 6, "n0 n1 n2 n3 n0 n1"),
        ("cyclic:2", 5, "n0 n1 n0 n1 n0"),
        ("block", 5, "n0 n0 n1 n1 n2"),
        ("block", 10, "n0 n0 n1 n1 n2 n2 n3 n3 n0 n0"),
        ("block:3", 4, "n0 n0 n0 n1"),
        ("block:1", 4, "n0 n1 n2 n3"),
        (["n3", "n1"], 3, "n3 n1 n3"),
    ],
)
def test_rules(rule: object, ranks: int, hosts: str, cluster: Platform) -> None:
    assert placed(rule, cluster, ranks) == hosts


def test_blocks_follow_the_cores_of_the_scenario(cluster: Platform) -> None:
    assert placed("block", cluster.scaled(hosts="n0", cores=3), 5) == "n0 n0 n0 n1 n1"


def test_rules_use_the_hosts_of_the_deployment(cluster: Platform) -> None:
    base = Deployment.cyclic(["n3", "n3", "n1"], 3)
    assert placed("block", cluster, 4, base) == "n3 n3 n1 n1"
    assert placed("cyclic", cluster, 4, base) == "n3 n1 n3 n1"


def test_a_random_mapping_uses_each_host_once_before_any_twice(cluster: Platform) -> None:
    for seed in range(5):
        hosts = placed("random", cluster, 8, seed=seed).split()
        assert sorted(hosts[:4]) == sorted(hosts[4:]) == ["n0", "n1", "n2", "n3"]
    drawn = {placed("random", cluster, 4, seed=seed) for seed in range(10)}
    assert len(drawn) > 1


def test_a_seed_of_its_own_decides_alone(cluster: Platform) -> None:
    assert placed("random:7", cluster, 4, seed=1) == placed("random:7", cluster, 4, seed=2)
    assert placed("random:7", cluster, 4) != placed("random:8", cluster, 4)
    assert Mapping.parse("random", None).is_random
    assert not Mapping.parse("random:7", None).is_random


def test_files(tmp_path: Path, cluster: Platform) -> None:
    (tmp_path / "my.hosts").write_text("n2:2\nn0\n")
    (tmp_path / "my.xml").write_text(
        '<platform version="4.1"><actor host="n1" function="0"/><actor host="n3" function="1"/>'
        "</platform>"
    )
    assert placed(tmp_path / "my.hosts", cluster, 4) == "n2 n2 n0 n2"
    assert placed(str(tmp_path / "my.xml"), cluster, 2) == "n1 n3"
    with pytest.raises(InputError, match="only 2"):
        placed(tmp_path / "my.xml", cluster, 3)


@pytest.mark.parametrize("value", ["blocks", "block:", "missing.hosts", "random:x"])
def test_what_is_no_mapping_is_refused(value: str) -> None:
    with pytest.raises(InputError, match="is neither block, cyclic"):
        Mapping.parse(value, None)


def test_a_block_of_nobody_is_refused() -> None:
    with pytest.raises(InputError, match="at least 1"):
        Mapping.parse("block:0", None)


def test_noise_changes_what_matches_and_nothing_else(cluster: Platform) -> None:
    noisy = with_noise(cluster, "speed", "n[12]", 0.1, (0, 0))
    ratio = noisy.resources.host_speed / cluster.resources.host_speed
    assert (ratio[[0, 3]] == 1).all()
    assert (ratio[[1, 2]] != 1).all()
    bandwidths = [p.resources.buffer("link_bandwidth") for p in (noisy, cluster)]
    assert bandwidths[0] is bandwidths[1]
    links = with_noise(cluster, "bandwidth", "c_backbone", 0.1, (0, 0)).resources
    changed = links.link_bandwidth != cluster.resources.link_bandwidth
    assert [link.name for link in cluster.links if changed[link.index]] == ["c_backbone"]


def test_noise_is_decided_by_the_seed_and_scales_with_the_variation(cluster: Platform) -> None:
    def logarithms(variation: float, seed: tuple[int, int]) -> np.ndarray:
        noisy = with_noise(cluster, "speed", "*", variation, seed)
        spread = np.sqrt(np.log1p(variation**2))
        factors = noisy.resources.host_speed / cluster.resources.host_speed
        return np.asarray((np.log(factors) + spread**2 / 2) / spread)

    first = logarithms(0.1, (0, 0))
    assert np.allclose(first, logarithms(0.3, (0, 0)))
    assert not np.allclose(first, logarithms(0.1, (0, 1)))
    assert not np.allclose(first, logarithms(0.1, (1, 0)))


def test_noise_has_mean_one_and_the_variation_that_is_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "large.xml"
    file.write_text(CLUSTER.replace("0-3", "0-19999"))
    large = Platform.load(file)
    factors = with_noise(large, "speed", "*", 0.2, (5, 0)).resources.host_speed / 1e9
    assert factors.mean() == pytest.approx(1, abs=0.005)
    assert factors.std() == pytest.approx(0.2, rel=0.03)


def test_profiles_of_bandwidth_follow_the_noise(tmp_path: Path) -> None:
    file = tmp_path / "profile.xml"
    file.write_text(
        '<platform version="4.1"><zone id="w" routing="Full">'
        '<host id="a" speed="1Gf"/><host id="b" speed="1Gf"/>'
        '<link id="l" bandwidth="1GBps" latency="1us"/>'
        '<trace id="t" periodicity="-1">1.0 5e8\n</trace>'
        '<trace_connect kind="BANDWIDTH" trace="t" element="l"/>'
        '<route src="a" dst="b"><link_ctn id="l"/></route></zone></platform>'
    )
    platform = Platform.load(file)
    noisy = with_noise(platform, "bandwidth", "*", 0.3, (0, 0))
    factor = noisy.link("l").bandwidth / 1e9
    assert factor != 1
    assert noisy.profiles[0].profile.values == (5e8 * factor,)


@pytest.mark.parametrize("variation", [-0.1, "5%", True, float("inf")])
def test_a_bad_variation_is_refused(variation: object, cluster: Platform) -> None:
    with pytest.raises(InputError, match="speed_noise"):
        with_noise(cluster, "speed", "*", variation, (0, 0))
