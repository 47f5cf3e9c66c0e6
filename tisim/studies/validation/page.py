"""Results of a study as tables, and as one self-contained HTML page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from tisim.analysis.report.charts import Curve, curves
from tisim.analysis.report.page import figure, listed_text, static_page, table
from tisim.studies.validation.comparison import CaseResult, Summary
from tisim.studies.validation.validation import Validation
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
    """Return one row per case; cases that do not count have their errors in parentheses."""
    rows: list[tuple[str, ...]] = []
    for result in results:
        low, high = result.error_interval
        error = f"{result.error:+.1%}"
        rows.append(
            (
                result.case.name,
                result.case.group,
                format_time(result.real_median),
                format_time(min(result.real)),
                format_time(max(result.real)),
                format_time(result.prediction),
                f"({error})" if result.is_noisy else error,
                f"{low:+.1%}",
                f"{high:+.1%}",
                "" if result.busy is None else f"{result.busy:.0%}",
            )
        )
    return rows


def summary_rows(summaries: Sequence[Summary]) -> list[tuple[str, ...]]:
    """Return one row per group, and one for all cases."""
    return [
        (
            summary.group or "all cases",
            str(summary.cases),
            str(summary.noisy),
            _percent(summary.mean),
            _percent(summary.median),
            _percent(summary.worst),
        )
        for summary in summaries
    ]


def _percent(part: float) -> str:
    return "" if math.isnan(part) else f"{part:.1%}"


def markdown(columns: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """Return a table in Markdown, whose first `left` columns are texts."""
    rule = ["---" if place < left else "--:" for place in range(len(columns))]
    lines = [columns, rule, *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def page(title: str, validation: Validation, notes: Sequence[str] = ()) -> str:
    """Return the page.

    `notes` are lines below the heading: date and place of the runs.
    """
    failed = [f"{name}: {reason}" for name, reason in validation.failed]
    coverage = [] if validation.coverage is None else [f"{validation.coverage.text()}."]
    differences = [
        f"{result.case.name} ({result.error:+.1%}): {'; '.join(result.differences)}"
        for result in validation.results
        if result.differences
    ]
    return static_page(
        title,
        [
            (
                "Errors",
                listed_text([*notes, *validation.violations, *failed, *coverage])
                + _table(SUMMARY_COLUMNS, summary_rows(validation.summaries)),
            ),
            ("Predicted over real", _picture(validation.results)),
            (
                "Cases",
                listed_text(
                    [
                        "Cases with an error in parentheses are not counted: their real times "
                        "spread too much. The two bounds of an error follow from the spread of the "
                        "real times."
                    ]
                )
                + _table(CASE_COLUMNS, case_rows(validation.results), texts=2),
            ),
            ("What differs", listed_text(differences or ["No large errors."])),
        ],
    )


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]], texts: int = 1) -> str:
    return table(columns, [[escape(cell) for cell in row] for row in rows], texts)


def _picture(results: Sequence[CaseResult]) -> str:
    """Plot predicted over real against the real time, with the range of the error, by group."""
    drawn: dict[str, list[tuple[float, float, float, float]]] = {}
    for result in results:
        if result.real_median > 0 and result.prediction > 0:
            low, high = result.error_interval
            point = result.real_median, result.ratio, 1 + low, 1 + high
            drawn.setdefault("too noisy" if result.is_noisy else result.case.group, []).append(
                point
            )
    if not drawn:
        return listed_text(["No cases."])
    chart = curves(
        [Curve(group, points, joined=False) for group, points in drawn.items()],
        x_label="real time, s",
        y_label="predicted over real",
        show_y=lambda ratio: f"{ratio:.3g}",
    )
    return figure(chart, "Each case; vertical lines show the range of the error.")
