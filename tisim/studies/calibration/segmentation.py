"""Detection of breakpoints: where a curve of times over sizes changes from one line to another.

An MPI library changes protocol at a few sizes, where the time jumps or changes its slope. The
segmentation with the least squared relative residual is found for every number of segments by
dynamic programming (Bai & Perron, J. Appl. Econometrics 18, 2003), and the number of segments by an
information criterion (Schwarz 1978). Outliers have little weight, and if the relative noise differs
between sizes, quiet sizes weigh more.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tisim.studies.calibration.line import Floats, robust_line, robust_sigma

#: Minimum sizes of a detected segment: two make a line, two more test it.
MIN_SIZES = 4
#: Maximum number of segments: more are not protocol changes.
MAX_SEGMENTS = 12
#: Minimum ratio of a segment's sizes: steps in finer succession are packets, not protocols.
MIN_SPAN = 1.75
# Parameters that an additional segment costs in the criterion: its two coefficients...
_COST_OF_A_LINE = 2.0
# ... and its place, which costs more than a coefficient since it is searched for (Zhang & Siegmund,
# Biometrics 63, 2007).
_COST_OF_A_PLACE = 3.0
# Tolerance of a line: a smaller relative change is not a protocol change.
_INDIFFERENCE = 0.005
# The dynamic program first examines this many candidate breakpoints, then all around the best.
_PLACES = 500
_PASSES = 4
_OUTLIER_SIGMAS = 5.0


@dataclass(frozen=True)
class Points:
    """Times over sizes, in ascending order of size, one point per size."""

    # nbytes, seconds: sizes in bytes and times in seconds, shape ``(n,)``
    nbytes: Floats
    seconds: Floats
    offset: Floats  # known part of each time, in seconds, shape ``(n,)``
    weights: Floats  # relative weight of each point, shape ``(n,)``

    def part(self, first: int, end: int) -> Points:
        """Return the points ``first`` to ``end``, the latter exclusive."""
        inside = slice(first, end)
        return Points(
            self.nbytes[inside], self.seconds[inside], self.offset[inside], self.weights[inside]
        )


def find_breaks(points: Points, hints: Sequence[int] = ()) -> list[int]:
    """Find where `points` change from one line to another.

    `hints` are positions where another operation changes: they need less evidence, since they need
    not be searched for. Returns ascending positions ``i``: a new segment starts at
    ``points.nbytes[i]``. Empty if one line fits.
    """
    if len(points.nbytes) < 2 * MIN_SIZES:
        return []
    noise = np.ones_like(points.seconds)
    trust = _first_trust(points.seconds)
    breaks: list[int] = []
    for turn in range(_PASSES):
        weights = points.weights * trust / noise**2
        found = _best(points, weights, weights.mean())
        if turn and found == breaks:
            break
        breaks = found
        residuals = _residuals(points, weights, breaks)
        noise = _noise_profile(residuals)
        trust = _trust(residuals / noise, residuals / noise)
    return _accept_hints(points, weights / weights.mean(), breaks, hints)


def _trust(deviations: Floats, noise: Floats) -> Floats:
    """Return weights that limit the square of a deviation to that of five standard deviations.

    An outlier keeps a little weight, which next to a breakpoint determines its side.
    """
    far = np.abs(deviations) / (_OUTLIER_SIGMAS * robust_sigma(noise))
    return np.asarray(1.0 / np.maximum(far, 1.0) ** 2)


def _first_trust(seconds: Floats) -> Floats:
    """Return trust before any line is known, from the distance to the median of five points."""
    logs = np.log(seconds)
    deviations = np.zeros_like(logs)
    windows = np.lib.stride_tricks.sliding_window_view(logs, 5)
    deviations[2:-2] = logs[2:-2] - np.median(windows, axis=1)
    return _trust(deviations, np.diff(logs))


def _noise_profile(residuals: Floats) -> Floats:
    """Return the relative noise of each point from nearby residuals; its mean square is one."""
    width = max(15, len(residuals) // 10)
    if len(residuals) < 3 * width:
        return np.ones_like(residuals)
    padded = np.pad(np.abs(residuals), width, mode="reflect")
    windows = np.lib.stride_tricks.sliding_window_view(padded, 2 * width + 1)
    local = np.median(windows, axis=1)
    overall = np.sqrt(np.mean(local**2))
    if overall <= 0:
        return np.ones_like(residuals)
    return np.asarray(np.clip(local / overall, 0.3, 3.0))


def _costs(points: Points, weights: Floats, starts: NDArray[np.intp]) -> Floats:
    """Return the squared relative residual of the best line over each run of blocks.

    `starts` contains the start of each block of points, shape ``(m,)``; blocks are not divided.
    Entry ``[i, j]`` of the result, shape ``(m, m)``, is for blocks ``i`` to ``j`` inclusive;
    infinite below the diagonal.
    """
    relative = weights / points.seconds**2
    rest = points.seconds - points.offset
    x = points.nbytes
    moments = np.stack(
        [relative, relative * x, relative * x * x, relative * rest, relative * rest * x]
    )
    blocks = np.add.reduceat(moments, starts, axis=1)
    squares = np.add.reduceat(relative * rest * rest, starts)
    m = len(starts)
    upper = np.triu(np.ones((m, m), dtype=bool))
    # Sums that restart in every row: differences of one running sum would lose the digits of large
    # sizes to the weight of small ones.
    s, sx, sxx, sy, sxy = (np.cumsum(np.where(upper, row, 0.0), axis=1) for row in blocks)
    syy = np.cumsum(np.where(upper, squares, 0.0), axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = np.nan_to_num((s * sxy - sx * sy) / (s * sxx - sx * sx), posinf=0.0, neginf=0.0)
        slope = np.maximum(slope, 0.0)
        intercept = np.nan_to_num((sy - slope * sx) / s)
        through_zero = intercept < 0
        slope = np.where(through_zero, np.maximum(np.nan_to_num(sxy / sxx), 0.0), slope)
        intercept = np.where(through_zero, 0.0, intercept)
    cost = (
        syy
        - 2 * (intercept * sy + slope * sxy)
        + intercept**2 * s
        + 2 * intercept * slope * sx
        + slope**2 * sxx
    )
    return np.where(upper, np.maximum(cost, 0.0), np.inf)


def _best(points: Points, weights: Floats, unit: float) -> list[int]:
    """Return the breaks of the segmentation that the information criterion prefers."""
    n = len(points.nbytes)
    starts = np.unique(np.linspace(0, n, min(n, _PLACES), endpoint=False).astype(np.intp))
    cost = _costs(points, weights / unit, starts)
    first = np.append(starts, n)
    too_short = first[None, 1:] - first[:-1, None] < MIN_SIZES
    edges = np.append(points.nbytes[starts], points.nbytes[-1])
    too_short |= edges[None, 1:] < MIN_SPAN * edges[:-1, None]
    cost = np.where(too_short, np.inf, cost)
    # least[j]: cost of blocks 0 to j in the current number of segments; came[k][j]: start of the
    # last segment.
    least = cost[0].copy()
    came: list[NDArray[np.intp]] = []
    best_value, best_count = _criterion(least[-1], n, 1), 1
    for count in range(2, MAX_SEGMENTS + 1):
        through = least[:-1, None] + cost[1:, :]
        came.append(np.argmin(through, axis=0))
        least = np.min(through, axis=0)
        if not np.isfinite(least[-1]):
            break
        value = _criterion(least[-1], n, count)
        if value < best_value:
            best_value, best_count = value, count
    breaks: list[int] = []
    block = len(starts) - 1
    for count in range(best_count, 1, -1):
        last = int(came[count - 2][block])
        breaks.append(int(starts[last + 1]))
        block = last
    breaks.reverse()
    return _refine(points, weights, breaks, starts) if len(starts) < n else breaks


def _criterion(squares: float, n: int, segments: int) -> float:
    """Return Schwarz's criterion for `segments` lines with this squared relative residual."""
    mean = squares / n + _INDIFFERENCE**2
    parameters = (_COST_OF_A_LINE + _COST_OF_A_PLACE) * segments
    # Few points are overfitted: the correction of Hurvich & Tsai (1989).
    correction = n / max(n - 2.0 * segments - 1.0, 1.0)
    return float(n * np.log(mean) + parameters * np.log(n) * correction)


