"""Gantt charts as files: SVG or PNG."""

from __future__ import annotations

import io
import os
import textwrap
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tisim.analysis.pictures.gantt import BARS, GanttChart
from tisim.errors import InputError
from tisim.support.files import write_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tisim.analysis.result import Result

_FORMATS = (".svg", ".png")
# Height of the overview strip, in inches.
_STRIP_HEIGHT = 1.3
# Characters per line of the note below.
_NOTE_WIDTH = 160
# Minimum number of states per rank in the detailed part.
_MIN_STATES = 20


def check_picture(path: str | os.PathLike[str]) -> None:
    """Raise an `InputError` unless a file has the suffix of a picture."""
    if Path(path).suffix.lower() not in _FORMATS:
        raise InputError(
            f"the suffix of a Gantt chart must be one of {', '.join(_FORMATS)}", file=path
        )


def draw_gantt(
    result: Result,
    path: str | os.PathLike[str],
    *,
    begin: float = 0.0,
    end: float | None = None,
) -> None:
    """Draw the states of every rank over time.

    A run too long to be readable is drawn as a strip on top; below it is the part of it whose
    shares of states are most like those of the whole. Bars are states, in the colours of
    `tisim.analysis.pictures.colours`; arrows are messages. If there are too many states, each
    column of a lane shows the shares of time that its ranks spend in each state; if there are
    too many messages, only those that were waited for longest are drawn. The picture says so.

    Parameters
    ----------
    result
        A result with an event log.
    path
        File with the suffix ``.svg`` or ``.png``.
    begin, end
        The interval of simulated time to draw, in seconds; by default all of it, or the strip and
        the part.

    Raises
    ------
    InputError
        If the suffix is wrong, the file cannot be written, or the interval contains no simulated
        time.
    TisimError
        If the result has no event log.
    """
    check_picture(path)
    log = result.require_event_log()
    whole = log.run.end
    last = whole if end is None else min(end, whole)
    if not (0 <= begin < last or begin == last == whole == 0):
        raise InputError(f"the simulation lasts from 0 to {whole:.9g} s; draw a part of that")
    overview = None
    if begin == 0 and last == whole:
        from tisim.analysis.report.page_data import TYPICAL_STATES, typical_part

        readable = min(max(BARS // log.run.ranks, _MIN_STATES), TYPICAL_STATES)
        typical = typical_part(log, most=readable)
        if typical != (0.0, whole):
            overview = GanttChart(log, begin, last)
            begin, last = typical
    chart = GanttChart(log, begin, last)
    write_file(path, _picture(chart, overview, Path(path).suffix.lower()[1:]))


def _picture(chart: GanttChart, overview: GanttChart | None, form: str) -> bytes:
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    height = max(1.6, min(6.4, 0.45 * chart.lanes.count))
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "tisim", "font.size": 9}):
        strip = 0.0 if overview is None else _STRIP_HEIGHT
        figure = Figure(figsize=(11, height + strip + 1.9), layout="constrained")
        FigureCanvasAgg(figure)
        if overview is None:
            notes = chart.draw(figure.add_subplot())
        else:
            grid = figure.add_gridspec(2, 1, height_ratios=[strip, height])
            overview.draw_overview(figure.add_subplot(grid[0]), chart)
            notes = (
                f"Below: the framed part. {chart.draw(figure.add_subplot(grid[1]), titled=False)}"
            )
        _add_legend(figure, chart)
        notes = textwrap.fill(notes, _NOTE_WIDTH)
        figure.text(0.01, 0.0, notes, fontsize=8, color="#444444", va="top")
        buffer = io.BytesIO()
        save = partial(figure.savefig, buffer, format=form, bbox_inches="tight", pad_inches=0.12)
        if form == "svg":
            save(metadata={"Date": None})
        else:
            save(dpi=130)
    return buffer.getvalue()


def _add_legend(figure: Figure, chart: GanttChart) -> None:
    handles = chart.legend()
    if handles:
        figure.legend(handles=handles, loc="outside upper left", ncols=7, frameon=False, fontsize=8)
