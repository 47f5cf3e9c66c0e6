"""Orders of ranks: by activity, by position, or by similarity."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tisim.analysis.timeline.columns import WAITS
from tisim.analysis.timeline.run_file import RunFile, Window
from tisim.analysis.viewer.network import RunNetwork
from tisim.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    Row = dict[str, object]

# Maximum number of ranks compared with each other: the time is quadratic.
_MAX_COMPARED_RANKS = 4096
_MAX_BLOCKS = 64
_MAX_GROUPS = 2000


@dataclass(frozen=True)
class RankOrder:
    """The rank at each position, from the top, and names and first positions of rank groups."""

    ranks: NDArray[np.int64]
    groups: Sequence[tuple[str, int]] = ()


class RankOrders:
    """Orders of the ranks of a run, each computed once."""

    def __init__(self, run: RunFile, network: RunNetwork) -> None:
        self._run = run
        self._network = network
        self._known: dict[str, RankOrder] = {}

    def names(self) -> list[Row]:
        """Return the available orders: `name` and a description."""
        info = self._run.info
        present = {state for state, _ in info["keys"]}
        rows = [("rank", "rank"), ("wait", "most waiting"), ("longest", "longest wait")]
        rows += [(f"state:{info['states'][i]}", f"most {info['states'][i]}") for i in present]
        kinds = sorted({kind for _, kind in info["keys"] if info["kinds"][kind]})
        rows += [(f"kind:{info['kinds'][i]}", f"longest in {info['kinds'][i]}") for i in kinds]
        rows += [("end", "last to end")]
        if not info["measured"]:
            rows.append(("host", "by host"))
        if self._network.unknown is None:
            rows.append(("switch", "by switch"))
        rows += [("communicator", "by communicator"), ("similarity", "by similarity")]
        return [{"name": name, "words": words} for name, words in rows]

    def order(self, name: str) -> RankOrder:
        """Return an order by name; raise an `InputError` if it is unknown or too expensive."""
        if name not in self._known:
            self._known[name] = self._compute_order(name)
        return self._known[name]

    def _compute_order(self, name: str) -> RankOrder:
        info = self._run.info
        by, _, what = name.partition(":")
        if name == "rank":
            return RankOrder(np.arange(self._run.ranks))
        if name == "host":
            return self._grouped([info["hosts"][host] for host in info["host_of"]])
        if name == "switch" and self._network.unknown is None:
            return self._grouped(self._network.switches())
        if name == "communicator":
            return self._grouped(self._communicators())
        if name == "similarity":
            return self._similar()
        if name in ("wait", "longest"):
            states = [info["states"].index(state) for state in WAITS]
            return self._most(self._longest if name == "longest" else self._seconds, 0, states)
        if name == "end":
            return RankOrder(np.argsort(-self.ends, kind="stable"))
        for column, known in enumerate((info["states"], info["kinds"])):
            if by == ("state", "kind")[column] and what in known:
                return self._most(self._seconds, column, [known.index(what)])
        raise InputError(f"no order of ranks {name[:40]!r}")

    def _most(self, of_keys: NDArray[np.float64], column: int, wanted: Sequence[int]) -> RankOrder:
        """Order by the sum, or the maximum, of states with some of the keys."""
        keys = np.array(self._run.info["keys"], np.int64).reshape(-1, 2)
        chosen = of_keys[:, np.isin(keys[:, column], wanted)]
        values = chosen.max(axis=1, initial=0.0) if of_keys is self._longest else chosen.sum(axis=1)
        return RankOrder(np.argsort(-values, kind="stable"))

    @property
    def ends(self) -> NDArray[np.float64]:
        """The seconds at which ranks end: their states are contiguous."""
        ends: NDArray[np.float64] = self._seconds.sum(axis=1)
        return ends

    @cached_property
    def _of_keys(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The seconds, and the longest state, of each rank and key; shape (ranks, keys)."""
        run = self._run
        count = len(run.info["keys"])
        whole = Window(run, 0.0, run.end, 0, run.ranks - 1)
        tile = whole.sums(run.ranks, np.arange(count, dtype=np.int32))
        seconds, longest = np.zeros((run.ranks, count)), np.zeros((run.ranks, count))
        seconds[tile.lane, tile.key] = tile.seconds
        longest[tile.lane, tile.key] = tile.longest
        return seconds, longest

    @property
    def _seconds(self) -> NDArray[np.float64]:
        return self._of_keys[0]

    @property
    def _longest(self) -> NDArray[np.float64]:
        return self._of_keys[1]

    def _grouped(self, names: Sequence[str]) -> RankOrder:
        """Group ranks with the same name, ordered by the first rank of each group."""
        places = {name: place for place, name in enumerate(dict.fromkeys(names))}
        group = np.array([places[name] for name in names], np.int64)
        ranks = np.argsort(group, kind="stable")
        first = np.flatnonzero(np.diff(group[ranks], prepend=-1))
        known = list(places)
        groups = [(known[int(group[ranks[at]])], int(at)) for at in first]
        return RankOrder(ranks, groups[:_MAX_GROUPS])

    def _communicators(self) -> list[str]:
        """Return each rank's most used communicator (by time) other than the world."""
        table = self._run.actions
        if table.blocks > _MAX_BLOCKS:
            raise InputError("this run has too many calls to determine the communicators of ranks")
        sums: dict[tuple[int, int], float] = {}
        for block in range(table.blocks):
            rows = table.read(block)
            rows = rows.rows(rows.numbers("communicator") > 0)
            pairs = rows.numbers("rank") << 32 | rows.numbers("communicator")
            every, place = np.unique(pairs, return_inverse=True)
            length = rows.reals("end") - rows.reals("start")
            for pair, seconds in zip(
                every.tolist(), np.bincount(place, weights=length).tolist(), strict=True
            ):
                key = pair >> 32, pair & 0xFFFFFFFF
                sums[key] = sums.get(key, 0.0) + seconds
        most: dict[int, tuple[float, int]] = {}
        for (rank, communicator), seconds in sums.items():
            most[rank] = max(most.get(rank, (0.0, 0)), (seconds, communicator))
        names = {rank: f"communicator {one}" for rank, (_, one) in most.items()}
        return [names.get(rank, "the world only") for rank in range(self._run.ranks)]

    def _similar(self) -> RankOrder:
        """Order ranks by similarity of their time use: the leaves of a clustering."""
        from scipy.cluster.hierarchy import leaves_list, linkage

        ranks = self._run.ranks
        if ranks > _MAX_COMPARED_RANKS:
            raise InputError(f"similarity orders up to {_MAX_COMPARED_RANKS:,} ranks")
        if ranks < 3:
            return RankOrder(np.arange(ranks))
        tree = linkage(self._seconds, method="average")
        return RankOrder(np.asarray(leaves_list(tree), np.int64))
