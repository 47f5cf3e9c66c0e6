"""Real and predicted times of cases, and what is said of many."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from tisim.studies.validation.case import Case
from tisim.studies.validation.spread import median_interval, quartile_distance


@dataclass(frozen=True)
class CaseResult:
    """A case with its times, in seconds.

    Attributes
    ----------
    case
        The case.
    real
        The time of each real run.
    predicted
        One prediction for each seed.
    busy
        Seconds of processors that the ranks used a second of the real runs, over the processors of
        this machine: a part from 0 to 1 where all ranks are on it; None if it is not known.
    is_noisy
        Whether the real times spread too much for the case to count.
    differences
        What differs, for a large error.
    with_sets
        One prediction for each set of parameters, where the case asks for them.
    """

    case: Case
    real: tuple[float, ...]
    predicted: tuple[float, ...]
    busy: float | None = None
    is_noisy: bool = False
    differences: tuple[str, ...] = ()
    with_sets: tuple[float, ...] = ()

    @property
    def real_median(self) -> float:
        """The median of the real times, in seconds."""
        return statistics.median(self.real)

    @property
    def prediction(self) -> float:
        """The median of the predictions, in seconds."""
        return statistics.median(self.predicted)

    @property
    def ratio(self) -> float:
        """The prediction over the real median."""
        return self.prediction / self.real_median if self.real_median > 0 else math.inf

    @property
    def error(self) -> float:
        """The error of the prediction as a part of the real median; negative: it is too short."""
        return self.ratio - 1

    @property
    def error_interval(self) -> tuple[float, float]:
        """What the error may be, given how the real times and the predictions spread."""
        low, high = median_interval(self.real)
        return min(self.predicted) / high - 1, max(self.predicted) / low - 1

    @property
    def spread(self) -> float:
        """The distance of the quartiles of the real times, as a part of their median."""
        return quartile_distance(self.real)


@dataclass(frozen=True)
class Summary:
    """The absolute errors of the cases that count, as parts of the real times.

    Attributes
    ----------
    group
        Whose; ``""``: of all cases.
    cases
        How many there are.
    noisy
        How many of them do not count.
    mean, median, worst
        Of the errors; not a number where no case counts.
    """

    group: str
    cases: int
    noisy: int
    mean: float
    median: float
    worst: float


def summarize(results: Sequence[CaseResult]) -> list[Summary]:
    """The errors of each group, in the order of their first cases, and of all cases at the end."""
    groups = [*dict.fromkeys(result.case.group for result in results)]
    return [
        *(_summary(group, [one for one in results if one.case.group == group]) for group in groups),
        _summary("", results),
    ]


def _summary(group: str, results: Sequence[CaseResult]) -> Summary:
    errors = [abs(one.error) for one in results if not one.is_noisy]
    if not errors:
        return Summary(group, len(results), len(results), math.nan, math.nan, math.nan)
    return Summary(
        group,
        len(results),
        len(results) - len(errors),
        statistics.fmean(errors),
        statistics.median(errors),
        max(errors),
    )
