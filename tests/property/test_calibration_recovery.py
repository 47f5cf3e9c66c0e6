"""Calibration recovers known parameters from noisy synthetic measurements.

The measurements are drawn from the model's closed form for two processes on an idle route, with one
message in flight, so that nothing is shared or scheduled. That it is the simulator's model is
checked in tests/unit/calibration/test_calibration_simulation.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from tests.support import campaign
from tisim.studies.calibration import Measurements, Route, factors_of, fit_overheads, fit_transfer

ENVELOPE = 16
ROUTE = Route(30e-6, 125e6)
LARGEST = 4e6
CASES = campaign(30, 200)
NOISES = (0.02, 0.05, 0.10)
SIZES = 160
REPETITIONS = 60
OUTLIERS = 0.01

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Truth:
    """Parameters to recover: one line per segment for each operation, and factors."""

    breaks: NDArray[np.int64]
    detached: int
    send: Floats
    isend: Floats
    recv: Floats
    factors: Floats

    def lines(self, table: Floats, nbytes: Floats) -> Floats:
        rows = table[np.searchsorted(self.breaks, nbytes, side="left")]
        return rows[:, 0] + rows[:, 1] * nbytes

    def transfer(self, nbytes: Floats) -> Floats:
        rows = self.factors[np.searchsorted(self.breaks, nbytes, side="left")]
        wire = nbytes + ENVELOPE
        return ROUTE.latency * rows[:, 0] + wire / (ROUTE.bandwidth * rows[:, 1])

    def times(self, nbytes: Floats) -> dict[str, Floats]:
        eager = nbytes < self.detached
        transfer = self.transfer(nbytes)
        send = self.lines(self.send, nbytes)
        recv = self.lines(self.recv, nbytes)
        return {
            "pingpong": transfer + np.where(eager, send + recv, 0.0),
            "send": np.where(eager, send, transfer),
            "isend": self.lines(self.isend, nbytes),
            "recv": np.where(eager, recv, transfer),
        }


def gaps(lines: Floats, sizes: Floats, breaks: Floats) -> Floats:
    """Logarithm of new over old line at the two sizes on each side of each breakpoint."""
    places = np.searchsorted(sizes, breaks, side="right")[:, None] + np.arange(-2, 2)
    near = sizes[places]
    old = lines[:-1, :1] + lines[:-1, 1:] * near
    new = lines[1:, :1] + lines[1:, 1:] * near
    return np.log(new / old)


def draw_transfer(rng: np.random.Generator, edges: Floats) -> Floats:
    """Draw lines whose two coefficients both matter in their range of sizes."""
    lines = np.empty((len(edges) - 1, 2))
    intercept = rng.uniform(1e-5, 5e-5)
    for row, high in enumerate(edges[1:]):
        slope = intercept / high * rng.uniform(1, 4)
        lines[row] = intercept, slope
        intercept = (intercept + slope * high) * rng.uniform(0.4, 1.3)
    return lines


def notable(lines: Floats, sizes: Floats, breaks: Floats) -> bool:
    """True if every breakpoint is visible at the sampled sizes: the lines differ by 15 % there.

    They do not cross, and no overhead jumps as if MPI_Send began to wait.
    """
    gap = gaps(lines, sizes, breaks)
    apart = (np.abs(gap) > 0.15).all() and (np.ptp(np.sign(gap), axis=1) == 0).all()
    return bool(apart and gap.max() < np.log(1.8))


def seen_in_ping_pong(
    transfer: Floats, overheads: list[Floats], sizes: Floats, breaks: Floats
) -> bool:
    """True if each jump of the transfer is also 15 % of the ping-pong, overheads included."""
    places = np.searchsorted(sizes, breaks, side="right")[:, None] + np.arange(-2, 2)
    near = sizes[places]
    total = sum(t[:-1, :1] + t[:-1, 1:] * near for t in (transfer, *overheads))
    jump = np.diff(transfer[:, 0])[:, None] + np.diff(transfer[:, 1])[:, None] * near
    return bool((np.abs(jump) > 0.15 * total).all())


def draw_truth(rng: np.random.Generator, sizes: Floats) -> Truth:
    """Draw breakpoints a decade apart; MPI_Send starts to wait at one of the last two."""
    count = int(rng.integers(2, 5))
    while True:
        breaks = np.sort(np.exp(rng.uniform(np.log(200), np.log(4e5), count))).astype(np.int64)
        edges = np.array([1.0, *breaks, LARGEST])
        if (edges[1:] / edges[:-1]).min() > 9:
            break

    def until_notable(draw: Callable[[], Floats]) -> Floats:
        while not notable(lines := draw(), sizes, breaks):
            pass
        return lines

    def draw_overhead() -> Floats:
        """Draw an overhead: a fraction of the transfer, with a jump wherever that jumps."""
        return transfer * rng.uniform(0.05, 0.3) * rng.uniform(0.75, 1.33, transfer.shape)

    while True:
        transfer = until_notable(lambda: draw_transfer(rng, edges))
        send, recv = until_notable(draw_overhead), until_notable(draw_overhead)
        if seen_in_ping_pong(transfer, [send, recv], sizes, breaks):
            break
    # MPI_Isend behaves as MPI_Send while that does not wait.
    isend = until_notable(lambda: send * rng.uniform(0.8, 1.2, send.shape))
    factors = np.column_stack(
        [transfer[:, 0] / ROUTE.latency, 1 / (transfer[:, 1] * ROUTE.bandwidth)]
    )
    detached = int(breaks[rng.integers(count - 2, count)]) + 1
    return Truth(breaks, detached, send, isend, recv, factors)


def draw_sizes(rng: np.random.Generator) -> Floats:
    """Draw sizes uniformly on a logarithmic scale."""
    return np.unique(np.exp(rng.uniform(0, np.log(LARGEST), SIZES)).astype(int)).astype(np.float64)


def measure(rng: np.random.Generator, truth: Truth, sizes: Floats, noise: float) -> Measurements:
    nbytes = np.repeat(sizes, REPETITIONS)
    frames = []
    for operation, exact in truth.times(sizes).items():
        seconds = np.repeat(exact, REPETITIONS) * np.exp(noise * rng.standard_normal(len(nbytes)))
        outliers = rng.random(len(nbytes)) < OUTLIERS
        seconds[outliers] *= rng.uniform(2, 10, outliers.sum())
        frames.append(
            pd.DataFrame({"operation": operation, "bytes": nbytes.astype(int), "seconds": seconds})
        )
    frame = pd.concat(frames, ignore_index=True)
    return Measurements(frame.assign(pairs=1, directions=1, file="synthetic"))


def check(found: object, truth: object, sizes: Floats, what: str) -> str:
    """Describe breakpoints not recovered within one sampled size; empty if all are."""
    places = np.searchsorted(sizes, np.asarray(found), side="right")
    wanted = np.searchsorted(sizes, np.asarray(truth), side="right")
    if len(places) != len(wanted) or np.abs(places - wanted).max(initial=0) > 1:
        return f"{what}: breakpoints {found}, should be {truth}; "
    return ""


def compare(fitted: Floats, truth: Floats, noise: float, what: str) -> str:
    error = np.abs(fitted / truth - 1).max()
    return f"{what}: off by {error:.3f}; " if error > noise else ""


def run_case(seed: int, noise: float) -> str:
    """Draw a truth, measure it, calibrate; returns the parameters not recovered, or empty."""
    rng = np.random.default_rng(seed)
    sizes = draw_sizes(rng)
    truth = draw_truth(rng, sizes)
    measured = measure(rng, truth, sizes, noise)
    overheads = fit_overheads(measured)
    transfer = fit_transfer(measured.curve("pingpong"), overheads)
    wrong = check(transfer.breakpoints, truth.breaks, sizes, "transfer")
    if overheads.thresholds is None:
        return wrong + "no threshold"
    wrong += check([overheads.thresholds.detached - 1], [truth.detached - 1], sizes, "threshold")
    eager = truth.breaks < truth.detached - 1
    pairs = [
        ("os", overheads.sender, truth.send[: eager.sum() + 1], truth.breaks[eager]),
        ("or", overheads.receiver, truth.recv[: eager.sum() + 1], truth.breaks[eager]),
        ("ois", overheads.isend, truth.isend, truth.breaks),
    ]
    for what, fit, table, breaks in pairs:
        assert fit is not None
        problem = check(fit.breakpoints, breaks, sizes, what)
        if not problem:
            lines = np.array([(s.line.intercept, s.line.slope) for s in fit.segments])
            problem = compare(lines, table, noise, what)
        wrong += problem
    if len(transfer.segments) == len(truth.factors):
        found = np.array([(f.latency, f.bandwidth) for f in factors_of(transfer, ROUTE)])
        wrong += compare(found, truth.factors, noise, "factors")
    return wrong


@pytest.mark.parametrize("noise", NOISES)
def test_parameters_come_back(noise: float) -> None:
    cases = range(NOISES.index(noise), CASES, len(NOISES))
    wrong = {seed: problem for seed in cases if (problem := run_case(seed, noise))}
    assert wrong == {}
