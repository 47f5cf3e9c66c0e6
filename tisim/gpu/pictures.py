"""Pictures of training steps: which layout is best, and what a GPU does."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tisim.errors import InputError
from tisim.gpu.step_run import OCCUPATIONS
from tisim.support.files import write_file

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

_FORMATS = (".svg", ".png")
# Of `OCCUPATIONS`; they differ in grey too.
_COLOURS = dict(
    zip(OCCUPATIONS, ("#A5D6A0", "#07A47E", "#0170A9", "#F3A71F", "#DDDDDD"), strict=True)
)
# Bars of the best layouts.
_BARS = 12


def check_picture(path: str) -> None:
    """Raise InputError unless a file has the suffix of a picture."""
    if Path(path).suffix.lower() not in _FORMATS:
        raise InputError(f"the suffix of a picture is one of {', '.join(_FORMATS)}", file=path)


def write_picture(figure: Figure, path: str) -> None:
    """Write a figure as SVG or PNG, by the suffix."""
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

    On the left the fastest step of each number of GPUs that share a matrix and of stages; on the
    right what GPUs do in the fastest steps of all, with the interval of measured steps. `figure`
    is where to draw, such as ``plt.figure(figsize=(12, 5), layout="constrained")``.
    """
    figure = figure or _figure(12, 5)
    left, right = figure.subplots(1, 2, width_ratios=(1, 1.3))
    best = frame.groupby(["tp", "pp"])["seconds"].min().unstack()
    seconds = best.to_numpy()
    left.imshow(seconds, cmap="viridis_r", aspect="auto", vmax=2 * np.nanmin(seconds))
    middle = 1.4 * np.nanmin(seconds)
    for (row, column), value in np.ndenumerate(seconds):
        text = "does not\nfit" if np.isnan(value) else f"{value:.3g}"
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
    """A row of the frame of `tisim.gpu.layouts` in a few words."""
    sizes = [f"{name}{row[name]}" for name in ("tp", "pp", "dp")]
    sizes.append(f"mb{row['micro_batch']}")
    schedule = row["schedule"] + (f" {row['chunks']}" if row["chunks"] > 1 else "")
    again = "" if row["recompute"] == "none" else f", recompute {row['recompute']}"
    return f"{' '.join(sizes)}, {schedule}{again}"
