"""Latency and bandwidth factors: transfer times relative to the nominal values.

In SimGrid's SMPI model the transfer of ``k`` bytes over a route takes
``latency * lat_factor(k + 16) + (k + 16) / (bandwidth * bw_factor(k + 16))``: messages carry 16
bytes of envelope, and the factors are looked up for the size with it (Clauss et al. 2011).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from tisim.config.table import NetworkModel
from tisim.errors import InputError
from tisim.studies.calibration.line import Floats
from tisim.studies.calibration.measurements import Curve
from tisim.studies.calibration.overheads import Overheads
from tisim.studies.calibration.piecewise import (
    Piecewise,
    Target,
    fit_piecewise,
    limit_slopes,
    refined,
)
from tisim.studies.calibration.separation import Network

#: Bytes that a message carries in addition to its payload.
ENVELOPE = NetworkModel().envelope
#: Maximum bytes of messages that take as long as empty ones.
EMPTY = 100
# Maximum speed of bytes within a segment, relative to the best measured rate: a flatter line is a
# step in the data, and would remove bandwidth from the model.
_FASTEST = 4.0
# Lines approximate well-known medians within this fraction, so that the simulated ping-pong is
# within AGREEMENT.
_TOLERANCE = 0.04


@dataclass(frozen=True)
class Route:
    """Nominal values of the route of the measured messages.

    Parameters
    ----------
    latency
        Sum of the latencies of its links, in seconds.
    bandwidth
        Bandwidth of a single large message, in bytes/s.
    """

    latency: float
    bandwidth: float

    def __post_init__(self) -> None:
        if self.latency <= 0:
            raise InputError(
                "the nominal latency of the route is zero and cannot be scaled; give its links a "
                "latency"
            )
        if self.bandwidth <= 0:
            raise InputError(
                "the nominal bandwidth of the route is zero; give its links a bandwidth"
            )


@dataclass(frozen=True)
class Factor:
    """Factors of a class of sizes.

    Parameters
    ----------
    above
        The class contains messages of more bytes than this (payload).
    latency, bandwidth
        Factors on the nominal values.
    """

    above: int
    latency: float
    bandwidth: float


def fit_transfer(
    ping_pong: Curve,
    overheads: Overheads,
    breakpoints: Sequence[int] | None = None,
    network: Network | None = None,
    gap: Floats | None = None,
    controls: int = 0,
) -> Piecewise:
    """Fit the one-way time less the software overheads.

    Parameters
    ----------
    ping_pong
        One-way times.
    overheads
        Overheads that the simulator adds to the transfer.
    breakpoints
        Boundaries in bytes given by the user; determined if None.
    network
        Lower bounds of the network: no byte moves faster than its bandwidth, and each message takes
        its latency. Where lines miss well-known medians, the segments are divided. If None, bytes
        move at most four times as fast as the ping-pong.
    gap
        Seconds of each further message of a stream, at the sizes of the ping-pong; infinite if not
        measured. Time per byte of a single message beyond that does not occupy the link: it is
        latency, in pieces that follow the sizes.
    controls
        Control messages of a rendezvous, which the simulator sends separately.

    Returns
    -------
    Piecewise
        The transfer alone. Its residuals are relative to the whole one-way time.
    """
    rate = float(np.max(ping_pong.nbytes / ping_pong.seconds))
    thresholds = overheads.thresholds
    changes = [] if thresholds is None else [thresholds.async_small - 1, thresholds.detached - 1]
    offset = overheads.seconds_per_message(ping_pong.nbytes)
    offset = offset + seconds_of_controls(ping_pong, overheads, controls)
    if network is not None and network.burst > 0:
        # The lines describe a message without a burst.
        offset = offset - network.burst_saving(ping_pong.nbytes)
        changes = [*changes, int(network.burst) - ENVELOPE]
    lines = fit_piecewise(
        ping_pong,
        breakpoints=breakpoints,
        changes=sorted(set(changes)),
        hints=overheads.breakpoints,
        offset=offset,
        least_slope=1.0 / (_FASTEST * rate if network is None else network.bandwidth),
        least_intercept=0.0 if network is None else network.latency + ENVELOPE / network.bandwidth,
    )
    if network is None or breakpoints is not None:
        return lines
    target = Target(
        ping_pong.nbytes,
        ping_pong.seconds - offset,
        ping_pong.seconds,
        ping_pong.is_well_known,
        _TOLERANCE,
        least_slope=1.0 / network.bandwidth,
        floor=network.latency,
        envelope=ENVELOPE,
    )
    if gap is not None and network.burst == 0:
        lines = limit_slopes(lines, target, ping_pong.counts, gap)
    # Messages shorter than the burst pass without delay, whatever their bandwidth factor.
    return refined(lines, target, ping_pong.counts, steepest_from=network.burst - ENVELOPE)


def seconds_of_controls(ping_pong: Curve, overheads: Overheads, controls: int) -> Floats:
    """Return the seconds of the control messages of a rendezvous, at each size of the ping-pong.

    A control message takes as long as the shortest messages without their overheads.
    """
    if overheads.thresholds is None:
        return np.zeros_like(ping_pong.nbytes)
    nbytes = ping_pong.nbytes
    network = ping_pong.seconds - overheads.seconds_per_message(nbytes)
    each = max(float(np.median(network[nbytes <= max(EMPTY, nbytes[0])])), 0.0)
    return np.where(nbytes >= overheads.thresholds.detached, controls * each, 0.0)


def factors_of(transfer: Piecewise, route: Route) -> tuple[Factor, ...]:
    """Express the lines of a transfer as factors on the nominal values of its route."""
    return tuple(
        Factor(
            segment.above,
            max(segment.line.intercept - ENVELOPE * segment.line.slope, 0.0) / route.latency,
            1.0 / (segment.line.slope * route.bandwidth),
        )
        for segment in transfer.segments
    )


def tables(found: Sequence[Factor]) -> dict[str, str]:
    """Return the two configuration tables ``boundary:factor;...``, with envelopes in boundaries."""
    bounds = [factor.above + ENVELOPE if factor.above else 0 for factor in found]

    def table(factors: Iterable[float]) -> str:
        return ";".join(f"{bound}:{f:.6g}" for bound, f in zip(bounds, factors, strict=True))

    return {
        "smpi/lat-factor": table(factor.latency for factor in found),
        "smpi/bw-factor": table(factor.bandwidth for factor in found),
    }
