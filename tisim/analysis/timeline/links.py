"""Load of a run's links, the hosts that links belong to, and the routes between ranks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from tisim.analysis.timeline.columns import STATES, with_units

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from tisim import _core
    from tisim.simulation.settings import Settings

# Number of time bins: enough for good pictures, fewer if there are so many links that they would
# take too much memory.
_BINS = 512
_NUMBERS = 8_000_000
#: Links whose loads agree in this many digits count as equally loaded.
LOAD_DIGITS = 9


def bins_for(links: int) -> int:
    """Return the number of time bins for a platform with that many links: an even number."""
    return 2 * max(8, min(_BINS, _NUMBERS // max(links, 1)) // 2)


class Links:
    """The load of each link over time.

    Attributes
    ----------
    times
        Start times of the bins in seconds, shape (parts,).
    width
        Length of a bin in seconds; the simulation may end within the last one.
    index
        The used links, by index in the platform; shape (links,).
    load
        Bytes carried by each of them in each bin, shape (links, parts). As counted by the network
        models (Velho et al. 2013): a message of s bytes counts as s divided by the bandwidth factor
        of its size, and with `network/crosstraffic` 5 % of it is added to the reverse route.
    bandwidth
        Of each of these links, bytes/s; shape (links,).
    """

    def __init__(self, core: _core.Simulation, settings: Settings, end: float) -> None:
        import numpy as np

        width, links, moved = core.load()
        index, load = np.array(links, np.int32), np.asarray(moved)
        self._settings = settings
        self.width: float = width
        self.index: NDArray[np.int32] = index
        parts = max(int(np.ceil(end / width)), 1)
        every = load.reshape(len(index), -1) if len(index) else np.zeros((0, parts))
        self.load: NDArray[np.float64] = every[:, :parts]
        self.times: NDArray[np.float64] = np.arange(self.load.shape[1], dtype=np.float64) * width
        self.end = end
        self.bandwidth: NDArray[np.float64] = settings.routes.link_bandwidth[index]

    @cached_property
    def names(self) -> list[str]:
        """Names of the links."""
        return [self._settings.routes.link_name(int(link)) for link in self.index]

    @property
    def utilisation(self) -> NDArray[np.float64]:
        """Mean fraction of its bandwidth that each link used in each bin.

        Shape (links, parts). A FATPIPE link provides all of it to each flow: it may exceed 1.
        """
        shares: NDArray[np.float64] = self.load / (self.bandwidth[:, None] * self._lengths())
        return shares

    @cached_property
    def over_time(self) -> pd.DataFrame:
        """The utilisation, one column per link and one row per bin, indexed by its `start`."""
        import pandas as pd

        index = pd.Index(self.times, name="start")
        table = pd.DataFrame(self.utilisation.T, index=index, columns=self.names)
        return with_units(table, **dict.fromkeys(self.names, "1"))

    def _lengths(self) -> NDArray[np.float64]:
        """Return the seconds of each bin that belong to the simulation."""
        import numpy as np

        lengths: NDArray[np.float64] = np.minimum(self.times + self.width, self.end) - self.times
        lengths[lengths <= 0] = self.width
        return lengths

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row per used link, the one with the highest mean utilisation first.

        Columns: `link`, `bandwidth` (bytes/s), `bytes`, `mean` and `peak` utilisation (of the
        whole time, and of the busiest bin), `busy`, the fraction of the time in bins with any
        traffic, and `fatpipe`.
        """
        import pandas as pd

        share = self.utilisation
        total = self.load.sum(axis=1)
        frame = pd.DataFrame(
            {
                "link": self.names,
                "bandwidth": self.bandwidth,
                "bytes": total,
                "mean": total / (self.bandwidth * max(self.end, 1e-300)),
                "peak": share.max(axis=1) if share.size else total,
                "busy": (self.load > 0) @ self._lengths() / max(self.end, 1e-300),
                "fatpipe": self._settings.routes.link_fatpipe[self.index].astype(bool),
            }
        )
        # Links equal up to the last digit are ordered by name, as in the viewer.
        frame["order"] = frame["mean"].round(LOAD_DIGITS)
        ordered = frame.sort_values(["order", "link"], ascending=[False, True], ignore_index=True)
        return with_units(ordered.drop(columns="order"))

    def most_loaded(self, count: int) -> NDArray[np.intp]:
        """Return the indices of the links with the highest mean utilisation, the highest first."""
        import numpy as np

        mean = self.load.sum(axis=1) / self.bandwidth
        order: NDArray[np.intp] = np.argsort(-mean, kind="stable")[:count]
        return order

    def __repr__(self) -> str:
        return f"<Links: {len(self.index)} used, in {len(self.times)} parts of {self.width:.6g} s>"


#: Maximum number of hosts whose routes are sampled, evenly spaced among those of the ranks.
MAX_HOSTS = 2000
_MIN_HOSTS = 4


