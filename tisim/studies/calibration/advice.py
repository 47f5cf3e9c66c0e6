"""Warnings about unreliable calibrations, based on experience."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tisim.studies.calibration.factors import ENVELOPE
from tisim.studies.calibration.separation import Network

if TYPE_CHECKING:
    from tisim.studies.calibration.calibration import Calibration
    from tisim.studies.calibration.contention import Contention

_FEW_POINTS = 5
_LARGE_RESIDUAL = 0.10
# Factor between nominal and achieved bandwidth beyond which the nominal one is another network's.
_IMPLAUSIBLE = 3.0
# Ping-pongs shorter than others of their size by this factor took another path...
_SHORTER = 3.0
# ... if they are at least this fraction of all.
_NOTABLE_PART = 0.10
# Error of a simulated call, as a median over its segment, that is worth a warning.
_LARGE_ERROR = 0.15
_SHOWN_SIZES = 8
# Ratio of the bandwidth of both directions to that of one above which there is no bottleneck.
_NEARLY_TWICE = 1.9
# Relative precision of medians unless something else disturbs the measurements.
_DISTURBED = 0.1
# Largest message in bytes that idling delays notably.
_SMALL = 4096
_NAMES = {
    "pingpong": "ping-pong",
    "send": "MPI_Send",
    "isend": "MPI_Isend",
    "recv": "MPI_Recv of an arrived message",
    "stream": "stream",
}


def advise(calibration: Calibration) -> tuple[str, ...]:
    """Return everything that the user should know before trusting a calibration.

    If the measurements were disturbed, other warnings are omitted.
    """
    return tuple(_disturbed(calibration)) or (
        *calibration.measurements.remarks,
        *_method(calibration),
        *_segments(calibration),
        *_intra_node(calibration),
        *_overheads(calibration),
        *_zero_latencies(calibration),
        *_simulated(calibration),
        *_unknown_medians(calibration),
        *_nominal(calibration),
        *_idle(calibration),
        *_contention(calibration),
        *_polling(calibration),
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
            "no overhead was measured separately (MPI_Send, MPI_Isend, MPI_Recv): only factors are "
            "fitted, as in the classical method; smpi/os, smpi/ois and smpi/or are set to zero, "
            "and the protocol thresholds are unchanged"
        )
    elif missing:
        yield (
            f"not measured: {', '.join(missing)}; its overhead is included in the measured ones, "
            "or zero"
        )
    hosts = calibration.platform.overriding_hosts()
    if hosts:
        yield (
            f"{len(hosts)} hosts of the platform, such as {hosts[0]}, have their own overheads, "
            "which take precedence over the calibrated ones; remove these properties"
        )


def _segments(calibration: Calibration) -> Iterator[str]:
    for fit in calibration.fits:
        for segment in fit.segments:
            where = f"{fit.operation} from {segment.first} to {segment.last} bytes"
            if segment.piece:
                continue
            if segment.line.sizes < _FEW_POINTS:
                yield (f"{where}: only {segment.line.sizes} sizes were measured; measure more")
            if segment.line.residual > _LARGE_RESIDUAL:
                yield (
                    f"{where}: the residual is {segment.line.residual:.0%}; the times are not "
                    "linear there"
                )


def _intra_node(calibration: Calibration) -> Iterator[str]:
    """Two populations of ping-pongs, or ping-pongs faster than the wire."""
    frame = calibration.measurements.frame
    rows = frame[frame["operation"] == "pingpong"]
    nbytes = rows["bytes"].to_numpy(dtype=np.float64)
    route, curve = calibration.route, calibration.measurements.curve("pingpong")
    network = Network.of(route.bandwidth, route.latency, curve, ENVELOPE, calibration.burst)
    fitted = calibration.transfer.seconds(nbytes) - network.burst_saving(nbytes)
    fitted += calibration.overheads.seconds_per_message(nbytes)
    ratio = fitted / rows["seconds"].to_numpy()
    quick, slow = np.mean(ratio > _SHORTER), np.mean(ratio < 1 / _SHORTER)
    if max(quick, slow) > _NOTABLE_PART:
        yield (
            f"intra-node measurements mixed in? {max(quick, slow):.0%} of the ping-pongs take "
            f"{'less than a third' if quick > slow else 'more than three times'} of the time of "
            "others of the same size; calibrate only with pairs of different hosts"
        )
    smallest = curve.seconds[0]
    if smallest < calibration.route.latency / _SHORTER:
        yield (
            f"the smallest ping-pong takes {smallest:.3g} s one way, far less than the nominal "
            f"latency of {calibration.route.latency:.3g} s: were both processes on one host?"
        )


def _overheads(calibration: Calibration) -> Iterator[str]:
    """Overheads that were reduced to fit into ping-pongs and streams."""
    overheads = calibration.overheads
    curve = calibration.measurements.curve("pingpong")
    alone = replace(overheads, send_in_messages=None, recv_in_messages=None)
    over = alone.seconds_per_message(curve.nbytes) > 0.9 * curve.seconds
    if over.any():
        yield (
            f"at {over.sum()} of {len(over)} sizes the overheads alone take at least nine tenths "
            f"of the ping-pong (first at {curve.nbytes[over][0]:.0f} bytes): they were measured "
            "under different conditions"
        )
    changed = [
        name
        for name, lines in (
            ("MPI_Send", overheads.send_in_messages),
            ("MPI_Recv", overheads.recv_in_messages),
        )
        if lines is not None
    ]
    if changed:
        yield (
            f"{' and '.join(changed)}, timed alone, plus the network's bandwidth exceed the time "
            "of the ping-pong or stream: the overheads are reduced to fit"
        )
    divided = sum(segment.piece > 0 for segment in calibration.transfer.segments)
    if divided:
        yield (
            f"{divided} of {len(calibration.transfer.segments)} segments of the transfer divide a "
            "protocol that one line does not fit: it misses medians known to within 3 %, or "
            "streams are faster per byte"
        )


def _zero_latencies(calibration: Calibration) -> Iterator[str]:
    """Classes of sizes with zero latency."""
    segments = calibration.transfer.segments
    zero = [
        f"{segment.first} to {segment.last}"
        for segment, factor in zip(segments, calibration.factors, strict=True)
        if factor.latency == 0
    ]
    if zero:
        yield (
            f"the latency factor is zero from {', '.join(zero)} bytes: overheads and bandwidth "
            "account for the whole ping-pong there; is the nominal bandwidth right?"
        )


def _simulated(calibration: Calibration) -> Iterator[str]:
    """Calls whose simulation misses the measurements with these parameters."""
    failing = calibration.failing()
    if len(failing):
        sizes = ", ".join(str(size) for size in failing["bytes"][:_SHOWN_SIZES])
        more = f" and {len(failing) - _SHOWN_SIZES} more" if len(failing) > _SHOWN_SIZES else ""
        worst = failing["error"].abs().max()
        yield (
            f"the simulated ping-pong misses the measured one by more than 5 % (up to {worst:.0%}) "
            f"at {len(failing)} sizes known to within 3 %: {sizes}{more} bytes"
        )
    errors = calibration.errors()
    medians = errors.groupby(["operation", "above_bytes"], sort=False)["error"].agg(
        lambda error: float(error.abs().median())
    )
    for operation in errors["operation"].unique():
        large = medians[operation][medians[operation] > _LARGE_ERROR]
        if len(large):
            places = ", ".join(f"{above} ({error:.0%})" for above, error in large.items())
            yield (
                f"the simulated {_NAMES[operation]} is far off in the median in the segments above "
                f"these sizes: {places} bytes; do not rely on it there"
            )


def _disturbed(calibration: Calibration) -> Iterator[str]:
    """A machine or network with other load during the measurements."""
    curve = calibration.measurements.curve("pingpong")
    intervals = curve.intervals[np.isfinite(curve.intervals)]
    if len(intervals) and np.median(intervals) > _DISTURBED:
        yield (
            "do not use this calibration: the medians of half of the sizes are not even known to "
            f"within {_DISTURBED:.0%}, because the machine or network was busy; repeat the "
            "measurement on an idle machine"
        )


def _unknown_medians(calibration: Calibration) -> Iterator[str]:
    """Times that were not repeated often enough."""
    curve = calibration.measurements.curve("pingpong")
    known = curve.is_well_known
    if curve.counts.max() > 1 and not known.all():
        yield (
            f"at {(~known).sum()} of {len(known)} sizes the median of the ping-pongs is not known "
            "to within 3 % (95 % interval): use more repetitions, or a quieter machine"
        )


def _nominal(calibration: Calibration) -> Iterator[str]:
    """A nominal bandwidth that is implausible for the measured network."""
    curve, nominal = calibration.measurements.curve("pingpong"), calibration.route.bandwidth
    half = int(np.searchsorted(curve.nbytes, curve.nbytes[-1] / 2))
    half = min(half, len(curve.nbytes) - 2)
    more, longer = curve.nbytes[-1] - curve.nbytes[half], curve.seconds[-1] - curve.seconds[half]
    reached = float(more / longer) if longer > 0 else nominal
    if reached > (1 + _LARGE_RESIDUAL) * nominal:
        yield (
            f"large messages reach {reached:.4g} bytes/s, more than the nominal bandwidth of "
            f"{nominal:.4g} bytes/s, which no factor may exceed: give a nominal bandwidth of at "
            "least the measured one"
        )
    fitted = 1 / calibration.transfer.segments[-1].line.slope
    if not nominal / _IMPLAUSIBLE <= max(reached, fitted) <= nominal * _IMPLAUSIBLE:
        yield (
            f"large messages reach {max(reached, fitted):.3g} bytes/s, the nominal bandwidth is "
            f"{nominal:.3g} bytes/s: is it that of the measured network, with the right unit "
            "(125MBps, 1Gbps)?"
        )


def _contention(calibration: Calibration) -> Iterator[str]:
    contention = calibration.contention
    yield from _bandwidth(calibration)
    if contention is None:
        yield (
            "contention was not measured (osu_bibw, IMB PingPing or Sendrecv, 'tisim benchmark'): "
            "limiter links are unchanged"
        )
        return
    if calibration.switches is not None and not calibration.switches.is_uniform:
        return  # trunks and cables explain the rates of concurrent messages
    yield from _patterns(contention)
    if not 0.95 <= contention.measured_ratio <= 2.05:
        yield (
            f"both directions together reach {contention.measured_ratio:.2f} times the bandwidth "
            "of one, which is impossible: check the measurements"
        )
    if contention.is_host_bound and any(
        calibration.platform.cluster_of(host) is None for host in calibration.hosts
    ):
        yield (
            f"both directions together reach {contention.fraction:.0%} of twice the bandwidth, but "
            "only a <cluster> has a limiter_link: put a shared link of "
            f"{contention.ratio * calibration.route.bandwidth:.3g} Bps into both routes between "
            f"{calibration.hosts[0]} and {calibration.hosts[1]}"
        )


def _patterns(contention: Contention) -> Iterator[str]:
    """Findings that contradict the model, or that the measurements cannot decide."""
    if contention.shift is None and contention.ratio < _NEARLY_TWICE:
        yield (
            "both directions were measured between only two hosts, which may wait for one another: "
            "no limiter_link is written; a shift over at least three hosts ('tisim benchmark') "
            "shows whether the hosts are the bottleneck"
        )
    for pattern in contention.patterns:
        if pattern.modes:
            nbytes, (low, high) = next(iter(pattern.modes.items()))
            yield (
                f"{pattern.name}: the times have two modes at {len(pattern.modes)} sizes, such as "
                f"{nbytes} bytes: {low.seconds:.4g} s ({low.times} of {low.total} times) and "
                f"{high.seconds:.4g} s ({high.times} times); a prediction can match only one of "
                "them"
            )
        if pattern.name in ("pairs", "incast") and pattern.rate < 1 - _LARGE_RESIDUAL:
            yield (
                f"{pattern.name}: concurrent messages reach {pattern.rate:.0%} of one transfer "
                "alone: they share a resource that is not in the model (a switch, a processor), or "
                "packets are lost"
            )


def _idle(calibration: Calibration) -> Iterator[str]:
    """Ping-pongs after both sides slept."""
    measurements = calibration.measurements
    if (
        measurements.frame[measurements.frame["operation"] == "idle_pingpong"]["bytes"].nunique()
        < 2
    ):
        return
    idle, busy = measurements.curve("idle_pingpong"), measurements.curve("pingpong")
    small = idle.nbytes <= _SMALL
    if not small.any():
        return
    ratio = float(np.median(idle.seconds[small] / busy.at(idle.nbytes[small])))
    if abs(ratio - 1) > _LARGE_RESIDUAL:
        yield (
            f"after idling, small ping-pongs take {ratio:.2g} times as long as back to back, which "
            "is the calibrated case: a program that computes between messages sees the longer times"
        )


def _polling(calibration: Calibration) -> Iterator[str]:
    """Polling calls that were not measured, whose default costs are far from any library's."""
    measured = {*calibration.measurements.frame["operation"]}
    missing = [
        (f"MPI_{name.title()}", f"smpi/{name}")
        for name in ("test", "iprobe")
        if name not in measured
    ]
    if missing:
        calls, options = (" and ".join(words) for words in zip(*missing, strict=True))
        yield (
            f"unsuccessful {calls} were not measured ('tisim benchmark', platform-calibration): "
            f"{options} are unchanged, by default 0.1 ms and growing; a polling program is "
            "predicted too slow"
        )


def _bandwidth(calibration: Calibration) -> Iterator[str]:
    """Transfers in one direction whose bandwidth differs from that of large ping-pongs."""
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
            f"implies {promised / 1e6:.4g} MB/s: were they measured under the same conditions?"
        )


def _range(calibration: Calibration) -> Iterator[str]:
    largest = calibration.transfer.segments[-1].last
    yield (
        f"no ping-pong above {largest} bytes was measured: the last segment is used for larger "
        "messages"
    )
    smallest = calibration.transfer.segments[0].first
    if smallest > 4 * ENVELOPE:
        yield (
            f"no ping-pong below {smallest} bytes was measured: the first segment is used for "
            "smaller messages"
        )
