"""Pictures of training steps: layouts compared, and the activity of GPUs."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tisim.analysis.timeline.streams import OCCUPATIONS, Span
from tisim.errors import InputError
from tisim.support.files import write_file

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt
    import pandas as pd
    from matplotlib.figure import Figure

    from tisim.gpu.step_run import StepResult

    _Numbers = npt.NDArray[np.float64]

_FORMATS = (".svg", ".png")
# Colours of `OCCUPATIONS`; they also differ in grey.
_COLOURS = dict(
    zip(OCCUPATIONS, ("#A5D6A0", "#07A47E", "#0170A9", "#F3A71F", "#DDDDDD"), strict=True)
)
# Number of best layouts shown as bars.
_BARS = 12
# Maximum number of GPUs in a chart, columns of a lane, and its height in pixels.
_GPUS, _COLUMNS, _HEIGHT = 16, 1600, 12


def check_picture(path: str) -> None:
    """Raise InputError unless the file has the suffix of a picture format."""
    if Path(path).suffix.lower() not in _FORMATS:
        raise InputError(f"the suffix of a picture must be one of {', '.join(_FORMATS)}", file=path)


def write_picture(figure: Figure, path: str) -> None:
    """Write a figure as SVG or PNG, depending on the suffix."""
    import matplotlib as mpl

    form, buffer = Path(path).suffix.lower()[1:], io.BytesIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "tisim"}):
        figure.savefig(
            buffer, format=form, dpi=130, metadata={"Date": None} if form == "svg" else {}
        )
    write_file(path, buffer.getvalue())


def _figure(width: float, height: float) -> Figure:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def draw_layouts(frame: pd.DataFrame, figure: Figure | None = None) -> Figure:
    """Draw the rows of `tisim.gpu.layouts`.

    On the left, the fastest step for each tensor-parallel size and number of stages; on the right,
    the occupations of GPUs in the fastest steps overall, with the interval of measured steps.
    `figure` is drawn in, such as ``plt.figure(figsize=(12, 5), layout="constrained")``.
    """
    figure = figure or _figure(12, 5)
    left, right = figure.subplots(1, 2, width_ratios=(1, 1.3))
    groups = frame.groupby(["tp", "pp"])
    best, tried = groups["seconds"].min().unstack(), groups.size().unstack().to_numpy()
    seconds = best.to_numpy()
    left.imshow(seconds, cmap="viridis_r", aspect="auto", vmax=2 * np.nanmin(seconds))
    middle = 1.4 * np.nanmin(seconds)
    for (row, column), value in np.ndenumerate(seconds):
        # Distinguish layouts that exist from those that need other numbers of GPUs or layers.
        none = "no\nlayout" if np.isnan(tried[row, column]) else "needs more\nmemory"
        text = none if np.isnan(value) else f"{value:.3g}"
        colour = "#777777" if np.isnan(value) else "white" if value > middle else "black"
        left.text(column, row, text, ha="center", va="center", color=colour, fontsize=8)
    left.set_xticks(range(len(best.columns)), best.columns)
    left.set_yticks(range(len(best.index)), best.index)
    left.set(xlabel="stages (pp)", ylabel="GPUs that share a matrix (tp)")
    left.set_title("Fastest step, s", loc="left")
    shown = frame.dropna(subset=["seconds"]).head(_BARS)
    rows, at = np.arange(len(shown)), np.zeros(len(shown))
    for name in OCCUPATIONS:
        width = (shown[name] * shown["seconds"]).to_numpy()
        right.barh(rows, width, left=at, color=_COLOURS[name], label=name)
        at += width
    reach = [(shown["seconds"] - shown["low"]), (shown["high"] - shown["seconds"])]
    right.errorbar(shown["seconds"], rows, xerr=reach, fmt="none", color="#444444", lw=0.8)
    right.set_yticks(rows, [layout_name(row) for _, row in shown.iterrows()], fontsize=8)
    right.invert_yaxis()
    right.set_xlabel("s; lines: where 90 % of measured steps lie")
    right.set_title("Fastest layouts, mean over GPUs", loc="left")
    figure.legend(
        *right.get_legend_handles_labels(), loc="outside lower right", ncols=5, frameon=False
    )
    return figure


def layout_name(row: pd.Series[float]) -> str:
    """Return a short description of a row of the frame of `tisim.gpu.layouts`."""
    sizes = [f"{name}{row[name]}" for name in ("tp", "pp", "dp")]
    sizes += [f"{name}{row[name]}" for name in ("cp", "ep") if row[name] > 1]
    sizes.append(f"mb{row['micro_batch']}")
    schedule = row["schedule"] + (f" {row['chunks']}" if row["chunks"] > 1 else "")
    again = "" if row["recompute"] == "none" else f", recompute {row['recompute']}"
    return f"{' '.join(sizes)}, {schedule}{again}"


def draw_step(result: StepResult, figure: Figure | None = None) -> Figure:
    """Draw the activity of each distinct GPU, and below it that of its streams.

    A column of a lane shows the fractions of its time interval: for a GPU, of `OCCUPATIONS`; for a
    stream, of kernels, communication, and waiting for peers.

    Parameters
    ----------
    result
        Result of `tisim.gpu.step_run.run_step` with ``logs=True``.
    figure
        Figure to draw in.
    """
    names, lanes = [], []
    edges = np.linspace(0, result.seconds, _COLUMNS + 1)
    for lane, first in enumerate(result.first_ranks[:_GPUS]):
        own = [span for span in result.spans if span.lane == lane]
        alike = int(result.ranks_of_lane[lane])
        names.append(f"GPU {first}" + (f" and {alike - 1:,} alike" if alike > 1 else ""))
        lanes.append(_shares(own, edges, beside=True))
        for stream in dict.fromkeys(span.stream for span in own):
            names.append(stream)
            lanes.append(_shares((s for s in own if s.stream == stream), edges, beside=False))
    figure = figure or _figure(12, 1.4 + 0.2 * len(lanes))
    axes = figure.add_subplot()
    colours = np.array([[int(c[i : i + 2], 16) for i in (1, 3, 5)] for c in _COLOURS.values()])
    picture = np.full((len(lanes), _HEIGHT, _COLUMNS, 3), 255, dtype=np.uint8)
    heights = (np.arange(_HEIGHT) + 0.5) / (_HEIGHT - 2)  # a gap between lanes
    for at, shares in enumerate(lanes):
        upto = np.cumsum(shares, axis=0)
        for number in range(len(OCCUPATIONS))[::-1]:
            picture[at][heights[:, None] < upto[number]] = colours[number]
    extent = (0.0, result.seconds, len(lanes) - 0.5, -0.5)
    axes.imshow(picture.reshape(-1, _COLUMNS, 3), extent=extent, aspect="auto")
    axes.set_yticks(range(len(lanes)), names, fontsize=7)
    for label in axes.get_yticklabels():
        if label.get_text().startswith("GPU "):
            label.set_fontweight("bold")
    axes.set_xlabel("s")
    axes.set_title(f"What {min(len(result.ends), _GPUS)} of {len(result.ends)} GPUs that differ do",
                   loc="left")  # fmt: skip
    from matplotlib.patches import Patch

    handles = [Patch(color=colour, label=name) for name, colour in _COLOURS.items()]
    figure.legend(handles=handles, loc="outside lower right", ncols=5, frameon=False, fontsize=8)
    return figure


def _shares(spans: Iterable[Span], edges: _Numbers, *, beside: bool) -> _Numbers:
    """Return the fraction of each column's time, by occupation and column.

    `beside`: kernels during communication count as overlapped, and the rest is idle, as for a GPU.
    """
    found = list(spans)
    kernels = _covered([(s.start, s.end) for s in found if s.node.kind == "kernel"], edges)
    meetings = _covered([(s.start, s.end) for s in found if s.node.kind != "kernel"], edges)
    both = _covered([(s.start, s.end) for s in found], edges)
    there = _covered([(s.arrival, s.end) for s in found], edges)
    idle = 1 - there if beside else np.zeros_like(there)
    return np.array(
        [both - meetings, kernels + meetings - both, both - kernels, there - both, idle]
    )


def _covered(intervals: list[tuple[float, float]], edges: _Numbers) -> _Numbers:
    """Return the fraction of each column that is covered by any of the intervals."""
    if not intervals:
        return np.zeros(len(edges) - 1)
    begins, ends = np.array(sorted(intervals)).T
    until = np.maximum.accumulate(ends)
    first = np.append(True, begins[1:] > until[:-1])  # of overlapping or adjacent intervals
    begins, ends = begins[first], until[np.append(first[1:], True)]
    # Total seconds of the intervals before each one.
    before = np.append(0.0, np.cumsum(ends - begins))
    k = np.searchsorted(begins, edges, side="right")
    last = np.maximum(k - 1, 0)
    seconds = before[k] - np.where(k > 0, np.maximum(ends[last] - edges, 0.0), 0.0)
    return np.diff(seconds) / np.diff(edges)
