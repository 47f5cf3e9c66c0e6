"""Separate software overheads from the network's part of a message, using all measurements.

A message of ``k`` bytes from MPI_Send to MPI_Recv takes ``os(k) + wire(k) + or(k)``, where the
network takes at least ``(k + 16) / bandwidth``. A stream of messages takes, for each, the maximum
of the three, since they overlap between messages. Calls that are timed alone take longer than in a
program: a receiver that idled is slow at first, a sender copies while the network transfers. So
where ``send + recv + (k + 16) / bandwidth`` exceeds the ping-pong, the overheads are reduced. They
are the least-squares solution, at each size, of

    os = send,  or = recv,  os + wire + or = pingpong,  max(os, or, (k + 16) / bandwidth) = stream

weighted by the errors of their measurements: the ping-pong and the stream are what a program
experiences, and are exact; MPI_Send was timed in the ping-pong itself; MPI_Recv was timed alone,
after idling.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tisim.studies.calibration.line import Floats
from tisim.studies.calibration.measurements import Curve, Measurements
from tisim.studies.calibration.overheads import Overheads
from tisim.studies.calibration.piecewise import Piecewise, Target, fit_piecewise, refined

# Relative errors of the calls compared to those in a program: of MPI_Send in the ping-pong, and of
# MPI_Recv alone.
_SEND_ERROR, _RECV_ERROR = 0.1, 1.0
# Minimum latency, as a fraction of the nominal latency and of the shortest message.
_MIN_LATENCY_FRACTION = 0.1
# Lines follow the reduced overheads within this fraction of the ping-pong.
_TOLERANCE = 0.015
# Smallest relative difference of times that exceeds measurement noise.
_NOTABLE = 0.05
#: Untimed round trips in the benchmark before the timed one.
ROUND_TRIPS_BEFORE = 2


@dataclass(frozen=True)
class Network:
    """Lower bound of the network's part of a message."""

    bandwidth: float  # of the route, in bytes/s
    latency: float  # least latency, in seconds
    envelope: int  # bytes that a message carries in addition to its payload
    burst: float = 0.0  # bytes that the links pass without delay
    startup: float = 0.0  # one-way time of the shortest message, in seconds

    @classmethod
    def of(
        cls, bandwidth: float, latency: float, ping_pong: Curve, envelope: int, burst: float = 0.0
    ) -> Network:
        """Return the bounds given by nominal values and the shortest message."""
        startup = float(ping_pong.seconds.min())
        least = _MIN_LATENCY_FRACTION * min(latency, startup)
        return cls(bandwidth, least, envelope, burst, startup)

    def burst_saving(self, nbytes: Floats) -> Floats:
        """Return the seconds that a message saves through the burst.

        Round trips before the timed ping-pong have spent part of the burst, which the links regain
        only at their bandwidth (`ADR 29`).
        """
        whole = nbytes + self.envelope
        left = np.full((2, len(whole)), self.burst)  # remaining burst in each direction
        for _ in range(ROUND_TRIPS_BEFORE + 1):
            at_once = np.zeros_like(left)
            for way in range(2):
                at_once[way] = np.clip(left[way], 0.0, whole)
                seconds = self.startup + (whole - at_once[way]) / self.bandwidth
                left[way] -= whole
                left = np.minimum(left + self.bandwidth * seconds, self.burst)
        return np.asarray(at_once.mean(axis=0) / self.bandwidth)

    def min_seconds(self, nbytes: Floats) -> Floats:
        """Return the minimum time of a message in the network."""
        return np.asarray(self.stream_seconds(nbytes) - self.burst_saving(nbytes))

    def stream_seconds(self, nbytes: Floats) -> Floats:
        """Return the same in a stream, which has used up the burst."""
        return self.latency + (nbytes + self.envelope) / self.bandwidth


def separate(measured: Measurements, overheads: Overheads, network: Network) -> Overheads:
    """Return the overheads, reduced where they leave too little of ping-pongs for the network.

    They are unchanged if they leave enough and streams, if measured, agree.
    """
    thresholds = overheads.thresholds
    if thresholds is None or (overheads.sender is None and overheads.receiver is None):
        return overheads
    curve = measured.curve("pingpong")
    x, whole = curve.nbytes, curve.seconds
    send = _of(overheads.sender, x, thresholds.detached)
    recv = _of(overheads.receiver, x, thresholds.async_small)
    gap = stream_gap(measured, x)
    new_send, new_recv = _joint(send, recv, whole, network, x, gap)
    changed_send = np.abs(new_send - send) > _TOLERANCE * whole
    changed_recv = np.abs(new_recv - recv) > _TOLERANCE * whole
    return replace(
        overheads,
        send_in_messages=_lines(
            overheads.sender, curve, new_send, x < thresholds.detached, changed_send
        ),
        recv_in_messages=_lines(
            overheads.receiver, curve, new_recv, x < thresholds.async_small, changed_recv
        ),
    )


def _of(lines: Piecewise | None, nbytes: Floats, limit: int) -> Floats:
    if lines is None:
        return np.zeros_like(nbytes)
    return np.where(nbytes < limit, lines.seconds(nbytes), 0.0)


def _joint(
    send: Floats, recv: Floats, whole: Floats, network: Network, nbytes: Floats, gap: Floats | None
) -> tuple[Floats, Floats]:
    """Return the overheads of the sender and the receiver at each size."""
    if gap is not None:
        send, recv = np.minimum(send, gap), np.minimum(recv, gap)
        # Streams that neither the sender nor the bandwidth explains are limited by the receiver.
        slow = gap > (1 + _NOTABLE) * np.maximum(send, network.stream_seconds(nbytes))
        held_up = slow & (recv > 0) & np.isfinite(gap)
        recv = np.where(held_up, gap, recv)
    excess = np.maximum(send + recv + network.min_seconds(nbytes) - whole, 0.0)
    # Reductions are proportional to the squared errors; where one reaches zero, the other takes the
    # rest.
    send_part = (_SEND_ERROR * send) ** 2
    recv_part = (_RECV_ERROR * recv) ** 2
    total = np.maximum(send_part + recv_part, np.finfo(float).tiny)
    from_recv = np.minimum(excess * recv_part / total, recv)
    from_send = np.minimum(excess - from_recv, send)
    from_recv = np.minimum(excess - from_send, recv)
    return send - from_send, recv - from_recv


def _lines(
    lines: Piecewise | None,
    curve: Curve,
    seconds: Floats,
    inside: NDArray[np.bool_],
    changed: NDArray[np.bool_],
) -> Piecewise | None:
    """Return lines through an overhead as in messages; None if it is as timed alone."""
    if lines is None or not (changed & inside).any():
        return None
    part = replace(curve.part(inside), operation=lines.operation)
    goal = seconds[inside]
    # Residuals are relative to the message, since the overhead may be almost zero.
    rest = part.seconds - goal
    found = fit_piecewise(part, hints=lines.breakpoints, offset=rest)
    target = Target(part.nbytes, goal, part.seconds, part.is_well_known, _TOLERANCE)
    return refined(found, target, part.counts)


def stream_gap(measured: Measurements, nbytes: Floats) -> Floats | None:
    """Return the seconds per further message of a stream at some sizes; None if not measured.

    It is infinite outside of the measured sizes.
    """
    if not measured.has("stream"):
        return None
    stream = measured.curve("stream")
    inside = (nbytes >= stream.nbytes[0]) & (nbytes <= stream.nbytes[-1])
    return np.where(inside, stream.at(nbytes), np.inf)
