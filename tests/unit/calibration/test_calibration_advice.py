"""Warnings that practice has taught, and the report and the picture that show a calibration."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from tisim.studies.calibration import Calibration, Measurements, calibrate, read_measurements
from tisim.studies.calibration.report import figure, report

Floats = NDArray[np.float64]
SIZES = np.unique(np.geomspace(1, 1e6, 40).astype(int)).astype(np.float64)


def one_way(nbytes: Floats = SIZES) -> Floats:
    return 4e-5 + 8.5e-9 * nbytes


def measured(nbytes: Floats, seconds: Floats, operation: str = "pingpong") -> pd.DataFrame:
    frame = pd.DataFrame({"operation": operation, "bytes": nbytes.astype(int), "seconds": seconds})
    return frame.assign(pairs=1, directions=1, file="made up")


def calibrated(*frames: pd.DataFrame, **options: object) -> Calibration:
    measurements = Measurements(pd.concat(frames, ignore_index=True))
    return calibrate(measurements, bandwidth=125e6, latency=15e-6, **options)  # type: ignore[arg-type]


def warned(calibration: Calibration, words: str) -> bool:
    return any(words in warning for warning in calibration.warnings)


def test_a_good_ping_pong_has_few_warnings() -> None:
    found = calibrated(measured(SIZES, one_way()))
    assert [warning.split(":")[0].split(" (")[0] for warning in found.warnings] == [
        "no overhead was measured on its own",
        "contention was not measured",
        "MPI_Test and MPI_Iprobe that find nothing were not measured",
        "no ping-pong above 1000000 bytes was measured",
    ]


def test_only_the_polling_that_was_not_measured() -> None:
    tests = measured(np.zeros(3), np.full(3, 1e-6), "test")
    found = calibrated(measured(SIZES, one_way()), tests)
    assert warned(found, "MPI_Iprobe that find nothing were not measured")
    assert not warned(found, "MPI_Test")


def test_few_sizes_in_a_segment() -> None:
    found = calibrated(measured(SIZES, one_way()), breakpoints=[2, 1000])
    assert warned(found, "pingpong from 1 to 2 bytes: only 2 sizes were measured")


def test_times_that_do_not_lie_on_a_line() -> None:
    scattered = one_way() * np.where(np.arange(len(SIZES)) % 2, 1.3, 1 / 1.3)
    assert warned(calibrated(measured(SIZES, scattered)), "the residual is 26%")


def test_intra_node_measurements_mixed_in() -> None:
    network = measured(np.repeat(SIZES, 12), np.repeat(one_way(), 12))
    inside = measured(np.repeat(SIZES, 3), np.repeat(one_way() / 20, 3))
    found = calibrated(network, inside)
    assert warned(found, "intra-node measurements mixed in? 20% of the ping-pongs take less than")
    assert not warned(calibrated(network), "intra-node")


def test_a_ping_pong_faster_than_the_wire() -> None:
    assert warned(calibrated(measured(SIZES, one_way() / 20)), "were both processes on one host?")


def test_a_nominal_bandwidth_in_the_wrong_unit() -> None:
    frame = measured(SIZES, one_way())
    found = calibrate(Measurements(frame), bandwidth=125, latency=15e-6)
    assert warned(found, "large messages reach 1.18e+08 bytes/s, the nominal bandwidth is 125")


def test_overheads_that_leave_nothing_for_the_network() -> None:
    send = measured(SIZES, 0.95 * one_way(), "send")
    found = calibrated(measured(SIZES, one_way()), send)
    assert warned(found, "the overheads alone take nine tenths of the ping-pong or more")
    assert warned(found, "not measured: MPI_Isend, MPI_Recv of an arrived message")


def test_transfers_that_contradict_the_ping_pong() -> None:
    transfer = measured(np.array([1e6]), np.array([1e6 / 60e6]), "transfer")
    found = calibrated(measured(SIZES, one_way()), transfer)
    assert warned(found, "single transfers reach 60 MB/s, the last segment of the ping-pong means")


def test_more_than_two_directions() -> None:
    both = measured(np.array([1e6]), np.array([2e6 / 300e6]), "transfer").assign(directions=2)
    found = calibrated(measured(SIZES, one_way()), both)
    assert warned(found, "times the bandwidth of one, which no link does")
    assert found.limiter is None


def test_breakpoints_where_nothing_was_measured() -> None:
    found = calibrated(measured(SIZES, one_way()), breakpoints=[1000, 10**7])
    assert warned(found, "both sides of 10000000 bytes: these breakpoints are not used")
    assert found.transfer.breakpoints == (1000,)


def test_the_report_has_every_operation_and_breakpoint() -> None:
    eager = SIZES <= 65536
    send = measured(SIZES, np.where(eager, 4e-6 + 2e-10 * SIZES, one_way()), "send")
    found = calibrated(measured(SIZES, one_way() + np.where(eager, 0, 2e-4)), send)
    text = report(found)
    assert "Transfer: the ping-pong, one way" in text
    assert "Time inside MPI_Send (smpi/os)" in text
    assert "MPI_Send starts to wait for the receiver" in text
    assert all(len(line) <= 100 for line in text.splitlines() if line.startswith("warning"))
    assert text.endswith("\n")


def test_the_picture_shows_the_simulated_ping_pong() -> None:
    found = calibrated(measured(np.append(SIZES, 0), np.append(one_way(), 4e-5)))
    (axes,) = figure(found).axes
    lines = {line.get_label(): line for line in axes.get_lines()}
    circles = lines["ping-pong simulated on the calibrated platform"]
    sizes, times = circles.get_data()
    assert sizes.min() == 0.5
    assert np.interp(1e6, sizes, times) == pytest.approx(one_way(np.array([1e6]))[0], rel=0.01)
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")


@pytest.mark.parametrize(("spread", "is_said"), [(1.02, False), (2.0, True)])
def test_measurements_under_load_are_not_to_be_used(
    tmp_path: Path, spread: float, is_said: bool
) -> None:
    rows = [
        f"pingpong,{size},{(size * 1e-8 + 1e-5) * spread**step}"
        for size in (1, 3, 9, 30, 99, 300, 999, 3000, 9999)
        for step in (-1, -0.5, 0, 0, 0.5, 1, 1, -1)
    ]
    file = tmp_path / "m.csv"
    file.write_text("\n".join(["operation,bytes,seconds", *rows, ""]))
    first, *others = calibrate(read_measurements([file])).warnings
    assert first.startswith("do not use this calibration") == is_said
    assert bool(others) != is_said
