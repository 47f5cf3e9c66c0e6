"""Which links the messages between ranks cross."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tisim.analysis.timeline.names import STATES

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tisim.models.settings import Settings


class RouteTable:
    """Routes between ranks, each of which is computed once.

    Parameters
    ----------
    settings
        Platform and models of the run.
    hosts
        Index of the host of each rank.
    """

    def __init__(self, settings: Settings, hosts: Sequence[int]) -> None:
        import numpy as np

        self._routes = settings.routes
        self._network = settings.network
        self._hosts = np.asarray(hosts)
        self._known: dict[int, tuple[list[int], float]] = {}

    def link_name(self, index: int) -> str:
        """Name of a link."""
        return self._routes.link_name(index)

    def latencies(self, rows: NDArray[np.void]) -> NDArray[np.float64]:
        """Seconds that the first byte of each transfer travels; 0 where there is no transfer.

        Parameters
        ----------
        rows
            Of a critical path (`tisim._core.part_type`).
        """
        import numpy as np

        moves = rows["state"] == STATES.index("transfer")
        latency = np.zeros(len(rows))
        pairs, of_pair = self._pairs(rows[moves])
        sizes, of_size = np.unique(rows["bytes"][moves], return_inverse=True)
        factor = self._network.latency_factor
        factors = np.array([factor.at(size + self._network.envelope) for size in sizes.tolist()])
        routes = np.array([self._route(pair)[1] for pair in pairs])
        if len(pairs):
            seconds = rows["end"][moves] - rows["start"][moves]
            latency[moves] = np.minimum(routes[of_pair] * factors[of_size], seconds)
        return latency

    def add_up(
        self, sums: dict[int, list[float]], rows: NDArray[np.void], seconds: NDArray[np.float64]
    ) -> None:
        """Add seconds, bytes and number of transfers to those of the links that they cross."""
        import numpy as np

        pairs, of_pair = self._pairs(rows)
        times = np.bincount(of_pair, weights=seconds, minlength=len(pairs))
        volumes = np.bincount(of_pair, weights=rows["bytes"], minlength=len(pairs))
        counts = np.bincount(of_pair, minlength=len(pairs))
        for place, pair in enumerate(pairs):
            for link in dict.fromkeys(self._route(pair)[0]):
                sum_of_link = sums.setdefault(link, [0.0, 0, 0])
                sum_of_link[0] += float(times[place])
                sum_of_link[1] += int(volumes[place])
                sum_of_link[2] += int(counts[place])

    def _pairs(self, rows: NDArray[np.void]) -> tuple[list[int], NDArray[np.intp]]:
        """The pairs of hosts of some transfers, as one number each, and that of each transfer."""
        import numpy as np

        hosts = self._hosts.astype(np.int64)
        keys = hosts[rows["source"]] << 32 | hosts[rows["destination"]]
        pairs, place = np.unique(keys, return_inverse=True)
        return pairs.tolist(), place

    def _route(self, pair: int) -> tuple[list[int], float]:
        if pair not in self._known:
            links, latency = self._routes.route(pair >> 32, pair & 0xFFFFFFFF)
            self._known[pair] = [int(link) for link in links], latency
        return self._known[pair]
