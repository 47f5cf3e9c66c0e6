"""Concurrent messages of hosts and switches: distinguished, written, and replayed."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tisim.errors import InputError
from tisim.platform import Platform
from tisim.studies.calibration import Calibration, calibrate, read_measurements
from tisim.studies.calibration.benchmark_run import benchmark_source
from tisim.studies.calibration.contention import two_modes
from tisim.studies.calibration.measurements import Measurements
from tisim.studies.calibration.procedure import find_switches
from tisim.studies.calibration.report import report

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
    """Write a file of `tisim benchmark`, with these rates relative to the bandwidth.

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
    with pytest.raises(InputError, match="come from the platform file"):
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


ROUNDS_HEADER = "operation,bytes,pairs,directions,seconds,host,peer,pattern,messages,round"
NBYTES = 200_000
Cables = dict[str, float]


def measured(
    folder: Path,
    switches: list[str],
    *,
    cables: Cables | None = None,
    trunk: float = 100.0,
    delay: float = 0.0,
    fan_out: float | None = None,
) -> Measurements:
    """Write the measurements of hosts named by letters: one string per switch.

    Rates are relative to the bandwidth of one cable; messages between switches take `delay` longer.
    """
    hosts = sorted("".join(switches))
    home = {host: number for number, own in enumerate(switches) for host in own}
    cables = cables or {}
    random = np.random.default_rng(5)
    rows = [ROUNDS_HEADER]

    def row(kind: str, nbytes: int, pairs: int, seconds: float, *where: object) -> None:
        rows.append(f"{kind},{nbytes},{pairs},1,{seconds!r},{','.join(map(str, where))}")

    number = 0
    for _ in range(3 * len(hosts)):  # the benchmark ensures that every pair meets about three times
        for one, other in zip(hosts, hosts[1:] + hosts[:1], strict=True):
            order = [one, other, *random.permutation([x for x in hosts if x not in (one, other)])]
            pairs = [*zip(order[::2], order[1::2], strict=False)]
            for ends in (pairs, [(b, a) for a, b in pairs]):
                number += 1
                crossing = sum(home[a] != home[b] for a, b in ends)
                for a, b in ends:
                    rate = min(cables.get(a, 1.0), cables.get(b, 1.0))
                    far = home[a] != home[b]
                    rate = min(rate, trunk / crossing) if far else rate
                    noise = float(random.uniform(1.0, 1.03))
                    seconds = noise * NBYTES / (rate * BANDWIDTH)
                    row("beside", NBYTES, len(ends), seconds, a, b, "pair", 1, number)
                    trip = 2 * noise * (LATENCY + far * delay)
                    row("short_trip", 1, len(ends), trip, a, b, "pair", 1, number)
    if fan_out is not None:
        for _ in range(5):
            where = ("a", "b", "fan-out", 1, 0)
            row("transfer", NBYTES, len(hosts) - 1, fan_out * NBYTES / BANDWIDTH, *where)
    file = folder / "network.csv"
    file.write_text("\n".join([*rows, ""]))
    return read_measurements([written(folder, shift=1.0, hosts=2), file])


def test_two_switches_and_their_trunk(tmp_path: Path) -> None:
    calibration = calibrate(measured(tmp_path, ["abcd", "efg"], trunk=0.5, delay=1e-4))
    assert calibration.switches is not None
    assert calibration.switches.switch == (0, 0, 0, 0, 1, 1, 1)
    assert set(calibration.switches.cables) == {1.0}
    assert calibration.switches.trunks[0].bandwidth == pytest.approx(0.5, rel=0.03)
    assert "Switch 1: e, f, g; its trunk carries 0.4" in report(calibration)
    platform = Platform.load(written_to(tmp_path, calibration))
    near, far = platform.route("a", "b"), platform.route("a", "e")
    assert len(near.links) == 2
    assert len(far.links) == 3
    usual = near.links[0].bandwidth
    assert far.links[1].bandwidth == pytest.approx(0.5 * usual, rel=0.03)
    assert far.latency - near.latency == pytest.approx(1e-4, rel=0.1)
    # The bottleneck of a shift is the trunk: no limiter, and no warning of a shared link.
    assert calibration.limiter is None
    assert not [text for text in calibration.warnings if "share" in text]


