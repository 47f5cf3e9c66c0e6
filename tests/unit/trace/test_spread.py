"""How much recordings of one program differ."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tisim.errors import InputError
from tisim.platform import new
from tisim.studies.uncertainty import replay_with_sets
from tisim.traces import Trace, pack
from tisim.traces.packed_program import with_section
from tisim.traces.spread import SECTION, VOLUMES, Spread, deviation_of, keep_spread, spreads


def trace_of(directory: Path, name: str, *ranks: list[str]) -> Trace:
    """A trace of ranks, of which each has these actions."""
    place = directory / name
    place.mkdir()
    for rank, actions in enumerate(ranks):
        lines = [f"{rank} {action}" for action in ("init", *actions, "finalize")]
        (place / f"rank-{rank}.txt").write_text("\n".join(lines) + "\n")
    return Trace.open(place)


def spread_of(*runs: list[list[str]]) -> Spread:
    with tempfile.TemporaryDirectory() as place:
        traces = [trace_of(Path(place), str(number), *run) for number, run in enumerate(runs)]
        (volumes,) = spreads(traces)
    assert volumes.counter == VOLUMES
    return volumes


def computing(*volumes: float) -> list[str]:
    return [action for volume in volumes for action in (f"compute {volume!r}", "barrier")]


def test_three_runs() -> None:
    found = spread_of(
        [computing(100.0, 1000.0), computing(10.0, 1000.0)],
        [computing(110.0, 1000.0), computing(10.0, 1200.0)],
        [computing(100.0, 1000.0), computing(10.0, 1100.0)],
    )
    assert found.sums == (2110.0, 2320.0, 2210.0)
    assert found.median_run == 2
    assert found.deviation == pytest.approx(105.04 / (6640 / 3), rel=1e-4)
    assert found.largest_by_least == pytest.approx(2320 / 2110)
    assert found.of_one == 0.0  # most of what is computed is the same each time
    assert not found.is_none


def test_a_computation_that_a_run_has_not() -> None:
    """A counter may have counted nothing; the calls still say which computations are the same."""
    found = spread_of(
        [["compute 100", "barrier", "compute 50", "barrier"]],
        [["compute 100", "barrier", "barrier"]],
        [["compute 60", "compute 40", "barrier", "compute 50", "barrier"]],
    )
    assert found.sums == (150.0, 100.0, 150.0)
    assert found.of_one == 0.0
    assert not found.is_none


def test_calls_that_no_trace_can_express() -> None:
    found = spread_of([["unsupported MPI_Put 3", "compute 5"]], [["compute 5"]])
    assert found.sums == (5.0, 5.0)
    assert found.of_one is None  # a line more


@pytest.mark.parametrize("runs", [([[]], [[]]), ([["compute 5"]], [["compute 5"]])])
def test_runs_that_do_not_differ(runs: tuple[list[list[str]], ...]) -> None:
    found = spread_of(*runs)
    assert found.is_none
    assert (found.deviation, found.largest_by_least, found.of_one) == (0.0, 1.0, 0.0)


def test_different_numbers_of_ranks() -> None:
    found = spread_of([["compute 5"], ["compute 6"]], [["compute 5"]])
    assert found.sums == (11.0, 5.0)
    assert found.of_one is None


@settings(deadline=None)  # each opens files
@given(
    st.lists(
        st.lists(st.floats(1.0, 1e9), min_size=3, max_size=3),
        min_size=2,
        max_size=4,
    ),
    st.sampled_from((0.25, 2.0, 1024.0)),
)
def test_neither_the_order_of_runs_nor_the_unit_matters(
    runs: list[list[float]], factor: float
) -> None:
    found = spread_of(*([computing(*run)] for run in runs))
    other = spread_of(*([computing(*(factor * v for v in run))] for run in reversed(runs)))
    assert found.of_one is not None
    assert other.of_one == pytest.approx(found.of_one, rel=1e-12)
    assert other.deviation == pytest.approx(found.deviation, rel=1e-6, abs=1e-12)
    assert other.largest_by_least == pytest.approx(found.largest_by_least, rel=1e-12)


def test_a_trace_keeps_its_spread(tmp_path: Path) -> None:
    text, packed = tmp_path / "one.txt", tmp_path / "one.tit"
    text.write_text("0 init\n0 compute 1e9\n0 finalize\n")
    pack(text, packed)
    assert deviation_of(Trace.open(packed)) is None
    keep_spread(packed, Spread(VOLUMES, (1.0, 1.1, 1.2), None, False))
    trace = Trace.open(packed)
    assert deviation_of(trace) == pytest.approx(0.1 / 1.1)
    # Replays for an interval compute as much faster and slower.
    platform = new.cluster(1, bandwidth="1GBps", latency="1us", speed="1Gf")
    interval = replay_with_sets(trace, None, 40, platform=platform, progress=False)
    assert len(interval.times) == 40
    assert np.std(np.log(interval.times)) == pytest.approx(0.1 / 1.1, rel=0.3)
    assert interval.text().endswith("programs validated on other platforms")
    damaged = tmp_path / "damaged.tit"
    pack(text, damaged)
    damaged.write_bytes(with_section(damaged, SECTION, b"{}"))
    with pytest.raises(InputError, match="its section spread is damaged"):
        deviation_of(Trace.open(damaged))
