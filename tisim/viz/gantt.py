"""Gantt charts: what every rank was doing over time, as SVG or PNG."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tisim.errors import InputError
from tisim.recording.breakdown import STATES
from tisim.recording.files import NewFile
from tisim.viz.colours import COLOURS, rgb
from tisim.viz.lanes import Lanes
from tisim.viz.text import unit_of_time

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tisim.recording.recorded import Recorded
    from tisim.result import Result

# More lanes cannot be told apart, more bars are narrower than a pixel, more arrows hide the bars.
_LANES = 64
_BARS = 2500
_ARROWS = 120
# Resolution of a chart of shares: columns over the time, rows over the height of all lanes.
_COLUMNS, _ROWS = 1200, 640
_BAR = 0.86  # of a lane's height

_FORMATS = (".svg", ".png")


def check_picture(path: str | os.PathLike[str]) -> None:
    """See to it that a chart can be drawn to a file of that name.

    Raises
    ------
    InputError
        When its suffix is not one of a picture.
    """
    if Path(path).suffix.lower() not in _FORMATS:
        raise InputError(f"a Gantt chart's suffix is one of {', '.join(_FORMATS)}", file=path)


def draw_gantt(result: Result, path: str | os.PathLike[str]) -> None:
    """Draw what every rank was doing over time.

    Bars are states, in the colours of `tisim.viz.colours`; arrows are messages. Where there are
    more states than can be seen, each column of a lane shows the shares of the time that its ranks
    spend in each state; where there are more messages than can be seen, every n-th is drawn. The
    picture says so.

    Parameters
    ----------
    result
        A result with a record.
    path
        File whose suffix is ``.svg`` or ``.png``.

    Raises
    ------
    InputError
        When the suffix is another, or the file cannot be written.
    TisimError
        When nothing was recorded.
    """
    check_picture(path)
    recorded = result.known()
    file = NewFile(path)
    try:
        file.write(_picture(result, recorded, Path(path).suffix.lower()[1:]))
        file.complete()
        file.commit()
    except BaseException:
        file.discard()
        raise


def _picture(result: Result, recorded: Recorded, form: str) -> bytes:
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    lanes = Lanes.at_most(recorded.scene.ranks, _LANES)
    height = max(1.6, min(6.4, 0.45 * lanes.count))
    styles: Any = {"svg.fonttype": "none", "svg.hashsalt": "tisim", "font.size": 9}
    with mpl.rc_context(styles):
        figure = Figure(figsize=(11, height + 1.9), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.add_subplot()
        unit, factor = unit_of_time(recorded.scene.end)
        exact = lanes.size == 1 and recorded.spool.count("states") <= _BARS
        draw = _draw_bars if exact else _draw_shares
        notes = [draw(axes, recorded, lanes, factor), _draw_messages(axes, recorded, lanes, factor)]
        _dress(axes, recorded, lanes, unit, factor)
        title = f"{recorded.scene.title}: {recorded.scene.end * factor:.6g} {unit}"
        axes.set_title(title, loc="left", fontweight="bold", fontsize=10)
        _add_legend(figure, result)
        figure.text(0.01, 0.0, " ".join(filter(None, notes)), fontsize=8, color="#444444", va="top")
        buffer = io.BytesIO()
        options: dict[str, Any] = {"metadata": {"Date": None}} if form == "svg" else {"dpi": 130}
        figure.savefig(buffer, format=form, bbox_inches="tight", pad_inches=0.12, **options)
    return buffer.getvalue()


def _dress(axes: Any, recorded: Recorded, lanes: Lanes, unit: str, factor: float) -> None:
    """Axes, ticks and the lines between lanes."""
    axes.set_xlim(0, recorded.scene.end * factor or 1.0)
    axes.set_ylim(lanes.count - 0.5, -0.5)
    step = max(1, -(-lanes.count // 20))
    places = list(range(0, lanes.count, step))
    axes.set_yticks(places, [lanes.label(place) for place in places])
    axes.set_ylabel("rank" if lanes.size == 1 else "ranks")
    axes.set_xlabel(f"simulated time, {unit}")
    axes.tick_params(length=3)
    axes.spines[["top", "right"]].set_visible(False)


def _draw_bars(axes: Any, recorded: Recorded, lanes: Lanes, factor: float) -> str:
    """Every state of every rank."""
    from matplotlib.collections import PolyCollection

    rows = recorded.spool.read("states")
    for number, state in enumerate(STATES):
        chosen = rows[rows["state"] == number]
        if not len(chosen):
            continue
        corners = _rectangles(chosen["start"] * factor, chosen["end"] * factor, chosen["rank"])
        bars = PolyCollection(corners, facecolors=COLOURS[state], edgecolors="none")
        axes.add_collection(bars)
    _frame_lanes(axes, recorded, lanes, factor)
    return "Each bar is what a rank is doing."


def _rectangles(start: Any, end: Any, lane: Any) -> Any:
    """The corners of bars; shape (bars, 4, 2)."""
    import numpy as np

    low, high = lane - _BAR / 2, lane + _BAR / 2
    x = np.stack([start, end, end, start], axis=1)
    y = np.stack([low, low, high, high], axis=1)
    return np.stack([x, y], axis=2)


def _frame_lanes(axes: Any, recorded: Recorded, lanes: Lanes, factor: float) -> None:
    """A thin line around each lane, from 0 to the end of its last rank."""
    import numpy as np
    from matplotlib.collections import PolyCollection

    ends = np.zeros(lanes.count)
    np.maximum.at(ends, lanes.groups, recorded.finish)
    lane = np.arange(lanes.count)
    corners = _rectangles(np.zeros(lanes.count), ends * factor, lane)
    frames = PolyCollection(corners, facecolors="none", edgecolors="#666666", linewidths=0.5)
    axes.add_collection(frames)


def _draw_shares(axes: Any, recorded: Recorded, lanes: Lanes, factor: float) -> str:
    """In each column of each lane the shares of the time that its ranks spend in each state."""
    end = recorded.scene.end
    image = share_image(recorded, lanes)
    axes.imshow(
        image.reshape(-1, _COLUMNS, 3),  # the lanes one below the other
        extent=(0, end * factor, lanes.count - 0.5, -0.5),
        aspect="auto",
        interpolation="nearest",
    )
    _frame_lanes(axes, recorded, lanes, factor)
    width, unit = _width(end / _COLUMNS)
    who = "the rank" if lanes.size == 1 else f"the {lanes.size:,} ranks of a lane"
    return (
        f"Each column of {width} {unit} shows the shares of that time that {who} spend"
        f"{'s' if lanes.size == 1 else ''} in each state, one upon the other."
    )


def share_image(recorded: Recorded, lanes: Lanes) -> NDArray[np.uint8]:
    """Lanes whose columns are divided among states as their ranks' time is.

    Returns
    -------
    ndarray
        Colours, shape (lanes, rows of a lane, columns, 3); above and below each lane a white rim.
    """
    import numpy as np

    shares = recorded.shares(lanes.groups, lanes.count, _COLUMNS)
    height = max(6, _ROWS // lanes.count)
    gap = max(1, round(height * (1 - _BAR)))
    image = np.full((lanes.count, height, _COLUMNS, 3), 255, dtype=np.uint8)
    palette = np.array([*(rgb(COLOURS[state]) for state in STATES), (255, 255, 255)])
    room = lanes.sizes[:, None, None] * recorded.scene.end / _COLUMNS
    tops = np.cumsum(shares, axis=2) / room
    levels = (np.arange(height - gap) + 0.5) / (height - gap)
    for lane in range(lanes.count):
        # The state in whose part of the column a level lies; above all of them: ended.
        place = (levels[:, None, None] > tops[lane][None, :, :]).sum(axis=2)
        image[lane, gap // 2 : gap // 2 + height - gap] = palette[place[::-1]]
    return image


def _width(seconds: float) -> tuple[str, str]:
    unit, factor = unit_of_time(seconds)
    return f"{seconds * factor:.3g}", unit


def _draw_messages(axes: Any, recorded: Recorded, lanes: Lanes, factor: float) -> str:
    """Messages as arrows, or some of them."""
    count = recorded.spool.count("messages")
    every = -(-count // _ARROWS)
    if not count:
        return "No messages."
    rows = recorded.spool.read("messages")[every // 2 :: every]
    rows = rows[rows["arrived"] >= 0]
    for row in rows:
        tail = (row["started"] * factor, (row["source"] + 0.5) / lanes.size - 0.5)
        head = (row["arrived"] * factor, (row["destination"] + 0.5) / lanes.size - 0.5)
        style = {"arrowstyle": "-|>,head_width=0.12,head_length=0.25", "lw": 0.6}
        style |= {"color": "#000000", "shrinkA": 0, "shrinkB": 0}
        axes.annotate("", head, tail, arrowprops=style, annotation_clip=True)
    if every == 1:
        return f"Arrows: all {count:,} messages, from the start to the end of their transfer."
    return f"Arrows: {len(rows):,} of {count:,} messages, every {every:,}th in order of arrival."


def _add_legend(figure: Any, result: Result) -> None:
    """The states that occur, with their parts of all time."""
    from matplotlib.patches import Patch

    spent = result.breakdown.by_rank.sum()
    whole = float(spent.sum()) or 1.0
    handles = [
        Patch(
            facecolor=COLOURS[state],
            edgecolor="#666666",
            linewidth=0.5,
            label=f"{state} {spent[state] / whole:.1%}",
        )
        for state in STATES
        if spent[state] > 0
    ]
    if handles:
        figure.legend(handles=handles, loc="outside upper left", ncols=7, frameon=False, fontsize=8)
