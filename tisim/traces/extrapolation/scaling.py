"""Scaling of a program: the cost of call sites over the number of ranks, a picture and a page."""

from __future__ import annotations

import base64
import io
import math
import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from tisim.analysis.report.page import facts, page_style, table, with_security_policy
from tisim.analysis.report.report import check_report
from tisim.errors import InputError
from tisim.platform.trust import load_basis, trust_text
from tisim.support.files import write_file
from tisim.support.quantities import format_time, unit_of_time
from tisim.traces.extrapolated import ExtrapolatedVolume
from tisim.traces.extrapolation.target import TargetCall, TargetLoop, TargetNode
from tisim.traces.extrapolation.volumes import COMPUTE, value_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tisim.platform import Platform
    from tisim.traces.extrapolation.hypotheses import Explanation
    from tisim.traces.extrapolation.prediction import Extrapolation
    from tisim.traces.extrapolation.recordings import Recordings

# Maximum number of additional sizes between the largest trace and the target.
_BETWEEN = 6
# Number of replays with drawn volumes at each number of ranks.
_DRAWS = 8


@dataclass(frozen=True)
class SitePoint:
    """The cost of a call site on a number of ranks: the mean over the ranks and an interval."""

    ranks: int
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class SiteCurve:
    """The cost of a call site over the number of ranks."""

    #: The call and its location; or the kind of calls, if only that is known. Empty for the sum of
    #: all computations, and for the whole program.
    site: str
    #: True for computations, false for time in calls.
    computes: bool
    #: In ascending order of the number of ranks.
    points: tuple[SitePoint, ...]

    @property
    def text(self) -> str:
        """Its name in messages."""
        if not self.site:
            return "computing at all call sites" if self.computes else "the whole program"
        return f"computing before {self.site}" if self.computes else f"in {self.site}"


@dataclass(frozen=True)
class ScalingCurves:
    """The costs of all call sites over the number of ranks."""

    #: ``"s"`` with a platform; else ``"flops"``, of computations alone.
    unit: str
    recorded: tuple[int, ...]
    ranks: tuple[int, ...]
    #: In descending order of cost at the target.
    curves: tuple[SiteCurve, ...]
    #: Sum of all computations; None if there is at most one call site.
    computing: SiteCurve | None
    #: The simulated times; None without a platform.
    whole: SiteCurve | None
    #: Numbers of ranks at which the program cannot be extrapolated, with the reasons.
    left_out: tuple[tuple[int, str], ...]
    #: Trustworthiness of the times; empty without a platform.
    trust: str = ""

    def dominating(self) -> list[tuple[int, SiteCurve]]:
        """Return which curve is the highest, and from which number of ranks on."""
        highest = []
        for place, ranks in enumerate(self.ranks):
            best = max(self.curves, key=lambda curve: curve.points[place].value)
            highest.append((ranks, best))
        return [next(group) for _, group in groupby(highest, key=lambda entry: id(entry[1]))]


def scaling_curves(
    recordings: Recordings,
    target: int,
    *,
    prefer: Sequence[str] = (),
    platform: Platform | None = None,
) -> ScalingCurves:
    """Return the costs of each call site at the recorded sizes, the target and between. Without
    a platform on which to replay the traces, only computed volumes are returned. Raises
    InputError when the program cannot be extrapolated to the target, or has no costs to show.
    """
    rows: dict[int, dict[tuple[str, bool], SitePoint]] = {}
    left_out: list[tuple[int, str]] = []
    for ranks in _numbers_of_ranks(recordings.sizes, target):
        try:
            found = recordings.explain(ranks, prefer)
            points = _computed(found, ranks)
            if platform is not None:
                points = _replayed(recordings, found, ranks, platform, points)
            rows[ranks] = points
        except InputError as error:
            if ranks == target:
                raise
            left_out.append((ranks, error.message))
    sites = {site for points in rows.values() for site in points}
    if not sites:
        raise InputError(
            "the traces contain no computations; use --platform FILE to show times of calls"
        )
    known = sorted(rows)
    curves = [
        SiteCurve(
            *site, tuple(rows[ranks].get(site, SitePoint(ranks, 0.0, 0.0, 0.0)) for ranks in known)
        )
        for site in sites
    ]
    curves.sort(key=lambda curve: (-curve.points[-1].value, curve.text))
    single = [curve for curve in curves if curve.site != _ALL]
    computing = [curve for curve in curves if (curve.site, curve.computes) == (_ALL, True)]
    whole = [curve for curve in curves if (curve.site, curve.computes) == (_ALL, False)]
    several = sum(curve.computes for curve in single) > 1
    return ScalingCurves(
        "flops" if platform is None else "s",
        tuple(sorted(set(recordings.sizes))),
        tuple(known),
        tuple(single),
        computing[0] if several else None,
        whole[0] if whole else None,
        tuple(left_out),
        "" if platform is None else trust_text(platform.file, load_basis(platform.file)),
    )


# Site of the sum over all computations, and of the whole program.
_ALL = ""


