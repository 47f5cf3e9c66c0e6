"""Parts of classes of ranks that name other ranks in different ways."""

from __future__ import annotations

from collections.abc import Container, Sequence

import numpy as np

from tisim.traces.extrapolation.grids import Place
from tisim.traces.extrapolation.peers import peer_forms
from tisim.traces.extrapolation.recorded.program import ClassProgram
from tisim.traces.extrapolation.shapes import Shape

# Corners of a grid of four dimensions.
_FEW_RANKS = 16
# A class of ranks is taken apart into at most so many.
_MOST_PARTS = 128

#: A hole of a call in one of the traces.
_Hole = tuple[int, Shape, int]


def parted(classes: Sequence[ClassProgram], places: Sequence[Place]) -> list[ClassProgram]:
    """The same classes, those taken apart whose ranks name others at different distances.

    Parameters
    ----------
    classes
        The classes of ranks of all traces.
    places
        The numbers of ranks of the traces, with a process grid.
    """
    settled = _settled(classes, places)
    return [part for made in classes for part in _parted(made, places[made.size], settled)]


def _settled(classes: Sequence[ClassProgram], places: Sequence[Place]) -> set[_Hole]:
    """Where all ranks of a trace make a call and name the same rank, such as a root.

    That rank is at another distance of each of them, which says nothing of their places.
    """
    named: dict[_Hole, set[int]] = {}
    makers: dict[tuple[int, Shape], set[int]] = {}
    for made in classes:
        ranks = made.ranks.tolist()
        for call in made.calls:
            makers.setdefault((made.size, call.shape), set()).update(ranks)
            for hole, values in enumerate(call.numbers):
                if call.shape.is_rank(hole):
                    known = named.setdefault((made.size, call.shape, hole), set())
                    known.update(np.unique(values).tolist())
    return {
        (size, shape, hole)
        for (size, shape, hole), ranks in named.items()
        if len(ranks) == 1 and len(makers[size, shape]) == places[size].ranks
    }


def _parted(made: ClassProgram, place: Place, settled: Container[_Hole]) -> list[ClassProgram]:
    """Parts of a class, each of ranks that name others in one way.

    Those that name ranks at other distances in the grid are parts of their own. A formula that
    gives the ranks that many name makes that needless; that of the few in corners is an accident.
    """
    groups = np.zeros(len(made.ranks), dtype=np.int64)
    seen: set[bytes] = set()
    for call in made.calls:
        for hole, values in enumerate(call.numbers):
            if not call.shape.is_rank(hole) or (made.size, call.shape, hole) in settled:
                continue
            if values.tobytes() in seen:
                continue
            seen.add(values.tobytes())
            if len(made.ranks) > _FEW_RANKS and peer_forms(place, made.ranks, values):
                continue
            _, steps = np.unique(place.distances(made.ranks, values), return_inverse=True)
            _, finer = np.unique(groups * len(steps) + steps, return_inverse=True)
            if finer.max() < _MOST_PARTS:
                groups = finer
    return [
        ClassProgram(
            made.size,
            made.ranks[groups == part],
            [call.of_ranks(groups == part) for call in made.calls],
            made.items,
            None if made.volumes is None else made.volumes[:, groups == part],
        )
        for part in range(int(groups.max()) + 1)
    ]
