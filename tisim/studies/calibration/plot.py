"""The calibration as a picture: measured times, fitted lines, and the simulated ping-pong."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tisim.errors import InputError
from tisim.studies.calibration.line import Floats
from tisim.studies.calibration.piecewise import Piecewise
from tisim.support.files import replacing

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tisim.studies.calibration.calibration import Calibration

# Colours that colour-blind readers tell apart (Okabe & Ito 2008).
_LOOKS = {
    "pingpong": ("#0072b2", "ping-pong, one way"),
    "send": ("#e69f00", "MPI_Send"),
    "isend": ("#009e73", "MPI_Isend"),
    "recv": ("#cc79a7", "MPI_Recv, arrived message"),
}
_SIMULATED = "#d55e00"
_CIRCLES = 60


def figure(calibration: Calibration) -> Figure:
    """Draw times over message sizes, both on logarithmic scales.

    Points are measured times, lines the fitted segments (those of the ping-pong with its
    overheads), circles the ping-pong as tisim simulates it on the calibrated platform.
    """
    from matplotlib.figure import Figure

    drawing = Figure(figsize=(10, 7), layout="constrained")
    axes = drawing.add_subplot()
    axes.set(xscale="log", yscale="log", xlabel="message size in bytes", ylabel="time in seconds")
    for fit in calibration.fits:
        _measured(axes, calibration, fit)
    simulated = _thinned(calibration.simulated)
    axes.plot(
        _on_log(simulated["bytes"].to_numpy(dtype=np.float64)),
        simulated["pingpong"],
        linestyle="none",
        marker="o",
        markersize=5,
        fillstyle="none",
        color=_SIMULATED,
        label="ping-pong simulated on the calibrated platform",
        zorder=3,
    )
    for size in sorted({change.above for change in calibration.changes}):
        axes.axvline(size, color="0.8", linewidth=0.8, zorder=0)
    axes.grid(visible=True, which="major", color="0.93")
    axes.set_axisbelow(True)
    axes.legend(loc="upper left")
    axes.set_title("Measured, fitted and simulated times; grey lines are breakpoints")
    return drawing


def _measured(axes: Axes, calibration: Calibration, fit: Piecewise) -> None:
    """The points of one operation and the lines through them."""
    colour, label = _LOOKS[fit.operation]
    frame = calibration.measurements.frame
    rows = frame[frame["operation"] == fit.operation]
    axes.plot(
        _on_log(rows["bytes"].to_numpy(dtype=np.float64)),
        rows["seconds"],
        linestyle="none",
        marker=".",
        markersize=2.5,
        color=colour,
        alpha=0.35,
        rasterized=True,
    )
    for number, segment in enumerate(fit.segments):
        sizes = np.geomspace(max(segment.first, 1), max(segment.last, 1), 100)
        times = segment.line.seconds(sizes)
        if fit is calibration.transfer:
            times = times + calibration.overheads.in_a_message(sizes)
        axes.plot(
            sizes, times, color=colour, linewidth=1.5, label=label if number == 0 else "_again"
        )


def _thinned(simulated: pd.DataFrame) -> pd.DataFrame:
    """Rows about evenly spaced on the axis, few enough for circles to stand apart."""
    sizes = simulated["bytes"].to_numpy(dtype=np.float64)
    places = np.searchsorted(sizes, np.geomspace(max(sizes[0], 1), sizes[-1], _CIRCLES))
    return simulated.iloc[np.unique(np.minimum([0, *places], len(sizes) - 1))]


def _on_log(nbytes: Floats) -> Floats:
    """Sizes for a logarithmic axis: messages without payload stand at half a byte."""
    return np.where(nbytes > 0, nbytes, 0.5)


def save(calibration: Calibration, path: str | PathLike[str]) -> None:
    """Write the picture; the suffix of the file says in which format.

    Raises
    ------
    InputError
        If the format is unknown or nothing can be written there.
    """
    target = Path(path)
    drawing = figure(calibration)
    known = sorted(drawing.canvas.get_supported_filetypes())
    if target.suffix.removeprefix(".").lower() not in known:
        raise InputError(
            f"no picture format of the name {target.suffix!r}; use one of {', '.join(known)}",
            file=target,
        )
    with replacing(target) as temporary:
        drawing.savefig(temporary, dpi=150)
