"""The costs of call sites over the number of ranks as a picture."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import TYPE_CHECKING

from tisim.errors import InputError
from tisim.support.files import write_file
from tisim.support.quantities import unit_of_time

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tisim.traces.extrapolation.scaling.curves import ScalingCurves, SiteCurve

_FORMATS = (".svg", ".png")
# Colours that colour-blind readers tell apart (Okabe & Ito 2008); other curves are grey.
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
_LOOKS = ("-", "--")  # computing, in calls
_LONGEST_NAME = 60


def check_scaling_picture(path: str | os.PathLike[str]) -> None:
    """Check that a file has the suffix of a picture.

    Raises
    ------
    InputError
        When it has not.
    """
    if Path(path).suffix.lower() not in _FORMATS:
        raise InputError(f"a picture's suffix is one of {', '.join(_FORMATS)}", file=path)


def draw_scaling(curves: ScalingCurves, path: str | os.PathLike[str]) -> None:
    """Draw the costs of the most expensive call sites, both scales logarithmic.

    Parameters
    ----------
    curves
        The costs.
    path
        File whose suffix is ``.svg`` or ``.png``.

    Raises
    ------
    InputError
        When the suffix is another, or the file cannot be written.
    """
    check_scaling_picture(path)
    write_file(path, scaling_picture(curves, Path(path).suffix.lower()[1:]))


def scaling_picture(curves: ScalingCurves, form: str) -> bytes:
    """The picture as ``svg`` or ``png``."""
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 5.6), layout="constrained")
    FigureCanvasAgg(figure)
    _draw(figure, curves)
    written = io.BytesIO()
    # Neither a date nor random names: equal curves give equal files.
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
