"""Concurrent messages of three hosts and more, told apart; streams; the whole cluster."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tisim.errors import InputError
from tisim.platform import Platform
from tisim.studies.calibration import Calibration, calibrate, read_measurements
from tisim.studies.calibration.contention import two_modes

BANDWIDTH, LATENCY = 1e9, 10e-6
HEADER = "operation,bytes,pairs,directions,seconds,host,peer,pattern,messages"


def transfer(nbytes: int, rate: float) -> float:
    return LATENCY + nbytes / (rate * BANDWIDTH)


def written(
    folder: Path,
    *,
    shift: float,
    both: float = 0.5,
    bimodal: bool = False,
    waiting: bool = False,
    hosts: int = 4,
) -> Path:
    """A file of `tisim benchmark`, with these rates relative to the bandwidth.

    With `bimodal`, a third of the exchanges take twice as long; with `waiting`, all shifts but one
    of each size take longer.
    """
    rows = [HEADER]

    def row(operation: str, nbytes: int, seconds: float, *more: object) -> None:
        pairs, directions, pattern, messages = more or (1, 1, "pair", 1)
        rows.append(
            f"{operation},{nbytes},{pairs},{directions},{seconds!r},a,b,{pattern},{messages}"
        )

    for nbytes in np.unique(np.geomspace(1, 1e6, 40).astype(int)).tolist():
        for _ in range(7):
            row("pingpong", nbytes, 2 * transfer(nbytes, 1))
            row("idle_pingpong", nbytes, 3 * transfer(nbytes, 1))
            row("stream", nbytes, 2 * LATENCY + 10 * nbytes / BANDWIDTH, 1, 1, "pair", 10)
    for nbytes in (300_000, 1_000_000):
        for repetition in range(12):
            slow = 2.0 if bimodal and repetition % 3 == 0 else 1.0
            waits = 0.7 if waiting and repetition > 0 else 1.0
            row("transfer", nbytes, transfer(nbytes, 1), 1, 1, "pairs", 1)
            row("transfer", nbytes, transfer(nbytes, both) * slow, 1, 2, "pairs", 1)
            row("transfer", nbytes, transfer(nbytes, 0.6), 2, 1, "pairs", 1)
            if hosts > 2:
                row("transfer", nbytes, transfer(nbytes, shift * waits), 4, 1, "shift", 1)
                row("transfer", nbytes, transfer(nbytes, 1 / 3), 3, 1, "incast", 1)
    file = folder / "measured.csv"
    file.write_text("\n".join([*rows, ""]))
    return file


def found_in(file: Path) -> Calibration:
    return calibrate(read_measurements([file]), nodes=64, speed=3.2e9, cores=4)


def test_patterns_are_told_apart(tmp_path: Path) -> None:
    contention = found_in(written(tmp_path, shift=1)).contention
    assert contention is not None
    rates = {pattern.name: pattern.rate for pattern in contention.patterns}
    assert rates == pytest.approx(
        {"both ways": 0.5, "pairs": 0.6, "shift": 1, "incast": 1}, rel=0.05
    )


def test_a_host_that_carries_a_shift_gets_no_limiter(tmp_path: Path) -> None:
    found = found_in(written(tmp_path, shift=1))
    assert found.limiter is None
    found.platform.write(tmp_path / "c.xml")
    assert "limiter_link" not in (tmp_path / "c.xml").read_text()


def test_ranks_that_wait_in_a_shift_are_no_bottleneck_of_their_hosts(tmp_path: Path) -> None:
    found = found_in(written(tmp_path, shift=1, waiting=True))
    assert found.contention is not None
    assert found.contention.shift is not None
    assert found.contention.shift.rate == pytest.approx(0.7, rel=0.05)
    assert found.contention.shift.best == pytest.approx(1, rel=0.05)
    assert found.limiter is None


def test_two_hosts_never_get_a_limiter(tmp_path: Path) -> None:
    found = found_in(written(tmp_path, shift=1, both=0.7, hosts=2))
    assert found.limiter is None
    found.platform.write(tmp_path / "c.xml")
    assert "limiter_link" not in (tmp_path / "c.xml").read_text()
    assert any("no limiter_link is written" in warning for warning in found.warnings)


def test_a_host_that_is_slow_in_a_shift_gets_a_limiter_of_the_faster_pattern(
    tmp_path: Path,
) -> None:
    found = found_in(written(tmp_path, shift=0.7))
    assert found.limiter == pytest.approx(1.4 * BANDWIDTH, rel=0.1)


def test_two_modes_are_reported_with_how_often(tmp_path: Path) -> None:
    found = found_in(written(tmp_path, shift=1, bimodal=True))
    assert found.contention is not None
    low, high = found.contention.patterns[0].modes[1_000_000]
    assert (low.times, high.times, low.total) == (8, 4, 12)
    assert high.seconds == pytest.approx(2 * low.seconds)
    assert any("two modes at 2 sizes" in warning for warning in found.warnings)
    patterns = found.to_dict()["contention"]
    assert patterns is not None
    assert patterns["patterns"][0]["pattern"] == "both ways"


def test_noise_is_one_mode() -> None:
    rng = np.random.default_rng(1)
    assert two_modes(np.exp(0.03 * rng.standard_normal(200))) is None
    assert two_modes(np.array([1.0, 2.0] * 4)) is None
    one_outlier = np.append(np.ones(20), 5.0)
    assert two_modes(one_outlier) is None


def test_the_whole_cluster_is_written_with_measured_nominal_values(tmp_path: Path) -> None:
    found = found_in(written(tmp_path, shift=1))
    found.platform.write(tmp_path / "c.xml")
    platform = Platform.load(tmp_path / "c.xml")
    assert len(platform.hosts) == 64
    assert (platform.hosts[0].speed, platform.hosts[0].cores) == (3.2e9, 4)
    route = platform.route(platform.hosts[0], platform.hosts[63])
    assert min(link.bandwidth for link in route.links) == pytest.approx(BANDWIDTH, rel=0.05)
    assert route.latency == pytest.approx(LATENCY, rel=0.1)
    assert found.failing().empty
    with pytest.raises(InputError, match="are those of the platform file"):
        calibrate(
            read_measurements([tmp_path / "measured.csv"]), platform=tmp_path / "c.xml", nodes=2
        )


def test_a_stream_gives_the_time_of_each_further_message(tmp_path: Path) -> None:
    measured = read_measurements([written(tmp_path, shift=1)])
    stream = measured.curve("stream")
    large = stream.nbytes > 1e5
    assert stream.seconds[large] == pytest.approx(stream.nbytes[large] / BANDWIDTH, rel=0.02)


def test_idling_before_a_ping_pong_is_told(tmp_path: Path) -> None:
    warnings = found_in(written(tmp_path, shift=1)).warnings
    assert any("after idling, small ping-pongs take 1.5 times" in warning for warning in warnings)


def test_a_pattern_that_is_unknown_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "x.csv"
    file.write_text(f"{HEADER}\ntransfer,10,1,1,0.1,a,b,ring,1\n")
    with pytest.raises(InputError, match="unknown pattern 'ring'"):
        read_measurements([file])
