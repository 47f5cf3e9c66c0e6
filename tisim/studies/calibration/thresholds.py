"""The message sizes at which MPI changes its protocol: from where MPI_Send waits for the receiver.

Below ``smpi/async-small-thresh`` a message leaves at once and may arrive before its receive is
posted; below ``smpi/send-is-detached-thresh`` MPI_Send does not wait (Bedaride et al. 2013). Both
apply to sizes below them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tisim.studies.calibration.line import Floats
from tisim.studies.calibration.measurements import Curve
from tisim.studies.calibration.piecewise import boundary

# MPI_Send that waits takes more than this many times as long as before, relative to MPI_Isend (or,
# without that, to the ping-pong).
_WAITS = 2.0
# MPI_Send that waits for a late receiver takes so many times as long as a ping-pong.
_LATE = 2.0
# MPI_Recv that has to fetch its message takes so many times as long as before, relative to the
# ping-pong, and then most of its time.
_FETCHES = 1.5
_MOST = 0.6
# So many sizes on both sides must show it: few where few were measured.
_LEAST_SIZES, _MOST_SIZES = 3, 8


@dataclass(frozen=True)
class Thresholds:
    """Where the protocol changes, in bytes, and how that was seen.

    Parameters
    ----------
    async_small
        A message of fewer bytes leaves at once (``smpi/async-small-thresh``).
    detached
        MPI_Send of fewer bytes does not wait (``smpi/send-is-detached-thresh``).
    evidence
        One sentence for the report.
    """

    async_small: int
    detached: int
    evidence: str


def find_thresholds(
    ping_pong: Curve,
    *,
    send: Curve | None = None,
    late_send: Curve | None = None,
    isend: Curve | None = None,
    recv: Curve | None = None,
) -> Thresholds | None:
    """Find from which size MPI_Send waits for the receiver.

    Parameters
    ----------
    ping_pong
        One-way times.
    send, isend
        Times inside MPI_Send, and inside MPI_Isend: what MPI_Send takes when it does not wait.
    late_send
        Times inside MPI_Send when the receiver is late by several times that of the ping-pong.
    recv
        Times inside MPI_Recv of messages that had time to arrive.

    Returns
    -------
    Thresholds or None
        None where neither MPI_Send nor MPI_Recv was timed.
    """
    waits = None
    if late_send is not None:
        waits = _rise(late_send, ping_pong, _WAITS, _LATE)
        if waits is None and (late_send.seconds > _LATE * ping_pong.at(late_send.nbytes)).all():
            waits = 0
    elif send is not None:
        waits = _rise(send, isend if isend is not None else ping_pong, _WAITS)
    fetches = _rise(recv, ping_pong, _FETCHES, _MOST) if recv is not None else None
    if waits is not None:
        eager = min(fetches, waits) if fetches is not None else waits
        evidence = f"MPI_Send waits for the receiver above {waits} bytes"
        if eager < waits:
            evidence += f"; above {eager} bytes nothing arrives before its receive is posted"
        return Thresholds(eager + 1, waits + 1, evidence)
    if fetches is not None:
        evidence = f"above {fetches} bytes nothing arrives before its receive is posted"
        return Thresholds(fetches + 1, fetches + 1, evidence)
    curves = [curve for curve in (late_send, send, recv) if curve is not None]
    if not curves:
        return None
    largest = int(max(curve.nbytes[-1] for curve in curves))
    return Thresholds(
        largest + 1,
        largest + 1,
        f"no call waits for the other side up to {largest} bytes, the largest size measured",
    )


def _rise(call: Curve, reference: Curve, times: float, least: float = 0.0) -> int | None:
    """Boundary at which a call's time rises most, relative to another, if it is far; or None.

    Parameters
    ----------
    times
        How many times as long as just below the boundary.
    least
        Least ratio of the call to the reference above the boundary.
    """
    logs = np.log(call.seconds / reference.at(call.nbytes))
    n = len(logs)
    if n < 2 * _LEAST_SIZES:
        return None
    width = min(max(n // 20, _LEAST_SIZES), _MOST_SIZES)
    medians = np.median(np.lib.stride_tricks.sliding_window_view(logs, width), axis=1)
    # At position i: the window that begins there over the one that ends there.
    rises = np.full(n, -np.inf)
    rises[width : n - width + 1] = medians[width:] - medians[:-width]
    for place in np.flatnonzero(rises > np.log(times)):
        if least > 0 and np.median(logs[place:]) < np.log(least):
            rises[place] = -np.inf
    highest = int(np.argmax(rises))
    if rises[highest] <= np.log(times):
        return None
    low, high = highest - width, highest + width
    run = range(low + 1, high)
    start = min(run, key=lambda place: _deviation(logs[low:place]) + _deviation(logs[place:high]))
    return boundary(call.nbytes[start - 1], call.nbytes[start])


def _deviation(values: Floats) -> float:
    """Sum of the absolute deviations from the median."""
    return float(np.abs(values - np.median(values)).sum())
