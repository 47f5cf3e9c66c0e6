"""Warnings about calibrations that are worse than they seem, from experience."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from tisim.calibration.factors import ENVELOPE

if TYPE_CHECKING:
    from tisim.calibration.calibration import Calibration

_FEW_POINTS = 5
_LARGE_RESIDUAL = 0.10
# A network that reaches so many times its nominal bandwidth, or so small a part, has another one.
_IMPLAUSIBLE = 3.0
# Ping-pongs this many times shorter than others of their size took another way...
_SHORTER = 3.0
# ... if they are this part of all.
_NOTABLE_PART = 0.10


def advise(calibration: Calibration) -> tuple[str, ...]:
    """Everything that the user should know before trusting a calibration."""
    return (
        *calibration.measurements.remarks,
        *_method(calibration),
        *_segments(calibration),
        *_intra_node(calibration),
        *_overheads(calibration),
        *_nominal(calibration),
        *_contention(calibration),
        *_range(calibration),
    )


def _method(calibration: Calibration) -> Iterator[str]:
    overheads = calibration.overheads
    missing = [
        name
        for name, fit in (
            ("MPI_Send", overheads.send),
            ("MPI_Isend", overheads.isend),
            ("MPI_Recv of an arrived message", overheads.recv),
        )
        if fit is None
    ]
    if len(missing) == 3:
        yield (
            "no overhead was measured on its own (MPI_Send, MPI_Isend, MPI_Recv): factors alone "
            "are fitted, as in the classical method; smpi/os, smpi/ois and smpi/or are set to "
            "zero, and the thresholds of the protocol are left as they are"
        )
    elif missing:
        yield f"not measured: {', '.join(missing)}; its overhead is in what was, or is zero"
    hosts = calibration.platform.overriding_hosts()
    if hosts:
        yield (
            f"{len(hosts)} hosts of the platform, such as {hosts[0]}, have overheads of their own, "
            "which win over the calibrated ones; remove these properties"
        )


def _segments(calibration: Calibration) -> Iterator[str]:
    for fit in calibration.fits:
        for segment in fit.segments:
            where = f"{fit.operation} from {segment.first} to {segment.last} bytes"
            if segment.line.sizes < _FEW_POINTS:
                yield (
                    f"{where}: only {segment.line.sizes} sizes were measured; measure more of them"
                )
            if segment.line.residual > _LARGE_RESIDUAL:
                yield (
                    f"{where}: the residual is {segment.line.residual:.0%}; the times do not lie "
                    "on a line there"
                )


def _intra_node(calibration: Calibration) -> Iterator[str]:
    """Two populations of ping-pongs, or ones that are faster than the wire."""
    frame = calibration.measurements.frame
    rows = frame[frame["operation"] == "pingpong"]
    nbytes = rows["bytes"].to_numpy(dtype=np.float64)
    fitted = calibration.transfer.seconds(nbytes) + calibration.overheads.in_a_message(nbytes)
    ratio = fitted / rows["seconds"].to_numpy()
    quick, slow = np.mean(ratio > _SHORTER), np.mean(ratio < 1 / _SHORTER)
    if max(quick, slow) > _NOTABLE_PART:
        yield (
            f"intra-node measurements mixed in? {max(quick, slow):.0%} of the ping-pongs take "
            f"{'less than a third' if quick > slow else 'more than three times'} of what the "
            "others of their size take; calibrate from pairs of different hosts alone"
        )
    smallest = calibration.measurements.curve("pingpong").seconds[0]
    if smallest < calibration.route.latency / _SHORTER:
        yield (
            f"the smallest ping-pong takes {smallest:.3g} s one way, far less than the nominal "
            f"latency of {calibration.route.latency:.3g} s: were both processes on one host?"
        )


def _overheads(calibration: Calibration) -> Iterator[str]:
    """Overheads that leave nothing for the network."""
    curve = calibration.measurements.curve("pingpong")
    known = calibration.overheads.in_a_message(curve.nbytes)
    over = known > 0.9 * curve.seconds
    if over.any():
        yield (
            f"at {over.sum()} of {len(over)} sizes the overheads alone take nine tenths of the "
            f"ping-pong or more (first at {curve.nbytes[over][0]:.0f} bytes): they were measured "
            "under other conditions"
        )


def _nominal(calibration: Calibration) -> Iterator[str]:
    """A nominal bandwidth that can hardly be that of the network that was measured."""
    last, nominal = calibration.factors[-1].bandwidth, calibration.route.bandwidth
    if not 1 / _IMPLAUSIBLE <= last <= _IMPLAUSIBLE:
        yield (
            f"large messages reach {last * nominal:.3g} bytes/s, the nominal bandwidth is "
            f"{nominal:.3g} bytes/s: is it that of the network that was measured (and its unit "
            "right: 125MBps, 1Gbps)?"
        )


def _contention(calibration: Calibration) -> Iterator[str]:
    contention = calibration.contention
    yield from _bandwidth(calibration)
    if contention is None:
        yield (
            "contention was not measured (osu_bibw, IMB PingPing or Sendrecv, 'tisim benchmark'): "
            "limiter links are left as they are"
        )
        return
    if not 0.95 <= contention.measured_ratio <= 2.05:
        yield (
            f"both directions together reach {contention.measured_ratio:.2f} times the bandwidth "
            f"of one; {contention.ratio:.0f} is used"
        )
    if any(calibration.platform.cluster_of(host) is None for host in calibration.hosts):
        yield (
            f"both directions together reach {contention.fraction:.0%} of twice the bandwidth, but "
            "only a <cluster> has a limiter_link: put a shared link of "
            f"{contention.ratio * calibration.route.bandwidth:.3g} Bps into both routes between "
            f"{calibration.hosts[0]} and {calibration.hosts[1]}"
        )


def _bandwidth(calibration: Calibration) -> Iterator[str]:
    """Whether transfers in one direction reach what large ping-pongs promise."""
    frame = calibration.measurements.frame
    rows = frame[(frame["operation"] == "transfer") & (frame["directions"] == 1)]
    rows = rows[(rows["bytes"] == rows["bytes"].max()) & (rows["pairs"] == 1)]
    if rows.empty:
        return
    reached = float((rows["bytes"] / rows["seconds"]).median())
    promised = 1 / calibration.transfer.segments[-1].line.slope
    if abs(reached / promised - 1) > _LARGE_RESIDUAL:
        yield (
            f"single transfers reach {reached / 1e6:.4g} MB/s, the last segment of the ping-pong "
            f"means {promised / 1e6:.4g} MB/s: were they measured under the same conditions?"
        )


def _range(calibration: Calibration) -> Iterator[str]:
    largest = calibration.transfer.segments[-1].last
    yield (
        f"no ping-pong above {largest} bytes was measured: the last segment is taken for larger "
        "messages"
    )
    smallest = calibration.transfer.segments[0].first
    if smallest > 4 * ENVELOPE:
        yield (
            f"no ping-pong below {smallest} bytes was measured: the first segment is taken for "
            "smaller messages"
        )
