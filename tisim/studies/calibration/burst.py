"""The bytes that a link passes at once, from single messages and streams.

Where single messages are faster than the bandwidth that streams of them reach, the link has a burst
of ``b`` bytes (`ADR 29`): a message of ``k`` bytes takes ``t + (k + 16 - b) / bandwidth`` if ``k``
is large, and ``t`` if it is small. Without streams the two cannot be told from a faster link.
"""

from __future__ import annotations

import numpy as np

from tisim.studies.calibration.measurements import Measurements

# A single message is faster than the bandwidth if it takes this part of what that alone takes.
_FASTER = 0.9
# A stream that is this much slower than the bandwidth is held up by something else.
_SUSTAINED = 0.9
# Messages whose start-up time is that of the shortest, in bytes; and those that are long against a
# burst, but not so long that an error of the bandwidth matters.
_SHORT, _LONGEST = 64, 1 << 16
_LEAST_SIZES = 3
# Burst and latency are told apart by messages that take so many times as long as the shortest.
_LONG = 1.5
# Messages just above the burst find less than a full bucket in a ping-pong that goes on, and those
# far above it are late by any error of the bandwidth: both show less than the burst.
_UPPER = 0.75


def fit_burst(measured: Measurements, bandwidth: float, envelope: int) -> float:
    """The burst of the links of a route, in bytes; 0 where nothing shows one.

    Parameters
    ----------
    measured
        Ping-pongs and streams.
    bandwidth
        What streams and long messages reach, in bytes/s.
    envelope
        Bytes that a message carries beside its payload.
    """
    if not measured.has("stream"):
        return 0.0
    curve, stream = measured.curve("pingpong"), measured.curve("stream")
    wire = (curve.nbytes + envelope) / bandwidth
    inside = (curve.nbytes >= stream.nbytes[0]) & (curve.nbytes <= stream.nbytes[-1])
    sustained = stream.at(curve.nbytes) > _SUSTAINED * wire
    faster = curve.is_well_known & inside & sustained & (curve.seconds < _FASTER * wire)
    if faster.sum() < _LEAST_SIZES:
        return 0.0
    short = curve.seconds[curve.nbytes <= _SHORT]
    startup = float(np.median(short)) if len(short) else float(curve.seconds[0])
    # The burst exceeds every message that was faster, and longer ones are late by the rest.
    long = (curve.nbytes <= _LONGEST) & (curve.seconds > _LONG * startup) & (wire > startup)
    if long.sum() < _LEAST_SIZES:
        return 0.0
    bursts = bandwidth * (wire[long] + startup - curve.seconds[long])
    return max(float(np.quantile(bursts, _UPPER)), 0.0)
