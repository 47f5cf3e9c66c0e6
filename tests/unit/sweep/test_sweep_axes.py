"""Variation in sweeps: axes, points of a design, placements, and random speeds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support import load_platform, platform_file
from tisim import Deployment, InputError, Platform
from tisim.platform.mapping import Mapping
from tisim.studies.sweep.axes import Axis, Point, Range, parse_points
from tisim.studies.sweep.worker import with_noise


def shown(points: list[Point]) -> list[dict[str, Any]]:
    return [{axis.name: choice.label for axis, choice in point.items()} for point in points]


def points_of(vary: Any, sample: int | None = None, seed: int = 0) -> list[dict[str, Any]]:
    return shown(parse_points(vary, sample, seed)[1])


@pytest.mark.parametrize(
    ("name", "kind", "target"),
    [
        ("bandwidth", "bandwidth", "*"),
        ("latency[switch-*]", "latency", "switch-*"),
        ("cores[node-[0-9]]", "cores", "node-[0-9]"),
        ("speed_noise", "speed_noise", "*"),
        ("compute_noise", "compute_noise", "*"),
        ("mapping", "mapping", "*"),
        ("smpi/coll-selector", "config", "smpi/coll-selector"),
        ("smpi/coll_selector", "config", "smpi/coll-selector"),
        ("surf/precision", "config", "precision/timing"),
    ],
)
def test_names_of_axes(name: str, kind: str, target: str) -> None:
    axis = Axis.parse(name)
    assert (axis.name, axis.kind, axis.target) == (name, kind, target)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("bandwith", "did you mean bandwidth"),
        ("bandwith[a*]", "did you mean bandwidth"),
        ("compute-noise", "did you mean compute_noise"),
        ("smpi/coll-selektor", "did you mean smpi/coll-selector"),
        ("wizardry", "axes are trace, platform, mapping, compute_noise, speed"),
    ],
)
def test_an_unknown_axis_names_similar_ones(name: str, hint: str) -> None:
    with pytest.raises(InputError, match=hint):
        Axis.parse(name)


def test_a_grid_has_all_combinations_the_last_axis_fastest() -> None:
    assert points_of({"bandwidth": ["x1", "x2"], "smpi/coll-selector": ["ompi", "mpich"]}) == [
        {"bandwidth": "x1", "smpi/coll-selector": "ompi"},
        {"bandwidth": "x1", "smpi/coll-selector": "mpich"},
        {"bandwidth": "x2", "smpi/coll-selector": "ompi"},
        {"bandwidth": "x2", "smpi/coll-selector": "mpich"},
    ]


def test_nothing_to_vary_is_one_scenario() -> None:
    assert points_of(None) == [{}]
    assert points_of({}) == [{}]


def test_a_list_of_points_is_taken_as_it_is() -> None:
    points = [{"bandwidth": "x2"}, {"latency": "x0.5", "bandwidth": "x1"}, {}]
    axes, parsed = parse_points(points, None, 0)
    assert [axis.name for axis in axes] == ["bandwidth", "latency"]
    assert shown(parsed) == points


def test_values_of_numpy_become_plain_numbers() -> None:
    values = [point["speed_noise"] for point in points_of({"speed_noise": np.linspace(1, 2, 3)})]
    assert values == [1.0, 1.5, 2.0]
    assert all(type(value) is float for value in values)


def test_a_single_value_needs_no_list() -> None:
    assert points_of({"bandwidth": "10Gbps"}) == [{"bandwidth": "10Gbps"}]
    assert points_of({"platform": Path("a.xml")}) == [{"platform": "a.xml"}]


def test_a_factor_has_one_form() -> None:
    assert points_of({"speed": ["2x", "x2.0", "200%", " X2", "2e9f"]}) == [
        *[{"speed": "x2"}] * 4,
        {"speed": "2e9f"},
    ]


def test_a_range_of_values_has_a_unit() -> None:
    ends = {"uniform": ("1Gbps", "2Gbps")}
    drawn = [str(point["bandwidth"]) for point in points_of({"bandwidth": ends}, 5, seed=1)]
    assert all(one.endswith("Bps") and 125e6 <= float(one[:-3]) <= 250e6 for one in drawn)


def test_labels_are_shown_in_the_place_of_values() -> None:
    axes, points = parse_points({"bandwidth": {"today": "100%", "next year": "100Gbps"}}, None, 0)
    assert shown(points) == [{"bandwidth": "today"}, {"bandwidth": "next year"}]
    assert [point[axes[0]].value for point in points] == ["x1", "100Gbps"]


def test_objects_are_shown_by_their_files() -> None:
    placed = Deployment.cyclic(["a", "b"], 2)
    assert points_of({"mapping": [["a", "b"]]}) == [{"mapping": "a,b"}]
    assert "Deployment of 2 ranks" in points_of({"mapping": placed})[0]["mapping"]


@pytest.mark.parametrize(
    ("vary", "problem"),
    [
        ({"bandwidth": []}, "bandwidth has no values"),
        ([], "the list of points is empty"),
        ("bandwidth", "vary must be a mapping"),
        ([{"bandwidth": "x1"}, "latency"], "vary must be a mapping"),
        ({"bandwidth": {"uniform": ["x1", "x2"]}}, "give the number of scenarios to draw"),
        ({"bandwidth": {"uniform": ["x2", "x1"]}}, "the lower one first"),
        ({"bandwidth": {"uniform": ["x1", "x1"]}}, "the lower one first"),
        ({"bandwidth": {"log_uniform": ["x0", "x1"]}}, "must stay above zero;"),
        ({"speed_noise": {"log_uniform": [0, 1]}}, "both above zero"),
        ({"bandwidth": {"uniform": ["x1", "2Gbps"]}}, "both ends of a range must be factors, or"),
        ({"bandwidth": {"uniform": [1, 2]}}, "not 1: use x1 or 2GBps"),
        ({"bandwidth": [2]}, "not 2: use x2 or 2GBps"),
        ({"latency": ["2"]}, "not '2': use x2 or 2us"),
        ({"bandwidth": {"uniform": 3}}, "needs two numbers"),
        ({"cores": {"uniform": [1, 4]}}, "cores cannot be drawn from a range"),
        (
            {"latency": [None]},
            "latency must be changed by a factor or to a value with a unit, not None",
        ),
        ({"bandwidth": ["x1"], "bandwidth[*]": ["x2"]}, "are the same axis"),
        ({"smpi/coll-selector": [1], "smpi/coll_selector": [2]}, "are the same axis"),
    ],
)
def test_what_makes_no_sense_is_refused(vary: Any, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        parse_points(vary, None, 0)


def test_a_sample_of_points_is_refused() -> None:
    with pytest.raises(InputError, match="not a list of points"):
        parse_points([{"bandwidth": "x1"}], 3, 0)
    with pytest.raises(InputError, match="at least 1,"):
        parse_points({"bandwidth": ["x1"]}, 0, 0)


SPACE: dict[str, Any] = {
    "bandwidth": {"log_uniform": ("x0.1", "x10")},
    "latency": {"uniform": ("x1", "x2")},
    "smpi/coll-selector": ["ompi", "mpich"],
}


def test_a_sample_is_decided_by_its_seed_and_begins_with_a_shorter_one() -> None:
    sample = points_of(SPACE, 40, seed=3)
    assert sample == points_of(SPACE, 40, seed=3)
    assert sample[:15] == points_of(SPACE, 15, seed=3)
    assert sample != points_of(SPACE, 40, seed=4)
    factors = [(float(p["bandwidth"][1:]), float(p["latency"][1:])) for p in sample]
    assert all(0.1 <= bandwidth <= 10 and 1 <= latency <= 2 for bandwidth, latency in factors)
    assert {p["smpi/coll-selector"] for p in sample} == {"ompi", "mpich"}


def test_the_logarithm_is_uniform_where_the_range_says_so() -> None:
    assert Range(0.1, 10, logarithmic=True).at(0.5) == pytest.approx(1)
    assert Range(0.1, 10).at(0.5) == pytest.approx(5.05)


def test_a_sample_of_a_grid_draws_nothing_twice() -> None:
    grid = {"bandwidth": ["x1", "x2", "x3"], "latency": ["x1", "x2", "x3"]}
    sample = points_of(grid, 8, seed=1)
    assert len({tuple(point.items()) for point in sample}) == 8
    assert points_of(grid, 9, seed=1) == points_of(grid)
    assert points_of(grid, 100, seed=1) == points_of(grid)


CLUSTER = """<zone id="w" routing="Full">
<cluster id="c" prefix="n" suffix="" radical="0-3" speed="1Gf" core="2" bw="1GBps" lat="1us"
  bb_bw="2GBps" bb_lat="1us"/></zone>"""


@pytest.fixture
def cluster(tmp_path: Path) -> Platform:
    """Four hosts of two cores each."""
    return load_platform(tmp_path, CLUSTER)


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
    platform_file(
        tmp_path, '<actor host="n1" function="0"/><actor host="n3" function="1"/>', name="my.xml"
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
    large = load_platform(tmp_path, CLUSTER.replace("0-3", "0-19999"))
    factors = with_noise(large, "speed", "*", 0.2, (5, 0)).resources.host_speed / 1e9
    assert factors.mean() == pytest.approx(1, abs=0.005)
    assert factors.std() == pytest.approx(0.2, rel=0.03)


def test_profiles_of_bandwidth_follow_the_noise(tmp_path: Path) -> None:
    platform = load_platform(
        tmp_path,
        '<zone id="w" routing="Full">'
        '<host id="a" speed="1Gf"/><host id="b" speed="1Gf"/>'
        '<link id="l" bandwidth="1GBps" latency="1us"/>'
        '<trace id="t" periodicity="-1">1.0 5e8\n</trace>'
        '<trace_connect kind="BANDWIDTH" trace="t" element="l"/>'
        '<route src="a" dst="b"><link_ctn id="l"/></route></zone>',
    )
    noisy = with_noise(platform, "bandwidth", "*", 0.3, (0, 0))
    factor = noisy.link("l").bandwidth / 1e9
    assert factor != 1
    assert noisy.profiles[0].profile.values == (5e8 * factor,)


@pytest.mark.parametrize("variation", [-0.1, "5%", True, float("inf")])
def test_a_bad_variation_is_refused(variation: object, cluster: Platform) -> None:
    with pytest.raises(InputError, match="speed_noise"):
        with_noise(cluster, "speed", "*", variation, (0, 0))
