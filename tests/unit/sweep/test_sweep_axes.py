"""What a sweep can vary: names of axes, their values, and the points of a design."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tisim import Deployment, InputError
from tisim.studies.sweep.axes import Axis, Point, Range, parse_points


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
        ("bandwidth", "vary is a mapping"),
        ([{"bandwidth": "x1"}, "latency"], "vary is a mapping"),
        ({"bandwidth": {"uniform": ["x1", "x2"]}}, "say how many scenarios to draw"),
        ({"bandwidth": {"uniform": ["x2", "x1"]}}, "the lower one first"),
        ({"bandwidth": {"uniform": ["x1", "x1"]}}, "the lower one first"),
        ({"bandwidth": {"log_uniform": ["x0", "x1"]}}, "must stay above zero"),
        ({"speed_noise": {"log_uniform": [0, 1]}}, "both above zero"),
        ({"bandwidth": {"uniform": ["x1", "2Gbps"]}}, "both ends of a range are factors, or"),
        ({"bandwidth": {"uniform": [1, 2]}}, "not 1: say x1 or 2GBps"),
        ({"bandwidth": [2]}, "not 2: say x2 or 2GBps"),
        ({"latency": ["2"]}, "not '2': say x2 or 2us"),
        ({"bandwidth": {"uniform": 3}}, "needs two numbers"),
        ({"cores": {"uniform": [1, 4]}}, "cores is nothing to draw from a range"),
        (
            {"latency": [None]},
            "latency is changed by a factor or to a value with its unit, not None",
        ),
        ({"bandwidth": ["x1"], "bandwidth[*]": ["x2"]}, "are the same thing to vary"),
        ({"smpi/coll-selector": [1], "smpi/coll_selector": [2]}, "are the same thing to vary"),
    ],
)
def test_what_makes_no_sense_is_refused(vary: Any, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        parse_points(vary, None, 0)


def test_a_sample_of_points_is_refused() -> None:
    with pytest.raises(InputError, match="not from a list of points"):
        parse_points([{"bandwidth": "x1"}], 3, 0)
    with pytest.raises(InputError, match="at least 1 scenario"):
        parse_points({"bandwidth": ["x1"]}, 0, 0)


SPACE: Mapping[str, Any] = {
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
