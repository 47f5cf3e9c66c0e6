"""Compute volumes that vary at random, the same however the trace is read."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

import tisim
from tests.support import GRAPHENE, RING
from tisim.errors import InputError
from tisim.traces import Kind, pack

PLATFORM = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
<cluster id="c" prefix="h" suffix="" radical="0-3" speed="1Gf" bw="1GBps" lat="1us"/>
</platform>
"""
TRACE = """0 compute 1e9
0 allreduce 1 5e8
0 compute 0
0 sleep 1
1 compute 1e9
1 allreduce 1 5e8
1 compute 2e9
"""


@pytest.fixture
def trace(tmp_path: Path) -> tisim.Trace:
    (tmp_path / "platform.xml").write_text(PLATFORM)
    (tmp_path / "trace.txt").write_text(TRACE)
    return tisim.Trace.open(tmp_path / "trace.txt")


def volumes(trace: tisim.Trace, batch: int = 100) -> list[float]:
    """The compute volumes of all ranks."""
    return [
        float(amount)
        for rank in range(trace.ranks)
        for rows in trace.operations(rank, batch=batch)
        for amount in rows[rows["kind"] == Kind.COMPUTE]["amount"]
    ]


def test_volumes_vary_and_nothing_else(trace: tisim.Trace) -> None:
    noisy = trace.with_noise(0.1, seed=7)
    assert volumes(trace) == [1e9, 5e8, 0, 1e9, 5e8, 2e9]
    factors = np.array(volumes(noisy)) / [1e9, 5e8, 1, 1e9, 5e8, 2e9]
    assert factors[2] == 0
    assert len(set(factors)) == 6
    assert np.all((factors[[0, 1, 3, 4, 5]] > 0.5) & (factors[[0, 1, 3, 4, 5]] < 2))
    assert (noisy.noise, trace.noise) == ((0.1, 7), (0.0, 0))
    assert volumes(noisy.with_noise(0)) == volumes(trace)
    assert volumes(noisy.with_noise(0.2, seed=7)) == volumes(trace.with_noise(0.2, seed=7))


def test_the_same_however_the_trace_is_read(trace: tisim.Trace, tmp_path: Path) -> None:
    noisy = trace.with_noise(0.1, seed=7)
    assert volumes(noisy, batch=1) == volumes(noisy)
    assert volumes(pickle.loads(pickle.dumps(noisy))) == volumes(noisy)
    pack(trace.source, tmp_path / "packed.tit")
    packed = tisim.Trace.open(tmp_path / "packed.tit").with_noise(0.1, seed=7)
    assert volumes(packed) == volumes(noisy)


def test_a_replay_computes_what_the_noise_says(trace: tisim.Trace, tmp_path: Path) -> None:
    noisy = trace.with_noise(0.3, seed=1)
    platform = tisim.Platform.load(tmp_path / "platform.xml")
    expected = np.array(volumes(noisy)).reshape(2, 3).sum(axis=1) / 1e9
    result = tisim.replay(noisy, platform=platform)
    assert result.compute.tolist() == pytest.approx(expected.tolist(), rel=1e-9)
    again = tisim.replay(trace.with_noise(0.3, seed=1), platform=platform)
    assert again.finish.tolist() == result.finish.tolist()
    other = tisim.replay(trace.with_noise(0.3, seed=2), platform=platform)
    assert other.simulated_time != result.simulated_time


def test_without_noise_nothing_changes() -> None:
    trace = tisim.Trace.open(RING)
    platform = tisim.Platform.load(GRAPHENE)
    plain = tisim.replay(trace, platform=platform)
    assert tisim.replay(trace.with_noise(0, seed=9), platform=platform).finish.tolist() == (
        plain.finish.tolist()
    )


@pytest.mark.parametrize("compute", [-0.1, float("nan"), float("inf"), "0.1", True, None])
def test_impossible_variations(trace: tisim.Trace, compute: object) -> None:
    with pytest.raises(InputError, match="compute noise"):
        trace.with_noise(compute)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", [-1, 2**64])
def test_impossible_seeds(trace: tisim.Trace, seed: int) -> None:
    with pytest.raises(InputError, match="a seed is a whole number from 0"):
        trace.with_noise(0.1, seed=seed)
