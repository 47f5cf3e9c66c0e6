"""Instructions a second: the speed of hosts, from timed computations.

A host computes at one speed in the simulator. Real ones do not: the rate falls when the data of a
rank outgrow its cache (Desprez et al., ICPP workshops 2011), so measurements tell apart classes of
problems or working sets, and the rate to use is that of the program to be predicted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, TypedDict, TypeVar

import numpy as np

from tisim.studies.calibration.line import Floats

if TYPE_CHECKING:
    import pandas as pd

#: Above this relative spread one rate does not fit.
TOLERATED_SPREAD = 0.10
# A step in the rate over working sets is at least this large.
_STEP = 0.10

_Key = TypeVar("_Key", int, str)


class RateRow(TypedDict):
    """One row of `CpuCalibration.frame`."""

    what: str
    per_second: float
    spread: float
    computations: int


class RatesDict(TypedDict):
    """All rates, the overall one first, and warnings."""

    rates: list[RateRow]
    warnings: list[str]


@dataclass(frozen=True)
class Rate:
    """A speed and how well it is known.

    Parameters
    ----------
    what
        What it is the rate of: everything, a class, a range of working sets, a host.
    per_second
        Instructions (or flops) a second: all volume over all time, so that the total time of the
        measured computations is met.
    spread
        Relative standard deviation of the single rates, weighted by time.
    computations
        Number of timed computations.
    column, low, high
        What they have in common: a column of the frame and the range of its values.
    """

    what: str
    per_second: float
    spread: float
    computations: int
    column: str | None = None
    low: str | float | None = None
    high: str | float | None = None

    def of(self, timed: pd.DataFrame) -> pd.DataFrame:
        """The timed computations that this is the rate of."""
        if self.column is None:
            return timed
        return timed[timed[self.column].between(self.low, self.high)]


@dataclass(frozen=True)
class CpuCalibration:
    """Rates of a machine.

    Parameters
    ----------
    overall
        Of all computations.
    classes, working_sets, ranks, runs, hosts
        Of each class, range of working sets (its upper end in bytes is the key), rank, run and
        host, where the measurements tell them apart.
    """

    overall: Rate
    classes: dict[str, Rate]
    working_sets: dict[float, Rate]
    ranks: dict[int, Rate]
    runs: dict[str, Rate]
    hosts: dict[str, Rate]

    def rate_for(
        self, *, problem_class: str | None = None, working_set: float | None = None
    ) -> Rate:
        """The rate to use for a class of problems or a working set in bytes, else the overall one.

        Raises
        ------
        InputError
            If neither the class nor working sets were measured.
        """
        from tisim.errors import InputError

        if problem_class is not None:
            if problem_class not in self.classes:
                known = ", ".join(self.classes) or "none at all"
                raise InputError(f"no class {problem_class!r} was measured; measured: {known}")
            return self.classes[problem_class]
        if working_set is not None:
            if not self.working_sets:
                raise InputError("the measurements have no column 'working_set'")
            fitting = [end for end in self.working_sets if working_set <= end]
            return self.working_sets[min(fitting) if fitting else max(self.working_sets)]
        return self.overall

    @property
    def warnings(self) -> tuple[str, ...]:
        """Where one rate does not fit."""
        found = []
        if self.overall.spread > TOLERATED_SPREAD:
            found.append(
                f"the rates spread by {self.overall.spread:.0%} about their mean: one rate does "
                "not fit all computations" + self._remedy()
            )
        for name, group in (("ranks", self.ranks), ("runs", self.runs), ("hosts", self.hosts)):
            if between := _between(group):
                found.append(
                    f"the rates of {name} differ by {between[2]:.0%}: "
                    f"{between[0].per_second:.4g}/s in {between[0].what}, "
                    f"{between[1].per_second:.4g}/s in {between[1].what}"
                )
        return tuple(found)

    def _remedy(self) -> str:
        if len(self.classes) > 1:
            return "; choose the class of the program to be predicted (--class)"
        if len(self.working_sets) > 1:
            return "; choose by the working set of a rank (--working-set)"
        return "; measure classes of problems or working sets apart (columns class, working_set)"

    def frame(self) -> pd.DataFrame:
        """One row a rate of what there is more than one of.

        Columns ``what``, ``per_second``, ``spread``, ``computations``.
        """
        import pandas as pd

        groups = (self.classes, self.working_sets, self.hosts, self.ranks, self.runs)
        apart = [rate for group in groups if len(group) > 1 for rate in group.values()]
        columns = ["what", "per_second", "spread", "computations"]
        return pd.DataFrame([vars(rate) for rate in (self.overall, *apart)], columns=columns)

    def to_dict(self) -> RatesDict:
        """All rates and warnings, as plain numbers, lists and dicts."""
        return {"rates": self.frame().to_dict("records"), "warnings": list(self.warnings)}


def _between(group: Mapping[str, Rate] | Mapping[int, Rate]) -> tuple[Rate, Rate, float] | None:
    """Slowest and fastest rate of a group and their relative difference, if it is notable."""
    if len(group) < 2:
        return None
    slow = min(group.values(), key=lambda rate: rate.per_second)
    fast = max(group.values(), key=lambda rate: rate.per_second)
    difference = fast.per_second / slow.per_second - 1
    return (slow, fast, difference) if difference > TOLERATED_SPREAD else None


def calibrate_cpu(timed: pd.DataFrame) -> CpuCalibration:
    """Find instructions a second from timed computations.

    Parameters
    ----------
    timed
        From `tisim.studies.calibration.read_timed`.
    """
    sets: dict[float, Rate] = {}
    if "working_set" in timed:
        sets = _working_sets(timed)
    return CpuCalibration(
        overall=_rate("all computations", timed),
        classes=_groups(timed, "class", "class {}", str),
        working_sets=sets,
        ranks=_groups(timed, "rank", "rank {}", int),
        runs=_groups(timed, "run", "run {}", str),
        hosts=_groups(timed, "host", "host {}", str),
    )


def _rate(what: str, timed: pd.DataFrame) -> Rate:
    volume, seconds = timed["volume"].to_numpy(), timed["seconds"].to_numpy()
    mean = float(volume.sum() / seconds.sum())
    variance = float(seconds @ (volume / seconds / mean - 1) ** 2 / seconds.sum())
    return Rate(what, mean, float(np.sqrt(variance)), len(timed))


def _groups(timed: pd.DataFrame, column: str, what: str, key: type[_Key]) -> dict[_Key, Rate]:
    """The rate of each group of computations that have the same value in a column, by that."""
    if column not in timed:
        return {}
    return {
        key(value): replace(_rate(what.format(value), part), column=column, low=value, high=value)
        for value, part in timed.groupby(column, sort=True)
    }


def _working_sets(timed: pd.DataFrame) -> dict[float, Rate]:
    """Ranges of working sets with a rate each; the key is the range's upper end in bytes."""
    totals = timed.groupby("working_set", sort=True)[["volume", "seconds"]].sum()
    sets = totals.index.to_numpy(dtype=np.float64)
    logs = np.log(totals["volume"].to_numpy() / totals["seconds"].to_numpy())
    weights = totals["seconds"].to_numpy(dtype=np.float64)
    edges = [0, *_steps(logs, weights, 0, len(logs)), len(logs)]
    found: dict[float, Rate] = {}
    for first, end in pairwise(edges):
        low, high = sets[first], sets[end - 1]
        what = f"working sets of {_binary(low)}" + ("" if low == high else f" to {_binary(high)}")
        inside = timed[timed["working_set"].between(low, high)]
        found[float(high)] = replace(_rate(what, inside), column="working_set", low=low, high=high)
    return found


def _binary(nbytes: float) -> str:
    """Bytes in the unit of memories, such as 4 MiB."""
    power = min(int(np.log2(max(nbytes, 1)) // 10), 4)
    return f"{nbytes / 1024**power:.4g} {('B', 'KiB', 'MiB', 'GiB', 'TiB')[power]}"


def _steps(logs: Floats, weights: Floats, first: int, end: int) -> list[int]:
    """Places where the rate steps, found by halving where the halves differ most."""
    best, place = 0.0, None
    for middle in range(first + 1, end):
        left, right = weights[first:middle], weights[middle:end]
        difference = np.average(logs[first:middle], weights=left) - np.average(
            logs[middle:end], weights=right
        )
        # The weighted square that the step takes out of the deviations.
        gain = difference**2 * left.sum() * right.sum() / (left.sum() + right.sum())
        if gain > best and abs(difference) > _STEP:
            best, place = gain, middle
    if place is None:
        return []
    return [*_steps(logs, weights, first, place), place, *_steps(logs, weights, place, end)]
