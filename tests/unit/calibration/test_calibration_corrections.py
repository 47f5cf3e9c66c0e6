"""Times affected by idling, bursts, and overheads that overlap a transfer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tisim import Config, InputError, Platform, replay
from tisim.studies.calibration import Calibration, Measurements, calibrate, read_measurements
from tisim.studies.calibration.measurements import median_half_width
from tisim.studies.uncertainty.bootstrap import draw_sets

SIZES = np.unique(np.geomspace(1, 60000, 120).astype(int))
START_UP, PER_BYTE = 10e-6, 1e-9
SLEEPS = (0.2e-3, 0.5e-3, 2e-3)  # before a receive; the middle one is the usual
SLOWER = (0.75, 1.0, 1.3)


def rows(effect: tuple[float, float, float] = SLOWER, seed: int = 1) -> pd.DataFrame:
    """Ping-pongs, and receives of each size after sleeps of the same length."""
    chance = np.random.default_rng(seed)
    parts = []
    for size in SIZES:
        which = chance.choice(3, p=[0.2, 0.5, 0.3])
        receive = (START_UP + PER_BYTE * size) * effect[which]
        seconds = receive * np.exp(0.01 * chance.standard_normal(10))
        idle = SLEEPS[which] * np.exp(0.1 * chance.standard_normal(10))
        parts.append(pd.DataFrame({"operation": "recv", "seconds": seconds, "idle": idle}))
        one_way = np.full(10, 80e-6 + 9e-9 * size)
        parts.append(pd.DataFrame({"operation": "pingpong", "seconds": one_way}))
        for part in parts[-2:]:
            part["bytes"] = size
    frame = pd.concat(parts, ignore_index=True)
    return frame.assign(pairs=1, directions=1, file="made up")


def receive_times(frame: pd.DataFrame) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return the calibrated times of MPI_Recv at `SIZES`, relative to the true ones; warnings."""
    calibration = calibrate(Measurements(frame), bandwidth=125e6, latency=15e-6)
    assert calibration.overheads.recv is not None
    sizes = SIZES.astype(float)
    times = calibration.overheads.recv.seconds(sizes)
    return times / (START_UP + PER_BYTE * sizes), calibration.warnings


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_usual_receive_comes_back(seed: int) -> None:
    ratio, warnings = receive_times(rows(seed=seed))
    assert np.abs(ratio - 1).max() < 0.02
    assert any("depends on how long the rank was idle before" in text for text in warnings)


def test_without_idle_times_nothing_is_done() -> None:
    ratio, warnings = receive_times(rows().drop(columns="idle"))
    assert np.abs(ratio - 1).max() > 0.02
    assert not any("idle" in text for text in warnings)


def test_idle_times_that_do_not_matter_are_left_alone() -> None:
    frame = rows(effect=(1.0, 1.0, 1.0))
    ratio, warnings = receive_times(frame)
    assert np.abs(ratio - 1).max() < 0.02
    assert not any("idle" in text for text in warnings)


def test_idle_times_come_from_the_starts_of_calls(tmp_path: Path) -> None:
    file = tmp_path / "recv.csv"
    file.write_text(
        "MPI_Recv,1,10.000000,2.000000e-06\n"
        "MPI_Recv,1,10.000502,2.000000e-06\n"
        "MPI_Send,4,11.000000,1.000000e-06\n"
        "MPI_Recv,4,11.000000,3.000000e-06\n"
        "MPI_Recv,2,5.000000,2.000000e-06\n"
    )
    frame = read_measurements([file]).frame
    assert frame["operation"].tolist() == ["recv", "recv", "send", "pingpong", "recv"]
    idle = frame.loc[frame["operation"] == "recv", "idle"]
    assert idle.isna().tolist() == [True, False, True]
    assert idle.iloc[1] == pytest.approx(500e-6, abs=1e-9)


