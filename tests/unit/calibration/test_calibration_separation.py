"""Overheads that overlap with the transfer, and medians that are known well."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tisim import replay
from tisim.studies.calibration import Calibration, Measurements, calibrate
from tisim.studies.calibration.measurements import median_half_width

BANDWIDTH, LATENCY = 1e9, 1e-6


def measured(**calls: object) -> Measurements:
    """Noiseless measurements: for each operation a function of the size."""
    sizes = np.unique(np.geomspace(1, 1e6, 60).astype(int))
    rows = [
        {
            "operation": operation,
            "bytes": size,
            "seconds": seconds(size),  # type: ignore[operator]
            "pairs": 1,
            "directions": 1,
            "file": "x",
        }
        for operation, seconds in calls.items()
        for size in sizes
        for _ in range(8)
    ]
    return Measurements(pd.DataFrame(rows))


def test_the_interval_of_a_median_lies_between_order_statistics() -> None:
    assert median_half_width(np.ones(4)) == np.inf
    # All of five times are the 94 % interval.
    assert median_half_width(np.arange(8.0, 13.0)) == pytest.approx(0.2)
    assert median_half_width(np.ones(6)) == 0
    # The 6th and the 15th of 20 times enclose the median with a probability of 95.9 %.
    assert median_half_width(np.arange(1.0, 21.0)) == pytest.approx((15 - 10.5) / 10.5)


def test_overheads_beyond_the_ping_pong_give_way() -> None:
    """The receive, timed after idling, takes twice as long as the whole message."""

    def ping_pong(size: int) -> float:
        return 3e-6 + size / BANDWIDTH

    found = calibrate(
        measured(
            pingpong=ping_pong,
            send=lambda size: 1e-6,
            isend=lambda size: 1e-6,
            recv=lambda size: 2 * ping_pong(size),
        ),
        bandwidth=BANDWIDTH,
        latency=LATENCY,
        links=2,
    )
    assert found.failing().empty
    errors = found.errors()
    own = errors[errors["operation"] == "pingpong"]
    assert own["error"].abs().max() < 0.05
    assert max(factor.bandwidth for factor in found.factors) <= 1
    assert min(factor.latency for factor in found.factors) > 0
    assert any("do not fit into the ping-pong" in warning for warning in found.warnings)
    # MPI_Send, timed in the ping-pong, is believed more.
    assert found.overheads.sender is not None
    assert found.overheads.sender.seconds(np.array([100.0]))[0] == pytest.approx(1e-6, rel=0.05)


def test_overheads_that_overlap_leave_the_bandwidth_alone() -> None:
    """The sender copies while the network carries: both grow with the size, the sum does not."""
    found = calibrate(
        measured(
            pingpong=lambda size: 10e-6 + size / BANDWIDTH,
            send=lambda size: 2e-6 + 0.3 * size / BANDWIDTH,
            isend=lambda size: 2e-6 + 0.3 * size / BANDWIDTH,
            recv=lambda size: 2e-6 + 0.3 * size / BANDWIDTH,
        ),
        bandwidth=BANDWIDTH,
        latency=LATENCY,
        links=2,
    )
    assert max(factor.bandwidth for factor in found.factors) <= 1
    assert found.failing().empty


def test_a_stream_tells_what_the_receiver_takes() -> None:
    def calls(stream: float) -> Measurements:
        return measured(
            pingpong=lambda size: 20e-6 + 2 * size / BANDWIDTH,
            send=lambda size: 1e-6,
            isend=lambda size: 1e-6,
            recv=lambda size: 8e-6,
            stream=lambda size: max(stream, (size + 16) / BANDWIDTH),
        )

    for stream in (4e-6, 10e-6):
        found = calibrate(calls(stream), bandwidth=BANDWIDTH, latency=LATENCY, links=2)
        receiver = found.overheads.receiver
        assert receiver is not None
        assert receiver.seconds(np.array([10.0]))[0] == pytest.approx(stream, rel=0.1)
        assert found.failing().empty


def test_streams_of_some_sizes_leave_the_others_alone() -> None:
    calls = measured(
        pingpong=lambda size: 20e-6 + 2 * size / BANDWIDTH,
        send=lambda size: 1e-6,
        isend=lambda size: 1e-6,
        recv=lambda size: 8e-6,
        stream=lambda size: 8e-6,
    )
    some = calls.frame[(calls.frame["operation"] != "stream") | (calls.frame["bytes"] < 5000)]
    found = calibrate(Measurements(some), bandwidth=BANDWIDTH, latency=LATENCY, links=2)
    assert found.failing().empty
    assert found.overheads.receiver is not None
    assert found.overheads.receiver.seconds(np.array([9e5]))[0] == pytest.approx(8e-6, rel=0.1)


def test_what_a_byte_takes_in_a_single_message_alone_keeps_no_link_busy(tmp_path: Path) -> None:
    """A card hands bytes on with 10 ns each, while the link already carries the next message."""
    calls = {
        "pingpong": lambda size: 10e-6 + 10e-9 * size + size / BANDWIDTH,
        "stream": lambda size: (size + 16) / BANDWIDTH,
    }

    def time_of_window(found: Calibration) -> float:
        found.platform.write(tmp_path / "platform.xml")
        lines = {"isend 1": "0", "irecv 0": "1"}
        text = "".join(f"{rank} {call} 0 40000\n" * 32 for call, rank in lines.items())
        (tmp_path / "trace").write_text(f"{text}0 waitall\n1 waitall\n")
        return replay(tmp_path / "trace", platform=tmp_path / "platform.xml").simulated_time

    nominal = {"bandwidth": BANDWIDTH, "latency": LATENCY, "links": 2}
    seconds = 32 * 40016 / BANDWIDTH
    alone = calibrate(measured(pingpong=calls["pingpong"]), **nominal)
    assert time_of_window(alone) > 1.5 * seconds
    found = calibrate(measured(**calls), **nominal)
    assert time_of_window(found) == pytest.approx(seconds + calls["pingpong"](40000), rel=0.05)
    assert found.failing().empty


def test_a_size_that_is_known_well_divides_its_segment() -> None:
    def ping_pong(size: int) -> float:
        bump = 1.3 if 900 < size < 1300 else 1.0
        return bump * (10e-6 + size / BANDWIDTH)

    found = calibrate(measured(pingpong=ping_pong), bandwidth=BANDWIDTH, latency=LATENCY, links=2)
    assert found.failing().empty
    assert found.to_dict()["failing_sizes"] == []
    assert any(segment.piece for segment in found.transfer.segments)
    # A piece is no change of the protocol.
    assert not found.changes


def test_a_bandwidth_above_the_nominal_one_is_told() -> None:
    slow = measured(pingpong=lambda size: 10e-6 + size / (2 * BANDWIDTH))
    found = calibrate(slow, bandwidth=BANDWIDTH, latency=LATENCY, links=2)
    assert max(factor.bandwidth for factor in found.factors) == 1
    assert any("more than the nominal bandwidth" in warning for warning in found.warnings)
    assert not found.failing().empty
    assert any("the simulated ping-pong misses" in warning for warning in found.warnings)


SHARED_MEMORY = """0 send 1 7 300
0 send 1 8 1000
0 recv 1 9 1000
1 recv 0 8 1000
1 recv 0 7 300
1 send 0 9 1000
"""


def test_a_send_that_waits_until_the_receiver_calls_mpi(tmp_path: Path) -> None:
    """Open MPI within a node: above 256 bytes any call of the receiver ends MPI_Send.

    So a program runs whose rank 0 sends what rank 1 receives later, waiting for something else.
    """

    def one_way(size: float) -> float:
        return (1e-6 if size <= 256 else 2e-6 if size <= 4096 else 5e-6) + size / BANDWIDTH

    def held(least: float, until: float) -> Callable[[float], float]:
        return lambda size: 0.1e-6 if size <= least else (2 if size <= until else 6) * one_way(size)

    measurements = measured(
        pingpong=one_way,
        send=lambda size: 0.1e-6 if size <= 256 else one_way(size),
        isend=lambda size: 0.3e-6 + size * 1e-12,
        late_send=held(256, 256),
        probed_send=held(256, 4096),
    )
    calibration = calibrate(measurements, nodes=1, cores=2, speed=1e9)
    thresholds = calibration.overheads.thresholds
    assert thresholds is not None
    assert thresholds.evidence == (
        "MPI_Send waits for the receiver above 4096 bytes, and above 256 until it calls MPI"
    )
    # What a sender pays above 256 bytes has no message back in it.
    sender = calibration.overheads.sender
    assert sender is not None
    assert sender.seconds(np.array([100.0, 1000.0])) == pytest.approx([0.1e-6, 0.3e-6], rel=0.1)
    calibration.platform.write(tmp_path / "node.xml")
    trace = tmp_path / "trace.txt"
    trace.write_text(SHARED_MEMORY)
    assert replay(trace, platform=tmp_path / "node.xml").simulated_time < 20e-6
