"""A study's results as tables, and as one HTML page that needs nothing else."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

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


_STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem }
table { border-collapse: collapse; margin: 1rem 0 }
th, td { border-bottom: 1px solid #ddd; padding: .2rem .6rem; text-align: right }
th:first-child, td:first-child { text-align: left }
tr.noisy td { color: #888 }
.bad { color: #b00020 }
svg text { font-size: 11px; fill: #444 }
"""
# Of the picture, in pixels.
_WIDTH, _HEIGHT, _LEFT, _BOTTOM = 900, 360, 60, 40
_COLOURS = ("#1b6ca8", "#d1495b", "#2e8b57", "#8d6a9f", "#c77d0a", "#4a4e69", "#00868b", "#a0522d")


def page(title: str, validation: Validation, notes: Sequence[str] = ()) -> str:
    """The page.

    `notes` are lines below the heading: when and where the runs were made.
    """
    parts = [
        "<!DOCTYPE html>",
        f'<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>',
        f"<style>{_STYLE}</style></head><body><h1>{escape(title)}</h1>",
        *(f"<p>{escape(note)}</p>" for note in notes),
        *(f'<p class="bad">{escape(text)}</p>' for text in validation.violations),
        *(
            f'<p class="bad">{escape(name)}: {escape(reason)}</p>'
            for name, reason in validation.failed
        ),
        "<h2>Errors</h2>",
        _table(SUMMARY_COLUMNS, summary_rows(validation.summaries)),
        "" if validation.coverage is None else f"<p>{escape(validation.coverage.text())}.</p>",
        "<h2>Predicted over real</h2>",
        picture(validation.results),
        "<h2>Cases</h2>",
        "<p>Grey cases do not count: their real times spread too much. An error lies between its "
        "two bounds, given how the real times spread.</p>",
        _table(
            CASE_COLUMNS,
            case_rows(validation.results),
            ["noisy" if one.is_noisy else "" for one in validation.results],
        ),
        "<h2>What differs</h2>",
        _differences(validation.results),
        "</body></html>\n",
    ]
    return "\n".join(parts)


def _table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], classes: Sequence[str] = ()
) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    body = []
    for number, row in enumerate(rows):
        cells = "".join(f"<td>{escape(cell)}</td>" for cell in row)
        name = classes[number] if classes else ""
        body.append(f'<tr class="{name}">{cells}</tr>' if name else f"<tr>{cells}</tr>")
    return f"<table><tr>{head}</tr>{''.join(body)}</table>"


def _differences(results: Sequence[CaseResult]) -> str:
    items = [
        f"<li>{escape(one.case.name)} ({one.error:+.1%}): {escape('; '.join(one.differences))}</li>"
        for one in results
        if one.differences
    ]
    return f"<ul>{''.join(items)}</ul>" if items else "<p>No error is large.</p>"


def picture(results: Sequence[CaseResult]) -> str:
    """Predicted over real against the real time, both logarithmic, with the spread, as SVG."""
    drawn = [one for one in results if one.real_median > 0 and one.prediction > 0]
    if not drawn:
        return "<p>There is no case.</p>"
    times = [math.log10(one.real_median) for one in drawn]
    first, last = math.floor(min(times)), math.ceil(max(times) + 1e-9)
    span = max(
        math.log2(2),
        *(abs(math.log2(max(1e-6, 1 + bound))) for one in drawn for bound in one.error_interval),
    )
    span = min(math.ceil(span * 2) / 2, 4.0)
    across = _WIDTH - _LEFT - 10
    up = _HEIGHT - _BOTTOM - 10

    def x(seconds: float) -> float:
        return _LEFT + across * (math.log10(seconds) - first) / max(1, last - first)

    def y(ratio: float) -> float:
        height = max(-span, min(span, math.log2(max(ratio, 1e-6))))
        return 10 + up * (span - height) / (2 * span)

    groups = [*dict.fromkeys(one.case.group for one in drawn)]
    colours = {name: _COLOURS[place % len(_COLOURS)] for place, name in enumerate(groups)}
    parts = [
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT + 20 * (len(groups) // 6 + 1)}" role="img" '
        'aria-label="predicted over real">'
    ]
    for ratio in _ratios(span):
        width = 1.5 if ratio == 1 else 0.5
        parts.append(
            f'<line x1="{_LEFT}" x2="{_WIDTH - 10}" y1="{y(ratio):.1f}" y2="{y(ratio):.1f}" '
            f'stroke="#999" stroke-width="{width}"/>'
            f'<text x="{_LEFT - 8}" y="{y(ratio) + 4:.1f}" text-anchor="end">{ratio:.3g}</text>'
        )
    for power in range(first, last + 1):
        parts.append(
            f'<text x="{x(10.0**power):.1f}" y="{_HEIGHT - _BOTTOM + 18}" text-anchor="middle">'
            f"{format_time(10.0**power, 1)}</text>"
        )
    for one in drawn:
        low, high = one.error_interval
        colour = "#bbb" if one.is_noisy else colours[one.case.group]
        place = x(one.real_median)
        parts.append(
            f'<line x1="{place:.1f}" x2="{place:.1f}" y1="{y(1 + low):.1f}" '
            f'y2="{y(1 + high):.1f}" stroke="{colour}" stroke-width="1"/>'
            f'<circle cx="{place:.1f}" cy="{y(one.ratio):.1f}" r="3.5" fill="{colour}">'
            f"<title>{escape(one.case.name)}: {one.ratio:.3f}</title></circle>"
        )
    for place, name in enumerate(groups):
        left, top = _LEFT + 140 * (place % 6), _HEIGHT + 20 * (place // 6)
        parts.append(
            f'<circle cx="{left}" cy="{top}" r="4" fill="{colours[name]}"/>'
            f'<text x="{left + 8}" y="{top + 4}">{escape(name)}</text>'
        )
    return "".join([*parts, "</svg>"])


def _ratios(span: float) -> list[float]:
    steps = [1.0, 1.1, 1.25, 1.5, 2.0, 4.0, 8.0, 16.0]
    wanted = [step for step in steps if math.log2(step) <= span and (span <= 1.5 or step != 1.1)]
    return sorted({*wanted, *(1 / step for step in wanted)})
