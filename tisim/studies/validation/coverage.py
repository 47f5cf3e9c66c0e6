"""How often the intervals of predictions hold the real times."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tisim.studies.uncertainty import Interval, ParameterSets
from tisim.studies.validation.comparison import CaseResult


@dataclass(frozen=True)
class Coverage:
    """Intervals of predictions against real times, over the cases that count.

    Attributes
    ----------
    cases
        How many cases have an interval.
    parameters_alone
        How many of their real medians lie in the interval of the parameter sets.
    with_errors
        How many do if the interval counts in the errors of the *other* cases: nothing of a case is
        known to its own interval.
    width
        The median width of these intervals, as a part of the prediction.
    """

    cases: int
    parameters_alone: int
    with_errors: int
    width: float

    @classmethod
    def of(cls, results: Sequence[CaseResult]) -> Coverage | None:
        """The coverage; None if no case that counts has an interval."""
        known = [one for one in results if one.with_sets and counts(one)]
        if not known:
            return None
        errors = [*map(log_error, known)]
        alone = [Interval.of(one.with_sets, 0) for one in known]
        wide = [
            Interval.of(one.with_sets, 0, (*errors[:place], *errors[place + 1 :]))
            for place, one in enumerate(known)
        ]
        widths = sorted(
            (interval.high - interval.low) / one.prediction
            for interval, one in zip(wide, known, strict=True)
        )
        return cls(
            len(known),
            _held(alone, known),
            _held(wide, known),
            widths[len(widths) // 2],
        )

    def text(self) -> str:
        """The coverage in a sentence."""
        return (
            f"90 % intervals hold {self.with_errors} of {self.cases} real medians "
            f"({self.with_errors / self.cases:.0%}) with the errors of the other cases, and "
            f"{self.parameters_alone} with the sets of parameters alone; their median width is "
            f"{self.width:.0%} of the prediction"
        )

    def to_dict(self) -> Mapping[str, float]:
        """The numbers, for JSON."""
        return dataclasses.asdict(self)


def counts(result: CaseResult) -> bool:
    """Whether a case has an error: a prediction, and real times that do not spread too much."""
    return not result.is_noisy and result.prediction > 0


def log_error(result: CaseResult) -> float:
    """The natural logarithm of the real over the predicted time of a case."""
    return math.log(result.real_median / result.prediction)


def keep_errors(results: Sequence[CaseResult]) -> list[str]:
    """Store the errors of cases beside their platforms, for the intervals of other programs.

    They take the place of older ones. Cases whose real times spread too much do not count.

    Returns
    -------
    list of str
        The files.

    Raises
    ------
    InputError
        If there are no parameter sets beside a platform, or they cannot be written.
    """
    written = []
    for platform in dict.fromkeys(one.case.platform for one in results):
        errors = tuple(
            log_error(one) for one in results if one.case.platform == platform and counts(one)
        )
        sets = dataclasses.replace(ParameterSets.beside(platform), errors=errors)
        written.append(str(sets.write(platform)))
    return written


def _held(intervals: Sequence[Interval], cases: Sequence[CaseResult]) -> int:
    return sum(
        interval.holds(one.real_median) for interval, one in zip(intervals, cases, strict=True)
    )
