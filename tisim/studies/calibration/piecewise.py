"""A curve of times as lines between breakpoints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from tisim.errors import InputError
from tisim.studies.calibration.line import Floats, Line, fit_line
from tisim.studies.calibration.measurements import Curve
from tisim.studies.calibration.segmentation import Points, find_breaks

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Segment:
    """One line and the message sizes it serves.

    Parameters
    ----------
    above
        Boundary in bytes: the segment serves the sizes above it, up to the next one's.
    first, last
        Smallest and largest measured size in the segment, in bytes.
    line
        Its line over the message size (of the payload, without envelope).
    piece
        Its number among the pieces of a segment that one line did not serve (`refinement`), from
        1; 0 if it is whole.
    """

    above: int
    first: int
    last: int
    line: Line
    piece: int = 0


@dataclass(frozen=True)
class Piecewise:
    """Times of an operation as lines between breakpoints, discontinuous where they change.

    Parameters
    ----------
    operation
        What was timed.
    segments
        In ascending order of size; the first one's boundary is 0 and also serves size 0.
    """

    operation: str
    segments: tuple[Segment, ...]

    @property
    def breakpoints(self) -> tuple[int, ...]:
        """Boundaries between segments, in bytes: sizes above them are of the next segment."""
        return tuple(segment.above for segment in self.segments[1:])

    def seconds(self, nbytes: Floats) -> Floats:
        """Times for messages of `nbytes` bytes, in seconds."""
        which = np.searchsorted(np.array(self.breakpoints), nbytes, side="left")
        intercepts = np.array([segment.line.intercept for segment in self.segments])
        slopes = np.array([segment.line.slope for segment in self.segments])
        return np.asarray(intercepts[which] + slopes[which] * nbytes)

    def below(self, limit: float) -> Piecewise | None:
        """The segments that begin below `limit` bytes; None if there is none."""
        inside = tuple(segment for segment in self.segments if segment.first < limit)
        return Piecewise(self.operation, inside) if inside else None

    def frame(self) -> pd.DataFrame:
        """One row a segment: boundaries, coefficients with 95 % intervals, residual, points."""
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
    """Where between two neighbouring measured sizes a protocol changes, in bytes.

    A power of two if one lies there (``left`` included: its size is still of the lower segment),
    since libraries and operators set their limits so; else the geometric mean.
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
    """Fit lines to a curve, between breakpoints that are given or found.

    Parameters
    ----------
    curve
        The times, one point a size.
    breakpoints
        Boundaries in bytes, as a user gives them; found in the curve if None.
    changes
        Boundaries that are known (a change of protocol) and stand beside the ones found.
    hints
        Boundaries seen in other operations: taken where this curve shows them, if faintly.
    offset
        Seconds known to be in each time beside the line's, shape of ``curve.nbytes``.
    least_slope
        Lower bound of every slope, in seconds a byte.
    least_intercept
        Lower bound of every intercept, in seconds.

    Raises
    ------
    InputError
        If no size was measured between two breakpoints that the user gave.
    """
    known = np.zeros_like(curve.seconds) if offset is None else offset
    least = least_intercept + least_slope * curve.nbytes
    points = Points(curve.nbytes, curve.seconds, known + least, curve.weights)
    places = _given(curve, changes)
    if breakpoints is not None:
        places |= _given(curve, breakpoints)
    else:
        places |= _found(points, sorted(places), _given(curve, hints, strict=False))
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


def _given(curve: Curve, breakpoints: Sequence[int], *, strict: bool = True) -> dict[int, int]:
    """Position in the curve and boundary of each breakpoint inside the measured sizes."""
    places: dict[int, int] = {}
    for size in sorted(breakpoints):
        start = int(np.searchsorted(curve.nbytes, size, side="right"))
        if start in places and strict:
            raise InputError(
                f"no {curve.operation} was measured between the breakpoints {places[start]} and "
                f"{size} bytes; give one of them, or measure sizes between them"
            )
        if 0 < start < len(curve.nbytes):
            places[start] = int(size)
    return places


def _found(points: Points, changes: list[int], hints: dict[int, int]) -> dict[int, int]:
    """Position and boundary of each breakpoint found between the known `changes`."""
    edges = [0, *changes, len(points.nbytes)]
    places: dict[int, int] = {}
    for first, end in pairwise(edges):
        inside = [place - first for place in hints if first < place < end]
        for place in find_breaks(points.part(first, end), inside):
            start = first + place
            between = boundary(points.nbytes[start - 1], points.nbytes[start])
            places[start] = hints.get(start, between)
    return places
