"""Comparison of two validations: differences of the real runs, and the errors of both."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tisim.studies.validation import CaseResult, Study, load_study, summarize, validate
from tisim.studies.validation.page import SUMMARY_COLUMNS, markdown, summary_rows


@dataclass(frozen=True)
class Pair:
    """A case in both validations."""

    before: CaseResult
    now: CaseResult

    @property
    def change(self) -> float:
        """Relative change of the real median."""
        return self.now.real_median / self.before.real_median - 1

    @property
    def is_counted(self) -> bool:
        """True if the runs of both validations have an acceptable spread."""
        return not (self.before.is_noisy or self.now.is_noisy)


def results_of(directory: Path) -> tuple[CaseResult, ...]:
    """Return the results of an earlier validation, predicted again on its calibrated platform."""
    study = load_study(directory / "study.toml")
    cases = tuple(dataclasses.replace(case, uncertainty=0) for case in study.cases)
    return validate(Study(cases)).results


def pairs_of(before: Sequence[CaseResult], now: Sequence[CaseResult]) -> list[Pair]:
    """Return the cases that are in both, by name."""
    by_name = {old.case.name: old for old in before}
    return [Pair(by_name[new.case.name], new) for new in now if new.case.name in by_name]


def text_of(pairs: Sequence[Pair], before: Sequence[CaseResult]) -> str:
    """Return the comparison in Markdown; empty if no case is in both."""
    if not pairs:
        return ""
    changes = [abs(pair.change) for pair in pairs if pair.is_counted]
    said = (
        f"\n{len(pairs)} of the cases were also in an earlier validation of {len(before)}, which "
        "was calibrated anew. "
    )
    if changes:
        said += (
            f"The real medians of the {len(changes)} that count in both differ by "
            f"{statistics.median(changes):.1%} in the median, {statistics.fmean(changes):.1%} in "
            f"the mean and {max(changes):.1%} at most. "
        )
    rows = [
        (label, *row)
        for label, results in (
            ("before", [pair.before for pair in pairs]),
            ("now", [pair.now for pair in pairs]),
        )
        for row in summary_rows(summarize(results)[-1:])
    ]
    table = [
        (
            pair.now.case.name,
            f"{pair.change:+.1%}" if pair.is_counted else f"({pair.change:+.1%})",
            _error(pair.before),
            _error(pair.now),
        )
        for pair in pairs
    ]
    return (
        f"{said}The errors of both:\n\n"
        + markdown(("validation", *SUMMARY_COLUMNS), rows, left=2)
        + "\n"
        + markdown(("case", "real median, change", "error before", "error now"), table)
    )


def _error(one: CaseResult) -> str:
    return f"({one.error:+.1%})" if one.is_noisy else f"{one.error:+.1%}"