CABLE_BANDWIDTH, STARTUP = 1e7, 60e-6
#: Two hosts with their own link, and two that only zones connect.
LINKS = """<platform version="4.1"><zone id="z" routing="Full">
<host id="a" speed="1Gf"/><host id="b" speed="1Gf"/>
<link id="cable" bandwidth="10MBps" latency="20us" sharing_policy="SPLITDUPLEX"/>
<link id="wide" bandwidth="1GBps" latency="20us"/>
<route src="a" dst="b"><link_ctn id="cable" direction="UP"/><link_ctn id="wide"/></route>
</zone></platform>"""
PEERS = """<platform version="4.1"><zone id="z" routing="Vivaldi">
<peer id="a" speed="1Gf" bw_in="10MBps" bw_out="10MBps" coordinates="0 0 0.01"/>
<peer id="b" speed="1Gf" bw_in="10MBps" bw_out="10MBps" coordinates="0 0 0.01"/>
</zone></platform>"""


def measured_with(burst: float, *, streams: bool = True) -> Measurements:
    """Return noiseless measurements of a token bucket."""
    rows = []
    for size in np.unique(np.geomspace(1, 1e6, 80).astype(int)).tolist():
        if 1000 < size < 3000:
            continue  # the third consecutive ping-pong finds some bytes left
        wire = (size + 16) / CABLE_BANDWIDTH
        # A continuing ping-pong: at most the bandwidth in each direction.
        one_way = max(STARTUP + max(wire - burst / CABLE_BANDWIDTH, 0.0), wire / 2)
        for _ in range(8):
            rows.append(("pingpong", size, one_way))
            rows.append(("send", size, 5e-6))
            rows.append(("recv", size, 5e-6))
            if streams:
                rows.append(("stream", size, max(wire, 8e-6)))
    frame = pd.DataFrame(rows, columns=["operation", "bytes", "seconds"])
    return Measurements(frame.assign(pairs=1, directions=1, file="x"))


def found(burst: float, *, streams: bool = True) -> Calibration:
    measured = measured_with(burst, streams=streams)
    return calibrate(measured, bandwidth=CABLE_BANDWIDTH, latency=20e-6, links=2)


def test_messages_that_pass_a_burst_do_not_raise_the_measured_bandwidth() -> None:
    calibration = calibrate(measured_with(4500), nodes=4, speed=1e9)
    assert calibration.route.bandwidth == pytest.approx(CABLE_BANDWIDTH, rel=0.005)
    without_streams = calibrate(measured_with(4500, streams=False), nodes=4, speed=1e9)
    assert without_streams.route.bandwidth > 1.01 * CABLE_BANDWIDTH


def test_one_node_has_a_host_for_each_core(tmp_path: Path) -> None:
    calibration = calibrate(measured_with(4500), nodes=1, cores=8, speed=1e9)
    calibration.platform.write(tmp_path / "mine.xml")
    machine = Platform.load(tmp_path / "mine.xml")
    assert [host.cores for host in machine.hosts] == [1] * 8
    with pytest.raises(InputError, match="on one node, messages are exchanged between cores"):
        calibrate(measured_with(4500), nodes=1)


def test_a_burst_is_found_and_the_ping_pong_met() -> None:
    calibration = found(4500)
    assert calibration.burst == pytest.approx(4500, rel=0.05)
    assert max(factor.bandwidth for factor in calibration.factors) <= 1
    assert calibration.failing().empty, calibration.failing()
    properties = calibration.platform.load().links[0]
    assert properties is not None
    # The loopbacks have no burst.
    bursts = set(calibration.platform.load().resources.link_burst.tolist())
    assert bursts == {0, round(calibration.burst)}


def test_sets_of_parameters_know_of_spent_bursts() -> None:
    """Repetitions are equal: each set simulates the ping-pong like the calibration."""
    calibration = found(4500)
    names = ("smpi/lat-factor", "smpi/bw-factor")
    expected = [Config(calibration.config)[name] for name in names]
    for options in draw_sets(calibration, 2).sets:
        for name, table in zip(names, expected, strict=True):
            drawn = Config(options)[name]
            for nbytes in (100, 2000, 3500, 10_000, 500_000):
                assert drawn.at(nbytes) == pytest.approx(table.at(nbytes), rel=1e-3), name


