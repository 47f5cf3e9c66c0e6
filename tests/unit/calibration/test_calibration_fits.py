"""Lines, segments, thresholds, overheads, factors and contention, each alone."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from tisim.errors import InputError
from tisim.studies.calibration import (
    Curve,
    Measurements,
    Overheads,
    Route,
    factors_of,
    find_thresholds,
    fit_line,
    fit_overheads,
    fit_piecewise,
    fit_transfer,
    measure_contention,
)
from tisim.studies.calibration.calibration import explain
from tisim.studies.calibration.contention import limiter_bandwidth
from tisim.studies.calibration.factors import tables
from tisim.studies.calibration.piecewise import boundary

Floats = NDArray[np.float64]


def sizes(count: int = 60, largest: float = 1e6) -> Floats:
    return np.unique(np.geomspace(1, largest, count).astype(int)).astype(np.float64)


def curve(nbytes: Floats, seconds: Floats, operation: str = "pingpong", count: int = 1) -> Curve:
    return Curve(operation, nbytes, np.asarray(seconds), np.full(len(nbytes), count))


def measurements(**curves: tuple[Floats, Floats]) -> Measurements:
    frames = [
        pd.DataFrame({"operation": name, "bytes": x.astype(int), "seconds": y})
        for name, (x, y) in curves.items()
    ]
    frame = pd.concat(frames, ignore_index=True).assign(pairs=1, directions=1, file="made up")
    return Measurements(frame)


# Lines


def test_an_exact_line_comes_back() -> None:
    x = sizes()
    line = fit_line(x, 3e-6 + 2e-9 * x)
    assert line.intercept == pytest.approx(3e-6, rel=1e-6)
    assert line.slope == pytest.approx(2e-9, rel=1e-6)
    assert line.residual < 1e-6
    assert (line.sizes, line.measurements) == (len(x), len(x))


def test_what_is_known_already_is_not_in_the_line() -> None:
    x = sizes()
    known = 1e-6 + 1e-9 * x
    line = fit_line(x, 3e-6 + 2e-9 * x + known, offset=known)
    assert (line.intercept, line.slope) == pytest.approx((3e-6, 2e-9), rel=1e-6)


def test_outliers_do_not_move_a_line() -> None:
    x = sizes(200)
    y = 3e-6 + 2e-9 * x
    rng = np.random.default_rng(1)
    y = y * np.exp(0.02 * rng.standard_normal(len(x)))
    clean = fit_line(x, y)
    y[[10, 80]] *= 50
    dirty = fit_line(x, y)
    assert dirty.intercept == pytest.approx(clean.intercept, rel=0.005)
    assert dirty.slope == pytest.approx(clean.slope, rel=0.005)


def test_coefficients_are_never_negative() -> None:
    x = sizes()
    falling = fit_line(x, 2e-6 - 1e-12 * x)
    assert falling.slope == 0
    assert falling.intercept == pytest.approx(2e-6, rel=0.3)
    convex = fit_line(x, 1e-12 * x**1.5)
    assert convex.intercept == 0
    assert convex.slope > 0


def test_the_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(2)
    x = sizes(40, 1e5)
    covered = 0
    for _ in range(200):
        line = fit_line(x, (1e-5 + 1e-9 * x) * np.exp(0.05 * rng.standard_normal(len(x))))
        covered += line.intercept_interval[0] < 1e-5 < line.intercept_interval[1]
        covered += line.slope_interval[0] < 1e-9 < line.slope_interval[1]
    assert 0.9 < covered / 400 < 0.99


def test_two_points_say_nothing_about_their_error() -> None:
    line = fit_line(np.array([1.0, 1000.0]), np.array([1e-6, 2e-6]))
    assert np.isinf(line.slope_interval[1])
    assert fit_line(np.array([8.0]), np.array([1e-6])).slope == 0


# Segments


def test_one_line_has_no_breakpoint() -> None:
    x = sizes()
    assert fit_piecewise(curve(x, 3e-6 + 2e-9 * x)).breakpoints == ()


def test_a_jump_and_a_change_of_slope_are_found() -> None:
    x = sizes(120)
    y = np.where(x > 1500, 6e-6, 3e-6) + 8e-9 * x
    y = np.where(x > 65536, 6e-6 + 65536 * 8e-9 + 3e-9 * (x - 65536), y)
    fit = fit_piecewise(curve(x, y))
    first, second = fit.breakpoints
    assert x[x > 1500][0] == x[x > first][0]
    assert x[x > 65536][0] == x[x > second][0]
    assert fit.seconds(x) == pytest.approx(y, rel=1e-3)


def test_noise_that_grows_with_the_size_hides_no_jump_below_it() -> None:
    rng = np.random.default_rng(3)
    x = sizes(300)
    noise = np.interp(np.log(x), [0, np.log(1e6)], [0.01, 0.2])
    y = np.where(x > 500, 3.5e-6, 3e-6) + 1e-9 * x
    fit = fit_piecewise(curve(x, y * np.exp(noise * rng.standard_normal(len(x)))))
    assert len(fit.breakpoints) == 1
    assert np.abs(np.searchsorted(x, fit.breakpoints[0]) - np.searchsorted(x, 500)) <= 1


def test_many_sizes_are_refined_to_the_exact_one() -> None:
    x = np.arange(1.0, 3001.0)
    y = np.where(x > 1234, 5e-6, 3e-6) + 1e-9 * x
    assert fit_piecewise(curve(x, y)).breakpoints == (1234,)


def test_given_breakpoints_are_taken_as_they_are() -> None:
    x = sizes()
    fit = fit_piecewise(curve(x, 3e-6 + 2e-9 * x), breakpoints=[1420, 32768, 10**9])
    assert fit.breakpoints == (1420, 32768)
    assert [segment.first > segment.above for segment in fit.segments] == [True] * 3
    with pytest.raises(InputError, match="no pingpong was measured between the breakpoints 1420"):
        fit_piecewise(curve(x, 3e-6 + 2e-9 * x), breakpoints=[1420, 1421])


def test_a_hint_is_taken_where_the_curve_shows_it_faintly() -> None:
    """A jump of 4 % with a noise of 3 %: half the evidence suffices, but no jump is invented."""
    x = sizes(100)
    alone = hinted = wrong = 0
    for seed in range(30):
        noise = np.exp(0.03 * np.random.default_rng(seed).standard_normal(len(x)))
        faint = curve(x, (np.where(x > 1000, 3.12e-6, 3e-6) + 1e-10 * x) * noise)
        alone += 1000 in fit_piecewise(faint).breakpoints
        hinted += 1000 in fit_piecewise(faint, hints=[1000]).breakpoints
        plain = curve(x, (3e-6 + 1e-10 * x) * noise)
        wrong += len(fit_piecewise(plain, hints=[1000]).breakpoints)
    assert hinted > alone + 8
    assert wrong == 0


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (62793, 65626, 65536),
        (65536, 70000, 65536),
        (1382, 1448, 1414),
        (65535, 65536, 65535),
        (4, 5, 4),
        (0, 1, 0),
    ],
)
def test_a_boundary_is_a_power_of_two_where_one_fits(left: int, right: int, expected: int) -> None:
    assert boundary(left, right) == expected
    assert left <= expected < right


def test_the_frame_of_segments() -> None:
    x = sizes()
    frame = fit_piecewise(curve(x, 3e-6 + 2e-9 * x, "send", 7), breakpoints=[1000]).frame()
    assert frame["operation"].tolist() == ["send", "send"]
    assert frame["above_bytes"].tolist() == [0, 1000]
    assert frame["measurements"].tolist() == [7 * count for count in frame["sizes"]]


# Thresholds


def test_send_that_waits_for_the_receiver() -> None:
    x = sizes()
    ping_pong = curve(x, 3e-5 + 1e-8 * x)
    isend = curve(x, 3e-6 + 1e-10 * x, "isend")
    send = curve(x, np.where(x > 5e4, ping_pong.seconds, 1.2 * isend.seconds), "send")
    for reference in (isend, None):
        thresholds = find_thresholds(ping_pong, send=send, isend=reference)
        assert thresholds is not None
        assert x[x >= thresholds.detached][0] == x[x > 5e4][0]
        assert thresholds.async_small == thresholds.detached


def test_send_that_waits_for_a_late_receiver_says_it_best() -> None:
    x = sizes()
    ping_pong = curve(x, 3e-5 + 1e-8 * x)
    send = curve(x, np.where(x > 200, 2e-5, 2e-6), "send")
    late = curve(x, np.where(x > 4e4, 4 * ping_pong.seconds, send.seconds), "late_send")
    thresholds = find_thresholds(ping_pong, send=send, late_send=late)
    assert thresholds is not None
    assert x[x >= thresholds.detached][0] == x[x > 4e4][0]


def test_send_that_always_waits() -> None:
    x = sizes()
    ping_pong = curve(x, 3e-5 + 1e-8 * x)
    thresholds = find_thresholds(ping_pong, late_send=curve(x, 4 * ping_pong.seconds, "late_send"))
    assert thresholds is not None
    assert (thresholds.async_small, thresholds.detached) == (1, 1)


def test_messages_that_do_not_arrive_before_their_receive() -> None:
    x = sizes()
    ping_pong = curve(x, 3e-5 + 1e-8 * x)
    send = curve(x, np.where(x > 2e5, ping_pong.seconds, 2e-6 + 1e-10 * x), "send")
    recv = curve(x, np.where(x > 1e4, ping_pong.seconds, 6e-6 + 1e-9 * x), "recv")
    thresholds = find_thresholds(ping_pong, send=send, recv=recv)
    assert thresholds is not None
    assert x[x >= thresholds.async_small][0] == x[x > 1e4][0]
    assert x[x >= thresholds.detached][0] == x[x > 2e5][0]
    assert "nothing arrives before" in thresholds.evidence
    alone = find_thresholds(ping_pong, recv=recv)
    assert alone is not None
    assert alone.detached == alone.async_small == thresholds.async_small


def test_send_that_never_waits() -> None:
    x = sizes()
    thresholds = find_thresholds(curve(x, 3e-5 + 1e-8 * x), send=curve(x, 2e-6 + 1e-10 * x, "send"))
    assert thresholds is not None
    assert thresholds.detached == 1_000_001
    assert "no call waits" in thresholds.evidence


def test_nothing_is_known_without_calls() -> None:
    x = sizes()
    assert find_thresholds(curve(x, 3e-5 + 1e-8 * x)) is None


# Overheads and factors


def test_overheads_and_factors_add_up_to_the_ping_pong() -> None:
    x = sizes(100)
    eager = x <= 65536
    wire = np.where(eager, 2e-5 + 9e-9 * (x + 16), 2e-4 + 8.5e-9 * (x + 16))
    send, recv = 4e-6 + 2e-10 * x, 8e-6 + 1e-9 * x
    data = measurements(
        pingpong=(x, wire + np.where(eager, send + recv, 0)),
        send=(x, np.where(eager, send, wire)),
        isend=(x, np.where(eager, send, 3e-6)),
        recv=(x, np.where(eager, recv, wire)),
    )
    overheads = fit_overheads(data)
    assert overheads.thresholds is not None
    assert overheads.thresholds.detached == 65537
    assert overheads.tables() == {
        "smpi/os": "0:4e-06:2e-10;65536:0:0",
        "smpi/ois": "0:4e-06:2e-10;65536:3e-06:0",
        "smpi/or": "0:8e-06:1e-09;65536:0:0",
    }
    transfer = fit_transfer(data.curve("pingpong"), overheads)
    factors = factors_of(transfer, Route(20e-6, 125e6))
    assert [factor.above for factor in factors] == [0, 65536]
    assert [factor.latency for factor in factors] == pytest.approx([1, 10], rel=1e-4)
    assert [factor.bandwidth for factor in factors] == pytest.approx([8 / 9, 8 / 8.5], rel=1e-4)
    assert tables(factors)["smpi/lat-factor"].startswith("0:1;65552:")
    words = [change.explanation for change in explain([transfer], overheads.thresholds)]
    assert "from eager to rendezvous" in words[0]


def test_without_overheads_the_factors_hold_everything() -> None:
    x = sizes()
    data = measurements(pingpong=(x, 2e-5 + 8e-9 * (x + 16)))
    overheads = fit_overheads(data)
    assert overheads == Overheads()
    assert set(overheads.tables().values()) == {"0:0:0"}
    (factor,) = factors_of(fit_transfer(data.curve("pingpong"), overheads), Route(2e-5, 125e6))
    assert (factor.latency, factor.bandwidth) == pytest.approx((1, 1), rel=1e-4)


def test_a_step_takes_no_bandwidth_out_of_the_model() -> None:
    """A flat stretch in the data must not become an infinite bandwidth."""
    x = sizes(100)
    y = np.where((x > 2e4) & (x < 2e5), 1e-3, 3e-5 + 8e-9 * x)
    transfer = fit_transfer(curve(x, y), Overheads())
    assert min(segment.line.slope for segment in transfer.segments) >= 8e-9 / 4 * 0.99


def test_a_route_without_latency_cannot_be_scaled() -> None:
    with pytest.raises(InputError, match="latency of the route is zero"):
        Route(0.0, 1e9)
    with pytest.raises(InputError, match="bandwidth of the route is zero"):
        Route(1e-6, 0.0)


# Contention


def transfers(rows: list[tuple[int, int, int, float]]) -> Measurements:
    frame = pd.DataFrame(rows, columns=["bytes", "pairs", "directions", "seconds"])
    return Measurements(frame.assign(operation="transfer", file="made up"))


def test_contention_compares_both_directions_with_one() -> None:
    contention = measure_contention(
        transfers(
            [
                (10**6, 1, 1, 0.01),
                (10**6, 2, 1, 0.016),
                (10**6, 1, 2, 0.0125),
                (10**6, 2, 2, 0.02),
                (10, 1, 1, 1e-5),
                (10, 1, 2, 1e-5),
            ]
        )
    )
    assert contention is not None
    # Two pairs fill the link: 125 MB/s in one direction, 200 MB/s in both.
    assert contention.ratio == pytest.approx(1.6)
    assert contention.fraction == pytest.approx(0.8)
    assert contention.rates["bytes"].unique().tolist() == [10**6]


def test_contention_stays_between_one_and_two_directions() -> None:
    contention = measure_contention(transfers([(10**6, 1, 1, 0.01), (10**6, 1, 2, 0.008)]))
    assert contention is not None
    assert (contention.ratio, contention.measured_ratio) == (2.0, pytest.approx(2.5))


def test_contention_needs_both_directions() -> None:
    assert measure_contention(transfers([(10**6, 1, 1, 0.01)])) is None
    assert measure_contention(transfers([(10**6, 1, 2, 0.01)])) is None


def test_a_limiter_reaches_the_ratio_within_its_bounds() -> None:
    def simulated(limiter: float) -> float:
        return min(limiter / 1.05, 1.9)

    assert limiter_bandwidth(1.5, 1.0, simulated) == pytest.approx(1.575, rel=1e-5)
    assert limiter_bandwidth(0.9, 1.0, simulated) == 1.0
    assert limiter_bandwidth(1.95, 1.0, simulated) == 2.0
