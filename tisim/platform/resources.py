"""The numbers of a platform, apart from its shape."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tisim.platform.columns import NumpyView
from tisim.platform.links import LinkNumbers

if TYPE_CHECKING:
    import numpy as np


class Resources(LinkNumbers):
    """Speeds, cores, bandwidths and latencies, as read-only arrays.

    Attributes
    ----------
    host_speed, host_cores
        Of each host: flop/s of a core, number of cores; shape (hosts,).
    disk_host, disk_read_bandwidth, disk_write_bandwidth, disk_size
        Of each disk: the index of its host, bytes/s, bytes that it holds; shape (disks,).
    link_bandwidth, link_latency, link_fatpipe, link_burst
        Of each link: bytes/s, seconds, 1 if it is a FATPIPE, bytes that it passes at once; shape
        (links,).
    """

    host_speed: NumpyView[np.float64] = NumpyView("d")
    host_cores: NumpyView[np.int32] = NumpyView("i")
    disk_host: NumpyView[np.int32] = NumpyView("i")
    disk_read_bandwidth: NumpyView[np.float64] = NumpyView("d")
    disk_write_bandwidth: NumpyView[np.float64] = NumpyView("d")
    disk_size: NumpyView[np.float64] = NumpyView("d")
