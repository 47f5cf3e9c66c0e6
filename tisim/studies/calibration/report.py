"""Calibration results as text, and as a picture."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tisim.errors import InputError
from tisim.studies.calibration.line import Floats, Line
from tisim.studies.calibration.piecewise import Piecewise
from tisim.support.files import replacing
from tisim.support.tables import align

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tisim.studies.calibration.calibration import Calibration
    from tisim.studies.calibration.contention import Contention

_TITLES = {
    "pingpong": "Transfer: the ping-pong, one way, without the overheads",
    "send": "Time inside MPI_Send (smpi/os)",
    "isend": "Time inside MPI_Isend (smpi/ois)",
    "recv": "Time inside MPI_Recv of an already arrived message (smpi/or)",
}
_PATTERNS = {
    "both ways": "both directions of one pair, each",
    "pairs": "disjoint pairs, each",
    "shift": "shift, each direction of a host",
    "incast": "incast, into one host",
    "fan-out": "fan-out, out of one host",
}
_SHOWN_MODES = 3
_WIDTH = 100


def report(calibration: Calibration) -> str:
    """Return the findings as text."""
    return "\n\n".join(_sections(calibration)) + "\n"


def _sections(calibration: Calibration) -> Iterator[str]:
    route, hosts = calibration.route, calibration.hosts
    yield (
        f"Nominal route from {hosts[0]} to {hosts[1]}: latency {route.latency * 1e6:.4g} us, "
        f"bandwidth {route.bandwidth / 1e6:.4g} MB/s\n"
        "Behind +-: half the 95 % confidence interval. residual: median relative error of the "
        "line;\nsimulated: that of the call as tisim simulates it on the calibrated platform."
    )
    errors = calibration.errors()
    for fit in calibration.fits:
        yield f"{_TITLES[fit.operation]}\n{_segments(calibration, fit, errors)}"
    if calibration.changes:
        yield f"Breakpoints\n{_breakpoints(calibration)}"
    if calibration.overheads.thresholds is not None:
        yield f"Protocol: {calibration.overheads.thresholds.evidence}."
    yield calibration.library.text()
    if calibration.switches is not None:
        yield calibration.switches.text()
    if calibration.weight is not None:
        yield calibration.weight.text()
    if calibration.burst > 0:
        yield (
            f"Burst: single messages are faster than streams: links pass {calibration.burst:.0f} "
            "bytes at once\n(tisim/burst), refilled at their bandwidth."
        )
    if calibration.loopback is not None:
        loopback = calibration.loopback
        yield (
            f"Loopback: messages inside a host: latency {loopback.latency * 1e6:.4g} us, bandwidth "
            f"{loopback.bandwidth / 1e6:.4g} MB/s; their\nping-pongs are simulated "
            f"{loopback.error:.1%} off in the median."
        )
    if calibration.contention is not None:
        limiter = calibration.limiter
        if calibration.contention.patterns:
            yield f"Concurrent messages\n{_patterns(calibration.contention)}"
        yield (
            f"Contention: both directions together reach {calibration.contention.fraction:.1%} of "
            "twice the bandwidth of one"
            + (
                _without_limiter(calibration)
                if limiter is None
                else f": limiter_link is {limiter / 1e6:.4g} MB/s."
            )
        )
    yield "\n".join(
        textwrap.fill(f"warning: {text}", _WIDTH, subsequent_indent="  ", break_on_hyphens=False)
        for text in calibration.warnings
    )


def _without_limiter(calibration: Calibration) -> str:
    contention, switches = calibration.contention, calibration.switches
    alike = switches is None or switches.is_uniform
    if contention is None or contention.shift is None or contention.is_host_bound or not alike:
        return "."
    best = max(pattern.best for pattern in contention.both_ways)
    return (
        f", the fastest repetition {best:.0%}:\n"
        "the hosts are not a bottleneck, and no limiter_link is written."
    )


def _patterns(contention: Contention) -> str:
    heads = ["pattern", "of one transfer alone", "two modes"]
    rows = [
        [
            _PATTERNS[pattern.name],
            f"{pattern.rate:.0%}",
            "; ".join(
                f"{nbytes} bytes: {low.seconds:.4g} s ({low.times} of {low.total}) and "
                f"{high.seconds:.4g} s ({high.times})"
                for nbytes, (low, high) in list(pattern.modes.items())[:_SHOWN_MODES]
            ),
        ]
        for pattern in contention.patterns
    ]
    return "\n".join(align([heads, *rows], left=(0, 2)))


def _segments(calibration: Calibration, fit: Piecewise, errors: pd.DataFrame) -> str:
    heads = ["bytes", "start-up us", "+-", "ns/byte", "+-"]
    transfer = fit is calibration.transfer
    if transfer:
        heads += ["lat x", "bw x"]
    heads += ["residual", "simulated", "sizes", "times"]
    own = errors[errors["operation"] == fit.operation]
    rows = []
    for number, segment in enumerate(fit.segments):
        line = segment.line
        row = [f"{segment.first}-{segment.last}", *_coefficients(line)]
        if transfer:
            factor = calibration.factors[number]
            row += [f"{factor.latency:.4g}", f"{factor.bandwidth:.4g}"]
        error = own.loc[own["above_bytes"] == segment.above, "error"].abs().median()
        row += [f"{line.residual:.1%}", f"{error:.1%}", str(line.sizes), str(line.measurements)]
        rows.append(row)
    return "\n".join(align([heads, *rows], left=0))


def _coefficients(line: Line) -> list[str]:
    """Return both coefficients, each with half the width of its 95 % interval."""
    return [
        f"{line.intercept * 1e6:.4g}",
        _half_width(line.intercept, line.intercept_interval[1], 1e6),
        f"{line.slope * 1e9:.4g}",
        _half_width(line.slope, line.slope_interval[1], 1e9),
    ]


def _half_width(value: float, high: float, unit: float) -> str:
    return f"{(high - value) * unit:.2g}" if np.isfinite(high) else "?"


def _breakpoints(calibration: Calibration) -> str:
    rows = [
        [
            str(change.above),
            f"{change.after}..{change.before}",
            change.operation,
            change.explanation,
        ]
        for change in calibration.changes
    ]
    heads = ["above bytes", "between sizes", "seen in", "what happens"]
    return "\n".join(align([heads, *rows], left=(2, 3)))


# Colours that colour-blind readers can distinguish (Okabe & Ito 2008).
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
    overheads), circles the ping-pong simulated on the calibrated platform.
    """
    from matplotlib.figure import Figure

    drawing = Figure(figsize=(10, 7), layout="constrained")
    axes = drawing.add_subplot()
    axes.set(xscale="log", yscale="log", xlabel="message size in bytes", ylabel="time in seconds")
    for fit in calibration.fits:
        _measured(axes, calibration, fit)
    simulated = _thinned(calibration.simulated)
    axes.plot(
        _log_axis_sizes(simulated["bytes"].to_numpy(dtype=np.float64)),
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
    """Draw the points of one operation and the lines through them."""
    colour, label = _LOOKS[fit.operation]
    frame = calibration.measurements.frame
    rows = frame[frame["operation"] == fit.operation]
    axes.plot(
        _log_axis_sizes(rows["bytes"].to_numpy(dtype=np.float64)),
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
            times = times + calibration.overheads.seconds_per_message(sizes)
        axes.plot(
            sizes, times, color=colour, linewidth=1.5, label=label if number == 0 else "_again"
        )


def _thinned(simulated: pd.DataFrame) -> pd.DataFrame:
    """Return rows about evenly spaced on the axis, few enough for circles not to overlap."""
    sizes = simulated["bytes"].to_numpy(dtype=np.float64)
    places = np.searchsorted(sizes, np.geomspace(max(sizes[0], 1), sizes[-1], _CIRCLES))
    return simulated.iloc[np.unique(np.minimum([0, *places], len(sizes) - 1))]


def _log_axis_sizes(nbytes: Floats) -> Floats:
    """Return sizes for a logarithmic axis: messages without payload are at half a byte."""
    return np.where(nbytes > 0, nbytes, 0.5)


def check_plot(path: str | PathLike[str]) -> None:
    """Raise an `InputError` unless the suffix of a file is that of a picture format."""
    from matplotlib.backend_bases import FigureCanvasBase

    suffix, known = Path(path).suffix, sorted(FigureCanvasBase.get_supported_filetypes())
    if suffix.removeprefix(".").lower() not in known:
        raise InputError(
            f"unknown picture format {suffix!r}; use one of {', '.join(known)}", file=path
        )


def save(calibration: Calibration, path: str | PathLike[str]) -> None:
    """Write the picture in the format given by the file's suffix.

    Raises `InputError` if the format is unknown or the file cannot be written.
    """
    check_plot(path)
    drawing = figure(calibration)
    with replacing(path) as temporary:
        drawing.savefig(temporary, dpi=150)
