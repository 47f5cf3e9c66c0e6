"""The causes of waits, in terms of the tables of states.

The core contains the definition (`core/timeline/wait_causes.hpp`); the report, the breakdown and
the viewer show the results of this module.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from tisim import _core
from tisim.analysis.timeline.columns import STATES, WAITS, structured

#: Minimum share of a wait that its origin explains.
MIN_ORIGIN_SHARE = 0.5
# States of a rank that explain more than this fraction of the maximum are candidates to be shown.
_MIN_SHARE_OF_MAXIMUM = 0.5
# Maximum number of states compared for all waits together: more would take longer than a reader
# waits. Only runs whose ranks are out of step for a long time exceed it.
_MAX_COMPARED_STATES = 2e7
#: Message shown instead of the sums if they are not computed.
NOT_SUMMED = (
    "This run has too many states to sum up the causes of its waits; the viewer shows the causes "
    "of **each single wait**."
)
# A rank on the path that explains less of a wait than this shows its own wait.
_MIN_EXPLAINED_SHARE = 0.01
# Number of waits whose paths are followed to estimate the number of states that cause all waits.
_SAMPLE = 64
# Maximum number of steps in a chain.
_MAX_CHAIN = 64


@dataclass(frozen=True)
class Cause:
    """All states of one kind of one rank that cause a wait, or all waits of a run.

    `share`: the fraction that they explain. `row`: the state that explains most (-1: unknown), for
    `longest` seconds. `waiting`: number of ranks that wait because of them.
    """

    rank: int
    state: str
    seconds: float
    share: float
    parts: int
    row: int
    longest: float
    waiting: int = 1


@dataclass(frozen=True)
class Step:
    """A rank on the path from a wait back to its cause.

    `row`: its state that explains most of the wait, or in which it waited itself. Its states on the
    path explain `seconds` in total, a `share` of the wait.
    """

    row: int
    seconds: float
    share: float


class WaitCauses:
    """The causes of the waits of a run.

    Parameters
    ----------
    rows
        The states of all ranks, ordered by end time (`tisim._core.state_type`).
    ranks
        Number of ranks.
    """

    def __init__(self, rows: NDArray[np.void], ranks: int) -> None:
        self.rows = rows
        self._ranks = ranks
        self._core = _core.WaitCauses(rows.view(np.uint8), ranks)

    def path(self, rank: int, time: float) -> NDArray[np.void]:
        """Return the parts of the path to a time of a rank, the latest first (`part_type`)."""
        return structured(self._core.path(rank, time))

    def row_of(self, rank: int, start: float, end: float) -> int | None:
        """Return the row of a state, or None."""
        ends = self.rows["end"]
        low, high = (int(np.searchsorted(ends, end, side)) for side in ("left", "right"))
        part = self.rows[low:high]
        found = np.flatnonzero((part["rank"] == rank) & (part["start"] == start))
        return low + int(found[-1]) if len(found) else None

    def of(self, row: int) -> list[Cause]:
        """Return the causes that add up to a wait, the largest share first; empty if no wait."""
        shares = self._core.of(row)
        whole = float(self.rows["end"][row] - self.rows["start"][row])
        parts: dict[tuple[int, int], list[tuple[float, int]]] = {}
        for place, state, seconds in shares:
            rank = int(self.rows["rank"][place]) if place >= 0 else -1
            parts.setdefault((rank, state), []).append((seconds, place))
        causes = []
        for (rank, state), explained in parts.items():
            most = max(seconds for seconds, _ in explained)
            # The latest of those that explain much has the shortest chain.
            longest, place = next(
                share for share in explained if share[0] >= _MIN_SHARE_OF_MAXIMUM * most
            )
            seconds = sum(share for share, _ in explained)
            causes.append(
                Cause(
                    rank,
                    STATES[state] if place >= 0 else "earlier",
                    seconds,
                    seconds / whole,
                    len(explained),
                    place,
                    longest,
                )
            )
        return sorted(causes, key=lambda cause: -cause.seconds)

    def chain(self, row: int, causes: Sequence[Cause]) -> list[Step]:
        """Return the ranks from a wait back to its largest cause, one after another."""
        if not causes or causes[0].row < 0:
            return []
        whole = float(self.rows["end"][row] - self.rows["start"][row])
        explained: dict[int, float] = {}
        for place, _, seconds in self._core.of(row):
            explained[place] = explained.get(place, 0.0) + seconds
        steps = []
        for _, visit in groupby(self._core.late_path(row), lambda at: int(self.rows["rank"][at])):
            places = [*dict.fromkeys(visit)]
            shown = max(places, key=lambda place: explained.get(place, 0.0))
            if is_last := causes[0].row in places:
                shown = causes[0].row
            elif explained.get(shown, 0.0) < _MIN_EXPLAINED_SHARE * whole:
                shown = max(places, key=self._waited)
            seconds = sum(explained.get(place, 0.0) for place in places)
            steps.append(Step(shown, seconds, seconds / whole))
            if is_last:
                break
        if len(steps) > _MAX_CHAIN:
            steps[_MAX_CHAIN - 1 :] = steps[-1:]
        return steps

    def _waited(self, row: int) -> float:
        state = self.rows[row]
        return float(state["end"] - state["start"]) if state["cause"] >= 0 else 0.0

    @cached_property
    def are_summed(self) -> bool:
        """True if the causes of all waits are summed."""
        waits = np.flatnonzero(np.isin(self.rows["state"], [STATES.index(name) for name in WAITS]))
        some = waits[:: max(len(waits) // _SAMPLE, 1)].tolist()
        steps = sum(len(self._core.late_path(row)) for row in some) / max(len(some), 1)
        return steps * len(waits) <= _MAX_COMPARED_STATES

    @cached_property
    def _sums(self) -> tuple[NDArray[np.void], NDArray[np.void], NDArray[np.void]]:
        """Sums by row; sums by rank and state; waits explained by each row, by row and rank."""
        if not self.are_summed:
            kinds = [("seconds", "f8"), ("ranks", "u4")]
            none = np.zeros(0, [("row", "u4"), ("wait", "u4"), ("seconds", "f8")])
            return np.zeros(len(self.rows), kinds), np.zeros(self._ranks * len(STATES), kinds), none
        by_row, by_rank, explained = (structured(table) for table in self._core.sums())
        return by_row, by_rank, explained[np.argsort(explained["row"], kind="stable")]

    @cached_property
    def all(self) -> list[Cause]:
        """The causes that add up to all waits of the run, the largest share first."""
        by_row, by_rank, _ = self._sums
        used = np.flatnonzero(by_rank["seconds"] > 0)
        whole = float(by_rank["seconds"].sum())
        places = np.flatnonzero(by_row["seconds"] > 0)
        rows = self.rows[places]
        # The cause of a row that ended with a message is the message.
        transfer = STATES.index("transfer")
        state = np.where(rows["peer"] >= 0, transfer, rows["state"])
        key = rows["rank"].astype(np.int64) * len(STATES) + state
        order = np.lexsort((by_row["seconds"][places], key))
        last = np.flatnonzero(np.append(np.diff(key[order]) != 0, True)) if len(order) else order
        most: Mapping[int, int] = dict(
            zip(key[order[last]].tolist(), places[order[last]].tolist(), strict=True)
        )
        count = dict(
            zip(key[order[last]].tolist(), np.diff(last, prepend=-1).tolist(), strict=True)
        )
        causes = [
            Cause(
                key // len(STATES),
                STATES[key % len(STATES)],
                float(by_rank["seconds"][key]),
                float(by_rank["seconds"][key]) / whole,
                count.get(key, 0),
                most.get(key, -1),
                float(by_row["seconds"][most[key]]) if key in most else 0.0,
                int(by_rank["ranks"][key]),
            )
            for key in used.tolist()
        ]
        return sorted(causes, key=lambda cause: (-cause.seconds, cause.rank))

    def total_wait_caused(self, row: int) -> tuple[float, int]:
        """Return the seconds that others wait because of a state, and the number of ranks."""
        waits = self._sums[0][row]
        return float(waits["seconds"]), int(waits["ranks"])

    def waiting_ranks(self, row: int) -> list[tuple[int, float, int]]:
        """Return the ranks that wait because of a state, the longest wait first.

        For each rank its number, the seconds, and the row of its wait that the state explains most.
        Empty if the causes of all waits are not summed.
        """
        explained = self._sums[2]
        low, high = (int(np.searchsorted(explained["row"], row, x)) for x in ("left", "right"))
        waits = [(int(pair["wait"]), float(pair["seconds"])) for pair in explained[low:high]]
        ranks = []
        for rank, of_rank in groupby(waits, lambda wait: int(self.rows["rank"][wait[0]])):
            of_wait: dict[int, float] = {}
            for wait, seconds in of_rank:
                of_wait[wait] = of_wait.get(wait, 0.0) + seconds
            ranks.append((rank, sum(of_wait.values()), max(of_wait, key=of_wait.__getitem__)))
        return sorted(ranks, key=lambda waits: -waits[1])
