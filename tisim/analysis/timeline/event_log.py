"""The events of a replay, and data derived from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, cast

from tisim import _core
from tisim.analysis.result_json import OUTLIER_FIELDS
from tisim.analysis.timeline.causes import WaitCauses
from tisim.analysis.timeline.columns import (
    ACTION_COLUMNS,
    MESSAGE_COLUMNS,
    MESSAGE_TIMES,
    STATES,
    categories,
    field_of,
    frame,
    kind_names,
    with_units,
)
from tisim.analysis.timeline.critical_path import CriticalPath
from tisim.analysis.timeline.links import MAX_HOSTS, RouteTable, link_descriptions
from tisim.analysis.timeline.outliers import Outlier, SlowRanks, find_outliers, find_slow_ranks
from tisim.analysis.timeline.streams import Streams
from tisim.platform.zones.cluster import cable_descriptions, limiters_of

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from tisim.analysis.result_json import BreakdownDict, CauseDict, LinkDict, OutlierDict
    from tisim.analysis.timeline.event_store import EventStore
    from tisim.analysis.timeline.links import Links
    from tisim.analysis.timeline.run import Run


# Number of states added to a grid at once.
_ROWS_AT_ONCE = 1 << 20


class Breakdown:
    """The time of each rank by state and by kind of action.

    A rank is in exactly one state at any time from 0 to its end: the states of a rank add up to its
    finish time. In a wait state (`tisim.analysis.timeline.columns.WAITS`) it can do nothing because
    another rank has not called yet.

    Parameters
    ----------
    store
        The events, on disk.
    ranks
        Number of ranks.
    """

    def __init__(self, store: EventStore, ranks: int) -> None:
        self._store = store
        self._ranks = ranks

    @cached_property
    def _seconds(self) -> Mapping[tuple[int, int], NDArray[np.float64]]:
        """Seconds of each rank by state and kind of action, in the order of their first rows."""
        import numpy as np

        rows = self._store.read("states")
        key = rows["state"].astype(np.uint16) << np.uint16(8) | rows["kind"]
        used, first, place = np.unique(key, return_index=True, return_inverse=True)
        cell = place * self._ranks + rows["rank"]
        size = len(used) * self._ranks
        sums = np.bincount(cell, weights=rows["end"] - rows["start"], minlength=size)
        of_key = sums.reshape(len(used), self._ranks)
        order = np.argsort(first).tolist()
        return {(int(used[place]) >> 8, int(used[place]) & 255): of_key[place] for place in order}

    @cached_property
    def table(self) -> pd.DataFrame:
        """Seconds by `rank`, `kind` of action and `state`; only non-zero rows."""
        import numpy as np
        import pandas as pd

        kinds = kind_names()
        parts = [pd.DataFrame({"rank": [], "kind": [], "state": [], "seconds": []})]
        for (state, kind), seconds in self._seconds.items():
            (used,) = np.nonzero(seconds)
            names = {"kind": kinds[kind], "state": STATES[state]}
            parts.append(pd.DataFrame({"rank": used, **names, "seconds": seconds[used]}))
        return with_units(pd.concat(parts[1:] or parts, ignore_index=True))

    @cached_property
    def by_rank(self) -> pd.DataFrame:
        """Seconds, one row per rank and one column per state."""
        import numpy as np
        import pandas as pd

        sums = np.zeros((self._ranks, len(STATES)))
        for (state, _), seconds in self._seconds.items():
            sums[:, state] += seconds
        index = pd.RangeIndex(self._ranks, name="rank")
        return with_units(pd.DataFrame(sums, index=index, columns=list(STATES)))

    @cached_property
    def by_kind(self) -> pd.DataFrame:
        """Sums over all ranks: one row per kind of action, with its `actions` and seconds by state.

        Ordered by `seconds`, the most expensive kind first.
        """
        import numpy as np
        import pandas as pd

        counts = np.bincount(self._store.read("actions")["kind"], minlength=256)
        sums = {kind: np.zeros(len(STATES)) for kind in np.flatnonzero(counts).tolist()}
        for (state, kind), seconds in self._seconds.items():
            sums.setdefault(kind, np.zeros(len(STATES)))[state] += seconds.sum()
        order = sorted(sums, key=lambda kind: (-sums[kind].sum(), kind))
        index = pd.Index([kind_names()[kind] for kind in order], name="kind")
        frame = pd.DataFrame([sums[kind] for kind in order], index=index, columns=list(STATES))
        frame.insert(0, "seconds", frame.sum(axis=1))
        frame.insert(0, "actions", counts[order])
        return with_units(frame)

    def __repr__(self) -> str:
        return f"<Breakdown of {self._ranks} ranks: .by_rank, .by_kind, .table>"


class EventLog:
    """The events of a replay; the `tisim.Result` properties of the same names describe them.

    Parameters
    ----------
    store
        The events, on disk.
    run
        The run that they belong to.
    finish
        Seconds at which each rank ended.
    """

    def __init__(self, store: EventStore, run: Run, finish: NDArray[np.float64]) -> None:
        self.store = store
        self.run = run
        self.finish = finish

    @cached_property
    def breakdown(self) -> Breakdown:
        """The time of each rank by state and kind of action."""
        return Breakdown(self.store, self.run.ranks)

    @cached_property
    def waits(self) -> pd.DataFrame:
        """Wait times between ranks: one row per `state`, `kind`, `rank` and `cause`."""
        import numpy as np

        rows = self.store.read("states")
        rows = rows[rows["cause"] >= 0]
        ranks = self.run.ranks
        state = rows["state"].astype(np.int64) << 8 | rows["kind"]
        key, place = np.unique(
            (state * ranks + rows["rank"]) * ranks + rows["cause"], return_inverse=True
        )
        state, pair = np.divmod(key, ranks * ranks)
        table = frame(
            {
                "rank": (pair // ranks).astype(np.int32),
                "cause": (pair % ranks).astype(np.int32),
                "state": categories((state >> 8).astype(np.uint8), STATES),
                "kind": categories((state & 255).astype(np.uint8), kind_names()),
                "seconds": np.bincount(place, rows["end"] - rows["start"], len(key)),
                "count": np.bincount(place, minlength=len(key)),
            }
        )
        ordered = table.sort_values("seconds", ascending=False, ignore_index=True, kind="stable")
        return with_units(ordered)

    @cached_property
    def matrix(self) -> pd.DataFrame:
        """Messages between ranks: one row per pair of ranks that exchanged messages."""
        import numpy as np

        rows = self.store.read("messages")
        key = rows["source"].astype(np.int64) << 32 | rows["destination"]
        pairs, place = np.unique(key, return_inverse=True)
        collective = rows["collective"] != 0

        def sums(weights: NDArray[np.generic]) -> NDArray[np.int64]:
            # Doubles represent these sums exactly, up to 2^53.
            return np.bincount(place, weights, len(pairs)).astype(np.int64)

        return frame(
            {
                "source": (pairs >> 32).astype(np.int32),
                "destination": pairs.astype(np.int32),
                "bytes": sums(rows["bytes"]),
                "messages": np.bincount(place, minlength=len(pairs)),
                "collective_bytes": sums(rows["bytes"] * collective),
                "collective_messages": sums(collective),
            }
        )

    @cached_property
    def outliers(self) -> list[Outlier]:
        """Computations that took far longer than comparable ones."""
        return find_outliers(self.store, self.run.end, self.wait_causes)

    @cached_property
    def wait_causes(self) -> WaitCauses:
        """The causes of each wait."""
        return WaitCauses(self.store.read("states"), self.run.ranks)

    @cached_property
    def causes(self) -> pd.DataFrame:
        """The causes of all waits: one row per `rank` and `state` that explains some."""
        import numpy as np
        import pandas as pd

        found = self.wait_causes.all
        longest = self.wait_causes.rows[[cause.row for cause in found]]
        return frame(
            {
                "rank": np.array([cause.rank for cause in found], np.int32),
                "state": pd.Categorical([cause.state for cause in found], STATES),
                "seconds": np.array([cause.seconds for cause in found], np.float64),
                "share": np.array([cause.share for cause in found], np.float64),
                "ranks": np.array([cause.waiting for cause in found], np.int32),
                "parts": np.array([cause.parts for cause in found], np.int64),
                **{name: longest[name] for name in ("start", "end", "line")},
            }
        )

    @cached_property
    def slow_ranks(self) -> list[SlowRanks]:
        """Few ranks that compute longer than most, by host.

        The excess time of outliers is not counted: it does not characterise a host.
        """
        computing = self.breakdown.by_rank["compute"].to_numpy(copy=True)
        for outlier in self.outliers:
            computing[outlier.rank] -= outlier.seconds - outlier.usual
        return find_slow_ranks(computing, self.run)

    @cached_property
    def critical_path(self) -> CriticalPath:
        """The parts of the simulated time."""
        routes = RouteTable(self.run.settings, self.run.hosts)
        return CriticalPath(self.wait_causes, self.finish, routes)

    def to_dict(self) -> BreakdownDict:
        """Return the breakdown as plain numbers, lists and dicts; seconds are sums over ranks.

        `states`: seconds by state. `kinds`: for each kind of action its `actions`, `seconds` and
        seconds per state. `waits`: seconds by wait state and rank that was waited for. `causes`:
        the causes of all waits (`causes`). `outliers`: computations that took far longer than
        comparable ones (`Outlier`). `slow_ranks`: few ranks that compute longer than most, by host
        (`SlowRanks`). `gains`: upper bounds on the reduction of the simulated time. `links`: the
        traffic of each used link. `gpus`, if ranks launch a graph: their activities.
        """
        by_kind = self.breakdown.by_kind
        states = [state for state in STATES if by_kind[state].any()]
        waits = self.waits.groupby(["state", "cause"], observed=True)["seconds"].sum()
        found: BreakdownDict = {
            "states": {state: float(by_kind[state].sum()) for state in states},
            "kinds": {
                kind: {
                    "actions": int(row["actions"]),
                    "seconds": float(row["seconds"]),
                    "states": {state: float(row[state]) for state in states if row[state]},
                }
                for kind, row in by_kind.to_dict("index").items()
            },
            "waits": [
                {"state": str(state), "cause": int(cause), "seconds": float(seconds)}
                for (state, cause), seconds in waits.items()
            ],
            "causes": cast("list[CauseDict]", self.causes.to_dict("records")),
            "outliers": [
                cast("OutlierDict", {name: getattr(outlier, name) for name in OUTLIER_FIELDS})
                for outlier in self.outliers
            ],
            "slow_ranks": [
                {"host": slow.host, "ranks": [*slow.ranks], "ratio": slow.ratio}
                for slow in self.slow_ranks
            ],
            "gains": self.critical_path.gains["seconds"].to_dict(),
            "links": self._links_to_dict(),
        }
        if len(self.occupations):
            found["gpus"] = self.occupations.sum().to_dict()
        return found

    def _links_to_dict(self) -> list[LinkDict]:
        """Return the used links in the order of `Links.table`."""
        columns = ["link", "bandwidth", "bytes", "mean", "peak"]
        rows = self.links.table[columns].itertuples(index=False)
        return [
            {"link": link, "bandwidth": bandwidth, "bytes": count, "mean": mean, "peak": peak}
            for link, bandwidth, count, mean, peak in rows
        ]

    @cached_property
    def link_words(self) -> Mapping[str, str]:
        """The position of a used link, by its name: ``node-3, up``; ``switch 3 of level 1 to ...``.

        Links that neither belong to a host nor connect two parts of a cluster are omitted.
        """
        settings = self.run.settings
        words = link_descriptions(settings, self.run.hosts)
        cables = cable_descriptions(settings.platform.root, self.links.index.tolist())
        # With many hosts only some are sampled: then all links of hosts get the same kind of name.
        is_sampled = len({*map(int, self.run.hosts)}) > MAX_HOSTS
        words = words | cables if is_sampled else cables | words
        return {settings.routes.link_name(link): text for link, text in words.items()}

    @cached_property
    def limiters(self) -> frozenset[str]:
        """Names of the used links that are not cables: limiters of hosts and switches."""
        settings = self.run.settings
        found = limiters_of(settings.platform.root, self.links.index.tolist())
        return frozenset(map(settings.routes.link_name, found))

    @cached_property
    def streams(self) -> pd.DataFrame:
        """Activities of the GPU streams launched by ranks."""
        return self._streams.table

    @cached_property
    def occupations(self) -> pd.DataFrame:
        """Seconds of each GPU in each of `OCCUPATIONS`; no rows without GPUs."""
        return self._streams.occupations

    @property
    def _streams(self) -> Streams:
        return self.run.streams or Streams((), b"", 0, self.run.end)

    @property
    def links(self) -> Links:
        """The load of each link over time."""
        assert self.run.links is not None
        return self.run.links

    def seconds_by_state(
        self,
        groups: NDArray[np.int32],
        count: int,
        bins: int,
        begin: float = 0.0,
        end: float | None = None,
    ) -> NDArray[np.float32]:
        """Return the seconds that groups of ranks spend in each state, over time.

        Parameters
        ----------
        groups
            The group of each rank, from 0 to below `count`; shape (ranks,).
        count
            Number of groups.
        bins
            Number of equal bins from `begin` to `end`.
        begin, end
            In seconds; all of the simulated time by default.

        Returns
        -------
        ndarray
            Shape (count, bins, states).
        """
        import numpy as np

        last = self.run.end if end is None else end
        sums = _core.SpanSums(begin, last, count, bins, len(STATES))
        rows = self.store.read("states")
        for first in range(0, len(rows), _ROWS_AT_ONCE):
            block = rows[first : first + _ROWS_AT_ONCE]
            start, stop = (np.ascontiguousarray(block[name]) for name in ("start", "end"))
            state = block["state"].astype(np.int32)
            nothing = np.zeros(len(block), np.int64)
            sums.add(start, stop, groups[block["rank"]], state, stop - start, stop - start, nothing)
        part, lane, key, seconds, _, _ = sums.cells()
        found = np.zeros((count, bins, len(STATES)), np.float32)
        found[lane, part, key] = seconds
        return found

    @property
    def timeline(self) -> pd.DataFrame:
        """One row per action, ordered by end time."""
        return self._frame("actions", ACTION_COLUMNS)

    @property
    def states(self) -> pd.DataFrame:
        """One row per interval that a rank spends in one state, ordered by end time."""
        columns = ("rank", "state", "kind", "start", "end", "cause", "line")
        return self._frame("states", columns)

    @property
    def messages(self) -> pd.DataFrame:
        """One row per message, in the order in which the receivers continued."""
        return self._frame("messages", MESSAGE_COLUMNS)

    def _frame(self, name: str, columns: Sequence[str]) -> pd.DataFrame:
        """Return the rows of a table with names for numbers; missing times are NaN."""
        import numpy as np

        rows = self.store.read(name)
        made: dict[str, object] = {}
        for column in columns:
            values = rows[field_of(column)]
            if column in ("state", "kind"):
                made[column] = categories(values, STATES if column == "state" else kind_names())
            elif column in MESSAGE_TIMES:
                made[column] = np.where(values < 0, np.nan, values)
            else:
                made[column] = values.astype(bool) if column == "collective" else values
        return frame(made)
