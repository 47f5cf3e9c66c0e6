"""Timelines for ui.perfetto.dev."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tisim import _core
from tisim.timeline.output import FileOutput

if TYPE_CHECKING:
    from tisim.timeline.run import Run

# Links whose load is shown: those with the most.
_LINKS = 100


class PerfettoOutput(FileOutput):
    """A track a rank, with collectives over their messages, arrows, and the load of links."""

    def __init__(self, path: Path, run: Run) -> None:
        tracks = [f"rank {rank} on {run.host_name(rank)}" for rank in range(run.ranks)]
        self._writer = _core.PerfettoWriter(run.title, tracks)
        self._run = run
        super().__init__([(path, self._writer)])
        run.send_states_to(self._writer.sink())
        run.wants_links = True

    def drain(self, last: bool) -> None:
        if last:
            self._write_load()
        super().drain(last)

    def _write_load(self) -> None:
        import numpy as np

        links = self._run.links
        if links is None:
            return
        times = np.append(links.times, links.end)
        shares = links.utilisation
        for place in links.most_loaded(_LINKS):
            values = np.append(100 * shares[place], 0.0)
            # A value that stays the same need not be said again, but the last one ends the track.
            changed = np.append(True, values[1:] != values[:-1])
            changed[-1] = True
            self._writer.counter(links.names[place], "%", times[changed], values[changed])
