"""Timelines for ui.perfetto.dev."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from tisim import _core
from tisim.analysis.timeline.run import FileOutput
from tisim.errors import InputError
from tisim.support.files import OutputFile
from tisim.support.quantities import format_seconds

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tisim.analysis.timeline.run import Run

# Maximum number of links shown: those with the highest load.
_LINKS = 100
# Maximum file size in bytes, above which short slices are omitted: browsers open no larger files.
_LIMIT = 2_000_000_000


class PerfettoOutput(FileOutput):
    """One track per rank, with collectives above their messages, arrows, and the load of links.

    A file that exceeds 2 GB is reduced to half by omitting its shortest slices. In the end all
    slices shorter than the longest omitted one are missing.
    """

    def __init__(self, path: Path, run: Run) -> None:
        tracks = [f"rank {rank} on {run.host_name(rank)}" for rank in range(run.ranks)]
        tracks += [f"rank {rank}, stream {name}" for rank, name in run.lanes]
        run.wants_lanes |= bool(run.lanes)
        self._writer = _core.PerfettoWriter(run.title, tracks)
        self._run = run
        self._size = 0
        self._shortest = 0
        super().__init__(path, random_access=True)
        if run.part is None:
            self._listener: _core.Listener = self._writer
            run.send_states_to(self._writer.sink())
        else:
            window = _core.TimeWindow(self._writer, *run.part)
            self._listener = window
            run.send_states_to(window.sink())
        run.wants_links = True

    def listeners(self) -> list[_core.Listener]:
        return [self._listener]

    def drain(self, last: bool) -> None:
        part, end = self._run.part, self._run.end
        if last and part is not None and not 0.0 <= part[0] < min(part[1], end):
            text = f"the simulation lasts from 0 to {end:.9g} s; show a part of that"
            self._run.errors.append(InputError(text))
            self.discard()
            self._files = []
            return
        if last:
            self._write_streams()
            self._write_load()
        self._write(last)
        if last and self._shortest:
            self._thin()
            self._report_missing()
        if last:
            self._file.complete()

    @property
    def _file(self) -> OutputFile:
        return self._files[0]

    def _write(self, last: bool) -> None:
        if written := self._writer.take(last):
            self._file.write(written)
            self._size += len(written)
        if self._size > _LIMIT:
            self._thin()

    def _thin(self) -> None:
        """Omit short slices: those written since the last time, or more."""
        thinner = OutputFile(self._file.path, random_access=True)
        try:
            with self._file.reader() as source, thinner.reader() as target, thinner.writing():
                if self._size > _LIMIT:
                    found = _core.shortest_perfetto_slice(source.name, _LIMIT // 2)
                    self._shortest = max(self._shortest, found)
                _core.thin_perfetto(source.name, target.name, self._shortest)
                self._size = thinner.stream.seek(0, os.SEEK_END)
        except BaseException:
            thinner.discard()
            raise
        self._file.discard()
        self._files = [thinner]

    def _report_missing(self) -> None:
        import numpy as np

        shortest = format_seconds(self._shortest * 1e-9)
        text = f"slices shorter than {shortest} are left out"
        times = np.array([0.0, self._run.end])
        self._writer.counter(text, "ns", times, np.full(2, float(self._shortest)))
        self._file.write(self._writer.take(True))
        self._run.warnings.append(
            f"{self._file.path}: {text} to keep the file below {_LIMIT / 1e9:g} GB; --begin and "
            "--end show a part in full"
        )

    def _write_streams(self) -> None:
        if self._run.streams is None:
            return
        lanes = {lane: self._run.ranks + place for place, lane in enumerate(self._run.lanes)}
        first, last = self._run.part or (0.0, self._run.end)
        for span in self._run.streams.spans:
            lane, name = lanes[span.lane, span.stream], span.node.label
            for what, begin, end in (
                *((f"wait for peers: {name}", span.arrival, span.start),)
                * (span.start > span.arrival),
                (name, span.start, span.end),
            ):
                if end > first and begin < last:
                    self._writer.slice(lane, what, span.node.line, begin, end)

    def _write_load(self) -> None:
        import numpy as np

        links = self._run.links
        if links is None:
            return
        times = np.append(links.times, links.end)
        shares = links.utilisation
        inside = self._columns(times)
        for place in links.most_loaded(_LINKS):
            values = np.append(100 * shares[place], 0.0)[inside]
            # Equal consecutive values are written once, but the last one ends the track.
            changed = np.append(True, values[1:] != values[:-1])
            changed[-1] = True
            changes = times[inside][changed]
            self._writer.counter(links.names[place], "%", changes, values[changed])

    def _columns(self, times: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return a mask of the times within the shown interval, and the one before it."""
        import numpy as np

        if self._run.part is None:
            return np.ones(len(times), np.bool_)
        begin, end = self._run.part
        inside: NDArray[np.bool_] = (np.append(times[1:], np.inf) > begin) & (times <= end)
        return inside
