"""The critical path of a run within a window."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tisim.analysis.timeline.critical_path import sums_by_kind
from tisim.analysis.timeline.run_file import RunFile, Window
from tisim.analysis.timeline.run_file.window import longest_of_cells
from tisim.analysis.viewer.causes import MAX_STATES, Causes, rows_of

if TYPE_CHECKING:
    Row = dict[str, object]

# Maximum number of parts drawn, and listed.
_MAX_DRAWN = 4000
_MAX_ROWS = 200


class RunPath:
    """The chain of computations and transfers that makes up the simulated time.

    The core traces it through the states of the run file, as for the critical path of a result.
    """

    def __init__(self, run: RunFile, causes: Causes) -> None:
        self._run = run
        self._causes = causes

    @property
    def unknown(self) -> str | None:
        """Reason why the path is unknown; None if it is known."""
        if self._run.info["measured"]:
            return (
                "This run was measured: message transfer times are unknown, and so is the critical "
                "path. Select a wait to see its causes."
            )
        if self._run.info.get("findings"):
            return "Findings shows the composition of the critical path of this step."
        if self._run.path_states is None:
            return "An older tisim wrote this file, without the data for the critical path."
        if self._run.states.rows > MAX_STATES:
            return f"The critical path is available for runs with up to {MAX_STATES:,} states."
        return None

    def within(self, window: Window) -> Row:
        """Return the parts of the path in a window of time, for all ranks.

        `drawn` contains arrays `start`, `end`, `source` and `destination`; if there are too many
        parts to see, only the longest one in each column of time. `kinds`: sums by state and kind.
        `ranks`: sums of the ranks that act or send. `longest`: the longest parts.
        """
        if self.unknown:
            return {"unknown": self.unknown}
        rows = self._parts
        low = int(np.searchsorted(rows["end"], window.begin, side="right"))
        high = int(np.searchsorted(rows["start"], window.end, side="left"))
        rows = rows[low : max(high, low)]
        seconds = np.minimum(rows["end"], window.end) - np.maximum(rows["start"], window.begin)
        kinds = sums_by_kind(rows, seconds, self._run.info["states"], self._run.info["kinds"])
        of_rank = np.bincount(rows["source"], weights=seconds, minlength=self._run.ranks)
        busiest = np.argsort(-of_rank, kind="stable")[:_MAX_ROWS]
        busiest = busiest[of_rank[busiest] > 0]
        drawn = rows[_select_drawn(rows, seconds, window)]
        return {
            "unknown": None,
            "seconds": float(seconds.sum()),
            "parts": len(rows),
            "kinds": rows_of(**kinds),
            "ranks": rows_of(rank=busiest.tolist(), seconds=of_rank[busiest].tolist()),
            "longest": self._listed(rows[np.argsort(-seconds, kind="stable")[:_MAX_ROWS]]),
            "drawn": {
                name: drawn[name].tolist() for name in ("start", "end", "source", "destination")
            },
        }

    def _listed(self, rows: NDArray[np.void]) -> list[Row]:
        info = self._run.info
        columns = {name: rows[name].tolist() for name in ("start", "end", "line", "bytes")}
        return rows_of(
            rank=rows["source"].tolist(),
            destination=rows["destination"].tolist(),
            state=[info["states"][state] for state in rows["state"].tolist()],
            kind=[info["kinds"][kind] for kind in rows["kind"].tolist()],
            **columns,
        )

    @cached_property
    def _parts(self) -> NDArray[np.void]:
        causes = self._causes.waits_until(self._run.end)
        assert causes is not None
        last = causes.rows["rank"][causes.rows["end"] == self._run.end]
        return causes.path(int(last.min()) if len(last) else 0, self._run.end)[::-1]


def _select_drawn(
    rows: NDArray[np.void], seconds: NDArray[np.float64], window: Window
) -> NDArray[np.intp]:
    """Return the parts to draw: all, or the longest one in each column of time."""
    if len(rows) <= _MAX_DRAWN:
        return np.arange(len(rows))
    width = (window.end - window.begin) / _MAX_DRAWN
    middle = np.minimum(rows["end"], window.end) - seconds / 2
    cell = ((middle - window.begin) / width).astype(np.int64)
    return longest_of_cells(cell, seconds)
