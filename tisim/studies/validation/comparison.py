"""Real and predicted times of cases, their spread, and how often intervals hold the real times."""

from __future__ import annotations

import dataclasses
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tisim.studies.calibration.measurements import median_rank
from tisim.studies.uncertainty import Interval, ParameterSets
from tisim.studies.uncertainty.validated import Shares, Validated, shipped_programs
from tisim.studies.validation.study import Case


def median_interval(values: Sequence[float]) -> tuple[float, float]:
    """An interval that holds the true median with a probability of 95 % at least.

    Its ends are values themselves (`median_rank`). With fewer than six no interval is that sure,
    and the smallest and the largest are its ends (94 % for five, 75 % for three).
    """
    ordered = sorted(values)
    rank = max(median_rank(len(ordered)), 1)
    return ordered[rank - 1], ordered[-rank]


def quartile_distance(values: Sequence[float]) -> float:
    """The distance of the quartiles, as a part of the median."""
    if len(values) < 2:
        return 0.0
    lower, median, upper = statistics.quantiles(values, n=4, method="inclusive")
    return (upper - lower) / median if median > 0 else 0.0


@dataclass(frozen=True)
class CaseResult:
    """A case with its times, in seconds."""

    case: Case  # the case
    real: tuple[float, ...]  # the time of each real run
    predicted: tuple[float, ...]  # one prediction for each seed
    # Seconds of processors that the ranks used a second of the real runs, over the processors of
    # this machine: a part from 0 to 1 where all ranks are on it; None if it is not known.
    busy: float | None = None
    is_noisy: bool = False  # whether the real times spread too much for the case to count
    differences: tuple[str, ...] = ()  # what differs, for a large error
    # One prediction for each set of parameters, where the case asks for them.
    with_sets: tuple[float, ...] = ()
    # The share of the predicted time by what decides it (`CriticalPath.shares`).
    shares: Shares = dataclasses.field(default_factory=dict)

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
        """The range of the error, given how the real times and the predictions spread."""
        low, high = median_interval(self.real)
        return min(self.predicted) / high - 1, max(self.predicted) / low - 1

    @property
    def spread(self) -> float:
        """The distance of the quartiles of the real times, as a part of their median."""
        return quartile_distance(self.real)


@dataclass(frozen=True)
class Summary:
    """The absolute errors of the cases that count, as parts of the real times."""

    group: str  # whose; ``""``: of all cases
    cases: int  # how many there are
    noisy: int  # how many of them do not count
    # mean, median, worst: of the errors; not a number where no case counts
    mean: float
    median: float
    worst: float

    def to_dict(self) -> Mapping[str, str | float | None]:
        """The numbers, for JSON, which has none that is not a number: None stands there."""
        numbers = dataclasses.asdict(self)
        return {key: None if value != value else value for key, value in numbers.items()}


def summarize(results: Sequence[CaseResult]) -> list[Summary]:
    """The errors of each group, in the order of their first cases, and of all cases at the end."""
    groups = [*dict.fromkeys(result.case.group for result in results)]
    return [
        *(
            _summary(group, [case for case in results if case.case.group == group])
            for group in groups
        ),
        _summary("", results),
    ]


def _summary(group: str, results: Sequence[CaseResult]) -> Summary:
    errors = [abs(case.error) for case in results if not case.is_noisy]
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


@dataclass(frozen=True)
class Coverage:
    """Intervals of predictions against real times, over the cases that count."""

    cases: int  # how many cases have an interval
    # How many of their real medians lie in the interval of the parameter sets.
    parameters_alone: int
    # How many do if the interval counts in the errors of the programs that tisim comes with and of
    # the cases of *other* groups, as that of a program that nobody has validated yet.
    with_errors: int
    width: float  # the median width of these intervals, as a part of the prediction
    score: float  # the mean of their scores (`Interval.score`)

    @classmethod
    def of(cls, results: Sequence[CaseResult]) -> Coverage | None:
        """The coverage; None if no case that counts has an interval."""
        known = [case for case in results if case.with_sets and counts(case)]
        if not known:
            return None
        alone = [Interval.of(case.with_sets, 0) for case in known]
        wide = [Interval.of(case.with_sets, 0, _others(case, known), case.shares) for case in known]
        pairs = [*zip(wide, known, strict=True)]
        widths = sorted(
            (interval.high - interval.low) / case.prediction for interval, case in pairs
        )
        return cls(
            len(known),
            _held(alone, known),
            _held(wide, known),
            widths[len(widths) // 2],
            statistics.fmean(interval.score(case.real_median) for interval, case in pairs),
        )

    def text(self) -> str:
        """The coverage in a sentence."""
        return (
            f"90 % intervals hold {self.with_errors} of {self.cases} real medians "
            f"({self.with_errors / self.cases:.0%}) with the errors of other programs, and "
            f"{self.parameters_alone} with the sets of parameters alone; their median width is "
            f"{self.width:.0%} of the prediction, their mean score {self.score:.2g}"
        )

    def to_dict(self) -> Mapping[str, float]:
        """The numbers, for JSON."""
        return dataclasses.asdict(self)


def _others(case: CaseResult, results: Sequence[CaseResult]) -> list[Validated]:
    """The errors of the programs that tisim comes with, and of the cases of other groups.

    Where all are of one group, of all other cases.
    """
    groups = {other.case.group for other in results}
    own = [
        validated(other)
        for other in results
        if (other.case.group != case.case.group if len(groups) > 1 else other is not case)
    ]
    return [*own, *shipped_programs()]


def counts(result: CaseResult) -> bool:
    """True if a case has an error: a prediction, and real times that do not spread too much."""
    return not result.is_noisy and result.prediction > 0


def validated(result: CaseResult) -> Validated:
    """The evidence of a case for programs that spend their time as it does."""
    error = math.log(result.real_median / result.prediction)
    return Validated(result.case.name, error, result.shares)


def keep_errors(results: Sequence[CaseResult]) -> list[str]:
    """Store the errors of cases beside their platforms, for the intervals of other programs.

    They take the place of older ones. Cases whose real times spread too much do not count. Returns
    the files. Raises `InputError` if there are no parameter sets beside a platform, or they cannot
    be written.
    """
    written = []
    for platform in dict.fromkeys(case.case.platform for case in results):
        known = [case for case in results if case.case.platform == platform and counts(case)]
        sets = dataclasses.replace(
            ParameterSets.beside(platform), validated=tuple(map(validated, known))
        )
        written.append(str(sets.write(platform)))
    return written


def _held(intervals: Sequence[Interval], cases: Sequence[CaseResult]) -> int:
    return sum(
        interval.holds(case.real_median) for interval, case in zip(intervals, cases, strict=True)
    )
