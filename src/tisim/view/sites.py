"""Where in the source of the program a call was made."""

from __future__ import annotations

from collections.abc import Mapping, Set
from functools import cached_property
from pathlib import Path

from tisim.errors import InputError
from tisim.formats import Trace
from tisim.formats.call_paths import call_paths
from tisim.timeline.run_file import RunFile

# Call paths that are remembered.
_KEPT = 10_000


class Sites:
    """Call sites of a run, read from the trace that it was replayed from, if that is still there.

    Parameters
    ----------
    run
        The run, which names its trace: from here, or beside the run file.
    """

    def __init__(self, run: RunFile) -> None:
        self._run = run
        self._known: dict[tuple[int, int], str | None] = {}

    def path(self, rank: int, line: int) -> str | None:
        """The call path of a line of the trace of a rank; None where none is known."""
        if self._trace is None:
            return None
        place = rank, line
        if place not in self._known:
            if len(self._known) >= _KEPT:
                self._known.clear()
            self._known[place] = call_paths(self._trace, {rank: {line}}).get(place)
        return self._known[place]

    @property
    def are_known(self) -> bool:
        """Whether there is a trace with call sites."""
        return self._trace is not None and "call_site" in self._trace.attributes

    def paths(self, wanted: Mapping[int, Set[int]]) -> dict[tuple[int, int], str]:
        """The call paths of lines, by rank and line, as far as they are known."""
        return {} if self._trace is None else call_paths(self._trace, wanted)

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