def _numbers_of_ranks(sizes: Sequence[int], target: int) -> list[int]:
    """Return the recorded sizes, the target, and some between that suit the grids of the sizes.

    Those between are multiples of the largest size by powers of the ratio of two sizes, such as
    two, or all squares between if all sizes are squares.
    """
    known = sorted({*sizes, target})
    largest = max(sizes)
    if all(math.isqrt(size) ** 2 == size for size in known):
        between = [side**2 for side in range(math.isqrt(largest) + 1, math.isqrt(target))]
    else:
        ordered = sorted(set(sizes))
        factor = max(2, ordered[-1] // ordered[-2])
        between = []
        while (ranks := largest * factor ** (len(between) + 1)) < target:
            between.append(ranks)
    step = max(1, math.ceil(len(between) / _BETWEEN))
    return sorted({*known, *between[::step]})


def _computed(found: Explanation, ranks: int) -> dict[tuple[str, bool], SitePoint]:
    """Return the mean computation of the ranks before each call, in flops."""
    fits = {volume.site: volume.fit for volume in found.findings.volumes}
    sums: dict[tuple[str, bool], float] = {}
    for node, times in _calls(found.program):
        volume = float(node.volume)
        if node.site.shape.text == COMPUTE:
            codes = node.numbers[0] if len(node.numbers[0]) == 1 else node.numbers[0][node.present]
            volume = sum(float(value_of(int(code))) for code in codes) / max(len(codes), 1)
        if volume:
            key = (node.name, True)
            share = float(node.present.mean())
            sums[key] = sums.get(key, 0.0) + volume * times * share
    points = {}
    for (site, computes), value in sums.items():
        low = high = value
        if site in fits:
            fit = fits[site]
            kept = ExtrapolatedVolume(site, fit.family, round(fit.value), fit.leave_one_out(ranks))
            low, high = (value * end / fit.value for end in kept.interval)
        points[site, computes] = SitePoint(ranks, value, min(low, value), max(high, value))
    if points:
        values, lows, highs = zip(*((p.value, p.low, p.high) for p in points.values()), strict=True)
        points[_ALL, True] = SitePoint(ranks, sum(values), sum(lows), sum(highs))
    return points


def _calls(program: Sequence[TargetNode], times: int = 1) -> Iterator[tuple[TargetCall, int]]:
    """Yield the calls, each with its number of executions."""
    for node in program:
        if isinstance(node, TargetLoop):
            yield from _calls(node.body, times * node.times)
        else:
            yield node, times


def _replayed(
    recordings: Recordings,
    found: Explanation,
    ranks: int,
    platform: Platform,
    computed: dict[tuple[str, bool], SitePoint],
) -> dict[tuple[str, bool], SitePoint]:
    """Convert costs to seconds, and add the time in calls by kind, from replays.

    The computing time is divided among calls in proportion to their volumes.
    """
    with tempfile.TemporaryDirectory(prefix="tisim-scaling-") as directory:
        trace = Path(directory) / "made.tit"
        recordings.write(found, ranks, trace)
        draws = _DRAWS if found.findings.volumes else 0
        runs = [_spent(trace, platform, ranks, seed) for seed in range(draws + 1)]
    first = runs[0]
    flops = computed[_ALL, True].value if computed else 0.0
    computing = [run.pop("compute", 0.0) for run in runs]
    second = computing[0] / flops if flops else 0.0
    points = {
        site: SitePoint(ranks, p.value * second, p.low * second, p.high * second)
        for site, p in computed.items()
    }
    for kind, value in first.items():
        values = [run.get(kind, 0.0) for run in runs]
        points[kind, False] = SitePoint(ranks, value, min(values), max(values))
    points[_ALL, True] = SitePoint(ranks, computing[0], min(computing), max(computing))
    return points


def _spent(trace: Path, platform: Platform, ranks: int, seed: int) -> dict[str, float]:
    """Return mean seconds per rank by kind of action, and the simulated time."""
    from tisim.simulation.replay import replay

    config = {"tisim/volume-seed": str(seed)}
    result = replay(trace, platform=platform, event_log=True, config=config)
    kinds = result.require_event_log().to_dict()["kinds"]
    spent = {kind: of["seconds"] / ranks for kind, of in kinds.items() if of["seconds"]}
    return {**spent, _ALL: result.simulated_time}


_FORMATS = (".svg", ".png")
# Colours distinguishable by colour-blind readers (Okabe & Ito 2008); other curves are grey.
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
_LOOKS = ("-", "--")  # computing, in calls
_LONGEST_NAME = 60


def check_scaling_picture(path: str | os.PathLike[str]) -> None:
    """Check that a file has the suffix of a picture; raise InputError otherwise."""
    if Path(path).suffix.lower() not in _FORMATS:
        raise InputError(f"the suffix of a picture must be one of {', '.join(_FORMATS)}", file=path)


def draw_scaling(curves: ScalingCurves, path: str | os.PathLike[str]) -> None:
    """Draw the costs of the most expensive call sites, with logarithmic axes. Raises InputError
    when the suffix is not ``.svg`` or ``.png``, or when the file cannot be written.
    """
    check_scaling_picture(path)
    write_file(path, scaling_picture(curves, Path(path).suffix.lower()[1:]))


def scaling_picture(curves: ScalingCurves, form: str) -> bytes:
    """Return the picture as ``svg`` or ``png``."""
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 5.6), layout="constrained")
    FigureCanvasAgg(figure)
    _draw(figure, curves)
    written = io.BytesIO()
    # Without a date and random names, equal curves give equal files.
    with mpl.rc_context({"svg.hashsalt": "tisim"}):
        metadata = {"Date": None} if form == "svg" else None
        figure.savefig(written, format=form, dpi=150, metadata=metadata)
    return written.getvalue()