def test_what_a_spent_burst_holds_up_is_no_overhead() -> None:
    table = found(4500).config["smpi/or"]
    lines = [[float(number) for number in row.split(":")] for row in table.split(";")]
    assert max(start + slope * 8000 for _, start, slope in lines) < 10e-6, table


def test_without_a_burst_or_without_streams_there_is_none() -> None:
    assert found(0).burst == 0
    unknown = found(4500, streams=False)
    assert unknown.burst == 0
    assert not unknown.failing().empty


def test_the_slowest_links_of_a_route_have_the_burst(tmp_path: Path) -> None:
    file = tmp_path / "links.xml"
    file.write_text(LINKS)
    calibration = calibrate(measured_with(4500), platform=file)
    assert calibration.burst == pytest.approx(4500, rel=0.05)
    platform = calibration.platform.load()
    bursts = {
        link.name: platform.resources.link_burst[link.index]
        for link in platform.route("a", "b").links
    }
    assert bursts == {"cable_UP": round(calibration.burst), "wide": 0}


def test_a_platform_without_a_place_for_a_burst_says_so(tmp_path: Path) -> None:
    file = tmp_path / "peers.xml"
    file.write_text(PEERS)
    calibration = calibrate(measured_with(4500), platform=file)
    assert calibration.burst == 0
    assert any("no <cluster> or <link>" in warning for warning in calibration.warnings)


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
    # For five times, the interval of all is the 94 % interval.
    assert median_half_width(np.arange(8.0, 13.0)) == pytest.approx(0.2)
    assert median_half_width(np.ones(6)) == 0
    # The 6th and the 15th of 20 times enclose the median with a probability of 95.9 %.
    assert median_half_width(np.arange(1.0, 21.0)) == pytest.approx((15 - 10.5) / 10.5)


