"""Loopback of a host: the link for messages between two of its processes.

Messages within a host have the overheads and factors of all others, but a link of their own, whose
latency and bandwidth are fitted to ping-pongs within a host: the least-squares solution of

    overheads(k) + latency * lat_factor(k + 16) + (k + 16) / (bandwidth * bw_factor(k + 16)) = time

relative to the times, with both non-negative.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tisim.config.table import NetworkModel
from tisim.studies.calibration.factors import ENVELOPE, Factor
from tisim.studies.calibration.library import library_facts
from tisim.studies.calibration.measurements import Curve, Measurements
from tisim.studies.calibration.overheads import Overheads

if TYPE_CHECKING:
    from tisim.studies.calibration.platform_file import PlatformFile

# Bytes/s of a loopback whose ping-pong leaves no time for bytes: practically unlimited.
_FASTEST = 1e12
# Relative error, as a median over the sizes, above which the link is a poor description.
_LARGE_ERROR = 0.15


@dataclass(frozen=True)
class Loopback:
    """Link within a host."""

    latency: float  # in seconds
    bandwidth: float  # in bytes/s
    error: float  # median over the sizes of the relative error of its ping-pong

    def settings(self) -> Mapping[str, str]:
        """Return the options for platforms whose hosts declare no loopback."""
        return {
            "network/loopback-bw": f"{self.bandwidth:.6g}",
            "network/loopback-lat": f"{self.latency:.6g}",
        }


def fit_loopback(
    local: Curve, overheads: Overheads, found: Sequence[Factor], controls: int = 0
) -> Loopback:
    """Return the link that fits ping-pongs within a host best.

    `local` are one-way times; overheads, factors and the number of control messages of a rendezvous
    are those of messages between hosts, which also apply within a host.
    """
    from scipy.optimize import nnls

    place = np.searchsorted([factor.above for factor in found], local.nbytes, side="left") - 1
    of_size = [found[max(int(index), 0)] for index in place]
    software = overheads.seconds_per_message(local.nbytes)
    thresholds = overheads.thresholds
    is_rendezvous = local.nbytes >= (math.inf if thresholds is None else thresholds.detached)
    handshake = np.where(is_rendezvous, controls * found[0].latency, 0.0)
    terms = np.column_stack(
        [
            np.array([factor.latency for factor in of_size]) + handshake,
            (local.nbytes + ENVELOPE) / [factor.bandwidth for factor in of_size],
        ]
    )
    # Sizes whose overheads alone take longer carry no information.
    is_measurable = software < local.seconds
    weights = np.where(is_measurable if is_measurable.sum() > 1 else True, 1 / local.seconds, 0.0)
    # Seconds per byte are tiny compared to a latency factor: scaling the columns improves
    # conditioning.
    scale = np.maximum(np.abs(terms * weights[:, None]).max(axis=0), np.finfo(float).tiny)
    solution, _ = nnls(terms * weights[:, None] / scale, (local.seconds - software) * weights)
    latency, slope = (float(value) for value in solution / scale)
    slope = max(slope, 1 / _FASTEST)
    simulated = software + terms @ np.array([latency, slope])
    error = float(np.median(np.abs(simulated / local.seconds - 1)))
    return Loopback(latency, 1 / slope, error)


def with_loopback(
    measurements: Measurements,
    overheads: Overheads,
    found: Sequence[Factor],
    file: PlatformFile,
    host: str,
) -> tuple[Measurements, Loopback | None]:
    """Fit the loopback if it was measured, and set it; adds a remark if it is a poor fit.

    Without a measurement it is that of hosts outside of clusters: a cluster that declares none
    sends a rank's messages to itself over its cables.
    """
    inside = measurements.inside
    if inside is None or (inside["operation"] == "pingpong").sum() == 0:
        network = NetworkModel()
        file.set_loopback(host, network.loopback_bandwidth, network.loopback_latency, keep=True)
        return measurements, None
    controls = library_facts(measurements).controls
    loopback = fit_loopback(Measurements(inside).curve("pingpong"), overheads, found, controls)
    file.set_loopback(host, loopback.bandwidth, loopback.latency)
    if loopback.error > _LARGE_ERROR:
        measurements = measurements.with_remark(
            f"simulated messages within a host have a median error of {loopback.error:.0%}: the "
            "overheads are those of messages between hosts and do not apply there"
        )
    return measurements, loopback
