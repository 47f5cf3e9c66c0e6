"""Real and predicted times of cases, their spread, and the coverage of intervals."""

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
    """Return an interval that contains the true median with a probability of at least 95 %.

    Its ends are values themselves (`median_rank`). Fewer than six values do not suffice for this
    probability, and the smallest and the largest are returned (94 % for five, 75 % for three).
    """
    ordered = sorted(values)
    rank = max(median_rank(len(ordered)), 1)
    return ordered[rank - 1], ordered[-rank]


def quartile_distance(values: Sequence[float]) -> float:
    """Return the interquartile range relative to the median."""
    if len(values) < 2:
        return 0.0
    lower, median, upper = statistics.quantiles(values, n=4, method="inclusive")
    return (upper - lower) / median if median > 0 else 0.0


@dataclass(frozen=True)
class CaseResult:
    """A case with its times, in seconds."""

    case: Case  # the case
    real: tuple[float, ...]  # the time of each real run
    predicted: tuple[float, ...]  # one prediction per seed
    # Processor seconds of the ranks per second of the real runs, divided by the processors of this
    # machine: 0 to 1 if all ranks are on it; None if unknown.
    busy: float | None = None
    is_noisy: bool = False  # whether the real times spread too much for the case to count
    differences: tuple[str, ...] = ()  # explanation of a large error
    # One prediction for each set of parameters, if the case requests them.
    with_sets: tuple[float, ...] = ()
    # Fractions of the predicted time by kind (`CriticalPath.shares`).
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
        """The prediction divided by the real median."""
        return self.prediction / self.real_median if self.real_median > 0 else math.inf

    @property
    def error(self) -> float:
        """Relative error of the prediction; negative if it is too short."""
        return self.ratio - 1

    @property
    def error_interval(self) -> tuple[float, float]:
        """Range of the error, given the spread of the real times and the predictions."""
        low, high = median_interval(self.real)
        return min(self.predicted) / high - 1, max(self.predicted) / low - 1

    @property
    def spread(self) -> float:
        """The interquartile range of the real times, relative to their median."""
        return quartile_distance(self.real)


@dataclass(frozen=True)
class Summary:
    """Absolute errors of the cases that count, relative to the real times."""

    group: str  # name of the group; ``""``: all cases
    cases: int  # number of cases
    noisy: int  # number of those that do not count
    # mean, median, worst: of the errors; NaN if no case counts
    mean: float
    median: float
    worst: float

    def to_dict(self) -> Mapping[str, str | float | None]:
        """Return the numbers for JSON, with None in place of NaN."""
        numbers = dataclasses.asdict(self)
        return {key: None if value != value else value for key, value in numbers.items()}


def summarize(results: Sequence[CaseResult]) -> list[Summary]:
    """Return the errors of each group, in the order of their first cases, and of all cases."""
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
    """Coverage of real times by intervals of predictions, over the cases that count."""

    cases: int  # number of cases with an interval
    # Number of real medians in the interval of the parameter sets.
    parameters_alone: int
    # Number of real medians in the interval that includes the errors of the programs shipped with
    # tisim and of the cases of *other* groups, as for a program that was never validated.
    with_errors: int
    width: float  # median width of these intervals, relative to the prediction
    score: float  # mean of their scores (`Interval.score`)

    @classmethod
    def of(cls, results: Sequence[CaseResult]) -> Coverage | None:
        """Return the coverage; None if no case that counts has an interval."""
        known = [case for case in results if case.with_sets and is_counted(case)]
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
        """Return the coverage in a sentence."""
        return (
            f"90 % intervals contain {self.with_errors} of {self.cases} real medians "
            f"({self.with_errors / self.cases:.0%}) with the errors of other programs, and "
            f"{self.parameters_alone} with the parameter sets alone; their median width is "
            f"{self.width:.0%} of the prediction, their mean score {self.score:.2g}"
        )

    def to_dict(self) -> Mapping[str, float]:
        """Return the numbers, for JSON."""
        return dataclasses.asdict(self)


def _others(case: CaseResult, results: Sequence[CaseResult]) -> list[Validated]:
    """Return the errors of the programs shipped with tisim, and of the cases of other groups.

    If there is only one group, those of all other cases.
    """
    groups = {other.case.group for other in results}
    own = [
        validated(other)
        for other in results
        if (other.case.group != case.case.group if len(groups) > 1 else other is not case)
    ]
    return [*own, *shipped_programs()]


def is_counted(result: CaseResult) -> bool:
    """Return whether a case has an error: a prediction, and real times without excessive spread."""
    return not result.is_noisy and result.prediction > 0


def validated(result: CaseResult) -> Validated:
    """Return the evidence of a case for programs that spend their time alike."""
    error = math.log(result.real_median / result.prediction)
    return Validated(result.case.name, error, result.shares)


def store_errors(results: Sequence[CaseResult]) -> list[str]:
    """Store the errors of cases next to their platforms, for the intervals of other programs.

    They replace older ones. Cases whose real times spread too much do not count. Returns the files.
    Raises `InputError` if there are no parameter sets next to a platform, or they cannot be
    written.
    """
    written = []
    for platform in dict.fromkeys(case.case.platform for case in results):
        known = [case for case in results if case.case.platform == platform and is_counted(case)]
        sets = dataclasses.replace(
            ParameterSets.beside(platform), validated=tuple(map(validated, known))
        )
        written.append(str(sets.write(platform)))
    return written


def _held(intervals: Sequence[Interval], cases: Sequence[CaseResult]) -> int:
    return sum(
        interval.holds(case.real_median) for interval, case in zip(intervals, cases, strict=True)
    )
