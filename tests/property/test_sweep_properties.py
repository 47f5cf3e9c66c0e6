"""Sweeps of random studies: rows, keys, and resumption after any interruption."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

import tisim
from tests.support import RING, ROOT
from tisim.studies.sweep.axes import parse_points
from tisim.studies.sweep.plan import Request, make_plan
from tisim.studies.sweep.store import Table
from tisim.studies.sweep.worker import Worker

FATTREE = ROOT / "platforms" / "fattree.xml"

AXES: dict[str, st.SearchStrategy[Any]] = {
    "bandwidth": st.sampled_from(["x0.5", "100%", "2x", "1GBps"]),
    "latency": st.sampled_from(["x0.5", "x1", "3x", "5us"]),
    "cores": st.sampled_from([1, 2, -1]),
    "bandwidth_noise": st.sampled_from([0, 0.1]),
    "mapping": st.sampled_from(["block", "cyclic:2", "random"]),
    "smpi/send-is-detached-thresh": st.sampled_from([0, 65536]),
}


@st.composite
def studies(draw: st.DrawFn) -> dict[str, Any]:
    names = draw(st.lists(st.sampled_from(sorted(AXES)), unique=True, max_size=3))
    vary = {name: draw(st.lists(AXES[name], min_size=1, max_size=3)) for name in names}
    return {"vary": vary, "seed": draw(st.integers(0, 9)), "replicates": draw(st.integers(1, 2))}


@given(studies())
@settings(max_examples=25, deadline=None)
def test_rows_are_those_of_the_grid_whatever_the_order_of_outcomes(study: dict[str, Any]) -> None:
    plan = make_plan(Request(trace=RING, platform=FATTREE, **study))
    sizes = [len(values) for values in study["vary"].values()]
    assert len(plan.scenarios) == math.prod(sizes) * study["replicates"]
    worker = Worker(plan.inputs)
    jobs = {**plan.baselines, **{s.key: s.job for s in plan.scenarios}}
    frames = []
    for order in (1, -1):
        table = Table(plan)
        for key in table.missing[::order]:
            table.add(key, worker.run(jobs[key]) | {"wall_time": 0.0})
        assert not table.missing
        frames.append(table.frame())
    pd.testing.assert_frame_equal(*frames)
    for scenario, time in zip(plan.scenarios, frames[0]["simulated_time"], strict=True):
        assert math.isnan(time) == (scenario.parameters.get("cores") == -1)


@given(studies(), st.data())
@settings(max_examples=25, deadline=None)
def test_rows_that_were_done_are_never_done_again(
    study: dict[str, Any], data: st.DataObject
) -> None:
    plan = make_plan(Request(trace=RING, platform=FATTREE, **study))
    table = Table(plan)
    wanted = table.missing
    done = data.draw(st.sets(st.sampled_from(wanted)))
    for key in wanted:
        if key in done:
            table.add(key, {"simulated_time": 1.0, "error": None})
    again = Table(plan)
    assert again.take(table.rows()) == 0
    redone = set(again.missing)
    own = {scenario.key for scenario in plan.scenarios}
    assert redone & own == own - done
    # The baseline is needed again only if no row has its time.
    assert redone - own <= set(plan.baselines)
    if own <= done and set(plan.baselines) <= done:
        assert not redone


@given(studies(), st.integers(1, 30), st.integers(1, 30))
def test_a_longer_sample_begins_with_a_shorter_one(
    study: dict[str, Any], one: int, other: int
) -> None:
    short, long = sorted((one, other))
    vary = {name: sorted(set(values), key=str) for name, values in study["vary"].items()}
    size = math.prod(len(values) for values in vary.values())
    drawn = [
        [
            tuple(choice.value for choice in point.values())
            for point in parse_points(vary, count, study["seed"])[1]
        ]
        for count in (short, long)
    ]
    assert [len(points) for points in drawn] == [min(short, size), min(long, size)]
    assert all(len(set(points)) == len(points) for points in drawn)
    if long < size:
        assert drawn[1][:short] == drawn[0]


def test_a_change_of_one_is_no_change() -> None:
    frame = tisim.sweep(
        RING, platform=FATTREE, vary={"bandwidth": ["x1"], "speed_noise": [0]}, workers=1
    )
    assert frame["ratio"][0] == 1
