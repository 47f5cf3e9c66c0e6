"""What the links carried."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from tisim.analysis.timeline.units import with_units

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from tisim import _core
    from tisim.models.settings import Settings

# Parts that time is divided into: as many as give good pictures, fewer when there are so many
# links that they would take too much memory.
_BINS = 512
_NUMBERS = 8_000_000


def bins_for(links: int) -> int:
    """Into how many parts time is divided on a platform of so many links: an even number."""
    return 2 * max(8, min(_BINS, _NUMBERS // max(links, 1)) // 2)


class Links:
    """What each link carried over time.

    Attributes
    ----------
    times
        Seconds at which the parts that time is divided into begin, shape (parts,).
    width
        Seconds that each part lasts; the simulation may end within the last one.
    index
        The links that were used, by index in the platform; shape (links,).
    load
        Bytes that each of them carried in each part, shape (links, parts). As the network models
        count them (Velho et al. 2013): a message of s bytes is s divided by the bandwidth factor
        of its size, and with `network/crosstraffic` 5 % of it go over the reverse route.
    bandwidth
        Of each of these links, bytes/s; shape (links,).
    """

    def __init__(self, core: _core.Simulation, settings: Settings, end: float) -> None:
        import numpy as np

        table = core.load()
        width, index, load = table.width, np.asarray(table.links), np.asarray(table.bytes)
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
        """Name of each link."""
        return [self._settings.routes.link_name(int(link)) for link in self.index]

    @property
    def utilisation(self) -> NDArray[np.float64]:
        """Mean part of its bandwidth that each link gave in each part of the time.

        Shape (links, parts). A FATPIPE link gives all of it to each flow: there it may exceed 1.
        """
        shares: NDArray[np.float64] = self.load / (self.bandwidth[:, None] * self._lengths())
        return shares

    @cached_property
    def over_time(self) -> pd.DataFrame:
        """The utilisation, a column a link and a row a part of the time, by its `start`."""
        import pandas as pd

        index = pd.Index(self.times, name="start")
        table = pd.DataFrame(self.utilisation.T, index=index, columns=self.names)
        return with_units(table, **dict.fromkeys(self.names, "1"))

    def _lengths(self) -> NDArray[np.float64]:
        """Seconds of each part that belong to the simulation."""
        import numpy as np

        lengths: NDArray[np.float64] = np.minimum(self.times + self.width, self.end) - self.times
        lengths[lengths <= 0] = self.width
        return lengths

    @cached_property
    def table(self) -> pd.DataFrame:
        """A row a link that was used, the one with the highest mean utilisation first.

        Columns: `link`, `bandwidth` (bytes/s), `bytes`, `mean` and `peak` utilisation (of the
        whole time, and of the busiest part), `busy`, the share of the time in parts in which it
        carries anything, and `fatpipe`.
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
        ordered = frame.sort_values(["mean", "link"], ascending=[False, True], ignore_index=True)
        return with_units(ordered)

    def most_loaded(self, count: int) -> NDArray[np.intp]:
        """The places of the links with the highest mean utilisation, the highest first."""
        import numpy as np

        mean = self.load.sum(axis=1) / self.bandwidth
        order: NDArray[np.intp] = np.argsort(-mean, kind="stable")[:count]
        return order

    def __repr__(self) -> str:
        return f"<Links: {len(self.index)} used, in {len(self.times)} parts of {self.width:.6g} s>"
