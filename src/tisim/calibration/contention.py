"""Contention: how much both directions of a link carry together.

A full-duplex link should carry its bandwidth in each direction at once; real ones with their host
adapters reach less together (Velho et al., ACM TOMACS 23, 2013). A ``limiter_link``, shared by both
directions, says how much.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tisim.calibration.line import Floats
from tisim.calibration.measurements import Measurements

if TYPE_CHECKING:
    import pandas as pd

# Only the largest messages fill a link: those of at least this part of the largest size.
_FILLING = 0.1
# Together the two directions carry at least what one does, and at most twice that.
_LEAST, _MOST = 1.0, 2.0


@dataclass(frozen=True)
class Contention:
    """What concurrent transfers reached.

    Parameters
    ----------
    ratio
        Bandwidth of both directions together over that of one, between 1 and 2.
    measured_ratio
        The same as measured, outside of these bounds if the measurements are.
    rates
        One row a size and number of pairs that fill the link: ``bytes``, ``pairs``, and in bytes/s
        ``one_way`` and ``both_ways``.
    """

    ratio: float
    measured_ratio: float
    rates: pd.DataFrame

    @property
    def fraction(self) -> float:
        """Fraction of twice the bandwidth that both directions reach together, 0.5 to 1."""
        return self.ratio / 2


def measure_contention(measurements: Measurements) -> Contention | None:
    """Compare transfers in both directions with those in one.

    Parameters
    ----------
    measurements
        ``transfer`` times in both directions; in one direction too, or ping-pongs instead.

    Returns
    -------
    Contention or None
        None if nothing was measured in both directions, or nothing to compare it with.
    """
    frame = measurements.frame
    transfers = frame[frame["operation"] == "transfer"]
    both = _rates(transfers[transfers["directions"] == 2])
    one = _rates(transfers[transfers["directions"] == 1])
    if both.empty:
        return None
    both = both[both["bytes"] >= _FILLING * both["bytes"].max()]
    one_way = _one_way(measurements, one, both["bytes"].to_numpy(dtype=np.float64))
    if one_way is None:
        return None
    rates = both.rename(columns={"rate": "both_ways"}).assign(one_way=one_way)
    # Of several numbers of pairs, those that fill the link best tell what it carries.
    best = rates.groupby("bytes")[["one_way", "both_ways"]].max()
    ratio = float((best["both_ways"] / best["one_way"]).median())
    return Contention(min(max(ratio, _LEAST), _MOST), ratio, rates.reset_index(drop=True))


def _rates(transfers: pd.DataFrame) -> pd.DataFrame:
    """Median bytes a second of all pairs and directions, by size and number of pairs."""
    moved = transfers["bytes"] * transfers["pairs"] * transfers["directions"]
    rated = transfers.assign(rate=moved / transfers["seconds"])
    return rated.groupby(["bytes", "pairs"], as_index=False)["rate"].median()


def _one_way(measurements: Measurements, one: pd.DataFrame, nbytes: Floats) -> Floats | None:
    """Bytes a second of one direction at each size in `nbytes`."""
    if not one.empty:
        best = one.groupby("bytes")["rate"].max()
        known = np.log(best.index.to_numpy(dtype=np.float64))
        return np.asarray(np.interp(np.log(nbytes), known, best.to_numpy(dtype=np.float64)))
    if measurements.has("pingpong"):
        return np.asarray(nbytes / measurements.curve("pingpong").at(nbytes))
    return None


def limiter_bandwidth(ratio: float, bandwidth: float, simulated: Callable[[float], float]) -> float:
    """Bandwidth of a limiter link with which the simulation reaches the measured ratio.

    Parameters
    ----------
    ratio
        Bandwidth of both directions together over that of one.
    bandwidth
        Nominal bandwidth of one direction, in bytes/s.
    simulated
        The same ratio as simulated, given a limiter's bandwidth; it grows with it.

    Returns
    -------
    float
        In bytes/s, between one and two times `bandwidth`.
    """
    from scipy.optimize import brentq

    low, high = bandwidth, 2 * bandwidth
    if simulated(low) >= ratio:
        return low
    if simulated(high) <= ratio:
        return high
    return float(brentq(lambda limiter: simulated(limiter) - ratio, low, high, rtol=1e-6))
