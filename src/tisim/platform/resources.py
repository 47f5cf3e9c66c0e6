"""The numbers of a platform, apart from its shape."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tisim.platform.columns import Columns, Shown

if TYPE_CHECKING:
    import numpy as np


class Resources(Columns):
    """Speeds, cores, bandwidths and latencies, as read-only arrays.

    Attributes
    ----------
    host_speed, host_cores
        Of each host: flop/s of a core, number of cores; shape (hosts,).
    link_bandwidth, link_latency, link_fatpipe
        Of each link: bytes/s, seconds, 1 if it is a FATPIPE; shape (links,).
    """

    host_speed: Shown[np.float64] = Shown("d")
    host_cores: Shown[np.int32] = Shown("i")
    link_bandwidth: Shown[np.float64] = Shown("d")
    link_latency: Shown[np.float64] = Shown("d")
    link_fatpipe: Shown[np.uint8] = Shown("B")