def _accept_hints(
    points: Points, weights: Floats, breaks: list[int], hints: Sequence[int]
) -> list[int]:
    """Add the hints that the criterion accepts when their place costs nothing."""
    n = len(points.nbytes)
    edges = [0, *breaks, n]
    while True:
        squares = _squares(points, weights, edges)
        wider = {
            hint: sorted([*edges, hint]) for hint in hints if _fits_between(points, edges, hint)
        }
        fewer = {hint: _squares(points, weights, wider[hint]) for hint in wider}
        best = min(fewer, key=lambda hint: fewer[hint], default=None)
        if best is None:
            return edges[1:-1]
        gain = n * np.log((squares / n + _INDIFFERENCE**2) / (fewer[best] / n + _INDIFFERENCE**2))
        if gain <= _COST_OF_A_LINE * np.log(n):
            return edges[1:-1]
        edges = wider[best]


def _squares(points: Points, weights: Floats, edges: list[int]) -> float:
    """Return the squared relative residual of the best lines between the edges."""
    return sum(_square(points, weights, first, end) for first, end in pairwise(edges))


def _fits_between(points: Points, edges: list[int], hint: int) -> bool:
    """Return whether a break at `hint` leaves segments of sufficient length on both sides."""
    if not 0 < hint < edges[-1]:
        return False
    after = bisect_right(edges, hint)
    sizes = np.append(points.nbytes, points.nbytes[-1])
    return all(
        b - a >= MIN_SIZES and sizes[b] >= MIN_SPAN * sizes[a]
        for a, b in ((edges[after - 1], hint), (hint, edges[after]))
    )


def _refine(
    points: Points, weights: Floats, breaks: list[int], starts: NDArray[np.intp]
) -> list[int]:
    """Move each break to the best size nearby, where the program examined only every few."""
    n = len(points.nbytes)
    step = int(np.diff(starts).max())
    refined = list(breaks)
    for i, place in enumerate(breaks):
        low = refined[i - 1] if i else 0
        high = breaks[i + 1] if i + 1 < len(breaks) else n
        candidates = range(
            max(low + MIN_SIZES, place - step), min(high - MIN_SIZES, place + step) + 1
        )
        sides = [
            _square(points, weights, low, c) + _square(points, weights, c, high) for c in candidates
        ]
        refined[i] = candidates[int(np.argmin(sides))]
    return refined


def _square(points: Points, weights: Floats, first: int, end: int) -> float:
    """Return the squared relative residual of the best line through ``points[first:end]``."""
    return float(_costs(points.part(first, end), weights[first:end], np.array([0]))[0, 0])


def _residuals(points: Points, weights: Floats, breaks: list[int]) -> Floats:
    """Return the log residuals of the lines between `breaks`."""
    edges = [0, *breaks, len(points.nbytes)]
    parts = []
    for first, end in pairwise(edges):
        part = points.part(first, end)
        x, y, known = part.nbytes, part.seconds, part.offset
        intercept, slope, _ = robust_line(x, y, weights[first:end], known)
        parts.append(np.log(y / np.maximum(intercept + slope * x + known, 1e-3 * y)))
    return np.concatenate(parts)
