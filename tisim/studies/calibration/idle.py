"""The effect of idling before a receive on its measured time, and the times without that.

A processor that slept is slow to begin with: its caches are cold, its clock is low. So the time
inside MPI_Recv depends on how long the rank had been idle, and a benchmark that waits a while for
each message to arrive measures its own waiting. Where the file says when each call began, the
effect shows: receives of one size, that differ in nothing but the idle time before them. They are
all brought to the usual idle time.

The effect is found as one of two additive terms on logarithms are, in turn with the other one, the
lines over the sizes (backfitting: Breiman & Friedman, J. Am. Stat. Assoc. 80, 1985), by a running
median, which outliers do not move and which follows a jump.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tisim.studies.calibration.line import Floats
from tisim.studies.calibration.measurements import Measurements

if TYPE_CHECKING:
    import pandas as pd

    from tisim.studies.calibration.overheads import Overheads

# Fewer receives than this do not show the effect.
_LEAST_ROWS = 200
# Part of the receives of a segment that the running median spans, and fewest of them.
_SPAN = 1 / 12
_LEAST_SPAN = 31
# An effect below this, from the 5 % to the 95 % quantile, is left alone.
_NOTABLE = 0.05
_TAILS = (0.05, 0.95)


def at_usual_idleness(measured: Measurements, overheads: Overheads) -> Measurements | None:
    """Bring the receives of arrived messages to the usual idle time before them.

    Returns other ``seconds`` of the operation ``recv``, and a remark; None where the idle times are
    unknown or do not matter.
    """
    lines = overheads.receiver
    frame = measured.frame
    if lines is None or overheads.thresholds is None or "idle" not in frame:
        return None
    arrived = (frame["operation"] == "recv") & (frame["bytes"] < overheads.thresholds.async_small)
    rows = frame[arrived & (frame["idle"] > 0)].sort_values("idle", kind="stable")
    if len(rows) < _LEAST_ROWS:
        return None
    nbytes = rows["bytes"].to_numpy(dtype=np.float64)
    residuals = np.log(rows["seconds"].to_numpy() / lines.seconds(nbytes))
    segments = np.searchsorted(np.array(lines.breakpoints), nbytes, side="left")
    effect = np.zeros_like(residuals)
    for number in np.unique(segments):
        inside = segments == number
        effect[inside] = _running_median(residuals[inside])
    low, high = np.quantile(effect, _TAILS)
    if high - low < _NOTABLE:
        return None
    seconds = frame["seconds"].copy()
    seconds.loc[rows.index] *= np.exp(-effect)
    remark = _remark(rows, float(np.exp(high - low)))
    return replace(measured, frame=frame.assign(seconds=seconds)).with_remark(remark)


def _running_median(values: Floats) -> Floats:
    """Median of the values about each, less the median of these."""
    half = max(int(len(values) * _SPAN), _LEAST_SPAN) // 2
    half = min(half, len(values) - 1)
    padded = np.pad(values, half, mode="reflect")
    medians = np.median(np.lib.stride_tricks.sliding_window_view(padded, 2 * half + 1), axis=1)
    return np.asarray(medians - np.median(medians))


def _remark(rows: pd.DataFrame, ratio: float) -> str:
    low, usual, high = rows["idle"].quantile([_TAILS[0], 0.5, _TAILS[1]]) * 1e3
    return (
        f"the time inside MPI_Recv depends on how long the rank was idle before ({low:.2g} to "
        f"{high:.2g} ms), by a factor of up to {ratio:.2g}: the measured times are taken as after "
        f"the usual {usual:.2g} ms"
    )
