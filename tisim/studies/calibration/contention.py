"""Contention: joint bandwidth of both directions of a link.

A full-duplex link should carry its bandwidth in each direction at the same time; real ones with
their host adapters achieve less together (Velho et al., ACM TOMACS 23, 2013). A ``limiter_link``,
shared by both directions, models this. But concurrent messages may also be slow because ranks wait
for each other: two that exchange large messages often do, those of a shift sometimes. A bottleneck
is never exceeded, whichever ranks wait. So the host is the bottleneck only if the fastest
repetition of every pattern stays below the bandwidth, and a shift over three hosts or more is among
the patterns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tisim.studies.calibration.line import Floats
from tisim.studies.calibration.measurements import Measurements

if TYPE_CHECKING:
    import pandas as pd

# Only large messages fill a link: those of at least this fraction of the largest size.
_FILLING = 0.1
# Bounds of the joint bandwidth of both directions, relative to one direction.
_MIN_RATIO, _MAX_RATIO = 1.0, 2.0
# A host that achieves this fraction of the bandwidth in both directions at once is no bottleneck.
_FULL_DUPLEX = 0.95
_BOTH_WAYS = ("both ways", "shift")
# Times have two modes if the largest gap between them is at least this factor, each side of it has
# at least this fraction of the times, and is narrower than the gap.
_GAP, _MIN_PART = 1.15, 0.1
_MIN_TIMES = 10


@dataclass(frozen=True)
class Mode:
    """One of the values around which repeated times cluster."""

    seconds: float  # their median
    # times, total: number of times in this mode, and of all times
    times: int
    total: int


@dataclass(frozen=True)
class Pattern:
    """The rates of concurrent messages of one pattern."""

    # ``both ways`` between one pair, disjoint ``pairs``, ``shift``, ``incast`` or ``fan-out``
    name: str
    # Bandwidth in each direction of a host (for an incast: into the host), relative to that of a
    # single transfer; median over the sizes.
    rate: float
    best: float  # the same for the fastest repetitions, at the size where they are fastest
    modes: dict[int, tuple[Mode, Mode]]  # by bytes, of each size with two modes


def two_modes(seconds: Floats) -> tuple[Mode, Mode] | None:
    """Return the two values around which times cluster; None if there is one, or too few times."""
    ordered = np.sort(seconds)
    total = len(ordered)
    if total < _MIN_TIMES:
        return None
    gaps = np.diff(np.log(ordered))
    least = max(int(np.ceil(_MIN_PART * total)), 2)
    inside = gaps[least - 1 : total - least]
    if not len(inside):
        return None
    place = least + int(np.argmax(inside))
    gap = float(gaps[place - 1])
    # The interquartile ranges of both sides.
    spreads = [
        np.ptp(np.log(np.quantile(side, [0.25, 0.75])))
        for side in (ordered[:place], ordered[place:])
    ]
    if gap < np.log(_GAP) or gap < max(spreads):
        return None
    return tuple(  # type: ignore[return-value]
        Mode(float(np.median(side)), len(side), total)
        for side in (ordered[:place], ordered[place:])
    )


@dataclass(frozen=True)
class Contention:
    """Rates of concurrent transfers.

    Parameters
    ----------
    ratio
        Joint bandwidth of both directions relative to one, between 1 and 2.
    measured_ratio
        The same as measured, which may be outside of these bounds.
    rates
        One row per size and number of pairs that fill the link: ``bytes``, ``pairs``, and in
        bytes/s ``one_way`` and ``both_ways``.
    patterns
        The measured patterns, each relative to a single transfer.
    """

    ratio: float
    measured_ratio: float
    rates: pd.DataFrame
    patterns: tuple[Pattern, ...] = ()

    @property
    def shift(self) -> Pattern | None:
        """The shift, if three hosts or more were measured."""
        return next((pattern for pattern in self.patterns if pattern.name == "shift"), None)

    @property
    def is_host_bound(self) -> bool:
        """True if the hosts are the bottleneck, as opposed to ranks waiting for each other.

        Only a shift shows this, which takes three hosts.
        """
        if self.shift is None:
            return False
        return all(pattern.best < _FULL_DUPLEX for pattern in self.both_ways)

    @property
    def both_ways(self) -> tuple[Pattern, ...]:
        """The patterns in which hosts send and receive concurrently."""
        return tuple(pattern for pattern in self.patterns if pattern.name in _BOTH_WAYS)

    @property
    def fraction(self) -> float:
        """Fraction of twice the bandwidth that both directions achieve together, 0.5 to 1."""
        return self.ratio / 2


def measure_contention(measurements: Measurements) -> Contention | None:
    """Compare transfers in both directions with those in one.

    Parameters
    ----------
    measurements
        ``transfer`` times in both directions, and in one direction or ping-pongs.

    Returns
    -------
    Contention or None
        None if nothing was measured in both directions, or there is no reference.
    """
    frame = measurements.frame
    transfers = frame[frame["operation"] == "transfer"]
    if "pattern" not in transfers:
        transfers = transfers.assign(pattern="pairs")
    pairs = transfers[transfers["pattern"] == "pairs"]
    both = _rates(pairs[pairs["directions"] == 2])
    one = _rates(pairs[pairs["directions"] == 1])
    if both.empty:
        return None
    both = both[both["bytes"] >= _FILLING * both["bytes"].max()]
    one_way = _one_way(measurements, one, both["bytes"].to_numpy(dtype=np.float64))
    if one_way is None:
        return None
    rates = both.rename(columns={"rate": "both_ways"}).assign(one_way=one_way)
    # Of several numbers of pairs, those that fill the link best show its capacity.
    best = rates.groupby("bytes")[["one_way", "both_ways"]].max()
    ratio = float((best["both_ways"] / best["one_way"]).median())
    patterns = tuple(_patterns(measurements, transfers, one))
    shift = next((pattern for pattern in patterns if pattern.name == "shift"), None)
    reached = ratio if shift is None else max(ratio, 2 * shift.rate)
    used = min(max(reached, _MIN_RATIO), _MAX_RATIO)
    return Contention(used, ratio, rates.reset_index(drop=True), patterns)


def _patterns(
    measurements: Measurements, transfers: pd.DataFrame, one: pd.DataFrame
) -> Iterator[Pattern]:
    """Yield the rate of each measured pattern."""
    is_pairs = transfers["pattern"] == "pairs"
    kinds = {
        "both ways": transfers[
            is_pairs & (transfers["directions"] == 2) & (transfers["pairs"] == 1)
        ],
        "pairs": transfers[is_pairs & (transfers["directions"] == 1) & (transfers["pairs"] > 1)],
        "shift": transfers[transfers["pattern"] == "shift"],
        "incast": transfers[transfers["pattern"] == "incast"],
        "fan-out": transfers[transfers["pattern"] == "fan-out"],
    }
    alone = one[one["pairs"] == 1]
    for name, rows in kinds.items():
        if rows.empty:
            continue
        if name == "pairs":
            rows = rows[rows["pairs"] == rows["pairs"].max()]
        # These move one message per pair into one host, or out of it.
        moved = rows["bytes"] * (rows["pairs"] if name in ("incast", "fan-out") else 1)
        rates = (moved / rows["seconds"]).groupby(rows["bytes"])
        medians = rates.median()
        one_way = _one_way(measurements, alone, medians.index.to_numpy(dtype=np.float64))
        if one_way is None:
            continue
        best = float(np.max(rates.max().to_numpy() / one_way))
        modes = {}
        for nbytes, times in rows.groupby("bytes")["seconds"]:
            found = two_modes(times.to_numpy())
            if found is not None:
                modes[int(nbytes)] = found
        yield Pattern(name, float(np.median(medians.to_numpy() / one_way)), best, modes)


def _rates(transfers: pd.DataFrame) -> pd.DataFrame:
    """Return the median bytes/s of all pairs and directions, by size and number of pairs."""
    moved = transfers["bytes"] * transfers["pairs"] * transfers["directions"]
    rated = transfers.assign(rate=moved / transfers["seconds"])
    return rated.groupby(["bytes", "pairs"], as_index=False)["rate"].median()


def _one_way(measurements: Measurements, one: pd.DataFrame, nbytes: Floats) -> Floats | None:
    """Return the bytes/s of one direction at each size in `nbytes`."""
    if not one.empty:
        best = one.groupby("bytes")["rate"].max()
        known = np.log(best.index.to_numpy(dtype=np.float64))
        return np.asarray(np.interp(np.log(nbytes), known, best.to_numpy(dtype=np.float64)))
    if measurements.has("pingpong"):
        return np.asarray(nbytes / measurements.curve("pingpong").at(nbytes))
    return None


def limiter_bandwidth(ratio: float, bandwidth: float, simulated: Callable[[float], float]) -> float:
    """Return the bandwidth of a limiter link at which the simulation has the measured ratio.

    `bandwidth` is the nominal one of one direction; `simulated` returns the ratio for a limiter's
    bandwidth, and increases with it. Returns bytes/s, between one and two times `bandwidth`.
    """
    from scipy.optimize import brentq

    low, high = bandwidth, 2 * bandwidth
    if simulated(low) >= ratio:
        return low
    if simulated(high) <= ratio:
        return high
    return float(brentq(lambda limiter: simulated(limiter) - ratio, low, high, rtol=1e-6))


# Where single messages are faster than the bandwidth that streams of them achieve, the link has a
# burst of ``b`` bytes (`ADR 27`): a message of ``k`` bytes takes ``t + (k + 16 - b) / bandwidth``
# if ``k`` is large, and ``t`` if it is small. Without streams this cannot be distinguished from a
# faster link.

# A message is faster than the bandwidth if it takes at most this fraction of the bandwidth's time.
_FASTER = 0.9
# A stream below this fraction of the bandwidth is delayed by something else.
_SUSTAINED = 0.9
# Messages in bytes up to which the start-up time is that of the shortest; and up to which messages
# that are long compared to a burst are short enough for an error of the bandwidth not to matter.
_SHORT, _LONGEST = 64, 1 << 16
_MIN_SIZES = 3
# Messages that distinguish burst from latency take at least this multiple of the shortest's time.
_LONG = 1.5
# Messages just above the burst find a partly empty bucket in a continuing ping-pong, and those far
# above it are delayed by any error of the bandwidth: both show less than the burst.
_UPPER = 0.75


def fit_burst(measured: Measurements, bandwidth: float, envelope: int) -> float:
    """Return the burst of the links of a route, in bytes; 0 if the measurements show none.

    `bandwidth` is what streams and long messages achieve, in bytes/s.
    """
    if not measured.has("stream"):
        return 0.0
    curve, stream = measured.curve("pingpong"), measured.curve("stream")
    wire = (curve.nbytes + envelope) / bandwidth
    inside = (curve.nbytes >= stream.nbytes[0]) & (curve.nbytes <= stream.nbytes[-1])
    sustained = stream.at(curve.nbytes) > _SUSTAINED * wire
    faster = curve.is_well_known & inside & sustained & (curve.seconds < _FASTER * wire)
    if faster.sum() < _MIN_SIZES:
        return 0.0
    short = curve.seconds[curve.nbytes <= _SHORT]
    startup = float(np.median(short)) if len(short) else float(curve.seconds[0])
    # The burst exceeds every message that was faster; longer ones are delayed by the remainder.
    long = (curve.nbytes <= _LONGEST) & (curve.seconds > _LONG * startup) & (wire > startup)
    if long.sum() < _MIN_SIZES:
        return 0.0
    bursts = bandwidth * (wire[long] + startup - curve.seconds[long])
    return max(float(np.quantile(bursts, _UPPER)), 0.0)
