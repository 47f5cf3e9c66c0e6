"""The composition of the simulated time."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from tisim.analysis.timeline.columns import (
    STATES,
    categories,
    frame,
    kind_names,
    with_units,
)
from tisim.analysis.timeline.links import RouteTable
from tisim.support.quantities import format_seconds

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from tisim.analysis.timeline.causes import WaitCauses

#: Possible gains, and the part of the path that each would remove.
GAINS = {
    "faster CPUs": "compute",
    "lower latency": "latency",
    "more bandwidth": "moving",
    "less software overhead": "overhead",
    "faster disks": "I/O",
}

# Parts that get a row only if the path contains them.
_OPTIONAL_PARTS = ("I/O",)
# Number of parts summed at once: keeps rounding errors small.
_BLOCK = 65_536


def sums_by_kind(
    rows: NDArray[np.void],
    seconds: NDArray[np.float64],
    states: Sequence[str],
    kinds: Sequence[str],
) -> dict[str, Sequence[object]]:
    """Return columns with a row per `state` and `kind`: `seconds` of parts, and `count`."""
    import numpy as np

    keys, place = np.unique(rows["state"].astype(np.int32) << 8 | rows["kind"], return_inverse=True)
    sums = np.zeros(len(keys))
    for first in range(0, len(rows), _BLOCK):
        part = slice(first, first + _BLOCK)
        sums += np.bincount(place[part], seconds[part], len(keys))
    return {
        "state": [states[key >> 8] for key in keys.tolist()],
        "kind": [kinds[key & 255] for key in keys.tolist()],
        "seconds": sums.tolist(),
        "count": np.bincount(place).tolist(),
    }


class CriticalPath:
    """The chain of computations and transfers that makes up the simulated time.

    It is traced back from the end of the rank that finishes last: through that rank's activities
    back to the message that woke it, through the transfer of that message, and on from the rank
    whose call started the transfer. Each part begins where the previous one ended, so that they add
    up to the simulated time; shortening anything else gains nothing.

    Parameters
    ----------
    causes
        Traces paths through the states of the run.
    finish
        Seconds at which each rank ended; shape (ranks,).
    routes
        The known routes between ranks.

    Attributes
    ----------
    rank
        The rank that finishes last.
    """

    def __init__(self, causes: WaitCauses, finish: NDArray[np.float64], routes: RouteTable) -> None:
        self.rank = int(finish.argmax())
        self._causes = causes
        self._end = float(finish[self.rank])
        self._ranks = len(finish)
        self._routes = routes

    @cached_property
    def parts(self) -> pd.DataFrame:
        """One row per part, the earliest first.

        Columns: `start`, `end` (s); `rank`, the active rank or the sender; `destination`, the
        receiver of a transfer, else the rank itself; `state`; `kind` of action and its `line` in
        the trace, for a transfer those of the rank that it delays; `bytes` of a transfer;
        `latency`, the seconds of a transfer in which its first byte travels.
        """
        rows = self._rows[::-1]
        return frame(
            {
                "start": rows["start"],
                "end": rows["end"],
                "rank": rows["source"],
                "destination": rows["destination"],
                "state": categories(rows["state"], STATES),
                "kind": categories(rows["kind"], kind_names()),
                "line": rows["line"],
                "bytes": rows["bytes"],
                "latency": self._latency[::-1],
            }
        )

    @cached_property
    def length(self) -> float:
        """Seconds from the start of its first part to the end of its last: all of the time."""
        rows = self._rows
        return float(rows["end"][0] - rows["start"][-1]) if len(rows) else 0.0

    @cached_property
    def by_kind(self) -> pd.DataFrame:
        """Seconds, number of `parts` and share of the path by `state` and `kind` of action."""
        import pandas as pd

        rows = self._rows
        sums = sums_by_kind(rows, rows["end"] - rows["start"], STATES, kind_names())
        table = pd.DataFrame(sums).rename(columns={"count": "parts"})
        table["share"] = table["seconds"] / (self.length or 1.0)
        ordered = table.sort_values("seconds", ascending=False, ignore_index=True, kind="stable")
        return with_units(ordered)

    @cached_property
    def by_rank(self) -> pd.DataFrame:
        """Seconds that the path stays on each `rank`, and of the transfers that it sends."""
        import pandas as pd

        acts, sends, *_ = self._sums
        table = pd.DataFrame({"seconds": acts, "transfers": sends})
        table.index.name = "rank"
        return with_units(table)

    @cached_property
    def links(self) -> pd.DataFrame:
        """By `link`: seconds, `bytes` and number of the path's `transfers` that cross it.

        A transfer counts on every link of its route: it is unknown which one is the bottleneck.
        """
        import pandas as pd

        *_, links = self._sums
        table = pd.DataFrame(
            [(link, *sums) for link, sums in links.items()],
            columns=["link", "seconds", "bytes", "transfers"],
        )
        table["link"] = [self._routes.link_name(link) for link in table["link"]]
        ordered = table.sort_values("seconds", ascending=False, ignore_index=True, kind="stable")
        return with_units(ordered, transfers="")

    @cached_property
    def gains(self) -> pd.DataFrame:
        """Upper bounds of the gains if something cost no time at all.

        One row for faster CPUs, lower latency, more bandwidth, less software overhead and, if the
        path has reads or writes, faster disks: `seconds` of the path that it could remove,
        `share` of the simulated time, and `speedup`, the ratio of the times before and after.
        These are upper bounds, because other chains may become the longest first, as long as
        messages do not share links differently.
        """
        import pandas as pd

        _, _, sums, _ = self._sums
        gain = {
            row: sums[part]
            for row, part in GAINS.items()
            if sums[part] or part not in _OPTIONAL_PARTS
        }
        index = pd.Index(list(gain), name="change")
        table = pd.DataFrame({"seconds": list(gain.values())}, index=index)
        table["share"] = table["seconds"] / (self.length or 1.0)
        # A remainder within rounding counts as zero.
        left = (1.0 - table["share"]).where(table["share"] < 1 - 1e-12, 0.0)
        table["speedup"] = (1.0 / left).where(left > 0, float("inf"))
        return with_units(table)

    def longest_part(self, change: str) -> tuple[float, float, int] | None:
        """Return start (s), end (s) and rank of the longest part of a row of `gains`."""
        part = GAINS[change]
        state = STATES.index(part if part in STATES else "transfer")
        rows = self._rows[self._rows["state"] == state]
        if not len(rows):
            return None
        row = rows[int((rows["end"] - rows["start"]).argmax())]
        return float(row["start"]), float(row["end"]), int(row["source"])

    def turns(self, most: int) -> tuple[NDArray[np.float64], NDArray[np.int32], float]:
        """Return the path as a line from rank to rank, with about `most` points or fewer.

        Returns
        -------
        time, rank
            The points, the earliest first; seconds, and ranks. Shape (points,).
        step
            Resolution of the line in seconds; 0 if it has every turn.
        """
        import numpy as np

        rows = self._rows
        step = 0.0 if 2 * len(rows) <= most else self._end / most
        time = np.stack([rows["end"], rows["start"]], axis=1).ravel()
        rank = np.stack([rows["destination"], rows["source"]], axis=1).ravel()
        if step:
            chosen = np.diff(np.floor(time / step), prepend=np.inf) != 0
            chosen[-1] |= time[-1] == 0
            time, rank = time[chosen], rank[chosen]
        return time[::-1], rank[::-1], step

    @cached_property
    def shares(self) -> dict[str, float]:
        """The share of the time by kind (`tisim.analysis.timeline.time_kinds`)."""
        from tisim.analysis.timeline.time_kinds import shares_of_time

        return shares_of_time(self._rows, self._routes.times_on_idle_network(self._rows))

    @cached_property
    def _rows(self) -> NDArray[np.void]:
        """The parts, the latest first."""
        return self._causes.path(self.rank, self._end)

    @cached_property
    def _latency(self) -> NDArray[np.float64]:
        return self._routes.latencies(self._rows)

    @cached_property
    def _sums(
        self,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], dict[str, float], dict[int, list[float]]]:
        """Seconds that each rank acts, and of transfers that it sends; gains; by link."""
        import numpy as np

        acts, sends = np.zeros(self._ranks), np.zeros(self._ranks)
        gains = dict.fromkeys(GAINS.values(), 0.0)
        links: dict[int, list[float]] = {}
        for first in range(0, len(self._rows), _BLOCK):
            part = slice(first, first + _BLOCK)
            rows, latency = self._rows[part], self._latency[part]
            seconds = rows["end"] - rows["start"]
            moves = rows["state"] == STATES.index("transfer")
            acts += np.bincount(rows["source"][~moves], seconds[~moves], self._ranks)
            sends += np.bincount(rows["source"][moves], seconds[moves], self._ranks)
            gains["latency"] += latency.sum()
            gains["moving"] += (seconds - latency)[moves].sum()
            for name in ("compute", "overhead", "I/O"):
                gains[name] += seconds[rows["state"] == STATES.index(name)].sum()
            self._routes.add_to_links(links, rows[moves], seconds[moves])
        return acts, sends, gains, links

    def __repr__(self) -> str:
        return f"<CriticalPath of {format_seconds(self.length)} to rank {self.rank}>"