def link_descriptions(settings: Settings, hosts: Sequence[int]) -> dict[int, str]:
    """Return link names based on the hosts of a run, such as ``node-3, up``; no inner links.

    A link crossed by all routes from a host, and no others, is that host's link up; one crossed by
    all routes to it its link down; one for which both hold its link both ways. `hosts`: the index
    of each rank's host.
    """
    used = list(dict.fromkeys(int(host) for host in hosts))
    used = used[:: -(-len(used) // MAX_HOSTS)]
    # With fewer hosts a central link would look like a host's link.
    if len(used) < _MIN_HOSTS:
        return {}
    routes: dict[int, int] = {}
    crossed: dict[int, tuple[dict[int, int], dict[int, int]]] = {}
    pairs = {
        (host, used[(place + step) % len(used)])
        for place, host in enumerate(used)
        for step in (1, -1, len(used) // 2)
    }
    for source, target in pairs:
        routes[source] = routes.get(source, 0) + 1
        routes[~target] = routes.get(~target, 0) + 1
        for link in {int(hop) for hop in settings.routes.route(source, target)[0]}:
            froms, tos = crossed.setdefault(link, ({}, {}))
            froms[source] = froms.get(source, 0) + 1
            tos[target] = tos.get(target, 0) + 1
    words: dict[int, str] = {}
    for link, (froms, tos) in crossed.items():
        ups = [host for host, count in froms.items() if count == routes[host]]
        downs = [host for host, count in tos.items() if count == routes[~host]]
        every = sum(froms.values())
        for host in (*ups, *downs):
            up = froms.get(host, 0) if host in ups else 0
            down = tos.get(host, 0) if host in downs else 0
            if up + down == every:
                way = "both ways" if up and down else "up" if up else "down"
                words[link] = f"{settings.host_name(host)}, {way}"
    return words


class RouteTable:
    """Routes between ranks, each computed once."""

    def __init__(self, settings: Settings, hosts: Sequence[int]) -> None:
        import numpy as np

        self._routes = settings.routes
        self._network = settings.network
        self._hosts = np.asarray(hosts)
        self._known: dict[int, tuple[list[int], float]] = {}

    def link_name(self, index: int) -> str:
        """Return the name of a link."""
        return self._routes.link_name(index)

    def latencies(self, rows: NDArray[np.void]) -> NDArray[np.float64]:
        """Return the latency of each transfer in rows of a critical path, in seconds.

        0 for rows that are not transfers.
        """
        import numpy as np

        latency: NDArray[np.float64] = np.minimum(self._times(rows)[0], rows["end"] - rows["start"])
        return latency

    def times_on_idle_network(self, rows: NDArray[np.void]) -> NDArray[np.float64]:
        """Return the seconds that each transfer of a critical path would take alone."""
        latency, moving = self._times(rows)
        return latency + moving

    def _times(self, rows: NDArray[np.void]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the latency of each transfer, and the time of its remaining bytes alone (s)."""
        import numpy as np

        network, moves = self._network, rows["state"] == STATES.index("transfer")
        latency, moving = np.zeros(len(rows)), np.zeros(len(rows))
        pairs, of_pair = self._pairs(rows[moves])
        if not len(pairs):
            return latency, moving
        sizes, of_size = np.unique(rows["bytes"][moves], return_inverse=True)
        whole = (sizes + network.envelope).tolist()
        late = np.array([network.latency_factor.at(size) for size in whole])
        moved = np.array([size / network.bandwidth_factor.at(size) for size in whole])
        routes = np.array([self.route(pair)[1] for pair in pairs])
        bandwidths = np.array([self._bandwidth(pair) for pair in pairs])
        latency[moves] = routes[of_pair] * late[of_size]
        moving[moves] = moved[of_size] / bandwidths[of_pair]
        return latency, moving

    def _bandwidth(self, pair: int) -> float:
        """Return the bandwidth of a single transfer between two hosts, bytes/s."""
        links, latency = self.route(pair)
        bounds = [float(self._routes.link_bandwidth[link]) for link in links]
        if self._network.tcp_gamma > 0.0 and latency > 0.0:
            bounds.append(self._network.tcp_gamma / (2.0 * latency))
        return min(bounds, default=float("inf"))

    def add_to_links(
        self, sums: dict[int, list[float]], rows: NDArray[np.void], seconds: NDArray[np.float64]
    ) -> None:
        """Add seconds, bytes and number of transfers to the links that they cross."""
        import numpy as np

        pairs, of_pair = self._pairs(rows)
        times = np.bincount(of_pair, weights=seconds, minlength=len(pairs))
        volumes = np.bincount(of_pair, weights=rows["bytes"], minlength=len(pairs))
        counts = np.bincount(of_pair, minlength=len(pairs))
        for place, pair in enumerate(pairs):
            for link in dict.fromkeys(self.route(pair)[0]):
                sum_of_link = sums.setdefault(link, [0.0, 0, 0])
                sum_of_link[0] += float(times[place])
                sum_of_link[1] += int(volumes[place])
                sum_of_link[2] += int(counts[place])

    def _pairs(self, rows: NDArray[np.void]) -> tuple[list[int], NDArray[np.intp]]:
        """Return the host pairs of some transfers, encoded as numbers, and each one's index."""
        import numpy as np

        hosts = self._hosts.astype(np.int64)
        keys = hosts[rows["source"]] << 32 | hosts[rows["destination"]]
        pairs, place = np.unique(keys, return_inverse=True)
        return pairs.tolist(), place

    def route(self, pair: int) -> tuple[list[int], float]:
        """Return links and latency (s) between two hosts: ``source << 32 | destination``."""
        if pair not in self._known:
            links, latency = self._routes.route(pair >> 32, pair & 0xFFFFFFFF)
            self._known[pair] = [int(link) for link in links], latency
        return self._known[pair]
