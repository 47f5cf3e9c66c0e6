"""The trace of one rank with call paths, from events that the package has read."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping

from tisim.traces.importers.otf2.events import Event
from tisim.traces.importers.otf2.functions import CallPaths
from tisim.traces.importers.otf2.rank_reader import RankReader
from tisim.traces.program import CallSequence


def sited_sequence(
    rank: int, reader: RankReader, events: Iterable[Event], functions: Mapping[int, str]
) -> CallSequence:
    """The lines of a rank, those of each call path once.

    Parameters
    ----------
    rank
        The rank.
    reader
        Makes lines of events.
    events
        Those of the rank.
    functions
        How call paths name each region.
    """
    import numpy as np  # slow to load

    numbers: dict[tuple[str, int], int] = {}
    calls, volumes = array("I"), array("q")
    computation = f"{rank} compute "
    volume = -1
    for line, node in reader.lines(events):
        if line.startswith(computation):
            volume = max(volume, 0) + int(line[len(computation) :])
            continue
        calls.append(numbers.setdefault((line, node), len(numbers)))
        volumes.append(volume)
        volume = -1
    paths = CallPaths(reader.functions.nodes, functions)
    path_of = [paths.number(node) for _, node in numbers]
    return CallSequence(
        [line.rstrip("\n") for line, _ in numbers],
        [[place] for place in range(len(numbers))],
        np.array(calls, np.uint32),
        np.array(volumes, np.int64),
        paths.paths,
        path_of if paths.paths else (),
    )
