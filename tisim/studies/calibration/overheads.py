"""Software cost of a message at its sender and receiver: ``smpi/os``, ``smpi/ois``, ``smpi/or``.

A sender that does not wait pays ``os`` (``ois`` in MPI_Isend) before its message leaves; a receiver
pays ``or`` when it completes a receive whose sender did not wait (Bedaride et al. 2013).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from tisim.studies.calibration.line import Floats
from tisim.studies.calibration.measurements import Curve, Measurements
from tisim.studies.calibration.piecewise import Piecewise, boundary, fit_piecewise

if TYPE_CHECKING:
    import pandas as pd

# Below ``smpi/async-small-thresh`` a message leaves at once and may arrive before its receive is
# posted; below ``smpi/send-is-detached-thresh`` MPI_Send does not wait (Bedaride et al. 2013). Both
# apply to sizes below them.

# Minimum increase of MPI_Send when it begins to wait, relative to MPI_Isend (or, if that was not
# measured, to the ping-pong).
_WAITS = 2.0
# Minimum time, in messages, of an MPI_Send that waits for a late receiver. One that waits until a
# probing receiver has read the message takes two, since a message back notifies it. The receive is
# posted after four.
_LATE, _PROBED = 2.0, 3.0
# Minimum increase of MPI_Recv when it begins to fetch its message, relative to the ping-pong, and
# the minimum fraction of the ping-pong that it then takes.
_FETCHES = 1.5
_MIN_FETCH_FRACTION = 0.6
# Number of sizes on either side that must show it: fewer if few were measured.
_MIN_SIZES, _MAX_SIZES = 3, 8


@dataclass(frozen=True)
class Thresholds:
    """Message sizes (bytes) at which the protocol changes, and the evidence.

    Parameters
    ----------
    async_small
        A message of fewer bytes leaves at once (``smpi/async-small-thresh``).
    detached
        MPI_Send of fewer bytes needs no posted receive (``smpi/send-is-detached-thresh``).
    evidence
        One sentence for the report.
    copied
        MPI_Send of fewer bytes never waits; for more bytes, up to `detached`, it waits until the
        receiver is inside MPI. Equal to `detached` if not measured.
    """

    async_small: int
    detached: int
    evidence: str
    copied: int


def find_thresholds(
    ping_pong: Curve,
    *,
    send: Curve | None = None,
    late_send: Curve | None = None,
    probed_send: Curve | None = None,
    isend: Curve | None = None,
    recv: Curve | None = None,
) -> Thresholds | None:
    """Find the size from which MPI_Send waits for the receiver.

    Parameters
    ----------
    ping_pong
        One-way times.
    send, isend
        Times in MPI_Send, and in MPI_Isend: the time of MPI_Send when it does not wait.
    late_send
        Times in MPI_Send when the receiver is late by several ping-pong times.
    probed_send
        The same when the receiver spends that time inside MPI. Open MPI's shared-memory messages
        wait for any call of the receiver, larger ones for its receive: only that is a rendezvous.
    recv
        Times in MPI_Recv of messages that had time to arrive.

    Returns
    -------
    Thresholds or None
        None if neither MPI_Send nor MPI_Recv was timed.
    """
    waits = None
    late, least = (probed_send, _PROBED) if probed_send is not None else (late_send, _LATE)
    if late is not None:
        waits = _rise(late, ping_pong, _WAITS, least)
        if waits is None and (late.seconds > least * ping_pong.at(late.nbytes)).all():
            waits = 0
    elif send is not None:
        waits = _rise(send, isend if isend is not None else ping_pong, _WAITS)
    fetches = _rise(recv, ping_pong, _FETCHES, _MIN_FETCH_FRACTION) if recv is not None else None
    if waits is not None:
        eager = min(fetches, waits) if fetches is not None else waits
        evidence = f"MPI_Send waits for the receiver above {waits} bytes"
        copied = waits
        if late_send is not None and probed_send is not None:
            held = _rise(late_send.part(late_send.nbytes <= waits), ping_pong, _WAITS, _LATE)
            copied = waits if held is None else held
        if copied < waits:
            evidence += f", and above {copied} until it calls MPI"
        if eager < waits:
            evidence += f"; above {eager} bytes nothing arrives before its receive is posted"
        return Thresholds(eager + 1, waits + 1, evidence, copied + 1)
    if fetches is not None:
        evidence = f"above {fetches} bytes nothing arrives before its receive is posted"
        return Thresholds(fetches + 1, fetches + 1, evidence, fetches + 1)
    curves = [curve for curve in (late, send, recv) if curve is not None]
    if not curves:
        return None
    largest = int(max(curve.nbytes[-1] for curve in curves))
    return Thresholds(
        largest + 1,
        largest + 1,
        f"no call waits for the other side up to {largest} bytes, the largest measured size",
        largest + 1,
    )


def _rise(call: Curve, reference: Curve, times: float, least: float = 0.0) -> int | None:
    """Return the boundary at which a call's time rises most relative to another, or None.

    The time is more than `times` as long as just below the boundary, and at least `least` times the
    reference, in the median of the sizes just above it and in that of all sizes above it.
    """
    logs = np.log(call.seconds / reference.at(call.nbytes))
    n = len(logs)
    if n < 2 * _MIN_SIZES:
        return None
    width = min(max(n // 20, _MIN_SIZES), _MAX_SIZES)
    medians = np.median(np.lib.stride_tricks.sliding_window_view(logs, width), axis=1)
    # At position i: the window that begins there divided by the one that ends there.
    rises = np.full(n, -np.inf)
    rises[width : n - width + 1] = medians[width:] - medians[:-width]
    for place in np.flatnonzero(rises > np.log(times)):
        if least > 0 and min(medians[place], np.median(logs[place:])) < np.log(least):
            rises[place] = -np.inf
    highest = int(np.argmax(rises))
    if rises[highest] <= np.log(times):
        return None
    low, high = highest - width, highest + width
    run = range(low + 1, high)
    start = min(run, key=lambda place: _deviation(logs[low:place]) + _deviation(logs[place:high]))
    return boundary(call.nbytes[start - 1], call.nbytes[start])


def _without_waiting(send: Curve, isend: Curve, thresholds: Thresholds) -> Curve:
    """Return MPI_Send, replaced by MPI_Isend where it waits for the receiver to read."""
    waits = (send.nbytes >= thresholds.copied) & (send.nbytes < thresholds.detached)
    return replace(send, seconds=np.where(waits, isend.at(send.nbytes), send.seconds))


def _deviation(values: Floats) -> float:
    """Return the sum of the absolute deviations from the median."""
    return float(np.abs(values - np.median(values)).sum())


NOTHING = "0:0:0"


@dataclass(frozen=True)
class Overheads:
    """Measured software overheads over their whole range of sizes.

    Parameters
    ----------
    send, isend, recv
        Times in MPI_Send, in MPI_Isend, and in MPI_Recv of an arrived message; None if not
        measured.
    thresholds
        Sizes up to which MPI_Send does not wait and messages arrive before their receive; None if
        none of the calls was timed individually.
    send_in_messages, recv_in_messages
        Part of MPI_Send and MPI_Recv that a message takes in addition to its network time
        (`tisim.studies.calibration.separation`); None if it is the whole time in the call.
    """

    send: Piecewise | None = None
    isend: Piecewise | None = None
    recv: Piecewise | None = None
    thresholds: Thresholds | None = None
    send_in_messages: Piecewise | None = None
    recv_in_messages: Piecewise | None = None

    @property
    def sender(self) -> Piecewise | None:
        """Lines of ``smpi/os``: MPI_Send below the size from which it waits, else MPI_Isend."""
        if self.thresholds is None:
            return None
        if self.send_in_messages is not None:
            return self.send_in_messages
        own = self.send if self.send is not None else self.isend
        return own.below(self.thresholds.detached) if own is not None else None

    @property
    def receiver(self) -> Piecewise | None:
        """Lines of ``smpi/or``: MPI_Recv below the size from which messages have not arrived."""
        if self.thresholds is None or self.recv is None:
            return None
        if self.recv_in_messages is not None:
            return self.recv_in_messages
        return self.recv.below(self.thresholds.async_small)

    @property
    def breakpoints(self) -> tuple[int, ...]:
        """Boundaries in any of the operations, in bytes."""
        fits = (self.send, self.isend, self.recv)
        return tuple(sorted({size for fit in fits if fit is not None for size in fit.breakpoints}))

    def seconds_per_message(self, nbytes: Floats) -> Floats:
        """Return the seconds of software in a message of `nbytes` bytes, MPI_Send to MPI_Recv."""
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
        """Return the three configuration tables ``boundary:seconds:seconds per byte;...``."""
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
    """Return a table that ends with zeros from the threshold `end` on."""
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
    """Fit the measured overheads and find the size from which MPI_Send waits.

    Parameters
    ----------
    measurements
        Times of ``pingpong``, and of ``send``, ``isend`` and ``recv`` if measured.
    breakpoints
        Boundaries in bytes given by the user; determined if None.

    Raises
    ------
    InputError
        If one of them was measured at a single size.
    """
    curves = {
        name: measurements.curve(name)
        for name in ("send", "late_send", "probed_send", "isend", "recv")
        if measurements.has(name)
    }
    thresholds = find_thresholds(measurements.curve("pingpong"), **curves)
    curves.pop("late_send", None)
    curves.pop("probed_send", None)
    changes: dict[str, list[int]] = {}
    if thresholds is not None:
        changes = {
            "send": sorted({thresholds.copied - 1, thresholds.detached - 1}),
            "recv": [thresholds.async_small - 1],
        }
        if "send" in curves and "isend" in curves:
            curves["send"] = _without_waiting(curves["send"], curves["isend"], thresholds)
    fits = {
        name: fit_piecewise(curve, breakpoints=breakpoints, changes=changes.get(name, ()))
        for name, curve in curves.items()
    }
    return Overheads(fits.get("send"), fits.get("isend"), fits.get("recv"), thresholds)


# A processor that slept is slow at first: its caches are cold, its clock frequency is low. So the
# time in MPI_Recv depends on the idle time of the rank, and a benchmark that waits for each message
# to arrive measures the effect of its own waiting. If the file contains the begin of each call,
# receives of the same size that differ only in the idle time before them show the effect. All of
# them are corrected to the usual idle time.
#
# The effect is one of two additive terms on logarithms, and is found alternately with the other
# one, the lines over the sizes (backfitting: Breiman & Friedman, J. Am. Stat. Assoc. 80, 1985), by
# a running median, which is robust to outliers and follows a jump.

# Minimum number of receives that show the effect.
_MIN_RECEIVES = 200
# Fraction of a segment's receives that the running median spans, and their minimum number.
_SPAN = 1 / 12
_MIN_SPAN = 31
# Smaller effects, from the 5 % to the 95 % quantile, are ignored.
_NOTABLE = 0.05
_TAILS = (0.05, 0.95)


def correct_for_idle_time(measured: Measurements, overheads: Overheads) -> Measurements | None:
    """Correct the receives of arrived messages to the usual idle time before them.

    Returns other ``seconds`` of the operation ``recv``, and a remark; None if the idle times are
    unknown or irrelevant.
    """
    lines = overheads.receiver
    frame = measured.frame
    if lines is None or overheads.thresholds is None or "idle" not in frame:
        return None
    arrived = (frame["operation"] == "recv") & (frame["bytes"] < overheads.thresholds.async_small)
    rows = frame[arrived & (frame["idle"] > 0)].sort_values("idle", kind="stable")
    if len(rows) < _MIN_RECEIVES:
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
    """Return the median of the values around each one, less the median of these medians."""
    half = max(int(len(values) * _SPAN), _MIN_SPAN) // 2
    half = min(half, len(values) - 1)
    padded = np.pad(values, half, mode="reflect")
    medians = np.median(np.lib.stride_tricks.sliding_window_view(padded, 2 * half + 1), axis=1)
    return np.asarray(medians - np.median(medians))


def _remark(rows: pd.DataFrame, ratio: float) -> str:
    low, usual, high = rows["idle"].quantile([_TAILS[0], 0.5, _TAILS[1]]) * 1e3
    return (
        f"the time inside MPI_Recv depends on how long the rank was idle before ({low:.2g} to "
        f"{high:.2g} ms), by a factor of up to {ratio:.2g}: the measured times are converted to "
        f"the usual {usual:.2g} ms"
    )
