"""Alignment of two runs of one program by their calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tisim.analysis.timeline.columns import BETWEEN_CALLS
from tisim.analysis.timeline.run_file import RunFile
from tisim.errors import InputError

if TYPE_CHECKING:
    # The kinds of a rank's calls, and their end times.
    Calls = tuple[NDArray[np.str_], NDArray[np.float64]]

# Maximum number of ranks examined, evenly spaced, and of calls kept of each.
_MAX_RANKS = 64
_MAX_CALLS = 20_000
# Runs are of the same program if this fraction of the shorter run's calls agrees.
_MIN_AGREEMENT = 0.5


class Alignment:
    """Corresponding times of two runs: those at which the same calls ended.

    The n-th call of a rank in one run corresponds to its n-th in the other, as long as the kinds of
    their calls agree. Times between calls are interpolated. Ranks are aligned one by one; a run's
    times are medians over them. Different programs or rank counts raise an `InputError`.
    """

    def __init__(self, first: RunFile, second: RunFile) -> None:
        if first.ranks != second.ranks:
            raise InputError(
                f"has {second.ranks} ranks, but {first.path} has {first.ranks}: only runs with the "
                "same number of ranks can be aligned",
                file=second.path,
            )
        self._ends = first.end, second.end
        step = -(-first.ranks // _MAX_RANKS)
        self.ranks = list(range(0, first.ranks, step))
        calls = [_calls(run, self.ranks) for run in (first, second)]
        self._times: list[tuple[NDArray[np.float64], NDArray[np.float64]]] = []
        for rank, a, b in zip(self.ranks, *calls, strict=True):
            count = _common(a[0], b[0])
            shorter = min(len(a[0]), len(b[0]))
            if count < _MIN_AGREEMENT * shorter:
                raise InputError(
                    f"is a run of a different program: call {count + 1} of rank {rank} is "
                    f"{b[0][count]}, in {first.path} it is {a[0][count]}",
                    file=second.path,
                )
            chosen = slice(0, count, -(-count // _MAX_CALLS) or 1)
            self._times.append((np.append(0.0, a[1][chosen]), np.append(0.0, b[1][chosen])))

    def time(self, at: float, *, to_second: bool) -> float:
        """Convert a time of one run to the corresponding time of the other."""
        source, target = self._ends if to_second else self._ends[::-1]
        # The starts of the runs correspond, and so do their ends.
        if at <= 0.0:
            return 0.0
        if at >= source:
            return target
        pairs = self._times if to_second else [(b, a) for a, b in self._times]
        return float(np.median([np.interp(at, a, b) for a, b in pairs]))

    def delays(self, points: int) -> NDArray[np.float64]:
        """Return the delay of the second run: one row per rank, one column per time.

        The times divide the first run evenly, from 0 to its end.
        """
        times = np.linspace(0.0, self._ends[0], points)
        return np.array(
            [np.interp(times, *pair) - np.minimum(times, pair[0][-1]) for pair in self._times]
        )


def _calls(run: RunFile, ranks: list[int]) -> list[Calls]:
    """Return the calls of some ranks, in order."""
    names = np.array(run.info["kinds"])
    is_call = ~np.isin(names, [*BETWEEN_CALLS])
    parts: list[list[tuple[NDArray[np.int64], NDArray[np.float64]]]] = [[] for _ in ranks]
    for block in range(run.actions.blocks):
        rows = run.actions.read(block)
        of_rank, kind, end = rows.numbers("rank"), rows.numbers("kind"), rows.reals("end")
        for place, rank in enumerate(ranks):
            low, high = np.searchsorted(of_rank, [rank, rank + 1])
            chosen = is_call[kind[low:high]]
            parts[place].append((kind[low:high][chosen], end[low:high][chosen]))
    return [
        (
            names[np.concatenate([kind for kind, _ in own])],
            np.concatenate([end for _, end in own]),
        )
        if own
        else (names[:0], np.zeros(0))
        for own in parts
    ]


def _common(one: NDArray[np.str_], other: NDArray[np.str_]) -> int:
    """Return the number of leading calls of the same kinds."""
    shorter = min(len(one), len(other))
    different = np.flatnonzero(one[:shorter] != other[:shorter])
    return int(different[0]) if len(different) else shorter
