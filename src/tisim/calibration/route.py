"""The nominal latency and bandwidth of the route on which the messages were measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tisim.calibration.factors import ENVELOPE, Route
from tisim.calibration.simulation import simulate

if TYPE_CHECKING:
    from tisim.platform import Platform

# No factor, no overhead, no protocol: what is left are the links of the platform.
_NOMINAL = {
    "network/model": "SMPI",
    "smpi/lat-factor": "0:1",
    "smpi/bw-factor": "0:1",
    "smpi/os": "0:0:0",
    "smpi/ois": "0:0:0",
    "smpi/or": "0:0:0",
}
_SIZES = (1 << 10, 1 << 24)


def route_between(platform: Platform, hosts: tuple[str, str]) -> Route:
    """Nominal values of the route between two hosts, as the simulator sees them.

    Two ping-pongs without any factor tell them apart. So whatever else the simulator does to a
    single message (sharing with acknowledgements, the bound of the TCP window) is in the bandwidth,
    and a factor of one means that nothing is to be changed.

    Raises
    ------
    InputError
        If a host is unknown, or the route has no latency that a factor could scale.
    """
    times = simulate(platform, hosts, _SIZES, _NOMINAL)["pingpong"].to_numpy()
    sizes = np.array(_SIZES) + ENVELOPE
    slope = float((times[1] - times[0]) / (sizes[1] - sizes[0]))
    latency = float(times[0] - slope * sizes[0])
    # A route without latency leaves the rounding of the difference.
    return Route(latency if latency > 1e-9 * times[0] else 0.0, 1.0 / slope)
