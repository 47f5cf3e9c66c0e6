"""What happens at a breakpoint: an explanation in words and numbers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from tisim.studies.calibration.piecewise import Piecewise, Segment
from tisim.studies.calibration.thresholds import Thresholds

_CALLS = {"send": "MPI_Send", "isend": "MPI_Isend", "recv": "MPI_Recv", "pingpong": "transfer"}
# A change below this is not worth a word.
_NOTABLE = 0.05


@dataclass(frozen=True)
class Change:
    """One breakpoint of one operation.

    Parameters
    ----------
    operation
        Whose time changes.
    above
        The breakpoint in bytes: messages above it are of the next segment.
    after, before
        The measured sizes on its two sides, in bytes; it lies between them.
    jump
        Relative jump of the time at the breakpoint.
    explanation
        What happens there, in words.
    """

    operation: str
    above: int
    after: int
    before: int
    jump: float
    explanation: str


def explain(fits: Iterable[Piecewise], thresholds: Thresholds | None) -> tuple[Change, ...]:
    """Explain every breakpoint of some curves, in ascending order of size."""
    found = []
    for fit in fits:
        for old, new in pairwise(fit.segments):
            if new.piece <= 1:  # pieces of one segment are no change of the protocol
                found.append(_change(fit.operation, old, new, thresholds))
    return tuple(sorted(found, key=lambda change: (change.above, change.operation)))


def _change(operation: str, old: Segment, new: Segment, thresholds: Thresholds | None) -> Change:
    at = np.array([float(new.above)])
    before, after = old.line.seconds(at)[0], new.line.seconds(at)[0]
    jump = float(after / before - 1) if before > 0 else float("inf")
    words = [*_protocol(operation, new.above, thresholds), *_numbers(operation, old, new, jump)]
    return Change(operation, new.above, old.last, new.first, jump, "; ".join(words))


def _protocol(operation: str, above: int, thresholds: Thresholds | None) -> list[str]:
    """The protocol change at a breakpoint, where it is one."""
    if thresholds is None:
        return []
    words = []
    if above == thresholds.detached - 1:
        words.append(
            "MPI_Send starts to wait for the receiver"
            if operation == "send"
            else "from eager to rendezvous"
        )
    elif above == thresholds.async_small - 1:
        words.append("nothing arrives before its receive is posted")
    elif above >= thresholds.detached and operation == "send":
        words.append("MPI_Send waits already: not in smpi/os")
    return words


def _numbers(operation: str, old: Segment, new: Segment, jump: float) -> list[str]:
    words = []
    if abs(jump) > _NOTABLE:
        words.append(f"{_CALLS[operation]} takes {_relative(jump)} at once")
    if old.line.slope > 0 and new.line.slope > 0:
        ratio = new.line.slope / old.line.slope
        if abs(ratio - 1) > _NOTABLE:
            words.append(f"a byte more takes {ratio:.2g} times as long")
    elif old.line.slope != new.line.slope:
        grows = new.line.slope > 0
        words.append(f"from here the time {'grows' if grows else 'does not grow'} with the size")
    return words or ["a small change of the start-up time"]


def _relative(change: float) -> str:
    if change > 1:
        return f"{1 + change:.3g} times as long"
    return f"{abs(change):.0%} {'more' if change > 0 else 'less'}"
