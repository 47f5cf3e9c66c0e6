"""Bursts of links, told apart from latencies and bandwidths."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tisim.calibration import Calibration, Measurements, calibrate

BANDWIDTH, STARTUP = 1e7, 60e-6


def found(burst: float, *, streams: bool = True) -> Calibration:
    """What a token bucket gives, noiseless."""
    rows = []
    for size in np.unique(np.geomspace(1, 1e6, 80).astype(int)).tolist():
        wire = (size + 16) / BANDWIDTH
        # A ping-pong that goes on: no more than the bandwidth in each direction.
        one_way = max(STARTUP + max(wire - burst / BANDWIDTH, 0.0), wire / 2)
        for _ in range(8):
            rows.append(("pingpong", size, one_way))
            rows.append(("send", size, 5e-6))
            rows.append(("recv", size, 5e-6))
            if streams:
                rows.append(("stream", size, max(wire, 8e-6)))
    frame = pd.DataFrame(rows, columns=["operation", "bytes", "seconds"])
    measured = Measurements(frame.assign(pairs=1, directions=1, file="x"))
    return calibrate(measured, bandwidth=BANDWIDTH, latency=20e-6, links=2)


def test_a_burst_is_found_and_the_ping_pong_met() -> None:
    calibration = found(4500)
    assert calibration.burst == pytest.approx(4500, rel=0.05)
    assert max(factor.bandwidth for factor in calibration.factors) <= 1
    assert calibration.failing().empty, calibration.failing()
    properties = calibration.platform.load().links[0]
    assert properties is not None
    assert set(calibration.platform.load().resources.link_burst.tolist()) == {
        round(calibration.burst)
    }


def test_without_a_burst_or_without_streams_there_is_none() -> None:
    assert found(0).burst == 0
    unknown = found(4500, streams=False)
    assert unknown.burst == 0
    assert not unknown.failing().empty
