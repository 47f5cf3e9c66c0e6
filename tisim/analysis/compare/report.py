"""A page that shows the differences between two results."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from html import escape

from tisim.analysis.compare.comparison import (
    Comparison,
    Difference,
    RankDifference,
    headline,
    shorten,
)
from tisim.analysis.report.charts import Bar, Curve, Step, curves, diverging_bars, waterfall
from tisim.analysis.report.page import figure, figures, listed_text, numbers, static_page, table
from tisim.analysis.report.report import check_report
from tisim.support.files import write_file
from tisim.support.quantities import (
    DIGITS,
    format_number,
    format_result_time,
    format_time,
    unit_of_time,
)

_BARS, _RANKS, _DETAILS = 12, 1000, 200
# Maximum number of states in a waterfall, and minimum fraction of the difference of each.
_STEPS, _SHOWN_PART = 8, 0.005
# Smaller fractions of the time are rounding errors from another order of additions.
_ROUNDING = 1e-6
_NAMES = {
    "compute": "compute, mean over ranks",
    "communication": "communication, mean over ranks",
    "other": "other actions, mean over ranks",
    "finish": "end of a rank, mean",
}


def write_comparison_report(
    comparison: Comparison, path: str | os.PathLike[str], *, a: str = "a", b: str = "b"
) -> None:
    """Write one self-contained page: how much two results differ, where, and why.

    Parameters
    ----------
    comparison
        The two results compared.
    path
        File with the suffix ``.html``.
    a, b
        Names of the results.

    Raises
    ------
    InputError
        If the suffix is wrong, or the file cannot be written.
    """
    check_report(path)
    first = f"<p><b>{escape(headline(comparison))}</b></p>"
    if comparison.simulated_time.differs:
        first += figures([_waterfall(comparison)])
    sections = [("Where the difference comes from", first), ("Summary", _summary(comparison, a, b))]
    least = _ROUNDING * (comparison.simulated_time.a or 0.0)
    charts = [
        _bars(caption, [diff for diff in differences if abs(diff.change) > least])
        for caption, differences in (
            ("Time in each kind of action, mean over ranks: b minus a.", comparison.kinds),
            ("Time in each state, mean over ranks: b minus a.", comparison.states),
            ("Time waited for a rank, mean over ranks: b minus a.", comparison.causes),
        )
    ]
    if any(charts):
        sections.append(("Where the time goes", figures([chart for chart in charts if chart])))
    if comparison.ranks:
        sections.append(("Ranks", _ranks(comparison.ranks)))
    if inputs := comparison.differing_inputs:
        rows = [(escape(name), escape(shorten(x)), escape(shorten(y))) for name, x, y in inputs]
        sections.append(
            ("Options and other inputs that differ", table(("option", "a", "b"), rows, 3))
        )
    if comparison.details:
        more = [_cells(diff.name, diff, _plain) for diff in comparison.details[:_DETAILS]]
        head = ("", "a", "b", "difference", "b / a")
        sections.append(("Further numbers that differ", table(head, more)))
    write_file(path, static_page("Two results", sections))


def _waterfall(comparison: Comparison) -> str:
    """Draw how the time of a becomes that of b, by state, or else by compute and communication."""
    time = comparison.simulated_time
    causes = sorted(comparison.states or comparison.times[:-1], key=lambda diff: -abs(diff.change))
    least = _SHOWN_PART * abs(time.change)
    shown = [diff for diff in causes[:_STEPS] if diff.differs and abs(diff.change) >= least]
    rest = time.change - math.fsum(diff.change for diff in shown)
    steps = [Step("a", time.a or 0.0, is_sum=True)]
    steps += [Step(diff.name, diff.change) for diff in shown]
    if abs(rest) > max(least, _ROUNDING * (time.a or 0.0)):
        steps.append(Step("rest, and ranks that end at different times", rest))
    steps.append(Step("b", time.b or 0.0, is_sum=True))
    unit, factor = unit_of_time(max(time.a or 0.0, time.b or 0.0))
    scaled = [step._replace(change=step.change * factor) for step in steps]
    chart = waterfall(
        scaled, label="simulated time", show=lambda value: f"{value:.{DIGITS.get()}g} {unit}"
    )
    what = "state" if comparison.states else "part"
    return figure(chart, f"From a to b: the change of each {what} of the time, mean over ranks.")


def _summary(comparison: Comparison, a: str, b: str) -> str:
    time = comparison.simulated_time
    facts = [
        (f"a: {a}", format_time(time.a or 0.0)),
        (f"b: {b}", format_time(time.b or 0.0)),
        ("difference", format_time(time.change, signed=True)),
    ]
    if time.a and time.b is not None:
        facts.append(("b / a", f"{time.b / time.a:.4f}"))
    rows = [_cells("simulated time", time, _seconds)]
    rows += [
        _cells(_NAMES[diff.name], diff, _seconds) for diff in comparison.times if diff.a or diff.b
    ]
    rows += [_cells(diff.name.replace("_", " "), diff, _plain) for diff in comparison.counts]
    warnings = [f"{of}: {text}" for of, text in comparison.warnings]
    trust = [f"How far to trust them: {comparison.trust_text}."] if comparison.trust_text else []
    return (
        numbers(facts)
        + listed_text([*comparison.reasons, *warnings, *trust])
        + table(("", "a", "b", "difference", "b / a"), rows)
    )


def _cells(name: str, diff: Difference, show: Callable[[float], str]) -> tuple[str, ...]:
    known = ["" if value is None else show(value) for value in (diff.a, diff.b)]
    if not diff.differs:
        return (escape(name), *known, "", "")
    ratio = f"{diff.b / diff.a:.4f}" if diff.a and diff.b is not None else ""
    sign = "+" if diff.change > 0 else ""
    return (escape(name), *known, sign + show(diff.change), ratio)


def _seconds(value: float) -> str:
    return format_result_time(value)


def _plain(value: float) -> str:
    return format_number(value)


def _bars(caption: str, differences: Sequence[Difference]) -> str:
    """Draw the largest time differences as bars; return "" if there are none."""
    shown = differences[:_BARS]
    if not shown:
        return ""
    unit, factor = unit_of_time(max(abs(diff.change) for diff in shown))
    bars = [
        Bar(row.name, min(row.change * factor, 0.0), max(row.change * factor, 0.0)) for row in shown
    ]
    chart = diverging_bars(
        bars, label=f"difference, {unit}", show=lambda value: f"{value:+.4g} {unit}"
    )
    more = len(differences) - len(shown)
    return figure(chart, caption + (f" And {more} smaller ones." if more else ""))


def _ranks(ranks: Sequence[RankDifference]) -> str:
    """Show the difference of each rank's end as points over ranks and as a table."""
    points = [(float(rank.rank), rank.finish, rank.finish, rank.finish) for rank in ranks]
    points.sort()
    if len(points) > 4 * _RANKS:
        points = points[:: -(-len(points) // (4 * _RANKS))]
    chart = curves(
        [Curve("", points, joined=False)],
        x_label="rank",
        y_label="end in b minus end in a",
        show_y=lambda value: format_time(value, signed=True),
    )
    rows = []
    for rank in ranks[:_RANKS]:
        host = rank.host_a if rank.host_a == rank.host_b else f"{rank.host_a} -> {rank.host_b}"
        least = _ROUNDING * abs(rank.finish)
        parts = [
            format_result_time(part, signed=True) if abs(part) > least else "0"
            for part in (rank.compute, rank.communication, rank.other)
        ]
        change = format_result_time(rank.finish, signed=True)
        rows.append(
            (str(rank.rank), escape(host), format_result_time(rank.finish_b), change, *parts)
        )
    head = ("rank", "host", "end in b", "difference", "compute", "communication", "other")
    more = len(ranks) - _RANKS
    note = f'<p class="note">And {more:,} more ranks; --json lists all.</p>' if more > 0 else ""
    shown = figure(chart, "How much later each rank ends in b than in a.")
    return figures([shown]) + table(head, rows, texts=2) + note
