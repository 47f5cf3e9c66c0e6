"""Computations far longer than comparable ones, and ranks slower than others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tisim.analysis.timeline.columns import kind_names
from tisim.traces.call_paths import call_paths_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tisim.analysis.timeline.causes import WaitCauses
    from tisim.analysis.timeline.event_store import EventStore
    from tisim.analysis.timeline.run import Run

# An outlier takes this multiple of the median of at least this number of comparable computations,
# and exceeds it by this fraction of the run.
_MIN_RATIO = 10.0
_MIN_COMPARABLE = 8
_MIN_PART_OF_RUN = 1e-4
_MAX_OUTLIERS = 10
_PRIME = 0x9E3779B97F4A7C15
# A slow rank computes this multiple of the ranks' median time, and longer by this fraction of the
# run; if more than this fraction of the ranks does, the cause is the division of the work.
_MIN_SLOWDOWN = 1.2
_PART_OF_RUN = 0.01
_PART_OF_RANKS = 0.1


@dataclass(frozen=True)
class Outlier:
    """A computation that took far longer than comparable ones.

    These are computations of the same rank between the same calls, or, if there are few of them, of
    all ranks between calls of the same kinds and sizes.
    """

    rank: int
    line: int  # in the rank's trace
    before: int  # line of the previous call; 0: none
    after: int
    start: float  # simulated seconds
    end: float
    usual: float  # seconds: the median of comparable computations
    alike: int  # number of comparable computations
    waited: float = 0.0  # seconds that other ranks wait because of it (`WaitCauses`)
    waiting: int = 0  # number of these ranks

    @property
    def seconds(self) -> float:
        """Its duration in seconds."""
        return self.end - self.start


@dataclass(frozen=True)
class SlowRanks:
    """Ranks of a host that compute longer than most."""

    host: str
    ranks: Sequence[int]
    ratio: float  # ratio of their mean computing time to the median of all ranks


def find_outliers(store: EventStore, end_of_run: float, causes: WaitCauses) -> list[Outlier]:
    """Return the computations that took far longer than comparable ones.

    Sorted by the waiting time of other ranks, the longest first. Short ones without waits are
    omitted.
    """
    import numpy as np

    rows = store.read("actions")
    # The actions of a rank are ordered by end time.
    order = np.argsort(rows["rank"], kind="stable")
    rank, kind, line = (rows[name][order] for name in ("rank", "kind", "line"))
    start, end = rows["start"][order], rows["end"][order]
    computes = np.flatnonzero(kind == kind_names().index("compute"))
    if not len(computes):
        return []
    before, after = _neighbours(rank, computes, -1), _neighbours(rank, computes, 1)
    # Hash of the kinds, sizes and peers of the calls before and after a computation.
    sized = _hash(_hash(np.zeros(len(order), np.uint64), kind), rows["bytes"][order])
    call = _hash(sized, rows["peer"][order])
    wide = np.zeros(len(computes), np.uint64)
    key = _hash(wide, rank[computes])
    for place in (before, after):
        key = _hash(key, np.where(place < 0, 0, call[place]))
        wide = _hash(wide, np.where(place < 0, 0, sized[place]))
    seconds = end[computes] - start[computes]
    usual, alike = _medians(key, seconds)
    # Rare actions of a rank are compared to those of all ranks with other peers.
    few = alike < _MIN_COMPARABLE
    if few.any():
        usual[few], alike[few] = _medians(wide[few], seconds[few])
    chosen = (
        (alike >= _MIN_COMPARABLE)
        & (seconds >= _MIN_RATIO * usual)
        & (seconds - usual >= _MIN_PART_OF_RUN * end_of_run)
    )
    worst = np.flatnonzero(chosen)
    worst = worst[np.argsort((usual - seconds)[worst], kind="stable")][:_MAX_OUTLIERS]
    outliers = []
    for at in worst.tolist():
        place = computes[at]
        row = causes.row_of(int(rank[place]), start[place], end[place])
        waited, waiting = (0.0, 0) if row is None else causes.total_wait_caused(row)
        outliers.append(
            Outlier(
                int(rank[place]),
                int(line[place]),
                int(line[before[at]]) if before[at] >= 0 else 0,
                int(line[after[at]]) if after[at] >= 0 else 0,
                float(start[place]),
                float(end[place]),
                float(usual[at]),
                int(alike[at]),
                waited,
                waiting,
            )
        )
    noticed = [
        outlier
        for outlier in outliers
        if outlier.waited > 0.0 or outlier.seconds - outlier.usual >= _PART_OF_RUN * end_of_run
    ]
    return sorted(noticed, key=lambda outlier: -outlier.waited)


def find_slow_ranks(computing: NDArray[np.float64], run: Run) -> list[SlowRanks]:
    """Return few ranks that compute longer than most, by host, the slowest first.

    `computing`: the seconds of each rank.
    """
    import numpy as np

    median = float(np.median(computing))
    slow = np.flatnonzero(
        (computing > _MIN_SLOWDOWN * median) & (computing - median > _PART_OF_RUN * run.end)
    )
    if not median or len(slow) > _PART_OF_RANKS * len(computing):
        return []
    hosts: dict[str, list[int]] = {}
    for rank in slow.tolist():
        hosts.setdefault(run.host_name(rank), []).append(rank)
    groups = [
        SlowRanks(host, ranks, float(computing[ranks].mean()) / median)
        for host, ranks in hosts.items()
    ]
    return sorted(groups, key=lambda slow: -slow.ratio)


def paths_of(found: Sequence[Outlier], trace: str) -> Mapping[tuple[int, int], str]:
    """Return the known call paths of the calls before and after outliers, by rank and line."""
    wanted: dict[int, set[int]] = {}
    for outlier in found:
        wanted.setdefault(outlier.rank, set()).update(
            line for line in (outlier.line, outlier.before, outlier.after) if line
        )
    return call_paths_of(trace, wanted)


def describe_location(outlier: Outlier, paths: Mapping[tuple[int, int], str]) -> str:
    """Return the position of an outlier in the program, or else its line in the trace."""
    own = paths.get((outlier.rank, outlier.line))
    if own is not None:
        return f"at {own}"
    found = describe_between(
        *(paths.get((outlier.rank, line)) for line in (outlier.before, outlier.after))
    )
    return found or f"line {outlier.line} of the rank's trace"


def describe_between(before: str | None, after: str | None) -> str | None:
    """Return the position of a computation from the call paths before and after it."""
    if before is None or after is None:
        return f"behind {before}" if before else f"before {after}" if after else None
    return f"between {before} and {after}"


def format_ranks(ranks: Sequence[int]) -> str:
    """Return ranks as text: ``3, 7 to 9``."""
    parts: list[list[int]] = []
    for rank in ranks:
        if parts and parts[-1][-1] == rank - 1:
            parts[-1].append(rank)
        else:
            parts.append([rank])
    return ", ".join(
        str(part[0]) if len(part) == 1 else f"{part[0]} to {part[-1]}" for part in parts
    )


def _neighbours(rank: NDArray[np.int32], places: NDArray[np.intp], step: int) -> NDArray[np.intp]:
    """Return the action of the same rank before or after each; -1 if none."""
    import numpy as np

    other = places + step
    inside = (other >= 0) & (other < len(rank))
    inside[inside] = rank[other[inside]] == rank[places[inside]]
    return np.where(inside, other, -1)


def _hash(sums: NDArray[np.uint64], values: NDArray[np.generic]) -> NDArray[np.uint64]:
    """Hash values into running sums (FNV); distinct values collide with probability 2**-64."""
    import numpy as np

    mixed: NDArray[np.uint64] = (sums ^ values.astype(np.int64).view(np.uint64)) * np.uint64(_PRIME)
    return mixed ^ (mixed >> np.uint64(32))


def _medians(
    key: NDArray[np.uint64], seconds: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return, for each element, the median of the seconds with its key, and their number."""
    import numpy as np

    order = np.lexsort((seconds, key))
    first = np.flatnonzero(np.append(True, np.diff(key[order]) != 0))
    count = np.diff(np.append(first, len(order)))
    middle = seconds[order[first + count // 2]]
    usual, alike = np.empty(len(order)), np.empty(len(order), np.int64)
    usual[order], alike[order] = np.repeat(middle, count), np.repeat(count, count)
    return usual, alike
