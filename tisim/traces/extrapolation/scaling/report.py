"""How a program scales, as one page of HTML."""

from __future__ import annotations

import base64
import os
from html import escape
from typing import TYPE_CHECKING

from tisim.analysis.report.page import facts, page_style, table
from tisim.analysis.report.report import check_report
from tisim.support.files import write_file
from tisim.support.quantities import format_time
from tisim.traces.extrapolation.scaling.picture import scaling_picture

if TYPE_CHECKING:
    from tisim.traces.extrapolation.prediction import Extrapolation
    from tisim.traces.extrapolation.scaling.curves import ScalingCurves, SitePoint

# Rows of the table of parameters.
_MOST_PARAMETERS = 500


def write_scaling_report(
    made: Extrapolation, curves: ScalingCurves, path: str | os.PathLike[str]
) -> None:
    """Write one self-contained page: curves with intervals, what dominates, all functions.

    Parameters
    ----------
    made
        The extrapolation.
    curves
        The costs of its call sites.
    path
        File whose suffix is ``.html``.

    Raises
    ------
    InputError
        When the suffix is another, or the file cannot be written.
    """
    check_report(path)
    title = f"Extrapolated to {made.ranks:,} ranks"
    picture = base64.b64encode(scaling_picture(curves, "svg")).decode()
    page = f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; \
style-src 'unsafe-inline'; img-src data:">
<title>{title}</title>
<link rel="icon" href="data:,">
<style>
{page_style("style.css")}
img {{ width: 100%; max-width: 1000px; background: #ffffff; }}
</style>
</head>
<body>
<header><h1>{title}</h1></header>
<main>
{_summary(made)}
<h2>What dominates</h2>
{_dominating(curves)}
<h2>{"Time" if curves.unit == "s" else "Computed volume"} by call site</h2>
<img alt="Costs of call sites over the number of ranks" src="data:image/svg+xml;base64,{picture}">
{_note(curves)}
{_curves(curves)}
<h2>Fitted volumes</h2>
{_volumes(made)}
<h2>Functions of all parameters</h2>
{_parameters(made)}
</main>
</body>
</html>
"""
    write_file(path, page)


def _summary(made: Extrapolation) -> str:
    rows = [
        ("recorded", ", ".join(f"{size:,}" for size in made.sizes) + " ranks"),
        ("process grid", made.grid),
        ("classes of ranks", f"{made.classes:,}"),
    ]
    rows += [
        (f"approximate: {action}", f"its numbers are data; {how} of them are in the trace")
        for action, how in made.approximate.items()
    ]
    return facts(rows)


def _dominating(curves: ScalingCurves) -> str:
    items = []
    for ranks, curve in curves.dominating():
        since = (
            "from the smallest trace on" if ranks == curves.ranks[0] else f"from {ranks:,} ranks on"
        )
        items.append(f"<li>{since}: {escape(curve.text)}</li>")
    computing = curves.computing
    if curves.whole is not None and computing is not None:
        pairs = zip(computing.points, curves.whole.points, strict=True)
        shares = [(part.ranks, part.value / of.value) for part, of in pairs if of.value]
        said = [f"{share:.0%} on {ranks:,} ranks" for ranks, share in (shares[0], shares[-1])]
        items.append(f"<li>part of computing in the time: {', '.join(said)}</li>")
    return f'<ul class="said">{"".join(items)}</ul>'


def _note(curves: ScalingCurves) -> str:
    shown = "in time" if curves.unit == "s" else "in flops"
    note = (
        f'<p class="note">Means over the ranks {shown}. Bands and small numbers are '
        "intervals: each size is left out once, and its error counts either way."
    )
    if curves.unit == "s":
        note += (
            " Computations before a call have the part of the time that they have of the volume; "
            "times in calls are of replays with drawn volumes."
        )
    else:
        note += " With --platform there are times, also those in calls."
    for ranks, message in curves.left_out:
        note += f" {ranks:,} ranks are left out: {escape(message)}."
    return note + "</p>"


def _curves(curves: ScalingCurves) -> str:
    head = ["call site", *(f"{ranks:,} ranks" for ranks in curves.ranks)]
    sums = [curve for curve in (curves.whole, curves.computing) if curve is not None]
    rows = [
        [escape(curve.text), *(_cell(point, curves.unit) for point in curve.points)]
        for curve in (*sums, *curves.curves)
    ]
    return table(head, rows)


def _cell(point: SitePoint, unit: str) -> str:
    def shown(value: float) -> str:
        return format_time(value) if unit == "s" else f"{value:.4g}"

    if not point.high:
        return ""
    value, low, high = shown(point.value), shown(point.low), shown(point.high)
    # Below the value: beside it, the column of the target was out of the window.
    between = f'<br><small class="note">{low} to {high}</small>'
    return value if value == low == high else value + between


def _volumes(made: Extrapolation) -> str:
    if not made.volumes:
        return '<p class="note">None: all volumes are exact functions.</p>'
    rows = [
        (
            escape(one.site),
            escape(one.fit.family),
            f"{one.fit.value:.6g}",
            f"{one.fit.error:.1%}",
        )
        for one in made.volumes
    ]
    return table(["call", "function", "flops before it", "error where a size is left out"], rows, 2)


def _parameters(made: Extrapolation) -> str:
    rows = [
        (escape(one.site), escape(one.what), escape(one.text), str(one.confirmed))
        for one in made.parameters[:_MOST_PARAMETERS]
    ]
    more = len(made.parameters) - len(rows)
    rest = f'<p class="note">And {more:,} more; --show prints all.</p>' if more > 0 else ""
    return table(["call", "parameter", "function", "sizes that confirm it"], rows, 3) + rest
