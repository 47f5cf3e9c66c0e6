"""What a message costs its sender and receiver in software: ``smpi/os``, ``smpi/ois``, ``smpi/or``.

A sender that does not wait pays ``os`` (``ois`` in MPI_Isend) before its message leaves; a
receiver pays ``or`` when it completes a receive whose sender did not wait (Bedaride et al. 2013).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tisim.studies.calibration.line import Floats
from tisim.studies.calibration.measurements import Measurements
from tisim.studies.calibration.piecewise import Piecewise, fit_piecewise
from tisim.studies.calibration.thresholds import Thresholds, find_thresholds

NOTHING = "0:0:0"


@dataclass(frozen=True)
class Overheads:
    """The software overheads that were measured, over their whole range of sizes.

    Parameters
    ----------
    send, isend, recv
        Times inside MPI_Send, inside MPI_Isend, and inside MPI_Recv of an arrived message; None
        where they were not measured.
    thresholds
        Up to where MPI_Send does not wait and messages arrive before their receive; None if none
        of the calls was timed on its own.
    send_in_messages, recv_in_messages
        The part of MPI_Send and MPI_Recv that a message takes besides its way through the network
        (`tisim.studies.calibration.separation`); None where it is the whole time inside the call.
    """

    send: Piecewise | None = None
    isend: Piecewise | None = None
    recv: Piecewise | None = None
    thresholds: Thresholds | None = None
    send_in_messages: Piecewise | None = None
    recv_in_messages: Piecewise | None = None

    @property
    def sender(self) -> Piecewise | None:
        """The lines of ``smpi/os``: MPI_Send below the size where it waits, else MPI_Isend."""
        if self.thresholds is None:
            return None
        if self.send_in_messages is not None:
            return self.send_in_messages
        own = self.send if self.send is not None else self.isend
        return own.below(self.thresholds.detached) if own is not None else None

    @property
    def receiver(self) -> Piecewise | None:
        """The lines of ``smpi/or``: MPI_Recv below the size above which nothing has arrived."""
        if self.thresholds is None or self.recv is None:
            return None
        if self.recv_in_messages is not None:
            return self.recv_in_messages
        return self.recv.below(self.thresholds.async_small)

    @property
    def breakpoints(self) -> tuple[int, ...]:
        """Boundaries seen in any of the operations, in bytes."""
        fits = (self.send, self.isend, self.recv)
        return tuple(sorted({size for fit in fits if fit is not None for size in fit.breakpoints}))

    def in_a_message(self, nbytes: Floats) -> Floats:
        """Seconds of software in one message of `nbytes` bytes from MPI_Send to MPI_Recv."""
        total = np.zeros_like(nbytes)
        if self.thresholds is None:
            return total
        for lines, limit in (
            (self.sender, self.thresholds.detached),
            (self.receiver, self.thresholds.async_small),
        ):
            if lines is not None:
                total += np.where(nbytes < limit, lines.seconds(nbytes), 0.0)
        return total

    def tables(self) -> dict[str, str]:
        """The three configuration tables ``boundary:seconds:seconds a byte;...``."""
        if self.thresholds is None:
            return dict.fromkeys(("smpi/os", "smpi/ois", "smpi/or"), NOTHING)
        detached, async_small = self.thresholds.detached, self.thresholds.async_small
        isend = self.isend if self.isend is not None else self.sender
        isend_end = None if self.isend is not None else detached
        return {
            "smpi/os": _table(self.sender, detached),
            "smpi/ois": _table(isend, isend_end),
            "smpi/or": _table(self.receiver, async_small),
        }


def _table(lines: Piecewise | None, end: int | None) -> str:
    """A table that ends with zeros from the threshold `end` on."""
    if lines is None:
        return NOTHING
    rows = [
        f"{segment.above}:{segment.line.intercept:.6g}:{segment.line.slope:.6g}"
        for segment in lines.segments
    ]
    if end is not None:
        rows.append(f"{end - 1}:0:0")
    return ";".join(rows)


def fit_overheads(
    measurements: Measurements, breakpoints: Sequence[int] | None = None
) -> Overheads:
    """Fit the overheads that were measured and find where MPI_Send starts to wait.

    Parameters
    ----------
    measurements
        Times of ``pingpong``, and of ``send``, ``isend`` and ``recv`` as far as there are any.
    breakpoints
        Boundaries in bytes that the user gives; found if None.

    Raises
    ------
    InputError
        If one of them was measured at a single size.
    """
    curves = {
        name: measurements.curve(name)
        for name in ("send", "late_send", "isend", "recv")
        if measurements.has(name)
    }
    thresholds = find_thresholds(measurements.curve("pingpong"), **curves)
    curves.pop("late_send", None)
    changes: dict[str, list[int]] = {}
    if thresholds is not None:
        changes = {"send": [thresholds.detached - 1], "recv": [thresholds.async_small - 1]}
    fits = {
        name: fit_piecewise(curve, breakpoints=breakpoints, changes=changes.get(name, ()))
        for name, curve in curves.items()
    }
    return Overheads(fits.get("send"), fits.get("isend"), fits.get("recv"), thresholds)
