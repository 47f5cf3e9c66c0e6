"""The message sizes at which MPI changes its protocol: from where MPI_Send waits for the receiver.

Below ``smpi/async-small-thresh`` a message leaves at once and may arrive before its receive is
posted; below ``smpi/send-is-detached-thresh`` MPI_Send does not wait (Bedaride et al. 2013). Both
apply to sizes below them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tisim.calibration.measurements import Curve
from tisim.calibration.piecewise import Piecewise, boundary

# A call that waits for the other side takes more than this many times as long as one that does not.
_WAITS = 2.0
# So many sizes must show it.
_LEAST_SIZES = 3


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
    send: tuple[Curve, Piecewise] | None,
    isend: Curve | None,
    recv: tuple[Curve, Piecewise] | None,
) -> Thresholds | None:
    """Find from which size MPI_Send waits for the receiver.

    Parameters
    ----------
    send, recv
        Times inside MPI_Send, and inside MPI_Recv of messages that had time to arrive: the curve
        and the lines fitted to it.
    isend
        Times inside MPI_Isend: what MPI_Send takes when it does not wait.

    Returns
    -------
    Thresholds or None
        None where neither MPI_Send nor MPI_Recv was timed on its own.
    """
    waits = None
    if send is not None:
        waits = _slower_than(send[0], isend) if isend is not None else _first_jump(send[1])
    transfers = _first_jump(recv[1]) if recv is not None else None
    if waits is not None:
        eager = min(transfers, waits) if transfers is not None else waits
        evidence = f"MPI_Send waits for the receiver above {waits} bytes"
        if eager < waits:
            evidence += f"; above {eager} bytes nothing arrives before its receive is posted"
        return Thresholds(eager + 1, waits + 1, evidence)
    if transfers is not None:
        evidence = f"above {transfers} bytes nothing arrives before its receive is posted"
        return Thresholds(transfers + 1, transfers + 1, evidence)
    curves = [pair[0] for pair in (send, recv) if pair is not None]
    if not curves:
        return None
    largest = int(max(curve.nbytes[-1] for curve in curves))
    return Thresholds(
        largest + 1,
        largest + 1,
        f"no call waits for the other side up to {largest} bytes, the largest size measured",
    )


def _slower_than(send: Curve, isend: Curve) -> int | None:
    """Boundary from which MPI_Send takes far longer than MPI_Isend, or None."""
    slow: NDArray[np.bool_] = send.seconds > _WAITS * isend.at(send.nbytes)
    # errors[i]: sizes on the wrong side if MPI_Send waits from the i-th size on.
    slow_before = np.concatenate([[0], np.cumsum(slow)])
    quick_after = np.concatenate([np.cumsum(~slow[::-1])[::-1], [0]])
    start = int(np.argmin(slow_before + quick_after))
    if slow[start:].sum() < _LEAST_SIZES:
        return None
    return boundary(send.nbytes[start - 1], send.nbytes[start]) if start else 0


def _first_jump(fit: Piecewise) -> int | None:
    """First breakpoint at which the time jumps to a multiple of what it was, or None."""
    for before, after in zip(fit.segments[:-1], fit.segments[1:], strict=True):
        at = np.array([float(after.above)])
        if after.line.seconds(at)[0] > _WAITS * before.line.seconds(at)[0]:
            return after.above
    return None
