"""Pictures of a result as matplotlib axes, for notebooks and papers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from tisim.analysis.pictures.colours import COLOURS
from tisim.analysis.pictures.gantt import GanttChart, Lanes
from tisim.analysis.timeline.columns import STATES
from tisim.errors import InputError
from tisim.support.quantities import unit_of_time

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tisim.analysis.timeline.event_log import EventLog

# Maximum number of rows.
_BARS, _BLOCKS, _LINKS = 50, 100, 20
# Maximum number of turns of the critical path.
_TURNS = 5000


class Plots:
    """Pictures of a result: each method draws on the given axes, or on new ones.

    Parameters
    ----------
    log
        Returns the event log; called by each method.
    """

    def __init__(self, log: Callable[[], EventLog]) -> None:
        self._event_log = log

    @property
    def _log(self) -> EventLog:
        return self._event_log()

    def gantt(
        self, axes: Axes | None = None, *, begin: float = 0.0, end: float | None = None
    ) -> Axes:
        """Draw the states of every rank over time.

        Parameters
        ----------
        axes
            Axes to draw on.
        begin, end
            The interval of simulated time, in seconds; all of it by default.

        Raises
        ------
        InputError
            If the interval contains no simulated time.
        """
        whole = self._log.run.end
        last = whole if end is None else min(end, whole)
        if not 0 <= begin < last:
            raise InputError(f"the simulation lasts from 0 to {whole:.9g} s; draw a part of that")
        drawn = _axes(axes)
        chart = GanttChart(self._log, begin, last)
        chart.draw(drawn)
        drawn.legend(
            handles=chart.legend(),
            loc="upper center",
            bbox_to_anchor=(0.5, -0.16),
            ncols=4,
            frameon=False,
            fontsize=8,
        )
        return drawn

    def breakdown(self, axes: Axes | None = None) -> Axes:
        """Draw the time of each rank by state; for many ranks, group means."""
        drawn = _axes(axes)
        by_rank = self._log.breakdown.by_rank
        lanes = Lanes.at_most(len(by_rank), _BARS)
        grouped = by_rank.groupby(lanes.groups).mean()
        unit, factor = unit_of_time(float(grouped.sum(axis=1).max()))
        rows = range(lanes.count)
        left = np.zeros(lanes.count)
        for state in STATES:
            seconds = grouped[state].to_numpy() * factor
            if seconds.any():
                drawn.barh(rows, seconds, left=left, color=COLOURS[state], label=state)
                left += seconds
        _label_lanes(drawn, lanes)
        drawn.set_xlabel(f"time, {unit}")
        drawn.set_title(self._log.run.title, loc="left")
        drawn.legend(
            loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=4, frameon=False, fontsize=8
        )
        return drawn

    def matrix(self, axes: Axes | None = None, *, what: str = "bytes") -> Axes:
        """Draw the communication matrix.

        Parameters
        ----------
        axes
            Axes to draw on.
        what
            ``bytes`` or ``messages``.

        Raises
        ------
        InputError
            If it is neither.
        """
        from matplotlib.colors import LogNorm

        if what not in ("bytes", "messages"):
            raise InputError(f"a matrix shows bytes or messages, not {what!r}")
        drawn = _axes(axes)
        table = self._log.matrix
        lanes = Lanes.at_most(self._log.run.ranks, _BLOCKS)
        sums = np.zeros((lanes.count, lanes.count))
        ends = (table[name].to_numpy() // lanes.size for name in ("source", "destination"))
        np.add.at(sums, tuple(ends), table[what].to_numpy())
        sent = sums[sums > 0]
        if len(sent):
            norm = LogNorm(sent.min(), max(float(sent.max()), 1.001 * float(sent.min())))
            image = drawn.imshow(np.where(sums > 0, sums, np.nan), norm=norm, cmap="Blues")
            drawn.figure.colorbar(image, ax=drawn, label=what)
        places = list(range(0, lanes.count, max(1, -(-lanes.count // 10))))
        labels = [lanes.label(place) for place in places]
        drawn.set_xticks(places, labels)
        drawn.set_yticks(places, labels)
        drawn.set_xlabel("to rank")
        drawn.set_ylabel("from rank")
        drawn.set_title(self._log.run.title, loc="left")
        return drawn

    def links(self, axes: Axes | None = None) -> Axes:
        """Draw the utilisation of the most loaded links over time."""
        drawn = _axes(axes)
        links, words = self._log.links, self._log.link_words
        chosen = links.most_loaded(_LINKS)
        unit, factor = unit_of_time(links.end)
        image = drawn.imshow(
            100 * links.utilisation[chosen],
            aspect="auto",
            interpolation="nearest",
            cmap="Blues",
            vmin=0,
            vmax=100,
            extent=(0.0, len(links.times) * links.width * factor, len(chosen) - 0.5, -0.5),
        )
        names = [links.names[place] for place in chosen.tolist()]
        drawn.set_yticks(range(len(names)), [words.get(name, name) for name in names])
        drawn.set_xlabel(f"simulated time, {unit}")
        drawn.set_title(self._log.run.title, loc="left")
        drawn.figure.colorbar(image, ax=drawn, label="used, % of the bandwidth")
        return drawn

    def path(self, axes: Axes | None = None) -> Axes:
        """Draw the critical path: its rank over time."""
        drawn = _axes(axes)
        time, rank, _ = self._log.critical_path.turns(_TURNS)
        unit, factor = unit_of_time(self._log.run.end)
        drawn.plot(time * factor, rank, color="#000000", linewidth=1.0)
        drawn.invert_yaxis()
        drawn.set_xlabel(f"simulated time, {unit}")
        drawn.set_ylabel("rank")
        drawn.set_title(f"{self._log.run.title}: the critical path", loc="left")
        return drawn


def _axes(axes: Axes | None) -> Axes:
    if axes is not None:
        return axes
    import matplotlib.pyplot as plt

    return plt.subplots(layout="constrained")[1]


def _label_lanes(axes: Axes, lanes: Lanes) -> None:
    places = list(range(0, lanes.count, max(1, -(-lanes.count // 20))))
    axes.set_yticks(places, [lanes.label(place) for place in places])
    axes.set_ylim(lanes.count - 0.5, -0.5)
    axes.set_ylabel("rank" if lanes.size == 1 else f"means of {lanes.size} ranks")