def test_overheads_beyond_the_ping_pong_give_way() -> None:
    """The receive, timed after idling, takes twice as long as the whole message."""

    def ping_pong(size: int) -> float:
        return 3e-6 + size / BANDWIDTH

    calibration = calibrate(
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
    assert calibration.failing().empty
    errors = calibration.errors()
    own = errors[errors["operation"] == "pingpong"]
    assert own["error"].abs().max() < 0.05
    assert max(factor.bandwidth for factor in calibration.factors) <= 1
    assert min(factor.latency for factor in calibration.factors) > 0
    assert any("exceed the time of the ping-pong" in warning for warning in calibration.warnings)
    # MPI_Send, timed in the ping-pong, has the larger weight.
    assert calibration.overheads.sender is not None
    assert calibration.overheads.sender.seconds(np.array([100.0]))[0] == pytest.approx(
        1e-6, rel=0.05
    )


def test_overheads_that_overlap_leave_the_bandwidth_alone() -> None:
    """The sender copies while the network transfers: both grow with the size, the sum does not."""
    calibration = calibrate(
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
    assert max(factor.bandwidth for factor in calibration.factors) <= 1
    assert calibration.failing().empty


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
        calibration = calibrate(calls(stream), bandwidth=BANDWIDTH, latency=LATENCY, links=2)
        receiver = calibration.overheads.receiver
        assert receiver is not None
        assert receiver.seconds(np.array([10.0]))[0] == pytest.approx(stream, rel=0.1)
        assert calibration.failing().empty


def test_streams_of_some_sizes_leave_the_others_alone() -> None:
    calls = measured(
        pingpong=lambda size: 20e-6 + 2 * size / BANDWIDTH,
        send=lambda size: 1e-6,
        isend=lambda size: 1e-6,
        recv=lambda size: 8e-6,
        stream=lambda size: 8e-6,
    )
    some = calls.frame[(calls.frame["operation"] != "stream") | (calls.frame["bytes"] < 5000)]
    calibration = calibrate(Measurements(some), bandwidth=BANDWIDTH, latency=LATENCY, links=2)
    assert calibration.failing().empty
    assert calibration.overheads.receiver is not None
    assert calibration.overheads.receiver.seconds(np.array([9e5]))[0] == pytest.approx(
        8e-6, rel=0.1
    )


def test_what_a_byte_takes_in_a_single_message_alone_keeps_no_link_busy(tmp_path: Path) -> None:
    """A card forwards bytes at 10 ns each, while the link already carries the next message."""
    calls = {
        "pingpong": lambda size: 10e-6 + 10e-9 * size + size / BANDWIDTH,
        "stream": lambda size: (size + 16) / BANDWIDTH,
    }

    def time_of_window(calibration: Calibration) -> float:
        calibration.platform.write(tmp_path / "platform.xml")
        lines = {"isend 1": "0", "irecv 0": "1"}
        text = "".join(f"{rank} {call} 0 40000\n" * 32 for call, rank in lines.items())
        (tmp_path / "trace").write_text(f"{text}0 waitall\n1 waitall\n")
        return replay(tmp_path / "trace", platform=tmp_path / "platform.xml").simulated_time

    nominal = {"bandwidth": BANDWIDTH, "latency": LATENCY, "links": 2}
    seconds = 32 * 40016 / BANDWIDTH
    alone = calibrate(measured(pingpong=calls["pingpong"]), **nominal)
    assert time_of_window(alone) > 1.5 * seconds
    calibration = calibrate(measured(**calls), **nominal)
    assert time_of_window(calibration) == pytest.approx(
        seconds + calls["pingpong"](40000), rel=0.05
    )
    assert calibration.failing().empty


def test_a_size_that_is_known_well_divides_its_segment() -> None:
    def ping_pong(size: int) -> float:
        bump = 1.3 if 900 < size < 1300 else 1.0
        return bump * (10e-6 + size / BANDWIDTH)

    calibration = calibrate(
        measured(pingpong=ping_pong), bandwidth=BANDWIDTH, latency=LATENCY, links=2
    )
    assert calibration.failing().empty
    assert calibration.to_dict()["failing_sizes"] == []
    assert any(segment.piece for segment in calibration.transfer.segments)
    # A piece is not a protocol change.
    assert not calibration.changes


def test_a_bandwidth_above_the_nominal_one_is_told() -> None:
    slow = measured(pingpong=lambda size: 10e-6 + size / (2 * BANDWIDTH))
    calibration = calibrate(slow, bandwidth=BANDWIDTH, latency=LATENCY, links=2)
    assert max(factor.bandwidth for factor in calibration.factors) == 1
    assert any("more than the nominal bandwidth" in warning for warning in calibration.warnings)
    assert not calibration.failing().empty
    assert any("the simulated ping-pong misses" in warning for warning in calibration.warnings)


SHARED_MEMORY = """0 send 1 7 300
0 send 1 8 1000
0 recv 1 9 1000
1 recv 0 8 1000
1 recv 0 7 300
1 send 0 9 1000
"""


def test_a_send_that_waits_until_the_receiver_calls_mpi(tmp_path: Path) -> None:
    """Open MPI within a node: above 256 bytes any call of the receiver ends MPI_Send.

    A program thus completes if rank 0 sends a message that rank 1 receives after another wait.
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
    # The sender's overhead above 256 bytes does not include the message back.
    sender = calibration.overheads.sender
    assert sender is not None
    assert sender.seconds(np.array([100.0, 1000.0])) == pytest.approx([0.1e-6, 0.3e-6], rel=0.1)
    calibration.platform.write(tmp_path / "node.xml")
    trace = tmp_path / "trace.txt"
    trace.write_text(SHARED_MEMORY)
    assert replay(trace, platform=tmp_path / "node.xml").simulated_time < 20e-6
