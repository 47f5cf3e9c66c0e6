"""Curves of times as lines between breakpoints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tisim.errors import InputError
from tisim.studies.calibration.line import Floats, Line, fit_line
from tisim.studies.calibration.measurements import Curve
from tisim.studies.calibration.segmentation import Points, find_breaks

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Segment:
    """A line and its range of message sizes.

    Parameters
    ----------
    above
        Boundary in bytes: the segment covers larger sizes, up to the next boundary.
    first, last
        Smallest and largest measured size in the segment, in bytes.
    line
        Line over the message size (of the payload, without envelope).
    piece
        Number of the piece, from 1, if the segment was divided because one line missed it
        (`refined`); 0 if it is whole.
    """

    above: int
    first: int
    last: int
    line: Line
    piece: int = 0


@dataclass(frozen=True)
class Piecewise:
    """Times of an operation as lines between breakpoints, discontinuous at protocol changes.

    Parameters
    ----------
    operation
        The timed operation.
    segments
        In ascending order of size; the first segment's boundary is 0 and it includes size 0.
    """

    operation: str
    segments: tuple[Segment, ...]

    @property
    def breakpoints(self) -> tuple[int, ...]:
        """Boundaries between segments, in bytes: larger sizes belong to the next segment."""
        return tuple(segment.above for segment in self.segments[1:])

    def seconds(self, nbytes: Floats) -> Floats:
        """Return the times of messages of `nbytes` bytes, in seconds."""
        which = np.searchsorted(np.array(self.breakpoints), nbytes, side="left")
        intercepts = np.array([segment.line.intercept for segment in self.segments])
        slopes = np.array([segment.line.slope for segment in self.segments])
        return np.asarray(intercepts[which] + slopes[which] * nbytes)

    def below(self, limit: float) -> Piecewise | None:
        """Return the segments that begin below `limit` bytes; None if there are none."""
        inside = tuple(segment for segment in self.segments if segment.first < limit)
        return Piecewise(self.operation, inside) if inside else None

    def frame(self) -> pd.DataFrame:
        """Return a row per segment: boundaries, coefficients, 95 % intervals, residual, points."""
        import pandas as pd

        return pd.DataFrame([_row(self.operation, segment) for segment in self.segments])


def _row(operation: str, segment: Segment) -> dict[str, object]:
    line = segment.line
    return {
        "operation": operation,
        "above_bytes": segment.above,
        "first_bytes": segment.first,
        "last_bytes": segment.last,
        "intercept_s": line.intercept,
        "intercept_low_s": line.intercept_interval[0],
        "intercept_high_s": line.intercept_interval[1],
        "slope_s_per_byte": line.slope,
        "slope_low_s_per_byte": line.slope_interval[0],
        "slope_high_s_per_byte": line.slope_interval[1],
        "residual": line.residual,
        "sizes": line.sizes,
        "measurements": line.measurements,
    }


def boundary(left: float, right: float) -> int:
    """Return the size in bytes, between two measured neighbours, at which a protocol changes.

    A power of two if there is one between them (including ``left``, whose size belongs to the lower
    segment), since libraries and operators set such limits; else the geometric mean.
    """
    power = 2.0 ** np.floor(np.log2(max(right - 1.0, 1.0)))
    return int(min(power if left <= power else np.sqrt(max(left, 1.0) * right), right - 1.0))


def fit_piecewise(
    curve: Curve,
    *,
    breakpoints: Sequence[int] | None = None,
    changes: Sequence[int] = (),
    hints: Sequence[int] = (),
    offset: Floats | None = None,
    least_slope: float = 0.0,
    least_intercept: float = 0.0,
) -> Piecewise:
    """Fit lines to a curve, between given or detected breakpoints.

    Parameters
    ----------
    curve
        The times, one point per size.
    breakpoints
        Boundaries in bytes given by the user; detected if None.
    changes
        Known boundaries (protocol changes), in addition to detected ones.
    hints
        Boundaries of other operations: used if this curve shows them, even faintly.
    offset
        Known seconds in each time in addition to the line, shape of ``curve.nbytes``.
    least_slope
        Lower bound of every slope, in seconds per byte.
    least_intercept
        Lower bound of every intercept, in seconds.

    Raises
    ------
    InputError
        If no size was measured between two of the user's breakpoints.
    """
    known = np.zeros_like(curve.seconds) if offset is None else offset
    least = least_intercept + least_slope * curve.nbytes
    points = Points(curve.nbytes, curve.seconds, known + least, curve.weights)
    places = _breakpoint_positions(curve, changes)
    if breakpoints is not None:
        places |= _breakpoint_positions(curve, breakpoints)
    else:
        places |= _found(points, sorted(places), _breakpoint_positions(curve, hints, strict=False))
    starts = [0, *sorted(places)]
    ends = [*starts[1:], len(curve.nbytes)]
    segments = []
    for start, end in zip(starts, ends, strict=True):
        part = slice(start, end)
        line = fit_line(
            curve.nbytes[part],
            curve.seconds[part],
            weights=points.weights[part],
            counts=curve.counts[part],
            offset=points.offset[part],
        ).raised(least_intercept, least_slope)
        first, last = int(curve.nbytes[start]), int(curve.nbytes[end - 1])
        segments.append(Segment(places.get(start, 0), first, last, line))
    return Piecewise(curve.operation, tuple(segments))


def _breakpoint_positions(
    curve: Curve, breakpoints: Sequence[int], *, strict: bool = True
) -> dict[int, int]:
    """Return position in the curve and boundary of each breakpoint within the measured sizes."""
    places: dict[int, int] = {}
    for size in sorted(breakpoints):
        start = int(np.searchsorted(curve.nbytes, size, side="right"))
        if start in places and strict:
            raise InputError(
                f"no {curve.operation} was measured between the breakpoints {places[start]} and "
                f"{size} bytes; remove one of them, or measure sizes between them"
            )
        if 0 < start < len(curve.nbytes):
            places[start] = int(size)
    return places


def _found(points: Points, changes: list[int], hints: dict[int, int]) -> dict[int, int]:
    """Return position and boundary of each breakpoint detected between the known `changes`."""
    edges = [0, *changes, len(points.nbytes)]
    places: dict[int, int] = {}
    for first, end in pairwise(edges):
        inside = [place - first for place in hints if first < place < end]
        for place in find_breaks(points.part(first, end), inside):
            start = first + place
            between = boundary(points.nbytes[start - 1], points.nbytes[start])
            places[start] = hints.get(start, between)
    return places


# One line per protocol describes most networks. If it misses well-known times, the segment is
# divided: from the left, each piece takes as many sizes as one line can fit (O'Rourke, Comm. ACM
# 24, 1981). Within a piece, the line minimises the sum of absolute relative residuals.

# Maximum ratio of a line's residuals with exact points to those without the constraint.
_WORSE = 1.5
# Maximum relative deviation of a piece's slope from its segment's: the time per byte belongs to the
# network, additional time per size to the library.
_ALIKE = 0.1
# Ratio of the time per byte in a single message to that in a stream above which the link is not the
# cause.
_TOO_STEEP = 1.15


@dataclass(frozen=True)
class Target:
    """Points that lines approximate."""

    # nbytes, seconds: the points, in ascending order of size
    nbytes: Floats
    seconds: Floats
    scale: Floats  # reference of residuals: the total time that `seconds` is part of
    exact: NDArray[np.bool_]  # points that a line must fit within `tolerance`
    tolerance: float  # relative
    # least_slope, most_slope: bounds of the slope of every line, in seconds per byte
    least_slope: float = 0.0
    most_slope: float = float("inf")
    # floor, envelope: minimum time of every line at `-envelope` bytes
    floor: float = 0.0
    envelope: int = 0

    def part(self, start: int, end: int) -> Target:
        """Return the points from one position to another."""
        inside = slice(start, end)
        return replace(
            self,
            nbytes=self.nbytes[inside],
            seconds=self.seconds[inside],
            scale=self.scale[inside],
            exact=self.exact[inside],
        )

    def with_slopes_near(self, slope: float) -> Target:
        """Return the same points, for lines with about the given slope."""
        if self.most_slope <= self.least_slope:
            return self
        least = max(self.least_slope, (1 - _ALIKE) * slope)
        return replace(self, least_slope=least, most_slope=max(least, (1 + _ALIKE) * slope))

    def without_exact_points(self) -> Target:
        """Return the same points without the requirement to fit any."""
        return replace(self, exact=np.zeros_like(self.exact))

    def mean_residual(self, line: tuple[float, float]) -> float:
        """Return the mean absolute relative residual of a line: intercept and slope."""
        far = np.abs(line[0] + line[1] * self.nbytes - self.seconds) / self.scale
        return float(far.mean())

    def misses(self, lines: Piecewise) -> NDArray[np.bool_]:
        """Return the exact points that the lines miss."""
        far = np.abs(lines.seconds(self.nbytes) - self.seconds) > self.tolerance * self.scale
        return np.asarray(far & self.exact)


def refined(
    lines: Piecewise,
    target: Target,
    counts: NDArray[np.int64],
    steepest_from: float = 0.0,
) -> Piecewise:
    """Return the lines, with each segment that misses an exact point divided into pieces.

    `counts` are the numbers of measured times of each point. Segments up to `steepest_from` bytes
    are given lines of the minimum slope.
    """
    misses = target.misses(lines) | (target.exact & (target.nbytes <= steepest_from))
    if not misses.any():
        return lines
    segments: list[Segment] = []
    for segment in lines.segments:
        start = int(np.searchsorted(target.nbytes, segment.first, side="left"))
        end = int(np.searchsorted(target.nbytes, segment.last, side="right"))
        if not misses[start:end].any():
            segments.append(segment)
            continue
        part = target.part(start, end)
        if segment.last <= steepest_from:
            part = replace(part, most_slope=part.least_slope)
        segments += _pieces(segment, part, counts[start:end])
    return Piecewise(lines.operation, tuple(segments))


def limit_slopes(
    lines: Piecewise, target: Target, counts: NDArray[np.int64], gap: Floats
) -> Piecewise:
    """Return the lines, with segments that are steeper than streams divided into flatter pieces.

    `gap` are the seconds of each further message of a stream, at each point; `counts` the number of
    its measured times. Consecutive messages share the link, which takes the slope of their segment
    for each byte: so the slope is at most what streams achieve at all sizes of the segment.
    """
    segments: list[Segment] = []
    for segment in lines.segments:
        start = int(np.searchsorted(target.nbytes, segment.first, side="left"))
        end = int(np.searchsorted(target.nbytes, segment.last, side="right"))
        part = target.part(start, end)
        reached = gap[start:end] / (part.nbytes + part.envelope)
        if segment.line.slope <= _TOO_STEEP * np.median(reached[len(reached) // 2 :]):
            segments.append(segment)
            continue
        slope = max(part.least_slope, float(reached.min()))
        flat = replace(part, exact=np.ones_like(part.exact), most_slope=slope)
        level = replace(segment, line=replace(segment.line, slope=slope))
        segments += _pieces(level, flat, counts[start:end])
    return Piecewise(lines.operation, tuple(segments))


def _pieces(segment: Segment, whole: Target, counts: NDArray[np.int64]) -> Iterator[Segment]:
    """Yield the pieces of one segment."""
    above = segment.above
    target = whole.with_slopes_near(segment.line.slope)
    start, size, number = 0, len(target.nbytes), 0
    while start < size:
        number += 1
        end = _reach(target, start)
        part = target.part(start, end)
        line = _best_line(part, whole.part(start, end))
        yield Segment(
            above,
            int(part.nbytes[0]),
            int(part.nbytes[-1]),
            _described(line, part, counts[start:end]),
            number,
        )
        if end < size:
            above = boundary(target.nbytes[end - 1], target.nbytes[end])
        start = end


def _reach(target: Target, start: int) -> int:
    """Return the end of the longest run of points from `start` that one line fits."""
    size = len(target.nbytes)
    end, step = start + 1, 1
    # Galloping search, then bisection: each test costs as much as it has points.
    while end < size and _one_line_fits(target, start, min(end + step, size)):
        end = min(end + step, size)
        step *= 2
    while step > 1:
        step //= 2
        if end < size and _one_line_fits(target, start, min(end + step, size)):
            end = min(end + step, size)
    return end


def _one_line_fits(target: Target, start: int, end: int) -> bool:
    """Return whether a line fits the exact points without neglecting the others."""
    part = target.part(start, end)
    if not part.exact.any():
        return True
    found = _solved(part)
    if found is None:
        return False
    free = _solved(part.without_exact_points())
    assert free is not None
    return part.mean_residual(found) <= _WORSE * part.mean_residual(free) + part.tolerance / 2


def _best_line(part: Target, unbound: Target) -> tuple[float, float]:
    """Return the best permitted line; with any slope, or without exact points, if none exists."""
    for attempt in (part, unbound, unbound.without_exact_points()):
        found = _solved(attempt)
        if found is not None:
            return found
    raise AssertionError("a line without required points always exists")


def _solved(part: Target) -> tuple[float, float] | None:
    """Return the line of least absolute residuals near every exact point; None if none exists.

    It is the solution of a linear program.
    """
    from scipy.optimize import linprog

    size = len(part.nbytes)
    if not size:
        return part.floor + part.least_slope * part.envelope, part.least_slope
    # Variables: the line's excess over its floor at -envelope, its slope above the minimum in units
    # of the largest size, and the residual of each point.
    x = part.nbytes + part.envelope
    reach = max(float(x.max()), 1.0)
    base = part.floor + part.least_slope * x
    unit = float(part.scale.min())
    most = (part.most_slope - part.least_slope) * reach / unit
    line = np.column_stack([unit / part.scale, unit * x / reach / part.scale])
    goal = (part.seconds - base) / part.scale
    ones = np.eye(size)
    upper = np.where(part.exact, part.tolerance, np.inf)
    solution = linprog(
        np.concatenate([[0.0, 0.0], np.ones(size)]),
        A_ub=np.vstack([np.hstack([line, -ones]), np.hstack([-line, -ones])]),
        b_ub=np.concatenate([goal, -goal]),
        bounds=[(0, None), (0, most), *((0, high) for high in upper)],
        method="highs",
    )
    if solution.status != 0:
        return None
    above, steep = (float(value) for value in solution.x[:2])
    slope = part.least_slope + steep * unit / reach
    return part.floor + above * unit + slope * part.envelope, slope


def _described(line: tuple[float, float], part: Target, counts: NDArray[np.int64]) -> Line:
    intercept, slope = line
    residuals = (intercept + slope * part.nbytes - part.seconds) / part.scale
    return Line(
        intercept,
        slope,
        (0.0, float("inf")),
        (0.0, float("inf")),
        float(np.median(np.abs(residuals))),
        len(part.nbytes),
        int(counts.sum()),
    )
