"""A Gantt chart on matplotlib axes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tisim.analysis.pictures.colours import COLOURS, rgb
from tisim.analysis.timeline.columns import STATES
from tisim.support.quantities import format_time, unit_of_time

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.patches import Patch

    from tisim.analysis.timeline.event_log import EventLog


@dataclass(frozen=True, slots=True)
class Lanes:
    """Groups of `size` consecutive ranks; the last group may be smaller."""

    ranks: int
    size: int

    @classmethod
    def at_most(cls, ranks: int, most: int) -> Lanes:
        """Return at most `most` lanes, of 1, 2, 5, 10, 20, ... ranks."""
        return cls(ranks, next(size for size in _round_numbers() if size * most >= ranks))

    @property
    def count(self) -> int:
        """Number of lanes."""
        return -(-self.ranks // self.size)

    @property
    def groups(self) -> NDArray[np.int32]:
        """The lane of each rank; shape (ranks,)."""
        return np.arange(self.ranks, dtype=np.int32) // np.int32(self.size)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Ranks in each lane; shape (count,)."""
        return np.bincount(self.groups, minlength=self.count)

    def label(self, lane: int) -> str:
        """Return the rank of a lane, or its first and last: ``3``, ``100-199``."""
        first = lane * self.size
        last = min(first + self.size, self.ranks) - 1
        return str(first) if first == last else f"{first}-{last}"


def _round_numbers() -> Iterator[int]:
    for power in itertools.count():
        for digit in (1, 2, 5):
            yield digit * 10**power


def longest_waits_first(messages: NDArray[np.void], most: int) -> NDArray[np.void]:
    """Return at most `most` messages that have arrived, in descending order of waiting time."""
    arrived, received = messages["arrived"], messages["received"]
    waited = np.where((arrived >= 0) & (received >= 0), arrived - received, 0.0)
    first: NDArray[np.void] = messages[np.argsort(-waited, kind="stable")[:most]]
    return first[first["arrived"] >= 0]


# More lanes cannot be distinguished, more bars are narrower than a pixel, and more arrows hide the
# bars. If there are more than `_ARROWS` messages, the `_AWAITED` longest-awaited ones are drawn.
_LANES = 64
BARS = 2500
_ARROWS = 200
_AWAITED = 40
# Resolution of a chart of shares: columns over the time, rows over the height of all lanes.
_COLUMNS, _ROWS = 1200, 640
_BAR = 0.86  # fraction of a lane's height


