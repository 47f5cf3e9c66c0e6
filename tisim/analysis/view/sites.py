"""Where in the source of the program a call was made."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Set
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from tisim.analysis.timeline.run_file import RunFile
from tisim.analysis.view.sampled import SampledPaths
from tisim.errors import InputError
from tisim.traces import Trace
from tisim.traces.call_paths import names_of_paths, recorded_paths

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Lines whose call sites are remembered, of all ranks together.
_KEPT = 10_000_000


@dataclass(frozen=True)
class RankSites:
    """The call sites of a rank.

    Attributes
    ----------
    line
        Lines of the trace of calls with a call site, ascending; shape (calls,).
    path
        The place of the call path of each in `Sites.names`; shape (calls,).
    """

    line: NDArray[np.int64]
    path: NDArray[np.int32]

    def of(self, line: int) -> int:
        """The call path of a line; -1: it has none."""
        import numpy as np

        place = int(np.searchsorted(self.line, line))
        found = place < len(self.line) and int(self.line[place]) == line
        return int(self.path[place]) if found else -1


class Sites:
    """Call sites of a run, read from the trace that it was replayed from, if that is still there.

    Parameters
    ----------
    run
        The run, which names its trace: from here, or beside the run file.

    Attributes
    ----------
    names
        Call paths that were met so far, such as ``main (ring.c:12) > pass_on (ring.c:40)``.
    """

    def __init__(self, run: RunFile) -> None:
        self._run = run
        self.names: list[str] = []
        self._places: dict[str, int] = {}
        self._ranks: OrderedDict[int, RankSites] = OrderedDict()
        self._size = 0
        # Pictures ask on other threads than the rest.
        self._lock = threading.Lock()

    @property
    def are_known(self) -> bool:
        """Whether there is a trace with call sites."""
        return self._trace is not None and "call_site" in self._trace.attributes

    @cached_property
    def sampled(self) -> SampledPaths | None:
        """The call paths of computations; None: the trace has no samples."""
        found = None if self._trace is None else SampledPaths(self._trace)
        return found if found is not None and found.are_known else None

    def of_rank(self, rank: int) -> RankSites:
        """The call sites of a rank, which are read once."""
        with self._lock:
            return self._of_rank(rank)

    def _of_rank(self, rank: int) -> RankSites:
        if rank in self._ranks:
            self._ranks.move_to_end(rank)
            return self._ranks[rank]
        found = self._read(rank)
        self._ranks[rank] = found
        self._size += len(found.line)
        while self._size > _KEPT and len(self._ranks) > 1:
            _, oldest = self._ranks.popitem(last=False)
            self._size -= len(oldest.line)
        return found

    def path(self, rank: int, line: int) -> str | None:
        """The call path of a line of the trace of a rank; None where none is known."""
        place = self.of_rank(rank).of(line)
        return None if place < 0 else self.names[place]

    def paths(self, wanted: Mapping[int, Set[int]]) -> dict[tuple[int, int], str]:
        """The call paths of lines, by rank and line, as far as they are known."""
        found = {(rank, line): self.path(rank, line) for rank in wanted for line in wanted[rank]}
        return {place: path for place, path in found.items() if path is not None}

    def _read(self, rank: int) -> RankSites:
        import numpy as np

        lines: list[int] = []
        raw: list[str] = []
        if self._trace is not None and self.are_known:
            for line, path in recorded_paths(self._trace, rank):
                lines.append(line)
                raw.append(path)
            new = {path for path in raw if path not in self._places}
            for path, name in names_of_paths(self._trace, new).items():
                self._places[path] = len(self.names)
                self.names.append(name)
        places = [self._places[path] for path in raw]
        return RankSites(np.array(lines, np.int64), np.array(places, np.int32))

    @cached_property
    def _trace(self) -> Trace | None:
        name = self._run.info["trace"]
        if name is None:
            return None
        for path in (Path(name), self._run.path.parent / Path(name).name):
            # Only packed traces have call sites, and opening an archive takes time.
            if path.suffix != ".tit" or not path.is_file():
                continue
            try:
                trace = Trace.open(path)
            except InputError:
                continue
            if trace.ranks == self._run.ranks:
                return trace
        return None
