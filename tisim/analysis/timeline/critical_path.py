"""What the simulated time consists of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, cast

from tisim import _core
from tisim.analysis.timeline.columns import STATES, categories, frame, structured, with_units
from tisim.analysis.timeline.links import RouteTable

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import DTypeLike, NDArray

    from tisim.analysis.timeline.event_store import EventStore

# Parts that are taken from the core at once.
_CHUNK = 65536

#: What could be faster, and the part of the path that would vanish with it.
GAINS = {
    "faster CPUs": "compute",
    "lower latency": "latency",
    "more bandwidth": "moving",
    "no software overhead": "overhead",
    "faster disks": "I/O",
}

# What has a row only where the path has such a part.
_SELDOM = ("I/O",)


@dataclass
class _Sums:
    """Sums over the parts of a path; times in seconds."""

    acts: NDArray[np.float64]  # of each rank, in which it acts
    sends: NDArray[np.float64]  # of the transfers that each rank sends
    # What could be gained, by the parts that `GAINS` names.
    gains: dict[str, float] = field(default_factory=lambda: dict.fromkeys(GAINS.values(), 0.0))
    # Seconds and number of parts, by state and kind of action.
    kinds: dict[tuple[int, int], tuple[float, int]] = field(default_factory=dict)
    # Seconds, bytes and number of transfers, by link.
    links: dict[int, list[float]] = field(default_factory=dict)
    length: float = 0.0


class CriticalPath:
    """The chain of computations and transfers that the simulated time consists of.

    It is traced back from the end of the rank that finishes last: through what that rank did until
    a message woke it, through the transfer of that message, and on from the rank whose call started
    the transfer. Each part begins where the one before it ended, so that together they are the
    simulated time; shortening anything else gains nothing.

    Parameters
    ----------
    store
        The events, on disk.
    finish
        Seconds at which each rank ended; shape (ranks,).
    routes
        What is known of the routes between ranks.

    Attributes
    ----------
    rank
        The rank that finishes last.
    """

    def __init__(self, store: EventStore, finish: NDArray[np.float64], routes: RouteTable) -> None:
        self.rank = int(finish.argmax())
        self._store = store
        self._end = float(finish[self.rank])
        self._ranks = len(finish)
        self._routes = routes

    @cached_property
    def parts(self) -> pd.DataFrame:
        """One row a part, the earliest first.

        Columns: `start`, `end` (s); `rank`, the one that acts, or sends; `destination`, the one
        that a transfer goes to, else the rank itself; `state`; `kind` of action and
        its `line` in the trace, of a transfer those of the rank that it holds up; `bytes` of a
        transfer; `latency`, the seconds of a transfer in which its first byte travels.
        """
        import numpy as np

        # The core returns the latest parts first.
        chunks = [(rows[::-1], latency[::-1]) for rows, latency in self._chunks()][::-1]
        if not chunks:
            none = np.zeros(0, dtype=cast("DTypeLike", _core.part_type()))
            return frame(_columns(none, np.zeros(0)))
        rows = np.concatenate([chunk[0] for chunk in chunks])
        return frame(_columns(rows, np.concatenate([chunk[1] for chunk in chunks])))

    @cached_property
    def length(self) -> float:
        """Seconds from the beginning of its first part to the end of its last: all of the time."""
        return self._sums.length

    @cached_property
    def by_kind(self) -> pd.DataFrame:
        """Seconds, number of `parts` and share of the path by `state` and `kind` of action."""
        import pandas as pd

        rows = [
            (STATES[state], _core.kind_names()[kind], seconds, int(count))
            for (state, kind), (seconds, count) in self._sums.kinds.items()
        ]
        table = pd.DataFrame(rows, columns=["state", "kind", "seconds", "parts"])
        table["share"] = table["seconds"] / (self.length or 1.0)
        ordered = table.sort_values("seconds", ascending=False, ignore_index=True, kind="stable")
        return with_units(ordered)

    @cached_property
    def by_rank(self) -> pd.DataFrame:
        """Seconds that the path stays on each `rank`, and of the transfers that it sends."""
        import pandas as pd

        acts, sends = self._sums.acts, self._sums.sends
        table = pd.DataFrame({"seconds": acts, "transfers": sends})
        table.index.name = "rank"
        return with_units(table)

    @cached_property
    def links(self) -> pd.DataFrame:
        """By `link`: seconds, `bytes` and number of the path's `transfers` that cross it.

        A transfer counts on every link of its route: it is not known which one of them holds it
        up.
        """
        import pandas as pd

        table = pd.DataFrame(
            [(link, *sums) for link, sums in self._sums.links.items()],
            columns=["link", "seconds", "bytes", "transfers"],
        )
        table["link"] = [self._routes.link_name(link) for link in table["link"]]
        ordered = table.sort_values("seconds", ascending=False, ignore_index=True, kind="stable")
        return with_units(ordered, transfers="")

    @cached_property
    def gains(self) -> pd.DataFrame:
        """What could be gained at most, if something cost no time at all.

        One row for faster CPUs, lower latency, more bandwidth, no software overhead and, where
        the path has reads or writes, faster disks: `seconds` of the path that it could take away,
        `share` of the simulated time, and `speedup`, the ratio of the times before and after.
        Other chains may become the longest before that much is gained: these are upper bounds, as
        long as messages do not share links in another way.
        """
        import pandas as pd

        sums = self._sums.gains
        told = {row: sums[part] for row, part in GAINS.items() if sums[part] or part not in _SELDOM}
        index = pd.Index(list(told), name="change")
        table = pd.DataFrame({"seconds": list(told.values())}, index=index)
        table["share"] = table["seconds"] / (self.length or 1.0)
        # Less than rounding leaves nothing.
        left = (1.0 - table["share"]).where(table["share"] < 1 - 1e-12, 0.0)
        table["speedup"] = (1.0 / left).where(left > 0, float("inf"))
        return with_units(table)

    def turns(self, most: int) -> tuple[NDArray[np.float64], NDArray[np.int32], float]:
        """The path as a line from rank to rank, with about `most` points or fewer.

        Returns
        -------
        time, rank
            The points, the earliest first; seconds, and ranks. Shape (points,).
        step
            Resolution of the line in seconds; 0 if it has every turn.
        """
        import numpy as np

        parts = int(self.by_kind["parts"].sum())
        step = 0.0 if 2 * parts <= most else self._end / most
        times, ranks, last = [np.zeros(0)], [np.zeros(0, dtype=np.int32)], np.inf
        for rows, _ in self._chunks():  # back in time
            time = np.stack([rows["end"], rows["start"]], axis=1).ravel()
            rank = np.stack([rows["destination"], rows["source"]], axis=1).ravel()
            if step:
                cell = np.floor(time / step)
                chosen = np.diff(cell, prepend=last) != 0
                chosen[-1] |= time[-1] == 0
                last = cell[-1]
                time, rank = time[chosen], rank[chosen]
            times.append(time)
            ranks.append(rank)
        return np.concatenate(times)[::-1], np.concatenate(ranks)[::-1], step

    def _chunks(self) -> Iterator[tuple[NDArray[np.void], NDArray[np.float64]]]:
        """The parts, the latest first, and the latency of each."""
        import numpy as np

        states = self._store.read("states").view(np.uint8)
        path = _core.CriticalPath(states, self.rank, self._end)
        while len(rows := structured(path.take(_CHUNK))):
            yield rows, self._routes.latencies(rows)

    @cached_property
    def _sums(self) -> _Sums:
        """Everything that is summed over the parts, in one walk along them."""
        import numpy as np

        transfer = STATES.index("transfer")
        totals = _Sums(np.zeros(self._ranks), np.zeros(self._ranks))
        start = end = None
        for rows, latency in self._chunks():
            seconds = rows["end"] - rows["start"]
            end = float(rows["end"][0]) if end is None else end
            start = float(rows["start"][-1])
            moves = rows["state"] == transfer
            totals.sends += np.bincount(
                rows["source"][moves], weights=seconds[moves], minlength=self._ranks
            )
            totals.acts += np.bincount(
                rows["source"][~moves], weights=seconds[~moves], minlength=self._ranks
            )
            totals.gains["latency"] += latency.sum()
            totals.gains["moving"] += (seconds - latency)[moves].sum()
            for name in ("compute", "overhead", "I/O"):
                totals.gains[name] += seconds[rows["state"] == STATES.index(name)].sum()
            _add_kinds(totals.kinds, rows, seconds)
            self._routes.add_up(totals.links, rows[moves], seconds[moves])
        if start is not None and end is not None:
            totals.length = end - start
        return totals

    def __repr__(self) -> str:
        return f"<CriticalPath of {self.length:.9g} s to rank {self.rank}>"


def _add_kinds(
    kinds: dict[tuple[int, int], tuple[float, int]],
    rows: NDArray[np.void],
    seconds: NDArray[np.float64],
) -> None:
    """Add the seconds of parts to those of their state and kind."""
    import numpy as np

    keys, place = np.unique(rows["state"].astype(np.int32) << 8 | rows["kind"], return_inverse=True)
    sums, counts = np.bincount(place, weights=seconds), np.bincount(place)
    for key, more, count in zip(keys.tolist(), sums, counts, strict=True):
        before = kinds.get((key >> 8, key & 255), (0.0, 0))
        kinds[key >> 8, key & 255] = (before[0] + float(more), before[1] + int(count))


def _columns(rows: NDArray[np.void], latency: NDArray[np.float64]) -> dict[str, object]:
    return {
        "start": rows["start"],
        "end": rows["end"],
        "rank": rows["source"],
        "destination": rows["destination"],
        "state": categories(rows["state"], STATES),
        "kind": categories(rows["kind"], _core.kind_names()),
        "line": rows["line"],
        "bytes": rows["bytes"],
        "latency": latency,
    }