class GanttChart:
    """Ranks in lanes, over the interval from `begin` to `end`, in seconds."""

    def __init__(self, log: EventLog, begin: float, end: float) -> None:
        self.lanes = Lanes.at_most(log.run.ranks, _LANES)
        self._log = log
        self._begin, self._end = begin, end
        self._unit, self._factor = unit_of_time(end)

    def draw(self, axes: Axes, *, titled: bool = True) -> str:
        """Draw the chart and return a text on how to read it."""
        bars = self._bars()
        states = self._draw_shares(axes) if bars is None else self._draw_bars(axes, bars)
        self._frame_lanes(axes)
        messages = self._draw_messages(axes)
        self._label_axes(axes, titled=titled)
        part = self._begin > 0 or self._end < self._log.run.end
        shares = " Percentages are those of the whole simulation." if part else ""
        return f"{states} {messages}{shares}"

    def draw_overview(self, axes: Axes, part: GanttChart) -> None:
        """Draw the chart without messages, and a frame around the interval of another one."""
        self._draw_shares(axes)
        self._frame_lanes(axes)
        self._label_axes(axes, titled=True)
        axes.set_yticks([])
        axes.axvspan(
            part._begin * self._factor,
            part._end * self._factor,
            facecolor="none",
            edgecolor="#000000",
            linewidth=1.5,
            zorder=5,
        )

    def legend(self) -> list[Patch]:
        """Return the states that occur, with their shares of all time."""
        from matplotlib.patches import Patch

        spent = self._log.breakdown.by_rank.sum()
        whole = float(spent.sum()) or 1.0
        return [
            Patch(
                facecolor=COLOURS[state],
                edgecolor="#666666",
                linewidth=0.5,
                label=f"{state} {spent[state] / whole:.1%}",
            )
            for state in STATES
            if spent[state] > 0
        ]

    def _label_axes(self, axes: Axes, *, titled: bool) -> None:
        """Set title, axes and ticks."""
        lanes, run = self.lanes, self._log.run
        unit, factor = unit_of_time(run.end)
        if titled:
            title = f"{run.title}: {run.end * factor:.6g} {unit}"
            axes.set_title(title, loc="left", fontweight="bold", fontsize=10)
        axes.set_xlim(self._begin * self._factor, self._end * self._factor or 1.0)
        axes.set_ylim(lanes.count - 0.5, -0.5)
        places = list(range(0, lanes.count, max(1, -(-lanes.count // 20))))
        axes.set_yticks(places, [lanes.label(place) for place in places])
        axes.set_ylabel("rank" if lanes.size == 1 else "ranks")
        axes.set_xlabel(f"simulated time, {self._unit}")
        axes.tick_params(length=3)
        axes.spines[["top", "right"]].set_visible(False)

    def _bars(self) -> NDArray[np.void] | None:
        """Return the states to draw individually; None if there are too many."""
        whole = self._begin == 0 and self._end == self._log.run.end
        if self.lanes.size > 1 or (whole and self._log.store.count("states") > BARS):
            return None
        rows = self._log.store.read("states")
        chosen = rows[(rows["end"] > self._begin) & (rows["start"] < self._end)]
        return chosen if len(chosen) <= BARS else None

    def _draw_bars(self, axes: Axes, bars: NDArray[np.void]) -> str:
        from matplotlib.collections import PolyCollection

        for number, state in enumerate(STATES):
            chosen = bars[bars["state"] == number]
            if not len(chosen):
                continue
            start, end = chosen["start"] * self._factor, chosen["end"] * self._factor
            corners = _rectangles(start, end, chosen["rank"])
            axes.add_collection(
                PolyCollection(corners, facecolors=COLOURS[state], edgecolors="none")
            )
        return "Each bar shows the state of a rank over time."

    def _draw_shares(self, axes: Axes) -> str:
        """Draw, for each column and lane, the share of time that its ranks spend in each state."""
        lanes, columns = self.lanes, _COLUMNS
        image = share_image(self._log, lanes, self._begin, self._end)
        left, right = self._begin * self._factor, self._end * self._factor
        axes.imshow(
            image.reshape(-1, columns, 3),  # lanes one below the other
            extent=(left, right, lanes.count - 0.5, -0.5),
            aspect="auto",
            interpolation="nearest",
        )
        width = format_time((self._end - self._begin) / columns, 3)
        who = "the rank spends" if lanes.size == 1 else f"the {lanes.size:,} ranks of a lane spend"
        return (
            f"Each column of {width} shows the shares of that time that {who} in each state, "
            "stacked."
        )

    def _frame_lanes(self, axes: Axes) -> None:
        """Draw a thin frame around each lane, from 0 to the end of its last rank."""
        from matplotlib.collections import PolyCollection

        lanes = self.lanes
        ends = np.zeros(lanes.count)
        np.maximum.at(ends, lanes.groups, self._log.finish)
        corners = _rectangles(np.zeros(lanes.count), ends * self._factor, np.arange(lanes.count))
        frames = PolyCollection(corners, facecolors="none", edgecolors="#666666", linewidths=0.5)
        axes.add_collection(frames)

    def _draw_messages(self, axes: Axes) -> str:
        """Draw messages as arrows, or some of them."""
        rows = self._log.store.read("messages")
        if self._begin > 0 or self._end < self._log.run.end:
            rows = rows[(rows["arrived"] >= self._begin) & (rows["started"] <= self._end)]
        count = len(rows)
        if not count:
            return "No messages."
        rows = longest_waits_first(rows, _ARROWS if count <= _ARROWS else _AWAITED)
        for row in rows:
            tail = (row["started"] * self._factor, self._height(row["source"]))
            head = (row["arrived"] * self._factor, self._height(row["destination"]))
            style = {"arrowstyle": "-|>,head_width=0.12,head_length=0.25", "lw": 0.6}
            style |= {"color": "#000000", "shrinkA": 0, "shrinkB": 0}
            arrow = axes.annotate("", head, tail, arrowprops=style, annotation_clip=False)
            assert arrow.arrow_patch is not None
            arrow.arrow_patch.set_clip_path(axes.patch)
        if count <= _ARROWS:
            return f"Arrows: all {count:,} messages, from start to end of their transfer."
        return f"Arrows: the {len(rows):,} of {count:,} messages with the longest waits."

    def _height(self, rank: int) -> float:
        """Return the position of a rank on the lane axis."""
        return float((rank + 0.5) / self.lanes.size - 0.5)


def _rectangles(
    start: NDArray[np.float64], end: NDArray[np.float64], lane: NDArray[np.int_]
) -> list[NDArray[np.float64]]:
    """Return the corners of bars, each of shape (4, 2)."""
    low, high = lane - _BAR / 2, lane + _BAR / 2
    x = np.stack([start, end, end, start], axis=1)
    y = np.stack([low, low, high, high], axis=1)
    return list(np.stack([x, y], axis=2))


def share_image(log: EventLog, lanes: Lanes, begin: float, end: float) -> NDArray[np.uint8]:
    """Return lanes whose columns are divided among states in proportion to time.

    Colours, shape (lanes, rows per lane, columns, 3); each lane has a white margin above and below.
    """
    seconds = log.seconds_by_state(lanes.groups, lanes.count, _COLUMNS, begin, end)
    height = max(6, _ROWS // lanes.count)
    gap = max(1, round(height * (1 - _BAR)))
    image = np.full((lanes.count, height, _COLUMNS, 3), 255, dtype=np.uint8)
    palette = np.array([*(rgb(COLOURS[state]) for state in STATES), (255, 255, 255)])
    room = lanes.sizes[:, None, None] * (end - begin) / _COLUMNS
    tops = np.cumsum(seconds, axis=2) / room
    levels = (np.arange(height - gap) + 0.5) / (height - gap)
    for lane in range(lanes.count):
        # The state whose share of the column contains the level; above all of them: ended.
        place = (levels[:, None, None] > tops[lane][None, :, :]).sum(axis=2)
        image[lane, gap // 2 : gap // 2 + height - gap] = palette[place[::-1]]
    return image
