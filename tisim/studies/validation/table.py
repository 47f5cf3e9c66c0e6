"""The results of a study as tables."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tisim.studies.validation.comparison import CaseResult, Summary
from tisim.support.quantities import format_time

#: Names of the columns of `case_rows`.
CASE_COLUMNS = (
    "case",
    "group",
    "real median",
    "smallest",
    "largest",
    "predicted",
    "error",
    "error from",
    "to",
    "busy",
)
#: Names of the columns of `summary_rows`.
SUMMARY_COLUMNS = ("group", "cases", "too noisy", "mean", "median", "worst")


def case_rows(results: Sequence[CaseResult]) -> list[tuple[str, ...]]:
    """A row a case; those that do not count have their errors in parentheses."""
    rows: list[tuple[str, ...]] = []
    for one in results:
        low, high = one.error_interval
        error = f"{one.error:+.1%}"
        rows.append(
            (
                one.case.name,
                one.case.group,
                format_time(one.real_median),
                format_time(min(one.real)),
                format_time(max(one.real)),
                format_time(one.prediction),
                f"({error})" if one.is_noisy else error,
                f"{low:+.1%}",
                f"{high:+.1%}",
                "" if one.busy is None else f"{one.busy:.0%}",
            )
        )
    return rows


def summary_rows(summaries: Sequence[Summary]) -> list[tuple[str, ...]]:
    """A row a group, and one of all cases."""
    return [
        (
            one.group or "all cases",
            str(one.cases),
            str(one.noisy),
            _percent(one.mean),
            _percent(one.median),
            _percent(one.worst),
        )
        for one in summaries
    ]


def _percent(part: float) -> str:
    return "" if math.isnan(part) else f"{part:.1%}"


def markdown(columns: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """A table in Markdown, whose first `left` columns are texts."""
    rule = ["---" if place < left else "--:" for place in range(len(columns))]
    lines = [columns, rule, *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
