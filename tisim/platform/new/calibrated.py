"""What a new platform takes over from one that has been calibrated."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypedDict, Unpack

from tisim.errors import InputError
from tisim.platform.description.attributes import Quantity
from tisim.platform.platform import Platform


class Hardware(TypedDict, total=False):
    """What a user says of links and hosts; all of it is optional beside a calibrated platform.

    Attributes
    ----------
    bandwidth, latency
        Of one link.
    speed, cores
        Of one core, and the cores of a host.
    calibrated
        A platform written by `tisim calibrate`.
    disk
        Of each host, as the property ``tisim/disk`` describes it.
    pfs
        A parallel file system whose servers are the last hosts.
    """

    bandwidth: Quantity | None
    latency: Quantity | None
    speed: Quantity | None
    cores: int | None
    calibrated: str | os.PathLike[str] | None
    disk: str | None
    pfs: str | None


@dataclass(frozen=True)
class Characteristics:
    """What links and hosts of a new platform do.

    Attributes
    ----------
    bandwidth, latency
        Of one link.
    speed, cores
        Of one core, and the cores of a host.
    config
        Options of the simulation.
    limiter
        What a host sends and receives together, bytes/s; None: no less than its link carries.
    burst
        Bytes that a link passes at once.
    """

    bandwidth: Quantity
    latency: Quantity
    speed: Quantity
    cores: int
    config: Mapping[str, object] = field(default_factory=dict)
    limiter: float | None = None
    burst: float = 0.0


def characteristics(**hardware: Unpack[Hardware]) -> Characteristics:
    """The numbers of a new platform: those given, then those of a calibrated one.

    Raises
    ------
    InputError
        If a number is neither given nor in the calibrated platform.
    """
    bandwidth, latency = hardware.get("bandwidth"), hardware.get("latency")
    speed, cores = hardware.get("speed"), hardware.get("cores")
    calibrated = hardware.get("calibrated")
    if calibrated is None:
        missing = [
            name
            for name, value in (("bandwidth", bandwidth), ("latency", latency), ("speed", speed))
            if value is None
        ]
        if missing or bandwidth is None or latency is None or speed is None:
            raise InputError(
                f"a new platform needs a {' and a '.join(missing)}, or a calibrated platform from "
                "which to take them (--bandwidth 200Gbps --latency 1us --speed 3.2Gf)"
            )
        return Characteristics(bandwidth, latency, speed, 1 if cores is None else cores)
    platform = Platform.load(calibrated)
    known = _of_platform(platform)
    return Characteristics(
        known.bandwidth if bandwidth is None else bandwidth,
        known.latency if latency is None else latency,
        known.speed if speed is None else speed,
        known.cores if cores is None else cores,
        known.config,
        # A limiter is that of the measured links.
        known.limiter if bandwidth is None else None,
        known.burst,
    )


def _of_platform(platform: Platform) -> Characteristics:
    """What the first two hosts of a platform, and the route between them, do."""
    if len(platform.hosts) < 2:
        raise InputError(
            "a calibrated platform has two hosts or more; this one has one", file=platform.file
        )
    first, second = platform.hosts[:2]
    route = platform.route(first, second).links
    links = [link for link in route if link.latency > 0]
    limiters = [link.bandwidth for link in route if link.name.endswith("_limiter")]
    if not links:
        raise InputError(
            "the route between the first two hosts of the calibrated platform has no latency; "
            "give --latency and --bandwidth",
            file=platform.file,
        )
    return Characteristics(
        min(link.bandwidth for link in links),
        sum(link.latency for link in links) / len(links),
        first.speed,
        first.cores,
        platform.config,
        min(limiters, default=None),
        min(platform.resources.link_burst[link.index] for link in links),
    )
