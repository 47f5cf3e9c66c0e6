"""Generated traces of any size are sound, replay to their end, and are made by their seed alone."""

from __future__ import annotations

import tempfile
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tisim
from tests.support import GRAPHENE
from tisim.platform import new
from tisim.traces import check
from tisim.traces.generate import PATTERNS
from tisim.traces.generate.patterns import ACCESSES

sizes = st.integers(0, 300_000)
# Parameters of the patterns beside the common ones.
OWN: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "ring": {"nbytes": sizes},
    "halo2d": {"nbytes": sizes | st.tuples(sizes, sizes), "periodic": st.booleans()},
    "halo3d": {"nbytes": sizes | st.tuples(sizes, sizes, sizes), "periodic": st.booleans()},
    "wavefront": {"nbytes": sizes, "planes": st.integers(1, 4)},
    "transpose": {"nbytes": sizes},
    "ring-allreduce": {"nbytes": sizes, "buckets": st.integers(1, 3)},
    "tree-allreduce": {"nbytes": sizes, "buckets": st.integers(1, 3)},
    "sparse": {
        "nbytes": sizes | st.tuples(st.integers(0, 100), sizes.map(lambda size: size + 100)),
        "degree": st.integers(0, 5),
    },
    "ocean": {
        "blocks": st.integers(1, 5),
        "land": st.floats(0, 0.9),
        "nbytes": sizes,
        "fewest": st.integers(1, 2),
        "most": st.integers(2, 3),
    },
    "refined": {
        "refined": st.floats(0, 1),
        "nbytes": sizes,
        "block_bytes": sizes,
        "variables": st.integers(0, 3),
        "checkpoint_every": st.integers(0, 2),
    },
    "io": {
        "access": st.sampled_from(ACCESSES),
        "written": st.integers(0, 4).map(lambda blocks: 4096 * blocks),
        "block": st.just(4096),
        "file": st.just("data"),
        "read_back": st.booleans(),
        "fsync": st.booleans(),
    },
}


@st.composite
def grids(draw: st.DrawFn, dimensions: int) -> tuple[int, ...]:
    return tuple(draw(st.lists(st.integers(1, 4), min_size=dimensions, max_size=dimensions)))


@st.composite
def patterns(draw: st.DrawFn, name: str) -> dict[str, Any]:
    """The parameters of a pattern."""
    drawn: dict[str, Any] = {
        "ranks": draw(st.integers(1, 12)),
        "iterations": draw(st.integers(0, 3)),
        "compute": draw(st.sampled_from([0.0, 1.0, 1e6])),
        "imbalance": draw(st.sampled_from([0.0, 0.3, 1.0])),
        "noise": draw(st.sampled_from([0.0, 0.3, 1.0])),
        "allreduce": draw(st.sampled_from([0, 8, 70_000])),
        "allreduce_every": draw(st.integers(1, 2)),
        "seed": draw(st.integers(0, 2**40)),
        "requests": draw(st.booleans()),
    }
    dimensions = {"halo2d": 2, "halo3d": 3, "wavefront": 2}.get(name)
    if dimensions and draw(st.booleans()):
        drawn["grid"] = grid = draw(grids(dimensions))
        drawn["ranks"] = 1
        for side in grid:
            drawn["ranks"] *= side
    return drawn | {key: draw(strategy) for key, strategy in OWN[name].items()}


def platform_for(name: str) -> Path | tisim.Platform:
    """One whose hosts have disks, where the pattern has files."""
    if name not in ("io", "refined"):
        return GRAPHENE
    return new.cluster(
        12, bandwidth="1Gbps", latency="1us", speed="1Gf", disk="read=2GBps,write=1GBps"
    )


def test_every_pattern_is_drawn_with_all_its_parameters() -> None:
    assert set(OWN) == set(PATTERNS)
    common = {"iterations", "compute", "imbalance", "noise", "seed", "requests"}
    for name, pattern in PATTERNS.items():
        known = {field.name for field in fields(pattern)}
        known -= {"ranks", "allreduce", "allreduce_every", "grid"}
        assert known == common | set(OWN[name]), name


@pytest.mark.parametrize("name", PATTERNS)
@given(data=st.data())
@settings(max_examples=12, deadline=None)
def test_sound_and_replayed_to_the_end(name: str, data: st.DataObject) -> None:
    parameters = data.draw(patterns(name))
    with tempfile.TemporaryDirectory() as directory:
        trace, again = Path(directory) / "trace.tit", Path(directory) / "again.tit"
        PATTERNS[name](**parameters).write(trace)
        PATTERNS[name](**parameters).write(again)
        assert trace.read_bytes() == again.read_bytes()
        report = check(trace)
        assert (report.errors, report.warnings) == (0, 0), report.findings
        assert report.ranks == parameters["ranks"]
        result = tisim.replay(trace, platform=platform_for(name))
    assert result.actions == report.actions
    assert len(result.finish) == report.ranks
