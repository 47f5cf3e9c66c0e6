"""Straight line through one segment, fitted on the logarithms of the times.

The noise of a measured time is relative: 5 % of a microsecond at one byte, 5 % of a second at a
gigabyte. So the line ``a + b k`` minimises the residuals ``log t - log(a + b k + offset)``, which
weigh every size equally. Both coefficients are physical (a start-up time, a time per byte) and
non-negative.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]

# Residuals beyond this many standard deviations count in proportion to their size, not its square
# (Huber, Ann. Math. Stat. 35, 1964): 95 % efficient where the noise is Gaussian.
_HUBER = 1.345
_MAD_TO_SIGMA = 1.4826
_ITERATIONS = 30
_TOLERANCE = 1e-8
# A smaller relative slope is rounding noise.
_ROUNDING = 1e-12
# Precision of printed times: smaller residuals do not measure the noise.
_MIN_SIGMA = 1e-9


@dataclass(frozen=True)
class Line:
    """Line of a segment, ``seconds = intercept + slope * bytes``, and its precision.

    Parameters
    ----------
    intercept, slope
        Seconds, and seconds per byte; never negative.
    intercept_interval, slope_interval
        95 % confidence intervals.
    residual
        Relative residual: the median of ``abs(log(measured / fitted))``.
    sizes, measurements
        Distinct message sizes in the segment, and number of measured times.
    """

    intercept: float
    slope: float
    intercept_interval: tuple[float, float]
    slope_interval: tuple[float, float]
    residual: float
    sizes: int
    measurements: int

    def seconds(self, nbytes: Floats) -> Floats:
        """Return the line's time for messages of `nbytes` bytes, in seconds."""
        return np.asarray(self.intercept + self.slope * nbytes, dtype=np.float64)

    def raised(self, intercept: float, slope: float) -> Line:
        """Return the line raised by `intercept` seconds and `slope` seconds per byte."""
        low, high = self.slope_interval
        first, last = self.intercept_interval
        return replace(
            self,
            intercept=self.intercept + intercept,
            intercept_interval=(first + intercept, last + intercept),
            slope=self.slope + slope,
            slope_interval=(low + slope, high + slope),
        )


def robust_sigma(residuals: Floats) -> float:
    """Return the standard deviation of `residuals` from the median of their magnitudes."""
    return max(_MAD_TO_SIGMA * float(np.median(np.abs(residuals))), _MIN_SIGMA)


def fit_line(
    nbytes: Floats,
    seconds: Floats,
    *,
    weights: Floats | None = None,
    counts: NDArray[np.int64] | None = None,
    offset: Floats | None = None,
) -> Line:
    """Fit one line by iterated re-weighting on log residuals.

    Parameters
    ----------
    nbytes, seconds
        Sizes in bytes and their times (positive), both of shape ``(n,)``, ``n >= 1``.
    weights
        Relative weights of the points, shape ``(n,)``; equal ones by default.
    counts
        Number of measured times of each point, shape ``(n,)``; one by default.
    offset
        Known seconds that the model adds to the line at each point (software overheads), shape
        ``(n,)``.

    Returns
    -------
    Line
        With ``n == 1`` or a single size, the slope is zero.
    """
    base = np.ones_like(seconds) if weights is None else weights
    known = np.zeros_like(seconds) if offset is None else offset
    intercept, slope, robust = robust_line(nbytes, seconds, base, known)
    return _with_intervals(nbytes, seconds, known, robust, (intercept, slope), counts)


def robust_line(
    nbytes: Floats, seconds: Floats, base: Floats, known: Floats
) -> tuple[float, float, Floats]:
    """Return intercept and slope as in `fit_line`, and the final weight of each point."""
    positive = np.maximum(seconds - known, 1e-3 * seconds)
    intercept, slope = _nonnegative(nbytes, positive, base / seconds**2)
    robust = base
    reach = nbytes.max()
    for _ in range(_ITERATIONS):
        fitted = np.maximum(intercept + slope * nbytes + known, 1e-3 * seconds)
        residuals = np.log(seconds / fitted)
        far = np.abs(residuals) / (_HUBER * robust_sigma(residuals))
        robust = base / np.maximum(far, 1.0)
        # Gauss-Newton: the residual is linear in the coefficients around the current line.
        target = fitted * (1.0 + np.clip(residuals, -1.0, 1.0)) - known
        before = intercept, slope
        intercept, slope = _nonnegative(nbytes, target, robust / fitted**2)
        moved = abs(intercept - before[0]) + abs(slope - before[1]) * reach
        if moved <= _TOLERANCE * (intercept + slope * reach):
            break
    return intercept, slope, robust


def _nonnegative(nbytes: Floats, seconds: Floats, weights: Floats) -> tuple[float, float]:
    """Weighted least squares of ``intercept + slope * nbytes``, both non-negative."""
    total = weights.sum()
    if total <= 0:
        return float(np.median(seconds)), 0.0
    mean_x, mean_y = (weights @ nbytes) / total, (weights @ seconds) / total
    spread = weights @ (nbytes - mean_x) ** 2
    slope = 0.0 if spread <= 0 else (weights @ ((nbytes - mean_x) * (seconds - mean_y))) / spread
    intercept = mean_y - slope * mean_x
    if slope < _ROUNDING * mean_y / nbytes.max(initial=1.0):
        return max(float(mean_y), 0.0), 0.0
    if intercept < 0:
        square = weights @ nbytes**2
        return 0.0, max(float((weights @ (nbytes * seconds)) / square), 0.0) if square > 0 else 0.0
    return float(intercept), float(slope)


def _with_intervals(
    nbytes: Floats,
    seconds: Floats,
    known: Floats,
    robust: Floats,
    coefficients: tuple[float, float],
    counts: NDArray[np.int64] | None,
) -> Line:
    """Return the line with its confidence intervals, from the curvature of the fit's minimum."""
    from scipy.stats import t as student

    intercept, slope = coefficients
    fitted = np.maximum(intercept + slope * nbytes + known, 1e-3 * seconds)
    residuals = np.log(seconds / fitted)
    freedom = len(nbytes) - 2
    errors = np.full(2, np.inf)
    if freedom > 0 and np.ptp(nbytes) > 0:
        design = np.column_stack([1.0 / fitted, nbytes / fitted])
        scale = np.abs(design).max(axis=0)
        scale[scale == 0] = 1.0
        design /= scale
        curvature = design.T @ (robust[:, None] * design)
        variance = float(robust @ residuals**2) / freedom
        errors = np.sqrt(np.abs(np.diag(np.linalg.pinv(curvature))) * variance) / scale
        errors *= float(student.ppf(0.975, freedom))
    return Line(
        intercept=intercept,
        slope=slope,
        intercept_interval=(max(intercept - errors[0], 0.0), intercept + float(errors[0])),
        slope_interval=(max(slope - errors[1], 0.0), slope + float(errors[1])),
        residual=float(np.median(np.abs(residuals))),
        sizes=len(nbytes),
        measurements=len(nbytes) if counts is None else int(counts.sum()),
    )