def _draw(figure: Figure, curves: ScalingCurves) -> None:
    axes = figure.add_subplot()
    shown = [curve for curve in curves.curves if curve.points[-1].value > 0][: len(_COLOURS)]
    unit, factor = "flops", 1.0
    if curves.unit == "s":
        largest = max(point.value for curve in curves.curves for point in curve.points)
        unit, factor = unit_of_time(largest)
    for curve, colour in zip(shown, _COLOURS, strict=False):
        _line(axes, curve, factor, colour, _LOOKS[not curve.computes], _short(curve.text))
    for whole, look in ((curves.computing, "-"), (curves.whole, ":")):
        if whole is not None:
            _line(axes, whole, factor, "#000000", look, whole.text)
    last = max(curves.recorded)
    axes.axvspan(min(curves.ranks), last, color="0.93", zorder=0, linewidth=0)
    axes.text(
        last,
        0.01,
        "recorded ",
        transform=axes.get_xaxis_transform(),
        horizontalalignment="right",
        verticalalignment="bottom",
        color="0.35",
        fontsize=8,
    )
    axes.set(xscale="log", yscale="log", xlabel="ranks")
    axes.set_ylabel(f"mean over the ranks, {unit}")
    axes.set_xticks(curves.ranks, [f"{ranks:,}" for ranks in curves.ranks])
    axes.minorticks_off()
    axes.tick_params(axis="x", labelrotation=30)
    axes.grid(visible=True, color="0.85", linewidth=0.6)
    what = "Time" if curves.unit == "s" else "Computed volume"
    axes.set_title(f"{what} by call site over the number of ranks", loc="left", fontsize=11)
    figure.legend(loc="outside lower left", ncols=2, frameon=False, fontsize=8)


def _line(axes: Axes, curve: SiteCurve, factor: float, colour: str, look: str, label: str) -> None:
    points = [point for point in curve.points if point.value > 0]
    ranks = [point.ranks for point in points]
    axes.plot(
        ranks,
        [point.value * factor for point in points],
        look,
        color=colour,
        marker="o",
        markersize=3.5,
        linewidth=1.4,
        label=label,
    )
    lows = [max(point.low, point.value * 1e-3) * factor for point in points]
    axes.fill_between(
        ranks,
        lows,
        [point.high * factor for point in points],
        color=colour,
        alpha=0.18,
        linewidth=0,
    )


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_NAME else text[: _LONGEST_NAME - 3] + "..."


# Maximum number of rows in the table of parameters.
_MOST_PARAMETERS = 500


def write_scaling_report(
    made: Extrapolation, curves: ScalingCurves, path: str | os.PathLike[str]
) -> None:
    """Write one self-contained page: curves with intervals, dominant costs, all functions. Raises
    InputError when the suffix is wrong, or when the file cannot be written.
    """
    check_report(path)
    title = f"Extrapolated to {made.ranks:,} ranks"
    picture = base64.b64encode(scaling_picture(curves, "svg")).decode()
    page = f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<link rel="icon" href="data:,">
<style>
{page_style("report.css")}
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
    write_file(path, with_security_policy(page))


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
            " Computations before a call have the same share of the time as of the volume; times "
            "in calls come from replays with drawn volumes. How far to trust them: "
            f"{escape(curves.trust)}."
        )
    else:
        note += " With --platform, times are shown, including those in calls."
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
    # Below the value: next to it, the target's column would leave the window.
    between = f'<br><small class="note">{low} to {high}</small>'
    return value if value == low == high else value + between


def _volumes(made: Extrapolation) -> str:
    if not made.volumes:
        return '<p class="note">None: all volumes are exact functions.</p>'
    rows = [
        (
            escape(volume.site),
            escape(volume.fit.family),
            f"{volume.fit.value:.6g}",
            f"{volume.fit.error:.1%}",
        )
        for volume in made.volumes
    ]
    return table(["call", "function", "flops before it", "error in cross-validation"], rows, 2)


def _parameters(made: Extrapolation) -> str:
    rows = [
        (
            escape(parameter.site),
            escape(parameter.what),
            escape(parameter.text),
            str(parameter.confirming_sizes),
        )
        for parameter in made.parameters[:_MOST_PARAMETERS]
    ]
    more = len(made.parameters) - len(rows)
    rest = f'<p class="note">And {more:,} more; --show prints all.</p>' if more > 0 else ""
    return table(["call", "parameter", "function", "sizes that confirm it"], rows, 3) + rest