def written_to(folder: Path, found: object) -> Path:
    path = folder / "p.xml"
    found.platform.write(path)  # type: ignore[attr-defined]
    return path


def test_three_switches_meet_in_a_core(tmp_path: Path) -> None:
    calibration = calibrate(measured(tmp_path, ["abc", "def", "ghi"], trunk=0.6))
    assert calibration.switches is not None
    assert calibration.switches.switch == (0, 0, 0, 1, 1, 1, 2, 2, 2)
    platform = Platform.load(written_to(tmp_path, calibration))
    assert len(platform.route("a", "i").links) == 4


def test_latency_tells_switches_apart(tmp_path: Path) -> None:
    switches = find_switches(measured(tmp_path, ["ace", "bdf"], delay=5e-4), BANDWIDTH)
    assert switches is not None
    assert switches.switch == (0, 1, 0, 1, 0, 1)
    assert switches.trunks[0].bandwidth is None
    assert switches.trunks[0].delay == pytest.approx(5e-4, rel=0.1)


def test_a_slow_host_and_the_weight_of_its_cable(tmp_path: Path) -> None:
    # Sent by a usual host, five messages take the time of five: the slow host has a fifth.
    calibration = calibrate(measured(tmp_path, ["abcdef"], cables={"c": 0.3}, fan_out=5.0))
    assert calibration.switches is not None
    assert calibration.switches.cables[2] == pytest.approx(0.3, rel=0.03)
    assert calibration.switches.trunks == ()
    assert calibration.weight is not None
    assert calibration.weight.value == 0
    assert calibration.weight.errors[0] < 0.1 < calibration.weight.errors[8775]
    assert "network/weight-S is 0" in report(calibration)
    platform = Platform.load(written_to(tmp_path, calibration))
    assert platform.config["network/weight-S"] == "0"
    slow, usual = platform.route("a", "c").links[1], platform.route("a", "b").links[1]
    assert slow.bandwidth == pytest.approx(0.3 * usual.bandwidth, rel=0.03)
    # A cluster of another size has equal hosts, which a warning states.
    cluster = calibrate(calibration.measurements, nodes=64)
    assert cluster.platform.load().config.get("network/weight-S") is None
    assert [text for text in cluster.warnings if "6 measured hosts are not alike" in text]


def test_equal_hosts_on_one_switch_are_a_cluster(tmp_path: Path) -> None:
    calibration = calibrate(measured(tmp_path, ["abcdef"]))
    assert calibration.switches is not None
    assert calibration.switches.is_uniform
    assert calibration.weight is None
    assert "6 hosts on one switch, all alike" in report(calibration)
    assert b"<cluster" in calibration.platform.to_bytes(tmp_path)
    single = read_measurements([written(tmp_path, shift=1.0)])
    assert find_switches(single, BANDWIDTH) is None


def test_everybody_meets_everybody_once(tmp_path: Path) -> None:
    """Compile the benchmark's tournament alone."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler is installed")
    code = re.search(r"static int opponent.*?\n}\n", benchmark_source(), re.DOTALL)
    assert code is not None
    main = """
#include <stdio.h>
int main(void) {
  for (int n = 2; n < 12; n++)
    for (int r = 0; r < n + n % 2 - 1; r++, putchar('\\n'))
      for (int p = 0; p < n; p++) printf("%d ", opponent(p, n, r));
}
"""
    (tmp_path / "t.c").write_text(code[0] + main)
    subprocess.run([compiler, "t.c", "-o", "t"], cwd=tmp_path, check=True)
    lines = subprocess.run(["./t"], cwd=tmp_path, capture_output=True, text=True).stdout
    rounds = [[int(word) for word in line.split()] for line in lines.splitlines()]
    for places in range(2, 12):
        own = [round_ for round_ in rounds if len(round_) == places]
        assert len(own) == places + places % 2 - 1
        for round_ in own:
            alone = [place for place, other in enumerate(round_) if other < 0]
            assert len(alone) == places % 2
            met = [place for place in range(places) if place not in alone]
            assert all(round_[round_[place]] == place for place in met)
        for place in range(places):
            others = sorted(round_[place] for round_ in own if round_[place] >= 0)
            assert others == [other for other in range(places) if other != place]
